"""A second model of the instructions, written from docs/isa.md: registers, memory, descriptors and
vector operations of one tile, without time, queues and tasks."""
import struct

from machine import floats
from machine import isa

MEMORY = isa.machine("pe_mem_bytes", "wse2")
STACK = isa.machine("sp_register", "wse2")
CODE = 0x4000                   # where the tests put the code


WAITS = "waits for ever"         # no fault: an operation that only another thread could help


class Fault(Exception):
    """What ends a run; the name is that of the emulator's finding."""

    def __init__(self, name):
        super().__init__(name)
        self.name = name


class Undecided(Exception):
    """The page does not say what happens, or it needs more than one tile's memory."""


def signed(value, bits=16):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Dsr:
    """A loaded descriptor: its fields, and how far a single-step walk has come."""

    def __init__(self, words):
        numbers = {number: name for name, (number, _) in isa.KINDS.items()}
        self.kind = numbers[words[0] & 15]
        self.flags = words[0] & ~15
        self.base = words[1]
        self.length, self.stride, self.first, self.elements = words[2], 0, 0, 0
        self.loops = []
        if self.kind in ("mem1d", "circular"):
            self.stride = signed(words[3])
        if self.kind == "circular":
            self.first, self.elements = words[4], words[5]
        if self.kind == "mem4d":
            self.loops = [[words[2 + 2 * i], signed(words[3 + 2 * i])] for i in range(4)]
        self.position = [0] * 4
        self.remaining = self.span()

    @staticmethod
    def valid(words):
        """Whether the words that the kind does not use, and the flags that there are not, are zero."""
        names = {number: name for name, (number, _) in isa.KINDS.items()}
        kind = names.get(words[0] & 15)
        if kind is None or words[0] & ~15 & ~sum(isa.FLAGS.values()):
            return False
        if kind in ("fabin", "fabout") or words[0] & isa.FLAGS["async"]:
            raise Undecided("an operand of the fabric")
        return not any(words[{"mem1d": 4, "mem4d": 10, "circular": 6, "fifo": 3}[kind]:])

    def has(self, flag):
        return bool(self.flags & isa.FLAGS[flag])

    def span(self):
        if self.kind != "mem4d":
            return self.length
        total = 1
        for length, _ in self.loops:
            total *= length
        return min(total, 0xffffffff)

    def set(self, field, value):
        """False: the descriptor has no such field."""
        if field in ("base", "base_add"):
            self.base = value if field == "base" else self.base + value & 0xffff
        elif field == "stride" and self.kind != "mem4d" and self.kind != "fifo":
            self.stride = signed(value)
        elif field == "length" and self.kind != "mem4d":
            self.length = self.remaining = value
        elif field == "flags":
            self.flags |= value
        elif field[:-1] in ("length", "stride") and self.kind == "mem4d":
            self.loops[int(field[-1])][field[0] == "s"] = signed(value) if field[0] == "s" else value
            self.remaining = self.span()
        else:
            return False
        return True

    def get(self, field):
        """None: the descriptor has no such field."""
        if field[-1].isdigit():
            if self.kind != "mem4d":
                return None
            return self.loops[int(field[-1])][field[0] == "s"] & 0xffff
        return {"base": self.base, "length": self.span() & 0xffff, "stride": self.stride & 0xffff,
                "done": 0, "control": 0, "flags": self.flags,
                "remaining": min(self.remaining, 0xffff)}[field]


class Stream:
    """One operand of a vector operation while that runs."""

    def __init__(self, width):
        self.width, self.kind, self.dsr, self.where = width, "none", None, None

    def in_memory(self, dsr, index):
        self.kind, self.dsr = "memory", dsr
        self.address = dsr.base + (2 * index if dsr.has("index") else 0) & 0xffff
        self.loops = dsr.loops or [[dsr.length, dsr.stride]]
        self.position = list(dsr.position) if dsr.has("step") else [0] * 4

    def advance(self):
        """To the next element; the outermost loop with more than one turn does not end."""
        outer = max([i for i, (length, _) in enumerate(self.loops) if length > 1], default=0)
        k = 0
        while k < outer:
            self.position[k] += 1
            if self.position[k] < self.loops[k][0]:
                break
            self.position[k] = 0
            k += 1
        address = self.address + self.loops[k][1] * self.width
        if self.dsr.kind == "circular" and self.dsr.elements:
            first = self.dsr.first
            address = first + (address - first) % (self.dsr.elements * self.width)
        self.address = address & 0xffff


class Tile:
    def __init__(self, code, data, half):
        self.memory = bytearray(MEMORY)
        self.memory[CODE:CODE + 2 * len(code)] = struct.pack(f"<{len(code)}H", *code)
        self.memory[:len(data)] = data
        self.code_end = CODE + 2 * len(code)
        self.floor = self.code_end
        self.half = half
        self.r = [0] * 16
        self.r[STACK] = MEMORY
        self.carry = self.vector_carry = self.vstat = False
        self.dsrs = {}          # (file number, number)
        self.fires = 0          # not 0: an action of a FIFO, of which there may be none

    # ---- memory and registers

    def check(self, address, width):
        if width > 1 and address & 1:
            raise Fault("ALIGNMENT")
        if address + width > MEMORY:
            raise Fault("ADDRESS")

    def load(self, address, width):
        self.check(address, width)
        return int.from_bytes(self.memory[address:address + width], "little")

    def store(self, address, width, value):
        self.check(address, width)
        if address < self.code_end and address + width > CODE:
            raise Fault("CODE_STORE")
        self.memory[address:address + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width,
                                                                                         "little")

    def pair(self, n):
        return self.r[n] | self.r[n + 1] << 16

    def put(self, n, value, width):
        self.r[n] = value & 0xffff
        if width == 4:
            self.r[n + 1] = value >> 16 & 0xffff

    # ---- vector operations

    def operand(self, where, width, index, is_dest):
        stream = Stream(width)
        if where is None:
            return stream
        stream.where = where
        if where[0] == "reg":
            stream.kind = "register"
            stream.value = self.pair(where[1]) if width == 4 else self.r[where[1]]
            return stream
        dsr = self.dsrs.get((isa.FILES[where[0]], where[1]))
        if dsr is None:
            raise Fault("DSR_EMPTY")
        if dsr.kind == "fifo":
            stream.kind, stream.dsr, stream.state, stream.push = "fifo", dsr, dsr.base, is_dest
            stream.own_length = dsr.length or self.fifo(stream, 10 if is_dest else 9)
        else:
            stream.in_memory(dsr, index)
        return stream

    def fifo(self, stream, word, value=None):
        """A word of the state block, read or written."""
        if value is None:
            return self.load(stream.state + 2 * word & 0xffff, 2)
        self.store(stream.state + 2 * word & 0xffff, 2, value)
        return value

    def available(self, stream):
        held, capacity = self.fifo(stream, 4), self.fifo(stream, 1)
        return max(capacity - held, 0) if stream.push else held

    def move(self, stream, value=0):
        """Pushes or pops one element."""
        word = 3 if stream.push else 2
        at, capacity, held = self.fifo(stream, word), self.fifo(stream, 1), self.fifo(stream, 4)
        address = self.fifo(stream, 0) + at * stream.width
        if stream.push:
            self.store(address, stream.width, value)
        else:
            value = self.load(address, stream.width)
        self.fifo(stream, word, at + 1 if at + 1 < capacity else 0)
        self.fifo(stream, 4, held + 1 if stream.push else held - 1)
        if stream.push:
            self.fifo(stream, 6, stream.width)
        found = self.fifo(stream, 5)
        self.fires |= found & (1 if stream.push else 2) and self.fifo(stream, 7 if stream.push else 8)
        self.fifo(stream, 5, found & ~3)
        return value

    def vector(self, op, dest, src0, src1, scalar, index):
        """The instruction `vec`, carried out from its first element to its last."""
        info = isa.VECTOR[op]
        width, narrow = info.width(info.destination), info.width(info.elements)
        fold = dest and src0 and dest == src0 and dest[0] == "reg"
        both_registers = dest[0] == "reg" and src0 and src0[0] == "reg"
        wide_first = (op == "fmachs" or (op == "faddhs" and both_registers) or
                      self.is_scalar(src0))
        index = self.r[index] if index is not None else 0
        s = 0 if scalar is None else self.scalar(op, scalar, narrow)
        out = self.operand(dest, width, index, True)
        first = self.operand(src0, width if wide_first else narrow, index, False)
        second = self.operand(src1, narrow, index, False)
        streams = (first, second, out)
        if first.kind == second.kind == "fifo" and first.state == second.state:
            raise Undecided("both sources pop one FIFO")
        count, exhausted = self.count(streams)
        done = 0
        while done < count:
            short = [f for f in streams if f.kind == "fifo" and not self.available(f)]
            if short:
                self.stop_at_fifo(short, count - done, out)
                return
            a, b = self.element(first), self.element(second)
            value = self.compute(op, a, b, s, first.width)
            self.result(out, value)
            if fold:
                first.value = value
            for stream in streams:
                if stream.kind == "memory":
                    stream.advance()
            done += 1
        if count:
            self.save(streams)
        if out.kind == "register":
            self.put(out.where[1], out.value, out.width)
        self.vstat = not exhausted

    def is_scalar(self, where):
        """Whether a descriptor stands for one number."""
        dsr = where and self.dsrs.get((isa.FILES.get(where[0]), where[1]))
        return bool(dsr and dsr.has("scalar"))

    def scalar(self, op, register, narrow):
        wide = narrow == 4 and op != "fscales"
        return self.pair(register) if wide else self.r[register]

    def count(self, streams):
        """Elements of the operation, and whether a single-step walk was at its end."""
        stepping = [f for f in streams if f.dsr and f.dsr.has("step")]
        if stepping:
            over = any(f.dsr.remaining == 0 for f in stepping)
            return (0 if over else 1), over
        for stream in streams:
            if stream.dsr and stream.dsr.has("scalar"):
                continue
            if stream.kind == "fifo" and stream.own_length:
                return stream.own_length, False
            if stream.kind == "memory":
                return stream.dsr.span(), False
        return 1, False

    def element(self, stream):
        if stream.kind == "memory":
            return self.load(stream.address, stream.width)
        if stream.kind == "fifo":
            return self.move(stream)
        return stream.value if stream.kind == "register" else 0

    def result(self, stream, value):
        if stream.kind == "memory":
            self.store(stream.address, stream.width, value)
        elif stream.kind == "fifo":
            self.move(stream, value)
        elif stream.kind == "register":
            stream.value = value

    def stop_at_fifo(self, short, left, out):
        """An empty or full FIFO ends a synchronous operation; its lengths keep what is left."""
        flags = self.fifo(short[0], 5)
        what = flags >> (6 if short[0].push else 4) & 3
        for stream in short:
            self.fifo(stream, 5, self.fifo(stream, 5) | (2 if stream.push else 1))
            if stream.dsr.length:
                stream.dsr.length = left
            else:
                word = 10 if stream.push else 9
                if self.fifo(stream, word):
                    self.fifo(stream, word, left)
        if what > 1:
            raise Fault("FIFO" if what == 3 else WAITS)
        self.vstat = what == 1
        if what == 1 and out.kind == "register":
            self.put(out.where[1], out.value, out.width)

    def save(self, streams):
        """What descriptors keep; one that is first source and destination is kept once."""
        seen = set()
        for stream in streams:
            if not stream.dsr or id(stream.dsr) in seen:
                continue
            if stream is streams[2] and stream.dsr is streams[0].dsr:
                continue
            dsr = stream.dsr
            if stream.kind == "memory" and (dsr.has("save") or dsr.has("step")):
                dsr.base = stream.address
            if dsr.has("step"):
                if stream.kind == "memory":
                    dsr.position = stream.position
                dsr.remaining -= 1 if 0 < dsr.remaining < 0xffffffff else 0

    def compute(self, op, a, b, s, first_width):
        h, f = self.half, floats.F32
        if op in ("mov16", "mov32", "fmovh", "fmovs"):
            return b
        if op in ("add16", "addc16"):
            total = a + b + (self.vector_carry if op == "addc16" else 0)
            self.vector_carry = bool(total >> 16)
            return total & 0xffff
        if op in INTEGER:
            return INTEGER[op](a, b) & 0xffff
        if op in ("faddh", "fsubh", "fmulh", "fmaxh"):
            return floats.binary(h, op[1:4], a, b)
        if op in ("fadds", "fsubs", "fmuls", "fmaxs"):
            return floats.binary(f, op[1:4], a, b)
        value = floats.unpack
        if op == "faddhs":
            wide = value(f, a) if first_width == 4 else value(h, a)
            return floats.pack_value(f, floats.add(floats.unpack(f, floats.pack_value(f, wide)),
                                                   value(h, b)))
        if op == "fmach":
            return floats.fused(h, value(h, b), value(h, s), value(h, a))
        if op == "fmacs":
            return floats.fused(f, value(f, b), value(f, s), value(f, a))
        if op == "fmachs":
            return floats.fused(f, value(h, b), value(h, s), value(f, a))
        kind = f if op[-1] == "s" else h
        if op in ("fnegh", "fnegs"):
            return b ^ kind.sign
        if op in ("fabsh", "fabss"):
            return b & ~kind.sign
        if op in ("fnormh", "fnorms"):
            return floats.normalised(kind, b)
        if op in ("fscaleh", "fscales"):
            return floats.scaled(kind, b, signed(s))
        if op in ("fs2h", "fh2s"):
            return floats.converted(f, h, b) if op == "fs2h" else floats.converted(h, f, b)
        if op in ("fh2xp16", "fs2xp16"):
            return floats.to_integer(h if op[1] == "h" else f, b, 16, True)
        if op in ("xp162fh", "xp162fs"):
            return floats.from_integer(kind, signed(b))
        raise AssertionError(f"no meaning for {op}")


def trailing_zeros(value):
    return (value & -value).bit_length() - 1 if value else 16


INTEGER = {
    "sub16": lambda a, b: a - b, "and16": lambda a, b: a & b, "or16": lambda a, b: a | b,
    "xor16": lambda a, b: a ^ b, "sll16": lambda a, b: a << b if b < 16 else 0,
    "slr16": lambda a, b: a >> b, "sar16": lambda a, b: signed(a) >> min(b, 15),
    "clz": lambda a, b: 16 - b.bit_length(), "ctz": lambda a, b: trailing_zeros(b),
    "popcnt": lambda a, b: bin(b).count("1"),
}
