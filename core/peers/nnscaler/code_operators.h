/* code_operators.h - operators that a policy registers, in an exported nnScaler policy: their
 * registration, and OPERATORS, which says how each op is partitioned.
 */
#ifndef CORE_PEERS_NNSCALER_CODE_OPERATORS_H
#define CORE_PEERS_NNSCALER_CODE_OPERATORS_H

#include "core/code/code.h"

/* True if the axis splits the dim into equal contiguous parts, after the axes before it in the
 * mesh, as graph.partition() does. */
bool nnscaler_is_plain(const Mesh *mesh, const Cut *cut, int axis);

/* Writes nnscaler.register_op for each such operator of the plan whose Python function is known, a
 * comment for the others. Notes say what nnScaler cannot be given. */
void nnscaler_registrations(const Session *session, Buf *out, ExportNotes *notes);

/* Writes OPERATORS. axes: those that may cut ops. */
void nnscaler_operators(const Session *session, AtomSet axes, Buf *out, ExportNotes *notes);

#endif
