/* graph.h - a model as columns: ops in program order, tensors, names, attributes.
 *
 * Ops and tensors are small ints. After graph_seal() the graph is read-only and these hold:
 *   - every op's inputs are made by an earlier op, or by none (graph input, initializer);
 *   - a tensor has one maker; `uses` lists its reading ops in program order, once per operand;
 *   - names are unique per kind; an unnamed op has a made-up name "Operator_N".
 * Program order is file order where that is topological, else Kahn's with file order as tie-break.
 *
 * Operator names are Names ids: the plain name for ai.onnx ("MatMul"), "domain::Name" else. The
 * path of an op is the module it comes from, "transformer.h.0.mlp.c_fc". Weights are never read:
 * TensorData is a view of the mapped file, or of a file not opened.
 */
#ifndef CORE_MODEL_GRAPH_H
#define CORE_MODEL_GRAPH_H

#include "core/base/names.h"
#include "core/base/vec.h"
#include "core/model/dtype.h"
#include "core/model/shape.h"

typedef struct Graph Graph;

/* How the elements of a constant are encoded in its bytes. */
typedef enum {
    DATA_RAW,     /* little-endian elements; f32 from float_data too */
    DATA_VARINTS, /* int32_data, int64_data, uint64_data: packed varints */
    DATA_STRINGS, /* string_data: no op computes with it */
    DATA_DENSE,   /* a literal of MLIR, `dense<..>` (dense.h), in the mapped file */
    DATA_FILL,    /* every element is `fill`; zero, or of a type f32, f64 or i64 */
    DATA_ABSENT   /* external, and its file does not exist (or is not opened yet) */
} DataForm;

typedef struct {
    DataForm form;
    Str bytes;            /* of weights in the mapped file; {NULL,0} if absent */
    const char *location; /* external data: path as in the file; NULL if inline */
    int64_t offset, length;
    double fill;
    Dtype stored;      /* DT_F32 if the elements are stored as f32 but the tensor is f64
                          (widen.h); else DT_NONE */
    const char *parts; /* names of the tensors in checkpoints that are stacked on dim 0 here:
                          "experts.*.w1.weight", * an index; NULL if it is not a stack */
} TensorData;

typedef enum { TENSOR_INPUT, TENSOR_INITIALIZER, TENSOR_MADE } TensorKind;

/* A dim as the file declares it. */
typedef struct {
    int64_t size; /* -1: free */
    int32_t name; /* Names id of a free dim's name, 0 if it has none */
} DeclaredDim;

typedef struct {
    int32_t name;
    int32_t maker;    /* op, or -1 */
    int32_t declared; /* first index in graph->declared, or -1 if no shape is declared */
    int32_t data;     /* index in graph->data, or -1 */
    int32_t use;      /* first index in graph->uses; the next tensor's `use` ends the run */
    uint8_t n_declared;
    uint8_t dtype;     /* Dtype as declared; DT_NONE if it is to be inferred */
    uint8_t kind;      /* TensorKind */
    bool output : 1;   /* of the graph */
    bool sequence : 1; /* declared as a sequence, or an optional one: dtype and shape are those of
                          its elements */
    bool optional : 1; /* declared as an optional: dtype and shape are those of its contents */
    /* What the file says of an initializer, if it tells parameters from buffers. */
    bool trains : 1; /* a parameter with a gradient */
    bool frozen : 1; /* a parameter without one */
    bool buffer : 1;
} GraphTensor;

typedef enum {
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_STRING,
    ATTR_INTS,
    ATTR_FLOATS,
    ATTR_STRINGS,
    ATTR_TENSOR,
    ATTR_GRAPH
} AttrType;

typedef struct {
    int32_t name; /* Names id */
    uint8_t type;
    uint8_t dtype; /* ATTR_TENSOR */
    int32_t n;     /* of ints, floats, strings */
    int32_t shape; /* ATTR_TENSOR: Shapes id */
    union {
        int64_t i;
        double f;
        Str s;
        const int64_t *ints;
        const double *floats;
        const Str *strings;
        const TensorData *tensor;
    };
} Attr;

/* Attributes of an op; equal lists (except those with tensors or graphs) are one list with one id.
 * A list also stores the opset of its op if it differs from the graph's: local functions have their
 * own. */
typedef struct {
    int n;
    int32_t opset; /* 0: the graph's */
    const Attr *at;
} AttrList;

typedef struct {
    int32_t name, path, op_type; /* Names ids */
    int32_t attrs;               /* AttrList id */
    int32_t input;               /* first place in graph->operands; outputs follow inputs */
    uint16_t n_inputs, n_outputs;
} GraphOp;

/* The ops of a branch of an If, or of the body of a Loop or Scan, are ops of the one flat graph,
 * in a row: [first, end). A branch is taken if `of` is true, or if it is false. A body runs once
 * per iteration: a carried value enters by an op LoopCarry, and is `next` in the next iteration.
 *     Loop   as long as `next` of its first carry, the condition, is true; at most `of` times
 *     Scan   once per element of dim `dim` of the tensor `of`
 * Bodies are listed in program order, a body before those inside it.
 */
typedef enum { BODY_THEN, BODY_ELSE, BODY_LOOP, BODY_SCAN } BodyKind;
typedef struct {
    int32_t first, end; /* ops */
    int32_t of;         /* a tensor; -1 if none. The condition, the number of iterations or what
                           is scanned */
    int32_t carry;      /* first place in graph->carries */
    int32_t n_carries;
    uint8_t kind; /* BodyKind */
    int8_t dim;
} GraphBody;
typedef struct {
    int32_t in, next; /* tensors: as an iteration reads it, as it leaves it */
} GraphCarry;

/* The model's name for the kind of layer that the module at this path is, where layers differ:
 * "local". */
typedef struct {
    int32_t path; /* Names id */
    const char *kind;
} ModuleKind;

/* The part of a training step that an op belongs to. ORDER PHASE: phase_name() */
typedef enum { PHASE_FORWARD, PHASE_AGAIN, PHASE_BACKWARD, PHASE_UPDATE } Phase;

const char *phase_name(Phase phase); /* "forward" */

/* Another name that the file uses for a tensor. */
typedef struct {
    int32_t name, tensor; /* Names id */
} GraphName;

/* The range of sizes that the file allows for a free dim; -1: no limit. */
typedef struct {
    int32_t name; /* Names id */
    int64_t least, most;
} DimRange;

struct Graph {
    Arena *arena; /* everything below is allocated here */
    Names *names;
    Shapes *shapes;
    int n_ops, n_tensors, n_operands, n_inputs, n_outputs;
    GraphOp *ops;
    GraphTensor *tensors;
    int32_t *operands; /* tensor ids; -1 for an absent optional operand */
    int32_t *uses;     /* ops */
    DeclaredDim *declared;
    TensorData *data;
    AttrList *attr_lists;
    GraphBody *bodies;
    GraphCarry *carries;
    int n_bodies, n_carries;
    int32_t *inputs, *outputs; /* tensors, in the file's order; inputs without initializers */
    /* Of a training step (core/step/step.h): forward ops come first, as they are in the model's
     * graph, with the same ids. Per op: its phase, and the forward op that it was derived from, or
     * -1. NULL for a model's graph. */
    const uint8_t *phase;
    const int32_t *of;
    const int32_t *gradient_of; /* per tensor: the tensor whose gradient, or an addend of it, it is;
                                   -1 */
    const int32_t *next_of;     /* per tensor: the tensor whose gradient it is, or an addend of that
                                   gradient; -1 */
    bool widened;               /* its f32 tensors were changed to f64 (widen.h) */
    int64_t opset;              /* of ai.onnx; 0 for a made graph */
    int n_nodes;                /* ops in the file, before anything is folded */
    const char *file;           /* as given, or a made-up name */
    uint64_t hash;              /* of the file's size and its first 64 MiB; 0 for a made graph */
    const char *script;         /* the file whose lines made the ops, and the line of each; or NULL
                                 */
    const int32_t *lines;
    const ModuleKind *kinds;
    int n_kinds;
    const GraphName *also;
    int n_also;
    const DimRange *ranges;
    int n_ranges;
    int32_t n_names;        /* number of names at sealing: the length of the next */
    int32_t *owner_of_name; /* the tensor; -2 - op if no tensor has the name; -1 if none */
    int32_t *named_as;      /* ops whose name belongs to a tensor that they do not make, by name */
    int n_named_as;
    /* Only for a file that holds a training step (core/model/stated.h). NULL for other files. */
    const struct StatedStep *stated;
};

/* ---- building (readers, Lua builders, benches) ---- */
typedef struct GraphBuilder GraphBuilder;

GraphBuilder *graph_builder_new(Arena *arena, const char *file);
Graph *graph_builder_graph(GraphBuilder *builder); /* for names, shapes, arena */
/* An empty builder that shares the graph's texts, names, shapes and lists of attributes. */
GraphBuilder *graph_builder_like(Arena *arena, const Graph *graph);
/* The same, but it starts with everything in the graph, under the same ids; additions follow. */
GraphBuilder *graph_builder_from(Arena *arena, const Graph *graph);
/* Reserves room for known counts; saves the memory that growing arrays leave behind. */
void graph_reserve(GraphBuilder *builder, int n_ops, int n_tensors, int n_operands, int n_names);
/* The same for that many more than it holds now. */
void graph_reserve_more(GraphBuilder *builder, int n_ops, int n_tensors, int n_operands,
                        int n_names);
/* Returns the tensor of that name; the first mention creates it (TENSOR_MADE, no maker yet). The
 * empty name is an absent operand: -1. */
int32_t graph_tensor(GraphBuilder *builder, Str name);
/* The same for the id of a name that is not empty. */
int32_t graph_tensor_named(GraphBuilder *builder, int32_t name);
/* Creates a tensor of an inner graph. It gets the name when the graph is sealed, or a made-up one
 * if the name is taken. */
int32_t graph_new_tensor(GraphBuilder *builder, Str name);
/* Adds a graph input. n_dims < 0: the shape is not declared. If it is also an initializer it stays
 * one. */
void graph_add_input(GraphBuilder *builder, int32_t tensor, Dtype dtype, const DeclaredDim *dims,
                     int n_dims);
/* Records the declared type and shape of a tensor that an op makes; the declaration may be wrong or
 * missing. Ignored for inputs and initializers. */
void graph_declare(GraphBuilder *builder, int32_t tensor, Dtype dtype, const DeclaredDim *dims,
                   int n_dims);
void graph_add_initializer(GraphBuilder *builder, int32_t tensor, Dtype dtype, const Shape *shape,
                           TensorData data);
void graph_add_output(GraphBuilder *builder, int32_t tensor);
/* Renames a tensor that an op makes; the op keeps its own name. Returns false if the name is taken,
 * or if no op makes the tensor. */
bool graph_rename(GraphBuilder *builder, int32_t tensor, Str name);
const char *graph_builder_name(const GraphBuilder *builder, int32_t tensor);
/* Returns true, with the first fault in *err, if something that was added is wrong. */
bool graph_builder_fails(const GraphBuilder *builder, Error *err);
/* Returns whether a tensor has that name; tensors of graph_new_tensor() have none yet. */
bool graph_has_tensor(const GraphBuilder *builder, Str name);
bool graph_has_tensor_named(const GraphBuilder *builder, int32_t name);
/* Declares the tensor as a sequence, or as an optional. */
void graph_mark(GraphBuilder *builder, int32_t tensor, bool sequence, bool optional);
/* Declares the initializer as a parameter, with a gradient or without, or as a buffer. Initializers
 * of a file that does not tell them apart are not declared. */
typedef enum { MARK_TRAINS, MARK_FROZEN, MARK_BUFFER } TrainingMark;
void graph_mark_training(GraphBuilder *builder, int32_t tensor, TrainingMark mark);
/* AttrList id; 0 is the empty list. Lists and texts are copied, TensorData is not. */
int32_t graph_add_attrs(GraphBuilder *builder, const Attr *attrs, int n);
int32_t graph_add_attrs_of_opset(GraphBuilder *builder, const Attr *attrs, int n, int32_t opset);
int32_t graph_add_op(GraphBuilder *builder, Str op_type, Str name, Str path, const int32_t *inputs,
                     int n_inputs, const int32_t *outputs, int n_outputs, int32_t attrs);
/* The same; name, path, op_type, attrs and numbers of operands are taken from `op`. */
int32_t graph_add_op_like(GraphBuilder *builder, GraphOp op, const int32_t *inputs,
                          const int32_t *outputs);
/* Adds a body whose ops, from `first` on, were added: call it before adding its carries, and after
 * the bodies inside it. */
void graph_add_body(GraphBuilder *builder, GraphBody body, const GraphCarry *carries);
/* Orders the ops, lists uses, checks. Returns NULL on a cycle, a tensor with no maker or with two,
 * or a count over its limit; *err names it. The builder must not be used afterwards. */
Graph *graph_seal(GraphBuilder *builder, Error *err);

/* The `hash` of a file with these bytes. */
uint64_t graph_hash_of_file(Str bytes);

/* ---- queries ---- */
static inline const int32_t *op_inputs(const Graph *graph, int32_t op)
{
    return graph->operands + graph->ops[op].input;
}

static inline const int32_t *op_outputs(const Graph *graph, int32_t op)
{
    return graph->operands + graph->ops[op].input + graph->ops[op].n_inputs;
}

/* The tensor of an operand (inputs, then outputs); -1 if absent. */
static inline int32_t op_operand(const Graph *graph, int32_t op, int operand)
{
    int n_inputs = graph->ops[op].n_inputs;
    return operand < n_inputs ? op_inputs(graph, op)[operand]
                              : op_outputs(graph, op)[operand - n_inputs];
}

/* The first output that is there; -1 if none is. */
static inline int32_t op_first_output(const Graph *graph, int32_t op)
{
    for (int o = 0; o < graph->ops[op].n_outputs; o++)
        if (op_outputs(graph, op)[o] >= 0)
            return op_outputs(graph, op)[o];
    return -1;
}

static inline int32_t op_output_place(const GraphOp *op)
{
    return op->input + op->n_inputs;
}

static inline int tensor_n_uses(const Graph *graph, int32_t tensor)
{
    return graph->tensors[tensor + 1].use -
           graph->tensors[tensor].use; /* one sentinel at the end */
}

const char *op_name(const Graph *graph, int32_t op);
const char *op_path(const Graph *graph, int32_t op); /* "" if it has none */
const char *op_path_or_name(const Graph *graph, int32_t op);
const char *op_operator(const Graph *graph, int32_t op);
const char *tensor_name(const Graph *graph, int32_t tensor);
/* The number of places in graph->operands up to and including the last input of an op. */
int32_t graph_n_input_places(const Graph *graph);

int32_t graph_find_tensor(const Graph *graph, Str name); /* -1 if there is none */
int32_t graph_find_op(const Graph *graph, Str name);

const Attr *op_attr(const Graph *graph, int32_t op, const char *name); /* NULL if absent */
int64_t op_opset(const Graph *graph, int32_t op);
int64_t op_attr_int(const Graph *graph, int32_t op, const char *name, int64_t fallback);
double op_attr_float(const Graph *graph, int32_t op, const char *name, double fallback);
Str op_attr_text(const Graph *graph, int32_t op, const char *name, const char *fallback);

/* Bound sizes of free dims: "batch=8,seq=1024". */
typedef struct {
    Str name;
    int64_t size;
} DimBinding;
typedef Vec(DimBinding) DimBindings;
bool dim_is_overridden(const DimBindings *dims, int i); /* a later binding of the same dim wins */

/* Reads "k=v,..." and appends to bindings (a later one wins). Sizes are 0 or more. */
bool dims_parse(Arena *arena, const Source *source, DimBindings *bindings, Error *err);

/* The size of a declared dim under the bindings; -1 if free and unbound. A name may be an
 * expression of others (dim_expr.h). */
int64_t dim_size(const Graph *graph, DeclaredDim dim, const DimBindings *bindings);

/* Copies the elements of data, in host byte order, to out (n * sizeof element; types of less than
 * a byte take one byte each). Returns false if absent, short or of a form that cannot be read as
 * dtype. */
bool data_read(const TensorData *data, Dtype dtype, int64_t n_elements, void *out, Error *err);

#endif
