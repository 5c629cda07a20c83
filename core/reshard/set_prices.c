#include "core/reshard/set_prices.h"

#include <math.h>

/* ---- a space ---- */

static void set_atoms(SetPrices *r)
{
    r->all = r->goal = 0;
    for (int a = 0; a < r->space->n_atoms; a++) {
        r->all |= r->space->kept >> a & 1 ? 0 : (AtomSet)1 << a;
        r->goal |= place_cuts(r->space->to.place[a]) ? (AtomSet)1 << a : 0;
    }
}

static void set_sizes(SetPrices *r)
{
    const Space *space = r->space;
    int n_sets = 1 << space->n_atoms, n_levels = 0;
    double whole = space->unit;
    for (int s = 0; s < space->n_slots; s++)
        whole *= (double)space->slot[s].size;
    int64_t level_parts[SETS_MAX];
    for (int set = 0; set < n_sets; set++) {
        int first = set ? __builtin_ctz((unsigned)set) : 0, level = 0;
        r->parts[set] = set ? r->parts[set & (set - 1)] * space->size[first] : 1;
        r->bytes[set] = whole / (double)r->parts[set];
        while (level < n_levels && level_parts[level] != r->parts[set])
            level++;
        if (level == n_levels)
            level_parts[n_levels++] = r->parts[set];
        r->level[set] = (uint8_t)level;
    }
    for (int level = 0; level < n_levels; level++) {
        for (int kind = 0; kind < PRICED_KINDS; kind++)
            for (int set = 0; set < n_sets; set++)
                r->price[kind][level][set] = -1;
        r->permute_us[level][0] = r->gather_us[level][0] = -1;
    }
    for (int set = 0; set < n_sets; set++)
        r->least.reducing[set] = r->least.leaving[set] = r->least.gathering[set] = -1;
    r->least.reducing[0] = r->least.leaving[0] = r->least.gathering[0] = 0;
    r->least.leave[0] = r->least.permuting = -1;
}

/* Which groups cost the same, unless it is known from the space before. */
static void set_alike(SetPrices *r)
{
    const Space *space = r->space;
    const Pricing *pricing = &space->pricing;
    int n_sets = 1 << space->n_atoms;
    AtomSet of_mesh[RELAXED_ATOMS_MAX] = {0};
    memcpy(of_mesh, space->of_mesh, sizeof *of_mesh * (size_t)space->n_atoms);
    if (r->priced == pricing->context && memcmp(of_mesh, r->of_mesh, sizeof of_mesh) == 0)
        return;
    memcpy(r->of_mesh, of_mesh, sizeof of_mesh);
    r->priced = pricing->context;
    for (int kind = 0; kind < PRICED_KINDS; kind++) {
        int32_t number[SETS_MAX];
        for (int set = 0; set < n_sets; set++) {
            int first = 0;
            number[set] = kind == STEP_SLICE || !pricing->alike
                              ? set
                              : pricing->alike(pricing->context, (StepKind)kind,
                                               space_of_mesh(space, (AtomSet)set));
            while (number[first] != number[set])
                first++;
            r->alike[kind][set] = (uint8_t)first;
        }
    }
}

void set_prices_begin(SetPrices *r, const Space *space)
{
    r->space = space;
    set_atoms(r);
    set_sizes(r);
    set_alike(r);
}

/* ---- prices ---- */

double set_price_us(SetPrices *r, StepKind kind, AtomSet payload, AtomSet groups)
{
    groups = r->alike[kind][groups];
    double *us = &r->price[kind][r->level[payload]][groups];
    const Pricing *pricing = &r->space->pricing;
    if (*us < 0)
        *us = pricing->step_us(pricing->context, kind, space_of_mesh(r->space, groups),
                               r->bytes[payload]);
    return *us;
}

bool set_can_permute(const SetPrices *r, AtomSet groups)
{
    return (groups & (groups - 1)) || r->space->from.moved;
}

/* Each the least of its own and of those of all sets that include it. */
static void spread_least(const SetPrices *r, double *us)
{
    for (AtomSet left = r->all; left; left &= left - 1) {
        AtomSet others = r->all & ~(left & -left);
        for (AtomSet set = others;; set = (set - 1) & others) {
            double with = us[set | (left & -left)];
            us[set] = with < us[set] ? with : us[set];
            if (!set)
                break;
        }
    }
}

double set_permute_us(SetPrices *r, AtomSet payload, AtomSet groups)
{
    double *us = r->permute_us[r->level[payload]];
    if (us[0] < 0) {
        for (AtomSet set = r->all;; set = (set - 1) & r->all) {
            us[set] =
                set_can_permute(r, set) ? set_price_us(r, STEP_PERMUTE, payload, set) : INFINITY;
            if (!set)
                break;
        }
        spread_least(r, us);
    }
    return us[groups];
}

static double least_gather(SetPrices *r, AtomSet payload, AtomSet groups)
{
    double *us = r->gather_us[r->level[payload]];
    if (us[0] < 0) {
        us[0] = INFINITY;
        for (AtomSet set = r->all; set; set = (set - 1) & r->all)
            us[set] = set_price_us(r, STEP_ALL_GATHER, payload, set);
        spread_least(r, us);
    }
    return us[groups];
}

/* ---- what is still to come ---- */

/* While `due` are to be reduced, they do not shard. */
static double reducing_us(SetPrices *r, AtomSet due)
{
    double *least = &r->least.reducing[due];
    if (*least >= 0)
        return *least;
    AtomSet payload = r->all & ~due;
    double us = INFINITY;
    for (AtomSet set = due; set; set = (set - 1) & due) {
        double step = fmin(set_price_us(r, STEP_ALL_REDUCE, payload, set),
                           set_price_us(r, STEP_REDUCE_SCATTER, payload, set));
        us = fmin(us, step + reducing_us(r, due & ~set));
    }
    return *least = us;
}

static double least_leave(SetPrices *r, AtomSet set)
{
    double *us = r->least.leave;
    if (us[0] < 0) {
        us[0] = INFINITY;
        for (AtomSet at = r->all; at; at = (at - 1) & r->all)
            us[at] = fmin(set_price_us(r, STEP_ALL_TO_ALL, r->all, at),
                          set_price_us(r, STEP_ALL_GATHER, r->all & ~at, at));
        spread_least(r, us);
    }
    return us[set];
}

/* Each of the atoms is in some step. */
static double leaving_us(SetPrices *r, AtomSet wrong)
{
    double *least = &r->least.leaving[wrong];
    if (*least >= 0)
        return *least;
    AtomSet first = wrong & -wrong, others = wrong & ~first;
    double us = INFINITY;
    for (AtomSet set = others;; set = (set - 1) & others) {
        us = fmin(us, least_leave(r, first | set) + leaving_us(r, others & ~set));
        if (!set)
            return *least = us;
    }
}

/* Behind the last of the steps none of the atoms shards. */
static double gathering_us(SetPrices *r, AtomSet gone)
{
    double *least = &r->least.gathering[gone];
    if (*least >= 0)
        return *least;
    double us = INFINITY;
    for (AtomSet set = gone; set; set = (set - 1) & gone)
        us = fmin(us, least_gather(r, r->all & ~gone, set) + gathering_us(r, gone & ~set));
    return *least = us;
}

/* A permute with the payload of some set, and if that has more parts than the target, a gather:
 * after the last one there are no more parts than in the target. */
static double permuting_us(SetPrices *r)
{
    if (r->least.permuting >= 0)
        return r->least.permuting;
    double us = INFINITY;
    for (AtomSet set = r->all;; set = (set - 1) & r->all) {
        double gather = r->parts[set] > r->parts[r->goal] ? least_gather(r, r->goal, 0) : 0;
        us = fmin(us, set_permute_us(r, set, 0) + gather);
        if (!set)
            return r->least.permuting = us;
    }
}

double set_remaining_us(SetPrices *r, AtomSet cuts, AtomSet right, AtomSet due)
{
    AtomSet wrong = cuts & ~right;
    double us = due ? reducing_us(r, due) : 0;
    if (wrong) /* taken away, or permuted */
        us += fmin(fmax(leaving_us(r, wrong), gathering_us(r, cuts & ~r->goal)), permuting_us(r));
    return us;
}
