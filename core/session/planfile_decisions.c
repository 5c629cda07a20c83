#include "core/session/planfile.h"

#include "core/plan/assume.h"
#include "core/base/intern.h"

#include <inttypes.h>
#include <limits.h>

typedef struct {
    Session *session;
    const PlanFile *file;
    int number;       /* index of the decision, from 0 */
    const Json *json; /* it */
    Decision decision;
    Cut cut;            /* its */
    int64_t n_compared; /* names, to suggest the nearest for an unknown one */
    Intern *unknown;    /* unknown fields, over all decisions */
    int n_dropped;
    int n_resized;       /* decisions about a dim whose size has changed */
    const char *resized; /* the first of them */
} PlanfileReader;

static void note(const PlanfileReader *r, Level level, const char *code, const char *text,
                 const char *hint)
{
    Finding finding = {.level = level, .code = code, .text = text, .hint = hint};
    finding.file = r->file->path;
    finding.line = r->json ? r->file->line[r->number] : 0;
    finding.op = finding.tensor = -1;
    vec_push(r->session->journal_arena, &r->session->notes, finding);
}

/* ---- fields ---- */

static const char *const root_fields[] = {"dimscope_plan",
                                          "model",
                                          "model_hash",
                                          "config",
                                          "dtype",
                                          "dims",
                                          "mesh",
                                          "machine",
                                          "policy",
                                          "policy_options",
                                          "propagate",
                                          "profile",
                                          "no_redistribute",
                                          "fuse",
                                          "train",
                                          "decisions",
                                          "derived",
                                          NULL};
static const char *const decision_fields[] = {
    "kind",     "tensor",        "dim",     "op",   "index",  "cut",  "axes",  "group",   "pass",
    "priority", "open",          "store",   "keep", "origin", "last", "relay", "devices", "number",
    "schedule", "micro_batches", "pattern", "as",   NULL};
static const char *const origin_fields[] = {"kind", "file", "line", "text", NULL};

static bool is_listed(const char *const *fields, const char *name)
{
    for (; *fields; fields++)
        if (strcmp(*fields, name) == 0)
            return true;
    return false;
}

/* Reports each unknown field, once per file. */
static void check_fields(const PlanfileReader *r, const Json *object, const char *const *known)
{
    enum { FIELDS_LOOKED_AT = 64, UNKNOWN_MAX = 20 };
    Arena *arena = r->session->journal_arena;
    if (!json_is_object(object))
        return;
    for (int i = 0; i < json_size(object) && i < FIELDS_LOOKED_AT; i++) {
        const char *name = json_key_at(object, i);
        int before = intern_count(r->unknown);
        if (is_listed(known, name) || before == UNKNOWN_MAX ||
            intern_put(r->unknown, name, strlen(name)) < before)
            continue;
        Buf text = buf_new(arena);
        buf_puts(&text, "the field \"");
        text_printable(str_from(name), &text);
        buf_puts(&text, "\" is unknown: it is ignored, and not saved again");
        note(r, LEVEL_NOTE, "unknown-field", text.s, "dimscope help plan.json lists the fields");
    }
}

/* An optional true or false. */
static bool get_flag(const PlanfileReader *r, const char *key, bool *out, Error *err)
{
    const Json *value = json_get(r->json, key);
    *out = json_bool(value, false);
    return !value || json_is_bool(value) || error_set(err, "\"%s\" must be true or false", key);
}

static bool get_number(const PlanfileReader *r, const char *key, int *out, Error *err)
{
    const Json *value = json_get(r->json, key);
    int64_t number = value ? json_int(value, -1) : 0;
    if (number < 0 || number > INT_MAX)
        return error_set(err, "\"%s\" must be a whole number, 0 or more", key);
    *out = (int)number;
    return true;
}

/* ---- places ---- */

enum { DROPPED_MAX = 1000 }; /* decisions that get a finding of their own */

/* Suggests the nearest name for an unknown one, unless that would take seconds. */
enum { COMPARED_MAX = 400000, NAMES_AT_ONCE = 20000 };

static bool may_compare(PlanfileReader *r, int n_names)
{
    r->n_compared += n_names < NAMES_AT_ONCE ? n_names : NAMES_AT_ONCE;
    return r->n_compared < COMPARED_MAX && r->n_dropped < DROPPED_MAX;
}

static bool find_tensor(PlanfileReader *r, Error *err)
{
    const Naming *naming = r->session->naming;
    Str name = json_str(json_get(r->json, "tensor"), "");
    r->decision.dim = -1;
    r->decision.place = naming_find(naming, name, NULL);
    if (r->decision.place < 0 && may_compare(r, r->session->graph->n_tensors))
        naming_find(naming, name, err);
    return r->decision.place >= 0 || error_set(err, "no tensor is named '%.*s'", STR_ARG(name));
}

/* Finds the dim that a decision is about, and its size. Returns -1 with an error if the model has
 * no such dim. */
static int64_t find_tensor_dim(PlanfileReader *r, Error *err)
{
    if (!find_tensor(r, err))
        return -1;
    const Graph *graph = r->session->graph;
    const Shape *shape = inferred_shape(r->session->inferred, r->decision.place);
    const Json *number = json_get(r->json, "dim");
    int64_t dim = json_int(number, -1), n_dims = shape ? shape->n_dims : 0;
    if (shape && dim >= 0 && dim < n_dims) {
        r->decision.dim = (int)dim;
        return shape->dim[dim];
    }
    if (!json_is_int(number))
        error_set(err, "\"dim\" must be the number of a dim");
    else
        error_set(err, "tensor '%s' has only %" PRId64 " dims",
                  tensor_name(graph, r->decision.place), n_dims);
    return -1;
}

/* The op of the program with the most similar name. */
static void hint_op(PlanfileReader *r, Str name, Error *err)
{
    const Inferred *inferred = r->session->inferred;
    int least = INT_MAX;
    const char *nearest = NULL;
    if (!may_compare(r, inferred->n_program))
        return;
    for (int i = 0; i < inferred->n_program && i < NAMES_AT_ONCE; i++) {
        const char *other = op_name(inferred->graph, inferred->program[i]);
        int distance = str_distance(name, str_from(other));
        if (distance < least) {
            least = distance;
            nearest = other;
        }
    }
    if (nearest)
        error_hint(err, "did you mean '%s'?", nearest);
}

static void hint_index(Arena *arena, const OpSpace *space, Error *err)
{
    Buf names = buf_new(arena);
    for (int i = 0; i < space->n_index; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", space->index[i].name);
    error_hint(err, "its index dims are %s", space->n_index > 0 ? names.s : "none");
}

/* Finds the op of the program that a member names; -1 with an error if there is none. */
static int32_t find_op(PlanfileReader *r, const char *key, Error *err)
{
    Str name = json_str(json_get(r->json, key), "");
    int32_t op = graph_find_op(r->session->graph, name);
    if (op >= 0 && inferred_space(r->session->inferred, op))
        return op;
    error_set(err, "the program has no op '%.*s'", STR_ARG(name));
    hint_op(r, name, err);
    return -1;
}

static int64_t find_index_dim(PlanfileReader *r, Error *err)
{
    Str index = json_str(json_get(r->json, "index"), "");
    int32_t op = find_op(r, "op", err);
    if (op < 0)
        return -1;
    const OpSpace *space = program_space(r->session->inferred, op);
    r->decision.place = op;
    r->decision.dim = opspace_find_index(space, index);
    if (r->decision.dim < 0) {
        error_set(err, "op '%s' has no index dim '%.*s'", op_name(r->session->graph, op),
                  STR_ARG(index));
        hint_index(r->session->journal_arena, space, err);
        return -1;
    }
    return space->index[r->decision.dim].size;
}

/* ---- decisions ---- */

/* Counts a decision such as "8/dp" about a dim that has 16 elements in this model. */
static void count_resized(PlanfileReader *r, Str was, int64_t size)
{
    const Session *session = r->session;
    if (r->n_resized++ > 0)
        return;
    bool tensor = r->decision.kind == PIN_TENSOR_DIM;
    r->resized = arena_printf(session->journal_arena, "dim %d of '%s' was %.*s and is %" PRId64,
                              r->decision.dim,
                              tensor ? tensor_name(session->graph, r->decision.place)
                                     : op_name(session->graph, r->decision.place),
                              STR_ARG(was), size);
}

/* Reads a cut. A contiguous one is adapted if the dim has another size now: "8/dp" of 16 is
 * "16/dp". */
static bool read_cut(PlanfileReader *r, int64_t size, Error *err)
{
    Arena *arena = r->session->journal_arena;
    Str text = json_str(json_get(r->json, "cut"), "");
    Str was = {text.s, 0};
    while (was.n < text.n && is_digit(text.s[was.n]))
        was.n++;
    const char *now = arena_printf(arena, "%" PRId64, size);
    bool resized = was.n > 0 && !str_eq(was, str_from(now));
    if (resized)
        text = str_from(arena_printf(arena, "%s%.*s", now, (int)(text.n - was.n), text.s + was.n));
    Shape shape = {.n_dims = 1, .dim = {size}};
    Source source = {.name = "cut", .text = text};
    Sharding sharding;
    if (!sharding_parse(&source, &shape, r->session->mesh, VIEW_OURS, &sharding, err))
        return false;
    if (sharding_partials(&sharding))
        return error_set(err, "'%.*s' is not a cut of a dim", STR_ARG(text));
    if (resized)
        count_resized(r, was, size);
    r->cut = sharding.dim[0];
    r->decision.cut = &r->cut;
    return true;
}

static bool read_axes(PlanfileReader *r, Error *err)
{
    const Json *axes = json_get(r->json, "axes");
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    if (!json_is_array(axes) || json_size(axes) == 0)
        return error_set(err, "\"axes\" must be a list of axes");
    for (int i = 0; i < json_size(axes); i++) {
        Source source = {.name = "axes", .text = json_str(json_at(axes, i), "")};
        Scan scan = scan_begin(&source, err);
        if (!mesh_parse_atoms(r->session->mesh, &scan, atom, &n) || !scan_end(&scan))
            return false;
    }
    for (int i = 0; i < n; i++)
        r->decision.axes |= (AtomSet)1 << atom[i];
    return true;
}

static bool read_group(PlanfileReader *r, Error *err)
{
    Str group = json_str(json_get(r->json, "group"), "");
    r->decision.group = arena_str(r->session->journal_arena, group);
    return group.n > 0 || error_set(err, "\"group\" must be the name of a group");
}

static bool read_pass(PlanfileReader *r, Error *err)
{
    Str name = json_str(json_get(r->json, "pass"), "");
    bool both = r->decision.kind == PIN_SCHEDULE;
    for (Pass pass = PASS_NONE; pass <= PASS_BOTH; pass++)
        if (str_eq(name, str_from(pass_name(pass))) && (both || pass < PASS_BOTH)) {
            r->decision.pass = pass;
            return true;
        }
    error_set(err, "\"pass\" cannot be '%.*s'", STR_ARG(name));
    error_hint(err, "forward, backward or none%s", both ? ", or both" : "");
    return false;
}

static void read_origin(PlanfileReader *r)
{
    Arena *arena = r->session->journal_arena;
    const Json *json = json_get(r->json, "origin");
    Origin *origin = &r->decision.origin;
    *origin = (Origin){ORIGIN_USER, r->file->path, r->file->line[r->number], ""};
    if (!json_is_object(json))
        return;
    Str kind = json_str(json_get(json, "kind"), "user");
    for (OriginKind k = ORIGIN_POLICY; k <= ORIGIN_SEARCH; k++)
        if (str_eq(kind, str_from(origin_kind_name(k))))
            origin->kind = k;
    origin->file = arena_str(arena, json_str(json_get(json, "file"), ""));
    int64_t line = json_int(json_get(json, "line"), 0);
    origin->line = line > 0 && line <= INT_MAX ? (int)line : 0;
    origin->text = arena_str(arena, json_str(json_get(json, "text"), ""));
}

/* "store": true or false, or a list of what is stored so. */
static bool read_stored(PlanfileReader *r, Error *err)
{
    const Json *list = json_get(r->json, "store");
    if (!list || !json_is_array(list)) {
        bool all = false;
        if (!get_flag(r, "store", &all, err))
            return false;
        r->decision.store = all ? STORED_ALL : STORED_NONE;
        return true;
    }
    bool known = json_size(list) > 0;
    for (int i = 0; i < json_size(list); i++)
        known = known && stored_add(json_str(json_at(list, i), ""), &r->decision.store);
    return known || error_set(err, "\"store\" must be true, false or a list of \"parameter\", "
                                   "\"gradient\", \"states\"");
}

static bool read_pin(PlanfileReader *r, Error *err)
{
    bool on_tensor = json_get(r->json, "tensor") != NULL;
    r->decision.kind = on_tensor ? PIN_TENSOR_DIM : PIN_INDEX_DIM;
    int64_t size = on_tensor ? find_tensor_dim(r, err) : find_index_dim(r, err);
    return size >= 0 && read_cut(r, size, err) && read_stored(r, err) &&
           get_flag(r, "keep", &r->decision.keep, err) &&
           (on_tensor || !r->decision.keep ||
            error_set(err, "\"keep\" is of pins of tensors, not of ops")) &&
           get_flag(r, "open", &r->decision.open, err) &&
           get_number(r, "priority", &r->decision.priority, err);
}

static bool read_unpin(PlanfileReader *r, Error *err)
{
    bool on_tensor = json_get(r->json, "tensor") != NULL;
    r->decision.kind = on_tensor ? UNPIN_TENSOR_DIM : UNPIN_INDEX_DIM;
    return (on_tensor ? find_tensor_dim(r, err) : find_index_dim(r, err)) >= 0;
}

static bool read_devices(PlanfileReader *r, Error *err)
{
    Source source = {"devices", json_str(json_get(r->json, "devices"), "")};
    if (!json_is_string(json_get(r->json, "devices")))
        return error_set(err, "\"devices\" must be a text such as \"pp=0\"");
    return submesh_parse(r->session->mesh, &source, &r->decision.devices, err);
}

/* Reads a decision about ops from one to another. */
static bool read_range(PlanfileReader *r, Error *err)
{
    r->decision.place = find_op(r, "op", err);
    r->decision.last = r->decision.place < 0 ? -1 : find_op(r, "last", err);
    if (r->decision.last < 0)
        return false;
    if (r->decision.last < r->decision.place)
        return error_set(err, "op '%s' comes before op '%s'",
                         op_name(r->session->graph, r->decision.last),
                         op_name(r->session->graph, r->decision.place));
    if (r->decision.kind == PIN_DEVICES)
        return read_devices(r, err);
    bool whole = json_get(r->json, "whole") != NULL;
    return get_number(r, "number", &r->decision.number, err) &&
           (!whole || get_flag(r, "whole", &r->decision.whole, err));
}

static bool read_stage(PlanfileReader *r, Error *err)
{
    r->decision.place = find_op(r, "op", err);
    return r->decision.place >= 0 && get_flag(r, "relay", &r->decision.relay, err);
}

static bool read_schedule(PlanfileReader *r, Error *err)
{
    Str schedule = json_str(json_get(r->json, "schedule"), "");
    r->decision.schedule = arena_str(r->session->journal_arena, schedule);
    if (schedule.n == 0)
        return error_set(err, "\"schedule\" must be the name of a schedule, or its steps");
    return get_number(r, "micro_batches", &r->decision.number, err) &&
           (!json_get(r->json, "pass") || read_pass(r, err));
}

static bool read_assumption(PlanfileReader *r, Error *err)
{
    Str pattern = json_str(json_get(r->json, "pattern"), "");
    r->decision.pattern = arena_str(r->session->journal_arena, pattern);
    if (pattern.n == 0)
        return error_set(err, "\"pattern\" must match names of values");
    if (!assumed_parse(json_str(json_get(r->json, "as"), ""), &r->decision.assumed))
        return error_set(err, "\"as\" must be \"reduced\", \"partial\", \"mean\", "
                              "\"drawn by rank\" or \"drawn alike\"");
    return read_axes(r, err);
}

static bool read_decision(PlanfileReader *r, Error *err)
{
    Str name = json_str(json_get(r->json, "kind"), "");
    DecisionKind kind = 0;
    while (kind < DECISION_KIND_COUNT && !str_eq(name, str_from(decision_kind_name(kind))))
        kind++;
    r->decision.kind = kind;
    switch (kind) {
    case PIN_TENSOR_DIM:
    case PIN_INDEX_DIM:
        return read_pin(r, err);
    case UNPIN_TENSOR_DIM:
    case UNPIN_INDEX_DIM:
        return read_unpin(r, err);
    case PIN_REPLICATED:
    case PIN_UNREDUCED:
        return find_tensor(r, err) && read_axes(r, err);
    case PIN_GROUP:
        return find_tensor(r, err) && read_group(r, err);
    case PIN_BARRIER:
        return find_tensor(r, err) && read_pass(r, err);
    case UNPIN_TENSOR:
        return find_tensor(r, err);
    case PIN_STAGE:
        return read_stage(r, err);
    case PIN_DEVICES:
    case PIN_RECOMPUTE:
        return read_range(r, err);
    case PIN_SCHEDULE:
        return read_schedule(r, err);
    case PIN_ASSUMED:
        return read_assumption(r, err);
    case DECISION_KIND_COUNT:
        break;
    }
    error_set(err, "'%.*s' is not a kind of decision", STR_ARG(name));
    error_hint(err, "pin, unpin, replicated, unreduced, tie, barrier, unmark, stage, devices, "
                    "recompute, schedule or assume");
    return false;
}

static void check_model(const PlanfileReader *r)
{
    const Session *session = r->session;
    const char *hash = arena_printf(session->journal_arena, "%016" PRIx64, session->graph->hash);
    Str saved = json_str(json_get(r->file->root, "model_hash"), hash);
    if (!str_eq(saved, str_from(hash)))
        note(r, LEVEL_NOTE, "model-changed",
             arena_printf(session->journal_arena,
                          "%s has changed since the plan was made: its hash is %s, not %.*s",
                          session->graph->file, hash, STR_ARG(saved)),
             "decisions are matched by name");
}

static void note_dropped(PlanfileReader *r, const Error *why)
{
    if (++r->n_dropped > DROPPED_MAX)
        return;
    Arena *arena = r->session->journal_arena;
    Buf text = buf_new(arena);
    buf_printf(&text, "decision %d of the plan", r->number + 1);
    const Json *origin = json_get(r->json, "origin");
    Str file = json_str(json_get(origin, "file"), "");
    if (file.n > 0) {
        buf_puts(&text, ", of ");
        text_printable(str_from(path_base(arena_str(arena, file))), &text);
        buf_printf(&text, ":%" PRId64, json_int(json_get(origin, "line"), 0));
        buf_puts(&text, ",");
    }
    buf_printf(&text, " is left out: %s", why->text);
    note(r, LEVEL_WARNING, "decision-dropped", text.s, arena_str(arena, str_from(why->hint)));
}

static void note_counts(PlanfileReader *r)
{
    r->json = NULL;
    if (r->n_dropped > DROPPED_MAX)
        note(r, LEVEL_WARNING, "decision-dropped",
             arena_printf(r->session->journal_arena, "%d more decisions of the plan are left out",
                          r->n_dropped - DROPPED_MAX),
             "is the plan for another model?");
    if (r->n_resized > 0)
        note(r, LEVEL_NOTE, "dim-resized",
             arena_printf(r->session->journal_arena,
                          "%d sharding%s of dims whose size has changed: %s", r->n_resized,
                          r->n_resized > 1 ? "s are" : " is", r->resized),
             "the same axes shard the dim at its present size");
}

void planfile_decisions(Session *session, const PlanFile *file, Journal *journal)
{
    Arena *scratch = arena_new();
    PlanfileReader r = {.session = session, .file = file, .unknown = intern_new(scratch)};
    const Json *decisions = json_get(file->root, "decisions");
    check_model(&r);
    check_fields(&r, file->root, root_fields);
    for (int i = 0; i < json_size(decisions); i++) {
        Error why = {0};
        r.number = i;
        r.json = json_at(decisions, i);
        r.decision = (Decision){0};
        check_fields(&r, r.json, decision_fields);
        check_fields(&r, json_get(r.json, "origin"), origin_fields);
        read_origin(&r);
        if (read_decision(&r, &why))
            journal_add(journal, session->journal_arena, &r.decision);
        else
            note_dropped(&r, &why);
    }
    note_counts(&r);
    arena_free(scratch);
}

/* Whether the decision was made in the explorer. Those of a pins file or a plan file are read again
 * with the file. */
static bool was_made_here(const Origin *origin)
{
    return origin->kind == ORIGIN_USER && (!origin->file || !*origin->file);
}

void planfile_carry(const Session *from, Session *to, Journal *journal)
{
    Arena *scratch = arena_new();
    PlanFile file = {.path = "", .line = arena_array(scratch, int, from->journal.n_done)};
    PlanfileReader r = {.session = to, .file = &file, .unknown = intern_new(scratch)};
    for (int i = 0; i < from->journal.n_done; i++) {
        const Decision *decision = &from->journal.decisions.at[i];
        if (!was_made_here(&decision->origin))
            continue;
        Json *json = planfile_decision(scratch, from, decision);
        const char *text = decision->origin.text ? decision->origin.text : "";
        Error why = {0};
        r.number = i;
        r.json = json;
        r.decision = (Decision){0};
        r.decision.origin = (Origin){ORIGIN_USER, "", decision->origin.line,
                                     arena_str(to->journal_arena, str_from(text))};
        if (read_decision(&r, &why))
            journal_add(journal, to->journal_arena, &r.decision);
        else
            note_dropped(&r, &why);
        r.json = NULL;
        json_free(json);
    }
    note_counts(&r);
    arena_free(scratch);
}
