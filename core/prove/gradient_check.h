/* gradient_check.h - checks the gradient of an operator: by differences, then under every cut.
 *
 * An op of f64 tensors is run on drawn inputs and its gradient ops are derived and run, for drawn
 * gradients of its outputs. Each element of each gradient is compared with the central difference
 * of the forward op. Then each gradient op is run on simulated ranks under every sharding that its
 * index space allows, with these values, and compared with one device. Every partition of the
 * forward op is among these: the gradient op has its index dims, and those that it freezes are
 * whole.
 *
 * Inputs are drawn from ranges until every output is finite, so that roots and logarithms have
 * their domains. At a kink within a step the gradient has to be the slope of one side.
 */
#ifndef CORE_PROVE_GRADIENT_CHECK_H
#define CORE_PROVE_GRADIENT_CHECK_H

#include "core/prove/simulated.h"

typedef struct {
    int n_gradients; /* inputs whose gradient was compared */
    int n_elements;  /* elements compared with a difference */
    bool nothing;    /* the check fails: no input to differentiate, or no output, is of f64 */
    RuleProof proof; /* n_cuts: over all gradient ops */
} GradientProof;

/* Whether the operator's gradient is its own: of the parts of a cross entropy the last one has that
 * of all. */
bool gradient_check_runs_alone(const char *op_type);

/* The kernel that runs a gradient op under cuts, instead of that one. */
typedef const Kernel *GradientKernel(Arena *arena, const Kernel *kernel);

/* Of a graph of one op; inputs whose gradient is refused are left out. kernel_for: NULL, the host's
 * kernels. False with *err: the op cannot be run, or there is nothing to check. */
bool gradient_check(Arena *arena, const Graph *graph, const Registry *registry, uint64_t seed,
                    GradientKernel *kernel_for, GradientProof *out, Error *err);

#endif
