#include "core/peers/alpa/strategies.h"

#include <math.h>

enum { STRATEGIES_MOST = 8000, OPTIONS_MAX = X_MAX + (X_MAX + 1) * (DIMS_MAX + 3) };

/* What an op may do with an axis. */
typedef struct {
    int index;    /* the index dim that it cuts; -1: none */
    int partial;  /* -1: no operand is partial; -2: all linear ones; else that operand */
    bool sums;    /* the result is partial and becomes: */
    int8_t after; /* a dim, PLACE_WHOLE, PLACE_PARTIAL */
} AxisOption;

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    const AlpaCosts *costs;
    const HloSpace *hlo;
    int n_options[MESH_AXES_MAX];
    AxisOption *option[MESH_AXES_MAX];
    const AxisOption *chosen[MESH_AXES_MAX];
    AlpaStrategies *out;
    int64_t n_tried;
} OpStrategies;

double alpa_bytes(const Shape *shape)
{
    double bytes = 4;
    for (int d = 0; d < shape->n_dims; d++)
        bytes *= (double)shape->dim[d];
    return bytes;
}

double alpa_shards(const Mesh *mesh, const AlpaLayout *layout, int without_axis)
{
    double shards = 1;
    for (int a = 0; a < mesh->n_axes; a++)
        if (a != without_axis && layout->place[a] >= 0)
            shards *= (double)mesh->axes[a].size;
    return shards;
}

bool alpa_layout_equal(const AlpaLayout *a, const AlpaLayout *b, const Mesh *mesh)
{
    return memcmp(a->place, b->place, (size_t)mesh->n_axes) == 0;
}

/* Each dim has as many elements as shards, or more. */
static bool is_possible(const Mesh *mesh, const Shape *shape, const AlpaLayout *layout)
{
    for (int d = 0; d < shape->n_dims; d++) {
        double shards = 1;
        for (int a = 0; a < mesh->n_axes; a++)
            shards *= layout->place[a] == d ? (double)mesh->axes[a].size : 1;
        if (shards > (double)shape->dim[d])
            return false;
    }
    return true;
}

double alpa_use_cost(const Mesh *mesh, const AlpaCosts *costs, const Shape *shape,
                     const AlpaLayout *made, const AlpaLayout *wanted)
{
    double sum = 0;
    for (int a = 0; a < mesh->n_axes; a++) {
        int8_t from = made->place[a], to = wanted->place[a];
        double n = (double)mesh->axes[a].size;
        if (from == to || (from == PLACE_WHOLE && to >= 0))
            continue;
        if (from == PLACE_PARTIAL || to == PLACE_PARTIAL)
            return INFINITY;
        sum +=
            costs->all_gather >= 0
                ? costs->all_gather
                : floor(costs->alpha[a] + costs->beta[a] * (n - 1) / n * alpa_bytes(shape)) + 0.1;
    }
    return sum;
}

/* ---- what an axis may do ---- */

static void add_option(OpStrategies *s, int axis, AxisOption option)
{
    s->option[axis][s->n_options[axis]++] = option;
}

/* The result is partial: all that may become of it. */
static void add_sums(OpStrategies *s, int axis, int index, int partial)
{
    const Shape *shape = &opspace_output(s->hlo->space, 0)->shape;
    for (int place = PLACE_PARTIAL; place < shape->n_dims; place++)
        if (place < 0 || shape->dim[place] >= s->mesh->axes[axis].size)
            add_option(s, axis, (AxisOption){index, partial, true, (int8_t)place});
}

static void list_options(OpStrategies *s, int axis)
{
    const OpSpace *space = s->hlo->space;
    s->option[axis] = arena_array(s->arena, AxisOption, OPTIONS_MAX);
    if (s->mesh->axes[axis].size == 1) {
        add_option(s, axis, (AxisOption){-1, -1, false, PLACE_WHOLE});
        return;
    }
    for (int i = 0; i < space->n_index; i++) {
        if (space->index[i].size < s->mesh->axes[axis].size)
            continue;
        if (space->index[i].role == ROLE_REDUCE)
            add_sums(s, axis, i, -1);
        else
            add_option(s, axis, (AxisOption){i, -1, false, PLACE_WHOLE});
    }
    if (!s->hlo->always_cut)
        add_option(s, axis, (AxisOption){-1, -1, false, PLACE_WHOLE});
    bool together = false;
    for (int t = 0; t < space->n_inputs && t < X_MAX; t++) {
        together = together || space->operand[t].linear == LINEAR_TOGETHER;
        if (space->operand[t].linear == LINEAR_ALONE)
            add_sums(s, axis, -1, t);
    }
    if (together)
        add_sums(s, axis, -1, -2);
}

/* ---- what a strategy means for an operand ---- */

/* Whether the index dims before `at` in the dim are cut to single elements by the axes before
 * `axis`, and those after it not cut by them: only then is the cut a cut of the dim. */
static bool in_order(const OpStrategies *s, const DimFactors *dim, int at, int axis)
{
    for (int k = 0; k < dim->n; k++) {
        double parts = 1;
        for (int a = 0; a < axis; a++)
            parts *= s->chosen[a]->index == dim->index[k] ? (double)s->mesh->axes[a].size : 1;
        if (k < at && parts != (double)s->hlo->space->index[dim->index[k]].size)
            return false;
        if (k > at && parts != 1)
            return false;
    }
    return true;
}

/* False if a cut of an index dim is no cut of the operand's dim. */
static bool project(const OpStrategies *s, int operand, AlpaLayout *out)
{
    const Operand *o = &s->hlo->space->operand[operand];
    for (int a = 0; a < s->mesh->n_axes; a++) {
        out->place[a] = PLACE_WHOLE;
        for (int d = 0; d < o->shape.n_dims; d++)
            for (int k = 0; k < o->factors[d].n; k++) {
                if (s->chosen[a]->index < 0 || o->factors[d].index[k] != s->chosen[a]->index)
                    continue;
                if (!in_order(s, &o->factors[d], k, a))
                    return false;
                out->place[a] = (int8_t)d;
            }
        bool partial = s->chosen[a]->partial == operand ||
                       (s->chosen[a]->partial == -2 && o->linear == LINEAR_TOGETHER);
        if (partial && operand < s->hlo->space->n_inputs)
            out->place[a] = PLACE_PARTIAL;
    }
    return is_possible(s->mesh, &o->shape, out);
}

static double sums_cost(const OpStrategies *s, const AlpaLayout *made)
{
    double bytes = alpa_bytes(&opspace_output(s->hlo->space, 0)->shape), sum = 0;
    for (int a = 0; a < s->mesh->n_axes; a++) {
        double n = (double)s->mesh->axes[a].size, b = bytes / alpa_shards(s->mesh, made, a);
        if (!s->chosen[a]->sums || made->place[a] == PLACE_PARTIAL)
            continue;
        double once = s->costs->beta[a] * (n - 1) / n * b;
        sum += made->place[a] == PLACE_WHOLE ? floor(s->costs->alpha[a] + 2 * once) + 0.01
                                             : floor(s->costs->alpha[a] + once) + 0.001;
    }
    return sum;
}

static void keep_cheapest(OpStrategies *s, const AlpaStrategy *strategy)
{
    int n_inputs = s->hlo->space->n_inputs;
    for (int i = 0; i < s->out->n; i++) {
        AlpaStrategy *old = &s->out->at[i];
        bool equal = alpa_layout_equal(&old->made, &strategy->made, s->mesh);
        for (int t = 0; t < n_inputs && equal; t++)
            equal = alpa_layout_equal(&old->wanted[t], &strategy->wanted[t], s->mesh);
        if (equal) {
            old->cost = fmin(old->cost, strategy->cost);
            return;
        }
    }
    vec_push(s->arena, s->out, *strategy);
}

/* Every axis has its option: the strategy that they are, if they are one. */
static void try_strategy(OpStrategies *s)
{
    const OpSpace *space = s->hlo->space;
    AlpaLayout *wanted = arena_array(s->arena, AlpaLayout, space->n_inputs);
    AlpaStrategy strategy = {.wanted = wanted};
    for (int i = 0; i < space->n_index; i++) {
        double parts = 1;
        for (int a = 0; a < s->mesh->n_axes; a++)
            parts *= s->chosen[a]->index == i ? (double)s->mesh->axes[a].size : 1;
        if (parts > (double)space->index[i].size)
            return;
    }
    for (int t = 0; t < space->n_inputs; t++)
        if (!project(s, t, &wanted[t]))
            return;
    if (!project(s, space->n_inputs, &strategy.made))
        return;
    for (int a = 0; a < s->mesh->n_axes; a++)
        if (s->chosen[a]->sums)
            strategy.made.place[a] = s->chosen[a]->after;
    if (!is_possible(s->mesh, &opspace_output(space, 0)->shape, &strategy.made))
        return;
    strategy.cost = sums_cost(s, &strategy.made);
    keep_cheapest(s, &strategy);
}

static bool try_all(OpStrategies *s, Error *err)
{
    double n = 1;
    int place[MESH_AXES_MAX] = {0}, n_axes = s->mesh->n_axes;
    for (int a = 0; a < n_axes; a++)
        n *= s->n_options[a];
    if (n > STRATEGIES_MOST)
        return error_kind(err, ERROR_UNSUPPORTED, "an op has %.3g ways to be sharded, more than %d",
                          n, STRATEGIES_MOST);
    for (int64_t i = 0; i < (int64_t)n; i++) {
        for (int a = 0; a < n_axes; a++)
            s->chosen[a] = &s->option[a][place[a]];
        try_strategy(s);
        for (int a = n_axes - 1; a >= 0 && ++place[a] == s->n_options[a]; a--)
            place[a] = 0;
    }
    return true;
}

bool alpa_op_strategies(Arena *arena, const Mesh *mesh, const AlpaCosts *costs, const HloSpace *hlo,
                        AlpaStrategies *out, Error *err)
{
    OpStrategies s = {.arena = arena, .mesh = mesh, .costs = costs, .hlo = hlo, .out = out};
    *out = (AlpaStrategies){0};
    for (int a = 0; a < mesh->n_axes; a++)
        list_options(&s, a);
    return try_all(&s, err);
}

bool alpa_input_strategies(Arena *arena, const Mesh *mesh, const Shape *shape, AlpaStrategies *out,
                           Error *err)
{
    static const AlpaCosts free_costs = {.all_gather = 0};
    HloSpace constant;
    return hlo_space(arena, STR("constant"), 0, NULL, shape, NULL, &constant, err) &&
           alpa_op_strategies(arena, mesh, &free_costs, &constant, out, err);
}
