/* tensor.c - operators of torch, Paddle and nnScaler that ONNX has no word for. */
#include "core/rules/args.h"

const Operator operators_tensor[] = {
    {0},
};
