/* Time of a step by worked numbers, and the machine that they come from. */
#include "core/cost/absorbed.h"
#include "core/session/make.h"
#include "tests/unit/unit.h"

#include "tests/unit/graph_text.h"
#include "tests/unit/planning.h"
#include "tests/unit/small_plan.h"

#include <math.h>

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* ---- ops ---- */

typedef struct {
    const char *name;
    double flops, us;
} PricedRow;

/* us = max(flops / 1e9, bytes / 1e9) * 1e6 + 5 */
static PricedRow priced[] = {
    {"matmul1", 1024, 1.024 + 5},          /* bytes: 256 + 512 + 128 */
    {"relu", 32, (128 + 128) * 1e-3 + 5},  /* memory-bound */
    {"view1", 0, 0},                       /* costs nothing */
    {"matmul2", 1024, 1.024 + 5},          /* bytes: 128 + 512 + 256 */
    {"add", 64, (256 * 3 + 4) * 1e-3 + 5}, /* the copy, not the partial value */
};

static void prices_ops(void **state)
{
    const PricedRow *row = *state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    cost_fill(&small->plan, &small->priced);
    int32_t op = small_op(small, row->name);
    assert_close(op_flops_local(&small->plan, op), row->flops);
    assert_close(small->plan.priced->op_us[op], row->us);
    arena_free(arena);
}

static void sums_up(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    small->priced.totals.peak_bytes = 77;
    cost_fill(&small->plan, &small->priced);
    double compute_us = 0;
    for (size_t i = 0; i < COUNT_OF(priced); i++)
        compute_us += priced[i].us;
    const Totals *totals = &small->plan.priced->totals;
    assert_close(totals->compute_us, compute_us);
    assert_close(totals->comm_us, 3.5);
    assert_close(totals->step_us, compute_us + 3.5);
    assert_int_equal(totals->comm_bytes, 384);
    assert_close(totals->flops, 1024 + 32 + 1024 + 64);
    assert_int_equal(totals->peak_bytes, 77);
    arena_free(arena);
}

static void knows_element_types(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    int32_t op = small_op(small, "matmul1"), x = small_tensor(small, "x");
    small->machine.memory_bytes_per_s = 1e18;
    small->inferred.dtype[x] = DT_BF16;
    cost_fill(&small->plan, &small->priced);
    assert_close(small->plan.priced->op_us[op], 0.512 + 5);
    small->inferred.dtype[x] = DT_F16; /* the machine has no number for it: as f32 */
    cost_fill(&small->plan, &small->priced);
    assert_close(small->plan.priced->op_us[op], 1.024 + 5);
    arena_free(arena);
}

static void host_ops_cost_nothing(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    int32_t add = small_op(small, "add");
    small->inferred.space[add] = -1;
    small->inferred.n_program--;
    cost_fill(&small->plan, &small->priced);
    assert_close(small->plan.priced->op_us[add], 0);
    assert_close(op_flops_local(&small->plan, add), 0);
    assert_close(small->plan.priced->totals.flops, 1024 + 32 + 1024);
    arena_free(arena);
}

/* 50257 words over tp=4: rank 0 has 12565 of them. */
static void uneven_is_rank_0(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    int32_t op = small_op(small, "matmul1");
    OpSpace *space = opspace_new(arena, 0, 0);
    opspace_add_index(space, "n", 50257, ROLE_MAP, REDUCE_NONE);
    space->flops = 2 * 50257.0;
    OpCut *cut = arena_make(arena, OpCut);
    uint8_t tp[] = {1, 2};
    *cut = (OpCut){.n = 1, .index = {cut_by(50257, tp, 2, small->mesh)}};
    small->inferred.spaces[small->inferred.space[op]] = space;
    small->plan.propagated->cuts[small->plan.propagated->cut[op]] = cut;
    assert_close(op_flops_local(&small->plan, op), 2 * 12565.0);
    arena_free(arena);
}

/* ---- what an op does ---- */

typedef struct {
    const char *name, *graph; /* the last op is asked about, on one device */
    const char *cost;         /* 400 TFLOP/s matmul, 100 vector; 3e12 B/s; shares .8, .9, .5 */
} Worked;

static Worked worked[] = {
    {"a matmul that is bound by its units", "y <- MatMul f32[1000,1000] f32[1000,2000]!",
     "matmul: 2 us + max(4,000,000,000 flops / (0.8 * 400 TFLOP/s), 20,000,000 B / (0.9 * 3000 "
     "GB/s)) = 14.5 us"},
    {"one that is bound by memory", "y <- MatMul f32[1,1000] f32[1000,2000]!",
     "matmul: 2 us + max(4,000,000 flops / (0.8 * 400 TFLOP/s), 8,012,000 B / (0.9 * 3000 GB/s)) = "
     "5.0 "
     "us"},
    {"a batch of them", "y <- MatMul f32[8,100,10] f32[8,10,100]", "matmul"},
    {"an einsum", "y <- Einsum f32[8,16] f32[16,4] equation=\"ij,jk->ik\"", "matmul"},
    {"a convolution", "y <- Conv f32[1,8,16,16] f32[16,8,3,3]!", "matmul"},
    {"a depthwise one", "y <- Conv f32[2,8,16,16] f32[8,1,3,3]! group=8", "vector"},
    {"attention", "y <- Attention f32[1,2,8,4] f32[1,2,8,4] f32[1,2,8,4]", "matmul"},
    {"full attention", "y <- Attention f32[1,2,4096,8] f32[1,2,4096,8] f32[1,2,4096,8]",
     "matmul: 2 us + max(1,073,741,824 flops / (0.8 * 400 TFLOP/s), 1,048,576 B"},
    {"causal attention: half of it and the diagonal",
     "y <- Attention f32[1,2,4096,8] f32[1,2,4096,8] f32[1,2,4096,8] is_causal=1",
     "matmul: 2 us + max(537,001,984 flops / (0.8 * 400 TFLOP/s), 1,048,576 B"},
    {"a window of 1024 keys: the last 1024, fewer at the start",
     "y <- Attention f32[1,2,4096,8] f32[1,2,4096,8] f32[1,2,4096,8] is_causal=1 "
     "left_window_size=1023",
     "matmul: 2 us + max(234,913,792 flops / (0.8 * 400 TFLOP/s), 1,048,576 B"},
    {"a token after 4095: its window alone is read",
     "y <- Attention f32[1,2,1,8] f32[1,2,1,8] f32[1,2,1,8] - f32[1,2,4095,8] f32[1,2,4095,8] "
     "is_causal=1 left_window_size=1023",
     "matmul: 2 us + max(65,536 flops / (0.8 * 400 TFLOP/s), 131,200 B"},
    {"causal attention as torch fuses it",
     "y <- ScaledDotProductAttention f32[2,4096,8] f32[2,4096,8] f32[2,4096,8] is_causal=1",
     "matmul: 2 us + max(537,001,984 flops"},
    {"a recurrence", "y <- RNN f32[4,2,8] f32[1,16,8]! f32[1,16,16]! hidden_size=16", "matmul"},
    {"element-wise", "y <- Relu f32[1000,1000]",
     "vector: 2 us + max(1,000,000 flops / 100 TFLOP/s, 8,000,000 B / (0.9 * 3000 GB/s)) = 5.0 "
     "us"},
    {"a reduction", "y <- ReduceSum f32[8,16]", "vector"},
    {"a softmax", "y <- Softmax f32[8,16]", "vector"},
    {"rows of a large table", "y <- Gather f32[100000,250]! i64[1000]",
     "gather: 2 us + max(0 flops / 100 TFLOP/s, 2,008,000 B / (0.5 * 3000 GB/s)) = 3.3 us"},
    {"a scatter", "y <- ScatterElements f32[100,10] i64[5,10] f32[5,10]", "gather"},
    {"a view", "y <- Flatten f32[8,16,2]", "view: moves nothing, takes no time"},
};

/* Shares of f32 .8, types of two bytes .7, attention .4; and where a machine says only the first.
 */
static void shares_by_kind(void **state)
{
    (void)state;
    static const struct {
        OpCost cost;
        double all, first;
    } rows[] = {
        {{.work = WORK_MATMUL, .dtype = DT_F32}, .8, .8},
        {{.work = WORK_MATMUL, .dtype = DT_BF16}, .7, .8},
        {{.work = WORK_MATMUL, .dtype = DT_F16, .gradient = true}, .7, .8},
        {{.work = WORK_MATMUL, .dtype = DT_F8E4M3FN}, .8, .8},
        {{.work = WORK_MATMUL, .dtype = DT_BF16, .attention = true}, .4, .8},
        {{.work = WORK_MATMUL, .dtype = DT_BF16, .attention = true, .gradient = true}, .3, .8},
        {{.work = WORK_VECTOR, .dtype = DT_BF16}, 1, 1},
    };
    Machine first = {.matmul_share = .8, .memory_bytes_per_s = 1, .flops_per_s[DT_F32] = 1};
    Machine all = first;
    all.matmul_share_16 = .7;
    all.attention_share = .4;
    all.attention_gradient_share = .3;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_close(op_cost_on(&rows[i].cost, &all).flops_share, rows[i].all);
        assert_close(op_cost_on(&rows[i].cost, &first).flops_share, rows[i].first);
    }
}

/* 132 tiles on 132 processors are one wave; of 133 the second one is half filled. */
static void waves_are_counted(void **state)
{
    (void)state;
    Machine machine = {.matmul_share = .5, .memory_bytes_per_s = 1, .launch_us = 2, .matmul_us = 4};
    machine.flops_per_s[DT_F32] = 1;
    machine.processors = 132;
    machine.matmul_tile = 128;
    static const struct {
        double tiles, share;
    } rows[] = {{0, .5},
                {132, .5},
                {264, .5},
                {66, .5 / 1.5},
                {133, .5 / (1 + (2 - 133 / 132.) / (2 * 133 / 132.))}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OpCost cost = {.work = WORK_MATMUL, .dtype = DT_F32, .product = {rows[i].tiles, 1, 1, 1}};
        assert_close(op_cost_on(&cost, &machine).flops_share, rows[i].share);
        assert_close(op_cost_on(&cost, &machine).launch_us, 6);
    }
    OpCost vector = {.work = WORK_VECTOR, .dtype = DT_F32, .product = {66, 1, 1, 1}};
    assert_close(op_cost_on(&vector, &machine).flops_share, 1);
    assert_close(op_cost_on(&vector, &machine).launch_us, 2);
    machine.memory_share = .9;
    machine.norm_share = .4;
    OpCost norm = {.work = WORK_VECTOR, .dtype = DT_F32, .norm = true};
    OpCost function = {.work = WORK_VECTOR, .dtype = DT_F32, .function = true};
    assert_close(op_cost_on(&norm, &machine).bytes_share, .4);
    assert_close(op_cost_on(&function, &machine).bytes_share, .9);
}

/* Which ops are attention in one op, and which are gradients. */
static void knows_attention(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena,
                               "s <- MatMul f32[8,4] f32[4,8]; "
                               "y <- Attention f32[1,2,8,4] f32[1,2,8,4] f32[1,2,8,4]",
                               23);
    planning_infer(p, "", "x=1");
    planning_make(p);
    OpCost matmul = op_cost(p->plan, 0), attention = op_cost(p->plan, 1);
    assert_true(matmul.work == WORK_MATMUL && !matmul.attention && !matmul.gradient);
    assert_true(attention.work == WORK_MATMUL && attention.attention && !attention.gradient);
    plan_free(p->plan);
    arena_free(arena);
}

static void knows_work(void **state)
{
    const Worked *row = *state;
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, row->graph, 23);
    planning_infer(p, "", "x=1");
    p->machine.launch_us = 2;
    p->machine.matmul_share = .8;
    p->machine.memory_share = .9;
    p->machine.gather_share = .5;
    p->machine.vector_flops_per_s[DT_F32] = 100e12;
    planning_make(p);
    Buf text = buf_new(arena);
    op_cost_explain(p->plan, p->graph->n_ops - 1, &text);
    if (strchr(row->cost, '=') || strstr(row->cost, "view"))
        assert_string_equal(text.s, row->cost);
    else
        assert_memory_equal(text.s, row->cost, strlen(row->cost));
    plan_free(p->plan);
    arena_free(arena);
}

typedef struct {
    const char *name, *graph, *by; /* by: what absorbs the first op; NULL: nothing */
} AbsorbedRow;

static AbsorbedRow absorbed[] = {
    {"the weight of a linear layer",
     "w <- Transpose f32[64,32]! perm=[1,0]; y <- MatMul f32[8,32] w", "MatMul"},
    {"the weight of a linear layer that reads one row",
     "w <- Transpose f32[64,32]! perm=[1,0]; y <- MatMul f32[1,1,32] w", "MatMul"},
    {"keys of scores", "k <- Transpose f32[2,8,4] perm=[0,2,1]; y <- MatMul f32[2,8,4] k",
     "MatMul"},
    {"heads of attention",
     "q <- Transpose f32[1,8,2,4] perm=[0,2,1,3]; y <- Attention q f32[1,2,8,4] f32[1,2,8,4]",
     "Attention"},
    {"heads of scores, which two strides of a batch would need",
     "q <- Transpose f32[2,8,3,4] perm=[0,2,1,3]; y <- MatMul q f32[2,3,4,8]", NULL},
    {"one that something else reads too",
     "w <- Transpose f32[32,32]! perm=[1,0]; y <- MatMul f32[8,32] w; z <- Relu w", NULL},
};

static void absorbs_layouts(void **state)
{
    const AbsorbedRow *row = *state;
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, row->graph, 23);
    planning_infer(p, "", "x=1");
    planning_make(p);
    int32_t by = op_absorbed_by(p->inferred, 0);
    int64_t bytes = memory_use(arena, p->plan).peak_bytes;
    int64_t copied_bytes = memory_use_in_run(arena, p->plan).peak_bytes;
    if (row->by)
        assert_string_equal(op_operator(p->graph, by), row->by);
    else
        assert_int_equal(by, -1);
    assert_true(row->by ? p->plan->priced->op_us[0] == 0 : p->plan->priced->op_us[0] > 0);
    assert_true(row->by ? bytes < copied_bytes : bytes == copied_bytes);
    plan_free(p->plan);
    arena_free(arena);
}

/* ---- the best case ---- */

typedef struct {
    const char *tensor, *reader; /* reader NULL: only a pin asks for it */
    double us;
} MovedRow;

typedef struct {
    const char *name;
    MovedRow moved[2];
    double exposed_us;
} Overlapped;

/* matmul1 6.024, relu 5.256, matmul2 6.024, add 5.772 us */
static Overlapped overlapped[] = {
    {"nothing moves", {{0}}, 0},
    {"the next op waits", {{"y", "add", 3.5}}, 3.5},
    {"beside two ops", {{"h", "add", 11}}, 0},
    {"longer than these", {{"h", "add", 20}}, 20 - 5.256 - 6.024},
    {"a parameter comes early", {{"w2", "matmul2", 11}}, 0},
    {"one that is needed at once", {{"w1", "matmul1", 4}}, 4},
    {"one queue of collectives", {{"w1", "matmul1", 4}, {"w2", "matmul2", 12}}, 4 + 12 - 15.28 + 4},
    {"a pin's, before its readers", {{"y", NULL, 3.5}}, 3.5},
    {"a pin's, of the result", {{"z", NULL, 3.5}}, 3.5},
    {"a pin's, of an input", {{"x", NULL, 7}}, 7},
    {"a slice waits for nobody", {{"y", "add", 0}, {"h", "add", 5}}, 0},
};

static void overlaps(void **state)
{
    const Overlapped *row = *state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    Plan *plan = &small->plan;
    small->moved.n_reshards = 0;
    small->moved.reshard_uses = arena_array(arena, int32_t, 2);
    for (int i = 0; i < 2 && row->moved[i].tensor; i++) {
        const MovedRow *moved = &row->moved[i];
        ReshardPath *path = arena_make(arena, ReshardPath);
        path->us = moved->us;
        if (moved->reader)
            plan->moved->reshard_uses[i] = small_op(small, moved->reader);
        small->moved.reshards[small->moved.n_reshards++] =
            (Reshard){.tensor = small_tensor(small, moved->tensor),
                      .use = i,
                      .n_uses = moved->reader != NULL,
                      .path = path};
    }
    cost_fill(plan, &small->priced);
    const Totals *totals = &plan->priced->totals;
    assert_close(totals->overlap_us - totals->compute_us, row->exposed_us);
    assert_true(totals->overlap_us <= totals->step_us + 1e-9);
    arena_free(arena);
}

/* The plans of whole models lie between the longer queue and the sum of both. */
static void overlap_has_bounds(void **state)
{
    static const char *const models[] = {"gpt2", "llama-tiny", "tiny-gpt"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        Planning *p = planning_open(models[i], "batch=2,seq=16", "tp=2");
        for (int t = 0; t < p->graph->n_tensors; t++) {
            const Shape *shape = inferred_shape(p->inferred, t);
            if (tensor_is_parameter(p->inferred, t) && shape && shape->n_dims == 2 &&
                shape->dim[t & 1] % 2 == 0)
                planning_pin(p, tensor_name(p->graph, t), t & 1, "tp", 1, (t & 6) == 0);
        }
        const Totals *totals = &planning_make(p)->priced->totals;
        assert_true(totals->comm_us > 0);
        assert_true(totals->overlap_us <= totals->step_us * (1 + 1e-12));
        assert_true(totals->overlap_us >= totals->compute_us * (1 - 1e-12));
        assert_true(totals->overlap_us >= totals->comm_us * (1 - 1e-12));
        planning_close(p);
    }
}

/* ---- machines ---- */

typedef struct {
    const char *name;
    void (*spoil)(Machine *machine);
    const char *text;
} Spoiled;

static void no_share(Machine *machine)
{
    machine->matmul_share = 1.5;
}
static void untuned_channels(Machine *machine)
{
    static const Tuning tuning;
    machine->tuning = &tuning;
}
static void no_nodes(Machine *machine)
{
    machine->devices_per_node = 0;
}
static void no_memory(Machine *machine)
{
    machine->memory_bytes = 0;
}
static void no_bandwidth(Machine *machine)
{
    machine->memory_bytes_per_s = 0;
}
static void no_flops(Machine *machine)
{
    machine->flops_per_s[DT_F32] = 0;
}
static void negative_flops(Machine *machine)
{
    machine->flops_per_s[DT_I8] = -1;
}
static void nan_launch(Machine *machine)
{
    machine->launch_us = NAN;
}
static void negative_latency(Machine *machine)
{
    machine->inside.latency_us = -1;
}
static void endless_link(Machine *machine)
{
    machine->between.bytes_per_s = INFINITY;
}

static Spoiled spoiled[] = {
    {"fine", NULL, ""},
    {"no devices in a node", no_nodes, "devices_per_node"},
    {"no memory", no_memory, "memory_bytes "},
    {"no bandwidth", no_bandwidth, "memory_bytes_per_s"},
    {"no flops of f32", no_flops, "flops_per_s of f32"},
    {"negative flops", negative_flops, "flops_per_s"},
    {"a launch that is no number", nan_launch, "launch_us"},
    {"negative latency", negative_latency, "latency_us"},
    {"an endless link", endless_link, "bytes_per_s"},
    {"a share of more than all", no_share, "matmul_share"},
    {"tuning without channels", untuned_channels, "channels of inside"},
};

static void checks_machines(void **state)
{
    const Spoiled *row = *state;
    Arena *arena = arena_new();
    Machine machine = small_plan(arena)->machine;
    Error err = {0};
    if (row->spoil)
        row->spoil(&machine);
    assert_int_equal(machine_check(&machine, &err), row->spoil == NULL);
    assert_non_null(strstr(err.text, row->text));
    arena_free(arena);
}

typedef struct {
    const char *name, *mesh, *axes; /* axes: of the groups */
    int devices_per_node;
    const char *link;
} Linked;

static Linked linked[] = {
    {"within a node", "dp=2,tp=4", "tp", 4, "wire"},
    {"across nodes", "dp=2,tp=4", "dp", 4, "net"},
    {"both", "dp=2,tp=4", "dp.tp", 4, "net"},
    {"all in one node", "dp=2,tp=4", "dp.tp", 8, "wire"},
    {"a part that fits", "tp=8", "tp:(4)2", 2, "wire"},
    {"a part that does not", "tp=8", "tp:(2)2", 2, "net"},
    {"groups that straddle", "dp=3,tp=2", "tp", 3, "net"},
    {"strides that straddle", "a=2,b=2,c=2", "b", 6, "net"},
    {"a node that is larger than the mesh", "a=2,b=2,c=2", "b", 10, "wire"},
    {"nobody to talk to", "dp=2,one=1", "one", 1, "wire"},
    {"devices of one node beside each other", "dp,tp=[[0,2],[1,3]]", "dp", 2, "wire"},
    {"devices of two nodes beside each other", "dp,tp=[[0,2],[1,3]]", "tp", 2, "net"},
    {"a million devices", "dp=1000000", "dp", 8, "net"},
};

static void finds_links(void **state)
{
    const Linked *row = *state;
    Arena *arena = arena_new();
    Machine machine = small_plan(arena)->machine;
    machine.devices_per_node = row->devices_per_node;
    Source mesh_text = {.name = "--mesh", .text = str_from(row->mesh)};
    const Mesh *mesh = mesh_parse(arena, &mesh_text, NULL);
    Source axes = {.name = "axes", .text = str_from(row->axes)};
    Error err = {0};
    Scan scan = scan_begin(&axes, &err);
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    do
        assert_true(mesh_parse_atoms(mesh, &scan, atom, &n));
    while (scan_accept(&scan, '.'));
    AtomSet atoms = 0;
    for (int i = 0; i < n; i++)
        atoms |= (AtomSet)1 << atom[i];
    assert_string_equal(machine_link(&machine, mesh, atoms)->name, row->link);
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sums_up),
    cmocka_unit_test(knows_element_types),
    cmocka_unit_test(host_ops_cost_nothing),
    cmocka_unit_test(shares_by_kind),
    cmocka_unit_test(waves_are_counted),
    cmocka_unit_test(knows_attention),
    cmocka_unit_test(uneven_is_rank_0),
    cmocka_unit_test(overlap_has_bounds),
};

int main(void)
{
    return run_rows("cost of ops", priced, prices_ops) + run_rows("work", worked, knows_work) +
           run_rows("layouts", absorbed, absorbs_layouts) +
           run_rows("overlap", overlapped, overlaps) +
           run_rows("machine", spoiled, checks_machines) + run_rows("links", linked, finds_links) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
