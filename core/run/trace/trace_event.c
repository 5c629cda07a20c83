#include "core/run/trace/trace_event.h"

#include <math.h>

int64_t trace_ns(double us)
{
    return (int64_t)llround(us * 1000);
}

/* One millionth more where the nearest double is below; JSON has that precision. */
static double us_of(int64_t ns)
{
    double us = (double)ns / 1000;

    return (int64_t)(us * 1000) < ns ? us + 1e-6 : us;
}

/* Perfetto takes a tid of 0 for one that is not said, and the pid for it, which would lay two lanes
 * on one another; so both are written from 1 on. */
static Json *event(const char *phase, int pid, int64_t tid, int64_t ns)
{
    Json *out = json_object();

    json_set_str(out, "ph", phase);
    json_set_int(out, "pid", pid + 1);
    json_set_int(out, "tid", tid + 1);
    json_set_real(out, "ts", us_of(ns));
    return out;
}

static Json *metadata(Json *events, const char *what, int pid, int64_t tid)
{
    Json *out = event("M", pid, tid, 0), *args = json_object();

    json_set_str(out, "name", what);
    json_set(out, "args", args);
    json_add(events, out);
    return args;
}

void trace_put_name(Json *events, const char *what, int pid, int64_t tid, const char *name)
{
    json_set_str(metadata(events, what, pid, tid), "name", name);
}

void trace_put_order(Json *events, const char *what, int pid, int64_t tid, int64_t order)
{
    json_set_int(metadata(events, what, pid, tid), "sort_index", order);
}

static void put_slice(Json *events, TraceSlice slice, double us, Str name, const char *category,
                      Json *args)
{
    Json *out = event("X", slice.pid, slice.tid, slice.start_ns);

    json_set_real(out, "dur", us > 0 ? us : 0);
    json_set(out, "name", json_from_str(name));
    json_set_str(out, "cat", category);
    json_set(out, "args", args);
    json_add(events, out);
}

void trace_put_slice(Json *events, TraceSlice slice, Str name, const char *category, Json *args)
{
    double us = round(((double)slice.end_ns / 1000 - us_of(slice.start_ns)) * 1e6) / 1e6;
    put_slice(events, slice, us, name, category, args);
}

void trace_put_around(Json *events, TraceSlice slice, Str name, const char *category, Json *args)
{
    put_slice(events, slice, us_of(slice.end_ns - slice.start_ns), name, category, args);
}

static void put_flow(Json *events, const char *phase, TraceSlice slice, int64_t ns, int64_t id)
{
    Json *out = event(phase, slice.pid, slice.tid, ns);

    json_set_str(out, "name", "value");
    json_set_str(out, "cat", "flow");
    json_set_int(out, "id", id);
    if (*phase == 'f')
        json_set_str(out, "bp", "e");
    json_add(events, out);
}

void trace_put_flow_out(Json *events, TraceSlice slice, int64_t id)
{
    put_flow(events, "s", slice, slice.end_ns > slice.start_ns ? slice.end_ns - 1 : slice.end_ns,
             id);
}

void trace_put_flow_in(Json *events, TraceSlice slice, int64_t id)
{
    put_flow(events, "f", slice, slice.start_ns, id);
}

void trace_put_counter(Json *events, int pid, int64_t ns, const char *name, Json *args)
{
    Json *out = event("C", pid, 0, ns);

    json_set_str(out, "name", name);
    json_set(out, "args", args);
    json_add(events, out);
}
