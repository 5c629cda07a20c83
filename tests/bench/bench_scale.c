/* bench_scale.c - the explorer on a model of a million ops: memory, keys, searches, edits.
 *
 * Memory is what the system says of a process that does nothing else, so each of these runs in one
 * of its own. Pages of the mapped model file are the system's to take back and are not counted.
 */
#include "core/propagate/propagate.h"
#include "tests/bench/bench.h"
#include "tests/bench/onnx_file.h"
#include "tests/bench/synthetic.h"
#include "tui/app/app.h"
#include "tui/app/go.h"
#include "tui/state/jobs/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { OPS = 1000000, KEYS_MAX = 4096 };

/* A line of /proc/self/status in MB, 0 where there is none: "RssAnon:", "VmHWM:". */
static double status_mb(const char *line)
{
    FILE *file = fopen("/proc/self/status", "r");
    char text[256];
    double kb = 0;
    while (file && fgets(text, sizeof text, file))
        if (strncmp(text, line, strlen(line)) == 0)
            kb = strtod(text + strlen(line), NULL);
    if (file)
        fclose(file);
    return kb / 1024;
}

static void figure_of(const char *what, const char *part, double value, const char *unit)
{
    char name[80];
    snprintf(name, sizeof name, "%s.%s", what, part);
    figure(name, value, unit);
}

static void owner(const char *name, double n_bytes, const Session *session)
{
    figure_of("resident.million", name, n_bytes / session->graph->n_ops, "bytes/op");
}

/* A megatron plan and the explorer's first screen; then an edit, while the plan before is there. */
static void memory_of(const char *what, Session *session, double graph_bytes)
{
    AppOptions options = {.width = 160, .height = 50};
    App *app = app_new(session, &options, NULL, options.width, options.height);
    app_draw(app);
    figure_of(what, "resident", status_mb("RssAnon:"), "MB");
    figure_of(what, "peak", status_mb("VmHWM:") - status_mb("RssFile:"), "MB");
    if (graph_bytes > 0) {
        owner("graph", graph_bytes, session);
        owner("model", (double)arena_bytes(session->model_arena), session);
        owner("journal", (double)arena_bytes(session->journal_arena), session);
        owner("plan", (double)arena_bytes(session->plan->arena), session);
        owner("propagation", (double)arena_bytes(session->propagation_arena), session);
    }
    app_type(app, STR("j"));
    Decision decision = session->journal.decisions.at[session->journal.n_done / 2];
    Cut whole = cut_whole(cut_size(decision_cut(&decision)));
    decision.cut = &whole;
    Error err = {0};
    double start = now_ns();
    Session *next = session_prepare(
        session, &(Change){.kind = CHANGE_APPLY, .decisions = &decision, .n = 1}, &err);
    must(next != NULL, &err);
    ui_change_begin(&app->ui);
    session_commit(session, next);
    ui_change_end(&app->ui);
    app_draw(app);
    figure_of(what, "edit", (now_ns() - start) / 1e6, "ms");
    figure_of(what, "peak.edit", status_mb("VmHWM:") - status_mb("RssFile:"), "MB");
    app_free(app);
    session_close(session);
}

static void memory_made(void)
{
    Arena *arena = arena_new();
    Graph *graph = synthetic_transformer(arena, synthetic_layers(OPS), 8, 1024);
    memory_of("million", bench_session(graph, NULL), (double)arena_bytes(arena));
    arena_free(arena);
}

static void memory_file(const char *path)
{
    double start = now_ns();
    Session *session = bench_session(NULL, path);
    figure("million.file.open", (now_ns() - start) / 1e6, "ms");
    memory_of("million.file", session, 0);
}

static void write_file(const char *path)
{
    Arena *arena = arena_new();
    Error err = {0};
    Graph *graph = synthetic_transformer(arena, synthetic_layers(OPS), 8, 1024);
    must(onnx_file_write(graph, path, &err), &err);
    arena_free(arena);
}

/* ---- keys ---- */

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct {
    double ms[KEYS_MAX];
    int n;
    bool told; /* every key over a frame is said on stderr */
} Times;

/* What this thread worked, whoever else did. */
static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void type_keys(App *app, const char *script, Times *times)
{
    Str rest = str_from(script);
    for (Key key; key_script_next(&rest, &key);) {
        double start = now_ns(), own = thread_ns();
        app_key(app, key);
        app_draw(app);
        if (job_poll(&app->ui))
            app_draw(app);
        double ms = (now_ns() - start) / 1e6;
        if (times->n < KEYS_MAX)
            times->ms[times->n++] = ms;
        if (times->told && ms > 16)
            fprintf(stderr, "%8.1f ms, %.1f of its own: '%.*s'\n", ms, (thread_ns() - own) / 1e6,
                    (int)(rest.s - script), script);
    }
}

/* What people do: move, open, fold, look at other views and panes, search, go along values. */
static const char *const walks[] = {
    "jjjj<C-d><C-d>jjkk<PgDn><PgDn><PgUp>lljjllhhjjG<C-u>kkkgg<PgDn>jj",
    "]r]r]r[rgugdgu<Enter>jj<Esc>zRjjj<C-d><PgDn>G<PgUp>kkggjjz3jjGggzMjjl",
    "/c_fc<Enter>nnnNjj/38000.mlp<Enter>jjkk<Enter>jj<Esc>/nothing_at_all<Esc>gg",
    "2jjj3jjj4jjj<PgDn>G5jjj<PgDn>6jjj7jjj8jjj9jj1jjwjjjwjj1",
    "zRG]r]r[r[rgugdjjjjzMggGkkkz1zRjj<C-d>",
    "zR/h.20000.attn.scores<Enter>jjkk4jjkk1jj2jj1jj<C-d><C-u>",
    "f operator=Gemm<Enter>jjF1jjsjSjsS1jj]c]r%j%ggjdukZjj9jj1jjw<Esc>jw<Esc>1x<Esc>"};

static void keys_of(const char *what, Session *session, bool told)
{
    static Times times;
    AppOptions options = {.width = 160, .height = 50};
    App *app = app_new(session, &options, NULL, options.width, options.height);
    app->ui.jobs.quiet_ms = JOB_QUIET_MS; /* as on a terminal */
    app_draw(app);
    times = (Times){.told = told};
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++)
        type_keys(app, walks[i], &times);
    qsort(times.ms, (size_t)times.n, sizeof *times.ms, compare_times);
    figure_of(what, "key_median", times.ms[times.n / 2], "ms");
    figure_of(what, "key_p99", times.ms[times.n - 1 - times.n / 100], "ms");
    figure_of(what, "key_worst", times.ms[times.n - 1], "ms");
    app_free(app);
}

static void search_of(const char *what, Session *session)
{
    static const struct {
        const char *name, *pattern;
    } rows[] = {{"search_first", "h.30000.mlp.c_fc"},
                {"search_first.regex", "h\\.3[0-9]000\\.mlp.*c_fc"},
                {"search_first.weight", "h.38000.attn.c_attn.weight"},
                {"search_first.none", "not_there"}};
    AppOptions options = {.width = 160, .height = 50};
    App *app = app_new(session, &options, NULL, options.width, options.height);
    app->ui.jobs.quiet_ms = JOB_QUIET_MS;
    app_draw(app);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double start = now_ns();
        go_search(&app->ui, str_from(rows[i].pattern));
        while (app->ui.find.waits != 0)
            job_poll(&app->ui);
        app_draw(app);
        figure_of(what, rows[i].name, (now_ns() - start) / 1e6, "ms");
    }
    app_free(app);
}

static void keys_grouped(bool told)
{
    Arena *arena = arena_new();
    Graph *graph = synthetic_transformer(arena, synthetic_layers(OPS), 8, 1024);
    Session *session = bench_session(graph, NULL);
    keys_of("million", session, told);
    search_of("million", session);
    session_close(session);
    arena_free(arena);
}

/* No paths, no groups: a million rows. */
static void keys_flat(bool told)
{
    Arena *arena = arena_new();
    Session *session = bench_session(synthetic_chain(arena, OPS), NULL);
    keys_of("million.flat", session, told);
    search_of("million.flat", session);
    session_close(session);
    arena_free(arena);
}

/* ---- an edit of 100 layers, to the frame that shows it ---- */

static void edit_of(const char *name, App *app, const Decision *decision)
{
    enum { REPEATS = 7 };
    Session *session = app->ui.session;
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        Decision edited = *decision;
        Error err = {0};
        Cut whole = cut_whole(cut_size(decision_cut(decision)));
        edited.cut = &whole;
        double start = now_ns();
        ui_change_begin(&app->ui);
        must(session_apply(session, &edited, 1, &err), &err);
        ui_change_end(&app->ui);
        app_draw(app);
        ns = least(ns, now_ns() - start);
        ui_change_begin(&app->ui);
        must(session_apply(session, decision, 1, &err), &err);
        ui_change_end(&app->ui);
        app_draw(app);
    }
    figure(name, ns / 1e6, "ms");
}

static void edits(void)
{
    Arena *arena = arena_new();
    Graph *graph = synthetic_transformer(arena, 100, 8, 1024);
    Session *session = bench_session(graph, NULL);
    AppOptions options = {.width = 160, .height = 50};
    App *app = app_new(session, &options, NULL, options.width, options.height);
    Decision batch = session->journal.decisions.at[0];
    Decision weight = session->journal.decisions.at[session->journal.n_done / 2];
    app_draw(app);
    edit_of("edit_frame.layers100", app, &weight);
    edit_of("edit_frame.layers100.batch", app, &batch);
    app_free(app);
    session_close(session);
    arena_free(arena);
}

/* ---- the parts, each in a process of its own ---- */

void bench_scale_part(const char *part, const char *file)
{
    bool told = getenv("BENCH_TELL") != NULL;
    if (strcmp(part, "memory") == 0)
        memory_made();
    else if (strcmp(part, "write") == 0)
        write_file(file);
    else if (strcmp(part, "file") == 0)
        memory_file(file);
    else if (strcmp(part, "keys") == 0)
        keys_grouped(told);
    else if (strcmp(part, "flat") == 0)
        keys_flat(told);
    else if (strcmp(part, "policy") == 0)
        bench_policies();
    else if (strcmp(part, "run") == 0)
        bench_run();
    else
        edits();
}

void bench_scale(const char *program)
{
    static const char *const parts[] = {"memory", "write", "file",   "keys",
                                        "flat",   "edits", "policy", "run"};
    const char *file = "build/million.onnx";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char command[512];
        snprintf(command, sizeof command, "%s --part %s %s", program, parts[i], file);
        fflush(stdout);
        if (system(command) != 0)
            must(false, &(Error){.text = "a part of the figures at a million ops failed"});
    }
    remove(file);
}
