/* verify.h - proves a run instruction by instruction, each on the values that the ranks hold.
 *
 * Before an op the whole of each input is put together from the ranks' parts (partial ones are
 * reduced), and the unsharded op runs on that. Then each rank's part of a result is compared with
 * its place in the whole, each element with the bound that the op's rounding allows (rounding.h); a
 * partial result is put together first. A step is compared with the value it moved: equal, or
 * within the rounding of the sum it took. Loaded values are compared with the feeds. So errors do
 * not accumulate along the program, and the report names the first wrong instruction.
 *
 * NaN and infinite elements must be equal, but for gradients in f16 under a dynamic loss scale:
 * there an overflow of a rank's addend, or of one device's sum, skips the step, as torch's
 * GradScaler does when any rank found one. Such an element must have a reason to be infinite on one
 * side alone: its rounding, or the magnitudes that are added up to it, reach the end of f16. If an
 * output of one device has no finite element, the comparison proves nothing: RUN_NOT_PROVEN.
 */
#ifndef CORE_RUN_VERIFY_VERIFY_H
#define CORE_RUN_VERIFY_VERIFY_H

#include "core/run/rank.h"

/* One per process, used by all its ranks. In the arena; end with verify_close(). */
Verify *verify_open(Arena *arena, Team *team);
void verify_close(Verify *verify);

/* All ranks call both around each instruction of the first pass. They return false after
 * rank_failed(), or when another rank failed. A wrong value is not a failure: it is recorded in the
 * rank's result. */
bool verify_before(Rank *rank, int at);
bool verify_after(Rank *rank, int at);

/* The sum of the addends of an output that is left partial. All ranks call it at once; *whole is
 * set for one of them, which frees it, and NULL for the others, or if the sum is unknown. */
bool verify_join_output(Rank *rank, int32_t slot, Local **whole);

#endif
