#include "tui/views/mesh_grid.h"

#include <inttypes.h>

static int list_axes(const Mesh *mesh, int axis[MESH_AXES_MAX])
{
    int n = 0;

    for (int a = 0; a < mesh->n_axes; a++)
        if (mesh->axes[a].size > 1)
            axis[n++] = a;
    return n;
}

int mesh_grid_turns(const Mesh *mesh)
{
    int axis[MESH_AXES_MAX], n = list_axes(mesh, axis);
    return n < 2 ? 1 : n * (n - 1);
}

static int64_t axis_stride(const Mesh *mesh, int axis)
{
    int64_t stride = 1;

    for (int a = axis + 1; a < mesh->n_axes; a++)
        stride *= mesh->axes[a].size;
    return stride;
}

/* One axis: rows of the largest number of columns that divides it. */
static void break_row(MeshGrid *grid, int64_t most)
{
    int64_t columns = grid->n_columns <= most ? grid->n_columns : most > 1 ? most : 1;

    while (grid->n_columns % columns != 0)
        columns--;
    grid->n_rows = grid->n_columns / columns;
    grid->n_columns = columns;
    grid->row_stride = columns;
}

MeshGrid mesh_grid(const Mesh *mesh, int turn, int64_t most)
{
    int axis[MESH_AXES_MAX], n = list_axes(mesh, axis);
    MeshGrid grid = {.mesh = mesh,
                     .row_axis = -1,
                     .column_axis = -1,
                     .n_rows = 1,
                     .n_columns = 1,
                     .n_panels = 1,
                     .column_stride = 1};

    if (n == 0)
        return grid;
    int pair = turn % mesh_grid_turns(mesh), across = n - 1, down = n - 2;
    if (n > 1) {
        across = n - 1 - pair / (n - 1);
        down = n - 1 - pair % (n - 1);
        down -= down <= across;
        grid.row_axis = axis[down];
        grid.n_rows = mesh->axes[axis[down]].size;
        grid.row_stride = axis_stride(mesh, axis[down]);
    }
    grid.column_axis = axis[across];
    grid.n_columns = mesh->axes[axis[across]].size;
    grid.column_stride = axis_stride(mesh, axis[across]);
    for (int i = 0; i < n; i++) {
        if (i == across || i == down)
            continue;
        grid.outer[grid.n_outer++] = axis[i];
        grid.n_panels *= mesh->axes[axis[i]].size;
    }
    if (n == 1)
        break_row(&grid, most);
    return grid;
}

int64_t mesh_grid_position(const MeshGrid *grid, int64_t panel, int64_t row, int64_t column)
{
    int64_t position = row * grid->row_stride + column * grid->column_stride;

    for (int i = grid->n_outer; i-- > 0;) {
        int64_t size = grid->mesh->axes[grid->outer[i]].size;
        position += panel % size * axis_stride(grid->mesh, grid->outer[i]);
        panel /= size;
    }
    return position;
}

void mesh_grid_find(const MeshGrid *grid, int64_t position, int64_t *panel, int64_t *row,
                    int64_t *column)
{
    *panel = 0;
    for (int i = 0; i < grid->n_outer; i++)
        *panel = *panel * grid->mesh->axes[grid->outer[i]].size +
                 mesh_coord(grid->mesh, grid->outer[i], position);
    *column = position / grid->column_stride % grid->n_columns;
    *row = grid->n_rows > 1 ? position / grid->row_stride % grid->n_rows : 0;
}

int64_t mesh_grid_node(const MeshGrid *grid, int64_t position)
{
    return mesh_device(grid->mesh, position) / grid->per_node;
}

int64_t mesh_cell_node(const MeshGrid *grid, const Tiles *tiles, int64_t panel, int64_t row,
                       int64_t column)
{
    int64_t first_row = row * tiles->block_h, first = column * tiles->block_w;
    int64_t node = mesh_grid_node(grid, mesh_grid_position(grid, panel, first_row, first));

    for (int64_t r = first_row; r < first_row + tiles->block_h && r < grid->n_rows; r++)
        for (int64_t c = first; c < first + tiles->block_w && c < grid->n_columns; c++)
            if (mesh_grid_node(grid, mesh_grid_position(grid, panel, r, c)) != node)
                return -1;
    return node;
}

Str mesh_row_nodes(Arena *arena, const MeshGrid *grid, const Tiles *tiles, int64_t panel,
                   int64_t row)
{
    int64_t first = mesh_cell_node(grid, tiles, panel, row, 0), last = first;

    if (first < 0)
        return STR("");
    for (int64_t c = 1; c < tiles->columns; c++) {
        int64_t node = mesh_cell_node(grid, tiles, panel, row, c);
        if (node != last && node != last + 1)
            return STR("");
        last = node;
    }
    return str_from(first == last
                        ? arena_printf(arena, "node %" PRId64, first)
                        : arena_printf(arena, "nodes %" PRId64 "..%" PRId64, first, last));
}

static bool is_node_row(const MeshGrid *grid, int64_t panel, int64_t row)
{
    for (int64_t c = 0; c < grid->n_columns; c++)
        if (mesh_grid_node(grid, mesh_grid_position(grid, panel, row, c)) !=
            mesh_grid_node(grid, mesh_grid_position(grid, panel, row - 1, c)))
            return true;
    return false;
}

void mesh_grid_nodes(MeshGrid *grid, const Machine *machine)
{
    const Mesh *mesh = grid->mesh;
    AtomSet all = (AtomSet)((1u << mesh->n_atoms) - 1);

    if (machine_group(machine, mesh, all).nodes < 2)
        return;
    grid->per_node = machine->devices_per_node;
    for (int64_t panel = 0; panel < grid->n_panels && grid->n_rows <= NODE_ROWS_MOST; panel++) {
        int rows = 0;
        for (int64_t row = 1; row < grid->n_rows; row++)
            rows += is_node_row(grid, panel, row);
        grid->node_rows = rows > grid->node_rows ? rows : grid->node_rows;
    }
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Along its axis an atom's coordinate changes every so many steps. */
bool mesh_block_is_one(const MeshGrid *grid, const MeshBlock *block, AtomSet atoms)
{
    const Mesh *mesh = grid->mesh;
    int64_t last_row = lesser(block->row_end, grid->n_rows) - 1,
            last_column = lesser(block->column_end, grid->n_columns) - 1;

    if (grid->row_axis < 0 && grid->n_rows > 1)
        return false;
    for (int a = 0; a < mesh->n_atoms; a++) {
        const MeshAtom *atom = &mesh->atoms[a];
        if (!(atoms >> a & 1))
            continue;
        int64_t row_unit = atom->axis == grid->row_axis ? atom->stride / grid->row_stride : 0,
                unit = atom->axis == grid->column_axis ? atom->stride / grid->column_stride : 0;
        if (row_unit > 0 && block->row / row_unit != last_row / row_unit)
            return false;
        if (unit > 0 && block->column / unit != last_column / unit)
            return false;
    }
    return true;
}

void mesh_grid_panel(const MeshGrid *grid, int64_t panel, Buf *out)
{
    int64_t position = mesh_grid_position(grid, panel, 0, 0);

    for (int i = 0; i < grid->n_outer; i++) {
        buf_puts(out, i ? " " : "");
        mesh_format_coords(grid->mesh, 1u << grid->outer[i], position, " ", "", out);
    }
}

enum { TAIL = 14 }; /* columns of "nodes 126..127" behind a row */

/* Its size with its labels and, where there are several, its name. */
static void size_panel(MeshPanels *panels, const MeshGrid *grid)
{
    const Tiles *tiles = &panels->tiles;
    int64_t w = panels->label + tiles_width(tiles) + panels->tail,
            h = tiles_height(tiles, tiles->shown) + 1 + (grid->n_panels > 1);

    panels->w = w < INT16_MAX ? (int)w : INT16_MAX;
    panels->h = h < INT16_MAX ? (int)h : INT16_MAX;
}

/* Full cells take the room there is. */
static void widen(MeshPanels *panels, const MeshGrid *grid, int w)
{
    enum { MOST = 18 };
    int64_t width = (w - panels->label - 1) / grid->n_columns - 1;

    if (width > panels->tiles.width)
        panels->tiles.width = width < MOST ? (int)width : MOST;
    size_panel(panels, grid);
}

/* How many panels fit; returns false if not all do, or with `some` if none does. */
static bool count_panels(MeshPanels *panels, const MeshGrid *grid, int w, int h, bool some)
{
    enum { GAP = 2 };

    size_panel(panels, grid);
    panels->across = (w + GAP) / (panels->w + GAP);
    panels->across = panels->across < grid->n_panels ? panels->across : (int)grid->n_panels;
    panels->down = h / panels->h;
    if (panels->across == 0 || panels->down == 0)
        return false;
    int64_t down = (grid->n_panels + panels->across - 1) / panels->across;
    if (!some && down > panels->down)
        return false;
    panels->down = down < panels->down ? (int)down : panels->down;
    return true;
}

/* Panels in one form, with what shows nodes where there is room for it. */
static bool fit_form(MeshPanels *panels, const MeshGrid *grid, TileForm form, int lines, int w,
                     int h, bool some)
{
    panels->tiles = tiles_in_form(form, grid->n_rows, grid->n_columns, lines);
    panels->tiles.shown = grid->n_rows < INT16_MAX ? (int)grid->n_rows : INT16_MAX;
    bool rules = panels->tiles.framed && !panels->tiles.ruled && grid->node_rows > 0,
         tail = rules || (!panels->tiles.framed && grid->per_node > 0);
    panels->tail = 0;
    panels->tiles.rules = rules ? grid->node_rows : 0;
    if (rules && count_panels(panels, grid, w, h, some))
        return true;
    panels->tiles.rules = 0;
    panels->tail = tail ? TAIL : 0;
    if (tail && count_panels(panels, grid, w, h, some))
        return true;
    panels->tail = 0;
    return count_panels(panels, grid, w, h, some);
}

MeshPanels mesh_panels_fit(const MeshGrid *grid, int label, int lines, int w, int h)
{
    enum { GAP = 2 };
    MeshPanels panels = {.label = label};

    for (int pass = 0; pass < 2; pass++) /* all panels; then at least one, in small cells */
        for (TileForm form = pass ? TILE_NUMBER : TILE_FULL; form <= TILE_LETTER; form++) {
            if (!fit_form(&panels, grid, form, lines, w, h, pass))
                continue;
            if (form == TILE_FULL)
                widen(&panels, grid, (w + GAP) / panels.across - GAP);
            return panels;
        }
    int above = 1 + (grid->n_panels > 1);
    panels.tiles = tiles_fit(grid->n_rows, grid->n_columns, lines, w - label, h - above);
    bool tail = !panels.tiles.framed && label + tiles_width(&panels.tiles) + TAIL <= w;
    panels.tail = tail && grid->per_node > 0 ? TAIL : 0;
    size_panel(&panels, grid);
    panels.across = panels.down = 1;
    return panels;
}
