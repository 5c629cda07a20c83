#include "core/reshard/relaxed.h"

#include "core/base/heap.h"
#include "core/reshard/set_prices.h"

#include <math.h>
#include <stdlib.h>

enum { STATES = 6 };

/* Prices are rounded to whole bytes. */
static const double surely = 1 - 1e-9;

typedef struct {
    AtomSet cuts, right, still, due; /* right and still are subsets of the atoms that shard; they
                                        are disjoint */
    AtomSet spare;                   /* of the right ones: a slice away, they may as well be unused
                                      */
} Stand;

typedef struct {
    Stand stand;
    RelaxedCost cost;
    double least_us;   /* at least still to come */
    double reached_us; /* from the stand asked about; INFINITY: not yet */
} KnownStands;

typedef struct {
    int32_t from, to;
    StepKind kind;
    double us;
} Edge;

/* The index of a stand in `known`, if `space` is the one asked about. */
typedef struct {
    uint32_t space;
    int32_t at;
} StandPlace;

struct Relaxed {
    Arena *arena;
    const Space *space;
    uint32_t n_spaces;
    SetPrices prices;
    int n_goal;
    uint8_t order[ATOMS_MAX];      /* atoms of the goal, minor ones before major */
    AtomSet below[ATOMS_MAX];      /* per atom of the goal: its position in the target's list */
    AtomSet beside[ATOMS_MAX];     /* the target's list that it is in */
    AtomSet in_the_way[ATOMS_MAX]; /* the source's list of the slot in which the target has the atom
                                    */
    AtomSet above[ATOMS_MAX];      /* in the source's list */
    int64_t before[ATOMS_MAX];     /* the product of the source's list below */
    AtomSet aligned;            /* at the same position in source and target, whatever is below */
    int32_t digits[SETS_MAX];   /* 1 for each atom of the set, in base STATES */
    StandPlace *place;          /* by stand: place_of() */
    StandPlace *permuted_place; /* by stand: its first in `permuted` */
    int n_places;
    Vec(KnownStands) known;
    Vec(RelaxedPermute) permuted; /* of the stands asked about: relaxed_permutes() */
    Vec(Edge) edges;
    double so_far, most; /* times: to the stand whose steps are looked at, and of a path that is
                            known: steps beyond that are left out */
    Heap reached;        /* stands whose steps are to be looked at, by the least time over them */
};

static AtomSet bit(int a)
{
    return (AtomSet)1 << a;
}

Relaxed *relaxed_new(Arena *arena)
{
    Relaxed *relaxed = arena_make(arena, Relaxed);
    relaxed->arena = arena;
    for (int set = 1; set < SETS_MAX; set++)
        relaxed->digits[set] =
            set & 1 ? 1 + STATES * relaxed->digits[set >> 1] : STATES * relaxed->digits[set >> 1];
    return relaxed;
}

/* ---- a space ---- */

static void set_target(Relaxed *r)
{
    const Space *space = r->space;
    r->n_goal = 0;
    for (int s = 0; s < space->n_slots; s++) {
        AtomSet below = 0, source = 0;
        for (int a = 0; a < space->n_atoms; a++)
            if (place_cuts(space->from.place[a]) && place_slot(space->from.place[a]) == s)
                source |= bit(a);
        for (int i = 0; i < space->slot[s].n_goal; i++) {
            int a = space->slot[s].goal[i];
            r->order[r->n_goal++] = (uint8_t)a;
            r->below[a] = below;
            r->in_the_way[a] = source;
            below |= bit(a);
        }
        for (int i = 0; i < space->slot[s].n_goal; i++)
            r->beside[space->slot[s].goal[i]] = below;
    }
}

static void set_source(Relaxed *r)
{
    const Space *space = r->space;
    Lists lists;
    space_lists(space, &space->from, &lists);
    r->aligned = 0;
    for (int s = 0; s < space->n_slots; s++) {
        int64_t parts = 1;
        for (int i = 0; i < lists.n[s]; i++) {
            int a = lists.atom[s][i];
            uint16_t goal = space->to.place[a];
            r->before[a] = parts;
            parts *= space->size[a];
            if (place_cuts(goal) && place_slot(goal) == s && space->goal_before[a] == r->before[a])
                r->aligned |= bit(a);
            r->above[a] = 0;
            for (int k = i + 1; k < lists.n[s]; k++)
                r->above[a] |= bit(lists.atom[s][k]);
        }
    }
    if (space->from.moved)
        r->aligned = 0;
}

bool relaxed_begin(Relaxed *r, const Space *space, double most)
{
    if (space->n_atoms < RELAXED_ATOMS_MIN || space->n_atoms > RELAXED_ATOMS_MAX)
        return false;
    r->space = space;
    r->most = most;
    set_target(r);
    set_source(r);
    set_prices_begin(&r->prices, space);
    int n_places = 1;
    for (int a = 0; a < space->n_atoms; a++)
        n_places *= STATES;
    if (n_places > r->n_places) {
        r->place = arena_array(r->arena, StandPlace, n_places);
        r->permuted_place = arena_array(r->arena, StandPlace, n_places);
        r->n_places = n_places;
    }
    r->n_spaces++;
    r->known.n = 0;
    r->permuted.n = 0;
    return true;
}

/* ---- stands ---- */

/* The stand with `fresh` atoms of those that shard, and unused ones, right if they can be. */
static Stand settle(const Relaxed *r, Stand stand, AtomSet fresh)
{
    AtomSet may = (stand.right | fresh | (r->prices.all & ~stand.cuts)) & ~stand.due, right = 0;
    for (int i = 0; i < r->n_goal; i++) {
        int a = r->order[i];
        bool was = stand.right >> a & 1;
        if (!(may >> a & 1) || (r->below[a] & ~right) || (!was && r->in_the_way[a] & stand.still))
            continue;
        right |= bit(a);
    }
    stand.spare = right & (stand.spare | ~stand.cuts);
    stand.right = right;
    stand.cuts |= right;
    stand.still &= ~right;
    return stand;
}

/* Those that are where the source has them, whatever is below. */
static AtomSet unmoved(const Relaxed *r, const Layout *layout)
{
    const Space *space = r->space;
    AtomSet out = 0;
    for (int a = 0; a < space->n_atoms; a++) {
        uint16_t was = space->from.place[a], is = layout->place[a];
        if (!place_cuts(was) || !place_cuts(is) || place_slot(was) != place_slot(is))
            continue;
        int64_t parts = 1; /* of the atoms below it, which have lower places in the slot */
        for (int b = 0; b < space->n_atoms; b++)
            if (layout->place[b] < is && layout->place[b] >= place_in(place_slot(is), 0))
                parts *= space->size[b];
        out |= parts == r->before[a] ? bit(a) : 0;
    }
    return out;
}

/* Atoms without a position yet count as sharding; fresh: those of them that can be right. */
static Stand stand_of(const Relaxed *r, const Layout *layout, AtomSet *fresh)
{
    const Space *space = r->space;
    Stand stand = {.cuts = 0};
    *fresh = 0;
    for (int a = 0; a < space->n_atoms; a++) {
        if (layout->place[a] == ATOM_PARTIAL)
            stand.due |= bit(a);
        else if (layout->place[a] != ATOM_UNUSED)
            stand.cuts |= bit(a);
        *fresh |= place_held(layout->place[a]) ? bit(a) : 0;
    }
    stand.due &= r->prices.all;
    for (int i = 0; i < r->n_goal && !layout->moved; i++) {
        int a = r->order[i];
        if (layout->place[a] == space->to.place[a] && !(r->below[a] & ~stand.right))
            stand.right |= bit(a);
    }
    if (!layout->moved)
        stand.still = unmoved(r, layout) & ~stand.right;
    for (int a = 0; *fresh && a < space->n_atoms; a++)
        if (layout->place[a] > ATOM_HELD && place_held(layout->place[a])) {
            const Slot *gave = &space->slot[layout->place[a] - ATOM_HELD - 1];
            for (int i = 0; i < gave->n_goal; i++)
                *fresh &= ~bit(gave->goal[i]);
        }
    return stand;
}

/* Atoms are unused, wrong, still where they were, due, right, or right and spare: a digit each. */
static int32_t place_of(const Relaxed *r, Stand stand)
{
    return r->digits[stand.cuts & ~stand.right] + r->digits[stand.still] +
           3 * r->digits[stand.due] + 4 * r->digits[stand.right] + r->digits[stand.spare];
}

static int32_t put(Relaxed *r, Stand stand)
{
    StandPlace *place = &r->place[place_of(r, stand)];
    if (place->space == r->n_spaces)
        return place->at;
    bool there = stand.cuts == r->prices.goal && stand.right == r->prices.goal && !stand.due;
    *place = (StandPlace){r->n_spaces, r->known.n};
    KnownStands known = {stand,
                         {there ? 0 : INFINITY, INFINITY},
                         set_remaining_us(&r->prices, stand.cuts, stand.right, stand.due),
                         INFINITY};
    vec_push(r->arena, &r->known, known);
    return place->at;
}

/* ---- steps ---- */

static bool is_too_long(const Relaxed *r, double us)
{
    return (r->so_far + us) * surely > r->most;
}

static void add_edge(Relaxed *r, int32_t from, StepKind kind, double us, Stand to, AtomSet fresh)
{
    if (is_too_long(r, us))
        return;
    int32_t at = put(r, settle(r, to, fresh));
    Edge edge = {from, at, kind, us};
    if ((at != from || kind == STEP_PERMUTE) && r->so_far + us < r->known.at[at].reached_us &&
        !is_too_long(r, us + r->known.at[at].least_us))
        vec_push(r->arena, &r->edges, edge);
}

/* An axis that neither end splits is not taken in part. */
static bool in_one_piece(const Relaxed *r, AtomSet set, AtomSet among)
{
    for (AtomSet left = set; left; left &= left - 1)
        if (r->space->whole[__builtin_ctz(left)] & among & ~set)
            return false;
    return true;
}

static bool can_leave(const Relaxed *r, const Stand *stand, AtomSet set)
{
    AtomSet there = stand->still | (stand->right & r->aligned);
    for (AtomSet left = set & there; left; left &= left - 1)
        if (r->above[__builtin_ctz(left)] & stand->still & ~set)
            return false;
    return true;
}

/* Atoms whose position is in a list that gives atoms away, which takes none. */
static AtomSet shut_out(const Relaxed *r, AtomSet giving)
{
    AtomSet out = 0;
    for (int i = 0; giving && i < r->n_goal; i++)
        if (r->in_the_way[r->order[i]] & giving)
            out |= bit(r->order[i]);
    return out;
}

static void leave(Relaxed *r, int32_t from, Stand stand)
{
    for (AtomSet set = stand.cuts; set; set = (set - 1) & stand.cuts) {
        if (!can_leave(r, &stand, set))
            continue;
        Stand to = stand;
        to.still &= ~set;
        to.spare &= ~set;
        if (set & ~stand.right)
            add_edge(r, from, STEP_ALL_TO_ALL,
                     set_price_us(&r->prices, STEP_ALL_TO_ALL, stand.cuts, set), to,
                     set & ~shut_out(r, set & stand.still));
        to.cuts &= ~set;
        to.right &= ~set;
        if (r->prices.bytes[to.cuts] * surely <= r->space->limit &&
            in_one_piece(r, set, stand.cuts & ~stand.right))
            add_edge(r, from, STEP_ALL_GATHER,
                     set_price_us(&r->prices, STEP_ALL_GATHER, to.cuts, set), to, 0);
    }
}

static void reduce(Relaxed *r, int32_t from, Stand stand)
{
    for (AtomSet set = stand.due; set; set = (set - 1) & stand.due) {
        if (!in_one_piece(r, set, stand.due))
            continue;
        Stand to = stand;
        to.due &= ~set;
        add_edge(r, from, STEP_ALL_REDUCE,
                 set_price_us(&r->prices, STEP_ALL_REDUCE, stand.cuts, set), to, 0);
        to.cuts |= set;
        add_edge(r, from, STEP_REDUCE_SCATTER,
                 set_price_us(&r->prices, STEP_REDUCE_SCATTER, stand.cuts, set), to, set);
    }
}

static void slice(Relaxed *r, int32_t from, Stand stand)
{
    for (AtomSet left = r->prices.all & ~stand.cuts & ~stand.due; left; left &= left - 1) {
        Stand to = stand;
        to.cuts |= left & -left;
        add_edge(r, from, STEP_SLICE, 0, to, 0);
    }
}

/* Atoms that are where the source has them, and shard another position in the target. */
static AtomSet displaced(const Relaxed *r, const Stand *stand)
{
    return stand->still & r->prices.goal & ~r->aligned;
}

/* Atoms that a permute can bring to where the target has them: a slot keeps its number of parts.
 * Those that are neither right nor still may be in any slot. */
static AtomSet can_be_right(const Relaxed *r, const Stand *stand, AtomSet payload)
{
    AtomSet loose = payload & ~stand->right & ~stand->still, out = 0;
    for (int i = 0; i < r->n_goal; i++) {
        int a = r->order[i];
        AtomSet there = (stand->right & r->beside[a]) | (stand->still & r->in_the_way[a]);
        bool fits =
            r->prices.parts[(there & payload) | loose] % r->prices.parts[r->below[a] | bit(a)] == 0;
        out |= fits ? bit(a) : 0;
    }
    return out;
}

/* `in` for `out`. Those of `stay` keep their positions, others get new ones, those of `may` right
 * ones. */
static Stand permuted(const Relaxed *r, const Stand *stand, AtomSet payload, AtomSet in,
                      AtomSet out, AtomSet stay, AtomSet may)
{
    Stand to = {.cuts = (payload & ~out) | in, .due = stand->due};
    to.right = to.cuts & may & ~(displaced(r, stand) & stay);
    to.still = stand->still & to.cuts & stay;
    to.spare = stand->spare & to.cuts & ~in;
    return settle(r, to, 0);
}

/* Displaced atoms may be in the groups, or stay; others may be in them, if that costs less. */
static void permute_with(Relaxed *r, int32_t from, Stand stand, AtomSet payload, AtomSet in,
                         AtomSet out, AtomSet may)
{
    AtomSet choice = displaced(r, &stand) & payload & ~out;
    for (AtomSet moved = choice;; moved = (moved - 1) & choice) {
        AtomSet groups = in | out | moved;
        double us = set_permute_us(&r->prices, payload, groups);
        if (!is_too_long(r, us))
            add_edge(r, from, STEP_PERMUTE, us,
                     permuted(r, &stand, payload, in, out, choice & ~moved, may), 0);
        if (!moved)
            return;
    }
}

/* `in` for `out`. Spare atoms may count as unused: a layout need not have sliced them. */
static void permute(Relaxed *r, int32_t from, Stand stand)
{
    AtomSet may = (r->prices.all & ~stand.cuts & ~stand.due) | stand.spare;
    for (AtomSet in = may;; in = (in - 1) & may) {
        AtomSet payload = stand.cuts & ~in, fits = can_be_right(r, &stand, payload);
        bool is_over = r->prices.bytes[payload] * surely > r->space->limit ||
                       is_too_long(r, set_permute_us(&r->prices, payload, 0));
        for (AtomSet out = payload; !is_over; out = (out - 1) & payload) {
            if (r->prices.parts[out] == r->prices.parts[in])
                permute_with(r, from, stand, payload, in, out, fits);
            if (!out)
                break;
        }
        if (!in)
            return;
    }
}

/* ---- cheapest paths ---- */

static void add_steps(Relaxed *r, int32_t at)
{
    Stand stand = r->known.at[at].stand;
    slice(r, at, stand);
    reduce(r, at, stand);
    leave(r, at, stand);
    if (stand.cuts)
        permute(r, at, stand);
}

/* From all stands from `first` on, and those that they lead to. */
static void solve(Relaxed *r, int32_t first)
{
    r->edges.n = 0;
    r->so_far = 0;
    for (int32_t i = first; i < r->known.n; i++)
        add_steps(r, i);
    KnownStands *known = r->known.at;
    for (bool changed = true; changed;) {
        changed = false;
        for (int e = r->edges.n - 1; e >= 0; e--) {
            const Edge *edge = &r->edges.at[e];
            RelaxedCost *cost = &known[edge->from].cost;
            double us = edge->us + known[edge->to].cost.us;
            changed |= us < cost->us;
            cost->us = us < cost->us ? us : cost->us;
        }
    }
    for (int e = 0; e < r->edges.n; e++) {
        const Edge *edge = &r->edges.at[e];
        double us = edge->us + known[edge->to].cost.us;
        if (edge->kind == STEP_PERMUTE && us < known[edge->from].cost.permuted_us)
            known[edge->from].cost.permuted_us = us;
    }
}

static RelaxedCost cost_of(Relaxed *r, Stand stand)
{
    int32_t n = r->known.n, at = put(r, stand);
    if (at == n)
        solve(r, n);
    return r->known.at[at].cost;
}

RelaxedCost relaxed_cost(Relaxed *r, const Layout *layout)
{
    AtomSet held;
    Stand stand = stand_of(r, layout, &held);
    RelaxedCost cost = cost_of(r, settle(r, stand, held));
    return (RelaxedCost){cost.us * surely, cost.permuted_us * surely};
}

static void reach(Relaxed *r, int32_t at, double us)
{
    KnownStands *known = &r->known.at[at];
    if (us >= known->reached_us)
        return;
    known->reached_us = us;
    heap_push(r->arena, &r->reached, (HeapEntry){us + known->least_us, -at, at});
}

/* A* from the stand: it looks at few of the stands that solve() does. */
double relaxed_least_us(Relaxed *r, const Layout *layout)
{
    AtomSet held;
    Stand stand = stand_of(r, layout, &held);
    r->reached.n = 0;
    reach(r, put(r, settle(r, stand, held)), 0);
    while (r->reached.n > 0) {
        HeapEntry entry = heap_pop(&r->reached);
        const KnownStands *at = &r->known.at[entry.item];
        r->so_far = at->reached_us;
        if (at->cost.us <= 0)
            return fmin(r->so_far * surely, r->most);
        if (entry.key > r->so_far + at->least_us)
            continue; /* it was reached sooner since */
        r->edges.n = 0;
        add_steps(r, entry.item);
        for (int e = 0; e < r->edges.n; e++)
            reach(r, r->edges.at[e].to, r->so_far + r->edges.at[e].us);
    }
    return r->most;
}

/* Where the first step is a permute of just these atoms. */
static double permuted_us(Relaxed *r, const Stand *stand, AtomSet groups)
{
    AtomSet in = groups & ~stand->cuts, may = groups & stand->cuts;
    AtomSet fits = can_be_right(r, stand, stand->cuts);
    double us = INFINITY;
    if (groups & ~r->prices.all || groups & stand->due || !set_can_permute(&r->prices, groups))
        return us;
    for (AtomSet out = may;; out = (out - 1) & may) {
        if (r->prices.parts[out] == r->prices.parts[in])
            us = fmin(us, cost_of(r, permuted(r, stand, stand->cuts, in, out, ~groups, fits)).us);
        if (!out)
            break;
    }
    return us == INFINITY
               ? us
               : (us + set_price_us(&r->prices, STEP_PERMUTE, stand->cuts, groups)) * surely;
}

static int least_first(const void *a, const void *b)
{
    const RelaxedPermute *x = a, *y = b;
    if (x->us < y->us || x->us > y->us)
        return x->us < y->us ? -1 : 1;
    return (x->groups > y->groups) - (x->groups < y->groups);
}

static int32_t find_permutes(Relaxed *r, Stand stand)
{
    int32_t first = r->permuted.n;
    for (AtomSet groups = 0; groups < (AtomSet)1 << r->space->n_atoms; groups++) {
        RelaxedPermute permute = {permuted_us(r, &stand, groups), groups, -1};
        if (permute.us < INFINITY)
            vec_push(r->arena, &r->permuted, permute);
    }
    int32_t n = r->permuted.n - first;
    if (n == 0)
        return -1;
    qsort(&r->permuted.at[first], (size_t)n, sizeof(RelaxedPermute), least_first);
    for (int32_t i = first; i < first + n - 1; i++)
        r->permuted.at[i].next = i + 1;
    return first;
}

int32_t relaxed_permutes(Relaxed *r, const Layout *layout)
{
    AtomSet held;
    Stand stand = stand_of(r, layout, &held);
    StandPlace *place = &r->permuted_place[place_of(r, stand)];
    if (place->space != r->n_spaces)
        *place = (StandPlace){r->n_spaces, find_permutes(r, stand)};
    return place->at;
}

RelaxedPermute relaxed_permute(const Relaxed *r, int32_t permute)
{
    return r->permuted.at[permute];
}
