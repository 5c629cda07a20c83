/* runner.h - who does the instructions of a program: threads on this host, processes under mpirun,
 * GPUs.
 *
 * rank.c goes through the program, checks values and keeps times; what is done on memory goes
 * through this table. A slot is a Local whose elements lie where the runner keeps them: in this
 * host's memory, or on its device, and then `data` is a pointer there. Functions about a rank are
 * called on that rank's thread. They return false with rank->result->head->err set, which
 * rank_failed() does.
 */
#ifndef CORE_RUN_RUNNER_H
#define CORE_RUN_RUNNER_H

#include "core/run/rank.h"

typedef struct Runner {
    const char *name;
    bool timed; /* it tells when things were done by rank_took() and rank_took_pass(), since it does
                   them later; else they are as long as its functions take */
    bool straight; /* it runs no branches and loops, and no program that copies slots
                      (Program.copying_op): its slots are not this host's Locals */

    /* What all ranks of this process share, in team->own; *err says what this machine lacks. The
     * three after it may be NULL. */
    bool (*open)(Team *team, Error *err);
    void (*close)(Team *team); /* also after a failed open() */
    bool (*rank_open)(Rank *rank);
    void (*rank_close)(Rank *rank); /* after its slots are dropped */

    bool (*load)(Rank *rank, int32_t slot); /* makes and fills it */
    bool (*op)(Rank *rank, const Instr *instr);
    /* Every rank is told of every step; instr->slot may not be one of its own. *wait_us: how long
     * it stood until the others had come. */
    bool (*step)(Rank *rank, const Instr *instr, double *wait_us);
    void (*drop)(Rank *rank, int32_t slot);

    /* All of a pass at once, instead of the instructions one by one: NULL, or *done says whether.
     */
    bool (*replay)(Rank *rank, int pass, bool *done);
    bool (*finish)(Rank *rank, int pass); /* what was begun is done; NULL: it always is */
    /* The slot in this host's memory, until the next call of it; NULL on failure. */
    const Local *(*fetch)(Rank *rank, int32_t slot);
} Runner;

extern const Runner host_runner;
bool host_load(Rank *rank, int32_t slot);
bool host_op(Rank *rank, const Instr *instr);
bool host_step(Rank *rank, const Instr *instr, double *wait_us);
const Local *host_fetch(Rank *rank, int32_t slot);
/* rank_make() with elements in this host's memory; NULL: there is none, which the rank says. */
Local *host_make_slot(Rank *rank, int32_t slot);

#endif
