/* tables.h - everything in a plan as tables of values (core/base/sheet.h).
 *
 * Columns are named like the fields of `dimscope plan --json` (core/session/planfile.h), with the
 * unit of a number at the end. An unknown number is an empty cell. A table is a `PlanTable` in a
 * file of this folder and an entry in the list of tables.c.
 */
#ifndef VIZ_REPORT_TABLES_H
#define VIZ_REPORT_TABLES_H

#include "core/base/sheet.h"
#include "viz/export.h"

typedef struct {
    const char *name;           /* "collectives" */
    const char *what;           /* meaning of a row */
    const SheetColumn *columns; /* the last one has no name */
    /* Adds its rows to a sheet that has the columns. Returns false if there would be too many. */
    bool (*rows)(const Session *session, Sheet *out, Error *err);
} PlanTable;

extern const PlanTable *const plan_tables[]; /* the last one is NULL */
const PlanTable *plan_table_find(Str name,
                                 Error *err); /* Returns NULL with a hint that lists all tables. */

/* Fills columns and rows of a sheet that has an arena. Returns false with *err if it would be too
 * large. */
bool plan_table_fill(const PlanTable *table, const Session *session, Sheet *out, Error *err);

bool tables_csv(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
/* Writes all tables, a file NAME.csv each, into a folder that is made if missing. Nothing is
 * written before all are made. */
bool tables_csv_folder(const ExportRequest *request, const char *path, ExportNotes *notes,
                       Error *err);
bool tables_json(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);

#endif
