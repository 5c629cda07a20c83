#include "viz/report/tables.h"

const PlanTable plan_tables[] = {{0}};

const PlanTable *plan_table_find(Str name, Error *err)
{
    (void)name;
    error_kind(err, ERROR_USAGE, "there are no tables yet");
    return NULL;
}

bool tables_csv(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)out, (void)notes;
    return plan_table_find(str_from(request->table ? request->table : ""), err) != NULL;
}

bool tables_json(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    return tables_csv(request, out, notes, err);
}
