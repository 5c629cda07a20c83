/* written.h - operators that are written out as others: what each is made of, as a text.
 *
 *     "X Y gate -> output: t = Mul Y gate; output = Add X t"
 *     "x -> y: [@channels_last|1] x' = Transpose{perm=nchw} x; .."
 *
 * A model that has such an op gets these ops in its place (core/fuse/write_out.h), so rules,
 * kernels and gradients are theirs. The text names the op's inputs and outputs in their order, then
 * has statements with `;` between:
 *
 *     [CONDITIONS] RESULTS = OPERATOR{ATTRIBUTES} OPERANDS
 *
 * Inputs that repeat are `(x scale)*`; a statement behind `each` is there for each such group, and
 * the operand `x*` is all of one name. A statement whose conditions do not all hold is left out:
 * `bias` (that operand is there), `!bias`,
 * `@k` (that attribute is there and not 0), `@act=Relu`, `!@axis=1`, `x.1=4` (a size), `x:u8` (a
 * type). A name may be assigned again. `refuse REASON` in place of a statement: such an op stays
 * as it is.
 *
 *     OPERANDS     a name; `_`, absent; a number with a point, of the op's float type; a whole
 *                  number, i64; `7:u8` and `0::x`, of another type or that of x; `@epsilon|1e-5`, a
 * float attribute; `#n`, a whole number computed of sizes; `[0 n -1]`, a list of such (`0^x.n` is
 * as many zeros); `(0.5 1.0)`, of floats. An absent operand stays absent ATTRIBUTES   `axis=-1`,
 * `epsilon=1e-5`, `mode=linear`, `perm=[0 2 1]`, `to=f32`, `to=T` (the op's float type), `to=:x`
 * (that of x), `axis=@axis|-1` (of the op, or what is behind the bar); `perm=nchw` and `perm=nhwc`
 * move channels to dim 1 and back, as many dims as input 0 has; `*` copies those of the op that the
 * operator has whole numbers   integers, sizes `x.1`, `x.-1`, the rank `x.n`, attributes `@k|1`,
 * with
 *                  + - * / between, from left to right
 *
 * An OPERATOR that begins with @ is named by an attribute: `@activation|Identity`. The op's float
 * type is that of its first float input; f32 if it has none.
 */
#ifndef CORE_RULES_WRITTEN_H
#define CORE_RULES_WRITTEN_H

#include "core/rules/registry.h"

/* Of the operator, by its name in ONNX; NULL: it is not written out. */
const char *written_text(const char *operator_name);

/* Why an operator of onnxruntime has neither a row nor a text: "of a sparse tensor"; NULL if it has
 * one, or is not known. */
const char *written_reason(const char *operator_name);

/* An op that is to be written out: operands as inference knows them. */
typedef struct {
    const Graph *graph; /* has its attributes */
    int32_t op;
    int n_inputs, n_outputs;
    const Shape *const *shape; /* per input; NULL: absent, or not known */
    const Dtype *dtype;        /* per input; NULL for all: not known */
    const bool *has_input, *has_output;
} WrittenOp;

typedef struct Written Written;

/* Reads the text for this op. Returns NULL with *err if it cannot be written out: ERROR_UNSUPPORTED
 * for a reason that the text gives. */
Written *written_read(Arena *arena, const char *text, const WrittenOp *op, Error *err);

/* How many ops it becomes. */
int written_n_ops(const Written *written);

/* Adds them, as ops named NAME/OPERATOR_I at that path. input, output: tensors of the builder, -1
 * if absent. Faults are the builder's. */
void written_add(const Written *written, GraphBuilder *builder, Str name, Str path,
                 const int32_t *input, const int32_t *output);

/* A rule of operators that are always written out: shapes and types as what they become has them;
 * the op itself is not sharded. */
bool written_rule(RuleCall *call, Error *err);

/* Operators that are planned and run only as what they are written out as; ended by a row without
 * name. */
extern const Operator operators_written[];

#endif
