/* Rules of embeddings, which select rows of a table. If the table is split by rows, each rank looks
 * up its own rows and the output is partial; the gradient of the table is a sum over the indices.
 */
#include "core/peers/paddle/answer.h"

/* The order of the operands: a row's `number`. */
enum { INDICES_FIRST, TABLE_FIRST };

static const SpmdTensor *embedding_indices(const SpmdCall *call)
{
    return &call->input[call->rule->number == TABLE_FIRST ? 1 : 0];
}

static const SpmdTensor *embedding_table(const SpmdCall *call)
{
    return &call->input[call->rule->number == TABLE_FIRST ? 0 : 1];
}

static void embedding_needs(SpmdCall *call, const SpmdTensor *indices, const SpmdTensor *table)
{
    bool first = call->rule->number == TABLE_FIRST;
    spmd_need_as_given(call, first ? table : indices);
    spmd_need_as_given(call, first ? indices : table);
}

/* "ab,jk->abk" */
static const char *embedding_out_letters(const SpmdCall *call, int n_indices)
{
    return arena_printf(call->arena, "%sk", letters_without(call, n_indices, "jk"));
}

static bool embedding_merge(SpmdCall *call, const SpmdTensor *table, Error *err)
{
    const SpmdTensor *indices = embedding_indices(call);
    const char *letters = letters_without(call, indices->n_dims, "jk");
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_STRICT, (SpmdOperand[]){{letters, indices}, {"jk", table}}, 2,
                    &merged, err))
        return false;
    SpmdTensor need = spmd_without_partial(indices), need_table = spmd_without_partial(table);
    spmd_set_letters(&need, letters, &merged);
    spmd_set_letters(&need_table, "jk", &merged);
    embedding_needs(call, &need, &need_table);
    const char *out = embedding_out_letters(call, indices->n_dims);
    spmd_partial_of_letters(out_letters(call, out, &merged), out, &merged, REDUCE_SUM);
    return true;
}

static bool embedding_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *table = embedding_table(call);
    if (!check_rank(table, 2, "weight", err))
        return false;
    if (call->rule->number == INDICES_FIRST && spmd_is_split(table, 0) &&
        (spmd_int(call, "padding_idx", -1) != -1 || spmd_int(call, "sparse", 0)))
        return error_kind(err, ERROR_INVALID,
                          "a table split by rows cannot have padding_idx or be sparse");
    return embedding_merge(call, table, err);
}

/* The eager rule never splits a table by rows. */
static bool embedding_eager(SpmdCall *call, Error *err)
{
    SpmdTensor table = *embedding_table(call);
    if (!check_rank(&table, 2, "weight", err))
        return false;
    spmd_unsplit(&table, 0);
    return embedding_merge(call, &table, err);
}

static bool embedding_backward(SpmdCall *call, Error *err)
{
    const SpmdTensor *indices = embedding_indices(call), *out = &call->output[0];
    if (!check_rank(out, indices->n_dims + 1, "out", err))
        return false;
    const char *letters = embedding_out_letters(call, indices->n_dims);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_STRICT, (SpmdOperand[]){{letters, out}}, 1, &merged, err))
        return false;
    SpmdTensor need = spmd_without_partial(indices),
               table = spmd_without_partial(embedding_table(call));
    spmd_set_letters(&need, letters_without(call, indices->n_dims, "jk"), &merged);
    spmd_set_letters(&table, "jk", &merged);
    embedding_needs(call, &need, &table);
    spmd_out_as_given(call, spmd_given(call, out));
    return true;
}

/* indices, table, out_grad -> table_grad. The sum over the indices leaves it partial. */
static bool embedding_gradient(SpmdCall *call, Error *err)
{
    bool keep_rows = call->rule->number == TABLE_FIRST;
    const SpmdTensor *indices = embedding_indices(call), *out_grad = &call->input[2];
    SpmdTensor table = *embedding_table(call);
    if (spmd_int(call, "sparse", 0))
        return error_kind(err, ERROR_INVALID, "a sparse gradient has no rule");
    if (!check_rank(out_grad, indices->n_dims + 1, "out_grad", err))
        return false;
    const char *letters = letters_without(call, indices->n_dims, "jk");
    const char *grad_letters = embedding_out_letters(call, indices->n_dims);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_STRICT,
                    (SpmdOperand[]){{letters, indices}, {grad_letters, out_grad}}, 2, &merged, err))
        return false;
    SpmdTensor need = *indices;
    spmd_set_letters(&need, letters, &merged);
    if (spmd_mappings_equal(&need, indices))
        need = *spmd_given(call, indices);
    if (!keep_rows)
        spmd_unsplit(&table, 0);
    embedding_needs(call, &need, &table);
    need_letters(call, out_grad, grad_letters, &merged);
    SpmdTensor *gradient = spmd_out_as_given(call, &table);
    if (!keep_rows)
        spmd_set_letters(gradient, "jk", &merged);
    for (int d = 0; d < indices->n_dims; d++)
        if (!spmd_set_partial(gradient, merged_axes(&merged, letters[d]), REDUCE_SUM, err))
            return false;
    return true;
}

const SpmdRule spmd_rules_embedding[] = {
    {.names = "embedding",
     .forward = embedding_forward,
     .backward = embedding_backward,
     .eager = embedding_eager,
     .inputs = {2, 2},
     .outputs = {1, 1},
     .number = INDICES_FIRST},
    {.names = "lookup_table_v2",
     .forward = embedding_forward,
     .backward = embedding_backward,
     .inputs = {2, 2},
     .outputs = {1, 1},
     .number = INDICES_FIRST},
    {.names = "embedding_grad lookup_table_v2_grad",
     .forward = embedding_gradient,
     .inputs = {3, 3},
     .number = INDICES_FIRST},
    {.names = "c_embedding",
     .forward = embedding_forward,
     .backward = embedding_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {2, 2},
     .outputs = {1, 1},
     .number = TABLE_FIRST},
    {.names = "c_embedding_grad",
     .forward = embedding_gradient,
     .inputs = {3, 3},
     .number = TABLE_FIRST},
    {0},
};
