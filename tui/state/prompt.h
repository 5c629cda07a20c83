/* prompt.h - the line at the bottom: `:` commands and `/` searches, with completion and history. */
#ifndef TUI_STATE_PROMPT_H
#define TUI_STATE_PROMPT_H

#include "tui/screen/grid.h"
#include "tui/screen/key.h"

enum { PROMPT_MAX = 240, PROMPT_HISTORY = 16 };

typedef struct {
    char kind; /* ':', '/', '>' for Lua, 'f' of a filter; 0: closed */
    char text[PROMPT_MAX];
    int n;
    int recall; /* steps back in the history; 0: the line being typed */
    char history[PROMPT_HISTORY][PROMPT_MAX];
    int n_history;
    char stem[PROMPT_MAX]; /* the typed text when Tab began to go through candidates */
    int tab_at;            /* index of the shown candidate; -1: Tab is not active */
} Prompt;

typedef enum { PROMPT_OPEN, PROMPT_CANCELLED, PROMPT_DONE } PromptState;

void prompt_open(Prompt *prompt, char kind);
void prompt_set(Prompt *prompt, const char *text); /* cut where it is too long */

/* Handles a key; closes the prompt if the key does. The typed text stays until the prompt is opened
 * again. Tab is handled elsewhere: complete.h. */
PromptState prompt_key(Prompt *prompt, Key key);
void prompt_keep_stem(Prompt *prompt); /* the typed text becomes the stem of the next candidates */
void prompt_draw(const Prompt *prompt, Pen *pen);

#endif
