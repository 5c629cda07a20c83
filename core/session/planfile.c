#include "core/session/planfile.h"

#include "core/plan/assume.h"
#include "core/base/intern.h"
#include "core/fuse/fuse.h"
#include "core/plan/json_forms.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

const char *origin_kind_name(OriginKind kind)
{
    /* ORDER ORIGIN_KIND */
    static const char *const names[] = {"policy", "user", "search"};
    return names[kind];
}

/* ---- paths, relative to the plan file's folder ---- */

/* The path from a folder to a file, both real paths; the file's path unchanged if one of them does
 * not exist. */
static const char *path_between(Arena *arena, const char *dir, const char *file)
{
    char from[PATH_MAX], to[PATH_MAX];
    if (!realpath(dir, from) || !realpath(file, to))
        return file;
    size_t same = 0; /* at a '/' or an end, all components before are equal */
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

/* A name such as "h100x8" is not a path and stays. */
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
    json_set_str(out, "kind", origin_kind_name(origin->kind));
    json_set_str(out, "file", origin->file ? file_or_name(scratch, dir, origin->file) : "");
    json_set_int(out, "line", origin->line);
    json_set_str(out, "text", origin->text ? origin->text : "");
    return out;
}

static void write_place(const Session *session, const Decision *decision, Json *out)
{
    if (decision_is_on_tensor(decision->kind)) {
        json_set_str(out, "tensor", tensor_name(session->graph, decision->place));
        if (decision->kind == PIN_TENSOR_DIM || decision->kind == UNPIN_TENSOR_DIM)
            json_set_int(out, "dim", decision->dim);
        return;
    }
    const OpSpace *space = program_space(session->inferred, decision->place);
    json_set_str(out, "op", op_name(session->graph, decision->place));
    json_set_str(out, "index", space->index[decision->dim].name);
}

static void write_on_ops(Arena *scratch, const Session *session, const Decision *decision,
                         Json *out)
{
    const Graph *graph = session->graph;
    Buf devices = buf_new(scratch);
    if (decision->kind == PIN_SCHEDULE) {
        json_set_str(out, "schedule", decision->schedule);
        json_set_int(out, "micro_batches", decision->number);
        if (decision->pass != PASS_NONE)
            json_set_str(out, "pass", pass_name(decision->pass));
        return;
    }
    if (decision->kind == PIN_ASSUMED) {
        json_set_str(out, "pattern", decision->pattern);
        json_set_str(out, "as", assumed_name(decision->assumed));
        json_set(out, "axes", json_of_atom_set(decision->axes, session->mesh));
        return;
    }
    json_set_str(out, "op", op_name(graph, decision->place));
    if (decision->kind == PIN_STAGE) {
        json_set_bool(out, "relay", decision->relay);
        return;
    }
    json_set_str(out, "last", op_name(graph, decision->last));
    if (decision->kind == PIN_RECOMPUTE) {
        json_set_int(out, "number", decision->number);
        if (decision->whole)
            json_set_bool(out, "whole", true);
        return;
    }
    submesh_format(session->mesh, decision->devices, &devices);
    json_set(out, "devices", json_from_str(buf_str(&devices)));
}

/* ["gradient", "states"] */
static Json *write_stored(uint8_t set)
{
    Json *out = json_array();
    for (int i = 0; i < STORED_KINDS; i++)
        if (set >> i & 1)
            json_add(out, json_from_str(str_from(stored_name(i))));
    return out;
}

static void write_pin(Arena *scratch, const Mesh *mesh, const Decision *pin, Json *out)
{
    Buf cut = buf_new(scratch);
    cut_format(decision_cut(pin), mesh, &cut);
    json_set(out, "cut", json_from_str(buf_str(&cut)));
    if (pin->store == STORED_ALL || pin->store == STORED_NONE)
        json_set_bool(out, "store", pin->store != STORED_NONE);
    else
        json_set(out, "store", write_stored(pin->store));
    if (pin->keep)
        json_set_bool(out, "keep", true);
    json_set_bool(out, "open", pin->open);
    json_set_int(out, "priority", pin->priority);
}

static Json *write_decided(Arena *scratch, const Session *session, const Decision *decision)
{
    Json *out = json_object();
    json_set_str(out, "kind", decision_kind_name(decision->kind));
    if (decision_is_on_ops(decision->kind))
        write_on_ops(scratch, session, decision, out);
    else
        write_place(session, decision, out);
    if (decision_pins_dim(decision->kind))
        write_pin(scratch, session->mesh, decision, out);
    if (decision->kind == PIN_REPLICATED || decision->kind == PIN_UNREDUCED)
        json_set(out, "axes", json_of_atom_set(decision->axes, session->mesh));
    if (decision->kind == PIN_GROUP)
        json_set_str(out, "group", decision->group);
    if (decision->kind == PIN_BARRIER)
        json_set_str(out, "pass", pass_name(decision->pass));
    return out;
}

static Json *write_decision(Arena *scratch, const Session *session, const char *dir,
                            const Decision *decision)
{
    Json *out = write_decided(scratch, session, decision);
    json_set(out, "origin", write_origin(scratch, dir, &decision->origin));
    return out;
}

Json *planfile_decision(Arena *scratch, const Session *session, const Decision *decision)
{
    return write_decision(scratch, session, "", decision);
}

/* Hashes the sizes in use: a later one for a dim replaces an earlier one. */
static void hash_dims(const DimBindings *dims, Buf *out)
{
    Arena *scratch = arena_new();
    Json *sizes = json_object();
    for (int i = 0; i < dims->n; i++)
        json_set_int(sizes, arena_str(scratch, dims->at[i].name), dims->at[i].size);
    json_write(sizes, out);
    json_free(sizes);
    arena_free(scratch);
}

uint64_t planfile_hash(const Session *session)
{
    Arena *scratch = arena_new();
    Json *root = json_array();
    Buf text = buf_new(scratch);
    mesh_format(session->mesh, &text);
    buf_printf(&text, "\n%016" PRIx64 " %s %s %s %d", session->graph->hash, session->machine->name,
               session->options.propagator->name, session->options.propagator->profile,
               session->options.no_redistribute);
    if (session->options.fuse)
        buf_printf(&text, " fuse %x", session->options.fuse);
    if (session->options.train)
        buf_printf(&text, " train %s", session->options.train);
    hash_dims(&session->options.dims, &text);
    for (int i = 0; i < session->journal.n_done; i++)
        json_add(root, write_decided(scratch, session, &session->journal.decisions.at[i]));
    json_write(root, &text);
    json_free(root);
    uint64_t hash = hash_bytes(text.s, text.n);
    arena_free(scratch);
    return hash;
}

static Json *settings_json(const PolicySettings *settings)
{
    Json *out = json_object();
    for (int i = 0; i < settings->n; i++)
        json_set_str(out, settings->at[i].name, settings->at[i].value);
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
    if (options->config)
        json_set_str(out, "config", path_between(scratch, dir, options->config));
    if (options->dtype)
        json_set_str(out, "dtype", options->dtype);
    json_set(out, "mesh", json_from_str(buf_str(&mesh)));
    json_set_str(out, "machine", file_or_name(scratch, dir, options->machine));
    json_set(out, "policy",
             json_or_null(options->policy ? file_or_name(scratch, dir, options->policy) : NULL));
    if (options->settings.n > 0)
        json_set(out, "policy_options", settings_json(&options->settings));
    json_set_str(out, "propagate", options->propagator->name);
    json_set_str(out, "profile", options->propagator->profile);
    if (options->no_redistribute)
        json_set_bool(out, "no_redistribute", true);
    if (options->fuse) {
        Buf fuse = buf_new(scratch);
        fusions_format(options->fuse, &fuse);
        json_set_str(out, "fuse", fuse.s);
    }
    if (options->train)
        json_set_str(out, "train", options->train);
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
