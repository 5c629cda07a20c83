/* resample.c - operators that lay an image out anew: resizing, sampling, padding, blocks. */
#include "core/rules/args.h"

const Operator operators_resample[] = {
    {0},
};
