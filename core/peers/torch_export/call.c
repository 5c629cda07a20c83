#include "core/peers/torch_export/nodes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool call_fail(Call *c, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->unfit = true;
    return export_fail(c->e, c->node, "node '%.*s' (%.*s): %s", STR_ARG(c->name), STR_ARG(c->op),
                       text);
}

/* ---- binding ---- */

/* A schema is bound once for each call: texts of names and fallbacks live in the scratch arena. */
static void read_schema(Call *c, const char *schema)
{
    for (Str rest = str_from(schema); rest.n > 0 && c->n_args < CALL_ARGS_MAX;) {
        Str word = str_take(&rest, ' '), fallback = word, name = str_take(&fallback, '=');
        if (name.n == 0)
            continue;
        c->arg[c->n_args] = arena_str(c->e->scratch, name);
        c->fallback[c->n_args] = name.n == word.n ? "" : arena_str(c->e->scratch, fallback);
        c->place[c->n_args++] = -1;
    }
}

static int find_arg(const Call *c, Str name)
{
    for (int i = 0; i < c->n_args; i++)
        if (str_eq(str_from(c->arg[i]), name))
            return i;
    return -1;
}

bool call_bind(Call *c, const char *schema)
{
    const JsonView *json = c->e->json;
    int at = 0;
    c->n_args = 0;
    read_schema(c, schema);
    json_view_each (item, json, json_view_get(json, c->node, "inputs")) {
        Str name = json_view_raw(json, json_view_get(json, item, "name"));
        int32_t value = json_view_get(json, item, "arg");
        int arg = name.n > 0 ? find_arg(c, name) : at;
        at++;
        if (arg < 0 || arg >= c->n_args)
            continue; /* pin_memory and the like change nothing here */
        bool none = json_view_get(json, value, "as_none") >= 0;
        c->place[arg] = none ? -1 : value;
    }
    return true;
}

int32_t call_place(const Call *c, const char *arg)
{
    int i = find_arg(c, str_from(arg));
    return i < 0 ? -1 : c->place[i];
}

bool call_given(const Call *c, const char *arg)
{
    return call_place(c, arg) >= 0;
}

static const char *fallback_of(const Call *c, const char *arg)
{
    int i = find_arg(c, str_from(arg));
    return i < 0 ? "" : c->fallback[i];
}

/* ---- values ---- */

/* A whole or other number as the file has it; floats may be texts: "Infinity". */
static bool read_number(const JsonView *json, int32_t value, ExportTerm *out)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {{"Infinity", INFINITY}, {"-Infinity", -INFINITY}, {"NaN", NAN}};
    int32_t found;
    double f = 0;
    if ((found = json_view_get(json, value, "as_int")) >= 0) {
        int64_t i = 0;
        if (!json_view_int(json, found, &i))
            return false;
        *out = term_int(i);
        return true;
    }
    if ((found = json_view_get(json, value, "as_bool")) >= 0) {
        *out = term_int(json_view_bool(json, found, false));
        out->dtype = DT_BOOL;
        return true;
    }
    found = json_view_get(json, value, "as_float");
    for (size_t i = 0; i < 3; i++)
        if (json_view_is(json, found, words[i].text)) {
            *out = term_number(words[i].value);
            return true;
        }
    if (!json_view_real(json, found, &f))
        return false;
    *out = term_number(f);
    return true;
}

/* {"as_name": "s"} or {"as_int": 2}, of a size, a float or a truth. */
static ExportTerm symbolic_term(Call *c, int32_t value)
{
    const JsonView *json = c->e->json;
    int32_t name = json_view_get(json, value, "as_name");
    ExportTerm number = no_term();
    if (name >= 0) {
        ExportValue *found = export_value(c->e, name, json_view_raw(json, name));
        return found ? found->term : no_term();
    }
    if (!read_number(json, value, &number))
        call_fail(c, "an argument cannot be read");
    return number;
}

/* {"real": 0.0, "imag": 1.0} */
static ExportTerm complex_term(Call *c, int32_t value)
{
    const JsonView *json = c->e->json;
    double real = 0, imag = 0;
    json_view_real(json, json_view_get(json, value, "real"), &real);
    json_view_real(json, json_view_get(json, value, "imag"), &imag);
    return emit_pair(c, real, imag, DT_C64);
}

static ExportTerm term_at(Call *c, int32_t value)
{
    static const char *const symbolic[] = {"as_sym_int", "as_sym_float", "as_sym_bool"};
    const JsonView *json = c->e->json;
    int32_t name = json_view_get(json, json_view_get(json, value, "as_tensor"), "name");
    ExportTerm number = no_term();
    if (name >= 0) {
        ExportValue *found = export_value(c->e, name, json_view_raw(json, name));
        return found ? inplace_current(c->e, found) : number;
    }
    for (int i = 0; i < 3; i++)
        if (json_view_get(json, value, symbolic[i]) >= 0)
            return symbolic_term(c, json_view_get(json, value, symbolic[i]));
    int32_t pair = json_view_get(json, value, "as_complex");
    if (pair >= 0)
        return complex_term(c, pair);
    read_number(json, value, &number);
    return number;
}

static ExportTerm fallback_term(const char *text)
{
    int64_t i;
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
        ExportTerm out = term_int(text[0] == 'T');
        out.dtype = DT_BOOL;
        return out;
    }
    if (str_to_int(str_from(text), &i))
        return term_int(i);
    return is_digit(text[0]) || text[0] == '-' ? term_number(strtod(text, NULL)) : no_term();
}

ExportTerm call_term(Call *c, const char *arg)
{
    int32_t place = call_place(c, arg);
    return place < 0 ? fallback_term(fallback_of(c, arg)) : term_at(c, place);
}

ExportTerm call_tensor(Call *c, const char *arg)
{
    ExportTerm found = call_term(c, arg);
    if (found.kind != TERM_TENSOR)
        call_fail(c, "its argument '%s' is no tensor", arg);
    return found;
}

static void add_names(Call *c, int32_t list, Terms *out)
{
    const JsonView *json = c->e->json;
    json_view_each (item, json, list) {
        int32_t at = json_view_get(json, item, "name");
        int32_t tensor = at >= 0 ? item : json_view_get(json, item, "as_tensor");
        int32_t name = json_view_get(json, tensor, "name");
        ExportValue *found = name < 0 ? NULL : export_value(c->e, name, json_view_raw(json, name));
        vec_push(c->e->scratch, out, found ? inplace_current(c->e, found) : no_term());
    }
}

/* The list of an argument: what kinds have one. */
void call_terms(Call *c, const char *arg, Terms *out)
{
    const JsonView *json = c->e->json;
    int32_t place = call_place(c, arg), list;
    if (place < 0)
        return;
    if ((list = json_view_get(json, place, "as_tensors")) >= 0 ||
        (list = json_view_get(json, place, "as_optional_tensors")) >= 0) {
        add_names(c, list, out);
        return;
    }
    if ((list = json_view_get(json, place, "as_sym_ints")) >= 0) {
        json_view_each (item, json, list)
            vec_push(c->e->scratch, out, symbolic_term(c, item));
        return;
    }
    bool floats = (list = json_view_get(json, place, "as_floats")) >= 0;
    if (!floats)
        list = json_view_get(json, place, "as_ints");
    if (list < 0)
        list = json_view_get(json, place, "as_bools");
    if (list < 0) { /* one number stands for a list of it */
        vec_push(c->e->scratch, out, term_at(c, place));
        return;
    }
    json_view_each (item, json, list) {
        int64_t i = 0;
        double f = 0;
        bool whole = json_view_int(json, item, &i);
        bool real = !whole && json_view_real(json, item, &f);
        ExportTerm number = whole  ? term_int(i)
                            : real ? term_number(f)
                                   : term_int(json_view_bool(json, item, false));
        vec_push(c->e->scratch, out, number);
    }
}

int64_t call_int(Call *c, const char *arg)
{
    ExportTerm t = call_term(c, arg);
    if (t.kind == TERM_NUMBER)
        return t.i;
    call_fail(c, "its argument '%s' is no number known from the file", arg);
    return 0;
}

double call_float(Call *c, const char *arg)
{
    ExportTerm t = call_term(c, arg);
    if (t.kind != TERM_NUMBER)
        call_fail(c, "its argument '%s' is no number", arg);
    return t.f;
}

bool call_bool(Call *c, const char *arg)
{
    ExportTerm t = call_term(c, arg);
    return t.kind == TERM_NUMBER && t.i != 0;
}

Str call_text(Call *c, const char *arg)
{
    const JsonView *json = c->e->json;
    int32_t text = json_view_get(json, call_place(c, arg), "as_string");
    return text < 0 ? str_from(fallback_of(c, arg)) : json_view_str(json, text, c->e->arena);
}

Dtype call_dtype(Call *c, const char *arg)
{
    int64_t number = 0;
    int32_t place = json_view_get(c->e->json, call_place(c, arg), "as_scalar_type");
    return json_view_int(c->e->json, place, &number) ? export_dtype(number) : DT_NONE;
}

int call_ints(Call *c, const char *arg, int64_t *out, int most)
{
    Terms list = {0};
    call_terms(c, arg, &list);
    if (list.n > most) {
        call_fail(c, "its argument '%s' has more than %d numbers", arg, most);
        return -1;
    }
    for (int i = 0; i < list.n; i++) {
        if (list.at[i].kind != TERM_NUMBER) {
            call_fail(c, "its argument '%s' is not known from the file", arg);
            return -1;
        }
        out[i] = list.at[i].i;
    }
    return list.n;
}

int64_t call_axis(Call *c, const char *arg, int rank)
{
    int64_t axis = call_int(c, arg), most = rank > 0 ? rank : 1;
    if (axis >= -most && axis < most)
        return axis < 0 ? axis + most : axis;
    call_fail(c, "its dim %" PRId64 " is none of %d", axis, rank);
    return 0;
}
