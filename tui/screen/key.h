/* key.h - keys as numbers and as text.
 *
 * A Key is a Unicode code point (control keys are 1 to 31) or one of the K_ numbers above all of
 * them. In the table of actions and on screens a key is written as in vim: "j", "C-d", "Enter",
 * "PgDn"; a sequence is written without blanks: "gg", "zR", "C-wl". A script of keys, as tests and
 * --script use it, is plain text with names in angle brackets: "/c_fc<Enter>5w".
 */
#ifndef TUI_SCREEN_KEY_H
#define TUI_SCREEN_KEY_H

#include "core/base/str.h"

#include <stdint.h>

typedef int32_t Key;

enum {
    K_ENTER = '\r',
    K_TAB = '\t',
    K_ESC = 27,
    K_BACKSPACE = 127,
    K_NONE = 0x110000, /* no key within the time */
    K_EOF,             /* the terminal is gone */
    K_RESIZE,
    K_MOUSE,
    K_UP,
    K_DOWN,
    K_LEFT,
    K_RIGHT,
    K_PGUP,
    K_PGDN,
    K_HOME,
    K_END,
    K_BTAB,
    K_F1, /* K_F1 + i: F(i+1), to F12 */
    K_LAST = K_F1 + 12
};

static inline Key key_ctrl(char letter)
{
    return letter & 0x1f;
}

enum { KEY_SEQUENCE_MAX = 3 };

/* Removes one key from the front of a written sequence, which is not empty: a named key, "C-" and a
 * letter, or a character. */
Key key_read(Str *written);

/* Removes one key from the front of a script; false at its end. "<Lt>" is a '<'. */
bool key_script_next(Str *script, Key *key);

void key_format(Key key, Buf *out); /* "C-d", "Enter", "j" */

#endif
