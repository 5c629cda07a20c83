/* random.c - operators that draw, and those that make tensors from attributes alone. */
#include "core/rules/args.h"

const Operator operators_random[] = {
    {0},
};
