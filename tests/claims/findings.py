#!/usr/bin/python3
"""Each mistake that trying the toolchain as a new user and as an attacker has shown is held by tests.

One row per finding: what was wrong, and the tests that fail if it comes back.  A name without its
brackets stands for the test with all its parameters, a name that ends in `[part` for those that
begin so.  The value is the number of tests that fail or are missing.

Short form: test_claims.py::test_the_tests_of_each_finding_exist.
"""
import os
import subprocess
import xml.etree.ElementTree as xml
from collections import Counter

from claims import Claims, harness

LANG = "test_lang.py::test_language["
GOLDEN = "test_golden.py::test_golden["
HAZARD = "test_hazards.py::test_hazard["
MISTAKE = "test_mistakes.py::test_mistake["

FINDINGS = {
    "a variable fabric DSD without a queue": [LANG + "queue_colors-"],
    "wse2: colors one after the other on one queue": [
        LANG + "shared_queues-", HAZARD + "queue_of_two_colors]"],
    "wse3: the first operation of another color binds its queue anew": [
        HAZARD + "queue_changes_color]"],
    "wse2: more data tasks and outputs than queues": [LANG + "shared_queues-"],
    "a DSD with a queue that its tile never initialises": [LANG + "queue_colors-"],
    "a data task on a queue that nothing binds": [GOLDEN + "sema/queues_wse3.csl]"],
    "wavelets that leave the rectangle": [HAZARD + "leaves_the_rectangle]"],
    "the control wavelet that ends an operation stays": [LANG + "fabric_options-"],
    "routes that only the running program sets": [
        "test_stdlib_tile_config.py::test_routes_that_only_the_running_program_sets"],
    "tile_config.target": [
        "test_stdlib_tile_config.py::test_routes_that_only_the_running_program_sets",
        "test_stdlib_tile_config.py::test_coordinates_and_constants"],
    '@is_arch("wse1")': [LANG + "short_forms-"],
    "a call where a value must be known": [LANG + "comptime_calls-"],
    "two imports that load the same DSRs": [
        GOLDEN + "sema/dsr_presets.csl]",
        "test_collectives.py::test_two_imports_take_registers_of_their_own"],
    "tasks without a result type, routes without .routes": [LANG + "short_forms-"],
    "descriptors of extent 0": [LANG + "empty_dsds-"],
    "a task that is called": [GOLDEN + "sema/err_calls.csl]"],
    "shift amounts with all their bits": [LANG + "shift_amounts-", LANG + "wide_shifts-"],
    "wide division by zero": [LANG + "division-"],
    "arrays of swapped bytes and structures": [
        "test_host_run.py::test_elements_must_be_numbers_of_this_machine",
        "test_host_run.py::test_helpers_take_no_swapped_bytes"],
    "several Python threads on one runtime": [
        "test_host_run.py::test_threads_of_a_script_take_turns"],
    "Ctrl-C and `finally`": ["test_host_run.py::test_a_script_hears_signals"],
    "a control wavelet for another entry": [MISTAKE + "control_other_entry]"],
    "a control task that is not bound": [MISTAKE + "control_task_not_bound]"],
    "a control wavelet that no tile sends": [MISTAKE + "control_never_sent]"],
    "a control wavelet that is sent as data": [MISTAKE + "control_sent_as_data]"],
    "a write past an array": [
        MISTAKE + "write_past_array]", MISTAKE + "descriptor_past_array]"],
    "a write over the counter that ends the program": [
        MISTAKE + "counter_overwritten]", "test_host_run.py::test_a_signal_shows_the_warnings"],
    "data read while an operation fills them": [
        MISTAKE + "read_while_filled]", MISTAKE + "scaled_while_filled]"],
    "lengths of both ends differ": [
        MISTAKE + "lengths_differ]", GOLDEN + "fabric/routes.csl]", GOLDEN + "dsd/fabric.csl]"],
    "wse3 without @initialize_queue": [
        GOLDEN + "sema/queues_unbound_wse3.csl]", HAZARD + "queue_not_bound]"],
    "routes that are missing, of another color, or meet": [GOLDEN + "fabric/routes.csl]"],
    "two activations that become one": [
        MISTAKE + "activations_merge]", MISTAKE + "merged_in_silence]"],
    "a FIFO without elements, words in place of a FIFO's": [GOLDEN + "sema/err_fifo.csl]"],
    "an array file whose size wraps": ["test_host_run.py::test_a_shape_too_large_for_any_file"],
    "CS_PYTHON that names cs_python": [
        "test_cs_python.py::test_cs_python_does_not_start_itself"],
    "--params with a name that no param has": [GOLDEN + "layout/options.csl]"],
    "get_id of an unknown name": ["test_host_layer.py::test_mistakes_are_explained"],
    "<debug> without key, debug_util before the run": [
        "test_stdlib_debug.py::test_traces_and_symbols"],
    "exported pointers to structs": [
        GOLDEN + "layout/export_structs.csl]", GOLDEN + "sema/export_name_types.csl]"],
    "--dump shows typed variables": ["test_debug_info.py::test_dump_shows_typed_values"],
    "a second --stop, --print after a stop": [
        "test_observe.py::test_an_option_of_which_a_run_takes_one", "test_observe.py::test_stop_at_a_line"],
    "an array of colors in out.json": [
        "test_cslc_files.py::test_colors_of_an_array_are_a_list"],
    "paths of the installation in images and in wse.pc": [
        "test_cslc_files.py::test_images_do_not_say_where_the_library_is",
        "test_cslc_files.py::test_the_library_is_linked_without_a_path_to_run_from"],
    "equal faults of many tiles": [HAZARD + "queue_not_bound]"],
    "two compilers that write one folder": [
        "test_cslc_files.py::test_two_compilers_leave_the_files_of_one"],
    "a task handle of another runtime": ["test_host_run.py::test_a_task_has_an_owner"],
    "files without an end": ["test_host_run.py::test_files_without_an_end",
                             "test_cslc_files.py::test_endless_files_are_refused"],
    "a compile-time loop without an end": [
        "test_cslc_files.py::test_a_loop_without_end_is_found_soon"],
    "the time of a switch with many cases": [
        "test_compile_time.py::test_time_grows_with_the_program[cases_of_a_switch"],
    "printed values that double at each level": [
        "test_cslc_files.py::test_texts_of_types_and_values_have_a_bound"],
    "library imports that leave the library": [
        "test_cslc_files.py::test_library_imports_stay_in_the_library"],
    "@import_comptime_value quotes no file": [
        "test_cslc_files.py::test_imported_values_are_not_quoted"],
    "words for the host leave their queue in the trace": [
        "test_observe.py::test_perfetto_counts_what_leaves_a_queue_for_the_host"],
    "cycles of <simprint>": ["test_stdlib_general.py::test_simprint_of_a_number_takes_few_cycles"],
}
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def is_of(test, name):
    """Whether a test's id is one of those that a row's name stands for."""
    return test.startswith(name) if "[" in name else test.split("[")[0] == name


def listed_tests():
    """The ids of all tests in the files of the rows."""
    files = sorted({name.split("::")[0] for names in FINDINGS.values() for name in names})
    return subprocess.run([*PYTEST, "--collect-only", *files], cwd=harness.ROOT / "tests",
                          capture_output=True, text=True, check=True).stdout.splitlines()


def outcomes(folder):
    """{id: passed?} of all tests of the rows, which pytest runs in one go."""
    wanted = {name for names in FINDINGS.values() for name in names}
    chosen = [test for test in listed_tests() if any(is_of(test, name) for name in wanted)]
    report = folder / "tests.xml"
    subprocess.run([*PYTEST, f"--junitxml={report}", *chosen], cwd=harness.ROOT / "tests",
                   stdout=subprocess.DEVNULL, check=False)
    found = {}
    for case in xml.parse(report).iter("testcase"):
        name = f"{case.get('classname').rsplit('.', 1)[-1]}.py::{case.get('name')}"
        found[name] = not any(child.tag in ("failure", "error", "skipped") for child in case)
    return Counter(chosen), found


def main():
    os.environ.pop("WSE_UPDATE_GOLDEN", None)
    claims = Claims()
    chosen, found = outcomes(claims.scratch)
    for finding, names in FINDINGS.items():
        tests = [test for test in chosen if any(is_of(test, name) for name in names)]
        missing = [name for name in names if not any(is_of(test, name) for test in chosen)]
        failed = [test for test in tests if not found.get(test)]
        for name in missing + failed:
            print(f"  {name}")
        claims.equals(f"{finding}: tests that fail or are missing, of {len(tests)}",
                      len(missing) + len(failed), 0)
    claims.finish()


if __name__ == "__main__":
    main()
