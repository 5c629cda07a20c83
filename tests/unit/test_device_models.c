/* The samples on a device: small ones op by op and in runs beside the host kernels, on the numbers
 * that the model has; of all of them, which operators have no device work. */
#include "tests/unit/on_device.h"
#include "tests/unit/planning.h"

#include "core/plan/edges.h"
#include "core/run/feed.h"
#include "core/run/program.h"

enum { RUN_MAX = 12 };

typedef struct {
    const char *name, *model, *dims, *mesh;
    bool runs;           /* small: it is done on the CPU */
    const char *without; /* operators whose host kernel is run: none of them computes much */
    const char *train;   /* the step of --train; NULL: forward only */
} Sample;

static Sample samples[] = {
    {"tiny-gpt", "tiny-gpt", "batch=2,seq=16", "tp=1", true, "", NULL},
    {"llama-tiny", "llama-tiny", "batch=2,seq=16", "tp=1", true, "", NULL},
    {"tiny-conv", "tiny-conv", "batch=2", "tp=1", true, "", NULL},
    {"tiny-gpt, cut", "tiny-gpt", "batch=2,seq=16", "dp=2", false, "", NULL},
    {"gpt2", "gpt2", "batch=2,seq=16", "tp=1", false, "", NULL},
    {"resnet50", "resnet50", "batch=2", "tp=1", false, "", NULL},
    {"vit_b_16", "vit_b_16", "batch=2", "tp=1", false, "", NULL},
    {"tiny-gpt trains", "tiny-gpt", "batch=2,seq=16", "tp=1", true, "", "adamw,clip=1.0"},
    {"llama-tiny trains", "llama-tiny", "batch=2,seq=16", "tp=1", true, "", "adam,clip=1.0"},
    {"tiny-conv trains", "tiny-conv", "batch=2", "tp=1", true, "", "momentum"},
    {"gpt2 trains", "gpt2", "batch=2,seq=16", "tp=1", false, "", "adamw,clip=1.0"},
    {"resnet50 trains", "resnet50", "batch=2", "tp=1", false, "", "sgd"},
};

typedef struct {
    const Sample *sample;
    Planning *planning;
    const Plan *plan;
    Program program;
    Feeds feeds;
    Local **slot;
    int n_ops;
    KernelCall *call; /* of the program's ops, in order */
    Arena *scratch;
    Vec(Local *) made; /* with elements of their own */
} Model;

/* Of rank 0; without elements, at an address that is none, where the model is not done. */
static Local *make(Model *model, int32_t slot)
{
    const Plan *plan = model->plan;
    const ProgramSlot *at = &model->program.slots[slot];
    const Sharding *sharding = shardings_at(plan->shardings, at->sharding);
    Dtype dtype = (Dtype)plan->inferred->dtype[at->tensor];
    const Shape *whole = inferred_shape(plan->inferred, at->tensor);
    if (model->sample->runs) {
        model->slot[slot] = local_new_whole(dtype, whole);
        vec_push(model->scratch, &model->made, model->slot[slot]);
        return model->slot[slot];
    }
    Local *local = arena_make(model->scratch, Local);
    *local = (Local){.arena = model->scratch, .dtype = dtype, .whole = *whole};
    local->data = (void *)(uintptr_t)16;
    local->shape.n_dims = whole->n_dims;
    for (int64_t d = 0; d < whole->n_dims; d++) {
        local->runs[d] = cut_runs(model->scratch, &sharding->dim[d], plan->mesh, 0);
        local->shape.dim[d] = local->runs[d].local_size;
    }
    return model->slot[slot] = local;
}

static void load_slot(Model *model, int32_t slot)
{
    Local *local = make(model, slot);
    if (model->sample->runs)
        feed_fill(&model->feeds, model->program.slots[slot].tensor, 0, local, model->scratch);
}

/* A step of one device changes nothing; a step of shapes makes a shape. */
static void do_step(Model *model, const Instr *instr)
{
    if (model->sample->runs)
        model->slot[instr->slot] = model->slot[instr->from];
    else
        make(model, instr->slot);
}

static KernelCall call_of(Model *model, int32_t op)
{
    const Plan *plan = model->plan;
    const GraphOp *at = &plan->inferred->graph->ops[op];
    const int32_t *operand = model->program.operand;
    const Local **input = arena_array(model->scratch, const Local *, at->n_inputs);
    Local **output = arena_array(model->scratch, Local *, at->n_outputs);
    AtomSet reduced = op_cut_reduced(program_space(plan->inferred, op), program_cut(plan, op));
    for (int i = 0; i < at->n_inputs; i++)
        input[i] = operand[at->input + i] < 0 ? NULL : model->slot[operand[at->input + i]];
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t slot = operand[op_output_place(at) + i];
        output[i] = slot < 0 ? NULL : make(model, slot);
    }
    return (KernelCall){.kernel = model->program.kernel[op],
                        .inferred = plan->inferred,
                        .op = op,
                        .n_inputs = at->n_inputs,
                        .n_outputs = at->n_outputs,
                        .input = input,
                        .output = output,
                        .first = mesh_stands_first(plan->mesh, reduced, 0),
                        .reduce_cut = reduced != 0,
                        .cut = program_cut(plan, op),
                        .mesh = plan->mesh,
                        .scratch = model->scratch};
}

static void do_op(Model *model, const Instr *instr)
{
    Error err = {0};
    KernelCall *call = &model->call[model->n_ops++];
    *call = call_of(model, instr->op);
    if (model->sample->runs && !call->kernel->run(call, &err))
        fail_msg("%s: %s", op_name(model->plan->inferred->graph, instr->op), err.text);
}

static void open_model(const Sample *sample, Model *model)
{
    Error err = {0};
    Planning *p = planning_open(sample->model, sample->dims, sample->mesh);
    if (sample->train)
        planning_train(p, sample->dims, sample->train);
    *model = (Model){.sample = sample, .planning = p, .scratch = arena_new()};
    model->plan = planning_make(p);
    if (!program_lower(p->arena, model->plan, &model->program, &err))
        planning_fail(&err);
    bool *known = arena_array(p->arena, bool, p->graph->n_tensors);
    for (int i = 0; i < model->program.n_instrs; i++)
        if (model->program.instrs[i].kind == INSTR_LOAD)
            known[model->program.slots[model->program.instrs[i].slot].tensor] = true;
    model->slot = arena_array(model->scratch, Local *, model->program.n_slots);
    model->call = arena_array(model->scratch, KernelCall, model->program.n_instrs);
    if (sample->runs &&
        !feeds_open(p->arena, p->inferred, known, &(Given){.seed = 1}, &model->feeds, &err))
        planning_fail(&err);
    for (int i = 0; i < model->program.n_instrs; i++) {
        const Instr *instr = &model->program.instrs[i];
        if (instr->kind == INSTR_LOAD)
            load_slot(model, instr->slot);
        else if (instr->kind == INSTR_STEP)
            do_step(model, instr);
        else if (instr->kind == INSTR_OP)
            do_op(model, instr);
    }
}

static void close_model(Model *model)
{
    if (model->sample->runs)
        feeds_close(&model->feeds);
    for (int i = 0; i < model->made.n; i++)
        local_free(model->made.at[i]);
    arena_free(model->scratch);
    planning_close(model->planning);
}

/* Some op that is not of the run reads it, or nobody at all. */
static bool is_kept(const Model *model, int first, int n, int op)
{
    int n_in_run = 0, n_all = 0;
    for (int k = 0; k < model->n_ops; k++)
        for (int i = 0; i < model->call[k].n_inputs; i++)
            for (int o = 0; o < model->call[op].n_outputs; o++) {
                bool reads =
                    model->call[k].input[i] && model->call[k].input[i] == model->call[op].output[o];
                n_all += reads;
                n_in_run += reads && first <= k && k < first + n;
            }
    return n_all == 0 || n_in_run < n_all;
}

static int work_at(const Model *model, int first, int n, bool runs, Buf *wrong)
{
    const KernelCall *run[RUN_MAX];
    bool kept[RUN_MAX];
    DeviceWork work = {0};
    for (int i = 0; i < n; i++) {
        run[i] = &model->call[first + i];
        kept[i] = is_kept(model, first, n, first + i);
    }
    if (runs)
        return on_device(run, n, kept, wrong);
    if (!device_work(model->scratch, device.texts, run, n, kept, &work))
        return 0;
    return work.n_ops;
}

static void test_sample(void **state)
{
    const Sample *sample = *state;
    Model model;
    open_model(sample, &model);
    Buf without = buf_new(model.scratch), wrong = buf_new(model.scratch);
    int n_works = 0;
    for (int longest = 1; longest <= RUN_MAX; longest += RUN_MAX - 1)
        for (int op = 0, done; op<model.n_ops; op += done> 0 ? done : 1) {
            int n = model.n_ops - op < longest ? model.n_ops - op : longest;
            done = work_at(&model, op, n, sample->runs, &wrong);
            const char *name = model.call[op].kernel->name;
            if (wrong.n > 0)
                fail_msg("%s at %s: %s", name,
                         op_name(model.plan->inferred->graph, model.call[op].op), wrong.s);
            if (done == 0 && !str_has_word(buf_str(&without), str_from(name)))
                buf_printf(&without, "%s%s", without.n ? " " : "", name);
            n_works += done > 0;
        }
    print_message("%s: %d ops, %d works alone and in runs\n", sample->name, model.n_ops, n_works);
    assert_string_equal(without.s ? without.s : "", sample->without);
    close_model(&model);
}

int main(void)
{
    device_open();
    cmocka_set_test_filter(getenv("ONLY"));
    int failed = run_rows("device_models", samples, test_sample);
    printf("texts: %d\n", (int)device_texts_count(device.texts));
    device_close();
    return failed;
}
