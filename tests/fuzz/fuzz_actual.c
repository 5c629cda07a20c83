/* fuzz_actual.c - any bytes as what a job ran: a trace of torch.profiler or a dump of NCCL's flight
 * recorder, plain, packed or pickled. An error says what is wrong, or all of it is beside the plan.
 */
#include "core/summary/actual.h"
#include "tests/fuzz/tiny_gpt.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(Arena *arena, const Session *session, const ActualTrace *trace, int steps)
{
    Buf out = buf_new(arena);
    const Actual *actual = actual_compare(arena, session, trace, 1.5, steps);
    actual_format(actual, &out);
    actual_reshard_us(arena, actual);
    for (int i = 0; i < actual->rows.n; i++) {
        const ActualRow *row = &actual->rows.at[i];
        assert(row->ran >= -1 && row->ran < trace->ran.n);
        assert(row->planned >= -1 && row->planned < actual->planned.n);
        assert(row->state == ACTUAL_UNPLANNED ? row->planned < 0 : row->planned >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    static Session *session;
    if (file < 0) {
        session = open_plain_tiny_gpt();
        file = memfd_create("fuzz.trace", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        return 0;
    Arena *arena = arena_new();
    Error err = {0};
    ActualTrace *trace = actual_read(arena, path, &err);
    assert((trace == NULL) == error_is_set(&err));
    if (trace)
        check(arena, session, trace, 1 + (int)(size % 3));
    arena_free(arena);
    return 0;
}
