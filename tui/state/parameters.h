/* parameters.h - a model's parameters by pattern, as the graph view lists them below the ops.
 *
 * Parameters whose names differ only in numbers (one per layer) are one row xN:
 * equal dtype, shape, and sharding that they are stored in. Rows are in the order of the model.
 * They are made when the list is first opened, once for each plan.
 */
#ifndef TUI_STATE_PARAMETERS_H
#define TUI_STATE_PARAMETERS_H

#include "core/session/session.h"
#include "tui/state/outline.h"

typedef struct Ui Ui;

typedef struct {
    int32_t n; /* that some op reads */
    bool open;
    ParameterRow *rows; /* by pattern, made when the list is first opened; in comm's arena; NULL */
    int n_rows;
} Parameters;

/* Rows of the session's plan, in the arena with all they name; returns how many there are. */
int parameters_fold(Arena *arena, const Session *session, ParameterRow **rows);

int32_t parameters_count(const Inferred *inferred); /* those that something reads */

/* Puts the list into the outline, as open as it is; whenever the outline got other groups. */
void parameters_list(Ui *ui);
void parameters_open(Ui *ui, bool open);

#endif
