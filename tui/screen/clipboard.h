/* clipboard.h - copies text to the clipboard, through the terminal or a program.
 *
 * Over SSH, and where no program is found, the terminal copies it (OSC 52). Otherwise wl-copy,
 * xclip, xsel or pbcopy gets the text on its stdin; inside tmux `tmux load-buffer -w` does, which
 * passes it on. A program runs in a session of its own with its output discarded, and is killed
 * after CLIPBOARD_MS: the screen never waits longer.
 */
#ifndef TUI_SCREEN_CLIPBOARD_H
#define TUI_SCREEN_CLIPBOARD_H

#include "core/base/error.h"

enum {
    CLIPBOARD_MS = 1000,
    OSC52_MAX = 74994 /* bytes of text; terminals drop longer ones (xterm, k9s) */
};

typedef enum { CLIPBOARD_AUTO, CLIPBOARD_TERMINAL, CLIPBOARD_PROGRAM, CLIPBOARD_OFF } ClipboardWay;

/* "\033]52;c;BASE64\a". Returns false if the text is too long. */
bool clipboard_sequence(Str text, Buf *out, Error *err);

/* Runs one helper. Returns false with *err if the helper is missing (ERROR_UNREADABLE), failed, or
 * took too long. */
bool clipboard_run(const char *const *argv, Str text, Error *err);

/* clipboard_prefers_terminal(): whether the environment prefers the terminal. clipboard_program():
 * the name of the first helper that copied the text; NULL with the first error that is not just a
 * missing program. */
bool clipboard_prefers_terminal(void);
const char *clipboard_program(Str text, Error *err);

#endif
