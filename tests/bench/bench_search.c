/* The search of whole configurations: Llama-3.1-405B on 16,384 devices, to a gap of 1%. */
#include "core/search/config_search.h"
#include "scripts/hooks.h"
#include "tests/bench/bench.h"

void bench_search(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = "tests/training/llama-3.1-405b.json"};
    Error err = {0};
    must(policy_settings_with(arena, &options.settings, STR("global_batch=2048"), &options.settings,
                              &err) &&
             policy_settings_with(arena, &options.settings, STR("seq=8192"), &options.settings,
                                  &err),
         &err);
    ConfigRequest request = {.options = &options, .hooks = &hooks, .n_devices = 16384};
    double start = now_ns();
    ConfigSearch *search = config_search_new(arena, &request, &err);
    must(search != NULL, &err);
    ConfigQuestion question = {.max_peak_bytes = config_memory_of(search), .gap = .01};
    ConfigAnswer answer;
    must(config_search(search, &question, &answer, &err), &err);
    figure("search.llama405b", (now_ns() - start) / 1e9, "s");
    figure("search.llama405b.configurations", (double)answer.counts.all, "configurations");
    if (answer.best) {
        figure("search.llama405b.step", answer.best->step_us / 1e3, "ms");
        figure("search.llama405b.gap", 100 * (1 - answer.bound / answer.best->step_us), "%");
    }
    config_search_free(search);
    scripts_free(scripts);
    arena_free(arena);
}
