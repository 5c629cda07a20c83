#include "core/peers/torch_export/rows.h"

#include "core/base/scan.h"

#include <stdlib.h>

enum { RESULTS_MAX = 8, INPUTS_MAX = 256, ATTRS_MAX = 16 };

typedef struct {
    Call *c;
    Source source;
    Scan scan;
    Error err; /* of the recipe's text: our mistake */
} Recipe;

static ExportTerm eval(Recipe *r);
static int eval_list(Recipe *r, ExportTerm *out, int most);

/* ---- the text ---- */

static bool accept(Recipe *r, char c)
{
    return scan_accept(&r->scan, c);
}

static Str take_name(Recipe *r)
{
    Str name = STR("");
    scan_name(&r->scan, &name);
    return name;
}

static const char *take_arg(Recipe *r)
{
    return arena_str(r->c->e->scratch, take_name(r));
}

static double take_number(Recipe *r)
{
    scan_peek(&r->scan);
    const char *start = r->source.text.s + r->scan.at;
    char *end;
    double value = strtod(start, &end);
    r->scan.at += (size_t)(end - start);
    return value;
}

static bool at_number(Recipe *r)
{
    char next = scan_peek(&r->scan);
    return is_digit(next) || next == '-';
}

static ExportTerm number_term(double value)
{
    ExportTerm whole = term_int((int64_t)value);
    return whole.f < value || whole.f > value ? term_number(value) : whole;
}

/* Passes over an expression without making anything. */
static void skip(Recipe *r)
{
    Str text = r->source.text;
    for (int depth = 0; r->scan.at < text.n; r->scan.at++) {
        char c = text.s[r->scan.at];
        if (depth == 0 && (c == ',' || c == ')'))
            return;
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
}

/* ---- functions ---- */

static Dtype take_dtype(Recipe *r)
{
    const char *name = take_arg(r);
    Dtype known = dtype_from_name(str_from(name));
    return known != DT_NONE ? known : call_dtype(r->c, name);
}

static ExportTerm make_cast(Recipe *r)
{
    ExportTerm x = eval(r);
    accept(r, ',');
    return emit_cast(r->c, x, take_dtype(r));
}

static ExportTerm make_float(Recipe *r)
{
    return emit_float(r->c, eval(r));
}

static ExportTerm make_whole(Recipe *r)
{
    ExportTerm x = eval(r);
    bool shorter = x.dtype == DT_BOOL || dtype_is_int((Dtype)x.dtype);
    return shorter ? emit_cast(r->c, x, DT_I64) : x;
}

static ExportTerm make_like(Recipe *r)
{
    ExportTerm x = eval(r);
    accept(r, ',');
    return emit_cast(r->c, x, (Dtype)eval(r).dtype);
}

static ExportTerm make_scaled(Recipe *r)
{
    ExportTerm x = eval(r);
    accept(r, ',');
    ExportTerm factor = call_term(r->c, take_arg(r));
    bool one = factor.kind == TERM_NUMBER && !(factor.f < 1) && !(factor.f > 1);
    return one || !term_is(factor) ? x : emit2(r->c, "Mul", x, factor);
}

static ExportTerm make_ints(Recipe *r)
{
    int64_t values[DIMS_MAX * 2];
    int n = 0;
    if (at_number(r)) {
        do
            values[n++] = (int64_t)take_number(r);
        while (accept(r, ','));
        return emit_ints(r->c->e, values, n);
    }
    const char *arg = take_arg(r);
    if (!call_given(r->c, arg) && !term_is(call_term(r->c, arg)))
        return no_term();
    if (!call_given(r->c, arg)) {
        values[0] = call_int(r->c, arg);
        return emit_ints(r->c->e, values, 1);
    }
    n = call_ints(r->c, arg, values, DIMS_MAX * 2);
    return n <= 0 ? no_term() : emit_ints(r->c->e, values, n);
}

static ExportTerm make_scalar(Recipe *r)
{
    return at_number(r) ? emit_scalar_int(r->c->e, (int64_t)take_number(r))
                        : emit_as_scalar(r->c, call_term(r->c, take_arg(r)), DT_I64);
}

static ExportTerm make_sizes(Recipe *r)
{
    Terms sizes = {0};
    call_terms(r->c, take_arg(r), &sizes);
    return emit_sizes(r->c, &sizes);
}

static ExportTerm make_size(Recipe *r)
{
    Export *e = r->c->e;
    ExportTerm x = eval(r);
    accept(r, ',');
    int64_t axis = call_axis(r->c, take_arg(r), x.rank);
    if (x.rank == 0)
        return emit_ints(e, (int64_t[]){1}, 1);
    Attr attrs[] = {attr_int(e, "start", axis), attr_int(e, "end", axis + 1)};
    ExportTerm out = emit(r->c, "Shape", &x, 1, attrs, 2);
    out.rank = 1;
    return out;
}

static ExportTerm make_filled(Recipe *r)
{
    ExportTerm x = eval(r);
    accept(r, ',');
    ExportTerm value = eval(r);
    ExportTerm shape = emit1(r->c, "Shape", x);
    return emit_filled(r->c, shape, value, (Dtype)x.dtype, x.rank);
}

static ExportTerm choose(Recipe *r, bool first)
{
    accept(r, ',');
    ExportTerm out = no_term();
    if (first)
        out = eval(r);
    else
        skip(r);
    if (!accept(r, ','))
        return out;
    if (first)
        skip(r);
    else
        out = eval(r);
    return out;
}

static ExportTerm make_given(Recipe *r)
{
    return choose(r, call_given(r->c, take_arg(r)));
}

static ExportTerm make_yes(Recipe *r)
{
    return choose(r, call_bool(r->c, take_arg(r)));
}

static ExportTerm make_pick(Recipe *r)
{
    ExportTerm results[RESULTS_MAX];
    int at = (int)take_number(r);
    accept(r, ',');
    int n = eval_list(r, results, RESULTS_MAX);
    return at < n ? results[at] : no_term();
}

/* By the argument `reduction`: 0 none, 1 the mean, 2 the sum. */
static ExportTerm make_reduced(Recipe *r)
{
    ExportTerm x = eval(r);
    int64_t how = call_int(r->c, "reduction");
    Attr drop = attr_int(r->c->e, "keepdims", 0);
    if (how == 0)
        return x;
    ExportTerm out = emit(r->c, how == 2 ? "ReduceSum" : "ReduceMean", &x, 1, &drop, 1);
    out.rank = 0;
    return out;
}

static const struct {
    const char *name;
    ExportTerm (*make)(Recipe *r);
} functions[] = {
    {"cast", make_cast},     {"float", make_float},     {"whole", make_whole},
    {"like", make_like},     {"scaled", make_scaled},   {"ints", make_ints},
    {"scalar", make_scalar}, {"sizes", make_sizes},     {"size", make_size},
    {"filled", make_filled}, {"given", make_given},     {"yes", make_yes},
    {"pick", make_pick},     {"reduced", make_reduced},
};

/* ---- attributes ---- */

static bool attr_of_list(Recipe *r, const char *name, const char *arg, Attr *out)
{
    int64_t values[4 * DIMS_MAX];
    int n = call_ints(r->c, arg, values, 4 * DIMS_MAX);
    if (n < 0)
        return false;
    *out = attr_ints(r->c->e, name, values, n);
    return true;
}

/* The argument as an attribute; false if it is not given. */
static bool attr_of_arg(Recipe *r, const char *name, const char *arg, bool real, Attr *out)
{
    Call *c = r->c;
    const JsonView *json = c->e->json;
    int32_t place = call_place(c, arg);
    if (json_view_get(json, place, "as_ints") >= 0)
        return attr_of_list(r, name, arg, out);
    ExportTerm t = call_term(c, arg);
    if (t.kind == TERM_NUMBER && (real || t.dtype == DT_F32))
        *out = attr_float(c->e, name, t.f);
    else if (t.kind == TERM_NUMBER)
        *out = attr_int(c->e, name, t.i);
    else if (call_text(c, arg).n > 0)
        *out = attr_text(c->e, name, call_text(c, arg));
    else
        return false;
    return true;
}

/* Reads one attribute; false if it is left out. */
static bool read_attr(Recipe *r, Attr *out)
{
    Export *e = r->c->e;
    const char *name = take_arg(r);
    accept(r, '=');
    if (accept(r, '\'')) {
        Str rest = {r->source.text.s + r->scan.at, r->source.text.n - r->scan.at};
        Str text = str_take(&rest, '\'');
        r->scan.at += text.n + 1;
        *out = attr_text(e, name, text);
        return true;
    }
    if (at_number(r)) {
        double value = take_number(r);
        ExportTerm t = number_term(value);
        bool real = t.dtype == DT_F32 || r->source.text.s[r->scan.at - 1] == '.';
        *out = real ? attr_float(e, name, value) : attr_int(e, name, t.i);
        return true;
    }
    bool real = accept(r, '~');
    return attr_of_arg(r, name, take_arg(r), real, out);
}

/* ---- expressions ---- */

/* The inputs and attributes of an operator of ours, behind its opening bracket. */
static int eval_operator(Recipe *r, Str name, int n_results, ExportTerm *out)
{
    ExportTerm inputs[INPUTS_MAX];
    Attr attrs[ATTRS_MAX];
    int n = 0, n_attrs = 0;
    char next = scan_peek(&r->scan);
    while (next != ')' && next != ';' && n < INPUTS_MAX) {
        int more = eval_list(r, inputs + n, INPUTS_MAX - n);
        n += more;
        if (!accept(r, ','))
            break;
    }
    if (accept(r, ';'))
        do
            n_attrs += n_attrs < ATTRS_MAX && read_attr(r, &attrs[n_attrs]);
        while (accept(r, ','));
    accept(r, ')');
    emit_many(r->c, arena_str(r->c->e->scratch, name), inputs, n, attrs, n_attrs, out, n_results);
    return n_results;
}

/* An expression: one term, but for results of an operator and an argument that is a list. */
static int eval_list(Recipe *r, ExportTerm *out, int most)
{
    if (most < 1 || export_failed(r->c->e))
        return 0;
    if (at_number(r)) {
        out[0] = number_term(take_number(r));
        return 1;
    }
    Str name = take_name(r);
    int n_results = accept(r, '#') ? (int)take_number(r) : 1;
    if (!accept(r, '(')) {
        Terms list = {0};
        const char *arg = arena_str(r->c->e->scratch, name);
        int32_t place = call_place(r->c, arg);
        if (json_view_get(r->c->e->json, place, "as_tensors") < 0) {
            out[0] = call_term(r->c, arg);
            return 1;
        }
        call_terms(r->c, arg, &list);
        if (list.n > most)
            call_fail(r->c, "it has more than %d tensors", most);
        for (int i = 0; i < list.n && i < most; i++)
            out[i] = list.at[i];
        return list.n < most ? list.n : most;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_eq(name, str_from(functions[i].name))) {
            out[0] = functions[i].make(r);
            accept(r, ')');
            return 1;
        }
    return n_results > most ? 0 : eval_operator(r, name, n_results, out);
}

static ExportTerm eval(Recipe *r)
{
    ExportTerm results[RESULTS_MAX];
    int n = eval_list(r, results, RESULTS_MAX);
    return n > 0 ? results[0] : no_term();
}

int recipe_run(Call *c, const char *recipe, ExportTerm *out, int most)
{
    Recipe r = {.c = c, .source = {"recipe", str_from(recipe)}};
    r.scan = scan_begin(&r.source, &r.err);
    int n = 0;
    do
        n += eval_list(&r, out + n, most - n);
    while (accept(&r, '|') && n < most && !export_failed(c->e));
    return n;
}
