"""Seeded defects of the emulator: single edits, mostly of what both engines share, or of both, so
that comparing the engines shows nothing.  Each is built into a driver of its own that has to be
found wrong by the model."""
import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import harness
from machine.fabric import Fabric
from machine.sequences import Sequence

ROOT = harness.ROOT
# The files of a folder that the build compiles as one unit, more than once.
UNITS = {"emu/fast/": ("fast.dir/Unity/unity_0_c.c", "fast_traced.dir/Unity/unity_0_c.c")}


@dataclass
class Defect:
    name: str
    programs: type              # Sequence or Fabric: where it shows
    edits: list                 # (file, old, new)


def scalar(name, old, new):
    return Defect(name, Sequence, [("emu/tile/exec_scalar.c", old, new)])


def vector(name, old, new):
    return Defect(name, Sequence, [("emu/tile/exec_vec.c", old, new)])


def fp(name, old, new):
    return Defect(name, Sequence, [("ir/base/fp.c", old, new)])


def fabric(name, old, new):
    return Defect(name, Fabric, [("emu/fabric/switch.c", old, new)])


DEFECTS = [
    scalar("subc without its borrow", "(uint16_t)~reg_c(e), e->regs->carry)",
           "(uint16_t)~reg_c(e), 1)"),
    scalar("sar by the amount modulo 16", "s16(v) >> (n < BITS16 ? n : BITS16 - 1)",
           "s16(v) >> (n % BITS16)"),
    scalar("rems with the sign of the divisor", "int64_t value = remainder ? a - quotient * b",
           "int64_t value = remainder ? (b < 0 ? quotient * b - a : a - quotient * b)"),
    scalar("bges as unsigned", "as_s16(reg_a(e)) >= as_s16(reg_b(e))", "reg_a(e) >= reg_b(e)"),
    scalar("addi leaves the carry", "case OP_addi: return add_words(e, reg_b(e), imm_word(e), 0);",
           "case OP_addi: return set_reg_a(e, (uint32_t)reg_b(e) + imm_word(e));"),
    fp("ties away from zero", "(rest == half && (lost || (kept & 1)))", "rest == half"),
    fp("NaN as an integer is 1", "if (value != value)\n    return 0;\n  if (is_signed)",
       "if (value != value)\n    return 1;\n  if (is_signed)"),
    fp("maximum of zeros is the first", "return ((bits_of_double(a) & F64_SIGN) != 0) == larger ? b : a;",
       "return a;"),
    vector("a loop of mem4d wraps late", "++stream->index[k] >= stream->lengths[k]",
           "++stream->index[k] > stream->lengths[k]"),
    vector("a circular walk back leaves the buffer", "offset < 0 ? offset + (int32_t)stream->wrap_bytes",
           "offset < 0 ? offset"),
    vector("a length of 0 passes on to the next operand", "(is_fifo && length == 0)", "length == 0"),
    vector("the vector carry is lost", "sum = a + b + (kind == VK_ADDC && *carry);", "sum = a + b;"),
    vector("single steps keep no address", "(s->flags & (DESC_F_SAVE | DESC_F_STEP))",
           "(s->flags & DESC_F_SAVE)"),
    Defect("a pop lets the last command start a task", Fabric, [
        ("ir/machine/machine.c", "{.command = CMD_NOP, .ce_ignore = true}",
         "{.command = CMD_NOP, .ce_ignore = false}")]),
    Defect("a swap of one axis counts at the ramp", Fabric, [
        ("emu/machine/load.c", "bool swap = partner->swap_x && partner->swap_y;",
         "bool swap = partner->swap_x || partner->swap_y;")]),
    Defect("rewritten routes mix up east and west", Fabric, [
        ("emu/fabric/router_config.c", "{PORT_WEST, PORT_EAST,", "{PORT_EAST, PORT_WEST,")]),
    Defect("operations in the background are not waited for", Fabric, [
        ("emu/explain/deadlock.c", "if (finite_wait(&tile->threads[i]))", "if (false)")]),
    fabric("counters of filters pass one less", "return now->counter <= filter->max_counter;",
           "return now->counter < filter->max_counter;"),
    fabric("switches always go round", "return config->ring ? 0 : position;", "return 0;"),
    Defect("the fast engine's rewritten switches stay", Fabric, [
        ("emu/fast/router.c", "tx = now.position;", "")]),
    fabric("ce-ignore is ignored", "if (control && control_command(payload, 0).ce_ignore)",
           "if (false)"),
]


def edited(files, file, old, new):
    text = files.get(file) or (ROOT / file).read_text()
    assert text.count(old) >= 1, f"{file} no longer has: {old}"
    files[file] = text.replace(old, new)


def edited_files(defect):
    """The texts of the files that the defect changes."""
    files = {}
    for edit in defect.edits:
        edited(files, *edit)
    return files


def compile_edited(source, overlay, folder, commands):
    """The object of a source file as edited, or of a unit of the build with its edited files."""
    command = next(c for c in commands if c["file"].endswith(source))
    words = ["-O1" if word == "-O3" else word for word in shlex.split(command["command"])]
    out = folder / (source.replace("/", "_") + ".o")
    words[words.index("-o") + 1] = str(out)
    copy = overlay / source
    if not copy.exists():       # a unit, which includes its files
        text = Path(command["file"]).read_text()
        for file in (p for p in overlay.rglob("*.c") if p != copy):
            text = text.replace(f'"{ROOT / file.relative_to(overlay)}"', f'"{file}"')
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    words[words.index("-c") + 1] = str(copy)
    words.insert(words.index("-o"), "-w")
    words.insert(1 if "ccache" not in words[0] else 2, f"-I{overlay}")
    done = subprocess.run(words, cwd=command["directory"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def compiled_for(file):
    """What has to be compiled where a file has changed."""
    return next((units for folder, units in UNITS.items() if file.startswith(folder)), (file,))


def build(defect, folder):
    """A driver with the defect in it."""
    files, folder = edited_files(defect), Path(folder)
    overlay = folder / "overlay"
    for file, text in files.items():
        (overlay / file).parent.mkdir(parents=True, exist_ok=True)
        (overlay / file).write_text(text)
    tree = harness.bin_dir().parent
    commands = json.loads((tree / "compile_commands.json").read_text())
    sources = [s for file in files for s in compiled_for(file)]
    objects = [str(compile_edited(s, overlay, folder, commands)) for s in dict.fromkeys(sources)]
    linked = subprocess.run(["ninja", "-C", str(tree), "-t", "commands", "machine-driver"],
                            capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    driver = folder / "driver"
    linked = linked.replace("-o bin/machine-driver", f"{' '.join(objects)} -o {driver}")
    done = subprocess.run(linked, cwd=tree, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return str(driver)
