#include "core/reshard/bound.h"

#include <math.h>

/* The steps that a layout still needs. */
typedef struct {
    int64_t parts[SLOTS_MAX];
    int64_t drop, drop_straight; /* N and N' */
    int64_t far_straight;        /* of N': far atoms */
    int64_t far_displaced;       /* far atoms that are elsewhere than in the target */
    int64_t far_vanish;          /* of these, those that do not shard anything in the target */
    int64_t due, due_far;        /* that must be reduced */
    int64_t due_vanish;          /* far atoms among these that do not shard anything in the target
                                  */
} Task;

static double less(double a, double b)
{
    return a < b ? a : b;
}

static double more(double a, double b)
{
    return a > b ? a : b;
}

/* ---- what is left to do ---- */

static void count_parts(const Space *space, const Layout *layout, Task *task)
{
    task->due = task->due_far = task->due_vanish = 1;
    for (int s = 0; s < space->n_slots; s++)
        task->parts[s] = 1;
    for (int a = 0; a < space->n_atoms; a++) {
        uint16_t place = layout->place[a];
        if (place_cuts(place))
            task->parts[place_slot(place)] *= space->size[a];
        else if (place == ATOM_PARTIAL && !(space->kept >> a & 1)) {
            task->due *= space->size[a];
            if (!(space->far >> a & 1))
                continue;
            task->due_far *= space->size[a];
            task->due_vanish *= place_cuts(space->to.place[a]) ? 1 : space->size[a];
        }
    }
}

/* The number of atoms of a slot's list that are the target's, and their parts. */
static int matched(const Space *space, int s, const Layout *layout, int64_t *parts)
{
    const Slot *slot = &space->slot[s];
    int n = 0;
    *parts = 1;
    for (; n < slot->n_goal && layout->place[slot->goal[n]] == place_in(s, n); n++)
        *parts *= space->size[slot->goal[n]];
    return n;
}

/* Product of the list before an atom. */
static int64_t parts_before(const Space *space, const Layout *layout, int atom)
{
    int64_t parts = 1;
    uint16_t place = layout->place[atom];
    for (int a = 0; a < space->n_atoms; a++)
        if (place_cuts(layout->place[a]) && place_slot(layout->place[a]) == place_slot(place) &&
            layout->place[a] < place)
            parts *= space->size[a];
    return parts;
}

static void count_far(const Space *space, const Layout *layout, const int *n_matched, Task *task)
{
    for (int a = 0; a < space->n_atoms; a++) {
        uint16_t place = layout->place[a], goal = space->to.place[a];
        if (!(space->far >> a & 1) || !place_cuts(place))
            continue;
        if (layout->moved || place_at(place) >= n_matched[place_slot(place)])
            task->far_straight *= space->size[a];
        bool stays = place_cuts(goal) && place_slot(goal) == place_slot(place) &&
                     parts_before(space, layout, a) == space->goal_before[a];
        task->far_displaced *= stays ? 1 : space->size[a];
        task->far_vanish *= place_cuts(goal) ? 1 : space->size[a];
    }
}

static void find_task(const Space *space, const Layout *layout, Task *task)
{
    int n_matched[SLOTS_MAX];
    count_parts(space, layout, task);
    task->drop = task->drop_straight = task->far_straight = 1;
    task->far_displaced = task->far_vanish = 1;
    for (int s = 0; s < space->n_slots; s++) {
        int64_t parts = task->parts[s], same;
        n_matched[s] = 0;
        if (parts == 1)
            continue;
        n_matched[s] = matched(space, s, layout, &same);
        task->drop_straight *= layout->moved ? parts : parts / same;
        int64_t goal = space->slot[s].goal_parts;
        task->drop *= parts == goal ? 1 : parts / common_divisor(parts, goal);
    }
    if (space->far)
        count_far(space, layout, n_matched, task);
}

/* ---- what that costs at least ---- */

/* Bytes that steps with far atoms carry at least: f is gathered over those that vanish, or the
 * tails of those that move are exchanged. */
static double far_bytes(const Space *space, int64_t n_far, int64_t n_vanish)
{
    return space->floor_bytes * more((double)(n_vanish - 1), 1 - 1 / (double)n_far);
}

/* Per byte that a rank holds; 0 for a product that floor.h did not look at. */
static double far_cost(const FarCosts *costs, const double *us, int64_t n)
{
    for (int i = 0; i < costs->n; i++)
        if (costs->size[i] == n)
            return us[i];
    return 0;
}

/* Drops n; n_far is the product of the far atoms that the steps must include. */
static Least drop(const Space *space, int64_t n, int64_t n_far, int64_t n_vanish)
{
    const Pricing *pricing = &space->pricing;
    if (n <= 1)
        return (Least){0, 0};
    Least out = {pricing->least_drop_us(pricing->context, n),
                 space->goal_bytes * (1 - 1 / (double)n) * pricing->drop_byte_us};
    if (n_far <= 1)
        return out;
    out.us = more(out.us, pricing->far_drop.us);
    out.byte_us +=
        far_bytes(space, n_far, n_vanish) * (pricing->far_drop.byte_us - pricing->drop_byte_us);
    double vanish = far_cost(&pricing->far_costs, pricing->far_costs.vanish_us, n_vanish);
    out.byte_us = more(out.byte_us, space->floor_bytes * more(vanish, pricing->far_costs.move_us));
    return out;
}

/* Far atoms that are scattered and do not shard the target must be gathered again, or permuted
 * away; an all-reduce does both. */
static double far_growth_us(const Space *space, const Task *task)
{
    const Pricing *pricing = &space->pricing;
    if (task->due_vanish <= 1 || task->far_vanish > 1)
        return 0;
    double n = (double)task->due_vanish, times = less(n - 1, 2 * sqrt(n) - 1);
    double byte = less(pricing->far_grow.byte_us, pricing->far_permute.byte_us);
    return space->floor_bytes * times * more(byte - pricing->grow.byte_us, 0);
}

/* The same, whatever other atoms are in the groups. */
static double far_regrowth_us(const Space *space, const Task *task)
{
    const Pricing *pricing = &space->pricing;
    if (task->due_vanish <= 1)
        return 0;
    double permuted = (2 * sqrt((double)task->due_vanish) - 1) * pricing->far_permute.byte_us;
    double grown = far_cost(&pricing->far_costs, pricing->far_costs.grow_us, task->due_vanish);
    return space->floor_bytes * less(grown, permuted);
}

/* Reduces over the partial atoms; `dropping` is what the steps that drop must move at least. */
static Least reduce(const Space *space, const Task *task, double dropping)
{
    const Pricing *pricing = &space->pricing;
    if (task->due <= 1)
        return (Least){0, dropping};
    double t = space->goal_bytes, f = space->floor_bytes, m = (double)task->due;
    double payload = f * m * (1 - 1 / m) * pricing->reduce_byte_us;
    Least out = {pricing->least_reduce_us(pricing->context, task->due), 0};
    if (task->due_far > 1) {
        out.us = more(out.us, pricing->far_reduce.us);
        payload += f * (double)(task->due_far - 1) *
                   (pricing->far_reduce.byte_us - pricing->reduce_byte_us);
        payload = more(payload, f * far_cost(&pricing->far_costs, pricing->far_costs.reduce_us,
                                             task->due_far));
    }
    double grown = payload + more(dropping, (t - f) * pricing->grow.byte_us);
    double at_once = (m - 1) * t * pricing->reduce_byte_us + dropping;
    out.byte_us = t > f ? less(grown, at_once) : payload + dropping;
    out.byte_us =
        more(out.byte_us + far_growth_us(space, task), payload + far_regrowth_us(space, task));
    return out;
}

/* A permute before or after steps that drop n. Far atoms that vanish by it leave no more parts than
 * the others make, so that it carries f times their product; and where k of them are gathered
 * instead, k - 1 and the rest, which is 2 sqrt - 1 at least. */
static double permute_us(const Space *space, const Task *task, int64_t n, bool far)
{
    const Pricing *pricing = &space->pricing;
    const Least *least = far ? &pricing->far_permute : &pricing->permute;
    double f = space->floor_bytes, larger = space->goal_bytes / (double)n - f;
    double us = least->us + f * least->byte_us;
    if (far && task->far_vanish > 1) {
        double byte = less(least->byte_us, pricing->far_drop.byte_us) - pricing->drop_byte_us;
        us += f * (2 * sqrt((double)task->far_vanish) - 2) * byte;
    } else if (larger > 0 && task->due == 1)
        us += larger * less(least->byte_us, pricing->drop_byte_us);
    return us;
}

static double total(const Space *space, const Task *task, Least dropping)
{
    Least reducing = reduce(space, task, dropping.byte_us);
    return dropping.us + reducing.us + reducing.byte_us;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static double bound_with_permute(const Space *space, const Task *task, double after)
{
    bool far = task->far_displaced > 1;
    double us = after + permute_us(space, task, task->drop, far);
    if (!far)
        return us;
    int64_t n = most(task->drop, task->far_displaced);
    Least dropping = drop(space, n, task->far_displaced, task->far_vanish);
    return less(us, total(space, task, dropping) + permute_us(space, task, n, false));
}

static int64_t chunk_of(const Space *space, const Layout *layout, int s, int64_t parts)
{
    int64_t size = space->slot[s].size;
    if (space->padded || size % parts == 0)
        return size / parts + (size % parts != 0);
    Lists lists;
    space_lists(space, layout, &lists);
    return space_chunk(space, s, lists.atom[s], lists.n[s]);
}

static double bytes_of(const Space *space, const Layout *layout, const Task *task)
{
    double bytes = space->unit;
    for (int s = 0; s < space->n_slots; s++)
        bytes *= (double)chunk_of(space, layout, s, task->parts[s]);
    return bytes;
}

double layout_bytes(const Space *space, const Layout *layout)
{
    Task task;
    count_parts(space, layout, &task);
    return bytes_of(space, layout, &task);
}

Measure layout_measure(const Space *space, const Layout *layout)
{
    Task task;
    find_task(space, layout, &task);
    Measure out = {.bytes = bytes_of(space, layout, &task)};
    out.bound_after = total(space, &task, drop(space, task.drop, 1, 1));
    if (task.drop_straight == 1) {
        out.bound = total(space, &task, (Least){0, 0});
        return out;
    }
    Least straight = drop(space, task.drop_straight, task.far_straight, task.far_vanish);
    out.bound =
        less(total(space, &task, straight), bound_with_permute(space, &task, out.bound_after));
    return out;
}
