/* supervise.h - a run in a supervised child process.
 *
 * A kernel that crashes, hangs or exhausts memory ends its process, so the explorer runs it in a
 * child. The child has a copy of all memory and leaves results in shared memory (result.h). The
 * parent calls `progress`, sees where ranks are, and ends the child on request or when no rank
 * progresses for longer than any instruction may take:
 *
 *     stall_s + work * ranks / cores, work = flops / 50 M/s + bytes / 20 MB/s of the longest one
 *
 * the speed of the slowest kernels on a busy machine. Time in which a rank waits for a core because
 * others have them all does not count.
 */
#ifndef CORE_RUN_SUPERVISE_H
#define CORE_RUN_SUPERVISE_H

#include "core/run/rank.h"

typedef void SupervisedRun(Team *team);

/* Calls run(team) in a child and waits for it; results are in team->results. False with ERROR_RUN,
 * which names the rank and its instruction, or ERROR_CANCELLED. */
bool supervise(Team *team, SupervisedRun *run, Error *err);

/* How long an instruction may take beyond the stall limit on a core of its own; with verify this
 * includes the reference and all ranks. */
double supervise_instr_us(const Team *team, int at);

/* Call once on a rank's thread: attributes its crashes to that rank. */
void supervise_thread(Rank *rank);

#endif
