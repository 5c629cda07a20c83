/* bench_policy.c - what policies take: the shipped ones and a reload on 100 layers, visits of nodes
 * and patterns of names on a million ops.
 *
 * A policy's time is that of the hook: a fresh state, the file read and compiled, PAS, decisions on
 * the journal. A reload is what happens when the file was written: policy, plan, frame. Visits are
 * walks over all nodes inside PAS, less what a PAS that does nothing takes.
 */
#include "scripts/hooks.h"
#include "tests/bench/bench.h"
#include "tests/bench/synthetic.h"
#include "tui/app/app.h"

#include <stdio.h>

enum { LAYERS = 100, MILLION = 1000000, REPEATS = 5 };

static const char *const script_file = "build/bench_policy.lua";

static void write_script(const char *body)
{
    FILE *file = fopen(script_file, "w");
    must(file != NULL, &(Error){.text = "no room for a policy file"});
    fprintf(file, "function PAS(graph, resource)\n%s\nreturn graph\nend\n", body);
    fclose(file);
}

static Session *open_made(Arena *arena, Scripts *scripts, int n_layers, const char *policy)
{
    SessionOptions options = {.mesh = "dp=2,tp=4", .policy = policy};
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    Session *session =
        session_open_graph(synthetic_transformer(arena, n_layers, 8, 1024), &options, &hooks, &err);
    must(session != NULL, &err);
    return session;
}

/* The least of several runs of a policy; how many decisions it made. 0: it does not fit the model.
 */
static double policy_ms(Session *session, const char *policy, int *n_decisions)
{
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        Journal journal = {0};
        Error err = {0};
        double start = now_ns();
        if (!session->hooks.policy(session->hooks.context, session, policy, &journal, &err)) {
            fprintf(stderr, "bench: %s: %s\n", policy, err.text);
            return 0;
        }
        ns = least(ns, now_ns() - start);
        *n_decisions = journal.n_done;
    }
    return ns / 1e6;
}

static double script_ms(Session *session, const char *body)
{
    int n_decisions;
    write_script(body);
    return policy_ms(session, script_file, &n_decisions);
}

/* ---- 100 layers ---- */

static void shipped_policies(Session *session)
{
    const SessionHooks *hooks = &session->hooks;
    Arena *arena = arena_new();
    double worst = 0;
    for (Str rest = str_from(hooks->shipped(hooks->context, arena, "policies")); rest.n > 0;) {
        const char *name = arena_str(arena, str_take(&rest, ' '));
        int n_decisions;
        double ms = policy_ms(session, name, &n_decisions);
        if (ms == 0)
            continue;
        figure(arena_printf(arena, "policy.%s", name), ms, "ms");
        figure(arena_printf(arena, "policy.%s.decisions", name), n_decisions, "decisions");
        worst = ms > worst ? ms : worst;
    }
    figure("policy.ms", worst, "ms");
    arena_free(arena);
}

/* The policy was written; the frame that shows what it says now is drawn. */
static void reload(Session *session)
{
    AppOptions options = {.width = 160, .height = 50};
    App *app = app_new(session, &options, NULL, options.width, options.height);
    double ns = 0;
    app_draw(app);
    for (int i = 0; i < REPEATS; i++) {
        Error err = {0};
        write_script(i % 2 ? "graph:shard('*.c_fc.weight', {n = 'tp'})"
                           : "graph:shard('*.c_proj.weight', {k = 'tp'})");
        double start = now_ns();
        ui_change_begin(&app->ui);
        must(session_rerun_policy(session, &err), &err);
        ui_change_end(&app->ui);
        app_draw(app);
        ns = least(ns, now_ns() - start);
    }
    figure("reload.ms", ns / 1e6, "ms");
    app_free(app);
}

static void hundred_layers(Scripts *scripts)
{
    Arena *arena = arena_new();
    write_script("graph:shard('*.c_fc.weight', {n = 'tp'})");
    Session *session = open_made(arena, scripts, LAYERS, script_file);
    figure("policy.ops", session->inferred->n_program, "ops");
    shipped_policies(session);
    reload(session);
    session_close(session);
    arena_free(arena);
}

/* ---- a million ops ---- */

static void visits(Session *session)
{
    static const struct {
        const char *name, *body;
    } rows[] = {
        {"visits.ms", "local n = node.name"},
        {"visits.path.ms", "local n, p = node.name, node.path"},
        {"visits.inputs.ms", "local n, p, i = node.name, node.path, node:inputs()"},
        {"visits.shapes.ms", "local s = node:output(0).shape"},
    };
    Arena *arena = arena_new();
    double nothing = script_ms(session, "");
    figure("visits.nothing.ms", nothing, "ms");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *body =
            arena_printf(arena, "for _, node in ipairs(graph:nodes()) do %s end", rows[i].body);
        figure(rows[i].name, script_ms(session, body) - nothing, "ms");
    }
    figure("patterns.first.ms", script_ms(session, "local t = graph:tensors('*.none')") - nothing,
           "ms");
    figure("patterns.shard.ms",
           script_ms(session, "graph:shard('*.mlp.{c_fc,c_proj}.weight', {n = 'tp'})") - nothing,
           "ms");
    arena_free(arena);
}

static void million_ops(Scripts *scripts)
{
    Arena *arena = arena_new();
    Session *session = open_made(arena, scripts, synthetic_layers(MILLION), NULL);
    visits(session);
    session_close(session);
    arena_free(arena);
}

void bench_policies(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    hundred_layers(scripts);
    million_ops(scripts);
    remove(script_file);
    scripts_free(scripts);
    arena_free(arena);
}
