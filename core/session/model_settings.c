#include "core/session/model_settings.h"

#include "core/base/intern.h"

#include <stdlib.h>
#include <string.h>

typedef enum {
    TO_CONFIG,
    TO_CONFIG_NUMBER,
    TO_CONFIG_TEXT,
    TO_LAYERS,
    TO_DTYPE,
    TO_INPUTS,
    TO_STEP
} SettingTarget;

enum { VALUES_MAX = 4, LAYERS_MAX = 1 << 20 };

/* key: of the config, or of a word of --train. value: what it may be; none: a share below 1. */
static const struct {
    const char *name, *key;
    SettingTarget target;
    const char *value[VALUES_MAX];
    const char *values;
} rows[] = {
    {"attention", "attn_implementation", TO_CONFIG, {"flash", "eager"}, "flash or eager"},
    {"dropout", "training_dropout", TO_CONFIG_NUMBER, {0}, "a number from 0 to below 1"},
    {"capacity", "capacity_factor", TO_CONFIG_TEXT, {0}, "a number above 0, or dropless"},
    {"load", "expert_load", TO_CONFIG_TEXT, {0}, "balanced, worst, or a share for each expert"},
    {"layers", NULL, TO_LAYERS, {0}, "a number of layers"},
    {"precision", NULL, TO_DTYPE, {"fp32", "bf16", "fp16", "f32"}, "fp32, bf16 or fp16"},
    {"parameters", NULL, TO_INPUTS, {0}, "a pattern of names"},
    {"grad_dtype", "grads", TO_STEP, {"f32", "bf16", "fp16", "fp32"}, "f32, bf16 or fp16"},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static int row_of(Str name)
{
    for (int i = 0; i < N_ROWS; i++)
        if (str_eq(str_from(rows[i].name), name))
            return i;
    return -1;
}

bool model_setting_is(Str name)
{
    return row_of(name) >= 0;
}

const PolicySetting *model_settings_first(const PolicySettings *settings)
{
    for (int i = 0; i < settings->n; i++) {
        int row = row_of(str_from(settings->at[i].name));
        if (row >= 0 && rows[row].target < TO_INPUTS)
            return &settings->at[i];
    }
    return NULL;
}

const PolicySetting *policy_settings_first(const PolicySettings *settings)
{
    for (int i = 0; i < settings->n; i++)
        if (row_of(str_from(settings->at[i].name)) < 0)
            return &settings->at[i];
    return NULL;
}

PolicySettings model_settings_only(Arena *arena, const PolicySettings *settings)
{
    PolicySettings out = {0};
    for (int i = 0; i < settings->n; i++)
        if (model_setting_is(str_from(settings->at[i].name)))
            vec_push(arena, &out, settings->at[i]);
    return policy_settings_copy(arena, &out);
}

/* Configs name their number of layers in one of these ways; one that has none keeps what it has. */
static void set_layers(Json *config, const char *text)
{
    static const char *const keys[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_is_int(json_get(config, keys[i])))
            json_set_int(config, keys[i], strtoll(text, NULL, 10));
}

static bool is_value(int row, const char *text)
{
    char *end;
    int64_t n;
    if (rows[row].target == TO_LAYERS)
        return str_to_int(str_from(text), &n) && n >= 1 && n <= LAYERS_MAX;
    if (rows[row].target == TO_INPUTS || rows[row].target == TO_CONFIG_TEXT)
        return *text != '\0';
    double share = strtod(text, &end);
    if (rows[row].target == TO_CONFIG_NUMBER)
        return *text != '\0' && *end == '\0' && share >= 0 && share < 1;
    for (int i = 0; i < VALUES_MAX && rows[row].value[i]; i++)
        if (strcmp(rows[row].value[i], text) == 0)
            return true;
    return false;
}

bool model_settings_check(const PolicySettings *settings, Error *err)
{
    for (int i = 0; i < settings->n; i++) {
        const PolicySetting *setting = &settings->at[i];
        int row = row_of(str_from(setting->name));
        if (row >= 0 && !is_value(row, setting->value))
            return error_kind(err, ERROR_USAGE, "%s is %s, not '%s'", setting->name,
                              rows[row].values, setting->value);
    }
    return true;
}

uint64_t model_settings_apply(const PolicySettings *settings, Json *config)
{
    uint64_t hash = 0;
    for (int i = 0; i < settings->n; i++) {
        const PolicySetting *setting = &settings->at[i];
        int row = row_of(str_from(setting->name));
        if (row < 0 || rows[row].target >= TO_INPUTS)
            continue;
        if (rows[row].target == TO_CONFIG || rows[row].target == TO_CONFIG_TEXT)
            json_set_str(config, rows[row].key, setting->value);
        else if (rows[row].target == TO_LAYERS)
            set_layers(config, setting->value);
        else if (rows[row].target == TO_CONFIG_NUMBER)
            json_set_real(config, rows[row].key, strtod(setting->value, NULL));
        hash ^= hash_bytes(setting->value, strlen(setting->value)) + (uint64_t)row;
    }
    return hash;
}

static const char *value_of(const PolicySettings *settings, SettingTarget target)
{
    for (int i = 0; i < settings->n; i++) {
        int row = row_of(str_from(settings->at[i].name));
        if (row >= 0 && rows[row].target == target)
            return settings->at[i].value;
    }
    return NULL;
}

const char *model_settings_dtype(const PolicySettings *settings)
{
    return value_of(settings, TO_DTYPE);
}

const char *model_settings_parameters(const PolicySettings *settings)
{
    return value_of(settings, TO_INPUTS);
}

void model_settings_step(const PolicySettings *settings, Buf *out)
{
    for (int i = 0; i < settings->n; i++) {
        int row = row_of(str_from(settings->at[i].name));
        if (row >= 0 && rows[row].target == TO_STEP)
            buf_printf(out, ",%s=%s", rows[row].key, settings->at[i].value);
    }
}
