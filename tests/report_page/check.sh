#!/usr/bin/env bash
# Makes one page of every kind with small runs and opens them in a headless Chromium: at
# the width of a desk and of a phone, light and dark. Exits with 77, which ctest takes for
# skipped, where there is no Chromium or no Node.
#   tests/report_page/check.sh build/release/kinflow [DIR for runs and screenshots]
set -euo pipefail
kinflow=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$chromium" ] || ! command -v node > /dev/null; then
  echo "skipped: needs chromium and node"
  exit 77
fi
if [ $# -gt 1 ]; then
  mkdir -p "$2"
  cd "$2"
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
fi

small="--epochs 8 --no-report"
{
  "$kinflow" simulate --shape crescent --rows 600 --out data --overwrite
  # Names with markup, quotes, an emoji and text from right to left.
  sed '1s/.*/"<img src=x onerror=alert(1)>","""q"" \& '"'"'😀 שלום",group/; s/,g\([0-9]*\)$/,<b>g\1/' data/train.csv > hostile.csv
  "$kinflow" fit data/train.csv --group group $small --out blocks --overwrite
  "$kinflow" fit data/train.csv --independent --fold-by group $small --out ordinary --overwrite
  "$kinflow" fit hostile.csv --group group $small --out '<b>hostile' --overwrite
  "$kinflow" simulate --dependence families --rows 300 --seed 1 --out families --overwrite
  "$kinflow" fit families/train.csv --relationship families/pedigree.tsv --id id $small --out relatives --overwrite
  "$kinflow" simulate --cohort --people 400 --snps 3000 --seed 1 --out cohort --overwrite
  "$kinflow" fit cohort/pheno.tsv --columns trait1,trait2,trait3 --independent --drop-missing $small --out traits --overwrite
  "$kinflow" gwas --bfile cohort/cohort --pheno cohort/pheno.tsv --transform rank-normal --single --maf 0.05 --out gwas --overwrite
  echo '{"fixed": {"table": "data/train.csv", "valid": "data/valid.csv", "group": "group", "epochs": 3},
         "grid": {"schedule": ["baseline", "joint"], "learning-rate": [0.01, 0.03], "seed": [0, 1]}}' > sweep.json
  "$kinflow" sweep sweep.json --out sweep --overwrite
  "$kinflow" simulate --images --rows 300 --valid-rows 120 --seed 1 --out shapes --overwrite
  "$kinflow" fit shapes/train --images --group-by-folder --valid shapes/valid --epochs 2 --scales 1 --steps 1 --no-report --out images --overwrite
} > log.txt 2>&1 || { cat log.txt; exit 1; }
pages=()
page() {
  local out=$1.html
  shift
  "$kinflow" report "$@" --out "$out" --overwrite > /dev/null
  pages+=("$out")
}
page blocks blocks
page hostile '<b>hostile'
page relatives relatives
page traits traits
page images images
page sweep sweep
page gwas gwas
page compare blocks ordinary
rm blocks/run.json
page broken blocks
node "$here/check.mjs" "$chromium" "${pages[@]}" --screenshots screenshots
node "$here/check.mjs" "$chromium" "${pages[@]}" --screenshots screenshots --dark
node "$here/check.mjs" "$chromium" "${pages[@]}" --screenshots screenshots --width 390
