/* data_shapes.h - finds shapes that depend on data, by running ops on one device before planning.
 *
 * The number of elements of NonZero, or the start of a Slice that reads its starts from an input,
 * depends on the data; the shapes after it are unknown, and no plan can be made. Given the inputs,
 * the ops up to that point are run on whole tensors, and the results are bound:
 *
 *     sizes      "NonZero_12.1" = 5, as --dim NAME=SIZE does
 *     elements   of the tensors whose values an operator's rule or kernel reads
 *
 * Then shapes are inferred again, up to the next such op, until all are known. A plan made from
 * them is valid for these inputs only. Ops that no data-dependent shape needs are not run.
 */
#ifndef CORE_RUN_DATA_SHAPES_H
#define CORE_RUN_DATA_SHAPES_H

#include "core/run/feed.h"

typedef struct {
    DimBindings dims;      /* given ones, then the resolved sizes */
    GivenValues values;    /* the same */
    int n_sizes, n_values; /* resolved: the last ones of each */
} DataShapes;

/* Adds to *out, which holds what is bound so far and from which `inferred` was inferred. Inputs
 * that were not given are drawn. What cannot be resolved (outputs of an op without a kernel) stays
 * unknown; lowering the program reports it. Returns false with *err if free dims are not bound or
 * an operator needs the elements of an input that was not given (ERROR_USAGE), or if an op fails
 * (ERROR_RUN). */
bool data_shapes_resolve(Arena *arena, const Inferred *inferred, const Given *given,
                         DataShapes *out, Error *err);

/* Binds the unknown sizes of a tensor that turned out to be `whole`. Returns how many. */
int data_shapes_bind(Arena *arena, const Inferred *inferred, int32_t tensor, const Shape *whole,
                     DimBindings *dims);

#endif
