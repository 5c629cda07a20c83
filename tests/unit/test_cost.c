/* Time of a step by worked numbers, and the machine that they come from. */
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
} Priced;

/* us = max(flops / 1e9, bytes / 1e9) * 1e6 + 5 */
static Priced priced[] = {
    {"matmul1", 1024, 1.024 + 5},          /* bytes: 256 + 512 + 128 */
    {"relu", 32, (128 + 128) * 1e-3 + 5},  /* memory-bound */
    {"view1", 0, 0},                       /* costs nothing */
    {"matmul2", 1024, 1.024 + 5},          /* bytes: 128 + 512 + 256 */
    {"add", 64, (256 * 3 + 4) * 1e-3 + 5}, /* the copy, not the partial value */
};

static void prices_ops(void **state)
{
    const Priced *row = *state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    cost_fill(&small->plan);
    int32_t op = small_op(small, row->name);
    assert_close(op_flops_local(&small->plan, op), row->flops);
    assert_close(small->plan.op_us[op], row->us);
    arena_free(arena);
}

static void sums_up(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    small->plan.totals.peak_bytes = 77;
    cost_fill(&small->plan);
    double compute_us = 0;
    for (size_t i = 0; i < COUNT_OF(priced); i++)
        compute_us += priced[i].us;
    const Totals *totals = &small->plan.totals;
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
    cost_fill(&small->plan);
    assert_close(small->plan.op_us[op], 0.512 + 5);
    small->inferred.dtype[x] = DT_F16; /* the machine has no number for it: as f32 */
    cost_fill(&small->plan);
    assert_close(small->plan.op_us[op], 1.024 + 5);
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
    cost_fill(&small->plan);
    assert_close(small->plan.op_us[add], 0);
    assert_close(op_flops_local(&small->plan, add), 0);
    assert_close(small->plan.totals.flops, 1024 + 32 + 1024);
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
    small->plan.cuts[small->plan.cut[op]] = cut;
    assert_close(op_flops_local(&small->plan, op), 2 * 12565.0);
    arena_free(arena);
}

/* ---- machines ---- */

typedef struct {
    const char *name;
    void (*spoil)(Machine *machine);
    const char *text;
} Spoiled;

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
    cmocka_unit_test(uneven_is_rank_0),
};

int main(void)
{
    return run_rows("cost of ops", priced, prices_ops) +
           run_rows("machine", spoiled, checks_machines) + run_rows("links", linked, finds_links) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
