/* written.h - operators that are written out as others: what each is made of, as a text.
 *
 *     "X Y gate -> output: t = Mul Y gate; output = Add X t"
 *     "x scales (y)* -> z: [@axis=1] x = Transpose{perm=nchw} x; each y = Relu y; .."
 *
 * A model that has such an op gets these ops in its place (core/fuse/write_out.h), so rules,
 * kernels and gradients are theirs. The text names the op's inputs and outputs in their order; the
 * last inputs may repeat in groups, `(x scale)*`. Then it has statements with `;` between:
 *
 *     [CONDITIONS] RESULTS = OPERATOR{ATTRIBUTES} OPERANDS
 *
 * A statement whose conditions do not all hold is left out: `bias` (that operand is there),
 * `!bias`, `@k` (that attribute is there and not 0), `@act=Relu`, `!@axis=1`, `x.1=4` (a size),
 * `x:u8` (a type). A name may be assigned again. A statement behind `each` is there for each group
 * of inputs. In place of a statement: `refuse REASON`, such an op stays as it is, and cannot run;
 * `keep`, it stays as it is, and its own kernel runs it. An operator that begins with @ is named by
 * an attribute: `@activation|Identity`.
 *
 * The operands:
 *
 *     x                  by its name; an absent one stays absent; `_` is absent
 *     x*                 those of all groups
 *     0.5  @epsilon|1e-5  of the op's float type: that of its first float input, else f32
 *     7  #x.1*2          a whole number, i64, also computed of sizes
 *     7:u8  0::x         of another type, or of that of x
 *     [0 x.1 -1]  [0^x.n]  a list of whole numbers; as many zeros
 *     (0.5 1.0)          a list of floats
 *
 * Whole numbers are integers, sizes `x.1` and `x.-1`, the rank `x.n` and attributes `@k|1`, with
 * + - * / between them, from left to right. The attributes:
 *
 *     axis=-1  epsilon=1e-5  mode=linear  perm=[0 2 1]
 *     to=f32  to=T  to=:x   a type, the op's float type, that of x
 *     axis=@axis|-1         the op's attribute, or what is behind the bar
 *     perm=nchw  perm=nhwc  channels become dim 1, or the last of as many as input 0 has
 *     *                     those of the op that the operator has, too
 */
#ifndef CORE_RULES_WRITTEN_WRITTEN_H
#define CORE_RULES_WRITTEN_WRITTEN_H

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

/* Reads the text for this op. Returns NULL with *err if it cannot be written out (ERROR_UNSUPPORTED
 * for a reason that the text gives), and without if it is to be kept. */
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
