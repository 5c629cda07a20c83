/* gen_norm_gradient.c - gradients of norms, by the formulas of kernels/norm_gradient.c.
 *
 *     of x         a block for each group of numbers that share a mean: statistics, then the
 *                  gradient, in one launch
 *     of scale     the statistics of each group in a workspace, then a fold
 *     of shift     a fold
 *
 * Gradients of statistics, which ops may have as outputs, are the host's.
 */
#include "core/run/cuda/device_build.h"

#include "core/run/kernels/norm_gradient.h"
#include "core/space/gradient.h"

static const char body[] =
    "typedef struct {\n"
    "    const X *x;\n    const D *d;\n    const SCALE *scale;\n    const MEAN *mean;\n"
    "    const VARIANCE *variance;\n    T *to;\n    C *statistics;\n"
    "    i64 n, n_groups;\n    double epsilon;\n"
    "    i64 group_size[G + 1], group_x[G + 1], group_scale[G + 1];\n"
    "    i64 size[M + 1], step_x[M + 1], step_scale[M + 1];\n"
    "} Args;\n"
    "DEVICE i64 place_of(i64 i, const i64 *size, const i64 *step, int n)\n"
    "{\n"
    "    i64 at = 0;\n"
    "    UNROLL\n"
    "    for (int d = n - 1; d > 0; d--) {\n"
    "        at += i % size[d] * step[d];\n"
    "        i /= size[d];\n"
    "    }\n"
    "    return n > 0 ? at + i * step[0] : 0;\n"
    "}\n"
    "DEVICE C sum_of(C x, C *room)\n"
    "{\n"
    "    UNROLL\n"
    "    for (int m = 16; m > 0; m /= 2)\n"
    "        x += SHUFFLE(x, m);\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        room[threadIdx.x / 32] = x;\n"
    "    __syncthreads();\n"
    "    x = 0;\n"
    "    for (int w = 0; w < 8; w++)\n"
    "        x += room[w];\n"
    "    return x;\n"
    "}\n"
    "#define EACH for (i64 i = threadIdx.x; i < a.n; i += 256)\n"
    "#define AT_X (x + place_of(i, a.size, a.step_x, M))\n"
    "#define AT_SCALE (scale + place_of(i, a.size, a.step_scale, M))\n"
    "#define WEIGHT (a.scale ? LOAD_SCALE(a.scale[AT_SCALE]) : (C)1)\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    SHARED C room[8];\n"
    "    for (i64 group = blockIdx.x; group < a.n_groups; group += gridDim.x) {\n"
    "        i64 x = place_of(group, a.group_size, a.group_x, G);\n"
    "        i64 scale = place_of(group, a.group_size, a.group_scale, G);\n"
    "        C mean = 0, squares = 0, inverse, slope;\n"
    "        if (GIVEN) {\n"
    "            mean = LOAD_MEAN(a.mean[scale]);\n"
    "            squares = LOAD_VARIANCE(a.variance[scale]);\n"
    "        } else {\n"
    "            if (CENTRE) {\n"
    "                EACH mean += LOAD_X(a.x[AT_X]);\n"
    "                mean = sum_of(mean, room) / (C)a.n;\n"
    "            }\n"
    "            EACH {\n"
    "                C off = LOAD_X(a.x[AT_X]) - mean;\n"
    "                squares += off * off;\n"
    "            }\n"
    "            squares = sum_of(squares, room) / (C)a.n;\n"
    "        }\n"
    "        inverse = 1 / SQRT(squares + (C)a.epsilon);\n"
    "        slope = inverse;\n"
    "        if (OUTSIDE) {\n"
    "            C deviation = SQRT(squares);\n"
    "            inverse = 1 / (deviation + (C)a.epsilon);\n"
    "            slope = deviation > 0 ? 1 / deviation : 0;\n"
    "        }\n"
    "        if (!a.to) {\n"
    "            if (threadIdx.x == 0) {\n"
    "                a.statistics[2 * group] = mean;\n"
    "                a.statistics[2 * group + 1] = inverse;\n"
    "            }\n"
    "            continue;\n"
    "        }\n"
    "        C first = 0, second = 0;\n"
    "        if (!GIVEN) {\n"
    "            EACH {\n"
    "                C g = LOAD_D(a.d[AT_X]) * WEIGHT;\n"
    "                first += g;\n"
    "                second += g * (LOAD_X(a.x[AT_X]) - mean) * inverse;\n"
    "            }\n"
    "            first = CENTRE ? sum_of(first, room) / (C)a.n : 0;\n"
    "            second = sum_of(second, room) / (C)a.n * slope;\n"
    "        }\n"
    "        EACH {\n"
    "            C g = LOAD_D(a.d[AT_X]) * WEIGHT;\n"
    "            C along = (LOAD_X(a.x[AT_X]) - mean) * inverse;\n"
    "            a.to[AT_X] = STORE(inverse * (g - first) - along * second);\n"
    "        }\n"
    "    }\n"
    "}\n";

/* Inputs of the gradient op by what they are in the forward op; -1: absent. */
typedef struct {
    int d, x, scale, mean, variance;
} NormInputs;

/* False if another output's gradient is there. */
static bool find_inputs(const KernelCall *call, const NormFrame *frame, NormInputs *out)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    *out = (NormInputs){-1, -1, -1, -1, -1};
    for (int i = 0; i < gradient->n_reads; i++) {
        int place = gradient->reads[i].place;
        if (!call->input[i])
            continue;
        if (!dtype_on_device(call->input[i]->dtype) || !dtype_is_float(call->input[i]->dtype))
            return false;
        if (gradient->reads[i].gradient && place != gradient->forward->n_inputs)
            return false;
        int *to = gradient->reads[i].gradient ? &out->d
                  : place == 0                ? &out->x
                  : place == frame->scale     ? &out->scale
                  : place == 3                ? &out->mean
                  : place == 4                ? &out->variance
                                              : NULL;
        if (to)
            *to = i;
    }
    bool given = !frame->given || (out->mean >= 0 && out->variance >= 0);
    return out->d >= 0 && (frame->makes == MAKES_SHIFT || (out->x >= 0 && given));
}

static void put_input(KernelText *k, const KernelCall *call, const char *name, int input)
{
    Dtype made = call->output[0]->dtype;
    const char *type = dtype_name(input < 0 ? made : call->input[input]->dtype);
    buf_printf(&k->text, "typedef t_%s %s;\n#define LOAD_%s(x) load_%s_%s(x)\n", type, name, name,
               type, number_name(dtype_number(made)));
}

static void args_dims(KernelText *k, int n, const int64_t *numbers)
{
    args_i64(k, (size_t)n, numbers);
    ARGS_I64(k, 0);
}

/* Neighbouring dims become one where they can. */
static NormWalk joined(const NormWalk *walk)
{
    NormWalk out = {0};
    for (int64_t d = 0; d < walk->shape.n_dims; d++) {
        int64_t size = walk->shape.dim[d], last = out.shape.n_dims - 1;
        if (size == 1)
            continue;
        bool joins = last >= 0 && out.x[last] == walk->x[d] * size &&
                     out.scale[last] == walk->scale[d] * size && out.to[last] == walk->to[d] * size;
        last = joins ? last : out.shape.n_dims++;
        out.shape.dim[last] = size * (joins ? out.shape.dim[last] : 1);
        out.x[last] = walk->x[d];
        out.scale[last] = walk->scale[d];
        out.to[last] = walk->to[d];
    }
    return out;
}

/* Makes the gradient of x, or with a workspace the statistics of each group. */
static void build_groups(DeviceBuild *build, const KernelCall *call, const NormFrame *frame,
                         const NormInputs *in, const DevicePlace *statistics)
{
    Dtype dtype = call->output[0]->dtype;
    NormWalk group = joined(&frame->group), member = joined(&frame->member);
    int n_group = (int)group.shape.n_dims, n_member = (int)member.shape.n_dims;
    KernelText k =
        kernel_text(build, "norm_%s_%s", statistics ? "statistics" : "grad", dtype_name(dtype));
    put_types(&k, dtype, dtype_number(dtype));
    put_input(&k, call, "D", in->d);
    put_input(&k, call, "X", in->x);
    put_input(&k, call, "SCALE", in->scale);
    put_input(&k, call, "MEAN", in->mean);
    put_input(&k, call, "VARIANCE", in->variance);
    buf_printf(&k.text, "enum { G = %d, M = %d, GIVEN = %d, CENTRE = %d, OUTSIDE = %d };\n%s",
               n_group, n_member, frame->given, frame->centre, frame->outside, body);
    ARGS_PLACES(&k, place_input(0, in->x), place_input(0, in->d));
    arg_place_if(&k, in->scale >= 0 && !statistics, place_input(0, in->scale));
    arg_place_if(&k, frame->given, place_input(0, in->mean));
    arg_place_if(&k, frame->given, place_input(0, in->variance));
    arg_place_if(&k, !statistics, place_output(0, 0));
    arg_place_if(&k, statistics, statistics ? *statistics : (DevicePlace){0});
    int64_t n_groups = shape_elements(&group.shape);
    ARGS_I64(&k, shape_elements(&member.shape), n_groups);
    arg_f64(&k, frame->epsilon);
    args_dims(&k, n_group, group.shape.dim);
    args_dims(&k, n_group, group.x);
    args_dims(&k, n_group, group.scale);
    args_dims(&k, n_member, member.shape.dim);
    args_dims(&k, n_member, member.x);
    args_dims(&k, n_member, member.scale);
    build_launch(&k, (LaunchSize){{n_groups < 65535 ? n_groups : 65535, 1, 1}, 256, 0});
}

static void add_dims(DeviceFold *fold, const NormWalk *walk, const int64_t *statistics)
{
    for (int64_t d = 0; d < walk->shape.n_dims; d++) {
        int64_t step = statistics ? 2 * statistics[d] : 0;
        fold->dim[fold->n_dims++] = (FoldDim){walk->shape.dim[d],
                                              walk->to[d],
                                              walk->to[d] == 0,
                                              {walk->x[d], walk->x[d], step, step}};
    }
}

/* The gradient times what was scaled, or alone for the shift, summed over all that shares it. */
static void build_sides(DeviceBuild *build, const KernelCall *call, const NormFrame *frame,
                        const NormInputs *in)
{
    const Local *made = call->output[0];
    Number class = dtype_number(made->dtype);
    Dtype held = class == NUMBER_F64 ? DT_F64 : DT_F32;
    int64_t bytes = element_bytes(held), stride[DIMS_MAX], n = 1;
    bool scale = frame->makes == MAKES_SCALE;
    DeviceFold fold = {.name = "norm_scale",
                       .start = "0",
                       .of = scale ? "x0 * (x1 - x2) * x3" : "x0",
                       .merge = "s + t",
                       .last = "s",
                       .n_operands = scale ? 4 : 1,
                       .operand = {place_input(0, in->d)},
                       .dtype = {call->input[in->d]->dtype},
                       .to = place_output(0, 0),
                       .out = made->dtype,
                       .class = class,
                       .factor = 1};
    if (scale) {
        DevicePlace statistics =
            place_workspace(build, 2 * shape_elements(&frame->group.shape) * bytes);
        build_groups(build, call, frame, in, &statistics);
        fold.operand[1] = place_input(0, in->x);
        fold.operand[2] = statistics;
        fold.operand[3] = place_plus(statistics, bytes);
        fold.dtype[1] = call->input[in->x]->dtype;
        fold.dtype[2] = fold.dtype[3] = held;
    }
    row_major_strides(&frame->group.shape, stride);
    add_dims(&fold, &frame->group, stride);
    add_dims(&fold, &frame->member, NULL);
    for (int d = 0; d < fold.n_dims; d++)
        n *= fold.dim[d].folded ? 1 : fold.dim[d].size;
    if (n < shape_elements(&made->shape))
        build_zero(build, fold.to, local_bytes(made));
    build_fold(build, &fold);
}

static bool norm_gradient(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *made = call->output[0];
    KernelCall asked = device_readable(call);
    NormFrame frame;
    NormInputs in;
    Error err = {0};
    if (!dtype_on_device(made->dtype) || !dtype_is_float(made->dtype) ||
        !norm_frame(&asked, &frame, &err) || !find_inputs(call, &frame, &in) ||
        shape_elements(&frame.member.shape) == 0 || shape_elements(&frame.group.shape) == 0 ||
        frame.group.shape.n_dims + frame.member.shape.n_dims > X_MAX)
        return false;
    bool sides = frame.makes == MAKES_SCALE || frame.makes == MAKES_SHIFT;
    if (frame.makes == MAKES_X)
        build_groups(build, call, &frame, &in, NULL);
    else if (sides)
        build_sides(build, call, &frame, &in);
    return sides || frame.makes == MAKES_X;
}

const DeviceOp device_ops_norm_gradient[] = {
    {"LayerNormalizationBackward", norm_gradient, NULL},
    {"RMSNormalizationBackward", norm_gradient, NULL},
    {"InstanceNormalizationBackward", norm_gradient, NULL},
    {"GroupNormalizationBackward", norm_gradient, NULL},
    {"BatchNormalizationBackward", norm_gradient, NULL},
    {"MeanVarianceNormalizationBackward", norm_gradient, NULL},
    {0},
};
