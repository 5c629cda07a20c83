#!/bin/sh
# all.sh SECONDS NAME... - runs each fuzzer of build/fuzz for that long, from its corpus, and prints a
# table: executions, executions a second, finds, edges between lines of the program that were reached,
# and how many it has. Exit 1 when there is a find, whose input is left in build/fuzz. What leaks is
# looked for once, at the end: caches grow in most executions, and looking then takes longer than they do.
# FUZZER INPUT... looks after each input.
cd "$(dirname "$0")/../.." || exit 1
seconds=$1
shift
status=0
total=0
printf '%-14s %12s %10s %6s %8s %8s\n' FUZZER EXECUTIONS PER_SECOND FINDS EDGES OF
for name; do
    log=build/fuzz/$name.log
    mkdir -p "build/fuzz/corpus/$name" "build/fuzz/finds/$name"
    kept=tests/fuzz/corpus/$name
    [ -d "$kept" ] || kept=
    build/fuzz/fuzz_"$name" -max_total_time="$seconds" -timeout=60 -print_final_stats=1 -entropic=0 -detect_leaks=0 \
        -artifact_prefix="build/fuzz/finds/$name/" "build/fuzz/corpus/$name" $kept >"$log" 2>&1 || status=1
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    edges=$(grep -ao 'cov: [0-9]*' "$log" | tail -1 | cut -c 6-)
    all=$(grep -ao '[0-9]* inline 8-bit counters' "$log" | head -1)
    finds=$(find "build/fuzz/finds/$name" -type f ! -name 'slow-unit-*' | wc -l)
    printf '%-14s %12s %10s %6s %8s %8s\n' "$name" "${runs:-0}" "${rate:-0}" "$finds" "${edges:-0}" \
        "${all%% *}"
    total=$((total + ${runs:-0}))
done
echo "$total executions"
exit $status
