#include "core/peers/torch_export/exporting.h"

#include <stdio.h>

/* torch._export.serde.schema.ScalarType. */
static const uint8_t scalar_types[] = {
    [1] = DT_U8,          [2] = DT_I8,        [3] = DT_I16,     [4] = DT_I32,
    [5] = DT_I64,         [6] = DT_F16,       [7] = DT_F32,     [8] = DT_F64,
    [10] = DT_C64,        [11] = DT_C128,     [12] = DT_BOOL,   [13] = DT_BF16,
    [28] = DT_U16,        [29] = DT_F8E4M3FN, [30] = DT_F8E5M2, [31] = DT_F8E4M3FNUZ,
    [32] = DT_F8E5M2FNUZ, [33] = DT_F8E8M0,   [34] = DT_U32,    [35] = DT_U64,
};

Dtype export_dtype(int64_t number)
{
    int64_t n = sizeof scalar_types / sizeof *scalar_types;
    return number < 0 || number >= n ? DT_NONE : (Dtype)scalar_types[number];
}

bool export_fail(Export *e, int32_t place, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return json_view_fail(e->json, place, e->err, "%s", text);
}

bool export_failed(const Export *e)
{
    return error_is_set(e->err);
}

/* ---- scopes ---- */

/* The value of that name in the present graph. */
static ExportValue *own_value(Export *e, Str name)
{
    ExportScope *scope = e->scope;
    int32_t id = intern_put(scope->names, name.s, name.n);
    if (id == scope->values.n)
        vec_push(e->scratch, &scope->values,
                 ((ExportValue){.term = no_term(), .meta = -1, .base = -1, .view = -1}));
    return &scope->values.at[id];
}

void export_enter(Export *e, ExportScope *scope, int32_t graph, Str prefix)
{
    *scope = (ExportScope){.outer = e->scope, .graph = graph, .prefix = prefix};
    scope->names = intern_new(e->scratch);
    e->scope = scope;
    json_view_each (key, e->json, json_view_get(e->json, graph, "tensor_values"))
        own_value(e, json_view_raw(e->json, key))->meta = key + 1;
}

void export_leave(Export *e)
{
    e->scope = e->scope->outer;
}

ExportValue *export_value(Export *e, int32_t place, Str name)
{
    for (ExportScope *scope = e->scope; scope; scope = scope->outer) {
        int32_t id = intern_find(scope->names, name.s, name.n);
        if (id >= 0 && scope->values.at[id].defined)
            return &scope->values.at[id];
    }
    export_fail(e, place, "no value is named '%.*s' here", STR_ARG(name));
    return NULL;
}

ExportValue *export_define(Export *e, Str name, ExportTerm term, bool size)
{
    ExportValue *value = own_value(e, name);
    int32_t meta = value->meta;
    *value = (ExportValue){.name = name, .term = term, .meta = meta, .base = -1, .view = -1};
    value->defined = true;
    value->size = size;
    value->term.meta = meta;
    return value;
}

int32_t export_meta(const Export *e, Str name)
{
    const ExportScope *scope = e->scope;
    int32_t id = intern_find(scope->names, name.s, name.n);
    return id < 0 ? -1 : scope->values.at[id].meta;
}

void export_also(Export *e, Str name, int32_t tensor)
{
    vec_push(e->scratch, &e->other_names, names_intern(e->graph->names, name));
    vec_push(e->scratch, &e->other_names, tensor);
}

/* ---- what the program says of a tensor ---- */

Dtype meta_dtype(const Export *e, int32_t meta)
{
    int64_t number = 0;
    json_view_int(e->json, json_view_get(e->json, meta, "dtype"), &number);
    return export_dtype(number);
}

bool meta_trains(const Export *e, int32_t meta)
{
    return json_view_bool(e->json, json_view_get(e->json, meta, "requires_grad"), true);
}

int meta_rank(const Export *e, int32_t meta)
{
    return json_view_size(e->json, json_view_get(e->json, meta, "sizes"));
}

int64_t meta_dim(const Export *e, int32_t meta, int dim)
{
    int32_t sizes = json_view_get(e->json, meta, "sizes");
    int64_t size = -1;
    json_view_each (item, e->json, sizes)
        if (dim-- == 0)
            json_view_int(e->json, json_view_get(e->json, item, "as_int"), &size);
    return size;
}

bool meta_declare(Export *e, int32_t meta, Dtype *dtype, DeclaredDim dims[DIMS_MAX], int *n)
{
    const JsonView *json = e->json;
    int32_t sizes = json_view_get(json, meta, "sizes");
    Dtype given = meta_dtype(e, meta);
    *n = 0;
    *dtype = dtype_of_parts(given);
    if (json_view_size(json, sizes) + (*dtype != given) > DIMS_MAX)
        return export_fail(e, sizes, "a tensor has more than %d dims", DIMS_MAX);
    json_view_each (item, json, sizes) {
        int32_t expr = json_view_get(json, json_view_get(json, item, "as_expr"), "expr_str");
        DeclaredDim dim = {.size = -1};
        if (expr >= 0) {
            Error why = {0};
            const char *text =
                symbols_format(&e->symbols, json_view_str(json, expr, e->arena), &why);
            if (!text)
                return export_fail(e, expr, "size: %s", why.text);
            if (!str_to_int(str_from(text), &dim.size))
                dim.name = names_intern(e->graph->names, str_from(text));
        } else if (!json_view_int(json, json_view_get(json, item, "as_int"), &dim.size) ||
                   dim.size < 0) {
            return export_fail(e, item, "a size is a whole number, or an expression of symbols");
        }
        dims[(*n)++] = dim;
    }
    if (*dtype != given)
        dims[(*n)++] = (DeclaredDim){.size = 2};
    return true;
}
