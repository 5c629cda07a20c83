/* infer.h - from a graph to shapes: the dtype, shape, value and op space of everything in it.
 *
 * One pass in program order. An op whose inputs are all known (Constant, Shape, integer, bool and
 * scalar initializers, other such ops) is a host op: its value is computed here, it is never
 * sharded and not in the program. Every other op gets an OpSpace. Ops with equal signatures
 * (operator, attributes, input shapes, dtypes, and the values that the rule reads) share one, found
 * by a hash, so the rule runs once per distinct case.
 *
 * An op without a rule, or whose rule refuses, is replicated (OpSpace.no_rule) with a Finding; its
 * output shapes are then unknown (-1) unless declared. Where only sizes are unknown (free dims, or
 * counts that depend on data), the op is replicated too, but the known part of its output shapes is
 * kept (sizes.h): rank, other dims, equal sizes. A size known only at run time is named after its
 * op, "NonZero_12.1", and may be bound like a free dim: this is an assumption, and a note says so.
 * The same holds for elements that the user gives for a tensor that decides what an operator does,
 * such as the starts of a Slice: only its rule uses them, since the run computes its own.
 *
 * Branches of an If on a condition known before the run that are not taken are left out. Loops are
 * inferred until the shapes they carry are the same in every iteration. Sequences and optionals are
 * known by the shapes of their elements, and ops on them are replicated.
 */
#ifndef CORE_RULES_INFER_H
#define CORE_RULES_INFER_H

#include "core/base/progress.h"
#include "core/model/finding.h"
#include "core/model/graph.h"
#include "core/rules/sizes.h"
#include "core/rules/value.h"
#include "core/space/opspace.h"

#include <assert.h>

typedef struct Registry Registry;

typedef struct Inferred {
    const Graph *graph;
    const struct Inferred *forward; /* of a training step (core/step/step.h): of its forward part
                                       alone, a graph with the same ids; else NULL */
    const Registry *registry;
    Arena *arena;
    Shapes *shapes;         /* the graph's */
    const Sizes *sizes;     /* those not known */
    int32_t *shape;         /* per tensor: Shapes id; -1; or -2 - id: sizes in it are not known */
    uint8_t *dtype;         /* per tensor: Dtype */
    const Value ***values;  /* by VALUE_PAGE tensors: see inferred_value() */
    const Value **given;    /* per tensor: elements given by the user; NULL if there are none */
    int32_t *space;         /* per op: OpSpace id; -1 for a host op */
    const OpSpace **spaces; /* by id */
    int n_spaces;
    int32_t *program; /* the ops that compute, in program order */
    int n_program;
    bool *on_parameters; /* per op: computes, but depends on parameters and constants alone */
    double *repeat; /* per op: how often it runs, 1 if known only at run time; NULL: all once */
    double *trips;  /* per body of the graph: how often it runs each time it is reached; -1:
                       known only at run time; NULL: there are no bodies */
    bool *trips_assumed; /* per body: the user gave `trips`, which a run does not rely on */
    const char **listed; /* per tensor: "sequence of 8: 1,64" of a sequence, "optional: 1,64"; NULL
                            for tensors; NULL for all: the model has no sequences */
    int32_t *items;      /* per tensor: see inferred_items(); NULL if the model has no sequences */
    Findings findings;
} Inferred;

/* Free dims are bound by `bindings`; an unbound one is an error that lists all of them. NULL on
 * error. allow_free: an unbound dim leaves shapes unknown instead, which `info` needs. */
Inferred *infer(Arena *arena, const Graph *graph, const Registry *registry,
                const DimBindings *bindings, bool allow_free, Error *err);
/* The same with given elements of tensors (NULL: none) and with progress; NULL with ERROR_CANCELLED
 * if it is cancelled. */
Inferred *infer_watched(Arena *arena, const Graph *graph, const Registry *registry,
                        const DimBindings *bindings, const GivenValues *given, bool allow_free,
                        Progress *progress, Error *err);

static inline const Shape *inferred_shape(const Inferred *inferred, int32_t tensor)
{
    return inferred->shape[tensor] < 0 ? NULL
                                       : shapes_at(inferred->shapes, inferred->shape[tensor]);
}

/* The same of a tensor whose shape is known: every tensor of the program, after inference. */
static inline const Shape *program_shape(const Inferred *inferred, int32_t tensor)
{
    assert(inferred->shape[tensor] >= 0);
    return shapes_at(inferred->shapes, inferred->shape[tensor]);
}

/* Few tensors are known before the run: values are kept by pages of tensors, and a page without
 * any value is NULL. */
enum { VALUE_PAGE = 64 };

/* The value that is known of the tensor before the run, or NULL. */
static inline const Value *inferred_value(const Inferred *inferred, int32_t tensor)
{
    const Value *const *page = inferred->values[tensor / VALUE_PAGE];
    return page ? page[tensor % VALUE_PAGE] : NULL;
}

/* The same, or the value that the user gave. */
static inline const Value *inferred_read_value(const Inferred *inferred, int32_t tensor)
{
    const Value *value = inferred_value(inferred, tensor);
    return value || !inferred->given ? value : inferred->given[tensor];
}

/* How often a body of the graph runs each time it is reached, -1 if known only at run time. */
static inline double inferred_known_trips(const Inferred *inferred, int body)
{
    return inferred->trips_assumed[body] ? -1 : inferred->trips[body];
}

/* Whether the op's rule reads the elements of that input. */
bool inferred_reads(const Inferred *inferred, int32_t op, int input);

/* The row of the op's operator; NULL if it has none. */
const struct Operator *inferred_operator(const Inferred *inferred, int32_t op);
/* The same; of a gradient op the row of the operator whose gradient it is. */
const struct Operator *inferred_forward_operator(const Inferred *inferred, int32_t op);

/* inferred_operator() for all ops of a graph: each operator is looked up once. Lives in the arena.
 */
typedef struct {
    const Inferred *inferred;
    const struct Operator **row; /* by Names id of the operator; NULL: not looked up, or unknown */
} OperatorRows;
OperatorRows operator_rows_new(Arena *arena, const Inferred *inferred);
const struct Operator *operator_row(const OperatorRows *rows, int32_t op);
/* Its OperatorFlags; 0 if it has no row. */
unsigned operator_row_flags(const OperatorRows *rows, int32_t op);

/* For use during inference. */
void inferred_set_value(Inferred *inferred, int32_t tensor, const Value *value);

/* The shape as far as it is known: a negative dim is a size in inferred->sizes. NULL if nothing is
 * known. */
static inline const Shape *inferred_sizes(const Inferred *inferred, int32_t tensor)
{
    int32_t code = inferred->shape[tensor];
    return code == -1 ? NULL : shapes_at(inferred->shapes, code < 0 ? -2 - code : code);
}

void inferred_put_shape(const Inferred *inferred, int32_t tensor,
                        Buf *out); /* "batch,12,64"; "scalar"; what `listed` says; "?" */

/* Whether the value is a sequence or an optional. Its shape is that of each element, if all have
 * one that is known before the run; else it has none. */
static inline bool inferred_is_list(const Inferred *inferred, int32_t tensor)
{
    return inferred->listed && inferred->listed[tensor];
}

/* The shape of a tensor; NULL if it is not known, and for a sequence. */
static inline const Shape *inferred_tensor_shape(const Inferred *inferred, int32_t tensor)
{
    return inferred_is_list(inferred, tensor) ? NULL : inferred_shape(inferred, tensor);
}

/* The number of tensors that the value stands for: 1 for a tensor, the length of a sequence; 1 if
 * that is known only at run time. Bytes and moves of the value are that many times its shape's. */
static inline int64_t inferred_items(const Inferred *inferred, int32_t tensor)
{
    return inferred_is_list(inferred, tensor) ? inferred->items[tensor] : 1;
}

/* The bytes of n elements of each of those. */
static inline int64_t inferred_part_bytes(const Inferred *inferred, int32_t tensor, int64_t n)
{
    return dtype_bytes((Dtype)inferred->dtype[tensor], n * inferred_items(inferred, tensor));
}

static inline double inferred_repeat(const Inferred *inferred, int32_t op)
{
    return inferred->repeat ? inferred->repeat[op] : 1;
}

static inline const OpSpace *inferred_space(const Inferred *inferred, int32_t op)
{
    return inferred->space[op] < 0 ? NULL : inferred->spaces[inferred->space[op]];
}

/* The same for an op of the program, which always has one. */
static inline const OpSpace *program_space(const Inferred *inferred, int32_t op)
{
    assert(inferred->space[op] >= 0);
    return inferred->spaces[inferred->space[op]];
}

static inline bool inferred_is_host(const Inferred *inferred, int32_t op)
{
    return inferred->space[op] < 0;
}

/* Whether every rank knows the value, or can make its part of it, before the run: a constant, or a
 * host op's output. */
static inline bool tensor_is_known(const Inferred *inferred, int32_t tensor)
{
    int32_t maker = inferred->graph->tensors[tensor].maker;
    return inferred_value(inferred, tensor) || (maker >= 0 && inferred_is_host(inferred, maker));
}

/* Whether the tensor is a float initializer, or computed only from such; "params" counts only
 * initializers. */
static inline bool tensor_is_parameter(const Inferred *inferred, int32_t tensor)
{
    return inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER &&
           !inferred_value(inferred, tensor);
}

/* Per tensor: whether ops of the program read or make it, or it is an input or output of the
 * model. */
bool *inferred_in_program(Arena *arena, const Inferred *inferred);

int64_t inferred_bytes(const Inferred *inferred,
                       int32_t tensor); /* of the whole tensor; 0 when unknown */
/* The number of elements of float initializers that are no buffers; in a training step, of those
 * that the forward pass reads. */
int64_t inferred_params(const Inferred *inferred);

#endif
