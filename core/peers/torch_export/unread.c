#include "core/peers/torch_export/unread.h"

#include "core/peers/torch_export/nodes.h"

#include <string.h>

typedef struct {
    Str value, name, module; /* of transformer.wte.weight transformer.wte */
    bool is_read;
} StoredName;

typedef struct {
    Export *e;
    Intern *values;
    Vec(StoredName) stored; /* by id in values */
} UnreadSearch;

static void list_parameters(UnreadSearch *s, int32_t signature)
{
    const JsonView *json = s->e->json;
    json_view_each (spec, json, json_view_get(json, signature, "input_specs")) {
        int32_t at = json_view_get(json, spec, "parameter");
        Str value =
            json_view_raw(json, json_view_get(json, json_view_get(json, at, "arg"), "name"));
        Str name = json_view_str(json, json_view_get(json, at, "parameter_name"), s->e->scratch);
        const char *dot = name.n > 0 ? memrchr(name.s, '.', name.n) : NULL;
        StoredName one = {value, name, {name.s, dot ? (size_t)(dot - name.s) : 0}, false};
        if (value.n > 0 && intern_put(s->values, value.s, value.n) == s->stored.n)
            vec_push(s->e->scratch, &s->stored, one);
    }
}

/* The parameter that is the tensor; NULL: none is. */
static StoredName *stored_of(UnreadSearch *s, int32_t tensor)
{
    const JsonView *json = s->e->json;
    Str value = json_view_raw(json, json_view_get(json, tensor, "name"));
    int32_t id = value.n > 0 ? intern_find(s->values, value.s, value.n) : -1;
    return id < 0 ? NULL : &s->stored.at[id];
}

static bool is_alike(UnreadSearch *s, Str a, Str b)
{
    int32_t x = export_meta(s->e, a), y = export_meta(s->e, b);
    DeclaredDim dims[2][DIMS_MAX];
    Dtype dtype[2];
    int n[2];
    if (x < 0 || y < 0 || !meta_declare(s->e, x, &dtype[0], dims[0], &n[0]) ||
        !meta_declare(s->e, y, &dtype[1], dims[1], &n[1]) || dtype[0] != dtype[1] || n[0] != n[1])
        return false;
    for (int d = 0; d < n[0]; d++)
        if (dims[0][d].size != dims[1][d].size)
            return false;
    return true;
}

/* `read` is read by a node of the module: the parameters there that nothing reads. */
static void find_unread(UnreadSearch *s, Str module, const StoredName *read, UnreadNames *out)
{
    if (module.n == 0 || str_eq(module, read->module))
        return;
    for (int i = 0; i < s->stored.n; i++) {
        StoredName *one = &s->stored.at[i];
        if (one->is_read || !str_eq(one->module, module) || !is_alike(s, one->value, read->value))
            continue;
        vec_push(s->e->scratch, out, ((UnreadName){one->value, read->value, one->name}));
        one->is_read = true;
    }
}

/* Marks what nodes read; out: finds what they read in its place. */
static void visit(UnreadSearch *s, int32_t graph, UnreadNames *out)
{
    const JsonView *json = s->e->json;
    json_view_each (node, json, json_view_get(json, graph, "nodes"))
        json_view_each (input, json, json_view_get(json, node, "inputs")) {
            StoredName *read =
                stored_of(s, json_view_get(json, json_view_get(json, input, "arg"), "as_tensor"));
            if (!read)
                continue;
            if (out)
                find_unread(s, node_module(s->e, node), read, out);
            read->is_read = true;
        }
}

UnreadNames unread_find(Export *e, int32_t graph, int32_t signature)
{
    UnreadSearch s = {.e = e, .values = intern_new(e->scratch)};
    UnreadNames found = {0};
    bool any = false;
    list_parameters(&s, signature);
    visit(&s, graph, NULL);
    for (int i = 0; i < s.stored.n; i++)
        any |= !s.stored.at[i].is_read;
    if (any)
        visit(&s, graph, &found);
    return found;
}
