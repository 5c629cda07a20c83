/* Rules of softmax, the normalisations, cross entropy. */
#include "core/plan/spmd/merge.h"

const SpmdRule spmd_rules_norm[] = {{0}};
