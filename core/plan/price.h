/* price.h - what a step of a reshard costs: its payload, its bytes on the wire, its time.
 *
 * n: ranks of a group; bytes: the payload of one rank, as reshard.h says for each kind.
 */
#ifndef CORE_PLAN_PRICE_H
#define CORE_PLAN_PRICE_H

#include "core/plan/machine.h"

/* ORDER STEP_KIND */
typedef enum {
    STEP_SLICE,
    STEP_ALL_GATHER,
    STEP_ALL_REDUCE,
    STEP_REDUCE_SCATTER,
    STEP_ALL_TO_ALL,
    STEP_PERMUTE,   /* each rank sends all it has to one other: the order of devices changes */
    STEP_SEND,      /* the same to a device of another mesh */
    STEP_BROADCAST, /* one device to several of another mesh */
    STEP_KIND_COUNT
} StepKind;

const char *step_kind_name(StepKind kind); /* "all_reduce" */
const char *step_kind_mark(StepKind kind); /* "AR" */

typedef struct {
    double us;
    int64_t wire_bytes;    /* what one rank sends */
    const char *algorithm; /* "ring LL128", "tree Simple"; "" of a slice */
} Price;

/* One collective on groups of ranks that differ in `atoms` only, `bytes` of payload each. */
Price price_step(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                 int64_t bytes);

/* The formula of the algorithm chosen, with its terms named and numbers put in. */
void price_explain(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                   int64_t bytes, Buf *out);

#endif
