#!/bin/sh
# Installs the build into a temporary folder and builds a program against it.
# usage: test_install.sh SOURCE_DIR BUILD_DIR [CMAKE_PREFIX_PATH]
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cmake --install "$2" --prefix "$place/kinflow" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
cmake -S "$1/tests/install" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$place/kinflow;${3:-}" >"$place/log" 2>&1 &&
  cmake --build "$place/build" >>"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
"$place/build/consumer"
"$place/kinflow/bin/kinflow" --version
