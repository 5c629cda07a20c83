#include "core/peers/tapestry/loaded.h"

#include <assert.h>

typedef struct {
    Arena *arena;
    Template *template;
    Error *err;
} Load;

/* ---- element types ---- */

Str template_dtype(Str name)
{
    static const char *const names[][2] = {
        {"float16", "f16"},   {"float32", "f32"},     {"float64", "f64"}, {"bfloat16", "bf16"},
        {"int8", "i8"},       {"int16", "i16"},       {"int32", "i32"},   {"int64", "i64"},
        {"uint8", "u8"},      {"uint16", "u16"},      {"uint32", "u32"},  {"uint64", "u64"},
        {"complex64", "c64"}, {"complex128", "c128"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(name, str_from(names[i][0])))
            return str_from(names[i][1]);
    return name;
}

/* ---- copies ---- */

static const char *copy(Arena *arena, const char *text)
{
    return text ? arena_str(arena, str_from(text)) : NULL;
}

static const char *const *copy_texts(Arena *arena, const char *const *texts, int n)
{
    const char **out = arena_array(arena, const char *, n);
    for (int i = 0; i < n; i++)
        out[i] = copy(arena, texts[i]);
    return out;
}

static const TemplateSlot *copy_slots(Arena *arena, const TemplateSlot *slots, int n)
{
    TemplateSlot *out = arena_array(arena, TemplateSlot, n);
    for (int i = 0; i < n; i++) {
        const TemplateSlot *slot = &slots[i];
        out[i] = (TemplateSlot){
            .name = copy(arena, slot->name),
            .shape = copy(arena, slot->shape),
            .dtype = copy(arena, slot->dtype),
            .ipf = copy(arena, slot->ipf),
            .map = copy(arena, slot->map),
            .offset = copy(arena, slot->offset),
            .window = copy(arena, slot->window),
            .source = copy(arena, slot->source),
            .at = copy(arena, slot->at),
            .row = copy(arena, slot->row),
            .each = copy(arena, slot->each),
            .clip = slot->clip,
            .optional = slot->optional,
        };
    }
    return out;
}

static TemplateText copy_text(Arena *arena, const TemplateText *text)
{
    TemplateText out = *text;
    out.name = copy(arena, text->name);
    out.kernel = copy(arena, text->kernel);
    out.example = copy(arena, text->example);
    out.index = copy(arena, text->index);
    out.reduce = copy(arena, text->reduce);
    out.reduce_op = copy(arena, text->reduce_op);
    out.let = copy_texts(arena, text->let, text->n_let);
    out.require = copy_texts(arena, text->require, text->n_require);
    out.inputs = copy_slots(arena, text->inputs, text->n_inputs);
    out.outputs = copy_slots(arena, text->outputs, text->n_outputs);
    TemplateField *params = arena_array(arena, TemplateField, text->n_params);
    for (int i = 0; i < text->n_params; i++)
        params[i] =
            (TemplateField){copy(arena, text->params[i].name), copy(arena, text->params[i].text)};
    TemplateEnum *enums = arena_array(arena, TemplateEnum, text->n_enums);
    for (int i = 0; i < text->n_enums; i++)
        enums[i] = (TemplateEnum){copy(arena, text->enums[i].name), text->enums[i].n,
                                  copy_texts(arena, text->enums[i].allowed, text->enums[i].n)};
    out.params = params;
    out.enums = enums;
    return out;
}

/* ---- phrases ---- */

/* An empty phrase for errors that no text causes. */
static const Phrase *empty_phrase(Load *load, const char *where)
{
    Phrase *phrase = arena_make(load->arena, Phrase);
    *phrase = (Phrase){.owner = load->template->text.name, .where = where};
    return phrase;
}

static bool fail(Load *load, TemplateCode code, const char *where, const char *what)
{
    return phrase_fail(empty_phrase(load, where), 0, code, load->err, "%s", what);
}

/* Returns true and leaves *out NULL if text is NULL. */
static bool read(Load *load, const char *text, const char *where, PhraseForm form,
                 const Phrase **out)
{
    if (!text)
        return true;
    *out =
        phrase_read(load->arena, load->template->text.name, where, str_from(text), form, load->err);
    return *out != NULL;
}

static const char *field_of(Load *load, const char *slot, const char *field)
{
    return arena_printf(load->arena, "%s.%s", slot, field);
}

static const Phrase *const *read_all(Load *load, const char *const *texts, int n, const char *field,
                                     PhraseForm form)
{
    const Phrase **out = arena_array(load->arena, const Phrase *, n);
    for (int i = 0; i < n; i++)
        if (!read(load, texts[i], arena_printf(load->arena, "%s %d", field, i + 1), form, &out[i]))
            return NULL;
    return out;
}

/* ---- slots ---- */

static bool read_ipf(Load *load, LoadedSlot *slot)
{
    const TemplateSlot *text = slot->text;
    const char *ipf = field_of(load, text->name, "ipf");
    int forms = (text->ipf != NULL) + (text->map || text->offset || text->window) +
                (text->source || text->at || text->row);
    if (forms > 1)
        return fail(load, E_EXTRA, ipf,
                    "an ipf must be a string, {map, offset, shape} or insertRow");
    if ((text->source || text->at || text->row) && !(text->source && text->at && text->row))
        return fail(load, E_SYNTAX, ipf, "insertRow needs source, index and row");
    return read(load, text->ipf, ipf, FORM_IPF, &slot->ipf.map) &&
           read(load, text->map, field_of(load, text->name, "ipf.map"), FORM_MAP, &slot->ipf.map) &&
           read(load, text->offset, field_of(load, text->name, "ipf.offset"), FORM_EXPR,
                &slot->ipf.offset) &&
           read(load, text->window, field_of(load, text->name, "ipf.shape"), FORM_EXPR,
                &slot->ipf.window) &&
           read(load, text->source, field_of(load, text->name, "ipf.source"), FORM_IPF,
                &slot->ipf.source) &&
           read(load, text->at, field_of(load, text->name, "ipf.index"), FORM_EXPR,
                &slot->ipf.at) &&
           read(load, text->row, field_of(load, text->name, "ipf.row"), FORM_ROW, &slot->ipf.row);
}

static bool read_slot(Load *load, const TemplateSlot *text, LoadedSlot *slot)
{
    *slot = (LoadedSlot){.text = text};
    slot->own = empty_phrase(load, text->name);
    if (text->dtype) {
        Str dtype = str_trim(str_from(text->dtype));
        slot->dtype_is_name = str_starts(dtype, STR("$"));
        slot->dtype = slot->dtype_is_name ? (Str){dtype.s + 1, dtype.n - 1} : template_dtype(dtype);
        if (slot->dtype.n == 0)
            return fail(load, E_SYNTAX, field_of(load, text->name, "dtype"), "a type or a $name");
    }
    return read_ipf(load, slot);
}

static bool read_inputs(Load *load)
{
    const TemplateText *text = &load->template->text;
    LoadedSlot *slot = arena_array(load->arena, LoadedSlot, text->n_inputs);
    load->template->input = slot;
    for (int i = 0; i < text->n_inputs; i++) {
        const TemplateSlot *input = &text->inputs[i];
        if (!read_slot(load, input, &slot[i]))
            return false;
        if (!input->shape)
            return fail(load, E_SYNTAX, input->name, "an input needs a shape");
        if (input->each)
            return fail(load, E_EXTRA, input->name, "only outputs can have 'each'");
        slot[i].pattern =
            pattern_read(load->arena, text->name, field_of(load, input->name, "shape"),
                         str_from(input->shape), load->err);
        if (!slot[i].pattern)
            return false;
    }
    return true;
}

static bool read_outputs(Load *load)
{
    const TemplateText *text = &load->template->text;
    LoadedSlot *slot = arena_array(load->arena, LoadedSlot, text->n_outputs);
    int n_each = 0;
    load->template->output = slot;
    for (int i = 0; i < text->n_outputs; i++) {
        const TemplateSlot *output = &text->outputs[i];
        if (!read_slot(load, output, &slot[i]) ||
            !read(load, output->shape, field_of(load, output->name, "shape"), FORM_EXPR,
                  &slot[i].shape) ||
            !read(load, output->each, field_of(load, output->name, "each"), FORM_BIND,
                  &slot[i].each))
            return false;
        if (output->optional)
            return fail(load, E_EXTRA, output->name, "only inputs can be optional");
        n_each += output->each != NULL;
        if (n_each > 1)
            return fail(load, E_EXTRA, output->name, "only one output slot can have 'each'");
    }
    return true;
}

static bool check_slot_names(Load *load, const TemplateSlot *slots, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(slots[i].name, slots[k].name) == 0)
                return fail(load, E_DUP, slots[i].name, "two slots have this name");
    return true;
}

/* ---- names across the patterns ---- */

static bool mixes(Load *load, const Pattern *pattern, const PatternItem *item, const Pattern *other)
{
    for (int i = 0; i < other->n_indices; i++)
        if (str_eq(other->index[i], item->name))
            return !phrase_fail(pattern->phrase, item->at, E_INDEX_NAME, load->err,
                                "Overlap between names and index names: [%.*s]",
                                STR_ARG(item->name));
    for (int i = 0; i < other->n_names; i++)
        if (str_eq(other->named[i]->name, item->name) &&
            !str_eq(other->named[i]->index, item->index))
            return !phrase_fail(pattern->phrase, item->at, E_INDEX_MIX, load->err,
                                "$%.*s has an index here, but another or none in %s",
                                STR_ARG(item->name), other->phrase->where);
    return false;
}

static bool check_indices(Load *load)
{
    const Template *template = load->template;
    for (int a = 0; a < template->text.n_inputs; a++) {
        const Pattern *pattern = template->input[a].pattern;
        assert(pattern);
        for (int b = 0; b < template->text.n_inputs; b++)
            for (int i = 0; i < pattern->n_names; i++)
                if (mixes(load, pattern, pattern->named[i], template->input[b].pattern))
                    return false;
    }
    return true;
}

/* ---- the rest ---- */

static int find_input(const TemplateText *text, Str name)
{
    for (int i = 0; i < text->n_inputs; i++)
        if (str_eq(str_from(text->inputs[i].name), name))
            return i;
    return -1;
}

static bool read_params(Load *load)
{
    const TemplateText *text = &load->template->text;
    LoadedParam *param = arena_array(load->arena, LoadedParam, text->n_params);
    load->template->param = param;
    for (int i = 0; i < text->n_params; i++) {
        const char *where = field_of(load, "params", text->params[i].name);
        param[i] = (LoadedParam){.name = str_from(text->params[i].name), .slot = -1};
        if (!read(load, text->params[i].text, where, FORM_PARAM, &param[i].phrase))
            return false;
        if (!param[i].phrase)
            return fail(load, E_SYNTAX, where, "a param needs a type");
        const PhraseNode *root = param[i].phrase->root;
        bool about_slot = root->op >= PARAM_AXIS;
        if (root->name.n > 0)
            param[i].slot = find_input(text, root->name);
        if (root->name.n > 0 && (param[i].slot < 0 || !about_slot))
            return fail(load, E_SYNTAX, where,
                        about_slot ? "it refers to an unknown slot"
                                   : "it needs a slot, as in 'axis of x'");
    }
    return true;
}

static bool read_reduce(Load *load)
{
    const TemplateText *text = &load->template->text;
    static const ReduceOp reductions[] = {REDUCE_SUM,  REDUCE_MAX, REDUCE_MIN,
                                          REDUCE_PROD, REDUCE_ANY, REDUCE_ALL};
    if (!text->reduce)
        return true;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strcmp(text->reduce_op, reduce_name(reductions[i])) == 0)
            load->template->reduce_op = reductions[i];
    if (load->template->reduce_op == REDUCE_NONE) {
        fail(load, E_EXTRA, "reduce",
             arena_printf(load->arena, "%s is not an associative reduction", text->reduce_op));
        error_hint(load->err, "use sum, max, min, prod, any or all; write a mean as a scaled sum");
        return false;
    }
    return read(load, text->reduce, "reduce", FORM_INDEX, &load->template->reduce);
}

static bool check_counts(Load *load)
{
    const TemplateText *text = &load->template->text;
    if (text->n_inputs > TEMPLATE_SLOTS_MAX || text->n_outputs > TEMPLATE_SLOTS_MAX)
        return fail(load, E_LIMIT, "inputs", "too many slots");
    if (text->n_params > TEMPLATE_FIELDS_MAX || text->n_enums > TEMPLATE_FIELDS_MAX ||
        text->n_let > TEMPLATE_FIELDS_MAX || text->n_require > TEMPLATE_FIELDS_MAX)
        return fail(load, E_LIMIT, "params", "too many params, constraints, let or require");
    if (!text->index)
        return fail(load, E_SYNTAX, "index", "a template needs an index");
    return text->n_outputs > 0 || fail(load, E_SYNTAX, "outputs", "a template needs an output");
}

const Template *template_load(Arena *arena, const TemplateText *text, Error *err)
{
    Template *template = arena_make(arena, Template);
    Error own = {0};
    Load load = {arena, template, err ? err : &own};
    template->text = copy_text(arena, text);
    text = &template->text;
    template->own = empty_phrase(&load, "template");
    if (!check_counts(&load) || !check_slot_names(&load, text->inputs, text->n_inputs) ||
        !check_slot_names(&load, text->outputs, text->n_outputs) || !read_inputs(&load) ||
        !read_outputs(&load) || !check_indices(&load) || !read_params(&load) ||
        !read(&load, text->index, "index", FORM_INDEX, &template->index) || !read_reduce(&load))
        return NULL;
    template->let = read_all(&load, text->let, text->n_let, "let", FORM_BIND);
    template->require =
        template->let ? read_all(&load, text->require, text->n_require, "require", FORM_REQUIRE)
                      : NULL;
    return template->require ? template : NULL;
}

const TemplateText *template_text(const Template *template)
{
    return &template->text;
}

bool template_is_variadic(const Template *template, int input)
{
    return template->input[input].pattern->n_indices > 0;
}
