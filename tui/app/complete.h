/* complete.h - completion of half-typed `:` commands: names of actions and their arguments: files,
 * ops, tensors, axes, settings, forms, kinds, shipped policies.
 *
 * The action's row says what its arguments are: "FILE [KIND]" is a file, then a kind. Tab inserts
 * what all candidates share, then each candidate in turn; meanwhile they are listed above the line.
 */
#ifndef TUI_APP_COMPLETE_H
#define TUI_APP_COMPLETE_H

#include "tui/state/prompt.h"
#include "tui/state/ui.h"

enum { CANDIDATES_MAX = 200 };

typedef struct {
    Str text;
    const char *after; /* added if it is the only one: " ", " = " */
    Str note;          /* shown beside it: its use; may be empty */
} Candidate;

typedef struct {
    size_t from; /* offset in the typed text of the word to complete */
    Vec(Candidate) words;
    size_t shared;    /* number of bytes that all offered candidates share, including dropped
                         ones */
    const char *none; /* why there is no completion; NULL if nothing matches */
} Completions;

/* Adds the candidate if it begins with the stem; beyond CANDIDATES_MAX it only counts for `shared`.
 */
void complete_offer(Ui *ui, Completions *all, Str stem, Candidate word);

/* Handles Tab, or Shift-Tab with by -1; in a line of Lua as well. */
void complete_step(Ui *ui, Prompt *prompt, int by);

/* Draws the candidates while Tab goes through them: in a box at the cursor or, for a command, at
 * the lower end of the area. */
void complete_draw(Ui *ui, const Prompt *prompt, Grid *grid, Rect area);

#endif
