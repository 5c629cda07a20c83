/* parse_parts.c - names of values, and the parts of an op of MLIR text: operands, attributes,
 * types. */
#include "core/peers/stablehlo/parse.h"

/* ---- names of values ---- */

/* The number of "%12". What is above the length of the text has none: the table has its room. */
static bool number_of(const MlirScan *scan, Str name, int32_t *number)
{
    enum { DIGITS_MAX = 9 };
    *number = -1;
    if (name.n < 2 || name.n > 1 + DIGITS_MAX || (name.s[1] == '0' && name.n > 2))
        return false;
    int32_t n = 0;
    for (size_t i = 1; i < name.n; i++) {
        if (!is_digit(name.s[i]))
            return false;
        n = 10 * n + (name.s[i] - '0');
    }
    *number = n;
    return (size_t)n <= scan->tree->source.text.n;
}

void mlir_define(MlirScan *scan, Str name, int32_t value)
{
    MlirShadow shadow;
    shadow.numbered = number_of(scan, name, &shadow.name);
    if (!shadow.numbered)
        shadow.name = intern_put(scan->names, name.s, name.n);
    MlirNames *names = shadow.numbered ? &scan->numbered : &scan->named;
    while (names->n <= shadow.name)
        vec_push_own(scan->scratch, names, 0);
    shadow.value = names->at[shadow.name];
    vec_push_own(scan->scratch, &scan->shadows, shadow);
    names->at[shadow.name] = value + 1;
}

/* The value that the name stands for here; -1: none. */
static int32_t find_value(const MlirScan *scan, Str name)
{
    int32_t at;
    const MlirNames *names = &scan->numbered;
    if (!number_of(scan, name, &at)) {
        at = intern_find(scan->names, name.s, name.n);
        names = &scan->named;
    }
    return at >= 0 && at < names->n ? names->at[at] - 1 : -1;
}

/* Names defined since then stand for what they stood for before. */
void mlir_forget(MlirScan *scan, int n_shadows)
{
    while (scan->shadows.n > n_shadows) {
        MlirShadow shadow = scan->shadows.at[--scan->shadows.n];
        (shadow.numbered ? &scan->numbered : &scan->named)->at[shadow.name] = shadow.value;
    }
}

/* "%0", without "#1" or ":2" behind it. */
Str mlir_read_name(MlirScan *scan)
{
    const char *from = scan->at;
    scan->at++;
    if (scan->at<scan->end && * scan->at> ' ')
        mlir_read_word(scan);
    Str name = {from, (size_t)(scan->at - from)};
    if (name.n < 2)
        mlir_fail(scan, from, "a name is expected behind '%%'");
    return name;
}

int64_t mlir_read_number(MlirScan *scan)
{
    const char *from = scan->at;
    int64_t number;
    while (scan->at < scan->end && is_digit(*scan->at))
        scan->at++;
    if (str_to_int((Str){from, (size_t)(scan->at - from)}, &number))
        return number;
    mlir_fail(scan, from, "a number is expected here");
    return 0;
}

int32_t mlir_push_value(MlirScan *scan, MlirValue value)
{
    vec_push_own(scan->tree->arena, &scan->tree->values, value);
    return scan->tree->values.n - 1;
}

static bool has_part(const MlirTree *tree, int32_t value, int64_t part)
{
    const MlirValue *first = &tree->values.at[value];
    return part == 0 || (part < tree->values.n - value && first->op >= 0 &&
                         first[part].op == first->op && first[part].pack == part);
}

/* The value that is used at `%name` or `%name#1`; -1 with a fault. */
static int32_t read_use(MlirScan *scan)
{
    const char *from = scan->at;
    Str name = mlir_read_name(scan);
    int32_t value = find_value(scan, name);
    int64_t part = 0;
    if (scan->at < scan->end && *scan->at == '#') {
        scan->at++;
        part = mlir_read_number(scan);
    }
    if (!scan->failed && value < 0)
        mlir_fail(scan, from, "'%.*s' is not defined before it is used", STR_ARG(name));
    else if (!scan->failed && !has_part(scan->tree, value, part))
        mlir_fail(scan, from, "'%.*s' has no result %lld", STR_ARG(name), (long long)part);
    return scan->failed ? -1 : value + (int32_t)part;
}

/* ---- parts of an op ---- */

static void read_types(MlirScan *scan, bool made)
{
    bool list = mlir_accept(scan, '(');
    if (list && mlir_accept(scan, ')'))
        return;
    do {
        int32_t type = mlir_read_type(scan);
        if (type < 0)
            return;
        if (made)
            PUSH(scan, made, type);
        else
            PUSH(scan, types, type);
    } while (mlir_accept(scan, ','));
    if (list)
        mlir_expect(scan, ')');
}

/* "->" */
bool mlir_accept_arrow(MlirScan *scan)
{
    bool arrow = mlir_peek(scan) == '-' && scan->end - scan->at > 1 && scan->at[1] == '>';
    scan->at += arrow ? 2 : 0;
    return arrow;
}

/* ": T", ": T, U", ": (T) -> U" .. */
static void read_signature(MlirScan *scan, MlirReading *reading)
{
    reading->is_typed = true;
    read_types(scan, false);
    if (!scan->failed && mlir_accept_arrow(scan)) {
        reading->has_arrow = true;
        read_types(scan, true);
    }
}

/* Behind the colon of "%arg2: T loc(..)", an argument of the next region. */
void mlir_read_argument(MlirScan *scan, Str name)
{
    int32_t type = mlir_read_type(scan);
    mlir_read_location(scan);
    if (!scan->failed)
        PUSH(scan, args, mlir_push_value(scan, (MlirValue){name, type, -1, -1, -1}));
}

/* In a list "%a: T" is an argument of the next region, and "%iterArg = %a" of `while` names one. */
static void read_value(MlirScan *scan, MlirReading *reading, bool listed)
{
    enum { NAMED = -2 };
    const char *from = scan->at;
    Str name = mlir_read_name(scan);
    char next = listed && !scan->failed ? mlir_peek(scan) : '\0';
    if (next == ':') {
        scan->at++;
        mlir_read_argument(scan, name);
        return;
    }
    if (next == '=') {
        scan->at++;
        PUSH(scan, results, (MlirValue){name, -1, NAMED, -1, -1});
        return;
    }
    if (scan->failed)
        return;
    scan->at = from;
    int32_t value = read_use(scan);
    if (reading->is_initial && value >= 0)
        PUSH(scan, initial, value);
    else if (value >= 0)
        PUSH(scan, operands, value);
    reading->is_initial = false;
}

static void add_attr(MlirScan *scan, Str key, Str value)
{
    PUSH(scan, attrs, (MlirAttr){key, value});
}

/* Whether "{" begins a region, and not attributes. */
static bool at_region(const MlirScan *scan)
{
    MlirScan ahead = *scan;
    ahead.at++;
    char c = mlir_peek(&ahead);
    if (c == '%' || c == '^')
        return true;
    if (c == '"') {
        mlir_skip_group(&ahead);
        return mlir_peek(&ahead) == '(';
    }
    Str word = mlir_read_word(&ahead);
    c = mlir_peek(&ahead);
    return str_ends(word, STR("return")) || (word.n > 0 && c != '=' && c != ',' && c != '}');
}

/* Words that only say what their neighbours are. */
static bool is_filler(Str word)
{
    return str_has_word(STR("cond do across attributes"), word);
}

/* A word of a pretty form, and what belongs to it. */
static void read_item(MlirScan *scan, MlirReading *reading)
{
    Str word = mlir_read_word(scan);
    char next = mlir_peek(scan);
    if (str_eq(word, STR("init")) && next == ':') {
        scan->at++;
        reading->is_initial = true;
    } else if (str_eq(word, STR("applies"))) {
        add_attr(scan, word, mlir_read_word(scan));
    } else if (str_eq(word, STR("reducer"))) {
        reading->is_reducer = true;
    } else if (word.n > 0 && next == '=') {
        scan->at++;
        add_attr(scan, word, mlir_read_value(scan, false));
    } else if (word.n > 0 && next == '<') { /* "dense<..>" */
        mlir_skip_group(scan);
        add_attr(scan, STR(""), (Str){word.s, (size_t)(scan->at - word.s)});
    } else if (word.n > 0 && !is_filler(word)) {
        add_attr(scan, STR(""), word);
    } else if (word.n == 0 && !mlir_accept_arrow(scan)) {
        mlir_fail(scan, scan->at, "'%c' is not expected here", next);
    }
}

/* Words that may follow the types of an op. */
static bool follows_types(MlirScan *scan)
{
    const char *from = scan->at;
    Str word = mlir_read_word(scan);
    scan->at = from;
    return word.n > 0 && str_has_word(STR("reducer cond do attributes"), word);
}

/* "(%a, %b)", "(%a init: %z)", "(%arg2: T)": up to the closing parenthesis. */
static void read_list(MlirScan *scan, MlirReading *reading)
{
    const char *from = scan->at++;
    while (!scan->failed && !mlir_accept(scan, ')')) {
        char c = mlir_peek(scan);
        if (c == '\0')
            mlir_fail(scan, from, "this bracket is not closed");
        else if (c == '%')
            read_value(scan, reading, true);
        else if (c == ',')
            scan->at++;
        else if (memchr("([{<\"#", c, 6))
            add_attr(scan, STR(""), mlir_read_value(scan, false));
        else
            read_item(scan, reading);
    }
}

static void read_braces(MlirScan *scan, const MlirReading *reading)
{
    if (at_region(scan)) {
        mlir_read_region(scan, reading);
    } else {
        scan->at++;
        mlir_read_attrs(scan);
    }
}

/* Whether no part of the op follows. The end of a line ends an op without types. */
static bool ends_here(MlirScan *scan, const MlirReading *reading, const char *from)
{
    char c = mlir_peek(scan), last = from[-1];
    if (scan->failed || c == '\0' || c == '}' || c == ')')
        return true;
    if (scan->end - scan->at > 4 && memcmp(scan->at, "loc(", 4) == 0)
        return true;
    if (reading->is_typed)
        return c != '{' && c != '(' && !follows_types(scan);
    return c != ':' && c != '{' && c != '(' && last != ',' && last != '=' &&
           memchr(from, '\n', (size_t)(scan->at - from));
}

/* One part of a pretty form. */
static void read_part(MlirScan *scan, MlirReading *reading)
{
    switch (*scan->at) {
    case '%':
        read_value(scan, reading, false);
        return;
    case '(':
        read_list(scan, reading);
        return;
    case ',':
    case '=':
        scan->at++;
        return;
    case ':':
        scan->at++;
        read_signature(scan, reading);
        return;
    case '@':
        add_attr(scan, STR("callee"), mlir_read_symbol(scan));
        return;
    case '{':
        read_braces(scan, reading);
        return;
    case '<':
    case '[':
    case '"':
        add_attr(scan, STR(""), mlir_skip_group(scan));
        return;
    case '#':
        add_attr(scan, STR(""), mlir_read_value(scan, false));
        return;
    default:
        read_item(scan, reading);
    }
}

void mlir_read_pretty(MlirScan *scan, MlirReading *reading)
{
    while (!ends_here(scan, reading, scan->at))
        read_part(scan, reading);
}

/* "(%a, %b) <{..}> ({..}, {..}) {..} : (T) -> U" */
void mlir_read_generic(MlirScan *scan, MlirReading *reading)
{
    mlir_expect(scan, '(');
    while (!scan->failed && !mlir_accept(scan, ')')) {
        if (mlir_peek(scan) == '%')
            read_value(scan, reading, false);
        else
            mlir_fail(scan, scan->at, "an operand or ')' is expected here");
        mlir_accept(scan, ',');
    }
    if (mlir_accept(scan, '<')) {
        if (mlir_expect(scan, '{'))
            mlir_read_attrs(scan);
        mlir_expect(scan, '>');
    }
    if (mlir_accept(scan, '(')) {
        do
            mlir_read_region(scan, reading);
        while (mlir_accept(scan, ','));
        mlir_expect(scan, ')');
    }
    if (mlir_accept(scan, '{'))
        mlir_read_attrs(scan);
    if (mlir_expect(scan, ':'))
        read_signature(scan, reading);
}
