/* apply.h - the two halves of an application: names and index dims, then operands. */
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

/* operands.c: outputs' shapes; projections of all; what a legal op space needs. */
bool apply_outputs(Apply *apply);
OpSpace *apply_space(Apply *apply);
bool apply_check(const Apply *apply, const OpSpace *space);

#endif
