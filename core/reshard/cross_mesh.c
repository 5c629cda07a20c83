#include "core/reshard/cross_mesh.h"

#include "core/base/intern.h"

#include <inttypes.h>
#include <math.h>

const char *cross_way_name(CrossWay way)
{
    /* ORDER CROSS_WAY */
    static const char *const names[] = {"sends of parts", "broadcast", "scatter, then gather"};
    return names[way];
}

/* Layouts that are tried on one side. */
enum { TRIED_MAX = 2 * DIMS_MAX + 2 * ATOMS_MAX };

/* Layouts of one mesh that a path may pass through; [0] is the end of the path itself. */
enum { PAIRS_MAX = 1 << 22 }; /* of a device of each mesh */

typedef struct {
    const Mesh *mesh;
    Shardings *shardings;
    Resharder *resharder;
    int n;
    int32_t id[TRIED_MAX];
    bool finer[TRIED_MAX]; /* sharded further than the end */
} Tried;

typedef struct {
    Arena *arena, *scratch;
    const Machine *machine;
    Dtype dtype;
    Tried from, to;
    CrossMeshPath *out;
} CrossChoice;

/* ---- layouts in between ---- */

static void try_layout(Tried *tried, const Sharding *sharding, bool finer)
{
    int32_t id = shardings_put(tried->shardings, sharding);
    for (int i = 0; i < tried->n; i++)
        if (tried->id[i] == id)
            return;
    if (tried->n == TRIED_MAX)
        return;
    tried->id[tried->n] = id;
    tried->finer[tried->n++] = finer;
}

/* Dim d sharded further by these atoms, at its minor end. */
static bool cut_further(const Sharding *sharding, const Mesh *mesh, int d, AtomSet atoms,
                        Sharding *out)
{
    *out = *sharding;
    Cut *cut = &out->dim[d];
    if (cut->n == 0 || !atoms || !cut_is_plain(cut))
        return false;
    uint8_t atom[ATOMS_MAX];
    int n = mesh_list_set(mesh, atoms, atom);
    Digit *last = &cut->digit[cut->n - 1];
    for (int i = 0; i < n; i++) {
        last->atom[last->n++] = atom[i];
        out->partial[atom[i]] = REDUCE_NONE;
    }
    cut_canonical(cut, mesh);
    return true;
}

/* Each dim sharded further by all of these atoms, and by those of each axis. */
static void try_further(Tried *tried, const Sharding *sharding, AtomSet atoms)
{
    Sharding finer;
    for (int d = 0; d < sharding->n_dims; d++) {
        if (cut_further(sharding, tried->mesh, d, atoms, &finer))
            try_layout(tried, &finer, true);
        for (int i = 0; i < tried->mesh->n_axes; i++)
            if (cut_further(sharding, tried->mesh, d, atoms & mesh_axis_atoms(tried->mesh, i),
                            &finer))
                try_layout(tried, &finer, true);
    }
}

/* The axis of `to` that corresponds to axis `axis` of `from`: of the same name and size or, if
 * both meshes have the same sizes, in the same position; -1 if none. */
static int same_axis(const Mesh *from, const Mesh *to, int axis)
{
    int found = mesh_find_axis(to, str_from(from->axes[axis].name));
    if (found >= 0)
        return to->axes[found].size == from->axes[axis].size ? found : -1;
    bool same_sizes = from->n_axes == to->n_axes;
    for (int i = 0; same_sizes && i < from->n_axes; i++)
        same_sizes = from->axes[i].size == to->axes[i].size;
    return same_sizes ? axis : -1;
}

/* The same layout on the other mesh; returns false if that lacks an axis. */
static bool carry_over(const Sharding *sharding, const Mesh *from, const Mesh *to, Sharding *out)
{
    uint8_t atom[ATOMS_MAX] = {0};
    AtomSet used = sharding_atoms(sharding) | sharding_partials(sharding), taken = 0;
    for (int a = 0; a < from->n_atoms; a++) {
        int axis = same_axis(from, to, from->atoms[a].axis);
        if (!(used >> a & 1))
            continue;
        if (axis < 0)
            return false;
        atom[a] = (uint8_t)(to->axes[axis].atom + a - from->axes[from->atoms[a].axis].atom);
        if (taken >> atom[a] & 1)
            return false;
        taken |= (AtomSet)1 << atom[a];
    }
    *out = *sharding;
    for (int a = 0; a < ATOMS_MAX; a++)
        out->partial[a] = REDUCE_NONE;
    for (int a = 0; a < from->n_atoms; a++)
        if (sharding->partial[a] != REDUCE_NONE)
            out->partial[atom[a]] = sharding->partial[a];
    for (int d = 0; d < out->n_dims; d++) {
        if (from->weights != to->weights) /* whose lists it refers to */
            out->dim[d] = cut_plain(&sharding->dim[d], from);
        for (int i = 0; i < out->dim[d].n; i++)
            for (int k = 0; k < out->dim[d].digit[i].n; k++)
                out->dim[d].digit[i].atom[k] = atom[sharding->dim[d].digit[i].atom[k]];
        cut_canonical(&out->dim[d], to);
    }
    return true;
}

static void list_layouts(CrossChoice *choice, const Sharding *from, const Sharding *to)
{
    Sharding other, reduced = sharding_without_partial(from);
    const Mesh *here = choice->from.mesh, *there = choice->to.mesh;
    AtomSet partial = sharding_partials(from);
    try_layout(&choice->from, from, false);
    try_layout(&choice->from, &reduced, false);
    if (carry_over(to, there, here, &other))
        try_layout(&choice->from, &other, false);
    if (partial)
        try_further(&choice->from, from, partial);

    AtomSet all = ((AtomSet)1 << there->n_atoms) - 1;
    try_layout(&choice->to, to, false);
    if (carry_over(from, here, there, &other))
        try_layout(&choice->to, &other, false);
    if (carry_over(&reduced, here, there, &other))
        try_layout(&choice->to, &other, false);
    try_further(&choice->to, to, all & ~sharding_atoms(to));
}

/* ---- the choice ---- */

/* The path through layout i here and layout k there; returns false if it is impossible, or if a
 * cheaper one of its kind is known. */
static bool price_pair(CrossChoice *choice, int i, int k, StepKind kind, CrossMeshPath *out)
{
    Tried *from = &choice->from, *to = &choice->to;
    out->sent = from->id[i];
    out->received = to->id[k];
    out->way = to->finer[k]             ? CROSS_SCATTER
               : kind == STEP_BROADCAST ? CROSS_BROADCAST
                                        : CROSS_PARTS;
    out->before = reshard(from->resharder, choice->dtype, from->id[0], out->sent);
    out->after = reshard(to->resharder, choice->dtype, out->received, to->id[0]);
    if (out->before->us + out->after->us > out->way_us[out->way])
        return false;
    CrossMeshSide sent = {from->mesh, shardings_at(from->shardings, out->sent)};
    CrossMeshSide received = {to->mesh, shardings_at(to->shardings, out->received)};
    if (!crossing_plan(choice->scratch, choice->machine, choice->dtype, &sent, &received, kind,
                       false, &out->crossing, NULL))
        return false;
    out->us = out->before->us + out->crossing.us + out->after->us;
    return kind == STEP_SEND || out->crossing.most_targets > 1; /* otherwise it is a send */
}

static int n_steps(const CrossMeshPath *path)
{
    return path->before->n_steps + path->after->n_steps + (path->crossing.n_transfers > 0);
}

static bool is_better(const CrossMeshPath *new, const CrossMeshPath *old)
{
    double slack = 1e-9 * (1 + old->us);
    if (new->us < old->us - slack || new->us > old->us + slack)
        return new->us < old->us;
    return n_steps(new) < n_steps(old);
}

/* Only their makers produce partial layouts: no reshard to one is tried. */
static bool may_pair(const CrossChoice *choice, int i, int k)
{
    const Sharding *first = shardings_at(choice->from.shardings, choice->from.id[0]);
    const Sharding *sent = shardings_at(choice->from.shardings, choice->from.id[i]);
    const Sharding *received = shardings_at(choice->to.shardings, choice->to.id[k]);
    AtomSet addends = sharding_partials(sent);
    for (int a = 0; a < choice->from.mesh->n_atoms; a++)
        if (addends >> a & 1 && sent->partial[a] != first->partial[a])
            return false;
    return !sharding_partials(received) || (addends && i == 0);
}

static bool choose(CrossChoice *choice, Error *err)
{
    CrossMeshPath *out = choice->out;
    bool found = false;
    for (int way = 0; way < CROSS_WAY_COUNT; way++)
        out->way_us[way] = INFINITY;
    for (int i = 0; i < choice->from.n; i++)
        for (int k = 0; k < choice->to.n; k++)
            for (StepKind kind = STEP_SEND; kind <= STEP_BROADCAST; kind++) {
                CrossMeshPath path = *out;
                if (!may_pair(choice, i, k) || !price_pair(choice, i, k, kind, &path))
                    continue;
                if (path.us < path.way_us[path.way])
                    out->way_us[path.way] = path.way_us[path.way] = path.us;
                if (found && !is_better(&path, out))
                    continue;
                *out = path;
                found = true;
            }
    if (found)
        return true;
    CrossMeshSide from = {choice->from.mesh, shardings_at(choice->from.shardings, out->from)};
    CrossMeshSide to = {choice->to.mesh, shardings_at(choice->to.shardings, out->to)};
    Crossing crossing; /* holds the reason */
    return crossing_plan(choice->scratch, choice->machine, choice->dtype, &from, &to, STEP_SEND,
                         false, &crossing, err);
}

/* Returns whether some device of one mesh has a device of the other on its node. */
static bool share_a_node(const CrossChoice *choice)
{
    const Mesh *from = choice->from.mesh, *to = choice->to.mesh;
    int64_t per_node = choice->machine->devices_per_node;
    Intern *nodes = intern_new(choice->scratch);
    for (int64_t at = 0; at < from->n_devices; at++) {
        int64_t node = mesh_device(from, at) / per_node;
        intern_put(nodes, &node, sizeof node);
    }
    for (int64_t at = 0; at < to->n_devices; at++) {
        int64_t node = mesh_device(to, at) / per_node;
        if (intern_find(nodes, &node, sizeof node) >= 0)
            return true;
    }
    return false;
}

/* All devices of one side send, or all of the other receive, an equal share at once, over the
 * fastest link between the two. */
static double bound_us(const CrossChoice *choice, int64_t missing_bytes)
{
    int64_t n_from = choice->from.mesh->n_devices, n_to = choice->to.mesh->n_devices;
    int64_t n = n_from < n_to ? n_from : n_to;
    RankGroup group = {.n = 2, .nodes = 2, .per_node = 1};
    if (missing_bytes == 0)
        return 0;
    double least = price_group(choice->machine, STEP_SEND, &group, missing_bytes / n).us;
    if (!share_a_node(choice))
        return least;
    group = (RankGroup){.n = 2, .nodes = 1, .per_node = 2};
    double inside = price_group(choice->machine, STEP_SEND, &group, missing_bytes / n).us;
    return inside < least ? inside : least;
}

static bool plan_path(CrossChoice *choice, const CrossMeshSide *from, const CrossMeshSide *to,
                      Error *err)
{
    CrossMeshPath *out = choice->out;
    int64_t missing_bytes;
    list_layouts(choice, from->sharding, to->sharding);
    out->from = choice->from.id[0];
    out->to = choice->to.id[0];
    if (!choose(choice, err) ||
        !crossing_missing_bytes(choice->scratch, choice->dtype, from, to, &missing_bytes, err))
        return false;
    CrossMeshSide sent = {from->mesh, shardings_at(out->from_shardings, out->sent)};
    CrossMeshSide received = {to->mesh, shardings_at(out->to_shardings, out->received)};
    StepKind kind = out->crossing.kind;
    out->bound_us = bound_us(choice, missing_bytes);
    return crossing_plan(choice->arena, choice->machine, choice->dtype, &sent, &received, kind,
                         true, &out->crossing, err);
}

static bool check_sides(const CrossMeshSide *from, const CrossMeshSide *to, Error *err)
{
    if (from->mesh->n_devices > PAIRS_MAX / to->mesh->n_devices) {
        error_kind(err, ERROR_UNSUPPORTED,
                   "from %" PRId64 " devices to %" PRId64
                   ": senders and receivers are matched for at "
                   "most %d pairs",
                   from->mesh->n_devices, to->mesh->n_devices, PAIRS_MAX);
        error_hint(err, "use a part of the meshes: the rest moves the same way");
        return false;
    }
    if (from->sharding->n_dims != to->sharding->n_dims)
        return error_kind(err, ERROR_RANK, "the two layouts are of %d and %d dims",
                          (int)from->sharding->n_dims, (int)to->sharding->n_dims);
    for (int d = 0; d < from->sharding->n_dims; d++)
        if (cut_size(&from->sharding->dim[d]) != cut_size(&to->sharding->dim[d]))
            return error_kind(err, ERROR_RANK, "dim %d is of two sizes", d);
    return !sharding_partials(to->sharding) ||
           error_kind(err, ERROR_PARTIAL, "a value sent to another mesh cannot be partial there");
}

static Tried tried_on(Arena *arena, const Machine *machine, const Mesh *mesh)
{
    Tried tried = {.mesh = mesh, .shardings = shardings_new(arena)};
    tried.resharder = resharder_new(arena, mesh, machine, tried.shardings);
    return tried;
}

bool cross_mesh_reshard(Arena *arena, const Machine *machine, Dtype dtype,
                        const CrossMeshSide *from, const CrossMeshSide *to, CrossMeshPath *out,
                        Error *err)
{
    *out = (CrossMeshPath){0};
    if (!check_sides(from, to, err))
        return false;
    CrossChoice choice = {.arena = arena, .machine = machine, .dtype = dtype, .out = out};
    choice.from = tried_on(arena, machine, from->mesh);
    choice.to = tried_on(arena, machine, to->mesh);
    out->from_shardings = choice.from.shardings;
    out->to_shardings = choice.to.shardings;
    choice.scratch = arena_new();
    bool planned = plan_path(&choice, from, to, err);
    arena_free(choice.scratch);
    return planned;
}
