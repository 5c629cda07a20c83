#include "tui/screen/key.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    const char *name;
    Key key;
} KeyName;

static const KeyName key_names[] = {
    {"Backspace", K_BACKSPACE},
    {"Enter", K_ENTER},
    {"Space", ' '},
    {"Right", K_RIGHT},
    {"Left", K_LEFT},
    {"Down", K_DOWN},
    {"PgUp", K_PGUP},
    {"PgDn", K_PGDN},
    {"Home", K_HOME},
    {"BTab", K_BTAB},
    {"F10", K_F1 + 9},
    {"F11", K_F1 + 10},
    {"F12", K_F1 + 11},
    {"Esc", K_ESC},
    {"Tab", K_TAB},
    {"End", K_END},
    {"F1", K_F1},
    {"F2", K_F1 + 1},
    {"F3", K_F1 + 2},
    {"F4", K_F1 + 3},
    {"F5", K_F1 + 4},
    {"F6", K_F1 + 5},
    {"F7", K_F1 + 6},
    {"F8", K_F1 + 7},
    {"F9", K_F1 + 8},
    {"BS", K_BACKSPACE},
    {"Up", K_UP},
    {"Lt", '<'},
};
enum { N_KEY_NAMES = sizeof key_names / sizeof key_names[0] };

Key key_read(Str *text)
{
    size_t n = 1;
    Key key = (unsigned char)text->s[0];

    if (text->n >= 3 && text->s[0] == 'C' && text->s[1] == '-') {
        n = 3;
        key = key_ctrl(text->s[2]);
    } else {
        for (int i = 0; i < N_KEY_NAMES; i++) {
            if (!str_starts(*text, str_from(key_names[i].name)))
                continue;
            n = strlen(key_names[i].name);
            key = key_names[i].key;
            break;
        }
    }
    *text = (Str){text->s + n, text->n - n};
    return key;
}

bool key_script_next(Str *script, Key *key)
{
    if (script->n == 0)
        return false;
    if (script->s[0] == '<') {
        int64_t end = str_find(*script, STR(">"));
        Str name = {script->s + 1, end > 0 ? (size_t)end - 1 : 0};
        if (name.n > 0) {
            Str rest = name;
            Key named = key_read(&rest);
            if (rest.n == 0 && name.n > 1) {
                *key = named;
                *script = (Str){script->s + end + 1, script->n - (size_t)end - 1};
                return true;
            }
        }
    }
    *key = script->s[0] == '\n' ? K_ENTER : (unsigned char)script->s[0];
    *script = (Str){script->s + 1, script->n - 1};
    return true;
}

void key_format(Key key, Buf *out)
{
    for (int i = 0; i < N_KEY_NAMES; i++) {
        if (key_names[i].key == key) {
            buf_puts(out, key_names[i].name);
            return;
        }
    }
    if (key > 0 && key < 32)
        buf_printf(out, "C-%c", tolower(key | 0x40));
    else if (key < 0x80)
        buf_putc(out, (char)key);
    else
        buf_putc(out, '?');
}
