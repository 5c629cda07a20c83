#include "core/cost/mesh_order.h"

#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/cost/op_declared.h"
#include "core/cost/pipeline.h"
#include "core/plan/plan_findings.h"
#include "core/plan/stage.h"

static const double worth = 0.95; /* the step in the best order over the step as it is, up to which
                                     there is a finding */

/* ---- what the plan communicates ---- */

/* All collectives of one kind, over the same axes, with the same payload. */
typedef struct {
    StepKind kind;
    AtomSet atoms;
    int64_t bytes;
    double times; /* in one step of the model */
} EqualSteps;

typedef struct {
    Arena *scratch;
    Intern *ids;
    Vec(EqualSteps) list;
} StepCounts;

static void count_step(StepCounts *counts, StepKind kind, AtomSet atoms, int64_t bytes, double n)
{
    int64_t key[3] = {(int64_t)kind, (int64_t)atoms, bytes};
    int32_t id = intern_put(counts->ids, key, sizeof key);
    if (id == counts->list.n)
        vec_push(counts->scratch, &counts->list, ((EqualSteps){kind, atoms, bytes, 0}));
    assert(counts->list.at);
    counts->list.at[id].times += n;
}

static StepCounts count_steps(Arena *scratch, const Plan *plan)
{
    StepCounts counts = {.scratch = scratch, .ids = intern_new(scratch)};
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        double n = reshard_repeat(plan, reshard);
        for (int s = 0; s < reshard->path->n_steps; s++) {
            const Step *step = &reshard->path->step[s];
            if (step->kind != STEP_SLICE)
                count_step(&counts, step->kind, step->atoms, step->bytes, n);
        }
    }
    for (int i = 0; plan->priced->declared && i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        const OpDeclared *declared = op_declared(plan, op);
        for (int c = 0; declared && c < declared->n_comms; c++)
            count_step(&counts, declared->comm[c].kind, declared->comm[c].atoms,
                       declared->comm[c].bytes, inferred_repeat(plan->inferred, op));
    }
    return counts;
}

/* ---- orders of the axes ---- */

/* The plan's mesh with its axes in another order, and where its atoms are in it. */
typedef struct {
    const Machine *machine;
    const Mesh *mesh;
    uint8_t atom[ATOMS_MAX]; /* by atom of the plan's mesh */
} Order;

static AtomSet atoms_in(const Order *order, AtomSet atoms)
{
    AtomSet out = 0;
    for (int i = 0; atoms >> i; i++)
        if (atoms >> i & 1)
            out |= (AtomSet)1 << order->atom[i];
    return out;
}

static double step_us(const Order *order, StepKind kind, AtomSet atoms, int64_t bytes)
{
    return price_step(order->machine, order->mesh, kind, atoms_in(order, atoms), bytes).us;
}

/* Axes of one device come first: where they stand changes nothing. */
static Order order_of(Arena *scratch, const Plan *plan, const int *axis, int n)
{
    const Mesh *from = plan->mesh;
    Mesh *mesh = mesh_new(scratch);
    Order order = {.machine = plan->machine, .mesh = mesh};
    for (int a = 0; a < from->n_axes; a++)
        if (from->axes[a].size == 1)
            mesh_add_axis(mesh, scratch, str_from(from->axes[a].name), 1, NULL);
    for (int i = 0; i < n; i++) {
        const MeshAxis *it = &from->axes[axis[i]];
        mesh_add_axis(mesh, scratch, str_from(it->name), it->size, NULL);
        for (int k = 0; k < it->n_atoms; k++)
            order.atom[it->atom + k] = (uint8_t)(mesh->axes[mesh->n_axes - 1].atom + k);
    }
    return order;
}

static double comm_us(const Order *order, const StepCounts *counts)
{
    double us = 0;
    for (int i = 0; i < counts->list.n; i++) {
        const EqualSteps *steps = &counts->list.at[i];
        us += steps->times * step_us(order, steps->kind, steps->atoms, steps->bytes);
    }
    return us;
}

/* The axes of several devices: those that separate pipeline stages, then the others. */
static int list_axes(const Plan *plan, int *axis)
{
    AtomSet apart = stages_atoms(plan);
    int n = 0;
    for (int others = 0; others < 2; others++)
        for (int a = 0; a < plan->mesh->n_axes; a++) {
            bool separates = (mesh_axis_atoms(plan->mesh, a) & apart) != 0;
            if (plan->mesh->axes[a].size > 1 && separates == !others)
                axis[n++] = a;
        }
    return n;
}

static void swap(int *a, int *b)
{
    int kept = *a;
    *a = *b;
    *b = kept;
}

/* The next permutation of 0..n-1 in lexicographic order; false after the last. */
static bool next_permutation(int *place, int n)
{
    int i = n - 2, j = n - 1;
    while (i >= 0 && place[i] > place[i + 1])
        i--;
    if (i < 0)
        return false;
    while (place[j] < place[i])
        j--;
    swap(&place[i], &place[j]);
    for (int k = i + 1, end = n - 1; k < end; k++, end--)
        swap(&place[k], &place[end]);
    return true;
}

static Order cheapest_order(Arena *scratch, const Plan *plan, const StepCounts *counts,
                            double *least_us)
{
    int axis[MESH_AXES_MAX], place[MESH_AXES_MAX], in_order[MESH_AXES_MAX];
    int n = list_axes(plan, axis);
    Order best = {0};
    for (int i = 0; i < n; i++)
        place[i] = i;
    do {
        for (int i = 0; i < n; i++)
            in_order[i] = axis[place[i]];
        Order order = order_of(scratch, plan, in_order, n);
        double us = comm_us(&order, counts);
        if (!best.mesh || us < *least_us) {
            best = order;
            *least_us = us;
        }
    } while (next_permutation(place, n));
    return best;
}

/* ---- the time of a step ---- */

static const ReshardPath *path_in(Arena *scratch, const Order *order, const ReshardPath *path)
{
    ReshardPath *out = arena_make(scratch, ReshardPath);
    Step *step = arena_array(scratch, Step, path->n_steps);
    *out = *path;
    out->step = step;
    out->us = 0;
    for (int s = 0; s < path->n_steps; s++) {
        step[s] = path->step[s];
        step[s].us = step_us(order, step[s].kind, step[s].atoms, step[s].bytes) *
                     (step[s].turns > 0 ? step[s].turns : 1);
        out->us += step[s].us;
    }
    return out;
}

/* The reshards with the prices of the order: each path priced once. */
static const Moved *moved_in(Arena *scratch, const Plan *plan, const Order *order)
{
    Moved *out = arena_make(scratch, Moved);
    Intern *ids = intern_new(scratch);
    Vec(const ReshardPath *) paths = {0};
    *out = *plan->moved;
    out->reshards = arena_array(scratch, Reshard, out->n_reshards);
    for (int i = 0; i < out->n_reshards; i++) {
        out->reshards[i] = plan->moved->reshards[i];
        int32_t id = intern_put(ids, &out->reshards[i].path, sizeof out->reshards[i].path);
        if (id == paths.n)
            vec_push(scratch, &paths, path_in(scratch, order, out->reshards[i].path));
        assert(paths.at);
        out->reshards[i].path = paths.at[id];
    }
    return out;
}

static const OpDeclared *const *declared_in(Arena *scratch, const Plan *plan, const Order *order)
{
    if (!plan->priced->declared)
        return NULL;
    const OpDeclared **out = arena_array(scratch, const OpDeclared *, plan->inferred->graph->n_ops);
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        const OpDeclared *declared = op_declared(plan, op);
        if (!declared)
            continue;
        OpDeclared *priced = arena_make(scratch, OpDeclared);
        *priced = *declared;
        priced->comm_us = 0;
        for (int c = 0; c < declared->n_comms; c++)
            priced->comm_us += step_us(order, declared->comm[c].kind, declared->comm[c].atoms,
                                       declared->comm[c].bytes);
        out[op] = priced;
    }
    return out;
}

/* The step with the collectives priced in this order: without stages ops and collectives follow
 * each other, with stages the schedule is timed anew. */
static double whole_step_us(Arena *scratch, const Plan *plan, const Order *order, double comm)
{
    Plan copy = *plan;
    Priced priced = *plan->priced;
    if (!plan_schedule(plan))
        return plan->priced->totals.compute_us + comm;
    copy.arena = scratch;
    copy.findings = (Findings){0};
    copy.moved = moved_in(scratch, plan, order);
    priced.declared = declared_in(scratch, plan, order);
    copy.priced = &priced;
    priced.pipeline = pipeline_price(&copy);
    return plan_step_us(&copy);
}

/* ---- the finding ---- */

/* The axis whose collectives take longest, of those with groups on several nodes; -1 if none has.
 */
static int heaviest_axis(const Plan *plan, const StepCounts *counts, double *most_us)
{
    int heaviest = -1;
    *most_us = 0;
    for (int a = 0; a < plan->mesh->n_axes; a++) {
        AtomSet atoms = mesh_axis_atoms(plan->mesh, a);
        double us = 0;
        if (machine_group(plan->machine, plan->mesh, atoms).nodes < 2)
            continue;
        for (int i = 0; i < counts->list.n; i++) {
            const EqualSteps *steps = &counts->list.at[i];
            if (steps->atoms & atoms)
                us += steps->times *
                      price_step(plan->machine, plan->mesh, steps->kind, steps->atoms, steps->bytes)
                          .us;
        }
        if (us > *most_us) {
            *most_us = us;
            heaviest = a;
        }
    }
    return heaviest;
}

static void report(Plan *plan, int axis, double axis_us, const Order *best, double best_us)
{
    Buf order = buf_new(plan->arena), hint = buf_new(plan->arena), text = buf_new(plan->arena);
    mesh_format(best->mesh, &order);
    buf_printf(&hint, "-m %s", order.s);
    buf_printf(&text, "axis %s crosses nodes: its collectives take ", plan->mesh->axes[axis].name);
    units_format_us(axis_us, &text);
    buf_puts(&text, plan->decided->stages ? " a micro-batch, a step " : ", a step ");
    units_format_us(plan_step_us(plan), &text);
    buf_printf(&text, "; with the axes in the order %s a step takes at most ", order.s);
    units_format_us(best_us, &text);
    plan_find(plan, LEVEL_NOTE, "mesh-order", -1, -1, hint.s, "%s", text.s);
}

static bool is_looked_at(const Plan *plan)
{
    int axis[MESH_AXES_MAX], n = list_axes(plan, axis);
    return !plan->mesh->devices && n >= 2 && n <= MESH_ORDER_AXES &&
           plan->mesh->n_devices > plan->machine->devices_per_node;
}

void mesh_order_find(Plan *plan)
{
    double axis_us, comm = 0;
    if (!is_looked_at(plan))
        return;
    Arena *scratch = arena_new();
    StepCounts counts = count_steps(scratch, plan);
    int axis = heaviest_axis(plan, &counts, &axis_us);
    if (axis >= 0) {
        Order best = cheapest_order(scratch, plan, &counts, &comm);
        double best_us = whole_step_us(scratch, plan, &best, comm);
        if (best_us <= worth * plan_step_us(plan))
            report(plan, axis, axis_us, &best, best_us);
    }
    arena_free(scratch);
}
