#include "tui/views/page.h"

#include "tui/state/lua_help.h"

#include "tui/views/about.h"
#include "tui/views/label.h"

#include <stdio.h>

const char help_marks[] =
    "marks on the screen\n"
    "  8/dp,4096/tp  a shape; after a dim the mesh axes that shard it, major first\n"
    "  Σtp (+tp)  partial: each rank along tp holds a partial sum\n"
    "  (3)(768/tp)  a dim in digits: three blocks, each sharded by tp\n"
    "  ×12  the row stands for 12 alike   A=  a replica of slice A   ~  uneven\n"
    "  ↻8  a loop: what is in it runs 8 times, costs count that; ↻? not known\n"
    "  NonZero.1,64  a size that is not known, by its name: --dim gives one\n"
    "  AR all-reduce  AG all-gather  RS reduce-scatter  A2A all-to-all  SL slice\n"
    "  ● op  ◆ op on parameters alone  ◇ input  ▸ ▾ closed, open group\n"
    "  + tagged  ~ changed by the last change  ≠ sharded unlike most layers of its kind\n"
    "  lines on the rail: values alive between rows   ! error, warning   i note\n"
    "  NOTATIONS  as other systems write it, ~ in part: dimscope help operators\n";

typedef struct {
    char about[80]; /* "lua.graph.shard"; "": the explorer */
} HelpState;

static HelpState *help_state(const Ui *ui)
{
    return ui->own[SHOW_HELP];
}

static void add_row(const Ui *ui, const Action *row, const char *help, Buf *out)
{
    size_t start = out->n;

    buf_printf(out, "  %s", keymap_keys(ui->look.keymap, ui->frame, row).s);
    while (out->n < start + 18)
        buf_putc(out, ' ');
    buf_puts(out, " :");
    size_t name = out->n;
    buf_puts(out, row->name);
    buf_mark(out, name, SPAN_NAME, 0);
    buf_printf(out, "%s%s", *row->args ? " " : "", row->args);
    while (out->n < start + 40)
        buf_putc(out, ' ');
    buf_printf(out, " %s\n", help);
}

static void add_rows(const Ui *ui, const Action *rows, Buf *out)
{
    const char *group = "";

    for (const Action *row = rows; row->name; row++) {
        if (strcmp(row->group, group) != 0)
            buf_printf(out, "%s\n", row->group);
        group = row->group;
        add_row(ui, row, row->help, out);
    }
}

/* What the view that was left for this page offers in its bottom line. */
static void add_here(const Ui *ui, Buf *out)
{
    int i = ui->history.at - 1;

    while (i >= 0 && ui->history.jump[i].show == SHOW_HELP)
        i--;
    if (i < 0)
        return;
    ShowId from = ui->history.jump[i].show;
    buf_printf(out, "in %s\n", ui->views[from]->name);
    for (Str rest = str_from(view_about[from]); rest.n > 0;) {
        Str line = str_take(&rest, '\n');
        buf_printf(out, "  %.*s\n", STR_ARG(line));
    }
    for (const Hint *hint = ui->views[from]->hints; hint->act != ACT_NONE; hint++)
        add_row(ui, action_by_id(hint->act), hint->label, out);
}

static Text help_text(const Ui *ui)
{
    const SessionHooks *hooks = &ui->session->hooks;
    Buf text = buf_marked(ui->frame);

    if (help_state(ui)->about[0]) {
        lua_help(hooks->rows(hooks->context, ui->frame), str_from(help_state(ui)->about), &text,
                 NULL);
        return buf_text(&text);
    }
    buf_puts(&text,
             "every action has a key, a name for the : line, or both; Enter on a row does it\n");
    add_here(ui, &text);
    add_rows(ui, explorer_actions, &text);
    for (int i = 0; i < ui->commands.n; i++)
        add_rows(ui, ui->commands.tables[i], &text);
    buf_puts(&text, help_marks);
    return buf_text(&text);
}

static void draw(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_HELP, help_text(ui), pen);
}

static bool act(Ui *ui, ActId act)
{
    if (page_act(ui, SHOW_HELP, act))
        return true;
    if (act != ACT_OPEN || help_state(ui)->about[0])
        return false;
    Text line = page_line(ui->list[SHOW_HELP].text, ui->list[SHOW_HELP].at);
    const TextSpan *name = text_find(line, SPAN_NAME);
    if (!name)
        return false;
    places_back(ui);
    ui->asked.command = arena_str(ui->frame, text_span(line, name));
    return true;
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},   {ACT_PAGE_DOWN, "page"}, {ACT_OPEN, "do it"},
    {ACT_SEARCH, "find"}, {ACT_CLOSE, "close"},    {0},
};

static void enter(Ui *ui, ShowId from)
{
    (void)from;
    help_state(ui)->about[0] = '\0';
}

bool help_show_lua(Ui *ui, Str name, Error *err)
{
    const SessionHooks *hooks = &ui->session->hooks;
    HelpState *state = help_state(ui);
    Buf text = buf_new(ui->frame);

    if (!hooks->rows || !lua_help_is_meant(name) || name.n >= sizeof state->about)
        return error_set(err, "help is on lua and lua.NAME; without a name on the explorer");
    if (!lua_help(hooks->rows(hooks->context, ui->frame), name, &text, err))
        return false;
    ui_show(ui, SHOW_HELP);
    snprintf(state->about, sizeof state->about, "%.*s", STR_ARG(name));
    ui->list[SHOW_HELP].at = ui->list[SHOW_HELP].top = 0;
    return true;
}

const View view_help = {
    .name = "Help",
    .draw = draw,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
    .enter = enter,
    .own_size = sizeof(HelpState),
};
