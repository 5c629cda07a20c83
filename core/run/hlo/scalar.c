#include "core/run/hlo/scalar.h"

#include "core/model/dense.h"

#include <math.h>

/* ---- operations ---- */

typedef struct {
    int at[3];
    Dtype dtype, operands; /* of the result; of operand 0, or 1 of a selection */
} ScalarUse;

typedef double ScalarFn(double x, double y);
typedef int64_t WholeFn(int64_t x, int64_t y);

static double real_add(double x, double y)
{
    return x + y;
}
static double real_subtract(double x, double y)
{
    return x - y;
}
static double real_multiply(double x, double y)
{
    return x * y;
}
static double real_divide(double x, double y)
{
    return x / y;
}
static double real_maximum(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}
static double real_minimum(double x, double y)
{
    return isnan(x) || x < y ? x : y;
}
#define REAL(name, expression)                                                                     \
    static double real_##name(double x, double y)                                                  \
    {                                                                                              \
        (void)y;                                                                                   \
        return expression;                                                                         \
    }

REAL(negate, -x)
REAL(abs, fabs(x))
REAL(sqrt, sqrt(x))
REAL(rsqrt, 1 / sqrt(x))
REAL(cbrt, cbrt(x))
REAL(exponential, exp(x))
REAL(exponential_minus_one, expm1(x))
REAL(log, log(x))
REAL(log_plus_one, log1p(x))
REAL(logistic, 1 / (1 + exp(-x)))
REAL(tanh, tanh(x))
REAL(sine, sin(x))
REAL(cosine, cos(x))
REAL(floor, floor(x))
REAL(ceil, ceil(x))
REAL(sign, (x > 0) - (x < 0))
REAL(power, pow(x, y))
REAL(remainder, fmod(x, y))
REAL(atan2, atan2(x, y))

static int64_t whole_add(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}
static int64_t whole_subtract(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x - (uint64_t)y);
}
static int64_t whole_multiply(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}
static int64_t whole_divide(int64_t x, int64_t y)
{
    return y == 0 ? -1 : y == -1 ? whole_subtract(0, x) : x / y;
}
static int64_t whole_remainder(int64_t x, int64_t y)
{
    return y == 0 ? x : y == -1 ? 0 : x % y;
}
static int64_t whole_sign(int64_t x, int64_t y)
{
    (void)y;
    return (x > 0) - (x < 0);
}
static int64_t whole_maximum(int64_t x, int64_t y)
{
    return x > y ? x : y;
}
static int64_t whole_minimum(int64_t x, int64_t y)
{
    return x < y ? x : y;
}
static int64_t whole_negate(int64_t x, int64_t y)
{
    (void)y;
    return whole_subtract(0, x);
}
static int64_t whole_abs(int64_t x, int64_t y)
{
    (void)y;
    return x < 0 ? whole_subtract(0, x) : x;
}
static int64_t whole_and(int64_t x, int64_t y)
{
    return x & y;
}
static int64_t whole_or(int64_t x, int64_t y)
{
    return x | y;
}
static int64_t whole_xor(int64_t x, int64_t y)
{
    return x ^ y;
}

typedef enum { DOES_VALUES, DOES_COMPARE, DOES_SELECT, DOES_CONVERT, DOES_NOT, DOES_FINITE } Does;

typedef struct {
    const char *name;
    Does does;
    ScalarFn *real;
    WholeFn *whole;
} Operation;

static const Operation operations[] = {
    {"add", DOES_VALUES, real_add, whole_add},
    {"subtract", DOES_VALUES, real_subtract, whole_subtract},
    {"multiply", DOES_VALUES, real_multiply, whole_multiply},
    {"divide", DOES_VALUES, real_divide, whole_divide},
    {"maximum", DOES_VALUES, real_maximum, whole_maximum},
    {"minimum", DOES_VALUES, real_minimum, whole_minimum},
    {"negate", DOES_VALUES, real_negate, whole_negate},
    {"abs", DOES_VALUES, real_abs, whole_abs},
    {"sqrt", DOES_VALUES, real_sqrt, NULL},
    {"rsqrt", DOES_VALUES, real_rsqrt, NULL},
    {"cbrt", DOES_VALUES, real_cbrt, NULL},
    {"exponential", DOES_VALUES, real_exponential, NULL},
    {"exponential_minus_one", DOES_VALUES, real_exponential_minus_one, NULL},
    {"log", DOES_VALUES, real_log, NULL},
    {"log_plus_one", DOES_VALUES, real_log_plus_one, NULL},
    {"logistic", DOES_VALUES, real_logistic, NULL},
    {"tanh", DOES_VALUES, real_tanh, NULL},
    {"sine", DOES_VALUES, real_sine, NULL},
    {"cosine", DOES_VALUES, real_cosine, NULL},
    {"floor", DOES_VALUES, real_floor, NULL},
    {"ceil", DOES_VALUES, real_ceil, NULL},
    {"sign", DOES_VALUES, real_sign, whole_sign},
    {"power", DOES_VALUES, real_power, NULL},
    {"remainder", DOES_VALUES, real_remainder, whole_remainder},
    {"atan2", DOES_VALUES, real_atan2, NULL},
    {"and", DOES_VALUES, NULL, whole_and},
    {"or", DOES_VALUES, NULL, whole_or},
    {"xor", DOES_VALUES, NULL, whole_xor},
    {"compare", DOES_COMPARE, NULL, NULL},
    {"select", DOES_SELECT, NULL, NULL},
    {"convert", DOES_CONVERT, NULL, NULL},
    {"not", DOES_NOT, NULL, NULL},
    {"is_finite", DOES_FINITE, NULL, NULL},
};

static const Operation *find_operation(Str name)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (str_eq(name, str_from(operations[i].name)))
            return &operations[i];
    return NULL;
}

/* ---- the code ---- */

typedef struct {
    const Operation *operation; /* NULL: the constant */
    Scalar constant;
    ScalarUse use;
    Str told; /* "LT" */
} ScalarLine;

struct ScalarCode {
    int n_args, n_lines, n_results;
    ScalarLine *line;
    int *result;
    Scalar *value; /* room: arguments, then a line each */
};

static Scalar as_type(Scalar value, Dtype dtype)
{
    if (dtype == DT_F32)
        value.real = (double)(float)value.real;
    else if (dtype == DT_BOOL)
        value.whole = value.whole != 0;
    else if (dtype_is_int(dtype) && dtype_bits(dtype) < 64) {
        int shift = 64 - dtype_bits(dtype);
        bool is_signed = dtype == DT_I8 || dtype == DT_I16 || dtype == DT_I32 || dtype == DT_I4;
        uint64_t high = (uint64_t)value.whole << shift;
        value.whole = is_signed ? (int64_t)high >> shift : (int64_t)(high >> shift);
    }
    return value;
}

static bool compares(Str way, int order)
{
    return (str_eq(way, STR("EQ")) && order == 0) || (str_eq(way, STR("NE")) && order != 0) ||
           (str_eq(way, STR("LT")) && order == -1) || (str_eq(way, STR("GT")) && order == 1) ||
           (str_eq(way, STR("LE")) && (order == -1 || order == 0)) ||
           (str_eq(way, STR("GE")) && (order == 1 || order == 0));
}

static Scalar run_line(const ScalarLine *line, const Scalar *value)
{
    const ScalarUse *use = &line->use;
    Scalar x = value[use->at[0]], y = value[use->at[1]], out = {.whole = 0};
    bool real = dtype_is_float(use->operands);
    switch (line->operation->does) {
    case DOES_COMPARE: {
        int order = real ? (x.real > y.real) - (x.real < y.real)
                         : (x.whole > y.whole) - (x.whole < y.whole);
        bool nan = real && (isnan(x.real) || isnan(y.real));
        out.whole = nan ? str_eq(line->told, STR("NE")) : compares(line->told, order);
        return out;
    }
    case DOES_SELECT:
        return value[use->at[x.whole != 0 ? 1 : 2]];
    case DOES_CONVERT:
        if (real && !dtype_is_float(use->dtype))
            out.whole = (int64_t)x.real;
        else if (!real && dtype_is_float(use->dtype))
            out.real = (double)x.whole;
        else
            out = x;
        return as_type(out, use->dtype);
    case DOES_NOT:
        out.whole = use->dtype == DT_BOOL ? x.whole == 0 : ~x.whole;
        return out;
    case DOES_FINITE:
        out.whole = isfinite(x.real) != 0;
        return out;
    case DOES_VALUES:
        if (real)
            out.real = line->operation->real(x.real, y.real);
        else
            out.whole = line->operation->whole(x.whole, y.whole);
        return as_type(out, use->dtype);
    }
    return out;
}

RegionKind scalar_code_kind(const KernelCall *call, const ScalarCode *code)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, "reducers");
    Str name = attr && attr->type == ATTR_STRINGS && attr->n == 1 ? attr->strings[0] : STR("");
    if (code->n_results == 1 && code->n_args == 2 && code->result[0] == 1)
        return REGION_REPLACES;
    if (str_eq(name, STR("stablehlo.add")))
        return REGION_ADDS;
    bool chooses = str_eq(name, STR("stablehlo.maximum")) || str_eq(name, STR("stablehlo.minimum"));
    return chooses ? REGION_CHOOSES : REGION_OTHER;
}

void scalar_code_run(const ScalarCode *code, const Scalar *args, Scalar *results)
{
    Scalar *value = code->value;
    memcpy(value, args, (size_t)code->n_args * sizeof *args);
    for (int i = 0; i < code->n_lines; i++)
        value[code->n_args + i] =
            code->line[i].operation ? run_line(&code->line[i], value) : code->line[i].constant;
    for (int i = 0; i < code->n_results; i++)
        results[i] = value[code->result[i]];
}

/* ---- reading it ---- */

typedef struct {
    const KernelCall *call;
    ScalarCode *code;
    Dtype *dtype; /* per value */
} CodeReading;

static bool fail(Str line, Error *err)
{
    return error_kind(err, ERROR_RUN, "'%.*s' of its region is not run here", STR_ARG(line));
}

static bool read_constant(Arena *arena, ScalarLine *line, Str text, Dtype dtype)
{
    char element[16] = {0};
    Str literal = str_from(arena_printf(arena, "dense<%.*s>", STR_ARG(text)));
    if (!dtype_is_computed(dtype) || !dense_read(literal, dtype, 1, element, NULL))
        return false;
    elements_load(dtype, element, 1, 1, dtype_is_float(dtype) ? NUMBER_F64 : NUMBER_I64,
                  &line->constant);
    return true;
}

/* "NAME[:TOLD]:TYPE A B" */
static bool read_line(CodeReading *r, Str text, Error *err)
{
    ScalarCode *code = r->code;
    Str rest = text, head = str_take(&rest, ' '), name = str_take(&head, ':');
    ScalarLine *line = &code->line[code->n_lines];
    int n_values = code->n_args + code->n_lines, n = 0;
    *line = (ScalarLine){.use = {.at = {0, 0, 0}}};
    Str told = str_take(&head, ':');
    line->use.dtype = dtype_from_name(head.n > 0 ? head : told);
    line->told = told;
    while (rest.n > 0 && n < 3) {
        int64_t at;
        if (!str_to_int(str_take(&rest, ' '), &at) || at < 0 || at >= n_values)
            return fail(text, err);
        line->use.at[n++] = (int)at;
    }
    line->use.operands = r->dtype[line->use.at[str_eq(name, STR("select")) ? 1 : 0]];
    if (str_eq(name, STR("constant"))) {
        if (!read_constant(r->call->scratch, line, told, line->use.dtype))
            return fail(text, err);
    } else {
        line->operation = find_operation(name);
        bool real = dtype_is_float(line->use.operands);
        if (!line->operation || n == 0 || !dtype_is_computed(line->use.operands) ||
            (line->operation->does == DOES_VALUES &&
             (real ? !line->operation->real : !line->operation->whole)))
            return fail(text, err);
        if (n == 1)
            line->use.at[1] = line->use.at[0];
    }
    r->dtype[n_values] = line->use.dtype;
    code->n_lines++;
    return true;
}

static bool read_return(CodeReading *r, Str text, Error *err)
{
    Str rest = text;
    str_take(&rest, ' ');
    while (rest.n > 0) {
        int64_t at;
        if (!str_to_int(str_take(&rest, ' '), &at) || at < 0 ||
            at >= r->code->n_args + r->code->n_lines || r->code->n_results == r->code->n_args)
            return fail(text, err);
        r->code->result[r->code->n_results++] = (int)at;
    }
    return true;
}

bool scalar_code_read(const KernelCall *call, const Dtype *args, int n_args, const ScalarCode **out,
                      Error *err)
{
    Arena *arena = call->scratch;
    const Attr *region = op_attr(kernel_graph(call), call->op, "region");
    const Attr *reducers = op_attr(kernel_graph(call), call->op, "reducers");
    if (!region && reducers && reducers->type == ATTR_STRINGS && reducers->n > 0) {
        Str name = reducers->strings[0];
        str_take(&name, '.');
        Str *lines = arena_array(arena, Str, 2);
        lines[0] = str_from(arena_printf(arena, "%.*s:%s 0 1", STR_ARG(name), dtype_name(args[0])));
        lines[1] = STR("return 2");
        Attr *made = arena_make(arena, Attr);
        *made = (Attr){.type = ATTR_STRINGS, .n = 2};
        made->strings = lines;
        region = made;
    }
    if (!region || region->type != ATTR_STRINGS)
        return error_kind(err, ERROR_RUN, "its region is not one of scalars");
    ScalarCode *code = arena_make(arena, ScalarCode);
    CodeReading r = {call, code, arena_array(arena, Dtype, n_args + region->n)};
    memcpy(r.dtype, args, (size_t)n_args * sizeof *args);
    code->n_args = n_args;
    code->line = arena_array(arena, ScalarLine, region->n);
    code->result = arena_array(arena, int, n_args + 1);
    code->value = arena_array(arena, Scalar, n_args + region->n);
    for (int i = 0; i < region->n; i++) {
        Str text = region->strings[i];
        if (!(str_starts(text, STR("return")) ? read_return(&r, text, err)
                                              : read_line(&r, text, err)))
            return false;
    }
    *out = code;
    return true;
}

Scalar scalar_load(const Local *local, int64_t at)
{
    Scalar out;
    local_load(local, at, 1, 1, dtype_is_float(local->dtype) ? NUMBER_F64 : NUMBER_I64, &out);
    return out;
}

void scalar_store(Local *local, int64_t at, Scalar value)
{
    local_store(local, at, 1, dtype_is_float(local->dtype) ? NUMBER_F64 : NUMBER_I64, &value);
}
