/* loaded.h - a template with its texts read: what load.c makes and apply.c uses. */
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
    Str dtype;              /* without the '$'; empty: any (inputs), that of the first input */
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

/* "float32" -> "f32": NumPy's names of element types are ours too. */
Str template_dtype(Str name);

/* How many of an op's n inputs each slot takes: one, and slots of many share what is left. Trailing
 * slots may get more than there are. False: they cannot be shared. */
bool template_share(const Template *template, int n, int *n_of_slot, Error *err);
/* The same for outputs, where a slot with `each` takes what is left. */
void template_share_outputs(const Template *template, int n, int *n_of_slot);

#endif
