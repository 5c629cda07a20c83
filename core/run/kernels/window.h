/* window.h - sliding windows over the local part of an image.
 *
 * Per spatial dim a table: row o, column k is the place in the local image of element k of window
 * o, for local outputs o and local kernel elements k. It is padding outside of the image, or
 * elsewhere when another rank holds it.
 */
#ifndef CORE_RUN_KERNELS_WINDOW_H
#define CORE_RUN_KERNELS_WINDOW_H

#include "core/rules/window.h"
#include "core/run/kernel.h"

enum { PLACE_PADDING = -1, PLACE_ELSEWHERE = -2 };

typedef struct {
    int n;
    int64_t n_out[SPATIAL_MAX], n_kernel[SPATIAL_MAX];
    int64_t stride[SPATIAL_MAX]; /* elements between neighbours of the local image's dim */
    int64_t *place[SPATIAL_MAX]; /* [n_out][n_kernel], times stride */
} LocalWindow;

/* out: runs of the output's dims; kernel: of the weight's, NULL: whole. Both from the first spatial
 * dim on. */
LocalWindow local_window(Arena *arena, const Window *window, const Local *image, const Runs *out,
                         const Runs *kernel);

/* Splits a row-major index into its coordinates. */
static inline void window_split(int64_t index, const int64_t *size, int n, int64_t *out)
{
    for (int d = n - 1; d >= 0; index /= size[d--])
        out[d] = index % size[d];
}

/* The place in the local image of element k of window o, over the first n dims; negative if this
 * rank does not hold it. */
static inline int64_t window_place(const LocalWindow *window, int n, const int64_t *o,
                                   const int64_t *k)
{
    int64_t place = 0;
    for (int d = 0; d < n; d++) {
        int64_t at = window->place[d][o[d] * window->n_kernel[d] + k[d]];
        if (at < 0)
            return at;
        place += at;
    }
    return place;
}

int64_t local_window_places(const LocalWindow *window);   /* product of n_out */
int64_t local_window_elements(const LocalWindow *window); /* product of n_kernel */

#endif
