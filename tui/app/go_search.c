/* go_search.c - to what a search finds. The nearest hit is gone to at once; how many there are is
 * counted beside the screen in a large model, and so is a hit that is far away looked for. */
#include "tui/app/go.h"

#include "tui/state/jobs/job.h"
#include "tui/views/page.h"

#include <stdio.h>

static void go_hit(Ui *ui, const Hit *hit)
{
    if (hit->kind == HIT_INPUT) {
        OutlineRow row = {.kind = ROW_INPUT, .id = hit->id, .op = -1};
        ui_select_row(ui, outline_find_row(ui->outline, &row));
    } else if (hit->kind == HIT_GROUP && ui->session->groups->groups[hit->id].n > 1) {
        go_select_group(ui, hit->id);
    } else {
        ui_go_op(ui, hit->op);
        if (hit->kind == HIT_TENSOR)
            ui_select_tensor(ui, hit->id);
    }
    if (hit->kind == HIT_TENSOR || hit->kind == HIT_INPUT)
        ui->at.show = ui->at.show == SHOW_GRAPH ? SHOW_TENSOR : ui->at.show;
    else if (ui->at.show != SHOW_OP)
        ui->at.show = SHOW_GRAPH;
    ui->find.hit = *hit;
}

/* "/c_fc 3/12"; while they are counted "/c_fc counting". */
static void say_found(Ui *ui)
{
    Str pattern = search_pattern(ui->find.search);
    const Hit *hits, *hit = &ui->find.hit;

    if (!search_is_counted(ui->find.search)) {
        snprintf(ui->find.label, sizeof ui->find.label, "/%.*s counting", STR_ARG(pattern));
        return;
    }
    int n = search_hits(ui->find.search, ui->session, &hits), at = 0;
    while (at < n && (hits[at].kind != hit->kind || hits[at].id != hit->id))
        at++;
    snprintf(ui->find.label, sizeof ui->find.label, "/%.*s %d/%d", STR_ARG(pattern), at + 1, n);
}

static void say_none(Ui *ui)
{
    ui_fail(ui, "/%.*s: no op, group or tensor of that name",
            STR_ARG(search_pattern(ui->find.search)));
}

/* ---- counting ---- */

typedef struct {
    Arena *arena;   /* it lives there */
    Search *search; /* its own */
    const Session *session;
} CountJob;

static bool count_work(void *context, Progress *progress, Error *err)
{
    CountJob *job = context;

    return search_count(job->search, job->session, progress, err);
}

static void count_done(Ui *ui, void *context, bool ok, const Error *err)
{
    CountJob *job = context;
    bool same =
        ui->find.search && str_eq(search_pattern(ui->find.search), search_pattern(job->search));
    int by = ui->find.waits;

    (void)err;
    ui->find.waits = 0;
    if (ok && same)
        search_take(ui->find.search, job->search);
    if (same && by != 0)
        ui_say(ui, "search stopped: n continues it");
    if (ok && same && by != 0) {
        ui->messages.text[0] = '\0';
        go_search_again(ui, by);
    } else if (ok && same && ui->find.label[0]) {
        say_found(ui);
    }
    search_free(job->search);
    arena_free(job->arena);
}

static void start_counting(Ui *ui)
{
    Arena *arena = arena_new();
    CountJob *job = arena_make(arena, CountJob);
    Error err = {0};

    *job = (CountJob){arena, search_new(search_pattern(ui->find.search), &err), ui->session};
    if (job_start(ui, &(JobWork){.title = "search",
                                 .work = count_work,
                                 .done = count_done,
                                 .context = job,
                                 .yields = true}))
        return;
    search_free(job->search);
    arena_free(arena);
}

/* ---- going ---- */

static void search_page(Ui *ui, int by)
{
    Text text = ui->list[ui->at.show].text;
    int64_t n = ui->list[ui->at.show].n, at = ui->list[ui->at.show].at;

    for (int64_t i = 0; i < n; i++) {
        at = (at + by + n) % n;
        if (search_matches(ui->find.search, page_line(text, at).str)) {
            ui->list[ui->at.show].at = at;
            return;
        }
    }
    ui_fail(ui, "/%.*s: not found on this page", STR_ARG(search_pattern(ui->find.search)));
}

/* Of a search whose hits are all known. */
static void go_counted(Ui *ui, int32_t place, int by)
{
    const Hit *hits;
    int at = search_from(ui->find.search, ui->session, place, by);

    search_hits(ui->find.search, ui->session, &hits);
    if (at < 0) {
        say_none(ui);
        return;
    }
    go_hit(ui, &hits[at]);
    say_found(ui);
}

static void go_near(Ui *ui, int32_t place, int by)
{
    Hit hit;
    SearchNear near = search_near(ui->find.search, ui->session, place, by, &hit);

    if (near == NEAR_NONE) {
        say_none(ui);
        return;
    }
    if (near == NEAR_FOUND) {
        go_hit(ui, &hit);
        say_found(ui);
    } else {
        ui->find.waits = by;
        ui_say(ui, "/%.*s: searching ..", STR_ARG(search_pattern(ui->find.search)));
    }
    start_counting(ui);
}

void go_search_again(Ui *ui, int by)
{
    if (!ui->find.search) {
        ui_say(ui, "search with / first");
        return;
    }
    if (ui->at.show >= SHOW_PAGES) {
        search_page(ui, by);
        return;
    }
    int32_t place = ui->at.row.kind == ROW_INPUT ? (int32_t)(ui->row_at - ui_graph(ui)->n_inputs)
                    : row_has_ops(&ui->at.row)   ? outline_position(ui->outline, ui->at.row.op)
                                                 : ui->session->groups->n_order;
    if (search_is_counted(ui->find.search) || job_at_once(ui))
        go_counted(ui, place, by);
    else
        go_near(ui, place, by);
}

void go_search(Ui *ui, Str pattern)
{
    Error err = {0};
    bool same = ui->find.search && str_eq(search_pattern(ui->find.search), pattern);
    Search *search = same ? ui->find.search : search_new(pattern, &err);

    if (!search) {
        ui_error(ui, &err);
        return;
    }
    if (!same)
        search_free(ui->find.search);
    ui->find.search = search;
    go_search_again(ui, 1);
}
