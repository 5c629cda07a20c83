#include "core/rules/registry.h"

const Operator operators_training[] = {
    {0},
};
