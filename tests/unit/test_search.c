/* Patterns on the sample GPT-2: how many hits, or why it is refused. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/state/search.h"

typedef struct {
    const char *name, *text;
    int n;             /* hits */
    const char *wrong; /* in the error; NULL: none */
} SearchRow;

static SearchRow rows[] = {
    {"plain text", "c_fc/Gemm", 12, NULL},
    {"a choice", "h\\.[01]\\.mlp\\.(c_fc|c_proj)/Gemm", 4, NULL},
    {"repetition", "h\\.[0-9]{2}\\.mlp\\.c_fc/Gemm", 2, NULL},
    {"an open group", "(", 0, "nmatched"},
    {"a reference", "(h).*\\1", 0, "back-references"},
    {"repeated repetitions", "((((x{1,250}){1,250}){1,250}){1,250})", 0,
     "repetitions are too large"},
    {"nested +",
     "(((((((((((((((((((((((((((((((((((((((((x+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)"
     "+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+",
     0, "repetitions are too large"},
    {"repeated side by side", "x{100}{100}{100}", 0, "repetitions are too large"},
    {"without its end", "((x{200}){200}", 0, "repetitions are too large"},
};

static Session *session;

static void finds(void **state)
{
    const SearchRow *row = *state;
    Error err = {0};
    Search *search = search_new(str_from(row->text), &err);
    if (row->wrong) {
        assert_null(search);
        if (!strstr(err.text, row->wrong))
            fail_msg("%s", err.text);
        return;
    }
    const Hit *hits;
    assert_non_null(search);
    assert_int_equal(search_hits(search, session, &hits), row->n);
    search_free(search);
}

int main(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4"};
    session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    int failed = run_rows("search", rows, finds);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}
