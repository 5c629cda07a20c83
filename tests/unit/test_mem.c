/* What the Mem view draws from: bars, names of devices, columns of the graph, groups of values. */
#include "tests/unit/unit.h"

#include "core/model/onnx.h"
#include "scripts/hooks.h"
#include "tui/views/mem.h"

/* ---- a bar's columns ---- */

typedef struct {
    const char *name;
    int64_t by_class[MEMORY_CLASS_COUNT], whole;
    int columns;
    const char *bar;
} SplitRow;

static SplitRow split_rows[] = {
    {"halves", {50, 0, 0, 0, 50}, 100, 10, "PPPPPAAAAA"},
    {"with room left", {25, 0, 0, 0, 25}, 100, 8, "PPAA"},
    {"small ones show when they add up", {1, 1, 1, 1, 1, 1, 1}, 7, 7, "PGOIACB"},
    {"none", {0}, 100, 10, ""},
    {"nothing to fill", {5}, 0, 10, ""},
    {"more than the whole", {200}, 100, 4, "PPPP"},
    {"a tenth of a column", {1, 0, 0, 0, 99}, 100, 10, "AAAAAAAAAA"},
};

static void bars_are_split(void **state)
{
    const SplitRow *row = *state;
    int part[MEMORY_CLASS_COUNT], n = 0;
    char bar[80] = "";
    mem_split(row->by_class, row->whole, row->columns, part);
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
        for (int i = 0; i < part[c]; i++)
            bar[n++] = mem_class_letter((MemoryClass)c);
    assert_string_equal(bar, row->bar);
}

/* ---- names of groups of devices ---- */

typedef struct {
    const char *name, *mesh;
    const char *ranks; /* a digit each: its group */
    int at, most;
    const char *devices, *box;
} DevicesRow;

static DevicesRow devices_rows[] = {
    {"all", "dp=2,tp=4", "00000000", 0, 40, "d0..d7 ×8", ""},
    {"one", "dp=4", "0001", 1, 40, "d3", "dp 3"},
    {"two", "dp=4", "0011", 1, 40, "d2 d3 ×2", "dp 2..3"},
    {"a column of the mesh", "dp=2,tp=4", "00010001", 1, 40, "d3 d7 ×2", "tp 3"},
    {"the others", "dp=2,tp=4", "00010001", 0, 40, "d0..d2 d4..d6 ×6", "tp 0..2"},
    {"with little room", "dp=2,tp=4", "00010001", 0, 16, "d0..d2 .. ×6", "tp 0..2"},
    {"no box", "dp=2,tp=2", "0110", 1, 40, "d1 d2 ×2", ""},
    {"a gap in an axis", "dp=3", "010", 0, 40, "d0 d2 ×2", ""},
};

static void devices_are_named(void **state)
{
    const DevicesRow *row = *state;
    Arena *arena = arena_new();
    Source source = {.name = "-m", .text = str_from(row->mesh)};
    Error err = {0};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    assert_non_null(mesh);
    int32_t *group = arena_array(arena, int32_t, mesh->n_devices);
    RankMemory *at = arena_array(arena, RankMemory, 10);
    for (int64_t rank = 0; rank < mesh->n_devices; rank++) {
        group[rank] = row->ranks[rank] - '0';
        at[group[rank]].n_ranks++;
    }
    Mem mem = {.ranks = {.n = 10, .at = at, .of_rank = group}};
    Buf devices = buf_new(arena), box = buf_new(arena);
    mem_format_devices(&mem, row->at, mesh->n_devices, row->most, &devices);
    mem_format_box(&mem, row->at, mesh, &box);
    assert_string_equal(devices.s, row->devices);
    assert_string_equal(box.n > 0 ? box.s : "", row->box);
    arena_free(arena);
}

/* ---- columns of the graph ---- */

static void a_column_is_the_most_of_its_places(void **state)
{
    (void)state;
    int64_t live[] = {1, 5, 2, 7, 3, 4, 6};
    MemoryUse use = {.live_bytes = live};
    assert_int_equal(mem_column(&use, 7, 0, 7), 1);
    assert_int_equal(mem_column(&use, 7, 6, 7), 6);
    assert_int_equal(mem_column(&use, 7, 0, 2), 5);
    assert_int_equal(mem_column(&use, 7, 1, 2), 7);
    int64_t most = 0;
    for (int c = 0; c < 3; c++)
        most = mem_column(&use, 7, c, 3) > most ? mem_column(&use, 7, c, 3) : most;
    assert_int_equal(most, 7);
    for (int c = 0; c < 14; c++) /* more columns than places: each shows one */
        assert_int_equal(mem_column(&use, 7, c, 14), live[c / 2]);
}

/* ---- the tree of live values ---- */

static Session *open_tiny(Scripts *scripts)
{
    static SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                                     .mesh = "dp=2,tp=4",
                                     .policy = "scripts/policies/megatron.lua"};
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

/* Rows of one depth below a row add up to it, whatever is opened, in every grouping. */
static void check_sums(const Mem *mem)
{
    int64_t roots = 0;
    for (int i = 0; i < mem->n_rows; i++) {
        int64_t below = 0;
        int values = 0;
        roots += mem->row[i].parent < 0 ? mem->row[i].bytes : 0;
        for (int j = i + 1; j < mem->n_rows; j++) {
            below += mem->row[j].parent == i ? mem->row[j].bytes : 0;
            values += mem->row[j].parent == i ? mem->row[j].n : 0;
        }
        if (mem->row[i].open) {
            assert_int_equal(below, mem->row[i].bytes);
            assert_int_equal(values, mem->row[i].n);
        }
    }
    assert_int_equal(roots, mem->live.bytes);
}

static void rows_add_up(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    Session *session = open_tiny(scripts);
    Mem mem;
    mem_open(&mem, arena);
    for (int grouping = 0; grouping < MEM_GROUPING_COUNT; grouping++) {
        mem_count(&mem, session, NULL);
        mem_set_grouping(&mem, (MemGrouping)grouping);
        mem_list(&mem, session, NULL);
        check_sums(&mem);
        for (int i = 0; i < mem.n_rows; i++) {
            if (mem.row[i].leaf || mem.row[i].open)
                continue;
            mem_toggle(&mem, i);
            mem_list(&mem, session, NULL);
            check_sums(&mem);
        }
    }
    mem_forget(&mem);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

static void values_alike_are_within_their_row(void **state)
{
    (void)state;
    enum { MOST = 100 };
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    Session *session = open_tiny(scripts);
    MemAlike alike[MOST];
    Mem mem;
    mem_open(&mem, arena);
    int n = mem_equal_values(arena, &mem, session, NULL, MOST, alike);
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        assert_true(i == 0 || alike[i].bytes <= alike[i - 1].bytes);
        bytes += alike[i].bytes;
    }
    assert_int_equal(bytes, mem.live.bytes - mem.live.by_class[MEMORY_BUFFER]);
    for (int r = 0; r < mem.n_rows; r++) {
        n = mem_equal_values(arena, &mem, session, &mem.row[r], MOST, alike);
        bytes = 0;
        for (int i = 0; i < n; i++)
            bytes += alike[i].bytes;
        assert_int_equal(bytes, mem.row[r].bytes);
        assert_true(!mem.row[r].leaf || n == 1);
    }
    mem_forget(&mem);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* The time cursor stays in the program, and on the peak's place it follows the peak. */
static void time_moves_within_the_step(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    Session *session = open_tiny(scripts);
    Mem mem;
    mem_open(&mem, arena);
    mem_list(&mem, session, NULL);
    int peak = mem_place(&mem);
    mem_move_time(&mem, -100000);
    assert_int_equal(mem_place(&mem), 0);
    mem_list(&mem, session, NULL);
    assert_int_equal(mem.live.bytes, mem_ranks(&mem)->use.live_bytes[0]);
    mem_move_time(&mem, 100000);
    assert_int_equal(mem_place(&mem), session->inferred->n_program - 1);
    mem_move_time(&mem, peak - mem_place(&mem));
    assert_int_equal(mem.place, -1);
    mem_forget(&mem);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_is_the_most_of_its_places),
        cmocka_unit_test(rows_add_up),
        cmocka_unit_test(values_alike_are_within_their_row),
        cmocka_unit_test(time_moves_within_the_step),
    };
    int failed = run_rows("bars", split_rows, bars_are_split);
    failed += run_rows("devices", devices_rows, devices_are_named);
    return failed + cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
