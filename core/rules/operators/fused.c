#include "core/rules/registry.h"

const Operator operators_fused[] = {
    {0},
};
