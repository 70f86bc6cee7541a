"""Table I of Cao, "General Matrix Multiply on CS-2": what was measured, and what its equations give."""
import dataclasses

import harness

PAGE = harness.ROOT / "docs" / "gemm.md"


@dataclasses.dataclass(frozen=True)
class Row:
    K: int
    N: int
    M: int
    tiles: int            # in each direction
    master: int           # measured cycles
    summa: int
    equations: tuple      # 1 to 4 as printed

    @property
    def size(self):
        return self.M, self.N, self.K


ROWS = [Row(*map(int, line.split()[:6]), tuple(map(int, line.split()[6:]))) for line in """
128 128 128 16  5859   6946  6656  2352  7168  4608
256 128 128 16  8874  13762  6656  4400 14336  9216
128 256 128 16 11430   8996 13312  4656  9216  7168
256 256 128 16 17535  17863 13312  8752 18432 14336
128 128 256 16  8002  10365  6912  4656 10240  7168
256 128 256 16 12116  20626  8704  8752 20480 14336
128 256 256 16 15803  14470 13824  9264 14336 11264
256 256 256 16 23982  28816 17408 17456 28672 22528
128 128 384 16 10830  13875  7168  6960 13312  9728
256 128 384 16 16969  27636 13056 13104 26624 19456
128 256 384 16 21469  20022 15872 13872 19456 15872
256 256 384 16 33729  39924 26112 26160 38912 31744
 40  40  40 10  1289   1215  1320   230  1120   640
 80  80  80 10  3636   3848  2720  1470  3520  2400
720  20 720 10 27517 114820 26280 26310 92160 59040
 20 720 720 10 79132  28500 38880 38910 27760 26840
""".strip().splitlines()]


def ideal(row):
    """The better of equations 2 and 9, by wse-model."""
    out = harness.run([harness.tool("wse-model"), "gemm", f"--pes={row.tiles}",
                       f"--size={row.M}x{row.N}x{row.K}"]).out.splitlines()
    values = {line.split(": ")[0]: int(line.split(": ")[1]) for line in out}
    return min(values["equation 2"], values["equation 9"])


def table_of(lines):
    """A table of the page as text, from its head and its rows."""
    head, *rows = ["| " + " | ".join(map(str, line)) + " |" for line in lines]
    return "\n".join([head, "| " + " | ".join(["---"] * len(lines[0])) + " |", *rows]) + "\n"


def parts_of(text, name):
    before, rest = text.split(f"<!-- measured: {name} -->\n")
    table, end, after = rest.partition("<!-- end -->")
    return before + f"<!-- measured: {name} -->\n", table, end + after


def on_the_page(name, page=PAGE):
    return parts_of(page.read_text(), name)[1]


def write_to_page(name, table, page=PAGE):
    before, _, after = parts_of(page.read_text(), name)
    page.write_text(before + table + after)
