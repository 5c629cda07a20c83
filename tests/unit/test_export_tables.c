/* Tables of a plan: every one is written as data that programs read back, and its numbers are those
 * of the plan. */
#include "core/cost/memory_class.h"
#include "tests/unit/opened.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/summary/slices.h"
#include "core/plan/stage.h"
#include "tests/unit/hostile.h"
#include "tui/cli/help.h"
#include "viz/report/tables.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    const char *name, *model, *mesh, *policy;
} Case;

static Case cases[] = {
    {"tiny-gpt", "samples/models/tiny-gpt.onnx", "dp=2,tp=4", "megatron"},
    {"llama-tiny", "samples/models/llama-tiny.onnx", "dp=2,tp=2", "megatron"},
    {"stages", "samples/models/tiny-gpt.onnx", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"one device", "samples/models/tiny-conv.onnx", "x=1", NULL},
};

static Opened open_case(const Case *row)
{
    return open_options(
        &(SessionOptions){.model = row->model, .mesh = row->mesh, .policy = row->policy});
}

static Json *export_json(const Opened *f, const char *table, Error *err)
{
    ExportRequest request = {.drawing = {.session = f->session}, .table = table};
    ExportNotes notes = {.arena = f->arena};
    Buf out = buf_new(f->arena);
    if (!tables_json(&request, &out, &notes, err))
        return NULL;
    assert_int_equal(notes.at.n, 0);
    Source source = {"export", buf_str(&out)};
    Json *root = json_parse(&source, err);
    assert_non_null(root);
    return root;
}

static int64_t elements(const char *shape)
{
    int64_t n = 1;
    for (char *at = (char *)(uintptr_t)shape + 1; *at && *at != ']'; at += *at == ',')
        n *= strtoll(at, &at, 10);
    return n;
}

/* Each device that has a part of a tensor is there once, with as many elements as its slice. */
static void parts_are_the_slices_of_the_plan(void **state)
{
    Opened f = open_case(*state);
    Error err = {0};
    Json *root = export_json(&f, "parts", &err), *rows = json_get(root, "rows");
    const Plan *plan = f.session->plan;
    assert_true(json_size(rows) > 0);
    int64_t last = -1;
    int32_t before = -1;
    for (int i = 0; i < json_size(rows); i++) {
        Json *row = json_at(rows, i);
        int32_t tensor = graph_find_tensor(f.session->graph, json_str(json_get(row, "tensor"), ""));
        int64_t device = json_int(json_get(row, "device"), -1);
        assert_true(tensor >= 0 && device >= 0);
        assert_true(tensor > before || (tensor == before && device > last));
        Slices slices = slices_of(plan_sharding(plan, tensor), f.session->mesh, (SubMesh){0, 0});
        assert_int_equal(elements(json_str(json_get(row, "local_shape"), "").s),
                         slice_elements(&slices, device));
        assert_int_equal(elements(json_str(json_get(row, "global_shape"), "").s),
                         shape_elements(inferred_shape(plan->inferred, tensor)));
        before = tensor;
        last = device;
    }
    json_free(root);
    close_opened(&f);
}

/* ---- all ---- */

static double sum_of(Json *rows, const char *column, const char *where, const char *is)
{
    double sum = 0;
    for (int i = 0; i < json_size(rows); i++)
        if (!where || str_eq(json_str(json_get(json_at(rows, i), where), ""), str_from(is)))
            sum += json_real(json_get(json_at(rows, i), column), NAN);
    return sum;
}

static void near(double a, double b)
{
    if (fabs(a - b) > 1e-9 * (1 + fabs(a) + fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static Json *rows_of(Json *tables, const char *name)
{
    Json *rows = json_get(json_get(tables, name), "rows");
    assert_true(json_is_array(rows));
    return rows;
}

/* Every table has its columns, its rows have just these, and numbers are numbers or not known. */
static void rows_have_the_columns_of_their_table(void **state)
{
    Opened f = open_case(*state);
    Error err = {0};
    Json *root = export_json(&f, NULL, &err), *tables = json_get(root, "tables");
    int n = 0;
    for (const PlanTable *const *table = plan_tables; *table; table++, n++) {
        Json *columns = json_get(json_get(tables, (*table)->name), "columns");
        Json *rows = rows_of(tables, (*table)->name);
        for (int r = 0; r < json_size(rows); r++) {
            int c = 0;
            for (const SheetColumn *column = (*table)->columns; column->name; column++, c++) {
                Json *cell = json_get(json_at(rows, r), column->name);
                assert_true(str_eq(json_str(json_at(columns, c), ""), str_from(column->name)));
                assert_true(column->number ? json_is_number(cell) || json_is_null(cell)
                                           : json_is_string(cell));
            }
            assert_int_equal(json_size(json_at(rows, r)), c);
            assert_int_equal(json_size(columns), c);
        }
    }
    assert_int_equal(json_size(tables), n);
    json_free(root);
    close_opened(&f);
}

/* Times and bytes add up to the plan's totals, whichever table they are read from. */
static void sums_are_the_totals_of_the_plan(void **state)
{
    Opened f = open_case(*state);
    Error err = {0};
    const Plan *plan = f.session->plan;
    Json *root = export_json(&f, NULL, &err), *tables = json_get(root, "tables");
    near(sum_of(rows_of(tables, "ops"), "total_us", NULL, NULL), plan->priced->totals.compute_us);
    near(sum_of(rows_of(tables, "operators"), "us", NULL, NULL), plan->priced->totals.compute_us);
    near(sum_of(rows_of(tables, "reshards"), "total_us", NULL, NULL), plan->priced->totals.comm_us);
    near(sum_of(rows_of(tables, "steps"), "us", NULL, NULL), plan->priced->totals.comm_us);
    near(sum_of(rows_of(tables, "collectives"), "total_us", NULL, NULL),
         plan->priced->totals.comm_us);
    near(sum_of(rows_of(tables, "collectives"), "times", NULL, NULL), plan->moved->n_reshards);
    near(sum_of(rows_of(tables, "operators"), "ops", NULL, NULL), f.session->inferred->n_program);
    assert_int_equal(json_size(rows_of(tables, "devices")), f.session->mesh->n_devices);
    near(sum_of(rows_of(tables, "memory"), "n_devices", NULL, NULL),
         (double)f.session->mesh->n_devices);
    near(sum_of(rows_of(tables, "live"), "bytes", NULL, NULL),
         (double)plan->priced->totals.peak_bytes);
    assert_int_equal(json_size(rows_of(tables, "decisions")), f.session->journal.n_done);
    assert_int_equal(json_size(rows_of(tables, "findings")), plan->findings.n + f.session->notes.n);
    assert_int_equal(json_size(rows_of(tables, "stages")),
                     plan->decided->stages ? plan->decided->stages->n : 0);
    assert_int_equal(json_size(rows_of(tables, "mesh")), f.session->mesh->n_axes);
    json_free(root);
    close_opened(&f);
}

/* A folded row is the sum of the groups it stands for: the groups of a level, and the ops that are
 * in none of them, come to the level above. */
static void layers_hold_what_their_groups_hold(void **state)
{
    Opened f = open_case(*state);
    Error err = {0};
    Json *root = export_json(&f, "layers", &err), *rows = json_get(root, "rows");
    const Groups *groups = f.session->groups;
    double ops = 0, us = 0;
    for (int i = 0; i < json_size(rows); i++) {
        Json *row = json_at(rows, i);
        int64_t depth = json_int(json_get(row, "depth"), -1);
        ops += depth == 1 ? json_real(json_get(row, "ops"), NAN) : 0;
        us += depth == 1 ? json_real(json_get(row, "us"), NAN) : 0;
        double inside = 0;
        for (int j = i + 1; j < json_size(rows); j++) {
            int64_t below = json_int(json_get(json_at(rows, j), "depth"), -1);
            if (below <= depth)
                break;
            inside += below == depth + 1 ? json_real(json_get(json_at(rows, j), "us"), NAN) : 0;
        }
        assert_true(inside <= json_real(json_get(row, "us"), NAN) * (1 + 1e-9));
    }
    for (int32_t i = 0; i < groups->n_order; i++)
        if (groups->group_of[groups->order[i]] == 0) {
            ops++;
            us += f.session->plan->priced->op_us[groups->order[i]];
        }
    near(ops, groups->n_order);
    near(us, f.session->plan->priced->totals.compute_us);
    json_free(root);
    close_opened(&f);
}

/* ---- files ---- */

static void a_folder_has_a_file_for_every_table(void **state)
{
    (void)state;
    Opened f = open_case(&cases[0]);
    char path[] = "/tmp/dimscope-tables-XXXXXX";
    assert_non_null(mkdtemp(path));
    const char *folder = path_join(f.arena, path, "new/");
    ExportRequest request = {.drawing = {.session = f.session}};
    ExportNotes notes = {.arena = f.arena};
    Error err = {0};
    for (int again = 0; again < 2; again++)
        assert_true(
            export_file(&request, export_format_find(STR("csv"), false), folder, &notes, &err));
    for (const PlanTable *const *table = plan_tables; *table; table++) {
        const char *name = arena_printf(f.arena, "%s%s.csv", folder, (*table)->name);
        Source text;
        assert_true(file_read(f.arena, name, 1 << 24, &text, &err));
        assert_true(str_starts(text.text, str_from((*table)->columns[0].name)));
        assert_int_equal(unlink(name), 0);
    }
    assert_int_equal(rmdir(folder), 0); /* nothing else was in it */
    assert_int_equal(rmdir(path), 0);
    close_opened(&f);
}

static void a_name_that_is_no_table_is_told_the_tables(void **state)
{
    (void)state;
    Opened f = open_case(&cases[0]);
    static const char *const rows[][2] = {{NULL, "a csv file holds only one table"},
                                          {"op", "unknown table 'op'"},
                                          {"", "unknown table ''"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ExportRequest request = {.drawing = {.session = f.session}, .table = rows[i][0]};
        ExportNotes notes = {.arena = f.arena};
        Buf out = buf_new(f.arena);
        Error err = {0};
        assert_false(tables_csv(&request, &out, &notes, &err));
        assert_string_equal(err.text, rows[i][1]);
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_non_null(strstr(err.hint, "summary, findings"));
        assert_non_null(strstr(err.hint, "schedule"));
        assert_int_equal(out.n, 0);
    }
    close_opened(&f);
}

/* ---- limits ---- */

/* By its name it is an error that counts the rows; among all it is left out, which is said. */
static void what_is_too_large_is_said(void **state)
{
    (void)state;
    Case many = {"many devices", "samples/models/tiny-gpt.onnx", "dp=65536", NULL};
    Opened f = open_case(&many);
    ExportRequest request = {.drawing = {.session = f.session}, .table = "parts"};
    ExportNotes notes = {.arena = f.arena};
    Buf out = buf_new(f.arena);
    Error err = {0};
    assert_false(tables_csv(&request, &out, &notes, &err));
    assert_int_equal(err.kind, ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "the table 'parts' would have "));
    request.table = NULL;
    assert_true(tables_json(&request, &out, &notes, NULL));
    assert_true(notes.at.n >= 1 && strstr(notes.at.at[0], "left out"));
    assert_true(str_find(buf_str(&out), STR("\"parts\":")) < 0);
    assert_true(str_find(buf_str(&out), STR("\"tensors\":")) > 0);
    close_opened(&f);
}

/* ORDER MEMORY_CLASS */
static void memory_has_a_column_for_every_class(void **state)
{
    (void)state;
    Error err = {0};
    const SheetColumn *column = plan_table_find(STR("memory"), &err)->columns;
    while (strcmp(column->name, "peak_op") != 0)
        column++;
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++) {
        const char *class = memory_class_name((MemoryClass)c);
        assert_true(str_starts(str_from((++column)->name), str_from(class)));
        assert_string_equal(column->name + strlen(class), "_bytes");
    }
    assert_null((column + 1)->name);
}

/* ---- names ---- */

/* The cells of a line of RFC 4180, whatever stands in them. */
static Str csv_cell(Str *rest, Arena *arena)
{
    Buf cell = buf_new(arena);
    bool quoted = rest->n > 0 && rest->s[0] == '"';
    size_t i = quoted;
    for (; i < rest->n; i++) {
        bool quote = rest->s[i] == '"';
        if (quoted && quote && i + 1 < rest->n && rest->s[i + 1] == '"')
            i++;
        else if (quoted ? quote : rest->s[i] == ',' || rest->s[i] == '\n')
            break;
        else
            assert_true(quoted || !quote);
        buf_putc(&cell, rest->s[i]);
    }
    i += quoted;
    assert_true(i < rest->n && (rest->s[i] == ',' || rest->s[i] == '\n'));
    *rest = (Str){rest->s + i + 1, rest->n - i - 1};
    return buf_str(&cell);
}

static void names_stay_in_their_cells(void **state)
{
    (void)state;
    Opened f = {.arena = arena_new()};
    f.session = hostile_session(f.arena, &f.scripts);
    for (const PlanTable *const *table = plan_tables; *table; table++) {
        Sheet sheet = {.arena = f.arena};
        Error err = {0};
        assert_true(plan_table_fill(*table, f.session, &sheet, &err));
        assert_int_equal(sheet.cells.n % sheet.columns.n, 0);
        ExportRequest request = {.drawing = {.session = f.session}, .table = (*table)->name};
        ExportNotes notes = {.arena = f.arena};
        Buf out = buf_new(f.arena);
        assert_true(tables_csv(&request, &out, &notes, &err));
        Str rest = buf_str(&out);
        for (int c = 0; c < sheet.columns.n; c++)
            assert_true(str_eq(csv_cell(&rest, f.arena), str_from((*table)->columns[c].name)));
        for (int i = 0; i < sheet.cells.n; i++)
            assert_true(str_eq(csv_cell(&rest, f.arena), sheet.cells.at[i]));
        assert_int_equal(rest.n, 0);
    }
    Error err = {0};
    json_free(export_json(&f, NULL, &err));
    close_opened(&f);
}

/* ---- help ---- */

static void help_names_what_there_is(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf tables = buf_new(arena), drawings = buf_new(arena), export = buf_new(arena);
    help_tables(&tables);
    help_drawings(&drawings);
    help_verb(verb_find(STR("export")), &export);
    help_systems(&export);
    for (const PlanTable *const *table = plan_tables; *table; table++) {
        assert_non_null(strstr(tables.s, (*table)->name));
        for (const SheetColumn *column = (*table)->columns; column->name; column++)
            assert_non_null(strstr(tables.s, column->name));
    }
    for (int kind = 0; kind < DIAGRAM_KIND_COUNT; kind++) {
        const DiagramKindRow *row = diagram_kind((DiagramKind)kind);
        assert_non_null(strstr(drawings.s, arena_printf(arena, "--kind %s", row->name)));
    }
    const ExportFormat *format;
    for (int i = 0; (format = export_format_at(i)); i++)
        assert_non_null(
            strstr(export.s, arena_printf(arena, "%s%s", format->group == EXPORT_CODE ? "" : "--",
                                          format->name)));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stay_in_their_cells),
        cmocka_unit_test(what_is_too_large_is_said),
        cmocka_unit_test(memory_has_a_column_for_every_class),
        cmocka_unit_test(help_names_what_there_is),
        cmocka_unit_test(a_folder_has_a_file_for_every_table),
        cmocka_unit_test(a_name_that_is_no_table_is_told_the_tables),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += run_rows("columns", cases, rows_have_the_columns_of_their_table);
    failed += run_rows("sums", cases, sums_are_the_totals_of_the_plan);
    failed += run_rows("layers", cases, layers_hold_what_their_groups_hold);
    return failed + run_rows("parts", cases, parts_are_the_slices_of_the_plan);
}
