/* gen_reduce.c - kernels of ReduceSum and other reductions.
 *
 * An output is a fold over a function of each element, in the class of its type. Where the last dim
 * is reduced a warp computes an output; else a thread does. Long folds with few outputs are split
 * over blocks into a workspace that a second launch folds, both in a fixed order, so that every run
 * gives the same bits.
 */
#include "core/run/cuda/device_build.h"

enum { BLOCKS_WANTED = 512, SPLITS_MAX = 64, SPLIT_LEAST = 512, WARP_MOST = 2048 };

typedef struct {
    const char *start, *of, *merge, *last; /* of x; s and t; s */
    bool mean;
} ReduceText;

/* A second row for integers, where it differs. */
static const struct {
    const char *name;
    ReduceText of_floats, of_ints;
} rows[] = {
    {"ReduceSum", {"0", "x", "s + t", "s", false}, {"0", "x", "WRAP(s, +, t)", "s", false}},
    {"ReduceMean",
     {"0", "x", "s + t", "s / (C)a.count", true},
     {"0", "x", "WRAP(s, +, t)", "s / (C)a.count", true}},
    {"ReduceMax",
     {"-INFINITY", "x", "(s > t || !(s == s) ? s : t)", "s", false},
     {"LEAST", "x", "(s > t ? s : t)", "s", false}},
    {"ReduceMin",
     {"INFINITY", "x", "(s < t || !(s == s) ? s : t)", "s", false},
     {"~LEAST", "x", "(s < t ? s : t)", "s", false}},
    {"ReduceProd", {"1", "x", "s * t", "s", false}, {"1", "x", "WRAP(s, *, t)", "s", false}},
    {"ReduceL1",
     {"0", "(x < 0 ? -x : x)", "s + t", "s", false},
     {"0", "(x < 0 ? WRAP(0, -, x) : x)", "WRAP(s, +, t)", "s", false}},
    {"ReduceSumSquare",
     {"0", "x * x", "s + t", "s", false},
     {"0", "WRAP(x, *, x)", "WRAP(s, +, t)", "s", false}},
    {"ReduceLogSum", {"0", "x", "s + t", "LOG(s)", false}, {0}},
    {"ReduceLogSumExp", {"-INFINITY", "x", "log_add(s, t)", "s", false}, {0}},
    {"ReduceL2", {"0", "x * x", "s + t", "SQRT(s)", false}, {0}},
};

static const char log_add[] =
    "DEVICE C log_add(C x, C y)\n"
    "{\n"
    "    C most = x > y || !(x == x) ? x : y, least = x > y || !(x == x) ? y : x;\n"
    "    return most == (C)-INFINITY ? most : most + LOG1P(EXP(least - most));\n"
    "}\n";

static const char head[] =
    "#define LEAST ((i64)((u64)1 << 63))\n"
    "typedef struct {\n"
    "    const IN *x;\n    OUT *y;\n    i64 n, n_folded, each;\n    double count;\n"
    "    i64 kept_size[K + 1], kept_step[K + 1], size[R + 1], step[R + 1];\n"
    "} Args;\n"
    "DEVICE i64 place_of(i64 i, const i64 *size, const i64 *step, int n)\n"
    "{\n"
    "    i64 at = 0;\n"
    "    for (int d = n - 1; d > 0; d--) {\n"
    "        at += i % size[d] * step[d];\n"
    "        i /= size[d];\n"
    "    }\n"
    "    return n > 0 ? at + i * step[0] : 0;\n"
    "}\n"
    "DEVICE C merged(C s, C t) { return MERGE; }\n"
    "DEVICE C element(IN from)\n"
    "{\n"
    "    C x = LOAD(from);\n"
    "    return OF;\n"
    "}\n"
    "#define FOLD(first, stride) \\\n"
    "    i64 begin = blockIdx.y * a.each, base = place_of(o, a.kept_size, a.kept_step, K); \\\n"
    "    i64 end = begin + a.each < a.n_folded ? begin + a.each : a.n_folded; \\\n"
    "    C s = START; \\\n"
    "    for (i64 r = begin + first; r < end; r += stride) \\\n"
    "        s = merged(s, element(a.x[base + place_of(r, a.size, a.step, R)]));\n";

static const char columns_body[] =
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 o = (i64)blockIdx.x * 256 + threadIdx.x; o < a.n; o += (i64)gridDim.x * 256) {\n"
    "        FOLD(0, 1)\n"
    "        a.y[blockIdx.y * a.n + o] = STORE(LAST);\n"
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
    "            a.y[blockIdx.y * a.n + o] = STORE(LAST);\n"
    "    }\n"
    "}\n";

/* ---- the dims ---- */

typedef struct {
    int n;
    int64_t size[DIMS_MAX], step[DIMS_MAX];
} Side;

typedef struct {
    Side kept, folded;
    int64_t n, n_folded;
    bool last_folded;
} Fold;

static void add_dim(Side *side, int64_t size, int64_t step, bool joins)
{
    if (joins && side->n > 0 && side->step[side->n - 1] == step * size) {
        side->size[side->n - 1] *= size;
        side->step[side->n - 1] = step;
    } else {
        side->size[side->n] = size;
        side->step[side->n++] = step;
    }
}

static Fold fold_of(const Shape *in, const bool reduced[DIMS_MAX])
{
    Fold fold = {.n = 1, .n_folded = 1};
    int64_t stride[DIMS_MAX];
    row_major_strides(in, stride);
    for (int64_t d = 0; d < in->n_dims; d++) {
        *(reduced[d] ? &fold.n_folded : &fold.n) *= in->dim[d];
        if (in->dim[d] == 1)
            continue;
        add_dim(reduced[d] ? &fold.folded : &fold.kept, in->dim[d], stride[d], true);
        fold.last_folded = reduced[d];
    }
    return fold;
}

/* ---- launches ---- */

typedef struct {
    const ReduceText *text;
    Dtype in, out;
    Number class;
    double count;
} Reducing;

static void put_defines(KernelText *k, const Reducing *r, const Fold *fold, bool first, bool last)
{
    const char *class = number_name(r->class), *in = first ? dtype_name(r->in) : class;
    const char *out = last ? dtype_name(r->out) : class;
    put_class(k, r->class);
    buf_printf(&k->text,
               "enum { K = %d, R = %d };\ntypedef t_%s IN;\ntypedef t_%s OUT;\n"
               "#define LOAD(x) load_%s_%s(x)\n#define STORE(x) store_%s_%s(x)\n",
               fold->kept.n, fold->folded.n, in, out, in, class, out, class);
    buf_printf(&k->text, "#define START %s\n#define OF %s\n#define MERGE %s\n#define LAST %s\n",
               r->text->start, first ? r->text->of : "x", r->text->merge,
               last ? r->text->last : "s");
    if (r->class != NUMBER_I64)
        buf_puts(&k->text, log_add);
    buf_puts(&k->text, head);
}

static void args_side(KernelText *k, const Side *side)
{
    args_i64(k, (size_t)side->n, side->size);
    ARGS_I64(k, 0);
    args_i64(k, (size_t)side->n, side->step);
    ARGS_I64(k, 0);
}

static void build_fold(DeviceBuild *build, const Reducing *r, const Fold *fold, bool first,
                       bool last, int64_t splits, DevicePlace from, DevicePlace to)
{
    int64_t each = (fold->n_folded + splits - 1) / splits;
    bool in_rows = fold->last_folded;
    int warps = each > WARP_MOST || (each > 256 && fold->n < 1024) ? 8 : 1;
    KernelText k = kernel_text(build, "reduce_%s_%s", in_rows ? "rows" : "columns",
                               first ? dtype_name(r->in) : number_name(r->class));
    put_defines(&k, r, fold, first, last);
    if (in_rows)
        buf_printf(&k.text, "enum { W = %d };\n", warps);
    buf_puts(&k.text, in_rows ? rows_body : columns_body);
    ARGS_PLACES(&k, from, to);
    ARGS_I64(&k, fold->n, fold->n_folded, each);
    arg_f64(&k, r->count);
    args_side(&k, &fold->kept);
    args_side(&k, &fold->folded);
    LaunchSize size = launch_over(in_rows ? fold->n * 32 * warps : fold->n);
    size.grid[1] = splits;
    build_launch(&k, size);
}

static int64_t splits_of(const Fold *fold)
{
    int64_t threads = fold->n * (fold->last_folded ? 256 : 1);
    int64_t blocks = (threads + DEVICE_THREADS - 1) / DEVICE_THREADS;
    int64_t wanted = BLOCKS_WANTED / blocks, most = fold->n_folded / SPLIT_LEAST;
    int64_t splits = wanted < most ? wanted : most;
    return splits < 1 ? 1 : splits > SPLITS_MAX ? SPLITS_MAX : splits;
}

static void build_reduce(DeviceBuild *build, const Reducing *r, const Fold *fold)
{
    int64_t splits = splits_of(fold);
    if (splits == 1) {
        build_fold(build, r, fold, true, true, 1, place_input(0, 0), place_output(0, 0));
        return;
    }
    DevicePlace parts = place_workspace(build, splits * fold->n * number_bytes(r->class));
    build_fold(build, r, fold, true, false, splits, place_input(0, 0), parts);
    Fold rest = {.n = fold->n, .n_folded = splits};
    add_dim(&rest.kept, fold->n, 1, false);
    add_dim(&rest.folded, splits, fold->n, false);
    build_fold(build, r, &rest, false, true, 1, parts, place_output(0, 0));
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

static bool reduce(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    bool reduced[DIMS_MAX] = {false};
    if (!in || !dtype_on_device(in->dtype) || !dtype_on_device(out->dtype) ||
        !reduced_dims(call, reduced))
        return false;
    Reducing r = {.in = in->dtype, .out = out->dtype, .class = dtype_number(in->dtype), .count = 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, call->kernel->name) == 0)
            r.text = r.class == NUMBER_I64 ? &rows[i].of_ints : &rows[i].of_floats;
    Fold fold = fold_of(&in->shape, reduced);
    for (int64_t d = 0; d < in->shape.n_dims; d++)
        r.count *= reduced[d] ? (double)in->whole.dim[d] : 1;
    if (!r.text || !r.text->start || fold.n_folded == 0 || fold.n != shape_elements(&out->shape))
        return false;
    bool finishes = r.text->last[0] != 's' || (r.text->mean && r.class == NUMBER_I64);
    if (call->reduce_cut && finishes)
        return false;
    build_reduce(build, &r, &fold);
    return true;
}

/* The mean, or the largest, of the spatial dims of an image. */
static bool global_pool(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    bool reduced[DIMS_MAX] = {false};
    if (!in || !dtype_on_device(in->dtype) || !dtype_is_float(in->dtype) || in->dtype != out->dtype)
        return false;
    Reducing r = {.in = in->dtype, .out = out->dtype, .class = dtype_number(in->dtype), .count = 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, row) == 0)
            r.text = &rows[i].of_floats;
    for (int64_t d = 2; d < in->shape.n_dims; d++) {
        reduced[d] = true;
        r.count *= (double)in->whole.dim[d];
    }
    Fold fold = fold_of(&in->shape, reduced);
    if (fold.n_folded == 0 || fold.n != shape_elements(&out->shape))
        return false;
    build_reduce(build, &r, &fold);
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
