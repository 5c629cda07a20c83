/* gen_loss.c - the parts of a cross entropy that read labels: the loss of each token, its gradient.
 *
 * Classes may be sharded: a table maps the global class to the local one, or to none.
 */
#include "core/run/cuda/device_build.h"

static const char head[] =
    "enum { FAULT_INDEX = %d };\n"
    "typedef struct {\n"
    "    const GRADIENT *gradient;\n    const SCORE *score;\n    const MOST *most;\n"
    "    const SUM *sum;\n    const LABEL *label;\n    OUT *to;\n    const i64 *table;\n"
    "    int *fault;\n    i64 n, classes, held, first, ignores, ignored;\n"
    "} Args;\n"
    "/* Where the label lies among the classes: -1 on another rank, -2 if it is ignored. */\n"
    "DEVICE i64 place_of(const Args *a, i64 row)\n"
    "{\n"
    "    i64 label = LOAD_LABEL(a->label[row]);\n"
    "    if (a->ignores && label == a->ignored)\n"
    "        return -2;\n"
    "    if (label < 0 || label >= a->classes) {\n"
    "        *a->fault = FAULT_INDEX;\n"
    "        return -2;\n"
    "    }\n"
    "    return a->table ? a->table[label] : label;\n"
    "}\n";

static const char loss_body[] =
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 at = place_of(&a, i);\n"
    "        C loss = 0;\n"
    "        if (at != -2 && a.first)\n"
    "            loss = LOG(LOAD_SUM(a.sum[i])) + LOAD_MOST(a.most[i]);\n"
    "        if (at >= 0)\n"
    "            loss -= LOAD_SCORE(a.score[i * a.held + at]);\n"
    "        a.to[i] = STORE(loss);\n"
    "    }\n"
    "}\n";

static const char gradient_body[] =
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 row = i / a.held, at = place_of(&a, row);\n"
    "        C g = LOAD_GRADIENT(a.gradient[row]);\n"
    "        C x = g * EXP(LOAD_SCORE(a.score[i]) - LOAD_MOST(a.most[row])) /\n"
    "              LOAD_SUM(a.sum[row]);\n"
    "        a.to[i] = STORE(at == -2 ? 0 : at == i % a.held ? x - g : x);\n"
    "    }\n"
    "}\n";

static void put_operand(KernelText *k, const char *name, const Local *local, const char *class)
{
    const char *type = local ? dtype_name(local->dtype) : "f32";
    buf_printf(&k->text, "typedef t_%s %s;\n#define LOAD_%s(x) load_%s_%s(x)\n", type, name, name,
               type, class);
}

/* scores, maximum, sum and labels from input `first` on; one element of all but scores a row. */
static bool fits(const KernelCall *call, int first)
{
    const Local *scores = kernel_input(call, first);
    if (!scores || scores->shape.n_dims < 1 || call->n_inputs < first + 4)
        return false;
    const Attr *smoothing = op_attr(kernel_graph(call), call->op, "label_smoothing");
    if (smoothing && smoothing->type == ATTR_FLOAT && smoothing->f != 0)
        return false; /* the host's kernel */
    int64_t rows = 1; /* a rank may hold no class */
    for (int64_t d = 0; d + 1 < scores->shape.n_dims; d++)
        rows *= scores->shape.dim[d];
    for (int i = 0; i < first + 4; i++) {
        const Local *in = call->input[i];
        bool label = i == first + 3;
        if (!in || !dtype_on_device(in->dtype) ||
            (label ? !dtype_is_int(in->dtype) : !dtype_is_float(in->dtype)) ||
            (i != first && shape_elements(&in->shape) != rows))
            return false;
    }
    return dtype_on_device(call->output[0]->dtype) && dtype_is_float(call->output[0]->dtype);
}

/* row: the gradient is made, and that of the loss is input 0. */
static bool token_loss(DeviceBuild *build, const KernelCall *call, const void *row)
{
    static const char *const names[] = {"SCORE", "MOST", "SUM", "LABEL"};
    int first = row != NULL;
    const Local *out = call->output[0];
    if (!fits(call, first))
        return false;
    const Local *scores = call->input[first];
    const char *class = number_name(dtype_number(out->dtype)), *type = dtype_name(out->dtype);
    KernelText k = kernel_text(build, "token_loss%s_%s", first ? "_grad" : "", type);
    put_class(&k, dtype_number(out->dtype));
    put_operand(&k, "GRADIENT", first ? call->input[0] : NULL, class);
    for (int i = 0; i < 4; i++)
        put_operand(&k, names[i], call->input[first + i], i == 3 ? "i64" : class);
    buf_printf(&k.text, "typedef t_%s OUT;\n#define STORE(x) store_%s_%s(x)\n", type, type, class);
    buf_printf(&k.text, head, FAULT_INDEX);
    buf_puts(&k.text, first ? gradient_body : loss_body);
    arg_place_if(&k, first, place_input(0, 0));
    for (int i = 0; i < 4; i++)
        ARGS_PLACES(&k, place_input(0, first + i));
    ARGS_PLACES(&k, place_output(0, 0));
    int64_t last = scores->shape.n_dims - 1, n = shape_elements(&out->shape);
    arg_row_table(&k, scores, last);
    ARGS_PLACES(&k, place_fault());
    const Attr *ignored = op_attr(kernel_graph(call), call->op, "ignore_index");
    bool ignores = ignored && ignored->type == ATTR_INT;
    ARGS_I64(&k, n, scores->whole.dim[last], scores->shape.dim[last], call->first, ignores,
             ignores ? ignored->i : 0);
    build_launch(&k, launch_over(n));
    return true;
}

const DeviceOp device_ops_loss[] = {
    {"TokenLoss", token_loss, NULL},
    {"TokenLossGrad", token_loss, "gradient"},
    {0},
};
