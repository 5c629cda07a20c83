#include "viz/draw/schedule.h"

#include "core/cost/slot_pieces.h"
#include "core/cost/streams.h"
#include "core/plan/stage.h"

typedef struct {
    Arena *arena;
    const Plan *plan;
    const Reshard *reshard; /* that is being visited */
    StageComm *stage;
} Summing;

static void add(Summing *sum, CommTimes *times, CommTime time)
{
    if (time.us <= 0)
        return;
    for (int i = 0; i < times->n; i++) {
        CommTime *known = &times->at[i];
        if (known->atoms == time.atoms && known->beside == time.beside &&
            known->gathers == time.gathers) {
            known->us += time.us;
            return;
        }
    }
    vec_push(sum->arena, times, time);
}

/* Sends, and what is once a step and no bucket. */
static void add_step(void *context, const PricedStep *step)
{
    Summing *sum = context;
    StageComm *stage = &sum->stage[step->stage];

    if (step->when == WHEN_RECEIVED)
        stage->received = step->step->atoms;
    if (step->when == WHEN_RETURNED)
        stage->returned = step->step->atoms;
    if (step->when == WHEN_ONCE && !streams_have(sum->plan, sum->reshard, step))
        add(sum, &stage->once, (CommTime){.atoms = step->step->atoms, .us = step->us});
}

/* Buckets beside ops; the waits for those of a pass are among its pieces. */
static void add_buckets(Summing *sum, const Streams *streams)
{
    for (int i = 0; i < streams->n; i++) {
        const StreamTraffic *row = &streams->at[i];
        StageComm *stage = &sum->stage[row->stage];
        CommTime beside = {.atoms = row->atoms,
                           .beside = true,
                           .gathers = row->when == WHEN_ONCE && row->kind == STEP_ALL_GATHER,
                           .us = row->alone_us - row->exposed_us};
        if (row->when == WHEN_FORWARD)
            add(sum, &stage->pass[BLOCK_FORWARD], beside);
        if (row->when == WHEN_BACKWARD) {
            add(sum, &stage->pass[BLOCK_BACKWARD], beside);
            add(sum, &stage->pass[BLOCK_INPUT], beside);
        }
        if (row->when != WHEN_ONCE)
            continue;
        add(sum, &stage->once, (CommTime){.atoms = row->atoms, .us = row->exposed_us});
        add(sum, &stage->once, beside);
    }
}

StageComm *schedule_comm(Arena *arena, const Plan *plan)
{
    int n = plan->decided->stages->n;
    Summing sum = {.arena = arena, .plan = plan, .stage = arena_array(arena, StageComm, n)};

    for (int s = 0; s < n; s++)
        for (BlockPass pass = 0; pass < N_BLOCK_PASSES; pass++) {
            SlotPieces pieces = slot_pieces(arena, plan, s, pass);
            for (int i = 0; i < pieces.n; i++)
                if (!pieces.piece[i].op)
                    add(&sum, &sum.stage[s].pass[pass],
                        (CommTime){.atoms = pieces.piece[i].atoms, .us = pieces.piece[i].us});
        }
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        sum.reshard = &plan->moved->reshards[i];
        pipeline_visit_steps(plan, sum.reshard, add_step, &sum);
    }
    if (plan->priced->pipeline->streams)
        add_buckets(&sum, plan->priced->pipeline->streams);
    return sum.stage;
}
