/* train_change.h - changes of the training step as steps of undo: `u` and `C-r` of `:train`.
 *
 * Each opens the model again (tui/app/reload.h), so these outlive the explorer in which they were
 * made. A text is as --train has it; "": nobody asked, so the policy decides.
 */
#ifndef TUI_STATE_JOBS_TRAIN_CHANGE_H
#define TUI_STATE_JOBS_TRAIN_CHANGE_H

#include "tui/state/ui.h"

/* The training step that the session was asked for. */
const char *train_asked(const Session *session);

/* Whether the last change is one of the training step (by < 0), or the next one to redo. */
bool train_change_can(const Ui *ui, int by);
/* The training step before that change (by < 0), or after it. Only if it can. */
const char *train_change_to(const Ui *ui, int by);

/* To be called when the model is open with another step, before the explorer is replaced: by 0, a
 * new change; -1: the last one was undone; 1: the next one was done again. Pins that a change
 * dropped do not come back. */
void train_change_note(Ui *ui, const Session *next, int by);
/* Copies all changes into the explorer that takes the place. */
void train_changes_keep(const Ui *from, Ui *to);

#endif
