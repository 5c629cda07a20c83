/* tables.h - all a plan says, as tables of values (core/base/sheet.h).
 *
 * Names of columns are words of the JSON of `dimscope plan` (core/session/planfile.h), with the
 * unit of a number at its end. A number that is not known is an empty cell. A table is a
 * `PlanTable` in a file beside this one and a place in the list of tables.c.
 */
#ifndef VIZ_REPORT_TABLES_H
#define VIZ_REPORT_TABLES_H

#include "core/base/sheet.h"
#include "viz/export.h"

typedef struct {
    const char *name;           /* "collectives" */
    const char *what;           /* what a row is */
    const SheetColumn *columns; /* ended by one without a name */
    /* Its rows onto a sheet that has the columns. False: there would be too many. */
    bool (*rows)(const Session *session, Sheet *out, Error *err);
} PlanTable;

extern const PlanTable *const plan_tables[];            /* ended by NULL */
const PlanTable *plan_table_find(Str name, Error *err); /* NULL; the hint lists them */

/* Columns and rows; the sheet has an arena. False with *err: it would be too large. */
bool plan_table_fill(const PlanTable *table, const Session *session, Sheet *out, Error *err);

bool tables_csv(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
/* All of them, a file each, NAME.csv in a folder that is made where it is not there. Nothing is
 * written before all are made. */
bool tables_csv_folder(const ExportRequest *request, const char *path, ExportNotes *notes,
                       Error *err);
bool tables_json(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);

#endif
