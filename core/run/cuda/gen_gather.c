/* gen_gather.c - kernels that read or write by index: Gather, GatherND, GatherElements,
 * ScatterElements.
 *
 * Indices are global. Where a dim is whole they are places; else a table maps global rows to local
 * ones, or to none: such elements are zero, and the reduction over ranks adds them once. An index
 * outside its dim sets the fault.
 *
 *     gather    out[i] = data[place of i + sum over components c of row(index c) * stride c]
 *     scatter   a thread has all updates that can meet in one place, and does them in order, so
 *               that equal indices give the same result on every run
 */
#include "core/run/cuda/device_build.h"

/* Places of element i in two operands: strides per dim, or tables. */
typedef struct {
    int64_t size, data, index;
    const int64_t *data_table, *index_table;
} FrameDim;

typedef struct {
    int n_dims, n_components;
    FrameDim dim[DIMS_MAX];
    int first; /* dim of the data that component 0 indexes */
    int64_t component_step;
} Gather;

static const char row_function[] =
    "/* The place of a global row along a dim: -1 where it is not held, a fault unless CUT. */\n"
    "DEVICE i64 row_of(i64 at, i64 size, const i64 *table, int *fault)\n"
    "{\n"
    "    at += at < 0 ? size : 0;\n"
    "    if (at < 0 || at >= size) {\n"
    "        *fault = FAULT_INDEX;\n"
    "        return -1;\n"
    "    }\n"
    "    i64 row = table ? table[at] : at;\n"
    "    if (row < 0 && !CUT)\n"
    "        *fault = FAULT_INDEX;\n"
    "    return row;\n"
    "}\n";

/* Regular places become a stride. False when some place is not local. */
static bool set_side(const int64_t *from, int64_t n, int64_t *step, const int64_t **table,
                     int64_t *start)
{
    bool even = true;
    for (int64_t i = 0; i < n; i++) {
        if (from[i] == PICK_NONE)
            return false;
        even = even && (i < 2 || from[i] - from[i - 1] == from[1] - from[0]);
    }
    *table = even ? NULL : from;
    *step = even && n > 1 ? from[1] - from[0] : 0;
    *start += even && n > 0 ? from[0] : 0;
    return true;
}

/* ---- the frame ---- */

/* Matches dim d of the output with a dim of data or indices. */
static bool match(const KernelCall *call, Gather *gather, int d, const Local *operand, int64_t dim,
                  int64_t stride, bool data, int64_t *start)
{
    const Local *out = call->output[0];
    FrameDim *to = &gather->dim[d];
    Picks picks = picks_new(call->scratch, &out->shape);
    picks_match(&picks, d, &out->runs[d], 0, 1, &operand->runs[dim], stride);
    return set_side(picks.from[d], picks.size[d], data ? &to->data : &to->index,
                    data ? &to->data_table : &to->index_table, start);
}

static void put_walk(const Gather *gather, Buf *text)
{
    for (int d = gather->n_dims - 1; d >= 0; d--) {
        const FrameDim *dim = &gather->dim[d];
        buf_printf(text, "        i64 i%d = rest %% a.size%d;\n        rest /= a.size%d;\n", d, d,
                   d);
        buf_printf(text,
                   dim->data_table ? "        from += a.data%d[i%d];\n"
                                   : "        from += a.data%d * i%d;\n",
                   d, d);
        buf_printf(text,
                   dim->index_table ? "        at += a.index%d[i%d];\n"
                                    : "        at += a.index%d * i%d;\n",
                   d, d);
    }
}

static void build_gather(DeviceBuild *build, const KernelCall *call, const Gather *gather,
                         int64_t data_start, int64_t index_start)
{
    const Local *data = call->input[0], *indices = call->input[1], *out = call->output[0];
    int64_t bytes = element_bytes(out->dtype), stride[DIMS_MAX];
    KernelText k = kernel_text(build, "gather_%d", (int)bytes * 8);
    row_major_strides(&data->shape, stride);
    buf_printf(&k.text,
               "#define NOTHING %s\nenum { FAULT_INDEX = %d, CUT = %d };\n%stypedef %s "
               "Unit;\ntypedef struct {\n"
               "    Unit *to;\n    const Unit *from;\n    const t_%s *indices;\n"
               "    int *fault;\n    i64 n, component;\n",
               bytes == 16 ? "{{0, 0}}" : "0", FAULT_INDEX, call->reduce_cut, row_function,
               unit_type(bytes), dtype_name(indices->dtype));
    ARGS_PLACES(&k, place_output(0, 0), place_plus(place_input(0, 0), data_start * bytes),
                place_plus(place_input(0, 1), index_start * element_bytes(indices->dtype)),
                place_fault());
    ARGS_I64(&k, shape_elements(&out->shape), gather->component_step);
    for (int d = 0; d < gather->n_dims; d++) {
        const FrameDim *dim = &gather->dim[d];
        put_step(&k, "size", d, dim->size, NULL, 0);
        put_step(&k, "data", d, dim->data, dim->data_table, dim->size);
        put_step(&k, "index", d, dim->index, dim->index_table, dim->size);
    }
    for (int c = 0; c < gather->n_components; c++) {
        buf_printf(&k.text, "    i64 rows%d;\n    const i64 *table%d;\n    i64 stride%d;\n", c, c,
                   c);
        ARGS_I64(&k, data->whole.dim[gather->first + c]);
        arg_row_table(&k, data, gather->first + c);
        ARGS_I64(&k, stride[gather->first + c]);
    }
    buf_printf(&k.text,
               "} Args;\nKERNEL(%d, NAME, Args)\n{\n    i64 step = (i64)gridDim.x * %d;\n"
               "    for (i64 i = (i64)blockIdx.x * %d + threadIdx.x; i < a.n; i += step) {\n"
               "        i64 rest = i, from = 0, at = 0;\n        int here = 1;\n",
               DEVICE_THREADS, DEVICE_THREADS, DEVICE_THREADS);
    put_walk(gather, &k.text);
    for (int c = 0; c < gather->n_components; c++)
        buf_printf(&k.text,
                   "        i64 row%d = row_of(load_%s_i64(a.indices[at + %d * a.component]),\n"
                   "                          a.rows%d, a.table%d, a.fault);\n"
                   "        here &= row%d >= 0;\n        from += row%d * a.stride%d;\n",
                   c, dtype_name(indices->dtype), c, c, c, c, c, c);
    buf_puts(&k.text, "        Unit element = NOTHING;\n"
                      "        if (here)\n            element = a.from[from];\n"
                      "        a.to[i] = element;\n    }\n}\n");
    build_launch(&k, launch_over(shape_elements(&out->shape)));
}

static bool fits(const KernelCall *call)
{
    const Local *data = kernel_input(call, 0), *indices = kernel_input(call, 1);
    return data && indices && data->dtype == call->output[0]->dtype &&
           dtype_is_int(indices->dtype) && dtype_on_device(indices->dtype);
}

/* ---- operators ---- */

static bool gather(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    int64_t axis, data_stride[DIMS_MAX], index_stride[DIMS_MAX], data_start = 0, index_start = 0;
    if (!fits(call) || !kernel_axis(call, 0, call->input[0]->shape.n_dims, &axis, NULL))
        return false;
    const Local *data = call->input[0], *indices = call->input[1], *out = call->output[0];
    int n_points = (int)indices->shape.n_dims;
    Gather g = {.n_dims = (int)out->shape.n_dims, .n_components = 1, .first = (int)axis};
    if (g.n_dims != data->shape.n_dims - 1 + n_points)
        return false;
    row_major_strides(&data->shape, data_stride);
    row_major_strides(&indices->shape, index_stride);
    for (int d = 0; d < g.n_dims; d++) {
        bool point = axis <= d && d < axis + n_points;
        int64_t from = point ? d - axis : d < axis ? d : d - n_points + 1;
        g.dim[d].size = out->shape.dim[d];
        if (!match(call, &g, d, point ? indices : data, from,
                   point ? index_stride[from] : data_stride[from], !point,
                   point ? &index_start : &data_start))
            return false;
    }
    build_gather(build, call, &g, data_start, index_start);
    return true;
}

static bool gather_nd(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    if (!fits(call))
        return false;
    const Local *data = call->input[0], *indices = call->input[1], *out = call->output[0];
    int64_t n_batch = op_attr_int(kernel_graph(call), call->op, "batch_dims", 0);
    int64_t n_points = indices->shape.n_dims - 1, data_stride[DIMS_MAX], index_stride[DIMS_MAX];
    int64_t n = n_points < 0 ? 0 : indices->whole.dim[n_points], data_start = 0, index_start = 0;
    if (n_points < 0 || n_batch < 0 || n_batch > n_points || n_batch + n > data->shape.n_dims ||
        indices->shape.dim[n_points] != n ||
        out->shape.n_dims != n_points + data->shape.n_dims - n_batch - n)
        return false;
    Gather g = {.n_dims = (int)out->shape.n_dims, .n_components = (int)n, .first = (int)n_batch};
    g.component_step = 1;
    row_major_strides(&data->shape, data_stride);
    row_major_strides(&indices->shape, index_stride);
    for (int d = 0; d < g.n_dims; d++) {
        bool point = d < n_points;
        int64_t from = point ? d : d - n_points + n_batch + n;
        g.dim[d].size = out->shape.dim[d];
        if (point && !match(call, &g, d, indices, d, index_stride[d], false, &index_start))
            return false;
        if ((!point || d < n_batch) && !match(call, &g, d, data, point ? d : from,
                                              data_stride[point ? d : from], true, &data_start))
            return false;
    }
    build_gather(build, call, &g, data_start, index_start);
    return true;
}

static bool gather_elements(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    int64_t axis, data_stride[DIMS_MAX], index_stride[DIMS_MAX], data_start = 0, index_start = 0;
    if (!fits(call) || !kernel_axis(call, 0, call->input[0]->shape.n_dims, &axis, NULL))
        return false;
    const Local *data = call->input[0], *indices = call->input[1], *out = call->output[0];
    Gather g = {.n_dims = (int)out->shape.n_dims, .n_components = 1, .first = (int)axis};
    if (data->shape.n_dims != g.n_dims || indices->shape.n_dims != g.n_dims)
        return false;
    row_major_strides(&data->shape, data_stride);
    row_major_strides(&indices->shape, index_stride);
    for (int d = 0; d < g.n_dims; d++) {
        g.dim[d].size = out->shape.dim[d];
        if (!match(call, &g, d, indices, d, index_stride[d], false, &index_start) ||
            (d != axis && !match(call, &g, d, data, d, data_stride[d], true, &data_start)))
            return false;
    }
    build_gather(build, call, &g, data_start, index_start);
    return true;
}

/* ---- ScatterElements ---- */

static const char scatter_body[] =
    "typedef struct {\n"
    "    T *to;\n    const t_INDEX *indices;\n    const T *updates;\n    int *fault;\n"
    "    i64 n_lines, n, along, to_along, rows;\n    const i64 *row_table;\n"
    "    const i64 *line_to, *line_from;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 line = (i64)blockIdx.x * 256 + threadIdx.x; line < a.n_lines;\n"
    "         line += (i64)gridDim.x * 256) {\n"
    "        i64 to = a.line_to[line], from = a.line_from[line];\n"
    "        for (i64 i = 0; i < a.n && to >= 0; i++) {\n"
    "            i64 row = row_of(LOAD_INDEX(a.indices[from + i * a.along]), a.rows,\n"
    "                             a.row_table, a.fault);\n"
    "            if (row < 0)\n"
    "                continue;\n"
    "            T *at = a.to + to + row * a.to_along;\n"
    "            T y = a.updates[from + i * a.along];\n"
    "            *at = RESULT;\n"
    "        }\n"
    "    }\n"
    "}\n";

static const struct {
    const char *name, *of_numbers; /* expression of x (old) and y (update); NULL: y */
} scatters[] = {
    {"none", NULL},
    {"add", "x + y"},
    {"mul", "x * y"},
    {"max", "(x > y || !(x == x) ? x : y)"},
    {"min", "(x < y || !(x == x) ? x : y)"},
};

static int scatter_kind(const KernelCall *call)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, "reduction");
    Str word = attr ? attr->s : STR("none");
    for (size_t i = 0; i < sizeof scatters / sizeof *scatters; i++)
        if (str_eq(word, str_from(scatters[i].name)))
            return (int)i;
    return -1;
}

/* Per line along the axis: its start in the output (-1: not local) and in the updates. */
static void arg_lines(KernelText *k, const KernelCall *call, int64_t axis, int64_t n)
{
    const Local *out = call->output[0], *indices = call->input[1];
    int64_t to_stride[DIMS_MAX], stride[DIMS_MAX], *global[DIMS_MAX];
    row_major_strides(&out->shape, to_stride);
    row_major_strides(&indices->shape, stride);
    for (int64_t d = 0; d < indices->shape.n_dims; d++)
        global[d] = kernel_globals(call->scratch, &indices->runs[d]);
    int64_t *to = arena_array(call->scratch, int64_t, n);
    int64_t *from = arena_array(call->scratch, int64_t, n);
    for (int64_t line = 0; line < n; line++) {
        int64_t rest = line;
        for (int64_t d = indices->shape.n_dims - 1; d >= 0; d--) {
            if (d == axis)
                continue;
            int64_t at = rest % indices->shape.dim[d];
            int64_t found = runs_find(&out->runs[d], global[d][at]);
            rest /= indices->shape.dim[d];
            from[line] += at * stride[d];
            to[line] = found < 0 || to[line] < 0 ? -1 : to[line] + found * to_stride[d];
        }
    }
    arg_table(k, to, n * 8);
    arg_table(k, from, n * 8);
}

static bool scatter_fits(const KernelCall *call, int64_t *axis)
{
    const Local *data = kernel_input(call, 0), *indices = kernel_input(call, 1);
    const Local *updates = kernel_input(call, 2), *out = call->output[0];
    return fits(call) && updates && updates->dtype == out->dtype && dtype_on_device(out->dtype) &&
           indices->shape.n_dims == out->shape.n_dims && shape_equal(&data->shape, &out->shape) &&
           shape_equal(&indices->shape, &updates->shape) &&
           kernel_axis(call, 0, out->shape.n_dims, axis, NULL);
}

static bool scatter_elements(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    int64_t axis, stride[DIMS_MAX], to_stride[DIMS_MAX];
    int kind = scatter_kind(call);
    if (kind < 0 || !scatter_fits(call, &axis))
        return false;
    const Local *indices = call->input[1], *out = call->output[0];
    bool sums = strcmp(scatters[kind].name, "add") == 0;
    if (!sums || !call->reduce_cut || call->first)
        build_copy(build, place_output(0, 0), place_input(0, 0), local_bytes(out));
    else
        build_zero(build, place_output(0, 0), local_bytes(out));
    if (shape_elements(&indices->shape) == 0)
        return true;

    const char *index = dtype_name(indices->dtype), *reduced = scatters[kind].of_numbers;
    int64_t n_lines = shape_elements(&indices->shape) / indices->shape.dim[axis];
    KernelText k = kernel_text(build, "scatter_%s", dtype_name(out->dtype));
    put_types(&k, out->dtype, dtype_number(out->dtype));
    put_combine(&k, reduced ? reduced : "x + y");
    buf_printf(&k.text,
               "enum { FAULT_INDEX = %d, CUT = 1 };\n%stypedef t_%s t_INDEX;\n"
               "#define LOAD_INDEX(x) load_%s_i64(x)\n#define RESULT %s\n%s",
               FAULT_INDEX, row_function, index, index, reduced ? "combine(*at, y)" : "y",
               scatter_body);
    row_major_strides(&indices->shape, stride);
    row_major_strides(&out->shape, to_stride);
    ARGS_PLACES(&k, place_output(0, 0), place_input(0, 1), place_input(0, 2), place_fault());
    ARGS_I64(&k, n_lines, indices->shape.dim[axis], stride[axis], to_stride[axis],
             out->whole.dim[axis]);
    arg_row_table(&k, out, axis);
    arg_lines(&k, call, axis, n_lines);
    build_launch(&k, launch_over(n_lines));
    return true;
}

const DeviceOp device_ops_gather[] = {
    {"Gather", gather, NULL},
    {"GatherND", gather_nd, NULL},
    {"GatherElements", gather_elements, NULL},
    {"ScatterElements", scatter_elements, NULL},
    {0},
};
