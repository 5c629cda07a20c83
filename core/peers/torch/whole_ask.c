#include "core/peers/torch/whole_ask.h"

#include "core/peers/torch/family.h"

#include <math.h>

static StrategyTensor tensor_of(const WholeQuestion *question, int input)
{
    StrategyTensor tensor = {.shape = {.n_dims = -1}};
    const Inferred *inferred = question->inferred;
    int32_t t = input < 0 ? -1 : op_inputs(inferred->graph, question->op)[input];
    const Shape *shape = t < 0 ? NULL : inferred_shape(inferred, t);
    if (!shape)
        return tensor;
    const Lay *lay = lays_at(question->lays, question->given[input]);
    return (StrategyTensor){.shape = *shape,
                            .dtype = (Dtype)inferred->dtype[t],
                            .placements = lay->at,
                            .view_made = lay->view_made != 0};
}

/* Adds the price of an answer. A composed answer has its candidates in its parts. */
static void add_choice(const StrategyAnswer *answer, OpChoice *choice)
{
    for (int i = 0; i < answer->n_parts; i++)
        add_choice(&answer->part[i], choice);
    if (answer->n_parts > 0)
        return;
    double us = isinf(answer->us) ? 0 : answer->us; /* torch has no price for blocks */
    double more = INFINITY;
    if (answer->n_candidates > 0 && answer->runner_up >= 0) /* a view has no candidates */
        more = answer->candidate[answer->runner_up].us - answer->us;
    choice->next_us = fmin(choice->next_us + us, choice->us + us + more);
    choice->us += us;
}

/* Answers one step; results of earlier steps are inputs of later ones. */
static bool ask_step(Arena *arena, const WholeQuestion *question, const WholeStep *step,
                     StrategyTensor *made, WholeReply *reply, StrategyAnswer *answer, Error *err)
{
    const Mesh *mesh = question->lays->mesh;
    StrategyTensor *input = arena_array(arena, StrategyTensor, step->n_inputs);
    bool strided = false;
    for (int i = 0; i < step->n_inputs; i++) {
        bool earlier = step->input[i] < 0 && step->input[i] != WHOLE_NO_INPUT;
        input[i] = earlier ? made[~step->input[i]] : tensor_of(question, step->input[i]);
        strided |= input[i].placements && placements_are_strided(input[i].placements, mesh->n_axes);
    }
    StrategyCall call = {.arena = arena,
                         .op = step->name,
                         .graph = step->graph,
                         .graph_op = step->graph_op,
                         .space = step->space,
                         .n_inputs = step->n_inputs,
                         .input = input,
                         .n_indices = step->n_indices,
                         .mesh = mesh,
                         .profile = question->profile,
                         .no_redistribute = question->no_redistribute,
                         .best_only = true};
    if (!strategy_answer(question->strategies, &call, answer, err))
        return false;
    reply->view_made = !strided || strategy_strided_of_view(input, step->n_inputs, mesh);
    reply->composed |= answer->n_parts > 0;
    add_choice(answer, &reply->choice);
    for (int i = 0; i < step->n_inputs; i++)
        if (step->input[i] >= 0 && !reply->input[step->input[i]])
            reply->input[step->input[i]] = answer->input[i];
    return true;
}

bool whole_ask(Arena *arena, const WholeQuestion *question, WholeReply *out, Error *err)
{
    const WholeCall *call = question->call;
    const GraphOp *node = &question->inferred->graph->ops[question->op];
    StrategyTensor *made = arena_array(arena, StrategyTensor, call->n_steps);
    StrategyAnswer answer = {0};
    *out = (WholeReply){.composed = call->n_steps > 1, .choice = {.next_us = INFINITY}};
    out->input = arena_array(arena, const Placement *, node->n_inputs);
    out->output = arena_array(arena, const Placement *, node->n_outputs);
    for (int s = 0; s < call->n_steps; s++) {
        if (!ask_step(arena, question, &call->step[s], made, out, &answer, err))
            return false;
        made[s] = (StrategyTensor){.shape = call->step[s].made,
                                   .dtype = tensor_of(question, 0).dtype,
                                   .placements = answer.n_outputs > 0 ? answer.output[0] : NULL,
                                   .view_made = out->view_made};
    }
    for (int o = 0; o < node->n_outputs && o < answer.n_outputs; o++)
        out->output[o] = answer.output[o];
    return true;
}

/* Replicates inputs on an axis; -1: on all. */
static void replicate(const WholeQuestion *question, int axis, int32_t *out)
{
    for (int i = 0; i < question->inferred->graph->ops[question->op].n_inputs; i++) {
        out[i] = question->given[i];
        if (out[i] < 0)
            continue;
        Lay lay = *lays_at(question->lays, out[i]);
        for (int a = 0; a < question->lays->mesh->n_axes; a++)
            if (axis < 0 || a == axis)
                lay.at[a].kind = PLACE_REPLICATE;
        out[i] = lays_put(question->lays, lay.at, lay.view_made != 0);
    }
}

bool whole_ask_fixed(Arena *arena, const WholeQuestion *question, WholeReply *out)
{
    WholeQuestion again = *question;
    int32_t *given =
        arena_array(arena, int32_t, question->inferred->graph->ops[question->op].n_inputs);
    again.profile = STRATEGY_TORCH;
    again.no_redistribute = false;
    if (whole_ask(arena, &again, out, NULL))
        return true;
    again.given = given;
    for (int axis = question->lays->mesh->n_axes - 1; axis >= -1; axis--) {
        replicate(question, axis, given);
        if (whole_ask(arena, &again, out, NULL))
            return true;
    }
    return false;
}
