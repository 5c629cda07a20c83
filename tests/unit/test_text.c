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

typedef struct {
    const char *name, *text;
    int columns;
    const char *cut;
} Name;

static Name names[] = {
    {"a name that fits", "lm_head.weight", 14, "lm_head.weight"},
    {"the end of a longer one", "model.layers.0.mlp.gate_proj.weight", 21, "…mlp.gate_proj.weight"},
    {"it begins with a part", "model.layers.0.mlp.gate_proj.weight", 19, "…gate_proj.weight"},
    {"layers in a row are one part", "model.layers[0..15]", 17, "…layers[0..15]"},
    {"a star does not stand alone", "model.layers.*.out", 10, "…ers.*.out"},
    {"both ends of its last two parts", "model.layers.0.mlp.gate_proj.weight", 12, "gate….weight"},
    {"which tell it from the next", "model.layers.0.mlp.up_proj.weight", 12, "up_p….weight"},
    {"and from the third", "model.layers.0.mlp.down_proj.weight", 12, "down….weight"},
    {"both ends of a long last part", "model.layers.0.mlp.gate_proj.weight", 9, "gate…ight"},
    {"an op", "model.layers.0.self_attn/node_MatMul_117", 16, "self_att…Mul_117"},
    {"a name of one part", "onnx::MatMul_2861", 9, "onnx…2861"},
    {"one column", "lm_head.weight", 1, "…"},
    {"no column", "lm_head.weight", 0, ""},
};

static void names_keep_what_tells_them_apart(void **state)
{
    const Name *row = *state;
    Arena *arena = arena_new();
    Buf text = buf_new(arena);

    text_put_name(str_from(row->text), row->columns, &text);
    assert_string_equal(text.n > 0 ? text.s : "", row->cut);
    assert_true(text_columns(buf_str(&text)) <= row->columns);
    arena_free(arena);
}

int main(void)
{
    return run_rows("text_take_line", lines, a_line_is_taken) +
           run_rows("text_head, text_tail", ends, ends_fit) +
           run_rows("text_put_name", names, names_keep_what_tells_them_apart);
}
