/* slices.h - the slice of a tensor that each mesh position holds, and who shares it.
 *
 * A slice is what one rank holds; equal slices have equal numbers and letters. Numbers count
 * through the dims in order, so that a picture of two dims reads A B C .. row by row. Over partial
 * axes the holders of one slice hold different addends; over axes that neither shard nor are
 * partial they hold equal bytes (replicas).
 */
#ifndef CORE_SUMMARY_SLICES_H
#define CORE_SUMMARY_SLICES_H

#include "core/layout/runs.h"
#include "core/plan/plan.h"

typedef struct {
    const Mesh *mesh;
    const Sharding *sharding;
    SubMesh part; /* of the mesh: other devices hold nothing */
    AtomSet cuts, partials;
    int64_t n_slices, n_addends, n_copies; /* their product is the number of devices of the part */
    int64_t most;                          /* elements of the largest slice, that of rank 0 */
    bool uneven, strided;                  /* strided: slices are not contiguous */
} Slices;

Slices slices_of(const Sharding *sharding, const Mesh *mesh, SubMesh part);
/* The slices of the value that the tensor's maker gives, on the part of the mesh that holds it; if
 * there are several parts, `rank` chooses. The tensor must have a sharding. */
Slices slices_of_tensor(const Plan *plan, int32_t tensor, int64_t rank);

/* The rank itself, or the rank with the same coordinates on the part of the mesh. */
int64_t slices_twin(const Slices *slices, int64_t rank);
int64_t slice_elements(const Slices *slices, int64_t position); /* 0 outside the part */

int64_t slice_number(const Slices *slices, int64_t position);
int64_t slice_addend(const Slices *slices, int64_t position); /* from 0 */

/* slice_part(): the part of dim d that the rank holds, from 0; slice_parts(): the number of parts.
 */
int64_t slice_part(const Slices *slices, int d, int64_t position);
int64_t slice_parts(const Slices *slices, int d);

/* "A" .. "Z", "a" .. "z", then "A1" ..: short, and the same for the same slice. */
void slice_letter(int64_t number, Buf *out);

/* ORDER TILE_FORM: how much a mark shows, the most first. */
typedef enum {
    SLICE_AS_FULL,
    SLICE_AS_SHORT,
    SLICE_AS_NUMBER,
    SLICE_AS_MARK,
    SLICE_AS_LETTER
} SliceForm;

/* The text of a cell for the slice at a position: its letter and marks.
 *
 *     full, short   A  A=  A'  A~  A Σ2/4  .   all that hold, ~ where it is smaller than rank 0's
 *     number        AΣ2  A=                    without how many addends there are
 *     mark          AΣ  A=  A~                 the first that holds of empty, Σ, ~, ', =
 *     letter        A  .                       the letter alone
 *
 * An empty slice is a dot. */
void slice_mark(const Slices *slices, int64_t position, SliceForm form, Buf *out);

/* The meaning of the marks on a screen, for a legend: one bit per mark that occurs. */
typedef enum {
    MARK_ADDEND = 1,
    MARK_COPY = 2,
    MARK_STRIDED = 4,
    MARK_SHORT = 8,
    MARK_EMPTY = 16,
    MARK_ALONE = 32 /* the only holder */
} SliceMark;

int slice_marks(const Slices *slices, int64_t position);

/* `position` with other parts of dims d and e (-1: unchanged); addend and copy stay. */
int64_t slice_at(const Slices *slices, int d, int64_t part, int e, int64_t other, int64_t position);

/* "0:4", "0:192+768:960+2 more": the runs of one dim on a rank, at most `most` of them; "none" if
 * it is empty. */
void slice_range(Arena *arena, const Slices *slices, int d, int64_t position, int most, Buf *out);

/* The first element of dim d on a rank. Returns false if slice_range() names no element: for an
 * empty part, or one of very many pieces. */
bool slice_start(Arena *arena, const Slices *slices, int d, int64_t position, int64_t *start);

/* "0:4,:,768:1536": the ranges of all dims, ":" for a whole one. */
void slice_ranges(Arena *arena, const Slices *slices, int64_t position, Buf *out);

/* "ABCDABCDABCD": the holders of all runs of dim d, in the order of the dim; nothing if there are
 * more than `most`. Letters are those of the slices that differ from that of `position` in this dim
 * only. */
void slice_pieces(Arena *arena, const Slices *slices, int d, int64_t position, int most, Buf *out);

/* "d0 d1 d2": the devices that hold the same slice as this rank; at most `most`, then "+5". */
void slice_peers(const Slices *slices, int64_t position, int most, Buf *out);

#endif
