/* mesh.c - the devices as a grid: the last two axes across and down, a table for every coordinate
 * on the others, frames for nodes of the machine. If axes are named, each group of a collective
 * over them has its own letter and fill. */
#include "viz/draw/holding.h"
#include "viz/draw/moves.h"

#include "core/summary/comm.h"
#include "core/summary/label.h"
#include "core/summary/slices.h"
#include "core/plan/stage.h"

#include <inttypes.h>
#include <stdio.h>

enum { ACROSS_MOST = 16 };

typedef struct {
    Draw *draw;
    const Plan *plan;
    const Mesh *mesh;
    AtomSet atoms;             /* axes of the groups; 0: no groups are shown */
    int row_axis, column_axis; /* -1 if there is none */
    int64_t n_rows, n_columns, n_panels;
    int64_t tile_rows, tile_columns; /* size of the part of a panel that is on one node */
    int64_t per_node;                /* devices */
    bool scattered;                  /* nodes are not rectangles: each cell names its node */
    int name_columns;                /* characters of the longest name of a device */
    bool nodes_around;               /* a node consists of whole panels */
    int last_box;
    int node_frame, panel_frame; /* the frames being filled, or -1 */
    int64_t node, panel;         /* the node and the panel of those frames, or -1 */
} DrawnGrid;

/* ---- the shape of the grid ---- */

static int64_t node_at(const DrawnGrid *grid, int64_t position)
{
    return mesh_device(grid->mesh, position) / grid->per_node;
}

/* Breaks a single long axis into rows, one per node if that fits. */
static void break_row(DrawnGrid *grid)
{
    int64_t columns = grid->per_node <= ACROSS_MOST ? grid->per_node : ACROSS_MOST;

    if (grid->n_columns <= ACROSS_MOST)
        return;
    while (grid->n_columns % columns != 0)
        columns--;
    grid->n_rows = grid->n_columns / columns;
    grid->n_columns = columns;
}

static void find_tiles(DrawnGrid *grid)
{
    int64_t panel = grid->n_rows * grid->n_columns, per_node = grid->per_node;

    grid->tile_rows = grid->n_rows;
    grid->tile_columns = grid->n_columns;
    bool in_order = !grid->mesh->devices;
    if (in_order && (grid->mesh->n_devices <= per_node || per_node % panel == 0)) {
        grid->nodes_around = true;
    } else if (in_order && panel % per_node == 0 && per_node % grid->n_columns == 0) {
        grid->tile_rows = per_node / grid->n_columns;
    } else if (in_order && grid->n_columns % per_node == 0) {
        grid->tile_rows = 1;
        grid->tile_columns = per_node;
    } else {
        grid->scattered = true;
    }
}

static DrawnGrid grid_of(Draw *draw, AtomSet atoms)
{
    const Mesh *mesh = draw->plan->mesh;
    DrawnGrid grid = {.draw = draw,
                      .plan = draw->plan,
                      .mesh = mesh,
                      .atoms = atoms,
                      .row_axis = -1,
                      .column_axis = -1,
                      .n_rows = 1,
                      .n_columns = 1,
                      .last_box = -1,
                      .node_frame = -1,
                      .panel_frame = -1,
                      .node = -1,
                      .panel = -1};

    for (int axis = 0; axis < mesh->n_axes; axis++)
        if (mesh->axes[axis].size > 1) {
            grid.row_axis = grid.column_axis;
            grid.column_axis = axis;
        }
    if (grid.column_axis >= 0)
        grid.n_columns = mesh->axes[grid.column_axis].size;
    if (grid.row_axis >= 0)
        grid.n_rows = mesh->axes[grid.row_axis].size;
    grid.n_panels = mesh->n_devices / (grid.n_rows * grid.n_columns);
    grid.per_node = draw->session->machine->devices_per_node;
    if (grid.per_node < 1)
        grid.per_node = mesh->n_devices;
    int64_t last = 0;
    for (int64_t position = 0; position < mesh->n_devices; position++)
        last = mesh_device(mesh, position) > last ? mesh_device(mesh, position) : last;
    grid.name_columns = snprintf(NULL, 0, "d%" PRId64, last);
    if (grid.row_axis < 0)
        break_row(&grid);
    find_tiles(&grid);
    return grid;
}

/* ---- texts ---- */

/* "pp 0 ep 1": the coordinates of a panel on the axes outside of it. */
static const char *panel_text(const DrawnGrid *grid, int64_t panel)
{
    Buf text = buf_new(grid->draw->arena);
    uint32_t axes = 0;

    for (int axis = 0; axis < grid->mesh->n_axes; axis++)
        if (grid->mesh->axes[axis].size > 1 && axis != grid->row_axis && axis != grid->column_axis)
            axes |= 1u << axis;
    mesh_format_coords(grid->mesh, axes, panel * grid->n_rows * grid->n_columns, " ", ", ", &text);
    return text.s;
}

/* ", stage 2": the stages that all devices of the panel run. */
static void put_stages(const DrawnGrid *grid, int64_t first, Buf *out)
{
    const Stages *stages = grid->plan->decided->stages;
    int64_t last = first + (grid->tile_rows - 1) * grid->n_columns + grid->tile_columns - 1;
    int n = 0;

    for (int s = 0; stages && s < stages->n; s++) {
        SubMesh part = grid->plan->decided->submeshes[stages->at[s].devices];
        if (submesh_has(grid->mesh, part, first) && submesh_has(grid->mesh, part, last))
            buf_printf(out, n++ == 0 ? ", stage %d" : " and %d", s);
    }
}

static const char *cell_text(const DrawnGrid *grid, int64_t position)
{
    Buf text = buf_new(grid->draw->arena);

    buf_printf(&text, "d%" PRId64, mesh_device(grid->mesh, position));
    for (int n = (int)text.n; n < grid->name_columns; n++) /* so that all tables are as wide */
        buf_puts(&text, "\xc2\xa0");
    if (grid->atoms != 0) {
        buf_putc(&text, ' ');
        slice_letter(mesh_group_number(grid->mesh, grid->atoms, position), &text);
    }
    if (grid->scattered)
        buf_printf(&text, " n%" PRId64, node_at(grid, position));
    return text.s;
}

/* ---- a table ---- */

static Text row_text(const DrawnGrid *grid, int64_t row)
{
    bool rows = grid->row_axis >= 0;
    int axis = rows ? grid->row_axis : grid->column_axis;
    Buf text = buf_marked(grid->draw->arena);

    if (axis < 0 || (!rows && grid->n_rows == 1))
        return text_from("");
    mesh_put_axis(grid->mesh, axis, &text);
    buf_printf(&text, " %" PRId64 "%s", rows ? row : row * grid->n_columns, rows ? "" : " ..");
    return buf_text(&text);
}

/* The names of the axes, and the coordinates across. */
static void put_head(const DrawnGrid *grid, const Shown *columns, int64_t first, Cells *cells)
{
    const Draw *draw = grid->draw;
    Buf axes = buf_marked(draw->arena);

    if (grid->row_axis >= 0) {
        mesh_put_axis(grid->mesh, grid->row_axis, &axes);
        buf_puts(&axes, " \xe2\x86\x93 ");
    }
    if (grid->column_axis >= 0) {
        mesh_put_axis(grid->mesh, grid->column_axis, &axes);
        buf_puts(&axes, " \xe2\x86\x92");
    }
    cells_put_text(cells, buf_text(&axes));
    bool broken = grid->row_axis < 0 && grid->n_rows > 1;
    for (int c = 0; c < columns->n; c++) {
        int64_t column = shown_at(columns, c);
        cells_put(cells, CELL_HEAD,
                  column < 0 ? ".."
                             : arena_printf(draw->arena, broken ? "+%" PRId64 : "%" PRId64,
                                            first + column));
    }
}

static void put_row(const DrawnGrid *grid, const Shown *columns, int64_t first, Cells *cells)
{
    for (int c = 0; c < columns->n; c++) {
        int64_t column = shown_at(columns, c);
        if (column < 0) {
            cells_put(cells, CELL_FAINT, "..");
            continue;
        }
        DiagramCell cell = {.text = text_from(cell_text(grid, first + column))};
        if (grid->atoms != 0)
            cell.shade = 1 + (int)(mesh_group_number(grid->mesh, grid->atoms, first + column) % 8);
        cells_put_cell(cells, cell);
    }
}

/* The devices of a tile whose first device is at this row and column of the panel. */
static void draw_tile(DrawnGrid *grid, int64_t panel, int64_t row, int64_t column, int frame)
{
    Draw *draw = grid->draw;
    Shown rows = shown_of(grid->tile_rows, ACROSS_MOST, 7, 2);
    Shown columns = shown_of(grid->tile_columns, ACROSS_MOST, 7, 2);
    Cells cells = cells_new(draw->arena, columns.n + 1);
    int64_t base = panel * grid->n_rows * grid->n_columns;

    put_head(grid, &columns, column, &cells);
    for (int r = 0; r < rows.n; r++) {
        int64_t at = shown_at(&rows, r);
        if (at < 0) {
            for (int c = 0; c <= columns.n; c++)
                cells_put(&cells, CELL_FAINT, "..");
            continue;
        }
        cells_put_text(&cells, row_text(grid, row + at));
        put_row(grid, &columns, base + (row + at) * grid->n_columns + column, &cells);
    }
    DiagramBox box = diagram_box(BOX_TABLE, "");
    box.frame = frame;
    box.why = frame >= 0 ? draw->frames.at[frame].title : "devices";
    cells_give(&cells, &box);
    int made = draw_box(draw, box);
    if (grid->last_box >= 0)
        draw_below(draw, grid->last_box, made);
    grid->last_box = made;
}

/* ---- frames ---- */

static int new_frame(DrawnGrid *grid, FrameLook look, const char *title, int parent)
{
    return draw_frame(grid->draw, draw_new_frame(look, title, NULL, parent));
}

static const char *node_text(const DrawnGrid *grid, int64_t node, int64_t first, bool stages)
{
    Buf text = buf_new(grid->draw->arena);

    buf_printf(&text, "node %" PRId64, node);
    if (stages)
        put_stages(grid, first, &text);
    return text.s;
}

static const char *panel_title_text(const DrawnGrid *grid, int64_t panel, bool stages)
{
    Buf text = buf_new(grid->draw->arena);

    buf_puts(&text, panel_text(grid, panel));
    if (stages)
        put_stages(grid, panel * grid->n_rows * grid->n_columns, &text);
    return text.s;
}

/* The frame around a tile: of its panel and its node, one inside the other. */
static int frame_of(DrawnGrid *grid, int64_t panel, int64_t first)
{
    int64_t node = node_at(grid, first);
    bool panels = grid->n_panels > 1;

    if (grid->nodes_around) {
        if (node != grid->node)
            grid->node_frame =
                new_frame(grid, FRAME_DEVICES, node_text(grid, node, first, !panels), -1);
        grid->node = node;
        return panels ? new_frame(grid, FRAME_PLAIN, panel_title_text(grid, panel, true),
                                  grid->node_frame)
                      : grid->node_frame;
    }
    if (panels && panel != grid->panel)
        grid->panel_frame =
            new_frame(grid, FRAME_PLAIN, panel_title_text(grid, panel, grid->scattered), -1);
    grid->panel = panel;
    if (grid->scattered)
        return panels ? grid->panel_frame : -1;
    return new_frame(grid, FRAME_DEVICES, node_text(grid, node, first, true), grid->panel_frame);
}

/* A box in place of those that are left out. */
static void draw_gap(DrawnGrid *grid, const char *text, int frame)
{
    DiagramBox box = diagram_box(BOX_OUTSIDE, "..");

    box.subtitle = text;
    box.frame = frame;
    int made = draw_box(grid->draw, box);
    if (grid->last_box >= 0)
        draw_below(grid->draw, grid->last_box, made);
    grid->last_box = made;
}

/* The nodes of one row of tiles. */
static void draw_tiles(DrawnGrid *grid, int64_t panel, int64_t row)
{
    int64_t across = grid->n_columns / grid->tile_columns;
    Shown tiles = shown_of(across, 4, 2, 1);

    for (int t = 0; t < tiles.n; t++) {
        int64_t tile = shown_at(&tiles, t), column = tile * grid->tile_columns;
        if (tile < 0) {
            draw_gap(grid, count_text(grid->draw, across - tiles.n + 1, "node"), grid->panel_frame);
            continue;
        }
        int64_t first = (panel * grid->n_rows + row) * grid->n_columns + column;
        draw_tile(grid, panel, row, column, frame_of(grid, panel, first));
    }
}

static void draw_panel(DrawnGrid *grid, int64_t panel)
{
    int64_t down = grid->n_rows / grid->tile_rows;
    int64_t across = grid->n_columns / grid->tile_columns;
    bool alone = grid->n_panels == 1 && across == 1;
    Shown rows = alone ? shown_of(down, 8, 5, 2) : shown_of(down, 4, 2, 1);

    for (int r = 0; r < rows.n; r++) {
        int64_t row = shown_at(&rows, r);
        if (row >= 0)
            draw_tiles(grid, panel, row * grid->tile_rows);
        else
            draw_gap(grid, count_text(grid->draw, (down - rows.n + 1) * across, "node"),
                     grid->panel_frame);
    }
}

static void draw_panels(DrawnGrid *grid)
{
    Shown panels = shown_of(grid->n_panels, 4, 2, 1);

    for (int p = 0; p < panels.n; p++) {
        int64_t panel = shown_at(&panels, p);
        if (panel >= 0) {
            draw_panel(grid, panel);
            continue;
        }
        grid->panel_frame = grid->node_frame = -1;
        draw_gap(grid, count_text(grid->draw, grid->n_panels - panels.n + 1, "more part"), -1);
    }
}

/* ---- communication ---- */

static const char *groups_text(const DrawnGrid *grid, AtomSet atoms)
{
    Buf text = buf_new(grid->draw->arena);

    comm_format_groups(grid->mesh, (SubMesh){0}, atoms, &text);
    return text.s;
}

static void put_axis(const DrawnGrid *grid, const Moves *moves, AtomSet atoms, Cells *cells)
{
    const Draw *draw = grid->draw;
    const Machine *machine = draw->session->machine;
    const Link *link = machine_link(machine, grid->mesh, atoms);
    Buf name = buf_marked(draw->arena);

    mesh_format_set(grid->mesh, atoms, ".", &name);
    buf_printf(&name, "=%" PRId64, mesh_atoms_size(grid->mesh, atoms));
    cells_put_text(cells, buf_text(&name));
    cells_put(cells, CELL_PLAIN, groups_text(grid, atoms));
    cells_put(cells, CELL_PLAIN,
              arena_printf(draw->arena, "%s: %s",
                           link == &machine->inside ? "inside a node" : "between nodes",
                           link_text(draw, link)));
    cells_put_text(cells, moves_over_text(draw, moves, atoms));
}

static void put_axes(const DrawnGrid *grid, const Moves *moves, Cells *cells)
{
    Intern *seen = intern_new(grid->draw->arena);

    for (int axis = 0; axis < grid->mesh->n_axes; axis++) {
        AtomSet atoms = mesh_axis_atoms(grid->mesh, axis);
        if (atoms == 0)
            continue;
        intern_put(seen, &atoms, sizeof atoms);
        if (grid->atoms == 0 || grid->atoms == atoms)
            put_axis(grid, moves, atoms, cells);
    }
    for (int i = 0; i < moves->at.n; i++) {
        AtomSet atoms = moves->at.at[i].atoms;
        int n = intern_count(seen);
        bool wanted = grid->atoms == 0 || (grid->atoms & atoms);
        if (wanted && intern_put(seen, &atoms, sizeof atoms) == n)
            put_axis(grid, moves, atoms, cells);
    }
    int n = intern_count(seen);
    if (grid->atoms != 0 && intern_put(seen, &grid->atoms, sizeof grid->atoms) == n)
        put_axis(grid, moves, grid->atoms, cells);
}

static void draw_axes(DrawnGrid *grid)
{
    static const char *const heads[] = {"axis", "groups that communicate", "over",
                                        "communication over it"};
    Draw *draw = grid->draw;
    Moves moves = moves_of_plan(draw->arena, grid->plan);
    Cells cells = cells_new(draw->arena, 4);
    DiagramBox box = diagram_box(BOX_OP, "use of the axes");

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        cells_put(&cells, CELL_HEAD, heads[i]);
    put_axes(grid, &moves, &cells);
    box.subtitle = arena_printf(draw->arena, "in a %s", label_pass(grid->plan));
    if (cells.at.n > 4)
        cells_give(&cells, &box);
    else
        box.figures = "one device: no communication";
    int made = draw_box(draw, box);
    draw_below(draw, grid->last_box, made);
}

/* ---- the whole drawing ---- */

static void set_caption(const DrawnGrid *grid)
{
    Draw *draw = grid->draw;
    const Machine *machine = draw->session->machine;
    int64_t n = grid->mesh->n_devices;
    int64_t n_nodes = (n + grid->per_node - 1) / grid->per_node;
    Buf text = buf_marked(draw->arena), name = buf_new(draw->arena);

    mesh_format(grid->mesh, &name);
    draw->diagram->title = arena_printf(draw->arena, "mesh %s", name.s);
    if (grid->atoms != 0) {
        Buf axes = buf_marked(draw->arena);
        mesh_format_set(grid->mesh, grid->atoms, ".", &axes);
        draw->diagram->title =
            arena_printf(draw->arena, "%s: groups over %s", draw->diagram->title, axes.s);
        buf_add_text(&text,
                     text_join(draw->arena, "devices with the same letter communicate over @\n",
                               buf_text(&axes)));
    }
    buf_printf(&text, "%s on %s of %s", count_text(draw, n, "device"),
               count_text(draw, n_nodes, "node"), machine->name);
    if (n > 1)
        buf_printf(&text, "; inside a node %s", link_text(draw, &machine->inside));
    if (n_nodes > 1)
        buf_printf(&text, "; between nodes %s", link_text(draw, &machine->between));
    if (n_nodes > 1 && machine->devices_per_block > 0 && n > machine->devices_per_block)
        buf_printf(&text, "; between blocks %s", link_text(draw, &machine->spine));
    if (grid->scattered && n_nodes > 1)
        buf_puts(&text, "\nd5 n1: device 5 is on node 1");
    draw->diagram->caption = buf_text(&text);
}

/* "tp", "dp.tp", "tp:(1)2" */
static bool read_axes(const Draw *draw, const char *name, AtomSet *out, Error *err)
{
    const Mesh *mesh = draw->plan->mesh;
    Source source = {.name = "axis", .text = str_from(name)};
    Error found = {0};
    Scan scan = scan_begin(&source, &found);
    uint8_t atom[ATOMS_MAX];
    int n = 0;

    do {
        if (!mesh_parse_atoms(mesh, &scan, atom, &n))
            break;
    } while (scan_accept(&scan, '.'));
    if (!error_is_set(&found))
        scan_end(&scan);
    if (error_is_set(&found)) {
        Buf axes = buf_new(draw->arena);
        mesh_format(mesh, &axes);
        error_kind(err, ERROR_USAGE, "%s", found.text);
        error_hint(err, "%s%san axis of %s, or several, such as dp.tp", found.hint,
                   *found.hint ? " Or " : "", axes.s);
        return false;
    }
    *out = 0;
    for (int i = 0; i < n; i++)
        *out |= (AtomSet)1 << atom[i];
    if (*out != 0)
        return true;
    error_kind(err, ERROR_UNSUPPORTED, "axis '%s' has size 1, so there are no groups over it",
               name);
    error_hint(err, "--kind mesh alone draws all axes");
    return false;
}

bool draw_mesh(Draw *draw, Error *err)
{
    AtomSet atoms = 0;

    if (draw->request->of && !read_axes(draw, draw->request->of, &atoms, err))
        return false;
    DrawnGrid grid = grid_of(draw, atoms);
    draw_panels(&grid);
    draw_axes(&grid);
    set_caption(&grid);
    return true;
}
