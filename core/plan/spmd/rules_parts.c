/* Rules of tensors cut in parts or made of parts: split, unbind, concat, stack, slice, and their
 * gradients. */
#include "core/plan/spmd/merge.h"

const SpmdRule spmd_rules_parts[] = {{0}};
