/* whole_run.h - runs the ops of a graph one after another, on whole tensors and one device. */
#ifndef CORE_PROVE_WHOLE_RUN_H
#define CORE_PROVE_WHOLE_RUN_H

#include "core/rules/infer.h"
#include "core/run/kernel.h"

/* Runs one op with the kernel, or for NULL with its own. value: as of kernel_run_whole(); what it
 * has of the op's outputs is freed. ERROR_UNSUPPORTED: the op has no kernel. */
bool whole_run_op(const Inferred *inferred, int32_t op, const Kernel *kernel, uint64_t seed,
                  Local **value, Error *err);

typedef bool WholeRunFn(void *context, int32_t op, Error *err);

/* Runs all ops of the program except those in branches that are not taken; calls `after` after each
 * (NULL: nothing). Loops are not supported: they have to be unrolled first (core/fuse/unroll.h). */
bool whole_run(const Inferred *inferred, Local **value, WholeRunFn *after, void *context,
               Error *err);

#endif
