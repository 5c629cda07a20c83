/* why_not.h - why an axis is not on a tensor: what each op beside it did with that axis instead.
 *
 * Reads the finished plan: the pins on the tensor, then for its maker and each reader the index
 * dims that its dims are joined with. One axis cuts one index dim of an op, frozen dims are never
 * cut, a dim that is read whole has no index dim, and an axis that no pin leads here comes from
 * nowhere.
 */
#ifndef TUI_WHY_NOT_H
#define TUI_WHY_NOT_H

#include "core/plan/session.h"

/* Lines of text; the last says what would let the axis through. */
void why_not_format(const Session *session, int32_t tensor, int axis, Buf *out);

#endif
