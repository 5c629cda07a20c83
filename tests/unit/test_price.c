/* Prices of collectives: NCCL's model in worked numbers, bounds, and where it changes its mind. */
#include "tests/unit/shipped_machine.h"
#include "tests/unit/unit.h"

#include "core/reshard/price_ways.h"

#include <inttypes.h>
#include <math.h>

static Machine shipped(Arena *arena, const char *name)
{
    Machine machine;
    Error err = {0};
    if (!shipped_machine(arena, name, &machine, &err))
        fail_msg("%s: %s", name, err.text);
    return machine;
}

/* n ranks on `nodes` nodes, which work alone on them but for what is said. */
static RankGroup ranks(int64_t n, int64_t nodes)
{
    return (RankGroup){.n = n, .nodes = nodes, .per_node = n / nodes, .busy = 8};
}

/* ---- every way, by hand ---- */

typedef struct {
    const char *way;
    StepKind kind;
    int n, nodes;
    double us[3]; /* of 1 KiB, 1 MiB, 1 GiB */
} Worked;

/* Of h100x8, from the formulas of tuning.cc put into a calculator. In a node a ring or tree has 360
 * GB/s; on several 48 GB/s for each rank on a node, 360 at most. Sends have what one device has. */
static const Worked worked[] = {
    {"ring LL", STEP_ALL_REDUCE, 8, 1, {15.0127, 28.0142, 13341.583}},
    {"ring LL128", STEP_ALL_REDUCE, 8, 1, {40.6054, 46.1405, 5714.055}},
    {"ring Simple", STEP_ALL_REDUCE, 8, 1, {56.0050, 61.0972, 5275.578}},
    {"tree LL", STEP_ALL_REDUCE, 8, 1, {15.2261, 63.3231, 24654.203}},
    {"tree LL128", STEP_ALL_REDUCE, 8, 1, {31.5080, 45.0685, 8368.005}},
    {"tree Simple", STEP_ALL_REDUCE, 8, 1, {64.4069, 77.0640, 6548.348}},
    {"NVLS", STEP_ALL_REDUCE, 8, 1, {25.0038, 28.8551, 3972.580}},
    {"ring LL", STEP_ALL_REDUCE, 16, 2, {40.0492, 90.4123, 51662.203}},
    {"ring LL128", STEP_ALL_REDUCE, 16, 2, {75.2065, 81.8965, 6932.373}},
    {"ring Simple", STEP_ALL_REDUCE, 16, 2, {131.6053, 189.7013, 5776.645}},
    {"tree LL", STEP_ALL_REDUCE, 16, 2, {25.2583, 132.7463, 55088.883}},
    {"tree LL128", STEP_ALL_REDUCE, 16, 2, {48.5070, 60.4048, 7362.818}},
    {"tree Simple", STEP_ALL_REDUCE, 16, 2, {92.4069, 105.0640, 6576.348}},
    {"NVLS tree", STEP_ALL_REDUCE, 16, 2, {66.8042, 71.0593, 4428.295}},
    {"ring LL", STEP_ALL_REDUCE, 32, 4, {78.8973, 178.3890, 102057.956}},
    {"ring LL128", STEP_ALL_REDUCE, 32, 4, {144.4068, 151.3197, 7230.145}},
    {"ring Simple", STEP_ALL_REDUCE, 32, 4, {282.8055, 401.5634, 6174.739}},
    {"tree LL", STEP_ALL_REDUCE, 32, 4, {35.3115, 240.8031, 105304.006}},
    {"tree LL128", STEP_ALL_REDUCE, 32, 4, {65.5088, 80.5657, 9321.895}},
    {"tree Simple", STEP_ALL_REDUCE, 32, 4, {120.4079, 134.9636, 7576.940}},
    {"NVLS tree", STEP_ALL_REDUCE, 32, 4, {108.6055, 114.1814, 5823.915}},
    {"ring LL", STEP_ALL_REDUCE, 4, 4, {36.6753, 113.7012, 78988.205}},
    {"ring LL128", STEP_ALL_REDUCE, 4, 4, {65.0348, 100.6174, 36537.209}},
    {"ring Simple", STEP_ALL_REDUCE, 4, 4, {129.3920, 162.1280, 33683.792}},
    {"tree LL", STEP_ALL_REDUCE, 4, 4, {26.9958, 387.7229, 184819.324}},
    {"tree LL128", STEP_ALL_REDUCE, 4, 4, {48.0495, 132.4264, 51919.586}},
    {"tree Simple", STEP_ALL_REDUCE, 4, 4, {64.4515, 159.3797, 48694.012}},
    {"ring LL", STEP_ALL_GATHER, 8, 1, {10.8064, 17.3071, 6674.091}},
    {"ring LL128", STEP_ALL_GATHER, 8, 1, {27.3027, 30.0702, 2864.027}},
    {"ring Simple", STEP_ALL_GATHER, 8, 1, {32.2025, 34.7486, 2641.989}},
    {"NVLS", STEP_ALL_GATHER, 8, 1, {25.0049, 30.0352, 5181.023}},
    {"ring LL", STEP_ALL_GATHER, 16, 2, {23.3246, 48.5062, 25834.402}},
    {"ring LL128", STEP_ALL_GATHER, 16, 2, {44.6033, 47.9482, 3473.186}},
    {"ring Simple", STEP_ALL_GATHER, 16, 2, {70.0027, 72.7307, 2866.203}},
    {"ring LL", STEP_ALL_GATHER, 32, 4, {42.7486, 92.4945, 51032.278}},
    {"ring LL128", STEP_ALL_GATHER, 32, 4, {79.2034, 82.6598, 3622.073}},
    {"ring Simple", STEP_ALL_GATHER, 32, 4, {145.6028, 148.4217, 3035.009}},
    {"ring LL", STEP_ALL_GATHER, 4, 4, {21.6376, 60.1506, 39497.402}},
    {"ring LL128", STEP_ALL_GATHER, 4, 4, {39.5174, 57.3087, 18275.604}},
    {"ring Simple", STEP_ALL_GATHER, 4, 4, {50.4160, 66.7840, 16827.616}},
    {"PAT", STEP_ALL_GATHER, 4, 4, {27.2284, 56.3271, 29853.362}},
    {"ring LL", STEP_BROADCAST, 8, 1, {7.2073, 14.6367, 7622.390}},
    {"ring LL128", STEP_BROADCAST, 8, 1, {15.9031, 19.0660, 3257.874}},
    {"ring Simple", STEP_BROADCAST, 8, 1, {11.8028, 14.7127, 2994.416}},
    {"ring LL", STEP_BROADCAST, 16, 2, {49.8263, 76.6866, 27581.642}},
    {"ring LL128", STEP_BROADCAST, 16, 2, {78.0035, 81.5714, 3735.159}},
    {"ring Simple", STEP_BROADCAST, 16, 2, {232.4028, 235.3127, 3215.016}},
    {"ring LL", STEP_BROADCAST, 32, 4, {93.0502, 144.4008, 52727.403}},
    {"ring LL128", STEP_BROADCAST, 32, 4, {142.0035, 145.5714, 3799.159}},
    {"ring Simple", STEP_BROADCAST, 32, 4, {456.4028, 459.3127, 3439.016}},
    {"ring LL", STEP_BROADCAST, 4, 4, {17.4502, 68.8008, 52651.803}},
    {"ring LL128", STEP_BROADCAST, 4, 4, {30.0232, 53.7449, 24344.806}},
    {"ring Simple", STEP_BROADCAST, 4, 4, {64.4213, 86.2453, 22434.021}},
    {"pairwise LL", STEP_ALL_TO_ALL, 8, 1, {10.8064, 17.3071, 6674.091}},
    {"pairwise Simple", STEP_ALL_TO_ALL, 8, 1, {32.2025, 34.7486, 2641.989}},
    {"pairwise LL", STEP_ALL_TO_ALL, 16, 2, {32.4328, 66.0082, 34447.202}},
    {"pairwise Simple", STEP_ALL_TO_ALL, 16, 2, {144.2119, 156.3970, 12633.905}},
    {"direct LL", STEP_PERMUTE, 8, 1, {7.2073, 14.6367, 7622.390}},
    {"direct Simple", STEP_PERMUTE, 8, 1, {11.8028, 14.7127, 2994.416}},
    {"direct Simple", STEP_PERMUTE, 16, 2, {22.4213, 44.2453, 22392.021}},
    {"direct Simple", STEP_SEND, 2, 2, {22.4213, 44.2453, 22392.021}},
};

static void prices_every_way(void **state)
{
    static const int64_t sizes[] = {1 << 10, 1 << 20, 1 << 30};
    (void)state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, "h100x8");
    for (const Worked *row = worked; row < worked + COUNT_OF(worked); row++) {
        RankGroup group = ranks(row->n, row->nodes);
        Way ways[WAYS_MAX];
        int n = price_ways(&machine, row->kind, &group, ways), at = 0;
        while (at < n && strcmp(ways[at].name, row->way) != 0)
            at++;
        if (at == n)
            fail_msg("%d on %d: no %s", row->n, row->nodes, row->way);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            double us = way_us(&machine, &ways[at], sizes[i]);
            if (!(fabs(us - row->us[i]) <= 1e-5 * row->us[i]))
                fail_msg("%s of %d on %d: %.4f us of %" PRId64 " bytes, not %.4f", row->way, row->n,
                         row->nodes, us, sizes[i], row->us[i]);
        }
    }
    arena_free(arena);
}

/* Of 32 ranks on four nodes in two blocks, whose spine has 50/7 GB/s a device and 2 us more a hop
 * than the network: a ring or tree has 16 x 50/7 GB/s over it, less than the 360 of the nodes. */
static const Worked blocked[] = {
    {"ring Simple", STEP_ALL_REDUCE, 32, 4, {286.8174, 419.2966, 18604.799}},
    {"tree Simple", STEP_ALL_REDUCE, 32, 4, {124.4216, 164.2915, 20548.837}},
    {"NVLS tree", STEP_ALL_REDUCE, 32, 4, {112.6174, 130.3766, 18315.879}},
    {"ring Simple", STEP_ALL_GATHER, 32, 4, {147.6087, 156.4883, 9249.240}},
    {"ring Simple", STEP_BROADCAST, 32, 4, {458.4090, 467.5750, 9853.641}},
    {"pairwise Simple", STEP_ALL_TO_ALL, 32, 4, {400.2776, 479.6988, 81806.980}},
    {"direct Simple", STEP_PERMUTE, 32, 4, {24.5434, 171.2006, 150348.255}},
};

static void prices_the_spine(void **state)
{
    static const int64_t sizes[] = {1 << 10, 1 << 20, 1 << 30};
    (void)state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, "h100x8_pods");
    const RankGroup group = {32, 4, 8, 8, 2, 16};
    for (const Worked *row = blocked; row < blocked + COUNT_OF(blocked); row++) {
        Way ways[WAYS_MAX];
        int n = price_ways(&machine, row->kind, &group, ways), at = 0;
        while (at < n && strcmp(ways[at].name, row->way) != 0)
            at++;
        assert_true(at < n);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            double us = way_us(&machine, &ways[at], sizes[i]);
            if (!(fabs(us - row->us[i]) <= 1e-5 * row->us[i]))
                fail_msg("%s %s: %.4f us of %" PRId64 " bytes, not %.4f", row->way,
                         step_kind_name(row->kind), us, sizes[i], row->us[i]);
        }
    }
    arena_free(arena);
}

/* ---- which is chosen ---- */

typedef struct {
    const char *name, *machine, *mesh, *axes;
    StepKind kind;
    int64_t bytes;
    const char *want; /* algorithm, time */
} Chosen;

static Chosen chosen[] = {
    {"a slice", "h100x8", "x=8", "x", STEP_SLICE, 1 << 20, " 0.00"},
    {"nobody to talk to", "h100x8", "x=1,y=8", "x", STEP_ALL_REDUCE, 1 << 20, " 0.00"},
    {"few bytes", "h100x8", "x=8", "x", STEP_ALL_REDUCE, 1 << 10, "ring LL 15.01"},
    {"some", "h100x8", "x=8", "x", STEP_ALL_REDUCE, 1 << 20, "ring LL 28.01"},
    {"many: the switch adds", "h100x8", "x=8", "x", STEP_ALL_REDUCE, 1 << 30, "NVLS 3972.58"},
    {"many, gathered", "h100x8", "x=8", "x", STEP_ALL_GATHER, 1 << 30, "ring Simple 2641.99"},
    {"two nodes, few", "h100x8", "x=16", "x", STEP_ALL_REDUCE, 1 << 10, "tree LL 25.26"},
    {"two nodes, many", "h100x8", "x=16", "x", STEP_ALL_REDUCE, 1 << 30, "NVLS tree 4428.29"},
    {"four nodes, many", "h100x8", "x=32", "x", STEP_ALL_REDUCE, 1 << 30, "NVLS tree 5823.92"},
    {"a rank a node, gathered", "h100x8", "x=4,y=8", "x", STEP_ALL_GATHER, 1 << 10,
     "ring LL 21.64"},
    {"no switch that adds", "a100x8", "x=8", "x", STEP_ALL_REDUCE, 1 << 30, "ring Simple 7885.37"},
    {"no LL128 over PCIe", "pcie", "x=8", "x", STEP_ALL_REDUCE, 1 << 24, "ring Simple 2534.88"},
    {"a host of its own", "pcie", "x=2", "x", STEP_ALL_GATHER, 1 << 30, "ring Simple 22383.72"},
    {"a host for eight", "pcie", "x=2,y=4", "x", STEP_ALL_GATHER, 1 << 30, "ring Simple 44753.34"},
    {"rings where nobody tuned", "cpu", "x=4", "x", STEP_ALL_REDUCE, 1 << 20, "ring 326.57"},
    {"devices in a list", "h100x8", "x,y=[[0,8],[1,9]]", "x", STEP_PERMUTE, 1 << 30,
     "direct Simple 2994.42"},
    {"devices in a list, far", "h100x8", "x,y=[[0,8],[1,9]]", "y", STEP_PERMUTE, 1 << 30,
     "direct Simple 22392.02"},
};

static const Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {.name = "--mesh", .text = str_from(text)};
    const Mesh *mesh = mesh_parse(arena, &source, NULL);
    assert_non_null(mesh);
    return mesh;
}

static AtomSet atoms_of(const Mesh *mesh, const char *axes)
{
    Source source = {.name = "axes", .text = str_from(axes)};
    Error err = {0};
    Scan scan = scan_begin(&source, &err);
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    AtomSet atoms = 0;
    do
        assert_true(mesh_parse_atoms(mesh, &scan, atom, &n));
    while (scan_accept(&scan, '.'));
    for (int i = 0; i < n; i++)
        atoms |= (AtomSet)1 << atom[i];
    return atoms;
}

static void chooses(void **state)
{
    const Chosen *row = *state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, row->machine);
    const Mesh *mesh = mesh_of(arena, row->mesh);
    AtomSet atoms = atoms_of(mesh, row->axes);
    Price price = price_step(&machine, mesh, row->kind, atoms, row->bytes);
    Buf text = buf_new(arena);
    buf_printf(&text, "%s %.2f", price.algorithm, price.us);
    assert_string_equal(text.s, row->want);

    Pricer *pricer = pricer_new(arena, &machine, mesh);
    for (int again = 0; again < 2; again++) {
        Price same = pricer_step(pricer, row->kind, atoms, row->bytes);
        assert_true(same.us == price.us && same.wire_bytes == price.wire_bytes);
        assert_string_equal(same.algorithm, price.algorithm);
    }
    arena_free(arena);
}

/* ---- groups ---- */

typedef struct {
    const char *name, *mesh, *axes;
    int devices_per_node;
    const char *want; /* n, nodes, per_node, busy */
} Grouped;

static Grouped grouped[] = {
    {"in a node", "dp=2,tp=4", "tp", 4, "4 1 4 4"},
    {"one on each", "dp=2,tp=4", "dp", 4, "2 2 1 4"},
    {"all", "dp=2,tp=4", "dp.tp", 4, "8 2 4 4"},
    {"a node half empty", "dp=2,tp=4", "dp.tp", 16, "8 1 8 8"},
    {"two on each of four", "a=4,b=4,c=2", "a.c", 8, "8 4 2 8"},
    {"an axis over both", "x=16", "x", 8, "16 2 8 8"},
    {"its far half", "x=16", "x:(1)2", 8, "2 2 1 8"},
    {"its near part", "x=16", "x:(2)8", 8, "8 1 8 8"},
    {"the rest on the last node", "x=12", "x", 8, "12 2 4 8"},
    {"groups that straddle", "dp=3,tp=2", "tp", 3, "2 2 1 3"},
    {"groups that straddle unevenly", "a=4,b=3", "b", 4, "3 2 1 4"},
    {"devices of one node beside each other", "dp,tp=[[0,2],[1,3]]", "dp", 2, "2 1 2 2"},
    {"devices of two", "dp,tp=[[0,2],[1,3]]", "tp", 2, "2 2 1 2"},
    {"devices far apart", "x=[0,9,18,27]", "x", 8, "4 4 1 1"},
    {"a million devices", "dp=1000000", "dp", 8, "1000000 125000 8 8"},
};

static void finds_groups(void **state)
{
    const Grouped *row = *state;
    Arena *arena = arena_new();
    Machine machine = {.devices_per_node = row->devices_per_node};
    const Mesh *mesh = mesh_of(arena, row->mesh);
    RankGroup group = machine_group(&machine, mesh, atoms_of(mesh, row->axes));
    Buf text = buf_new(arena);
    buf_printf(&text, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, group.n, group.nodes,
               group.per_node, group.busy);
    assert_string_equal(text.s, row->want);
    arena_free(arena);
}

/* The same by going through the groups of a mesh, device by device. */
static RankGroup group_by_force(const Mesh *mesh, AtomSet atoms, int64_t node)
{
    RankGroup group = {.n = mesh_atoms_size(mesh, atoms)};
    group.per_node = group.n;
    for (int64_t first = 0; first < mesh->n_devices; first++) {
        int64_t n_nodes = 0, on[64] = {0};
        if (!mesh_stands_first(mesh, atoms, first))
            continue;
        for (int64_t i = 0; i < group.n; i++)
            on[mesh_group_member(mesh, atoms, first, i) / node]++;
        for (int i = 0; i < 64; i++) {
            n_nodes += on[i] > 0;
            group.per_node = on[i] > 0 && on[i] < group.per_node ? on[i] : group.per_node;
        }
        group.nodes = n_nodes > group.nodes ? n_nodes : group.nodes;
    }
    return group;
}

static void groups_are_those_of_all_devices(void **state)
{
    static const char *const meshes[] = {"a=5,b=3,c=4", "a=3,b=7", "a=2,b=3,c=5,d=2", "a=60",
                                         "a=6,b=9"};
    (void)state;
    Arena *arena = arena_new();
    for (size_t m = 0; m < COUNT_OF(meshes); m++) {
        const Mesh *mesh = mesh_of(arena, meshes[m]);
        for (AtomSet atoms = 1; atoms < (AtomSet)1 << mesh->n_atoms; atoms++)
            for (int64_t node = 1; node <= 12; node++) {
                int64_t block = node * (1 + (int64_t)atoms % 4);
                Machine machine = {.devices_per_node = node, .devices_per_block = block};
                RankGroup got = machine_group(&machine, mesh, atoms);
                RankGroup want = group_by_force(mesh, atoms, node);
                RankGroup blocks = group_by_force(mesh, atoms, block);
                if (got.blocks != blocks.nodes || got.per_block != blocks.per_node)
                    fail_msg("%s, atoms %x, blocks of %d: %d of %d, not %d of %d", meshes[m],
                             (unsigned)atoms, (int)block, (int)got.blocks, (int)got.per_block,
                             (int)blocks.nodes, (int)blocks.per_node);
                if (got.nodes != want.nodes || got.per_node != want.per_node)
                    fail_msg("%s, atoms %x, nodes of %d: %d of %d, not %d of %d", meshes[m],
                             (unsigned)atoms, (int)node, (int)got.nodes, (int)got.per_node,
                             (int)want.nodes, (int)want.per_node);
            }
    }
    arena_free(arena);
}

/* A mesh of two pods: groups within one cost what they cost without a spine, those over both more.
 */
static void a_group_in_a_block_does_not_pay_for_the_spine(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Machine pods = shipped(arena, "h100x8_pods"), flat = shipped(arena, "h100x8");
    const Mesh *mesh = mesh_of(arena, "pod=2,dp=384,tp=8");
    for (StepKind kind = STEP_ALL_GATHER; kind < STEP_KIND_COUNT; kind++) {
        static const char *const within[] = {"dp", "tp", "dp.tp"};
        for (size_t i = 0; i < COUNT_OF(within); i++) {
            AtomSet atoms = atoms_of(mesh, within[i]);
            assert_true(price_step(&pods, mesh, kind, atoms, 1 << 26).us ==
                        price_step(&flat, mesh, kind, atoms, 1 << 26).us);
        }
        AtomSet across = atoms_of(mesh, "pod");
        assert_true(price_step(&pods, mesh, kind, across, 1 << 26).us >
                    price_step(&flat, mesh, kind, across, 1 << 26).us);
        assert_ptr_equal(machine_link(&pods, mesh, across), &pods.spine);
    }
    arena_free(arena);
}

/* ---- what must hold of all ---- */

typedef struct {
    const char *name;
} Name;

static Name machines[] = {{"h100x8"}, {"h100x8_pods"}, {"h200x8"}, {"a100x8"},
                          {"b200x8"}, {"pcie"},        {"cpu"}};

static const RankGroup groups[] = {
    {2, 1, 2, 2, 1, 2},      {4, 1, 4, 4, 1, 4},         {8, 1, 8, 8, 1, 8},
    {2, 2, 1, 8, 1, 2},      {4, 4, 1, 8, 1, 4},         {16, 2, 8, 8, 1, 16},
    {4, 2, 2, 8, 1, 4},      {32, 4, 8, 8, 1, 32},       {12, 2, 4, 8, 1, 12},
    {256, 32, 8, 8, 1, 256}, {1000, 125, 8, 8, 1, 1000}, {64, 64, 1, 1, 1, 64},
    {32, 4, 8, 8, 2, 16},    {64, 64, 1, 1, 4, 16},      {12, 2, 4, 8, 2, 4},
};

static void more_bytes_never_take_less(void **state)
{
    const Name *it = *state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, it->name);
    for (StepKind kind = STEP_ALL_GATHER; kind < STEP_KIND_COUNT; kind++)
        for (size_t g = 0; g < COUNT_OF(groups); g++) {
            double before = 0;
            for (int64_t bytes = 1; bytes < (int64_t)1 << 34; bytes += bytes / 16 + 1) {
                double us = price_group(&machine, kind, &groups[g], bytes).us;
                if (!(us >= before))
                    fail_msg("%s of %" PRId64 " bytes, %" PRId64 " ranks: %g after %g",
                             step_kind_name(kind), bytes, groups[g].n, us, before);
                before = us;
            }
        }
    arena_free(arena);
}

/* Bytes that must enter a rank, and a node, whatever the algorithm. */
static double least_us(const Machine *machine, StepKind kind, const RankGroup *group, double bytes)
{
    double n = (double)group->n, nodes = (double)group->nodes, p = (double)group->per_node;
    bool whole = (kind >= STEP_PERMUTE && kind != STEP_SCAN) || kind == STEP_ALL_REDUCE;
    double rank = whole ? 1 : (n - 1) / n, node = whole ? 1 : (nodes - 1) / nodes;
    double inside = rank * bytes / machine->inside.bytes_per_s;
    if (nodes <= 1)
        return inside * 1e6;
    double most = n / nodes > p ? n / nodes : p; /* where the ranks lie unevenly */
    if (kind == STEP_ALL_TO_ALL)
        return (n - p) / n * bytes / machine->between.bytes_per_s * 1e6;
    if (kind == STEP_PERMUTE || kind == STEP_SEND)
        most = 1;
    if (group->blocks > 1 && machine->devices_per_block > 0) {
        bool one = kind == STEP_PERMUTE || kind == STEP_SEND;
        double k = (double)group->blocks, q = one ? 1 : n / k;
        double spine = (whole ? 1 : (k - 1) / k) * bytes / (q * machine->spine.bytes_per_s);
        return fmax(spine, node * bytes / (most * machine->between.bytes_per_s)) * 1e6;
    }
    return node * bytes / (most * machine->between.bytes_per_s) * 1e6;
}

static void never_faster_than_the_wires(void **state)
{
    const Name *it = *state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, it->name);
    for (StepKind kind = STEP_ALL_GATHER; kind < STEP_KIND_COUNT; kind++)
        for (size_t g = 0; g < COUNT_OF(groups); g++)
            for (int64_t bytes = 1; bytes < (int64_t)1 << 36; bytes *= 4) {
                double us = price_group(&machine, kind, &groups[g], bytes).us;
                double least = least_us(&machine, kind, &groups[g], (double)bytes);
                if (!(us >= least))
                    fail_msg("%s of %" PRId64 " bytes, %" PRId64 " ranks: %g is less than %g",
                             step_kind_name(kind), bytes, groups[g].n, us, least);
            }
    arena_free(arena);
}

/* A tree's share by size has no steps: not between its sizes, nor where the table ends. */
static void trees_have_no_steps(void **state)
{
    const Name *it = *state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, it->name);
    for (size_t g = 0; g < COUNT_OF(groups); g++) {
        Way ways[WAYS_MAX];
        int n = price_ways(&machine, STEP_ALL_REDUCE, &groups[g], ways);
        for (int w = 0; w < n; w++)
            for (int64_t bytes = 64; bytes <= (int64_t)1 << 31 && ways[w].by_size; bytes *= 2) {
                double before = way_us(&machine, &ways[w], bytes - 1);
                double at = way_us(&machine, &ways[w], bytes);
                double after = way_us(&machine, &ways[w], bytes + 1);
                if (!(before <= at && at <= after && after - before <= 0.05 * at))
                    fail_msg("%s: %.9g, %.9g, %.9g about %" PRId64, ways[w].name, before, at, after,
                             bytes);
            }
    }
    arena_free(arena);
}

/* NCCL has these numbers once: a file that differs has a slip. */
static void generations_share_numbers(void **state)
{
    (void)state;
    static const Name gpus[] = {{"h200x8"}, {"a100x8"}, {"b200x8"}, {"pcie"}};
    Arena *arena = arena_new();
    const Tuning *a = shipped(arena, "h100x8").tuning;
    for (size_t i = 0; i < COUNT_OF(gpus); i++) {
        const Tuning *b = shipped(arena, gpus[i].name).tuning;
        assert_memory_equal(a->tree_size_share, b->tree_size_share, sizeof a->tree_size_share);
        assert_memory_equal(a->base_us, b->base_us, sizeof a->base_us);
        for (int protocol = 0; protocol < PROTOCOL_COUNT; protocol += 2) {
            assert_true(a->between_us[ALGORITHM_RING][protocol] ==
                        b->between_us[ALGORITHM_RING][protocol]);
            assert_true(a->between_us[ALGORITHM_TREE][protocol] ==
                        b->between_us[ALGORITHM_TREE][protocol]);
        }
        assert_true(a->ring_ll_share == b->ring_ll_share && a->tree_share == b->tree_share &&
                    a->ring_ll128_share == b->ring_ll128_share && a->plateau == b->plateau &&
                    a->tree_ll_share == b->tree_ll_share && a->pat_share == b->pat_share &&
                    a->tree_ll128_share == b->tree_ll128_share &&
                    a->tree_ll128_share_between == b->tree_ll128_share_between);
    }
    arena_free(arena);
}

/* ---- any numbers that a file may have ---- */

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Spoils one double of the struct: an edge of what is allowed, or beyond. */
static void spoil(void *numbers, size_t n_bytes, uint64_t *state)
{
    static const double edges[] = {0, 1e-6, 1, 1e-300, 1e30, 1e31, -1, 0.5, 1e9, NAN, INFINITY};
    double *number = numbers;
    size_t at = (size_t)(draw(state) * (double)(n_bytes / sizeof *number));
    number[at] = edges[(size_t)(draw(state) * (double)COUNT_OF(edges))];
}

/* What machine_check() lets through gives prices that are numbers. */
static void prices_are_numbers(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Machine whole = shipped(arena, "h100x8");
    uint64_t seed = 1;
    int n_passed = 0;
    for (int i = 0; i < 20000; i++) {
        Machine machine = whole;
        Tuning tuning = *whole.tuning;
        machine.tuning = &tuning;
        for (int k = (int)(draw(&seed) * 3); k >= 0; k--)
            spoil(&tuning, sizeof tuning, &seed);
        machine.inside.channel_bytes_per_s = draw(&seed) < 0.1 ? 1 : 30e9;
        machine.between.shared_bytes_per_s = draw(&seed) < 0.1 ? 1 : 0;
        if (!machine_check(&machine, NULL))
            continue;
        n_passed++;
        StepKind kind = (StepKind)(draw(&seed) * STEP_KIND_COUNT);
        const RankGroup *group = &groups[(size_t)(draw(&seed) * (double)COUNT_OF(groups))];
        for (int64_t bytes = 0; bytes < (int64_t)1 << 40; bytes = 4 * bytes + 1) {
            double us = price_group(&machine, kind, group, bytes).us;
            if (!(us >= 0 && us < 1e60))
                fail_msg("%s: %g", step_kind_name(kind), us);
        }
    }
    assert_true(n_passed > 1000);
    arena_free(arena);
}

/* ---- what people measured ---- */

typedef struct {
    const char *name, *machine;
    StepKind kind;
    double bus_bytes_per_s;
} Measured;

/* Bus bandwidth of eight GPUs and large messages: nccl-tests issues 212 (H100) and 272 (H200), NCCL
 * issue 1807 (B200). */
static Measured measured[] = {
    {"H100, all-gather", "h100x8", STEP_ALL_GATHER, 370e9},
    {"H100, all-reduce", "h100x8", STEP_ALL_REDUCE, 480e9},
    {"H200, all-reduce", "h200x8", STEP_ALL_REDUCE, 475e9},
    {"B200, all-reduce", "b200x8", STEP_ALL_REDUCE, 830e9},
};

static void is_near_what_was_measured(void **state)
{
    const Measured *row = *state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, row->machine);
    RankGroup group = ranks(8, 1);
    int64_t bytes = (int64_t)4 << 30;
    double share = row->kind == STEP_ALL_REDUCE ? 2 * 7 / 8.0 : 7 / 8.0;
    double us = price_group(&machine, row->kind, &group, bytes).us;
    double rate = share * (double)bytes / us * 1e6;
    if (!(fabs(rate / row->bus_bytes_per_s - 1) <= 0.05))
        fail_msg("%.0f GB/s", rate / 1e9);
    arena_free(arena);
}

/* ---- in words ---- */

typedef struct {
    const char *name, *machine, *mesh, *axes;
    StepKind kind;
    int64_t bytes;
    const char *want;
} Explained;

static Explained explained[] = {
    {"a ring", "h100x8", "x=8", "x", STEP_ALL_GATHER, 1 << 20,
     "ring LL: base + (n-1) hops + (n-1)/n * bytes / bandwidth\n"
     "6.6 us + 7 * 0.6 us + 0.875 * 1,048,576 B / 141 GB/s (the most) = 17.3 us"},
    {"a limit of the protocol", "h100x8", "x=8", "x", STEP_ALL_REDUCE, 1 << 20,
     "ring LL: base + 2(n-1) hops + 2(n-1)/n * bytes / bandwidth\n"
     "6.6 us + 14 * 0.6 us + 1.75 * 1,048,576 B / 141 GB/s (the most) = 28.0 us"},
    {"the switch", "h100x8", "x=8", "x", STEP_ALL_REDUCE, 1 << 30,
     "NVLS: hop + 2(n-1)/n * bytes / bandwidth\n"
     "25 us + 1.75 * 1,073,741,824 B / (0.85 * 560 GB/s) = 3.97 ms"},
    {"a tree by size", "h100x8", "x=16", "x", STEP_ALL_REDUCE, 1 << 20,
     "tree LL128: base + 2(p-1) hops + 2 log2(nodes) hops + 2 * bytes / bandwidth\n"
     "14 us + 14 * 1.25 us + 2 * 8.5 us + 2 * 1,048,576 B / (0.6 * 293.6 GB/s) (the most) = 60.4 "
     "us"},
    {"a ring that is full", "a100x8", "x=16", "x", STEP_ALL_REDUCE, 1 << 30,
     "ring Simple: base + 2(n-1) hops + 2(n-1)/n * bytes / bandwidth\n"
     "1.4 * (8.4 us + 28 * 6 us + 2 * 14 us) + 1.875 * 1,073,741,824 B / 192 GB/s = 10.8 ms"},
    {"two links", "h100x8", "x=16", "x", STEP_ALL_TO_ALL, 1 << 20,
     "pairwise LL: base + (p-1) hops + (n-p) hops + (p-1)/n * bytes / inside + (n-p)/n * bytes / "
     "between\n"
     "6.6 us + 7 * 0.6 us + 8 * 2.7 us + 0.4375 * 1,048,576 B / 39 GB/s (the most) + 0.5 * "
     "1,048,576 B / (0.5 * 48 GB/s) = 66.0 us"},
    {"no tuning", "cpu", "x=4", "x", STEP_ALL_REDUCE, 1 << 20,
     "ring: 2(n-1) latency + 2(n-1)/n * bytes / bandwidth\n"
     "6 * 2 us + 1.5 * 1,048,576 B / 5 GB/s = 0.327 ms"},
    {"nothing", "cpu", "x=4", "x", STEP_SLICE, 1 << 20, "0: nothing moves"},
};

static void explains(void **state)
{
    const Explained *row = *state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, row->machine);
    const Mesh *mesh = mesh_of(arena, row->mesh);
    Buf text = buf_new(arena);
    price_explain(&machine, mesh, row->kind, atoms_of(mesh, row->axes), row->bytes, &text);
    assert_string_equal(text.s, row->want);
    arena_free(arena);
}

static void a_send_needs_no_group(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Machine machine = shipped(arena, "h100x8");
    const Mesh *one = mesh_of(arena, "x=1");
    Price near = price_step(&machine, one, STEP_SEND, 0, 1 << 30);
    assert_string_equal(near.algorithm, "direct Simple");
    assert_true(fabs(near.us - 2994.42) < 0.01);
    assert_int_equal(near.wire_bytes, 1 << 30);
    RankGroup far = {.n = 2, .nodes = 2, .per_node = 1}; /* busy 0: alone */
    assert_true(fabs(price_group(&machine, STEP_SEND, &far, 1 << 30).us - 22392.02) < 0.01);
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(groups_are_those_of_all_devices),
    cmocka_unit_test(prices_every_way),
    cmocka_unit_test(generations_share_numbers),
    cmocka_unit_test(prices_are_numbers),
    cmocka_unit_test(a_send_needs_no_group),
    cmocka_unit_test(prices_the_spine),
    cmocka_unit_test(a_group_in_a_block_does_not_pay_for_the_spine),
};

int main(void)
{
    return run_rows("chosen", chosen, chooses) + run_rows("groups", grouped, finds_groups) +
           run_rows("grows with bytes", machines, more_bytes_never_take_less) +
           run_rows("bounds", machines, never_faster_than_the_wires) +
           run_rows("trees", machines, trees_have_no_steps) +
           run_rows("measured", measured, is_near_what_was_measured) +
           run_rows("explained", explained, explains) + cmocka_run_group_tests(tests, NULL, NULL);
}
