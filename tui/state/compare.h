/* compare.h - another plan of the model, opened beside the one that is shown, and what differs.
 *
 * A is the plan on the screen, B the other one; B stays as it was opened while A changes, and what
 * differs is found anew. B is asked for by words, of which every one may be left out:
 *
 *     fsdp, my/policy.lua        the same model, mesh and machine under another policy
 *     dp=4,tp=2                  on another mesh
 *     zero=2                     with another value of an option of the policy
 *     spmd, factor:shardy        by another propagator, with its profile
 *     plan.json                  a saved plan, of this model or another
 *     before                     before the last change made here
 *     policy                     the policy alone, without what was decided here
 *     off                        none any more
 *
 * Pins made in the explorer are A's alone. Opening is a job, and so is comparing large models.
 */
#ifndef TUI_STATE_COMPARE_H
#define TUI_STATE_COMPARE_H

#include "core/cost/training_cost.h"
#include "core/summary/diff_outline.h"
#include "tui/state/ui.h"

typedef struct Compare {
    Arena *arena; /* of the words; it lives there */
    Session *other;
    const char *name; /* as it was asked for */
    bool swapped;     /* the other plan is shown as A */
    bool shows_equal;
    Arena *diff_arena; /* NULL: to be compared */
    PlanDiff *diff;    /* side 0: A */
    DiffOutline outline;
    const TrainingCost *training[2]; /* of A and B, where both are training steps; else NULL */
    int n_shown;
    int32_t *shown; /* lines that are on the screen: all, or the changes */
} Compare;

/* Opens B by these words and shows the Diff view. */
bool compare_open(Ui *ui, Str words, Error *err);
/* The same of a plan that these options open; what they point to is copied. */
void compare_configuration(Ui *ui, const SessionOptions *options, const char *name);
void compare_menu(Ui *ui);
void compare_close(Ui *ui);

/* What differs between A and B now. NULL: there is no B, or a job is still at it. */
const Compare *compare_now(Ui *ui);

void compare_forget(Ui *ui); /* A is about to change */
void compare_again(Ui *ui);  /* A has changed */
void compare_swap(Ui *ui);
void compare_show_equal(Ui *ui, bool shown);

const char *compare_name(const Ui *ui, int side); /* "megatron.lua", "fsdp" */

#endif
