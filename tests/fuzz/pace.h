/* pace.h - what keeps a fuzzer quick: what takes long is tried on one input of some, and memory is
 * used again soon.
 */
#ifndef TESTS_FUZZ_PACE_H
#define TESTS_FUZZ_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One input of `of`, by a hash of all its bytes (FNV-1a): an input that takes long is kept where it
 * reaches new lines, but most of what is made from it by changing bytes does not take long. */
static inline bool is_chosen(const uint8_t *bytes, size_t n_bytes, unsigned of)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < n_bytes; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return (hash ^ hash >> 16) % of == 0;
}

/* How much of an input is used: of most inputs the first bytes, of one in some more. */
static inline size_t size_used(const uint8_t *bytes, size_t n_bytes, size_t most, size_t of_some)
{
    enum { LONG_OF = 16 };
    size_t limit = is_chosen(bytes, n_bytes, LONG_OF) ? of_some : most;
    return n_bytes < limit ? n_bytes : limit;
}

/* ASan keeps freed memory for 4 MB instead of 256, does not fill what is allocated, and knows one
 * caller of each allocation. To see all of a find:
 * ASAN_OPTIONS=quarantine_size_mb=256:malloc_context_size=30 build/fuzz/fuzz_NAME INPUT */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=4:malloc_context_size=1:max_malloc_fill_size=0:"
           "detect_stack_use_after_return=0";
}

#endif
