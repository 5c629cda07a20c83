/* paper_rows.h - the boxes of a stack as rows: their order, the lanes of lines that pass others,
 * and the texts above boxes. Private to paper_stack.c, which puts the rows into columns. */
#ifndef VIZ_PAPER_ROWS_H
#define VIZ_PAPER_ROWS_H

#include "core/base/vec.h"
#include "viz/paper.h"

/* In points: the width of a character, the gap between borders of frames, and the gap between a
 * line and what is beside it. */
#define STACK_ADVANCE (0.603 * PAPER_POINTS)
#define STACK_INSET 5.0
#define STACK_SIDE 3.0

/* A frame, or the part of it in one column. */
typedef struct {
    int frame, column;
    bool again; /* it begins in an earlier column */
    DiagramPlace place;
} FramePart;

typedef struct {
    Arena *arena;
    const Diagram *diagram;
    const Placed *order, *sizes;
    double width, left, line; /* width: of a column */
    int n_rows;
    int *column_of, n_columns, n_beside; /* per row its column; n_beside columns per page */
    double *bottom;                      /* per column */
    int *row_of, *box_at;                /* per box its row; per row its box */
    int *into, *next;                    /* per box the first line into it, per line the next
                                            one; -1 */
    double *lane_x;                      /* per line; 0: it goes straight down, or is replaced by
                                            words */
    bool *told;                          /* per line: there is no way for it, so it is replaced
                                            by words */
    unsigned *taken;                     /* per row: the lanes of lines that pass it */
    DiagramPlace *place;                 /* per box */
    Vec(FramePart) parts;
    int *part;                   /* per frame the number of parts so far */
    Text *label, *title, *again; /* per line the text above the box it leads to; the other two
                                    per frame */
    Vec(DiagramBox) boxes;
    Vec(DiagramLine) lines;
} Stack;

/* Fills into, next. */
void stack_list_lines(Stack *stack);

/* Fills row_of, box_at, n_rows. */
void stack_order(Stack *stack);

/* Fills lane_x, told, left, given the columns of rows. */
void stack_give_lanes(Stack *stack);

/* Fills label, title, again. */
void stack_write_texts(Stack *stack);

bool stack_is_drawn(const DiagramLine *line);
bool stack_has(const Stack *stack, int frame, int box); /* whether a frame contains a box */
/* The number of frames around its content. */
int stack_depth_of(const Stack *stack, int frame);
double stack_middle_of(const Stack *stack);
double stack_label_x(const Stack *stack, int line);

#endif
