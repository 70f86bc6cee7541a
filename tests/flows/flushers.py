"""Queues that the newer machine empties behind an operation: a handler goes on, and may give an
output queue to another stream."""
from flows.code import indented

QUEUES = "tile_config.queue_flush"


class Flusher:
    """streams: those that the tile sends by the queue, each in steps of its own; or the one that it
    receives."""

    def __init__(self, tile, streams, way="output"):
        self.tile, self.streams, self.way = tile, streams, way
        self.queue = tile.queue(streams[0], way)
        self.name = tile.coder.name("emptied")
        self.step = f"{self.name}_step"
        self.turns = []           # (step, stream), if there are several
        if len(streams) > 1:
            self.turns = [(k, s) for k in range(tile.program.steps) for s in streams
                          if s.is_sent(tile.place, k)]
        self.ends = {}            # by step: lines
        tile.declarations.append(f"var {self.step}: u16 = 0;")

    def first(self):
        """The stream that has the queue when the program begins."""
        return self.turns[0][1] if self.turns else self.streams[0]

    def add(self, step, end):
        """Returns what begins to wait until the queue is empty; the older machine goes on."""
        self.ends[step] = end
        return ['if (@is_arch("wse3")) {', f"  {self.step} = {step};",
                f"  @queue_flush({self.queue});", "} else {", *indented(end), "}"]

    def write(self):
        status = f"tile_config.{self.way}_queue_status"
        lines = [f"@assert({status}.is_empty({status}.get(), {self.queue}));",
                 f"{QUEUES}.exit({self.queue});"]
        for step, end in self.ends.items():
            lines += [f"if ({self.step} == {step}) {{",
                      *indented([*self.given_on(step), *end, "return;"]), "}"]
        self.tile.tasks += [f"fn {self.name}() void {{", '  if (@is_arch("wse3")) {',
                            *indented(indented(lines)), "  }", "}"]
        if not self.tile.has_teardown_task:
            self.tile.binds.append(f'if (@is_arch("wse3")) @set_empty_queue_handler({self.name}, '
                                   f"{self.queue});")

    def given_on(self, step):
        """The queue gets the color of the stream that uses it next."""
        steps = [k for k, _ in self.turns]
        if not steps:
            return []
        following = self.turns[(steps.index(step) + 1) % len(steps)][1]
        return [f"tile_config.output_queue_config.encode_output_queue({self.queue}, "
                f"{self.tile.color(following)});"]


def share_queues(rng, tile):
    """Lists of the streams that the tile sends by one queue."""
    network, place = tile.program.network, tile.place
    relayed = [r.outgoing.number for r in network.relays]     # nothing empties their queues
    groups = []                                               # (streams, their steps)
    for stream in tile.sent:
        steps = {k for k in range(tile.program.steps) if stream.is_sent(place, k)}
        fits = [g for g in groups if not g[1] & steps and g[0][0].number not in relayed]
        if fits and stream.number not in relayed and rng.random() < 0.5:
            streams, taken = rng.choice(fits)
            streams.append(stream)
            taken |= steps
        else:
            groups.append(([stream], steps))
    return [streams for streams, _ in groups]
