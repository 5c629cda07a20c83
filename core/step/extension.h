/* extension.h - adds ops after those of a graph and its inference: how the parts of a training step
 * are added.
 *
 *     Extension more;
 *     extension_open(arena, scratch, inferred, &more);
 *     name = extension_name(&more, stem, "~grad");
 *     t = extension_tensor(&more, name, shape, dtype, gradient_of);
 *     extension_op(&more, &(NewStepOp){.op_type = extension_word(&more, "Sum"), ..});
 *     extension_close(&more, &graph, &inferred, &err);
 *
 * The ids of the base stay the same. Nothing is inferred again: the code that adds an op gives its
 * index space and the shapes of its outputs. Equal spaces are stored once, found by a key. An op
 * with space -1 is a host op; its outputs have known values. Names are Names ids, as in the graph.
 */
#ifndef CORE_STEP_EXTENSION_H
#define CORE_STEP_EXTENSION_H

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/rules/infer.h"

typedef Vec(int32_t) Vec32;

/* A tensor whose value is known before the run. */
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
    int64_t later_ops, later_tensors, later_operands; /* set by extension_expect() */
    bool updates;                                     /* some tensor is the next value of another */
} Extension;

typedef struct {
    int32_t op_type, path, name;
    const int32_t *inputs, *outputs;
    int n_inputs, n_outputs;
    int32_t attrs, space, of; /* of: Graph.of */
    Phase phase;
    bool on_parameters;
} NewStepOp;

/* Begins an extension. The base must outlive it; results are allocated in `arena`. */
void extension_open(Arena *arena, Arena *scratch, const Inferred *base, Extension *out);

/* Announces about how many more will be added after those of extension_reserve(). */
void extension_expect(Extension *more, int64_t n_ops, int64_t n_tensors, int64_t n_operands);
/* Makes room for what extension_expect() announced and for these numbers of ops, tensors, operands
 * and names; call it once, before anything is added. */
void extension_reserve(Extension *more, int64_t n_ops, int64_t n_tensors, int64_t n_operands,
                       int n_names);

int32_t extension_word(const Extension *more, const char *text);
/* The path of a module in a part of the step, "backward.h.0"; only the head if the module has no
 * path. */
int32_t extension_path(const Extension *more, const char *head, int32_t path);
/* The name that consists of a stem and an end. */
int32_t extension_joined(const Extension *more, int32_t stem, const char *end);
/* The name of a tensor of the base or of the extension. */
int32_t extension_name_of(const Extension *more, int32_t tensor);
/* A name that no tensor has yet: the given one, with underscores added if needed. */
int32_t extension_free_name(const Extension *more, int32_t name);
/* The same for a name that consists of a stem and an end. */
int32_t extension_name(const Extension *more, int32_t stem, const char *end);

/* A new tensor; shape: an id of the base's Shapes. gradient_of: Graph.gradient_of. */
int32_t extension_tensor(Extension *more, int32_t name, int32_t shape, Dtype dtype,
                         int32_t gradient_of);
/* Makes a new tensor the next step's value of another one: Graph.next_of. */
void extension_set_next(Extension *more, int32_t tensor, int32_t next_of);

/* Of a tensor of the base or of the extension. */
int32_t extension_shape_of(const Extension *more, int32_t tensor);
Dtype extension_dtype_of(const Extension *more, int32_t tensor);

/* The same for a tensor whose value is known before the run. */
void extension_set_value(Extension *more, int32_t tensor, const Value *value);

/* The id of the space with that key; -1: there is none yet, and the next extension_add_space()
 * gives it one. */
int32_t extension_space(Extension *more, const Vec32 *key);
int32_t extension_add_space(Extension *more, OpSpace *space);

void extension_op(Extension *more, const NewStepOp *op);

/* Seals the graph. Returns false with *err if the added ops do not fit. */
bool extension_close(Extension *more, Graph **graph, Inferred **inferred, Error *err);

#endif
