#!/usr/bin/env bash
# From a fresh clone to a result: installs what is missing, builds the tools, compiles samples/gemv
# for a 4 x 4 grid of tiles, runs it cycle by cycle and compares y = A x + b with numpy's.
set -eu
exec </dev/null
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step() {
  echo "== $1"
}

quietly() {
  "$@" >"$scratch/log" 2>&1 || {
    tail -n 60 "$scratch/log" >&2
    echo "demo: failed: $*" >&2
    exit 1
  }
}

shown() {
  echo "\$ $*"
  "$@"
}

step "packages"
.ci/setup.sh
step "build"
quietly cmake --preset release
quietly cmake --build --preset release
PATH=$root/build/release/bin:$PATH

width=4 height=4 M=32 N=32
step "compile and run gemv: A is $M x $N on $width x $height tiles"
shown cslc samples/gemv/layout.csl \
  --params=width:$width,height:$height,M:$M,N:$N -o "$scratch/gemv.bin"
shown wse-emu "$scratch/gemv.bin" --stats="$scratch/stats.json" \
  --d2h="A=$scratch/A.npy" --d2h="x@0,0,$width,1=$scratch/x.npy" \
  --d2h="b@0,0,1,$height=$scratch/b.npy" --d2h="y@$((width - 1)),0,1,$height=$scratch/y.npy"

step "compare with numpy"
/usr/bin/python3 - "$scratch" $width $height $M $N <<'PYTHON'
import json
import sys
import numpy as np

folder = sys.argv[1]
width, height, M, N = map(int, sys.argv[2:])
i, j = np.arange(M), np.arange(N)
A = ((3 * i[:, None] + 5 * j) % 7 - 3).astype(np.float32)
x = (j % 5 - 2).astype(np.float32)
b = (i % 3).astype(np.float32)

def device(name):
    return np.load(f"{folder}/{name}.npy").ravel()

# Tiles come row by row, each with its block: back to the matrix.
blocks = device("A").reshape(height, width, M // height, N // width)
for name, mine, theirs in (("A", A, blocks.transpose(0, 2, 1, 3).reshape(M, N)),
                           ("x", x, device("x")), ("b", b, device("b"))):
    if not np.array_equal(mine, theirs):
        sys.exit(f"demo: {name} on the tiles is not what the sample says")

y, expected = device("y"), A @ x + b
print("y     =", *(f"{v:g}" for v in y))
print("numpy =", *(f"{v:g}" for v in expected))
if not np.array_equal(y, expected):
    sys.exit("demo: the result differs from numpy's")
stats = json.load(open(f"{folder}/stats.json"))
print(f"equal to numpy's A @ x + b; {stats['cycles']} cycles on {width * height} tiles")
PYTHON
