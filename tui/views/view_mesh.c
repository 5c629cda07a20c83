#include "tui/views/label.h"
#include "tui/views/slices.h"

/* ORDER CELL: how much of a device is drawn, by the room there is. */
typedef enum { CELL_FULL, CELL_SHORT, CELL_NUMBER, CELL_MARK, CELL_LETTER } CellForm;

typedef struct {
    int width, lines; /* without frames */
    bool framed;
} CellSize;

static const CellSize cell_sizes[] = {
    {12, 3, true}, {8, 1, true}, {5, 1, false}, {3, 1, false}, {1, 1, false}};

enum { FULL_MOST = 18, LEGEND_LINES = 7, LABEL_MOST = 14 };

static const char sum_mark[] = "Σ";

/* The last axis goes across, the others down. */
typedef struct {
    const Ui *ui;
    const Slices *slices; /* NULL: no tensor, only devices */
    int64_t n_columns, n_rows;
    int label;
    CellForm form;
    int cell; /* columns of one */
} Picture;

static int row_lines(const Picture *picture)
{
    const CellSize *size = &cell_sizes[picture->form];
    return size->lines + (picture->form == CELL_FULL ? 1 : 0);
}

static void format_row_label(const Mesh *mesh, int64_t position, Buf *out)
{
    for (int a = 0; a + 1 < mesh->n_axes; a++)
        buf_printf(out, "%s%s %lld", a ? " " : "", mesh->axes[a].name,
                   (long long)mesh_coord(mesh, a, position));
}

static Picture picture_of(const Ui *ui, const Slices *slices, int w, int h)
{
    const Mesh *mesh = ui->session->mesh;
    Picture picture = {.ui = ui, .slices = slices, .n_columns = 1};
    Buf label = buf_new(ui->frame);

    if (mesh->n_axes > 0)
        picture.n_columns = mesh->axes[mesh->n_axes - 1].size;
    picture.n_rows = mesh->n_devices / picture.n_columns;
    format_row_label(mesh, mesh->n_devices - 1, &label);
    picture.label = (int)label.n < LABEL_MOST ? (int)label.n : LABEL_MOST;
    for (int form = CELL_FULL; form <= CELL_LETTER; form++) {
        const CellSize *size = &cell_sizes[form];
        int64_t columns = picture.n_columns * (size->width + size->framed);
        picture.form = (CellForm)form;
        if (picture.label + 3 + columns <= w &&
            (form > CELL_SHORT || picture.n_rows * row_lines(&picture) + 2 <= h))
            break;
    }
    picture.cell = cell_sizes[picture.form].width;
    int64_t spare = (w - picture.label - 3) / picture.n_columns - 1;
    if (picture.form == CELL_FULL)
        picture.cell = (int)(spare < FULL_MOST ? spare : FULL_MOST);
    return picture;
}

/* The slice's letter and its mark: "A", "A=", "A~"; addends as "A Σ2/4", "AΣ2" where it is brief.
 */
static void format_slice(const Picture *picture, int64_t position, Buf *out)
{
    const Slices *slices = picture->slices;
    bool brief = picture->form > CELL_SHORT;

    if (!slices)
        return;
    slice_letter(slice_number(slices, position), out);
    if (slices->uneven && !brief)
        buf_putc(out, '~');
    if (slices->n_addends > 1) {
        buf_printf(out, "%s%s", brief ? "" : " ", picture->ui->ascii ? "+" : sum_mark);
        if (picture->form <= CELL_NUMBER)
            buf_printf(out, "%lld", (long long)slice_addend(slices, position) + 1);
        if (picture->form == CELL_FULL)
            buf_printf(out, "/%lld", (long long)slices->n_addends);
    } else if (slices->n_copies > 1) {
        buf_putc(out, '=');
    }
}

static void format_ranges(const Picture *picture, int64_t position, Buf *out)
{
    for (int d = 0; d < picture->slices->sharding->n_dims; d++) {
        buf_puts(out, d ? "," : "");
        if (slice_parts(picture->slices, d) > 1)
            slice_range(picture->ui->frame, picture->slices, d, position, out);
        else
            buf_putc(out, ':');
    }
}

/* One line of a device's cell. */
static void draw_cell(const Picture *picture, int64_t position, int line, Pen *pen)
{
    const Ui *ui = picture->ui;
    bool here = position == ui->rank;
    Style style = here ? ROLE_FOCUS : ROLE_TEXT;
    Buf text = buf_new(ui->frame);

    if (picture->form > CELL_SHORT) {
        int room = cell_sizes[picture->form].width > 1 ? cell_sizes[picture->form].width - 1 : 1;
        format_slice(picture, position, &text);
        Str slice = picture->form == CELL_LETTER ? (Str){text.s, text.n > 0} : buf_str(&text);
        pen_fit(pen, here ? ROLE_FOCUS | STYLE_SELECTED : ROLE_TEXT, slice, room);
        return;
    }
    if (line == 0) {
        buf_printf(&text, "%sd%lld%s", here ? ">" : "",
                   (long long)mesh_device(ui->session->mesh, position), here ? "<" : "");
        int n = (int)text.n;
        Buf slice = buf_new(ui->frame);
        format_slice(picture, position, &slice);
        pen_put(pen, style, buf_str(&text));
        pen_right(pen, style, buf_str(&slice), picture->cell - n);
    } else if (line == 1) {
        if (picture->slices)
            format_ranges(picture, position, &text);
        pen_rune(pen, style, ' ');
        pen_fit(pen, style, buf_str(&text), picture->cell - 1);
    } else if (picture->slices) {
        int64_t elements =
            sharding_local_elements(picture->slices->sharding, picture->slices->mesh, position);
        Dtype dtype = (Dtype)ui->session->inferred->dtype[ui->at.tensor];
        pen_rune(pen, style, ' ');
        pen_fit(pen, ROLE_DIM, label_bytes(ui, dtype_bytes(dtype, elements)), picture->cell - 1);
    }
}

static void draw_rule(const Picture *picture, const uint32_t *joint, Pen *pen)
{
    pen_to(pen, picture->label + 2, pen->y);
    for (int64_t c = 0; c < picture->n_columns; c++) {
        pen_rune(pen, ROLE_FRAME, joint[c ? 1 : 0]);
        for (int i = 0; i < picture->cell; i++)
            pen_rune(pen, ROLE_FRAME, 0x2500);
    }
    pen_rune(pen, ROLE_FRAME, joint[2]);
    pen_line(pen);
}

static void draw_row(const Picture *picture, int64_t row, Pen *pen)
{
    const CellSize *size = &cell_sizes[picture->form];
    Buf label = buf_new(picture->ui->frame);

    format_row_label(picture->ui->session->mesh, row * picture->n_columns, &label);
    for (int line = 0; line < size->lines; line++) {
        if (line == size->lines / 2)
            pen_fit(pen, ROLE_HEAD, buf_str(&label), picture->label);
        pen_to(pen, picture->label + 2, pen->y);
        for (int64_t c = 0; c < picture->n_columns && pen->x < pen->area.w; c++) {
            int64_t position = row * picture->n_columns + c;
            if (size->framed)
                pen_rune(pen, ROLE_FRAME, 0x2502);
            int end = pen->x + picture->cell;
            if (position == picture->ui->rank && line == 0 && picture->ui->at.show == SHOW_MESH)
                pen_cursor(pen);
            draw_cell(picture, position, line, pen);
            pen_tab(pen, end);
        }
        if (size->framed)
            pen_rune(pen, ROLE_FRAME, 0x2502);
        pen_line(pen);
    }
}

static void draw_column_labels(const Picture *picture, Pen *pen)
{
    const Mesh *mesh = picture->ui->session->mesh;
    const char *name = mesh->n_axes ? mesh->axes[mesh->n_axes - 1].name : "";
    int step = picture->cell + (cell_sizes[picture->form].framed ? 1 : 0);

    pen_to(pen, picture->label + 3, pen->y);
    if (picture->form > CELL_SHORT) {
        pen_printf(pen, ROLE_HEAD, "%s 0..%lld", name, (long long)picture->n_columns - 1);
        pen_line(pen);
        return;
    }
    for (int64_t c = 0; c < picture->n_columns && pen->x < pen->area.w; c++)
        pen_fit(pen, ROLE_HEAD,
                str_from(arena_printf(picture->ui->frame, "%s %lld", name, (long long)c)), step);
    pen_line(pen);
}

static void draw_devices(const Picture *picture, int h, Pen *pen)
{
    static const uint32_t top[] = {0x250c, 0x252c, 0x2510}, middle[] = {0x251c, 0x253c, 0x2524},
                          bottom[] = {0x2514, 0x2534, 0x2518};
    bool rules = picture->form == CELL_FULL;
    int64_t fit = (h - 1 - (rules ? 1 : 0)) / row_lines(picture);
    int64_t here = picture->ui->rank / picture->n_columns;
    int64_t first = ui_scroll(here - fit / 2, here, picture->n_rows, (int)fit);

    draw_column_labels(picture, pen);
    for (int64_t row = first; row < picture->n_rows && row < first + fit; row++) {
        if (rules)
            draw_rule(picture, row == first ? top : middle, pen);
        draw_row(picture, row, pen);
    }
    if (rules)
        draw_rule(picture, bottom, pen);
    if (picture->n_rows <= fit)
        return;
    pen_printf(pen, ROLE_DIM, " rows %lld to %lld of %lld", (long long)first,
               (long long)(first + fit - 1), (long long)picture->n_rows);
    pen_line(pen);
}

/* What happens to this value next: its reshard's groups, and what they run over. */
static void draw_reshards(const Ui *ui, Pen *pen)
{
    const Plan *plan = ui_plan(ui);
    const Session *session = ui->session;

    for (int r = 0; r < plan->n_reshards; r++) {
        if (plan->reshards[r].tensor != ui->at.tensor)
            continue;
        const ReshardPath *path = plan->reshards[r].path;
        const char *field = " NEXT";
        for (int s = 0; s < path->n_steps && !pen_full(pen); s++) {
            const Step *step = &path->step[s];
            Buf text = buf_new(ui->frame);
            if (step->kind == STEP_SLICE)
                continue;
            const Link *link = machine_link(&session->machine, session->mesh, step->atoms);
            buf_printf(&text, "%s ", step_kind_name(step->kind));
            comm_format_groups(session->mesh, step->atoms, &text);
            draw_field(pen, field, 9);
            field = "";
            draw_sharding(ui, pen, buf_str(&text), -1, -1);
            pen_line(pen);
            pen_tab(pen, 9);
            pen_put(pen, ROLE_TEXT, label_us(ui, step->us));
            pen_puts(pen, ROLE_TEXT, " for ");
            pen_put(pen, ROLE_TEXT, label_bytes(ui, step->bytes));
            pen_printf(
                pen, ROLE_TEXT, " over %s, %s, %s", link->name,
                link == &session->machine.inside ? "inside nodes" : "between nodes",
                price_step(&session->machine, session->mesh, step->kind, step->atoms, step->bytes)
                    .algorithm);
            pen_line(pen);
        }
        return;
    }
}

/* The groups of each axis: on one line where they fit. */
static void draw_groups(const Ui *ui, Pen *pen)
{
    const Mesh *mesh = ui->session->mesh;

    draw_field(pen, " GROUPS", 9);
    for (int a = 0; a < mesh->n_axes; a++) {
        Buf text = buf_new(ui->frame);
        buf_printf(&text, "%s ", mesh->axes[a].name);
        comm_format_groups(mesh, mesh_axis_atoms(mesh, a), &text);
        if (a > 0 && pen->x + 3 + (int)text.n > pen->area.w)
            pen_line(pen);
        pen_tab(pen, pen->x < 9 ? 9 : pen->x + (a ? 3 : 0));
        draw_sharding(ui, pen, buf_str(&text), -1, -1);
    }
    pen_line(pen);
}

static void draw_legend(const Ui *ui, const Slices *slices, Pen *pen)
{
    Buf peers = buf_new(ui->frame);

    if (slices->n_addends > 1)
        pen_printf(pen, ROLE_DIM, " A %s2/%lld one of %lld addends of slice A, a sum still due",
                   sum_mark, (long long)slices->n_addends, (long long)slices->n_addends);
    else if (slices->n_copies > 1)
        pen_puts(pen, ROLE_DIM, " A= a replica of A: the same bytes elsewhere");
    else
        pen_puts(pen, ROLE_DIM, " A the only holder of slice A");
    if (slices->uneven)
        pen_puts(pen, ROLE_DIM, "   A~ slices are of unequal size");
    pen_line(pen);
    slice_peers(slices, ui->rank, 12, &peers);
    draw_field(pen, " SAME AS", 9);
    pen_printf(pen, ROLE_TEXT, "d%lld: %s", (long long)mesh_device(slices->mesh, ui->rank),
               peers.s);
    pen_line(pen);
}

static void draw(Ui *ui, Pen *pen)
{
    const Session *session = ui->session;
    int32_t tensor = ui->at.tensor, id = tensor < 0 ? -1 : ui_plan(ui)->made[tensor];
    Slices slices;
    Buf text = buf_new(ui->frame);

    pen_rune(pen, ROLE_TEXT, ' ');
    mesh_format(session->mesh, &text);
    buf_printf(&text, "  %lld x %s, %lld a node", (long long)session->mesh->n_devices,
               session->machine.name, (long long)session->machine.devices_per_node);
    draw_sharding(ui, pen, buf_str(&text), -1, -1);
    pen_line(pen);
    draw_field(pen, " SHOW", 9);
    if (id >= 0) {
        slices = slices_of(shardings_at(ui_plan(ui)->shardings, id), session->mesh);
        draw_sharding(ui, pen, label_sharding(ui, id), -1, -1);
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_fit_tail(pen, ROLE_HEAD, label_tensor(session, ui->frame, tensor),
                     pen->area.w - pen->x);
    } else {
        pen_puts(pen, ROLE_DIM,
                 tensor < 0 ? "no tensor is selected" : "whole on each, its size is not known: ");
        if (tensor >= 0) {
            pen_put(pen, ROLE_TEXT, label_value(ui, tensor, id));
            pen_puts(pen, ROLE_TEXT, "  ");
            pen_put(pen, ROLE_HEAD, label_tensor(session, ui->frame, tensor));
        }
    }
    pen_line(pen);
    int h = pen->area.h - pen->y - LEGEND_LINES;
    Picture picture = picture_of(ui, id >= 0 ? &slices : NULL, pen->area.w, h);
    draw_devices(&picture, h, pen);
    if (id >= 0)
        draw_legend(ui, &slices, pen);
    draw_groups(ui, pen);
    draw_reshards(ui, pen);
}

static bool act(Ui *ui, ActId act, Key last)
{
    const Mesh *mesh = ui->session->mesh;
    int64_t n_columns = mesh->n_axes ? mesh->axes[mesh->n_axes - 1].size : 1;
    int64_t to = ui->rank;

    (void)last;
    if (act == ACT_RIGHT)
        to++;
    else if (act == ACT_LEFT)
        to--;
    else if (act == ACT_DOWN || act == ACT_PAGE_DOWN || act == ACT_HALF_DOWN)
        to += act == ACT_DOWN ? n_columns : 4 * n_columns;
    else if (act == ACT_UP || act == ACT_PAGE_UP || act == ACT_HALF_UP)
        to -= act == ACT_UP ? n_columns : 4 * n_columns;
    else if (act == ACT_TOP)
        to = 0;
    else if (act == ACT_BOTTOM)
        to = mesh->n_devices - 1;
    else if (act == ACT_OPEN && ui->at.tensor >= 0)
        ui_show(ui, SHOW_TENSOR);
    else
        return false;
    if (to >= 0 && to < mesh->n_devices)
        ui->rank = to;
    return true;
}

static void note(Ui *ui, Buf *out)
{
    const Mesh *mesh = ui->session->mesh;

    buf_printf(out, "d%lld = (", (long long)mesh_device(mesh, ui->rank));
    for (int a = 0; a < mesh->n_axes; a++)
        buf_printf(out, "%s%s %lld", a ? ", " : "", mesh->axes[a].name,
                   (long long)mesh_coord(mesh, a, ui->rank));
    buf_printf(out, ")  node %lld",
               (long long)(mesh_device(mesh, ui->rank) / ui->session->machine.devices_per_node));
}

static const Hint hints[] = {
    {ACT_RIGHT, "device"},
    {ACT_DOWN, "row"},
    {ACT_NEXT_TENSOR, "next tensor"},
    {ACT_RESHARD, "reshard"},
    {ACT_OPEN, "tensor"},
    {ACT_WHY, "why"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

const View view_mesh = {
    .name = "Mesh",
    .draw = draw,
    .act = act,
    .note = note,
    .list_at = -1,
    .hints = hints,
};
