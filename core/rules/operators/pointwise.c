#include "core/rules/registry.h"

const Operator operators_pointwise[] = {
    {0},
};
