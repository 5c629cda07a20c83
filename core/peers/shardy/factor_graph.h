/* factor_graph.h - the `graph` of the eval protocol: values with shardings, ops with rules.
 *
 *     {"values": {name: {"shape", "dtype", "sharding"}}, "inputs": [names],
 *      "ops": [{"op", "inputs", "outputs", "attrs", "rule", "region_of"}],
 *      "outputs": [{"value", "sharding"}]}
 *
 * Ops stand in program order; those of a region behind the op whose region it is. A value without a
 * static shape (a token) takes no part. What a region is called with has names of its own that
 * `values` does not list: %arg1, %arg2, .. behind the inputs of the function.
 */
#ifndef CORE_PEERS_SHARDY_FACTOR_GRAPH_H
#define CORE_PEERS_SHARDY_FACTOR_GRAPH_H

#include "core/base/vec.h"
#include "core/model/dtype.h"
#include "core/plan/plan.h"
#include "core/peers/shardy/factor_sharding.h"
#include "core/peers/shardy/factor_ops.h"

/* The meshes of a request: one, or several with names. */
typedef struct {
    int n;
    const char **name; /* NULL: it has no name */
    const Mesh **at;
} FactorMeshes;

typedef struct {
    const char *name;
    bool is_tensor; /* of static shape */
    Shape shape;
    Dtype dtype;
    TensorSharding sharding;
    int maker; /* op; -1: an input, of the function or of a region */
} FactorValue;

typedef enum {
    FACTOR_PLAIN,      /* an op with its rule, or without one */
    FACTOR_CONSTANT,   /* and iota: without operands */
    FACTOR_CONSTRAINT, /* the sharding is that of its output */
    FACTOR_RESHARD,
    FACTOR_GROUP,   /* its input belongs to `group` */
    FACTOR_BARRIER, /* axes pass in direction `pass` */
    FACTOR_EDGE,    /* ties its sources together */
    FACTOR_TIED,   /* its results are tied to what its regions return, or to its inputs: by edges */
    FACTOR_MANUAL, /* a region on parts of tensors: `in`, `out`, `manual` */
    FACTOR_RETURN  /* ends a region */
} FactorOpKind;

typedef struct {
    FactorOpKind kind;
    const char *op; /* "stablehlo.dot_general" */
    Str callee;     /* of custom calls */
    int n_inputs, n_outputs;
    int *input, *output;    /* values */
    const FactorRule *rule; /* NULL: it has none */
    const FactorCall *call; /* what its rule is made of; NULL: it is given, or of another kind */
    bool elementwise;
    int64_t group;
    Pass pass;
    int region_of; /* op, or -1 */
    int n_body;    /* of a manual computation: values its region is called with */
    int *body;
    TensorSharding *in, *out; /* of a manual computation, per input and output */
    AxisList manual;          /* in mesh order */
} FactorOp;

typedef struct {
    int value;
    TensorSharding sharding;
} FactorOutput;

typedef struct {
    const FactorMeshes *meshes;
    Vec(FactorValue) values;
    Vec(FactorOp) ops;
    int n_inputs, n_outputs;
    int *input;           /* values */
    FactorOutput *output; /* of the function */
    bool conservative;    /* how the rules were made; the pipeline has no such choice */
} FactorGraph;

/* Reads `mesh` or `meshes`, `graph` and `conservative` of a request. ERROR_UNBOUND: a value, axis
 * or mesh that does not exist; ERROR_DUPLICATE: a value made twice; ERROR_INVALID, ERROR_RANK. */
FactorGraph *factor_graph_read(Arena *arena, const Json *request, Error *err);

/* The mesh of a sharding; the first for one that has none. */
const Mesh *factor_graph_mesh(const FactorGraph *graph, const TensorSharding *sharding);

/* As tensor_sharding_to_json(), with the name of the mesh where there are several. */
Json *factor_graph_sharding_json(Arena *arena, const FactorGraph *graph,
                                 const TensorSharding *sharding);

/* A factor per dim, of `n_sources` tensors and one result of this shape. */
const FactorRule *factor_identity_rule(Arena *arena, const Shape *shape, int n_sources);

#endif
