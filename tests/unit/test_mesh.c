/* Meshes: their texts, and the arithmetic of positions. */
#include "tests/unit/unit.h"

#include "core/layout/mesh.h"

static Mesh *parse(Arena *arena, const char *text, Error *err)
{
    Source source = {.name = "--mesh", .text = str_from(text)};
    return mesh_parse(arena, &source, err);
}

static Mesh *mesh_of(Arena *arena, const char *text)
{
    Mesh *mesh = parse(arena, text, NULL);
    assert_non_null(mesh);
    return mesh;
}

static const char *print(Arena *arena, const Mesh *mesh)
{
    Buf out = buf_new(arena);
    mesh_format(mesh, &out);
    return out.s;
}

/* ---- texts ---- */

typedef struct {
    const char *name, *text, *printed;
    int n_axes, n_atoms, n_devices;
} Good;

static Good good[] = {
    {"sizes", "dp=2,tp=4", "dp=2,tp=4", 2, 3, 8},
    {"blanks", " dp = 2 ,\ttp = 4 ", "dp=2,tp=4", 2, 3, 8},
    {"lists", "[[0,1],[2,3]]", "x0=2,x1=2", 2, 2, 4},
    {"one list", "[0,1,2]", "x0=3", 1, 1, 3},
    {"named lists", "dp,tp=[[0,1],[2,3]]", "dp=2,tp=2", 2, 2, 4},
    {"one name", "dp=[0,1]", "dp=2", 1, 1, 2},
    {"devices in another order", "dp,tp=[[0,2],[1,3]]", "dp,tp=[[0,2],[1,3]]", 2, 2, 4},
    {"part of the devices", "[[4,5],[6,7]]", "x0,x1=[[4,5],[6,7]]", 2, 2, 4},
    {"three levels", "[[[1],[0]],[[3],[2]]]", "x0,x1,x2=[[[1],[0]],[[3],[2]]]", 3, 2, 4},
    {"size 1", "dp=1", "dp=1", 1, 0, 1},
    {"a prime", "dp=1048573", "dp=1048573", 1, 1, 1048573},
    {"a million", "dp=1000000", "dp=1000000", 1, 12, 1000000},
    {"the most", "dp=1048576", "dp=1048576", 1, 20, 1048576},
    {"eight axes", "a=2,b=1,c=2,d=1,e=2,f=1,g=2,h=3", "a=2,b=1,c=2,d=1,e=2,f=1,g=2,h=3", 8, 5, 48},
};

static void reads(void **state)
{
    const Good *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->text);
    assert_int_equal(mesh->n_axes, row->n_axes);
    assert_int_equal(mesh->n_atoms, row->n_atoms);
    assert_int_equal(mesh->n_devices, row->n_devices);
    assert_string_equal(print(arena, mesh), row->printed);
    assert_string_equal(print(arena, mesh_of(arena, row->printed)), row->printed);
    arena_free(arena);
}

typedef struct {
    const char *name, *text;
    ErrorKind kind;
    int column;
} Bad;

static Bad bad[] = {
    {"nothing", "", ERROR_SYNTAX, 1},
    {"no size", "dp", ERROR_SYNTAX, 3},
    {"a comma too many", "dp=2,", ERROR_SYNTAX, 6},
    {"no comma", "dp=2 tp=4", ERROR_SYNTAX, 6},
    {"size 0", "dp=2,tp=0", ERROR_OUT_OF_RANGE, 6},
    {"a negative size", "dp=-1", ERROR_OUT_OF_RANGE, 1},
    {"beyond 64 bits", "dp=99999999999999999999", ERROR_OUT_OF_RANGE, 4},
    {"too many devices", "dp=1048577", ERROR_OUT_OF_RANGE, 1},
    {"too many devices together", "dp=1024,tp=1025", ERROR_OUT_OF_RANGE, 9},
    {"a product beyond 64 bits", "a=9223372036854775807,b=3", ERROR_OUT_OF_RANGE, 1},
    {"an axis twice", "dp=2,dp=2", ERROR_DUPLICATE, 6},
    {"a ninth axis", "a=2,b=2,c=2,d=2,e=2,f=2,g=2,h=2,i=2", ERROR_OUT_OF_RANGE, 33},
    {"a ninth name", "a,b,c,d,e,f,g,h,i=[0]", ERROR_OUT_OF_RANGE, 17},
    {"an empty list", "[]", ERROR_SYNTAX, 2},
    {"a list open", "[[0,1]", ERROR_SYNTAX, 7},
    {"ragged", "[[0,1],[2]]", ERROR_INVALID, 10},
    {"a device beside a list", "[[0,1],2]", ERROR_INVALID, 8},
    {"a list beside a device", "[0,[1]]", ERROR_INVALID, 4},
    {"too deep", "[[[[[[[[[0]]]]]]]]]", ERROR_OUT_OF_RANGE, 9},
    {"a device twice", "[[0,1],[2,0]]", ERROR_DUPLICATE, 11},
    {"a negative device", "[-1]", ERROR_OUT_OF_RANGE, 2},
    {"a device too high", "[1048576]", ERROR_OUT_OF_RANGE, 2},
    {"more names than levels", "a,b=[0,1]", ERROR_RANK, 1},
    {"fewer names than levels", "a=[[0,1]]", ERROR_RANK, 1},
    {"a name twice for lists", "a,a=[[0]]", ERROR_DUPLICATE, 3},
    {"names without lists", "a,b=2", ERROR_RANK, 1},
};

static void refuses(void **state)
{
    const Bad *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    assert_null(parse(arena, row->text, &err));
    assert_string_equal(error_kind_name(err.kind), error_kind_name(row->kind));
    assert_string_equal(err.file, "--mesh");
    assert_int_equal(err.column, row->column);
    assert_null(parse(arena, row->text, NULL));
    arena_free(arena);
}

/* ---- positions ---- */

static void counts_positions(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=2,tp=12");
    assert_int_equal(mesh_coord(mesh, 0, 17), 1);
    assert_int_equal(mesh_coord(mesh, 1, 17), 5);

    const MeshAtom *atoms = mesh->atoms; /* tp is 2, 2, 3: 5 = (0*2 + 1)*3 + 2 */
    assert_int_equal(atoms[1].size * atoms[2].size * atoms[3].size, 12);
    assert_int_equal(atoms[3].pre, 4);
    assert_int_equal(atoms[1].stride, 6);
    assert_int_equal(mesh_atom_coord(mesh, 1, 17), 0);
    assert_int_equal(mesh_atom_coord(mesh, 2, 17), 1);
    assert_int_equal(mesh_atom_coord(mesh, 3, 17), 2);
    assert_int_equal(mesh_axis_atoms(mesh, 1), 0xE);
    assert_int_equal(mesh_atoms_size(mesh, 0xE), 12);
    assert_int_equal(mesh_atoms_size(mesh, 0), 1);
    arena_free(arena);
}

/* Members of a group differ in its atoms only, come in their order, and are all of them. */
static void lists_groups(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "a=4,b=3,c=2");
    for (AtomSet atoms = 0; atoms < 1u << mesh->n_atoms; atoms++)
        for (int position = 0; position < mesh->n_devices; position++) {
            int64_t before = -1, n = mesh_atoms_size(mesh, atoms);
            bool self = false;
            for (int64_t i = 0; i < n; i++) {
                int64_t member = mesh_group_member(mesh, atoms, position, i);
                assert_true(member > before && member < mesh->n_devices);
                for (int atom = 0; atom < mesh->n_atoms; atom++)
                    assert_true((atoms >> atom & 1) || mesh_atom_coord(mesh, atom, member) ==
                                                           mesh_atom_coord(mesh, atom, position));
                self |= member == position;
                before = member;
            }
            assert_true(self);
        }
    arena_free(arena);
}

static void knows_devices(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    assert_int_equal(mesh_device(mesh_of(arena, "dp=2,tp=4"), 5), 5);
    assert_int_equal(mesh_device(mesh_of(arena, "[[0,2],[1,3]]"), 1), 2);
    assert_null(mesh_of(arena, "[[0,1],[2,3]]")->devices);
    arena_free(arena);
}

/* ---- lists of atoms ---- */

typedef struct {
    const char *name, *text, *printed;
    ErrorKind kind; /* when printed is NULL */
} Atoms;

static Atoms atom_lists[] = {
    {"whole", "tp", "tp", 0},
    {"whole, as a part", "tp:(1)8", "tp", 0},
    {"the major part", "tp:(1)2", "tp:(1)2", 0},
    {"the middle part", "tp:(2)2", "tp:(2)2", 0},
    {"parts that meet", "tp:(1)2 tp:(2)4", "tp", 0},
    {"parts that meet in part", "tp:(2)2 tp:(4)2", "tp:(2)4", 0},
    {"parts the other way round", "tp:(4)2 tp:(2)2", "tp:(4)2.tp:(2)2", 0},
    {"two axes", "dp tp", "dp.tp", 0},
    {"an axis between", "tp:(1)2 dp tp:(2)4", "tp:(1)2.dp.tp:(2)4", 0},
    {"size 1", "one", "", 0},
    {"unknown", "ep", NULL, ERROR_UNBOUND},
    {"twice", "dp dp", NULL, ERROR_CONFLICT},
    {"overlapping", "tp:(1)4 tp:(2)2", NULL, ERROR_CONFLICT},
    {"no such border", "tp:(3)2", NULL, ERROR_NOT_DIVISIBLE},
    {"no such size", "tp:(1)3", NULL, ERROR_NOT_DIVISIBLE},
    {"too long", "tp:(4)4", NULL, ERROR_NOT_DIVISIBLE},
    {"of size 1", "tp:(2)1", NULL, ERROR_NOT_DIVISIBLE},
    {"half written", "tp:(1", NULL, ERROR_SYNTAX},
};

static void lists_atoms(void **state)
{
    const Atoms *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=2,one=1,tp=8");
    Source source = {.name = "atoms", .text = str_from(row->text)};
    Error err = {0};
    Scan scan = scan_begin(&source, &err);
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    bool fine = true;
    while (fine && scan_peek(&scan) != '\0')
        fine = mesh_parse_atoms(mesh, &scan, atom, &n);
    assert_int_equal(fine, row->printed != NULL);
    if (fine) {
        Buf out = buf_new(arena);
        mesh_format_atoms(mesh, atom, n, ".", &out);
        assert_string_equal(out.s, row->printed);
    } else {
        assert_string_equal(error_kind_name(err.kind), error_kind_name(row->kind));
        assert_int_equal(err.line, 1);
    }
    arena_free(arena);
}

static void hints_the_nearest(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "data=2,model=8");
    Error err = {0};
    assert_int_equal(mesh_need_axis(mesh, STR("model"), &err), 1);
    assert_int_equal(mesh_need_axis(mesh, STR("mdel"), &err), -1);
    assert_non_null(strstr(err.hint, "'model'"));
    arena_free(arena);
}

/* ---- JSON ---- */

typedef struct {
    const char *name, *json, *printed;
    ErrorKind kind;
} FromJson;

static FromJson jsons[] = {
    {"axes", "{\"axes\":[[\"x\",2],[\"y\",4]]}", "x=2,y=4", 0},
    {"devices", "{\"axes\":[[\"x\",2]],\"devices\":[1,0]}", "x=[1,0]", 0},
    {"devices in order", "{\"axes\":[[\"x\",2]],\"devices\":[0,1]}", "x=2", 0},
    {"none", "{\"axes\":[]}", "", 0},
    {"no axes", "{}", NULL, ERROR_INVALID},
    {"a size that is none", "{\"axes\":[[\"x\",\"2\"]]}", NULL, ERROR_OUT_OF_RANGE},
    {"a name that is none", "{\"axes\":[[\"x y\",2]]}", NULL, ERROR_INVALID},
    {"too few devices", "{\"axes\":[[\"x\",2]],\"devices\":[0]}", NULL, ERROR_RANK},
    {"a device twice", "{\"axes\":[[\"x\",2]],\"devices\":[1,1]}", NULL, ERROR_DUPLICATE},
};

static void reads_json(void **state)
{
    const FromJson *row = *state;
    Arena *arena = arena_new();
    Source source = {.name = "json", .text = str_from(row->json)};
    Error err = {0};
    Json *json = json_parse(&source, &err);
    assert_non_null(json);
    const Mesh *mesh = mesh_from_json(arena, json, &err);
    assert_int_equal(mesh != NULL, row->printed != NULL);
    if (mesh)
        assert_string_equal(print(arena, mesh), row->printed);
    else
        assert_string_equal(error_kind_name(err.kind), error_kind_name(row->kind));
    json_free(json);
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(counts_positions),
    cmocka_unit_test(lists_groups),
    cmocka_unit_test(knows_devices),
    cmocka_unit_test(hints_the_nearest),
};

int main(void)
{
    return run_rows("mesh", good, reads) + run_rows("mesh errors", bad, refuses) +
           run_rows("atoms", atom_lists, lists_atoms) + run_rows("mesh json", jsons, reads_json) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
