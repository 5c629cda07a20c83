/* complete.h - what a half typed `:` command can become: names of actions, and of what their
 * arguments are: files, ops, tensors, axes, settings, forms, kinds, shipped policies.
 *
 * What an argument is its action's row says: "FILE [KIND]" are a file and then a kind. Tab puts in
 * what all candidates share, then each in turn; they are listed above the line meanwhile.
 */
#ifndef TUI_APP_COMPLETE_H
#define TUI_APP_COMPLETE_H

#include "tui/app/prompt.h"
#include "tui/app/ui.h"

enum { CANDIDATES_MAX = 200 };

typedef struct {
    size_t from; /* of the typed text: where the word begins that they stand for */
    Vec(Str) words;
} Completions;

/* In the frame's arena; at most CANDIDATES_MAX. */
Completions complete_find(Ui *ui, Str typed);

/* Tab, or Shift-Tab with by -1. */
void complete_step(Ui *ui, Prompt *prompt, int by);

/* The candidates while Tab goes through them, in a box at the lower end of the area. */
void complete_draw(Ui *ui, const Prompt *prompt, Grid *grid, Rect area);

#endif
