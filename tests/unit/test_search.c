/* Patterns on the sample GPT-2, and on its training step: how many hits, or why it is refused. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/state/search.h"

typedef struct {
    const char *name, *text;
    int n;             /* hits */
    const char *wrong; /* in the error; NULL: none */
    bool trained;
} SearchRow;

static SearchRow rows[] = {
    {"plain text", "c_fc/Gemm", 12, NULL, false},
    {"a choice", "h\\.[01]\\.mlp\\.(c_fc|c_proj)/Gemm", 4, NULL, false},
    {"repetition", "h\\.[0-9]{2}\\.mlp\\.c_fc/Gemm", 2, NULL, false},
    {"a gradient", "wte.weight~grad$", 1, NULL, true},
    {"gradients of 12 layers", "mlp\\.c_fc\\.weight~grad$", 12, NULL, true},
    {"states", "mlp.c_fc.weight~v$", 12, NULL, true},
    {"gradient ops", "mlp.c_fc/Gemm~d1", 12, NULL, true},
    {"updates", "c_fc.weight~update", 12, NULL, true},
    {"an open group", "(", 0, "Missing ')'", false},
    {"a reference", "(h).*\\1", 0, "back-references", false},
    {"repeated repetitions", "((((x{1,250}){1,250}){1,250}){1,250})", 0,
     "repetitions are too large", false},
    {"nested +", "((((((((((((((((((((x+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)y", 0, NULL, false},
    {"repeated signs", "res*********+++++++++****agged", 0, "Invalid use of repetition", false},
    {"a word", "\\<c_fc\\>", 12, NULL, false},
    {"an approximate match", "c_fc{~2}", 0, "a repetition is {2}", false},
    {"a flag", "(?i)GEMM", 0, "(? is not supported", false},
    {"a code", "\\x41", 0, "\\x has no meaning", false},
    {"braces in a set", "[{c]_fc", 12, NULL, false},
    {"repeated side by side", "x{100}{100}{100}", 0, "repetitions are too large", false},
    {"without its end", "((x{200}){200}", 0, "repetitions are too large", false},
};

static Session *sessions[2]; /* the model, its training step */

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
    assert_int_equal(search_hits(search, sessions[row->trained], &hits), row->n);
    search_free(search);
}

int main(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4"};
    for (int i = 0; i < 2; i++) {
        options.train = i ? "adamw" : NULL;
        sessions[i] = session_open(&options, &hooks, &(Error){0});
        assert_non_null(sessions[i]);
    }
    int failed = run_rows("search", rows, finds);
    for (int i = 0; i < 2; i++)
        session_close(sessions[i]);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}
