#include "tui/app/open.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "tui/state/jobs/worker.h"

enum {
    OPEN_QUIET_MS = 60,
    OPEN_MS = 30,
    STAGE_COLUMNS = 24,
    BAR_COLUMNS = 24,
    LEFT_SHOWN_S = 24 * 3600
};

void opening_see(Opening *opening, const Progress *progress, double now_s)
{
    const char *stage = atomic_load(&progress->stage);
    int n = opening->n_stages;

    if (!stage || n == OPEN_STAGES_MAX || (n > 0 && opening->stage[n - 1] == stage))
        return;
    opening->stage[n] = stage;
    opening->began_s[n] = now_s;
    opening->n_stages++;
}

/* The stage that is running: a bar and the time left, or else how much is done. */
static void draw_going(Pen *pen, const Progress *progress, double took_s)
{
    double share = progress_share(progress);
    long long done = atomic_load(&progress->done);

    if (share < 0 && done > 0)
        pen_printf(pen, ROLE_TEXT, "%lld ops", done);
    if (share < 0)
        return;
    share = share > 1 ? 1 : share;
    if (pen->area.w >= 2 * STAGE_COLUMNS + BAR_COLUMNS)
        pen_bar(pen, ROLE_HEAD, share, 1, BAR_COLUMNS);
    pen_printf(pen, ROLE_TEXT, " %3.0f%%", 100 * share);
    if (share <= 0 || took_s / share > LEFT_SHOWN_S)
        return;
    int left = (int)(took_s / share - took_s + 0.5);
    pen_printf(pen, ROLE_TEXT, "  %d:%02d left", left / 60, left % 60);
}

static void draw_stages(const Opening *opening, const Progress *progress, double now_s, Pen *pen,
                        int room)
{
    int n = opening->n_stages;

    for (int i = n > room ? n - room : 0; i < n; i++) {
        bool last = i == n - 1;
        double end = last ? now_s : opening->began_s[i + 1], took = end - opening->began_s[i];
        pen_puts(pen, ROLE_TEXT, " ");
        pen_fit(pen, last ? ROLE_HEAD : ROLE_DIM, str_from(opening->stage[i]), STAGE_COLUMNS);
        pen_printf(pen, last ? ROLE_TEXT : ROLE_DIM, "%6.1f s  ", took);
        if (last)
            draw_going(pen, progress, took);
        pen_line(pen);
    }
}

static void draw_lines(const Progress *progress, Pen *pen)
{
    int n = atomic_load_explicit(&progress->n_lines, memory_order_acquire);
    int name = pen->area.w * 2 / 3;

    if (n == 0)
        return;
    pen_puts(pen, ROLE_TEXT, " ");
    pen_fit(pen, ROLE_DIM, STR("NAME"), name);
    pen_puts(pen, ROLE_DIM, "OP");
    pen_line(pen);
    for (int i = 0; i < n && !pen_full(pen); i++) {
        pen_puts(pen, ROLE_TEXT, " ");
        pen_fit_tail(pen, ROLE_TEXT, str_from(progress->line[i].name), name - 1);
        pen_puts(pen, ROLE_TEXT, " ");
        pen_fit(pen, ROLE_TEXT, str_from(progress->line[i].kind), pen->area.w - pen->x);
        pen_line(pen);
    }
}

static void draw_head(const AppOpener *opener, Pen *pen)
{
    const char *parts[] = {path_base(opener->model),
                           opener->policy ? path_base(opener->policy) : NULL, opener->mesh};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i])
            continue;
        pen_puts(pen, ROLE_FRAME, i ? " │ " : " ");
        pen_puts(pen, ROLE_STATUS, parts[i]);
    }
    pen_puts(pen, ROLE_DIM, "  opening");
}

void opening_draw(const Opening *opening, const AppOpener *opener, const Progress *progress,
                  double now_s, Grid *grid)
{
    int room = grid->h >= 20 ? OPEN_STAGES_MAX : grid->h > 8 ? 3 : 1;
    int n = opening->n_stages < room ? opening->n_stages : room;
    int n_findings = atomic_load(&progress->n_findings);

    grid_clear(grid);
    Pen pen = pen_new(grid, (Rect){0, 0, grid->w, 1});
    draw_head(opener, &pen);
    pen = pen_new(grid, (Rect){0, 1, grid->w, room});
    draw_stages(opening, progress, now_s, &pen, room);
    pen = pen_new(grid, (Rect){0, n + 2, grid->w, grid->h - n - 4});
    draw_lines(progress, &pen);
    pen = pen_new(grid, (Rect){0, grid->h - 1, grid->w, 1});
    if (opening->stopping)
        pen_puts(&pen, ROLE_NOTE, " stopping");
    else
        pen_puts(&pen, ROLE_DIM, " C-c stops");
    if (n_findings > 0)
        pen_printf(&pen, ROLE_NOTE, "   %d findings so far", n_findings);
    pen_to(&pen, 0, 0);
    pen_cursor(&pen);
}

typedef struct {
    const AppOpener *opener;
    Session *session;
} OpenWork;

static bool open_work(void *context, Progress *progress, Error *err)
{
    OpenWork *work = context;

    work->session = work->opener->open(work->opener->context, progress, err);
    return work->session != NULL;
}

static bool stops(Key key)
{
    return key == 'q' || key == 'Q' || key == key_ctrl('c') || key == K_EOF;
}

/* Until the work is over; false when it was stopped. */
static bool show(const AppOpener *opener, Worker *worker, Term *term, bool ascii)
{
    Opening opening = {0};
    double began = clock_s();

    while (!worker_wait(worker, 0)) {
        Arena *arena = arena_new();
        int w, h;
        term_size(term, &w, &h);
        Grid *grid = grid_new(arena, w < 1 ? 1 : w, h < 1 ? 1 : h, ascii);
        opening_see(&opening, worker_progress(worker), clock_s() - began);
        opening_draw(&opening, opener, worker_progress(worker), clock_s() - began, grid);
        term_show(term, grid);
        arena_free(arena);
        Key key = opening.stopping ? K_NONE : term_key(term, OPEN_MS);
        if (stops(key)) {
            opening.stopping = true;
            term_end_soon();
            progress_stop(worker_progress(worker));
        }
        if (opening.stopping)
            worker_wait(worker, OPEN_MS);
    }
    return !opening.stopping;
}

Session *open_on_screen(const AppOpener *opener, Term *term, bool ascii, Error *err)
{
    OpenWork work = {opener, NULL};
    Worker *worker = worker_start(open_work, &work);

    if (!worker) /* then without a screen */
        return opener->open(opener->context, NULL, err);
    bool wanted = worker_wait(worker, OPEN_QUIET_MS) || show(opener, worker, term, ascii);
    worker_end(worker, err);
    if (wanted || !work.session)
        return work.session;
    session_close(work.session);
    error_kind(err, ERROR_CANCELLED, "stopped");
    return NULL;
}
