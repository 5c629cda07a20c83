#include "tui/state/listing.h"

#include "tui/state/ui.h"

static void forget(Ui *ui)
{
    filter_free(ui->listing.filter);
    arena_free(ui->listing.arena);
    ui->listing.filter = NULL;
    ui->listing.arena = NULL;
    ui->listing.pass = NULL;
}

/* How many ops pass before each place, and the inputs that do. */
static int take(Ui *ui, Filter *filter)
{
    const Groups *groups = ui->session->groups;
    const Graph *graph = ui_graph(ui);
    Arena *arena = arena_new();
    int32_t *pass = arena_array(arena, int32_t, groups->n_order + 1);
    int32_t *inputs = arena_array(arena, int32_t, graph->n_inputs);
    int n_inputs = 0;

    for (int i = 0; i < graph->n_inputs; i++)
        if (filter_input(filter, graph->inputs[i]))
            inputs[n_inputs++] = graph->inputs[i];
    for (int32_t i = 0; i < groups->n_order; i++)
        pass[i + 1] = pass[i] + filter_op(filter, groups->order[i]);
    int n = pass[groups->n_order] + n_inputs;
    if (n == 0) {
        filter_free(filter);
        arena_free(arena);
        return 0;
    }
    forget(ui);
    ui->listing.filter = filter;
    ui->listing.arena = arena;
    ui->listing.pass = pass;
    outline_filter(ui->outline, pass, inputs, n_inputs);
    return n;
}

static void rows_changed(Ui *ui)
{
    ui_keep_row(ui);
}

/* From a group row to the first op below it: what was asked for. */
static void to_first_op(Ui *ui)
{
    int64_t n = outline_n_rows(ui->outline), at = ui->row_at;

    while (ui->at.row.kind == ROW_GROUP && at + 1 < n)
        ui_select_row(ui, ++at);
}

bool listing_filter(Ui *ui, Str text, Error *err)
{
    Filter *filter = filter_new(&ui->listing.source, str_trim(text), err);

    if (!filter)
        return false;
    if (take(ui, filter) == 0)
        return error_set(err, "filter: no op matches '%.*s'", STR_ARG(text));
    rows_changed(ui);
    to_first_op(ui);
    return true;
}

void listing_drop(Ui *ui)
{
    if (!ui->listing.filter)
        return;
    outline_filter(ui->outline, NULL, NULL, 0);
    forget(ui);
    if (ui->at.row.op >= 0)
        outline_reveal(ui->outline, ui->at.row.op);
    rows_changed(ui);
    ui->list[SHOW_GRAPH].top = ui->row_at - ui->list[SHOW_GRAPH].height / 2;
}

void listing_detach(Ui *ui)
{
    const char *text =
        ui->listing.filter ? arena_str(ui->frame, str_from(filter_text(ui->listing.filter))) : NULL;

    forget(ui);
    ui->listing.again = text;
}

void listing_renew(Ui *ui)
{
    Error err = {0};

    ui->listing.source =
        (FilterSource){ui->session, ui->comm, ui->listing.tagged, &ui->changes.ops};
    if (!ui->listing.again)
        return;
    Filter *filter = filter_new(&ui->listing.source, str_from(ui->listing.again), &err);
    if (!filter || take(ui, filter) == 0) {
        outline_filter(ui->outline, NULL, NULL, 0);
        ui_say(ui, "the filter '%s' matches nothing any more and was dropped", ui->listing.again);
    }
    ui->listing.again = NULL;
}

/* ---- tags ---- */

static bool all_tagged(const Ui *ui, int32_t first, int32_t n)
{
    const int32_t *order = ui->session->groups->order;

    for (int32_t i = first; i < first + n; i++)
        if (!ui->listing.tagged[order[i]] &&
            (!ui->listing.pass || ui->listing.pass[i + 1] > ui->listing.pass[i]))
            return false;
    return true;
}

static void set_tags(Ui *ui, int32_t first, int32_t n, bool tagged)
{
    const int32_t *order = ui->session->groups->order;

    for (int32_t i = first; i < first + n; i++) {
        if (ui->listing.pass && ui->listing.pass[i + 1] == ui->listing.pass[i])
            continue;
        ui->listing.n_tagged += tagged - ui->listing.tagged[order[i]];
        ui->listing.tagged[order[i]] = tagged;
    }
}

bool listing_row_tagged(const Ui *ui, const OutlineRow *row)
{
    enum { LOOK = 4096 };
    int32_t n = row->n < LOOK ? row->n : LOOK;
    return ui->listing.n_tagged > 0 && row_has_ops(row) && all_tagged(ui, row->first, n);
}

void listing_tag_row(Ui *ui)
{
    const OutlineRow row = ui->at.row;

    if (!row_has_ops(&row)) {
        ui_say(ui, "%s not an op: only ops are tagged",
               row.kind == ROW_INPUT ? "an input is" : "a parameter is");
        return;
    }
    set_tags(ui, row.first, row.n, !all_tagged(ui, row.first, row.n));
    ui_say(ui, "%d op%s tagged", ui->listing.n_tagged, ui->listing.n_tagged == 1 ? "" : "s");
    /* Past the inside of an open group, which was tagged with it. */
    int64_t at = ui->row_at + 1, n = outline_n_rows(ui->outline);
    OutlineRow below;
    while (at < n - 1 && row.open && outline_at(ui->outline, at, &below) && below.depth > row.depth)
        at++;
    ui_select_row(ui, at);
}

void listing_tag_all(Ui *ui)
{
    int32_t n = ui->session->groups->n_order;

    set_tags(ui, 0, n, !all_tagged(ui, 0, n));
    ui_say(ui,
           ui->listing.n_tagged > 0 ? "%d ops tagged; press T again to remove the tags"
                                    : "no op is tagged",
           ui->listing.n_tagged);
}

int listing_tagged(const Ui *ui, int32_t **ops)
{
    const Groups *groups = ui->session->groups;
    int n = 0;

    *ops = arena_array(ui->frame, int32_t, ui->listing.n_tagged);
    for (int32_t i = 0; i < groups->n_order && n < ui->listing.n_tagged; i++)
        if (ui->listing.tagged[groups->order[i]])
            (*ops)[n++] = groups->order[i];
    return n;
}
