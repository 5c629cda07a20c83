/* Rules of convolution, attention, mixtures of experts, einsum, dropout, optimizers, the default
 * rules. */
#include "core/plan/spmd/merge.h"

const SpmdRule spmd_rules_layers[] = {{0}};
