#include "core/cost/cost.h"

#include "core/base/str.h"
#include "core/plan/edges.h"
#include "core/plan/routed.h"
#include "core/cost/absorbed.h"
#include "core/cost/op_declared.h"
#include "core/cost/ring.h"
#include "core/rules/registry.h"
#include "core/space/contraction.h"
#include "core/reshard/cluster.h"
#include "core/plan/plan_machine.h"

#include <math.h>

/* ---- what an op does ---- */

/* ORDER WORK */
static const char *const work_names[] = {"view", "matmul", "vector", "gather"};

const char *work_name(Work work)
{
    return work_names[work];
}

/* Operator families whose work the op space alone does not give. `least_reuse`: only ops that use
 * each element at least so many times on average; gradient ops GRADIENT_REUSE times, since one op
 * of several may be a sum. */
enum { GRADIENT_REUSE = 16 };
static const struct {
    const char *family;
    Work work;
    double least_reuse;
} works[] = {
    {"index", WORK_GATHER, 0},        {"indexing", WORK_GATHER, 0},
    {"scatter", WORK_GATHER, 0},      {"matmul", WORK_MATMUL, 0},
    {"attention", WORK_MATMUL, 0},    {"recurrent", WORK_MATMUL, 0},
    {"products", WORK_MATMUL, 16},    {"fused_attention", WORK_MATMUL, 16},
    {"norm_stats", WORK_MATMUL, 16},  {"experts", WORK_MATMUL, 16},
    {"onnxruntime", WORK_MATMUL, 16}, {"gradient", WORK_MATMUL, 16},
};

static double elements(const OpSpace *space)
{
    double sum = 0;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        double n = 1;
        const Shape *shape = &space->operand[i].shape;
        for (int d = 0; d < shape->n_dims; d++)
            n *= (double)shape->dim[d];
        sum += n > 0 ? n : 0;
    }
    return sum;
}

static Work work_of_family(const OpSpace *space, const char *family)
{
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        bool product = works[i].work == WORK_MATMUL && space->gradient;
        double least = product ? GRADIENT_REUSE : works[i].least_reuse;
        if (strcmp(works[i].family, family) == 0 && space->flops >= least * elements(space))
            return works[i].work;
    }
    return WORK_VECTOR;
}

/* NULL for operators of users. */
static const Operator *row_of(const Inferred *inferred, int32_t op)
{
    const Operator *row = inferred_forward_operator(inferred, op);
    return row && row->family ? row : NULL;
}

static Work space_work(const Plan *plan, int32_t op)
{
    const Inferred *inferred = plan->inferred;
    const OpSpace *space = inferred_space(inferred, op);
    if (!space || (space->kernel && strcmp(space->kernel, "view") == 0) ||
        op_passes_on(inferred, op))
        return WORK_VIEW;
    uint32_t left, right;
    if (op_space_contracts(space, &left, &right))
        return WORK_MATMUL;
    const Operator *row = row_of(inferred, op);
    return row ? work_of_family(space, row->family) : WORK_VECTOR;
}

static bool is_norm(const Operator *row)
{
    return row && (strcmp(row->family, "norm") == 0 || strcmp(row->family, "norm_stats") == 0);
}

/* Element by element, with more than one operation a point. */
static bool is_function(const Operator *row)
{
    return row && row->flops_per_point > 1 &&
           (strcmp(row->family, "elementwise") == 0 || strcmp(row->family, "pointwise") == 0);
}

/* Attention in one op, whose kernel holds the scores on the chip. */
static bool is_fused_attention(const Inferred *inferred, int32_t op)
{
    const Operator *row = row_of(inferred, op);
    return row && row->flags & OPERATOR_KEEPS_ROWS;
}

Work op_work(const Plan *plan, int32_t op)
{
    return op_absorbed_by(plan->inferred, op) >= 0 ? WORK_VIEW : space_work(plan, op);
}

/* ---- how much work, and how fast ---- */

static double flops_local(const OpSpace *space, const OpCut *cut, const Mesh *mesh)
{
    double flops = space->flops;
    for (int j = 0; cut && j < space->n_index; j++)
        if (space->index[j].size > 0 && !cut_is_ring(&cut->index[j]))
            flops *= (double)cut_most_size(&cut->index[j], mesh) / (double)space->index[j].size;
    return flops;
}

/* With what a mask or a router leaves to the rank that has most to do. */
static double flops_as(const Plan *plan, int32_t op, const OpCut *cut)
{
    return flops_local(program_space(plan->inferred, op), cut, plan->mesh) *
           ring_imbalance(plan, op, cut) * routed_op_fill(plan->routed, op, cut, plan->mesh);
}

double op_flops_local(const Plan *plan, int32_t op)
{
    const OpSpace *space = inferred_space(plan->inferred, op);
    const OpCut *cut = plan_cut(plan, op);
    return space ? flops_as(plan, op, cut) : 0;
}

/* How an op is cut, and its operands are sharded: as the plan has it, or as somebody supposes. */
typedef struct {
    const OpCut *cut;
    const int32_t *sharding; /* Shardings ids by operand, inputs then outputs; NULL: the plan's */
    bool views;              /* the bytes of views too */
} OpAs;

/* What ops with equal op space and shardings share, computed once per plan. */
typedef struct {
    int32_t work, cut; /* the work, and the cut that `flops` holds for; -1 if not known */
    bool attention, norm, function; /* known with the work */
    double flops;
    OpProduct product;
} KnownSpace;

typedef struct OpPricer {
    const Plan *plan;
    KnownSpace *space; /* by op space */
    int64_t *elements; /* on rank 0, per sharding; -1 if not known */
} KnownWork;

static KnownWork known_new(Arena *scratch, const Plan *plan)
{
    int32_t n_shardings = shardings_count(plan->shardings), n_spaces = plan->inferred->n_spaces;
    KnownWork known = {plan, arena_array(scratch, KnownSpace, n_spaces),
                       arena_array(scratch, int64_t, n_shardings)};
    for (int i = 0; i < n_spaces; i++)
        known.space[i] = (KnownSpace){.work = -1, .cut = -1};
    for (int i = 0; i < n_shardings; i++)
        known.elements[i] = -1;
    return known;
}

static Work known_work(const KnownWork *known, int32_t op)
{
    if (op_absorbed_by(known->plan->inferred, op) >= 0 ||
        op_made_by(known->plan->inferred, op) >= 0)
        return WORK_VIEW;
    KnownSpace *space = &known->space[known->plan->inferred->space[op]];
    if (space->work < 0) {
        space->work = (int32_t)space_work(known->plan, op);
        const Operator *row = row_of(known->plan->inferred, op);
        space->attention =
            space->work == WORK_MATMUL && is_fused_attention(known->plan->inferred, op);
        space->norm = space->work == WORK_VECTOR && is_norm(row);
        space->function = space->work == WORK_VECTOR && is_function(row);
    }
    return (Work)space->work;
}

static double known_flops(const KnownWork *known, int32_t op)
{
    KnownSpace *space = &known->space[known->plan->inferred->space[op]];
    int32_t cut = known->plan->propagated->cut[op];
    bool routed = routed_op_code(known->plan->routed, op) != 0;
    if (cut < 0 || space->cut != cut || routed) {
        space->cut = routed ? -1 : cut;
        space->flops = op_flops_local(known->plan, op);
        space->product = space->work != WORK_MATMUL || space->attention
                             ? (OpProduct){0}
                             : op_product(known->plan, op, plan_cut(known->plan, op));
    }
    return space->flops;
}

static int64_t known_bytes(const KnownWork *known, int32_t tensor, int32_t sharding)
{
    const Plan *plan = known->plan;
    if (sharding < 0)
        return 0;
    int64_t *elements = &known->elements[sharding];
    if (*elements < 0) {
        const Sharding *held = shardings_at(plan->shardings, sharding);
        *elements = sharding_most_elements(held, plan->mesh);
        for (int64_t d = 0; d < held->n_dims; d++) /* all parts of a ring come by */
            if (cut_is_ring(&held->dim[d]))
                *elements *= mesh_atoms_size(plan->mesh, cut_atoms(&held->dim[d]));
    }
    return routed_bytes(plan->routed, tensor, shardings_at(plan->shardings, sharding), plan->mesh,
                        inferred_part_bytes(plan->inferred, tensor, *elements));
}

/* The bytes that rank 0 reads or writes of a value that is `bytes` long. */
static int64_t touched_bytes(const Operand *operand, int64_t bytes)
{
    return operand->untouched > 0
               ? (int64_t)((double)bytes * (1 - (double)operand->untouched) + 0.5)
               : bytes;
}

/* The bytes that rank 0 reads and writes of operands as these are read and made. */
static int64_t op_bytes_local(const KnownWork *known, int32_t op, OpAs as, Work work)
{
    const Plan *plan = known->plan;
    const Graph *graph = plan->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    const Operand *operand = program_space(plan->inferred, op)->operand;
    int64_t first = 0, read = 0, written = 0;
    for (int32_t i = at->input; i < at->input + at->n_inputs; i++) {
        int32_t tensor = graph->operands[i];
        int32_t need = as.sharding ? as.sharding[i - at->input] : plan->moved->need[i];
        int64_t bytes = tensor < 0 ? 0 : known_bytes(known, tensor, need);
        read += touched_bytes(&operand[i - at->input], bytes);
        first = i == at->input ? bytes : first;
    }
    for (int32_t i = op_output_place(at); i < op_output_place(at) + at->n_outputs; i++) {
        int32_t tensor = graph->operands[i];
        if (tensor < 0)
            continue;
        int32_t made = as.sharding ? as.sharding[i - at->input] : plan->moved->made[tensor];
        double more =
            ring_rewrites(plan, op, as.cut ? as.cut : plan_cut(plan, op), i - op_output_place(at));
        int64_t bytes = known_bytes(known, tensor, made);
        written += touched_bytes(&operand[i - at->input], bytes) + (int64_t)(more * (double)bytes);
    }
    bool gradient = program_space(plan->inferred, op)->gradient;
    if (work == WORK_GATHER && first > written && !gradient)
        read -= first - written;
    return read + written;
}

/* The element type that an op computes with: that of its first operand. */
static Dtype op_dtype(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        if (op_inputs(graph, op)[i] >= 0)
            return (Dtype)plan->inferred->dtype[op_inputs(graph, op)[i]];
    return DT_F32;
}

static double first_above_0(const double *number, int n)
{
    for (int i = 0; i < n; i++)
        if (number[i] > 0)
            return number[i];
    return 1;
}

static double peak_flops_per_s(const Machine *machine, Work work, Dtype dtype)
{
    const double *matmul = machine->flops_per_s, *vector = machine->vector_flops_per_s;
    const double rates[] = {vector[dtype], vector[DT_F32], matmul[dtype], matmul[DT_F32]};
    return work == WORK_MATMUL ? first_above_0(rates + 2, 2) : first_above_0(rates, 4);
}

/* The fraction of the peak that the work reaches. */
static double flops_share(const Machine *machine, const OpCost *cost)
{
    double of_kind = cost->attention ? cost->gradient ? machine->attention_gradient_share
                                                      : machine->attention_share
                     : dtype_bits(cost->dtype) == 16 ? machine->matmul_share_16
                                                     : 0;
    const double shares[] = {of_kind, machine->matmul_share};
    if (cost->work != WORK_MATMUL)
        return 1;
    return first_above_0(shares, 2);
}

/* Of the time that a product takes, what it would take if its last wave were full. */
static double waves_share(const Machine *machine, const OpCost *cost)
{
    if (cost->work != WORK_MATMUL || machine->processors <= 0)
        return 1;
    double waves =
        op_product_tiles(&cost->product, machine->matmul_tile) / (double)machine->processors;
    return waves > 0 ? 1 / (1 + (ceil(waves) - waves) / (2 * waves)) : 1;
}

/* The fraction of the memory's rate that the work reaches. */
static double memory_share(const Machine *machine, const OpCost *cost)
{
    double of_kind = cost->norm       ? machine->norm_share
                     : cost->function ? machine->function_share
                                      : 0;
    const double shares[] = {of_kind, machine->memory_share};
    if (cost->work == WORK_GATHER)
        return machine->gather_share > 0 ? machine->gather_share : 1;
    return first_above_0(shares, 2);
}

static int64_t declared_bytes(const OpDeclared *declared)
{
    return declared->cost.bytes < 0x1p62 ? (int64_t)declared->cost.bytes : INT64_MAX;
}

int op_cost_sizes(const OpCost *cost, double size[MEASURED_SIZES])
{
    const OpProduct *product = &cost->product;
    bool one = product->m <= 0;
    const double sizes[] = {one ? cost->attention ? cost->flops : (double)cost->bytes
                                : product->batch,
                            product->m, product->n, product->k};
    memcpy(size, sizes, sizeof sizes);
    return one ? 1 : MEASURED_SIZES;
}

/* The table that the op's time is read off; NULL: there is none. */
static const MeasuredOp *table_of(const OpCost *cost, const Machine *machine,
                                  double size[MEASURED_SIZES])
{
    int n_sizes = op_cost_sizes(cost, size);
    bool any = machine->measured && cost->op_type && !cost->declared && size[0] > 0;
    return any ? measured_op(machine->measured, cost->op_type, cost->dtype, n_sizes) : NULL;
}

/* On one device. */
static OpCost cost_on_kind(const OpCost *cost, const Machine *machine)
{
    OpCost out = *cost;
    double size[MEASURED_SIZES];
    const MeasuredOp *table = table_of(cost, machine, size);
    out.measured = table != NULL;
    if (table)
        out.us = measured_us(machine->measured, table, size) *
                 (out.product.m > 0 ? fmax(out.turns, 1) : 1);
    if (out.work == WORK_VIEW)
        return out;
    out.flops_per_s = peak_flops_per_s(machine, out.work, out.dtype);
    out.waves_share = waves_share(machine, &out);
    out.flops_share = out.waves_share * flops_share(machine, &out);
    out.bytes_per_s = machine->memory_bytes_per_s;
    out.bytes_share = memory_share(machine, &out);
    double launch_us = machine->launch_us + (out.work == WORK_MATMUL ? machine->matmul_us : 0);
    out.launch_us = fmax(out.turns, 1) * launch_us;
    double compute_s = out.flops / (out.flops_share * out.flops_per_s);
    double memory_s = (double)out.bytes / (out.bytes_share * out.bytes_per_s);
    if (!table)
        out.us = (compute_s > memory_s ? compute_s : memory_s) * 1e6 + out.launch_us;
    return out;
}

OpCost op_cost_on(const OpCost *cost, const Machine *machine)
{
    const Cluster *cluster = machine->cluster;
    if (!cluster)
        return cost_on_kind(cost, machine);
    OpCost out = cost_on_kind(cost, cluster->kind[0].machine);
    for (int i = 1; i < cluster->n; i++) {
        OpCost on = cost_on_kind(cost, cluster->kind[i].machine);
        if (on.us > out.us)
            out = on;
    }
    return out;
}

/* A view takes time where its operator was measured: by copies. */
static OpCost view_cost(const KnownWork *known, int32_t op, OpAs as)
{
    const Plan *plan = known->plan;
    OpCost cost = {.work = WORK_VIEW, .op_type = op_operator(plan->inferred->graph, op)};
    cost.dtype = op_dtype(plan, op);
    if (inferred_space(plan->inferred, op))
        cost.bytes = op_bytes_local(known, op, as, WORK_VIEW);
    return op_cost_on(&cost, plan_machine(plan, op));
}

static OpCost cost_of(const KnownWork *known, int32_t op, OpAs as)
{
    const Plan *plan = known->plan;
    OpCost cost = {.work = known_work(known, op),
                   .op_type = op_operator(plan->inferred->graph, op)};
    if (cost.work == WORK_VIEW)
        return as.views || plan_machine(plan, op)->measured ? view_cost(known, op, as) : cost;
    const OpDeclared *declared = op_declared(plan, op);
    cost.declared = declared && (declared->cost.flops >= 0 || declared->cost.bytes >= 0 ||
                                 declared->cost.us >= 0);
    cost.dtype = op_dtype(plan, op);
    const KnownSpace *space = &known->space[plan->inferred->space[op]];
    cost.attention = space->attention;
    cost.norm = space->norm;
    cost.function = space->function;
    cost.turns = ring_turns(plan, op, as.cut ? as.cut : plan_cut(plan, op));
    cost.gradient = program_space(plan->inferred, op)->gradient != NULL;
    cost.flops = declared && declared->cost.flops >= 0 ? declared->cost.flops
                 : as.cut                              ? flops_as(plan, op, as.cut)
                                                       : known_flops(known, op);
    cost.bytes = declared && declared->cost.bytes >= 0 ? declared_bytes(declared)
                                                       : op_bytes_local(known, op, as, cost.work);
    bool tiled =
        cost.work == WORK_MATMUL && !cost.attention && !(declared && declared->cost.flops >= 0);
    cost.product = !tiled ? (OpProduct){0} : as.cut ? op_product(plan, op, as.cut) : space->product;
    cost = op_cost_on(&cost, plan_machine(plan, op));
    if (declared && declared->cost.us >= 0)
        cost.us = declared->cost.us;
    return cost;
}

static OpCost cost_alone(const Plan *plan, int32_t op, bool views)
{
    if (inferred_is_host(plan->inferred, op))
        return (OpCost){.work = WORK_VIEW};
    Arena *scratch = arena_new();
    KnownWork known = known_new(scratch, plan);
    OpCost cost = cost_of(&known, op, (OpAs){.views = views});
    arena_free(scratch);
    return cost;
}

OpCost op_cost(const Plan *plan, int32_t op)
{
    return cost_alone(plan, op, false);
}

OpCost op_cost_as_run(const Plan *plan, int32_t op)
{
    return cost_alone(plan, op, true);
}

OpPricer *op_pricer_new(Arena *arena, const Plan *plan)
{
    OpPricer *pricer = arena_make(arena, OpPricer);
    *pricer = known_new(arena, plan);
    return pricer;
}

double op_price(const OpPricer *pricer, int32_t op, const OpCut *cut, const int32_t *sharding)
{
    return cost_of(pricer, op, (OpAs){.cut = cut, .sharding = sharding}).us;
}

double reshard_repeat(const Plan *plan, const Reshard *reshard)
{
    const Graph *graph = plan->inferred->graph;
    int32_t maker = graph->tensors[reshard->tensor].maker;
    int32_t reader = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;
    bool result = reader >= 0 && strcmp(op_operator(graph, reader), "LoopResult") == 0;
    double times = maker < 0 ? 1 : inferred_repeat(plan->inferred, result ? reader : maker);
    return times * (double)inferred_items(plan->inferred, reshard->tensor);
}

/* ---- the best case: collectives overlap with compute ---- */

/* Times at which things are done, in microseconds since the start of a step. */
typedef struct {
    const Plan *plan;
    int32_t *first;                /* per op: the first reshard that waits for it, or -1 */
    int32_t *next;                 /* per reshard: the next one that waits for the same op */
    double *made_us;               /* per tensor: when its value exists, after the reshard of its
                                      pin */
    double *ready_us;              /* per op: when the last collective whose result it reads has
                                      ended */
    double ops_us, collectives_us; /* when each queue is free again */
    int32_t *waits_for;            /* per op: the reshard that ready_us comes from, or -1 */
    int32_t *made_by;              /* per tensor: the reshard that made_us comes from; -1 for its
                                      maker */
    int32_t last;                  /* the last collective, or -1 */
    double *exposed_us;            /* per reshard; NULL if the caller does not want it */
} Queues;

static void issue(Queues *queues, int32_t id)
{
    const Plan *plan = queues->plan;
    const Reshard *reshard = &plan->moved->reshards[id];
    double made_us = queues->made_us[reshard->tensor],
           us = reshard->path->us - ring_hidden_us(plan, reshard);
    int32_t cause = us > 0 ? id : queues->made_by[reshard->tensor];
    if (us > 0) { /* slices are local and wait for no queue */
        queues->last = id;
        double start_us = made_us > queues->collectives_us ? made_us : queues->collectives_us;
        made_us = start_us + reshard_repeat(plan, reshard) * us;
        queues->collectives_us = made_us;
    }
    if (reshard->n_uses == 0) {
        queues->made_us[reshard->tensor] = made_us;
        queues->made_by[reshard->tensor] = cause;
    }
    for (int32_t u = reshard->use; u < reshard->use + reshard->n_uses; u++) {
        int32_t op = plan->moved->reshard_uses[u];
        if (queues->ready_us[op] < made_us) {
            queues->ready_us[op] = made_us;
            queues->waits_for[op] = cause;
        }
    }
}

static void issue_all(Queues *queues, int32_t op, bool before)
{
    for (int32_t r = queues->first[op]; r >= 0; r = queues->next[r]) {
        bool after;
        reshard_beside(queues->plan, &queues->plan->moved->reshards[r], &after);
        if (after != before)
            issue(queues, r);
    }
}

static void run_op(Queues *queues, int32_t op)
{
    const Plan *plan = queues->plan;
    const Graph *graph = plan->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    double start_us = queues->ops_us;
    int32_t cause = -1;
    issue_all(queues, op, true);
    if (queues->ready_us[op] > start_us) {
        start_us = queues->ready_us[op];
        cause = queues->waits_for[op];
    }
    for (int32_t i = at->input; i < at->input + at->n_inputs; i++)
        if (graph->operands[i] >= 0 && queues->made_us[graph->operands[i]] > start_us) {
            start_us = queues->made_us[graph->operands[i]];
            cause = queues->made_by[graph->operands[i]];
        }
    if (queues->exposed_us && cause >= 0)
        queues->exposed_us[cause] += start_us - queues->ops_us;
    queues->ops_us = start_us + plan->priced->op_us[op] + op_comm_us(plan, op);
    for (int32_t i = op_output_place(at); i < op_output_place(at) + at->n_outputs; i++)
        if (graph->operands[i] >= 0)
            queues->made_us[graph->operands[i]] = queues->ops_us;
    issue_all(queues, op, false);
}

static double best_case_us(const Plan *plan, double *exposed_us)
{
    const Graph *graph = plan->inferred->graph;
    Arena *scratch = arena_new();
    Queues queues = {.plan = plan, .last = -1, .exposed_us = exposed_us};
    queues.first = arena_array(scratch, int32_t, graph->n_ops);
    queues.next = arena_array(scratch, int32_t, plan->moved->n_reshards);
    queues.made_us = arena_array(scratch, double, graph->n_tensors);
    queues.ready_us = arena_array(scratch, double, graph->n_ops);
    queues.waits_for = arena_array(scratch, int32_t, graph->n_ops);
    queues.made_by = arena_array(scratch, int32_t, graph->n_tensors);
    for (int op = 0; op < graph->n_ops; op++)
        queues.first[op] = queues.waits_for[op] = -1;
    for (int t = 0; t < graph->n_tensors; t++)
        queues.made_by[t] = -1;
    for (int r = plan->moved->n_reshards - 1; r >= 0; r--) {
        bool after;
        int32_t op = reshard_beside(plan, &plan->moved->reshards[r], &after);
        if (op < 0)
            issue(&queues, r); /* of parameters and inputs */
        if (op < 0)
            continue;
        queues.next[r] = queues.first[op];
        queues.first[op] = r;
    }
    for (int i = 0; i < plan->inferred->n_program; i++)
        run_op(&queues, plan->inferred->program[i]);
    double us = queues.ops_us > queues.collectives_us ? queues.ops_us : queues.collectives_us;
    if (exposed_us && queues.last >= 0)
        exposed_us[queues.last] += us - queues.ops_us;
    arena_free(scratch);
    return us;
}

void cost_exposed(const Plan *plan, double *us)
{
    memset(us, 0, sizeof *us * (size_t)plan->moved->n_reshards);
    best_case_us(plan, us);
}

/* ---- sums ---- */

/* Adds the collectives inside an op, as often as it runs. */
static double declared_wire_bytes(const Plan *plan, int32_t op)
{
    const OpDeclared *declared = op_declared(plan, op);
    return declared ? (double)declared->wire_bytes * inferred_repeat(plan->inferred, op) : 0;
}

static void price_ops(const Plan *plan, Priced *out, Totals *totals, double *wire_bytes)
{
    const Inferred *inferred = plan->inferred;
    Arena *scratch = arena_new();
    KnownWork known = known_new(scratch, plan);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        OpCost cost = cost_of(&known, op, (OpAs){0});
        double n = inferred_repeat(inferred, op); /* an op in a loop runs n times */
        out->op_us[op] = n * cost.us;
        totals->compute_us += out->op_us[op];
        totals->flops += n * cost.flops;
        totals->comm_us += op_comm_us(plan, op);
        *wire_bytes += declared_wire_bytes(plan, op);
    }
    arena_free(scratch);
}

void cost_fill(Plan *plan, Priced *out)
{
    Totals totals = {.peak_bytes = out->totals.peak_bytes};
    double wire_bytes = 0, hidden_us = 0;
    out->op_us = arena_array(plan->arena, double, plan->inferred->graph->n_ops);
    out->declared = op_declared_make(plan);
    price_ops(plan, out, &totals, &wire_bytes);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const ReshardPath *path = plan->moved->reshards[i].path;
        double n = reshard_repeat(plan, &plan->moved->reshards[i]);
        totals.comm_us += n * path->us;
        hidden_us += n * ring_hidden_us(plan, &plan->moved->reshards[i]);
        wire_bytes += n * (double)path->wire_bytes;
    }
    totals.comm_bytes = wire_bytes < 0x1p62 ? (int64_t)wire_bytes : INT64_MAX;
    totals.step_us = totals.compute_us + totals.comm_us - hidden_us;
    totals.overlap_us = best_case_us(plan, NULL);
    out->totals = totals;
}
