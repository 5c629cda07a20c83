/* trace_event.h - events of Chrome's trace format, as Perfetto reads them.
 *
 * Times come in nanoseconds and are written in microseconds, such that whoever multiplies by 1000
 * and cuts off gets the nanosecond again; slices that follow each other on a thread so never
 * overlap. Events of a thread are to be added by time, and a flow right behind the slice that it
 * leaves or enters: readers bind it to the slice that is open then.
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

/* "process_name", "thread_name"; and "process_sort_index" .., the number they are listed by. */
void trace_put_name(Json *events, const char *what, int pid, int64_t tid, const char *name);
void trace_put_order(Json *events, const char *what, int pid, int64_t tid, int64_t order);

/* An event X; takes args. */
void trace_put_slice(Json *events, TraceSlice slice, Str name, const char *category, Json *args);

/* A flow out of a slice, at its end, and into one, at its start; both ends have one id. */
void trace_put_flow_out(Json *events, TraceSlice slice, int64_t id);
void trace_put_flow_in(Json *events, TraceSlice slice, int64_t id);

/* Values of a counter from then on: a series an argument; takes args. */
void trace_put_counter(Json *events, int pid, int64_t ns, const char *name, Json *args);

#endif
