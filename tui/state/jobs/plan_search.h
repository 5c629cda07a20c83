/* plan_search.h - the search of the best plan beside the screen: what runs, what it found.
 *
 *     :search                         fill what the policy and the pins leave open, as one step
 *     :search max-peak=40GiB          under another limit than the machine's memory
 *     :search frontier                the fastest plans for less and less memory; Enter takes one
 *     :search seconds=10 unfold       stop sooner; equal layers may be sharded differently
 *     :search devices=512             whole configurations: search_devices.h
 *
 * Pins of the policy and of the user hold; what an earlier search decided does not, and is
 * replaced. What choices cost is kept, so that a search behind a pin takes a fraction of the first.
 * What each decision is worth, and each pin, is found in the background once the plan stands.
 */
#ifndef TUI_STATE_JOBS_PLAN_SEARCH_H
#define TUI_STATE_JOBS_PLAN_SEARCH_H

#include "core/cost/memory.h"
#include "core/search/pin_prices.h"
#include "core/search/search.h"
#include "tui/state/ui.h"

enum { SEARCH_STEPS_MAX = 64 };

/* When an incumbent or a bound was found. */
typedef struct {
    double seconds, cost_us, bound_us;
} SearchStep;

/* Written by the search's thread: rows before n_steps, which alone the screen reads. */
typedef struct {
    double began_s;
    atomic_int n_steps;
    SearchStep step[SEARCH_STEPS_MAX];
    _Atomic(double) cost_us, bound_us; /* now; INFINITY and 0: nothing yet */
} SearchWatch;

/* What stands behind `:search`. */
typedef struct SearchWords {
    Arena *arena;
    int64_t max_peak_bytes; /* 0: the machine's memory */
    double seconds, gap;
    int64_t n_devices; /* 0: on the mesh that is shown */
    bool frontier, unfold;
    PolicySettings settings; /* with devices: pins, and the samples of a step */
} SearchWords;

typedef struct PlanSearch {
    Arena *arena; /* of the points; NULL: nothing was found yet */
    int n;        /* plans found: one, or a frontier */
    SearchResult *point;
    bool frontier, smallest;
    int64_t max_peak_bytes;
    int taken;             /* the point that is the plan; -1: none */
    uint64_t about;        /* model, mesh and pins that it holds for */
    SearchWatch watch;     /* of the last search */
    bool running, stopped; /* stopped: it ended early, by C-c or its time */
    Arena *pins_arena;     /* of: */
    PinPrices pins;        /* n 0: not asked; of an answer without a plan those that conflict */
    SearchRequest asked;   /* as pins are named */
    SearchMemo *memo;      /* kept from search to search */
    Arena *choices_arena;  /* of prices of decisions */
    Arena *live_arena;     /* what is alive at the peak of the plan with that step and peak: */
    double live_step_us;
    int64_t live_peak_bytes;
    LiveSet live;
    struct DevicesFound *devices; /* of the last search on N devices; NULL: none */
    bool shows_devices;           /* it is the last of all */
} PlanSearch;

void plan_search_free(Ui *ui);

/* Shows the view and begins a search; words as above. */
bool plan_search_begin(Ui *ui, Str words, Error *err);
/* Whether what was found holds for the present model, mesh and pins. */
bool plan_search_holds(const Ui *ui);
/* Makes a point the plan, as one step of undo. */
void plan_search_take(Ui *ui, int point);
/* Searches without each pin, for what it costs. */
void plan_search_price_pins(Ui *ui);
/* Begins to price decisions and pins in the background, when there is nothing else to do. */
void plan_search_follow(Ui *ui);

/* What was found on N devices, and that it is shown, goes to the explorer that takes the place. */
void plan_search_pass(Ui *from, Ui *to);

/* A SearchReport; context: the SearchWatch. */
void plan_search_watch(void *context, double cost_us, double bound_us);
void plan_search_watch_begin(SearchWatch *watch);

/* What is alive at the peak of the present plan, on the device that needs most. */
const LiveSet *plan_search_live(Ui *ui);

/* What the decision is worth, if a search made it: "otherwise at least +14.6 ms". False: not known.
 */
bool plan_search_put_price(const Ui *ui, const Decision *decision, Buf *out);

#endif
