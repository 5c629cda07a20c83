/* Plans run and compared with one device: every operator with every index dim cut, the sample
 * models on their vectors, and what happens when a plan, a file or a person stops it. */
#include "tests/unit/planning_text.h"

#include "tests/unit/proto.h"

#include "core/run/program.h"
#include "core/run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void pin_index(Planning *p, int32_t op, int index, const char *axes)
{
    const OpSpace *space = inferred_space(p->inferred, op);
    Decision pin = {.kind = PIN_INDEX_DIM, .place = op, .dim = index};
    pin.cut = (Cut[]){planning_cut(p, space->index[index].size, axes, 1)};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
}

static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};

static RunReport run_verified(Planning *p)
{
    RunReport report;
    Error err = {0};
    planning_make(p);
    if (!run_plan(p->arena, p->plan, &verified, &report, &err))
        planning_fail(&err);
    if (!report.ok)
        fail_msg("'%s' differs",
                 report.first_bad < 0 ? "an output" : tensor_name(p->graph, report.first_bad));
    if (!report.predicted_peak_at_least && report.predicted_peak_bytes < report.peak_bytes)
        fail_msg("%d B at the peak, %d B predicted", (int)report.peak_bytes,
                 (int)report.predicted_peak_bytes);
    return report;
}

/* ---- every operator, every cut ---- */

typedef struct {
    const char *name, *text; /* the last op is cut */
} CutRow;

static CutRow cut_rows[] = {
    {"unary", "y <- Tanh f32[5,6]"},
    {"binary", "y <- Add f32[5,6] f32[5,6]"},
    {"broadcast", "y <- Mul f32[5,1,6] f32[4,1]"},
    {"where", "c <- Less f32[5,6] f32[6]; y <- Where c f32[5,1] f32[]"},
    {"three addends", "y <- Sum f32[5,6] f32[6] f32[5,1]"},
    {"clip", "y <- Clip f32[5,6] f32[] f32[]"},
    {"cast", "y <- Cast f32[5,6] to=10"},
    {"reshape that splits", "y <- Reshape f32[24,5] i64[3]{4,6,5}"},
    {"reshape that joins", "y <- Reshape f32[4,6,5] i64[2]{24,5}"},
    {"reshape across", "y <- Reshape f32[4,6,2] i64[2]{8,6}"},
    {"squeeze", "y <- Squeeze f32[5,1,6] i64[1]{1}"},
    {"unsqueeze", "y <- Unsqueeze f32[5,6] i64[1]{0}"},
    {"flatten", "y <- Flatten f32[4,3,2] axis=2"},
    {"transpose", "y <- Transpose f32[4,5,6] perm=[2,0,1]"},
    {"expand", "y <- Expand f32[5,1] i64[3]{3,5,4}"},
    {"slice", "y <- Slice f32[7,6] i64[1]{5} i64[1]{0} i64[1]{0} i64[1]{-2}"},
    {"equal split", "a b <- Split f32[6,5] axis=0 num_outputs=2"},
    {"split in three", "a b c <- Split f32[5,12] i64[3]{4,4,4} axis=1"},
    {"unequal split", "a b <- Split f32[5,6] i64[2]{2,3} axis=0"},
    {"concat", "y <- Concat f32[5,2] f32[5,3] axis=1"},
    {"tile", "y <- Tile f32[4,3] i64[2]{2,3}"},
    {"triangle", "y <- Trilu f32[3,4,4]"},
    {"gather", "y <- Gather f32[7,5] i64[2,3]{6,0,3,-1,2,2}"},
    {"gather columns", "y <- Gather f32[4,7,5] i64[3]{6,0,3} axis=1"},
    {"gather one", "y <- Gather f32[7,5] i64[]{3}"},
    {"gather all in order", "y <- Gather f32[6,5] i64[2,3]{0,1,2,3,4,5}"},
    {"gather by coordinates", "y <- GatherND f32[2,3,5] i64[4,2]{0,0,1,2,0,1,1,1}"},
    {"gather at every coordinate", "y <- GatherND f32[2,3] i64[2,3,2]{0,0,0,1,0,2,1,0,1,1,1,2}"},
    {"gather elements", "y <- GatherElements f32[4,3] i64[4,2]{0,2,1,1,2,0,0,0} axis=1"},
    {"matmul", "y <- MatMul f32[3,5,7] f32[7,4]"},
    {"matmul in batches", "y <- MatMul f32[3,2,5,7] f32[2,7,4]"},
    {"matmul of a vector", "y <- MatMul f32[7] f32[7,4]"},
    {"inner product", "y <- MatMul f32[7] f32[7]"},
    {"gemm", "y <- Gemm f32[5,7] f32[7,4] f32[4] alpha=0.5 beta=2.0"},
    {"gemm turned", "y <- Gemm f32[7,5] f32[4,7] f32[5,1] transA=1 transB=1"},
    {"gemm of halves", "y <- Gemm f16[5,7] f16[7,4] f16[4]"},
    {"einsum", "y <- Einsum f32[3,5,7] f32[7,4] equation=\"bik,kj->bij\""},
    {"einsum that sums all", "y <- Einsum f32[5,7] f32[7] equation=\"ik,k->\""},
    {"sum", "y <- ReduceSum f32[5,7] i64[1]{1}"},
    {"sum of all", "y <- ReduceSum f32[5,7] keepdims=0"},
    {"mean", "y <- ReduceMean f32[5,7] i64[1]{1} keepdims=0"},
    {"largest", "y <- ReduceMax f32[5,7] i64[1]{1}"},
    {"smallest", "y <- ReduceMin f32[5,7] i64[1]{0} keepdims=0"},
    {"product", "y <- ReduceProd f32[5,7] i64[1]{1}"},
    {"squares", "y <- ReduceSumSquare f32[5,7] i64[1]{1}"},
    {"length", "y <- ReduceL2 f32[5,7] i64[1]{1}"},
    {"log of a sum of powers", "y <- ReduceLogSumExp f32[5,7] i64[1]{1}"},
    {"where the largest is", "y <- ArgMax f32[5,7] axis=1"},
    {"running sum", "y <- CumSum f32[5,7] i64[]{1}"},
    {"softmax", "y <- Softmax f32[4,5,6]"},
    {"softmax of another dim", "y <- Softmax f32[4,5,6] axis=1"},
    {"layer norm", "y m i <- LayerNormalization f32[4,5,6] f32[6] f32[6]"},
    {"rms norm", "y <- RMSNormalization f32[4,5,6] f32[6]"},
};

static void cut_op(const char *text, const char *mesh, int i, const char *axes_i, int j,
                   const char *axes_j)
{
    Planning *p = planning_text(text, mesh);
    int32_t op = p->graph->n_ops - 1;
    pin_index(p, op, i, axes_i);
    if (j >= 0)
        pin_index(p, op, j, axes_j);
    RunReport report = run_verified(p);
    assert_true(report.n_values_checked > 0);
    assert_int_equal(report.n_ranks, p->mesh->n_devices);
    planning_close(p);
}

static void every_cut_is_right(void **state)
{
    const CutRow *row = *state;
    Planning *p = planning_text(row->text, "tp=1");
    const OpSpace *space = inferred_space(p->inferred, p->graph->n_ops - 1);
    assert_non_null(space);
    assert_false(space->no_rule);
    for (int i = 0; i < space->n_index; i++) {
        if (space->index[i].role == ROLE_FROZEN)
            continue;
        cut_op(row->text, "tp=2", i, "tp", -1, "");
        cut_op(row->text, "tp=3", i, "tp", -1, "");
        for (int j = 0; j < i; j++)
            if (space->index[j].role != ROLE_FROZEN)
                cut_op(row->text, "dp=2,tp=2", i, "dp", j, "tp");
    }
    planning_close(p);
}

/* ---- the sample models on their vectors ---- */

typedef struct {
    const char *name, *model, *mesh;
    const char *pins; /* "NAME dim axes interleave; .." after the inputs over dp */
} ModelRow;

#define GPT_LAYER(l)                                                                               \
    "transformer.h." l ".attn.c_attn.weight 1 tp 3; transformer.h." l                              \
    ".attn.c_proj.weight 0 tp 1; transformer.h." l ".mlp.c_fc.weight 1 tp 1; transformer.h." l     \
    ".mlp.c_proj.weight 0 tp 1;"
#define LLAMA_LAYER(l)                                                                             \
    "model.layers." l ".self_attn.q_proj.weight 1 tp 1; model.layers." l                           \
    ".self_attn.k_proj.weight 1 tp 1; model.layers." l                                             \
    ".self_attn.v_proj.weight 1 tp 1; model.layers." l                                             \
    ".self_attn.o_proj.weight 0 tp 1; model.layers." l ".mlp.gate_proj.weight 1 tp 1; "            \
    "model.layers." l ".mlp.up_proj.weight 1 tp 1; model.layers." l                                \
    ".mlp.down_proj.weight 0 tp 1;"
#define GPT GPT_LAYER("0") GPT_LAYER("1")
#define LLAMA LLAMA_LAYER("0") LLAMA_LAYER("1")
#define GPT_VOCABULARY GPT "transformer.wte.weight 0 tp 1; lm_head.weight 1 tp 1;"
#define LLAMA_VOCABULARY LLAMA "model.embed_tokens.weight 0 tp 1; lm_head.weight 1 tp 1;"

static ModelRow model_rows[] = {
    {"gpt, one rank", "tiny-gpt", "dp=1,tp=1", ""},
    {"gpt, dp", "tiny-gpt", "dp=2,tp=1", ""},
    {"gpt, dp=2,tp=2", "tiny-gpt", "dp=2,tp=2", GPT},
    {"gpt, dp=1,tp=4", "tiny-gpt", "dp=1,tp=4", GPT},
    {"gpt, dp=2,tp=4", "tiny-gpt", "dp=2,tp=4", GPT},
    {"gpt, dp=2,tp=4, vocabulary", "tiny-gpt", "dp=2,tp=4", GPT_VOCABULARY},
    {"gpt, heads that do not divide", "tiny-gpt", "dp=1,tp=3", GPT_VOCABULARY},
    {"gpt, no interleave", "tiny-gpt", "dp=2,tp=2",
     "transformer.h.0.attn.c_attn.weight 1 tp 1; transformer.h.1.attn.c_proj.weight 1 dp 1;"},
    {"llama, one rank", "llama-tiny", "dp=1,tp=1", ""},
    {"llama, dp=2,tp=2", "llama-tiny", "dp=2,tp=2", LLAMA},
    {"llama, dp=1,tp=4", "llama-tiny", "dp=1,tp=4", LLAMA},
    {"llama, dp=2,tp=4", "llama-tiny", "dp=2,tp=4", LLAMA},
    {"llama, dp=2,tp=4, vocabulary", "llama-tiny", "dp=2,tp=4", LLAMA_VOCABULARY},
    {"llama, more ranks than kv heads", "llama-tiny", "dp=1,tp=8", LLAMA_VOCABULARY},
    {"llama, more dp than batch", "llama-tiny", "dp=3,tp=2", LLAMA},
};

static ModelRow conv_rows[] = {
    {"one rank", "tiny-conv", "dp=1,tp=1", ""},
    {"dp=2", "tiny-conv", "dp=2,tp=1", ""},
    {"dp=2,tp=2, channels", "tiny-conv", "dp=2,tp=2",
     "down.0.weight 0 tp 1; block.1.weight 0 tp 1; block.4.weight 1 tp 1; up.0.weight 0 tp 1; "
     "up.3.weight 1 tp 1; head.2.weight 0 tp 1;"},
    {"tp=3, channels that do not divide", "tiny-conv", "dp=1,tp=3",
     "down.0.weight 0 tp 1; block.0.weight 0 tp 1; block.1.weight 0 tp 1; up.0.weight 0 tp 1;"},
    {"tp=2, elements of kernels", "tiny-conv", "dp=1,tp=2",
     "down.0.weight 2 tp 1; block.0.weight 3 tp 1; up.0.weight 2 tp 1; up.3.weight 3 tp 1;"},
    {"dp=2,tp=2, rows and columns", "tiny-conv", "dp=2,tp=2",
     "/down/down.0/Conv_output_0 2 tp 1; /block/block.4/Conv_output_0 3 tp 1; "
     "/up/up.3/ConvTranspose_output_0 2 tp 1; /up/up.7/Resize_output_0 3 tp 1;"},
};

static void pin_all(Planning *p, const char *pins)
{
    for (int i = 0; i < p->graph->n_inputs; i++)
        planning_pin(p, tensor_name(p->graph, p->graph->inputs[i]), 0, "dp", 1, false);
    while (*pins) {
        char name[100], axes[20];
        int dim, interleave, n = 0;
        assert_int_equal(sscanf(pins, " %99s %d %19s %d;%n", name, &dim, axes, &interleave, &n), 4);
        planning_pin(p, name, dim, axes, interleave, false);
        pins += n;
    }
}

static RunReport run_vectors(Planning *p, const char *model, const RunOptions *options)
{
    RunReport report;
    Error err = {0};
    planning_make(p);
    const char *folder = arena_printf(p->arena, "samples/models/%s.io/test_data_set_0", model);
    if (!run_onnx_test(p->arena, p->plan, folder, options, &report, &err))
        planning_fail(&err);
    return report;
}

static void model_gives_its_vectors(void **state)
{
    const ModelRow *row = *state;
    Planning *p = planning_open(row->model, "batch=2,seq=16", row->mesh);
    pin_all(p, row->pins);
    RunReport report = run_vectors(p, row->model, &verified);
    if (report.first_bad >= 0)
        fail_msg("'%s' differs", tensor_name(p->graph, report.first_bad));
    assert_true(report.ok);
    assert_int_equal(report.n_outputs, 1);
    assert_true(report.outputs[0].ok);
    assert_true(report.outputs[0].max_abs > 0 && report.outputs[0].max_abs < 1e-5);
    assert_true(report.n_values_checked >= 90);
    assert_in_range(report.peak_bytes * 100 / report.predicted_peak_bytes, 85, 105);
    planning_close(p);
}

static void convnet_gives_its_vectors(void **state)
{
    const ModelRow *row = *state;
    Planning *p = planning_open(row->model, "batch=2", row->mesh);
    pin_all(p, row->pins);
    RunReport report = run_vectors(p, row->model, &verified);
    if (report.first_bad >= 0)
        fail_msg("'%s' differs", tensor_name(p->graph, report.first_bad));
    assert_true(report.ok && report.outputs[0].ok);
    assert_true(report.outputs[0].max_abs < 1e-5);
    assert_true(report.n_values_checked >= 26);
    planning_close(p);
}

static void fsdp_gathers_what_it_stores(void **state)
{
    (void)state;
    Planning *p = planning_open("llama-tiny", "batch=2,seq=16", "dp=2");
    planning_pin(p, "model.layers.0.mlp.down_proj.weight", 0, "dp", 1, true);
    planning_pin(p, "model.rotary_emb.inv_freq", 0, "dp", 1, true);
    pin_all(p, "");
    assert_true(run_vectors(p, "llama-tiny", &verified).ok);
    planning_close(p);
}

static void deterministic_runs_are_the_same_bits(void **state)
{
    (void)state;
    RunOptions options = {.verify = true, .deterministic = true, .repeat = 1};
    Planning *p = planning_open("tiny-gpt", "batch=2,seq=16", "dp=2,tp=2");
    pin_all(p, GPT);
    RunReport one = run_vectors(p, "tiny-gpt", &options),
              two = run_vectors(p, "tiny-gpt", &options);
    assert_true(one.ok && two.ok);
    assert_memory_equal(&one.outputs[0], &two.outputs[0], sizeof one.outputs[0]);
    planning_close(p);
}

static void times_are_medians_of_the_repeats(void **state)
{
    (void)state;
    RunOptions options = {.repeat = 3};
    Planning *p = planning_open("tiny-gpt", "batch=2,seq=16", "dp=2,tp=2");
    pin_all(p, GPT);
    RunReport report = run_vectors(p, "tiny-gpt", &options);
    double sum_us = 0;
    for (int i = 0; i < p->inferred->n_program; i++) {
        assert_true(report.op_us[p->inferred->program[i]] > 0);
        sum_us += report.op_us[p->inferred->program[i]];
    }
    for (int i = 0; i < p->plan->moved->n_reshards; i++)
        sum_us += report.reshard_us[i];
    assert_true(report.median_us > 0 && report.median_us < 100 * sum_us);
    assert_int_equal(report.n_values_checked, 0);
    planning_close(p);
}

/* ---- what is not held at load ---- */

static void large_constants_are_computed(void **state)
{
    static const char *const text =
        "r <- Range i64[]{0} i64[]{300} i64[]{1}; a <- Unsqueeze r i64[1]{0};"
        "b <- Unsqueeze r i64[1]{1}; m <- LessOrEqual a b; f <- Cast m to=1; y <- Add f32[300,300] "
        "f";
    (void)state;
    Planning *p = planning_text(text, "dp=2,tp=2");
    int32_t op = p->graph->n_ops - 1;
    assert_true(value_is_deferred(inferred_value(p->inferred, op_inputs(p->graph, op)[1])));
    pin_index(p, op, 0, "dp");
    pin_index(p, op, 1, "tp");
    run_verified(p);
    planning_close(p);
}

static void known_outputs_and_passed_inputs_are_given(void **state)
{
    (void)state;
    Planning *p =
        planning_text("r <- Range i64[]{0} i64[]{6} i64[]{1}; y <- Neg f32[4,6]", "dp=2,tp=2");
    pin_index(p, p->graph->n_ops - 1, 1, "tp");
    RunReport report = run_verified(p);
    assert_int_equal(report.n_outputs, 2);
    assert_true(report.outputs[0].ok && report.outputs[1].ok);
    planning_close(p);
}

static void values_without_elements_run(void **state)
{
    (void)state;
    Planning *p =
        planning_text("a <- MatMul f32[0,4] f32[4,6]; b <- Tanh a; y <- Softmax b", "dp=2,tp=4");
    pin_index(p, 0, 0, "tp");
    run_verified(p);
    planning_close(p);
}

static void more_ranks_than_elements_run(void **state)
{
    (void)state;
    Planning *p = planning_text("a <- MatMul f32[2,3] f32[3,2]; y <- LayerNormalization a f32[2]",
                                "dp=4,tp=4");
    pin_index(p, 0, 0, "dp");
    pin_index(p, 0, 1, "tp");
    run_verified(p);
    planning_close(p);
}

/* ---- files ---- */

typedef struct {
    char folder[64];
    const char *path;
} InputFile;

static InputFile write_input(Arena *arena, int64_t n, const char *name)
{
    InputFile file = {.folder = "/tmp/dimscope-run-XXXXXX"};
    assert_non_null(mkdtemp(file.folder));
    file.path = arena_printf(arena, "%s/input_0.pb", file.folder);
    Buf tensor = buf_new(arena);
    float *elements = arena_array(arena, float, n);
    for (int64_t i = 0; i < n; i++)
        elements[i] = (float)i;
    proto_int(&tensor, 1, n);
    proto_int(&tensor, 2, 1);
    proto_text(&tensor, 8, name);
    proto_bytes(&tensor, 9, (Str){(const char *)elements, (size_t)n * sizeof *elements});
    assert_true(file_write(file.path, buf_str(&tensor), NULL));
    return file;
}

static void remove_input(const InputFile *file)
{
    unlink(file->path);
    rmdir(file->folder);
}

static void given_inputs_are_read_by_every_rank(void **state)
{
    (void)state;
    Planning *p = planning_text("y <- ReduceSum f32[7] keepdims=0", "tp=3");
    InputFile file = write_input(p->arena, 7, "other");
    pin_index(p, 0, 0, "tp");
    planning_make(p);
    RunOptions options = {.verify = true, .inputs = file.folder};
    RunReport report;
    Error err = {0};
    assert_true(run_plan(p->arena, p->plan, &options, &report, &err));
    assert_true(report.ok);
    remove_input(&file);
    planning_close(p);
}

static void input_of_another_shape_is_named(void **state)
{
    (void)state;
    Planning *p = planning_text("y <- Tanh f32[7]", "tp=2");
    InputFile file = write_input(p->arena, 8, "in0");
    planning_make(p);
    RunOptions options = {.inputs = file.folder};
    RunReport report;
    Error err = {0};
    assert_false(run_plan(p->arena, p->plan, &options, &report, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_string_equal(err.text, "'in0' is f32 7 in the model, f32 8 in its file");
    remove_input(&file);
    planning_close(p);
}

static void missing_vectors_are_unreadable(void **state)
{
    (void)state;
    Planning *p = planning_text("y <- Tanh f32[7]", "tp=2");
    planning_make(p);
    RunReport report;
    Error err = {0};
    assert_false(run_onnx_test(p->arena, p->plan, "/nowhere", &verified, &report, &err));
    assert_int_equal(err.kind, ERROR_UNREADABLE);
    assert_string_equal(err.text, "there is no file output_0.pb in '/nowhere'");
    planning_close(p);
}

/* ---- plans that are wrong, and stops ---- */

/* y = x w with k cut: y is made partial and summed. */
static void branches_and_loops_need_no_more_than_predicted(void **state)
{
    static const struct {
        const char *model, *dims;
        bool at_least;
    } rows[] = {{"../../tests/fuzz/corpus/infer/if", "", false},
                {"../../tests/fuzz/corpus/infer/scan", "", false},
                {"../../tests/fuzz/corpus/infer/loop", "", true},
                {"../../tests/models/tf-lstm", "batch=4,d1=6", false},
                {"../../tests/models/tf-while", "batch=4,d1=6", true}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Planning *p = planning_open(rows[i].model, rows[i].dims, "dp=2,tp=2");
        assert_int_equal(run_verified(p).predicted_peak_at_least, rows[i].at_least);
        planning_close(p);
    }
}

static Planning *summed_product(void)
{
    Planning *p = planning_text("y <- MatMul f32[4,6] f32[6,5]; z <- Tanh y", "tp=3");
    pin_index(p, 0, opspace_find_index(inferred_space(p->inferred, 0), STR("k")), "tp");
    planning_make(p);
    assert_int_equal(p->plan->moved->n_reshards, 1);
    return p;
}

static void dropped_sum_is_found(void **state)
{
    (void)state;
    Planning *p = summed_product();
    int32_t y = op_outputs(p->graph, 0)[0];
    Sharding whole = sharding_without_partial(plan_sharding(p->plan, y));
    p->plan->moved->made[y] = p->plan->moved->sharding[y] =
        shardings_put(p->plan->shardings, &whole);
    RunReport report;
    Error err = {0};
    assert_true(run_plan(p->arena, p->plan, &verified, &report, &err));
    assert_false(report.ok);
    assert_int_equal(report.first_bad, y);
    const RunElement *wrong = &report.wrong;
    assert_int_equal(wrong->at.n_dims, 2);
    assert_true(fabs(wrong->got - wrong->want) > wrong->bound);
    assert_true(wrong->bound > 0 && wrong->bound < 1e-5);
    assert_false(report.outputs[0].ok);
    planning_close(p);
}

static void step_of_too_small_a_group_is_named(void **state)
{
    (void)state;
    Planning *p = summed_product();
    Step *step = arena_make(p->arena, Step);
    *step = p->plan->moved->reshards[0].path->step[0];
    step->atoms = 0;
    ReshardPath path = {.n_steps = 1, .step = step};
    p->plan->moved->reshards[0].path = &path;
    RunReport report;
    Error err = {0};
    assert_false(run_plan(p->arena, p->plan, &verified, &report, &err));
    assert_int_equal(err.kind, ERROR_RUN);
    assert_non_null(strstr(err.text, "all_reduce of 'y': addends are outside the group"));
    planning_close(p);
}

static bool two_and_no_more(void *context, int done, int total)
{
    int *n = context;
    assert_true(0 <= done && done < total);
    return ++*n <= 2;
}

static void run_can_be_cancelled(void **state)
{
    (void)state;
    int n = 0;
    Planning *p = summed_product();
    RunOptions options = {.verify = true, .progress = two_and_no_more, .context = &n};
    RunReport report;
    Error err = {0};
    assert_false(run_plan(p->arena, p->plan, &options, &report, &err));
    assert_int_equal(err.kind, ERROR_CANCELLED);
    assert_non_null(strstr(err.text, "cancelled"));
    assert_int_equal(n, 3);
    planning_close(p);
}

static bool until_the_third_pass(void *context, int done, int total)
{
    (void)context, (void)total;
    enum { ONCE = 2, EACH = 5 }; /* of summed_product() */
    return done < ONCE + 2 * EACH + 2;
}

static void finished_passes_of_a_stopped_run_count(void **state)
{
    (void)state;
    Planning *p = summed_product();
    RunOptions options = {.verify = true, .repeat = 5, .progress = until_the_third_pass};
    options.trace = true;
    RunReport report;
    Error err = {0};
    if (!run_plan(p->arena, p->plan, &options, &report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.n_passes, 2);
    assert_true(report.ok && report.median_us > 0);
    planning_close(p);
}

static void a_trace_has_every_rank_and_instruction(void **state)
{
    (void)state;
    Planning *p = summed_product();
    RunOptions options = {.repeat = 2, .trace = true};
    RunReport report;
    Error err = {0};
    assert_true(run_plan(p->arena, p->plan, &options, &report, &err));
    const Trace *trace = report.trace;
    assert_non_null(trace);
    assert_int_equal(trace->n_ranks, 3);
    assert_int_equal(trace->n, 3); /* MatMul, the sum, Tanh */
    assert_int_equal(trace->work[0].op, 0);
    assert_int_equal(trace->work[1].reshard, 0);
    assert_int_equal(trace->work[1].op, -1);
    assert_int_equal(trace->work[2].op, 1);
    double first = INFINITY;
    for (int r = 0; r < 3; r++) {
        double last = 0;
        for (int i = 0; i < trace->n; i++) {
            const TraceSpan *span = trace_span(trace, r, i);
            assert_true(span->start_us >= last && span->end_us >= span->start_us);
            assert_true(span->wait_us <= span->end_us - span->start_us);
            first = fmin(first, span->start_us);
            last = span->end_us;
        }
        TraceTotals totals = trace_totals(trace, r);
        assert_true(totals.compute_us > 0 && totals.comm_us > 0 && totals.end_us == last);
    }
    assert_true(first == 0);
    options.trace = false;
    assert_true(run_plan(p->arena, p->plan, &options, &report, &err));
    assert_null(report.trace);
    planning_close(p);
}

typedef struct {
    const char *name, *text, *mesh, *want;
    ErrorKind kind;
} RefusedRow;

static RefusedRow refused_rows[] = {
    {"too many ranks", "y <- Tanh f32[4]", "x=512",
     "a run on this host has at most 256 ranks, the mesh has 512", ERROR_USAGE},
    {"no kernel", "y <- Unheard f32[4]", "x=2", "no kernel for Unheard", ERROR_USAGE},
    {"a kernel refuses the type", "y <- MatMul f32[2,2] f64[2,2]", "x=2", "op 'MatMul_0' (MatMul)",
     ERROR_RUN},
    {"more than the memory", "y <- Tanh f32[4000000,4000000]", "x=2", "the ranks need",
     ERROR_USAGE},
};

static void run_is_refused(void **state)
{
    const RefusedRow *row = *state;
    Planning *p = planning_text(row->text, row->mesh);
    planning_make(p);
    RunReport report;
    Error err = {0};
    assert_false(run_plan(p->arena, p->plan, &verified, &report, &err));
    assert_int_equal(err.kind, row->kind);
    if (!strstr(err.text, row->want))
        fail_msg("%s", err.text);
    planning_close(p);
}

/* ---- the program ---- */

static void program_frees_after_the_last_reader(void **state)
{
    (void)state;
    Planning *p = summed_product();
    Program program;
    assert_true(program_lower(p->arena, p->plan, &program, NULL));
    Buf out = buf_new(p->arena);
    for (int i = 0; i < program.n_instrs; i++) {
        const Instr *instr = &program.instrs[i];
        if (i == program.n_once)
            buf_puts(&out, "| ");
        buf_puts(&out, instr_kind_name(instr->kind));
        if (instr->kind == INSTR_OP)
            buf_printf(&out, " %s; ", op_operator(p->graph, instr->op));
        else
            buf_printf(&out, " %s; ", tensor_name(p->graph, program.slots[instr->slot].tensor));
    }
    assert_string_equal(out.s,
                        "load in0; load in1; | op MatMul; step y; free y; op Tanh; free y; ");
    planning_close(p);
}

static void long_runs_are_as_long_as_can_be_counted(void **state)
{
    (void)state;
    const Program program = {.n_once = 3, .n_instrs = 5003};
    assert_int_equal(program_length(&program, 2), 3 + 2 * 5000);
    assert_int_equal(program_length(&program, 2000000), INT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_runs_are_as_long_as_can_be_counted),
        cmocka_unit_test(fsdp_gathers_what_it_stores),
        cmocka_unit_test(branches_and_loops_need_no_more_than_predicted),
        cmocka_unit_test(deterministic_runs_are_the_same_bits),
        cmocka_unit_test(times_are_medians_of_the_repeats),
        cmocka_unit_test(large_constants_are_computed),
        cmocka_unit_test(known_outputs_and_passed_inputs_are_given),
        cmocka_unit_test(values_without_elements_run),
        cmocka_unit_test(more_ranks_than_elements_run),
        cmocka_unit_test(given_inputs_are_read_by_every_rank),
        cmocka_unit_test(input_of_another_shape_is_named),
        cmocka_unit_test(missing_vectors_are_unreadable),
        cmocka_unit_test(dropped_sum_is_found),
        cmocka_unit_test(step_of_too_small_a_group_is_named),
        cmocka_unit_test(run_can_be_cancelled),
        cmocka_unit_test(finished_passes_of_a_stopped_run_count),
        cmocka_unit_test(a_trace_has_every_rank_and_instruction),
        cmocka_unit_test(program_frees_after_the_last_reader),
    };
    return run_rows("cut", cut_rows, every_cut_is_right) +
           run_rows("model", model_rows, model_gives_its_vectors) +
           run_rows("convnet", conv_rows, convnet_gives_its_vectors) +
           run_rows("refused", refused_rows, run_is_refused) +
           cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
