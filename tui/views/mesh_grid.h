/* mesh_grid.h - a mesh as a grid of devices: one axis down, one across, the others as panels.
 *
 * Axes of size 1 take no part. By default the last axis goes across and the one before it down;
 * `turn` counts through the other choices. A mesh of one axis is a row, or several where a row is
 * too long. Pure: positions from panels, rows and columns, and back.
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
    int64_t per_node; /* devices; 0 if all are on one node: then there are no nodes to show */
    int node_rows;    /* rows whose devices are on other nodes than those of the row above: the most
                         of a panel; counted while a panel has at most NODE_ROWS_MOST rows */
} MeshGrid;

enum { NODE_ROWS_MOST = 64 };

/* Adds the nodes of the machine. */
void mesh_grid_nodes(MeshGrid *grid, const Machine *machine);
int64_t mesh_grid_node(const MeshGrid *grid, int64_t position);
/* The node that the devices of a cell are on; -1 if they are on several. */
int64_t mesh_cell_node(const MeshGrid *grid, const Tiles *tiles, int64_t panel, int64_t row,
                       int64_t column);
/* "node 3", "nodes 0..3": of the devices in a row of cells; "" if their numbers do not follow each
 * other. */
Str mesh_row_nodes(Arena *arena, const MeshGrid *grid, const Tiles *tiles, int64_t panel,
                   int64_t row);

int mesh_grid_turns(const Mesh *mesh); /* how many choices there are */
/* most: columns that a mesh of one axis may have before it is broken into rows. */
MeshGrid mesh_grid(const Mesh *mesh, int turn, int64_t most);

int64_t mesh_grid_position(const MeshGrid *grid, int64_t panel, int64_t row, int64_t column);
void mesh_grid_find(const MeshGrid *grid, int64_t position, int64_t *panel, int64_t *row,
                    int64_t *column);

/* Rows and columns of one panel, up to but not with their ends, which may lie outside it. */
typedef struct {
    int64_t row, row_end, column, column_end;
} MeshBlock;

/* Devices of the block have equal coordinates on these atoms; of a mesh of one axis true says so,
 * false nothing. */
bool mesh_block_is_one(const MeshGrid *grid, const MeshBlock *block, AtomSet atoms);

/* "pp 1 dp 0": a panel's place on the outer axes. */
void mesh_grid_panel(const MeshGrid *grid, int64_t panel, Buf *out);

/* Panels of one size beside and below each other. */
typedef struct {
    Tiles tiles;
    int label;        /* columns of row labels */
    int tail;         /* columns for the nodes behind rows without frames */
    int w, h;         /* of a panel */
    int across, down; /* that are shown */
} MeshPanels;

/* In w columns and h lines; `lines` of a full cell. Where not all fit those around the cursor's are
 * shown. */
MeshPanels mesh_panels_fit(const MeshGrid *grid, int label, int lines, int w, int h);

/* The first step that communicates of the selected tensor's reshard, or NULL if there is none. */
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
