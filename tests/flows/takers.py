"""Tasks that take a stream at a tile: one for its elements, one for each entry of its control
wavelets."""
from flows.code import indented

DATA = "data"                   # the entry of elements


class Taker:
    """The channel is blocked but in the steps in which these tasks take the stream.  What they do
    depends on the step; `count` is the number of those that the step has had."""

    def __init__(self, tile, stream):
        self.tile, self.stream = tile, stream
        self.bodies = {}          # by entry: (step, lines) in a list
        self.params = {}          # by entry: whether its task takes the lower half of the wavelet
        self.ends = {}            # by step: (how many tasks it has, what the last one does)
        self.name, self.by_task = tile.coder.name("take"), tile.rng.random() < 0.6
        self.count, self.step, self.id = (f"{self.name}_{part}" for part in ("count", "step", "id"))
        tile.env.values[self.count] = 0
        tile.declarations += [f"var {self.count}: u16 = 0;", f"var {self.step}: u16 = 0;"]

    def has_param(self, entry):
        return self.params.setdefault(entry, self.tile.rng.random() < 0.7)

    def add(self, step, bodies, total, end):
        """bodies: lines by entry, for each entry of the step; returns what lets them begin."""
        for entry, lines in bodies.items():
            self.bodies.setdefault(entry, []).append((step, lines))
        self.ends[step] = total, end
        return [f"{self.step} = {step};", self.opened("unblock")]

    def opened(self, verb):
        """Blocks or unblocks the channel, by the name of the task or by its own."""
        if self.by_task:
            return f"@{verb}({self.id});"
        tile, stream = self.tile, self.stream
        return (f'if (@is_arch("wse3")) @{verb}({tile.queue(stream, "input")}) '
                f"else @{verb}({tile.color(stream)});")

    def write(self):
        tile, stream = self.tile, self.stream
        tile.declarations.append(f"const {self.id} = {tile.channel(stream)};")
        for entry, cases in self.bodies.items():
            if entry is DATA:
                self.write_task(self.name, f"x: {stream.kind}", cases)
                tile.binds.append(f"@bind_data_task({self.name}, {self.id});")
            else:
                name = f"{self.name}_entry_{entry}"
                self.write_task(name, "x: u16" if self.has_param(entry) else "", cases)
                tile.binds.append(f"@bind_control_task({name}, @get_control_task_id({entry}));")
        tile.binds.append(f"@block({self.id});")

    def write_task(self, name, param, cases):
        lines = []
        for step, body in cases:
            total, end = self.ends[step]
            at_end = [f"{self.count} = 0;", self.opened("block"), *end]
            last = [f"{self.count} += 1;", f"if ({self.count} == {total}) {{", *indented(at_end),
                    "}", "return;"]
            lines += [f"if ({self.step} == {step}) {{", *indented(body + last), "}"]
        self.tile.tasks += [f"task {name}({param}) void {{", *indented(lines), "}"]
