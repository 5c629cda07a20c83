/* host.h - evaluates the ops that shape arithmetic is made of, on known values.
 *
 * One table row per operator: Shape, Gather, Concat, Cast, Range, Add .. Where, Expand, Reshape,
 * Slice and the like, on int64, bool and double elements. Integers wrap as their dtype does,
 * f32 results are rounded to f32. Affine rows stay affine through Range, Unsqueeze, Expand, Cast,
 * Add, Mul by a constant, Concat of components on the last axis, Reshape, Transpose, Slice and
 * Gather where they allow it; a result over the limit that is not affine is deferred.
 */
#ifndef CORE_RULES_HOST_H
#define CORE_RULES_HOST_H

#include "core/rules/registry.h"

typedef struct Values Values; /* interns values */

Values *values_new(Arena *arena);
const Value *values_put(Values *values, const Value *value); /* copies, interns, sets the id */

/* Sets the most elements that a value may be held as; VALUE_ELEMENTS_MAX by default. Under a small
 * limit small values are held as affine rows, which is how tests check the rows. */
void values_set_limit(Values *values, int64_t n_elements);

/* Returns true when the operator can be evaluated here (Shape needs no known value, only a
 * shape). */
bool host_knows(const char *op_type);
bool host_needs_values(const char *op_type); /* false: a shape will do; Shape, Size */

/* Evaluates all outputs. Returns false without an error when the op cannot be evaluated from known
 * values (it is then an ordinary op), and false with *err when it is ill-formed (division by zero,
 * index out of range, element counts that differ). value[i] may be NULL for Shape and Size, which
 * need shapes only. */
bool host_evaluate(Values *values, const RuleCall *call, const Value **out, Error *err);

/* Element i of bytes of that type, which has 8 bits or more. Returns false for floats of 8 bits. */
bool host_number(Dtype dtype, const char *bytes, int64_t i, double *out);

/* The value of a constant's bytes: integers and bools of any size up to the limit (deferred beyond
 * it), floats of rank 0. NULL if it is something else, absent, or unreadable. */
const Value *host_constant(Values *values, const TensorData *data, Dtype dtype, const Shape *shape);

/* The elements of a short list of floats, an initializer or a Constant, such as the scales of
 * Resize. Such a list is a parameter like any other, so it is not kept as the value of the tensor;
 * only the rule that reads it gets it. NULL if it is something else. */
const Value *host_list(Values *values, const Graph *graph, int32_t tensor);

#endif
