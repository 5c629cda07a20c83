/* apply.h - applies a template to shapes: first names and index dims, then the operands. */
#ifndef CORE_PEERS_TAPESTRY_APPLY_H
#define CORE_PEERS_TAPESTRY_APPLY_H

#include "core/peers/tapestry/loaded.h"

typedef struct {
    Arena *arena;
    const Template *template;
    const TemplateCall *call;
    Scope scope;
    IndexSpace index;
    Vec(TemplateOperand) operands; /* inputs, then outputs */
    int n_inputs;
    Error *err;
} Apply;

/* index.c: index, then reduce. */
bool apply_index(Apply *apply);

/* operands.c: shapes of outputs, projections of all operands, checks that the op space is legal. */
bool apply_outputs(Apply *apply);
OpSpace *apply_space(Apply *apply);
bool apply_check(const Apply *apply, const OpSpace *space);

#endif
