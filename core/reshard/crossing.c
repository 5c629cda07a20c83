#include "core/reshard/crossing.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES_MAX = 1 << 20 };

/* One side, its parts numbered: `part` per dim, by the coordinates of the atoms that shard it. A
 * cell is what a device holds, so devices of one cell hold the same. */
typedef struct {
    const Mesh *mesh;
    const Sharding *sharding;
    int64_t n;                  /* devices */
    const Runs *runs[DIMS_MAX]; /* per part */
    int64_t n_parts[DIMS_MAX];
    int64_t n_addends;
    int32_t *part; /* n rows of n_dims */
    int32_t *cell, n_cells;
    int32_t *first, *next; /* positions of a cell: first[cell], next[position]; -1 at the end */
} CellGrid;

typedef struct {
    Arena *arena, *scratch;
    const Machine *machine;
    Dtype dtype;
    CellGrid from, to;
    const int64_t *overlap[DIMS_MAX]; /* per part of either side: elements in common */
    int64_t busy;                     /* devices of one node that transfer data at the same time */
    double *send_us, *receive_us;     /* per position */
    int64_t *sent_bytes;
    bool list;
    Crossing *out;
    Vec(Transfer) transfers;
    RankGroup last_group; /* and the price of the last message */
    int64_t last_bytes;
    double last_us;
} Sending;

/* ---- grids ---- */

static bool make_parts(Arena *arena, CellGrid *grid, int d, Error *err)
{
    const Cut *cut = &grid->sharding->dim[d];
    AtomSet atoms = cut_atoms(cut);
    int64_t n = atoms ? mesh_atoms_size(grid->mesh, atoms) : 1;
    Runs *runs = arena_array(arena, Runs, n);
    if (cut_n_runs(cut, grid->mesh, 0) > PIECES_MAX / n)
        return error_kind(err, ERROR_UNSUPPORTED, "dim %d lies in more than %d pieces", d,
                          PIECES_MAX);
    for (int64_t i = 0; i < n; i++) {
        int64_t position = atoms ? mesh_group_member(grid->mesh, atoms, 0, i) : 0;
        runs[mesh_atoms_coord(grid->mesh, atoms, position)] =
            cut_runs(arena, cut, grid->mesh, position);
    }
    grid->runs[d] = runs;
    grid->n_parts[d] = n;
    return true;
}

/* Cells in order of their first position. */
static void make_cells(Arena *arena, CellGrid *grid)
{
    int n_dims = (int)grid->sharding->n_dims;
    AtomSet partial = sharding_partials(grid->sharding);
    Intern *cells = intern_new(arena);
    grid->n_addends = partial ? mesh_atoms_size(grid->mesh, partial) : 1;
    for (int64_t at = 0; at < grid->n; at++) {
        int32_t key[DIMS_MAX + 1] = {0};
        for (int d = 0; d < n_dims; d++)
            key[d] = (int32_t)mesh_atoms_coord(grid->mesh, cut_atoms(&grid->sharding->dim[d]), at);
        memcpy(grid->part + at * n_dims, key, (size_t)n_dims * sizeof *key);
        key[DIMS_MAX] = (int32_t)mesh_atoms_coord(grid->mesh, partial, at);
        grid->cell[at] = intern_put(cells, key, sizeof key);
    }
    grid->n_cells = intern_count(cells);
    grid->first = arena_array(arena, int32_t, grid->n_cells);
    for (int32_t cell = 0; cell < grid->n_cells; cell++)
        grid->first[cell] = -1;
    for (int64_t at = grid->n - 1; at >= 0; at--) {
        grid->next[at] = grid->first[grid->cell[at]];
        grid->first[grid->cell[at]] = (int32_t)at;
    }
}

static bool make_grid(Arena *arena, const CrossMeshSide *side, CellGrid *out, Error *err)
{
    *out = (CellGrid){.mesh = side->mesh, .sharding = side->sharding, .n = side->mesh->n_devices};
    out->part = arena_array(arena, int32_t, out->n * side->sharding->n_dims);
    out->cell = arena_array(arena, int32_t, out->n);
    out->next = arena_array(arena, int32_t, out->n);
    for (int d = 0; d < side->sharding->n_dims; d++)
        if (!make_parts(arena, out, d, err))
            return false;
    make_cells(arena, out);
    return true;
}

static int64_t addend_of(const CellGrid *grid, int64_t position)
{
    return mesh_atoms_coord(grid->mesh, sharding_partials(grid->sharding), position);
}

static int32_t device_of(const CellGrid *grid, int64_t position)
{
    return (int32_t)mesh_device(grid->mesh, position);
}

/* ---- parts in common ---- */

/* The pieces that both have; returns their elements. out may be NULL. */
static int64_t common(const Runs *a, const Runs *b, Run *out)
{
    int64_t n = 0;
    for (int i = 0, k = 0; i < a->n && k < b->n;) {
        int64_t end_a = a->at[i].start + a->at[i].length, end_b = b->at[k].start + b->at[k].length;
        int64_t lo = a->at[i].start > b->at[k].start ? a->at[i].start : b->at[k].start;
        int64_t hi = end_a < end_b ? end_a : end_b;
        if (lo < hi) {
            n += hi - lo;
            if (out)
                *out++ = (Run){lo, hi - lo};
        }
        i += end_a <= end_b;
        k += end_b <= end_a;
    }
    return n;
}

static Runs common_runs(Arena *arena, const Runs *a, const Runs *b)
{
    Run *at = arena_array(arena, Run, a->n + b->n);
    Runs runs = {.at = at, .local_size = common(a, b, at)};
    for (int64_t left = runs.local_size; left > 0; left -= at[runs.n++].length)
        ;
    return runs;
}

static void make_overlaps(Sending *sending)
{
    for (int d = 0; d < sending->from.sharding->n_dims; d++) {
        int64_t n_from = sending->from.n_parts[d], n_to = sending->to.n_parts[d];
        int64_t *table = arena_array(sending->scratch, int64_t, n_from * n_to);
        for (int64_t i = 0; i < n_from; i++)
            for (int64_t k = 0; k < n_to; k++)
                table[i * n_to + k] =
                    common(&sending->from.runs[d][i], &sending->to.runs[d][k], NULL);
        sending->overlap[d] = table;
    }
}

static int64_t common_elements(const Sending *sending, int64_t from, int64_t to)
{
    int n_dims = (int)sending->from.sharding->n_dims;
    int64_t n = 1;
    for (int d = 0; d < n_dims && n > 0; d++)
        n *= sending->overlap[d][sending->from.part[from * n_dims + d] * sending->to.n_parts[d] +
                                 sending->to.part[to * n_dims + d]];
    return n;
}

static const Runs *common_box(Arena *arena, const CellGrid *from, const CellGrid *to,
                              int64_t source, int64_t target)
{
    int n_dims = (int)from->sharding->n_dims;
    Runs *box = arena_array(arena, Runs, n_dims);
    for (int d = 0; d < n_dims; d++)
        box[d] = common_runs(arena, &from->runs[d][from->part[source * n_dims + d]],
                             &to->runs[d][to->part[target * n_dims + d]]);
    return box;
}

/* ---- prices ---- */

/* The most devices of a mesh on one node. */
static int64_t devices_on_a_node(const Sending *sending, const CellGrid *grid)
{
    Intern *nodes = intern_new(sending->scratch);
    int64_t *count = arena_array(sending->scratch, int64_t, grid->n), most = 0;
    for (int64_t at = 0; at < grid->n; at++) {
        int64_t node = device_of(grid, at) / sending->machine->devices_per_node;
        int64_t *n = &count[intern_put(nodes, &node, sizeof node)];
        most = ++*n > most ? *n : most;
    }
    return most;
}

/* On how many units of so many devices the source and its targets are, and the fewest on one. */
static void count_units(int64_t unit, int32_t source, const int32_t *target, int n, int64_t *units,
                        int64_t *fewest)
{
    *units = 0;
    *fewest = n + 1;
    for (int i = -1; i < n; i++) {
        int64_t at = (i < 0 ? source : target[i]) / unit, here = 0;
        bool first = true;
        for (int k = -1; k < n; k++) {
            bool same = (k < 0 ? source : target[k]) / unit == at;
            here += same;
            first &= !same || k >= i;
        }
        *units += first;
        *fewest = here < *fewest ? here : *fewest;
    }
}

/* Whether the source and its targets are on one node, and how many share the link. */
static RankGroup group_of(const Sending *sending, int32_t source, const int32_t *target, int n)
{
    const Machine *machine = sending->machine;
    RankGroup group = {.n = n + 1, .busy = sending->busy};
    count_units(machine->devices_per_node, source, target, n, &group.nodes, &group.per_node);
    if (machine->devices_per_block > 0)
        count_units(machine->devices_per_block, source, target, n, &group.blocks, &group.per_block);
    return group;
}

static double message_us(Sending *sending, const RankGroup *group, int64_t bytes)
{
    if (sending->last_bytes != bytes || memcmp(&sending->last_group, group, sizeof *group) != 0) {
        sending->last_us = price_group(sending->machine, sending->out->kind, group, bytes).us;
        sending->last_bytes = bytes;
        sending->last_group = *group;
    }
    return sending->last_us;
}

/* ---- messages ---- */

/* The device of a cell that sends, and for how long. */
static int32_t least_busy(Sending *sending, int32_t cell, const int32_t *target, int n_targets,
                          int64_t bytes, double *us)
{
    int32_t best = -1;
    double least = 0;
    for (int32_t at = sending->from.first[cell]; at >= 0; at = sending->from.next[at]) {
        RankGroup group = group_of(sending, device_of(&sending->from, at), target, n_targets);
        double one = message_us(sending, &group, bytes);
        if (best >= 0 && sending->send_us[at] + one >= least)
            continue;
        best = at;
        least = sending->send_us[at] + one;
        *us = one;
    }
    return best;
}

/* One message from a cell to some devices of a cell of the target; target[] has their positions. */
static void send(Sending *sending, int32_t cell, const int32_t *position, int n, int64_t elements)
{
    double us = 0;
    int32_t *target = arena_array(sending->list ? sending->arena : sending->scratch, int32_t, n);
    for (int i = 0; i < n; i++)
        target[i] = device_of(&sending->to, position[i]);
    int64_t bytes = dtype_bytes(sending->dtype, elements);
    int32_t at = least_busy(sending, cell, target, n, bytes, &us);
    sending->send_us[at] += us;
    sending->sent_bytes[at] += bytes;
    for (int i = 0; i < n; i++)
        sending->receive_us[position[i]] += us;
    sending->out->n_transfers++;
    sending->out->most_targets = n > sending->out->most_targets ? n : sending->out->most_targets;
    sending->out->total_bytes += bytes * n;
    if (!sending->list)
        return;
    const Runs *box = common_box(sending->arena, &sending->from, &sending->to, at, position[0]);
    Transfer transfer = {device_of(&sending->from, at), n, target, box, bytes};
    vec_push(sending->arena, &sending->transfers, transfer);
}

/* Returns whether the device at a position of the target also is one of the cell. */
static bool is_there(const Sending *sending, int32_t cell, int64_t position)
{
    int32_t device = device_of(&sending->to, position);
    for (int32_t at = sending->from.first[cell]; at >= 0; at = sending->from.next[at])
        if (device_of(&sending->from, at) == device)
            return true;
    return false;
}

/* What the devices of cell `to` need from cell `from`. */
static void send_cell(Sending *sending, int32_t from, int32_t to, int32_t *room)
{
    int32_t first = sending->to.first[to], source = sending->from.first[from];
    int n = 0;
    int64_t elements = common_elements(sending, source, first);
    bool addends_match = sending->to.n_addends == 1 ||
                         addend_of(&sending->from, source) == addend_of(&sending->to, first);
    if (elements == 0 || !addends_match)
        return;
    for (int32_t at = first; at >= 0; at = sending->to.next[at])
        if (!is_there(sending, from, at))
            room[n++] = at;
    if (sending->out->kind == STEP_BROADCAST && n > 0)
        send(sending, from, room, n, elements);
    for (int i = 0; sending->out->kind == STEP_SEND && i < n; i++)
        send(sending, from, &room[i], 1, elements);
}

static bool check_addends(const CellGrid *from, const CellGrid *to, ReduceOp *reduce, Error *err)
{
    *reduce = REDUCE_NONE;
    AtomSet partial = sharding_partials(from->sharding);
    if (to->n_addends > 1)
        return to->n_addends == from->n_addends ||
               error_kind(err, ERROR_PARTIAL, "as many addends are needed on both sides");
    for (int a = 0; a < from->mesh->n_atoms; a++) {
        if (!(partial >> a & 1))
            continue;
        if (*reduce != REDUCE_NONE && *reduce != from->sharding->partial[a])
            return error_kind(err, ERROR_PARTIAL, "addends of two reductions are not mixed");
        *reduce = from->sharding->partial[a];
    }
    return true;
}

static void finish(Sending *sending)
{
    Crossing *out = sending->out;
    out->transfer = sending->transfers.at;
    for (int64_t at = 0; at < sending->from.n; at++) {
        out->us = sending->send_us[at] > out->us ? sending->send_us[at] : out->us;
        out->wire_bytes =
            sending->sent_bytes[at] > out->wire_bytes ? sending->sent_bytes[at] : out->wire_bytes;
    }
    for (int64_t at = 0; at < sending->to.n; at++)
        out->us = sending->receive_us[at] > out->us ? sending->receive_us[at] : out->us;
}

static bool plan_sending(Sending *sending, const CrossMeshSide *from, const CrossMeshSide *to,
                         Error *err)
{
    Arena *scratch = sending->scratch;
    if (!make_grid(scratch, from, &sending->from, err) ||
        !make_grid(scratch, to, &sending->to, err) ||
        !check_addends(&sending->from, &sending->to, &sending->out->reduce, err))
        return false;
    make_overlaps(sending);
    int64_t busy_from = devices_on_a_node(sending, &sending->from);
    int64_t busy_to = devices_on_a_node(sending, &sending->to);
    sending->busy = busy_from > busy_to ? busy_from : busy_to;
    sending->send_us = arena_array(scratch, double, sending->from.n);
    sending->sent_bytes = arena_array(scratch, int64_t, sending->from.n);
    sending->receive_us = arena_array(scratch, double, sending->to.n);
    int32_t *room = arena_array(scratch, int32_t, sending->to.n);
    for (int32_t cell = 0; cell < sending->to.n_cells; cell++)
        for (int32_t source = 0; source < sending->from.n_cells; source++)
            send_cell(sending, source, cell, room);
    finish(sending);
    return true;
}

bool crossing_plan(Arena *arena, const Machine *machine, Dtype dtype, const CrossMeshSide *from,
                   const CrossMeshSide *to, StepKind kind, bool list, Crossing *out, Error *err)
{
    *out = (Crossing){.kind = kind};
    Sending sending = {.arena = arena, .machine = machine, .dtype = dtype, .out = out};
    sending.list = list;
    sending.last_bytes = -1;
    sending.scratch = arena_new();
    bool planned = plan_sending(&sending, from, to, err);
    arena_free(sending.scratch);
    return planned;
}

/* ---- what must cross ---- */

/* Elements of the target's cell that the target's devices hold already in the source's layout. Of
 * a partial value, a part counts only if all addends are there. */
static int64_t held_elements(const Sending *sending, const bool *has, int32_t to)
{
    int64_t n = 0;
    for (int32_t cell = 0; cell < sending->from.n_cells; cell++)
        if (has[cell])
            n += common_elements(sending, sending->from.first[cell], sending->to.first[to]);
    return n / sending->from.n_addends;
}

bool crossing_missing_bytes(Arena *arena, Dtype dtype, const CrossMeshSide *from,
                            const CrossMeshSide *to, int64_t *out, Error *err)
{
    Sending sending = {.scratch = arena};
    if (!make_grid(arena, from, &sending.from, err) || !make_grid(arena, to, &sending.to, err))
        return false;
    make_overlaps(&sending);
    bool *has = arena_array(arena, bool, sending.from.n_cells);
    Intern *targets = intern_new(arena), *seen = intern_new(arena);
    for (int64_t at = 0; at < sending.to.n; at++) {
        int32_t device = device_of(&sending.to, at);
        intern_put(targets, &device, sizeof device);
    }
    for (int64_t at = 0; at < sending.from.n; at++) {
        int32_t device = device_of(&sending.from, at);
        if (intern_find(targets, &device, sizeof device) >= 0)
            has[sending.from.cell[at]] = true;
    }
    int64_t missing = 0;
    for (int32_t cell = 0; cell < sending.to.n_cells; cell++) {
        int64_t first = sending.to.first[cell], n_dims = sending.to.sharding->n_dims;
        size_t row_bytes = (size_t)n_dims * sizeof(int32_t);
        int32_t n_seen = intern_count(seen);
        if (intern_put(seen, sending.to.part + first * n_dims, row_bytes) < n_seen)
            continue;
        int64_t elements = 1;
        for (int d = 0; d < n_dims; d++)
            elements *= sending.to.runs[d][sending.to.part[first * n_dims + d]].local_size;
        missing += elements - held_elements(&sending, has, cell);
    }
    *out = dtype_bytes(dtype, missing);
    return true;
}
