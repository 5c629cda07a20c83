#include "core/rules/registry.h"

const Operator operators_indexing[] = {
    {0},
};
