/* Rules of views: reshape, flatten, squeeze, unsqueeze, transpose, expand, tile, and their
 * gradients. */
#include "core/plan/spmd/merge.h"

const SpmdRule spmd_rules_views[] = {{0}};
