/* mesh_grid.h - a mesh as a grid of devices: one axis down, one across, the others as panels.
 *
 * Axes of size 1 are ignored. By default the last axis goes across and the one before it down;
 * `turn` selects among the other choices. A mesh of one axis is a row, or several rows if it is too
 * long. All functions are pure: they convert positions to panels, rows and columns, and back.
 */
#ifndef TUI_VIEWS_MESH_GRID_H
#define TUI_VIEWS_MESH_GRID_H

#include "core/layout/mesh.h"
#include "tui/state/ui.h"
#include "tui/views/tiles.h"

typedef struct {
    const Mesh *mesh;
    int row_axis, column_axis;           /* -1: none */
    int64_t n_rows, n_columns, n_panels; /* in devices */
    int64_t row_stride, column_stride;   /* positions between neighbours */
    int n_outer, outer[MESH_AXES_MAX];   /* axes of the panels, major first */
    int64_t per_node; /* devices per node; 0 if all are on one node, so that nodes are not shown */
    int node_rows;    /* the most rows of a panel whose devices are on other nodes than those of
                         the row above; counted if a panel has at most NODE_ROWS_MOST rows */
} MeshGrid;

enum { NODE_ROWS_MOST = 64 };

/* Adds the nodes of the machine. */
void mesh_grid_nodes(MeshGrid *grid, const Machine *machine);
int64_t mesh_grid_node(const MeshGrid *grid, int64_t position);
/* The node of a cell's devices; -1 if there are several. */
int64_t mesh_cell_node(const MeshGrid *grid, const Tiles *tiles, int64_t panel, int64_t row,
                       int64_t column);
/* "node 3", "nodes 0..3": the nodes of the devices in a row of cells; "" if their numbers are not
 * consecutive. */
Str mesh_row_nodes(Arena *arena, const MeshGrid *grid, const Tiles *tiles, int64_t panel,
                   int64_t row);

int mesh_grid_turns(const Mesh *mesh); /* how many choices there are */
/* most: the most columns of a mesh of one axis before it is split into rows. */
MeshGrid mesh_grid(const Mesh *mesh, int turn, int64_t most);

int64_t mesh_grid_position(const MeshGrid *grid, int64_t panel, int64_t row, int64_t column);
void mesh_grid_find(const MeshGrid *grid, int64_t position, int64_t *panel, int64_t *row,
                    int64_t *column);

/* Rows and columns of one panel, half-open; the ends may lie outside it. */
typedef struct {
    int64_t row, row_end, column, column_end;
} MeshBlock;

/* Whether all devices of the block have equal coordinates on these atoms; for a mesh of one axis,
 * false may be wrong. */
bool mesh_block_is_one(const MeshGrid *grid, const MeshBlock *block, AtomSet atoms);

/* "pp 1 dp 0": a panel's place on the outer axes. */
void mesh_grid_panel(const MeshGrid *grid, int64_t panel, Buf *out);

/* Panels of equal size, side by side and below each other. */
typedef struct {
    Tiles tiles;
    int label;        /* columns of row labels */
    int tail;         /* columns for the nodes after rows without frames */
    int w, h;         /* of a panel */
    int across, down; /* that are shown */
} MeshPanels;

/* Fits panels into w columns and h lines; `lines`: of a full cell. If not all fit, those around the
 * cursor's are shown. */
MeshPanels mesh_panels_fit(const MeshGrid *grid, int label, int lines, int w, int h);

/* The first step of the selected tensor's reshard that communicates, or NULL. */
const Step *mesh_next_step(const Ui *ui);

/* "dp=2,tp=8  16 devices, 2 nodes of 8, h100x8  peak 1.1 GiB of 74.5 GiB" */
void mesh_draw_devices(const Ui *ui, Pen *pen);
/* " NODES   node 0 {d0 d1 .. d7}   node 1 {d8 ..}"; nothing if all devices are on
 * one node, or are listed by number. */
void mesh_draw_nodes(const Ui *ui, Pen *pen);
void mesh_draw_links(const Ui *ui, Pen *pen);
void mesh_draw_groups(const Ui *ui, Pen *pen);
void mesh_draw_next(const Ui *ui, Pen *pen);

#endif
