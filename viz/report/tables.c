#include "viz/report/tables.h"

#include "core/base/file.h"
#include "core/base/sheet_write.h"
#include "core/session/planfile.h"
#include "viz/report/cells.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

const PlanTable *const plan_tables[] = {
    &table_summary,     &table_findings,
    &table_decisions,   &table_mesh,
    &table_devices,     &table_machine,
    &table_layers,      &table_ops,
    &table_operators,   &table_tensors,
    &table_parameters,  &table_parts,
    &table_collectives, &table_reshards,
    &table_steps,       &table_traffic,
    &table_links,       &table_memory,
    &table_live,        &table_stages,
    &table_schedule,    NULL,
};

static const char *list_names(Arena *arena)
{
    Buf names = buf_new(arena);

    for (const PlanTable *const *table = plan_tables; *table; table++)
        buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", (*table)->name);
    return names.s;
}

const PlanTable *plan_table_find(Str name, Error *err)
{
    for (const PlanTable *const *table = plan_tables; *table; table++)
        if (str_eq(name, str_from((*table)->name)))
            return *table;
    Arena *scratch = arena_new();
    error_kind(err, ERROR_USAGE, "unknown table '%.*s'", STR_ARG(name));
    error_hint(err, "--table must be one of: %s", list_names(scratch));
    arena_free(scratch);
    return NULL;
}

bool plan_table_fill(const PlanTable *table, const Session *session, Sheet *out, Error *err)
{
    sheet_columns(out, table->columns);
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
        error_kind(err, ERROR_USAGE, "a csv file holds only one table");
        error_hint(err, "write all with -o FOLDER/, or choose one with --table: %s",
                   list_names(out->arena));
        return false;
    }
    if (!fill_asked(request, &sheet, err))
        return false;
    sheet_write_csv(&sheet, out);
    return true;
}

/* Returns false with a note if the table has too many rows to be written with the others. */
static bool fill_of_all(const ExportRequest *request, const PlanTable *table, Sheet *out,
                        ExportNotes *notes)
{
    Error err = {0};
    bool ok = plan_table_fill(table, request->drawing.session, out, &err);

    if (!ok)
        export_note(notes, "%s: left out", err.text);
    return ok;
}

static bool make_folder(const char *path, Error *err)
{
    struct stat at;

    if (mkdir(path, 0777) == 0)
        return true;
    int why = errno;
    if (why == EEXIST && stat(path, &at) == 0 && S_ISDIR(at.st_mode))
        return true;
    error_kind(err, ERROR_UNREADABLE, "%s: %s", path,
               why == EEXIST ? "it is not a folder" : strerror(why));
    error_hint(err, "writing all tables as csv needs a folder");
    return false;
}

bool tables_csv_folder(const ExportRequest *request, const char *path, ExportNotes *notes,
                       Error *err)
{
    enum { TABLES_MAX = 64 };
    Arena *scratch = arena_new();
    Buf text[TABLES_MAX] = {{0}};
    bool ok = true;

    for (int i = 0; plan_tables[i] && i < TABLES_MAX; i++) {
        Sheet sheet = {.arena = arena_new()};
        text[i] = buf_new(scratch);
        if (fill_of_all(request, plan_tables[i], &sheet, notes))
            sheet_write_csv(&sheet, &text[i]);
        arena_free(sheet.arena);
    }
    ok = make_folder(path, err);
    for (int i = 0; ok && plan_tables[i] && i < TABLES_MAX; i++) {
        const char *name = arena_printf(scratch, "%s.csv", plan_tables[i]->name);
        Buf safe = buf_new(scratch);
        text_printable_lines(buf_str(&text[i]), &safe);
        ok = safe.n == 0 || file_write(path_join(scratch, path, name), buf_str(&safe), err);
    }
    arena_free(scratch);
    return ok;
}

static void write_all(const ExportRequest *request, Buf *out, ExportNotes *notes)
{
    const char *comma = "";

    buf_printf(out,
               "{\"schema\":\"dimscope.tables\",\"version\":%d,\"plan\":\"%016" PRIx64
               "\",\"tables\":{",
               SHEET_VERSION, planfile_hash(request->drawing.session));
    for (const PlanTable *const *table = plan_tables; *table; table++) {
        Sheet sheet = {.arena = arena_new()};
        if (fill_of_all(request, *table, &sheet, notes)) {
            buf_printf(out, "%s\"%s\":{", comma, (*table)->name);
            sheet_write_json_rows(&sheet, out);
            buf_putc(out, '}');
            comma = ",";
        }
        arena_free(sheet.arena);
    }
    buf_puts(out, "}}\n");
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
