#include "core/peers/shardy/import_state.h"

/* ---- the graph, and changing it ---- */

bool import_is_scalar(const Importer *importer, int value)
{
    return import_value(importer, value)->shape.n_dims == 0;
}

int import_place(const Importer *importer, int op)
{
    for (int i = 0; i < importer->out->order.n; i++)
        if (importer->out->order.at[i] == op)
            return i;
    return -1;
}

int import_n_uses(const Importer *importer, int value)
{
    int n = 0;
    for (int i = 0; i < importer->out->order.n; i++) {
        const FactorOp *op = import_op(importer, importer->out->order.at[i]);
        for (int k = 0; k < op->n_inputs; k++)
            n += op->input[k] == value;
    }
    for (int i = 0; i < importer->graph->n_outputs; i++)
        n += importer->out->returned[i] == value;
    return n;
}

int import_add_value(Importer *importer, FactorValue value)
{
    vec_push(importer->arena, &importer->graph->values, value);
    return importer->graph->values.n - 1;
}

int import_add_op(Importer *importer, FactorOp op, int place)
{
    int id = importer->graph->ops.n;
    vec_push(importer->arena, &importer->graph->ops, op);
    vec_push(importer->arena, &importer->out->order, id);
    int *order = importer->out->order.at;
    memmove(order + place + 1, order + place,
            (size_t)(importer->out->order.n - 1 - place) * sizeof *order);
    order[place] = id;
    return id;
}

void import_remove(Importer *importer, int place)
{
    int *order = importer->out->order.at;
    importer->out->order.n--;
    memmove(order + place, order + place + 1,
            (size_t)(importer->out->order.n - place) * sizeof *order);
}

/* True when `op` is inside a region of `of`, also nested. */
static bool is_inside(const Importer *importer, int op, int of)
{
    while (op >= 0 && op != of)
        op = import_op(importer, op)->region_of;
    return op >= 0;
}

int import_place_after(const Importer *importer, int value)
{
    int maker = import_value(importer, value)->maker;
    if (maker < 0)
        return 0;
    int place = import_place(importer, maker) + 1;
    while (place < importer->out->order.n &&
           is_inside(importer, importer->out->order.at[place], maker))
        place++;
    return place;
}

int import_add_identity(Importer *importer, FactorOpKind kind, const char *name, int value,
                        const TensorSharding *sharding)
{
    FactorValue made = *import_value(importer, value);
    int place = import_place_after(importer, value), region = -1;
    if (made.maker >= 0)
        region = import_op(importer, made.maker)->region_of;
    made.sharding = *sharding;
    made.maker = importer->graph->ops.n;
    int *ends = arena_array(importer->arena, int, 2);
    ends[0] = value;
    ends[1] = import_add_value(importer, made);
    FactorOp op = {.kind = kind,
                   .op = name,
                   .n_inputs = 1,
                   .n_outputs = 1,
                   .input = ends,
                   .output = ends + 1,
                   .rule = factor_identity_rule(importer->arena, &made.shape, 1),
                   .pass = PASS_BOTH,
                   .region_of = region};
    import_add_op(importer, op, place);
    return ends[1];
}

void import_replace_uses(Importer *importer, int value, int by, int except)
{
    for (int i = 0; i < importer->out->order.n; i++) {
        int id = importer->out->order.at[i];
        FactorOp *op = import_op(importer, id);
        for (int k = 0; id != except && k < op->n_inputs; k++)
            if (op->input[k] == value)
                op->input[k] = by;
    }
    for (int i = 0; i < importer->graph->n_outputs; i++)
        if (importer->out->returned[i] == value)
            importer->out->returned[i] = by;
}

/* When one result of an op has a sharding, its other results become open. */
void import_state_results(Importer *importer, int op)
{
    const FactorOp *made = import_op(importer, op);
    int mesh = MESH_NONE;
    for (int k = made->n_outputs - 1; k >= 0; k--)
        if (import_value(importer, made->output[k])->sharding.mesh != MESH_NONE)
            mesh = import_value(importer, made->output[k])->sharding.mesh;
    for (int k = 0; mesh != MESH_NONE && k < made->n_outputs; k++) {
        TensorSharding *own = &import_value(importer, made->output[k])->sharding;
        own->mesh = own->mesh == MESH_NONE ? mesh : own->mesh;
    }
}

/* ---- axes of size 1 ---- */

static void drop_from(AxisList *axes)
{
    AxisList kept = {0};
    for (int i = 0; i < axes->n; i++)
        if (axes->at[i].size > 1)
            axis_list_add(&kept, axes->at[i]);
    *axes = kept;
}

static void drop_size_one(TensorSharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        DimSharding *dim = &sharding->dim[d];
        drop_from(&dim->axes);
        if (dim->axes.n == 0 && !dim->open)
            dim->priority = PRIORITY_NONE;
    }
    drop_from(&sharding->replicated);
    drop_from(&sharding->unreduced);
}

static void drop_all_size_one(Importer *importer)
{
    for (int v = 0; v < importer->graph->values.n; v++)
        drop_size_one(&import_value(importer, v)->sharding);
    for (int i = 0; i < importer->graph->n_outputs; i++)
        drop_size_one(&importer->graph->output[i].sharding);
    for (int i = 0; i < importer->graph->ops.n; i++) {
        FactorOp *op = import_op(importer, i);
        for (int k = 0; op->in && k < op->n_inputs; k++)
            drop_size_one(&op->in[k]);
        for (int k = 0; op->out && k < op->n_outputs; k++)
            drop_size_one(&op->out[k]);
    }
}

/* ---- edges ---- */

static TensorSharding inner_of(const FactorOp *op, const TensorSharding *in)
{
    return shardy_erase_manual(&(ManualBorder){.manual = op->manual}, in);
}

static bool has_edge(const Importer *importer, int value)
{
    for (int i = 0; i < importer->out->order.n; i++) {
        const FactorOp *op = import_op(importer, importer->out->order.at[i]);
        if (op->kind == FACTOR_EDGE && op->input[0] == value)
            return true;
    }
    return false;
}

static void add_edge(Importer *importer, int value, const TensorSharding *sharding, int place,
                     int region)
{
    if (!import_value(importer, value)->is_tensor || has_edge(importer, value))
        return;
    int edge = import_add_identity(importer, FACTOR_EDGE, "sdy.data_flow_edge", value, sharding);
    int op = importer->graph->ops.n - 1;
    if (place >= 0) {
        import_remove(importer, import_place(importer, op));
        int *order = importer->out->order.at;
        memmove(order + place + 1, order + place,
                (size_t)(importer->out->order.n - place) * sizeof *order);
        order[place] = op;
        importer->out->order.n++;
        import_op(importer, op)->region_of = region;
    }
    import_replace_uses(importer, value, edge, op);
    if (value < importer->out->n_given)
        importer->out->shown[value] = edge;
}

/* Adds edges after each op that ties its results, and at the head of a manual computation's
 * region. */
static void import_add_edges(Importer *importer)
{
    for (int i = 0; i < importer->out->order.n; i++) {
        int id = importer->out->order.at[i];
        FactorOp op = *import_op(importer, id);
        if (op.kind != FACTOR_TIED && op.kind != FACTOR_MANUAL)
            continue;
        for (int k = 0; k < op.n_body; k++) {
            TensorSharding inner = inner_of(&op, &op.in[op.n_body - 1 - k]);
            add_edge(importer, op.body[op.n_body - 1 - k], &inner, i + 1, id);
        }
        for (int k = op.n_outputs - 1; k >= 0; k--) {
            TensorSharding given = import_value(importer, op.output[k])->sharding;
            add_edge(importer, op.output[k], op.kind == FACTOR_MANUAL ? &op.out[k] : &given, -1,
                     -1);
        }
    }
}

/* ---- all of it ---- */

ImportedGraph *import_graph(Arena *arena, FactorGraph *graph, ImportSteps steps, Error *err)
{
    ImportedGraph *out = arena_make(arena, ImportedGraph);
    Importer importer = {.arena = arena, .out = out, .graph = graph, .err = err};
    out->arena = arena;
    out->graph = graph;
    out->n_given = graph->values.n;
    out->shown = arena_array(arena, int, graph->values.n);
    out->returned = arena_array(arena, int, graph->n_outputs);
    for (int i = 0; i < graph->ops.n; i++)
        vec_push(arena, &out->order, i);
    for (int v = 0; v < graph->values.n; v++)
        out->shown[v] = v;
    for (int i = 0; i < graph->n_outputs; i++)
        out->returned[i] = graph->output[i].value;
    for (int i = 0; i < graph->ops.n; i++)
        import_state_results(&importer, i);
    if (steps.drop_size_one)
        drop_all_size_one(&importer);
    if (steps.split_constants)
        import_split_constants(&importer);
    if (steps.add_edges)
        import_add_edges(&importer);
    if (steps.apply_constraints)
        import_constraints(&importer);
    return import_groups(&importer) ? out : NULL;
}
