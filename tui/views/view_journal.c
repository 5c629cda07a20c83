/* What was decided here, oldest first, a step of undo after the other; the policy's own lines are
 * counted above. */
#include "core/plan/origin.h"

#include "tui/views/page.h"

static int count_of_policy(const Journal *journal)
{
    int n = 0;

    for (int i = 0; i < journal->n_done; i++)
        n += journal->decisions.at[i].origin.kind == ORIGIN_POLICY;
    return n;
}

static void put_head(const Ui *ui, Buf *out)
{
    const Journal *journal = &ui->session->journal;
    int n_policy = count_of_policy(journal);

    buf_printf(out, "%d decision%s of the policy, then %d made here", n_policy,
               n_policy == 1 ? "" : "s", journal->n_done - n_policy);
    if (journal->decisions.n > journal->n_done)
        buf_printf(out, ", %d undone", journal->decisions.n - journal->n_done);
    buf_puts(out, "; :write saves them as a policy\n");
}

/* The first line of a step has its number; what is undone stands below the line of the present. */
static void draw(Ui *ui, Pen *pen)
{
    const Journal *journal = &ui->session->journal;
    Buf text = buf_marked(ui->frame);
    int step = 0, last = -1;

    put_head(ui, &text);
    for (int i = 0; i < journal->decisions.n; i++) {
        const Origin *origin = &journal->decisions.at[i].origin;
        if (i == journal->n_done)
            buf_puts(&text, "-- undo position: the decisions below are undone\n");
        if (origin->kind == ORIGIN_POLICY)
            continue;
        if (origin->line != last)
            buf_printf(&text, "%4d  ", ++step);
        else
            buf_puts(&text, "      ");
        last = origin->line;
        origin_put_lua(ui->session->mesh, str_from(origin->text), &text);
        buf_putc(&text, '\n');
    }
    if (journal->n_done == journal->decisions.n)
        buf_puts(&text, "-- u undoes the last step\n");
    page_draw(ui, SHOW_JOURNAL, buf_text(&text), pen);
}

static bool act(Ui *ui, ActId act)
{
    return page_act(ui, SHOW_JOURNAL, act);
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},
    {ACT_UNDO, "undo"},
    {ACT_REDO, "redo"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

const View view_journal = {
    .name = "Journal",
    .draw = draw,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
