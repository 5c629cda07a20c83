#include "core/reshard/lend.h"

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

bool lend_fits(const Mesh *mesh, const Machine *machine, const Mesh *other,
               const Machine *other_machine)
{
    if (mesh == other && machine == other_machine)
        return true;
    return machine->devices_per_node == other_machine->devices_per_node &&
           same_link(&machine->inside, &other_machine->inside) &&
           same_link(&machine->between, &other_machine->between) &&
           same_tuning(machine->tuning, other_machine->tuning) &&
           machine->measured == other_machine->measured && same_mesh(mesh, other);
}
