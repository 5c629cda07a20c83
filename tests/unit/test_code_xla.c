/* Plans as policies, modules of JAX and MLIR: each read back says what the plan says. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "scripts/hooks.h"
#include "viz/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Fixture;

static bool open_plan(Fixture *f, const char *model, const char *mesh, const char *policy,
                      Method method, Error *err)
{
    *f = (Fixture){.arena = arena_new()};
    f->scripts = scripts_new(f->arena, ".");
    SessionHooks hooks = scripts_hooks(f->scripts);
    SessionOptions options = {.model = model, .mesh = mesh, .policy = policy, .method = method};
    f->session = session_open(&options, &hooks, err);
    return f->session != NULL;
}

static void close_plan(Fixture *f)
{
    if (f->session)
        session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static void export(Fixture *f, const char *system, Buf *out, ExportNotes *notes)
{
    ExportRequest request = {.drawing = {.session = f->session}};
    Error err = {0};
    notes->arena = f->arena;
    if (!export_format_find(str_from(system), true)->write(&request, out, notes, &err))
        fail_msg("%s: %s", system, err.text);
}

/* ---- Lua ---- */

static int differing_tensors(const Plan *a, const Plan *b, bool say)
{
    int n = 0;
    for (int32_t t = 0; t < a->inferred->graph->n_tensors; t++) {
        bool has = a->sharding[t] >= 0 || b->sharding[t] >= 0;
        bool both = a->sharding[t] >= 0 && b->sharding[t] >= 0;
        if (!has || (both && sharding_equal(plan_sharding(a, t), plan_sharding(b, t))))
            continue;
        if (say && both && n < 3) {
            Arena *arena = arena_new();
            Buf x = buf_new(arena), y = buf_new(arena);
            sharding_format(plan_sharding(a, t), a->mesh, VIEW_OURS_ASCII, &x, NULL);
            sharding_format(plan_sharding(b, t), b->mesh, VIEW_OURS_ASCII, &y, NULL);
            printf("    %s: %s became %s\n", tensor_name(a->inferred->graph, t), x.s, y.s);
            arena_free(arena);
        }
        n++;
    }
    return n;
}

static int differing_cuts(const Plan *a, const Plan *b)
{
    int n = 0;
    for (int i = 0; i < a->inferred->n_program; i++) {
        int32_t op = a->inferred->program[i];
        const OpCut *x = program_cut(a, op), *y = program_cut(b, op);
        bool same = x->n == y->n;
        for (int64_t d = 0; same && d < x->n; d++)
            same = cut_equal(&x->index[d], &y->index[d]);
        n += !same;
    }
    return n;
}

typedef struct {
    const char *model, *mesh, *policy;
} Case;

static const Case cases[] = {
    {"tiny-gpt.onnx", "dp=2,tp=4", "megatron"},
    {"tiny-gpt.onnx", "dp=2,tp=2", "megatron_sp"},
    {"tiny-gpt.onnx", "dp=4", "fsdp"},
    {"tiny-gpt.onnx", "dp=4", "dp"},
    {"tiny-gpt.onnx", "tp=3", "megatron"},
    {"tiny-gpt.onnx", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"gpt2.onnx", "dp=2,tp=4", "megatron"},
    {"gpt2.onnx", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"gpt2.onnx", "dp=8", "fsdp"},
    {"gpt2.onnx", "tp=8", "tp"},
    {"gpt2.onnx", "cp=4", "context"},
    {"gpt2.onnx", "pp=4", "pipeline"},
    {"gpt2-dynamo.onnx", "dp=2,tp=4", "megatron_sp"},
    {"llama-tiny.onnx", "dp=2,tp=8", "megatron"},
    {"llama-tiny.onnx", "dp=2,tp=4", "megatron_sp"},
    {"tiny-conv.onnx", "dp=4", "dp"},
    {"resnet50.onnx", "dp=4", "fsdp"},
    {"vit_b_16.onnx", "dp=2,tp=4", "megatron"},
    {"mixtral-8x7b.json", "ep=8,tp=2", "expert"},
    {"llama-3-8b.json", "dp=2,tp=8", "megatron"},
};

static bool replay(const Case *it, Method method, bool must)
{
    Fixture a, b;
    Error err = {0};
    const char *model = NULL;
    char path[] = "/tmp/dimscope-test-XXXXXX.lua";
    close(mkstemps(path, 4));
    Arena *arena = arena_new();
    model = arena_printf(arena, "samples/models/%s", it->model);
    bool same = false;
    if (open_plan(&a, model, it->mesh, it->policy, method, &err)) {
        Buf text = buf_new(a.arena);
        ExportNotes notes = {0};
        export(&a, "lua", &text, &notes);
        assert_true(file_write(path, buf_str(&text), &err));
        bool own = str_find(buf_str(&text), STR("-- With --propagate")) >= 0;
        if (!open_plan(&b, model, it->mesh, path, own ? method : METHOD_FACTOR, &err)) {
            fail_msg("%s %s %s %s: %s:%d: %s", it->model, it->mesh, it->policy,
                     method_profile(method), err.file, err.line, err.text);
        }
        const Totals *x = &a.session->plan->totals, *y = &b.session->plan->totals;
        int cuts = differing_cuts(a.session->plan, b.session->plan);
        int tensors = differing_tensors(a.session->plan, b.session->plan, getenv("SAY") || must);
        bool totals = memcmp(x, y, sizeof *x) == 0;
        same = cuts == 0 && tensors == 0 && totals;
        if (!same)
            printf("  %s %s %s %s: %d cuts, %d tensors, totals %s (%.3f %.3f us); %d lines; %s\n",
                   it->model, it->mesh, it->policy, method_profile(method), cuts, tensors,
                   totals ? "same" : "differ", x->step_us, y->step_us, b.session->plan->n_pins,
                   notes.at.n ? notes.at.at[notes.at.n - 1] : "");
        if (must && !same)
            fail();
        close_plan(&b);
    }
    unlink(path);
    arena_free(arena);
    close_plan(&a);
    return same;
}

static void a_policy_makes_the_plan_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        replay(&cases[i], METHOD_FACTOR, true);
}

static void so_it_does_for_other_propagators(void **state)
{
    (void)state;
    int n = 0, same = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int m = METHOD_FACTOR + 1; m < METHOD_COUNT; m++) {
            n++;
            same += replay(&cases[i], (Method)m, true);
        }
    printf("  %d of %d\n", same, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_makes_the_plan_again),
        cmocka_unit_test(so_it_does_for_other_propagators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
