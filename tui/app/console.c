#include "tui/app/console.h"

#include "tui/app/pins.h"

#include <ctype.h>

enum { CANDIDATES_SHOWN = 12 };

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
        ui->edits++;
        say_change(ui, job, n);
    }
    arena_free(job->arena);
}

void console_type(Ui *ui, Str line)
{
    Arena *arena = arena_new();
    ConsoleJob *job = arena_make(arena, ConsoleJob);

    *job = (ConsoleJob){.arena = arena, .session = ui->session, .answer = buf_new(arena)};
    job->before = ui_plan(ui)->totals;
    job->n_before = ui->session->journal.n_done;
    job->change = (Change){.kind = CHANGE_CONSOLE, .n = ui->edits + 1, .answer = &job->answer};
    job->change.text = arena_str(arena, line);
    add_lines(ui, CONSOLE_TYPED, line);
    if (!job_start(ui, &(JobWork){"Lua", work, done, job, true, false}))
        arena_free(arena);
}

/* ---- completion ---- */

typedef struct {
    Str typed, common;
    int n;
    Buf *shown;
} Candidates;

static void consider(Candidates *all, Str word)
{
    size_t same = 0;

    if (!str_starts(word, all->typed))
        return;
    if (all->n++ == 0) {
        all->common = word;
        same = word.n;
    }
    while (same < word.n && same < all->common.n && word.s[same] == all->common.s[same])
        same++;
    all->common.n = same;
    if (all->n <= CANDIDATES_SHOWN)
        buf_printf(all->shown, "%s%.*s", all->n > 1 ? "  " : "", STR_ARG(word));
}

/* Axes, modules with what they own, and inputs. */
static void consider_names(const Ui *ui, Candidates *all)
{
    const Session *session = ui->session;

    mesh_each_axis (axis, session->mesh)
        consider(all, str_from(axis->name));
    for (int i = 0; i < session->graph->n_inputs; i++)
        consider(all, str_from(naming_label(session->naming, session->graph->inputs[i])));
    for (int i = 0; i < naming_n_paths(session->naming); i++) {
        Str path = str_from(naming_path(session->naming, i));
        consider(all, path);
        if (!str_starts(all->typed, path))
            continue;
        for (int part = 0; part < PART_COUNT; part++)
            if (naming_part(session->naming, path, (Part)part, NULL) >= 0)
                consider(all, str_from(arena_printf(ui->frame, "%.*s.%s", STR_ARG(path),
                                                    part_name((Part)part))));
    }
}

static void consider_words(const Ui *ui, Candidates *all)
{
    const SessionHooks *hooks = &ui->session->hooks;
    Buf words = buf_new(ui->frame);

    if (!hooks->console_words)
        return;
    hooks->console_words(hooks->context, &words);
    for (Str rest = buf_str(&words); rest.n > 0;)
        consider(all, str_take(&rest, ' '));
}

/* Where the quoted text begins that the end of the line is in; -1: in none. */
static int open_quote(const char *text)
{
    int at = -1;
    char mark = 0;

    for (int i = 0; text[i]; i++) {
        if (mark ? text[i] == mark : text[i] == '"' || text[i] == '\'') {
            mark = mark ? 0 : text[i];
            at = i + 1;
        }
    }
    return mark ? at : -1;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':';
}

/* "x:inp": a method is looked for by what follows the name it is called on. */
static Str method_of(Str word)
{
    size_t at = word.n;

    while (at > 0 && word.s[at - 1] != '.' && word.s[at - 1] != ':')
        at--;
    return at > 0 ? (Str){word.s + at - 1, word.n - at + 1} : word;
}

static Str typed_word(const Prompt *prompt)
{
    int at = prompt->n;

    while (at > 0 && in_word(prompt->text[at - 1]))
        at--;
    return (Str){prompt->text + at, (size_t)(prompt->n - at)};
}

void console_complete(Ui *ui, Prompt *prompt)
{
    Buf shown = buf_new(ui->frame);
    Candidates all = {.shown = &shown};
    int quote = open_quote(prompt->text);

    if (quote >= 0) {
        all.typed = (Str){prompt->text + quote, (size_t)(prompt->n - quote)};
        consider_names(ui, &all);
    } else {
        all.typed = typed_word(prompt);
        consider_words(ui, &all);
        Str method = method_of(all.typed);
        if (all.n == 0 && method.n < all.typed.n) {
            all.typed = method;
            consider_words(ui, &all);
        }
    }
    if (all.n > 0)
        prompt_append(prompt, (Str){all.common.s + all.typed.n, all.common.n - all.typed.n});
    if (all.n == 0)
        ui_say(ui, "no name begins with '%.*s'", STR_ARG(all.typed));
    else if (all.n > 1)
        ui_say(ui, "%s%s", shown.s, all.n > CANDIDATES_SHOWN ? "  .." : "");
}
