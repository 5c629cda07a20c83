/* args.h - the parameters of an op beside its data: axes, target shapes, ranges, parts.
 *
 * Operator sets moved these from attributes to inputs over time (axes of Squeeze at 13, of
 * ReduceMean at 18); here it does not matter which. Rules and host evaluation both read parameters
 * through these functions, so that they cannot disagree. Each checks what it reads against the
 * shapes, and returns false with *err when it does not fit, or with ERROR_NOT_INFERABLE when it is
 * not known before the run. Source: the ONNX operator schemas, opset 1 to 23.
 */
#ifndef CORE_RULES_ARGS_H
#define CORE_RULES_ARGS_H

#include "core/rules/registry.h"

/* Integers that an op has as a parameter; `given` is false when it has none. `at` lives as long as
 * the graph. */
typedef struct {
    bool given;
    int n;
    const int64_t *at;
} Ints;

/* All reads of attributes go through these functions, by our operator's names, even if the graph
 * uses another system's names (alias.h). If the attribute is missing or has another type, the
 * result is NULL or the fallback; a list of one number counts as that number. What is asked for is
 * recorded in call->reads, so that attributes that nobody reads, or of another type, can be
 * reported. */
const Attr *args_attr(const RuleCall *call, const char *attr);
int64_t args_int(const RuleCall *call, const char *attr, int64_t fallback);
double args_float(const RuleCall *call, const char *attr, double fallback);
Str args_text(const RuleCall *call, const char *attr, const char *fallback);

/* Reads integers from input `input` (-1: no such input) if it is present, else from the
 * attribute. */
bool args_ints(const RuleCall *call, int input, const char *attr, Ints *out, Error *err);
bool args_has(const RuleCall *call, int input); /* the input is there */

/* Checks of operands; an error names an input by its number in the op. */
bool args_rank(const RuleCall *call, int input, int64_t least, int64_t most, Error *err);
bool args_shape(const RuleCall *call, int input, const Shape *want, Error *err);
bool args_same_size(const RuleCall *call, int a, int64_t dim_a, int b, int64_t dim_b, Error *err);
bool args_same_shape(const RuleCall *call, int a, int b, Error *err);

/* Maps -n_dims .. n_dims-1 to 0 .. n_dims-1. */
bool args_axis(int64_t axis, int64_t n_dims, int *out, Error *err);

/* The common shape of operands by right-aligned broadcasting; absent ones (NULL) do not count. */
bool args_broadcast(const Shape *const *shapes, int n, Shape *out, Error *err);

/* Shapes of the outputs of views. */
bool args_reshape(const RuleCall *call, Shape *out, Error *err);
bool args_flatten(const RuleCall *call, Shape *out, Error *err);
bool args_squeeze(const RuleCall *call, Shape *out, Error *err);
bool args_unsqueeze(const RuleCall *call, Shape *out, Error *err);
bool args_expand(const RuleCall *call, Shape *out, Error *err);

/* The number of elements of a Range from input 0 to input 1 by steps of input 2. Their values are
 * known, all integers or all floats. */
bool args_range(const RuleCall *call, int64_t *n, Error *err);

/* broadcast_in_dim to that shape: the dim of it that each dim of input 0 is, by attribute `dims`;
 * it has the same size unless that of input 0 is 1. */
bool args_broadcast_in_dim(const RuleCall *call, const Shape *to, int dims[DIMS_MAX], Error *err);

bool args_permutation(const RuleCall *call, int *perm, Error *err); /* output dim d is input perm[d]
                                                                     */

/* Slice, per input dim: n elements from start, every step-th (step may be negative). */
typedef struct {
    int64_t start, step, n;
} Span;
bool args_slice(const RuleCall *call, Span *spans, Error *err);

/* Split: sizes[n_outputs] along *axis; their sum is the dim's size. */
bool args_split(const RuleCall *call, int *axis, int64_t *sizes, Error *err);
bool args_concat(const RuleCall *call, int *axis, Shape *out, Error *err);
bool args_gather(const RuleCall *call, int *axis, Shape *out, Error *err);

/* The dims of input 0 that a reduction removes, and the remaining shape. */
bool args_reduce(const RuleCall *call, bool *reduced, Shape *out, Error *err);

/* Whether an op along an axis (ArgMax, CumSum) takes all elements as one row: `flatten` is set, or
 * the attribute `axis` is there and no number, as torch's without a dim. */
bool args_all_as_one_row(const RuleCall *call);

bool args_dtype(const RuleCall *call, const char *attr, Dtype fallback, Dtype *out, Error *err);

#endif
