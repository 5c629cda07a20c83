/* The plan and the run of a training step: the backward edge of a value is the transpose of its
 * forward edge; gradients on ranks are those of one device, and those of a folder. */
#include "tests/unit/step_opened.h"

#include "core/run/verify/gradient_test.h"
#include "core/step/step.h"
#include "tests/unit/vectors_made.h"

/* t = x w is made by one matmul and read by the next, y = t v. An op is whole, or one of its index
 * dims is sharded by tp: then t is made or read whole, in rows, in columns; `n` of the reader and
 * `k` of the maker are dims that t lacks, so that the gradient of t, or t, is partial. */
enum { WHOLE, M, N, K, N_CUTS };
static const char *const index_dims[N_CUTS] = {"", "m", "n", "k"};

static const struct {
    int maker, reader;
    const char *forward, *backward; /* how t is moved, and its gradient */
} edges[] = {
    {WHOLE, WHOLE, "", ""},
    {WHOLE, N, "", "all_reduce"},      /* column-parallel: I -> R, P -> I */
    {WHOLE, M, "slice", "all_gather"}, /* I -> V, V -> I */
    {WHOLE, K, "slice", "all_gather"},
    {K, WHOLE, "all_reduce", ""},           /* row-parallel: P -> I, I -> R */
    {K, N, "all_reduce", "all_reduce"},     /* P -> R, P -> R */
    {K, M, "reduce_scatter", "all_gather"}, /* P -> V, V -> R */
    {K, K, "reduce_scatter", "all_gather"},
    {M, N, "all_gather", "reduce_scatter"}, /* sequence parallel: V -> R, P -> V */
    {M, WHOLE, "all_gather", "slice"},      /* V -> I, I -> V */
    {M, M, "", ""},
    {M, K, "all_to_all", "all_to_all"}, /* V -> V */
    {N, N, "all_gather", "reduce_scatter"},
    {N, WHOLE, "all_gather", "slice"},
    {N, M, "all_to_all", "all_to_all"},
    {N, K, "", ""},
};

static const char *pin_of(Arena *arena, const char *op, int cut)
{
    Buf text = buf_new(arena);
    for (int j = M; j < N_CUTS; j++)
        buf_printf(&text, "%s%s = {%s}", j > M ? ", " : "", index_dims[j], j == cut ? "'tp'" : "");
    return arena_printf(arena, "graph:pin(graph:op('%s'), {%s})\n", op, text.s);
}

/* The collectives that move a tensor for readers in a phase. */
static const char *moves(Arena *arena, const Plan *plan, const char *tensor, Phase phase)
{
    Buf out = buf_new(arena);
    const Moved *moved = plan->moved;
    int32_t t = graph_find_tensor(plan->inferred->graph, str_from(tensor));
    assert_true(t >= 0);
    for (int i = 0; i < moved->n_reshards; i++) {
        const Reshard *reshard = &moved->reshards[i];
        int32_t user = reshard->n_uses > 0 ? moved->reshard_uses[reshard->use] : -1;
        if (reshard->tensor != t || user < 0 || plan->inferred->graph->phase[user] != phase)
            continue;
        for (int s = 0; s < reshard->path->n_steps; s++)
            buf_printf(&out, "%s%s", out.n > 0 ? " " : "",
                       step_kind_name(reshard->path->step[s].kind));
    }
    return buf_str(&out).n > 0 ? out.s : "";
}

static void run_verified(OpenedStep *o)
{
    RunReport report;
    Error err = {0};
    RunOptions options = {.verify = true, .repeat = 1, .seed = 3};
    if (!run_plan(o->arena, o->session->plan, &options, &report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.verdict, RUN_PASS);
    assert_true(report.n_outputs > 1);
}

static void backward_edges_are_transposed(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        const char *policy = arena_printf(arena, "%s%s", pin_of(arena, "MatMul", edges[i].maker),
                                          pin_of(arena, "MatMul_1", edges[i].reader));
        OpenedStep o = open_step(
            X W V "local t = model:op('MatMul', {x, w})\n" MEAN("model:op('MatMul', {t, v})"), "",
            "tp=2", policy);
        if (!o.session)
            fail_msg("%s", o.err.text);
        const char *forward = moves(arena, o.session->plan, "MatMul", PHASE_FORWARD);
        const char *backward = moves(arena, o.session->plan, "MatMul~grad", PHASE_BACKWARD);
        if (strcmp(forward, edges[i].forward) != 0 || strcmp(backward, edges[i].backward) != 0)
            fail_msg("maker %s, reader %s: '%s' and '%s', not '%s' and '%s'",
                     index_dims[edges[i].maker], index_dims[edges[i].reader], forward, backward,
                     edges[i].forward, edges[i].backward);
        run_verified(&o);
        close_step(&o);
    }
    arena_free(arena);
}

/* t is whole on both devices and read twice: by columns (n), so that one part of its gradient is
 * partial, and in another way. */
static const struct {
    int reader;
    const char *forward, *added, *sum; /* t, the gradient of that reader, the sum of both */
} second_readers[] = {
    {WHOLE, "", "slice", "all_reduce"},  /* R -> P, R -> P: one rank adds it, the other zeros */
    {N, "", "", "all_reduce"},           /* both partial: one reduction */
    {M, "slice", "slice", "all_reduce"}, /* R -> V, V -> P: zeros around each part */
    {K, "slice", "slice", "all_reduce"},
};

static void gradients_of_readers_meet(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(second_readers); i++) {
        const char *policy = arena_printf(arena, "%s%s%s", pin_of(arena, "MatMul", WHOLE),
                                          pin_of(arena, "MatMul_1", N),
                                          pin_of(arena, "MatMul_2", second_readers[i].reader));
        OpenedStep o = open_step(
            X W V "local u = model:param('u', {16, 4}, 'f32')\n"
                  "local t = model:op('MatMul', {x, w})\n"
                  "local a, b = model:op('MatMul', {t, v}), model:op('MatMul', {t, u})\n" MEAN(
                      "model:op('Add', {a, b})"),
            "", "tp=2", policy);
        if (!o.session)
            fail_msg("%s", o.err.text);
        const Plan *plan = o.session->plan;
        assert_string_equal(moves(arena, plan, "MatMul", PHASE_FORWARD), second_readers[i].forward);
        assert_string_equal(moves(arena, plan, "MatMul_2~d0", PHASE_BACKWARD),
                            second_readers[i].added);
        assert_string_equal(moves(arena, plan, "MatMul~grad", PHASE_BACKWARD),
                            second_readers[i].sum);
        run_verified(&o);
        close_step(&o);
    }
    arena_free(arena);
}

/* ---- runs ---- */

typedef struct {
    const char *title, *model, *mesh, *policy;
} RunRow;

static const RunRow runs[] = {
    {"tiny-gpt under dp", "samples/models/tiny-gpt.onnx", "dp=2", "dp"},
    {"tiny-gpt under tp", "samples/models/tiny-gpt.onnx", "tp=2", "tp"},
    {"tiny-gpt under fsdp", "samples/models/tiny-gpt.onnx", "dp=2", "fsdp"},
    {"tiny-gpt under megatron", "samples/models/tiny-gpt.onnx", "dp=2,tp=2", "megatron"},
    {"tiny-gpt under sequence parallel", "samples/models/tiny-gpt.onnx", "dp=2,tp=2",
     "megatron_sp"},
    {"llama-tiny under sequence parallel", "samples/models/llama-tiny.onnx", "dp=2,tp=2",
     "megatron_sp"},
    {"tiny-conv under dp", "samples/models/tiny-conv.onnx", "dp=2", "dp"},
};

/* w of `dtype` is an output beside its next value; the loss is f32. */
#define OVERFLOW(dtype)                                                                            \
    "local x = model:input('x', '" dtype "', {8, 16})\n"                                           \
    "local w = model:param('w', {16, 4}, '" dtype "')\n"                                           \
    "local sum = model:op('ReduceSum', {model:op('MatMul', {x, w})}, {keepdims = 0})\n"            \
    "model:output(model:op('Cast', {sum}, {to = 1}), 'loss')\n"                                    \
    "model:output(w, 'w')\n"

static const struct {
    const char *title, *body, *train;
    bool stays; /* the parameter, to the bit */
} updates[] = {
    {"a master begins with its parameter", OVERFLOW("bf16"), "sgd,lr=0", true},
    {"a parameter of 16 bits is updated", OVERFLOW("bf16"), "sgd,lr=1", false},
    {"gradients of f16 overflow under the scale: a skipped step", OVERFLOW("f16"),
     "adamw,lr=1,scale=dynamic", true},
    {"those of bf16 do not", OVERFLOW("bf16"), "adamw,lr=1,scale=dynamic", false},
    {"a scale is divided by", OVERFLOW("f32"), "sgd,lr=0,scale=1024", true},
};

static uint64_t bits_of(const RunReport *report, const Graph *graph, const char *name)
{
    int32_t t = graph_find_tensor(graph, str_from(name));
    for (int i = 0; i < report->n_outputs; i++)
        if (report->outputs[i].tensor == t)
            return report->outputs[i].bits;
    fail_msg("'%s' is no output", name);
    return 0;
}

static void updates_or_skips(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(updates); i++) {
        OpenedStep o =
            open_step(updates[i].body, updates[i].train, "dp=2", "graph:shard('x', {[0] = 'dp'})");
        if (!o.session)
            fail_msg("%s: %s", updates[i].title, o.err.text);
        RunReport report;
        Error err = {0};
        RunOptions options = {.verify = true, .repeat = 1, .seed = 3};
        if (!run_plan(o.arena, o.session->plan, &options, &report, &err))
            fail_msg("%s: %s", updates[i].title, err.text);
        const Graph *graph = o.session->plan->inferred->graph;
        if ((bits_of(&report, graph, "w") == bits_of(&report, graph, "w~next")) != updates[i].stays)
            fail_msg("%s: the parameter %s", updates[i].title,
                     updates[i].stays ? "changes" : "stays");
        close_step(&o);
    }
}

/* The gradient of w is the same in each step. 65536 is inf in f16, 32768 times it is not. */
#define OVERFLOWS_ONCE                                                                             \
    "local z = model:input('z', 'f16', {8, 16})\n"                                                 \
    "local x0 = model:param('x0', {8, 16}, 'f16')\n"                                               \
    "local w = model:param('w', {16, 4}, 'f16')\n"                                                 \
    "local zero = model:constant('zero', 'f16', {}, {0})\n"                                        \
    "local small = model:constant('small', 'f16', {}, {0.1})\n"                                    \
    "local none = model:op('Mul', {z, zero})\n"                                                    \
    "local x = model:op('Add', {model:op('Mul', {x0, small}), none})\n"                            \
    "local sum = model:op('ReduceSum', {model:op('MatMul', {x, w})}, {keepdims = 0})\n"            \
    "model:output(model:op('Cast', {sum}, {to = 1}), 'loss')\n"

/* As torch's GradScaler, which does not call the optimizer: Adam's bias correction is that of the
 * first step when the first is skipped. */
static void skipped_steps_do_not_count(void **state)
{
    (void)state;
    static const struct {
        const char *train;
        int steps;
    } rows[2] = {{"adamw,lr=1,freeze=x0,scale=dynamic", 2},
                 {"adamw,lr=1,freeze=x0,scale=32768", 1}};
    static const char *const values[] = {"w~next", "w~m~next", "w~v~next", "train~step~next"};
    uint64_t bits[2][COUNT_OF(values)];
    for (int r = 0; r < 2; r++) {
        OpenedStep o =
            open_step(OVERFLOWS_ONCE, rows[r].train, "dp=2", "graph:shard('z', {[0] = 'dp'})");
        if (!o.session)
            fail_msg("%s", o.err.text);
        RunReport report;
        Error err = {0};
        RunOptions options = {.verify = true, .repeat = 1, .seed = 3, .steps = rows[r].steps};
        if (!run_plan(o.arena, o.session->plan, &options, &report, &err))
            fail_msg("%s", err.text);
        assert_int_equal(report.verdict, RUN_PASS);
        for (size_t i = 0; i < COUNT_OF(values); i++)
            bits[r][i] = bits_of(&report, o.session->plan->inferred->graph, values[i]);
        close_step(&o);
    }
    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
}

/* The sums of losses and of labels that count are over all devices, whose shares differ. */
static void ignored_labels_leave_the_global_mean(void **state)
{
    (void)state;
    OpenedStep o = open_step(X V "model:output(model:op('MatMul', {x, v}), 'scores')\n",
                             "sgd,ignore_index=-100", "dp=2", "graph:shard('x', {[0] = 'dp'})");
    if (!o.session)
        fail_msg("%s", o.err.text);
    Arena *arena = arena_new();
    assert_string_equal(moves(arena, o.session->plan, "loss~count", PHASE_FORWARD), "all_reduce");
    run_verified(&o);
    arena_free(arena);
    close_step(&o);
}

static void gradients_on_ranks_are_those_of_one_device(void **state)
{
    const RunRow *row = *state;
    OpenedStep o = open_step(row->model, "", row->mesh, row->policy);
    if (!o.session)
        fail_msg("%s", o.err.text);
    run_verified(&o);
    close_step(&o);
}

/* ---- gradients of a folder ---- */

/* y = a b, element by element: the gradient of a is b dy, that of b is a dy. */
static const char *product_folder(Arena *arena, float wrong)
{
    const char *folder = vectors_folder(arena);
    Shape shape = {.n_dims = 1, .dim = {4}};
    float values[5][4];
    for (int i = 0; i < 4; i++) {
        float a = 1 + (float)i, b = 2 - (float)i, dy = 0.5F * (float)i;
        values[0][i] = a;
        values[1][i] = b;
        values[2][i] = dy;
        values[3][i] = b * dy;
        values[4][i] = a * dy + (i == 3 ? wrong : 0);
    }
    static const char *const stems[] = {"input", "input", "cotangent", "grad", "grad"};
    static const int number[] = {0, 1, 0, 0, 1};
    for (int k = 0; k < 5; k++)
        vectors_write(arena, folder, stems[k], number[k], DT_F32, &shape,
                      (Str){(const char *)values[k], sizeof values[k]});
    assert_true(file_write(arena_printf(arena, "%s/index.json", folder),
                           STR("{\"outputs\":[{\"name\":\"y\",\"cotangent\":\"cotangent_0.pb\"}],"
                               "\"grads\":[{\"name\":\"a\",\"file\":\"grad_0.pb\"},"
                               "{\"name\":\"b\",\"file\":\"grad_1.pb\"},"
                               "{\"name\":\"c\",\"file\":\"grad_1.pb\"}]}"),
                           NULL));
    return folder;
}

static void remove_folder(Arena *arena, const char *folder)
{
    static const char *const files[] = {"input_0.pb", "input_1.pb", "cotangent_0.pb",
                                        "grad_0.pb",  "grad_1.pb",  "index.json"};
    for (size_t i = 0; i < COUNT_OF(files); i++)
        unlink(path_join(arena, folder, files[i]));
    rmdir(folder);
}

static GradientReport run_product(OpenedStep *o, float wrong)
{
    GradientReport report;
    Error err = {0};
    const char *folder = product_folder(o->arena, wrong);
    bool ran = run_gradients(o->arena, o->session->plan, folder, &(RunOptions){.repeat = 1},
                             &report, &err);
    remove_folder(o->arena, folder);
    if (!ran)
        fail_msg("%s", err.text);
    return report;
}

static void gradients_are_compared_with_a_folder(void **state)
{
    const char *mesh = *state;
    OpenedStep o =
        open_step("local a = model:input('a', 'f32', {4})\n"
                  "local b = model:input('b', 'f32', {4})\n"
                  "model:output(model:op('Mul', {a, b}), 'y')\n",
                  "loss=outputs", mesh, mesh ? "graph:pin(graph:op('Mul'), {d0 = {'x'}})" : NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    GradientReport right = run_product(&o, 0), wrong = run_product(&o, 0.01F);
    assert_true(right.run.ok);
    assert_int_equal(right.n_compared, 2);
    assert_int_equal(right.first_wrong, -1);
    assert_string_equal(right.rows[2].reason, "the model has no such tensor");
    assert_false(wrong.run.ok);
    assert_int_equal(wrong.n_wrong, 1);
    assert_string_equal(wrong.rows[wrong.first_wrong].name, "b");
    assert_int_equal(wrong.worst, wrong.first_wrong);
    assert_true(wrong.rows[1].error > 0.0099 && wrong.rows[1].error < 0.0101);
    close_step(&o);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(runs) + 7];
    int n = 0;
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        tests[n++] = (struct CMUnitTest){.name = runs[i].title,
                                         .test_func = gradients_on_ranks_are_those_of_one_device,
                                         .initial_state = (void *)(uintptr_t)&runs[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(updates_or_skips);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(skipped_steps_do_not_count);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(ignored_labels_leave_the_global_mean);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(backward_edges_are_transposed);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(gradients_of_readers_meet);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(gradients_are_compared_with_a_folder);
    tests[n++] = (struct CMUnitTest){.name = "gradients on ranks are compared with a folder",
                                     .test_func = gradients_are_compared_with_a_folder,
                                     .initial_state = (void *)(uintptr_t) "x=2"};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
