/* gradient_test.h - compares the gradients of a run with those of a folder, NAME.grad.
 *
 *     input_N.pb            inputs of the model
 *     cotangent_N.pb        the gradient of a float output
 *     grad_NAME.pb          what the gradient of an input or initializer has to be
 *     index.json            which file is of which tensor; "no_gradient": tensors without one
 *
 * The plan is of a step whose output gradients are given ("loss=outputs", core/step/step.h): what
 * is compared are the gradients of the sum of cotangent times output. A gradient is right if no
 * element is off by more than 1e-4 of the largest of its elements, or of a thousandth of the
 * largest of all gradients, if that is more: a gradient that is 0 in theory is rounding noise. In
 * f64 it is 1e-9, or 1e-7 where the file holds f32. Files of f64 are rounded for a model of f32.
 */
#ifndef CORE_RUN_VERIFY_GRADIENT_TEST_H
#define CORE_RUN_VERIFY_GRADIENT_TEST_H

#include "core/run/run.h"
#include "core/run/verify/vectors.h"

typedef struct {
    const char *name;      /* of the input or initializer */
    const char *reason;    /* why it is not compared; NULL: it is */
    int32_t gradient;      /* tensor of the plan's graph; -1: not compared */
    double error, allowed; /* the largest difference of an element */
    bool ok;
} GradientRow;

typedef struct {
    RunReport run; /* its outputs are the compared gradients */
    int n_rows, n_compared, n_wrong;
    GradientRow *rows; /* as the folder lists them */
    int worst;         /* the largest error / allowed; -1: nothing was compared */
    int first_wrong;   /* the first that the backward pass makes; -1 */
} GradientReport;

/* False with *err: the folder does not fit the plan, or the run failed; otherwise out->run.ok says
 * whether all that were compared are right, and at least one was. */
bool run_gradients(Arena *arena, const Plan *plan, const char *data_set, const RunOptions *options,
                   GradientReport *out, Error *err);

/* The same, for cut_check(). */
bool run_gradient_test(Arena *arena, const Plan *plan, const char *data_set,
                       const RunOptions *options, RunReport *out, Error *err);

/* Adds the cotangents that the inputs "T~given" of a step have in the folder; a graph without such
 * inputs has none. */
bool cotangents_add(Arena *arena, const Graph *graph, const char *data_set, Vectors *out,
                    Error *err);

#endif
