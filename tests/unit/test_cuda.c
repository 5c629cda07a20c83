/* The CUDA runner on GPUs that are none (tests/fakecuda): sample models on one to eight devices and
 * on ranks that share one, whatever order their streams are done in; and every fault ends the run
 * with an error that names where, and nothing left behind. */
#include "tests/unit/planning.h"

#include "tests/fakecuda/fakecuda.h"
#include "tests/unit/graph_text.h"
#include "tests/unit/onnx_made.h"

#include "core/run/rank.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the fake ---- */

typedef bool FakeStart(int n_devices, size_t memory_bytes, uint64_t seed, const char *faults);
typedef int FakeLeaks(FakecudaLeaks *leaks);
typedef const char *FakeMessage(void);
typedef FakecudaCounts FakeCounts(void);

static struct {
    void *library;
    FakeStart *start;
    FakeLeaks *leaks;
    FakeMessage *message;
    FakeCounts *counts;
} fake;

static void find(const char *name, void *function)
{
    void *symbol = dlsym(fake.library, name);
    assert_non_null(symbol);
    memcpy(function, &symbol, sizeof symbol);
}

static char cache[] = "/tmp/dimscope-cuda-XXXXXX";

static int close_fake(void **state)
{
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", cache);
    return system(command);
}

/* The plugin and the library lie in ../fake from the test. */
static int open_fake(void **state)
{
    (void)state;
    char path[4096], folder[4200], library[4300];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    *strrchr(path, '/') = '\0';
    snprintf(folder, sizeof folder, "%s/fake", path);
    snprintf(library, sizeof library, "%s/libfakecuda.so", path);
    if (!getenv("DIMSCOPE_PLUGINS"))
        setenv("DIMSCOPE_PLUGINS", folder, 1);
    else
        snprintf(library, sizeof library, "%s/../libfakecuda.so", getenv("DIMSCOPE_PLUGINS"));
    if (!mkdtemp(cache))
        fail_msg("no folder for kernels");
    setenv("XDG_CACHE_HOME", cache, 1);
    fake.library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!fake.library)
        fail_msg("%s", dlerror());
    find("fakecuda_start", &fake.start);
    find("fakecuda_leaks", &fake.leaks);
    find("fakecuda_message", &fake.message);
    find("fakecuda_counts", &fake.counts);
    return 0;
}

enum { MEMORY_BYTES = 1 << 28 };

static void assert_all_given_back(void)
{
    FakecudaLeaks leaks;
    if (fake.leaks(&leaks) != 0)
        fail_msg("left behind: %d device blocks, %d host blocks, %d streams, %d events, %d graphs, "
                 "%d libraries, %d programs, %d blas, %d comms",
                 leaks.device_blocks, leaks.host_blocks, leaks.streams, leaks.events, leaks.graphs,
                 leaks.libraries, leaks.programs, leaks.blas, leaks.comms);
}

/* ---- plans ---- */

typedef struct {
    const char *name, *model, *dims, *mesh;
    const char *pins; /* "NAME dim axes interleave; .." after the inputs over dp */
    int n_devices;
    const char *train; /* the step of --train; NULL: forward only */
} PlanRow;

#define GPT_LAYER(l)                                                                               \
    "transformer.h." l ".attn.c_attn.weight 1 tp 3; transformer.h." l                              \
    ".attn.c_proj.weight 0 tp 1; transformer.h." l ".mlp.c_fc.weight 1 tp 1; transformer.h." l     \
    ".mlp.c_proj.weight 0 tp 1;"
#define GPT GPT_LAYER("0") GPT_LAYER("1")
#define GPT_VOCABULARY GPT "transformer.wte.weight 0 tp 1; lm_head.weight 1 tp 1;"
#define LLAMA_LAYER(l)                                                                             \
    "model.layers." l ".self_attn.q_proj.weight 1 tp 1; model.layers." l                           \
    ".self_attn.k_proj.weight 1 tp 1; model.layers." l                                             \
    ".self_attn.v_proj.weight 1 tp 1; model.layers." l                                             \
    ".self_attn.o_proj.weight 0 tp 1; model.layers." l ".mlp.gate_proj.weight 1 tp 1; "            \
    "model.layers." l ".mlp.up_proj.weight 1 tp 1; model.layers." l                                \
    ".mlp.down_proj.weight 0 tp 1;"
#define LLAMA LLAMA_LAYER("0") LLAMA_LAYER("1")
#define LLAMA_VOCABULARY LLAMA "model.embed_tokens.weight 0 tp 1; lm_head.weight 1 tp 1;"
#define TOKENS "batch=2,seq=16"

static PlanRow plan_rows[] = {
    {"gpt on one device", "tiny-gpt", TOKENS, "dp=1,tp=1", "", 1, NULL},
    {"gpt, dp on 2 devices", "tiny-gpt", TOKENS, "dp=2,tp=1", "", 2, NULL},
    {"gpt, tp on 2 devices", "tiny-gpt", TOKENS, "dp=1,tp=2", GPT, 2, NULL},
    {"gpt on 4 devices", "tiny-gpt", TOKENS, "dp=2,tp=2", GPT, 4, NULL},
    {"gpt on 8 devices, vocabulary", "tiny-gpt", TOKENS, "dp=2,tp=4", GPT_VOCABULARY, 8, NULL},
    {"gpt, heads that do not divide, on 3 devices", "tiny-gpt", TOKENS, "dp=1,tp=3", GPT_VOCABULARY,
     3, NULL},
    {"gpt, 4 ranks on 1 device", "tiny-gpt", TOKENS, "dp=2,tp=2", GPT_VOCABULARY, 1, NULL},
    {"gpt, 3 uneven ranks on 2 devices", "tiny-gpt", TOKENS, "dp=1,tp=3", GPT_VOCABULARY, 2, NULL},
    {"llama on 4 devices", "llama-tiny", TOKENS, "dp=2,tp=2", LLAMA, 4, NULL},
    {"llama on 8 devices, vocabulary", "llama-tiny", TOKENS, "dp=1,tp=8", LLAMA_VOCABULARY, 8,
     NULL},
    {"llama, 6 ranks on 2 devices", "llama-tiny", TOKENS, "dp=3,tp=2", LLAMA, 2, NULL},
    {"convnet on 4 devices", "tiny-conv", "batch=2", "dp=2,tp=2",
     "/down/down.0/Conv_output_0 2 tp 1; /block/block.4/Conv_output_0 3 tp 1; "
     "/up/up.3/ConvTranspose_output_0 2 tp 1; /up/up.7/Resize_output_0 3 tp 1;",
     4, NULL},
    {"gpt trains on one device", "tiny-gpt", TOKENS, "dp=1,tp=1", "", 1, "adamw,clip=1.0"},
    {"gpt trains on 4 devices", "tiny-gpt", TOKENS, "dp=2,tp=2", GPT_VOCABULARY, 4,
     "adamw,clip=1.0"},
    {"llama trains on 3 ranks of one device", "llama-tiny", TOKENS, "dp=1,tp=3", LLAMA, 1, "sgd"},
    {"convnet trains on 4 devices", "tiny-conv", "batch=2", "dp=2,tp=2",
     "/down/down.0/Conv_output_0 2 tp 1; /block/block.4/Conv_output_0 3 tp 1; "
     "/up/up.3/ConvTranspose_output_0 2 tp 1; /up/up.7/Resize_output_0 3 tp 1;",
     4, "momentum"},
};

static Planning *open_plan(const PlanRow *row)
{
    Planning *p = planning_open(row->model, row->dims, row->mesh);
    int n_inputs = p->graph->n_inputs; /* of the model */
    if (row->train)
        planning_train(p, row->dims, row->train);
    for (int i = 0; i < n_inputs; i++)
        planning_pin(p, tensor_name(p->graph, p->graph->inputs[i]), 0, "dp", 1, false);
    for (const char *pins = row->pins; *pins;) {
        char name[100], axes[20];
        int dim, interleave, n = 0;
        assert_int_equal(sscanf(pins, " %99s %d %19s %d;%n", name, &dim, axes, &interleave, &n), 4);
        planning_pin(p, name, dim, axes, interleave, false);
        pins += n;
    }
    planning_make(p);
    return p;
}

static bool run(Planning *p, const RunOptions *options, RunReport *report, Error *err)
{
    *err = (Error){0};
    return run_plan(p->arena, p->plan, options, report, err);
}

static void check_plan(const PlanRow *row, const RunOptions *options, uint64_t seed)
{
    Planning *p = open_plan(row);
    RunReport report;
    Error err;
    assert_true(fake.start(row->n_devices, MEMORY_BYTES, seed, NULL));
    if (!run(p, options, &report, &err)) {
        print_error("%s\n", fake.message());
        planning_fail(&err);
    }
    if (report.first_bad >= 0)
        fail_msg("seed %d: '%s' differs on rank %d: %g, not %g", (int)seed,
                 tensor_name(p->graph, report.first_bad), (int)report.wrong.rank, report.wrong.got,
                 report.wrong.want);
    assert_true(report.ok);
    assert_string_equal(report.backend, "cuda");
    assert_int_equal(report.n_ranks, p->mesh->n_devices);
    assert_all_given_back();
    planning_close(p);
}

static void plan_gives_what_one_device_gives(void **state)
{
    RunOptions options = {.verify = true, .seed = 3, .repeat = 1, .backend = "cuda"};
    check_plan(*state, &options, 1);
    options.deterministic = true;
    check_plan(*state, &options, 2);
}

/* ---- passes that are captured and done again ---- */

static void check_replay(uint64_t seed)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, "a <- Tanh f32[8,12]; b <- Exp a; y <- Add b f32[8,12]", 18);
    planning_infer(p, "", "tp=2");
    planning_pin(p, "a", 0, "tp", 1, false);
    planning_pin(p, "y", 1, "tp", 1, false);
    planning_make(p);
    RunOptions options = {.verify = seed % 2, .repeat = 5, .backend = "cuda"};
    RunReport report;
    Error err;
    assert_true(fake.start(2, MEMORY_BYTES, seed, NULL));
    if (!run(p, &options, &report, &err))
        planning_fail(&err);
    assert_true(report.ok);
    assert_true(p->plan->moved->n_reshards > 0);
    assert_int_equal(report.n_passes, 5);
    assert_true(report.median_us > 0);
    assert_true(report.reshard_us[0] > 0);
    assert_true(report.begin_us > 0);
    assert_int_equal(fake.counts().graph_launches, 3 * 2);
    assert_all_given_back();
    planning_close(p);
}

static void captured_passes_give_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        check_replay(seed);
}

static PlanRow gpt_on_2 = {"gpt", "tiny-gpt", TOKENS, "dp=1,tp=2", GPT, 2, NULL};

static void kernels_are_compiled_once(void **state)
{
    (void)state;
    RunOptions options = {.repeat = 1, .backend = "cuda"};
    Planning *p = open_plan(&gpt_on_2);
    RunReport report;
    Error err;
    assert_true(fake.start(2, MEMORY_BYTES, 1, NULL));
    assert_true(run(p, &options, &report, &err));
    assert_true(fake.start(2, MEMORY_BYTES, 1, NULL));
    assert_true(run(p, &options, &report, &err));
    assert_int_equal(fake.counts().compilations, 0); /* they are in the folder */
    planning_close(p);
}

/* ---- what goes wrong ---- */

typedef struct {
    const char *name, *fault;
    int n_devices, n_passes;
    size_t memory_bytes;
    const char *want[3]; /* in the error */
} FaultRow;

static FaultRow fault_rows[] = {
    {"memory that is not given", "alloc=1", 2, 1, 0, {"out of memory on", "largest is '", "GiB"}},
    {"too little memory", NULL, 2, 1, 1 << 16, {"out of memory on", "largest is '", "op '"}},
    {"memory for tables that is not given", "alloc=2", 2, 1, 0, {"out of memory on", "", ""}},
    {"a launch that is refused", "launch=9", 2, 1, 0, {"cudaLaunchKernel", "'", "device "}},
    {"a launch that fails late", "late=9", 2, 1, 0, {"cudaError", "op '", "device "}},
    {"a launch that fails late in a replay", "late=200", 2, 9, 0, {"cudaError", "'", "device "}},
    {"a kernel that never ends", "stuck=9", 2, 1, 0, {"it hangs", "'", ""}},
    {"a collective one rank is not in", "hang=2", 2, 1, 0, {"all_reduce of '", "it hangs", ""}},
    {"a collective that hangs in a replay", "hang=20", 2, 9, 0, {"it hangs", "'", ""}},
    {"a device that is lost", "lost=60", 2, 1, 0, {"device ", "", ""}},
    {"a product that is refused", "matmul=3", 2, 1, 0, {"cublasLtMatmul", "op '", ""}},
    {"a kernel that does not compile", "compile=1", 2, 1, 0, {"does not compile", "'", ""}},
};

static double now_s(void)
{
    return run_now_us() * 1e-6;
}

static void fault_ends_the_run(void **state)
{
    const FaultRow *row = *state;
    Planning *p = open_plan(&gpt_on_2);
    RunOptions options = {.repeat = row->n_passes, .backend = "cuda", .deterministic = true};
    RunReport report;
    Error err;
    size_t bytes = row->memory_bytes ? row->memory_bytes : MEMORY_BYTES;
    char other[sizeof cache];
    memcpy(other, cache, sizeof cache);
    if (row->fault && strncmp(row->fault, "compile", 7) == 0)
        setenv("XDG_CACHE_HOME", "/nowhere", 1);
    assert_true(fake.start(row->n_devices, bytes, 1, row->fault));
    double start = now_s();
    bool ok = run(p, &options, &report, &err);
    setenv("XDG_CACHE_HOME", other, 1);
    if (ok)
        fail_msg("it went well");
    assert_true(now_s() - start < 5);
    assert_int_equal(err.kind, ERROR_RUN);
    for (int i = 0; i < 3; i++)
        if (row->want[i] && !strstr(err.text, row->want[i]))
            fail_msg("no \"%s\" in \"%s\" (%s)", row->want[i], err.text, fake.message());
    if (!row->fault || strncmp(row->fault, "stuck", 5) != 0) /* it holds what it uses */
        assert_all_given_back();
    planning_close(p);
}

static void without_a_device_it_is_said(void **state)
{
    (void)state;
    Planning *p = open_plan(&gpt_on_2);
    RunOptions options = {.verify = true, .repeat = 1, .backend = "cuda"};
    RunReport report;
    Error err;
    static const char *const faults[][2] = {{"driver=35", "no NVIDIA driver"},
                                            {"driver=100", "no GPU"},
                                            {"driver=34", "placeholder libcuda.so.1"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_true(fake.start(1, MEMORY_BYTES, 1, faults[i][0]));
        assert_false(run(p, &options, &report, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        if (!strstr(err.text, faults[i][1]))
            fail_msg("no \"%s\" in \"%s\"", faults[i][1], err.text);
    }
    options.backend = "auto";
    assert_true(run(p, &options, &report, &err));
    assert_string_equal(report.backend, "host");
    planning_close(p);
}

/* ---- what a device does not do ---- */

static Planning *open_graph(Arena *arena, Graph *graph)
{
    Planning *p = arena_make(arena, Planning);
    assert_non_null(graph);
    p->arena = arena;
    p->graph = graph;
    planning_infer(p, "", "tp=2");
    planning_make(p);
    return p;
}

static Planning *open_text(const char *text)
{
    Arena *arena = arena_new();
    return open_graph(arena, graph_from_text(arena, text, 18));
}

static void what_has_no_kernel_is_done_on_copies(void **state)
{
    (void)state;
    Planning *p = open_text("a <- Tanh f32[4,4]; b <- Det a; c <- Mul u64[4] u64[4]; d <- Div c "
                            "u64[4]; e <- Less d c; f <- Div d c");
    RunOptions options = {.verify = true, .repeat = 2, .backend = "cuda"};
    RunReport report;
    Error err;
    assert_true(fake.start(2, MEMORY_BYTES, 1, NULL));
    if (!run(p, &options, &report, &err))
        planning_fail(&err);
    assert_true(report.ok);
    assert_null(report.instead);
    assert_int_equal(report.n_copied_ops, 4);
    assert_int_equal(report.n_copied_operators, 3);
    assert_string_equal(report.copied_operator[0], "Det");
    assert_string_equal(report.copied_operator[1], "Div");
    assert_string_equal(report.copied_operator[2], "Less");
    options.backend = "host";
    assert_true(run(p, &options, &report, &err));
    assert_int_equal(report.n_copied_ops, 0);
    planning_close(p);
}

static void check_left_to_the_host(Planning *p, const char *want)
{
    RunOptions options = {.verify = true, .repeat = 1, .backend = "cuda"};
    RunReport report;
    Error err;
    assert_true(fake.start(2, MEMORY_BYTES, 1, NULL));
    assert_false(run(p, &options, &report, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.text, want));
    options.backend = "auto";
    if (!run(p, &options, &report, &err))
        planning_fail(&err);
    assert_true(report.ok);
    assert_string_equal(report.backend, "host");
    assert_non_null(report.instead);
    assert_non_null(strstr(report.instead, want));
    planning_close(p);
}

static void what_it_cannot_do_is_left_to_the_host(void **state)
{
    (void)state;
    check_left_to_the_host(open_text("a <- NonZero f32[4,4]; b <- Neg a"),
                           "a shape that is known only at run time");
    Arena *arena = arena_new();
    Body then = body_new(arena), other = body_new(arena), body = body_new(arena);
    body_node(&then, "Relu relu: x -> t");
    body_output(&then, "t");
    body_node(&other, "Neg neg: x -> e");
    body_output(&other, "e");
    Buf node = node_begin(arena, "If if: c -> y");
    node_graph(&node, "then_branch", &then);
    node_graph(&node, "else_branch", &other);
    body_input(&body, "c", DT_BOOL, "");
    body_input(&body, "x", DT_F32, "4,8");
    body_add(&body, &node);
    body_output(&body, "y");
    Graph *graph = onnx_read(arena, "made.onnx", model_bytes(&body, 18, NULL, 0), NULL);
    check_left_to_the_host(open_graph(arena, graph), "branches or loops");
}

/* A program it can do is the device's. */
static void auto_takes_the_device(void **state)
{
    (void)state;
    Planning *p = open_text("a <- Tanh f32[4,4]");
    RunOptions options = {.verify = true, .repeat = 1, .backend = "auto"};
    RunReport report;
    Error err;
    assert_true(fake.start(2, MEMORY_BYTES, 1, NULL));
    assert_true(run(p, &options, &report, &err));
    assert_string_equal(report.backend, "cuda");
    assert_null(report.instead);
    planning_close(p);
}

/* ---- all of it ---- */

static size_t add_rows(struct CMUnitTest *tests, size_t n, void *rows, size_t n_rows,
                       size_t row_bytes, CMUnitTestFunction test)
{
    for (size_t i = 0; i < n_rows; i++) {
        char *row = (char *)rows + i * row_bytes;
        const char *name;
        memcpy(&name, row, sizeof name);
        tests[n++] = (struct CMUnitTest){.name = name, .test_func = test, .initial_state = row};
    }
    return n;
}

#define ADD(rows, test) n = add_rows(tests, n, rows, sizeof rows / sizeof *rows, sizeof *rows, test)

int main(void)
{
    struct CMUnitTest tests[60] = {
        cmocka_unit_test(captured_passes_give_the_same),
        cmocka_unit_test(kernels_are_compiled_once),
        cmocka_unit_test(without_a_device_it_is_said),
        cmocka_unit_test(what_has_no_kernel_is_done_on_copies),
        cmocka_unit_test(what_it_cannot_do_is_left_to_the_host),
        cmocka_unit_test(auto_takes_the_device),
    };
    size_t n = 6;
    ADD(plan_rows, plan_gives_what_one_device_gives);
    ADD(fault_rows, fault_ends_the_run);
    return _cmocka_run_group_tests("cuda", tests, n, open_fake, close_fake);
}
