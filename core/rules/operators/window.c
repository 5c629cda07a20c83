/* window.c - operators that slide a window: convolutions, pools, resampling. */
#include "core/rules/args.h"

const Operator operators_window[] = {
    {0},
};
