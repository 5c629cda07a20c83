/* config_search.h - whole configurations of a training step on N devices: the fastest that fits.
 *
 * A configuration is a mesh and settings of the policy hybrid3d (config_space.h). Its time and its
 * memory are those of its plan, made as for any other verb; nothing here prices a step by itself.
 * Plans of large models take a while, so every configuration has lower bounds first, in three
 * rounds, each tighter and dearer:
 *
 *     group     FLOPs of the model, then the layers' costs under the axes of one micro-batch:
 *               for all schedules, stages, orders of axes and levels of ZeRO together
 *     bound     the same costs in the stages of a configuration (config_bound.h)
 *     layers    the costs of the layers on its whole mesh, laid out in the order of its schedule
 *
 * What has the least bound goes to the next round, and behind the last it is planned. When the
 * least bound is not below the best plan, that plan is proven to be the fastest of the space.
 */
#ifndef CORE_SEARCH_CONFIG_SEARCH_H
#define CORE_SEARCH_CONFIG_SEARCH_H

#include "core/search/config_space.h"
#include "core/search/search.h"

typedef struct {
    const SessionOptions *options; /* the model and what is fixed: of `settings`, global_batch, and
                                      pins of what is searched; a mesh that all have, or NULL.
                                      The policy is not read */
    const SessionHooks *hooks;
    int64_t n_devices;    /* without a mesh */
    Progress *progress;   /* its stop flag ends the search with the best so far; may be NULL */
    SearchReport *report; /* may be NULL */
    void *context;
} ConfigRequest;

/* A part of a step's time by name: "compute", "all_reduce over tp". */
typedef struct {
    const char *name;
    double us;
} ConfigPart;

typedef struct {
    Configuration config;
    const char *mesh;        /* as -m has it */
    const char *text;        /* the rest, for people */
    PolicySettings settings; /* of hybrid3d and the model */
    bool legal;
    const char *failed; /* why there is no plan; NULL */
    double step_us, bound_us;
    int64_t peak_bytes;
    int n_parts;
    const ConfigPart *part; /* add up to step_us (core/cost/step_parts.h) */
} ConfigPlan;

/* Where configurations went; they add up to `all`. */
typedef struct {
    int64_t all, by_memory, by_time, by_schedule, planned;
    int64_t same;                 /* stages by time that are equal ones */
    int64_t failed;               /* cannot be planned */
    int64_t left;                 /* when it was stopped */
    int64_t left_out[LEFT_COUNT]; /* meshes */
    int64_t layer_plans;          /* made for bounds */
    int64_t guessed;              /* planned before their bounds led to them; not in the sum */
} ConfigCounts;

typedef enum { LEAST_TIME, LEAST_MEMORY } ConfigAim;

typedef struct {
    ConfigAim aim;
    int64_t max_peak_bytes; /* of a device; INT64_MAX: no limit */
    double seconds;         /* 0: as long as it takes */
    double gap;             /* ends when the bound is within this share of the best; 0: at the
                               proof */
} ConfigQuestion;

typedef struct {
    SearchOutcome outcome;
    const ConfigPlan *best; /* NULL without a plan that fits */
    double bound;           /* of its time, or of its memory: no configuration has less */
    bool proven;
    ConfigCounts counts;
    const char *failed; /* why one of these could not be planned; NULL */
    double seconds;
} ConfigAnswer;

typedef struct ConfigSearch ConfigSearch;

/* Reads the model. NULL with *err: options that do not fit, devices that cannot be shared out
 * (ERROR_CONFLICT, with the reasons as its hint). Everything is in the arena but what
 * config_search_free() frees. */
ConfigSearch *config_search_new(Arena *arena, const ConfigRequest *request, Error *err);
void config_search_free(ConfigSearch *search); /* NULL is allowed */

/* Answers a question; later ones know what earlier ones planned. */
bool config_search(ConfigSearch *search, const ConfigQuestion *question, ConfigAnswer *out,
                   Error *err);

const ConfigSpace *config_space_of(const ConfigSearch *search);
int64_t config_memory_of(const ConfigSearch *search); /* of the machine's devices */

/* The plans made so far, by this question and those before it. */
const ConfigPlan *const *config_planned(const ConfigSearch *search, int *n);

/* The plan of a configuration, whatever its bounds; known ones are not made again. */
const ConfigPlan *config_plan(ConfigSearch *search, const Configuration *config, Error *err);
/* The bounds of one configuration round by round: of larger axes, of the axes of its micro-batch,
 * of its whole mesh. The last has no time if its schedule does not take so many micro-batches. */
enum { CONFIG_ROUNDS = 3 };
typedef struct {
    double us;
    int64_t bytes;
} ConfigRound;
bool config_bounds_of(ConfigSearch *search, const Configuration *config,
                      ConfigRound out[CONFIG_ROUNDS], Error *err);
/* Options that open the plan of a configuration. */
SessionOptions config_options(const ConfigSearch *search, const ConfigPlan *plan);

#endif
