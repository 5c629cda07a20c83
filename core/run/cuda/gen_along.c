/* gen_along.c - kernels along one unsharded dim: ArgMax, ArgMin, TopK, CumSum, CumProd; and of
 * triangles and ranges.
 *
 * One warp per row searches the best element, repeatedly for TopK; one thread per row does running
 * sums.
 */
#include "core/run/cuda/device_build.h"

/* ---- the best of a row ---- */

static const char best_body[] =
    "typedef struct {\n"
    "    const T *x;\n    T *values;\n    i64 *places;\n"
    "    i64 n, step, n_rows, n_best, least, nan_first, later;\n"
    "} Args;\n"
    "/* Element x at place i comes before y at j; place -1 is no element. */\n"
    "DEVICE int before(const Args *a, C x, i64 i, C y, i64 j)\n"
    "{\n"
    "    if (i < 0 || j < 0)\n"
    "        return j < 0 && i >= 0;\n"
    "    int x_nan = !(x == x), y_nan = !(y == y);\n"
    "    if (x_nan != y_nan)\n"
    "        return x_nan == (int)a->nan_first;\n"
    "    if (!x_nan && x != y)\n"
    "        return a->least ? x < y : x > y;\n"
    "    return a->later && !x_nan ? i > j : i < j;\n"
    "}\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    int lane = threadIdx.x % 32;\n"
    "    for (i64 row = (i64)blockIdx.x * 8 + threadIdx.x / 32; row < a.n_rows;\n"
    "         row += (i64)gridDim.x * 8) {\n"
    "        i64 outer = row / a.step, inner = row % a.step, last = -1;\n"
    "        const T *from = a.x + outer * a.step * a.n + inner;\n"
    "        C last_x = 0;\n"
    "        for (i64 k = 0; k < a.n_best; k++) {\n"
    "            C best = 0;\n"
    "            i64 place = -1;\n"
    "            for (i64 i = lane; i < a.n; i += 32) {\n"
    "                C x = LOAD(from[i * a.step]);\n"
    "                int left = last < 0 || before(&a, last_x, last, x, i);\n"
    "                if (left && before(&a, x, i, best, place)) {\n"
    "                    best = x;\n"
    "                    place = i;\n"
    "                }\n"
    "            }\n"
    "            UNROLL\n"
    "            for (int m = 16; m > 0; m /= 2) {\n"
    "                C y = SHUFFLE(best, m);\n"
    "                i64 j = shuffle_xor_i64(place, m);\n"
    "                if (before(&a, y, j, best, place)) {\n"
    "                    best = y;\n"
    "                    place = j;\n"
    "                }\n"
    "            }\n"
    "            i64 to = (outer * a.n_best + k) * a.step + inner;\n"
    "            if (lane == 0 && a.values)\n"
    "                a.values[to] = from[place * a.step];\n"
    "            if (lane == 0 && a.places)\n"
    "                a.places[to] = place;\n"
    "            last = place;\n"
    "            last_x = best;\n"
    "        }\n"
    "    }\n"
    "}\n";

typedef struct {
    int64_t n_best;
    bool least, nan_first, later;
} Best;

static void build_best(DeviceBuild *build, const KernelCall *call, const DimRows *rows,
                       const Best *best, int values, int places)
{
    const Local *in = call->input[0];
    KernelText k = kernel_text(build, "best_%s", dtype_name(in->dtype));
    put_types(&k, in->dtype, dtype_number(in->dtype));
    buf_puts(&k.text, best_body);
    ARGS_PLACES(&k, place_input(0, 0));
    arg_place_if(&k, values >= 0, place_output(0, values));
    arg_place_if(&k, places >= 0, place_output(0, places));
    ARGS_I64(&k, rows->n, rows->step, rows->n_rows, best->n_best, best->least, best->nan_first,
             best->later);
    build_launch(&k, launch_over(rows->n_rows * 32));
}

static bool arg_most(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    int64_t axis;
    DimRows rows;
    if (!in || !dtype_on_device(in->dtype) || out->dtype != DT_I64 ||
        !kernel_axis(call, 0, in->shape.n_dims, &axis, NULL) ||
        !kernel_rows(in, axis, &rows, NULL) || rows.n == 0 ||
        shape_elements(&out->shape) != rows.n_rows)
        return false;
    Best best = {.n_best = 1, .least = row != NULL, .nan_first = true};
    best.later = op_attr_int(kernel_graph(call), call->op, "select_last_index", 0) != 0;
    build_best(build, call, &rows, &best, -1, 0);
    return true;
}

static bool top_k(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *in = kernel_input(call, 0);
    const Local *shaped = call->output[0] ? call->output[0] : call->output[1];
    bool has_places = kernel_output(call, 1);
    int64_t axis;
    DimRows rows;
    if (!in || !dtype_on_device(in->dtype) ||
        !kernel_axis(call, -1, in->shape.n_dims, &axis, NULL) ||
        !kernel_rows(in, axis, &rows, NULL) || rows.n == 0)
        return false;
    Best best = {.n_best = shaped->shape.dim[axis]};
    best.least = op_attr_int(kernel_graph(call), call->op, "largest", 1) == 0;
    best.nan_first = !best.least;
    if (best.n_best > rows.n || shape_elements(&shaped->shape) != rows.n_rows * best.n_best)
        return false;
    build_best(build, call, &rows, &best, call->output[0] ? 0 : -1, has_places ? 1 : -1);
    return true;
}

/* ---- sums along a row ---- */

static const char sum_body[] =
    "typedef struct {\n    const T *x;\n    T *y;\n    i64 n, step, n_rows, exclusive, reverse;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 row = (i64)blockIdx.x * 256 + threadIdx.x; row < a.n_rows;\n"
    "         row += (i64)gridDim.x * 256) {\n"
    "        i64 start = row / a.step * a.step * a.n + row % a.step;\n"
    "        C s = START;\n"
    "        for (i64 i = 0; i < a.n; i++) {\n"
    "            i64 at = start + (a.reverse ? a.n - 1 - i : i) * a.step;\n"
    "            C x = LOAD(a.x[at]), next = NEXT;\n"
    "            a.y[at] = STORE(a.exclusive ? s : next);\n"
    "            s = next;\n"
    "        }\n"
    "    }\n"
    "}\n";

static bool cumulate(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    int64_t axis, given = op_attr_int(kernel_graph(call), call->op, "axis", 0);
    DimRows rows;
    if (!in || !dtype_on_device(in->dtype) || in->dtype != out->dtype ||
        !shape_equal(&in->shape, &out->shape) || !device_known_int(call, 1, given, &axis))
        return false;
    axis += axis < 0 ? in->shape.n_dims : 0;
    if (axis < 0 || axis >= in->shape.n_dims || !kernel_rows(in, axis, &rows, NULL) || rows.n == 0)
        return false;
    Number class = dtype_is_float(in->dtype) ? NUMBER_F64 : NUMBER_I64;
    KernelText k = kernel_text(build, "cumulate_%s", dtype_name(in->dtype));
    put_types(&k, in->dtype, class);
    const char *op = row ? "*" : "+";
    buf_printf(&k.text, "#define START %d\n#define NEXT ", row != NULL);
    buf_printf(&k.text, class == NUMBER_I64 ? "WRAP(s, %s, x)\n" : "s %s x\n", op);
    buf_puts(&k.text, sum_body);
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0));
    ARGS_I64(&k, rows.n, rows.step, rows.n_rows,
             op_attr_int(kernel_graph(call), call->op, "exclusive", 0) != 0,
             op_attr_int(kernel_graph(call), call->op, "reverse", 0) != 0);
    build_launch(&k, launch_over(rows.n_rows));
    return true;
}

/* ---- triangles and ranges ---- */

/* Rows and columns are global indices. The diagonal is known at load or read from an input. */
static const char triangle_body[] =
    "typedef struct {\n"
    "    const Unit *x;\n    Unit *y;\n    const i64 *rows, *columns, *diagonal;\n"
    "    i64 n, n_rows, n_columns, k, upper;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    i64 k = a.diagonal ? *a.diagonal : a.k;\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 column = a.columns[i % a.n_columns];\n"
    "        i64 row = a.rows[i / a.n_columns % a.n_rows];\n"
    "        Unit element = NOTHING;\n"
    "        if (a.upper ? column - row >= k : column - row <= k)\n"
    "            element = a.x[i];\n"
    "        a.y[i] = element;\n"
    "    }\n"
    "}\n";

static void arg_globals(KernelText *k, const Runs *runs)
{
    const int64_t *global = kernel_globals(k->build->arena, runs);
    arg_table(k, global, runs->local_size * 8);
}

static bool trilu(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *in = kernel_input(call, 0), *out = call->output[0],
                *diagonal = kernel_input(call, 1);
    int64_t last = out->shape.n_dims - 1, known = 0, bytes = element_bytes(out->dtype);
    if (!in || in->dtype != out->dtype || last < 1 || !shape_equal(&in->shape, &out->shape))
        return false;
    bool is_known = device_known_int(call, 1, 0, &known);
    if (!is_known && (!diagonal || diagonal->dtype != DT_I64))
        return false;
    KernelText k = kernel_text(build, "triangle_%d", (int)bytes * 8);
    buf_printf(&k.text, "typedef %s Unit;\n#define NOTHING %s\n%s", unit_type(bytes),
               bytes == 16 ? "{{0, 0}}" : "0", triangle_body);
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0));
    arg_globals(&k, &out->runs[last - 1]);
    arg_globals(&k, &out->runs[last]);
    arg_place_if(&k, !is_known, place_input(0, 1));
    ARGS_I64(&k, shape_elements(&out->shape), out->shape.dim[last - 1], out->shape.dim[last], known,
             op_attr_int(kernel_graph(call), call->op, "upper", 1) != 0);
    build_launch(&k, launch_over(shape_elements(&out->shape)));
    return true;
}

static const char range_body[] =
    "typedef struct {\n    const T *start, *delta;\n    T *y;\n    i64 n;\n} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256)\n"
    "        a.y[i] = STORE(LOAD(*a.start) + (C)i * LOAD(*a.delta));\n"
    "}\n";

static bool range(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *start = kernel_input(call, 0), *delta = kernel_input(call, 2);
    const Local *out = call->output[0];
    if (!start || !delta || start->dtype != out->dtype || delta->dtype != out->dtype ||
        !dtype_on_device(out->dtype) || !shape_equal(&out->shape, &out->whole))
        return false;
    KernelText k = kernel_text(build, "range_%s", dtype_name(out->dtype));
    put_types(&k, out->dtype, dtype_is_float(out->dtype) ? NUMBER_F64 : NUMBER_I64);
    buf_puts(&k.text, range_body);
    ARGS_PLACES(&k, place_input(0, 0), place_input(0, 2), place_output(0, 0));
    ARGS_I64(&k, shape_elements(&out->shape));
    build_launch(&k, launch_over(shape_elements(&out->shape)));
    return true;
}

/* ---- constants ---- */

/* The host kernel fills a part, which is uploaded once. */
static bool constant(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    KernelCall host = *call;
    const Local *out = call->output[0];
    Local part = *out, *parts[] = {&part};
    Error err = {0};
    part.data = arena_alloc(build->arena, (size_t)local_bytes(out));
    host.output = parts;
    if (call->n_outputs != 1 || !call->kernel->run(&host, &err))
        return false;
    build_copy(build, place_output(0, 0), place_table(build, part.data, local_bytes(out)),
               local_bytes(out));
    return true;
}

static bool constant_of_shape(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    KernelCall host = *call;
    const Local *out = call->output[0];
    Local part = *out, *parts[] = {&part};
    Error err = {0};
    int64_t bytes = element_bytes(out->dtype);
    part.shape = (Shape){.n_dims = 1, .dim = {1}};
    part.data = arena_alloc(build->arena, (size_t)bytes);
    host.output = parts;
    if (!call->kernel->run(&host, &err))
        return false;
    build_fill(build, bytes, shape_elements(&out->shape), place_output(0, 0),
               place_table(build, part.data, bytes));
    return true;
}

const DeviceOp device_ops_along[] = {
    {"ArgMax", arg_most, NULL},
    {"ArgMin", arg_most, "least"},
    {"TopK", top_k, NULL},
    {"CumSum", cumulate, NULL},
    {"CumProd", cumulate, "product"},
    {"Trilu", trilu, NULL},
    {"Range", range, NULL},
    {"Constant", constant, NULL},
    {"ConstantOfShape", constant_of_shape, NULL},
    {0},
};
