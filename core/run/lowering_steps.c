/* lowering_steps.c - a training step of several micro-batches, in the order of its schedule.
 *
 * The instructions of one micro-batch are dealt into blocks: the forward pass of each stage, its
 * backward pass, there the gradients of weights apart, and the update. A block is repeated for each
 * micro-batch where the schedule has it, in a view of the slots of its own.
 *
 * A reshard belongs to the first block that reads what it makes. What the update reads is added up
 * over the micro-batches as it was before such reshards: a partial gradient stays partial until the
 * end, so gradients are reduced once a step. One that is stored sharded is reduced behind the op
 * that makes it, and added up so. The mean of the micro-batches is taken, of the loss too; of other
 * outputs the last micro-batch counts.
 */
#include "core/cost/gradient_reduces.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/run/lowering.h"

#include <stdlib.h>

/* Blocks of n stages in an order that every schedule keeps: forward by stage, then by stage from
 * the last one the backward pass and its gradients of weights, then the update. */
typedef struct {
    Lowering *l;
    Arena *scratch;
    const Schedule *table;
    int at;                        /* the instruction that is looked at */
    int n_stages, n_micro, update; /* update: its block, the last one */
    int *block;                    /* per instruction */
    int *reads;                    /* per slot: the first block that reads it; INT_MAX: none */
    int *fills;                    /* per slot: the block that fills it; -1: none */
    bool *added;                   /* per slot: the micro-batches are added up for the update */
    bool *loaded;                  /* per slot: it is loaded again for the update */
    bool *last;                    /* per slot: the update has that of the last micro-batch */
    Vec(int) * of;                 /* per block: its instructions */
    Vec(Instr) list;
} Repeating;

int lower_micro_batches(const Plan *plan)
{
    const Schedule *table = plan_schedule(plan);
    return plan->inferred->graph->next_of && table && table->trains ? table->n_micro_batches : 1;
}

/* ---- which block an instruction belongs to ---- */

static int forward_block(int stage)
{
    return stage;
}

static int backward_block(const Repeating *r, int stage, bool weights)
{
    return r->n_stages + 2 * (r->n_stages - 1 - stage) + weights;
}

static int block_of_op(const Repeating *r, int32_t op)
{
    const Plan *plan = r->l->plan;
    Phase phase = (Phase)r->l->graph->phase[op];
    int stage = stage_of(plan, op) < 0 ? 0 : stage_of(plan, op);
    if (op_runs_once(plan, op))
        return r->update;
    if (phase == PHASE_FORWARD)
        return forward_block(stage);
    return backward_block(r, stage, phase == PHASE_BACKWARD && op_makes_weights(plan, op));
}

/* What the instruction at r->at uses, whose block is known. */
static void see_use(void *context, int32_t slot, bool fills)
{
    Repeating *r = context;
    int block = r->block[r->at];
    if (fills)
        r->fills[slot] = block;
    else if (block < r->reads[slot])
        r->reads[slot] = block;
}

static bool is_linear(const Repeating *r, int32_t slot)
{
    int32_t sharding = r->l->slots.at[slot].sharding;
    Dtype dtype = (Dtype)r->l->plan->inferred->dtype[r->l->slots.at[slot].tensor];
    if (!dtype_is_float(dtype) || sharding < 0)
        return false;
    const Sharding *held = shardings_at(r->l->plan->shardings, sharding);
    for (int a = 0; a < r->l->plan->mesh->n_atoms; a++)
        if (held->partial[a] != REDUCE_NONE && held->partial[a] != REDUCE_SUM)
            return false;
    return true;
}

/* The block of a step or a load: that of its first reader, if it can wait so long. */
static int block_of_reader(const Repeating *r, int i)
{
    const Instr *instr = &r->l->instrs.at[i];
    int block = r->reads[instr->slot];
    int32_t maker = r->l->graph->tensors[r->l->slots.at[instr->slot].tensor].maker;
    bool waits = instr->kind == INSTR_LOAD || maker < 0 || is_linear(r, instr->from);
    if (instr->kind == INSTR_STEP &&
        !reshard_is_of_update(r->l->plan, &r->l->plan->moved->reshards[instr->reshard]))
        waits = false;
    if (block == INT_MAX)
        block = r->update;
    return block == r->update && !waits ? block_of_op(r, maker) : block;
}

static bool deal(Repeating *r, Error *err)
{
    const Lowering *l = r->l;
    for (r->at = l->instrs.n - 1; r->at >= l->out->n_once; r->at--) {
        const Instr *instr = &l->instrs.at[r->at];
        if (instr->kind > INSTR_STEP) {
            error_kind(err, ERROR_UNSUPPORTED,
                       "a step of several micro-batches cannot have branches or loops in a run");
            return error_hint(err, "one micro-batch can: --set micro_batches=1");
        }
        r->block[r->at] =
            instr->kind == INSTR_OP ? block_of_op(r, instr->op) : block_of_reader(r, r->at);
        lower_each_slot(l, instr, see_use, r);
    }
    return true;
}

/* ---- what the update reads ---- */

static void see_update(void *context, int32_t slot, bool fills)
{
    Repeating *r = context;
    if (!fills && !r->l->out->shared[slot] && r->fills[slot] != r->update)
        r->added[slot] = true;
}

static bool find_added(Repeating *r, Error *err)
{
    const Lowering *l = r->l;
    for (int i = l->out->n_once; i < l->instrs.n; i++)
        if (r->block[i] == r->update)
            lower_each_slot(l, &l->instrs.at[i], see_update, r);
    for (int i = 0; i < l->graph->n_outputs; i++) {
        int32_t slot = l->out->output[i];
        if (l->out->shared[slot] || r->fills[slot] == r->update)
            continue;
        r->added[slot] |= i == l->out->loss;
        r->last[slot] = !r->added[slot];
    }
    for (int i = l->out->n_once; i < l->instrs.n; i++) {
        int32_t slot = l->instrs.at[i].slot;
        if (l->instrs.at[i].kind != INSTR_LOAD)
            continue;
        r->loaded[slot] = r->added[slot];
        r->added[slot] = false;
    }
    for (int s = 0; s < l->slots.n; s++)
        if (r->added[s] && !is_linear(r, s))
            return error_kind(err, ERROR_UNSUPPORTED,
                              "'%s' is read by the update, and cannot be added up over "
                              "micro-batches",
                              tensor_name(l->graph, l->slots.at[s].tensor));
    return true;
}

/* ---- the list ---- */

static int by_start(const void *a, const void *b)
{
    const Block *const *x = a, *const *y = b;
    double by[3] = {(*x)->start_us - (*y)->start_us, (*x)->end_us - (*y)->end_us,
                    (double)(*x)->step - (*y)->step};
    for (int i = 0; i < 3; i++)
        if (by[i] != 0)
            return by[i] < 0 ? -1 : 1;
    return (*x)->stage - (*y)->stage;
}

/* Appends instructions of up to two blocks, in the order of the one micro-batch. */
static void repeat(Repeating *r, int block, int second, int view)
{
    int n = r->of[block].n, n_second = second < 0 ? 0 : r->of[second].n;
    for (int i = 0, k = 0; i < n || k < n_second;) {
        bool takes_first = k == n_second || (i < n && r->of[block].at[i] < r->of[second].at[k]);
        int at = takes_first ? r->of[block].at[i++] : r->of[second].at[k++];
        Instr instr = r->l->instrs.at[at];
        instr.view = view;
        vec_push(r->scratch, &r->list, instr);
    }
}

static void repeat_block(Repeating *r, const Block *block)
{
    int backward = backward_block(r, block->stage, false);
    int weights = backward_block(r, block->stage, true), view = block->micro_batch;
    if (block->pass == BLOCK_FORWARD)
        repeat(r, forward_block(block->stage), -1, view);
    else if (block->pass == BLOCK_BACKWARD)
        repeat(r, backward, weights, view);
    else
        repeat(r, block->pass == BLOCK_INPUT ? backward : weights, -1, view);
}

static void make_list(Repeating *r)
{
    const Lowering *l = r->l;
    const Block **order = arena_array(r->scratch, const Block *, r->table->n_blocks);
    for (int b = 0; b < r->table->n_blocks; b++)
        order[b] = &r->table->block[b];
    qsort(order, (size_t)r->table->n_blocks, sizeof *order, by_start);
    r->of = arena_alloc(r->scratch, arena_array_bytes((size_t)r->update + 1, sizeof *r->of));
    memset(r->of, 0, ((size_t)r->update + 1) * sizeof *r->of);
    for (int i = l->out->n_once; i < l->instrs.n; i++)
        vec_push(r->scratch, &r->of[r->block[i]], i);
    for (int b = 0; b < r->table->n_blocks; b++)
        repeat_block(r, order[b]);
    for (int i = l->out->n_once; i < l->instrs.n; i++)
        if (l->instrs.at[i].kind == INSTR_LOAD && r->loaded[l->instrs.at[i].slot]) {
            Instr instr = l->instrs.at[i];
            instr.view = r->n_micro;
            vec_push(r->scratch, &r->list, instr);
        }
    repeat(r, r->update, -1, r->n_micro);
}

/* ---- where slots are freed, or added up ---- */

typedef struct {
    Repeating *r;
    int view, n_ended, at;
    int *last;     /* per view and slot: the last instruction of the list with it; -1: none */
    int *n_added;  /* per slot */
    bool *filled;  /* per view and slot */
    bool *kept;    /* per slot: an output */
    int32_t early; /* a slot that is read before it is filled; -1 */
    Vec(Instr) out;
} Ends;

static int64_t place_of(const Ends *e, int32_t slot)
{
    return (e->r->l->out->shared[slot] ? 0 : (int64_t)e->view * e->r->l->slots.n) + slot;
}

static void see_last(void *context, int32_t slot, bool fills)
{
    Ends *e = context;
    (void)fills;
    e->last[place_of(e, slot)] = e->at;
}

static void see_fill(void *context, int32_t slot, bool fills)
{
    Ends *e = context;
    if (fills)
        e->filled[place_of(e, slot)] = true;
    else if (!e->filled[place_of(e, slot)] && e->early < 0)
        e->early = slot;
}

static void put_end(Ends *e, int32_t slot, bool adds)
{
    const Repeating *r = e->r;
    Instr instr = {.kind = adds ? INSTR_ADD : INSTR_FREE,
                   .slot = slot,
                   .from = -1,
                   .op = -1,
                   .reshard = -1,
                   .body = -1,
                   .view = e->view};
    if (adds) {
        bool alone = r->last[slot];
        instr.first = alone || e->n_added[slot] == 0;
        e->n_added[slot]++;
        instr.mean = !alone && e->n_added[slot] == r->n_micro ? r->n_micro : 0;
        e->filled[(int64_t)r->n_micro * r->l->slots.n + slot] = true;
    }
    vec_push(r->l->arena, &e->out, instr);
}

static void see_end(void *context, int32_t slot, bool fills)
{
    Ends *e = context;
    const Repeating *r = e->r;
    (void)fills;
    if (r->l->out->shared[slot] || e->last[place_of(e, slot)] != e->at)
        return;
    e->last[place_of(e, slot)] = -1; /* an op may have it twice */
    if (e->view < r->n_micro)
        put_end(e, slot, r->added[slot] || (r->last[slot] && e->view == r->n_micro - 1));
    else if (!e->kept[slot])
        put_end(e, slot, false);
}

static bool end_slots(Repeating *r, Error *err)
{
    Lowering *l = r->l;
    int64_t n = (int64_t)(r->n_micro + 1) * l->slots.n;
    Ends e = {.r = r, .early = -1};
    e.last = arena_array(r->scratch, int, n);
    e.filled = arena_array(r->scratch, bool, n);
    e.n_added = arena_array(r->scratch, int, l->slots.n);
    e.kept = arena_array(r->scratch, bool, l->slots.n);
    for (int i = 0; i < l->graph->n_outputs; i++)
        e.kept[l->out->output[i]] = true;
    for (int i = 0; i < l->out->n_carried; i++)
        e.kept[l->out->carried[i].from] = true;
    for (e.at = 0; e.at < r->list.n; e.at++) {
        e.view = r->list.at[e.at].view;
        lower_each_slot(l, &r->list.at[e.at], see_last, &e);
    }
    for (int i = 0; i < l->out->n_once; i++) {
        vec_push(l->arena, &e.out, l->instrs.at[i]);
        e.filled[l->instrs.at[i].slot] = true;
    }
    for (e.at = 0; e.at < r->list.n; e.at++) {
        e.view = r->list.at[e.at].view;
        vec_push(l->arena, &e.out, r->list.at[e.at]);
        lower_each_slot(l, &r->list.at[e.at], see_fill, &e);
        lower_each_slot(l, &r->list.at[e.at], see_end, &e);
    }
    l->out->instrs = e.out.at;
    l->out->n_instrs = e.out.n;
    return e.early < 0 || error_kind(err, ERROR_RUN, "the schedule reads '%s' before it is made",
                                     tensor_name(l->graph, l->slots.at[e.early].tensor));
}

bool lower_steps(Lowering *l, Error *err)
{
    Repeating r = {.l = l, .scratch = arena_new(), .table = l->plan->priced->pipeline->table};
    r.n_stages = r.table->n_stages;
    r.n_micro = r.table->n_micro_batches;
    r.update = 3 * r.n_stages;
    l->out->n_views = r.n_micro + 1;
    r.block = arena_array(r.scratch, int, l->instrs.n);
    r.reads = arena_array(r.scratch, int, l->slots.n);
    r.fills = arena_array(r.scratch, int, l->slots.n);
    r.added = arena_array(r.scratch, bool, l->slots.n);
    r.loaded = arena_array(r.scratch, bool, l->slots.n);
    r.last = arena_array(r.scratch, bool, l->slots.n);
    for (int s = 0; s < l->slots.n; s++) {
        r.reads[s] = INT_MAX;
        r.fills[s] = -1;
    }
    bool ok = deal(&r, err) && find_added(&r, err);
    if (ok)
        make_list(&r);
    ok = ok && end_slots(&r, err);
    arena_free(r.scratch);
    return ok;
}
