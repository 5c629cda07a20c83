#include "core/space/anno_partition.h"

#include <inttypes.h>

static bool is_output(const Anno *anno, int operand)
{
    return operand >= anno->n_inputs;
}

static bool is_tensor(const AnnoMatch *match, int operand)
{
    return is_output(match->anno, operand) ? !match->anno->tensor[operand].ignored
                                           : match->input[operand].is_tensor;
}

static const Shape *shape_of(const AnnoMatch *match, int operand)
{
    return is_output(match->anno, operand) ? &match->output[operand - match->anno->n_inputs]
                                           : &match->input[operand].shape;
}

/* Blocks of a dim are blocks of its first member that is not of length 1. One piece is a cut of
 * the very first member. */
static const AnnoAtom *cut_atom(const AnnoMatch *match, const AnnoDim *dim, int64_t num)
{
    int i = 0;
    while (num != 1 && i < dim->n - 1 && match->length[dim->atom[i].id] == 1)
        i++;
    return &dim->atom[i];
}

static bool in_tensor(const AnnoTensor *tensor, int32_t id)
{
    for (int d = 0; !tensor->ignored && d < tensor->n_dims; d++)
        for (int i = 0; i < tensor->dim[d].n; i++)
            if (tensor->dim[d].atom[i].id == id)
                return true;
    return false;
}

static bool in_some_output(const Anno *anno, int32_t id)
{
    for (int o = 0; o < anno->n_outputs; o++)
        if (in_tensor(&anno->tensor[anno->n_inputs + o], id))
            return true;
    return false;
}

static AnnoSplit split_of(const AnnoMatch *match, int operand, const AnnoAtom *atom)
{
    const AnnoTensor *tensor = &match->anno->tensor[operand];
    AnnoSplit split = {.kind = SPLIT_REPLICATE};
    if (!is_tensor(match, operand) || tensor->ignored)
        return split;
    if (!in_tensor(tensor, atom->id)) {
        if (is_output(match->anno, operand) && atom->kind == ATOM_SUM)
            split.kind = SPLIT_VALUE;
        return split;
    }
    split.kind = SPLIT_DIMS;
    for (int d = 0; d < tensor->n_dims; d++) {
        bool has = false;
        for (int i = 0; i < tensor->dim[d].n; i++)
            has |= tensor->dim[d].atom[i].id == atom->id;
        if (has)
            split.dim[split.n++] = (uint8_t)d;
    }
    return split;
}

/* The operand's annotated dim; negative ones count from the end. */
static const AnnoDim *find_dim(const AnnoMatch *match, int operand, int dim, Error *err)
{
    const Anno *anno = match->anno;
    int n_operands = anno->n_inputs + anno->n_outputs;
    if (operand < 0 || operand >= n_operands) {
        error_kind(err, ERROR_OUT_OF_RANGE, "there is no operand %d: the op has %d", operand,
                   n_operands);
        return NULL;
    }
    const AnnoTensor *tensor = &anno->tensor[operand];
    if (!is_tensor(match, operand) || tensor->ignored) {
        error_set(err, "operand %d is not a tensor that can be cut", operand);
        return NULL;
    }
    if (dim < -tensor->n_dims || dim >= tensor->n_dims) {
        error_kind(err, ERROR_OUT_OF_RANGE, "operand %d has no dim %d: it has %d", operand, dim,
                   tensor->n_dims);
        return NULL;
    }
    return &tensor->dim[dim < 0 ? dim + tensor->n_dims : dim];
}

bool anno_partition(Arena *arena, const AnnoMatch *match, int operand, int dim, int64_t num,
                    bool strict, AnnoPartition *out, Error *err)
{
    const Anno *anno = match->anno;
    const AnnoDim *anno_dim = find_dim(match, operand, dim, err);
    if (!anno_dim)
        return false;
    if (num < 1 || num > ANNO_PIECES_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "an op cannot be cut into %" PRId64 " pieces",
                          num);

    const AnnoAtom *atom = cut_atom(match, anno_dim, num);
    if (atom->kind == ATOM_FROZEN)
        return error_kind(err, ERROR_FROZEN, "'%.*s' is frozen", STR_ARG(atom->name));
    if (strict && atom->kind == ATOM_SPATIAL && !in_some_output(anno, atom->id))
        return error_kind(err, ERROR_FROZEN, "'%.*s' is in no output, and not marked as summed",
                          STR_ARG(atom->name));
    int64_t length = match->length[atom->id];
    if (length % num != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "'%.*s' has length %" PRId64 ", which %" PRId64 " does not divide",
                          STR_ARG(atom->name), length, num);

    *out = (AnnoPartition){.match = match, .identifier = atom->name, .num = num};
    out->split = arena_array(arena, AnnoSplit, anno->n_inputs + anno->n_outputs);
    for (int i = 0; i < anno->n_inputs + anno->n_outputs; i++)
        out->split[i] = split_of(match, i, atom);
    return true;
}

AnnoPiece anno_piece(const AnnoPartition *partition, int operand, int64_t piece)
{
    const Shape *shape = shape_of(partition->match, operand);
    const AnnoSplit *split = &partition->split[operand];
    AnnoPiece out = {.range.n = (int)shape->n_dims, .part = 0, .n_parts = 1};
    for (int d = 0; d < shape->n_dims; d++)
        out.range.hi[d] = shape->dim[d];
    if (split->kind == SPLIT_VALUE) {
        out.part = piece;
        out.n_parts = partition->num;
    }
    for (int i = 0; i < split->n; i++) {
        int64_t size = shape->dim[split->dim[i]] / partition->num;
        out.range.lo[split->dim[i]] = piece * size;
        out.range.hi[split->dim[i]] = (piece + 1) * size;
    }
    return out;
}

bool anno_piece_args(const AnnoPartition *partition, const AnnoArg *args, int n_args, AnnoArg *out,
                     Error *err)
{
    for (int i = 0; i < n_args; i++) {
        out[i] = args[i];
        if (!args[i].is_int || !str_eq(args[i].name, partition->identifier))
            continue;
        if (args[i].value % partition->num != 0)
            return error_kind(err, ERROR_NOT_DIVISIBLE,
                              "the argument '%.*s' is %" PRId64 ", which %" PRId64
                              " does not divide",
                              STR_ARG(args[i].name), args[i].value, partition->num);
        out[i].value = args[i].value / partition->num;
    }
    return true;
}

static Shape piece_shape(const AnnoPiece *piece)
{
    Shape shape = {.n_dims = piece->range.n};
    for (int d = 0; d < piece->range.n; d++)
        shape.dim[d] = piece->range.hi[d] - piece->range.lo[d];
    return shape;
}

/* All pieces have equal shapes, so the first one is enough. */
bool anno_piece_check(Arena *arena, const AnnoPartition *partition, const Anno *const *candidates,
                      int n_candidates, const AnnoArg *args, int n_args, Error *err)
{
    const Anno *anno = partition->match->anno;
    AnnoInput *input = arena_array(arena, AnnoInput, anno->n_inputs);
    for (int i = 0; i < anno->n_inputs; i++) {
        AnnoPiece piece = anno_piece(partition, i, 0);
        input[i] = (AnnoInput){partition->match->input[i].is_tensor, piece_shape(&piece)};
    }
    AnnoMatch match;
    if (!anno_match(arena, candidates, n_candidates, input, anno->n_inputs, args, n_args, &match,
                    err))
        return false;
    for (int o = 0; o < anno->n_outputs; o++) {
        AnnoPiece piece = anno_piece(partition, anno->n_inputs + o, 0);
        Shape want = piece_shape(&piece);
        if (o >= match.anno->n_outputs || memcmp(&want, &match.output[o], sizeof want) != 0)
            return error_kind(err, ERROR_CONFLICT,
                              "a piece makes another shape of output %d than its part", o);
    }
    return true;
}

void anno_split_format(const AnnoSplit *split, Buf *out)
{
    if (split->kind != SPLIT_DIMS) {
        buf_putc(out, split->kind == SPLIT_VALUE ? 'V' : 'R');
        return;
    }
    for (int i = 0; i < split->n; i++)
        buf_printf(out, "%s%d", i == 0 ? "D(" : ",", (int8_t)split->dim[i]);
    buf_putc(out, ')');
}
