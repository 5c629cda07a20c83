/* reason.h - why an axis is on a dim: the shortest chain of derivations back to a pin.
 *
 * Sites are tensor dims and index dims of ops. From every pin, a breadth-first walk over the final
 * state follows the same links that propagation uses (a tensor dim and an index dim whose
 * projection joins them), so each axis on each dim has its nearest pin and the chain to it; under
 * strategy, which goes op by op, the links lead forward only, and a chain may begin at an op's own
 * choice. Made once, on the first question. Also says why a tensor is partial (the reduce dim that
 * is cut) and what a reshard is for.
 */
#ifndef CORE_EXPLAIN_REASON_H
#define CORE_EXPLAIN_REASON_H

#include "core/explain/sites.h"

/* The sites of the plan, numbered on the first question. */
const Sites *plan_sites(const Plan *plan);

/* Empty; filled by the first question about each axis, which takes a walk over the plan. What it
 * then holds is its own, to be forgotten before the arena goes. */
Reasons *reasons_new(Arena *arena);
void reasons_forget(Reasons *reasons);

/* ---- on another thread ---- */

/* Whether any question is answered without a walk. */
bool reasons_known(const Plan *plan);

/* Walks every axis; the plan's own reasons stay as they are. False when it was stopped: what is
 * found then is good for reasons_forget() only. */
bool reasons_find(const Plan *plan, Reasons *out, Progress *progress, Error *err);
void reasons_take(const Plan *plan, Reasons *found); /* what was found; it is empty then */

/* ORDER REASON_KIND */
typedef enum {
    REASON_PIN,      /* this dim is pinned; decision says by whom */
    REASON_FORWARD,  /* op took it from an input */
    REASON_BACKWARD, /* op's output or other reader needs it so */
    REASON_USE,      /* an op beside: operand takes the op's index dim */
    REASON_PARTIAL,  /* op sums an index dim that the axis cuts */
    REASON_PASS,     /* op is linear: its input is partial */
    REASON_LOOP,     /* what an iteration of a loop leaves is what the next finds */
    REASON_CHOSEN /* no pin: the op chose a row that cuts so what no input was cut by (strategy) */
} ReasonKind;

typedef struct {
    ReasonKind kind;
    int32_t tensor; /* the site: tensor and dim; -1 when it is an index dim */
    int32_t op;     /* the op the step goes through; -1 for a pin of a tensor dim */
    int dim;        /* of the tensor, or of the op when tensor is -1; -1: partial */
    const Decision *pin;
} ReasonStep;

typedef struct {
    int axis; /* of the mesh */
    int n_steps;
    ReasonStep *step;   /* from the pin, or the choice, to the site asked for */
    int64_t n_left_out; /* steps after the pin that are not listed: a chain has at most
                           REASON_STEPS_MAX */
} ReasonChain;

enum { REASON_STEPS_MAX = 64 };

/* Chains for each axis on one dim of a tensor (dim -1: its partial axes). Number of chains. */
int why_tensor_dim(Arena *arena, const Plan *plan, int32_t tensor, int dim, ReasonChain **out);
/* Chains for each axis that cuts an index dim of an op. */
int why_index_dim(Arena *arena, const Plan *plan, int32_t op, int index, ReasonChain **out);

/* The chain of the nearest pin to an index dim of op, or (op -1) to a dim of a tensor. False: no
 * pin leads the axis there. */
bool why_axis(Arena *arena, const Plan *plan, int axis, int32_t tensor, int32_t op, int dim,
              ReasonChain *out);

const char *reason_kind_name(ReasonKind kind); /* "forward": the word of JSON answers */

/* "its pin", or what a chain without one goes back to. */
const char *reason_root(const ReasonChain *chain);

/* One line of text for a step: "fwd  h.0.attn.c_attn  n/tp -> q 8/dp,1024,768/tp". */
void reason_format(const Plan *plan, const ReasonStep *step, int axis, Buf *out);

/* The chain as numbered lines, from the site back to the pin, `indent` before each. */
void reason_format_chain(const Plan *plan, const ReasonChain *chain, const char *indent, Buf *out);

/* All of it for a tensor, as `dimscope why` prints it: every dim, partial axes, reshards; numbered
 * lines, chains end at a policy line. dim -2: all dims. */
void why_format(const Plan *plan, int32_t tensor, int dim, Buf *out);

#endif
