/* mesh_change.h - another mesh for the plan: `:mesh`, and `u` and `C-r` of it.
 *
 * The user's pins stay where the new mesh has their axes. A change of the mesh is a step of undo as
 * a pin is; the pins that it dropped come back with the old mesh.
 */
#ifndef TUI_STATE_JOBS_MESH_CHANGE_H
#define TUI_STATE_JOBS_MESH_CHANGE_H

#include "tui/state/ui.h"

bool mesh_change(Ui *ui, Str text, Error *err); /* "dp=4,tp=2" */

/* Returns whether the last change is one of the mesh, and takes it back; or the next one to redo.
 */
bool mesh_change_undo(Ui *ui);
bool mesh_change_redo(Ui *ui);
bool mesh_change_can(const Ui *ui, int by); /* by < 0: undo; else redo */

#endif
