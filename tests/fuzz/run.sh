#!/bin/bash
# run.sh TARGET SEEDS: runs a fuzz target for FUZZ_SECONDS (180) of processor time, which a
# busy machine does not cut short, from its seeds and from what earlier runs found worth
# keeping, beside the target. A finding stays there too.
set -euo pipefail
corpus=$1.corpus
mkdir -p "$corpus"

# left: processor seconds that are still to be spent by children of this shell.
total=${FUZZ_SECONDS:-180}
left=$total
while ((20 * left > total)); do
  "$1" "$corpus" "$2" -max_total_time="$left" -max_len=2000 -timeout=10 \
    -artifact_prefix="$1.finding-" -print_final_stats=1
  times >"$1.times" # its second line is such as "1m2.345s 0m1.000s"
  left=$(awk -F '[ms ]+' -v total="$total" \
    'NR == 2 { print int(total - 60 * ($1 + $3) - $2 - $4) }' "$1.times")
done
echo "$((total - left)) seconds of processor time, no finding"
