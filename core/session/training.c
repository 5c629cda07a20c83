#include "core/session/training.h"

#include "core/session/model_settings.h"
#include "core/step/optimizer.h"

bool training_same(const char *a, const char *b)
{
    return str_eq(str_from(a ? a : ""), str_from(b ? b : ""));
}

static bool is_none(const char *train)
{
    return train && strcmp(train, "none") == 0;
}

/* What stands behind "KEY=" in a spec; empty if the key is not there. */
static Str value_of(Str spec, Str key)
{
    while (spec.n > 0) {
        Str value = str_trim(update_spec_word(&spec)), name = str_take(&value, '=');
        if (str_eq(name, key))
            return value;
    }
    return (Str){0};
}

static bool has_word(Str spec, Str word)
{
    while (spec.n > 0)
        if (str_eq(str_trim(update_spec_word(&spec)), word))
            return true;
    return false;
}

/* Appends words of a list to a spec that lacks them; keyed: that has no word of their key. */
static void add_words(Str words, bool keyed, Buf *spec)
{
    while (words.n > 0) {
        Str word = update_spec_word(&words), value = word, key = str_take(&value, '=');
        bool has = keyed ? value_of(buf_str(spec), key).n > 0 : has_word(buf_str(spec), word);
        if (word.n > 0 && !has)
            buf_printf(spec, ",%.*s", STR_ARG(word));
    }
}

const char *session_training_wanted(const Session *session, Arena *arena)
{
    const char *base = session->train_given ? session->train_given : session->training.spec;
    if (!base || is_none(base))
        return NULL;
    Buf text = buf_new(arena), set = buf_new(arena);
    buf_puts(&text, base);
    model_settings_step(&session->options.settings, &set);
    add_words(buf_str(&set), true, &text);
    add_words(str_from(session->training.frozen ? session->training.frozen : ""), false, &text);
    return text.s;
}

static bool read_dtype(Str name, Dtype *out, Error *err)
{
    *out = dtype_from_name(name);
    if (dtype_is_float(*out))
        return true;
    error_kind(err, ERROR_USAGE, "parameters cannot have type '%.*s'", STR_ARG(name));
    return error_hint(err, "types: f32 bf16 f16 f64");
}

bool session_dtype(const Session *session, Dtype *out, Error *err)
{
    const char *set = model_settings_dtype(&session->options.settings);
    const char *train = session->options.train, *given = session->options.dtype;
    Str word = value_of(str_from(train ? train : ""), STR("precision"));
    Str precision = set ? str_from(set) : word;
    Dtype wanted = DT_NONE;
    *out = DT_NONE;
    if ((given && !read_dtype(str_from(given), out, err)) ||
        (precision.n > 0 && !read_dtype(precision, &wanted, err)))
        return false;
    if (given && wanted != DT_NONE && wanted != *out)
        return error_kind(err, ERROR_USAGE, "--dtype %s contradicts precision=%s", dtype_name(*out),
                          dtype_name(wanted));
    *out = given ? *out : wanted;
    return true;
}
