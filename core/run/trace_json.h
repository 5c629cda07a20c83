/* trace_json.h - a plan along time, and a run of it, as Chrome's trace events for Perfetto. */
#ifndef CORE_RUN_TRACE_JSON_H
#define CORE_RUN_TRACE_JSON_H

#include "core/run/timeline.h"

/* trace: of a run of the session's plan, or NULL. */
void trace_json_put(const Session *session, const Timeline *timeline, const Trace *trace, Buf *out);

#endif
