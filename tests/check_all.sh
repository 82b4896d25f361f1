#!/bin/sh
# check_all.sh TARGET...: makes all of them, whatever fails, and ends with a table of how each
# went and how long it took. Their output is kept below build/check-all.
set -u
logs=build/check-all
mkdir -p "$logs"
table=""
failed=0
for target in "$@"; do
  echo "check-all: make $target (output in $logs/$target.log)"
  start=$(date +%s)
  if ${MAKE:-make} "$target" >"$logs/$target.log" 2>&1; then
    result=passed
  else
    result=FAILED
    failed=1
    tail -n 40 "$logs/$target.log"
  fi
  seconds=$(($(date +%s) - start))
  table="$table$(printf '%-16s%-8s%4d min %02d s' "$target" "$result" $((seconds / 60)) $((seconds % 60)))
"
done
printf '%s' "$table"
exit $failed
