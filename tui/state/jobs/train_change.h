/* train_change.h - changes of the training step as steps of undo: `u` and `C-r` of `:train`.
 *
 * Each opens the model again (tui/app/reload.h), so these steps outlive the explorer in which they
 * were made. A text has the form of --train; "": nothing was requested, so the policy decides.
 */
#ifndef TUI_STATE_JOBS_TRAIN_CHANGE_H
#define TUI_STATE_JOBS_TRAIN_CHANGE_H

#include "tui/state/ui.h"

/* The training step that was requested for the session. */
const char *train_asked(const Session *session);

/* Whether the last change is one of the training step (by < 0), or the next one to redo is. */
bool train_change_can(const Ui *ui, int by);
/* The training step before that change (by < 0), or after it. Only if train_change_can(). */
const char *train_change_to(const Ui *ui, int by);

/* Call it when the model is open with another step, before the explorer is replaced: by 0: a new
 * change; -1: the last one was undone; 1: the next one was redone. Pins that a change dropped are
 * not restored. */
void train_change_note(Ui *ui, const Session *next, int by);
/* Copies all changes into the explorer that replaces this one. */
void train_changes_keep(const Ui *from, Ui *to);

#endif
