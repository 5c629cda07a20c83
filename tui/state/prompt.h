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
    int recall; /* history steps back; 0: what is typed now */
    char history[PROMPT_HISTORY][PROMPT_MAX];
    int n_history;
    char stem[PROMPT_MAX]; /* what was typed when Tab began to go through candidates */
    int tab_at;            /* the one shown; -1: Tab does not */
} Prompt;

typedef enum { PROMPT_OPEN, PROMPT_CANCELLED, PROMPT_DONE } PromptState;

void prompt_open(Prompt *prompt, char kind);
void prompt_set(Prompt *prompt, const char *text); /* cut where it is too long */

/* Handles a key; closes the prompt if the key does. What was typed stays in text until it is opened
 * again. Tab is not its own: complete.h. */
PromptState prompt_key(Prompt *prompt, Key key);
void prompt_keep_stem(Prompt *prompt); /* what is typed is what the next candidates complete */
void prompt_draw(const Prompt *prompt, Pen *pen);

#endif
