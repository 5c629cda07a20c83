/* scatter.c - operators that write at, or choose, places found in the data. */
#include "core/rules/args.h"

const Operator operators_scatter[] = {
    {0},
};
