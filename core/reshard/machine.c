#include "core/reshard/machine.h"

#include "core/reshard/measured.h"
#include <stdlib.h>

/* ---- plausible numbers ---- */

/* Beyond these, sums of times would overflow. */
static const double least_rate = 1, least_share = 1e-6, most = 1e30;

typedef enum {
    TIME, /* 0 or more */
    RATE,
    RATE_OR_0, /* 0 if there is none */
    SHARE,
    SHARE_OR_0
} NumberRange;

static bool check_number(const char *what, double value, NumberRange range, Error *err)
{
    bool share = range == SHARE || range == SHARE_OR_0;
    double least = range == TIME ? 0 : share ? least_share : least_rate;
    double greatest = share ? 1 : most;
    if (value >= least && value <= greatest)
        return true;
    if (value == 0 && (range == RATE_OR_0 || range == SHARE_OR_0))
        return true;
    return error_kind(err, ERROR_OUT_OF_RANGE, "%s must be %g to %g", what, least, greatest);
}

typedef struct {
    const char *name;
    double value;
    NumberRange range;
} MachineNumber;

static bool check_numbers(const MachineNumber *number, int n, Error *err)
{
    for (int i = 0; i < n; i++)
        if (!check_number(number[i].name, number[i].value, number[i].range, err))
            return false;
    return true;
}

static bool check_list(const char *what, const double *value, int n, NumberRange range, Error *err)
{
    for (int i = 0; i < n; i++)
        if (!check_number(what, value[i], range, err))
            return false;
    return true;
}

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

static bool check_link(const char *which, const Link *link, bool tuned, Error *err)
{
    const MachineNumber numbers[] = {
        {"latency_us", link->latency_us, TIME},
        {"bytes_per_s", link->bytes_per_s, RATE},
        {"shared_bytes_per_s", link->shared_bytes_per_s, RATE_OR_0},
        {"channels", (double)link->channels, RATE_OR_0},
        {"channel_bytes_per_s", link->channel_bytes_per_s, RATE_OR_0},
        {"busy_share", link->busy_share, SHARE_OR_0},
    };
    bool ok = !tuned || (link->channels > 0 && link->channel_bytes_per_s > 0);
    if (!ok)
        error_kind(err, ERROR_OUT_OF_RANGE, "a machine with `nccl` also needs the channels of %s",
                   which);
    ok = ok && check_numbers(numbers, COUNT(numbers), err);
    if (!ok)
        error_hint(err, "the link '%s'", which);
    return ok;
}

static bool check_tuning(const Tuning *tuning, Error *err)
{
    const MachineNumber numbers[] = {
        {"post_us", tuning->post_us, TIME},
        {"plateau", tuning->plateau, RATE},
        {"ring_ll_share", tuning->ring_ll_share, SHARE},
        {"ring_ll128_share", tuning->ring_ll128_share, SHARE},
        {"tree_share", tuning->tree_share, SHARE},
        {"tree_ll_share", tuning->tree_ll_share, SHARE},
        {"tree_ll128_share", tuning->tree_ll128_share, SHARE},
        {"tree_ll128_share_between", tuning->tree_ll128_share_between, SHARE},
        {"nvls_share", tuning->nvls_share, SHARE_OR_0},
        {"pat_share", tuning->pat_share, SHARE},
        {"nvls_channel_bytes_per_s", tuning->nvls_channel_bytes_per_s, RATE_OR_0},
    };
    const struct {
        const char *name;
        const double *value;
        int n;
        NumberRange range;
    } lists[] = {
        {"base_us", tuning->base_us[0], ALGORITHM_COUNT * PROTOCOL_COUNT, TIME},
        {"inside_us", tuning->inside_us[0], ALGORITHM_COUNT * PROTOCOL_COUNT, TIME},
        {"between_us", tuning->between_us[0], ALGORITHM_COUNT * PROTOCOL_COUNT, TIME},
        {"ll_bytes_per_s", tuning->ll_bytes_per_s, SPREADS, RATE_OR_0},
        {"ring_ll128_channel_bytes_per_s", tuning->ring_ll128_channel_bytes_per_s, SPREADS,
         RATE_OR_0},
        {"tree_channel_bytes_per_s", tuning->tree_channel_bytes_per_s, SPREADS, RATE_OR_0},
        {"tree_ll128_channel_bytes_per_s", tuning->tree_ll128_channel_bytes_per_s, SPREADS,
         RATE_OR_0},
        {"nvls_tree_channel_bytes_per_s", tuning->nvls_tree_channel_bytes_per_s, SPREADS,
         RATE_OR_0},
        {"tree_size_share", tuning->tree_size_share[0], PROTOCOL_COUNT * TREE_SIZES, SHARE},
    };
    bool ok = check_numbers(numbers, COUNT(numbers), err);
    for (int i = 0; i < COUNT(lists) && ok; i++)
        ok = check_list(lists[i].name, lists[i].value, lists[i].n, lists[i].range, err);
    if (ok && tuning->base_us[ALGORITHM_RING][PROTOCOL_SIMPLE] <= 0)
        ok = error_kind(err, ERROR_OUT_OF_RANGE, "base_us of ring, Simple, must be more than 0");
    if (!ok)
        error_hint(err, "in 'nccl'");
    return ok;
}

/* Searches take a group in one block for the least that it can cost. */
static bool check_blocks(const Machine *machine, Error *err)
{
    const Link *between = &machine->between, *spine = &machine->spine;
    if (machine->devices_per_block == 0)
        return true;
    if (machine->devices_per_block < 0 ||
        machine->devices_per_block % machine->devices_per_node != 0)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "devices_per_block must be a multiple of devices_per_node");
    if (!check_link("spine", spine, machine->tuning != NULL, err))
        return false;
    if (link_bytes_per_s(spine, 1) > link_bytes_per_s(between, 1) ||
        spine->latency_us < between->latency_us) {
        error_kind(err, ERROR_OUT_OF_RANGE, "the spine is faster than the links between nodes");
        error_hint(err, "a block is what the faster links join");
        return false;
    }
    return true;
}

bool machine_check(const Machine *machine, Error *err)
{
    if (machine->devices_per_node < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "devices_per_node must be 1 or more");
    if (machine->memory_bytes < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "memory_bytes must be more than 0");
    if (machine->processors < 0 || machine->matmul_tile < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "processors and matmul_tile must be 0 or more");
    const MachineNumber numbers[] = {
        {"memory_bytes_per_s", machine->memory_bytes_per_s, RATE},
        {"launch_us", machine->launch_us, TIME},
        {"flops_per_s of f32", machine->flops_per_s[DT_F32], RATE},
        {"matmul_share", machine->matmul_share, SHARE_OR_0},
        {"matmul_share_16", machine->matmul_share_16, SHARE_OR_0},
        {"attention_share", machine->attention_share, SHARE_OR_0},
        {"attention_gradient_share", machine->attention_gradient_share, SHARE_OR_0},
        {"memory_share", machine->memory_share, SHARE_OR_0},
        {"gather_share", machine->gather_share, SHARE_OR_0},
        {"norm_share", machine->norm_share, SHARE_OR_0},
        {"function_share", machine->function_share, SHARE_OR_0},
        {"matmul_us", machine->matmul_us, TIME},
    };
    if (!check_numbers(numbers, COUNT(numbers), err))
        return false;
    for (Dtype dtype = 0; dtype < DT_COUNT; dtype++) {
        double matmul = machine->flops_per_s[dtype], vector = machine->vector_flops_per_s[dtype];
        if ((matmul != 0 && !check_number("flops_per_s", matmul, RATE, err)) ||
            (vector != 0 && !check_number("vector_flops_per_s", vector, RATE, err)))
            return false;
    }
    return check_link("inside", &machine->inside, machine->tuning != NULL, err) &&
           check_link("between", &machine->between, machine->tuning != NULL, err) &&
           check_blocks(machine, err) && (!machine->tuning || check_tuning(machine->tuning, err)) &&
           (!machine->measured || measured_check(machine->measured, err));
}

/* ---- groups and nodes, or other units of so many devices in a row ---- */

/* How groups lie on units. */
typedef struct {
    int64_t n;        /* ranks of a group */
    int64_t units;    /* the most units that any group is on */
    int64_t per_unit; /* the fewest ranks that a group has on one of its units */
} UnitSpread;

/* The most members of a group that are looked at one by one, if arithmetic does not tell. */
enum { LOOK_MOST = 1 << 16 };

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* For a list of units: how many distinct ones, and the fewest and most members on one. */
typedef struct {
    int64_t kinds, fewest, most;
} UnitRuns;

static UnitRuns count_runs(int64_t *unit, int64_t n)
{
    UnitRuns runs = {.fewest = n};
    qsort(unit, (size_t)n, sizeof *unit, by_value);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && unit[end] == unit[i]; end++)
            continue;
        runs.kinds++;
        runs.fewest = at_most(runs.fewest, end - i);
        runs.most = end - i > runs.most ? end - i : runs.most;
    }
    return runs;
}

/* Every atom moves within aligned parts of a unit, or by whole units. */
static bool divides_evenly(int64_t unit, const Mesh *mesh, AtomSet atoms, UnitSpread *group)
{
    for (int i = 0; i < mesh->n_atoms; i++) {
        const MeshAtom *atom = &mesh->atoms[i];
        if (!(atoms >> i & 1))
            continue;
        if (unit % (atom->stride * atom->size) == 0)
            group->per_unit *= atom->size;
        else if (atom->stride % unit == 0)
            group->units *= atom->size;
        else
            return false;
    }
    return true;
}

/* Leaves out the outer atoms that move by whole units, past all the others: so often do these lie
 * on units of their own. */
static int64_t take_whole_units(const Mesh *mesh, int64_t unit, AtomSet *atoms)
{
    int64_t times = 1;
    for (int i = 0; i < mesh->n_atoms; i++) {
        if (!(*atoms >> i & 1))
            continue;
        if (mesh->atoms[i].stride % unit != 0)
            break;
        times *= mesh->atoms[i].size;
        *atoms &= ~((AtomSet)1 << i);
    }
    return times;
}

/* Whether the ranks of a group stand equally far apart: its atoms follow each other. */
static bool is_one_run(const Mesh *mesh, AtomSet atoms, int64_t *stride)
{
    int64_t next = 0;
    for (int i = mesh->n_atoms - 1; i >= 0; i--) {
        const MeshAtom *atom = &mesh->atoms[i];
        if (!(atoms >> i & 1))
            continue;
        if (next == 0)
            *stride = atom->stride;
        else if (atom->stride != next)
            return false;
        next = atom->stride * atom->size;
    }
    return next > 0;
}

/* Of n ranks that stand `stride` apart, less than a unit, the first of them `at` places into one.
 */
static UnitRuns count_run(int64_t at, int64_t stride, int64_t n, int64_t unit)
{
    int64_t last = (at + (n - 1) * stride) / unit;
    UnitRuns runs = {.kinds = last + 1, .fewest = n};
    for (int64_t i = 0; i <= last; i++) {
        if (i > stride && i < last) /* units between the ends repeat after so many */
            i = last;
        int64_t before = i * unit - at, end = at_most(n - 1, (before + unit - 1) / stride);
        int64_t first = before > 0 ? (before + stride - 1) / stride : 0;
        runs.fewest = at_most(runs.fewest, end - first + 1);
    }
    return runs;
}

/* Per place in a unit, whether a group that begins there is known: how it lies depends on that. */
static bool *places_seen(Arena *scratch, int64_t unit, const Mesh *mesh)
{
    return arena_array(scratch, bool, at_most(unit, mesh->n_devices));
}

/* Counts groups of equally far ranks; false if they are not. */
static bool count_groups(int64_t unit, const Mesh *mesh, AtomSet atoms, UnitSpread *group)
{
    int64_t stride = 1;
    if (!is_one_run(mesh, atoms, &stride))
        return false;
    Arena *scratch = arena_new();
    bool *seen = places_seen(scratch, unit, mesh);
    group->units = stride < unit ? 1 : group->n;
    group->per_unit = stride < unit ? group->n : 1;
    int64_t n_behind = mesh->n_devices / (group->n * stride);
    for (int64_t b = 0; b < at_most(n_behind, unit) && stride < unit; b++)
        for (int64_t a = 0; a < stride; a++) {
            int64_t at = (a + b * group->n * stride) % unit;
            if (seen[at])
                continue;
            UnitRuns runs = count_run(at, stride, group->n, unit);
            seen[at] = true;
            group->units = runs.kinds > group->units ? runs.kinds : group->units;
            group->per_unit = at_most(group->per_unit, runs.fewest);
        }
    arena_free(scratch);
    return true;
}

static void look_at_groups(int64_t unit, const Mesh *mesh, AtomSet atoms, UnitSpread *group)
{
    Arena *scratch = arena_new();
    int64_t *of = arena_array(scratch, int64_t, group->n), looked = 0;
    bool *seen = places_seen(scratch, unit, mesh);
    group->units = 1;
    group->per_unit = group->n;
    for (int64_t first = 0; first < mesh->n_devices && looked < LOOK_MOST; first++) {
        int64_t at = first % unit;
        if ((!mesh->devices && seen[at]) || !mesh_stands_first(mesh, atoms, first))
            continue;
        seen[at] = true;
        for (int64_t i = 0; i < group->n; i++)
            of[i] = mesh_device(mesh, mesh_group_member(mesh, atoms, first, i)) / unit;
        UnitRuns runs = count_runs(of, group->n);
        group->units = runs.kinds > group->units ? runs.kinds : group->units;
        group->per_unit = at_most(group->per_unit, runs.fewest);
        looked += group->n;
    }
    arena_free(scratch);
}

static int64_t busy_on_a_node(const Machine *machine, const Mesh *mesh)
{
    if (!mesh->devices)
        return at_most(mesh->n_devices, machine->devices_per_node);
    Arena *scratch = arena_new();
    int64_t *node = arena_array(scratch, int64_t, mesh->n_devices);
    for (int64_t i = 0; i < mesh->n_devices; i++)
        node[i] = mesh_device(mesh, i) / machine->devices_per_node;
    int64_t busy = count_runs(node, mesh->n_devices).most;
    arena_free(scratch);
    return busy;
}

static UnitSpread spread_over(int64_t unit, const Mesh *mesh, AtomSet atoms)
{
    UnitSpread group = {.n = mesh_atoms_size(mesh, atoms), .units = 1, .per_unit = 1};
    if (mesh->devices) {
        look_at_groups(unit, mesh, atoms, &group);
        return group;
    }
    if (divides_evenly(unit, mesh, atoms, &group))
        return group;
    int64_t times = take_whole_units(mesh, unit, &atoms);
    group.n /= times;
    if (!count_groups(unit, mesh, atoms, &group))
        look_at_groups(unit, mesh, atoms, &group);
    group.units *= times;
    return group;
}

RankGroup machine_group(const Machine *machine, const Mesh *mesh, AtomSet atoms)
{
    UnitSpread on = spread_over(machine->devices_per_node, mesh, atoms);
    RankGroup group = {.n = mesh_atoms_size(mesh, atoms),
                       .nodes = on.units,
                       .per_node = on.per_unit,
                       .busy = busy_on_a_node(machine, mesh),
                       .blocks = 1};
    group.per_block = group.n;
    if (machine->devices_per_block == 0 || group.nodes == 1)
        return group;
    on = spread_over(machine->devices_per_block, mesh, atoms);
    group.blocks = on.units;
    group.per_block = on.per_unit;
    return group;
}

const Link *group_link(const Machine *machine, const RankGroup *group)
{
    bool spans = machine->devices_per_block > 0 && group->blocks > 1;
    return spans ? &machine->spine : group->nodes > 1 ? &machine->between : &machine->inside;
}

const Link *machine_link(const Machine *machine, const Mesh *mesh, AtomSet atoms)
{
    RankGroup group = machine_group(machine, mesh, atoms);
    return group_link(machine, &group);
}

double link_bytes_per_s(const Link *link, int64_t busy)
{
    double own = link->bytes_per_s, shared = link->shared_bytes_per_s / (double)busy;
    if (link->channels > 0 && (double)link->channels * link->channel_bytes_per_s < own)
        own = (double)link->channels * link->channel_bytes_per_s;
    return link->shared_bytes_per_s > 0 && shared < own ? shared : own;
}
