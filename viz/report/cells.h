/* cells.h - what the tables of tables.h share: the tables themselves, and texts of cells. */
#ifndef VIZ_REPORT_CELLS_H
#define VIZ_REPORT_CELLS_H

#include "viz/report/tables.h"

enum { TABLE_ROWS_MAX = 1 << 20 };

/* False, with an error that says so, where that many rows are too many. */
bool table_fits(double n_rows, const char *table, Error *err);

void table_put_shape(Sheet *out, const Shape *shape); /* "[8,1024,768]"; "[]" of a scalar */
void table_put_partial(Sheet *out, const Mesh *mesh, const Sharding *sharding); /* "tp max(dp)" */
void table_put_coordinates(Sheet *out, const Mesh *mesh, int64_t position);     /* "dp=0,tp=3" */
void table_put_text(Sheet *out, const char *text);                              /* NULL: empty */

extern const PlanTable table_parts;

#endif
