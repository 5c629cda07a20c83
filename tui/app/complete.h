/* complete.h - what a half typed `:` command can become: names of actions, and of what their
 * arguments are: files, ops, tensors, axes, settings, forms, kinds, shipped policies.
 *
 * What an argument is its action's row says: "FILE [KIND]" are a file and then a kind. Tab puts in
 * what all candidates share, then each in turn; they are listed above the line meanwhile.
 */
#ifndef TUI_APP_COMPLETE_H
#define TUI_APP_COMPLETE_H

#include "tui/state/prompt.h"
#include "tui/state/ui.h"

enum { CANDIDATES_MAX = 200 };

typedef struct {
    Str text;
    const char *after; /* what follows when it is the only one: " ", " = " */
    Str note;          /* beside it: how it is used; may be empty */
} Candidate;

typedef struct {
    size_t from; /* of the typed text: where the word begins that they stand for */
    Vec(Candidate) words;
    size_t shared;    /* bytes of all that were offered, kept or not, that are the same */
    const char *none; /* why there is no completion; NULL if nothing matches */
} Completions;

/* Adds it when it begins so; past CANDIDATES_MAX it counts for `shared` only. */
void complete_offer(Ui *ui, Completions *all, Str stem, Candidate word);

/* Tab, or Shift-Tab with by -1; in a line of Lua as in a command. */
void complete_step(Ui *ui, Prompt *prompt, int by);

/* The candidates while Tab goes through them, in a box by the cursor or, of a command, at the lower
 * end of the area. */
void complete_draw(Ui *ui, const Prompt *prompt, Grid *grid, Rect area);

#endif
