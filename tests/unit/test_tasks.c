/* What people come to do, in their words, and how few keys it may take, counted from the open
 * explorer: each task as a row, and its answer on the screen after these keys. Every row holds on
 * 80x24 in ASCII and without colour as it does on 120x40, 160x50 and 200x60. What is asked of the
 * command line alone (failing when a plan gets worse, checking an operator) is in tests/golden. */
#include "tests/unit/screen.h"

#include "tui/app/reload.h"
#include "tui/cli/cli.h"
#include "tui/views/policy_lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *name;
    const char *before; /* where the task begins; "": as the explorer opens */
    const char *keys;
    int n_keys; /* the budget */
    const char *facts[FACTS_MAX];
    bool tiny;           /* on tiny-gpt, which has weights to run */
    bool trains;         /* the training step: of tiny-gpt, else of a pipeline, Llama-3-8B on
                            pp=2,dp=2,tp=4 */
    const char *policy;  /* lines of PAS(graph); NULL: scripts/policies/megatron.lua */
    const char *shipped; /* or this policy of the project */
    const char *file;    /* that it leaves in the current folder, having the last of the facts */
} TaskRow;

static TaskRow rows[] = {
    {"open a model with a policy and see that it is legal, fits and what it costs", "", "", 0,
     .facts = {"gpt2", "dp=2,tp=4", "366.3 MiB/74.5 GiB ok", "13.2 ms, comm 15.4%", "legal"}},
    {"which axis cuts which dim of layer 3's c_fc weight; its local shape", "",
     "/h.3.mlp.c_fc.weight<Enter>", 3,
     .facts = {"768,3072/tp", "LOCAL 768,768", "[-1,1]", "[R, S(1)]", "P(None,'tp')",
               "[{},{\"tp\"}]", "megatron.lua:23"}},
    {"the dearest collective, its bytes, time, formula and the policy line that caused it", "", "5",
     2,
     .facts = {">   12 AR tp", "attn.c_proj.out", "12.0 MiB", "0.975 ms",
               "1.5 * 12,582,912 B / 360 GB/s = 81.2 us", "megatron.lua:24  roles.shard("}},
    {"the dearest collective, and how the policy line caused it", "", "5w", 2,
     .facts = {"partial over tp", "k+ sharded by tp", "transformer.h.0.attn.c_proj.weight dim 0",
               "megatron.lua:24", "AR tp 12.0 MiB 81.2 us"}},
    {"why is this tensor partial", "/h.0.attn.c_proj/Gemm<Enter>", "w", 1,
     .facts = {"8192/dp,768 Σtp", "partial over tp", "k+ sharded by tp", "megatron.lua:24"}},
    {"why is this tensor partial, and where is it reduced", "/h.0.attn.c_proj/Gemm<Enter>", "wgr",
     3,
     .facts = {"[5 Comm]", ">   12 AR tp", "8/dp,1024,768 Σtp", "all_reduce",
               "h.0/Add needs the sum"}},
    {"why is this tensor *not* cut by tp", "", "Wt", 2,
     .facts = {"not sharded by tp?", "LayerNormalization transformer.h.1.ln_1",
               "cannot run sharded", "along d", "to let it through: pin this dim by tp"}},
    {"what layer 7 does that layer 6 does not: nothing", "", "", 3,
     .facts = {"h[0..11] ×12", "12 equal in structure and shard"}},
    {"what layer 7 does that layer 6 does not",
     ":tensor transformer.h.7.mlp.c_fc.weight.1<Enter>pw1z3gg", "/h.7<Enter>", 3,
     .facts = {"h[0..6] ×7", "h.7 ≠",
               "unlike h[0..6]: mlp.c_fc/Gemm given input 1 is 768,3072, there 768,3072/tp"}},
    {"what rank 5 holds of this tensor; who else holds the same", "", "3:rank 5<Enter>", 3,
     .facts = {"d5 (dp 1, tp 1) holds B [4:8,:,:] 12.0 MiB", "the same on d4 d6 d7", ">d5<", "B="}},
    {"what rank 5 holds of this tensor: an addend", "/h.0.attn.c_proj/Gemm<Enter>",
     "3:rank 5<Enter>", 3,
     .facts = {"d5 (dp 1, tp 1) holds B [4096:8192,:] 12.0 MiB",
               "partial sum 2 of 4; the others on d4 d6 d7"}},
    {"which devices talk in this all-reduce, over which links", "", "54", 2,
     .facts = {"[4 Mesh]", "A Σ1/4", "all_reduce {d0 d1 d2 d3} {d4 d5 d6 d7}",
               "over nvlink, inside nodes", "AR {0}", "AR {1}"}},
    {"what is alive at the memory peak", "", "6", 1,
     .facts = {"the peak: lm_head", "at the peak of d0..d2 .. ×6: 366.3 MiB", "lm_head.out",
               "196.3 MiB"}},
    {"what is alive at the memory peak; what would lower it", "", "6x", 2,
     .facts = {"to lower the peak of 366.3 MiB", "wte.weight dim 1 stored by dp", "+65.4 us",
               "−18.4 MiB"}},
    {"try another cut here: its price before deciding", "", "x", 1,
     .facts = {"STEP", "COMM", "PEAK", "as now", "+5.46 ms", "graph:shard("}},
    {"try another cut here; see the change; take it back", "", "xtu", 3,
     .facts = {"undone: step 18.6→13.2 ms, comm 3.53→2.03 ms", "8/dp,1024,768",
               "13.2 ms, comm 15.4%"}},
    {"pin a dim, keep it as a policy line", "", "pt:write<Enter>", 4,
     .facts = {"1 line to megatron.edits.lua", "graph:shard("}, .file = "megatron.edits.lua"},
    {"compare with fsdp: what differs first, what in total", "", "df<Enter>", 3,
     .facts = {"+26.5 ms", "+889.2 MiB", "149 AG", "B is worse", ">~ transformer.wte.weight",
               "pin transformer.wte.weight dim 1", "fsdp.lua:35"}},
    {"compare with a plan by name: what differs first, what in total", "", "d:fsdp<Enter>", 3,
     .facts = {"+26.5 ms", ">~ transformer.wte.weight", "fsdp.lua:35"}},
    {"which lines of the policy did nothing", "", "8", 1,
     .facts = {"1 decision of 1 line hold, 1 did nothing !", "!    2     0", "     3     1",
               "nearest: 'lm_head.weight'"},
     .policy = "graph:shard('lm_hed.weight', {[1] = 'tp'})\n"
               "graph:shard('input_ids', {[0] = 'dp'})\n"},
    {"all matmuls whose output is partial", "", "fMatMul partial:tp<Enter>", 3,
     .facts = {"24 of 486 ops", "filter: MatMul partial:tp", "h[0..11] ×12", "attn ", "Gemm    ",
               "8192/dp,768 Σtp", "mlp "}},
    {"this tensor's sharding as PartitionSpec", "/h.3.mlp.c_fc.weight<Enter>", "Y5", 2,
     .facts = {"to copy: P(None,'tp')"}},
    {"this tensor's sharding as DTensor placements", "/h.3.mlp.c_fc.weight<Enter>", "Y3", 2,
     .facts = {"to copy: [R, S(1)]"}},
    {"this tensor's sharding as dims_mapping", "/h.3.mlp.c_fc.weight<Enter>", "Y2", 2,
     .facts = {"to copy: [-1,1]"}},
    {"what a layer costs forward and backward, and what it keeps", "", "", 0,
     .facts = {"BWD ms", "70.79 149.21", "fwd 70.8 ms, bwd 149.3 ms, kept 14.5 GiB"},
     .trains = true},
    {"what runs backward for this op", "/layers.0.self_attn.o_proj/MatMul<Enter>", "gb", 2,
     .facts = {"its backward ops", "o_proj/MatMul~d0", "o_proj/MatMul~d1"}, .trains = true},
    {"which op of the model this backward op comes of",
     "/backward.model.layers.0.self_attn.o_proj/MatMul~d1<Enter>", "gb", 2,
     .facts = {"MatMul", "3.42   6.83"}, .trains = true},
    {"where the gradient of this weight is reduced, and how often",
     "/layers.0.self_attn.o_proj.weight<Enter>", "3", 1,
     .facts = {"gradient       4096,4096/tp \xce\xa3"
               "dp",
               "reduced by     AR dp 16.0 MiB", "once a step"},
     .trains = true},
    {"the reduction of the gradient of this weight, its time and cause",
     "/layers.0.self_attn.o_proj.weight<Enter>", "gr", 2,
     .facts = {"[5 Comm]", ">   32 update   AR dp", "o_proj.weight~grad~cast",
               "common.cut_batch(graph, batch)"},
     .trains = true},
    {"where its states lie", "/layers.0.self_attn.o_proj.weight<Enter>", "3", 1,
     .facts = {"states         master, m, v  4096,4096/tp  f32  16.0 MiB"}, .trains = true},
    {"why this gradient is partial, which line did it", "/layers.0.self_attn.o_proj.weight<Enter>3",
     "gbw", 3, .facts = {"partial over dp", "common.cut_batch"}, .trains = true},
    {"what of this layer's values fills the peak", "", "6<Enter>", 2,
     .facts = {"model.layers[0..15]", "28.5 GiB"}, .trains = true},
    {"which devices need most, and what fills them", "", "6", 1,
     .facts = {"d0..d7", "46.1 GiB", "d8..d15", "34.5 GiB"}, .trains = true},
    {"what is kept of this layer for the backward pass", "", "gk", 2,
     .facts = {"model.layers[0..15]", "14.5 GiB", "mlp.gate_proj/MatMul"}, .trains = true},
    {"which values of which layer fill the peak, over all micro-batches", "", "gk", 2,
     .facts = {"14.5 GiB a micro-batch, 29.0 GiB at the peak", "input_layernorm", "4.2 GiB"},
     .trains = true},
    {"when in the step is the peak", "", "6", 1,
     .facts = {"OVER THE STEP  ^ the peak", "46.1 GiB", " at 376.2 ms, 2 in flight",
               "at 376.2 ms, backward of micro-batch 0 on stage 0, 2 in flight"},
     .trains = true},
    {"what would ZeRO-2 save or cost", "", "6", 1, .facts = {"zero=2", "−7.5 GiB", "+84.1 ms"},
     .trains = true},
    {"what would other settings save or cost", "", "6", 1,
     .facts = {"balance=flops", "−137.6 ms", "sequence_parallel=true", "−12.0 GiB", "zero=1",
               "−8.31 ms"},
     .trains = true},
    {"what would ZeRO-2, recomputation, balanced stages save or cost", "", "6x", 2,
     .facts = {"zero=2", "−7.5 GiB", "−8.31 ms", "recompute=full", "−24.1 GiB", "+1.52 s",
               "balance=flops", "−137.6 ms"},
     .trains = true},
    {"what should I recompute: what makes which values again costs", "", "gk", 2,
     .facts = {"AGAIN", "Add", "34.7 ms", "12.1%", "187.4 ms"}, .trains = true},
    {"try it: all of it made again", "", "6x9", 3,
     .facts = {"22.0/74.5 GiB ok", "recompute=full: micro-batch", "step now 6.36 s"},
     .trains = true},
    {"why does a stage wait", "", "0", 1,
     .facts = {"bubble 9.6%", "5.9% with equal stages", "waits: drain", "169.0 ms", "86.3%",
               "94.6%", "stage 0 waits a step: uneven stages"},
     .trains = true},
    {"what did this block wait for", "0j", "gu", 2,
     .facts = {"stage 0, forward of micro-batch 0", "starts at once"}, .trains = true},
    {"what would balance the stages give", "", "0", 1,
     .facts = {"SHORTER WITH balance=flops −137.6 ms"}, .trains = true},
    {"where does the time of a step go", "", "0", 1,
     .facts = {"WHERE A STEP'S TIME GOES", "4.83 s", "compute", "3.93 s  81.3%",
               "all_reduce over tp", "612.1 ms  12.7%  1088"},
     .trains = true},
    {"which communication is exposed, what caused it", "", "5", 1,
     .facts = {">   32 forward  AR tp", "301.1 ms", "exposed 628.8 ms",
               "if mesh.tp then megatron.cut_weights(graph"},
     .trains = true},
    {"what of communication happens once a step", "", "5fpass:update<Enter>", 4,
     .facts = {"291 of 429 reshards", "26.3 ms of 104.8 ms a micro-batch", "update 26.3 ms ×1"},
     .trains = true},
    {"what does a line of the policy cost over the whole step", "", "8", 1,
     .facts = {"26.4 ms of reshards a step", "forward 7.8 us ×16  update 26.3 ms ×1"},
     .trains = true},
    {"what is the best plan that fits, is it proven", "", "gs", 2,
     .facts = {"[Search]", "PROVEN optimal"}},
    {"what is the best plan of a training step, is it proven", "", "gs", 2,
     .facts = {"[Search]", "PROVEN optimal", "AS A POLICY"}, .tiny = true, .trains = true},
    {"what do my pins cost", "", "gs", 2, .facts = {"PINS AND LIMIT", "megatron.lua:"}},
    {"what do my pins cost in a training step", "", "gs", 2,
     .facts = {"PINS AND LIMIT: the plan without each one", "megatron.lua:27  roles.shard",
               "the limit of 74.5 GiB a device"},
     .tiny = true, .trains = true},
    {"what is the best training step within this memory", "", ":search max-peak=1.4MiB<Enter>", 2,
     .facts = {"limit 1.4 MiB", "PROVEN"}, .tiny = true, .trains = true},
    {"why is there no plan of a training step, what must give", "", ":search max-peak=20GiB<Enter>",
     2,
     .facts = {"no plan keeps the limit of 20.0 GiB", "NO PLAN fits all of these",
               "AT THE PEAK of the present plan"},
     .trains = true},
    {"take a searched step as my policy, but compare first", "gs", "d", 1,
     .facts = {"[7 Diff]", "differ from policy", "update "}, .tiny = true, .trains = true},
    {"what is the best within this memory", "", ":search max-peak=900MiB<Enter>", 2,
     .facts = {"limit 900.0 MiB", "PROVEN"}},
    {"why is there no plan, what must give", "", ":search max-peak=10KiB<Enter>", 2,
     .facts = {"no plan keeps the limit of 10.0 KiB", "NO PLAN fits all of these",
               "AT THE PEAK of the present plan"}},
    {"take it as my policy, but compare first", "gs", "d", 1,
     .facts = {"[7 Diff]", "differ from policy"}},
    {"would a check without a run have found it", "", "gf", 2,
     .facts = {">! gradient-unsummed: transformer.ln_f.weight~grad is partial over tp",
               "remove the assumption: it is then summed"},
     .tiny = true, .trains = true, .shipped = "samples/broken/unsummed_norms.lua"},
    {"would it have found states that are sharded by an axis of the model", "", "gf", 2,
     .facts = {"store-axis"}, .trains = true,
     .policy = "graph:shard('input_ids', {[0] = 'dp'})\ngraph:zero(1, 'tp')\n"},
    {"does the plan train like one device", "", "9:run steps 3<Enter>", 3,
     .facts = {"PASS: ", "each compared on every", "of what rounding"}, .tiny = true,
     .trains = true},
    {"whose gradient makes a value that differs most from one device", "9:run steps 3<Enter>",
     "<Tab>zz", 3, .facts = {"AGAINST ONE DEVICE, 0 of 90 differ", "WORST", "~next", "DRIFT"},
     .tiny = true, .trains = true},
    {"which gradient differs first from one device, by how much", "9:run steps 2<Enter>1", "9", 1,
     .facts = {"FAIL: the first wrong value is", "transformer.ln_f.weight~grad",
               "element [0] is 0.0", "on one device"},
     .tiny = true, .trains = true, .shipped = "samples/broken/unsummed_norms.lua"},
    {"why a gradient differs from one device, and what mends it", "9:run steps 2<Enter>", "w", 1,
     .facts = {"the last run found it wrong: element [0] is",
               "gradient-unsummed: ", "FIX  remove the assumption: it is then summed",
               "press x to plan without line 14", "partial over dp"},
     .tiny = true, .trains = true, .shipped = "samples/broken/unsummed_norms.lua"},
    {"try what mends it", "9:run steps 2<Enter>w", "x", 1,
     .facts = {"plan without line 14", "e  edit the file (the plan stays legal): step"},
     .tiny = true, .trains = true, .shipped = "samples/broken/unsummed_norms.lua"},
    {"is the prediction of a step to be trusted", "9:run steps 3<Enter>1", "9", 1,
     .facts = {"OP, worst estimate first", "PREDICTED", "MEASURED", "CHANGE", "KIND"}, .tiny = true,
     .trains = true},
    {"does the sharded model compute the same", "", "9:run<Enter>", 3,
     .facts = {"PASS: 153 values, each compared on every", "of what rounding"}, .tiny = true},
    {"predicted against measured time per op and collective", "9:run<Enter>1", "9", 1,
     .facts = {"OP, worst estimate first", "PREDICTED", "MEASURED", "CHANGE", "KIND", "reshard"},
     .tiny = true},
};

static char *top; /* the folder that tests run in */

/* A fact as an ASCII screen says it. */
static const char *in_ascii(Arena *arena, const char *fact)
{
    Buf out = buf_new(arena);
    for (Str rest = str_from(fact); rest.n > 0;) {
        Key rune = (Key)str_take_rune(&rest);
        buf_putc(&out, rune < 0x80 ? (char)rune : style_ascii((uint32_t)rune));
    }
    return buf_str(&out).s;
}

static Session *open_for(Arena *arena, const TaskRow *row, const char *folder)
{
    SessionOptions options = {.model = "samples/models/gpt2.onnx",
                              .mesh = row->tiny ? "dp=2,tp=2" : "dp=2,tp=4",
                              .policy = "scripts/policies/megatron.lua"};
    Error err = {0};
    if (row->tiny)
        options.model = "samples/models/tiny-gpt.onnx";
    if (row->trains)
        options.train = "auto";
    if (row->trains && !row->tiny)
        options =
            (SessionOptions){.model = arena_printf(arena, "%s/samples/models/llama-3-8b.json", top),
                             .mesh = "pp=2,dp=2,tp=4",
                             .policy = arena_printf(arena, "%s/scripts/policies/hybrid3d.lua", top),
                             .train = "auto"};
    if (row->shipped)
        options.policy = arena_printf(arena, "%s/%s", top, row->shipped);
    if (row->policy) {
        options.policy = arena_printf(arena, "%s/mine.lua", folder);
        const char *text =
            arena_printf(arena, "function PAS(graph)\n%s  return graph\nend\n", row->policy);
        assert_true(file_write(options.policy, str_from(text), NULL));
    }
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

/* What stands in a file that the task left, which then goes away. */
static void assert_left(Arena *arena, const char *folder, const char *name, const char *fact)
{
    Source source;
    const char *path = arena_printf(arena, "%s/%s", folder, name);
    assert_true(file_read(arena, path, 1 << 22, &source, NULL));
    assert_true(str_find(source.text, str_from(fact)) >= 0);
    unlink(path);
}

static void do_task(const TaskRow *row, int w, int h, bool ascii)
{
    char folder[] = "/tmp/dimscope-tasks-XXXXXX";
    Arena *arena = arena_new();
    AppOptions options = {.ascii = ascii, .color = COLOR_MODE_NEVER};
    int last = 0;

    assert_non_null(mkdtemp(folder));
    Session *session = open_for(arena, row, folder);
    App *app = app_new(session, &options, NULL, w, h);
    assert_int_equal(chdir(folder), 0);
    app_type(app, str_from(row->before));
    app_draw(app);
    app_type(app, str_from(row->keys));
    assert_int_equal(chdir(top), 0);
    Buf text = buf_new(arena);
    grid_format(app_draw(app), &text);
    for (int i = 0; i < FACTS_MAX && row->facts[i]; i++) {
        const char *fact = ascii ? in_ascii(arena, row->facts[i]) : row->facts[i];
        if (!strstr(text.s, fact))
            screen_lacks(text.s, fact);
        last = i;
    }
    assert_in_range(count_keys(row->keys), 0, row->n_keys);
    app_free(app);
    session_close(session);
    if (row->file)
        assert_left(arena, folder, row->file, row->facts[last]);
    if (row->policy)
        unlink(arena_printf(arena, "%s/mine.lua", folder));
    assert_int_equal(rmdir(folder), 0);
    arena_free(arena);
}

static void task_on_a_large_screen(void **state)
{
    do_task(*state, 160, 50, false);
}

static void task_on_a_middle_screen(void **state)
{
    do_task(*state, 120, 40, false);
}

static void task_on_a_very_large_screen(void **state)
{
    do_task(*state, 200, 60, false);
}

static void task_on_a_small_one_in_ascii(void **state)
{
    do_task(*state, 80, 24, true);
}

/* ---- a policy that is edited in another window ---- */

static void write_policy(const char *path, const char *body)
{
    Arena *arena = arena_new();
    const char *text = arena_printf(arena, "function PAS(graph)\n%s\n  return graph\nend\n", body);
    assert_true(file_write(path, str_from(text), NULL));
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0); /* whole for long */
    arena_free(arena);
}

static void edit_the_policy_in_another_window_see_the_effect(void **state)
{
    (void)state;
    char path[] = "/tmp/dimscope-tasks-XXXXXX.lua";
    close(mkstemps(path, 4));
    write_policy(path, "  graph:shard('input_ids', {[0] = 'dp'})");
    SessionOptions session_options = {
        .model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4", .policy = path};
    Session *session = session_open(&session_options, &hooks, &(Error){0});
    assert_non_null(session);
    AppOptions options = {.watch = true, .ascii = true};
    App *app = app_new(session, &options, NULL, 80, 24);
    Watch *watch = reload_watch(app);
    app_type(app, STR("/h.3.mlp.c_fc/Gemm<Enter>"));
    screen_says(app, (const char *const[]){"Gemm       Gemm     8192/dp,3072 ", NULL});
    watch_poll(watch);

    write_policy(path, "  graph:shard('input_ids', {[0] = 'dp'})\n"
                       "  graph:shard('*.mlp.c_fc.weight', {n = 'tp'})");
    assert_true(watch_poll(watch));
    screen_says(app,
                (const char *const[]){">| *     ~    Gemm       Gemm     8192/dp,3072/tp",
                                      "policy run: step 37.5>28.5 ms, comm 0 us>0.975 ms", NULL});

    /* Where it fails and why; the plan and the place stay. */
    write_policy(path, "  graph:pin('lm_head.weight', {[2] = 'tp'})");
    assert_true(watch_poll(watch));
    screen_says(app, (const char *const[]){":2: 'lm_head.weight' has 2 dims, no dim 2", NULL});
    app_type(app, STR("8"));
    screen_says(app, (const char *const[]){":2:3: 'lm_head.weight' has 2 dims, no dim 2",
                                           "its dims: 0 of 768, 1 of 50257; -1 is the last",
                                           "the plan is from the last successful run", NULL});
    Str place;
    int line = 0;
    assert_true(policy_place(&app->ui, &place, &line)); /* where e opens the editor */
    assert_int_equal(line, 2);
    assert_true(str_eq(place, str_from(path)));
    app_type(app, STR("1"));
    screen_says(app, (const char *const[]){"8192/dp,3072/tp", NULL});
    app_free(app);
    session_close(session);
    unlink(path);
}

/* ---- by the whole program ---- */

static void a_picture_of_one_block_for_a_paper(void **state)
{
    char folder[] = "/tmp/dimscope-tasks-XXXXXX";
    (void)state;
    Arena *arena = arena_new();
    const char *model = arena_printf(arena, "%s/samples/models/gpt2.onnx", top);
    Cli cli = {.arena = arena, .hooks = &hooks, .out = buf_new(arena), .n_operands = 1};
    cli.operand = &model;
    cli.options = (CliOptions){.mesh = "dp=2,tp=4",
                               .policy = "megatron",
                               .size = "80x24",
                               .script = "E9",
                               .screen = "screen.txt",
                               .ascii = true};
    assert_in_range(count_keys("E9"), 0, 3);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(cli_explore(&cli), CLI_FINE);
    assert_int_equal(chdir(top), 0);
    assert_left(arena, folder, "screen.txt", "gpt2-layer.svg written");
    assert_left(arena, folder, "gpt2-layer.svg", "c_attn");
    assert_int_equal(rmdir(folder), 0);
    arena_free(arena);
}

/* ---- on every screen ---- */

static const char *const screens[] = {"1",
                                      "2",
                                      "3",
                                      "4",
                                      "5",
                                      "6",
                                      "7",
                                      "df<Enter>",
                                      "8",
                                      "9",
                                      "w",
                                      "Wt",
                                      "Z",
                                      "gf",
                                      "ge",
                                      "?",
                                      ":links<Enter>",
                                      ":errors<Enter>",
                                      ":journal<Enter>"};

/* The bottom line says how to move on, help, and the way out; the views are named above. */
static void never_used_it_find_help_the_views_the_way_out(void **state)
{
    static const int sizes[][2] = {{80, 24}, {160, 50}};
    (void)state;
    Session *session = open_gpt2();
    for (size_t size = 0; size < COUNT_OF(sizes); size++) {
        for (size_t i = 0; i < COUNT_OF(screens); i++) {
            Arena *arena = arena_new();
            const char *text =
                screen_after(arena, session, sizes[size][0], sizes[size][1], screens[i]);
            const char *bottom = strrchr(text, '\n');
            while (bottom > text && bottom[-1] != '\n')
                bottom--;
            if (!strstr(bottom, "? help") && strcmp(screens[i], "?") != 0)
                fail_msg("after '%s': no help in '%s'", screens[i], bottom);
            if (!strstr(bottom, "q quit") && !strstr(bottom, "q close"))
                fail_msg("after '%s': no way out in '%s'", screens[i], bottom);
            assert_non_null(strstr(text, "5 Comm"));
            assert_non_null(strstr(text, "9 Run"));
            arena_free(arena);
        }
    }
    session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edit_the_policy_in_another_window_see_the_effect),
        cmocka_unit_test(a_picture_of_one_block_for_a_paper),
        cmocka_unit_test(never_used_it_find_help_the_views_the_way_out),
    };
    top = getcwd(NULL, 0);
    open_scripts(NULL);
    int failed = run_rows("tasks", rows, task_on_a_large_screen) +
                 run_rows("tasks on 120x40", rows, task_on_a_middle_screen) +
                 run_rows("tasks on 200x60", rows, task_on_a_very_large_screen) +
                 run_rows("tasks, same on an 80x24 terminal over SSH, no colour", rows,
                          task_on_a_small_one_in_ascii);
    close_scripts(NULL);
    failed += cmocka_run_group_tests_name("tasks, more", tests, open_scripts, close_scripts);
    free(top);
    return failed;
}
