"""Runs clusters of wafers for the tests: files of links, images, statistics without times."""
import json

import harness

VOLATILE = {"load_seconds", "wall_seconds", "peak_rss_bytes", "active_tile_cycles_per_second",
            "engine", "processes", "threads"}


def stable(value):
    """Statistics without what differs from run to run or from engine to engine."""
    if isinstance(value, dict):
        return {k: stable(v) for k, v in value.items() if k not in VOLATILE}
    return [stable(v) for v in value] if isinstance(value, list) else value


def write(path, cluster):
    path.write_text(json.dumps(cluster))
    return path


def emu(path, *args, **options):
    """Runs the cluster file; returns what the program did and its statistics."""
    stats = path.with_suffix(".stats.json")
    stats.unlink(missing_ok=True)
    ran = harness.emu(f"--cluster={path}", f"--stats={stats}", *args, **options)
    return ran, json.loads(stats.read_text()) if stats.exists() else None
