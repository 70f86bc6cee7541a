"""The parts of a step, and the operands that stand for streams."""
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Action:
    """A part of a step.  `run` and `ends` are generators of (env, channels); they yield whether
    something has moved."""
    lines: list
    run: Callable
    ends: Callable = None         # in the background: what happens before its end
    done: Callable = None         # in the background: (verb, task) for its end gives the lines


@dataclass
class Reserved:
    """Names of arrays that operations in the background and data tasks read and write; globals of
    data tasks."""
    read: set = field(default_factory=set)
    written: set = field(default_factory=set)
    globals: list = field(default_factory=list)


@dataclass
class StreamOperand:
    """A stream, or a FIFO."""
    text: str
    is_fifo: bool = False
    setting: str = ""             # of each operation on it
    queue: int = None             # its number
    is_input: bool = False


@dataclass
class Between:
    """Elements on their way from one operation of a tile to another one."""
    waiting: list = field(default_factory=list)

    def push(self, channels, value, _sender):
        self.waiting.append(value)
