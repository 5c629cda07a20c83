#include "core/plan/price.h"

/* ORDER STEP_KIND */
static const struct {
    const char *name, *mark;
} kinds[STEP_KIND_COUNT] = {
    {"slice", "SL"},       {"all_gather", "AG"}, {"all_reduce", "AR"}, {"reduce_scatter", "RS"},
    {"all_to_all", "A2A"}, {"permute", "PP"},    {"send", "P2P"},      {"broadcast", "BC"},
};

const char *step_kind_name(StepKind kind)
{
    return kinds[kind].name;
}

const char *step_kind_mark(StepKind kind)
{
    return kinds[kind].mark;
}

/* us = rounds * latency + wire / bandwidth; a ring of n has n-1 rounds, an all-reduce is two. */
Price price_step(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                 int64_t bytes)
{
    int64_t n = mesh_atoms_size(mesh, atoms), rings = kind == STEP_ALL_REDUCE ? 2 : 1;
    if (kind == STEP_SLICE || n <= 1)
        return (Price){.algorithm = ""};
    const Link *link = machine_link(machine, mesh, atoms);
    bool whole = kind == STEP_PERMUTE || kind == STEP_SEND || kind == STEP_BROADCAST;
    int64_t rounds = kind == STEP_PERMUTE || kind == STEP_SEND ? 1 : rings * (n - 1);
    double share = whole ? 1 : (double)rings * (double)(n - 1) / (double)n;
    Price price = {.wire_bytes = (int64_t)(share * (double)bytes), .algorithm = "ring"};
    price.us =
        (double)rounds * link->latency_us + (double)price.wire_bytes / link->bytes_per_s * 1e6;
    return price;
}

void price_explain(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                   int64_t bytes, Buf *out)
{
    Price price = price_step(machine, mesh, kind, atoms, bytes);
    buf_printf(out, "%s: %.3f us", price.algorithm, price.us);
}
