/* conv.h - a convolution of parts, and its three products.
 *
 * Windows lie over the image (the input of Conv, the output of ConvTranspose) at places (the other
 * one). Row `major` of the weight is a channel of the places, row `minor` a channel of the image in
 * the group of that. All numbers are of the class `number`, and dense.
 */
#ifndef CORE_RUN_KERNELS_CONV_H
#define CORE_RUN_KERNELS_CONV_H

#include "core/run/kernels/window.h"

/* Indices of operands; -1: none. Integer forms have zero points, rounding ones also scales, fused
 * ones an addend and an activation. */
typedef struct {
    int weight, bias, image_zero, weight_zero;
    int image_scale, weight_scale, out_scale, out_zero;
    int addend;
} ConvForm;

typedef struct {
    const KernelCall *call; /* of the forward op */
    const ConvForm *form;
    Number number;
    Dtype dtype; /* of numbers of that class */
    int64_t bytes;
    const Local *image, *places, *weight;
    LocalWindow window;
    int64_t n_places, n_elements; /* of the windows */
    int64_t group;
    const int64_t *major, *minor; /* global channels of the weight's dims 0 and 1 */
    bool adds;                    /* other ranks add what this one lacks of the image */
} Conv;

/* The elements of the operands are not looked at. */
bool conv_open(const KernelCall *call, bool transposed, Conv *out, Error *err);

/* What is written is zero before. False with *err if a part of the image is on another rank. */
bool conv_gather(const Conv *c, const void *image, const void *weight, void *places, Error *err);
bool conv_scatter(const Conv *c, const void *places, const void *weight, void *image, Error *err);
bool conv_weigh(const Conv *c, const void *image, const void *places, void *weight, Error *err);

#endif
