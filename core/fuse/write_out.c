#include "core/fuse/write_out.h"

#include "core/base/vec.h"
#include "core/model/rewrite.h"
#include "core/rules/written/written.h"

typedef struct {
    const Inferred *inferred;
    const Graph *graph;
    Arena *arena, *scratch;
    GraphBuilder *builder;
    Written **written; /* per op; NULL: it stays */
    const char **text; /* per name of an operator; NULL: it is not written out, or not `asked` */
    bool *asked;
    int32_t *now; /* per tensor: what it is in the new graph */
    Vec(int32_t) lines;
} WriteOut;

/* The text of the op; NULL if none is known, or a user's operator has its name. */
static const char *text_of(WriteOut *w, int32_t op)
{
    int32_t name = w->graph->ops[op].op_type;
    if (!w->asked[name]) {
        const Operator *row =
            registry_find(w->inferred->registry, str_from(op_operator(w->graph, op)));
        w->text[name] = row && operator_find(row->name) == row ? written_text(row->name) : NULL;
        w->asked[name] = true;
    }
    return w->text[name];
}

static Written *read(WriteOut *w, int32_t op, const char *text, Error *err)
{
    const GraphOp *at = &w->graph->ops[op];
    int n = at->n_inputs + at->n_outputs;
    WrittenOp *of = arena_make(w->scratch, WrittenOp);
    const Shape **shape = arena_array(w->scratch, const Shape *, n + 1);
    Dtype *dtype = arena_array(w->scratch, Dtype, n + 1);
    bool *has = arena_array(w->scratch, bool, n + 1);
    for (int i = 0; i < n; i++) {
        int32_t t = op_operand(w->graph, op, i);
        has[i] = t >= 0;
        shape[i] = t < 0 ? NULL : inferred_shape(w->inferred, t);
        dtype[i] = t < 0 ? DT_NONE : (Dtype)w->inferred->dtype[t];
    }
    *of = (WrittenOp){w->graph, op,    at->n_inputs, at->n_outputs,
                      shape,    dtype, has,          has + at->n_inputs};
    return written_read(w->scratch, text, of, err);
}

/* One note an operator. */
static void note_kept(WriteOut *w, int32_t op, const Error *reason, Findings *notes)
{
    Finding note = {.level = LEVEL_NOTE, .code = "kept-whole", .hint = "", .op = -1, .tensor = -1};
    const char *start = arena_printf(w->scratch, "%s ", op_operator(w->graph, op));
    for (int i = 0; i < notes->n; i++)
        if (str_starts(str_from(notes->at[i].text), str_from(start)))
            return;
    note.text = arena_printf(w->arena, "%s %s is planned as one op and cannot run: %s",
                             op_operator(w->graph, op), op_name(w->graph, op), reason->text);
    vec_push(w->arena, notes, note);
}

static bool find(WriteOut *w, Findings *notes)
{
    bool any = false;
    for (int32_t op = 0; op < w->graph->n_ops; op++) {
        const char *text = text_of(w, op);
        Error reason = {0};
        if (!text)
            continue;
        w->written[op] = read(w, op, text, &reason);
        any |= w->written[op] != NULL;
        if (!w->written[op] && error_is_set(&reason))
            note_kept(w, op, &reason, notes);
    }
    return any;
}

/* "transformer.h.0.mlp.GatedAdd" */
static Str path_of(const WriteOut *w, int32_t op)
{
    const char *path = op_path(w->graph, op), *name = strrchr(op_operator(w->graph, op), ':');
    name = name ? name + 1 : op_operator(w->graph, op);
    return str_from(arena_printf(w->arena, "%s%s%s", path, *path ? "." : "", name));
}

static void emit_op(void *context, int32_t op)
{
    WriteOut *w = context;
    const GraphOp *at = &w->graph->ops[op];
    int32_t *operand = arena_array(w->scratch, int32_t, at->n_inputs + at->n_outputs + 1);
    for (int i = 0; i < at->n_inputs + at->n_outputs; i++) {
        int32_t t = op_operand(w->graph, op, i);
        operand[i] = t < 0 ? -1 : w->now[t];
    }
    int n = w->written[op] ? written_n_ops(w->written[op]) : 1;
    for (int i = 0; i < n; i++)
        vec_push(w->arena, &w->lines, w->graph->lines ? w->graph->lines[op] : 0);
    if (w->written[op])
        written_add(w->written[op], w->builder, str_from(op_name(w->graph, op)), path_of(w, op),
                    operand, operand + at->n_inputs);
    else
        graph_add_op_like(w->builder, *at, operand, operand + at->n_inputs);
}

static Graph *rebuilt(WriteOut *w, Error *err)
{
    const Graph *graph = w->graph;
    w->builder = graph_builder_like(graph->arena, graph);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        w->now[t] = rewrite_copy_tensor(w->builder, graph, t);
    rewrite_copy_ends(w->builder, graph, w->now);
    rewrite_copy_ops(w->builder, graph, w->now, &(RewriteOps){w, emit_op, NULL});
    return rewrite_seal_like(w->builder, graph, w->lines.at, err);
}

/* Sets *out to the new graph, in the arena of the old one; NULL if nothing changes. */
static bool write_out(const Inferred *inferred, Findings *notes, Graph **out, Error *err)
{
    const Graph *graph = inferred->graph;
    WriteOut w = {
        .inferred = inferred, .graph = graph, .arena = graph->arena, .scratch = arena_new()};
    *out = NULL;
    w.written = arena_array(w.scratch, Written *, graph->n_ops + 1);
    w.now = arena_array(w.scratch, int32_t, graph->n_tensors + 1);
    w.text = arena_array(w.scratch, const char *, names_count(graph->names) + 1);
    w.asked = arena_array(w.scratch, bool, names_count(graph->names) + 1);
    bool any = find(&w, notes);
    if (any)
        *out = rebuilt(&w, err);
    arena_free(w.scratch);
    return !any || *out;
}

/* Those of tensors that the graph has: others may be made when ops are written out. */
static GivenValues given_here(Arena *arena, const Graph *graph, const GivenValues *given)
{
    GivenValues here = {0};
    for (int i = 0; given && i < given->n; i++)
        if (graph_find_tensor(graph, given->at[i].tensor) >= 0)
            vec_push(arena, &here, given->at[i]);
    return here;
}

Inferred *infer_written(Arena *arena, Graph **graph, const Registry *registry,
                        const DimBindings *bindings, const GivenValues *given, bool allow_free,
                        Progress *progress, Findings *notes, Error *err)
{
    Graph *next = *graph;
    Inferred *inferred = NULL;
    GivenValues here = {0};
    Findings kept = {0};
    while (next) {
        *graph = next;
        kept.n = 0;
        here = given_here(arena, *graph, given);
        inferred =
            infer_watched(arena, *graph, registry, bindings, &here, allow_free, progress, err);
        if (!inferred || !write_out(inferred, &kept, &next, err))
            return NULL;
    }
    for (int i = 0; i < kept.n; i++)
        vec_push(arena, notes, kept.at[i]);
    if (given && here.n < given->n) /* which is refused with the tensor that is not there */
        return infer_watched(arena, *graph, registry, bindings, given, allow_free, progress, err);
    return inferred;
}
