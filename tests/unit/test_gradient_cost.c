/* What gradient ops compute and read, and which layout changes of the backward pass are free. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/cost/cost.h"
#include "core/session/session.h"
#include "scripts/hooks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define X "local x = model:input('x', 'f32', {8, 16})\n"
#define W "local w = model:param('w', {16, 32}, 'f32')\n"
#define IMAGE "local x = model:input('x', 'f32', {2, 4, 6, 6})\n"
#define QKV                                                                                        \
    "local x = model:input('x', 'f32', {2, 4, 8, 16})\n"                                           \
    "local function part(name)\n"                                                                  \
    "    return model:op('Mul', {x, model:param(name, {2, 4, 8, 16}, 'f32')})\n"                   \
    "end\n"                                                                                        \
    "local q, k, v = part('q'), part('k'), part('v')\n"
#define LOSS(value) "model:output(model:op('ReduceMean', {" value "}, {keepdims = 0}), 'loss')\n"

typedef struct {
    const char *title, *body;
    const char *op; /* the gradient op that is looked at */
    Work work;
    double flops;
    int64_t bytes;
} CostRow;

/* Flops are counted by hand: 2 m k n of a product; bytes are those of all operands. */
static CostRow rows[] = {
    {"the gradient of a product's first operand is a product",
     X W LOSS("model:op('MatMul', {model:op('Relu', {model:op('MatMul', {x, w})}), "
              "model:param('v', {32, 4}, 'f32')})"),
     "MatMul_1~d0", WORK_MATMUL, 2. * 8 * 4 * 32, 4 * (8 * 4 + 32 * 4 + 8 * 32)},
    {"so is that of its second", X W LOSS("model:op('MatMul', {x, w})"), "MatMul~d1", WORK_MATMUL,
     2. * 8 * 16 * 32, 4 * (8 * 32 + 8 * 16 + 16 * 32)},
    {"that of a bias is a sum", X W LOSS("model:op('Gemm', {x, w, model:param('c', {32}, 'f32')})"),
     "Gemm~d2", WORK_VECTOR, 8. * 32, 4 * (8 * 32 + 32)},
    {"the gradient of a sum is passed on",
     X W LOSS("model:op('Add', {model:op('MatMul', {x, w}), model:param('c', {8, 32}, 'f32')})"),
     "Add~d0", WORK_VIEW, 0, 0},
    {"a convolution's are as large as it, for its input",
     IMAGE LOSS("model:op('Conv', {model:op('Mul', {x, model:param('s', {1}, 'f32')}), "
                "model:param('w', {8, 4, 3, 3}, 'f32')}, {pads = {1, 1, 1, 1}})"),
     "Conv~d0", WORK_MATMUL, 2. * 2 * 8 * 36 * 4 * 9, 4 * (2 * 8 * 36 + 8 * 4 * 9 + 2 * 4 * 36)},
    {"and for its weight",
     IMAGE LOSS("model:op('Conv', {x, model:param('w', {8, 4, 3, 3}, 'f32')}, {pads = {1, 1, 1, "
                "1}})"),
     "Conv~d1", WORK_MATMUL, 2. * 2 * 8 * 36 * 4 * 9, 4 * (2 * 8 * 36 + 8 * 4 * 9 + 2 * 4 * 36)},
    {"attention has five products for two", QKV LOSS("model:op('Attention', {q, k, v})"),
     "Attention~d0", WORK_MATMUL, 5 * (2. * 2 * 4 * 8 * 8 * 16), 4 * 7 * (2 * 4 * 8 * 16)},
    {"of a causal one only the keys before count",
     QKV LOSS("model:op('Attention', {q, k, v}, {is_causal = 1})"), "Attention~d0", WORK_MATMUL,
     5 * (2. * 2 * 4 * (8 * 9 / 2) * 16), 4 * 7 * (2 * 4 * 8 * 16)},
    {"rows that are looked up are added up",
     "local i = model:input('i', 'i64', {8})\n" LOSS(
         "model:op('Gather', {model:param('w', {32, 16}, 'f32'), i})"),
     "Gather~d0", WORK_GATHER, 8. * 16, 4 * (8 * 16 + 32 * 16) + 8 * 8},
    {"a normalization's is bound by memory",
     X LOSS("model:op('LayerNormalization', {model:op('MatMul', {x, model:param('w', {16, 32}, "
            "'f32')}), model:param('g', {32}, 'f32'), model:param('c', {32}, 'f32')})"),
     "LayerNormalization~d0", WORK_VECTOR, 12. * 8 * 32, 4 * (3 * 8 * 32 + 32)},
    {"that of its bias is a sum",
     X LOSS("model:op('LayerNormalization', {x, model:param('g', {16}, 'f32'), model:param('c', "
            "{16}, 'f32')})"),
     "LayerNormalization~d2", WORK_VECTOR, 8. * 16, 4 * (8 * 16 + 16)},
    {"a part of a concatenation reads its part",
     X W LOSS("model:op('Concat', {model:op('MatMul', {x, w}), x}, {axis = 1})"), "Concat~d0",
     WORK_VECTOR, 0, 4 * (2 * 8 * 32)},
    {"a transposed weight costs nothing there",
     X LOSS("model:op('MatMul', {x, model:op('Transpose', {model:param('w', {32, 16}, 'f32')})})"),
     "Transpose~d0", WORK_VIEW, 0, 0},
    {"nor where the backward pass reads it",
     X W LOSS("model:op('MatMul', {model:op('MatMul', {x, w}), model:op('Transpose', "
              "{model:param('v', {16, 32}, 'f32')})})"),
     "Transpose~again", WORK_VIEW, 0, 0},
};

static int32_t find_op(const Graph *graph, const char *name)
{
    for (int32_t op = 0; op < graph->n_ops; op++)
        if (strcmp(op_name(graph, op), name) == 0)
            return op;
    fail_msg("there is no op '%s'", name);
    return -1;
}

static void prices_a_gradient(void **state)
{
    const CostRow *row = *state;
    Arena *arena = arena_new();
    char name[] = "/tmp/dimscope_cost_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    SessionOptions options = {.train = "sgd", .mesh = "d=1"};
    options.model = arena_printf(arena, "%s.lua", name);
    const char *text = arena_printf(arena, "function MODEL(model)\n%s\nend\n", row->body);
    assert_true(file_write(options.model, str_from(text), NULL));
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    unlink(options.model);
    if (!session)
        fail_msg("%s", err.text);
    OpCost cost = op_cost(session->plan, find_op(session->graph, row->op));
    if (cost.work != row->work || fabs(cost.flops - row->flops) > 1e-6 || cost.bytes != row->bytes)
        fail_msg("%s: %s, %.0f flops, %lld B, not %s, %.0f flops, %lld B", row->op,
                 work_name(cost.work), cost.flops, (long long)cost.bytes, work_name(row->work),
                 row->flops, (long long)row->bytes);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){
            .name = rows[i].title, .test_func = prices_a_gradient, .initial_state = &rows[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
