/* gen_matmul.c - MatMul and Gemm by cuBLASLt, fused with what follows.
 *
 * The following ops become an epilogue when they add a bias along the last dim, then apply Relu or
 * tanh Gelu, and their inputs have no other readers. Another addend is copied into the output
 * first, and the product is added. Types that cuBLASLt lacks use a plain kernel, one thread per
 * element.
 */
#include "core/run/cuda/device_build.h"

enum { PRODUCTS_MAX = 64 }; /* per op; an op whose batches have no two common strides takes more */

static bool has_product(Dtype dtype)
{
    return dtype == DT_F32 || dtype == DT_F64 || dtype == DT_BF16 || dtype == DT_F16;
}

/* ---- the plain kernel ---- */

static const char plain_body[] =
    "typedef struct {\n"
    "    const T *x, *y;\n"
    "    T *z;\n"
    "    i64 m, n, k, x_row, x_step, y_row, y_step, n_batch, x_batch, y_batch, z_batch;\n"
    "    double alpha, beta;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    i64 step = (i64)gridDim.x * 256, n = a.n_batch * a.m * a.n;\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < n; i += step) {\n"
    "        i64 column = i % a.n, row = i / a.n % a.m, b = i / a.n / a.m;\n"
    "        const T *x = a.x + b * a.x_batch + row * a.x_row;\n"
    "        const T *y = a.y + b * a.y_batch + column * a.y_step;\n"
    "        T *z = a.z + b * a.z_batch + row * a.n + column;\n"
    "        C sum = 0;\n"
    "        for (i64 k = 0; k < a.k; k++)\n"
    "            sum = ADD(sum, MUL(LOAD(x[k * a.x_step]), LOAD(y[k * a.y_row])));\n"
    "        sum = MUL(sum, (C)a.alpha);\n"
    "        if (a.beta != 0)\n"
    "            sum = ADD(sum, MUL((C)a.beta, LOAD(*z)));\n"
    "        *z = STORE(sum);\n"
    "    }\n"
    "}\n";

static void build_plain(DeviceBuild *build, const DeviceMatmul *p)
{
    bool whole = dtype_number(p->dtype) == NUMBER_I64;
    KernelText k = kernel_text(build, "product_%s", dtype_name(p->dtype));
    put_types(&k, p->dtype, dtype_number(p->dtype));
    buf_printf(&k.text, "#define ADD(x, y) %s\n#define MUL(x, y) %s\n%s",
               whole ? "WRAP(x, +, y)" : "(x) + (y)", whole ? "WRAP(x, *, y)" : "(x) * (y)",
               plain_body);
    ARGS_PLACES(&k, p->a, p->b, p->out);
    ARGS_I64(&k, p->m, p->n, p->k, p->a_turned ? 1 : p->a_row, p->a_turned ? p->a_row : 1,
             p->b_turned ? 1 : p->b_row, p->b_turned ? p->b_row : 1, p->n_batch, p->a_batch,
             p->b_batch, p->out_batch);
    arg_f64(&k, p->alpha);
    arg_f64(&k, p->beta);
    build_launch(&k, launch_over(p->n_batch * p->m * p->n));
}

void build_product(DeviceBuild *build, const DeviceMatmul *product)
{
    if (product->k == 0 && product->beta == 0)
        build_zero(build, product->out,
                   product->n_batch * product->m * product->n * element_bytes(product->dtype));
    else if (has_product(product->dtype) && product->k > 0)
        build_matmul(build, product);
    else
        build_plain(build, product);
}

/* ---- epilogues ---- */

/* The op at `at` of the run if it is the only reader of `made`, else NULL. */
static const KernelCall *only_reader(const DeviceBuild *build, int at, const Local *made)
{
    if (at >= build->n_run || build->kept[at - 1])
        return NULL;
    const KernelCall *next = build->run[at];
    int n_reads = 0;
    for (int op = at; op < build->n_run; op++)
        for (int i = 0; i < build->run[op]->n_inputs; i++)
            n_reads += build->run[op]->input[i] == made;
    bool reads = false;
    for (int i = 0; i < next->n_inputs; i++)
        reads |= next->input[i] == made;
    return n_reads == 1 && reads && kernel_is_built_in(next->kernel) ? next : NULL;
}

static bool is_bias(const Local *bias, const Local *out)
{
    int64_t stride[DIMS_MAX] = {0}, last = out->shape.n_dims - 1;
    if (!bias || bias->dtype != out->dtype || last < 0 ||
        !kernel_broadcast(bias, out, stride, NULL))
        return false;
    for (int64_t d = 0; d < last; d++)
        if (stride[d] != 0 && out->shape.dim[d] > 1)
            return false;
    return stride[last] == 1;
}

static Epilogue activation(const KernelCall *call)
{
    const char *name = call->kernel->name;
    const Attr *how = op_attr(kernel_graph(call), call->op, "approximate");
    if (strcmp(name, "Relu") == 0)
        return EPILOGUE_RELU;
    bool by_tanh = how && how->type == ATTR_STRING && str_eq(how->s, STR("tanh"));
    return strcmp(name, "Gelu") == 0 && by_tanh ? EPILOGUE_GELU : EPILOGUE_NONE;
}

/* Fuses a bias and an activation after the product. */
static void add_epilogue(DeviceBuild *build, const Local *made, DeviceMatmul *product)
{
    const KernelCall *next = only_reader(build, 1, made);
    if (product->dtype == DT_F64 || !has_product(product->dtype) || product->k == 0)
        return;
    if (next && !product->has_bias && strcmp(next->kernel->name, "Add") == 0 &&
        shape_equal(&next->output[0]->shape, &made->shape)) {
        int other = next->input[0] == made;
        if (!is_bias(next->input[other], next->output[0]))
            return;
        product->has_bias = true;
        product->bias = place_input(1, other);
        product->out = place_output(1, 0);
        made = next->output[0];
        build->n_done = 2;
        next = only_reader(build, 2, made);
    }
    if (next && activation(next) != EPILOGUE_NONE) {
        product->epilogue = activation(next);
        product->out = place_output(build->n_done++, 0);
    }
}

/* ---- MatMul ---- */

/* Batch dims of the output, joined where both operands have regular strides. */
typedef struct {
    int n;
    int64_t size[DIMS_MAX], a[DIMS_MAX], b[DIMS_MAX]; /* strides in matrices */
} Batches;

static bool batches_of(const Shape *a, const Shape *b, const Local *x, const Local *y,
                       const Shape *batch, Batches *out)
{
    const Shape *part[2] = {a, b};
    const Shape whole[2] = {kernel_as_matrix(&x->whole, true), kernel_as_matrix(&y->whole, false)};
    int64_t stride[2][DIMS_MAX] = {{0}};
    for (int k = 0; k < 2; k++) {
        int64_t skip = batch->n_dims - (part[k]->n_dims - 2), step = 1;
        for (int64_t d = batch->n_dims - 1; d >= skip; d--) {
            int64_t size = part[k]->dim[d - skip];
            bool repeats = whole[k].dim[d - skip] == 1;
            if (!repeats && size != batch->dim[d])
                return false;
            stride[k][d] = repeats ? 0 : step;
            step *= size;
        }
    }
    *out = (Batches){0};
    for (int64_t d = 0; d < batch->n_dims; d++) {
        int64_t size = batch->dim[d];
        int last = out->n - 1;
        if (size == 1)
            continue;
        if (last >= 0 && out->a[last] == stride[0][d] * size &&
            out->b[last] == stride[1][d] * size) {
            out->size[last] *= size;
        } else {
            out->size[++last] = size;
            out->n = last + 1;
        }
        out->a[last] = stride[0][d];
        out->b[last] = stride[1][d];
    }
    return true;
}

/* One product per place of the outer batch dims. */
static bool build_batches(DeviceBuild *build, const DeviceMatmul *product, const Batches *batches)
{
    int last = batches->n - 1;
    int64_t n_outer = 1, bytes = element_bytes(product->dtype);
    for (int d = 0; d < last; d++)
        n_outer *= batches->size[d];
    if (n_outer > PRODUCTS_MAX)
        return false;
    for (int64_t i = 0; i < n_outer; i++) {
        DeviceMatmul one = *product;
        int64_t rest = i, a = 0, b = 0;
        for (int d = last - 1; d >= 0; rest /= batches->size[d--]) {
            a += rest % batches->size[d] * batches->a[d];
            b += rest % batches->size[d] * batches->b[d];
        }
        one.n_batch = last < 0 ? 1 : batches->size[last];
        one.a_batch = last < 0 ? 0 : batches->a[last] * one.m * one.k;
        one.b_batch = last < 0 ? 0 : batches->b[last] * one.k * one.n;
        one.out_batch = one.m * one.n;
        one.a = place_plus(one.a, a * one.m * one.k * bytes);
        one.b = place_plus(one.b, b * one.k * one.n * bytes);
        one.out = place_plus(one.out, i * one.n_batch * one.m * one.n * bytes);
        build_product(build, &one);
    }
    return true;
}

static bool same_types(const KernelCall *call)
{
    const Local *a = kernel_input(call, 0), *b = kernel_input(call, 1), *out = call->output[0];
    return a && b && a->dtype == b->dtype && a->dtype == out->dtype && dtype_on_device(a->dtype);
}

static bool matmul(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    if (!same_types(call))
        return false;
    const Local *x = call->input[0], *y = call->input[1], *out = call->output[0];
    Shape a = kernel_as_matrix(&x->shape, true), b = kernel_as_matrix(&y->shape, false),
          batch = out->shape;
    batch.n_dims -= (x->shape.n_dims > 1) + (y->shape.n_dims > 1);
    if (a.n_dims < 2 || b.n_dims < 2 || batch.n_dims < 0)
        return false;
    DeviceMatmul p = {.dtype = x->dtype, .alpha = 1, .n_batch = 1};
    p.m = a.dim[a.n_dims - 2];
    p.k = a.dim[a.n_dims - 1];
    p.n = b.dim[b.n_dims - 1];
    p.a = place_input(0, 0);
    p.b = place_input(0, 1);
    p.out = place_output(0, 0);
    if (b.dim[b.n_dims - 2] != p.k ||
        shape_elements(&batch) * p.m * p.n != shape_elements(&out->shape))
        return false;
    Batches batches = {0};
    if (b.n_dims == 2 && shape_elements(&a) == shape_elements(&batch) * p.m * p.k)
        p.m *= shape_elements(&batch);
    else if (!batches_of(&a, &b, x, y, &batch, &batches))
        return false;
    p.a_row = p.k;
    p.b_row = p.out_row = p.n;
    if (y->shape.n_dims > 1 && batches.n < 2)
        add_epilogue(build, out, &p);
    return build_batches(build, &p, &batches);
}

/* ---- Gemm ---- */

/* Broadcasts the addend into the output. */
static bool lay_addend(DeviceBuild *build, const KernelCall *call, DevicePlace to)
{
    const Local *c = call->input[2], *out = call->output[0];
    int64_t stride[DIMS_MAX] = {0};
    if (c->dtype != out->dtype || !kernel_broadcast(c, out, stride, NULL))
        return false;
    Picks picks = picks_new(call->scratch, &out->shape);
    for (int d = 0; d < picks.n_dims; d++)
        for (int64_t i = 0; i < picks.size[d]; i++)
            picks.from[d][i] = i * stride[d];
    return build_move(build, out->dtype, &picks, to, place_input(0, 2));
}

static bool gemm(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    if (!same_types(call))
        return false;
    const Graph *graph = kernel_graph(call);
    const Local *a = call->input[0], *b = call->input[1], *c = kernel_input(call, 2);
    const Local *out = call->output[0];
    if (a->shape.n_dims != 2 || b->shape.n_dims != 2 || out->shape.n_dims != 2)
        return false;
    DeviceMatmul p = {.dtype = a->dtype,
                      .a_turned = op_attr_int(graph, call->op, "transA", 0) != 0,
                      .b_turned = op_attr_int(graph, call->op, "transB", 0) != 0,
                      .alpha = op_attr_float(graph, call->op, "alpha", 1),
                      .n_batch = 1};
    p.m = a->shape.dim[p.a_turned];
    p.k = a->shape.dim[!p.a_turned];
    p.n = b->shape.dim[!p.b_turned];
    p.a_row = a->shape.dim[1];
    p.b_row = b->shape.dim[1];
    p.out_row = p.n;
    p.a = place_input(0, 0);
    p.b = place_input(0, 1);
    p.out = place_output(0, 0);
    if (b->shape.dim[p.b_turned] != p.k || out->shape.dim[0] != p.m || out->shape.dim[1] != p.n)
        return false;
    double beta = op_attr_float(graph, call->op, "beta", 1);
    if (!dtype_is_float(p.dtype) &&
        (p.alpha != (double)(int64_t)p.alpha || beta != (double)(int64_t)beta))
        return false;
    if (c && call->first && beta == 1 && is_bias(c, out) && has_product(p.dtype) &&
        p.dtype != DT_F64 && p.k > 0) {
        p.has_bias = true;
        p.bias = place_input(0, 2);
    } else if (c && call->first) {
        p.beta = beta;
        if (!lay_addend(build, call, p.out))
            return false;
    }
    if (p.beta == 0)
        add_epilogue(build, out, &p);
    build_product(build, &p);
    return true;
}

const DeviceOp device_ops_matmul[] = {
    {"MatMul", matmul, NULL},
    {"Gemm", gemm, NULL},
    {0},
};
