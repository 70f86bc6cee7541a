#!/usr/bin/env bash
# Downloads the sources of the libraries that the WebAssembly build needs, from Debian, and unpacks
# them to the folder that is named (build/sources).  playground/sources.lock has their checksums.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../build/sources}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cmp -s "$here/sources.lock" "$out/lock" && exit 0

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/files"
key=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb-src [signed-by=$key] http://deb.debian.org/debian bookworm main" >"$state/sources.list"
apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" \
    -o APT::Sandbox::User=root "$@"
}
apt update
cd "$state/files"
while read -r sum file package; do
  [ -e "$file" ] || apt source --download-only "$package" >/dev/null
  echo "$sum  $file" | sha256sum -c --quiet
  folder=$out/${package%%=*}
  rm -rf "$folder"
  mkdir -p "$folder"
  tar -xf "$file" -C "$folder" --strip-components=1
done <"$here/sources.lock"
cp "$here/sources.lock" "$out/lock"
