/* one_op.h - a graph of one op, made of an operator's name, input shapes and attributes.
 *
 * Queries about an operator without a model (the verb `rule`, eval, the rule validator, tests) make
 * such a graph, so that every rule reads its attributes in one way (args_attr() in args.h). Inputs
 * are named "input 0", .., outputs "output 0", ..
 */
#ifndef CORE_RULES_ONE_OP_H
#define CORE_RULES_ONE_OP_H

#include "core/base/json.h"
#include "core/model/graph.h"

typedef struct {
    Str op_type;
    int n_inputs, n_outputs;
    const Shape *shape;          /* per input; n_dims -1: an optional operand that is absent */
    const Dtype *dtype;          /* per input; NULL: all f32 */
    const int64_t *const *value; /* per input: its elements if they are known before the run, as
                                    of a shape or an axis, else NULL; NULL: none are known */
    const Shape *out_shape;      /* per output, where it is declared; NULL: none is */
    const Dtype *out_dtype;
    int64_t opset; /* 0: the latest known */
} OneOp;

/* Reads operands as users write them into the op's inputs:
 *     4x8,8x16   sizes      scalar      4x8:i64  element type     -  absent
 *     =[2,3]     a list of whole numbers known before the run      =3  one such
 *     4x8->8     behind the arrow: what the outputs are declared to be, and how many
 * ERROR_USAGE names the part that has another form. */
bool one_op_operands(Arena *arena, Str text, OneOp *op, Error *err);

/* The graph while it is built: attributes are added with one_op_attr_*, then one_op_graph() ends
 * it. Texts are copied. */
typedef struct OneOpBuilder OneOpBuilder;

OneOpBuilder *one_op_new(Arena *arena, const OneOp *op);

/* Reads the value of an attribute in the forms below. text ends in a NUL and is kept. */
void one_op_attr_value(Arena *arena, Str text, Attr *attr);

/* Adds an attribute: "axis=1", "perm=[1,0]", "pads=[[0,1],[0,0]]", "mode=linear". Its type follows
 * from the value's form: an integer, a list of them, a list of lists (as from JSON), a number, else
 * a string; true and false are 1 and 0. ERROR_USAGE if there is no '='. */
bool one_op_attr_text(OneOpBuilder *builder, const char *given, Error *err);

/* Adds the members of a JSON object: bools as 0 and 1; null is an absent attribute; [] is an empty
 * list of ints; lists of lists of ints become NAME (all ints in order) and "NAME.lengths". Objects,
 * and lists with objects in them, are skipped; the caller reads those. */
bool one_op_attr_json(OneOpBuilder *builder, const Json *attrs, Error *err);

/* The same as a list of attributes in a graph being built; *out is its id. */
bool one_op_attr_list(Arena *arena, GraphBuilder *graph, const Json *attrs, int32_t *out,
                      Error *err);

/* A shape in eval's JSON: [64,32]. Each size is `least` or more: with -1 one may be unknown.
 * ERROR_RANK: more than DIMS_MAX of them. Products are not checked. */
bool one_op_shape_json(const Json *list, int64_t least, Shape *out, Error *err);

/* Returns NULL if a limit of the graph is exceeded. */
Graph *one_op_graph(OneOpBuilder *builder, Error *err);

#endif
