/* measured.h - tables of times that were measured on a machine: of operators by size, of
 * collectives by kind and ranks.
 *
 * A machine's tables take precedence over formulas: an operator's time is interpolated between the
 * points of its table, a collective's is latency_us + bytes / bytes_per_s. An operator, element
 * type or number of ranks without a table is priced by the formulas of cost.h and price.h.
 *
 *     one size     the bytes of the op's operands, or the flops of attention in one op. Between two
 *                  points the logarithm of the time is linear in that of the size; beyond the
 *                  largest one the time is proportional to the size; below the smallest likewise,
 *                  but never less than the least time of the machine's tables
 *     a product    batch, m, n, k: a [batch, m, k] by a [batch, k, n]. The rate is a mean of the
 *                  logarithms of the rates at all points, each weighted by d^-4, d being the
 *                  distance in the logarithms of the four sizes. At a point it is that point's
 */
#ifndef CORE_RESHARD_MEASURED_H
#define CORE_RESHARD_MEASURED_H

#include "core/base/arena.h"
#include "core/reshard/price.h"

enum { MEASURED_SIZES = 4 };

typedef struct {
    double size[MEASURED_SIZES]; /* batch, m, n, k; with one size, the first is used */
    double us;
} MeasuredPoint;

typedef struct {
    const char *op_type; /* "MatMul~d0" */
    Dtype dtype;         /* of its first operand */
    int n_sizes;         /* 1 or MEASURED_SIZES */
    int n;
    const MeasuredPoint *point; /* with one size: ascending */
} MeasuredOp;

typedef struct {
    StepKind kind;
    int64_t ranks;
    double latency_us, bytes_per_s; /* of a rank's payload (price.h) */
} MeasuredStep;

typedef struct Measured {
    int n_ops, n_steps;
    const MeasuredOp *op; /* by operator, then type */
    const MeasuredStep *step;
    double least_us; /* of all points */
} Measured;

/* NULL if it has none, or `measured` is NULL. */
const MeasuredOp *measured_op(const Measured *measured, const char *op_type, Dtype dtype,
                              int n_sizes);
const MeasuredStep *measured_step(const Measured *measured, StepKind kind, int64_t ranks);

double measured_us(const Measured *measured, const MeasuredOp *op,
                   const double size[MEASURED_SIZES]);

/* Puts the tables and their points in order, and sets least_us. */
void measured_sort(Measured *measured, MeasuredOp *op);

/* Everything in the arena. */
const Measured *measured_copy(Arena *arena, const Measured *measured);

/* ERROR_OUT_OF_RANGE: sizes, times and rates must be above 0 and finite, and a table has a point.
 */
bool measured_check(const Measured *measured, Error *err);

#endif
