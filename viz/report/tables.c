#include "viz/report/tables.h"

#include "core/base/sheet_write.h"
#include "core/plan/planfile.h"
#include "viz/report/cells.h"

#include <inttypes.h>
#include <stdio.h>

const PlanTable *const plan_tables[] = {&table_parts, NULL};

const PlanTable *plan_table_find(Str name, Error *err)
{
    Arena *scratch = arena_new();
    Buf names = buf_new(scratch);

    for (const PlanTable *const *table = plan_tables; *table; table++) {
        if (str_eq(name, str_from((*table)->name))) {
            arena_free(scratch);
            return *table;
        }
        buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", (*table)->name);
    }
    error_kind(err, ERROR_USAGE, "there is no table '%.*s'", STR_ARG(name));
    error_hint(err, "--table is one of: %s", names.s);
    arena_free(scratch);
    return NULL;
}

bool plan_table_fill(const PlanTable *table, const Session *session, Sheet *out, Error *err)
{
    for (const SheetColumn *column = table->columns; column->name; column++)
        sheet_column(out, column->name, column->number);
    return table->rows(session, out, err);
}

/* ---- as files ---- */

static bool fill_asked(const ExportRequest *request, Sheet *out, Error *err)
{
    const PlanTable *table = plan_table_find(str_from(request->table), err);

    return table && plan_table_fill(table, request->drawing.session, out, err);
}

bool tables_csv(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)notes;
    Sheet sheet = {.arena = out->arena};

    if (!request->table) {
        error_kind(err, ERROR_USAGE, "csv holds one table");
        error_hint(err, "--table NAME, or -o FOLDER/ for all of them; `dimscope help tables`");
        return false;
    }
    if (!fill_asked(request, &sheet, err))
        return false;
    sheet_write_csv(&sheet, out);
    return true;
}

/* What has too many rows for a file of all is left out of it, and a note. */
static void add_table(const ExportRequest *request, const PlanTable *table, ExportNotes *notes,
                      Json *tables)
{
    Arena *scratch = arena_new();
    Sheet sheet = {.arena = scratch};
    Error err = {0};
    Json *one = json_object();

    if (plan_table_fill(table, request->drawing.session, &sheet, &err))
        sheet_put_json(&sheet, one);
    else
        export_note(notes, "%s: it is left out", err.text);
    if (json_size(one) > 0)
        json_set(tables, table->name, one);
    else
        json_free(one);
    arena_free(scratch);
}

static void write_all(const ExportRequest *request, Buf *out, ExportNotes *notes)
{
    Json *root = json_object(), *tables = json_object();
    char hash[17];

    snprintf(hash, sizeof hash, "%016" PRIx64, planfile_hash(request->drawing.session));
    for (const PlanTable *const *table = plan_tables; *table; table++)
        add_table(request, *table, notes, tables);
    json_set_str(root, "schema", "dimscope.tables");
    json_set_int(root, "version", SHEET_VERSION);
    json_set_str(root, "plan", hash);
    json_set(root, "tables", tables);
    json_write(root, out);
    buf_putc(out, '\n');
    json_free(root);
}

bool tables_json(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    Sheet sheet = {.arena = out->arena};

    if (!request->table)
        write_all(request, out, notes);
    else if (fill_asked(request, &sheet, err))
        sheet_write_json(&sheet, request->table, out);
    else
        return false;
    return true;
}
