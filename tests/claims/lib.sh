# Sourced by claims written in bash: builds the programs, puts them on PATH, enters the root of the
# project, makes a scratch folder, and has the checks.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
if [ -n "${WSE_BIN:-}" ]; then
  PATH=$WSE_BIN:$PATH
else
  {
    .ci/setup.sh && cmake --preset release && cmake --build --preset release
  } >/dev/null || { echo "the release build failed"; echo FAIL; exit 1; }
  PATH=$PWD/build/release/bin:$PATH
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
claims_held=0 claims_missed=0

# check NAME VALUE BOUND-AS-TEXT AWK-CONDITION-ON-v
check() {
  echo "$1: value $2, bound $3"
  if awk -v v="$2" "BEGIN { exit !(v != \"\" && ($4)) }" </dev/null; then
    claims_held=$((claims_held + 1))
  else
    echo "  outside its bound"
    claims_missed=$((claims_missed + 1))
  fi
}
at_most() { check "$1" "$2" "<= $3" "v + 0 <= $3"; }
at_least() { check "$1" "$2" ">= $3" "v + 0 >= $3"; }
equals() {
  echo "$1: value $2, bound = $3"
  if [ "$2" = "$3" ]; then
    claims_held=$((claims_held + 1))
  else
    echo "  outside its bound"
    claims_missed=$((claims_missed + 1))
  fi
}

# Ends the claim: passes only if something was checked and all of it held.
finish() {
  if [ "$claims_missed" -eq 0 ] && [ "$claims_held" -gt 0 ]; then
    echo PASS
    exit 0
  fi
  echo FAIL
  exit 1
}
