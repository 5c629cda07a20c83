#include "tui/app/app.h"
#include "tui/state/comm_table.h"
#include "tui/app/reload.h"

#include "core/session/planfile.h"
#include "core/explain/reason.h"
#include "core/summary/label.h"
#include "tui/state/jobs/reasons_job.h"
#include "tui/state/compare.h"
#include "tui/state/console.h"
#include "tui/app/copy.h"
#include "tui/app/export_view.h"
#include "tui/app/go.h"
#include "tui/app/leave.h"
#include "tui/state/listing.h"
#include "tui/state/menu.h"
#include "tui/state/jobs/mesh_change.h"
#include "tui/state/jobs/setting_change.h"
#include "tui/state/places.h"
#include "tui/state/jobs/plan_search.h"
#include "tui/views/graph/graph_row.h"
#include "tui/views/page.h"
#include "tui/views/run_state.h"
#include "tui/views/policy_lines.h"
#include "tui/state/pins.h"

#include <stdio.h>

/* ---- why ---- */

static void show_why(Ui *ui, WhyKind kind, int dim, int axis)
{
    if (ui->at.show != SHOW_WHY)
        ui_show(ui, SHOW_WHY);
    ui->at.why = kind;
    ui->at.why_dim = dim;
    ui->at.why_axis = axis;
    ui->list[SHOW_WHY].at = 0;
    ui->list[SHOW_WHY].top = 0;
}

static const Reshard *comm_first(const Ui *ui)
{
    int last = ui->comm->n_rows - 1, row = ui->at.reshard < last ? ui->at.reshard : last;

    return &ui_plan(ui)->moved->reshards[ui->comm->row[row].first];
}

/* The first wrong value of a run, and why it is as it is. */
static void why_wrong(Ui *ui, int32_t tensor)
{
    int32_t maker = ui_graph(ui)->tensors[tensor].maker;

    places_remember(ui);
    if (maker >= 0)
        ui_go_op(ui, maker);
    ui_select_tensor(ui, tensor);
    ui->at.show = SHOW_WHY;
    show_why(ui, WHY_TENSOR, -2, 0);
}

static void why(Ui *ui)
{
    const OpSpace *space = ui->at.op < 0 ? NULL : inferred_space(ui->session->inferred, ui->at.op);

    if ((ui->at.show == SHOW_RUN || ui->at.show == SHOW_CHECK) && run_wrong(ui))
        why_wrong(ui, run_wrong(ui)->tensor);
    else if (ui->at.show == SHOW_OP && space && ui->at.item < space->n_index)
        show_why(ui, WHY_INDEX, ui->at.item, 0);
    else if (ui->at.show == SHOW_COMM && comm_arranged(ui)->n_rows > 0)
        show_why(ui, WHY_TENSOR, comm_moved_dim(ui->session, comm_first(ui)), 0);
    else
        show_why(ui, WHY_TENSOR, -2, 0);
}

static void why_not_chosen(Ui *ui, int axis)
{
    show_why(ui, WHY_NOT, -2, axis);
}

static void why_not_menu(Ui *ui)
{
    const Mesh *mesh = ui->session->mesh;

    if (ui->at.tensor < 0) {
        ui_say(ui, "select an op or a tensor first");
        return;
    }
    menu_open(ui, "why not sharded by", why_not_chosen);
    for (int a = 0; a < mesh->n_axes; a++)
        menu_add_axis(ui, a, "jk");
}

/* ---- the plan ---- */

static void policy_ran(Ui *ui, const Totals *before, const char *what)
{
    Buf text = buf_new(ui->frame);
    (void)what;
    pins_format_change(ui, before, &text);
    ui_say(ui, "policy run%s", text.s);
}

void app_rerun_policy(App *app)
{
    job_change(&app->ui, &(Change){.kind = CHANGE_POLICY}, policy_ran, NULL);
}

static bool set_rank(Ui *ui, Str args, Error *err)
{
    int64_t rank;

    if (!str_to_int(args, &rank) || rank < 0 || rank >= ui->session->mesh->n_devices)
        return error_set(err, "ranks go from 0 to %lld",
                         (long long)ui->session->mesh->n_devices - 1);
    ui->rank = rank;
    return true;
}

static bool save_plan(Ui *ui, Str args, Error *err)
{
    const char *path = arena_str(ui->frame, args);

    if (args.n == 0)
        return error_set(err, "save to which file? :save plan.json");
    if (!planfile_save(ui->session, path, false, err))
        return false;
    pins_are_written(ui);
    ui_say(ui, "saved %s", path);
    return true;
}

/* Where the text under the cursor, the last error or the dim's pin points to. */
static bool edit_place(Ui *ui, Str *file, int *line)
{
    ShowId show = ui->at.show;

    if (show == SHOW_POLICY && policy_place(ui, file, line))
        return true;
    if (show >= SHOW_PAGES && show != SHOW_ERRORS &&
        page_find_place(ui, page_line(ui->list[show].text, ui->list[show].at), file, line))
        return true;
    if (show == SHOW_WHY && why_fix_line(ui) > 0) {
        *file = str_from(ui_policy_file(ui->session));
        *line = why_fix_line(ui);
        return true;
    }
    int64_t at = show == SHOW_ERRORS ? ui->list[SHOW_ERRORS].at : ui->messages.n_errors - 1;
    if (at >= 0 && at < ui->messages.n_errors && ui->messages.error[at].can_edit &&
        (show == SHOW_ERRORS || ui->messages.error[at].line > 0)) {
        *file = str_from(ui->messages.error[at].file);
        *line = ui->messages.error[at].line > 0 ? ui->messages.error[at].line : 1;
        return true;
    }
    const Decision *pin = NULL;
    if (show == SHOW_COMM && reasons_ready(ui, ui_plan(ui)) && comm_arranged(ui)->n_rows > 0)
        pin = comm_cause(ui->frame, ui->session, comm_first(ui));
    else if (ui->at.tensor >= 0)
        pin = plan_pin_of(ui_plan(ui), PIN_TENSOR_DIM, ui->at.tensor, ui->at.dim);
    *line = pin && pin->origin.kind == ORIGIN_POLICY ? pin->origin.line : 1;
    *file = str_from(ui_policy_file(ui->session));
    return file->s != NULL;
}

static bool edit(App *app, Error *err)
{
    Str file;
    int line;

    if (!edit_place(&app->ui, &file, &line))
        return error_set(
            err,
            "there is no policy to edit; open the explorer with -p POLICY, or type :policy FILE");
    if (!app->term)
        return error_set(err, "no terminal to open the editor in");
    const char *const argv[] = {"sh",
                                "-c",
                                "exec ${VISUAL:-${EDITOR:-vi}} \"$@\"",
                                "sh",
                                arena_printf(app->ui.frame, "+%d", line),
                                arena_str(app->ui.frame, file),
                                NULL};
    return term_run(app->term, argv, err);
}

/* %op %tensor %file are what is selected, quoted for the shell; %% is a percent sign. */
static const char *shell_command(Ui *ui, Str typed)
{
    const char *file = ui_policy_file(ui->session);
    Str op = ui->at.op < 0 ? STR("") : label_op(ui->session, ui->frame, ui->at.op);
    const char *tensor = ui->at.tensor < 0 ? "" : tensor_name(ui_graph(ui), ui->at.tensor);
    const struct {
        Str word, value;
    } words[] = {
        {STR("%op"), op}, {STR("%tensor"), str_from(tensor)}, {STR("%file"), str_from(file)}};
    Buf out = buf_new(ui->frame);

    while (typed.n > 0) {
        size_t n = typed.s[0] == '%' && typed.n > 1 && typed.s[1] == '%' ? 2 : 1;
        size_t w = 0;
        while (w < 3 && !str_starts(typed, words[w].word))
            w++;
        if (w < 3) {
            n = words[w].word.n;
            buf_put_quoted(&out, words[w].value);
        } else {
            buf_putc(&out, typed.s[0]);
        }
        typed = (Str){typed.s + n, typed.n - n};
    }
    return out.s;
}

static bool shell(App *app, Str args, Error *err)
{
    static const char script[] =
        "eval \"$1\"; s=$?; printf '\\n-- exit status %d; Enter goes back ' $s; read -r _; exit 0";

    if (args.n == 0) {
        app->ui.asked.prompt = "shell ";
        return true;
    }
    const char *command = shell_command(&app->ui, args);
    if (!app->term)
        return error_set(err, "no terminal to run the command in: %s", command);
    const char *const argv[] = {"sh", "-c", script, "sh", command, NULL};
    return term_run(app->term, argv, err);
}

static bool write_screen(App *app, Str args, Error *err)
{
    Buf text = buf_new(app->ui.frame);
    const char *path = arena_str(app->ui.frame, args);

    if (args.n == 0)
        return error_set(err, "write the screen to which file? :screen FILE");
    grid_format(app->grid, &text);
    if (!file_write(path, buf_str(&text), err))
        return false;
    ui_say(&app->ui, "wrote %s", path);
    return true;
}

/* ---- the program ---- */

static void next_pane(App *app, int by)
{
    const PaneLayout *layout = &app->layout;
    Ui *ui = &app->ui;

    if (layout->n_panes < 2) {
        int n = SHOW_TABS, at = ui->at.show < SHOW_TABS ? (int)ui->at.show : 0;
        ui_show(ui, (ShowId)((at + by + n) % n));
        return;
    }
    for (int i = 0; i < layout->n_panes; i++) {
        if (layout->pane[i].show != ui->at.show)
            continue;
        app->shown = layout->pane[(i + by + layout->n_panes) % layout->n_panes].show;
        ui->at.show = app->shown;
        return;
    }
}

static void close_view(App *app)
{
    Ui *ui = &app->ui;

    if (ui->look.zoomed)
        ui->look.zoomed = false;
    else if (ui->at.show == SHOW_GRAPH)
        leave(app);
    else if (!places_back(ui))
        ui->at.show = SHOW_GRAPH;
}

static void cancel(App *app)
{
    if (job_in_foreground(&app->ui))
        job_stop(&app->ui);
    else if (app->ui.look.zoomed || app->ui.at.show != SHOW_GRAPH)
        close_view(app);
    else
        ui_say(&app->ui, "q quits, ? helps");
}

static void show(Ui *ui, ShowId show_id)
{
    ShowId from = ui->at.show;

    ui_show(ui, show_id);
    const View *view = ui->views[show_id];
    if (view->enter)
        view->enter(ui, from);
    else if (view->enter_act != ACT_NONE)
        view->act(ui, view->enter_act);
}

/* The newest error first; the list's next one while it is shown. */
static void next_error(Ui *ui, int by)
{
    if (ui->at.show != SHOW_ERRORS)
        show(ui, SHOW_ERRORS);
    else
        view_errors.act(ui, by > 0 ? ACT_DOWN : ACT_UP);
}

/* Another policy takes the place of the one before; what was changed here stays. */
static void load_policy(App *app, Str name)
{
    Change change = {.kind = CHANGE_POLICY, .text = arena_str(app->ui.frame, name)};

    show(&app->ui, SHOW_POLICY);
    job_change(&app->ui, &change, policy_ran, NULL);
}

/* Actions with an argument typed after their name. True when it was one of them. */
static bool command_with_text(App *app, ActId act, Str args, bool *ok, Error *err)
{
    Ui *ui = &app->ui;
    int dim = -2;

    if (act == ACT_WHY)
        *ok = go_tensor(ui, args, &dim, err) && (show_why(ui, WHY_TENSOR, dim, 0), true);
    else if (act == ACT_SHOW_TENSOR)
        *ok = go_tensor(ui, args, &dim, err) && (show(ui, SHOW_TENSOR), true);
    else if (act == ACT_SHOW_OP)
        *ok = go_op(ui, args, err);
    else if (act == ACT_SHOW_POLICY)
        load_policy(app, args);
    else if (act == ACT_SEARCH)
        go_search(ui, args);
    else if (act == ACT_SHOW_DIFF || act == ACT_COMPARE)
        *ok = compare_open(ui, args, err);
    else if (act == ACT_SET)
        *ok = settings_set(ui, args, err);
    else if (act == ACT_HELP)
        *ok = help_show(ui, args, err);
    else if (act == ACT_PIN)
        *ok = pins_set(ui, args, err);
    else if (act == ACT_FOLD_DEPTH)
        view_graph.act(ui, act);
    else if (act == ACT_WHY_NOT && mesh_find_axis(ui->session->mesh, args) >= 0)
        why_not_chosen(ui, mesh_find_axis(ui->session->mesh, args));
    else if (act == ACT_WHY_NOT)
        *ok = error_set(err, "no axis '%.*s' in the mesh", STR_ARG(args));
    else
        return false;
    return true;
}

static void type_lua(App *app, Str line)
{
    ui_show(&app->ui, SHOW_CONSOLE);
    if (line.n > 0)
        console_type(&app->ui, line);
    else
        prompt_open(&app->prompt, '>');
}

/* Actions about which rows are listed, and marks. True when it was one of them. */
static bool act_on_list(Ui *ui, ActId act, Str args, bool *ok, Error *err)
{
    char letter = args.n == 1 ? args.s[0] : 0;

    if (act == ACT_FILTER && args.n > 0)
        *ok = listing_filter(ui, args, err);
    else if (act == ACT_FILTER_DROP)
        listing_drop(ui);
    else if (act == ACT_TAG)
        listing_tag_row(ui);
    else if (act == ACT_TAG_ALL)
        listing_tag_all(ui);
    else if (act == ACT_JUMPS)
        places_menu(ui);
    else if (act == ACT_SET_MARK && letter)
        *ok = places_set(ui, letter, err);
    else if (act == ACT_GO_MARK && letter)
        *ok = places_go(ui, letter, err);
    else if (act == ACT_SET_MARK || act == ACT_GO_MARK)
        ui->asked.letter = act;
    else if (act == ACT_SORT && args.n > 0)
        *ok = graph_sort(ui, args, err);
    else if (act == ACT_SORT && !ui->views[ui->at.show]->act(ui, act)) /* a view may have its own */
        graph_sort_menu(ui);
    else if (act == ACT_COLUMNS && args.n > 0)
        *ok = graph_columns_toggle(ui, args, err);
    else if (act == ACT_COLUMNS && ui->views[ui->at.show]->act(ui, act))
        return true;
    else if (act == ACT_COLUMNS)
        graph_columns_menu(ui);
    else
        return act == ACT_SORT;
    return true;
}

/* Actions that change or write something. True when it was one of them. */
static bool act_on_plan(App *app, ActId act, Str args, bool *ok, Error *err)
{
    Ui *ui = &app->ui;

    if (act == ACT_UNPIN)
        *ok = pins_drop(ui, err);
    else if (act == ACT_ASSIGN)
        *ok = pins_assign(ui, args, err);
    else if (act == ACT_DECIDE)
        *ok = pins_decide(ui, args, err);
    else if (act == ACT_UNDECIDE)
        *ok = pins_undecide(ui, err);
    else if (act == ACT_UNDO)
        *ok = reload_configuration(app, -1) || setting_change_undo(ui) ||
              (!mesh_change_can(ui, -1) && reload_train_step(app, -1)) || pins_undo(ui, err);
    else if (act == ACT_REDO)
        *ok = reload_configuration(app, 1) || setting_change_redo(ui) ||
              (!mesh_change_can(ui, 1) && reload_train_step(app, 1)) || pins_redo(ui, err);
    else if (act == ACT_WHAT_IF && ui->views[ui->at.show]->act(ui, act))
        return true; /* what the view shows has options of its own */
    else if (act == ACT_PIN || act == ACT_WHAT_IF)
        pins_menu(ui, act == ACT_WHAT_IF);
    else if (act == ACT_RELOAD)
        reload_all(app);
    else if (act == ACT_POLICY)
        app_rerun_policy(app);
    else if (act == ACT_MESH)
        *ok = mesh_change(ui, args, err);
    else if (act == ACT_TRAIN)
        *ok = reload_train(app, args, err);
    else if (act == ACT_FREEZE)
        *ok = reload_freeze(app, args, err);
    else if (act == ACT_RANK)
        *ok = set_rank(ui, args, err);
    else if (act == ACT_WRITE)
        *ok = pins_write(ui, args, err);
    else if (act == ACT_SAVE)
        *ok = save_plan(ui, args, err);
    else if (act == ACT_EDIT)
        *ok = edit(app, err);
    else if (act == ACT_LUA)
        type_lua(app, args);
    else if (act == ACT_RUN)
        *ok = run_begin(ui, args, err);
    else if (act == ACT_PLAN_SEARCH)
        *ok = plan_search_begin(ui, args, err);
    else if (act == ACT_ACTUAL)
        *ok = run_read_actual(ui, args, err);
    else if (act == ACT_TRACE)
        *ok = run_write_trace(ui, args, err);
    else if (act == ACT_EXPORT && args.n > 0)
        *ok = export_view(app, args, err);
    else if (act == ACT_EXPORT)
        export_menu(app);
    else if (act == ACT_SHELL)
        *ok = shell(app, args, err);
    else if (act == ACT_COPY)
        copy_field(ui);
    else if (act == ACT_COPY_AS)
        *ok = copy_as(ui, args, err);
    else if (act == ACT_SCREEN)
        *ok = write_screen(app, args, err);
    else
        return false;
    return true;
}

/* Actions that move between places. True when it was one of them. */
static bool act_on_place(App *app, ActId act)
{
    Ui *ui = &app->ui;

    if (act >= ACT_SHOW_GRAPH && act <= ACT_SHOW_RUN)
        show(ui, (ShowId)(SHOW_GRAPH + (act - ACT_SHOW_GRAPH)));
    else if (act == ACT_COMPARE)
        compare_menu(ui);
    else if (act == ACT_FINDINGS)
        show(ui, SHOW_FINDINGS);
    else if (act == ACT_EVENTS)
        show(ui, SHOW_EVENTS);
    else if (act == ACT_KEPT)
        show(ui, SHOW_SAVED);
    else if (act == ACT_LINKS)
        show(ui, SHOW_LINKS);
    else if (act == ACT_JOURNAL)
        show(ui, SHOW_JOURNAL);
    else if (act == ACT_SCHEDULE)
        show(ui, SHOW_SCHEDULE);
    else if (act == ACT_NEAR)
        show(ui, SHOW_NEAR);
    else if (act == ACT_ERRORS)
        show(ui, SHOW_ERRORS);
    else if (act == ACT_NEXT_ERROR || act == ACT_PREVIOUS_ERROR)
        next_error(ui, act == ACT_NEXT_ERROR ? 1 : -1);
    else if (act == ACT_NEXT_CHANGE || act == ACT_PREVIOUS_CHANGE)
        go_next_change(ui, act == ACT_NEXT_CHANGE ? 1 : -1);
    else if (act == ACT_HELP)
        show(ui, SHOW_HELP);
    else if (act == ACT_WHY)
        why(ui);
    else if (act == ACT_WHY_NOT)
        why_not_menu(ui);
    else if (act == ACT_CONSUMER)
        go_consumer(ui);
    else if (act == ACT_PRODUCER)
        go_producer(ui);
    else if (act == ACT_RESHARD)
        go_reshard(ui);
    else if (act == ACT_GRADIENT)
        go_gradient(ui);
    else if (act == ACT_OTHER_END)
        go_other_end(ui);
    else if (act == ACT_NEXT_TENSOR || act == ACT_PREVIOUS_TENSOR)
        go_next_tensor(ui, act == ACT_NEXT_TENSOR ? 1 : -1);
    else if (act == ACT_PICK_TENSOR)
        go_pick_tensor(ui);
    else if (act == ACT_DIM_NEXT || act == ACT_DIM_PREVIOUS)
        go_next_dim(ui, act == ACT_DIM_NEXT ? 1 : -1);
    else if (act == ACT_SEARCH_NEXT || act == ACT_SEARCH_PREVIOUS)
        go_search_again(ui, act == ACT_SEARCH_NEXT ? 1 : -1);
    else if (act == ACT_BACK && !places_back(ui))
        ui_say(ui, "this is where you began");
    else if (act == ACT_FORWARD && !places_forward(ui))
        ui_say(ui, "there is no later place to go forward to");
    else
        return act == ACT_BACK || act == ACT_FORWARD;
    return true;
}

static void act_on_program(App *app, ActId act)
{
    Ui *ui = &app->ui;

    if (act == ACT_FILTER) {
        prompt_open(&app->prompt, 'f');
    } else if (act == ACT_PALETTE) {
        palette_open(&app->palette);
    } else if (act == ACT_COMMAND || act == ACT_SEARCH) {
        app->searched_from = ui->at;
        arena_free(app->search_arena);
        app->search_arena = arena_new();
        app->open_change = app->ui.changes.n;
        app->open_then = outline_marks(ui->outline, app->search_arena);
        prompt_open(&app->prompt, act == ACT_SEARCH ? '/' : ':');
    } else if (act == ACT_NEXT_PANE || act == ACT_PREVIOUS_PANE) {
        next_pane(app, act == ACT_NEXT_PANE ? 1 : -1);
    } else if (act == ACT_TOUR && app->tour.on) {
        app_type(app, tour_rest(&app->tour));
    } else if (act == ACT_TOUR) {
        ui_say(ui, "the tour needs its sample model: dimscope tour");
    } else if (act == ACT_ZOOM) {
        ui->look.zoomed = !ui->look.zoomed;
    } else if (act == ACT_OPTIONS || act == ACT_SET) {
        settings_menu(ui);
    } else if (act == ACT_NUMBERS) {
        ui->look.settings.numbers = !ui->look.settings.numbers;
    } else if (act == ACT_GLYPHS) {
        ui->look.ascii = !ui->look.ascii;
    } else if (act == ACT_REDRAW && app->term) {
        term_redraw(app->term);
    } else if (act == ACT_SUSPEND && app->term) {
        term_suspend(app->term);
    } else if (act == ACT_CANCEL) {
        cancel(app);
    } else if (act == ACT_CLOSE) {
        close_view(app);
    } else if (act == ACT_QUIT) {
        leave(app);
    } else {
        ui_say(ui, "':%s' does nothing here", action_by_id(act)->name);
    }
}

static void perform(App *app, const Action *action, Str args, Key key)
{
    Ui *ui = &app->ui;
    ActId act = (ActId)action->id;
    Error err = {0};
    bool ok = true;

    ui->key = key;
    if (act >= ACT_SHOW_GRAPH && act <= ACT_SHOW_RUN) /* its own workspace, not the one it is in */
        app->shown = SHOW_COUNT;
    if (args.n > 0 && command_with_text(app, act, args, &ok, &err)) {
        if (!ok)
            ui_error(ui, &err);
        return;
    }
    if (act_on_list(ui, act, args, &ok, &err) || act_on_plan(app, act, args, &ok, &err)) {
        if (!ok)
            ui_error(ui, &err);
        return;
    }
    if (ui->views[ui->at.show]->act(ui, act) || act_on_place(app, act))
        return;
    bool folds = act >= ACT_FOLD && act <= ACT_FOLD_DEPTH && ui->at.show < SHOW_TABS;
    if (folds || act == ACT_NEXT_RESHARD || act == ACT_PREVIOUS_RESHARD)
        view_graph.act(ui, act);
    else
        act_on_program(app, act);
}

/* Does the command that a view asked for, before its text goes with the frame. */
void app_run_asked(App *app)
{
    const char *next = app->ui.asked.command;
    app->ui.asked.command = NULL;
    app->quit = app->quit || app->ui.asked.quit;
    if (next)
        app_command(app, str_from(next));
}

void app_act(App *app, const Action *action, Key last)
{
    perform(app, action, (Str){"", 0}, last);
}

/* A command of another layer: its table is one of the options'. */
static void run_command(App *app, const Action *action, Str args)
{
    Error err = {0};

    for (int i = 0; i < app->options.n_commands; i++) {
        const AppCommands *commands = &app->options.commands[i];
        for (const Action *row = commands->actions; row->name; row++) {
            if (row != action)
                continue;
            if (!commands->run(commands->context, &app->ui, action->id, args, &err))
                ui_error(&app->ui, &err);
            return;
        }
    }
}

static bool is_ours(const Action *action)
{
    for (const Action *row = explorer_actions; row->name; row++)
        if (row == action)
            return true;
    return false;
}

void app_command(App *app, Str line)
{
    Str text = str_trim(line);
    Error err = {0};
    int64_t row;

    if (text.n == 0)
        return;
    if (str_to_int(text, &row)) {
        places_remember(&app->ui);
        app->ui.at.show = SHOW_GRAPH;
        ui_select_row(&app->ui, row > 0 ? row - 1 : 0);
        return;
    }
    Str args = text, name = str_take(&args, ' ');
    args = str_trim(args);
    const Action *action = action_by_name(name, app->tables, app->n_tables, &err);
    if (!action)
        ui_error(&app->ui, &err);
    else if (is_ours(action) && action->id == ACT_GOTO)
        app_command(app, args);
    else if (is_ours(action))
        perform(app, action, args, args.n ? args.s[0] : '1');
    else
        run_command(app, action, args);
}
