/* fuzz_plain.c - any bytes as lines typed to the explorer without a screen: what is printed has no
 * control bytes, and files are written into an empty folder only. */
#include "tests/fuzz/quick_hooks.h"
#include "tests/fuzz/sandbox.h"
#include "tests/unit/graph_text.h"
#include "tui/app/plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t') ||
            text[i] == 0x7f)
            fail_msg("WRONG byte %02x of %zu\n", (unsigned char)text[i], i);
}

/* As long as no line changed its plan it serves the next input too. */
static struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} opened;

static void open_session(void)
{
    opened.arena = arena_new();
    opened.scripts = scripts_new(opened.arena, root);
    SessionHooks hooks = quick_hooks(opened.scripts);
    SessionOptions options = {.mesh = "dp=2,tp=2", .policy = "megatron"};
    Error err = {0};
    Graph *graph =
        graph_from_text(opened.arena,
                        "h <- MatMul f32[4,6,24] f32[24,72]!; q k v <- Split h axis=2; "
                        "s <- MatMul q f32[24,6]!; p <- Softmax s axis=2; o <- MatMul p v",
                        13);
    opened.session = session_open_graph(graph, &options, &hooks, &err);
    if (!opened.session)
        fail_msg("%s\n", err.text);
}

static void close_session(void)
{
    session_close(opened.session);
    scripts_free(opened.scripts);
    arena_free(opened.arena);
    opened.session = NULL;
}

static void type(const uint8_t *data, size_t size)
{
    char *text = NULL;
    size_t n = 0;
    FILE *in = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "r");
    FILE *out = open_memstream(&text, &n);
    if (!in || !out)
        abort();
    plain_run(opened.session, &(AppOptions){.width = 64, .height = 12}, in, out);
    fclose(in);
    fclose(out);
    check_text(text, n);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { INPUT_MAX = 32, LONG_INPUT_MAX = 64 };
    if (!opened.session)
        open_session();
    const Plan *plan = opened.session->plan;
    int n_decisions = opened.session->journal.decisions.n;
    type(data, size_used(data, size, INPUT_MAX, LONG_INPUT_MAX));
    if (opened.session->plan != plan || opened.session->journal.decisions.n != n_decisions)
        close_session();
    if (wrote)
        empty_folder();
    wrote = false;
    return 0;
}
