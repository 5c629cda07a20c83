#include "scripts/hooks.h"

#include "core/session/model_settings.h"
#include "core/session/training.h"
#include "core/base/file.h"
#include "core/base/text.h"
#include "core/reshard/cluster.h"
#include "scripts/data_dirs.h"
#include "scripts/lua_api.h"
#include "scripts/lua_builder.h"
#include "scripts/lua_console.h"
#include "scripts/lua_machine.h"
#include "scripts/lua_model.h"
#include "scripts/lua_options.h"
#include "scripts/lua_policy.h"
#include "scripts/register/lua_register.h"
#include "scripts/register/lua_registered.h"

#include <stdlib.h>
#include <unistd.h>

/* The state of a policy file. */
typedef struct {
    Sandbox *sandbox;
    const Arena *model; /* of its session: the same before and after every change */
    bool used;          /* PAS has run in it */
    bool needed;        /* operators of the session call into it */
} Loaded;

struct Scripts {
    Arena *arena; /* its own: hooks are called on the threads of jobs */
    DataDirs dirs;
    Chunks *chunks; /* of the files in them; or NULL */
    Vec(Loaded) loaded;
};

Scripts *scripts_new(Arena *arena, const char *data_dir)
{
    Scripts *scripts = arena_make(arena, Scripts);
    Arena *own = arena_new();
    *scripts = (Scripts){.arena = own, .chunks = chunks_new()};
    scripts->dirs = data_dirs_make(own, data_dir);
    return scripts;
}

/* ---- finding files ---- */

static const char *shipped_hook(void *context, Arena *arena, const char *kind)
{
    const Scripts *scripts = context;
    return data_dirs_names(&scripts->dirs, arena, kind);
}

static const char *shipped_file_hook(void *context, const char *kind, const char *name)
{
    const Scripts *scripts = context;
    return data_dirs_find(&scripts->dirs, kind, name, NULL);
}

static const char *data_file_hook(void *context, Arena *arena, const char *name)
{
    const Scripts *scripts = context;
    return data_dirs_file(&scripts->dirs, arena, name);
}

static const char *find_included(const Scripts *scripts, const char *kind, const char *name,
                                 Error *err)
{
    return data_dirs_find_included(&scripts->dirs, kind, name, err);
}

/* ---- machines ---- */

/* include "lib/nvidia", below the folder of the machines */
static const char *find_machine(void *finder, const char *name, Error *err)
{
    return find_included(finder, "machines", name, err);
}

static bool machine_hook(void *context, Arena *arena, const char *name, Machine *out, Error *err)
{
    Scripts *scripts = context;
    Includes includes = {find_machine, scripts, scripts->chunks};
    const char *slash = strrchr(name, '/'), *kind = strchr(slash ? slash : name, ':');
    Str file = {name, kind ? (size_t)(kind - name) : strlen(name)}; /* "mixed.lua:a100x8" */
    const char *path =
        data_dirs_find_or_path(&scripts->dirs, "machines", arena_str(scripts->arena, file), err);
    return path && machine_read(arena, path, &includes, out, err) &&
           (!kind || !kind[1] || cluster_choose(out, str_from(kind + 1), err));
}

/* ---- policies ---- */

static void add_note(Session *session, const char *file, int line, const char *code,
                     const char *text)
{
    Arena *arena = session->journal_arena;
    Finding note = {.level = LEVEL_NOTE, .code = code, .hint = "", .line = line};
    note.text = arena_str(arena, str_from(text));
    note.file = arena_str(arena, str_from(file));
    note.op = note.tensor = -1;
    vec_push(arena, &session->notes, note);
}

/* Tabs become blanks up to the next multiple of 8 columns, as on a terminal. */
static Str with_blanks(Arena *arena, const char *text)
{
    Buf out = buf_new(arena);
    for (const char *at = text; *at; at++)
        if (*at == '\t')
            buf_printf(&out, "%*s", 8 - text_columns(buf_str(&out)) % 8, "");
        else
            buf_putc(&out, *at);
    return buf_str(&out);
}

/* Sandbox.print: what a script prints is a note of its session. */
static void print_hook(void *listener, const char *file, int line, const char *text)
{
    Session *session = listener;
    if (!session || session->notes.n >= NOTES_MAX)
        return;
    Buf shown = buf_new(session->journal_arena);
    text_printable(with_blanks(session->journal_arena, text), &shown);
    add_note(session, file, line, "printed", shown.s);
}

/* The same without a session: "FILE:LINE: TEXT" in RuleBook.printed. */
static void print_to_book(void *listener, const char *file, int line, const char *text)
{
    enum { PRINTED_MAX = 1 << 16 };
    Buf *out = listener;
    if (!out || out->n > PRINTED_MAX)
        return;
    buf_printf(out, "%s:%d: ", file, line);
    text_printable(with_blanks(out->arena, text), out);
    buf_putc(out, '\n');
}

/* The others keep their order: the last of a session is its newest. */
static void drop(Scripts *scripts, int i)
{
    sandbox_free(scripts->loaded.at[i].sandbox);
    scripts->loaded.n--;
    memmove(&scripts->loaded.at[i], &scripts->loaded.at[i + 1],
            (size_t)(scripts->loaded.n - i) * sizeof scripts->loaded.at[0]);
}

/* States of the session that nothing can call any more. */
static void drop_used(Scripts *scripts, const Session *session)
{
    for (int i = scripts->loaded.n - 1; i >= 0; i--) {
        const Loaded *it = &scripts->loaded.at[i];
        if (it->model == session->model_arena && it->used && !it->needed)
            drop(scripts, i);
    }
}

/* A session that is being opened has no state yet: those of its address were of one that is gone.
 */
static void drop_stale(Scripts *scripts, const Session *session)
{
    for (int i = scripts->loaded.n - 1; session && i >= 0; i--)
        if (scripts->loaded.at[i].model == session->model_arena)
            drop(scripts, i);
}

/* include "lib/common", below the folder of the policies */
static const char *find_policy(void *finder, const char *name, Error *err)
{
    return find_included(finder, "policies", name, err);
}

/* include "lib/layers" */
static const char *find_model(void *finder, const char *name, Error *err)
{
    return find_included(finder, "models", name, err);
}

/* A state in which policies and typed lines run. NULL when there is no memory. */
static Sandbox *new_state(Scripts *scripts, const char *name)
{
    Sandbox *sandbox = sandbox_new(name);
    if (sandbox)
        sandbox->includes = (Includes){find_policy, scripts, scripts->chunks};
    return sandbox;
}

/* Reads the file and runs its top level in a fresh state, the last of scripts->loaded. NULL when
 * that fails. */
static Loaded *load(Scripts *scripts, Session *session, const char *policy, const RuleBook *rules,
                    Error *err)
{
    const char *path = data_dirs_find_or_path(&scripts->dirs, "policies", policy, err);
    Sandbox *sandbox = path ? new_state(scripts, path) : NULL;
    if (path && !sandbox)
        error_set(err, "no memory for Lua");
    if (!sandbox)
        return NULL;
    sandbox->listener = session ? (void *)session : rules->printed;
    sandbox->print = session ? print_hook : print_to_book;
    sandbox->includes_beside = true;
    sandbox->progress = session ? session->progress : NULL;
    PolicyOptions dropped;
    PolicySettings none = {0};
    if (!sandbox_read(sandbox, err) || !register_run(sandbox, rules, err) ||
        !options_read(sandbox, session ? &session->options.settings : &none,
                      session ? session->journal_arena : scripts->arena,
                      session ? &session->policy_options : &dropped, err)) {
        sandbox_free(sandbox);
        return NULL;
    }
    sandbox->progress = NULL;
    vec_push(scripts->arena, &scripts->loaded,
             (Loaded){.sandbox = sandbox, .model = session ? session->model_arena : NULL});
    return &scripts->loaded.at[scripts->loaded.n - 1];
}

/* ---- models ---- */

enum { CONFIG_BYTES_MAX = 4 << 20 };

/* Reads and runs a model file; request->config is set where a config asks for it. */
static Graph *run_model(Scripts *scripts, Session *session, const char *script,
                        ModelRequest *request, DimBindings *defaults, Error *err)
{
    Sandbox *sandbox = sandbox_new(script);
    if (!sandbox) {
        error_set(err, "no memory for Lua");
        return NULL;
    }
    sandbox->listener = session;
    sandbox->print = print_hook;
    sandbox->progress = session->progress;
    progress_stage(session->progress, "building the model", 0);
    request->registry = session->rules.registry;
    sandbox->includes = (Includes){find_model, scripts, scripts->chunks};
    Graph *graph = sandbox_read(sandbox, err)
                       ? model_build(session->model_arena, sandbox, request, defaults, err)
                       : NULL;
    sandbox_free(sandbox);
    return graph;
}

/* The config of a .lua model is --config, if given; a .json is its own. */
static Graph *model_hook(void *context, Session *session, const char *path, const DimBindings *dims,
                         DimBindings *defaults, Error *err)
{
    Scripts *scripts = context;
    ModelRequest request = {.file = path, .dims = dims, .asked = &session->built_with};
    const char *script = str_ends(str_from(path), STR(".json")) ? NULL : path;
    const char *given = session->options.config;
    const PolicySettings *settings = &session->options.settings;
    if (!session_dtype(session, &request.dtype, err))
        return NULL;
    if (!script && given) {
        error_kind(err, ERROR_USAGE, "'%s' is already a config, so --config cannot be given", path);
        error_hint(err, "--config goes with a .lua model");
        return NULL;
    }
    const PolicySetting *setting = model_settings_first(settings);
    if (script && !given && setting) {
        error_kind(err, ERROR_USAGE, "'%s' has no config in which to set %s", path, setting->name);
        error_hint(err, "give it one: --config FILE.json");
        return NULL;
    }
    if (script && !given)
        return run_model(scripts, session, script, &request, defaults, err);
    Arena *scratch = arena_new();
    Source config;
    Json *values = file_read(scratch, script ? given : path, CONFIG_BYTES_MAX, &config, err)
                       ? json_parse(&config, err)
                       : NULL;
    if (values && script && !json_is_object(values)) {
        error_kind(err, ERROR_UNREADABLE, "a config must be a JSON object");
        error_in_file(err, config.name);
        script = NULL;
    } else if (values && script) {
        request.values = values;
    } else if (values) {
        script = builder_choose(&scripts->dirs, &config, values, &request, err);
    }
    request.config = &config;
    Graph *graph = NULL;
    if (values && script) {
        request.settings = model_settings_apply(settings, request.values);
        graph = run_model(scripts, session, script, &request, defaults, err);
    }
    if (graph && request.within)
        add_note(session, path, 0, "printed",
                 "this is the language model alone: what makes embeddings of images and sounds is "
                 "left out");
    json_free(values);
    arena_free(scratch);
    return graph;
}

/* ---- shipped operators ---- */

static bool load_operators(const char *path, const RuleBook *rules, Error *err)
{
    Sandbox *sandbox = sandbox_new(path);
    bool ok = sandbox && sandbox_read(sandbox, err) && register_run(sandbox, rules, err);
    sandbox_free(sandbox);
    return ok || error_set(err, "no memory for Lua");
}

/* The templates of scripts/ops. Without Tapestry there are none. */
static bool load_shipped_operators(Scripts *scripts, const RuleBook *rules, Error *err)
{
    if (!lua_api_has("template"))
        return true;
    Str rest = str_from(data_dirs_names(&scripts->dirs, scripts->arena, "ops"));
    while (rest.n > 0) {
        const char *name = arena_str(scripts->arena, str_take(&rest, ' '));
        const char *path = data_dirs_find(&scripts->dirs, "ops", name, err);
        if (!path || !load_operators(path, rules, err))
            return false;
    }
    return true;
}

static bool prepare_hook(void *context, Session *session, const char *policy, const RuleBook *rules,
                         Error *err)
{
    if (!policy) {
        drop_stale(context, session);
        return load_shipped_operators(context, rules, err);
    }
    Loaded *loaded = load(context, session, policy, rules, err);
    if (!loaded)
        return false;
    loaded->needed = loaded->sandbox->registered.n > 0;
    if (session)
        loaded->sandbox->listener = NULL;
    return true;
}

static const Loaded *find_needed(const Scripts *scripts, const Session *session)
{
    for (int i = scripts->loaded.n - 1; i >= 0; i--)
        if (scripts->loaded.at[i].model == session->model_arena && scripts->loaded.at[i].needed)
            return &scripts->loaded.at[i];
    return NULL;
}

static Loaded *find_state(const Scripts *scripts, const Arena *model)
{
    for (int i = scripts->loaded.n - 1; i >= 0; i--)
        if (scripts->loaded.at[i].model == model)
            return &scripts->loaded.at[i];
    return NULL;
}

/* Says what lines of the console had set in a state that another takes the place of. */
static void note_lost(Session *session, const Sandbox *lost, const Sandbox *now)
{
    enum { NAMES_SAID = 8 };
    Arena *arena = session->journal_arena;
    Buf text = buf_new(arena);
    int n = lost->typed.n;
    if (n == 0)
        return;
    buf_puts(&text, "the policy was read again, so definitions made in the console are gone: ");
    for (int i = 0; i < n && i < NAMES_SAID; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", lost->typed.at[i]);
    if (n > NAMES_SAID)
        buf_printf(&text, " and %d more", n - NAMES_SAID);
    add_note(session, now->source.name, 0, "console-gone", text.s);
}

/* Shapes stand already, so what the file registers now is dropped; that is said when the file
 * differs from the one whose operators are in use. */
static Loaded *load_again(Scripts *scripts, Session *session, const char *policy, Error *err)
{
    Arena *arena = arena_new();
    RuleBook dropped = rule_book_new(arena);
    dropped.allow_native = session->rules.allow_native;
    Loaded *loaded = load(scripts, session, policy, &dropped, err);
    arena_free(arena);
    if (!loaded)
        return NULL;
    const Sandbox *now = loaded->sandbox;
    const Loaded *first = find_needed(scripts, session);
    Buf what = buf_new(session->journal_arena);
    registered_differ(first ? first->sandbox : NULL, now, &what);
    if (what.n > 0)
        add_note(session, now->source.name, 0, "register-op",
                 arena_printf(
                     session->journal_arena,
                     "registered operators take effect when the model is opened: %s; open it again",
                     what.s));
    return loaded;
}

/* The session's state of that file whose PAS has not run yet, or NULL. */
static Loaded *find_unused(Scripts *scripts, const Session *session, const char *policy)
{
    const char *path = data_dirs_find_or_path(&scripts->dirs, "policies", policy, NULL);
    for (int i = scripts->loaded.n - 1; path && i >= 0; i--) {
        Loaded *it = &scripts->loaded.at[i];
        if (it->model == session->model_arena && !it->used &&
            strcmp(it->sandbox->source.name, path) == 0)
            return it;
    }
    return NULL;
}

/* The session that is being opened takes the place of one whose console defined something. */
static const Sandbox *find_replaced(const Scripts *scripts, const Session *session)
{
    const Loaded *before =
        session->carried ? find_state(scripts, session->carried->model_arena) : NULL;
    return before ? before->sandbox : NULL;
}

/* When the file is read again the state before it stays until PAS has run in the new one: a policy
 * that fails changes nothing. */
static bool policy_hook(void *context, Session *session, const char *policy, Journal *journal,
                        Error *err)
{
    Scripts *scripts = context;
    Loaded *loaded = find_unused(scripts, session, policy);
    const Sandbox *lost = find_replaced(scripts, session);
    bool again = !loaded;
    if (again) {
        const Loaded *before = find_state(scripts, session->model_arena);
        lost = before ? before->sandbox : NULL;
        loaded = load_again(scripts, session, policy, err);
    }
    if (!loaded)
        return false;
    Sandbox *sandbox = loaded->sandbox;
    sandbox->listener = session;
    bool ok = policy_run(sandbox, session, journal, err);
    sandbox->listener = NULL; /* a session of a change goes away before its state */
    if (again && !ok) {
        drop(scripts, scripts->loaded.n - 1);
        return false;
    }
    if (lost)
        note_lost(session, lost, sandbox);
    if (again)
        drop_used(scripts, session);
    loaded = find_state(scripts, session->model_arena); /* it may have moved */
    if (loaded)
        loaded->used = true;
    return ok;
}

/* The state that the last run of the policy left; one of its own where there is no policy. */
static Sandbox *console_state(Scripts *scripts, const Session *session, Error *err)
{
    const Loaded *state = find_state(scripts, session->model_arena);
    if (state)
        return state->sandbox;
    Sandbox *sandbox = new_state(scripts, "console");
    if (!sandbox) {
        error_set(err, "no memory for Lua");
        return NULL;
    }
    vec_push(scripts->arena, &scripts->loaded,
             (Loaded){.sandbox = sandbox, .model = session->model_arena, .used = true});
    return sandbox;
}

static bool console_hook(void *context, Session *session, const char *text, Journal *journal,
                         Buf *answer, Error *err)
{
    Sandbox *sandbox = console_state(context, session, err);
    return sandbox && console_run(sandbox, session, text, journal, answer, err);
}

/* A state in which the top level of a policy has run for its own sake: what it registers is in the
 * arena, and what it prints is dropped. NULL if that fails. */
static Sandbox *read_policy(Scripts *scripts, Arena *arena, const char *policy,
                            const PolicySettings *settings, PolicyOptions *options, Error *err)
{
    const char *path = data_dirs_find_or_path(&scripts->dirs, "policies", policy, err);
    Sandbox *sandbox = path ? new_state(scripts, path) : NULL;
    RuleBook rules = rule_book_new(arena);
    if (sandbox)
        sandbox->includes_beside = true;
    if (sandbox && sandbox_read(sandbox, err) && register_run(sandbox, &rules, err) &&
        options_read(sandbox, settings, arena, options, err))
        return sandbox;
    sandbox_free(sandbox);
    return NULL;
}

static bool options_hook(void *context, Arena *arena, const char *policy, PolicyOptions *out,
                         Error *err)
{
    PolicySettings none = {0};
    Sandbox *sandbox = read_policy(context, arena, policy, &none, out, err);
    sandbox_free(sandbox);
    return sandbox != NULL;
}

static bool sizes_hook(void *context, Arena *arena, const char *policy,
                       const PolicySettings *settings, const Mesh *mesh, DimBindings *out,
                       Error *err)
{
    PolicyOptions dropped;
    Sandbox *sandbox = read_policy(context, arena, policy, settings, &dropped, err);
    bool ok = sandbox && policy_sizes(sandbox, mesh, arena, out, err);
    sandbox_free(sandbox);
    return ok;
}

static const ScriptEntry *rows_hook(void *context, Arena *arena)
{
    (void)context;
    return lua_api_rows(arena);
}

SessionHooks scripts_hooks(Scripts *scripts)
{
    return (SessionHooks){.context = scripts,
                          .machine = machine_hook,
                          .model = model_hook,
                          .prepare = prepare_hook,
                          .policy = policy_hook,
                          .console = console_hook,
                          .options = options_hook,
                          .sizes = sizes_hook,
                          .rows = rows_hook,
                          .shipped = shipped_hook,
                          .shipped_file = shipped_file_hook,
                          .data_file = data_file_hook};
}

void scripts_free(Scripts *scripts)
{
    if (!scripts)
        return;
    while (scripts->loaded.n > 0)
        drop(scripts, scripts->loaded.n - 1);
    chunks_free(scripts->chunks);
    arena_free(scripts->arena);
}
