/* onnx_reader.h - what the files of the ONNX reader share; private to them.
 *
 * Nodes of the graph, of local functions and of the bodies of If, Loop and Scan all become ops of
 * one flat graph. An OnnxScope is the inside of a function call or of a body: it has its own names,
 * each for a tensor, and a prefix for the names and paths of its ops. A function sees only its own
 * names; a body also sees the names around it.
 *
 * Scratch lists of the node being read are emptied and reused for the next one; before an inner
 * graph is read, what is still needed from them is copied. A list attribute keeps its place in its
 * scratch list in `i` until all attributes of the node are read, since the list may move while it
 * grows.
 *
 * Inlining is limited by counting what it reads and makes: a small file can stand for 2^64 ops.
 */
#ifndef CORE_MODEL_ONNX_READER_H
#define CORE_MODEL_ONNX_READER_H

#include "core/model/builder.h"
#include "core/model/onnx.h"
#include "core/model/wire.h"

enum { SCOPES_MAX = 48, INLINED_BYTES_MAX = 1 << 29 };

/* Fields of a GraphProto. */
enum {
    FIELD_NODE = 1,
    FIELD_INITIALIZER = 5,
    FIELD_INPUT = 11,
    FIELD_OUTPUT = 12,
    FIELD_INFO = 13,
    FIELD_SPARSE = 15
};

/* A local function: FunctionProto. */
typedef struct {
    Wire wire;
    int64_t opset; /* of ai.onnx; 0: it imports none */
    bool open;     /* being inlined */
    int64_t bytes; /* least memory that a call takes, with all that it calls; 0: not counted yet */
} Function;

typedef struct OnnxScope OnnxScope;
struct OnnxScope {
    OnnxScope *outer;   /* NULL: the graph */
    Function *function; /* NULL: a body */
    Arena *arena;
    Intern *names;
    Vec(int32_t) tensors;     /* per name; -1: an absent operand */
    Str prefix, path, around; /* prefix of names; prefix of paths; the path of the op that the
                                 scope replaces */
    AttrList attrs;           /* of the call */
    int64_t opset;            /* 0: the graph's */
    int depth;
};

/* An attribute that is a graph. */
typedef struct {
    Str name;
    Wire wire;
} Subgraph;

typedef struct {
    Arena *arena;
    GraphBuilder *builder;
    Graph *graph;
    OnnxKeep keep;
    OnnxScope *scope;
    Intern *function_keys;
    Vec(Function) functions; /* by key */
    int64_t bytes_left;      /* what inlining may still allocate */
    Vec(int32_t) inputs, outputs;
    Vec(Attr) attrs;
    Vec(Subgraph) subgraphs;
    Vec(int64_t) ints;
    Vec(double) floats;
    Vec(Str) strings;
    Buf path, whole_name, whole_path, kind;
    int64_t ir_version;
    bool has_graph, has_opset, has_output;
    const char *reported; /* progress is reported up to here */
} OnnxReader;

/* A node as far as it is read. Name and path include the scope's prefixes. */
typedef struct {
    Str name, op_type, domain, overload, scopes;
    Str path;
    const char *start; /* in the file, for errors */
} OnnxNode;

/* A node that is replaced by other ops: a copy of its scratch lists. */
typedef struct {
    OnnxNode node;
    Wire wire; /* for errors */
    Str label; /* its name, or a made one */
    int32_t *inputs, *outputs;
    int n_inputs, n_outputs;
    int32_t attrs; /* AttrList id */
    Subgraph *subgraphs;
    int n_subgraphs;
} InlinedCall;

/* ---- attributes: onnx_attr.c ---- */
void read_attr(OnnxReader *reader, Wire wire);
/* AttrList id of the attributes read so far; their pointers are set. */
int32_t add_attrs(OnnxReader *reader);

/* ---- values: onnx_value.c ---- */
typedef struct {
    Str name;
    Dtype dtype;
    int n_dims; /* -1: not declared */
    bool sequence, optional;
    DeclaredDim dims[DIMS_MAX];
} Declared;
Declared read_value_info(OnnxReader *reader, Wire wire);
void declare_value(OnnxReader *reader, Wire wire); /* of a tensor that the scope knows */
void read_initializer(OnnxReader *reader, Wire wire, bool sparse);
Str initializer_name(Wire wire, bool sparse);

/* ---- nodes: onnx_node.c ---- */
void read_node(OnnxReader *reader, Wire wire);
Str operator_name(OnnxReader *reader, const OnnxNode *node);
/* Adds an op of the call itself, with one output; its name is the call's plus the suffix. */
int32_t add_op(OnnxReader *reader, const char *op_type, const InlinedCall *call, const char *suffix,
               const int32_t *inputs, int n_inputs, int32_t output, int32_t attrs);

/* ---- operands that are one tensor: onnx_packed.c ---- */
void unpack_operands(OnnxReader *reader, const OnnxNode *node); /* of the node that is read */

/* ---- scopes: onnx_scope.c ---- */
int32_t reader_tensor(OnnxReader *reader, Str name); /* -1: an absent operand */
/* Opens the scope of a call, named after it and the branch. Returns false, with a fault, if it is
 * too deep or too large. */
bool scope_open(OnnxReader *reader, OnnxScope *scope, const InlinedCall *call, Wire inside,
                const char *branch);
void scope_close(OnnxReader *reader);
void scope_define(OnnxScope *scope, Str name, int32_t tensor);
void scope_define_new(OnnxReader *reader, Str name); /* a tensor of that name, unless it is there */
/* The names that the nodes make. */
void scope_define_made(OnnxReader *reader, Wire nodes, uint32_t field);
void read_opset(Wire wire, int64_t *version); /* sets it only if the entry is of ai.onnx */
void index_function(OnnxReader *reader, Wire wire);
Function *called_function(OnnxReader *reader,
                          const OnnxNode *node); /* NULL: none, or to be kept an op */
void inline_function(OnnxReader *reader, const InlinedCall *call, Function *function);

/* ---- branches and loops: onnx_control.c ---- */
bool read_control(OnnxReader *reader, const InlinedCall *call); /* false: an op like others */
/* Reads the ops of a graph of one input and one output; *x: the input, then the output. Returns
 * false, with a fault. */
bool read_modifier(OnnxReader *reader, const InlinedCall *call, const Subgraph *graph,
                   const char *name, int32_t *x);

/* ---- onnx_flex.c ---- */
/* Graphs of one input and one output, or NULL. Returns false if it is an op like others. */
bool read_flex_attention(OnnxReader *reader, const InlinedCall *call, const Subgraph *score_mod,
                         const Subgraph *prob_mod);

static inline bool is_plain_domain(Str domain)
{
    return domain.n == 0 || str_eq(domain, STR("ai.onnx"));
}

#endif
