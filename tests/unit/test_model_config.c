/* Models and their configs: --config, --dtype, builders of the user. */
#include "tests/unit/model_text.h"

#include "core/session/planfile.h"

#include <sys/stat.h>

/* A folder of the user, and the files in it. */
typedef struct {
    Arena *arena;
    const char *path, *home; /* home: XDG_CONFIG_HOME */
} Folder;

static const char *const inner[] = {"home/dimscope/models", "home/dimscope", "home"};

static Folder open_folder(void)
{
    Folder f = {.arena = arena_new()};
    char path[] = "/tmp/dimscope_config_XXXXXX";
    assert_non_null(mkdtemp(path));
    f.path = arena_str(f.arena, str_from(path));
    for (int i = 2; i >= 0; i--)
        assert_int_equal(mkdir(path_join(f.arena, path, inner[i]), 0700), 0);
    f.home = path_join(f.arena, path, "home");
    setenv("XDG_CONFIG_HOME", f.home, 1);
    return f;
}

static const char *write_file(const Folder *f, const char *name, const char *text)
{
    const char *path = path_join(f->arena, f->path, name);
    assert_true(file_write(path, str_from(text), NULL));
    return path;
}

static void close_folder(Folder *f, const char *const *names)
{
    for (; *names; names++)
        unlink(path_join(f->arena, f->path, *names));
    for (int i = 0; i < 3; i++)
        rmdir(path_join(f->arena, f->path, inner[i]));
    rmdir(f->path);
    unsetenv("XDG_CONFIG_HOME");
    arena_free(f->arena);
}

#define BUILDER(name, width)                                                                       \
    "function MODEL(model, config)\n"                                                              \
    "  local x = model:input('x', model.dtype, {2, " width "})\n"                                  \
    "  local y = include('lib/layers').linear(model, '" name "', x, " width ", config.n or 4)\n"   \
    "  model:output(y, 'y')\n"                                                                     \
    "end\n"

static const char *const files[] = {"config.json", "model.lua", "mine.lua",
                                    "home/dimscope/models/mine.lua", NULL};

typedef struct {
    const char *name;
    const char *beside, *own; /* texts of mine.lua beside the config, in the user's folder; or "" */
    const char *model;        /* what is opened */
    const char *config, *dtype;
    const char *want; /* "NAME TYPE n,n", or part of the error */
} ConfigRow;

#define CONFIG "{\"model_type\": \"mine\", \"n\": 6, \"torch_dtype\": \"float16\"}"

static ConfigRow rows[] = {
    {"a builder beside the config", BUILDER("beside", "8"), "", "config.json", NULL, NULL,
     "beside.weight f16 6,8"},
    {"a builder in the user's folder", "", BUILDER("own", "8"), "config.json", NULL, NULL,
     "own.weight f16 6,8"},
    {"that beside the config comes first", BUILDER("beside", "8"), BUILDER("own", "8"),
     "config.json", NULL, NULL, "beside.weight f16 6,8"},
    {"none", "", "", "config.json", NULL, NULL, "there is no builder for models of type 'mine'"},
    {"a Lua model without a config", "", "", "model.lua", NULL, NULL, "fc.weight f32 4,8"},
    {"a Lua model with one", "", "", "model.lua", "config.json", NULL, "fc.weight f16 6,8"},
    {"a Lua model of a type", "", "", "model.lua", NULL, "bf16", "fc.weight bf16 4,8"},
    {"the type comes before the config's", "", "", "model.lua", "config.json", "f32",
     "fc.weight f32 6,8"},
    {"a config of a type", BUILDER("beside", "8"), "", "config.json", NULL, "bf16",
     "beside.weight bf16 6,8"},
    {"no type of parameters", "", "", "model.lua", NULL, "i64",
     "parameters cannot have type 'i64'"},
    {"a config with a config", BUILDER("beside", "8"), "", "config.json", "config.json", NULL,
     "is already a config"},
    {"a config that is not there", "", "", "model.lua", "no.json", NULL, "no.json"},
    {"a config that is a list", "", "", "model.lua", "model.lua", NULL, "model.lua"},
};

static void check_parameter(const Session *session, Arena *arena, Str want)
{
    Str name = str_take(&want, ' ');
    int32_t tensor = graph_find_tensor(session->graph, name);
    if (tensor < 0)
        fail_msg("there is no %.*s", STR_ARG(name));
    Buf have = buf_new(arena);
    buf_printf(&have, "%s ", dtype_name((Dtype)session->inferred->dtype[tensor]));
    shape_format(inferred_shape(session->inferred, tensor), &have);
    if (!str_eq(buf_str(&have), want))
        fail_msg("%.*s is %s", STR_ARG(name), have.s);
}

static void configs_reach_their_models(void **state)
{
    const ConfigRow *row = *state;
    Folder f = open_folder();
    write_file(&f, "config.json", CONFIG);
    write_file(&f, "model.lua", BUILDER("fc", "8"));
    if (*row->beside)
        write_file(&f, "mine.lua", row->beside);
    if (*row->own)
        write_file(&f, "home/dimscope/models/mine.lua", row->own);
    Scripts *scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = path_join(f.arena, f.path, row->model)};
    options.config = row->config ? path_join(f.arena, f.path, row->config) : NULL;
    options.dtype = row->dtype;
    Error err = {0};
    Session *session = session_open_model(&options, &hooks, &err);
    bool refused = !strchr(row->want, ',');
    if (refused && (session || (!strstr(err.text, row->want) && !strstr(err.file, row->want))))
        fail_msg("%s: %s", err.file, err.text);
    if (!refused && !session)
        fail_msg("%s", err.text);
    if (session)
        check_parameter(session, f.arena, str_from(row->want));
    session_close(session);
    scripts_free(scripts);
    close_folder(&f, files);
}

/* A plan of a model with a config and a type opens as it was saved. */
static void plans_keep_config_and_type(void **state)
{
    (void)state;
    Folder f = open_folder();
    const char *saved = path_join(f.arena, f.path, "plan.json");
    write_file(&f, "config.json", CONFIG);
    Scripts *scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = write_file(&f, "model.lua", BUILDER("fc", "8"))};
    options.mesh = "tp=2";
    options.config = path_join(f.arena, f.path, "config.json");
    options.dtype = "bf16";
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session || !planfile_save(session, saved, false, &err))
        fail_msg("%s", err.text);
    session_close(session);
    session = session_open(&(SessionOptions){.model = saved}, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    check_parameter(session, f.arena, STR("fc.weight bf16 6,8"));
    assert_int_equal(session->notes.n, 0);
    session_close(session);
    scripts_free(scripts);
    unlink(saved);
    close_folder(&f, files);
}

int main(void)
{
    static ConfigRow saved[] = {{.name = "a saved plan"}};
    return run_rows("configs", rows, configs_reach_their_models) +
           run_rows("saved", saved, plans_keep_config_and_type);
}
