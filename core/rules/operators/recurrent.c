/* recurrent.c - operators that carry a state along a sequence: RNN, GRU, LSTM.
 *
 *     LSTM   s^ b i^, r (4 h^) i^, r (4 h^) p^, r (8 h^), b, r b h^, ..
 *              -> s^ r b h^, r b h^, r b h^
 *
 * s: steps; b: batch; i: inputs; r: directions, which are independent; h: the state; p: the
 * previous state. Each step reads all of the previous state, so h cannot be sharded; nor can the
 * steps. With layout 1 the batch comes first: b s i, and b s r h.
 */
#include "core/rules/args.h"

#include <inttypes.h>

typedef struct {
    int gates; /* rows of W and R for each number of the state */
    int first_state, n_states;
    int peepholes; /* input of 3 numbers each, or -1 */
} CellForm;

typedef struct {
    int64_t s, b, i, r, h;
} RecurrentSizes;

static bool read_directions(const RuleCall *call, int64_t *out, Error *err)
{
    Str given = args_text(call, "direction", "forward");
    *out = str_eq(given, STR("bidirectional")) ? 2 : 1;
    /* "foward" is the default that the first operator set spells out */
    return *out == 2 || str_eq(given, STR("forward")) || str_eq(given, STR("reverse")) ||
           str_eq(given, STR("foward")) ||
           error_set(err, "its direction is '%.*s'", (int)given.n, given.s);
}

static bool has_shape(const RuleCall *call, int input, const Shape *want, Error *err)
{
    return !args_has(call, input) || args_shape(call, input, want, err);
}

static bool read_sizes(const RuleCall *call, const CellForm *cell, bool batch_first,
                       RecurrentSizes *out, Error *err)
{
    const Shape *x = call->shape[0], *r = call->shape[2];
    for (int i = 0; i < 3; i++)
        if (!args_rank(call, i, 3, 3, err))
            return false;
    *out = (RecurrentSizes){x->dim[batch_first], x->dim[!batch_first], x->dim[2], 0, r->dim[2]};
    if (!read_directions(call, &out->r, err))
        return false;
    int64_t hidden = args_int(call, "hidden_size", out->h);
    if (hidden != out->h || out->h < 1 || out->h > INT32_MAX)
        return error_set(err, "its hidden_size is %" PRId64 ", and its recurrence has %" PRId64,
                         hidden, out->h);
    int64_t rows = cell->gates * out->h;
    Shape state = {.n_dims = 3, .dim = {out->r, out->b, out->h}};
    if (batch_first)
        state = (Shape){.n_dims = 3, .dim = {out->b, out->r, out->h}};
    bool fits = has_shape(call, 1, &(Shape){.n_dims = 3, .dim = {out->r, rows, out->i}}, err) &&
                has_shape(call, 2, &(Shape){.n_dims = 3, .dim = {out->r, rows, out->h}}, err) &&
                has_shape(call, 3, &(Shape){.n_dims = 2, .dim = {out->r, 2 * rows}}, err) &&
                has_shape(call, 4, &(Shape){.n_dims = 1, .dim = {out->b}}, err);
    for (int i = 0; fits && i < cell->n_states; i++)
        fits = has_shape(call, cell->first_state + i, &state, err);
    return fits && (cell->peepholes < 0 ||
                    has_shape(call, cell->peepholes,
                              &(Shape){.n_dims = 2, .dim = {out->r, 3 * out->h}}, err));
}

static void shapes_out(RuleCall *call, const RecurrentSizes *n, bool batch_first)
{
    for (int o = 0; o < call->n_outputs; o++) {
        Shape *out = &call->out_shape[o];
        call->out_dtype[o] = call->dtype[0];
        if (o == 0 && batch_first)
            *out = (Shape){.n_dims = 4, .dim = {n->b, n->s, n->r, n->h}};
        else if (o == 0)
            *out = (Shape){.n_dims = 4, .dim = {n->s, n->r, n->b, n->h}};
        else if (batch_first)
            *out = (Shape){.n_dims = 3, .dim = {n->b, n->r, n->h}};
        else
            *out = (Shape){.n_dims = 3, .dim = {n->r, n->b, n->h}};
    }
}

/* A row for a dim with `n` numbers for each number of the state. */
static void gate_row(RuleCall *call, int input, int64_t n, int h)
{
    OpSpace *space = call->space;
    int gates = n > 1 ? opspace_add_number(call->arena, space, n, 0) : -1;
    rule_radix(space, &space->operand[input], 1, (int[]){gates, h}, 2);
}

static bool recurrent(RuleCall *call, const CellForm *cell, Error *err)
{
    bool batch_first = args_int(call, "layout", 0) != 0;
    RecurrentSizes n = {0};
    if (!read_sizes(call, cell, batch_first, &n, err))
        return false;
    shapes_out(call, &n, batch_first);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    int s = rule_index(space, "s", n.s, ROLE_FROZEN, REDUCE_NONE);
    int b = rule_index(space, "b", n.b, ROLE_MAP, REDUCE_NONE);
    int i = rule_index(space, "i", n.i, ROLE_FROZEN, REDUCE_NONE);
    int r = rule_index(space, "r", n.r, ROLE_MAP, REDUCE_NONE);
    int h = rule_index(space, "h", n.h, ROLE_FROZEN, REDUCE_NONE);
    int p = rule_index(space, "p", n.h, ROLE_FROZEN, REDUCE_NONE);
    const int state[3] = {batch_first ? b : r, batch_first ? r : b, h};
    rule_align(&space->operand[0], (int[]){batch_first ? b : s, batch_first ? s : b, i}, 3);
    rule_align(&space->operand[1], (int[]){r, -1, i}, 3);
    rule_align(&space->operand[2], (int[]){r, -1, p}, 3);
    gate_row(call, 1, cell->gates, h);
    gate_row(call, 2, cell->gates, h);
    if (args_has(call, 3)) {
        rule_unit(&space->operand[3], 0, r);
        gate_row(call, 3, (int64_t)2 * cell->gates, h);
    }
    if (args_has(call, 4))
        rule_unit(&space->operand[4], 0, b);
    for (int k = 0; k < cell->n_states; k++)
        if (args_has(call, cell->first_state + k))
            rule_align(&space->operand[cell->first_state + k], state, 3);
    if (cell->peepholes >= 0 && args_has(call, cell->peepholes)) {
        rule_unit(&space->operand[cell->peepholes], 0, r);
        gate_row(call, cell->peepholes, 3, h);
    }
    const int steps[4] = {batch_first ? b : s, batch_first ? s : r, batch_first ? r : b, h};
    for (int o = 0; o < call->n_outputs; o++)
        if (o == 0)
            rule_align(rule_output(space, o), steps, 4);
        else
            rule_align(rule_output(space, o), state, 3);
    space->flops =
        2.0 * (double)(n.s * n.r * cell->gates) * (double)(n.b * n.h) * (double)(n.i + n.h);
    return true;
}

static bool rnn(RuleCall *call, Error *err)
{
    static const CellForm cell = {1, 5, 1, -1};
    return recurrent(call, &cell, err);
}

static bool gru(RuleCall *call, Error *err)
{
    static const CellForm cell = {3, 5, 1, -1};
    return recurrent(call, &cell, err);
}

static bool lstm(RuleCall *call, Error *err)
{
    static const CellForm cell = {4, 5, 2, 7};
    return recurrent(call, &cell, err);
}

#define FAMILY "recurrent"

const Operator operators_recurrent[] = {
    {OP("RNN", rnn, 0, 3, 6), GRADIENT("0 1 2 3 5: RecurrentBackward(inputs)"), .outputs_max = 2,
     ONNX("activation_alpha activation_beta activations clip direction hidden_size layout "
          "output_sequence",
          "Af Af Af Af .i Af"),
     .kernel = "RNN", .examples = "5x3x4,1x6x4,1x6x6 -> 2"},
    {OP("GRU", gru, 0, 3, 6), GRADIENT("0 1 2 3 5: RecurrentBackward(inputs)"), .outputs_max = 2,
     ONNX("activation_alpha activation_beta activations clip direction hidden_size layout "
          "linear_before_reset output_sequence",
          "Af Af Af Af .i Af"),
     .kernel = "GRU",
     .examples = "5x3x4,2x18x4,2x18x6,2x36 direction=bidirectional hidden_size=6 -> 2"},
    {OP("LSTM", lstm, 0, 3, 8), GRADIENT("0 1 2 3 5 6 7: RecurrentBackward(inputs)"),
     .outputs_max = 3,
     ONNX("activation_alpha activation_beta activations clip direction hidden_size input_forget "
          "layout output_sequence",
          "Af Af Af Af .i Af Af Af"),
     .kernel = "LSTM",
     .examples = "5x3x4,1x24x4,1x24x6,1x48,3:i32,1x3x6,1x3x6,1x18 -> 3; 3x5x4,2x24x4,2x24x6 "
                 "direction=bidirectional layout=1 -> 3"},
    {0},
};
