/* infer_state.h - what the files of inference share while it runs; no one else includes it. */
#ifndef CORE_RULES_INFER_STATE_H
#define CORE_RULES_INFER_STATE_H

#include "core/rules/host.h"
#include "core/rules/infer.h"

/* What an operator is to inference, by Names id. */
typedef struct {
    bool seen, host, needs_values;
    const Operator *row;
    const Alias *alias; /* the op has another system's name for the operator */
} InferKind;

/* What a case gives for one output. */
typedef struct {
    int32_t shape; /* Shapes id; -1: unknown, the declared one holds */
    Dtype dtype;   /* DT_NONE: likewise */
    const Value *value;
} InferAnswer;

/* A case is what ops with equal keys share: the operator, its attributes, the shapes and dtypes of
 * its operands, and the values its rule looks at. */
typedef enum { CASE_HOST, CASE_RULE } CaseKind;

enum { SPACE_HOST = -1, SPACE_NONE = -2 }; /* SPACE_NONE: not evaluable, so an ordinary op */

typedef struct {
    int32_t space, answer; /* answer: first of its outputs' */
    int32_t op;            /* the first one */
    int n_ops;
    const char *refused, *hint; /* the error of the rule, NULL when it gave none */
    const char *mistyped;       /* operands of types that the operator does not take; NULL */
    Str unknown, meant;         /* an attribute that nobody reads, and the one near it */
    bool unknown_input;
} InferCase;

typedef struct {
    const Graph *graph;
    const Registry *registry;
    const DimBindings *bindings;
    bool allow_free;
    Inferred *result;
    Arena *arena, *scratch;
    Values *values;
    InferKind *kinds;
    bool *known; /* per tensor: a host value, held or not */
    bool *fixed; /* per tensor: made of parameters and constants alone */
    Intern *keys;
    Vec(InferCase) cases;
    Vec(InferAnswer) answers;
    Vec(const OpSpace *) spaces;
    int32_t *key;
    /* operands of the call being made */
    const Shape **shape;
    Dtype *dtype;
    const Value **value, **out_value;
    Shape *out_shape;
    Dtype *out_dtype;
    AttrReads reads; /* what its rule asks for */
} InferState;

/* A warning; op -1: about no op. text is kept. */
void infer_add_finding(InferState *state, const char *code, int32_t op, const char *hint,
                       Buf *text);

/* What is to be said of ops: refusals and attributes that nobody reads in program order, one a
 * case; operators without a rule, one each; ops whose inputs have no shape, one for all. */
void infer_find_ops(InferState *state);

#endif
