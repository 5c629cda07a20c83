/* search_devices.h - searches whole configurations on N devices in a job.
 *
 *     :search devices=512 global_batch=1024     mesh, stages, micro-batches, schedule, ZeRO ..
 *     :search devices=512 tp=8 max-peak=60GiB   with a pin (core/search/config_pins.h) and a limit
 *     :search devices=512 frontier gap=1%       for less and less memory, each within a percent
 *
 * The model, its sizes, machine and training step are the session's; its policy and pins are
 * ignored, since hybrid3d is searched. If the samples per step are not given, they are those of the
 * current step. Enter opens the configuration under the cursor in the explorer; `u` returns.
 */
#ifndef TUI_STATE_JOBS_SEARCH_DEVICES_H
#define TUI_STATE_JOBS_SEARCH_DEVICES_H

#include "core/search/config_explain.h"
#include "tui/state/jobs/plan_search.h"

/* The request; in the arena of the result. */
typedef struct {
    ConfigRequest request;  /* its progress and report are the job's */
    SessionOptions options; /* of the request */
    ConfigQuestion question;
    bool frontier;
} DevicesAsked;

/* A line of the result. */
typedef struct {
    const char *what;           /* "tp=8 instead of 4"; NULL: the best, or a point of a frontier */
    const ConfigPlan *plan;     /* NULL: not planned */
    const ConfigChange *change; /* how it differs from the best; else NULL */
    SessionOptions options;     /* options that open the plan */
} DevicesRow;

typedef struct DevicesFound {
    Arena *arena; /* it lives there */
    DevicesAsked asked;
    ConfigFound found;
    ConfigSpace space;
    DevicesRow *row; /* [n] */
    int n;
    const ConfigPlan *const *planned; /* [n_planned] */
    int n_planned;
    bool stopped;
    Arena *pins_arena;
    ConfigPinPrice *pin; /* [n_pins], in that arena; NULL: not requested */
    int n_pins;
} DevicesFound;

void devices_found_free(DevicesFound *found); /* NULL is allowed */

/* Starts the search for plan_search_begin(). */
bool devices_search_begin(Ui *ui, const SearchWords *words, Error *err);
/* Starts pricing its pins in the background if nothing else is to be done. */
void devices_search_follow(Ui *ui);

/* Opens the plan of a row in place of the explorer's plan, which `u` restores. */
void devices_open(Ui *ui, const DevicesFound *found, int row);
/* Compares it with the current plan. */
void devices_compare(Ui *ui, const DevicesFound *found, int row);

#endif
