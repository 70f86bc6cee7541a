"""The tiles of a program, as scripts with CSELFRunner look at them."""

import numpy as np

from cerebras.elf.cs_elf_runner import program_folder
from cerebras.sdk.runtime._tiles import CoreTiles, LoadedTiles

__all__ = ["ELFLoader", "ELFMemory"]


class ELFMemory:
    """The program whose ELF files have these paths."""

    def __init__(self, *elf_paths):
        self._tiles = LoadedTiles(program_folder(elf_paths))

    def iter_coordinates(self):
        """Places (x, y) of the program's tiles in the fabric."""
        return iter(self._tiles.tiles())


class ELFLoader:
    """What the tiles held when CSELFRunner.connect_and_run(sim_out_path) ended."""

    def __init__(self, elf_path, sim_out_path):
        self._tiles = CoreTiles(program_folder([elf_path]), sim_out_path)

    def get_as_array(self, name, count, dtype):
        """The first `count` elements of a variable of each tile: an array [x][y][element] over the
        fabric, with zeros where no tile of the program has the variable."""
        places = self._tiles.tiles()
        width, height = (max(place[axis] for place in places) + 1 for axis in (0, 1))
        array = np.zeros((width, height, count), dtype)
        having = [(x, y) for x, y in places if name in self._tiles.symbols(x, y)]
        if not having:
            raise ValueError(f"no tile of the program has the symbol {name!r}")
        for x, y in having:
            values = self._tiles.read_symbol(x, y, name, dtype)
            if values.size < count:
                raise ValueError(f"{name!r} has {values.size} elements on the tile ({x}, {y}), not "
                                 f"{count}")
            array[x, y] = values[:count]
        return array
