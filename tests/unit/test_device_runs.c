/* Ops in a row that are one work on a device, and what collectives need of it: pieces packed and
 * taken, averages scaled, numbers drawn. */
#include "tests/unit/on_device.h"

#include "tests/unit/graph_text.h"

#include "core/run/draw.h"

/* ---- runs ---- */

typedef struct {
    const char *name, *graph;
    const char *kept; /* '1': read by others too; ops behind its end are not */
    int n_ops, n_items;
} InRow;

static InRow runs[] = {
    {"a product and its bias", "a <- MatMul f32[5,8] f32[8,6]!; b <- Add a f32[6]!", "", 2, 1},
    {"the bias first", "a <- MatMul f32[3,5,8] f32[8,6]!; b <- Add f32[6]! a", "", 2, 1},
    {"and an activation", "a <- MatMul f32[5,8] f32[8,6]!; b <- Add a f32[6]!; c <- Relu b", "", 3,
     1},
    {"in bf16",
     "a <- MatMul bf16[5,8] bf16[8,6]!; b <- Add a bf16[6]!; c <- Gelu b approximate=\"tanh\"", "",
     3, 1},
    {"Gelu by erf is none", "a <- MatMul f32[5,8] f32[8,6]!; b <- Gelu a", "", 1, 1},
    {"an activation alone", "a <- Gemm f32[5,8] f32[8,6]!; b <- Relu a", "", 2, 1},
    {"a matrix is no bias", "a <- MatMul f32[5,8] f32[8,6]!; b <- Add a f32[5,6]!", "", 1, 1},
    {"read by another", "a <- MatMul f32[5,8] f32[8,6]!; b <- Add a f32[6]!", "1", 1, 1},
    {"read twice", "a <- MatMul f32[5,8] f32[8,8]!; b <- Add a a", "", 1, 1},
    {"no epilogue in f64", "a <- MatMul f64[5,8] f64[8,6]!; b <- Add a f64[6]!", "", 1, 1},
    {"a chain", "a <- Mul f32[4,8] f32[8]!; b <- Tanh a; c <- Add b a", "", 3, 1},
    {"a chain of bf16", "a <- Mul bf16[4,8] bf16[8]!; b <- Exp a; c <- Add b a", "", 3, 1},
    {"what is kept is written", "a <- Add f32[4,8] f32[4,1]!; b <- Sigmoid a; c <- Mul a b", "11",
     3, 1},
    {"types change", "a <- Less f32[4,8] f32[4,8]; b <- Not a; c <- Where b f32[4,8] f32[]!", "", 3,
     1},
    {"another shape ends it", "a <- Exp f32[1,8]; b <- Add a f32[4,8]", "", 1, 1},
    {"nothing read ends it", "a <- Exp f32[4,8]; b <- Exp f32[4,8]", "", 1, 1},
    {"whole numbers wrap", "a <- Add i32[4,8] i32[4,8]; b <- Mul a a; c <- Add b a", "", 3, 1},
};

/* 64 bits without a sign are numbers of i64 on a device: what that would change is the host's. */
static InRow without_sign[] = {
    {"u64 is added", "a <- Add u64[4,8] u64[4,8]; b <- Mul a a", "", 2, 1},
    {"u64 is moved", "a <- Transpose u64[4,8]", "", 1, 1},
    {"u64 is not divided", "a <- Div u64[4,8] u64[4,8]", "", 0, 0},
    {"u64 is not compared", "a <- Less u64[4,8] u64[4,8]", "", 0, 0},
    {"the larger of u64", "a <- Max u64[4,8] u64[4,8]", "", 0, 0},
    {"u64 is not cast", "a <- Cast u64[4,8] to=1", "", 0, 0},
    {"nothing is cast to u64", "a <- Cast f32[4,8] to=13", "", 0, 0},
    {"u64 is not shifted",
     "a <- Add u64[4,8] u64[4,8]; b <- BitShift a u64[4,8] direction=\"RIGHT\"", "", 1, 1},
    {"the largest of u64", "a <- ReduceMax u64[4,8]", "", 0, 0},
    {"the place of the largest", "a <- ArgMax u64[4,8] axis=1", "", 0, 0},
    {"the first of u64", "a, b <- TopK u64[4,8] i64[1]{3}", "", 0, 0},
};

static Local *drawn(const Inferred *inferred, int32_t tensor)
{
    Local *local =
        local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor));
    uint64_t key = draw_key((uint64_t)tensor, STR("input"));
    for (int64_t i = 0; i < shape_elements(&local->shape); i++) {
        double number = draw_uniform(key, i) * (dtype_is_float(local->dtype) ? 2 : 70000);
        elements_store(local->dtype, local_at(local, i), 1, NUMBER_F64, &number);
    }
    return local;
}

static KernelCall call_of(Arena *arena, const Inferred *inferred, int32_t op, Local **value)
{
    const GraphOp *at = &inferred->graph->ops[op];
    const Local **input = arena_array(arena, const Local *, at->n_inputs);
    Local **output = arena_array(arena, Local *, at->n_outputs);
    for (int i = 0; i < at->n_inputs; i++)
        input[i] = value[op_inputs(inferred->graph, op)[i]];
    for (int i = 0; i < at->n_outputs; i++)
        output[i] = value[op_outputs(inferred->graph, op)[i]];
    return (KernelCall){.kernel = kernel_find(NULL, op_operator(inferred->graph, op)),
                        .inferred = inferred,
                        .op = op,
                        .n_inputs = at->n_inputs,
                        .n_outputs = at->n_outputs,
                        .input = input,
                        .output = output,
                        .first = true,
                        .scratch = arena};
}

static void run_is_one_work(void **state)
{
    const InRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    const DimBindings none = {0};
    Graph *graph = graph_from_text(arena, row->graph, 0);
    Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    assert_non_null(inferred);
    Local **value = arena_array(arena, Local *, graph->n_tensors);
    KernelCall call[8];
    const KernelCall *run[8];
    bool kept[8] = {false};
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].maker < 0)
            value[t] = drawn(inferred, t);
    for (int op = 0; op < graph->n_ops; op++) {
        const Kernel *kernel = kernel_find(NULL, op_operator(graph, op));
        if (!kernel_run_whole(inferred, op, kernel, NULL, 1, 0, value, &err))
            fail_msg("%s", err.text);
        call[op] = call_of(arena, inferred, op, value);
        run[op] = &call[op];
        kept[op] = op < (int)strlen(row->kept) && row->kept[op] == '1';
    }
    Buf wrong = buf_new(arena);
    device.n_items = 0;
    assert_int_equal(on_device(run, graph->n_ops, kept, &wrong), row->n_ops);
    assert_int_equal(device.n_items, row->n_items);
    if (wrong.n > 0)
        fail_msg("%s", wrong.s);
    for (int t = 0; t < graph->n_tensors; t++)
        local_free(value[t]);
    arena_free(arena);
}

/* ---- pieces ---- */

typedef struct {
    const char *name;
    Dtype dtype;
    ReduceOp reduce;
    int n_dims;
    int64_t size[3], step[3]; /* places of dim d: step[d] * i, or, below 0, of i * i */
    int64_t row, first;
} Pieced;

static Pieced pieces[] = {
    {"one row", DT_F32, REDUCE_NONE, 0, {0}, {0}, 12, 3},
    {"rows", DT_F32, REDUCE_NONE, 1, {5}, {16}, 8, 4},
    {"rows of bytes", DT_BOOL, REDUCE_NONE, 2, {3, 4}, {50, 9}, 3, 1},
    {"uneven places", DT_BF16, REDUCE_NONE, 2, {4, 3}, {-40, 8}, 4, 0},
    {"added", DT_F32, REDUCE_SUM, 1, {5}, {16}, 8, 4},
    {"the largest", DT_BF16, REDUCE_MAX, 2, {4, 3}, {-40, 8}, 4, 0},
    {"the largest of u64", DT_U64, REDUCE_MAX, 1, {5}, {16}, 8, 4},
    {"multiplied", DT_I64, REDUCE_PROD, 1, {3}, {7}, 5, 2},
    {"all of", DT_BOOL, REDUCE_ALL, 1, {3}, {7}, 5, 2},
};

enum { PART = 1000 };

static Local *drawn_part(Dtype dtype, int64_t n, int key)
{
    Local *local = local_new_whole(dtype, &(Shape){.n_dims = 1, .dim = {n}});
    for (int64_t i = 0; i < n; i++) {
        double number = dtype_is_float(dtype)
                            ? draw_uniform((uint64_t)key, i)
                            : (double)(int64_t)(draw_uniform((uint64_t)key, i) * 9);
        elements_store(dtype, local_at(local, i), 1, NUMBER_F64, &number);
        if (i % 2)
            integers_order(dtype, local_at(local, i), 1); /* u64 from 2^63 on */
    }
    return local;
}

static Piece piece_of(Arena *arena, const Pieced *row)
{
    Piece piece = {.n_dims = row->n_dims, .row = row->row, .first = row->first};
    piece.n_elements = row->row;
    for (int d = 0; d < row->n_dims; d++) {
        piece.size[d] = row->size[d];
        piece.n_elements *= row->size[d];
        piece.place[d] = arena_array(arena, int64_t, row->size[d]);
        for (int64_t i = 0; i < row->size[d]; i++)
            piece.place[d][i] = row->step[d] < 0 ? -row->step[d] * i * i / 2 : row->step[d] * i;
    }
    return piece;
}

/* The work's places: AT_INPUT 0 the source, AT_OUTPUT 0 the target. */
static void do_between(const DeviceWork *work, const Local *from, Local *to)
{
    const Local *input[] = {from};
    char *output[] = {to->data}, **outputs[] = {output};
    KernelCall call = {.n_inputs = 1, .n_outputs = 1, .input = input, .output = &to};
    const KernelCall *run[] = {&call};
    Doing doing = {.call = run, .work = work, .outputs = outputs};
    do_items(&doing);
}

static void piece_moves(void **state)
{
    const Pieced *row = *state;
    Arena *arena = arena_new();
    Piece piece = piece_of(arena, row);
    DevicePlace from = {.kind = AT_INPUT}, to = {.kind = AT_OUTPUT};
    Local *part = drawn_part(row->dtype, PART, 1), *got = drawn_part(row->dtype, PART, 1);
    Local *message = drawn_part(row->dtype, piece.n_elements, 2);
    Local *packed = drawn_part(row->dtype, piece.n_elements, 3);
    Local *want = drawn_part(row->dtype, piece.n_elements, 3);
    DeviceWork work;
    assert_true(device_pack(arena, device.texts, row->dtype, &piece, from, to, &work));
    do_between(&work, part, packed);
    piece_pack(&piece, row->dtype, part->data, want->data);
    assert_memory_equal(packed->data, want->data, (size_t)local_bytes(want));

    assert_true(
        device_unpack(arena, device.texts, row->dtype, &piece, row->reduce, from, to, &work));
    do_between(&work, message, got);
    if (row->reduce == REDUCE_NONE)
        piece_unpack(&piece, row->dtype, message->data, part->data);
    else
        assert_true(piece_combine(&piece, row->dtype, row->reduce, message->data, part->data));
    assert_memory_equal(got->data, part->data, (size_t)local_bytes(part));
    Local *all[] = {part, got, message, packed, want};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        local_free(all[i]);
    arena_free(arena);
}

/* ---- draws and scales ---- */

static void draws_are_the_hosts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Source source = {"mesh", STR("a=2,b=3")};
    Mesh *mesh = mesh_parse(arena, &source, NULL);
    const Shape whole = {.n_dims = 3, .dim = {4, 6, 5}};
    Sharding sharding = sharding_whole(&whole);
    const uint8_t a = 0, b = 1;
    sharding.dim[0] = cut_by(4, &a, 1, mesh);
    sharding.dim[1] = cut_by(6, &b, 1, mesh);
    const Dtype dtypes[] = {DT_F32, DT_F64, DT_BF16, DT_F16};
    for (size_t k = 0; k < COUNT_OF(dtypes); k++) {
        Local *part = local_new(dtypes[k], &whole, &sharding, mesh, 4);
        Local *want = local_new(dtypes[k], &whole, &sharding, mesh, 4);
        DeviceWork work;
        assert_true(device_draw(arena, device.texts, part, 77, 0.25,
                                (DevicePlace){.kind = AT_OUTPUT}, &work));
        do_between(&work, part, part);
        for (int64_t i = 0; i < shape_elements(&part->shape); i++) {
            int64_t row = part->shape.dim[1] * part->shape.dim[2];
            int64_t x = part->runs[0].at[0].start + i / row;
            int64_t y = part->runs[1].at[0].start + i / 5 % part->shape.dim[1];
            double number = 0.25 * draw_uniform(77, (x * 6 + y) * 5 + i % 5);
            elements_store(dtypes[k], local_at(want, i), 1, NUMBER_F64, &number);
        }
        assert_memory_equal(part->data, want->data, (size_t)local_bytes(want));
        assert_true(device_scale(arena, device.texts, dtypes[k], shape_elements(&part->shape),
                                 1.0 / 3, (DevicePlace){.kind = AT_OUTPUT}, &work));
        do_between(&work, part, part);
        assert_true(kernel_scale(want, 1.0 / 3, NULL));
        assert_memory_equal(part->data, want->data, (size_t)local_bytes(want));
        local_free(part);
        local_free(want);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(draws_are_the_hosts)};
    device_open();
    int failed = run_rows("runs", runs, run_is_one_work) +
                 run_rows("u64", without_sign, run_is_one_work) +
                 run_rows("pieces", pieces, piece_moves) +
                 cmocka_run_group_tests_name("draws", tests, NULL, NULL);
    device_close();
    return failed;
}
