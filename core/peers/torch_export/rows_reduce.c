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
static void make_norm(Call *c)
{
    double p = call_given(c, "ord") ? call_float(c, "ord") : 2;
    ExportTerm out;
    if (p > 1e300)
        recipe_run(c, "ReduceMax(Abs(float(self)), ints(dim); keepdims=keepdim)", &out, 1);
    else if (!(p < 1) && !(p > 1))
        recipe_run(c, "ReduceL1(float(self), ints(dim); keepdims=keepdim)", &out, 1);
    else if (!(p < 2) && !(p > 2))
        recipe_run(c, "ReduceL2(float(self), ints(dim); keepdims=keepdim)", &out, 1);
    else
        recipe_run(c,
                   "Pow(ReduceSum(Pow(Abs(float(self)), ord), ints(dim); keepdims=keepdim), "
                   "Div(float(1), ord))",
                   &out, 1);
    call_results(c, &out, 1);
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
    {"sum nansum", "self dim= keepdim=False dtype=",
     "ReduceSum(whole(cast(self, dtype)), ints(dim); keepdims=keepdim)", NULL},
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
    FOLD("logsumexp", "ReduceLogSumExp"),
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
    {"linalg_vector_norm", "self ord=2 dim= keepdim=False dtype=", NULL, make_norm},
    {"cumsum", "self dim dtype=", "CumSum(whole(cast(self, dtype)), scalar(dim))", NULL},
    {"cumprod", "self dim dtype=", "CumProd(whole(cast(self, dtype)), scalar(dim))", NULL},
    {"softmax _safe_softmax", "self dim dtype=", "Softmax(float(cast(self, dtype)); axis=dim)",
     NULL},
    {"log_softmax", "self dim dtype=", "LogSoftmax(float(cast(self, dtype)); axis=dim)", NULL},
    {"_softmax", "self dim half_to_float",
     "Softmax(yes(half_to_float, cast(self, f32), self); axis=dim)", NULL},
    {"_log_softmax", "self dim half_to_float",
     "LogSoftmax(yes(half_to_float, cast(self, f32), self); axis=dim)", NULL},
    {"diff", "self n=1 dim=-1 prepend= append=", NULL, make_diff},
    {0},
};
