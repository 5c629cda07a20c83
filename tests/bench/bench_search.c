/* The search of whole configurations: Llama-3.1-405B on 16,384 devices, to a gap of 1%; and of
 * plans on a mesh: training steps of GPT on 8x8 devices. */
#include "core/search/config_search.h"
#include "scripts/hooks.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>

/* ---- on a mesh ---- */

enum { MAX_PEAK_GIB = 75, SECONDS = 30 };

static Session *open_gpt(Arena *arena, const SessionHooks *hooks, int n_layers)
{
    SessionOptions options = {
        .model = "tests/bench/gpt.json", .mesh = "dp=8,tp=8", .train = "adamw", .dtype = "bf16"};
    Error err = {0};
    Source dims = {.name = "dims", .text = STR("batch=64,seq=2048")};
    must(dims_parse(arena, &dims, &options.dims, &err) &&
             policy_settings_with(arena, &options.settings,
                                  str_from(arena_printf(arena, "layers=%d", n_layers)),
                                  &options.settings, &err),
         &err);
    Session *session = session_open(&options, hooks, &err);
    must(session != NULL, &err);
    return session;
}

static SearchResult search_gpt(Arena *arena, const Session *session, SearchMemo *memo, bool unfold,
                               double gap)
{
    SearchRequest request = {.session = session,
                             .max_peak_bytes = (int64_t)MAX_PEAK_GIB << 30,
                             .unfold = unfold,
                             .seconds = SECONDS,
                             .gap = gap,
                             .memo = memo};
    SearchResult result;
    Error err = {0};
    must(search_plan(arena, &request, &result, &err), &err);
    return result;
}

static void put_search(const char *name, int n_layers, const SearchResult *result)
{
    bool found = result->outcome == SEARCH_PLAN; /* else the gap is all of it */
    const struct {
        const char *what;
        double value;
        const char *unit;
    } rows[] = {
        {"", 1e3 * result->seconds, "ms"},
        {".build", 1e3 * result->build_seconds, "ms"},
        {".solve", 1e3 * result->solve_seconds, "ms"},
        {".gap", found ? 100 * fmax(0, 1 - result->bound_us / result->parts.model_us) : 100, "%"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[80];
        snprintf(text, sizeof text, "search.gpt%d.%s%s", n_layers, name, rows[i].what);
        figure(text, rows[i].value, rows[i].unit);
    }
}

/* One weight of one layer whole, by hand. */
static void pin_a_layer(Session *session)
{
    Error err = {0};
    Cut whole;
    Decision pin = {.kind = PIN_TENSOR_DIM,
                    .place =
                        graph_find_tensor(session->graph, STR("transformer.h.5.mlp.c_fc.weight")),
                    .dim = 1,
                    .origin = {.kind = ORIGIN_USER, .file = "", .text = "pin"}};
    must(pin.place >= 0, &err);
    whole = cut_whole(program_shape(session->inferred, pin.place)->dim[1]);
    pin.cut = &whole;
    must(session_apply(session, &pin, 1, &err), &err);
}

/* Each ends after SECONDS. From nothing; every layer by itself, of many layers, whose memory is
 * short, to a gap of 1%; again, with the last answer taken and what choices cost known; and so
 * behind a pin on one layer. */
static void bench_gpt(const SessionHooks *hooks, int n_layers)
{
    Arena *arena = arena_new();
    Session *session = open_gpt(arena, hooks, n_layers);
    SearchMemo *memo = search_memo_new();
    SearchResult folded = search_gpt(arena, session, memo, false, 0);
    SearchResult again = search_gpt(arena, session, memo, false, 0);
    SearchResult unfolded = search_gpt(arena, session, NULL, true, n_layers > 32 ? .01 : 0);
    put_search("folded", n_layers, &folded);
    put_search("again", n_layers, &again);
    put_search("unfolded", n_layers, &unfolded);
    Error err = {0};
    must(folded.n_decisions == 0 ||
             session_apply(session, folded.decisions, folded.n_decisions, &err),
         &err);
    pin_a_layer(session);
    SearchResult pinned = search_gpt(arena, session, memo, false, 0);
    put_search("pinned", n_layers, &pinned);
    search_memo_free(memo);
    session_close(session);
    arena_free(arena);
}

/* ---- on N devices ---- */

static void bench_llama(const SessionHooks *hooks)
{
    Arena *arena = arena_new();
    SessionOptions options = {.model = "tests/training/llama-3.1-405b.json"};
    Error err = {0};
    must(policy_settings_with(arena, &options.settings, STR("global_batch=2048"), &options.settings,
                              &err) &&
             policy_settings_with(arena, &options.settings, STR("seq=8192"), &options.settings,
                                  &err),
         &err);
    ConfigRequest request = {.options = &options, .hooks = hooks, .n_devices = 16384};
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
    arena_free(arena);
}

void bench_search(void)
{
    static const int layers[] = {8, 32, 128};
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        bench_gpt(&hooks, layers[i]);
    bench_llama(&hooks);
    scripts_free(scripts);
    arena_free(arena);
}
