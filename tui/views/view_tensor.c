#include "tui/views/label.h"
#include "tui/views/slices.h"

#include <assert.h>

enum { CELL_LEAST = 6, CELL_MOST = 19, RANGE_COLUMNS = 11, AFTER_PICTURE = 4, NARROW = 76 };

static const char sum_mark[] = "Σ", cut_note[] = "…";

/* Two dims of a tensor as rows and columns of slices; -1: one row, or one column. */
typedef struct {
    const Ui *ui;
    const Slices *slices;
    int row_dim, column_dim;
    int64_t n_rows, n_columns; /* in all */
    int shown_rows, shown_columns, cell;
    bool rules; /* lines between rows */
} Picture;

static Str range_text(const Picture *picture, int d, int64_t part)
{
    Buf text = buf_new(picture->ui->frame);
    int64_t holder = slice_holder(picture->slices, d, part, -1, 0, picture->ui->rank);

    slice_range(picture->ui->frame, picture->slices, d, holder, &text);
    return buf_str(&text);
}

/* The dim under the cursor and the first other one, of those that are cut. */
static void choose_dims(const Ui *ui, const Slices *slices, int *row, int *column)
{
    int cut[DIMS_MAX], n = 0;

    for (int d = 0; d < slices->sharding->n_dims; d++)
        if (slice_parts(slices, d) > 1)
            cut[n++] = d;
    *row = n > 1 ? cut[0] : -1;
    *column = n > 1 ? cut[1] : n > 0 ? cut[0] : -1;
    for (int i = 2; i < n; i++)
        if (cut[i] == ui->at.dim)
            *column = cut[i];
}

static Picture picture_of(const Ui *ui, const Slices *slices, int w, int h)
{
    Picture picture = {.ui = ui, .slices = slices, .n_rows = 1, .n_columns = 1};
    int room = w - RANGE_COLUMNS - 2;

    choose_dims(ui, slices, &picture.row_dim, &picture.column_dim);
    if (picture.row_dim >= 0)
        picture.n_rows = slice_parts(slices, picture.row_dim);
    if (picture.column_dim >= 0)
        picture.n_columns = slice_parts(slices, picture.column_dim);
    int64_t fit = room / (CELL_LEAST + 1);
    picture.shown_columns = (int)(picture.n_columns < fit ? picture.n_columns : fit);
    if (picture.shown_columns < 1)
        picture.shown_columns = 1;
    int cell = room / picture.shown_columns - 1;
    picture.cell = cell > CELL_MOST ? CELL_MOST : cell;
    if (picture.n_columns == 1)
        picture.cell = room - 1 < 40 ? room - 1 : 40;
    picture.rules = 2 * picture.n_rows + 2 <= h;
    int lines = picture.rules ? h / 2 - 1 : h - 3;
    picture.shown_rows = (int)(picture.n_rows < lines ? picture.n_rows : lines);
    return picture;
}

static void draw_rule(const Picture *picture, const uint32_t *joint, Pen *pen)
{
    pen_tab(pen, RANGE_COLUMNS);
    for (int c = 0; c < picture->shown_columns; c++) {
        pen_rune(pen, ROLE_FRAME, joint[c ? 1 : 0]);
        for (int i = 0; i < picture->cell; i++)
            pen_rune(pen, ROLE_FRAME, 0x2500);
    }
    pen_rune(pen, ROLE_FRAME, joint[2]);
    pen_line(pen);
}

/* "A", "A=" for replicas, with the sum mark for addends; then the devices that hold it. */
static void draw_cell(const Picture *picture, int64_t row, int64_t column, Pen *pen)
{
    const Slices *slices = picture->slices;
    const Ui *ui = picture->ui;
    int64_t holder =
        slice_holder(slices, picture->row_dim, row, picture->column_dim, column, ui->rank);
    bool here = slice_number(slices, holder) == slice_number(slices, ui->rank);
    Buf text = buf_new(ui->frame), peers = buf_new(ui->frame);

    slice_letter(slice_number(slices, holder), &text);
    if (slices->n_addends > 1)
        buf_puts(&text, ui->ascii ? "+" : sum_mark);
    else if (slices->n_copies > 1)
        buf_putc(&text, '=');
    slice_peers(slices, here ? ui->rank : holder, picture->cell / 3, &peers);
    buf_printf(&text, " %sd%lld%s", here ? ">" : "",
               (long long)mesh_device(slices->mesh, here ? ui->rank : holder), here ? "<" : "");
    if (slices->n_addends * slices->n_copies > 1)
        buf_printf(&text, " %s", peers.s);
    pen_rune(pen, ROLE_FRAME, 0x2502);
    pen_fit(pen, here ? ROLE_HEAD : ROLE_TEXT, buf_str(&text), picture->cell);
}

static void draw_ranges(const Picture *picture, Pen *pen)
{
    pen_tab(pen, RANGE_COLUMNS);
    for (int c = 0; c < picture->shown_columns; c++) {
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_fit(pen, ROLE_DIM,
                picture->column_dim < 0 ? STR("") : range_text(picture, picture->column_dim, c),
                picture->cell);
    }
    if (picture->shown_columns < picture->n_columns)
        pen_printf(pen, ROLE_DIM, "%s%lld in all", cut_note, (long long)picture->n_columns);
    pen_line(pen);
}

static void draw_picture(const Picture *picture, Pen *pen)
{
    static const uint32_t top[] = {0x250c, 0x252c, 0x2510}, middle[] = {0x251c, 0x253c, 0x2524},
                          bottom[] = {0x2514, 0x2534, 0x2518};

    draw_ranges(picture, pen);
    draw_rule(picture, top, pen);
    for (int r = 0; r < picture->shown_rows; r++) {
        if (r > 0 && picture->rules)
            draw_rule(picture, middle, pen);
        Str range = picture->row_dim < 0 ? STR("") : range_text(picture, picture->row_dim, r);
        pen_right(pen, ROLE_DIM, range, RANGE_COLUMNS - 1);
        pen_tab(pen, RANGE_COLUMNS);
        for (int c = 0; c < picture->shown_columns; c++)
            draw_cell(picture, r, c, pen);
        pen_rune(pen, ROLE_FRAME, 0x2502);
        if (r + 1 == picture->shown_rows && picture->n_rows > picture->shown_rows)
            pen_printf(pen, ROLE_DIM, " %s%lld rows", cut_note, (long long)picture->n_rows);
        pen_line(pen);
    }
    draw_rule(picture, bottom, pen);
}

/* "A 0:4,0:28 >d0<  B 0:4,28:56 d1": what a picture shows, in a line. */
static void draw_list(const Picture *picture, Pen *pen)
{
    const Slices *slices = picture->slices;
    int64_t rank = picture->ui->rank;
    Buf text = buf_new(picture->ui->frame);

    for (int64_t i = 0; i < picture->n_rows * picture->n_columns; i++) {
        int64_t row = i / picture->n_columns, column = i % picture->n_columns;
        int64_t holder =
            slice_holder(slices, picture->row_dim, row, picture->column_dim, column, rank);
        bool here = slice_number(slices, holder) == slice_number(slices, rank);
        buf_puts(&text, i > 0 ? "  " : "");
        slice_letter(slice_number(slices, holder), &text);
        buf_putc(&text, ' ');
        if (picture->row_dim >= 0)
            buf_printf(&text, "%.*s,", STR_ARG(range_text(picture, picture->row_dim, row)));
        buf_add(&text, range_text(picture, picture->column_dim, column));
        buf_printf(&text, here ? " >d%lld<" : " d%lld",
                   (long long)mesh_device(slices->mesh, here ? rank : holder));
        if ((int)text.n > pen->area.w * 2)
            break;
    }
    pen_fit(pen, ROLE_TEXT, buf_str(&text), pen->area.w - pen->x);
    pen_line(pen);
}

static void draw_slices(const Ui *ui, const Slices *slices, int h, Pen *pen)
{
    Picture picture = picture_of(ui, slices, pen->area.w, h - 1);

    draw_field(pen, " SLICES", 9);
    if (picture.column_dim < 0) {
        pen_printf(pen, ROLE_TEXT, "one, whole: %s",
                   slices->n_addends > 1 ? "every device holds an addend of it"
                                         : "every device holds all of it");
        pen_line(pen);
        return;
    }
    if (picture.shown_rows <= 0) {
        draw_list(&picture, pen);
        return;
    }
    if (picture.row_dim >= 0)
        pen_printf(pen, ROLE_TEXT, "rows = dim %d   ", picture.row_dim);
    pen_printf(pen, ROLE_TEXT, "columns = dim %d   ", picture.column_dim);
    pen_puts(pen, ROLE_DIM, "the rest as on the chosen rank");
    pen_line(pen);
    draw_picture(&picture, pen);
}

static void draw_views(const Ui *ui, const Sharding *sharding, Pen *pen)
{
    static const ShardingView shown[] = {VIEW_OURS, VIEW_DIMS_MAPPING, VIEW_PLACEMENTS,
                                         VIEW_PARTITION_SPEC, VIEW_SHARDY};

    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        ShardingView view = i == 0 && ui->ascii ? VIEW_OURS_ASCII : shown[i];
        Buf text = buf_new(ui->frame);
        Error err = {0};
        pen_rune(pen, ROLE_TEXT, ' ');
        draw_field(pen, i == 0 ? "shape/axis" : sharding_view_name(view), 15);
        if (sharding_format(sharding, ui->session->mesh, view, &text, &err)) {
            draw_sharding(ui, pen, buf_str(&text), -1, pen->area.w - pen->x);
        } else {
            pen_fit(pen, ROLE_DIM, str_from(err.text), pen->area.w - pen->x);
        }
        pen_line(pen);
    }
}

static void draw_name(const Ui *ui, Pen *pen)
{
    int32_t tensor = ui->at.tensor;
    Str label = str_from(naming_label(ui->session->naming, tensor));
    int room = pen->area.w - 22;

    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit_tail(pen, ROLE_HEAD, label, text_columns(label) < room ? text_columns(label) : room);
    pen_printf(pen, ROLE_TEXT, "  %s %s", dtype_name((Dtype)ui->session->inferred->dtype[tensor]),
               label_tensor_kind(ui, tensor));
    pen_line(pen);
}

static void draw_head(const Ui *ui, const Slices *slices, int32_t id, Pen *pen)
{
    int32_t tensor = ui->at.tensor;
    Shape local;
    Buf shapes = buf_new(ui->frame);
    Dtype dtype = (Dtype)ui->session->inferred->dtype[tensor];
    int64_t elements = sharding_local_elements(slices->sharding, slices->mesh, ui->rank);

    draw_name(ui, pen);
    sharding_local_shape(slices->sharding, slices->mesh, ui->rank, &local);
    shape_format(inferred_shape(ui->session->inferred, tensor), &shapes);
    pen_printf(pen, ROLE_TEXT, " global %s %.*s", shapes.s,
               STR_ARG(label_bytes(ui, inferred_bytes(ui->session->inferred, tensor))));
    if (pen->area.w < NARROW)
        pen_line(pen);
    shapes = buf_new(ui->frame);
    shape_format(&local, &shapes);
    pen_printf(pen, ROLE_TEXT, "%slocal %s %.*s", pen->x ? "   " : " ", shapes.s,
               STR_ARG(label_bytes(ui, dtype_bytes(dtype, elements))));
    if (slices->n_copies > 1)
        pen_printf(pen, ROLE_TEXT, "  copies %lld", (long long)slices->n_copies);
    if (slices->uneven)
        pen_puts(pen, ROLE_NOTE, "  uneven ~");
    if (id != ui_plan(ui)->sharding[tensor]) {
        pen_puts(pen, ROLE_NOTE, "  then ");
        draw_sharding(ui, pen, label_sharding(ui, ui_plan(ui)->sharding[tensor]), -1, -1);
    }
    pen_line(pen);
}

static void draw_dims(Ui *ui, const Slices *slices, Pen *pen)
{
    const Shape *shape = inferred_shape(ui->session->inferred, ui->at.tensor);

    assert(shape);
    draw_field(pen, " DIM        size  cut                 local  holds", 51);
    pen_printf(pen, ROLE_HEAD, "on d%lld", (long long)mesh_device(slices->mesh, ui->rank));
    pen_line(pen);
    for (int d = 0; d < slices->sharding->n_dims; d++) {
        const Cut *cut = &slices->sharding->dim[d];
        Buf text = buf_new(ui->frame), range = buf_new(ui->frame);
        pen_printf(pen, ROLE_TEXT, "  %d", d);
        pen_right(pen, ROLE_TEXT,
                  str_from(arena_printf(ui->frame, "%lld", (long long)shape->dim[d])), 13);
        pen_tab(pen, 18);
        cut_format(cut, slices->mesh, &text);
        draw_sharding(ui, pen, cut_is_whole(cut) ? STR("-") : buf_str(&text), -1, 16);
        pen_right(pen, ROLE_TEXT,
                  str_from(arena_printf(ui->frame, "%lld",
                                        (long long)cut_local_size(cut, slices->mesh, ui->rank))),
                  9);
        slice_range(ui->frame, slices, d, ui->rank, &range);
        pen_printf(pen, ROLE_TEXT, "  %s", range.s);
        const Decision *pin = plan_pin_of(ui_plan(ui), PIN_TENSOR_DIM, ui->at.tensor, d);
        if (pin) {
            pen_puts(pen, ROLE_NOTE, "  pinned ");
            pen_put(pen, ROLE_NOTE, label_pin(ui, pin));
        }
        if (d == ui->at.dim)
            ui_mark_row(ui, SHOW_TENSOR, pen, pen->y);
        pen_line(pen);
    }
}

static void draw_rank(const Ui *ui, const Slices *slices, Pen *pen)
{
    Buf text = buf_new(ui->frame), peers = buf_new(ui->frame);

    buf_printf(&text, " d%lld", (long long)mesh_device(slices->mesh, ui->rank));
    for (int a = 0; a < slices->mesh->n_axes; a++)
        buf_printf(&text, "%s%s %lld", a ? ", " : " (", slices->mesh->axes[a].name,
                   (long long)mesh_coord(slices->mesh, a, ui->rank));
    buf_puts(&text, ") holds slice ");
    slice_letter(slice_number(slices, ui->rank), &text);
    if (slices->n_addends > 1)
        buf_printf(&text, ", addend %lld of %lld", (long long)slice_addend(slices, ui->rank) + 1,
                   (long long)slices->n_addends);
    slice_peers(slices, ui->rank, 8, &peers);
    buf_printf(&text, slices->n_addends > 1 ? "; other addends on " : "; the same on ");
    buf_puts(&text, peers.s);
    draw_sharding(ui, pen, buf_str(&text), -1, pen->area.w - pen->x);
    pen_line(pen);
}

static void draw_ends(const Ui *ui, Pen *pen)
{
    const Graph *graph = ui_graph(ui);
    const GraphTensor *tensor = &graph->tensors[ui->at.tensor];
    int n = tensor_n_uses(graph, ui->at.tensor);

    draw_field(pen, " MADE BY", 10);
    if (tensor->maker >= 0)
        pen_put(pen, ROLE_TEXT, label_op(ui->session, ui->frame, tensor->maker));
    else
        pen_puts(pen, ROLE_DIM, "nobody: it is given");
    pen_line(pen);
    draw_field(pen, " USED BY", 10);
    Buf users = buf_new(ui->frame);
    for (int u = 0; u < n && (int)users.n < 2 * pen->area.w; u++) {
        buf_puts(&users, u ? ", " : "");
        buf_add(&users, label_op(ui->session, ui->frame, graph->uses[tensor->use + u]));
    }
    pen_fit(pen, n ? ROLE_TEXT : ROLE_DIM, n ? buf_str(&users) : STR("nobody: it is an output"),
            pen->area.w - pen->x);
    pen_line(pen);
}

/* A size that nobody knows before the run, and how to give it one. */
static void draw_size(const Ui *ui, int d, int64_t dim, Pen *pen)
{
    pen_printf(pen, ROLE_TEXT, "  %d", d);
    if (dim >= 0) {
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%lld", (long long)dim)), 13);
    } else {
        const Size *size = sizes_at(ui->session->inferred->sizes, dim);
        Buf name = buf_new(ui->frame);
        text_printable(str_from(size->name), &name);
        pen_tab(pen, 15);
        pen_puts(pen, ROLE_NOTE, "?");
        pen_tab(pen, 18);
        if (size->computed)
            pen_put(pen, ROLE_TEXT, buf_str(&name));
        else
            pen_printf(pen, ROLE_TEXT, "--dim '%s=SIZE'", name.s);
    }
    if (d == ui->at.dim)
        ui_mark_row(ui, SHOW_TENSOR, pen, pen->y);
    pen_line(pen);
}

/* A tensor without a sharding: every rank holds all of it, whatever that is. */
static void draw_unknown(const Ui *ui, Pen *pen)
{
    const Inferred *inferred = ui->session->inferred;
    const Shape *shape = inferred_sizes(inferred, ui->at.tensor);
    Buf known = buf_new(ui->frame);

    draw_name(ui, pen);
    label_put_shape(inferred, ui->at.tensor, &known);
    draw_field(pen, " global ", 8);
    pen_fit(pen, ROLE_TEXT, buf_str(&known),
            pen->area.w < NARROW ? pen->area.w - pen->x : text_columns(buf_str(&known)));
    if (pen->area.w < NARROW)
        pen_line(pen);
    pen_puts(pen, ROLE_NOTE, pen->x ? "   replicated: " : " replicated: ");
    pen_puts(pen, ROLE_NOTE,
             inferred->listed && inferred->listed[ui->at.tensor] ? "sequences are not cut"
             : shape                                             ? "sizes are not known"
                                                                 : "its shape is not known");
    pen_line(pen);
    if (shape && shape->n_dims > 0) {
        draw_field(pen, " DIM        size  what gives it one", 51);
        pen_line(pen);
    }
    for (int d = 0; shape && d < shape->n_dims; d++)
        draw_size(ui, d, shape->dim[d], pen);
    draw_ends(ui, pen);
}

static void draw(Ui *ui, Pen *pen)
{
    int32_t id = ui->at.tensor < 0 ? -1 : ui_plan(ui)->made[ui->at.tensor];

    if (ui->at.tensor < 0) {
        pen_puts(pen, ROLE_DIM, " no tensor is selected");
        return;
    }
    if (id < 0) {
        draw_unknown(ui, pen);
        return;
    }
    const Sharding *sharding = shardings_at(ui_plan(ui)->shardings, id);
    Slices slices = slices_of(sharding, ui->session->mesh);
    draw_head(ui, &slices, id, pen);
    draw_views(ui, sharding, pen);
    draw_dims(ui, &slices, pen);
    draw_slices(ui, &slices, pen->area.h - pen->y - AFTER_PICTURE + 1, pen);
    draw_rank(ui, &slices, pen);
    draw_ends(ui, pen);
}

static bool act(Ui *ui, ActId act, Key last)
{
    const Shape *shape =
        ui->at.tensor < 0 ? NULL : inferred_sizes(ui->session->inferred, ui->at.tensor);
    int64_t dim = ui->at.dim, n_devices = ui->session->mesh->n_devices;

    (void)last;
    if (!shape)
        return false;
    if (ui_move(&dim, shape->n_dims, (int)shape->n_dims, act)) {
        ui->at.dim = (int)dim;
        return true;
    }
    if (act == ACT_RIGHT)
        ui->rank = (ui->rank + 1) % n_devices;
    else if (act == ACT_LEFT)
        ui->rank = (ui->rank + n_devices - 1) % n_devices;
    else if (act == ACT_OPEN && ui->at.tensor >= 0 &&
             ui_graph(ui)->tensors[ui->at.tensor].maker >= 0)
        ui_show(ui, SHOW_OP);
    else
        return false;
    return true;
}

static void note(Ui *ui, Buf *out)
{
    if (ui->at.tensor < 0)
        return;
    buf_puts(out, tensor_name(ui_graph(ui), ui->at.tensor));
    if (ui_plan(ui)->made[ui->at.tensor] >= 0)
        buf_printf(out, "  dim %d is the one that p pins", ui->at.dim);
}

static const Hint hints[] = {
    {ACT_DOWN, "dim"},        {ACT_RIGHT, "next rank"}, {ACT_CONSUMER, "user"},
    {ACT_PRODUCER, "maker"},  {ACT_RESHARD, "reshard"}, {ACT_WHY, "why"},
    {ACT_WHY_NOT, "why not"}, {ACT_PIN, "pin"},         {ACT_BACK, "back"},
    {ACT_HELP, "help"},       {ACT_CLOSE, "close"},     {0},
};

const View view_tensor = {
    .name = "Tensor",
    .draw = draw,
    .act = act,
    .note = note,
    .list_at = -1,
    .hints = hints,
};
