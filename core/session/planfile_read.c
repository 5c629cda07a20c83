#include "core/session/planfile.h"

#include "core/session/load.h"

#include "core/propagate/propagators.h"
#include "core/fuse/fuse.h"

#include <inttypes.h>

enum { PLANFILE_BYTES_MAX = 256 << 20 };

enum { CONFIG_BYTES_MAX = 4 << 20 };

/* A .json that a peer reads is a model; so is a config, with a "model_type" and no plan's version.
 * The reader of plan files reports an unreadable file. */
bool session_opens_plan(const char *path)
{
    if (!path || !str_ends(str_from(path), STR(".json")))
        return false;
    FileMap map;
    bool model = file_map(path, &map, NULL) && session_reader(path, map.text);
    file_unmap(&map);
    if (model)
        return false;
    Arena *scratch = arena_new();
    Source source;
    Json *root = file_read(scratch, path, CONFIG_BYTES_MAX, &source, NULL)
                     ? json_parse(&source, NULL)
                     : NULL;
    bool config = json_get(root, "model_type") && !json_get(root, "dimscope_plan");
    json_free(root);
    arena_free(scratch);
    return !config;
}

/* ---- the line of each decision ---- */

/* A cursor in JSON text. */
typedef struct {
    Str text;
    size_t at;
    int line, depth;
} JsonCursor;

/* The text of a string that starts at the cursor, without the quotes. */
static Str walk_string(JsonCursor *w)
{
    size_t from = ++w->at;
    while (w->at < w->text.n && w->text.s[w->at] != '"')
        w->at += w->text.s[w->at] == '\\' ? 2 : 1;
    return (Str){w->text.s + from, w->at - from};
}

/* Skips one character, or a whole string; *key is the last string. */
static char walk_on(JsonCursor *w, Str *key)
{
    char c = w->text.s[w->at];
    if (c == '"')
        *key = walk_string(w);
    w->line += c == '\n';
    w->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    w->at++;
    return c;
}

static const int *lines_of_decisions(Arena *arena, Str text, int n)
{
    enum { IN_ROOT = 1, IN_LIST = 2 };
    int *line = arena_array(arena, int, n), i = 0;
    JsonCursor w = {.text = text, .line = 1};
    Str key = STR("");
    bool found = false, begins = false;
    while (w.at < text.n && i < n) {
        bool value = !strchr(" \t\r\n,]", text.s[w.at]);
        if (found && begins && value && w.depth == IN_LIST) {
            line[i++] = w.line;
            begins = false;
        }
        char c = walk_on(&w, &key);
        if (c == '[' && w.depth == IN_LIST && str_eq(key, STR("decisions")))
            found = begins = true;
        else if (found && w.depth == IN_ROOT)
            break;
        else if (c == ',' && w.depth == IN_LIST)
            begins = true;
    }
    return line;
}

/* ---- what the file asks for ---- */

/* The text of a member; NULL if it is absent or null. Returns false if it is anything else. */
static bool get_text(Arena *arena, const Json *object, const char *key, const char **out,
                     Error *err)
{
    const Json *value = json_get(object, key);
    *out = NULL;
    if (!value || json_is_null(value))
        return true;
    if (!json_is_string(value))
        return error_set(err, "\"%s\" must be a text", key);
    *out = arena_str(arena, json_str(value, ""));
    return true;
}

static bool check_version(const Json *root, Error *err)
{
    const Json *version = json_get(root, "dimscope_plan");
    if (!json_is_object(root) || !json_is_int(version)) {
        error_set(err, "is not a dimscope plan: it has no \"dimscope_plan\"");
        error_hint(err, "a model's config.json has a \"model_type\"");
        return false;
    }
    int64_t number = json_int(version, 0);
    if (number >= PLANFILE_OLDEST && number <= PLANFILE_VERSION)
        return true;
    error_set(err, "is a plan of version %" PRId64 ", but this program reads versions %d to %d",
              number, PLANFILE_OLDEST, PLANFILE_VERSION);
    error_hint(err,
               number > PLANFILE_VERSION ? "a newer dimscope wrote it" : "versions count from 1");
    return false;
}

static bool get_dims(Arena *arena, const Json *root, DimBindings *dims, Error *err)
{
    const Json *object = json_get(root, "dims");
    enum { FREE_DIMS_MAX = 10000 };
    if (object && !json_is_object(object))
        return error_set(err, "\"dims\" must be an object of sizes");
    if (json_size(object) > FREE_DIMS_MAX)
        return error_set(err, "\"dims\" has more than %d sizes", FREE_DIMS_MAX);
    for (int i = 0; i < json_size(object); i++) {
        const char *name = json_key_at(object, i);
        int64_t size = json_int(json_get(object, name), -1);
        if (size < 0)
            return error_set(err, "the size of dim \"%s\" must be a whole number", name);
        vec_push(arena, dims, (DimBinding){str_from(arena_str(arena, str_from(name))), size});
    }
    return true;
}

static bool get_settings(Arena *arena, const Json *root, PolicySettings *settings, Error *err)
{
    const Json *object = json_get(root, "policy_options");
    enum { SETTINGS_MAX = 1000 };
    if (object && (!json_is_object(object) || json_size(object) > SETTINGS_MAX))
        return error_set(err, "\"policy_options\" must be an object of texts");
    for (int i = 0; i < json_size(object); i++) {
        const char *name = json_key_at(object, i);
        if (!json_is_string(json_get(object, name)))
            return error_set(err, "the policy option \"%s\" must be a text", name);
        PolicySetting setting = {arena_str(arena, str_from(name)),
                                 arena_str(arena, json_str(json_get(object, name), ""))};
        vec_push(arena, settings, setting);
    }
    return true;
}

static bool get_propagator(Arena *arena, const Json *root, const Propagator **out, Error *err)
{
    const char *propagate, *profile;
    return get_text(arena, root, "propagate", &propagate, err) &&
           get_text(arena, root, "profile", &profile, err) &&
           propagator_find(str_from(propagate ? propagate : "factor"),
                           str_from(profile ? profile : ""), out, err);
}

static const char *opened_path(Arena *arena, const char *dir, const char *text)
{
    const char *path = path_join(arena, dir, text);
    return file_exists(path) ? path : text;
}

/* The files that decisions come from, as paths that can be opened from here. */
static void resolve_origins(Arena *arena, const char *dir, const Json *root)
{
    const Json *decisions = json_get(root, "decisions");
    for (int i = 0; i < json_size(decisions); i++) {
        Json *origin = json_get(json_at(decisions, i), "origin");
        const char *file = arena_str(arena, json_str(json_get(origin, "file"), ""));
        if (json_is_object(origin) && file[0])
            json_set_str(origin, "file", opened_path(arena, dir, file));
    }
}

static bool get_options(Arena *arena, const char *path, const Json *root, SessionOptions *options,
                        Error *err)
{
    const char *model, *config, *mesh, *machine, *policy, *dir = path_dir(arena, path);
    if (!check_version(root, err) || !get_text(arena, root, "model", &model, err) ||
        !get_text(arena, root, "config", &config, err) ||
        !get_text(arena, root, "dtype", &options->dtype, err) ||
        !get_text(arena, root, "train", &options->train, err) ||
        !get_text(arena, root, "mesh", &mesh, err) ||
        !get_text(arena, root, "machine", &machine, err) ||
        !get_text(arena, root, "policy", &policy, err) ||
        !get_propagator(arena, root, &options->propagator, err) ||
        !get_dims(arena, root, &options->dims, err) ||
        !get_settings(arena, root, &options->settings, err))
        return false;
    if (!json_is_array(json_get(root, "decisions")))
        return error_set(err, "has no list of \"decisions\"");
    if (!model && options->model)
        return error_set(err, "names no model");
    resolve_origins(arena, dir, root);
    if (!fusions_parse(json_str(json_get(root, "fuse"), ""), &options->fuse, err))
        return false;
    options->no_redistribute = json_bool(json_get(root, "no_redistribute"), false);
    options->model = model ? path_join(arena, dir, model) : NULL;
    options->config = config ? path_join(arena, dir, config) : NULL;
    options->mesh = mesh;
    options->machine = machine ? opened_path(arena, dir, machine) : NULL;
    options->policy = policy ? opened_path(arena, dir, policy) : NULL;
    if (!policy)
        options->settings = (PolicySettings){0};
    return true;
}

bool planfile_open(Arena *arena, const char *path, SessionOptions *options, PlanFile *out,
                   Error *err)
{
    *out = (PlanFile){.path = arena_str(arena, str_from(path))};
    Source source;
    Error own = {0};
    if (!file_read(arena, path, PLANFILE_BYTES_MAX, &source, err))
        return false;
    out->root = json_parse(&source, &own);
    if (out->root && get_options(arena, path, out->root, options, &own)) {
        out->line =
            lines_of_decisions(arena, source.text, json_size(json_get(out->root, "decisions")));
        return true;
    }
    planfile_close(out);
    error_in_file(&own, path);
    own.kind = ERROR_UNREADABLE;
    if (err && !error_is_set(err))
        *err = own;
    return false;
}

void planfile_close(PlanFile *file)
{
    json_free(file->root);
    *file = (PlanFile){0};
}
