#include "core/cost/pipeline.h"

#include "core/cost/ring.h"

#include "core/base/intern.h"
#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/cost/gradient_reduces.h"
#include "core/cost/op_declared.h"
#include "core/cost/pipeline_idle.h"
#include "core/cost/streams.h"
#include "core/plan/plan_findings.h"
#include "core/plan/stage.h"

#include <inttypes.h>
#include <math.h>

static const double unbalanced = 1.2; /* slowest over mean stage time from which a finding is made
                                       */

double plan_step_us(const Plan *plan)
{
    const Schedule *table = plan_schedule(plan);
    double once = 0;
    for (int s = 0; table && s < plan->decided->stages->n; s++)
        once = fmax(once, plan->priced->pipeline->stage[s].once_us);
    return table ? table->us + once : plan->priced->totals.step_us;
}

/* ---- stage times ---- */

/* The nearest stage on those devices, after stage `s` or before it. */
static int stage_on(const Stages *stages, int s, int by, int devices)
{
    for (int at = s + by; 0 <= at && at < stages->n; at += by)
        if (stages->at[at].devices == devices)
            return at;
    return s;
}

void stage_ends(const Plan *plan, const Reshard *reshard, int *from, int *to)
{
    const Stages *stages = plan->decided->stages;
    int32_t maker = plan->inferred->graph->tensors[reshard->tensor].maker;
    bool sent = reshard->from_devices != reshard->to_devices;
    *from = maker < 0 ? -1 : stages->of_op[maker];
    *to = reshard->n_uses > 0 ? stages->of_op[plan->moved->reshard_uses[reshard->use]] : *from;
    if (reshard->n_uses == 0 && sent && *from >= 0)
        *to = stage_on(stages, *from, 1, reshard->to_devices);
    if (*from < 0 || !sent)
        *from = *to;
    else if (*to > 0 && plan_devices(plan, maker) != reshard->from_devices)
        *from = stage_on(stages, *to, -1, reshard->from_devices);
}

static bool is_backward(const Plan *plan, int32_t op)
{
    return op >= 0 && plan_phase(plan, op) > 1 + PHASE_FORWARD;
}

bool op_makes_weights(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    const Stages *stages = plan->decided->stages;
    if (stages && stages->sent && stages->sent[op])
        return false;
    for (int o = 0; o < graph->ops[op].n_outputs; o++)
        if (!gradient_is_of_parameters(plan, op_outputs(graph, op)[o]))
            return false;
    return true;
}

/* Time of the backward pass: of a stage's ops, or of a collective for `reader`. */
static void add_backward(const Plan *plan, StagePrice *price, int32_t op, double us)
{
    price->backward_us += us;
    if (plan->inferred->graph->phase[op] == PHASE_AGAIN)
        price->again_us += us;
    if (op_makes_weights(plan, op))
        price->weight_us += us;
}

void pipeline_visit_steps(const Plan *plan, const Reshard *reshard, PricedStepVisit *visit,
                          void *context)
{
    int from = 0, to = 0;
    if (plan->decided->stages)
        stage_ends(plan, reshard, &from, &to);
    if (to < 0)
        return;
    int32_t reader = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;
    int32_t maker = plan->inferred->graph->tensors[reshard->tensor].maker;
    bool backward = is_backward(plan, reader < 0 ? maker : reader);
    bool again = recompute_group(plan, reader) >= 0 && !plan->inferred->forward;
    PricedStep priced = {.for_op = reader < 0 ? maker : reader, .stage = from};
    priced.times = reshard_repeat(plan, reshard);
    for (int i = 0; i < reshard->path->n_steps; i++) {
        const Step *step = &reshard->path->step[i];
        bool sends = step->kind == STEP_SEND || step->kind == STEP_BROADCAST;
        priced.when = !backward                             ? (sends ? WHEN_RECEIVED : WHEN_FORWARD)
                      : reshard_is_of_update(plan, reshard) ? WHEN_ONCE
                      : sends                               ? WHEN_RETURNED
                                                            : WHEN_BACKWARD;
        priced.stage = sends && priced.when != WHEN_RETURNED ? to : priced.stage;
        priced.step = step;
        priced.us = priced.times * step->us;
        if (step->kind == STEP_RING)
            priced.us -= priced.times * ring_hidden_us(plan, reshard);
        priced.again = again && priced.stage == to;
        visit(context, &priced);
        priced.stage = sends ? to : priced.stage;
    }
}

typedef struct {
    const Plan *plan;
    StagePrice *price;
    const Reshard *reshard;
} StagePricing;

static void add_step(void *context, const PricedStep *step)
{
    const StagePricing *pricing = context;
    StagePrice *price = &pricing->price[step->stage];
    if (streams_have(pricing->plan, pricing->reshard, step))
        return;
    if (step->when == WHEN_ONCE) {
        price->once_us += step->us;
    } else if (step->when == WHEN_BACKWARD) {
        add_backward(pricing->plan, price, step->for_op, step->us);
    } else if (step->when == WHEN_RETURNED) {
        price->return_us += step->us;
    } else if (step->when == WHEN_RECEIVED) {
        price->receive_us += step->us;
        price->receive_bytes += (int64_t)(step->times * (double)step->step->bytes);
    } else {
        price->comm_us += step->us;
        price->again_us += step->again ? step->us : 0;
    }
}

static void add_traffic(const Streams *streams, StagePrice *price)
{
    for (int i = 0; i < streams->n; i++) {
        const StreamTraffic *row = &streams->at[i];
        StagePrice *at = &price[row->stage];
        *(row->when == WHEN_ONCE       ? &at->once_us
          : row->when == WHEN_BACKWARD ? &at->backward_us
                                       : &at->comm_us) += row->exposed_us;
    }
}

static void add_op(const Plan *plan, StagePrice *price, int32_t op)
{
    const Stages *stages = plan->decided->stages;
    int s = stages->of_op[op];
    if (s < 0)
        return;
    double inside_us = op_comm_us(plan, op);
    if (op_runs_once(plan, op)) {
        price[s].once_us += plan->priced->op_us[op] + inside_us;
        return;
    }
    if (is_backward(plan, op)) {
        add_backward(plan, &price[s], op, plan->priced->op_us[op] + inside_us);
        return;
    }
    price[s].compute_us += plan->priced->op_us[op];
    price[s].comm_us += inside_us;
    if (recompute_group(plan, op) >= 0 && !plan->inferred->forward)
        price[s].again_us += plan->priced->op_us[op] + inside_us;
}

/* ---- lanes ---- */

/* Positions that agree on every atom which distinguishes the devices of some stage form a class;
 * classes that run the same stages are one lane. */
typedef struct {
    const Plan *plan;
    Arena *scratch;
    AtomSet fixed;
    int32_t n;     /* classes */
    int32_t *lane; /* per class: the stages whose devices contain it; 0 if none do */
} LaneClasses;

static int32_t class_of(const LaneClasses *classes, int64_t position)
{
    const Mesh *mesh = classes->plan->mesh;
    int64_t id = 0;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (classes->fixed >> a & 1)
            id = id * mesh->atoms[a].size + mesh_atom_coord(mesh, a, position);
    return (int32_t)id;
}

static int64_t classes_in(const LaneClasses *classes, SubMesh sub)
{
    return mesh_atoms_size(classes->plan->mesh, classes->fixed & ~sub.fixed);
}

static int32_t class_in(const LaneClasses *classes, SubMesh sub, int64_t i)
{
    return class_of(
        classes, mesh_group_member(classes->plan->mesh, classes->fixed & ~sub.fixed, sub.first, i));
}

static void split_by(LaneClasses *classes, Intern *lanes, int16_t devices)
{
    SubMesh sub = classes->plan->decided->submeshes[devices];
    int64_t n = classes_in(classes, sub);
    for (int64_t i = 0; i < n; i++) {
        int32_t *lane = &classes->lane[class_in(classes, sub, i)];
        int32_t key[2] = {*lane, devices};
        *lane = intern_put(lanes, key, sizeof key) + 1;
    }
}

/* Numbers the lanes in mesh order, and counts their devices. */
static int32_t number_lanes(LaneClasses *classes, int n_keys, int32_t *n_devices)
{
    int32_t *number = arena_array(classes->scratch, int32_t, n_keys + 1), n = 0;
    int32_t each = (int32_t)(classes->plan->mesh->n_devices / classes->n);
    for (int32_t c = 0; c < classes->n; c++) {
        int32_t *lane = &classes->lane[c];
        if (*lane == 0)
            continue;
        if (number[*lane] == 0)
            number[*lane] = ++n;
        *lane = number[*lane] - 1;
        n_devices[*lane] += each;
    }
    return n;
}

/* The lanes of a part of the mesh, each once. */
static int list_lanes(const LaneClasses *classes, SubMesh sub, bool *seen, int32_t *out)
{
    int64_t n = classes_in(classes, sub);
    int n_out = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t lane = classes->lane[class_in(classes, sub, i)];
        if (!seen[lane])
            out[n_out++] = lane;
        seen[lane] = true;
    }
    for (int i = 0; i < n_out; i++)
        seen[out[i]] = false;
    return n_out;
}

static LaneClasses classes_of(const Plan *plan, Arena *scratch, int *n_keys)
{
    const Stages *stages = plan->decided->stages;
    LaneClasses classes = {.plan = plan, .scratch = scratch};
    Intern *keys = intern_new(scratch);
    bool *done = arena_array(scratch, bool, plan->decided->n_submeshes);
    for (int s = 0; s < stages->n; s++)
        classes.fixed |= plan->decided->submeshes[stages->at[s].devices].fixed;
    classes.n = (int32_t)mesh_atoms_size(plan->mesh, classes.fixed);
    classes.lane = arena_array(scratch, int32_t, classes.n);
    for (int s = 0; s < stages->n; s++) {
        if (!done[stages->at[s].devices])
            split_by(&classes, keys, stages->at[s].devices);
        done[stages->at[s].devices] = true;
    }
    *n_keys = intern_count(keys);
    return classes;
}

static const Lanes *lanes_of(const Plan *plan, Arena *scratch)
{
    const Stages *stages = plan->decided->stages;
    int n_keys;
    LaneClasses classes = classes_of(plan, scratch, &n_keys);
    Lanes *lanes = arena_make(plan->arena, Lanes);
    int32_t *n_devices = arena_array(plan->arena, int32_t, n_keys);
    int32_t *first = arena_array(plan->arena, int32_t, stages->n + 1);
    lanes->n = number_lanes(&classes, n_keys, n_devices);
    bool *seen = arena_array(scratch, bool, lanes->n);
    int32_t *some = arena_array(scratch, int32_t, lanes->n);
    Vec(int32_t) list = {0};
    for (int s = 0; s < stages->n; s++) {
        int n = list_lanes(&classes, plan->decided->submeshes[stages->at[s].devices], seen, some);
        for (int i = 0; i < n; i++)
            vec_push(plan->arena, &list, some[i]);
        first[s + 1] = list.n;
    }
    lanes->n_devices = n_devices;
    lanes->first = first;
    lanes->lane = list.at;
    return lanes;
}

/* ---- the schedule ---- */

static void find_refused(Plan *plan, const Error *err)
{
    const Decision *schedule = plan->decided->stages->scheduled;
    plan_find(plan, LEVEL_ERROR, "schedule", -1, -1, arena_str(plan->arena, str_from(err->hint)),
              "%s", err->text);
    if (schedule)
        plan_found_at(plan, &schedule->origin);
}

/* Times as they are, and the bubble if all stages took equally long. */
static void make_table(Plan *plan, Pipeline *out, Arena *scratch)
{
    const Stages *stages = plan->decided->stages;
    Error err = {0};
    Schedule *table = schedule_make(plan->arena, str_from(stages->schedule), stages->n, out->lanes,
                                    stages->n_micro_batches, &err);
    if (!table) {
        find_refused(plan, &err);
        return;
    }
    StageTime *even = arena_array(scratch, StageTime, stages->n);
    for (int s = 0; s < stages->n; s++)
        even[s] = (StageTime){.forward_us = 1, .backward_us = 2, .weight_us = 1};
    schedule_time(scratch, table, even);
    out->even_idle = table->idle;
    schedule_time(plan->arena, table, pipeline_times(scratch, out, stages->n));
    out->table = table;
}

static void find_unbalanced(Plan *plan, const Pipeline *pipeline)
{
    const Stages *stages = plan->decided->stages;
    double sum = 0;
    int slowest = 0;
    for (int s = 0; s < stages->n; s++) {
        sum += stage_forward_us(&pipeline->stage[s]);
        if (stage_forward_us(&pipeline->stage[s]) > stage_forward_us(&pipeline->stage[slowest]))
            slowest = s;
    }
    double most = stage_forward_us(&pipeline->stage[slowest]), mean = sum / stages->n;
    if (pipeline->lanes->n < 2 || mean <= 0 || most < unbalanced * mean)
        return;
    Arena *scratch = arena_new();
    Buf slow = buf_new(scratch), usual = buf_new(scratch);
    units_format_us(most, &slow);
    units_format_us(mean, &usual);
    plan_find(plan, LEVEL_NOTE, "unbalanced", plan->inferred->program[stages->at[slowest].first],
              -1, "fewer ops in that stage, or more devices for it",
              "stage %d takes %s forward, %.2g times the mean of %s: other stages wait for it",
              slowest, slow.s, most / mean, usual.s);
    arena_free(scratch);
}

const Pipeline *pipeline_price(Plan *plan)
{
    const Stages *stages = plan->decided->stages;
    if (!stages)
        return NULL;
    Arena *scratch = arena_new();
    StagePrice *price = arena_array(plan->arena, StagePrice, stages->n);
    for (int s = 0; s < stages->n; s++)
        price[s].trains = plan->inferred->forward != NULL;
    for (int i = 0; i < plan->inferred->n_program; i++)
        add_op(plan, price, plan->inferred->program[i]);
    for (int i = 0; i < plan->moved->n_reshards; i++)
        pipeline_visit_steps(plan, &plan->moved->reshards[i], add_step,
                             &(StagePricing){plan, price, &plan->moved->reshards[i]});
    Pipeline *out = arena_make(plan->arena, Pipeline);
    *out = (Pipeline){.streams = streams_make(plan), .stage = price};
    out->lanes = lanes_of(plan, scratch);
    add_traffic(out->streams, price);
    make_table(plan, out, scratch);
    find_unbalanced(plan, out);
    arena_free(scratch);
    return out;
}

/* ---- text ---- */

void pipeline_explain(const Plan *plan, Buf *out)
{
    const Stages *stages = plan->decided->stages;
    const Schedule *table = plan_schedule(plan);
    buf_printf(out, "%s, %d micro-batch%s on %d stage%s", table ? table->name : "no schedule",
               stages->n_micro_batches, stages->n_micro_batches == 1 ? "" : "es", stages->n,
               stages->n == 1 ? "" : "s");
    if (!table) {
        buf_puts(out, ": it does not fit them, see the findings");
        return;
    }
    const ScheduleKind *kind = schedule_kind(str_from(table->name));
    buf_puts(out, ": ");
    units_format_us(table->us, out);
    buf_printf(out, ", bubble %.1f%%; stages that took equally long would have %.1f%%",
               100 * table->idle, 100 * plan->priced->pipeline->even_idle);
    if (kind && *kind->bubble)
        buf_printf(out, " = %s", kind->bubble);
}

const char *pipeline_backward_note(const Plan *plan)
{
    if (plan->inferred->forward)
        return "a backward slot is its stage's backward ops and their collectives";
    return "a backward slot counts twice its forward: there is no backward graph";
}
