"""Colors that control wavelets stop at a tile: handlers give them their next routes and open them
again."""
from flows.code import indented

EXIT = "tile_config.teardown.exit"
SETTERS = "tile_config.color_config"


class Opener:
    """The handler of a color, which counts its calls; the last one of a step ends an action."""

    def __init__(self, tile, course):
        self.tile, self.course, self.router = tile, course, course.nodes[tile.place]
        self.name = tile.coder.name("open")
        self.seen, self.wanted, self.step, self.at = (
            f"{self.name}_{part}" for part in ("seen", "wanted", "step", "at"))
        self.ends = {}            # by step: lines
        tile.declarations += [f"var {n}: u16 = 0;" for n in (self.seen, self.wanted, self.step)]

    def add(self, step, count, end):
        """Returns what the step waits by: so many calls.  Some may have been, and some of later
        steps, too, if their wavelets have not waited for this tile."""
        self.ends[step] = end
        return [f"{self.step} = {step};", f"{self.wanted} += {count};",
                f"if ({self.seen} >= {self.wanted}) {{", *indented(end), "}"]

    def write(self):
        tile, color = self.tile, self.tile.color(self.course)
        lines = [*self.next_routes(color), f"{EXIT}({color});", f"{self.seen} += 1;",
                 f"if ({self.seen} == {self.wanted}) {{"]
        for step, end in self.ends.items():
            lines += [f"  if ({self.step} == {step}) {{", *indented(indented([*end, "return;"])),
                      "  }"]
        tile.tasks += [f"fn {self.name}() void {{", *indented([*lines, "}"]), "}"]
        if not tile.has_teardown_task:
            tile.binds.append(f"@set_teardown_handler({self.name}, {color});")

    def next_routes(self, color):
        """The routes of the positions follow each other in a ring."""
        positions = self.router.positions
        if len(positions) == 1:
            return []
        self.tile.declarations.append(f"var {self.at}: u16 = {self.router.start};")
        lines = [f"{self.at} = ({self.at} + 1) % {len(positions)};", f"switch ({self.at}) {{"]
        for i, position in enumerate(positions):
            label = f"{i}" if i < len(positions) - 1 else "else"
            lines += [f"  {label} => {{", *indented(indented(self.routes(color, i, position))),
                      "  },"]
        return [*lines, "}"]

    def routes(self, color, i, position):
        """The whole routes, or what differs from those before."""
        source, outputs = position
        if self.tile.rng.random() < 0.7:
            to = ", ".join(outputs)
            return [f"{SETTERS}.reset_routes({color}, .{{ .rx = .{{ {source} }}, "
                    f".tx = .{{ {to} }} }});"]
        old_source, old_outputs = self.router.positions[i - 1]
        gone = [f"RX_{old_source}"] * (source != old_source)
        gone += [f"TX_{side}" for side in old_outputs if side not in outputs]
        come = [f"RX_{source}"] * (source != old_source)
        come += [f"TX_{side}" for side in outputs if side not in old_outputs]
        return [f"{SETTERS}.{verb}_io_direction({color}, {SETTERS}.fabric_io.{side});"
                for verb, sides in (("clear", gone), ("set", come)) for side in sides]


def teardown_task(tile):
    """A task of the program's own in the place of the library's, which calls the handlers."""
    name, lines = tile.coder.name("attend"), []
    if tile.openers:
        lines.append("const pending = tile_config.teardown.get_pending();")
    for opener in tile.openers.values():
        lines.append(f"if (tile_config.teardown.is_pending(pending, {tile.color(opener.course)})) "
                     f"{{ {opener.name}(); }}")
    for flusher in tile.all_flushers():
        status = f"{flusher.way[0]}q_status"
        lines += ['if (@is_arch("wse3")) {',
                  f"  if (tile_config.queue_flush.is_flushed(tile_config.queue_flush.{status}(), "
                  f"{flusher.queue})) {{ {flusher.name}(); }}", "}"]
    tile.tasks += [f"task {name}() void {{", *indented(lines), "}"]
    tile.binds.append(f"@bind_local_task({name}, tile_config.teardown.get_task_id());")
