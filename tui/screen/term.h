/* term.h - the terminal; term.c is the only code that sees curses.
 *
 * A Grid goes in, keys come out. newterm() is used, so that an unknown TERM is an error of ours and
 * not an exit. Colours are the nearest that the terminal has; its palette is never changed. From
 * term_open() to term_close() every fatal signal first restores the terminal: a handler on its own
 * stack writes the prepared reset sequence and the saved modes, then the signal is raised again.
 * The first HUP or TERM arrives as K_EOF, so that state can be saved, and term_raise() then ends
 * the program; a second one, or three seconds without progress, end it at once. Stop and continue
 * (C-z, SIGTSTP) are ncurses' own.
 *
 * One terminal at a time, as the process has only one.
 */
#ifndef TUI_SCREEN_TERM_H
#define TUI_SCREEN_TERM_H

#include "core/base/error.h"
#include "tui/screen/grid.h"
#include "tui/screen/key.h"
#include "tui/screen/theme.h"

typedef enum {
    COLOR_MODE_AUTO,
    COLOR_MODE_NEVER,
    COLOR_MODE_ALWAYS
} ColorMode; /* auto: none with NO_COLOR or TERM=dumb */

typedef struct Term Term;

/* NULL with ERROR_USAGE and a hint: no terminal on stdin and stdout, TERM unknown or unable. */
Term *term_open(ColorMode color, Error *err);
void term_close(Term *term); /* NULL is allowed */
/* Sets a limit of three seconds for whatever still runs: then the terminal is restored, and the
 * program dies of SIGALRM. For callers that have asked work to stop and now wait for it. */
void term_end_soon(void);
/* After term_close(): dies of the signal that ended the session, if there was one. */
void term_raise(void);

void term_size(const Term *term, int *w, int *h);

/* The next key; K_NONE after timeout_ms (-1: wait), K_RESIZE, K_MOUSE, K_EOF when it is gone. */
Key term_key(Term *term, int timeout_ms);

typedef enum {
    MOUSE_PRESS,
    MOUSE_DRAG, /* moved while the button is held */
    MOUSE_RELEASE,
    MOUSE_WHEEL_UP,
    MOUSE_WHEEL_DOWN,
    MOUSE_OTHER /* other buttons, wheels to the side */
} MouseKind;
MouseKind term_mouse(Term *term, int *x, int *y); /* what K_MOUSE was */

/* Sets, from the next term_show() on, the colours and whether mouse reports are requested. Reports
 * are requested in SGR form (1006), whatever terminfo says, and parsed here: the old form ends at
 * column 223. */
void term_theme(Term *term, const Theme *theme, Background background);
void term_mouse_on(Term *term, bool on);
void term_drag(Term *term, bool on); /* also reports moves while a button is held */

void term_show(Term *term, const Grid *grid); /* one update of the screen; sizes may differ */
void term_redraw(Term *term);                 /* draws everything again at the next term_show() */
void term_suspend(Term *term);                /* as if the user had typed C-z */

/* Sends a sequence that draws nothing directly to the terminal. */
void term_send(Term *term, Str bytes);

/* Runs a program on the whole terminal and comes back. argv[0] is looked up in PATH. False with
 * *err when it could not be started or failed. */
bool term_run(Term *term, const char *const *argv, Error *err);

/* Returns whether the locale is UTF-8; call after setlocale(). */
bool term_is_utf8(void);

#endif
