/* Who holds what, in letters and marks; grids of cells in any room; a mesh in two dims. */
#include "tests/unit/unit.h"

#include "tui/views/mesh_grid.h"
#include "core/summary/slices.h"

#include <inttypes.h>

static const Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {.name = "--mesh", .text = str_from(text)};
    const Mesh *mesh = mesh_parse(arena, &source, NULL);
    assert_non_null(mesh);
    return mesh;
}

static Slices slices_from(Arena *arena, const Mesh *mesh, const Shape *shape, const char *text)
{
    Source source = {.name = "sharding", .text = str_from(text)};
    Sharding *sharding = arena_make(arena, Sharding);
    Error err = {0};
    if (!sharding_parse(&source, shape, mesh, VIEW_OURS, sharding, &err))
        fail_msg("%s", err.text);
    return slices_of(sharding, mesh, (SubMesh){0});
}

/* ---- what each device's cell says, in the four forms ---- */

typedef struct {
    const char *name, *mesh, *sharding;
    const char *full, *number, *mark, *letter; /* of all positions, joined by blanks */
    const char *last;                          /* ranges of the last position */
    Shape shape;
} MarkRow;

static MarkRow mark_rows[] = {
    {"alone", "x=4", "8/x", "A B C D", "A B C D", "A B C D", "A B C D", "6:8", {1, {8}}},
    {"replicas",
     "dp=2,tp=2",
     "8/dp,4",
     "A= A= B= B=",
     "A= A= B= B=",
     "A= A= B= B=",
     "A A B B",
     "4:8,:",
     {2, {8, 4}}},
    {"addends",
     "dp=2,tp=2",
     "8/dp Σtp",
     "A Σ1/2 A Σ2/2 B Σ1/2 B Σ2/2",
     "AΣ1 AΣ2 BΣ1 BΣ2",
     "AΣ AΣ BΣ BΣ",
     "A A B B",
     "4:8",
     {1, {8}}},
    {"addends and replicas",
     "dp=2,tp=2",
     "8 Σtp",
     "A Σ1/2= A Σ2/2= A Σ1/2= A Σ2/2=",
     "AΣ1= AΣ2= AΣ1= AΣ2=",
     "AΣ AΣ AΣ AΣ",
     "A A A A",
     ":",
     {1, {8}}},
    {"uneven: the last is short",
     "x=4",
     "10/x",
     "A B C D~",
     "A B C D~",
     "A B C D~",
     "A B C D",
     "9:10",
     {1, {10}}},
    {"smaller than the axis: some hold nothing",
     "x=4",
     "2/x",
     "A B · ·",
     "A B · ·",
     "A B · ·",
     "A B · ·",
     "none",
     {1, {2}}},
    {"no elements", "x=2", "0/x", "· ·", "· ·", "· ·", "· ·", "none", {1, {0}}},
    {"in pieces", "x=2", "(3)(4/x)", "A' B'", "A' B'", "A' B'", "A B", "2:4+6:8+1 more", {1, {12}}},
    {"blocks of unequal width",
     "x=2",
     "(8|4)/x",
     "A' B'",
     "A' B'",
     "A' B'",
     "A B",
     "4:8+10:12",
     {1, {12}}},
    {"two digits cut",
     "dp=2,tp=2",
     "(4/dp)(6/tp)",
     "A' B' C' D'",
     "A' B' C' D'",
     "A' B' C' D'",
     "A B C D",
     "15:18+21:24",
     {1, {24}}},
    {"a scalar", "x=2", "scalar", "A= A=", "A= A=", "A= A=", "A A", "", {0, {0}}},
    {"a scalar's addends",
     "x=2",
     "scalar Σx",
     "A Σ1/2 A Σ2/2",
     "AΣ1 AΣ2",
     "AΣ AΣ",
     "A A",
     "",
     {0, {0}}},
    {"rank 5",
     "a=2,b=2",
     "2/a,3,1,4/b,5",
     "A B C D",
     "A B C D",
     "A B C D",
     "A B C D",
     "1:2,:,:,2:4,:",
     {5, {2, 3, 1, 4, 5}}},
    {"against mesh order",
     "a=2,b=2",
     "8/b.a",
     "A C B D",
     "A C B D",
     "A C B D",
     "A C B D",
     "6:8",
     {1, {8}}},
    {"one device", "x=1", "8", "A", "A", "A", "A", ":", {1, {8}}},
};

static void marks_say(void **state)
{
    const MarkRow *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    Slices slices = slices_from(arena, mesh, &row->shape, row->sharding);
    static const SliceForm forms[] = {SLICE_AS_FULL, SLICE_AS_NUMBER, SLICE_AS_MARK,
                                      SLICE_AS_LETTER};
    const char *want[] = {row->full, row->number, row->mark, row->letter};

    for (size_t form = 0; form < COUNT_OF(forms); form++) {
        Buf text = buf_new(arena);
        for (int64_t at = 0; at < mesh->n_devices; at++) {
            buf_puts(&text, at ? " " : "");
            slice_mark(&slices, at, forms[form], &text);
        }
        assert_string_equal(text.s, want[form]);
    }
    Buf ranges = buf_new(arena);
    slice_ranges(arena, &slices, mesh->n_devices - 1, &ranges);
    assert_string_equal(ranges.n ? ranges.s : "", row->last);
    arena_free(arena);
}

/* ---- pieces of a strided dim in the order of the dim ---- */

static void pieces_are_in_order(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=2,tp=4");
    Shape shape = {1, {24}};
    Slices slices = slices_from(arena, mesh, &shape, "(3)(8/tp)");
    Buf text = buf_new(arena), none = buf_new(arena);
    slice_pieces(arena, &slices, 0, 0, 12, &text);
    assert_string_equal(text.s, "ABCDABCDABCD");
    slice_pieces(arena, &slices, 0, 0, 11, &none);
    assert_int_equal(none.n, 0);
    shape = (Shape){1, {12}};
    slices = slices_from(arena, mesh, &shape, "(8|4)/tp");
    text.n = 0;
    slice_pieces(arena, &slices, 0, 0, 12, &text);
    assert_string_equal(text.s, "ABCDABCD");
    arena_free(arena);
}

/* ---- positions ---- */

static void slices_are_found_by_their_parts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "a=3,b=4,c=5");
    Shape shape = {3, {6, 20, 8}};
    Slices slices = slices_from(arena, mesh, &shape, "6/a,20/c.b,8");
    for (int64_t at = 0; at < mesh->n_devices; at++) {
        int64_t i = slice_part(&slices, 0, at), j = slice_part(&slices, 1, at);
        assert_int_equal(slice_at(&slices, 0, i, 1, j, 0), at);
        assert_int_equal(slice_at(&slices, -1, 0, -1, 0, at), at);
        assert_int_equal(slice_number(&slices, at), i * 20 + j);
    }
    arena_free(arena);
}

static void peers_are_cut_short(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=2,tp=4");
    Shape shape = {1, {8}};
    Slices slices = slices_from(arena, mesh, &shape, "8/dp");
    Buf all = buf_new(arena), few = buf_new(arena);
    slice_peers(&slices, 5, 8, &all);
    assert_string_equal(all.s, "d4 d6 d7");
    slice_peers(&slices, 5, 2, &few);
    assert_string_equal(few.s, "d4 d6 +1");
    arena_free(arena);
}

/* ---- cells in the room there is ---- */

typedef struct {
    const char *name;
    int64_t rows, columns;
    int w, h;
    TileForm form;
    int64_t block_h, block_w;
    int shown;
} FitRow;

static FitRow fit_rows[] = {
    {"full", 2, 4, 74, 9, TILE_FULL, 1, 1, 2},
    {"one line of frames", 2, 4, 40, 8, TILE_SHORT, 1, 1, 2},
    {"five columns", 8, 8, 41, 9, TILE_NUMBER, 1, 1, 8},
    {"three columns", 16, 16, 50, 16, TILE_MARK, 1, 1, 16},
    {"one column", 16, 64, 70, 16, TILE_LETTER, 1, 1, 16},
    {"rows scroll", 64, 16, 60, 10, TILE_MARK, 1, 1, 10},
    {"columns in blocks", 10, 100, 40, 10, TILE_LETTER, 1, 3, 10},
    {"very many rows in blocks", 3125, 32, 70, 10, TILE_LETTER, 313, 1, 10},
    {"a hundred thousand in a row", 1, 100000, 70, 5, TILE_LETTER, 1, 1429, 1},
    {"a hundred thousand down", 100000, 1, 70, 5, TILE_NUMBER, 20000, 1, 5},
    {"no room", 9, 9, 0, 0, TILE_LETTER, 1, 9, 1},
};

static void cells_fit(void **state)
{
    const FitRow *row = *state;
    Tiles tiles = tiles_fit(row->rows, row->columns, 3, row->w, row->h);
    assert_int_equal(tiles.form, row->form);
    assert_int_equal(tiles.block_h, row->block_h);
    assert_int_equal(tiles.block_w, row->block_w);
    assert_int_equal(tiles.shown, row->shown);
}

static void cells_of_any_size_stay_inside(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, 3, 7, 8, 64, 100, 1000, 100000};
    for (size_t r = 0; r < COUNT_OF(counts); r++)
        for (size_t c = 0; c < COUNT_OF(counts); c++)
            for (int w = 1; w <= 300; w += 13)
                for (int h = 1; h <= 100; h += 7) {
                    Tiles tiles = tiles_fit(counts[r], counts[c], 3, w, h);
                    assert_true(tiles_width(&tiles) <= w);
                    assert_true(tiles_height(&tiles, tiles.shown) <= h);
                    assert_true(tiles.shown >= 1);
                    assert_true(tiles.rows * tiles.block_h >= counts[r]);
                    assert_true(tiles.columns * tiles.block_w >= counts[c]);
                }
}

/* ---- a mesh in two dims and panels ---- */

typedef struct {
    const char *name, *mesh;
    int turn;
    int64_t most;
    int64_t rows, columns, panels;
    const char *panel; /* the last one's name */
} GridRow;

static GridRow grid_rows[] = {
    {"two axes", "dp=2,tp=4", 0, 80, 2, 4, 1, ""},
    {"turned", "dp=2,tp=4", 1, 80, 4, 2, 1, ""},
    {"one axis", "x=8", 0, 8, 1, 8, 1, ""},
    {"one axis in rows", "x=64", 0, 14, 8, 8, 1, ""},
    {"a prime axis", "x=7", 0, 4, 7, 1, 1, ""},
    {"three axes", "pp=2,dp=3,tp=4", 0, 80, 3, 4, 2, "pp 1"},
    {"three axes, the first down", "pp=2,dp=3,tp=4", 1, 80, 2, 4, 3, "dp 2"},
    {"four axes", "a=2,b=3,c=4,d=5", 0, 80, 4, 5, 6, "a 1 b 2"},
    {"an axis of size 1", "a=1,b=2,c=4", 0, 80, 2, 4, 1, ""},
    {"one device", "x=1", 0, 80, 1, 1, 1, ""},
};

static void a_grid_has_every_device_once(void **state)
{
    const GridRow *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    MeshGrid grid = mesh_grid(mesh, row->turn, row->most);
    Buf name = buf_new(arena);
    bool *seen = arena_array(arena, bool, mesh->n_devices);

    assert_int_equal(grid.n_rows, row->rows);
    assert_int_equal(grid.n_columns, row->columns);
    assert_int_equal(grid.n_panels, row->panels);
    mesh_grid_panel(&grid, grid.n_panels - 1, &name);
    assert_string_equal(name.n ? name.s : "", row->panel);
    for (int64_t at = 0; at < mesh->n_devices; at++) {
        int64_t p, r, c;
        mesh_grid_find(&grid, at, &p, &r, &c);
        assert_in_range(r, 0, grid.n_rows - 1);
        assert_in_range(c, 0, grid.n_columns - 1);
        assert_int_equal(mesh_grid_position(&grid, p, r, c), at);
        assert_false(seen[at]);
        seen[at] = true;
    }
    for (int turn = 0; turn < mesh_grid_turns(mesh); turn++) {
        MeshGrid other = mesh_grid(mesh, turn, row->most);
        assert_int_equal(other.n_rows * other.n_columns * other.n_panels, mesh->n_devices);
    }
    arena_free(arena);
}

static void groups_have_numbers(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=2,tp=4");
    assert_int_equal(mesh_group_number(mesh, mesh_axis_atoms(mesh, 1), 3), 0);
    assert_int_equal(mesh_group_number(mesh, mesh_axis_atoms(mesh, 1), 4), 1);
    assert_int_equal(mesh_group_number(mesh, mesh_axis_atoms(mesh, 0), 6), 2);
    arena_free(arena);
}

/* Against every device of the block. */
static void blocks_are_one_where_all_are_alike(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "dp=6,pp=2,tp=8");
    AtomSet all = (AtomSet)((1u << mesh->n_atoms) - 1);
    for (int turn = 0; turn < mesh_grid_turns(mesh); turn++) {
        MeshGrid grid = mesh_grid(mesh, turn, 80);
        for (AtomSet atoms = 0; atoms <= all; atoms++)
            for (int64_t step = 1; step <= 4; step++) {
                MeshBlock block = {step - 1, 2 * step, step, 3 * step};
                if (block.row >= grid.n_rows || block.column >= grid.n_columns)
                    continue;
                int64_t first = mesh_group_number(
                    mesh, all & ~atoms, mesh_grid_position(&grid, 0, block.row, block.column));
                bool one = true;
                for (int64_t r = block.row; r < block.row_end && r < grid.n_rows; r++)
                    for (int64_t c = block.column; c < block.column_end && c < grid.n_columns; c++)
                        one &= mesh_group_number(mesh, all & ~atoms,
                                                 mesh_grid_position(&grid, 0, r, c)) == first;
                assert_true(mesh_block_is_one(&grid, &block, atoms) == one);
            }
    }
    arena_free(arena);
}

/* Devices of another stage hold nothing, and are nobody's peers. */
static void a_part_of_the_mesh(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "pp=2,dp=2,tp=2");
    Shape shape = {2, {8, 4}};
    Slices whole = slices_from(arena, mesh, &shape, "8/dp,4");
    SubMesh part = {0};
    assert_true(submesh_fix(mesh, STR("pp"), 1, &part, NULL));
    Slices slices = slices_of(whole.sharding, mesh, part);
    Buf marks = buf_new(arena), peers = buf_new(arena);
    for (int64_t at = 0; at < mesh->n_devices; at++)
        slice_mark(&slices, at, SLICE_AS_NUMBER, &marks);
    assert_string_equal(marks.s, "····A=A=B=B=");
    slice_peers(&slices, 2, 8, &peers); /* as for d6 */
    assert_string_equal(peers.s, "d7");
    assert_int_equal(whole.n_copies, 4);
    assert_int_equal(slices.n_copies, 2);
    assert_int_equal(slice_elements(&slices, 0), 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_the_mesh),  cmocka_unit_test(blocks_are_one_where_all_are_alike),
        cmocka_unit_test(pieces_are_in_order), cmocka_unit_test(slices_are_found_by_their_parts),
        cmocka_unit_test(peers_are_cut_short), cmocka_unit_test(cells_of_any_size_stay_inside),
        cmocka_unit_test(groups_have_numbers),
    };
    int failed = run_rows("marks", mark_rows, marks_say);
    failed += run_rows("cells", fit_rows, cells_fit);
    failed += run_rows("grids", grid_rows, a_grid_has_every_device_once);
    return failed + cmocka_run_group_tests_name("slices", tests, NULL, NULL);
}
