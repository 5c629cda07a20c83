/* setting_change.h - settings of the policy as steps of undo: `u` and `C-r` of a setting.
 *
 * A step is undone by giving its settings the values that they had, which runs the policy again or
 * opens the model again, so that steps outlive the explorer in which they were made. A setting of
 * the model that had no value before it was set cannot be taken back.
 */
#ifndef TUI_STATE_JOBS_SETTING_CHANGE_H
#define TUI_STATE_JOBS_SETTING_CHANGE_H

#include "tui/state/ui.h"

/* Whether the last change is one of settings (by < 0), or the next one to redo. */
bool setting_change_can(const Ui *ui, int by);

/* Undo and redo. Return false if that is not the step to take. */
bool setting_change_undo(Ui *ui);
bool setting_change_redo(Ui *ui);

/* To be called when the plan with other settings is made, before it takes the place of the old one:
 * `text` has them, "NAME=VALUE" a line. next NULL: there is none, the change failed. */
void setting_change_note(Ui *ui, const Session *next, Str text);

/* Copies all steps into the explorer that takes the place. */
void setting_changes_keep(const Ui *from, Ui *to);

#endif
