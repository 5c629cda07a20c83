/* rows_random.c - torch's operators that draw random numbers. The numbers are not torch's: they
 * have the same distribution, and each element has its own, whatever the plan. */
#include "core/peers/torch_export/shapes.h"

typedef struct {
    const char *op, *first, *second; /* of a shape, and the attributes of its two parameters */
} Distribution;

static const Distribution normal = {"RandomNormal", "mean", "scale"};
static const Distribution uniform = {"RandomUniform", "low", "high"};

/* The type in which numbers are drawn for results of a type. */
static Dtype drawn_type(Dtype dtype)
{
    return dtype_is_float(dtype) ? dtype : DT_F32;
}

/* Numbers of the shape of x. */
static ExportTerm drawn_like(Call *c, const Distribution *of, ExportTerm x, double a, double b,
                             Dtype dtype)
{
    Export *e = c->e;
    Attr attrs[] = {attr_int(e, "dtype", dtype_to_onnx(dtype)), attr_float(e, of->first, a),
                    attr_float(e, of->second, b)};
    const char *op = arena_printf(e->scratch, "%sLike", of->op);
    ExportTerm out = emit(c, op, &x, 1, attrs, 3);
    out.dtype = (uint8_t)dtype;
    return out;
}

/* Numbers of the shape that the argument `size` has. */
static ExportTerm drawn(Call *c, const Distribution *of, double a, double b, Dtype dtype)
{
    Export *e = c->e;
    Terms sizes = {0};
    int64_t numbers[DIMS_MAX];
    bool known = true;
    call_terms(c, "size", &sizes);
    for (int i = 0; i < sizes.n && i < DIMS_MAX; i++) {
        known &= sizes.at[i].kind == TERM_NUMBER;
        numbers[i] = sizes.at[i].i;
    }
    if (!known || sizes.n == 0 || sizes.n > DIMS_MAX) {
        ExportTerm shape = emit_sizes(c, &sizes);
        return drawn_like(c, of, emit_filled(c, shape, term_int(0), dtype, sizes.n), a, b, dtype);
    }
    Attr attrs[] = {attr_int(e, "dtype", dtype_to_onnx(dtype)), attr_float(e, of->first, a),
                    attr_float(e, of->second, b), attr_ints(e, "shape", numbers, sizes.n)};
    ExportTerm out = emit(c, of->op, NULL, 0, attrs, 4);
    out.dtype = (uint8_t)dtype;
    out.rank = legal_rank(c, sizes.n);
    return out;
}

/* Numbers in the place of an argument, of the shape of `self` or of the sizes. */
static ExportTerm drawn_as_asked(Call *c, const Distribution *of, double a, double b, Dtype dtype)
{
    return call_given(c, "self") ? drawn_like(c, of, call_tensor(c, "self"), a, b, dtype)
                                 : drawn(c, of, a, b, dtype);
}

static void make_normal(Call *c)
{
    ExportTerm out = drawn_as_asked(c, &normal, 0, 1, drawn_type(call_result_dtype(c)));
    call_results(c, &out, 1);
}

static void make_uniform(Call *c)
{
    ExportTerm out = drawn_as_asked(c, &uniform, 0, 1, drawn_type(call_result_dtype(c)));
    call_results(c, &out, 1);
}

/* Whole numbers from `low` to below `high`: the upper bound is what a float rounds to at most. */
static void make_whole(Call *c)
{
    ExportTerm low = call_term(c, "low"), high = call_term(c, "high");
    if ((term_is(low) && low.kind != TERM_NUMBER) || high.kind != TERM_NUMBER) {
        call_fail(c, "its bounds are not known");
        return;
    }
    double from = term_is(low) ? low.f : 0;
    ExportTerm each = drawn_as_asked(c, &uniform, from, high.f, DT_F64);
    ExportTerm out = emit2(c, "Min", emit1(c, "Floor", each), term_number(high.f - 1));
    call_results(c, &out, 1);
}

/* The order of drawn numbers. */
static void make_permutation(Call *c)
{
    Export *e = c->e;
    ExportTerm n = call_term(c, "n"), out[2];
    Terms sizes = {0};
    add_size(c, &sizes, n);
    ExportTerm shape = emit_sizes(c, &sizes);
    ExportTerm each =
        drawn_like(c, &uniform, emit_filled(c, shape, term_int(0), DT_F32, 1), 0, 1, DT_F32);
    Attr attr = attr_int(e, "axis", 0);
    ExportTerm in[] = {each, shape};
    emit_many(c, "TopK", in, 2, &attr, 1, out, 2);
    out[1].dtype = DT_I64;
    call_results(c, &out[1], 1);
}

/* 1 with the chance p, by default that of each element. */
static void make_bernoulli(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), p = call_term(c, "p");
    ExportTerm each = drawn_like(c, &uniform, x, 0, 1, drawn_type((Dtype)x.dtype));
    ExportTerm out = emit_cast(c, emit2(c, "Less", each, term_is(p) ? p : x), (Dtype)x.dtype);
    call_results(c, &out, 1);
}

/* Exponential numbers of rate 1. */
static ExportTerm waits(Call *c, ExportTerm x)
{
    ExportTerm each = drawn_like(c, &uniform, x, 0, 1, drawn_type((Dtype)x.dtype));
    return emit1(c, "Neg", emit1(c, "Log", emit2(c, "Sub", term_int(1), each)));
}

static void make_exponential(Call *c)
{
    ExportTerm out = waits(c, call_tensor(c, "self"));
    out = emit2(c, "Div", out, term_number(call_float(c, "lambd")));
    call_results(c, &out, 1);
}

/* Classes by their weights: each draw for itself, or no class twice, those with the shortest waits
 * at the rates of their weights. */
static void make_multinomial(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self"), out[2];
    int64_t n = call_int(c, "num_samples");
    bool one = x.rank == 1;
    x = one ? unsqueeze(c, x, 0) : x;
    if (call_bool(c, "replacement")) {
        ExportTerm logs = emit1(c, "Log", x);
        Attr attrs[] = {attr_int(e, "sample_size", n), attr_int(e, "dtype", dtype_to_onnx(DT_I64))};
        out[1] = emit(c, "Multinomial", &logs, 1, attrs, 2);
    } else {
        Attr attr = attr_int(e, "axis", -1);
        ExportTerm in[] = {emit2(c, "Div", x, waits(c, x)), emit_ints(e, &n, 1)};
        emit_many(c, "TopK", in, 2, &attr, 1, out, 2);
    }
    out[1].dtype = DT_I64;
    out[1] = one ? squeeze(c, out[1], 0) : out[1];
    call_results(c, &out[1], 1);
}

/* By mean and deviation, each a number or a tensor. */
static void make_normal_of(Call *c)
{
    ExportTerm mean = call_term(c, "mean"), std = call_term(c, "std"), each;
    Dtype dtype = drawn_type(call_result_dtype(c));
    if (call_given(c, "self") || call_given(c, "size")) {
        each = drawn_as_asked(c, &normal, mean.f, std.f, dtype);
    } else {
        ExportTerm like = mean.kind == TERM_TENSOR && std.kind == TERM_TENSOR
                              ? emit2(c, "Add", mean, std)
                          : mean.kind == TERM_TENSOR ? mean
                                                     : std;
        each = drawn_like(c, &normal, like, 0, 1, dtype);
        each = emit2(c, "Add", emit2(c, "Mul", each, std), mean);
    }
    call_results(c, &each, 1);
}

static void make_uniform_of(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    ExportTerm out = drawn_like(c, &uniform, x, call_float(c, "from"), call_float(c, "to"),
                                drawn_type((Dtype)x.dtype));
    call_results(c, &out, 1);
}

static void make_log_normal(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    ExportTerm out = emit1(c, "Exp",
                           drawn_like(c, &normal, x, call_float(c, "mean"), call_float(c, "std"),
                                      drawn_type((Dtype)x.dtype)));
    call_results(c, &out, 1);
}

/* The tangent of an angle. */
static void make_cauchy(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    double quarter = 1.5707963267948966;
    ExportTerm angle = drawn_like(c, &uniform, x, -quarter, quarter, drawn_type((Dtype)x.dtype));
    ExportTerm out = emit2(c, "Mul", emit1(c, "Tan", angle), term_number(call_float(c, "sigma")));
    out = emit2(c, "Add", out, term_number(call_float(c, "median")));
    call_results(c, &out, 1);
}

/* How many draws until one hits: a wait in steps. */
static void make_geometric(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    ExportTerm rate = emit1(
        c, "Neg",
        emit1(c, "Log", emit2(c, "Sub", term_int(1), emit_constant(c, call_term(c, "p"), DT_F32))));
    ExportTerm steps = emit1(c, "Ceil", emit2(c, "Div", waits(c, x), rate));
    ExportTerm out = emit2(c, "Max", steps, term_int(1));
    call_results(c, &out, 1);
}

/* With the mask of what is kept. */
static void make_native_dropout(Call *c)
{
    ExportTerm x = call_tensor(c, "input"), p = call_term(c, "p"), out[2];
    bool trains = !call_given(c, "train") || call_bool(c, "train");
    if (trains) {
        ExportTerm in[] = {x, emit_constant(c, p, DT_F32), emit_constant(c, term_int(1), DT_BOOL)};
        emit_many(c, "Dropout", in, 3, NULL, 0, out, 2);
        out[1].dtype = DT_BOOL;
    } else {
        out[0] = x;
        out[1] = emit_filled(c, emit1(c, "Shape", x), term_int(1), DT_BOOL, x.rank);
    }
    call_results(c, out, 2);
}

const TorchRow rows_random[] = {
    {"randn", "size dtype=", NULL, make_normal},
    {"rand", "size dtype=", NULL, make_uniform},
    {"randn_like", "self dtype=", NULL, make_normal},
    {"rand_like", "self dtype=", NULL, make_uniform},
    {"randint.low randint.low_generator", "low high size dtype=", NULL, make_whole},
    {"randint", "high size dtype=", NULL, make_whole},
    {"randint_like.low_dtype", "self low high dtype=", NULL, make_whole},
    {"randint_like", "self high dtype=", NULL, make_whole},
    {"randperm", "n dtype=", NULL, make_permutation},
    {"bernoulli.p bernoulli.Tensor", "self p", NULL, make_bernoulli},
    {"bernoulli.float", "self p=0.5", NULL, make_bernoulli},
    {"bernoulli", "self", NULL, make_bernoulli},
    {"multinomial", "self num_samples replacement=False", NULL, make_multinomial},
    {"normal.float_float", "mean std size dtype=", NULL, make_normal_of},
    {"normal.Tensor_float normal.Tensor_Tensor normal.float_Tensor", "mean std=1", NULL,
     make_normal_of},
    {"normal normal_functional", "self mean=0 std=1", NULL, make_normal_of},
    {"uniform", "self from=0 to=1", NULL, make_uniform_of},
    {"exponential", "self lambd=1", NULL, make_exponential},
    {"log_normal", "self mean=1 std=2", NULL, make_log_normal},
    {"cauchy", "self median=0 sigma=1", NULL, make_cauchy},
    {"geometric", "self p", NULL, make_geometric},
    {"native_dropout", "input p train", NULL, make_native_dropout},
    {0},
};
