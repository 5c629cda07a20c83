#include "core/cost/streams.h"

#include "core/cost/gradient_reduces.h"
#include "core/cost/layers.h"
#include "core/cost/op_declared.h"
#include "core/plan/plan_machine.h"
#include "core/plan/stage.h"

#include <math.h>

/* The ops of a unit in one stage and pass. */
typedef struct {
    int unit;                            /* layers.h: a part; -1 */
    double ops_us, gather_us, reduce_us; /* the last two: of each micro-batch */
    double once_gather_us, once_reduce_us;
} UnitRun;

typedef Vec(UnitRun) UnitRuns;

typedef struct {
    Plan *plan;
    Arena *scratch;
    LayerParts layers;
    int32_t *run_of; /* per op: in the runs of its stage and pass */
    UnitRuns *runs;  /* per stage: of the forward pass, then of the backward pass */
    Buckets buckets;
    Vec(StreamTraffic) traffic;
    const Reshard *reshard; /* that is being visited */
} StreamMaking;

static const Machine *machine_of_stage(const Plan *plan, int stage)
{
    return plan_machine_of(plan, plan->decided->stages->at[stage].devices);
}

/* ---- which ---- */

static bool is_of_parameters(const Plan *plan, int32_t tensor)
{
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    return maker < 0 ? tensor_is_parameter(plan->inferred, tensor)
                     : plan->inferred->on_parameters[maker];
}

bool streams_have(const Plan *plan, const Reshard *reshard, const PricedStep *step)
{
    StepKind kind = step->step->kind;
    if (!plan->inferred->forward || !plan->decided->stages)
        return false;
    if (kind == STEP_ALL_GATHER)
        return step->when == WHEN_ONCE || is_of_parameters(plan, reshard->tensor);
    return (kind == STEP_ALL_REDUCE || kind == STEP_REDUCE_SCATTER) &&
           gradient_is_of_parameters(plan, reshard->tensor);
}

/* ---- units ---- */

static UnitRuns *runs_of(const StreamMaking *m, int stage, bool forward)
{
    return &m->runs[2 * stage + !forward];
}

/* The unit of an op; of a sum of gradients that of their parameter. */
static int unit_of(const StreamMaking *m, int32_t op)
{
    const Graph *graph = m->plan->inferred->graph;
    int unit = layer_of_op(&m->layers, graph, op);
    int32_t made = op_first_output(graph, op);
    int32_t value = made < 0 ? -1 : graph->gradient_of[made];
    return unit < 0 && value >= 0 ? m->layers.of_parameter[value] : unit;
}

/* The run of a unit; without a unit of its own an op belongs to the run before. */
static int join_run(const StreamMaking *m, UnitRuns *runs, int unit)
{
    if (unit < 0 && runs->n > 0)
        return runs->n - 1;
    for (int i = runs->n - 1; i >= 0; i--)
        if (runs->at[i].unit == unit)
            return i;
    vec_push(m->scratch, runs, ((UnitRun){.unit = unit}));
    return runs->n - 1;
}

static void find_runs(StreamMaking *m)
{
    const Inferred *inferred = m->plan->inferred;
    const Stages *stages = m->plan->decided->stages;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        int s = stages->of_op[op], phase = plan_phase(m->plan, op);
        if (s < 0 || phase == 1 + PHASE_UPDATE)
            continue;
        UnitRuns *runs = runs_of(m, s, phase == 1 + PHASE_FORWARD);
        int at = join_run(m, runs, unit_of(m, op));
        m->run_of[op] = at;
        runs->at[at].ops_us += m->plan->priced->op_us[op] + op_comm_us(m->plan, op);
    }
}

/* The run of a unit in a pass; the last one if it has none there. */
static UnitRun *find_run(UnitRuns *runs, int unit)
{
    for (int i = 0; i < runs->n; i++)
        if (runs->at[i].unit == unit)
            return &runs->at[i];
    return runs->n > 0 ? &runs->at[runs->n - 1] : NULL;
}

/* ---- buckets ---- */

int streams_unit(const LayerParts *layers, const Graph *step, const Reshard *reshard, int32_t op)
{
    int unit = layer_of_op(layers, step, op);
    return unit < 0 ? layers->of_parameter[reshard->tensor] : unit;
}

Buckets buckets_new(Arena *arena)
{
    return (Buckets){.arena = arena, .keys = intern_new(arena)};
}

void buckets_add(Buckets *buckets, int stage, int unit, const PricedStep *step)
{
    BucketKey key = {.stage = stage, .unit = unit, .when = (int32_t)step->when};
    key.kind = (int32_t)step->step->kind;
    key.atoms = step->step->atoms;
    int32_t id = intern_put(buckets->keys, &key, sizeof key);
    if (id == buckets->all.n)
        vec_push(buckets->arena, &buckets->all, ((Bucket){.key = key}));
    buckets->all.at[id].bytes += step->times * (double)step->step->bytes;
}

/* A collective that ops wait for, between those of its reader. */
static void add_to_ops(StreamMaking *m, const PricedStep *step)
{
    int32_t op = step->for_op;
    if (op < 0 || (step->when != WHEN_FORWARD && step->when != WHEN_BACKWARD) ||
        m->run_of[op] < 0 || m->plan->decided->stages->of_op[op] != step->stage)
        return;
    runs_of(m, step->stage, step->when == WHEN_FORWARD)->at[m->run_of[op]].ops_us += step->us;
}

static void add_step(void *context, const PricedStep *step)
{
    StreamMaking *m = context;
    if (!streams_have(m->plan, m->reshard, step)) {
        add_to_ops(m, step);
        return;
    }
    int unit = streams_unit(&m->layers, m->plan->inferred->graph, m->reshard, step->for_op);
    buckets_add(&m->buckets, step->stage, unit, step);
}

double streams_bucket_us(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                         double bytes)
{
    int64_t whole = bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX;
    return whole > 0 ? price_step(machine, mesh, kind, atoms, whole).us : 0;
}

static void add_to_run(UnitRun *run, const BucketKey *key, double us)
{
    bool gathers = key->kind == STEP_ALL_GATHER, once = key->when == WHEN_ONCE;
    *(gathers ? once ? &run->once_gather_us : &run->gather_us
      : once  ? &run->once_reduce_us
              : &run->reduce_us) += us;
}

static void price_bucket(StreamMaking *m, const Bucket *bucket)
{
    const BucketKey *key = &bucket->key;
    StepKind kind = (StepKind)key->kind;
    When when = (When)key->when;
    bool forward = when == WHEN_ONCE ? kind == STEP_ALL_GATHER : when == WHEN_FORWARD;
    double us = streams_bucket_us(machine_of_stage(m->plan, key->stage), m->plan->mesh, kind,
                                  key->atoms, bucket->bytes);
    UnitRun *run = find_run(runs_of(m, key->stage, forward), key->unit);
    if (us <= 0)
        return;
    if (run)
        add_to_run(run, key, us);
    for (int i = 0; i < m->traffic.n; i++) {
        StreamTraffic *known = &m->traffic.at[i];
        if (known->stage != key->stage || known->when != when || known->kind != kind ||
            known->atoms != key->atoms)
            continue;
        known->n++;
        known->bytes += bucket->bytes;
        known->alone_us += us;
        return;
    }
    StreamTraffic traffic = {
        .stage = key->stage, .when = when, .kind = kind, .n = 1, .alone_us = us};
    traffic.atoms = key->atoms;
    traffic.bytes = bucket->bytes;
    vec_push(m->plan->arena, &m->traffic, traffic);
}

/* ---- the two queues ---- */

static double gathers_of(const UnitRun *run, bool once)
{
    return run->gather_us + (once ? run->once_gather_us : 0);
}

/* When both queues of a pass have ended. The next unit is gathered before this one's gradients are
 * reduced. */
static double ended_us(const UnitRuns *runs, bool overlaps, bool once)
{
    double ops_us = 0, buckets_us = 0, ready_us = 0; /* ready_us: the unit's parameters are there */
    for (int i = 0; i < runs->n; i++) {
        const UnitRun *run = &runs->at[i];
        double reduce_us = run->reduce_us + (once ? run->once_reduce_us : 0);
        if (i == 0 || !overlaps)
            ready_us = buckets_us = fmax(buckets_us, ops_us) + gathers_of(run, once);
        double start_us = fmax(ops_us, ready_us);
        double next_us = overlaps && i + 1 < runs->n ? gathers_of(run + 1, once) : 0;
        if (next_us > 0)
            buckets_us = fmax(buckets_us, start_us) + next_us;
        ready_us = next_us > 0 ? buckets_us : 0;
        ops_us = start_us + run->ops_us;
        if (reduce_us > 0)
            buckets_us = fmax(buckets_us, ops_us) + reduce_us;
        ops_us = reduce_us > 0 && !overlaps ? buckets_us : ops_us;
    }
    return fmax(ops_us, buckets_us);
}

static double ops_of(const UnitRuns *runs)
{
    double us = 0;
    for (int i = 0; i < runs->n; i++)
        us += runs->at[i].ops_us;
    return us;
}

/* Gives the rows of a stage that run at that time, and in which pass, their parts of `exposed_us`,
 * and what they take from the ops beside them. */
static void expose(StreamMaking *m, int stage, When when, bool gathers, bool all, double exposed_us)
{
    const Plan *plan = m->plan;
    double alone_us = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < m->traffic.n; i++) {
            StreamTraffic *row = &m->traffic.at[i];
            if (row->stage != stage || row->when != when ||
                (!all && (row->kind == STEP_ALL_GATHER) != gathers))
                continue;
            if (pass == 0) {
                alone_us += row->alone_us;
                continue;
            }
            double share = alone_us > 0 ? fmin(1, fmax(0, exposed_us) / alone_us) : 1;
            double busy =
                machine_link(machine_of_stage(plan, stage), plan->mesh, row->atoms)->busy_share;
            row->exposed_us = row->alone_us * (share + busy * (1 - share));
        }
}

static void expose_stage(StreamMaking *m, int s)
{
    Pass overlap = m->plan->decided->stages->overlap;
    bool under_forward = overlap == PASS_FORWARD || overlap == PASS_BOTH;
    bool under_backward = overlap == PASS_BACKWARD || overlap == PASS_BOTH;
    const UnitRuns *forward = runs_of(m, s, true), *backward = runs_of(m, s, false);
    double forward_us = ended_us(forward, under_forward, false);
    double backward_us = ended_us(backward, under_backward, false);
    expose(m, s, WHEN_FORWARD, true, true, forward_us - ops_of(forward));
    expose(m, s, WHEN_BACKWARD, true, true, backward_us - ops_of(backward));
    expose(m, s, WHEN_ONCE, true, false, ended_us(forward, under_forward, true) - forward_us);
    expose(m, s, WHEN_ONCE, false, false, ended_us(backward, under_backward, true) - backward_us);
}

const Streams *streams_make(Plan *plan)
{
    const Stages *stages = plan->decided->stages;
    int n_ops = plan->inferred->graph->n_ops;
    StreamMaking m = {.plan = plan, .scratch = arena_new()};
    Streams *out = arena_make(plan->arena, Streams);
    if (plan->inferred->forward) {
        m.buckets = buckets_new(m.scratch);
        m.layers = layer_parts(m.scratch, plan->inferred);
        m.run_of = arena_array(m.scratch, int32_t, n_ops);
        m.runs = arena_array(m.scratch, UnitRuns, 2 * stages->n);
        for (int32_t op = 0; op < n_ops; op++)
            m.run_of[op] = -1;
        find_runs(&m);
        for (int i = 0; i < plan->moved->n_reshards; i++) {
            m.reshard = &plan->moved->reshards[i];
            pipeline_visit_steps(plan, m.reshard, add_step, &m);
        }
        for (int i = 0; i < m.buckets.all.n; i++)
            price_bucket(&m, &m.buckets.all.at[i]);
        for (int s = 0; s < stages->n; s++)
            expose_stage(&m, s);
        *out = (Streams){m.traffic.n, m.traffic.at};
    }
    arena_free(m.scratch);
    return out;
}
