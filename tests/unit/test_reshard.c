/* Reshards against brute force: every path found between random shardings is executed on tagged
 * elements. A rank holds, for each element, the set of addends it has summed; a step may only take
 * what its group holds, and at the end every rank must hold every element of its part, whole. */
#include "core/reshard/alike.h"
#include "tests/unit/addends.h"
#include "tests/unit/sizes.h"

#include <math.h>

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Shardings *shardings;
    Resharder *resharder, *uncapped;
    Shape shape;
    int n_steps[STEP_KIND_COUNT], n_fused, n_alike; /* seen; fused: a step that changes several
                                                         dims */
} Fixture;

static Fixture fixture_on(const char *mesh, Shape shape, double latency_us)
{
    Fixture f = {.arena = arena_new(), .shape = shape};
    Source source = {.name = "mesh", .text = str_from(mesh)};
    f.mesh = mesh_parse(f.arena, &source, NULL);
    f.shardings = shardings_new(f.arena);
    Machine *machine = arena_make(f.arena, Machine);
    *machine = (Machine){.name = "test", .devices_per_node = 16};
    machine->inside = (Link){.name = "in", .latency_us = latency_us, .bytes_per_s = 400e9};
    machine->between = machine->inside;
    ReshardOptions tight = {.cap = PEAK_ENDS}, open = {.cap = PEAK_FREE};
    f.resharder = resharder_new(f.arena, f.mesh, machine, f.shardings);
    resharder_options(f.resharder, &tight);
    f.uncapped = resharder_new(f.arena, f.mesh, machine, f.shardings);
    resharder_options(f.uncapped, &open);
    return f;
}

static Fixture fixture(const char *mesh, Shape shape)
{
    return fixture_on(mesh, shape, 2);
}

/* The addends of one step are combined in one way. */
static void check_alike(const Sharding *from, AtomSet atoms)
{
    int first = __builtin_ctz(atoms);
    for (int a = first; a < ATOMS_MAX; a++)
        if (atoms >> a & 1)
            assert_int_equal(from->partial[a], from->partial[first]);
}

static void look_at(Fixture *f, const Step *step)
{
    const Sharding *from = shardings_at(f->shardings, step->from);
    const Sharding *to = shardings_at(f->shardings, step->to);
    AtomSet gone = sharding_partials(from) & ~sharding_partials(to);
    bool reduces = step->kind == STEP_ALL_REDUCE || step->kind == STEP_REDUCE_SCATTER;
    if (reduces)
        check_alike(from, step->atoms);
    assert_int_equal(gone, reduces ? step->atoms : 0);
    int n_dims = 0;
    for (int d = 0; d < from->n_dims; d++)
        n_dims += !cut_equal(&from->dim[d], &to->dim[d]);
    f->n_steps[step->kind]++;
    f->n_fused += step->kind != STEP_SLICE && n_dims > 2;
}

/* Of the rank that holds most. */
static int64_t held_bytes(const Fixture *f, int32_t sharding)
{
    int64_t most = 0;
    for (int64_t p = 0; p < f->mesh->n_devices; p++) {
        int64_t n = sharding_local_elements(shardings_at(f->shardings, sharding), f->mesh, p);
        most = n > most ? n : most;
    }
    return 4 * most;
}

/* Follows the path on all ranks, and what it says of itself. */
static void check_path(Fixture *f, const ReshardPath *path, int32_t from, int32_t to)
{
    static Addends held;
    const Sharding *source = shardings_at(f->shardings, from);
    start(&f->shape, f->mesh, source, &held);
    int32_t at = from;
    double us = 0;
    int64_t peak = held_bytes(f, from);
    for (int i = 0; i < path->n_steps; i++) {
        assert_int_equal(path->step[i].from, at);
        look_at(f, &path->step[i]);
        assert_true(execute(&f->shape, f->mesh, f->shardings, &path->step[i], &held));
        at = path->step[i].to;
        us += path->step[i].us;
        peak = held_bytes(f, at) > peak ? held_bytes(f, at) : peak;
    }
    assert_int_equal(at, to);
    assert_true(us <= path->us * (1 + 1e-9) && us >= path->us * (1 - 1e-9));
    assert_true(path->bound_us <= path->us * (1 + 1e-9));
    assert_int_equal(path->peak_bytes, peak);
    const Sharding *target = shardings_at(f->shardings, to);
    uint32_t whole = all_addends(f->mesh, sharding_partials(source));
    for (int64_t p = 0; p < f->mesh->n_devices; p++)
        for (int64_t e = 0; e < shape_elements(&f->shape); e++)
            if (holds(&f->shape, f->mesh, target, p, e))
                assert_int_equal(held.of[p][e], whole);
}

static Sharding turned(const Sharding *sharding)
{
    Sharding out = *sharding;
    for (int d = 0; d < out.n_dims; d++)
        out.dim[d] = sharding->dim[out.n_dims - 1 - d];
    return out;
}

/* With the dims in the reverse order the cost is the same, which is known without a search; so is a
 * lower bound. */
static void check_turned(Fixture *f, const Sharding *from, const Sharding *to)
{
    uint64_t key[ALIKE_WORDS], other[ALIKE_WORDS];
    Sharding ends[2] = {turned(from), turned(to)};
    int n = reshard_alike(from, to, f->mesh, 0, 4, key);
    assert_int_equal(reshard_alike(&ends[0], &ends[1], f->mesh, 0, 4, other), n);
    if (n == 0)
        return;
    int32_t a = shardings_put(f->shardings, from), b = shardings_put(f->shardings, to);
    const ReshardPath *path = reshard(f->resharder, DT_F32, a, b);
    assert_true(reshard_least_us(f->resharder, DT_F32, a, b, 0, 1, INFINITY) <=
                path->us * (1 + 1e-6));
    const ReshardPath *same = reshard(f->resharder, DT_F32, shardings_put(f->shardings, &ends[0]),
                                      shardings_put(f->shardings, &ends[1]));
    bool alike = memcmp(key, other, sizeof *key * (size_t)n) == 0;
    if (!sharding_is_uneven(from, f->mesh) && !sharding_is_uneven(to, f->mesh))
        assert_true(alike);
    if (!alike || !path->proven || !same->proven)
        return;
    f->n_alike++;
    assert_true(fabs(same->us - path->us) <= 1e-6 * path->us);
}

/* With the cap and without, and the next best. Where all is even the cap can be kept. */
static void check_pair(Fixture *f, const Sharding *from, const Sharding *to)
{
    int32_t a = shardings_put(f->shardings, from), b = shardings_put(f->shardings, to);
    int64_t ends = held_bytes(f, a) > held_bytes(f, b) ? held_bytes(f, a) : held_bytes(f, b);
    const ReshardPath *path = reshard(f->resharder, DT_F32, a, b);
    const ReshardPath *uncapped = reshard(f->uncapped, DT_F32, a, b);
    check_path(f, path, a, b);
    check_path(f, uncapped, a, b);
    check_turned(f, from, to);
    if (!sharding_is_uneven(from, f->mesh) && !sharding_is_uneven(to, f->mesh))
        assert_int_equal(path->peak_bytes, ends);
    if (path->peak_bytes <= ends)
        assert_true(uncapped->us <= path->us * (1 + 1e-6));
    const ReshardPath *other = reshard_runner_up(f->resharder, DT_F32, a, b, 1);
    if (!other)
        return;
    check_path(f, other, a, b);
    assert_true(other->us >= path->us * (1 - 1e-6));
}

static const ReduceOp kinds[] = {REDUCE_SUM, REDUCE_SUM, REDUCE_MAX, REDUCE_AVG};

static const char *const meshes[] = {"dp=2,tp=4", "a=2,b=2,c=2", "a=3,b=2",
                                     "tp=8",      "a=3,b=4",     "a=2,b=2,c=2,d=2"};

/* Some dims in two blocks instead, a third and the rest; some digits in parts of random sizes. */
static void some_blocks(const Fixture *f, Sharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        Cut *cut = &sharding->dim[d];
        uint8_t atom[ATOMS_MAX];
        int n = cut_list_atoms(cut, atom);
        int64_t size = cut_size(cut), blocks[2] = {size / 3, size - size / 3};
        if (size >= 3 && pick(8) == 0)
            cut_blocks(blocks, 2, atom, n, f->mesh, cut);
        some_sizes(cut, f->mesh, 6);
    }
}

static void every_path_delivers_what_is_asked(void **state)
{
    (void)state;
    seed = 11;
    Shape shapes[] = {{.n_dims = 2, .dim = {12, 24}},
                      {.n_dims = 3, .dim = {6, 5, 8}},
                      {.n_dims = 2, .dim = {7, 9}}};
    int n_steps[STEP_KIND_COUNT] = {0}, n_fused = 0, n_alike = 0;
    for (size_t m = 0; m < COUNT_OF(meshes); m++)
        for (size_t s = 0; s < COUNT_OF(shapes); s++) {
            Fixture f = fixture(meshes[m], shapes[s]);
            for (int i = 0; i < 40; i++) {
                Sharding from = random_sharding(&f.shape, f.mesh, kinds);
                Sharding to = random_sharding(&f.shape, f.mesh, NULL);
                some_blocks(&f, &from);
                some_blocks(&f, &to);
                check_pair(&f, &from, &to);
            }
            for (StepKind kind = 0; kind < STEP_KIND_COUNT; kind++)
                n_steps[kind] += f.n_steps[kind];
            n_fused += f.n_fused;
            n_alike += f.n_alike;
            arena_free(f.arena);
        }
    for (StepKind kind = STEP_SLICE; kind <= STEP_PERMUTE; kind++)
        assert_true(n_steps[kind] > 50);
    assert_true(n_fused > 20);
    assert_true(n_alike > 200);
}

/* Forms of a dim on the mesh dp=2,tp=4; the first ones are block lists. */
static const char *const forms[] = {
    "(12|8|4)/tp,8",
    "(4|8|12)/tp,8",
    "(12|8|4)/dp,8",
    "(12|8|4)/dp.tp,8",
    "(12|8|4)/tp.dp,8",
    "(12|8|4)/tp,8/dp",
    "(12|8|4)/tp:(1)2,8",
    "(20|4)/tp,8",
    "(7|17)/tp,8",
    "(12|8|4)/tp,(6|2)/dp",
    "24/dp,(5|3)/tp",
    "24,(4|3|1)/tp",
    "24,8",
    "24/tp,8",
    "24/dp,8",
    "24/dp.tp,8",
    "24/tp.dp,8",
    "24,8/tp",
    "24/dp,8/tp",
    "(3)(8/tp),8",
    "(2)(12/tp),8",
    "(2/dp)(12/tp),8",
    "24/tp:(1)2,8",
    "24/tp:(2)2,8/dp",
    "24,(2)(4/tp)",
    "(3)(8/tp),8/dp",
};
enum { N_BLOCK_LISTS = 12 };

static Sharding form_of(const Fixture *f, const char *text)
{
    Source source = {.name = "form", .text = str_from(text)};
    Sharding sharding;
    Error err = {0};
    if (!sharding_parse(&source, &f->shape, f->mesh, VIEW_OURS, &sharding, &err))
        fail_msg("%s: %s", text, err.text);
    return sharding;
}

/* What is proven of a plain cut is proven of a list beside a whole dim: it costs the same. */
static void lists_are_gathered_as_plain_cuts_are(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"(16|8|8)/tp,8", "32/tp,8"},
                                           {"(16|8|8)/tp,8/dp", "32/tp,8/dp"},
                                           {"(16|8|8)/dp.tp,8", "32/dp.tp,8"}};
    Fixture f = fixture("dp=2,tp=4", (Shape){.n_dims = 2, .dim = {32, 8}});
    Sharding whole = form_of(&f, "32,8");
    int32_t to = shardings_put(f.shardings, &whole);
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        Sharding list = form_of(&f, pairs[i][0]), plain = form_of(&f, pairs[i][1]);
        int32_t from = shardings_put(f.shardings, &list), as = shardings_put(f.shardings, &plain);
        const ReshardPath *path = reshard(f.uncapped, DT_F32, from, to);
        const ReshardPath *same = reshard(f.uncapped, DT_F32, as, to);
        assert_true(same->proven && path->proven);
        assert_true(path->us == same->us && path->bound_us == same->bound_us);
        assert_true(reshard(f.uncapped, DT_F32, to, from)->proven); /* a slice */
    }
    arena_free(f.arena);
}

/* A shard becomes an addend over the axes that shard it; over others it is gathered first. */
static void a_shard_becomes_an_addend_over_its_own_axes(void **state)
{
    (void)state;
    Fixture f = fixture("dp=2,tp=4", (Shape){.n_dims = 1, .dim = {64}});
    static const char *const ends[] = {"64/dp", "64/dp.tp", "64/tp.dp", "64/tp"};
    Sharding sum = form_of(&f, "64");
    sum.partial[0] = REDUCE_SUM;
    int32_t to = shardings_put(f.shardings, &sum);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        Sharding from = form_of(&f, ends[i]);
        const ReshardPath *path =
            reshard(f.uncapped, DT_F32, shardings_put(f.shardings, &from), to);
        AtomSet gathered = 0;
        for (int s = 0; s < path->n_steps; s++)
            gathered |= path->step[s].kind == STEP_ALL_GATHER ? path->step[s].atoms : 0;
        AtomSet others = sharding_atoms(&from) & ~sharding_partials(&sum);
        assert_int_equal(gathered & others, others);
        assert_true((path->us > 0) == (others != 0));
    }
    arena_free(f.arena);
}

/* Each list to each form and back, and from a value that is partial over an axis that is free. */
static void block_lists_reach_every_form_and_back(void **state)
{
    (void)state;
    Fixture f = fixture("dp=2,tp=4", (Shape){.n_dims = 2, .dim = {24, 8}});
    int n_partial = 0;
    for (int i = 0; i < N_BLOCK_LISTS; i++) {
        Sharding list = form_of(&f, forms[i]);
        assert_true(cut_is_blocks(&list.dim[0]) || cut_is_blocks(&list.dim[1]));
        for (size_t j = 0; j < COUNT_OF(forms); j++) {
            Sharding form = form_of(&f, forms[j]), partial = list;
            check_pair(&f, &list, &form);
            check_pair(&f, &form, &list);
            AtomSet free = ~sharding_atoms(&list) & (((AtomSet)1 << f.mesh->n_atoms) - 1);
            for (int a = 0; a < f.mesh->n_atoms; a++)
                partial.partial[a] = free >> a & 1 ? REDUCE_SUM : REDUCE_NONE;
            if (free) {
                check_pair(&f, &partial, &form);
                n_partial++;
            }
        }
    }
    assert_true(n_partial > 100);
    arena_free(f.arena);
}

/* A list that both ends have stays on the way, unless every search moves data along its dim: where
 * moves take no time to begin, sums are scattered over it and gathered again. */
static void lists_of_both_ends_are_left_where_they_must(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"4,(8|4)/a,8/b", "4/b,(8|4)/a,8"},
                                           {"4/b,(8|4)/a,8", "4,(8|4)/a,8/b"},
                                           {"4,(8|4)/a,8/b", "4,(8|4)/a,8"},
                                           {"4,(8|4)/a,8", "4,(8|4)/a,8/c"}};
    Shape shape = {.n_dims = 3, .dim = {4, 12, 8}};
    int n_left = 0;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        Fixture f = fixture_on("a=2,b=2,c=2", shape, .05);
        Sharding from = form_of(&f, pairs[i][0]), to = form_of(&f, pairs[i][1]);
        from.partial[2] = REDUCE_MAX;
        int32_t at = shardings_put(f.shardings, &from), end = shardings_put(f.shardings, &to);
        const ReshardPath *path = reshard(f.uncapped, DT_F32, at, end);
        check_path(&f, path, at, end);
        check_path(&f, reshard(f.resharder, DT_F32, at, end), at, end);
        n_left += path->step[0].kind == STEP_ALL_GATHER && path->step[0].atoms == 1;
        arena_free(f.arena);
    }
    assert_true(n_left > 0);
}

/* Many axes on many dims make more states than a search looks at: there the straight way is taken,
 * in bounded time. */
static void a_path_is_found_on_a_mesh_of_eight_axes(void **state)
{
    (void)state;
    seed = 23;
    Fixture f = fixture("a=2,b=2,c=2,d=2,e=2,f=2,g=2,h=2",
                        (Shape){.n_dims = 5, .dim = {96, 48, 64, 32, 16}});
    for (int i = 0; i < 8; i++) {
        Sharding from = random_sharding(&f.shape, f.mesh, kinds);
        Sharding to = random_sharding(&f.shape, f.mesh, NULL);
        int32_t at = shardings_put(f.shardings, &from), end = shardings_put(f.shardings, &to);
        const ReshardPath *path = reshard(f.resharder, DT_F32, at, end);
        for (int s = 0; s < path->n_steps; s++) {
            assert_int_equal(path->step[s].from, at);
            at = path->step[s].to;
        }
        assert_int_equal(at, end);
    }
    arena_free(f.arena);
}

/* from, to in our notation, and the path as "kind axes bytes wire_bytes; .." */
typedef struct {
    const char *name, *mesh;
    Shape shape;
    const char *from, *to, *want;
} Case;

static Case rows[] = {
    {"partial is all-reduced",
     "dp=2,tp=4",
     {.n_dims = 3, .dim = {8, 1024, 768}},
     "8/dp,1024,768 +tp",
     "8/dp,1024,768",
     "all_reduce tp 12582912 18874368"},
    {"partial onto a cut dim is reduce-scattered",
     "dp=2,tp=4",
     {.n_dims = 3, .dim = {8, 1024, 768}},
     "8/dp,1024,768 +tp",
     "8/dp,1024/tp,768",
     "reduce_scatter tp 12582912 9437184"},
    {"a stored parameter is gathered",
     "dp=2,tp=4",
     {.n_dims = 2, .dim = {768, 3072}},
     "768/dp,3072",
     "768,3072",
     "all_gather dp 9437184 4718592"},
    {"uneven parts are padded",
     "tp=4",
     {.n_dims = 1, .dim = {50257}},
     "50257/tp",
     "50257",
     "all_gather tp 201028 150771"},
    {"columns to heads of q, k and v",
     "dp=2,tp=4",
     {.n_dims = 2, .dim = {4096, 2304}},
     "4096,2304/tp",
     "4096,(3)(768/tp)",
     "all_to_all tp 9437184 7077888"},
    {"an axis moves to another dim",
     "tp=4",
     {.n_dims = 2, .dim = {16, 16}},
     "16/tp,16",
     "16,16/tp",
     "all_to_all tp 256 192"},
    {"blocks are gathered",
     "tp=4",
     {.n_dims = 1, .dim = {128}},
     "(64|32|32)/tp",
     "128",
     "all_gather tp 512 384"},
    {"a slice into blocks is free",
     "tp=4",
     {.n_dims = 1, .dim = {128}},
     "128",
     "(64|32|32)/tp",
     "slice  0 0"},
    {"columns to blocks",
     "tp=4",
     {.n_dims = 1, .dim = {128}},
     "128/tp",
     "(64|32|32)/tp",
     "all_to_all tp 128 96"},
    {"partial is scattered into blocks",
     "tp=4",
     {.n_dims = 1, .dim = {128}},
     "128 +tp",
     "(64|32|32)/tp",
     "reduce_scatter tp 512 384"},
    {"a slice is free", "tp=4", {.n_dims = 1, .dim = {16}}, "16", "16/tp", "slice  0 0"},
    {"axes change places",
     "a=4,b=4",
     {.n_dims = 2, .dim = {1024, 1024}},
     "1024/a,1024/b",
     "1024/b,1024/a",
     "permute a.b 262144 262144"},
    {"one axis for another",
     "a=4,b=4",
     {.n_dims = 2, .dim = {4096, 4096}},
     "4096/a,4096",
     "4096/b,4096",
     "permute a.b 16777216 16777216"},
};

static void path_is(void **state)
{
    const Case *row = *state;
    Fixture f = fixture(row->mesh, row->shape);
    Sharding from, to;
    Source source = {.name = "from", .text = str_from(row->from)};
    assert_true(sharding_parse(&source, &f.shape, f.mesh, VIEW_OURS, &from, NULL));
    source.text = str_from(row->to);
    assert_true(sharding_parse(&source, &f.shape, f.mesh, VIEW_OURS, &to, NULL));
    const ReshardPath *path = reshard(f.resharder, DT_F32, shardings_put(f.shardings, &from),
                                      shardings_put(f.shardings, &to));
    Buf text = buf_new(f.arena);
    for (int i = 0; i < path->n_steps; i++) {
        const Step *step = &path->step[i];
        uint8_t atom[ATOMS_MAX];
        int n = 0;
        for (int a = 0; a < f.mesh->n_atoms; a++)
            if (step->atoms >> a & 1)
                atom[n++] = (uint8_t)a;
        buf_printf(&text, "%s%s ", i ? "; " : "", step_kind_name(step->kind));
        mesh_format_atoms(f.mesh, atom, n, ".", &text);
        buf_printf(&text, " %lld %lld", (long long)step->bytes, (long long)step->wire_bytes);
    }
    assert_string_equal(text.s, row->want);
    arena_free(f.arena);
}

static void the_ring_formula_is_the_textbook_one(void **state)
{
    (void)state;
    Fixture f = fixture("tp=4", (Shape){.n_dims = 3, .dim = {8, 4096, 2048}});
    Sharding from = sharding_whole(&f.shape), to = from;
    from.partial[0] = from.partial[1] = REDUCE_SUM;
    const ReshardPath *path = reshard(f.resharder, DT_BF16, shardings_put(f.shardings, &from),
                                      shardings_put(f.shardings, &to));
    /* 128 MiB over 4 at 400 GB/s and 2 us: 192 MiB / 400e9 + 6 * 2 us = 0.515 ms */
    assert_int_equal(path->wire_bytes, 192 << 20);
    assert_true(path->us > 515.2 && path->us < 515.4);
    arena_free(f.arena);
}

/* 50257 rows over 4 are 12565 on the largest rank: 3/4 of a row more than the mean. */
static void padding_is_what_is_beyond_the_mean(void **state)
{
    (void)state;
    Fixture f = fixture("tp=4", (Shape){.n_dims = 2, .dim = {50257, 8}});
    Sharding from = sharding_whole(&f.shape), to = from;
    from.dim[0] = cut_by(50257, (uint8_t[]){0, 1}, 2, f.mesh);
    to.dim[1] = cut_by(8, (uint8_t[]){0, 1}, 2, f.mesh);
    const ReshardPath *path = reshard(f.resharder, DT_F32, shardings_put(f.shardings, &from),
                                      shardings_put(f.shardings, &to));
    assert_int_equal(path->n_steps, 1);
    assert_int_equal(path->step[0].bytes, 12565 * 8 * 4);
    assert_int_equal(path->step[0].padding_bytes, 3 * 8 * 4 / 4);
    assert_int_equal(path->padding_bytes, 3 * 8 * 4 / 4);
    arena_free(f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_delivers_what_is_asked),
        cmocka_unit_test(a_shard_becomes_an_addend_over_its_own_axes),
        cmocka_unit_test(lists_are_gathered_as_plain_cuts_are),
        cmocka_unit_test(block_lists_reach_every_form_and_back),
        cmocka_unit_test(lists_of_both_ends_are_left_where_they_must),
        cmocka_unit_test(a_path_is_found_on_a_mesh_of_eight_axes),
        cmocka_unit_test(the_ring_formula_is_the_textbook_one),
        cmocka_unit_test(padding_is_what_is_beyond_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + run_rows("path", rows, path_is);
}
