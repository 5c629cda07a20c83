/* inplace.c - values that share memory, and what a change of one does to the others.
 *
 * A view knows its base and the node that made it. When a value is changed in place, the bases that
 * it is a view of get new values, made by the inverse of each view; other views of them are stale,
 * and are made again when they are read. */
#include "core/peers/torch_export/nodes.h"
#include "core/peers/torch_export/shapes.h"

typedef enum {
    VIEW_RESHAPED,
    VIEW_SWAPPED,
    VIEW_PERMUTED,
    VIEW_SLICED,
    VIEW_SELECTED,
    VIEW_OTHER
} InplaceKind;

static const struct {
    const char *names;
    InplaceKind kind;
} views[] = {
    {"view reshape flatten unflatten squeeze unsqueeze alias detach detach_ view_as squeeze_ "
     "unsqueeze_",
     VIEW_RESHAPED},
    {"transpose t mT swapdims transpose_ t_ swapdims_ swapaxes_", VIEW_SWAPPED},
    {"permute", VIEW_PERMUTED},
    {"slice narrow", VIEW_SLICED},
    {"select", VIEW_SELECTED},
    {"expand expand_as split split_with_sizes chunk unbind diagonal movedim unfold", VIEW_OTHER},
};

static int view_of(Str op)
{
    int n = sizeof views / sizeof *views;
    for (int i = 0; i < n; i++)
        if (str_has_word(str_from(views[i].names), op))
            return i;
    return -1;
}

/* The value of the node's first argument; NULL if it is no tensor of the present graph. */
static ExportValue *first_argument(Export *e, int32_t node, int32_t *id)
{
    const JsonView *json = e->json;
    int32_t first = json_view_first(json, json_view_get(json, node, "inputs"));
    int32_t tensor = json_view_get(json, json_view_get(json, first, "arg"), "as_tensor");
    Str name = json_view_raw(json, json_view_get(json, tensor, "name"));
    *id = name.n == 0 ? -1 : intern_find(e->scope->names, name.s, name.n);
    return *id < 0 || !e->scope->values.at[*id].defined ? NULL : &e->scope->values.at[*id];
}

void inplace_note_view(Call *c)
{
    Export *e = c->e;
    const JsonView *json = e->json;
    int32_t base;
    if (view_of(c->op) < 0 || !first_argument(e, c->node, &base))
        return;
    json_view_each (item, json, json_view_get(json, c->node, "outputs")) {
        int32_t one = json_view_get(json, json_view_get(json, item, "as_tensor"), "name");
        Str name = json_view_raw(json, one);
        int32_t id = name.n == 0 ? -1 : intern_find(e->scope->names, name.s, name.n);
        if (id >= 0) {
            e->scope->values.at[id].base = base;
            e->scope->values.at[id].view = c->node;
        }
    }
}

static ExportTerm unpermuted(Call *c, ExportTerm changed)
{
    int64_t dims[DIMS_MAX], back[DIMS_MAX] = {0};
    int n = call_ints(c, "dims", dims, DIMS_MAX);
    for (int d = 0; d < n && n == changed.rank; d++) {
        int64_t from = dims[d] < 0 ? dims[d] + n : dims[d];
        if (from < 0 || from >= n) {
            call_fail(c, "it permutes other dims than its %d", n);
            return changed;
        }
        back[from] = d;
    }
    return n == changed.rank ? transpose(c, changed, back) : changed;
}

/* Of a view that is not taken apart: one op, which no rule knows. */
static ExportTerm put_back(Call *c, ExportTerm base, ExportTerm changed)
{
    const char *op = arena_printf(c->e->scratch, "torch::%.*s_scatter", STR_ARG(c->op));
    ExportTerm out = emit2(c, op, base, changed);
    out.rank = base.rank;
    out.meta = base.meta;
    call_declare(c, out.tensor, base.meta);
    return out;
}

/* What the base is when its view is `changed`: by the node that made the view. */
static ExportTerm base_of(Export *e, int32_t node, ExportTerm base, ExportTerm changed)
{
    Call c;
    call_begin(&c, e, node);
    int at = view_of(c.op);
    switch (at < 0 ? VIEW_OTHER : views[at].kind) {
    case VIEW_RESHAPED: {
        ExportTerm out = emit2(&c, "Reshape", changed, emit1(&c, "Shape", base));
        out.rank = base.rank;
        return out;
    }
    case VIEW_SWAPPED:
        call_bind(&c, "self dim0=0 dim1=1");
        return swap_dims(&c, changed, call_axis(&c, "dim0", base.rank),
                         call_axis(&c, "dim1", base.rank));
    case VIEW_PERMUTED:
        call_bind(&c, "self dims");
        return unpermuted(&c, changed);
    case VIEW_SLICED:
        call_bind(&c, "self dim=0 start= end= step=1");
        return put_slice(&c, base, changed, call_axis(&c, "dim", base.rank), call_term(&c, "start"),
                         call_term(&c, "end"), call_int(&c, "step"));
    case VIEW_SELECTED: {
        call_bind(&c, "self dim index");
        int64_t dim = call_axis(&c, "dim", base.rank), index = call_int(&c, "index");
        return put_slice(&c, base, unsqueeze(&c, changed, dim), dim, term_int(index),
                         index == -1 ? no_term() : term_int(index + 1), 1);
    }
    case VIEW_OTHER:
        break;
    }
    return put_back(&c, base, changed);
}

/* Views of the value other than `but`, and views of those, have to be made again. */
static void spoil(Export *e, int32_t base, int32_t but)
{
    for (int i = 0; i < e->scope->values.n; i++) {
        ExportValue *value = &e->scope->values.at[i];
        if (value->base != base || i == but || value->stale)
            continue;
        value->stale = true;
        spoil(e, i, -1);
    }
}

static int32_t argument_id(Call *c, const char *arg)
{
    const JsonView *json = c->e->json;
    int32_t tensor = json_view_get(json, call_place(c, arg), "as_tensor");
    Str name = json_view_raw(json, json_view_get(json, tensor, "name"));
    return name.n == 0 ? -1 : intern_find(c->e->scope->names, name.s, name.n);
}

/* "unsqueeze_", "transpose_": the elements stay, the name has other dims from here on. It is no
 * longer taken back to what it was a view of. */
static void change_dims(Call *c, int32_t id, ExportTerm changed)
{
    Export *e = c->e;
    ExportValue *value = &e->scope->values.at[id];
    if (value->base >= 0) {
        Finding note = {.level = LEVEL_NOTE, .code = "lost-view", .op = -1, .tensor = -1};
        note.text = arena_printf(e->arena,
                                 "node '%.*s' gives a view other dims in place: later changes of "
                                 "it do not reach '%.*s'",
                                 STR_ARG(c->name), STR_ARG(e->scope->values.at[value->base].name));
        note.hint = "";
        vec_push(e->arena, e->file->notes, note);
    }
    value->base = value->view = -1;
    value->term = changed;
    value->term.meta = call_result_meta(c, 0);
}

/* Of a parameter, a buffer or an input that has its first value. */
static void note_changed(Export *e, const ExportValue *value)
{
    if (value->term.kind != TERM_TENSOR)
        return;
    const GraphTensor *tensor = &e->builder->tensors.at[value->term.tensor];
    if (tensor->kind != TENSOR_MADE)
        vec_push(e->scratch, &e->changed, str_from(names_text(e->graph->names, tensor->name)));
}

void inplace_change(Call *c, const char *arg, ExportTerm changed)
{
    Export *e = c->e;
    int32_t id = argument_id(c, arg), but = -1;
    if (id >= 0 && view_of(c->op) >= 0) {
        change_dims(c, id, changed);
        return;
    }
    while (id >= 0 && !export_failed(e)) {
        ExportValue *value = &e->scope->values.at[id];
        int32_t meta = value->term.meta;
        note_changed(e, value);
        value->term = changed;
        value->term.meta = meta;
        spoil(e, id, but);
        but = id;
        id = value->base;
        if (id >= 0)
            changed =
                base_of(e, value->view, inplace_current(e, &e->scope->values.at[id]), changed);
    }
}

ExportTerm inplace_current(Export *e, ExportValue *value)
{
    if (!value->stale || value->view < 0)
        return value->term;
    value->stale = false; /* before its base is read, which may be stale itself */
    int32_t meta = value->term.meta, id = (int32_t)(value - e->scope->values.at);
    ExportTerm again = node_again(e, value->view);
    if (term_is(again)) { /* values may have moved */
        again.meta = meta;
        e->scope->values.at[id].term = again;
    }
    return e->scope->values.at[id].term;
}
