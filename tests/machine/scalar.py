"""The scalar instructions of the second model: one function for each name of docs/isa.md, called
with the tile and the operands, and the loop that carries out code."""
from machine import floats
from machine import isa
from machine.tile import CODE, STACK, Dsr, Fault, Tile, signed

F32 = floats.F32


def s16(v):
    return signed(v)


def s32(v):
    return signed(v, 32)


def quotient(a, b):
    if b == 0:
        return 0
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def remainder(a, b):
    return a - quotient(a, b) * b


# Value of the destination from the operands b and c (c is the immediate where there is one).
VALUES = {
    "mov": lambda b, c: b, "mov32": lambda b, c: b,
    "rsubi": lambda b, c: c - b,
    "and": lambda b, c: b & c, "or": lambda b, c: b | c, "xor": lambda b, c: b ^ c,
    "sll": lambda b, c: b << c if c < 16 else 0, "slr": lambda b, c: b >> c,
    "sar": lambda b, c: s16(b) >> min(c, 15),
    "mul": lambda b, c: b * c, "mulwu": lambda b, c: b * c, "mulws": lambda b, c: s16(b) * s16(c),
    "divs": lambda b, c: quotient(s16(b), s16(c)), "divu": lambda b, c: quotient(b, c),
    "rems": lambda b, c: remainder(s16(b), s16(c)), "remu": lambda b, c: remainder(b, c),
    "sext8": lambda b, c: signed(b, 8), "zext8": lambda b, c: b & 0xff,
    "clz": lambda b, c: 16 - b.bit_length(),
    "ctz": lambda b, c: next(i for i in range(17) if (b | 1 << 16) >> i & 1),
    "popcnt": lambda b, c: bin(b).count("1"),
    "addi32": lambda b, c: b + s16(c),
    "and32": lambda b, c: b & c, "or32": lambda b, c: b | c, "xor32": lambda b, c: b ^ c,
    "sll32": lambda b, c: b << c if c < 32 else 0, "slr32": lambda b, c: b >> c,
    "sar32": lambda b, c: s32(b) >> min(c, 31), "mul32": lambda b, c: b * c,
    "divs32": lambda b, c: quotient(s32(b), s32(c)), "divu32": lambda b, c: quotient(b, c),
    "rems32": lambda b, c: remainder(s32(b), s32(c)), "remu32": lambda b, c: remainder(b, c),
    "sext16": lambda b, c: s16(b), "zext16": lambda b, c: b,
    "seq": lambda b, c: b == c, "sne": lambda b, c: b != c, "slts": lambda b, c: s16(b) < s16(c),
    "sltu": lambda b, c: b < c, "sles": lambda b, c: s16(b) <= s16(c), "sleu": lambda b, c: b <= c,
    "seq32": lambda b, c: b == c, "sne32": lambda b, c: b != c,
    "slts32": lambda b, c: s32(b) < s32(c), "sltu32": lambda b, c: b < c,
    "sles32": lambda b, c: s32(b) <= s32(c), "sleu32": lambda b, c: b <= c,
    "fnegh": lambda b, c: b ^ 0x8000, "fnegs": lambda b, c: b ^ 0x80000000,
    "fscales": lambda b, c: floats.scaled(F32, b, s16(c)),
    "i2s": lambda b, c: floats.from_integer(F32, s16(b)),
    "u2s": lambda b, c: floats.from_integer(F32, b),
    "l2s": lambda b, c: floats.from_integer(F32, s32(b)),
    "ul2s": lambda b, c: floats.from_integer(F32, b),
    "s2i": lambda b, c: floats.to_integer(F32, b, 16, True),
    "s2u": lambda b, c: floats.to_integer(F32, b, 16, False),
    "s2l": lambda b, c: floats.to_integer(F32, b, 32, True),
    "s2ul": lambda b, c: floats.to_integer(F32, b, 32, False),
}
# An immediate in place of the register.
for name in ("and", "or", "xor", "sll", "slr", "sar", "mul", "sll32", "slr32", "sar32"):
    VALUES[name[:3] + "i" + name[3:]] = VALUES[name]


def compares(f, name):
    def value(b, c):
        which = floats.order(floats.unpack(f, b), floats.unpack(f, c))
        return which is not None and {"eq": which == 0, "lt": which < 0, "le": which <= 0}[name]
    return value


for name in ("add", "sub", "mul", "div"):
    VALUES[f"f{name}s"] = lambda b, c, name=name: floats.binary(F32, name, b, c)
for name in ("eq", "lt", "le"):
    VALUES[f"f{name}s"] = compares(F32, name)


def half_values(h):
    """Those of the 16-bit floats, whose format the program chooses."""
    values = {f"f{name}h": (lambda b, c, name=name: floats.binary(h, name, b, c))
              for name in ("add", "sub", "mul", "div")}
    values.update({f"f{name}h": compares(h, name) for name in ("eq", "lt", "le")})
    return values | {
        "fscaleh": lambda b, c: floats.scaled(h, b, s16(c)),
        "h2s": lambda b, c: floats.converted(h, F32, b),
        "s2h": lambda b, c: floats.converted(F32, h, b),
        "i2h": lambda b, c: floats.from_integer(h, s16(b)),
        "u2h": lambda b, c: floats.from_integer(h, b),
        "l2h": lambda b, c: floats.from_integer(h, s32(b)),
        "ul2h": lambda b, c: floats.from_integer(h, b),
        "h2i": lambda b, c: floats.to_integer(h, b, 16, True),
        "h2u": lambda b, c: floats.to_integer(h, b, 16, False),
        "h2l": lambda b, c: floats.to_integer(h, b, 32, True),
        "h2ul": lambda b, c: floats.to_integer(h, b, 32, False),
    }


CONDITIONS = {
    "z": lambda a, b: a == 0, "nz": lambda a, b: a != 0, "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b, "lts": lambda a, b: s16(a) < s16(b), "ltu": lambda a, b: a < b,
    "ges": lambda a, b: s16(a) >= s16(b), "geu": lambda a, b: a >= b,
}
# Sums that set the carry: whether c is inverted, and the carry that goes in (None: the flag).
SUMS = {"add": (False, 0), "addi": (False, 0), "addc": (False, None), "sub": (True, 1),
        "subc": (True, None)}
HALVES = [half_values(h) for h in floats.HALVES]


class Machine(Tile):
    """Carries out code: a list of (address, name, operands), see program.py."""

    def __init__(self, code, data, half_number):
        super().__init__(code, data, floats.HALVES[half_number])
        self.values = VALUES | HALVES[half_number]
        self.pc = CODE
        self.next = CODE
        self.ended = False

    def run(self, code):
        """Until the task ends or a Fault; `code` maps addresses to (name, operands, words)."""
        while not self.ended:
            name, operands, words = code[self.pc]
            self.next = self.pc + 2 * words
            self.step(name, operands)
            self.pc = self.next

    def step(self, name, o):
        insn = isa.INSTRUCTIONS[name]
        stack = self.r[STACK]
        if name == "vec":
            self.vector(**o)
            return
        if insn.format in ("LD", "LDA", "ST", "STA"):
            self.access(name, insn, o)
        elif name in self.values:
            self.assign(insn, o["a"], self.values[name](*self.sources(insn, o)))
        elif name.removesuffix("32") in SUMS:
            self.sum(name, insn, o)
        elif name[0] == "b" and name.removesuffix("i")[1:] in CONDITIONS:
            self.branch(name, o)
        else:
            getattr(self, "do_" + name)(o)
        now = self.r[STACK]
        grows = now - stack & 0x8000          # a large frame may lead below address 0
        if grows and (now < self.floor or now > stack) and name not in ("call", "callr"):
            raise Fault("STACK")

    def source(self, insn, letter, number):
        return self.pair(number) if insn.is_pair(letter) else self.r[number]

    def sources(self, insn, o):
        b = self.source(insn, "b", o["b"])
        if insn.format == "RRR":
            return b, self.source(insn, "c", o["c"])
        return b, o.get("imm", 0)

    def assign(self, insn, number, value):
        self.put(number, int(value), 4 if insn.is_pair("a") else 2)

    def sum(self, name, insn, o):
        invert, carry = SUMS[name.removesuffix("32")]
        bits = 32 if insn.is_pair("a") else 16
        mask = (1 << bits) - 1
        b, c = self.sources(insn, o)
        total = b + (c ^ mask if invert else c) + (self.carry if carry is None else carry)
        self.carry = bool(total >> bits)
        self.assign(insn, o["a"], total & mask)

    def branch(self, name, o):
        b = o["imm"] if "imm" in o else self.r[o.get("b", 0)]
        if CONDITIONS[name.removesuffix("i")[1:]](self.r[o["a"]], b):
            self.next = o["target"]

    def access(self, name, insn, o):
        absolute = insn.format in ("LDA", "STA")
        address = (o["imm"] + (0 if absolute else self.r[o["b"]])) & 0xffff
        width = {"8": 1, "1": 2, "3": 4}[name[2]]
        if name.startswith("st"):
            self.store(address, width, self.pair(o["a"]) if width == 4 else self.r[o["a"]])
            return
        value = self.load(address, width)
        self.put(o["a"], signed(value, 8) if name.startswith("ld8s") else value, width)

    def do_nop(self, o):
        pass

    def do_li(self, o):
        self.r[o["a"]] = o["imm"]

    def do_li32(self, o):
        self.put(o["a"], o["imm"], 4)

    def do_jmp(self, o):
        self.next = o["target"]

    def push(self, target):
        top = self.r[STACK] - 2
        if top < self.floor:
            raise Fault("STACK")
        self.store(top, 2, self.next)
        self.r[STACK] = top
        self.next = target

    def do_call(self, o):
        self.push(o["target"])

    def do_callr(self, o):
        self.push(self.r[o["a"]])

    def do_ret(self, o):
        self.next = self.load(self.r[STACK], 2)
        self.r[STACK] = self.r[STACK] + 2 & 0xffff

    def do_endtask(self, o):
        self.ended = True

    def do_trap(self, o):
        raise Fault("TRAP")

    def do_assert(self, o):
        if self.r[o["a"]] == 0:
            raise Fault("ASSERT")

    def do_vstat(self, o):
        self.r[o["a"]] = int(self.vstat)

    def do_ldsr(self, o):
        address = (o["imm"] + (0 if o["absolute"] else self.r[o["b"]])) & 0xffff
        words = [self.load(address, 2)]
        kinds = {number: words for number, words in isa.KINDS.values()}
        if words[0] & 15 not in kinds:
            raise Fault("DESCRIPTOR")
        for i in range(1, kinds[words[0] & 15]):
            words.append(self.load(address + 2 * i, 2))
        if not Dsr.valid(words):
            raise Fault("DESCRIPTOR")
        self.dsrs[isa.FILES[o["file"]], o["a"]] = Dsr(words + [0] * (12 - len(words)))

    def do_dsrset(self, o):
        dsr = self.dsrs.get((isa.FILES[o["file"]], o["a"]))
        value = o["imm"] if o["absolute"] else self.r[o["b"]]
        if dsr is None or not dsr.set(o["field"], value):
            raise Fault("DSR_FIELD")

    def do_dsrget(self, o):
        dsr = self.dsrs.get((isa.FILES[o["file"]], o["a"]))
        value = dsr.get(o["field"]) if dsr else None
        if value is None:
            raise Fault("DSR_FIELD")
        self.r[o["b"]] = value
