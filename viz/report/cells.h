/* cells.h - texts of cells that the tables of tables.h share, and the list of tables. */
#ifndef VIZ_REPORT_CELLS_H
#define VIZ_REPORT_CELLS_H

#include "viz/report/tables.h"

enum { TABLE_ROWS_MAX = 1 << 20 };

/* Returns false with an error if there are too many rows. */
bool table_fits(double n_rows, const char *table, Error *err);

void table_put_text(Sheet *out, const char *text);           /* NULL: empty */
void table_put_bool(Sheet *out, bool value);                 /* "yes", "no" */
void table_put_bytes(Sheet *out, bool known, int64_t bytes); /* empty if not known */
void table_put_shape(Sheet *out, const Shape *shape);        /* "[8,1024,768]"; "[]" of a scalar */
/* The known part of the shape: "[batch,12,64]", or "?". */
void table_put_size(Sheet *out, const Session *session, int32_t tensor);
/* A Shardings id in a view; empty if it is -1, or the view cannot express it. */
void table_put_sharding(Sheet *out, const Session *session, int32_t id, ShardingView view);
void table_put_local_shape(Sheet *out, const Session *session, int32_t id);     /* for rank 0 */
void table_put_partial(Sheet *out, const Mesh *mesh, const Sharding *sharding); /* "tp max(dp)" */
void table_put_coordinates(Sheet *out, const Mesh *mesh, int64_t position);     /* "dp=0,tp=3" */
void table_put_devices(Sheet *out, const Session *session, int devices);        /* "pp=0"; "all" */

extern const PlanTable table_summary, table_findings, table_decisions, table_mesh, table_devices,
    table_machine;
extern const PlanTable table_tensors, table_parameters, table_parts;
extern const PlanTable table_ops, table_operators, table_layers;
extern const PlanTable table_collectives, table_reshards, table_steps, table_traffic, table_links;
extern const PlanTable table_memory, table_live;
extern const PlanTable table_stages, table_schedule;

#endif
