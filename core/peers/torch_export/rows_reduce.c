/* rows_reduce.c - torch's operators that fold dims, or go along one. */
#include "core/peers/torch_export/rows.h"

#define FOLD(name, ours)                                                                           \
    {                                                                                              \
        name, "self dim= keepdim=False", ours "(self, ints(dim); keepdims=keepdim)", NULL          \
    }
/* The divisor is n - correction; older forms say only whether it is n - 1. */
#define CORRECTED(name, make)                                                                      \
    {name ".correction", "self dim= correction= keepdim=False", NULL, make},                       \
        {name ".dim", "self dim unbiased=True keepdim=False", NULL, make},                         \
    {                                                                                              \
        name, "self unbiased=True", NULL, make                                                     \
    }

/* Bools are folded as whole numbers. */
#define TRUTHS(fold)                                                                               \
    "cast(" fold "(cast(cast(self, bool), i64), ints(dim); keepdims=keepdim), bool)"

/* The mean of squared differences from the mean, over n - correction. Without `dim` over all. */
static ExportTerm divergence(Call *c, ExportTerm *mean)
{
    int64_t dims[DIMS_MAX];
    ExportTerm x = call_tensor(c, "self");
    int n = call_ints(c, "dim", dims, DIMS_MAX);
    ExportTerm axes = n > 0 ? emit_ints(c->e, dims, n) : no_term();
    ExportTerm correction = call_term(c, "correction");
    if (!term_is(correction))
        correction = term_int(term_is(call_term(c, "unbiased")) ? call_bool(c, "unbiased") : 1);
    ExportTerm in[] = {x, axes}, all[] = {no_term(), axes};
    *mean = emit(c, "ReduceMean", in, 2, NULL, 0);
    ExportTerm off = emit2(c, "Sub", x, *mean);
    all[0] = emit2(c, "Mul", off, off);
    ExportTerm total = emit(c, "ReduceSum", all, 2, NULL, 0);
    ExportTerm shape[] = {emit1(c, "Shape", x), emit1(c, "Shape", total)};
    ExportTerm many = emit1(c, "ReduceProd", shape[0]), few = emit1(c, "ReduceProd", shape[1]);
    ExportTerm count =
        emit2(c, "Sub", emit2(c, "Div", many, few), emit_cast(c, correction, DT_I64));
    return emit2(c, "Div", total, emit_cast(c, count, (Dtype)x.dtype));
}

/* Results of a fold that keeps its dims, as the call asks. */
static ExportTerm fold_away(Call *c, ExportTerm x)
{
    int64_t dims[DIMS_MAX];
    if (call_bool(c, "keepdim"))
        return x;
    int n = call_ints(c, "dim", dims, DIMS_MAX);
    ExportTerm in[] = {x, n > 0 ? emit_ints(c->e, dims, n) : no_term()};
    return emit(c, "Squeeze", in, 2, NULL, 0);
}

static void make_var(Call *c)
{
    ExportTerm mean, out = fold_away(c, divergence(c, &mean));
    call_results(c, &out, 1);
}

static void make_std(Call *c)
{
    ExportTerm mean, out = fold_away(c, emit1(c, "Sqrt", divergence(c, &mean)));
    call_results(c, &out, 1);
}

static void make_var_mean(Call *c)
{
    ExportTerm mean, out[2];
    out[0] = fold_away(c, divergence(c, &mean));
    out[1] = fold_away(c, mean);
    call_results(c, out, 2);
}

/* The p-norm of a vector: 1, 2 and infinity have operators. */
static ExportTerm norm_of(Call *c, ExportTerm x, double p, ExportTerm axes, bool keep)
{
    Attr attr = attr_int(c->e, "keepdims", keep);
    ExportTerm in[] = {x, axes}, size[] = {emit1(c, "Abs", x), axes};
    if (p > 1e300 || p < -1e300)
        return emit(c, p > 0 ? "ReduceMax" : "ReduceMin", size, 2, &attr, 1);
    if (!(p < 1) && !(p > 1))
        return emit(c, "ReduceL1", in, 2, &attr, 1);
    if (!(p < 2) && !(p > 2))
        return emit(c, "ReduceL2", in, 2, &attr, 1);
    bool counts = !(p < 0) && !(p > 0);
    ExportTerm power[] = {
        counts ? emit_cast(c, emit2(c, "Greater", size[0], term_int(0)), (Dtype)x.dtype)
               : emit2(c, "Pow", size[0], term_number(p)),
        axes};
    ExportTerm sum = emit(c, "ReduceSum", power, 2, &attr, 1);
    return counts ? sum : emit2(c, "Pow", sum, term_number(1 / p));
}

static void make_norm(Call *c)
{
    int64_t dims[DIMS_MAX];
    const char *ord = call_given(c, "ord") ? "ord" : "p";
    ExportTerm order = call_term(c, ord); /* a word stands for 2 */
    double p = order.kind == TERM_NUMBER ? order.f : 2;
    int n = call_ints(c, "dim", dims, DIMS_MAX);
    if (n <= 0 && str_starts(c->op, STR("linalg_matrix"))) {
        dims[0] = -2;
        dims[1] = -1;
        n = 2;
    }
    ExportTerm x = emit_float(c, emit_cast(c, call_tensor(c, "self"), call_dtype(c, "dtype")));
    ExportTerm axes = n > 0 ? emit_ints(c->e, dims, n) : no_term();
    ExportTerm out = norm_of(c, x, p, axes, call_bool(c, "keepdim"));
    call_results(c, &out, 1);
}

/* Of a matrix, or of a vector with an order; all elements are one vector if neither is said. */
static void make_any_norm(Call *c)
{
    int64_t dims[DIMS_MAX];
    int n = call_ints(c, "dim", dims, DIMS_MAX);
    ExportTerm x = call_tensor(c, "self");
    Str word = call_text(c, "ord");
    bool matrix = str_starts(c->op, STR("linalg_matrix")) || n == 2 || (n <= 0 && x.rank == 2);
    bool ordered = call_given(c, "ord") && word.n == 0;
    if ((ordered && matrix) || (word.n > 0 && !str_eq(word, STR("fro"))) ||
        (ordered && n != 1 && x.rank != 1))
        call_fail(c, "it is a norm of matrices by their columns or singular values");
    else
        make_norm(c);
}

static void make_distance(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), y = call_tensor(c, "other");
    ExportTerm out =
        norm_of(c, emit_float(c, emit2(c, "Sub", x, y)), call_float(c, "p"), no_term(), false);
    call_results(c, &out, 1);
}

/* The distance of each pair of rows, of the first row to all behind it first. */
static void make_pair_distances(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self"), rows[2];
    int64_t n = x.meta >= 0 && x.rank == 2 ? meta_dim(e, x.meta, 0) : -1, k = 0;
    if (n < 0 || n > 2048) {
        call_fail(c, "the number of its rows is not known, or too large");
        return;
    }
    int64_t pairs = n * (n - 1) / 2, *at = arena_array(e->scratch, int64_t, 2 * pairs + 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++, k++) {
            at[k] = i;
            at[pairs + k] = j;
        }
    for (int i = 0; i < 2; i++)
        rows[i] = emit2(c, "Gather", x, emit_ints(e, at + i * pairs, (int)pairs));
    ExportTerm out = norm_of(c, emit2(c, "Sub", rows[0], rows[1]), call_float(c, "p"),
                             emit_ints(e, (int64_t[]){1}, 1), false);
    call_results(c, &out, 1);
}

/* Parts along a dim whose norm is larger than the limit are scaled down to it. */
static void make_renorm(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), limit = call_term(c, "maxnorm");
    int64_t dim = call_axis(c, "dim", x.rank), rest[DIMS_MAX];
    int n = 0;
    for (int d = 0; d < x.rank; d++)
        if (d != dim)
            rest[n++] = d;
    ExportTerm norm = norm_of(c, x, call_float(c, "p"), emit_ints(c->e, rest, n), true);
    ExportTerm by = emit2(c, "Div", limit, emit2(c, "Add", norm, term_number(1e-7)));
    ExportTerm in[] = {emit2(c, "Greater", norm, limit), by,
                       emit_constant(c, term_int(1), (Dtype)x.dtype)};
    ExportTerm out = emit2(c, "Mul", x, emit(c, "Where", in, 3, NULL, 0));
    call_results(c, &out, 1);
}

static void make_std_mean(Call *c)
{
    ExportTerm mean, out[2];
    out[0] = fold_away(c, emit1(c, "Sqrt", divergence(c, &mean)));
    out[1] = fold_away(c, mean);
    call_results(c, out, 2);
}

/* The k-th differences along a dim, between what is put before and after. */
static void make_diff(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self");
    int64_t axis = call_axis(c, "dim", x.rank), n = call_int(c, "n");
    ExportTerm parts[3], axes = emit_ints(e, &axis, 1);
    int n_parts = 0;
    if (call_given(c, "prepend"))
        parts[n_parts++] = call_tensor(c, "prepend");
    parts[n_parts++] = x;
    if (call_given(c, "append"))
        parts[n_parts++] = call_tensor(c, "append");
    Attr attr = attr_int(e, "axis", axis);
    x = n_parts > 1 ? emit(c, "Concat", parts, n_parts, &attr, 1) : x;
    for (int64_t i = 0; i < n && i < 16 && !export_failed(e); i++) {
        ExportTerm later[] = {x, emit_ints(e, (int64_t[]){1}, 1),
                              emit_ints(e, (int64_t[]){INT64_MAX}, 1), axes};
        ExportTerm earlier[] = {x, emit_ints(e, (int64_t[]){0}, 1),
                                emit_ints(e, (int64_t[]){-1}, 1), axes};
        ExportTerm a = emit(c, "Slice", later, 4, NULL, 0),
                   b = emit(c, "Slice", earlier, 4, NULL, 0);
        if (x.dtype == DT_BOOL)
            x = emit2(c, "Xor", a, b);
        else
            x = emit2(c, "Sub", a, b);
    }
    call_results(c, &x, 1);
}

const TorchRow rows_reduce[] = {
    {"sum", "self dim= keepdim=False dtype=",
     "ReduceSum(whole(cast(self, dtype)), ints(dim); keepdims=keepdim)", NULL},
    {"nansum", "self dim= keepdim=False dtype=",
     "ReduceSum(Where(IsNaN(float(self)), 0, cast(self, dtype)), ints(dim); keepdims=keepdim)",
     NULL},
    {"mean", "self dim= keepdim=False dtype=",
     "ReduceMean(cast(self, dtype), ints(dim); keepdims=keepdim)", NULL},
    {"prod", "self dim= keepdim=False dtype=",
     "ReduceProd(whole(cast(self, dtype)), ints(dim); keepdims=keepdim)", NULL},
    {"max.dim", "self dim keepdim=False",
     "ReduceMax(self, ints(dim); keepdims=keepdim) | ArgMax(self; axis=dim, keepdims=keepdim)",
     NULL},
    {"min.dim", "self dim keepdim=False",
     "ReduceMin(self, ints(dim); keepdims=keepdim) | ArgMin(self; axis=dim, keepdims=keepdim)",
     NULL},
    FOLD("amax max", "ReduceMax"),
    FOLD("amin min", "ReduceMin"),
    FOLD("logsumexp special_logsumexp", "ReduceLogSumExp"),
    {"any _is_any_true", "self dim= keepdim=False", TRUTHS("ReduceMax"), NULL},
    {"all _is_all_true", "self dim= keepdim=False", TRUTHS("ReduceMin"), NULL},
    {"argmax", "self dim= keepdim=False",
     "given(dim, ArgMax(self; axis=dim, keepdims=keepdim), "
     "ArgMax(Reshape(self, ints(-1)); axis=0, keepdims=0))",
     NULL},
    {"argmin", "self dim= keepdim=False",
     "given(dim, ArgMin(self; axis=dim, keepdims=keepdim), "
     "ArgMin(Reshape(self, ints(-1)); axis=0, keepdims=0))",
     NULL},
    CORRECTED("var", make_var),
    CORRECTED("std", make_std),
    CORRECTED("var_mean", make_var_mean),
    CORRECTED("std_mean", make_std_mean),
    {"aminmax", "self dim= keepdim=False",
     "ReduceMin(self, ints(dim); keepdims=keepdim) | ReduceMax(self, ints(dim); keepdims=keepdim)",
     NULL},
    {"count_nonzero", "self dim=", "ReduceSum(cast(cast(self, bool), i64), ints(dim); keepdims=0)",
     NULL},
    {"nanmean", "self dim= keepdim=False dtype=",
     "Div(ReduceSum(Where(IsNaN(cast(self, dtype)), 0, cast(self, dtype)), ints(dim); "
     "keepdims=keepdim), ReduceSum(like(Not(IsNaN(cast(self, dtype))), cast(self, dtype)), "
     "ints(dim); keepdims=keepdim))",
     NULL},
    {"linalg_vector_norm", "self ord=2 dim= keepdim=False dtype=", NULL, make_norm},
    {"norm", "self p=2 dim= keepdim=False dtype=", NULL, make_norm},
    {"frobenius_norm", "self dim= keepdim=False", NULL, make_norm},
    {"linalg_norm", "self ord= dim= keepdim=False dtype=", NULL, make_any_norm},
    {"linalg_matrix_norm", "self ord= dim= keepdim=False dtype=", NULL, make_any_norm},
    {"dist", "self other p=2", NULL, make_distance},
    {"pdist _pdist_forward", "self p=2", NULL, make_pair_distances},
    {"renorm", "self p dim maxnorm", NULL, make_renorm},
    {"cumsum", "self dim dtype=", "CumSum(whole(cast(self, dtype)), scalar(dim))", NULL},
    {"cumprod", "self dim dtype=", "CumProd(whole(cast(self, dtype)), scalar(dim))", NULL},
    {"softmax _safe_softmax special_softmax",
     "self dim dtype=", "Softmax(float(cast(self, dtype)); axis=dim)", NULL},
    {"log_softmax special_log_softmax",
     "self dim dtype=", "LogSoftmax(float(cast(self, dtype)); axis=dim)", NULL},
    {"_softmax", "self dim half_to_float",
     "Softmax(yes(half_to_float, cast(self, f32), self); axis=dim)", NULL},
    {"_log_softmax", "self dim half_to_float",
     "LogSoftmax(yes(half_to_float, cast(self, f32), self); axis=dim)", NULL},
    {"diff", "self n=1 dim=-1 prepend= append=", NULL, make_diff},
    {0},
};
