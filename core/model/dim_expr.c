#include "core/model/dim_expr.h"

#include <math.h>

enum { DEPTH_MAX = 32, LENGTH_MAX = 1000 };

/* Values are exact as long as they are below 2^53; NaN is "not known". */
typedef struct {
    Str text; /* what is left */
    const DimBindings *bindings;
    int depth;
} Expr;

bool dim_expr_is(Str name)
{
    bool has = false;
    for (size_t i = 0; i < name.n && !has; i++)
        has = strchr("+-*/%(", name.s[i]) && name.s[i];
    return has && name.n <= LENGTH_MAX;
}

static bool accept(Expr *e, const char *token)
{
    e->text = str_trim(e->text);
    Str head = str_from(token);
    if (!str_starts(e->text, head))
        return false;
    e->text = (Str){e->text.s + head.n, e->text.n - head.n};
    return true;
}

static bool is_name_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == ':' || c == '[' || c == ']';
}

static Str take_name(Expr *e)
{
    e->text = str_trim(e->text);
    size_t n = 0;
    while (n < e->text.n && is_name_char(e->text.s[n]))
        n++;
    Str name = {e->text.s, n};
    e->text = (Str){e->text.s + n, e->text.n - n};
    return name;
}

static double bound(const Expr *e, Str name)
{
    int64_t number;
    if (str_to_int(name, &number))
        return (double)number;
    for (int i = e->bindings->n - 1; i >= 0; i--)
        if (str_eq(e->bindings->at[i].name, name))
            return (double)e->bindings->at[i].size;
    return NAN;
}

static double floored_rest(double a, double b)
{
    return a - b * floor(a / b);
}

static double identity(double a, double b)
{
    (void)b;
    return a;
}

static double floor_of(double a, double b)
{
    (void)b;
    return floor(a);
}

static double ceil_of(double a, double b)
{
    (void)b;
    return ceil(a);
}

static double trunc_of(double a, double b)
{
    (void)b;
    return trunc(a);
}

static double abs_of(double a, double b)
{
    (void)b;
    return fabs(a);
}

static double floor_quotient(double a, double b)
{
    return floor(a / b);
}

static const struct {
    const char *name;
    double (*apply)(double a, double b);
} functions[] = {
    {"Max", fmax},
    {"Min", fmin},
    {"floor", floor_of},
    {"ceiling", ceil_of},
    {"FloorToInt", floor_of},
    {"CeilToInt", ceil_of},
    {"TruncToInt", trunc_of},
    {"trunc", trunc_of},
    {"Abs", abs_of},
    {"ToFloat", identity},
    {"Mod", floored_rest},
    {"Identity", identity},
    {"FloorDiv", floor_quotient},
    {"PythonMod", floored_rest},
    {"int", trunc_of},
};

static double sum(Expr *e);

/* The arguments of a function, combined from the left. */
static double call(Expr *e, Str name)
{
    double (*apply)(double a, double b) = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_eq(name, str_from(functions[i].name)))
            apply = functions[i].apply;
    if (!apply)
        return NAN;
    double value = sum(e);
    bool one = true;
    for (; accept(e, ","); one = false) {
        double next = sum(e);
        value = isnan(value) || isnan(next) ? NAN : apply(value, next);
    }
    if (one)
        value = apply(value, value);
    return accept(e, ")") ? value : NAN;
}

static double atom(Expr *e)
{
    if (++e->depth > DEPTH_MAX)
        return NAN;
    double value;
    if (accept(e, "(")) {
        value = sum(e);
        value = accept(e, ")") ? value : NAN;
    } else {
        Str name = take_name(e);
        value = name.n == 0 ? NAN : accept(e, "(") ? call(e, name) : bound(e, name);
    }
    e->depth--;
    return value;
}

static double power(Expr *e)
{
    if (accept(e, "-"))
        return -power(e);
    double base = atom(e);
    return accept(e, "**") ? pow(base, power(e)) : base;
}

static double product(Expr *e)
{
    double value = power(e);
    for (;;)
        if (accept(e, "*"))
            value *= power(e);
        else if (accept(e, "//"))
            value = floor(value / power(e));
        else if (accept(e, "/"))
            value /= power(e);
        else if (accept(e, "%"))
            value = floored_rest(value, power(e));
        else
            return value;
}

static double sum(Expr *e)
{
    if (++e->depth > DEPTH_MAX)
        return NAN;
    double value = product(e);
    for (;;)
        if (accept(e, "+"))
            value += product(e);
        else if (accept(e, "-"))
            value -= product(e);
        else
            break;
    e->depth--;
    return value;
}

int64_t dim_expr_size(Str name, const DimBindings *bindings)
{
    const double largest = 9007199254740992.0; /* 2^53 */
    Expr e = {.text = name, .bindings = bindings};
    double value = sum(&e);
    bool whole = value >= 0 && value < largest && floor(value) == value;
    return whole && str_trim(e.text).n == 0 ? (int64_t)value : -1;
}
