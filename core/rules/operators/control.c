/* control.c - branches, loops, sequences and optionals. */
#include "core/rules/args.h"

const Operator operators_control[] = {
    {0},
};
