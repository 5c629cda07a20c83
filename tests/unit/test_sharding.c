/* Shardings: the five views against each other, and against what each rank really holds. */
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include "core/layout/runs.h"
#include "core/layout/placement.h"

#include <inttypes.h>

static Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {.name = "--mesh", .text = str_from(text)};
    Error err = {0};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    assert_non_null(mesh);
    return mesh;
}

/* "8,1024,768", or "" for a scalar. */
static Shape shape_of(const char *text)
{
    Shape shape = {0};
    Source source = {.name = "shape", .text = str_from(text)};
    Error err = {0};
    Scan scan = scan_begin(&source, &err);
    while (scan_peek(&scan) != '\0') {
        assert_true(scan_int(&scan, &shape.dim[shape.n_dims++]));
        scan_accept(&scan, ',');
    }
    return shape;
}

static bool parse(const char *text, const Shape *shape, const Mesh *mesh, ShardingView view,
                  Sharding *out, Error *err)
{
    Source source = {.name = "sharding", .text = str_from(text)};
    return sharding_parse(&source, shape, mesh, view, out, err);
}

static const char *print(Arena *arena, const Sharding *sharding, const Mesh *mesh,
                         ShardingView view, Error *err)
{
    Buf out = buf_new(arena);
    buf_puts(&out, "kept");
    bool holds = sharding_format(sharding, mesh, view, &out, err);
    assert_memory_equal(out.s, "kept", 4);
    assert_true(holds || out.n == 4);
    return holds ? out.s + 4 : NULL;
}

/* ---- one sharding in all views; NULL: that view cannot hold it ---- */

typedef struct {
    const char *name, *mesh, *shape, *views[VIEW_COUNT];
} View;

static View views[] = {
    {"replicated",
     "dp=2,tp=4",
     "8,16",
     {"8,16", "8,16", "[-1,-1]", "[R, R]", "[Replicate(), Replicate()]", "P(None,None)",
      "[{},{}]"}},
    {"scalar", "dp=2", "", {"scalar", "scalar", "[]", "[R]", "[Replicate()]", "P()", "[]"}},
    {"one axis a dim",
     "dp=2,tp=4",
     "8,4096,4096",
     {"8/dp,4096,4096/tp", "8/dp,4096,4096/tp", "[0,-1,1]", "[S(0), S(2)]", "[Shard(0), Shard(2)]",
      "P('dp',None,'tp')", "[{\"dp\"},{},{\"tp\"}]"}},
    {"partial",
     "dp=2,tp=4",
     "8,16",
     {"8/dp,16 Σtp", "8/dp,16 +tp", "[0,-1] {\"1\":\"sum\"}", "[S(0), P(sum)]",
      "[Shard(0), Partial(sum)]", NULL, "[{\"dp\"},{}] unreduced={\"tp\"}"}},
    {"partial maximum",
     "dp=2,tp=4",
     "8",
     {"8/dp max(tp)", "8/dp max(tp)", "[0] {\"1\":\"max\"}", "[S(0), P(max)]",
      "[Shard(0), Partial(max)]", NULL, NULL}},
    {"partial twice",
     "dp=2,tp=4",
     "8",
     {"8 Σdp.tp", "8 +dp.tp", "[-1] {\"0\":\"sum\",\"1\":\"sum\"}", "[P(sum), P(sum)]",
      "[Partial(sum), Partial(sum)]", NULL, "[{}] unreduced={\"dp\",\"tp\"}"}},
    {"partial over a part",
     "tp=4",
     "8",
     {"8 Σtp:(1)2", "8 +tp:(1)2", NULL, NULL, NULL, NULL, "[{}] unreduced={\"tp\":(1)2}"}},
    {"two axes a dim",
     "dp=2,tp=4",
     "16,3",
     {"16/dp.tp,3", "16/dp.tp,3", "[[0,1],[]]", "[S(0), S(0)]", "[Shard(0), Shard(0)]",
      "P(('dp','tp'),None)", "[{\"dp\",\"tp\"},{}]"}},
    {"axes against mesh order",
     "dp=2,tp=4",
     "16",
     {"16/tp.dp", "16/tp.dp", "[[1,0]]", "[_S(0,4), S(0)]", "[_StridedShard(0,4), Shard(0)]",
      "P(('tp','dp'))", "[{\"tp\",\"dp\"}]"}},
    {"three axes, the middle one first",
     "a=2,b=3,c=2",
     "48",
     {"48/b.c.a", "48/b.c.a", "[[1,2,0]]", "[_S(0,6), S(0), S(0)]",
      "[_StridedShard(0,6), Shard(0), Shard(0)]", "P(('b','c','a'))", "[{\"b\",\"c\",\"a\"}]"}},
    {"blocks: fused qkv",
     "dp=2,tp=4",
     "768,2304",
     {"768,(3)(768/tp)", "768,(3)(768/tp)", NULL, "[R, IS(1,3)]",
      "[Replicate(), InterleavedShard(1,3)]", NULL, NULL}},
    {"blocks cut by both axes",
     "dp=2,tp=4",
     "96",
     {"(3)(32/dp.tp)", "(3)(32/dp.tp)", NULL, "[IS(0,3), IS(0,3)]",
      "[InterleavedShard(0,3), InterleavedShard(0,3)]", NULL, NULL}},
    {"blocks cut against mesh order",
     "dp=2,tp=4",
     "96",
     {"(3)(32/tp.dp)", "(3)(32/tp.dp)", NULL, "[_S(0,12), IS(0,3)]",
      "[_StridedShard(0,12), InterleavedShard(0,3)]", NULL, NULL}},
    {"batch and heads in one dim",
     "dp=2,tp=4",
     "96,3",
     {"(8/dp)(12/tp),3", "(8/dp)(12/tp),3", NULL, "[S(0), _S(0,4)]",
      "[Shard(0), _StridedShard(0,4)]", NULL, NULL}},
    {"the same with the axes changed",
     "dp=2,tp=4",
     "96",
     {"(8/tp)(12/dp)", "(8/tp)(12/dp)", NULL, "[_S(0,8), S(0)]", "[_StridedShard(0,8), Shard(0)]",
      NULL, NULL}},
    {"whole units: heads",
     "tp=4",
     "768",
     {"768/tp", "768/tp", "[0]", "[S(0)]", "[Shard(0)]", "P('tp')", "[{\"tp\"}]"}},
    {"a part of an axis",
     "tp=4",
     "8,8",
     {"8/tp:(1)2,8/tp:(2)2", "8/tp:(1)2,8/tp:(2)2", NULL, NULL, NULL, NULL,
      "[{\"tp\":(1)2},{\"tp\":(2)2}]"}},
    {"an axis between the parts of another",
     "a=4,b=2",
     "32",
     {"32/a:(1)2.b.a:(2)2", "32/a:(1)2.b.a:(2)2", NULL, NULL, NULL, NULL,
      "[{\"a\":(1)2,\"b\",\"a\":(2)2}]"}},
    {"an axis around one that came first",
     "b=2,a=4",
     "32",
     {"32/a:(1)2.b.a:(2)2", "32/a:(1)2.b.a:(2)2", NULL, "[_S(0,2), S(0)]",
      "[_StridedShard(0,2), Shard(0)]", NULL, "[{\"a\":(1)2,\"b\",\"a\":(2)2}]"}},
    {"uneven: GPT-2's words",
     "dp=2,tp=4",
     "50257",
     {"50257/tp", "50257/tp", "[1]", "[R, S(0)]", "[Replicate(), Shard(0)]", "P('tp')",
      "[{\"tp\"}]"}},
    {"uneven over two axes: chunks of chunks",
     "dp=2,tp=4",
     "50257",
     {"50257/dp.tp", "50257/dp.tp", "[[0,1]]", "[S(0), S(0)]", "[Shard(0), Shard(0)]", NULL, NULL}},
    {"uneven against mesh order, yet the same",
     "x=4,y=2",
     "15",
     {"15/y.x", "15/y.x", "[[1,0]]", "[_S(0,2), S(0)]", "[_StridedShard(0,2), Shard(0)]", NULL,
      NULL}},
    {"uneven against mesh order, and not the same",
     "x=3,y=2",
     "7",
     {"7/y.x", "7/y.x", "[[1,0]]", NULL, NULL, NULL, NULL}},
    {"uneven blocks",
     "tp=4",
     "21",
     {"(3)(7/tp)", "(3)(7/tp)", NULL, "[_S(0,3)]", "[_StridedShard(0,3)]", NULL, NULL}},
    {"smaller than the axis",
     "tp=8",
     "1,3",
     {"1/tp,3", "1/tp,3", "[0,-1]", "[S(0)]", "[Shard(0)]", "P('tp',None)", "[{\"tp\"},{}]"}},
    {"no elements",
     "tp=4",
     "0,3",
     {"0/tp,3", "0/tp,3", "[0,-1]", "[S(0)]", "[Shard(0)]", "P('tp',None)", "[{\"tp\"},{}]"}},
};

static void all_views(void **state)
{
    const View *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    Shape shape = shape_of(row->shape);
    Sharding sharding, again;
    assert_true(parse(row->views[VIEW_OURS], &shape, mesh, VIEW_OURS, &sharding, NULL));
    for (ShardingView view = 0; view < VIEW_COUNT; view++) {
        Error err = {0};
        const char *text = print(arena, &sharding, mesh, view, &err);
        if (!row->views[view]) {
            assert_null(text);
            assert_int_equal(err.kind, ERROR_UNSUPPORTED);
            assert_true(error_is_set(&err));
            continue;
        }
        assert_non_null(text);
        assert_string_equal(text, row->views[view]);
        assert_true(parse(text, &shape, mesh, view, &again, NULL));
        assert_true(sharding_equal(&sharding, &again));
    }
    arena_free(arena);
}

/* ---- other spellings of the same ---- */

typedef struct {
    const char *name, *mesh, *shape;
    ShardingView view;
    const char *text, *ours;
} Spelling;

static Spelling spellings[] = {
    {"blanks", "dp=2,tp=4", "8,16", VIEW_OURS, " 8 / dp , ( 2 ) ( 8 / tp ) + tp:(1)2", NULL},
    {"ASCII where Σ is ours", "dp=2,tp=4", "8", VIEW_OURS, "8/dp +tp", "8/dp Σtp"},
    {"sum by name", "dp=2,tp=4", "8", VIEW_OURS, "8/dp sum(tp)", "8/dp Σtp"},
    {"digits that are one", "dp=2,tp=4", "96", VIEW_OURS, "(8/dp)(12)", "96/dp"},
    {"an axis of size 1", "dp=1,tp=4", "8", VIEW_OURS, "8/dp.tp", "8/tp"},
    {"all of an axis as a part", "dp=2,tp=4", "8", VIEW_OURS, "8/tp:(1)4", "8/tp"},
    {"a negative dim", "dp=2,tp=4", "8,16", VIEW_PLACEMENTS, "[R, S(-1)]", "8,16/tp"},
    {"long words in the short view", "dp=2,tp=4", "8,16", VIEW_PLACEMENTS,
     "[Shard(0), Partial(sum)]", "8/dp,16 Σtp"},
    {"short words in the long view", "dp=2,tp=4", "8,16", VIEW_PLACEMENTS_LONG, "[S(0),P(avg)]",
     "8/dp,16 avg(tp)"},
    {"one block is none", "tp=4", "8", VIEW_PLACEMENTS, "[IS(0,1)]", "8/tp"},
    {"a strided shard of whole blocks", "tp=4", "24", VIEW_PLACEMENTS, "[_S(0,3)]", "(3)(8/tp)"},
    {"a hole that a later axis fills", "x=3,y=2", "18", VIEW_PLACEMENTS, "[_S(0,2), S(0)]",
     "18/y.x"},
    {"an axis over two digits", "x=4,y=8", "64", VIEW_PLACEMENTS, "[_S(0,2), S(0)]",
     "64/y:(1)2.x.y:(2)4"},
    {"lists of one", "dp=2,tp=4", "8,16", VIEW_DIMS_MAPPING, "[[0], -1]", "8/dp,16"},
    {"nobody partial", "dp=2", "8", VIEW_DIMS_MAPPING, "[0] {}", "8/dp"},
    {"dims left away", "dp=2,tp=4", "8,16,4", VIEW_PARTITION_SPEC, "PartitionSpec(\"dp\",)",
     "8/dp,16,4"},
    {"a tuple of one", "dp=2", "8", VIEW_PARTITION_SPEC, "P(('dp',))", "8/dp"},
    {"Shardy's comma", "dp=2,tp=4", "8", VIEW_SHARDY, "[{\"dp\"}], unreduced={\"tp\"}", "8/dp Σtp"},
};

static void other_spellings(void **state)
{
    const Spelling *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    Shape shape = shape_of(row->shape);
    Sharding sharding;
    Error err = {0};
    bool good = parse(row->text, &shape, mesh, row->view, &sharding, &err);
    if (row->ours) {
        assert_string_equal(err.text, "");
        assert_string_equal(print(arena, &sharding, mesh, VIEW_OURS, NULL), row->ours);
    }
    assert_int_equal(good, row->ours != NULL);
    arena_free(arena);
}

/* ---- what is refused, and where ---- */

typedef struct {
    const char *name, *mesh, *shape;
    ShardingView view;
    const char *text;
    ErrorKind kind;
    int column;
} Refusal;

static Refusal refusals[] = {
    {"another size", "tp=4", "8,16", VIEW_OURS, "8,15/tp", ERROR_CONFLICT, 3},
    {"digits of another size", "tp=4", "96", VIEW_OURS, "(8)(11/tp)", ERROR_CONFLICT, 1},
    {"sizes beyond 64 bits", "tp=4", "8", VIEW_OURS,
     "(9223372036854775807)(9223372036854775807)(8)", ERROR_CONFLICT, 1},
    {"a negative size", "tp=4", "8", VIEW_OURS, "(-2)(-4)", ERROR_OUT_OF_RANGE, 2},
    {"too few dims", "tp=4", "8,16", VIEW_OURS, "8/tp", ERROR_RANK, 5},
    {"too many dims", "tp=4", "8", VIEW_OURS, "8,4", ERROR_RANK, 3},
    {"too many digits", "tp=4", "8", VIEW_OURS, "(1)(1)(1)(1)(1)(1)(8)", ERROR_OUT_OF_RANGE, 20},
    {"a scalar that is none", "tp=4", "8", VIEW_OURS, "scalar", ERROR_RANK, 1},
    {"no axis", "tp=4", "8", VIEW_OURS, "8/tq", ERROR_UNBOUND, 3},
    {"an axis twice in a digit", "tp=4", "8", VIEW_OURS, "8/tp.tp", ERROR_CONFLICT, 6},
    {"an axis on two dims", "tp=4", "8,8", VIEW_OURS, "8/tp,8/tp", ERROR_CONFLICT, 8},
    {"an axis cut and partial", "tp=4", "8", VIEW_OURS, "8/tp Σtp", ERROR_CONFLICT, 7},
    {"a part that overlaps", "tp=4", "8,8", VIEW_OURS, "8/tp:(1)2,8/tp", ERROR_CONFLICT, 13},
    {"no such part", "tp=6", "8", VIEW_OURS, "8/tp:(1)3", ERROR_NOT_DIVISIBLE, 3},
    {"a part of nothing", "tp=6", "8", VIEW_OURS, "8/tp:(1)1", ERROR_NOT_DIVISIBLE, 3},
    {"no reduction", "tp=4", "8", VIEW_OURS, "8 mean(tp)", ERROR_SYNTAX, 3},
    {"something behind", "tp=4", "8", VIEW_PLACEMENTS, "[R] x", ERROR_SYNTAX, 5},
    {"a placement too few", "dp=2,tp=4", "8", VIEW_PLACEMENTS, "[R]", ERROR_INVALID, 3},
    {"a placement too many", "tp=4", "8", VIEW_PLACEMENTS, "[R,R]", ERROR_INVALID, 5},
    {"no placement", "tp=4", "8", VIEW_PLACEMENTS, "[Q(0)]", ERROR_SYNTAX, 2},
    {"no dim", "tp=4", "8", VIEW_PLACEMENTS, "[S(1)]", ERROR_OUT_OF_RANGE, 4},
    {"a scalar cut", "tp=4", "", VIEW_PLACEMENTS, "[S(0)]", ERROR_OUT_OF_RANGE, 4},
    {"a factor of 0", "tp=4", "8", VIEW_PLACEMENTS, "[_S(0,0)]", ERROR_OUT_OF_RANGE, 7},
    {"blocks that do not divide", "tp=2", "7", VIEW_PLACEMENTS, "[IS(0,7)]", ERROR_NOT_DIVISIBLE,
     1},
    {"a factor of no axis", "tp=4", "8", VIEW_PLACEMENTS, "[_S(0,3)]", ERROR_UNSUPPORTED, 1},
    {"a factor that a later axis does not have", "x=2,y=3,z=4", "24", VIEW_PLACEMENTS,
     "[S(0), _S(0,5), S(0)]", ERROR_UNSUPPORTED, 1},
    {"a norm", "tp=4", "8", VIEW_PLACEMENTS, "[NormP(2)]", ERROR_UNSUPPORTED, 1},
    {"an axis number", "tp=4", "8", VIEW_DIMS_MAPPING, "[1]", ERROR_OUT_OF_RANGE, 2},
    {"-1 in a list", "tp=4", "8", VIEW_DIMS_MAPPING, "[[-1]]", ERROR_OUT_OF_RANGE, 3},
    {"a mapping too short", "tp=4", "8,8", VIEW_DIMS_MAPPING, "[0]", ERROR_RANK, 3},
    {"mapped and partial", "tp=4", "8", VIEW_DIMS_MAPPING, "[0] {\"0\":\"sum\"}", ERROR_CONFLICT,
     6},
    {"more entries than dims", "dp=2,tp=4", "8", VIEW_PARTITION_SPEC, "P('dp','tp')", ERROR_RANK,
     8},
    {"a name without quotes", "dp=2", "8", VIEW_PARTITION_SPEC, "P(dp)", ERROR_SYNTAX, 3},
    {"flat chunks of two axes", "a=2,b=2", "5", VIEW_PARTITION_SPEC, "P(('a','b'))",
     ERROR_NOT_DIVISIBLE, 3},
    {"Shardy's list, open", "a=2", "4", VIEW_SHARDY, "[{\"a\"}", ERROR_SYNTAX, 7},
};

static void refuses(void **state)
{
    const Refusal *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    Shape shape = shape_of(row->shape);
    Sharding sharding;
    Error err = {0};
    assert_false(parse(row->text, &shape, mesh, row->view, &sharding, &err));
    assert_string_equal(error_kind_name(err.kind), error_kind_name(row->kind));
    assert_int_equal(err.column, row->column);
    assert_false(parse(row->text, &shape, mesh, row->view, &sharding, NULL));
    arena_free(arena);
}

static void hints_the_nearest_axis(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "data=2,model=4");
    Shape shape = shape_of("8");
    Sharding sharding;
    Error err = {0};
    assert_false(parse("8/modl", &shape, mesh, VIEW_OURS, &sharding, &err));
    assert_non_null(strstr(err.hint, "model"));
    arena_free(arena);
}

/* ---- one reader of all notations ---- */

typedef struct {
    const char *name, *text, *ours; /* of 12,16 on dp=2,tp=4; ours may be an error */
} Typed;

static Typed typed[] = {
    {"ours", "12/tp,16", "12/tp,16"},
    {"a dims_mapping", " [1, -1]", "12/tp,16"},
    {"placements", "[R,S(0)]", "12/tp,16"},
    {"placements with their long names", "[Replicate(), Shard(0)]", "12/tp,16"},
    {"the name of an argument", "[Replicate(), Shard(dim=-1)]", "12,16/tp"},
    {"a partial without a reduction", "[Partial(), R]", "12,16 +dp"},
    {"or with one", "[Partial('max'), P(\"avg\")]", "12,16 avg(tp) max(dp)"},
    {"a strided shard", "[R, _StridedShard(dim=0, split_factor=3)]", "(3)(4/tp),16"},
    {"an interleaved one", "[R,InterleavedShard(0, interleaved_size=3)]", "(3)(4/tp),16"},
    {"a PartitionSpec", "PartitionSpec(None, ('dp','tp'))", "12,16/dp.tp"},
    {"Shardy", "[{\"tp\"}, {}]", "12/tp,16"},
    {"an argument of another name", "[R, Shard(axis=0)]",
     "expected a number or dim=, found 'axis'"},
    {"no such dim", "[R, Shard(dim=2)]", "no dim 2 in a tensor of 2"},
    {"too few placements", "[S(0)]", "one placement for each of the 2 axes of the mesh"},
};

static void reads_any_notation(void **state)
{
    const Typed *row = *state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, "dp=2,tp=4");
    Shape shape = shape_of("12,16");
    Source source = {.name = "sharding", .text = str_from(row->text)};
    Sharding sharding;
    Error err = {0};
    Buf got = buf_new(arena);
    if (sharding_parse_any(&source, &shape, mesh, &sharding, &err))
        sharding_format(&sharding, mesh, VIEW_OURS_ASCII, &got, NULL);
    else
        buf_puts(&got, err.text);
    assert_string_equal(got.s, row->ours);
    arena_free(arena);
}

/* ---- random shardings: what their placements say is what each rank holds ---- */

/* Digits of small sizes, cut by the atoms of the mesh in any order. */
static Cut random_cut(const Mesh *mesh, AtomSet *free_atoms)
{
    Cut cut = {.n = 1 + pick(3)};
    for (int d = 0; d < cut.n; d++) {
        Digit *digit = &cut.digit[d];
        digit->size = pick(3) == 0 ? 1 + pick(9) : 2 << pick(4);
        for (int n = pick(4); n > 0; n--) {
            int axis = pick(mesh->n_axes);
            const MeshAxis *at = &mesh->axes[axis];
            int first = at->atom, end = first + at->n_atoms;
            if (pick(5) == 0)
                end = first + 1; /* a part of it */
            for (int atom = first; atom < end; atom++)
                if (*free_atoms >> atom & 1) {
                    digit->atom[digit->n++] = (uint8_t)atom;
                    *free_atoms &= ~((AtomSet)1 << atom);
                }
        }
    }
    cut_canonical(&cut, mesh);
    return cut;
}

/* The request of the eval verb `layout` that the placements in text make. */
static Json *layout_request(const Mesh *mesh, const Shape *shape, const char *text)
{
    Json *request = json_object(), *axes = json_array(), *list = json_array(),
         *named = json_object();
    json_set(request, "shape", json_ints(shape->dim, (int)shape->n_dims));
    mesh_each_axis (axis, mesh) {
        Json *pair = json_array();
        json_add(pair, json_from_str(str_from(axis->name)));
        json_add(pair, json_from_int(axis->size));
        json_add(axes, pair);
    }
    json_set(named, "axes", axes);
    json_set(request, "mesh", named);
    for (const char *at = text + 1; *at && *at != ']';) {
        size_t n = strcspn(at, " ]");
        n -= at[n - 1] == ',';
        json_add(list, json_from_str((Str){at, n}));
        at += n + strspn(at + n, ", ");
    }
    json_set(request, "placements", list);
    return request;
}

static void assert_layout(Arena *arena, const Sharding *sharding, const Mesh *mesh,
                          const Shape *shape, const char *text)
{
    Json *request = layout_request(mesh, shape, text), *answer = json_object();
    Error err = {0};
    assert_true(eval_layout("layout", arena, request, answer, &err));
    for (int rank = 0; rank < mesh->n_devices; rank++)
        for (int d = 0; d < shape->n_dims; d++) {
            Json *told = json_at(json_at(json_get(answer, "runs"), rank), d);
            Runs runs = cut_runs(arena, &sharding->dim[d], mesh, rank);
            if (json_size(told) != runs.n)
                fail_msg("%s: rank %d has %d runs, not %d", text, rank, json_size(told), runs.n);
            for (int i = 0; i < runs.n; i++) {
                assert_int_equal(json_int(json_at(json_at(told, i), 0), -1), runs.at[i].start);
                assert_int_equal(json_int(json_at(json_at(told, i), 1), -1), runs.at[i].length);
            }
        }
    json_free(answer);
    json_free(request);
}

/* All views that hold it read back to a text that prints as itself, and placements to the same
 * elements on every rank. */
static bool assert_views(Arena *arena, const Sharding *sharding, const Mesh *mesh,
                         const Shape *shape)
{
    const char *placements = NULL;
    for (ShardingView view = 0; view < VIEW_COUNT; view++) {
        const char *text = print(arena, sharding, mesh, view, NULL);
        Sharding again;
        if (!text) {
            assert_true(view >= VIEW_DIMS_MAPPING);
            continue;
        }
        Error err = {0};
        if (!parse(text, shape, mesh, view, &again, &err))
            fail_msg("%s: %s: %s", print(arena, sharding, mesh, VIEW_OURS, NULL), text, err.text);
        assert_string_equal(print(arena, &again, mesh, view, NULL), text);
        if (view == VIEW_PLACEMENTS)
            placements = text;
        else if (view != VIEW_PLACEMENTS_LONG)
            assert_true(sharding_equal(sharding, &again));
        else
            assert_layout(arena, &again, mesh, shape, placements);
    }
    if (placements)
        assert_layout(arena, sharding, mesh, shape, placements);
    return placements != NULL;
}

typedef struct {
    const char *name;
} RandomMesh;

static RandomMesh random_meshes[] = {{"a=2,b=3"},     {"a=4,b=2"},        {"a=2,b=2,c=2"},
                                     {"a=6,b=2"},     {"a=3,b=4,c=2"},    {"a=1,b=5"},
                                     {"a=2,b=8,c=2"}, {"a=2,b=2,c=2,d=2"}};

static void random_shardings(void **state)
{
    const RandomMesh *row = *state;
    int n_held = 0;
    seed = 1;
    for (int i = 0; i < 500; i++) {
        Arena *arena = arena_new();
        const Mesh *mesh = mesh_of(arena, row->name);
        AtomSet free_atoms = ((AtomSet)1 << mesh->n_atoms) - 1;
        Sharding sharding = {.n_dims = 1 + pick(2)};
        Shape shape = {.n_dims = sharding.n_dims};
        for (int d = 0; d < shape.n_dims; d++) {
            sharding.dim[d] = random_cut(mesh, &free_atoms);
            shape.dim[d] = cut_size(&sharding.dim[d]);
        }
        for (int atom = 0; atom < mesh->n_atoms; atom++)
            if ((free_atoms >> atom & 1) && pick(3) == 0)
                sharding.partial[atom] = (uint8_t)(REDUCE_SUM + pick(3));
        n_held += assert_views(arena, &sharding, mesh, &shape);
        arena_free(arena);
    }
    assert_true(n_held > 40);
}

/* Placements with factors that may divide nothing: what is read lies as it was said. */
static const char *random_placements(Arena *arena, const Mesh *mesh, const Shape *shape)
{
    Buf out = buf_new(arena);
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        buf_puts(&out, axis > 0 ? ", " : "[");
        int dim = pick((int)shape->n_dims), kind = pick(6);
        if (kind == 0)
            buf_puts(&out, pick(2) ? "R" : "P(sum)");
        else if (kind <= 2)
            buf_printf(&out, "S(%d)", dim);
        else
            buf_printf(&out, "%s(%d,%d)", kind == 5 ? "IS" : "_S", dim, 1 + pick(8));
    }
    buf_putc(&out, ']');
    return out.s;
}

static void reads_random_placements(void **state)
{
    const RandomMesh *row = *state;
    int n_held = 0;
    seed = 2;
    for (int i = 0; i < 1000; i++) {
        Arena *arena = arena_new();
        const Mesh *mesh = mesh_of(arena, row->name);
        Shape shape = {.n_dims = 1 + pick(2)};
        for (int d = 0; d < shape.n_dims; d++)
            shape.dim[d] = pick(2) ? 12 * (1 + pick(8)) : pick(50);
        const char *text = random_placements(arena, mesh, &shape);
        Sharding sharding;
        if (parse(text, &shape, mesh, VIEW_PLACEMENTS, &sharding, NULL)) {
            assert_layout(arena, &sharding, mesh, &shape, text);
            assert_views(arena, &sharding, mesh, &shape);
            n_held++;
        }
        arena_free(arena);
    }
    assert_true(n_held > 200);
}

/* ---- asking ---- */

static void counts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=2,tp=4");
    Shape shape = shape_of("8,50257,3"), local;
    Sharding sharding;
    assert_true(parse("8/dp,50257/tp,3", &shape, mesh, VIEW_OURS, &sharding, NULL));
    sharding_local_shape(&sharding, mesh, 7, &local);
    assert_int_equal(local.dim[0], 4);
    assert_int_equal(local.dim[1], 12562);
    assert_int_equal(local.dim[2], 3);
    assert_int_equal(sharding_local_elements(&sharding, mesh, 0), 4 * 12565 * 3);
    assert_true(sharding_is_uneven(&sharding, mesh));
    assert_int_equal(sharding_atoms(&sharding), 7);
    assert_int_equal(sharding_partials(&sharding), 0);

    sharding = sharding_whole(&shape);
    assert_false(sharding_is_uneven(&sharding, mesh));
    sharding.partial[1] = sharding.partial[2] = REDUCE_SUM;
    assert_int_equal(sharding_partials(&sharding), 6);
    sharding = sharding_without_partial(&sharding);
    assert_int_equal(sharding_partials(&sharding), 0);
    arena_free(arena);
}

static void interns(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=2,tp=4");
    Shape shape = shape_of("8,16");
    Shardings *shardings = shardings_new(arena);
    Sharding a, b;
    assert_true(parse("8/dp,16/tp", &shape, mesh, VIEW_OURS, &a, NULL));
    assert_true(parse("[S(0), S(1)]", &shape, mesh, VIEW_PLACEMENTS, &b, NULL));
    int32_t id = shardings_put(shardings, &a);
    assert_int_equal(shardings_put(shardings, &b), id);
    b = sharding_whole(&shape);
    assert_int_not_equal(shardings_put(shardings, &b), id);
    assert_int_equal(shardings_count(shardings), 2);
    assert_true(sharding_equal(shardings_at(shardings, id), &a));
    arena_free(arena);
}

/* A million ranks do not make a view slow: even cuts and plain uneven ones are never compared. */
static void large_mesh(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=1000000");
    Shape shape = shape_of("1152921504606846975");
    Sharding sharding;
    assert_true(parse("1152921504606846975/dp", &shape, mesh, VIEW_OURS, &sharding, NULL));
    assert_string_equal(print(arena, &sharding, mesh, VIEW_PLACEMENTS, NULL), "[S(0)]");
    mesh = mesh_of(arena, "dp=1000,tp=1000");
    Error err = {0};
    assert_true(parse("1152921504606846975/tp.dp", &shape, mesh, VIEW_OURS, &sharding, NULL));
    assert_null(print(arena, &sharding, mesh, VIEW_PLACEMENTS, &err));
    assert_non_null(strstr(err.text, "too large"));
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(hints_the_nearest_axis),
    cmocka_unit_test(counts),
    cmocka_unit_test(interns),
    cmocka_unit_test(large_mesh),
};

int main(void)
{
    return run_rows("sharding views", views, all_views) +
           run_rows("sharding spellings", spellings, other_spellings) +
           run_rows("sharding refusals", refusals, refuses) +
           run_rows("random shardings", random_meshes, random_shardings) +
           run_rows("notations", typed, reads_any_notation) +
           run_rows("random placements", random_meshes, reads_random_placements) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
