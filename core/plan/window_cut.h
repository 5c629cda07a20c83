/* window_cut.h - dims that an op reads in windows, sharded: the halo that this needs, and whether
 * neighbours alone can send it.
 *
 *     conv of 3 rows, rows 64/a, a=4    16 + 1 and 1    neighbours exchange borders
 *     conv of 11 rows, rows 16/a        4 + 5 and 5     wider than a part: the dim is gathered
 */
#ifndef CORE_PLAN_WINDOW_CUT_H
#define CORE_PLAN_WINDOW_CUT_H

#include "core/base/text.h"
#include "core/plan/op_cut.h"

/* The index dim that moves the windows in which an op reads a dim of an input that is sharded as
 * `from`. *places: its cut, which follows the dim's; *read: the dim's, with the halo
 * (op_cut_halo()). Returns -1 if no index dim moves them, or they cannot be read so. */
int window_cut(const OpSpace *space, int operand, int dim, const Cut *from, const Mesh *mesh,
               Cut *places, Cut *read);

/* Whether its halo is narrower than each part, so that only neighbours exchange. */
bool window_is_narrow(const Cut *read, const Mesh *mesh);

/* Whether the op reads the dim in windows that reach further than the parts beside its own; *read:
 * as above. */
bool window_is_wide(const OpSpace *space, int operand, int dim, const Cut *from, const Mesh *mesh,
                    Cut *read);

/* "a halo of 5 before and 5 after, wider than a part of 4" */
void window_format_wide(const Cut *read, const Mesh *mesh, Buf *out);

#endif
