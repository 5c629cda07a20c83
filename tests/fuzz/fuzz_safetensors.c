/* fuzz_safetensors.c - any bytes as a checkpoint: tensors whose bytes lie in the file and are as
 * many as type and shape say, or an error. */
#include "core/model/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const SafeTensors *tensors)
{
    unsigned sum = 0;
    for (int i = 0; i < tensors->tensors.n; i++) {
        const SafeTensor *tensor = &tensors->tensors.at[i];
        int64_t want = dtype_bytes(tensor->dtype, shape_elements(&tensor->shape));
        if (want != (int64_t)tensor->bytes.n || safetensors_find(tensors, tensor->name) != tensor)
            abort();
        for (size_t b = 0; b < tensor->bytes.n; b++)
            sum += (unsigned char)tensor->bytes.s[b]; /* each can be read */
    }
    if (sum == 1)
        fputs("", stderr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("fuzz.safetensors", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        return 0;
    Arena *arena = arena_new();
    SafeTensors tensors = {0};
    Error err = {0};
    if (safetensors_open(arena, path, &tensors, &err))
        check(&tensors);
    else if (!error_is_set(&err))
        abort();
    safetensors_close(&tensors);
    arena_free(arena);
    return 0;
}
