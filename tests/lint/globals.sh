#!/bin/sh
# globals.sh OBJECT... - core keeps no state: its objects have no symbol in a writable section.
# But two: a handler of signals finds nothing else (core/run/supervise.c), and what stands in for the
# memory of another library is asked without a word of whom for (core/run/blas_memory.c).
# (Constant tables of pointers land in .data.rel.ro, which the loader closes.)
nm -A -f sysv "$@" | awk -F'|' '
    $NF ~ /^(\.data|\.bss|\.tdata|\.tbss|\.data\.rel|\.data\.rel\.local|\*COM\*)/ &&
    $NF !~ /^\.data\.rel\.ro/ && $1 !~ /(supervise\.o:supervised|blas_memory\.o:[a-z_]+) *$/ { gsub(/ +$/, "", $1); print $1 ": writable, in " $NF; failed = 1 }
    END { exit failed }'
