/* policy_decided.h - the decisions of one line of a policy and their cost, in words. */
#ifndef TUI_VIEWS_POLICY_DECIDED_H
#define TUI_VIEWS_POLICY_DECIDED_H

#include "tui/screen/grid.h"
#include "tui/state/ui.h"

/* Decisions on places whose names differ only in numbers and whose shardings are equal. */
typedef struct {
    const Decision *first;
    Str name;
    Text sharding;
    int n;
} PolicyFold;

/* The folds of line `line`, counted from 1; returns how many there are. They live as long as the
 * frame. */
int policy_folds(Ui *ui, int line, PolicyFold **out);

/* The time of which shares are taken: for a training step, the time of the devices of all stages.
 */
double policy_whole_us(const Ui *ui);

/* What the line decided, or why it decided nothing. */
void policy_draw_decided(Ui *ui, int number, Pen *pen);

#endif
