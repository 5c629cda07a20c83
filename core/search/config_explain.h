/* config_explain.h - why a configuration: what one other choice costs, what a limit and pins do.
 *
 * A change is one choice made otherwise, the rest as it is: an axis twice or half as large, with as
 * many fewer or more devices on dp; a micro-batch of twice or half the samples; another schedule,
 * level of ZeRO, order of axes, split of stages; what runs again; sequence parallelism. Each is a
 * configuration of the space, and its time a plan's, in parts.
 */
#ifndef CORE_SEARCH_CONFIG_EXPLAIN_H
#define CORE_SEARCH_CONFIG_EXPLAIN_H

#include "core/search/config_search.h"

/* The difference of a part of the step between two plans; positive: the change takes more. */
typedef struct {
    const char *name;
    double us;
} ConfigDelta;

typedef struct {
    const char *what;       /* "tp=8 instead of 4, dp=32" */
    const ConfigPlan *plan; /* NULL: not planned, since its bound is above those that are, .. */
    double bound_us;        /* .. or it needs more than the limit */
    int64_t bound_bytes;
    bool fits; /* the plan, or as far as the bound tells */
    int n_deltas;
    const ConfigDelta *delta; /* of a plan: parts that differ by half a microsecond, the largest
                                 first; they add up to the difference of the steps */
} ConfigChange;

typedef struct {
    int n;
    ConfigChange *change; /* those that fit first, the fastest first */
} ConfigChanges;

/* A question with what explains its answer. */
typedef struct {
    ConfigAnswer answer;      /* of a frontier: `best` is its first point */
    ConfigChanges changes;    /* of an answer that was not stopped */
    ConfigAnswer unlimited;   /* the same without the limit of memory; best NULL: not asked */
    const ConfigPlan *least;  /* where none fits, the one that needs least; NULL: not asked */
    const ConfigPlan **point; /* of a frontier, from the fastest of all to the smallest: each the
                                 fastest, within the gap, of those with less memory than the one
                                 before, by at least a thirtieth */
    int n_points;             /* 0: none was asked for, or none fits */
} ConfigFound;

/* The answer, then what explains it; where the search's progress is stopped meanwhile, the answer
 * alone. */
bool config_find(Arena *arena, ConfigSearch *search, const ConfigQuestion *question, bool frontier,
                 ConfigFound *out, Error *err);

/* The answer without one pin of the request (config_pins.h). */
typedef struct {
    const char *pin; /* "tp=8"; NULL: without all of them */
    bool conflict;   /* of a smallest set of pins that with the limit leaves nothing */
    ConfigAnswer answer;
} ConfigPinPrice;

/* Asks once without each setting that pins what is searched, and where there are several without
 * all; not of a mesh that is given. fits: something does under all of them; else a deletion filter
 * finds which conflict. Returns false with ERROR_CANCELLED if the progress was stopped. */
bool config_price_pins(Arena *arena, const ConfigRequest *request, const ConfigQuestion *question,
                       bool fits, ConfigPinPrice **out, int *n, Error *err);

#endif
