#!/usr/bin/env bash
# Rewrites the expected stdout of golden tests (NAME.golden files and //# expect blocks) and the
# reports of tests/hazards/ from what the programs print now; review the change as code.  A new
# NAME.golden begins as an empty file.
#   tests/update_golden.sh [part of a test's path]
cd "$(dirname "$0")" || exit 1
WSE_UPDATE_GOLDEN=1 /usr/bin/python3 -m pytest -q test_golden.py test_samples.py test_hazards.py \
  -k "${1:-golden or output_is or hazard}"
git diff --stat -- golden hazards ../samples
