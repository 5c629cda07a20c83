#include "core/reshard/price.h"

#include "core/base/intern.h"
#include "core/base/units.h"
#include "core/base/vec.h"
#include "core/reshard/price_choice.h"
#include "core/reshard/price_ways.h"

/* ORDER STEP_KIND */
static const struct {
    const char *name, *mark;
} kinds[STEP_KIND_COUNT] = {
    {"slice", "SL"},         {"all_gather", "AG"}, {"all_reduce", "AR"}, {"reduce_scatter", "RS"},
    {"all_to_all", "A2A"},   {"permute", "PP"},    {"send", "P2P"},      {"broadcast", "BC"},
    {"halo_exchange", "HX"}, {"scan", "SC"},       {"ring", "RG"},
};

const char *step_kind_name(StepKind kind)
{
    return kinds[kind].name;
}

const char *step_kind_mark(StepKind kind)
{
    return kinds[kind].mark;
}

/* ---- the least ---- */

static bool moves(StepKind kind, const RankGroup *group)
{
    return kind != STEP_SLICE && (group->n > 1 || kind == STEP_SEND);
}

static const Way *cheapest(const Machine *machine, const Way *ways, int n, int64_t bytes,
                           double *us)
{
    const Way *best = ways;
    *us = way_us(machine, best, bytes);
    for (int i = 1; i < n; i++) {
        double other = way_us(machine, &ways[i], bytes);
        if (other < *us) {
            *us = other;
            best = &ways[i];
        }
    }
    return best;
}

static int64_t wire_bytes(StepKind kind, int64_t n, int64_t bytes)
{
    bool whole = kind >= STEP_PERMUTE && kind != STEP_SCAN; /* each rank sends its payload once */
    int rings = kind == STEP_ALL_REDUCE ? 2 : 1;
    return whole ? bytes : (int64_t)((double)rings * (double)(n - 1) / (double)n * (double)bytes);
}

static Price price_of(const Machine *machine, StepKind kind, int64_t n, const Way *ways, int n_ways,
                      int64_t bytes)
{
    Price price = {.wire_bytes = wire_bytes(kind, n, bytes)};
    price.algorithm = cheapest(machine, ways, n_ways, bytes, &price.us)->name;
    return price;
}

Price price_group(const Machine *machine, StepKind kind, const RankGroup *group, int64_t bytes)
{
    Way ways[WAYS_MAX];
    if (!moves(kind, group))
        return (Price){.algorithm = ""};
    int n = price_ways(machine, kind, group, ways);
    return price_of(machine, kind, group->n, ways, n, bytes);
}

Price price_step(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                 int64_t bytes)
{
    RankGroup group = machine_group(machine, mesh, atoms);
    return price_group(machine, kind, &group, bytes);
}

/* ---- many ---- */

/* Without padding: it is a key. */
typedef struct {
    int64_t kind;
    RankGroup group;
} GroupKey;

typedef struct {
    int64_t n;
    int n_ways;
    const Way *ways;
} KnownPrices;

struct Pricer {
    Arena *arena;
    const Machine *machine;
    const Mesh *mesh;
    Intern *asked, *groups;
    Vec(int32_t) alike;     /* per id in asked: in groups */
    Vec(KnownPrices) known; /* per id in groups */
};

Pricer *pricer_new(Arena *arena, const Machine *machine, const Mesh *mesh)
{
    Pricer *pricer = arena_make(arena, Pricer);
    *pricer = (Pricer){.arena = arena, .machine = machine, .mesh = mesh};
    pricer->asked = intern_new(arena);
    pricer->groups = intern_new(arena);
    return pricer;
}

static KnownPrices find_ways(const Pricer *pricer, StepKind kind, const RankGroup *group)
{
    KnownPrices known = {.n = group->n};
    if (!moves(kind, group))
        return known;
    Way *ways = arena_array(pricer->arena, Way, WAYS_MAX);
    known.n_ways = price_ways(pricer->machine, kind, group, ways);
    known.ways = ways;
    return known;
}

static int32_t find_group(Pricer *pricer, StepKind kind, AtomSet atoms)
{
    GroupKey key = {(int64_t)kind, machine_group(pricer->machine, pricer->mesh, atoms)};
    int32_t id = intern_put(pricer->groups, &key, sizeof key);
    if (id == pricer->known.n)
        vec_push(pricer->arena, &pricer->known, find_ways(pricer, kind, &key.group));
    return id;
}

int32_t pricer_alike(Pricer *pricer, StepKind kind, AtomSet atoms)
{
    uint32_t key[2] = {(uint32_t)kind, atoms};
    int32_t id = intern_put(pricer->asked, key, sizeof key);
    if (id == pricer->alike.n)
        vec_push(pricer->arena, &pricer->alike, find_group(pricer, kind, atoms));
    return pricer->alike.at[id];
}

Price pricer_step(Pricer *pricer, StepKind kind, AtomSet atoms, int64_t bytes)
{
    int32_t group = pricer_alike(pricer, kind, atoms); /* which may add to `known` */
    const KnownPrices *known = &pricer->known.at[group];
    if (known->n_ways == 0)
        return (Price){.algorithm = ""};
    return price_of(pricer->machine, kind, known->n, known->ways, known->n_ways, bytes);
}

/* ---- in words ---- */

static void say_hops(double n, double us, Buf *out)
{
    if (n <= 0)
        return;
    buf_puts(out, out->n ? " + " : "");
    if (n != 1)
        buf_printf(out, "%.4g * ", n);
    buf_printf(out, "%.4g us", us);
}

static void say_latency(const Way *way, int64_t bytes, Buf *out)
{
    Buf sum = buf_new(out->arena);
    bool raised = way->plateau_bytes > 0 && (double)bytes >= way->plateau_bytes;
    if (way->base_us > 0)
        buf_printf(&sum, "%.4g us", way->base_us);
    say_hops(way->n_inside, way->inside_us, &sum);
    say_hops(way->n_between, way->between_us, &sum);
    say_hops(way->n_spine, way->spine_us, &sum);
    if (raised)
        buf_printf(out, "%.4g * (%s)", way->plateau, sum.s);
    else
        buf_add(out, buf_str(&sum));
}

/* "1,048,576 B", or a word for any size. */
static void say_bytes(int64_t bytes, bool any, Buf *out)
{
    if (any) {
        buf_puts(out, "bytes");
        return;
    }
    units_format_count(bytes, out);
    buf_puts(out, " B");
}

/* " + 1.75 * 1,048,576 B / (0.92 * 360 GB/s)"; "the most" is a limit of the machine file */
static void say_pass(const WirePass *pass, double size_share, int64_t bytes, bool any, Buf *out)
{
    bool limited = pass_bytes_per_s(pass) < pass->left * pass->bus_bytes_per_s;
    double left = limited ? size_share : size_share * pass->left;
    double rate = limited ? pass->most_bytes_per_s : pass->bus_bytes_per_s;
    buf_puts(out, " + ");
    if (pass->share != 1)
        buf_printf(out, "%.6g * ", pass->share);
    say_bytes(bytes, any, out);
    buf_puts(out, " / ");
    if (left != 1)
        buf_printf(out, "(%.4g * %.6g GB/s)", left, rate / 1e9);
    else
        buf_printf(out, "%.6g GB/s", rate / 1e9);
    buf_puts(out, limited ? " (the most)" : "");
}

static void say_sum(const Machine *machine, const Way *way, int64_t bytes, bool any, Buf *out)
{
    Buf sum = buf_new(out->arena);
    say_latency(way, bytes, &sum);
    for (int i = 0; i < way->n_passes; i++)
        say_pass(&way->pass[i], way_size_share(machine, way, bytes), bytes, any, &sum);
    buf_add(out, buf_str(&sum));
}

/* The algorithm chosen, and its time; returns false if nothing moves. */
static bool choose(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                   int64_t bytes, Way *way, double *us)
{
    RankGroup group = machine_group(machine, mesh, atoms);
    Way ways[WAYS_MAX];
    if (!moves(kind, &group))
        return false;
    int n = price_ways(machine, kind, &group, ways);
    *way = *cheapest(machine, ways, n, bytes, us);
    return true;
}

PriceChoice price_choice(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                         int64_t bytes)
{
    Way way;
    double us;
    if (!choose(machine, mesh, kind, atoms, bytes, &way, &us))
        return (PriceChoice){.name = "", .formula = ""};
    return (PriceChoice){way.algorithm, way.name, way.formula};
}

void price_sum(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
               int64_t bytes, Buf *out)
{
    Way way;
    double us;
    if (!choose(machine, mesh, kind, atoms, bytes, &way, &us)) {
        buf_puts(out, "0: nothing moves");
        return;
    }
    say_sum(machine, &way, bytes, false, out);
    buf_puts(out, " = ");
    units_format_us(us, out);
}

void price_explain(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                   int64_t bytes, Buf *out)
{
    PriceChoice choice = price_choice(machine, mesh, kind, atoms, bytes);
    if (choice.name[0])
        buf_printf(out, "%s: %s\n", choice.name, choice.formula);
    price_sum(machine, mesh, kind, atoms, bytes, out);
}

LinkUse price_link_use(const Machine *machine, const Mesh *mesh, AtomSet atoms)
{
    enum { LARGE_BYTES = 1 << 28 };
    Way way;
    double us;
    if (!choose(machine, mesh, STEP_ALL_REDUCE, atoms, LARGE_BYTES, &way, &us))
        return (LinkUse){.algorithm = ""};
    return (LinkUse){way.name, way.inside_us, way.between_us, pass_bytes_per_s(&way.pass[0])};
}

void price_terms(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                 int64_t bytes, Buf *out)
{
    Way way;
    double us;
    if (choose(machine, mesh, kind, atoms, bytes, &way, &us))
        say_sum(machine, &way, bytes, true, out);
    else
        buf_puts(out, "0");
}
