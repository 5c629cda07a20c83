#include "core/peers/tapestry/apply.h"

#include <inttypes.h>

/* ---- params ---- */

static const TemplateArg *find_arg(const Apply *apply, Str name)
{
    for (int i = 0; i < apply->call->n_args; i++)
        if (str_eq(str_from(apply->call->args[i].name), name))
            return &apply->call->args[i];
    return NULL;
}

static Datum arg_datum(Arena *arena, const TemplateArg *arg)
{
    if (arg->is_text)
        return (Datum){.kind = DATUM_TEXT, .text = arg->text};
    return arg->is_list ? datum_ints(arena, arg->ints, arg->n) : datum_int(arg->ints[0]);
}

static bool param_is_list(int type)
{
    return type == PARAM_INTS || type == PARAM_PERM;
}

static bool check_axis(Apply *apply, const LoadedParam *param, int64_t rank, Datum *value)
{
    const PhraseNode *node = param->phrase->root;
    int64_t most = node->op == PARAM_AXIS_END ? rank : rank - 1;
    int64_t axis = value->number < 0 ? value->number + most + 1 : value->number;
    if (axis < 0 || axis > most)
        return node_fail(&apply->scope, node, E_AXIS,
                         "$%.*s is %" PRId64 ", and there are %" PRId64 " dims",
                         STR_ARG(param->name), value->number, rank);
    *value = datum_int(axis);
    return true;
}

static bool check_perm(Apply *apply, const LoadedParam *param, int64_t rank, Datum *value)
{
    const PhraseNode *node = param->phrase->root;
    int64_t perm[DIMS_MAX];
    bool seen[DIMS_MAX] = {false};
    bool fits = value->n == rank;
    for (int i = 0; fits && i < value->n; i++) {
        perm[i] = value->item[i].number;
        perm[i] += perm[i] < 0 ? rank : 0;
        fits = perm[i] >= 0 && perm[i] < rank && !seen[perm[i]];
        if (fits)
            seen[perm[i]] = true;
    }
    if (fits) {
        *value = datum_ints(apply->arena, perm, (int)rank);
        return true;
    }
    Buf text = buf_new(apply->arena);
    datum_format(value, &text);
    return node_fail(&apply->scope, node, E_PERM, "%.100s is not a permutation of %" PRId64 " dims",
                     text.s, rank);
}

static bool check_param(Apply *apply, const LoadedParam *param, Datum *value)
{
    const PhraseNode *node = param->phrase->root;
    DatumKind kind = node->op == PARAM_STR     ? DATUM_TEXT
                     : param_is_list(node->op) ? DATUM_LIST
                                               : DATUM_INT;
    bool fits = value->kind == kind;
    for (int i = 0; fits && kind == DATUM_LIST && i < value->n; i++)
        fits = value->item[i].kind == DATUM_INT;
    if (!fits || (node->op == PARAM_BOOL && value->number != 0 && value->number != 1))
        return node_fail(&apply->scope, node, E_TYPE, "the value of $%.*s has another type",
                         STR_ARG(param->name));
    if (param->slot < 0 || apply->call->n_tensors[param->slot] == 0)
        return true;
    int64_t rank = apply->call->tensor[param->slot][0].shape.n_dims;
    return node->op == PARAM_PERM ? check_perm(apply, param, rank, value)
                                  : check_axis(apply, param, rank, value);
}

static bool bind_param(Apply *apply, const LoadedParam *param, Datum value)
{
    if (!check_param(apply, param, &value))
        return false;
    scope_bind(&apply->scope, param->name, value, "params");
    return true;
}

/* Whether all params that the default refers to have values. */
static bool is_ready(const Apply *apply, const LoadedParam *param)
{
    const Template *template = apply->template;
    for (int i = 0; i < template->text.n_params; i++)
        if (!scope_find(&apply->scope, template->param[i].name) &&
            node_has(param->phrase->root->arg[0], NODE_VAR, template->param[i].name))
            return false;
    return true;
}

static bool bind_default(Apply *apply, const LoadedParam *param)
{
    Datum value;
    return evaluate(&apply->scope, param->phrase->root->arg[0], &value) &&
           bind_param(apply, param, value);
}

static bool fail_missing(Apply *apply, const LoadedParam *param)
{
    return node_fail(&apply->scope, param->phrase->root, E_MISSING, "param $%.*s is not given",
                     STR_ARG(param->name));
}

/* Repeats until a pass binds no further param. */
static bool bind_defaults(Apply *apply)
{
    const Template *template = apply->template;
    bool again = true;
    while (again) {
        again = false;
        for (int i = 0; i < template->text.n_params; i++) {
            const LoadedParam *param = &template->param[i];
            if (scope_find(&apply->scope, param->name))
                continue;
            if (param->phrase->root->n == 0)
                return fail_missing(apply, param);
            if (!is_ready(apply, param))
                continue;
            if (!bind_default(apply, param))
                return false;
            again = true;
        }
    }
    for (int i = 0; i < template->text.n_params; i++)
        if (!scope_find(&apply->scope, template->param[i].name))
            return fail_missing(apply, &template->param[i]);
    return true;
}

static bool check_extra(Apply *apply)
{
    const Template *template = apply->template;
    for (int i = 0; i < apply->call->n_args; i++) {
        int k = 0;
        while (k < template->text.n_params &&
               !str_eq(template->param[k].name, str_from(apply->call->args[i].name)))
            k++;
        if (k == template->text.n_params)
            return phrase_fail(template->own, 0, E_EXTRA, apply->err, "there is no param '%s'",
                               apply->call->args[i].name);
    }
    return true;
}

/* Binds params, patterns, let, and checks require. */
static bool apply_params(Apply *apply)
{
    const Template *template = apply->template;
    if (!check_extra(apply))
        return false;
    for (int i = 0; i < template->text.n_params; i++) {
        const TemplateArg *arg = find_arg(apply, template->param[i].name);
        if (arg && !bind_param(apply, &template->param[i], arg_datum(apply->arena, arg)))
            return false;
    }
    return bind_defaults(apply);
}

/* ---- inputs ---- */

static bool match_dtype(Apply *apply, const LoadedSlot *slot, const TemplateTensor *tensor, int k)
{
    Str dtype = template_dtype(tensor->dtype);
    if (slot->dtype.n == 0 || dtype.n == 0)
        return true;
    if (!slot->dtype_is_name)
        return str_eq(dtype, slot->dtype) ||
               phrase_fail(slot->own, 0, E_DTYPE, apply->err, "%s[%d] is %.*s, not %.*s",
                           slot->text->name, k, STR_ARG(dtype), STR_ARG(slot->dtype));
    const char *where = arena_printf(apply->arena, "%s[%d]", slot->text->name, k);
    return pattern_bind(&apply->scope, slot->own, 0, slot->dtype,
                        (Datum){.kind = DATUM_TEXT, .text = dtype}, where, E_DTYPE);
}

static bool match_slot(Apply *apply, int i)
{
    const LoadedSlot *slot = &apply->template->input[i];
    const TemplateTensor *tensor = apply->call->tensor[i];
    int n = apply->call->n_tensors[i];
    const Shape **shapes = arena_array(apply->arena, const Shape *, n);
    if (n == 0)
        return slot->text->optional || phrase_fail(slot->own, 0, E_MISSING, apply->err,
                                                   "input %s is not given", slot->text->name);
    for (int k = 0; k < n; k++) {
        shapes[k] = &tensor[k].shape;
        vec_push(apply->arena, &apply->operands, (TemplateOperand){i, k, &tensor[k]});
    }
    if (apply->operands.n > OPERANDS_MAX)
        return phrase_fail(slot->own, 0, E_LIMIT, apply->err, "more than %d operands",
                           OPERANDS_MAX);
    if (!pattern_match(&apply->scope, slot->pattern, slot->text->name, shapes, n))
        return false;
    for (int k = 0; k < n; k++)
        if (!match_dtype(apply, slot, &tensor[k], k))
            return false;
    return true;
}

static bool check_enum(Apply *apply, const TemplateEnum *allowed)
{
    const Binding *bound = scope_find(&apply->scope, str_from(allowed->name));
    if (!bound || bound->value.kind != DATUM_TEXT)
        return true;
    for (int i = 0; i < allowed->n; i++)
        if (str_eq(template_dtype(str_from(allowed->allowed[i])), bound->value.text))
            return true;
    return phrase_fail(apply->template->own, 0, E_ENUM, apply->err,
                       "$%s is %.*s in %s, which its enum does not list", allowed->name,
                       STR_ARG(bound->value.text), bound->where);
}

static bool apply_inputs(Apply *apply)
{
    for (int i = 0; i < apply->template->text.n_inputs; i++)
        if (!match_slot(apply, i))
            return false;
    apply->n_inputs = apply->operands.n;
    for (int i = 0; i < apply->template->text.n_enums; i++)
        if (!check_enum(apply, &apply->template->text.enums[i]))
            return false;
    return true;
}

/* ---- let and require ---- */

static bool apply_let(Apply *apply, const Phrase *let)
{
    Datum value;
    const PhraseNode *bind = let->root;
    if (!evaluate(&apply->scope, bind->arg[0], &value))
        return false;
    if (scope_find(&apply->scope, bind->name))
        return node_fail(&apply->scope, bind, E_DUP, "$%.*s has a value already",
                         STR_ARG(bind->name));
    scope_bind(&apply->scope, bind->name, value, let->where);
    return true;
}

static bool apply_require(Apply *apply, const Phrase *require)
{
    bool holds;
    Datum side[2];
    if (!evaluate_condition(&apply->scope, require->root, &holds, side))
        return false;
    if (holds)
        return true;
    Buf left = buf_new(apply->arena), right = buf_new(apply->arena);
    datum_format(&side[0], &left);
    datum_format(&side[1], &right);
    return node_fail(&apply->scope, require->root, E_REQUIRE,
                     "%.*s is false: %.60s on the left, %.60s on the right", STR_ARG(require->text),
                     left.s, right.s);
}

static bool apply_conditions(Apply *apply)
{
    const Template *template = apply->template;
    for (int i = 0; i < template->text.n_let; i++)
        if (!apply_let(apply, template->let[i]))
            return false;
    for (int i = 0; i < template->text.n_require; i++)
        if (!apply_require(apply, template->require[i]))
            return false;
    return true;
}

bool template_apply(Arena *arena, const Template *template, const TemplateCall *call,
                    TemplateResult *out, Error *err)
{
    Error own = {0};
    Apply *apply = arena_make(arena, Apply);
    err = err ? err : &own;
    *apply = (Apply){.arena = arena, .template = template, .call = call, .err = err};
    apply->scope = scope_new(arena, err);
    if (!apply_params(apply) || !apply_inputs(apply) || !apply_conditions(apply) ||
        !apply_index(apply) || !apply_outputs(apply))
        return false;
    OpSpace *space = apply_space(apply);
    if (!space || !apply_check(apply, space))
        return false;
    *out = (TemplateResult){space, apply->operands.at};
    return true;
}
