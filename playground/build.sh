#!/usr/bin/env bash
# Builds the WebAssembly module, the package wse-toolchain and the playground. It needs Emscripten,
# CMake, Ninja, flex, bison, Node.js and the packages of package-lock.json.
set -eu
cd "$(dirname "$0")/.."
playground/fetch_sources.sh
[ -e build/wasm/build.ninja ] || cmake --preset wasm
cmake --build --preset wasm
cd playground
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund
node build.mjs
