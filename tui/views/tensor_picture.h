/* tensor_picture.h - a tensor as a picture of its slices: two dims as rows and columns.
 *
 * The dim under the cursor goes across if it is cut, the first other cut dim goes down; for the
 * other dims the chosen rank's slice is shown. A tensor that is cut in one dim is a strip.
 */
#ifndef TUI_VIEWS_TENSOR_PICTURE_H
#define TUI_VIEWS_TENSOR_PICTURE_H

#include "tui/state/ui.h"
#include "core/summary/slices.h"

typedef struct {
    const Ui *ui;
    const Slices *slices;
    int row_dim, column_dim;       /* -1: one row; one slice */
    int64_t n_rows, n_columns;     /* parts */
    bool pieces;                   /* a line shows the order of the pieces of a strided dim */
    int64_t here_row, here_column; /* the chosen rank's */
} TensorPicture;

TensorPicture tensor_picture(const Ui *ui, const Slices *slices);

/* The number of lines if nothing is left out. */
int tensor_picture_lines(const TensorPicture *picture, int w);

/* Draws `h` lines from the pen's line on, at least one. Records in *list which rows are drawn. */
void tensor_picture_draw(const TensorPicture *picture, int h, List *list, Pen *pen);

/* The rank whose slice is that many rows and columns away; -1: there is none. */
int64_t tensor_picture_step(const TensorPicture *picture, int64_t rows, int64_t columns);

#endif
