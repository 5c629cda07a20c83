/* policy_decided.h - what one line of a policy decided and what that costs, in words. */
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

/* Of line `line`, counted from 1; how many there are. They live as long as the frame. */
int policy_folds(Ui *ui, int line, PolicyFold **out);

/* The time that shares are of: of a training step, what its devices have in all stages. */
double policy_whole_us(const Ui *ui);

/* What the line did, or why it did nothing. */
void policy_draw_decided(Ui *ui, int number, Pen *pen);

#endif
