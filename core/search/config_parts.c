#include "core/search/config_parts.h"

#include "core/cost/cost.h"
#include "core/cost/gradient_reduces.h"
#include "core/cost/layers.h"
#include "core/cost/memory.h"
#include "core/cost/op_declared.h"
#include "core/cost/streams.h"
#include "core/plan/routed.h"
#include "core/plan/stage.h"

#include <math.h>

/* ---- layers ---- */

bool layers_are_alike(const Inferred *model, const int32_t *part, int n_layers)
{
    int first = 0, n = 0;
    while (first < model->n_program && part[model->program[first]] < 1)
        first++;
    while (first + n < model->n_program && part[model->program[first + n]] == 1)
        n++;
    if (n == 0 || (int64_t)n * n_layers > model->n_program - first)
        return false;
    for (int i = 0; i < n * n_layers; i++) {
        int32_t op = model->program[first + i], like = model->program[first + i % n];
        const GraphOp *a = &model->graph->ops[op], *b = &model->graph->ops[like];
        if (part[op] != 1 + i / n || model->space[op] != model->space[like] ||
            a->op_type != b->op_type || a->attrs != b->attrs)
            return false;
    }
    return true;
}

/* ---- the plan ---- */

typedef struct {
    const Plan *plan;
    const Graph *graph;
    LayerParts layers;
    double samples;     /* so many times as many as the plan has */
    ConfigParts *out;   /* of the plan's own layers */
    const Mesh *whole;  /* with more devices on dp; NULL */
    LeastPrices *least; /* .. of steps among them */
    ConfigWork *work;   /* or all together; NULL */
    Arena *arena;       /* of the work */
    Buckets buckets;    /* by part, of all stages together */
    const Reshard *reshard;
} PartsReading;

/* Whether its bytes grow with the samples. */
static bool is_of_samples(const PartsReading *reading, int32_t tensor)
{
    const Plan *plan = reading->plan;
    int32_t maker = reading->graph->tensors[tensor].maker;
    if (maker < 0)
        return reading->graph->tensors[tensor].kind == TENSOR_INPUT;
    return !plan->inferred->on_parameters[maker] && !tensor_is_known(plan->inferred, tensor) &&
           !gradient_is_of_parameters(plan, tensor);
}

/* core/cost/cost.h: the larger of FLOPs and bytes, and the launch. */
static double work_us(const OpWork *work, double samples, double devices)
{
    double bytes_us = (work->fixed_us + samples * work->each_us) / devices;
    return work->times * (fmax(samples * work->flops_us / devices, bytes_us) + work->launch_us);
}

/* Of operands with the samples, but of a gather, which reads what it writes. */
static int64_t bytes_of_samples(const PartsReading *reading, int32_t op)
{
    const Plan *plan = reading->plan;
    const GraphOp *at = &reading->graph->ops[op];
    int64_t bytes = 0;
    for (int i = 0; i < at->n_inputs + at->n_outputs; i++) {
        int32_t tensor = op_operand(reading->graph, op, i);
        if (tensor < 0 || !is_of_samples(reading, tensor))
            continue;
        int32_t sharding =
            i < at->n_inputs ? plan->moved->need[at->input + i] : plan->moved->made[tensor];
        bytes += sharding < 0 ? 0 : plan_local_bytes(plan, tensor, sharding);
    }
    return bytes;
}

/* An op that declares its own costs is taken as it is, for any number of samples. */
static OpWork work_of(const PartsReading *reading, int32_t op, bool *product)
{
    const Plan *plan = reading->plan;
    OpCost cost = op_cost(plan, op);
    *product = cost.work == WORK_MATMUL && !cost.declared;
    if (cost.declared || cost.work == WORK_VIEW)
        return (OpWork){.launch_us = plan->priced->op_us[op], .times = 1};
    int64_t each = cost.work == WORK_GATHER ? 0 : bytes_of_samples(reading, op);
    each = each < cost.bytes ? each : cost.bytes;
    double us_per_byte = 1e6 / (cost.bytes_share * cost.bytes_per_s);
    double full_share = cost.flops_share / cost.waves_share; /* more samples may fill the waves */
    return (OpWork){.flops_us = cost.flops / (full_share * cost.flops_per_s) * 1e6,
                    .fixed_us = (double)(cost.bytes - each) * us_per_byte,
                    .each_us = (double)each * us_per_byte,
                    .launch_us = cost.launch_us,
                    .times = inferred_repeat(plan->inferred, op)};
}

static void add_us(const PartsReading *reading, int part, int32_t op, double us)
{
    PartCost *cost = &reading->out->part[part];
    if (reading->graph->phase[op] == PHASE_FORWARD) {
        cost->forward_us += us;
        return;
    }
    cost->backward_us += us;
    if (op_makes_weights(reading->plan, op))
        cost->weight_us += us;
}

static void read_op(const PartsReading *reading, int32_t op)
{
    int part = layer_of_op(&reading->layers, reading->graph, op);
    bool product;
    double inside_us = op_comm_us(reading->plan, op);
    if (part < 0 || reading->plan->inferred->on_parameters[op])
        return;
    if (reading->graph->phase[op] == PHASE_UPDATE) {
        reading->out->part[part].update_us += reading->plan->priced->op_us[op] + inside_us;
        return;
    }
    OpWork work = work_of(reading, op, &product);
    if (reading->work) {
        work.part = part;
        work.backward = reading->graph->phase[op] != PHASE_FORWARD;
        work.weight = work.backward && op_makes_weights(reading->plan, op);
        vec_push(reading->arena, &reading->work->ops, work);
        return;
    }
    double us = reading->samples == 1 ? reading->plan->priced->op_us[op]
                                      : work_us(&work, reading->samples, 1);
    add_us(reading, part, op, us + inside_us);
    if (product)
        reading->out->part[part].product_us += work.times * work.flops_us * reading->samples;
}

static const char *const axis_of_config[] = {"pp", "dp", "cp", "ep", "tp"}; /* ORDER CONFIG_AXIS */

/* A step that any plan with larger axes has too: it alone brings the value where it is needed. */
static void add_step_work(const PartsReading *reading, const PricedStep *priced, int part)
{
    const Mesh *mesh = reading->plan->mesh;
    const Step *step = priced->step;
    if (reading->reshard->path->n_steps != 1 ||
        (step->kind != STEP_ALL_REDUCE && step->kind != STEP_REDUCE_SCATTER &&
         step->kind != STEP_ALL_GATHER))
        return;
    for (int a = 0; a < CONFIG_AXES; a++) {
        int axis = mesh_find_axis(mesh, str_from(axis_of_config[a]));
        if (axis < 0 || mesh_axis_atoms(mesh, axis) != step->atoms)
            continue;
        StepWork work = {.part = part, .kind = step->kind, .axis = (ConfigAxis)a};
        work.backward = reading->graph->phase[priced->for_op] != PHASE_FORWARD;
        work.bytes = (double)step->bytes;
        work.times = priced->times;
        work.of_samples = is_of_samples(reading, reading->reshard->tensor);
        vec_push(reading->arena, &reading->work->steps, work);
    }
}

/* The same axes on the whole mesh; 0 if it is over parts of axes. */
static AtomSet atoms_on_whole(const PartsReading *reading, AtomSet atoms)
{
    const Mesh *mesh = reading->plan->mesh;
    AtomSet on_whole = 0;
    for (int a = 0; a < mesh->n_axes; a++) {
        AtomSet own = mesh_axis_atoms(mesh, a);
        int axis = mesh_find_axis(reading->whole, str_from(mesh->axes[a].name));
        if ((atoms & own) != own || axis < 0)
            continue;
        atoms &= ~own;
        on_whole |= mesh_axis_atoms(reading->whole, axis);
    }
    return atoms ? 0 : on_whole;
}

/* The groups among all devices of dp of a step that reduces or gathers over dp and others; 0 if it
 * is none. */
static AtomSet atoms_of_more(const PartsReading *reading, StepKind kind, AtomSet atoms)
{
    const Mesh *mesh = reading->plan->mesh;
    int dp = reading->whole ? mesh_find_axis(mesh, STR("dp")) : -1;
    bool grows = kind == STEP_ALL_REDUCE || kind == STEP_REDUCE_SCATTER || kind == STEP_ALL_GATHER;
    return grows && dp >= 0 && atoms & mesh_axis_atoms(mesh, dp) ? atoms_on_whole(reading, atoms)
                                                                 : 0;
}

/* A step of so many bytes; over dp what any steps take at least among all of its devices: what is
 * gathered comes in smaller parts. */
static double price_us(const PartsReading *reading, StepKind kind, AtomSet atoms, double bytes)
{
    const Plan *plan = reading->plan;
    AtomSet on_whole = atoms_of_more(reading, kind, atoms);
    if (!on_whole)
        return streams_bucket_us(plan->machine, plan->mesh, kind, atoms, bytes);
    int64_t more = reading->whole->n_devices / plan->mesh->n_devices;
    return least_price_us(reading->least, reading->whole, kind, on_whole,
                          kind == STEP_ALL_GATHER ? bytes / (double)more : bytes);
}

/* What a step over dp does among more devices, where other steps may do the same. An all-reduce
 * whose result is sliced is a reduce-scatter, and one that is gathered again is an all-reduce.
 * Returns false if a step before it counts for both. */
static bool same_of_more(const PartsReading *reading, const Step *step, StepKind *kind)
{
    const ReshardPath *path = reading->reshard->path;
    *kind = step->kind;
    if (!atoms_of_more(reading, step->kind, step->atoms))
        return true;
    for (int i = 0; i < path->n_steps; i++) {
        const Step *other = &path->step[i];
        if (other < step && other->kind == STEP_REDUCE_SCATTER && step->kind == STEP_ALL_GATHER &&
            other->atoms == step->atoms)
            return false;
        if (other > step && other->kind == STEP_SLICE && step->kind == STEP_ALL_REDUCE)
            *kind = STEP_REDUCE_SCATTER;
        if (other > step && other->kind == STEP_ALL_GATHER && step->kind == STEP_REDUCE_SCATTER &&
            other->atoms == step->atoms)
            *kind = STEP_ALL_REDUCE;
    }
    return true;
}

/* The reshard of as many samples as are asked for, which may take other steps. */
static Reshard of_samples(const PartsReading *reading, const Reshard *reshard)
{
    const Plan *plan = reading->plan;
    Reshard out = *reshard;
    if (reading->samples == 1 || !is_of_samples(reading, reshard->tensor) ||
        reshard->from_devices != reshard->to_devices)
        return out;
    double fill = routed_move_fill(plan->routed, reshard->tensor,
                                   shardings_at(plan->shardings, reshard->from),
                                   shardings_at(plan->shardings, reshard->to), plan->mesh);
    out.path = reshard_filled(
        plan->resharder, (Dtype)plan->inferred->dtype[reshard->tensor], reshard->from, reshard->to,
        plan->decided->submeshes[reshard->to_devices].fixed, fill * reading->samples);
    return out;
}

/* The time of a step of such a reshard. What a turn of a ring hides grows with the samples at
 * most. */
static double step_us(const PartsReading *reading, const PricedStep *priced)
{
    const Step *step = priced->step;
    StepKind kind;
    if (!same_of_more(reading, step, &kind))
        return 0;
    if (atoms_of_more(reading, kind, step->atoms))
        return priced->times * price_us(reading, kind, step->atoms, (double)step->bytes);
    double hidden = priced->times * step->us - priced->us;
    return fmax(0, priced->us - (reading->samples - 1) * hidden);
}

/* Of a plan that runs them beside its ops they count nothing: the bound is then of the ops. */
static void price_buckets(const PartsReading *reading)
{
    const Stages *stages = reading->plan->decided->stages;
    for (int i = 0; i < reading->buckets.all.n && stages->overlap == PASS_NONE; i++) {
        const Bucket *bucket = &reading->buckets.all.at[i];
        const BucketKey *key = &bucket->key;
        PartCost *part = &reading->out->part[key->unit];
        double us = price_us(reading, (StepKind)key->kind, key->atoms, bucket->bytes);
        *(key->when == WHEN_ONCE       ? &part->once_us
          : key->when == WHEN_BACKWARD ? &part->backward_us
                                       : &part->forward_us) += us;
    }
}

static void read_step(void *context, const PricedStep *priced)
{
    PartsReading *reading = context;
    int part = streams_unit(&reading->layers, reading->graph, reading->reshard, priced->for_op);
    Step same = *priced->step;
    PricedStep in_bucket = *priced;
    in_bucket.step = &same;
    if (part < 0)
        return;
    if (streams_have(reading->plan, reading->reshard, priced)) {
        if (same_of_more(reading, priced->step, &same.kind))
            buckets_add(&reading->buckets, 0, part, &in_bucket);
    } else if (priced->when == WHEN_ONCE)
        reading->out->part[part].once_us += step_us(reading, priced);
    else if (reading->work)
        add_step_work(reading, priced, part);
    else
        add_us(reading, part, priced->for_op, step_us(reading, priced));
}

/* ---- memory ---- */

static int64_t least_bytes(const Plan *plan, int32_t tensor)
{
    int64_t made = plan->moved->made[tensor] < 0
                       ? INT64_MAX
                       : plan_local_bytes(plan, tensor, plan->moved->made[tensor]);
    int64_t stored = plan_local_bytes(plan, tensor, plan->moved->sharding[tensor]);
    return made < stored ? made : stored;
}

/* A gradient that is stored in parts is reduced to those; else it is as it is made. */
static int64_t gradient_bytes(const Plan *plan, int32_t tensor, int32_t parameter)
{
    const Graph *graph = plan->inferred->graph;
    int64_t least = least_bytes(plan, tensor);
    if (!plan_stores(plan, parameter, STORED_GRADIENT) &&
        !plan_stores(plan, parameter, STORED_PARAMETER))
        return least;
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        for (int i = 0; i < graph->ops[use[u]].n_inputs; i++)
            if (op_inputs(graph, use[u])[i] == tensor) {
                int32_t need = plan->moved->need[graph->ops[use[u]].input + i];
                int64_t bytes = need < 0 ? least : plan_local_bytes(plan, tensor, need);
                least = bytes < least ? bytes : least;
            }
    return least;
}

static void read_tensor(const PartsReading *reading, const MemoryClass *class, int32_t tensor)
{
    const Plan *plan = reading->plan;
    int32_t parameter, part = reading->layers.of_parameter[tensor];
    if (part < 0 || plan->moved->sharding[tensor] < 0 || tensor_is_known(plan->inferred, tensor))
        return;
    PartCost *cost = &reading->out->part[part];
    bool given = reading->graph->tensors[tensor].maker < 0;
    if (given && class[tensor] == MEMORY_PARAMETER)
        cost->parameter += plan_local_bytes(plan, tensor, plan->moved->sharding[tensor]);
    else if (given && class[tensor] == MEMORY_OPTIMIZER)
        cost->optimizer += plan_local_bytes(plan, tensor, plan->moved->sharding[tensor]);
    else if (!given && class[tensor] == MEMORY_GRADIENT &&
             stored_value(reading->graph, tensor, &parameter) == STORED_GRADIENT)
        cost->gradient += gradient_bytes(plan, tensor, parameter);
}

/* What is alive at the last gradient of an activation and is not stored. */
static void read_kept(const PartsReading *reading, Arena *scratch, const MemoryAccount *account)
{
    const Inferred *step = reading->plan->inferred;
    int last = step->n_program - 1;
    while (last > 0 && (reading->graph->phase[step->program[last]] == PHASE_UPDATE ||
                        op_makes_weights(reading->plan, step->program[last])))
        last--;
    LiveSet live = memory_live_of(scratch, account, 0, last);
    for (int i = 0; i < live.n; i++) {
        const LiveValue *value = &live.at[i];
        int part = value->class == MEMORY_ACTIVATION && value->from >= 0 && value->from < last
                       ? layer_of_op(&reading->layers, reading->graph, step->program[value->from])
                       : -1;
        if (part >= 0)
            reading->out->part[part].kept += value->bytes;
    }
}

static void read_memory(const PartsReading *reading, Arena *scratch)
{
    const Plan *plan = reading->plan;
    const MemoryClass *class = memory_classes(scratch, plan->inferred);
    for (int32_t t = 0; t < reading->graph->n_tensors; t++)
        read_tensor(reading, class, t);
    int64_t *bytes = arena_array(scratch, int64_t, reading->graph->n_ops);
    MemoryAccount *account = memory_account_new(plan);
    memory_saved(account, 0, bytes);
    for (int32_t op = 0; op < reading->graph->n_ops; op++) {
        int part = bytes[op] > 0 ? layer_of_op(&reading->layers, reading->graph, op) : -1;
        int32_t made = op_first_output(reading->graph, op);
        double times = made >= 0 && is_of_samples(reading, made) ? reading->samples : 1;
        if (part >= 0)
            reading->out->part[part].saved += (int64_t)(times * (double)bytes[op]);
    }
    read_kept(reading, scratch, account);
    memory_account_free(account);
}

/* Bytes of values that cross from a layer to the next, sharded by all axes that it may be. */
static int64_t passed_bytes(const PartsReading *reading, int layer)
{
    const Plan *plan = reading->plan;
    const Graph *graph = reading->graph;
    const Inferred *model = plan->inferred->forward;
    int64_t bytes = 0;
    for (int i = 0; i < model->n_program; i++) {
        int32_t op = model->program[i];
        int32_t made = op_first_output(graph, op);
        if (made < 0 || reading->layers.part[op] > layer || !is_of_samples(reading, made))
            continue;
        const int32_t *use = graph->uses + graph->tensors[made].use;
        bool crosses = false;
        for (int u = 0; u < tensor_n_uses(graph, made); u++)
            crosses |=
                graph->phase[use[u]] == PHASE_FORWARD && reading->layers.part[use[u]] > layer;
        const Shape *shape = inferred_shape(plan->inferred, made);
        if (!crosses || !shape || plan->inferred->space[op] < 0)
            continue;
        int64_t elements = 1;
        for (int d = 0; d < shape->n_dims; d++)
            elements *= shape->dim[d];
        bytes += dtype_bytes((Dtype)plan->inferred->dtype[made], elements) / plan->mesh->n_devices;
    }
    return bytes * (int64_t)reading->samples;
}

/* ---- other numbers of layers ---- */

static PartCost cheaper(const PartCost *a, const PartCost *b)
{
    PartCost least = a->forward_us + a->backward_us <= b->forward_us + b->backward_us ? *a : *b;
    least.once_us = fmin(a->once_us, b->once_us);
    least.update_us = fmin(a->update_us, b->update_us);
    least.parameter = a->parameter < b->parameter ? a->parameter : b->parameter;
    least.optimizer = a->optimizer < b->optimizer ? a->optimizer : b->optimizer;
    least.gradient = a->gradient < b->gradient ? a->gradient : b->gradient;
    least.saved = a->saved < b->saved ? a->saved : b->saved;
    least.kept = a->kept < b->kept ? a->kept : b->kept;
    return least;
}

/* The first and the last stay at the ends; between them are as many of the cheapest as it takes. */
static ConfigParts with_layers(Arena *arena, const ConfigParts *own, int n_layers)
{
    ConfigParts out = {n_layers, arena_array(arena, PartCost, n_layers + 2), own->passed_bytes};
    if (n_layers == own->n_layers) {
        memcpy(out.part, own->part, sizeof(PartCost) * (size_t)(n_layers + 2));
        return out;
    }
    PartCost middle = own->part[own->n_layers / 2];
    for (int i = 2; i < own->n_layers; i++)
        middle = cheaper(&middle, &own->part[i]);
    for (int i = 1; i <= n_layers; i++)
        out.part[i] = i == 1 ? own->part[1] : i == n_layers ? own->part[own->n_layers] : middle;
    out.part[0] = own->part[0];
    out.part[n_layers + 1] = own->part[own->n_layers + 1];
    return out;
}

/* Reads the plan into reading->out, of as many layers as the plan has. */
static void read_plan(Arena *scratch, const Session *session, PartsReading *reading)
{
    const Plan *plan = session->plan;
    reading->plan = plan;
    reading->graph = plan->inferred->graph;
    reading->layers = layer_parts(scratch, plan->inferred);
    reading->buckets = buckets_new(scratch);
    reading->out->n_layers = reading->layers.n;
    reading->out->part = arena_array(scratch, PartCost, reading->out->n_layers + 2);
    for (int i = 0; i < plan->inferred->n_program; i++)
        read_op(reading, plan->inferred->program[i]);
    Reshard *reshard = arena_make(scratch, Reshard);
    reading->reshard = reshard;
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        *reshard = of_samples(reading, &plan->moved->reshards[i]);
        pipeline_visit_steps(plan, reshard, read_step, reading);
    }
    if (!reading->work)
        price_buckets(reading);
    read_memory(reading, scratch);
    if (reading->out->n_layers > 1)
        reading->out->passed_bytes = passed_bytes(reading, reading->out->n_layers / 2);
}

ConfigParts config_parts_of(Arena *arena, const Session *session, int n_layers, int64_t samples,
                            const Mesh *whole, LeastPrices *least)
{
    Arena *scratch = arena_new();
    ConfigParts own = {0};
    PartsReading reading = {
        .samples = (double)samples, .out = &own, .whole = whole, .least = least};
    read_plan(scratch, session, &reading);
    ConfigParts out = with_layers(arena, &own, own.n_layers > 0 ? n_layers : 0);
    arena_free(scratch);
    return out;
}

ConfigWork config_work_of(Arena *arena, const Session *session)
{
    Arena *scratch = arena_new();
    ConfigWork work = {0};
    ConfigParts own = {0};
    PartsReading reading = {.samples = 1, .out = &own, .work = &work, .arena = arena};
    read_plan(scratch, session, &reading);
    work.own = with_layers(arena, &own, own.n_layers);
    for (int a = 0; a < CONFIG_AXES; a++) {
        int axis = mesh_find_axis(session->mesh, str_from(axis_of_config[a]));
        work.size[a] = axis < 0 ? 1 : session->mesh->axes[axis].size;
    }
    arena_free(scratch);
    return work;
}

/* A reduction's payload stays along its own axis, an all-gather's is a part for each device. */
static double wider_us(const ConfigWork *work, const StepWork *step, LeastPrices *least,
                       const Mesh *mesh, double samples, double devices)
{
    int axis = mesh_find_axis(mesh, str_from(axis_of_config[step->axis]));
    double bytes = step->bytes * (step->of_samples ? samples : 1) / devices;
    if (axis < 0)
        return 0;
    if (step->kind != STEP_ALL_GATHER)
        bytes *= (double)mesh->axes[axis].size / (double)work->size[step->axis];
    return step->times *
           least_price_us(least, mesh, step->kind, mesh_axis_atoms(mesh, axis), bytes);
}

static void add_part_us(PartCost *part, bool backward, double us)
{
    if (backward)
        part->backward_us += us;
    else
        part->forward_us += us;
}

static void share_bytes(PartCost *cost, double samples, double devices)
{
    cost->parameter = (int64_t)((double)cost->parameter / devices);
    cost->optimizer = (int64_t)((double)cost->optimizer / devices);
    cost->gradient = (int64_t)((double)cost->gradient / devices);
    cost->saved = (int64_t)(samples * (double)cost->saved / devices);
    cost->once_us = cost->update_us = 0;
    cost->kept = 0;
}

ConfigParts config_work_parts(Arena *arena, const ConfigWork *work, LeastPrices *least,
                              const Mesh *mesh, int n_layers, int64_t samples)
{
    double devices = 1; /* times as many as the work has */
    ConfigParts own = work->own;
    for (int a = 0; a < CONFIG_AXES; a++) {
        int axis = mesh_find_axis(mesh, str_from(axis_of_config[a]));
        devices *= (double)(axis < 0 ? 1 : mesh->axes[axis].size) / (double)work->size[a];
    }
    own.passed_bytes = (int64_t)((double)samples * (double)own.passed_bytes / devices);
    own.part = arena_array(arena, PartCost, own.n_layers + 2);
    memcpy(own.part, work->own.part, sizeof(PartCost) * (size_t)(own.n_layers + 2));
    for (int i = 0; i < own.n_layers + 2; i++)
        share_bytes(&own.part[i], (double)samples, devices);
    for (int i = 0; i < work->ops.n; i++) {
        const OpWork *op = &work->ops.at[i];
        double us = work_us(op, (double)samples, devices);
        add_part_us(&own.part[op->part], op->backward, us);
        own.part[op->part].weight_us += op->weight ? us : 0;
    }
    for (int i = 0; i < work->steps.n; i++) {
        const StepWork *step = &work->steps.at[i];
        add_part_us(&own.part[step->part], step->backward,
                    wider_us(work, step, least, mesh, (double)samples, devices));
    }
    return with_layers(arena, &own, own.n_layers > 0 ? n_layers : 0);
}
