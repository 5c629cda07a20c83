#include "core/rules/registry.h"

const Operator operators_matrix[] = {
    {0},
};
