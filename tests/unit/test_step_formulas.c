/* Random GPTs under random plans keep, to the byte, what the published formulas say.
 *
 * A layer: Korthikanti et al. 2022 (arXiv 2205.05198), equations 1 to 4, with dropout. The first of
 * several stages: its layers and the mask of the embedding's dropout, of as many micro-batches as
 * it has in flight. A parameter: 2 bytes, its gradient 4, states of Adam and the master 12, of
 * which ZeRO-1 stores a part, ZeRO-2 of gradients too, ZeRO-3 of all (Rajbhandari et al. 2020).
 *
 * FORMULAS=500 in the environment: so many plans.
 */
#include "tests/unit/opened.h"

#include "core/base/file.h"
#include "core/cost/training_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CONFIGS = 80, TEXT = 64 };

typedef struct {
    int64_t t, p, d, heads, h, layers, s, b, vocabulary, m;
    int zero, recompute; /* 0 none, 1 selective, 2 full */
    bool sequence;
} Config;

static uint64_t state = 20221;

static int64_t pick(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

#define PICK(...) ((const int64_t[]){__VA_ARGS__}[pick(COUNT_OF(((const int64_t[]){__VA_ARGS__})))])

static Config config_make(void)
{
    Config c = {.t = PICK(1, 2, 4), .p = PICK(1, 2, 3), .d = PICK(1, 2, 4)};
    c.heads = c.t * PICK(1, 2, 3);
    c.h = 16 * c.heads * PICK(1, 2, 4);
    c.layers = 3 * c.p;
    c.s = PICK(16, 32, 64);
    c.b = PICK(1, 2, 3);
    c.vocabulary = PICK(64, 128, 320);
    c.m = PICK(1, 2, 4);
    c.zero = (int)pick(c.p == 1 ? 4 : 2);
    c.recompute = (int)pick(3);
    c.sequence = c.t > 1 && pick(2);
    return c;
}

/* Of a layer and micro-batch. */
static int64_t layer_bytes(const Config *c)
{
    int64_t nh = c->s * c->b * c->h, scores = 5 * c->heads * c->s * c->s * c->b;
    int64_t cut = c->sequence ? nh * 34 / c->t : nh * 10 + nh * 24 / c->t;
    if (c->recompute == 2)
        return 2 * nh / (c->sequence ? c->t : 1);
    return cut + (c->recompute == 0 ? scores / c->t : 0);
}

/* Of rank 0. Under sequence parallel positions are in parts. */
static int64_t parameters(const Config *c)
{
    int64_t h = c->h, t = c->t;
    int64_t layer = (3 * h * h + 3 * h) / t + (h * h / t + h) + (4 * h * h + 4 * h) / t +
                    (4 * h * h / t + h) + 4 * h;
    return c->layers / c->p * layer + c->vocabulary * h / t + c->s * h / (c->sequence ? t : 1) +
           (c->p == 1 ? 2 * h : 0);
}

static void add_setting(Arena *arena, SessionOptions *options, const char *name, int64_t value)
{
    Error err = {0};
    const char *text = arena_printf(arena, "%s=%ld", name, (long)value);
    if (!policy_settings_with(arena, &options->settings, str_from(text), &options->settings, &err))
        fail_msg("%s", err.text);
}

static Session *open_config(Arena *arena, const SessionHooks *hooks, const Config *c,
                            const char *path)
{
    static const char *const recompute[] = {"recompute=none", "recompute=selective",
                                            "recompute=full"};
    const char *const texts[] = {recompute[c->recompute],
                                 "precision=fp16",
                                 "grad_dtype=f32",
                                 "attention=eager",
                                 "dropout=0.1",
                                 "schedule=1f1b",
                                 c->sequence ? "sequence_parallel=true"
                                             : "sequence_parallel=false"};
    Error err = {0};
    const char *json =
        arena_printf(arena,
                     "{\"model_type\": \"gpt2\", \"n_embd\": %ld, \"n_layer\": %ld, "
                     "\"n_head\": %ld, \"vocab_size\": %ld, \"n_positions\": %ld}",
                     (long)c->h, (long)c->layers, (long)c->heads, (long)c->vocabulary, (long)c->s);
    if (!file_write(path, str_from(json), &err))
        fail_msg("%s", err.text);
    SessionOptions options = {.model = path, .policy = "hybrid3d", .train = "adamw"};
    options.mesh = arena_printf(arena, "pp=%ld,dp=%ld,tp=%ld", (long)c->p, (long)c->d, (long)c->t);
    add_setting(arena, &options, "micro_batch", c->b);
    add_setting(arena, &options, "micro_batches", c->m);
    add_setting(arena, &options, "zero", c->zero);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (!policy_settings_with(arena, &options.settings, str_from(texts[i]), &options.settings,
                                  &err))
            fail_msg("%s", err.text);
    Session *session = session_open(&options, hooks, &err);
    if (!session)
        fail_msg("%s: %s", json, err.text);
    return session;
}

static void assert_bytes(const Config *c, const char *what, int64_t got, int64_t want)
{
    if (got != want)
        fail_msg(
            "%s: %ld bytes, not %ld, of pp=%ld,dp=%ld,tp=%ld, width %ld, %ld heads, %ld layers, "
            "length %ld, micro-batch %ld of %ld, vocabulary %ld, zero %d, recompute %d, "
            "sequence %d",
            what, (long)got, (long)want, (long)c->p, (long)c->d, (long)c->t, (long)c->h,
            (long)c->heads, (long)c->layers, (long)c->s, (long)c->b, (long)c->m,
            (long)c->vocabulary, c->zero, c->recompute, (int)c->sequence);
}

static void plans_have_the_bytes_of_formulas(void **unused)
{
    (void)unused;
    char path[TEXT] = "/tmp/dimscope_formulas.XXXXXX";
    assert_non_null(mkdtemp(path));
    char file[2 * TEXT];
    snprintf(file, sizeof file, "%s/config.json", path);
    const char *asked = getenv("FORMULAS");
    int n_configs = asked ? atoi(asked) : CONFIGS;
    for (int i = 0; i < n_configs; i++) {
        Arena *arena = arena_new();
        Scripts *scripts = scripts_new(arena, ".");
        SessionHooks hooks = scripts_hooks(scripts);
        Config c = config_make();
        Session *session = open_config(arena, &hooks, &c, file);
        TrainingCost cost = training_cost(arena, session->plan, session->groups);
        int64_t n = parameters(&c), per_layer = layer_bytes(&c);
        assert_bytes(&c, "parameters", cost.rank0.parameter, 2 * n / (c.zero > 2 ? c.d : 1));
        assert_bytes(&c, "gradients", cost.rank0.gradient, 4 * n / (c.zero > 1 ? c.d : 1));
        assert_bytes(&c, "states", cost.rank0.optimizer, 12 * n / (c.zero > 0 ? c.d : 1));
        if (c.p == 1) /* with stages, layers alike differ by what is sent */
            assert_bytes(&c, "a layer", (int64_t)cost.layer.activation_bytes, per_layer);
        int64_t mask = c.s * c.b * c.h / (c.sequence ? c.t : 1), flying = c.p < c.m ? c.p : c.m;
        if (c.p > 1)
            assert_bytes(&c, "the first stage", cost.rank0.activation,
                         flying * (c.layers / c.p * per_layer + mask));
        session_close(session);
        scripts_free(scripts);
        arena_free(arena);
    }
    unlink(file);
    rmdir(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_have_the_bytes_of_formulas)};
    return cmocka_run_group_tests_name("formulas", tests, NULL, NULL);
}
