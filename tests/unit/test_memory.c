/* Live bytes by worked numbers: small_plan.h has the bytes of each tensor on rank 0. */
#include "tests/unit/planning.h"
#include "tests/unit/graph_text.h"
#include "tests/unit/small_plan.h"

#include <string.h>

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
    assert_int_equal(use.peak_place, small_op(small, "add"));
    arena_free(arena);
}

/* ---- what is alive; op ids are places here ---- */

/* "z 256 activation 4..5; ..", the largest first; a place -1 is before the first op. */
static const char *live_text(Arena *arena, const SmallPlan *small, const LiveSet *set)
{
    Buf text = buf_new(arena);
    for (int i = 0; i < set->n; i++) {
        const LiveValue *value = &set->at[i];
        buf_printf(&text, "%s%s %d %s %d..%d", i ? "; " : "",
                   tensor_name(small->graph, value->tensor), (int)value->bytes,
                   memory_class_name(value->class), value->from, value->to);
    }
    return text.s;
}

static void check_sums(const LiveSet *set, int64_t live_bytes)
{
    int64_t by_value = 0, by_class = 0;
    for (int i = 0; i < set->n; i++)
        by_value += set->at[i].bytes;
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
        by_class += set->by_class[c];
    assert_int_equal(set->bytes, live_bytes);
    assert_int_equal(by_value, live_bytes);
    assert_int_equal(by_class, live_bytes);
}

typedef struct {
    const char *name, *live;
} LiveRow;

static LiveRow live_rows[] = {
    {"matmul1", "w1 512 parameter -1..5; w2 512 parameter -1..5; x 256 input -1..5; "
                "h 128 activation 0..1"},
    {"matmul2", "w1 512 parameter -1..5; w2 512 parameter -1..5; x 256 input -1..5; "
                "y 256 activation 3..4; v 256 activation 2..4; r 128 activation 1..3"},
    {"add", "w1 512 parameter -1..5; w2 512 parameter -1..5; x 256 input -1..5; "
            "y 256 activation 4..4; v 256 activation 2..4; z 256 activation 4..5; "
            "c 4 constant 4..4"},
};

static void lists_what_is_alive(void **state)
{
    const LiveRow *row = *state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    int place = small_op(small, row->name);
    LiveSet set = memory_live_at(arena, &small->plan, 0, place);
    assert_string_equal(live_text(arena, small, &set), row->live);
    check_sums(&set, memory_use(arena, &small->plan).live_bytes[place]);
    assert_int_equal(set.padding_bytes, 0);
    arena_free(arena);
}

/* ---- variations; op ids are places here ---- */

static void empty_program(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    small->inferred.n_program = 0;
    MemoryUse use = memory_use(arena, &small->plan);
    assert_int_equal(use.peak_bytes, SOURCES);
    assert_int_equal(use.peak_place, -1);
    LiveSet set = memory_live_at(arena, &small->plan, 0, -1);
    check_sums(&set, SOURCES);
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
    int32_t need = plan->moved->sharding[w1];
    plan->moved->sharding[w1] = plan->moved->made[w1] =
        small_sharding(small, "16/dp,32/tp", &shape);
    small_reshard(small, w1, plan->moved->sharding[w1], need);

    MemoryUse use = memory_use(arena, plan);
    assert_int_equal(use.live_bytes[small_op(small, "matmul1")], live[0].live_bytes + 256);
    assert_int_equal(use.live_bytes[small_op(small, "relu")], live[1].live_bytes - 256);
    LiveSet set = memory_live_at(arena, plan, 0, small_op(small, "matmul1"));
    assert_int_equal(set.by_class[MEMORY_PARAMETER], 256 + 512 + 512); /* it is gathered by then */
    assert_int_equal(set.by_class[MEMORY_BUFFER], 0);
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
    plan->moved->sharding[r] = small_sharding(small, "8/dp,32", &shape);
    plan->moved->need[small->graph->ops[small_op(small, "matmul2")].input] =
        plan->moved->sharding[r];
    small_reshard(small, r, plan->moved->made[r], plan->moved->sharding[r]);

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
    plan->moved->need[small->graph->ops[small_op(small, "relu")].input] = to;
    small_reshard(small, h, plan->moved->made[h], to);
    const ReshardPath *path = plan->moved->reshards[plan->moved->n_reshards - 1].path;
    int64_t most = 0, buffers = 0;
    for (int i = 0; i < path->n_steps; i++) {
        const Step *step = &path->step[i];
        int64_t filled = plan_local_bytes(plan, h, step->to);
        int64_t both = plan_local_bytes(plan, h, step->from) + filled;
        if (both > most) {
            most = both;
            buffers = i > 0 ? both : filled;
        }
    }
    int64_t while_relu_runs = plan_local_bytes(plan, h, to) + 128; /* with r */
    if (while_relu_runs > most) {
        most = while_relu_runs;
        buffers = 0;
    }
    assert_true(path->n_steps > 1);
    int relu = small_op(small, "relu");
    assert_int_equal(memory_use(arena, plan).live_bytes[relu], SOURCES + most);
    LiveSet set = memory_live_at(arena, plan, 0, relu);
    check_sums(&set, SOURCES + most);
    assert_int_equal(set.by_class[MEMORY_BUFFER], buffers);
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
    int32_t *operands = arena_array(arena, int32_t, op_output_place(&graph.ops[add]) + 1);
    memcpy(operands, graph.operands,
           sizeof(int32_t) * (size_t)(op_output_place(&graph.ops[add]) + 1));
    operands[graph.ops[add].input + 1] = -1; /* add does not read v */
    graph.operands = operands;
    use = memory_use(arena, &small->plan);
    assert_int_equal(use.live_bytes[small_op(small, "view1")], live[2].live_bytes + 128);
    assert_int_equal(use.live_bytes[small_op(small, "matmul2")], live[3].live_bytes + 128 - 256);
    arena_free(arena);
}

/* Of a real model, parameters gathered and values moved: at each op the parts make the whole. */
static void values_add_up_everywhere(void **state)
{
    (void)state;
    Planning *p = planning_open("llama-tiny", "batch=2,seq=16", "dp=2,tp=2");
    planning_pin(p, "model.layers.0.mlp.down_proj.weight", 0, "dp", 1, true);
    planning_pin(p, "model.layers.0.mlp.gate_proj.weight", 1, "tp", 1, false);
    planning_pin(p, tensor_name(p->graph, p->graph->inputs[0]), 0, "dp", 1, false);
    planning_make(p);
    MemoryUse use = memory_use(p->arena, p->plan);
    assert_int_equal(use.live_bytes[use.peak_place], use.peak_bytes);
    assert_int_equal(p->plan->priced->totals.peak_bytes, use.peak_bytes);
    int n_spans = 0;
    for (int i = 0; i < p->inferred->n_program; i++) {
        LiveSet set = memory_live_at(p->arena, p->plan, 0, i);
        check_sums(&set, use.live_bytes[i]);
        for (int v = 0; v < set.n; v++) {
            assert_true(set.at[v].from <= i && i <= set.at[v].to);
            assert_true(v == 0 || set.at[v].bytes <= set.at[v - 1].bytes);
            n_spans += set.at[v].from < 0 ? 0 : 1;
        }
    }
    assert_true(n_spans > p->inferred->n_program);
    planning_close(p);
}

/* ---- what values are kept for ---- */

typedef struct {
    const char *name, *text, *expect; /* classes of what the last op reads and makes */
} ClassRow;

#define TRAINING "ai.onnx.preview.training::"

static ClassRow class_rows[] = {
    {"no optimizer", "y <- MatMul f32[4,8] f32[8,2]!", "input parameter -> activation"},
    {"a constant", "y <- Reshape f32[4,8] i64[2]{8,4}", "input constant -> activation"},
    {"an optimizer", "g <- Neg f32[4]; x h <- " TRAINING "Adagrad f32[] i64[] f32[4]! g f32[4]",
     "input input parameter gradient optimizer_state -> parameter optimizer_state"},
    {"two moments",
     "g <- Neg f32[4]; x v h <- " TRAINING "Adam f32[] i64[] f32[4]! g f32[4]! f32[4]",
     "input input parameter gradient optimizer_state optimizer_state -> "
     "parameter optimizer_state optimizer_state"},
    {"lists of tensors",
     "a b v w <- " TRAINING "Momentum f32[] i64[] f32[4] f32[2]! f32[4] f32[2] f32[4] f32[2]",
     "input input parameter parameter gradient gradient optimizer_state optimizer_state -> "
     "parameter parameter optimizer_state optimizer_state"},
    {"a step with a master copy", "x m <- SgdStep f32[4]! f32[1] f32[4] f32[4]",
     "parameter input gradient optimizer_state -> parameter optimizer_state"},
    {"derivatives", "l <- ReduceSum f32[4]! keepdims=0; g <- " TRAINING "Gradient f32[4] l",
     "input activation -> gradient"},
};

static void put_classes(const MemoryClass *class, const int32_t *tensor, int n, Buf *out)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%s", out->n ? " " : "", memory_class_name(class[tensor[i]]));
}

static void classes_are(void **state)
{
    const ClassRow *row = *state;
    Planning p = {.arena = arena_new()};
    p.graph = graph_from_text(p.arena, row->text, 13);
    planning_infer(&p, "", "x=2");
    const MemoryClass *class = memory_classes(p.arena, p.inferred);
    const GraphOp *op = &p.graph->ops[p.graph->n_ops - 1];
    Buf text = buf_new(p.arena);
    put_classes(class, op_inputs(p.graph, p.graph->n_ops - 1), op->n_inputs, &text);
    buf_puts(&text, " ->");
    put_classes(class, op_outputs(p.graph, p.graph->n_ops - 1), op->n_outputs, &text);
    assert_string_equal(text.s, row->expect);
    arena_free(p.arena);
}

/* ---- uneven parts; before the run ---- */

/* 5 rows over 2 ranks: 3 and 2, so 16 bytes of the last rank's part would be padding, twice. */
static void padding_of_uneven_parts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, "y <- Neg f32[5,4]", 13);
    planning_infer(p, "", "x=2");
    Decision pin = {.kind = PIN_TENSOR_DIM, .place = p->graph->inputs[0]};
    pin.cut = (Cut[]){planning_cut(p, 5, "x", 1)};
    journal_add(&p->journal, p->arena, &pin);
    planning_make(p);
    LiveSet set = memory_live_at(p->arena, p->plan, 0, 0);
    assert_int_equal(set.bytes, 2 * 3 * 4 * 4);
    assert_int_equal(set.padding_bytes, 2 * 4 * 4);
    planning_close(p);
}

/* Rank by rank, from the sizes of its parts alone: what memory_ranks() says in groups. */
static void ranks_hold_what_their_parts_say(void **state)
{
    (void)state;
    Planning *p = planning_open("llama-tiny", "batch=3,seq=10", "dp=2,tp=4");
    planning_pin(p, tensor_name(p->graph, p->graph->inputs[0]), 0, "dp", 1, false);
    planning_pin(p, "model.layers.0.mlp.gate_proj.weight", 1, "tp", 1, false);
    planning_pin(p, tensor_name(p->graph, p->graph->inputs[0]), 1, "tp", 1, false);
    planning_make(p);
    MemoryAccount *account = memory_account_new(p->plan);
    RankMemories ranks = memory_ranks(p->arena, account, NULL);
    int64_t n_ranks = 0;
    assert_true(ranks.n > 1);
    for (int i = 0; i < ranks.n; i++) {
        n_ranks += ranks.at[i].n_ranks;
        assert_int_equal(ranks.of_rank[ranks.at[i].rank], i);
        assert_true(i == 0 || ranks.at[i].use.peak_bytes <= ranks.at[i - 1].use.peak_bytes);
    }
    assert_int_equal(n_ranks, p->mesh->n_devices);
    assert_int_equal(ranks.at[0].use.peak_bytes, p->plan->priced->totals.peak_bytes);
    for (int64_t rank = 0; rank < p->mesh->n_devices; rank++) {
        const MemoryUse *use = &ranks.at[ranks.of_rank[rank]].use;
        for (int place = 0; place < p->inferred->n_program; place += 7) {
            LiveSet set = memory_live_of(p->arena, account, rank, place);
            int64_t bytes = 0;
            for (int v = 0; v < set.n; v++)
                bytes += dtype_bytes(
                    (Dtype)p->inferred->dtype[set.at[v].tensor],
                    sharding_local_elements(shardings_at(p->plan->shardings, set.at[v].sharding),
                                            p->mesh, rank));
            assert_int_equal(use->live_bytes[place], bytes);
            check_sums(&set, bytes);
        }
    }
    memory_account_free(account);
    planning_close(p);
}

/* Even parts: all ranks are one group, however many there are. */
static void even_ranks_are_one_group(void **state)
{
    (void)state;
    Planning *p = planning_open("llama-tiny", "batch=2,seq=16", "dp=2,tp=2");
    planning_pin(p, tensor_name(p->graph, p->graph->inputs[0]), 0, "dp", 1, false);
    planning_make(p);
    MemoryAccount *account = memory_account_new(p->plan);
    RankMemories ranks = memory_ranks(p->arena, account, NULL);
    int64_t sum = 0;
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
        sum += ranks.at[0].by_class[c];
    assert_int_equal(ranks.n, 1);
    assert_int_equal(ranks.at[0].n_ranks, 4);
    assert_int_equal(sum, p->plan->priced->totals.peak_bytes);
    memory_account_free(account);
    planning_close(p);
}

/* w1 and w2 are 2048 bytes whole and 512 a part; uncut, a parameter is not copied. */
static void parameters_are_made(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SmallPlan *small = small_plan(arena);
    Plan *plan = &small->plan;
    InitMemory init;
    memory_init(plan, 3, &init);
    assert_int_equal(init.parts_bytes, 512 + 512);
    assert_int_equal(init.cut_bytes, 512 + 2048 + 512);
    assert_int_equal(init.whole_bytes, 2048 + 2048);
    assert_int_equal(init.largest, small_tensor(small, "w2"));

    Shape shape = {.n_dims = 2, .dim = {32, 16}};
    plan->moved->sharding[small_tensor(small, "w2")] = small_sharding(small, "32,16", &shape);
    memory_init(plan, 0, &init);
    assert_int_equal(init.parts_bytes, 512 + 2048);
    assert_int_equal(init.cut_bytes, 512 + 2048);
    assert_int_equal(init.largest, small_tensor(small, "w1"));
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(empty_program),
    cmocka_unit_test(stored_parameter),
    cmocka_unit_test(pinned_value),
    cmocka_unit_test(copies_between_steps),
    cmocka_unit_test(outputs_and_orphans),
    cmocka_unit_test(padding_of_uneven_parts),
    cmocka_unit_test(parameters_are_made),
    cmocka_unit_test(values_add_up_everywhere),
    cmocka_unit_test(even_ranks_are_one_group),
    cmocka_unit_test(ranks_hold_what_their_parts_say),
};

int main(void)
{
    return run_rows("live bytes", live, counts_live_bytes) +
           run_rows("what is alive", live_rows, lists_what_is_alive) +
           run_rows("classes", class_rows, classes_are) + cmocka_run_group_tests(tests, NULL, NULL);
}
