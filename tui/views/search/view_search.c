/* view_search.c - the search of the best plan: time against memory as a chart to walk along, the
 * plans found, their proof, and what pins and the limit cost. */
#include "core/base/clock.h"
#include "core/base/intern.h"
#include "core/base/units.h"
#include "core/cost/pipeline.h"
#include "core/summary/decision_lua.h"
#include "core/summary/label.h"
#include "core/summary/sheets.h"
#include "tui/state/compare.h"
#include "tui/state/jobs/plan_search.h"
#include "tui/state/jobs/whatif.h"
#include "tui/screen/folded.h"
#include "tui/views/label.h"
#include "tui/views/rows.h"
#include "tui/views/search/found_devices.h"
#include "tui/views/search/found_stages.h"
#include "tui/views/search/search_chart.h"
#include "tui/views/search/search_compare.h"

#include <math.h>
#include <stdlib.h>

enum {
    CHART_MOST_H = 30,
    CHART_LEAST_H = 5,
    WIDE = 130,
    FAR = 3,      /* of the span of the found plans: what is farther above is outside the chart */
    HALVES = 100, /* from here on what is narrow stands beside something else */
};

/* 'a' is the smallest plan, as on a chart read from the left. */
static char letter_of(const PlanSearch *search, int point)
{
    return search_letter(search->n - 1 - point);
}

static int64_t cursor(const Ui *ui)
{
    return ui->list[SHOW_SEARCH].at;
}

/* ---- the proof ---- */

static void put_gap(double cost_us, double bound_us, bool proven, Pen *pen)
{
    if (proven)
        pen_puts(pen, ROLE_NOTE, "PROVEN optimal");
    else if (bound_us > 0 && cost_us < INFINITY)
        pen_printf(pen, ROLE_TEXT, "gap %.2f%%", 100 * fmax(0, 1 - bound_us / cost_us));
}

/* While it runs, the best so far and the bound. */
static void draw_running(const Ui *ui, const SearchWatch *watch, Pen *pen)
{
    double cost_us = atomic_load(&watch->cost_us), bound_us = atomic_load(&watch->bound_us);

    pen_puts(pen, ROLE_TEXT, " searching: best ");
    if (cost_us < INFINITY)
        pen_put(pen, ROLE_HEAD, label_us(ui, cost_us));
    else
        pen_puts(pen, ROLE_DIM, "none yet");
    pen_puts(pen, ROLE_TEXT, ", bound ");
    if (bound_us > 0)
        pen_put(pen, ROLE_HEAD, label_us(ui, bound_us));
    else
        pen_puts(pen, ROLE_DIM, "none yet");
    pen_puts(pen, ROLE_TEXT, ", ");
    put_gap(cost_us, bound_us, false, pen);
    pen_puts(pen, ROLE_DIM, "  C-c stops and keeps the best");
    pen_line(pen);
}

static void draw_head(const Ui *ui, const PlanSearch *search, Pen *pen)
{
    pen_puts(pen, ROLE_TEXT, " limit ");
    pen_put(pen, ROLE_HEAD, label_bytes(ui, search->max_peak_bytes));
    const SearchResult *at =
        search->n > 0 ? &search->point[cursor(ui) < search->n ? cursor(ui) : 0] : NULL;
    if (!at || at->outcome != SEARCH_PLAN) {
        pen_line(pen);
        return;
    }
    pen_puts(pen, ROLE_TEXT, "; step ");
    pen_put(pen, ROLE_HEAD, label_us(ui, at->cost_us));
    pen_printf(pen, ROLE_TEXT, " for %.*s%s", STR_ARG(label_us(ui, search->point[0].before_us)),
               at->proven || at->bound_us > 0 ? ", " : "");
    put_gap(at->cost_us, at->bound_us, at->proven, pen);
    pen_line(pen);
    pen_printf(pen, ROLE_DIM, " %.3f s: %d nodes, %d edges, %lld choices", at->seconds, at->n_nodes,
               at->n_edges, (long long)at->n_choices);
    if (at->n_folded > 1)
        pen_printf(pen, ROLE_DIM, "; equal layers tied, up to %d", at->n_folded);
    if (at->coarse)
        pen_puts(pen, ROLE_ERROR, "; whole axes alone, no bound");
    else if (search->stopped)
        pen_puts(pen, ROLE_ERROR,
                 search->cancelled   ? "; cancelled"
                 : at->bound_us <= 0 ? "; without a bound"
                                     : "; its time was over");
    if (!plan_search_holds(ui))
        pen_printf(pen, ROLE_ERROR, "; pins changed since: %.*s",
                   STR_ARG(ui_key(ui, ACT_PLAN_SEARCH)));
    pen_line(pen);
}

/* ---- the chart ---- */

static bool is_far(const PlanSearch *search, int n, double us)
{
    double span_us = search->point[n - 1].cost_us - search->point[0].cost_us;
    return us > search->point[n - 1].cost_us + FAR * span_us;
}

/* The plans that are not far above those before them: the chart shows these. */
static int plans_in_chart(const PlanSearch *search)
{
    int n = search->n;
    while (n > 2 && is_far(search, n - 1, search->point[n - 1].cost_us))
        n--;
    return n;
}

/* A letter for each plan, Y for the plan before; where one is far above others, a line says so. */
static void draw_chart(const Ui *ui, const PlanSearch *search, int h, Pen *pen)
{
    const SearchResult *first = search->point;
    ChartPoint *point = arena_array(ui->frame, ChartPoint, search->n + 1);
    int n_near = plans_in_chart(search), n = 0;
    bool far = is_far(search, n_near, first->before_us), any = far || n_near < search->n;
    if (far)
        pen_printf(pen, ROLE_DIM, " Y, the plan before, is far above: %.*s, %.*s",
                   STR_ARG(label_us(ui, first->before_us)),
                   STR_ARG(label_bytes(ui, first->before_bytes)));
    for (int i = n_near; i < search->n; i++)
        pen_printf(pen, ROLE_DIM, far || i > n_near ? "; %c: %.*s" : " far above, %c: %.*s",
                   letter_of(search, i), STR_ARG(label_us(ui, search->point[i].cost_us)));
    if (any)
        pen_line(pen);
    if (!far)
        point[n++] = (ChartPoint){first->before_us, first->before_bytes, 'Y', ROLE_NOTE, false};
    for (int i = 0; i < n_near; i++)
        point[n++] = (ChartPoint){search->point[i].cost_us, search->point[i].peak_bytes,
                                  (uint32_t)letter_of(search, i),
                                  i == cursor(ui) ? ROLE_FOCUS | STYLE_BOLD : ROLE_HEAD, false};
    search_chart(ui, point, n, search->max_peak_bytes, h - any, pen);
}

/* ---- the plans ---- */

static void draw_point(Ui *ui, const PlanSearch *search, int i, Pen *pen)
{
    const SearchResult *at = &search->point[i];
    bool taken = at->peak_bytes == ui_plan(ui)->priced->totals.peak_bytes &&
                 fabs(at->cost_us - plan_step_us(ui_plan(ui))) <= 1e-9 * at->cost_us;

    pen_printf(pen, ROLE_TEXT, " %c%c ", taken ? '*' : ' ', letter_of(search, i));
    pen_right(pen, ROLE_TEXT, label_us(ui, at->cost_us), 10);
    pen_right(pen, ROLE_TEXT, whatif_us(ui, search->point[0].before_us, at->cost_us), 11);
    pen_right(pen, ROLE_TEXT, label_bytes(ui, at->peak_bytes), 11);
    pen_puts(pen, ROLE_TEXT, "  ");
    put_gap(at->cost_us, at->bound_us, at->proven, pen);
    rows_end(ui, SHOW_SEARCH, i == cursor(ui), pen);
}

static void draw_points(Ui *ui, const PlanSearch *search, int h, Pen *pen)
{
    int64_t *top = &ui->list[SHOW_SEARCH].top;
    pen_puts(pen, ROLE_HEAD, "         STEP     CHANGE       PEAK  PROOF");
    pen_line(pen);
    h = h - 1 < search->n ? h - 1 : search->n;
    list_show(&ui->list[SHOW_SEARCH], cursor(ui), search->n, h);
    for (int y = 0; y < h && *top + y < search->n; y++)
        draw_point(ui, search, (int)*top + y, pen);
}

/* ---- pins, and the decisions ---- */

static void draw_pins(const Ui *ui, const PlanSearch *search, Pen *pen)
{
    const SearchResult *first = search->point;
    bool conflict = first->outcome == SEARCH_INFEASIBLE;
    SearchRequest request = search->asked;

    request.session = ui->session;
    if (search->pins.n == 0 || !plan_search_holds(ui))
        return;
    pen_puts(pen, ROLE_HEAD,
             conflict ? " NO PLAN fits all of these; the plan without each one"
                      : " PINS AND LIMIT: the plan without each one");
    pen_line(pen);
    for (int i = 0; i < search->pins.n && !pen_full(pen); i++) {
        const PinPrice *pin = &search->pins.pin[i];
        Buf text = buf_marked(ui->frame);
        if (conflict && !pin->conflict)
            continue;
        pin_price_put(&request, pin, &text);
        if (pin->outcome == SEARCH_PLAN) {
            pen_right(pen, ROLE_TEXT, label_us(ui, pin->cost_us), 10);
            pen_right(pen, ROLE_TEXT,
                      conflict ? STR("") : whatif_us(ui, first->cost_us, pin->cost_us), 11);
        } else {
            pen_right(pen, ROLE_TEXT,
                      pin->outcome == SEARCH_INFEASIBLE ? STR("no plan") : STR("not known"), 21);
        }
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_text(pen, buf_text(&text), -1, pen->area.w - pen->x);
        pen_line(pen);
    }
}

/* The plan under the cursor as lines of a policy. */
typedef struct {
    const Ui *ui;
    const SearchResult *at;
    const Decision **decisions; /* [at->n_decisions] */
    Intern *fastest;            /* lines of the fastest of several plans; NULL: it is this one */
} PlanLines;

static const Decision **pointers(const Ui *ui, const SearchResult *at)
{
    const Decision **decisions = arena_array(ui->frame, const Decision *, at->n_decisions);

    for (int i = 0; i < at->n_decisions; i++)
        decisions[i] = &at->decisions[i];
    return decisions;
}

static Intern *lines_of(const Ui *ui, const SearchResult *at)
{
    const Decision **decisions = pointers(ui, at);
    Intern *lines = intern_new(ui->frame);

    for (int i = at->n_lifted; i < at->n_decisions;) {
        Buf line = buf_new(ui->frame);
        i += decisions_lua(ui->session, decisions + i, at->n_decisions - i, &line);
        intern_put(lines, line.s, line.n);
    }
    return lines;
}

/* What its next best choice costs, or that it is not in the fastest plan. */
static Str line_note(const PlanLines *lines, int i, const Buf *line)
{
    const SearchResult *at = lines->at;
    int place = at->price_of ? at->price_of[i] : -1;

    if (place >= 0 && at->by_op[place].next_us < INFINITY)
        return str_from(arena_printf(lines->ui->frame, "+%.*s",
                                     STR_ARG(label_us(lines->ui, at->by_op[place].next_us))));
    if (place >= 0)
        return STR("no other");
    bool own = lines->fastest && intern_find(lines->fastest, line->s, line->n) < 0;
    return own ? STR("+") : STR("");
}

/* Returns how many decisions the line is. */
static int draw_line(const PlanLines *lines, int i, Pen *pen)
{
    Buf line = buf_new(lines->ui->frame);
    int n =
        decisions_lua(lines->ui->session, lines->decisions + i, lines->at->n_decisions - i, &line);

    if (lines->at->price_of || lines->fastest)
        pen_right(pen, ROLE_NOTE, line_note(lines, i, &line), 10);
    pen_puts(pen, ROLE_TEXT, "  ");
    pen_fit(pen, ROLE_TEXT, buf_str(&line), pen->area.w - pen->x);
    pen_line(pen);
    return n;
}

static void draw_policy(const Ui *ui, const PlanSearch *search, Pen *pen)
{
    int point = cursor(ui) < search->n ? (int)cursor(ui) : 0;
    const SearchResult *at = &search->point[point];

    if (pen->area.h - pen->y < 2 || at->outcome != SEARCH_PLAN || !plan_search_holds(ui) ||
        at->n_decisions <= at->n_lifted)
        return;
    PlanLines lines = {ui, at, pointers(ui, at), point > 0 ? lines_of(ui, search->point) : NULL};
    pen_puts(pen, ROLE_HEAD,
             at->price_of    ? " OTHERWISE  AS A POLICY: how much more it costs at least"
             : lines.fastest ? "            AS A POLICY, + is not in the fastest plan"
                             : "  AS A POLICY");
    pen_line(pen);
    for (int i = at->n_lifted; i < at->n_decisions && !pen_full(pen);)
        i += draw_line(&lines, i, pen);
}

/* ---- what is left of a wide screen ---- */

static int cheaper_to_change(const void *p, const void *q)
{
    const SearchDecision *a = p, *b = q;
    if (a->next_us != b->next_us)
        return a->next_us < b->next_us ? -1 : 1;
    int32_t at_a = a->op < 0 ? a->tensor : a->op, at_b = b->op < 0 ? b->tensor : b->op;
    return at_a < at_b ? -1 : at_a > at_b;
}

/* Classes of equal layers by what their next best choice costs: first what matters least. */
static void draw_classes(const Ui *ui, const SearchResult *at, int h, Pen *pen)
{
    SearchDecision *sorted = arena_array(ui->frame, SearchDecision, at->n_by_op);

    if (at->n_by_op == 0 || h < 3)
        return;
    memcpy(sorted, at->by_op, sizeof *sorted * (size_t)at->n_by_op);
    qsort(sorted, (size_t)at->n_by_op, sizeof *sorted, cheaper_to_change);
    pen_line(pen);
    pen_puts(pen, ROLE_HEAD, " OTHERWISE  xN   OF: the cheapest change first");
    pen_line(pen);
    for (int i = 0; i < at->n_by_op && i < h - 2; i++) {
        const SearchDecision *d = &sorted[i];
        Str price =
            d->next_us < INFINITY
                ? str_from(arena_printf(ui->frame, "+%.*s", STR_ARG(label_us(ui, d->next_us))))
                : STR("no other");
        pen_right(pen, ROLE_NOTE, price, 10);
        pen_printf(pen, ROLE_DIM, "  %-3d  ", d->n_ops);
        pen_fit(pen, ROLE_TEXT,
                d->op >= 0 ? label_op(ui->session, ui->frame, d->op)
                           : label_tensor(ui->session, ui->frame, d->tensor),
                pen->area.w - pen->x);
        pen_line(pen);
    }
}

/* Ops as they are cut now, those of layers alike once. */
static void draw_layers(const Ui *ui, int h, Pen *pen)
{
    enum { NAME_LEAST = 42, SHARDING_W = 28 };
    const Session *session = ui->session;
    int name =
        pen->area.w - 8 - SHARDING_W > NAME_LEAST ? pen->area.w - 8 - SHARDING_W : NAME_LEAST;
    const Groups *groups = session->groups;
    const int32_t *first = groups_first_members(ui->frame, groups, session->graph->n_ops);
    int *n_alike = arena_array(ui->frame, int, session->graph->n_ops);

    if (h < 3)
        return;
    pen_line(pen);
    pen_puts(pen, ROLE_HEAD, "    xN  CHOSEN: each op and its output, equal layers once");
    pen_line(pen);
    for (int i = 0; i < groups->n_order; i++)
        n_alike[first[groups->order[i]]]++;
    for (int i = 0, y = 2; i < groups->n_order && y < h; i++) {
        int32_t op = groups->order[i];
        int32_t out =
            session->graph->ops[op].n_outputs > 0 ? op_outputs(session->graph, op)[0] : -1;
        if (first[op] != op || out < 0)
            continue;
        pen_printf(pen, ROLE_DIM, " %5d  ", n_alike[op]);
        int from = pen->x;
        pen_fit_name(pen, ROLE_TEXT, label_op(session, ui->frame, op), name);
        pen_tab(pen, from + name + 1);
        pen_text(pen, label_sharding(ui, ui_plan(ui)->moved->sharding[out]), -1,
                 pen->area.w - pen->x);
        pen_line(pen);
        y++;
    }
}

static void draw_share(const Ui *ui, int64_t bytes, int64_t of, const char *name, Pen *pen)
{
    enum { BAR = 24 };
    int full = of > 0 ? (int)((double)bytes / (double)of * BAR + 0.5) : 0;

    pen_right(pen, ROLE_TEXT, label_bytes(ui, bytes), 11);
    pen_printf(pen, ROLE_TEXT, "  %-18s", name);
    for (int i = 0; i < full; i++)
        pen_puts(pen, ROLE_RAIL, ui->look.ascii ? "#" : "█");
    pen_line(pen);
}

static void draw_live_classes(const Ui *ui, const LiveSet *live, Pen *pen)
{
    for (int c = 0; c < MEMORY_CLASS_COUNT && !pen_full(pen); c++)
        if (live->by_class[c] > 0)
            draw_share(ui, live->by_class[c], live->bytes, memory_class_name((MemoryClass)c), pen);
}

static int larger_first(const void *p, const void *q)
{
    const LiveRow *a = p, *b = q;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* The largest values, those of equal layers once. */
static void draw_live_values(const Ui *ui, const LiveSet *live, Pen *pen)
{
    enum { NAME_W = 52, SHARDING_LEAST = 20 };
    LiveRow *row = arena_array(ui->frame, LiveRow, live->n);
    int n = live_rows(ui->frame, ui->session, live, row);

    qsort(row, (size_t)n, sizeof *row, larger_first);
    for (int i = 0; i < n && !pen_full(pen); i++) {
        pen_right(pen, ROLE_DIM, label_bytes(ui, row[i].bytes), 11);
        pen_printf(pen, ROLE_DIM, "%5d  ", row[i].n);
        int from = pen->x, left = pen->area.w - from - SHARDING_LEAST;
        pen_fit_name(pen, ROLE_TEXT, str_from(row[i].label), left < NAME_W ? left : NAME_W);
        pen_puts(pen, ROLE_TEXT, " ");
        pen_text(pen, label_sharding(ui, live->at[row[i].first].sharding), -1,
                 pen->area.w - pen->x);
        pen_line(pen);
    }
}

static void draw_live_head(const Ui *ui, const LiveSet *live, Pen *pen)
{
    pen_puts(pen, ROLE_HEAD, " AT THE PEAK of the present plan");
    pen_line(pen);
    draw_live_classes(ui, live, pen);
}

static void draw_live_largest(const Ui *ui, const LiveSet *live, Pen *pen)
{
    pen_puts(pen, ROLE_HEAD, "      BYTES   xN  THE LARGEST VALUES at the peak");
    pen_line(pen);
    draw_live_values(ui, live, pen);
}

/* By class, then the largest values; beside them where there is room. */
static void draw_live(Ui *ui, int h, Pen *pen)
{
    const LiveSet *live = plan_search_live(ui);
    Rect area = {pen->area.x, pen->area.y + pen->y + 1, pen->area.w, h - 1};

    if (h < 5 || live->n == 0)
        return;
    Pen left = pen_new(pen->grid, area);
    draw_live_head(ui, live, &left);
    int w = area.w >= HALVES ? area.w * 2 / 5 : 0, y = w > 0 ? 0 : left.y;
    Pen values = pen_new(pen->grid, (Rect){area.x + w, area.y + y, area.w - w, area.h - y});
    if (values.area.h > 2)
        draw_live_largest(ui, live, &values);
}

/* ---- the whole ---- */

static void draw_nothing(const Ui *ui, Pen *pen)
{
    pen_printf(pen, ROLE_TEXT, " %.*s searches for the fastest plan that fits into the memory of ",
               STR_ARG(ui_key(ui, ACT_PLAN_SEARCH)));
    pen_put(pen, ROLE_HEAD, str_from(ui->session->machine->name));
    pen_line(pen);
    pen_puts(pen, ROLE_DIM, " :search max-peak=40GiB, :search frontier, :search seconds=10 unfold");
    pen_line(pen);
    pen_puts(pen, ROLE_DIM, " :search devices=512 finds the mesh, the stages and the schedule too");
    pen_line(pen);
}

static int chart_rows(const PlanSearch *search, int h)
{
    int rows = h / 2 < CHART_MOST_H ? h / 2 : CHART_MOST_H;
    int most = CHART_LEAST_H + 2 * (search->n > 0 ? plans_in_chart(search) : 0);
    rows = rows < most ? rows : most;
    bool plans = search->n > 1 && search->point[0].outcome == SEARCH_PLAN;
    return plans && rows >= CHART_LEAST_H ? rows : 0;
}

enum { POINTS_W = 54 };

/* The plans, and the one under the cursor against the others: beside them where there is room. */
static void draw_points_against(Ui *ui, const PlanSearch *search, int h, Pen *pen)
{
    Rect area = {pen->area.x, pen->area.y + pen->y, pen->area.w, h};
    bool beside = area.w >= HALVES;
    Pen points = pen_new(pen->grid, beside ? (Rect){area.x, area.y, POINTS_W, h} : area);

    draw_points(ui, search, h, &points);
    pen_to(pen, 0, pen->y + points.y);
    if (!beside) {
        search_compare_draw(ui, search, (int)cursor(ui), h - points.y, pen);
        return;
    }
    Pen other = pen_new(pen->grid, (Rect){area.x + POINTS_W, area.y, area.w - POINTS_W, h});
    search_compare_draw(ui, search, (int)cursor(ui), h, &other);
    pen_to(pen, 0, area.y - pen->area.y + (other.y > points.y ? other.y : points.y));
}

static void draw_conflict(const SearchResult *first, Pen *pen)
{
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_put_folded(
        pen, ROLE_ERROR,
        str_from(first->conflict ? first->conflict : "no plan within the memory limit was found"),
        1);
    pen_line(pen);
}

/* What the pins cost, and the plan under the cursor. */
static void draw_choices(const Ui *ui, const PlanSearch *search, Pen *pen)
{
    draw_pins(ui, search, pen);
    if (pen->grid->w < WIDE)
        found_stages_draw(ui, (pen->area.h - pen->y) / 2, pen);
    draw_policy(ui, search, pen);
}

/* The plans, what their pins cost, and the one under the cursor. */
static void draw_plans(Ui *ui, const PlanSearch *search, Pen *pen)
{
    int room = pen->area.h - pen->y;

    if (search->point[0].outcome == SEARCH_PLAN)
        draw_points_against(ui, search, search->pins.n > 0 && room > 4 ? room / 2 : room, pen);
    else
        draw_conflict(search->point, pen);
    draw_choices(ui, search, pen);
}

/* The plans beside the chart; what one of them costs beside what is alive at the peak. */
static void draw_halves(Ui *ui, const PlanSearch *search, int chart, Pen *pen)
{
    Rect area = pen->area, band = {area.x, area.y + pen->y, area.w, chart};
    int w = area.w - POINTS_W;
    Pen left = pen_new(pen->grid, (Rect){band.x, band.y, w, band.h});
    Pen right = pen_new(pen->grid, (Rect){band.x + w, band.y, POINTS_W, band.h});

    draw_chart(ui, search, chart, &left);
    draw_points(ui, search, chart, &right);
    band.y += chart;
    band.h = area.y + area.h - band.y;
    left = pen_new(pen->grid, (Rect){band.x, band.y, w, band.h});
    right = pen_new(pen->grid, (Rect){band.x + w, band.y, POINTS_W, band.h});
    search_compare_draw(ui, search, (int)cursor(ui), band.h, &left);
    draw_live_head(ui, plan_search_live(ui), &right);
    pen_to(pen, 0, band.y - area.y + (left.y > right.y ? left.y : right.y));
    draw_choices(ui, search, pen);
    if (area.h - pen->y < 4)
        return;
    pen_line(pen);
    draw_live_largest(ui, plan_search_live(ui), pen);
}

/* Chart and steps above the choices, plans above what is alive at the peak. */
static void draw_wide(Ui *ui, const PlanSearch *search, int chart, Pen *pen)
{
    Rect area = pen->area;
    int h = area.h - pen->y, w = area.w / 2;
    Pen left = pen_new(pen->grid, (Rect){area.x, area.y + pen->y, w, h});
    Pen right = pen_new(pen->grid, (Rect){area.x + w + 1, area.y + pen->y, area.w - w - 1, h});

    if (chart > 0)
        draw_chart(ui, search, chart, &left);
    if (!search->frontier)
        search_steps(ui, &search->watch, h - left.y, &left);
    draw_plans(ui, search, &right);
    found_stages_draw(ui, (h - left.y) / 2, &left);
    draw_classes(ui, &search->point[cursor(ui) < search->n ? cursor(ui) : 0], (h - left.y) / 2,
                 &left);
    draw_layers(ui, h - left.y, &left);
    draw_live(ui, h - right.y, &right);
}

static void draw_found(Ui *ui, const PlanSearch *search, Pen *pen)
{
    bool wide = pen->area.w >= WIDE;
    int chart = chart_rows(search, wide ? 2 * (pen->area.h - 3) : pen->area.h);

    if (wide && (chart > 0 || search->n == 1)) {
        draw_wide(ui, search, chart, pen);
        return;
    }
    if (chart > 0 && pen->area.w >= HALVES) {
        draw_halves(ui, search, chart, pen);
        return;
    }
    if (chart > 0)
        draw_chart(ui, search, chart, pen);
    draw_plans(ui, search, pen);
    draw_live(ui, pen->area.h - pen->y, pen);
}

/* What is known so far, and beside or below it what the search begins from. */
static void draw_search(const Ui *ui, const PlanSearch *search, Pen *pen)
{
    Rect area = pen->area;
    bool wide = area.w >= WIDE;

    draw_running(ui, &search->watch, pen);
    int top = pen->y, left = wide ? area.w / 2 : 0;
    search_steps(ui, &search->watch, wide ? area.h - top : (area.h - top) / 2, pen);
    int from = wide ? top : pen->y, h = area.h - from;
    Pen now = pen_new(pen->grid, (Rect){area.x + left, area.y + from, area.w - left, h});
    draw_layers(ui, h, &now);
}

static void draw(Ui *ui, Pen *pen)
{
    const PlanSearch *search = ui->plan_search;

    if (search && search->running) {
        draw_search(ui, search, pen);
    } else if (search && search->shows_devices) {
        found_devices_draw(ui, search->devices, pen);
    } else if (!search || !search->point) {
        draw_nothing(ui, pen);
    } else {
        draw_head(ui, search, pen);
        draw_found(ui, search, pen);
    }
}

static bool act_on_devices(Ui *ui, const DevicesFound *found, ActId act)
{
    List *list = &ui->list[SHOW_SEARCH];

    if (act == ACT_OPEN)
        devices_open(ui, found, (int)list->at);
    else if (act == ACT_WHAT_IF)
        ui_say(ui, found->pins_arena ? "there are no other pins; :search devices=64 tp=8 has one"
                                     : "pins are priced when nothing else runs");
    else if (act == ACT_COMPARE)
        devices_compare(ui, found, (int)list->at);
    else
        return list_move(&list->at, found->n, list->height, act);
    return true;
}

static bool act(Ui *ui, ActId act)
{
    PlanSearch *search = ui->plan_search;
    Error err = {0};

    if (search && search->shows_devices && !search->running)
        return act_on_devices(ui, search->devices, act);
    if (!search || !search->point || search->running)
        return false;
    if (act == ACT_OPEN) {
        plan_search_take(ui, (int)cursor(ui));
        return true;
    }
    if (act == ACT_WHAT_IF) {
        plan_search_price_pins(ui);
        return true;
    }
    if (act == ACT_COMPARE) {
        if (!compare_open(ui, STR("policy"), &err))
            ui_error(ui, &err);
        return true;
    }
    return list_move(&ui->list[SHOW_SEARCH].at, search->n, ui->list[SHOW_SEARCH].height, act);
}

static void go(Ui *ui, int64_t row)
{
    const PlanSearch *search = ui->plan_search;
    int n = !search ? 0 : search->shows_devices ? search->devices->n : search->n;

    if (row >= 0 && row < n)
        ui->list[SHOW_SEARCH].at = row;
}

static void table(Ui *ui, Sheet *out)
{
    const PlanSearch *search = ui->plan_search;

    if (search && search->shows_devices) {
        found_devices_table(search->devices, out);
        return;
    }
    sheet_head(out, "plan step_us# bound_us# peak_bytes# proven#");
    for (int i = 0; search && i < search->n; i++) {
        const SearchResult *at = &search->point[i];
        if (at->outcome != SEARCH_PLAN)
            continue;
        sheet_put(out, str_from(arena_printf(out->arena, "%c", letter_of(search, i))));
        sheet_number(out, at->cost_us);
        sheet_number(out, at->bound_us);
        sheet_number(out, (double)at->peak_bytes);
        sheet_number(out, at->proven);
    }
}

static const Hint hints[] = {
    {ACT_DOWN, "plan"},
    {ACT_OPEN, "take it"},
    {ACT_PLAN_SEARCH, "search again"},
    {ACT_WHAT_IF, "price pins"},
    {ACT_COMPARE, "diff"},
    {ACT_UNDO, "undo"},
    {ACT_WHY, "why"},
    {ACT_CLOSE, "close"},
    {0},
};

const View view_search = {
    .name = "Search",
    .draw = draw,
    .act = act,
    .go = go,
    .list_at = -1,
    .hints = hints,
    .table = table,
};
