/* window.h - windows that slide over an image: parameters of convolutions and pools.
 *
 *     place o of the output, element k of its window: position  o * stride + k * dilation - before
 *
 * in the image's dim; outside 0 .. size-1 is padding. An image is a tensor of batch, channels and
 * spatial dims; spatial dim d here is dim 2 + d of the tensor. Attributes of all opsets:
 * kernel_shape (else the weight's dims), strides, dilations, pads, auto_pad, ceil_mode. Source: the
 * ONNX operator schemas of Conv, ConvTranspose and the pools, opset 1 to 22.
 */
#ifndef CORE_RULES_WINDOW_H
#define CORE_RULES_WINDOW_H

#include "core/rules/args.h"

enum { SPATIAL_MAX = 6 }; /* two index dims each, and four more, fit an op space */

typedef struct {
    int64_t size;                                         /* of the image */
    int64_t kernel, stride, dilation, before, after, out; /* out: places */
} WindowDim;

typedef struct {
    int n; /* spatial dims */
    WindowDim dim[SPATIAL_MAX];
} Window;

/* Reads the windows over input `image`; weight: the input with the kernel's sizes in dims 2.., or
 * -1 for a pool. Returns false with *err when a number is out of range or a window does not fit. */
bool window_read(const RuleCall *call, int image, int weight, Window *out, Error *err);

/* Reads a transposed convolution: `out` is the output size, `size` that of the image; stride,
 * dilation and before map an output position to the image. */
bool window_read_transposed(const RuleCall *call, int image, int weight, Window *out, Error *err);

/* Whether windows are adjacent and cover the dim exactly, so that it is the mixed radix (place
 * element). */
bool window_tiles(const WindowDim *dim);
/* Whether some element of some window is padding. */
bool window_pads(const Window *window);

/* Index dims for the windows, named by a letter and the spatial dim d, h or w: "oh", "kw"; -1 for
 * size 1. */
int window_index(RuleCall *call, const char *letter, int d, int n, int64_t size, IndexRole role,
                 ReduceOp reduce);

/* The row of the image's dim for the index dims of place and element (-1: size 1). */
void window_row(const WindowDim *dim, int place, int element, Row *row);

#endif
