#include "tui/state/ui.h"

#include "core/model/stated.h"
#include "core/base/file.h"
#include "tui/state/compare.h"
#include "tui/state/console.h"
#include "tui/state/jobs/plan_search.h"
#include "tui/state/jobs/whatif.h"

enum { FIRST_ROWS = 28 }; /* groups are opened at the start while the outline is no longer */

static void rebuild(Ui *ui)
{
    Session *session = ui->session;

    outline_set(ui->outline, session->graph, session->groups);
    ui->comm = comm_new(session);
    ui->parameters.rows = NULL;
    ui->parameters.n = parameters_count(session->inferred);
    parameters_list(ui);
    if (ui->listing.n_taggable != session->graph->n_ops) {
        ui->listing.n_taggable = session->graph->n_ops;
        ui->listing.tagged = arena_array(ui->arena, uint8_t, ui->listing.n_taggable);
        ui->listing.n_tagged = 0;
    }
    listing_renew(ui);
}

/* Of a training step the forward pass alone: its rows have the times of both passes. */
static void open_levels(Ui *ui, int depth)
{
    const int32_t *order = ui->session->groups->order;
    const Graph *graph = ui_graph(ui);
    OutlineRow row;

    outline_depth(ui->outline, depth);
    for (int64_t i = outline_n_rows(ui->outline) - 1; graph_has_phases(graph) && i >= 0; i--)
        if (outline_at(ui->outline, i, &row) && row.kind == ROW_GROUP && row.depth == 0 &&
            row.open && op_phase(graph, order[row.first]) != PHASE_FORWARD)
            outline_open(ui->outline, &row, false);
}

/* Opens as many levels as fit, so that the first screen shows the inside of a layer. */
static void open_first_levels(Ui *ui)
{
    int depth = 1;

    open_levels(ui, depth);
    while (depth < OUTLINE_DEPTH_MAX) {
        int64_t before = outline_n_rows(ui->outline);
        open_levels(ui, depth + 1);
        if (outline_n_rows(ui->outline) > FIRST_ROWS) {
            open_levels(ui, depth);
            return;
        }
        if (outline_n_rows(ui->outline) == before && depth > 3)
            return;
        depth++;
    }
}

/* The first fold is what people come for: it is opened, and begins below the top of the screen. */
static void start_at_layers(Ui *ui)
{
    OutlineRow rows[FIRST_ROWS];
    int n = outline_rows(ui->outline, 0, FIRST_ROWS, rows);
    int64_t before = outline_n_rows(ui->outline);

    for (int i = 0; i < n; i++) {
        if (rows[i].kind != ROW_GROUP || rows[i].fold_n == 1)
            continue;
        outline_open(ui->outline, &rows[i], true);
        if (outline_n_rows(ui->outline) > before + FIRST_ROWS)
            outline_open(ui->outline, &rows[i], false);
        ui_select_row(ui, i);
        ui->list[SHOW_GRAPH].top = i - 4;
        return;
    }
}

/* The number of the last step that was made here, as a plan file has it: the next goes on. */
static int last_edit(const Session *session)
{
    int last = 0;

    for (int i = 0; i < session->journal.n_done; i++) {
        const Origin *origin = &session->journal.decisions.at[i].origin;
        bool here = origin->kind != ORIGIN_POLICY && (!origin->file || !*origin->file);
        last = here && origin->line > last ? origin->line : last;
    }
    return last;
}

static void forget_views(Ui *ui)
{
    for (int i = 0; i < SHOW_COUNT; i++)
        if (ui->views[i]->forget)
            ui->views[i]->forget(ui);
}

void ui_open(Ui *ui, Session *session, const View *const *shown, bool ascii)
{
    Arena *arena = arena_new();

    *ui = (Ui){.session = session,
               .arena = arena,
               .frame = arena_new(),
               .views = shown,
               .outline = outline_new(arena),
               .console = console_new(),
               .changes = {.edits = last_edit(session)},
               .look = {.ascii = ascii, .settings = settings_standard()},
               .at = {.op = -1, .tensor = -1}};
    for (int i = 0; i < SHOW_COUNT; i++) {
        ui->own[i] = shown[i]->own_size > 0 ? arena_alloc(arena, shown[i]->own_size) : NULL;
        if (shown[i]->open)
            shown[i]->open(ui);
    }
    rebuild(ui);
    open_first_levels(ui);
    ui_select_row(ui, 0);
    start_at_layers(ui);
}

void ui_close(Ui *ui)
{
    whatif_free(ui);
    plan_search_free(ui);
    search_free(ui->find.search);
    compare_close(ui);
    forget_views(ui);
    listing_detach(ui);
    comm_free(ui->comm);
    console_free(ui->console);
    outline_free(ui->outline);
    arena_free(ui->frame);
    arena_free(ui->arena);
}

void ui_change_begin(Ui *ui)
{
    listing_detach(ui);
    comm_free(ui->comm);
    ui->comm = NULL;
    forget_views(ui);
    compare_forget(ui);
    ui->changes.ops = (ChangedOps){0};
    ui->changes.before = NULL;
    if (ui->find.search)
        search_forget(ui->find.search);
    outline_detach(ui->outline);
}

void ui_change_end(Ui *ui)
{
    int32_t op = ui->at.op, tensor = ui->at.tensor;
    int dim = ui->at.dim;
    int64_t screen_row = ui->row_at - ui->list[SHOW_GRAPH].top;

    ui->changes.n++;
    rebuild(ui);
    if (ui->at.row.kind == ROW_OP) /* its layer may be unlike the others now */
        outline_reveal(ui->outline, ui->at.row.op);
    ui_keep_row(ui);
    ui->list[SHOW_GRAPH].top = ui->row_at - screen_row;
    ui->at.op = op;
    ui->at.tensor = tensor;
    ui->at.dim = dim;
    if (ui->rank >= ui->session->mesh->n_devices)
        ui->rank = 0;
    ui->at.reshard = 0;
    compare_again(ui);
}

static const int32_t *count_changed(Ui *ui)
{
    const Groups *groups = ui->session->groups;
    int32_t *before = arena_array(ui->comm->arena, int32_t, groups->n_order + 1);

    for (int i = 0; i < groups->n_order; i++)
        before[i + 1] = before[i] + op_has_changed(&ui->changes.ops, groups->order[i]);
    return before;
}

/* What is selected, in a graph that numbers the ops behind a training step's model otherwise; the
 * first op if it is gone. */
static void renumber(Ui *ui, const Graph *to)
{
    const Graph *from = ui_graph(ui);
    Place *at = &ui->at;

    if (from == to)
        return;
    if (at->op >= 0)
        at->op = graph_find_op(to, str_from(op_name(from, at->op)));
    if (at->tensor >= 0)
        at->tensor = graph_find_tensor(to, str_from(tensor_name(from, at->tensor)));
    if (row_has_ops(&at->row)) {
        int32_t op = graph_find_op(to, str_from(op_name(from, at->row.op)));
        at->row.op = op < 0 ? 0 : op;
        at->row.id = at->row.kind == ROW_OP ? at->row.op : at->row.id;
    }
    if (at->op < 0 || at->tensor < 0) {
        at->op = 0;
        at->tensor = op_outputs(to, 0)[0];
        at->dim = 0;
    }
    ui->history = (History){0}; /* places in the old numbers */
}

void ui_change_to(Ui *ui, Session *next)
{
    ChangedOps changed = plan_changed_ops(next->plan->arena, ui_plan(ui), next->plan);

    renumber(ui, next->graph);
    ui_change_begin(ui);
    session_commit(ui->session, next);
    ui->changes.ops = changed;
    ui_change_end(ui);
    ui->changes.before = changed.n > 0 ? count_changed(ui) : NULL;
}

bool ui_changed(const Ui *ui, int32_t op)
{
    return op_has_changed(&ui->changes.ops, op);
}

bool ui_row_changed(const Ui *ui, const OutlineRow *row)
{
    return ui->changes.before && row_has_ops(row) &&
           ui->changes.before[row->first + row->n] > ui->changes.before[row->first];
}

void ui_select_row(Ui *ui, int64_t i)
{
    int64_t n = outline_n_rows(ui->outline);

    ui->row_at = i >= n ? n - 1 : i;
    if (ui->row_at < 0)
        ui->row_at = 0;
    if (!outline_at(ui->outline, ui->row_at, &ui->at.row))
        return;
    if (!row_has_ops(&ui->at.row)) {
        ui->at.op = -1;
        ui_select_tensor(ui, ui->at.row.id);
        return;
    }
    const Groups *groups = ui->session->groups;
    const OutlineRow *row = &ui->at.row;
    /* A group stands for its result: the last op of its first member. */
    int32_t op =
        row->kind == ROW_OP ? row->id : groups->order[row->first + row->n / row->fold_n - 1];
    ui_select_op(ui, op);
}

void ui_keep_row(Ui *ui)
{
    ui_select_row(ui, outline_find_row(ui->outline, &ui->at.row));
}

void ui_select_op(Ui *ui, int32_t op)
{
    const Graph *graph = ui_graph(ui);

    if (op != ui->at.op)
        ui->at.item = 0;
    ui->at.op = op;
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        if (op_outputs(graph, op)[o] >= 0) {
            ui_select_tensor(ui, op_outputs(graph, op)[o]);
            return;
        }
    }
}

void ui_select_tensor(Ui *ui, int32_t tensor)
{
    const Shape *shape = tensor < 0 ? NULL : inferred_sizes(ui->session->inferred, tensor);

    if (tensor == ui->at.tensor)
        return;
    ui->at.tensor = tensor;
    ui->at.dim = 0;
    while (shape && ui->at.dim + 1 < shape->n_dims && shape->dim[ui->at.dim] == 1)
        ui->at.dim++;
}

void ui_go_op(Ui *ui, int32_t op)
{
    outline_reveal(ui->outline, op);
    int64_t at = outline_find(ui->outline, op, NULL);
    if (at >= 0)
        ui_select_row(ui, at);
    ui_select_op(ui, op);
}

void ui_show(Ui *ui, ShowId show)
{
    if (ui->at.show == show)
        return;
    places_remember(ui);
    ui->at.show = show;
}

Str ui_key(const Ui *ui, ActId act)
{
    return keymap_key(ui->look.keymap, ui->frame, action_by_id(act));
}

const char *ui_policy_file(const Session *session)
{
    const char *policy = session->options.policy;

    if (!policy || file_exists(policy))
        return policy;
    for (int i = 0; i < session->journal.decisions.n; i++) {
        const Origin *origin = &session->journal.decisions.at[i].origin;
        if (origin->kind == ORIGIN_POLICY && origin->file && *origin->file)
            return origin->file;
    }
    return policy;
}
