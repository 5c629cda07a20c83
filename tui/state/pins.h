/* pins.h - changes the plan from the screen: pins, previews of what they change, and saving them.
 *
 * A pin is put on the selection: an index dim in the Op view, else the dim under the cursor of the
 * selected tensor. If the outline's row stands for N equal ops (a fold), all N are pinned; spread
 * the fold to pin one. One key press is one step of undo, however many pins it makes.
 */
#ifndef TUI_STATE_PINS_H
#define TUI_STATE_PINS_H

#include "tui/state/ui.h"

/* Opens the menu of axes for the dim under the cursor. Each choice shows its change of step time
 * and peak if planning is quick, or if requested (what_if). */
void pins_menu(Ui *ui, bool what_if);

/* Pins to axes, major first: "tp", "dp.tp", "tp:(1)2", or "whole". */
bool pins_set(Ui *ui, Str axes, Error *err);
bool pins_drop(Ui *ui, Error *err);

/* "k=tp", "k=whole": pins the index dim of the selected op, and of the ops that its row stands for.
 */
bool pins_assign(Ui *ui, Str text, Error *err);

/* Decides about the selected tensor as a whole, and about tensors like it: "replicated tp",
 * "unreduced dp.tp", "barrier forward" (or backward, none), "tie NAME". */
bool pins_decide(Ui *ui, Str text, Error *err);
bool pins_undecide(Ui *ui, Error *err);

/* Applies decisions as one step of undo, and shows what has changed. They are copied. */
void pins_apply(Ui *ui, const Decision *decisions, int n, const char *what);
/* The same for decisions of a search. */
void pins_apply_searched(Ui *ui, const Decision *decisions, int n, const char *what);

/* ": step 12.8→14.2 ms, comm .., peak ..": the totals before and now; if the plan's schedule has
 * several micro-batches, ": micro-batch .., step now 1.87 s". */
void pins_format_change(const Ui *ui, const Totals *before, Buf *out);
void pins_format_totals(const Ui *ui, const Totals *before, const Totals *after, Buf *out);

/* The number of decisions of one key press, backwards (-1) or forwards: all with the same number. 0
 * if there are none. */
int pins_of_step(const Journal *journal, int by);

bool pins_undo(Ui *ui, Error *err);
bool pins_redo(Ui *ui, Error *err);

/* Writes a policy that gives this plan by itself: it includes the policy in use, or contains its
 * decisions if include() cannot reach it, and then the pins made here, with a pattern where layers
 * are equal. To `path`, or POLICY.edits.lua in the current folder. A file that this function did
 * not write is not overwritten. */
bool pins_write(Ui *ui, Str path, Error *err);

/* The number of decisions made in the explorer that hold; not those of a plan file or a file of
 * pins. */
int pins_made_here(const Session *session);
/* The same number if they differ from those last written to a file; else 0. */
int pins_unwritten(const Ui *ui);
void pins_are_written(Ui *ui); /* call it once they are in a file */

#endif
