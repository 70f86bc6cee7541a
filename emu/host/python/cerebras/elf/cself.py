"""The tiles of a program, as scripts with CSELFRunner list them."""

from cerebras.elf.cs_elf_runner import program_folder
from cerebras.sdk.runtime._tiles import LoadedTiles

__all__ = ["ELFMemory"]


class ELFMemory:
    """The program whose ELF files have these paths."""

    def __init__(self, *elf_paths):
        self._tiles = LoadedTiles(program_folder(elf_paths))

    def iter_coordinates(self):
        """Places (x, y) of the program's tiles in the fabric."""
        return iter(self._tiles.tiles())
