/* Tables of text: columns are as wide as what they hold, and cut what is too wide. */
#include "tests/unit/unit.h"

#include "core/base/table.h"

typedef struct {
    const char *name;
    int most; /* of the first column */
    const char *cells[4], *want;
} Case;

static Case cases[] = {
    {"aligned", 0, {"a", "1", "bcd", "23"}, "A     B\na     1\nbcd  23\n"},
    {"a heading is wide", -9, {"1", "x", "2", "y"}, "A  B\n1  x\n2  y\n"},
    {"to the right", -9, {"1", "x", "234", "y"}, "  A  B\n  1  x\n234  y\n"},
    {"cut at the end", 4, {"abcdef", "x", "abcd", "y"}, "A     B\nabc…  x\nabcd  y\n"},
    {"wide characters", 4, {"漢字", "x", "漢字漢", "y"}, "A     B\n漢字  x\n漢…   y\n"},
    {"nothing at the end", 0, {"abc", "", "d", ""}, "A    B\nabc\nd\n"},
};

static void a_table_is_as_wide_as_it_must(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    TableColumn columns[] = {{"A", row->most}, {"B", row->most < 0 ? 0 : -9}};
    Table *table = table_new(arena, columns, 2);
    for (int i = 0; i < 4; i++)
        table_cell(table, str_from(row->cells[i]));
    Buf out = buf_new(arena);
    table_format(table, "", &out);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

typedef struct {
    const char *name;
    int indent;
    const char *path, *want;
} PathCase;

static PathCase path_cases[] = {
    {"fits", 2, "mlp.c_fc", "|   mlp.c_fc\n"},
    {"keeps its end", 2, "transformer.mlp.c_fc", "|   …mlp.c_fc\n"},
    {"between characters", 0, "漢字漢字漢字漢字", "| 漢字漢…漢字\n"},
    {"no room", 20, "mlp.c_fc", "|                     …\n"},
};

static void a_path_keeps_its_end(void **state)
{
    const PathCase *row = *state;
    Arena *arena = arena_new();
    const TableColumn columns[] = {{NULL, 0}};
    Table *table = table_new(arena, columns, 1);
    table_name(table, row->indent, str_from(row->path), 11);
    Buf out = buf_new(arena);
    table_format(table, "| ", &out);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

int main(void)
{
    return run_rows("table", cases, a_table_is_as_wide_as_it_must) +
           run_rows("path", path_cases, a_path_keeps_its_end);
}
