#!/bin/sh
# Times whole fits of 10,000 rows for 100 epochs, validation included: one replica on one
# core, two on two, in turns. Usage: fit_time.sh KINFLOW [ROUNDS]
set -eu
kinflow=$1
rounds=${2:-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$kinflow" simulate --seed 3 --out "$folder/data" >/dev/null 2>&1

# Seconds of a fit with the options that follow.
fit() {
  start=$(date +%s.%N)
  "$kinflow" fit "$folder/data/train.csv" --valid "$folder/data/valid.csv" --group group \
    --patience 1000 --replicas 1 --out "$folder/run" "$@" >/dev/null 2>&1
  rm -rf "$folder/run"
  echo "$start $(date +%s.%N)" | awk '{printf "%.2f\n", $2 - $1}'
}

median() { sort -n | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }

i=0
while [ "$i" -lt "$rounds" ]; do
  fit --threads 1 >>"$folder/joint"
  fit --threads 1 --schedule grid --grid 0.5 >>"$folder/one"
  fit --threads 2 --schedule grid --grid 0.3,0.5 >>"$folder/two"
  fit --threads 2 >>"$folder/rows"
  i=$((i + 1))
done
joint=$(median <"$folder/joint")
one=$(median <"$folder/one")
two=$(median <"$folder/two")
rows=$(median <"$folder/rows")
echo "joint fit, one core: $joint s"
echo "joint fit, rows on two cores: $rows s"
echo "one replica of a grid, one core: $one s"
echo "two replicas of a grid, two cores: $two s"
echo "$one $two" | awk '{printf "two replicas on two cores take %.2f times one on one\n", $2 / $1}'
