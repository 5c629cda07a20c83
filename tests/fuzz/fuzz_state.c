/* fuzz_state.c - any lines as the state of a session on a model: what can be used of them is, the
 * screen can be drawn, and what is kept then comes back the same.
 *
 * `HASH` in the input stands for the hash that is in its place in the session's own state.
 */
#include "tests/fuzz/tiny_gpt.h"

#include "tui/app/resume.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Session *session;

static Str state_of(App *app)
{
    Buf text = buf_new(app->arena);
    app_draw(app);
    state_format(app, &text);
    return buf_str(&text);
}

/* The session's own two first lines, then the input with the groups' hash in it. */
static Source source_of(App *app, const uint8_t *data, size_t size)
{
    static char *kept; /* the same for each input */
    if (!kept)
        kept = strdup(arena_str(app->arena, state_of(app)));
    Str own = str_from(kept), rest = own, text = {(const char *)data, size};
    str_take(&rest, '\n'), str_take(&rest, '\n');
    Buf out = buf_new(app->arena);
    buf_add(&out, (Str){own.s, own.n - rest.n});
    int64_t at = str_find(text, STR("HASH"));
    if (at >= 0) {
        str_take(&rest, ' ');
        buf_add(&out, (Str){text.s, (size_t)at});
        buf_add(&out, str_take(&rest, ' '));
        text = (Str){text.s + at + 4, text.n - (size_t)at - 4};
    }
    buf_add(&out, text);
    return (Source){.name = "state", .text = buf_str(&out)};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Error err = {0};
    if (!session)
        session = open_tiny_gpt();
    App *first = app_new(session, &(AppOptions){.one_pane = true}, NULL, 60, 14);
    App *second = app_new(session, &(AppOptions){.one_pane = true}, NULL, 60, 14);
    Source source = source_of(first, data, size);
    if (!state_apply(first, &source, &err))
        wrong(err.text);
    source.text = state_of(first);
    if (!state_apply(second, &source, &err))
        wrong(err.text);
    Str again = state_of(second);
    if (!str_eq(source.text, again)) {
        fprintf(stderr, "%.*s\n--\n%.*s\n", STR_ARG(source.text), STR_ARG(again));
        wrong("a state that does not come back");
    }
    app_free(first);
    app_free(second);
    return 0;
}
