#include "core/reshard/cluster.h"

#include <inttypes.h>
#include <stdio.h>

static bool check_kinds(const ClusterKind *kind, int n, Error *err)
{
    if (n < 1 || n > CLUSTER_KINDS_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "kinds must be a list of 1 to %d kinds",
                          CLUSTER_KINDS_MAX);
    int64_t node = kind[0].machine->devices_per_node;
    for (int i = 0; i < n; i++) {
        if (kind[i].machine->devices_per_node != node)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "devices_per_node must be equal for all kinds: %s has %" PRId64
                              ", %s %" PRId64,
                              kind[0].machine->name, node, kind[i].machine->name,
                              kind[i].machine->devices_per_node);
        if (kind[i].machine->devices_per_block != kind[0].machine->devices_per_block)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "devices_per_block must be equal for all kinds: %s has %" PRId64
                              ", %s %" PRId64,
                              kind[0].machine->name, kind[0].machine->devices_per_block,
                              kind[i].machine->name, kind[i].machine->devices_per_block);
        if (kind[i].devices < 1 || kind[i].devices % node != 0)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "devices must be a multiple of %" PRId64
                              ", the devices of a node of %s",
                              node, kind[i].machine->name);
    }
    return true;
}

static bool has_slower_links(const Machine *a, const Machine *b)
{
    if (a->spine.bytes_per_s != b->spine.bytes_per_s)
        return a->spine.bytes_per_s < b->spine.bytes_per_s;
    if (a->between.bytes_per_s != b->between.bytes_per_s)
        return a->between.bytes_per_s < b->between.bytes_per_s;
    return a->inside.bytes_per_s < b->inside.bytes_per_s;
}

static void add_peaks(double *sum, const Machine *machine, double devices)
{
    for (Dtype dtype = 0; dtype < DT_COUNT; dtype++) {
        double peak = machine->flops_per_s[dtype];
        sum[dtype] += devices * (peak > 0 ? peak : machine->flops_per_s[DT_F32]);
    }
}

int cluster_slowest(const Cluster *cluster, unsigned set)
{
    int slowest = -1;
    for (int i = 0; i < cluster->n; i++)
        if (set >> i & 1 && (slowest < 0 || has_slower_links(cluster->kind[i].machine,
                                                             cluster->kind[slowest].machine)))
            slowest = i;
    return slowest;
}

/* The numbers of a machine of several kinds; its cluster is not set. */
static Machine mixed(const Cluster *cluster)
{
    const Machine *slowest =
        cluster->kind[cluster_slowest(cluster, (1u << cluster->n) - 1)].machine;
    int64_t memory = slowest->memory_bytes;
    double peak[DT_COUNT] = {0}, devices = 0;
    for (int i = 0; i < cluster->n; i++) {
        const Machine *machine = cluster->kind[i].machine;
        if (machine->memory_bytes < memory)
            memory = machine->memory_bytes;
        add_peaks(peak, machine, (double)cluster->kind[i].devices);
        devices += (double)cluster->kind[i].devices;
    }
    Machine out = *slowest;
    out.memory_bytes = memory;
    for (Dtype dtype = 0; dtype < DT_COUNT; dtype++)
        out.flops_per_s[dtype] = peak[dtype] / devices;
    return out;
}

/* "h100x8 + a100x8" */
static const char *joined_names(Arena *arena, const Cluster *cluster)
{
    Buf name = buf_new(arena);
    for (int i = 0; i < cluster->n; i++)
        buf_printf(&name, "%s%s", i > 0 ? " + " : "", cluster->kind[i].machine->name);
    return arena_str(arena, buf_str(&name));
}

static Cluster *kinds_in(Arena *arena, const ClusterKind *kind, int n, unsigned set)
{
    Cluster *cluster = arena_make(arena, Cluster);
    for (int i = 0; i < n; i++)
        if (set >> i & 1)
            cluster->kind[cluster->n++] = kind[i];
    return cluster;
}

bool cluster_make(Arena *arena, const ClusterKind *kind, int n, Machine *out, Error *err)
{
    if (!check_kinds(kind, n, err))
        return false;
    unsigned all = (1u << n) - 1;
    Cluster *whole = kinds_in(arena, kind, n, all);
    Machine own = mixed(whole);
    own.name = out->name;
    own.source = out->source;
    own.cluster = whole;
    *out = own;
    for (unsigned set = 1; set <= all; set++) {
        Cluster *cluster = kinds_in(arena, kind, n, set);
        Machine *machine = arena_make(arena, Machine);
        whole->of[set] = cluster->n == 1 ? cluster->kind[0].machine : machine;
        *machine = mixed(cluster);
        machine->name = joined_names(arena, cluster);
        machine->cluster = cluster;
    }
    return true;
}

bool cluster_choose(Machine *machine, Str kind, Error *err)
{
    const Cluster *cluster = machine->cluster;
    char names[160];
    Str room = {names, 0};
    int64_t number = 0;
    str_to_int(kind, &number);
    for (int i = 0; cluster && i < cluster->n; i++) {
        const Machine *of = cluster->kind[i].machine;
        if (str_eq(kind, str_from(of->name)) || number == i + 1) {
            *machine = *of;
            return true;
        }
        room.n += (size_t)snprintf(names + room.n, sizeof names - room.n, "%s%s", i ? ", " : "",
                                   of->name);
        room.n = room.n < sizeof names ? room.n : sizeof names - 1;
    }
    error_kind(err, ERROR_USAGE, "%s has no kind of devices '%.*s'", machine->name, STR_ARG(kind));
    return cluster ? error_hint(err, "its kinds: %s", names)
                   : error_hint(err, "all its devices are alike");
}

bool cluster_refuse(const Machine *machine, const char *what, Error *err)
{
    if (!machine->cluster)
        return true;
    error_kind(err, ERROR_UNSUPPORTED, "%s needs devices that are alike, and %s has %d kinds", what,
               machine->name, machine->cluster->n);
    return error_hint(err, "name the kind behind the file: --machine FILE:%s",
                      machine->cluster->kind[0].machine->name);
}

int64_t cluster_devices(const Cluster *cluster)
{
    int64_t n = 0;
    for (int i = 0; i < cluster->n; i++)
        n += cluster->kind[i].devices;
    return n;
}

static int kind_of(const Cluster *cluster, int64_t device)
{
    int i = 0;
    for (int64_t end = 0; i < cluster->n - 1; i++) {
        end += cluster->kind[i].devices;
        if (device < end)
            break;
    }
    return i;
}

const Machine *machine_of_part(const Machine *machine, const Mesh *mesh, SubMesh part)
{
    const Cluster *cluster = machine->cluster;
    if (!cluster)
        return machine;
    unsigned set = 0, all = (1u << cluster->n) - 1;
    int64_t n = submesh_size(mesh, part);
    for (int64_t i = 0; i < n && set != all; i++)
        set |= 1u << kind_of(cluster, mesh_device(mesh, submesh_position(mesh, part, i)));
    return set == all ? machine : cluster->of[set];
}
