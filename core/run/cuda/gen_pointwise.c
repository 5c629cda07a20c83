/* gen_pointwise.c - fused kernels of elementwise ops.
 *
 * The expressions are those of the host kernels (kernels/elementwise.h). Ops become steps on
 * numbers of a class; intermediate values stay in registers, floats unrounded. All outputs have one
 * local shape, the frame, to which inputs broadcast by strides. Dims with regular strides in all
 * inputs are joined, mostly to one; a thread moves up to 16 bytes of each operand. The CUDA text is
 * written in gen_pointwise_text.c.
 */
#include "core/run/cuda/gen_pointwise.h"

#include "core/rules/args.h"
#include "core/run/kernels/contract.h"
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/elementwise.h"
#include "core/space/gradient.h"

enum { VECTOR_BYTES = 16 };

/* ---- rows ---- */

static const PointRow rows[] = {
#define FF(id, rounding, name, n, expression) {#id, name, n, #expression, NULL, 0},
#define II(id, name, n, expression) {#id, name, n, NULL, #expression, 0},
#define BB(id, rounding, name, n, of_floats, of_ints) {#id, name, n, #of_floats, #of_ints, 0},
    ELEMENT_ROWS(FF, II, BB)
#undef FF
#undef II
#undef BB
        {"CAST", "Cast", 1, "x", "x", 0},
    {"SCALE", "", 1, "x * p", "x", 0},
    {"NORM_FACTOR", "", 2, "x / sqrt(y + p)", NULL, 0}, /* of BatchNormalization: scale, variance */
    {"SCALE_ADD", "", 3, "x * y + z", NULL, 0},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

/* Expressions of d, a, b and c, the inputs of the gradient op `local`. */
static const PointRow derivatives[] = {
#define D(id, name, input, expression) {"D_" #id, name, 4, #expression, NULL, input},
    DERIVATIVE_ROWS(D)
#undef D
};

#define TEXT(...) TEXT_OF(__VA_ARGS__)
#define TEXT_OF(...) #__VA_ARGS__
const char derivative_functions[] = TEXT(DERIVATIVE_FUNCTIONS(DEVICE)) "\n";

const char *special_functions(const char *expression)
{
    static const char text[] = TEXT(SPECIAL_FUNCTIONS(DEVICE)) "\n";
    return expression && strstr(expression, "special_") ? text : "";
}

bool is_derivative(const PointRow *row)
{
    return row >= derivatives && row < derivatives + sizeof derivatives / sizeof *derivatives;
}

static const PointRow *find_derivative(const KernelCall *call)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    for (size_t i = 0; i < sizeof derivatives / sizeof *derivatives; i++)
        if (strcmp(derivatives[i].name, gradient->of) == 0 &&
            derivatives[i].of_input == gradient->input)
            return &derivatives[i];
    return NULL;
}

const char *derivative_text(const KernelCall *call)
{
    const PointRow *row = find_derivative(call);
    return row ? row->of_floats : NULL;
}

static const PointRow *find_row(const char *name)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static const PointRow *row_of_id(const char *id)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].id, id) == 0)
            return &rows[i];
    return NULL;
}

static bool is_batch_norm(const KernelCall *call)
{
    return strcmp(call->kernel->name, "BatchNormalization") == 0;
}

/* ---- steps ---- */

static bool add_read(Chain *chain, const KernelCall *call, int input, const int64_t *stride,
                     From *out)
{
    const Local *local = call->input[input];
    for (int m = 0; m < chain->n_made; m++)
        if (chain->made[m].local == local) {
            *out = (From){OF_STEP, chain->made[m].step};
            return true;
        }
    PointRead read = {.local = local};
    read.place = place_input(device_op_at(chain->build, call), input);
    memcpy(read.stride, stride, sizeof read.stride);
    for (int r = 0; r < chain->n_reads; r++)
        if (chain->read[r].local == local &&
            memcmp(chain->read[r].stride, stride, sizeof read.stride) == 0) {
            *out = (From){OF_READ, r};
            return true;
        }
    if (chain->n_reads == READS_MAX || !dtype_on_device(local->dtype))
        return false;
    *out = (From){OF_READ, chain->n_reads};
    chain->read[chain->n_reads++] = read;
    return true;
}

static bool add_broadcast(Chain *chain, const KernelCall *call, int input, From *out)
{
    int64_t stride[DIMS_MAX] = {0};
    return kernel_broadcast(call->input[input], call->output[0], stride, NULL) &&
           add_read(chain, call, input, stride, out);
}

static bool add_step(Chain *chain, const PointRow *row, Number class, Dtype dtype,
                     const From from[OPERANDS], const double param[2])
{
    if (chain->n_steps == STEPS_MAX || !(class == NUMBER_I64 ? row->of_ints : row->of_floats))
        return false;
    PointStep *step = &chain->step[chain->n_steps++];
    *step = (PointStep){.row = row, .class = class, .dtype = dtype};
    memcpy(step->from, from, sizeof step->from);
    memcpy(step->param, param, sizeof step->param);
    return true;
}

/* Folds the inputs one by one. */
static bool add_folded(Chain *chain, const KernelCall *call, const PointRow *row, Number class)
{
    static const double none[2];
    Dtype dtype = call->output[0]->dtype;
    From from[OPERANDS] = {{0}};
    if (!add_broadcast(chain, call, 0, &from[0]))
        return false;
    if (call->n_inputs == 1)
        return add_step(chain, row_of_id("CAST"), class, dtype, from, none);
    for (int i = 1; i < call->n_inputs; i++) {
        if (!call->input[i] || !add_broadcast(chain, call, i, &from[1]) ||
            !add_step(chain, row, class, dtype, from, none))
            return false;
        from[0] = (From){OF_STEP, chain->n_steps - 1};
    }
    from[1] = (From){0};
    const double share[2] = {1.0 / call->n_inputs};
    return strcmp(row->id, "MEAN") != 0 ||
           add_step(chain, row_of_id("SCALE"), class, dtype, from, share);
}

/* (x - mean) * (scale / sqrt(variance + epsilon)) + bias, by channel. */
static bool add_batch_norm(Chain *chain, const KernelCall *call)
{
    RuleCall rule = device_rule_call(call);
    bool training = args_int(&rule, "training_mode", 0) != 0 || call->n_outputs > 1 ||
                    (rule.opset < 7 && args_int(&rule, "is_test", 0) == 0);
    bool by_element = rule.opset < 9 && args_int(&rule, "spatial", 1) == 0;
    const Local *in = call->input[0];
    int64_t stride[DIMS_MAX] = {0};
    From of[5];
    if (training || by_element || call->n_inputs < 5 || in->shape.n_dims < 1)
        return false;
    int channels = in->shape.n_dims > 1 ? 1 : 0;
    stride[channels] = in->shape.n_dims > 1;
    for (int i = 1; i < 5; i++)
        if (!call->input[i] ||
            shape_elements(&call->input[i]->shape) != (stride[channels] ? in->shape.dim[1] : 1) ||
            !add_read(chain, call, i, stride, &of[i]))
            return false;
    Number class = dtype_number(in->dtype);
    Dtype wide = class == NUMBER_F64 ? DT_F64 : DT_F32;
    const double param[2] = {args_float(&rule, "epsilon", 1e-5)};
    if (!add_broadcast(chain, call, 0, &of[0]) ||
        !add_step(chain, find_row("Sub"), class, wide, (From[OPERANDS]){of[0], of[3]}, param) ||
        !add_step(chain, row_of_id("NORM_FACTOR"), class, wide, (From[OPERANDS]){of[1], of[4]},
                  param))
        return false;
    From from[OPERANDS] = {{OF_STEP, chain->n_steps - 2}, {OF_STEP, chain->n_steps - 1}, of[2]};
    return add_step(chain, row_of_id("SCALE_ADD"), class, call->output[0]->dtype, from, param);
}

static bool loses_sign(const KernelCall *call, const PointRow *row)
{
    static const char *const ids[] = {
#define U(id, expression) #id,
        UNSIGNED_ROWS(U)
#undef U
            "CAST"};
    bool listed = false;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        listed |= strcmp(ids[i], row->id) == 0;
    return listed && device_unsigned(call);
}

static bool add_row(Chain *chain, const KernelCall *call)
{
    const PointRow *row = find_row(call->kernel->name);
    if (loses_sign(call, row))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i] && !dtype_on_device(call->input[i]->dtype))
            return false;
    int like = strcmp(row->id, "WHERE") == 0;
    if (call->n_inputs <= like || !call->input[0] || !call->input[like])
        return false;
    Number class = element_class(call);
    if (row->n_inputs == 0)
        return add_folded(chain, call, row, class);
    double param[2];
    From from[OPERANDS] = {{0}};
    element_params(call, param);
    for (int k = 0; k < row->n_inputs && k < call->n_inputs; k++)
        if (call->input[k] && !add_broadcast(chain, call, k, &from[k]))
            return false;
    bool whole = strcmp(row->id, "CLIP") == 0;
    for (int k = 1; !whole && k < row->n_inputs; k++)
        if (from[k].kind == NO_VALUE)
            return false;
    return add_step(chain, row, class, call->output[0]->dtype, from, param);
}

/* ---- gradients ---- */

/* Strides of an operand along a dim of the output, which may be several index dims, the inner one
 * being the one whose neighbours are `step` apart in the output. */
static bool stride_along(const Points *points, int operand, int output, int64_t step, int64_t size,
                         int64_t *stride)
{
    int64_t length = 1, own = 0;
    while (length < size) {
        int j = 0;
        while (j < points->n_index &&
               (points->length[j] == 1 || points->stride[output][j] != step * length))
            j++;
        if (j == points->n_index || (length > 1 && points->stride[operand][j] != own * length))
            return false;
        own = length > 1 ? own : points->stride[operand][j];
        length *= points->length[j];
    }
    *stride = own;
    return length == size;
}

/* The strides of each input along the dims of the output; false if anything is summed. */
static bool gradient_strides(const KernelCall *call, int64_t (*stride)[DIMS_MAX])
{
    const Shape *shape = &call->output[0]->shape;
    Points points;
    Error err = {0};
    int64_t n = 1, step[DIMS_MAX];
    if (!contract_points(call, &points, &err))
        return false;
    row_major_strides(shape, step);
    for (int j = 0; j < points.n_index; j++)
        n *= points.length[j];
    for (int k = 0; k < call->n_inputs; k++)
        for (int64_t d = 0; call->input[k] && d < shape->n_dims; d++)
            if (!stride_along(&points, k, call->n_inputs, step[d], shape->dim[d], &stride[k][d]))
                return false;
    return n == shape_elements(shape);
}

/* An element of the result depends on one of each input. */
static bool is_gradient(const KernelCall *call)
{
    const char *name = call->kernel->name;
    bool local = strcmp(name, "local") == 0;
    if ((!local && strcmp(name, "contract") != 0) || call->n_inputs > OPERANDS ||
        !kernel_is_built_in(call->kernel) || !dtype_on_device(call->output[0]->dtype) ||
        !dtype_is_float(call->output[0]->dtype) || (local && !find_derivative(call)))
        return false;
    int64_t stride[OPERANDS][DIMS_MAX] = {{0}};
    for (int k = 0; k < call->n_inputs; k++)
        if (call->input[k] && !dtype_on_device(call->input[k]->dtype))
            return false;
    return gradient_strides(call, stride);
}

/* The product of its inputs, one by one, or the expression of a derivative; then the factor. */
static bool add_gradient(Chain *chain, const KernelCall *call)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    bool local = strcmp(call->kernel->name, "local") == 0;
    Dtype dtype = call->output[0]->dtype;
    Number class = dtype_number(dtype);
    int64_t stride[OPERANDS][DIMS_MAX] = {{0}};
    From from[OPERANDS] = {{0}};
    double param[2] = {0}, scale[2] = {gradient->scale};
    int n = 0;
    if (!gradient_strides(call, stride))
        return false;
    for (int k = 0; k < call->n_inputs; k++) {
        if (call->input[k] && !add_read(chain, call, k, stride[k], &from[local ? k : n]))
            return false;
        n += call->input[k] != NULL;
        if (!local && n == 2) {
            if (!add_step(chain, find_row("Mul"), class, dtype, from, param))
                return false;
            from[0] = (From){OF_STEP, chain->n_steps - 1};
            from[1] = (From){0};
            n = 1;
        }
    }
    if (local) {
        element_params_of(call, gradient->of, param);
        if (!add_step(chain, find_derivative(call), class, dtype, from, param))
            return false;
        memset(from, 0, sizeof from);
        from[0] = (From){OF_STEP, chain->n_steps - 1};
    }
    bool made = from[0].kind == OF_STEP && from[0].at == chain->n_steps - 1 && chain->n_steps > 0;
    return from[0].kind != NO_VALUE &&
           ((made && scale[0] == 1) ||
            add_step(chain, row_of_id("SCALE"), class, dtype, from, scale));
}

bool is_pointwise(const KernelCall *call)
{
    const char *name = call->kernel->name;
    return (name[0] && find_row(name) != NULL) || is_batch_norm(call) || is_gradient(call);
}

static bool add_op(Chain *chain, const KernelCall *call)
{
    const Chain before = *chain;
    int op = device_op_at(chain->build, call);
    const Local *out = kernel_output(call, 0);
    bool ok = out && kernel_is_built_in(call->kernel) && is_pointwise(call) &&
              dtype_on_device(out->dtype) && shape_equal(&out->shape, &chain->frame) &&
              (is_batch_norm(call)            ? add_batch_norm(chain, call)
               : find_row(call->kernel->name) ? add_row(chain, call)
                                              : add_gradient(chain, call));
    if (ok)
        chain->made[chain->n_made++] = (Made){out, chain->n_steps - 1, place_output(op, 0)};
    else
        *chain = before;
    return ok;
}

/* ---- dims and vectors ---- */

static void join_dims(Chain *chain)
{
    int64_t stride[READS_MAX][DIMS_MAX];
    int n = 0;
    for (int64_t d = 0; d < chain->frame.n_dims; d++) {
        int64_t size = chain->frame.dim[d];
        if (size == 1)
            continue;
        bool joins = n > 0;
        for (int r = 0; joins && r < chain->n_reads; r++)
            joins = stride[r][n - 1] == chain->read[r].stride[d] * size;
        if (joins)
            chain->size[n - 1] *= size;
        else
            chain->size[n++] = size;
        for (int r = 0; r < chain->n_reads; r++)
            stride[r][n - 1] = chain->read[r].stride[d];
    }
    if (n == 0) {
        chain->size[n++] = 1;
        for (int r = 0; r < chain->n_reads; r++)
            stride[r][0] = 0;
    }
    chain->n_dims = n;
    for (int r = 0; r < chain->n_reads; r++)
        memcpy(chain->read[r].stride, stride[r], (size_t)n * sizeof(int64_t));
}

static bool fits_vector(const Chain *chain, int vector)
{
    int last = chain->n_dims - 1;
    if (chain->size[last] % vector != 0)
        return false;
    for (int r = 0; r < chain->n_reads; r++)
        for (int d = 0; d < last; d++)
            if (chain->read[r].stride[last] == 1 && chain->read[r].stride[d] % vector != 0)
                return false;
    return true;
}

static void choose_vector(Chain *chain)
{
    int64_t most = 1;
    for (int r = 0; r < chain->n_reads; r++)
        if (chain->read[r].stride[chain->n_dims - 1] == 1 &&
            element_bytes(chain->read[r].local->dtype) > most)
            most = element_bytes(chain->read[r].local->dtype);
    for (int m = 0; m < chain->n_made; m++)
        if (chain->written[m] && element_bytes(chain->made[m].local->dtype) > most)
            most = element_bytes(chain->made[m].local->dtype);
    chain->vector = (int)(VECTOR_BYTES / most);
    while (chain->vector > 1 && !fits_vector(chain, chain->vector))
        chain->vector /= 2;
}

/* ---- runs of ops ---- */

/* Whether an op after the first n, or outside of the run, reads it. */
static bool is_written(const Chain *chain, int first, int n, int m)
{
    const DeviceBuild *build = chain->build;
    if (m == n - 1 || build->kept[first + m])
        return true;
    for (int op = first + n; op < build->n_run; op++)
        for (int i = 0; i < build->run[op]->n_inputs; i++)
            if (build->run[op]->input[i] == chain->made[m].local)
                return true;
    return false;
}

/* Whether the next op reads an output of the chain; else fusing saves nothing. */
static bool goes_on(const Chain *chain, const KernelCall *call)
{
    for (int i = 0; i < call->n_inputs; i++)
        for (int m = 0; m < chain->n_made; m++)
            if (call->input[i] && call->input[i] == chain->made[m].local)
                return true;
    return false;
}

static void build_chain(Chain *chain)
{
    join_dims(chain);
    choose_vector(chain);
    KernelText k = kernel_text(chain->build, "%s", chain_name(chain));
    put_chain(chain, &k);
    build_launch(&k, launch_over(shape_elements(&chain->frame) / chain->vector));
}

/* An op that folds more inputs than a chain reads: each launch adds some to the output. */
static bool build_long_fold(DeviceBuild *build, const KernelCall *call)
{
    const PointRow *row = find_row(call->kernel->name);
    const Local *out = call->output[0];
    static const double none[2];
    if (!row || row->n_inputs != 0 || strcmp(row->id, "MEAN") == 0 || loses_sign(call, row))
        return false;
    for (int i = 0; i < call->n_inputs;) {
        Chain chain = {.build = build, .frame = out->shape};
        From from[OPERANDS] = {{OF_READ, 0}};
        if (i == 0 && !add_broadcast(&chain, call, i++, &from[0]))
            return false;
        if (i > 1) {
            chain.read[chain.n_reads++] =
                (PointRead){.local = out, .place = place_output(device_op_at(build, call), 0)};
            row_major_strides(&out->shape, chain.read[0].stride);
        }
        while (i < call->n_inputs && chain.n_reads < READS_MAX) {
            if (!call->input[i] || !add_broadcast(&chain, call, i++, &from[1]) ||
                !add_step(&chain, row, element_class(call), out->dtype, from, none))
                return false;
            from[0] = (From){OF_STEP, chain.n_steps - 1};
        }
        chain.made[chain.n_made++] =
            (Made){out, chain.n_steps - 1, place_output(device_op_at(build, call), 0)};
        chain.written[0] = true;
        build_chain(&chain);
    }
    return true;
}

int build_pointwise(DeviceBuild *build, int first)
{
    const KernelCall *const *run = build->run + first;
    int n = 0, n_run = build->n_run - first;
    if (run[0]->n_outputs < 1 || !run[0]->output[0])
        return 0;
    Chain chain = {.build = build, .frame = run[0]->output[0]->shape};
    while (n < n_run && (n == 0 || goes_on(&chain, run[n])) && add_op(&chain, run[n]))
        n++;
    if (n == 0)
        return run[0]->n_inputs > READS_MAX && build_long_fold(build, run[0]);
    for (int m = 0; m < n; m++)
        chain.written[m] = is_written(&chain, first, n, m);
    build_chain(&chain);
    return n;
}
