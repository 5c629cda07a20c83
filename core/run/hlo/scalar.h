/* scalar.h - runs the region of an op, which computes scalars: a reducer, a comparator.
 *
 * The op has it as the attribute `region`, a text a line: the name of the operation, what it is
 * told, the element type of its result, and the numbers of its operands. Values are numbered, the
 * arguments first:
 *
 *     add:f32 0 1      compare:LT:bool 0 1      constant:0x7FC00000:f32      return 2
 *
 * Without `region` the first text of the attribute `reducers` is the one operation.
 */
#ifndef CORE_RUN_HLO_SCALAR_H
#define CORE_RUN_HLO_SCALAR_H

#include "core/run/kernel.h"

/* Floats are in `real`, integers and bools in `whole`. */
typedef union {
    double real;
    int64_t whole;
} Scalar;

typedef struct ScalarCode ScalarCode;

/* The code with arguments of these types, in the call's scratch arena. False with ERROR_RUN for an
 * operation that is not run here. */
bool scalar_code_read(const KernelCall *call, const Dtype *args, int n_args, const ScalarCode **out,
                      Error *err);
/* results: room for as many as it has; it may be where the arguments are. */
void scalar_code_run(const ScalarCode *code, const Scalar *args, Scalar *results);

/* What a region of two arguments does, as far as derivatives know it: the second one replaces the
 * first, is added to it, or one of the two is chosen by comparison. */
typedef enum { REGION_OTHER, REGION_REPLACES, REGION_ADDS, REGION_CHOOSES } RegionKind;
RegionKind scalar_code_kind(const KernelCall *call, const ScalarCode *code);

Scalar scalar_load(const Local *local, int64_t at);
void scalar_store(Local *local, int64_t at, Scalar value);

#endif
