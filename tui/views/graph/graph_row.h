/* graph_row.h - one row of the graph view: facts about its ops, column by column.
 *
 * A row of a group sums over everything it stands for, including xN and loop iterations; its
 * sharding is that of its result. Columns that do not fit are left out, the least important first;
 * names and shardings stay.
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

/* Facts about an op, or sums over a group. */
typedef struct {
    int32_t tensor; /* whose sharding is shown; -1: none */
    int64_t n_ops;
    double us, comm_us, n_reshards; /* n_reshards: those that move data */
    int32_t reshard;                /* the most expensive reshard, or -1 */
} RowFacts;

/* Reshards at the backward ops that were derived from a row's ops: how many, and the most
 * expensive; -1. */
typedef struct {
    double n;
    int32_t reshard;
} BackFacts;

/* Sums over places of the order, made when a column needs them. */
typedef enum {
    SUM_PARAMS,
    SUM_FLOPS,
    SUM_BACKWARD, /* us of the backward ops that were derived from an op, including recomputed
                     ones */
    SUM_WEIGHTS,  /* of these, the ops that serve only gradients of parameters */
    SUM_SAVED,    /* bytes that the selected rank saves of one micro-batch for the backward pass */
    GRAPH_SUM_COUNT
} GraphSum;

/* The state of the graph view. */
typedef struct {
    Rail *rail;
    int sorted_by;                         /* GraphColumn; -1: program order */
    bool reversed;                         /* the least first */
    int drawn[COL_COUNT];                  /* widths of columns, as last drawn */
    Control control;                       /* of the plan's groups; session NULL: not made yet */
    const double *before[GRAPH_SUM_COUNT]; /* prefix sums over groups->order; NULL: not made yet */
    const int32_t *back_first, *back_next; /* per op: the first backward op derived from it, and
                                              the next one from the same op; -1. NULL: not made
                                              yet */
} GraphState;

static inline GraphState *graph_state(const Ui *ui)
{
    return ui->own[SHOW_GRAPH];
}

const Control *graph_control(const Ui *ui);

RowFacts graph_row_facts(const Ui *ui, const OutlineRow *row);

/* For a training step. */
BackFacts graph_row_back(const Ui *ui, const OutlineRow *row);

/* The Shardings id of the value whose sharding a row shows, as its op makes it; of a parameter, as
 * it is stored. */
int32_t graph_row_made(const Ui *ui, const RowFacts *facts);
/* "1", "0-3": the stages of its first and last op that is in a stage; stages are consecutive. */
Str graph_row_stage(const Ui *ui, const OutlineRow *row);

/* The decision behind a row's sharding, or NULL. */
const Decision *graph_row_pin(const Ui *ui, const OutlineRow *row);

/* Makes the prefix sums that graph_row_sum() uses; it returns 0 until then. */
void graph_sums(Ui *ui, GraphSum sum);
double graph_row_sum(const Ui *ui, const OutlineRow *row, GraphSum sum);

/* The width of each column in a view of that width; 0: it is not shown. Each column is followed by
 * a blank. */
void graph_column_widths(const Ui *ui, int w, int *width);
void graph_row_headings(Ui *ui, const int *width, Pen *pen);
void graph_row_draw(const Ui *ui, const OutlineRow *row, const RailRow *rail, const int *width,
                    Pen *pen);

/* Chooses columns: by a menu, or one by its name. */
void graph_columns_menu(Ui *ui);
bool graph_columns_toggle(Ui *ui, Str name, Error *err);

bool graph_sort(Ui *ui, Str column, Error *err); /* "order": program order */
void graph_sort_menu(Ui *ui);
bool graph_head(Ui *ui, int x);            /* View.head */
const char *graph_sorted_by(const Ui *ui); /* NULL for program order */

/* All rows at every depth; if some are tagged, only those. */
void graph_table(Ui *ui, Sheet *out);

void minimap_draw(const Ui *ui, Pen *pen); /* on the pen's line */

/* "(11+1)" for a mixed row: the number of members of each class, the largest first. */
void alike_format_classes(const Ui *ui, const OutlineRow *row, Buf *out);

/* Whether the row belongs to one of several classes that is not the largest. */
bool alike_is_exception(const Ui *ui, const OutlineRow *row);

/* "unlike h[0..5]: mlp.c_fc/Gemm has n whole, there 3072/tp"; nothing if it is no exception. */
void alike_format_difference(const Ui *ui, const OutlineRow *row, Buf *out);

#endif
