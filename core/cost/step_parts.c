#include "core/cost/step_parts.h"

#include "core/cost/gradient_reduces.h"

#include "core/cost/op_declared.h"
#include "core/cost/pipeline_idle.h"
#include "core/cost/streams.h"
#include "core/plan/stage.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    Arena *arena;
    const Plan *plan;
    const Schedule *table;
    const bool *here;       /* per stage: whether the devices run it */
    int once_stage;         /* whose update counts */
    double m;               /* micro-batches */
    const Reshard *reshard; /* that is being visited */
    Vec(StepPart) parts;
    Vec(ExposedPart) exposed;
} Summing;

static void add_exposed(Summing *sum, ExposedPart part)
{
    for (int i = 0; i < sum->exposed.n; i++) {
        ExposedPart *known = &sum->exposed.at[i];
        if (known->step == part.step && known->atoms == part.atoms && known->when == part.when &&
            known->buckets == part.buckets) {
            known->n += part.n;
            known->bytes += part.bytes;
            known->alone_us += part.alone_us;
            known->exposed_us += part.exposed_us;
            return;
        }
    }
    vec_push(sum->arena, &sum->exposed, part);
}

static void add(Summing *sum, StepPart part)
{
    for (int i = 0; i < sum->parts.n; i++) {
        StepPart *known = &sum->parts.at[i];
        if (known->kind == part.kind && known->step == part.step && known->atoms == part.atoms &&
            known->cause == part.cause) {
            known->us += part.us;
            known->n += part.n;
            return;
        }
    }
    vec_push(sum->arena, &sum->parts, part);
}

static void add_step(void *context, const PricedStep *step)
{
    Summing *sum = context;
    bool once = step->when == WHEN_ONCE;
    if (sum->table && streams_have(sum->plan, sum->reshard, step))
        return;
    if (sum->table && (once ? step->stage != sum->once_stage
                            : !sum->here[step->stage] || step->when == WHEN_RECEIVED ||
                                  step->when == WHEN_RETURNED))
        return;
    double times = once ? 1 : sum->m;
    StepPart part = {.kind = once ? PART_REDUCTION : PART_COLLECTIVE};
    part.step = step->step->kind;
    part.atoms = step->step->atoms;
    part.us = times * step->us;
    part.n = times * step->times;
    add(sum, part);
    ExposedPart exposed = {part.step, part.atoms, step->when, .n = part.n};
    exposed.bytes = part.n * (double)step->step->bytes;
    exposed.alone_us = part.n * step->step->us;
    exposed.exposed_us = part.us;
    add_exposed(sum, exposed);
}

/* What ops wait for traffic of parameters. */
static void add_traffic(Summing *sum)
{
    const Streams *streams = sum->plan->priced->pipeline->streams;
    for (int i = 0; i < streams->n; i++) {
        const StreamTraffic *row = &streams->at[i];
        bool once = row->when == WHEN_ONCE;
        if (once ? row->stage != sum->once_stage : !sum->here[row->stage])
            continue;
        double times = once ? 1 : sum->m;
        StepPart part = {.kind = once ? PART_REDUCTION : PART_COLLECTIVE, .step = row->kind};
        part.atoms = row->atoms;
        part.us = times * row->exposed_us;
        part.n = times * row->n;
        add(sum, part);
        ExposedPart exposed = {part.step, part.atoms, row->when, true, .n = part.n};
        exposed.bytes = times * row->bytes;
        exposed.alone_us = times * row->alone_us;
        exposed.exposed_us = part.us;
        add_exposed(sum, exposed);
    }
}

static void add_op(Summing *sum, int32_t op)
{
    const Plan *plan = sum->plan;
    int stage = sum->table ? plan->decided->stages->of_op[op] : 0;
    bool once = plan->inferred->forward && op_runs_once(plan, op);
    if (sum->table && (stage < 0 || (once ? stage != sum->once_stage : !sum->here[stage])))
        return;
    double times = once ? 1 : sum->m, inside_us = op_comm_us(plan, op);
    add(sum, (StepPart){.kind = once ? PART_UPDATE : PART_COMPUTE,
                        .us = times * plan->priced->op_us[op]});
    if (inside_us <= 0)
        return;
    add(sum, (StepPart){.kind = once ? PART_REDUCTION : PART_COLLECTIVE,
                        .us = times * inside_us,
                        .n = times});
    ExposedPart exposed = {.n = times, .alone_us = times * inside_us};
    exposed.when = once                                        ? WHEN_ONCE
                   : plan_phase(plan, op) <= 1 + PHASE_FORWARD ? WHEN_FORWARD
                                                               : WHEN_BACKWARD;
    exposed.exposed_us = exposed.alone_us;
    add_exposed(sum, exposed);
}

/* The lane that is busy longest, and its stages. */
static int busiest_lane(const Plan *plan, bool *here)
{
    const Stages *stages = plan->decided->stages;
    const Pipeline *pipeline = plan->priced->pipeline;
    const Lanes *lanes = pipeline->lanes;
    int busiest = 0;
    double most = -1;
    for (int lane = 0; lane < lanes->n; lane++) {
        double us = 0;
        for (int s = 0; s < stages->n; s++)
            for (int32_t i = lanes->first[s]; i < lanes->first[s + 1]; i++)
                if (lanes->lane[i] == lane)
                    us += stage_forward_us(&pipeline->stage[s]) +
                          (pipeline->table->trains ? stage_backward_us(&pipeline->stage[s]) : 0);
        busiest = us > most ? lane : busiest;
        most = fmax(most, us);
    }
    for (int s = 0; s < stages->n; s++)
        for (int32_t i = lanes->first[s]; i < lanes->first[s + 1]; i++)
            here[s] = here[s] || lanes->lane[i] == busiest;
    return busiest;
}

static int by_exposed(const void *a, const void *b)
{
    const ExposedPart *x = a, *y = b;
    if (x->exposed_us != y->exposed_us)
        return x->exposed_us < y->exposed_us ? 1 : -1;
    return x->alone_us < y->alone_us ? 1 : x->alone_us > y->alone_us ? -1 : 0;
}

static int by_kind(const void *a, const void *b)
{
    const StepPart *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->us > y->us ? -1 : x->us < y->us;
}

/* What a training schedule takes for a backward pass that the graph lacks counts as compute. */
static void add_guessed_backward(Summing *sum)
{
    const Pipeline *pipeline = sum->plan->priced->pipeline;
    if (!sum->table->trains || sum->plan->inferred->forward)
        return;
    for (int s = 0; s < sum->plan->decided->stages->n; s++)
        if (sum->here[s])
            add(sum, (StepPart){.kind = PART_COMPUTE,
                                .us = sum->m * stage_backward_us(&pipeline->stage[s])});
}

static void add_waits(Summing *sum, int lane)
{
    ScheduleIdle idle = pipeline_idle(sum->arena, sum->plan);
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
        add(sum, (StepPart){.kind = PART_WAIT,
                            .cause = (IdleCause)cause,
                            .us = idle.lane_us[lane][cause]});
}

StepParts step_parts(Arena *arena, const Plan *plan)
{
    const Stages *stages = plan->decided->stages;
    const Schedule *table = plan_schedule(plan);
    StepParts out = {.us = plan_step_us(plan), .lane = -1};
    bool *here = arena_array(arena, bool, stages ? stages->n : 1);
    Summing sum = {.arena = arena, .plan = plan, .table = table, .here = here, .m = 1};
    if (table) {
        const StagePrice *stage = plan->priced->pipeline->stage;
        sum.m = stages->n_micro_batches;
        out.lane = busiest_lane(plan, here);
        for (int s = 1; s < stages->n; s++)
            if (stage[s].once_us > stage[sum.once_stage].once_us)
                sum.once_stage = s;
    }
    for (int i = 0; i < plan->inferred->n_program; i++)
        add_op(&sum, plan->inferred->program[i]);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        sum.reshard = &plan->moved->reshards[i];
        pipeline_visit_steps(plan, sum.reshard, add_step, &sum);
    }
    if (table) {
        add_traffic(&sum);
        add_guessed_backward(&sum);
        add_waits(&sum, out.lane);
    }
    if (sum.parts.n > 0)
        qsort(sum.parts.at, (size_t)sum.parts.n, sizeof *sum.parts.at, by_kind);
    if (sum.exposed.n > 0)
        qsort(sum.exposed.at, (size_t)sum.exposed.n, sizeof *sum.exposed.at, by_exposed);
    out.exposed = sum.exposed.at;
    out.n_exposed = sum.exposed.n;
    out.part = arena_array(arena, StepPart, sum.parts.n + 1);
    for (int i = 0; i < sum.parts.n; i++)
        if (sum.parts.at[i].us > 0)
            out.part[out.n++] = sum.parts.at[i];
    return out;
}

const char *step_part_name(Arena *arena, const Mesh *mesh, const StepPart *part)
{
    Buf out = buf_new(arena);
    switch (part->kind) {
    case PART_COMPUTE:
        return "compute";
    case PART_WAIT:
        return arena_printf(arena, "waits: %s", idle_cause_name(part->cause));
    case PART_UPDATE:
        return "update of parameters";
    case PART_COLLECTIVE:
    case PART_REDUCTION:
        break;
    }
    buf_puts(&out, part->atoms ? step_kind_name(part->step) : "collectives inside ops");
    if (part->atoms) {
        buf_puts(&out, " over ");
        mesh_format_set(mesh, part->atoms, ".", &out);
    }
    if (part->kind == PART_REDUCTION)
        buf_puts(&out, ", once a step");
    return out.s;
}

const char *exposed_part_cause(const ExposedPart *part)
{
    static const char *const between[] = {/* ORDER WHEN */
                                          "between ops, forward", "between ops, backward",
                                          "sent forward", "sent backward", "in the update"};
    bool gathers = part->step == STEP_ALL_GATHER;
    if (!part->buckets)
        return between[part->when];
    if (part->when == WHEN_ONCE)
        return gathers ? "new parameters, once a step" : "gradients, once a step";
    if (part->when == WHEN_FORWARD)
        return gathers ? "parameters, forward" : "gradients, forward";
    return gathers ? "parameters, backward" : "gradients, backward";
}
