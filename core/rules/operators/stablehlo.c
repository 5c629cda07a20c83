/* stablehlo.c - operators of StableHLO whose attributes say more than ONNX's can. */
#include "core/rules/args.h"

const Operator operators_stablehlo[] = {
    {0},
};
