#include "tui/state/ui.h"

#include "core/base/file.h"
#include "tui/state/compare.h"
#include "tui/state/console.h"
#include "tui/state/parameters.h"
#include "tui/views/policy_lines.h"
#include "tui/views/run_state.h"
#include "tui/views/schedule_state.h"
#include "tui/state/listing.h"

#include "tui/state/whatif.h"

#include <stdio.h>

enum { FIRST_ROWS = 28 }; /* groups are opened at the start while the outline is no longer */

static void rebuild(Ui *ui)
{
    Session *session = ui->session;

    outline_set(ui->outline, session->graph, session->groups);
    rail_reset(ui->rail, session->inferred, ui->outline);
    ui->comm = comm_new(session);
    ui->control = control_new(ui->comm->arena, session);
    ui->parameter_rows = NULL;
    ui->n_parameters = parameters_count(session->inferred);
    parameters_list(ui);
    ui->events = NULL;
    ui->params_before = ui->flops_before = NULL;
    if (ui->n_taggable != session->graph->n_ops) {
        ui->n_taggable = session->graph->n_ops;
        ui->tagged = arena_array(ui->arena, uint8_t, ui->n_taggable);
        ui->n_tagged = 0;
    }
    listing_renew(ui);
}

/* Opens as many levels as fit, so that the first screen shows the inside of a layer. */
static void open_first_levels(Ui *ui)
{
    int depth = 1;

    outline_depth(ui->outline, depth);
    while (depth < OUTLINE_DEPTH_MAX) {
        int64_t before = outline_n_rows(ui->outline);
        outline_depth(ui->outline, depth + 1);
        if (outline_n_rows(ui->outline) > FIRST_ROWS) {
            outline_depth(ui->outline, depth);
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
        rail_reset(ui->rail, ui->session->inferred, ui->outline);
        ui_select_row(ui, i);
        ui->top[SHOW_GRAPH] = i - 4;
        return;
    }
}

/* The number of the last step that was made here, as a plan file has it: the next goes on. */
static int last_edit(const Session *session)
{
    int last = 0;

    for (int i = 0; i < session->journal.n_done; i++) {
        const Origin *origin = &session->journal.decisions.at[i].origin;
        bool here = origin->kind == ORIGIN_USER && (!origin->file || !*origin->file);
        last = here && origin->line > last ? origin->line : last;
    }
    return last;
}

void ui_open(Ui *ui, Session *session, bool ascii)
{
    Arena *arena = arena_new();

    *ui = (Ui){.session = session,
               .arena = arena,
               .frame = arena_new(),
               .outline = outline_new(arena),
               .rail = rail_new(arena),
               .console = console_new(),
               .edits = last_edit(session),
               .run = arena_make(arena, RunState),
               .schedule = arena_make(arena, ScheduleState),
               .ascii = ascii,
               .settings = settings_standard(),
               .sorted_by = -1,
               .near = -1,
               .at = {.op = -1, .tensor = -1}};
    mem_open(&ui->mem, arena);
    rebuild(ui);
    open_first_levels(ui);
    rail_reset(ui->rail, session->inferred, ui->outline);
    ui_select_row(ui, 0);
    start_at_layers(ui);
}

void ui_close(Ui *ui)
{
    whatif_free(ui);
    search_free(ui->search);
    compare_close(ui);
    mem_forget(&ui->mem);
    listing_detach(ui);
    comm_free(ui->comm);
    console_free(ui->console);
    policy_lines_free(ui->policy_lines);
    run_state_free(ui->run);
    schedule_state_free(ui->schedule);
    outline_free(ui->outline);
    arena_free(ui->frame);
    arena_free(ui->arena);
}

void ui_change_begin(Ui *ui)
{
    listing_detach(ui);
    comm_free(ui->comm);
    ui->comm = NULL;
    mem_forget(&ui->mem);
    compare_forget(ui);
    ui->changed = (ChangedOps){0};
    ui->n_changed = NULL;
    if (ui->search)
        search_forget(ui->search);
    outline_detach(ui->outline);
}

void ui_change_end(Ui *ui)
{
    int32_t op = ui->at.op, tensor = ui->at.tensor;
    int dim = ui->at.dim;
    int64_t screen_row = ui->row_at - ui->top[SHOW_GRAPH];

    ui->n_changes++;
    rebuild(ui);
    if (ui->at.row.kind == ROW_OP) /* its layer may be unlike the others now */
        outline_reveal(ui->outline, ui->at.row.op);
    ui_select_row(ui, outline_find_row(ui->outline, &ui->at.row));
    ui->top[SHOW_GRAPH] = ui->row_at - screen_row;
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
        before[i + 1] = before[i] + op_has_changed(&ui->changed, groups->order[i]);
    return before;
}

void ui_change_to(Ui *ui, Session *next)
{
    ChangedOps changed = plan_changed_ops(next->plan->arena, ui_plan(ui), next->plan);

    ui_change_begin(ui);
    session_commit(ui->session, next);
    ui->changed = changed;
    ui_change_end(ui);
    ui->n_changed = changed.n > 0 ? count_changed(ui) : NULL;
}

bool ui_changed(const Ui *ui, int32_t op)
{
    return op_has_changed(&ui->changed, op);
}

bool ui_row_changed(const Ui *ui, const OutlineRow *row)
{
    return ui->n_changed && row_has_ops(row) &&
           ui->n_changed[row->first + row->n] > ui->n_changed[row->first];
}

void ui_say(Ui *ui, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ui->message, sizeof ui->message, format, args);
    va_end(args);
    ui->message_is_error = false;
}

void ui_fail(Ui *ui, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ui->message, sizeof ui->message, format, args);
    va_end(args);
    ui->message_is_error = true;
}

/* The list forgets its oldest where it is full. */
static void note_error(Ui *ui, const Error *err, const char *text)
{
    ErrorNote note = {.line = err->line, .times = 1, .can_edit = file_exists(err->file)};
    int at = 0;

    snprintf(note.file, sizeof note.file, "%s", err->file);
    snprintf(note.text, sizeof note.text, "%s", text);
    while (at < ui->n_errors &&
           (ui->error[at].line != note.line || strcmp(ui->error[at].file, note.file) != 0 ||
            strcmp(ui->error[at].text, note.text) != 0))
        at++;
    if (at < ui->n_errors)
        note.times += ui->error[at].times;
    else if (ui->n_errors < ERRORS_MAX)
        ui->n_errors++;
    else
        at = 0;
    memmove(ui->error + at, ui->error + at + 1, sizeof note * (size_t)(ui->n_errors - 1 - at));
    ui->error[ui->n_errors - 1] = note;
}

void ui_error(Ui *ui, const Error *err)
{
    Buf place = buf_new(ui->frame), text = buf_new(ui->frame);

    if (err->file[0])
        buf_printf(&place, "%s:", err->file);
    if (err->file[0] && err->line > 0)
        buf_printf(&place, "%d:", err->line);
    buf_puts(&text, err->text);
    if (err->hint[0])
        buf_printf(&text, " (%s)", err->hint);
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] == '\n' || text.s[i] == '\t')
            text.s[i] = ' ';
    ui_fail(ui, "%s%s%s", place.n ? place.s : "", place.n ? " " : "", text.s);
    note_error(ui, err, text.s);
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
    /* A group stands for what it hands on: its last op, of the first member. */
    int32_t op =
        row->kind == ROW_OP ? row->id : groups->order[row->first + row->n / row->fold_n - 1];
    ui_select_op(ui, op);
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
    rail_reset(ui->rail, ui->session->inferred, ui->outline);
    int64_t at = outline_find(ui->outline, op, NULL);
    if (at >= 0)
        ui_select_row(ui, at);
    ui_select_op(ui, op);
}

void ui_show(Ui *ui, ShowId show)
{
    if (ui->at.show == show)
        return;
    ui_remember(ui);
    ui->at.show = show;
}

Str ui_key(const Ui *ui, ActId act)
{
    return keymap_key(ui->keymap, ui->frame, action_by_id(act));
}

void ui_remember(Ui *ui)
{
    if (ui->n_jumps == JUMPS_MAX) {
        memmove(ui->jump, ui->jump + 1, sizeof ui->jump[0] * (JUMPS_MAX - 1));
        ui->jump_at -= ui->jump_at > 0;
        ui->n_jumps--;
    }
    ui->n_jumps = ui->jump_at;
    ui->jump[ui->n_jumps++] = ui->at;
    ui->jump_at = ui->n_jumps;
}

/* Everything of a place but for the outline's cursor comes back as it was; that is looked up. */
void ui_restore(Ui *ui, const Place *place)
{
    Place want = *place;

    if (want.row.op >= 0 && want.row.kind == ROW_OP)
        outline_reveal(ui->outline, want.row.op);
    rail_reset(ui->rail, ui->session->inferred, ui->outline);
    ui_select_row(ui, outline_find_row(ui->outline, &want.row));
    want.row = ui->at.row;
    ui->at = want;
}

bool ui_back(Ui *ui)
{
    if (ui->jump_at == 0)
        return false;
    Place here = ui->at;
    if (ui->jump_at == ui->n_jumps) {
        if (ui->n_jumps == JUMPS_MAX)
            return false;
        ui->jump[ui->n_jumps++] = here;
    } else {
        ui->jump[ui->jump_at] = here;
    }
    ui->jump_at--;
    ui_restore(ui, &ui->jump[ui->jump_at]);
    return true;
}

bool ui_forward(Ui *ui)
{
    if (ui->jump_at + 1 >= ui->n_jumps)
        return false;
    ui->jump[ui->jump_at] = ui->at;
    ui->jump_at++;
    ui_restore(ui, &ui->jump[ui->jump_at]);
    return true;
}

bool ui_move(int64_t *at, int64_t n, int page, ActId act)
{
    int64_t to = *at;

    if (page < 1)
        page = 1;
    if (act == ACT_DOWN)
        to++;
    else if (act == ACT_UP)
        to--;
    else if (act == ACT_PAGE_DOWN)
        to += page;
    else if (act == ACT_PAGE_UP)
        to -= page;
    else if (act == ACT_HALF_DOWN)
        to += (page + 1) / 2;
    else if (act == ACT_HALF_UP)
        to -= (page + 1) / 2;
    else if (act == ACT_TOP)
        to = 0;
    else if (act == ACT_BOTTOM)
        to = n - 1;
    else
        return false;
    *at = to >= n ? n - 1 : to;
    if (*at < 0)
        *at = 0;
    return true;
}

int64_t ui_scroll(int64_t top, int64_t at, int64_t n, int h)
{
    if (at < top)
        top = at;
    if (at >= top + h)
        top = at - h + 1;
    if (top > n - h)
        top = n - h;
    return top < 0 ? 0 : top;
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

void ui_mark_row(const Ui *ui, ShowId show, const Pen *pen, int y)
{
    Pen at = *pen;

    pen_to(&at, 0, y);
    if (ui->at.show == show && !ui->menu.open) {
        grid_mark(pen->grid, (Rect){pen->area.x, pen->area.y + y, pen->area.w, y < pen->area.h},
                  STYLE_SELECTED);
        pen_cursor(&at);
    }
    pen_rune(&at, (Style)(ROLE_TEXT | (ui->at.show == show ? STYLE_SELECTED : 0)), '>');
}

static bool passes(const void *filter, int32_t reshard)
{
    return filter_reshard(filter, reshard);
}

Comm *ui_comm(Ui *ui)
{
    Comm *comm = ui->comm;
    const char *text = ui->filter ? filter_text(ui->filter) : NULL;

    if (comm->n_rows < 0 && !job_at_once(ui))
        return comm;
    comm_table(comm, NULL);
    bool same = text && comm->kept_by ? strcmp(text, comm->kept_by) == 0 : text == comm->kept_by;
    if (comm->sort != ui->comm_sort || !same)
        comm_arrange(comm, ui->comm_sort, text, passes, ui->filter);
    if (ui->at.reshard >= comm->n_rows)
        ui->at.reshard = comm->n_rows > 0 ? comm->n_rows - 1 : 0;
    return comm;
}
