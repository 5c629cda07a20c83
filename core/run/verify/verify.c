#include "core/run/verify/verify.h"

#include "core/run/verify/joined.h"
#include "core/run/rounding.h"
#include "core/run/runner.h"

#include <math.h>

/* What a slot should hold. */
typedef struct {
    const Local *whole;
    const double *bound;
    const double *size; /* per element: what is added up to it, in magnitude; NULL: the bound says
                           how far the element may be from its sum */
    Rounding rounding;
    bool moved, unknown; /* unknown: there is nothing to compare with in this process */
    bool overflows;      /* magnitudes leave the range of the type, so that parts of a sum may */
} Expected;

struct Verify {
    Team *team;
    Arena *scratch; /* of the current instruction */
    Joiner joiner;
    Local **value;        /* per tensor: inputs and results of the current op, whole */
    const double **bound; /* per output of the op */
    Rounding rounding;
    bool unknown;   /* the current op cannot be checked */
    bool overflows; /* see Expected */
    Joined *joined; /* what the current instruction joins; behind two places, what it moves */
    int n_moved;
    Expected added; /* what it adds up */
};

Verify *verify_open(Arena *arena, Team *team)
{
    Verify *verify = arena_make(arena, Verify);
    *verify = (Verify){.team = team, .scratch = arena_new(), .joiner = {.team = team}};
    verify->joiner.posted = arena_array(arena, const Local *, team->n_local);
    verify->value = arena_array(arena, Local *, team->plan->inferred->graph->n_tensors);
    return verify;
}

/* Frees the wholes that an instruction moved; of a run that failed meanwhile they are left. */
static void end_move(Verify *verify)
{
    for (int i = 0; i < verify->n_moved; i++)
        local_free(verify->joined[i + 2].whole);
    verify->n_moved = 0;
}

void verify_close(Verify *verify)
{
    if (!verify)
        return;
    for (int32_t t = 0; t < verify->team->plan->inferred->graph->n_tensors; t++)
        local_free(verify->value[t]);
    end_move(verify);
    arena_free(verify->scratch);
}

/* Forgets what the last instruction left. */
static void begin(Verify *verify)
{
    arena_free(verify->scratch);
    verify->scratch = verify->joiner.scratch = arena_new();
    verify->n_moved = 0;
}

static void begin_move(Verify *verify, int n)
{
    begin(verify);
    verify->joined = arena_array(verify->scratch, Joined, n + 2);
    verify->n_moved = n;
}

/* ---- comparing ---- */

typedef struct {
    Rank *rank;
    int at;
    RunElement element;   /* tensor, moved, rounding */
    const Expected *want; /* NULL unless elements that are not finite skip the step */
} Checked;

/* Whether the tensor is a gradient in f16, or a cast of one, and a dynamic loss scale skips the
 * step when it is not finite. */
static bool skips_step(const Team *team, int32_t tensor)
{
    const Inferred *inferred = team->plan->inferred;
    const Graph *graph = inferred->graph;
    int32_t maker = graph->tensors[tensor].maker;
    if (team->program->scale < 0 || maker < 0 ||
        plan_phase(team->plan, maker) != 1 + PHASE_BACKWARD)
        return false;
    bool half = inferred->dtype[tensor] == DT_F16;
    for (int i = 0; i < graph->ops[maker].n_inputs; i++) {
        int32_t t = op_inputs(graph, maker)[i];
        half |= t >= 0 && inferred->dtype[t] == DT_F16;
    }
    return half;
}

/* Sets *share to the difference divided by its bound. */
static bool is_right(Dtype dtype, const void *got, const void *want, double bound, double *share)
{
    *share = 0;
    if (memcmp(got, want, (size_t)element_bytes(dtype)) == 0)
        return true;
    if (!dtype_is_computed(dtype))
        return false;
    if (!dtype_is_float(dtype)) {
        int64_t x, y;
        elements_load(dtype, got, 1, 1, NUMBER_I64, &x);
        elements_load(dtype, want, 1, 1, NUMBER_I64, &y);
        *share = fabs((double)x - (double)y) / bound;
        return *share <= 1 && x != y;
    }
    double x, y;
    elements_load(dtype, got, 1, 1, NUMBER_F64, &x);
    elements_load(dtype, want, 1, 1, NUMBER_F64, &y);
    if (x == y || (isnan(x) && isnan(y)))
        return true;
    *share = isfinite(x) && isfinite(y) ? fabs(x - y) / bound : INFINITY;
    return *share <= 1;
}

static void fill_element(const Local *part, int64_t i, const Local *whole, int64_t place,
                         double bound, RunElement *out)
{
    out->got = out->want = 0;
    out->bound = bound;
    if (dtype_is_computed(part->dtype)) {
        local_load(part, i, 1, 1, NUMBER_F64, &out->got);
        local_load(whole, place, 1, 1, NUMBER_F64, &out->want);
    }
    out->at = whole->shape;
    for (int64_t d = whole->shape.n_dims - 1; d >= 0; d--) {
        out->at.dim[d] = place % whole->shape.dim[d];
        place /= whole->shape.dim[d];
    }
}

static void note_wrong(const Checked *c)
{
    RankHead *head = c->rank->result->head;
    head->first_bad = c->at;
    head->wrong = c->element;
    head->wrong.rank = c->rank->position;
}

/* Whether the element may leave the range of f16 on a rank or on one device alone: rounding brings
 * it there, or what is added up to it, since sums depend on their order. */
static bool may_overflow(const Checked *c, int64_t place)
{
    const double f16_largest = 65504;
    const Expected *want = c->want;
    double finite = fabs(isfinite(c->element.got) ? c->element.got : c->element.want);
    double reach = want->size    ? want->size[place]
                   : want->bound ? finite + want->bound[place]
                                 : finite;
    return want->overflows || !(reach < f16_largest);
}

static bool note_overflow(Checked *c, int64_t place)
{
    RankHead *head = c->rank->result->head;
    if (!c->want || (isfinite(c->element.got) && isfinite(c->element.want)))
        return false;
    bool one = isfinite(c->element.got) != isfinite(c->element.want);
    if (one && !may_overflow(c, place))
        return false;
    if (one && head->first_overflow < 0) {
        head->first_overflow = c->at;
        head->overflow = c->element;
        head->overflow.rank = c->rank->position;
    }
    return true;
}

/* bound: per element of the whole; NULL if values must be equal. */
static void compare_elements(Checked *c, const Local *part, const Local *whole, const double *bound)
{
    RankHead *head = c->rank->result->head;
    Arena *scratch = arena_new();
    Picks picks = picks_whole(scratch, part);
    int64_t bytes = element_bytes(part->dtype);
    Stretch s;
    double share;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);) {
        if (s.step == 1 &&
            memcmp(local_at(part, s.to), local_at(whole, s.from), (size_t)(s.n * bytes)) == 0)
            continue;
        for (int64_t i = 0; i < s.n; i++) {
            int64_t place = s.from + i * s.step;
            double most = bound ? bound[place] : 0;
            bool right = is_right(part->dtype, local_at(part, s.to + i), local_at(whole, place),
                                  most, &share);
            if (right && share <= head->closest)
                continue;
            fill_element(part, s.to + i, whole, place, most, &c->element);
            if (right) {
                head->closest = share;
                head->close = c->element;
                head->close.rank = c->rank->position;
            } else if (!note_overflow(c, place) && head->first_bad < 0) {
                note_wrong(c);
            }
        }
    }
    arena_free(scratch);
}

static void compare(Checked *c, const Local *part, const Local *whole, const double *bound)
{
    if (!whole || !local_same_type(part, whole)) {
        c->element.at = (Shape){.n_dims = -1};
        if (c->rank->result->head->first_bad < 0)
            note_wrong(c);
        return;
    }
    for (int i = 0; i < part->items.n; i++)
        compare(c, part->items.at[i], whole->items.at[i], NULL);
    if (!part->sequence && !part->nothing)
        compare_elements(c, part, whole, bound);
}

/* Adds to the bounds what storing and adding up the addends may lose: each addend is rounded, and
 * may be too small for the type. */
static const double *with_addends(Verify *verify, const Local *whole, const double *bound,
                                  const Joined *joined)
{
    if (!joined->size)
        return bound;
    int64_t n = shape_elements(&whole->shape);
    double n_roundings = (double)(joined->n_addends + 1);
    double unit = dtype_unit(whole->dtype) * n_roundings;
    double tiny = dtype_tiny(whole->dtype) * n_roundings;
    double *out = arena_array(verify->scratch, double, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = (bound ? bound[i] : 0) + unit * joined->size[i] + tiny;
    return out;
}

/* The rank that counts the comparison of a joined value: the first rank of the process that holds
 * the first of these devices. */
static int64_t position_of_counter(const Team *team, int devices)
{
    int64_t first = team->plan->decided->submeshes[devices].first;
    return first - first % team->n_local;
}

/* Compares what the addends of all ranks make up, in each replica of it. */
static bool check_partial(Checked *c, int32_t slot, const Expected *want)
{
    Rank *rank = c->rank;
    Team *team = rank->team;
    Verify *verify = team->verify;
    Joined *joined = &verify->joined[1];
    int devices = team->program->slots[slot].devices;
    int64_t n = slot_replicas(team, slot);
    Expected addends = *want; /* nothing says how large those of a rank may be */
    addends.overflows |= want->rounding == ROUNDING_SENSITIVE;
    c->want = c->want ? &addends : NULL;
    for (int64_t replica = 0; replica < n; replica++) {
        if (!slot_join_replica(rank, slot, replica, &verify->joiner, joined))
            return false;
        if (!rank_leads(rank))
            continue;
        if (joined->whole && !want->unknown) {
            c->element.rounding = (uint8_t)(joined->size ? ROUNDING_SUM : want->rounding);
            compare(c, joined->whole, want->whole,
                    with_addends(verify, joined->whole, want->bound, joined));
        }
        if (replica == 0 && position_of_counter(team, devices) == rank->position) {
            rank->result->head->n_checked += joined->whole && !want->unknown;
            rank->result->head->n_unchecked += joined->unknown || want->unknown;
        }
        local_free(joined->whole);
    }
    return true;
}

/* Compares a slot on all ranks at once. */
static bool check_slot(Rank *rank, int at, int32_t slot, const Expected *want)
{
    Team *team = rank->team;
    const ProgramSlot *held = &team->program->slots[slot];
    Checked c = {.rank = rank, .at = at};
    c.want = skips_step(team, held->tensor) ? want : NULL;
    c.element = (RunElement){
        .tensor = held->tensor, .moved = want->moved, .rounding = (uint8_t)want->rounding};
    RankHead *head = rank->result->head;
    if (slot_is_partial(team, slot))
        return check_partial(&c, slot, want);
    if (!rank_has(rank, slot) || !rank->slot[slot])
        return true;
    bool first = rank->position == team->plan->decided->submeshes[held->devices].first;
    head->n_unchecked += first && want->unknown;
    if (want->unknown)
        return true;
    const Local *part = team->runner->fetch(rank, slot);
    if (!part)
        return false;
    compare(&c, part, want->whole, want->bound);
    head->n_checked += first;
    return true;
}

bool verify_join_output(Rank *rank, int32_t slot, Local **whole)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    *whole = NULL;
    if (rank_leads(rank)) {
        begin(verify);
        verify->joined = arena_array(verify->scratch, Joined, 1);
    }
    if (!rank_meet(rank) || !slot_join(rank, slot, &verify->joiner, &verify->joined[0]))
        return false;
    if (rank_leads(rank)) {
        int devices = team->program->slots[slot].devices;
        *whole = verify->joined[0].whole;
        if (position_of_counter(team, devices) != rank->position) {
            local_free(*whole);
            *whole = NULL;
        }
    }
    return rank_meet(rank);
}

/* ---- ops ---- */

static bool runs_here(const Team *team, int32_t op)
{
    for (int r = 0; r < team->n_local; r++)
        if (rank_stands_on(&team->ranks[r], plan_devices(team->plan, op)))
            return true;
    return false;
}

/* Runs the op on the joined inputs. */
static bool run_whole(Rank *rank, const Instr *instr, const double *const *addends)
{
    int32_t op = instr->op;
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Inferred *inferred = team->plan->inferred;
    int32_t loop = team->program->loop_of[op];
    WholeOp call = {.inferred = inferred,
                    .op = op,
                    .kernel = team->program->kernel[op],
                    .blas = team->blas,
                    .seed = batch_seed(team->feeds.seed, rank_batch(rank, instr)),
                    .iteration = loop < 0 ? 0 : rank->iteration[loop],
                    .value = verify->value,
                    .addends = addends,
                    .stored = ring_stores(team->plan, op)};
    Error err = {0};
    if (!kernel_run_whole(inferred, op, call.kernel, call.blas, call.seed, call.iteration,
                          verify->value, &err))
        return rank_failed(rank, &err);
    rank_beats(rank);
    rounding_bounds(verify->scratch, &call, verify->bound, &verify->rounding);
    verify->overflows = verify->rounding == ROUNDING_SENSITIVE &&
                        (addends || call.kernel->rounding == ROUNDING_SUM);
    rank_beats(rank);
    return true;
}

static bool before_op(Rank *rank, const Instr *instr)
{
    int32_t op = instr->op;
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Graph *graph = team->plan->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    bool of_addends = false, unknown = false;
    const double **addends = NULL;
    if (rank_leads(rank)) {
        begin(verify);
        addends = arena_array(verify->scratch, const double *, at->n_inputs);
        verify->bound = arena_array(verify->scratch, const double *, at->n_outputs);
        verify->joined = arena_array(verify->scratch, Joined, 2);
    }
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i], slot = team->program->operand[at->input + i];
        if (tensor < 0 || slot < 0)
            continue;
        if (!rank_meet(rank) || !slot_join(rank, slot, &verify->joiner, &verify->joined[0]))
            return false;
        of_addends |= verify->joined[0].of_addends;
        unknown |= verify->joined[0].unknown;
        if (addends) {
            local_free(verify->value[tensor]);
            verify->value[tensor] = verify->joined[0].whole;
            addends[i] = verify->joined[0].size;
        }
    }
    if (!rank_leads(rank))
        return true;
    verify->unknown = unknown || !runs_here(team, op);
    return verify->unknown || run_whole(rank, instr, of_addends ? addends : NULL);
}

static bool after_op(Rank *rank, int at, int32_t op)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Graph *graph = team->plan->inferred->graph;
    const GraphOp *held = &graph->ops[op];
    if (!rank_meet(rank))
        return false;
    for (int i = 0; i < held->n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        int32_t slot = team->program->operand[op_output_place(held) + i];
        if (tensor < 0 || slot < 0)
            continue;
        Expected want = {.whole = verify->value[tensor],
                         .bound = verify->bound[i],
                         .rounding = verify->rounding,
                         .unknown = verify->unknown,
                         .overflows = verify->overflows};
        if (!check_slot(rank, at, slot, &want))
            return false;
    }
    if (!rank_meet(rank))
        return false;
    for (int i = 0; rank_leads(rank) && i < held->n_inputs + held->n_outputs; i++) {
        int32_t tensor = i < held->n_inputs ? op_inputs(graph, op)[i]
                                            : op_outputs(graph, op)[i - held->n_inputs];
        if (tensor < 0)
            continue;
        local_free(verify->value[tensor]);
        verify->value[tensor] = NULL;
    }
    return true;
}

/* ---- what is moved ---- */

/* Joins the slots that an instruction moves, before it does. */
static bool before_move(Rank *rank, const int32_t *from, int n)
{
    Verify *verify = rank->team->verify;
    if (rank_leads(rank))
        begin_move(verify, n);
    for (int i = 0; i < n; i++) {
        if (!rank_meet(rank) || !slot_join(rank, from[i], &verify->joiner, &verify->joined[i + 2]))
            return false;
        Joined *joined = &verify->joined[i + 2];
        if (rank_leads(rank) && joined->whole)
            joined->bound = with_addends(verify, joined->whole, NULL, joined);
    }
    return true;
}

/* Compares the slots that the values were moved to. */
static bool after_move(Rank *rank, int at, const int32_t *to, int n)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    if (!rank_meet(rank))
        return false;
    for (int i = 0; i < n; i++) {
        const Joined *from = &verify->joined[i + 2];
        Expected want = {
            .whole = from->whole, .bound = from->bound, .size = from->size, .moved = true};
        want.rounding = from->bound ? ROUNDING_SUM : ROUNDING_EXACT;
        want.unknown = !from->whole;
        if (!check_slot(rank, at, to[i], &want))
            return false;
    }
    if (!rank_meet(rank))
        return false;
    if (rank_leads(rank))
        end_move(verify);
    return true;
}

static bool after_load(Rank *rank, int at, const Instr *instr)
{
    int32_t slot = instr->slot;
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Inferred *inferred = team->plan->inferred;
    int32_t tensor = team->program->slots[slot].tensor;
    const Local *listed = feed_listed(&team->feeds, tensor);
    if (rank_leads(rank)) {
        begin_move(verify, 1);
        Local *whole = listed ? local_copy(listed)
                              : local_new_whole((Dtype)inferred->dtype[tensor],
                                                inferred_shape(inferred, tensor));
        if (whole && !listed)
            feed_fill(&team->feeds, tensor, rank_batch(rank, instr), whole, verify->scratch);
        verify->joined[2].whole = whole;
    }
    return after_move(rank, at, &slot, 1);
}

/* A copy of the part as a tensor of its own, unsharded, whose indices start at 0. */
static Local *as_whole(const Local *part)
{
    Local *out = local_new_whole(part->dtype, &part->shape);
    if (out)
        memcpy(out->data, part->data, (size_t)local_bytes(part));
    return out;
}

/* Compares the last item of the list with the value that was appended. */
static bool after_collect(Rank *rank, int at, const Instr *instr)
{
    const Local *list = rank->slot[instr->slot], *item = rank->slot[instr->from];
    const Local *last = list && list->items.n > 0 ? list->items.at[list->items.n - 1] : NULL;
    Checked c = {.rank = rank, .at = at};
    c.element = (RunElement){.tensor = rank->team->program->slots[instr->slot].tensor,
                             .moved = true,
                             .rounding = ROUNDING_EXACT};
    if (last && (last->sequence || last->nothing))
        compare(&c, last, item, NULL);
    if (!last || last->sequence || last->nothing)
        return true;
    Local *got = as_whole(last), *want = as_whole(item);
    if (got && want)
        compare(&c, got, want, NULL);
    local_free(got);
    local_free(want);
    return true;
}

/* The slots that the end of an iteration moves: their sources or their targets. */
static const int32_t *moved_slots(Arena *arena, const Program *program, int32_t body, bool to)
{
    const ProgramLoop *loop = &program->loops[body];
    int32_t *out = arena_array(arena, int32_t, loop->n_moves);
    for (int i = 0; i < loop->n_moves; i++) {
        const ProgramMove *move = &program->moves[loop->first_move + i];
        out[i] = to ? move->to : move->from;
    }
    return out;
}

static bool at_back(Rank *rank, int at, bool after)
{
    const Program *program = rank->team->program;
    const Instr *instr = &program->instrs[at];
    Arena *scratch = arena_new();
    const int32_t *slots = moved_slots(scratch, program, instr->body, after);
    int n = program->loops[instr->body].n_moves;
    bool ok = after ? after_move(rank, at, slots, n) : before_move(rank, slots, n);
    arena_free(scratch);
    return ok;
}

/* ---- micro-batches ---- */

/* Joins the sum so far and what is added to it, one after the other. */
static bool before_add(Rank *rank, const Instr *instr)
{
    const int32_t slots[2] = {instr->slot, instr->slot};
    int last = program_last_view(rank->team->program);
    Verify *verify = rank->team->verify;
    if (rank_leads(rank))
        begin_move(verify, 2);
    for (int i = 0; i < (instr->first ? 1 : 2); i++) {
        rank_view(rank, i == 0 ? instr->view : last);
        if (!rank_meet(rank) || !slot_join(rank, slots[i], &verify->joiner, &verify->joined[2 + i]))
            return false;
    }
    rank_view(rank, instr->view);
    return true;
}

/* What the sum should be, and how far rounding may be off: each addend of a partial value, their
 * sum and the division are rounded. */
static void add_wholes(Verify *verify, const Instr *instr, Expected *out)
{
    Joined *addend = &verify->joined[2], *sum = &verify->joined[3];
    out->unknown = !addend->whole || (!instr->first && !sum->whole);
    if (out->unknown)
        return;
    int64_t n = local_count(addend->whole);
    double scale = instr->mean == 0 ? 1 : 1.0 / instr->mean;
    double *bound = arena_array(verify->scratch, double, n);
    double *sizes = arena_array(verify->scratch, double, n);
    int64_t n_roundings = addend->n_addends + (instr->first ? 0 : sum->n_addends) + 3;
    double unit = dtype_unit(addend->whole->dtype) * (double)n_roundings;
    double tiny = dtype_tiny(addend->whole->dtype) * (double)n_roundings;
    for (int64_t i = 0; i < n; i++) {
        double x, y = 0;
        local_load(addend->whole, i, 1, 1, NUMBER_F64, &x);
        if (!instr->first)
            local_load(sum->whole, i, 1, 1, NUMBER_F64, &y);
        double size = (addend->size ? addend->size[i] : fabs(x)) +
                      (!instr->first && sum->size ? sum->size[i] : fabs(y));
        sizes[i] = size;
        bound[i] = scale * unit * size + tiny;
        x = (x + y) * scale;
        local_store(addend->whole, i, 1, NUMBER_F64, &x);
    }
    *out = (Expected){.whole = addend->whole,
                      .bound = bound,
                      .size = sizes,
                      .rounding = ROUNDING_SUM,
                      .moved = true};
}

static bool after_add(Rank *rank, int at, const Instr *instr)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    if (!rank_meet(rank))
        return false;
    if (rank_leads(rank))
        add_wholes(verify, instr, &verify->added);
    if (!rank_meet(rank))
        return false;
    rank_view(rank, program_last_view(team->program));
    bool ok = check_slot(rank, at, instr->slot, &verify->added) && rank_meet(rank);
    rank_view(rank, instr->view);
    if (ok && rank_leads(rank))
        end_move(verify);
    return ok;
}

/* ---- all of it ---- */

bool verify_before(Rank *rank, int at)
{
    const Instr *instr = &rank->team->program->instrs[at];
    switch (instr->kind) {
    case INSTR_OP:
        return before_op(rank, instr);
    case INSTR_STEP:
        return before_move(rank, &instr->from, 1);
    case INSTR_BACK:
        return at_back(rank, at, false);
    case INSTR_ADD:
        return before_add(rank, instr);
    case INSTR_LOAD:
    case INSTR_FREE:
    case INSTR_BRANCH:
    case INSTR_LOOP:
    case INSTR_COLLECT:
    case INSTR_NEXT:
        break;
    }
    return true;
}

bool verify_after(Rank *rank, int at)
{
    const Instr *instr = &rank->team->program->instrs[at];
    switch (instr->kind) {
    case INSTR_OP:
        return after_op(rank, at, instr->op);
    case INSTR_STEP:
        return after_move(rank, at, &instr->slot, 1);
    case INSTR_BACK:
        return at_back(rank, at, true);
    case INSTR_LOAD:
        return after_load(rank, at, instr);
    case INSTR_COLLECT:
        return after_collect(rank, at, instr);
    case INSTR_ADD:
        return after_add(rank, at, instr);
    case INSTR_FREE:
    case INSTR_BRANCH:
    case INSTR_LOOP:
    case INSTR_NEXT:
        break;
    }
    return true;
}
