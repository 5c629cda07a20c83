/* Traffic against brute force: what every place sends and gets, group by group. */
#include "tests/unit/shipped_machine.h"
#include "tests/unit/unit.h"

#include "core/cost/cost.h"
#include "core/cost/traffic.h"
#include "scripts/hooks.h"

#include <math.h>

enum { PLACES_MAX = 64, BYTES = 1 << 20 };

typedef struct {
    const char *name, *machine, *mesh, *axes;
    StepKind kind;
    int64_t bytes;
    const char *algorithm; /* what price.h is to choose; NULL: any */
} FlowRow;

/* plain: a machine without tuning numbers, 4 devices on a node. */
static FlowRow flow_rows[] = {
    {"ring of 4", "plain", "tp=4", "tp", STEP_ALL_REDUCE, BYTES, "ring"},
    {"ring over 2 nodes", "plain", "tp=8", "tp", STEP_ALL_GATHER, BYTES, "ring"},
    {"two rings of 2", "plain", "dp=2,tp=2", "dp", STEP_REDUCE_SCATTER, BYTES, "ring"},
    {"ring of two axes", "plain", "dp=2,tp=3", "dp tp", STEP_ALL_REDUCE, BYTES, "ring"},
    {"devices out of order", "plain", "[[0,3],[2,1]]", "x0 x1", STEP_ALL_REDUCE, BYTES, "ring"},
    {"devices far apart", "plain", "[[9,3],[2,70]]", "x1", STEP_ALL_REDUCE, BYTES, "ring"},
    {"everyone to everyone", "plain", "dp=2,tp=4", "tp", STEP_ALL_TO_ALL, BYTES, NULL},
    {"to everyone over nodes", "h100x8", "tp=16", "tp", STEP_ALL_TO_ALL, BYTES, NULL},
    {"large, through the switch", "h100x8", "tp=8", "tp", STEP_ALL_REDUCE, 1 << 28, "NVLS"},
    {"gather through the switch", "h100x8", "tp=8", "tp", STEP_ALL_GATHER, 1 << 28, NULL},
    {"small, a ring or a tree", "h100x8", "tp=8", "tp", STEP_ALL_REDUCE, 1024, NULL},
    {"small, over nodes", "h100x8", "tp=32", "tp", STEP_ALL_REDUCE, 1024, NULL},
    {"large, over nodes", "h100x8", "tp=16", "tp", STEP_ALL_REDUCE, 1 << 28, "NVLS tree"},
    {"one rank on each node", "h100x8", "dp=4,tp=8", "dp", STEP_ALL_GATHER, 1 << 16, NULL},
    {"of three nodes", "plain", "tp=12", "tp", STEP_ALL_REDUCE, BYTES, NULL},
};

static Machine machine_called(Arena *arena, const char *name)
{
    Machine machine = {.name = "plain", .devices_per_node = 4, .memory_bytes_per_s = 1e12};
    machine.inside = (Link){.name = "in", .latency_us = 2, .bytes_per_s = 400e9};
    machine.between = (Link){.name = "out", .latency_us = 5, .bytes_per_s = 50e9};
    if (strcmp(name, "plain") != 0)
        assert_true(shipped_machine(arena, name, &machine, NULL));
    return machine;
}

static Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {"-m", str_from(text)};
    Mesh *mesh = mesh_parse(arena, &source, NULL);
    assert_non_null(mesh);
    return mesh;
}

static AtomSet atoms_of(const Mesh *mesh, const char *axes)
{
    AtomSet atoms = 0;
    for (int a = 0; a < mesh->n_axes; a++)
        if (str_has_word(str_from(axes), str_from(mesh->axes[a].name)))
            atoms |= mesh_axis_atoms(mesh, a);
    return atoms;
}

typedef struct {
    double sent[PLACES_MAX][PLACES_MAX], to_switch[PLACES_MAX];
} Seen;

static void see(void *context, int64_t from, int64_t to, double bytes)
{
    Seen *seen = context;
    assert_in_range(from, 0, PLACES_MAX - 1);
    assert_true(bytes > 0);
    if (to == TRAFFIC_SWITCH) {
        seen->to_switch[from] += bytes;
        return;
    }
    assert_in_range(to, 0, PLACES_MAX - 1);
    assert_true(from != to);
    seen->sent[from][to] += bytes;
}

/* Whether two places differ in these atoms only. */
static bool in_one_group(const Mesh *mesh, AtomSet atoms, int64_t a, int64_t b)
{
    for (int i = 0; i < mesh->n_atoms; i++)
        if (!(atoms >> i & 1) && mesh_atom_coord(mesh, i, a) != mesh_atom_coord(mesh, i, b))
            return false;
    return true;
}

static void close_over(bool reach[PLACES_MAX][PLACES_MAX], int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
}

/* Those of a path of one step on the whole mesh. */
static void flows_of_step(const Plan *plan, const Step *step, TrafficVisit *visit, Seen *seen)
{
    static const SubMesh whole[] = {{0}};
    Plan with = *plan;
    Decided decided = {.n_submeshes = 1};
    decided.submeshes = whole;
    with.decided = &decided;
    ReshardPath path = {.n_steps = 1, .step = step};
    traffic_transfers(&with, &(Reshard){.path = &path}, 0, visit, seen);
}

/* Flows stay in groups; in a group what one has can come to every other; all bytes are there. */
static void flows_are_those_of_the_algorithm(void **state)
{
    const FlowRow *row = *state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, row->mesh);
    Machine machine = machine_called(arena, row->machine);
    AtomSet atoms = atoms_of(mesh, row->axes);
    Plan plan = {.mesh = mesh, .machine = &machine};
    Price price = price_step(&machine, mesh, row->kind, atoms, row->bytes);
    Step step = {.kind = row->kind, .atoms = atoms, .bytes = row->bytes};
    step.wire_bytes = price.wire_bytes;
    if (row->algorithm && !str_starts(str_from(price.algorithm), str_from(row->algorithm)))
        fail_msg("it is %s", price.algorithm);
    Seen *seen = arena_make(arena, Seen);
    flows_of_step(&plan, &step, see, seen);
    static bool reach[PLACES_MAX][PLACES_MAX];
    memset(reach, 0, sizeof reach);
    double sum = 0, out[PLACES_MAX] = {0};
    bool switched = false;
    for (int64_t i = 0; i < mesh->n_devices; i++) {
        switched = switched || seen->to_switch[i] > 0;
        for (int64_t j = 0; j < mesh->n_devices; j++) {
            assert_true(seen->sent[i][j] == 0 || in_one_group(mesh, atoms, i, j));
            bool same_switch = seen->to_switch[i] > 0 && seen->to_switch[j] > 0 &&
                               in_one_group(mesh, atoms, i, j) &&
                               mesh_device(mesh, i) / 8 == mesh_device(mesh, j) / 8;
            reach[i][j] = i == j || seen->sent[i][j] > 0 || same_switch;
            out[i] += seen->sent[i][j];
        }
        sum += out[i];
    }
    close_over(reach, mesh->n_devices);
    for (int64_t i = 0; i < mesh->n_devices; i++)
        for (int64_t j = 0; j < mesh->n_devices; j++)
            assert_int_equal(reach[i][j], in_one_group(mesh, atoms, i, j));
    if (!switched)
        assert_true(fabs(sum - (double)mesh->n_devices * (double)step.wire_bytes) <
                    (double)mesh->n_devices);
    if (row->kind == STEP_ALL_TO_ALL)
        for (int64_t i = 0; i < mesh->n_devices; i++)
            assert_true(fabs(out[i] - (double)step.wire_bytes) < 2);
    arena_free(arena);
}

static void a_permute_goes_to_who_wants_it(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, "a=2,b=3,c=2");
    Machine machine = machine_called(arena, "plain");
    Plan plan = {.mesh = mesh, .machine = &machine, .shardings = shardings_new(arena)};
    static const char *const texts[] = {"12/a.b,4/c", "12/b.a,4/c", "12/c.b,4/a", "12/b.c,4/a"};
    Shape shape = {.n_dims = 2, .dim = {12, 4}};
    int32_t ids[COUNT_OF(texts)];
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        Source source = {"sharding", str_from(texts[i])};
        Sharding sharding;
        assert_true(sharding_parse(&source, &shape, mesh, VIEW_OURS, &sharding, NULL));
        ids[i] = shardings_put(plan.shardings, &sharding);
    }
    for (size_t f = 0; f < COUNT_OF(texts); f++)
        for (size_t t = 0; t < COUNT_OF(texts); t++) {
            if ((f < 2) != (t < 2) || f == t)
                continue; /* other parts */
            Step step = {.kind = STEP_PERMUTE, .bytes = 16, .wire_bytes = 16};
            step.from = ids[f];
            step.to = ids[t];
            step.atoms = atoms_of(mesh, "a b c");
            Seen *seen = arena_make(arena, Seen);
            flows_of_step(&plan, &step, see, seen);
            for (int64_t i = 0; i < mesh->n_devices; i++)
                for (int64_t j = 0; j < mesh->n_devices; j++) {
                    int same = 0;
                    for (int d = 0; d < 2; d++) {
                        int64_t a, b, lo, hi;
                        digit_interval(&shardings_at(plan.shardings, ids[f])->dim[d].digit[0], mesh,
                                       i, &a, &b);
                        digit_interval(&shardings_at(plan.shardings, ids[t])->dim[d].digit[0], mesh,
                                       j, &lo, &hi);
                        same += a == lo && b == hi;
                    }
                    assert_true((seen->sent[i][j] > 0) == (same == 2 && i != j));
                }
        }
    arena_free(arena);
}

/* Sums of the plan against the flows of each of its steps, one after the other. */
static void sums_of_a_plan_are_those_of_its_steps(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    static const SessionOptions options[] = {
        {.model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4", .policy = "megatron"},
        {.model = "samples/models/tiny-gpt.onnx", .mesh = "dp=4,tp=4", .policy = "fsdp"},
        {.model = "samples/models/tiny-gpt.onnx", .mesh = "x=1"}};
    for (size_t o = 0; o < COUNT_OF(options); o++) {
        Session *session = session_open(&options[o], &hooks, NULL);
        assert_non_null(session);
        const Plan *plan = session->plan;
        int n = (int)session->mesh->n_devices;
        double in_matrix = 0, in_halves = 0, us = 0;
        Seen *seen = arena_make(arena, Seen);
        for (int r = 0; r < plan->moved->n_reshards; r++) {
            for (int s = 0; s < plan->moved->reshards[r].path->n_steps; s++)
                traffic_transfers(plan, &plan->moved->reshards[r], s, see, seen);
        }
        Traffic traffic = traffic_of_plan(arena, plan, n);
        Traffic halved = traffic_of_plan(arena, plan, 2 < n ? 2 : n);
        double to_switch = 0;
        for (int i = 0; i < n; i++) {
            to_switch += seen->to_switch[i];
            for (int j = 0; j < n; j++) {
                in_matrix += traffic.pair[i * n + j];
                assert_true(fabs(traffic.pair[i * n + j] - seen->sent[i][j]) < 1);
            }
        }
        for (int i = 0; i < halved.n_buckets * halved.n_buckets; i++)
            in_halves += halved.pair[i];
        for (int a = 0; a < traffic.n_axes; a++)
            us += traffic.axis[a].us;
        double links = traffic.sent.inside + traffic.sent.between;
        assert_true(fabs(links - in_matrix) <= 1e-9 * in_matrix);
        assert_true(fabs(links - in_halves) <= 1e-9 * in_halves);
        assert_true(fabs(traffic.sent.to_switch - to_switch) <= 1e-9 * to_switch);
        assert_true(fabs(us - plan->priced->totals.comm_us) <= 1e-6 * us);
        session_close(session);
    }
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_permute_goes_to_who_wants_it),
        cmocka_unit_test(sums_of_a_plan_are_those_of_its_steps),
    };
    int failed = run_rows("flows", flow_rows, flows_are_those_of_the_algorithm);
    return failed + cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
