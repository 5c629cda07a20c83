#include "core/peers/paddle/dim_trans.h"

/* ---- making ---- */

DimTrans dim_trans_of_dim(int from)
{
    return (DimTrans){.n_from = 1, .from = {from}};
}

/* Source dims [from, from_end) and target dims [to, to_end), of equal products. */
typedef struct {
    int from, from_end, to, to_end;
} DimGroup;

/* The next group: the fewest dims of both sides with equal products. A 1 on one side alone is its
 * own group; a side that has ended counts as 1. */
static bool next_group(const Shape *source, const Shape *target, DimGroup *group, Error *err)
{
    int n = (int)source->n_dims, m = (int)target->n_dims;
    *group = (DimGroup){group->from_end, group->from_end, group->to_end, group->to_end};
    int64_t s = group->from < n ? source->dim[group->from_end++] : 1;
    int64_t t = group->to < m ? target->dim[group->to_end++] : 1;
    if (s == 1 && t != 1) {
        group->to_end = group->to;
        return group->from < n || error_set(err, "the shapes have not as many elements");
    }
    if (s != 1 && t == 1) {
        group->from_end = group->from;
        return group->to < m || error_set(err, "the shapes have not as many elements");
    }
    while (s != t) {
        if (s < t && group->from_end < n)
            s *= source->dim[group->from_end++];
        else if (t < s && group->to_end < m)
            t *= target->dim[group->to_end++];
        else
            return error_set(err, "the shapes have not as many elements");
    }
    return true;
}

/* Merges the source dims of a group, without those of size 1 if there are others. */
static DimTrans merged_dims(const Shape *source, const DimGroup *group)
{
    DimTrans trans = {0};
    bool alone = group->from_end - group->from == 1;
    for (int d = group->from; d < group->from_end; d++)
        if (source->dim[d] != 1 || alone)
            trans.from[trans.n_from++] = d;
    return trans;
}

bool dim_trans_of_reshape(const Shape *source, const Shape *target, DimTrans *out, Error *err)
{
    DimGroup group = {0};
    if (shape_elements(source) != shape_elements(target))
        return error_set(err, "the shapes have not as many elements");
    while (group.from_end < source->n_dims || group.to_end < target->n_dims) {
        if (!next_group(source, target, &group, err))
            return false;
        DimTrans merged = merged_dims(source, &group);
        merged.n_pieces = group.to_end - group.to;
        memcpy(merged.size, &target->dim[group.to], sizeof(int64_t) * (size_t)merged.n_pieces);
        for (int d = group.to; d < group.to_end; d++) {
            out[d] = merged;
            out[d].piece = d - group.to;
            if (merged.n_pieces > 1 && target->dim[d] == 1)
                out[d] = (DimTrans){0};
        }
    }
    return true;
}

/* ---- carrying ---- */

/* True for the first piece that is not 1, which gets the axes. */
static bool is_leftmost(const DimTrans *trans)
{
    for (int i = 0; i < trans->piece && trans->n_pieces > 1; i++)
        if (trans->size[i] != 1)
            return false;
    return true;
}

/* The axes of the merged dims, left to right, as long as they divide the leftmost dim and piece. */
static SpmdAxes axes_of_merged(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans)
{
    SpmdAxes axes = source->dim[trans->from[0]];
    int64_t leftmost = source->shape.dim[trans->from[0]];
    int64_t piece = trans->n_pieces > 1 ? trans->size[trans->piece] : 0;
    if (trans->n_from > 1 && leftmost % spmd_axes_size(call, &axes) != 0)
        return (SpmdAxes){0};
    for (int i = 1; i < trans->n_from && axes.n > 0; i++) {
        SpmdAxes more = axes;
        const SpmdAxes *next = &source->dim[trans->from[i]];
        for (int k = 0; k < next->n; k++)
            spmd_axes_push(&more, next->axis[k]);
        int64_t parts = spmd_axes_size(call, &more);
        if (next->n == 0 || leftmost % parts != 0 || piece % parts != 0)
            break;
        axes = more;
    }
    if (piece % spmd_axes_size(call, &axes) != 0)
        return (SpmdAxes){0};
    return axes;
}

static void trace_trans(SpmdCall *call, int dim, const DimTrans *trans, const SpmdAxes *axes)
{
    Buf text = buf_new(call->arena);
    dim_trans_format(trans, &text);
    if (axes->n > 0)
        buf_printf(&text, ", sharded by %s", spmd_show_axes(call, axes));
    spmd_trace(call, "  Out axis[%d]: %s", dim, text.s);
}

static SpmdAxes axes_loosely(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans)
{
    SpmdAxes axes = source->dim[trans->from[0]];
    if (trans->n_pieces > 1)
        return trans->size[trans->piece] % spmd_axes_size(call, &axes) == 0 ? axes : (SpmdAxes){0};
    for (int i = 1; i < trans->n_from && axes.n > 0 && source->dim[trans->from[i]].n > 0; i++)
        spmd_axes_push(&axes, source->dim[trans->from[i]].axis[0]);
    return axes;
}

typedef SpmdAxes CarryFn(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans);

static void carry(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans,
                  const Shape *shape, CarryFn *axes_of, SpmdTensor *need, SpmdTensor *out)
{
    *need = *source;
    *out = *source;
    memset(need->dim, 0, sizeof need->dim);
    memset(out->dim, 0, sizeof out->dim);
    out->shape = *shape;
    out->n_dims = (int)shape->n_dims;
    spmd_trace(call, "transformation from input to output:");
    for (int d = 0; d < out->n_dims; d++) {
        if (trans[d].n_from > 0 && is_leftmost(&trans[d])) {
            out->dim[d] = axes_of(call, source, &trans[d]);
            need->dim[trans[d].from[0]] = out->dim[d];
        }
        if (call->trace)
            trace_trans(call, d, &trans[d], &out->dim[d]);
    }
}

void dim_trans_apply(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans,
                     const Shape *shape, SpmdTensor *need, SpmdTensor *out)
{
    carry(call, source, trans, shape, axes_of_merged, need, out);
}

void dim_trans_apply_loosely(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans,
                             const Shape *shape, SpmdTensor *need, SpmdTensor *out)
{
    SpmdTensor single = *source;
    spmd_keep_largest_axes(call, &single);
    carry(call, &single, trans, shape, axes_loosely, need, out);
}

/* ---- text ---- */

static void format_merged(const DimTrans *trans, Buf *out)
{
    if (trans->n_from == 0) {
        buf_puts(out, "Singleton");
        return;
    }
    buf_puts(out, trans->n_from > 1 ? "Flatten(" : "");
    for (int i = 0; i < trans->n_from; i++)
        buf_printf(out, "%sInputDim(%d)", i ? ", " : "", trans->from[i]);
    buf_puts(out, trans->n_from > 1 ? ")" : "");
}

void dim_trans_format(const DimTrans *trans, Buf *out)
{
    if (trans->n_pieces < 2) {
        format_merged(trans, out);
        return;
    }
    buf_puts(out, "Split(");
    format_merged(trans, out);
    for (int i = 0; i < trans->n_pieces; i++)
        buf_printf(out, "%s%lld", i ? ", " : ", (", (long long)trans->size[i]);
    buf_printf(out, "), %d)", trans->piece);
}
