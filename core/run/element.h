/* element.h - elements of every type, computed as one of three classes of numbers.
 *
 * Kernels compute in float, double and int64_t; other types are converted a block at a time. Floats
 * of 4 to 16 bits are computed in float and rounded to nearest even, those below 16 bits clamped to
 * their range (small_float.h). Integers and bool are computed in int64_t: a stored integer wraps,
 * bool is 0 or 1, u64 from 2^63 on is negative (see integers_order()). Complex numbers and strings
 * are moved but not computed. A float converts to an integer towards zero, clamped to int64_t or
 * u64, NaN to 0.
 */
#ifndef CORE_RUN_ELEMENT_H
#define CORE_RUN_ELEMENT_H

#include "core/model/dtype.h"

typedef enum { NUMBER_F32, NUMBER_F64, NUMBER_I64, NUMBER_KINDS } Number;

/* Most elements converted at a time: the size of a kernel's block buffer. */
enum { ELEMENT_BLOCK = 512 };

typedef union {
    float f32[ELEMENT_BLOCK];
    double f64[ELEMENT_BLOCK];
    int64_t i64[ELEMENT_BLOCK];
} NumberBlock;

bool dtype_is_computed(Dtype dtype); /* has a class */
Number dtype_number(Dtype dtype);    /* of a computed type */
int64_t number_bytes(Number number); /* of one number */
int64_t element_bytes(Dtype dtype);  /* in a Local: smaller types take a byte each */
void dtype_int_range(Dtype dtype, double *least, double *most); /* of an integer type */
bool dtype_is_number(Dtype dtype); /* stored exactly like a number of its class */

/* Converts n elements, `step` elements apart, to n numbers; and n numbers to n contiguous elements.
 * The type must be a computed one. */
void elements_load(Dtype dtype, const void *from, int64_t step, int64_t n, Number number,
                   void *out);
void elements_store(Dtype dtype, void *to, int64_t n, Number number, const void *from);

/* Maps integers loaded from that type to numbers in the same order, and back: u64 values from 2^63
 * on come after the others. */
void integers_order(Dtype dtype, int64_t *numbers, int64_t n);

/* Copies n elements of any type, `step` elements apart in `from`, to contiguous places. */
void elements_copy(Dtype dtype, void *to, const void *from, int64_t step, int64_t n);

/* How many numbers of a computed float type lie between elements a and b; INT64_MAX when exactly
 * one of them is NaN. */
int64_t element_ulps(Dtype dtype, const void *a, const void *b);

#endif
