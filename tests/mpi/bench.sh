#!/bin/sh
# bench.sh BENCH_STEPS - times with two and with four processes, or one line why they cannot run.
if ! command -v mpirun >/dev/null || ! [ -x "$1" ]; then
    echo "# no figures of MPI: Open MPI is not here"
    exit 0
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
for n in 2 4; do
    mpirun -quiet -n "$n" "$1"
done
