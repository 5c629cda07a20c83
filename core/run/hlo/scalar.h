/* scalar.h - runs the region of an op, which computes scalars: a reducer, a comparator.
 *
 * The op has the region as the attribute `region`, one text per line: the operation's name, its
 * parameters, the element type of its result, and the numbers of its operands. Values are numbered,
 * the arguments first:
 *
 *     add:f32 0 1      compare:LT:bool 0 1      constant:0x7FC00000:f32      return 2
 *
 * Without `region`, the first text of the attribute `reducers` is the only operation.
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

/* The code with arguments of these types, in the call's scratch arena. Returns false with ERROR_RUN
 * for an unsupported operation. */
bool scalar_code_read(const KernelCall *call, const Dtype *args, int n_args, const ScalarCode **out,
                      Error *err);
/* results: room for as many as the code has; may overlap the arguments. */
void scalar_code_run(const ScalarCode *code, const Scalar *args, Scalar *results);

/* What a region of two arguments does, as far as derivatives need to know: the second replaces the
 * first, is added to it, or a comparison chooses one of the two. */
typedef enum { REGION_OTHER, REGION_REPLACES, REGION_ADDS, REGION_CHOOSES } RegionKind;
RegionKind scalar_code_kind(const KernelCall *call, const ScalarCode *code);

Scalar scalar_load(const Local *local, int64_t at);
void scalar_store(Local *local, int64_t at, Scalar value);

#endif
