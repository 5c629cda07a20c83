/* fuzz_plain.c - any bytes as lines typed to the explorer without a screen: what is printed has no
 * control bytes, and files are written into an empty folder only. */
#include "scripts/hooks.h"
#include "tests/fuzz/sandbox.h"
#include "tui/app/plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t') ||
            text[i] == 0x7f)
            fail_msg("WRONG byte %02x of %zu\n", (unsigned char)text[i], i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char model[PATH_MAX + 64];
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, root);
    SessionHooks hooks = scripts_hooks(scripts);
    snprintf(model, sizeof model, "%s/samples/models/tiny-gpt.onnx", root);
    SessionOptions options = {.model = model, .mesh = "dp=2,tp=2", .policy = "megatron"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s\n", err.text);
    char *text = NULL;
    size_t n = 0;
    FILE *in = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "r");
    FILE *out = open_memstream(&text, &n);
    if (!in || !out)
        abort();
    plain_run(session, &(AppOptions){0}, in, out);
    fclose(in);
    fclose(out);
    check_text(text, n);
    free(text);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
    empty_folder();
    return 0;
}
