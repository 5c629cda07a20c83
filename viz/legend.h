/* legend.h - the meaning of a drawing's marks: one row for each mark that occurs.
 *
 * The axes come first, then the facts of the plan, then marks. Rows are texts; dot.c draws them as
 * a table, and an export for paper prints them beside the drawing.
 */
#ifndef VIZ_LEGEND_H
#define VIZ_LEGEND_H

#include "viz/diagram.h"

typedef struct {
    Text sign, meaning;
    bool fact; /* of the plan: its model, mesh, machine; not a mark */
} LegendRow;

typedef struct {
    Arena *arena;
    Vec(LegendRow) rows;
} Legend;

Legend legend_of(Arena *arena, const Diagram *diagram, const Mesh *mesh);

#endif
