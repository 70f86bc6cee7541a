#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, and the clients of some
# tests; nothing when all are there.
set -eu
cd "$(dirname "$0")/.."

packages=(
  cmake ninja-build gcc clang libclang-rt-14-dev llvm bison flex
  libgmp-dev libjansson-dev uthash-dev libstb-dev zlib1g-dev libzstd-dev zstd libedit-dev libcmocka-dev
  pkgconf libtree-sitter-dev
  python3-numpy python3-scipy python3-pytest python3-pytest-xdist python3-hypothesis
  python3-matplotlib python3-pandas python3-tqdm neovim
  openmpi-bin libopenmpi-dev python3-mpi4py
)

command -v npm >/dev/null || packages+=(nodejs npm)

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT

install_clients() {
  local folder
  for folder in tests/dap tests/lsp tests/viewer tests/vscode; do
    [ -d $folder/node_modules ] && continue
    echo "setup: installing the client of $folder" >&2
    npm ci --prefix $folder --no-audit --no-fund </dev/null >"$log" 2>&1 || {
      cat "$log" >&2
      echo "setup: npm ci failed; the tests that need $folder will be skipped" >&2
    }
  done
}

if [ "${#missing[@]}" -eq 0 ]; then
  install_clients
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup: not root and no sudo; please install: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}" >&2
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" </dev/null >"$log" 2>&1 || {
    cat "$log" >&2
    echo "setup: apt-get $1 failed" >&2
    exit 1
  }
}
apt update
apt install --no-install-recommends "${missing[@]}"
install_clients
