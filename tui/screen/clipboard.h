/* clipboard.h - text to the clipboard, by the terminal or by a program.
 *
 * Over SSH and where no program is there, the terminal copies it (OSC 52); else wl-copy, xclip,
 * xsel or pbcopy gets the text on its stdin, inside tmux `tmux load-buffer -w`, which hands it on.
 * A program runs in a session of its own with its output thrown away, and is killed when it takes
 * longer than CLIPBOARD_MS: the screen never waits for more.
 */
#ifndef TUI_SCREEN_CLIPBOARD_H
#define TUI_SCREEN_CLIPBOARD_H

#include "core/base/error.h"

enum {
    CLIPBOARD_MS = 1000,
    OSC52_MAX = 74994 /* bytes of text; terminals drop longer ones (xterm, k9s) */
};

typedef enum { CLIPBOARD_AUTO, CLIPBOARD_TERMINAL, CLIPBOARD_PROGRAM, CLIPBOARD_OFF } ClipboardWay;

/* "\033]52;c;BASE64\a". False: it is too long. */
bool clipboard_sequence(Str text, Buf *out, Error *err);

/* Runs one helper. False with *err: not there (ERROR_UNREADABLE), failed, or took too long. */
bool clipboard_run(const char *const *argv, Str text, Error *err);

/* Whether the terminal comes first, as the environment says; and the first helper that takes it:
 * its name, or NULL with the first error that is not just a missing program. */
bool clipboard_prefers_terminal(void);
const char *clipboard_program(Str text, Error *err);

#endif
