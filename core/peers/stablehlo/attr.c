#include "core/peers/stablehlo/tree.h"

/* ---- the tree ---- */

const MlirType *mlir_type_of(const MlirTree *tree, int32_t value)
{
    int32_t type = tree->values.at[value].type;
    return type < 0 ? NULL : &tree->types.at[type];
}

const MlirFunction *mlir_function(const MlirTree *tree, Str name)
{
    int32_t id = intern_find(tree->function_keys, name.s, name.n);
    return id < 0 ? NULL : &tree->functions.at[id];
}

Str mlir_alias(const MlirTree *tree, Str text)
{
    enum { CHAIN_MAX = 16 };
    for (int i = 0; i < CHAIN_MAX && text.n > 0 && text.s[0] == '#'; i++) {
        int32_t id = intern_find(tree->alias_keys, text.s, text.n);
        if (id < 0)
            break;
        text = tree->aliases.at[id].body;
    }
    return text;
}

Str mlir_dialect(Str name)
{
    return str_take(&name, '.');
}

bool mlir_dialect_is_known(Str name)
{
    return str_has_word(STR("stablehlo chlo mhlo vhlo sdy func builtin arith math shape tensor "
                            "ml_program"),
                        mlir_dialect(name));
}

const MlirOp *mlir_return(const MlirTree *tree, const MlirRegion *region)
{
    const MlirOp *last = NULL;
    for (int32_t op = region->op; op < region->end; op = tree->ops.at[op].end)
        last = &tree->ops.at[op];
    return last;
}

const MlirAttr *mlir_attr(const MlirTree *tree, const MlirOp *op, const char *names)
{
    Str words = op->n_attrs > 0 ? str_from(names) : STR("");
    bool several = words.n > 0 && memchr(words.s, ' ', words.n);
    for (int i = 0; i < op->n_attrs; i++) {
        const MlirAttr *attr = &tree->attrs.at[op->attr + i];
        if (attr->key.n > 0 &&
            (several ? str_has_word(words, attr->key) : str_eq(words, attr->key)))
            return attr;
    }
    return NULL;
}

Str mlir_word(const MlirTree *tree, const MlirOp *op, int i)
{
    for (int k = 0; k < op->n_attrs; k++)
        if (tree->attrs.at[op->attr + k].key.n == 0 && i-- == 0)
            return tree->attrs.at[op->attr + k].value;
    return STR("");
}

/* ---- parts of a text ---- */

static const char *behind_quote(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

/* The first of `stops` outside of brackets and texts; the end if there is none. */
static const char *find_outside(Str text, const char *stops)
{
    const char *end = text.s + text.n;
    int depth = 0;
    for (const char *at = text.s; at < end; at++) {
        if (*at == '"') {
            at = behind_quote(at, end) - 1;
            continue;
        }
        if (*at == '-' && at + 1 < end && at[1] == '>') {
            at++;
            continue;
        }
        if (depth == 0 && strchr(stops, *at))
            return at;
        depth += strchr("([{<", *at) != NULL;
        depth -= strchr(")]}>", *at) != NULL;
    }
    return end;
}

bool mlir_take_item(Str *rest, Str *item)
{
    *rest = str_trim(*rest);
    if (rest->n == 0)
        return false;
    const char *end = rest->s + rest->n, *to = find_outside(*rest, ",");
    *item = str_trim((Str){rest->s, (size_t)(to - rest->s)});
    to += to < end;
    *rest = (Str){to, (size_t)(end - to)};
    return true;
}

Str mlir_inside(Str text)
{
    size_t from = 0, to = text.n;
    while (from < to && !strchr("([{<\"", text.s[from]))
        from++;
    while (to > from && !strchr(")]}>\"", text.s[to - 1]))
        to--;
    return to - from < 2 ? STR("") : (Str){text.s + from + 1, to - from - 2};
}

Str mlir_member(Str list, const char *key)
{
    Str rest = mlir_inside(list), item;
    if (rest.n > 0 && rest.s[0] == '{')
        rest = mlir_inside(rest);
    while (mlir_take_item(&rest, &item)) {
        const char *equals = find_outside(item, "=");
        Str name = str_trim((Str){item.s, (size_t)(equals - item.s)});
        if (str_eq(name, str_from(key)) && equals < item.s + item.n)
            return str_trim((Str){equals + 1, (size_t)(item.s + item.n - equals - 1)});
    }
    return STR("");
}

/* The generic form has "dense<1.0> : tensor<f32>". */
Str mlir_elements(const MlirTree *tree, const MlirOp *op)
{
    const MlirAttr *named = mlir_attr(tree, op, "value");
    Str text = named ? named->value : mlir_word(tree, op, 0);
    size_t at = text.n;
    while (named && at > 0 && text.s[at - 1] != ':' && text.s[at - 1] != '"')
        at--;
    bool typed = at > 1 && text.s[at - 1] == ':' && text.s[text.n - 1] == '>';
    return typed ? str_trim((Str){text.s, at - 1}) : text;
}

Str mlir_text(Arena *arena, Str quoted)
{
    Str inside = quoted.n > 0 && quoted.s[0] == '"' ? mlir_inside(quoted) : quoted;
    if (inside.n == 0 || !memchr(inside.s, '\\', inside.n))
        return inside;
    Buf out = buf_new(arena);
    for (size_t i = 0; i < inside.n; i++) {
        if (inside.s[i] != '\\' || i + 1 == inside.n) {
            buf_putc(&out, inside.s[i]);
            continue;
        }
        static const char digits[] = "0123456789ABCDEFabcdef";
        const char *high = strchr(digits, inside.s[++i]);
        const char *low = i + 1 < inside.n ? strchr(digits, inside.s[i + 1]) : NULL;
        if (high && low && inside.s[i] != '\0') {
            int a = (int)(high - digits), b = (int)(low - digits);
            buf_putc(&out, (char)((a > 15 ? a - 6 : a) * 16 + (b > 15 ? b - 6 : b)));
            i++;
        } else {
            buf_putc(&out, inside.s[i] == 'n' ? '\n' : inside.s[i] == 't' ? '\t' : inside.s[i]);
        }
    }
    return buf_str(&out);
}

/* ---- numbers ---- */

bool mlir_int(Str text, int64_t *out)
{
    const char *colon = find_outside(text, ":");
    text = str_trim((Str){text.s, (size_t)(colon - text.s)});
    if (str_eq(text, STR("true")) || str_eq(text, STR("false"))) {
        *out = text.n == 4;
        return true;
    }
    return str_to_int(text, out);
}

/* How many elements "tensor<2x2xi64>" has; -1: too many for a list. */
static int64_t type_elements(Str type)
{
    enum { MOST = 1 << 16 };
    int64_t n = 1, size;
    Str inside = mlir_inside(type);
    while (inside.n > 0 && is_digit(inside.s[0])) {
        if (!str_to_int(str_take(&inside, 'x'), &size) || size > MOST || n > MOST)
            return -1;
        n *= size;
    }
    return n;
}

typedef Vec(int64_t) Numbers;

static bool is_between(char c)
{
    switch (c) {
    case '[':
    case ']':
    case '(':
    case ')':
    case '{':
    case '}':
    case '<':
    case '>':
    case ',':
    case ' ':
    case '\n':
    case '\t':
        return true;
    default:
        return false;
    }
}

static bool add_numbers(Arena *arena, Str list, Numbers *out)
{
    const char *end = list.s + list.n;
    for (const char *at = list.s; at < end;) {
        if (is_between(*at)) {
            at++;
            continue;
        }
        const char *from = at;
        while (at < end && !is_between(*at))
            at++;
        Str text = {from, (size_t)(at - from)};
        int64_t number;
        if (!str_to_int(text, &number) && !mlir_int(text, &number))
            return false;
        vec_push(arena, out, number);
    }
    return true;
}

int mlir_ints(Arena *arena, Str text, const int64_t **out)
{
    Numbers numbers = {0};
    Str type = STR(""), inside = text;
    *out = NULL;
    if (str_starts(text, STR("dense"))) {
        const char *colon = find_outside(text, ":");
        type = (Str){colon, (size_t)(text.s + text.n - colon)};
        inside = mlir_inside((Str){text.s, (size_t)(colon - text.s)});
    } else if (str_starts(text, STR("array<"))) {
        inside = mlir_inside(text);
        int64_t colon = str_find(inside, STR(":"));
        inside = colon < 0 ? STR("") : (Str){inside.s + colon + 1, inside.n - (size_t)colon - 1};
    }
    if (!add_numbers(arena, inside, &numbers))
        return -1;
    int64_t n = type.n > 0 ? type_elements(type) : numbers.n;
    if (n < 0 || (numbers.n != 1 && numbers.n != n))
        return numbers.n == n ? numbers.n : -1;
    while (numbers.n < n)
        vec_push(arena, &numbers, numbers.at[0]);
    *out = numbers.at;
    return (int)n;
}

/* ---- locations ---- */

/* The text that names a location: the first in quotes that is no file's name, the caller's last. */
static Str name_in(const MlirTree *tree, Str location, int depth)
{
    enum { LOCATIONS_MAX = 8 };
    location = str_trim(mlir_alias(tree, str_trim(location)));
    if (str_starts(location, STR("loc(")))
        location = mlir_inside(location);
    if (depth == LOCATIONS_MAX || location.n == 0)
        return STR("");
    if (location.s[0] == '"') {
        const char *end = location.s + location.n, *to = behind_quote(location.s, end);
        bool place = to < end && *to == ':';
        return place ? STR("") : (Str){location.s + 1, (size_t)(to - location.s) - 2};
    }
    if (location.s[0] == '#')
        return name_in(tree, location, depth + 1);
    bool call = str_starts(location, STR("callsite"));
    Str rest = mlir_inside(location), item, name = STR("");
    if (call) {
        int64_t at = str_find(rest, STR(" at "));
        return name_in(tree, (Str){rest.s, at < 0 ? rest.n : (size_t)at}, depth + 1);
    }
    if (!str_starts(location, STR("fused")))
        return name;
    if (rest.n > 0 && find_outside(location, "[") < location.s + location.n) {
        const char *list = find_outside(location, "[");
        rest = mlir_inside((Str){list, (size_t)(location.s + location.n - list)});
    }
    while (name.n == 0 && mlir_take_item(&rest, &item))
        name = name_in(tree, item, depth + 1);
    return name;
}

Str mlir_location_name(const MlirTree *tree, Str location)
{
    return name_in(tree, location, 0);
}
