/* edges_state.h - private to the files that find edges: edges.c, edges_stored.c,
 * partial_values.c. */
#ifndef CORE_PLAN_EDGES_STATE_H
#define CORE_PLAN_EDGES_STATE_H

#include "core/base/intern.h"
#include "core/plan/edges.h"
#include "core/reshard/sending.h"

enum { NONE = -1, UNDECIDED = -2 };

typedef struct {
    const Plan *plan;
    Moved *out;
    Arena *scratch;
    Intern *asked;              /* (space, cut) -> projected */
    Intern *partials;           /* (sharding, kind of each partial atom) -> with_partials */
    Vec(int32_t) with_partials; /* shardings */
    Vec(int32_t *) projected;   /* Shardings ids by operand; then the same for inputs with halos */
    const int32_t **of_op;      /* per op: of those, once asked for; NULL before */
    int32_t *whole;             /* per shape: 1 + Shardings id of the replicated tensor */
    int32_t *n_readers;         /* per tensor: number of program ops that read it */
    int32_t *first_reshard;     /* per tensor: 1 + place in reshards */
    Vec(int32_t) next_reshard;  /* per reshard: 1 + index of the next reshard of the same tensor */
    Vec(Reshard) reshards;
    Vec(int32_t) use_of, use_op; /* per use: reshard, op */
    Sender **senders;            /* per sub-mesh, NULL until used; NULL until a value is sent
                                    between devices */
    int n_unsent;                /* number of values that are not sent; the first of them, and
                                    the op that reads it */
    int32_t unsent, unsent_op;
    AtomSet *unreduced, *replicated; /* per tensor: the axes that a mark leaves it partial over, or
                                        keeps out of its dims; NULL if there are no marks */
    bool *together; /* per tensor: in a group with a tensor that an op makes; NULL if no groups */
    bool *
        stored_gradient; /* per tensor: a gradient that a store pin places; NULL if there is none */
    struct {
        int32_t parameter, from, stored; /* what the last state asked for */
    } last_state;
    bool *kept;     /* per tensor: what is gathered of it is kept; NULL if there is none */
    int32_t *first; /* per tensor: the first of its group, or the tensor itself; NULL likewise */
} Edges;

/* ---- edges.c ---- */

/* Shardings ids by operand: the projections of the op's cut. */
const int32_t *edges_projections(Edges *e, int32_t op);
/* The Shardings id of the replicated tensor; NONE if its shape is unknown. */
int32_t edges_whole(const Edges *e, int32_t tensor);
/* The sharding that the op needs or makes of an operand, given its projections: whole if its rule
 * says nothing. */
int32_t edges_need(const Edges *e, const OpSpace *space, const int32_t *ids, int operand,
                   int32_t tensor);

/* ---- edges_stored.c ---- */

/* The sharding without the axes that a mark keeps out of the tensor. It is not partial over them
 * either, unless another mark wants that. */
int32_t edges_obey_marks(const Edges *e, int32_t tensor, int32_t sharding);
/* Returns whether the tensor keeps the sharding that propagation or a store pin gave it, whatever
 * its op makes or its readers need. */
bool edges_is_held(const Edges *e, int32_t tensor);
void edges_store_parameters(Edges *e);

/* ---- partial_values.c ---- */

/* The axes over which the outputs of an op stay partial because its inputs are. Inputs that are not
 * yet partial over them are made so. */
typedef struct {
    AtomSet passed; /* by the rules of edges.h; 0 where the propagator decides */
    bool joined;    /* every input is read partial over `passed` */
    AtomSet atoms;  /* the axes of either set; the reduction of each: */
    uint8_t kind[ATOMS_MAX];
} PassedPartials;

PassedPartials partial_passed(Edges *e, int32_t op);
/* The axes over which input `operand` is read partial. */
AtomSet partial_read(const Edges *e, int32_t op, int operand, const PassedPartials *partials);

#endif
