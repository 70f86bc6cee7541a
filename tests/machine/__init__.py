"""A second model of the machine, for tests of the emulator: see docs/isa.md and docs/emulator.md."""
