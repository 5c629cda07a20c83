/* lower.h - from the tree of a module to a graph; the files of the reader alone include this.
 *
 * Functions are inlined where they are called, regions of control flow where they stand. A frame is
 * the inside of one: what is put before the names of its values and paths of its ops. A function
 * cannot be active twice, so each value of the tree stands for one tensor at a time.
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
    Str path;   /* of the op it stands for: "h.0.attn" */
    uint8_t phase;
} MlirFrame;

/* The module that ops of a location are in, within that of their frame; and their phase of a
 * training step, as in StatedStep, 0 if their names are of no transformation. */
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
    const char *ours;  /* its operator; NULL: of the same name */
    const char *attrs; /* those it has: see lower_attrs() */
} MlirRow;

/* What is known of a kind of op: its row, else our operator of that name, else neither. */
typedef struct {
    const MlirRow *row;
    const Alias *alias;
    int32_t first;        /* op of the tree; -1: there is none */
    const char *operator; /* the last that an op of the kind became, and the id of that name */
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
    Vec(MlirPlace) places; /* .. per key: the last path it had */
    Str last_location;     /* of an op .. */
    int32_t last_place;    /* .. and its place; meaningless while there are none */
    Vec(uint8_t) phases;   /* per names id of an op, as in StatedStep */
    Vec(Attr) attrs;       /* of the op being made */
    Vec(int32_t) inputs;
    const MlirRow *row; /* of the op; NULL: it has none */
    int32_t seen;       /* ops of the tree that were passed, for the bound */
};

/* Stops with an error at the op. */
void lower_fail(MlirLowering *lowering, const MlirOp *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- tensors ---- */

int32_t lower_use(MlirLowering *lowering, const MlirOp *op, int i); /* operand i */
/* A tensor of the frame with the type of the value; `name` is made whole. */
int32_t lower_new(MlirLowering *lowering, Str name, int32_t type_of);
int32_t lower_result(MlirLowering *lowering, const MlirOp *op,
                     int i); /* a new tensor for result i */
const MlirType *lower_type(MlirLowering *lowering, const MlirOp *op,
                           int i); /* of operand i; never NULL */
const MlirType *lower_made(MlirLowering *lowering, const MlirOp *op,
                           int i); /* of result i; likewise */
/* "%10/%3" and a part behind it. */
Str lower_name(MlirLowering *lowering, const MlirOp *op, const char *part);
int32_t lower_constant_ints(MlirLowering *lowering, const MlirOp *op, const char *part, Dtype dtype,
                            const int64_t *at, int n, bool scalar);

/* ---- ops ---- */

void lower_attr_int(MlirLowering *lowering, const char *name, int64_t value);
void lower_attr_ints(MlirLowering *lowering, const char *name, const int64_t *at, int n);
void lower_attr_text(MlirLowering *lowering, const char *name, Str text);
/* Adds the attributes that a row lists: "OURS KIND KEY[.MEMBER] ..; ..". KIND: i a number, z one
 * that is 0 unless it is there, l a list of them, n a list of pairs, p two lists, w a text. Of
 * several keys the first that is there. */
void lower_attrs(MlirLowering *lowering, const MlirOp *op, const char *list);
/* An op of the operator with the attributes that were added; inputs are tensors. part: behind its
 * name; "" for the op itself. Outputs are tensors, or -1. */
void lower_add(MlirLowering *lowering, const MlirOp *op, const char *operator_name,
               const char *part, const int32_t *inputs, int n_inputs, const int32_t *outputs,
               int n_outputs);
/* The same with the op's operands and results. */
void lower_plain(MlirLowering *lowering, const MlirOp *op, const char *operator_name);
/* An op with one result in between: its tensor. */
int32_t lower_step(MlirLowering *lowering, const MlirOp *op, const char *operator_name,
                   const char *part, const int32_t *inputs, int n_inputs);

/* ---- regions ---- */

/* Lowers the ops of a region but its return; `args`: tensors of its arguments. Returns the return,
 * NULL with a failure. */
const MlirOp *lower_region(MlirLowering *lowering, const MlirRegion *region, const int32_t *args);
/* The same inside of a frame named after the op and the part. */
void lower_enter(MlirLowering *lowering, const MlirOp *op, const char *part, MlirFrame *frame);
void lower_leave(MlirLowering *lowering);
void lower_ops(MlirLowering *lowering, int32_t first, int32_t end);

MlirLower lower_while, lower_if, lower_case;
MlirLower lower_call, lower_composite;
const MlirRow *lower_row(Str name);

/* ---- shardings: those that the session asks for ---- */
void shardings_meshes(MlirLowering *lowering);
void shardings_of_info(MlirLowering *lowering, int32_t info, int32_t tensor);
void shardings_of_op(MlirLowering *lowering, const MlirOp *op);

/* A region of scalars as lines of text, one an op: core/rules/scalar_code.h. */
bool lower_region_code(MlirLowering *lowering, const MlirOp *op, int region);

#endif
