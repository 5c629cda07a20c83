/* family.h - the operators' strategies: one table row each, and what families build rows from.
 *
 * A family is a function that fills the rows of a call. Most say the op's index space, whose index
 * dims are cut one at a time (strategy_rows_of_space), and then add the rows in which a partial
 * tensor passes. `data` is the family's own word: an equation, a reduction, whole rows as text.
 * Operators that are no set of rows - views, and those made of others - answer by themselves.
 */
#ifndef CORE_PEERS_TORCH_FAMILY_H
#define CORE_PEERS_TORCH_FAMILY_H

#include "core/peers/torch/strategy.h"

typedef struct StrategyOp StrategyOp;

typedef bool FamilyFn(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err);
typedef bool AnswerFn(const Strategies *strategies, const StrategyCall *call, const StrategyOp *op,
                      StrategyAnswer *out, Error *err);

typedef enum {
    OP_UNEVEN = 1, /* StrategyRows.uneven */
} StrategyOpFlags;

struct StrategyOp {
    const char *names; /* with blanks between; "max.dim" before "max": the longer name is its own */
    FamilyFn *rows;
    const char *data;    /* see the family */
    const char *partial; /* further rows, as strategy_row_read() has them, with `;` between */
    unsigned flags;
    AnswerFn *answer; /* instead of rows */
};

/* The tables, ended by a row without names. */
extern const StrategyOp ops_pointwise[], ops_reduce[], ops_shape[], ops_index[], ops_matmul[],
    ops_layer[], ops_view[], ops_composed[], ops_vescale[];

/* The row of a name: itself, then without its overload ("add.Scalar"), then without the `_` of an
 * in-place form or the "_foreach_" of a list form. NULL. */
const StrategyOp *strategy_find(Str name, StrategyProfile profile);

bool strategy_is_in_place(const char *op); /* "add_", "scatter_.value" */

/* ---- index spaces ---- */

/* No index dim yet; every tensor replicated. The operands are the call's inputs, then outputs. */
OpSpace *strategy_space(const StrategyCall *call, int n_outputs);
int strategy_index(OpSpace *space, int64_t size, ReduceOp reduce); /* reduce NONE: a map dim */
/* Dim `dim` of the operand is that index dim; nothing for an input that is absent. */
void strategy_unit(OpSpace *space, int operand, int dim, int index);
static inline int strategy_output(const OpSpace *space, int i)
{
    return space->n_inputs + i;
}

/* A row for each index dim that may be cut: a tensor whose dim is it, or begins with it in a mixed
 * radix, is cut there; one where it comes later lies in pieces, _S(d, product of those before); an
 * output without it is partial when it is reduced. Frozen index dims make no row. */
void strategy_rows_of_space(const OpSpace *space, StrategyRows *rows);
/* Rows in which a partial sum or average passes through inputs that the space calls linear. */
void strategy_rows_linear(const OpSpace *space, StrategyRows *rows);

/* ---- rows ---- */

/* Sets the number of tensors; before the first row. */
void strategy_rows_begin(const StrategyCall *call, int n_outputs, StrategyRows *rows);
static inline StrategyCell *row_output(StrategyCell *row, int i)
{
    return &row[i];
}
static inline StrategyCell *row_input(const StrategyRows *rows, StrategyCell *row, int i)
{
    return &row[rows->n_outputs + i];
}
StrategyCell cell_shard(int64_t dim); /* of any kind */
StrategyCell cell_plain_shard(int64_t dim);
StrategyCell cell_partial(ReduceOp reduce);
StrategyCell cell_none(void);

/* Rows of text with `;` between; those for another number of tensors than are there are left out.
 * The text is ours. */
void strategy_rows_text(StrategyRows *rows, const char *text);

enum {
    LINEAR_REDUCES = 1 << REDUCE_SUM | 1 << REDUCE_AVG,
    PASSING_REDUCES = LINEAR_REDUCES | 1 << REDUCE_MIN | 1 << REDUCE_MAX
};

/* Every tensor has the n_dims of input 0. A cut of a dim that is in `active` reduces it, or is not
 * possible (reduce NONE); removes: the active dims are not in the outputs. */
void strategy_rows_dims(const StrategyCall *call, unsigned active, ReduceOp reduce, bool removes,
                        StrategyRows *rows);

/* Rows in which every tensor is partial, for each of the reductions. */
void strategy_rows_pass(StrategyRows *rows, unsigned reduces);

/* ---- attributes ---- */

/* A dim, counted from the end when negative. ERROR_OUT_OF_RANGE. An absent one is `fallback`. */
bool strategy_dim(const StrategyCall *call, const char *name, int64_t n_dims, int64_t fallback,
                  int64_t *out, Error *err);
/* An int or a list, bit d for dim d; absent: all dims. */
bool strategy_dims(const StrategyCall *call, const char *name, int64_t n_dims, unsigned *out,
                   Error *err);
int64_t strategy_int(const StrategyCall *call, const char *name, int64_t fallback);
double strategy_number(const StrategyCall *call, const char *name, double fallback); /* either */
/* A list of numbers; NULL, and *n 0, when absent. */
const int64_t *strategy_ints(const StrategyCall *call, const char *name, int *n);

static inline const Shape *strategy_shape_of(const StrategyCall *call, int input)
{
    return &call->input[input].shape;
}
static inline bool strategy_has_input(const StrategyCall *call, int input)
{
    return input < call->n_inputs && call->input[input].shape.n_dims >= 0;
}
/* ERROR_INVALID: fewer inputs than n. */
bool strategy_need(const StrategyCall *call, int n, Error *err);

/* ---- answers ---- */

/* Expands, drops, prices and chooses as torch does. first_of_equals: a list form takes the first
 * cheapest row, also of those that move nothing. */
bool strategy_choose(const StrategyCall *call, const StrategyRows *rows, bool first_of_equals,
                     StrategyAnswer *out, Error *err);
/* Refuses an answer that moves an input where the call forbids that: an error with the fix. */
bool strategy_permit(const StrategyCall *call, const StrategyAnswer *answer, Error *err);
/* Answers an op of the table whose names were found. */
bool strategy_answer_op(const Strategies *strategies, const StrategyCall *call,
                        const StrategyOp *op, StrategyAnswer *out, Error *err);
/* Profile rules. */
bool strategy_rule(const StrategyCall *call, StrategyAnswer *out, Error *err);

/* Whether strided shards that come of these tensors are a view's: all that have such are. */
bool strategy_strided_of_view(const StrategyTensor *input, int n, const Mesh *mesh);

/* Fills output, input, n_comm of an answer made without rows; the arrays are the callee's. Counts
 * what moving the inputs takes. */
bool strategy_answer_as(const StrategyCall *call, int n_outputs, const Placement *const *output,
                        const Placement *const *input, StrategyAnswer *out, Error *err);

/* The rows of an operator, before any s(d) is filled in; in-place forms marked. */
bool strategy_rows_of(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err);

/* Every dim may be sharded, and every reduction passes. data: the number of outputs. */
FamilyFn strategy_every_dim;

#endif
