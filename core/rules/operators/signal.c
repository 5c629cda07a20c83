/* signal.c - transforms, windows and images. */
#include "core/rules/args.h"

const Operator operators_signal[] = {
    {0},
};
