/* gen_reduce.c - kernels that fold: ReduceSum and other reductions, sums over index points.
 *
 * An output is a fold over a function of the elements at each point, in the class of its type.
 * Where neighbours in memory are folded a warp computes an output; else a thread does. Long folds
 * with few outputs are split over blocks into a workspace that a second launch folds, both in a
 * fixed order, so that every run gives the same bits.
 */
#include "core/run/cuda/device_build.h"

#include <assert.h>

enum { BLOCKS_WANTED = 512, SPLITS_MAX = 64, SPLIT_LEAST = 512, WARP_MOST = 2048 };

typedef struct {
    const char *start, *of, *merge, *last; /* of x0; s and t; s */
    bool mean;
} ReduceText;

/* A second row for integers, where it differs. */
static const struct {
    const char *name;
    ReduceText of_floats, of_ints;
} rows[] = {
    {"ReduceSum", {"0", "x0", "s + t", "s", false}, {"0", "x0", "WRAP(s, +, t)", "s", false}},
    {"ReduceMean",
     {"0", "x0", "s + t", "s / (C)a.factor", true},
     {"0", "x0", "WRAP(s, +, t)", "s / (C)a.factor", true}},
    {"ReduceMax",
     {"-INFINITY", "x0", "(s > t || !(s == s) ? s : t)", "s", false},
     {"LEAST", "x0", "(s > t ? s : t)", "s", false}},
    {"ReduceMin",
     {"INFINITY", "x0", "(s < t || !(s == s) ? s : t)", "s", false},
     {"~LEAST", "x0", "(s < t ? s : t)", "s", false}},
    {"ReduceProd", {"1", "x0", "s * t", "s", false}, {"1", "x0", "WRAP(s, *, t)", "s", false}},
    {"ReduceL1",
     {"0", "(x0 < 0 ? -x0 : x0)", "s + t", "s", false},
     {"0", "(x0 < 0 ? WRAP(0, -, x0) : x0)", "WRAP(s, +, t)", "s", false}},
    {"ReduceSumSquare",
     {"0", "x0 * x0", "s + t", "s", false},
     {"0", "WRAP(x0, *, x0)", "WRAP(s, +, t)", "s", false}},
    {"ReduceLogSum", {"0", "x0", "s + t", "LOG(s)", false}, {0}},
    {"ReduceLogSumExp", {"-INFINITY", "x0", "log_add(s, t)", "s", false}, {0}},
    {"ReduceL2", {"0", "x0 * x0", "s + t", "SQRT(s)", false}, {0}},
};

static const char log_add[] =
    "DEVICE C log_add(C x, C y)\n"
    "{\n"
    "    C most = x > y || !(x == x) ? x : y, least = x > y || !(x == x) ? y : x;\n"
    "    return most == (C)-INFINITY ? most : most + LOG1P(EXP(least - most));\n"
    "}\n";

/* OPERANDS operands at places that add up over the dims: K kept ones and R folded ones. */
static const char head[] =
    "#define LEAST ((i64)((u64)1 << 63))\n"
    "typedef struct {\n"
    "    READS\n    OUT *y;\n    i64 n, n_folded, each;\n    double factor, p, q;\n"
    "    i64 kept_size[K + 1], to[K + 1], size[R + 1];\n"
    "    i64 kept_step[OPERANDS][K + 1], step[OPERANDS][R + 1];\n"
    "} Args;\n"
    "DEVICE C merged(C s, C t) { return MERGE; }\n"
    "DEVICE C element(ELEMENTS, C p, C q)\n"
    "{\n"
    "    (void)p, (void)q;\n"
    "    return OF;\n"
    "}\n"
    "#define WALK(i, n, size, step, at, to_step) \\\n"
    "    { \\\n"
    "        i64 rest = i; \\\n"
    "        UNROLL \\\n"
    "        for (int d = n - 1; d >= 0; d--) { \\\n"
    "            i64 along = d > 0 ? rest % size[d] : rest; \\\n"
    "            rest = d > 0 ? rest / size[d] : 0; \\\n"
    "            UNROLL \\\n"
    "            for (int k = 0; k < OPERANDS; k++) \\\n"
    "                at[k] += along * step[k][d]; \\\n"
    "            to_step \\\n"
    "        } \\\n"
    "    }\n"
    "#define FOLD(first, stride) \\\n"
    "    i64 base[OPERANDS] = {0}, to = 0, begin = blockIdx.y * a.each; \\\n"
    "    i64 end = begin + a.each < a.n_folded ? begin + a.each : a.n_folded; \\\n"
    "    WALK(o, K, a.kept_size, a.kept_step, base, to += along * a.to[d];) \\\n"
    "    C s = START; \\\n"
    "    for (i64 r = begin + first; r < end; r += stride) { \\\n"
    "        i64 at[OPERANDS]; \\\n"
    "        UNROLL \\\n"
    "        for (int k = 0; k < OPERANDS; k++) \\\n"
    "            at[k] = base[k]; \\\n"
    "        WALK(r, R, a.size, a.step, at, ) \\\n"
    "        s = merged(s, element(LOADS, (C)a.p, (C)a.q)); \\\n"
    "    }\n";

static const char columns_body[] =
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 o = (i64)blockIdx.x * 256 + threadIdx.x; o < a.n; o += (i64)gridDim.x * 256) {\n"
    "        FOLD(0, 1)\n"
    "        a.y[PLACE] = STORE(LAST);\n"
    "    }\n"
    "}\n";

/* W warps per output. */
static const char rows_body[] =
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    SHARED C room[8];\n"
    "    int lane = threadIdx.x % (32 * W);\n"
    "    for (i64 o = (i64)blockIdx.x * (8 / W) + threadIdx.x / (32 * W); o < a.n;\n"
    "         o += (i64)gridDim.x * (8 / W)) {\n"
    "        FOLD(lane, 32 * W)\n"
    "        UNROLL\n"
    "        for (int m = 16; m > 0; m /= 2)\n"
    "            s = merged(s, SHUFFLE(s, m));\n"
    "        if (W > 1) {\n"
    "            __syncthreads();\n"
    "            if (threadIdx.x % 32 == 0)\n"
    "                room[threadIdx.x / 32] = s;\n"
    "            __syncthreads();\n"
    "            s = room[0];\n"
    "            for (int w = 1; w < W; w++)\n"
    "                s = merged(s, room[w]);\n"
    "        }\n"
    "        if (lane == 0)\n"
    "            a.y[PLACE] = STORE(LAST);\n"
    "    }\n"
    "}\n";

/* ---- the dims ---- */

typedef struct {
    int n;
    int64_t size[X_MAX], to[X_MAX], step[FOLD_OPERANDS][X_MAX];
} ReducedSide;

typedef struct {
    ReducedSide kept, folded;
    int64_t n, n_folded;
    bool in_rows;
} Dims;

/* Joined with the dim before where all places are as far apart. */
static void add_dim(ReducedSide *side, const FoldDim *dim, int n_operands)
{
    int last = side->n - 1;
    bool joins = last >= 0 && side->to[last] == dim->to * dim->size;
    for (int k = 0; joins && k < n_operands; k++)
        joins = side->step[k][last] == dim->step[k] * dim->size;
    last = joins ? last : side->n++;
    side->size[last] = dim->size * (joins ? side->size[last] : 1);
    side->to[last] = dim->to;
    for (int k = 0; k < n_operands; k++)
        side->step[k][last] = dim->step[k];
}

static Dims dims_of(const DeviceFold *fold)
{
    Dims dims = {.n = 1, .n_folded = 1};
    int64_t nearest = 0;
    for (int d = 0; d < fold->n_dims; d++) {
        const FoldDim *dim = &fold->dim[d];
        *(dim->folded ? &dims.n_folded : &dims.n) *= dim->size;
        if (dim->size == 1)
            continue;
        add_dim(dim->folded ? &dims.folded : &dims.kept, dim, fold->n_operands);
        for (int k = 0; k < fold->n_operands; k++)
            if (dim->step[k] > 0 && (nearest == 0 || dim->step[k] < nearest)) {
                nearest = dim->step[k];
                dims.in_rows = dim->folded;
            }
    }
    return dims;
}

/* ---- launches ---- */

static Dtype dtype_of_class(Number class)
{
    static const Dtype dtypes[NUMBER_KINDS] = {DT_F32, DT_F64, DT_I64};
    return dtypes[class];
}

static void put_operands(KernelText *k, const DeviceFold *fold)
{
    const char *class = number_name(fold->class);
    Buf loads = buf_new(k->build->arena), elements = buf_new(k->build->arena);
    buf_puts(&k->text, "#define READS");
    for (int i = 0; i < fold->n_operands; i++) {
        const char *type = dtype_name(fold->dtype[i]), *comma = i > 0 ? ", " : "";
        buf_printf(&k->text, " const t_%s *x%d;", type, i);
        buf_printf(&elements, "%sC x%d", comma, i);
        buf_printf(&loads, "%sload_%s_%s(a.x%d[at[%d]])", comma, type, class, i, i);
    }
    buf_printf(&k->text, "\n#define ELEMENTS %s\n#define LOADS %s\n", elements.s, loads.s);
}

static void put_defines(KernelText *k, const DeviceFold *fold, const Dims *dims, bool last)
{
    const char *class = number_name(fold->class), *out = last ? dtype_name(fold->out) : class;
    put_class(k, fold->class);
    buf_printf(&k->text,
               "enum { K = %d, R = %d, OPERANDS = %d };\ntypedef t_%s OUT;\n"
               "#define STORE(x) store_%s_%s(x)\n#define PLACE %s\n",
               dims->kept.n, dims->folded.n, fold->n_operands, out, out, class,
               last ? "to" : "blockIdx.y * a.n + o");
    put_operands(k, fold);
    buf_printf(&k->text, "#define START %s\n#define OF %s\n#define MERGE %s\n#define LAST %s\n",
               fold->start, fold->of, fold->merge, last ? fold->last : "s");
    if (fold->functions)
        buf_puts(&k->text, fold->functions);
    buf_puts(&k->text, head);
}

static void args_numbers(KernelText *k, int n, const int64_t *numbers)
{
    args_i64(k, (size_t)n, numbers);
    ARGS_I64(k, 0);
}

static void fold_once(DeviceBuild *build, const DeviceFold *fold, const Dims *dims, bool last,
                      int64_t splits, DevicePlace to)
{
    int64_t each = (dims->n_folded + splits - 1) / splits;
    int warps = each > WARP_MOST || (each > 256 && dims->n < 1024) ? 8 : 1;
    KernelText k = kernel_text(build, "%s_%s_%s", fold->name, dims->in_rows ? "rows" : "columns",
                               dtype_name(fold->dtype[0]));
    put_defines(&k, fold, dims, last);
    if (dims->in_rows)
        buf_printf(&k.text, "enum { W = %d };\n", warps);
    buf_puts(&k.text, dims->in_rows ? rows_body : columns_body);
    args_places(&k, (size_t)fold->n_operands, fold->operand);
    ARGS_PLACES(&k, to);
    ARGS_I64(&k, dims->n, dims->n_folded, each);
    arg_f64(&k, fold->factor);
    arg_f64(&k, fold->param[0]);
    arg_f64(&k, fold->param[1]);
    args_numbers(&k, dims->kept.n, dims->kept.size);
    args_numbers(&k, dims->kept.n, dims->kept.to);
    args_numbers(&k, dims->folded.n, dims->folded.size);
    for (int i = 0; i < fold->n_operands; i++)
        args_numbers(&k, dims->kept.n, dims->kept.step[i]);
    for (int i = 0; i < fold->n_operands; i++)
        args_numbers(&k, dims->folded.n, dims->folded.step[i]);
    LaunchSize size = launch_over(dims->in_rows ? dims->n * 32 * warps : dims->n);
    size.grid[1] = splits;
    build_launch(&k, size);
}

static int64_t splits_of(const Dims *dims)
{
    int64_t threads = dims->n * (dims->in_rows ? 256 : 1);
    int64_t blocks = (threads + DEVICE_THREADS - 1) / DEVICE_THREADS;
    int64_t wanted = BLOCKS_WANTED / blocks, most = dims->n_folded / SPLIT_LEAST;
    int64_t splits = wanted < most ? wanted : most;
    return splits < 1 ? 1 : splits > SPLITS_MAX ? SPLITS_MAX : splits;
}

/* The second launch has the kept dims, and the splits as the folded one. */
void build_fold(DeviceBuild *build, const DeviceFold *fold)
{
    Dims dims = dims_of(fold);
    int64_t splits = splits_of(&dims);
    assert(fold->n_operands >= 1 && fold->n_operands <= FOLD_OPERANDS);
    if (splits == 1) {
        fold_once(build, fold, &dims, true, 1, fold->to);
        return;
    }
    DevicePlace parts = place_workspace(build, splits * dims.n * number_bytes(fold->class));
    fold_once(build, fold, &dims, false, splits, parts);
    DeviceFold rest = *fold;
    int64_t step = dims.n;
    rest.n_operands = 1;
    rest.operand[0] = parts;
    rest.dtype[0] = dtype_of_class(fold->class);
    rest.of = "x0";
    rest.n_dims = dims.kept.n + 1;
    for (int d = 0; d < dims.kept.n; d++) {
        step /= dims.kept.size[d];
        rest.dim[d] = (FoldDim){dims.kept.size[d], dims.kept.to[d], false, {step}};
    }
    rest.dim[dims.kept.n] = (FoldDim){splits, 0, true, {dims.n}};
    Dims last = dims_of(&rest);
    fold_once(build, &rest, &last, true, 1, fold->to);
}

/* ---- the operators ---- */

static bool reduced_dims(const KernelCall *call, bool reduced[DIMS_MAX])
{
    const int64_t *axes = NULL;
    int64_t n, n_dims = call->input[0]->shape.n_dims;
    if (!kernel_ints_of(call, "axes", 1, &axes, &n, NULL))
        return false;
    bool none = n <= 0 && op_attr_int(kernel_graph(call), call->op, "noop_with_empty_axes", 0) != 0;
    for (int64_t d = 0; d < n_dims; d++)
        reduced[d] = n <= 0 && !none;
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + n_dims : axes[i];
        if (axis < 0 || axis >= n_dims)
            return false;
        reduced[axis] = true;
    }
    return true;
}

/* The row named so as a fold of the call's input; false if it has none for the type. */
static bool open_fold(const KernelCall *call, const char *name, const bool reduced[DIMS_MAX],
                      DeviceFold *out)
{
    const Local *in = call->input[0], *to = call->output[0];
    Number class = dtype_number(in->dtype);
    const ReduceText *text = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            text = class == NUMBER_I64 ? &rows[i].of_ints : &rows[i].of_floats;
    if (!text || !text->start ||
        (call->reduce_cut && (text->last[0] != 's' || (text->mean && class == NUMBER_I64))))
        return false;
    *out = (DeviceFold){.name = "reduce",
                        .start = text->start,
                        .of = text->of,
                        .merge = text->merge,
                        .last = text->last,
                        .functions = class == NUMBER_I64 ? NULL : log_add,
                        .n_operands = 1,
                        .operand = {place_input(0, 0)},
                        .dtype = {in->dtype},
                        .to = place_output(0, 0),
                        .out = to->dtype,
                        .class = class,
                        .factor = 1,
                        .n_dims = (int)in->shape.n_dims};
    int64_t stride[DIMS_MAX], n = 1, n_folded = 1;
    row_major_strides(&in->shape, stride);
    for (int64_t d = in->shape.n_dims - 1; d >= 0; d--) {
        int64_t size = in->shape.dim[d];
        out->dim[d] = (FoldDim){size, reduced[d] ? 0 : n, reduced[d], {stride[d]}};
        *(reduced[d] ? &n_folded : &n) *= size;
        out->factor *= reduced[d] ? (double)in->whole.dim[d] : 1;
    }
    return n_folded > 0 && n == shape_elements(&to->shape);
}

static bool reduce(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    bool reduced[DIMS_MAX] = {false};
    DeviceFold fold;
    if (!in || !dtype_on_device(in->dtype) || !dtype_on_device(out->dtype) ||
        !reduced_dims(call, reduced) || !open_fold(call, call->kernel->name, reduced, &fold))
        return false;
    build_fold(build, &fold);
    return true;
}

/* The mean, or the largest, of the spatial dims of an image. */
static bool global_pool(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    bool reduced[DIMS_MAX] = {false};
    DeviceFold fold;
    for (int64_t d = 2; in && d < in->shape.n_dims; d++)
        reduced[d] = true;
    if (!in || !dtype_on_device(in->dtype) || !dtype_is_float(in->dtype) ||
        in->dtype != out->dtype || !open_fold(call, row, reduced, &fold))
        return false;
    build_fold(build, &fold);
    return true;
}

const DeviceOp device_ops_reduce[] = {
    {"ReduceSum", reduce, NULL},
    {"ReduceMean", reduce, NULL},
    {"ReduceMax", reduce, NULL},
    {"ReduceMin", reduce, NULL},
    {"ReduceProd", reduce, NULL},
    {"ReduceL1", reduce, NULL},
    {"ReduceSumSquare", reduce, NULL},
    {"ReduceLogSum", reduce, NULL},
    {"ReduceLogSumExp", reduce, NULL},
    {"ReduceL2", reduce, NULL},
    {"GlobalAveragePool", global_pool, "ReduceMean"},
    {"GlobalMaxPool", global_pool, "ReduceMax"},
    {0},
};
