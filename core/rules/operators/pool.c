/* pool.c - operators that take one element, or a mean, of a window. */
#include "core/rules/args.h"

const Operator operators_pool[] = {
    {0},
};
