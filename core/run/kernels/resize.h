/* resize.h - where the elements of a resized image come from, dim by dim.
 *
 * An element is the sum over the product of its dims' taps: a place of the local input and a
 * weight each.
 */
#ifndef CORE_RUN_KERNELS_RESIZE_H
#define CORE_RUN_KERNELS_RESIZE_H

#include "core/run/kernel.h"

typedef struct {
    int64_t n;            /* taps of each place */
    const int64_t *place; /* [places of the output][n]: elements of the local input */
    const double *weight;
    const bool *outside; /* per place: of a crop that reaches over the image */
} ResizeTaps;

/* Of Resize, or of Upsample. Elements outside are `extrapolation`. With a sink no data is read:
 * then false where the region is data. */
bool resize_taps(const KernelCall *call, bool upsample, ResizeTaps taps[DIMS_MAX],
                 double *extrapolation, Error *err);

#endif
