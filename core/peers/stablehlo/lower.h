/* lower.h - turns the tree of a module into a graph; private to the reader.
 *
 * Functions are inlined where they are called, regions of control flow where they occur. A frame is
 * the inside of one, with the prefixes of the names of its values and of the paths of its ops. A
 * function cannot be active twice, so each value of the tree stands for one tensor at a time.
 */
#ifndef CORE_PEERS_STABLEHLO_LOWER_H
#define CORE_PEERS_STABLEHLO_LOWER_H

#include "core/model/builder.h"
#include "core/model/reader.h"
#include "core/peers/stablehlo/tree.h"
#include "core/rules/alias.h"

enum { LOWERED_OPS_MAX = 1 << 24, CALLS_MAX = 48 };

typedef struct MlirFrame {
    const struct MlirFrame *outer;
    Str prefix; /* "%10/" */
    Str path;   /* of the op that it replaces: "h.0.attn" */
    uint8_t phase;
} MlirFrame;

/* The module of the ops with a location, relative to the module of their frame; and their phase of
 * a training step, as in StatedStep, 0 if their names belong to no transformation. */
typedef struct {
    Str outer, path;
    int32_t name; /* of the path */
    uint8_t phase;
} MlirPlace;

typedef struct MlirLowering MlirLowering;
typedef void MlirLower(MlirLowering *lowering, const MlirOp *op);

/* How an operator of the text becomes an op of the graph. */
typedef struct {
    const char *name; /* "stablehlo.add" */
    MlirLower *lower;
    const char *ours;  /* our operator; NULL: the same name */
    const char *attrs; /* its attributes: see lower_attrs() */
} MlirRow;

/* The row for a kind of op, or else our operator of that name, or neither. */
typedef struct {
    const MlirRow *row;
    const Alias *alias;
    int32_t first;        /* an op of the tree; -1: there is none */
    const char *operator; /* the last operator that an op of the kind became, and the id of its
                             name */
    int32_t name;
} MlirKind;

struct MlirLowering {
    const ModelFile *file;
    const MlirTree *tree;
    GraphBuilder *builder;
    Graph *graph;
    Arena *scratch;
    Error *err;
    bool failed;
    const MlirFrame *frame;
    int32_t *tensor; /* per value of the tree: -1, none yet */
    bool *active;    /* per function: it is being inlined */
    int n_active;
    const MlirFunction *main;
    MlirKind *kinds;       /* per kind of the tree's ops */
    Intern *locations;     /* of ops .. */
    Vec(MlirPlace) places; /* .. per key: the last path found for it */
    Str last_location;     /* of an op .. */
    int32_t last_place;    /* .. and its index; only valid if there is one */
    Vec(uint8_t) phases;   /* per names id of an op, as in StatedStep */
    Vec(Attr) attrs;       /* of the op being made */
    Vec(int32_t) inputs;
    const MlirRow *row; /* of the op; NULL: none */
    int32_t seen;       /* number of ops of the tree visited so far, for the limit */
};

/* Stops with an error at the op's place. */
void lower_fail(MlirLowering *lowering, const MlirOp *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- tensors ---- */

int32_t lower_use(MlirLowering *lowering, const MlirOp *op, int i); /* operand i */
/* A new tensor of the frame with the type of the value; the frame's prefix is added to `name`. */
int32_t lower_new(MlirLowering *lowering, Str name, int32_t type_of);
int32_t lower_result(MlirLowering *lowering, const MlirOp *op,
                     int i); /* a new tensor for result i */
const MlirType *lower_type(MlirLowering *lowering, const MlirOp *op,
                           int i); /* of operand i; never NULL */
const MlirType *lower_made(MlirLowering *lowering, const MlirOp *op,
                           int i); /* of result i; likewise */
/* "%10/%3" followed by `part`. */
Str lower_name(MlirLowering *lowering, const MlirOp *op, const char *part);
int32_t lower_constant_ints(MlirLowering *lowering, const MlirOp *op, const char *part, Dtype dtype,
                            const int64_t *at, int n, bool scalar);

/* ---- ops ---- */

void lower_attr_int(MlirLowering *lowering, const char *name, int64_t value);
void lower_attr_ints(MlirLowering *lowering, const char *name, const int64_t *at, int n);
void lower_attr_text(MlirLowering *lowering, const char *name, Str text);
/* Adds the attributes that a row lists: "OURS KIND KEY[.MEMBER] ..; ..". KIND: i a number, z a
 * number that defaults to 0, l a list of numbers, n a list of pairs, p two lists, w a text. If
 * there are several keys, the first that is present counts. */
void lower_attrs(MlirLowering *lowering, const MlirOp *op, const char *list);
/* Adds an op with the attributes that were added; inputs are tensors. part: appended to its name;
 * "" for the op itself. Outputs are tensors, or -1. */
void lower_add(MlirLowering *lowering, const MlirOp *op, const char *operator_name,
               const char *part, const int32_t *inputs, int n_inputs, const int32_t *outputs,
               int n_outputs);
/* The same with the op's operands and results. */
void lower_plain(MlirLowering *lowering, const MlirOp *op, const char *operator_name);
/* Adds an intermediate op with one result; returns its tensor. */
int32_t lower_step(MlirLowering *lowering, const MlirOp *op, const char *operator_name,
                   const char *part, const int32_t *inputs, int n_inputs);

/* ---- regions ---- */

/* Lowers all ops of a region except its return; `args`: tensors of its arguments. Returns the
 * return op; NULL on failure. */
const MlirOp *lower_region(MlirLowering *lowering, const MlirRegion *region, const int32_t *args);
/* The same inside a frame named after the op and the part. */
void lower_enter(MlirLowering *lowering, const MlirOp *op, const char *part, MlirFrame *frame);
void lower_leave(MlirLowering *lowering);
void lower_ops(MlirLowering *lowering, int32_t first, int32_t end);

MlirLower lower_while, lower_if, lower_case;
MlirLower lower_call, lower_composite;
const MlirRow *lower_row(Str name);

/* ---- shardings, if the session asks for them ---- */
void shardings_meshes(MlirLowering *lowering);
void shardings_of_info(MlirLowering *lowering, int32_t info, int32_t tensor);
void shardings_of_op(MlirLowering *lowering, const MlirOp *op);

/* A region of scalar ops as lines of text, one per op: core/run/hlo/scalar.h. */
bool lower_region_code(MlirLowering *lowering, const MlirOp *op, int region);

#endif
