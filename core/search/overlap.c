#include "core/search/overlap.h"

#include "core/cost/pipeline.h"
#include "core/search/decide.h"
#include "core/session/make.h"
#include "core/summary/decision_lua.h"

#include <math.h>

enum { GROUPS_MAX = 64 };

/* A product, and its index dim whose parts can go around. */
typedef struct {
    int32_t op, index, group;
    Cut cut;
} OverlapCandidate;

/* Equal products have equal keys. */
typedef struct {
    int32_t space, cut, index, padding;
    Cut ring;
} ProductKey;

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    Intern *keys;
    Vec(OverlapCandidate) found;
    Vec(int32_t) same; /* per key: the group that it is decided with */
    int32_t joined;    /* the group of the value that is being looked at; -1 */
} Looking;

static int32_t group_of(const Looking *l, int32_t key)
{
    while (l->same.at[key] != key)
        key = l->same.at[key];
    return key;
}

/* The dim of a value that is sharded by exactly these axes on the one side and by none on the
 * other; -1: there is none. */
static int dim_between(const Sharding *sharded, const Sharding *whole, AtomSet atoms)
{
    for (int d = 0; d < sharded->n_dims; d++)
        if (cut_atoms(&sharded->dim[d]) == atoms && cut_is_whole(&whole->dim[d]))
            return d;
    return -1;
}

static void add(Looking *l, int32_t op, int operand, int dim, const Cut *as)
{
    const Plan *plan = l->plan;
    const OpSpace *space = inferred_space(plan->inferred, op);
    const OpCut *cut = plan_cut(plan, op);
    const DimFactors *factors = space ? &space->operand[operand].factors[dim] : NULL;
    int index = factors && factors->n == 1 && factors->exact ? factors->index[0] : -1;
    if (!cut || index < 0 || space->index[index].role == ROLE_FROZEN ||
        op_cut_rounds(space, index) == 0 || !cut_is_whole(&cut->index[index]))
        return;
    uint8_t atom[ATOMS_MAX];
    int n = cut_list_atoms(as, atom);
    OpCut trial = *cut;
    Cut *ring = &trial.index[index];
    *ring = cut_by(space->index[index].size, atom, n, plan->mesh);
    ring->before = CUT_RING;
    ring->after = 1;
    if (op_cut_ring(space, &trial) != index)
        return;
    Sharding moved = op_cut_sharding(space, &trial, operand, plan->mesh);
    if (!sharding_has_ring(&moved))
        return;
    ProductKey *key = arena_make(l->arena, ProductKey);
    *key = (ProductKey){plan->inferred->space[op], plan->propagated->cut[op], index, 0, *ring};
    int32_t id = intern_put(l->keys, key, sizeof *key);
    if (id == l->same.n)
        vec_push(l->arena, &l->same, id);
    if (l->joined >= 0)
        l->same.at[group_of(l, id)] = group_of(l, l->joined);
    l->joined = id;
    OverlapCandidate candidate = {op, index, id, *ring};
    vec_push(l->arena, &l->found, candidate);
}

static bool is_forward(const Graph *graph, int32_t op)
{
    return !graph->phase || graph->phase[op] == PHASE_FORWARD;
}

/* Products that read what is gathered. */
static void look_at_readers(Looking *l, const Reshard *reshard, AtomSet gathered)
{
    const Plan *plan = l->plan;
    const Graph *graph = plan->inferred->graph;
    const Sharding *from = shardings_at(plan->shardings, reshard->from);
    int dim = dim_between(from, shardings_at(plan->shardings, reshard->to), gathered);
    for (int u = 0; dim >= 0 && u < reshard->n_uses; u++) {
        int32_t op = plan->moved->reshard_uses[reshard->use + u];
        for (int i = 0; i < graph->ops[op].n_inputs && is_forward(graph, op); i++)
            if (op_inputs(graph, op)[i] == reshard->tensor &&
                plan->moved->need[graph->ops[op].input + i] == reshard->to)
                add(l, op, i, dim, &from->dim[dim]);
    }
}

/* The product that makes what is reduced and scattered. */
static void look_at_maker(Looking *l, const Reshard *reshard, AtomSet scattered)
{
    const Plan *plan = l->plan;
    const Graph *graph = plan->inferred->graph;
    const Sharding *to = shardings_at(plan->shardings, reshard->to);
    int dim = dim_between(to, shardings_at(plan->shardings, reshard->from), scattered);
    int32_t op = graph->tensors[reshard->tensor].maker;
    for (int o = 0; dim >= 0 && op >= 0 && is_forward(graph, op) && o < graph->ops[op].n_outputs;
         o++)
        if (op_outputs(graph, op)[o] == reshard->tensor)
            add(l, op, graph->ops[op].n_inputs + o, dim, &to->dim[dim]);
}

static void look(Looking *l)
{
    const Moved *moved = l->plan->moved;
    for (int r = 0; r < moved->n_reshards; r++) {
        const Reshard *reshard = &moved->reshards[r];
        AtomSet atoms[2] = {0}; /* gathered, scattered */
        for (int i = 0; i < reshard->path->n_steps; i++) {
            const Step *step = &reshard->path->step[i];
            atoms[0] |= step->kind == STEP_ALL_GATHER ? step->atoms : 0;
            atoms[1] |= step->kind == STEP_REDUCE_SCATTER ? step->atoms : 0;
        }
        l->joined = -1;
        if (atoms[0] && reshard->from_devices == reshard->to_devices)
            look_at_readers(l, reshard, atoms[0]);
        if (atoms[1] && reshard->from_devices == reshard->to_devices)
            look_at_maker(l, reshard, atoms[1]);
    }
}

/* Appends the pins of a group. Of an op that could be in two ways the first holds. */
static void pin_group(const Looking *l, int32_t group, Decisions *out)
{
    for (int i = 0; i < l->found.n; i++) {
        const OverlapCandidate *at = &l->found.at[i];
        if (group_of(l, at->group) != group)
            continue;
        bool pinned = false;
        for (int k = out->n - 1; k >= 0 && !pinned; k--)
            pinned = out->at[k].place == at->op;
        if (pinned)
            continue;
        Cut *cut = arena_make(l->arena, Cut);
        *cut = at->cut;
        Decision pin = {.kind = PIN_INDEX_DIM, .place = at->op, .dim = at->index, .cut = cut};
        Buf text = buf_new(l->arena);
        pin.origin = (Origin){.kind = ORIGIN_SEARCH, .file = ""};
        decision_lua(l->session, &pin, &text);
        pin.origin.text = text.s;
        vec_push(l->arena, out, pin);
    }
}

/* The time of a step under these decisions too; INFINITY if the plan is not legal. */
static bool price(const Looking *l, const Decisions *decisions, double *us, Error *err)
{
    Journal journal = session_journal_with(l->session, l->arena, decisions->at, decisions->n);
    PlanRequest request = session_request(l->session, &journal);
    request.figures_only = true;
    Plan *plan = plan_make(&request, err);
    if (plan)
        *us = plan_is_legal(plan) ? plan_step_us(plan) : INFINITY;
    plan_free(plan);
    return plan != NULL;
}

bool overlap_find(Arena *arena, const Session *session, Progress *progress, OverlapResult *out,
                  Error *err)
{
    Looking l = {.arena = arena, .session = session, .plan = session->plan, .joined = -1};
    Decisions kept = {0};
    l.keys = intern_new(arena);
    *out = (OverlapResult){.before_us = plan_step_us(session->plan)};
    out->after_us = out->before_us;
    look(&l);
    progress_stage(progress, "planning matmuls in parts", l.same.n);
    for (int32_t group = 0; group < l.same.n && out->n_tried < GROUPS_MAX; group++) {
        int n = kept.n;
        double us;
        progress_add(progress, 1);
        if (!progress_goes_on(progress, err))
            return false;
        if (group_of(&l, group) != group)
            continue;
        pin_group(&l, group, &kept);
        out->n_tried++;
        if (!price(&l, &kept, &us, err))
            return false;
        if (us < out->after_us) {
            out->after_us = us;
            out->n_kept++;
        } else
            kept.n = n;
    }
    out->decisions = kept.at;
    out->n = kept.n;
    return true;
}
