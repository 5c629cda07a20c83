/* why_not.h - why an axis is not on a tensor: where it is nearest, and what stopped it on the way.
 *
 * For each dim asked about, a breadth-first walk along the joints of sites.h finds the nearest
 * places that have the axis; the op between such a place and the next one towards the dim is where
 * it stopped, and says why (stop.h). A plan by the factor propagator answers from the visit itself
 * (propagate_stops); other propagators from the op space and what the op is cut by.
 */
#ifndef CORE_EXPLAIN_WHY_NOT_H
#define CORE_EXPLAIN_WHY_NOT_H

#include "core/base/json.h"
#include "core/explain/reason.h"
#include "core/plan/stop.h"

enum { WHY_NOT_STOPS = 3 }; /* sorted, the nearest first, by dim */

typedef struct {
    StopRecord at;
    int32_t tensor; /* the operand it is about */
    int n_ops;      /* ops from the one that stopped it to the dim asked about; 0 if that is the
                       tensor's maker or reader */
    bool beside;    /* the axis is on nothing near: `stop` says why it could not shard the dim at
                       this op */
    bool has_chain;
    ReasonChain from;    /* how the axis got as far as it did */
    const Decision *pin; /* STOP_CLOSED: the pin that closes the dim; else NULL */
} WhyNotStop;

typedef struct {
    int dim;
    AtomSet here;  /* the part of the axis that shards the dim, as it is stored or as its op
                      makes it; the question is about the rest */
    int other_dim; /* another dim of the tensor that the axis shards, since it can shard only
                      one; -1 */
    int n_stops;   /* 0 if no pin leads the axis to anything linked with this dim */
    WhyNotStop stop[WHY_NOT_STOPS];
} WhyNotDim;

typedef struct {
    int32_t tensor;
    int axis;
    bool partial; /* the tensor is partial over it */
    int n_dims;   /* 0 if part of the shape is unknown */
    WhyNotDim *dim;
} WhyNot;

/* dim -1 means all dims. In the arena. */
WhyNot why_not(Arena *arena, const Plan *plan, int32_t tensor, int dim, int axis);

/* The reason, from the op alone, why the axes do not shard that dim of an operand: the op has no
 * rule, needs the dim whole, or is sharded by them along another index dim. Returns false if it
 * gives none. */
bool why_not_at(const Plan *plan, int32_t op, int operand, int dim, AtomSet atoms, WhyNotStop *out);

/* Appends what stopped the axis, as a clause. */
void why_not_format_stop(const Plan *plan, const WhyNotStop *stop, Buf *out);

/* Lines of text; the last line of a dim names what would let the axis through. */
void why_not_format(const Plan *plan, int32_t tensor, int dim, int axis, Buf *out);

/* {"tensor","axis","partial","dims":[{"dim","size","here","other_dim","stops":[{"op","path","operator","tensor",
 * "stop","text","hint","ops_away","beside","from":[lines]}]}]}; the caller frees it. */
Json *why_not_json(const Plan *plan, int32_t tensor, int dim, int axis);

#endif
