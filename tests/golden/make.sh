#!/bin/bash
# make.sh KINFLOW FOLDER: writes small models of every kind with a build of kinflow, and what it
# scores, transforms and draws with them. Those in this folder are from kinflow 0.1.0 at
# commit 1460b73, which computed with LibTorch; golden_test.cpp compares.
set -euo pipefail
kinflow=$1
out=$2
mkdir -p "$out" && cd "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$work" <<'PYTHON'
import math, random, sys
numbers = random.Random(5)
with open(f"{sys.argv[1]}/train.csv", "w") as file:
    file.write("group,day,age,u,v,w\n")
    for group in range(40):
        common = [numbers.gauss(0, 1) for _ in range(3)]
        for day in range(5):
            own = [0.8 * c + 0.6 * numbers.gauss(0, 1) for c in common]
            file.write(f"g{group},{day * 7 + group % 3},{40 + group % 17 + numbers.random():.4f},"
                       f"{own[0]:.6f},{math.exp(0.7 * own[1]):.6f},"
                       f"{own[2] + 0.5 * own[0] ** 2:.6f}\n")
PYTHON
head -n 31 "$work/train.csv" >rows.csv
sed -n '1p;2,16p' "$work/train.csv" >given.csv
sed -n '1p;17,31p' "$work/train.csv" | sed 's/^g3/g0/' >others.csv

small=(--layers 2 --hidden 6,6 --epochs 8 --replicas 2 --threads 1 --no-report --seed 3)
fit() { # NAME OPTION...
  local name=$1
  shift
  "$kinflow" fit "$work/train.csv" "${small[@]}" "$@" --out "$work/$name" >"$work/$name.txt" 2>&1 || {
    cat "$work/$name.txt"
    exit 1
  }
  cp "$work/$name/model.safetensors" "$name.safetensors"
}
use() { # NAME OPTION... of draws
  local name=$1
  shift
  "$kinflow" evaluate "$name.safetensors" rows.csv --out "$name.scores.csv" >/dev/null
  "$kinflow" transform "$name.safetensors" rows.csv --out "$name.latents.csv" >/dev/null
  [ $# -gt 0 ] || set -- --n 12
  "$kinflow" sample "$name.safetensors" --seed 4 "$@" --out "$name.draws.csv" >/dev/null
}
spline=(--flow spline --bins 4)
fit blocks --group group --columns u,v,w "${spline[@]}" --folds 3 --correlation per-block
use blocks
"$kinflow" evaluate blocks.safetensors others.csv --given given.csv --group group \
  --out blocks.given.csv >/dev/null
fit latents --group group --columns u,v,w --flow affine --folds 1 --correlation per-latent \
  --latent-map
use latents
fit context --independent --columns u,v --context age "${spline[@]}" --folds 2 --normal-scores yes
use context --for rows.csv
fit time --time day --time-kernel exponential --time-decay 0.1 --columns u,w "${spline[@]}" \
  --folds 1
use time
python3 - "$work" <<'PYTHON'
import sys
with open(f"{sys.argv[1]}/relationship.txt", "w") as file:
    for i in range(200):
        file.write(" ".join("1" if i == j else "0.5" if i // 5 == j // 5 else "0.05"
                            for j in range(200)) + "\n")
PYTHON
fit related --relationship "$work/relationship.txt" --relationship-by-position --columns u,v,w \
  --flow affine --folds 1 --share-per-latent
use related

"$kinflow" simulate --images --side 8 --rows 80 --valid-rows 10 --test-rows 6 --largest-person 10 \
  --seed 2 --out "$work/images" >/dev/null
"$kinflow" fit "$work/images/train" --images --group-by-folder --flow glow --steps 1 \
  --dense-channels 8 --dense-layers 1 --dense-growth 8 --epochs 3 --batch-size 16 --threads 1 \
  --no-report --seed 3 --out "$work/faces" >/dev/null
cp "$work/faces/model.safetensors" faces.safetensors
"$kinflow" sample faces.safetensors --n 24 --seed 4 --out faces.draws.npy >/dev/null
{
  echo person
  seq 1 24
} >faces.people.csv
"$kinflow" evaluate faces.safetensors faces.draws.npy --ids faces.people.csv --samples 20 --json --threads 1 \
  --out faces.scores.csv >faces.json
