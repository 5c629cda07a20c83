#include "core/session/model_settings.h"

#include "core/base/intern.h"

#include <string.h>

static const struct {
    const char *name, *key; /* of the setting, of the config */
    const char *value[2];
} rows[] = {
    {"attention", "attn_implementation", {"flash", "eager"}},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static int row_of(const char *name)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return i;
    return -1;
}

bool model_setting_is(const char *name)
{
    return row_of(name) >= 0;
}

static const PolicySetting *first_setting(const PolicySettings *settings, bool of_model)
{
    for (int i = 0; i < settings->n; i++)
        if (model_setting_is(settings->at[i].name) == of_model)
            return &settings->at[i];
    return NULL;
}

const PolicySetting *model_settings_first(const PolicySettings *settings)
{
    return first_setting(settings, true);
}

const PolicySetting *policy_settings_first(const PolicySettings *settings)
{
    return first_setting(settings, false);
}

bool model_settings_apply(const PolicySettings *settings, Json *config, uint64_t *hash, Error *err)
{
    *hash = 0;
    for (int i = 0; i < settings->n; i++) {
        const PolicySetting *setting = &settings->at[i];
        int row = row_of(setting->name);
        if (row < 0)
            continue;
        const char *const *value = rows[row].value;
        if (strcmp(setting->value, value[0]) != 0 && strcmp(setting->value, value[1]) != 0)
            return error_kind(err, ERROR_USAGE, "%s is %s or %s, not '%s'", setting->name, value[0],
                              value[1], setting->value);
        json_set_str(config, rows[row].key, setting->value);
        *hash ^= hash_bytes(setting->value, strlen(setting->value)) + (uint64_t)row;
    }
    return true;
}
