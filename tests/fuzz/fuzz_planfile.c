/* fuzz_planfile.c - any bytes as a plan file of a small model: an error, or decisions that fit,
 * from which the propagator that it names makes a plan. */
#include "core/propagate/propagators.h"
#include "core/session/planfile.h"
#include "core/session/make.h"
#include "tests/fuzz/tiny_gpt.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* A file that is in memory only. */
static PlanFile read_file(Arena *arena, const uint8_t *bytes, size_t n_bytes,
                          const Propagator **propagator)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("plan", MFD_CLOEXEC);
    bool written = ftruncate(fd, 0) == 0 && pwrite(fd, bytes, n_bytes, 0) == (ssize_t)n_bytes;
    assert(fd >= 0 && written);
    SessionOptions options = {.model = "plan.json"};
    PlanFile file;
    Error err = {0};
    const char *path = arena_printf(arena, "/proc/self/fd/%d", fd);
    bool ok = planfile_open(arena, path, &options, &file, &err);
    assert(ok == (file.root != NULL) && ok != error_is_set(&err));
    assert(!ok || (options.model && options.propagator));
    *propagator = options.propagator;
    return file;
}

/* Decisions begin in lines of the file, one after the other. */
static void check_lines(const PlanFile *file, const uint8_t *bytes, size_t n_bytes)
{
    int n_lines = 1, last = 1;
    for (size_t i = 0; i < n_bytes; i++)
        n_lines += bytes[i] == '\n';
    for (int i = 0; i < json_size(json_get(file->root, "decisions")); i++) {
        assert(file->line[i] == 0 || (file->line[i] >= last && file->line[i] <= n_lines));
        last = file->line[i] ? file->line[i] : last;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static Session *session;
    if (!session)
        session = open_plain_tiny_gpt();
    Arena *scratch = arena_new(), *kept = session->journal_arena;
    session->journal_arena = scratch; /* what reading adds goes with it */
    session->notes = (Findings){0};

    const Propagator *propagator = &propagator_explain;
    PlanFile file = read_file(scratch, bytes, n_bytes, &propagator);
    Journal journal = {0};
    Error err = {0};
    if (file.root) {
        planfile_decisions(session, &file, &journal);
        check_lines(&file, bytes, n_bytes);
        PlanRequest request = session_request(session, &journal);
        request.propagator = propagator;
        Plan *plan = plan_make(&request, &err);
        assert(plan);
        plan_free(plan);
    }
    planfile_close(&file);
    session->journal_arena = kept;
    session->notes = (Findings){0};
    arena_free(scratch);
    return 0;
}
