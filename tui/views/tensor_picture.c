#include "tui/views/tiles.h"
#include "tui/views/tensor_picture.h"

#include "tui/views/label.h"

#include <inttypes.h>

enum { RANGES_LEAST = 7, RANGES_MOST = 21, PIECES_MOST = 64 };

/* Of dims that are cut: the one under the cursor, else the last, across; the first other one down.
 */
static void choose_dims(const Ui *ui, const Slices *slices, int *row, int *column)
{
    int cut[DIMS_MAX], n = 0;

    *row = *column = -1;
    for (int d = 0; d < slices->sharding->n_dims; d++)
        if (slice_parts(slices, d) > 1)
            cut[n++] = d;
    if (n == 0)
        return;
    *column = cut[n - 1];
    for (int i = 1; i < n; i++)
        if (cut[i] == ui->at.dim)
            *column = cut[i];
    for (int i = 0; i < n && *row < 0; i++)
        if (cut[i] != *column)
            *row = cut[i];
}

TensorPicture tensor_picture(const Ui *ui, const Slices *slices)
{
    TensorPicture picture = {.ui = ui, .slices = slices, .n_rows = 1, .n_columns = 1};

    choose_dims(ui, slices, &picture.row_dim, &picture.column_dim);
    picture.pieces = slices->strided;
    if (picture.row_dim >= 0) {
        picture.n_rows = slice_parts(slices, picture.row_dim);
        picture.here_row = slice_part(slices, picture.row_dim, ui->rank);
    }
    if (picture.column_dim >= 0) {
        picture.n_columns = slice_parts(slices, picture.column_dim);
        picture.here_column = slice_part(slices, picture.column_dim, ui->rank);
    }
    return picture;
}

int64_t tensor_picture_step(const TensorPicture *picture, int64_t rows, int64_t columns)
{
    int64_t row = picture->here_row + rows, column = picture->here_column + columns;

    if (row < 0 || row >= picture->n_rows || column < 0 || column >= picture->n_columns)
        return -1;
    return slice_at(picture->slices, picture->row_dim, row, picture->column_dim, column,
                    slices_twin(picture->slices, picture->ui->rank));
}

static int64_t holder(const TensorPicture *picture, int64_t row, int64_t column)
{
    return slice_at(picture->slices, picture->row_dim, row, picture->column_dim, column,
                    slices_twin(picture->slices, picture->ui->rank));
}

static Str range_of(const TensorPicture *picture, int d, int64_t position)
{
    Buf text = buf_new(picture->ui->frame);

    if (d >= 0)
        slice_range(picture->ui->frame, picture->slices, d, position, 1, &text);
    return buf_str(&text);
}

/* Wide enough for the ranges of the first and the last row. */
static int label_width(const TensorPicture *picture)
{
    int w = RANGES_LEAST;

    for (int i = 0; picture->row_dim >= 0 && i < 2; i++) {
        int64_t at = holder(picture, i ? picture->n_rows - 1 : 0, 0);
        int n = text_columns(range_of(picture, picture->row_dim, at)) + 2;
        w = n > w ? n : w;
    }
    return picture->row_dim < 0 ? 2 : w < RANGES_MOST ? w : RANGES_MOST;
}

/* ---- cells ---- */

typedef struct {
    TensorPicture picture;
    Tiles tiles;
} Drawn;

static Str row_label(const void *context, int64_t row)
{
    const Drawn *drawn = context;
    int64_t at = holder(&drawn->picture, row * drawn->tiles.block_h, 0);
    return range_of(&drawn->picture, drawn->picture.row_dim, at);
}

static Str column_label(const void *context, int64_t column)
{
    const Drawn *drawn = context;
    int64_t at = holder(&drawn->picture, 0, column * drawn->tiles.block_w);
    Str range = range_of(&drawn->picture, drawn->picture.column_dim, at);
    int64_t start;

    /* Labels beside each other have a blank between: the start alone where there is less room. */
    if ((int)range.n < drawn->tiles.width ||
        !slice_start(drawn->picture.ui->frame, drawn->picture.slices, drawn->picture.column_dim, at,
                     &start))
        return range;
    Buf text = buf_new(drawn->picture.ui->frame);
    buf_printf(&text, "%" PRId64, start);
    if ((int)text.n >= drawn->tiles.width && column % 2 == 1)
        return STR(""); /* every other column has one */
    buf_puts(&text, (int)text.n + 1 < drawn->tiles.width ? ":" : "");
    return buf_str(&text);
}

/* Letter and marks of a slice independent of its holder: the sum mark has no number. */
static void format_slice(const TensorPicture *picture, int64_t at, TileForm form, Buf *out)
{
    int marks = slice_marks(picture->slices, at);

    if (form >= TILE_MARK || (marks & MARK_EMPTY)) {
        slice_mark(picture->slices, at, (SliceForm)form, out);
        return;
    }
    slice_letter(slice_number(picture->slices, at), out);
    buf_puts(out, marks & MARK_STRIDED ? "'" : "");
    buf_puts(out, marks & MARK_SHORT ? "~" : "");
    buf_puts(out, marks & MARK_ADDEND ? "Σ" : "");
    buf_puts(out, marks & MARK_COPY ? "=" : "");
}

/* " >d0< d1 d2": who holds it. */
static void format_holders(const TensorPicture *picture, int64_t at, bool here, int room, Buf *out)
{
    const Slices *slices = picture->slices;
    Buf peers = buf_new(picture->ui->frame);
    int64_t device = mesh_device(slices->mesh, at);

    buf_printf(out, here ? " >d%" PRId64 "<" : " d%" PRId64, device);
    if (slices->n_addends * slices->n_copies == 1)
        return;
    for (int most = 6; most >= 0; most -= 2) {
        peers.n = 0;
        slice_peers(slices, at, most, &peers);
        if ((int)(out->n + peers.n) < room)
            break;
    }
    Str others = str_trim(buf_str(&peers));
    if (text_columns(buf_str(out)) + 1 + text_columns(others) > room)
        return;
    buf_putc(out, ' ');
    buf_add(out, others);
}

static void draw_cell(const void *context, int64_t row, int64_t column, int line, Pen *pen)
{
    const Drawn *drawn = context;
    const TensorPicture *picture = &drawn->picture;
    const Tiles *tiles = &drawn->tiles;
    bool here = row == picture->here_row / tiles->block_h &&
                column == picture->here_column / tiles->block_w;
    int64_t at = here ? slices_twin(picture->slices, picture->ui->rank)
                      : holder(picture, row * tiles->block_h, column * tiles->block_w);
    Buf text = buf_new(picture->ui->frame);
    int room = pen->area.w - pen->x;

    if (line > 0)
        return;
    if (tiles->block_h * tiles->block_w > 1 && !here) {
        pen_puts(pen, ROLE_DIM, "*");
        return;
    }
    format_slice(picture, at, tiles->form, &text);
    if (tiles->form > TILE_SHORT) {
        pen_fit(pen, here ? ROLE_FOCUS | STYLE_SELECTED : ROLE_TEXT, buf_str(&text),
                room > 1 ? room - 1 : 1);
        return;
    }
    format_holders(picture, at, here, room, &text);
    pen_put(pen, here ? ROLE_FOCUS | STYLE_BOLD : ROLE_TEXT, buf_str(&text));
    if (picture->slices->n_addends > 1 && pen->x + 4 < pen->area.w) {
        pen_to(pen, pen->area.w - 4, pen->y);
        pen_puts(pen, partial_style(picture->slices), " ▒▒▒");
    }
}

/* ---- the whole ---- */

/* Which dims stand for what: "rows = dim 0   columns = dim 2   dim 1 whole". */
static void draw_title(const TensorPicture *picture, const Tiles *tiles, Pen *pen)
{
    const Slices *slices = picture->slices;
    Buf text = buf_new(picture->ui->frame);
    int folded = 0;

    draw_field(pen, " SLICES", 9);
    if (picture->row_dim >= 0)
        buf_printf(&text, "rows = dim %d   ", picture->row_dim);
    buf_printf(&text, "columns = dim %d", picture->column_dim);
    for (int d = 0; d < slices->sharding->n_dims; d++) {
        if (d == picture->row_dim || d == picture->column_dim || slice_parts(slices, d) == 1)
            continue;
        buf_printf(&text, "%s%d", folded++ ? ", " : "   of dim ", d);
    }
    if (folded)
        buf_puts(&text, " what this rank has");
    if (tiles && tiles->block_h * tiles->block_w > 1)
        buf_printf(&text, "   * %" PRId64 " x %" PRId64 " slices", tiles->block_h, tiles->block_w);
    else if (tiles && tiles->shown < tiles->rows)
        buf_printf(&text, "   %d of %" PRId64 " rows", tiles->shown, tiles->rows);
    pen_fit(pen, ROLE_TEXT, buf_str(&text), pen->area.w - pen->x);
    pen_line(pen);
}

/* "A 0:4,0:28 >d0<  B 0:4,28:56 d1": what a picture shows, in a line, from the chosen slice on. */
static void draw_list(const TensorPicture *picture, Pen *pen)
{
    int64_t n = picture->n_rows * picture->n_columns;
    int64_t here = picture->here_row * picture->n_columns + picture->here_column;
    Buf text = buf_new(picture->ui->frame);

    draw_field(pen, " SLICES", 9);
    for (int64_t i = 0; i < n && (int)text.n < pen->area.w * 2; i++) {
        int64_t cell = (here + i) % n;
        int64_t at = cell == here
                         ? slices_twin(picture->slices, picture->ui->rank)
                         : holder(picture, cell / picture->n_columns, cell % picture->n_columns);
        buf_puts(&text, i ? "  " : "");
        format_slice(picture, at, TILE_FULL, &text);
        buf_putc(&text, ' ');
        slice_ranges(picture->ui->frame, picture->slices, at, &text);
        buf_printf(&text, cell == here ? " >d%" PRId64 "<" : " d%" PRId64,
                   mesh_device(picture->slices->mesh, at));
    }
    pen_fit(pen, ROLE_TEXT, buf_str(&text), pen->area.w - pen->x);
    pen_line(pen);
}

/* "PIECES  dim 1  ABCDABCDABCD  (3)(768/tp)": where a slice is in pieces. */
static void draw_pieces(const TensorPicture *picture, Pen *pen)
{
    const Slices *slices = picture->slices;

    for (int d = 0; d < slices->sharding->n_dims; d++) {
        const Cut *cut = &slices->sharding->dim[d];
        Buf text = buf_new(picture->ui->frame), form = buf_marked(picture->ui->frame);
        if (cut->n < 2 ||
            cut_n_runs(cut, slices->mesh, slices_twin(picture->slices, picture->ui->rank)) < 2)
            continue;
        slice_pieces(picture->ui->frame, slices, d, slices_twin(picture->slices, picture->ui->rank),
                     PIECES_MOST, &text);
        if (text.n == 0)
            buf_printf(
                &text, "%" PRId64 " on each rank",
                cut_n_runs(cut, slices->mesh, slices_twin(picture->slices, picture->ui->rank)));
        draw_field(pen, " PIECES", 9);
        pen_printf(pen, ROLE_TEXT, "along dim %d  ", d);
        cut_format(cut, slices->mesh, &form);
        pen_text(pen, buf_text(&form), -1, -1);
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_fit(pen, ROLE_TEXT, buf_str(&text), pen->area.w - pen->x);
        pen_line(pen);
        return;
    }
}

static Tiles fit(const TensorPicture *picture, int w, int h)
{
    return tiles_fit(picture->n_rows, picture->n_columns, 1, w, h);
}

int tensor_picture_lines(const TensorPicture *picture, int w)
{
    if (picture->column_dim < 0)
        return 1;
    Tiles tiles = fit(picture, w - label_width(picture), 1 << 20);
    int64_t rows = tiles_height(&tiles, tiles.rows) + 2 + picture->pieces;
    return rows < 1 << 20 ? (int)rows : 1 << 20;
}

void tensor_picture_draw(const TensorPicture *picture, int h, List *list, Pen *pen)
{
    const TilesFill fill_names = {
        .cell = draw_cell, .row_label = row_label, .column_label = column_label};
    const Slices *slices = picture->slices;
    bool pieces = picture->pieces && h > 4;

    if (picture->column_dim < 0) {
        draw_field(pen, " SLICES", 9);
        pen_fit(pen, ROLE_TEXT,
                slices->most == 0    ? STR("one, without elements")
                : slices->part.fixed ? STR("one, replicated on every device of its sub-mesh")
                : slices->n_addends > 1
                    ? STR("one, partial: every device holds a partial sum of it")
                    : STR("one, replicated: every device holds all of it"),
                pen->area.w - pen->x);
        pen_line(pen);
        return;
    }
    if (h < 3) {
        draw_list(picture, pen);
        return;
    }
    int label = label_width(picture);
    int room = pen->area.w - label > 1 ? pen->area.w - label : 1;
    Drawn drawn = {*picture, fit(picture, room, h - 2 - pieces)};
    TilesFill fill = fill_names;
    fill.context = &drawn;
    int64_t here = picture->here_row / drawn.tiles.block_h;
    list->top = here - drawn.tiles.shown / 2;
    list_show(list, here, drawn.tiles.rows, drawn.tiles.shown);
    draw_title(picture, &drawn.tiles, pen);
    tiles_draw(&drawn.tiles, &fill, label, list->top, pen);
    if (pieces)
        draw_pieces(picture, pen);
}
