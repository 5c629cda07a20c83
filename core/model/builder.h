/* builder.h - the columns of a graph while they grow: graph.c fills them and seal.c closes them.
 *
 * The first fault found while adding is kept in `problem` and reported by graph_seal(), so callers
 * that add need no error handling. After a fault nothing more is added.
 */
#ifndef CORE_MODEL_BUILDER_H
#define CORE_MODEL_BUILDER_H

#include "core/base/intern.h"
#include "core/model/graph.h"

struct GraphBuilder {
    Graph *graph;
    Vec(GraphOp) ops;
    Vec(GraphTensor) tensors;
    Vec(int32_t) operands;
    Vec(DeclaredDim) declared;
    Vec(TensorData) data;
    Vec(int32_t) inputs, outputs;
    Vec(int32_t) tensor_of_name;
    int32_t *op_of_name; /* while it is sealed */
    int n_sealed;        /* number of leading ops copied from a sealed graph: they are in order */
    Vec(AttrList) lists;
    Vec(GraphBody) bodies;
    Vec(GraphCarry) carries;
    bool has_new;             /* tensors of inner graphs, which are not in tensor_of_name yet */
    Intern *list_keys;        /* lists that contain neither tensors nor graphs */
    Vec(int32_t) list_of_key; /* key id -> list id */
    int32_t nowhere;          /* 1 + index in data of the entry for elements without bytes and
                                 without a file; 0 if none */
    Dtype filled;             /* of the last data */
    Intern *dims_keys;
    Vec(int32_t) dims_of_key; /* key id -> place in declared */
    int32_t last_dims;        /* the place and number of dims of the last entry; 0 for none yet */
    int n_last_dims;
    Buf key; /* scratch */
    Error problem;
};

/* Copies the graph, with its ids, into an empty builder made by graph_builder_like(). */
void graph_builder_fill(GraphBuilder *builder, const Graph *graph);

#endif
