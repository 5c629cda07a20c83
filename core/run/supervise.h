/* supervise.h - a run in a child process, watched.
 *
 * A kernel that crashes, hangs or eats all memory takes its process along; so that this is the
 * child, whoever explores a plan runs it there. The child has a copy of all memory, so nothing is
 * written or read; it leaves results in memory that both have (result.h). The parent asks
 * `progress`, sees where ranks are, and ends the child when it is told to stop or when no rank
 * comes further for longer than any instruction may take:
 *
 *     stall_s + work * ranks / cores, work = flops / 50 M/s + bytes / 20 MB/s of the longest one
 *
 * which is what the slowest kernels need on a busy machine.
 */
#ifndef CORE_RUN_SUPERVISE_H
#define CORE_RUN_SUPERVISE_H

#include "core/run/rank.h"

typedef void SupervisedRun(Team *team);

/* Calls run(team) in a child and waits for it; run() leaves team->results. False with ERROR_RUN
 * that names the rank and where it was, or ERROR_CANCELLED. */
bool supervise(Team *team, SupervisedRun *run, Error *err);

/* What an instruction may take beside the stall, on a core of its own; with verify the reference's
 * part and that of all ranks. */
double supervise_instr_us(const Team *team, int at);

/* On a rank's thread, once: a crash of it will be said to be its own. */
void supervise_thread(Rank *rank);

#endif
