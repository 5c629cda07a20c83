#include "tui/views/page.h"

#include "tui/help/glossary.h"
#include "tui/help/lua_help.h"
#include "tui/screen/folded.h"

#include "tui/views/about.h"

#include <stdio.h>

const char help_marks[] =
    "marks on the screen\n"
    "  8/dp,4096/tp  a shape; after a dim the mesh axes that shard it, major first\n"
    "  Σtp (+tp)  partial: each rank along tp holds a partial sum\n"
    "  (3)(768/tp)  a dim in digits: three blocks, each sharded by tp\n"
    "  ×12  the row stands for 12 equal ones   A=  a replica of slice A   ~  uneven\n"
    "  ↻8  a loop: what is in it runs 8 times, costs count each run; ↻? unknown\n"
    "  NonZero.1,64  a size that is not known, by its name: --dim gives one\n"
    "  AR all-reduce  AG all-gather  RS reduce-scatter  A2A all-to-all  SL slice\n"
    "  ● op  ■ op whose output is kept for the backward pass\n"
    "  ◆ op on parameters alone  ◇ input  ▸ ▾ closed, open group\n"
    "  + tagged  ~ changed by the last change  ≠ sharded unlike most layers of its kind\n"
    "  lines on the rail: values alive between rows   ! error, warning   i note\n"
    "  NOTATIONS  as other systems write it, ~ in part: dimscope help operators\n";

const char help_names[] =
    "A tensor has the name that the model gives it, and a name by the module that reads\n"
    "or makes it:\n"
    "\n"
    "h.0.mlp.c_fc.weight   the first parameter of two dims or more that an op of the\n"
    "                      module reads, also where the exporter transposed or renamed\n"
    "                      it; if there is none, the first parameter of any rank\n"
    "h.0.mlp.c_fc.bias     the first parameter of one dim that is not the weight\n"
    "h.0.mlp.c_fc.in       the activation that the first op of the module reads\n"
    "h.0.mlp.c_fc.out      the first output of the last op of the module\n"
    "h.0.mlp.out           the same of all ops below h.0.mlp\n"
    "h.0.mlp.out.2         dim 2 of it, counted from 0, where a command asks for a dim\n"
    "\n"
    "A pattern matches a whole name of either kind:\n"
    "\n"
    "*                     any run of characters, dots too; h.*.out matches h.0.mlp.out\n"
    "?                     one character: h.?.mlp.out is layers 0 to 9\n"
    "{a,b}                 one of them: *.{q,k,v}_proj.weight\n"
    "\n"
    "graph:shard(\"*layernorm.out\", {[1] = \"tp\"}) pins an activation: its value is sharded\n"
    "so though a weight is pinned over the same axis. Ops beside it follow one of the two\n"
    "pins, and a finding names the pin that wins, the one that loses, and the collective.\n"
    "Policies take patterns in graph:shard, unpin, replicated, unreduced, tie and\n"
    "barrier; graph:pin, why and why-not take one name. A pattern that matches nothing\n"
    "is a warning with the nearest name. 'info MODEL --values' lists the model's names.\n";

typedef struct {
    char about[80]; /* "lua.graph.shard", "names", "dimop"; "": the explorer */
} HelpState;

static HelpState *help_state(const Ui *ui)
{
    return ui->own[SHOW_HELP];
}

static void add_row(const Ui *ui, const Action *row, const char *help, Buf *out)
{
    size_t start = out->n;

    buf_printf(out, "  %s", keymap_keys(ui->look.keymap, ui->frame, row).s);
    while (out->n < start + 16)
        buf_putc(out, ' ');
    buf_puts(out, " :");
    size_t name = out->n;
    buf_puts(out, row->name);
    buf_mark(out, name, SPAN_NAME, 0);
    buf_printf(out, "%s%s", *row->args ? " " : "", row->args);
    while (out->n < start + 36)
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

/* The view that was left for this page; SHOW_HELP: none. */
static ShowId view_left(const Ui *ui)
{
    int i = ui->history.at - 1;

    while (i >= 0 && ui->history.jump[i].show == SHOW_HELP)
        i--;
    return i < 0 ? SHOW_HELP : ui->history.jump[i].show;
}

/* What that view offers in its bottom line. */
static void add_here(const Ui *ui, Buf *out)
{
    ShowId from = view_left(ui);

    if (from == SHOW_HELP)
        return;
    buf_printf(out, "in %s\n", ui->views[from]->name);
    for (Str rest = str_from(view_about[from]); rest.n > 0;) {
        Str line = str_take(&rest, '\n');
        buf_printf(out, "  %.*s\n", STR_ARG(line));
    }
    for (const Hint *hint = ui->views[from]->hints; hint->act != ACT_NONE; hint++)
        add_row(ui, action_by_id(hint->act), hint->label, out);
}

/* ---- beside the keys, where two columns of them do not fit ---- */

enum { ASIDE_W = 48, ASIDE_FROM = 112 };

static bool has_aside(const Ui *ui, int columns)
{
    return !help_state(ui)->about[0] && columns >= ASIDE_FROM && columns < 2 * PAGE_COLUMN_W;
}

/* Lines as one paragraph. */
static Str joined(Arena *arena, Str text)
{
    Buf out = buf_new(arena);

    buf_add(&out, text);
    for (size_t i = 0; i < out.n; i++)
        if (out.s[i] == '\n')
            out.s[i] = ' ';
    return buf_str(&out);
}

static void draw_view_left(const Ui *ui, ShowId from, Pen *pen)
{
    enum { KEYS_W = 12 };

    pen_printf(pen, ROLE_HEAD, " in %s", ui->views[from]->name);
    pen_line(pen);
    pen_put_folded(pen, ROLE_TEXT, joined(ui->frame, str_from(view_about[from])), 2);
    pen_line(pen);
    for (const Hint *hint = ui->views[from]->hints; hint->act != ACT_NONE; hint++) {
        const Action *row = action_by_id(hint->act);
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_put(pen, ROLE_HEAD, keymap_keys(ui->look.keymap, ui->frame, row));
        pen_tab(pen, 2 + KEYS_W);
        pen_puts(pen, ROLE_TEXT, " ");
        pen_puts(pen, ROLE_TEXT, hint->label);
        pen_line(pen);
    }
}

static void draw_marks(Pen *pen)
{
    Str rest = str_from(help_marks);

    pen_puts(pen, ROLE_HEAD, " ");
    pen_put(pen, ROLE_HEAD, str_take(&rest, '\n'));
    pen_line(pen);
    while (rest.n > 0 && !pen_full(pen)) {
        Str line = str_trim(str_take(&rest, '\n')), mark = line;
        int64_t n = str_find(line, STR("  "));
        mark.n = n < 0 ? 0 : (size_t)n;
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_put(pen, ROLE_HEAD, mark);
        pen_put_folded(pen, ROLE_TEXT, (Str){line.s + mark.n, line.n - mark.n}, 4);
        pen_line(pen);
    }
}

static void draw_aside(const Ui *ui, Pen *pen)
{
    ShowId from = view_left(ui);

    if (from != SHOW_HELP)
        draw_view_left(ui, from, pen);
    draw_marks(pen);
}

/* ---- the text ---- */

static const char names_topic[] = "names", glossary_topic[] = "glossary";

static bool refuse(Arena *arena, Str name, Error *err)
{
    Buf near = buf_new(arena);

    glossary_near(name, &near);
    error_set(err, "there is no help on '%.*s'", STR_ARG(name));
    return error_hint(err, "%s",
                      near.n > 0 ? near.s : ":help glossary and :help lua list what there is");
}

/* Names of tensors, the glossary, one of its words, or what scripts can call. */
static bool write_about(const Ui *ui, Str name, Buf *out, Error *err)
{
    const SessionHooks *hooks = &ui->session->hooks;
    const GlossaryTerm *term = glossary_find(name);

    if (str_eq(name, str_from(names_topic)))
        buf_puts(out, help_names);
    else if (str_eq(name, str_from(glossary_topic)))
        glossary_index(out);
    else if (term)
        glossary_write(term, out);
    else if (hooks->rows && lua_help_is_meant(name))
        return lua_help(hooks->rows(hooks->context, ui->frame), name, out, err);
    else
        return refuse(out->arena, name, err);
    return true;
}

static Text help_text(const Ui *ui, bool aside)
{
    Buf text = buf_marked(ui->frame);

    if (help_state(ui)->about[0]) {
        write_about(ui, str_from(help_state(ui)->about), &text, NULL);
        return buf_text(&text);
    }
    buf_puts(&text,
             "every action has a key, a name for the : line, or both; Enter on a row does it\n");
    if (!aside)
        add_here(ui, &text);
    add_rows(ui, explorer_actions, &text);
    for (int i = 0; i < ui->commands.n; i++)
        add_rows(ui, ui->commands.tables[i], &text);
    buf_puts(&text, help_marks);
    buf_puts(&text,
             "other pages\n"
             "  :help names  names and patterns of tensors: .weight .bias .in .out\n"
             "  :help lua    what scripts can call; lua.NAME explains one name\n"
             "  :help WORD   a word of another system, such as dimop, Shard, factor, ipf, 1F1B\n"
             "  :help glossary  all of these words\n");
    return buf_text(&text);
}

static void draw(Ui *ui, Pen *pen)
{
    bool aside = has_aside(ui, pen->area.w);
    Rect page = pen->area, beside = pen->area;

    if (aside) {
        page.w -= ASIDE_W;
        beside.x += page.w;
        beside.w = ASIDE_W;
        Pen other = pen_new(pen->grid, beside);
        draw_aside(ui, &other);
    }
    Pen own = pen_new(pen->grid, page);
    page_draw(ui, SHOW_HELP, help_text(ui, aside), &own);
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

bool help_show(Ui *ui, Str name, Error *err)
{
    HelpState *state = help_state(ui);
    Buf text = buf_new(ui->frame);

    if (name.n >= sizeof state->about)
        return refuse(ui->frame, name, err);
    if (!write_about(ui, name, &text, err))
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
