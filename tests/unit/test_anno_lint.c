/* Annotations that lose data are named with the character; those that lose nothing are silent. */
#include "tests/unit/unit.h"

#include "core/rules/anno_lint.h"

typedef struct {
    const char *name, *text;
    const char *want; /* "COLUMN TEXT", lints with "; " between: the beginning of each text */
} LintRow;

static LintRow rows[] = {
    {"nothing lost", "m k+, k+ n -> m n", ""},
    {"a frozen one may go", "a b^ -> a", ""},
    {"a number is no identifier", "a 3 -> a", ""},
    {"an unlimited dim", "* k+, n k+ -> * n", ""},
    {"nothing to cut, nothing lost", "a^ b^ -> ?", ""},
    {"a spatial identifier is lost", "a b -> a", "3 output 0 lacks 'b', which input 0 has"},
    {"in one output of two", "a b -> a b, a", "3 output 1 lacks 'b'"},
    {"inside a bracket", "(a b^) c -> c", "2 output 0 lacks 'a'"},
    {"a sum is kept", "a b+ -> a b+", "11 'b' is summed and stands in output 0"},
    {"an output not said", "a b -> a b, ?", "13 output 1 is '?'"},
    {"unknown meta", "a b : /c -> a b", "8 '/c' names no identifier"},
    {"known meta", "a b : /b -> a b", ""},
    {"characters, not bytes", "gr\xc3\xb6\xc3\x9f b -> gr\xc3\xb6\xc3\x9f", "6 output 0 lacks 'b'"},
    {"a part of another name", "ab b -> ab", "4 output 0 lacks 'b'"},
    {"meta of another tensor", "b h^ : /m, b m^ : /h -> b h^, b m^", ""},
    {"one on two dims", "a a b -> b a", "3 'a' is on dims 0 and 1 of input 0"},
    {"a frozen one on two dims", "a^ a^ -> 1", "4 'a' is on dims 0 and 1 of input 0"},
    {"an output that no input defines", "a -> a n n",
     "8 'n' of output 0 is in no input; 10 'n' is on dims 1 and 2"},
    {"a bracket that freezes", "(h t) k -> t h k",
     "4 't' is not the first of the bracket (h t) of input 0"},
    {"a bracket of an output", "h t -> (h t)",
     "11 't' is not the first of the bracket (h t) of output 0"},
    {"one that is frozen anyway", "(h t^) -> h t^", ""},
    {"after a literal one", "(1 h t) -> h t", "6 't' is not the first of the bracket (1 h t)"},
    {"two at once", "a b -> 1", "1 output 0 lacks 'a'; 3 output 0 lacks 'b'"},
};

static void test_lint(void **state)
{
    const LintRow *row = *state;
    Arena *arena = arena_new();
    AnnoLint lints[ANNO_LINTS_MAX];
    Source source = {"x", str_from(row->text)};
    const Anno *anno = anno_parse(arena, &source, NULL);
    assert_non_null(anno);
    int n = anno_lint(arena, source.text, anno, 0, lints);
    const char *want = row->want;
    for (int i = 0; i < n; i++) {
        Buf got = buf_new(arena);
        buf_printf(&got, "%d %s", lints[i].place.column, lints[i].text);
        size_t length = strcspn(want, ";");
        if (length == 0 || strncmp(got.s, want, length) != 0)
            fail_msg("%s: got '%s', want '%s'", row->text, got.s, want);
        assert_true(lints[i].hint[0] != '\0');
        want += length + strspn(want + length, "; ");
    }
    assert_string_equal(want, "");
    arena_free(arena);
}

int main(void)
{
    static struct CMUnitTest tests[sizeof rows / sizeof *rows];
    size_t n = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){rows[i].name, test_lint, NULL, NULL, &rows[i]};
    return _cmocka_run_group_tests("anno_lint", tests, n, NULL, NULL);
}
