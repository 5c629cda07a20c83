/* at_load.h - functions of inference that rows of operators refer to: host computations,
 * sequences. */
#ifndef CORE_RULES_AT_LOAD_H
#define CORE_RULES_AT_LOAD_H

#include "core/rules/registry.h"

/* For HOST(add): functions in host.c, host_views.c and host_math.c. The operator's row has the
 * number of inputs. */
extern const HostOp host_op_abs, host_op_add, host_op_and, host_op_cast, host_op_ceil,
    host_op_concat, host_op_constant_of_shape, host_op_constant, host_op_div, host_op_equal,
    host_op_exp, host_op_expand, host_op_flatten, host_op_floor, host_op_gather, host_op_greater,
    host_op_greater_equal, host_op_identity, host_op_less, host_op_less_equal, host_op_log,
    host_op_max, host_op_min, host_op_mod, host_op_mul, host_op_neg, host_op_not, host_op_or,
    host_op_pad, host_op_pow, host_op_range, host_op_reciprocal, host_op_reduce_max,
    host_op_reduce_min, host_op_reduce_prod, host_op_reduce_sum, host_op_reshape, host_op_round,
    host_op_broadcast_in_dim, host_op_iota, host_op_shape, host_op_sign, host_op_size,
    host_op_slice, host_op_split, host_op_sqrt, host_op_squeeze, host_op_sub, host_op_transpose,
    host_op_unsqueeze, host_op_where, host_op_xor;

/* For SEQUENCE(at): functions in infer_sequence.c. `pass` returns its input, a sequence or a
 * tensor. */
SequenceFn sequence_construct, sequence_empty, sequence_insert, sequence_erase, sequence_at,
    sequence_length, sequence_split, sequence_concat, sequence_element, sequence_map,
    sequence_optional, sequence_has_element, sequence_get_element, sequence_pass;

#endif
