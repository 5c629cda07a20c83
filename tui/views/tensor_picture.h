/* tensor_picture.h - a tensor as a picture of its slices: two dims as rows and columns.
 *
 * The dim under the cursor goes across where it is cut, the first other one that is cut goes down;
 * all others are as on the chosen rank. Of a tensor that is cut in one dim it is a strip.
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
    bool pieces;                   /* a line says how the pieces of a strided dim lie */
    int64_t here_row, here_column; /* the chosen rank's */
} TensorPicture;

TensorPicture tensor_picture(const Ui *ui, const Slices *slices);

/* Lines it takes where nothing is left out. */
int tensor_picture_lines(const TensorPicture *picture, int w);

/* In `h` lines from the pen's line on, at least one. Remembers in *list which rows are drawn. */
void tensor_picture_draw(const TensorPicture *picture, int h, List *list, Pen *pen);

/* The rank whose slice is that many rows and columns further; -1: there is none. */
int64_t tensor_picture_step(const TensorPicture *picture, int64_t rows, int64_t columns);

#endif
