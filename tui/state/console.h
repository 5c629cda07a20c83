/* console.h - lines of Lua typed in the explorer: input, answers, completion.
 *
 * A line runs as a job in the state of the policy (scripts/lua_console.h). Its decisions are one
 * step of the journal: `u` undoes them, `:write` keeps them. The last CONSOLE_LINES lines are kept.
 */
#ifndef TUI_STATE_CONSOLE_H
#define TUI_STATE_CONSOLE_H

#include "tui/state/prompt.h"
#include "tui/state/ui.h"

enum { CONSOLE_LINES = 2000 };

typedef enum { CONSOLE_TYPED, CONSOLE_ANSWER, CONSOLE_ERROR, CONSOLE_CHANGE } ConsoleKind;

typedef struct {
    ConsoleKind kind;
    Str text;
} ConsoleLine;

typedef struct Console {
    Arena *arena;
    Vec(ConsoleLine) lines;
} Console;

Console *console_new(void);
void console_free(Console *console); /* NULL is allowed */

void console_type(Ui *ui, Str line);

#endif
