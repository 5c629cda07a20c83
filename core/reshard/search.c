#include "core/reshard/search.h"

#include "core/base/heap.h"
#include "core/reshard/bound.h"
#include "core/reshard/moves.h"
#include "core/reshard/relaxed.h"

#include <math.h>

enum { TABLE_FIRST = 1024, DIVERGED = 0xffff };

/* Weights of the bound (weighted A*), one search after the other, and what part of the offers each
 * may look at. The last one only looks for a path where there is none yet. */
static const struct {
    double weight;
    int part;
} runs[] = {{1, 1}, {3, 4}, {10, 4}};
enum { RUNS = sizeof runs / sizeof *runs };

/* A search ends early if, from the first of these parts of its offers to the second, its bound came
 * nearer to the best path by less than this part of what it lacked at the start. Of random reshards
 * those that are proven later rise by a tenth or more there, the others by a fortieth at most. */
enum { LOOK_FIRST = 6, LOOK_AGAIN = 3 };
static const double stalled = 0.05;

typedef struct {
    Layout layout;
    double cost, bound, permuted, bytes; /* cost: us so far, plus what breaks ties */
    int32_t before;                      /* -1 at the start */
    AtomSet atoms;
    StepKind kind;
    /* The last step that communicated, with the slices since: its kind (SLICE if there was none),
     * the atoms that moved and the dims that changed. slice_slot: the slot of this slice. */
    StepKind last;
    AtomSet last_atoms;
    uint32_t last_dims;
    int slice_slot;
    bool holds; /* the step's atoms have no new position yet: the same step continues from here */
} OpenNode;

/* What a heap entry stands for: a layout; its permutes; or those of one set of atoms. */
typedef struct {
    enum { DUE_LAYOUT, DUE_PERMUTES, DUE_GROUPS } what;
    int32_t node, permute; /* permute: of relaxed.h */
} Due;

/* Layouts that permutes transform into each other: equal parts and equal partial atoms. */
typedef struct {
    double cost;
    AtomSet partial;
    int32_t parts[SLOTS_MAX];
} PermuteClass;

/* A layout that another hash tells apart is not looked at. */
typedef struct {
    uint32_t hash;
    int32_t node; /* + 1; 0: free */
} TableSlot;

struct Searcher {
    Arena *arena;
    Relaxed *relaxed;
    Vec(OpenNode) nodes;
    Vec(PermuteClass) permuted; /* whose permutes were offered */
    Heap heap;
    Vec(Due) dues; /* by item of the heap */
    TableSlot *table;
    int n_table;
};

typedef struct {
    Searcher *searcher;
    const Space *space;
    const Hop *avoid;
    int n_avoid;
    int32_t at;   /* node being expanded */
    int32_t goal; /* the cheapest found so far, or -1 */
    int n_offers, most_offers;
    double most, tie, weight;
    double risen; /* how near the bound was at the first look, from 0 to 1; -1: not looked yet */
    bool looked;  /* again */
    bool relaxes; /* bounds come from relaxed.h */
    size_t key_bytes;
    struct {
        StepKind kind;
        AtomSet atoms;
        double bytes, us;
    } priced; /* the last price asked for: arrangements of the same step follow each other */
    LayoutMoves moves;
} PathSearch;

Searcher *searcher_new(Arena *arena)
{
    Searcher *searcher = arena_make(arena, Searcher);
    searcher->arena = arena;
    searcher->relaxed = relaxed_new(arena);
    searcher->n_table = TABLE_FIRST;
    searcher->table = arena_array(arena, TableSlot, TABLE_FIRST);
    return searcher;
}

/* Among equal keys, the node found last. */
static void add_due(Searcher *searcher, double key, Due due)
{
    heap_push(searcher->arena, &searcher->heap, (HeapEntry){key, -due.node, searcher->dues.n});
    vec_push(searcher->arena, &searcher->dues, due);
}

/* ---- nodes by layout ---- */

static uint32_t layout_hash(const Layout *layout, size_t n_bytes)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    const char *at = (const char *)layout;
    for (size_t i = 0; i < n_bytes; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static void table_clear(Searcher *searcher)
{
    memset(searcher->table, 0, sizeof *searcher->table * (size_t)searcher->n_table);
    searcher->nodes.n = 0;
    searcher->permuted.n = 0;
    searcher->heap.n = 0;
    searcher->dues.n = 0;
}

static bool same_layout(const Layout *a, const Layout *b, size_t n_bytes)
{
    const char *x = (const char *)a, *y = (const char *)b;
    for (size_t i = 0; i < n_bytes; i += 8)
        if (memcmp(x + i, y + i, 8) != 0)
            return false;
    return true;
}

/* Of the layout, or a free one that has its hash now. */
static TableSlot *table_slot(const PathSearch *search, const Layout *layout, uint32_t hash)
{
    Searcher *searcher = search->searcher;
    uint32_t mask = (uint32_t)searcher->n_table - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        TableSlot *slot = &searcher->table[i];
        if (!slot->node)
            slot->hash = hash;
        if (!slot->node ||
            (slot->hash == hash &&
             same_layout(&searcher->nodes.at[slot->node - 1].layout, layout, search->key_bytes)))
            return slot;
    }
}

static void table_grow(PathSearch *search)
{
    Searcher *searcher = search->searcher;
    if (searcher->nodes.n * 2 < searcher->n_table)
        return;
    TableSlot *old = searcher->table;
    searcher->n_table *= 2;
    searcher->table = arena_array(searcher->arena, TableSlot, searcher->n_table);
    arena_release(searcher->arena, old);
    for (int32_t i = 0; i < searcher->nodes.n; i++) {
        const Layout *layout = &searcher->nodes.at[i].layout;
        table_slot(search, layout, layout_hash(layout, search->key_bytes))->node = i + 1;
    }
}

/* ---- steps ---- */

/* How long the path agrees with the kinds and groups of the one to be avoided. */
static uint16_t progress_of(const PathSearch *search, uint16_t before, StepKind kind, AtomSet atoms)
{
    if (search->n_avoid == 0 || kind == STEP_SLICE || before == DIVERGED)
        return before;
    bool same = before < search->n_avoid && search->avoid[before].kind == kind &&
                search->avoid[before].atoms == atoms;
    return same ? (uint16_t)(before + 1) : (uint16_t)DIVERGED;
}

static bool is_goal(const PathSearch *search, const Layout *layout)
{
    const Space *space = search->space;
    if (search->n_avoid > 0 && layout->progress == search->n_avoid)
        return false;
    return !layout->moved && memcmp(layout->place, space->to.place,
                                    sizeof *layout->place * (size_t)space->n_atoms) == 0;
}

static double step_cost(PathSearch *search, StepKind kind, AtomSet atoms, double before,
                        double after)
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

/* slot: of the node's layout in the table. Returns the slot of the node. */
static int32_t keep(PathSearch *search, TableSlot *slot, const OpenNode *node)
{
    Searcher *searcher = search->searcher;
    bool known = slot->node > 0;
    if (known)
        searcher->nodes.at[slot->node - 1] = *node;
    else {
        vec_push(searcher->arena, &searcher->nodes, *node);
        slot->node = searcher->nodes.n;
    }
    int32_t id = slot->node - 1;
    add_due(searcher, node->cost + search->weight * node->bound, (Due){DUE_LAYOUT, id, 0});
    if (!known)
        table_grow(search);
    return id;
}

static void measure(const PathSearch *search, OpenNode *node)
{
    const Pricing *pricing = &search->space->pricing;
    if (search->relaxes) {
        RelaxedCost least = relaxed_cost(search->searcher->relaxed, &node->layout);
        node->bytes = layout_bytes(search->space, &node->layout);
        node->bound = least.us;
        node->permuted = least.permuted_us;
        return;
    }
    Measure measure = layout_measure(search->space, &node->layout);
    node->bytes = measure.bytes;
    node->bound = measure.bound;
    node->permuted =
        measure.bound_after + pricing->permute.us + measure.bytes * pricing->permute.byte_us;
}

/* The same; a layout in the table was measured before. */
static void measure_once(const PathSearch *search, const TableSlot *slot, OpenNode *node)
{
    if (!slot->node) {
        measure(search, node);
        return;
    }
    const OpenNode *known = &search->searcher->nodes.at[slot->node - 1];
    node->bytes = known->bytes;
    node->bound = known->bound;
    node->permuted = known->permuted;
}

/* The dims whose lists differ. Dims, not slots: the forms of a dim exclude each other. */
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

/* Independent steps commute, so only one order is looked at: slices as early as possible and by
 * slot, since they reduce payloads; other steps before gathers, which increase them; all-to-alls
 * by their atoms. With uneven chunks payloads depend on the order of the last two. */
static bool in_order(const PathSearch *search, const OpenNode *from, const OpenNode *node)
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

/* The last step as it is remembered: a slice belongs to the one before it. */
static void join_last(const OpenNode *from, OpenNode *node)
{
    if (node->kind != STEP_SLICE) {
        node->last = node->kind;
        return;
    }
    node->last = from->last;
    node->last_atoms |= from->last_atoms;
    node->last_dims |= from->last_dims;
}

/* The node before the step that leads on from node `at`. */
static const OpenNode *step_from(const PathSearch *search, int32_t at)
{
    const OpenNode *node = &search->searcher->nodes.at[at];
    return node->holds ? &search->searcher->nodes.at[node->before] : node;
}

/* The node that a step leads to, without its cost. Returns false if it need not be looked at. */
static bool make_node(const PathSearch *search, StepKind kind, AtomSet moved, const Layout *to,
                      OpenNode *node)
{
    const OpenNode *at = &search->searcher->nodes.at[search->at];
    const OpenNode *from = step_from(search, search->at);
    *node = (OpenNode){.layout = *to, .before = search->at, .kind = kind, .last_atoms = moved};
    node->atoms = kind == STEP_SLICE ? 0 : space_of_mesh(search->space, moved);
    node->holds = layout_holds(search->space, to);
    if (at->holds) {
        node->kind = at->kind;
        node->atoms = at->atoms;
    } else
        node->layout.progress = progress_of(search, at->layout.progress, kind, node->atoms);
    if (node->holds)
        return true;
    node->last_dims = changed_dims(search->space, &from->layout, to);
    node->slice_slot = node->kind == STEP_SLICE ? place_slot(to->place[__builtin_ctz(moved)]) : 0;
    if (!in_order(search, from, node))
        return false;
    join_last(from, node);
    if (to->moved && is_whole(search->space, to)) {
        node->layout.moved = 0; /* nothing is sharded: every order of devices is the same */
        node->last = STEP_SLICE;
    }
    return true;
}

static void offer(void *context, StepKind kind, AtomSet moved, const Layout *to)
{
    PathSearch *search = context;
    OpenNode node;
    if (search->n_offers++ > search->most_offers)
        return; /* a layout may have more steps than may be looked at in total */
    if (!make_node(search, kind, moved, to, &node))
        return;
    const OpenNode *at = &search->searcher->nodes.at[search->at];
    uint32_t hash = layout_hash(&node.layout, search->key_bytes);
    TableSlot *slot = table_slot(search, &node.layout, hash);
    measure_once(search, slot, &node);
    if (node.holds)
        node.bytes = at->bytes;
    if (node.bytes > search->space->limit || at->cost + node.bound > search->most)
        return;
    node.cost = at->cost;
    if (!at->holds)
        node.cost += step_cost(search, kind, node.atoms, at->bytes, node.bytes);
    if (node.cost + node.bound > search->most)
        return;
    if (slot->node && node.cost >= search->searcher->nodes.at[slot->node - 1].cost)
        return;
    bool goal = is_goal(search, &node.layout);
    int32_t id = keep(search, slot, &node);
    if (goal) {
        search->most = node.cost;
        search->goal = id;
    }
}

/* Permutes of the layout wait until the best they could lead to is the cheapest entry. */
static void defer_permutes(PathSearch *search, int32_t at)
{
    const OpenNode *node = &search->searcher->nodes.at[at];
    if (node->holds || is_whole(search->space, &node->layout) ||
        node->cost + node->permuted > search->most)
        return;
    add_due(search->searcher, node->cost + search->weight * node->permuted,
            (Due){DUE_PERMUTES, at, 0});
}

/* Returns false if permutes of such a layout were offered at no more cost and cost the same from
 * all. */
static bool first_of_kind(PathSearch *search, const OpenNode *node)
{
    const Space *space = search->space;
    const Layout *layout = &node->layout;
    Searcher *searcher = search->searcher;
    if (search->n_avoid > 0)
        return true;
    PermuteClass permute_class = {.cost = node->cost};
    for (int s = 0; s < space->n_slots; s++)
        permute_class.parts[s] = 1;
    for (int a = 0; a < space->n_atoms; a++)
        if (place_cuts(layout->place[a]))
            permute_class.parts[place_slot(layout->place[a])] *= (int32_t)space->size[a];
        else if (layout->place[a] == ATOM_PARTIAL)
            permute_class.partial |= (AtomSet)1 << a;
    for (int i = 0; i < searcher->permuted.n; i++) {
        const PermuteClass *other = &searcher->permuted.at[i];
        if (other->cost <= permute_class.cost && other->partial == permute_class.partial &&
            memcmp(other->parts, permute_class.parts, sizeof(int32_t) * (size_t)space->n_slots) ==
                0)
            return false;
    }
    vec_push(searcher->arena, &searcher->permuted, permute_class);
    return true;
}

/* If permutes cost different amounts, looking at all of them is too much: those of each set of
 * atoms wait again, behind those of the set that costs less. */
static void defer_groups(PathSearch *search, int32_t at, int32_t permute)
{
    Searcher *searcher = search->searcher;
    const OpenNode *node = &searcher->nodes.at[at];
    double least = permute < 0 ? INFINITY : relaxed_permute(searcher->relaxed, permute).us;
    if (node->cost + least <= search->most)
        add_due(searcher, node->cost + search->weight * least, (Due){DUE_GROUPS, at, permute});
}

static void expand_permutes(PathSearch *search, const Due *due)
{
    Searcher *searcher = search->searcher;
    const OpenNode *node = &searcher->nodes.at[due->node];
    Layout layout = node->layout;
    if (due->what == DUE_GROUPS) {
        RelaxedPermute permute = relaxed_permute(searcher->relaxed, due->permute);
        defer_groups(search, due->node, permute.next);
        if (node->cost + permute.us <= search->most)
            moves_offer_permutes(&search->moves, &layout, permute.groups);
    } else if (search->relaxes && !search->space->pricing.permutes_alike)
        defer_groups(search, due->node, relaxed_permutes(searcher->relaxed, &layout));
    else if (!search->space->pricing.permutes_alike || first_of_kind(search, node))
        moves_offer_permutes(&search->moves, &layout, PERMUTE_ANY);
}

/* ---- the straight path: reduce, gather what differs, slice ---- */

static void straight_offer(PathSearch *search, StepKind kind, AtomSet atoms, Layout *to,
                           double *cost)
{
    const Space *space = search->space;
    const Searcher *searcher = search->searcher;
    const OpenNode *from = &searcher->nodes.at[searcher->nodes.n - 1];
    OpenNode node = {.layout = *to, .before = searcher->nodes.n - 1, .kind = kind};
    node.atoms = atoms = space_of_mesh(space, atoms);
    node.bytes = layout_bytes(space, to);
    node.cost = *cost = from->cost + step_cost(search, kind, atoms, from->bytes, node.bytes);
    vec_push(search->searcher->arena, &search->searcher->nodes, node);
    if (node.bytes > space->limit)
        *cost = INFINITY;
}

/* The layout after gathering the atoms that are elsewhere in the target. */
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

/* Leaves its nodes in the list, the last one at the target. Returns INFINITY if not within the
 * limit. */
static double straight_way(PathSearch *search)
{
    const Space *space = search->space;
    Layout at = space->from;
    OpenNode start = {.layout = at, .before = -1, .bytes = layout_bytes(space, &at)};
    double cost = 0, step;
    table_clear(search->searcher);
    vec_push(search->searcher->arena, &search->searcher->nodes, start);
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

static OpenNode start_node(const PathSearch *search)
{
    OpenNode node = {.layout = search->space->from, .before = -1};
    measure(search, &node);
    return node;
}

/* Whether the bound, of the cheapest entry, no longer rises; first: of the start. */
static bool is_stalled(PathSearch *search, double bound, double first)
{
    if (search->looked || search->weight > 1 || isinf(search->most) ||
        search->n_offers <= search->most_offers / LOOK_FIRST)
        return false;
    double near = (bound - first) / (search->most - first);
    if (search->risen < 0)
        search->risen = near > 0 ? near : 0;
    search->looked = search->n_offers > search->most_offers / LOOK_AGAIN;
    return search->looked && near - search->risen < stalled;
}

/* Returns false if there was too much to look at; search->goal is the best found all the same. */
static bool run(PathSearch *search)
{
    Searcher *searcher = search->searcher;
    table_clear(searcher);
    search->n_offers = 0;
    search->goal = -1;
    search->risen = -1;
    search->looked = false;
    OpenNode start = start_node(search);
    uint32_t hash = layout_hash(&start.layout, search->key_bytes);
    keep(search, table_slot(search, &start.layout, hash), &start);
    if (is_goal(search, &start.layout))
        search->goal = 0;
    while (searcher->heap.n > 0) {
        HeapEntry entry = heap_pop(&searcher->heap);
        Due due = searcher->dues.at[entry.item];
        if (search->n_offers > search->most_offers || is_stalled(search, entry.key, start.bound))
            return false;
        const OpenNode *node = &searcher->nodes.at[due.node];
        search->at = due.node;
        Layout layout = node->layout;
        if (due.what != DUE_LAYOUT) {
            expand_permutes(search, &due);
            continue;
        }
        if (entry.key > node->cost + search->weight * node->bound)
            continue; /* a cheaper path to it was found since */
        if (is_goal(search, &layout))
            return true;
        moves_offer(&search->moves, &layout);
        defer_permutes(search, due.node);
    }
    return true;
}

static void route_of(const PathSearch *search, Arena *arena, int32_t last, Route *out)
{
    const OpenNode *nodes = search->searcher->nodes.at;
    const Pricing *pricing = &search->space->pricing;
    int n = 0;
    for (int32_t i = last; nodes[i].before >= 0; i = nodes[i].before)
        n++;
    Hop *hop = arena_array(arena, Hop, n);
    int at = n;
    out->us = 0;
    for (int32_t i = last; nodes[i].before >= 0; i = nodes[i].before) {
        const OpenNode *node = &nodes[i], *from = step_from(search, node->before);
        if (node->holds)
            continue;
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
    PathSearch search = {.searcher = searcher, .space = space, .avoid = avoid, .n_avoid = n_avoid};
    search.key_bytes =
        (offsetof(Layout, place) + sizeof(uint16_t) * (size_t)space->n_atoms + 7) & ~(size_t)7;
    search.moves = (LayoutMoves){.space = space, .context = &search, .offer = offer};

    double straight = straight_way(&search);
    out->bound_us = layout_measure(space, &space->from).bound;
    search.tie = 1e-9 * (straight < INFINITY ? straight : out->bound_us) + 1e-12;
    search.most = n_avoid > 0 ? INFINITY : straight * (1 + 1e-6) + 1e-9;
    search.most = most < search.most ? most : search.most;
    bool found = n_avoid == 0 && straight < most;
    if (found)
        route_of(&search, arena, searcher->nodes.n - 1, out);
    search.relaxes = relaxed_begin(searcher->relaxed, space, search.most);
    bool ended = false, has_path = found || most < INFINITY;
    for (int i = space->greedy; i < RUNS && !ended && (i < RUNS - 1 || !has_path); i++) {
        search.weight = runs[i].weight;
        search.most_offers = space->most_offers / runs[i].part;
        ended = run(&search);
        out->gave_up = !ended;
        out->proven = ended && i == 0 && !search.moves.left_out;
        if (search.goal < 0)
            continue;
        route_of(&search, arena, search.goal, out);
        found = has_path = true;
    }
    return found;
}

double search_least_us(Searcher *searcher, const Space *space, double most)
{
    double least = layout_measure(space, &space->from).bound;
    if (least < most && relaxed_begin(searcher->relaxed, space, most))
        least = fmax(least, relaxed_least_us(searcher->relaxed, &space->from));
    return fmin(least, most);
}
