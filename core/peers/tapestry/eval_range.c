#include "core/peers/tapestry/eval_template.h"

#include "core/peers/tapestry/eval_forms.h"
#include "core/peers/tapestry/range.h"

/* A request, with the fields that most verbs need already read. */
typedef struct {
    Arena *arena;
    const Json *json;
    Json *answer;
    Box range;
    Box *ranges;
    int n;
    Error *err;
} RangeRequest;

static bool read_range(RangeRequest *request, const char *field, Box *out)
{
    return form_range(json_get(request->json, field), out, request->err) &&
           range_check(out, request->err);
}

static bool read_ranges(RangeRequest *request)
{
    const Json *list = json_get(request->json, "ranges");
    if (!json_is_array(list))
        return error_set(request->err, "`ranges` must be a list of ranges");
    request->n = json_size(list);
    if (request->n > LIST_MAX)
        return error_kind(request->err, ERROR_UNSUPPORTED, "more than %d ranges", LIST_MAX);
    request->ranges = arena_array(request->arena, Box, request->n);
    for (int i = 0; i < request->n; i++)
        if (!form_range(json_at(list, i), &request->ranges[i], request->err) ||
            !range_check(&request->ranges[i], request->err))
            return false;
    return true;
}

static bool answer_range(RangeRequest *request, const Box *range)
{
    json_set(request->answer, "range", json_range(range));
    return true;
}

static bool answer_ranges(RangeRequest *request, const Box *ranges, int n)
{
    Json *list = json_array();
    for (int i = 0; i < n; i++)
        json_add(list, json_range(&ranges[i]));
    json_set(request->answer, "ranges", list);
    return true;
}

/* ---- range.make ---- */

/* From two of start, shape and end; from shape alone the range starts at 0. */
static bool make_range(RangeRequest *request, Box *out)
{
    const Json *start = json_get(request->json, "start"), *end = json_get(request->json, "end");
    const Json *shape = json_get(request->json, "shape");
    int64_t size[X_MAX];
    int n_starts = 0, n_ends = 0, n_sizes = 0;
    *out = (Box){0};
    if (!shape && !(start && end))
        return error_set(request->err, "a range needs a start and an end, or a shape");
    if ((start && !form_ints(start, "start", X_MAX, out->lo, &n_starts, request->err)) ||
        (end && !form_ints(end, "end", X_MAX, out->hi, &n_ends, request->err)) ||
        (shape && !form_ints(shape, "shape", X_MAX, size, &n_sizes, request->err)))
        return false;
    out->n = shape ? n_sizes : n_starts;
    if ((start && n_starts != out->n) || (end && n_ends != out->n))
        return error_kind(request->err, ERROR_RANK, "start, shape and end differ in length");
    for (int d = 0; shape && d < out->n; d++) {
        int64_t at;
        bool over = start || !end ? __builtin_add_overflow(out->lo[d], size[d], &at)
                                  : __builtin_sub_overflow(out->hi[d], size[d], &at);
        if (over)
            return error_kind(request->err, ERROR_OUT_OF_RANGE, "axis %d extends beyond 2^60", d);
        if (start && end && at != out->hi[d])
            return error_kind(request->err, ERROR_INVALID, "start, shape and end disagree");
        *(start || !end ? &out->hi[d] : &out->lo[d]) = at;
    }
    return range_check(out, request->err);
}

static bool range_make(RangeRequest *request)
{
    const Json *text = json_get(request->json, "text");
    int64_t size;
    if (text && !json_is_string(text))
        return error_set(request->err, "`text` must be a string");
    if (text ? !range_parse(json_str(text, ""), &request->range, request->err)
             : !make_range(request, &request->range))
        return false;
    if (!range_size(&request->range, &size, request->err))
        return false;
    json_set(request->answer, "range", json_range(&request->range));
    json_set_int(request->answer, "size", size);
    json_set_bool(request->answer, "empty", range_is_empty(&request->range));
    return true;
}

/* ---- the other verbs ---- */

static bool bound(RangeRequest *request)
{
    Box out;
    return read_ranges(request) && range_bound(request->ranges, request->n, &out, request->err) &&
           answer_range(request, &out);
}

static bool intersect(RangeRequest *request)
{
    Box out;
    bool any;
    if (!read_ranges(request) ||
        !range_intersect(request->ranges, request->n, &out, &any, request->err))
        return false;
    json_set(request->answer, "range", any ? json_range(&out) : json_null());
    return true;
}

static bool product(RangeRequest *request)
{
    Box out;
    return read_ranges(request) && range_product(request->ranges, request->n, &out, request->err) &&
           answer_range(request, &out);
}

static bool permute(RangeRequest *request)
{
    Box out;
    int64_t perm[X_MAX];
    int n;
    return read_range(request, "range", &request->range) &&
           form_ints(json_get(request->json, "perm"), "perm", X_MAX, perm, &n, request->err) &&
           range_permute(&request->range, perm, n, &out, request->err) &&
           answer_range(request, &out);
}

static bool split(RangeRequest *request)
{
    const Json *dim = json_get(request->json, "dim"), *chunk = json_get(request->json, "chunk");
    const Json *chunks = json_get(request->json, "chunks");
    Box *out;
    int n;
    if (!read_range(request, "range", &request->range))
        return false;
    if (!json_is_int(dim) || (chunk && !json_is_int(chunk)) || (!chunk == !chunks))
        return error_set(request->err, "a split needs `dim`, and either `chunk` or `chunks`");
    if (chunk)
        return range_split(request->arena, &request->range, json_int(dim, 0), json_int(chunk, 0),
                           &out, &n, request->err) &&
               answer_ranges(request, out, n);
    int64_t *sizes = arena_array(request->arena, int64_t, json_size(chunks));
    return form_ints(chunks, "chunks", RANGE_PIECES_MAX, sizes, &n, request->err) &&
           range_split_sizes(request->arena, &request->range, json_int(dim, 0), sizes, n, &out,
                             request->err) &&
           answer_ranges(request, out, n);
}

/* Lists all points in row-major order. */
static bool coords(RangeRequest *request)
{
    int64_t size;
    Box *range = &request->range;
    if (!read_range(request, "range", range) || !range_size(range, &size, request->err))
        return false;
    if (size > RANGE_PIECES_MAX)
        return error_kind(request->err, ERROR_UNSUPPORTED, "more than %d points", RANGE_PIECES_MAX);
    Json *points = json_array();
    Box at = *range;
    for (; size > 0; size--) {
        json_add(points, json_ints(at.lo, at.n));
        for (int d = at.n - 1; d >= 0 && ++at.lo[d] == at.hi[d]; d--)
            at.lo[d] = range->lo[d];
    }
    json_set(request->answer, "points", points);
    return true;
}

static bool contains(RangeRequest *request)
{
    const Json *point = json_get(request->json, "point");
    int64_t at[X_MAX];
    Box other;
    int n;
    bool yes;
    if (!read_range(request, "range", &request->range))
        return false;
    if (point ? !form_ints(point, "point", X_MAX, at, &n, request->err) ||
                    !range_contains_point(&request->range, at, n, &yes, request->err)
              : !read_range(request, "other", &other) ||
                    !range_contains(&request->range, &other, &yes, request->err))
        return false;
    json_set_bool(request->answer, "contains", yes);
    return true;
}

static bool cover(RangeRequest *request)
{
    if (!read_range(request, "range", &request->range) || !read_ranges(request) ||
        !range_cover(&request->range, request->ranges, request->n, request->err))
        return false;
    json_set_bool(request->answer, "covers", true);
    return true;
}

static const struct {
    const char *verb;
    bool (*answer)(RangeRequest *request);
} verbs[] = {
    {"range.make", range_make}, {"range.bound", bound},       {"range.intersect", intersect},
    {"range.product", product}, {"range.permute", permute},   {"range.split", split},
    {"range.coords", coords},   {"range.contains", contains}, {"range.cover", cover},
};

bool eval_range(const char *verb, Arena *arena, const Json *json, Json *answer, Error *err)
{
    Error own = {0};
    RangeRequest request = {
        .arena = arena, .json = json, .answer = answer, .err = err ? err : &own};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verb, verbs[i].verb) == 0)
            return verbs[i].answer(&request);
    return error_kind(err, ERROR_UNSUPPORTED, "there is no verb '%s'", verb);
}
