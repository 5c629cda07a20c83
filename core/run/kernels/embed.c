/* embed.c - EmbedLayerNormalization: rows of up to three tables, added and normalized.
 *
 * Tables are whole. A token's position is its global index unless position ids are given. The mask
 * index counts the ones of a sample's mask. Source: onnxruntime's published schema.
 */
#include "core/run/kernels/embed.h"

#include <inttypes.h>
#include <math.h>

enum { POSITION_IDS = 8, MASK = 7 };

bool embed_rows(const KernelCall *call, int table, const Local *like, int64_t *rows, Error *err)
{
    static const int ids_of[] = {[EMBED_WORD] = EMBED_IDS,
                                 [EMBED_POSITION] = POSITION_IDS,
                                 [EMBED_SEGMENT] = EMBED_SEGMENTS};
    const Local *ids = kernel_input(call, ids_of[table]);
    int64_t n = like->shape.dim[0], length = like->shape.dim[1];
    int64_t n_rows = call->input[table]->whole.dim[0];
    const int64_t *position = kernel_globals(call->scratch, &like->runs[1]);
    if (ids && (!kernel_computes(ids, err) || (shape_elements(&ids->shape) != n * length &&
                                               shape_elements(&ids->shape) != length)))
        return error_kind(err, ERROR_RUN, "there is not one id per token");
    for (int64_t i = 0; i < n * length; i++) {
        int64_t at = ids && shape_elements(&ids->shape) < n * length ? i % length : i;
        rows[i] = table == EMBED_POSITION ? position[i % length] : 0;
        if (ids)
            local_load(ids, at, 1, 1, NUMBER_I64, &rows[i]);
        if (rows[i] < 0 || rows[i] >= n_rows)
            return error_kind(err, ERROR_RUN, "id %" PRId64 " is outside of %" PRId64 " rows",
                              rows[i], n_rows);
    }
    return true;
}

bool embed_sum(const KernelCall *call, const Local *like, double *sum, Error *err)
{
    int64_t tokens = like->shape.dim[0] * like->shape.dim[1], hidden = like->shape.dim[2];
    int64_t *rows = arena_array(call->scratch, int64_t, tokens);
    double *row = arena_array(call->scratch, double, hidden);
    for (int table = EMBED_WORD; table <= EMBED_SEGMENT; table++) {
        const Local *from = kernel_input(call, table);
        if (!from || !from->data)
            continue;
        if (!kernel_computes(from, err) || !embed_rows(call, table, like, rows, err))
            return false;
        if (from->shape.n_dims != 2 || from->shape.dim[1] != hidden ||
            from->shape.dim[0] != from->whole.dim[0])
            return error_kind(err, ERROR_RUN, "operand shapes do not match");
        for (int64_t i = 0; i < tokens; i++) {
            local_load(from, rows[i] * hidden, 1, hidden, NUMBER_F64, row);
            for (int64_t k = 0; k < hidden; k++)
                sum[i * hidden + k] += row[k];
        }
    }
    return true;
}

static bool count_masks(const KernelCall *call, Error *err)
{
    Local *out = kernel_output(call, 1);
    const Local *mask = kernel_input(call, MASK);
    if (!out || !mask)
        return true;
    int64_t n = shape_elements(&out->shape), length = n > 0 ? shape_elements(&mask->shape) / n : 0;
    if (!kernel_computes(mask, err) || !kernel_whole(mask, 1, mask->shape.n_dims, err))
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = 0, one;
        for (int64_t k = 0; k < length; k++) {
            local_load(mask, i * length + k, 1, 1, NUMBER_I64, &one);
            count += one == 1;
        }
        local_store(out, i, 1, NUMBER_I64, &count);
    }
    return true;
}

static bool embed_norm(const KernelCall *call, Error *err)
{
    Local *out = call->output[0], *sums = kernel_output(call, 2);
    if (!kernel_needs(call, 1, err) || !kernel_computes(out, err) || !count_masks(call, err))
        return false;
    const double *scale = kernel_doubles(call, 5), *shift = kernel_doubles(call, 6);
    int64_t hidden = out->shape.dim[2], n = shape_elements(&out->shape);
    if (!scale || !shift || shape_elements(&call->input[5]->shape) != hidden ||
        shape_elements(&call->input[6]->shape) != hidden)
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    double epsilon = op_attr_float(kernel_graph(call), call->op, "epsilon", 1e-12);
    double *sum = arena_array(call->scratch, double, n);
    if (!embed_sum(call, out, sum, err))
        return false;
    if (sums)
        local_store(sums, 0, n, NUMBER_F64, sum);
    for (double *row = sum; hidden > 0 && row < sum + n; row += hidden) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < hidden; i++)
            mean += row[i] / (double)hidden;
        for (int64_t i = 0; i < hidden; i++)
            squares += (row[i] - mean) * (row[i] - mean);
        double inverse = 1 / sqrt(squares / (double)hidden + epsilon);
        for (int64_t i = 0; i < hidden; i++)
            row[i] = (row[i] - mean) * inverse * scale[i] + shift[i];
    }
    local_store(out, 0, n, NUMBER_F64, sum);
    return true;
}

const Kernel kernels_embed[] = {
    {"com.microsoft::EmbedLayerNormalization", embed_norm, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
