/* session_change.c - changes of a session: prepared beside it, then committed in its place. */
#include "core/session/lent.h"
#include "core/session/load.h"
#include "core/session/make.h"
#include "core/session/model_settings.h"
#include "core/session/session_parts.h"

#include <assert.h>

/* A copy to which decisions can be appended without changing the original until the new plan is in
 * place. */
static Journal journal_copy(const Session *session)
{
    enum { ROOM_FOR_MORE = 8 };
    Journal copy = session->journal;
    copy.cuts = NULL; /* the original's may be in use */
    copy.decisions.room = copy.decisions.n + ROOM_FOR_MORE;
    copy.decisions.at = arena_array(session->journal_arena, Decision, copy.decisions.room);
    if (copy.decisions.n > 0)
        memcpy(copy.decisions.at, session->journal.decisions.at,
               sizeof(Decision) * (size_t)copy.decisions.n);
    return copy;
}

static bool apply(Session *session, const Decision *decisions, int n, Error *err)
{
    Journal journal = journal_copy(session);
    for (int i = 0; i < n; i++)
        journal_add(&journal, session->journal_arena, &decisions[i]);
    Findings notes = session->notes;
    return session_remake(session, &journal, &notes, err);
}

static bool step(Session *session, int by, Error *err)
{
    Journal journal = session->journal;
    for (; by < 0; by++, journal.n_done--)
        if (journal.n_done == 0 ||
            journal.decisions.at[journal.n_done - 1].origin.kind == ORIGIN_POLICY)
            return error_kind(err, ERROR_USAGE,
                              "nothing to undo: the remaining decisions are the policy's");
    if (by > journal.decisions.n - journal.n_done)
        return error_kind(err, ERROR_USAGE, "nothing to redo");
    journal.n_done += by;
    Findings notes = session->notes;
    return session_remake(session, &journal, &notes, err);
}

static bool rerun_policy(Session *session, Error *err)
{
    Journal kept = session->journal;
    return session_run_policy(session, &kept, NULL, err);
}

/* Sets another machine, or with NULL reads the present one again. */
static bool set_machine(Session *session, const char *text, Error *err)
{
    const char *name = text ? text : session->options.machine;
    Machine *machine = arena_make(session->journal_arena, Machine);
    Journal journal = session->journal;
    Findings notes = session->notes;
    name = arena_str(session->journal_arena, str_from(name));
    if (!session->hooks.machine(session->hooks.context, session->journal_arena, name, machine, err))
        return false;
    session->options.machine = name;
    session->machine = machine;
    return session_remake(session, &journal, &notes, err);
}

static bool set_mesh(Session *session, const char *text, const Journal *kept, Error *err)
{
    const Session from = *session;
    session->options.mesh = arena_str(session->journal_arena, str_from(text));
    session->mesh_file = NULL;
    return session_read_mesh(session, session->options.mesh, &session->mesh, err) &&
           session_run_policy(session, kept, &from, err);
}

/* Of another policy all options start at their defaults. */
bool session_options_after(const Session *session, const Change *change, Arena *arena,
                           SessionOptions *out, Error *err)
{
    *out = session->options;
    if (change->kind == CHANGE_MESH)
        out->mesh = arena_str(arena, str_from(change->text));
    if (change->kind == CHANGE_POLICY && change->text) {
        out->policy = arena_str(arena, str_from(change->text));
        out->settings = model_settings_only(arena, &session->options.settings);
    }
    if (change->kind != CHANGE_SETTING)
        return true;
    Str rest = str_from(change->text);
    do {
        if (!policy_settings_with(arena, &out->settings, str_take(&rest, '\n'), &out->settings,
                                  err))
            return false;
    } while (rest.n > 0);
    if (!session->options.policy && policy_settings_first(&out->settings))
        return error_kind(err, ERROR_USAGE,
                          "no policy is in use, so no option of a policy can be set");
    return model_settings_check(&out->settings, err);
}

static bool same_sizes(const DimBindings *a, const DimBindings *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = str_eq(a->at[i].name, b->at[i].name) && a->at[i].size == b->at[i].size;
    return same;
}

static bool sets_model(const Change *change)
{
    bool found = false;
    for (Str rest = str_from(change->text); rest.n > 0;) {
        Str value = str_take(&rest, '\n');
        found |= model_setting_is(str_trim(str_take(&value, '=')));
    }
    return found;
}

/* Whether the graph that was read does for other sizes of the same free dims. */
static bool serves(const Session *session, const DimBindings *sizes)
{
    const DimBindings *had = &session->policy_sizes, *asked = &session->built_with;
    bool same = sizes->n == had->n;
    for (int i = 0; same && i < had->n; i++)
        same = str_eq(sizes->at[i].name, had->at[i].name);
    for (int i = 0; same && i < had->n * asked->n; i++)
        same = !str_eq(had->at[i % had->n].name, asked->at[i / had->n].name);
    return same;
}

/* What a change needs: the model as it is, its graph with other sizes of free dims, or its file. */
typedef enum { NEEDS_MODEL, NEEDS_GRAPH, NEEDS_FILE } ChangeNeeds;

/* sizes: the policy's after the change, in the arena, where the answer is NEEDS_GRAPH. */
static bool find_needs(const Session *session, const Change *change, Arena *arena,
                       DimBindings *sizes, ChangeNeeds *out, Error *err)
{
    ChangeKind kind = change->kind;
    *out = kind == CHANGE_SETTING && sets_model(change) ? NEEDS_FILE : NEEDS_MODEL;
    if (*out == NEEDS_FILE ||
        (kind != CHANGE_SETTING && kind != CHANGE_MESH && kind != CHANGE_POLICY))
        return true;
    Session after = *session;
    if (!session_options_after(session, change, arena, &after.options, err) ||
        !session_policy_sizes(&after, arena, sizes, err))
        return false;
    if (!same_sizes(sizes, &session->policy_sizes))
        *out = kind == CHANGE_SETTING && serves(session, sizes) ? NEEDS_GRAPH : NEEDS_FILE;
    return true;
}

bool session_reopens(const Session *session, const Change *change, bool *out, Error *err)
{
    Arena *scratch = arena_new();
    DimBindings sizes;
    ChangeNeeds needs;
    bool ok = find_needs(session, change, scratch, &sizes, &needs, err);
    *out = ok && needs != NEEDS_MODEL;
    arena_free(scratch);
    return ok;
}

static bool change_options(Session *session, const Change *change, Error *err)
{
    return session_options_after(session, change, session->journal_arena, &session->options, err) &&
           rerun_policy(session, err);
}

/* Runs a line of Lua. Its decisions are one step, made by the user, with the line as their text. */
static bool run_console(Session *session, const Change *change, Error *err)
{
    const SessionHooks *hooks = &session->hooks;
    Journal journal = journal_copy(session);
    int before = journal.n_done;
    if (!hooks->console)
        return error_kind(err, ERROR_USAGE, "this dimscope was built without Lua");
    if (!hooks->console(hooks->context, session, change->text, &journal, change->answer, err))
        return false;
    if (journal.n_done == before)
        return true;
    const char *text = arena_str(session->journal_arena, str_from(change->text));
    for (int i = before; i < journal.n_done; i++)
        journal.decisions.at[i].origin = (Origin){ORIGIN_USER, "", change->n, text};
    Findings notes = session->notes;
    return session_remake(session, &journal, &notes, err);
}

static bool make_change(Session *session, const Change *change, Error *err)
{
    switch (change->kind) {
    case CHANGE_APPLY:
        return apply(session, change->decisions, change->n, err);
    case CHANGE_STEP:
        return step(session, change->n, err);
    case CHANGE_POLICY:
    case CHANGE_SETTING:
        return change_options(session, change, err);
    case CHANGE_MESH:
        return set_mesh(session, change->text, change->kept, err);
    case CHANGE_MACHINE:
        return set_machine(session, change->text, err);
    case CHANGE_CONSOLE:
        return run_console(session, change, err);
    }
    return false;
}

/* A copy with arenas of its own, and without a plan. */
static Session *session_beside(const Session *session)
{
    Session *copy = session_new(&session->options, &session->hooks);
    Session own = *copy;
    *copy = *session;
    copy->model_arena = own.model_arena;
    copy->journal_arena = own.journal_arena;
    copy->propagation_arena = copy->derived.arena = copy->step_arena = copy->change_arena = NULL;
    copy->propagation = NULL;
    copy->model_map = own.model_map;
    copy->source_map = own.source_map;
    copy->plan = NULL;
    return copy;
}

/* Whether a decision is about what the model has, not about its loss or what follows. */
static bool is_of_model(const Graph *model, const Decision *decision)
{
    if (decision_is_on_all(decision->kind))
        return true;
    if (decision_is_on_tensor(decision->kind))
        return decision->place < model->n_tensors;
    bool range = decision->kind == PIN_DEVICES || decision->kind == PIN_RECOMPUTE;
    return decision->place < model->n_ops && (!range || decision->last < model->n_ops);
}

Session *session_of_model(const Session *session, Error *err)
{
    Session *model = session_beside(session);
    Journal journal = {0};
    Findings notes = session->notes;
    assert(session->bare.graph);
    session_show(model, session->bare);
    model->loaded = session->bare;
    model->bare = (SessionModel){0};
    model->derived = (SessionDerivation){0};
    model->options.train = NULL;
    model->naming = naming_new(model->model_arena, model->inferred);
    for (int i = 0; i < session->journal.n_done; i++)
        if (is_of_model(model->graph, &session->journal.decisions.at[i]))
            journal_add(&journal, model->journal_arena, &session->journal.decisions.at[i]);
    if (session_remake(model, &journal, &notes, err))
        return model;
    session_close(model);
    return NULL;
}

static bool resize(Session *fork, const Session *session, const Change *change,
                   const DimBindings *sizes, Error *err)
{
    return session_options_after(session, change, fork->journal_arena, &fork->options, err) &&
           load_sized(fork, sizes, err) && session_run_policy(fork, NULL, session, err);
}

/* sizes: of the policy, where they change; else NULL. */
static Session *fork_with(const Session *session, const Change *change, const DimBindings *sizes,
                          Error *err)
{
    Session *fork = session_beside(session);
    fork->journal = journal_copy(fork);
    fork->progress = change->progress;
    fork->lender = change->lender;
    bool ok =
        (sizes ? resize(fork, session, change, sizes, err) : make_change(fork, change, err)) &&
        progress_goes_on(change->progress, err);
    fork->progress = NULL;
    fork->lender = NULL;
    if (ok)
        return fork;
    session_close(fork);
    return NULL;
}

Session *session_fork(const Session *session, const Change *change, Error *err)
{
    Arena *scratch = arena_new();
    DimBindings sizes;
    ChangeNeeds needs;
    Session *fork = NULL;
    if (find_needs(session, change, scratch, &sizes, &needs, err))
        fork = needs == NEEDS_FILE
                   ? session_reopen_changed(session, change, err)
                   : fork_with(session, change, needs == NEEDS_GRAPH ? &sizes : NULL, err);
    arena_free(scratch);
    return fork;
}

/* Of these the session whose model has the sizes that the policy asks for with the options; NULL.
 */
static const Session *find_sizes(const Session *const *open, int n, const SessionOptions *options,
                                 Error *err)
{
    const Session *found = NULL;
    Session asked = n > 0 ? *open[0] : (Session){0};
    Arena *scratch = arena_new();
    DimBindings sizes;
    asked.options = *options;
    if (n > 0 && session_policy_sizes(&asked, scratch, &sizes, err))
        for (int i = 0; i < n && !found; i++)
            found = same_sizes(&sizes, &open[i]->policy_sizes) ? open[i] : NULL;
    arena_free(scratch);
    return found;
}

Session *session_open_beside(const Session *const *open, int n, const SessionOptions *options,
                             const Plan *lender, Error *err)
{
    const Session *model = find_sizes(open, n, options, err);
    if (!model)
        return NULL;
    Session *session = session_beside(model);
    SessionOptions *own = &session->options;
    own->mesh = arena_str(session->journal_arena, str_from(options->mesh));
    own->settings = policy_settings_copy(session->journal_arena, &options->settings);
    session->journal = (Journal){0};
    session->progress = options->progress;
    session->lender = lender;
    bool ok = session_read_mesh(session, own->mesh, &session->mesh, err) &&
              session_run_policy(session, NULL, NULL, err) &&
              progress_goes_on(options->progress, err);
    session->progress = NULL;
    session->lender = NULL;
    if (ok)
        return session;
    session_close(session);
    return NULL;
}

Session *session_prepare(const Session *session, const Change *change, Error *err)
{
    bool reopens;
    if (!session_reopens(session, change, &reopens, err))
        return NULL;
    if (reopens) {
        error_kind(err, ERROR_USAGE, "this changes the model, so it must be opened again");
        return NULL;
    }
    Arena *arena = arena_new();
    Session *next = arena_make(arena, Session);
    *next = *session;
    next->change_arena = arena;
    next->progress = change->progress;
    bool ok = make_change(next, change, err) && progress_goes_on(change->progress, err);
    next->progress = NULL;
    if (ok)
        return next;
    session_discard(session, next);
    return NULL;
}

/* Plans point to the decisions that they were made from, so a journal is freed when no plan uses
 * it. */
static void drop_journal(const Session *old, const Session *kept)
{
    if (old->journal.decisions.at != kept->journal.decisions.at)
        arena_release(kept->journal_arena, old->journal.decisions.at);
}

void session_discard(const Session *session, Session *next)
{
    if (!next)
        return;
    if (next->plan != session->plan)
        plan_free(next->plan);
    if (next->propagation_arena != session->propagation_arena)
        arena_free(next->propagation_arena);
    if (next->derived.arena != session->derived.arena)
        arena_free(next->derived.arena);
    if (next->step_arena != session->step_arena)
        arena_free(next->step_arena);
    drop_journal(next, session);
    arena_free(next->change_arena); /* the session is in that arena */
}

void session_commit(Session *session, Session *next)
{
    Session old = *session;
    Arena *arena = next->change_arena;
    *session = *next;
    session->change_arena = old.change_arena;
    session->progress = old.progress;
    if (session->plan != old.plan)
        plan_free(old.plan);
    if (session->propagation_arena != old.propagation_arena)
        arena_free(old.propagation_arena);
    if (session->derived.arena != old.derived.arena)
        arena_free(old.derived.arena);
    if (session->step_arena != old.step_arena)
        arena_free(old.step_arena);
    drop_journal(&old, session);
    arena_free(arena);
}

bool session_change(Session *session, const Change *change, Error *err)
{
    Session *next = session_prepare(session, change, err);
    if (next)
        session_commit(session, next);
    return next != NULL;
}

bool session_apply(Session *session, const Decision *decisions, int n, Error *err)
{
    Change change = {.kind = CHANGE_APPLY, .decisions = decisions, .n = n};
    return session_change(session, &change, err);
}

bool session_undo(Session *session, Error *err)
{
    return session_change(session, &(Change){.kind = CHANGE_STEP, .n = -1}, err);
}

bool session_redo(Session *session, Error *err)
{
    return session_change(session, &(Change){.kind = CHANGE_STEP, .n = 1}, err);
}

bool session_rerun_policy(Session *session, Error *err)
{
    return session_change(session, &(Change){.kind = CHANGE_POLICY}, err);
}

bool session_set_mesh(Session *session, const char *text, Error *err)
{
    return session_change(session, &(Change){.kind = CHANGE_MESH, .text = text}, err);
}
