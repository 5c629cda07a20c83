/* rows_order.c - torch's operators that compare, sort, count and search along a dim. */
#include "core/peers/torch_export/shapes.h"

#include <math.h>

static ExportTerm keep_or_drop(Call *c, ExportTerm x, int64_t dim)
{
    return call_bool(c, "keepdim") || x.rank == 0 ? x : squeeze(c, x, dim);
}

static ExportTerm folded(Call *c, const char *op, ExportTerm x, int64_t dim, bool keep)
{
    return fold_dims(c, op, x, &dim, 1, keep);
}

static ExportTerm flat_of(Call *c, ExportTerm x)
{
    Terms sizes = {0};
    add_size(c, &sizes, term_int(-1));
    return x.rank == 1 ? x : reshape(c, x, &sizes);
}

/* The smallest number of a type, before all others in its order. */
static ExportTerm least_of(Call *c, Dtype dtype, bool largest)
{
    int bits = dtype_bits(dtype);
    bool plain = dtype == DT_U8 || dtype == DT_BOOL;
    int64_t most = bits >= 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
    if (dtype_is_float(dtype))
        return emit_constant(c, term_number(largest ? INFINITY : -INFINITY), dtype);
    if (plain)
        return emit_constant(c, term_int(largest ? (dtype == DT_BOOL ? 1 : 255) : 0), dtype);
    return emit_constant(c, term_int(largest ? most : -most - 1), dtype);
}

/* ---- along a dim, up to each place ---- */

/* For each place i of the dim, a new dim in front of it with the elements up to i, else `other`. */
static ExportTerm up_to_each(Call *c, ExportTerm x, int64_t dim, ExportTerm other)
{
    ExportTerm line = range(c, term_int(0), size_of(c, x, dim), term_int(1), DT_I64);
    ExportTerm rows = reshape_along(c, line, dim, x.rank + 1);
    ExportTerm columns = reshape_along(c, line, dim + 1, x.rank + 1);
    ExportTerm in[] = {emit2(c, "LessOrEqual", columns, rows), unsqueeze(c, x, dim), other};
    ExportTerm out = emit(c, "Where", in, 3, NULL, 0);
    out.rank = legal_rank(c, x.rank + 1);
    return out;
}

/* The largest (smallest) element so far and the last place that has it. */
static void make_extreme_so_far(Call *c)
{
    Export *e = c->e;
    bool least = str_eq(c->op, STR("cummin"));
    ExportTerm x = call_tensor(c, "self");
    if (x.rank == 0) {
        ExportTerm out[] = {x, emit_scalar_int(e, 0)};
        call_results(c, out, 2);
        return;
    }
    int64_t dim = call_axis(c, "dim", x.rank);
    ExportTerm all = up_to_each(c, x, dim, least_of(c, (Dtype)x.dtype, least));
    Attr attrs[] = {attr_int(e, "axis", dim + 1), attr_int(e, "keepdims", 0),
                    attr_int(e, "select_last_index", 1)};
    ExportTerm at = emit(c, least ? "ArgMin" : "ArgMax", &all, 1, attrs, 3);
    at.rank = x.rank;
    ExportTerm out[] = {elements_at(c, x, at, dim), at};
    call_results(c, out, 2);
}

static void make_log_sum_so_far(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out = x;
    if (x.rank > 0) {
        int64_t dim = call_axis(c, "dim", x.rank);
        out = folded(c, "ReduceLogSumExp",
                     up_to_each(c, x, dim, least_of(c, (Dtype)x.dtype, false)), dim + 1, false);
    }
    call_results(c, &out, 1);
}

/* ---- the k-th ---- */

/* All elements in ascending order, or the first k, and their places. */
static void ascending(Call *c, ExportTerm x, int64_t dim, ExportTerm k, ExportTerm out[2])
{
    Export *e = c->e;
    Attr attrs[] = {attr_int(e, "axis", dim), attr_int(e, "largest", 0), attr_int(e, "sorted", 1)};
    Terms list = {0};
    add_size(c, &list, k);
    ExportTerm in[] = {x, emit_sizes(c, &list)};
    emit_many(c, "TopK", in, 2, attrs, 3, out, 2);
    out[1].dtype = DT_I64;
}

/* Element k of the ascending order along the dim, with its place: both [.., 1, ..]. */
static void kth(Call *c, ExportTerm x, int64_t dim, int64_t k, ExportTerm out[2])
{
    ExportTerm sorted[2];
    ascending(c, x, dim, term_int(k), sorted);
    for (int i = 0; i < 2; i++)
        out[i] = slice(c, sorted[i], dim, term_int(k - 1), term_int(k), 1);
}

static void make_kth(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out[2];
    int64_t dim = call_axis(c, "dim", x.rank), k = call_int(c, "k");
    if (x.rank == 0) {
        call_fail(c, "it has no dim");
        return;
    }
    kth(c, x, dim, k, out);
    for (int i = 0; i < 2; i++)
        out[i] = keep_or_drop(c, out[i], dim);
    call_results(c, out, 2);
}

/* The lower median of n numbers, nan where one of them is; [.., 1, ..]. */
static void median_along(Call *c, ExportTerm x, int64_t dim, int64_t n, ExportTerm out[2])
{
    kth(c, x, dim, (n + 1) / 2, out);
    if (!dtype_is_float((Dtype)x.dtype))
        return;
    ExportTerm bad = folded(c, "ReduceMax", emit_cast(c, emit1(c, "IsNaN", x), DT_I64), dim, true);
    ExportTerm in[] = {emit_cast(c, bad, DT_BOOL), term_number(NAN), out[0]};
    out[0] = emit(c, "Where", in, 3, NULL, 0);
}

/* The lower median of those that are numbers; nan if none is. */
static void median_of_numbers(Call *c, ExportTerm x, int64_t dim, int64_t n, ExportTerm out[2])
{
    ExportTerm sorted[2], nan = emit1(c, "IsNaN", x);
    ExportTerm in[] = {nan, term_number(INFINITY), x};
    ExportTerm clean = emit(c, "Where", in, 3, NULL, 0);
    clean.rank = x.rank;
    ascending(c, clean, dim, term_int(n), sorted);
    ExportTerm count =
        folded(c, "ReduceSum", emit_cast(c, emit1(c, "Not", nan), DT_I64), dim, true);
    ExportTerm half = emit2(c, "Div", emit2(c, "Sub", count, term_int(1)), term_int(2));
    ExportTerm at = emit2(c, "Max", half, term_int(0));
    at.rank = x.rank;
    for (int i = 0; i < 2; i++)
        out[i] = elements_at(c, sorted[i], at, dim);
    ExportTerm none[] = {emit2(c, "Equal", count, term_int(0)), term_number(NAN), out[0]};
    out[0] = emit(c, "Where", none, 3, NULL, 0);
}

/* The elements along a dim, or all of them if it is -1; -1: not known. */
static int64_t count_along(Call *c, ExportTerm x, int64_t dim)
{
    int64_t n = 1;
    for (int d = 0; d < x.rank && n >= 0; d++) {
        ExportTerm size = size_of(c, x, d);
        if (dim < 0 || d == dim)
            n = size.kind == TERM_NUMBER ? n * size.i : -1;
    }
    return n;
}

/* Along a dim with the places, or of all elements. */
static void make_median(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out[2];
    bool all = !call_given(c, "dim");
    int64_t dim = all ? -1 : call_axis(c, "dim", x.rank), n = count_along(c, x, dim);
    if (n < 1 || (!all && x.rank == 0)) {
        call_fail(c, "it has no numbers, or an unknown number of them");
        return;
    }
    ExportTerm line = all ? flat_of(c, x) : x;
    bool numbers = str_eq(c->op, STR("nanmedian")) && dtype_is_float((Dtype)x.dtype);
    (numbers ? median_of_numbers : median_along)(c, line, all ? 0 : dim, n, out);
    for (int i = 0; i < 2; i++)
        out[i] = all ? squeeze(c, out[i], 0) : keep_or_drop(c, out[i], dim);
    call_results(c, out, all ? 1 : 2);
}

/* The most frequent element, the smallest of several, and the last place that has it. */
static void make_mode(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self");
    if (x.rank == 0) {
        call_fail(c, "it has no dim");
        return;
    }
    int64_t dim = call_axis(c, "dim", x.rank);
    ExportTerm equal = emit2(c, "Equal", unsqueeze(c, x, dim), unsqueeze(c, x, dim + 1));
    equal.rank = legal_rank(c, x.rank + 1);
    ExportTerm count = folded(c, "ReduceSum", emit_cast(c, equal, DT_I64), dim, false);
    ExportTerm most = folded(c, "ReduceMax", count, dim, true);
    ExportTerm in[] = {emit2(c, "Equal", count, most), x, least_of(c, (Dtype)x.dtype, true)};
    ExportTerm value = folded(c, "ReduceMin", emit(c, "Where", in, 3, NULL, 0), dim, true);
    ExportTerm hits = emit_cast(c, emit2(c, "Equal", x, value), DT_I64);
    Attr attrs[] = {attr_int(e, "axis", dim), attr_int(e, "keepdims", 1),
                    attr_int(e, "select_last_index", 1)};
    ExportTerm out[] = {value, emit(c, "ArgMax", &hits, 1, attrs, 3)};
    out[1].rank = x.rank;
    for (int i = 0; i < 2; i++)
        out[i] = keep_or_drop(c, out[i], dim);
    call_results(c, out, 2);
}

/* ---- searches and counts ---- */

/* How many numbers of an ascending list are before x: those less than it, or (`right`) not greater.
 * A list of several dims has a line for each line of x. */
static ExportTerm places_in(Call *c, ExportTerm list, ExportTerm x, bool right)
{
    ExportTerm each = x.kind == TERM_NUMBER ? x : unsqueeze(c, x, x.rank);
    if (list.rank > 1)
        list = unsqueeze(c, list, list.rank - 1);
    ExportTerm before = emit2(c, right ? "LessOrEqual" : "Less", list, each);
    before.rank = legal_rank(c, x.kind == TERM_NUMBER ? 1 : x.rank + 1);
    return folded(c, "ReduceSum", emit_cast(c, before, DT_I64), -1, false);
}

static void make_bucketize(Call *c)
{
    ExportTerm out =
        places_in(c, call_tensor(c, "boundaries"), call_term(c, "self"), call_bool(c, "right"));
    call_results(c, &out, 1);
}

static void make_search_sorted(Call *c)
{
    ExportTerm list = call_tensor(c, "sorted_sequence"), x = call_term(c, "self");
    if (call_given(c, "sorter"))
        list = elements_at(c, list, call_tensor(c, "sorter"), list.rank - 1);
    bool right = call_bool(c, "right") || str_eq(call_text(c, "side"), STR("right"));
    ExportTerm out = places_in(c, list, x, right);
    call_results(c, &out, 1);
}

static void make_is_in(Call *c)
{
    ExportTerm x = call_term(c, call_given(c, "elements") ? "elements" : "element");
    ExportTerm of = call_term(c, call_given(c, "test_elements") ? "test_elements" : "test_element");
    ExportTerm in;
    if (of.kind == TERM_NUMBER || x.kind == TERM_NUMBER) {
        in = emit2(c, "Equal", x, of);
        in = of.kind == TERM_NUMBER ? in : emit1(c, "ReduceMax", emit_cast(c, in, DT_I64));
    } else {
        in = emit2(c, "Equal", unsqueeze(c, x, x.rank), flat_of(c, of));
        in.rank = legal_rank(c, x.rank + 1);
        in = folded(c, "ReduceMax", emit_cast(c, in, DT_I64), x.rank, false);
    }
    in = emit_cast(c, in, DT_BOOL);
    in = call_bool(c, "invert") ? emit1(c, "Not", in) : in;
    call_results(c, &in, 1);
}

/* How often each number occurs, or the sum of its weights; as many as the largest says. */
static void make_bin_count(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self"), weights = call_term(c, "weights");
    ExportTerm least = emit_ints(e, (int64_t[]){call_int(c, "minlength")}, 1);
    x = emit_cast(c, x, DT_I64);
    ExportTerm most = folded(c, "ReduceMax", x, 0, true);
    ExportTerm size = emit2(c, "Max", emit2(c, "Add", most, term_int(1)), least);
    Dtype dtype = call_result_dtype(c);
    ExportTerm one = emit_filled(c, emit1(c, "Shape", x), term_int(1), dtype, 1);
    ExportTerm in[] = {emit_filled(c, size, term_int(0), dtype, 1), x,
                       term_is(weights) ? emit_cast(c, weights, dtype) : one};
    Attr attrs[] = {attr_int(e, "axis", 0), attr_text(e, "reduction", STR("add"))};
    ExportTerm out = emit(c, "ScatterElements", in, 3, attrs, 2);
    call_results(c, &out, 1);
}

/* The first of each run of equal elements, the run of each element, and the length of each run. */
static void make_unique_runs(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self");
    if (call_given(c, "dim")) {
        call_fail(c, "it compares parts along a dim");
        return;
    }
    ExportTerm flat = flat_of(c, x);
    ExportTerm later = slice(c, flat, 0, term_int(1), no_term(), 1);
    ExportTerm before = slice(c, flat, 0, no_term(), term_int(-1), 1);
    ExportTerm differs = emit1(c, "Not", emit2(c, "Equal", later, before));
    ExportTerm first = emit_filled(c, emit_ints(e, (int64_t[]){1}, 1), term_int(1), DT_BOOL, 1);
    ExportTerm begins[] = {first, differs}, begin = concat(c, begins, 2, 0);
    ExportTerm out[3] = {emit2(c, "Compress", flat, begin), no_term(), no_term()};
    ExportTerm sum = emit2(c, "CumSum", emit_cast(c, begin, DT_I64), emit_scalar_int(e, 0));
    ExportTerm run = emit2(c, "Sub", sum, term_int(1));
    out[1] = emit2(c, "Reshape", run, emit1(c, "Shape", x));
    ExportTerm places = emit1(c, "NonZero", begin);
    places.rank = 2;
    places = squeeze(c, places, 0);
    ExportTerm ends[] = {slice(c, places, 0, term_int(1), no_term(), 1), emit1(c, "Shape", flat)};
    out[2] = emit2(c, "Sub", concat(c, ends, 2, 0), places);
    call_results(c, out, 3);
}

/* A list of the places along each dim. */
static void make_nonzero_lists(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out[DIMS_MAX], all = emit1(c, "NonZero", x);
    all.rank = 2;
    for (int d = 0; d < x.rank && d < DIMS_MAX; d++)
        out[d] = squeeze(c, slice(c, all, 0, term_int(d), term_int(d + 1), 1), 0);
    call_results(c, out, x.rank);
}

/* ---- places of a mask ---- */

/* Where the mask is set the next element of the source, in order. */
static void make_masked_scatter(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self"), mask = call_tensor(c, "mask");
    mask = expand(c, mask, emit1(c, "Shape", x), x.rank);
    ExportTerm line = emit_cast(c, flat_of(c, mask), DT_I64);
    ExportTerm count = emit2(c, "CumSum", line, emit_scalar_int(e, 0));
    ExportTerm at = emit2(c, "Max", emit2(c, "Sub", count, term_int(1)), term_int(0));
    Attr first = attr_int(e, "axis", 0);
    ExportTerm picks[] = {flat_of(c, emit_cast(c, call_tensor(c, "source"), (Dtype)x.dtype)), at};
    ExportTerm picked = emit(c, "Gather", picks, 2, &first, 1);
    ExportTerm in[] = {mask, emit2(c, "Reshape", picked, emit1(c, "Shape", x)), x};
    ExportTerm out = emit(c, "Where", in, 3, NULL, 0);
    call_results(c, &out, 1);
}

#define SOUGHT "out_int32=False right=False"

const TorchRow rows_order[] = {
    {"cummax cummin", "self dim", NULL, make_extreme_so_far},
    {"logcumsumexp", "self dim", NULL, make_log_sum_so_far},
    {"kthvalue", "self k dim=-1 keepdim=False", NULL, make_kth},
    {"median nanmedian", "self dim= keepdim=False", NULL, make_median},
    {"mode", "self dim=-1 keepdim=False", NULL, make_mode},
    {"msort", "self dim=0", "TopK(self, size(self, dim); axis=0, largest=0)", NULL},
    {"bucketize", "self boundaries " SOUGHT, NULL, make_bucketize},
    {"searchsorted", "sorted_sequence self " SOUGHT " side= sorter=", NULL, make_search_sorted},
    {"isin.Scalar_Tensor", "element test_elements assume_unique=False invert=False", NULL,
     make_is_in},
    {"isin.Tensor_Scalar", "elements test_element assume_unique=False invert=False", NULL,
     make_is_in},
    {"isin", "elements test_elements assume_unique=False invert=False", NULL, make_is_in},
    {"bincount", "self weights= minlength=0", NULL, make_bin_count},
    {"unique_consecutive", "self return_inverse=False return_counts=False dim=", NULL,
     make_unique_runs},
    {"nonzero_numpy", "self", NULL, make_nonzero_lists},
    {"masked_scatter", "self mask source", NULL, make_masked_scatter},
    {0},
};
