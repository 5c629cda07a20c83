#include "core/peers/tapestry/loaded.h"

#include "core/peers/tapestry/eval_forms.h"

/* ---- as written ---- */

static void set_text(Json *object, const char *field, const char *text)
{
    if (text)
        json_set_str(object, field, text);
}

static Json *texts_json(const char *const *texts, int n)
{
    Json *out = json_array();
    for (int i = 0; i < n; i++)
        json_add(out, json_from_str(str_from(texts[i])));
    return out;
}

static Json *ipf_json(const TemplateSlot *slot)
{
    if (slot->ipf)
        return json_from_str(str_from(slot->ipf));
    Json *out = json_object();
    if (slot->row)
        json_set_str(out, "transform", "insertRow");
    set_text(out, "map", slot->map);
    set_text(out, "offset", slot->offset);
    set_text(out, "shape", slot->window);
    set_text(out, "source", slot->source);
    set_text(out, "index", slot->at);
    set_text(out, "row", slot->row);
    return out;
}

static Json *slots_json(const TemplateSlot *slots, int n)
{
    Json *out = json_array();
    for (int i = 0; i < n; i++) {
        const TemplateSlot *slot = &slots[i];
        Json *one = json_object();
        json_set_str(one, "name", slot->name);
        set_text(one, "shape", slot->shape);
        set_text(one, "dtype", slot->dtype);
        set_text(one, "each", slot->each);
        if (slot->ipf || slot->map || slot->offset || slot->window || slot->row)
            json_set(one, "ipf", ipf_json(slot));
        if (slot->clip)
            json_set_bool(one, "clip", true);
        if (slot->optional)
            json_set_bool(one, "optional", true);
        json_add(out, one);
    }
    return out;
}

static Json *constraints_json(const TemplateText *text)
{
    Json *out = json_object();
    for (int i = 0; i < text->n_enums; i++) {
        Json *one = json_object();
        json_set(one, "enum", texts_json(text->enums[i].allowed, text->enums[i].n));
        json_set(out, text->enums[i].name, one);
    }
    return out;
}

static Json *text_json(const TemplateText *text)
{
    Json *out = json_object(), *params = json_object(), *reduce = json_object();
    for (int i = 0; i < text->n_params; i++)
        set_text(params, text->params[i].name, text->params[i].text);
    if (text->reduce)
        json_set_str(reduce, text->reduce_op, text->reduce);
    json_set_str(out, "name", text->name);
    set_text(out, "kernel", text->kernel);
    json_set(out, "params", params);
    json_set(out, "constraints", constraints_json(text));
    json_set(out, "let", texts_json(text->let, text->n_let));
    json_set(out, "require", texts_json(text->require, text->n_require));
    json_set(out, "inputs", slots_json(text->inputs, text->n_inputs));
    json_set_str(out, "index", text->index);
    json_set(out, "reduce", reduce);
    json_set(out, "outputs", slots_json(text->outputs, text->n_outputs));
    return out;
}

/* ---- resolved: each projection as its doubly augmented matrix ---- */

static Json *index_json(const OpSpace *space)
{
    Json *out = json_array();
    for (int j = 0; j < space->n_index; j++) {
        Json *one = json_object();
        json_set_str(one, "name", space->index[j].name);
        json_set_int(one, "size", space->index[j].size);
        if (space->index[j].role == ROLE_REDUCE)
            json_set_str(one, "reduce", reduce_name(space->index[j].reduce));
        json_add(out, one);
    }
    return out;
}

/* The operands of one slot, from operand *at on. */
static void add_operands(Json *list, const OpSpace *space, const TemplateSlot *slot, int n, int *at)
{
    for (int k = 0; k < n; k++, (*at)++) {
        const Operand *operand = &space->operand[*at];
        if (operand->absent)
            continue;
        Json *one = json_object();
        json_set_str(one, "slot", slot->name);
        json_set_int(one, "k", k);
        json_set_bool(one, "output", *at >= space->n_inputs);
        json_set(one, "shape", json_ints(operand->shape.dim, (int)operand->shape.n_dims));
        json_set_bool(one, "clip", operand->projection.clip);
        json_set(one, "ipf", json_affine_map(&operand->projection, space->n_index));
        json_add(list, one);
    }
}

static Json *resolved_json(Arena *arena, const Template *template, const OpSpace *space)
{
    const TemplateText *text = &template->text;
    Json *out = json_object(), *operands = json_array();
    int *n = arena_array(arena, int, text->n_inputs + text->n_outputs);
    int at = 0;
    json_set(out, "index", index_json(space));
    json_set(out, "operands", operands);
    json_set(out, "lints", template_lints(arena, space));
    if (!template_divide_inputs(template, space->n_inputs, n, NULL))
        return out;
    template_divide_outputs(template, space->n_outputs, n + text->n_inputs);
    for (int i = 0; i < text->n_inputs && at < space->n_inputs; i++)
        add_operands(operands, space, &text->inputs[i], (int)clamp(n[i], 0, space->n_inputs - at),
                     &at);
    at = space->n_inputs;
    for (int i = 0; i < text->n_outputs; i++)
        add_operands(operands, space, &text->outputs[i], n[text->n_inputs + i], &at);
    return out;
}

Json *template_json(Arena *arena, const Template *template, const OpSpace *space)
{
    Json *out = json_object();
    json_set(out, "template", text_json(&template->text));
    if (space)
        json_set(out, "resolved", resolved_json(arena, template, space));
    return out;
}
