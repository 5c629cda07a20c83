/* config_search.h - whole configurations of a training step on N devices: the fastest that fits.
 *
 * A configuration is a mesh and settings of the policy hybrid3d (config_space.h). Its time and its
 * memory are those of its plan, made as for any other verb; nothing here prices a step by itself.
 * Plans of large models take a while, so each configuration first has a lower bound of both
 * (config_bound.h), and those that are planned are the few whose bounds leave them a chance: the
 * one with the least bound is next, until none is below the best plan.
 */
#ifndef CORE_SEARCH_CONFIG_SEARCH_H
#define CORE_SEARCH_CONFIG_SEARCH_H

#include "core/search/search.h"

typedef struct {
    const SessionOptions *options; /* the model and what is fixed: of `settings`, pins of what is
                                      searched too; mesh and policy are not read */
    const SessionHooks *hooks;
    int64_t n_devices;
    int64_t max_peak_bytes; /* of a device; 0: the machine's memory */
    double seconds;         /* 0: as long as it takes */
    Progress *progress;     /* its stop flag ends the search with the best so far; may be NULL */
    SearchReport *report;   /* may be NULL */
    void *context;
} ConfigRequest;

#endif
