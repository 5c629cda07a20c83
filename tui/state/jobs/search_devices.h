/* search_devices.h - whole configurations on N devices, searched beside the screen.
 *
 *     :search devices=512 global_batch=1024     mesh, stages, micro-batches, schedule, ZeRO ..
 *     :search devices=512 tp=8 max-peak=60GiB   with a pin (core/search/config_pins.h) and a limit
 *     :search devices=512 frontier gap=1%       for less and less memory, each within a percent
 *
 * The model, its sizes, machine and training step are the session's; its policy and pins are not
 * read, since hybrid3d is searched. Samples of a step that are not given are those of the step that
 * is shown. Enter opens the configuration under the cursor in the explorer; `u` goes back.
 */
#ifndef TUI_STATE_JOBS_SEARCH_DEVICES_H
#define TUI_STATE_JOBS_SEARCH_DEVICES_H

#include "core/search/config_explain.h"
#include "tui/state/jobs/plan_search.h"

/* What was asked; in the arena of the result. */
typedef struct {
    ConfigRequest request;  /* its progress and report are of the job */
    SessionOptions options; /* of the request */
    ConfigQuestion question;
    bool frontier;
} DevicesAsked;

/* A line of the result. */
typedef struct {
    const char *what;           /* "tp=8 instead of 4"; NULL: the best, or a point of a frontier */
    const ConfigPlan *plan;     /* NULL: not planned */
    const ConfigChange *change; /* of a change of the best; else NULL */
    SessionOptions options;     /* that open the plan */
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
    ConfigPinPrice *pin; /* [n_pins], in that arena; not asked: NULL */
    int n_pins;
} DevicesFound;

void devices_found_free(DevicesFound *found); /* NULL is allowed */

/* Begins the search, of plan_search_begin(). */
bool devices_search_begin(Ui *ui, const SearchWords *words, Error *err);
/* Begins to price its pins in the background, when there is nothing else to do. */
void devices_search_follow(Ui *ui);

/* Opens the plan of a row in place of the explorer's, which `u` brings back. */
void devices_open(Ui *ui, const DevicesFound *found, int row);
/* Compares it with the plan that is shown. */
void devices_compare(Ui *ui, const DevicesFound *found, int row);

#endif
