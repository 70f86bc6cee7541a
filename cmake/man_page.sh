#!/bin/sh
# Prints the manual page of a program: what its --help prints, as it stands there.
# usage: man_page.sh PROGRAM DESCRIPTION
set -eu
program=$1 description=$2
name=$(basename "$program")
version=$("$program" --version | head -n 1)
help=$(COLUMNS=1000 "$program" --help)    # argparse breaks none of 1,000 columns

# Text of roff: a backslash has a meaning there, so has a dot or a quote that begins a line, and a
# plain '-' may become a hyphen.
quote() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; }

printf '.TH "%s" 1 "" "%s"\n.SH NAME\n' "$name" "$version"
printf '%s - %s\n' "$name" "$description" | quote
printf '.SH SYNOPSIS\n.nf\n'
# The usage goes on in lines that are set in below it.
printf '%s\n' "$help" | quote | awk '
  NR == 1 { sub(/^usage: /, ""); print; next }
  !rest && /^       [^ ]/ { sub(/^       /, ""); print; next }
  !rest { rest = 1; print ".SH DESCRIPTION\n.nf"; if ($0 == "") next }
  { print }'
