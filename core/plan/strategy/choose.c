/* choose.c - from the rows of one axis to the placements of a mesh: expansion, filters, price. */
#include "core/plan/strategy/family.h"
#include "core/plan/strategy/redistribute.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum { CANDIDATES_MAX = 1 << 20 };

/* ---- filling in s(d) ---- */

/* The kinds of shard that the inputs lie in, each once. */
typedef struct {
    Vec(Placement) at;
} Kinds;

static void note_kind(Arena *arena, Kinds *kinds, const Placement *placement)
{
    if (!placement_is_shard(placement))
        return;
    Placement kind = *placement;
    kind.dim = 0;
    for (int i = 0; i < kinds->at.n; i++)
        if (placement_equal(&kinds->at.at[i], &kind))
            return;
    vec_push(arena, &kinds->at, kind);
}

static Kinds kinds_of(const StrategyCall *call)
{
    Kinds kinds = {0};
    for (int i = 0; i < call->n_inputs; i++)
        for (int axis = 0; call->input[i].placements && axis < call->mesh->n_axes; axis++)
            note_kind(call->arena, &kinds, &call->input[i].placements[axis]);
    return kinds;
}

static bool has_any_shard(const StrategyCell *row, int n_cells)
{
    for (int i = 0; i < n_cells; i++)
        if (row[i].kind == CELL_ANY_SHARD)
            return true;
    return false;
}

static void fill_row(StrategyRows *out, const StrategyCell *row, const Placement *kind)
{
    StrategyCell *filled = strategy_row(out);
    for (int i = 0; i < out->n_outputs + out->n_inputs; i++) {
        filled[i] = row[i];
        if (row[i].kind != CELL_ANY_SHARD)
            continue;
        filled[i].kind = CELL_FIXED;
        filled[i].placement = *kind;
        filled[i].placement.dim = row[i].placement.dim;
    }
}

static bool is_replicated_row(const StrategyCell *row, int n_cells)
{
    for (int i = 0; i < n_cells; i++)
        if (row[i].kind == CELL_ANY_SHARD ||
            (row[i].kind == CELL_FIXED && row[i].placement.kind != PLACE_REPLICATE))
            return false;
    return true;
}

/* The all-replicated row comes first unless the family has it elsewhere; an output that is no
 * tensor in any row is none there either. */
static void add_replicated(const StrategyRows *rows, StrategyRows *out)
{
    int n_cells = rows->n_outputs + rows->n_inputs;
    for (int r = 0; r < rows->row.n; r++)
        if (is_replicated_row(rows->row.at[r], n_cells))
            return;
    StrategyCell *row = strategy_row(out);
    for (int i = 0; i < rows->n_outputs && rows->row.n > 0; i++) {
        bool none = true;
        for (int r = 0; r < rows->row.n; r++)
            none &= rows->row.at[r][i].kind == CELL_NONE;
        if (none)
            row[i] = cell_none();
    }
}

static StrategyRows *fill_rows(const StrategyCall *call, const StrategyRows *rows)
{
    StrategyRows *out = arena_make(call->arena, StrategyRows);
    *out = *rows;
    out->row.at = NULL;
    out->row.n = out->row.room = 0;
    add_replicated(rows, out);
    Kinds kinds = kinds_of(call);
    const Placement none = {0};
    for (int r = 0; r < rows->row.n; r++) {
        const StrategyCell *row = rows->row.at[r];
        bool any = has_any_shard(row, rows->n_outputs + rows->n_inputs);
        for (int k = 0; k < (any ? kinds.at.n : 1); k++)
            fill_row(out, row, any ? &kinds.at.at[k] : &none);
    }
    for (int r = 0; r < out->row.n; r++)
        for (int i = 0; i < call->n_inputs; i++)
            if (!strategy_has_input(call, i))
                *row_input(out, out->row.at[r], i) = cell_none();
    return out;
}

/* ---- one candidate ---- */

/* The placements of all tensors, outputs first: [tensor][axis]. */
typedef struct {
    const StrategyCall *call;
    const StrategyRows *rows;
    Arena *scratch;
    Placement **tensor;
    bool *none;
} Layouts;

static Layouts layouts_new(const StrategyCall *call, const StrategyRows *rows, Arena *scratch)
{
    int n_tensors = rows->n_outputs + rows->n_inputs, n_axes = call->mesh->n_axes;
    Layouts layouts = {call, rows, scratch, arena_array(scratch, Placement *, n_tensors),
                       arena_array(scratch, bool, n_tensors)};
    Placement *all = arena_array(scratch, Placement, n_tensors * (n_axes + 1));
    for (int i = 0; i < n_tensors; i++)
        layouts.tensor[i] = all + (ptrdiff_t)i * n_axes;
    return layouts;
}

static void layouts_take(Layouts *layouts, const uint16_t *row)
{
    int n_tensors = layouts->rows->n_outputs + layouts->rows->n_inputs;
    for (int i = 0; i < n_tensors; i++) {
        layouts->none[i] = false;
        for (int axis = 0; axis < layouts->call->mesh->n_axes; axis++) {
            const StrategyCell *cell = &layouts->rows->row.at[row[axis]][i];
            layouts->tensor[i][axis] = cell->placement;
            layouts->none[i] |= cell->kind == CELL_NONE;
        }
    }
}

static bool placements_equal(const Placement *a, const Placement *b, int n_axes)
{
    for (int i = 0; i < n_axes; i++)
        if (!placement_equal(&a[i], &b[i]))
            return false;
    return true;
}

/* Partial in two ways that do not commute; sum and avg do. */
static bool is_mixed(const Placement *placements, int n_axes)
{
    enum { NORM = 30, MASK = 31 };
    unsigned seen = 0;
    for (int i = 0; i < n_axes; i++) {
        if (placements[i].kind == PLACE_PARTIAL)
            seen |= 1u << placements[i].reduce;
        if (placements[i].kind == PLACE_NORM_PARTIAL)
            seen |= 1u << (placements[i].factor == MASK_FACTOR ? MASK : NORM);
    }
    return (seen & (seen - 1)) && seen != LINEAR_REDUCES;
}

/* Every dim has at least as many elements as shards, times the pieces of a strided one. */
static bool is_shardable(const Shape *shape, const Placement *placements, const Mesh *mesh)
{
    int64_t n_shards[DIMS_MAX];
    for (int d = 0; d < DIMS_MAX; d++)
        n_shards[d] = 1;
    for (int i = 0; i < mesh->n_axes; i++) {
        if (!placement_is_shard(&placements[i]))
            continue;
        int dim = placements[i].dim;
        if (dim < 0 || dim >= shape->n_dims)
            return false;
        n_shards[dim] *= mesh->axes[i].size;
        int64_t pieces = placements[i].kind == PLACE_SHARD ? 1 : placements[i].factor;
        if (shape->dim[dim] / pieces < n_shards[dim])
            return false;
    }
    return true;
}

/* Whether the tensor that is written stays as it lies. */
static bool stays(const Layouts *layouts, int *input)
{
    const StrategyCall *call = layouts->call;
    const StrategyRows *rows = layouts->rows;
    int n_axes = call->mesh->n_axes;
    *input = rows->in_place ? 0 : rows->out;
    if (*input < 0 || rows->n_outputs == 0)
        return true;
    const Placement *given = call->input[*input].placements;
    return placements_equal(given, layouts->tensor[rows->n_outputs + *input], n_axes) &&
           (layouts->none[0] || placements_equal(given, layouts->tensor[0], n_axes));
}

static CandidateWhy check(const Layouts *layouts, int *input)
{
    const StrategyCall *call = layouts->call;
    const StrategyRows *rows = layouts->rows;
    int n_axes = call->mesh->n_axes;
    Placement *const *in = layouts->tensor + rows->n_outputs;
    *input = -1;
    for (int i = 0; i < rows->n_outputs + rows->n_inputs; i++)
        if (!layouts->none[i] && is_mixed(layouts->tensor[i], n_axes)) {
            *input = i < rows->n_outputs ? -1 : i - rows->n_outputs;
            return CANDIDATE_MIXED_PARTIAL;
        }
    if (!stays(layouts, input))
        return CANDIDATE_IN_PLACE;
    for (int i = 0; i < rows->n_inputs; i++) {
        const StrategyTensor *given = &call->input[i];
        if (layouts->none[rows->n_outputs + i] || !strategy_has_input(call, i) ||
            (rows->uneven && placements_equal(given->placements, in[i], n_axes)) ||
            is_shardable(&given->shape, in[i], call->mesh))
            continue;
        *input = i;
        return CANDIDATE_TOO_SMALL;
    }
    *input = -1;
    const Placement *const *inputs = (const Placement *const *)in;
    return rows->filter && !rows->filter(call, rows, inputs) ? CANDIDATE_FILTERED : CANDIDATE_LEGAL;
}

static bool is_strided(const StrategyTensor *tensor, int n_axes)
{
    for (int axis = 0; tensor->placements && axis < n_axes; axis++)
        if (tensor->placements[axis].kind == PLACE_STRIDED)
            return true;
    return false;
}

/* Strided shards that rows offer are of a view when those of the first such input are. */
static bool offers_views(const StrategyCall *call)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (is_strided(&call->input[i], call->mesh->n_axes))
            return call->input[i].view_made;
    return false;
}

bool strategy_strided_of_view(const StrategyTensor *input, int n, const Mesh *mesh)
{
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (!is_strided(&input[i], mesh->n_axes))
            continue;
        any = true;
        if (!input[i].view_made)
            return false;
    }
    return any;
}

static Redistribution move_of(const StrategyCall *call, int input, const Placement *to,
                              bool to_view)
{
    const StrategyTensor *given = &call->input[input];
    return (Redistribution){.mesh = call->mesh,
                            .shape = &given->shape,
                            .dtype = given->dtype,
                            .from = given->placements,
                            .to = to,
                            .from_view = given->view_made,
                            .to_view = to_view};
}

static void price(const Layouts *layouts, StrategyCandidate *candidate)
{
    const StrategyCall *call = layouts->call;
    bool views = offers_views(call);
    for (int i = 0; i < call->n_inputs; i++) {
        if (!strategy_has_input(call, i) || layouts->none[layouts->rows->n_outputs + i])
            continue;
        Redistribution move =
            move_of(call, i, layouts->tensor[layouts->rows->n_outputs + i], views);
        double us = redistribute_us(layouts->scratch, &move);
        if (isinf(us) && candidate->why == CANDIDATE_LEGAL) {
            candidate->why = CANDIDATE_BANNED;
            candidate->input = i;
        }
        candidate->us += us;
    }
}

static bool moves_nothing(const Layouts *layouts)
{
    const StrategyCall *call = layouts->call;
    for (int i = 0; i < call->n_inputs; i++)
        if (strategy_has_input(call, i) &&
            !placements_equal(call->input[i].placements,
                              layouts->tensor[layouts->rows->n_outputs + i], call->mesh->n_axes))
            return false;
    return true;
}

/* ---- all candidates ---- */

/* Rows of the axes, axis 0 slowest; false after the last. */
static bool next_candidate(uint16_t *row, int n_axes, int n_rows)
{
    for (int axis = n_axes - 1; axis >= 0; axis--) {
        if (++row[axis] < n_rows)
            return true;
        row[axis] = 0;
    }
    return false;
}

static bool count_candidates(const StrategyCall *call, int n_rows, int *n, Error *err)
{
    int64_t product = 1;
    for (int axis = 0; axis < call->mesh->n_axes; axis++)
        if (__builtin_mul_overflow(product, n_rows, &product) || product > CANDIDATES_MAX) {
            error_kind(err, ERROR_UNSUPPORTED,
                       "%s: %d rows on each of %d axes are too many to compare", call->op, n_rows,
                       call->mesh->n_axes);
            error_hint(err, "join mesh axes, or ask with fewer of them");
            return false;
        }
    *n = (int)product;
    return true;
}

/* The best of three lists: last that moves nothing, first that costs nothing, first cheapest. */
typedef struct {
    int still, free, cheapest;
} Choice;

static void consider(Choice *choice, const StrategyCandidate *candidates, int i, bool still)
{
    double us = candidates[i].us;
    if (us == 0 && still)
        choice->still = i;
    else if (us == 0 && choice->free < 0)
        choice->free = i;
    if (choice->cheapest < 0 || us < candidates[choice->cheapest].us)
        choice->cheapest = i;
}

static int chosen_of(const Choice *choice, bool first_of_equals)
{
    if (first_of_equals)
        return choice->cheapest;
    return choice->still >= 0 ? choice->still : choice->free >= 0 ? choice->free : choice->cheapest;
}

static bool is_priced(const StrategyCandidate *candidate)
{
    return candidate->why == CANDIDATE_LEGAL || candidate->why == CANDIDATE_BANNED;
}

/* The cheapest other one, the first of equals. */
static int runner_up_of(const StrategyAnswer *answer)
{
    int best = -1;
    for (int i = 0; i < answer->n_candidates; i++) {
        const StrategyCandidate *candidate = &answer->candidate[i];
        if (i != answer->chosen && candidate->why == CANDIDATE_LEGAL &&
            (best < 0 || candidate->us < answer->candidate[best].us))
            best = i;
    }
    return best;
}

static void enumerate(Layouts *layouts, StrategyCandidate *candidates, int n, Choice *choice)
{
    uint16_t row[MESH_AXES_MAX] = {0};
    for (int i = 0; i < n; i++) {
        memcpy(candidates[i].row, row, sizeof row);
        layouts_take(layouts, row);
        candidates[i].why = check(layouts, &candidates[i].input);
        if (is_priced(&candidates[i])) {
            price(layouts, &candidates[i]);
            consider(choice, candidates, i, moves_nothing(layouts));
        }
        next_candidate(row, layouts->call->mesh->n_axes, layouts->rows->row.n);
    }
}

static bool no_candidate(const StrategyCall *call, const StrategyAnswer *answer, Error *err)
{
    bool in_place = false;
    for (int i = 0; i < answer->n_candidates; i++)
        in_place |= answer->candidate[i].why == CANDIDATE_IN_PLACE;
    if (!in_place)
        return error_set(err, "%s: no row fits these inputs", call->op);
    error_kind(err, ERROR_NEEDS_RESHARD,
               "%s writes a tensor that would have to lie otherwise: a tensor cannot be moved in "
               "place",
               call->op);
    error_hint(err, "redistribute it before, or use the form that makes a new tensor");
    return false;
}

void strategy_candidate_placements(const StrategyCall *call, const StrategyAnswer *answer, int i,
                                   const Placement **outputs, const Placement **inputs)
{
    Layouts layouts = layouts_new(call, answer->rows, call->arena);
    layouts_take(&layouts, answer->candidate[i].row);
    for (int t = 0; t < answer->rows->n_outputs; t++)
        outputs[t] = layouts.none[t] ? NULL : layouts.tensor[t];
    for (int t = 0; t < answer->rows->n_inputs; t++) {
        int at = answer->rows->n_outputs + t;
        inputs[t] = layouts.none[at] ? NULL : layouts.tensor[at];
    }
}

bool strategy_answer_as(const StrategyCall *call, int n_outputs, const Placement *const *output,
                        const Placement *const *input, StrategyAnswer *out, Error *err)
{
    out->op = call->op;
    out->n_outputs = n_outputs;
    out->n_inputs = call->n_inputs;
    out->output = output;
    out->input = input;
    out->n_comm = 0;
    bool views = strategy_strided_of_view(call->input, call->n_inputs, call->mesh);
    for (int i = 0; i < call->n_inputs; i++) {
        if (!strategy_has_input(call, i) || !input[i])
            continue;
        Redistribution move = move_of(call, i, input[i], views);
        Moves moves = {0};
        if (!redistribute_plan(call->arena, &move, &moves, err))
            return false;
        out->n_comm += redistribute_n_comm(call->mesh, &moves);
    }
    return true;
}

/* Fills the answer with its candidate `chosen`. */
static bool answer_candidate(const StrategyCall *call, StrategyAnswer *out, Error *err)
{
    const StrategyRows *rows = out->rows;
    const Placement **outputs = arena_array(call->arena, const Placement *, rows->n_outputs);
    const Placement **inputs = arena_array(call->arena, const Placement *, rows->n_inputs);
    strategy_candidate_placements(call, out, out->chosen, outputs, inputs);
    out->us = out->candidate[out->chosen].us;
    return strategy_answer_as(call, rows->n_outputs, outputs, inputs, out, err);
}

bool strategy_choose(const StrategyCall *call, const StrategyRows *rows, bool first_of_equals,
                     StrategyAnswer *out, Error *err)
{
    int n;
    *out = (StrategyAnswer){.op = call->op, .rows = fill_rows(call, rows)};
    if (!count_candidates(call, out->rows->row.n, &n, err))
        return false;
    StrategyCandidate *candidates = arena_array(call->arena, StrategyCandidate, n);
    Arena *scratch = arena_new();
    Layouts layouts = layouts_new(call, out->rows, scratch);
    Choice choice = {-1, -1, -1};
    enumerate(&layouts, candidates, n, &choice);
    arena_free(scratch);
    out->candidate = candidates;
    out->n_candidates = n;
    out->chosen = chosen_of(&choice, first_of_equals);
    if (out->chosen < 0)
        return no_candidate(call, out, err);
    out->runner_up = runner_up_of(out);
    return answer_candidate(call, out, err);
}
