#include "core/plan/machine.h"

/* Beyond these, sums of times would not be numbers. */
static const double least_rate = 1, most = 1e30;

static bool check_number(const char *what, double value, bool may_be_0, Error *err)
{
    if (value <= most && (value >= least_rate || (may_be_0 && value >= 0)))
        return true;
    return error_kind(err, ERROR_OUT_OF_RANGE, "%s must be %s to %g", what, may_be_0 ? "0" : "1",
                      most);
}

static bool check_link(const char *which, const Link *link, Error *err)
{
    if (check_number("latency_us", link->latency_us, true, err) &&
        check_number("bytes_per_s", link->bytes_per_s, false, err))
        return true;
    error_hint(err, "the link '%s'", which);
    return false;
}

bool machine_check(const Machine *machine, Error *err)
{
    if (machine->devices_per_node < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "devices_per_node must be 1 or more");
    if (machine->memory_bytes < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "memory_bytes must be more than 0");
    if (!check_number("memory_bytes_per_s", machine->memory_bytes_per_s, false, err) ||
        !check_number("launch_us", machine->launch_us, true, err) ||
        !check_number("flops_per_s of f32", machine->flops_per_s[DT_F32], false, err))
        return false;
    for (Dtype dtype = 0; dtype < DT_COUNT; dtype++)
        if (machine->flops_per_s[dtype] != 0 &&
            !check_number("flops_per_s", machine->flops_per_s[dtype], false, err))
            return false;
    return check_link("inside", &machine->inside, err) &&
           check_link("between", &machine->between, err);
}

static int64_t node_of(const Machine *machine, const Mesh *mesh, int64_t position)
{
    return mesh_device(mesh, position) / machine->devices_per_node;
}

/* Positions from the first member of a group to its last, and the size of the aligned block that a
 * group lies in. */
static void group_reach(const Mesh *mesh, AtomSet atoms, int64_t *reach, int64_t *block)
{
    *reach = 0;
    *block = 1;
    for (int i = 0; i < mesh->n_atoms; i++) {
        if (!(atoms >> i & 1))
            continue;
        const MeshAtom *atom = &mesh->atoms[i];
        int64_t end = atom->stride * atom->size;
        *reach += atom->stride * (atom->size - 1);
        *block = end > *block ? end : *block;
    }
}

static bool spans_nodes(const Machine *machine, const Mesh *mesh, AtomSet atoms)
{
    int64_t reach, block;
    group_reach(mesh, atoms, &reach, &block);
    if (!mesh->devices && reach >= machine->devices_per_node)
        return true;
    if (!mesh->devices && machine->devices_per_node % block == 0)
        return false;
    for (int64_t position = 0; position < mesh->n_devices; position++) {
        int64_t first = mesh_group_member(mesh, atoms, position, 0);
        if (node_of(machine, mesh, position) != node_of(machine, mesh, first))
            return true;
    }
    return false;
}

const Link *machine_link(const Machine *machine, const Mesh *mesh, AtomSet atoms)
{
    return spans_nodes(machine, mesh, atoms) ? &machine->between : &machine->inside;
}
