#include "tests/unit/unit.h"
#include "tests/unit/onnx_made.h"

#include <time.h>

#include "core/model/onnx.h"

#include <inttypes.h>

static void put_operands(const Graph *graph, const int32_t *tensors, int n, Buf *out)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "",
                   tensors[i] < 0 ? "-" : tensor_name(graph, tensors[i]));
}

/* One op a line: Operator name(inputs)->outputs at path attr=.. opset=.. */
static const char *ops_text(const Graph *graph)
{
    Buf out = buf_new(graph->arena);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        const GraphOp *row = &graph->ops[op];
        AttrList attrs = graph->attr_lists[row->attrs];
        buf_printf(&out, "%s %s(", op_operator(graph, op), op_name(graph, op));
        put_operands(graph, op_inputs(graph, op), row->n_inputs, &out);
        buf_puts(&out, ")->");
        put_operands(graph, op_outputs(graph, op), row->n_outputs, &out);
        if (*op_path(graph, op))
            buf_printf(&out, " at %s", op_path(graph, op));
        for (int i = 0; i < attrs.n; i++)
            if (attrs.at[i].type == ATTR_INT)
                buf_printf(&out, " %s=%" PRId64, names_text(graph->names, attrs.at[i].name),
                           attrs.at[i].i);
        if (op_opset(graph, op) != graph->opset)
            buf_printf(&out, " opset=%" PRId64, op_opset(graph, op));
        buf_putc(&out, '\n');
    }
    return out.s;
}

static void expect(Arena *arena, Str model, OnnxKeep keep, const char *want)
{
    Error err = {0};
    Graph *graph = onnx_read_keeping(arena, "made.onnx", model, keep, &err);
    assert_string_equal(graph ? ops_text(graph) : err.text, want);
}

static Buf make_scale(Arena *arena)
{
    Buf scale = function_begin(arena, "Scale x s -> y", 17);
    Buf node = node_begin(arena, "Mul -: x s -> m");
    function_node(&scale, &node);
    node = node_begin(arena, "Softmax soft: m -> y");
    node_reference(&node, "axis", "dim");
    function_node(&scale, &node);
    return scale;
}

/* A function of a function; the inner one has a default for an attribute that is not given. */
static Str nested(Arena *arena)
{
    Buf functions[2] = {make_scale(arena), function_begin(arena, "Block x w -> y", 18)};
    Buf value = buf_new(arena);
    proto_text(&value, 1, "dim");
    proto_int(&value, 3, -1);
    proto_int(&value, 20, 2);
    proto_message(&functions[0], 11, &value);
    Buf node = node_begin(arena, "MatMul mm: x w -> a");
    function_node(&functions[1], &node);
    node = node_begin(arena, "local::Scale sc: a a -> y");
    function_node(&functions[1], &node);

    Body body = body_new(arena);
    body_input(&body, "x", DT_F32, "8,8");
    body_weight(&body, "w", "8,8");
    body_node(&body, "local::Block /h.0/Block: x w -> a");
    node = node_begin(arena, "local::Scale -: a a -> y");
    node_int(&node, "dim", 0);
    body_add(&body, &node);
    body_output(&body, "y");
    return model_bytes(&body, 18, functions, 2);
}

static void functions_are_inlined_where_they_are_called(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    expect(arena, nested(arena), (OnnxKeep){0},
           "MatMul /h.0/Block/mm(x,w)->/h.0/Block/a at h.0.Block\n"
           "Mul /h.0/Block/sc/Mul_1(/h.0/Block/a,/h.0/Block/a)->/h.0/Block/sc/m at h.0.Block.sc "
           "opset=17\n"
           "Softmax /h.0/Block/sc/soft(/h.0/Block/sc/m)->a at h.0.Block.sc axis=-1 opset=17\n"
           "Mul Scale_3/Mul_3(a,a)->Scale_3/m at Scale_3 opset=17\n"
           "Softmax Scale_3/soft(Scale_3/m)->y at Scale_3 axis=0 opset=17\n");
    arena_free(arena);
}

static bool is_scale(const void *context, Str op_type)
{
    (void)context;
    return str_eq(op_type, STR("local::Scale"));
}

static void a_function_with_a_rule_stays_one_op(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    expect(arena, nested(arena), (OnnxKeep){.has = is_scale},
           "MatMul /h.0/Block/mm(x,w)->/h.0/Block/a at h.0.Block\n"
           "local::Scale /h.0/Block/sc(/h.0/Block/a,/h.0/Block/a)->a at h.0.Block\n"
           "local::Scale local::Scale_2(a,a)->y dim=0\n");
    arena_free(arena);
}

/* An output that is an input, one that is listed twice, one nobody wants, an input not given. */
static void odd_operands_are_handed_through(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf function = function_begin(arena, "Odd x s -> x y y z", 18);
    Buf node = node_begin(arena, "Clip -: x s -> y");
    function_node(&function, &node);
    node = node_begin(arena, "Relu -: y -> z");
    function_node(&function, &node);
    Body body = body_new(arena);
    body_input(&body, "x", DT_F32, "8");
    body_node(&body, "local::Odd odd: x -> a b c _");
    body_output(&body, "a");
    expect(arena, model_bytes(&body, 18, &function, 1), (OnnxKeep){0},
           "Clip odd/Clip_0(x,-)->b at odd\n"
           "Relu odd/Relu_1(b)->odd/z at odd\n"
           "Identity odd/out(x)->a\n"
           "Identity odd/out_(b)->c\n");
    arena_free(arena);
}

/* A name of the file that an inlined one would have too keeps it. */
static void names_of_the_file_come_first(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf function = make_scale(arena);
    Body body = body_new(arena);
    body_input(&body, "x", DT_F32, "8");
    body_node(&body, "local::Scale f: x x -> a");
    body_node(&body, "Relu -: a -> f/m");
    body_output(&body, "f/m");
    expect(arena, model_bytes(&body, 17, &function, 1), (OnnxKeep){0},
           "Mul f/Mul_0(x,x)->f/m_2 at f\n"
           "Softmax f/soft(f/m_2)->a at f\n"
           "Relu Relu_2(a)->f/m\n");
    arena_free(arena);
}

static void a_function_that_calls_itself_is_refused(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf function = function_begin(arena, "Again x -> y", 18);
    Buf node = node_begin(arena, "local::Again -: x -> y");
    function_node(&function, &node);
    Body body = body_new(arena);
    body_input(&body, "x", DT_F32, "8");
    body_node(&body, "local::Again again: x -> y");
    body_output(&body, "y");
    expect(arena, model_bytes(&body, 18, &function, 1), (OnnxKeep){0},
           "byte 92, in a NodeProto: local function 'Again' calls itself");
    arena_free(arena);
}

/* 2^40 ops from 41 functions. */
static void a_small_file_cannot_stand_for_everything(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    enum { N = 40 };
    Buf functions[N];
    for (int i = 0; i < N; i++) {
        functions[i] = function_begin(arena, arena_printf(arena, "F%d x -> y", i), 18);
        Buf node = node_begin(arena, arena_printf(arena, "local::F%d -: x -> m", i + 1));
        function_node(&functions[i], &node);
        node = node_begin(arena, arena_printf(arena, "local::F%d -: m -> y", i + 1));
        function_node(&functions[i], &node);
    }
    Body body = body_new(arena);
    body_input(&body, "x", DT_F32, "8");
    body_node(&body, "local::F0 f: x -> y");
    body_output(&body, "y");
    Error err = {0};
    clock_t began = clock();
    assert_null(onnx_read(arena, "made.onnx", model_bytes(&body, 18, functions, N), &err));
    assert_true(clock() - began < CLOCKS_PER_SEC / 2); /* counted, not inlined */
    assert_true(str_find(str_from(err.text), STR("too large with its local functions")) >= 0);
    arena_free(arena);
}

static void bodies_are_ops_of_the_one_graph(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body then = body_new(arena), other = body_new(arena), body = body_new(arena);
    body_node(&then, "Relu r: x -> t");
    body_output(&then, "t");
    body_weight(&other, "w", "8");
    body_node(&other, "Mul m: x w -> t"); /* the same name: another tensor */
    body_output(&other, "t");
    Buf node = node_begin(arena, "If /b/If: c -> y");
    node_graph(&node, "then_branch", &then);
    node_graph(&node, "else_branch", &other);
    body_input(&body, "x", DT_F32, "8");
    body_input(&body, "c", DT_BOOL, "");
    body_add(&body, &node);
    body_output(&body, "y");
    expect(arena, model_bytes(&body, 18, NULL, 0), (OnnxKeep){0},
           "Relu /b/If/then/r(x)->/b/If/then/t at b.If.then\n"
           "Mul /b/If/else/m(x,/b/If/else/w)->/b/If/else/t at b.If.else\n"
           "If /b/If(c,/b/If/then/t,/b/If/else/t)->y at b\n");
    arena_free(arena);
}

static void a_loop_carries_yields_and_sees_what_is_around(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body loop = body_new(arena), body = body_new(arena);
    body_input(&loop, "i", DT_I64, "");
    body_input(&loop, "c", DT_BOOL, "");
    body_input(&loop, "v", DT_F32, NULL);
    body_node(&loop, "Identity keep: c -> c2");
    body_node(&loop, "MatMul mm: v w -> v2");
    body_output(&loop, "c2");
    body_output(&loop, "v2");
    body_output(&loop, "v2");
    Buf node = node_begin(arena, "Loop /d/Loop: n _ x -> y all");
    node_graph(&node, "body", &loop);
    body_add(&body, &node);
    body_weight(&body, "w", "8,8");
    body_ints(&body, "n", "5", true);
    body_input(&body, "x", DT_F32, "4,8");
    body_output(&body, "y");
    body_output(&body, "all");
    expect(arena, model_bytes(&body, 18, NULL, 0), (OnnxKeep){0},
           "LoopIndex /d/Loop/LoopIndex_0(n)->/d/Loop/0 at d.Loop\n"
           "LoopCarry /d/Loop/LoopCarry_1(/d/Loop/always)->/d/Loop/1 at d.Loop\n"
           "LoopCarry /d/Loop/LoopCarry_2(x)->/d/Loop/2 at d.Loop\n"
           "Identity /d/Loop/keep(/d/Loop/1)->/d/Loop/c2 at d.Loop\n"
           "MatMul /d/Loop/mm(/d/Loop/2,w)->/d/Loop/v2 at d.Loop\n"
           "LoopResult /d/Loop(x,/d/Loop/v2)->y at d\n"
           "LoopStack /d/Loop_1(/d/Loop/v2,n,/d/Loop/c2,-,/d/Loop/always)->all at d\n");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_inlined_where_they_are_called),
        cmocka_unit_test(a_function_with_a_rule_stays_one_op),
        cmocka_unit_test(odd_operands_are_handed_through),
        cmocka_unit_test(names_of_the_file_come_first),
        cmocka_unit_test(a_function_that_calls_itself_is_refused),
        cmocka_unit_test(a_small_file_cannot_stand_for_everything),
        cmocka_unit_test(bodies_are_ops_of_the_one_graph),
        cmocka_unit_test(a_loop_carries_yields_and_sees_what_is_around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
