/* styles_attention.c - what an attention needs beside the styles of its projections.
 *
 * The style of nn.MultiheadAttention, as torchvision's ViT has it.
 * One module owns q, k and v as in_proj_weight, multiplies by functions of its own, and calls
 * neither them nor out_proj as modules, so no style of torch changes what it computes.
 * SplitAttention, which the exported file defines, holds the heads of a rank and attends with them.
 *
 * And the lines of other attentions that do not fit a part of the heads: `view(b, t, 12, 64)` of
 * what a rank's projection makes, or `reshape(b, t, 768)` of what the next one takes.
 */
#include "core/peers/torch/styling.h"

#include <inttypes.h>

enum { FUSED_PARTS = 3 };

/* Whether the dim of a matrix is that of what the module makes. */
static bool shards_outputs(const Styling *s, int32_t weight, int dim)
{
    MatrixOrder order = naming_matrix(s->w->session->inferred, weight);
    return (order == MATRIX_OUT_IN && dim == 0) || (order == MATRIX_IN_OUT && dim == 1);
}

/* Whether the module has q, k and v in one, each of which the axis shards by heads. */
static bool is_fused(const Styling *s, const StyledModule *m)
{
    bool named = false, weighed = false;
    for (int i = 0; i < m->n_parameters; i++) {
        int32_t t = m->parameter[i];
        Placement it = styling_used(s, t);
        named |= str_find(str_from(tensor_name(s->w->graph, t)), STR(".in_proj_")) >= 0;
        if (it.kind != PLACE_STRIDED || it.factor != FUSED_PARTS)
            return false;
        bool matrix = styling_rank(s, t) == 2;
        if (matrix && !shards_outputs(s, t, it.dim))
            return false;
        weighed |= matrix;
    }
    return named && weighed;
}

/* Whether the module takes sharded heads and makes a sum of them. */
static bool takes_heads(const Styling *s, const StyledModule *m)
{
    bool weighed = false;
    for (int i = 0; i < m->n_parameters; i++) {
        int32_t t = m->parameter[i];
        Placement it = styling_used(s, t);
        bool matrix = styling_rank(s, t) == 2;
        if (matrix ? it.kind != PLACE_SHARD || shards_outputs(s, t, it.dim) : !styling_is_whole(it))
            return false;
        weighed |= matrix;
    }
    return weighed;
}

/* It moves what its ops make by itself. */
static void explain_within(Styling *s, Str path)
{
    const Graph *graph = s->w->graph;
    for (int32_t op = 0; op < s->out->n_forward; op++)
        for (int i = 0; i < graph->ops[op].n_outputs; i++)
            if (op_outputs(graph, op)[i] >= 0 && styling_within(str_from(op_path(graph, op)), path))
                s->explained[op_outputs(graph, op)[i]] = true;
}

void styling_attentions(Styling *s)
{
    for (int i = 0; i < s->out->modules.n; i++) {
        StyledModule *m = &s->out->modules.at[i];
        Buf path = buf_new(s->w->arena), out = buf_new(s->w->arena);
        StylePassage p;
        buf_printf(&path, "%.*s.out_proj", STR_ARG(m->path));
        int32_t inner = intern_find(s->paths, path.s, path.n);
        if (inner < 0 || !is_fused(s, m) || !takes_heads(s, &s->out->modules.at[inner]) ||
            m->at.reads < 0 || !styling_passage(s, m, &p) ||
            !(styling_is_whole(p.reads) || placement_equal(&p.reads, &p.arrives)))
            continue;
        explain_within(s, m->path);
        buf_puts(&out, "SplitAttention(");
        if (!styling_is_whole(p.arrives))
            styling_put_argument(s, "arrives", p.arrives, &out);
        if (!styling_is_whole(p.gives))
            styling_put_argument(s, "gives", p.gives, &out);
        buf_putc(&out, ')');
        m->style[s->axis] = out.s;
        s->out->modules.at[inner].within = true;
    }
}

/* ---- the bias of all heads ---- */

/* Attentions of transformers that get a bias of all heads as an argument, and the style that leaves
 * a rank its own heads. */
static const struct {
    const char *module, *style;
} biased[] = {
    {"self_attention", "PartOfHeads(\"alibi\", \"attention_mask\")"}, /* Bloom, Falcon */
    {"attn", "PrepareModuleInput(input_kwarg_layouts={\"position_bias\": Replicate()}, "
             "desired_input_kwarg_layouts={\"position_bias\": Shard(0)}, "
             "use_local_output=True)"}, /* MPT */
};

static const char *bias_style(Str path)
{
    Str leaf = {path.s + styling_parent(path).n, path.n - styling_parent(path).n};
    (void)str_take(&leaf, '.');
    for (size_t i = 0; i < sizeof biased / sizeof *biased; i++)
        if (str_eq(leaf, str_from(biased[i].module)))
            return biased[i].style;
    return NULL;
}

/* Whether it takes heads of [1, heads, queries, keys], which all ranks have, for attentions. */
static bool takes_bias(const Styling *s, const Reshard *reshard)
{
    Placement from = styling_lies(s, reshard->from), to = styling_lies(s, reshard->to);
    const int32_t *use = &s->w->plan->moved->reshard_uses[reshard->use];
    if (reshard->tensor >= s->out->n_values || !styling_is_whole(from) || to.kind != PLACE_SHARD ||
        to.dim != styling_rank(s, reshard->tensor) - 3)
        return false;
    for (int i = 0; i < reshard->n_uses; i++)
        if (styling_is_read(s, use[i]) &&
            (strcmp(op_operator(s->w->graph, use[i]), "Attention") != 0 ||
             !bias_style(str_from(op_path(s->w->graph, use[i])))))
            return false;
    return true;
}

void styling_biases(Styling *s)
{
    const Moved *moved = s->w->plan->moved;
    for (int i = 0; i < moved->n_reshards; i++) {
        const Reshard *it = &moved->reshards[i];
        if (!takes_bias(s, it))
            continue;
        s->explained[it->tensor] = true;
        for (int k = 0; k < it->n_uses; k++) {
            int32_t op = moved->reshard_uses[it->use + k];
            Str path = str_from(op_path(s->w->graph, op));
            if (styling_is_read(s, op))
                styling_module(s, path)->inputs[s->axis] = bias_style(path);
        }
    }
}

/* ---- sizes that the code says as numbers ---- */

/* Numbers of heads that the code has in a view(): the last matrix of such an attention, a parameter
 * beside it where others have a matrix of this name too, and attributes. */
static const struct {
    const char *matrix, *beside, *attributes;
} counted[] = {
    {"_attn.out_proj", NULL, "num_heads"},                    /* OPT, Whisper */
    {".attn.out_proj", NULL, "n_heads"},                      /* MPT */
    {"Attention.o", NULL, "n_heads"},                         /* T5 */
    {"self_attention.dense", NULL, "num_heads num_kv_heads"}, /* Bloom, Falcon */
    {"self_attn.o_proj", "input_layernorm.bias", "num_heads num_key_value_heads"}, /* StableLM */
};

static bool has_parameter(const TorchWriting *w, const TorchStyles *styles, const char *end)
{
    for (int32_t t = 0; t < styles->n_values; t++)
        if (tensor_is_parameter(w->session->inferred, t) &&
            str_ends(str_from(tensor_name(w->graph, t)), str_from(end)))
            return true;
    return false;
}

static bool shards_module(const TorchStyles *styles, int axis, const char *end)
{
    for (int i = 0; i < styles->modules.n; i++)
        if (styles->modules.at[i].style[axis] &&
            str_ends(styles->modules.at[i].name, str_from(end)))
            return true;
    return false;
}

void torch_write_counts(const TorchWriting *w, const TorchStyles *styles, int axis, Buf *out)
{
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        Str attributes = str_from(counted[i].attributes);
        if (!shards_module(styles, axis, counted[i].matrix) ||
            (counted[i].beside && !has_parameter(w, styles, counted[i].beside)))
            continue;
        const char *leaf = strrchr(counted[i].matrix, '.') + 1;
        while (attributes.n > 0) {
            Str name = str_take(&attributes, ' ');
            buf_printf(out,
                       "    for module in model.modules():\n"
                       "        if hasattr(module, \"%s\") and hasattr(module, \"%.*s\"):\n"
                       "            module.%.*s = max(1, module.%.*s // mesh[\"%s\"].size())\n",
                       leaf, STR_ARG(name), STR_ARG(name), STR_ARG(name), w->mesh->axes[axis].name);
        }
    }
}

/* Along ops that keep the elements in place, from what a module makes to the Reshape that reads it,
 * or back from what one takes to the Reshape that makes it; -1: another op computes with it. */
static int32_t reshape_behind(const TorchWriting *w, int32_t tensor, int n_forward)
{
    const Graph *graph = w->graph;
    for (int hops = 0; hops < 6; hops++) {
        int32_t op = -1;
        for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++)
            op = graph->uses[u] < n_forward && op < 0 ? graph->uses[u] : op;
        if (op < 0 || strcmp(op_operator(graph, op), "Reshape") == 0)
            return op;
        if (!str_has_word(STR("Split Slice Cast Identity Transpose"),
                          str_from(op_operator(graph, op))))
            return -1;
        tensor = op_outputs(graph, op)[0];
    }
    return -1;
}

static int32_t reshape_before(const TorchWriting *w, int32_t tensor)
{
    const Graph *graph = w->graph;
    for (int hops = 0; hops < 6; hops++) {
        int32_t op = graph->tensors[tensor].maker;
        if (op < 0 || strcmp(op_operator(graph, op), "Reshape") == 0)
            return op;
        if (!str_has_word(STR("Cast Identity Transpose"), str_from(op_operator(graph, op))))
            return -1;
        tensor = op_inputs(graph, op)[0];
    }
    return -1;
}

/* Whether it says the size of a dim that the axis shards as a number; which, in *dim. */
static bool says_size(const TorchWriting *w, int axis, int32_t op, int *dim)
{
    const Graph *graph = w->graph;
    const Value *sizes = graph->ops[op].n_inputs > 1
                             ? inferred_value(w->session->inferred, op_inputs(graph, op)[1])
                             : NULL;
    int32_t out = op_outputs(graph, op)[0];
    if (!sizes || !sizes->ints || w->plan->moved->made[out] < 0)
        return false;
    const Sharding *made = shardings_at(w->plan->shardings, w->plan->moved->made[out]);
    const Shape *shape = inferred_shape(w->session->inferred, out);
    for (*dim = 1; shape && *dim < (int)shape->n_dims; ++*dim) /* the first is the batch */
        if ((cut_atoms(&made->dim[*dim]) & mesh_axis_atoms(w->mesh, axis)) && sizes->ints[*dim] > 0)
            return true;
    return false;
}

/* Whether the code around the module sees the part of a rank, not a DTensor of the whole size. */
static bool gives_parts(const char *style)
{
    static const char *const with_parts[] = {"ColwiseParallel(", "RowwiseParallel(", "Placed("};
    for (size_t i = 0; style && i < sizeof with_parts / sizeof *with_parts; i++)
        if (str_starts(str_from(style), str_from(with_parts[i])))
            return str_find(str_from(style), STR("local=False")) < 0 &&
                   str_find(str_from(style), STR("local_output=False")) < 0;
    return false;
}

static void write_view(const TorchWriting *w, int32_t op, int dim, Buf *out, ExportNotes *notes)
{
    const Graph *graph = w->graph;
    const Value *sizes = inferred_value(w->session->inferred, op_inputs(graph, op)[1]);
    Str where = torch_pattern(w->arena, str_from(op_path(graph, op)), true);
    Buf call = buf_new(w->arena);
    buf_puts(&call, "view(");
    for (int64_t i = 0; i < sizes->shape.dim[0]; i++)
        buf_printf(&call, "%s%" PRId64, i ? ", " : "", sizes->ints[i]);
    buf_putc(&call, ')');
    buf_printf(out, "# %.*s: %s needs -1 for %" PRId64 ", of which a rank has a part.\n",
               STR_ARG(where), call.s, sizes->ints[dim]);
    export_note(notes,
                "%.*s: %s in the model's code needs -1 for %" PRId64 ", of which a rank has a part",
                STR_ARG(where), call.s, sizes->ints[dim]);
}

/* A module whose result the code changes in place: OLMo clips q, k and v, Falcon adds to the MLP's.
 */
static bool is_changed(const TorchWriting *w, const TorchStyles *styles, const StyledModule *m,
                       int axis)
{
    const Graph *graph = w->graph;
    if (!m->style[axis] || m->at.out < 0 || strstr(m->style[axis], "local_output=False"))
        return false;
    if (str_ends(m->name, STR("mlp.dense_4h_to_h")))
        return styles->added[axis] >= 0;
    for (int32_t u = graph->tensors[m->at.out].use; u < graph->tensors[m->at.out + 1].use; u++)
        if (graph->uses[u] < styles->n_forward &&
            strcmp(op_operator(graph, graph->uses[u]), "Clip") == 0)
            return true;
    return false;
}

void torch_write_copies(const TorchWriting *w, const TorchStyles *styles, int axis, Buf *out)
{
    Intern *seen = intern_new(w->arena);
    Buf names = buf_new(w->arena);
    for (int i = 0; i < styles->modules.n; i++) {
        const StyledModule *m = &styles->modules.at[i];
        if (!is_changed(w, styles, m, axis))
            continue;
        Str parent = styling_parent(m->name);
        Str leaf = {m->name.s + parent.n + 1, m->name.n - parent.n - 1};
        int n = intern_count(seen);
        if (intern_put(seen, leaf.s, leaf.n) == n)
            buf_printf(&names, "%s\"%.*s\"", n ? ", " : "", STR_ARG(leaf));
    }
    if (names.n > 0)
        buf_printf(out,
                   "    for name, module in model.named_modules():\n"
                   "        if name.rpartition(\".\")[2] in [%s]:  # changed in place\n"
                   "            module.register_forward_hook(lambda _, args, out: out.clone())\n",
                   names.s);
}

void torch_write_views(const TorchWriting *w, const TorchStyles *styles, Buf *out,
                       ExportNotes *notes)
{
    Intern *seen = intern_new(w->arena);
    Str file = str_from(w->session->options.model);
    if (!str_ends(file, STR(".onnx")) && !str_ends(file, STR(".pt2")))
        return; /* the graph is our own of a model of transformers, whose code says -1 */
    for (int i = 0; i < styles->modules.n; i++) {
        const StyledModule *m = &styles->modules.at[i];
        for (int a = 0; a < w->mesh->n_axes; a++) {
            if (!gives_parts(m->style[a]))
                continue;
            int32_t ops[2] = {m->at.out >= 0 ? reshape_behind(w, m->at.out, styles->n_forward) : -1,
                              m->at.in >= 0 ? reshape_before(w, m->at.in) : -1};
            for (int k = 0, dim; k < 2; k++) {
                if (ops[k] < 0 || !says_size(w, a, ops[k], &dim))
                    continue;
                Str where = torch_pattern(w->arena, str_from(op_path(w->graph, ops[k])), true);
                int n = intern_count(seen);
                if (intern_put(seen, where.s, where.n) == n)
                    write_view(w, ops[k], dim, out, notes);
            }
        }
    }
}
