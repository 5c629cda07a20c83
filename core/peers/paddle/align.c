#include "core/peers/paddle/align.h"

/* The placement of a tensor on one mesh axis. */
typedef struct {
    char letter;     /* split on the dim of this letter; 0: not split */
    uint8_t partial; /* ReduceOp */
} AxisPlace;

/* The operands to align, and the placement chosen for each axis. */
typedef struct {
    SpmdCall *call;
    const SpmdOperand *operand;
    int n;
    const char *letters; /* to align */
    AxisPlace chosen[MESH_AXES_MAX];
} Alignment;

static bool is_empty(const SpmdTensor *tensor)
{
    return tensor->absent || tensor->shape.n_dims == 0 || tensor->shape.dim[0] == 0;
}

static AxisPlace place_of(const SpmdOperand *operand, int axis)
{
    AxisPlace place = {.partial = operand->tensor->partial[axis]};
    for (int d = 0; d < operand->tensor->n_dims && place.partial == REDUCE_NONE; d++)
        if (spmd_axes_have(&operand->tensor->dim[d], axis))
            place.letter = operand->letters[d];
    return place;
}

/* Returns true when all tensors that count have the same placement on the axis; *out is that
 * placement. */
static bool agreed(const Alignment *alignment, int axis, AxisPlace *out)
{
    bool first = true;
    *out = (AxisPlace){0};
    for (int i = 0; i < alignment->n; i++) {
        if (is_empty(alignment->operand[i].tensor))
            continue;
        AxisPlace place = place_of(&alignment->operand[i], axis);
        if (!first && (place.letter != out->letter || place.partial != out->partial))
            return false;
        *out = place;
        first = false;
    }
    return true;
}

static bool letter_is_used(const Alignment *alignment, char letter)
{
    for (int axis = 0; axis < alignment->call->mesh->n_axes; axis++)
        if (alignment->chosen[axis].letter == letter)
            return true;
    return false;
}

/* Exact: if several axes split a dim, Paddle counts only the one that is last in the mesh. */
static int64_t parts_of(const SpmdCall *call, const SpmdAxes *axes)
{
    int last = -1;
    for (int i = 0; i < axes->n; i++)
        last = axes->axis[i] > last ? axes->axis[i] : last;
    return call->exact && last >= 0 ? call->mesh->axes[last].size : spmd_axes_size(call, axes);
}

static int64_t local_elements(const SpmdCall *call, const SpmdTensor *tensor)
{
    int64_t elements = 1;
    for (int d = 0; d < tensor->n_dims; d++) {
        int64_t parts = parts_of(call, &tensor->dim[d]);
        elements *= (tensor->shape.dim[d] + parts - 1) / parts;
    }
    return elements;
}

/* Elements moved when every tensor is split on the letter's dim; -1 if one cannot be. */
static double cost_of(const Alignment *alignment, char letter, int64_t axis_size)
{
    double cost = 0;
    for (int i = 0; i < alignment->n; i++) {
        const SpmdOperand *operand = &alignment->operand[i];
        if (is_empty(operand->tensor))
            continue;
        const char *at = strchr(operand->letters, letter);
        int64_t dim = at ? at - operand->letters : 0;
        if (!at || operand->tensor->shape.dim[dim] < axis_size)
            return -1;
        if (!spmd_is_split(operand->tensor, (int)dim))
            cost += (double)local_elements(alignment->call, operand->tensor) * (double)axis_size;
    }
    return cost;
}

static char cheapest_letter(const Alignment *alignment, int axis)
{
    int64_t size = alignment->call->mesh->axes[axis].size;
    char best = 0;
    double best_cost = 0;
    for (const char *letter = alignment->letters; *letter; letter++) {
        double cost = letter_is_used(alignment, *letter) ? -1 : cost_of(alignment, *letter, size);
        if (cost < 0 || (best && cost >= best_cost))
            continue;
        best = *letter;
        best_cost = cost;
    }
    return best;
}

static void choose(Alignment *alignment, bool allow_partial)
{
    const Mesh *mesh = alignment->call->mesh;
    bool differs[MESH_AXES_MAX] = {0};
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        AxisPlace *place = &alignment->chosen[axis];
        differs[axis] = !agreed(alignment, axis, place);
        bool linear = place->partial == REDUCE_SUM || place->partial == REDUCE_AVG;
        if (differs[axis] || !allow_partial || !linear)
            place->partial = REDUCE_NONE;
        if (differs[axis] || (place->letter && !strchr(alignment->letters, place->letter)))
            place->letter = 0;
    }
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        if (!differs[axis])
            continue;
        char letter = cheapest_letter(alignment, axis);
        alignment->chosen[axis].letter = letter;
        spmd_trace(alignment->call, "axis %s: the tensors differ, splitting %c moves the least",
                   mesh->axes[axis].name, letter ? letter : '-');
    }
}

/* The order of the axes on a dim, taken from the first tensor that counts. */
static SpmdAxes axis_order(const Alignment *alignment)
{
    SpmdAxes order = {0};
    const SpmdTensor *first = NULL;
    for (int i = alignment->n - 1; i >= 0; i--)
        if (!is_empty(alignment->operand[i].tensor))
            first = alignment->operand[i].tensor;
    for (int d = 0; first && d < first->n_dims; d++)
        for (int k = 0; k < first->dim[d].n; k++)
            spmd_axes_push(&order, first->dim[d].axis[k]);
    for (int axis = 0; axis < alignment->call->mesh->n_axes; axis++)
        spmd_axes_push(&order, axis);
    return order;
}

static void put_axis(const Alignment *alignment, int axis, const char *letters, SpmdTensor *out)
{
    bool exact = alignment->call->exact;
    AxisPlace place = alignment->chosen[axis];
    out->partial[axis] = place.partial;
    for (int d = 0; d < out->n_dims; d++) {
        if (letters[d] != place.letter)
            continue;
        if (exact && out->dim[d].n > 0 && out->dim[d].axis[0] > axis)
            continue;
        if (exact)
            out->dim[d].n = 0;
        spmd_axes_push(&out->dim[d], axis);
    }
}

void spmd_align(SpmdCall *call, const SpmdOperand *operand, int n, const char *align_letters,
                bool allow_partial, SpmdTensor *aligned)
{
    Alignment alignment = {.call = call, .operand = operand, .n = n, .letters = align_letters};
    choose(&alignment, allow_partial);
    SpmdAxes order = axis_order(&alignment);
    for (int i = 0; i < n; i++) {
        aligned[i] = *operand[i].tensor;
        spmd_replicate(&aligned[i]);
        for (int k = 0; k < order.n; k++)
            put_axis(&alignment, order.axis[k], operand[i].letters, &aligned[i]);
    }
}
