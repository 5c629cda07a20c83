/* host_ops.h - what the files of host evaluation share; private to them.
 *
 * A HostFn computes the outputs of one call from its inputs' values and puts each by host_put(). It
 * first tries elements (all inputs held, result within the limit), then affine rows, and otherwise
 * defers. It returns false without an error when the op cannot be evaluated.
 */
#ifndef CORE_RULES_HOST_OPS_H
#define CORE_RULES_HOST_OPS_H

#include "core/rules/at_load.h"
#include "core/rules/host.h"

typedef struct {
    Values *values;
    const RuleCall *call;
    const Operator *row; /* row->host computes it */
    const Value **out;
    Arena *arena; /* of the values */
} HostCall;

typedef bool HostFn(HostCall *host, Error *err);

typedef bool IntFn(int64_t a, int64_t b, int64_t *out); /* false: division by zero */
typedef double RealFn(double a, double b);

struct HostOp {
    HostFn *fn;
    bool shape_only; /* needs no values */
    bool truth;      /* element-wise: the result is bool */
    IntFn *ints;     /* element-wise: on integers and bools */
    RealFn *reals;   /* on f32 and f64; NULL: not evaluated */
};

Arena *values_arena(const Values *values);
int64_t values_limit(const Values *values);

/* ---- making results ---- */
bool host_put(HostCall *host, int output, const Value *value, Error *err); /* checks the shape */
bool host_is_held(const Value *value);                                     /* elements are there */
bool host_fits(const HostCall *host, const Shape *shape);                  /* within the limit */
const void *host_cells(const Value *value);                  /* ints or floats: 8 bytes each */
void host_set_cells(Value *value, Dtype dtype, void *cells); /* as ints or as floats */
int64_t host_wrap(Dtype dtype, int64_t value); /* as an integer or bool of this type */
double host_round(Dtype dtype, double value);
bool host_computes(Dtype dtype);
void shape_next(const Shape *shape, int64_t *x); /* the coordinates of the next element */

#endif
