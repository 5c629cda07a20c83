/* whatif.h - what else could be decided here: options listed, tried beside the screen, chosen.
 *
 * `x` opens a menu of options (core/summary/options.h) with what each would change: step,
 * communication, peak, bytes on the wire, and whether the plan would be legal. Choosing applies its
 * decisions as one step of undo. Plans of up to QUICK_OPS_MAX ops are tried as soon as a reshard is
 * selected, without anybody waiting; larger ones when asked, with C-c to stop: those tried by then
 * are offered, and the others are marked as not tried.
 */
#ifndef TUI_STATE_JOBS_WHATIF_H
#define TUI_STATE_JOBS_WHATIF_H

#include "core/summary/options.h"
#include "tui/state/ui.h"

enum { QUICK_OPS_MAX = 5000 };

typedef struct {
    Arena *arena; /* the options are in it; taken over */
    PlanOptions options;
    char title[100];
    const char *verb;              /* static, before the chosen text: "pinned to "; or "" */
    bool by_gain;                  /* the best first; else as they are listed */
    bool by_peak;                  /* what lowers the peak, most first; else it is left out */
    bool priced;                   /* try them first */
    void (*moved)(Ui *ui, int by); /* of the menu; NULL */
} WhatIfAsk;

/* Tries what has not been tried, then opens the menu. */
void whatif_ask(Ui *ui, const WhatIfAsk *ask);

/* Of the selected reshard: the menu. */
void whatif_reshard(Ui *ui);

/* Options of the selected reshard, as far as they are known; NULL: there is none. */
const PlanOptions *whatif_known(const Ui *ui);

/* Lists those of the selected reshard when it is another one, or the plan is; begins to try them.
 * To be called before a frame that shows them. */
void whatif_follow(Ui *ui);

void whatif_free(Ui *ui);

/* "+1.43 ms", "−329 MiB", "0": now and then. */
Str whatif_us(const Ui *ui, double now, double then);
Str whatif_bytes(const Ui *ui, int64_t now, int64_t then);

/* "as now", "legal", "illegal", "not tried" */
const char *whatif_check(const Trial *trial);

#endif
