/* infer_state.h - what the files of inference share; private to them.
 *
 * The shape of a tensor is a code while inference runs and after it: an id of Shapes; -1 if nothing
 * is known; or -2 - id if the shape with that id has unknown dims (sizes.h). Values that are known
 * in part, and facts about sequences, are Values too (Value.partly, Value.sequence); only inference
 * uses them, and they are dropped at its end.
 */
#ifndef CORE_RULES_INFER_STATE_H
#define CORE_RULES_INFER_STATE_H

#include "core/base/intern.h"
#include "core/rules/host.h"
#include "core/rules/infer.h"

#include <assert.h>

/* The properties of an operator that inference uses, by Names id. */
typedef struct {
    bool seen, host, needs_values, branch, carry, sequence;
    bool reads_rest; /* the rule looks at the values of inputs from 64 on */
    uint64_t reads;  /* bit i: of input i */
    const Operator *row;
    const Alias *alias; /* the op has another system's name for the operator */
} InferKind;

/* The answer of a case for one output. */
typedef struct {
    int32_t shape; /* code; -1: the declared one holds */
    Dtype dtype;   /* DT_NONE: likewise */
    const Value *value;
} InferAnswer;

/* A case is shared by ops with equal keys: the operator, its attributes, the shapes and dtypes of
 * its operands, and the values that its rule reads. */
typedef enum { CASE_HOST, CASE_RULE } CaseKind;

enum { SPACE_HOST = -1, SPACE_NONE = -2 }; /* SPACE_NONE: not evaluable, so an ordinary op */
enum { OPSET_LATEST = 28 };                /* what a graph without an opset is read by */

typedef struct {
    int32_t space, answer;      /* answer: first of its outputs' */
    int32_t op;                 /* the first one */
    int n_ops;                  /* filled at the end */
    const char *refused, *hint; /* the error of the rule, NULL when it gave none */
    const char *mistyped;       /* an attribute or operands of types it does not take; NULL */
    Str unknown, meant;         /* an attribute that no rule reads, and the one near it */
    bool unknown_input;         /* of an operand nothing is known */
    bool sequence;              /* it is about sequences or optionals */
    bool late;                  /* and of what it makes only the run knows a size */
    bool unknown_size;          /* sizes of an operand or of an output are not known */
} InferCase;

/* A carried value of a body that is not the same in every iteration. */
typedef struct {
    bool differs;
    int32_t shape;        /* code */
    const Value *value;   /* of a sequence */
    bool fresh[DIMS_MAX]; /* dims that were found to differ */
} InferCarry;

typedef struct {
    const Graph *graph;
    const Registry *registry;
    const DimBindings *bindings;
    const GivenValues *given; /* NULL: none */
    bool allow_free;
    Inferred *result;
    Arena *arena, *scratch;
    Values *values;
    Sizes *sizes;
    InferKind *kinds;
    bool *known; /* per tensor: a host value, held or not */
    bool *fixed; /* per tensor: made of parameters and constants alone */
    Intern *keys;
    Vec(InferCase) cases;
    Vec(int32_t) found; /* the cases of ops in program order; two of what could be a host op */
    Vec(InferAnswer) answers;
    Vec(const OpSpace *) spaces;
    int32_t *key;
    /* operands of the call being made */
    const Shape **shape;
    Dtype *dtype;
    const Value **value, **out_value;
    Shape *out_shape;
    Dtype *out_dtype;
    AttrReads reads;   /* what its rule asks for */
    bool has_inner;    /* values that are dropped at the end */
    Intern *sequences; /* keys of Sequence; ids of their values */
    Vec(const Value *) sequence_values;
    InferCarry *carries;     /* per graph->carries */
    const GraphBody *body;   /* the innermost loop that is being inferred */
    int unknown_trips;       /* loops whose count is known only at run time */
    int32_t unknown_loop;    /* an op of the first */
    int64_t reruns_left;     /* ops that loops may be inferred again */
    Vec(int64_t) late_sizes; /* known only at run time, in program order */
    Vec(Str) assumed;        /* names of such sizes that the user gave */
    Progress *progress;
    int n_unreported; /* ops since the last report of progress */
} InferState;

static inline bool code_is_partly(int32_t code)
{
    return code < -1;
}

static inline const Shape *code_shape(const InferState *state, int32_t code)
{
    return code == -1 ? NULL : shapes_at(state->result->shapes, code >= 0 ? code : -2 - code);
}

/* ---- cases: infer_case.c ---- */
/* The op space of a LoopStack of n iterations, an assumed number; -1 if its rule refuses. */
int32_t infer_assumed_stack(InferState *state, int32_t op, const InferKind *kind, int64_t n);
/* The op space of an op on sequences whose output has a size that the user gives, and that of its
 * elements, as inferred; -1 if there is none. */
int32_t infer_assumed_sequence(InferState *state, int32_t op, const InferKind *kind);
const InferCase *infer_find_case(InferState *state, int32_t op, const InferKind *kind,
                                 CaseKind wanted);
RuleCall infer_call(const InferState *state, int32_t op, const InferKind *kind);
void infer_see_kind(InferState *state, int32_t op); /* fills the kind of a new operator */

static inline const InferKind *infer_kind(InferState *state, int32_t op)
{
    const InferKind *kind = &state->kinds[state->graph->ops[op].op_type];
    if (!kind->seen)
        infer_see_kind(state, op);
    return kind;
}

static inline bool infer_reads_value(const InferKind *kind, int input)
{
    return input < 64 ? kind->reads >> input & 1 : kind->reads_rest;
}

/* ---- unknown sizes: infer_sizes.c ---- */
int32_t infer_code(InferState *state,
                   const Shape *shape); /* a shape of which some dims may be < 0 */
/* Runs host evaluation or the rule with numbers in place of unknown sizes, and stores the answers
 * that hold for all of them. Returns false if it is refused for all sizes. */
bool infer_twice(InferState *state, int32_t op, const InferKind *kind, CaseKind wanted,
                 InferAnswer *answers);
/* Names the dims of a code that are known only at run time, and binds those that the user gave. */
int32_t infer_name_sizes(InferState *state, int32_t op, int output, int32_t code);
/* A dim of the op's output that is known only at run time: the number of its Size, or a size that
 * the user gives. */
int64_t infer_bound_size(InferState *state, int32_t op, Str name); /* -1: nobody gives it */
Str infer_made_name(const InferState *state, int32_t op, int output, int64_t d);
int64_t infer_fresh_size(InferState *state, int32_t op, int output, int64_t d);
bool infer_shape_is_late(const InferState *state, int32_t code);
void infer_put_code(const Inferred *result, int32_t code, Buf *out);

/* ---- shapes that the run decides: infer_rank.c ---- */
/* Infers only the number of dims, when the rule refused because axes, sizes or positions are known
 * only at run time. */
bool infer_rank(InferState *state, int32_t op, const InferKind *kind, InferAnswer *answers);

/* ---- sequences and optionals: infer_sequence.c ---- */
bool infer_sequence_op(InferState *state, int32_t op, const InferKind *kind, InferAnswer *answers,
                       Error *err);
int infer_sequence_length(const Value *value); /* -1: known only at run time */
/* The sequence that op makes, with sizes of its elements that are known only at run time as the
 * user gives them; the same if there are none, or nobody gives them. */
const Value *infer_bind_elements(InferState *state, int32_t op, int output, const Value *value);
/* "differ in dim 0", "have a size in dim 0 that is known only at run time": why the elements of a
 * sequence have no shape. Returns the name of that size; NULL if nobody can give one. */
const char *infer_put_varying(InferState *state, int32_t tensor, Buf *out);
/* The length that the user gives for a sequence whose length is known only at run time, as the size
 * NAME.n; -1 if there is none. */
int infer_assumed_length(InferState *state, int32_t tensor);
/* The shape of each element; -1 if they differ, or if it is known only at run time. */
int32_t infer_sequence_shape(InferState *state, const Value *value);
const Value *infer_merge_sequences(InferState *state, const Value *a, const Value *b);
const Value *infer_declared_sequence(InferState *state, int32_t tensor, int32_t element);
/* Whether the tensor is a sequence or an optional. */
static inline bool infer_is_list(const InferState *state, int32_t tensor)
{
    const Value *value = inferred_value(state->result, tensor);
    return value && value->sequence;
}
const char *infer_sequence_text(InferState *state, const Value *value); /* Inferred.listed */

/* ---- given tensors: infer_start.c ---- */
bool infer_check_free_dims(const InferState *state, Error *err);
bool infer_start_tensors(InferState *state, Error *err);
int32_t infer_declared(InferState *state, int32_t tensor, Error *err);

/* ---- findings: infer_findings.c ---- */
void infer_add_findings(InferState *state);
void infer_find_assumed(InferState *state, int32_t op, Str name, int64_t size);
void infer_find_given(InferState *state, Str name);

#endif
