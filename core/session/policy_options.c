#include "core/session/policy_options.h"

#include "core/base/nearest.h"

#include <string.h>

static void put(Arena *arena, PolicySettings *settings, Str name, Str value)
{
    PolicySetting setting = {arena_str(arena, name), arena_str(arena, value)};
    for (int i = 0; i < settings->n; i++)
        if (strcmp(settings->at[i].name, setting.name) == 0) {
            settings->at[i] = setting;
            return;
        }
    vec_push(arena, settings, setting);
}

PolicySettings policy_settings_copy(Arena *arena, const PolicySettings *settings)
{
    PolicySettings out = {0};
    for (int i = 0; i < settings->n; i++)
        put(arena, &out, str_from(settings->at[i].name), str_from(settings->at[i].value));
    return out;
}

PolicySettings policy_settings_merged(Arena *arena, const PolicySettings *settings,
                                      const PolicySettings *over)
{
    PolicySettings out = policy_settings_copy(arena, settings);
    for (int i = 0; i < over->n; i++)
        put(arena, &out, str_from(over->at[i].name), str_from(over->at[i].value));
    return out;
}

bool policy_settings_with(Arena *arena, const PolicySettings *settings, Str text,
                          PolicySettings *out, Error *err)
{
    Str value = text, name = str_trim(str_take(&value, '='));
    if (name.n == 0 || !memchr(text.s, '=', text.n)) {
        error_kind(err, ERROR_USAGE, "'%.*s' is not NAME=VALUE", STR_ARG(text));
        return error_hint(err, "for example micro_batches=8; help policies lists the options");
    }
    *out = policy_settings_copy(arena, settings);
    put(arena, out, name, str_trim(value));
    return true;
}

const char *policy_settings_find(const PolicySettings *settings, const char *name)
{
    for (int i = 0; i < settings->n; i++)
        if (strcmp(settings->at[i].name, name) == 0)
            return settings->at[i].value;
    return NULL;
}

const char *policy_options_nearest(const PolicyOptions *options, Str name)
{
    Nearest nearest = {name, INT32_MAX, NULL};
    for (int i = 0; i < options->n; i++) {
        if (str_starts(str_from(options->at[i].name), name))
            return options->at[i].name;
        nearest_try(&nearest, options->at[i].name);
    }
    return nearest.name;
}
