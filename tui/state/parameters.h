/* parameters.h - a model's parameters by pattern, as the graph view lists them below the ops.
 *
 * Parameters whose names differ only in numbers (one per layer) are one row xN if dtype, shape and
 * stored sharding are equal. Rows are in the order of the model. They are made when the list is
 * first opened, once for each plan.
 */
#ifndef TUI_STATE_PARAMETERS_H
#define TUI_STATE_PARAMETERS_H

#include "core/session/session.h"
#include "tui/state/outline.h"

typedef struct Ui Ui;

typedef struct {
    int32_t n; /* number of parameters that some op reads */
    bool open;
    ParameterRow *rows; /* by pattern, made when the list is first opened; in comm's arena; NULL */
    int n_rows;
} Parameters;

/* The rows for the session's plan, in the arena with their texts; returns how many there are. */
int parameters_fold(Arena *arena, const Session *session, ParameterRow **rows);

int32_t parameters_count(const Inferred *inferred); /* those that something reads */

/* Puts the list into the outline, opened or closed as before; call it whenever the outline's groups
 * change. */
void parameters_list(Ui *ui);
void parameters_open(Ui *ui, bool open);

#endif
