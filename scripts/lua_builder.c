#include "scripts/lua_builder.h"

#include "core/base/file.h"

#include <stdlib.h>
#include <string.h>

static const char inner[] = "text_config";

/* Fields of a config that hold for the language model in it too. */
static const struct {
    const char *name;
    bool wins; /* over the same field of the language model */
} shared[] = {{"tie_word_embeddings", true},  {"dtype", false},           {"torch_dtype", false},
              {"attn_implementation", false}, {"capacity_factor", false}, {"expert_load", false}};

static bool is_type_name(Str type)
{
    bool good = type.n > 0 && type.n < 64;
    for (size_t i = 0; i < type.n; i++)
        good &= strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", type.s[i]) != NULL;
    return good;
}

/* A builder of the user, NAME.lua beside the config or in the user's folder; NULL if there is none.
 */
static const char *find_own(const DataDirs *dirs, const char *config, const char *name)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const char *file = arena_printf(dirs->arena, "%s.lua", name), *own = NULL;
    if (folder && folder[0] == '/')
        own = path_join(dirs->arena, folder, "dimscope/models");
    else if (home && *home)
        own = path_join(dirs->arena, home, ".config/dimscope/models");
    const char *folders[] = {path_dir(dirs->arena, config), own};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *path = folders[i] ? path_join(dirs->arena, folders[i], file) : NULL;
        if (path && file_exists(path))
            return path;
    }
    return NULL;
}

/* The builder of models of that type; NULL if there is none. */
static const char *find_builder(const DataDirs *dirs, const Source *config, const char *type)
{
    if (!is_type_name(str_from(type)))
        return NULL;
    const char *path = find_own(dirs, config->name, type);
    return path ? path : data_dirs_find(dirs, "models", type, NULL);
}

static void share_fields(const Json *whole, Json *part)
{
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        const Json *value = json_get(whole, shared[i].name), *own = json_get(part, shared[i].name);
        bool has = own && !json_is_null(own);
        if (value && !json_is_null(value) && (shared[i].wins || !has))
            json_set(part, shared[i].name, json_copy(value));
    }
}

static const char *refuse(const Source *config, const char *type, const Json *text_type, Error *err)
{
    Str within = json_str(text_type, "");
    if (within.n > 0)
        error_kind(err, ERROR_UNREADABLE,
                   "there is no builder for models of type '%s', nor for their text_config, of "
                   "type '%.*s'",
                   type, STR_ARG(within));
    else
        error_kind(err, ERROR_UNREADABLE, "there is no builder for models of type '%s'", type);
    error_hint(err,
               "'dimscope help models' lists the builders; %s.lua beside the config, or in "
               "~/.config/dimscope/models, would add one",
               is_type_name(str_from(type)) ? type : "NAME");
    int64_t at = str_find(config->text, STR("\"model_type\""));
    error_at(err, config, at < 0 ? 0 : (size_t)at);
    return NULL;
}

const char *builder_choose(const DataDirs *dirs, const Source *config, Json *values,
                           ModelRequest *request, Error *err)
{
    const Json *given = json_get(values, "model_type");
    if (!json_is_string(given)) {
        error_kind(err, ERROR_UNREADABLE,
                   "not the config of a model: \"model_type\" is not a string");
        error_in_file(err, config->name);
        return NULL;
    }
    const char *type = arena_printf(dirs->arena, "%.*s", STR_ARG(json_str(given, "")));
    request->values = values;
    const char *path = find_builder(dirs, config, type);
    if (path)
        return path;
    Json *part = json_get(values, inner);
    const Json *text_type = json_get(part, "model_type");
    if (json_is_object(part)) {
        path = find_builder(dirs, config, arena_str(dirs->arena, json_str(text_type, "")));
        share_fields(values, part);
        request->values = part;
    } else {
        path = find_builder(dirs, config, arena_printf(dirs->arena, "%s_text", type));
    }
    request->within = json_is_object(part) ? inner : "";
    return path ? path : refuse(config, type, text_type, err);
}
