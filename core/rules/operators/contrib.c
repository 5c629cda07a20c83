/* contrib.c - operators of the domain com.microsoft, which exporters for onnxruntime write. */
#include "core/rules/args.h"

const Operator operators_contrib[] = {
    {0},
};
