/* simulated.h - runs one op on simulated ranks and compares with one device.
 *
 * A layout claims how the operands of an op are sharded. It holds when ranks with those parts of
 * the inputs, each running the op's kernel, get the claimed parts of the outputs: joined (pieces
 * side by side, addends reduced) they equal the result of one device.
 *
 * Parts of a partial input are drawn such that they reduce to the value: the last addend is the
 * rest of a sum, one rank has the maximum, and so on. An output may be an average although no input
 * is: then each rank treats its part as a whole tensor and divides by its own count, as systems
 * with this placement do.
 */
#ifndef CORE_PROVE_SIMULATED_H
#define CORE_PROVE_SIMULATED_H

#include "core/plan/op_cut.h"
#include "core/rules/infer.h"
#include "core/run/kernel.h"

enum { SIMULATED_RANKS_MAX = 16 };

/* Shardings of the inputs, then of the outputs; those of absent operands are ignored. */
typedef struct {
    const Mesh *mesh; /* of at most SIMULATED_RANKS_MAX devices */
    const Sharding *operand;
    const OpCut *cut; /* the op cut it comes from, for keyword arguments; NULL: none */
} OpLayout;

/* The result of checking a rule. */
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

/* Draws the inputs and runs the op on one device; integers lie in 0..2, so that they are valid
 * indices. given: by tensor, inputs with values of their own, which are copied; NULL: none. End
 * with simulated_close(), also after an error. ERROR_UNSUPPORTED: the op has no kernel; ERROR_RUN:
 * the kernel fails on whole tensors. */
bool simulated_open(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                    uint64_t seed, Local *const *given, Simulated *out, Error *err);
/* Fills the tensors whose value is known before the run. */
bool simulated_fill(Arena *arena, const Inferred *inferred, const bool *known, uint64_t seed,
                    Local *const *value, Error *err);

void simulated_close(Simulated *ranks);

int32_t simulated_tensor(const Simulated *ranks, int operand); /* -1: absent */

/* On failure appends the first wrong element, or the error, to `wrong`. */
bool simulated_holds(Simulated *ranks, const OpLayout *layout, Buf *wrong);

#endif
