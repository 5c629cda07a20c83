/* Steps between layouts [R,V,D1..Dn], executed: a device holds, for each element of its shard, the
 * set of addends it has summed; a group works only with what its members hold, and at the end each
 * device holds the elements of its cell, and the addends of a value lie on its V devices, each
 * once. Paths are compared with all others by brute force. */
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include "core/peers/nnscaler/rvd.h"

enum { DEVICES_MAX = 16, ELEMENTS_MAX = 512, DEVICE_NUMBERS = 64 };

/* By device and element. 0: not held. A part of zeros is held too. */
typedef struct {
    bool held[DEVICE_NUMBERS][ELEMENTS_MAX];
    uint32_t addends[DEVICE_NUMBERS][ELEMENTS_MAX];
} Memory;

static Memory memory, after;

static int64_t coordinate(const Rvd *rvd, int component, int64_t cell)
{
    for (int i = rvd->n - 1; i > component; i--)
        cell /= rvd->at[i];
    return cell % rvd->at[component];
}

static bool cell_holds(const Rvd *rvd, const Shape *shape, int64_t cell, int64_t element)
{
    for (int d = (int)shape->n_dims - 1; d >= 0; d--) {
        int64_t index = element % shape->dim[d], part = shape->dim[d] / rvd->at[d + 2];
        element /= shape->dim[d];
        if (index / part != coordinate(rvd, d + 2, cell))
            return false;
    }
    return true;
}

static void start(const RvdRequest *request)
{
    memset(&memory, 0, sizeof memory);
    for (int64_t cell = 0; cell < rvd_devices(&request->from); cell++) {
        int32_t device = request->from_devices ? request->from_devices[cell] : (int32_t)cell;
        for (int64_t e = 0; e < shape_elements(&request->shape); e++) {
            memory.held[device][e] = cell_holds(&request->from, &request->shape, cell, e);
            if (memory.held[device][e])
                memory.addends[device][e] = 1u << coordinate(&request->from, 1, cell);
        }
    }
}

/* What part `part` of n of what `device` holds along dim d is: elements come in order, so that
 * the indices along d that it holds are counted off. */
static bool in_part(const Shape *shape, int32_t device, int d, int64_t part, int64_t n, int64_t e)
{
    int64_t stride = 1, n_held = 0, before = 0;
    for (int i = (int)shape->n_dims - 1; i > d; i--)
        stride *= shape->dim[i];
    int64_t index = e / stride % shape->dim[d], base = e - index * stride;
    for (int64_t i = 0; i < shape->dim[d]; i++) {
        n_held += memory.held[device][base + i * stride];
        before += i < index && memory.held[device][base + i * stride];
    }
    assert_int_equal(n_held % n, 0);
    return memory.held[device][e] && before / (n_held / n) == part;
}

static void take(int32_t target, int64_t e, uint32_t addends)
{
    after.held[target][e] = true;
    assert_int_equal(after.addends[target][e] & addends, 0); /* nothing is summed twice */
    after.addends[target][e] |= addends;
}

/* A step within a set on one group: member i has part i of what shrinks, and takes part i of what
 * grows. */
static void work(const RvdStep *step, const Shape *shape, const int32_t *member)
{
    int n = step->n_sources;
    for (int i = 0; i < n; i++)
        for (int64_t e = 0; e < shape_elements(shape); e++) {
            bool mine = true, sums = step->shrinks == 1;
            int32_t source = -1;
            for (int k = 0; k < n; k++)
                if (memory.held[member[k]][e] && (step->shrinks > 1 || k == i))
                    source = member[k];
            if (sums && memory.held[member[i]][e])
                source = member[i];
            if (source < 0)
                continue;
            if (step->grows > 1)
                mine = in_part(shape, source, step->grows - 2, i, n, e);
            if (!mine)
                continue;
            for (int k = 0; sums && k < n; k++)
                take(member[i], e, memory.addends[member[k]][e]);
            if (!sums)
                take(member[i], e, step->grows == 1 && i > 0 ? 0 : memory.addends[source][e]);
        }
}

/* A crossing: sources, then targets. */
static void cross(const RvdStep *step, const Shape *shape, const int32_t *group)
{
    const int32_t *target = group + step->n_sources;
    for (int i = 0; i < step->n_targets; i++)
        for (int k = 0; k < step->n_sources; k++)
            for (int64_t e = 0; e < shape_elements(shape); e++) {
                if (!memory.held[group[k]][e])
                    continue;
                if (step->kind == RVD_RDSCATTER &&
                    !in_part(shape, group[k], step->grows - 2, i, step->n_targets, e))
                    continue;
                bool zero = step->kind == RVD_RVSCATTER && i > 0;
                take(target[i], e, zero ? 0 : memory.addends[group[k]][e]);
            }
}

static void execute(const RvdPlan *plan, const Shape *shape)
{
    for (int s = 0; s < plan->n_steps; s++) {
        const RvdStep *step = &plan->step[s];
        bool crosses = rvd_kind_crosses(step->kind);
        int row = step->n_sources + (crosses ? step->n_targets : 0);
        memset(&after, 0, sizeof after);
        for (int g = 0; g < step->n_groups; g++)
            (crosses ? cross : work)(step, shape, step->device + g * row);
        memory = after;
    }
}

static void check_end(const RvdRequest *request)
{
    const Rvd *to = &request->to;
    const int32_t *device = request->to_devices ? request->to_devices : request->from_devices;
    uint32_t whole = (1u << request->from.at[1]) - 1;
    int64_t n = rvd_devices(to), n_contents = n / to->at[0] / to->at[1];
    for (int64_t e = 0; e < shape_elements(&request->shape); e++)
        for (int64_t r = 0; r < to->at[0]; r++)
            for (int64_t c = 0; c < n_contents; c++) {
                uint32_t sum = 0;
                bool here = cell_holds(to, &request->shape, c, e);
                for (int64_t v = 0; v < to->at[1]; v++) {
                    int64_t cell = (r * to->at[1] + v) * n_contents + c;
                    int32_t at = device ? device[cell] : (int32_t)cell;
                    assert_int_equal(memory.held[at][e], here);
                    assert_int_equal(sum & memory.addends[at][e], 0);
                    sum |= memory.addends[at][e];
                }
                assert_int_equal(sum, here ? whole : 0);
            }
}

static void check_cost(const RvdPlan *plan, const Shape *shape, int64_t crossing_factor)
{
    int64_t path = 0, steps = 0;
    for (int i = 0; i + 1 < plan->n_path; i++)
        path += rvd_step_cost(shape, &plan->path[i], &plan->path[i + 1],
                              i + 1 == plan->n_from ? crossing_factor : 0);
    for (int i = 0; i < plan->n_steps; i++) {
        bool crosses = rvd_kind_crosses(plan->step[i].kind);
        steps += rvd_step_cost(shape, &plan->step[i].from, &plan->step[i].to,
                               crosses ? crossing_factor : 0);
    }
    assert_int_equal(path, plan->cost);
    assert_int_equal(steps, plan->steps_cost);
    if (plan->direct)
        assert_int_equal(path, steps);
}

static Rvd random_layout(const Shape *shape, int64_t n_devices)
{
    Rvd rvd = {.n = (int)shape->n_dims + 2, .at = {1, 1, 1, 1, 1}};
    for (int64_t left = n_devices, prime = 2; left > 1; left /= prime) {
        prime = left % 2 == 0 ? 2 : left;
        int i = pick(rvd.n);
        while (i > 1 && shape->dim[i - 2] % (rvd.at[i] * prime) != 0)
            i = pick(rvd.n);
        rvd.at[i] *= prime;
    }
    return rvd;
}

static void shuffled(int32_t *device, int n, int32_t first)
{
    for (int i = 0; i < n; i++)
        device[i] = first + i;
    for (int i = n - 1; i > 0 && pick(3) == 0; i--) {
        int k = pick(i + 1);
        int32_t swap = device[i];
        device[i] = device[k];
        device[k] = swap;
    }
}

static int seen_kinds;

static void run(const RvdRequest *request)
{
    Arena *arena = arena_new();
    RvdPlan plan;
    Error err = {0};
    if (!rvd_reshard(arena, request, &plan, &err))
        fail_msg("%s", err.text);
    bool crosses = plan.n_from < plan.n_path;
    check_cost(&plan, &request->shape, !crosses ? 0 : request->async_comm ? 1 : 24);
    start(request);
    execute(&plan, &request->shape);
    check_end(request);
    for (int i = 0; i < plan.n_steps; i++)
        seen_kinds |= 1 << plan.step[i].kind;
    arena_free(arena);
}

static const Shape shapes[] = {{.n_dims = 1, .dim = {48}},
                               {.n_dims = 2, .dim = {8, 12}},
                               {.n_dims = 3, .dim = {4, 6, 8}},
                               {.n_dims = 0}};

static void steps_within_a_set_end_on_the_right_devices(void **state)
{
    (void)state;
    seed = 3;
    static const int counts[] = {1, 2, 4, 6, 8, 16};
    for (int i = 0; i < 3000; i++) {
        int32_t from[DEVICES_MAX], to[DEVICES_MAX];
        int n = counts[pick(COUNT_OF(counts))];
        RvdRequest request = {.shape = shapes[pick(COUNT_OF(shapes))]};
        request.from = random_layout(&request.shape, n);
        request.to = random_layout(&request.shape, n);
        shuffled(from, n, 5);
        shuffled(to, n, 5);
        request.from_devices = from;
        request.n_from_devices = n;
        if (pick(2) == 0) {
            request.to_devices = to;
            request.n_to_devices = n;
        }
        run(&request);
    }
}

static void steps_between_sets_end_on_the_right_devices(void **state)
{
    (void)state;
    seed = 4;
    seen_kinds = 0;
    for (int i = 0; i < 3000; i++) {
        int32_t from[DEVICES_MAX], to[DEVICES_MAX];
        RvdRequest request = {.shape = shapes[pick(COUNT_OF(shapes))], .async_comm = pick(2)};
        request.n_from_devices = 1 << pick(4);
        request.n_to_devices = 1 << pick(4);
        request.from = random_layout(&request.shape, request.n_from_devices);
        request.to = random_layout(&request.shape, request.n_to_devices);
        shuffled(from, request.n_from_devices, 0);
        shuffled(to, request.n_to_devices, 20);
        request.from_devices = from;
        request.to_devices = to;
        run(&request);
    }
    assert_int_equal(seen_kinds, (1 << RVD_NONE) - 1); /* of every kind */
}

/* The least cost by relaxing all pairs of layouts until nothing changes. */
static int64_t brute_force(const Shape *shape, const Rvd *layout, int n, int from, int to)
{
    int64_t cost[200];
    for (int i = 0; i < n; i++)
        cost[i] = i == from ? 0 : INT64_MAX / 2;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++) {
                if (rvd_kind(&layout[i], &layout[k], false, NULL, NULL) == RVD_NONE)
                    continue;
                int64_t via = cost[i] + rvd_step_cost(shape, &layout[i], &layout[k], 0);
                if (via < cost[k]) {
                    cost[k] = via;
                    changed = true;
                }
            }
    }
    return cost[to];
}

static void no_path_is_cheaper(void **state)
{
    (void)state;
    Shape shape = {.n_dims = 2, .dim = {12, 8}};
    Rvd layout[200];
    int n = 0;
    for (int64_t r = 1; r <= 12; r++)
        for (int64_t v = 1; v <= 12; v++)
            for (int64_t a = 1; a <= 12; a++)
                for (int64_t b = 1; b <= 8; b++)
                    if (r * v * a * b == 12 && 12 % a == 0 && 8 % b == 0)
                        layout[n++] = (Rvd){4, {r, v, a, b}};
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            Arena *arena = arena_new();
            RvdPlan plan;
            assert_true(rvd_search(arena, &shape, &layout[from], &layout[to], 0, &plan, NULL));
            assert_int_equal(plan.cost, brute_force(&shape, layout, n, from, to));
            arena_free(arena);
        }
}

/* ---- requests that are refused ---- */

typedef struct {
    const char *name;
    RvdRequest request;
    ErrorKind want;
} Refusal;

static int32_t twice[] = {0, 1, 1, 2}, first[] = {0, 1, 2, 3}, second[] = {3, 4, 5, 6};
#define SHAPE                                                                                      \
    {                                                                                              \
        .n_dims = 2, .dim = { 8, 6 }                                                               \
    }

static Refusal refusals[] = {
    {"too few parts",
     {.shape = SHAPE, .from = {3, {1, 1, 4}}, .to = {4, {4, 1, 1, 1}}},
     ERROR_RANK},
    {"another number of devices",
     {.shape = SHAPE, .from = {4, {1, 1, 4, 1}}, .to = {4, {2, 1, 1, 1}}},
     ERROR_OUT_OF_RANGE},
    {"parts that do not divide",
     {.shape = SHAPE, .from = {4, {1, 1, 1, 4}}, .to = {4, {4, 1, 1, 1}}},
     ERROR_NOT_DIVISIBLE},
    {"no part at all",
     {.shape = SHAPE, .from = {4, {0, 1, 1, 4}}, .to = {4, {4, 1, 1, 1}}},
     ERROR_OUT_OF_RANGE},
    {"a device twice",
     {.shape = SHAPE,
      .from = {4, {1, 1, 4, 1}},
      .to = {4, {4, 1, 1, 1}},
      .from_devices = twice,
      .n_from_devices = 4},
     ERROR_OUT_OF_RANGE},
    {"sets that overlap in part",
     {.shape = SHAPE,
      .from = {4, {1, 1, 4, 1}},
      .to = {4, {4, 1, 1, 1}},
      .from_devices = first,
      .n_from_devices = 4,
      .to_devices = second,
      .n_to_devices = 4},
     ERROR_UNSUPPORTED},
    {"2 devices to 3",
     {.shape = SHAPE,
      .from = {4, {2, 1, 1, 1}},
      .to = {4, {1, 1, 1, 3}},
      .from_devices = first,
      .n_from_devices = 2,
      .to_devices = second,
      .n_to_devices = 3},
     ERROR_UNSUPPORTED},
};

static void is_refused(void **state)
{
    const Refusal *row = *state;
    Arena *arena = arena_new();
    RvdPlan plan;
    Error err = {0};
    assert_false(rvd_reshard(arena, &row->request, &plan, &err));
    assert_string_equal(error_kind_name(err.kind), error_kind_name(row->want));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_within_a_set_end_on_the_right_devices),
        cmocka_unit_test(steps_between_sets_end_on_the_right_devices),
        cmocka_unit_test(no_path_is_cheaper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + run_rows("refused", refusals, is_refused);
}
