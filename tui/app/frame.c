#include "tui/app/app.h"

#include "core/base/units.h"
#include "core/cost/pipeline.h"
#include "tui/state/comm_table.h"
#include "tui/app/complete.h"
#include "tui/app/reload.h"
#include "tui/app/draw_panes.h"
#include "tui/state/format.h"
#include "tui/state/menu.h"
#include "tui/state/jobs/mesh_change.h"
#include "tui/state/jobs/setting_change.h"
#include "tui/state/jobs/train_change.h"
#include "tui/state/pins.h"
#include "tui/state/jobs/plan_search.h"
#include "tui/views/mem.h"
#include "tui/views/menu_box.h"
#include "tui/views/page.h"
#include "tui/views/run_state.h"
#include "tui/state/jobs/reasons_job.h"
#include "tui/state/jobs/whatif.h"
#include "core/plan/plan_machine.h"

#include <inttypes.h>

enum { STATUS_PARTS = 8, MESSAGE_LINES_MAX = 6 };

/* A part of the status line; the least wanted goes first where there is no room. */
typedef struct {
    Text text, brief; /* brief: where all texts do not fit */
    Style style;
    int wanted;
} StatusPart;

static Str without_extension(const char *path)
{
    Str name = str_from(path_base(path));
    for (size_t i = name.n; i > 1; i--)
        if (name.s[i - 1] == '.')
            return (Str){name.s, i - 1};
    return name;
}

/* "1.2/80.0 GiB": the unit once where both have the same. */
static Str peak_text(const Ui *ui)
{
    int64_t used = ui_plan(ui)->priced->totals.peak_bytes, limit = plan_memory(ui_plan(ui));
    Buf text = buf_new(ui->frame);

    units_format_bytes_pair(used, limit, "/", &text);
    buf_puts(&text, used > limit                            ? " OVER"
                    : plan_counts_forward_only(ui_plan(ui)) ? " forward only"
                                                            : " ok");
    return buf_str(&text);
}

/* "legal, 2 warnings, 3 notes"; brief: "legal 2 warnings", the worst of them. While a file that was
 * read again is broken, the plan on the screen is not the plan of the files, and is not called
 * legal. */
static Str verdict_text(const Ui *ui, bool brief, Style *style)
{
    static const struct {
        int level;
        const char *name;
    } levels[] = {{LEVEL_ERROR, "error"}, {LEVEL_WARNING, "warning"}, {LEVEL_NOTE, "note"}};
    const Findings *findings = &ui_plan(ui)->findings;
    const Error *policy = &ui->changes.policy_failed;
    bool failed = error_is_set(policy);
    int count[3] = {0}, line = failed ? policy->line : ui->changes.reload_line;
    Buf text = buf_new(ui->frame);

    for (int i = 0; i < findings->n; i++)
        count[findings->at[i].level]++;
    *style = count[LEVEL_ERROR] ? ROLE_ERROR : ROLE_STATUS;
    if (failed || ui->changes.reload_failed) {
        *style = ROLE_ERROR;
        buf_printf(&text, "%s FAILED", failed ? "policy" : ui->changes.reload_failed);
        if (line > 0)
            buf_printf(&text, " line %d", line);
        buf_puts(&text, brief ? "" : ", showing the last valid plan");
        return buf_str(&text);
    }
    buf_puts(&text, plan_is_legal(ui_plan(ui)) ? "legal" : "ILLEGAL");
    for (int i = 0, shown = 0; i < 3 && !(brief && shown); i++) {
        int n = count[levels[i].level];
        if (n > 0)
            buf_printf(&text, "%s%d %s%s", brief ? " " : ", ", n, levels[i].name, n > 1 ? "s" : "");
        shown += n > 0;
    }
    return buf_str(&text);
}

/* "step 13.2 ms, comm 15.4%"; of several micro-batches the whole step, and what the schedule leaves
 * idle. brief: "4.83 s, bubble 9.5%". */
static const char *step_text(const Ui *ui, bool brief)
{
    const Plan *plan = ui_plan(ui);
    const Totals *totals = &plan->priced->totals;
    const Schedule *schedule = plan_schedule(plan);
    Str step = label_us(ui, plan_step_us(plan));

    if (schedule && schedule->n_stages > 1)
        return arena_printf(ui->frame, "%s%.*s, bubble %.1f%%", brief ? "" : "step ", STR_ARG(step),
                            100 * schedule->idle);
    double share = totals->step_us > 0 ? 100 * totals->comm_us / totals->step_us : 0;
    return arena_printf(ui->frame, "%s%.*s, comm %.1f%%", brief ? "" : "step ", STR_ARG(step),
                        share);
}

static int status_parts(const Ui *ui, StatusPart *part)
{
    const Session *session = ui->session;
    const Totals *totals = &ui_plan(ui)->priced->totals;
    const char *policy = ui_policy_file(session);
    Str model = without_extension(session->options.model), peak = peak_text(ui);
    bool over = totals->peak_bytes > plan_memory(ui_plan(ui));
    Buf mesh = buf_marked(ui->frame);
    Style style;
    Str verdict = verdict_text(ui, false, &style), short_verdict = verdict_text(ui, true, &style);
    int n = 0;

    mesh_format(session->mesh, &mesh);
    part[n++] = (StatusPart){text_of(model), text_of(model), ROLE_STATUS, 6};
    part[n++] = policy
                    ? (StatusPart){text_from(path_base(policy)), text_of(without_extension(policy)),
                                   ROLE_STATUS, 4}
                    : (StatusPart){text_from("no policy"), text_from("no policy"), ROLE_STATUS, 4};
    part[n++] = (StatusPart){buf_text(&mesh), buf_text(&mesh), ROLE_STATUS, 7};
    part[n++] = (StatusPart){text_from(session->machine->name), text_from(session->machine->name),
                             ROLE_STATUS, 2};
    part[n++] = (StatusPart){text_from(arena_printf(ui->frame, "peak %.*s", STR_ARG(peak))),
                             text_of(peak), over ? ROLE_ERROR : ROLE_STATUS, 8};
    part[n++] = (StatusPart){text_from(step_text(ui, false)), text_from(step_text(ui, true)),
                             ROLE_STATUS, 8};
    part[n++] = (StatusPart){text_of(verdict), text_of(short_verdict), style, 9};
    return n;
}

static Text part_text(const StatusPart *part, bool brief)
{
    return brief ? part->brief : part->text;
}

static int status_columns(const StatusPart *part, int n, bool brief)
{
    int used = 1;

    for (int i = 0; i < n; i++)
        used += text_columns(part_text(&part[i], brief).str) + (i ? 3 : 0);
    return used;
}

/* Leaves out the least wanted, then writes briefly, then leaves out more, until all fits. An error
 * is written in full where that leaves room. */
static int fit_status(StatusPart *part, int n, int columns, bool *brief)
{
    *brief = false;
    while (n > 1 && status_columns(part, n, *brief) > columns) {
        int least = 0;
        for (int i = 1; i < n; i++)
            if (part[i].wanted < part[least].wanted)
                least = i;
        if (part[least].wanted > 2 && !*brief) {
            *brief = true;
            continue;
        }
        memmove(part + least, part + least + 1, sizeof part[0] * (size_t)(n - 1 - least));
        n--;
    }
    for (int i = 0; *brief && i < n; i++) {
        StatusPart short_part = part[i];
        if (style_role(part[i].style) == ROLE_ERROR)
            part[i].brief = part[i].text;
        if (status_columns(part, n, true) > columns)
            part[i] = short_part;
    }
    return n;
}

static void draw_status(const App *app, Pen *pen)
{
    const Ui *ui = &app->ui;
    StatusPart part[STATUS_PARTS] = {0};
    bool brief;
    int n = fit_status(part, status_parts(ui, part), pen->area.w, &brief);

    pen_rune(pen, ROLE_TEXT, ' ');
    for (int i = 0; i < n; i++) {
        pen_puts(pen, ROLE_FRAME, i ? " │ " : "");
        int start = pen->x;
        pen_text(pen, part_text(&part[i], brief), -1, -1);
        Rect at = {pen->area.x + start, pen->area.y, pen->x - start, 1};
        if (style_role(part[i].style) == ROLE_ERROR)
            grid_paint(pen->grid, at, ROLE_ERROR);
    }
}

/* Whether a view is shown that says where axes come from. */
static bool asks_why(const PaneLayout *layout)
{
    static const ShowId asking[] = {SHOW_OP,   SHOW_TENSOR, SHOW_COMM, SHOW_COMM_DETAIL,
                                    SHOW_LIVE, SHOW_WHY,    SHOW_FORK};

    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        if (panes_show(layout, asking[i]))
            return true;
    return false;
}

/* From wide on tabs have blanks around them; below narrow only the shown ones have names. */
enum { TABS_WIDE = 100, TABS_NARROW = 66, TABS_AND_PAGE = 78 };

/* Behind the numbered views comes the schedule, where it is shown or has room: on a narrow screen
 * that of the hint, which the keys have too, if there is a training step. */
static int count_tabs(const App *app)
{
    const Ui *ui = &app->ui;
    bool trains = ui->at.show < SHOW_PAGES && ui_graph(ui)->phase && app->grid->w >= TABS_AND_PAGE;
    bool room = trains || app->grid->w >= TABS_WIDE;
    return SHOW_TABS + (room || app->ui.at.show == SHOW_SCHEDULE);
}

static ShowId tab_show(int tab)
{
    return tab < SHOW_TABS ? (ShowId)tab : SHOW_SCHEDULE;
}

/* "1 Graph", or "1". */
static Str tab_text(const App *app, int tab)
{
    int narrow = app->ui.at.show >= SHOW_PAGES ? TABS_AND_PAGE : TABS_NARROW;
    bool named = app->grid->w >= narrow || panes_show(&app->layout, tab_show(tab));
    int key = (tab + 1) % 10;

    return str_from(named ? arena_printf(app->ui.frame, "%d %s", key, views[tab_show(tab)]->name)
                          : arena_printf(app->ui.frame, "%d", key));
}

/* Where a tab begins: its bracket or the blank in its place. */
static int tab_at(const App *app, int tab)
{
    bool wide = app->grid->w >= TABS_WIDE;
    int at = wide;

    for (int i = 0; i < tab; i++)
        at += (int)tab_text(app, i).n + 1 + wide;
    return at;
}

ActId app_tab(const App *app, int x)
{
    for (int i = 0; i < count_tabs(app); i++)
        if (x > tab_at(app, i) && x <= tab_at(app, i) + (int)tab_text(app, i).n)
            return i < SHOW_TABS ? (ActId)(ACT_SHOW_GRAPH + i) : ACT_SCHEDULE;
    return ACT_NONE;
}

static void draw_tabs(const App *app, Pen *pen)
{
    ShowId show = app->ui.at.show;
    const char *page = show > SHOW_SCHEDULE ? views[show]->name : NULL;

    for (int i = 0; i < count_tabs(app); i++) {
        bool here = panes_show(&app->layout, tab_show(i));
        pen_to(pen, tab_at(app, i) + !here, 0);
        pen_printf(pen, here ? ROLE_FOCUS : ROLE_TEXT, here ? "[%.*s]" : "%.*s",
                   STR_ARG(tab_text(app, i)));
    }
    if (page && pen->area.w - pen->x > (int)strlen(page) + 4)
        pen_printf(pen, ROLE_FOCUS, "  [%s]", page);
    if (pen->area.w - pen->x < HELP_COLUMNS)
        return;
    pen_to(pen, pen->area.w - HELP_COLUMNS, 0);
    pen_puts(pen, ROLE_TEXT, " ? help ");
}

/* The groups around what is selected, the innermost first. */
static int path_groups(const Ui *ui, int32_t *chain)
{
    const Group *all = ui->session->groups->groups;
    const OutlineRow *row = &ui->at.row;
    int n = 0;

    if (!row_has_ops(row) || row->op < 0)
        return 0;
    for (int32_t g = row->kind == ROW_GROUP ? row->id : ui->session->groups->group_of[row->op];
         g > 0 && n < OUTLINE_DEPTH_MAX; g = all[g].parent)
        chain[n++] = g;
    return n;
}

static Str crumb_text(const Ui *ui, int32_t group)
{
    const Group *g = &ui->session->groups->groups[group];
    int n = outline_fold_n(ui->outline, group);
    bool words = g->cycle && *g->cycle;

    if (n <= 1)
        return str_from(g->name);
    return str_from(words ? arena_printf(ui->frame, "[%s] ×%d", g->cycle, n)
                          : arena_printf(ui->frame, "%s ×%d", g->name, n));
}

/* What is listed, or which hit of a search this is. */
static Str path_summary(const Ui *ui, bool wide)
{
    const Session *session = ui->session;
    int n_tagged = ui->listing.n_tagged;
    Buf text = buf_new(ui->frame);

    if (ui->find.label[0]) {
        buf_printf(&text, "%s", ui->find.label);
        return buf_str(&text);
    }
    if (ui->listing.filter)
        buf_printf(&text, "%d of ", ui->listing.pass[session->groups->n_order]);
    buf_printf(&text, "%d ops", session->inferred->n_program);
    if (n_tagged > 0)
        buf_printf(&text, ", %d tagged", n_tagged);
    else if (!ui->listing.filter)
        buf_printf(&text, ", %d distinct", session->inferred->n_spaces);
    if (n_tagged == 0 && !ui->listing.filter && wide)
        buf_printf(&text, ", %d parameters", ui->parameters.n);
    if (ui->listing.filter)
        buf_printf(&text, "  filter: %s", filter_text(ui->listing.filter));
    return buf_str(&text);
}

/* What stands at the right end of the path: the rows of the pane below it where that has no frame
 * to hold them, and the summary. */
static Str path_right(const App *app)
{
    const Ui *ui = &app->ui;
    bool wide = app->layout.path.w >= TABS_WIDE;
    const LayoutPane *pane = app->layout.n_panes > 0 ? &app->layout.pane[0] : NULL;
    Str summary = path_summary(ui, wide);
    Str rows = pane && pane->frame.w == 0 ? panes_position(ui, pane->show) : STR("");

    if (rows.n == 0)
        return summary;
    return str_from(arena_printf(ui->frame, "%.*s  %.*s", STR_ARG(rows), STR_ARG(summary)));
}

/* model > transformer > h[0..11] x12, where it does not all fit, its end; then `right`. */
static void draw_path(App *app, Str right, Pen *pen)
{
    const Ui *ui = &app->ui;
    int32_t chain[OUTLINE_DEPTH_MAX];
    int n = path_groups(ui, chain), n_right = text_columns(right), used = 6;
    int room = pen->area.w - n_right - 4, first;

    if (room < pen->area.w / 3)
        room = pen->area.w / 3;
    for (first = 0; first < n; first++) {
        int columns = text_columns(crumb_text(ui, chain[first])) + 3;
        if (used + columns > room)
            break;
        used += columns;
    }
    app->n_crumbs = 0;
    pen_puts(pen, ROLE_TEXT, first < n ? " …" : " model");
    for (int i = first; i-- > 0;) {
        pen_puts(pen, ROLE_DIM, " ▸ ");
        int x = pen->x;
        pen_put(pen, ROLE_TEXT, crumb_text(ui, chain[i]));
        app->crumb[app->n_crumbs++] = (Crumb){x, pen->x, chain[i]};
    }
    int left = pen->area.w - pen->x - 3;
    if (n_right > left && left < n_right / 2 && !ui->listing.filter)
        return;
    pen_to(pen, pen->area.w - 1 - (n_right < left ? n_right : left), 0);
    pen_fit(pen, ui->find.label[0] || ui->listing.filter ? ROLE_HEAD : ROLE_DIM, right,
            n_right < left ? n_right : left);
}

/* Breaks a text between words, a longer word where the line ends; the last line has all the rest.
 */
static int wrap(Str text, int columns, Str *line, int most)
{
    int n = 0;

    while (text.n > 0 && n < most - 1) {
        Str rest = text, words = text_take_line(&rest, columns);
        if (text_columns(words) > columns) {
            words = text_head(text, columns);
            rest = (Str){text.s + words.n, text.n - words.n};
        }
        if (words.n == 0)
            break;
        line[n++] = words;
        text = rest;
    }
    if (text.n > 0)
        line[n++] = text;
    return n;
}

/* A message that is wider than its line takes lines above it too, so that its end is shown. */
static void draw_message(const App *app, Pen *pen)
{
    const Messages *messages = &app->ui.messages;
    Style style = messages->is_error ? ROLE_ERROR : ROLE_NOTE;
    Str line[MESSAGE_LINES_MAX];
    int w = pen->area.w - 2, room = app->layout.body.h / 2;
    int most = room < MESSAGE_LINES_MAX ? room : MESSAGE_LINES_MAX;
    int n = wrap(str_from(messages->text), w, line, most > 1 ? most : 1);

    for (int i = 0; i < n; i++) {
        Rect at = {pen->area.x, pen->area.y - (n - 1 - i), pen->area.w, 1};
        Pen own = pen_new(pen->grid, at);
        if (n > 1)
            grid_blank(pen->grid, at);
        pen_rune(&own, ROLE_TEXT, ' ');
        pen_fit(&own, style, line[i], w);
    }
}

/* The clauses of a note that fit, and a mark where there are more. */
static void draw_clauses(Text note, int room, Pen *pen)
{
    size_t end = 0;

    if (text_columns(note.str) <= room) {
        pen_text(pen, note, -1, room);
        return;
    }
    for (size_t i = 1; i + 1 < note.str.n; i++) {
        bool ends = note.str.s[i + 1] == ' ' && strchr(",; ", note.str.s[i]);
        if (ends && text_columns((Str){note.str.s, i}) + 2 <= room)
            end = note.str.s[i] == ' ' ? i : i + 1;
    }
    pen_text(pen, end > 0 ? text_part(note, 0, end) : note, -1, end > 0 ? -1 : room);
    if (end > 0)
        pen_puts(pen, ROLE_DIM, " …");
}

static void draw_note(App *app, Pen *pen)
{
    Ui *ui = &app->ui;
    const View *view = views[ui->at.show];
    Buf text = buf_marked(ui->frame);

    if (!job_in_foreground(ui) && ui->messages.text[0]) {
        draw_message(app, pen);
        return;
    }
    pen_rune(pen, ROLE_TEXT, ' ');
    if (job_in_foreground(ui)) {
        job_format(ui, &text);
        pen_fit(pen, ROLE_NOTE, buf_str(&text), pen->area.w - 1);
        return;
    }
    if (view->note)
        view->note(ui, &text);
    draw_clauses(buf_text(&text), pen->area.w - 1, pen);
}

/* Whether it has something to do: a key that has not is no help. */
static bool is_of_use(const App *app, ActId act)
{
    const Ui *ui = &app->ui;
    const Journal *journal = &ui->session->journal;
    bool of_diff =
        ui->at.show == SHOW_DIFF || ui->at.show == SHOW_DIFF_TOTALS || ui->at.show == SHOW_FORK;

    if (of_diff && !ui->compare &&
        (act == ACT_NEXT_CHANGE || act == ACT_EQUAL || act == ACT_OPEN || act == ACT_WHY ||
         act == ACT_SORT))
        return false;
    bool of_reshard = act == ACT_DOWN || act == ACT_WHAT_IF || act == ACT_OPEN || act == ACT_WHY ||
                      act == ACT_SHOW_MESH || act == ACT_SORT || act == ACT_COLUMNS;
    if (ui->at.show == SHOW_COMM && ui->comm->n_rows == 0 && of_reshard)
        return false;
    if (ui->at.show == SHOW_WHY && act == ACT_WHAT_IF)
        return ui->at.why == WHY_TENSOR && why_fix_line(ui) > 0;
    if ((ui->at.show == SHOW_RUN || ui->at.show == SHOW_CHECK) && act == ACT_WHY)
        return run_wrong(ui) != NULL;
    if (act == ACT_CANCEL)
        return ui->jobs.running != NULL;
    if (act == ACT_UNDO)
        return setting_change_can(ui, -1) || mesh_change_can(ui, -1) || train_change_can(ui, -1) ||
               pins_of_step(journal, -1) > 0 || reload_configuration_can(app, -1);
    if (act == ACT_REDO)
        return setting_change_can(ui, 1) || mesh_change_can(ui, 1) || train_change_can(ui, 1) ||
               journal->n_done < journal->decisions.n || reload_configuration_can(app, 1);
    if (act == ACT_BACK)
        return ui->history.at > 0;
    return act != ACT_NEXT_PANE || app->layout.n_panes > 1;
}

/* Its key, or what to type. */
static Str hint_key(const Ui *ui, ActId act)
{
    Str key = ui_key(ui, act);

    return key.n > 0 ? key : str_from(arena_printf(ui->frame, ":%s", action_by_id(act)->name));
}

/* What Enter does depends on the selected row. */
static const char *hint_label(const Ui *ui, const Hint *hint)
{
    const View *view = views[ui->at.show];

    return hint->act == ACT_OPEN && view->open_hint ? view->open_hint(ui) : hint->label;
}

static int hint_columns(const Ui *ui, const Hint *hint)
{
    return (int)(hint_key(ui, hint->act).n + strlen(hint_label(ui, hint))) + 3;
}

/* The view's hints, as many as there is room for; help and the way out are never left out. */
static void draw_hints(const App *app, Pen *pen)
{
    const Ui *ui = &app->ui;
    const Hint *hints = views[ui->at.show]->hints;
    int last = 0;

    while (hints[last].act != ACT_NONE)
        last++;
    int reserved = hint_columns(ui, &hints[last - 2]) + hint_columns(ui, &hints[last - 1]);
    for (int i = 0; i < last; i++) {
        bool fits = pen->x + hint_columns(ui, &hints[i]) + reserved <= pen->area.w;
        const char *label = hint_label(ui, &hints[i]);
        if (i < last - 2 && (!fits || !*label || !is_of_use(app, hints[i].act)))
            continue;
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_put(pen, ROLE_FOCUS, hint_key(ui, hints[i].act));
        pen_printf(pen, ROLE_DIM, " %s ", label);
    }
}

static void draw_keys(const App *app, Pen *pen)
{
    if (app->prompt.kind == '>') {
        pen_puts(pen, ROLE_DIM, " Enter run  Tab complete  Up last line  C-c stop  Esc leave");
        return;
    }
    if (app->prompt.kind) {
        prompt_draw(&app->prompt, pen);
        return;
    }
    if (app->ui.menu.open) {
        const Menu *menu = &app->ui.menu;
        pen_puts(pen, ROLE_DIM,
                 menu->given    ? " type a name or part of one  Enter choose  Esc leave"
                 : menu->typing ? " type part of a name  Enter choose  Esc show all"
                                : " j k move  Enter choose, or its key  / find  Esc leave");
        pen_puts(pen, ROLE_DIM, menu->moved && !menu->typing ? "  < > other dim" : "");
        return;
    }
    draw_hints(app, pen);
    Buf pressed = buf_new(app->ui.frame);
    for (int i = 0; i < app->n_keys; i++)
        key_format(app->keys[i], &pressed);
    pen_to(pen, pen->area.w - (int)pressed.n - 2, 0);
    pen_puts(pen, ROLE_TEXT, pressed.n ? " " : "");
    pen_put(pen, ROLE_HEAD, buf_str(&pressed));
}

void app_draw_alone(App *app, Grid *grid)
{
    Ui *ui = &app->ui;
    int n_marks = 0;
    for (const char *c = help_marks; *c; c++)
        n_marks += *c == '\n';
    Rect body = {0, 3, grid->w, grid->h - 4 - n_marks};

    grid_clear(grid);
    Pen pen = pen_new(grid, (Rect){0, 0, grid->w, 1});
    draw_status(app, &pen);
    pen = pen_new(grid, (Rect){0, 1, grid->w, 1});
    draw_path(app, path_summary(&app->ui, pen.area.w >= TABS_WIDE), &pen);
    pen = pen_new(grid, (Rect){0, 2, grid->w, 1});
    grid_rule(grid, pen.area, true, views[ui->at.show]->name);
    pen = pen_new(grid, body);
    views[ui->at.show]->draw(ui, &pen);
    int y = body.y + body.h + 1;
    for (Str rest = str_from(help_marks); rest.n > 0; y++) {
        pen = pen_new(grid, (Rect){1, y, grid->w - 1, 1});
        pen_fit(&pen, ROLE_TEXT, str_take(&rest, '\n'), grid->w - 1);
    }
}

static void draw_once(App *app)
{
    Ui *ui = &app->ui;
    Grid *grid = app->grid;

    arena_free(ui->frame);
    ui->frame = arena_new();
    for (int i = 0; i < SHOW_COUNT; i++)
        ui->list[i].text = (Text){0};
    grid->ascii = ui->look.ascii;
    grid_clear(grid);
    int tour = tour_lines(&app->tour, grid->w, grid->h);
    if (app->shown != ui->at.show) /* opened, not reached from the pane beside it */
        app->lead = app->shown = ui->at.show;
    panes_lay_out(app, grid->h - tour);
    if (app->layout.too_small) {
        Pen pen = pen_new(grid, (Rect){0, 0, grid->w, grid->h});
        pen_printf(&pen, ROLE_TEXT, "too small: %dx%d, needs %dx%d (q quits)", grid->w, grid->h,
                   LAYOUT_MIN_W, LAYOUT_MIN_H);
        return;
    }
    if (panes_show(&app->layout, SHOW_COMM_DETAIL))
        whatif_follow(ui);
    if (panes_show(&app->layout, SHOW_MEM) || panes_show(&app->layout, SHOW_LIVE) ||
        panes_show(&app->layout, SHOW_SAVED) || panes_show(&app->layout, SHOW_SCHEDULE))
        mem_follow(ui);
    if (panes_show(&app->layout, SHOW_TRY) || panes_show(&app->layout, SHOW_SCHEDULE))
        mem_settings_follow(ui);
    if (asks_why(&app->layout))
        reasons_follow(ui);
    plan_search_follow(ui);
    ui->comm_asked = false;
    panes_draw(app, grid->h - tour);
    if (ui->comm_asked)
        comm_follow(ui);
    Pen pen = pen_new(grid, app->layout.status);
    draw_status(app, &pen);
    pen = pen_new(grid, app->layout.tabs);
    draw_tabs(app, &pen);
    pen = pen_new(grid, app->layout.path);
    draw_path(app, path_right(app), &pen);
    pen = pen_new(grid, app->layout.note);
    draw_note(app, &pen);
    pen = pen_new(grid, app->layout.keys);
    draw_keys(app, &pen);
    complete_draw(ui, &app->prompt, grid, (Rect){0, 3, grid->w, grid->h - 5});
    if (app->palette.open)
        palette_draw(ui, &app->palette, grid, (Rect){0, 3, grid->w, grid->h - 4});
    if (ui->menu.open)
        menu_draw(ui, grid, (Rect){0, 3, grid->w, grid->h - 4 - tour});
    if (tour > 0) {
        pen = pen_new(grid, (Rect){0, grid->h - tour, grid->w, tour});
        tour_draw(&app->tour, ui->frame, &pen);
    }
}

/* Work that a view asked for while it was drawn may be done at once: it is shown in this frame. */
const Grid *app_draw(App *app)
{
    enum { AGAIN_MOST = 4 };
    int done = -1;

    for (int i = 0; i < AGAIN_MOST && done != app->ui.jobs.n_done; i++) {
        done = app->ui.jobs.n_done;
        draw_once(app);
    }
    return app->grid;
}
