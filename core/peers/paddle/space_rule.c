#include "core/peers/paddle/space_rule.h"

#include "core/peers/paddle/letters.h"
#include "core/rules/registry.h"

enum { LETTERS = 'z' - 'a' + 1 };

/* The letter of a tensor dim: that of its first index dim of more than one. */
static char letter_of(const OpSpace *space, const DimFactors *factors)
{
    int f = 0;
    while (f < factors->n && space->index[factors->index[f]].size == 1)
        f++;
    if (f == factors->n || !factors->exact || space->index[factors->index[f]].role == ROLE_FROZEN)
        return '1';
    return (char)('a' + factors->index[f]);
}

/* The one reduction of the space; returns false if there are several. */
static bool find_reduction(const OpSpace *space, ReduceOp *out)
{
    *out = REDUCE_NONE;
    for (int i = 0; i < space->n_index; i++) {
        if (space->index[i].role != ROLE_REDUCE)
            continue;
        if (*out != REDUCE_NONE && *out != space->index[i].reduce)
            return false;
        *out = space->index[i].reduce;
    }
    *out = *out == REDUCE_NONE ? REDUCE_SUM : *out;
    return true;
}

/* operand: those that have letters, inputs, then outputs. NULL if letters cannot express the space:
 * it has more index dims than letters, or reduces in several ways. */
static const SpmdRule *rule_of_space(Arena *arena, const OpSpace *space, const int *operand,
                                     int n_inputs, int n_outputs)
{
    SpmdRule *rule = arena_make(arena, SpmdRule);
    Buf letters = buf_new(arena);
    if (space->n_index > LETTERS || !find_reduction(space, &rule->reduce))
        return NULL;
    for (int i = 0; i < n_inputs + n_outputs; i++) {
        const Operand *at = &space->operand[operand[i]];
        buf_puts(&letters, i == n_inputs ? "->" : i > 0 ? "," : "");
        for (int d = 0; d < at->shape.n_dims; d++)
            buf_putc(&letters, letter_of(space, &at->factors[d]));
    }
    rule->names = "op_space";
    rule->letters = letters.s;
    rule->forward = spmd_letters_forward;
    rule->backward = spmd_letters_backward;
    rule->inputs = (SpmdCount){(uint8_t)n_inputs, (uint8_t)n_inputs};
    rule->outputs = (SpmdCount){(uint8_t)n_outputs, (uint8_t)n_outputs};
    return rule;
}

static bool has_letters(const Operand *operand)
{
    return !operand->absent && !operand->ignored;
}

bool spmd_call_of_space(Arena *arena, const Inferred *inferred, int32_t op, SpmdOpCall *call)
{
    const char *name = op_operator(inferred->graph, op);
    const OpSpace *space = program_space(inferred, op);
    if (operator_find(name) || space->no_rule)
        return false;
    int *operand = arena_array(arena, int, space->n_inputs + space->n_outputs);
    int *output = arena_array(arena, int, space->n_outputs);
    int n_inputs = 0, n_outputs = 0;
    for (int i = 0; i < space->n_inputs; i++)
        if (has_letters(&space->operand[i]))
            operand[n_inputs++] = i;
    for (int o = 0; o < space->n_outputs; o++)
        if (has_letters(opspace_output(space, o))) {
            operand[n_inputs + n_outputs] = space->n_inputs + o;
            output[n_outputs++] = o;
        }
    const SpmdRule *rule = rule_of_space(arena, space, operand, n_inputs, n_outputs);
    if (!rule)
        return false;
    *call = (SpmdOpCall){.rule = rule,
                         .name = name,
                         .graph = inferred->graph,
                         .op = op,
                         .n_inputs = n_inputs,
                         .n_outputs = n_outputs,
                         .input = operand,
                         .output = output,
                         .addend = -1};
    return true;
}
