/* slices.h - which part of a tensor each place of the mesh holds, and with whom it shares it.
 *
 * A slice is what one rank holds; equal slices have equal numbers and letters. Numbers count
 * through the dims in order, so that a picture of two dims reads A B C .. row by row. Over partial
 * axes the holders of one slice hold different addends; over axes that neither cut nor are partial
 * they hold equal bytes (replicas).
 */
#ifndef TUI_VIEWS_SLICES_H
#define TUI_VIEWS_SLICES_H

#include "core/plan/sharding.h"

typedef struct {
    const Mesh *mesh;
    const Sharding *sharding;
    AtomSet cuts, partials;
    int64_t n_slices, n_addends, n_copies; /* their product is the number of devices */
    bool uneven;
} Slices;

Slices slices_of(const Sharding *sharding, const Mesh *mesh);

int64_t slice_number(const Slices *slices, int64_t position);
int64_t slice_addend(const Slices *slices, int64_t position); /* from 0 */

/* Which part of dim d the rank holds, from 0; of how many. */
int64_t slice_part(const Slices *slices, int d, int64_t position);
int64_t slice_parts(const Slices *slices, int d);

/* "A" .. "Z", "a" .. "z", then "A1" ..: short, and the same for the same slice. */
void slice_letter(int64_t number, Buf *out);

/* The first place that holds these parts of dims d and e (-1: none), and of the others what
 * `position` holds; addend and copy 0. */
int64_t slice_holder(const Slices *slices, int d, int64_t part, int e, int64_t other,
                     int64_t position);

/* "0:4", "0:192+768:960+2 more": the runs of one dim on a rank. */
void slice_range(Arena *arena, const Slices *slices, int d, int64_t position, Buf *out);

/* "d0 d1 d2": devices that hold the same slice as this rank; at most `most`, then "+5". */
void slice_peers(const Slices *slices, int64_t position, int most, Buf *out);

#endif
