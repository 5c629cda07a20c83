#include "core/peers/stablehlo/reader.h"

#include "core/base/file.h"
#include "core/peers/stablehlo/lower.h"
#include "core/rules/registry.h"
#include "core/step/stated_step.h"

/* ---- names of arguments ---- */

/* "p['h'][0].w" -> "p.h.0.w" */
static Str dotted(Arena *arena, Str path)
{
    Buf out = buf_new(arena);
    for (size_t i = 0; i < path.n; i++) {
        char c = path.s[i];
        if (c == '[' || c == '.')
            buf_puts(&out, out.n > 0 && out.s[out.n - 1] != '.' ? "." : "");
        else if (c != ']' && c != '\'' && c != '"')
            buf_putc(&out, c);
    }
    while (out.n > 0 && out.s[out.n - 1] == '.')
        out.n--;
    return buf_str(&out);
}

static Str argument_name(MlirLowering *lowering, const MlirValue *argument, int i)
{
    Str location = argument->info < 0 ? STR("") : lowering->tree->infos.at[argument->info].location;
    Str name = dotted(lowering->scratch, mlir_location_name(lowering->tree, location));
    if (name.n > 0 && !graph_has_tensor(lowering->builder, name))
        return name;
    return argument->name.n > 0 ? argument->name
                                : str_from(arena_printf(lowering->scratch, "%%arg%d", i));
}

/* ---- free dims ---- */

static Str attr_text(MlirLowering *lowering, int32_t info, const char *key)
{
    const MlirInfo *at = info < 0 ? NULL : &lowering->tree->infos.at[info];
    for (int i = 0; at && i < at->n_attrs; i++)
        if (str_eq(lowering->tree->attrs.at[at->attr + i].key, str_from(key)))
            return mlir_text(lowering->scratch, lowering->tree->attrs.at[at->attr + i].value);
    return STR("");
}

/* The name that jax.export gives a size: that of the argument of a function it is handed to. */
static Str size_name(MlirLowering *lowering, int32_t argument, int64_t dim)
{
    const MlirTree *tree = lowering->tree;
    for (int32_t o = 0; o < tree->ops.n; o++) {
        const MlirOp *op = &tree->ops.at[o];
        const MlirAttr *callee = mlir_is(op, "func.call") ? mlir_attr(tree, op, "callee") : NULL;
        Str name = callee ? callee->value : STR("");
        const MlirFunction *function = mlir_function(
            tree, name.n > 0 && name.s[0] == '@' ? (Str){name.s + 1, name.n - 1} : name);
        for (int i = 0; function && function->region >= 0 && i < op->n_operands; i++) {
            int32_t from = tree->values.at[mlir_operands(tree, op)[i]].op, at;
            const MlirOp *size = from < 0 ? NULL : &tree->ops.at[from];
            const MlirAttr *which = size && mlir_is(size, "stablehlo.get_dimension_size")
                                        ? mlir_attr(tree, size, "dim dimension")
                                        : NULL;
            int64_t d;
            if (!which || !mlir_int(which->value, &d) || d != dim ||
                mlir_operands(tree, size)[0] != argument)
                continue;
            at = tree->regions.at[function->region].arg + i;
            Str symbol = attr_text(lowering, tree->values.at[at].info, "jax.global_constant");
            if (symbol.n > 0)
                return symbol;
        }
    }
    return STR("");
}

/* A size that is known only at run time is a free dim: "b", or "x.0" without a name. */
static void add_argument(MlirLowering *lowering, int i, int32_t value)
{
    const MlirValue *argument = &lowering->tree->values.at[value];
    const MlirType *type = mlir_type_of(lowering->tree, value);
    Str name = argument_name(lowering, argument, i);
    int32_t tensor = graph_tensor(lowering->builder, name);
    DeclaredDim dims[DIMS_MAX];
    bool shaped = type && type->tensor;
    for (int64_t d = 0; shaped && d < type->shape.n_dims; d++) {
        dims[d] = (DeclaredDim){type->shape.dim[d], 0};
        if (dims[d].size >= 0)
            continue;
        Str symbol = size_name(lowering, value, d);
        if (symbol.n == 0)
            symbol = str_from(arena_printf(lowering->scratch, "%.*s.%d", STR_ARG(name), (int)d));
        dims[d].name = names_intern(lowering->graph->names, symbol);
    }
    graph_add_input(lowering->builder, tensor, shaped ? type->dtype : DT_NONE, dims,
                    shaped ? (int)type->shape.n_dims : -1);
    lowering->tensor[value] = tensor;
    shardings_of_info(lowering, argument->info, tensor);
}

/* ---- ops ---- */

/* What an op of another dialect computes only a policy can say. */
static void refuse_dialect(MlirLowering *lowering, const MlirOp *op)
{
    lower_fail(lowering, op, "'%.*s' is of the dialect '%.*s', which is not read",
               STR_ARG(op->name), STR_ARG(mlir_dialect(op->name)));
    error_hint(lowering->err,
               "lower it to StableHLO, or describe it in a policy: "
               "register_op(\"a k+, k+ b -> a b\", {name = \"%.*s\"})",
               STR_ARG(op->name));
}

/* Finds what each kind of op is; the first of a kind that nobody knows is an error. */
static void find_kinds(MlirLowering *lowering)
{
    const MlirTree *tree = lowering->tree;
    const Registry *registry = lowering->file->registry;
    int n = intern_count(tree->kinds);
    lowering->kinds = arena_array(lowering->scratch, MlirKind, n);
    for (int kind = 0; kind < n; kind++)
        lowering->kinds[kind].first = -1;
    for (int32_t o = 0; o < tree->ops.n && !lowering->failed; o++) {
        const MlirOp *op = &tree->ops.at[o];
        MlirKind *kind = &lowering->kinds[op->kind];
        if (kind->first >= 0)
            continue;
        *kind = (MlirKind){.first = o, .row = lower_row(op->name)};
        if (!kind->row && str_starts(op->name, STR("stablehlo.")))
            kind->alias = alias_find(lowering->file->arena, op->name);
        if (!kind->row && !mlir_dialect_is_known(op->name) &&
            !(registry && registry_find(registry, op->name)))
            refuse_dialect(lowering, op);
    }
}

/* Under the name of ours with its constants; operands in our order. */
static void lower_alias(MlirLowering *lowering, const MlirOp *op, const Alias *alias)
{
    int n = alias->n_operands > 0 ? alias->n_operands : op->n_operands;
    int32_t *inputs = arena_array(lowering->scratch, int32_t, n);
    int32_t *outputs = arena_array(lowering->scratch, int32_t, op->n_results);
    for (int i = 0; i < n; i++) {
        int theirs = alias->n_operands > 0 ? alias->operand[i] : i;
        inputs[i] = theirs < 0 ? -1 : lower_use(lowering, op, theirs);
    }
    for (int i = 0; i < alias->n_constants; i++) {
        Attr attr = alias->constant[i].value;
        attr.name = names_intern(lowering->graph->names, str_from(alias->constant[i].ours));
        vec_push(lowering->scratch, &lowering->attrs, attr);
    }
    for (int i = 0; i < op->n_results; i++)
        outputs[i] = lower_result(lowering, op, i);
    lower_add(lowering, op, alias->op_type, "", inputs, n, outputs, op->n_results);
}

static void lower_one(MlirLowering *lowering, const MlirOp *op)
{
    const MlirKind *kind = &lowering->kinds[op->kind];
    lowering->attrs.n = 0;
    lowering->row = kind->row;
    if (++lowering->seen > LOWERED_OPS_MAX)
        lower_fail(lowering, op, "with its calls the module has more than %d ops", LOWERED_OPS_MAX);
    else if (kind->row)
        kind->row->lower(lowering, op);
    else if (kind->alias)
        lower_alias(lowering, op, kind->alias);
    else
        lower_plain(lowering, op, op->name.s);
    if (!lowering->failed)
        shardings_of_op(lowering, op);
}

void lower_ops(MlirLowering *lowering, int32_t first, int32_t end)
{
    for (int32_t o = first; o < end && !lowering->failed; o = lowering->tree->ops.at[o].end)
        lower_one(lowering, &lowering->tree->ops.at[o]);
}

/* ---- the module ---- */

/* The function that is the model: @main, else the first public one with a body. */
static const MlirFunction *find_main(const MlirTree *tree)
{
    const MlirFunction *main = mlir_function(tree, STR("main"));
    if (main && main->region >= 0)
        return main;
    for (int pass = 0; pass < 2; pass++)
        for (int f = 0; f < tree->functions.n; f++)
            if (tree->functions.at[f].region >= 0 && (pass || tree->functions.at[f].is_public))
                return &tree->functions.at[f];
    return NULL;
}

/* An output that is an input too, or another output, is a copy of it. */
static void add_output(MlirLowering *lowering, const MlirOp *back, int i)
{
    int32_t tensor = lower_use(lowering, back, i);
    bool copy = false;
    for (int k = 0; k < i; k++)
        copy |= lower_use(lowering, back, k) == tensor;
    for (int k = 0; k < lowering->builder->inputs.n; k++)
        copy |= lowering->builder->inputs.at[k] == tensor;
    if (copy) {
        const char *part = arena_printf(lowering->scratch, "result#%d", i);
        tensor = lower_step(lowering, back, "Identity", part, &tensor, 1);
    }
    graph_add_output(lowering->builder, tensor);
    if (i < lowering->main->n_results)
        shardings_of_info(lowering, lowering->main->result + i, tensor);
}

static void lower_main(MlirLowering *lowering)
{
    const MlirTree *tree = lowering->tree;
    const MlirRegion *region = &tree->regions.at[lowering->main->region];
    lowering->active[lowering->main - tree->functions.at] = true;
    shardings_meshes(lowering);
    int32_t *args = arena_array(lowering->scratch, int32_t, region->n_args);
    for (int i = 0; i < region->n_args; i++) {
        add_argument(lowering, i, region->arg + i);
        args[i] = lowering->tensor[region->arg + i];
    }
    const MlirOp *back = lower_region(lowering, region, args);
    if (lowering->failed)
        return;
    if (!back || !str_ends(back->name, STR("return")) || back->n_operands == 0) {
        lower_fail(lowering, &tree->ops.at[lowering->main->op], "'@%.*s' returns nothing",
                   STR_ARG(lowering->main->name));
        return;
    }
    for (int i = 0; i < back->n_operands; i++)
        add_output(lowering, back, i);
}

static uint64_t hash_text(Str bytes)
{
    const size_t limit = (size_t)64 << 20;
    const uint64_t parts[] = {hash_bytes(bytes.s, bytes.n < limit ? bytes.n : limit), bytes.n};
    return hash_bytes(parts, sizeof parts);
}

/* Arguments that jax donates are what outputs are the next values of. */
static void add_donated(MlirLowering *lowering, const Graph *graph, const MlirValue *argument,
                        int32_t tensor, StatedPair *pair)
{
    int64_t output;
    Str text = attr_text(lowering, argument->info, "tf.aliasing_output");
    if (mlir_int(text, &output) && output >= 0 && output < graph->n_outputs)
        *pair = (StatedPair){tensor, graph->outputs[output]};
}

static void find_step(MlirLowering *lowering, Graph *graph)
{
    const MlirTree *tree = lowering->tree;
    const MlirRegion *region = &tree->regions.at[lowering->main->region];
    StatedPair *pair = arena_array(lowering->scratch, StatedPair, region->n_args);
    StatedParts parts = {
        .phase = lowering->phases.at, .n_names = lowering->phases.n, .pair = pair, .loss = -1};
    for (int i = 0; i < region->n_args; i++) {
        StatedPair *next = &pair[parts.n_pairs];
        next->of = -1;
        add_donated(lowering, graph, &tree->values.at[region->arg + i],
                    lowering->tensor[region->arg + i], next);
        parts.n_pairs += next->of >= 0;
    }
    stated_step_find(graph, &parts);
}

static Graph *seal(MlirLowering *lowering, Error *err)
{
    Error why = {0};
    Graph *graph = graph_seal(lowering->builder, &why);
    if (!graph) {
        error_kind(err, ERROR_UNREADABLE, "%s", why.text);
        error_hint(err, "%s", why.hint);
        error_in_file(err, lowering->file->path);
        return NULL;
    }
    graph->hash = hash_text(lowering->file->text);
    graph->n_nodes = lowering->tree->ops.n;
    find_step(lowering, graph);
    return graph;
}

static Graph *lower_module(const ModelFile *file, const MlirTree *tree, Arena *scratch, Error *err)
{
    const MlirFunction *main = find_main(tree);
    if (!main) {
        error_kind(err, ERROR_UNREADABLE, "there is no function with a body");
        error_in_file(err, file->path);
        return NULL;
    }
    GraphBuilder *builder = graph_builder_new(file->arena, file->path);
    MlirLowering lowering = {.file = file,
                             .tree = tree,
                             .builder = builder,
                             .graph = graph_builder_graph(builder),
                             .scratch = scratch,
                             .err = err,
                             .main = main,
                             .locations = intern_new(scratch)};
    graph_reserve(builder, tree->ops.n, tree->values.n, tree->operands.n + tree->values.n,
                  tree->values.n);
    lowering.tensor = arena_array(scratch, int32_t, tree->values.n);
    memset(lowering.tensor, -1, (size_t)tree->values.n * sizeof *lowering.tensor);
    lowering.active = arena_array(scratch, bool, tree->functions.n);
    find_kinds(&lowering);
    if (!lowering.failed)
        lower_main(&lowering);
    return lowering.failed ? NULL : seal(&lowering, err);
}

Graph *stablehlo_read(const ModelFile *file, Error *err)
{
    Arena *scratch = arena_new();
    Source source = {file->path, file->text};
    progress_stage(file->progress, "reading", (int64_t)file->text.n);
    MlirTree *tree = mlir_parse(scratch, &source, file->progress, err);
    Graph *graph = tree ? lower_module(file, tree, scratch, err) : NULL;
    arena_free(scratch);
    return graph;
}

/* ---- which files ---- */

static bool is_text(Str text)
{
    Str head = {text.s, text.n < 4096 ? text.n : 4096};
    return str_find(head, STR("module @")) >= 0 || str_find(head, STR("func.func ")) >= 0 ||
           str_find(head, STR("\"builtin.module\"")) >= 0;
}

static bool is_bytecode(Str text)
{
    return str_starts(text, STR("ML\xefR"));
}

/* jax.export's: a flatbuffer around bytecode. */
static bool is_serialized(Str text)
{
    Str head = {text.s, text.n < 65536 ? text.n : 65536};
    return head.n > 8 && !is_text(head) && str_find(head, STR("ML\xefR")) >= 0 &&
           str_find(head, STR("StableHLO_v")) >= 0;
}

static Graph *refuse_bytecode(const ModelFile *file, Error *err)
{
    error_kind(err, ERROR_UNREADABLE, "this is MLIR bytecode, which is not read");
    error_hint(err, "make text of it: stablehlo-translate --deserialize %s -o model.mlir",
               path_base(file->path));
    error_in_file(err, file->path);
    return NULL;
}

static Graph *refuse_serialized(const ModelFile *file, Error *err)
{
    error_kind(err, ERROR_UNREADABLE, "this is a serialized jax.export, which is not read");
    error_hint(err,
               "make text of it: print(jax.export.deserialize(open('%s', "
               "'rb').read()).mlir_module())",
               path_base(file->path));
    error_in_file(err, file->path);
    return NULL;
}

const ModelReader stablehlo_readers[] = {
    {"MLIR bytecode", ".stablehlo.bc", is_bytecode, refuse_bytecode},
    {"jax.export", ".jaxexport.bin", is_serialized, refuse_serialized},
    {"StableHLO", ".mlir", is_text, stablehlo_read},
    {0},
};
