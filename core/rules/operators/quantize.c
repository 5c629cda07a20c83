/* quantize.c - operators on quantised tensors, and the casts to and from them. */
#include "core/rules/args.h"

const Operator operators_quantize[] = {
    {0},
};
