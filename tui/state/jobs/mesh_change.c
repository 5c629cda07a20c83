#include "tui/state/jobs/mesh_change.h"

#include "core/summary/label.h"
#include "tui/state/format.h"
#include "tui/state/pins.h"

/* A mesh and the user's decisions on it. */
typedef struct {
    const char *mesh;
    Journal journal;
} MeshState;

typedef struct {
    MeshState before, after; /* after.mesh NULL: the change is being made */
} MeshStep;

enum { STEPS_MAX = 32 };

typedef struct MeshSteps {
    MeshStep step[STEPS_MAX];
    int n, done; /* steps [done, n) were taken back */
} MeshSteps;

static MeshSteps *steps_of(Ui *ui)
{
    if (!ui->mesh_steps)
        ui->mesh_steps = arena_make(ui->arena, MeshSteps);
    return ui->mesh_steps;
}

/* The session frees its own list of decisions with the plan; cuts stay as long as the session. */
static MeshState state_now(Ui *ui)
{
    const Session *session = ui->session;
    MeshState state = {.mesh = arena_str(ui->arena, str_from(session->options.mesh))};
    int n = session->journal.n_done;

    state.journal.decisions.at = arena_array(ui->arena, Decision, n + 1);
    if (n > 0)
        memcpy(state.journal.decisions.at, session->journal.decisions.at,
               sizeof(Decision) * (size_t)n);
    state.journal.decisions.n = state.journal.n_done = n;
    return state;
}

static int edits_in(const Journal *journal)
{
    int n = 0;

    for (int i = 0; i < journal->n_done; i++)
        n += journal->decisions.at[i].origin.kind == ORIGIN_USER;
    return n;
}

/* ---- changing ---- */

static void say_mesh(Ui *ui, const char *what, const char *mesh, int had)
{
    int n = edits_in(&ui->session->journal);
    Buf text = buf_new(ui->frame);

    buf_printf(&text, "%s %s: %s %.*s", what, mesh, label_pass(ui_plan(ui)),
               STR_ARG(label_us(ui, ui_plan(ui)->priced->totals.step_us)));
    if (had > 0 && n == had)
        buf_printf(&text, "; %s pin%s made here kept", n == 1 ? "the" : "all", n == 1 ? "" : "s");
    else if (had > 0)
        buf_printf(&text, "; %d of %d pins made here kept: gf lists the others, u restores them", n,
                   had);
    ui_say(ui, "%s", text.s);
}

static void changed(Ui *ui, const Totals *before, const char *mesh)
{
    MeshSteps *steps = steps_of(ui);
    MeshStep *step = &steps->step[steps->done++];

    (void)before;
    steps->n = steps->done;
    step->after = state_now(ui);
    say_mesh(ui, "mesh", mesh, edits_in(&step->before.journal));
}

bool mesh_change(Ui *ui, Str text, Error *err)
{
    MeshSteps *steps = steps_of(ui);

    if (text.n == 0)
        return error_set(err, "which mesh? :mesh dp=2,tp=4");
    if (!job_may_change(ui))
        return true;
    if (steps->done == STEPS_MAX)
        memmove(steps->step, steps->step + 1, sizeof steps->step[0] * (size_t)--steps->done);
    steps->n = steps->done;
    steps->step[steps->done] = (MeshStep){.before = state_now(ui)};
    const char *mesh = arena_str(ui->frame, text);
    job_change(ui, &(Change){.kind = CHANGE_MESH, .text = mesh}, changed, mesh);
    return true;
}

/* ---- undo and redo ---- */

/* The pins around the change must be those of then: steps of undo are taken in their order. */
bool mesh_change_can(const Ui *ui, int by)
{
    const MeshSteps *steps = ui->mesh_steps;
    const Journal *now = &ui->session->journal;

    if (!steps || (by < 0 ? steps->done == 0 : steps->done == steps->n))
        return false;
    const MeshStep *step = &steps->step[by < 0 ? steps->done - 1 : steps->done];
    const MeshState *here = by < 0 ? &step->after : &step->before;
    return strcmp(here->mesh, ui->session->options.mesh) == 0 &&
           edits_in(&here->journal) == edits_in(now) && (by < 0 || pins_of_step(now, 1) == 0);
}

static void undone(Ui *ui, const Totals *before, const char *mesh)
{
    MeshSteps *steps = steps_of(ui);

    (void)before;
    steps->done--;
    say_mesh(ui, "undone: mesh", mesh, edits_in(&ui->session->journal));
}

static void redone(Ui *ui, const Totals *before, const char *mesh)
{
    MeshSteps *steps = steps_of(ui);

    (void)before;
    steps->done++;
    say_mesh(ui, "redone: mesh", mesh, edits_in(&ui->session->journal));
}

bool mesh_change_undo(Ui *ui)
{
    if (!mesh_change_can(ui, -1))
        return false;
    const MeshState *to = &steps_of(ui)->step[steps_of(ui)->done - 1].before;
    job_change(ui, &(Change){.kind = CHANGE_MESH, .text = to->mesh, .kept = &to->journal}, undone,
               to->mesh);
    return true;
}

bool mesh_change_redo(Ui *ui)
{
    if (!mesh_change_can(ui, 1))
        return false;
    const MeshState *to = &steps_of(ui)->step[steps_of(ui)->done].after;
    job_change(ui, &(Change){.kind = CHANGE_MESH, .text = to->mesh, .kept = &to->journal}, redone,
               to->mesh);
    return true;
}
