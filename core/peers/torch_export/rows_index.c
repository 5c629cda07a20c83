/* rows_index.c - torch's operators that look up and put elements by their places. */
#include "core/peers/torch_export/shapes.h"

/* The dims that `indices` name, with their tensors as whole numbers of i64; false if one of them is
 * of bools, whose count is known only at run time. */
typedef struct {
    int n;
    int64_t dim[DIMS_MAX];
    ExportTerm at[DIMS_MAX];
    int rank; /* of all of them broadcast together */
} Places;

static bool read_places(Call *c, int rank, Places *out)
{
    Terms list = {0};
    *out = (Places){0};
    call_terms(c, "indices", &list);
    if (list.n > rank)
        return call_fail(c, "it indexes %d dims of %d", list.n, rank);
    for (int i = 0; i < list.n; i++) {
        if (!term_is(list.at[i]))
            continue;
        if (list.at[i].dtype == DT_BOOL || list.at[i].dtype == DT_U8 || out->n == DIMS_MAX)
            return false;
        out->dim[out->n] = i;
        out->at[out->n++] = emit_cast(c, list.at[i], DT_I64);
        out->rank = list.at[i].rank > out->rank ? list.at[i].rank : out->rank;
    }
    return out->n > 0;
}

/* The places in dims one after the other, [.., n]. Negative ones count from the end, which Gather,
 * GatherND and ScatterND take. */
static ExportTerm joined_places(Call *c, const Places *places)
{
    ExportTerm parts[DIMS_MAX], shaped[DIMS_MAX];
    ExportTerm shape = no_term();
    for (int i = 0; i < places->n; i++)
        shaped[i] = places->at[i];
    if (places->n > 1) { /* a sum of zeros has the common shape */
        ExportTerm sum = no_term();
        for (int i = 0; i < places->n; i++) {
            ExportTerm none = emit2(c, "Mul", places->at[i], term_int(0));
            sum = i == 0 ? none : emit2(c, "Add", sum, none);
        }
        shape = emit1(c, "Shape", sum);
    }
    for (int i = 0; i < places->n; i++) {
        if (places->n > 1)
            shaped[i] = expand(c, shaped[i], shape, places->rank);
        parts[i] = unsqueeze(c, shaped[i], places->rank);
    }
    return places->n == 1 ? parts[0] : concat(c, parts, places->n, places->rank);
}

/* The dims that are indexed first, then the others in order. */
static int dims_first(const Places *places, int rank, int64_t *perm)
{
    int n = 0;
    for (int i = 0; i < places->n; i++)
        perm[n++] = places->dim[i];
    for (int d = 0; d < rank; d++) {
        bool indexed = false;
        for (int i = 0; i < places->n; i++)
            indexed |= places->dim[i] == d;
        if (!indexed)
            perm[n++] = d;
    }
    return n;
}

/* Whether the indexed dims lie side by side: the results' dims are then where they were. */
static bool side_by_side(const Places *places)
{
    return places->dim[places->n - 1] - places->dim[0] == places->n - 1;
}

static ExportTerm look_up_many(Call *c, ExportTerm x, const Places *places)
{
    int64_t perm[DIMS_MAX], back[DIMS_MAX];
    int rank = x.rank, n_rest = rank - places->n;
    dims_first(places, rank, perm);
    ExportTerm front = places->dim[places->n - 1] == places->n - 1 ? x : transpose(c, x, perm);
    ExportTerm out = emit2(c, "GatherND", front, joined_places(c, places));
    out.rank = legal_rank(c, places->rank + n_rest);
    if (!side_by_side(places) || places->dim[0] == 0 || export_failed(c->e))
        return out;
    int at = 0;
    for (int64_t d = 0; d < places->dim[0]; d++)
        back[at++] = places->rank + d;
    for (int d = 0; d < places->rank; d++)
        back[at++] = d;
    for (int d = places->rank + (int)places->dim[0]; d < out.rank; d++)
        back[at++] = d;
    return transpose(c, out, back);
}

/* A mask chooses so many elements as a run says. */
static void index_by_mask(Call *c)
{
    Terms list = {0};
    ExportTerm x = call_tensor(c, "self");
    call_terms(c, "indices", &list);
    if (list.n != 1 || list.at[0].dtype != DT_BOOL) {
        call_fail(c, "it indexes by masks and by places at once");
        return;
    }
    int64_t perm[] = {1, 0};
    ExportTerm places = emit1(c, "NonZero", list.at[0]);
    places.rank = 2;
    ExportTerm out = emit2(c, "GatherND", x, transpose(c, places, perm));
    call_results(c, &out, 1);
}

static void make_index(Call *c)
{
    Places places;
    ExportTerm x = call_tensor(c, "self"), out;
    if (!read_places(c, x.rank, &places)) {
        index_by_mask(c);
        return;
    }
    if (places.n == 1) {
        Attr attr = attr_int(c->e, "axis", places.dim[0]);
        ExportTerm in[] = {x, places.at[0]};
        out = emit(c, "Gather", in, 2, &attr, 1);
    } else {
        out = look_up_many(c, x, &places);
    }
    call_results(c, &out, 1);
}

static ExportTerm sizes_from(Call *c, ExportTerm x, int64_t from, int64_t to)
{
    ExportTerm in[] = {emit1(c, "Shape", x), emit_ints(c->e, &from, 1), emit_ints(c->e, &to, 1)};
    return emit(c, "Slice", in, 3, NULL, 0);
}

/* Values for all places, the dims of the places first: those of places side by side are where the
 * indexed dims are, others are in front. */
static ExportTerm values_first(Call *c, ExportTerm x, ExportTerm values, ExportTerm at,
                               const Places *places)
{
    int64_t before = side_by_side(places) ? places->dim[0] : 0, perm[DIMS_MAX];
    int rank = legal_rank(c, places->rank + x.rank - places->n), n = 0;
    ExportTerm shape[3] = {sizes_from(c, at, 0, places->rank)};
    if (side_by_side(places)) {
        shape[1] = shape[0];
        shape[0] = sizes_from(c, x, 0, before);
        shape[2] = sizes_from(c, x, before + places->n, INT64_MAX);
    } else {
        int64_t first[DIMS_MAX];
        dims_first(places, x.rank, first);
        shape[1] = sizes_from(c, transpose(c, x, first), places->n, INT64_MAX);
    }
    values = expand(c, values, concat(c, shape, side_by_side(places) ? 3 : 2, 0), rank);
    for (int d = 0; d < places->rank; d++)
        perm[n++] = before + d;
    for (int d = 0; d < rank; d++)
        if (d < before || d >= before + places->rank)
            perm[n++] = d;
    return before == 0 || export_failed(c->e) ? values : transpose(c, values, perm);
}

/* Values at the places of the first dims; with `accumulate` they are added. */
static void make_index_put(Call *c)
{
    Places places;
    ExportTerm x = call_tensor(c, "self"),
               values = emit_cast(c, call_tensor(c, "values"), (Dtype)x.dtype);
    Terms list = {0};
    call_terms(c, "indices", &list);
    if (list.n == 1 && list.at[0].dtype == DT_BOOL && values.rank == 0) {
        ExportTerm mask = list.at[0];
        while (mask.rank < x.rank)
            mask = unsqueeze(c, mask, mask.rank);
        ExportTerm in[] = {mask, values, x}, out = emit(c, "Where", in, 3, NULL, 0);
        call_results(c, &out, 1);
        return;
    }
    if (!read_places(c, x.rank, &places)) {
        call_fail(c, "it puts values by masks");
        return;
    }
    int64_t perm[DIMS_MAX], back[DIMS_MAX];
    int n = dims_first(&places, x.rank, perm);
    bool moved = places.dim[places.n - 1] != places.n - 1;
    ExportTerm at = joined_places(c, &places);
    values = values_first(c, x, values, at, &places);
    ExportTerm front = moved ? transpose(c, x, perm) : x;
    Attr attr = attr_text(c->e, "reduction", STR("add"));
    ExportTerm in[] = {front, at, values};
    ExportTerm out = emit(c, "ScatterND", in, 3, &attr, call_bool(c, "accumulate"));
    for (int d = 0; d < n; d++)
        back[perm[d]] = d;
    out = moved ? transpose(c, out, back) : out;
    call_results(c, &out, 1);
}

/* A number is put everywhere. */
static void make_scatter(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), index = call_tensor(c, "index");
    ExportTerm src = call_term(c, call_given(c, "src") ? "src" : "value");
    Str reduce = call_text(c, "reduce");
    if (src.kind == TERM_NUMBER || src.rank == 0)
        src = expand(c, emit_cast(c, src, (Dtype)x.dtype), emit1(c, "Shape", index), index.rank);
    Str ours = str_eq(reduce, STR("add")) || str_eq(reduce, STR("sum"))         ? STR("add")
               : str_eq(reduce, STR("multiply")) || str_eq(reduce, STR("prod")) ? STR("mul")
               : str_eq(reduce, STR("amax"))                                    ? STR("max")
               : str_eq(reduce, STR("amin"))                                    ? STR("min")
                                                                                : STR("none");
    Attr attrs[] = {attr_int(c->e, "axis", call_axis(c, "dim", x.rank)),
                    attr_text(c->e, "reduction", ours)};
    ExportTerm in[] = {x, emit_cast(c, index, DT_I64), src};
    ExportTerm out = emit(c, "ScatterElements", in, 3, attrs, ours.s[0] == 'n' ? 1 : 2);
    call_results(c, &out, 1);
}

static void make_scatter_reduce(Call *c)
{
    if (!call_bool(c, "include_self") || str_eq(call_text(c, "reduce"), STR("mean")))
        call_fail(c, "it leaves out what was there, or takes the mean");
    else
        make_scatter(c);
}

static void make_scatter_add(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    Attr attrs[] = {attr_int(c->e, "axis", call_axis(c, "dim", x.rank)),
                    attr_text(c->e, "reduction", STR("add"))};
    ExportTerm in[] = {x, emit_cast(c, call_tensor(c, "index"), DT_I64), call_tensor(c, "src")};
    ExportTerm out = emit(c, "ScatterElements", in, 3, attrs, 2);
    call_results(c, &out, 1);
}

/* Rows are put where a list says, which is spread along the other dims. */
static void make_index_rows(Call *c, bool add)
{
    ExportTerm x = call_tensor(c, "self"), source = call_tensor(c, "source");
    int64_t dim = call_axis(c, "dim", x.rank);
    ExportTerm line = reshape_along(c, emit_cast(c, call_tensor(c, "index"), DT_I64), dim, x.rank);
    ExportTerm places = expand(c, line, emit1(c, "Shape", source), x.rank);
    Attr attrs[] = {attr_int(c->e, "axis", dim), attr_text(c->e, "reduction", STR("add"))};
    ExportTerm alpha = call_term(c, "alpha");
    if (add && alpha.kind == TERM_NUMBER && (alpha.f < 1 || alpha.f > 1))
        source = emit2(c, "Mul", source, alpha);
    ExportTerm in[] = {x, places, source};
    ExportTerm out = emit(c, "ScatterElements", in, 3, attrs, add ? 2 : 1);
    call_results(c, &out, 1);
}

/* Rows are combined with those where a list says. */
static void make_index_reduce(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), source = call_tensor(c, "source");
    int64_t dim = call_axis(c, "dim", x.rank);
    Str reduce = call_text(c, "reduce");
    const char *ours = str_eq(reduce, STR("prod"))   ? "mul"
                       : str_eq(reduce, STR("amax")) ? "max"
                       : str_eq(reduce, STR("amin")) ? "min"
                                                     : NULL;
    if (!call_bool(c, "include_self") || !ours) {
        call_fail(c, "it leaves out what was there, or takes the mean");
        return;
    }
    ExportTerm line = reshape_along(c, emit_cast(c, call_tensor(c, "index"), DT_I64), dim, x.rank);
    Attr attrs[] = {attr_int(c->e, "axis", dim), attr_text(c->e, "reduction", str_from(ours))};
    ExportTerm in[] = {x, expand(c, line, emit1(c, "Shape", source), x.rank), source};
    ExportTerm out = emit(c, "ScatterElements", in, 3, attrs, 2);
    call_results(c, &out, 1);
}

static void make_index_add(Call *c)
{
    make_index_rows(c, true);
}

static void make_index_copy(Call *c)
{
    make_index_rows(c, false);
}

/* One value in the rows that a list names: a mask along the dim. */
static void make_index_fill(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self"), value = call_term(c, "value");
    int64_t dim = call_axis(c, "dim", x.rank);
    ExportTerm line = range(c, term_int(0), size_of(c, x, dim), term_int(1), DT_I64);
    ExportTerm index = emit_cast(c, call_tensor(c, "index"), DT_I64);
    ExportTerm hits = emit2(c, "Equal", unsqueeze(c, index, index.rank), line);
    ExportTerm any[] = {emit_cast(c, hits, DT_I64), emit_ints(e, (int64_t[]){0}, 1)};
    Attr drop = attr_int(e, "keepdims", 0);
    ExportTerm mask = emit_cast(c, emit(c, "ReduceMax", any, 2, &drop, 1), DT_BOOL);
    mask.rank = 1;
    ExportTerm in[] = {reshape_along(c, mask, dim, x.rank), emit_cast(c, value, (Dtype)x.dtype), x};
    ExportTerm out = emit(c, "Where", in, 3, NULL, 0);
    call_results(c, &out, 1);
}

/* How many elements lie in each of `bins` equal parts; those on the border of two are in the upper,
 * the largest in the last. Without limits those of the elements. */
static void make_histc(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self");
    int64_t bins = call_int(c, "bins");
    double low = call_float(c, "min"), high = call_float(c, "max");
    ExportTerm flat = emit2(c, "Reshape", x, emit_ints(e, (int64_t[]){-1}, 1)), least, most;
    flat.rank = 1;
    if (!(low < high) && !(low > high)) {
        Attr keep = attr_int(e, "keepdims", 0);
        least = emit(c, "ReduceMin", &flat, 1, &keep, 1);
        most = emit(c, "ReduceMax", &flat, 1, &keep, 1);
    } else {
        least = emit_constant(c, term_number(low), (Dtype)x.dtype);
        most = emit_constant(c, term_number(high), (Dtype)x.dtype);
    }
    least.rank = most.rank = 0;
    ExportTerm width = emit2(c, "Sub", most, least);
    ExportTerm part =
        emit2(c, "Div", emit2(c, "Mul", emit2(c, "Sub", flat, least), term_int(bins)), width);
    ExportTerm bin = emit2(c, "Min", emit1(c, "Floor", part), term_int(bins - 1));
    ExportTerm inside = emit2(c, "And", emit2(c, "GreaterOrEqual", flat, least),
                              emit2(c, "LessOrEqual", flat, most));
    ExportTerm line = range(c, term_int(0), term_int(bins), term_int(1), (Dtype)x.dtype);
    ExportTerm equal = emit2(c, "Equal", unsqueeze(c, bin, 1), unsqueeze(c, line, 0));
    ExportTerm hits = emit2(c, "And", equal, unsqueeze(c, inside, 1));
    ExportTerm sum[] = {emit_cast(c, hits, (Dtype)x.dtype), emit_ints(e, (int64_t[]){0}, 1)};
    Attr keep = attr_int(e, "keepdims", 0);
    ExportTerm out = emit(c, "ReduceSum", sum, 2, &keep, 1);
    call_results(c, &out, 1);
}

/* 1 where a number is the class, along a new last dim. */
static void make_one_hot(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), classes = call_term(c, "num_classes");
    ExportTerm line = range(c, term_int(0), classes, term_int(1), DT_I64);
    ExportTerm out = emit_cast(c, emit2(c, "Equal", unsqueeze(c, x, x.rank), line), DT_I64);
    call_results(c, &out, 1);
}

const TorchRow rows_index[] = {
    {"index", "self indices", NULL, make_index},
    {"index_put _unsafe_index_put", "self indices values accumulate=False", NULL, make_index_put},
    {"_unsafe_index", "self indices", NULL, make_index},
    {"index_select", "self dim index", "Gather(self, index; axis=dim)", NULL},
    {"gather", "self dim index sparse_grad=False", "GatherElements(self, index; axis=dim)", NULL},
    {"scatter.value scatter.value_reduce", "self dim index value reduce=", NULL, make_scatter},
    {"scatter_reduce.two scatter_reduce", "self dim index src reduce include_self=True", NULL,
     make_scatter_reduce},
    {"index_fill", "self dim index value", NULL, make_index_fill},
    {"take", "self index", "Gather(Reshape(self, ints(-1)), index; axis=0)", NULL},
    {"scatter", "self dim index src reduce=", NULL, make_scatter},
    {"scatter_add", "self dim index src", NULL, make_scatter_add},
    {"index_add", "self dim index source alpha=1", NULL, make_index_add},
    {"index_reduce", "self dim index source reduce include_self=True", NULL, make_index_reduce},
    {"index_copy", "self dim index source", NULL, make_index_copy},
    {"embedding", "weight indices padding_idx=-1 scale_grad_by_freq=False sparse=False",
     "Gather(weight, indices; axis=0, padding_idx=padding_idx)", NULL},
    {"topk", "self k dim=-1 largest=True sorted=True",
     "TopK#2(self, ints(k); axis=dim, largest=largest, sorted=sorted)", NULL},
    {"sort.stable", "self stable= dim=-1 descending=False",
     "TopK#2(self, size(self, dim); axis=dim, largest=descending)", NULL},
    {"sort", "self dim=-1 descending=False",
     "TopK#2(self, size(self, dim); axis=dim, largest=descending)", NULL},
    {"argsort.stable", "self stable= dim=-1 descending=False",
     "pick(1, TopK#2(self, size(self, dim); axis=dim, largest=descending))", NULL},
    {"argsort", "self dim=-1 descending=False",
     "pick(1, TopK#2(self, size(self, dim); axis=dim, largest=descending))", NULL},
    {"nonzero argwhere", "self", "Transpose(NonZero(self))", NULL},
    {"masked_select", "self mask",
     "Compress(Reshape(self, ints(-1)), Reshape(Expand(mask, Shape(self)), ints(-1)))", NULL},
    {"histc", "self bins=100 min=0 max=0", NULL, make_histc},
    {"one_hot", "self num_classes", NULL, make_one_hot},
    {0},
};
