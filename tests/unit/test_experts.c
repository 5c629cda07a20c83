/* Experts: what they compute, what it costs, and what expert parallelism moves. */
#include "tests/unit/collectives_text.h"
#include "tests/unit/model_text.h"
#include "tests/unit/vectors_made.h"

#include "core/cost/cost.h"
#include "core/plan/routed.h"
#include "core/run/draw.h"
#include "core/run/run.h"

#include <math.h>

/* ---- against every expert on every token ---- */

/* Experts by queues, less the sum over all experts weighted by a table of mostly zeros; in units of
 * 1e-4. FACTOR: options of it. */
#define AGAINST_ALL(factor)                                                                        \
    "function MODEL(model, config)\n"                                                              \
    "  local moe = include 'lib/moe'\n"                                                            \
    "  model:dims{batch = 3, seq = 10}\n"                                                          \
    "  local o = {experts = 4, top_k = 2, width = 8, " factor "}\n"                                \
    "  local x = model:input('x', 'f32', {'batch', 'seq', 8})\n"                                   \
    "  local weight = model:param('weight', {4, 8, 8})\n"                                          \
    "  local scores, chosen = model:op('TopK', {moe.scores(model, x, o), {2}}, {axis = -1}, 2)\n"  \
    "  local weights = model:op('Softmax', {scores}, {axis = -1})\n"                               \
    "  local y = moe.exchange(model, x, weights, chosen, o, function(y)\n"                         \
    "    return model:op('Einsum', {y, weight}, {equation = 'beck,enk->becn'})\n"                  \
    "  end)\n"                                                                                     \
    "  local all = model:op('Einsum', {x, weight}, {equation = 'bsk,enk->bsen'})\n"                \
    "  local none = model:op('Mul', {model:op('ReduceMax', {all, {3}}, {keepdims = 0}), 0.0})\n"   \
    "  local table = model:op('ScatterElements', {none, chosen, weights}, {axis = 2})\n"           \
    "  all = model:op('Einsum', {table, all}, {equation = 'bse,bsen->bsn'})\n"                     \
    "  local off = model:op('Mul', {model:op('Sub', {y, all}), 10000.0})\n"                        \
    "  model:output(model:op('Round', {off}), 'off')\n"                                            \
    "end\n"

typedef struct {
    const char *name, *model;
    bool equal;
} QueueRow;

static QueueRow queues[] = {
    {"queues as long as the sequence lose nothing", AGAINST_ALL("capacity_factor = 2"), true},
    {"queues that are too short do", AGAINST_ALL("capacity_factor = 0.5"), false},
    {"without queues no token is lost", AGAINST_ALL("dropless = true"), true},
};

static void experts_are_those_of_all(void **state)
{
    const QueueRow *row = *state;
    OpenedText o = model_text_open(row->model, "", "x=1", NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    const char *folder = vectors_folder(o.arena);
    Shape shape = {.n_dims = 3, .dim = {3, 10, 8}};
    float x[3 * 10 * 8], zeros[3 * 10 * 8] = {0};
    for (size_t i = 0; i < COUNT_OF(x); i++)
        x[i] = (float)draw_uniform(draw_key(1, STR("x")), (int64_t)i);
    vectors_write(o.arena, folder, "input", 0, DT_F32, &shape, (Str){(const char *)x, sizeof x});
    vectors_write(o.arena, folder, "output", 0, DT_F32, &shape,
                  (Str){(const char *)zeros, sizeof zeros});
    RunOptions options = {.repeat = 1, .seed = 5};
    RunReport report;
    bool ran = run_onnx_test(o.arena, o.session->plan, folder, &options, &report, &o.err);
    vectors_remove(o.arena, folder);
    if (!ran)
        fail_msg("%s", o.err.text);
    assert_int_equal(report.n_outputs, 1);
    assert_int_equal(report.ok, row->equal);
    model_text_close(&o);
}

/* ---- what it costs, and what is moved ---- */

typedef struct {
    const char *name, *model, *dims, *mesh;
    double expert_flops; /* of the whole model */
    const char *moved;
    double share;     /* of the expert flops, on one device */
    const char *load; /* dropless under that load; NULL: queues */
    double imbalance; /* rows of the fullest rank, by the mean of all; 0: no dispatch */
} ExpertRow;

/* Places of a queue: ceil(k s / e). Flops: 3 matmuls of 2 e c width hidden a sequence and layer. */
static ExpertRow experts[] = {
    {"Mixtral-8x7B", "samples/models/mixtral-8x7b.json", "batch=8,seq=4096", "dp=2,ep=4",
     3.0 * 2 * 8 * (8 * 1024.0) * 4096 * 14336 * 32, "all_to_all ep 64 67108864\n", 1.0 / 8, NULL,
     0},
    {"tokens that experts do not divide", "samples/models/mixtral-8x7b.json", "batch=4,seq=10",
     "ep=4", 3.0 * 2 * 4 * (8 * 3.0) * 4096 * 14336 * 32, "all_to_all ep 64 196608\n", 1.0 / 4,
     NULL, 0},
    {"DeepSeek-V3", "samples/models/deepseek-v3.json", "batch=64,seq=2048", "ep=64",
     3.0 * 2 * 64 * (256 * 64.0) * 7168 * 2048 * 58, "all_to_all ep 116 234881024\n", 1.0 / 64,
     NULL, 0},
    /* A token has k rows of all experts: as many as queues of factor 1 hold. */
    {"dropless, equally loaded", "samples/models/mixtral-8x7b.json", "batch=8,seq=4096",
     "dp=2,ep=4", 3.0 * 2 * 8 * (8 * 1024.0) * 4096 * 14336 * 32, "all_to_all ep 64 67108864\n",
     1.0 / 8, "balanced", 1},
    /* Both experts of every token are on one rank. */
    {"dropless, all tokens to one rank", "samples/models/mixtral-8x7b.json", "batch=8,seq=4096",
     "dp=2,ep=4", 3.0 * 2 * 8 * (8 * 1024.0) * 4096 * 14336 * 32, "all_to_all ep 64 268435456\n",
     4.0 / 8, "worst", 4},
    /* 7 of 16 choices are of the first rank's two experts: 7/16 in place of 1/4. */
    {"dropless, as measured", "samples/models/mixtral-8x7b.json", "batch=8,seq=4096", "dp=2,ep=4",
     3.0 * 2 * 8 * (8 * 1024.0) * 4096 * 14336 * 32, "all_to_all ep 64 117440512\n", 1.75 / 8,
     "6,1,1,1,1,1,1,4", 1.75},
    /* Three experts of 8 in the largest part, two samples of 6. */
    {"dropless, experts that do not divide", "samples/models/mixtral-8x7b.json", "batch=6,seq=8",
     "ep=3", 3.0 * 2 * 6 * (8 * 2.0) * 4096 * 14336 * 32,
     "all_to_all ep 32 262144\nall_to_all ep 32 294912\n", 3.0 / 8, "balanced", 9.0 / 8},
    {"dropless DeepSeek-V3", "samples/models/deepseek-v3.json", "batch=64,seq=2048", "ep=64",
     3.0 * 2 * 64 * (256 * 64.0) * 7168 * 2048 * 58, "all_to_all ep 116 234881024\n", 1.0 / 64,
     "balanced", 1},
};

/* The first dispatch of the model; -1. */
static int32_t dispatch_of(const Graph *graph)
{
    for (int32_t op = 0; op < graph->n_ops; op++)
        if (strcmp(op_operator(graph, op), "ExpertDispatch") == 0)
            return op;
    return -1;
}

static int32_t experts_of(const Graph *graph)
{
    for (int32_t op = dispatch_of(graph); op >= 0 && op < graph->n_ops; op++)
        if (strcmp(op_operator(graph, op), "Einsum") == 0)
            return op;
    return -1;
}

/* Beyond a twentieth it is said how much longer the others wait. */
static void the_load_is_found(const Plan *plan, double imbalance)
{
    const Finding *found = NULL;
    for (int i = 0; i < plan->findings.n; i++)
        if (strcmp(plan->findings.at[i].code, "expert-load") == 0)
            found = &plan->findings.at[i];
    assert_int_equal(found != NULL, imbalance > 1.05);
    if (!found)
        return;
    Arena *arena = arena_new();
    assert_int_equal(found->level, LEVEL_NOTE);
    assert_non_null(strstr(found->text, "sharded by ep: the fullest rank"));
    assert_non_null(strstr(found->text, arena_printf(arena, " %.3g times the average", imbalance)));
    arena_free(arena);
}

static void experts_cost_what_they_move(void **state)
{
    const ExpertRow *row = *state;
    Error err = {0};
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = row->model, .mesh = row->mesh, .policy = "expert"};
    Source source = {"--dim", str_from(row->dims)};
    assert_true(dims_parse(arena, &source, &options.dims, NULL));
    if (row->load) {
        vec_push(arena, &options.settings, ((PolicySetting){"capacity", "dropless"}));
        vec_push(arena, &options.settings, ((PolicySetting){"load", row->load}));
    }
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);

    const Plan *plan = session->plan;
    double whole = 0, local = 0;
    for (int32_t op = 0; op < session->graph->n_ops; op++)
        if (strcmp(op_operator(session->graph, op), "Einsum") == 0) {
            whole += program_space(session->inferred, op)->flops *
                     routed_op_fill(plan->routed, op, NULL, plan->mesh);
            local += op_flops_local(plan, op);
        }
    assert_true(whole == row->expert_flops);
    assert_true(fabs(local / (row->expert_flops * row->share) - 1) < 1e-12);
    int32_t dispatch = dispatch_of(session->graph);
    assert_int_equal(dispatch >= 0, row->load != NULL);
    if (row->load) /* of its readers: itself it is where the tokens are */
        assert_true(
            fabs(routed_imbalance(plan->routed, experts_of(session->graph),
                                  program_cut(plan, experts_of(session->graph)), plan->mesh) -
                 row->imbalance) < 1e-12);
    the_load_is_found(plan, row->imbalance);
    assert_string_equal(collectives_text(arena, session->plan), row->moved);
    assert_true(plan_is_legal(plan));
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    return run_rows("queues", queues, experts_are_those_of_all) +
           run_rows("experts", experts, experts_cost_what_they_move);
}
