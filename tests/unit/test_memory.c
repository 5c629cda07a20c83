/* Live bytes by worked numbers: small_plan.h has the bytes of each tensor on rank 0. */
#include "tests/unit/small_plan.h"

enum { PARAMETERS = 512 + 512 };

/* ---- live bytes while an op runs ---- */

typedef struct {
    const char *name;
    int live_bytes;
    const char *items; /* largest first; "'": a copy */
} Live;

static Live live[] = {
    {"matmul1", PARAMETERS + 256 + 128, "w1 w2 x h"},
    {"relu", PARAMETERS + 256 + 128 + 128, "w1 w2 x h r"},
    {"view1", PARAMETERS + 256 + 128 + 256, "w1 w2 x v r"},
    {"matmul2", PARAMETERS + 256 + 128 + 256, "w1 w2 y v r"},
    {"add", PARAMETERS + 256 * 4 + 4, "w1 w2 y y' v z c"},
};

static const char *print(Arena *arena, const SmallPlan *small, const LiveItem *items, int n)
{
    Buf out = buf_new(arena);
    for (int i = 0; i < n; i++)
        buf_printf(&out, "%s%s%s", i > 0 ? " " : "", tensor_name(small->graph, items[i].tensor),
                   items[i].copy ? "'" : "");
    return out.s;
}

/* Items of equal size come in the order of tensor ids, which is that of first mention. */
static void counts_live_bytes(void **state)
{
    const Live *row = *state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    MemoryUse use = memory_use(arena, &small->plan);
    int32_t op = small_op(small, row->name);
    assert_int_equal(use.live_bytes[op], row->live_bytes); /* op ids are places here */

    LiveItem *items;
    int n = memory_live_at(arena, &small->plan, op, &items);
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        sum += items[i].bytes;
        assert_true(i == 0 || items[i - 1].bytes >= items[i].bytes);
        assert_int_equal(items[i].parameter, tensor_name(small->graph, items[i].tensor)[0] == 'w');
    }
    assert_int_equal(sum, row->live_bytes);
    assert_string_equal(print(arena, small, items, n), row->items);
    arena_free(arena);
}

static void finds_the_peak(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    MemoryUse use = memory_use(arena, &small->plan);
    assert_int_equal(use.peak_bytes, PARAMETERS + 256 * 4 + 4);
    assert_int_equal(use.peak_op, small_op(small, "add"));
    assert_int_equal(use.parameter_bytes, PARAMETERS);
    arena_free(arena);
}

/* ---- variations ---- */

static void empty_program(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    small->inferred.n_program = 0;
    small->plan.n_reshards = 0;
    MemoryUse use = memory_use(arena, &small->plan);
    assert_int_equal(use.peak_op, -1);
    assert_int_equal(use.peak_bytes, PARAMETERS);
    LiveItem *items;
    assert_int_equal(memory_live_at(arena, &small->plan, 0, &items), 0);
    arena_free(arena);
}

/* fsdp: w1 lies in eight parts (256 bytes a rank) and is gathered while matmul1 runs. */
static void stored_parameter(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    Plan *plan = &small->plan;
    int32_t w1 = small_tensor(small, "w1"), matmul1 = small_op(small, "matmul1");
    Shape shape = {.n_dims = 2, .dim = {16, 32}};
    int32_t used = plan->sharding[w1], stored = small_sharding(small, "16/dp,32/tp", &shape);
    plan->sharding[w1] = plan->made[w1] = stored;
    plan->reshard_uses = arena_array(arena, int32_t, 2);
    plan->reshard_uses[0] = small_op(small, "add");
    plan->reshard_uses[1] = matmul1;
    plan->reshards[plan->n_reshards++] = (Reshard){w1, stored, used, 1, 1, plan->reshards[0].path};

    MemoryUse use = memory_use(arena, plan);
    assert_int_equal(use.parameter_bytes, 256 + 512);
    assert_int_equal(use.live_bytes[matmul1], 256 + 512 + 512 + 256 + 128);
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
    plan->reshards[plan->n_reshards++] =
        (Reshard){r, plan->made[r], plan->sharding[r], 0, 0, plan->reshards[0].path};

    MemoryUse use = memory_use(arena, plan);
    assert_int_equal(use.live_bytes[small_op(small, "relu")], live[1].live_bytes + 512);
    assert_int_equal(use.live_bytes[small_op(small, "view1")], live[2].live_bytes - 128 + 512);
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
    graph.tensors = tensors;
    small->inferred.graph = &graph;
    tensors[small_tensor(small, "h")].output = true;
    MemoryUse use = memory_use(arena, &small->plan);
    assert_int_equal(use.live_bytes[small_op(small, "add")], live[4].live_bytes + 128);

    int32_t first = tensors[small_tensor(small, "v")].use;
    int32_t *uses = arena_array(arena, int32_t, SMALL_OPS * 4);
    memcpy(uses, graph.uses, sizeof(int32_t) * (size_t)tensors[graph.n_tensors].use);
    uses[first] = small_op(small, "view1"); /* as if add did not read it */
    graph.uses = uses;
    use = memory_use(arena, &small->plan);
    assert_int_equal(use.live_bytes[small_op(small, "view1")], live[2].live_bytes + 128);
    assert_int_equal(use.live_bytes[small_op(small, "matmul2")], live[3].live_bytes + 128 - 256);
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(finds_the_peak),      cmocka_unit_test(empty_program),
    cmocka_unit_test(stored_parameter),    cmocka_unit_test(pinned_value),
    cmocka_unit_test(outputs_and_orphans),
};

int main(void)
{
    return run_rows("live bytes", live, counts_live_bytes) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
