#include "core/session/session.h"

#include "core/base/peer.h"
#include "core/model/reader.h"
#include "core/propagate/propagators.h"
#include "core/propagate/propagate.h"
#include "core/session/onnx_devices.h"
#include "core/session/planfile.h"
#include "core/session/model_settings.h"
#include "core/session/session_pins.h"
#include "core/plan/stage.h"
#include "core/session/load.h"
#include "core/session/lent.h"
#include "core/session/make.h"
#include "core/session/renumber.h"
#include "core/session/reopen.h"
#include "core/session/signature.h"
#include "core/session/session_parts.h"
#include "core/session/system_settings.h"
#include "core/session/training.h"

static const char *const default_mesh = "x=1", *const default_machine = "h100x8";

const char *session_dims_path(Arena *arena, const char *model)
{
    Str stem = str_from(model), ending = STR("");
    for (const KnownPeer *peer = known_peers; peer->name && ending.n == 0; peer++)
        ending = peer->endings ? model_file_ending(peer->endings, stem) : ending;
    if (ending.n == 0)
        ending = model_file_ending(".onnx .lua .json", stem);
    stem.n -= ending.n;
    return arena_printf(arena, "%.*s.dims", STR_ARG(stem));
}

/* ---- plan: mesh, machine, journal ---- */

const char *session_mesh_text(const Session *session)
{
    return session->options.mesh ? session->options.mesh : default_mesh;
}

bool session_read_mesh(Session *session, const char *text, Mesh **out, Error *err)
{
    Source source = {.name = "--mesh", .text = str_from(text)};
    *out = mesh_parse(session->journal_arena, &source, err);
    if (!*out && err)
        err->kind = ERROR_USAGE;
    return *out != NULL;
}

/* Reads the mesh that a plan file names; an error in it is reported as an error of that file. */
static bool read_saved_mesh(Session *session, Error *err)
{
    Error why = {0};
    if (session_read_mesh(session, session->options.mesh, &session->mesh, &why))
        return true;
    error_kind(err, ERROR_UNREADABLE, "its mesh '%s' cannot be read: %s", session->options.mesh,
               why.text);
    error_hint(err, "%s", why.hint);
    error_in_file(err, session->mesh_file);
    return false;
}

Journal session_journal_with(const Session *session, Arena *arena, const Decision *decisions, int n)
{
    Journal journal = {0};
    for (int i = 0; i < session->journal.n_done; i++)
        journal_add(&journal, arena, &session->journal.decisions.at[i]);
    for (int i = 0; i < n; i++)
        journal_add(&journal, arena, &decisions[i]);
    return journal;
}

PlanRequest session_request(const Session *session, const Journal *journal)
{
    bool same = session->plan && session->plan->mesh == session->mesh &&
                session->plan->inferred == session->inferred;
    return (PlanRequest){.propagation = same ? session->propagation : NULL,
                         .before = same ? session->plan : NULL,
                         .lender = session->lender ? session->lender->resharder : NULL,
                         .inferred = session->inferred,
                         .naming = session->naming,
                         .mesh = session->mesh,
                         .machine = session->machine,
                         .journal = journal,
                         .propagator = session->options.propagator,
                         .rules = &session->rules,
                         .no_redistribute = session->options.no_redistribute,
                         .figures_only = session->options.figures_only,
                         .progress = session->progress};
}

/* Derives the training step again if other ops are recomputed in it, or other parts of the mesh
 * hold a parameter. */
static bool load_shaped(Session *session, const Journal *journal, Error *err)
{
    if (!session->derived.spec)
        return true;
    Arena *scratch = arena_new();
    const SessionModel *model = &session->derived.model;
    StepShape shape = {.recompute = recompute_groups(scratch, model->graph, journal)};
    if (session->derived.loss)
        shape = stages_shape(scratch, model->inferred, session->mesh, journal);
    bool ok = load_step(session, shape, err);
    arena_free(scratch);
    return ok;
}

static void fold_layers(Session *session)
{
    Arena *arena = session->plan->arena, *scratch = arena_new();
    progress_stage(session->progress, "folding", 0);
    session->groups = groups_build(
        arena, session->graph, session->inferred->program, session->inferred->n_program,
        op_signatures(arena, scratch, session), session->inferred->space);
    arena_free(scratch);
}

bool session_remake(Session *session, const Journal *decisions, const Findings *notes, Error *err)
{
    const Graph *from = session->graph;
    if (!load_shaped(session, decisions, err))
        return false;
    Journal own_journal = journal_renumbered(session, from, decisions), *journal = &own_journal;
    PlanRequest request = session_request(session, journal);
    Arena *kept = NULL;
    if (propagator_or_default(request.propagator)->incremental && !request.propagation) {
        kept = arena_new();
        request.propagation = propagation_new(kept, session->inferred, session->mesh);
    }
    Plan *plan = plan_make(&request, err);
    if (!plan) {
        arena_free(kept);
        return false;
    }
    Findings own = plan->findings;
    plan->findings = (Findings){0};
    for (int i = 0; i < notes->n; i++)
        vec_push(plan->arena, &plan->findings, notes->at[i]);
    for (int i = 0; i < own.n; i++)
        vec_push(plan->arena, &plan->findings, own.at[i]);
    session->plan = plan;
    if (kept) {
        session->propagation_arena = kept;
        session->propagation = request.propagation;
    }
    session->journal = *journal;
    session->notes = *notes;
    session->groups = NULL;
    if (!session->options.figures_only)
        fold_layers(session);
    return true;
}

SessionModel session_show(Session *session, SessionModel model)
{
    SessionModel shown = {session->graph, session->inferred};
    session->graph = model.graph;
    session->inferred = model.inferred;
    return shown;
}

/* A policy may fail since it finds no shapes, of which the model's own fault is the cause. */
static void hint_at_model(const Session *session, Error *err)
{
    const Findings *findings = &session->inferred->findings;
    if (!err || err->kind != ERROR_SCRIPT)
        return;
    for (int i = 0; i < findings->n; i++)
        if (strcmp(findings->at[i].code, "rule-refused") == 0) {
            error_hint(err, "of the model: %s", findings->at[i].text);
            return;
        }
}

static bool run_policy(Session *session, Journal *journal, Error *err)
{
    const char *policy = session->options.policy;
    if (policy)
        progress_stage(session->progress, "running the policy", 0);
    if (!policy || !session->hooks.policy)
        return true;
    session->training = (TrainingAsked){0};
    if (session->bare.graph)
        session->step = session_show(session, session->bare);
    session->in_policy = true;
    bool ok = session->hooks.policy(session->hooks.context, session, policy, journal, err);
    session->in_policy = false;
    if (!ok)
        hint_at_model(session, err);
    if (session->step.graph)
        session_show(session, session->step);
    session->step = (SessionModel){0};
    return ok;
}

/* Appends decisions to a journal, without those of a policy that has been run again. */
static void keep_decisions(Session *session, const Journal *kept, bool rerun, Journal *journal)
{
    for (int i = 0; i < kept->n_done; i++)
        if (!rerun || kept->decisions.at[i].origin.kind != ORIGIN_POLICY)
            journal_add(journal, session->journal_arena, &kept->decisions.at[i]);
}

static bool load_for_policy(Session *session, unsigned more, Arena *kept, Error *err)
{
    Arena *step = session->step_arena;
    session->roles.of = NULL;
    if (session->fusible)
        return load_again(session, more, err);
    bool ok = load_training(session, err);
    if (ok && step != kept)
        arena_free(step); /* of a round before */
    return ok;
}

/* The same; a policy that asks for a training step or, while the model is opened, for a fusion is
 * run again on the graph that it asks for. */
static bool run_policy_on_its_graph(Session *session, Journal *journal, Error *err)
{
    enum { ROUNDS_MAX = 4 };
    Arena *kept = session->step_arena;
    bool ok = run_policy(session, journal, err);
    for (int round = 0;; round++) {
        unsigned more = ok || !session->fusible ? 0 : session->fuse_wanted & ~session->options.fuse;
        const char *train = session_training_wanted(session, session->journal_arena);
        if (!more && training_same(train, session->options.train))
            return ok;
        if (round == ROUNDS_MAX)
            return ok &&
                   error_kind(err, ERROR_SCRIPT,
                              "the policy asks for a different training step each time it runs");
        *err = (Error){0};
        *journal = (Journal){0};
        session->notes = (Findings){0};
        session->options.train = train;
        ok = load_for_policy(session, more, kept, err);
        if (!ok)
            return false;
        ok = run_policy(session, journal, err);
    }
}

static bool run_first_policy(Session *session, Journal *journal, Error *err)
{
    session->fusible = true;
    bool ok = run_policy_on_its_graph(session, journal, err);
    session->fusible = false;
    return ok;
}

/* Appends the user's decisions; if the policy has asked for another training step than that of
 * `from`, by name. */
static void keep_user_decisions(Session *session, const Graph *from, const Journal *kept,
                                Journal *journal)
{
    Journal had = {0};
    keep_decisions(session, kept, true, &had);
    Journal found = journal_renumbered(session, from, &had);
    int n_lost = had.n_done - found.n_done;
    if (n_lost > 0) {
        Finding finding = {
            .level = LEVEL_WARNING, .code = "decision-dropped", .op = -1, .tensor = -1};
        finding.text =
            arena_printf(session->journal_arena,
                         "%d decision%s dropped: the training step has changed and no longer has "
                         "the tensors or ops that %s about",
                         n_lost, n_lost == 1 ? "" : "s", n_lost == 1 ? "it is" : "they are");
        vec_push(session->journal_arena, &session->notes, finding);
    }
    keep_decisions(session, &found, true, journal);
}

bool session_run_policy(Session *session, const Journal *kept, const Session *from, Error *err)
{
    Findings old = session->notes;
    const Graph *graph = session->graph;
    Journal journal = {0};
    session->notes = (Findings){0};
    bool ok = run_policy_on_its_graph(session, &journal, err);
    if (ok)
        session_read_pins_again(session, &journal);
    if (ok && kept)
        keep_user_decisions(session, graph, kept, &journal);
    else if (ok && from)
        planfile_carry(from, session, &journal);
    vec_trim(session->journal_arena, &journal.decisions);
    Findings notes = session->notes;
    ok = ok && session_remake(session, &journal, &notes, err);
    if (!ok)
        session->notes = old;
    return ok;
}

/* Makes the first plan; file->root is NULL unless a plan file was opened. */
static bool make_first_plan(Session *session, const PlanFile *file, Error *err)
{
    Journal journal = {0}, kept = {0};
    bool rerun = !file->root || session->policy_given;
    if (rerun && !run_first_policy(session, &journal, err))
        return false;
    if (file->root)
        planfile_decisions(session, file, &kept);
    keep_decisions(session, &kept, rerun, &journal);
    if (!file->root && !session_read_own_annotations(session, &journal, err))
        return false;
    if (!session_read_pins(session, false, &journal, err))
        return false;
    if (session->carried)
        planfile_carry(session->carried, session, &journal);
    vec_trim(session->journal_arena, &journal.decisions);
    Findings notes = session->notes;
    return session_remake(session, &journal, &notes, err);
}

static bool open_plan(Session *session, const PlanFile *file, Error *err)
{
    SessionOptions *options = &session->options;
    const char *name, *mesh;
    if (!options->mesh && session->model_map.map && !options->policy &&
        onnx_devices_find(session->journal_arena, session->model_map.text, &name, &mesh))
        options->mesh = mesh;
    if (!options->mesh && session->file_shardings && !session->mesh_file)
        options->mesh = session->file_shardings->mesh;
    if (!options->mesh)
        options->mesh = default_mesh;
    if (!options->machine)
        options->machine = default_machine;
    bool has_mesh = session->mesh_file
                        ? read_saved_mesh(session, err)
                        : session_read_mesh(session, options->mesh, &session->mesh, err);
    Machine *machine = arena_make(session->journal_arena, Machine);
    session->machine = machine;
    return has_mesh &&
           session->hooks.machine(session->hooks.context, session->journal_arena, options->machine,
                                  machine, err) &&
           make_first_plan(session, file, err);
}

Session *session_new(const SessionOptions *options, const SessionHooks *hooks)
{
    Arena *arena = arena_new();
    Session *session = arena_make(arena, Session);
    session->model_arena = arena;
    session->journal_arena = arena_new();
    session->options = *options;
    session->options.propagator = propagator_or_default(options->propagator);
    session->options.progress = NULL;
    session->given = session->options;
    session->progress = options->progress;
    session->hooks = *hooks;
    return session;
}

/* A plan file contains what its policy decided, so it opens even if the policy's file is gone. */
static void check_policy(Session *session, const char *plan)
{
    const char *policy = session->options.policy;
    bool is_path = policy && (strchr(policy, '/') || file_is_script(str_from(policy)));
    if (!is_path || file_exists(policy))
        return;
    Finding finding = {.level = LEVEL_WARNING, .code = "policy-gone", .file = plan};
    finding.text =
        arena_printf(session->journal_arena,
                     "the policy %s no longer exists; the decisions it made are kept", policy);
    finding.hint = "operators that it registered are unknown; -p FILE gives another policy";
    finding.op = finding.tensor = -1;
    vec_push(session->journal_arena, &session->notes, finding);
    session->options.policy = NULL;
    session->options.settings =
        model_settings_only(session->journal_arena, &session->options.settings);
}

/* Reads the plan file; options of the command line override it. */
static bool read_plan_file(Session *session, PlanFile *file, Error *err)
{
    SessionOptions given = session->options, *options = &session->options;
    if (!session_opens_plan(given.model))
        return true;
    session->plan_file = given.model;
    if (!planfile_open(session->journal_arena, given.model, options, file, err))
        return false;
    options->mesh = given.mesh ? given.mesh : options->mesh;
    options->machine = given.machine ? given.machine : options->machine;
    options->pins = given.pins;
    options->config = given.config ? given.config : options->config;
    options->dtype = given.dtype ? given.dtype : options->dtype;
    if (given.propagator_given)
        options->propagator = given.propagator;
    options->no_redistribute |= given.no_redistribute;
    options->fuse |= given.fuse;
    options->train = given.train ? given.train : options->train;
    session->mesh_file = given.mesh || !session->options.mesh ? NULL : given.model;
    session->policy_given = given.policy || policy_settings_first(&given.settings);
    if (given.policy)
        options->policy = given.policy;
    else
        check_policy(session, given.model);
    for (int i = 0; i < given.dims.n; i++)
        vec_push(session->journal_arena, &options->dims, given.dims.at[i]);
    PolicySettings saved = options->settings;
    if (given.policy)
        saved = model_settings_only(session->journal_arena, &saved);
    options->settings = policy_settings_merged(session->journal_arena, &saved, &given.settings);
    return true;
}

static bool check_settings(const SessionOptions *options, Error *err)
{
    const PolicySetting *first = policy_settings_first(&options->settings);
    if (!model_settings_check(&options->settings, err))
        return false;
    if (!first || options->policy)
        return true;
    error_kind(err, ERROR_USAGE, "'%s' is an option of policies, but no policy is given",
               first->name);
    return error_hint(err,
                      "also give the policy, for example -p megatron --set cut_vocabulary=false");
}

static Session *open_or_close(Session *session, bool whole, Error *err)
{
    PlanFile file = {0};
    bool ok = system_settings_take(session, err) && read_plan_file(session, &file, err) &&
              check_settings(&session->options, err);
    session->train_given = session->options.train;
    session->options.train = session_training_wanted(session, session->journal_arena);
    ok = ok && load_model(session, !whole, err) && (!whole || open_plan(session, &file, err)) &&
         progress_goes_on(session->progress, err);
    session->progress = NULL;
    planfile_close(&file);
    if (ok)
        return session;
    session_close(session);
    return NULL;
}

Session *session_open(const SessionOptions *options, const SessionHooks *hooks, Error *err)
{
    return open_or_close(session_new(options, hooks), true, err);
}

Session *session_open_lent(const SessionOptions *options, const SessionHooks *hooks,
                           const Plan *lender, Error *err)
{
    Session *session = session_new(options, hooks);
    session->lender = lender;
    session = open_or_close(session, true, err);
    if (session)
        session->lender = NULL;
    return session;
}

Session *session_open_model(const SessionOptions *options, const SessionHooks *hooks, Error *err)
{
    return open_or_close(session_new(options, hooks), false, err);
}

Session *session_open_graph(Graph *graph, const SessionOptions *options, const SessionHooks *hooks,
                            Error *err)
{
    Session *session = session_new(options, hooks);
    session->graph = graph;
    session->options.model = graph->file;
    return open_or_close(session, true, err);
}

static const char *own_text(Session *session, const char *text)
{
    return text ? arena_str(session->model_arena, str_from(text)) : NULL;
}

static void add_dims(Session *session, const DimBindings *dims)
{
    for (int i = 0; i < dims->n; i++) {
        DimBinding dim = dims->at[i];
        dim.name.s = arena_str(session->model_arena, dim.name);
        vec_push(session->model_arena, &session->options.dims, dim);
    }
}

static void own_options(Session *session, const SessionOptions *options, const DimBindings *dims)
{
    SessionOptions *own = &session->options;
    own->model = own_text(session, options->model);
    own->mesh = own_text(session, options->mesh);
    own->policy = own_text(session, options->policy);
    own->machine = own_text(session, options->machine);
    own->pins = own_text(session, options->pins);
    own->settings = policy_settings_copy(session->model_arena, &options->settings);
    own->config = own_text(session, options->config);
    own->dtype = own_text(session, options->dtype);
    own->train = own_text(session, options->train);
    own->dims = (DimBindings){0};
    add_dims(session, &options->dims);
    if (dims)
        add_dims(session, dims);
    session->given = *own;
}

Session *session_open_own(const SessionOptions *options, const SessionHooks *hooks, Error *err)
{
    Session *session = session_new(options, hooks);
    own_options(session, options, NULL);
    return open_or_close(session, true, err);
}

/* now: what is in use in `old`, but for what changes. train: NULL keeps what was asked; "": nothing
 * is asked. */
static Session *reopen(const Session *old, const SessionOptions *now, const char *train,
                       const DimBindings *dims, const Plan *lender, Progress *progress, Error *err)
{
    SessionOptions options = old->given;
    if (train)
        options.train = *train ? train : NULL;
    bool from_plan = old->plan_file != NULL, own_policy = !from_plan || old->policy_given;
    bool other_policy = now->policy != old->options.policy;
    bool other_settings = now->settings.at != old->options.settings.at;
    options.progress = progress;
    options.mesh = old->mesh_file && now->mesh == old->options.mesh ? NULL : now->mesh;
    options.machine = from_plan ? options.machine : old->options.machine;
    options.policy = own_policy || other_policy ? now->policy : NULL;
    if (options.policy || other_settings)
        options.settings = now->settings;
    Session *session = session_new(&options, &old->hooks);
    own_options(session, &options, dims);
    session->carried = old;
    session->lender = lender;
    session = open_or_close(session, true, err);
    if (session) {
        session->carried = NULL;
        session->lender = NULL;
    }
    return session;
}

Session *session_reopen(const Session *old, const DimBindings *dims, Progress *progress, Error *err)
{
    return reopen(old, &old->options, NULL, dims, NULL, progress, err);
}

Session *session_retrain(const Session *old, const char *train, Progress *progress, Error *err)
{
    return reopen(old, &old->options, train, NULL, NULL, progress, err);
}

Session *session_reopen_changed(const Session *old, const Change *change, Error *err)
{
    Arena *scratch = arena_new();
    SessionOptions now;
    Session *session = session_options_after(old, change, scratch, &now, err)
                           ? reopen(old, &now, NULL, NULL, change->lender, change->progress, err)
                           : NULL;
    arena_free(scratch);
    return session;
}

void session_close(Session *session)
{
    if (!session)
        return;
    plan_free(session->plan);
    arena_free(session->propagation_arena);
    arena_free(session->derived.arena);
    arena_free(session->step_arena);
    arena_free(session->journal_arena);
    file_unmap(&session->model_map);
    file_unmap(&session->source_map);
    arena_free(session->model_arena); /* the session itself is in that arena */
}
