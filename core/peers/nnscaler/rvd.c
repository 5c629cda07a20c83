#include "core/peers/nnscaler/rvd.h"

#include <assert.h>
#include <inttypes.h>

/* Orders of parts that are tried before falling back to full replication. */
enum { TRIES_MAX = 20000 };

/* A layout with its devices: slot[i] is the index, in the side's device list, of the device of cell
 * i. */
typedef struct {
    Rvd rvd;
    int32_t *slot;
} RvdPlaced;

/* The devices of one side, and the contents of its last layout: goal[slot] is the cell's number
 * without its replica. */
typedef struct {
    Arena *arena;
    int n;
    const int32_t *device;
    const int32_t *goal;
    int n_tries;
} RvdSide;

/* ---- cells ---- */

static void coordinates(const Rvd *rvd, int64_t cell, int64_t *out)
{
    for (int i = rvd->n - 1; i >= 0; i--) {
        out[i] = cell % rvd->at[i];
        cell /= rvd->at[i];
    }
}

static int64_t cell_of(const Rvd *rvd, const int64_t *coordinate)
{
    int64_t cell = 0;
    for (int i = 0; i < rvd->n; i++)
        cell = cell * rvd->at[i] + coordinate[i];
    return cell;
}

/* The parts of component i taken in another order: as rows of k, column by column. */
static int64_t reordered(int64_t part, int64_t n_parts, int64_t k)
{
    return part % (n_parts / k) * k + part / (n_parts / k);
}

/* One step within a set. Cell by cell: `to` gets its devices, and `groups`, unless NULL, the rows
 * of devices that work together, in the order of their parts. order: 1, or the k of reordered(). */
static void move_cells(const RvdPlaced *from, int64_t order, RvdPlaced *to, int32_t *groups)
{
    int shrinks, grows;
    rvd_kind(&from->rvd, &to->rvd, false, &shrinks, &grows);
    int64_t n = from->rvd.at[shrinks] / to->rvd.at[shrinks], n_cells = rvd_devices(&from->rvd);
    Rvd rows = from->rvd;
    rows.at[shrinks] /= n;
    for (int64_t cell = 0; cell < n_cells; cell++) {
        int64_t at[RVD_PARTS_MAX] = {0}, taken[RVD_PARTS_MAX];
        coordinates(&from->rvd, cell, at);
        for (int i = 0; i < from->rvd.n; i++)
            taken[i] = at[i];
        taken[shrinks] = reordered(at[shrinks], from->rvd.at[shrinks], order);
        int32_t slot = from->slot[cell_of(&from->rvd, taken)];
        int64_t part = at[shrinks] % n;
        at[shrinks] /= n;
        if (groups)
            groups[cell_of(&rows, at) * n + part] = slot;
        at[grows] = at[grows] * n + part;
        to->slot[cell_of(&to->rvd, at)] = slot;
    }
}

static RvdPlaced new_placed(Arena *arena, const Rvd *rvd)
{
    return (RvdPlaced){*rvd, arena_array(arena, int32_t, rvd_devices(rvd))};
}

static RvdPlaced placed_in_order(Arena *arena, const Rvd *rvd)
{
    RvdPlaced placed = new_placed(arena, rvd);
    for (int32_t i = 0; i < rvd_devices(rvd); i++)
        placed.slot[i] = i;
    return placed;
}

/* ---- alignment ---- */

/* True if all devices hold the goal's contents, whichever replica. */
static bool is_aligned(const RvdSide *side, const RvdPlaced *placed)
{
    int32_t n_contents = (int32_t)(rvd_devices(&placed->rvd) / placed->rvd.at[0]);
    for (int32_t cell = 0; cell < side->n; cell++)
        if (side->goal[placed->slot[cell]] != cell % n_contents)
            return false;
    return true;
}

/* The last order to try: only replicas and addends are reordered. */
static int64_t last_order(const Rvd *from, const Rvd *to)
{
    int shrinks = -1;
    rvd_kind(from, to, false, &shrinks, NULL);
    return shrinks == 0 || shrinks == 1 ? from->at[shrinks] - 1 : 1;
}

static bool divides_parts(const Rvd *from, const Rvd *to, int64_t order)
{
    int shrinks = -1;
    rvd_kind(from, to, false, &shrinks, NULL);
    return from->at[shrinks] % order == 0;
}

/* Finds orders[0..n-1) with which the path of n layouts ends in the goal. */
static bool align(RvdSide *side, const RvdPlaced *placed, const Rvd *path, int n, int64_t *orders)
{
    if (++side->n_tries > TRIES_MAX)
        return false;
    if (n == 1)
        return is_aligned(side, placed);
    RvdPlaced next = new_placed(side->arena, &path[1]);
    for (int64_t k = 1; k <= last_order(&path[0], &path[1]); k++) {
        if (!divides_parts(&path[0], &path[1], k))
            continue;
        move_cells(placed, k, &next, NULL);
        orders[0] = k;
        if (align(side, &next, path + 1, n - 1, orders + 1))
            return true;
    }
    return false;
}

/* Finds devices for the cells of path[0] with which the steps end in the goal: follows the path
 * backward from `placed`, whose layout is path[n - 1], and tries each result. */
static bool find_entry(RvdSide *side, const RvdPlaced *placed, const Rvd *path, int n, int n_path,
                       RvdPlaced *entry, int64_t *orders)
{
    if (n == 1) {
        *entry = *placed;
        return align(side, placed, path, n_path, orders);
    }
    RvdPlaced before = new_placed(side->arena, &path[n - 2]);
    for (int64_t k = 1; k <= last_order(&path[n - 1], &path[n - 2]); k++) {
        if (!divides_parts(&path[n - 1], &path[n - 2], k))
            continue;
        move_cells(placed, k, &before, NULL);
        if (find_entry(side, &before, path, n - 1, n_path, entry, orders))
            return true;
        if (side->n_tries > TRIES_MAX)
            return false;
    }
    return false;
}

/* ---- steps ---- */

typedef struct {
    Arena *arena; /* of the plan */
    const Shape *shape;
    int64_t crossing_factor;
    RvdPlan *plan;
    RvdStep *step;
} Steps;

static RvdStep *add_step(Steps *steps, const Rvd *from, const Rvd *to, int64_t crossing_factor)
{
    RvdStep *step = &steps->step[steps->plan->n_steps++];
    *step = (RvdStep){.from = *from, .to = *to};
    step->kind = rvd_kind(from, to, crossing_factor > 0, &step->shrinks, &step->grows);
    assert(step->kind != RVD_NONE);
    steps->plan->steps_cost += rvd_step_cost(steps->shape, from, to, crossing_factor);
    return step;
}

static RvdPlaced add_step_within(Steps *steps, const RvdSide *side, const RvdPlaced *from,
                                 const Rvd *to, int64_t order)
{
    RvdStep *step = add_step(steps, &from->rvd, to, 0);
    RvdPlaced next = new_placed(side->arena, to);
    int32_t *device = arena_array(steps->arena, int32_t, side->n);
    move_cells(from, order, &next, device);
    for (int i = 0; i < side->n; i++)
        device[i] = side->device[device[i]];
    step->n_sources = (int)(from->rvd.at[step->shrinks] / to->at[step->shrinks]);
    step->n_targets = step->n_sources;
    step->n_groups = side->n / step->n_sources;
    step->device = device;
    return next;
}

/* Steps along a path of n layouts. */
static RvdPlaced follow(Steps *steps, const RvdSide *side, RvdPlaced placed, const Rvd *path, int n,
                        const int64_t *orders)
{
    for (int i = 0; i + 1 < n; i++)
        placed = add_step_within(steps, side, &placed, &path[i + 1], orders[i]);
    return placed;
}

/* Gathers everything, then slices each device's cell of `to`: the innermost component first, so
 * that groups are contiguous. */
static void through_replicas(Steps *steps, const RvdSide *side, RvdPlaced placed,
                             const RvdPlaced *to)
{
    Rvd next = placed.rvd;
    for (int i = 1; i < next.n; i++) {
        if (next.at[i] == 1)
            continue;
        next.at[0] *= next.at[i];
        next.at[i] = 1;
        placed = add_step_within(steps, side, &placed, &next, 1);
    }
    placed.slot = to->slot;
    for (int i = next.n - 1; i > 0; i--) {
        if (to->rvd.at[i] == 1)
            continue;
        next.at[0] /= to->rvd.at[i];
        next.at[i] = to->rvd.at[i];
        placed = add_step_within(steps, side, &placed, &next, 1);
    }
}

/* Neighbours in the component that changes form a group with the one cell of the other side. */
static void add_crossing(Steps *steps, const RvdSide *from_side, const RvdPlaced *from,
                         const RvdSide *to_side, const RvdPlaced *to)
{
    RvdStep *step = add_step(steps, &from->rvd, &to->rvd, steps->crossing_factor);
    bool down = step->grows < 0;
    int64_t n_from = from_side->n, n_to = to_side->n, n = down ? n_from / n_to : n_to / n_from;
    int changes = down ? step->shrinks : step->grows;
    const RvdPlaced *few = down ? to : from, *many = down ? from : to;
    step->n_sources = (int)(down && step->kind != RVD_MOVE ? n : 1);
    step->n_targets = (int)(down ? 1 : n);
    step->n_groups = (int)(down ? n_to : n_from);
    int row = step->n_sources + step->n_targets;
    int32_t *device = arena_array(steps->arena, int32_t, step->n_groups * row);
    for (int64_t cell = 0; cell < step->n_groups; cell++) {
        int64_t at[RVD_PARTS_MAX] = {0};
        int32_t *group = device + cell * row;
        int n_many = down ? step->n_sources : step->n_targets;
        coordinates(&few->rvd, cell, at);
        group[down ? row - 1 : 0] = (down ? to_side : from_side)->device[few->slot[cell]];
        if (changes >= 0)
            at[changes] *= n;
        for (int i = 0; i < n_many; i++) {
            int32_t slot = many->slot[cell_of(&many->rvd, at)];
            group[i + !down] = (down ? from_side : to_side)->device[slot];
            if (changes >= 0)
                at[changes]++;
        }
    }
    step->device = device;
}

/* ---- requests ---- */

static const int32_t *devices_or_default(Arena *arena, const int32_t *given, int n)
{
    int32_t *device = arena_array(arena, int32_t, n);
    for (int i = 0; i < n; i++)
        device[i] = given ? given[i] : i;
    return device;
}

static int slot_of(const int32_t *device, int n, int32_t number)
{
    for (int i = 0; i < n; i++)
        if (device[i] == number)
            return i;
    return -1;
}

/* The number of devices of a layout. */
static bool count_devices(const Rvd *rvd, const Shape *shape, int *out, Error *err)
{
    if (rvd->n != shape->n_dims + 2)
        return error_kind(err, ERROR_RANK,
                          "a layout needs R, V and parts of each of %" PRId64 " dims",
                          shape->n_dims);
    *out = 1;
    for (int i = 0; i < rvd->n; i++) {
        if (rvd->at[i] < 1 || rvd->at[i] > RVD_DEVICES_MAX / *out)
            return error_kind(err, ERROR_OUT_OF_RANGE, "a layout needs 1 to %d devices",
                              RVD_DEVICES_MAX);
        *out *= (int)rvd->at[i];
    }
    return true;
}

static bool check_parts(const Rvd *rvd, const Shape *shape, Error *err)
{
    for (int d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] % rvd->at[d + 2] != 0)
            return error_kind(err, ERROR_NOT_DIVISIBLE,
                              "%" PRId64 " parts do not divide a dim of %" PRId64, rvd->at[d + 2],
                              shape->dim[d]);
    return true;
}

/* Checks that there are n different devices. */
static bool check_devices(const int32_t *device, int n_given, int n, Error *err)
{
    if (n_given != n)
        return error_kind(err, ERROR_OUT_OF_RANGE, "a layout of %d devices got %d", n, n_given);
    for (int i = 0; device && i < n; i++)
        if (slot_of(device, i, device[i]) >= 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "device %d is named twice", device[i]);
    return true;
}

enum { ELEMENTS_TIMES_DEVICES_LOG2 = 52 };

static bool check_request(const RvdRequest *request, Error *err)
{
    const Shape *shape = &request->shape;
    int n_from, n_to;
    if (!count_devices(&request->from, shape, &n_from, err) ||
        !count_devices(&request->to, shape, &n_to, err))
        return false;
    int given_from = request->from_devices ? request->n_from_devices : n_from;
    int given_to = request->to_devices ? request->n_to_devices : given_from;
    if (!check_devices(request->from_devices, given_from, n_from, err) ||
        !check_devices(request->to_devices, given_to, n_to, err) ||
        !check_parts(&request->from, shape, err) || !check_parts(&request->to, shape, err))
        return false;
    int64_t most = ((int64_t)1 << ELEMENTS_TIMES_DEVICES_LOG2) / (n_from + n_to);
    return shape_elements(shape) <= most ||
           error_kind(err, ERROR_OUT_OF_RANGE,
                      "the tensor is too large to count its elements exactly");
}

static const int32_t *contents(Arena *arena, const RvdPlaced *placed)
{
    int32_t n = (int32_t)rvd_devices(&placed->rvd);
    int32_t *goal = arena_array(arena, int32_t, n);
    for (int32_t cell = 0; cell < n; cell++)
        goal[placed->slot[cell]] = cell % (int32_t)(n / placed->rvd.at[0]);
    return goal;
}

/* ---- answers ---- */

static bool plan_within(Steps *steps, RvdSide *side, const RvdPlaced *to, const RvdRequest *request,
                        Error *err)
{
    RvdPlan *plan = steps->plan;
    if (!rvd_search(steps->arena, steps->shape, &request->from, &request->to, 0, plan, err))
        return false;
    steps->step = arena_array(steps->arena, RvdStep, plan->n_path + 2 * RVD_PARTS_MAX);
    int64_t *orders = arena_array(side->arena, int64_t, plan->n_path);
    RvdPlaced from = placed_in_order(side->arena, &request->from);
    plan->direct = align(side, &from, plan->path, plan->n_path, orders);
    if (plan->direct)
        follow(steps, side, from, plan->path, plan->n_path, orders);
    else
        through_replicas(steps, side, from, to);
    return true;
}

static bool plan_across(Steps *steps, RvdSide *from_side, RvdSide *to_side,
                        const RvdRequest *request, Error *err)
{
    RvdPlan *plan = steps->plan;
    if (!rvd_search(steps->arena, steps->shape, &request->from, &request->to,
                    steps->crossing_factor, plan, err))
        return false;
    steps->step = arena_array(steps->arena, RvdStep, plan->n_path + 2 * RVD_PARTS_MAX);
    int n_to = plan->n_path - plan->n_from;
    const Rvd *path_to = plan->path + plan->n_from;
    int64_t *orders = arena_array(from_side->arena, int64_t, plan->n_path);
    for (int i = 0; i < plan->n_from; i++)
        orders[i] = 1;
    RvdPlaced from = placed_in_order(from_side->arena, &request->from), entry;
    RvdPlaced to = placed_in_order(to_side->arena, &request->to);
    from = follow(steps, from_side, from, plan->path, plan->n_from, orders);
    plan->direct = find_entry(to_side, &to, path_to, n_to, n_to, &entry, orders);
    if (!plan->direct)
        entry = placed_in_order(to_side->arena, &path_to[0]);
    add_crossing(steps, from_side, &from, to_side, &entry);
    if (plan->direct)
        follow(steps, to_side, entry, path_to, n_to, orders);
    else
        through_replicas(steps, to_side, entry, &to);
    return true;
}

/* Converts both device sets to slots; if the sets are equal, the target's cells use the slots of
 * the source. */
static bool plan_request(Steps *steps, Arena *scratch, const RvdRequest *request, Error *err)
{
    int n_from = (int)rvd_devices(&request->from), n_to = (int)rvd_devices(&request->to);
    RvdSide from = {.arena = scratch, .n = n_from};
    from.device = devices_or_default(scratch, request->from_devices, n_from);
    RvdSide to = {.arena = scratch, .n = n_to, .device = from.device};
    if (request->to_devices)
        to.device = devices_or_default(scratch, request->to_devices, n_to);
    RvdPlaced target = new_placed(scratch, &request->to);
    int n_common = 0;
    for (int i = 0; i < n_to; i++) {
        target.slot[i] = slot_of(from.device, n_from, to.device[i]);
        n_common += target.slot[i] >= 0;
    }
    if (n_common == n_to && n_common == n_from) {
        from.goal = contents(scratch, &target);
        return plan_within(steps, &from, &target, request, err);
    }
    if (n_common > 0)
        return error_kind(err, ERROR_UNSUPPORTED, "the two sets of devices overlap only partly");
    RvdPlaced in_order = placed_in_order(scratch, &request->to);
    to.goal = contents(scratch, &in_order);
    steps->crossing_factor = request->async_comm ? 1 : 24;
    return plan_across(steps, &from, &to, request, err);
}

bool rvd_reshard(Arena *arena, const RvdRequest *request, RvdPlan *out, Error *err)
{
    *out = (RvdPlan){0};
    if (!check_request(request, err))
        return false;
    Steps steps = {.arena = arena, .shape = &request->shape, .plan = out};
    Arena *scratch = arena_new();
    bool planned = plan_request(&steps, scratch, request, err);
    arena_free(scratch);
    out->step = steps.step;
    return planned;
}
