"""What changes times but no result: priorities, and the numbers of microthreads."""
from flows.code import Statement

MAIN = "tile_config.main_thread_priority"
TASKS = "tile_config.task_priority"
MAIN_LEVELS = ("MEDIUM_LOW", "MEDIUM", "MEDIUM_HIGH", "HIGH")
LEVELS = ("low", "medium", "high")
MICROTHREADS = 8


class Orders:
    """queues: numbers of the tile's queues that the link to the host or streams use."""

    def __init__(self, tile, queues):
        self.tile, self.rng = tile, tile.rng
        self.is_on = self.rng.random() < 0.5
        free = [n for n in range(MICROTHREADS) if n not in queues]
        self.rng.shuffle(free)
        # By queue, for the operations that would have its number.
        self.microthreads = {q: free.pop() if free and self.rng.random() < 0.6 else q
                             for q in queues}

    def chance(self, p):
        return self.is_on and self.rng.random() < p

    def settings(self, settings, operands):
        """The settings of an operation in the background, as the text of a struct."""
        if not self.chance(0.4):
            return f".{{ {', '.join(settings)} }}"
        streams = [o for o in operands if getattr(o, "queue", None) is not None]
        newer = [*settings, f".ut_id = @get_ut_id({self.microthreads[streams[0].queue]})"]
        older = [*settings, priority(self.rng)] if any(o.is_input for o in streams) else settings
        name = self.tile.coder.name("how")
        self.tile.declarations.append(
            f'const {name} = if (@is_arch("wse3")) .{{ {", ".join(newer)} }} '
            f'else .{{ {", ".join(older)} }};')
        return name

    def queue(self, color):
        """The settings of an input queue.  On the older machine its data task has a priority."""
        plain = f".{{ .color = {color} }}"
        if not self.chance(0.3):
            return plain
        return f'if (@is_arch("wse3")) {plain} else .{{ .color = {color}, {priority(self.rng)} }}'

    def descriptor(self, older, newer):
        """The descriptor of a stream, by its fields on either machine.  On the newer one it has the
        priority."""
        if self.chance(0.3):
            newer += f", {priority(self.rng)}"
        if older == newer:
            return f".{{ {older} }}"
        return f'if (@is_arch("wse3")) .{{ {newer} }} else .{{ {older} }}'

    def statement(self, scope):
        """None: nothing changes here."""
        if not self.chance(0.5) or not scope.calls:
            return None
        if self.rng.random() < 0.5:
            level = self.rng.choice(MAIN_LEVELS)
            text = f"{MAIN}.update_main_thread_priority({MAIN}.level.{level});"
        else:
            level = self.rng.choice(("LOW", "HIGH"))
            text = f"{TASKS}.update_task_priority({self.some_task()}, {TASKS}.level.{level});"
        return Statement([text], lambda env: None)

    def some_task(self):
        """An id that the tile may have, whether or not a task has it."""
        if self.tile.received and self.rng.random() < 0.4:
            return self.tile.channel(self.rng.choice(self.tile.received))
        return f"@get_local_task_id({self.rng.choice(self.tile.local_ids)})"

    def binds(self):
        return [f"{TASKS}.set_task_priority({self.some_task()});"
                for _ in range(3) if self.chance(0.4)]


def priority(rng):
    return f".priority = .{{ .{rng.choice(LEVELS)} = true }}"
