#include "tui/state/console.h"

#include "tui/state/pins.h"

Console *console_new(void)
{
    Arena *arena = arena_new();
    Console *console = arena_make(arena, Console);

    *console = (Console){.arena = arena};
    return console;
}

void console_free(Console *console)
{
    if (console)
        arena_free(console->arena);
}

/* Keeps the later half where there are too many; the old texts go with their arena. */
static void forget_oldest(Ui *ui)
{
    Console *old = ui->console, *kept = console_new();

    for (int i = old->lines.n / 2; i < old->lines.n; i++) {
        ConsoleLine line = old->lines.at[i];
        line.text = str_from(arena_str(kept->arena, line.text));
        vec_push(kept->arena, &kept->lines, line);
    }
    ui->console = kept;
    console_free(old);
}

static void add_lines(Ui *ui, ConsoleKind kind, Str text)
{
    while (text.n > 0) {
        Str line = str_take(&text, '\n');
        if (ui->console->lines.n >= CONSOLE_LINES)
            forget_oldest(ui);
        ConsoleLine added = {kind, str_from(arena_str(ui->console->arena, line))};
        vec_push(ui->console->arena, &ui->console->lines, added);
    }
}

/* ---- a line as a job ---- */

typedef struct {
    Arena *arena; /* it lives there */
    Session *session, *next;
    Change change;
    Buf answer;
    Totals before;
    int n_before;
} ConsoleJob;

static bool work(void *context, Progress *progress, Error *err)
{
    ConsoleJob *job = context;

    progress_stage(progress, "running Lua", 0);
    job->change.progress = progress;
    job->next = session_prepare(job->session, &job->change, err);
    return job->next != NULL;
}

static void say_change(Ui *ui, const ConsoleJob *job, int n)
{
    Buf text = buf_new(ui->frame);

    buf_printf(&text, "plan changed: %d decision%s", n, n == 1 ? "" : "s");
    pins_format_change(ui, &job->before, &text);
    add_lines(ui, CONSOLE_CHANGE, buf_str(&text));
}

static void say_error(Ui *ui, const Error *err)
{
    Buf text = buf_new(ui->frame);

    if (err->file[0])
        buf_printf(&text, "%s:%d: ", err->file, err->line > 0 ? err->line : 1);
    buf_printf(&text, "%s%s%s", err->text, err->hint[0] ? "; " : "", err->hint);
    add_lines(ui, CONSOLE_ERROR, buf_str(&text));
}

static void done(Ui *ui, void *context, bool ok, const Error *err)
{
    ConsoleJob *job = context;

    add_lines(ui, CONSOLE_ANSWER, job->answer.n > 0 ? buf_str(&job->answer) : STR(""));
    if (!ok) {
        say_error(ui, err);
    } else if (job->next->plan == job->session->plan) {
        session_discard(job->session, job->next);
    } else {
        int n = job->next->journal.n_done - job->n_before;
        ui_change_to(ui, job->next);
        ui->changes.edits++;
        say_change(ui, job, n);
    }
    arena_free(job->arena);
}

void console_type(Ui *ui, Str line)
{
    Arena *arena = arena_new();
    ConsoleJob *job = arena_make(arena, ConsoleJob);

    *job = (ConsoleJob){.arena = arena, .session = ui->session, .answer = buf_new(arena)};
    job->before = ui_plan(ui)->priced->totals;
    job->n_before = ui->session->journal.n_done;
    job->change =
        (Change){.kind = CHANGE_CONSOLE, .n = ui->changes.edits + 1, .answer = &job->answer};
    job->change.text = arena_str(arena, line);
    add_lines(ui, CONSOLE_TYPED, line);
    if (!job_start(ui, &(JobWork){"Lua", work, done, job, true, false}))
        arena_free(arena);
}
