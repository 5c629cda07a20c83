#include "core/cost/absorbed.h"

#include "core/base/str.h"
#include "core/rules/derivative.h"
#include "core/space/gradient.h"

typedef enum { SWAPS_MATRIX, KEEPS_LAST } LayoutChange;

/* Operands are inputs; bit OUTPUT: the first output, too. */
enum { OUTPUT = 1 << 15 };
static const struct {
    const char *operator;
    unsigned operands;
    LayoutChange change;
} absorbers[] = {
    {"MatMul", 3, SWAPS_MATRIX},
    {"Gemm", 3, SWAPS_MATRIX},
    {"com.microsoft::FusedMatMul", 3, SWAPS_MATRIX},
    {"Attention", 7 | OUTPUT, KEEPS_LAST},
    {"ScaledDotProductAttention", 7 | OUTPUT, KEEPS_LAST},
    {"FlashAttention", 7 | OUTPUT, KEEPS_LAST},
};

/* SWAPS_MATRIX: the last two dims change places; KEEPS_LAST: others do, in any way. */
static bool is_change(const Graph *graph, int32_t op, int64_t n_dims, LayoutChange change)
{
    const Attr *perm = op_attr(graph, op, "perm");
    if (n_dims < 2 || (perm && (perm->type != ATTR_INTS || perm->n != n_dims)))
        return false;
    for (int64_t d = 0; d < n_dims; d++) {
        int64_t from = perm ? perm->ints[d] : n_dims - 1 - d;
        int64_t swapped = d < n_dims - 2 ? d : 2 * n_dims - 3 - d;
        if (change == SWAPS_MATRIX ? from != swapped : d == n_dims - 1 && from != d)
            return false;
    }
    return true;
}

/* The operator of the op, of a gradient op that of its forward op. */
static const char *operator_of(const Inferred *inferred, int32_t op)
{
    const OpSpace *space = inferred_space(inferred, op);
    return space && space->gradient ? space->gradient->of : op_operator(inferred->graph, op);
}

/* A gradient op has the forward op's operands in other roles: its GEMMs take and make any of them
 * either way. */
static bool absorbs(const Inferred *inferred, int32_t op, int32_t transpose, unsigned operand)
{
    const Graph *graph = inferred->graph;
    const Shape *shape = inferred_shape(inferred, op_outputs(graph, transpose)[0]);
    const char *name = operator_of(inferred, op);
    bool backward = name != op_operator(graph, op);
    for (size_t i = 0; shape && i < sizeof absorbers / sizeof *absorbers; i++)
        if (strcmp(name, absorbers[i].operator) == 0)
            return (backward || absorbers[i].operands & operand) &&
                   is_change(graph, transpose, shape->n_dims, absorbers[i].change);
    return false;
}

/* Every operand of every reader has to absorb it. */
static int32_t absorbing_reader(const Inferred *inferred, int32_t op)
{
    const Graph *graph = inferred->graph;
    int32_t tensor = op_outputs(graph, op)[0];
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    int n = tensor_n_uses(graph, tensor);
    for (int u = 0; u < n; u++)
        for (int i = 0; i < graph->ops[use[u]].n_inputs; i++)
            if (op_inputs(graph, use[u])[i] == tensor &&
                (i >= 15 || !absorbs(inferred, use[u], op, 1u << i)))
                return -1;
    return n > 0 && !graph->tensors[tensor].output ? use[0] : -1;
}

static int32_t absorbing_maker(const Inferred *inferred, int32_t op)
{
    const Graph *graph = inferred->graph;
    int32_t tensor = op_inputs(graph, op)[0], maker = graph->tensors[tensor].maker;
    bool alone = tensor_n_uses(graph, tensor) == 1 && !graph->tensors[tensor].output;
    bool first = maker >= 0 && (op_outputs(graph, maker)[0] == tensor ||
                                operator_of(inferred, maker) != op_operator(graph, maker));
    return first && alone && absorbs(inferred, maker, op, OUTPUT) ? maker : -1;
}

int32_t op_absorbed_by(const Inferred *inferred, int32_t op)
{
    const Graph *graph = inferred->graph;
    if (strcmp(operator_of(inferred, op), "Transpose") != 0 || op_inputs(graph, op)[0] < 0 ||
        op_outputs(graph, op)[0] < 0)
        return -1;
    int32_t by = absorbing_reader(inferred, op);
    return by >= 0 ? by : absorbing_maker(inferred, op);
}

bool op_passes_on(const Inferred *inferred, int32_t op)
{
    const OpSpace *space = inferred_space(inferred, op);
    return space && derivative_passes_on(space) &&
           inferred->dtype[op_inputs(inferred->graph, op)[0]] ==
               inferred->dtype[op_outputs(inferred->graph, op)[0]];
}

int32_t op_made_by(const Inferred *inferred, int32_t op)
{
    const Graph *graph = inferred->graph;
    const OpSpace *space = inferred_space(inferred, op);
    if (!space || !space->gradient || space->gradient->input == 0 ||
        !str_ends(str_from(space->gradient->kernel), STR("NormalizationBackward")))
        return -1;
    for (int32_t at = op - 1; at >= 0 && graph->of[at] == graph->of[op]; at--) {
        const OpSpace *other = inferred_space(inferred, at);
        if (graph->phase[at] == graph->phase[op] && other && other->gradient &&
            other->gradient->input == 0)
            return at;
    }
    return -1;
}
