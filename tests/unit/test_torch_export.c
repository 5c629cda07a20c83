/* torch.export: JSON read in place, sizes as expressions, numpy's files, and the tables of torch's
 * operators. Whole archives are read in tests/open. */
#include "tests/unit/unit.h"

#include "core/base/json_view.h"
#include "core/model/dim_expr.h"
#include "core/peers/torch_export/rows.h"
#include "core/peers/torch_export/symbols.h"
#include "core/rules/registry.h"
#include "core/model/npy.h"

/* ---- JSON ---- */

typedef struct {
    const char *name, *text, *want; /* a summary, or the error and its column */
} TextRow;

static TextRow views[] = {
    {"nested", "{\"a\": [1, {\"b\": []}], \"c\": null}", "{a:[#{b:[]}]c:n}"},
    {"scalar", " \"x\" ", "\"x\""},
    {"escapes", "\"a\\\"\\n\\u00e9\\ud83d\\ude00\"", "\"a\"\n\xc3\xa9\xf0\x9f\x98\x80\""},
    {"a quote behind two backslashes", "[\"\\\\\", 1]", "[\"\\\"#]"},
    {"empty", "", "1: JSON: the file ends where a value is expected"},
    {"no end", "[1, 2", "6: JSON: the file ends in the middle"},
    {"no quote", "[\"abc]", "2: JSON: a text without an end"},
    {"no comma", "[1 2]", "4: JSON: ',' or the end of the list is expected"},
    {"no key", "{1: 2}", "2: JSON: a key is expected"},
    {"no colon", "{\"a\" 2}", "6: JSON: ':' is expected"},
    {"a word", "[nul]", "2: JSON: a value is expected"},
    {"more", "{} {}", "4: JSON: more text behind the end"},
};

static void summarize(const JsonView *view, int32_t value, Arena *arena, Buf *out)
{
    char kind = json_view_kind(view, value);
    buf_putc(out, kind);
    if (kind == '"') {
        buf_add(out, json_view_str(view, value, arena));
        buf_putc(out, '"');
    }
    json_view_each (item, view, value) {
        if (kind == '{') {
            buf_add(out, json_view_raw(view, item));
            buf_putc(out, ':');
        }
        summarize(view, item + (kind == '{'), arena, out);
    }
    if (kind == '{' || kind == '[')
        buf_putc(out, kind == '{' ? '}' : ']');
}

static void json_is_read_in_place(void **state)
{
    const TextRow *row = *state;
    Arena *arena = arena_new();
    Source source = {"x", str_from(row->text)};
    JsonView view;
    Error err = {0};
    Buf out = buf_new(arena);
    if (json_view_read(arena, &source, &view, &err))
        summarize(&view, 0, arena, &out);
    else
        buf_printf(&out, "%d: %s", err.column, err.text);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

/* ---- sizes ---- */

#define S(name) "Symbol('" name "', positive=True, integer=True)"

static TextRow sizes[] = {
    {"a symbol", S("s1"), "x.0"},
    {"of no input", S("s7"), "s7"},
    {"a product", "Mul(Integer(2), " S("s1") ", " S("s2") ")", "2*x.0*x.1"},
    {"a sum in a product", "Mul(Integer(2), Add(" S("s1") ", Integer(-1)))", "2*(x.0+-1)"},
    {"a quotient", "FloorDiv(Add(" S("s1") ", Integer(3)), Integer(4))", "(x.0+3)//4"},
    {"a power", "Pow(" S("s1") ", Integer(2))", "x.0**2"},
    {"a function", "Max(Integer(1), " S("s1") ")", "Max(1, x.0)"},
    {"a comparison", "LessThan(" S("s1") ", Integer(9))", "x.0<=9"},
    {"no bracket", "Integer(2", "expected ')', found the end"},
    {"no name", "'x'", "expected a name, found '''"},
};

static void sizes_are_named_after_inputs(void **state)
{
    const TextRow *row = *state;
    Arena *arena = arena_new();
    Symbols symbols = symbols_new(arena);
    Error err = {0};
    symbols_at(&symbols, STR("s1"))->name = "x.0";
    symbols_at(&symbols, STR("s2"))->name = "x.1";
    const char *text = symbols_format(&symbols, str_from(row->text), &err);
    assert_string_equal(text ? text : err.text, row->want);
    assert_true(!text || strcmp(symbols_format(&symbols, str_from(row->text), &err), text) == 0);
    arena_free(arena);
}

typedef struct {
    const char *name;
    int64_t want; /* with x.0 = 7 and batch = 3 */
} ExprRow;

static ExprRow exprs[] = {
    {"2*x.0+1", 15},     {"x.0*batch", 21},     {"(x.0 + 3)//4", 2}, {"x.0//-2", -1},
    {"floor(x.0/2)", 3}, {"ceiling(x.0/2)", 4}, {"x.0/2", -1},       {"Max(1, x.0, 9)", 9},
    {"Min(x.0, 2)", 2},  {"x.0%4", 3},          {"-x.0 + 8", 1},     {"x.0**2", 49},
    {"x.0 - 9", -1},     {"y + 1", -1},         {"(x.0", -1},        {"x.0 +", -1},
    {"x.0/0", -1},       {"nothing(x.0)", -1},  {"2*(x.0+-1)", 12},  {"Mod(x.0, 4)", 3},
};

static void a_dim_follows_from_others(void **state)
{
    const ExprRow *row = *state;
    DimBinding at[] = {{STR("x.0"), 7}, {STR("batch"), 3}};
    DimBindings bindings = {at, 2, 2};
    assert_true(dim_expr_is(str_from(row->name)));
    assert_int_equal(dim_expr_size(str_from(row->name), &bindings), row->want);
}

/* ---- numpy ---- */

#define HEAD(n) "\x93NUMPY\1\0" n "\0"

typedef struct {
    const char *name, *bytes;
    size_t n;
    const char *want;
} FileRow;

#define FILE_ROW(name, bytes, want)                                                                \
    {                                                                                              \
        name, bytes, sizeof(bytes) - 1, want                                                       \
    }

static FileRow arrays[] = {
    FILE_ROW("an array",
             HEAD("\x3a") "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}\n"
                          "\0\0\0\0\0\0\0\0",
             "f32 2,1"),
    FILE_ROW("a scalar",
             HEAD("\x36") "{'descr': '|b1', 'fortran_order': False, 'shape': ()}\n"
                          "\1",
             "bool scalar"),
    FILE_ROW("a short one",
             HEAD("\x3a") "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}\n\0",
             "its elements are fewer or more than its shape says"),
    FILE_ROW("columns first",
             HEAD("\x39") "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}\n"
                          "\1\4\2\5\3\6",
             "u8 2,3: 1 2 3 4 5 6"),
    FILE_ROW("texts", HEAD("\x3a") "{'descr': '<U4', 'fortran_order': False, 'shape': (2, 1)}\n",
             "its elements are of a type that is not read: numbers, little-endian"),
    FILE_ROW("no file", "hello", "this is no whole file of numpy.save()"),
    FILE_ROW("a header behind the end", HEAD("\xff") "{}", "this is no whole file of numpy.save()"),
};

static void an_array_is_read_or_refused(void **state)
{
    const FileRow *row = *state;
    Arena *arena = arena_new();
    OnnxTensor tensor;
    Error err = {0};
    Buf out = buf_new(arena);
    if (npy_read(arena, "x.npy", (Str){row->bytes, row->n}, &tensor, &err)) {
        buf_printf(&out, "%s ", dtype_name(tensor.dtype));
        shape_format(&tensor.shape, &out);
        for (size_t k = 0; k < tensor.data.bytes.n && tensor.dtype == DT_U8; k++)
            buf_printf(&out, "%s %d", k == 0 ? ":" : "", tensor.data.bytes.s[k]);
    }
    assert_string_equal(out.n > 0 ? out.s : err.text, row->want);
    arena_free(arena);
}

/* ---- the tables ---- */

static bool is_argument(const TorchRow *row, Str word)
{
    for (Str rest = str_from(row->schema); rest.n > 0;) {
        Str argument = str_take(&rest, ' ');
        if (str_eq(str_take(&argument, '='), word))
            return true;
    }
    return false;
}

/* Functions of recipes, and names of types. */
static const char words[] = "cast float whole like scaled ints scalar sizes size filled given yes "
                            "pick reduced bool f32 f64 i64";

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static bool is_ours(Str word)
{
    Arena *arena = arena_new();
    bool found = operator_find(arena_str(arena, word)) != NULL;
    arena_free(arena);
    return found;
}

/* What a recipe reads is an argument of the schema, what it makes an operator of ours. */
static void check_recipe(const TorchRow *row)
{
    const char *s = row->recipe;
    for (size_t i = 0, n; s[i]; i += n) {
        if (s[i] == '\'') { /* a text */
            n = strcspn(s + i + 1, "'") + 2;
            continue;
        }
        for (n = 0; is_letter(s[i + n]);)
            n++;
        Str word = {s + i, n};
        bool attribute = s[i + n] == '=';
        if (n > 0 && s[i] >= 'A' && s[i] <= 'Z' && !is_argument(row, word))
            assert_true(is_ours(word));
        else if (n > 0 && !is_digit(s[i]) && !attribute && !is_argument(row, word) &&
                 !str_has_word(str_from(words), word))
            fail_msg("%s: its recipe reads '%.*s'", row->names, STR_ARG(word));
        n = n > 0 ? n : 1;
    }
}

static void recipes_read_arguments_and_make_ops(void **state)
{
    (void)state;
    int n = 0;
    for (const TorchRow *row; (row = torch_row_at(n)); n++) {
        assert_true(!row->recipe != !row->make);
        if (row->recipe)
            check_recipe(row);
    }
    assert_true(n > 200);
}

static void an_operator_has_one_row(void **state)
{
    (void)state;
    const TorchRow *row, *other;
    for (int i = 0; (row = torch_row_at(i)); i++)
        for (int k = i + 1; (other = torch_row_at(k)); k++)
            for (Str rest = str_from(row->names); rest.n > 0;) {
                Str name = str_take(&rest, ' ');
                if (str_has_word(str_from(other->names), name))
                    fail_msg("'%.*s' is in two rows", STR_ARG(name));
            }
    assert_ptr_equal(torch_row(STR("max"), STR("dim")), torch_row(STR("max"), STR("dim")));
    assert_true(torch_row(STR("max"), STR("dim")) != torch_row(STR("max"), STR("default")));
    assert_null(torch_row(STR("nothing"), STR("default")));
}

int main(void)
{
    const struct CMUnitTest tables[] = {
        cmocka_unit_test(recipes_read_arguments_and_make_ops),
        cmocka_unit_test(an_operator_has_one_row),
    };
    return run_rows("json", views, json_is_read_in_place) +
           run_rows("sizes", sizes, sizes_are_named_after_inputs) +
           run_rows("expressions", exprs, a_dim_follows_from_others) +
           run_rows("arrays", arrays, an_array_is_read_or_refused) +
           cmocka_run_group_tests(tables, NULL, NULL);
}
