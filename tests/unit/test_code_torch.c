/* Plans as Python for torch and nnScaler: Python itself reads the text and says what it holds. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "viz/code/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Runs a text in python3 and gives what it prints; fails the test where it fails. */
static Str python(Arena *arena, const Buf *text)
{
    char path[] = "/tmp/dimscope-test-XXXXXX";
    int fd = mkstemp(path);
    Error err = {0};
    assert_true(fd >= 0);
    close(fd);
    assert_true(file_write(path, buf_str(text), &err));
    FILE *program = popen(arena_printf(arena, "python3 -I %s 2>&1", path), "r");
    Buf said = buf_new(arena);
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, program)) > 0;)
        buf_add(&said, (Str){piece, n});
    int status = pclose(program);
    unlink(path);
    if (status != 0)
        fail_msg("python3 says %.*s", (int)said.n, said.s);
    return str_trim(buf_str(&said));
}

static bool python_is_there(void)
{
    return system("python3 -c 0 >/dev/null 2>&1") == 0;
}

/* ---- python.h ---- */

typedef struct {
    const char *name;
    Str text;
    const char *read; /* UTF-8 of what Python reads, in hex */
} TextRow;

#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

static TextRow text_rows[] = {
    {"plain", TEXT("transformer.h.0.mlp"), "7472616e73666f726d65722e682e302e6d6c70"},
    {"empty", TEXT(""), ""},
    {"quotes", TEXT("a\"b'c\"\"\""), "6122622763222222"},
    {"backslashes", TEXT("\\n\\"), "5c6e5c"},
    {"controls", TEXT("\n\r\t\x1b\x7f\0x"), "0a0d091b7f0078"},
    {"formats", TEXT("%s{0}{{#"), "25737b307d7b7b23"},
    {"beyond_ascii", TEXT("\xc3\xa4\xe2\x80\xae\xf0\x9f\x98\x80"), "c3a4e280aef09f9880"},
    {"separators", TEXT("\xe2\x80\xa8\xc2\x85"), "e280a8c285"},
    {"broken", TEXT("a\xff\xc3"), "615c7866665c786333"},
};

static bool is_printable_ascii(Str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] < 0x20 || text.s[i] > 0x7e)
            return false;
    return true;
}

static void python_reads_the_text(void **state)
{
    const TextRow *row = *state;
    Arena *arena = arena_new();
    Buf text = buf_new(arena), comment = buf_new(arena);
    buf_puts(&text, "print(");
    python_string(row->text, &text);
    buf_puts(&text, ".encode().hex())");
    python_comment(row->text, &comment);
    assert_true(is_printable_ascii(buf_str(&text)) && is_printable_ascii(buf_str(&comment)));
    buf_printf(&text, " # %s\n", comment.s);
    if (!python_is_there())
        skip();
    Str said = python(arena, &text);
    assert_string_equal(arena_str(arena, said), row->read);
    arena_free(arena);
}

static void a_name_of_python_is_one(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"h.0", "h_0"}, {"0", "_0"},
                                          {"", "_"},      {"class", "class_"},
                                          {"dp", "dp"},   {"a\n\xc3\xa4", "a___"}};
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Buf name = buf_new(arena);
        python_identifier(str_from(rows[i][0]), &name);
        assert_string_equal(name.s, rows[i][1]);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_of_python_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("python reads", text_rows, python_reads_the_text);
}
