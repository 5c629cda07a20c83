/* Which elements a rank holds, against counting them one by one. */
#include "tests/unit/unit.h"

#include "core/plan/layout.h"

static const Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {.name = "--mesh", .text = str_from(text)};
    const Mesh *mesh = mesh_parse(arena, &source, NULL);
    assert_non_null(mesh);
    return mesh;
}

static Cut cut_of(const char *text, int64_t size, const Mesh *mesh)
{
    Source source = {.name = "cut", .text = str_from(text)};
    Shape shape = {.n_dims = 1, .dim = {size}};
    Sharding sharding;
    assert_true(sharding_parse(&source, &shape, mesh, VIEW_OURS, &sharding, NULL));
    return sharding.dim[0];
}

/* "0+4 8+4" */
static const char *print(Arena *arena, const Runs *runs)
{
    Buf out = buf_new(arena);
    for (int i = 0; i < runs->n; i++)
        buf_printf(&out, "%s%d+%d", i > 0 ? " " : "", (int)runs->at[i].start,
                   (int)runs->at[i].length);
    return out.s;
}

/* ---- runs of cuts ---- */

typedef struct {
    const char *name, *mesh, *cut;
    int size, position;
    const char *runs;
} CutRuns;

static CutRuns cut_rows[] = {
    {"whole", "tp=4", "12", 12, 3, "0+12"},
    {"of size 1", "tp=4", "1", 1, 3, "0+1"},
    {"no elements", "tp=4", "0", 0, 3, ""},
    {"one digit", "tp=4", "12/tp", 12, 1, "3+3"},
    {"the short last chunk", "tp=4", "50257/tp", 50257, 3, "37695+12562"},
    {"nothing left", "tp=8", "10/tp", 10, 5, ""},
    {"fused qkv", "tp=4", "(3)(8/tp)", 24, 2, "4+2 12+2 20+2"},
    {"batch and heads", "dp=2,tp=2", "(4/dp)(6/tp)", 24, 3, "15+3 21+3"},
    {"whole minor digits join", "dp=2,tp=2", "(2)(4/dp)(3)", 24, 2, "6+6 18+6"},
    {"three digits", "a=2,b=2", "(2)(2/a)(2)(2/b)", 16, 1, "1+1 3+1 9+1 11+1"},
    {"against mesh order", "a=2,b=2", "8/b.a", 8, 1, "4+2"},
};

static void runs_of_cuts(void **state)
{
    const CutRuns *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    Cut cut = cut_of(row->cut, row->size, mesh);
    Runs runs = cut_runs(arena, &cut, mesh, row->position);
    assert_string_equal(print(arena, &runs), row->runs);
    assert_int_equal(cut_n_runs(&cut, mesh, row->position), runs.n);
    arena_free(arena);
}

static bool holds(const Cut *cut, const Mesh *mesh, int64_t position, int64_t global)
{
    for (int d = (int)cut->n - 1; d >= 0; d--) {
        int64_t lo, hi, value = global % cut->digit[d].size;
        digit_interval(&cut->digit[d], mesh, position, &lo, &hi);
        if (value < lo || value >= hi)
            return false;
        global /= cut->digit[d].size;
    }
    return true;
}

/* Every global index is found where counting finds it, and nowhere else. */
static void finds_every_index(void **state)
{
    const CutRuns *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    Cut cut = cut_of(row->cut, row->size, mesh);
    for (int64_t position = 0; position < mesh->n_devices; position++) {
        Runs runs = cut_runs(arena, &cut, mesh, position);
        int64_t local = 0;
        for (int64_t global = 0; global < row->size; global++) {
            bool held = holds(&cut, mesh, position, global);
            assert_int_equal(runs_find(&runs, global), held ? local : -1);
            local += held;
        }
        assert_int_equal(runs.local_size, local);
        assert_int_equal(runs_find(&runs, row->size), -1);
    }
    arena_free(arena);
}

/* ---- chunks of chunks ---- */

typedef struct {
    const char *name;
    int size, n_blocks, n_parts, part;
    const char *runs;
} Strided;

static Strided strided[] = {
    {"torch.chunk", 10, 1, 8, 4, "8+2"},
    {"beyond the last chunk", 10, 1, 8, 5, ""},
    {"one of each block", 8, 2, 4, 1, "1+1 5+1"},
    {"a shorter last block", 15, 2, 4, 3, "6+2 14+1"},
    {"a block of one chunk", 9, 4, 2, 0, "0+2 3+2 6+2"},
    {"more blocks than elements", 3, 8, 2, 0, "0+3"},
    {"and the other part", 3, 8, 2, 1, ""},
    {"all of it", 7, 3, 1, 0, "0+7"},
    {"nothing", 0, 3, 2, 1, ""},
};

static void chunks_of_chunks(void **state)
{
    const Strided *row = *state;
    Arena *arena = arena_new();
    Runs whole = runs_whole(arena, row->size), runs;
    assert_true(runs_strided(arena, &whole, row->n_blocks, row->n_parts, row->part, &runs));
    assert_string_equal(print(arena, &runs), row->runs);
    arena_free(arena);
}

static void chunks_of_runs(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Runs whole = runs_whole(arena, 15), odd, runs;
    assert_true(runs_strided(arena, &whole, 2, 4, 0, &odd)); /* 0 1 | 8 9 */
    assert_true(runs_strided(arena, &odd, 1, 2, 1, &runs));
    assert_string_equal(print(arena, &runs), "8+2");
    assert_true(runs_strided(arena, &odd, 1, 4, 2, &runs));
    assert_string_equal(print(arena, &runs), "8+1");
    whole = runs_whole(arena, (int64_t)1 << 59);
    assert_false(runs_strided(arena, &whole, (int64_t)1 << 40, 2, 0, &runs));
    arena_free(arena);
}

/* ---- the eval verb; conformance/layout.jsonl has its facts ---- */

typedef struct {
    const char *name, *request, *answer;
    ErrorKind kind; /* when there is no answer */
} Eval;

static Eval evals[] = {
    {"chunks of chunks",
     "{\"shape\":[5],\"mesh\":{\"axes\":[[\"x\",2],[\"y\",2]]},\"placements\":[\"S(0)\",\"S(0)\"]}",
     "{\"local_shape\":[[2],[1],[1],[1]],\"global_offset\":[[0],[2],[3],[4]],"
     "\"runs\":[[[[0,2]]],[[[2,1]]],[[[3,1]]],[[[4,1]]]],\"even\":false,\"has_empty\":false}",
     0},
    {"the other axis first",
     "{\"shape\":[8],\"mesh\":{\"axes\":[[\"x\",2],[\"y\",2]]},\"placements\":[\"S(0)\",\"S(0)\"],"
     "\"shard_order\":[1,0]}",
     "{\"local_shape\":[[2],[2],[2],[2]],\"global_offset\":[[0],[4],[2],[6]],"
     "\"runs\":[[[[0,2]]],[[[4,2]]],[[[2,2]]],[[[6,2]]]],\"even\":true,\"has_empty\":false}",
     0},
    {"an empty rank",
     "{\"shape\":[1,2],\"mesh\":{\"axes\":[[\"x\",2]]},\"placements\":[\"S(-2)\"]}",
     "{\"local_shape\":[[1,2],[0,2]],\"global_offset\":[[0,0],[1,0]],"
     "\"runs\":[[[[0,1]],[[0,2]]],[[],[[0,2]]]],\"even\":false,\"has_empty\":true}",
     0},
    {"a partial scalar",
     "{\"shape\":[],\"mesh\":{\"axes\":[[\"x\",2]]},\"placements\":[\"NormP(2)\"]}",
     "{\"local_shape\":[[],[]],\"global_offset\":[[],[]],\"runs\":[[],[]],\"even\":true,"
     "\"has_empty\":false}",
     0},
    {"nnScaler's layout", "{\"shape\":[4],\"rvd\":[1,2,2]}",
     "{\"local_shape\":[[2],[2],[2],[2]],\"global_offset\":[[0],[2],[0],[2]],"
     "\"runs\":[[[[0,2]]],[[[2,2]]],[[[0,2]]],[[[2,2]]]],\"part\":[[0,2],[0,2],[1,2],[1,2]],"
     "\"even\":true,\"has_empty\":false}",
     0},
    {"no mesh", "{\"shape\":[5],\"placements\":[]}", NULL, ERROR_INVALID},
    {"no shape", "{\"mesh\":{\"axes\":[[\"x\",2]]},\"placements\":[\"R\"]}", NULL, ERROR_INVALID},
    {"a shape of texts", "{\"shape\":[\"5\"],\"rvd\":[1,1,1]}", NULL, ERROR_INVALID},
    {"a placement that is none",
     "{\"shape\":[5],\"mesh\":{\"axes\":[[\"x\",2]]},\"placements\":[3]}", NULL, ERROR_SYNTAX},
    {"an order too short",
     "{\"shape\":[5],\"mesh\":{\"axes\":[[\"x\",2]]},\"placements\":[\"R\"],\"shard_order\":[]}",
     NULL, ERROR_INVALID},
    {"an axis of no mesh",
     "{\"shape\":[5],\"mesh\":{\"axes\":[[\"x\",2]]},\"placements\":[\"R\"],\"shard_order\":[1]}",
     NULL, ERROR_OUT_OF_RANGE},
    {"rvd of another rank", "{\"shape\":[4],\"rvd\":[1,2]}", NULL, ERROR_RANK},
    {"rvd that does not divide", "{\"shape\":[4],\"rvd\":[1,1,3]}", NULL, ERROR_NOT_DIVISIBLE},
    {"rvd of too many devices", "{\"shape\":[4],\"rvd\":[4294967296,4294967296,4]}", NULL,
     ERROR_OUT_OF_RANGE},
    {"more pieces than fit a line",
     "{\"shape\":[1152921504606846975],\"mesh\":{\"axes\":[[\"x\",2]]},"
     "\"placements\":[\"_S(0,1000000000000)\"]}",
     NULL, ERROR_OUT_OF_RANGE},
    {"more ranks than fit a line",
     "{\"shape\":[8,8],\"mesh\":{\"axes\":[[\"x\",1048576]]},\"placements\":[\"R\"]}", NULL,
     ERROR_OUT_OF_RANGE},
};

static void answers(void **state)
{
    const Eval *row = *state;
    Arena *arena = arena_new();
    Source source = {.name = "request", .text = str_from(row->request)};
    Error err = {0};
    Json *request = json_parse(&source, &err), *answer = json_object();
    assert_non_null(request);
    assert_int_equal(eval_layout(arena, request, answer, &err), row->answer != NULL);
    if (row->answer) {
        Buf out = buf_new(arena);
        json_write(answer, &out);
        assert_string_equal(out.s, row->answer);
    } else {
        assert_string_equal(error_kind_name(err.kind), error_kind_name(row->kind));
    }
    json_free(answer);
    json_free(request);
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(chunks_of_runs),
};

int main(void)
{
    return run_rows("runs of cuts", cut_rows, runs_of_cuts) +
           run_rows("indices of cuts", cut_rows, finds_every_index) +
           run_rows("chunks of chunks", strided, chunks_of_chunks) +
           run_rows("eval layout", evals, answers) + cmocka_run_group_tests(tests, NULL, NULL);
}
