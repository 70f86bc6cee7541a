"""Short form of claims/fault_injection.py: some allocations and all writes of a compile and of a run
fail, and the library without memory returns a status."""
import pytest

import fault_injection
import harness
import host_run


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return fault_injection.build(tmp_path_factory.mktemp("inject"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    found = fault_injection.samples(tmp_path_factory.mktemp("samples"))
    return {case.name: case for case in found}


@pytest.mark.parametrize("kind,most", [("alloc", 25), ("write", 60)])
@pytest.mark.parametrize("name", ["cslc data-task", "wse-emu reduce-chain",
                                  "wse-emu hello-wavelet t.gz", "wse-emu hello-wavelet t.zst"])
def test_a_fault_is_a_message_and_a_clean_exit(library, cases, name, kind, most):
    found = fault_injection.check(library, cases[name], kind,
                                  lambda calls: range(1, calls + 1, max(1, calls // most)))
    if not found:
        pytest.skip("there is no system call filter here")
    tried, problems = found
    assert tried > 5 and not problems, "\n".join(problems)


def test_the_library_without_memory(library, tmp_path):
    """Memory is limited once the script is under way: MemoryError, or a program that works."""
    host_run.build(tmp_path)
    host_run.script(tmp_path, """
        import ctypes, gc
        shim = ctypes.CDLL(None)
        fail = ctypes.c_int.in_dll(shim, "inject_armed")
        at = ctypes.c_long.in_dll(shim, "inject_at")
        ends = set()
        def use():
            program = ctypes.c_void_p()
            lib, symbol = r._library, wse_lib.Symbol()
            options = wse_lib.Options(check=wse_lib.CHECK_ERROR, threads=1)
            status = lib.wse_open(b"out", ctypes.byref(options), ctypes.byref(program))
            if status == wse_lib.OK:
                status = lib.wse_symbol(program, b"scale", ctypes.byref(symbol))
            if status == wse_lib.OK:
                args = (ctypes.c_uint32 * 2)(0, 1)
                status = lib.wse_launch(program, symbol.id, args, 2, None)
            if status == wse_lib.OK:
                status = lib.wse_finish(program)
            error = lib.wse_error(program).contents
            fail.value = 0
            assert status == 0 or b"memory" in error.message, (status, error.message)
            assert error.status == status or not program      # there is not even a handle
            if program and status:
                assert lib.wse_run(program, 0) == status      # and no call after it does harm
            lib.wse_close(program)
            return status
        assert use() == wse_lib.OK
        gc.disable()
        for number in range(1, 400, 7):
            at.value, fail.value = number, 1
            ends.add(use())
        assert ends <= {wse_lib.OK, wse_lib.NO_MEMORY} and wse_lib.NO_MEMORY in ends, ends
        r.stop()
    """, env={"LD_PRELOAD": str(library)})
