"""Random sequences of scalar and vector instructions for one tile, carried out by the model and by
the emulator's driver."""
import random

from machine import isa
from machine.scalar import Machine
from machine.tile import CODE, MEMORY, STACK, WAITS, Fault, Undecided

DATA, DATA_END = 0x40, 0x300            # what loads, stores and descriptors are mostly about
DESCRIPTORS, BLOCKS, RINGS = 0x300, 0x380, 0x3c0
END = 0x440
INTEGERS = (0, 1, 2, 3, 15, 16, 17, 31, 32, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x8001, 0xffff, 0xfffe)
# High halves of f32, and 16-bit floats: zeros, ones, subnormals, infinities, NaN, the largest.
FLOATS = (0, 0x8000, 0, 0x8000, 0x3f80, 0xbf80, 0x4000, 0x0001, 0x8001, 0x007f, 0x0080, 0x7f80, 0xff80, 0x7fc0,
          0x7f7f, 0x7f81, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x0400, 0x03ff,
          0x4b00, 0x4f00, 0xcf00, 0x477f, 0xc700, 0x5900, 0x7dff, 0x7e01, 0x3800)
POOR = (0, 0x8000, 0, 0x8000, 0, 0x3f80, 0x3c00)
ARITHMETIC = [i for i in isa.INSTRUCTIONS.values() if i.format in ("RR", "RRR", "RRI") and
              i.cost in ("ALU16", "ALU32", "MUL32", "IDIV", "FP", "FDIV",
                         "FCONV")]
ACCESSES = [i for i in isa.INSTRUCTIONS.values() if i.format in ("LD", "LDA", "ST", "STA")]
BRANCHES = [i for i in isa.INSTRUCTIONS.values() if i.format in ("RJ", "RRJ", "RIJ")]
VECTORS = [op for op in isa.VECTOR.values() if op.name != "dfilt"]     # dfilt reads a queue
FIELDS = [f for f in isa.DSR_FIELDS if f not in ("remaining", "done", "control")]
COUNTER = 15                    # of loops; nothing else writes it


class Sequence:
    def __init__(self, seed):
        self.random = random.Random(f"sequence {seed}")
        self.seed = seed
        self.arch = ("wse2", "wse3")[self.random.randrange(2)]
        self.half = self.random.choice((0, 0, 0, 1, 2))
        self.bad = self.chance(0.12)            # may end with a fault
        self.poor = self.chance(0.15)           # few different numbers, most of them zeros
        self.data = self.make_data()
        self.items = []                         # (name, operands); operands may have a label
        self.generate()
        self.assemble()

    # ---- choices

    def chance(self, p):
        return self.random.random() < p

    def word(self):
        pick = self.random.random()
        if self.poor:
            return self.random.choice(POOR)
        if pick < 0.35:
            return self.random.choice(FLOATS)
        return self.random.choice(INTEGERS) if pick < 0.6 else self.random.randrange(1 << 16)

    def register(self, pair=False, write=False):
        while True:
            n = self.random.randrange(16) if self.chance(0.3) else self.random.randrange(6)
            n &= ~1 if pair else ~0
            if not (write and {n, n + pair} & {STACK, COUNTER}):
                return n

    def address(self, width):
        if self.bad and self.chance(0.02):
            return self.random.choice((CODE, CODE + 2, MEMORY - 2, MEMORY, 0xc200, 0x5000,
                                       DATA + 1, DATA + 3))
        return self.random.randrange(DATA, DATA_END, max(width, 1) if self.chance(0.7) else
                                     min(width, 2))

    # ---- data: numbers, descriptors, FIFOs

    def make_data(self):
        words = []
        while len(words) < END // 2:        # a third are f32 with few bits, as zeros are
            words += [0, self.random.choice(FLOATS)] if self.chance(0.2) else [self.word()]
        words = words[:END // 2]
        self.rings = []
        for i in range(2):
            capacity = self.random.randrange(1, 7)
            held = self.random.randrange(capacity + 1)
            read = self.random.randrange(capacity)
            own = [self.random.choice((0, 0, 3, 5)) for _ in range(2)]
            flags = self.random.choice((0, 0, 1)) << 4 | self.random.choice((0, 0, 1)) << 6
            if self.bad and self.chance(0.2):
                flags = 0xf0
            block = [RINGS + 32 * i, capacity, read, (read + held) % capacity, held, flags, 4, 0, 0,
                     *own, 0]
            words[BLOCKS // 2 + 16 * i:BLOCKS // 2 + 16 * i + 12] = block
        for i in range(4):
            at = (DESCRIPTORS + 24 * i) // 2
            words[at:at + 12] = self.descriptor()
        return b"".join(w.to_bytes(2, "little") for w in words)

    def descriptor(self):
        r = self.random
        kind = r.choices(("mem1d", "mem4d", "circular", "fifo"), (5, 2, 2, 1))[0]
        flags = [f for f, p in (("save", 0.15), ("step", 0.1), ("index", 0.15),
                                       ("scalar", 0.08)) if self.chance(p)]
        base = self.address(4)
        if kind == "fifo":
            return isa.descriptor(kind, state=BLOCKS + 32 * r.randrange(2),
                                  length=r.choice((0, 0, 2, 4)))
        if kind == "mem4d":
            loops = [(r.choice((0, 1, 1, 2, 2, 3, 3, 4)) if self.chance(0.97) else 0,
                      r.randrange(-3, 6)) for _ in range(4)]
            return isa.descriptor(kind, flags, base=base, loops=loops)
        if kind == "circular":
            elements = r.choice((0, 4, 5, 8))
            return isa.descriptor(kind, flags, base=base, length=r.randrange(14), elements=elements,
                                  stride=r.randrange(-5, 6), first=base - 4 * r.randrange(4) & ~1)
        return isa.descriptor(kind, flags, base=base, length=r.randrange(12),
                              stride=r.choice((1, 1, 1, 0, 2, -1, -2, 3)))

    # ---- instructions

    def add(self, name, **operands):
        self.items.append((name, operands))

    def arithmetic(self):
        insn = self.random.choice(ARITHMETIC)
        operands = {"a": self.register(insn.is_pair("a"), write=True),
                    "b": self.register(insn.is_pair("b"))}
        if insn.format == "RRR":
            operands["c"] = self.register(insn.is_pair("c"))
        if insn.format == "RRI":
            operands["imm"] = self.random.randrange(40) if self.chance(0.5) else self.word()
        self.add(insn.name, **operands)

    def load_values(self):
        if self.chance(0.5):
            self.add("li", a=self.register(write=True), imm=self.word())
        else:
            self.add("li32", a=self.register(True, write=True), imm=self.word() << 16 | self.word())

    def access(self):
        insn = self.random.choice(ACCESSES)
        width = {"8": 1, "1": 2, "3": 4}[insn.name[2]]
        pair = width == 4
        a = self.register(pair, write=insn.name.startswith("ld"))
        if insn.format in ("LDA", "STA"):
            self.add(insn.name, a=a, imm=self.address(width))
            return
        b = self.random.choice([n for n in range(12) if n not in (STACK, a, a + pair)])
        base = self.random.randrange(0, 1 << 16, 2)
        self.add("li", a=b, imm=base)
        self.add(insn.name, a=a, b=b, imm=self.address(width) - base & 0xffff)

    def branch(self):
        insn = self.random.choice(BRANCHES)
        operands = {"a": self.register()}
        if insn.format == "RRJ":
            operands["b"] = self.register()
        if insn.format == "RIJ":
            operands["imm"] = self.word()
        label = f"skip{len(self.items)}"
        self.add(insn.name, **operands, label=label)
        for _ in range(self.random.randrange(1, 4)):
            self.any(nested=True)
        self.items.append((label, None))

    def loop(self):
        label = f"loop{len(self.items)}"
        self.add("li", a=COUNTER, imm=self.random.randrange(1, 5))
        self.items.append((label, None))
        for _ in range(self.random.randrange(1, 4)):
            self.any(nested=True)
        self.add("addi", a=COUNTER, b=COUNTER, imm=0xffff)
        self.add("bnz", a=COUNTER, label=label)

    def call(self):
        if self.chance(0.5):
            self.add("call", label="function")
            return
        register = self.random.randrange(6)
        self.add("li", a=register, label_imm="function")
        self.add("callr", a=register)

    def dsr_name(self, files):
        return self.random.choice(files), self.random.randrange(4)

    def dsr(self):
        file, number = self.dsr_name(("dest", "src0", "src1"))
        pick = self.random.random()
        if pick < 0.5:
            self.add("ldsr", a=number, b=0, file=file, absolute=True,
                     imm=DESCRIPTORS + 24 * self.random.randrange(4))
            return
        fields = {"mem1d": ("base", "length", "stride", "flags"), "fifo": ("base", "length", "flags")}
        field = self.random.choice(FIELDS if self.bad and self.chance(0.2) else fields["fifo"])
        if pick < 0.75:
            if field == "base_add" or not self.loaded(file, number):
                return
            self.add("dsrget", a=number, b=self.register(write=True), file=file, field=field)
            return
        if field == "base":
            field = "base_add"
        value = {"length": self.random.randrange(9), "flags": self.random.choice((0x100, 0x20)),
                 "base_add": self.random.choice((0, 2, 4, 0xfffc))}.get(field, 1)
        if not self.loaded(file, number) or (field == "length" and not self.bad and
                                             self.kind(file, number) == "mem4d"):
            return
        self.add("dsrset", a=number, b=0, file=file, absolute=True, field=field, imm=value)

    def loaded(self, file, number):
        return self.bad or (file, number) in self.ready

    def kind(self, file, number):
        return self.ready.get((file, number))

    def load_dsrs(self):
        """Most DSRs are loaded at the start."""
        self.ready = {}
        kinds = {number: name for name, (number, _) in isa.KINDS.items()}
        for file in ("dest", "src0", "src1"):
            for number in range(4):
                at = DESCRIPTORS + 24 * self.random.randrange(4)
                if self.chance(0.04) and self.bad:
                    continue
                kind = kinds[self.data[at] & 15]
                self.ready[file, number] = "mem4d" if kind == "mem4d" else kind
                self.add("ldsr", a=number, b=0, file=file, absolute=True, imm=at)

    def vector(self):
        op = self.random.choice(VECTORS)
        width, narrow = op.width(op.destination), op.width(op.elements)
        o = {"op": op.name, "dest": self.dsr_name(("dest", "dest", "src0")), "src0": None,
             "src1": self.dsr_name(("src1", "src1", "src0")), "scalar": None, "index": None}
        if self.chance(0.15):
            o["dest"] = ("reg", self.register(width == 4, write=True))
        if op.sources == 2:
            o["src0"] = self.dsr_name(("src0", "src0", "src1"))
            if self.chance(0.25):
                both = o["dest"][0] == "reg"
                wide = narrow == 4 or op.name == "fmachs" or (op.name == "faddhs" and both)
                o["src0"] = ("reg", self.register(wide))
                if both and self.chance(0.6):
                    o["src0"] = o["dest"]
        if self.chance(0.1):
            o["src1"] = ("reg", self.register(narrow == 4))
        if op.scalar:
            o["scalar"] = self.register(narrow == 4)
        if self.chance(0.2):
            o["index"] = self.register()
            self.add("li", a=self.random.choice([n for n in range(6)]), imm=self.random.randrange(9))
        self.add("vec", **o)
        if self.chance(0.3):
            self.add("vstat", a=self.register(write=True))

    def failing(self):
        if self.chance(0.5):
            self.add("assert", a=self.register())
        else:
            self.add("trap", imm=self.random.randrange(9))

    def any(self, nested=False):
        makers = [(self.arithmetic, 40), (self.load_values, 8), (self.access, 12), (self.vector, 14),
                  (self.dsr, 6)]
        if not nested:
            makers += [(self.branch, 5), (self.loop, 2), (self.call, 2)]
        if self.bad:
            makers.append((self.failing, 0.3))
        self.random.choices([m for m, _ in makers], [w for _, w in makers])[0]()

    def generate(self):
        for n in range(6):
            self.add("li", a=n, imm=self.word())
        self.load_dsrs()
        for _ in range(self.random.randrange(8, 40)):
            self.any()
        self.add("endtask")
        self.items.append(("function", None))
        for _ in range(self.random.randrange(1, 4)):
            self.arithmetic()
        self.add("ret")

    # ---- words

    def encode(self, name, operands, labels):
        o = dict(operands)
        if "label" in o:
            o["target"] = labels.get(o.pop("label"), 0)
        if "label_imm" in o:
            o["imm"] = labels.get(o.pop("label_imm"), 0)
        if name == "vec":
            v = dict(o)
            return isa.encode_vec(v.pop("op"), **v), o
        return isa.encode(name, **o), o

    def assemble(self):
        labels, at = {}, CODE
        for name, operands in self.items:
            if operands is None:
                labels[name] = at
            else:
                at += 2 * len(self.encode(name, operands, {})[0])
        self.words, self.code = [], {}
        for name, operands in self.items:
            if operands is None:
                continue
            words, operands = self.encode(name, operands, labels)
            self.code[CODE + 2 * len(self.words)] = (name, operands, len(words))
            self.words += words

    def text(self):
        """The statements for the driver."""
        arch = ("wse2", "wse3").index(self.arch)
        return (f"program {self.seed} {arch} {self.half} 1 1\ntile 0 0\n"
                f"code {''.join(f'{w:04x}' for w in self.words)}\ndata 0 {self.data.hex()}\n"
                "run 100000 0\n")

    def predict(self):
        """(fault name or None, address of its instruction, the machine)."""
        machine = Machine(self.words, self.data, self.half)
        try:
            machine.run(self.code)
        except Fault as fault:
            return fault.name, machine.pc, machine
        return None, None, machine

    def differences(self, end):
        """What the emulator's end, a dictionary, has other than the model; None if that cannot say."""
        try:
            fault, pc, machine = self.predict()
        except Undecided:
            return None
        if fault == WAITS:
            thread = end["tiles"][0]["threads"]
            return [] if end["idle"] == "stuck" and thread[0][:2] == [0, pc] else ["it does not wait"]
        found = end["faults"][-1] if end["faults"] else (None, None, None)
        tile = end["tiles"][0]
        if found[0] == "DESCRIPTOR" and machine.fires:
            return None         # the model does not know which words are actions
        if (fault, pc) != (found[0], found[2]):
            return [f"fault: model {fault} at {pc and hex(pc)}, emulator {found[0]} at "
                    f"{found[2] and hex(found[2])}"]
        if fault is None and end["status"] != "quiet":
            return [f"the emulator ends with {end['status']}"]
        if fault and self.code[pc][0] in ("vec", "dsrget"):
            return []           # what they have done before the fault is not defined
        wrong = [f"r{n}: model {a:#x}, emulator {b:#x}"
                 for n, (a, b) in enumerate(zip(machine.r, tile["r"])) if a != b]
        data = bytes.fromhex(tile["data"])
        # How far an operation has come beside which the fault came is not defined.
        is_under_way = fault and tile["threads"]
        end_of_memory = 0 if is_under_way else END
        wrong += [f"byte {at:#x}: model {machine.memory[at]:#x}, emulator {data[at]:#x}"
                  for at in range(end_of_memory) if machine.memory[at] != data[at]]
        for name in ("carry",) if is_under_way else ("carry", "vstat"):
            if int(getattr(machine, name)) != tile[name]:
                wrong.append(f"{name}: model {getattr(machine, name)}, emulator {tile[name]}")
        return wrong
