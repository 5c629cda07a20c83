#include "core/space/gradient.h"

#include "core/space/dim_part.h"

static const Operand *read_operand(const Gradient *gradient, int i)
{
    static const Operand absent = {.absent = true};
    return gradient->reads[i].absent ? &absent
                                     : &gradient->forward->operand[gradient->reads[i].place];
}

static const Operand *written_operand(const Gradient *gradient, int i)
{
    return &gradient->forward->operand[gradient->written[i]];
}

static bool is_used(const Operand *operand)
{
    return !operand->absent && !operand->ignored;
}

static bool row_uses(const Row *row, int index)
{
    return row->coef[index] != 0;
}

static bool operand_uses(const Operand *operand, int index)
{
    for (int d = 0; is_used(operand) && d < operand->projection.n_dims; d++)
        if (row_uses(&operand->projection.row[d], index))
            return true;
    return false;
}

/* A dim of a written operand can be cut with the index dims of its row only if it is their mixed
 * radix. */
static bool is_written_freely(const Operand *operand, int index)
{
    for (int d = 0; d < operand->projection.n_dims; d++)
        if (row_uses(&operand->projection.row[d], index) && !operand->factors[d].exact)
            return false;
    return true;
}

/* A written dim is a part of the index dim: it is cut only where the cut keeps the parts. */
static bool is_written_in_part(const Gradient *gradient, int i, int index)
{
    const Operand *operand = written_operand(gradient, i);
    for (int d = 0; d < operand->projection.n_dims; d++) {
        DimPart part;
        if (dim_part(gradient->forward, gradient->written[i], d, &part) && part.of_index &&
            part.index == index)
            return true;
    }
    return false;
}

/* A maximum or a product is taken over it: what an element contributes depends on all others. An
 * elementwise derivative reads the result instead. */
static bool needs_whole(const Gradient *gradient, const IndexDim *dim)
{
    return dim->role == ROLE_REDUCE && dim->reduce != REDUCE_SUM && dim->reduce != REDUCE_AVG &&
           strcmp(gradient->kernel, "local") != 0;
}

static IndexRole role_of(const Gradient *gradient, int index)
{
    int n_written = 0, n_free = 0;
    bool in_part = false;
    for (int i = 0; i < gradient->n_written; i++) {
        in_part |= is_written_in_part(gradient, i, index);
        n_written += operand_uses(written_operand(gradient, i), index);
        n_free += is_written_freely(written_operand(gradient, i), index);
    }
    if (gradient->forward->index[index].role == ROLE_FROZEN ||
        needs_whole(gradient, &gradient->forward->index[index]) || in_part)
        return ROLE_FROZEN;
    return n_written == gradient->n_written && n_free == n_written ? ROLE_MAP : ROLE_REDUCE;
}

/* The index dims that rows of the gradient op mention; to[j]: their numbers there, or -1. */
static void add_index(OpSpace *space, const Gradient *gradient, int to[X_MAX])
{
    for (int j = 0; j < gradient->forward->n_index; j++) {
        const IndexDim *dim = &gradient->forward->index[j];
        bool used = false;
        for (int i = 0; i < gradient->n_reads; i++)
            used |= operand_uses(read_operand(gradient, i), j);
        for (int i = 0; i < gradient->n_written; i++)
            used |= operand_uses(written_operand(gradient, i), j);
        to[j] = -1;
        if (!used)
            continue;
        IndexRole role = role_of(gradient, j);
        to[j] = opspace_add_index(space, dim->name, dim->size, role,
                                  role == ROLE_REDUCE ? REDUCE_SUM : REDUCE_NONE);
        space->index[to[j]].permutes = dim->permutes;
        space->index[to[j]].blocked = dim->blocked;
        space->index[to[j]].rule = dim->rule;
        space->index[to[j]].carries = (int8_t)(dim->reduce == REDUCE_NONE ? -dim->carries : 0);
        space->index[to[j]].rounds = dim->rounds;
        space->index[to[j]].before = dim->before;
        space->index[to[j]].after = dim->after;
    }
    for (int j = 0; j < gradient->forward->n_index; j++) {
        int follows = gradient->forward->index[j].follows;
        if (to[j] >= 0 && follows > 0)
            space->index[to[j]].follows = (uint8_t)(1 + to[follows - 1]);
    }
}

static void copy_rows(Operand *to, const Operand *from, const int index[X_MAX])
{
    *to =
        (Operand){.shape = from->shape,
                  .absent = from->absent,
                  .ignored = from->ignored,
                  .projection = {.n_dims = from->projection.n_dims, .clip = from->projection.clip}};
    for (int d = 0; d < from->projection.n_dims; d++) {
        const Row *row = &from->projection.row[d];
        Row *new = &to->projection.row[d];
        *new = (Row){.offset = row->offset,
                     .window = row->window,
                     .divisor = row->divisor,
                     .ends = row->ends};
        for (int j = 0; j < X_MAX; j++)
            if (row_uses(row, j))
                new->coef[index[j]] = row->coef[j];
    }
}

/* A running sum that leaves out its own element reads the one beside it. Its gradient is such a sum
 * too, the other way round: what it writes is the index dim, and what it reads is shifted. Returns
 * false if the row is none along such a dim. */
static bool turn_shift(OpSpace *space, Row *written)
{
    int along = -1;
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].carries && row_uses(written, j))
            along = j;
    for (int i = 0; along >= 0 && i < space->n_inputs; i++) {
        Projection *read = &space->operand[i].projection;
        for (int d = 0; d < read->n_dims; d++)
            read->row[d].offset -= row_uses(&read->row[d], along) ? written->offset : 0;
        read->clip = true;
    }
    if (along >= 0)
        written->offset = 0;
    return along >= 0;
}

/* As copy_rows(), but dims that are neither a mixed radix nor a part of an index dim are written
 * whole. */
static void write_rows(OpSpace *space, const Gradient *gradient, int i, const int index[X_MAX])
{
    const Operand *from = written_operand(gradient, i);
    Operand *to = &space->operand[gradient->n_reads + i];
    copy_rows(to, from, index);
    to->projection.clip = false;
    for (int d = 0; d < from->projection.n_dims; d++) {
        DimPart part; /* which may have one element */
        if (dim_part(gradient->forward, gradient->written[i], d, &part) && part.of_index)
            to->projection.clip = true;
        else if (!from->factors[d].exact && !turn_shift(space, &to->projection.row[d]))
            row_whole(&to->projection.row[d], from->shape.dim[d]);
    }
}

OpSpace *gradient_space(Arena *arena, const Gradient *gradient, Error *err)
{
    OpSpace *space = opspace_new(arena, gradient->n_reads, gradient->n_written);
    int to[X_MAX];
    add_index(space, gradient, to);
    for (int i = 0; i < gradient->n_reads; i++) {
        copy_rows(&space->operand[i], read_operand(gradient, i), to);
        if (gradient->reads[i].gradient && written_operand(gradient, 0)->linear != LINEAR_NO)
            space->operand[i].linear = LINEAR_ALONE;
    }
    for (int i = 0; i < gradient->n_written; i++)
        write_rows(space, gradient, i, to);
    space->gradient = gradient;
    space->kernel = gradient->kernel;
    return opspace_finish(space, err) ? space : NULL;
}
