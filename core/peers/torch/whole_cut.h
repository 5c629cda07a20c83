/* whole_cut.h - from a chosen row to a cut of the op's index dims.
 *
 * A row says per mesh axis how all tensors of an op lie. On an axis it is a cut of one index dim
 * (the outputs say which, of a map dim; the inputs, where the output is partial), or nothing, or
 * inputs that stay partial through the op. What a row says beyond that is lost: the op is then cut
 * less, and computes the same.
 */
#ifndef CORE_PEERS_TORCH_WHOLE_CUT_H
#define CORE_PEERS_TORCH_WHOLE_CUT_H

#include "core/layout/placement.h"
#include "core/plan/plan.h"

/* What was chosen, by our operands; NULL: no tensor, or not read as one. */
typedef struct {
    const Placement *const *input, *const *output; /* [operand][axis] */
    bool composed; /* of several operators: `input` is as the first of them is given it */
} WholeRowChosen;

typedef struct {
    OpCut cut;
    AtomSet reduced; /* outputs are partial over these by the cut */
    AtomSet passes;  /* .. and over these because inputs are */
    AtomSet *reads;  /* per input: the axes it is read partial over. One that an input does not have
                        so cannot pass */
    uint8_t kind[ATOMS_MAX]; /* per axis of `passes`: the ReduceOp it must be */
    bool lost;
} WholeCut;

WholeCut whole_cut(Arena *arena, const Mesh *mesh, const OpSpace *space,
                   const WholeRowChosen *chosen);

#endif
