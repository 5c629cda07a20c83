/* trace_event.h - events of Chrome's trace format, as Perfetto reads them.
 *
 * Times are nanoseconds, written in microseconds such that multiplying by 1000 gives the
 * nanoseconds back, whether a reader truncates or rounds; therefore consecutive slices of a thread
 * never overlap. Processes and threads are numbered from 0 here, and written from 1 on. Add the
 * events of a thread by time, and a flow right after the slice it leaves or enters: readers bind it
 * to the slice open at that time.
 */
#ifndef CORE_RUN_TRACE_TRACE_EVENT_H
#define CORE_RUN_TRACE_TRACE_EVENT_H

#include "core/base/json.h"

typedef struct {
    int pid;
    int64_t tid;
    int64_t start_ns, end_ns;
} TraceSlice;

int64_t trace_ns(double us);

/* Metadata "process_name", "thread_name"; and "process_sort_index" .. for their order. */
void trace_put_name(Json *events, const char *what, int pid, int64_t tid, const char *name);
void trace_put_order(Json *events, const char *what, int pid, int64_t tid, int64_t order);

/* A slice (event X); takes ownership of args. */
void trace_put_slice(Json *events, TraceSlice slice, Str name, const char *category, Json *args);

/* A slice around slices that come after it in the file; truncation never makes it shorter than
 * them. */
void trace_put_around(Json *events, TraceSlice slice, Str name, const char *category, Json *args);

/* trace_put_flow_out(): a flow out of the end of a slice; trace_put_flow_in(): into the start of
 * one. Both ends have the same id. */
void trace_put_flow_out(Json *events, TraceSlice slice, int64_t id);
void trace_put_flow_in(Json *events, TraceSlice slice, int64_t id);

/* Values of a counter from `ns` on, one series per argument; takes ownership of args. */
void trace_put_counter(Json *events, int pid, int64_t ns, const char *name, Json *args);

#endif
