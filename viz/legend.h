/* legend.h - what the marks of a drawing mean: a row for each mark that occurs in it, and no other.
 *
 * The axes come first, then the facts of the plan, then marks. Rows are texts; dot.c draws them as
 * a table, an export for paper says them beside the drawing.
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
