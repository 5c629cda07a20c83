/* compare.h - a second plan, opened beside the one on the screen, and the differences.
 *
 * A is the plan on the screen, B the second one; B stays as it was opened while A changes, and the
 * differences are found again. B is chosen by words, each of which may be left out:
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
 * Pins made in the explorer belong to A only. Opening B is a job, and so is comparing large models.
 */
#ifndef TUI_STATE_COMPARE_H
#define TUI_STATE_COMPARE_H

#include "core/cost/training_cost.h"
#include "core/summary/diff_outline.h"
#include "tui/state/ui.h"

typedef struct Compare {
    Arena *arena; /* contains the words and this struct */
    Session *other;
    const char *name; /* as the user wrote it */
    bool swapped;     /* the other plan is shown as A */
    bool shows_equal;
    Arena *diff_arena; /* NULL: still to be compared */
    PlanDiff *diff;    /* side 0: A */
    DiffOutline outline;
    const TrainingCost *training[2]; /* of A and B if both are training steps; else NULL */
    int n_shown;
    int32_t *shown; /* the lines on the screen: all lines, or only the changes */
} Compare;

/* Opens B by these words and shows the Diff view. */
bool compare_open(Ui *ui, Str words, Error *err);
/* The same for a plan that these options open; everything they point to is copied. */
void compare_configuration(Ui *ui, const SessionOptions *options, const char *name);
void compare_menu(Ui *ui);
void compare_close(Ui *ui);

/* The current differences between A and B. NULL if there is no B, or if a job is still comparing.
 */
const Compare *compare_now(Ui *ui);

void compare_forget(Ui *ui); /* call it before A changes */
void compare_again(Ui *ui);  /* A has changed */
void compare_swap(Ui *ui);
void compare_show_equal(Ui *ui, bool shown);

const char *compare_name(const Ui *ui, int side); /* "megatron.lua", "fsdp" */

#endif
