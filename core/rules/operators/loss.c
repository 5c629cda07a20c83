/* loss.c - losses, and the optimizers of training graphs. */
#include "core/rules/args.h"

const Operator operators_loss[] = {
    {0},
};
