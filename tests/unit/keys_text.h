/* keys_text.h - how many keys a script of keys is, as the budgets of tasks count them: a typed word
 * with its Enter is two, the ':' before it is a part of it. */
#ifndef TESTS_UNIT_KEYS_TEXT_H
#define TESTS_UNIT_KEYS_TEXT_H

#include "core/base/str.h"
#include "tui/state/act.h"

static inline int count_keys(const char *keys)
{
    Str script = str_from(keys);
    bool typing = false;
    int n = 0;
    for (Key key, last = 0; key_script_next(&script, &key); last = key) {
        if (!typing && key != ':')
            n++;
        if (typing && key == K_ENTER)
            n += 2;
        if (key == K_ENTER || key == K_ESC)
            typing = false;
        else if (key == '/' || key == ':' || (key == 'f' && last != 'g' && last != 'd'))
            typing = true;
    }
    return n;
}

#endif
