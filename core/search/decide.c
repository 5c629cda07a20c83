#include "core/search/decide.h"

#include "core/session/make.h"
#include "core/summary/decision_lua.h"

/* ---- decisions ---- */

typedef struct {
    Arena *arena;
    const Instance *instance;
    const int32_t *choice;
    Decisions *out;
    Plan *plan;        /* under the decisions so far, or: */
    bool forward;      /* its forward pass alone, which takes a fraction of the time */
    uint8_t *n_pinned; /* per node: how often it was pinned */
    Error *err;
} Decider;

static void add(Decider *d, DecisionKind kind, int32_t place, int dim, const Cut *cut,
                uint8_t store)
{
    Decision decision = {.kind = kind, .place = place, .dim = dim, .cut = cut, .store = store};
    Buf text = buf_new(d->arena);
    decision.origin = (Origin){.kind = ORIGIN_SEARCH, .file = ""};
    decision_lua(d->instance->session, &decision, &text);
    decision.origin.text = text.s;
    vec_push(d->arena, d->out, decision);
}

typedef enum {
    OF_FORWARD,
    OF_ALL,
    WHOLE
} Extent; /* cuts of the forward pass; of all ops; a plan */

static bool plan_again(Decider *d, Extent extent)
{
    const Session *session = d->instance->session;
    plan_free(d->plan);
    Journal journal = session_journal_with(session, d->arena, d->out->at, d->out->n);
    PlanRequest request = session_request(session, &journal);
    request.lender = prices_settler(d->instance->memo->prices);
    request.figures_only = true;
    d->forward = extent == OF_FORWARD;
    d->plan = extent == OF_FORWARD ? plan_make_forward_cuts(&request, d->err)
              : extent == OF_ALL   ? plan_make_cuts(&request, d->err)
                                   : plan_make(&request, d->err);
    return d->plan != NULL;
}

static const OpCut *chosen_cut(const Decider *d, int32_t op)
{
    if (d->forward && !op_is_forward(d->instance->inferred->graph, op))
        return NULL;
    int32_t node = d->instance->node_of_op[op];
    const SearchNode *at = node < 0 ? NULL : &d->instance->nodes.at[node];
    bool own = at && (at->kind == NODE_SUM ||
                      (at->kind == NODE_OP && op_is_forward(d->instance->inferred->graph, op)));
    return own ? at->cut[d->choice[node]] : NULL;
}

static bool cut_as_chosen(const Decider *d, int32_t op, int *dim)
{
    const OpCut *chosen = chosen_cut(d, op), *cut = chosen ? plan_cut(d->plan, op) : NULL;
    for (*dim = 0; chosen && cut && *dim < chosen->n; ++*dim)
        if (!cut_equal(&chosen->index[*dim], &cut->index[*dim]))
            return false;
    return true;
}

/* Whether an op reads a parameter beside an activation: pins of it say most. */
static bool is_weighty(const Inferred *inferred, int32_t op)
{
    for (int i = 0; i < inferred->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(inferred->graph, op)[i];
        const Shape *shape = t < 0 ? NULL : inferred_shape(inferred, t);
        if (shape && shape->n_dims > 1 && tensor_is_parameter(inferred, t))
            return true;
    }
    return false;
}

/* Whole dims may change with later pins, and are pinned then. */
enum { PINS_OF_NODE = 6 };

/* The op to be pinned next: the first that is not cut as chosen, of those with weights if there is
 * one, and of those that are cut at all; -1: all are as chosen. */
static int32_t next_to_pin(const Decider *d)
{
    const Inferred *inferred = d->instance->inferred;
    int32_t found = -1;
    int rank = -1;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        int dim, own;
        if (cut_as_chosen(d, op, &dim) || d->n_pinned[d->instance->node_of_op[op]] >= PINS_OF_NODE)
            continue;
        bool is_cut = cuts_used(chosen_cut(d, op)->index, chosen_cut(d, op)->n, -1) != 0;
        own = is_cut + 2 * is_weighty(inferred, op);
        if (own > rank) {
            rank = own;
            found = op;
        }
    }
    return found;
}

static bool is_pinned_so(const Decider *d, int32_t op, int dim, const Cut *cut)
{
    const Decision *pin = plan_pin_of(d->plan, PIN_INDEX_DIM, op, dim);
    return pin && !pin->open && cut_equal(decision_cut(pin), cut);
}

/* Pins dims of the op, and of all ops of its node: those that axes shard, the second time those
 * that are whole and do not stay so. */
static void pin_node(Decider *d, int32_t op)
{
    const Inferred *inferred = d->instance->inferred;
    int32_t node = d->instance->node_of_op[op];
    const OpCut *chosen = chosen_cut(d, op);
    const OpSpace *space = program_space(inferred, op);
    bool is_cut = cuts_used(chosen->index, chosen->n, -1) != 0;
    bool again = d->n_pinned[node] > 0 || !is_cut; /* of whole dims alone */
    d->n_pinned[node]++;
    for (int j = 0; j < space->n_index; j++) {
        bool whole = cut_is_whole(&chosen->index[j]);
        if (whole != again ||
            (whole && cut_equal(&chosen->index[j], &plan_cut(d->plan, op)->index[j])))
            continue;
        for (int i = 0; i < inferred->n_program; i++)
            if (d->instance->node_of_op[inferred->program[i]] == node &&
                inferred->space[inferred->program[i]] == inferred->space[op] &&
                chosen_cut(d, inferred->program[i]) &&
                !is_pinned_so(d, inferred->program[i], j, &chosen->index[j]))
                add(d, PIN_INDEX_DIM, inferred->program[i], j, &chosen->index[j], 0);
    }
}

/* Node by node, so that lines about equal layers follow each other. */
static void store_parameters(Decider *d)
{
    const Instance *instance = d->instance;
    int32_t n_tensors = instance->inferred->graph->n_tensors;
    int32_t *first = arena_array(d->arena, int32_t, instance->nodes.n);
    int32_t *next = arena_array(d->arena, int32_t, n_tensors);
    memset(first, -1, sizeof *first * (size_t)instance->nodes.n);
    for (int32_t t = n_tensors - 1; t >= 0; t--)
        if (instance->node_of_tensor[t] >= 0) {
            next[t] = first[instance->node_of_tensor[t]];
            first[instance->node_of_tensor[t]] = t;
        }
    for (int32_t n = 0; n < instance->nodes.n; n++) {
        if (instance->nodes.at[n].kind != NODE_PARAMETER)
            continue;
        const ParameterChoice *chosen = &instance->nodes.at[n].stored[d->choice[n]];
        for (int32_t t = first[n]; chosen->values && t >= 0; t = next[t])
            add(d, PIN_TENSOR_DIM, t, chosen->dim, chosen->by, chosen->values);
    }
}

/* How an input or a parameter is to lie; -1: nothing chooses that, or pins say it already. */
static int32_t chosen_sharding(const Decider *d, int32_t tensor)
{
    int32_t node = d->instance->node_of_tensor[tensor];
    const SearchNode *at = node < 0 ? NULL : &d->instance->nodes.at[node];
    if (at && at->kind == NODE_INPUT)
        return at->sharding[d->choice[node]];
    bool plain = at && at->kind == NODE_PARAMETER && at->stored[d->choice[node]].values == 0;
    return plain ? at->stored[d->choice[node]].stored : -1;
}

/* Pins the inputs and parameters that propagation shards otherwise, such as one that follows a pin
 * of a view of it; returns whether there are any. */
static bool give_inputs(Decider *d)
{
    int n = d->out->n;
    const Graph *graph = d->instance->inferred->graph;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int32_t id = chosen_sharding(d, t);
        if (id < 0)
            continue;
        const Sharding *chosen = shardings_at(d->instance->as->shardings, id);
        const Sharding *has = plan_sharding(d->plan, t);
        for (int dim = 0; dim < chosen->n_dims; dim++)
            if (!cut_equal(&chosen->dim[dim], &has->dim[dim]))
                add(d, PIN_TENSOR_DIM, t, dim, &chosen->dim[dim], 0);
    }
    return d->out->n > n;
}

/* ---- pins of an earlier search ---- */

static bool still_chosen(const Decider *d, const Decision *decision)
{
    const OpCut *chosen = decision->kind == PIN_INDEX_DIM ? chosen_cut(d, decision->place) : NULL;
    return chosen && decision->dim < chosen->n &&
           cut_equal(&chosen->index[decision->dim], decision_cut(decision)) &&
           !plan_pin_of(d->instance->session->plan, PIN_INDEX_DIM, decision->place, decision->dim);
}

static bool all_as_chosen(const Decider *d)
{
    const Inferred *inferred = d->instance->inferred;
    int dim;
    for (int i = 0; i < inferred->n_program; i++)
        if (!cut_as_chosen(d, inferred->program[i], &dim))
            return false;
    return true;
}

/* Pins that led to a choice like it: if the others follow again, one plan says so. *whole: they do.
 */
static bool pin_as_before(Decider *d, bool *whole)
{
    const SearchMemo *memo = d->instance->memo;
    for (int i = 0; i < memo->decided.n; i++)
        if (still_chosen(d, &memo->decided.at[i]))
            vec_push(d->arena, d->out, memo->decided.at[i]);
    *whole = false;
    if (memo->decided.n == 0)
        return true;
    if (!plan_again(d, WHOLE))
        return false;
    *whole = all_as_chosen(d);
    return true;
}

/* Copies: what a search decided goes with its arena. */
static void keep_decisions(SearchMemo *memo, const Decisions *all)
{
    memo->decided.n = 0;
    for (int i = 0; i < all->n; i++) {
        Decision decision = all->at[i];
        Cut *cut = arena_make(memo->arena, Cut);
        if (decision.kind != PIN_INDEX_DIM)
            continue;
        *cut = *decision_cut(&decision);
        decision.cut = cut;
        decision.origin.text = arena_str(memo->arena, str_from(decision.origin.text));
        vec_push(memo->arena, &memo->decided, decision);
    }
}

/* ---- all ---- */

enum { ROUNDS_MAX = 400 };

/* Pins nodes of the forward pass, one after another, until all its ops are cut as chosen. */
static bool pin_forward(Decider *d)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        int32_t op = next_to_pin(d);
        if (op < 0)
            break;
        pin_node(d, op);
        if (!plan_again(d, OF_FORWARD))
            return false;
    }
    return true;
}

/* Pins the others: nothing propagates behind the forward pass, so all of them at once. */
static bool pin_sums(Decider *d)
{
    const Inferred *inferred = d->instance->inferred;
    for (int round = 0; round < PINS_OF_NODE; round++) {
        int n = d->out->n, dim;
        bool *pinned = arena_array(d->arena, bool, d->instance->nodes.n);
        for (int i = 0; i < inferred->n_program; i++) {
            int32_t op = inferred->program[i], node = d->instance->node_of_op[op];
            if (cut_as_chosen(d, op, &dim) || pinned[node] || d->n_pinned[node] >= PINS_OF_NODE)
                continue;
            pin_node(d, op);
            pinned[node] = true;
        }
        if (d->out->n == n)
            break;
        if (!plan_again(d, OF_ALL))
            return false;
    }
    return true;
}

static bool pin_all(Decider *d)
{
    return plan_again(d, OF_FORWARD) && pin_forward(d) && plan_again(d, OF_ALL) && pin_sums(d) &&
           plan_again(d, WHOLE);
}

/* Pins of inputs may end what others followed from: those are pinned, too. */
static bool pin_inputs(Decider *d)
{
    for (int round = 0; round < PINS_OF_NODE && give_inputs(d); round++)
        if (!plan_again(d, WHOLE) || (!all_as_chosen(d) && !pin_all(d)))
            return false;
    return true;
}

bool decide(Arena *arena, const Instance *instance, const int32_t *choice, Decisions *out,
            Plan **made, Error *err)
{
    Decider d = {.arena = arena, .instance = instance, .choice = choice, .out = out, .err = err};
    bool whole;
    d.n_pinned = arena_array(arena, uint8_t, instance->nodes.n);
    store_parameters(&d);
    if (!pin_as_before(&d, &whole) || (!whole && !pin_all(&d)))
        return false;
    if (!pin_inputs(&d))
        return false;
    keep_decisions(instance->memo, out);
    if (made)
        *made = d.plan;
    else
        plan_free(d.plan);
    return true;
}

/* ---- a plan's choices ---- */

static int32_t updating_op(const Inferred *inferred, int32_t parameter)
{
    for (int i = inferred->n_program - 1; i >= 0; i--) {
        int32_t op = inferred->program[i];
        if (inferred->graph->phase && inferred->graph->phase[op] != PHASE_UPDATE)
            break;
        if (stored_updated(inferred->graph, op) == parameter)
            return op;
    }
    return -1;
}

static bool is_of_plan(const Instance *instance, const SearchNode *node, int32_t at, int32_t c,
                       const Plan *plan, int32_t update)
{
    const Shardings *shardings = instance->as->shardings;
    if (node->kind == NODE_OP || node->kind == NODE_SUM)
        return op_cut_equal(node->cut[c], program_cut(plan, node->place));
    if (node->kind == NODE_INPUT)
        return sharding_equal(shardings_at(shardings, node->sharding[c]),
                              plan_sharding(plan, node->place));
    if (node->kind != NODE_PARAMETER)
        return true;
    if (!sharding_equal(shardings_at(shardings, node->stored[c].stored),
                        plan_sharding(plan, node->place)))
        return false;
    if (update < 0)
        return true;
    if (node->stored[c].each != plan_stores(plan, node->place, STORED_GRADIENT))
        return false;
    OpCut cut = instance_cut(instance, at, c, instance->inferred->space[update]);
    return op_cut_equal(&cut, program_cut(plan, update));
}

bool choices_of_plan(Arena *arena, Instance *instance, const Plan *plan, const bool **allowed)
{
    bool all = true;
    for (int32_t i = 0; i < instance->nodes.n; i++) {
        const SearchNode *node = &instance->nodes.at[i];
        bool *may = arena_array(arena, bool, node->n), any = false;
        int32_t update =
            node->kind == NODE_PARAMETER ? updating_op(instance->inferred, node->place) : -1;
        for (int32_t c = 0; c < node->n; c++)
            any |= may[c] = is_of_plan(instance, node, i, c, plan, update);
        allowed[i] = any ? may : NULL;
        all &= any;
    }
    return all;
}

static void open_node(const bool **allowed, int32_t node)
{
    if (node >= 0)
        allowed[node] = NULL;
}

void choices_of_holes(Arena *arena, Instance *instance, const Plan *plan, const bool *holes,
                      const bool **allowed)
{
    const Inferred *inferred = instance->inferred;
    choices_of_plan(arena, instance, plan, allowed);
    for (int32_t n = 0; n < instance->nodes.n; n++)
        if (instance->nodes.at[n].kind == NODE_SUM || instance->nodes.at[n].kind == NODE_SHARED)
            open_node(allowed, n);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (!holes[op])
            continue;
        open_node(allowed, instance->node_of_op[op]);
        for (int o = 0; o < inferred->graph->ops[op].n_inputs; o++) {
            int32_t t = op_inputs(inferred->graph, op)[o];
            open_node(allowed, t < 0 ? -1 : instance->node_of_tensor[t]);
        }
    }
}
