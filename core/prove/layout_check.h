/* layout_check.h - what other systems' rules claim of an op, proven layout by layout.
 *
 * Their rules say how the operands of a call lie together, in words of their own. Whoever checks a
 * rule (spmd_check.h, strategy_check.h) lays each claim down as shardings of the operands of our
 * call that computes the same (system_call.h) and has it tried on simulated ranks. Equal layouts
 * are tried once, since rules answer many questions alike.
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
    /* the layout that is being laid: shardings of our operands, whole at first */
    const Mesh *mesh;
    Sharding *operand;
    Intern *tried; /* those before it on the mesh */
} LayoutCheck;

/* Ends with layout_check_close(), also after an error. ERROR_UNSUPPORTED: nothing runs the op, or
 * it is evaluated before the run. */
bool layout_check_open(Arena *arena, const Registry *registry, const SystemCall *call,
                       RuleProof *proof, LayoutCheck *out, Error *err);
void layout_check_close(LayoutCheck *check);

/* The operands as their system sees them. n_dims -1: absent. */
Shape layout_check_input_shape(const LayoutCheck *check, int input);
Shape layout_check_output_shape(const LayoutCheck *check, int output);
Dtype layout_check_input_dtype(const LayoutCheck *check, int input);

void layout_check_begin(LayoutCheck *check, const Mesh *mesh);
/* To be filled. NULL: none of our operands, or absent. */
Sharding *layout_check_input(LayoutCheck *check, int input);
Sharding *layout_check_output(LayoutCheck *check, int output);

/* What was laid is right, or was tried before. False: the proof has the first wrong element, and
 * the caller says with layout_check_blame() which claim it was. */
bool layout_check_try(LayoutCheck *check);
void layout_check_blame(LayoutCheck *check, const char *what, const char *claim);

/* Sets ERROR_UNSUPPORTED where nothing was tried: refusal is what the rule said at first, without
 * text when nothing. False, as errors are. */
bool layout_check_refused(const LayoutCheck *check, const Error *refusal, Error *err);

#endif
