/* What inference with a cache takes: bytes of the cache by hand, the largest steps that fit. */
#include "tests/unit/collectives_text.h"
#include "tests/unit/opened.h"

#include "core/cost/pipeline.h"
#include "core/summary/decode.h"

#include "core/base/file.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define LLAMA "samples/models/llama-3-8b.json"
#define DEEPSEEK "samples/models/deepseek-v3.json"

typedef struct {
    const char *title, *model, *mesh;
    const char *set[3];
    const char *decode;
    int64_t bytes; /* of the cache on the fullest rank */
    int micro_batches;
} CacheRow;

/* Llama 3 8B: 32 layers, 8 heads of keys and values, 128 numbers a head, 2 bytes. */
#define LLAMA_TOKEN (2 * 32 * 8 * 128 * 2)
/* DeepSeek-V3: 61 layers, latents of 512 numbers and a rotary key of 64. */
#define DEEPSEEK_TOKEN (61 * (512 + 64) * 2)

static CacheRow rows[] = {
    {"one device", LLAMA, "tp=1,dp=1", {NULL}, "batch=4,context=1000", 4 * 1000 * LLAMA_TOKEN, 1},
    {"heads over tp", LLAMA, "tp=8", {NULL}, "batch=4,context=1000", 500 * LLAMA_TOKEN, 1},
    {"more ranks than heads", LLAMA, "tp=16", {NULL}, "batch=4,context=1000", 500 * LLAMA_TOKEN, 1},
    {"batch over dp", LLAMA, "dp=2,tp=2", {NULL}, "batch=4,context=1000", 1000 * LLAMA_TOKEN, 1},
    {"layers over pp", LLAMA, "pp=4,dp=2", {NULL}, "batch=4,context=1000", 500 * LLAMA_TOKEN, 1},
    {"micro-batches have a cache each",
     LLAMA,
     "pp=4,dp=2",
     {"micro_batches=6"},
     "batch=4,context=1000",
     6 * 500 * LLAMA_TOKEN,
     6},
    {"tokens over cp",
     LLAMA,
     "cp=4,tp=2",
     {"attention=eager"},
     "batch=4,context=1000",
     500 * LLAMA_TOKEN,
     1},
    {"in 32 bits", LLAMA, "tp=8", {"precision=fp32"}, "batch=4,context=10", 10 * LLAMA_TOKEN, 1},
    {"an empty cache", LLAMA, "tp=8", {NULL}, "batch=4,context=0", 0, 1},
    {"latents", DEEPSEEK, "tp=1,dp=1", {NULL}, "batch=2,context=500", 1000 * DEEPSEEK_TOKEN, 1},
    {"latents are of all heads",
     DEEPSEEK,
     "tp=8",
     {NULL},
     "batch=2,context=500",
     1000 * DEEPSEEK_TOKEN,
     1},
};

static Opened open_decode(const CacheRow *row, DecodeAsked *asked)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    SessionOptions options = {.model = row->model, .mesh = row->mesh, .policy = "hybrid3d"};
    assert_true(policy_settings_with(arena, &options.settings, STR("precision=bf16"),
                                     &options.settings, &err));
    for (size_t i = 0; i < COUNT_OF(row->set) && row->set[i]; i++)
        assert_true(policy_settings_with(arena, &options.settings, str_from(row->set[i]),
                                         &options.settings, &err));
    assert_true(decode_parse(arena, &(Source){"--decode", str_from(row->decode)}, asked, &err));
    assert_true(decode_options(arena, &options, &hooks, *asked, &options, &err));
    scripts_free(scripts);
    return open_in(arena, &options);
}

static void has_a_cache_of(void **state)
{
    const CacheRow *row = *state;
    DecodeAsked asked;
    Opened o = open_decode(row, &asked);
    DecodeStep step = decode_step(o.arena, o.session, asked);
    assert_true(decode_has_cache(o.session));
    assert_int_equal(step.cache_bytes, row->bytes);
    assert_int_equal(step.micro_batches, row->micro_batches);
    double tokens = (double)(asked.batch * step.micro_batches);
    assert_true(fabs(step.tokens_per_s * step.step_us * 1e-6 / tokens - 1) < 1e-9);
    assert_true(step.peak_bytes > step.cache_bytes);
    assert_null(o.session->plan->inferred->forward);
    close_opened(&o);
}

/* 256 new tokens on 8 ranks go to 8 of 256 experts each: 32 * 8 rows of 7168 numbers of 2 bytes
 * leave a rank, and come back. Latents of the cache are of all heads, and stay. */
static void tokens_go_to_their_experts_alone(void **state)
{
    (void)state;
    const CacheRow row = {
        "experts", DEEPSEEK, "ep=8", {NULL}, "batch=256,context=64", 32 * 64 * DEEPSEEK_TOKEN, 1};
    enum { LAYERS = 58, BYTES = 32 * 8 * 7168 * 2 };
    DecodeAsked asked;
    Opened o = open_decode(&row, &asked);
    assert_int_equal(decode_step(o.arena, o.session, asked).cache_bytes, row.bytes);
    assert_string_equal(collectives_text(o.arena, o.session->plan),
                        arena_printf(o.arena, "all_to_all ep %d %d\n", 2 * LAYERS, BYTES));
    close_opened(&o);
}

/* What the last block of each sequence has no token for counts too. */
static void blocks_are_whole(void **state)
{
    (void)state;
    static const struct {
        const char *model, *mesh, *set, *decode;
        int64_t bytes, unused;
    } blocks[] = {
        {LLAMA, "tp=8", NULL, "batch=4,context=1000,block=16", 500 * LLAMA_TOKEN,
         4 * (1008 - 1000) * LLAMA_TOKEN / 8},
        {LLAMA, "tp=8", NULL, "batch=4,context=1024,block=16", 512 * LLAMA_TOKEN, 0},
        {LLAMA, "cp=4,tp=2", "attention=eager", "batch=4,context=1000,block=16", 500 * LLAMA_TOKEN,
         4 * (256 - 250) * LLAMA_TOKEN / 2},
        {DEEPSEEK, "tp=8", NULL, "batch=2,context=500,block=64", 1000 * DEEPSEEK_TOKEN,
         2 * (512 - 500) * DEEPSEEK_TOKEN},
    };
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        const CacheRow row = {.model = blocks[i].model,
                              .mesh = blocks[i].mesh,
                              .set = {blocks[i].set},
                              .decode = blocks[i].decode};
        DecodeAsked asked;
        Opened o = open_decode(&row, &asked);
        DecodeStep step = decode_step(o.arena, o.session, asked);
        assert_int_equal(step.cache_bytes, blocks[i].bytes);
        assert_int_equal(step.unused_bytes, blocks[i].unused);
        assert_int_equal(step.peak_bytes,
                         o.session->plan->priced->totals.peak_bytes + step.unused_bytes);
        close_opened(&o);
    }
}

/* A window of W tokens needs W - 1 before a new one. */
static void windows_limit_the_cache(void **state)
{
    (void)state;
    enum { WINDOW = 16, LAYERS = 4, TOKEN = 2 * 2 * 8 * 4 };
    char path[64];
    snprintf(path, sizeof path, "/tmp/dimscope_windows_%d.json", (int)getpid());
    static const char config[] =
        "{\"model_type\": \"gemma2\", \"hidden_size\": 32, \"intermediate_size\": 64, "
        "\"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, "
        "\"head_dim\": 8, \"vocab_size\": 64, \"sliding_window\": 16, "
        "\"query_pre_attn_scalar\": 8}";
    assert_true(file_write(path, str_from(config), NULL));
    for (int64_t context = 8; context < 40; context += 7) {
        char given[40];
        snprintf(given, sizeof given, "batch=1,context=%d", (int)context);
        DecodeAsked asked;
        const CacheRow row = {
            .model = path, .mesh = "tp=1,dp=1", .set = {"precision=fp32"}, .decode = given};
        Opened o = open_decode(&row, &asked);
        int64_t slides = context < WINDOW ? context : WINDOW - 1;
        DecodeStep step = decode_step(o.arena, o.session, asked);
        assert_int_equal(step.cache_bytes, (LAYERS / 2) * TOKEN * (slides + context));
        close_opened(&o);
    }
    unlink(path);
}

static bool fits(const CacheRow *like, int64_t batch, int64_t context)
{
    char given[80];
    DecodeAsked asked;
    CacheRow row = *like;
    snprintf(given, sizeof given, "batch=%lld,context=%lld", (long long)batch, (long long)context);
    row.decode = given;
    Opened o = open_decode(&row, &asked);
    DecodeStep step = decode_step(o.arena, o.session, asked);
    close_opened(&o);
    return step.fits;
}

/* Embeddings of positions end the sequence. */
static void learned_positions_are_a_limit(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/dimscope_positions_%d.json", (int)getpid());
    static const char config[] = "{\"model_type\": \"gpt2\", \"n_embd\": 32, \"n_layer\": 2, "
                                 "\"n_head\": 4, \"vocab_size\": 64, \"n_positions\": 100}";
    assert_true(file_write(path, str_from(config), NULL));
    const CacheRow row = {.model = path, .mesh = "tp=2", .decode = "batch=1,context=40"};
    DecodeAsked asked;
    DecodePage page;
    Error err = {0};
    Opened o = open_decode(&row, &asked);
    assert_true(decode_page(o.arena, o.session, asked, NULL, &page, &err));
    assert_int_equal(page.most_context, 99);
    close_opened(&o);
    unlink(path);
}

/* They fit, and one more does not; memory and time grow with the cache. */
static void most_is_most(void **state)
{
    (void)state;
    static const CacheRow row = {
        .model = LLAMA, .mesh = "dp=2,tp=4", .decode = "batch=16,context=8192"};
    DecodeAsked asked;
    DecodePage page;
    Error err = {0};
    Opened o = open_decode(&row, &asked);
    assert_true(decode_page(o.arena, o.session, asked, NULL, &page, &err));
    assert_true(fits(&row, 16, page.most_context) && !fits(&row, 16, page.most_context + 1));
    assert_int_equal(page.most_batch % 2, 0);
    assert_true(fits(&row, page.most_batch, 8192) && !fits(&row, page.most_batch + 2, 8192));
    assert_int_equal(page.n_growth, 6);
    for (int i = 1; i < page.n_growth; i++) {
        assert_true(page.growth[i].asked.context > page.growth[i - 1].asked.context);
        assert_true(page.growth[i].peak_bytes > page.growth[i - 1].peak_bytes);
        assert_true(page.growth[i].step_us > page.growth[i - 1].step_us);
    }
    assert_int_equal(page.growth[0].cache_bytes, 0);
    assert_int_equal(page.prefill.asked.seq, 8192);
    assert_true(page.prefill.step_us > page.step.step_us);
    Progress stopped = {.stage = NULL};
    progress_stop(&stopped);
    assert_false(decode_page(o.arena, o.session, asked, &stopped, &page, &err));
    assert_int_equal(err.kind, ERROR_CANCELLED);
    close_opened(&o);
}

/* What cannot be read. */
static void says_what_it_takes(void **state)
{
    (void)state;
    static const char *const bad[] = {"batch=4",
                                      "context=4",
                                      "batch=0,context=1",
                                      "batch=x",
                                      "batch=1,context=1,depth=2",
                                      "batch=1,context=99999999999",
                                      "batch=1,context=1,seq=0",
                                      "batch=1,context=1,block=0",
                                      ""};
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        DecodeAsked asked;
        Error err = {0};
        assert_false(decode_parse(arena, &(Source){"--decode", str_from(bad[i])}, &asked, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_go_to_their_experts_alone), cmocka_unit_test(blocks_are_whole),
        cmocka_unit_test(windows_limit_the_cache),          cmocka_unit_test(most_is_most),
        cmocka_unit_test(learned_positions_are_a_limit),    cmocka_unit_test(says_what_it_takes)};
    return run_rows("cache", rows, has_a_cache_of) +
           cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
