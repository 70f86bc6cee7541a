#!/usr/bin/env bash
# On a fresh clone samples/demo.sh ends with the GEMV result equal to numpy's and its cycles.
# No short form: a build of its own.
. "$(dirname "$0")/lib.sh"
git clone -q . "$scratch/clone" || exit 1
(cd "$scratch/clone" && samples/demo.sh) > "$scratch/demo.txt" 2>&1
at_most "exit code of samples/demo.sh on a fresh clone" $? 0
at_least "lines that state the cycle count" "$(grep -ciE '[0-9]+ cycles|cycles:? *[0-9]+' "$scratch/demo.txt")" 1
tail -3 "$scratch/demo.txt"
finish
