/* mesh_change.h - changes the plan's mesh: `:mesh`, and `u` and `C-r` for it.
 *
 * The user's pins are kept if the new mesh has their axes. A change of the mesh is a step of undo,
 * like a pin; undoing it also restores the pins that it dropped.
 */
#ifndef TUI_STATE_JOBS_MESH_CHANGE_H
#define TUI_STATE_JOBS_MESH_CHANGE_H

#include "tui/state/ui.h"

bool mesh_change(Ui *ui, Str text, Error *err); /* "dp=4,tp=2" */

/* If the last change is one of the mesh, undoes it (or, for redo, makes the next one) and returns
 * true. */
bool mesh_change_undo(Ui *ui);
bool mesh_change_redo(Ui *ui);
bool mesh_change_can(const Ui *ui, int by); /* by < 0: undo; else redo */

#endif
