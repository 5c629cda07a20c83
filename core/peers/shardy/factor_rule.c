#include "core/peers/shardy/factor_rule.h"

#include "core/base/vec.h"

#include <inttypes.h>

/* ---- text ---- */

enum { N_LETTERS = 'z' - 'i' + 1 };

void factor_name(int factor, Buf *out)
{
    if (factor < N_LETTERS)
        buf_putc(out, (char)('i' + factor));
    else
        buf_printf(out, "z_%d", factor - N_LETTERS + 1);
}

static void format_tensor(const FactorTensor *tensor, Buf *out)
{
    buf_putc(out, '[');
    for (int d = 0; d < tensor->n_dims; d++) {
        buf_puts(out, d > 0 ? ", " : "");
        for (int i = 0; i < tensor->dim[d].n; i++)
            factor_name(tensor->dim[d].at[i], out);
    }
    buf_putc(out, ']');
}

static void format_tensors(const FactorTensor *tensor, int n, Buf *out)
{
    buf_putc(out, '(');
    for (int i = 0; i < n; i++) {
        buf_puts(out, i > 0 ? ", " : "");
        format_tensor(&tensor[i], out);
    }
    buf_putc(out, ')');
}

/* " reduction={k, l}", or nothing when no factor is in the set. */
static void format_set(const FactorRule *rule, FactorType type, bool blocked, Buf *out)
{
    int n = 0;
    for (int f = 0; f < rule->n_factors; f++) {
        const Factor *factor = &rule->factor[f];
        if (blocked ? !factor->blocked : factor->type != type)
            continue;
        if (n++ == 0)
            buf_printf(out, " %s={", blocked ? "blocked_propagation" : factor_type_name(type));
        else
            buf_puts(out, ", ");
        factor_name(f, out);
    }
    buf_puts(out, n > 0 ? "}" : "");
}

void factor_rule_format(const FactorRule *rule, Buf *out)
{
    format_tensors(rule->tensor, rule->n_operands, out);
    buf_puts(out, "->");
    format_tensors(rule->tensor + rule->n_operands, rule->n_results, out);
    for (int f = 0; f < rule->n_factors; f++) {
        buf_puts(out, f > 0 ? ", " : " {");
        factor_name(f, out);
        buf_printf(out, "=%" PRId64, rule->factor[f].size);
    }
    buf_puts(out, rule->n_factors > 0 ? "}" : "");
    for (int type = FACTOR_REDUCTION; type < FACTOR_TYPE_COUNT; type++)
        format_set(rule, (FactorType)type, false, out);
    format_set(rule, FACTOR_PASS_THROUGH, true, out);
    buf_puts(out, rule->custom ? ", custom" : "");
}

/* ---- from an op space ---- */

typedef struct {
    Arena *arena;
    const OpSpace *space;
    Vec(Factor) factors;
    int factor_of[X_MAX]; /* per index dim; -1 if not added yet */
    int single[DIMS_MAX]; /* the factor of the size-1 dims at that position, or -1 */
    FactorTensor *tensor;
} Maker;

static int add_factor(Maker *maker, Factor factor)
{
    vec_push(maker->arena, &maker->factors, factor);
    return maker->factors.n - 1;
}

static int factor_of_index(Maker *maker, int j)
{
    const IndexDim *index = &maker->space->index[j];
    FactorType type = factor_type_of(maker->space, j);
    if (maker->factor_of[j] < 0)
        maker->factor_of[j] = add_factor(maker, (Factor){index->size, type, index->blocked});
    return maker->factor_of[j];
}

/* The factor of a dim without an index dim. */
static int own_factor(Maker *maker, const Operand *operand, int d)
{
    const OpSpace *space = maker->space;
    const Operand *output = space->n_outputs > 0 ? opspace_output(space, 0) : operand;
    int64_t size = operand->shape.dim[d];
    bool at_place =
        size == 1 && output->shape.n_dims == operand->shape.n_dims && output->shape.dim[d] == 1;
    if (at_place && maker->single[d] >= 0)
        return maker->single[d];
    FactorType type = size == 1 ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION;
    int factor = add_factor(maker, (Factor){size, type, false});
    if (at_place)
        maker->single[d] = factor;
    return factor;
}

static void make_tensor(Maker *maker, int i)
{
    const Operand *operand = &maker->space->operand[i];
    FactorTensor *tensor = &maker->tensor[i];
    if (operand->absent)
        return;
    tensor->n_dims = (int)(operand->shape.n_dims < 0 ? 0 : operand->shape.n_dims);
    for (int d = 0; d < tensor->n_dims; d++) {
        int *at = arena_array(maker->arena, int, X_MAX);
        int index[X_MAX],
            n = operand->ignored ? 0 : factor_index_dims(maker->space, operand, d, index);
        for (int k = 0; k < n; k++)
            at[k] = factor_of_index(maker, index[k]);
        if (n == 0)
            at[0] = own_factor(maker, operand, d);
        tensor->dim[d] = (FactorDim){n > 0 ? n : 1, at};
    }
}

/* The index dims of an operand in order. */
static int operand_order(const OpSpace *space, const Operand *operand, int *order)
{
    int n = 0;
    for (int d = 0; !operand->absent && !operand->ignored && d < operand->projection.n_dims; d++) {
        int index[X_MAX], n_here = factor_index_dims(space, operand, d, index);
        for (int k = 0; k < n_here && n < X_MAX; k++)
            order[n++] = index[k];
    }
    return n;
}

static bool is_within(const int *part, int n_part, const int *whole, int n_whole)
{
    int at = 0;
    for (int i = 0; i < n_whole && at < n_part; i++)
        at += whole[i] == part[at];
    return at == n_part;
}

/* The only operand with index dims, if it contains those of the first result in order, or -1. */
static int leading_operand(const OpSpace *space)
{
    int order[X_MAX], result[X_MAX], n = 0, leading = -1;
    for (int i = 0; i < space->n_inputs; i++) {
        int found[X_MAX], n_found = operand_order(space, &space->operand[i], found);
        if (n_found == 0)
            continue;
        if (leading >= 0)
            return -1;
        leading = i;
        n = n_found;
        memcpy(order, found, sizeof order);
    }
    int n_result =
        space->n_outputs > 0 ? operand_order(space, opspace_output(space, 0), result) : 0;
    return leading >= 0 && is_within(result, n_result, order, n) ? leading : -1;
}

FactorRule *factor_rule_of(Arena *arena, const OpSpace *space)
{
    int n = space->n_inputs + space->n_outputs, leading = leading_operand(space);
    Maker maker = {.arena = arena, .space = space};
    maker.tensor = arena_array(arena, FactorTensor, n);
    memset(maker.factor_of, -1, sizeof maker.factor_of);
    memset(maker.single, -1, sizeof maker.single);

    if (leading >= 0)
        make_tensor(&maker, leading);
    for (int i = space->n_inputs; i < n; i++)
        make_tensor(&maker, i);
    for (int i = 0; i < space->n_inputs; i++)
        if (i != leading)
            make_tensor(&maker, i);

    FactorRule *rule = arena_make(arena, FactorRule);
    *rule = (FactorRule){.n_factors = maker.factors.n,
                         .n_operands = space->n_inputs,
                         .n_results = space->n_outputs,
                         .factor = maker.factors.at,
                         .tensor = maker.tensor};
    return rule;
}
