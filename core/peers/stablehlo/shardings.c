/* shardings.c - the meshes and shardings that a module gives its values: which tensor each is of.
 */
#include "core/peers/stablehlo/lower.h"

/* ---- meshes ---- */

typedef struct {
    Str name;
    int64_t size;
} MeshAxisText;

/* `["dp"=2, "tp"=4]` */
static int read_axes(MlirLowering *lowering, Str list, MeshAxisText *out, int most)
{
    Str rest = mlir_inside(list), item;
    int n = 0;
    while (mlir_take_item(&rest, &item)) {
        Str size = item, name = str_take(&size, '=');
        if (n == most || !str_to_int(str_trim(size), &out[n].size))
            return -1;
        out[n++].name = mlir_text(lowering->scratch, str_trim(name));
    }
    return n;
}

/* The ids of devices as nested lists, `[[3,1],[0,2]]`. */
static void put_devices(const MeshAxisText *axis, int n, const int64_t **ids, Buf *out)
{
    if (n == 0) {
        buf_printf(out, "%lld", (long long)*(*ids)++);
        return;
    }
    buf_putc(out, '[');
    for (int64_t i = 0; i < axis->size; i++) {
        buf_puts(out, i ? "," : "");
        put_devices(axis + 1, n - 1, ids, out);
    }
    buf_putc(out, ']');
}

/* "dp=2,tp=4", or "dp,tp=[[3,1],[0,2]]" with devices in an order of their own; NULL: no axes. */
static const char *mesh_text(MlirLowering *lowering, Str body)
{
    enum { AXES_MAX = 16, DEVICES_MAX = 1 << 16 };
    MeshAxisText axis[AXES_MAX];
    Str rest = mlir_inside(body), item, order = STR("");
    int n = mlir_take_item(&rest, &item) ? read_axes(lowering, item, axis, AXES_MAX) : 0;
    if (mlir_take_item(&rest, &item) && str_starts(item, STR("device_ids")))
        str_take(&item, '='), order = item;
    const int64_t *ids;
    int64_t n_devices = 1;
    Buf out = buf_new(lowering->file->arena);
    for (int i = 0; i < n && n_devices <= DEVICES_MAX; i++)
        n_devices *= axis[i].size > 0 ? axis[i].size : 1;
    bool ordered = order.n > 0 && mlir_ints(lowering->scratch, order, &ids) == n_devices;
    for (int i = 0; i < n; i++) {
        buf_printf(&out, "%s%.*s", i ? "," : "", STR_ARG(axis[i].name));
        if (!ordered)
            buf_printf(&out, "=%lld", (long long)axis[i].size);
    }
    if (ordered) {
        buf_putc(&out, '=');
        put_devices(axis, n, &ids, &out);
    }
    return n > 0 ? out.s : NULL;
}

static size_t place_of(const MlirLowering *lowering, Str text)
{
    return (size_t)(text.s - lowering->file->text.s);
}

void shardings_meshes(MlirLowering *lowering)
{
    FileShardings *to = lowering->file->shardings;
    const MlirTree *tree = lowering->tree;
    for (int32_t o = 0; to && o < tree->ops.n; o++) {
        const MlirOp *op = &tree->ops.at[o];
        if (!mlir_is(op, "sdy.mesh"))
            continue;
        const MlirAttr *name = mlir_attr(tree, op, "callee sym_name"),
                       *generic = mlir_attr(tree, op, "mesh");
        Str body = generic ? generic->value : mlir_word(tree, op, 0);
        int64_t open = str_find(body, STR("<"));
        if (!name || open < 0)
            continue;
        body = (Str){body.s + open, body.n - (size_t)open};
        FileMesh mesh = {mlir_text(lowering->file->arena, name->value), place_of(lowering, body)};
        vec_push(lowering->file->arena, &to->meshes, mesh);
        if (!to->mesh)
            to->mesh = mesh_text(lowering, body);
    }
}

/* ---- shardings ---- */

static void shardings_add(MlirLowering *lowering, int32_t tensor, Str text)
{
    FileShardings *to = lowering->file->shardings;
    if (!to || tensor < 0 || text.n == 0 || text.s < lowering->file->text.s)
        return;
    FileSharding sharding = {graph_builder_name(lowering->builder, tensor),
                             place_of(lowering, text), place_of(lowering, text) + text.n};
    vec_push(lowering->file->arena, &to->shardings, sharding);
}

void shardings_of_info(MlirLowering *lowering, int32_t info, int32_t tensor)
{
    const MlirTree *tree = lowering->tree;
    const MlirInfo *at = info < 0 ? NULL : &tree->infos.at[info];
    for (int i = 0; at && i < at->n_attrs; i++)
        if (str_eq(tree->attrs.at[at->attr + i].key, STR("sdy.sharding")))
            shardings_add(lowering, tensor, tree->attrs.at[at->attr + i].value);
}

/* A constraint is on its result; `#sdy.sharding_per_value<[<..>, <..>]>` has one for each. */
void shardings_of_op(MlirLowering *lowering, const MlirOp *op)
{
    const MlirTree *tree = lowering->tree;
    if (!lowering->file->shardings || op->n_attrs == 0)
        return;
    const MlirAttr *each = mlir_attr(tree, op, "sdy.sharding"),
                   *one = mlir_attr(tree, op, "sharding");
    if (mlir_is(op, "sdy.sharding_constraint") || mlir_is(op, "sdy.reshard")) {
        Str text = one ? one->value : mlir_word(tree, op, 0);
        if (op->n_results == 1)
            shardings_add(lowering, lowering->tensor[op->result], text);
        return;
    }
    Str rest = each ? mlir_inside(mlir_inside(each->value)) : STR(""), item;
    for (int i = 0; i < op->n_results && mlir_take_item(&rest, &item); i++)
        shardings_add(lowering, lowering->tensor[op->result + i], item);
}
