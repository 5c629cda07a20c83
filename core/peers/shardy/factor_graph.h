/* factor_graph.h - the `graph` of the eval protocol: values with shardings, ops with rules.
 *
 *     {"values": {name: {"shape", "dtype", "sharding"}}, "inputs": [names],
 *      "ops": [{"op", "inputs", "outputs", "attrs", "rule", "region_of"}],
 *      "outputs": [{"value", "sharding"}]}
 *
 * Ops are in program order; those of a region follow the op that owns it. A value without a static
 * shape (a token) takes no part. The arguments of a region are not listed in `values`: their names
 * are %arg1, %arg2, .., numbered after the inputs of the function.
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
    const char **name; /* NULL if it has no name */
    const Mesh **at;
} FactorMeshes;

typedef struct {
    const char *name;
    bool is_tensor; /* has a static shape */
    Shape shape;
    Dtype dtype;
    TensorSharding sharding;
    int maker; /* op, or -1 for an input of the function or of a region */
} FactorValue;

typedef enum {
    FACTOR_PLAIN,      /* an op with its rule, or without one */
    FACTOR_CONSTANT,   /* a constant or iota: no operands */
    FACTOR_CONSTRAINT, /* its sharding is that of its output */
    FACTOR_RESHARD,
    FACTOR_GROUP,   /* its input belongs to `group` */
    FACTOR_BARRIER, /* axes pass in direction `pass` */
    FACTOR_EDGE,    /* ties its sources together */
    FACTOR_TIED, /* edges tie its results to the returned values of its regions, or to its inputs */
    FACTOR_MANUAL, /* a region on parts of tensors: `in`, `out`, `manual` */
    FACTOR_RETURN  /* ends a region */
} FactorOpKind;

typedef struct {
    FactorOpKind kind;
    const char *op; /* "stablehlo.dot_general" */
    Str callee;     /* of custom calls */
    int n_inputs, n_outputs;
    int *input, *output;    /* values */
    const FactorRule *rule; /* NULL if it has none */
    const FactorCall *call; /* what its rule is derived from; NULL if the request has the rule */
    bool elementwise;
    int64_t group;
    Pass pass;
    int region_of; /* op, or -1 */
    int n_body;    /* of a manual computation: arguments of its region */
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
    bool conservative;    /* whether rules are conservative; always false for the pipeline */
} FactorGraph;

/* Reads `mesh` or `meshes`, `graph` and `conservative` of a request. Errors: ERROR_UNBOUND for a
 * value, axis or mesh that does not exist, ERROR_DUPLICATE for a value with two producers,
 * ERROR_INVALID, ERROR_RANK. */
FactorGraph *factor_graph_read(Arena *arena, const Json *request, Error *err);

/* The mesh of a sharding; the first mesh if it has none. */
const Mesh *factor_graph_mesh(const FactorGraph *graph, const TensorSharding *sharding);

/* As tensor_sharding_to_json(), with the name of the mesh where there are several. */
Json *factor_graph_sharding_json(Arena *arena, const FactorGraph *graph,
                                 const TensorSharding *sharding);

/* A rule with one factor per dim, for `n_sources` operands and one result of this shape. */
const FactorRule *factor_identity_rule(Arena *arena, const Shape *shape, int n_sources);

#endif
