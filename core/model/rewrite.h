/* rewrite.h - a graph in which some ops are replaced by others; everything that stays keeps its
 * name.
 *
 *     Rewrite *rewrite = rewrite_new(graph);
 *     int32_t k = rewrite_add(rewrite, (NewOp){.before = matmul, "Transpose", ..});
 *     rewrite_add(rewrite, (NewOp){.before = matmul, "Attention", .replaces = matmul, ..});
 *     Graph *result = rewrite_seal(rewrite, &err);
 *
 * Ops and constants that only replaced ops needed are left out. The result shares names, shapes,
 * texts and data with the old graph and is in its arena.
 */
#ifndef CORE_MODEL_REWRITE_H
#define CORE_MODEL_REWRITE_H

#include "core/model/graph.h"

typedef struct Rewrite Rewrite;

enum { NEW_OP_INPUTS = 4, NEW_OP_ATTRS = 6 };
typedef struct {
    int32_t before; /* an op of the old graph: the new op runs just before it and gets its path */
    bool replaces;  /* the new op makes that op's first output and gets its name */
    const char *operator;
    int n_inputs, n_attrs;
    int32_t input[NEW_OP_INPUTS]; /* tensors of the old graph, or results of rewrite_add(); -1:
                                     absent */
    Attr attr[NEW_OP_ATTRS];      /* made by rewrite_int() and its like */
} NewOp;

Rewrite *rewrite_new(const Graph *graph);
/* Adds an op and returns the tensor that it makes. An op equal to an earlier one is not added
 * again. */
int32_t rewrite_add(Rewrite *rewrite, NewOp op);
/* Adds a constant of one element; n_dims is 0 or 1; `bytes` are those of the element. */
int32_t rewrite_constant(Rewrite *rewrite, Dtype dtype, int n_dims, const void *bytes,
                         size_t n_bytes);
Attr rewrite_int(const Rewrite *rewrite, const char *name, int64_t value);
Attr rewrite_float(const Rewrite *rewrite, const char *name, double value);
Attr rewrite_ints(const Rewrite *rewrite, const char *name, const int64_t *values, int n);
/* Returns NULL with *err if a name that is needed is already taken. */
Graph *rewrite_seal(Rewrite *rewrite, Error *err);

/* ---- for rewrites of another kind ---- */

/* Copies a tensor of the graph: its name, its declaration and its elements. */
int32_t rewrite_copy_tensor(GraphBuilder *builder, const Graph *graph, int32_t tensor);
/* Declares the inputs and outputs of the graph; tensor[] maps tensors of the graph to those of the
 * builder. */
void rewrite_copy_ends(GraphBuilder *builder, const Graph *graph, const int32_t *tensor);

typedef struct {
    void *context;
    void (*emit)(void *context, int32_t op); /* adds what stands in the place of the op */
    bool (*drops)(void *context, const GraphCarry *carry); /* NULL: no carry is left out */
} RewriteOps;

/* Has all ops of the graph emitted in their order, and adds its bodies around them; tensor[] maps
 * tensors as above. */
void rewrite_copy_ops(GraphBuilder *builder, const Graph *graph, const int32_t *tensor,
                      const RewriteOps *ops);

/* Seals the graph that `graph` became; lines: by new op, taken if `graph` has lines. NULL with the
 * builder's fault. */
Graph *rewrite_seal_like(GraphBuilder *builder, const Graph *graph, int32_t *lines, Error *err);

#endif
