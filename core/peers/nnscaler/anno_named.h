/* anno_named.h - nnScaler's annotations of its operators, by name.
 *
 * Most depend on shapes and attributes: `max` of [2,3,4] with dim 2 is `a b c^ -> a b, a b`,
 * `conv2d` with two groups `n (g 4) 8 8, (g 8) 4 3 3 -> n (g 8) 8 8`. Inputs are those of the
 * operator's node in nnScaler (`cat`: its tensors, `gather`: tensor, dim, index), everything else
 * is an attribute with the parameter's name. Source: nnScaler 0.9.
 */
#ifndef CORE_PEERS_NNSCALER_ANNO_NAMED_H
#define CORE_PEERS_NNSCALER_ANNO_NAMED_H

#include "core/base/json.h"
#include "core/space/anno_partition.h"

/* The candidates of the operator for these inputs; returns how many. A scalar input becomes a
 * tensor of shape [1], as in nnScaler. `values`: the inputs of the request, for the `value` of
 * non-tensors; it and `attrs` may be NULL. -1: ERROR_UNKNOWN_OP; ERROR_UNSUPPORTED for what
 * nnScaler runs without annotation; ERROR_OUT_OF_RANGE, ERROR_RANK, ERROR_INVALID when the
 * arguments do not fit. */
int anno_named(Arena *arena, Str op, AnnoInput *inputs, int n_inputs, const Json *values,
               const Json *attrs, const char *const **out, Error *err);

/* The value of an attribute in a piece of the partition: in the target of a reshape the size of the
 * sharded dim is divided (-1 stays), and so are the `groups` of a convolution. NULL if it does not
 * change. */
Json *anno_named_piece(Str op, const AnnoPartition *partition, const char *attr, const Json *value);

#endif
