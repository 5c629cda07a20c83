/* fuzz_config.c - any text as the user's file: each line counts or is a warning with its place, the
 * settings stay in their ranges, and no sequence of keys is another's start. */
#include "tui/state/config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void wrong(const char *what)
{
    fprintf(stderr, "WRONG: %s\n", what);
    abort();
}

static void check_settings(const Settings *settings)
{
    for (const Setting *row = settings_table; row->name; row++) {
        int value = setting_get(settings, row), last = -1;
        for (const char *s = row->values; s && last < 64; s = strchr(s, ' '), s = s ? s + 1 : NULL)
            last++;
        if (setting_is_list(row)) /* a bit for each word */
            last = last < 30 ? (1 << (last + 1)) - 1 : INT_MAX;
        if (value < (row->values ? 0 : row->min) || value > (row->values ? last : row->max))
            wrong(row->name);
    }
}

static void check_keys(const KeyMap *map)
{
    for (int i = 0; i < map->at.n; i++)
        for (int k = 1; k <= map->at.at[i].n; k++) {
            const Action *action = NULL;
            KeysMatch match = keymap_match(map, map->at.at[i].key, k, &action);
            if (match != (k == map->at.at[i].n ? KEYS_ACTION : KEYS_PREFIX))
                wrong("keys that cannot be reached");
            if (match == KEYS_ACTION && action != map->at.at[i].action)
                wrong("keys of two actions");
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_new();
    Source source = {.name = "config",
                     .text = {arena_str(arena, (Str){(const char *)data, size}), size}};
    UserConfig *config = config_parse(arena, &source);
    check_settings(&config->settings);
    config_theme(config, &config->settings);
    check_keys(config_keys(config, &(const Action *){explorer_actions}, 1));
    for (int i = 0; i < config->warnings.n; i++)
        if (!error_is_set(config->warnings.at[i]) || config->warnings.at[i]->line < 1)
            wrong("a warning without its place");
    arena_free(arena);
    return 0;
}
