/* extension.h - a graph and its inference with more ops behind them: how the parts of a training
 * step are added.
 *
 *     Extension more;
 *     extension_open(arena, scratch, inferred, &more);
 *     name = extension_name(&more, stem, "~grad");
 *     t = extension_tensor(&more, name, shape, dtype, gradient_of);
 *     extension_op(&more, &(NewStepOp){.op_type = extension_word(&more, "Sum"), ..});
 *     extension_close(&more, &graph, &inferred, &err);
 *
 * Ids of the base stay. Nothing is inferred again: whoever adds an op brings its index space and
 * the shapes of its outputs. Equal spaces are stored once, found by a key. An op with space -1 is a
 * host op, whose outputs have values. Names are Names ids, as in the graph.
 */
#ifndef CORE_STEP_EXTENSION_H
#define CORE_STEP_EXTENSION_H

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/rules/infer.h"

typedef Vec(int32_t) Vec32;

/* Of a tensor whose value is known before the run. */
typedef struct {
    int32_t tensor;
    const Value *value;
} ExtensionValue;

typedef struct Extension {
    Arena *arena, *scratch;
    const Inferred *base;
    GraphBuilder *builder;
    Intern *space_keys;
    Vec32 space_of_key;
    Vec(const OpSpace *) spaces; /* all, the base's first */
    /* columns per tensor and per op, the base's first */
    Vec32 shape, gradient_of, next_of, space, of;
    Vec(uint8_t) dtype, phase;
    Vec(bool) on_parameters;
    Vec(ExtensionValue) values;
    int64_t later_ops, later_tensors, later_operands; /* extension_expect() */
    bool updates;                                     /* a tensor is the next value of another */
} Extension;

typedef struct {
    int32_t op_type, path, name;
    const int32_t *inputs, *outputs;
    int n_inputs, n_outputs;
    int32_t attrs, space, of; /* of: Graph.of */
    Phase phase;
    bool on_parameters;
} NewStepOp;

/* The base outlives the extension, which allocates what it leaves in `arena`. */
void extension_open(Arena *arena, Arena *scratch, const Inferred *base, Extension *out);

/* About so many more will be added after the first ones. */
void extension_expect(Extension *more, int64_t n_ops, int64_t n_tensors, int64_t n_operands);
/* Makes room for what is expected and for so many more, which read and make so many operands and
 * have names of their own and so many others: once, before anything is added. */
void extension_reserve(Extension *more, int64_t n_ops, int64_t n_tensors, int64_t n_operands,
                       int n_names);

int32_t extension_word(const Extension *more, const char *text);
/* The path of a part of the step, "backward.h.0", of a module's path; the head alone of no path. */
int32_t extension_path(const Extension *more, const char *head, int32_t path);
/* The name with an end behind it. */
int32_t extension_joined(const Extension *more, int32_t stem, const char *end);
/* The name of a tensor of the base or of the extension. */
int32_t extension_name_of(const Extension *more, int32_t tensor);
/* A name that no tensor has: the given one, or it with underscores. */
int32_t extension_free_name(const Extension *more, int32_t name);
/* The same for a stem with an end. */
int32_t extension_name(const Extension *more, int32_t stem, const char *end);

/* A new tensor; shape: an id of the base's Shapes. gradient_of: Graph.gradient_of. */
int32_t extension_tensor(Extension *more, int32_t name, int32_t shape, Dtype dtype,
                         int32_t gradient_of);
/* Makes a new tensor the value that another has in the next step: Graph.next_of. */
void extension_set_next(Extension *more, int32_t tensor, int32_t next_of);

/* Of a tensor of the base or of the extension. */
int32_t extension_shape_of(const Extension *more, int32_t tensor);
Dtype extension_dtype_of(const Extension *more, int32_t tensor);

/* The same for a tensor whose value is known before the run. */
void extension_set_value(Extension *more, int32_t tensor, const Value *value);

/* The id of the space with that key; -1: there is none yet, and the next extension_add_space() is
 * it. */
int32_t extension_space(Extension *more, const Vec32 *key);
int32_t extension_add_space(Extension *more, OpSpace *space);

void extension_op(Extension *more, const NewStepOp *op);

/* Seals the graph. False with *err: what was added does not fit. */
bool extension_close(Extension *more, Graph **graph, Inferred **inferred, Error *err);

#endif
