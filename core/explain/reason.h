/* reason.h - why an axis shards a dim: the shortest chain of derivations back to a pin.
 *
 * Sites are tensor dims and index dims of ops. From every pin, a breadth-first search over the
 * final state follows the links that propagation uses (a tensor dim and an index dim whose
 * projection joins them), so each axis on each dim has its nearest pin and the chain to it; under
 * `strategy`, which decides op by op, the links lead forward only, and a chain may begin at an
 * op's own choice. Computed once, on the first question. Also explains why a tensor is partial
 * (the reduce dim that is sharded) and what a reshard is for.
 */
#ifndef CORE_EXPLAIN_REASON_H
#define CORE_EXPLAIN_REASON_H

#include "core/explain/sites.h"

/* The sites of the plan, numbered on the first question. */
const Sites *plan_sites(const Plan *plan);

/* Empty; the first question about each axis fills it by a search over the plan. It allocates
 * memory of its own, which reasons_forget() must free before the arena goes. */
Reasons *reasons_new(Arena *arena);
void reasons_forget(Reasons *reasons);

/* ---- on another thread ---- */

/* Returns whether every question can be answered without a search. */
bool reasons_known(const Plan *plan);

/* Searches for every axis; the plan's own reasons do not change. Returns false if cancelled: then
 * only reasons_forget() may use the result. */
bool reasons_find(const Plan *plan, Reasons *out, Progress *progress, Error *err);
/* Moves the result into the plan; `found` is empty afterwards. */
void reasons_take(const Plan *plan, Reasons *found);

/* ORDER REASON_KIND */
typedef enum {
    REASON_PIN,      /* this dim is pinned; `decision` is the pin */
    REASON_FORWARD,  /* the op got it from an input */
    REASON_BACKWARD, /* the op's output or another reader needs it */
    REASON_USE,      /* another operand of the op uses the op's index dim */
    REASON_PARTIAL,  /* the op sums over an index dim that the axis shards */
    REASON_PASS,     /* the op is linear: its input is partial */
    REASON_GRADIENT, /* a gradient op has the partition of its forward op */
    REASON_LOOP,     /* one iteration of a loop leaves what the next one reads */
    REASON_CHOSEN    /* no pin: the op chose a strategy with this sharding, though no input was
                        sharded by the axis */
} ReasonKind;

typedef struct {
    ReasonKind kind;
    int32_t tensor; /* the site: tensor and dim; -1 for an index dim */
    int32_t op;     /* the op that the step goes through; -1 for a pin of a tensor dim */
    int dim;        /* of the tensor, or of the op if tensor is -1; -1 for partial */
    const Decision *pin;
} ReasonStep;

typedef struct {
    int axis; /* of the mesh */
    int n_steps;
    ReasonStep *step;   /* from the pin, or the op's choice, to the site asked about */
    int64_t n_left_out; /* number of steps after the pin that are left out: a chain has at most
                           REASON_STEPS_MAX */
} ReasonChain;

enum { REASON_STEPS_MAX = 64 };

/* Chains for each axis that shards one dim of a tensor, as it is stored or as its op makes it (dim
 * -1: its partial axes). Returns the number of chains. */
int why_tensor_dim(Arena *arena, const Plan *plan, int32_t tensor, int dim, ReasonChain **out);
/* Chains for each axis that shards an index dim of an op. */
int why_index_dim(Arena *arena, const Plan *plan, int32_t op, int index, ReasonChain **out);

/* The chain from the nearest pin to an index dim of op, or with op -1 to a dim of a tensor.
 * Returns false if no pin leads there. */
bool why_axis(Arena *arena, const Plan *plan, int axis, int32_t tensor, int32_t op, int dim,
              ReasonChain *out);

/* The pin at the beginning of that chain, also where a parameter takes what its uses need. NULL if
 * no pin leads there, or if the plan's making was cancelled. */
const Decision *why_pin(const Plan *plan, int axis, int32_t tensor, int32_t op, int dim);

const char *reason_kind_name(ReasonKind kind); /* "forward": the word of JSON answers */

/* "its pin", or the origin of a chain without a pin. */
const char *reason_root(const ReasonChain *chain);

/* One line of text for a step: "fwd  h.0.attn.c_attn  n/tp -> q 8/dp,1024,768/tp". */
void reason_format(const Plan *plan, const ReasonStep *step, int axis, Buf *out);

/* An op, as the lines of a chain name it. */
void reason_put_op(const Graph *graph, int32_t op, Buf *out);

/* The chain as numbered lines, from the site back to the pin, each after `indent`. */
void reason_format_chain(const Plan *plan, const ReasonChain *chain, const char *indent, Buf *out);

/* Everything about a tensor, as `dimscope why` prints it: every dim, partial axes, reshards;
 * numbered lines, chains end at a policy line. dim -2 means all dims. */
void why_format(const Plan *plan, int32_t tensor, int dim, Buf *out);

#endif
