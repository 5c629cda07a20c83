/* gen_rows.c - kernels on rows: softmaxes and their gradients, LayerNormalization, other norms.
 *
 * A row is contiguous. It is read once, 16 bytes per thread at a time, and kept in registers; sums
 * go through shuffles and, with several warps per row, shared memory, in a fixed order.
 *
 *     up to 1,024 elements    a warp a row, 4 rows a block
 *     up to 4,096             4 warps a row
 *     up to 16,384            16 warps a row
 *     beyond                  16 warps, and the row is read again for each pass
 *
 * Softmax along another dim than the last uses a thread per row, which coalesces reads.
 */
#include "core/run/cuda/device_build.h"

/* Reductions over the threads of a row. W: warps per row, V: elements per load, E: loads per
 * thread. */
static const char row_head[] =
    "enum { LANES = 32 * W, ROWS = W == 1 ? 4 : 1, KEPT = E > 0 ? E : 1 };\n"
    "#define COMBINE(name, how, start) \\\n"
    "    DEVICE C name(C x, C *room) \\\n"
    "    { \\\n"
    "        UNROLL \\\n"
    "        for (int m = 16; m > 0; m /= 2) { \\\n"
    "            C y = SHUFFLE(x, m); \\\n"
    "            x = how; \\\n"
    "        } \\\n"
    "        if (W == 1) \\\n"
    "            return x; \\\n"
    "        __syncthreads(); \\\n"
    "        if (threadIdx.x % 32 == 0) \\\n"
    "            room[threadIdx.x / 32] = x; \\\n"
    "        __syncthreads(); \\\n"
    "        x = start; \\\n"
    "        UNROLL \\\n"
    "        for (int w = 0; w < W; w++) { \\\n"
    "            C y = room[w]; \\\n"
    "            x = how; \\\n"
    "        } \\\n"
    "        return x; \\\n"
    "    }\n"
    "COMBINE(sum_of, x + y, 0)\n"
    "COMBINE(most_of, (x > y || !(x == x) ? x : y), -INFINITY)\n"
    "/* Does for the elements x of a row, at places i. */\n"
    "#define EACH(loaded, body) \\\n"
    "    if (E > 0) { \\\n"
    "        UNROLL \\\n"
    "        for (int e = 0; e < E; e++) { \\\n"
    "            i64 at = ((i64)e * LANES + lane) * V; \\\n"
    "            if (at < a.n) { \\\n"
    "                if (!loaded) \\\n"
    "                    kept[e] = *(const V_T *)(from + at); \\\n"
    "                UNROLL \\\n"
    "                for (int k = 0; k < V; k++) { \\\n"
    "                    i64 i = at + k; \\\n"
    "                    C x = LOAD(kept[e].e[k]); \\\n"
    "                    (void)i; \\\n"
    "                    body \\\n"
    "                } \\\n"
    "                WRITTEN \\\n"
    "            } \\\n"
    "        } \\\n"
    "    } else { \\\n"
    "        for (i64 at = (i64)lane * V; at < a.n; at += LANES * V) { \\\n"
    "            const int e = 0; \\\n"
    "            kept[e] = *(const V_T *)(from + at); \\\n"
    "            UNROLL \\\n"
    "            for (int k = 0; k < V; k++) { \\\n"
    "                i64 i = at + k; \\\n"
    "                C x = LOAD(kept[e].e[k]); \\\n"
    "                (void)i; \\\n"
    "                body \\\n"
    "            } \\\n"
    "            WRITTEN \\\n"
    "        } \\\n"
    "    }\n"
    "#define PUT(y) kept[e].e[k] = STORE(y);\n";

static const char softmax_body[] =
    "typedef struct {\n    const T *x;\n    T *y;\n    i64 n, n_rows;\n} Args;\n"
    "KERNEL(ROWS * LANES, NAME, Args)\n"
    "{\n"
    "    SHARED C room[W];\n"
    "    int lane = threadIdx.x % LANES;\n"
    "    for (i64 row = (i64)blockIdx.x * ROWS + threadIdx.x / LANES; row < a.n_rows;\n"
    "         row += (i64)gridDim.x * ROWS) {\n"
    "        const T *from = a.x + row * a.n;\n"
    "        V_T kept[KEPT];\n"
    "        C most = -INFINITY, sum = 0;\n"
    "#define WRITTEN\n"
    "        EACH(0, most = x > most || !(x == x) ? x : most;)\n"
    "        most = most_of(most, room);\n"
    "        EACH(1, sum += EXP(x - most);)\n"
    "        sum = sum_of(sum, room);\n"
    "        C last = LAST;\n"
    "#undef WRITTEN\n"
    "#define WRITTEN *(V_T *)(a.y + row * a.n + at) = kept[e];\n"
    "        EACH(1, PUT(RESULT))\n"
    "#undef WRITTEN\n"
    "    }\n"
    "}\n";

static const char column_body[] =
    "typedef struct {\n    const T *x;\n    T *y;\n    i64 n, step, n_rows;\n} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 row = (i64)blockIdx.x * 256 + threadIdx.x; row < a.n_rows;\n"
    "         row += (i64)gridDim.x * 256) {\n"
    "        i64 start = row / a.step * a.step * a.n + row % a.step;\n"
    "        C most = -INFINITY, sum = 0;\n"
    "        for (i64 i = 0; i < a.n; i++) {\n"
    "            C x = LOAD(a.x[start + i * a.step]);\n"
    "            most = x > most || !(x == x) ? x : most;\n"
    "        }\n"
    "        for (i64 i = 0; i < a.n; i++)\n"
    "            sum += EXP(LOAD(a.x[start + i * a.step]) - most);\n"
    "        C last = LAST;\n"
    "        for (i64 i = 0; i < a.n; i++) {\n"
    "            C x = LOAD(a.x[start + i * a.step]);\n"
    "            a.y[start + i * a.step] = STORE(RESULT);\n"
    "        }\n"
    "    }\n"
    "}\n";

/* Scale and bias of element i of a row: at row % rows_each * row_step + i / each. */
static const char norm_body[] =
    "typedef struct {\n"
    "    const T *x;\n    T *y;\n    const S *scale;\n    const B *bias;\n"
    "    MEAN_TYPE *mean;\n    INVERSE_TYPE *inverse;\n"
    "    i64 n, n_rows, rows_each, row_step, each;\n    double epsilon;\n"
    "} Args;\n"
    "KERNEL(ROWS * LANES, NAME, Args)\n"
    "{\n"
    "    SHARED C room[W];\n"
    "    int lane = threadIdx.x % LANES;\n"
    "    for (i64 row = (i64)blockIdx.x * ROWS + threadIdx.x / LANES; row < a.n_rows;\n"
    "         row += (i64)gridDim.x * ROWS) {\n"
    "        const T *from = a.x + row * a.n;\n"
    "        i64 side = row % a.rows_each * a.row_step;\n"
    "        V_T kept[KEPT];\n"
    "        C mean = 0, squares = 0;\n"
    "#define WRITTEN\n"
    "        if (CENTRE) {\n"
    "            EACH(0, mean += x;)\n"
    "            mean = sum_of(mean, room) / (C)a.n;\n"
    "        }\n"
    "        EACH(CENTRE, squares += (x - mean) * (x - mean);)\n"
    "        squares = sum_of(squares, room) / (C)a.n;\n"
    "        C inverse = 1 / SQRT(squares + (C)a.epsilon);\n"
    "#undef WRITTEN\n"
    "#define WRITTEN *(V_T *)(a.y + row * a.n + at) = kept[e];\n"
    "        EACH(1, PUT((x - mean) * inverse * SCALE(side + PLACE(i)) + BIAS(side + PLACE(i))))\n"
    "#undef WRITTEN\n"
    "        if (lane == 0) {\n"
    "            STORE_STATISTICS\n"
    "        }\n"
    "    }\n"
    "}\n";

/* ---- shapes of rows ---- */

typedef struct {
    int warps, vector, loads; /* loads 0: the row is read again */
} RowForm;

static RowForm row_form(Dtype dtype, int64_t n)
{
    RowForm form = {.warps = n <= 1024 ? 1 : n <= 4096 ? 4 : 16};
    form.vector = (int)(16 / element_bytes(dtype));
    while (n % form.vector != 0)
        form.vector /= 2;
    int64_t each = 32 * form.warps * form.vector;
    form.loads = 1;
    while (form.loads * each < n)
        form.loads *= 2;
    if (form.loads * form.vector > 32)
        form.loads = 0;
    return form;
}

static LaunchSize row_size(RowForm form, int64_t n_rows)
{
    int64_t rows = form.warps == 1 ? 4 : 1, blocks = (n_rows + rows - 1) / rows;
    return (LaunchSize){
        {blocks < 1 << 20 ? blocks : 1 << 20, 1, 1}, (int)rows * 32 * form.warps, 0};
}

static void put_row_types(KernelText *k, Dtype dtype, RowForm form)
{
    put_types(k, dtype, dtype_number(dtype));
    buf_printf(&k->text, "enum { W = %d, V = %d, E = %d };\n", form.warps, form.vector, form.loads);
    put_vector_type(&k->text, dtype, form.vector);
    buf_printf(&k->text, "typedef V_%s V_T;\n", dtype_name(dtype));
}

static bool is_real(const Local *local)
{
    return local && dtype_on_device(local->dtype) && dtype_is_float(local->dtype);
}

/* ---- Softmax, LogSoftmax ---- */

/* A row: n elements, `step` apart. */
typedef struct {
    int64_t n, step, n_rows;
} SoftmaxRows;

static bool softmax_rows(const KernelCall *call, const Local *local, SoftmaxRows *out)
{
    bool old = kernel_graph(call)->opset > 0 && kernel_graph(call)->opset < 13;
    int64_t axis;
    if (!kernel_axis(call, old ? 1 : -1, local->shape.n_dims, &axis, NULL))
        return false;
    int64_t end = old ? local->shape.n_dims : axis + 1;
    *out = (SoftmaxRows){1, 1, 0};
    for (int64_t d = axis; d < local->shape.n_dims; d++)
        *(d < end ? &out->n : &out->step) *= local->shape.dim[d];
    out->n_rows = shape_elements(&local->shape) / out->n;
    return kernel_whole(local, axis, end, NULL);
}

/* The text for rows whose elements follow each other, or for those that are columns. */
static void launch_softmax(KernelText *k, const SoftmaxRows *rows, RowForm form, const char *body,
                           const char *of_columns)
{
    ARGS_I64(k, rows->n);
    if (rows->step > 1) {
        buf_puts(&k->text, of_columns);
        ARGS_I64(k, rows->step);
    } else {
        buf_puts(&k->text, row_head);
        buf_puts(&k->text, body);
    }
    ARGS_I64(k, rows->n_rows);
    build_launch(k, rows->step > 1 ? launch_over(rows->n_rows) : row_size(form, rows->n_rows));
}

static bool softmax(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    SoftmaxRows rows;
    if (!is_real(in) || in->dtype != out->dtype || !shape_equal(&in->shape, &out->shape) ||
        !softmax_rows(call, in, &rows))
        return false;
    KernelText k = kernel_text(build, "%ssoftmax%s_%s", row ? "log_" : "",
                               rows.step > 1 ? "_columns" : "", dtype_name(in->dtype));
    RowForm form = row_form(in->dtype, rows.n);
    put_row_types(&k, in->dtype, form);
    buf_puts(&k.text, row ? "#define LAST LOG(sum)\n#define RESULT (x - most - last)\n"
                          : "#define LAST (1 / sum)\n#define RESULT (EXP(x - most) * last)\n");
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0));
    launch_softmax(&k, &rows, form, softmax_body, column_body);
    return true;
}

/* ---- their gradients, SumExp ---- */

/* d: the gradient, x: the result, of which NaN gives 0 as torch's does */
static const char *const gradient_texts[2] = {
    "#define TERM (x == x ? d * x : 0)\n#define RESULT (x == x ? x * (d - sum) : 0)\n",
    "#define TERM d\n#define RESULT (d - EXP(x) * sum)\n"};

static const char softmax_gradient_body[] =
    "typedef struct {\n    const T *d, *x;\n    T *y;\n    i64 n, n_rows;\n} Args;\n"
    "KERNEL(ROWS * LANES, NAME, Args)\n"
    "{\n"
    "    SHARED C room[W];\n"
    "    int lane = threadIdx.x % LANES;\n"
    "    for (i64 row = (i64)blockIdx.x * ROWS + threadIdx.x / LANES; row < a.n_rows;\n"
    "         row += (i64)gridDim.x * ROWS) {\n"
    "        const T *from = a.x + row * a.n, *gradient = a.d + row * a.n;\n"
    "        V_T kept[KEPT];\n"
    "        C sum = 0;\n"
    "#define WRITTEN\n"
    "        EACH(0, C d = LOAD(gradient[i]); (void)x; sum += TERM;)\n"
    "        sum = sum_of(sum, room);\n"
    "#undef WRITTEN\n"
    "#define WRITTEN *(V_T *)(a.y + row * a.n + at) = kept[e];\n"
    "        EACH(1, C d = LOAD(gradient[i]); PUT(RESULT))\n"
    "#undef WRITTEN\n"
    "    }\n"
    "}\n";

static const char column_gradient_body[] =
    "typedef struct {\n    const T *d, *x;\n    T *y;\n    i64 n, step, n_rows;\n} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 row = (i64)blockIdx.x * 256 + threadIdx.x; row < a.n_rows;\n"
    "         row += (i64)gridDim.x * 256) {\n"
    "        i64 start = row / a.step * a.step * a.n + row % a.step;\n"
    "        C sum = 0;\n"
    "        for (i64 i = 0; i < a.n; i++) {\n"
    "            C x = LOAD(a.x[start + i * a.step]), d = LOAD(a.d[start + i * a.step]);\n"
    "            (void)x;\n"
    "            sum += TERM;\n"
    "        }\n"
    "        for (i64 i = 0; i < a.n; i++) {\n"
    "            C x = LOAD(a.x[start + i * a.step]), d = LOAD(a.d[start + i * a.step]);\n"
    "            a.y[start + i * a.step] = STORE(RESULT);\n"
    "        }\n"
    "    }\n"
    "}\n";

/* row: of LogSoftmax */
static bool softmax_gradient(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *d = kernel_input(call, 0), *y = kernel_input(call, 1), *out = call->output[0];
    SoftmaxRows rows;
    if (!is_real(d) || !y || d->dtype != y->dtype || d->dtype != out->dtype ||
        !shape_equal(&d->shape, &out->shape) || !shape_equal(&y->shape, &out->shape) ||
        !softmax_rows(call, out, &rows))
        return false;
    KernelText k = kernel_text(build, "%ssoftmax_grad%s_%s", row ? "log_" : "",
                               rows.step > 1 ? "_columns" : "", dtype_name(d->dtype));
    RowForm form = row_form(d->dtype, rows.n);
    put_row_types(&k, d->dtype, form);
    buf_puts(&k.text, gradient_texts[row != NULL]);
    ARGS_PLACES(&k, place_input(0, 0), place_input(0, 1), place_output(0, 0));
    launch_softmax(&k, &rows, form, softmax_gradient_body, column_gradient_body);
    return true;
}

static const char sum_exp_body[] =
    "typedef struct {\n    const T *x;\n    const MOST *most;\n    OUT *y;\n    i64 n, n_rows;\n"
    "} Args;\n"
    "KERNEL(ROWS * LANES, NAME, Args)\n"
    "{\n"
    "    SHARED C room[W];\n"
    "    int lane = threadIdx.x % LANES;\n"
    "    for (i64 row = (i64)blockIdx.x * ROWS + threadIdx.x / LANES; row < a.n_rows;\n"
    "         row += (i64)gridDim.x * ROWS) {\n"
    "        const T *from = a.x + row * a.n;\n"
    "        V_T kept[KEPT];\n"
    "        C most = LOAD_MOST(a.most[row]), sum = 0;\n"
    "#define WRITTEN\n"
    "        EACH(0, sum += EXP(x - most);)\n"
    "        sum = sum_of(sum, room);\n"
    "        if (lane == 0)\n"
    "            a.y[row] = STORE_OUT(sum);\n"
    "    }\n"
    "}\n";

/* Scores and the largest of each row -> the sum of exp(score - largest), of the scores held here.
 */
static bool sum_exp(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *in = kernel_input(call, 0), *most = kernel_input(call, 1), *out = call->output[0];
    if (!is_real(in) || !is_real(most) || !is_real(out) || in->shape.n_dims < 1)
        return false;
    int64_t n = in->shape.dim[in->shape.n_dims - 1], n_rows = shape_elements(&out->shape);
    if (n == 0 || shape_elements(&in->shape) != n * n_rows ||
        shape_elements(&most->shape) != n_rows)
        return false;
    const char *class = number_name(dtype_number(in->dtype)), *type = dtype_name(most->dtype);
    KernelText k = kernel_text(build, "sum_exp_%s", dtype_name(in->dtype));
    RowForm form = row_form(in->dtype, n);
    put_row_types(&k, in->dtype, form);
    buf_printf(&k.text, "typedef t_%s MOST;\n#define LOAD_MOST(x) load_%s_%s(x)\n", type, type,
               class);
    type = dtype_name(out->dtype);
    buf_printf(&k.text, "typedef t_%s OUT;\n#define STORE_OUT(x) store_%s_%s(x)\n%s%s", type, type,
               class, row_head, sum_exp_body);
    ARGS_PLACES(&k, place_input(0, 0), place_input(0, 1), place_output(0, 0));
    ARGS_I64(&k, n, n_rows);
    build_launch(&k, row_size(form, n_rows));
    return true;
}

/* ---- norms ---- */

typedef struct {
    int64_t n, n_rows, rows_each, row_step, each;
    bool centre, scalar_scale, scalar_bias;
    double epsilon;
} Norm;

static const char *type_of(const Local *local)
{
    return local ? dtype_name(local->dtype) : "f32";
}

static void put_side(Buf *text, const char *macro, const char *field, const Local *side,
                     bool scalar, Dtype dtype, const char *fallback)
{
    if (side)
        buf_printf(text, "#define %s(i) load_%s_%s(a.%s[%s])\n", macro, dtype_name(side->dtype),
                   number_name(dtype_number(dtype)), field, scalar ? "0" : "i");
    else
        buf_printf(text, "#define %s(i) %s\n", macro, fallback);
}

/* Optional outputs: 1 is the mean (for RMS the inverse), 2 the inverse deviation. */
static void put_statistics(const KernelCall *call, const Norm *norm, const Local *statistics[3],
                           Buf *text)
{
    const char *class = number_name(dtype_number(call->input[0]->dtype));
    for (int q = 1; q < 3; q++)
        statistics[q] = kernel_output(call, q);
    buf_printf(text,
               "typedef t_%s MEAN_TYPE;\ntypedef t_%s INVERSE_TYPE;\n#define STORE_STATISTICS \\\n",
               type_of(statistics[1]), type_of(statistics[2]));
    if (statistics[1])
        buf_printf(text, "    a.mean[row] = store_%s_%s(%s); \\\n", type_of(statistics[1]), class,
                   norm->centre ? "mean" : "inverse");
    if (statistics[2])
        buf_printf(text, "    a.inverse[row] = store_%s_%s(inverse); \\\n", type_of(statistics[2]),
                   class);
    buf_puts(text, "    ;\n");
}

static bool build_norm(DeviceBuild *build, const KernelCall *call, const Norm *norm)
{
    const Local *in = call->input[0], *scale = kernel_input(call, 1), *bias = kernel_input(call, 2);
    const Local *statistics[3];
    if ((scale && !is_real(scale)) || (bias && !is_real(bias)) || norm->n == 0)
        return false;
    KernelText k = kernel_text(build, "norm_%s", dtype_name(in->dtype));
    RowForm form = row_form(in->dtype, norm->n);
    put_row_types(&k, in->dtype, form);
    buf_printf(&k.text, "enum { CENTRE = %d };\ntypedef t_%s S;\ntypedef t_%s B;\n", norm->centre,
               type_of(scale), type_of(bias));
    buf_printf(&k.text, "#define PLACE(i) %s\n", norm->each == 1 ? "(i)" : "((i) / a.each)");
    put_side(&k.text, "SCALE", "scale", scale, norm->scalar_scale, in->dtype, "1");
    put_side(&k.text, "BIAS", "bias", bias, norm->scalar_bias, in->dtype, "0");
    put_statistics(call, norm, statistics, &k.text);
    buf_puts(&k.text, row_head);
    buf_puts(&k.text, norm_body);
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0));
    arg_place_if(&k, scale, place_input(0, 1));
    arg_place_if(&k, bias, place_input(0, 2));
    arg_place_if(&k, statistics[1], place_output(0, 1));
    arg_place_if(&k, statistics[2], place_output(0, 2));
    ARGS_I64(&k, norm->n, norm->n_rows, norm->rows_each, norm->row_step, norm->each);
    arg_f64(&k, norm->epsilon);
    build_launch(&k, row_size(form, norm->n_rows));
    return true;
}

/* Whether scale or bias has one element per element of a row, or one for all. */
static bool side_fits(const Local *side, const Local *out, int64_t axis, int64_t n, bool *scalar)
{
    int64_t stride[DIMS_MAX] = {0}, step = 1;
    *scalar = !side || shape_elements(&side->shape) == 1;
    if (*scalar)
        return true;
    if (shape_elements(&side->shape) != n || !kernel_broadcast(side, out, stride, NULL))
        return false;
    for (int64_t d = out->shape.n_dims - 1; d >= 0; d--) {
        int64_t want = d < axis ? 0 : step;
        if (out->shape.dim[d] > 1 && stride[d] != want)
            return false;
        step *= out->shape.dim[d];
    }
    return true;
}

static bool layer_norm(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    int64_t axis;
    if (!is_real(in) || !out || in->dtype != out->dtype || !shape_equal(&in->shape, &out->shape) ||
        !kernel_axis(call, -1, in->shape.n_dims, &axis, NULL) ||
        !kernel_whole(in, axis, in->shape.n_dims, NULL))
        return false;
    Norm norm = {.n = 1, .rows_each = 1, .each = 1, .centre = row == NULL};
    norm.epsilon = op_attr_float(kernel_graph(call), call->op, "epsilon", 1e-5);
    for (int64_t d = axis; d < in->shape.n_dims; d++)
        norm.n *= in->shape.dim[d];
    norm.n_rows = shape_elements(&in->shape) / norm.n;
    for (int q = 1; q < 3 && q < call->n_outputs; q++)
        if (call->output[q] &&
            (shape_elements(&call->output[q]->shape) != norm.n_rows || !is_real(call->output[q])))
            return false;
    return side_fits(kernel_input(call, 1), out, axis, norm.n, &norm.scalar_scale) &&
           side_fits(kernel_input(call, 2), out, axis, norm.n, &norm.scalar_bias) &&
           build_norm(build, call, &norm);
}

/* InstanceNormalization, GroupNormalization: a row is a group of channels of a sample. */
static bool image_norm(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    if (!is_real(in) || !kernel_input(call, 1) || !kernel_input(call, 2) || call->n_outputs != 1 ||
        in->dtype != out->dtype || !shape_equal(&in->shape, &out->shape) || in->shape.n_dims < 2 ||
        !kernel_whole(in, 2, in->shape.n_dims, NULL))
        return false;
    RuleCall rule = device_rule_call(call);
    int64_t channels = in->shape.dim[1], n_group = 1, pixels = 1, each = 1;
    if (row) {
        int64_t groups = op_attr_int(kernel_graph(call), call->op, "num_groups", 1);
        n_group = groups > 0 ? in->whole.dim[1] / groups : 0;
        each = rule.opset < 21 ? n_group : 1; /* channels that share scale and bias */
    }
    if (n_group < 1 || channels % n_group != 0)
        return false;
    for (int64_t d = 2; d < in->shape.n_dims; d++)
        pixels *= in->shape.dim[d];
    for (int i = 1; i < 3; i++)
        if (shape_elements(&call->input[i]->shape) != channels / each)
            return false;
    Norm norm = {.n = n_group * pixels, .centre = true, .each = each * pixels};
    norm.n_rows = in->shape.dim[0] * channels / n_group;
    norm.rows_each = channels / n_group;
    norm.row_step = n_group / each;
    norm.epsilon = op_attr_float(kernel_graph(call), call->op, "epsilon", 1e-5);
    return build_norm(build, call, &norm);
}

const DeviceOp device_ops_rows[] = {
    {"SoftmaxBackward", softmax_gradient, NULL},
    {"LogSoftmaxBackward", softmax_gradient, "log"},
    {"SumExp", sum_exp, NULL},
    {"Softmax", softmax, NULL},
    {"LogSoftmax", softmax, "log"},
    {"LayerNormalization", layer_norm, NULL},
    {"RMSNormalization", layer_norm, "rms"},
    {"InstanceNormalization", image_norm, NULL},
    {"GroupNormalization", image_norm, "groups"},
    {0},
};
