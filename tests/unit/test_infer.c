#include "core/rules/registry.h"
#include "tests/unit/unit.h"
#include "tests/unit/graph_text.h"
#include "tests/unit/shape_table.h"

#include "core/model/onnx.h"
#include "core/rules/infer.h"

#include <inttypes.h>

#define SAMPLES "samples/models/"

/* ---- the samples against what onnxruntime measured ---- */

typedef struct {
    const char *name;
    int n_program, n_spaces, n_on_parameters;
    int64_t n_params;
} Sample;

static Sample samples[] = {
    {"gpt2", 486, 46, 2, 163037184},
    {"gpt2-dynamo", 530, 46, 2, 124439816},
    {"llama-tiny", 149, 57, 6, 426637},
    {"tiny-gpt", 96, 46, 2, 136960},
};

static Sample images[] = {
    {"resnet50", 122, 43, 0, 25530472},
    {"vit_b_16", 549, 60, 1, 86567660},
    {"tiny-conv", 26, 26, 0, 3214},
};

typedef struct {
    Arena *arena;
    FileMap map;
    const Graph *graph;
    Inferred *inferred;
} Model;

static Model open_model(const char *name, const char *dims, bool allow_free)
{
    Model model = {.arena = arena_new()};
    Error err = {0};
    DimBindings bindings = {0};
    Source source = {"--dim", str_from(dims)};
    const char *path = arena_printf(model.arena, SAMPLES "%s.onnx", name);
    model.graph = onnx_open(model.arena, path, &model.map, &err);
    if (model.graph && dims_parse(model.arena, &source, &bindings, &err))
        model.inferred =
            infer(model.arena, model.graph, registry_new(model.arena), &bindings, allow_free, &err);
    if (!model.inferred)
        fail_msg("%s: %s", path, err.text);
    return model;
}

static void close_model(Model *model)
{
    arena_free(model->arena);
    file_unmap(&model->map);
}

/* name, dtype, [shape], kind */
static void compare_value(const Model *model, Str line)
{
    Str name = take_field(&line), dtype = take_field(&line), shape = take_field(&line);
    int32_t t = graph_find_tensor(model->graph, name);
    if (t < 0)
        fail_msg("no value '%.*s'", STR_ARG(name));
    Buf got = buf_new(model->arena), want = buf_new(model->arena);
    const Shape *inferred = inferred_shape(model->inferred, t);
    buf_printf(&want, "%.*s %.*s %.*s", STR_ARG(name), STR_ARG(dtype), STR_ARG(shape));
    buf_printf(&got, "%.*s %s [", STR_ARG(name), dtype_name((Dtype)model->inferred->dtype[t]));
    for (int64_t d = 0; inferred && d < inferred->n_dims; d++)
        buf_printf(&got, "%s%" PRId64, d > 0 ? "," : "", inferred->dim[d]);
    buf_puts(&got, inferred ? "]" : "unknown]");
    assert_string_equal(got.s, want.s);
}

static void every_value_has_the_measured_shape(void **state)
{
    const Sample *sample = *state;
    Arena *arena = arena_new();
    Source table;
    Error err = {0};
    int n_values = 0;
    const char *path = arena_printf(arena, SAMPLES "%s.shapes.tsv", sample->name);
    if (!file_read(arena, path, 1 << 24, &table, &err))
        fail_msg("%s", err.text);
    Model model = open_model(sample->name, dims_line(arena, table.text), false);
    for (Str rest = table.text; rest.n > 0;) {
        Str line = take_line(&rest);
        if (line.n == 0 || line.s[0] == '#')
            continue;
        compare_value(&model, line);
        n_values++;
    }
    assert_true(n_values > 60);
    assert_int_equal(model.inferred->findings.n, 0);
    close_model(&model);
    arena_free(arena);
}

static int count_on_parameters(const Model *model)
{
    int n = 0;
    for (int32_t op = 0; op < model->graph->n_ops; op++)
        n += model->inferred->on_parameters[op];
    return n;
}

static void shape_arithmetic_is_folded(void **state)
{
    static const char *const bindings[] = {"batch=2,seq=16", "batch=1,seq=1", "batch=8,seq=1024",
                                           "batch=3,seq=7"};
    const Sample *sample = *state;
    for (size_t i = 0; i < COUNT_OF(bindings); i++) {
        Model model = open_model(sample->name, bindings[i], false);
        assert_int_equal(model.inferred->n_program, sample->n_program);
        assert_int_equal(count_on_parameters(&model), sample->n_on_parameters);
        assert_int_equal(inferred_params(model.inferred), sample->n_params);
        assert_true(model.inferred->n_spaces <= sample->n_spaces);
        assert_int_equal(model.inferred->findings.n, 0);
        close_model(&model);
    }
}

static void free_dims_leave_the_counts(void **state)
{
    const Sample *sample = *state;
    Model model = open_model(sample->name, "", true);
    assert_int_equal(model.inferred->n_program, sample->n_program);
    assert_int_equal(count_on_parameters(&model), sample->n_on_parameters);
    assert_int_equal(model.inferred->findings.n, 0);
    int32_t input = model.graph->inputs[0];
    assert_null(inferred_shape(model.inferred, input));
    assert_int_equal(inferred_bytes(model.inferred, input), 0);
    close_model(&model);
}

/* A 32k x 32k mask is known and not held; the coordinates that pick the padding mask are rows. */
static void long_masks_cost_nothing(void **state)
{
    const Sample *sample = *state;
    Model model = open_model(sample->name, "batch=8,seq=32768", false);
    int n_deferred = 0, n_projections = 0;
    for (int32_t t = 0; t < model.graph->n_tensors; t++)
        n_deferred += inferred_value(model.inferred, t) &&
                      value_is_deferred(inferred_value(model.inferred, t));
    for (int i = 0; i < model.inferred->n_spaces; i++) {
        const char *kernel = model.inferred->spaces[i]->kernel;
        n_projections += kernel && strcmp(kernel, "project") == 0;
    }
    assert_true(n_deferred > 0 && n_deferred < 5);
    assert_int_equal(n_projections, 1);
    assert_true(arena_bytes(model.arena) < 64 << 20);
    close_model(&model);
}

/* ---- op spaces of the samples, point by point ---- */

enum { CELLS_MAX = 1 << 20 };

static int64_t cell_of(const Operand *operand, const int64_t *x)
{
    int64_t cell = 0;
    for (int64_t d = 0; d < operand->shape.n_dims; d++)
        cell = cell * operand->shape.dim[d] + x[d];
    return cell;
}

/* The box of all points. */
static Box all_points(const OpSpace *space)
{
    Box box = {.n = space->n_index};
    for (int j = 0; j < space->n_index; j++)
        box.hi[j] = space->index[j].size;
    return box;
}

/* Counts a touch of each cell in [lo, hi). */
static void touch(const Operand *operand, const Box *range, uint8_t *touched)
{
    int64_t x[DIMS_MAX];
    int n = range->n;
    memcpy(x, range->lo, sizeof x);
    for (int d = 0; d < n; d++) {
        assert_true(range->lo[d] >= 0 && range->hi[d] <= operand->shape.dim[d]);
        if (range->lo[d] >= range->hi[d])
            return;
    }
    for (;;) {
        int d = n - 1;
        touched[cell_of(operand, x)]++;
        while (d >= 0 && ++x[d] == range->hi[d]) {
            x[d] = range->lo[d];
            d--;
        }
        if (d < 0)
            return;
    }
}

/* Cells of the operand that single points of the box touch, each point of the index dims the
 * operand does not use taken once. */
static void touch_points(const OpSpace *space, const Operand *operand, const Box *box,
                         uint8_t *touched)
{
    Box point = *box;
    bool used[X_MAX] = {false};
    for (int d = 0; d < operand->projection.n_dims; d++)
        for (int j = 0; j < space->n_index; j++)
            used[j] |= operand->projection.row[d].coef[j] != 0;
    for (;;) {
        int j = space->n_index - 1;
        Box range;
        for (int i = 0; i < space->n_index; i++)
            point.hi[i] = point.lo[i] + 1;
        projection_range(&operand->projection, &operand->shape, &point, &range);
        touch(operand, &range, touched);
        while (j >= 0 && (!used[j] || ++point.lo[j] == box->hi[j])) {
            point.lo[j] = box->lo[j];
            j--;
        }
        if (j < 0)
            return;
    }
}

static void check_covered(const OpSpace *space, uint8_t *touched)
{
    Box all = all_points(space);
    for (int o = 0; o < space->n_outputs; o++) {
        const Operand *output = opspace_output(space, o);
        int64_t n = shape_elements(&output->shape);
        memset(touched, 0, (size_t)n);
        touch_points(space, output, &all, touched);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(touched[i], 1);
    }
}

/* Both halves of a cut: every cell that a point of the half reads or writes lies in the box of the
 * half, and the box lies in the tensor. */
static void check_cut(const OpSpace *space, int index, uint8_t *touched, uint8_t *boxed)
{
    for (int half = 0; half < 2; half++) {
        Box part = all_points(space);
        int64_t middle = (part.hi[index] + 1) / 2;
        *(half == 0 ? &part.hi[index] : &part.lo[index]) = middle;
        if (part.lo[index] >= part.hi[index])
            continue;
        for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
            const Operand *operand = &space->operand[i];
            if (operand->absent)
                continue;
            int64_t n = shape_elements(&operand->shape);
            Box range;
            memset(touched, 0, (size_t)n);
            memset(boxed, 0, (size_t)n);
            touch_points(space, operand, &part, touched);
            projection_range(&operand->projection, &operand->shape, &part, &range);
            touch(operand, &range, boxed);
            for (int64_t c = 0; c < n; c++)
                assert_true(boxed[c] || !touched[c]);
        }
    }
}

static void op_spaces_are_true(void **state)
{
    const Sample *sample = *state;
    Model model = open_model(sample->name, "batch=2,seq=3", false);
    uint8_t *touched = arena_alloc(model.arena, CELLS_MAX),
            *boxed = arena_alloc(model.arena, CELLS_MAX);
    int n_checked = 0;
    for (int i = 0; i < model.inferred->n_spaces; i++) {
        const OpSpace *space = model.inferred->spaces[i];
        int64_t most = 0;
        for (int k = 0; k < space->n_inputs + space->n_outputs; k++) {
            int64_t n = shape_elements(&space->operand[k].shape);
            most = n > most ? n : most;
        }
        if (most > CELLS_MAX)
            continue;
        check_covered(space, touched);
        for (int j = 0; j < space->n_index; j++)
            if (space->index[j].role != ROLE_FROZEN)
                check_cut(space, j, touched, boxed);
        n_checked++;
    }
    assert_true(n_checked > 25);
    close_model(&model);
}

/* ---- made graphs ---- */

static Inferred *infer_text(Arena *arena, const char *text, const char *dims, Error *err)
{
    DimBindings bindings = {0};
    Source source = {"--dim", str_from(dims)};
    assert_true(dims_parse(arena, &source, &bindings, NULL));
    return infer(arena, graph_from_text(arena, text, 18), registry_new(arena), &bindings, false,
                 err);
}

static void unbound_dims_are_listed(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = "y <- Add f32[batch,seq] f32[batch,heads]";
    Error err = {0};
    assert_null(infer_text(arena, text, "seq=4", &err));
    assert_int_equal(err.kind, ERROR_UNBOUND);
    assert_string_equal(err.text, "2 free dims have no size: batch, heads");
    assert_string_equal(err.hint, "bind them: --dim batch=..,heads=..");

    Error nameless = {0};
    assert_null(infer_text(arena, "y <- Tanh f32[4,?]", "", &nameless));
    assert_string_equal(nameless.text,
                        "1 free dim has no size: dim 1 of input 'in0', which has no name");
    assert_string_equal(nameless.hint, "bind it: --dim in0.1=..");
    Error huge = {0};
    assert_null(infer_text(arena, "y <- Tanh f32[batch,4]", "batch=1000000000000000000", &huge));
    assert_string_equal(huge.text, "tensor 'in0': the shape has 2^60 elements or more");
    arena_free(arena);
}

static void a_binding_nobody_uses_is_found(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Inferred *inferred = infer_text(arena, "y <- Tanh f32[batch]", "bath=3,batch=2,y=4", NULL);
    assert_int_equal(inferred->findings.n, 2);
    assert_string_equal(inferred->findings.at[0].text,
                        "no dim of the model is named 'bath', which is bound to a size");
    assert_string_equal(inferred->findings.at[1].code, "unused-dim");
    arena_free(arena);
}

static void ops_without_a_rule_are_counted_by_operator(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Inferred *inferred = infer_text(
        arena,
        "a <- Foo f32[4]; b <- Foo f32[5]; c <- Foo f32[4]; d <- com.x::Bar f32[4]; e <- Tanh a",
        "", NULL);
    assert_int_equal(inferred->n_program, 5);
    assert_int_equal(inferred->findings.n, 3);
    const Finding *found = inferred->findings.at;
    assert_string_equal(found[0].code, "no-rule");
    assert_string_equal(found[0].text,
                        "Foo has no rule: 3 ops are replicated, the first is 'Foo_0'");
    assert_string_equal(found[0].hint, "describe it: register_op(\"a b -> a b\", {name=\"Foo\"})");
    assert_string_equal(found[1].text,
                        "com.x::Bar has no rule: 1 op is replicated, the first is 'com.x::Bar_3'");
    assert_string_equal(found[2].code, "unknown-shape");
    assert_string_equal(found[2].text,
                        "Tanh 'Tanh_4' reads 'a', whose shape is unknown: 1 op is replicated");
    const OpSpace *space = inferred_space(inferred, 0);
    Buf text = buf_new(arena);
    opspace_format(space, &text);
    assert_string_equal(text.s, "4 -> ?");
    assert_true(space->no_rule && space->n_index == 0);
    assert_true(inferred_space(inferred, 4)->operand[0].ignored);
    arena_free(arena);
}

static void a_declared_shape_stands_in_for_a_rule(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    GraphBuilder *builder = graph_builder_new(arena, "declared");
    Names *names = graph_builder_graph(builder)->names;
    int32_t x = graph_tensor(builder, STR("x")), y = graph_tensor(builder, STR("y"));
    DeclaredDim dims[2] = {{-1, names_intern(names, STR("batch"))}, {4, 0}};
    graph_add_input(builder, x, DT_F32, dims, 2);
    graph_declare(builder, y, DT_F16, dims, 2);
    graph_add_op(builder, STR("Foo"), STR("foo"), STR(""), &x, 1, &y, 1, 0);
    graph_add_output(builder, y);
    DimBindings bindings = {0};
    vec_push(arena, &bindings, (DimBinding){STR("batch"), 3});
    Inferred *inferred =
        infer(arena, graph_seal(builder, NULL), registry_new(arena), &bindings, false, NULL);
    assert_int_equal(inferred_shape(inferred, y)->dim[0], 3);
    assert_int_equal(inferred->dtype[y], DT_F16);
    assert_int_equal(inferred_bytes(inferred, y), 24);
    arena_free(arena);
}

static void refusals_are_told_once_a_case(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Inferred *inferred = infer_text(arena,
                                    "a <- Reshape f32[4] i64[1]{5}; b <- Reshape f32[4] i64[1]{5}; "
                                    "c <- Div i64[1]{1} i64[1]{0}",
                                    "", NULL);
    assert_int_equal(inferred->findings.n, 2);
    const Finding *found = inferred->findings.at;
    assert_string_equal(found[0].code, "rule-refused");
    assert_string_equal(found[0].text,
                        "Reshape 'Reshape_0' and 1 like it: element counts differ: [4] and [5]");
    assert_string_equal(found[1].text, "Div 'Div_2': it divides by zero");
    assert_int_equal(inferred->n_program, 3);
    assert_false(inferred_space(inferred, 2)->no_rule);
    arena_free(arena);
}

static void equal_ops_share_an_op_space(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Inferred *inferred =
        infer_text(arena,
                   "a <- Tanh f32[4]; b <- Tanh f32[4]; c <- Tanh f16[4]; d <- Sin a; "
                   "e <- Softmax a axis=0; f <- Softmax b axis=0; "
                   "g <- Softmax b axis=-1",
                   "", NULL);
    const int32_t *space = inferred->space;
    assert_int_equal(space[0], space[1]);
    assert_int_not_equal(space[0], space[2]);
    assert_int_not_equal(space[0], space[3]);
    assert_int_equal(space[4], space[5]);
    assert_int_not_equal(space[4], space[6]);
    assert_int_equal(inferred->n_spaces, 5);
    inferred = infer_text(arena, "a m <- Dropout f32[4]; b - <- Dropout f32[4]", "", NULL);
    assert_false(opspace_output(inferred_space(inferred, 0), 1)->absent);
    assert_true(opspace_output(inferred_space(inferred, 1), 1)->absent);
    for (int i = 0; i < inferred->n_spaces; i++)
        assert_int_equal(inferred->spaces[i]->id, i);
    arena_free(arena);
}

static void values_tell_cases_apart_where_a_rule_looks(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Inferred *inferred =
        infer_text(arena,
                   "a <- Reshape f32[4] i64[2]{2,2}; b <- Reshape f32[4] i64[2]{4,1}; "
                   "c <- Mul f32[4] i64[]{1}; d <- Mul f32[4] i64[]{2}",
                   "", NULL);
    assert_int_not_equal(inferred->space[0], inferred->space[1]);
    assert_int_equal(inferred->space[2], inferred->space[3]);
    arena_free(arena);
}

static void what_depends_on_parameters_alone(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Inferred *inferred =
        infer_text(arena,
                   "a <- Transpose f32[4,8]!; b <- Mul a f32[]{0.5}; c <- MatMul f32[2,8] b; "
                   "d <- Constant value=f32[2]{1,2}; e <- Tanh d; r <- RandomNormal shape=[2]",
                   "", NULL);
    static const bool want[] = {true, true, false, false, true, false};
    for (size_t op = 0; op < COUNT_OF(want); op++)
        assert_int_equal(inferred->on_parameters[op], want[op]);
    assert_true(inferred_is_host(inferred, 3));
    assert_false(inferred_is_host(inferred, 4));
    int32_t constant = op_outputs(inferred->graph, 3)[0];
    assert_null(inferred_value(inferred, constant));
    assert_int_equal(inferred_bytes(inferred, constant), 8);
    assert_true(tensor_is_parameter(inferred, op_inputs(inferred->graph, 0)[0]));
    assert_false(tensor_is_parameter(inferred, op_inputs(inferred->graph, 1)[1]));
    arena_free(arena);
}

/* The second output has no answer of the constant's; it may not take that of another op. */
static void a_constant_has_one_output(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Inferred *inferred = infer_text(arena, "a b <- Constant value=f32[2]{1,2}", "", NULL);
    assert_false(inferred_is_host(inferred, 0));
    assert_int_equal(inferred->findings.n, 1);
    assert_string_equal(inferred->findings.at[0].code, "rule-refused");
    arena_free(arena);
}

static void too_many_operands_are_an_error(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    GraphBuilder *builder = graph_builder_new(arena, "wide");
    enum { N = OPERANDS_MAX };
    int32_t *in = arena_array(arena, int32_t, N), out = graph_tensor(builder, STR("out"));
    DeclaredDim dim = {4, 0};
    in[0] = graph_tensor(builder, STR("x"));
    graph_add_input(builder, in[0], DT_F32, &dim, 1);
    for (int i = 1; i < N; i++)
        in[i] = in[0];
    graph_add_op(builder, STR("Concat"), STR("wide"), STR(""), in, N, &out, 1, 0);
    DimBindings none = {0};
    Error err = {0};
    const Graph *graph = graph_seal(builder, NULL);
    assert_null(infer(arena, graph, registry_new(arena), &none, false, &err));
    assert_string_equal(err.text, "op 'wide' has 4097 operands, at most 4096 are known");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unbound_dims_are_listed),
        cmocka_unit_test(a_binding_nobody_uses_is_found),
        cmocka_unit_test(ops_without_a_rule_are_counted_by_operator),
        cmocka_unit_test(a_declared_shape_stands_in_for_a_rule),
        cmocka_unit_test(refusals_are_told_once_a_case),
        cmocka_unit_test(equal_ops_share_an_op_space),
        cmocka_unit_test(values_tell_cases_apart_where_a_rule_looks),
        cmocka_unit_test(what_depends_on_parameters_alone),
        cmocka_unit_test(a_constant_has_one_output),
        cmocka_unit_test(too_many_operands_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("shapes", samples, every_value_has_the_measured_shape) +
           run_rows("shapes of images", images, every_value_has_the_measured_shape) +
           run_rows("fold", samples, shape_arithmetic_is_folded) +
           run_rows("free dims", samples, free_dims_leave_the_counts) +
           run_rows("free dims of images", images, free_dims_leave_the_counts) +
           run_rows("long masks", samples, long_masks_cost_nothing) +
           run_rows("op spaces", samples, op_spaces_are_true);
}
