#include "core/rules/role_weight.h"

static bool is_weight(const Inferred *inferred, int32_t tensor)
{
    int32_t maker = tensor < 0 ? -1 : inferred->graph->tensors[tensor].maker;
    return tensor >= 0 && (tensor_is_parameter(inferred, tensor) ||
                           (maker >= 0 && inferred->on_parameters[maker]));
}

bool role_is_activation(const Inferred *inferred, int32_t tensor)
{
    return tensor >= 0 && !is_weight(inferred, tensor) && !tensor_is_known(inferred, tensor);
}

/* Whether an activation among the inputs has the index dim. */
static bool activation_has(const Inferred *inferred, int32_t op, const OpSpace *space, int index)
{
    for (int i = 0; i < space->n_inputs; i++)
        if (role_is_activation(inferred, op_inputs(inferred->graph, op)[i]) &&
            operand_has_index(&space->operand[i], index))
            return true;
    return false;
}

static bool output_has(const OpSpace *space, int index)
{
    return space->n_outputs > 0 && operand_has_index(opspace_output(space, 0), index);
}

/* Whether an activation reads the summed dim as a window: one of its dims also depends on an index
 * dim that is not summed, as in patches of an image. */
static bool is_window(const Inferred *inferred, int32_t op, const OpSpace *space, int index)
{
    for (int i = 0; i < space->n_inputs; i++)
        for (int d = 0; d < space->operand[i].projection.n_dims; d++) {
            const DimFactors *factors = &space->operand[i].factors[d];
            bool has = false, maps = false;
            for (int j = 0; j < factors->n; j++) {
                has |= factors->index[j] == index;
                maps |= space->index[factors->index[j]].role == ROLE_MAP;
            }
            if (has && maps && role_is_activation(inferred, op_inputs(inferred->graph, op)[i]))
                return true;
        }
    return false;
}

/* Sorts an index dim of the weight into rows, columns or experts. Returns false if it is none of
 * these: the dim of a window. */
static bool sort_index(const Inferred *inferred, const OpSpace *space, int index, MatmulRole *role)
{
    const IndexDim *dim = &space->index[index];
    bool given = activation_has(inferred, role->op, space, index), made = output_has(space, index);
    if (dim->size <= 1)
        return true;
    if (dim->role == ROLE_REDUCE && dim->reduce == REDUCE_SUM && !made) {
        bool first = role->k < 0;
        role->k = first ? index : role->k;
        if (is_window(inferred, role->op, space, index))
            return false;
        return first || (given && activation_has(inferred, role->op, space, role->k));
    }
    if (dim->role == ROLE_FROZEN && given && !made)
        return true; /* the minor part of the rows */
    if (dim->role != ROLE_MAP || !made)
        return false;
    int *place = given ? &role->expert : &role->n;
    *place = *place < 0 ? index : *place;
    return true;
}

/* Reads input i as the weight of a matmul or the table of a lookup. */
static bool read_weight(const Inferred *inferred, const OpSpace *space, int i, MatmulRole *role)
{
    const Operand *weight = &space->operand[i];
    role->weight = i;
    role->k = role->n = role->expert = -1;
    for (int d = 0; d < weight->projection.n_dims; d++) {
        const DimFactors *factors = &weight->factors[d];
        bool packed = factors->n == 0 && weight->shape.dim[d] > 1; /* 4-bit numbers in blocks */
        if (!packed && (!factors->exact || (factors->n == 0 && weight->projection.n_dims > 2)))
            return false; /* a window, possibly of one element: a convolution */
        for (int j = 0; j < factors->n; j++)
            if (!sort_index(inferred, space, factors->index[j], role))
                return false;
    }
    return role->k >= 0 && role->n >= 0;
}

static int index_at(const Operand *operand, int dim)
{
    bool one = dim < operand->projection.n_dims && operand->factors[dim].n == 1;
    return one ? operand->factors[dim].index[0] : -1;
}

/* The index dim that is dim 0 of the activation, if it is the batch. Of [1, experts, tokens, k], a
 * single group, the batch are its tokens. */
static int batch_of(const Inferred *inferred, const OpSpace *space, const MatmulRole *role)
{
    for (int i = 0; i < space->n_inputs; i++) {
        const Operand *operand = &space->operand[i];
        if (!role_is_activation(inferred, op_inputs(inferred->graph, role->op)[i]))
            continue;
        bool single = operand->projection.n_dims > 2 && operand->shape.dim[0] == 1 &&
                      role->expert >= 0 && index_at(operand, 1) == role->expert;
        int index = index_at(operand, single ? 2 : 0);
        if (index >= 0)
            return index == role->k || index == role->expert ? -1 : index;
    }
    return -1;
}

static int n_wide_dims(const Shape *shape)
{
    int n = 0;
    for (int64_t d = 0; d < shape->n_dims; d++)
        n += shape->dim[d] != 1;
    return n;
}

/* Whether a view of a parameter takes one of its dims apart, as rows of a latent into heads. */
static bool is_taken_apart(const Inferred *inferred, int32_t tensor)
{
    const Graph *graph = inferred->graph;
    for (int32_t maker; (maker = graph->tensors[tensor].maker) >= 0;) {
        int32_t from = graph->ops[maker].n_inputs > 0 ? op_inputs(graph, maker)[0] : -1;
        const Shape *before = from < 0 ? NULL : inferred_shape(inferred, from);
        const Shape *after = inferred_shape(inferred, tensor);
        if (!before || !after)
            return false;
        if (shape_elements(before) == shape_elements(after) &&
            n_wide_dims(before) < n_wide_dims(after))
            return true;
        tensor = from;
    }
    return false;
}

bool role_read(const Inferred *inferred, int32_t op, MatmulRole *out)
{
    const OpSpace *space = inferred_space(inferred, op);
    bool acts = false;
    if (!space || space->no_rule || space->n_outputs == 0)
        return false;
    for (int i = 0; i < space->n_inputs; i++)
        acts |= role_is_activation(inferred, op_inputs(inferred->graph, op)[i]);
    for (int i = 0; acts && i < space->n_inputs; i++) {
        MatmulRole role = {.op = op, .reader = -1, .stream = -1, .n_parts = 1, .unit = 1};
        if (space->operand[i].absent || space->operand[i].projection.n_dims < 2 ||
            !is_weight(inferred, op_inputs(inferred->graph, op)[i]) ||
            !read_weight(inferred, space, i, &role))
            continue;
        if (!role_sums_activation(inferred, &role))
            role.role = WEIGHT_EMBEDDING;
        role.batch = batch_of(inferred, space, &role);
        if (role.expert >= 0 && is_taken_apart(inferred, op_inputs(inferred->graph, op)[i]))
            role.expert = -1; /* heads, not experts */
        *out = role;
        return true;
    }
    return false;
}

bool role_sums_activation(const Inferred *inferred, const MatmulRole *role)
{
    return activation_has(inferred, role->op, program_space(inferred, role->op), role->k);
}
