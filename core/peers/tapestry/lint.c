#include "core/peers/tapestry/template.h"

#include <inttypes.h>

/* Warnings about templates that are legal but probably mistaken. */
typedef struct {
    Arena *arena;
    const OpSpace *space;
    Json *out;
} Lint;

static bool is_present(const Operand *operand)
{
    return !operand->absent && !operand->ignored;
}

/* Warns about an input that does not depend on a reduce dim, such as a bias: if the dim is sharded,
 * every shard adds it. Correct for the ids of an embedding, which select and are not added. */
static void lint_reduced(Lint *lint, int index)
{
    const OpSpace *space = lint->space;
    int carrier = -1;
    for (int i = 0; i < space->n_inputs && carrier < 0; i++)
        if (is_present(&space->operand[i]) && projection_uses(&space->operand[i].projection, index))
            carrier = i;
    for (int i = 0; i < space->n_inputs && carrier >= 0; i++) {
        if (!is_present(&space->operand[i]) ||
            projection_uses(&space->operand[i].projection, index))
            continue;
        const char *text =
            arena_printf(lint->arena,
                         "input %d does not follow the reduce dim %s, as input %d does: every "
                         "shard of the dim uses the whole input again",
                         i, space->index[index].name, carrier);
        json_add(lint->out, json_from_str(str_from(text)));
    }
}

static void lint_row(Lint *lint, int input, int d, const Box *index, const Box *range)
{
    const Operand *operand = &lint->space->operand[input];
    Projection row = {.n_dims = 1, .row = {operand->projection.row[d]}};
    int64_t size = operand->shape.dim[d];
    const char *text = NULL;
    if (range->lo[d] > 0 || range->hi[d] < size)
        text = arena_printf(
            lint->arena, "dim %d of input %d is read from %" PRId64 " to %" PRId64 " of %" PRId64,
            d, input, range->lo[d], range->hi[d], size);
    else if (!projection_exact(&row, index->hi, lint->space->n_index))
        text = arena_printf(lint->arena, "dim %d of input %d is read with gaps", d, input);
    if (text)
        json_add(lint->out, json_from_str(str_from(text)));
}

Json *template_lints(Arena *arena, const OpSpace *space)
{
    Lint lint = {arena, space, json_array()};
    Box index = {.n = space->n_index}, range;
    for (int j = 0; j < space->n_index; j++) {
        index.hi[j] = space->index[j].size;
        if (space->index[j].size == 0)
            return lint.out;
        if (space->index[j].role == ROLE_REDUCE && space->index[j].size > 1)
            lint_reduced(&lint, j);
    }
    for (int i = 0; i < space->n_inputs; i++) {
        const Operand *operand = &space->operand[i];
        if (!is_present(operand))
            continue;
        projection_range(&operand->projection, &operand->shape, &index, &range);
        for (int d = 0; d < range.n; d++)
            lint_row(&lint, i, d, &index, &range);
    }
    return lint.out;
}
