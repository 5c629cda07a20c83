/* resample.h - reads the parameters of Resize, Upsample and Pad in all opsets, for rules and
 * kernels. Source: the ONNX operator schemas of Resize (opset 10 to 19), Upsample (1 to 9), Pad (1
 * to 25).
 */
#ifndef CORE_RULES_RESAMPLE_H
#define CORE_RULES_RESAMPLE_H

#include "core/rules/args.h"

/* The axes of an op: from input `input` or the attribute `axes`; all dims when neither is given. */
bool resample_axes(const RuleCall *call, int input, int axes[DIMS_MAX], int *n, Error *err);

typedef struct {
    Shape out;
    double scale[DIMS_MAX]; /* 1 by default; from sizes, their quotient */
    int n_axes, axes[DIMS_MAX];
    Str mode;  /* "nearest", "linear", "cubic" */
    Str where; /* coordinate_transformation_mode */
    Str round; /* nearest_mode */
} Resizing;

/* Reads the parameters of Resize, or of Upsample, its older form. */
bool resize_read(const RuleCall *call, bool upsample, Resizing *out, Error *err);

typedef struct {
    Shape out;
    int64_t before[DIMS_MAX]; /* what is added before each dim; negative: taken away */
    int64_t after[DIMS_MAX];
} Padding;

bool pad_read(const RuleCall *call, Padding *out, Error *err);

#endif
