/* whole_cut.h - converts a chosen row to a cut of the op's index dims.
 *
 * On each mesh axis a row is a cut of one index dim (known from the outputs for a map dim, from the
 * inputs if the output is partial), or nothing, or inputs that stay partial through the op.
 * Anything else in a row is lost: the op is then sharded less and computes the same.
 */
#ifndef CORE_PEERS_TORCH_WHOLE_CUT_H
#define CORE_PEERS_TORCH_WHOLE_CUT_H

#include "core/layout/placement.h"
#include "core/plan/plan.h"

/* The chosen placements by our operands; NULL for what is no tensor in torch. */
typedef struct {
    const Placement *const *input, *const *output; /* [operand][axis] */
    bool composed; /* several operators: `input` is that of the first use */
} WholeRowChosen;

typedef struct {
    OpCut cut;
    AtomSet reduced; /* outputs are partial over these by the cut */
    AtomSet passes;  /* and over these because inputs are */
    AtomSet *reads; /* per input: the axes over which it is read partial. An axis passes only if the
                       input is partial over it */
    uint8_t kind[ATOMS_MAX]; /* per atom of `passes`: the ReduceOp that the input must have */
    bool lost;
} WholeCut;

WholeCut whole_cut(Arena *arena, const Mesh *mesh, const OpSpace *space,
                   const WholeRowChosen *chosen);

#endif
