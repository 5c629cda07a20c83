#include "core/session/load.h"
#include "core/session/load_infer.h"
#include "core/session/model_settings.h"
#include "core/session/session_parts.h"

#include "core/base/nearest.h"
#include "core/base/units.h"

#include "core/base/peer.h"
#include "core/model/onnx.h"
#include "core/model/parameters.h"
#include "core/model/reader.h"
#include "core/model/widen.h"
#include "core/rules/anno_lint.h"
#include "core/fuse/fuse.h"
#include "core/fuse/tied.h"
#include "core/fuse/for_gradients.h"
#include "core/rules/user_op.h"
#include "core/step/step.h"

#include <limits.h>

enum { DIMS_FILE_BYTES_MAX = 1 << 16 };

static void add_dims(Arena *arena, DimBindings *dims, const DimBindings *more)
{
    for (int i = 0; i < more->n; i++)
        vec_push(arena, dims, more->at[i]);
}

/* MODEL.dims beside the model gives default sizes; sizes from the user override them. */
static bool read_dims(Session *session, DimBindings *dims, Error *err)
{
    Arena *arena = session->model_arena;
    const char *path = session_dims_path(arena, session->options.model);
    Source source;
    if (file_exists(path) && (!file_read(arena, path, DIMS_FILE_BYTES_MAX, &source, err) ||
                              !dims_parse(arena, &source, dims, err)))
        return false;
    add_dims(arena, dims, &session->options.dims);
    return true;
}

static bool is_given(const DimBindings *dims, Str name)
{
    for (int i = 0; i < dims->n; i++)
        if (str_eq(dims->at[i].name, name))
            return true;
    return false;
}

bool session_policy_sizes(const Session *session, Arena *arena, DimBindings *out, Error *err)
{
    const SessionHooks *hooks = &session->hooks;
    const SessionOptions *options = &session->options;
    *out = (DimBindings){0};
    if (!hooks->sizes || !options->policy)
        return true;
    Source text = {.name = "--mesh", .text = str_from(session_mesh_text(session))};
    const Mesh *mesh = mesh_parse(arena, &text, NULL);
    return !mesh || /* its error is reported where it is read */
           hooks->sizes(hooks->context, arena, options->policy, &options->settings, mesh, out, err);
}

/* Sizes that the policy asks for come before those that the user gave this time. */
static void add_policy_sizes(Session *session, DimBindings *dims)
{
    const DimBindings *wanted = &session->policy_sizes;
    for (int i = 0; i < wanted->n; i++)
        if (!is_given(&session->given.dims, wanted->at[i].name))
            vec_push(session->model_arena, dims, wanted->at[i]);
}

/* "batch" is "batch_size" too, in a graph whose free dims are named so. */
static void match_policy_sizes(Session *session, DimBindings *dims)
{
    const Graph *graph = session->graph;
    for (int i = 0; i < graph->n_inputs * session->policy_sizes.n; i++) {
        const GraphTensor *input = &graph->tensors[graph->inputs[i % graph->n_inputs]];
        DimBinding part = session->policy_sizes.at[i / graph->n_inputs];
        for (int d = 0; input->declared >= 0 && d < input->n_declared; d++) {
            DeclaredDim dim = graph->declared[input->declared + d];
            Str name = names_str(graph->names, dim.name);
            if (dim.size < 0 && dim.name > 0 && str_find(name, part.name) >= 0 &&
                !is_given(&session->given.dims, name))
                vec_push(session->model_arena, dims, ((DimBinding){name, part.size}));
        }
    }
}

static bool has_operator(const void *registry, Str op_type)
{
    return registry_find(registry, op_type) != NULL;
}

/* Registers the shipped operators, then those of the policy. */
static bool prepare_rules(Session *session, Error *err)
{
    const SessionHooks *hooks = &session->hooks;
    const char *policy = session->options.policy;
    return !hooks->prepare ||
           (hooks->prepare(hooks->context, session, NULL, &session->rules, err) &&
            (!policy || hooks->prepare(hooks->context, session, policy, &session->rules, err)));
}

/* Warns of annotations that lose data, where an op of the model follows them. */
static void lint_operators(Session *session)
{
    const Graph *graph = session->graph;
    bool *seen = arena_array(session->model_arena, bool, names_count(graph->names));
    for (int32_t op = 0; op < graph->n_ops; op++) {
        const char *name = op_operator(graph, op);
        if (seen[graph->ops[op].op_type])
            continue;
        seen[graph->ops[op].op_type] = true;
        const Operator *row = registry_find(session->rules.registry, str_from(name));
        if (row)
            anno_lint_operator(session->model_arena, row, &session->inferred->findings);
    }
    user_op_find_old_values(session->inferred, &session->inferred->findings);
}

const ModelReader *session_reader(const char *path, Str text)
{
    const ModelReader *found = NULL;
    for (const Peer *const *peer = built_peers; *peer && !found; peer++)
        found = model_reader_find((*peer)->readers, str_from(path), text);
    return found;
}

/* Reads a model that a peer reads. *is stays false for one of another kind. */
static bool read_by_peer(Session *session, DimBindings *dims, bool *is, Error *err)
{
    Arena *arena = session->model_arena;
    const char *path = session->options.model;
    FileMap map;
    *is = false;
    if (str_ends(str_from(path), STR(".lua")) || !file_map(path, &map, NULL))
        return true; /* reported where it is opened */
    const ModelReader *reader = session_reader(path, map.text);
    if (!reader) {
        file_unmap(&map);
        return true;
    }
    *is = true;
    session->source_map = map;
    session->read_notes = (Findings){0};
    DimBindings all = {0};
    ModelFile file = {.arena = arena, .path = path, .text = map.text};
    file.progress = session->progress;
    file.dims = &all;
    file.notes = &session->read_notes;
    file.shardings = session->file_shardings = arena_make(arena, FileShardings);
    file.registry = session->rules.registry;
    session->graph = reader->read(&file, err);
    add_dims(arena, &all, dims);
    *dims = all;
    return session->graph != NULL;
}

static bool peer_is_built(const char *name)
{
    for (const Peer *const *peer = built_peers; *peer; peer++)
        if (strcmp((*peer)->name, name) == 0)
            return true;
    return false;
}

/* Names what this program was built without, if that reads such files. */
static bool check_peer_is_built(const char *path, Error *err)
{
    for (const KnownPeer *peer = known_peers; peer->name; peer++) {
        if (peer->endings && !peer_is_built(peer->name) &&
            model_file_ending(peer->endings, str_from(path)).n > 0)
            return error_kind(err, ERROR_UNREADABLE,
                              "'%s' needs the %s reader, which this dimscope was built without",
                              path, peer->name);
    }
    return true;
}

/* The graph of the model's file; sizes of free dims that the file gives come before the user's.
 * Operators are registered first: a local function that has a rule of its own stays one op. */
static bool open_graph(Session *session, DimBindings *dims, Error *err)
{
    const char *path = session->options.model;
    const SessionHooks *hooks = &session->hooks;
    Arena *arena = session->model_arena;
    if (!path)
        return error_kind(err, ERROR_UNREADABLE, "the plan file names no model");
    bool read;
    if (!read_by_peer(session, dims, &read, err) || (!read && !check_peer_is_built(path, err)))
        return false;
    if (!read && hooks->model &&
        (str_ends(str_from(path), STR(".lua")) || str_ends(str_from(path), STR(".json")))) {
        DimBindings all = {0};
        session->graph = hooks->model(hooks->context, session, path, dims, &all, err);
        add_dims(arena, &all, dims);
        *dims = all;
        return session->graph != NULL;
    }
    if (session->options.config || session->options.dtype) {
        error_kind(err, ERROR_USAGE,
                   "'%s' is not a .lua model or a config.json, so it cannot be given %s", path,
                   session->options.config ? "a config" : "an element type");
        return error_hint(
            err, "use --config with a .lua model, --dtype with a .lua model or a config.json");
    }
    const PolicySetting *setting = model_settings_first(&session->options.settings);
    if (setting) {
        error_kind(err, ERROR_USAGE,
                   "'%s' is not a .lua model or a config.json, so its %s cannot be set", path,
                   setting->name);
        return error_hint(err, "--fuse attention fuses the ops of each attention into one op");
    }
    if (read)
        return true;
    OnnxKeep keep = {has_operator, session->rules.registry, session->progress};
    session->graph = onnx_open_keeping(arena, path, keep, &session->model_map, err);
    return session->graph != NULL;
}

/* Weights that are passed as arguments become parameters where --set says so. */
static bool find_parameters(Session *session, Error *err)
{
    Graph *graph = session->graph;
    const char *pattern = model_settings_parameters(&session->options.settings);
    const char *likely = graph_likely_parameters(session->model_arena, graph);
    if (pattern && graph_make_parameters(graph, str_from(pattern)) > 0)
        return true;
    if (pattern) {
        error_kind(err, ERROR_USAGE, "no input of the model matches parameters=%s", pattern);
        return error_hint(err, likely ? "try parameters='%s'" : "dimscope info lists the inputs",
                          likely);
    }
    if (likely) {
        Finding note = {.level = LEVEL_NOTE, .code = "inputs-only", .op = -1, .tensor = -1};
        note.text = arena_printf(session->model_arena,
                                 "the model has no parameters: most inputs are %s", likely);
        note.hint = arena_printf(session->model_arena,
                                 "--set parameters='%s' makes these its parameters", likely);
        vec_push(session->model_arena, &session->read_notes, note);
    }
    return true;
}

/* Fusion depends on shapes, so the graph is inferred before and after it. */
static bool fuse(Session *session, unsigned set, bool allow_free, Error *err)
{
    for (int i = 0; fusions[i].name; i++) {
        Graph *graph = NULL;
        Findings notes = {0};
        if (!(set & 1u << i))
            continue;
        if (!fusions[i].fuse(session->inferred, session->progress, &notes, &graph, err))
            return false;
        if (graph) {
            session->graph = graph;
            if (!load_infer(session, allow_free, err))
                return false;
        }
        for (int n = 0; n < notes.n; n++)
            vec_push(session->model_arena, &session->inferred->findings, notes.at[n]);
    }
    return true;
}

static void name_model(Session *session)
{
    progress_findings(session->progress, session->inferred->findings.n);
    progress_stage(session->progress, "naming tensors", 0);
    for (int i = 0; i < session->read_notes.n; i++)
        vec_push(session->model_arena, &session->inferred->findings, session->read_notes.at[i]);
    lint_operators(session);
    session->naming = naming_new(session->model_arena, session->inferred);
}

static bool add_loss(Session *session, const UpdateSpec *spec, Loss *out, Error *err)
{
    if (session->graph->stated) {
        error_kind(err, ERROR_USAGE,
                   "%s already is a training step, so --train cannot derive one from it",
                   path_base(session->graph->file));
        return error_hint(err, "run plan without --train to see what its phases cost; diff MODEL "
                               "--joint FILE compares it with a derived step");
    }
    if (!loss_add(session->model_arena, session->inferred, spec, out, err))
        return false;
    session->graph = out->graph;
    return load_infer(session, false, err);
}

typedef Vec(int32_t) TensorList;

/* Parameters by their own names and by the labels of screens. */
static void add_frozen(const Session *session, const char *pattern, TensorList *out)
{
    const Inferred *inferred = session->inferred;
    Arena *scratch = arena_new();
    const Naming *naming = naming_new(scratch, inferred);
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++)
        if (tensor_is_parameter(inferred, t) && tensor_n_uses(inferred->graph, t) > 0 &&
            (str_glob(str_from(pattern), str_from(tensor_name(inferred->graph, t))) ||
             str_glob(str_from(pattern), str_from(naming_label(naming, t)))))
            vec_push(session->model_arena, out, t);
    arena_free(scratch);
}

/* The parameter whose label ends most like the pattern does behind its last star; NULL if there are
 * no parameters. */
static const char *nearest_parameter(Arena *arena, const Inferred *inferred, const char *pattern)
{
    enum { NAMES_MAX = 20000 };
    const Naming *naming = naming_new(arena, inferred);
    const char *star = strrchr(pattern, '*'), *best = NULL;
    Nearest nearest = {str_from(star ? star + 1 : pattern), INT_MAX, NULL};
    for (int32_t t = 0; t < inferred->graph->n_tensors && t < NAMES_MAX; t++) {
        if (!tensor_is_parameter(inferred, t))
            continue;
        const char *label = naming_label(naming, t), *before = nearest.name;
        size_t n = strlen(label), n_tail = nearest.given.n;
        nearest_try(&nearest, star && n > n_tail ? label + (n - n_tail) : label);
        best = nearest.name != before ? label : best;
    }
    return best;
}

/* One finding a pattern: how much of the model it freezes, or that it matches nothing. */
static bool note_frozen(Session *session, const UpdateSpec *spec, Inferred *step)
{
    Arena *arena = session->model_arena;
    for (int i = 0; i < spec->n_freeze; i++) {
        TensorList frozen = {0};
        int64_t elements = 0;
        Buf count = buf_new(arena);
        add_frozen(session, spec->freeze[i], &frozen);
        for (int k = 0; k < frozen.n; k++)
            elements += shape_elements(inferred_shape(session->inferred, frozen.at[k]));
        units_format_count(elements, &count);
        Finding finding = {.level = LEVEL_NOTE, .code = "frozen", .op = -1, .tensor = -1};
        finding.text = arena_printf(
            arena, "'%s' freezes %d parameter%s with %s elements: no gradient, no update",
            spec->freeze[i], frozen.n, frozen.n == 1 ? "" : "s", count.s);
        if (frozen.n == 0) {
            const char *nearest = nearest_parameter(arena, session->inferred, spec->freeze[i]);
            finding.level = LEVEL_WARNING;
            finding.code = "pattern-matched-nothing";
            finding.text = arena_printf(arena, "'%s' matches no parameter: nothing is frozen",
                                        spec->freeze[i]);
            finding.hint = nearest ? arena_printf(arena, "nearest: '%s'", nearest) : "";
        }
        vec_push(arena, &step->findings, finding);
    }
    return true;
}

/* Makes the step, in the arena. model: with the loss. */
static bool derive_step(const SessionDerivation *from, Arena *arena, const Inferred *model,
                        StepShape shape, TrainingStep *out, Error *err)
{
    if (!from->loss)
        return step_make_from_outputs(arena, model, shape, out, err);
    return step_make(arena, model, from->loss, from->frozen, from->n_frozen, shape, from->spec, out,
                     err);
}

/* How many tensors there are, with the first of them in the text; nothing for none. */
static void note_tensors(Session *session, Inferred *step, const char *code, int n, int32_t first,
                         const char *what, const char *hint)
{
    Arena *arena = session->model_arena;
    Finding finding = {.level = LEVEL_NOTE, .code = code, .hint = hint, .op = -1, .tensor = first};
    if (n == 0)
        return;
    finding.text = arena_printf(arena, "'%s'%s %s", tensor_name(step->graph, first),
                                n > 1 ? arena_printf(arena, " and %d more", n - 1) : "", what);
    vec_push(arena, &step->findings, finding);
}

/* A gradient whose name a tensor of the model has already. */
static bool is_renamed(const Graph *graph, int32_t tensor)
{
    const char *name = tensor_name(graph, tensor);
    int32_t of = graph->gradient_of[tensor];
    size_t n = of < 0 ? 0 : strlen(tensor_name(graph, of));
    return of >= 0 && strncmp(name, tensor_name(graph, of), n) == 0 &&
           str_starts(str_from(name + n), STR("~grad_"));
}

/* Parameters between which and the loss something lets no gradient pass. */
static void note_stopped(Session *session, const TrainingStep *made)
{
    Arena *arena = session->model_arena;
    const Inferred *model = made->inferred->forward;
    int n = 0;
    int32_t first = -1;
    for (int i = made->n_parameters - 1; i >= 0; i--)
        if (made->gradient[made->parameter[i]] < 0) {
            first = made->parameter[i];
            n++;
        }
    int32_t by = n > 0 ? step_stopped_by(model, first) : -1;
    const char *why = by < 0
                          ? "the loss does not depend on it"
                          : arena_printf(arena, "op '%s' (%s) passes no gradient back",
                                         op_name(model->graph, by), op_operator(model->graph, by));
    const char *what =
        arena_printf(arena, "%s no gradient and no update: %s", n > 1 ? "get" : "gets", why);
    note_tensors(session, made->inferred, "no-gradient", n, first, what, "");
}

/* Parameters that an Identity op gives another name: an exporter merged initializers whose numbers
 * are equal, as those of new norms are. */
static void note_merged(Session *session, const TrainingStep *made)
{
    const Graph *graph = made->inferred->forward->graph;
    int n = 0;
    int32_t first = -1, other = -1;
    for (int i = made->n_parameters - 1; i >= 0; i--) {
        const GraphTensor *at = &graph->tensors[made->parameter[i]];
        int32_t alias = -1;
        for (int u = 0; u < tensor_n_uses(graph, made->parameter[i]); u++) {
            int32_t op = graph->uses[at->use + u];
            if (strcmp(op_operator(graph, op), "Identity") == 0)
                alias = op_outputs(graph, op)[0];
        }
        if (alias < 0)
            continue;
        first = made->parameter[i];
        other = alias;
        n++;
    }
    if (n == 0)
        return;
    const char *what =
        arena_printf(session->model_arena,
                     n > 1 ? "have other names too, such as '%s': each trains as one parameter"
                           : "is also named '%s': both train as one parameter",
                     tensor_name(graph, other));
    note_tensors(
        session, made->inferred, "merged-parameter", n, first, what,
        "torch's exporter merges initializers with equal numbers: export the model in train "
        "mode, with training=torch.onnx.TrainingMode.PRESERVE");
}

/* What a user may not expect of the step: parameters that nothing reads, of integers, or that get
 * no gradient; gradients renamed. */
static bool note_unexpected(Session *session, const TrainingStep *made)
{
    const Inferred *model = session->bare.inferred;
    Inferred *step = made->inferred;
    const Graph *graph = step->graph;
    int n_unread = 0, n_renamed = 0;
    int32_t unread = -1, renamed = -1, integers = -1;
    for (int32_t t = graph->n_tensors - 1; t >= 0; t--) {
        if (t < model->graph->n_tensors && tensor_is_parameter(model, t) &&
            !model->graph->tensors[t].buffer && dtype_is_float((Dtype)model->dtype[t]) &&
            tensor_n_uses(model->graph, t) == 0) {
            unread = t;
            n_unread++;
        } else if (t >= model->graph->n_tensors && is_renamed(graph, t)) {
            renamed = t;
            n_renamed++;
        }
    }
    note_tensors(session, step, "unread-parameter", n_unread, unread,
                 "is read by no op: no gradient, no update", "");
    int n_integers = step_integers(model, &integers);
    note_tensors(session, step, "integer-parameter", n_integers, integers,
                 "holds integers: no gradient, no update", "");
    note_stopped(session, made);
    note_merged(session, made);
    note_tensors(session, step, "gradient-renamed", n_renamed, renamed,
                 "names a gradient, because the model already has a tensor named ~grad",
                 "if the model is itself a training step, export it without its gradients");
    return true;
}

/* Copies of an embedding, which train apart from it, and what the model's fusions have noted. */
static bool note_parameters(Session *session, Inferred *step)
{
    enum { COMPARED_MOST = 1 << 22 };
    Arena *arena = session->model_arena;
    const Findings *loaded = &session->loaded.inferred->findings;
    TiedPair *pair;
    int n = tied_find(arena, session->bare.inferred, COMPARED_MOST, NULL, &pair);
    const Naming *naming = n > 0 ? naming_new(arena, session->bare.inferred) : NULL;
    for (int i = 0; i < n; i++) {
        Buf text = buf_new(arena);
        tied_format(&pair[i], naming_label(naming, pair[i].table),
                    naming_label(naming, pair[i].copy), &text);
        buf_puts(&text, ": they train as two parameters");
        Finding note = {.level = LEVEL_NOTE, .code = "untied-copy", .text = text.s, .op = -1};
        note.tensor = pair[i].copy;
        note.hint = pair[i].unknown ? "" : "--fuse tied makes them one parameter";
        vec_push(arena, &step->findings, note);
    }
    for (int i = 0; i < loaded->n; i++)
        if (strcmp(loaded->at[i].code, "fused") == 0)
            vec_push(arena, &step->findings, loaded->at[i]);
    return true;
}

/* Replaces the model by its training step, where one is wanted. */
static bool add_step(Session *session, bool allow_free, Error *err)
{
    Arena *arena = session->model_arena;
    session->derived = (SessionDerivation){0};
    session->bare = (SessionModel){0};
    session->loaded = (SessionModel){session->graph, arena_make(arena, Inferred)};
    *session->loaded.inferred = *session->inferred; /* before more is found */
    if (!session->options.train || allow_free)
        return true;
    if (!rewrite_for_gradients(&session->graph, &session->inferred, &session->options.dims,
                               session->options.given, session->progress, err))
        return false;
    session->bare = (SessionModel){session->graph, session->inferred};
    UpdateSpec *spec = arena_make(arena, UpdateSpec);
    Loss *loss = arena_make(arena, Loss);
    TensorList frozen = {0};
    TrainingStep step;
    if (!update_spec_read(arena, session->options.train, spec, err))
        return false;
    for (int i = 0; i < spec->n_freeze; i++)
        add_frozen(session, spec->freeze[i], &frozen);
    bool given = strcmp(spec->loss, "outputs") == 0;
    if (!given && !add_loss(session, spec, loss, err))
        return false;
    session->derived = (SessionDerivation){.spec = spec, .loss = given ? NULL : loss};
    session->derived.frozen = frozen.at;
    session->derived.n_frozen = frozen.n;
    session->derived.model = (SessionModel){session->graph, session->inferred};
    if (!derive_step(&session->derived, arena, session->inferred, (StepShape){0}, &step, err) ||
        (!given && (!note_frozen(session, spec, step.inferred) ||
                    !note_unexpected(session, &step) || !note_parameters(session, step.inferred))))
        return false;
    session->graph = step.graph;
    session->inferred = step.inferred;
    return true;
}

static bool same_column(const int32_t *a, const int32_t *b, int n_ops)
{
    return a == b || (a && b && memcmp(a, b, (size_t)n_ops * sizeof *a) == 0);
}

/* The same graph with a table of names of its own, since the other one may be read meanwhile. */
static Graph *graph_beside(Arena *arena, const Graph *graph)
{
    Graph *out = arena_make(arena, Graph);
    *out = *graph;
    out->names = names_copy(arena, graph->names);
    return out;
}

static SessionModel model_beside(Arena *arena, const SessionModel *model)
{
    SessionModel out = {graph_beside(arena, model->graph), arena_make(arena, Inferred)};
    *out.inferred = *model->inferred;
    out.inferred->graph = out.graph;
    out.inferred->findings = (Findings){0};
    for (int i = 0; i < model->inferred->findings.n; i++)
        vec_push(arena, &out.inferred->findings, model->inferred->findings.at[i]);
    return out;
}

static const int32_t *column_copy(Arena *arena, const int32_t *column, int n_ops)
{
    int32_t *out = column ? arena_array(arena, int32_t, n_ops) : NULL;
    if (out)
        memcpy(out, column, (size_t)n_ops * sizeof *out);
    return out;
}

bool load_step(Session *session, StepShape shape, Error *err)
{
    SessionDerivation *step = &session->derived;
    TrainingStep made;
    int n_ops = step->model.graph->n_ops;
    if (same_column(shape.recompute, step->shape.recompute, n_ops) &&
        same_column(shape.part, step->shape.part, n_ops))
        return true;
    if (!step->shape.recompute && !step->shape.part) {
        step->plain = (SessionModel){session->graph, session->inferred};
        step->naming = session->naming;
    }
    step->arena = NULL;
    step->shape = (StepShape){0};
    if (!shape.recompute && !shape.part) {
        session->graph = step->plain.graph;
        session->inferred = step->plain.inferred;
        session->naming = step->naming;
        return true;
    }
    Arena *arena = step->arena = arena_new();
    SessionModel model = model_beside(arena, &step->model);
    shape.recompute = column_copy(arena, shape.recompute, n_ops);
    shape.part = column_copy(arena, shape.part, n_ops);
    if (!derive_step(step, arena, model.inferred, shape, &made, err))
        return false;
    step->shape = shape;
    session->graph = made.graph;
    session->inferred = made.inferred;
    session->inferred->findings = step->plain.inferred->findings;
    session->naming = naming_new(arena, session->inferred);
    return true;
}

/* Fuses the inferred graph, and adds the training step. */
static bool finish_model(Session *session, unsigned set, bool allow_free, Error *err)
{
    if (!fuse(session, set, allow_free, err) || !add_step(session, allow_free, err))
        return false;
    name_model(session);
    return true;
}

/* Makes the model of session->read. dims: all sizes of free dims. */
static bool load_read(Session *session, DimBindings dims, bool allow_free, Error *err)
{
    session->graph = session->read;
    match_policy_sizes(session, &dims);
    session->options.dims = dims;
    return load_infer_written(session, allow_free, err) &&
           finish_model(session, session->options.fuse, allow_free, err);
}

bool load_sized(Session *session, const DimBindings *sizes, Error *err)
{
    DimBindings dims = {0};
    session->policy_sizes = (DimBindings){0};
    add_dims(session->model_arena, &session->policy_sizes, sizes);
    add_dims(session->model_arena, &dims, &session->options.dims);
    add_policy_sizes(session, &dims);
    session->read = graph_beside(session->model_arena, session->read);
    return load_read(session, dims, false, err);
}

bool load_model(Session *session, bool allow_free, Error *err)
{
    Arena *arena = session->model_arena;
    session->rules = rule_book_new(arena);
    session->rules.allow_native = session->options.allow_native;
    DimBindings dims = {0};
    if (!prepare_rules(session, err) ||
        (session->options.model && !read_dims(session, &dims, err)) ||
        !session_policy_sizes(session, arena, &session->policy_sizes, err))
        return false;
    add_policy_sizes(session, &dims);
    if ((!session->graph && !(open_graph(session, &dims, err) && find_parameters(session, err))) ||
        (session->options.f64 && !graph_widen(session->graph, err)))
        return false;
    session->read = session->graph;
    return load_read(session, dims, allow_free, err);
}

bool load_again(Session *session, unsigned more, Error *err)
{
    session->options.fuse |= more;
    session_show(session, session->loaded);
    return finish_model(session, more, false, err);
}

bool load_training(Session *session, Error *err)
{
    Session next = *session;
    Arena *arena = next.model_arena = next.step_arena = arena_new();
    session_show(&next, model_beside(arena, &session->loaded));
    if (!add_step(&next, false, err)) {
        arena_free(arena);
        return false;
    }
    name_model(&next);
    next.loaded = session->loaded;
    next.model_arena = session->model_arena;
    *session = next;
    return true;
}
