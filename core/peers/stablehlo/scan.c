#include "core/peers/stablehlo/scan.h"

#include "core/base/memory.h"

#include <stdarg.h>

/* ---- faults ---- */

bool mlir_blame(const MlirTree *tree, const char *at, Error *err)
{
    if (err)
        error_at(err, &tree->source, (size_t)(at - tree->source.text.s));
    return false;
}

bool mlir_fail(MlirScan *scan, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!scan->failed) {
        error_kind_args(scan->err, ERROR_UNREADABLE, format, args);
        mlir_blame(scan->tree, at, scan->err);
    }
    va_end(args);
    scan->failed = true;
    scan->at = scan->end;
    return false;
}

bool mlir_report(MlirScan *scan, const char *at)
{
    enum { REPORT_BYTES = 1 << 18 };
    if (!scan->progress || scan->failed || at - scan->reported < REPORT_BYTES)
        return !scan->failed;
    progress_add(scan->progress, at - scan->reported);
    scan->reported = at;
    if (progress_goes_on(scan->progress, scan->err))
        return true;
    scan->failed = true;
    scan->at = scan->end;
    return false;
}

/* ---- characters ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

#define TEN 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
#define LETTERS TEN, TEN, 1, 1, 1, 1, 1, 1

/* Letters, digits, "_.$-": a table, since most of a text is words. */
static const bool in_word[256] = {
    ['$'] = 1, ['-'] = 1, ['.'] = 1, ['_'] = 1, ['0'] = TEN, ['A'] = LETTERS, ['a'] = LETTERS,
};

void mlir_skip_blanks(MlirScan *scan)
{
    const char *at = scan->at, *end = scan->end;
    for (;;) {
        while (at < end && *at <= ' ' && is_blank(*at))
            at++;
        if (end - at < 2 || at[0] != '/' || at[1] != '/')
            break;
        const char *line = memchr(at, '\n', (size_t)(end - at));
        at = line ? line : end;
    }
    scan->at = at;
}

bool mlir_expect(MlirScan *scan, char c)
{
    if (mlir_accept(scan, c))
        return true;
    return scan->at < scan->end
               ? mlir_fail(scan, scan->at, "'%c' is expected here", c)
               : mlir_fail(scan, scan->end, "the file ends where '%c' is expected", c);
}

/* A '-' is part of a word ("cross-replica-sum") unless it is the last, as of "->". */
static size_t word_length(const MlirScan *scan)
{
    const char *at = scan->at;
    while (at < scan->end && in_word[(unsigned char)*at])
        at++;
    at -= at > scan->at && at[-1] == '-';
    return (size_t)(at - scan->at);
}

Str mlir_read_word(MlirScan *scan)
{
    mlir_blanks(scan);
    Str word = {scan->at, word_length(scan)};
    scan->at += word.n;
    return word;
}

bool mlir_accept_word(MlirScan *scan, const char *word)
{
    mlir_blanks(scan);
    Str found = {scan->at, word_length(scan)};
    if (!str_eq(found, str_from(word)))
        return false;
    scan->at += found.n;
    return true;
}

Str mlir_read_symbol(MlirScan *scan)
{
    if (!mlir_accept(scan, '@'))
        return STR("");
    if (scan->at < scan->end && *scan->at == '"') {
        Str quoted = mlir_skip_group(scan);
        return quoted.n >= 2 ? (Str){quoted.s + 1, quoted.n - 2} : STR("");
    }
    return mlir_read_word(scan);
}

/* ---- brackets ---- */

/* Constants may be most of a file: they are passed over in pieces, whose memory is given back where
 * the file is large. */
enum { PIECE_BYTES = 1 << 22, LARGE_BYTES = 1 << 30 };

static const char *piece_end(const char *at, const char *end)
{
    return end - at > PIECE_BYTES ? at + PIECE_BYTES : end;
}

/* The piece up to `at` has been passed. False when the reading is to stop. */
static bool pass_piece(MlirScan *scan, const char *at)
{
    if (scan->tree->source.text.n > LARGE_BYTES)
        memory_passed(at - PIECE_BYTES, at);
    return mlir_report(scan, at);
}

/* Whether an odd number of backslashes is before the character. */
static bool is_escaped(const char *from, const char *at)
{
    const char *slash = at;
    while (slash > from && slash[-1] == '\\')
        slash--;
    return (at - slash) % 2 != 0;
}

/* Behind the text in quotes that begins at `at`; NULL: it does not end. */
static const char *behind_text(MlirScan *scan, const char *at)
{
    const char *end = scan->end, *from = ++at;
    while (at < end) {
        const char *stop = piece_end(at, end), *quote = memchr(at, '"', (size_t)(stop - at));
        at = quote ? quote + 1 : stop;
        if (quote && !is_escaped(from, quote))
            return at;
        if (!quote && (at == end || !pass_piece(scan, at)))
            return NULL;
    }
    return NULL;
}

/* What a character means between brackets. */
typedef enum { MEANS_NOTHING, MEANS_OPEN, MEANS_CLOSE, MEANS_TEXT, MEANS_DASH } Meaning;

static const uint8_t meanings[256] = {
    ['('] = MEANS_OPEN,  ['['] = MEANS_OPEN,  ['{'] = MEANS_OPEN,  ['<'] = MEANS_OPEN,
    [')'] = MEANS_CLOSE, [']'] = MEANS_CLOSE, ['}'] = MEANS_CLOSE, ['>'] = MEANS_CLOSE,
    ['"'] = MEANS_TEXT,  ['-'] = MEANS_DASH,
};

/* Behind the bracket that matches the one at `at`; NULL: there is none. ">" of "->" is no
 * bracket. */
static const char *behind_group(MlirScan *scan, const char *at)
{
    const char *end = scan->end, *stop = piece_end(at, end);
    int64_t depth = 0;
    for (;;) {
        while (at < stop && meanings[(unsigned char)*at] == MEANS_NOTHING)
            at++;
        if (at >= stop) {
            if (at >= end || (at == stop && !pass_piece(scan, at)))
                return NULL;
            stop = piece_end(at, end);
            continue;
        }
        switch ((Meaning)meanings[(unsigned char)*at]) {
        case MEANS_OPEN:
            depth++;
            break;
        case MEANS_CLOSE:
            if (--depth <= 0)
                return at + 1;
            break;
        case MEANS_TEXT:
            if (!(at = behind_text(scan, at)))
                return NULL;
            continue;
        case MEANS_DASH:
            at += at + 1 < end && at[1] == '>';
            break;
        case MEANS_NOTHING:
            break;
        }
        at++;
    }
}

Str mlir_skip_group(MlirScan *scan)
{
    const char *from = scan->at;
    bool text = from < scan->end && *from == '"';
    const char *to = text ? behind_text(scan, from) : behind_group(scan, from);
    if (!to) {
        mlir_fail(scan, from, text ? "this text does not end" : "this bracket is not closed");
        return STR("");
    }
    scan->at = to;
    return (Str){from, (size_t)(to - from)};
}

/* "[0] x [0]": a second list follows. */
static bool joins(const MlirScan *scan)
{
    return scan->end - scan->at > 2 && scan->at[0] == ' ' && scan->at[1] == 'x' &&
           (scan->at[2] == ' ' || scan->at[2] == '[');
}

Str mlir_read_value(MlirScan *scan, bool typed)
{
    mlir_blanks(scan);
    const char *from = scan->at;
    while (scan->at < scan->end) {
        char c = *scan->at;
        Meaning meaning = (Meaning)meanings[(unsigned char)c];
        if (meaning == MEANS_CLOSE || c == ',' || (!typed && (c == ':' || c == '\n')))
            break;
        if (!typed && c == ' ' && !joins(scan))
            break;
        if (!typed && c == ' ')
            scan->at += 3; /* " x " */
        else if (meaning == MEANS_OPEN || meaning == MEANS_TEXT)
            mlir_skip_group(scan);
        else
            scan->at +=
                meaning == MEANS_DASH && scan->end - scan->at > 1 && scan->at[1] == '>' ? 2 : 1;
    }
    if (scan->failed)
        return STR("");
    return str_trim((Str){from, (size_t)(scan->at - from)});
}

void mlir_read_attrs(MlirScan *scan)
{
    while (!scan->failed && !mlir_accept(scan, '}')) {
        MlirAttr attr = {STR(""), STR("")};
        const char *from = scan->at;
        if (mlir_peek(scan) == '"') {
            attr.key = mlir_skip_group(scan);
            attr.key = (Str){attr.key.s + 1, attr.key.n > 1 ? attr.key.n - 2 : 0};
        } else {
            attr.key = mlir_read_word(scan);
        }
        if (attr.key.n == 0) {
            mlir_fail(scan, from,
                      scan->at < scan->end ? "the name of an attribute is expected here"
                                           : "the file ends within attributes");
            return;
        }
        if (mlir_accept(scan, '='))
            attr.value = mlir_read_value(scan, true);
        vec_push_own(scan->scratch, &scan->stacks.attrs, attr);
        mlir_accept(scan, ',');
    }
}

Str mlir_read_location(MlirScan *scan)
{
    mlir_blanks(scan);
    if (scan->end - scan->at < 4 || memcmp(scan->at, "loc(", 4) != 0)
        return STR("");
    scan->at += 3;
    Str group = mlir_skip_group(scan);
    return group.n >= 2 ? (Str){group.s + 1, group.n - 2} : STR("");
}

/* ---- types ---- */

typedef struct {
    const char *name;
    Dtype dtype;
} ScanElement;

static Dtype element_of(Str name)
{
    static const ScanElement rows[] = {
        {"f32", DT_F32},
        {"bf16", DT_BF16},
        {"i32", DT_I32},
        {"i1", DT_BOOL},
        {"i64", DT_I64},
        {"f16", DT_F16},
        {"f64", DT_F64},
        {"ui32", DT_U32},
        {"ui8", DT_U8},
        {"i8", DT_I8},
        {"i16", DT_I16},
        {"ui16", DT_U16},
        {"ui64", DT_U64},
        {"i2", DT_I2},
        {"ui2", DT_U2},
        {"i4", DT_I4},
        {"ui4", DT_U4},
        {"index", DT_I64},
        {"complex<f32>", DT_C64},
        {"complex<f64>", DT_C128},
        {"f8E4M3FN", DT_F8E4M3FN},
        {"f8E5M2", DT_F8E5M2},
        {"f8E4M3FNUZ", DT_F8E4M3FNUZ},
        {"f8E5M2FNUZ", DT_F8E5M2FNUZ},
        {"f8E8M0FNU", DT_F8E8M0},
        {"f4E2M1FN", DT_F4E2M1},
        {"f6E2M3FN", DT_F6E2M3},
        {"f6E3M2FN", DT_F6E3M2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(name, str_from(rows[i].name)))
            return rows[i].dtype;
    return DT_NONE;
}

/* Reads what is inside of "tensor<..>": "4x?xf32, #stablehlo.bounds<..>". */
static bool read_tensor(MlirScan *scan, Str inside, MlirType *out)
{
    Shape shape = {0};
    size_t at = 0;
    while (at < inside.n && (is_digit(inside.s[at]) || inside.s[at] == '?')) {
        int64_t size = -1;
        size_t n = at + (inside.s[at] == '?');
        while (n < inside.n && is_digit(inside.s[n]))
            n++;
        if (n >= inside.n || inside.s[n] != 'x')
            return mlir_fail(scan, inside.s + at, "a size of this type is not followed by 'x'");
        if (inside.s[at] != '?' && !str_to_int((Str){inside.s + at, n - at}, &size))
            return mlir_fail(scan, inside.s + at, "a size of this type is too large");
        if (shape.n_dims == DIMS_MAX)
            return mlir_fail(scan, inside.s, "this type has more than %d dims", DIMS_MAX);
        shape.dim[shape.n_dims++] = size;
        at = n + 1;
    }
    Str rest = {inside.s + at, inside.n - at}, element;
    if (!mlir_take_item(&rest, &element))
        return mlir_fail(scan, inside.s, "this type has no element type");
    Shape known = shape;
    Error why = {0};
    for (int64_t d = 0; d < known.n_dims; d++)
        known.dim[d] = known.dim[d] < 0 ? 1 : known.dim[d];
    if (!shape_check(&known, &why))
        return mlir_fail(scan, inside.s, "%s", why.text);
    out->dtype = element_of(element);
    out->tensor = out->dtype != DT_NONE;
    out->shape = shape;
    return true;
}

/* Whether the type that was read last follows again; its brackets end it. */
static bool repeats(const MlirScan *scan)
{
    if (scan->last_type < 0)
        return false;
    Str last = scan->tree->types.at[scan->last_type].text;
    return last.s[last.n - 1] == '>' &&
           str_starts((Str){scan->at, (size_t)(scan->end - scan->at)}, last);
}

int32_t mlir_read_type(MlirScan *scan)
{
    mlir_blanks(scan);
    const char *from = scan->at;
    if (repeats(scan)) {
        scan->at += scan->tree->types.at[scan->last_type].text.n;
        return scan->last_type;
    }
    if (scan->at < scan->end && *scan->at == '!')
        scan->at++;
    if (scan->at < scan->end && *scan->at == '(') { /* of a function */
        mlir_skip_group(scan);
        if (mlir_peek(scan) == '-') {
            scan->at += 2;
            mlir_read_type(scan);
        }
    } else if (mlir_read_word(scan).n == 0) {
        mlir_fail(scan, from,
                  from < scan->end ? "a type is expected here"
                                   : "the file ends where a type is expected");
        return -1;
    } else if (scan->at < scan->end && *scan->at == '<') {
        mlir_skip_group(scan);
    }
    if (scan->failed)
        return -1;
    MlirType type = {.text = {from, (size_t)(scan->at - from)}};
    int32_t id = intern_find(scan->tree->type_keys, type.text.s, type.text.n);
    scan->last_type = id;
    if (id >= 0)
        return id;
    if (str_starts(type.text, STR("tensor<")) &&
        !read_tensor(scan, (Str){from + 7, type.text.n - 8}, &type))
        return -1; /* it gets no id: what failed may be skipped, and reading goes on */
    id = intern_put(scan->tree->type_keys, type.text.s, type.text.n);
    vec_push(scan->tree->arena, &scan->tree->types, type);
    scan->last_type = id;
    return id;
}
