#include "core/plan/planfile.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

enum { PLANFILE_VERSION = 1, PLANFILE_BYTES_MAX = 256 << 20 };

static const char *const propagator = "factor";

/* ORDER ORIGIN_KIND */
static const char *const origin_names[] = {"policy", "user", "search"};
enum { N_ORIGINS = sizeof origin_names / sizeof *origin_names };

/* ---- paths, relative to the plan file's folder ---- */

/* From a folder to a file, both real; the file as given when one of them is not there. */
static const char *path_between(Arena *arena, const char *dir, const char *file)
{
    char from[PATH_MAX], to[PATH_MAX];
    if (!realpath(dir, from) || !realpath(file, to))
        return file;
    size_t same = 0; /* a '/' or an end: what is before it are whole equal parts */
    for (size_t i = 0;; i++) {
        bool ends = (from[i] == '/' || !from[i]) && (to[i] == '/' || !to[i]);
        same = ends ? i : same;
        if (from[i] != to[i] || !from[i])
            break;
    }
    Buf out = buf_new(arena);
    for (const char *part = from + same; *part; part++)
        if (part[0] == '/' && part[1] && part[1] != '/')
            buf_puts(&out, "../");
    buf_puts(&out, to[same] == '/' ? to + same + 1 : to + same);
    return out.s;
}

/* A name such as "h100x8" is no path and stays. */
static const char *file_or_name(Arena *arena, const char *dir, const char *text)
{
    return file_exists(text) ? path_between(arena, dir, text) : text;
}

/* ---- save ---- */

static Json *json_or_null(const char *text)
{
    return text ? json_from_str(str_from(text)) : json_null();
}

static Json *write_origin(Arena *scratch, const char *dir, const Origin *origin)
{
    Json *out = json_object();
    json_set_str(out, "kind", origin_names[origin->kind]);
    json_set_str(out, "file", origin->file ? file_or_name(scratch, dir, origin->file) : "");
    json_set_int(out, "line", origin->line);
    json_set_str(out, "text", origin->text ? origin->text : "");
    return out;
}

static Json *write_decision(Arena *scratch, const Session *session, const char *dir,
                            const Decision *decision)
{
    bool pin = decision->kind == PIN_TENSOR_DIM || decision->kind == PIN_INDEX_DIM;
    Json *out = json_object();
    json_set_str(out, "kind", pin ? "pin" : "unpin");
    if (decision->kind == PIN_TENSOR_DIM || decision->kind == UNPIN_TENSOR_DIM) {
        json_set_str(out, "tensor", tensor_name(session->graph, decision->place));
        json_set_int(out, "dim", decision->dim);
    } else {
        const OpSpace *space = inferred_space(session->inferred, decision->place);
        json_set_str(out, "op", op_name(session->graph, decision->place));
        json_set_str(out, "index", space->index[decision->dim].name);
    }
    if (pin) {
        Buf cut = buf_new(scratch);
        cut_format(&decision->cut, session->mesh, &cut);
        json_set(out, "cut", json_from_str(buf_str(&cut)));
        json_set_bool(out, "store", decision->store);
        json_set_bool(out, "open", decision->open);
    }
    json_set(out, "origin", write_origin(scratch, dir, &decision->origin));
    return out;
}

static Json *write_plan(Arena *scratch, const Session *session, const char *dir)
{
    const SessionOptions *options = &session->options;
    Json *out = json_object(), *dims = json_object(), *decisions = json_array();
    Buf mesh = buf_new(scratch);
    mesh_format(session->mesh, &mesh);
    for (int i = 0; i < options->dims.n; i++)
        json_set_int(dims, arena_str(scratch, options->dims.at[i].name), options->dims.at[i].size);
    for (int i = 0; i < session->journal.n_done; i++)
        json_add(decisions,
                 write_decision(scratch, session, dir, &session->journal.decisions.at[i]));

    json_set_int(out, "dimscope_plan", PLANFILE_VERSION);
    json_set_str(out, "model", path_between(scratch, dir, options->model));
    json_set_str(out, "model_hash", arena_printf(scratch, "%016" PRIx64, session->graph->hash));
    json_set(out, "dims", dims);
    json_set(out, "mesh", json_from_str(buf_str(&mesh)));
    json_set_str(out, "machine", file_or_name(scratch, dir, options->machine));
    json_set(out, "policy",
             json_or_null(options->policy ? file_or_name(scratch, dir, options->policy) : NULL));
    json_set_str(out, "propagate", propagator);
    json_set(out, "decisions", decisions);
    return out;
}

bool planfile_save(const Session *session, const char *path, bool full, Error *err)
{
    Arena *scratch = arena_new();
    Json *root = write_plan(scratch, session, path_dir(scratch, path));
    if (full)
        json_set(root, "derived", plan_json(session));
    Buf text = buf_new(scratch);
    json_write_pretty(root, &text);
    json_free(root);
    bool ok = file_write(path, buf_str(&text), err);
    arena_free(scratch);
    return ok;
}

/* ---- open: what the file asks for ---- */

/* The text of a member; NULL when it is absent or null. False when it is something else. */
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
    if (!json_is_object(root) || !json_is_int(version))
        return error_set(err, "is not a dimscope plan: it has no \"dimscope_plan\"");
    if (json_int(version, 0) == PLANFILE_VERSION)
        return true;
    error_set(err, "is a plan of version %" PRId64 ", but this program reads version %d",
              json_int(version, 0), PLANFILE_VERSION);
    error_hint(err, json_int(version, 0) > PLANFILE_VERSION ? "a newer dimscope wrote it"
                                                            : "versions count from 1");
    return false;
}

static bool get_dims(Arena *arena, const Json *root, DimBindings *dims, Error *err)
{
    const Json *object = json_get(root, "dims");
    if (object && !json_is_object(object))
        return error_set(err, "\"dims\" must be an object of sizes");
    for (int i = 0; i < json_size(object); i++) {
        const char *name = json_key_at(object, i);
        int64_t size = json_int(json_get(object, name), -1);
        if (size < 0)
            return error_set(err, "the size of dim \"%s\" must be a whole number", name);
        vec_push(arena, dims, (DimBinding){str_from(arena_str(arena, str_from(name))), size});
    }
    return true;
}

static const char *opened_path(Arena *arena, const char *dir, const char *text)
{
    const char *path = path_join(arena, dir, text);
    return file_exists(path) ? path : text;
}

/* The files that decisions come from, as they can be opened from here. */
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
    const char *model, *mesh, *machine, *policy, *propagate, *dir = path_dir(arena, path);
    if (!check_version(root, err) || !get_text(arena, root, "model", &model, err) ||
        !get_text(arena, root, "mesh", &mesh, err) ||
        !get_text(arena, root, "machine", &machine, err) ||
        !get_text(arena, root, "policy", &policy, err) ||
        !get_text(arena, root, "propagate", &propagate, err) ||
        !get_dims(arena, root, &options->dims, err))
        return false;
    if (propagate && !str_eq(str_from(propagate), str_from(propagator)))
        return error_set(err, "asks for the propagator '%s', but this program has only '%s'",
                         propagate, propagator);
    if (!json_is_array(json_get(root, "decisions")))
        return error_set(err, "has no list of \"decisions\"");
    if (!model && options->model)
        return error_set(err, "names no model");
    resolve_origins(arena, dir, root);
    options->model = model ? path_join(arena, dir, model) : NULL;
    options->mesh = mesh;
    options->machine = machine ? opened_path(arena, dir, machine) : NULL;
    options->policy = policy ? opened_path(arena, dir, policy) : NULL;
    return true;
}

bool planfile_options(Arena *arena, const char *path, SessionOptions *options, Json **root,
                      Error *err)
{
    *root = NULL;
    Source source;
    Error own = {0};
    if (!file_read(arena, path, PLANFILE_BYTES_MAX, &source, err))
        return false;
    *root = json_parse(&source, &own);
    if (*root && get_options(arena, path, *root, options, &own))
        return true;
    json_free(*root);
    *root = NULL;
    error_in_file(&own, path);
    own.kind = ERROR_UNREADABLE;
    if (err && !error_is_set(err))
        *err = own;
    return false;
}

/* ---- open: its decisions ---- */

typedef struct {
    Session *session;
    const Json *json; /* a decision */
    Decision decision;
} Reading;

static void note(Session *session, Level level, const char *code, const char *text,
                 const char *hint)
{
    Finding finding = {.level = level, .code = code, .text = text, .hint = hint};
    finding.op = finding.tensor = -1;
    vec_push(session->journal_arena, &session->notes, finding);
}

/* The dim that a decision is about; its size. -1, with what is wrong, when the model has none. */
static int64_t find_tensor_dim(Reading *r, Error *err)
{
    const Inferred *inferred = r->session->inferred;
    int32_t tensor =
        naming_find(r->session->naming, json_str(json_get(r->json, "tensor"), ""), err);
    if (tensor < 0)
        return -1;
    const Shape *shape = inferred_shape(inferred, tensor);
    int64_t dim = json_int(json_get(r->json, "dim"), -1), n_dims = shape ? shape->n_dims : 0;
    if (dim < 0 || dim >= n_dims) {
        error_set(err, "tensor '%s' has %" PRId64 " dims, so none of that number",
                  tensor_name(r->session->graph, tensor), n_dims);
        return -1;
    }
    r->decision.place = tensor;
    r->decision.dim = (int)dim;
    return shape->dim[dim];
}

static int64_t find_index_dim(Reading *r, Error *err)
{
    Str name = json_str(json_get(r->json, "op"), ""),
        index = json_str(json_get(r->json, "index"), "");
    int32_t op = graph_find_op(r->session->graph, name);
    if (op < 0 || !inferred_space(r->session->inferred, op)) {
        error_set(err, "the program has no op '%.*s'", STR_ARG(name));
        return -1;
    }
    const OpSpace *space = inferred_space(r->session->inferred, op);
    r->decision.place = op;
    r->decision.dim = opspace_find_index(space, index);
    if (r->decision.dim < 0) {
        error_set(err, "op '%.*s' has no index dim '%.*s'", STR_ARG(name), STR_ARG(index));
        return -1;
    }
    return space->index[r->decision.dim].size;
}

/* A cut in one piece follows the dim when that has another size now: "8/dp" of 16 is "16/dp". */
static bool read_cut(Reading *r, int64_t size, Error *err)
{
    Arena *arena = r->session->journal_arena;
    Str text = json_str(json_get(r->json, "cut"), "");
    size_t digits = 0;
    while (digits < text.n && text.s[digits] >= '0' && text.s[digits] <= '9')
        digits++;
    if (digits > 0)
        text = str_from(
            arena_printf(arena, "%" PRId64 "%.*s", size, (int)(text.n - digits), text.s + digits));
    Shape shape = {.n_dims = 1, .dim = {size}};
    Source source = {.name = "cut", .text = text};
    Sharding sharding;
    if (!sharding_parse(&source, &shape, r->session->mesh, VIEW_OURS, &sharding, err))
        return false;
    if (sharding_partials(&sharding))
        return error_set(err, "'%.*s' is no cut of a dim", STR_ARG(text));
    r->decision.cut = sharding.dim[0];
    return true;
}

static void read_origin(Reading *r)
{
    Arena *arena = r->session->journal_arena;
    const Json *json = json_get(r->json, "origin");
    Str kind = json_str(json_get(json, "kind"), "user");
    Origin *origin = &r->decision.origin;
    origin->kind = ORIGIN_USER;
    for (int k = 0; k < N_ORIGINS; k++)
        if (str_eq(kind, str_from(origin_names[k])))
            origin->kind = (OriginKind)k;
    origin->file = arena_str(arena, json_str(json_get(json, "file"), ""));
    int64_t line = json_int(json_get(json, "line"), 0);
    origin->line = line > 0 && line <= INT_MAX ? (int)line : 0;
    origin->text = arena_str(arena, json_str(json_get(json, "text"), ""));
}

static bool read_decision(Reading *r, Error *err)
{
    bool on_tensor = json_is_string(json_get(r->json, "tensor"));
    Str kind = json_str(json_get(r->json, "kind"), "");
    bool pin = str_eq(kind, STR("pin"));
    if (!pin && !str_eq(kind, STR("unpin")))
        return error_set(err, "'%.*s' is no kind of decision", STR_ARG(kind));
    int64_t size = on_tensor ? find_tensor_dim(r, err) : find_index_dim(r, err);
    if (size < 0 || (pin && !read_cut(r, size, err)))
        return false;
    r->decision.kind = on_tensor ? (pin ? PIN_TENSOR_DIM : UNPIN_TENSOR_DIM)
                                 : (pin ? PIN_INDEX_DIM : UNPIN_INDEX_DIM);
    r->decision.store = json_bool(json_get(r->json, "store"), false);
    r->decision.open = json_bool(json_get(r->json, "open"), false);
    read_origin(r);
    return true;
}

static void check_model(Session *session, const Json *root)
{
    const char *hash = arena_printf(session->journal_arena, "%016" PRIx64, session->graph->hash);
    Str saved = json_str(json_get(root, "model_hash"), hash);
    if (!str_eq(saved, str_from(hash)))
        note(session, LEVEL_NOTE, "model-changed",
             arena_printf(session->journal_arena,
                          "%s is not the file that the plan was made for: its hash is %s, not %.*s",
                          session->graph->file, hash, STR_ARG(saved)),
             "decisions are kept by name");
}

bool planfile_decisions(Session *session, const Json *root, Journal *journal, Error *err)
{
    const Json *decisions = json_get(root, "decisions");
    if (!json_is_array(decisions))
        return error_kind(err, ERROR_UNREADABLE, "the plan has no list of \"decisions\"");
    check_model(session, root);
    for (int i = 0; i < json_size(decisions); i++) {
        Reading r = {.session = session, .json = json_at(decisions, i)};
        Error why = {0};
        if (read_decision(&r, &why))
            journal_add(journal, session->journal_arena, &r.decision);
        else
            note(session, LEVEL_WARNING, "decision-dropped",
                 arena_printf(session->journal_arena, "decision %d of the plan is left out: %s",
                              i + 1, why.text),
                 arena_str(session->journal_arena, str_from(why.hint)));
    }
    return true;
}
