/* small_plan.h - a plan made by hand, so that cost and memory are tested by numbers alone.
 *
 * The mesh is dp=2, tp=4; rank 0 holds, in bytes:
 *
 *     x 8/dp,16             256   given           -> matmul1, view1
 *     w1 16,32/tp           512   parameter
 *     w2 32/tp,16           512   parameter
 *     h 8/dp,32/tp          128   matmul1: x, w1  -> relu
 *     r 8/dp,32/tp          128   relu: h         -> matmul2
 *     y 8/dp,16 Σtp         256   matmul2: r, w2  -> add, as a copy y' of 8/dp,16: 256
 *     v 8/dp,16             256   view1: x        -> add
 *     c scalar                4   constant        -> add
 *     z 8/dp,16             256   add: y', v, c   -> out
 */
#ifndef TESTS_UNIT_SMALL_PLAN_H
#define TESTS_UNIT_SMALL_PLAN_H

#include "core/cost/cost.h"
#include "core/cost/memory.h"
#include "tests/unit/unit.h"

enum { SMALL_OPS = 5, SMALL_TENSORS = 9, SMALL_RESHARDS = 4 };

static const struct {
    const char *name;
    int64_t n_dims, dim[2];
    const char *sharding;
    TensorKind kind;
} small_tensors[SMALL_TENSORS] = {
    {"x", 2, {8, 16}, "8/dp,16", TENSOR_INPUT},
    {"w1", 2, {16, 32}, "16,32/tp", TENSOR_INITIALIZER},
    {"w2", 2, {32, 16}, "32/tp,16", TENSOR_INITIALIZER},
    {"c", 0, {0, 0}, "scalar", TENSOR_INITIALIZER},
    {"h", 2, {8, 32}, "8/dp,32/tp", TENSOR_MADE},
    {"r", 2, {8, 32}, "8/dp,32/tp", TENSOR_MADE},
    {"y", 2, {8, 16}, "8/dp,16 +tp", TENSOR_MADE},
    {"v", 2, {8, 16}, "8/dp,16", TENSOR_MADE},
    {"z", 2, {8, 16}, "8/dp,16", TENSOR_MADE},
};

static const struct {
    const char *name, *inputs[3], *output;
    double flops; /* of the whole op */
    int64_t index[3];
    const char *cuts[3]; /* of the index dims */
} small_ops[SMALL_OPS] = {
    {"matmul1", {"x", "w1"}, "h", 8192, {8, 32, 16}, {"8/dp", "32/tp", "16"}},
    {"relu", {"h"}, "r", 256, {8, 32}, {"8/dp", "32/tp"}},
    {"view1", {"x"}, "v", 0, {8, 16}, {"8/dp", "16"}},
    {"matmul2", {"r", "w2"}, "y", 8192, {8, 16, 32}, {"8/dp", "16", "32/tp"}},
    {"add", {"y", "v", "c"}, "z", 128, {8, 16}, {"8/dp", "16"}},
};

typedef struct {
    Arena *arena;
    const Graph *graph;
    Machine machine;
    Mesh *mesh;
    Inferred inferred;
    Plan plan;
    Decided decided;
    Propagated propagated;
    Moved moved;
    Priced priced;
} SmallPlan;

static inline int32_t small_tensor(const SmallPlan *small, const char *name)
{
    int32_t tensor = graph_find_tensor(small->graph, str_from(name));
    assert_true(tensor >= 0);
    return tensor;
}

static inline int32_t small_op(const SmallPlan *small, const char *name)
{
    int32_t op = graph_find_op(small->graph, str_from(name));
    assert_true(op >= 0);
    return op;
}

/* Sharding id of a text. */
static inline int32_t small_sharding(SmallPlan *small, const char *text, const Shape *shape)
{
    Source source = {.name = "sharding", .text = str_from(text)};
    Sharding sharding;
    assert_true(sharding_parse(&source, shape, small->mesh, VIEW_OURS, &sharding, NULL));
    return shardings_put(small->plan.shardings, &sharding);
}

static inline Shape small_shape(int i)
{
    Shape shape = {.n_dims = small_tensors[i].n_dims};
    for (int d = 0; d < shape.n_dims; d++)
        shape.dim[d] = small_tensors[i].dim[d];
    return shape;
}

static inline void small_add_op(GraphBuilder *builder, int i, int32_t attrs)
{
    int32_t inputs[3], output = graph_tensor(builder, str_from(small_ops[i].output));
    int n = 0;
    while (n < 3 && small_ops[i].inputs[n]) {
        inputs[n] = graph_tensor(builder, str_from(small_ops[i].inputs[n]));
        n++;
    }
    graph_add_op(builder, STR("Any"), str_from(small_ops[i].name), STR(""), inputs, n, &output, 1,
                 attrs);
}

static inline const Graph *small_graph(Arena *arena)
{
    GraphBuilder *builder = graph_builder_new(arena, "small");
    for (int i = 0; i < SMALL_TENSORS; i++) {
        Shape shape = small_shape(i);
        int32_t tensor = graph_tensor(builder, str_from(small_tensors[i].name));
        if (small_tensors[i].kind == TENSOR_INPUT)
            graph_add_input(builder, tensor, DT_F32,
                            (DeclaredDim[]){{shape.dim[0], 0}, {shape.dim[1], 0}}, 2);
        if (small_tensors[i].kind == TENSOR_INITIALIZER)
            graph_add_initializer(builder, tensor, DT_F32, &shape, (TensorData){0});
    }
    int32_t attrs = graph_add_attrs(builder, NULL, 0);
    for (int i = 0; i < SMALL_OPS; i++)
        small_add_op(builder, i, attrs);
    graph_add_output(builder, graph_tensor(builder, STR("z")));
    const Graph *graph = graph_seal(builder, NULL);
    assert_non_null(graph);
    return graph;
}

static inline const OpSpace *small_space(Arena *arena, int i)
{
    int n = 0;
    while (n < 3 && small_ops[i].inputs[n])
        n++;
    OpSpace *space = opspace_new(arena, n, 1); /* of its operands nothing is said */
    space->flops = small_ops[i].flops;
    space->kernel = strncmp(small_ops[i].name, "view", 4) == 0 ? "view" : NULL;
    for (int j = 0; j < 3 && small_ops[i].index[j] > 0; j++)
        opspace_add_index(space, "i", small_ops[i].index[j], ROLE_MAP, REDUCE_NONE);
    return space;
}

static inline void small_infer(SmallPlan *small)
{
    Arena *arena = small->arena;
    int n_tensors = small->graph->n_tensors;
    Inferred *inferred = &small->inferred;
    *inferred = (Inferred){.graph = small->graph, .arena = arena, .shapes = small->graph->shapes};
    inferred->shape = arena_array(arena, int32_t, n_tensors);
    inferred->dtype = arena_array(arena, uint8_t, n_tensors);
    inferred->values = arena_array(arena, const Value **, n_tensors / VALUE_PAGE + 1);
    inferred->spaces = arena_array(arena, const OpSpace *, SMALL_OPS);
    inferred->space = arena_array(arena, int32_t, SMALL_OPS);
    inferred->program = arena_array(arena, int32_t, SMALL_OPS);
    for (int i = 0; i < SMALL_TENSORS; i++) {
        Shape shape = small_shape(i);
        int32_t tensor = small_tensor(small, small_tensors[i].name);
        inferred->shape[tensor] = shapes_put(inferred->shapes, &shape);
        inferred->dtype[tensor] = DT_F32;
    }
    inferred_set_value(inferred, small_tensor(small, "c"), arena_make(arena, Value));
    for (int i = 0; i < SMALL_OPS; i++) {
        int32_t op = small_op(small, small_ops[i].name);
        inferred->spaces[i] = small_space(arena, i);
        inferred->space[op] = i;
        inferred->program[inferred->n_program++] = op;
    }
    inferred->n_spaces = SMALL_OPS;
}

static inline void small_cut(SmallPlan *small, int i)
{
    OpCut *cut = arena_make(small->arena, OpCut);
    for (int j = 0; j < 3 && small_ops[i].index[j] > 0; j++) {
        Shape shape = {.n_dims = 1, .dim = {small_ops[i].index[j]}};
        int32_t id = small_sharding(small, small_ops[i].cuts[j], &shape);
        cut->index[cut->n++] = shardings_at(small->plan.shardings, id)->dim[0];
    }
    small->propagated.cuts[i] = cut;
    small->propagated.cut[small_op(small, small_ops[i].name)] = i;
}

/* Everything of the plan that cost and memory read; y is resharded for add in 3.5 us. */
static inline void small_fill(SmallPlan *small)
{
    Arena *arena = small->arena;
    const Graph *graph = small->graph;
    Plan *plan = &small->plan;
    *plan = (Plan){.arena = arena, .inferred = &small->inferred, .mesh = small->mesh};
    plan->machine = &small->machine;
    plan->decided = &small->decided;
    plan->propagated = &small->propagated;
    plan->moved = &small->moved;
    plan->priced = &small->priced;
    plan->shardings = shardings_new(arena);
    plan->resharder = resharder_new(arena, small->mesh, plan->machine, plan->shardings);
    small->moved.sharding = arena_array(arena, int32_t, graph->n_tensors);
    small->moved.made = arena_array(arena, int32_t, graph->n_tensors);
    small->propagated.cut = arena_array(arena, int32_t, SMALL_OPS);
    small->propagated.cuts = arena_array(arena, const OpCut *, SMALL_OPS);
    small->priced.op_us = arena_array(arena, double, SMALL_OPS);
    for (int i = 0; i < SMALL_TENSORS; i++) {
        Shape shape = small_shape(i);
        int32_t tensor = small_tensor(small, small_tensors[i].name);
        small->moved.sharding[tensor] = small_sharding(small, small_tensors[i].sharding, &shape);
        small->moved.made[tensor] = small->moved.sharding[tensor];
    }
    small->moved.need = arena_array(arena, int32_t, SMALL_OPS * 4);
    for (int i = 0; i < SMALL_OPS; i++) {
        small_cut(small, i);
        const GraphOp *op = &graph->ops[i];
        for (int32_t k = op->input; k < op->input + op->n_inputs; k++)
            small->moved.need[k] = small->moved.sharding[graph->operands[k]];
    }
    int32_t add = small_op(small, "add"), y = small_tensor(small, "y");
    int32_t reduced = small->moved.sharding[small_tensor(small, "z")];
    small->moved.need[graph->ops[add].input] = reduced;
    small->moved.reshard_uses = arena_array(arena, int32_t, 1);
    small->moved.reshard_uses[0] = add;
    ReshardPath *path = arena_make(arena, ReshardPath);
    Step *step = arena_make(arena, Step);
    *step = (Step){.kind = STEP_ALL_REDUCE, .from = small->moved.sharding[y], .to = reduced};
    *path = (ReshardPath){.n_steps = 1, .step = step, .wire_bytes = 384, .us = 3.5};
    small->moved.reshards = arena_array(arena, Reshard, SMALL_RESHARDS);
    Reshard *reshard = &small->moved.reshards[small->moved.n_reshards++];
    *reshard =
        (Reshard){.tensor = y, .from = small->moved.sharding[y], .to = reduced, .path = path};
    reshard->n_uses = 1;
    static const SubMesh whole[] = {{0}};
    small->decided.submeshes = whole;
    small->decided.n_submeshes = 1;
}

/* One more, by the resharder. */
static inline void small_reshard(SmallPlan *small, int32_t tensor, int32_t from, int32_t to)
{
    assert_true(small->moved.n_reshards < SMALL_RESHARDS);
    Reshard *new = &small->moved.reshards[small->moved.n_reshards++];
    *new = (Reshard){.tensor = tensor, .from = from, .to = to};
    new->path = reshard(small->plan.resharder, DT_F32, from, to);
}

static inline SmallPlan *small_plan(Arena *arena)
{
    SmallPlan *small = arena_make(arena, SmallPlan);
    Source source = {.name = "--mesh", .text = STR("dp=2,tp=4")};
    small->arena = arena;
    small->mesh = mesh_parse(arena, &source, NULL);
    small->graph = small_graph(arena);
    small->machine = (Machine){.name = "small",
                               .source = "made up",
                               .devices_per_node = 4,
                               .memory_bytes = 1 << 20,
                               .memory_bytes_per_s = 1e9,
                               .flops_per_s = {[DT_F32] = 1e9, [DT_BF16] = 2e9},
                               .launch_us = 5,
                               .inside = {.name = "wire", .latency_us = 2, .bytes_per_s = 400e9},
                               .between = {.name = "net", .latency_us = 5, .bytes_per_s = 50e9}};
    small_infer(small);
    small_fill(small);
    return small;
}

#endif
