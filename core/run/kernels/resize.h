/* resize.h - taps of a resized image per dim.
 *
 * An element is a sum over the product of its dims' taps; a tap is a place of the local input and a
 * weight.
 */
#ifndef CORE_RUN_KERNELS_RESIZE_H
#define CORE_RUN_KERNELS_RESIZE_H

#include "core/run/kernel.h"

typedef struct {
    int64_t n;            /* taps per place */
    const int64_t *place; /* [places of the output][n]: elements of the local input */
    const double *weight;
    const bool *outside; /* per place: outside of the image (crop) */
} ResizeTaps;

/* Taps of Resize or Upsample. Elements outside are `extrapolation`. With a sink no data is read:
 * false when the region is data. */
bool resize_taps(const KernelCall *call, bool upsample, ResizeTaps taps[DIMS_MAX],
                 double *extrapolation, Error *err);

#endif
