/* runner.h - what executes the instructions of a program: host threads, processes under mpirun,
 * GPUs.
 *
 * rank.c goes through the program, verifies values and measures times; operations on memory go
 * through this table. A slot is a Local; its `data` is host memory or a device address. Functions
 * about a rank are called on its thread. They return false after rank_failed().
 */
#ifndef CORE_RUN_RUNNER_H
#define CORE_RUN_RUNNER_H

#include "core/run/rank.h"

/* The parts that a rank passes to the next one of its ring, and the Locals that receive those of
 * the one before. */
typedef struct {
    int n;
    Local *const *from, *const *to;
    int64_t next, before; /* positions */
} RingPass;

typedef struct Runner {
    const char *name;
    bool timed;    /* it measures by itself, asynchronously (rank_record_time(), rank_took_pass());
                    * else its    functions are timed */
    bool straight; /* it runs no branches, loops, micro-batches or programs that copy slots
                      (Program.copying_op), and only repeats one training step */

    /* Opens what the ranks of this process share, in team->own; *err says what the machine lacks.
     * The next three may be NULL. */
    bool (*open)(Team *team, Error *err);
    void (*close)(Team *team); /* also after a failed open() */
    bool (*rank_open)(Rank *rank);
    void (*rank_close)(Rank *rank); /* after its slots are dropped */

    bool (*load)(Rank *rank, const Instr *instr); /* makes and fills the slot */
    bool (*op)(Rank *rank, const Instr *instr);
    /* Called on every rank, also on those without instr->slot. *wait_us: time spent waiting for
     * other ranks. */
    bool (*step)(Rank *rank, const Instr *instr, double *wait_us);
    void (*drop)(Rank *rank, int32_t slot);

    /* Pass parts around a ring, in two calls between which a rank computes on what it sends; all
     * ranks of the op call them equally often. NULL: it cannot run ops whose parts go around a
     * ring. */
    bool (*pass_begin)(Rank *rank, RingPass *pass);
    bool (*pass_end)(Rank *rank, const Instr *instr, RingPass *pass);

    /* Executes a whole pass at once and sets *done, or leaves it false. May be NULL. */
    bool (*replay)(Rank *rank, int pass, bool *done);
    bool (*finish)(Rank *rank, int pass); /* waits for what was begun; may be NULL */
    /* The slot in host memory, valid until the next call; NULL on failure. */
    const Local *(*fetch)(Rank *rank, int32_t slot);
} Runner;

extern const Runner host_runner;
bool host_load(Rank *rank, const Instr *instr);
bool host_op(Rank *rank, const Instr *instr);
bool host_step(Rank *rank, const Instr *instr, double *wait_us);
const Local *host_fetch(Rank *rank, int32_t slot);
/* Runs the turns of an op whose parts go around a ring, instead of its kernel call. core/run/ring.c
 */
bool ring_op(Rank *rank, const Instr *instr, const KernelCall *call, Error *err);
/* The index dim of the op whose parts go around a ring; -1: none. */
int ring_index_of(const Plan *plan, int32_t op);
/* How often a result of the op is stored while parts go around: the sums of a product; else 0. */
int64_t ring_stores(const Plan *plan, int32_t op);
/* rank_make() with elements in host memory; NULL after rank_failed(). */
Local *host_make_slot(Rank *rank, int32_t slot);

#endif
