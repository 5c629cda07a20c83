/* loaded.h - a template with its texts parsed: made by load.c, used by apply.c. */
#ifndef CORE_PEERS_TAPESTRY_LOADED_H
#define CORE_PEERS_TAPESTRY_LOADED_H

#include "core/peers/tapestry/ipf.h"
#include "core/peers/tapestry/pattern.h"
#include "core/peers/tapestry/template.h"

typedef struct {
    const TemplateSlot *text;
    const Phrase *own;      /* stands for the slot in errors */
    const Pattern *pattern; /* inputs */
    const Phrase *shape;    /* outputs; NULL: [$index...] */
    const Phrase *each;     /* outputs; NULL: one */
    Str dtype;              /* without the '$'; empty: any (inputs), as the first input (outputs) */
    bool dtype_is_name;     /* "$dtype", not "float32" */
    Ipf ipf;
} LoadedSlot;

typedef struct {
    Str name;
    const Phrase *phrase; /* FORM_PARAM */
    int slot;             /* of `axis of S`; -1: none */
} LoadedParam;

struct Template {
    TemplateText text;
    const Phrase *own; /* stands for the template in errors */
    const LoadedParam *param;
    const LoadedSlot *input, *output;
    const Phrase *index, *reduce; /* reduce: NULL */
    ReduceOp reduce_op;
    const Phrase *const *let, *const *require;
};

/* NumPy's name of an element type as ours: "float32" -> "f32". Other names stay. */
Str template_dtype(Str name);

/* Assigns an op's n inputs to slots: one each; slots of several tensors share the remaining ones
 * equally. Trailing slots of one tensor count 1 even if the op leaves them out. Returns false if n
 * does not fit. */
bool template_divide_inputs(const Template *template, int n, int *n_of_slot, Error *err);
/* The same for outputs; a slot with `each` gets the remaining ones. */
void template_divide_outputs(const Template *template, int n, int *n_of_slot);

#endif
