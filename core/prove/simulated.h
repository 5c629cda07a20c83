/* simulated.h - one op on simulated ranks, beside one device.
 *
 * A layout claims how the operands of an op lie on a mesh. It holds when ranks that have those
 * parts of the inputs and run the op's own kernel come to the parts of the outputs as claimed:
 * joined, pieces side by side and addends by their reduction, these are what one device computes.
 *
 * What a rank has of an input that is claimed to be partial is drawn so that all ranks' together
 * are the value: the last addend is what is left of a sum, one rank has the largest, and so on. An
 * output may be claimed an average of which no input is one: then each rank takes its part for a
 * tensor of its own, as the systems do that know this placement, and divides by its own count.
 */
#ifndef CORE_PROVE_SIMULATED_H
#define CORE_PROVE_SIMULATED_H

#include "core/run/kernel.h"

enum { SIMULATED_RANKS_MAX = 16 };

/* Shardings of the inputs, then of the outputs; those of absent operands are not looked at. */
typedef struct {
    const Mesh *mesh; /* of at most SIMULATED_RANKS_MAX devices */
    const Sharding *operand;
    const OpCut *cut; /* that it comes from, which keyword arguments follow; NULL: none */
} OpLayout;

/* What was proven of a rule. */
typedef struct {
    int n_cuts; /* layouts tried, up to the first that is wrong */
    bool ok;
    const char *text; /* the first wrong element and the layout that made it; "" */
} RuleProof;

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    int32_t op;
    const GraphOp *at;
    const Kernel *kernel;
    uint64_t seed;
    pthread_mutex_t blas;
    Local **value; /* per tensor: the op's operands on one device */
} Simulated;

/* Draws the inputs and runs the op on one device; whole numbers lie in 0..2, so that they choose
 * places of any dim. Ends with simulated_close(), also after an error. ERROR_UNSUPPORTED: the op
 * has no kernel; ERROR_RUN: the kernel fails on whole tensors. */
bool simulated_open(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                    uint64_t seed, Simulated *out, Error *err);
void simulated_close(Simulated *ranks);

int32_t simulated_tensor(const Simulated *ranks, int operand); /* -1: absent */

/* False: the first wrong element, or what kept the ranks from making it, is appended to `wrong`. */
bool simulated_holds(Simulated *ranks, const OpLayout *layout, Buf *wrong);

#endif
