/* dims.h - helpers that many rules share: one index dim for each dim of a shape, views, scans. */
#ifndef CORE_RULES_OPERATORS_DIMS_H
#define CORE_RULES_OPERATORS_DIMS_H

#include "core/rules/args.h"

/* How an op uses a dim. */
typedef enum {
    DIM_MAP,    /* every place by itself */
    DIM_FROZEN, /* all places together, as in a norm or a sort */
    DIM_SUM,    /* added up: no output has the dim */
    DIM_WHOLE   /* no index dim: read and written whole */
} DimUse;

/* Makes an op space once the outputs' shapes are set: index dims d0, d1, .. for the dims of base
 * ("d" for a single frozen one), and a row of every operand for each that it has. An operand's dims
 * are right-aligned with base's. A dim of the same size as base's follows it; others are read
 * whole, and so are dims that base does not have. use NULL: DIM_MAP for all; index NULL or
 * [n_dims]. */
OpSpace *dims_space(RuleCall *call, const Shape *base, const DimUse *use, int *index, Error *err);

/* Gives the outputs dtype and the common shape of the inputs, which are computed element by
 * element. */
bool dims_pointwise(RuleCall *call, Dtype dtype, Error *err);

/* Gives the outputs the shape of input 0; the dim that the attribute `attr` names (else fallback)
 * is used as `use` says, the others as DIM_MAP. */
bool dims_along(RuleCall *call, const char *attr, int64_t fallback, DimUse use, Error *err);

/* Output 0, where every element depends on those before it along the axis: input 1, or else an
 * attribute. If it is known only at run time it may be any dim. */
bool dims_cumulate(RuleCall *call, Error *err);

/* Input 0 reshaped to another shape with as many elements, in the same order. */
bool dims_view(RuleCall *call, const Shape *to, Error *err);
/* Output dim d is input dim perm[d]. */
bool dims_permute(RuleCall *call, const int *perm, Error *err);
/* Dim d of the output is (t d): times[d] copies of that of input 0. It has n dims; input 0 may have
 * fewer and is right-aligned. */
bool dims_repeat(RuleCall *call, const int64_t *times, int64_t n, Error *err);
/* Call after dims_beside(): splits the axis into equal parts, one per output: (p^ j). */
void dims_equal_parts(RuleCall *call, int axis, int64_t part);

/* Marks the dims of input 0 that an attribute lists; all of them if it is not given. */
bool dims_marked(const RuleCall *call, const char *attr, bool *marked, Error *err);

/* Gives all outputs this shape and dtype. */
void dims_answer(RuleCall *call, const Shape *shape, Dtype dtype);

/* Makes an op space once the outputs' shapes are set: the dims of input 0 except the axis follow
 * those of every output, which has a different dim there (has_axis) or none. The op is linear in
 * the input. */
bool dims_beside(RuleCall *call, int axis, bool has_axis, Error *err);

/* The shape without the marked dims, or with size 1 in their place. */
Shape dims_without(const Shape *shape, const bool *marked, bool keep);
Shape dims_without_one(const Shape *shape, int axis);

#endif
