/* Rules of embedding, gather, scatter, selecting and sorting along an axis. */
#include "core/plan/spmd/merge.h"

const SpmdRule spmd_rules_index[] = {{0}};
