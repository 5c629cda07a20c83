#include "core/cost/slot_pieces.h"

#include "core/cost/cost.h"
#include "core/cost/gradient_reduces.h"
#include "core/cost/op_declared.h"
#include "core/cost/streams.h"
#include "core/plan/stage.h"

#include <stdlib.h>

typedef struct {
    int64_t at; /* where in the program */
    int order;  /* of equal ones */
    SlotPiece piece;
} PlacedPiece;

typedef struct {
    const Plan *plan;
    const Reshard *reshard;
    int stage;
    BlockPass pass;
    const int32_t *place; /* per op: its place in the program */
    Arena *scratch;
    Vec(PlacedPiece) all;
} Filling;

static void add(Filling *f, int64_t at, SlotPiece piece)
{
    if (piece.us > 0)
        vec_push(f->scratch, &f->all, ((PlacedPiece){at, f->all.n, piece}));
}

/* Whether that pass of the schedule runs an op of the backward pass. */
static bool is_in_backward(const Filling *f, int32_t op)
{
    bool weights = f->pass == BLOCK_WEIGHT;
    return f->pass == BLOCK_BACKWARD || op_makes_weights(f->plan, op) == weights;
}

static void add_op(Filling *f, int32_t op)
{
    const Plan *plan = f->plan;
    bool backward = plan_phase(plan, op) > 1 + PHASE_FORWARD;
    if (plan->decided->stages->of_op[op] != f->stage || op_runs_once(plan, op) ||
        backward != (f->pass != BLOCK_FORWARD) || (backward && !is_in_backward(f, op)))
        return;
    int64_t at = 2 * (int64_t)f->place[op] + 1;
    add(f, at, (SlotPiece){.op = true, .us = plan->priced->op_us[op], .of = op, .kind = -1});
    add(f, at, (SlotPiece){.us = op_comm_us(plan, op), .of = op, .kind = -1});
}

static void add_step(void *context, const PricedStep *step)
{
    Filling *f = context;
    When when = f->pass == BLOCK_FORWARD ? WHEN_FORWARD : WHEN_BACKWARD;
    if (step->stage != f->stage || step->when != when || step->for_op < 0 ||
        streams_have(f->plan, f->reshard, step) ||
        (when == WHEN_BACKWARD && !is_in_backward(f, step->for_op)))
        return;
    add(f, 2 * (int64_t)f->place[step->for_op],
        (SlotPiece){false, step->step->atoms, step->us, step->for_op, (int)step->step->kind});
}

/* A split backward waits for it with the gradient of its input. */
static void add_traffic(Filling *f)
{
    const Streams *streams = f->plan->priced->pipeline->streams;
    When when = f->pass == BLOCK_FORWARD ? WHEN_FORWARD : WHEN_BACKWARD;
    for (int i = 0; i < streams->n && f->pass != BLOCK_WEIGHT; i++) {
        const StreamTraffic *row = &streams->at[i];
        if (row->stage == f->stage && row->when == when)
            add(f, row->kind == STEP_ALL_GATHER ? -1 : INT64_MAX,
                (SlotPiece){false, row->atoms, row->exposed_us, -1, (int)row->kind});
    }
}

static int by_place(const void *left, const void *right)
{
    const PlacedPiece *a = left, *b = right;
    return a->at != b->at ? (a->at > b->at ? 1 : -1)
                          : (a->order > b->order) - (a->order < b->order);
}

SlotPieces slot_pieces(Arena *arena, const Plan *plan, int stage, BlockPass pass)
{
    const Inferred *inferred = plan->inferred;
    SlotPieces out = {0};
    if (pass != BLOCK_FORWARD && !inferred->forward)
        return out;
    Filling f = {.plan = plan, .stage = stage, .pass = pass, .scratch = arena_new()};
    int32_t *place = arena_array(f.scratch, int32_t, inferred->graph->n_ops);
    for (int i = 0; i < inferred->n_program; i++)
        place[inferred->program[i]] = i;
    f.place = place;
    for (int i = 0; i < inferred->n_program; i++)
        add_op(&f, inferred->program[i]);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        f.reshard = &plan->moved->reshards[i];
        pipeline_visit_steps(plan, f.reshard, add_step, &f);
    }
    add_traffic(&f);
    if (f.all.n > 0)
        qsort(f.all.at, (size_t)f.all.n, sizeof f.all.at[0], by_place);
    SlotPiece *piece = arena_array(arena, SlotPiece, f.all.n + 1);
    for (int i = 0; i < f.all.n; i++) {
        piece[i] = f.all.at[i].piece;
        out.us += piece[i].us;
    }
    out.n = f.all.n;
    out.piece = piece;
    arena_free(f.scratch);
    return out;
}
