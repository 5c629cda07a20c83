/* bench_models.c - what a config.json takes: Llama-3-70B built by Lua, and opened with a plan.
 *
 * The graph's time is that of the hook: the config parsed, a fresh state, the builder and what it
 * includes compiled and run, the graph sealed. The whole is what a person waits for until the first
 * plan stands: operators' templates, graph, shapes, policy, plan.
 */
#include "scripts/hooks.h"
#include "tests/bench/bench.h"

enum { REPEATS = 7 };

static const char *const config = "samples/models/llama-3-70b.json";

static double build_ms(Session *session)
{
    const SessionHooks *hooks = &session->hooks;
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        DimBindings given = {0}, defaults = {0};
        Error err = {0};
        double start = now_ns();
        const Graph *graph = hooks->model(hooks->context, session, config, &given, &defaults, &err);
        ns = least(ns, now_ns() - start);
        must(graph != NULL, &err);
    }
    return ns / 1e6;
}

void bench_models(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = config, .mesh = "dp=2,tp=8", .policy = "megatron"};
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        Error err = {0};
        double start = now_ns();
        Session *session = session_open(&options, &hooks, &err);
        must(session != NULL, &err);
        if (!session)
            break;
        ns = least(ns, now_ns() - start);
        if (i == 0) {
            figure("model.llama70b.ops", session->graph->n_ops, "ops");
            figure("model.llama70b.build", build_ms(session), "ms");
        }
        session_close(session);
    }
    figure("model.llama70b.open", ns / 1e6, "ms");
    scripts_free(scripts);
    arena_free(arena);
}
