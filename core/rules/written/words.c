#include "core/rules/written/parts.h"

bool written_fail(Str part, const char *what, Error *err)
{
    return error_kind(err, ERROR_USAGE, "'%.*s' %s", STR_ARG(part), what);
}

/* ---- what is known of the op ---- */

int written_input(const Written *w, Str name)
{
    for (int i = 0; i < w->n_inputs; i++)
        if (str_eq(w->input_name[i], name))
            return i;
    return -1;
}

bool written_has(const Written *w, int i)
{
    return i >= 0 && i < w->op->n_inputs && w->op->has_input[i];
}

Dtype written_dtype(const Written *w, int i)
{
    return written_has(w, i) && w->op->dtype ? w->op->dtype[i] : DT_NONE;
}

/* "axis|-1": the attribute, and what follows the bar in *fallback, {NULL, 0} if nothing does. */
const Attr *written_attr(const Written *w, Str text, Str *fallback)
{
    Str rest = text, name = str_take(&rest, '|');
    *fallback = rest;
    return op_attr(w->op->graph, w->op->op, arena_str(w->arena, name));
}

/* ---- whole numbers ---- */

static size_t term_length(Str text)
{
    size_t n = text.n > 0 && (text.s[0] == '-' || text.s[0] == '@') ? 1 : 0;
    for (; n < text.n; n++) {
        char before = n > 0 ? text.s[n - 1] : ' ';
        if (strchr("+*/", text.s[n]) || (text.s[n] == '-' && before != '.' && before != '|'))
            break;
    }
    return n;
}

static bool read_size(const Written *w, Str text, int64_t *out, Error *err)
{
    Str rest = text, name = str_take(&rest, '.');
    int i = written_input(w, name);
    const Shape *shape = written_has(w, i) ? w->op->shape[i] : NULL;
    int64_t d;
    if (!shape || shape->n_dims < 0)
        return written_fail(text, "is not known", err);
    if (str_eq(rest, STR("n"))) {
        *out = shape->n_dims;
        return true;
    }
    if (!str_to_int(rest, &d))
        return written_fail(text, "is no size", err);
    d += d < 0 ? shape->n_dims : 0;
    if (d < 0 || d >= shape->n_dims || shape->dim[d] < 0)
        return written_fail(text, "is not known", err);
    *out = shape->dim[d];
    return true;
}

static bool read_term(const Written *w, Str text, int64_t *out, Error *err)
{
    Str fallback;
    if (str_to_int(text, out))
        return true;
    if (text.n == 0 || text.s[0] != '@')
        return read_size(w, text, out, err);
    const Attr *attr = written_attr(w, (Str){text.s + 1, text.n - 1}, &fallback);
    if (!attr)
        return fallback.n > 0 ? read_term(w, fallback, out, err)
                              : written_fail(text, "is an attribute that it lacks", err);
    *out = attr->type == ATTR_INT ? attr->i : 0;
    return attr->type == ATTR_INT || written_fail(text, "is no whole number", err);
}

/* "x.1/@num_heads*2" */
bool written_whole(const Written *w, Str text, int64_t *out, Error *err)
{
    char sign = '+';
    *out = 0;
    for (Str rest = text; rest.n > 0;) {
        size_t n = term_length(rest);
        int64_t term;
        if (!read_term(w, (Str){rest.s, n}, &term, err))
            return false;
        if (sign == '/' && (term == 0 || *out % term != 0))
            return written_fail(text, "does not divide", err);
        bool over = sign == '+'   ? __builtin_add_overflow(*out, term, out)
                    : sign == '-' ? __builtin_sub_overflow(*out, term, out)
                    : sign == '*' ? __builtin_mul_overflow(*out, term, out)
                                  : false;
        if (over)
            return written_fail(text, "is too large", err);
        *out = sign == '/' ? *out / term : *out;
        sign = n < rest.n ? rest.s[n] : '+';
        rest = n < rest.n ? (Str){rest.s + n + 1, rest.n - n - 1} : (Str){0};
    }
    return true;
}

/* The numbers between the brackets. */
bool written_wholes(const Written *w, Str text, WholeList *out, Error *err)
{
    for (Str rest = text; rest.n > 0;) {
        Str word = str_take(&rest, ' '), fallback;
        int64_t value;
        const Attr *list = word.n > 0 && word.s[0] == '@'
                               ? written_attr(w, (Str){word.s + 1, word.n - 1}, &fallback)
                               : NULL;
        if (list && list->type == ATTR_INTS) {
            for (int i = 0; i < list->n; i++)
                vec_push(w->arena, out, list->ints[i]);
            continue;
        }
        Str count = word, each = str_take(&count, '^');
        int64_t n = 1;
        if (word.n == 0)
            continue;
        if (!written_whole(w, each, &value, err) ||
            (count.n > 0 && !written_whole(w, count, &n, err)))
            return false;
        for (int64_t i = 0; i < n && i < DIMS_MAX; i++)
            vec_push(w->arena, out, value);
    }
    return true;
}

/* ---- words ---- */

/* The text up to a blank, outside of brackets; *rest: behind it. */
Str written_word(Str *rest)
{
    *rest = str_trim(*rest);
    size_t n = 0;
    int depth = 0;
    for (; n < rest->n && (depth > 0 || rest->s[n] != ' '); n++)
        depth += strchr("[({", rest->s[n]) ? 1 : strchr("])}", rest->s[n]) ? -1 : 0;
    Str word = {rest->s, n};
    *rest = (Str){rest->s + n, rest->n - n};
    return word;
}

Str written_inside(Str word)
{
    return (Str){word.s + 1, word.n > 1 ? word.n - 2 : 0};
}

static int32_t place_called(const Written *w, Str name)
{
    for (int i = w->places.n; i-- > 0;)
        if (w->places.at[i].name.n > 0 && str_eq(w->places.at[i].name, name))
            return i;
    return -1;
}

/* NAME of a group, "x#2". */
Str written_name(const Written *w, Str name, int group)
{
    return str_from(arena_printf(w->arena, "%.*s#%d", STR_ARG(name), group));
}

int32_t written_place(const Written *w, Str name)
{
    int32_t grouped = w->group < 0 ? -1 : place_called(w, written_name(w, name, w->group));
    return grouped >= 0 ? grouped : place_called(w, name);
}

int32_t written_add_place(Written *w, WrittenPlace place)
{
    vec_push(w->arena, &w->places, place);
    return w->places.n - 1;
}

/* ---- conditions ---- */

static bool attr_is(const Written *w, Str text, Str value)
{
    Str fallback;
    int64_t number;
    const Attr *attr = written_attr(w, text, &fallback);
    if (!attr) /* a fallback counts as the attribute */
        return value.s ? str_eq(fallback, value) : fallback.n > 0 && !str_eq(fallback, STR("0"));
    if (attr->type == ATTR_STRING)
        return value.s ? str_eq(attr->s, value) : attr->s.n > 0;
    if (attr->type == ATTR_FLOAT)
        return value.s ? str_to_int(value, &number) && attr->f == (double)number : attr->f != 0;
    if (attr->type != ATTR_INT)
        return !value.s && attr->n > 0;
    return value.s ? str_to_int(value, &number) && attr->i == number : attr->i != 0;
}

static bool has_output(const Written *w, Str name)
{
    for (int i = 0; i < w->places.n; i++) {
        const WrittenPlace *place = &w->places.at[i];
        if (place->output >= 0 && str_eq(place->name, name))
            return place->output < w->op->n_outputs && w->op->has_output[place->output];
    }
    return false;
}

static bool operand_is(const Written *w, Str text, Str value)
{
    Error err = {0};
    int64_t size, wanted;
    Str rest = text, name = str_take(&rest, ':');
    if (rest.s && rest.n > 0)
        return written_dtype(w, written_input(w, name)) == dtype_from_name(rest);
    if (!value.s)
        return written_has(w, written_input(w, name)) || has_output(w, name);
    return read_size(w, text, &size, &err) && written_whole(w, value, &wanted, &err) &&
           size == wanted;
}

bool written_holds(const Written *w, Str conditions)
{
    for (Str rest = conditions; rest.n > 0;) {
        Str value = str_take(&rest, ' '), text;
        bool wanted = value.n == 0 || value.s[0] != '!', is;
        if (value.n == 0)
            continue;
        if (!wanted)
            value = (Str){value.s + 1, value.n - 1};
        text = str_take(&value, '=');
        if (value.n == 0)
            value.s = NULL;
        is = text.s[0] == '@' ? attr_is(w, (Str){text.s + 1, text.n - 1}, value)
                              : operand_is(w, text, value);
        if (is != wanted)
            return false;
    }
    return true;
}
