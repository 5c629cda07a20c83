#include "core/step/optimizer.h"

#include "core/base/nearest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

typedef enum {
    KEY_PRECISION,
    KEY_GRADS,
    KEY_CLIP,
    KEY_SCALE,
    KEY_LOSS,
    KEY_FREEZE,
    KEY_IGNORE_INDEX,
    KEY_LABEL_SMOOTHING,
    N_KEYS
} HyperKey;

/* ORDER KEY */
static const char *const key_names[N_KEYS] = {
    "precision", "grads", "clip", "scale", "loss", "freeze", "ignore_index", "label_smoothing"};

static const char *const dtypes[] = {"fp32", "f32", "bf16", "fp16", "f16", "f64", "fp64"};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

static bool refuse(Error *err, Nearest nearest, const char *what)
{
    error_kind(err, ERROR_USAGE, "--train: %s '%.*s'", what, STR_ARG(nearest.given));
    return nearest.name ? error_hint(err, "did you mean %s?", nearest.name) : false;
}

static bool read_dtype(Str text, const char *what, Dtype *out, Error *err)
{
    Nearest nearest = nearest_to(text, 3);
    for (int i = 0; i < N_DTYPES; i++) {
        nearest_try(&nearest, dtypes[i]);
        *out = dtype_from_name(text);
        if (str_eq(str_from(dtypes[i]), text))
            return true;
    }
    return refuse(err, nearest, what);
}

static bool read_number(Arena *arena, Str key, Str text, double *out, Error *err)
{
    char *end;
    const char *copy = arena_str(arena, text);
    *out = strtod(copy, &end);
    if (text.n > 0 && *end == '\0' && isfinite(*out) && *out >= 0)
        return true;
    return error_kind(err, ERROR_USAGE, "--train: %.*s is not a number of at least 0: '%s'",
                      STR_ARG(key), copy);
}

static bool read_ignored(Arena *arena, Str text, UpdateSpec *out, Error *err)
{
    char *end;
    const char *copy = arena_str(arena, text);
    errno = 0;
    out->ignore_index = strtoll(copy, &end, 10);
    out->ignores = true;
    if (text.n > 0 && *end == '\0' && errno == 0)
        return true;
    return error_kind(err, ERROR_USAGE, "--train: ignore_index is not a whole number: '%s'", copy);
}

static bool add_frozen(Arena *arena, Str pattern, UpdateSpec *out, Error *err)
{
    enum { PATTERNS_MAX = 1000 };
    if (pattern.n == 0 || out->n_freeze == PATTERNS_MAX)
        return error_kind(err, ERROR_USAGE,
                          pattern.n == 0 ? "--train: freeze needs a pattern of names"
                                         : "--train: there are more than %d patterns to freeze",
                          PATTERNS_MAX);
    const char **grown = arena_array(arena, const char *, out->n_freeze + 1);
    for (int i = 0; i < out->n_freeze; i++)
        grown[i] = out->freeze[i];
    grown[out->n_freeze++] = arena_str(arena, pattern);
    out->freeze = grown;
    return true;
}

static bool read_key(Arena *arena, HyperKey key, Str text, UpdateSpec *out, Error *err)
{
    switch (key) {
    case KEY_PRECISION:
        return read_dtype(text, "there is no precision", &out->precision, err);
    case KEY_GRADS:
        return read_dtype(text, "gradients are f32 or bf16, not", &out->grads, err);
    case KEY_CLIP:
        return read_number(arena, STR("clip"), text, &out->clip, err);
    case KEY_SCALE:
        out->dynamic = str_eq(text, STR("dynamic"));
        out->scale = 65536;
        if (out->dynamic)
            return true;
        return read_number(arena, STR("scale"), text, &out->scale, err) &&
               (out->scale > 0 || error_kind(err, ERROR_USAGE, "--train: scale is 0"));
    case KEY_LOSS:
        out->loss = arena_str(arena, text);
        return true;
    case KEY_IGNORE_INDEX:
        return read_ignored(arena, text, out, err);
    case KEY_LABEL_SMOOTHING:
        return read_number(arena, STR("label_smoothing"), text, &out->smoothing, err) &&
               (out->smoothing <= 1 ||
                error_kind(err, ERROR_USAGE, "--train: label_smoothing must be between 0 and 1"));
    case KEY_FREEZE:
        return add_frozen(arena, text, out, err);
    case N_KEYS:
        break;
    }
    return false;
}

/* KEY=VALUE of a hyper-parameter that the optimizer takes, or *known is false. */
static bool read_hyper(Arena *arena, Str key, Str text, UpdateSpec *out, bool *known, Error *err)
{
    for (int i = 0; i < HYPER_COUNT; i++) {
        if (!(out->optimizer->takes >> i & 1) || !str_eq(key, str_from(hyper_name((Hyper)i))))
            continue;
        *known = true;
        bool decays = i == HYPER_BETA1 || i == HYPER_BETA2;
        return read_number(arena, key, text, &out->hyper[i], err) &&
               (!decays || out->hyper[i] < 1 ||
                error_kind(err, ERROR_USAGE, "--train: %.*s must be less than 1, not %.*s",
                           STR_ARG(key), STR_ARG(text)));
    }
    *known = false;
    return true;
}

static bool refuse_key(const UpdateSpec *spec, Str key, Error *err)
{
    Nearest nearest = nearest_to(key, 4);
    for (int i = 0; i < N_KEYS; i++)
        nearest_try(&nearest, key_names[i]);
    for (int i = 0; i < HYPER_COUNT; i++)
        if (spec->optimizer->takes >> i & 1)
            nearest_try(&nearest, hyper_name((Hyper)i));
    refuse(err, nearest, "there is no option");
    if (!nearest.name)
        error_hint(err,
                   "precision, grads, clip, scale, loss, freeze, ignore_index, label_smoothing, or "
                   "a hyper-parameter of %s",
                   spec->optimizer->name);
    return false;
}

static bool read_option(Arena *arena, Str word, UpdateSpec *out, Error *err)
{
    Str value = word, key = str_take(&value, '=');
    for (int i = 0; i < N_KEYS; i++)
        if (str_eq(key, str_from(key_names[i])))
            return read_key(arena, (HyperKey)i, value, out, err);
    bool known;
    return read_hyper(arena, key, value, out, &known, err) && (known || refuse_key(out, key, err));
}

/* Options depend on the optimizer, which may come behind them. */
static bool read_optimizer(Str text, UpdateSpec *out, Error *err)
{
    bool given = false;
    while (text.n > 0) {
        Str word = str_trim(update_spec_word(&text));
        if (word.n == 0 || str_eq(word, STR("auto")) || str_find(word, STR("=")) >= 0)
            continue;
        if (given)
            return error_kind(err, ERROR_USAGE, "--train: there are two optimizers, %s and %.*s",
                              out->optimizer->name, STR_ARG(word));
        given = true;
        out->optimizer = optimizer_find(word);
        if (out->optimizer)
            continue;
        int n;
        const Optimizer *rows = optimizers(&n);
        Nearest nearest = nearest_to(word, 4);
        for (int i = 0; i < n; i++)
            nearest_try(&nearest, rows[i].name);
        refuse(err, nearest, "there is no optimizer");
        return nearest.name ? false : error_hint(err, "%s", optimizer_names());
    }
    return true;
}

Str update_spec_word(Str *rest)
{
    size_t n = 0;
    for (int depth = 0; n < rest->n && (rest->s[n] != ',' || depth > 0); n++)
        depth += (rest->s[n] == '{') - (rest->s[n] == '}');
    Str word = {rest->s, n};
    *rest = n < rest->n ? (Str){rest->s + n + 1, rest->n - n - 1} : (Str){rest->s + n, 0};
    return word;
}

bool update_spec_read(Arena *arena, const char *text, UpdateSpec *out, Error *err)
{
    *out = (UpdateSpec){.optimizer = optimizer_find(STR("adamw")),
                        .precision = DT_NONE,
                        .grads = DT_F32,
                        .scale = 1,
                        .loss = "auto"};
    if (!read_optimizer(str_from(text), out, err))
        return false;
    memcpy(out->hyper, out->optimizer->fallback, sizeof out->hyper);
    for (Str rest = str_from(text); rest.n > 0;) {
        Str word = str_trim(update_spec_word(&rest));
        if (str_find(word, STR("=")) >= 0 && !read_option(arena, word, out, err))
            return false;
    }
    return true;
}

/* ---- what a parameter has ---- */

static bool is_half(Dtype dtype)
{
    return dtype == DT_F16 || dtype == DT_BF16;
}

Dtype update_parameter_dtype(const UpdateSpec *spec, Dtype stored)
{
    return spec->precision == DT_NONE ? stored : spec->precision;
}

Dtype update_gradient_dtype(const UpdateSpec *spec, Dtype stored)
{
    Dtype dtype = update_parameter_dtype(spec, stored);
    return is_half(dtype) ? spec->grads : dtype;
}

int update_values(const UpdateSpec *spec, Dtype stored, UpdateValue out[UPDATE_VALUES_MAX])
{
    Dtype dtype = update_parameter_dtype(spec, stored);
    Dtype kept = dtype == DT_F64 ? DT_F64 : DT_F32;
    int n = 0, states[OPTIMIZER_STATES_MAX];
    int n_states = optimizer_states(spec->optimizer, spec->hyper, states);
    if (is_half(dtype))
        out[n++] = (UpdateValue){"master", kept, VALUE_MASTER, 0};
    for (int i = 0; i < n_states; i++) {
        out[n++] = (UpdateValue){spec->optimizer->state[states[i]].name, kept, states[i],
                                 optimizer_state_start(spec->optimizer, states[i], spec->hyper)};
    }
    return n;
}

int64_t update_bytes(const UpdateSpec *spec, Dtype stored)
{
    UpdateValue value[UPDATE_VALUES_MAX];
    int64_t bits = dtype_bits(update_parameter_dtype(spec, stored)) +
                   dtype_bits(update_gradient_dtype(spec, stored));
    int n = update_values(spec, stored, value);
    for (int i = 0; i < n; i++)
        bits += dtype_bits(value[i].dtype);
    return bits / 8;
}
