#include "core/plan/method.h"

/* ORDER METHOD; the first row of a propagator is its default profile. */
static const struct {
    const char *propagator, *profile;
} rows[METHOD_COUNT] = {
    {"factor", "explain"},      {"factor", "shardy"},
    {"factor", "shardy-basic"}, {"factor", "shardy-basic-then-aggressive"},
    {"spmd", "paddle"},         {"strategy", "torch"},
    {"strategy", "vescale"},
};

const char *method_propagator(Method method)
{
    return rows[method].propagator;
}

const char *method_profile(Method method)
{
    return rows[method].profile;
}

bool method_goes_by_op(Method method)
{
    return method == METHOD_TORCH || method == METHOD_VESCALE;
}

/* The propagator that has a profile of that name, or NULL. */
static const char *owner_of(Str profile)
{
    for (Method m = 0; m < METHOD_COUNT; m++)
        if (str_eq(str_from(rows[m].profile), profile))
            return rows[m].propagator;
    return NULL;
}

bool method_find(Str propagator, Str profile, Method *out, Error *err)
{
    bool known = false;
    for (Method m = 0; m < METHOD_COUNT; m++) {
        if (!str_eq(str_from(rows[m].propagator), propagator))
            continue;
        known = true;
        *out = m;
        if (profile.n == 0 || str_eq(str_from(rows[m].profile), profile))
            return true;
    }
    if (!known) {
        error_kind(err, ERROR_USAGE, "there is no propagator '%.*s'", STR_ARG(propagator));
        error_hint(err, "factor, spmd or strategy");
        return false;
    }
    error_kind(err, ERROR_USAGE, "%.*s has no profile '%.*s'", STR_ARG(propagator),
               STR_ARG(profile));
    const char *owner = owner_of(profile);
    if (owner)
        error_hint(err, "%.*s is a profile of %s", STR_ARG(profile), owner);
    else
        error_hint(err, "factor: explain, shardy, shardy-basic, shardy-basic-then-aggressive; "
                        "spmd: paddle; strategy: torch, vescale");
    return false;
}
