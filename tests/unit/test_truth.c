/* The proof of the whole engine: random decisions on models with weights, planned, lowered, run on
 * ranks with local inputs only, and every value on every rank compared with one device. */
#include "core/peers/propagators.h"
#include "tests/unit/model_text.h"
#include "tests/unit/planning.h"
#include "tests/unit/random.h"

#include "core/run/run.h"
#include "tests/unit/graph_text.h"

typedef struct {
    const char *name, *model, *dims, *mesh;
    uint32_t seed;
    int n_pins;
    const Propagator *propagator;
} Case;

/* Reductions of every kind, of floats and of integers below 0: a rank that holds nothing of a dim
 * must not win. */
static const char reductions[] = "h <- MatMul f32[6,10,8] f32[8,12]!; m <- ReduceMax h axes=[1]; "
                                 "s <- Sub h m; e <- Exp s; a <- ReduceMean e axes=[0,2]; "
                                 "n <- ReduceMin h axes=[1,2]; p <- ReduceProd e axes=[0]; "
                                 "b <- Add a n; d <- Mul b m; u <- Sub s f32[]{5}; "
                                 "i <- Cast u to=6; j <- ReduceMax i axes=[1] keepdims=0; "
                                 "k <- Neg i; l <- ReduceMin k axes=[0,1]";

/* Routers, queues and experts, from a config. */
static const char experts[] =
    "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 12, "
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
    "\"intermediate_size\": 24, \"vocab_size\": 18, \"moe_intermediate_size\": 6, "
    "\"first_k_dense_replace\": 1, \"n_routed_experts\": 6, "
    "\"n_shared_experts\": 1, \"num_experts_per_tok\": 2, \"n_group\": 3, "
    "\"topk_group\": 2, \"scoring_func\": \"sigmoid\", \"norm_topk_prob\": true, "
    "\"kv_lora_rank\": 8, \"qk_nope_head_dim\": 6, \"qk_rope_head_dim\": 4, "
    "\"v_head_dim\": 6}";

static Case cases[] = {
    {"experts, a few pins", experts, "batch=2,seq=6", "dp=2,ep=2", 31, 6, &propagator_explain},
    {"experts, many pins", experts, "batch=4,seq=6", "dp=2,ep=3", 32, 40, &propagator_explain},
    {"experts, uneven", experts, "batch=3,seq=7", "dp=2,ep=4", 33, 25, &propagator_explain},
    {"reductions", reductions, "", "dp=2,tp=4", 9, 12, &propagator_explain},
    {"reductions, uneven", reductions, "", "dp=3,tp=5", 10, 12, &propagator_explain},
    {"reductions, empty ranks", reductions, "", "dp=8,tp=2", 11, 8, &propagator_explain},
    {"tiny-gpt, a few pins", "tiny-gpt", "batch=2,seq=16", "dp=2,tp=2", 1, 4, &propagator_explain},
    {"tiny-gpt, many pins", "tiny-gpt", "batch=2,seq=16", "dp=2,tp=4", 2, 30, &propagator_explain},
    {"tiny-gpt, uneven", "tiny-gpt", "batch=3,seq=13", "dp=2,tp=3", 3, 20, &propagator_explain},
    {"tiny-gpt, three axes", "tiny-gpt", "batch=4,seq=12", "a=2,b=2,c=2", 4, 25,
     &propagator_explain},
    {"llama-tiny, a few pins", "llama-tiny", "batch=2,seq=16", "dp=2,tp=2", 5, 4,
     &propagator_explain},
    {"llama-tiny, many pins", "llama-tiny", "batch=2,seq=16", "dp=2,tp=4", 6, 30,
     &propagator_explain},
    {"llama-tiny, uneven", "llama-tiny", "batch=5,seq=7", "dp=3,tp=2", 7, 20, &propagator_explain},
    {"llama-tiny, empty ranks", "llama-tiny", "batch=1,seq=3", "dp=2,tp=5", 8, 12,
     &propagator_explain},
    {"spmd, reductions", reductions, "", "dp=2,tp=4", 12, 12, &propagator_spmd},
    {"spmd, tiny-gpt, a few pins", "tiny-gpt", "batch=2,seq=16", "dp=2,tp=2", 13, 6,
     &propagator_spmd},
    {"spmd, tiny-gpt, many pins", "tiny-gpt", "batch=2,seq=16", "dp=2,tp=4", 14, 40,
     &propagator_spmd},
    {"spmd, tiny-gpt, uneven", "tiny-gpt", "batch=3,seq=13", "dp=2,tp=3", 15, 20, &propagator_spmd},
    {"spmd, llama-tiny, a few pins", "llama-tiny", "batch=2,seq=16", "dp=2,tp=2", 16, 6,
     &propagator_spmd},
    {"spmd, llama-tiny, many pins", "llama-tiny", "batch=2,seq=16", "dp=2,tp=4", 17, 40,
     &propagator_spmd},
    {"spmd, llama-tiny, three axes", "llama-tiny", "batch=4,seq=12", "a=2,b=2,c=2", 18, 25,
     &propagator_spmd},
    {"shardy, reductions", reductions, "", "dp=2,tp=4", 21, 12, &propagator_shardy},
    {"shardy, reductions, uneven", reductions, "", "dp=3,tp=5", 22, 12, &propagator_shardy},
    {"shardy, tiny-gpt, a few pins", "tiny-gpt", "batch=2,seq=16", "dp=2,tp=2", 23, 4,
     &propagator_shardy},
    {"shardy, tiny-gpt, many pins", "tiny-gpt", "batch=2,seq=16", "dp=2,tp=6", 24, 30,
     &propagator_shardy_both},
    {"shardy, tiny-gpt, uneven", "tiny-gpt", "batch=3,seq=13", "dp=2,tp=3", 25, 20,
     &propagator_shardy_basic},
    {"shardy, llama-tiny, a few pins", "llama-tiny", "batch=2,seq=16", "dp=2,tp=2", 26, 4,
     &propagator_shardy_basic},
    {"shardy, llama-tiny, many pins", "llama-tiny", "batch=2,seq=16", "dp=2,tp=4", 27, 30,
     &propagator_shardy},
    {"shardy, llama-tiny, three axes", "llama-tiny", "batch=4,seq=12", "a=2,b=2,c=2", 28, 25,
     &propagator_shardy},
};

/* The cut of a dim by one axis or none, now and then in three parts. */
static Cut some_cut(const Planning *p, int64_t size)
{
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    const MeshAxis *axis = &p->mesh->axes[pick(p->mesh->n_axes)];
    for (int a = 0; a < axis->n_atoms; a++)
        atom[n++] = (uint8_t)(axis->atom + a);
    int64_t parts = size % 3 == 0 && pick(4) == 0 ? 3 : 1;
    Cut major = cut_whole(parts), minor = cut_by(size / parts, atom, pick(6) == 0 ? 0 : n, p->mesh);
    Cut cut;
    const Cut *both[2] = {&major, &minor};
    assert_true(cut_concat(both, 2, p->mesh, &cut));
    return cut;
}

static void decide(Planning *p, Decision pin)
{
    pin.open = pick(5) == 0;
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
    if (pick(8) == 0) {
        pin.kind = pin.kind == PIN_TENSOR_DIM ? UNPIN_TENSOR_DIM : UNPIN_INDEX_DIM;
        journal_add(&p->journal, p->arena, &pin);
    }
}

static void pin_index_dim(Planning *p)
{
    int32_t op = p->inferred->program[pick(p->inferred->n_program)];
    const OpSpace *space = program_space(p->inferred, op);
    if (space->n_index == 0)
        return;
    int dim = pick(space->n_index);
    Decision pin = {.kind = PIN_INDEX_DIM, .place = op, .dim = dim};
    pin.cut = (Cut[]){some_cut(p, space->index[dim].size)};
    decide(p, pin);
}

static void pin_tensor_dim(Planning *p)
{
    int32_t tensor = pick(p->graph->n_tensors);
    const Shape *shape = inferred_shape(p->inferred, tensor);
    int32_t maker = p->graph->tensors[tensor].maker;
    if (!shape || shape->n_dims == 0 || inferred_value(p->inferred, tensor) ||
        (maker >= 0 && inferred_is_host(p->inferred, maker)))
        return;
    int dim = pick((int)shape->n_dims);
    Decision pin = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = dim};
    pin.cut = (Cut[]){some_cut(p, shape->dim[dim])};
    pin.store = p->graph->tensors[tensor].kind == TENSOR_INITIALIZER && pick(3) == 0 ? STORED_ALL
                                                                                     : STORED_NONE;
    decide(p, pin);
}

static void check_run(Planning *p)
{
    RunOptions options = {.verify = true, .seed = 7, .repeat = 1};
    RunReport report;
    Error err = {0};
    if (!run_plan(p->arena, p->plan, &options, &report, &err))
        planning_fail(&err);
    if (!report.ok)
        fail_msg("%s differs: %g",
                 report.first_bad < 0 ? "?" : tensor_name(p->graph, report.first_bad),
                 report.n_outputs ? report.outputs[0].max_abs : 0.0);
    assert_true(report.n_values_checked > p->inferred->n_program / 2);
    int64_t over_bytes = report.predicted_peak_bytes - report.peak_bytes;
    assert_in_range(over_bytes, 0, 4096); /* axes and sizes that kernels take as numbers */
}

enum { PLANS = 6 };

static Planning *planning_of_text(const char *text, const char *mesh)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, text, 13);
    planning_infer(p, "", mesh);
    return p;
}

/* A model that `opened` holds. */
static Planning *planning_of_config(const OpenedText *opened, const char *dims, const char *mesh)
{
    assert_non_null(opened->session);
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = opened->session->graph;
    planning_infer(p, dims, mesh);
    return p;
}

static void any_plan_computes_what_one_device_does(void **state)
{
    const Case *c = *state;
    seed = c->seed * 7919;
    bool config = c->model[0] == '{';
    OpenedText opened = {0};
    if (config)
        opened = model_text_open(c->model, c->dims, NULL, NULL);
    for (int i = 0; i < PLANS; i++) {
        Planning *p = config                   ? planning_of_config(&opened, c->dims, c->mesh)
                      : strstr(c->model, "<-") ? planning_of_text(c->model, c->mesh)
                                               : planning_open(c->model, c->dims, c->mesh);
        p->propagator = c->propagator;
        for (int n = 0; n < c->n_pins; n++)
            if (pick(3) == 0)
                pin_index_dim(p);
            else
                pin_tensor_dim(p);
        planning_make(p);
        check_run(p);
        planning_close(p);
    }
    if (config)
        model_text_close(&opened);
}

int main(void)
{
    return run_rows("truth", cases, any_plan_computes_what_one_device_does);
}
