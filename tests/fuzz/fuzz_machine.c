/* fuzz_machine.c - any text as a machine file: refused, or every price it gives is a time. */
#include "core/reshard/price.h"
#include "scripts/lua_machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const Mesh *some_mesh(Arena *arena, const char *text)
{
    Source source = {.name = "mesh", .text = str_from(text)};
    return mesh_parse(arena, &source, NULL);
}

static void check_prices(Arena *arena, const Machine *machine)
{
    static const int64_t bytes[] = {0, 1, 1 << 20, (int64_t)1 << 40};
    const Mesh *mesh = some_mesh(arena, "dp=3,tp=8");
    for (int kind = 0; kind < STEP_KIND_COUNT; kind++)
        for (AtomSet atoms = 1; atoms < 1u << mesh->n_atoms; atoms++)
            for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
                Buf out = buf_new(arena);
                double us = price_step(machine, mesh, (StepKind)kind, atoms, bytes[i]).us;
                price_explain(machine, mesh, (StepKind)kind, atoms, bytes[i], &out);
                if (!isfinite(us) || us < 0) {
                    fprintf(stderr, "WRONG price: %g us\n", us);
                    abort();
                }
            }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("machine", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    Arena *arena = arena_new();
    Machine machine;
    Error err = {0};
    bool ok =
        machine_read(arena, arena_printf(arena, "/proc/self/fd/%d", fd), NULL, &machine, &err);
    if (ok == error_is_set(&err))
        abort();
    if (ok)
        check_prices(arena, &machine);
    arena_free(arena);
    return 0;
}
