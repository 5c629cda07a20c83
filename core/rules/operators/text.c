/* text.c - strings and the classical models of ai.onnx.ml: shapes only. */
#include "core/rules/args.h"

const Operator operators_text[] = {
    {0},
};
