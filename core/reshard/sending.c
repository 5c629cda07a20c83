#include "core/reshard/sending.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

#include <assert.h>
#include <math.h>

struct Sender {
    Arena *arena;
    Resharder *resharder;
    const Mesh *mesh;
    const Machine *machine;
    Shardings *shardings;
    Intern *asked;
    Vec(const ReshardPath *) paths; /* by id in asked */
};

typedef struct {
    int32_t dtype, from, to;
    SubMesh makers, readers;
} SendQuestion;

Sender *sender_new(Arena *arena, Resharder *resharder, const Mesh *mesh, const Machine *machine,
                   Shardings *shardings)
{
    Sender *sender = arena_make(arena, Sender);
    *sender = (Sender){.arena = arena, .resharder = resharder, .mesh = mesh};
    sender->machine = machine;
    sender->shardings = shardings;
    sender->asked = intern_new(arena);
    return sender;
}

static int64_t local_bytes(const Sender *sender, const SendQuestion *asked, int32_t sharding)
{
    const Sharding *s = shardings_at(sender->shardings, sharding);
    return dtype_bytes((Dtype)asked->dtype, sharding_most_elements(s, sender->mesh));
}

/* The atoms by which the devices of the two sides differ. */
static AtomSet differing(const Sender *sender, const SendQuestion *asked)
{
    AtomSet makers = asked->makers.fixed, readers = asked->readers.fixed, atoms = makers ^ readers;
    for (int a = 0; a < sender->mesh->n_atoms; a++)
        if (makers & readers & (AtomSet)1 << a &&
            mesh_atom_coord(sender->mesh, a, asked->makers.first) !=
                mesh_atom_coord(sender->mesh, a, asked->readers.first))
            atoms |= (AtomSet)1 << a;
    return atoms;
}

/* As it arrives: without the axes that the readers' devices have one coordinate of. */
static int32_t arrived(const Sender *sender, const SendQuestion *asked, int32_t sent)
{
    Sharding sharding = *shardings_at(sender->shardings, sent);
    if (!(sharding_atoms(&sharding) & asked->readers.fixed))
        return sent;
    for (int64_t d = 0; d < sharding.n_dims; d++)
        sharding.dim[d] = cut_without(&sharding.dim[d], asked->readers.fixed, sender->mesh);
    return shardings_put(sender->shardings, &sharding);
}

/* Sharded further, in its first dim that divides, by all axes that it and neither side uses;
 * unchanged if there are none or no dim divides. */
static int32_t scattered(const Sender *sender, const SendQuestion *asked, int32_t sharding)
{
    Sharding with = *shardings_at(sender->shardings, sharding);
    AtomSet used = sharding_atoms(&with) | sharding_partials(&with) | asked->makers.fixed |
                   asked->readers.fixed;
    uint8_t atom[ATOMS_MAX];
    AtomSet unused = submesh_free(sender->mesh, (SubMesh){.fixed = used});
    if (!unused)
        return sharding;
    for (int64_t d = 0; d < with.n_dims; d++) {
        const Cut *cut = &with.dim[d];
        int n = cut_list_atoms(cut, atom);
        if (cut->n > 1 || !cut_is_plain(cut))
            continue;
        n += mesh_list_set(sender->mesh, unused, atom + n);
        int64_t parts = 1;
        for (int i = 0; i < n; i++)
            parts *= sender->mesh->atoms[atom[i]].size;
        if (cut_size(cut) == 0 || cut_size(cut) % parts != 0)
            continue;
        with.dim[d] = cut_by(cut_size(cut), atom, n, sender->mesh);
        return shardings_put(sender->shardings, &with);
    }
    return sharding;
}

typedef struct {
    int32_t sent, arrived;
    const ReshardPath *before, *after;
    Step step;
    double us;
} SendPath;

/* The path that crosses as `sent`; us is INFINITY if it is impossible. */
static SendPath way_by(const Sender *sender, const SendQuestion *asked, int32_t sent)
{
    SendPath way = {.sent = sent, .us = INFINITY};
    const Sharding *crosses = shardings_at(sender->shardings, sent);
    if ((sent != asked->from && sharding_atoms(crosses) & asked->makers.fixed) ||
        sharding_partials(crosses) & asked->readers.fixed)
        return way;
    way.arrived = arrived(sender, asked, sent);
    way.step = (Step){.kind = STEP_SEND, .from = sent, .to = way.arrived};
    const Sharding *comes = shardings_at(sender->shardings, way.arrived);
    way.step.atoms = differing(sender, asked) | (sharding_atoms(crosses) & ~sharding_atoms(comes));
    way.step.bytes = local_bytes(sender, asked, way.arrived);
    Price price =
        price_step(sender->machine, sender->mesh, STEP_SEND, way.step.atoms, way.step.bytes);
    way.step.us = price.us;
    way.step.wire_bytes = price.wire_bytes;
    Dtype dtype = (Dtype)asked->dtype;
    way.before = reshard_inside(sender->resharder, dtype, asked->from, sent, asked->makers.fixed);
    way.after =
        reshard_inside(sender->resharder, dtype, way.arrived, asked->to, asked->readers.fixed);
    way.us = way.before->us + way.step.us + way.after->us;
    return way;
}

static void try_way(const Sender *sender, const SendQuestion *asked, int32_t sent, SendPath *best)
{
    const int32_t cut[2] = {sent, scattered(sender, asked, sent)};
    for (int i = 0; i < (cut[1] != sent ? 2 : 1); i++) {
        SendPath way = way_by(sender, asked, cut[i]);
        if (way.us < best->us * (1 - 1e-9))
            *best = way;
    }
}

static double least_us(const Sender *sender, const SendQuestion *asked)
{
    const Sharding *to = shardings_at(sender->shardings, asked->to);
    int64_t elements = 1;
    for (int64_t d = 0; d < to->n_dims; d++)
        elements *= cut_size(&to->dim[d]);
    int64_t share =
        dtype_bytes((Dtype)asked->dtype, elements) / submesh_size(sender->mesh, asked->readers);
    return price_step(sender->machine, sender->mesh, STEP_SEND, differing(sender, asked), share).us;
}

/* Without partial axes that the readers' devices have one coordinate of. */
static int32_t combined(const Sender *sender, const SendQuestion *asked)
{
    Sharding sharding = *shardings_at(sender->shardings, asked->from);
    for (int a = 0; a < sender->mesh->n_atoms; a++)
        if (asked->readers.fixed >> a & 1)
            sharding.partial[a] = REDUCE_NONE;
    return shardings_put(sender->shardings, &sharding);
}

static void add_steps(ReshardPath *path, Step *steps, const Step *more, int n)
{
    for (int i = 0; i < n; i++) {
        steps[path->n_steps++] = more[i];
        path->us += more[i].us;
        path->wire_bytes += more[i].wire_bytes;
        path->padding_bytes += more[i].padding_bytes;
    }
}

static const ReshardPath *find_path(Sender *sender, const SendQuestion *asked)
{
    int32_t from = combined(sender, asked);
    SendPath best = way_by(sender, asked, from);
    try_way(sender, asked, from, &best);
    const ReshardPath *plain =
        reshard(sender->resharder, (Dtype)asked->dtype, asked->from, asked->to);
    for (int i = 0; i < plain->n_steps; i++)
        try_way(sender, asked, plain->step[i].to, &best);
    assert(best.before);

    ReshardPath *path = arena_make(sender->arena, ReshardPath);
    Step *steps = arena_array(sender->arena, Step, best.before->n_steps + 1 + best.after->n_steps);
    *path = (ReshardPath){.step = steps, .bound_us = least_us(sender, asked)};
    add_steps(path, steps, best.before->step, best.before->n_steps);
    add_steps(path, steps, &best.step, 1);
    add_steps(path, steps, best.after->step, best.after->n_steps);
    path->peak_bytes = best.before->peak_bytes > best.after->peak_bytes ? best.before->peak_bytes
                                                                        : best.after->peak_bytes;
    return path;
}

const ReshardPath *sender_path(Sender *sender, Dtype dtype, int32_t from, int32_t to,
                               SubMesh makers, SubMesh readers)
{
    SendQuestion asked = {(int32_t)dtype, from, to, makers, readers};
    int32_t id = intern_put(sender->asked, &asked, sizeof asked);
    if (id == sender->paths.n)
        vec_push(sender->arena, &sender->paths, find_path(sender, &asked));
    return sender->paths.at[id];
}
