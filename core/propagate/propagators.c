#include "core/propagate/propagators.h"

#include "core/base/peer.h"
#include "core/propagate/propagate.h"

/* The program's own; those of the peers come behind them. */
static const Propagator *const own[] = {&propagator_explain};
enum { N_OWN = sizeof own / sizeof *own };

/* As the tables have them; NULL past the last. */
static const Propagator *listed(int i)
{
    if (i < N_OWN)
        return own[i];
    i -= N_OWN;
    for (const Peer *const *peer = built_peers; *peer; peer++)
        for (const Propagator *const *it = (*peer)->propagators; it && *it; it++)
            if (i-- == 0)
                return *it;
    return NULL;
}

static bool same_name(const Propagator *a, const Propagator *b)
{
    return strcmp(a->name, b->name) == 0;
}

/* The first of the tables that has the name of this one. */
static const Propagator *first_of(const Propagator *of)
{
    const Propagator *it = of;
    for (int k = 0; (it = listed(k)) && !same_name(it, of); k++)
        ;
    return it;
}

/* Profiles of one propagator stand together, wherever the tables have them. */
const Propagator *propagator_at(int i)
{
    const Propagator *first, *it;
    for (int f = 0; (first = listed(f)); f++)
        for (int k = f; first_of(first) == first && (it = listed(k)); k++)
            if (same_name(it, first) && i-- == 0)
                return it;
    return NULL;
}

/* Whether the i-th is the first of its name. */
static bool is_first(int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(propagator_at(k)->name, propagator_at(i)->name) == 0)
            return false;
    return true;
}

const char *propagator_names(Arena *arena, const char *between)
{
    Buf out = buf_new(arena);
    for (int i = 0; propagator_at(i); i++)
        if (is_first(i))
            buf_printf(&out, "%s%s", i > 0 ? between : "", propagator_at(i)->name);
    return out.s;
}

const char *propagator_profiles(Arena *arena, const char *between)
{
    Buf out = buf_new(arena);
    for (int i = 0; propagator_at(i); i++)
        buf_printf(&out, "%s%s", i > 0 ? between : "", propagator_at(i)->profile);
    return out.s;
}

/* "factor, spmd or strategy", or how to choose the profile of that name. */
static void hint_names(Str name, Error *err)
{
    for (int i = 0; propagator_at(i); i++)
        if (str_eq(str_from(propagator_at(i)->profile), name)) {
            error_hint(err, "%.*s is a profile: --propagate %s --profile %.*s", STR_ARG(name),
                       propagator_at(i)->name, STR_ARG(name));
            return;
        }
    Arena *scratch = arena_new();
    Buf names = buf_new(scratch);
    const char *held = NULL;
    for (int i = 0; propagator_at(i); i++) {
        if (!is_first(i))
            continue;
        if (held)
            buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", held);
        held = propagator_at(i)->name;
    }
    error_hint(err, "%s%s%s", names.n > 0 ? names.s : "", names.n > 0 ? " or " : "", held);
    arena_free(scratch);
}

/* "factor: explain, shardy; spmd: paddle", or the propagator that has a profile of that name. */
static void hint_profiles(Str profile, Error *err)
{
    Arena *scratch = arena_new();
    Buf all = buf_new(scratch);
    for (int i = 0; propagator_at(i); i++) {
        const Propagator *it = propagator_at(i);
        if (str_eq(str_from(it->profile), profile))
            error_hint(err, "%.*s is a profile of %s", STR_ARG(profile), it->name);
        if (is_first(i))
            buf_printf(&all, "%s%s: %s", i > 0 ? "; " : "", it->name, it->profile);
        else
            buf_printf(&all, ", %s", it->profile);
    }
    error_hint(err, "%s", all.s);
    arena_free(scratch);
}

/* The peer that has this propagator, or this profile of it, though the program may be built without
 * it; NULL if none has. */
static const char *peer_of(Str name, Str profile)
{
    for (const KnownPeer *peer = known_peers; peer->name; peer++)
        for (Str rest = str_from(peer->propagators); rest.n > 0;) {
            Str its_profile = str_take(&rest, ' '), its_name = str_take(&its_profile, ':');
            if (str_eq(its_name, name) && (profile.n == 0 || str_eq(its_profile, profile)))
                return peer->name;
        }
    return NULL;
}

static bool refuse_unknown(Str name, Str profile, bool known, Error *err)
{
    const char *peer = peer_of(name, profile);
    if (peer) {
        error_kind(err, ERROR_USAGE, "%.*s%s%.*s is not built in this program", STR_ARG(name),
                   profile.n > 0 ? ":" : "", STR_ARG(profile));
        return error_hint(err, "it belongs to %s, which PEERS of make left out", peer);
    }
    if (known) {
        error_kind(err, ERROR_USAGE, "%.*s has no profile '%.*s'", STR_ARG(name), STR_ARG(profile));
        hint_profiles(profile, err);
        return false;
    }
    error_kind(err, ERROR_USAGE, "there is no propagator '%.*s'", STR_ARG(name));
    hint_names(name, err);
    return false;
}

bool propagator_find(Str name, Str profile, const Propagator **out, Error *err)
{
    bool known = false;
    for (int i = 0; propagator_at(i); i++) {
        const Propagator *it = propagator_at(i);
        if (!str_eq(str_from(it->name), name))
            continue;
        known = true;
        *out = it;
        if (profile.n == 0 || str_eq(str_from(it->profile), profile))
            return true;
    }
    return refuse_unknown(name, profile, known, err);
}

int propagate_stops(Arena *arena, const Plan *plan, int32_t op, StopRecord **out)
{
    *out = NULL;
    return plan->propagator->stops ? plan->propagator->stops(arena, plan, op, out) : 0;
}
