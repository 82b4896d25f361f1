#!/bin/sh
# run.sh TARGET SEEDS: runs a fuzz target for FUZZ_SECONDS (180) from its seeds and from what
# earlier runs found worth keeping, beside the target. A finding stays there too.
set -eu
corpus=$1.corpus
mkdir -p "$corpus"
exec "$1" "$corpus" "$2" -max_total_time="${FUZZ_SECONDS:-180}" -max_len=2000 -timeout=10 \
  -artifact_prefix="$1.finding-" -print_final_stats=1
