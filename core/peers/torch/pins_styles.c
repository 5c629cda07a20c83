/* pins_styles.c - the plan that `export --to dtensor` writes in torch's styles, read back: what
 * each style does to the parameters of its modules, and the axes of the batch.
 *
 *     TP = {"model.layers.*.mlp.up_proj": ColwiseParallel(), ..}
 *     parallelize_module(model, mesh["tp"], TP)
 *     replicate(module, mesh=mesh["dp"])
 *
 * Not read, which a note says: what fully_shard stores, activations of sequence parallelism,
 * stages.
 */
#include "core/peers/torch/code_state.h"
#include "core/peers/torch/tables.h"
#include "core/peers/torch/styles.h"
#include "core/rules/roles.h"

typedef struct {
    PinsText *text;
    TorchWriting w; /* for names alone */
    MatmulRoles roles;
    Placement *lies; /* per tensor and axis of the mesh */
    int n_read;
} Styles;

bool torch_styles_are(Str text)
{
    return str_find(text, STR("\ndef parallelize(model, mesh):\n")) >= 0 &&
           str_find(text, STR("\nMESH_DIM_NAMES = (")) >= 0 &&
           str_find(text, STR("\nPARAMETERS = ")) < 0;
}

/* Up to the text, which is passed over; empty if it does not come. */
static Str take_to(Str *rest, Str end)
{
    int64_t at = str_find(*rest, end);
    Str out = {rest->s, at < 0 ? 0 : (size_t)at};
    size_t n = at < 0 ? rest->n : (size_t)at + end.n;
    *rest = (Str){rest->s + n, rest->n - n};
    return out;
}

/* "model.layers.*.mlp", "layers.encoder_layer_*": by parts, where "*" is any end of one. */
static bool matches(Str pattern, Str path)
{
    while (pattern.n > 0 && path.n > 0) {
        Str want = str_take(&pattern, '.'), have = str_take(&path, '.');
        bool any = str_ends(want, STR("*"));
        if (any ? !str_starts(have, (Str){want.s, want.n - 1}) : !str_eq(want, have))
            return false;
    }
    return pattern.n == 0 && path.n == 0;
}

static Placement *lies_at(const Styles *s, int32_t tensor, int axis)
{
    return &s->lies[tensor * s->text->mesh->n_axes + axis];
}

static Placement shard(int dim)
{
    return (Placement){.kind = PLACE_SHARD, .dim = dim, .factor = 1};
}

static bool is_looked_up(const Styles *s, int32_t table, Str path)
{
    const Graph *graph = s->w.graph;
    for (int32_t u = graph->tensors[table].use; u < graph->tensors[table + 1].use; u++)
        if (strcmp(op_operator(graph, graph->uses[u]), "Gather") == 0 &&
            str_starts(str_from(op_path(graph, graph->uses[u])), path))
            return true;
    return false;
}

/* The dim that columns (or rows) of the module's weight are, as the file has it. */
static int dim_of(const Styles *s, int32_t tensor, Str path, bool columns)
{
    if (is_looked_up(s, tensor, path))
        return columns ? 1 : 0;
    bool outs_first = naming_matrix(s->w.session->inferred, tensor) == MATRIX_OUT_IN;
    return columns == outs_first ? 0 : 1;
}

/* weight=_StridedShard(1, split_factor=3): what the style gives that parameter. */
static void read_placed(const Styles *s, int32_t tensor, Str leaf, Str style, Placement *out)
{
    const char *key = arena_printf(s->text->scratch, "%.*s=", STR_ARG(leaf));
    Str rest = style;
    Error err = {0};
    (void)take_to(&rest, str_from(key));
    if (rest.n == 0)
        return;
    Source source = {"style", rest};
    Scan scan = scan_begin(&source, &err);
    const Shape *shape = inferred_shape(s->w.session->inferred, tensor);
    if (!shape || !placement_scan(&scan, shape->n_dims, out))
        return;
    bool copied =
        !str_eq(torch_parameter_name(&s->w, tensor), str_from(tensor_name(s->w.graph, tensor)));
    if (copied && shape->n_dims == 2 &&
        naming_matrix(s->w.session->inferred, tensor) == MATRIX_IN_OUT)
        out->dim = 1 - out->dim; /* the exporter transposed it */
}

static void read_experts(const Styles *s, int32_t tensor, Str style, Placement *out)
{
    if (str_find(style, STR("gate_up_proj=")) < 0) {
        *out = shard(0);
        return;
    }
    for (int i = 0; i < s->roles.n; i++)
        if (op_inputs(s->w.graph, s->roles.at[i].op)[s->roles.at[i].weight] == tensor)
            *out = shard(s->roles.at[i].role == WEIGHT_COLUMN ? 1 : 2);
}

/* Parts of q, k and v in one; of out_proj what takes the heads. */
static void read_attention(const Styles *s, int32_t tensor, Str path, bool out_proj, int n_dims,
                           Placement *out)
{
    enum { FUSED_PARTS = 3 };
    int dim = n_dims == 2 ? dim_of(s, tensor, path, !out_proj) : 0;
    if (!out_proj)
        *out = (Placement){.kind = PLACE_STRIDED, .dim = dim, .factor = FUSED_PARTS};
    else if (n_dims == 2)
        *out = shard(dim);
}

/* What a style of a module does to one of its parameters. */
static void read_style(Styles *s, int32_t tensor, Str pattern, Str style, int axis)
{
    Str name = torch_parameter_name(&s->w, tensor), path = name;
    while (path.n > 0 && path.s[path.n - 1] != '.')
        path.n--;
    if (path.n == 0)
        return;
    Str leaf = {name.s + path.n, name.n - path.n};
    path.n--;
    bool experts = str_find(style, STR("Experts(")) >= 0;
    bool fused = str_starts(style, STR("SplitAttention("));
    bool out_proj = fused && str_ends(path, STR(".out_proj"));
    Str module = path;
    module.n -= out_proj ? strlen(".out_proj") : 0;
    if (experts && str_eq(leaf, STR("weight")))
        while (module.n > 0 && module.s[--module.n] != '.')
            ;
    if (!matches(pattern, torch_module_name(s->text->scratch, module)))
        return;
    const Shape *shape = inferred_shape(s->w.session->inferred, tensor);
    bool columns = str_starts(style, STR("ColwiseParallel"));
    Placement *out = lies_at(s, tensor, axis);
    if (experts)
        read_experts(s, tensor, style, out);
    else if (fused && shape)
        read_attention(s, tensor, path, out_proj, (int)shape->n_dims, out);
    else if (str_starts(style, STR("Placed")))
        read_placed(s, tensor, leaf, style, out);
    else if ((columns || str_starts(style, STR("RowwiseParallel"))) && shape && shape->n_dims == 2)
        *out = shard(dim_of(s, tensor, path, columns));
    else if (columns)
        *out = shard(0); /* a bias */
    s->n_read++;
}

/* The entries of a dict: a pattern in quotes, and the text up to the next. */
static void read_plan(Styles *s, Str dict, int axis)
{
    const Inferred *inferred = s->w.session->inferred;
    while (dict.n > 0) {
        (void)take_to(&dict, STR("\n    \""));
        Str pattern = take_to(&dict, STR("\": "));
        int64_t end = str_find(dict, STR("\n    \""));
        Str style = {dict.s, end < 0 ? dict.n : (size_t)end};
        for (int32_t t = 0; pattern.n > 0 && t < s->w.graph->n_tensors; t++)
            if (tensor_is_parameter(inferred, t))
                read_style(s, t, pattern, style, axis);
    }
}

static bool read_axes(Styles *s, Str text, Error *err)
{
    Str rest = text;
    while (rest.n > 0) {
        (void)take_to(&rest, STR("parallelize_module(model, mesh[\""));
        Str name = take_to(&rest, STR("\"], ")), plan = take_to(&rest, STR(")"));
        if (name.n == 0)
            continue;
        while (str_find(plan, STR(" ")) >= 0) /* "present(model, TP" */
            (void)str_take(&plan, ' ');
        int axis = mesh_need_axis(s->text->mesh, name, err);
        Str dict = text;
        if (axis < 0)
            return false;
        (void)take_to(&dict, str_from(arena_printf(s->text->scratch, "\n%.*s = {", STR_ARG(plan))));
        read_plan(s, (Str){dict.s - 1, take_to(&dict, STR("\n}")).n + 1}, axis);
    }
    return true;
}

/* mesh=mesh["dp", "ep"]: they shard the first dim of the inputs. */
static bool read_batch(Styles *s, Str text, Error *err)
{
    Str rest = text;
    (void)take_to(&rest, STR("mesh=mesh["));
    Str axes = take_to(&rest, STR("]"));
    while (axes.n > 0) {
        (void)take_to(&axes, STR("\""));
        Str name = take_to(&axes, STR("\""));
        int axis = name.n ? mesh_need_axis(s->text->mesh, name, err) : -2;
        if (axis == -1)
            return false;
        for (int i = 0; axis >= 0 && i < s->w.graph->n_inputs; i++) {
            const Shape *shape = inferred_shape(s->w.session->inferred, s->w.graph->inputs[i]);
            if (shape && shape->n_dims > 0)
                *lies_at(s, s->w.graph->inputs[i], axis) = shard(0);
        }
    }
    return true;
}

/* {"wte.weight": [Shard(0), Replicate()]}, by the names and in the order of dims of the file. */
static void put_all(const Styles *s, Buf *out)
{
    const char *comma = "";
    buf_puts(out, "{");
    for (int32_t t = 0; t < s->w.graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(s->w.session->inferred, t);
        bool given = shape && shape->n_dims > 0 && s->w.graph->tensors[t].maker < 0 &&
                     !tensor_is_known(s->w.session->inferred, t);
        if (!given)
            continue;
        buf_puts(out, comma);
        comma = ", ";
        Json *name = json_from_str(str_from(tensor_name(s->w.graph, t)));
        json_write(name, out);
        json_free(name);
        for (int a = 0; a < s->text->mesh->n_axes; a++) {
            buf_puts(out, a ? ", " : ": [");
            placement_format(lies_at(s, t, a), true, out);
        }
        buf_puts(out, "]");
    }
    buf_puts(out, "}");
}

static void note_losses(const Styles *s, Str text)
{
    static const struct {
        const char *has, *lost;
    } losses[] = {
        {"fully_shard(",
         "what fully_shard stores in parts is not pinned: a policy's zero stores it"},
        {"SequenceParallel(", "activations of SequenceParallel are not pinned"},
        {"checkpoint(layer)", "layers that are recomputed are not pinned"},
        {"\nSTAGES = ", "stages are not pinned"},
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (str_find(text, str_from(losses[i].has)) >= 0)
            pins_note(s->text, LEVEL_WARNING, "pins-styles", losses[i].lost,
                      "give the policy of the plan too, as -p");
}

bool torch_styles_read(PinsText *text, Scan *scan)
{
    const Session *session = text->session;
    Styles s = {.text = text,
                .w = {.arena = text->scratch, .session = session, .graph = session->graph},
                .roles = roles_find(text->scratch, session->inferred)};
    Str all = scan->source->text;
    s.lies = arena_array(text->scratch, Placement,
                         (int64_t)session->graph->n_tensors * text->mesh->n_axes + 1);
    if (!read_axes(&s, all, scan->err) || !read_batch(&s, all, scan->err))
        return false;
    if (s.n_read == 0 && str_find(all, STR("parallelize_module(")) >= 0)
        return error_set(scan->err, "no module of the model has one of these styles");
    note_losses(&s, all);
    Buf made = buf_new(text->scratch);
    put_all(&s, &made);
    return pins_made_read(text, scan, &made);
}
