"""Payloads of control wavelets: an entry, which names a control task, and eight commands for the
routers on the way, each with a bit that keeps the wavelet from the processor there.

docs/hardware.md names the public values that fix these places.
"""
from dataclasses import dataclass

OPCODES = {"NOP": 0, "SWITCH_ADV": 1, "SWITCH_RST": 2, "TEARDOWN": 3}
SLOTS = 8
NO_ENTRY = 31
ENTRY_SHIFT = 16
# Places of a command and of its bit, by slot; that of the third bit is bit 0.
COMMAND_SHIFTS = (22, 25, 28, 1, 4, 7, 10, 13)
IGNORE_SHIFTS = (24, 27, 0, 3, 6, 9, 12, 15)
DATA_BITS = 0xffff
# With data, these slots alone are commands.
SLOTS_BESIDE_DATA = 2


@dataclass(frozen=True)
class Command:
    name: str
    ignored: bool                 # the processor does not get the wavelet


FILLER = Command("NOP", True)


@dataclass(frozen=True)
class Word:
    """A control wavelet: its first commands, behind which come NOPs that no processor gets; entry:
    None for no task; has_data: 16 bits that the sender computes stand where others would."""
    commands: tuple
    entry: int
    has_data: bool = False

    def command(self, slot):
        """None: depends on data."""
        if slot < len(self.commands):
            return self.commands[slot]
        if not self.has_data:
            return FILLER
        return Command("NOP", False) if slot < SLOTS_BESIDE_DATA else None

    def payload(self, data=0):
        bits = (NO_ENTRY if self.entry is None else self.entry) << ENTRY_SHIFT
        for slot in range(1 if self.has_data else SLOTS):
            command = self.command(slot)
            bits |= OPCODES[command.name] << COMMAND_SHIFTS[slot]
            bits |= command.ignored << IGNORE_SHIFTS[slot]
        return bits | (data & DATA_BITS if self.has_data else 0)


def all_nops(entry):
    """For every processor on the way."""
    return Word((Command("NOP", False),) * SLOTS, entry)


def popped(payload, times):
    """What is left when so many commands are gone.  No public text says what follows the last one;
    known_bits leaves it out."""
    for _ in range(times):
        kept = payload & 0x3f << ENTRY_SHIFT
        for slot in range(SLOTS - 1):
            command = payload >> COMMAND_SHIFTS[slot + 1] & 3
            ignored = payload >> IGNORE_SHIFTS[slot + 1] & 1
            kept |= command << COMMAND_SHIFTS[slot] | ignored << IGNORE_SHIFTS[slot]
        payload = kept
    return payload


def known_bits(times):
    """Bits whose value public texts give behind so many pops."""
    bits = 0x3f << ENTRY_SHIFT
    for slot in range(SLOTS - times):
        bits |= 3 << COMMAND_SHIFTS[slot] | 1 << IGNORE_SHIFTS[slot]
    return bits
