#!/usr/bin/env bash
# Builds and runs the tests; the last line is "N passed, N failed[, N skipped]".
#   tests/run.sh          everything
#   tests/run.sh fast     without the tests marked slow and without the second, sanitized pass of
#                         the golden tests
set -u
exec </dev/null
cd "$(dirname "$0")/.." || exit 1

tier=${1:-full}
case $tier in
full | fast) ;;
*)
  echo "usage: tests/run.sh [fast]" >&2
  exit 2
  ;;
esac

export ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=0:detect_leaks=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

finish() {
  if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
  else
    echo "$passed passed, $failed failed"
  fi
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

broken() {
  echo "run.sh: $1" >&2
  failed=$((failed + 1))
}

build() {
  echo "building preset $1"
  { cmake --preset "$1" && cmake --build --preset "$1"; } >"$logs/build" 2>&1 && return
  grep -E -A5 'error|FAILED|undefined' "$logs/build" | head -60 >&2
  broken "preset $1 does not build"
  finish
}

# One cmocka program: its own summary gives the counts; a crash or a hang is one failure.  The limit
# is on processor time, so that a busy machine does not fail it; the other one ends what sleeps.
unit_test() {
  local program=$1 name out ok bad
  name=$(basename "$program")-$(basename "${program%/bin/*}")
  out=$logs/$name
  (ulimit -t 300 && exec timeout 1200 "$program") >"$out" 2>&1
  local status=$?
  ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test(s)\..*/\1/p' "$out" | head -1)
  bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test(s).*/\1/p' "$out" | head -1)
  echo "${ok:-0} ${bad:-0} $status $name" >"$out.count"
}
export -f unit_test
export logs

# Named by their sources: the build folder may still hold programs of tests that are gone.  Tests that
# share their random programs between the builds (tests/unit/random_share.h) come first: they take
# the longest.  Last come those that CMake makes of a source with other parts.
unit_programs() {
  local source name shared
  shared=$(grep -l programs_to_run tests/unit/*.c)
  for source in $shared; do
    name=${source##*/}
    echo "build/debug/bin/unit-${name%.c}"
    echo "build/release/bin/unit-${name%.c}"
  done
  for source in tests/unit/*.c; do
    case $shared in *"$source"*) continue ;; esac
    name=${source##*/}
    echo "build/debug/bin/unit-${name%.c}"
  done
  sed -n 's/^add_executable(unit-\([a-z_]*\) \(unit[^ )]*\).*/\1 \2/p' tests/CMakeLists.txt |
    while read -r name source; do
      echo "build/debug/bin/unit-$name"
      case $shared in *"$source"*) echo "build/release/bin/unit-$name" ;; esac
    done
}

unit_tests() {
  unit_programs | xargs -P 2 -I{} bash -c 'unit_test {}'
  local ok bad status name
  while read -r ok bad status name; do
    passed=$((passed + ok))
    failed=$((failed + bad))
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
      broken "$name ended with status $status"
    fi
    if [ "$status" -ne 0 ]; then
      grep -E -A4 'ERROR|LINE|runtime error|Sanitizer' "$logs/$name" | head -40
    elif [ "$ok" -eq 0 ]; then
      broken "$name ran no test"
    fi
    echo "$name: $ok passed, $bad failed"
  done < <(cat "$logs"/unit-*.count)
}

# pytest with the given arguments; counts from its junit file.
python_tests() {
  local xml=$logs/junit.xml
  rm -f "$xml"
  /usr/bin/python3 -m pytest -q -n 2 --junitxml="$xml" "$@"
  local status=$?
  local tests=0 errors=0 failures=0 skips=0
  if [ -f "$xml" ]; then
    read -r tests errors failures skips < <(/usr/bin/python3 - "$xml" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree
suites = list(tree.parse(sys.argv[1]).getroot().iter("testsuite"))
print(*(sum(int(s.get(k, 0)) for s in suites) for k in ("tests", "errors", "failures", "skipped")))
PYTHON
    )
  fi
  passed=$((passed + tests - errors - failures - skips))
  failed=$((failed + errors + failures))
  skipped=$((skipped + skips))
  if [ "$status" -ne 0 ] && [ $((errors + failures)) -eq 0 ]; then
    broken "pytest ended with status $status"
  fi
}

.ci/setup.sh || {
  broken "installing packages failed"
  finish
}
build release
build debug
unit_tests
if [ "$tier" = fast ]; then
  python_tests tests -m "not slow"
else
  python_tests tests
  echo "golden tests and hazards again, with the sanitized build"
  python_tests tests/test_golden.py tests/test_hazards.py --debug-build
fi
finish
