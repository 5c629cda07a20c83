#include "core/peers/torch_export/symbols.h"

#include "core/base/scan.h"

enum { DEPTH_MAX = 64 };

Symbols symbols_new(Arena *arena)
{
    return (Symbols){.arena = arena, .texts = intern_new(arena), .out = buf_new(arena)};
}

Symbol *symbols_at(Symbols *symbols, Str file_name)
{
    for (int i = 0; i < symbols->list.n; i++)
        if (str_eq(symbols->list.at[i].file_name, file_name))
            return &symbols->list.at[i];
    const char *name = arena_str(symbols->arena, file_name);
    vec_push(symbols->arena, &symbols->list, ((Symbol){str_from(name), name, -1, -1, -1}));
    return &symbols->list.at[symbols->list.n - 1];
}

/* What is in the quotes of "Symbol('s43', ..)". */
static bool symbol_name(Str text, Str *out)
{
    if (!str_starts(text, STR("Symbol('")))
        return false;
    Str rest = {text.s + 8, text.n - 8};
    *out = str_take(&rest, '\'');
    return rest.n > 0 && out->n > 0;
}

Symbol *symbols_alone(Symbols *symbols, Str srepr)
{
    Str name;
    srepr = str_trim(srepr);
    if (!symbol_name(srepr, &name) || memchr(srepr.s, ')', srepr.n) != srepr.s + srepr.n - 1)
        return NULL;
    return symbols_at(symbols, name);
}

/* ---- formatting ---- */

/* How tightly an operator binds its operands: an operand that binds less is put in brackets. */
enum { BIND_COMPARE, BIND_SUM, BIND_PRODUCT, BIND_POWER, BIND_ATOM };

/* How a function of sympy is written: between its operands, or as a call of the same name. */
static const struct {
    const char *name, *between;
    int bind;
} forms[] = {
    {"Add", "+", BIND_SUM},
    {"Mul", "*", BIND_PRODUCT},
    {"FloorDiv", "//", BIND_PRODUCT},
    {"CleanDiv", "//", BIND_PRODUCT},
    {"Pow", "**", BIND_POWER},
    {"PowByNatural", "**", BIND_POWER},
    {"Mod", "%", BIND_PRODUCT},
    {"PythonMod", "%", BIND_PRODUCT},
    {"Rational", "/", BIND_PRODUCT},
    {"IntTrueDiv", "/", BIND_PRODUCT},
    {"GreaterThan", ">=", BIND_COMPARE},
    {"LessThan", "<=", BIND_COMPARE},
    {"StrictGreaterThan", ">", BIND_COMPARE},
    {"StrictLessThan", "<", BIND_COMPARE},
    {"Equality", "==", BIND_COMPARE},
    {"Unequality", "!=", BIND_COMPARE},
};

typedef struct {
    Symbols *symbols;
    Scan scan;
    int depth;
} Formatting;

static bool put(Formatting *f, int bind);

/* key=value of a Symbol says nothing here. */
static bool skip_keys(Formatting *f)
{
    Str ignored;
    while (scan_accept(&f->scan, ','))
        if (!scan_name(&f->scan, &ignored) || !scan_char(&f->scan, '=') ||
            !scan_name(&f->scan, &ignored))
            return false;
    return true;
}

static bool put_symbol(Formatting *f)
{
    Str name;
    if (!scan_char(&f->scan, '\'') || !scan_name(&f->scan, &name) || !scan_char(&f->scan, '\'') ||
        !skip_keys(f) || !scan_char(&f->scan, ')'))
        return false;
    buf_puts(&f->symbols->out, symbols_at(f->symbols, name)->name);
    return true;
}

static bool put_integer(Formatting *f)
{
    int64_t number;
    if (!scan_int(&f->scan, &number) || !scan_char(&f->scan, ')'))
        return false;
    buf_printf(&f->symbols->out, "%lld", (long long)number);
    return true;
}

/* The operands of a function, up to its closing bracket. */
static bool put_operands(Formatting *f, const char *between, int bind)
{
    do {
        if (!put(f, bind))
            return false;
        if (scan_peek(&f->scan) == ',')
            buf_puts(&f->symbols->out, between);
    } while (scan_accept(&f->scan, ','));
    return scan_char(&f->scan, ')');
}

static bool put_function(Formatting *f, Str name, int bind)
{
    Buf *out = &f->symbols->out;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!str_eq(name, str_from(forms[i].name)))
            continue;
        bool brackets = forms[i].bind < bind;
        buf_puts(out, brackets ? "(" : "");
        if (!put_operands(f, forms[i].between, forms[i].bind + 1))
            return false;
        buf_puts(out, brackets ? ")" : "");
        return true;
    }
    buf_add(out, name);
    buf_putc(out, '(');
    if (!put_operands(f, ", ", BIND_COMPARE))
        return false;
    buf_putc(out, ')');
    return true;
}

/* expr = number | name "(" [ expr { "," expr } ] ")" */
static bool put(Formatting *f, int bind)
{
    Str name;
    int64_t number;
    char next = scan_peek(&f->scan);
    if (is_digit(next) || next == '-') {
        if (!scan_int(&f->scan, &number))
            return false;
        buf_printf(&f->symbols->out, "%lld", (long long)number);
        return true;
    }
    if (f->depth == DEPTH_MAX)
        return scan_fail(&f->scan, "the size is nested too deeply");
    if (!scan_name(&f->scan, &name) || !scan_char(&f->scan, '('))
        return false;
    if (str_eq(name, STR("Symbol")))
        return put_symbol(f);
    if (str_eq(name, STR("Integer")))
        return put_integer(f);
    f->depth++;
    bool ok = put_function(f, name, bind);
    f->depth--;
    return ok;
}

const char *symbols_format(Symbols *symbols, Str srepr, Error *err)
{
    int32_t id = intern_put(symbols->texts, srepr.s, srepr.n);
    if (id < symbols->formatted.n && symbols->formatted.at[id])
        return symbols->formatted.at[id];
    while (symbols->formatted.n <= id)
        vec_push(symbols->arena, &symbols->formatted, NULL);
    Source source = {"size", srepr};
    Formatting f = {.symbols = symbols, .scan = scan_begin(&source, err)};
    symbols->out.n = 0;
    if (!put(&f, BIND_COMPARE) || !scan_end(&f.scan))
        return NULL;
    symbols->formatted.at[id] = arena_str(symbols->arena, buf_str(&symbols->out));
    return symbols->formatted.at[id];
}
