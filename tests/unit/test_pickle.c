/* Pickles as data: what protocols 0 to 5 and torch write, and bytes that are no pickle. */
#include "tests/unit/unit.h"

#include "core/base/pickle.h"

typedef struct {
    const char *name, *bytes;
    size_t n;
    const char *want; /* JSON, or the error */
} Row;

#define ROW(name, bytes, want)                                                                     \
    {                                                                                              \
        name, bytes, sizeof bytes - 1, want                                                        \
    }

/* The bytes are those of python's pickle.dumps() of what the names say. */
static Row rows[] = {
    ROW("a dict of protocol 4",
        "\x80\x04\x95\x16\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
        "a\x94K\x01\x8c\x01"
        "b\x94]\x94(K\x02Neu.",
        "{\"a\":1,\"b\":[2,null]}"),
    ROW("protocol 0", "(dp0\nVa\np1\nI01\nsVb\np2\nF2.5\ns.", "{\"a\":true,\"b\":2.5}"),
    ROW("protocol 2", "\x80\x02}q\x00X\x01\x00\x00\x00xq\x01(J\x00\x01\x00\x00\x88\x89tq\x02s.",
        "{\"x\":[256,true,false]}"),
    ROW("a long", "\x80\x02\x8a\x05\x00\x00\x00\x00\x01.", "4294967296"),
    ROW("a negative long", "\x80\x02\x8a\x01\xff.", "-1"),
    ROW("a float", "\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00.", "1.5"),
    ROW("one value twice",
        "\x80\x02]q\x00(]q\x01K\x07"
        "ah\x01"
        "e.",
        "[[7],[7]]"),
    ROW("a call is not run",
        "\x80\x02"
        "cposix\nsystem\nX\x02\x00\x00\x00ls\x85R.",
        "{\"class\":\"posix.system\",\"args\":[\"ls\"]}"),
    ROW("an object with a state",
        "\x80\x02"
        "cm\nC\n)\x81}X\x01\x00\x00\x00wK\x03sb.",
        "{\"class\":\"m.C\",\"args\":[],\"state\":{\"w\":3}}"),
    ROW("torch's typed list",
        "\x80\x02"
        "ctorch.jit._pickle\nbuild_intlist\n](K\x02K\x04"
        "e\x85R.",
        "[2,4]"),
    ROW("a key that is no text", "\x80\x02}K\x01K\x02\x86K\x03s.", "{\"[1,2]\":3}"),
    ROW("inside of itself",
        "\x80\x02]q\x00h\x00"
        "a.",
        "pickle: it is nested too deep, or inside of itself"),
    ROW("cut short",
        "\x80\x02X\x09\x00\x00\x00"
        "ab",
        "pickle: it ends within a value"),
    ROW("no value", "\x80\x02.", "pickle: a value is missing"),
    ROW("a mark alone", "\x80\x02(.", "pickle: a value is missing"),
    ROW("a mark twice, where the stack is full", "\x80\x02NNNNNNNNNNNNNN(2.",
        "pickle: a value is missing"),
    ROW("no mark",
        "\x80\x02]K\x01"
        "e.",
        "pickle: a mark is missing"),
    ROW("nothing stored", "\x80\x02h\x05.", "pickle: it recalls what it has not stored"),
    ROW("an unknown opcode", "\x80\x02\xee.", "pickle: opcode 0xee is not known"),
    ROW("empty", "", "pickle: it ends within a value"),
};

static void it_is_read_as_data(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Source source = {"p", {row->bytes, row->n}};
    Error err = {0};
    Buf got = buf_new(arena);
    Json *json = pickle_read(&source, &err);
    if (json)
        json_write(json, &got);
    else
        buf_puts(&got, err.text);
    assert_string_equal(got.s, row->want);
    json_free(json);
    arena_free(arena);
}

static Json *read_bytes(const Buf *bytes, Error *err)
{
    Source source = {"p", {bytes->s, 0}};
    source.text = buf_str(bytes);
    return pickle_read(&source, err);
}

/* Sixteen lists, each twice the one before: a megabyte of values in a hundred bytes. */
static void it_is_not_written_larger_than_its_file(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf bytes = buf_new(arena);
    buf_puts(&bytes, "\x80\x02]\x94");
    for (int i = 0; i < 24; i++)
        buf_printf(&bytes, "]\x94(h%ch%c%s", i, i, "e");
    buf_putc(&bytes, '.');
    Error err = {0};
    assert_null(read_bytes(&bytes, &err));
    arena_free(arena);
}

/* A dict whose key is a dict whose key ..: each quotes the quotes of the one within. */
static void keys_of_keys_do_not_grow_without_end(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf bytes = buf_new(arena);
    buf_puts(&bytes, "\x80\x02");
    for (int i = 0; i < 90; i++)
        buf_puts(&bytes, "}");
    buf_puts(&bytes, "U\x01k");
    for (int i = 0; i < 90; i++)
        buf_puts(&bytes, "Ns");
    buf_putc(&bytes, '.');
    Error err = {0};
    assert_null(read_bytes(&bytes, &err));
    assert_string_equal(err.text, "pickle: it is much larger than its file");
    arena_free(arena);
}

/* A text of 64 KiB, 60,000 times. */
static void a_text_is_not_repeated_without_end(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 16, TIMES = 60000 };
    Arena *arena = arena_new();
    Buf bytes = buf_new(arena);
    buf_add(&bytes, (Str){"\x80\x02](X\x00\x00\x01\x00", 9});
    for (int i = 0; i < LENGTH; i++)
        buf_putc(&bytes, 'a');
    buf_add(&bytes, (Str){"q\x00", 2});
    for (int i = 0; i < TIMES; i++)
        buf_add(&bytes, (Str){"h\x00", 2});
    buf_puts(&bytes, "e.");
    Error err = {0};
    assert_null(read_bytes(&bytes, &err));
    assert_string_equal(err.text, "pickle: it is much larger than its file");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_not_written_larger_than_its_file),
                                       cmocka_unit_test(keys_of_keys_do_not_grow_without_end),
                                       cmocka_unit_test(a_text_is_not_repeated_without_end)};
    return run_rows("pickle", rows, it_is_read_as_data) + cmocka_run_group_tests(tests, NULL, NULL);
}
