/* The plans that readers of the papers expect, on real exports: every collective by kind, axis,
 * count and bytes. */
#include "tests/unit/collectives_text.h"
#include "tests/unit/unit.h"

#include "core/explain/reason.h"
#include "scripts/hooks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WHOLE_VOCABULARY "\"cut_vocabulary\", true", "\"cut_vocabulary\", false"
#define BY_NAME "../../tests/policies/megatron"
#define WITHOUT_INTERLEAVE "{axis = \"tp\", interleave = 3}", "\"tp\""

typedef struct {
    const char *name, *model, *policy, *mesh;
    const char *edit_from, *edit_to; /* of the policy's text; NULL: none */
    const char *want;                /* sorted lines "kind axis count bytes" */
    const char *logits;              /* sharding of the output */
} Case;

static Case rows[] = {
    {"gpt2, megatron", "gpt2", "megatron", "dp=2,tp=4", WHOLE_VOCABULARY,
     "all_reduce tp 24 12582912\n", "8/dp,1024,50257"},
    {"gpt2-dynamo, megatron", "gpt2-dynamo", "megatron", "dp=2,tp=4", WHOLE_VOCABULARY,
     "all_reduce tp 24 12582912\n", "8/dp,1024,50257"},
    {"llama-tiny, megatron", "llama-tiny", "megatron", "dp=2,tp=4", WHOLE_VOCABULARY,
     "all_reduce tp 4 2097152\n", "8/dp,1024,512"},
    {"gpt2, megatron, vocabulary cut", "gpt2", "megatron", "dp=2,tp=4", NULL, NULL,
     "all_reduce tp 25 12582912\n", "8/dp,1024,50257/tp"},
    {"gpt2-dynamo, megatron, vocabulary cut", "gpt2-dynamo", "megatron", "dp=2,tp=4", NULL, NULL,
     "all_reduce tp 25 12582912\n", "8/dp,1024,50257/tp"},
    {"llama-tiny, megatron, vocabulary cut", "llama-tiny", "megatron", "dp=2,tp=4", NULL, NULL,
     "all_reduce tp 5 2097152\n", "8/dp,1024,512/tp"},
    {"gpt2, c_attn without interleave", "gpt2", BY_NAME, "dp=2,tp=4", WITHOUT_INTERLEAVE,
     "all_reduce tp 24 12582912\n"
     "all_to_all tp 12 9437184\n",
     "8/dp,1024,50257"},
    {"gpt2, 12 heads over tp=8", "gpt2", "megatron", "tp=8", WHOLE_VOCABULARY,
     "all_gather tp:(4)2 36 6291456\n"
     "all_reduce tp 24 25165824\n",
     "8,1024,50257"},
    {"gpt2, dp", "gpt2", "dp", "dp=2,tp=4", NULL, NULL, "", "8/dp,1024,50257"},
    {"gpt2-dynamo, dp", "gpt2-dynamo", "dp", "dp=2,tp=4", NULL, NULL, "", "8/dp,1024,50257"},
    {"llama-tiny, dp", "llama-tiny", "dp", "dp=2,tp=4", NULL, NULL, "", "8/dp,1024,512"},
    {"resnet50, dp", "resnet50", "dp", "dp=4,tp=2", NULL, NULL, "", "8/dp,1000"},
    {"vit, dp", "vit_b_16", "dp", "dp=2,tp=4", NULL, NULL, "", "8/dp,1000"},
    {"vit, megatron", "vit_b_16", "megatron", "dp=2,tp=4", NULL, NULL, "all_reduce tp 24 2420736\n",
     "8/dp,1000"},
    {"gpt2, fsdp", "gpt2", "fsdp", "dp=2,tp=4", NULL, NULL,
     "all_gather dp 74 3072\n"
     "all_gather dp 12 9216\n"
     "all_gather dp 12 12288\n"
     "all_gather dp 12 2359296\n"
     "all_gather dp 1 3145728\n"
     "all_gather dp 12 7077888\n"
     "all_gather dp 24 9437184\n"
     "all_gather dp 2 154389504\n",
     "8/dp,1024,50257"},
    {"gpt2-dynamo, fsdp, the tied head once", "gpt2-dynamo", "fsdp", "dp=2,tp=4", NULL, NULL,
     "all_gather dp 74 3072\n"
     "all_gather dp 12 9216\n"
     "all_gather dp 12 12288\n"
     "all_gather dp 12 2359296\n"
     "all_gather dp 1 3145728\n"
     "all_gather dp 12 7077888\n"
     "all_gather dp 24 9437184\n"
     "all_gather dp 1 154389504\n",
     "8/dp,1024,50257"},
    {"llama-tiny, fsdp", "llama-tiny", "fsdp", "dp=2,tp=4", NULL, NULL,
     "all_gather dp 1 32\n"
     "all_gather dp 5 512\n"
     "all_gather dp 4 32768\n"
     "all_gather dp 4 65536\n"
     "all_gather dp 6 131072\n"
     "all_gather dp 2 262144\n",
     "8/dp,1024,512"},
};

/* ---- opening ---- */

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Opened;

/* A shipped policy with one piece of its text replaced, in a file of its own. */
static const char *edited(Arena *arena, const char *path, const char *from, const char *to)
{
    Source source;
    assert_true(file_read(arena, path, 1 << 20, &source, NULL));
    int64_t at = str_find(source.text, str_from(from));
    assert_true(at >= 0);
    size_t after = (size_t)at + strlen(from);
    Buf text = buf_new(arena);
    buf_add(&text, (Str){source.text.s, (size_t)at});
    buf_puts(&text, to);
    buf_add(&text, (Str){source.text.s + after, source.text.n - after});
    char name[] = "/tmp/dimscope_policy_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && write(fd, text.s, text.n) == (ssize_t)text.n && close(fd) == 0);
    return arena_str(arena, str_from(name));
}

static Opened open_row(const Case *row)
{
    Opened opened = {.arena = arena_new()};
    opened.scripts = scripts_new(opened.arena, ".");
    SessionHooks hooks = scripts_hooks(opened.scripts);
    const char *policy = arena_printf(opened.arena, "scripts/policies/%s.lua", row->policy);
    if (row->edit_from)
        policy = edited(opened.arena, policy, row->edit_from, row->edit_to);
    SessionOptions options = {.mesh = row->mesh, .policy = policy};
    options.model = arena_printf(opened.arena, "samples/models/%s.onnx", row->model);
    vec_push(opened.arena, &options.dims, (DimBinding){STR("batch"), 8});
    vec_push(opened.arena, &options.dims, (DimBinding){STR("seq"), 1024});
    Error err = {0};
    opened.session = session_open(&options, &hooks, &err);
    if (!opened.session)
        fail_msg("%s: %s", err.file, err.text);
    if (row->edit_from)
        unlink(policy);
    return opened;
}

static void close_row(Opened *opened)
{
    session_close(opened->session);
    scripts_free(opened->scripts);
    arena_free(opened->arena);
}

/* ---- what is asked ---- */

static void the_collectives_are_as_published(void **state)
{
    const Case *row = *state;
    Opened opened = open_row(row);
    const Plan *plan = opened.session->plan;
    assert_string_equal(collectives_text(opened.arena, plan), row->want);
    Buf logits = buf_new(opened.arena);
    const Graph *graph = opened.session->graph;
    sharding_format(plan_sharding(plan, graph->outputs[0]), plan->mesh, VIEW_OURS, &logits, NULL);
    assert_string_equal(logits.s, row->logits);
    assert_true(plan_is_legal(plan));
    close_row(&opened);
}

static const Finding *find_code(const Plan *plan, const char *code)
{
    for (int i = 0; i < plan->findings.n; i++)
        if (strcmp(plan->findings.at[i].code, code) == 0)
            return &plan->findings.at[i];
    fail_msg("no finding '%s'", code);
    return NULL;
}

static void heads_that_tp_does_not_divide_are_named(void **state)
{
    (void)state;
    Case row = {.model = "gpt2", .policy = "megatron", .mesh = "tp=8"};
    Opened opened = open_row(&row);
    const Finding *finding = find_code(opened.session->plan, "does-not-divide");
    assert_int_equal(finding->level, LEVEL_WARNING);
    assert_non_null(strstr(finding->text, "Reshape"));
    assert_non_null(strstr(finding->text, "12 x 64"));
    assert_non_null(strstr(finding->text, "tp=8"));
    close_row(&opened);
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static const char *why(Opened *opened, const char *name)
{
    Error err = {0};
    int dim;
    int32_t tensor = naming_find_dim(opened->session->naming, str_from(name), &dim, &err);
    if (tensor < 0)
        fail_msg("%s", err.text);
    Buf out = buf_new(opened->arena);
    why_format(opened->session->plan, tensor, dim, &out);
    return out.s;
}

static void why_ends_at_a_line_of_the_policy(void **state)
{
    (void)state;
    Case row = {.model = "gpt2", .policy = "megatron", .mesh = "dp=2,tp=4"};
    Opened opened = open_row(&row);
    const char *text = why(&opened, "transformer.h.0.mlp.c_proj.weight");
    assert_non_null(strstr(text, "megatron.lua:"));
    assert_non_null(strstr(text, "3072/tp,768"));
    close_row(&opened);
}

static void why_on_the_last_softmax_fits_a_screen(void **state)
{
    (void)state;
    Case row = {.model = "gpt2", .policy = "megatron", .mesh = "dp=2,tp=4"};
    Opened opened = open_row(&row);
    const char *text = why(&opened, "/transformer/h.11/attn/Softmax_output_0");
    assert_in_range(count_lines(text), 5, 30);
    assert_non_null(strstr(text, "megatron.lua:"));
    close_row(&opened);
}

static void the_fused_qkv_weight_keeps_heads_together(void **state)
{
    (void)state;
    Case row = {.model = "gpt2", .policy = "megatron", .mesh = "dp=2,tp=4"};
    Opened opened = open_row(&row);
    const Plan *plan = opened.session->plan;
    int32_t weight =
        graph_find_tensor(opened.session->graph, STR("transformer.h.0.attn.c_attn.weight"));
    Buf text = buf_new(opened.arena);
    sharding_format(plan_sharding(plan, weight), plan->mesh, VIEW_OURS, &text, NULL);
    assert_string_equal(text.s, "768,(3)(768/tp)");
    close_row(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_that_tp_does_not_divide_are_named),
        cmocka_unit_test(why_ends_at_a_line_of_the_policy),
        cmocka_unit_test(why_on_the_last_softmax_fits_a_screen),
        cmocka_unit_test(the_fused_qkv_weight_keeps_heads_together),
    };
    return run_rows("plans", rows, the_collectives_are_as_published) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
