#!/usr/bin/env bash
# The command lines of the first example in the user guide work as written.
# Short form: test_claims.py::test_a_quick_claim_holds.
. "$(dirname "$0")/lib.sh"
cslc samples/reduce-chain/layout.csl --params=P:512,B:1024 -o "$scratch/c.bin" || exit 1
wse-emu "$scratch/c.bin" --stats="$scratch/s.json" --print=sum@0,0,1,1 > "$scratch/out.txt"
at_most "exit code of wse-emu" $? 0
at_least "values printed" "$(tail -1 "$scratch/out.txt" | cut -d: -f2 | wc -w)" 1024
at_most "first element minus the sum of 0 .. 511" \
  "$(tail -1 "$scratch/out.txt" | cut -d: -f2 | awk '{print $1 - 130816}')" 0
finish
