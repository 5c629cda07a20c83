/* rank.h - one rank of a run: a thread that does the program on its own parts.
 *
 * The ranks of a process share a Team. A rank writes only its own Rank and result. A rank that
 * fails says why in its result and sets `failed`, and every meeting then ends with false, so that
 * all stop. The first rank of process 0 asks `progress` and does the reference's ops; that of each
 * process runs on the thread of the caller.
 */
#ifndef CORE_RUN_RANK_H
#define CORE_RUN_RANK_H

#include "core/run/feed.h"
#include "core/run/result.h"
#include "core/run/world.h"

typedef struct Team Team;

/* What the run told of a slot whose shape was not known before. */
typedef struct {
    Shape shape;
    Dtype dtype;
} Told;

typedef struct {
    Team *team;
    int64_t position;
    Arena *arena;       /* of what is below */
    Local **slot;       /* by slot of the program; NULL: empty */
    Told *told;         /* by slot of the program */
    int64_t *iteration; /* by body of the graph: which it is in; after it, how many there were */
    int64_t *most;      /* by body of the graph: iterations at most */
    RankResult *result;
    void *own; /* of the runner */
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
    int first_rank, n_local; /* those of this process: neighbours */
    Rank *ranks;             /* n_local, by position - first_rank */
    Results *results;
    void *own; /* of the runner */
    Feeds feeds;
    Reference reference; /* when options->verify; only in the first pass */
    Local **expected;    /* per tensor: what an output must be, or NULL; NULL: nothing is given */
    bool *stays;         /* per slot: loaded once */
    pthread_mutex_t lock, *blas; /* blas: the lock, or NULL for plain loops */
    atomic_int waiting, n_left;
    atomic_uint round;
    atomic_bool failed;
};

/* Makes the rank's arrays; ends with rank_close(). */
void rank_open(Rank *rank, Team *team, int64_t position);
void rank_close(Rank *rank);

/* All of the program, n_passes times. False: failed here or elsewhere. Every rank of the team must
 * be in it at the same time. */
bool rank_run(Rank *rank);

/* Waits for all ranks of all processes. False when one of them has failed. */
bool rank_meet(Rank *rank);

/* ---- for runners ---- */

/* False, so that a failing function can say `return rank_failed(rank, &inner)`; the first error of
 * a rank is kept. */
bool rank_failed(Rank *rank, const Error *err);
bool rank_step_failed(Rank *rank, const Instr *instr, const Error *err); /* names the step */

/* Whether the rank is on the part of the mesh that has the slot; on a part of the mesh. */
bool rank_has(const Rank *rank, int32_t slot);
bool rank_stands_on(const Rank *rank, int devices);

/* The rank's part of a slot, without elements: its type, shapes and runs. Puts it into the slot and
 * counts its bytes; the runner gives it `data`. */
Local *rank_make(Rank *rank, int32_t slot);
/* Puts a Local that somebody made into an empty slot, and counts its bytes; takes it out as it is.
 */
void rank_put(Rank *rank, int32_t slot, Local *local);
Local *rank_take(Rank *rank, int32_t slot);
/* Takes the slot's Local away, the runner having freed `data` where it is not in its arena. */
void rank_unmake(Rank *rank, int32_t slot);

/* What a kernel is told of an op: its slots, outputs being made by `make`. False when `make` is, or
 * the op's rule refuses what the run told. After the kernel: what it made itself goes to its slots.
 */
typedef Local *MakeSlot(Rank *rank, int32_t slot);
bool rank_kernel_call(Rank *rank, int32_t op, MakeSlot *make, Arena *scratch, KernelCall *out);
void rank_keep_made(Rank *rank, const KernelCall *call);

/* How long an instruction took, as wall clock or as a device's clock; one pass. */
void rank_took(Rank *rank, const Instr *instr, int pass, TraceSpan span);
void rank_took_pass(Rank *rank, int pass, double us);
double run_now_us(void);

/* It comes further in something long that is no instruction: opening a device, a pass that was
 * begun at once. Whoever watches lets it go on. From any thread. */
void rank_beats(Rank *rank);

/* ---- branches and loops: core/run/rank_flow.c ---- */

/* Does an instruction of them, and says which is next; false: a condition cannot be read, memory
 * is out. */
bool rank_flow(Rank *rank, int at, int *next);

/* ---- after the run: core/run/report.c ---- */

/* The report of the passes that all ranks finished, in the arena. False when there is none. */
bool report_make(Arena *arena, const Team *team, RunReport *out);

#endif
