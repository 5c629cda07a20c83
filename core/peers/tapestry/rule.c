#include "core/peers/tapestry/loaded.h"

/* ---- from an op to a template's arguments ---- */

bool template_divide_inputs(const Template *template, int n, int *n_of_slot, Error *err)
{
    int n_slots = template->text.n_inputs, n_many = 0;
    for (int i = 0; i < n_slots; i++)
        n_many += template_is_variadic(template, i);
    int rest = n - (n_slots - n_many);
    if (n_many > 0 && (rest < 0 || rest % n_many != 0))
        return error_kind(err, ERROR_RANK, "%d inputs cannot be divided among the %d slots of %s",
                          n, n_slots, template->text.name);
    if (n_many == 0 && rest > 0)
        return error_kind(err, ERROR_RANK, "it has %d inputs, but template %s has %d", n,
                          template->text.name, n_slots);
    int share = n_many > 0 ? rest / n_many : 0;
    for (int i = 0; i < n_slots; i++)
        n_of_slot[i] = template_is_variadic(template, i) ? share : 1;
    return true;
}

void template_divide_outputs(const Template *template, int n, int *n_of_slot)
{
    int left = n;
    for (int i = 0; i < template->text.n_outputs; i++) {
        int after = template->text.n_outputs - 1 - i;
        int wanted = template->text.outputs[i].each ? left - after : 1;
        n_of_slot[i] = (int)clamp(wanted, 0, left);
        left -= n_of_slot[i];
    }
}

/* Lists the op's inputs as tensors of slots; `taken` maps each tensor to its operand. */
static void collect_tensors(const Template *template, const RuleCall *call, int *n_of_slot,
                            const TemplateTensor **tensor, int *taken)
{
    int at = 0, n_taken = 0;
    for (int i = 0; i < template->text.n_inputs; i++) {
        TemplateTensor *list = arena_array(call->arena, TemplateTensor, n_of_slot[i]);
        int n = 0;
        for (int k = 0; k < n_of_slot[i]; k++, at++) {
            if (at >= call->n_inputs || !call->shape[at])
                continue;
            taken[n_taken++] = at;
            list[n].shape = *call->shape[at];
            list[n++].dtype = str_from(dtype_name(call->dtype[at]));
        }
        tensor[i] = list;
        n_of_slot[i] = n;
    }
}

static TemplateArg attr_arg(const char *name, const Attr *attr)
{
    if (attr->type == ATTR_INTS)
        return (TemplateArg){name, true, false, attr->n, attr->ints, {0}};
    if (attr->type == ATTR_STRING)
        return (TemplateArg){name, false, true, 0, NULL, attr->s};
    return (TemplateArg){name, false, false, 1, &attr->i, {0}};
}

/* Lists the attributes that are params of the template; others are ignored. */
static int collect_args(const Template *template, const RuleCall *call, TemplateArg *args)
{
    int n = 0;
    for (int i = 0; i < template->text.n_params; i++) {
        const char *name = template->text.params[i].name;
        const Attr *attr = op_attr(call->graph, call->op, name);
        if (attr &&
            (attr->type == ATTR_INT || attr->type == ATTR_INTS || attr->type == ATTR_STRING))
            args[n++] = attr_arg(name, attr);
    }
    return n;
}

/* ---- from the result to the op's space ---- */

/* The name as an identifier that annotations and pins accept: "pre0" for "pre.0". */
static const char *plain_name(Arena *arena, const OpSpace *space, const char *name)
{
    Buf plain = buf_new(arena);
    for (; *name; name++)
        if (*name != '.')
            buf_putc(&plain, *name);
    while (opspace_find_index(space, buf_str(&plain)) >= 0)
        buf_putc(&plain, '_');
    return plain.s;
}

/* The op space with operands in the op's order, without outputs that the op does not have. */
static OpSpace *space_of_op(const RuleCall *call, const OpSpace *from, const int *taken)
{
    OpSpace *space = opspace_new(call->arena, call->n_inputs, call->n_outputs);
    Operand *operand = space->operand;
    *space = *from;
    space->operand = operand;
    space->n_inputs = call->n_inputs;
    space->n_outputs = call->n_outputs;
    for (int j = 0; j < space->n_index; j++)
        if (strchr(space->index[j].name, '.'))
            space->index[j].name = plain_name(call->arena, space, space->index[j].name);
    for (int i = 0; i < call->n_inputs; i++)
        operand[i].absent = true;
    for (int i = 0; i < from->n_inputs; i++)
        operand[taken[i]] = from->operand[i];
    for (int o = 0; o < call->n_outputs; o++)
        operand[call->n_inputs + o] = from->operand[from->n_inputs + o];
    return space;
}

/* Freezes main dims along which an output cannot be sharded: those that it is projected from
 * backwards or across parts of uneven sizes. opspace_finish() derives the factors. */
static void freeze_uncuttable(OpSpace *space)
{
    if (opspace_finish(space, NULL))
        return;
    for (int j = 0; j < space->n_index; j++)
        for (int o = 0; o < space->n_outputs && space->index[j].role == ROLE_MAP; o++)
            if (!operand_has_index(opspace_output(space, o), j))
                space->index[j].role = ROLE_FROZEN;
}

/* The rule of the template's row. Params are the op's attributes, slots its inputs in order; a slot
 * of several tensors gets the inputs that the others leave. Optional slots come last or are absent.
 */
static bool apply_data(const void *data, RuleCall *call, Error *err)
{
    const Template *template = data;
    int *n_of_slot = arena_array(call->arena, int, template->text.n_inputs);
    int *taken = arena_array(call->arena, int, call->n_inputs);
    const TemplateTensor **tensor =
        arena_array(call->arena, const TemplateTensor *, template->text.n_inputs);
    TemplateArg *args = arena_array(call->arena, TemplateArg, template->text.n_params);
    if (!template_divide_inputs(template, call->n_inputs, n_of_slot, err))
        return false;
    collect_tensors(template, call, n_of_slot, tensor, taken);
    TemplateCall given = {n_of_slot, tensor, collect_args(template, call, args), args};
    TemplateResult result;
    if (!template_apply(call->arena, template, &given, &result, err))
        return false;
    if (call->n_outputs > result.space->n_outputs)
        return error_kind(err, ERROR_RANK, "it has %d outputs, but template %s has %d",
                          call->n_outputs, template->text.name, result.space->n_outputs);
    for (int o = 0; o < call->n_outputs; o++) {
        const TemplateTensor *output = result.operand[result.space->n_inputs + o].tensor;
        Dtype dtype = dtype_from_name(output->dtype);
        call->out_shape[o] = output->shape;
        if (dtype != DT_NONE)
            call->out_dtype[o] = dtype;
    }
    call->space = space_of_op(call, result.space, taken);
    freeze_uncuttable(call->space);
    return true;
}

static Json *json_of_data(Arena *arena, const void *data, const OpSpace *space)
{
    return template_json(arena, data, space);
}

Operator template_operator(Arena *arena, const Template *template)
{
    const TemplateText *text = &template->text;
    RuleData *data = arena_make(arena, RuleData);
    *data = (RuleData){template, apply_data, text->n_outputs, "template", json_of_data};
    Operator row = {.name = text->name, .data = data, .family = "template"};
    row.examples = text->example;
    bool variadic = false, each = false;
    for (int i = 0; i < text->n_inputs; i++) {
        variadic = variadic || template_is_variadic(template, i);
        row.inputs_min = (uint16_t)(row.inputs_min + (text->inputs[i].optional ? 0 : 1));
    }
    for (int i = 0; i < text->n_outputs; i++)
        each = each || text->outputs[i].each;
    row.inputs_max = (uint16_t)(variadic ? OPERATOR_ANY : text->n_inputs);
    row.outputs_max = (uint16_t)(each ? OPERATOR_ANY : text->n_outputs);
    row.flops_per_point = template->reduce_op == REDUCE_SUM ? 2 : 1;
    return row;
}
