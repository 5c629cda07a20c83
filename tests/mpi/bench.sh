#!/bin/sh
# bench.sh BENCH_STEPS - times with two and with four processes, or one line why they cannot run.
if ! command -v mpirun >/dev/null || ! [ -x "$1" ]; then
    echo "# no figures of MPI: Open MPI is not here"
    exit 0
fi
. "$(dirname "$0")/env.sh"
for n in 2 4; do
    mpirun $quiet -n "$n" "$1"
done
