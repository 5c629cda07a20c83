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
    {"Esc", K_ESC},
    {"Tab", K_TAB},
    {"End", K_END},
    {"BS", K_BACKSPACE},
    {"Up", K_UP},
    {"Lt", '<'},
};
enum { N_KEY_NAMES = sizeof key_names / sizeof key_names[0] };

/* "F1" to "F12" at the start of the text: how many bytes, or 0. */
static size_t read_function_key(Str text, Key *key)
{
    if (text.n < 2 || text.s[0] != 'F' || text.s[1] < '1' || text.s[1] > '9')
        return 0;
    bool two = text.n > 2 && text.s[1] == '1' && text.s[2] >= '0' && text.s[2] <= '2';
    *key = K_F1 + (two ? 9 + text.s[2] - '0' : text.s[1] - '1');
    return two ? 3 : 2;
}

Key key_read(Str *text)
{
    size_t n = 1;
    Key key = (unsigned char)text->s[0];

    if (text->n >= 3 && text->s[0] == 'C' && text->s[1] == '-') {
        n = 3;
        key = key_ctrl(text->s[2]);
    } else if (read_function_key(*text, &key)) {
        n = read_function_key(*text, &key);
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
        if (key_names[i].key == key && key != '<') { /* scripts alone need a name for it */
            buf_puts(out, key_names[i].name);
            return;
        }
    }
    if (key >= K_F1 && key < K_LAST)
        buf_printf(out, "F%d", key - K_F1 + 1);
    else if (key > 0 && key < 32)
        buf_printf(out, "C-%c", tolower(key | 0x40));
    else if (key < 0x80)
        buf_putc(out, (char)key);
    else
        buf_putc(out, '?');
}
