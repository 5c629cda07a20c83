#include "core/summary/actual.h"

#include "core/base/file.h"
#include "core/base/intern.h"
#include "core/base/pickle.h"
#include "core/base/zip.h"

#include <stdlib.h>

/* ---- names ---- */

/* As torch, NCCL and gloo write them. */
static const struct {
    const char *names;
    StepKind kind;
} kinds[] = {
    {"all_reduce allreduce allreduce_coalesced all_reduce_coalesced", STEP_ALL_REDUCE},
    {"all_gather allgather _all_gather_base _allgather_base all_gather_into_tensor "
     "all_gather_into_tensor_coalesced allgather_into_tensor_coalesced",
     STEP_ALL_GATHER},
    {"reduce_scatter _reduce_scatter_base reduce_scatter_tensor reduce_scatter_tensor_coalesced "
     "reducescatter",
     STEP_REDUCE_SCATTER},
    {"all_to_all alltoall alltoall_base all_to_allv all_to_all_single", STEP_ALL_TO_ALL},
    {"broadcast", STEP_BROADCAST},
};

static const struct {
    const char *names;
    int bytes;
} types[] = {
    {"double long c10::double complexfloat", 8},
    {"float int c10::float", 4},
    {"half bfloat16 short c10::half c10::bfloat16", 2},
    {"char byte bool float8_e4m3fn float8_e5m2", 1},
};

/* "nccl:all_reduce" -> its kind; false if it is none that plans have. */
static bool kind_of(Str name, StepKind *out)
{
    Buf plain = {0};
    Str last = name;
    Arena *arena = arena_new();
    plain = buf_new(arena);
    for (size_t i = 0; i < name.n; i++)
        if (name.s[i] == ':')
            last = (Str){name.s + i + 1, name.n - i - 1};
    Str word = str_take(&last, ' ');
    while (word.n > 0 && word.s[word.n - 1] == '_') /* c10d::allreduce_ works in place */
        word.n--;
    for (size_t i = 0; i < word.n; i++)
        buf_putc(&plain, word.s[i] >= 'A' && word.s[i] <= 'Z' ? (char)(word.s[i] + 32) : word.s[i]);
    bool found = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !found && word.n > 0; i++)
        if (str_has_word(str_from(kinds[i].names), buf_str(&plain))) {
            *out = kinds[i].kind;
            found = true;
        }
    arena_free(arena);
    return found;
}

static int bytes_of_type(Str name)
{
    char plain[32];
    if (name.n == 0 || name.n >= sizeof plain)
        return 0;
    for (size_t i = 0; i < name.n; i++)
        plain[i] = (char)(name.s[i] >= 'A' && name.s[i] <= 'Z' ? name.s[i] + 32 : name.s[i]);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_has_word(str_from(types[i].names), (Str){plain, name.n}))
            return types[i].bytes;
    return 0;
}

/* ---- groups ---- */

typedef struct {
    Arena *arena;
    ActualTrace *trace;
    Intern *groups; /* of lists of ranks; the next by id */
} TraceReading;

static int by_rank(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int group_of_ranks(TraceReading *r, int32_t *rank, int n)
{
    qsort(rank, (size_t)n, sizeof *rank, by_rank);
    int32_t id = intern_put(r->groups, rank, (size_t)n * sizeof *rank);
    if (id == r->trace->groups.n)
        vec_push(r->arena, &r->trace->groups, ((ActualGroup){n, rank}));
    return id;
}

/* Of [0, 2] or "[0, 2]"; -1 where it is cut short or not said. */
static int group_of(TraceReading *r, const Json *value)
{
    Json *parsed = NULL;
    if (json_is_string(value)) {
        Source text = {"ranks", json_str(value, "")};
        value = parsed = json_parse(&text, NULL);
    }
    int n = json_is_array(value) ? json_size(value) : 0;
    int32_t *rank = arena_array(r->arena, int32_t, n + 1);
    bool whole = n > 0;
    for (int i = 0; i < n; i++) {
        whole &= json_is_int(json_at(value, i));
        rank[i] = (int32_t)json_int(json_at(value, i), -1);
    }
    json_free(parsed);
    return whole ? group_of_ranks(r, rank, n) : -1;
}

/* ---- Kineto ---- */

/* The product of sizes; -1 if there is none that can be. */
static int64_t elements(const Json *sizes)
{
    int64_t n = 1;
    for (int i = 0; i < json_size(sizes); i++) {
        int64_t size = json_int(json_at(sizes, i), -1);
        if (size < 0 || (size > 0 && n > INT64_MAX / 16 / size))
            return -1;
        n *= size;
    }
    return json_is_array(sizes) ? n : -1;
}

static const Json *first_of(const Json *object, const char *key)
{
    return json_at(json_get(object, key), 0);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

typedef struct {
    const Json *event;
    double at;
    int place;
} Event;

static int by_time(const void *a, const void *b)
{
    const Event *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at ? 1 : x->place - y->place;
}

static void add_event(TraceReading *r, const Json *event, bool timed)
{
    const Json *args = json_get(event, "args");
    ActualRan ran = {.bytes = -1, .us = -1, .group = -1};
    if (!kind_of(
            json_str(json_get(args, "Collective name"), json_str(json_get(event, "name"), "").s),
            &ran.kind))
        return;
    int64_t n = larger(json_int(json_get(args, "In msg nelems"), -1),
                       json_int(json_get(args, "Out msg nelems"), -1));
    Str type = json_str(json_get(args, "dtype"), json_str(first_of(args, "Input type"), "").s);
    if (ran.kind == STEP_ALL_REDUCE && first_of(args, "Input Dims")) /* of gloo */
        n = elements(first_of(args, "Input Dims"));
    if (n > 0 && n < INT64_MAX / 16 && bytes_of_type(type) > 0)
        ran.bytes = n * bytes_of_type(type);
    if (timed && json_is_number(json_get(event, "dur")))
        ran.us = json_real(json_get(event, "dur"), -1);
    ran.group = group_of(r, json_get(args, "Process Group Ranks"));
    vec_push(r->arena, &r->trace->ran, ran);
}

/* Elements of the largest argument; several tensors in a list count together. */
static int64_t most_of_dims(const Json *dims)
{
    int64_t most = -1;
    for (int i = 0; i < json_size(dims); i++) {
        const Json *of = json_at(dims, i);
        int64_t n = 0;
        bool list = json_is_array(json_at(of, 0));
        for (int k = 0; list && k < json_size(of) && n >= 0; k++) {
            int64_t one = elements(json_at(of, k));
            n = one < 0 || n > INT64_MAX / 16 - one ? -1 : n + one;
        }
        most = larger(most, list ? n : json_size(of) > 0 ? elements(of) : -1);
    }
    return most;
}

/* gloo runs a reduce_scatter as an all_reduce, and names what a rank puts into an all_gather: what
 * was asked for is the call of c10d, in the same order; the time is that of gloo. */
static void add_asked(TraceReading *r, const Json *call, const Json *event)
{
    const Json *args = json_get(call, "args");
    ActualRan ran = {.bytes = -1, .us = -1, .group = -1};
    if (!kind_of(json_str(json_get(call, "name"), ""), &ran.kind))
        return;
    int64_t n = most_of_dims(json_get(args, "Input Dims"));
    int width = bytes_of_type(json_str(first_of(json_get(event, "args"), "Input type"), ""));
    if (n > 0 && n < INT64_MAX / 16 && width > 0)
        ran.bytes = n * width;
    ran.us = json_real(json_get(event, "dur"), -1);
    vec_push(r->arena, &r->trace->ran, ran);
}

static bool is_call_of_c10d(const Json *event)
{
    StepKind unused;
    Str name = json_str(json_get(event, "name"), "");
    return str_eq(json_str(json_get(event, "ph"), ""), STR("X")) &&
           str_starts(name, STR("c10d::")) && kind_of(name, &unused);
}

/* The calls of c10d in order of time, if there is one for each event of gloo; else NULL. */
static const Event *find_calls(Arena *arena, const Json *events, int n_events)
{
    int n = 0;
    Event *calls = arena_array(arena, Event, json_size(events) + 1);
    for (int i = 0; i < json_size(events); i++)
        if (is_call_of_c10d(json_at(events, i)))
            calls[n++] =
                (Event){json_at(events, i), json_real(json_get(json_at(events, i), "ts"), 0), i};
    qsort(calls, (size_t)n, sizeof *calls, by_time);
    return n == n_events ? calls : NULL;
}

/* 3: NCCL's kernels, which have the times; 2: calls that say what they are; 1: gloo's; 0: none. */
static int event_rank(const Json *event)
{
    bool described = json_get(json_get(event, "args"), "Collective name") != NULL;
    if (!str_eq(json_str(json_get(event, "ph"), ""), STR("X")))
        return 0;
    if (described)
        return str_eq(json_str(json_get(event, "cat"), ""), STR("kernel")) ? 3 : 2;
    return str_starts(json_str(json_get(event, "name"), ""), STR("gloo:"));
}

static void read_kineto(TraceReading *r, const Json *root)
{
    const Json *events = json_get(root, "traceEvents");
    int best = 0, n = 0;
    for (int i = 0; i < json_size(events); i++)
        best = event_rank(json_at(events, i)) > best ? event_rank(json_at(events, i)) : best;
    Event *list = arena_array(r->arena, Event, json_size(events) + 1);
    for (int i = 0; i < json_size(events) && best > 0; i++) {
        const Json *event = json_at(events, i);
        if (event_rank(event) == best)
            list[n++] = (Event){event, json_real(json_get(event, "ts"), 0), i};
    }
    qsort(list, (size_t)n, sizeof *list, by_time);
    const Event *calls = best == 1 ? find_calls(r->arena, events, n) : NULL;
    for (int i = 0; i < n; i++)
        if (calls)
            add_asked(r, calls[i].event, list[i].event);
        else
            add_event(r, list[i].event, best != 2);
    r->trace->rank = json_int(json_get(json_get(root, "distributedInfo"), "rank"), 0);
}

/* ---- the flight recorder ---- */

static int64_t most_elements(const Json *entry)
{
    static const char *const sides[] = {"input_sizes", "output_sizes"};
    int64_t most = -1;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < json_size(json_get(entry, sides[s])); i++)
            most = larger(most, elements(json_at(json_get(entry, sides[s]), i)));
    return most;
}

static int recorded_group(TraceReading *r, const Json *root, const Json *entry)
{
    const Json *groups = json_get(root, "pg_config"), *name = first_of(entry, "process_group");
    for (const char *key = NULL; (key = json_key_after(groups, key));) {
        Str own = json_str(json_get(json_get(groups, key), "name"), key);
        if (str_eq(own, json_str(name, "")))
            return group_of(r, json_get(json_get(groups, key), "ranks"));
    }
    return -1;
}

static void read_recorder(TraceReading *r, const Json *root)
{
    const Json *entries = json_get(root, "entries");
    for (int i = 0; i < json_size(entries); i++) {
        const Json *entry = json_at(entries, i);
        ActualRan ran = {.bytes = -1, .us = -1};
        if (!kind_of(json_str(json_get(entry, "profiling_name"), ""), &ran.kind))
            continue;
        int64_t n = most_elements(entry);
        int width = bytes_of_type(json_str(first_of(entry, "input_dtypes"), ""));
        double ms = json_real(json_get(entry, "duration_ms"), 0);
        Str state = json_str(json_get(entry, "state"), "");
        if (n > 0 && n < INT64_MAX / 16 && width > 0)
            ran.bytes = n * width;
        ran.us = ms > 0 ? 1000 * ms : -1;
        ran.hangs =
            !json_bool(json_get(entry, "retired"), true) && !str_eq(state, STR("completed"));
        ran.group = recorded_group(r, root, entry);
        vec_push(r->arena, &r->trace->ran, ran);
    }
    r->trace->rank = json_int(json_get(root, "rank"), 0);
}

/* ---- the file ---- */

static Json *load(Arena *arena, const char *path, Error *err)
{
    FileMap map;
    if (!file_map(path, &map, err))
        return NULL;
    Source text = {path, map.text};
    Json *root = NULL;
    if (!gzip_is(map.text) || gzip_read(arena, &text, &text.text, err))
        root = pickle_is(text.text) ? pickle_read(&text, err) : json_parse(&text, err);
    file_unmap(&map);
    return root;
}

ActualTrace *actual_read(Arena *arena, const char *path, Error *err)
{
    Json *root = load(arena, path, err);
    if (!root)
        return NULL;
    TraceReading r = {arena, arena_make(arena, ActualTrace), intern_new(arena)};
    bool known = true;
    if (json_is_array(json_get(root, "traceEvents")))
        read_kineto(&r, root);
    else if (json_is_array(json_get(root, "entries")))
        read_recorder(&r, root);
    else
        known = false;
    json_free(root);
    if (!known) {
        error_kind(err, ERROR_UNREADABLE, "%s: it has neither traceEvents nor entries", path);
        error_hint(err, "give a trace of torch.profiler, or a dump of NCCL's flight recorder");
        return NULL;
    }
    r.trace->knows_groups = true;
    for (int i = 0; i < r.trace->ran.n; i++)
        r.trace->knows_groups &= r.trace->ran.at[i].group >= 0;
    return r.trace;
}
