/* propagators.h - the table of propagators: the default, its other profiles, and those of other
 * systems. */
#ifndef CORE_PROPAGATE_PROPAGATORS_H
#define CORE_PROPAGATE_PROPAGATORS_H

#include "core/base/error.h"
#include "core/plan/propagator.h"

extern const Propagator propagator_explain; /* factor:explain, the default */

/* NULL past the last. Profiles of one propagator are adjacent; the first is its default. */
const Propagator *propagator_at(int i);

/* The given propagator; for NULL the default. */
static inline const Propagator *propagator_or_default(const Propagator *propagator)
{
    return propagator ? propagator : &propagator_explain;
}

/* Finds one by names; an empty profile means the first profile of the propagator. ERROR_USAGE; the
 * hint has all names, or the propagator that has the profile. */
bool propagator_find(Str name, Str profile, const Propagator **out, Error *err);

/* "factor spmd strategy", or all profiles, separated by `between`. */
const char *propagator_names(Arena *arena, const char *between);
const char *propagator_profiles(Arena *arena, const char *between);

#endif
