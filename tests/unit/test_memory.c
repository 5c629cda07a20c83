/* Live bytes by worked numbers: small_plan.h has the bytes of each tensor on rank 0. */
#include "tests/unit/small_plan.h"

enum { PARAMETERS = 512 + 512, X = 256, SOURCES = PARAMETERS + X };

/* ---- live bytes while an op, or a step for it, runs ---- */

typedef struct {
    const char *name;
    int live_bytes;
} Live;

static Live live[] = {
    {"matmul1", SOURCES + 128},             /* h */
    {"relu", SOURCES + 128 + 128},          /* h r */
    {"view1", SOURCES + 128 + 256},         /* r v */
    {"matmul2", SOURCES + 128 + 256 + 256}, /* r v y */
    {"add", SOURCES + 256 * 3 + 4},         /* y' v z c; y is gone with the step */
};

static void counts_live_bytes(void **state)
{
    const Live *row = *state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    MemoryUse use = memory_use(arena, &small->plan);
    assert_int_equal(use.live_bytes[small_op(small, row->name)], row->live_bytes);
    assert_int_equal(use.peak_bytes, SOURCES + 256 * 3 + 4);
    arena_free(arena);
}

/* ---- variations; op ids are places here ---- */

static void empty_program(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    small->inferred.n_program = 0;
    assert_int_equal(memory_use(arena, &small->plan).peak_bytes, SOURCES);
    arena_free(arena);
}

/* fsdp: w1 lies in eight parts (256 bytes a rank) and is gathered while matmul1 runs. */
static void stored_parameter(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    Plan *plan = &small->plan;
    int32_t w1 = small_tensor(small, "w1");
    Shape shape = {.n_dims = 2, .dim = {16, 32}};
    plan->sharding[w1] = plan->made[w1] = small_sharding(small, "16/dp,32/tp", &shape);

    MemoryUse use = memory_use(arena, plan);
    assert_int_equal(use.live_bytes[small_op(small, "matmul1")], live[0].live_bytes + 256);
    assert_int_equal(use.live_bytes[small_op(small, "relu")], live[1].live_bytes - 256);
    arena_free(arena);
}

/* r is pinned whole: relu leaves it cut (128), and 512 bytes of it live on. */
static void pinned_value(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    Plan *plan = &small->plan;
    int32_t r = small_tensor(small, "r");
    Shape shape = {.n_dims = 2, .dim = {8, 32}};
    plan->sharding[r] = small_sharding(small, "8/dp,32", &shape);
    plan->need[small->graph->ops[small_op(small, "matmul2")].input] = plan->sharding[r];

    MemoryUse use = memory_use(arena, plan);
    assert_int_equal(use.live_bytes[small_op(small, "relu")], SOURCES + 128 + 512);
    assert_int_equal(use.live_bytes[small_op(small, "view1")], live[2].live_bytes - 128 + 512);
    arena_free(arena);
}

/* From rows by dp and tp to columns: two steps or more, and what lies between them counts. */
static void copies_between_steps(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    Plan *plan = &small->plan;
    int32_t h = small_tensor(small, "h");
    Shape shape = {.n_dims = 2, .dim = {8, 32}};
    int32_t to = small_sharding(small, "8,32/dp.tp", &shape);
    plan->need[small->graph->ops[small_op(small, "relu")].input] = to;
    const ReshardPath *path = reshard(plan->resharder, DT_F32, plan->made[h], to);
    int64_t most = plan_local_bytes(plan, h, to) + 128; /* with r, while relu runs */
    for (int i = 0; i < path->n_steps; i++) {
        const Step *step = &path->step[i];
        int64_t both = plan_local_bytes(plan, h, step->from) + plan_local_bytes(plan, h, step->to);
        most = both > most ? both : most;
    }
    assert_true(path->n_steps > 1);
    assert_int_equal(memory_use(arena, plan).live_bytes[small_op(small, "relu")], SOURCES + most);
    arena_free(arena);
}

/* An output lives to the end; a value nobody reads while its maker runs. */
static void outputs_and_orphans(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    GraphTensor *tensors = arena_array(arena, GraphTensor, small->graph->n_tensors + 1);
    memcpy(tensors, small->graph->tensors, (size_t)(small->graph->n_tensors + 1) * sizeof *tensors);
    Graph graph = *small->graph;
    int32_t outputs[] = {small_tensor(small, "z"), small_tensor(small, "h")};
    graph.tensors = tensors;
    graph.outputs = outputs;
    graph.n_outputs = 2;
    small->inferred.graph = &graph;
    tensors[outputs[1]].output = true;
    MemoryUse use = memory_use(arena, &small->plan);
    assert_int_equal(use.live_bytes[small_op(small, "add")], live[4].live_bytes + 128);

    int32_t add = small_op(small, "add");
    int32_t *operands = arena_array(arena, int32_t, graph.ops[add].output + 1);
    memcpy(operands, graph.operands, sizeof(int32_t) * (size_t)(graph.ops[add].output + 1));
    operands[graph.ops[add].input + 1] = -1; /* add does not read v */
    graph.operands = operands;
    use = memory_use(arena, &small->plan);
    assert_int_equal(use.live_bytes[small_op(small, "view1")], live[2].live_bytes + 128);
    assert_int_equal(use.live_bytes[small_op(small, "matmul2")], live[3].live_bytes + 128 - 256);
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(empty_program),       cmocka_unit_test(stored_parameter),
    cmocka_unit_test(pinned_value),        cmocka_unit_test(copies_between_steps),
    cmocka_unit_test(outputs_and_orphans),
};

int main(void)
{
    return run_rows("live bytes", live, counts_live_bytes) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
