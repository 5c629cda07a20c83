#include "core/cost/training_cost.h"

#include "core/rules/registry.h"

#include "core/base/str.h"
#include "core/cost/cost.h"
#include "core/cost/gradient_reduces.h"
#include "core/cost/op_declared.h"
#include "core/model/stated.h"
#include "core/cost/step_comm.h"
#include "core/cost/step_parts.h"
#include "core/plan/routed.h"
#include "core/plan/stage.h"

#include <assert.h>
#include <math.h>

static Phase phase_of(const Plan *plan, int32_t op)
{
    return op < 0 ? PHASE_FORWARD : op_phase(plan->inferred->graph, op);
}

/* The op for which a value is moved, or that makes it. */
static int32_t op_of_reshard(const Plan *plan, const Reshard *reshard)
{
    return reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use]
                               : plan->inferred->graph->tensors[reshard->tensor].maker;
}

static Phase phase_of_reshard(const Plan *plan, const Reshard *reshard)
{
    return plan->inferred->graph->phase && reshard_is_of_update(plan, reshard)
               ? PHASE_UPDATE
               : phase_of(plan, op_of_reshard(plan, reshard));
}

static double reshard_us(const Plan *plan, const Reshard *reshard)
{
    return reshard_repeat(plan, reshard) * reshard->path->us;
}

static double op_us(const Plan *plan, int32_t op)
{
    return plan->priced->op_us[op] + op_comm_us(plan, op);
}

static bool is_backward(Phase phase)
{
    return phase == PHASE_AGAIN || phase == PHASE_BACKWARD;
}

/* ---- FLOPs ---- */

static double index_points(const OpSpace *space, uint32_t without)
{
    double points = 1;
    for (int j = 0; j < space->n_index; j++)
        points *= without >> j & 1 ? 1 : (double)space->index[j].size;
    return points;
}

/* The index dims of an operand's last dim. */
static uint32_t last_index(const OpSpace *space, int at)
{
    uint32_t set = 0;
    const Projection *projection = &space->operand[at].projection;
    int last = projection->n_dims - 1;
    for (int j = 0; last >= 0 && j < space->n_index; j++)
        set |= (uint32_t)(projection->row[last].coef[j] != 0) << j;
    return set;
}

/* Of queries, keys and values; not of all three in one operand. */
static bool is_attention(const OperatorRows *rows, int32_t op)
{
    const OpSpace *space = program_space(rows->inferred, op);
    return operator_row_flags(rows, op) & OPERATOR_KEEPS_ROWS && space->n_inputs > 2 &&
           last_index(space, 1) & last_index(space, 0);
}

/* FLOPs of a product; of attention on q, k and v without regard to its mask: that of q and k sums
 * over the width of k, that of the scores and v makes the width of v. Its gradient has twice as
 * many. */
static double product_flops(const Plan *plan, const OperatorRows *rows, int32_t op)
{
    const Inferred *inferred = plan->inferred;
    const Graph *graph = inferred->graph;
    bool backward = graph->phase[op] == PHASE_BACKWARD && graph->of[op] >= 0;
    int32_t of = backward ? graph->of[op] : op;
    if (!is_attention(rows, of))
        return program_space(inferred, op)->flops *
               routed_op_fill(plan->routed, op, NULL, plan->mesh);
    const OpSpace *space = program_space(inferred, of);
    uint32_t q = last_index(space, 0), v = last_index(space, 2), heads = q & v;
    uint32_t d = q & ~heads, e = v & ~heads;
    return (backward ? 2 : 1) * (2 * index_points(space, e) + 2 * index_points(space, d));
}

static double peak_of(const Machine *machine, Dtype dtype)
{
    return machine->flops_per_s[dtype] > 0 ? machine->flops_per_s[dtype]
                                           : machine->flops_per_s[DT_F32];
}

/* Products of one micro-batch, in FLOPs and in seconds at the peak of the machine. */
static void add_products(Arena *scratch, const Plan *plan, const OperatorRows *rows,
                         TrainingCost *out, double *model_s, double *hardware_s)
{
    const Inferred *inferred = plan->inferred;
    int8_t *product = arena_array(scratch, int8_t, inferred->n_spaces); /* 1: yes, 2: no */
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        Phase phase = phase_of(plan, op);
        int8_t *is = &product[inferred->space[op]];
        if (*is == 0)
            *is = op_work(plan, op) == WORK_MATMUL ? 1 : 2;
        if (*is == 2 || phase == PHASE_UPDATE)
            continue;
        double n = inferred_repeat(inferred, op);
        double peak =
            peak_of(plan->machine, (Dtype)inferred->dtype[op_outputs(inferred->graph, op)[0]]);
        double hardware = n * product_flops(plan, rows, op);
        double model = phase == PHASE_FORWARD ? 3 * hardware : 0;
        out->model_flops += model;
        out->hardware_flops += hardware;
        *model_s += model / peak;
        *hardware_s += hardware / peak;
    }
}

/* ---- times ---- */

static void add_phase(PhaseTimes *out, Phase phase, double us)
{
    if (phase == PHASE_FORWARD)
        out->forward_us += us;
    else if (phase == PHASE_UPDATE)
        out->update_us += us;
    else
        out->backward_us += us;
}

PhaseTimes phase_times(const Plan *plan)
{
    PhaseTimes out = {0};
    for (int i = 0; i < plan->inferred->n_program; i++)
        add_phase(&out, phase_of(plan, plan->inferred->program[i]),
                  op_us(plan, plan->inferred->program[i]));
    for (int i = 0; i < plan->moved->n_reshards; i++)
        add_phase(&out, phase_of_reshard(plan, &plan->moved->reshards[i]),
                  reshard_us(plan, &plan->moved->reshards[i]));
    return out;
}

/* Collectives of a step that ops wait for, on the devices that are busy longest. */
static double exposed_us(const Plan *plan)
{
    Arena *scratch = arena_new();
    StepParts parts = step_parts(scratch, plan);
    double us = 0;
    for (int i = 0; i < parts.n; i++)
        if (parts.part[i].kind == PART_COLLECTIVE || parts.part[i].kind == PART_REDUCTION)
            us += parts.part[i].us;
    arena_free(scratch);
    return us;
}

static void find_times(const Plan *plan, TrainingCost *out)
{
    const Stages *stages = plan->decided->stages;
    out->step_us = plan_step_us(plan);
    for (int s = 0; stages && s < stages->n; s++) {
        const StagePrice *stage = &plan->priced->pipeline->stage[s];
        out->forward_us = fmax(out->forward_us, stage_forward_us(stage));
        out->backward_us = fmax(out->backward_us, stage_backward_us(stage));
        out->update_us = fmax(out->update_us, stage->once_us);
    }
    if (!stages) {
        PhaseTimes times = phase_times(plan);
        out->forward_us = times.forward_us;
        out->backward_us = times.backward_us;
        out->update_us = times.update_us;
    }
    out->bubble = !stages ? 0 : plan_schedule(plan) ? plan_schedule(plan)->idle : NAN;
    out->why.bubble = isnan(out->bubble) ? "the schedule does not fit the stages" : NULL;
    out->exposed_comm_us = plan->priced->totals.overlap_us - plan->priced->totals.compute_us;
    if (stages)
        out->exposed_comm_us = exposed_us(plan);
}

/* The labels of the op if it is a loss: its operand of whole numbers. */
static double labels_of(const OperatorRows *rows, int32_t op)
{
    const Inferred *inferred = rows->inferred;
    if (!(operator_row_flags(rows, op) & OPERATOR_LABELS))
        return 0;
    for (int i = 0; i < inferred->graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(inferred->graph, op)[i];
        const Shape *shape = tensor < 0 ? NULL : inferred_shape(inferred, tensor);
        if (shape && !dtype_is_float((Dtype)inferred->dtype[tensor]))
            return (double)shape_elements(shape);
    }
    return 0;
}

/* The labels of the loss; 0: it compares nothing with labels. */
static double count_labels(const Plan *plan, const OperatorRows *rows)
{
    double n = 0;
    for (int i = 0; i < plan->inferred->n_program; i++)
        if (phase_of(plan, plan->inferred->program[i]) == PHASE_FORWARD)
            n += labels_of(rows, plan->inferred->program[i]);
    return n;
}

/* ---- the layer that is there most often ---- */

/* The head of the longest stretch of alike groups of the forward pass; of equal ones the largest.
 * -1: no group is there twice. */
static int32_t find_layer(const Plan *plan, const Groups *groups)
{
    int32_t best = -1;
    for (int32_t g = 1; g < groups->n_groups; g++) {
        const Group *at = &groups->groups[g];
        if (at->alike != g || at->alike_n < 2 || at->n == 0 ||
            phase_of(plan, groups->order[at->first]) != PHASE_FORWARD)
            continue;
        const Group *most = best < 0 ? NULL : &groups->groups[best];
        if (!most || at->alike_n > most->alike_n ||
            (at->alike_n == most->alike_n && at->n > most->n))
            best = g;
    }
    return best;
}

static int32_t forward_op(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    return op >= 0 && graph->phase[op] != PHASE_FORWARD ? graph->of[op] : op;
}

/* Adds what a layer costs to out->layer; `in` says which ops it has. */
static void add_layer(Arena *scratch, const Plan *plan, const MemoryAccount *account,
                      const bool *in, int64_t device, TrainingCost *out)
{
    const Inferred *inferred = plan->inferred;
    int64_t *saved = arena_array(scratch, int64_t, inferred->graph->n_ops);
    memory_saved(account, device, saved);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i], of = forward_op(plan, op);
        if (of < 0 || !in[of])
            continue;
        Phase phase = phase_of(plan, op);
        out->layer.activation_bytes += saved[op];
        out->layer.forward_us += phase == PHASE_FORWARD ? op_us(plan, op) : 0;
        out->layer.backward_us += is_backward(phase) ? op_us(plan, op) : 0;
    }
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        int32_t of = forward_op(plan, op_of_reshard(plan, reshard));
        Phase phase = phase_of_reshard(plan, reshard);
        if (of < 0 || !in[of])
            continue;
        out->layer.forward_us += phase == PHASE_FORWARD ? reshard_us(plan, reshard) : 0;
        out->layer.backward_us += is_backward(phase) ? reshard_us(plan, reshard) : 0;
    }
}

/* The stage of the first op of a group; 0 without stages. */
static int stage_of_group(const Plan *plan, const Groups *groups, int32_t group)
{
    const Stages *stages = plan->decided->stages;
    return stages ? stages->of_op[groups->order[groups->groups[group].first]] : 0;
}

/* The first layer of a stage keeps what it receives, the last one not what it sends: so it is the
 * mean of those in the stage of the middle one. */
static void find_layer_cost(Arena *arena, const Plan *plan, const MemoryAccount *account,
                            const Groups *groups, TrainingCost *out)
{
    int32_t head = groups ? find_layer(plan, groups) : -1;
    if (head < 0)
        return;
    Arena *scratch = arena_new();
    out->layer.n = groups->groups[head].alike_n;
    int32_t middle = groups_member(groups, head, out->layer.n / 2);
    int stage = stage_of_group(plan, groups, middle), n = 0;
    bool *in = arena_array(scratch, bool, plan->inferred->graph->n_ops);
    for (int i = 0; i < out->layer.n; i++) {
        int32_t member = groups_member(groups, head, i);
        const Group *at = &groups->groups[member];
        if (stage_of_group(plan, groups, member) != stage)
            continue;
        for (int k = 0; k < at->n; k++)
            in[groups->order[at->first + k]] = true;
        n++;
    }
    int32_t first = groups->order[groups->groups[middle].first];
    out->layer.path = arena_str(arena, str_from(groups->groups[middle].path));
    add_layer(scratch, plan, account, in, plan->decided->submeshes[plan_devices(plan, first)].first,
              out);
    assert(n > 0); /* the middle one is in its stage */
    out->layer.activation_bytes /= n;
    out->layer.forward_us /= n;
    out->layer.backward_us /= n;
    arena_free(scratch);
}

/* ---- all of it ---- */

static int64_t count_parameters(const Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    const Graph *graph = inferred->graph;
    int64_t n = 0;
    bool *counted = NULL;
    Arena *scratch = arena_new();
    counted = arena_array(scratch, bool, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int32_t of = graph->gradient_of[t];
        if (of < 0 || counted[of] || graph->tensors[of].kind != TENSOR_INITIALIZER)
            continue;
        counted[of] = true;
        n += shape_elements(inferred_shape(inferred, of));
    }
    arena_free(scratch);
    return n;
}

TrainingCost training_cost(Arena *arena, const Plan *plan, const Groups *groups)
{
    TrainingCost out = {.micro_batches = plan_micro_batches(plan)};
    Arena *scratch = arena_new();
    double model_s = 0, hardware_s = 0, m = out.micro_batches;
    double n_devices = (double)plan->mesh->n_devices;
    OperatorRows rows = operator_rows_new(scratch, plan->inferred);
    add_products(scratch, plan, &rows, &out, &model_s, &hardware_s);
    out.model_flops *= m;
    out.hardware_flops *= m;
    find_times(plan, &out);
    out.parameters = count_parameters(plan);
    GradientReduces reduces = gradient_reduces(plan);
    out.gradient_reductions = (int)gradient_reduces_count(&reduces);
    double step_s = out.step_us / 1e6, labels = m * count_labels(plan, &rows);
    out.mfu = m * model_s / step_s / n_devices;
    out.hfu = m * hardware_s / step_s / n_devices;
    out.tokens_per_s_device = labels > 0 ? labels / step_s / n_devices : NAN;
    out.why.tokens_per_s_device = labels > 0 ? NULL : "the loss reads no labels";
    MemoryAccount *account = memory_account_new(plan);
    out.rank0 = memory_of_step(account, 0);
    out.last = memory_of_step(account, plan->mesh->n_devices - 1);
    out.most = memory_of_step(account, plan->priced->peak_rank);
    find_layer_cost(arena, plan, account, groups, &out);
    memory_account_free(account);
    arena_free(scratch);
    return out;
}
