/* gen_contract.c - sums over index points: Einsum and the gradients of most operators.
 *
 *     contract, two operands     cuBLASLt's products, batched over the index dims of all three; an
 *                                operand that is no matrix of rows is copied into that order
 *     contract, local            a fold over the index dims that the output lacks; without any,
 *                                gen_pointwise.c has them
 *
 * How operands lie is what the host kernel finds (kernels/contract.h).
 */
#include "core/run/cuda/device_build.h"

#include "core/run/kernels/contract.h"
#include "core/run/kernels/elementwise.h"
#include "core/space/gradient.h"

enum { PRODUCTS_MAX = 64 };

/* ---- products ---- */

/* An operand as matrices. Steps are elements between neighbours along rows and columns; 0: there is
 * one. */
typedef struct {
    DevicePlace place;
    int64_t row, column;
    int n_batch; /* as in the points, or 1 where it is packed */
    int64_t batch[X_MAX];
} Matrices;

typedef struct {
    DeviceBuild *build;
    const KernelCall *call;
    Points points;
    Kinds kinds;
    Dtype dtype;
} Pair;

/* Whether the index dims of a kind are one dim of the operand. */
static bool joins(const Pair *pair, int operand, int kind, int64_t *step)
{
    const int64_t *stride = pair->points.stride[operand];
    int n = pair->kinds.n[kind];
    *step = n > 0 ? stride[pair->kinds.index[kind][n - 1]] : 0;
    for (int i = n - 1; i > 0; i--) {
        int inner = pair->kinds.index[kind][i], outer = pair->kinds.index[kind][i - 1];
        if (stride[outer] != stride[inner] * pair->points.length[inner])
            return false;
    }
    return true;
}

/* Batch, then rows, then columns. */
static Shape packed_shape(const Pair *pair, int row, int column, int64_t *stride, int operand)
{
    const int kind[] = {KIND_BATCH, row, column};
    Shape shape = {0};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < pair->kinds.n[kind[k]] && shape.n_dims < DIMS_MAX; i++) {
            int j = pair->kinds.index[kind[k]][i];
            stride[shape.n_dims] = pair->points.stride[operand][j];
            shape.dim[shape.n_dims++] = pair->points.length[j];
        }
    return shape;
}

/* Copies between the operand and a workspace in that order. */
static bool pack(const Pair *pair, int operand, int row, int column, bool back, DevicePlace at,
                 DevicePlace own)
{
    int64_t stride[DIMS_MAX], straight[DIMS_MAX];
    int n = pair->kinds.n[KIND_BATCH] + pair->kinds.n[row] + pair->kinds.n[column];
    Shape shape = packed_shape(pair, row, column, stride, operand);
    row_major_strides(&shape, straight);
    return n <= DIMS_MAX &&
           build_strided(pair->build, pair->dtype, &shape, back ? stride : straight,
                         back ? straight : stride, back ? own : at, back ? at : own);
}

static bool is_matrices(const Pair *pair, int operand, int row, int column, Matrices *out)
{
    if (!joins(pair, operand, row, &out->row) || !joins(pair, operand, column, &out->column) ||
        (out->row > 1 && out->column > 1))
        return false;
    out->n_batch = pair->kinds.n[KIND_BATCH];
    for (int i = 0; i < out->n_batch; i++)
        out->batch[i] = pair->points.stride[operand][pair->kinds.index[KIND_BATCH][i]];
    return true;
}

/* The operand as it lies, or packed; `made`: it is the output. */
static bool open_matrices(const Pair *pair, int operand, int row, int column, bool packs,
                          Matrices *out)
{
    bool made = operand == pair->call->n_inputs;
    *out = (Matrices){.place = made ? place_output(0, 0) : place_input(0, operand)};
    if (!packs && is_matrices(pair, operand, row, column, out))
        return true;
    const Kinds *kinds = &pair->kinds;
    int64_t rows = kinds->size[row], columns = kinds->size[column];
    int64_t step = rows * columns;
    DevicePlace own = out->place;
    out->place =
        place_workspace(pair->build, kinds->size[KIND_BATCH] * step * element_bytes(pair->dtype));
    out->row = columns;
    out->column = 1;
    out->n_batch = kinds->n[KIND_BATCH];
    for (int i = out->n_batch - 1; i >= 0; i--) {
        out->batch[i] = step;
        step *= pair->points.length[kinds->index[KIND_BATCH][i]];
    }
    return made || pack(pair, operand, row, column, false, out->place, own);
}

/* Batch dims, joined where all three operands have regular steps. */
typedef struct {
    int n;
    int64_t size[X_MAX], step[3][X_MAX];
} Batches;

static Batches batches_of(const Pair *pair, const Matrices *const of[3])
{
    Batches out = {0};
    for (int i = 0; i < pair->kinds.n[KIND_BATCH]; i++) {
        int64_t size = pair->points.length[pair->kinds.index[KIND_BATCH][i]];
        bool together = out.n > 0;
        for (int k = 0; k < 3 && together; k++)
            together = out.step[k][out.n - 1] == of[k]->batch[i] * size;
        int at = together ? out.n - 1 : out.n++;
        out.size[at] = size * (together ? out.size[at] : 1);
        for (int k = 0; k < 3; k++)
            out.step[k][at] = of[k]->batch[i];
    }
    return out;
}

static int64_t outer_batches(const Batches *batches)
{
    int64_t n = 1;
    for (int d = 0; d + 1 < batches->n; d++)
        n *= batches->size[d];
    return n;
}

/* One product per place of the outer batch dims. */
static void build_products(const Pair *pair, const DeviceMatmul *product, const Batches *batches)
{
    int last = batches->n - 1;
    int64_t n_outer = outer_batches(batches), bytes = element_bytes(product->dtype);
    for (int64_t i = 0; i < n_outer; i++) {
        DeviceMatmul one = *product;
        int64_t rest = i, at[3] = {0};
        for (int d = last - 1; d >= 0; rest /= batches->size[d--])
            for (int k = 0; k < 3; k++)
                at[k] += rest % batches->size[d] * batches->step[k][d];
        one.n_batch = last < 0 ? 1 : batches->size[last];
        one.a_batch = last < 0 ? 0 : batches->step[0][last];
        one.b_batch = last < 0 ? 0 : batches->step[1][last];
        one.out_batch = last < 0 ? 0 : batches->step[2][last];
        one.a = place_plus(one.a, at[0] * bytes);
        one.b = place_plus(one.b, at[1] * bytes);
        one.out = place_plus(one.out, at[2] * bytes);
        build_product(pair->build, &one);
    }
}

/* Sets the leading dimension of [rows][columns], or of its transpose. */
static void set_layout(const Matrices *of, int64_t rows, int64_t columns, bool *turned,
                       int64_t *apart)
{
    *turned = of->column > 1;
    int64_t step = *turned ? of->column : of->row, least = *turned ? rows : columns;
    *apart = step < least ? least : step;
}

/* x and y are inputs 0 and 1, or the other way round, so that the output's columns are neighbours.
 */
static bool multiply(Pair *pair, double scale)
{
    const Local *made = pair->call->output[0];
    const Kinds *kinds = &pair->kinds;
    Matrices a, b, out;
    Batches batches;
    bool swaps = is_matrices(pair, 2, KIND_M, KIND_N, &out) && out.column > 1;
    int x = swaps, y = !swaps, m = swaps ? KIND_N : KIND_M, n = swaps ? KIND_M : KIND_N;
    if (kinds->size[KIND_BATCH] * kinds->size[m] * kinds->size[n] < shape_elements(&made->shape))
        build_zero(pair->build, place_output(0, 0), local_bytes(made));
    for (int packs = 0;; packs++) {
        if (!open_matrices(pair, x, m, KIND_K, packs, &a) ||
            !open_matrices(pair, y, KIND_K, n, packs, &b) ||
            !open_matrices(pair, 2, m, n, packs, &out))
            return false;
        batches = batches_of(pair, (const Matrices *const[]){&a, &b, &out});
        if (packs || outer_batches(&batches) <= PRODUCTS_MAX)
            break;
    }
    DeviceMatmul p = {.dtype = pair->dtype,
                      .alpha = scale,
                      .m = kinds->size[m],
                      .n = kinds->size[n],
                      .k = kinds->size[KIND_K],
                      .a = a.place,
                      .b = b.place,
                      .out = out.place};
    bool turned;
    set_layout(&a, p.m, p.k, &p.a_turned, &p.a_row);
    set_layout(&b, p.k, p.n, &p.b_turned, &p.b_row);
    set_layout(&out, p.m, p.n, &turned, &p.out_row);
    build_products(pair, &p, &batches);
    return out.place.kind == AT_OUTPUT || pack(pair, 2, m, n, true, out.place, place_output(0, 0));
}

/* ---- folds ---- */

/* A kept or folded dim for each index dim, those of the output in its order. */
static void put_dims(const Points *points, const int *operand, DeviceFold *fold, int output)
{
    int order[X_MAX], n = 0;
    for (int j = 0; j < points->n_index; j++) {
        int at = n;
        int64_t key =
            points->stride[output][j] ? points->stride[output][j] : points->stride[operand[0]][j];
        for (; at > 0; at--) {
            int before = order[at - 1];
            int64_t other = points->stride[output][before] ? points->stride[output][before]
                                                           : points->stride[operand[0]][before];
            if (other >= key)
                break;
            order[at] = before;
        }
        order[at] = j;
        n++;
    }
    for (int i = 0; i < n; i++) {
        FoldDim *dim = &fold->dim[fold->n_dims++];
        *dim = (FoldDim){points->length[order[i]], points->stride[output][order[i]], false, {0}};
        dim->folded = dim->to == 0;
        for (int k = 0; k < fold->n_operands; k++)
            dim->step[k] = points->stride[operand[k]][order[i]];
    }
}

/* Of the inputs that are there, each an operand. */
static bool open_operands(const KernelCall *call, const Points *points, DeviceFold *fold)
{
    int operand[FOLD_OPERANDS];
    for (int k = 0; k < call->n_inputs; k++) {
        if (!call->input[k])
            continue;
        if (fold->n_operands == FOLD_OPERANDS || !dtype_on_device(call->input[k]->dtype) ||
            !dtype_is_float(call->input[k]->dtype))
            return false;
        operand[fold->n_operands] = k;
        fold->operand[fold->n_operands] = place_input(0, k);
        fold->dtype[fold->n_operands++] = call->input[k]->dtype;
    }
    if (fold->n_operands == 0)
        return false;
    put_dims(points, operand, fold, call->n_inputs);
    return true;
}

static const char *product_text(Arena *arena, int n)
{
    Buf text = buf_new(arena);
    for (int k = 0; k < n; k++)
        buf_printf(&text, "%sx%d", k > 0 ? " * " : "", k);
    return text.s;
}

/* The expression with d, a, b and c as the operands that are there; an absent b is p, c is q. */
static const char *local_text(Arena *arena, const KernelCall *call)
{
    static const char names[] = "dabc";
    Buf text = buf_new(arena);
    const char *expression = derivative_text(call);
    if (!expression || call->n_inputs > 4)
        return NULL;
    for (int k = 0, at = 0; k < 4; k++) {
        if (k < call->n_inputs && call->input[k])
            buf_printf(&text, "#define X_%c x%d\n", names[k], at++);
        else
            buf_printf(&text, "#define X_%c %s\n", names[k], k == 2 ? "p" : k == 3 ? "q" : "0");
    }
    buf_printf(&text,
               "DEVICE C slope(C d, C a, C b, C c, C p, C q)\n{\n"
               "    (void)a, (void)b, (void)c;\n    return %s;\n}\n",
               expression);
    return text.s;
}

static bool sum_points(DeviceBuild *build, const KernelCall *call, const Points *points,
                       double scale)
{
    const Local *out = call->output[0];
    bool local = strcmp(call->kernel->name, "local") == 0;
    int64_t n_points = 1, n_kept = 1;
    DeviceFold fold = {.name = call->kernel->name,
                       .start = "0",
                       .merge = "s + t",
                       .last = "s * (C)a.factor",
                       .to = place_output(0, 0),
                       .out = out->dtype,
                       .class = dtype_number(out->dtype),
                       .factor = scale};
    if (!open_operands(call, points, &fold))
        return false;
    for (int d = 0; d < fold.n_dims; d++) {
        n_points *= fold.dim[d].size;
        n_kept *= fold.dim[d].folded ? 1 : fold.dim[d].size;
    }
    if (n_points == 0 || n_kept < shape_elements(&out->shape))
        build_zero(build, fold.to, local_bytes(out));
    if (n_points == 0)
        return true;
    fold.of = product_text(build->arena, fold.n_operands);
    if (local) {
        const char *slope = local_text(build->arena, call);
        if (!slope)
            return false;
        element_params_of(call, program_space(call->inferred, call->op)->gradient->of, fold.param);
        fold.functions = arena_printf(build->arena, "%s%s%s", special_functions(slope),
                                      derivative_functions, slope);
        fold.of = "slope(X_d, X_a, X_b, X_c, p, q)";
    }
    build_fold(build, &fold);
    return true;
}

/* ---- operators ---- */

static bool contract(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *out = call->output[0], *a = kernel_input(call, 0), *b = kernel_input(call, 1);
    const OpSpace *space = program_space(call->inferred, call->op);
    double scale = space && space->gradient ? space->gradient->scale : 1;
    Pair pair = {.build = build, .call = call, .dtype = out->dtype};
    Error err = {0};
    if (!dtype_on_device(out->dtype) || !dtype_is_float(out->dtype) ||
        !contract_points(call, &pair.points, &err))
        return false;
    bool product = strcmp(call->kernel->name, "local") != 0 && call->n_inputs == 2 && a && b &&
                   a->dtype == out->dtype && b->dtype == out->dtype;
    if (product && contract_kinds(&pair.points, &pair.kinds))
        return multiply(&pair, scale);
    return sum_points(build, call, &pair.points, scale);
}

const DeviceOp device_ops_contract[] = {
    {"contract", contract, NULL},
    {"local", contract, NULL},
    {"Einsum", contract, NULL},
    {0},
};
