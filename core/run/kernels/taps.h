/* taps.h - interpolation between places of an image.
 *
 * A tap is a place along one dim and a weight; a value is the sum over the product of the dims'
 * taps.
 */
#ifndef CORE_RUN_KERNELS_TAPS_H
#define CORE_RUN_KERNELS_TAPS_H

#include "core/run/kernel.h"

enum { TAPS_MAX = 4 };

typedef struct {
    int n;
    int64_t place[TAPS_MAX]; /* -1: outside, value 0 */
    double weight[TAPS_MAX];
} Taps;

/* Linear interpolation at x in 0 .. size-1. */
Taps taps_linear(double x, int64_t size);

/* stride: elements between neighbours along each dim. */
double taps_sum(const double *image, const Taps *taps, const int64_t *stride, int n_dims);

/* The same sum times `weight`, of the image at `place` of `from`, as terms of element `at` of `to`.
 */
void taps_terms(const KernelCall *call, const Local *to, int64_t at, const Local *from,
                int64_t place, const Taps *taps, const int64_t *stride, int n_dims, double weight);

#endif
