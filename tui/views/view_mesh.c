#include "core/plan/stage.h"
#include "tui/views/label.h"
#include "tui/views/mesh_grid.h"
#include "core/summary/slices.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct {
    int turn;        /* which axes go down and across */
    int64_t columns; /* of the grid, as last drawn */
    bool groups;     /* show groups of a collective instead of slices */
} MeshState;

static MeshState *mesh_state(const Ui *ui)
{
    return ui->own[SHOW_MESH];
}

/* FULL_MOST: devices that mostly have cells which say slice and group both. GROUP_LINES: of the
 * groups of axes, which lines between nodes may take. */
enum {
    LABEL_MOST = 10,
    FIELD = 9,
    CELL_LINES = 3,
    FULL_MOST = 8,
    STAGES_SHOWN = 8,
    GROUP_LINES = 2
};

/* What is drawn: devices, what they hold of a tensor, who talks with whom about it next. */
typedef struct {
    const Ui *ui;
    const Slices *slices; /* NULL: devices only, without a tensor */
    const Step *talk;     /* the tensor's next collective; NULL: none */
    bool groups;          /* cells say groups instead of slices */
    MeshGrid grid;
    MeshPanels panels;
    int64_t panel; /* that is being drawn */
    int *marks;    /* SliceMark bits of what was drawn */
    bool *several; /* a block of devices that hold different slices was drawn */
    List *list;    /* which blocks of the mesh are drawn; where all are, which rows of them */
} MeshPicture;

static const Tiles *tiles_of(const MeshPicture *picture)
{
    return &picture->panels.tiles;
}

static int64_t position_of(const MeshPicture *picture, int64_t row, int64_t column)
{
    const Tiles *tiles = tiles_of(picture);
    return mesh_grid_position(&picture->grid, picture->panel, row * tiles->block_h,
                              column * tiles->block_w);
}

/* ---- cells ---- */

/* Equal numbers talk with each other. */
static void format_group(const MeshPicture *picture, int64_t position, TileForm form, Buf *out)
{
    int64_t group = mesh_group_number(picture->ui->session->mesh, picture->talk->atoms, position);

    if (form >= TILE_MARK)
        slice_letter(group, out);
    else
        buf_printf(out, "{%" PRId64 "}", group);
}

static void format_cell(const MeshPicture *picture, int64_t position, TileForm form, Buf *out)
{
    if (picture->groups)
        format_group(picture, position, form, out);
    else if (picture->slices) {
        slice_mark(picture->slices, position, (SliceForm)form, out);
        *picture->marks |= slice_marks(picture->slices, position);
    }
}

static int64_t what_at(const MeshPicture *picture, int64_t position)
{
    return picture->groups
               ? mesh_group_number(picture->ui->session->mesh, picture->talk->atoms, position)
               : slice_number(picture->slices, position);
}

/* All devices of a block hold the same slice, or are of one group. */
static bool is_uniform(const MeshPicture *picture, int64_t row, int64_t column)
{
    const Tiles *tiles = tiles_of(picture);
    const MeshGrid *grid = &picture->grid;
    AtomSet all = (AtomSet)((1u << grid->mesh->n_atoms) - 1);
    MeshBlock block = {row * tiles->block_h, (row + 1) * tiles->block_h, column * tiles->block_w,
                       (column + 1) * tiles->block_w};

    if (!picture->slices)
        return true;
    AtomSet atoms = picture->groups ? all & ~picture->talk->atoms : picture->slices->cuts;
    if (atoms == 0 || mesh_block_is_one(grid, &block, atoms))
        return true;
    if (grid->row_axis >= 0)
        return false;
    int64_t first = what_at(picture, position_of(picture, row, column));
    for (int64_t r = block.row; r < block.row_end && r < grid->n_rows; r++)
        for (int64_t c = block.column; c < block.column_end && c < grid->n_columns; c++)
            if (what_at(picture, mesh_grid_position(grid, picture->panel, r, c)) != first)
                return false;
    return true;
}

/* One column, or a few: the letter with its mark. */
static void draw_small(const MeshPicture *picture, int64_t row, int64_t column, bool here, Pen *pen)
{
    const Tiles *tiles = tiles_of(picture);
    int room = tiles->width > 1 ? tiles->width - 1 : 1;
    int64_t position = here ? picture->ui->rank : position_of(picture, row, column);
    Buf text = buf_new(picture->ui->frame);
    Style style = here ? ROLE_FOCUS | STYLE_SELECTED : ROLE_TEXT;

    if (tiles->block_h * tiles->block_w > 1 && !is_uniform(picture, row, column)) {
        *picture->several = true;
        pen_fit(pen, here ? style : ROLE_DIM, STR("*"), room);
        return;
    }
    format_cell(picture, position, tiles->form, &text);
    if (text.n == 0)
        buf_puts(&text, "o");
    Str shown = buf_str(&text);
    if (room == 1 && shown.n > 1 && (unsigned char)shown.s[0] < 0x80)
        shown.n = 1;
    pen_fit(pen, style, shown, room);
}

/* Nodes end between rows in frames, and there was no room for lines that say so. */
static bool lacks_rules(const MeshPicture *picture)
{
    const Tiles *tiles = tiles_of(picture);
    return picture->grid.node_rows > 0 && tiles->framed && !tiles->ruled && tiles->rules == 0;
}

/* "n1" in the cell, where nodes end between rows and no line says so, if it fits in all cells. */
static void draw_node(const MeshPicture *picture, int64_t position, Pen *pen)
{
    const Tiles *tiles = tiles_of(picture);
    const MeshGrid *grid = &picture->grid;
    int64_t last = grid->mesh->n_devices - 1;

    if (!lacks_rules(picture) || picture->panels.tail > 0)
        return;
    int widest =
        snprintf(NULL, 0, ">d%" PRId64 "< n%" PRId64 " A=", last, mesh_grid_node(grid, last));
    if (widest <= tiles->width)
        pen_printf(pen, ROLE_DIM, " n%" PRId64, mesh_grid_node(grid, position));
}

static void draw_device(const MeshPicture *picture, int64_t position, bool here, Pen *pen)
{
    const Ui *ui = picture->ui;
    Style style = here ? ROLE_FOCUS | STYLE_BOLD : ROLE_TEXT;
    Buf mark = buf_new(ui->frame);

    pen_puts(pen, style, here ? ">" : "");
    pen_printf(pen, style, "d%" PRId64 "%s", mesh_device(ui->session->mesh, position),
               here ? "<" : "");
    draw_node(picture, position, pen);
    int room = pen->area.w - pen->x;
    format_cell(picture, position, TILE_FULL, &mark);
    if (text_columns(buf_str(&mark)) >= room) {
        mark.n = 0;
        format_cell(picture, position, TILE_NUMBER, &mark);
    }
    pen_right(pen, style, buf_str(&mark), room);
}

static void draw_ranges(const MeshPicture *picture, int64_t position, Style style, Pen *pen)
{
    Buf text = buf_new(picture->ui->frame);
    int hatch = picture->slices->n_addends > 1 && pen->area.w - pen->x >= 14 ? 4 : 0;

    if (submesh_has(picture->slices->mesh, picture->slices->part, position))
        slice_ranges(picture->ui->frame, picture->slices, position, &text);
    pen_rune(pen, style, ' ');
    pen_fit(pen, style, buf_str(&text), pen->area.w - pen->x - hatch);
    pen_puts(pen, partial_style(picture->slices), hatch ? " ▒▒▒" : "");
}

/* What it takes, and the group that talks about it. */
static void draw_bytes(const MeshPicture *picture, int64_t position, Pen *pen)
{
    const Ui *ui = picture->ui;
    const Slices *slices = picture->slices;
    Dtype dtype = (Dtype)ui->session->inferred->dtype[ui->at.tensor];
    int64_t elements = slice_elements(slices, position);
    Buf group = buf_new(ui->frame);

    if (picture->talk) {
        buf_printf(&group, "%s ", step_kind_mark(picture->talk->kind));
        format_group(picture, position, TILE_FULL, &group);
    }
    int room = pen->area.w - pen->x - 1 - (int)group.n;
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_DIM, label_bytes(ui, dtype_bytes(dtype, elements)), room > 0 ? room : 0);
    pen_put(pen, ROLE_TEXT, buf_str(&group));
}

static void draw_cell(const void *context, int64_t row, int64_t column, int line, Pen *pen)
{
    const MeshPicture *picture = context;
    const Tiles *tiles = tiles_of(picture);
    int64_t panel, here_row, here_column;

    mesh_grid_find(&picture->grid, picture->ui->rank, &panel, &here_row, &here_column);
    bool here = panel == picture->panel && here_row / tiles->block_h == row &&
                here_column / tiles->block_w == column;
    int64_t position = position_of(picture, row, column);
    if (here && line == 0 && picture->ui->at.show == SHOW_MESH)
        pen_cursor(pen);
    if (tiles->form > TILE_SHORT)
        draw_small(picture, row, column, here, pen);
    else if (line == 0)
        draw_device(picture, position, here, pen);
    else if (line == 1 && picture->slices)
        draw_ranges(picture, position, here ? ROLE_FOCUS : ROLE_TEXT, pen);
    else if (picture->slices)
        draw_bytes(picture, position, pen);
}

/* ---- nodes ---- */

static int64_t node_of_cell(const void *context, int64_t row, int64_t column)
{
    const MeshPicture *picture = context;
    return mesh_cell_node(&picture->grid, tiles_of(picture), picture->panel, row, column);
}

static Str node_name(const void *context, int64_t node)
{
    const MeshPicture *picture = context;
    return str_from(arena_printf(picture->ui->frame, "node %" PRId64, node));
}

static Str nodes_of_row(const MeshPicture *picture, int64_t row)
{
    return mesh_row_nodes(picture->ui->frame, &picture->grid, tiles_of(picture), picture->panel,
                          row);
}

/* The nodes where they are others than those of the row above. */
static Str row_tail(const void *context, int64_t row)
{
    const MeshPicture *picture = context;
    Str nodes = nodes_of_row(picture, row);

    return row > 0 && str_eq(nodes, nodes_of_row(picture, row - 1)) ? STR("") : nodes;
}

static Str axis_label(const MeshPicture *picture, int axis, int64_t value)
{
    const Mesh *mesh = picture->ui->session->mesh;
    return axis < 0 ? STR("")
                    : str_from(arena_printf(picture->ui->frame, "%s %" PRId64,
                                            mesh->axes[axis].name, value));
}

static Str row_label(const void *context, int64_t row)
{
    const MeshPicture *picture = context;
    int64_t at = row * tiles_of(picture)->block_h;

    if (picture->grid.row_axis >= 0)
        return axis_label(picture, picture->grid.row_axis, at);
    if (picture->grid.n_rows == 1)
        return STR("");
    return axis_label(picture, picture->grid.column_axis, at * picture->grid.n_columns);
}

static Str column_label(const void *context, int64_t column)
{
    const MeshPicture *picture = context;

    int64_t at = column * tiles_of(picture)->block_w;
    Str label = axis_label(picture, picture->grid.column_axis, at);
    if ((int)label.n <= tiles_of(picture)->width - (tiles_of(picture)->framed ? 0 : 1))
        return label;
    return str_from(arena_printf(picture->ui->frame, "%" PRId64, at));
}

/* ---- the grid ---- */

static void draw_panel(MeshPicture *picture, int64_t panel, Rect area, Pen *pen)
{
    bool nodes = picture->grid.per_node > 0;
    const TilesFill fill = {.context = picture,
                            .cell = draw_cell,
                            .row_label = row_label,
                            .column_label = column_label,
                            .region = nodes ? node_of_cell : NULL,
                            .region_name = nodes && !lacks_rules(picture) ? node_name : NULL,
                            .row_tail = picture->panels.tail > 0 ? row_tail : NULL};
    const Tiles *tiles = tiles_of(picture);
    const Mesh *mesh = picture->ui->session->mesh;
    Buf name = buf_marked(picture->ui->frame);
    Pen inner = pen_new(pen->grid, rect_clip(area, pen->area));
    int64_t here_panel, here, column;

    picture->panel = panel;
    mesh_grid_find(&picture->grid, picture->ui->rank, &here_panel, &here, &column);
    here /= tiles->block_h;
    mesh_grid_panel(&picture->grid, panel, &name);
    if (name.n > 0) {
        pen_to(&inner, picture->panels.label, 0);
        pen_text(&inner, buf_text(&name), -1, -1);
        pen_line(&inner);
    }
    if (tiles->width < 5 && picture->grid.column_axis >= 0) {
        pen_to(&inner, picture->panels.label, inner.y);
        pen_printf(&inner, ROLE_DIM, "%s 0..%" PRId64, mesh->axes[picture->grid.column_axis].name,
                   picture->grid.n_columns - 1);
        pen_line(&inner);
    }
    int64_t top = list_scroll(here - tiles->shown / 2, here, tiles->rows, tiles->shown);
    tiles_draw(tiles, &fill, picture->panels.label, top, &inner);
    if (picture->panels.across * picture->panels.down >= picture->grid.n_panels)
        *picture->list = (List){.top = top, .n = tiles->rows, .height = tiles->shown};
}

/* Panels beside and below each other, those around the cursor's. */
static void draw_panels(MeshPicture *picture, Pen *pen)
{
    enum { GAP = 2 };
    const MeshPanels *panels = &picture->panels;
    int64_t here, row, column, shown = (int64_t)panels->across * panels->down;

    mesh_grid_find(&picture->grid, picture->ui->rank, &here, &row, &column);
    int64_t first = here / shown * shown;
    *picture->list = (List){.top = first, .n = picture->grid.n_panels, .height = (int)shown};
    for (int64_t i = 0; i < shown && first + i < picture->grid.n_panels; i++) {
        int x = (int)(i % panels->across) * (panels->w + GAP);
        int y = (int)(i / panels->across) * panels->h;
        Rect area = {pen->area.x + x, pen->area.y + pen->y + y, panels->w, panels->h};
        draw_panel(picture, first + i, area, pen);
    }
    int64_t rows = picture->grid.n_panels - first < shown ? picture->grid.n_panels - first : shown;
    int64_t down = (rows + panels->across - 1) / panels->across;
    pen_to(pen, 0, pen->y + (int)down * panels->h);
}

/* What a cell stands for. */
static void draw_rest(const MeshPicture *picture, Pen *pen)
{
    const Tiles *tiles = tiles_of(picture);
    Buf text = buf_new(picture->ui->frame);

    if (tiles->block_h * tiles->block_w <= 1)
        return;
    buf_printf(&text, "a cell is %" PRId64 " x %" PRId64 " devices%s", tiles->block_h,
               tiles->block_w, *picture->several ? ", * holds several slices" : "");
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_DIM, buf_str(&text), pen->area.w - pen->x);
    pen_line(pen);
}

/* ---- above and below it ---- */

static void draw_shown(const Ui *ui, const MeshPicture *picture, int32_t id, Pen *pen)
{
    int32_t tensor = ui->at.tensor;

    draw_field(pen, " SHOW", FIELD);
    if (picture->groups) {
        Buf text = buf_marked(ui->frame);
        buf_printf(&text, "groups of %s over ", step_kind_name(picture->talk->kind));
        mesh_format_set(ui->session->mesh, picture->talk->atoms, ".", &text);
        buf_puts(&text, "  ");
        pen_text(pen, buf_text(&text), -1, -1);
    }
    if (tensor < 0) {
        pen_puts(pen, ROLE_DIM, "no tensor is selected");
    } else {
        if (id < 0)
            pen_puts(pen, ROLE_DIM, "replicated, its size is not known: ");
        pen_text(pen, label_value(ui, tensor, id), -1, -1);
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_fit_name(pen, ROLE_HEAD, label_tensor(ui->session, ui->frame, tensor),
                     pen->area.w - pen->x);
    }
    pen_line(pen);
}

typedef struct {
    int mark; /* SliceMark */
    const char *sign, *means;
} MeshLegendRow;

static const MeshLegendRow legend[] = {
    {MARK_ADDEND, NULL, "partial sums of slice A, still to be reduced"},
    {MARK_COPY, "A=", "replicas of A"},
    {MARK_ALONE, "A", "the only holder of slice A"},
    {MARK_STRIDED, "A'", "in several pieces"},
    {MARK_SHORT, "A~", "smaller than the largest"},
    {MARK_EMPTY, "·", "holds nothing"},
};

/* Of the marks that are on the screen, on one line and a second. */
static void draw_legend(const MeshPicture *picture, Pen *pen)
{
    for (size_t i = 0; i < sizeof legend / sizeof legend[0]; i++) {
        Buf text = buf_new(picture->ui->frame);
        if (!(*picture->marks & legend[i].mark))
            continue;
        if (legend[i].mark == MARK_ADDEND)
            buf_printf(&text, "A Σ1/%" PRId64 "..%" PRId64 "/%" PRId64 " ▒",
                       picture->slices->n_addends, picture->slices->n_addends,
                       picture->slices->n_addends);
        else
            buf_puts(&text, legend[i].sign);
        buf_printf(&text, " %s", legend[i].means);
        if (pen->x > 0 && pen->x + 3 + text_columns(buf_str(&text)) > pen->area.w)
            pen_line(pen);
        pen_puts(pen, ROLE_DIM, pen->x ? "   " : " ");
        pen_put(pen, ROLE_DIM, buf_str(&text));
    }
    if (tiles_of(picture)->form >= TILE_MARK && picture->slices->n_slices > 52)
        pen_puts(pen, ROLE_DIM, "   letters repeat");
    if (pen->x > 0)
        pen_line(pen);
}

/* The device under the cursor: what it holds, who holds the same. */
static void draw_here(const Ui *ui, const Slices *slices, Pen *pen)
{
    Buf text = buf_new(ui->frame), peers = buf_new(ui->frame);

    if (submesh_has(slices->mesh, slices->part, ui->rank))
        slice_peers(slices, ui->rank, pen->area.w / 7, &peers);
    slice_letter(slice_number(slices, ui->rank), &text);
    buf_puts(&text, " [");
    slice_ranges(ui->frame, slices, ui->rank, &text);
    buf_puts(&text, "]");
    draw_field(pen, " SAME AS", FIELD);
    pen_printf(pen, ROLE_TEXT, "d%" PRId64 ": ", mesh_device(slices->mesh, ui->rank));
    pen_fit(pen, ROLE_TEXT,
            str_from(arena_printf(
                ui->frame, "%s%s%s", peers.n > 0 ? peers.s : "", peers.n > 0 ? "   " : "",
                slice_marks(slices, ui->rank) & MARK_EMPTY ? "holds nothing" : text.s)),
            pen->area.w - pen->x);
    pen_line(pen);
}

static int label_columns(const MeshGrid *grid)
{
    int axis = grid->row_axis >= 0 ? grid->row_axis : grid->n_rows > 1 ? grid->column_axis : -1;
    char last[32];

    if (axis < 0)
        return 1;
    int n = snprintf(last, sizeof last, " %" PRId64 " ", grid->mesh->axes[axis].size - 1);
    n += 1 + (int)strlen(grid->mesh->axes[axis].name);
    return n < LABEL_MOST ? n : LABEL_MOST;
}

/* A mesh of one axis is broken into rows that fit in as large cells as they can. */
static MeshGrid grid_of(const Ui *ui, int w, int h)
{
    static const int cells[] = {9, 5, 3, 1};
    MeshGrid grid = {0};

    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        int room = w > LABEL_MOST ? w - LABEL_MOST : 1;
        grid = mesh_grid(ui->session->mesh, mesh_state(ui)->turn, room / cells[i]);
        if (grid.row_axis >= 0 || grid.n_rows <= h)
            break;
    }
    mesh_grid_nodes(&grid, ui->session->machine);
    return grid;
}

/* Lines above and below the grid, by the lines there are. */
static void share(const MeshPicture *picture, int h, int *above, int *below)
{
    int least = picture->talk ? 5 : 3;

    *above = h >= 12 ? 3 : h >= 5 ? 1 : 0;
    *below = h >= 26 ? least + 2 : h >= 16 ? least : h >= 12 ? 3 : h >= 8 ? 1 : 0;
}

static void fit_panels(MeshPicture *picture, const Pen *pen, int above, int below)
{
    int h = pen->area.h - above - below > 1 ? pen->area.h - above - below : 1;

    picture->grid = grid_of(picture->ui, pen->area.w, h - 1);
    picture->panels =
        mesh_panels_fit(&picture->grid, label_columns(&picture->grid), CELL_LINES, pen->area.w, h);
}

static void draw(Ui *ui, Pen *pen)
{
    int32_t id = ui->at.tensor < 0 ? -1 : ui_plan(ui)->moved->made[ui->at.tensor];
    int above, below, marks = 0;
    bool several = false;
    Slices slices = {0};
    MeshPicture picture = {.ui = ui,
                           .slices = id >= 0 ? &slices : NULL,
                           .talk = id >= 0 ? mesh_next_step(ui) : NULL,
                           .marks = &marks,
                           .several = &several,
                           .list = &ui->list[SHOW_MESH]};

    if (id >= 0)
        slices = slices_of_tensor(ui_plan(ui), ui->at.tensor, ui->rank);
    share(&picture, pen->area.h, &above, &below);
    fit_panels(&picture, pen, above, below);
    if (lacks_rules(&picture) && below > GROUP_LINES)
        fit_panels(&picture, pen, above, below - GROUP_LINES);
    picture.groups =
        mesh_state(ui)->groups && picture.talk && picture.panels.tiles.form != TILE_FULL;
    mesh_state(ui)->columns = picture.grid.n_columns;
    if (above == 3) {
        mesh_draw_devices(ui, pen);
        mesh_draw_links(ui, pen);
    }
    if (above)
        draw_shown(ui, &picture, id, pen);
    draw_panels(&picture, pen);
    draw_rest(&picture, pen);
    if (id >= 0) {
        draw_legend(&picture, pen);
        draw_here(ui, &slices, pen);
        mesh_draw_next(ui, pen);
    }
    mesh_draw_groups(ui, pen);
    mesh_draw_nodes(ui, pen);
    int grid_end = above + picture.panels.h * picture.panels.down;
    int end = pen->y > grid_end + below ? pen->y : grid_end + below;
    ui->list[SHOW_MESH].wants = end < pen->area.h ? end : 0; /* the same cells fit into these */
}

/* ---- keys ---- */

/* Across and down the grid, and on into the next block. */
static bool move(Ui *ui, ActId act)
{
    MeshGrid grid = mesh_grid(ui->session->mesh, mesh_state(ui)->turn, mesh_state(ui)->columns);
    int64_t panel, row, column, by = 1;

    mesh_grid_find(&grid, ui->rank, &panel, &row, &column);
    if (act == ACT_PAGE_DOWN || act == ACT_PAGE_UP || act == ACT_HALF_DOWN || act == ACT_HALF_UP)
        by = grid.n_rows > 16 ? grid.n_rows / 8 : 4;
    if (act == ACT_RIGHT || act == ACT_LEFT) {
        column += act == ACT_RIGHT ? 1 : -1;
        row += column < 0 ? -1 : column >= grid.n_columns;
    } else if (act == ACT_DOWN || act == ACT_PAGE_DOWN || act == ACT_HALF_DOWN) {
        row += by;
    } else if (act == ACT_UP || act == ACT_PAGE_UP || act == ACT_HALF_UP) {
        row -= by;
    } else {
        return false;
    }
    column = (column + grid.n_columns) % grid.n_columns;
    panel += row < 0 ? -1 : row >= grid.n_rows;
    if (panel >= 0 && panel < grid.n_panels)
        ui->rank = mesh_grid_position(&grid, panel, (row + grid.n_rows * by) % grid.n_rows, column);
    return true;
}

static bool act(Ui *ui, ActId act)
{
    const Mesh *mesh = ui->session->mesh;
    int n = mesh_grid_turns(mesh);

    if (move(ui, act))
        return true;
    if (act == ACT_TOP || act == ACT_BOTTOM)
        ui->rank = act == ACT_TOP ? 0 : mesh->n_devices - 1;
    else if (act == ACT_DIM_NEXT || act == ACT_DIM_PREVIOUS)
        mesh_state(ui)->turn = (mesh_state(ui)->turn % n + (act == ACT_DIM_NEXT ? 1 : n - 1)) % n;
    else if (act == ACT_SHOW_MESH)
        mesh_state(ui)->groups = !mesh_state(ui)->groups;
    else if (act == ACT_OPEN && ui->at.tensor >= 0)
        ui_show(ui, SHOW_TENSOR);
    else
        return false;
    return true;
}

/* "  stage 0 4": those that the device works on. */
static void put_stages(const Ui *ui, Buf *out)
{
    const Stages *stages = ui_plan(ui)->decided->stages;
    int n = 0;

    for (int s = 0; stages && s < stages->n; s++) {
        if (!submesh_has(ui->session->mesh, ui_plan(ui)->decided->submeshes[stages->at[s].devices],
                         ui->rank))
            continue;
        if (n < STAGES_SHOWN)
            buf_printf(out, n == 0 ? "  stage %d" : " %d", s);
        n++;
    }
    if (n > STAGES_SHOWN)
        buf_printf(out, " +%d", n - STAGES_SHOWN);
    else if (stages && n == 0)
        buf_puts(out, "  no stage");
}

static void note(Ui *ui, Buf *out)
{
    const Mesh *mesh = ui->session->mesh;

    buf_printf(out, "d%" PRId64 " = (", mesh_device(mesh, ui->rank));
    mesh_format_coords(mesh, ~0u, ui->rank, " ", ", ", out);
    buf_printf(out, ")  node %" PRId64,
               mesh_device(mesh, ui->rank) / ui->session->machine->devices_per_node);
    put_stages(ui, out);
    if (mesh_next_step(ui) && mesh->n_devices > FULL_MOST)
        buf_printf(out, "   4 again: %s",
                   mesh_state(ui)->groups ? "slices" : "groups of its collective");
}

/* A row per device: where it stands, what it holds. */
static void table(Ui *ui, Sheet *out)
{
    const Mesh *mesh = ui->session->mesh;
    int32_t id = ui->at.tensor < 0 ? -1 : ui_plan(ui)->moved->made[ui->at.tensor];
    Slices slices = {0};

    if (id >= 0)
        slices = slices_of_tensor(ui_plan(ui), ui->at.tensor, ui->rank);
    sheet_head(out, "device# node#");
    mesh_each_axis (axis, mesh)
        sheet_column(out, axis->name, true);
    sheet_head(out, "slice addend# same_on");
    for (int64_t at = 0; at < mesh->n_devices; at++) {
        Buf letter = buf_new(out->arena), peers = buf_new(out->arena);
        sheet_number(out, (double)mesh_device(mesh, at));
        int64_t node = mesh_device(mesh, at) / ui->session->machine->devices_per_node;
        sheet_number(out, (double)node);
        for (int a = 0; a < mesh->n_axes; a++)
            sheet_number(out, (double)mesh_coord(mesh, a, at));
        if (id >= 0 && slice_elements(&slices, at) > 0) {
            slice_letter(slice_number(&slices, at), &letter);
            slice_peers(&slices, at, 64, &peers);
        }
        sheet_put(out, buf_str(&letter));
        sheet_number(out,
                     id >= 0 && slices.n_addends > 1 ? (double)slice_addend(&slices, at) + 1 : 0);
        sheet_put(out, buf_str(&peers));
    }
}

static const Hint hints[] = {
    {ACT_RIGHT, "device"},
    {ACT_DOWN, "row"},
    {ACT_DIM_NEXT, "axes"},
    {ACT_SHOW_MESH, "groups"},
    {ACT_NEXT_TENSOR, "next tensor"},
    {ACT_PICK_TENSOR, "tensors"},
    {ACT_RESHARD, "reshard"},
    {ACT_OPEN, "tensor"},
    {ACT_WHY, "why"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

static void enter(Ui *ui, ShowId from)
{
    mesh_state(ui)->groups = from == SHOW_COMM || from == SHOW_COMM_DETAIL;
}

const View view_mesh = {
    .name = "Mesh",
    .draw = draw,
    .act = act,
    .note = note,
    .list_at = -1,
    .hints = hints,
    .table = table,
    .enter = enter,
    .own_size = sizeof(MeshState),
};
