/* gen_optimizer.c - updates by the optimizers of core/rules/optimizer.h, and the factor that clips
 * gradients.
 *
 * The functions are the host's (core/rules/optimizer_update.h), in double. One thread computes what
 * depends on the step alone, since rate and step are tensors; a second launch updates the elements.
 */
#include "core/run/cuda/device_build.h"

#include "core/rules/args.h"
#include "core/rules/optimizer_update.h"

#define TEXT(...) TEXT_OF(__VA_ARGS__)
#define TEXT_OF(...) #__VA_ARGS__
#define H(id, name) "HYPER_" #id ", "

static const char types[] = "enum { " HYPER_ROWS(H) "HYPER_COUNT };\n" TEXT(OPTIMIZER_STEP) "\n";
static const char functions[] = TEXT(OPTIMIZER_FUNCTIONS(DEVICE)) "\n";
static const char constants[] = TEXT(OPTIMIZER_CONSTANTS(DEVICE)) "\n";

#undef H

static const char step_body[] =
    "typedef struct {\n"
    "    const RATE *rate;\n    const STEP *step;\n    OptimizerStep *to;\n"
    "    double hyper[HYPER_COUNT];\n"
    "} Args;\n"
    "KERNEL(32, NAME, Args)\n"
    "{\n"
    "    if (threadIdx.x > 0)\n"
    "        return;\n"
    "    OptimizerStep step;\n"
    "    for (int i = 0; i < HYPER_COUNT; i++)\n"
    "        step.hyper[i] = a.hyper[i];\n"
    "    step.step = LOAD_STEP(*a.step);\n"
    "    step.step = step.step < 1 ? 1 : step.step;\n"
    "    step.rate = LOAD_RATE(*a.rate);\n"
    "    step.along_m = step.along_g = step.rectified = 0;\n"
    "    optimizer_bias(&step);\n"
    "    PREPARE\n"
    "    *a.to = step;\n"
    "}\n";

static const char update_head[] = "KERNEL(256, NAME, Args)\n"
                                  "{\n"
                                  "    OptimizerStep step = *a.step;\n"
                                  "    double factor = FACTOR;\n"
                                  "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n;\n"
                                  "         i += (i64)gridDim.x * 256) {\n"
                                  "        double state[3] = {0};\n";

static void put_scalar(KernelText *k, const char *name, const Local *local)
{
    const char *type = local ? dtype_name(local->dtype) : "f32";
    buf_printf(&k->text, "typedef t_%s %s;\n#define LOAD_%s(x) load_%s_%s(x)\n", type, name, name,
               type, strcmp(name, "STEP") == 0 ? "i64" : "f64");
}

static bool is_scalar(const Local *local, bool whole)
{
    return local && dtype_on_device(local->dtype) && shape_elements(&local->shape) == 1 &&
           (!whole || dtype_is_int(local->dtype));
}

/* An OptimizerStep in a workspace. */
static DevicePlace build_step(DeviceBuild *build, const KernelCall *call, const Optimizer *row,
                              const double hyper[HYPER_COUNT])
{
    DevicePlace to = place_workspace(build, (int64_t)sizeof(OptimizerStep));
    KernelText k = kernel_text(build, "step_of_%s", row->name);
    put_scalar(&k, "RATE", call->input[UPDATE_RATE]);
    put_scalar(&k, "STEP", call->input[UPDATE_STEP]);
    if (row->prepare)
        buf_printf(&k.text, "#define PREPARE %s(&step);\n", row->prepare_name);
    else
        buf_puts(&k.text, "#define PREPARE\n");
    buf_printf(&k.text, "%s%s%s", types, constants, step_body);
    ARGS_PLACES(&k, place_input(0, UPDATE_RATE), place_input(0, UPDATE_STEP), to);
    for (int i = 0; i < HYPER_COUNT; i++)
        arg_f64(&k, hyper[i]);
    build_launch(&k, (LaunchSize){{1, 1, 1}, 32, 0});
    return to;
}

/* The parameter and its states: place of the input, and of the value in the state. */
typedef struct {
    int n, input[1 + OPTIMIZER_STATES_MAX], slot[1 + OPTIMIZER_STATES_MAX];
} Updated;

static void put_update(KernelText *k, const KernelCall *call, const Optimizer *row,
                       const Updated *u)
{
    const char *gradient = dtype_name(call->input[UPDATE_GRADIENT]->dtype);
    buf_printf(&k->text,
               "typedef struct {\n    const t_%s *g;\n    const FACTOR_TYPE *factor;\n"
               "    const OptimizerStep *step;\n    i64 n;\n",
               gradient);
    for (int r = 0; r < u->n; r++) {
        const char *type = dtype_name(call->input[u->input[r]]->dtype);
        buf_printf(&k->text, "    const t_%s *x%d;\n    t_%s *y%d;\n", type, r, type, r);
    }
    buf_printf(&k->text, "} Args;\n%s", update_head);
    for (int r = 0; r < u->n; r++) {
        const char *type = dtype_name(call->input[u->input[r]]->dtype);
        if (r == 0)
            buf_printf(&k->text, "        double x = load_%s_f64(a.x0[i]);\n", type);
        else
            buf_printf(&k->text, "        state[%d] = load_%s_f64(a.x%d[i]);\n", u->slot[r], type,
                       r);
    }
    buf_printf(&k->text,
               "        if (factor == factor) /* NaN: the step is skipped */\n"
               "            %s(&step, &x, factor * load_%s_f64(a.g[i]), state);\n",
               row->update_name, gradient);
    for (int r = 0; r < u->n; r++) {
        const char *type = dtype_name(call->input[u->input[r]]->dtype);
        const char *value = r == 0 ? "x" : arena_printf(k->build->arena, "state[%d]", u->slot[r]);
        buf_printf(&k->text, "        if (a.y%d)\n            a.y%d[i] = store_%s_f64(%s);\n", r, r,
                   type, value);
    }
    buf_puts(&k->text, "    }\n}\n");
}

/* Whether parameter, gradient and states have the same elements, and outputs the types of inputs.
 */
static bool open_update(const KernelCall *call, const Optimizer *row,
                        const double hyper[HYPER_COUNT], Updated *u)
{
    const Local *gradient = kernel_input(call, UPDATE_GRADIENT);
    u->n = 1 + optimizer_states(row, hyper, u->slot + 1);
    if (!gradient || !dtype_on_device(gradient->dtype) || call->n_outputs > u->n)
        return false;
    for (int r = 0; r < u->n; r++) {
        u->input[r] = r == 0 ? UPDATE_PARAMETER : UPDATE_STATES + r - 1;
        const Local *in = kernel_input(call, u->input[r]), *out = kernel_output(call, r);
        if (!in || !dtype_on_device(in->dtype) || !shape_equal(&in->shape, &gradient->shape) ||
            (out && (out->dtype != in->dtype || !shape_equal(&out->shape, &in->shape))))
            return false;
    }
    return true;
}

static bool update(DeviceBuild *build, const KernelCall *call, const void *unused)
{
    (void)unused;
    const Optimizer *row = optimizer_of_op(op_operator(kernel_graph(call), call->op));
    const Local *factor = kernel_input(call, UPDATE_FACTOR);
    RuleCall rule = device_rule_call(call);
    double hyper[HYPER_COUNT];
    Updated u = {0};
    if (!row)
        return false;
    optimizer_read_hyper(&rule, row, hyper);
    if (!open_update(call, row, hyper, &u) || !is_scalar(kernel_input(call, UPDATE_RATE), false) ||
        !is_scalar(kernel_input(call, UPDATE_STEP), true) || (factor && !is_scalar(factor, false)))
        return false;
    DevicePlace step = build_step(build, call, row, hyper);
    KernelText k = kernel_text(build, "apply_%s", row->name);
    put_scalar(&k, "FACTOR_TYPE", factor);
    buf_printf(&k.text, "#define FACTOR %s\n%s%s", factor ? "LOAD_FACTOR_TYPE(*a.factor)" : "1",
               types, functions);
    put_update(&k, call, row, &u);
    ARGS_PLACES(&k, place_input(0, UPDATE_GRADIENT));
    arg_place_if(&k, factor, place_input(0, UPDATE_FACTOR));
    ARGS_PLACES(&k, step);
    ARGS_I64(&k, shape_elements(&call->input[UPDATE_GRADIENT]->shape));
    for (int r = 0; r < u.n; r++) {
        ARGS_PLACES(&k, place_input(0, u.input[r]));
        arg_place_if(&k, kernel_output(call, r), place_output(0, r));
    }
    build_launch(&k, launch_over(shape_elements(&call->input[UPDATE_GRADIENT]->shape)));
    return true;
}

/* ---- ClipFactor ---- */

static const char clip_body[] =
    "typedef struct {\n"
    "    const SUM *sum;\n    const SCALE *scale;\n    OUT *factor, *norm;\n"
    "    double scaled, order, clip;\n"
    "    i64 checked;\n"
    "} Args;\n"
    "KERNEL(32, NAME, Args)\n"
    "{\n"
    "    if (threadIdx.x > 0)\n"
    "        return;\n"
    "    double scale = a.scaled * (a.scale ? LOAD_SCALE(*a.scale) : 1);\n"
    "    double sum = LOAD_SUM(*a.sum), norm = pow(sum, 1 / a.order) / scale;\n"
    "    double off = sum - sum; /* NaN unless the sum is finite */\n"
    "    if (a.factor)\n"
    "        *a.factor = STORE(a.checked && off != 0 ? off : clip_factor_of(norm, a.clip) / "
    "scale);\n"
    "    if (a.norm)\n"
    "        *a.norm = STORE(norm);\n"
    "}\n";

static bool clip_factor(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Local *sum = kernel_input(call, 0), *scale = kernel_input(call, 1);
    const Local *factor = kernel_output(call, 0), *norm = kernel_output(call, 1);
    const Local *made = factor ? factor : norm;
    RuleCall rule = device_rule_call(call);
    if (!is_scalar(sum, false) || (scale && !is_scalar(scale, false)) ||
        !dtype_on_device(made->dtype) || (norm && norm->dtype != made->dtype))
        return false;
    const char *type = dtype_name(made->dtype);
    KernelText k = kernel_text(build, "clip_factor_%s", type);
    put_scalar(&k, "SUM", sum);
    put_scalar(&k, "SCALE", scale);
    buf_printf(&k.text, "typedef t_%s OUT;\n#define STORE(x) store_%s_f64(x)\n%s%s%s", type, type,
               types, constants, clip_body);
    ARGS_PLACES(&k, place_input(0, 0));
    arg_place_if(&k, scale, place_input(0, 1));
    arg_place_if(&k, factor, place_output(0, 0));
    arg_place_if(&k, norm, place_output(0, 1));
    arg_f64(&k, args_float(&rule, "scale", 1));
    arg_f64(&k, args_float(&rule, "norm_type", 2));
    arg_f64(&k, args_float(&rule, "clip", 0));
    ARGS_I64(&k, args_int(&rule, "checked", 0));
    build_launch(&k, (LaunchSize){{1, 1, 1}, 32, 0});
    return true;
}

const DeviceOp device_ops_optimizer[] = {
    {"SgdUpdate", update, NULL},
    {"ClipFactor", clip_factor, NULL},
    {0},
};
