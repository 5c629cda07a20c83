#include "core/reshard/moves.h"

/* The layout that a step leaves, and the layout that it is building. */
typedef struct {
    LayoutMoves *moves;
    const Space *space;
    const Layout *from;
    Lists lists;
    AtomSet unused, cuts, due; /* partial, and to be reduced */
    StepKind kind;
    Layout to;
    AtomSet moved, left; /* atoms of the step; of them, those without a new position yet */
    uint8_t n[SLOTS_MAX], atom[SLOTS_MAX][ATOMS_MAX]; /* lists of `to` */
    bool gave[SLOTS_MAX];                             /* slots that lost atoms */
} Leaving;

static AtomSet bit(int a)
{
    return (AtomSet)1 << a;
}

static bool has(AtomSet set, int a)
{
    return set >> a & 1;
}

static int count(AtomSet set)
{
    return __builtin_popcount(set);
}

/* ---- lists of the layout being made ---- */

static void begin(Leaving *l, StepKind kind)
{
    l->kind = kind;
    l->to = *l->from;
    l->moved = l->left = 0;
    for (int s = 0; s < l->space->n_slots; s++) {
        l->gave[s] = false;
        l->n[s] = l->lists.n[s];
        memcpy(l->atom[s], l->lists.atom[s], l->lists.n[s]);
    }
}

static void push(Leaving *l, int s, int a)
{
    l->to.place[a] = place_in(s, l->n[s]);
    l->atom[s][l->n[s]++] = (uint8_t)a;
}

static void pop(Leaving *l, int s)
{
    l->to.place[l->atom[s][--l->n[s]]] = ATOM_UNUSED;
}

/* The slots of a dim in its other form are empty. */
static bool one_form(const Leaving *l, int s)
{
    const Slot *slot = &l->space->slot[s];
    for (int i = 0; l->space->two_forms && i < l->space->n_slots; i++) {
        const Slot *other = &l->space->slot[i];
        if (other->dim == slot->dim && other->form != slot->form && l->n[i] > 0)
            return false;
    }
    return true;
}

/* Of spare slots that are empty the first one takes atoms: they are all the same. */
static bool is_first(const Leaving *l, int s)
{
    const Slot *slot = l->space->slot;
    for (int i = 0; slot[s].spare && l->lists.n[s] == 0 && i < s; i++)
        if (slot[i].spare && l->lists.n[i] == 0 && !l->gave[i] && l->n[i] == 0)
            return false;
    return true;
}

/* The slot's list was only extended. */
static bool refines(const Leaving *l, int s)
{
    return space_boundary(l->space, s, l->atom[s], l->n[s], l->lists.n[s]);
}

static void give(Leaving *l)
{
    l->moves->offer(l->moves->context, l->kind, l->moved, &l->to);
}

/* ---- slice ---- */

/* Adds atom a and, if the chunks of the run are not even, all that follows it on its axis: such a
 * run can only be added at once. */
static void slice_onto(Leaving *l, int s, int a)
{
    begin(l, STEP_SLICE);
    if (!one_form(l, s) || !is_first(l, s))
        return;
    for (int b = a; b < l->space->n_atoms && has(l->unused, b); b++) {
        if (b > a && !l->space->runs_on[b])
            break;
        push(l, s, b);
        l->moved |= bit(b);
        if (refines(l, s))
            give(l);
        if (l->space->padded)
            break;
    }
}

static void slices(Leaving *l)
{
    for (int s = 0; s < l->space->n_slots; s++)
        for (int a = 0; a < l->space->n_atoms; a++)
            if (has(l->unused, a))
                slice_onto(l, s, a);
}

/* ---- new positions of atoms ---- */

static void arrange(Leaving *l, int s);

/* Adds any of the remaining atoms to slot s, or continues with the next slot. */
static void arrange_at(Leaving *l, int s)
{
    bool grown = l->n[s] > l->lists.n[s];
    if (!grown || refines(l, s))
        arrange(l, s + 1);
    for (int a = 0; a < l->space->n_atoms; a++) {
        if (!has(l->left, a))
            continue;
        push(l, s, a);
        l->left &= ~bit(a);
        arrange_at(l, s);
        l->left |= bit(a);
        pop(l, s);
    }
}

static void arrange(Leaving *l, int s)
{
    if (!l->left) {
        give(l);
        return;
    }
    if (s == l->space->n_slots)
        return;
    if (l->gave[s] || !one_form(l, s) || !is_first(l, s))
        arrange(l, s + 1);
    else
        arrange_at(l, s);
}

static bool may_take(const Leaving *l, int s)
{
    return !(l->gave[s]) && one_form(l, s);
}

/* Atoms that the target has in a slot go there, in its order; the others behind them, into the
 * first slot that may take them. */
static void arrange_as_target(Leaving *l)
{
    Layout to = l->to;
    uint8_t n[SLOTS_MAX];
    memcpy(n, l->n, (size_t)l->space->n_slots);
    AtomSet left = l->left;
    bool fine = true;
    for (int s = 0; s < l->space->n_slots; s++)
        for (int i = 0; i < l->space->slot[s].n_goal; i++) {
            int a = l->space->slot[s].goal[i];
            if (!has(l->left, a) || !may_take(l, s))
                continue;
            push(l, s, a);
            l->left &= ~bit(a);
        }
    for (int a = 0; a < l->space->n_atoms; a++)
        for (int s = 0; has(l->left, a) && s < l->space->n_slots; s++) {
            if (!may_take(l, s))
                continue;
            push(l, s, a);
            l->left &= ~bit(a);
        }
    for (int s = 0; s < l->space->n_slots; s++)
        fine &= l->n[s] <= l->lists.n[s] || refines(l, s);
    if (fine && !l->left)
        give(l);
    l->to = to;
    l->left = left;
    memcpy(l->n, n, (size_t)l->space->n_slots);
}

/* Offers the layout in which the moved atoms have no position yet. */
static void hold(Leaving *l)
{
    Layout held = l->to;
    int gave = -1;
    for (int a = 0; a < l->space->n_atoms; a++) {
        if (!has(l->moved, a))
            continue;
        int next = gave + 1;
        while (next < l->space->n_slots && !l->gave[next])
            next++;
        gave = next < l->space->n_slots ? next : gave;
        held.place[a] = (uint16_t)(ATOM_HELD + 1 + gave);
    }
    l->moves->offer(l->moves->context, l->kind, l->moved, &held);
}

static void arrange_all(Leaving *l)
{
    begin(l, STEP_ALL_TO_ALL);
    for (int a = 0; a < l->space->n_atoms; a++) {
        if (!place_held(l->from->place[a]))
            continue;
        int gave = l->from->place[a] - ATOM_HELD - 1;
        if (gave >= 0)
            l->gave[gave] = true;
        l->to.place[a] = ATOM_UNUSED;
        l->moved |= bit(a);
    }
    l->left = l->moved;
    if (count(l->moved) <= ARRANGED_MAX)
        arrange(l, 0);
    else {
        l->moves->left_out = true;
        arrange_as_target(l);
    }
}

/* ---- all-gather, all-to-all: tails are removed ---- */

/* An axis that neither end splits is not removed in part. */
static bool axes_are_whole(const Leaving *l, AtomSet among)
{
    for (int a = 0; a < l->space->n_atoms; a++)
        if (has(l->moved, a) && l->space->whole[a] & among & ~l->moved)
            return false;
    return true;
}

/* Removes tails of all lengths from the slots from s on. */
static void take_tails(Leaving *l, int s)
{
    if (s == l->space->n_slots) {
        if (!l->moved)
            return;
        l->kind = STEP_ALL_GATHER;
        if (axes_are_whole(l, l->cuts))
            give(l);
        l->kind = STEP_ALL_TO_ALL;
        hold(l);
        return;
    }
    take_tails(l, s + 1);
    AtomSet moved = l->moved;
    int had = l->n[s];
    while (l->n[s] > 0) {
        l->moved |= bit(l->atom[s][l->n[s] - 1]);
        l->gave[s] = true;
        pop(l, s);
        if (space_boundary(l->space, s, l->lists.atom[s], had, l->n[s]))
            take_tails(l, s + 1);
    }
    l->moved = moved;
    l->gave[s] = false;
    for (int i = 0; i < had; i++)
        push(l, s, l->lists.atom[s][i]);
}

/* ---- all-reduce, reduce-scatter ---- */

static bool reduced_alike(const Leaving *l, AtomSet set)
{
    int first = __builtin_ctz(set);
    for (int a = first; a < l->space->n_atoms; a++)
        if (has(set, a) && l->space->reduce[a] != l->space->reduce[first])
            return false;
    return true;
}

static void reduces(Leaving *l)
{
    for (AtomSet set = l->due; set; set = (set - 1) & l->due) {
        int first = __builtin_ctz(set);
        begin(l, STEP_ALL_REDUCE);
        l->moved = set;
        if (!reduced_alike(l, set) || !axes_are_whole(l, l->due))
            continue;
        for (int a = first; a < l->space->n_atoms; a++)
            if (has(set, a))
                l->to.place[a] = ATOM_UNUSED;
        give(l);
        l->kind = STEP_REDUCE_SCATTER;
        hold(l);
    }
}

/* The lists are large: begin() sets the part that is used. */
static void leave(Leaving *l, LayoutMoves *moves, const Layout *from)
{
    l->moves = moves;
    l->space = moves->space;
    l->from = from;
    l->unused = l->cuts = l->due = 0;
    space_lists(l->space, from, &l->lists);
    for (int a = 0; a < l->space->n_atoms; a++) {
        if (from->place[a] == ATOM_UNUSED)
            l->unused |= bit(a);
        else if (from->place[a] == ATOM_PARTIAL && !has(l->space->kept, a))
            l->due |= bit(a);
        else if (place_cuts(from->place[a]))
            l->cuts |= bit(a);
    }
}

void moves_offer(LayoutMoves *moves, const Layout *from)
{
    Leaving l;
    leave(&l, moves, from);
    if (layout_holds(l.space, from)) {
        arrange_all(&l);
        return;
    }
    slices(&l);
    reduces(&l);
    begin(&l, STEP_ALL_GATHER);
    take_tails(&l, 0);
}

/* ---- permute ---- */

typedef struct {
    Leaving *l;
    uint32_t parts[SLOTS_MAX];  /* that every slot keeps: no more than there are devices */
    uint32_t before[ATOMS_MAX]; /* per atom that shards: product of the list before it */
    uint32_t size[ATOMS_MAX];
    AtomSet free, groups;    /* the groups: atoms that move */
    int n_offered, n_looked; /* complete layouts, and partial assignments */
} Permuting;

static int64_t product(const Space *space, const uint8_t *atom, int n)
{
    int64_t parts = 1;
    for (int i = 0; i < n; i++)
        parts *= space->size[atom[i]];
    return parts;
}

/* Uneven chunks keep their borders only if the runs keep their lengths. */
static bool same_chunks(const Leaving *l, int s)
{
    const Space *space = l->space;
    int64_t size = space->slot[s].size;
    if (space->padded || space->even || size % product(space, l->atom[s], l->n[s]) == 0)
        return true;
    for (int i = 0, k = 0; i < l->n[s] && k < l->lists.n[s];) {
        int i_end = space_run(space, l->atom[s], l->n[s], i);
        int k_end = space_run(space, l->lists.atom[s], l->lists.n[s], k);
        if (product(space, l->atom[s] + i, i_end - i) !=
            product(space, l->lists.atom[s] + k, k_end - k))
            return false;
        i = i_end;
        k = k_end;
    }
    return true;
}

/* The ranks that exchange differ in the atoms whose position changes. */
static void give_permuted(Permuting *p)
{
    Leaving *l = p->l;
    AtomSet stays = 0, touched = 0;
    for (int s = 0; s < l->space->n_slots; s++) {
        if (!same_chunks(l, s))
            return;
        uint32_t before = 1;
        for (int i = 0; i < l->n[s]; i++) {
            int a = l->atom[s][i];
            uint16_t was = l->from->place[a];
            if (place_cuts(was) && place_slot(was) == s && p->before[a] == before)
                stays |= bit(a);
            touched |= bit(a);
            before *= p->size[a];
        }
        for (int i = 0; i < l->lists.n[s]; i++)
            touched |= bit(l->lists.atom[s][i]);
    }
    l->moved = touched & ~stays;
    p->n_offered++;
    if (p->groups != PERMUTE_ANY && l->moved != p->groups)
        return;
    if (l->moved || l->from->moved)
        give(l);
}

static void fill(Permuting *p, int s, uint32_t parts);

static void fill_with(Permuting *p, int s, uint32_t parts, int a)
{
    p->free &= ~bit(a);
    push(p->l, s, a);
    fill(p, s, parts * p->size[a]);
    pop(p->l, s);
    p->free |= bit(a);
}

/* The free atoms that may come next: those that do not move, where they were. */
static AtomSet may_fill(const Permuting *p, int s, uint32_t parts)
{
    const Leaving *l = p->l;
    if (p->groups == PERMUTE_ANY)
        return p->free;
    for (int i = 0; i < l->lists.n[s]; i++) {
        int a = l->lists.atom[s][i];
        if (p->before[a] == parts)
            return p->free & (has(p->groups, a) ? p->groups & ~bit(a) : bit(a));
    }
    return p->free & p->groups;
}

/* Fills slot s up to its number of parts, with the target's next atom before the others. */
static void fill(Permuting *p, int s, uint32_t parts)
{
    const Space *space = p->l->space;
    LayoutMoves *moves = p->l->moves;
    if (p->n_offered >= PERMUTES_MAX || p->n_looked++ >= PERMUTE_LOOKS_MAX ||
        moves->n_looked++ >= LOOKS_MAX) {
        moves->left_out = true;
        return;
    }
    if (s == space->n_slots) {
        give_permuted(p);
        return;
    }
    if (parts == p->parts[s]) {
        fill(p, s + 1, 1);
        return;
    }
    uint32_t rest = p->parts[s] / parts;
    const Slot *slot = &space->slot[s];
    int next = p->l->n[s] < slot->n_goal ? slot->goal[p->l->n[s]] : -1;
    AtomSet may = may_fill(p, s, parts);
    if (next >= 0 && has(may, next) && rest % p->size[next] == 0)
        fill_with(p, s, parts, next);
    for (AtomSet left = may; left; left &= left - 1) {
        int a = __builtin_ctz(left);
        if (a != next && rest % p->size[a] == 0)
            fill_with(p, s, parts, a);
    }
}

void moves_offer_permutes(LayoutMoves *moves, const Layout *from, AtomSet groups)
{
    Leaving l;
    leave(&l, moves, from);
    Permuting p = {.l = &l, .free = l.unused, .groups = groups};
    begin(&l, STEP_PERMUTE);
    l.to.moved = 0;
    for (int a = 0; a < l.space->n_atoms; a++)
        p.size[a] = (uint32_t)l.space->size[a];
    for (int s = 0; s < l.space->n_slots; s++) {
        p.parts[s] = 1;
        for (int i = 0; i < l.lists.n[s]; i++) {
            int a = l.lists.atom[s][i];
            p.before[a] = p.parts[s];
            p.parts[s] *= p.size[a];
            p.free |= bit(a);
            l.to.place[a] = ATOM_UNUSED;
        }
        l.n[s] = 0;
    }
    fill(&p, 0, 1);
}
