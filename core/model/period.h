/* period.h - the longest stretch of a sequence that repeats itself: "abcabcab" is abc, twice.
 *
 * A run is a stretch with a period p (each symbol equals the one p later) that cannot be made
 * longer. Its repeated word, rotated suitably, is a Lyndon word, so looking at the longest Lyndon
 * word from each place, under the order of the symbols and its reverse, finds them all: Bannai,
 * I, Inenaga, Nakashima, Takeda, Tsuruta, "The runs theorem" (2017). Common prefixes are found by
 * hashes: O(n log n). A collision can only lose a run, since the answer is checked.
 */
#ifndef CORE_MODEL_PERIOD_H
#define CORE_MODEL_PERIOD_H

#include "core/base/arena.h"

typedef struct {
    int32_t start, size; /* the stretch is count words of size symbols, from start */
    int32_t count;       /* 0: nothing repeats */
    int32_t spare;       /* start may move forward by up to this much within the run */
} Period;

/* The run whose whole repetitions cover the most symbols; of equal ones that with the shortest
 * word, then the first found. Scratch memory is 20 bytes a symbol. */
Period period_find(Arena *scratch, const int32_t *symbols, int32_t n);

#endif
