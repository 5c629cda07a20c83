/* dims.h - what many rules have in common: one index dim for each dim of a shape, views, scans. */
#ifndef CORE_RULES_OPERATORS_DIMS_H
#define CORE_RULES_OPERATORS_DIMS_H

#include "core/rules/args.h"

/* What an op does along a dim. */
typedef enum {
    DIM_MAP,    /* every place by itself */
    DIM_FROZEN, /* all places together, as a norm or a sort */
    DIM_SUM,    /* added up: no output has the dim */
    DIM_WHOLE   /* no index dim: read and written whole */
} DimUse;

/* A new op space once the outputs' shapes are set: index dims d0, d1, .. for the dims of base, "d"
 * where one alone is frozen, and a row of every operand for each that it has. An operand's dims are
 * right-aligned with base's: a dim as long as base's follows it, others are read whole. What an
 * operand has beside base's dims is left whole. use NULL: DIM_MAP all; index NULL or [n_dims]. */
OpSpace *dims_space(RuleCall *call, const Shape *base, const DimUse *use, int *index, Error *err);

/* Outputs of dtype have the common shape of the inputs, which are computed place by place. */
bool dims_pointwise(RuleCall *call, Dtype dtype, Error *err);

/* Outputs have the shape of input 0; the dim `axis` is used as `use` says, the others as DIM_MAP.
 */
bool dims_along_axis(RuleCall *call, int64_t axis, DimUse use, Error *err);
/* The same; the axis is the attribute `attr`, or fallback. */
bool dims_along(RuleCall *call, const char *attr, int64_t fallback, DimUse use, Error *err);

/* Input 0 as another shape of as many elements, in the same order. */
bool dims_view(RuleCall *call, const Shape *to, Error *err);
/* Output dim d is input dim perm[d]. */
bool dims_permute(RuleCall *call, const int *perm, Error *err);
/* Dim d of the output repeats that of input 0 times[d] times, (t d), all n of it; input 0 may have
 * fewer dims: it is right-aligned. */
bool dims_repeat(RuleCall *call, const int64_t *times, int64_t n, Error *err);
/* After dims_beside(): equal parts of the axis, one an output, are (p^ j). */
void dims_equal_parts(RuleCall *call, int axis, int64_t part);

/* The dims of input 0 that an attribute's axes name; all where it is not given. */
bool dims_marked(const RuleCall *call, const char *attr, bool *marked, Error *err);

/* All outputs are shaped as `shape`, of dtype. */
void dims_answer(RuleCall *call, const Shape *shape, Dtype dtype);

/* A new op space once the outputs' shapes are set: the dims of input 0 but for the axis follow
 * those of every output, which has another dim there (has_axis) or none. The input is linear. */
bool dims_beside(RuleCall *call, int axis, bool has_axis, Error *err);

/* shape without the dims marked, or with 1 in their place. */
Shape dims_without(const Shape *shape, const bool *marked, bool keep);
Shape dims_without_one(const Shape *shape, int axis);

#endif
