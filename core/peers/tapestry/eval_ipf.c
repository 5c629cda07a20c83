#include "core/peers/tapestry/eval_template.h"

#include "core/base/scan.h"
#include "core/peers/tapestry/eval_forms.h"
#include "core/peers/tapestry/ipf.h"
#include "core/peers/tapestry/range.h"

#include <inttypes.h>

/* ---- ranges ---- */

/* The range of the tensor that the points of the index box read or write. */
static bool range_of(const Projection *projection, int n_index, const Box *index, Box *out,
                     Error *err)
{
    int64_t extent[X_MAX] = {0};
    if (n_index >= 0 && index->n != n_index)
        return error_kind(err, ERROR_RANK, "%d coordinates for %d index dims", index->n, n_index);
    for (int j = 0; j < index->n; j++) {
        int64_t lo = index->lo[j] < 0 ? -index->lo[j] : index->lo[j];
        int64_t hi = index->hi[j] < 0 ? -index->hi[j] : index->hi[j];
        extent[j] = (lo > hi ? lo : hi) + 1;
    }
    if (!ipf_is_small(projection, extent, index->n))
        return error_kind(err, ERROR_OUT_OF_RANGE, "the range extends beyond 2^60");
    projection_range(projection, NULL, index, out);
    return true;
}

/* With `broadcast`, coordinates in front of those of the ipf are copied unchanged. */
static bool answer_range(const Json *request, const Projection *projection, int n_index,
                         const Box *index, Json *answer, Error *err)
{
    bool broadcast = json_bool(json_get(request, "broadcast"), false);
    int surplus = broadcast && n_index >= 0 && index->n > n_index ? index->n - n_index : 0;
    Box part[2] = {{.n = surplus}}, own = {.n = index->n - surplus}, out;
    memcpy(part[0].lo, index->lo, sizeof part[0].lo);
    memcpy(part[0].hi, index->hi, sizeof part[0].hi);
    memcpy(own.lo, index->lo + surplus, (size_t)own.n * sizeof *own.lo);
    memcpy(own.hi, index->hi + surplus, (size_t)own.n * sizeof *own.hi);
    if (!range_of(projection, n_index, &own, &part[1], err) || !range_product(part, 2, &out, err))
        return false;
    json_set(answer, "range", json_range(&out));
    return true;
}

static bool answer_point(const Json *request, const Projection *projection, int n_index,
                         Json *answer, Error *err)
{
    Box index = {0};
    if (!form_ints(json_get(request, "x"), "x", X_MAX, index.lo, &index.n, err))
        return false;
    for (int j = 0; j < index.n; j++)
        if (__builtin_add_overflow(index.lo[j], 1, &index.hi[j]))
            return error_kind(err, ERROR_OUT_OF_RANGE, "coordinate %d is larger than 2^60", j);
    return range_check(&index, err) &&
           answer_range(request, projection, n_index, &index, answer, err);
}

static bool answer_box(const Json *request, const Projection *projection, int n_index, Json *answer,
                       Error *err)
{
    Box index;
    return form_range(json_get(request, "range"), &index, err) && range_check(&index, err) &&
           answer_range(request, projection, n_index, &index, answer, err);
}

static bool answer_shard(const Json *request, Json *answer, Error *err)
{
    const Json *operands = json_get(request, "operands");
    Json *ranges = json_object();
    Box index, out;
    json_set(answer, "operands", ranges);
    if (!json_is_object(operands))
        return error_set(err, "`operands` must be an object of ipfs");
    if (!form_range(json_get(request, "range"), &index, err) || !range_check(&index, err))
        return false;
    for (int i = 0; i < json_size(operands); i++) {
        const char *name = json_key_at(operands, i);
        Projection projection;
        int n_index;
        if (!form_ipf(json_get(operands, name), &projection, &n_index, err) ||
            !range_of(&projection, n_index, &index, &out, err))
            return false;
        json_set(ranges, name, json_range(&out));
    }
    return true;
}

/* ---- changes ---- */

static bool answer_translate(const Json *request, Projection *projection, int n_index, Json *answer,
                             Error *err)
{
    int64_t by[DIMS_MAX];
    int n;
    if (!form_ints(json_get(request, "by"), "by", DIMS_MAX, by, &n, err))
        return false;
    if (n != projection->n_dims)
        return error_kind(err, ERROR_RANK, "%d numbers for %d rows", n, projection->n_dims);
    for (int d = 0; d < n; d++)
        if (__builtin_add_overflow(projection->row[d].offset, by[d], &projection->row[d].offset))
            return error_kind(err, ERROR_OUT_OF_RANGE, "offset %d does not fit 64 bits", d);
    json_set(answer, "ipf", json_ipf(projection, n_index));
    return true;
}

/* Side "out": row k becomes the old row perm[k]; side "in": column k the old column perm[k]. */
static bool answer_permute(const Json *request, const Projection *projection, int n_index,
                           Json *answer, Error *err)
{
    Str side = json_str(json_get(request, "side"), "");
    bool rows = str_eq(side, STR("out"));
    int64_t perm[X_MAX];
    Box places = {.n = rows ? projection->n_dims : n_index}, checked;
    Projection out = *projection;
    int n;
    if (!rows && !str_eq(side, STR("in")))
        return error_set(err, "`side` must be \"in\" or \"out\"");
    if (!form_ints(json_get(request, "perm"), "perm", X_MAX, perm, &n, err) ||
        !range_permute(&places, perm, n, &checked, err))
        return false;
    for (int d = 0; d < projection->n_dims; d++) {
        if (rows)
            out.row[d] = projection->row[perm[d]];
        for (int j = 0; !rows && j < n_index; j++)
            out.row[d].coef[j] = projection->row[d].coef[perm[j]];
    }
    json_set(answer, "ipf", json_ipf(&out, n_index));
    return true;
}

static bool answer_marginal(const Projection *projection, int n_index, Json *answer)
{
    Json *overlap = json_array(), *waste = json_array();
    for (int d = 0; d < projection->n_dims; d++) {
        int64_t over[X_MAX], skipped[X_MAX];
        for (int j = 0; j < n_index; j++) {
            over[j] = row_overlap(&projection->row[d], j);
            skipped[j] = row_waste(&projection->row[d], j);
        }
        json_add(overlap, json_ints(over, n_index));
        json_add(waste, json_ints(skipped, n_index));
    }
    json_set(answer, "overlap", overlap);
    json_set(answer, "waste", waste);
    return true;
}

/* ---- rows of text: `1 0 | -1 | 1` ---- */

static bool write_rows(Arena *arena, const Projection *projection, int n_index, Json *answer)
{
    Json *rows = json_array();
    for (int d = 0; d < projection->n_dims; d++) {
        const Row *row = &projection->row[d];
        Buf text = buf_new(arena);
        for (int j = 0; j < n_index; j++)
            buf_printf(&text, "%" PRId64 " ", row->coef[j]);
        buf_printf(&text, "| %" PRId64 " | %" PRId64, row->offset, row->window);
        json_add(rows, json_from_str(buf_str(&text)));
    }
    json_set(answer, "rows", rows);
    return true;
}

static bool read_row(Str text, Row *row, int *n_index, Error *err)
{
    Source source = {"rows", text};
    Scan scan = scan_begin(&source, err);
    int n = 0;
    while (scan_peek(&scan) != '|') {
        if (n == X_MAX)
            return error_kind(err, ERROR_RANK, "a row has at most %d coefficients", X_MAX);
        if (!scan_int(&scan, &row->coef[n++]))
            return false;
    }
    if (!scan_char(&scan, '|') || !scan_int(&scan, &row->offset) || !scan_char(&scan, '|') ||
        !scan_int(&scan, &row->window) || !scan_end(&scan))
        return false;
    if (*n_index >= 0 && n != *n_index)
        return error_kind(err, ERROR_RANK, "one row has %d numbers, another %d", *n_index, n);
    *n_index = n;
    return row->window >= 0 || error_kind(err, ERROR_OUT_OF_RANGE, "a window is negative");
}

static bool read_rows(const Json *rows, Json *answer, Error *err)
{
    Projection projection = {.n_dims = (uint8_t)json_size(rows)};
    int n_index = -1;
    if (!json_is_array(rows) || json_size(rows) > DIMS_MAX)
        return error_set(err, "`rows` must be a list of at most %d strings", DIMS_MAX);
    for (int d = 0; d < projection.n_dims; d++)
        if (!read_row(json_str(json_at(rows, d), ""), &projection.row[d], &n_index, err))
            return false;
    json_set(answer, "ipf", json_ipf(&projection, n_index));
    return true;
}

bool eval_ipf(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    Projection projection;
    int n_index;
    if (strcmp(verb, "ipf.shard") == 0)
        return answer_shard(request, answer, err);
    if (strcmp(verb, "ipf.rows") == 0 && json_get(request, "rows"))
        return read_rows(json_get(request, "rows"), answer, err);
    if (!form_ipf(json_get(request, "ipf"), &projection, &n_index, err))
        return false;
    int n = n_index < 0 ? 0 : n_index;
    if (strcmp(verb, "ipf.point") == 0)
        return answer_point(request, &projection, n_index, answer, err);
    if (strcmp(verb, "ipf.range") == 0)
        return answer_box(request, &projection, n_index, answer, err);
    if (strcmp(verb, "ipf.translate") == 0)
        return answer_translate(request, &projection, n, answer, err);
    if (strcmp(verb, "ipf.permute") == 0)
        return answer_permute(request, &projection, n, answer, err);
    if (strcmp(verb, "ipf.rows") == 0)
        return write_rows(arena, &projection, n, answer);
    if (strcmp(verb, "ipf.marginal") == 0)
        return answer_marginal(&projection, n, answer);
    return error_kind(err, ERROR_UNSUPPORTED, "there is no verb '%s'", verb);
}
