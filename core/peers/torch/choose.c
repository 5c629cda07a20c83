/* choose.c - chooses among strategies: combines the rows of each axis, filters and prices the
 * candidates. */
#include "core/base/heap.h"
#include "core/peers/torch/family.h"
#include "core/peers/torch/redistribute.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum { CANDIDATES_MAX = 1 << 20, SEARCHES_MAX = 1 << 10 };

/* ---- expanding s(d) ---- */

/* The kinds of shards that the inputs have, each once. */
typedef struct {
    Vec(Placement) at;
} ShardKinds;

static void note_kind(Arena *arena, ShardKinds *kinds, const Placement *placement)
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

static ShardKinds kinds_of(const StrategyCall *call)
{
    ShardKinds kinds = {0};
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

/* Adds the all-replicated row first unless the family has one. An output that is not a tensor in
 * the other rows is not one in this row either. */
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
    ShardKinds kinds = kinds_of(call);
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

/* ---- placements ---- */

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

/* Sets the placements of one tensor from the rows of the axes. */
static void layouts_set(const Layouts *layouts, int tensor, const uint16_t *row)
{
    layouts->none[tensor] = false;
    for (int axis = 0; axis < layouts->call->mesh->n_axes; axis++) {
        const StrategyCell *cell = &layouts->rows->row.at[row[axis]][tensor];
        layouts->tensor[tensor][axis] = cell->placement;
        layouts->none[tensor] |= cell->kind == CELL_NONE;
    }
}

/* True if partial by two reductions that do not commute; sum and avg do. */
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

/* Returns true if every dim has at least as many elements as shards, or, for a strided shard, as
 * shards times pieces. */
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

/* The input that the op writes in place, whose placements must not change, or -1. */
static int written_input(const StrategyRows *rows)
{
    return rows->n_outputs == 0 ? -1 : rows->in_place ? 0 : rows->out;
}

static bool is_strided(const StrategyTensor *tensor, int n_axes)
{
    for (int axis = 0; tensor->placements && axis < n_axes; axis++)
        if (tensor->placements[axis].kind == PLACE_STRIDED)
            return true;
    return false;
}

/* True if strided shards in rows come from a view: if those of the first input with such shards
 * do. */
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

/* ---- one tensor on all axes ---- */

/* The placements of a tensor by its cells, one per axis, and their price. Many candidates share
 * them. */
typedef struct {
    bool known, floored, priced;
    bool none, mixed;
    bool given; /* an input keeps its placements; output 0 has those of the written input */
    bool small;
    double floor_us, us;
} Combination;

typedef struct {
    int n_cells;     /* number of distinct cells of the tensor in all rows */
    uint16_t *cell;  /* per row: index of its cell */
    Combination *at; /* by cells, axis 0 major */
} ChoiceColumn;

typedef struct {
    Layouts layouts;
    ChoiceColumn *column; /* per tensor, outputs first */
    bool views;
    int *n_searched; /* how many exact prices were searched (strided shards) */
} ChoiceTable;

static bool cell_equal(const StrategyCell *a, const StrategyCell *b)
{
    return a->kind == b->kind && placement_equal(&a->placement, &b->placement);
}

static ChoiceColumn column_new(const Layouts *layouts, int tensor)
{
    const StrategyRows *rows = layouts->rows;
    ChoiceColumn column = {.cell = arena_array(layouts->scratch, uint16_t, rows->row.n)};
    int *first = arena_array(layouts->scratch, int, rows->row.n), n = 1;
    for (int r = 0; r < rows->row.n; r++) {
        int c = 0;
        while (c < column.n_cells &&
               !cell_equal(&rows->row.at[first[c]][tensor], &rows->row.at[r][tensor]))
            c++;
        if (c == column.n_cells)
            first[column.n_cells++] = r;
        column.cell[r] = (uint16_t)c;
    }
    for (int axis = 0; axis < layouts->call->mesh->n_axes; axis++)
        n *= column.n_cells; /* at most the number of candidates */
    column.at = arena_array(layouts->scratch, Combination, n);
    return column;
}

static ChoiceTable table_new(const StrategyCall *call, const StrategyRows *rows, Arena *scratch)
{
    int n_tensors = rows->n_outputs + rows->n_inputs;
    ChoiceTable table = {layouts_new(call, rows, scratch),
                         arena_array(scratch, ChoiceColumn, n_tensors), offers_views(call),
                         arena_make(scratch, int)};
    for (int i = 0; i < n_tensors; i++)
        table.column[i] = column_new(&table.layouts, i);
    return table;
}

static void compute_combination(const Layouts *layouts, int tensor, Combination *out)
{
    const StrategyCall *call = layouts->call;
    const StrategyRows *rows = layouts->rows;
    const Placement *placements = layouts->tensor[tensor];
    int n_axes = call->mesh->n_axes, input = tensor - rows->n_outputs;
    int as = input >= 0 ? input : tensor == 0 ? written_input(rows) : -1;
    *out = (Combination){.known = true, .none = layouts->none[tensor]};
    out->mixed = is_mixed(placements, n_axes);
    out->given = as >= 0 && strategy_has_input(call, as) &&
                 placements_equal(call->input[as].placements, placements, n_axes);
    out->small = input >= 0 && strategy_has_input(call, input) && !(rows->uneven && out->given) &&
                 !is_shardable(&call->input[input].shape, placements, call->mesh);
}

static Combination *combination_at(const ChoiceTable *table, int tensor, const uint16_t *row)
{
    const Layouts *layouts = &table->layouts;
    const ChoiceColumn *column = &table->column[tensor];
    int at = 0;
    for (int axis = 0; axis < layouts->call->mesh->n_axes; axis++)
        at = at * column->n_cells + column->cell[row[axis]];
    Combination *found = &column->at[at];
    if (!found->known) {
        layouts_set(layouts, tensor, row);
        compute_combination(layouts, tensor, found);
    }
    return found;
}

/* The price of moving an input, or a lower bound of it. */
static double price_of(const ChoiceTable *table, int input, const uint16_t *row, bool floor,
                       Combination *found)
{
    const Layouts *layouts = &table->layouts;
    int tensor = layouts->rows->n_outputs + input;
    if (!(floor ? found->floored : found->priced)) {
        layouts_set(layouts, tensor, row);
        Redistribution move = move_of(layouts->call, input, layouts->tensor[tensor], table->views);
        if (floor)
            found->floor_us = redistribute_floor_us(layouts->scratch, &move);
        else
            found->us = redistribute_us(layouts->scratch, &move);
        *(floor ? &found->floored : &found->priced) = true;
        *table->n_searched += !floor && found->us > found->floor_us;
    }
    return floor ? found->floor_us : found->us;
}

/* ---- one candidate ---- */

/* True if the written tensor keeps its placements. */
static bool stays(const ChoiceTable *table, const uint16_t *row)
{
    const StrategyRows *rows = table->layouts.rows;
    int input = written_input(rows);
    if (input < 0)
        return true;
    const Combination *made = combination_at(table, 0, row);
    return combination_at(table, rows->n_outputs + input, row)->given &&
           (made->none || made->given);
}

static bool passes_filter(const ChoiceTable *table, const uint16_t *row)
{
    const Layouts *layouts = &table->layouts;
    const StrategyRows *rows = layouts->rows;
    if (!rows->filter)
        return true;
    for (int i = 0; i < rows->n_inputs; i++)
        layouts_set(layouts, rows->n_outputs + i, row);
    const Placement *const *inputs = (const Placement *const *)layouts->tensor + rows->n_outputs;
    return rows->filter(layouts->call, rows, inputs);
}

static CandidateWhy check(const ChoiceTable *table, const uint16_t *row, int *input)
{
    const StrategyRows *rows = table->layouts.rows;
    for (int i = 0; i < rows->n_outputs + rows->n_inputs; i++) {
        const Combination *found = combination_at(table, i, row);
        *input = i < rows->n_outputs ? -1 : i - rows->n_outputs;
        if (!found->none && found->mixed)
            return CANDIDATE_MIXED_PARTIAL;
    }
    *input = written_input(rows);
    if (!stays(table, row))
        return CANDIDATE_IN_PLACE;
    for (*input = 0; *input < rows->n_inputs; ++*input) {
        const Combination *found = combination_at(table, rows->n_outputs + *input, row);
        if (!found->none && found->small)
            return CANDIDATE_TOO_SMALL;
    }
    *input = -1;
    return passes_filter(table, row) ? CANDIDATE_LEGAL : CANDIDATE_FILTERED;
}

static bool moves_nothing(const ChoiceTable *table, const uint16_t *row)
{
    const StrategyCall *call = table->layouts.call;
    bool still = true;
    for (int i = 0; i < call->n_inputs; i++)
        if (strategy_has_input(call, i))
            still &= combination_at(table, table->layouts.rows->n_outputs + i, row)->given;
    return still;
}

static void price(const ChoiceTable *table, bool floor, StrategyCandidate *candidate)
{
    const StrategyCall *call = table->layouts.call;
    candidate->us = 0;
    for (int i = 0; i < call->n_inputs; i++) {
        if (!strategy_has_input(call, i))
            continue;
        Combination *found =
            combination_at(table, table->layouts.rows->n_outputs + i, candidate->row);
        double us = found->none ? 0 : price_of(table, i, candidate->row, floor, found);
        if (isinf(us) && candidate->why == CANDIDATE_LEGAL) {
            candidate->why = CANDIDATE_BANNED;
            candidate->input = i;
        }
        candidate->us += us;
    }
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

static bool too_many(const StrategyCall *call, int n_rows, Error *err)
{
    error_kind(err, ERROR_UNSUPPORTED, "%s: %d rows on each of %d axes are too many to compare",
               call->op, n_rows, call->mesh->n_axes);
    error_hint(err, "use a mesh with fewer axes");
    return false;
}

static bool count_candidates(const StrategyCall *call, int n_rows, int *n, Error *err)
{
    int64_t product = 1;
    for (int axis = 0; axis < call->mesh->n_axes; axis++)
        if (__builtin_mul_overflow(product, n_rows, &product) || product > CANDIDATES_MAX)
            return too_many(call, n_rows, err);
    *n = (int)product;
    return true;
}

/* The last candidate that moves nothing, and the first two of the cheapest ones. */
typedef struct {
    int still, best, second; /* -1: none */
} ShardChoice;

static bool is_better(const StrategyCandidate *candidates, int a, int b)
{
    return b < 0 || candidates[a].us < candidates[b].us ||
           (candidates[a].us == candidates[b].us && a < b);
}

static void consider(ShardChoice *choice, const StrategyCandidate *candidates, int i)
{
    if (is_better(candidates, i, choice->best)) {
        choice->second = choice->best;
        choice->best = i;
    } else if (is_better(candidates, i, choice->second)) {
        choice->second = i;
    }
}

static bool is_priced(const StrategyCandidate *candidate)
{
    return candidate->why == CANDIDATE_LEGAL || candidate->why == CANDIDATE_BANNED;
}

/* Enumerates the candidates with lower bounds of their prices, by which the heap is ordered. */
static void enumerate(const ChoiceTable *table, StrategyCandidate *candidates, int n,
                      ShardChoice *choice, Heap *heap)
{
    const Layouts *layouts = &table->layouts;
    uint16_t row[MESH_AXES_MAX] = {0};
    for (int i = 0; i < n; i++) {
        memcpy(candidates[i].row, row, sizeof row);
        candidates[i].why = check(table, row, &candidates[i].input);
        if (is_priced(&candidates[i])) {
            price(table, true, &candidates[i]);
            choice->still = moves_nothing(table, row) ? i : choice->still;
            heap_push(layouts->scratch, heap, (HeapEntry){candidates[i].us, i, i});
        }
        next_candidate(row, layouts->call->mesh->n_axes, layouts->rows->row.n);
    }
}

/* Returns false if too many of them are strided. */
static bool search(const ChoiceTable *table, StrategyCandidate *candidates, int n,
                   ShardChoice *choice)
{
    bool best_only = table->layouts.call->best_only;
    Heap heap = {0};
    enumerate(table, candidates, n, choice, &heap);
    while (heap.n > 0) {
        int i = (int)heap_pop(&heap).item;
        if (best_only && choice->second >= 0 && !is_better(candidates, i, choice->second))
            break; /* later ones cannot be cheaper either */
        if (best_only && *table->n_searched > SEARCHES_MAX)
            return false;
        price(table, false, &candidates[i]);
        consider(choice, candidates, i);
    }
    return true;
}

/* first_of_equals: candidates that move nothing are not preferred. */
static void set_choice(const ShardChoice *choice, bool first_of_equals, StrategyAnswer *out)
{
    bool still = choice->still >= 0 && !first_of_equals;
    out->chosen = still ? choice->still : choice->best;
    out->runner_up = choice->best == out->chosen ? choice->second : choice->best;
    if (out->runner_up >= 0 && out->candidate[out->runner_up].why != CANDIDATE_LEGAL)
        out->runner_up = -1;
}

static bool no_candidate(const StrategyCall *call, const StrategyAnswer *answer, Error *err)
{
    bool in_place = false;
    for (int i = 0; i < answer->n_candidates; i++)
        in_place |= answer->candidate[i].why == CANDIDATE_IN_PLACE;
    if (!in_place)
        return error_set(err, "%s: no row fits these inputs", call->op);
    error_kind(
        err, ERROR_NEEDS_RESHARD,
        "%s writes a tensor that would have to be redistributed, which is not possible in place",
        call->op);
    error_hint(err, "redistribute it first, or use the out-of-place form");
    return false;
}

void strategy_candidate_placements(const StrategyCall *call, const StrategyAnswer *answer, int i,
                                   const Placement **outputs, const Placement **inputs)
{
    Layouts layouts = layouts_new(call, answer->rows, call->arena);
    for (int t = 0; t < answer->rows->n_outputs + answer->rows->n_inputs; t++)
        layouts_set(&layouts, t, answer->candidate[i].row);
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
    out->us = 0;
    bool views = strategy_strided_of_view(call->input, call->n_inputs, call->mesh);
    for (int i = 0; i < call->n_inputs; i++) {
        if (!strategy_has_input(call, i) || !input[i])
            continue;
        Redistribution move = move_of(call, i, input[i], views);
        TorchMoves moves = {0};
        if (!redistribute_plan(call->arena, &move, &moves, err))
            return false;
        out->n_comm += redistribute_n_comm(call->mesh, &moves);
        out->us += moves.n > 0 ? redistribute_us(call->arena, &move) : 0;
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
    bool ok = strategy_answer_as(call, rows->n_outputs, outputs, inputs, out, err);
    out->us = out->candidate[out->chosen].us;
    return ok;
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
    ChoiceTable table = table_new(call, out->rows, scratch);
    ShardChoice choice = {-1, -1, -1};
    bool found = search(&table, candidates, n, &choice);
    arena_free(scratch);
    if (!found)
        return too_many(call, out->rows->row.n, err);
    out->candidate = candidates;
    out->n_candidates = n;
    set_choice(&choice, first_of_equals, out);
    if (out->chosen < 0)
        return no_candidate(call, out, err);
    return answer_candidate(call, out, err);
}
