/* rows_shape.c - torch's operators that move elements. */
#include "core/peers/torch_export/shapes.h"

/* ---- other dims, the same elements ---- */

static void make_view(Call *c)
{
    Terms sizes = {0};
    call_terms(c, call_given(c, "size") ? "size" : "shape", &sizes);
    ExportTerm out = reshape(c, call_tensor(c, "self"), &sizes);
    call_results(c, &out, 1);
}

/* The same bits as numbers of another type. */
static void make_bits(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    Dtype to = call_dtype(c, "dtype");
    Attr attr = attr_int(c->e, "to", dtype_to_onnx(to));
    ExportTerm out = emit(c, "BitCast", &x, 1, &attr, 1);
    out.dtype = (uint8_t)to;
    call_results(c, &out, 1);
}

/* Dims first to last become those of `between`. */
static void replace_dims(Call *c, ExportTerm x, int64_t first, int64_t last, const Terms *between)
{
    Terms sizes = {0};
    for (int64_t d = 0; d < first; d++)
        add_size(c, &sizes, size_of(c, x, d));
    for (int i = 0; i < between->n; i++)
        add_size(c, &sizes, between->at[i]);
    for (int64_t d = last + 1; d < x.rank; d++)
        add_size(c, &sizes, size_of(c, x, d));
    ExportTerm out = reshape(c, x, &sizes);
    call_results(c, &out, 1);
}

static void make_flatten(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    Terms all = {0};
    add_size(c, &all, term_int(-1));
    int64_t first = call_axis(c, "start_dim", x.rank), last = call_axis(c, "end_dim", x.rank);
    replace_dims(c, x, first, x.rank == 0 ? -1 : last, &all);
}

static void make_unflatten(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    Terms sizes = {0};
    int64_t dim = call_axis(c, "dim", x.rank);
    call_terms(c, "sizes", &sizes);
    replace_dims(c, x, dim, dim, &sizes);
}

/* Only dims of size 1 go; torch knows them from the example. */
static void make_squeeze(Call *c)
{
    int64_t dims[DIMS_MAX], gone[DIMS_MAX];
    ExportTerm x = call_tensor(c, "self"), out = x;
    int n_gone = 0, n = call_ints(c, "dim", dims, DIMS_MAX);
    bool all = !call_given(c, "dim");
    for (int d = 0; d < x.rank; d++) {
        bool asked = all;
        for (int i = 0; i < n; i++)
            asked |= dims[i] == d || dims[i] + x.rank == d;
        if (asked && x.meta >= 0 && meta_dim(c->e, x.meta, d) == 1)
            gone[n_gone++] = d;
    }
    if (n_gone > 0)
        out = emit2(c, "Squeeze", x, emit_ints(c->e, gone, n_gone));
    call_results(c, &out, 1);
}

static void make_unsqueeze(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out = unsqueeze(c, x, call_axis(c, "dim", x.rank + 1));
    call_results(c, &out, 1);
}

static void make_transpose(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    ExportTerm out = swap_dims(c, x, call_axis(c, "dim0", x.rank), call_axis(c, "dim1", x.rank));
    call_results(c, &out, 1);
}

static void make_swapaxes(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    ExportTerm out = swap_dims(c, x, call_axis(c, "axis0", x.rank), call_axis(c, "axis1", x.rank));
    call_results(c, &out, 1);
}

static void make_t(Call *c)
{
    ExportTerm x = call_tensor(c, "self"),
               out = x.rank < 2 ? x : swap_dims(c, x, x.rank - 2, x.rank - 1);
    call_results(c, &out, 1);
}

static void make_reversed(Call *c)
{
    int64_t perm[DIMS_MAX];
    ExportTerm x = call_tensor(c, "self");
    for (int d = 0; d < x.rank; d++)
        perm[d] = x.rank - 1 - d;
    ExportTerm out = x.rank < 2 ? x : transpose(c, x, perm);
    call_results(c, &out, 1);
}

/* All of the shape that zeros of them have together. */
static void make_broadcast(Call *c)
{
    Terms list = {0};
    ExportTerm out[CALL_OUTPUTS_MAX], sum = no_term();
    int rank = 0;
    call_terms(c, "tensors", &list);
    for (int i = 0; i < list.n; i++) {
        ExportTerm line = emit2(c, "Mul", emit_cast(c, list.at[i], DT_I64), term_int(0));
        sum = i == 0 ? line : emit2(c, "Add", sum, line);
        rank = list.at[i].rank > rank ? list.at[i].rank : rank;
    }
    for (int i = 0; i < list.n && i < CALL_OUTPUTS_MAX; i++)
        out[i] = expand(c, list.at[i], emit1(c, "Shape", sum), rank);
    call_results(c, out, list.n < CALL_OUTPUTS_MAX ? list.n : CALL_OUTPUTS_MAX);
}

/* Each list along a dim of its own; of "xy" the first two change places. */
static void make_meshgrid(Call *c)
{
    Terms list = {0}, sizes = {0};
    ExportTerm out[CALL_OUTPUTS_MAX];
    call_terms(c, "tensors", &list);
    bool swapped = str_eq(call_text(c, "indexing"), STR("xy")) && list.n > 1;
    if (list.n > DIMS_MAX) {
        call_fail(c, "it has %d dims", list.n);
        return;
    }
    for (int d = 0; d < list.n; d++) {
        ExportTerm line = list.at[swapped && d < 2 ? 1 - d : d];
        add_size(c, &sizes, line.rank == 0 ? term_int(1) : size_of(c, line, 0));
    }
    ExportTerm shape = emit_sizes(c, &sizes);
    for (int i = 0; i < list.n; i++) {
        int dim = swapped && i < 2 ? 1 - i : i;
        out[i] = expand(c, reshape_along(c, list.at[i], dim, list.n), shape, list.n);
    }
    call_results(c, out, list.n);
}

static void make_permute(Call *c)
{
    int64_t dims[DIMS_MAX];
    ExportTerm x = call_tensor(c, "self");
    int n = call_ints(c, "dims", dims, DIMS_MAX);
    if (n != x.rank) {
        call_fail(c, "it permutes %d of %d dims", n, x.rank);
        return;
    }
    for (int d = 0; d < n; d++)
        dims[d] += dims[d] < 0 ? n : 0;
    ExportTerm out = n == 0 ? x : transpose(c, x, dims);
    call_results(c, &out, 1);
}

/* Dims go to new places; the others keep their order. */
static void make_movedim(Call *c)
{
    int64_t from[DIMS_MAX], to[DIMS_MAX], perm[DIMS_MAX];
    bool moved[DIMS_MAX] = {false}, taken[DIMS_MAX] = {false};
    ExportTerm x = call_tensor(c, "self");
    int n = call_ints(c, "source", from, DIMS_MAX);
    if (call_ints(c, "destination", to, DIMS_MAX) != n)
        n = 0;
    for (int i = 0; i < n; i++) {
        from[i] += from[i] < 0 ? x.rank : 0;
        to[i] += to[i] < 0 ? x.rank : 0;
        if (from[i] < 0 || to[i] < 0 || from[i] >= x.rank || to[i] >= x.rank) {
            call_fail(c, "a dim is none of %d", x.rank);
            return;
        }
        perm[to[i]] = from[i];
        taken[to[i]] = moved[from[i]] = true;
    }
    for (int d = 0, rest = 0; d < x.rank; d++) {
        while (rest < x.rank && moved[rest])
            rest++;
        if (!taken[d])
            perm[d] = rest++;
    }
    ExportTerm out = transpose(c, x, perm);
    call_results(c, &out, 1);
}

/* ---- repeated elements ---- */

/* -1 keeps a dim, which a 1 does too. */
static void make_expand(Call *c)
{
    Terms sizes = {0};
    call_terms(c, "size", &sizes);
    for (int i = 0; i < sizes.n; i++)
        if (sizes.at[i].kind == TERM_NUMBER && sizes.at[i].i == -1)
            sizes.at[i] = term_int(1);
    ExportTerm out = expand(c, call_tensor(c, "self"), emit_sizes(c, &sizes), sizes.n);
    call_results(c, &out, 1);
}

/* As many dims as there are repeats, and as many repeats as dims. */
static void make_repeat(Call *c)
{
    Terms repeats = {0}, all = {0};
    ExportTerm x = call_tensor(c, "self");
    call_terms(c, call_given(c, "repeats") ? "repeats" : "dims", &repeats);
    while (x.rank < repeats.n && !export_failed(c->e))
        x = unsqueeze(c, x, 0);
    for (int i = repeats.n; i < x.rank; i++)
        add_size(c, &all, term_int(1));
    for (int i = 0; i < repeats.n; i++)
        add_size(c, &all, repeats.at[i]);
    ExportTerm out = all.n == 0 ? x : emit2(c, "Tile", x, emit_sizes(c, &all));
    call_results(c, &out, 1);
}

/* Each element so many times: a new dim behind, which becomes part of the dim. */
static void make_repeat_interleave(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), times = call_term(c, "repeats");
    Terms repeats = {0}, sizes = {0};
    if (!call_given(c, "dim")) {
        add_size(c, &sizes, term_int(-1));
        x = reshape(c, x, &sizes);
        sizes.n = 0;
    }
    int64_t dim = call_given(c, "dim") ? call_axis(c, "dim", x.rank) : 0;
    ExportTerm apart = unsqueeze(c, x, dim + 1);
    for (int d = 0; d < apart.rank; d++)
        add_size(c, &repeats, d == dim + 1 ? times : term_int(1));
    for (int d = 0; d < x.rank; d++)
        add_size(c, &sizes, d == dim ? term_int(-1) : size_of(c, x, d));
    ExportTerm many = emit2(c, "Tile", apart, emit_sizes(c, &repeats));
    ExportTerm out = reshape(c, many, &sizes);
    call_results(c, &out, 1);
}

/* ---- parts ---- */

static void make_slice(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    ExportTerm out = slice(c, x, call_axis(c, "dim", x.rank), call_term(c, "start"),
                           call_term(c, "end"), call_int(c, "step"));
    call_results(c, &out, 1);
}

static void make_narrow(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), start = call_term(c, "start"),
               n = call_term(c, "length");
    ExportTerm end = start.kind == TERM_NUMBER && n.kind == TERM_NUMBER ? term_int(start.i + n.i)
                                                                        : emit2(c, "Add", start, n);
    ExportTerm out = slice(c, x, call_axis(c, "dim", x.rank), start, end, 1);
    call_results(c, &out, 1);
}

static ExportTerm select(Call *c, ExportTerm x, int64_t dim, ExportTerm index)
{
    Attr attr = attr_int(c->e, "axis", dim);
    ExportTerm in[] = {x, emit_as_scalar(c, index, DT_I64)};
    ExportTerm out = emit(c, "Gather", in, 2, &attr, 1);
    out.rank = (uint8_t)(x.rank > 0 ? x.rank - 1 : 0);
    return out;
}

static void make_select(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    ExportTerm out = select(c, x, call_axis(c, "dim", x.rank), call_term(c, "index"));
    call_results(c, &out, 1);
}

static int n_results(const Call *c)
{
    const JsonView *json = c->e->json;
    int32_t outputs = json_view_get(json, c->node, "outputs"),
            first = json_view_first(json, outputs);
    int32_t list = json_view_get(json, first, "as_tensors");
    int n = list >= 0 ? json_view_size(json, list) : json_view_size(json, outputs);
    return n < CALL_OUTPUTS_MAX ? n : CALL_OUTPUTS_MAX;
}

static void make_unbind(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out[CALL_OUTPUTS_MAX];
    int n = n_results(c);
    int64_t dim = call_axis(c, "dim", x.rank);
    for (int i = 0; i < n; i++)
        out[i] = select(c, x, dim, term_int(i));
    call_results(c, out, n);
}

static void split(Call *c, ExportTerm x, int64_t dim, const Terms *sizes)
{
    ExportTerm out[CALL_OUTPUTS_MAX];
    Attr attr = attr_int(c->e, "axis", dim);
    int64_t numbers[CALL_OUTPUTS_MAX];
    bool known = true;
    int n = sizes->n;
    for (int i = 0; i < n && i < CALL_OUTPUTS_MAX; i++) {
        known &= sizes->at[i].kind == TERM_NUMBER;
        numbers[i] = sizes->at[i].i;
    }
    if (n > CALL_OUTPUTS_MAX || (!known && n > DIMS_MAX)) {
        call_fail(c, "it has more than %d parts", known ? CALL_OUTPUTS_MAX : DIMS_MAX);
        return;
    }
    ExportTerm in[] = {x, known ? emit_ints(c->e, numbers, n) : emit_sizes(c, sizes)};
    emit_many(c, "Split", in, 2, &attr, 1, out, n);
    call_results(c, out, n);
}

static void make_split_with_sizes(Call *c)
{
    Terms sizes = {0};
    ExportTerm x = call_tensor(c, "self");
    call_terms(c, call_given(c, "split_sizes") ? "split_sizes" : "split_size", &sizes);
    split(c, x, call_axis(c, "dim", x.rank), &sizes);
}

/* Parts of one size, the last may be smaller: slices where the file does not know the dim. */
static void split_evenly(Call *c, ExportTerm x, int64_t dim, int64_t size, int n)
{
    Terms sizes = {0};
    ExportTerm whole = size_of(c, x, dim), out[CALL_OUTPUTS_MAX];
    for (int i = 0; i < n && whole.kind == TERM_NUMBER; i++)
        add_size(c, &sizes, term_int(i == n - 1 ? whole.i - size * i : size));
    if (whole.kind == TERM_NUMBER) {
        split(c, x, dim, &sizes);
        return;
    }
    for (int i = 0; i < n; i++)
        out[i] = slice(c, x, dim, term_int(size * i),
                       i == n - 1 ? no_term() : term_int(size * (i + 1)), 1);
    call_results(c, out, n);
}

static void make_split(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), size = call_term(c, "split_size");
    if (size.kind == TERM_NUMBER &&
        json_view_get(c->e->json, call_place(c, "split_size"), "as_ints") < 0)
        split_evenly(c, x, call_axis(c, "dim", x.rank), size.i, n_results(c));
    else
        make_split_with_sizes(c);
}

static void make_chunk(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out[CALL_OUTPUTS_MAX];
    int64_t dim = call_axis(c, "dim", x.rank), chunks = call_int(c, "chunks");
    ExportTerm whole = size_of(c, x, dim);
    int n = n_results(c);
    if (whole.kind == TERM_NUMBER && chunks > 0) {
        split_evenly(c, x, dim, (whole.i + chunks - 1) / chunks, n);
        return;
    }
    Attr attrs[] = {attr_int(c->e, "axis", dim), attr_int(c->e, "num_outputs", n)};
    emit_many(c, "Split", &x, 1, attrs, 2, out, n);
    call_results(c, out, n);
}

/* ---- put together ---- */

/* Empty tensors of one dim are left out, as torch does. */
static bool is_nothing(Call *c, ExportTerm x)
{
    return x.rank == 1 && x.meta >= 0 && meta_dim(c->e, x.meta, 0) == 0;
}

static void join(Call *c, bool stacked)
{
    enum { PARTS_MAX = 256 };
    Terms list = {0};
    ExportTerm parts[PARTS_MAX];
    int n = 0, rank = 0;
    call_terms(c, "tensors", &list);
    if (list.n > PARTS_MAX || list.n == 0) {
        call_fail(c, "it joins %d tensors, at most %d are read", list.n, PARTS_MAX);
        return;
    }
    for (int i = 0; i < list.n; i++)
        rank = list.at[i].rank > rank ? list.at[i].rank : rank;
    Dtype dtype = terms_promoted(list.at, list.n);
    int64_t dim = call_axis(c, "dim", rank + stacked);
    for (int i = 0; i < list.n; i++)
        if (stacked)
            parts[n++] = unsqueeze(c, emit_cast(c, list.at[i], dtype), dim);
        else if (rank == 1 || !is_nothing(c, list.at[i]))
            parts[n++] = emit_cast(c, list.at[i], dtype);
    ExportTerm out = concat(c, parts, n, dim);
    call_results(c, &out, 1);
}

static void make_cat(Call *c)
{
    join(c, false);
}

static void make_stack(Call *c)
{
    join(c, true);
}

static void make_slice_scatter(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    ExportTerm out = put_slice(c, x, emit_cast(c, call_tensor(c, "src"), (Dtype)x.dtype),
                               call_axis(c, "dim", x.rank), call_term(c, "start"),
                               call_term(c, "end"), call_int(c, "step"));
    call_results(c, &out, 1);
}

static void make_select_scatter(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    int64_t dim = call_axis(c, "dim", x.rank), index = call_int(c, "index");
    ExportTerm part = unsqueeze(c, emit_cast(c, call_tensor(c, "src"), (Dtype)x.dtype), dim);
    ExportTerm end = index == -1 ? no_term() : term_int(index + 1);
    ExportTerm out = put_slice(c, x, part, dim, term_int(index), end, 1);
    call_results(c, &out, 1);
}

/* ---- order and borders ---- */

static void make_flip(Call *c)
{
    Export *e = c->e;
    int64_t dims[DIMS_MAX], starts[DIMS_MAX], ends[DIMS_MAX], steps[DIMS_MAX];
    ExportTerm x = call_tensor(c, "self"), out = x;
    int n = call_ints(c, "dims", dims, DIMS_MAX);
    for (int i = 0; i < n; i++) {
        starts[i] = steps[i] = -1;
        ends[i] = INT64_MIN + 1;
    }
    ExportTerm in[] = {x, emit_ints(e, starts, n), emit_ints(e, ends, n), emit_ints(e, dims, n),
                       emit_ints(e, steps, n)};
    if (n > 0)
        out = emit(c, "Slice", in, 5, NULL, 0);
    call_results(c, &out, 1);
}

/* Elements go on by so many places, those at the end to the start; without dims all in a row. A dim
 * may be listed twice. */
static void make_roll(Call *c)
{
    int64_t dims[DIMS_MAX], shifts[DIMS_MAX];
    ExportTerm out = call_tensor(c, "self");
    int n = call_ints(c, "shifts", shifts, DIMS_MAX), n_dims = call_ints(c, "dims", dims, DIMS_MAX);
    bool flat = n == 1 && n_dims == 0;
    if (!flat && n != n_dims) {
        call_fail(c, "it rolls by %d places along %d dims", n, n_dims);
        return;
    }
    for (int i = 0; i < n; i++) {
        Attr attrs[] = {attr_ints(c->e, "shifts", &shifts[i], 1),
                        attr_ints(c->e, "axes", &dims[i], 1)};
        out = emit(c, "Roll", &out, 1, attrs, flat ? 1 : 2);
    }
    call_results(c, &out, 1);
}

/* torch lists pairs from the last dim on; ours are all the starts, then all the ends. */
static void make_pad(Call *c)
{
    static const struct {
        const char *theirs, *ours;
    } modes[] = {{"reflect", "reflect"}, {"replicate", "edge"}, {"circular", "wrap"}};
    ExportTerm x = call_tensor(c, "self"), value = call_term(c, "value");
    Terms pairs = {0};
    ExportTerm sides[2 * DIMS_MAX];
    Str mode = call_text(c, "mode");
    const char *ours = "constant";
    int rank = x.rank;
    call_terms(c, "pad", &pairs);
    if (pairs.n % 2 != 0 || pairs.n / 2 > rank) {
        call_fail(c, "it pads %d sides of %d dims", pairs.n, rank);
        return;
    }
    for (int i = 0; i < 2 * rank; i++)
        sides[i] = term_int(0);
    for (int i = 0; i < pairs.n; i++)
        sides[rank - 1 - i / 2 + (i % 2 ? rank : 0)] = pairs.at[i];
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (str_eq(mode, str_from(modes[i].theirs)))
            ours = modes[i].ours;
    Terms half[2] = {{sides, rank, rank}, {sides + rank, rank, rank}};
    ExportTerm both[] = {emit_sizes(c, &half[0]), emit_sizes(c, &half[1])};
    Attr attr = attr_text(c->e, "mode", str_from(ours));
    ExportTerm in[] = {x, concat(c, both, 2, 0),
                       emit_constant(c, term_is(value) ? value : term_int(0), (Dtype)x.dtype)};
    ExportTerm out = emit(c, "Pad", in, 3, &attr, 1);
    call_results(c, &out, 1);
}

/* The gradient of a slice: zeros around it. */
static void make_slice_backward(Call *c)
{
    Terms sizes = {0};
    ExportTerm grad = call_tensor(c, "grad_output");
    call_terms(c, "input_sizes", &sizes);
    int64_t dim = call_axis(c, "dim", grad.rank);
    ExportTerm shape = emit_sizes(c, &sizes), end = call_term(c, "end");
    ExportTerm zeros = zeros_like_shape(c, shape, (Dtype)grad.dtype, grad.rank);
    bool whole = end.kind == TERM_NUMBER && dim < sizes.n && sizes.at[dim].kind == TERM_NUMBER &&
                 end.i >= sizes.at[dim].i;
    ExportTerm out = put_slice(c, zeros, grad, dim, call_term(c, "start"), whole ? no_term() : end,
                               call_int(c, "step"));
    call_results(c, &out, 1);
}

static void make_select_backward(Call *c)
{
    Terms sizes = {0};
    ExportTerm grad = call_tensor(c, "grad_output");
    call_terms(c, "input_sizes", &sizes);
    int64_t dim = call_axis(c, "dim", grad.rank + 1), index = call_int(c, "index");
    ExportTerm zeros = zeros_like_shape(c, emit_sizes(c, &sizes), (Dtype)grad.dtype, grad.rank + 1);
    bool last = index == -1 || (dim < sizes.n && sizes.at[dim].kind == TERM_NUMBER &&
                                index + 1 == sizes.at[dim].i);
    ExportTerm out = put_slice(c, zeros, unsqueeze(c, grad, dim), dim, term_int(index),
                               last ? no_term() : term_int(index + 1), 1);
    call_results(c, &out, 1);
}

const TorchRow rows_shape[] = {
    {"view.dtype", "self dtype", NULL, make_bits},
    {"view _unsafe_view _reshape_alias", "self size", NULL, make_view},
    {"reshape", "self shape", NULL, make_view},
    {"view_as reshape_as", "self other", "Reshape(self, Shape(other))", NULL},
    {"ravel", "self", "Reshape(self, ints(-1))", NULL},
    {"flatten", "self start_dim=0 end_dim=-1", NULL, make_flatten},
    {"unflatten", "self dim sizes", NULL, make_unflatten},
    {"squeeze", "self dim=", NULL, make_squeeze},
    {"unsqueeze", "self dim", NULL, make_unsqueeze},
    {"transpose swapdims", "self dim0 dim1", NULL, make_transpose},
    {"swapaxes", "self axis0 axis1", NULL, make_swapaxes},
    {"t mT mH adjoint", "self", NULL, make_t},
    {"numpy_T", "self", NULL, make_reversed},
    {"broadcast_tensors", "tensors", NULL, make_broadcast},
    {"broadcast_to", "self size", NULL, make_expand},
    {"meshgrid", "tensors indexing=ij", NULL, make_meshgrid},
    {"permute", "self dims", NULL, make_permute},
    {"movedim moveaxis", "self source destination", NULL, make_movedim},
    {"expand", "self size implicit=False", NULL, make_expand},
    {"expand_as", "self other", "Expand(self, Shape(other))", NULL},
    {"repeat", "self repeats", NULL, make_repeat},
    {"tile", "self dims", NULL, make_repeat},
    {"repeat_interleave.self_int", "self repeats dim= output_size=", NULL, make_repeat_interleave},
    {"slice slice_copy", "self dim=0 start= end= step=1", NULL, make_slice},
    {"narrow", "self dim start length", NULL, make_narrow},
    {"select select_copy", "self dim index", NULL, make_select},
    {"unbind", "self dim=0", NULL, make_unbind},
    {"split unsafe_split", "self split_size dim=0", NULL, make_split},
    {"split_with_sizes unsafe_split_with_sizes", "self split_sizes dim=0", NULL,
     make_split_with_sizes},
    {"chunk unsafe_chunk", "self chunks dim=0", NULL, make_chunk},
    {"cat concat concatenate", "tensors dim=0", NULL, make_cat},
    {"stack", "tensors dim=0", NULL, make_stack},
    {"slice_scatter", "self src dim=0 start= end= step=1", NULL, make_slice_scatter},
    {"select_scatter", "self src dim index", NULL, make_select_scatter},
    {"flip", "self dims", NULL, make_flip},
    {"roll", "self shifts dims=", NULL, make_roll},
    {"pad", "self pad mode=constant value=", NULL, make_pad},
    {"constant_pad_nd", "self pad value=0", NULL, make_pad},
    {"tril", "self diagonal=0", "Trilu(self, scalar(diagonal); upper=0)", NULL},
    {"triu", "self diagonal=0", "Trilu(self, scalar(diagonal); upper=1)", NULL},
    {"slice_backward", "grad_output input_sizes dim start end step", NULL, make_slice_backward},
    {"select_backward", "grad_output input_sizes dim index", NULL, make_select_backward},
    {0},
};
