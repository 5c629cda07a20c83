#include "core/peers/alpa/hlo_space.h"

#include <inttypes.h>

typedef struct {
    OpSpace *space;
    int n_inputs;
    const Shape *input, *output;
    const Json *attrs;
    int n_names;
    Arena *arena;
    Error *err;
} HloBuild;

typedef struct HloOperator {
    const char *name;
    bool (*build)(HloBuild *build);
    const char *linear; /* an input each: '.' LINEAR_NO, 'a' alone, 't' together */
    int n_inputs;
    bool always_cut;
} HloOperator;

/* ---- helpers ---- */

static bool misfit(HloBuild *build, const char *what)
{
    return error_kind(build->err, ERROR_RANK, "%s", what);
}

static int add_index(HloBuild *build, int64_t size, bool reduced)
{
    const char *name = arena_printf(build->arena, "i%d", build->n_names++);
    return opspace_add_index(build->space, name, size, reduced ? ROLE_REDUCE : ROLE_MAP,
                             reduced ? REDUCE_SUM : REDUCE_NONE);
}

/* Joins a dim of an operand with an index dim; false if it has another size. */
static bool join(HloBuild *build, int operand, int64_t dim, int index)
{
    Operand *o = &build->space->operand[operand];
    if (index < 0)
        return misfit(build, "the op has too many dims");
    if (dim < 0 || dim >= o->shape.n_dims || o->shape.dim[dim] != build->space->index[index].size)
        return misfit(build, "shapes and dims do not fit together");
    row_unit(&o->projection.row[dim], index);
    return true;
}

static bool has(const Json *list, int64_t value)
{
    for (int i = 0; i < json_size(list); i++)
        if (json_int(json_at(list, i), -1) == value)
            return true;
    return false;
}

/* ---- operators ---- */

static bool pointwise(HloBuild *build)
{
    for (int d = 0; d < build->output->n_dims; d++) {
        int index = add_index(build, build->output->dim[d], false);
        for (int t = 0; t <= build->n_inputs; t++)
            if (build->space->operand[t].shape.n_dims != build->output->n_dims)
                return misfit(build, "operands need the dims of the result");
            else if (!join(build, t, d, index))
                return false;
    }
    return true;
}

static bool broadcast(HloBuild *build)
{
    const Json *dims = json_get(build->attrs, "dims");
    if (json_size(dims) != build->input->n_dims)
        return misfit(build, "'dims' needs an entry for each dim of the operand");
    for (int d = 0; d < build->output->n_dims; d++) {
        int index = add_index(build, build->output->dim[d], false);
        if (!join(build, 1, d, index))
            return false;
        for (int i = 0; i < json_size(dims); i++)
            if (json_int(json_at(dims, i), -1) == d && !join(build, 0, i, index))
                return false;
    }
    return true;
}

static bool transpose(HloBuild *build)
{
    const Json *perm = json_get(build->attrs, "perm");
    if (json_size(perm) != build->output->n_dims || build->input->n_dims != build->output->n_dims)
        return misfit(build, "'perm' needs an entry for each dim");
    for (int d = 0; d < build->output->n_dims; d++) {
        int index = add_index(build, build->output->dim[d], false);
        if (!join(build, 1, d, index) || !join(build, 0, json_int(json_at(perm, d), -1), index))
            return false;
    }
    return true;
}

static bool reduce(HloBuild *build)
{
    const Json *dims = json_get(build->attrs, "dims");
    int at = 0;
    for (int d = 0; d < build->input->n_dims; d++) {
        bool reduced = has(dims, d);
        int index = add_index(build, build->input->dim[d], reduced);
        if (!join(build, 0, d, index) || (!reduced && !join(build, 1, at++, index)))
            return false;
    }
    return at == build->output->n_dims || misfit(build, "the result has other dims");
}

/* Pairs of dims of both operands, in order; `out` the first dim of the result for them, or -1 if
 * they are summed. */
static bool dot_pairs(HloBuild *build, const char *name, int out)
{
    const Json *pairs = json_get(build->attrs, name);
    const Json *left = json_at(pairs, 0), *right = json_at(pairs, 1);
    if (json_size(left) != json_size(right))
        return misfit(build, "dims of both operands come in pairs");
    for (int i = 0; i < json_size(left); i++) {
        int64_t d = json_int(json_at(left, i), -1);
        if (d < 0 || d >= build->input[0].n_dims)
            return misfit(build, "an operand lacks a dim");
        int index = add_index(build, build->input[0].dim[d], out < 0);
        if (!join(build, 0, d, index) || !join(build, 1, json_int(json_at(right, i), -1), index) ||
            (out >= 0 && !join(build, 2, out + i, index)))
            return false;
    }
    return true;
}

static bool dot_general(HloBuild *build)
{
    const Json *batching = json_get(build->attrs, "batching_dims");
    const Json *contracting = json_get(build->attrs, "contracting_dims");
    int out = json_size(json_at(batching, 0));
    if (!dot_pairs(build, "batching_dims", 0))
        return false;
    for (int t = 0; t < 2; t++)
        for (int d = 0; d < build->input[t].n_dims; d++) {
            if (has(json_at(batching, t), d) || has(json_at(contracting, t), d))
                continue;
            int index = add_index(build, build->input[t].dim[d], false);
            if (!join(build, t, d, index) || !join(build, 2, out++, index))
                return false;
        }
    return dot_pairs(build, "contracting_dims", -1) &&
           (out == build->output->n_dims || misfit(build, "the result has other dims"));
}

/* A dim whose index dims are being collected, major first. */
typedef struct {
    int d, n, index[FACTORS_MAX];
    int64_t rest; /* of its size */
} Gathered;

static bool gather_next(HloBuild *build, int operand, Gathered *gathered)
{
    Operand *o = &build->space->operand[operand];
    while (gathered->rest == 1) {
        if (gathered->d >= 0 && gathered->n > 0)
            row_radix(&o->projection.row[gathered->d], build->space, gathered->index, gathered->n);
        else if (gathered->d >= 0)
            row_one(&o->projection.row[gathered->d]);
        if (++gathered->d == o->shape.n_dims)
            return false;
        gathered->n = 0;
        gathered->rest = o->shape.dim[gathered->d];
    }
    return true;
}

/* Common factors of both sides, major first; where sizes share none, the dims are read whole. */
static bool reshape(HloBuild *build)
{
    if (shape_elements(build->input) != shape_elements(build->output))
        return misfit(build, "a reshape keeps the number of elements");
    Gathered in = {.d = -1, .rest = 1}, out = {.d = -1, .rest = 1};
    for (;;) {
        bool more_in = gather_next(build, 0, &in), more_out = gather_next(build, 1, &out);
        if (!more_in || !more_out)
            return !more_in && !more_out;
        int64_t size = common_divisor(in.rest, out.rest);
        if (size == 1 || in.n == FACTORS_MAX || out.n == FACTORS_MAX)
            return error_kind(build->err, ERROR_UNSUPPORTED,
                              "a reshape whose dims have no common factors");
        int index = add_index(build, size, false);
        if (index < 0)
            return misfit(build, "the op has too many dims");
        in.index[in.n++] = out.index[out.n++] = index;
        in.rest /= size;
        out.rest /= size;
    }
}

static const HloOperator operators[] = {
    {"add", pointwise, "tt", 2, false},
    {"subtract", pointwise, "tt", 2, false},
    {"multiply", pointwise, "aa", 2, false},
    {"divide", pointwise, "a.", 2, false},
    {"exp", pointwise, ".", 1, false},
    {"compare", pointwise, "..", 2, false},
    {"select", pointwise, "...", 3, false},
    {"identity", pointwise, ".", 1, false},
    {"constant", pointwise, "", 0, false},
    {"broadcast", broadcast, "a", 1, false},
    {"reshape", reshape, "a", 1, false},
    {"transpose", transpose, "a", 1, false},
    {"reduce", reduce, "a", 1, false},
    {"dot_general", dot_general, "..", 2, true},
    {0},
};

static void begin_operands(HloBuild *build, const char *linear)
{
    for (int t = 0; t <= build->n_inputs; t++) {
        Operand *o = &build->space->operand[t];
        o->shape = t < build->n_inputs ? build->input[t] : *build->output;
        o->projection.n_dims = (uint8_t)o->shape.n_dims;
        if (t < build->n_inputs)
            o->linear = linear[t] == 'a'   ? LINEAR_ALONE
                        : linear[t] == 't' ? LINEAR_TOGETHER
                                           : LINEAR_NO;
    }
}

bool hlo_space(Arena *arena, Str op, int n_inputs, const Shape *inputs, const Shape *output,
               const Json *attrs, HloSpace *out, Error *err)
{
    const HloOperator *row = operators;
    while (row->name && !str_eq(op, str_from(row->name)))
        row++;
    if (!row->name)
        return error_kind(err, ERROR_UNKNOWN_OP, "there is no operator '%.*s'", STR_ARG(op));
    if (n_inputs != row->n_inputs)
        return error_set(err, "%s has %d operands, not %d", row->name, row->n_inputs, n_inputs);
    HloBuild build = {.space = opspace_new(arena, n_inputs, 1),
                      .n_inputs = n_inputs,
                      .input = inputs,
                      .output = output,
                      .attrs = attrs,
                      .arena = arena,
                      .err = err};
    begin_operands(&build, row->linear);
    if (!row->build(&build) || !opspace_finish(build.space, err))
        return false;
    *out = (HloSpace){build.space, row->always_cut};
    return true;
}
