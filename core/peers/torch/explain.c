#include "core/peers/torch/explain.h"

#include "core/peers/torch/family.h"

#include <math.h>

static void format_tensor(const Placement *placements, int n_axes, Buf *out)
{
    if (!placements) {
        buf_putc(out, '-');
        return;
    }
    buf_puts(out, n_axes > 1 ? "[" : "");
    for (int axis = 0; axis < n_axes; axis++) {
        buf_puts(out, axis ? "," : "");
        placement_format(&placements[axis], false, out);
    }
    buf_puts(out, n_axes > 1 ? "]" : "");
}

void strategy_format(const Placement *const *inputs, int n_inputs, const Placement *const *outputs,
                     int n_outputs, int n_axes, Buf *out)
{
    for (int i = 0; i < n_inputs; i++) {
        buf_puts(out, i ? "," : "");
        format_tensor(inputs[i], n_axes, out);
    }
    for (int i = 0; i < n_outputs; i++) {
        buf_puts(out, i ? "," : " -> ");
        format_tensor(outputs[i], n_axes, out);
    }
}

const char *strategy_why(CandidateWhy why)
{
    switch (why) {
    case CANDIDATE_LEGAL:
        return "";
    case CANDIDATE_TOO_SMALL:
        return "a dim has fewer elements than shards";
    case CANDIDATE_MIXED_PARTIAL:
        return "partial in two ways that do not commute";
    case CANDIDATE_IN_PLACE:
        return "would move the tensor that is written in place";
    case CANDIDATE_FILTERED:
        return "the operator's own condition";
    case CANDIDATE_BANNED:
        return "an input cannot be redistributed like this";
    }
    return "";
}

/* ---- moves ---- */

bool strategy_input_moves(const StrategyCall *call, int input, const Placement *fed,
                          TorchMoves *out)
{
    const StrategyTensor *given = &call->input[input];
    bool to_view = strategy_strided_of_view(call->input, call->n_inputs, call->mesh);
    Redistribution move = {.mesh = call->mesh,
                           .shape = &given->shape,
                           .dtype = given->dtype,
                           .from = given->placements,
                           .to = fed,
                           .from_view = given->view_made,
                           .to_view = to_view};
    *out = (TorchMoves){0};
    return redistribute_plan(call->arena, &move, out, NULL);
}

void strategy_format_moves(const StrategyCall *call, const Placement *const *fed, Buf *out)
{
    const char *between = "";
    for (int i = 0; i < call->n_inputs; i++) {
        TorchMoves moves;
        if (!strategy_has_input(call, i) || !fed[i] ||
            !strategy_input_moves(call, i, fed[i], &moves))
            continue;
        for (int k = 0; k < moves.n; k++) {
            buf_printf(out, "%s%s input %d over %s", between, move_name(moves.at[k].kind), i,
                       call->mesh->axes[moves.at[k].axis].name);
            between = ", ";
        }
    }
}

/* ---- the size at which the choice changes ---- */

/* The price of a candidate if all inputs have `growth` times their elements. */
static double price_of(const StrategyCall *call, const StrategyAnswer *answer, int i,
                       int64_t growth)
{
    const Placement **outputs = arena_array(call->arena, const Placement *, answer->n_outputs);
    const Placement **inputs = arena_array(call->arena, const Placement *, answer->n_inputs);
    strategy_candidate_placements(call, answer, i, outputs, inputs);
    double us = 0;
    for (int k = 0; k < call->n_inputs; k++) {
        Shape shape = call->input[k].shape;
        if (shape.n_dims < 0 || !inputs[k])
            continue;
        if (shape.n_dims == 0)
            shape = (Shape){.n_dims = 1, .dim = {1}};
        shape.dim[0] *= growth;
        Redistribution move = {.mesh = call->mesh,
                               .shape = &shape,
                               .dtype = call->input[k].dtype,
                               .from = call->input[k].placements,
                               .to = inputs[k],
                               .from_view = call->input[k].view_made};
        us += redistribute_us(call->arena, &move);
    }
    return us;
}

bool strategy_flip(const StrategyCall *call, const StrategyAnswer *answer, StrategyFlip *out)
{
    *out = (StrategyFlip){INFINITY, -1};
    if (!answer->rows || answer->us <= 0)
        return false;
    double slope = price_of(call, answer, answer->chosen, 2) - answer->us;
    for (int i = 0; i < answer->n_candidates; i++) {
        const StrategyCandidate *candidate = &answer->candidate[i];
        if (i == answer->chosen || candidate->why != CANDIDATE_LEGAL)
            continue;
        double gain = slope - (price_of(call, answer, i, 2) - candidate->us);
        double factor = gain > 0 ? 1 + (candidate->us - answer->us) / gain : INFINITY;
        if (factor > 1 && factor < out->factor)
            *out = (StrategyFlip){factor, i};
    }
    return out->candidate >= 0;
}
