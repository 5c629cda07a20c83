#include "core/rules/role_weight.h"

/* ---- weights ---- */

static bool is_of_parameters(const Inferred *inferred, int32_t tensor)
{
    int32_t maker = tensor < 0 ? -1 : inferred->graph->tensors[tensor].maker;
    return tensor >= 0 && (tensor_is_parameter(inferred, tensor) ||
                           (maker >= 0 && inferred->on_parameters[maker]));
}

static bool is_chosen(const RoleWeights *weights, int32_t tensor)
{
    int32_t maker = tensor < 0 ? -1 : weights->inferred->graph->tensors[tensor].maker;
    return maker >= 0 && weights->chosen[maker];
}

static bool is_weight(const RoleWeights *weights, int32_t tensor)
{
    return is_of_parameters(weights->inferred, tensor) || is_chosen(weights, tensor);
}

bool role_is_activation(const RoleWeights *weights, int32_t tensor)
{
    return tensor >= 0 && !is_weight(weights, tensor) &&
           !tensor_is_known(weights->inferred, tensor);
}

/* Whether an activation among the inputs has the index dim. */
static bool activation_has(const RoleWeights *weights, int32_t op, const OpSpace *space, int index)
{
    for (int i = 0; i < space->n_inputs; i++)
        if (role_is_activation(weights, op_inputs(weights->inferred->graph, op)[i]) &&
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
static bool is_window(const RoleWeights *weights, int32_t op, const OpSpace *space, int index)
{
    for (int i = 0; i < space->n_inputs; i++)
        for (int d = 0; d < space->operand[i].projection.n_dims; d++) {
            const DimFactors *factors = &space->operand[i].factors[d];
            bool has = false, maps = false;
            for (int j = 0; j < factors->n; j++) {
                has |= factors->index[j] == index;
                maps |= space->index[factors->index[j]].role == ROLE_MAP;
            }
            if (has && maps &&
                role_is_activation(weights, op_inputs(weights->inferred->graph, op)[i]))
                return true;
        }
    return false;
}

/* Sorts an index dim of the weight into rows, columns or experts. Returns false if it is none of
 * these: the dim of a window. */
static bool sort_index(const RoleWeights *weights, const OpSpace *space, int index,
                       MatmulRole *role)
{
    const IndexDim *dim = &space->index[index];
    bool given = activation_has(weights, role->op, space, index), made = output_has(space, index);
    if (dim->size <= 1)
        return true;
    if (dim->role == ROLE_REDUCE && dim->reduce == REDUCE_SUM && !made) {
        bool first = role->k < 0;
        role->k = first ? index : role->k;
        if (is_window(weights, role->op, space, index))
            return false;
        return first || (given && activation_has(weights, role->op, space, role->k));
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
static bool read_weight(const RoleWeights *weights, const OpSpace *space, int i, MatmulRole *role)
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
            if (!sort_index(weights, space, factors->index[j], role))
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
static int batch_of(const RoleWeights *weights, const OpSpace *space, const MatmulRole *role)
{
    for (int i = 0; i < space->n_inputs; i++) {
        const Operand *operand = &space->operand[i];
        if (!role_is_activation(weights, op_inputs(weights->inferred->graph, role->op)[i]))
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

/* ---- weights that are looked up ---- */

typedef struct {
    int32_t table;  /* the weight, of parameters alone */
    int32_t source; /* of which the ids are a view */
    int n_kept;     /* of its index dims, wider than 1: those that stay as they are */
} Lookup;

/* The tensor of which this one of integers is a view. */
static int32_t viewed(const RoleWeights *weights, int32_t tensor)
{
    enum { STEPS_MAX = 16 };
    const Graph *graph = weights->inferred->graph;
    for (int step = 0; step < STEPS_MAX; step++) {
        int32_t maker = graph->tensors[tensor].maker, from = -1;
        for (int i = 0; maker >= 0 && i < graph->ops[maker].n_inputs; i++) {
            int32_t input = op_inputs(graph, maker)[i];
            if (!role_is_activation(weights, input))
                continue;
            if (from >= 0)
                return tensor; /* computed from two */
            from = input;
        }
        const Shape *before = from < 0 ? NULL : inferred_shape(weights->inferred, from);
        const Shape *after = inferred_shape(weights->inferred, tensor);
        if (!before || !after || shape_elements(before) != shape_elements(after) ||
            dtype_is_float((Dtype)weights->inferred->dtype[from]))
            return tensor;
        tensor = from;
    }
    return tensor;
}

/* Reads an op that takes from a weight what integers tell, and computes with nothing else. */
static bool read_lookup(const RoleWeights *weights, int32_t op, Lookup *out)
{
    const Inferred *inferred = weights->inferred;
    const OpSpace *space = inferred_space(inferred, op);
    int table = -1;
    int32_t ids = -1;
    if (!space || space->no_rule || space->n_outputs != 1)
        return false;
    for (int i = 0; i < space->n_inputs; i++) {
        int32_t input = op_inputs(inferred->graph, op)[i];
        bool is_float = input >= 0 && dtype_is_float((Dtype)inferred->dtype[input]);
        if (role_is_activation(weights, input)) {
            if (is_float)
                return false;
            ids = input;
        } else if (table < 0 && is_float && is_of_parameters(inferred, input)) {
            table = i;
        }
    }
    if (table < 0 || ids < 0)
        return false;
    *out = (Lookup){op_inputs(inferred->graph, op)[table], viewed(weights, ids), 0};
    for (int x = 0; x < space->n_index; x++)
        out->n_kept += space->index[x].size > 1 && space->index[x].role == ROLE_MAP &&
                       operand_has_index(&space->operand[table], x) && output_has(space, x) &&
                       !activation_has(weights, op, space, x);
    return true;
}

/* An input that is a weight which an op before has looked up; -1: none. */
static int chosen_input(const RoleWeights *weights, int32_t op)
{
    for (int i = 0; i < weights->inferred->graph->ops[op].n_inputs; i++)
        if (is_chosen(weights, op_inputs(weights->inferred->graph, op)[i]))
            return i;
    return -1;
}

/* Whether all activations that the op reads are chosen weights. */
static bool views_chosen(const RoleWeights *weights, int32_t op)
{
    const Graph *graph = weights->inferred->graph;
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        if (role_is_activation(weights, op_inputs(graph, op)[i]))
            return false;
    return chosen_input(weights, op) >= 0;
}

static int dim_with(const Operand *operand, int index)
{
    for (int d = 0; index >= 0 && d < operand->projection.n_dims; d++)
        if (index_at(operand, d) == index)
            return d;
    return -1;
}

/* Goes from the weight of a matmul back over views to the lookup, with its rows and columns. No
 * stack if a view takes them apart, or has several outputs. */
static WeightStack find_stack(const RoleWeights *weights, const MatmulRole *role)
{
    const Inferred *inferred = weights->inferred;
    const WeightStack none = {-1, -1, -1, -1};
    int32_t op = role->op;
    int i = role->weight, index[2] = {role->k, role->n};
    Lookup lookup;
    while (i >= 0 && is_chosen(weights, op_inputs(inferred->graph, op)[i])) {
        int dim[2];
        for (int x = 0; x < 2; x++)
            dim[x] = dim_with(&program_space(inferred, op)->operand[i], index[x]);
        op = inferred->graph->tensors[op_inputs(inferred->graph, op)[i]].maker;
        const OpSpace *space = program_space(inferred, op);
        for (int x = 0; x < 2; x++) {
            bool found = dim[x] >= 0 && space->n_outputs == 1;
            index[x] = found ? index_at(opspace_output(space, 0), dim[x]) : -1;
            if (index[x] < 0)
                return none;
        }
        if (read_lookup(weights, op, &lookup))
            return (WeightStack){lookup.table, op, index[0], index[1]};
        i = chosen_input(weights, op);
    }
    return none;
}

/* A matrix that is looked up is a weight. A vector is one where its ids choose matrices, too: a
 * bias; else it is an embedding. */
RoleWeights role_weights(Arena *arena, const Inferred *inferred)
{
    enum { MATRIX = 2 };
    bool *chosen = arena_array(arena, bool, inferred->graph->n_ops);
    bool *chooses = arena_array(arena, bool, inferred->graph->n_tensors);
    RoleWeights weights = {inferred, chosen};
    Lookup lookup;
    bool any = false;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (inferred->on_parameters[op] || !read_lookup(&weights, op, &lookup) ||
            lookup.n_kept < MATRIX)
            continue;
        chosen[op] = chooses[lookup.source] = any = true;
    }
    for (int i = 0; any && i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (!inferred->on_parameters[op] && !chosen[op])
            chosen[op] = views_chosen(&weights, op) ||
                         (read_lookup(&weights, op, &lookup) && chooses[lookup.source]);
    }
    return weights;
}

/* ---- all ---- */

bool role_read(const RoleWeights *weights, int32_t op, MatmulRole *out)
{
    const Inferred *inferred = weights->inferred;
    const OpSpace *space = inferred_space(inferred, op);
    bool acts = false;
    if (!space || space->no_rule || space->n_outputs == 0 || weights->chosen[op])
        return false;
    for (int i = 0; i < space->n_inputs; i++)
        acts |= role_is_activation(weights, op_inputs(inferred->graph, op)[i]);
    for (int i = 0; acts && i < space->n_inputs; i++) {
        MatmulRole role = {.op = op, .reader = -1, .stream = -1, .n_parts = 1, .unit = 1};
        int32_t weight = op_inputs(inferred->graph, op)[i];
        if (space->operand[i].absent || space->operand[i].projection.n_dims < 2 ||
            !is_weight(weights, weight) || !read_weight(weights, space, i, &role))
            continue;
        if (!role_sums_activation(weights, &role))
            role.role = WEIGHT_EMBEDDING;
        role.stack = find_stack(weights, &role);
        if (is_chosen(weights, weight))
            role.expert = -1; /* tokens, each with its own */
        role.batch = batch_of(weights, space, &role);
        if (role.expert >= 0 && is_taken_apart(inferred, weight))
            role.expert = -1; /* heads, not experts */
        *out = role;
        return true;
    }
    return false;
}

bool role_sums_activation(const RoleWeights *weights, const MatmulRole *role)
{
    return activation_has(weights, role->op, program_space(weights->inferred, role->op), role->k);
}
