#include "core/rules/registry.h"

const Operator operators_gradient[] = {
    {0},
};
