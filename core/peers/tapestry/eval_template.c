#include "core/peers/tapestry/eval_template.h"

#include "core/peers/tapestry/eval_forms.h"
#include "core/peers/tapestry/ipf.h"
#include "core/peers/tapestry/pattern.h"

/* Binds the names that the request lists under `vars`. */
static bool bind_vars(Scope *scope, const Json *request)
{
    const Json *vars = json_get(request, "vars");
    if (vars && !json_is_object(vars))
        return error_set(scope->err, "`vars` must be an object");
    for (int i = 0; i < json_size(vars); i++) {
        const char *name = json_key_at(vars, i);
        Datum value;
        if (!form_datum(scope->arena, json_get(vars, name), &value, scope->err))
            return false;
        scope_bind(scope, str_from(arena_str(scope->arena, str_from(name))), value, "vars");
    }
    return true;
}

static bool text_of(const Json *value, const char *field, Str *out, Error *err)
{
    *out = json_str(value, "");
    return json_is_string(value) || error_set(err, "`%s` is a text", field);
}

/* ---- template.match ---- */

static Json *json_bindings(const Scope *scope, int first)
{
    Json *out = json_object();
    for (int i = first; i < scope->bound.n; i++)
        json_set(out, arena_str(scope->arena, scope->bound.at[i].name),
                 json_datum(&scope->bound.at[i].value));
    return out;
}

/* Answers the position of each name: a dim, or the dims [start, end) of a run or a group. */
static bool answer_positions(Scope *scope, const Pattern *pattern, const Shape *shape, Json *answer)
{
    ItemSpans placement = {0};
    Json *out = json_object();
    json_set(answer, "positions", out);
    if (!pattern_place(scope, pattern, shape, "the shape", &placement))
        return false;
    for (int i = 0; i < placement.n; i++) {
        const ItemSpan *at = &placement.at[i];
        if (at->item->name.n == 0)
            continue;
        json_set(out, arena_str(scope->arena, at->item->name),
                 at->item->kind == ITEM_DIM ? json_from_int(at->start)
                                            : json_ints((int64_t[]){at->start, at->end}, 2));
    }
    return true;
}

static bool match_shapes(Scope *scope, const Pattern *pattern, const char *slot, const Json *list)
{
    if (!json_is_array(list))
        return error_set(scope->err, "`shapes` must be a list of shapes");
    int n = json_size(list);
    if (n > LIST_MAX)
        return error_kind(scope->err, ERROR_UNSUPPORTED, "more than %d shapes", LIST_MAX);
    const Shape **shapes = arena_array(scope->arena, const Shape *, n);
    for (int k = 0; k < n; k++) {
        Shape *shape = arena_make(scope->arena, Shape);
        shapes[k] = shape;
        if (!form_shape(json_at(list, k), shape, scope->err))
            return false;
    }
    return pattern_match(scope, pattern, slot, shapes, n);
}

static bool match_pattern(Scope *scope, const Json *request, Json *answer)
{
    const Json *sizes = json_get(request, "shape");
    Str text;
    if (!text_of(json_get(request, "pattern"), "pattern", &text, scope->err))
        return false;
    const Pattern *pattern = pattern_read(scope->arena, "", "pattern", text, scope->err);
    if (!pattern)
        return false;
    Buf canonical = buf_new(scope->arena);
    pattern_format(pattern, &canonical);
    json_set(answer, "text", json_from_str(buf_str(&canonical)));
    int first = scope->bound.n;
    if (json_get(request, "shapes")) {
        if (!match_shapes(scope, pattern, "shapes", json_get(request, "shapes")))
            return false;
    } else if (sizes) {
        Shape shape;
        const Shape *shapes[] = {&shape};
        if (!form_shape(sizes, &shape, scope->err) ||
            !answer_positions(scope, pattern, &shape, answer) ||
            !pattern_match(scope, pattern, "shape", shapes, 1))
            return false;
    } else {
        return true;
    }
    json_set(answer, "bindings", json_bindings(scope, first));
    return true;
}

static bool match_slots(Scope *scope, const Json *slots, Json *answer)
{
    int first = scope->bound.n;
    if (!json_is_array(slots))
        return error_set(scope->err, "`slots` must be a list");
    for (int i = 0; i < json_size(slots); i++) {
        const Json *slot = json_at(slots, i);
        Str text, name = json_str(json_get(slot, "name"), "slot");
        if (!text_of(json_get(slot, "pattern"), "pattern", &text, scope->err))
            return false;
        const char *where = arena_str(scope->arena, name);
        const Pattern *pattern = pattern_read(scope->arena, "", where, text, scope->err);
        if (!pattern || !match_shapes(scope, pattern, where, json_get(slot, "shapes")))
            return false;
    }
    json_set(answer, "bindings", json_bindings(scope, first));
    return true;
}

/* ---- template.eval ---- */

static bool eval_text(Scope *scope, const Json *request, Json *answer)
{
    Str text;
    Datum value;
    if (!text_of(json_get(request, "text"), "text", &text, scope->err))
        return false;
    scope->rank = clamp(json_int(json_get(request, "rank"), -1), -1, DIMS_MAX);
    const Phrase *phrase = phrase_read(scope->arena, "", "text", text, FORM_EXPR, scope->err);
    if (!phrase || !evaluate(scope, phrase->root, &value))
        return false;
    json_set(answer, "value", json_datum(&value));
    return true;
}

/* ---- template.expand ---- */

static bool read_phrase(Scope *scope, const Json *json, const char *field, PhraseForm form,
                        const Phrase **out)
{
    const Json *value = json_get(json, field);
    Str text;
    if (!value)
        return true;
    if (!text_of(value, field, &text, scope->err))
        return false;
    *out = phrase_read(scope->arena, "", field, text, form, scope->err);
    return *out != NULL;
}

static bool read_ipf(Scope *scope, const Json *request, Ipf *ipf)
{
    const Json *transform = json_get(request, "transform");
    if (!transform)
        return read_phrase(scope, request, "text", FORM_IPF, &ipf->map);
    if (json_get(transform, "transform") &&
        !str_eq(json_str(json_get(transform, "transform"), ""), STR("insertRow")))
        return error_kind(scope->err, ERROR_UNSUPPORTED, "the only known transform is insertRow");
    if (!read_phrase(scope, transform, "map", FORM_MAP, &ipf->map) ||
        !read_phrase(scope, transform, "offset", FORM_EXPR, &ipf->offset) ||
        !read_phrase(scope, transform, "shape", FORM_EXPR, &ipf->window) ||
        !read_phrase(scope, transform, "source", FORM_IPF, &ipf->source) ||
        !read_phrase(scope, transform, "index", FORM_EXPR, &ipf->at) ||
        !read_phrase(scope, transform, "row", FORM_ROW, &ipf->row))
        return false;
    return !(ipf->source || ipf->at || ipf->row) || (ipf->source && ipf->at && ipf->row) ||
           error_kind(scope->err, ERROR_SYNTAX, "insertRow needs source, index and row");
}

/* The tensor's shape: `shape` of the request, else the variable `$shape` if its rank fits. */
static bool read_sizes(Scope *scope, const Json *request, int rank, Shape *shape, bool *known)
{
    const Binding *bound = scope_find(scope, STR("shape"));
    *known = json_get(request, "shape") != NULL;
    if (*known)
        return form_shape(json_get(request, "shape"), shape, scope->err) &&
               (shape->n_dims == rank ||
                error_kind(scope->err, ERROR_RANK, "the rank of `shape` differs from `rank`"));
    *shape = (Shape){.n_dims = rank};
    *known = bound && bound->value.kind == DATUM_LIST && bound->value.n == rank;
    for (int d = 0; *known && d < rank; d++) {
        shape->dim[d] = bound->value.item[d].number;
        *known = bound->value.item[d].kind == DATUM_INT;
    }
    return true;
}

/* Binds `$index` to n placeholder sizes, since the sizes of index dims are unknown here. */
static void bind_index(Scope *scope, int n)
{
    Datum *item = arena_array(scope->arena, Datum, n);
    for (int i = 0; i < n; i++)
        item[i] = (Datum){.kind = DATUM_TEXT, .text = STR("unknown")};
    if (!scope_find(scope, STR("index")))
        scope_bind(scope, STR("index"), (Datum){.kind = DATUM_LIST, .n = n, .item = item}, "index");
}

static bool expand(Scope *scope, const Json *request, Json *answer)
{
    int64_t rank = json_int(json_get(request, "rank"), -1);
    int64_t n_main = json_int(json_get(request, "index_rank"), -1);
    const Phrase nothing = {.owner = "", .where = "ipf"};
    IndexSpace *index = arena_make(scope->arena, IndexSpace);
    Ipf ipf = {0};
    Shape shape;
    Projection projection;
    bool known;
    if (rank < 0 || rank > DIMS_MAX || n_main < 0 || n_main > X_MAX)
        return error_kind(scope->err, ERROR_RANK, "`rank` must be 0 to %d, `index_rank` 0 to %d",
                          DIMS_MAX, X_MAX);
    index->n = index->n_main = (int)n_main;
    scope->index = index;
    bind_index(scope, (int)n_main);
    if (!read_sizes(scope, request, (int)rank, &shape, &known) || !read_ipf(scope, request, &ipf))
        return false;
    IpfTensor tensor = {&nothing, (int)rank, known ? &shape : NULL};
    if (!ipf_build(scope, &ipf, &tensor, &projection))
        return false;
    Str form = json_str(json_get(request, "form"), "rows");
    bool affine = str_eq(form, STR("affineMap"));
    json_set(answer, "ipf",
             affine ? json_affine_map(&projection, (int)n_main)
                    : json_ipf(&projection, (int)n_main));
    return affine || str_eq(form, STR("rows")) ||
           error_kind(scope->err, ERROR_USAGE, "`form` is rows or affineMap");
}

bool eval_template(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    Error own = {0};
    Scope scope = scope_new(arena, err ? err : &own);
    if (!bind_vars(&scope, request))
        return false;
    if (strcmp(verb, "template.match") == 0)
        return json_get(request, "slots") ? match_slots(&scope, json_get(request, "slots"), answer)
                                          : match_pattern(&scope, request, answer);
    if (strcmp(verb, "template.eval") == 0)
        return eval_text(&scope, request, answer);
    if (strcmp(verb, "template.expand") == 0)
        return expand(&scope, request, answer);
    return error_kind(err, ERROR_UNSUPPORTED, "there is no verb '%s'", verb);
}
