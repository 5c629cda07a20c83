/* fuzz_pins.c - any bytes as shardings in another system's text, of a small model: an error with
 * its place, or decisions that fit, from which a plan is made. A system's settings decide nothing
 * by themselves: they are read and noted. */
#include "core/session/pins_text.h"
#include "core/session/make.h"
#include "core/session/system_settings.h"
#include "tests/fuzz/tiny_gpt.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* An error says where; decisions come from lines of the text. */
static void check(const Journal *journal, const Source *source, bool ok, const Error *err)
{
    int n_lines = 1;
    for (size_t i = 0; i < source->text.n; i++)
        n_lines += source->text.s[i] == '\n';
    assert(ok != error_is_set(err));
    assert(ok || (err->kind == ERROR_UNREADABLE && strcmp(err->file, "pins.txt") == 0));
    assert(err->line <= n_lines);
    for (int i = 0; i < journal->n_done; i++) {
        const Origin *origin = &journal->decisions.at[i].origin;
        assert(origin->line >= 1 && origin->line <= n_lines && origin->text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static Session *session;
    if (!session)
        session = open_plain_tiny_gpt();
    Arena *scratch = arena_new(), *kept = session->journal_arena, *model = session->model_arena;
    session->journal_arena = session->model_arena = scratch; /* what reading adds goes with it */
    session->notes = (Findings){0};

    char *text =
        malloc(n_bytes ? n_bytes : 1); /* of its own size, so that a byte too far is seen */
    assert(text);
    memcpy(text, bytes, n_bytes);
    Source source = {"pins.txt", {text, n_bytes}};
    Journal journal = {0};
    Error err = {0};
    bool ok = system_settings_are(source.text) ? system_settings_note(session, &source, &err)
                                               : pins_text_read(session, &source, &journal, &err);
    check(&journal, &source, ok, &err);
    free(text);
    if (ok) {
        PlanRequest request = session_request(session, &journal);
        Plan *plan = plan_make(&request, &err);
        assert(plan);
        plan_free(plan);
    }
    session->journal_arena = kept;
    session->model_arena = model;
    session->notes = (Findings){0};
    arena_free(scratch);
    return 0;
}
