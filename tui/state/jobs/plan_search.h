/* plan_search.h - searches for the best plan in a job: its state and results.
 *
 *     :search                         fill what the policy and the pins leave open, as one step
 *     :search max-peak=40GiB          under another limit than the machine's memory
 *     :search frontier                the fastest plans for less and less memory; Enter takes one
 *     :search seconds=10 unfold       stop sooner; equal layers may be sharded differently
 *     :search devices=512             whole configurations: search_devices.h
 *
 * Pins of the policy and of the user hold; decisions of an earlier search are replaced. Costs of
 * choices are cached, so that a search after a new pin takes a fraction of the first. Afterwards a
 * background job finds the value of each decision and of each pin.
 */
#ifndef TUI_STATE_JOBS_PLAN_SEARCH_H
#define TUI_STATE_JOBS_PLAN_SEARCH_H

#include "core/cost/memory.h"
#include "core/search/pin_prices.h"
#include "core/search/search.h"
#include "tui/state/ui.h"

enum { SEARCH_STEPS_MAX = 64 };

/* The time at which an incumbent or a bound was found. */
typedef struct {
    double seconds, cost_us, bound_us;
} SearchStep;

/* Written by the search's thread: the screen reads only rows before n_steps. */
typedef struct {
    double began_s;
    atomic_int n_steps;
    SearchStep step[SEARCH_STEPS_MAX];
    _Atomic(double) cost_us, bound_us; /* current; INFINITY and 0: none yet */
} SearchWatch;

/* The words after `:search`. */
typedef struct SearchWords {
    Arena *arena;
    int64_t max_peak_bytes; /* 0: the machine's memory */
    double seconds, gap;
    int64_t n_devices; /* 0: on the current mesh */
    bool frontier, unfold;
    PolicySettings settings; /* with devices: pins, and the samples per step */
} SearchWords;

typedef struct PlanSearch {
    Arena *arena; /* of the points; NULL: nothing found yet */
    int n;        /* plans found: one, or a frontier */
    SearchResult *point;
    bool frontier, smallest;
    int64_t max_peak_bytes;
    int taken;         /* the point that is the current plan; -1: none */
    uint64_t about;    /* hash of the model, mesh and pins for which it holds */
    SearchWatch watch; /* of the last search */
    bool running;
    bool stopped, cancelled; /* it ended early: by its time limit or, cancelled, by C-c */
    Arena *pins_arena;       /* of: */
    PinPrices pins;       /* n 0: not requested; for an infeasible search the pins that conflict */
    SearchRequest asked;  /* the request whose pins these are */
    SearchMemo *memo;     /* reused by the next searches */
    Arena *choices_arena; /* of the prices of decisions */
    Arena *live_arena;    /* what is alive at the peak of the plan that has this step and peak: */
    double live_step_us;
    int64_t live_peak_bytes;
    LiveSet live;
    struct DevicesFound *devices; /* of the last search on N devices; NULL: none */
    bool shows_devices;           /* that one was the last search */
} PlanSearch;

void plan_search_free(Ui *ui);

/* Shows the view and starts a search; words as above. */
bool plan_search_begin(Ui *ui, Str words, Error *err);
/* Whether the results hold for the current model, mesh and pins. */
bool plan_search_holds(const Ui *ui);
/* Makes a point the current plan, as one step of undo. */
void plan_search_take(Ui *ui, int point);
/* Searches again without each pin, to find what the pin costs. */
void plan_search_price_pins(Ui *ui);
/* Starts pricing decisions and pins in the background if nothing else is to be done. */
void plan_search_follow(Ui *ui);

/* Moves the results of a search on N devices, and whether they are shown, to the explorer that
 * replaces this one. */
void plan_search_pass(Ui *from, Ui *to);

/* A SearchReport; context: the SearchWatch. */
void plan_search_watch(void *context, double cost_us, double bound_us);
void plan_search_watch_begin(SearchWatch *watch);

/* What is alive at the peak of the current plan, on the device that needs most. */
const LiveSet *plan_search_live(Ui *ui);

/* What the decision is worth, if a search made it: "otherwise at least +14.6 ms". Returns false if
 * unknown. */
bool plan_search_put_price(const Ui *ui, const Decision *decision, Buf *out);

#endif
