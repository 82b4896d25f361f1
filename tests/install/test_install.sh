#!/bin/sh
# Installs the build into a temporary folder, builds the examples against it and runs them.
# usage: test_install.sh SOURCE_DIR BUILD_DIR [CMAKE_PREFIX_PATH]
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cmake --install "$2" --prefix "$place/kinflow" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
cmake -S "$1/examples" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$place/kinflow;${3:-}" >"$place/log" 2>&1 &&
  cmake --build "$place/build" >>"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
"$place/kinflow/bin/kinflow" --version

cd "$place"
awk 'BEGIN {
  srand(1)
  OFS = ","
  print "a,b,person"
  for (person = 1; person <= 40; ++person) {
    shared = rand()
    for (visit = 1; visit <= 4; ++visit) print shared + rand(), shared - rand(), person
  }
}' >measurements.csv
for example in block_correlation fit_groups with_and_without; do
  echo "examples/$example.cpp:"
  "build/$example"
done

# The README shows the first of them.
awk '/^```cpp$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$1/README.md" |
  diff - "$1/examples/fit_groups.cpp"
