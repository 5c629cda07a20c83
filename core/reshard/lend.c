#include "core/reshard/lend.h"

#include "core/layout/sharding_find.h"
#include "core/reshard/resharder.h"

#include <string.h>

static bool same_numbers(const double *a, const double *b, int n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_link(const Link *a, const Link *b)
{
    double one[] = {a->latency_us, a->bytes_per_s, a->shared_bytes_per_s, a->channel_bytes_per_s};
    double two[] = {b->latency_us, b->bytes_per_s, b->shared_bytes_per_s, b->channel_bytes_per_s};
    return same_numbers(one, two, sizeof one / sizeof *one) && a->channels == b->channels;
}

_Static_assert(sizeof(Tuning) % sizeof(double) == 0, "a tuning is compared as numbers");

static bool same_tuning(const Tuning *a, const Tuning *b)
{
    return a == b ||
           (a && b &&
            same_numbers((const double *)a, (const double *)b, (int)(sizeof *a / sizeof(double))));
}

static bool same_devices(const Mesh *a, const Mesh *b)
{
    return a->devices == b->devices ||
           (a->devices && b->devices &&
            memcmp(a->devices, b->devices, (size_t)a->n_devices * sizeof *a->devices) == 0);
}

static bool same_mesh(const Mesh *a, const Mesh *b)
{
    if (a->n_axes != b->n_axes || a->n_atoms != b->n_atoms || a->n_devices != b->n_devices)
        return false;
    for (int i = 0; i < a->n_atoms; i++)
        if (a->atoms[i].axis != b->atoms[i].axis || a->atoms[i].size != b->atoms[i].size ||
            a->atoms[i].stride != b->atoms[i].stride)
            return false;
    return same_devices(a, b);
}

/* Whether paths found on one mesh and machine are valid on the other: everything that steps and
 * prices depend on is equal. Names may differ. */
static bool lend_fits(const Mesh *mesh, const Machine *machine, const Mesh *other,
                      const Machine *other_machine)
{
    if (mesh == other && machine == other_machine)
        return true;
    return machine->devices_per_node == other_machine->devices_per_node &&
           machine->devices_per_block == other_machine->devices_per_block &&
           same_link(&machine->inside, &other_machine->inside) &&
           same_link(&machine->between, &other_machine->between) &&
           same_link(&machine->spine, &other_machine->spine) &&
           same_tuning(machine->tuning, other_machine->tuning) &&
           machine->measured == other_machine->measured && same_mesh(mesh, other);
}

void resharder_borrow(Resharder *resharder, const Resharder *lender)
{
    bool fits =
        lender && lend_fits(lender->mesh, lender->machine, resharder->mesh, resharder->machine);
    resharder->lender = fits ? lender : NULL;
}

static bool same_options(const ReshardOptions *a, const ReshardOptions *b)
{
    return a->cap == b->cap && a->slack == b->slack && a->bytes == b->bytes &&
           a->whole_axes == b->whole_axes;
}

/* A copy of a path between shardings of another resharder. */
static ReshardPath *copy_path(Resharder *resharder, const Resharder *of, const ReshardPath *found,
                              int32_t from)
{
    ReshardPath *path = arena_make(resharder->arena, ReshardPath);
    Step *steps = arena_array(resharder->arena, Step, found->n_steps);
    *path = *found;
    path->step = steps;
    for (int i = 0; i < found->n_steps; i++) {
        steps[i] = found->step[i];
        steps[i].from = i > 0 ? steps[i - 1].to : from;
        steps[i].to =
            shardings_put(resharder->shardings, shardings_at(of->shardings, found->step[i].to));
    }
    return path;
}

const ReshardPath *resharder_borrowed_path(Resharder *resharder, const ReshardKey *asked)
{
    const Resharder *lender = resharder->lender;
    if (!lender || !same_options(&lender->options, &resharder->options))
        return NULL;
    ReshardKey theirs = *asked;
    theirs.from =
        shardings_find(lender->shardings, shardings_at(resharder->shardings, asked->from));
    theirs.to = shardings_find(lender->shardings, shardings_at(resharder->shardings, asked->to));
    int32_t id =
        theirs.from < 0 || theirs.to < 0 ? -1 : intern_find(lender->asked, &theirs, sizeof theirs);
    const ReshardPath *found = id < 0 ? NULL : lender->answers.at[id].path;
    return found ? copy_path(resharder, lender, found, asked->from) : NULL;
}

void resharder_take(Resharder *resharder, const Resharder *from)
{
    for (int32_t id = 0; id < from->answers.n; id++) {
        ReshardKey asked = *(const ReshardKey *)intern_key(from->asked, id, NULL);
        const ReshardPath *path = from->answers.at[id].path;
        if (!path || !same_options(&from->options, &resharder->options))
            continue;
        asked.from = shardings_put(resharder->shardings, shardings_at(from->shardings, asked.from));
        asked.to = shardings_put(resharder->shardings, shardings_at(from->shardings, asked.to));
        int32_t mine = intern_put(resharder->asked, &asked, sizeof asked);
        if (mine < resharder->answers.n)
            continue;
        const ReshardPath *copy = copy_path(resharder, from, path, asked.from);
        vec_push(resharder->arena, &resharder->answers, ((ReshardAnswer){.path = copy}));
    }
}
