/* heads.h - the heads of an attention operand that one rank holds.
 *
 *     packed    b s (h d)      else     b h s d
 *
 * Heads and their numbers may be sharded; global indices tell which heads are held. A head is a
 * matrix of positions by numbers, loaded and stored as numbers of a class.
 */
#ifndef CORE_RUN_KERNELS_HEADS_H
#define CORE_RUN_KERNELS_HEADS_H

#include "core/run/kernel.h"

typedef struct {
    const Local *local; /* NULL: operand absent, no heads, no positions */
    bool packed;
    int64_t b, h, s, d;  /* local sizes; d: numbers of a head */
    const int64_t *head; /* global indices, ascending */
} HeldHeads;

/* n_heads: of the whole operand, required where it is packed. */
bool held_heads(const KernelCall *call, const Local *local, int64_t n_heads, HeldHeads *out,
                Error *err);
int64_t held_heads_find(const HeldHeads *heads, int64_t global); /* -1: on another rank */

/* Local head `head` of local batch element `batch`: [s][d]. */
void held_heads_load(const HeldHeads *heads, int64_t batch, int64_t head, Number number, void *out);
/* One row of it. */
void held_heads_load_row(const HeldHeads *heads, int64_t batch, int64_t head, int64_t s,
                         Number number, void *out);
void held_heads_store(const HeldHeads *heads, int64_t batch, int64_t head, Number number,
                      const void *from);

/* ---- rotary embedding of a row of a head ---- */

/* Rotates pairs of the first 2 half numbers: x1, x2 -> cos x1 - sin x2, sin x1 + cos x2. A pair is
 * two neighbours (interleaved) or one place of each half. */
typedef struct {
    int64_t half;
    bool interleaved;
} Turn;

void head_turn(const Turn *turn, const double *cosine, const double *sine, double *x);

/* The gradient dy of the result becomes that of x. Adds the gradients of the angles, times scale;
 * NULL: not wanted, and without both of them x may be NULL. */
void head_turn_back(const Turn *turn, const double *cosine, const double *sine, const double *x,
                    double scale, double *dy, double *d_cosine, double *d_sine);

#endif
