/* rank.h - one rank of a run: a thread that executes the program on its own parts.
 *
 * The ranks of a process share a Team. A rank writes only its own Rank and result. A rank that
 * fails stores the error in its result and sets `failed`; rank_meet() then returns false
 * everywhere, so all stop. The first rank of process 0 calls `progress` and runs the reference's
 * ops; the first of each process runs on the caller's thread.
 */
#ifndef CORE_RUN_RANK_H
#define CORE_RUN_RANK_H

#include "core/run/feed.h"
#include "core/run/verify/reference.h"
#include "core/run/result.h"
#include "core/run/world.h"

typedef struct Team Team;
typedef struct Verify Verify;

/* Shape and type of a slot that are known only at run time. */
typedef struct {
    Shape shape;
    Dtype dtype;
} RuntimeShape;

typedef struct {
    Team *team;
    int64_t position;
    Arena *arena;          /* of the fields below */
    Local **slot;          /* by slot of the program, in the current view; NULL: empty */
    Local **views;         /* those of all views, one after another */
    RuntimeShape *runtime; /* by slot of the program */
    KernelKept *kept;      /* [view][place of Program.kept_of] */
    int64_t *iteration;    /* by body of the graph: current iteration; after the loop the number of
                            * iterations */
    int64_t *most;         /* by body of the graph: most iterations */
    RankResult *result;
    void *own;            /* the runner's */
    Local *const *handed; /* parts for the next rank of a ring */
    Vec(Local *) parts;   /* parts of an interrupted ring, kept until no rank can read them */
    int pass;
} Rank;

struct Team {
    const Plan *plan;
    const Program *program;
    const RunOptions *options;
    const struct Runner *runner;
    const char *instead; /* RunReport.instead */
    World *world;
    int n_ranks, n_passes;   /* ranks: of the run */
    int first_rank, n_local; /* of this process: consecutive positions */
    Rank *ranks;             /* n_local, by position - first_rank */
    Results *results;
    void *own; /* of the runner */
    Feeds feeds;
    Reference reference;         /* when options->verify; only in the first pass */
    Verify *verify;              /* the same; else NULL */
    Local **expected;            /* per tensor: the expected output, or NULL; NULL: none given */
    bool *stays;                 /* per slot: loaded once */
    pthread_mutex_t lock, *blas; /* blas: the lock, or NULL for plain loops */
    int64_t shared_number;       /* rank_flow.c: a condition or a number of iterations */
    atomic_int waiting;
    atomic_uint round, n_left;
    atomic_bool failed;
};

/* Allocates the rank's arrays; end with rank_close(). */
void rank_open(Rank *rank, Team *team, int64_t position);
void rank_close(Rank *rank);

/* Executes the program n_passes times. Returns false if this rank or another one failed. All ranks
 * of the team must be in it at the same time. */
bool rank_run(Rank *rank);

/* Barrier of all ranks of all processes. False when one has failed. */
bool rank_meet(Rank *rank);

/* ---- for runners ---- */

/* Returns false, for `return rank_failed(rank, &inner)`; keeps the first error of a rank. */
bool rank_failed(Rank *rank, const Error *err);
bool rank_step_failed(Rank *rank, const Instr *instr, const Error *err); /* names the step */

/* rank_has(): whether the rank's device is on the sub-mesh of the slot; rank_stands_on(): on a
 * given sub-mesh. */
bool rank_has(const Rank *rank, int32_t slot);
bool rank_stands_on(const Rank *rank, int devices);

/* Returns whether this rank does what is done once per process. */
static inline bool rank_leads(const Rank *rank)
{
    return rank->position == rank->team->first_rank;
}

/* Makes a view of the slots the current one. */
void rank_view(Rank *rank, int view);

/* Selects the draws of inputs and random ops for an instruction: every micro-batch of every step
 * has its own. */
int64_t rank_batch(const Rank *rank, const Instr *instr);

/* Makes the rank's part of a slot without elements (type, shapes, runs), puts it into the slot and
 * counts its bytes. The runner sets `data`. */
Local *rank_make(Rank *rank, int32_t slot);
/* Puts a Local into an empty slot and counts its bytes; removes it without freeing it. */
void rank_put(Rank *rank, int32_t slot, Local *local);
Local *rank_remove(Rank *rank, int32_t slot);
/* Frees the slot's Local. The runner has freed `data` before, unless that is in the Local's
 * arena. */
void rank_unmake(Rank *rank, int32_t slot);

/* The kernel call of an op: inputs from slots, outputs made by `make`. False when `make` fails or
 * the op's rule refuses the shapes found at run time. rank_keep_made() puts outputs that the kernel
 * made into their slots; false when elements of a sequence are not of the shape that was planned.
 */
typedef Local *MakeSlot(Rank *rank, int32_t slot);
bool rank_kernel_call(Rank *rank, const Instr *instr, MakeSlot *make, Arena *scratch,
                      KernelCall *out);
bool rank_keep_made(Rank *rank, const KernelCall *call);

/* The duration of an instruction, or of a pass, by wall clock or device clock. */
void rank_record_time(Rank *rank, const Instr *instr, int pass, TraceSpan span);
void rank_took_pass(Rank *rank, int pass, double us);
double run_now_us(void);

/* Reports progress outside of instructions (while a device is opened or a pass is enqueued at
 * once), so that the watchdog does not end the run. Thread-safe. */
void rank_beats(Rank *rank);

/* ---- branches, loops, micro-batches: core/run/rank_flow.c ---- */

/* Executes a control-flow instruction and sets the next one. Returns false if a condition cannot be
 * read or memory is out. */
bool rank_flow(Rank *rank, int at, int *next);

/* Between two training steps: the results of the last step replace what it read. */
bool rank_carry(Rank *rank);

/* ---- after the run: core/run/report.c ---- */

/* Makes the report of the passes that all ranks finished, in the arena. Returns false when there is
 * none. */
bool report_make(Arena *arena, const Team *team, RunReport *out);

#endif
