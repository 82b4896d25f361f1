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

small="--epochs 12 --no-report"
quietly() {
  "$kinflow" "$@" > log.txt 2>&1 || {
    cat log.txt
    exit 1
  }
}
# Groups of 2 to 9 rows: alike in one column, hardly in the other.
awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()) }
     BEGIN { srand(1); print "x1,x2,group"
       for (g = 1; g <= 90; ++g) {
         a = normal(); b = normal()
         for (i = 1; i <= 2 + g % 8; ++i) {
           x = 0.95 * a + 0.3 * normal()
           printf "%.5f,%.5f,g%d\n", x, x * x / 2 + 0.3 * b + 0.7 * normal(), g } } }' > table.csv
# Names with markup, quotes, an emoji and text from right to left.
sed '1s/.*/"<img src=x onerror=alert(1)>","'$'\u202e''""q"" \& '"'"'😀 שלום",group/; s/,g\([0-9]*\)$/,<b>g\1/' table.csv > hostile.csv
quietly fit table.csv --group group $small --out groups --overwrite
quietly fit table.csv --group group --correlation per-block $small --out each --overwrite
quietly fit table.csv --group group --correlation shared $small --out shared --overwrite
quietly fit table.csv --independent --fold-by group $small --out ordinary --overwrite
quietly fit hostile.csv --group group $small --out '<b>hostile' --overwrite
quietly simulate --dependence families --rows 300 --seed 1 --out families --overwrite
quietly fit families/train.csv --relationship families/pedigree.tsv --id id $small --out relatives --overwrite
quietly simulate --cohort --people 800 --snps 4000 --loci 5 --locus-share 0.06 --seed 1 --out cohort --overwrite
quietly fit cohort/pheno.tsv --columns trait1,trait2,trait3 --independent --drop-missing $small --out traits --overwrite
quietly gwas --bfile cohort/cohort --pheno cohort/pheno.tsv --transform rank-normal --single --maf 0.05 --no-report --out gwas --overwrite
echo '{"fixed": {"table": "table.csv", "group": "group", "epochs": 4},
       "grid": {"schedule": ["baseline", "joint"], "learning-rate": [0.003, 0.01, 0.03], "seed": [0, 1, 2]}}' > sweep.json
quietly sweep sweep.json --no-report --out sweep --overwrite
quietly simulate --images --rows 300 --valid-rows 120 --seed 1 --out shapes --overwrite
quietly fit shapes/train --images --group-by-folder --valid shapes/valid --epochs 6 --scales 1 --steps 1 --no-report --out images --overwrite
# A demo and a study, small as they are.
quietly simulate --shape crescent --rows 1500 --out demo/data --overwrite
for of in one-table-ordinary:--independent "one-table-adjusted:--group group" "baseline:--independent --valid demo/data/valid.csv" \
    "joint:--group group --valid demo/data/valid.csv"; do
  quietly fit demo/data/train.csv --columns x1,x2 ${of#*:} $small --replicas 2 --out "demo/${of%%:*}" --overwrite
done
echo '{}' > demo/teaser.json
mkdir -p study
echo '{"kinflow_version": "0.1.0", "description": {"experiment": "table1", "seeds": 2, "quick": true}}' > study/study.json
printf '# A study <b>\n\nWords of `it` and *more*.\n\n| method | NLL |\n|:--|--:|\n| ordinary | 1.5 |\n\n- one\n- two\n' > study/study.md
printf 'set,method,test_nll_nats\nabs-1,ordinary,1.5\nabs-1,<i>joint,1.4\nabs-2,ordinary,1.6\nabs-2,<i>joint,1.45\n' > study/scores.csv
pages=()
page() {
  local out=$1.html
  shift
  quietly report "$@" --out "$out" --overwrite
  pages+=("$out")
}
page blocks groups
page each each
page shared shared
page hostile '<b>hostile'
page relatives relatives
page traits traits
page images images
page sweep sweep
page gwas gwas
page demo demo
page study study
page compare groups shared ordinary
# A run of an earlier version, with half of the keys, and one without its record.
rm -rf older
cp -r each older
node -e 'const fs = require("fs"), run = JSON.parse(fs.readFileSync("older/run.json"));
  delete run.dependence_hashes; delete run.seconds;
  for (const key of ["cross_validation", "dependence_choice", "inference", "members", "valid_score", "map"]) delete run.result[key];
  fs.writeFileSync("older/run.json", JSON.stringify(run));'
rm -f older/held_out.csv
page older older
rm -rf broken
cp -r each broken
rm broken/run.json broken/metrics.csv
page broken broken
failed=0
for look in "" --dark "--width 390"; do
  node "$here/check.mjs" "$chromium" "${pages[@]}" --screenshots screenshots $look || failed=1
done
exit $failed
