/* layout_check.h - checks claims of other systems' rules about an op, layout by layout.
 *
 * Such a rule says how the operands of a call are sharded together. A checker (spmd_check.h,
 * strategy_check.h) sets each claim as shardings of the operands of our equivalent call
 * (system_call.h) and tries it on simulated ranks. Equal layouts are tried once.
 */
#ifndef CORE_PROVE_LAYOUT_CHECK_H
#define CORE_PROVE_LAYOUT_CHECK_H

#include "core/base/intern.h"
#include "core/rules/system_call.h"
#include "core/prove/simulated.h"

typedef struct {
    Arena *arena;
    const SystemCall *call;
    const Inferred *inferred; /* of call->ours */
    Simulated ranks;
    RuleProof *proof;
    /* the current layout: shardings of our operands, replicated at first */
    const Mesh *mesh;
    Sharding *operand;
    Intern *tried; /* layouts already tried on the mesh */
} LayoutCheck;

/* End with layout_check_close(), also after an error. ERROR_UNSUPPORTED: the op has no kernel or is
 * evaluated at load. */
bool layout_check_open(Arena *arena, const Registry *registry, const SystemCall *call,
                       RuleProof *proof, LayoutCheck *out, Error *err);
void layout_check_close(LayoutCheck *check);

/* The operands in the other system's terms. n_dims -1: absent. */
Shape layout_check_input_shape(const LayoutCheck *check, int input);
Shape layout_check_output_shape(const LayoutCheck *check, int output);
Dtype layout_check_input_dtype(const LayoutCheck *check, int input);

void layout_check_begin(LayoutCheck *check, const Mesh *mesh);
/* For the caller to set. NULL: not an operand of ours, or absent. */
Sharding *layout_check_input(LayoutCheck *check, int input);
Sharding *layout_check_output(LayoutCheck *check, int output);

/* Tries the layout unless it was tried before. False: the proof has the first wrong element; call
 * layout_check_blame() to name the claim. */
bool layout_check_try(LayoutCheck *check);
void layout_check_blame(LayoutCheck *check, const char *what, const char *claim);

/* Sets ERROR_UNSUPPORTED when nothing was tried, with the rule's first refusal if it has a text.
 * Returns false. */
bool layout_check_refused(const LayoutCheck *check, const Error *refusal, Error *err);

#endif
