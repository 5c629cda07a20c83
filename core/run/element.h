/* element.h - elements of every type, computed on as one of three classes of numbers.
 *
 * Kernels are written for float, double and int64_t; other types are converted a block at a time:
 * floats of 4 to 16 bits are computed in float and rounded to nearest even, those below 16 bits
 * kept within their range (small_float.h); integers and bool in int64_t (a stored integer wraps,
 * bool is 0 or 1, u64 from 2^63 on is negative there: see integers_order()). Complex numbers and
 * strings are moved but not computed on. A float becomes an integer towards zero, kept within
 * int64_t or u64, NaN as 0.
 */
#ifndef CORE_RUN_ELEMENT_H
#define CORE_RUN_ELEMENT_H

#include "core/model/dtype.h"

typedef enum { NUMBER_F32, NUMBER_F64, NUMBER_I64, NUMBER_KINDS } Number;

/* The most elements converted at a time: what a kernel's block buffer must hold. */
enum { ELEMENT_BLOCK = 512 };

typedef union {
    float f32[ELEMENT_BLOCK];
    double f64[ELEMENT_BLOCK];
    int64_t i64[ELEMENT_BLOCK];
} NumberBlock;

bool dtype_is_computed(Dtype dtype); /* has a class */
Number dtype_number(Dtype dtype);    /* of a computed type */
int64_t number_bytes(Number number); /* of one number */
int64_t element_bytes(Dtype dtype);  /* as held here: smaller types take a byte each */
void dtype_int_range(Dtype dtype, double *least, double *most); /* of an integer type */
bool dtype_is_number(Dtype dtype); /* its elements lie as its class's numbers do */

/* n elements from `from` on, `step` elements apart, to n numbers; and n numbers to n elements. The
 * type must be a computed one. */
void elements_load(Dtype dtype, const void *from, int64_t step, int64_t n, Number number,
                   void *out);
void elements_store(Dtype dtype, void *to, int64_t n, Number number, const void *from);

/* Integers loaded from that type as numbers that stand in their order, and back: 64 bits without a
 * sign from 2^63 on come after the others. */
void integers_order(Dtype dtype, int64_t *numbers, int64_t n);

/* Copies n elements of any type, `step` elements apart in `from`, to neighbours in `to`. */
void elements_copy(Dtype dtype, void *to, const void *from, int64_t step, int64_t n);

/* How many numbers of that type lie between a and b, which are elements of a float type that is
 * computed on; INT64_MAX when one of them is NaN and the other not. */
int64_t element_ulps(Dtype dtype, const void *a, const void *b);

#endif
