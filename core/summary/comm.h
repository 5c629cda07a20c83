/* comm.h - a plan's reshards as screens show them: by op, in sums, and as a folded table.
 *
 * Reshards that differ only in the numbers in their names (one per layer) are one row xN: equal
 * steps, shardings, bytes, pass and count per step, and equal labels once digits are wildcards.
 * Rows are sorted by total time, the most expensive first; equal times by first use.
 */
#ifndef CORE_SUMMARY_COMM_H
#define CORE_SUMMARY_COMM_H

#include "core/session/session.h"
#include "core/cost/step_comm.h"
#include "core/cost/step_parts.h"
#include "core/cost/traffic.h"

typedef struct {
    int32_t first; /* a reshard: the first of the row; the others are linked by Comm.next_alike */
    int n;
    double times, us;  /* of the whole row: how often a step runs them, and the total time */
    double exposed_us; /* the part of `us` that ops wait for (exposed.h) */
    CommPass pass;     /* of a training step */
    double step_us;    /* for all micro-batches of a step */
    const char *label; /* "h.*.attn.c_proj out" */
} CommRow;

/* ORDER COMM_SORT: total time of a step, time, bytes, the largest first; names; first use. */
typedef enum {
    COMM_BY_TOTAL,
    COMM_BY_EACH,
    COMM_BY_BYTES,
    COMM_BY_NAME,
    COMM_BY_PROGRAM,
    COMM_SORT_COUNT
} CommSort;

/* Sums over ranges of groups->order: time of compute, time of reshards, and how many of these move
 * data; loops count with every iteration. */
typedef struct {
    double us, comm_us, count;
} CommSums;

typedef struct {
    Arena *arena;
    const Session *session;
    int32_t *of_op;     /* per op: first reshard shown at it, -1 */
    int32_t *next;      /* per reshard: the next at the same op */
    int32_t *at_op;     /* per reshard: the op it is shown at, -1 */
    CommSums *before;   /* prefix sums over groups->order; comm_sum() */
    Arena *table_arena; /* of a table that is made in the background; else NULL */
    int n_rows;         /* -1 until the table is made */
    int n_all;          /* including the rows after n_rows, which a filter leaves out */
    CommSort sort;
    bool reversed;
    const char *kept_by; /* the filter's text; NULL if all are listed */
    CommRow *row;
    CommPasses passes;      /* of all reshards; made with the table */
    const Traffic *traffic; /* NULL until asked for */
    const StepParts *parts; /* likewise: comm_parts() */
    int32_t *row_of;        /* per reshard */
    int32_t *next_alike;    /* per reshard */
} Comm;

Comm *comm_new(const Session *session);
/* The sums over the range first..end of groups->order. */
CommSums comm_sum(const Comm *comm, int32_t first, int32_t end);
void comm_free(Comm *comm); /* NULL is allowed */

/* Makes the rows, once. Returns false if it was cancelled; the table is then not usable. */
bool comm_table(Comm *comm, Progress *progress);
/* Where the time of a step goes; made once. */
const StepParts *comm_parts(Comm *comm);

/* Moves the rows from a copy that has an arena of its own for them. */
void comm_take_table(Comm *comm, const Comm *made);

typedef bool CommKeep(const void *context, int32_t reshard);

/* Sorts the rows; reversed: the smallest first. Rows that `keep` rejects come after n_rows. text:
 * identifies `keep`; NULL if all are listed. */
void comm_arrange(Comm *comm, CommSort sort, bool reversed, const char *text, CommKeep *keep,
                  const void *context);

/* Payload of the largest step. */
int64_t comm_payload(const Reshard *reshard);

/* Returns whether a decision asks for this reshard: a pin of the value, or a pin of how a parameter
 * is stored. */
bool comm_is_asked(const Plan *plan, const Reshard *reshard);

/* Reshards are shown at the op that makes the value; those of parameters and inputs at their first
 * reader. Returns -1 if there is neither. */
int32_t comm_op(const Session *session, const Reshard *reshard);

/* "AR tp", "AG tp+AR dp": the steps of a path. */
void comm_format_steps(const Session *session, const ReshardPath *path, Buf *out);
/* The mark of an axis in a sharding: "S1", the partial mark, "R". */
void comm_format_state(const Mesh *mesh, const Sharding *sharding, int axis, const char *partial,
                       Buf *out);
/* The change per axis: "+ -> R", "S0 -> S1"; `partial` is the mark of a partial axis. */
void comm_format_change(const Session *session, const Reshard *reshard, const char *partial,
                        const char *arrow, Buf *out);

/* "{d0 d1 d2 d3} {d4 d5 d6 d7}": the groups of a collective over these atoms on a part of the mesh;
 * on a large mesh the first group and the number of others: "{d0 d1 d2 .. d15} and 63 more". */
void comm_format_groups(const Mesh *mesh, SubMesh part, AtomSet atoms, Buf *out);
/* The groups of the s-th step of a reshard; for a send the pairs, "{d0 d4} {d1 d5}". */
void comm_format_step_groups(const Plan *plan, const Reshard *reshard, int s, Buf *out);
/* "pp=0": a part of the mesh, given its index in plan->submeshes; "all" for the whole mesh. */
void comm_format_part(const Session *session, int devices, Buf *out);

/* The dim whose cut a reshard removes or adds; -1 if it is a reduction. */
int comm_moved_dim(const Session *session, const Reshard *reshard);

/* The decision behind a reshard: the pin at the start of the chain of the cut that is removed. NULL
 * if none is known. */
const Decision *comm_cause(Arena *arena, const Session *session, const Reshard *reshard);

#endif
