"""The table of predictions of docs/cluster.md: prints it, or with --update writes it there."""
import re
import sys

import harness

PAGE = harness.ROOT / "docs" / "cluster.md"
BEGIN, END = "<!-- predicted: wafers -->\n", "<!-- end -->"
WAFERS = [4, 16, 64, 256, 1024]
COLUMNS = [("all-gather, split", "all-gather", "split"), ("half", "all-gather", "half"),
           ("line", "all-gather", "line"), ("reduce-scatter", "reduce-scatter", "split"),
           ("line", "reduce-scatter", "line"),
           ("all-reduce", "all-reduce", "split"), ("all-to-all", "all-to-all", "split"),
           ("broadcast", "broadcast", "split")]


def cycles(wafers, length, operation, scheme, *more):
    return int(harness.run([harness.tool("wse-model"), "cluster", f"--op={operation}",
                            f"--scheme={scheme}", f"--wafers={wafers}", f"--len={length}",
                            *more]).out)


def table():
    lines = ["| wafers | words | " + " | ".join(name for name, _, _ in COLUMNS) + " |",
             "| --- " * (len(COLUMNS) + 2) + "|"]
    for wafers in WAFERS:
        for length in (64, 16384):
            row = [cycles(wafers, length, op, scheme) for _, op, scheme in COLUMNS]
            lines.append(f"| {wafers} | {length} | " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines) + "\n"


def of_page():
    return re.search(re.escape(BEGIN) + "(.*?)" + END, PAGE.read_text(), re.S).group(1)


if __name__ == "__main__":
    if "--update" in sys.argv:
        PAGE.write_text(PAGE.read_text().replace(BEGIN + of_page() + END, BEGIN + table() + END))
    else:
        print(table(), end="")
