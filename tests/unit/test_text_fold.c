/* Lines on a terminal: rows of tables break between cells, sentences between words. */
#include "tests/unit/unit.h"

#include "tui/cli/text_fold.h"

typedef struct {
    const char *name;
    int columns;
    const char *line, *want;
} Case;

static Case cases[] = {
    {"fits", 9, "a b c d e", "a b c d e"},
    {"empty", 9, "", ""},
    {"between words", 12, "one two three four", "one two\n    three\n    four"},
    {"behind its indent", 20, "  hint: pin the dim by tp", "  hint: pin the dim\n      by tp"},
    {"cells go to the right", 20, "Gemm  8/dp,768  AG dp 3",
     "Gemm  8/dp,768\n             AG dp 3"},
    {"a cell that is too wide", 16, "Gemm  8/dp  AG dp 3.0 KiB of tp",
     "Gemm  8/dp  AG\n    dp 3.0 KiB\n    of tp"},
    {"no blank", 8, "0123456789abcdef", "01234567\n    89ab\n    cdef"},
    {"wide characters", 8, "漢字漢字漢字", "漢字漢字\n    漢字"},
    {"bytes that are no text", 4, "\xff\xff", "\xff\n  \xff\n  "},
    {"no room", 3, "abcdef", "abcdef"},
};

static void a_line_is_folded(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    Buf out = buf_new(arena);
    text_fold(str_from(row->line), row->columns, &out);
    assert_string_equal(out.n ? out.s : "", row->want);
    arena_free(arena);
}

int main(void)
{
    return run_rows("fold", cases, a_line_is_folded);
}
