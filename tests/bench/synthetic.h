/* synthetic.h - a made-up transformer as large as a bench wants.
 *
 * Layers as GPT-2 small has them after its shape arithmetic is folded away: 26 ops each, 12 heads
 * of 64, paths "h.N.attn.c_attn" and so on, real shapes ([batch, seq, 768]), weights without data.
 */
#ifndef TESTS_BENCH_SYNTHETIC_H
#define TESTS_BENCH_SYNTHETIC_H

#include "core/model/graph.h"

enum { SYNTHETIC_LAYER_OPS = 26 };

/* n_layers layers between an embedding and a head; batch and seq are the sizes of the one input. */
Graph *synthetic_transformer(Arena *arena, int n_layers, int64_t batch, int64_t seq);

/* The same as fine as StableHLO has it: norms, softmax and gelu taken apart, scales, biases and
 * what is reduced spread by ops of their own, casts around products: 117 ops a layer. */
enum { SYNTHETIC_FINE_LAYER_OPS = 117 };
Graph *synthetic_fine_transformer(Arena *arena, int n_layers, int64_t batch, int64_t seq);

/* A chain of equal ops, without modules. */
Graph *synthetic_chain(Arena *arena, int n_ops);

/* As many layers as n_ops ops take. */
static inline int synthetic_layers(int n_ops)
{
    return (n_ops + SYNTHETIC_LAYER_OPS - 1) / SYNTHETIC_LAYER_OPS;
}

#endif
