/* rounding.h - how much a correct result of an op may differ from that of one device.
 *
 * A sharded op and the whole op on the same inputs differ only by rounding: sums run in another
 * order, another device has other functions. The column `rounding` of a kernel's row says how its
 * results round, and this gives each element its bound. u is half a unit in the last place: of the
 * numbers that are computed with, and of the type that is stored.
 *
 *     EXACT      moves, comparisons, integers     0
 *     ULPS       element by element               4 units of the result
 *     OPERANDS   with a difference inside         4 units of the largest of 1, operands, result
 *     SUM        linear in each operand           2 u min(K, 8 sqrt K) S;  K addends, S is the op
 * on the operands' magnitudes: the sum of |a b| STEP       quantized integers 1, floats as ULPS
 *     SENSITIVE  everything else                  2 u min(K, 8 sqrt K) (C + |result|); C is how far
 * the result moves when each operand moves by a random sign, over the size of that move; so do
 * numbers that a kernel makes and that cancel in the result (KernelCall.inner)
 *
 * All but EXACT add one unit of the stored type. K u S bounds the error of any order of a sum
 * (Higham, Accuracy and Stability of Numerical Algorithms, 4.2); 8 sqrt K takes its place with the
 * chance of an error below 1e-13 (Higham and Mary, A New Approach to Probabilistic Rounding Error
 * Analysis, 2019).
 */
#ifndef CORE_RUN_ROUNDING_H
#define CORE_RUN_ROUNDING_H

#include "core/run/kernel.h"

/* An op on whole tensors, with the arguments of kernel_run_whole(). value[] has the inputs and the
 * results. */
typedef struct {
    const Inferred *inferred;
    int32_t op;
    const Kernel *kernel;
    pthread_mutex_t *blas;
    uint64_t seed;
    int64_t iteration;
    Local **value;
    /* Per input: of a partial one, on whose addends ranks compute, the sum of the addends'
     * magnitudes for each element; else NULL. NULL: no input is partial. */
    const double *const *addends;
    int64_t stored; /* how often a sum is stored, and rounds, on its way around a ring; else 0 */
} WholeOp;

const char *rounding_name(Rounding rounding); /* "exact", "sum" */

/* An op that reads partial inputs is linear in them: bounded as SUM, on their addends' magnitudes,
 * which may be larger than the magnitude of what they add up to.
 * bound[i]: per element of output i the largest right difference, in the arena; NULL: the output
 * must be equal, or is not a tensor of floats or a quantized one. *used: the rounding that was
 * applied. Runs the op up to three times; value[] is as before at the end. */
void rounding_bounds(Arena *arena, const WholeOp *call, const double **bound, Rounding *used);

double dtype_unit(Dtype dtype); /* u of a float type; 0 for others */
double dtype_tiny(Dtype dtype); /* the error of a result that is too small for the type */

#endif
