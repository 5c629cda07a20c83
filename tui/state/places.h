/* places.h - places to return to: marks by letter, the list of jumps, and places as text.
 *
 *     Graph op /transformer/h.0/attn/Add
 *     Tensor tensor h.0.mlp.c_fc.weight
 *     Graph group transformer.h.0
 *
 * The text has a view and its selection; it outlives plans and sessions.
 */
#ifndef TUI_STATE_PLACES_H
#define TUI_STATE_PLACES_H

#include "tui/state/outline.h"
#include "tui/state/view.h"

enum { JUMPS_MAX = 100, MARKS_MAX = 26 };

typedef enum { WHY_TENSOR, WHY_INDEX, WHY_NOT } WhyKind;

typedef struct {
    ShowId show;
    OutlineRow row;     /* the outline's cursor */
    int32_t op, tensor; /* selected; -1: none */
    int dim;            /* of the tensor: the dim that p pins */
    int item;           /* Op view: index dims, then operands */
    int reshard;        /* Comm view: row of the table */
    WhyKind why;
    int why_dim;  /* dim of the tensor (-2: all), or index dim of the op */
    int why_axis; /* WHY_NOT */
} Place;

typedef struct {
    Place jump[JUMPS_MAX];
    int n, at; /* at: where the next jump is stored; later entries are reached by going forward */
    Place mark[MARKS_MAX]; /* by letter */
    bool is_marked[MARKS_MAX];
} History;

/* Call it before a jump: stores the current place. */
void places_remember(Ui *ui);

/* Return false if there is no place to go to. */
bool places_back(Ui *ui);
bool places_forward(Ui *ui);
void places_restore(Ui *ui, const Place *place);

bool places_set(Ui *ui, char letter, Error *err);
bool places_go(Ui *ui, char letter, Error *err); /* a letter, or ' for the last place */
void places_menu(Ui *ui);                        /* the last jumps, to choose one */

void place_format(const Ui *ui, const Place *place, Buf *out);
bool place_read(const Ui *ui, Str text, Place *place); /* false: nothing has that name */

#endif
