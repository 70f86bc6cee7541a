"""Runs tests/cluster/mover: two wafers whose data movers carry packets both ways, between hubs that
make them by random numbers and check what comes.  One tile in the middle of each channel's row."""
from dataclasses import dataclass

import cluster_run
import harness


@dataclass
class Traffic:
    channels: int = 1
    packet_words: int = 64
    buffers: int = 2
    pulls: bool = False
    packets: int = 20           # of a session
    sessions: int = 3
    counted: bool = False       # sessions end after so many packets, else at the last one
    fixed: int = 0              # words of every packet; 0: random lengths
    pauses: int = 0             # mask of the turns of a loop between packets
    seed: int = 1
    latency: int = 100
    rate: float = 1
    credits: int = 0            # words; 0: the emulator's own choice
    arch: str = "wse2"

    def length_mask(self):
        return (1 << (self.packet_words.bit_length() - 1)) - 1


def axis_channels(k, first=0, credits=0):
    """The channels of an axis of <links/layout> in a cluster file."""
    more = {"credits": credits} if credits else {}
    found = []
    for color in range(first, first + 4 * k, 4):
        for offset, direction in enumerate(("forward", "backward", "backward", "forward")):
            found.append({"colors": [color + offset] * 2, "direction": direction, **more})
    return found


def build(traffic, folder):
    image = folder / "m.bin"
    harness.compile("tests/cluster/mover/layout.csl", image, f"--arch={traffic.arch}", params={
        "k": traffic.channels, "packet_words": traffic.packet_words, "buffers": traffic.buffers,
        "pulls": str(traffic.pulls).lower()})
    return cluster_run.write(folder / "m.json", {"topology": {
        "kind": "line", "size": 2, "image": image.name, "rows": [0], "latency": traffic.latency,
        "words_per_cycle": traffic.rate,
        "channels": axis_channels(traffic.channels, credits=traffic.credits)}})


def places(traffic, wafer):
    """The movers of the wafer that have a link, and its hubs with their direction."""
    k, width = traffic.channels, 4 * traffic.channels + 1
    movers = [width - 1 - i if wafer == 0 else i for i in range(2 * k)]
    hubs = [(2 * k, 1 + 2 * j + way, j, way) for j in range(k) for way in range(2)]
    return movers, hubs


def plans(traffic):
    """The host's copies: what each mover and hub does."""
    t, args = traffic, []
    for wafer in range(2):
        movers, hubs = places(t, wafer)
        args += [f"--h2d=w{wafer}:plan@{x},0,1,1={t.packets if t.counted else 0},{t.sessions},1,0"
                 for x in movers]
        for x, y, channel, way in hubs:
            sends = (way == 0) == (wafer == 0)
            random = 1 + (t.seed * 77 + channel * 5 + way) % 65535
            plan = [t.packets if sends else 0, t.sessions, random, 0 if sends else random,
                    t.length_mask(), t.pauses, int(t.counted), t.fixed]
            args.append(f"--h2d=w{wafer}:plan@{x},{y},1,1={','.join(map(str, plan))}")
    return args


def emu(traffic, folder, *args, **options):
    """Runs the traffic; returns what hubs and movers have seen, and the statistics."""
    prints = []
    for wafer in range(2):
        movers, hubs = places(traffic, wafer)
        prints += [f"--print=w{wafer}:seen:3@{x},{y},1,1" for x, y, _, _ in hubs]
        prints += [f"--print=w{wafer}:seen:2@{x},0,1,1" for x in movers]
    ran, stats = cluster_run.emu(build(traffic, folder), *plans(traffic), "--launch=go", *prints,
                                 *args, **options)
    seen = {}
    for line in ran.out.splitlines():
        wafer, _, rest = line.partition(": ")
        for place, values in harness.values(rest, "seen").items():
            seen[wafer, place] = [int(v) for v in values]
    return ran, seen, stats


def mistakes(traffic, seen):
    """What has not come as it was sent, as texts."""
    t, found = traffic, []
    all_packets = t.packets * t.sessions
    for wafer in range(2):
        movers, hubs = places(t, wafer)
        for x, y, _, way in hubs:
            sends = (way == 0) == (wafer == 0)
            wanted = [0, 0, all_packets] if sends else [all_packets, 0, 0]
            if seen[f"w{wafer}", (x, y)] != wanted:
                found.append(f"hub {x},{y} of w{wafer}: {seen[f'w{wafer}', (x, y)]}, not {wanted}")
        for x in movers:
            if seen[f"w{wafer}", (x, 0)] != [all_packets, t.sessions]:
                found.append(f"mover {x} of w{wafer}: {seen[f'w{wafer}', (x, 0)]}")
    return found


def random_traffic(random, arch, most_packets=40):
    words = int(2 ** random.integers(2, 8))
    return Traffic(
        channels=int(random.integers(1, 4)), packet_words=words,
        buffers=int(random.integers(1, 5)), pulls=bool(random.integers(2)),
        packets=int(random.integers(1, most_packets)), sessions=int(random.integers(1, 5)),
        counted=bool(random.integers(2)), pauses=int(2 ** random.integers(0, 9) - 1),
        seed=int(random.integers(1, 800)), latency=int(random.integers(1, 300)),
        rate=float(random.choice([1, 0.5, 0.37])),
        credits=int(random.choice([0, 1, 3, 50])), arch=arch)
