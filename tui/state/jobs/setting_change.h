/* setting_change.h - changes of the policy's settings as steps of undo: `u` and `C-r`.
 *
 * Undo gives the settings their previous values, which runs the policy again or opens the model
 * again; so these steps outlive the explorer in which they were made. A setting of the model that
 * had no value before cannot be undone.
 */
#ifndef TUI_STATE_JOBS_SETTING_CHANGE_H
#define TUI_STATE_JOBS_SETTING_CHANGE_H

#include "tui/state/ui.h"

/* Whether the last change is one of settings (by < 0), or the next one to redo is. */
bool setting_change_can(const Ui *ui, int by);

/* Undo and redo. Return false if another kind of change comes first. */
bool setting_change_undo(Ui *ui);
bool setting_change_redo(Ui *ui);

/* Call it when the plan with other settings is made, before it replaces the old one: `text` has the
 * settings, one "NAME=VALUE" per line. next NULL: the change failed. */
void setting_change_note(Ui *ui, const Session *next, Str text);

/* Copies all steps into the explorer that replaces this one. */
void setting_changes_keep(const Ui *from, Ui *to);

#endif
