/* family.h - tables of operators with strategies, and helpers to build their rows.
 *
 * A family is a function that fills the rows of a call. Most describe the op's index space, whose
 * index dims are sharded one at a time (strategy_rows_of_space), and add rows in which partial
 * tensors pass. `data` is a parameter of the family: an equation, a reduction, rows as text. Views
 * and operators composed of others have no rows and answer directly.
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
    const char *names; /* separated by spaces; "max.dim" has its own row */
    FamilyFn *rows;
    const char *data;    /* see the family */
    const char *partial; /* further rows for strategy_row_read(), separated by `;` */
    unsigned flags;
    AnswerFn *answer; /* instead of rows */
};

/* The tables, ended by a row without names. */
extern const StrategyOp ops_pointwise[], ops_reduce[], ops_shape[], ops_index[], ops_matmul[],
    ops_layer[], ops_view[], ops_composed[], ops_vescale[];

/* The row of a name; then of the name without its overload ("add.Scalar"), then without the `_` of
 * an in-place form or the "_foreach_" of a list form; or NULL. */
const StrategyOp *strategy_find(Str name, StrategyProfile profile);

bool strategy_is_in_place(const char *op); /* "add_", "scatter_.value" */

/* ---- index spaces ---- */

/* A space without index dims. The operands are the call's inputs, then outputs. */
OpSpace *strategy_space(const StrategyCall *call, int n_outputs);
int strategy_index(OpSpace *space, int64_t size, ReduceOp reduce); /* REDUCE_NONE: a map dim */
/* Dim `dim` of the operand follows the index dim; ignored for an absent input. */
void strategy_unit(OpSpace *space, int operand, int dim, int index);
static inline int strategy_output(const OpSpace *space, int i)
{
    return space->n_inputs + i;
}

/* Adds a row for each index dim that is not frozen: a tensor whose dim is the index dim, or begins
 * with it in a mixed radix, is sharded there; if it comes later, the shard is strided, _S(d,
 * product of those before); an output without a reduce dim is partial. */
void strategy_rows_of_space(const OpSpace *space, StrategyRows *rows);
/* Adds rows in which a partial sum or average passes through the linear inputs of the space. */
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
StrategyCell cell_shard(int64_t dim); /* a shard of any kind */
StrategyCell cell_plain_shard(int64_t dim);
StrategyCell cell_partial(ReduceOp reduce);
StrategyCell cell_none(void);

/* Adds rows from built-in text, separated by `;`; rows for a different number of tensors are
 * skipped. */
void strategy_rows_text(StrategyRows *rows, const char *text);

enum {
    LINEAR_REDUCES = 1 << REDUCE_SUM | 1 << REDUCE_AVG,
    PASSING_REDUCES = LINEAR_REDUCES | 1 << REDUCE_MIN | 1 << REDUCE_MAX
};

/* For tensors that all have the n_dims of input 0. Sharding a dim in `active` reduces it, or is not
 * allowed (REDUCE_NONE); removes: the outputs lack the active dims. */
void strategy_rows_dims(const StrategyCall *call, unsigned active, ReduceOp reduce, bool removes,
                        StrategyRows *rows);

/* Adds a row for each reduction in which every tensor is partial. */
void strategy_rows_pass(StrategyRows *rows, unsigned reduces);

/* ---- attributes ---- */

/* A dim, counted from the end if negative, or `fallback` if absent. ERROR_OUT_OF_RANGE. */
bool strategy_dim(const StrategyCall *call, const char *name, int64_t n_dims, int64_t fallback,
                  int64_t *out, Error *err);
/* An int or a list as bits, bit d for dim d; all dims if absent. */
bool strategy_dims(const StrategyCall *call, const char *name, int64_t n_dims, unsigned *out,
                   Error *err);
int64_t strategy_int(const StrategyCall *call, const char *name, int64_t fallback);
double strategy_number(const StrategyCall *call, const char *name,
                       double fallback); /* int or float */
/* A list of numbers; NULL with *n = 0 if absent. */
const int64_t *strategy_ints(const StrategyCall *call, const char *name, int *n);

static inline const Shape *strategy_shape_of(const StrategyCall *call, int input)
{
    return &call->input[input].shape;
}
static inline bool strategy_has_input(const StrategyCall *call, int input)
{
    return input < call->n_inputs && call->input[input].shape.n_dims >= 0;
}
/* ERROR_INVALID if there are fewer than n inputs. */
bool strategy_need(const StrategyCall *call, int n, Error *err);

/* ---- answers ---- */

/* Expands, filters, prices and chooses as torch does. first_of_equals: choose the first cheapest,
 * also among those that move nothing (list forms). */
bool strategy_choose(const StrategyCall *call, const StrategyRows *rows, bool first_of_equals,
                     StrategyAnswer *out, Error *err);
/* Fails, with the fix as hint, if the answer moves an input and the call forbids that. */
bool strategy_permit(const StrategyCall *call, const StrategyAnswer *answer, Error *err);
/* Answers by a row of a table. */
bool strategy_answer_op(const Strategies *strategies, const StrategyCall *call,
                        const StrategyOp *op, StrategyAnswer *out, Error *err);
/* Profile rules. */
bool strategy_rule(const StrategyCall *call, StrategyAnswer *out, Error *err);

/* True if all inputs with strided shards got them from views. */
bool strategy_strided_of_view(const StrategyTensor *input, int n, const Mesh *mesh);

/* Fills output, input, n_comm of an answer without rows and keeps the arrays. Counts the steps that
 * move the inputs. */
bool strategy_answer_as(const StrategyCall *call, int n_outputs, const Placement *const *output,
                        const Placement *const *input, StrategyAnswer *out, Error *err);

/* The rows of an operator before s(d) is expanded, with in-place forms marked. */
bool strategy_rows_of(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err);

/* A family: every dim may be sharded. data: the number of outputs. */
FamilyFn strategy_every_dim;

#endif
