/* Rules of reductions, argmax, and their gradients. */
#include "core/plan/spmd/merge.h"

const SpmdRule spmd_rules_reduce[] = {{0}};
