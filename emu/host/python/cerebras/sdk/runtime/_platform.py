"""Where a program runs and what was compiled: the objects that scripts hand to SdkRuntime.

There is one platform, the emulator; asking for another is an error at the place where it is asked
for.
"""

import enum
from pathlib import Path

from cerebras.sdk.runtime._arrays import whole

__all__ = ["FP16TYPE", "SdkCompileArtifacts", "SdkExecutionPlatform", "SdkTarget", "SimfabConfig",
           "get_platform", "get_simulator", "get_system", "refuse_address"]


class SdkTarget(enum.Enum):
    """The machine that programs are compiled for, by the name that cslc --arch takes."""
    WSE2 = "wse2"
    WSE3 = "wse3"


class FP16TYPE(enum.Enum):
    """The 16-bit format of a program, by the name that cslc --fp16-format takes."""
    F16 = "f16"
    BF16 = "bf16"
    CB16 = "cb16"


def refuse_address(cmaddr):
    """An address means a machine, and there is none."""
    if cmaddr:
        raise RuntimeError(f"cmaddr={cmaddr!r}: programs run on the emulator only; "
                           "leave cmaddr out")


class SimfabConfig:
    """How the emulator runs a program."""

    def __init__(self, num_threads=16, suppress_trace=False, dump_core=False, core_path=None):
        self.num_threads = whole("num_threads", num_threads, 1)
        self.suppress_trace = bool(suppress_trace)
        self.dump_core = bool(dump_core)
        self.core_path = Path("out.core" if core_path is None else core_path)


class SdkExecutionPlatform:
    """The emulator with its settings; target None is the target of the program."""

    def __init__(self, config=None, target=None):
        if config is not None and not isinstance(config, SimfabConfig):
            raise TypeError(f"config must be a SimfabConfig, not {type(config).__name__}")
        if target is not None and not isinstance(target, SdkTarget):
            raise TypeError("target must be SdkTarget.WSE2 or SdkTarget.WSE3, not "
                            f"{type(target).__name__}")
        self.config = config or SimfabConfig()
        self.target = target

    def is_simulation(self):
        return True

    def is_system(self):
        return False


def get_platform(cmaddr=None, config=None, target=None):
    """The emulator; an address of a machine is refused."""
    refuse_address(cmaddr)
    return SdkExecutionPlatform(config, target)


def get_simulator(config=None, target=None):
    return SdkExecutionPlatform(config, target)


def get_system(cmaddr=None, target=None):
    del target
    raise RuntimeError(f"get_system({cmaddr!r}): there is no machine here, only the emulator; use "
                       "get_simulator() or get_platform()")


class SdkCompileArtifacts:
    """What cslc has written: an output directory or a program image."""

    def __init__(self, path):
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path}: no such compiled program; cslc ... -o "
                                    f"{self.path} makes it")

    def __fspath__(self):
        return str(self.path)
