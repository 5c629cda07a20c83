/* The proof of the whole engine: random decisions on models with weights, planned, lowered, run on
 * ranks with local inputs only, and every value on every rank compared with one device. */
#include "tests/unit/planning.h"

#include "core/run/run.h"

static uint32_t seed;

static int pick(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

typedef struct {
    const char *name, *model, *dims, *mesh;
    uint32_t seed;
    int n_pins;
} Case;

static Case cases[] = {
    {"tiny-gpt, a few pins", "tiny-gpt", "batch=2,seq=16", "dp=2,tp=2", 1, 4},
    {"tiny-gpt, many pins", "tiny-gpt", "batch=2,seq=16", "dp=2,tp=4", 2, 30},
    {"tiny-gpt, uneven", "tiny-gpt", "batch=3,seq=13", "dp=2,tp=3", 3, 20},
    {"tiny-gpt, three axes", "tiny-gpt", "batch=4,seq=12", "a=2,b=2,c=2", 4, 25},
    {"llama-tiny, a few pins", "llama-tiny", "batch=2,seq=16", "dp=2,tp=2", 5, 4},
    {"llama-tiny, many pins", "llama-tiny", "batch=2,seq=16", "dp=2,tp=4", 6, 30},
    {"llama-tiny, uneven", "llama-tiny", "batch=5,seq=7", "dp=3,tp=2", 7, 20},
    {"llama-tiny, empty ranks", "llama-tiny", "batch=1,seq=3", "dp=2,tp=5", 8, 12},
};

/* A pin of a random dim of a random tensor by one or two axes, now and then in parts or stored. */
static void pin_something(Planning *p)
{
    int32_t tensor = pick(p->graph->n_tensors);
    const Shape *shape = inferred_shape(p->inferred, tensor);
    int32_t maker = p->graph->tensors[tensor].maker;
    if (!shape || shape->n_dims == 0 || p->inferred->value[tensor] ||
        (maker >= 0 && inferred_is_host(p->inferred, maker)))
        return;
    int dim = pick((int)shape->n_dims);
    Decision pin = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = dim};
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    const MeshAxis *axis = &p->mesh->axes[pick(p->mesh->n_axes)];
    for (int a = 0; a < axis->n_atoms; a++)
        atom[n++] = (uint8_t)(axis->atom + a);
    int64_t size = shape->dim[dim], parts = size % 3 == 0 && pick(4) == 0 ? 3 : 1;
    Cut major = cut_whole(parts), minor = cut_by(size / parts, atom, pick(6) == 0 ? 0 : n, p->mesh);
    const Cut *both[2] = {&major, &minor};
    assert_true(cut_concat(both, 2, p->mesh, &pin.cut));
    pin.store = p->graph->tensors[tensor].kind == TENSOR_INITIALIZER && pick(3) == 0;
    pin.open = pick(5) == 0;
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
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
    assert_true(report.n_values_checked > 50);
}

enum { PLANS = 6 };

static void any_plan_computes_what_one_device_does(void **state)
{
    const Case *c = *state;
    seed = c->seed * 7919;
    for (int i = 0; i < PLANS; i++) {
        Planning *p = planning_open(c->model, c->dims, c->mesh);
        for (int n = 0; n < c->n_pins; n++)
            pin_something(p);
        planning_make(p);
        check_run(p);
        planning_close(p);
    }
}

int main(void)
{
    return run_rows("truth", cases, any_plan_computes_what_one_device_does);
}
