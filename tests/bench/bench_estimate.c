/* bench_estimate.c - a training step of Llama 3.1 405B with interleaved stages: planned from its
 * config.json, on a sixteenth of the devices and on twice as many too, and other settings of it.
 * Times are of the processor, which other work on the machine disturbs less. */
#include "core/summary/estimate.h"
#include "scripts/hooks.h"
#include "tests/bench/bench.h"

#include <time.h>

enum { REPEATS = 3 };

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static SessionOptions options_of(Arena *arena, const char *mesh)
{
    static const char *const set[] = {"schedule=1f1b_interleaved", "virtual=2",
                                      "micro_batches=128",         "micro_batch=1",
                                      "sequence_parallel=true",    "precision=bf16"};
    SessionOptions options = {.model = "tests/training/llama-3.1-405b.json",
                              .mesh = mesh,
                              .policy = "hybrid3d",
                              .train = "adamw"};
    Error err = {0};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        must(policy_settings_with(arena, &options.settings, str_from(set[i]), &options.settings,
                                  &err),
             &err);
    vec_push(arena, &options.dims, ((DimBinding){STR("seq"), 8192}));
    return options;
}

static double open_ms(const SessionHooks *hooks, const SessionOptions *options)
{
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        Error err = {0};
        double start = cpu_ns();
        Session *session = session_open(options, hooks, &err);
        must(session != NULL, &err);
        ns = least(ns, cpu_ns() - start);
        session_close(session);
    }
    return ns / 1e6;
}

/* The change that takes longest if it is the first: what it reshards is lent by the session's plan
 * alone, not by the changes before it. */
static double slowest_ms(Arena *arena, const Session *session, const EstimateChanges *changes)
{
    Session asked = *session;
    asked.options.figures_only = asked.given.figures_only = true;
    double slowest = 0;
    for (int i = 0; i < changes->n; i++) {
        const EstimateChange *change = &changes->change[i];
        const char *settings = change->setting[0];
        if (change->setting[1])
            settings = arena_printf(arena, "%s\n%s", change->setting[0], change->setting[1]);
        double ns = 0;
        for (int k = 0; k < REPEATS && !change->failed; k++) {
            Error err = {0};
            double start = cpu_ns();
            session_close(estimate_session(&asked, settings, session->plan, &err));
            ns = least(ns, cpu_ns() - start);
        }
        slowest = ns > slowest ? ns : slowest;
    }
    return slowest / 1e6;
}

void bench_estimate(void)
{
    static const struct {
        const char *mesh, *name;
    } rows[] = {{"pp=16,dp=4,tp=8", "estimate.405b.512_devices"},
                {"pp=16,dp=64,tp=8", "estimate.405b.8192_devices"},
                {"pp=16,dp=128,tp=8", "estimate.405b.16384_devices"}};
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SessionOptions options = options_of(arena, rows[i].mesh);
        figure(rows[i].name, open_ms(&hooks, &options), "ms");
    }
    SessionOptions options = options_of(arena, rows[1].mesh);
    Session *session = session_open(&options, &hooks, &err);
    must(session != NULL, &err);
    EstimateChanges changes;
    double start = cpu_ns();
    must(estimate_changes(arena, session, NULL, &changes, &err), &err);
    figure("estimate.405b.change", (cpu_ns() - start) / 1e6 / changes.n, "ms");
    figure("estimate.405b.change.slowest", slowest_ms(arena, session, &changes), "ms");
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}
