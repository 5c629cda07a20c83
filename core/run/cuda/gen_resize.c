/* gen_resize.c - kernels of Resize and Upsample: a move where every output is an input element,
 * else a thread per output sums its taps. */
#include "core/run/cuda/device_build.h"
#include "core/run/kernels/resize.h"

static const char resize_body[] =
    "typedef struct {\n"
    "    const T *x;\n    T *y;\n    i64 n;\n    double outside_is;\n"
    "    i64 size[N], taps[N];\n    const i64 *place[N];\n    const double *weight[N];\n"
    "    const unsigned char *outside[N];\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 at[N], rest = i, n_taps = 1;\n"
    "        int outside = 0;\n"
    "        UNROLL\n"
    "        for (int d = N - 1; d >= 0; d--) {\n"
    "            at[d] = rest % a.size[d];\n"
    "            rest /= a.size[d];\n"
    "            outside |= a.outside[d][at[d]];\n"
    "            n_taps *= a.taps[d];\n"
    "        }\n"
    "        C sum = 0;\n"
    "        for (i64 k = 0; k < n_taps && !outside; k++) {\n"
    "            i64 from = 0, left = k;\n"
    "            C weight = 1;\n"
    "            UNROLL\n"
    "            for (int d = N - 1; d >= 0; d--) {\n"
    "                i64 tap = at[d] * a.taps[d] + left % a.taps[d];\n"
    "                left /= a.taps[d];\n"
    "                from += a.place[d][tap];\n"
    "                weight *= a.taps[d] == 1 ? 1 : (C)a.weight[d][tap];\n"
    "            }\n"
    "            if (weight != 0)\n"
    "                sum += weight * LOAD(a.x[from]);\n"
    "        }\n"
    "        a.y[i] = STORE(outside ? (C)a.outside_is : sum);\n"
    "    }\n"
    "}\n";

static void args_taps(KernelText *k, const Local *out, const ResizeTaps *taps)
{
    int n = (int)out->shape.n_dims;
    args_i64(k, (size_t)n, out->shape.dim);
    for (int d = 0; d < n; d++)
        ARGS_I64(k, taps[d].n);
    for (int d = 0; d < n; d++)
        arg_table(k, taps[d].place, out->shape.dim[d] * taps[d].n * 8);
    for (int d = 0; d < n; d++)
        arg_table(k, taps[d].weight, out->shape.dim[d] * taps[d].n * 8);
    for (int d = 0; d < n; d++)
        arg_table(k, taps[d].outside, out->shape.dim[d]);
}

/* row: set for Upsample. */
static bool resize(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *in = kernel_input(call, 0), *out = call->output[0];
    KernelCall asked = device_readable(call);
    ResizeTaps taps[DIMS_MAX];
    Error err = {0};
    double extrapolation;
    if (build_recorded(build, call))
        return true;
    if (!in || in->dtype != out->dtype || !dtype_on_device(in->dtype) || in->shape.n_dims < 1 ||
        !dtype_is_float(in->dtype) || !resize_taps(&asked, row != NULL, taps, &extrapolation, &err))
        return false;
    KernelText k = kernel_text(build, "resize_%s", dtype_name(in->dtype));
    put_types(&k, in->dtype, dtype_number(in->dtype));
    buf_printf(&k.text, "enum { N = %d };\n%s", (int)out->shape.n_dims, resize_body);
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0));
    ARGS_I64(&k, shape_elements(&out->shape));
    arg_f64(&k, extrapolation);
    args_taps(&k, out, taps);
    build_launch(&k, launch_over(shape_elements(&out->shape)));
    return true;
}

const DeviceOp device_ops_resize[] = {
    {"Resize", resize, NULL},
    {"Upsample", resize, "upsample"},
    {0},
};
