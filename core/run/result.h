/* result.h - the results of ranks: one block of plain bytes per rank, in memory shared with the
 * process that forked the run (supervise.h).
 *
 * So the parent knows where each rank was when its child died, and processes gather their blocks as
 * bytes. Lengths follow from the plan, the program and the number of passes, the same in all
 * processes.
 */
#ifndef CORE_RUN_RESULT_H
#define CORE_RUN_RESULT_H

#include "core/run/verify/compare.h"
#include "core/run/program.h"
#include "core/run/run.h"
#include "core/run/trace/trace.h"

#include <stdatomic.h>

typedef enum { RANK_IDLE, RANK_WORKING, RANK_WAITING, RANK_DONE } RankState;

typedef struct {
    atomic_int state;   /* RankState */
    atomic_int at;      /* current instruction */
    atomic_int n_begun; /* instructions begun, of all passes */
    atomic_int n_beats; /* rank_beats() */
    atomic_int thread;  /* thread id of the system; 0: has not begun */
    int n_done;         /* passes */
    int64_t live_bytes, peak_bytes;
    int first_bad;       /* first instruction that makes a wrong value, or -1 */
    RunElement wrong;    /* a wrong element of it */
    int first_overflow;  /* under a dynamic loss scale: first instruction whose gradient leaves the
                            range of f16 on this rank but not on one device, or the other way; -1 */
    RunElement overflow; /* an element of it that does */
    double closest;      /* the largest share of its bound that the difference of a right element
                            takes */
    RunElement close;    /* that element */
    int32_t strange;     /* an output with NaN or infinite elements, or -1 */
    int64_t n_strange;
    int n_checked;   /* values compared, by the first rank that holds them */
    int n_unchecked; /* values that could not be compared */
    Error err;
} RankHead;

typedef struct {
    RankHead *head;
    double *op_us, *reshard_us; /* per pass, then per op of the graph and per reshard of the plan */
    double *reshard_move_us;    /* the same without waiting for others */
    double *block_us, *block_wait_us; /* per pass, then per block of the program: its work; its
                                       * sends, and waiting for others */
    double *pass_us;                  /* per pass: ops and steps, waiting for others included */
    double *begin_us;                 /* per pass: time to enqueue it on a device */
    TraceSpan *span, *last_span; /* by instruction, of this and the last pass; NULL: not traced */
    RunStep *step;               /* per pass of a training step; NULL otherwise */
    Difference *output;          /* per graph output, of all passes */
    int64_t *n_elements, *n_finite; /* per graph output: elements held, finite ones */
    bool *copied; /* per op of the graph: run by the host's kernel on copies of device memory */
} RankResult;

/* About the whole run, in the same memory. */
typedef struct {
    atomic_bool stop;      /* set by the parent */
    atomic_int crashed;    /* 1 + the rank killed by a signal; 0: none */
    atomic_bool no_memory; /* the child ended itself because memory ran out */
    atomic_bool ended;     /* the child has ended, well or not */
    bool ok, cancelled;
    int n_drawn; /* weights drawn because the model file lacks them */
    Error err;   /* when not ok */
} RunOutcome;

typedef struct {
    int n_ranks;
    int64_t rank_bytes; /* of one rank; contiguous from rank[0].head on */
    RankResult *rank;   /* by position */
    RunOutcome *outcome;
    void *map;
    size_t map_bytes;
} Results;

/* ERROR_RUN when memory is not enough for so many passes. End with results_close(). */
bool results_open(Arena *arena, const Plan *plan, const Program *program, int n_ranks,
                  const RunOptions *options, Results *out, Error *err);
void results_close(Results *results);

/* Whether blocks that other processes sent can be results: places are in the program and in the
 * graph, counts can be added up. ERROR_RUN names the rank of one that cannot. */
bool results_check(const Results *results, const Plan *plan, const Program *program,
                   const RunOptions *options, Error *err);

/* Where a rank is: "in Gemm 'h.0.mlp.c_fc'", "in all-reduce of 'y'", "before the first
 * instruction". */
void rank_place(const Plan *plan, const Program *program, const RankHead *head, Buf *out);

#endif
