"""The tables of docs/isa.md, read from the page, and instructions and descriptors as words."""
import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "isa.md"


def table(name):
    """The rows of a generated table as lists of texts, without its head."""
    text = PAGE.read_text()
    body = text.split(f"<!-- generated: {name} -->")[1].split("<!-- end -->")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`").replace("\\|", "|") for cell in row] for row in rows[2:]]


@dataclass(frozen=True)
class Instruction:
    name: str
    opcode: int
    format: str
    cost: str
    semantics: str

    def is_pair(self, operand):
        """Whether the operand 'a', 'b' or 'c' is a register pair."""
        return bool(re.search(rf"\bd{operand}\b", self.semantics))


@dataclass(frozen=True)
class VectorOperation:
    name: str
    number: int
    destination: str
    sources: int
    elements: str
    scalar: bool

    @staticmethod
    def width(kind):
        return 4 if kind in ("f32", "32 bits") else 2


INSTRUCTIONS = {r[1]: Instruction(r[1], int(r[0], 16), r[2], r[3], r[4]) for r in table("instructions")}
WORDS = {r[0]: int(r[1]) for r in table("formats")}
VECTOR = {r[1]: VectorOperation(r[1], int(r[0]), r[2], int(r[3]), r[4], r[5] == "yes")
          for r in table("vector operations")}
DSR_FIELDS = {r[1]: int(r[0]) for r in table("dsr fields")}
KINDS = {r[1]: (int(r[0]), int(r[2])) for r in table("descriptor kinds")}
MACHINE = {r[0]: {"wse2": r[1], "wse3": r[2]} for r in table("machine")}
REGISTERS = {r[2]: int(r[0], 16) for r in table("configuration registers")}

FILES = {"dest": 0, "src0": 1, "src1": 2}
FLAGS = {"async": 1 << 4, "index": 1 << 5, "control": 1 << 6, "advance": 1 << 7, "save": 1 << 8,
         "step": 1 << 9, "transform": 1 << 10, "zero0": 1 << 11, "zero1": 1 << 12,
         "scalar": 1 << 13}
ACTIONS = {"none": 0, "activate": 1, "unblock": 2, "terminate": 3}
ID_KINDS = {"task": 0, "input_queue": 1, "microthread": 2}


def machine(row, arch):
    """A row of the machine: a number, or a list of numbers."""
    text = MACHINE[row][arch]
    numbers = [int(n, 0) for n in text.split(",")]
    return numbers if len(numbers) > 1 else numbers[0]


def encode(name, a=0, b=0, c=0, imm=0, target=0, file="dest", absolute=False, field="base"):
    """The words of an instruction other than `vec`, by its format."""
    insn = INSTRUCTIONS[name]
    first = insn.opcode << 8 | a << 4 | b
    imm16 = imm & 0xffff
    more = {
        "NONE": [], "R": [], "RR": [], "RRR": [c], "RRI": [imm16], "RI": [imm16],
        "RI32": [imm16, imm >> 16 & 0xffff], "I": [imm16], "LD": [imm16], "LDA": [imm16],
        "ST": [imm16], "STA": [imm16], "J": [target], "RJ": [target], "RRJ": [target],
        "RIJ": [imm16, target], "CTR": [imm16], "CTRA": [imm16],
        "DSRLD": [imm16, FILES[file] | absolute << 2],
        "DSRSET": [FILES[file] | absolute << 2 | DSR_FIELDS[field] << 4, imm16],
        "DSRGET": [FILES[file] | DSR_FIELDS[field] << 4],
    }[insn.format]
    assert 1 + len(more) == WORDS[insn.format], name
    return [first] + more


def operand(what, files):
    """(kind, number) of a vector operand: None, ("reg", n) or (file, n)."""
    if what is None:
        return 0, 0
    where, number = what
    return (1 if where == "reg" else 2 + files.index(where)), number


def encode_vec(name, dest=None, src0=None, src1=None, scalar=None, index=None):
    op = VECTOR[name]
    kind_d, number_d = operand(dest, ("dest", "src0"))
    kind_0, number_0 = operand(src0, ("src0", "src1"))
    kind_1, number_1 = operand(src1, ("src0", "src1"))
    low = op.number | (scalar is not None) << 6 | (index is not None) << 7
    return [INSTRUCTIONS["vec"].opcode << 8 | low,
            number_d | number_0 << 4 | number_1 << 8 | (scalar or 0) << 12,
            kind_d | kind_0 << 2 | kind_1 << 4 | (index or 0) << 12]


def action(kind="none", id_kind="task", number=0):
    return ACTIONS[kind] | ID_KINDS[id_kind] << 3 | number << 8


def descriptor(kind, flags=(), **f):
    """The 12 words of a descriptor; those of short kinds end with zeros."""
    number, _ = KINDS[kind]
    words = [number | sum(FLAGS[flag] for flag in flags)] + [0] * 11
    if kind in ("mem1d", "circular"):
        words[1:4] = [f["base"], f["length"], f["stride"] & 0xffff]
    if kind == "circular":
        words[4:6] = [f["first"], f["elements"]]
    if kind == "mem4d":
        words[1] = f["base"]
        for i, (length, stride) in enumerate(f["loops"]):
            words[2 + 2 * i:4 + 2 * i] = [length, stride & 0xffff]
    if kind in ("fabin", "fabout"):
        words[1:6] = [f["queue"] | f.get("color", 0) << 8, f["length"], f.get("done", 0),
                      f.get("control", 0),
                      f.get("priority", 0) | ("priority" in f) << 2 | f.get("simd", 0) << 4 |
                      f.get("thread", 0) << 8 | ("thread" in f) << 15]
    if kind == "fifo":
        words[1:3] = [f["state"], f["length"]]
    return words
