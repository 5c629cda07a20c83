/* gen_draw.c - kernels that draw numbers (core/run/draw.h), and that scale the sum of an average.
 */
#include "core/run/cuda/device_build.h"

static const char scale_body[] =
    "typedef struct {\n    T *x;\n    i64 n;\n    double factor;\n} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256)\n"
    "        a.x[i] = STORE(LOAD(a.x[i]) * a.factor);\n"
    "}\n";

bool build_scale(DeviceBuild *build, Dtype dtype, int64_t n, double factor, DevicePlace at)
{
    KernelText k = kernel_text(build, "scale_%s", dtype_name(dtype));
    if (!dtype_on_device(dtype))
        return false;
    put_types(&k, dtype, NUMBER_F64);
    buf_puts(&k.text, scale_body);
    ARGS_PLACES(&k, at);
    ARGS_I64(&k, n);
    arg_f64(&k, factor);
    build_launch(&k, launch_over(n));
    return true;
}

/* The global index of an element is a sum over the dims. */
static const char draw_body[] =
    "typedef struct {\n"
    "    T *y;\n    i64 n, key;\n    double scale;\n    i64 size[N + 1];\n"
    "    const i64 *index[N + 1];\n"
    "} Args;\n"
    "DEVICE u64 mix(u64 x)\n"
    "{\n"
    "    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;\n"
    "    x = (x ^ x >> 27) * 0x94D049BB133111EBu;\n"
    "    return x ^ x >> 31;\n"
    "}\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 rest = i;\n"
    "        u64 index = 1;\n"
    "        UNROLL\n"
    "        for (int d = N - 1; d >= 0; d--) {\n"
    "            index += (u64)a.index[d][rest % a.size[d]];\n"
    "            rest /= a.size[d];\n"
    "        }\n"
    "        u64 bits = mix((u64)a.key + index * 0x9E3779B97F4A7C15u) >> 11;\n"
    "        a.y[i] = STORE(((double)bits * 0x1p-52 - 1) * a.scale);\n"
    "    }\n"
    "}\n";

bool build_draw(DeviceBuild *build, const Local *part, uint64_t key, double scale, DevicePlace to)
{
    KernelText k = kernel_text(build, "draw_%s", dtype_name(part->dtype));
    int n_dims = (int)part->shape.n_dims;
    int64_t stride[DIMS_MAX];
    if (!dtype_on_device(part->dtype) || !dtype_is_float(part->dtype))
        return false;
    put_types(&k, part->dtype, NUMBER_F64);
    buf_printf(&k.text, "enum { N = %d };\n%s", n_dims, draw_body);
    ARGS_PLACES(&k, to);
    ARGS_I64(&k, shape_elements(&part->shape), (int64_t)key);
    arg_f64(&k, scale);
    args_i64(&k, (size_t)n_dims, part->shape.dim);
    ARGS_I64(&k, 0);
    row_major_strides(&part->whole, stride);
    for (int d = 0; d < n_dims; d++) {
        int64_t *index = kernel_globals(build->arena, &part->runs[d]);
        for (int64_t i = 0; i < part->shape.dim[d]; i++)
            index[i] *= stride[d];
        arg_table(&k, index, part->shape.dim[d] * 8);
    }
    ARGS_I64(&k, 0);
    build_launch(&k, launch_over(shape_elements(&part->shape)));
    return true;
}
