/* method.h - who decides what cuts what: a propagator and its profile.
 *
 *     propagator  profile                        is
 *     factor      explain (default)              axes flow both ways over op spaces (propagate.h)
 *                 shardy                         the same flow by Shardy's rules and order, its op
 *                                                and user priorities, aggressive
 *                 shardy-basic                   .. basic instead: any conflict stops a factor
 *                 shardy-basic-then-aggressive
 *     spmd        paddle (default)               Paddle's whole-program completion (spmd/)
 *     strategy    torch (default), vescale       op by op, as DTensor dispatches (strategy/)
 */
#ifndef CORE_PLAN_METHOD_H
#define CORE_PLAN_METHOD_H

#include "core/base/error.h"
#include "core/base/str.h"

/* ORDER METHOD */
typedef enum {
    METHOD_FACTOR, /* what a zeroed struct means */
    METHOD_SHARDY,
    METHOD_SHARDY_BASIC,
    METHOD_SHARDY_BOTH,
    METHOD_SPMD,
    METHOD_TORCH,
    METHOD_VESCALE,
    METHOD_COUNT
} Method;

const char *method_propagator(Method method); /* "factor" */
const char *method_profile(Method method);    /* "shardy" */
bool method_goes_by_op(Method method);        /* strategy: in program order, forward only */

/* By names; an empty profile is the propagator's default. ERROR_USAGE, with the nearest or with all
 * names as a hint. */
bool method_find(Str propagator, Str profile, Method *out, Error *err);

#endif
