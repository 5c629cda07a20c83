/* run_state.h - the Run view's state: the plan along time, the window shown, and the last run.
 *
 * A run belongs to one plan: when the plan changes its report is dropped, and the view says so.
 */
#ifndef TUI_VIEWS_RUN_STATE_H
#define TUI_VIEWS_RUN_STATE_H

#include "tui/state/ui.h"
#include "core/run/trace/timeline.h"
#include "core/summary/actual.h"

typedef struct {
    Timeline *timeline;     /* NULL until made */
    int span;               /* the cursor */
    double from_us, len_us; /* the window; len_us 0: to be chosen */
    Arena *arena;           /* of the report; NULL: there is no run of this plan */
    RunReport report;
    const Actual *actual; /* set if the report is from a job's trace, with collectives only; else
                             NULL */
    uint64_t seed;
    int repeat; /* asked for */
    bool verified, dropped;
    Error failed;        /* the error of the last run */
    RunOptions asked;    /* of a long run, while a menu asks whether to start it */
    const char *smaller; /* sizes of free dims that this menu offers */
} RunState;

void run_state_forget(RunState *run); /* the plan goes */

/* Of the session's plan. */
RunState *run_state(Ui *ui);

/* ":run [verify|fast] [host|cuda|auto] [repeat N] [seed N] [steps N]": as a job. If the run would
 * take long, a menu asks first and offers smaller sizes of the free dims. */
bool run_begin(Ui *ui, Str args, Error *err);

/* ":actual FILE [STEPS]": shows the collectives that a job of the plan ran (core/summary/actual.h)
 * instead of a run: measured times beside predicted ones. */
bool run_read_actual(Ui *ui, Str args, Error *err);

/* ":trace FILE": the plan along time, and the run, as Chrome's JSON for Perfetto. */
bool run_write_trace(Ui *ui, Str path, Error *err);
void run_put_trace(Ui *ui, Buf *out);

/* The first wrong value of the run of this plan; NULL: none. */
const RunElement *run_wrong(const Ui *ui);
/* "element [0]" */
void run_put_place(const RunElement *element, Buf *out);
/* "element [0] is 0.5 on d0 and 0.25 on one device, from the same inputs; rounding explains .." */
void run_put_element(const Session *session, const RunElement *wrong, Buf *out);

/* "PASS: 96 values, each compared ..", "FAIL: the first wrong value is .."; up to two lines. */
void run_put_verdict(const Session *session, const RunReport *report, Buf *out);
const char *run_verdict_name(RunVerdict verdict); /* "pass", "not proven" */
/* "2 ops were done by the host's kernels, on copies: TopK, Unique" */
void run_put_copied(const RunReport *report, Buf *out);

/* The relation of a measured time to the predicted one: "+8%", "×12"; "-" if one is missing. */
Str run_ratio_text(const Ui *ui, double predicted, double measured);

#endif
