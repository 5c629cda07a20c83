/* window.h - windows over the part of an image that one rank holds.
 *
 * Per spatial dim a table of places: row o, column k is where in the local image the element k of
 * window o lies. o counts the local places of the output, k the local elements of the kernel; both
 * may be parts. Outside the image is padding; inside and not held is another rank's.
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

/* out: runs of the output's dims; kernel: of the weight's, NULL: the whole kernel. Both from the
 * first spatial dim on. */
LocalWindow local_window(Arena *arena, const Window *window, const Local *image, const Runs *out,
                         const Runs *kernel);

/* The same of a transposed convolution: row i, column k is where in the local output the place i
 * of the image puts element k. */
LocalWindow local_window_transposed(Arena *arena, const Window *window, const Local *image,
                                    const Local *out, const Runs *kernel);

/* The place along each of n dims, from a row-major index. */
static inline void window_split(int64_t index, const int64_t *size, int n, int64_t *out)
{
    for (int d = n - 1; d >= 0; index /= size[d--])
        out[d] = index % size[d];
}

/* The place of element k of window o in the local image, of its first n dims alone; below 0 where
 * it is none. */
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
