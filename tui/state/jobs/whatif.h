/* whatif.h - alternatives to the current decisions: lists options, tries them in a job, applies
 * one.
 *
 * `x` opens a menu of options (core/summary/options.h) with what each would change: step,
 * communication, peak, bytes sent, and whether the plan would be legal. Choosing one applies its
 * decisions as one step of undo. For plans of up to QUICK_OPS_MAX ops the options are tried in the
 * background as soon as a reshard is selected; for larger plans on request, with C-c to stop: the
 * options tried by then are offered, the others are marked as not tried.
 */
#ifndef TUI_STATE_JOBS_WHATIF_H
#define TUI_STATE_JOBS_WHATIF_H

#include "core/summary/options.h"
#include "tui/state/ui.h"

enum { QUICK_OPS_MAX = 5000 };

typedef struct {
    Arena *arena; /* contains the options; ownership is taken over */
    PlanOptions options;
    char title[100];
    const char *verb;              /* static; precedes the chosen text: "pinned to "; or "" */
    bool by_gain;                  /* sort by gain, the best first; else in listed order */
    bool by_peak;                  /* only options that lower the peak, most first */
    bool priced;                   /* try them first */
    void (*moved)(Ui *ui, int by); /* of the menu; NULL */
} WhatIfAsk;

/* Tries what has not been tried, then opens the menu. */
void whatif_ask(Ui *ui, const WhatIfAsk *ask);

/* Opens the menu for the selected reshard. */
void whatif_reshard(Ui *ui);

/* The known options of the selected reshard; NULL: none is selected. */
const PlanOptions *whatif_known(const Ui *ui);

/* Lists the options again if the selected reshard or the plan has changed, and starts trying them.
 * Call it before a frame that shows them. */
void whatif_follow(Ui *ui);

void whatif_free(Ui *ui);

/* "+1.43 ms", "−329 MiB", "0": the change from `now` to `then`. */
Str whatif_us(const Ui *ui, double now, double then);
Str whatif_bytes(const Ui *ui, int64_t now, int64_t then);

/* "as now", "legal", "illegal", "not tried" */
const char *whatif_check(const Trial *trial);

#endif
