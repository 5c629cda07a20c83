#include "core/plan/reshard_search.h"

#include "core/base/heap.h"
#include "core/plan/reshard_bound.h"
#include "core/plan/reshard_moves.h"

#include <math.h>

enum { TABLE_FIRST = 1024, DIVERGED = 0xffff };

/* How often the bound is counted, one search after the other. */
static const double hurries[] = {1, 3, 10};

typedef struct {
    Layout layout;
    double cost, bound, bound_after, bytes; /* cost: us so far, with what settles ties */
    int32_t before;                         /* -1 at the start */
    AtomSet atoms;
    StepKind kind;
    /* The last step that communicated, with the slices since: its kind (SLICE: there was none), the
     * atoms that moved and the dims that changed. slice_slot: of the slice this is. */
    StepKind last;
    AtomSet last_atoms;
    uint32_t last_dims;
    int slice_slot;
} Node;

/* Layouts that permutes make of each other: the same parts and the same partial atoms. */
typedef struct {
    AtomSet partial;
    int32_t parts[SLOTS_MAX];
} Kindred;

struct Searcher {
    Arena *arena;
    Vec(Node) nodes;
    Vec(Kindred) permuted; /* whose permutes were offered */
    Heap due;
    int32_t *table; /* node + 1 by hash */
    int n_table;
};

typedef struct {
    Searcher *searcher;
    const Space *space;
    const Hop *avoid;
    int n_avoid;
    int32_t at;   /* node being expanded */
    int32_t goal; /* the cheapest found so far, or -1 */
    int n_offers;
    double most, tie, hurry;
    size_t key_bytes;
    struct {
        StepKind kind;
        AtomSet atoms;
        double bytes, us;
    } priced; /* the last price asked for: arrangements of the same step follow each other */
    LayoutMoves moves;
} Search;

Searcher *searcher_new(Arena *arena)
{
    Searcher *searcher = arena_make(arena, Searcher);
    searcher->arena = arena;
    searcher->n_table = TABLE_FIRST;
    searcher->table = arena_array(arena, int32_t, TABLE_FIRST);
    return searcher;
}

/* A layout that is due, or the permutes of one: ~node. Of equal keys the node found last. */
static void add_due(Searcher *searcher, double key, int32_t node, bool permutes)
{
    heap_push(searcher->arena, &searcher->due, (HeapEntry){key, -node, permutes ? ~node : node});
}

/* ---- nodes by layout ---- */

static uint64_t layout_hash(const Layout *layout, size_t n_bytes)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    const char *at = (const char *)layout;
    for (size_t i = 0; i < n_bytes; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

static void table_clear(Searcher *searcher)
{
    memset(searcher->table, 0, sizeof(int32_t) * (size_t)searcher->n_table);
    searcher->nodes.n = 0;
    searcher->permuted.n = 0;
    searcher->due.n = 0;
}

static int32_t *table_slot(const Search *search, const Layout *layout)
{
    Searcher *searcher = search->searcher;
    uint64_t mask = (uint64_t)searcher->n_table - 1;
    uint64_t i = layout_hash(layout, search->key_bytes) & mask;
    for (;; i = (i + 1) & mask) {
        int32_t *slot = &searcher->table[i];
        if (!*slot || memcmp(&searcher->nodes.at[*slot - 1].layout, layout, search->key_bytes) == 0)
            return slot;
    }
}

static void table_grow(Search *search)
{
    Searcher *searcher = search->searcher;
    if (searcher->nodes.n * 2 < searcher->n_table)
        return;
    int32_t *old = searcher->table;
    searcher->n_table *= 4;
    searcher->table = arena_array(searcher->arena, int32_t, searcher->n_table);
    arena_release(searcher->arena, old);
    for (int32_t i = 0; i < searcher->nodes.n; i++)
        *table_slot(search, &searcher->nodes.at[i].layout) = i + 1;
}

/* ---- steps ---- */

/* How far the way has the kinds and groups of the one to be avoided. */
static uint16_t progress_of(const Search *search, uint16_t before, StepKind kind, AtomSet atoms)
{
    if (search->n_avoid == 0 || kind == STEP_SLICE || before == DIVERGED)
        return before;
    bool same = before < search->n_avoid && search->avoid[before].kind == kind &&
                search->avoid[before].atoms == atoms;
    return same ? (uint16_t)(before + 1) : (uint16_t)DIVERGED;
}

static bool is_goal(const Search *search, const Layout *layout)
{
    const Space *space = search->space;
    if (search->n_avoid > 0 && layout->progress == search->n_avoid)
        return false;
    return !layout->moved && memcmp(layout->place, space->to.place,
                                    sizeof *layout->place * (size_t)space->n_atoms) == 0;
}

static double step_cost(Search *search, StepKind kind, AtomSet atoms, double before, double after)
{
    const Pricing *pricing = &search->space->pricing;
    if (kind == STEP_SLICE)
        return search->tie * 1e-3;
    double bytes = kind == STEP_ALL_GATHER ? after : before;
    if (search->priced.kind != kind || search->priced.atoms != atoms ||
        search->priced.bytes < bytes || search->priced.bytes > bytes) {
        search->priced.kind = kind;
        search->priced.atoms = atoms;
        search->priced.bytes = bytes;
        search->priced.us = pricing->step_us(pricing->context, kind, atoms, bytes);
    }
    return search->priced.us + search->tie * (1 + 0.01 * (double)kind);
}

static bool is_whole(const Space *space, const Layout *layout)
{
    for (int a = 0; a < space->n_atoms; a++)
        if (place_cuts(layout->place[a]))
            return false;
    return true;
}

/* slot: of the node's layout in the table. Returns where the node is. */
static int32_t keep(Search *search, int32_t *slot, const Node *node)
{
    Searcher *searcher = search->searcher;
    bool known = *slot > 0;
    if (known)
        searcher->nodes.at[*slot - 1] = *node;
    else {
        vec_push(searcher->arena, &searcher->nodes, *node);
        *slot = searcher->nodes.n;
    }
    int32_t id = *slot - 1;
    add_due(searcher, node->cost + search->hurry * node->bound, id, false);
    if (!known)
        table_grow(search);
    return id;
}

static void measure(const Search *search, Node *node)
{
    Measure measure = layout_measure(search->space, &node->layout);
    node->bytes = measure.bytes;
    node->bound = measure.bound;
    node->bound_after = measure.bound_after;
}

/* The dims whose lists differ. A dim, not a slot: its forms exclude each other. */
static uint32_t changed_dims(const Space *space, const Layout *a, const Layout *b)
{
    uint32_t dims = 0;
    for (int i = 0; i < space->n_atoms; i++) {
        if (a->place[i] == b->place[i])
            continue;
        if (place_cuts(a->place[i]))
            dims |= 1u << space->slot[place_slot(a->place[i])].dim;
        if (place_cuts(b->place[i]))
            dims |= 1u << space->slot[place_slot(b->place[i])].dim;
    }
    return dims;
}

/* Steps that have nothing to do with the one before can change places with it, and then need be
 * looked at in one order only: slices as early as can be and by slot, since they make payloads
 * less; what is no gather before gathers, which make them more; all-to-alls by their atoms. Uneven
 * chunks make payloads depend on the order of the latter two. */
static bool in_order(const Search *search, const Node *from, const Node *node)
{
    bool apart = !(node->last_atoms & from->last_atoms) && !(node->last_dims & from->last_dims);
    if (node->kind == STEP_SLICE) {
        if (from->kind == STEP_SLICE && from->before >= 0 && node->slice_slot < from->slice_slot)
            return false;
        return from->last == STEP_SLICE || !apart;
    }
    if (!apart || search->n_avoid > 0 || !search->space->even)
        return true;
    if (from->last == STEP_ALL_GATHER)
        return node->kind == STEP_ALL_GATHER || node->kind == STEP_PERMUTE;
    return from->last != STEP_ALL_TO_ALL || node->kind != STEP_ALL_TO_ALL ||
           node->last_atoms > from->last_atoms;
}

/* What is kept of the last step: a slice belongs to the one before it. */
static void join_last(const Node *from, Node *node)
{
    if (node->kind != STEP_SLICE) {
        node->last = node->kind;
        return;
    }
    node->last = from->last;
    node->last_atoms |= from->last_atoms;
    node->last_dims |= from->last_dims;
}

/* Atoms that are placed again make a bound no less: the parts they add are to be dropped, if
 * anything. */
static bool worth(void *context, StepKind kind, AtomSet atoms, const Layout *without)
{
    Search *search = context;
    if (search->n_offers > search->space->most_offers)
        return false;
    const Node *from = &search->searcher->nodes.at[search->at];
    AtomSet groups = space_of_mesh(search->space, atoms);
    double cost = from->cost + step_cost(search, kind, groups, from->bytes, 0);
    return cost + layout_measure(search->space, without).bound <= search->most;
}

static void offer(void *context, StepKind kind, AtomSet moved, const Layout *to)
{
    Search *search = context;
    AtomSet atoms = kind == STEP_SLICE ? 0 : space_of_mesh(search->space, moved);
    if (search->n_offers++ > search->space->most_offers)
        return; /* a layout may have more steps than all that are to be looked at */
    const Node *from = &search->searcher->nodes.at[search->at];
    Node node = {.layout = *to, .before = search->at, .kind = kind, .atoms = atoms};
    node.last_atoms = moved;
    node.last_dims = changed_dims(search->space, &from->layout, to);
    node.slice_slot = kind == STEP_SLICE ? place_slot(to->place[__builtin_ctz(moved)]) : 0;
    if (!in_order(search, from, &node))
        return;
    join_last(from, &node);
    node.layout.progress = progress_of(search, from->layout.progress, kind, atoms);
    if (to->moved && is_whole(search->space, to)) {
        node.layout.moved = 0; /* nothing is cut: every order of devices is the same */
        node.last = STEP_SLICE;
    }
    int32_t *slot = table_slot(search, &node.layout);
    const Node *known = *slot ? &search->searcher->nodes.at[*slot - 1] : NULL;
    if (known) {
        node.bytes = known->bytes;
        node.bound = known->bound;
        node.bound_after = known->bound_after;
    } else
        measure(search, &node);
    if (node.bytes > search->space->limit || from->cost + node.bound > search->most)
        return;
    node.cost = from->cost + step_cost(search, kind, atoms, from->bytes, node.bytes);
    if (node.cost + node.bound > search->most || (known && node.cost >= known->cost))
        return;
    bool goal = is_goal(search, &node.layout);
    int32_t id = keep(search, slot, &node);
    if (goal) {
        search->most = node.cost;
        search->goal = id;
    }
}

/* Permutes of the layout wait until the best they could lead to is due. */
static void defer_permutes(Search *search, int32_t at)
{
    const Pricing *pricing = &search->space->pricing;
    const Node *node = &search->searcher->nodes.at[at];
    double least = node->bound_after + pricing->permute.us + node->bytes * pricing->permute.byte_us;
    if (is_whole(search->space, &node->layout) || node->cost + least > search->most)
        return;
    add_due(search->searcher, node->cost + search->hurry * least, at, true);
}

/* False when permutes of such a layout were offered, at no more cost, and cost the same from all.
 */
static bool first_of_kind(Search *search, const Layout *layout)
{
    const Space *space = search->space;
    Searcher *searcher = search->searcher;
    if (!space->pricing.permutes_alike || search->n_avoid > 0)
        return true;
    Kindred kindred = {.partial = 0};
    for (int s = 0; s < space->n_slots; s++)
        kindred.parts[s] = 1;
    for (int a = 0; a < space->n_atoms; a++)
        if (place_cuts(layout->place[a]))
            kindred.parts[place_slot(layout->place[a])] *= (int32_t)space->size[a];
        else if (layout->place[a] == ATOM_PARTIAL)
            kindred.partial |= (AtomSet)1 << a;
    size_t n_bytes = offsetof(Kindred, parts) + sizeof(int32_t) * (size_t)space->n_slots;
    for (int i = 0; i < searcher->permuted.n; i++)
        if (memcmp(&searcher->permuted.at[i], &kindred, n_bytes) == 0)
            return false;
    vec_push(searcher->arena, &searcher->permuted, kindred);
    return true;
}

/* ---- the straight way: reduce, gather what differs, slice ---- */

static void straight_offer(Search *search, StepKind kind, AtomSet atoms, Layout *to, double *cost)
{
    const Space *space = search->space;
    const Searcher *searcher = search->searcher;
    const Node *from = &searcher->nodes.at[searcher->nodes.n - 1];
    Node node = {.layout = *to, .before = searcher->nodes.n - 1, .kind = kind};
    node.atoms = atoms = space_of_mesh(space, atoms);
    measure(search, &node);
    node.cost = *cost = from->cost + step_cost(search, kind, atoms, from->bytes, node.bytes);
    vec_push(search->searcher->arena, &search->searcher->nodes, node);
    if (node.bytes > space->limit)
        *cost = INFINITY;
}

/* The layout left when atoms that stand elsewhere in the target are gathered. */
static Layout common_layout(const Space *space, const Layout *from, AtomSet *gone)
{
    Layout out = *from;
    Lists lists;
    space_lists(space, from, &lists);
    *gone = 0;
    for (int s = 0; s < space->n_slots; s++) {
        const Slot *slot = &space->slot[s];
        int same = 0;
        while (same < lists.n[s] && same < slot->n_goal && lists.atom[s][same] == slot->goal[same])
            same++;
        while (from->moved ? same > 0
                           : !space_boundary(space, s, lists.atom[s], lists.n[s], same) ||
                                 !space_boundary(space, s, slot->goal, slot->n_goal, same))
            same--;
        for (int i = same; i < lists.n[s]; i++) {
            out.place[lists.atom[s][i]] = ATOM_UNUSED;
            *gone |= (AtomSet)1 << lists.atom[s][i];
        }
    }
    out.moved = 0;
    return out;
}

/* Leaves its nodes at the end of the list, the last one at the target. INFINITY: not within the
 * limit. */
static double straight_way(Search *search)
{
    const Space *space = search->space;
    Layout at = space->from;
    double cost = 0, step;
    for (int a = 0; a < space->n_atoms; a++) {
        AtomSet set = 0;
        if (at.place[a] != ATOM_PARTIAL || space->kept >> a & 1)
            continue;
        for (int b = a; b < space->n_atoms; b++)
            if (at.place[b] == ATOM_PARTIAL && !(space->kept >> b & 1) &&
                space->reduce[b] == space->reduce[a]) {
                set |= (AtomSet)1 << b;
                at.place[b] = ATOM_UNUSED;
            }
        straight_offer(search, STEP_ALL_REDUCE, set, &at, &step);
        cost = step > cost ? step : cost;
    }
    AtomSet gone;
    at = common_layout(space, &at, &gone);
    if (gone) {
        straight_offer(search, STEP_ALL_GATHER, gone, &at, &step);
        cost = step > cost ? step : cost;
    }
    if (memcmp(at.place, space->to.place, sizeof at.place) != 0) {
        at = space->to;
        straight_offer(search, STEP_SLICE, 0, &at, &step);
        cost = step > cost ? step : cost;
    }
    return cost;
}

/* ---- the search ---- */

static Node start_node(const Search *search)
{
    Node node = {.layout = search->space->from, .before = -1};
    measure(search, &node);
    return node;
}

/* False when it was too much to look at; search->goal is the best found all the same. */
static bool run(Search *search)
{
    Searcher *searcher = search->searcher;
    table_clear(searcher);
    search->n_offers = 0;
    search->goal = -1;
    Node start = start_node(search);
    keep(search, table_slot(search, &start.layout), &start);
    if (is_goal(search, &start.layout))
        search->goal = 0;
    while (searcher->due.n > 0) {
        HeapEntry entry = heap_pop(&searcher->due);
        bool permutes = entry.item < 0;
        int32_t at = permutes ? ~entry.item : entry.item;
        if (search->n_offers > search->space->most_offers)
            return false;
        const Node *node = &searcher->nodes.at[at];
        search->at = at;
        Layout layout = node->layout;
        if (permutes) {
            if (first_of_kind(search, &layout))
                moves_offer_permutes(&search->moves, &layout);
            continue;
        }
        if (entry.key > node->cost + search->hurry * node->bound)
            continue; /* a cheaper way to it was found since */
        if (is_goal(search, &layout))
            return true;
        moves_offer(&search->moves, &layout);
        defer_permutes(search, at);
    }
    return true;
}

static void route_of(const Search *search, Arena *arena, int32_t last, Route *out)
{
    const Node *nodes = search->searcher->nodes.at;
    const Pricing *pricing = &search->space->pricing;
    int n = 0;
    for (int32_t i = last; nodes[i].before >= 0; i = nodes[i].before)
        n++;
    Hop *hop = arena_array(arena, Hop, n);
    int at = n;
    out->us = 0;
    for (int32_t i = last; nodes[i].before >= 0; i = nodes[i].before) {
        const Node *node = &nodes[i], *from = &nodes[node->before];
        if (node->kind != STEP_SLICE)
            out->us += pricing->step_us(pricing->context, node->kind, node->atoms,
                                        node->kind == STEP_ALL_GATHER ? node->bytes : from->bytes);
        if (node->kind == STEP_SLICE && at < n && hop[at].kind == STEP_SLICE)
            continue;
        hop[--at] = (Hop){node->kind, node->atoms, node->layout};
    }
    out->n = n - at;
    out->hop = hop + at;
}

bool search_route(Searcher *searcher, Arena *arena, const Space *space, double most,
                  const Hop *avoid, int n_avoid, Route *out)
{
    Search search = {.searcher = searcher, .space = space, .avoid = avoid, .n_avoid = n_avoid};
    search.key_bytes =
        (offsetof(Layout, place) + sizeof(uint16_t) * (size_t)space->n_atoms + 7) & ~(size_t)7;
    search.moves =
        (LayoutMoves){.space = space, .context = &search, .worth = worth, .offer = offer};

    table_clear(searcher);
    Node start = start_node(&search);
    vec_push(searcher->arena, &searcher->nodes, start);
    double straight = straight_way(&search);
    search.tie = 1e-9 * (straight < INFINITY ? straight : start.bound) + 1e-12;
    search.most = n_avoid > 0 ? INFINITY : straight * (1 + 1e-6) + 1e-9;
    search.most = most < search.most ? most : search.most;
    bool found = n_avoid == 0 && straight < most;
    if (found)
        route_of(&search, arena, searcher->nodes.n - 1, out);
    bool ended = false;
    for (size_t i = 0; i < sizeof hurries / sizeof *hurries && !ended; i++) {
        search.hurry = hurries[i];
        ended = run(&search);
        out->proven = ended && i == 0 && !search.moves.left_out;
        if (search.goal < 0)
            continue;
        route_of(&search, arena, search.goal, out);
        found = true;
    }
    out->bound_us = start.bound;
    return found;
}
