/* pins.h - changing the plan from the screen: pins, what they would change, and keeping them.
 *
 * A pin is put on what the cursor is on: an index dim in the Op view, else the dim under the cursor
 * of the selected tensor. Where the outline's row stands for N equal ops (a fold), the pin is put
 * on all N; spread the fold to pin one. One key is one step of undo, however many pins it made.
 */
#ifndef TUI_STATE_PINS_H
#define TUI_STATE_PINS_H

#include "tui/state/ui.h"

/* Opens the menu of axes for the dim under the cursor; each choice shows what it would change in
 * step time and peak where planning is quick, or when asked to (what_if). */
void pins_menu(Ui *ui, bool what_if);

/* Pins to axes, major first: "tp", "dp.tp", "tp:(1)2", or "whole". */
bool pins_set(Ui *ui, Str axes, Error *err);
bool pins_drop(Ui *ui, Error *err);

/* "k=tp", "k=whole": the index dim of the selected op, and of those its row stands for. */
bool pins_assign(Ui *ui, Str text, Error *err);

/* Of the selected tensor as a whole, and of those alike: "replicated tp", "unreduced dp.tp",
 * "barrier forward" (or backward, none), "tie NAME". */
bool pins_decide(Ui *ui, Str text, Error *err);
bool pins_undecide(Ui *ui, Error *err);

/* Applies decisions as one step of undo, and says what has changed. They are copied. */
void pins_apply(Ui *ui, const Decision *decisions, int n, const char *what);
/* The same of what a search decided. */
void pins_apply_searched(Ui *ui, const Decision *decisions, int n, const char *what);

/* ": step 12.8→14.2 ms, comm .., peak ..": the totals of before and of now; of a plan whose
 * schedule has several micro-batches ": micro-batch .., step now 1.87 s". */
void pins_format_change(const Ui *ui, const Totals *before, Buf *out);
void pins_format_totals(const Ui *ui, const Totals *before, const Totals *after, Buf *out);

/* Decisions of one key, back (-1) or forward: all that carry its number. 0: there are none. */
int pins_of_step(const Journal *journal, int by);

bool pins_undo(Ui *ui, Error *err);
bool pins_redo(Ui *ui, Error *err);

/* Writes a policy that gives this plan by itself: it includes the policy in use, or has its
 * decisions where include() cannot reach that, and then the pins made here, with a pattern where
 * layers agree. To `path`, or POLICY.edits.lua in the current folder. A file that was not written
 * by this is not overwritten. */
bool pins_write(Ui *ui, Str path, Error *err);

/* Decisions made in the explorer that hold; those of a plan file or of a file of pins are not. */
int pins_made_here(const Session *session);
/* The same if they are others than when they were last in a file; else 0. */
int pins_unwritten(const Ui *ui);
void pins_are_written(Ui *ui); /* a file has them now */

#endif
