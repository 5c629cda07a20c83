/* propagators.h - the table of propagators: the default, its peers' profiles, other systems'. */
#ifndef CORE_PROPAGATE_PROPAGATORS_H
#define CORE_PROPAGATE_PROPAGATORS_H

#include "core/base/error.h"
#include "core/plan/propagator.h"

extern const Propagator propagator_explain; /* factor:explain, the default */

/* NULL past the last. Profiles of one name stand together; the first is the default. */
const Propagator *propagator_at(int i);

/* The one that was asked for; NULL: the default. */
static inline const Propagator *propagator_or_default(const Propagator *propagator)
{
    return propagator ? propagator : &propagator_explain;
}

/* By names; an empty profile is the first of the propagator. ERROR_USAGE, with all names or the
 * propagator that has the profile as a hint. */
bool propagator_find(Str name, Str profile, const Propagator **out, Error *err);

/* "factor spmd strategy", or all profiles, with `between` them. */
const char *propagator_names(Arena *arena, const char *between);
const char *propagator_profiles(Arena *arena, const char *between);

#endif
