#!/usr/bin/env bash
# Runs the claims whose name contains one of the arguments (all, without arguments).
set -u
exec </dev/null
cd "$(dirname "$0")" || exit 1
held=0 missed=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for claim in *; do
  [ "$claim" != run.sh ] && [ -f "$claim" ] && [ -x "$claim" ] || continue
  wanted=$(($# == 0))
  for word in "$@"; do
    case $claim in *"$word"*) wanted=1 ;; esac
  done
  [ "$wanted" -eq 1 ] || continue
  echo "== $claim"
  "./$claim" 2>&1 | tee "$log"
  if [ "${PIPESTATUS[0]}" -eq 0 ] && [ "$(tail -n 1 "$log")" = PASS ]; then
    held=$((held + 1))
  else
    missed+=("$claim")
  fi
done
[ "${#missed[@]}" -eq 0 ] || printf 'failed: %s\n' "${missed[@]}"
echo "$held passed, ${#missed[@]} failed"
[ "${#missed[@]}" -eq 0 ] && [ "$held" -gt 0 ]
