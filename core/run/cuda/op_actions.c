#include "core/run/cuda/gpu.h"

enum { RUN_OPS_MAX = 16 };

/* Consecutive ops of the program, with only loads and frees between them. */
typedef struct {
    int n;
    int at[RUN_OPS_MAX]; /* instructions */
    int32_t op[RUN_OPS_MAX];
    KernelCall call[RUN_OPS_MAX];
    const KernelCall *calls[RUN_OPS_MAX];
    bool kept[RUN_OPS_MAX];
} OpRun;

Local *gpu_existing_slot(Rank *rank, int32_t slot)
{
    return rank->slot[slot];
}

static bool stands_on(const GpuRank *gpu, int32_t op)
{
    return rank_stands_on(gpu->rank, plan_devices(gpu->rank->team->plan, op));
}

static int32_t slot_of(const GpuRank *gpu, int place)
{
    return gpu_program(gpu)->operand[place];
}

/* Number of operands of ops from..to of the run that read the slot. */
static int reads_in_run(const GpuRank *gpu, const OpRun *run, int from, int to, int32_t slot)
{
    int n = 0;
    for (int i = from; i < to; i++) {
        const GraphOp *op = &gpu_graph(gpu)->ops[run->op[i]];
        for (int k = 0; k < op->n_inputs; k++)
            n += slot_of(gpu, op->input + k) == slot;
    }
    return n;
}

/* Whether the output of op i is read outside of the run, or verified. */
static bool is_kept(const GpuRank *gpu, const OpRun *run, int i)
{
    const GraphOp *op = &gpu_graph(gpu)->ops[run->op[i]];
    bool kept = gpu->rank->team->options->verify;
    for (int k = 0; k < op->n_outputs && !kept; k++) {
        int32_t slot = slot_of(gpu, op_output_place(op) + k);
        kept = slot >= 0 && gpu->n_readers[slot] > reads_in_run(gpu, run, 0, run->n, slot);
    }
    return kept;
}

static bool find_run(GpuRank *gpu, int at, OpRun *run, Error *err)
{
    const Program *program = gpu_program(gpu);
    run->n = 0;
    for (int i = at; i < program->n_instrs && run->n < RUN_OPS_MAX; i++) {
        const Instr *instr = &program->instrs[i];
        if (instr->kind == INSTR_STEP)
            break;
        if (instr->kind != INSTR_OP || !stands_on(gpu, instr->op))
            continue;
        KernelCall *call = &run->call[run->n];
        if (!rank_kernel_call(gpu->rank, instr, gpu_existing_slot, gpu->arena, call))
            return error_kind(err, ERROR_RUN, "a slot is empty");
        run->at[run->n] = i;
        run->op[run->n] = instr->op;
        run->calls[run->n++] = call;
    }
    for (int i = 0; i < run->n; i++)
        run->kept[i] = is_kept(gpu, run, i);
    return true;
}

/* Records what the first n ops of the run read and write. Slots that are used only inside a fused
 * launch are not stored. */
static void use_run_slots(GpuRank *gpu, int at, const OpRun *run, int n)
{
    for (int i = 0; i < n; i++) {
        const GraphOp *op = &gpu_graph(gpu)->ops[run->op[i]];
        for (int k = 0; k < op->n_outputs; k++) {
            int32_t slot = slot_of(gpu, op_output_place(op) + k);
            if (slot < 0)
                continue;
            bool written = run->kept[i] || n == 1 || reads_in_run(gpu, run, n, run->n, slot) > 0;
            if (written)
                use_slot(gpu, at, slot, true);
            else
                gpu->slot_bytes[slot] = -1;
        }
    }
    for (int i = 0; i < n; i++) {
        const GraphOp *op = &gpu_graph(gpu)->ops[run->op[i]];
        for (int k = 0; k < op->n_inputs; k++) {
            int32_t slot = slot_of(gpu, op->input + k);
            if (slot >= 0 && gpu->slot_bytes[slot] >= 0)
                use_slot(gpu, at, slot, false);
        }
    }
}

static void act_on_host(GpuRank *gpu, int at, const OpRun *run)
{
    GpuAction action = {.kind = ACT_HOST_OP, .op = run->op[0], .group = -1};
    vec_push(gpu->arena, &gpu->actions[at], action);
    gpu->n_host_ops++;
    gpu->rank->result->copied[run->op[0]] = true;
    use_run_slots(gpu, at, run, 1);
}

bool op_actions(GpuRank *gpu, int at, Error *err)
{
    if (gpu->covered[at] || !stands_on(gpu, gpu_program(gpu)->instrs[at].op))
        return true;
    OpRun *run = arena_make(gpu->arena, OpRun);
    DeviceWork *work = arena_make(gpu->arena, DeviceWork);
    if (!find_run(gpu, at, run, err))
        return false;
    if (!device_work(gpu->arena, gpu->texts, run->calls, run->n, run->kept, work)) {
        act_on_host(gpu, at, run);
        return true;
    }
    add_work(gpu, at, work, &(WorkPlaces){.ops = run->op});
    use_run_slots(gpu, at, run, work->n_ops);
    for (int i = 1; i < work->n_ops; i++)
        gpu->covered[run->at[i]] = true;
    return true;
}
