/* fuse_tied.c - a copy of an embedding is read from the embedding, transposed where it has to be:
 * then both are one parameter. */
#include "core/model/rewrite.h"
#include "core/fuse/fuse.h"
#include "core/fuse/tied.h"

#include <string.h>

static const AttrList *attrs_of(const Graph *graph, int32_t op)
{
    return &graph->attr_lists[graph->ops[op].attrs];
}

/* Ops that read the copy, and can be written with another operand in its place. */
static bool can_read(const Graph *graph, int32_t op)
{
    static const char *const readers[] = {"MatMul", "Gemm", "Gather"};
    const GraphOp *at = &graph->ops[op];
    bool known = false;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        known |= strcmp(op_operator(graph, op), readers[i]) == 0;
    return known && at->n_inputs <= NEW_OP_INPUTS && attrs_of(graph, op)->n <= NEW_OP_ATTRS;
}

static bool can_tie(const Graph *graph, int32_t copy)
{
    for (int u = 0; u < tensor_n_uses(graph, copy); u++)
        if (!can_read(graph, graph->uses[graph->tensors[copy].use + u]))
            return false;
    return !graph->tensors[copy].output;
}

static void tie(Rewrite *rewrite, const Graph *graph, const TiedPair *pair)
{
    static const int64_t turned[] = {1, 0};
    for (int u = 0; u < tensor_n_uses(graph, pair->copy); u++) {
        int32_t op = graph->uses[graph->tensors[pair->copy].use + u], read = pair->table;
        if (u > 0 && graph->uses[graph->tensors[pair->copy].use + u - 1] == op)
            continue; /* it reads the copy twice */
        NewOp turn = {.before = op, .operator= "Transpose", .n_inputs = 1, .n_attrs = 1};
        turn.input[0] = pair->table;
        turn.attr[0] = rewrite_ints(rewrite, "perm", turned, 2);
        if (pair->transposed)
            read = rewrite_add(rewrite, turn);
        NewOp new = {.before = op, .replaces = true, .operator= op_operator(graph, op)};
        new.n_inputs = graph->ops[op].n_inputs;
        for (int i = 0; i < new.n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            new.input[i] = t == pair->copy ? read : t;
        }
        new.n_attrs = attrs_of(graph, op)->n;
        for (int i = 0; i < new.n_attrs; i++)
            new.attr[i] = attrs_of(graph, op)->at[i];
        rewrite_add(rewrite, new);
    }
}

static void add_note(const Graph *graph, Findings *notes, const TiedPair *pair, const char *what)
{
    Buf text = buf_new(graph->arena);
    buf_puts(&text, "tied: ");
    if (pair)
        tied_format(pair, tensor_name(graph, pair->table), tensor_name(graph, pair->copy), &text);
    buf_puts(&text, what);
    Finding note = {.level = LEVEL_NOTE, .code = "fused", .text = text.s, .hint = "", .op = -1};
    note.tensor = -1;
    vec_push(graph->arena, notes, note);
}

bool fuse_tied(const Inferred *inferred, Progress *progress, Findings *notes, Graph **graph,
               Error *err)
{
    const Graph *from = inferred->graph;
    Rewrite *rewrite = rewrite_new(from);
    TiedPair *pair;
    int n_tied = 0, n = tied_find(from->arena, inferred, INT64_MAX, progress, &pair);
    if (n < 0)
        return progress_goes_on(progress, err);
    for (int i = 0; i < n; i++) {
        bool ties = !pair[i].unknown && can_tie(from, pair[i].copy);
        add_note(from, notes, &pair[i],
                 ties              ? ": they are one parameter"
                 : pair[i].unknown ? ": the file does not have them, so that nothing is tied"
                                   : ": an op that reads it is not known, so that it stays");
        n_tied += ties;
        if (ties)
            tie(rewrite, from, &pair[i]);
    }
    if (n == 0)
        add_note(from, notes, NULL, "no weight has the elements of an embedding");
    *graph = n_tied > 0 ? rewrite_seal(rewrite, err) : NULL;
    return n_tied == 0 || *graph;
}
