/* Text in columns: its ends, its lines, and what its bytes are. */
#include "tests/unit/unit.h"

#include "core/base/text.h"

#include <stdio.h>

typedef struct {
    const char *name;
    int columns;
    const char *text, *line, *rest;
} Line;

static Line lines[] = {
    {"fits", 7, "one two", "one two", ""},
    {"at a blank", 6, "one two", "one", "two"},
    {"the blank may be the first too many", 3, "one two", "one", "two"},
    {"blanks behind it go", 4, "one   two ", "one", "two "},
    {"blanks in front stay", 6, "  one two", "  one", "two"},
    {"a long word is whole", 2, "one two", "one", "two"},
    {"behind blanks too", 2, "  one two", "  one", "two"},
    {"no room", -3, "one two", "one", "two"},
    {"wide characters", 5, "漢字 漢字", "漢字", "漢字"},
    {"bytes that are none", 9, "a\xff b\xff c", "a\xff", "b\xff c"},
    {"blanks alone", 2, "    ", "    ", ""},
};

static void a_line_is_taken(void **state)
{
    const Line *row = *state;
    Str rest = str_from(row->text), line = text_take_line(&rest, row->columns);
    char taken[80];

    snprintf(taken, sizeof taken, "%.*s", STR_ARG(line));
    assert_string_equal(taken, row->line);
    assert_string_equal(rest.s, row->rest);
}

typedef struct {
    const char *name, *text;
    int columns;
    const char *head, *tail;
} Ends;

static Ends ends[] = {
    {"all", "abc", 3, "abc", "abc"},
    {"some", "abc", 2, "ab", "bc"},
    {"nothing", "abc", 0, "", ""},
    {"below nothing", "abc", -1, "", ""},
    {"a wide one does not fit", "a漢字", 2, "a", "字"},
    {"accents", "éèê", 2, "éè", "èê"},
    {"a byte that is none takes four", "a\xff", 4, "a", "\xff"},
    {"so do controls", "\x01z\x01", 5, "\x01z", "z\x01"},
};

static void ends_fit(void **state)
{
    const Ends *row = *state;
    Str text = str_from(row->text), head = text_head(text, row->columns);
    char taken[80];

    snprintf(taken, sizeof taken, "%.*s", STR_ARG(head));
    assert_string_equal(taken, row->head);
    assert_string_equal(text_tail(text, row->columns).s, row->tail);
}

int main(void)
{
    return run_rows("text_take_line", lines, a_line_is_taken) +
           run_rows("text_head, text_tail", ends, ends_fit);
}
