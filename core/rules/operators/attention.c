/* attention.c - queries against keys and values. */
#include "core/rules/args.h"

const Operator operators_attention[] = {
    {0},
};
