#include "core/session/training.h"

#include "core/step/optimizer.h"

bool training_same(const char *a, const char *b)
{
    return str_eq(str_from(a ? a : ""), str_from(b ? b : ""));
}

bool training_is_none(const char *train)
{
    return train && strcmp(train, "none") == 0;
}

static bool has_word(Str spec, Str word)
{
    while (spec.n > 0)
        if (str_eq(str_trim(update_spec_word(&spec)), word))
            return true;
    return false;
}

const char *session_training_wanted(const Session *session, Arena *arena)
{
    const char *base = session->train_given ? session->train_given : session->training.spec;
    if (!base || training_is_none(base))
        return NULL;
    Buf text = buf_new(arena);
    buf_puts(&text, base);
    for (Str rest = str_from(session->training.frozen ? session->training.frozen : "");
         rest.n > 0;) {
        Str word = update_spec_word(&rest);
        if (word.n > 0 && !has_word(buf_str(&text), word))
            buf_printf(&text, ",%.*s", STR_ARG(word));
    }
    return text.s;
}
