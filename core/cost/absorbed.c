#include "core/cost/absorbed.h"

#include "core/base/str.h"
#include "core/rules/derivative.h"
#include "core/rules/registry.h"
#include "core/space/contraction.h"
#include "core/space/gradient.h"

typedef enum { NO_CHANGE, SWAPS_MATRIX, KEEPS_LAST } LayoutChange;

/* An operand of an op: inputs, then outputs. */
typedef struct {
    int32_t op;
    int at;
} OperandOf;

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

static bool is_summed(const OpSpace *space, int operand)
{
    const Projection *projection = &space->operand[operand].projection;
    for (int j = 0; j < space->n_index; j++)
        for (int d = 0; space->index[j].role == ROLE_REDUCE && d < projection->n_dims; d++)
            if (projection->row[d].coef[j] != 0)
                return true;
    return false;
}

/* What the op's kernel takes of the operand as it lies. A gradient op has the forward op's operands
 * in other roles: its GEMMs make their results either way, too. */
static LayoutChange change_taken(const Inferred *inferred, OperandOf it)
{
    enum { QKV = 3 };
    const OpSpace *space = inferred_space(inferred, it.op);
    if (!space)
        return NO_CHANGE;
    bool backward = space->gradient != NULL, output = it.at >= space->n_inputs;
    if (op_space_is_product(space))
        return (output ? backward : is_summed(space, it.at)) ? SWAPS_MATRIX : NO_CHANGE;
    const Operator *row = inferred_forward_operator(inferred, it.op);
    bool attention = row && row->flags & OPERATOR_KEEPS_ROWS;
    return attention && (backward || output || it.at < QKV) ? KEEPS_LAST : NO_CHANGE;
}

static bool absorbs(const Inferred *inferred, OperandOf it, int32_t transpose)
{
    const Graph *graph = inferred->graph;
    const Shape *shape = inferred_shape(inferred, op_outputs(graph, transpose)[0]);
    LayoutChange change = shape ? change_taken(inferred, it) : NO_CHANGE;
    return change != NO_CHANGE && is_change(graph, transpose, shape->n_dims, change);
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
                !absorbs(inferred, (OperandOf){use[u], i}, op))
                return -1;
    return n > 0 && !graph->tensors[tensor].output ? use[0] : -1;
}

static int32_t absorbing_maker(const Inferred *inferred, int32_t op)
{
    const Graph *graph = inferred->graph;
    int32_t tensor = op_inputs(graph, op)[0], maker = graph->tensors[tensor].maker;
    bool alone = tensor_n_uses(graph, tensor) == 1 && !graph->tensors[tensor].output;
    if (maker < 0 || !alone)
        return -1;
    int output = 0;
    while (op_outputs(graph, maker)[output] != tensor)
        output++;
    const OpSpace *space = inferred_space(inferred, maker);
    bool first = space && (output == 0 || space->gradient);
    return first && absorbs(inferred, (OperandOf){maker, space->n_inputs + output}, op) ? maker
                                                                                        : -1;
}

/* Itself, or the gradient of one. */
static bool is_transpose(const Inferred *inferred, int32_t op)
{
    const OpSpace *space = inferred_space(inferred, op);
    bool gradient = space && space->gradient;
    return strcmp(gradient ? space->gradient->of : op_operator(inferred->graph, op), "Transpose") ==
           0;
}

int32_t op_absorbed_by(const Inferred *inferred, int32_t op)
{
    const Graph *graph = inferred->graph;
    if (!is_transpose(inferred, op) || op_inputs(graph, op)[0] < 0 || op_outputs(graph, op)[0] < 0)
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
