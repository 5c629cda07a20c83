/* explore_export.c - `:` commands of the explorer that export the plan: as a drawing, a report,
 * tables or code. The work is a job beside the screen (tui/state/jobs/job.h). */
#include "tui/cli/explore_export.h"

#include "core/summary/label.h"
#include "tui/state/compare.h"
#include "tui/state/jobs/job.h"
#include "viz/export.h"

enum { COMMAND_DRAW, COMMAND_REPORT, COMMAND_CODE };

static const Action actions[] = {
    {"draw", "", "FILE.svg|pdf|png|dot [KIND [OF]]", "draw the plan: help drawings", "keep",
     ACTION_EXPLORER, COMMAND_DRAW},
    {"report", "", "FILE.html|md|json|trace|onnx", "write the plan for others", "keep",
     ACTION_EXPLORER, COMMAND_REPORT},
    {"code", "", "FILE SYSTEM", "write the plan as code: dtensor, jax, shardy, paddle, ..", "keep",
     ACTION_EXPLORER, COMMAND_CODE},
    {0},
};

typedef struct {
    Arena *arena;
    ExportRequest request;
    const ExportFormat *format;
    const char *path;
    ExportNotes notes;
} ExportWork;

/* ---- the job ---- */

static bool work(void *context, Progress *progress, Error *err)
{
    ExportWork *w = context;
    progress_stage(progress, "exporting", 0);
    w->request.progress = progress;
    return export_file(&w->request, w->format, w->path, &w->notes, err);
}

static void done(Ui *ui, void *context, bool ok, const Error *err)
{
    ExportWork *w = context;
    if (!ok)
        ui_error(ui, err);
    else if (w->notes.at.n > 1)
        ui_say(ui, "%s (and %d more notes)", w->notes.at.at[0], w->notes.at.n - 1);
    else
        ui_say(ui, "%s",
               w->notes.at.n == 1 ? w->notes.at.at[0]
                                  : arena_printf(w->arena, "%s written", w->path));
    arena_free(w->arena);
}

/* Drawings ask why; what is found then is the plan's, so views that ask wait for the job. */
static bool begin(Ui *ui, ExportWork *w)
{
    JobWork job = {.title = "export", .work = work, .done = done, .context = w};
    job.changes_plan = true;
    w->notes.arena = w->arena;
    if (job_start(ui, &job))
        return true;
    arena_free(w->arena);
    return true; /* the message line says what runs */
}

/* ---- what a drawing is of: what was typed, else what is selected ---- */

static const char *selected(const Ui *ui, DiagramKind kind, Arena *arena)
{
    const Session *session = ui->session;
    bool of_tensor = kind == DIAGRAM_SLICES || kind == DIAGRAM_WHY || kind == DIAGRAM_RESHARD;
    bool of_op = kind == DIAGRAM_OP || kind == DIAGRAM_NEIGHBOURHOOD;

    if (of_tensor && ui->at.tensor >= 0)
        return arena_str(arena, str_from(tensor_name(session->graph, ui->at.tensor)));
    if ((of_op || kind == DIAGRAM_SLICES) && ui->at.op >= 0)
        return arena_str(arena, str_from(op_name(session->graph, ui->at.op)));
    return NULL;
}

static bool ask_drawing(Ui *ui, ExportWork *w, Str words, Error *err)
{
    DiagramRequest *drawing = &w->request.drawing;
    Str kind = str_take(&words, ' '), of = str_trim(words);

    drawing->kind = DIAGRAM_OVERVIEW;
    if (kind.n > 0 && !diagram_kind_find(kind, &drawing->kind, err))
        return false;
    drawing->of = of.n > 0 ? arena_str(w->arena, of) : selected(ui, drawing->kind, w->arena);
    if (drawing->kind != DIAGRAM_DIFF)
        return true;
    drawing->of = NULL;
    drawing->other = ui->compare ? ui->compare->other : NULL;
    if (drawing->other)
        return true;
    error_kind(err, ERROR_USAGE, "there is no second plan to export");
    return error_hint(err, ":compare opens a second plan");
}

/* The part of a file's name behind its last dot. */
static Str ending(Str file)
{
    Str rest = file, end = file;
    while (rest.n > 0)
        end = str_take(&rest, '.');
    return end;
}

static bool ask(Ui *ui, ExportWork *w, int id, Str args, Error *err)
{
    Str rest = str_trim(args), file = str_take(&rest, ' ');
    bool draws = id == COMMAND_DRAW;

    rest = str_trim(rest);
    w->path = arena_str(w->arena, file);
    w->request.drawing.session = ui->session;
    w->format = export_format_find(id == COMMAND_CODE ? rest : ending(file), id == COMMAND_CODE);
    if (file.n == 0 || !w->format ||
        (id != COMMAND_CODE && (w->format->group == EXPORT_DRAWING) != draws)) {
        const Action *row = &actions[id];
        error_kind(err, ERROR_USAGE, "%s needs %s", row->name, row->args);
        if (id == COMMAND_CODE)
            error_hint(err, "SYSTEM must be one of: %s",
                       export_format_names(w->arena, true, "", ", "));
        return false;
    }
    if (!draws && ui->compare)
        w->request.drawing.other = ui->compare->other;
    return !draws || ask_drawing(ui, w, rest, err);
}

static bool run(void *context, Ui *ui, int id, Str args, Error *err)
{
    Arena *arena = arena_new();
    ExportWork *w = arena_make(arena, ExportWork);

    (void)context;
    w->arena = arena;
    if (ask(ui, w, id, args, err))
        return begin(ui, w);
    arena_free(arena);
    return false;
}

const AppCommands explore_export = {actions, run, NULL};

/* ---- the menu's rows ---- */

const AppOffer *explore_offers(Arena *arena)
{
    Vec(AppOffer) offers = {0};

    for (int kind = 0; kind < DIAGRAM_KIND_COUNT; kind++) {
        const DiagramKindRow *row = diagram_kind((DiagramKind)kind);
        AppOffer offer = {"draw", row->name, "svg", row->name, row->what};
        vec_push(arena, &offers, offer);
    }
    const ExportFormat *format;
    for (int i = 0; (format = export_format_at(i)); i++) {
        bool code = format->group == EXPORT_CODE;
        AppOffer offer = {code ? "code" : "report", code ? format->name : "", format->ending,
                          code ? format->name : "plan", format->what};
        if (format->group == EXPORT_DRAWING || strcmp(format->name, "csv") == 0)
            continue;
        vec_push(arena, &offers, offer);
    }
    vec_push(arena, &offers, (AppOffer){0});
    return offers.at;
}
