/* Rules of products of matrices and their gradients. */
#include "core/plan/spmd/merge.h"

const SpmdRule spmd_rules_matmul[] = {{0}};
