#include "core/run/collective.h"

#include "core/run/kernel.h"

#include <inttypes.h>

/* Whether a replicated value can become partial under this reduction: the value on one rank and
 * zeros elsewhere, or the value on every rank. */
static bool can_make(ReduceOp reduce)
{
    return reduce >= REDUCE_SUM && reduce <= REDUCE_MIN;
}

/* The atoms over which the target, and not the source, is a partial sum. */
static AtomSet made_partial(const Collective *collective)
{
    AtomSet made = 0;
    for (int a = 0; a < collective->mesh->n_atoms; a++)
        if (collective->to->partial[a] == REDUCE_SUM && collective->from->partial[a] == REDUCE_NONE)
            made |= (AtomSet)1 << a;
    return made;
}

bool collective_roles(const Collective *collective, AtomRoles *out, Error *err)
{
    const Sharding *from = collective->from, *to = collective->to;
    AtomSet partial = sharding_partials(from), kept = sharding_partials(to);
    AtomSet shards = sharding_atoms(from);
    *out = (AtomRoles){.summed = partial & ~kept, .made = made_partial(collective)};
    out->overlaps = out->summed & shards;
    out->pads = out->overlaps || (out->made & shards);
    for (int a = 0; a < ATOMS_MAX; a++) {
        ReduceOp reduce = from->partial[a];
        if (kept & partial & (AtomSet)1 << a && to->partial[a] != reduce)
            return error_kind(err, ERROR_RUN,
                              "a partial value cannot become partial by another reduction");
        if (kept & ~partial & (AtomSet)1 << a && !can_make(to->partial[a]))
            return error_kind(err, ERROR_RUN, "a value cannot be made partial by %s",
                              reduce_name((ReduceOp)to->partial[a]));
        if (!(out->summed >> a & 1))
            continue;
        if (out->reduce != REDUCE_NONE && out->reduce != reduce)
            return error_kind(err, ERROR_RUN, "two kinds of reduction in one step");
        out->reduce = reduce;
    }
    if (out->summed & ~collective->atoms)
        return error_kind(err, ERROR_RUN, "addends are outside the group");
    out->own = collective->atoms & ~out->summed & ~shards;
    return true;
}

/* Whether positions a and b agree on all atoms of the set. */
static bool agree_on(const Mesh *mesh, AtomSet atoms, int64_t a, int64_t b)
{
    for (int i = 0; i < mesh->n_atoms; i++)
        if (atoms >> i & 1 && mesh_atom_coord(mesh, i, a) != mesh_atom_coord(mesh, i, b))
            return false;
    return true;
}

/* Of a running sum: what the rank has, and what those before it have, which is carried on. */
static PartUse use_of_carried(const Collective *collective, int dim, int64_t position,
                              int64_t member)
{
    const Cut *from = &collective->from->dim[dim], *to = &collective->to->dim[dim];
    int64_t lo, hi, member_lo, member_hi;
    if (agree_on(collective->mesh, cut_atoms(from), member, position))
        return PART_ADDED;
    cut_interval(to, collective->mesh, position, &lo, &hi);
    cut_interval(from, collective->mesh, member, &member_lo, &member_hi);
    bool before = from->after == CUT_CARRY ? member_hi <= lo : member_lo >= hi;
    return before && lo < hi && member_lo < member_hi ? PART_CARRIED : PART_UNREAD;
}

PartUse collective_use(const Collective *collective, const AtomRoles *roles, int64_t position,
                       int64_t member)
{
    if (!agree_on(collective->mesh, roles->own, member, position))
        return PART_UNREAD;
    int carried = sharding_carried_dim(collective->from);
    if (carried >= 0)
        return use_of_carried(collective, carried, position, member);
    if (roles->overlaps)
        return PART_ADDED;
    bool first = mesh_stands_first(collective->mesh, roles->summed, member);
    return first ? PART_COPIED : PART_ADDED;
}

static bool combine(Local *to, const Local *from, const Picks *picks, ReduceOp reduce)
{
    Stretch s;
    for (PickScan scan = picks_scan(picks); picks_next(&scan, &s);)
        if (!kernel_combine(reduce, to->dtype, local_at(to, s.to), local_at(from, s.from), s.step,
                            s.n))
            return false;
    return true;
}

/* Along a dim that carries all of the target reads the end of the other part. */
static void pick_end(Picks *picks, const Local *from, int dim, const Sharding *sharding)
{
    int64_t stride[DIMS_MAX];
    row_major_strides(&from->shape, stride);
    bool last = sharding->dim[dim].after == CUT_CARRY;
    for (int64_t i = 0; i < picks->size[dim]; i++)
        picks->from[dim][i] = last ? (from->shape.dim[dim] - 1) * stride[dim] : 0;
}

void collective_clear(const AtomRoles *roles, Local *target)
{
    const double real = 1;
    const float single = 1;
    const int64_t whole = 1;
    Number number = dtype_number(target->dtype);
    const void *one = number == NUMBER_F32   ? (const void *)&single
                      : number == NUMBER_F64 ? (const void *)&real
                                             : (const void *)&whole;
    memset(target->data, 0, (size_t)local_bytes(target));
    for (int64_t i = 0; roles->reduce == REDUCE_PROD && i < shape_elements(&target->shape); i++)
        elements_store(target->dtype, local_at(target, i), 1, number, one);
}

/* A value that becomes a partial sum is zero on ranks that are not at 0 on the axes along which it
 * was replicated. */
bool collective_is_blank(const Collective *collective, const AtomRoles *roles, int64_t position)
{
    return roles->made &&
           !mesh_stands_first(collective->mesh, roles->made & ~sharding_atoms(collective->from),
                              position);
}

bool collective_finish(const Collective *collective, const AtomRoles *roles, int64_t position,
                       int64_t n_copied, Local *target, Error *err)
{
    int64_t n_held = roles->pads
                         ? sharding_local_elements(collective->from, collective->mesh, position)
                         : shape_elements(&target->shape);
    int64_t n_missing = n_held - n_copied;
    if (n_missing != 0 && !roles->overlaps)
        return error_kind(err, ERROR_RUN, "%" PRId64 " elements are not in the group", n_missing);
    if (collective_is_blank(collective, roles, position))
        memset(target->data, 0, (size_t)local_bytes(target));
    if (roles->reduce != REDUCE_AVG)
        return true;
    return kernel_scale(target, 1.0 / (double)mesh_atoms_size(collective->mesh, roles->summed),
                        err);
}

bool collective_run(const Collective *collective, int64_t position, const Local *const *held,
                    Local *target, Arena *scratch, Error *err)
{
    AtomRoles roles;
    if (!collective_roles(collective, &roles, err))
        return false;

    if (roles.pads)
        collective_clear(&roles, target);
    int64_t n_members = mesh_atoms_size(collective->mesh, collective->atoms), n_copied = 0;
    for (int64_t i = 0; i < n_members; i++) {
        int64_t member = mesh_group_member(collective->mesh, collective->atoms, position, i);
        PartUse use = collective_use(collective, &roles, position, member);
        if (use == PART_UNREAD)
            continue;
        Picks picks = picks_between(scratch, target, held[i]);
        if (use == PART_CARRIED)
            pick_end(&picks, held[i], sharding_carried_dim(collective->from), collective->from);
        if (use == PART_COPIED)
            n_copied += local_pick(target, held[i], &picks);
        else if (!combine(target, held[i], &picks, roles.reduce))
            return error_kind(err, ERROR_RUN, "elements of type %s cannot be combined",
                              dtype_name(target->dtype));
    }
    return collective_finish(collective, &roles, position, n_copied, target, err);
}
