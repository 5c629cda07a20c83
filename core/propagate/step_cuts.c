#include "core/propagate/step_cuts.h"

#include "core/base/intern.h"
#include "core/plan/edges.h"
#include "core/space/gradient.h"

#include <assert.h>

typedef Vec(int32_t) Ids;

/* Shardings ids, without halo. */
typedef struct {
    int32_t made, reduced;
} MadeSharding;

typedef struct {
    const Plan *plan, *forward;
    Propagated *out;
    bool has_pins; /* of ops or tensors behind the forward pass */
    Arena *scratch;
    Vec(const OpCut *) cuts;
    Intern *added;         /* cuts by their index dims */
    Ids added_as;          /* per key: cut */
    Intern *copied, *laid; /* (space, cut of the forward op), (space, sharding of operand 0) .. */
    Ids copy_of, laid_as;  /* .. per key: cut */
    Intern *made, *shapes; /* (space, cut, output), shapes of values that no op shards .. */
    Vec(MadeSharding) made_as; /* .. per key */
    Ids whole;                 /* .. per key */
    OpChoice *choice;          /* out->choice */
    const int32_t *updated_as; /* per parameter: see updated_as() */
} StepCuts;

/* Equal cuts have one id, so that layers that are cut alike are seen to be. */
static int32_t add_cut(StepCuts *s, const OpCut *cut)
{
    size_t bytes = offsetof(OpCut, index) + (size_t)cut->n * sizeof *cut->index;
    int32_t id = intern_put(s->added, cut, bytes);
    if (id < s->added_as.n)
        return s->added_as.at[id];
    vec_push(s->scratch, &s->added_as, s->cuts.n);
    OpCut *copy = arena_make(s->plan->arena, OpCut);
    *copy = *cut;
    vec_push(s->plan->arena, &s->cuts, copy);
    return s->cuts.n - 1;
}

/* ---- gradient ops ---- */

OpCut gradient_op_cut(const OpSpace *space, const OpCut *of, const Mesh *mesh)
{
    const OpSpace *from = space->gradient->forward;
    OpCut cut = op_cut_whole(space);
    for (int j = 0; j < space->n_index; j++) {
        int index = opspace_find_index(from, str_from(space->index[j].name));
        const Cut *of_forward = index < 0 ? NULL : &of->index[index];
        if (of_forward &&
            (cut_is_ring(of_forward) ? op_cut_rounds(space, j) > 0
                                     : space->index[j].role != ROLE_FROZEN ||
                                           op_cut_of_frozen(from, index, of_forward, mesh)))
            cut.index[j] = *of_forward;
    }
    return cut;
}

static int32_t copied_cut(StepCuts *s, int32_t op)
{
    const Inferred *inferred = s->plan->inferred;
    int32_t of = s->out->cut[inferred->graph->of[op]];
    int32_t key[2] = {inferred->space[op], of};
    int32_t id = intern_put(s->copied, key, sizeof key);
    if (id < s->copy_of.n)
        return s->copy_of.at[id];
    OpCut cut = gradient_op_cut(program_space(inferred, op), s->cuts.at[of], s->plan->mesh);
    vec_push(s->scratch, &s->copy_of, add_cut(s, &cut));
    return s->copy_of.at[id];
}

/* ---- sums ---- */

/* The sharding of a value that no op shards. */
static int32_t whole_as(StepCuts *s, int32_t tensor)
{
    int32_t shape = s->plan->inferred->shape[tensor];
    int32_t id = intern_put(s->shapes, &shape, sizeof shape);
    if (id == s->whole.n) {
        Sharding whole = sharding_whole(inferred_shape(s->plan->inferred, tensor));
        vec_push(s->scratch, &s->whole, shardings_put(s->plan->shardings, &whole));
    }
    assert(s->whole.at);
    return s->whole.at[id];
}

static int32_t reduced(const StepCuts *s, int32_t id)
{
    const Sharding *made = shardings_at(s->plan->shardings, id);
    if (!sharding_partials(made))
        return id;
    Sharding whole = sharding_without_partial(made);
    return shardings_put(s->plan->shardings, &whole);
}

/* How an op makes an output. */
static MadeSharding output_as(StepCuts *s, int32_t op, int output)
{
    const OpSpace *space = program_space(s->plan->inferred, op);
    int32_t cut = s->out->cut[op], key[3] = {s->plan->inferred->space[op], cut, output};
    int32_t id = intern_put(s->made, key, sizeof key);
    if (id == s->made_as.n) {
        Sharding made =
            op_cut_sharding(space, s->cuts.at[cut], space->n_inputs + output, s->plan->mesh);
        made = sharding_without_halo(&made);
        MadeSharding as = {.made = shardings_put(s->plan->shardings, &made)};
        as.reduced = reduced(s, as.made);
        vec_push(s->scratch, &s->made_as, as);
    }
    assert(s->made_as.at);
    return s->made_as.at[id];
}

/* How a tensor's maker makes it, without halo; -1: it has none. */
static int32_t made_as(StepCuts *s, int32_t tensor)
{
    const Inferred *inferred = s->plan->inferred;
    int32_t maker = inferred->graph->tensors[tensor].maker;
    if (maker < 0 || inferred_is_host(inferred, maker))
        return -1;
    if (program_space(inferred, maker)->no_rule)
        return whole_as(s, tensor);
    int output = 0;
    while (op_outputs(inferred->graph, maker)[output] != tensor)
        output++;
    return output_as(s, maker, output).made;
}

/* The cut of an op whose first operand is sharded so. */
static int32_t cut_as(StepCuts *s, int32_t op, int32_t sharding)
{
    int32_t key[2] = {s->plan->inferred->space[op], sharding};
    int32_t id = intern_put(s->laid, key, sizeof key);
    if (id == s->laid_as.n) {
        const OpSpace *space = program_space(s->plan->inferred, op);
        OpCut cut = op_cut_whole(space);
        const Sharding *as = sharding < 0 ? NULL : shardings_at(s->plan->shardings, sharding);
        for (int64_t d = 0; space->n_index > 0 && as && d < as->n_dims; d++) {
            const DimFactors *factors = &space->operand[0].factors[d];
            if (factors->n == 1)
                cut.index[factors->index[0]] = as->dim[d];
        }
        vec_push(s->scratch, &s->laid_as, add_cut(s, &cut));
    }
    assert(s->laid_as.at);
    return s->laid_as.at[id];
}

static bool same_dims(const StepCuts *s, int32_t one, int32_t other)
{
    const Sharding *a = shardings_at(s->plan->shardings, one);
    const Sharding *b = shardings_at(s->plan->shardings, other);
    for (int64_t d = 0; one != other && d < a->n_dims; d++)
        if (!cut_equal(&a->dim[d], &b->dim[d]))
            return false;
    return true;
}

/* Whether the addend lies as the partial one, or is sharded further by the axes of that. */
static bool joins(const StepCuts *s, int32_t partial, int32_t addend)
{
    const Sharding *to = shardings_at(s->plan->shardings, partial);
    const Sharding *from = shardings_at(s->plan->shardings, addend);
    AtomSet atoms = sharding_partials(from) ? 0 : sharding_partials(to);
    for (int64_t d = 0; d < to->n_dims; d++) {
        Cut less = cut_without(&from->dim[d], atoms, s->plan->mesh);
        if (!cut_equal(&less, &to->dim[d]))
            return false;
    }
    return atoms || sharding_partials(from) == sharding_partials(to);
}

/* A layout in which all addends can be joined where several are partial, so that their sum is
 * reduced once instead of each of them; -1: there is none. */
static int32_t joined_as(StepCuts *s, int32_t op)
{
    const Graph *graph = s->plan->inferred->graph;
    int32_t partial = -1;
    int n_partial = 0;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t made = made_as(s, op_inputs(graph, op)[i]);
        bool is = made >= 0 && sharding_partials(shardings_at(s->plan->shardings, made));
        partial = is && partial < 0 ? made : partial;
        n_partial += is;
    }
    for (int i = 0; n_partial > 1 && i < graph->ops[op].n_inputs; i++) {
        int32_t made = made_as(s, op_inputs(graph, op)[i]);
        if (made < 0 || !joins(s, partial, made))
            return -1;
    }
    return n_partial > 1 ? partial : -1;
}

static int32_t sum_cut(StepCuts *s, int32_t op)
{
    const Graph *graph = s->plan->inferred->graph;
    int32_t chosen = made_as(s, op_inputs(graph, op)[0]);
    bool alike = true;
    for (int i = 1; chosen >= 0 && alike && i < graph->ops[op].n_inputs; i++) {
        int32_t other = made_as(s, op_inputs(graph, op)[i]);
        alike = other >= 0 && same_dims(s, chosen, other);
    }
    int32_t joined = alike ? chosen : joined_as(s, op);
    if (joined >= 0)
        return cut_as(s, op, joined);
    int32_t value = alike ? -1 : graph->gradient_of[op_outputs(graph, op)[0]];
    int32_t other = value < 0 ? -1 : made_as(s, value);
    return cut_as(s, op, other < 0 ? chosen : other);
}

/* ---- gradients that a user's function builds ---- */

/* How an op that comes of `of` takes a tensor: as that op reads or makes it, else as it is made. */
static bool taken_as(StepCuts *s, int32_t of, int32_t tensor, Sharding *out)
{
    const Inferred *inferred = s->plan->inferred;
    const Graph *graph = inferred->graph;
    const OpSpace *space = program_space(inferred, of);
    int32_t value = graph->gradient_of[tensor] >= 0 ? graph->gradient_of[tensor] : tensor;
    for (int i = 0; i < space->n_inputs + space->n_outputs && !space->no_rule; i++) {
        const Operand *operand = &space->operand[i];
        bool meant = graph->operands[graph->ops[of].input + i] == value &&
                     (value == tensor || i >= space->n_inputs);
        if (!meant || operand->absent || operand->ignored)
            continue;
        *out = op_cut_sharding(space, s->cuts.at[s->out->cut[of]], i, s->plan->mesh);
        return true;
    }
    int32_t made = made_as(s, tensor);
    if (made >= 0)
        *out = *shardings_at(s->plan->shardings, made);
    return made >= 0;
}

/* Shards index dims as an operand is sharded, along axes that shard no other dim. */
static void take_cuts(const StepCuts *s, const OpSpace *space, const Operand *operand,
                      const Sharding *as, OpCut *cut)
{
    for (int d = 0; d < operand->projection.n_dims; d++) {
        const DimFactors *factors = &operand->factors[d];
        Cut part[FACTORS_MAX];
        int64_t sizes[FACTORS_MAX];
        AtomSet lost;
        for (int f = 0; f < factors->n; f++)
            sizes[f] = space->index[factors->index[f]].size;
        if (factors->n == 0 || !factors->exact)
            continue;
        cut_split(&as->dim[d], sizes, factors->n, s->plan->mesh, part, &lost);
        for (int f = 0; f < factors->n; f++) {
            int j = factors->index[f];
            AtomSet used = cuts_used(cut->index, cut->n, j);
            if (space->index[j].role != ROLE_FROZEN && cut_is_whole(&cut->index[j]) &&
                (cut_atoms(&part[f]) & used) == 0)
                cut->index[j] = part[f];
        }
    }
}

static int32_t built_cut(StepCuts *s, int32_t op)
{
    const Inferred *inferred = s->plan->inferred;
    const Graph *graph = inferred->graph;
    const OpSpace *space = program_space(inferred, op);
    OpCut cut = op_cut_whole(space);
    for (int i = 0; i < graph->ops[op].n_inputs && !space->no_rule; i++) {
        Sharding as;
        int32_t t = op_inputs(graph, op)[i];
        if (t >= 0 && !space->operand[i].absent && !space->operand[i].ignored &&
            taken_as(s, graph->of[op], t, &as))
            take_cuts(s, space, &space->operand[i], &as, &cut);
    }
    return add_cut(s, &cut);
}

/* Whether it adds up the gradients of a value. */
static bool is_sum(const Graph *graph, int32_t op)
{
    int32_t value = graph->gradient_of[op_outputs(graph, op)[0]];
    bool is = value >= 0;
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        is &= op_inputs(graph, op)[i] >= 0 && graph->gradient_of[op_inputs(graph, op)[i]] == value;
    return is;
}

/* ---- the update ---- */

/* Per parameter: the value of it by whose storage its update is sharded: the first of its states,
 * else a gradient that a pin stores, else itself. */
static const int32_t *updated_as(const StepCuts *s)
{
    const Graph *graph = s->plan->inferred->graph;
    int32_t *out = arena_array(s->scratch, int32_t, graph->n_tensors), of;
    for (int32_t t = 0; t < graph->n_tensors; t++)
        out[t] = t;
    for (int32_t t = graph->n_tensors - 1; t >= 0; t--) {
        Stored value = stored_value(graph, t, &of);
        bool gradient = value == STORED_GRADIENT && graph->tensors[out[of]].maker < 0 &&
                        out[of] == of && plan_stores(s->plan, of, STORED_GRADIENT);
        if (value == STORED_STATES || gradient)
            out[of] = t;
    }
    return out;
}

/* An op that reads nothing but a gradient, as the sum of its squares, takes it where a pin, or the
 * cast before it, leaves it; -1: any other op. */
static int32_t layout_of_gradient(StepCuts *s, int32_t op)
{
    const Graph *graph = s->plan->inferred->graph;
    int32_t t = op_inputs(graph, op)[0];
    if (graph->ops[op].n_inputs != 1 || graph->gradient_of[t] < 0)
        return -1;
    if (s->out->pinned[t])
        return s->out->reached[t];
    int32_t maker = graph->tensors[t].maker;
    return maker >= 0 && graph->phase[maker] == PHASE_UPDATE ? made_as(s, t) : -1;
}

/* The layout that an op of the update takes: that of the gradient which alone it reads, or of the
 * parameter whose gradient it reads, else as what it reads first is made; -1: none. */
static int32_t layout_of(StepCuts *s, int32_t op, const int32_t *stored)
{
    const Graph *graph = s->plan->inferred->graph;
    int32_t gradient = layout_of_gradient(s, op);
    if (gradient >= 0)
        return gradient;
    int32_t parameter = stored_updated(graph, op);
    int32_t t = parameter < 0 ? op_inputs(graph, op)[0] : s->updated_as[parameter];
    bool is_stored = parameter >= 0 || graph->tensors[t].kind == TENSOR_INITIALIZER;
    return is_stored && stored[t] >= 0 ? stored[t] : made_as(s, t);
}

static int32_t update_cut(StepCuts *s, int32_t op, const int32_t *stored)
{
    bool has_index = program_space(s->plan->inferred, op)->n_index > 0;
    return cut_as(s, op, has_index ? layout_of(s, op, stored) : -1);
}

/* ---- pins ---- */

/* Puts pins of the op's index dims in place of its cuts; returns the dims that are pinned, as bits.
 */
static uint64_t pin_index_dims(const StepCuts *s, int32_t op, OpCut *cut)
{
    uint64_t pinned = 0;
    AtomSet axes = 0;
    for (int j = 0; j < cut->n; j++) {
        const Decision *pin = plan_pin_of(s->plan, PIN_INDEX_DIM, op, j);
        if (!pin)
            continue;
        cut->index[j] = *decision_cut(pin);
        axes |= cut_is_ring(decision_cut(pin)) ? 0 : cut_atoms(decision_cut(pin));
        pinned |= (uint64_t)1 << j;
    }
    for (int j = 0; j < cut->n; j++)
        if (!(pinned >> j & 1) && !cut_is_ring(&cut->index[j]) &&
            (cut_atoms(&cut->index[j]) & axes))
            cut->index[j] = cut_without(&cut->index[j], axes, s->plan->mesh);
    return pinned;
}

/* Cuts index dims as the pins of the op's results ask, by axes that the op does not use. */
static void pin_results(const StepCuts *s, int32_t op, uint64_t pinned, OpCut *cut)
{
    const OpSpace *space = program_space(s->plan->inferred, op);
    for (int o = 0; o < space->n_outputs && !space->no_rule; o++) {
        int32_t t = op_outputs(s->plan->inferred->graph, op)[o];
        const Operand *made = opspace_output(space, o);
        for (int d = 0; t >= 0 && !made->ignored && d < made->projection.n_dims; d++) {
            const Decision *pin = plan_pin_of(s->plan, PIN_TENSOR_DIM, t, d);
            const DimFactors *factors = &made->factors[d];
            int j = factors->n == 1 && factors->exact ? factors->index[0] : -1;
            if (pin && !pin->store && j >= 0 && !(pinned >> j & 1) &&
                space->index[j].role != ROLE_FROZEN && cut_is_whole(&cut->index[j]) &&
                !(cut_atoms(decision_cut(pin)) & cuts_used(cut->index, cut->n, -1)))
                cut->index[j] = *decision_cut(pin);
        }
    }
}

static int32_t obey_pins(StepCuts *s, int32_t op, int32_t id)
{
    OpCut cut = *s->cuts.at[id];
    uint64_t pinned = pin_index_dims(s, op, &cut);
    if (program_space(s->plan->inferred, op)->gradient)
        pin_results(s, op, pinned, &cut);
    for (int j = 0; j < cut.n; j++)
        if (!cut_equal(&cut.index[j], &s->cuts.at[id]->index[j]))
            return add_cut(s, &cut);
    return id;
}

/* The dims that pins of the value shard, as bits; puts the pins in place of their cuts. */
static uint16_t pin_dims(const StepCuts *s, int32_t tensor, Sharding *out)
{
    AtomSet axes = 0;
    uint16_t pinned = 0;
    for (int d = 0; d < out->n_dims; d++) {
        const Decision *pin = plan_pin_of(s->plan, PIN_TENSOR_DIM, tensor, d);
        if (!pin || pin->store)
            continue;
        out->dim[d] = *decision_cut(pin);
        axes |= cut_atoms(decision_cut(pin));
        pinned |= (uint16_t)(1U << d);
    }
    for (int d = 0; d < out->n_dims && axes; d++)
        if (!(pinned >> d & 1) && (cut_atoms(&out->dim[d]) & axes))
            out->dim[d] = cut_without(&out->dim[d], axes, s->plan->mesh);
    return pinned;
}

/* What a value, made so, is as its pins ask; partial where a mark leaves it so. */
static void reach(StepCuts *s, int32_t tensor, MadeSharding made)
{
    s->out->reached[tensor] = made.reduced;
    s->out->pinned[tensor] = 0;
    if (!s->has_pins)
        return;
    const Sharding *partial = shardings_at(s->plan->shardings, made.made);
    Sharding as = sharding_without_partial(partial);
    uint16_t pinned = pin_dims(s, tensor, &as);
    for (int i = 0; i < s->plan->decided->n_marks && pinned; i++) {
        const Decision *mark = s->plan->decided->marks[i];
        for (int a = 0; mark->kind == PIN_UNREDUCED && mark->place == tensor && a < ATOMS_MAX; a++)
            if (mark->axes >> a & 1)
                as.partial[a] = partial->partial[a];
    }
    s->out->pinned[tensor] = pinned;
    if (pinned)
        s->out->reached[tensor] = shardings_put(s->plan->shardings, &as);
}

/* ---- all of it ---- */

#define GROW(array, n, n_new, fill)                                                                \
    grow(s->plan->arena, (array), (size_t)(n), (size_t)(n_new), sizeof *(array), (fill))

static void *grow(Arena *arena, const void *from, size_t n, size_t n_new, size_t item, int fill)
{
    char *to = arena_alloc(arena, arena_array_bytes(n_new, item));
    memset(to, fill, n_new * item);
    if (n > 0)
        memcpy(to, from, n * item);
    return to;
}

/* The forward columns, longer, with what propagation reached for every tensor. */
static void take_forward(StepCuts *s)
{
    const Graph *graph = s->plan->inferred->graph, *small = s->forward->inferred->graph;
    const Propagated *from = s->forward->propagated;
    Propagated *out = s->out;
    *out = *from;
    out->cut = GROW(from->cut, small->n_ops, graph->n_ops, -1);
    out->reached = arena_array(s->plan->arena, int32_t, graph->n_tensors);
    out->pinned = arena_array(s->plan->arena, uint16_t, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        bool known = t < small->n_tensors;
        out->pinned[t] = known ? (uint16_t)plan_pinned(s->forward, t) : 0;
        out->reached[t] = known ? plan_reached(s->forward, t) : -1;
        if (!known && inferred_shape(s->plan->inferred, t)) {
            int32_t whole = whole_as(s, t);
            reach(s, t, (MadeSharding){whole, whole});
        }
    }
    if (from->group)
        out->group = GROW(from->group, small->n_tensors, graph->n_tensors, -1);
    if (from->passed)
        out->passed =
            GROW(from->passed, graph_n_input_places(small), graph_n_input_places(graph), 0);
    if (from->choice)
        out->choice = s->choice = GROW(from->choice, small->n_ops, graph->n_ops, 0);
    for (int i = 0; i < from->n_cuts; i++)
        vec_push(s->plan->arena, &s->cuts, from->cuts[i]);
}

/* Outputs are where the op makes them. */
static void reach_outputs(StepCuts *s, int32_t op)
{
    const Inferred *inferred = s->plan->inferred;
    const OpSpace *space = program_space(inferred, op);
    for (int o = 0; o < space->n_outputs && !space->no_rule; o++) {
        int32_t t = op_outputs(inferred->graph, op)[o];
        if (t < 0 || s->out->reached[t] < 0 || opspace_output(space, o)->ignored)
            continue;
        reach(s, t, output_as(s, op, o));
    }
}

/* An op that runs again is partitioned as the op that it is a copy of, and so are its results. */
static void copy_op(StepCuts *s, int32_t op)
{
    const Graph *graph = s->plan->inferred->graph;
    Propagated *out = s->out;
    int32_t of = graph->of[op];
    const GraphOp *copy = &graph->ops[op], *from = &graph->ops[of];
    out->cut[op] = s->has_pins ? obey_pins(s, op, out->cut[of]) : out->cut[of];
    if (out->cut[op] != out->cut[of]) {
        reach_outputs(s, op);
        return;
    }
    for (int o = 0; o < copy->n_outputs; o++) {
        int32_t t = op_outputs(graph, op)[o], original = op_outputs(graph, of)[o];
        if (t < 0)
            continue;
        if (s->has_pins)
            reach(s, t, (MadeSharding){out->reached[original], reduced(s, out->reached[original])});
        else
            out->reached[t] = out->reached[original];
        out->pinned[t] |= out->pinned[original];
    }
    for (int i = 0; out->passed && i < copy->n_inputs; i++)
        out->passed[copy->input + i] = out->passed[from->input + i];
    if (out->choice)
        s->choice[op] = out->choice[of];
}

void step_cuts(Plan *plan, const Plan *forward, Propagated *out)
{
    const Inferred *inferred = plan->inferred;
    Arena *scratch = arena_new();
    StepCuts s = {.plan = plan, .forward = forward, .out = out, .scratch = scratch};
    s.added = intern_new(scratch);
    s.copied = intern_new(scratch);
    s.laid = intern_new(scratch);
    s.made = intern_new(scratch);
    s.shapes = intern_new(scratch);
    int n_pins = plan->decided->n_pins; /* those behind the forward pass come last */
    s.has_pins =
        n_pins > 0 && decision_is_behind_forward(inferred, plan->decided->pins[n_pins - 1]);
    take_forward(&s);
    int p = forward->inferred->n_program;
    for (; p < inferred->n_program; p++) {
        int32_t op = inferred->program[p];
        const OpSpace *space = program_space(inferred, op);
        if (inferred->graph->phase[op] == PHASE_UPDATE)
            break;
        if (inferred->graph->phase[op] == PHASE_AGAIN) {
            copy_op(&s, op);
            continue;
        }
        out->cut[op] = space->gradient               ? copied_cut(&s, op)
                       : is_sum(inferred->graph, op) ? sum_cut(&s, op)
                                                     : built_cut(&s, op);
        if (s.has_pins)
            out->cut[op] = obey_pins(&s, op, out->cut[op]);
        reach_outputs(&s, op);
    }
    out->cuts = s.cuts.at;
    out->n_cuts = s.cuts.n;
    const int32_t *stored = p < inferred->n_program ? edges_stored(plan) : NULL;
    s.updated_as = stored ? updated_as(&s) : NULL;
    for (; p < inferred->n_program; p++) {
        int32_t op = inferred->program[p];
        out->cut[op] = update_cut(&s, op, stored);
        if (s.has_pins)
            out->cut[op] = obey_pins(&s, op, out->cut[op]);
        reach_outputs(&s, op);
    }
    out->cuts = s.cuts.at;
    out->n_cuts = s.cuts.n;
    arena_free(scratch);
}
