#include "tui/views/search/search_compare.h"

#include "tui/state/jobs/whatif.h"
#include "tui/views/label.h"
#include "tui/views/search/search_chart.h"

#include <math.h>
#include <stdlib.h>

enum { NAME_W = 19, STEP_W = 10, PEAK_W = 12 };

/* "1.20 s for a GiB", if one of both is given for the other. */
static void put_price(const Ui *ui, double us, int64_t bytes, Pen *pen)
{
    bool large = llabs(bytes) >= 64LL << 20;
    double size = fabs((double)bytes) / (double)(large ? 1LL << 30 : 1LL << 20);

    if (us == 0 && bytes == 0)
        pen_puts(pen, ROLE_DIM, "the same");
    else if (us <= 0 && bytes <= 0)
        pen_puts(pen, ROLE_NOTE, us < 0 && bytes < 0 ? "saves both" : "better");
    else if (us >= 0 && bytes >= 0)
        pen_puts(pen, ROLE_TEXT, "worse");
    else
        pen_printf(pen, ROLE_TEXT, "%.*s %s a %s", STR_ARG(label_us(ui, fabs(us) / size)),
                   us > 0 ? "for" : "won for", large ? "GiB" : "MiB");
}

static void draw_against(const Ui *ui, const SearchResult *plan, const char *name, double us,
                         int64_t bytes, Pen *pen)
{
    pen_puts(pen, ROLE_TEXT, " ");
    pen_fit(pen, ROLE_TEXT, str_from(name), NAME_W);
    pen_right(pen, ROLE_TEXT, whatif_us(ui, us, plan->cost_us), STEP_W);
    pen_right(pen, ROLE_TEXT, whatif_bytes(ui, bytes, plan->peak_bytes), PEAK_W);
    pen_puts(pen, ROLE_TEXT, "  ");
    double more = plan->cost_us - us;
    put_price(ui, fabs(more) < 0.05 ? 0 : more, plan->peak_bytes - bytes, pen);
    pen_line(pen);
}

static void draw_bounds(const Ui *ui, const SearchResult *plan, int64_t limit_bytes, Pen *pen)
{
    pen_fit(pen, ROLE_TEXT, STR(" the bound"), NAME_W + 1);
    bool known = plan->bound_us > 0;
    pen_right(pen, ROLE_TEXT, known ? whatif_us(ui, plan->bound_us, plan->cost_us) : STR("none"),
              STEP_W);
    pen_fit(pen, ROLE_TEXT, STR(""), PEAK_W);
    pen_puts(pen, ROLE_DIM,
             plan->proven ? "  no plan takes less"
             : known      ? "  at most so much to gain"
                          : "");
    pen_line(pen);
    pen_fit(pen, ROLE_TEXT, STR(" the limit"), NAME_W + 1 + STEP_W);
    pen_right(pen, ROLE_TEXT, whatif_bytes(ui, limit_bytes, plan->peak_bytes), PEAK_W);
    pen_puts(pen, ROLE_DIM, plan->peak_bytes <= limit_bytes ? "  stays free" : "  does not fit");
    pen_line(pen);
}

void search_compare_draw(const Ui *ui, const PlanSearch *search, int at, int h, Pen *pen)
{
    const SearchResult *plan = &search->point[at], *fastest = search->point;
    const SearchResult *smallest = &search->point[search->n - 1];
    int others = search->n > 1 ? 2 : 0;

    if (plan->outcome != SEARCH_PLAN || h < 4 + others)
        return;
    pen_printf(pen, ROLE_HEAD, " PLAN %c AGAINST", search_letter(search->n - 1 - at));
    pen_tab(pen, 1 + NAME_W);
    pen_right(pen, ROLE_HEAD, STR("STEP"), STEP_W);
    pen_right(pen, ROLE_HEAD, STR("PEAK"), PEAK_W);
    pen_line(pen);
    draw_against(ui, plan, "the plan before, Y", plan->before_us, plan->before_bytes, pen);
    if (others) {
        const char *name = arena_printf(ui->frame, "the fastest, %c", search_letter(search->n - 1));
        draw_against(ui, plan, name, fastest->cost_us, fastest->peak_bytes, pen);
        draw_against(ui, plan, "the smallest, a", smallest->cost_us, smallest->peak_bytes, pen);
    }
    draw_bounds(ui, plan, search->max_peak_bytes, pen);
}
