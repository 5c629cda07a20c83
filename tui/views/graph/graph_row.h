/* graph_row.h - one row of the graph view: what it says of its ops, column by column.
 *
 * A row of a group sums over all that it stands for, xN and how often a loop runs included; its
 * sharding is that of its result. Columns that do not fit are left out, the least wanted
 * first; names and shardings stay.
 */
#ifndef TUI_VIEWS_GRAPH_GRAPH_ROW_H
#define TUI_VIEWS_GRAPH_GRAPH_ROW_H

#include "tui/state/control.h"
#include "tui/state/ui.h"
#include "tui/views/graph/rail.h"

/* ORDER COLUMN: from left to right. */
typedef enum {
    COL_RAIL,
    COL_NAME,
    COL_OPERATOR,
    COL_STAGE, /* in a plan with stages */
    COL_OUTPUT,
    COL_MAPPING,
    COL_LOCAL,
    COL_DTYPE,
    COL_CUT,
    COL_BYTES,
    COL_PARAMS,
    COL_FLOPS,
    COL_TIME,
    COL_BACKWARD, /* in a training step, as the next two */
    COL_WEIGHTS,
    COL_SAVED,
    COL_BAR,
    COL_TIMES,
    COL_RESHARD,
    COL_BACK_RESHARD, /* in a training step */
    COL_WHY,
    COL_CHANGED,
    COL_COUNT
} GraphColumn;

/* Of an op, or summed over a group. */
typedef struct {
    int32_t tensor; /* whose sharding is shown; -1: none */
    int64_t n_ops;
    double us, comm_us, n_reshards; /* that move data */
    int32_t reshard;                /* the most expensive reshard, or -1 */
} RowFacts;

/* Reshards at the backward ops that come of a row's ops: how often, and the most expensive; -1. */
typedef struct {
    double n;
    int32_t reshard;
} BackFacts;

/* What is summed over places of the order when a column asks for it. */
typedef enum {
    SUM_PARAMS,
    SUM_FLOPS,
    SUM_BACKWARD, /* us of the ops of the backward pass that come of an op, with those run again */
    SUM_WEIGHTS,  /* of them those that make gradients of parameters alone */
    SUM_SAVED,    /* bytes that the selected rank keeps of one micro-batch for the backward pass */
    GRAPH_SUM_COUNT
} GraphSum;

/* What the graph view keeps. */
typedef struct {
    Rail *rail;
    int sorted_by;                         /* GraphColumn; -1: program order */
    bool reversed;                         /* the least first */
    int drawn[COL_COUNT];                  /* widths of columns, as drawn last */
    Control control;                       /* of the plan's groups; session NULL: to be made */
    const double *before[GRAPH_SUM_COUNT]; /* sums over groups->order; NULL: to be made */
    const int32_t *back_first, *back_next; /* per op: the first op of the backward pass that comes
                                              of it, the next that comes of the same; -1. NULL: to
                                              be made */
} GraphState;

static inline GraphState *graph_state(const Ui *ui)
{
    return ui->own[SHOW_GRAPH];
}

const Control *graph_control(const Ui *ui);

RowFacts graph_row_facts(const Ui *ui, const OutlineRow *row);

/* Of a training step. */
BackFacts graph_row_back(const Ui *ui, const OutlineRow *row);

/* How the value is made whose sharding a row shows: a Shardings id; of a parameter as it is stored.
 */
int32_t graph_row_made(const Ui *ui, const RowFacts *facts);
/* "1", "0-3": of its first and its last op that is in a stage; stages follow each other. */
Str graph_row_stage(const Ui *ui, const OutlineRow *row);

/* The decision that a row's sharding goes back to, or NULL. */
const Decision *graph_row_pin(const Ui *ui, const OutlineRow *row);

/* Makes the sums of all places before each in the order, which graph_row_sum() asks: 0 until then.
 */
void graph_sums(Ui *ui, GraphSum sum);
double graph_row_sum(const Ui *ui, const OutlineRow *row, GraphSum sum);

/* Columns of each in a view of that width; 0: it is not shown. Each is followed by a blank. */
void graph_column_widths(const Ui *ui, int w, int *width);
void graph_row_headings(Ui *ui, const int *width, Pen *pen);
void graph_row_draw(const Ui *ui, const OutlineRow *row, const RailRow *rail, const int *width,
                    Pen *pen);

/* The choice of columns: a menu, or one by its name. */
void graph_columns_menu(Ui *ui);
bool graph_columns_toggle(Ui *ui, Str name, Error *err);

bool graph_sort(Ui *ui, Str column, Error *err); /* "order": program order */
void graph_sort_menu(Ui *ui);
bool graph_head(Ui *ui, int x);            /* View.head */
const char *graph_sorted_by(const Ui *ui); /* NULL for program order */

/* All rows at every depth; where some are tagged, those. */
void graph_table(Ui *ui, Sheet *out);

void minimap_draw(const Ui *ui, Pen *pen); /* the pen's line */

/* "(11+1)" of a mixed row: members of each class, the largest first. */
void alike_format_classes(const Ui *ui, const OutlineRow *row, Buf *out);

/* Whether the row is one of several classes, and not of the largest. */
bool alike_is_exception(const Ui *ui, const OutlineRow *row);

/* "unlike h[0..5]: mlp.c_fc/Gemm has n whole, there 3072/tp"; nothing where it is no exception. */
void alike_format_difference(const Ui *ui, const OutlineRow *row, Buf *out);

#endif
