/* gen_window.h - what generators of sliding windows and of their gradients share.
 */
#ifndef CORE_RUN_CUDA_GEN_WINDOW_H
#define CORE_RUN_CUDA_GEN_WINDOW_H

#include "core/rules/args.h"
#include "core/run/cuda/device_build.h"
#include "core/run/kernels/window.h"

enum { COLUMNS_BYTES_MAX = 256 << 20 };

/* Per spatial dim [n_out][n_kernel]: places of the image, negative for none. */
typedef struct {
    int n;
    int64_t n_out[SPATIAL_MAX], n_kernel[SPATIAL_MAX];
    int64_t *place[SPATIAL_MAX];
    int64_t n_places, n_elements, pixels; /* products over dims of n_out, n_kernel, image sizes */
} WindowTables;

typedef struct {
    const Local *image, *weight, *out;
    DevicePlace at_image, at_weight;
    const Local *bias; /* input 2; NULL: none, or another rank adds it */
    WindowTables tables;
    int64_t n_in; /* image channels of the weight */
    const int64_t *channels;
} ConvWindows;

/* False if a place of the image is on another rank. */
bool window_tables_of(const LocalWindow *window, const Local *image, WindowTables *out);
/* Inverts the tables: which image place puts element k into each output place. */
void turn_windows(Arena *arena, const LocalWindow *window, const Local *image, const Local *out,
                  WindowTables *tables);
/* Types of the class, and the function image_place() over tables. */
void put_window_types(KernelText *kernel, Dtype dtype, int n);
void args_window_tables(KernelText *kernel, const WindowTables *tables);
/* Number of elements averaged per place of a dim. */
int64_t *window_counts(Arena *arena, const WindowDim *dim, const Runs *out, bool with_pad);

/* ---- convolutions ---- */

/* Whether types and batches agree. */
bool windows_fit(const ConvWindows *c);
/* Image channels of the terms of each output channel; false when one is not local. */
bool window_terms(const KernelCall *call, const ConvWindows *c, int64_t group, int64_t **channel,
                  int64_t **window);
/* The image is its own column matrix: a 1-element window over all places and channels. */
bool windows_are_columns(const ConvWindows *c);
void build_window_columns(DeviceBuild *build, const ConvWindows *c, int64_t batch, int64_t n_batch,
                          DevicePlace to);
/* From the image to places. rule: of the forward op, whose windows these are. */
bool gather_windows(DeviceBuild *build, const KernelCall *call, const RuleCall *rule,
                    const Window *window, ConvWindows *c);
/* From places to the image: c->image are the places, c->out is the image. */
bool scatter_windows(DeviceBuild *build, const KernelCall *call, const RuleCall *rule,
                     const Window *window, ConvWindows *c);

#endif
