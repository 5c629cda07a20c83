/* gradient_check.h - checks the gradient of an operator: against differences, then under every cut.
 *
 * An op of f64 tensors is run on drawn inputs and its gradient ops are derived and run, for drawn
 * gradients of its outputs. Each element of each gradient is compared with the central difference
 * of the forward op. Then each gradient op is run on simulated ranks under every sharding that its
 * index space allows, with these values, and compared with one device. This covers every partition
 * of the forward op: the gradient op has its index dims, and those that it freezes are whole.
 *
 * Inputs are drawn from ranges until every output is finite, so that roots and logarithms have
 * their domains. At a kink within a step the gradient must equal the slope of one side.
 */
#ifndef CORE_PROVE_GRADIENT_CHECK_H
#define CORE_PROVE_GRADIENT_CHECK_H

#include "core/prove/simulated.h"

typedef struct {
    int n_gradients; /* inputs whose gradient was compared */
    int n_elements;  /* elements compared with a difference */
    bool nothing;    /* the check fails: no input to differentiate, or no output, has type f64 */
    RuleProof proof; /* n_cuts: over all gradient ops */
} GradientProof;

/* Whether the operator has a gradient of its own: among the parts of a cross entropy, the last one
 * has the gradient of all. */
bool gradient_check_runs_alone(const char *op_type);

/* Returns the kernel to use for a gradient op under cuts, in place of the given one. */
typedef const Kernel *GradientKernel(Arena *arena, const Kernel *kernel);

/* For a graph of one op; inputs whose gradient is refused are left out. kernel_for: NULL, the
 * host's kernels. Returns false with *err if the op cannot be run, or if there is nothing to check.
 */
bool gradient_check(Arena *arena, const Graph *graph, const Registry *registry, uint64_t seed,
                    GradientKernel *kernel_for, GradientProof *out, Error *err);

#endif
