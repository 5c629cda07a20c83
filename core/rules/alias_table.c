#include "core/rules/alias.h"

#include <stddef.h>

const AliasRow alias_table[] = {
    {"Softmax",
     {[SYSTEM_NNSCALER] = "softmax(dim=axis)",
      [SYSTEM_TORCH] = "softmax(dim=axis) _softmax(dim=axis)",
      [SYSTEM_PADDLE] = "softmax"}},
    {NULL, {NULL}},
};
