/* report.h - what the results of the ranks say together. */
#ifndef CORE_RUN_REPORT_H
#define CORE_RUN_REPORT_H

#include "core/run/rank.h"

/* Of the passes that all ranks have done, into the arena. False: there is none. */
bool report_make(Arena *arena, const Team *team, RunReport *out);

#endif
