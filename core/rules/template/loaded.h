/* loaded.h - a template with its texts read: what load.c makes and apply.c uses. */
#ifndef CORE_RULES_TEMPLATE_LOADED_H
#define CORE_RULES_TEMPLATE_LOADED_H

#include "core/rules/template/ipf.h"
#include "core/rules/template/pattern.h"
#include "core/rules/template/template.h"

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

#endif
