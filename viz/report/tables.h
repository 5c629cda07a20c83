/* tables.h - all a plan says, as tables of values (core/base/sheet.h). */
#ifndef VIZ_REPORT_TABLES_H
#define VIZ_REPORT_TABLES_H

#include "core/base/sheet.h"
#include "viz/export.h"

typedef struct {
    const char *name; /* "collectives" */
    const char *what; /* what a row is */
    void (*fill)(const Session *session, Sheet *out);
} PlanTable;

/* ended by one without a name */
extern const PlanTable plan_tables[];
const PlanTable *plan_table_find(Str name, Error *err); /* NULL; the hint lists them */

bool tables_csv(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool tables_json(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);

#endif
