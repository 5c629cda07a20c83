#include "core/peers/torch/strategy_check.h"

#include "core/peers/torch/explain.h"

enum { INPUTS_TRIED_MAX = 400 };

typedef struct {
    Arena *arena;
    const Strategies *strategies;
    LayoutCheck layouts;
    StrategyCall asked;
    StrategyTensor *input;
    Placement *given; /* per input; the mesh has one axis */
    Error refusal;    /* the first */
} StrategyCheck;

/* ---- claims ---- */

/* Converts a placement; returns false if no sharding expresses it, and then it is not tried. */
static bool to_sharding(const Placement *placement, bool input, const Shape *shape,
                        const Mesh *mesh, Sharding *out)
{
    static const Placement whole = {.kind = PLACE_REPLICATE},
                           sum = {.kind = PLACE_PARTIAL, .reduce = REDUCE_SUM};
    bool masked = placement->kind == PLACE_NORM_PARTIAL && placement->factor == MASK_FACTOR;
    const Placement *said = !masked ? placement : input ? &whole : &sum;
    return placements_sharding(said, shape, mesh, out, NULL);
}

static bool claim_shardings(StrategyCheck *check, const Placement *const *outputs, int n_outputs,
                            const Placement *const *inputs)
{
    LayoutCheck *layouts = &check->layouts;
    const Mesh *mesh = check->asked.mesh;
    layout_check_begin(layouts, mesh);
    for (int i = 0; i < check->asked.n_inputs; i++) {
        Sharding *sharding = layout_check_input(layouts, i);
        Shape shape = layout_check_input_shape(layouts, i);
        if (sharding && inputs[i] && !to_sharding(inputs[i], true, &shape, mesh, sharding))
            return false;
    }
    for (int o = 0; o < n_outputs && o < layouts->call->n_outputs; o++) {
        Sharding *sharding = layout_check_output(layouts, o);
        Shape shape = layout_check_output_shape(layouts, o);
        if (sharding && outputs[o] && !to_sharding(outputs[o], false, &shape, mesh, sharding))
            return false;
    }
    return true;
}

/* Runs the op as the row claims; returns false if the result is wrong. */
static bool try_claim(StrategyCheck *check, const Placement *const *outputs, int n_outputs,
                      const Placement *const *inputs)
{
    if (!claim_shardings(check, outputs, n_outputs, inputs) || layout_check_try(&check->layouts))
        return true;
    Buf claim = buf_new(check->arena);
    strategy_format(inputs, check->asked.n_inputs, outputs, n_outputs, 1, &claim);
    layout_check_blame(&check->layouts, "", claim.s);
    return false;
}

/* ---- rows ---- */

/* True if the row is legal for these sizes, whatever the given inputs. */
static bool is_claimed(const StrategyCandidate *candidate)
{
    return candidate->why == CANDIDATE_LEGAL || candidate->why == CANDIDATE_BANNED ||
           candidate->why == CANDIDATE_IN_PLACE;
}

static bool try_rows(StrategyCheck *check, const StrategyAnswer *answer)
{
    const Placement **outputs =
        arena_array(check->arena, const Placement *, answer->rows->n_outputs);
    const Placement **inputs = arena_array(check->arena, const Placement *, answer->rows->n_inputs);
    for (int c = 0; c < answer->n_candidates; c++) {
        if (!is_claimed(&answer->candidate[c]))
            continue;
        strategy_candidate_placements(&check->asked, answer, c, outputs, inputs);
        if (!try_claim(check, outputs, answer->rows->n_outputs, inputs))
            return false;
    }
    return true;
}

/* ---- answers ---- */

enum { ADDENDS = 4 };

static int n_ways(const StrategyTensor *tensor)
{
    int n = 1 + ADDENDS;
    for (int d = 0; d < tensor->shape.n_dims; d++)
        n += tensor->shape.dim[d] > 1;
    return tensor->shape.n_dims < 0 ? 1 : n;
}

/* Replicated, addends, a shard of a dim that can be cut. */
static Placement way_of(const StrategyTensor *tensor, int way)
{
    static const ReduceOp reduces[ADDENDS] = {REDUCE_SUM, REDUCE_AVG, REDUCE_MAX, REDUCE_MIN};
    int dim = 0;
    if (way == 0)
        return (Placement){.kind = PLACE_REPLICATE};
    if (way <= ADDENDS)
        return (Placement){.kind = PLACE_PARTIAL, .reduce = reduces[way - 1]};
    for (int left = way - ADDENDS; dim < tensor->shape.n_dims; dim++) {
        left -= tensor->shape.dim[dim] > 1;
        if (left == 0)
            break;
    }
    return (Placement){.kind = PLACE_SHARD, .dim = dim, .factor = 1};
}

static void set_inputs(StrategyCheck *check, int64_t question)
{
    for (int i = 0; i < check->asked.n_inputs; i++) {
        int ways = n_ways(&check->input[i]);
        check->given[i] = way_of(&check->input[i], (int)(question % ways));
        question /= ways;
    }
}

/* Asks for the answer; returns false if it is refused. */
static bool answer_call(StrategyCheck *check, StrategyAnswer *answer)
{
    Error refusal = {0};
    if (strategy_answer(check->strategies, &check->asked, answer, &refusal))
        return true;
    if (check->refusal.text[0] == '\0')
        check->refusal = refusal;
    return false;
}

static bool try_answers(StrategyCheck *check)
{
    int64_t n = 1;
    for (int i = 0; i < check->asked.n_inputs; i++)
        if (__builtin_mul_overflow(n, n_ways(&check->input[i]), &n))
            n = INT64_MAX;
    int64_t some = n < INPUTS_TRIED_MAX ? n : INPUTS_TRIED_MAX;
    for (int64_t q = 0; q < some; q++) {
        StrategyAnswer answer;
        set_inputs(check, some == n ? q : (int64_t)((uint64_t)q * 2654435761U % (uint64_t)n));
        if (answer_call(check, &answer) && answer.input && answer.n_parts == 0 &&
            !try_claim(check, answer.output, answer.n_outputs, answer.input))
            return false;
    }
    return true;
}

/* ---- all of it ---- */

/* Rows are expanded for the kinds of shards that inputs have: shards each input, in two blocks if
 * `strided` and possible, else plainly. */
static void set_shards(StrategyCheck *check, bool strided)
{
    for (int i = 0; i < check->asked.n_inputs; i++) {
        bool can = n_ways(&check->input[i]) > 1 + ADDENDS;
        check->given[i] = way_of(&check->input[i], can ? 1 + ADDENDS : 0);
        if (can && strided) {
            check->given[i].kind = PLACE_STRIDED;
            check->given[i].factor = 2;
        }
    }
}

static bool try_mesh(StrategyCheck *check, const char *text)
{
    Source source = {"mesh", str_from(text)};
    check->asked.mesh = mesh_parse(check->arena, &source, NULL);
    for (int strided = 0; strided < 2; strided++) {
        StrategyAnswer answer = {0};
        set_shards(check, strided);
        (void)answer_call(check, &answer); /* the rows exist even if all are refused */
        if (!answer.rows)
            return try_answers(check);
        if (!try_rows(check, &answer))
            return false;
    }
    return true;
}

static void set_up(StrategyCheck *check, const SystemCall *call, StrategyProfile profile)
{
    check->input = arena_array(check->arena, StrategyTensor, call->n_inputs);
    check->given = arena_array(check->arena, Placement, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++) {
        Shape shape = layout_check_input_shape(&check->layouts, i);
        check->input[i] =
            (StrategyTensor){.shape = shape, .dtype = layout_check_input_dtype(&check->layouts, i)};
        if (shape.n_dims >= 0)
            check->input[i].placements = &check->given[i];
    }
    check->asked = (StrategyCall){.arena = check->arena,
                                  .op = call->name,
                                  .graph = call->theirs,
                                  .space = inferred_space(check->layouts.inferred, 0),
                                  .n_inputs = call->n_inputs,
                                  .input = check->input,
                                  .profile = profile};
    if (call->ours != call->theirs)
        check->asked.space = NULL;
}

bool strategy_check(Arena *arena, const Registry *registry, const Strategies *strategies,
                    StrategyProfile profile, const SystemCall *call, RuleProof *out, Error *err)
{
    StrategyCheck check = {.arena = arena, .strategies = strategies};
    bool ok = layout_check_open(arena, registry, call, out, &check.layouts, err);
    if (ok) {
        set_up(&check, call, profile);
        (void)(try_mesh(&check, "x=2") && try_mesh(&check, "x=3"));
        ok = out->n_cuts > 0 || layout_check_refused(&check.layouts, &check.refusal, err);
    }
    layout_check_close(&check.layouts);
    return ok;
}
