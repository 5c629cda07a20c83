/* result.h - what ranks leave behind: one block of plain bytes a rank, in memory that is shared
 * with whoever forked the run (supervise.h).
 *
 * So a parent reads where each rank was when its child died, and processes of a world gather their
 * blocks as bytes. The lengths follow from the plan, the program and the number of passes, which
 * all have alike.
 */
#ifndef CORE_RUN_RESULT_H
#define CORE_RUN_RESULT_H

#include "core/run/program.h"
#include "core/run/run.h"
#include "core/run/trace/trace.h"
#include "core/run/verify.h"

#include <stdatomic.h>

typedef enum { RANK_IDLE, RANK_WORKING, RANK_WAITING, RANK_DONE } RankState;

typedef struct {
    atomic_int state;   /* RankState */
    atomic_int at;      /* the instruction it is in */
    atomic_int n_begun; /* instructions, of all passes */
    atomic_int n_beats; /* rank_beats() */
    atomic_int thread;  /* as the kernel numbers it; 0: has not begun */
    int n_done;         /* passes */
    int64_t live_bytes, peak_bytes;
    int first_bad;      /* the first instruction that makes a value which differs, or -1 */
    int32_t bad_tensor; /* that value */
    RunWrong wrong;     /* an element of it */
    int32_t strange;    /* an output with elements that are not finite, or -1 */
    int64_t n_strange;
    int n_checked; /* values compared, by the first rank that has them */
    Error err;
} RankHead;

typedef struct {
    RankHead *head;
    double *op_us, *reshard_us; /* per pass, then per op of the graph and per reshard of the plan */
    double *reshard_move_us;    /* the same without waiting for others */
    double *pass_us;            /* per pass: ops and steps, waiting for others included */
    double *begin_us;           /* per pass: what it took the host to begin it all on a device */
    TraceSpan *span, *last_span; /* by instruction, of this pass and the last; NULL: not traced */
    Difference *output;          /* per graph output */
    bool *
        copied; /* per op of the graph: done by the host's kernel, on copies of what a device has */
} RankResult;

/* Of the run as a whole, in the same memory. */
typedef struct {
    atomic_bool stop;   /* asked for by whoever watches */
    atomic_int crashed; /* by a signal: the rank, plus 1; 0: none */
    atomic_bool ended;  /* a child came to its end, well or not */
    bool ok, cancelled;
    int n_drawn; /* weights that are not in the model */
    Error err;   /* where not ok */
} RunOutcome;

typedef struct {
    int n_ranks;
    int64_t rank_bytes; /* of a rank's block; they follow each other from rank[0].head on */
    RankResult *rank;   /* by position */
    RunOutcome *outcome;
    void *map;
    size_t map_bytes;
} Results;

/* ERROR_RUN: there is no memory for so many passes. Ends with results_close(). */
bool results_open(Arena *arena, const Plan *plan, const Program *program, int n_ranks,
                  const RunOptions *options, Results *out, Error *err);
void results_close(Results *results);

/* "in Gemm 'h.0.mlp.c_fc'", "in all-reduce of 'y'", "before the first instruction": where a rank
 * is. */
void rank_place(const Plan *plan, const Program *program, const RankHead *head, Buf *out);

#endif
