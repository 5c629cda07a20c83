#!/bin/sh
# globals.sh OBJECT... - core keeps no state: its objects have no symbol in a writable section.
# Two exceptions: a signal handler has no other way to its data (core/run/supervise.c), and another
# library calls its memory functions without a context (core/run/kernels/blas_memory.c).
# (Constant tables of pointers land in .data.rel.ro, which the loader closes.)
nm -A -f sysv "$@" | awk -F'|' '
    $NF ~ /^(\.data|\.bss|\.tdata|\.tbss|\.data\.rel|\.data\.rel\.local|\*COM\*)/ &&
    $NF !~ /^\.data\.rel\.ro/ && $1 !~ /(supervise\.o:supervised|blas_memory\.o:[a-z_]+) *$/ { gsub(/ +$/, "", $1); print $1 ": writable, in " $NF; failed = 1 }
    END { exit failed }'
