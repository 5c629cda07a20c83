#include "core/peers/tapestry/eval_forms.h"

bool form_ints(const Json *list, const char *what, int most, int64_t *out, int *n, Error *err)
{
    if (!json_is_array(list))
        return error_set(err, "`%s` must be a list of integers", what);
    if (json_size(list) > most)
        return error_kind(err, ERROR_RANK, "`%s` has at most %d numbers", what, most);
    *n = json_size(list);
    for (int i = 0; i < *n; i++) {
        if (!json_is_int(json_at(list, i)))
            return error_set(err, "`%s` must be a list of integers", what);
        out[i] = json_int(json_at(list, i), 0);
    }
    return true;
}

bool form_shape(const Json *list, Shape *out, Error *err)
{
    int n;
    *out = (Shape){0};
    if (!form_ints(list, "shape", DIMS_MAX, out->dim, &n, err))
        return false;
    out->n_dims = n;
    return shape_check(out, err);
}

/* ---- ranges ---- */

bool form_range(const Json *value, Box *out, Error *err)
{
    int n_ends = 0;
    *out = (Box){0};
    if (!json_is_object(value))
        return error_set(err, "a range must be an object with `start` and `end`");
    if (!form_ints(json_get(value, "start"), "start", X_MAX, out->lo, &out->n, err) ||
        !form_ints(json_get(value, "end"), "end", X_MAX, out->hi, &n_ends, err))
        return false;
    return n_ends == out->n ||
           error_kind(err, ERROR_RANK, "`start` has %d numbers, `end` has %d", out->n, n_ends);
}

Json *json_range(const Box *range)
{
    Json *out = json_object();
    json_set(out, "start", json_ints(range->lo, range->n));
    json_set(out, "end", json_ints(range->hi, range->n));
    return out;
}

/* ---- projections ---- */

static bool form_small(const int64_t *numbers, int n, const char *what, Error *err)
{
    for (int i = 0; i < n; i++)
        if (numbers[i] < -(INT64_C(1) << 60) || numbers[i] > INT64_C(1) << 60)
            return error_kind(err, ERROR_OUT_OF_RANGE, "a number in `%s` is larger than 2^60",
                              what);
    return true;
}

/* One number per row, `fallback` where the list is absent. */
static bool form_column(const Json *list, const char *what, int n_rows, int64_t fallback,
                        int64_t *out, Error *err)
{
    int n = n_rows;
    for (int d = 0; d < n_rows; d++)
        out[d] = fallback;
    if (list && !form_ints(list, what, DIMS_MAX, out, &n, err))
        return false;
    if (!form_small(out, n_rows, what, err))
        return false;
    return n == n_rows ||
           error_kind(err, ERROR_RANK, "`%s` has %d numbers for %d rows", what, n, n_rows);
}

bool form_ipf(const Json *value, Projection *out, int *n_index, Error *err)
{
    const Json *map = json_get(value, "affineMap"); /* {affineMap: {projection, offset}, shape} */
    const Json *shape = map ? json_get(value, "shape") : json_get(value, "window");
    map = map ? map : value;
    const Json *rows = json_get(map, "projection");
    int64_t offset[DIMS_MAX] = {0}, window[DIMS_MAX] = {0};
    *n_index = -1;
    if (!json_is_array(rows))
        return error_set(err, "an ipf must be an object with `projection`, a list of rows");
    if (json_size(rows) > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "an ipf has at most %d rows", DIMS_MAX);
    *out = (Projection){.n_dims = (uint8_t)json_size(rows)};
    if (!form_column(json_get(map, "offset"), "offset", out->n_dims, 0, offset, err) ||
        !form_column(shape, "window", out->n_dims, 1, window, err))
        return false;
    for (int d = 0; d < out->n_dims; d++) {
        int n = 0;
        if (!form_ints(json_at(rows, d), "projection", X_MAX, out->row[d].coef, &n, err) ||
            !form_small(out->row[d].coef, n, "projection", err))
            return false;
        if (*n_index >= 0 && n != *n_index)
            return error_kind(err, ERROR_RANK, "one row has %d numbers, another %d", *n_index, n);
        if (window[d] < 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "the window of row %d is negative", d);
        *n_index = n;
        out->row[d].offset = offset[d];
        out->row[d].window = window[d];
    }
    return true;
}

Json *json_ipf(const Projection *projection, int n_index)
{
    Json *out = json_object(), *rows = json_array();
    int64_t offset[DIMS_MAX], window[DIMS_MAX];
    for (int d = 0; d < projection->n_dims; d++) {
        json_add(rows, json_ints(projection->row[d].coef, n_index));
        offset[d] = projection->row[d].offset;
        window[d] = projection->row[d].window;
    }
    json_set(out, "projection", rows);
    json_set(out, "offset", json_ints(offset, projection->n_dims));
    json_set(out, "window", json_ints(window, projection->n_dims));
    return out;
}

Json *json_affine_map(const Projection *projection, int n_index)
{
    Json *flat = json_ipf(projection, n_index), *out = json_object(), *map = json_object();
    json_set(map, "projection", json_copy(json_get(flat, "projection")));
    json_set(map, "offset", json_copy(json_get(flat, "offset")));
    json_set(out, "affineMap", map);
    json_set(out, "shape", json_copy(json_get(flat, "window")));
    json_free(flat);
    return out;
}

/* ---- values ---- */

bool form_datum(Arena *arena, const Json *value, Datum *out, Error *err)
{
    *out = datum_int(json_is_bool(value) ? json_bool(value, false) : json_int(value, 0));
    if (json_is_string(value)) {
        const char *text = arena_str(arena, json_str(value, ""));
        *out = (Datum){.kind = DATUM_TEXT, .text = str_from(text)};
    }
    if (!json_is_array(value))
        return json_is_int(value) || json_is_bool(value) || json_is_string(value) ||
               error_set(err, "a value must be an integer, a string or a list of values");
    int n = json_size(value);
    if (n > LIST_MAX)
        return error_kind(err, ERROR_UNSUPPORTED, "a list has at most %d items", LIST_MAX);
    Datum *item = arena_array(arena, Datum, n);
    *out = (Datum){.kind = DATUM_LIST, .n = n, .item = item};
    for (int i = 0; i < n; i++)
        if (!form_datum(arena, json_at(value, i), &item[i], err))
            return false;
    return true;
}

Json *json_datum(const Datum *datum)
{
    if (datum->kind == DATUM_INT)
        return json_from_int(datum->number);
    if (datum->kind == DATUM_TEXT)
        return json_from_str(datum->text);
    Json *list = json_array();
    for (int i = 0; i < datum->n; i++)
        json_add(list, json_datum(&datum->item[i]));
    return list;
}
