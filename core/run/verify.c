#include "core/run/verify.h"

#include "core/run/rounding.h"
#include "core/run/runner.h"

#include <math.h>

/* A value put together from the parts of the ranks. */
typedef struct {
    Local *whole; /* NULL: no rank of this process has one, or its parts cannot be joined */
    double *size; /* per element: the sum of its addends' magnitudes; NULL: there are no addends, or
                   * they reduce without rounding */
    const double *bound; /* per element: what moving may lose; NULL: nothing */
    int64_t n_addends;
    bool of_addends, unknown;
} Joined;

struct Verify {
    Team *team;
    Arena *arena, *scratch; /* of the run; of the current instruction */
    const Local **posted; /* per rank of this process: its part of what is being joined, or NULL */
    Local **value;        /* per tensor: inputs and results of the current op, whole */
    const double **bound; /* per output of the op */
    Rounding rounding;
    bool unknown;   /* the current op cannot be checked */
    Joined *joined; /* what the current instruction moves */
};

Verify *verify_open(Arena *arena, Team *team)
{
    Verify *verify = arena_make(arena, Verify);
    *verify = (Verify){.team = team, .arena = arena, .scratch = arena_new()};
    verify->posted = arena_array(arena, const Local *, team->n_local);
    verify->value = arena_array(arena, Local *, team->plan->inferred->graph->n_tensors);
    return verify;
}

void verify_close(Verify *verify)
{
    if (!verify)
        return;
    for (int32_t t = 0; t < verify->team->plan->inferred->graph->n_tensors; t++)
        local_free(verify->value[t]);
    arena_free(verify->scratch);
}

static bool leads(const Rank *rank)
{
    return rank->position == rank->team->first_rank;
}

/* Forgets what the last instruction left. */
static void begin(Verify *verify)
{
    arena_free(verify->scratch);
    verify->scratch = arena_new();
}

/* ---- joining parts ---- */

static const Sharding *sharding_of(const Team *team, int32_t slot)
{
    int32_t sharding = team->program->slots[slot].sharding;
    return sharding < 0 ? NULL : shardings_at(team->plan->shardings, sharding);
}

static bool is_partial(const Team *team, int32_t slot)
{
    const Sharding *sharding = sharding_of(team, slot);
    return sharding && sharding_partials(sharding);
}

/* The one reduction of a partial value; false: it has several. */
static bool reduction_of(const Sharding *sharding, ReduceOp *out)
{
    *out = REDUCE_NONE;
    for (int a = 0; a < ATOMS_MAX; a++) {
        ReduceOp reduce = (ReduceOp)sharding->partial[a];
        if (reduce != REDUCE_NONE && *out != REDUCE_NONE && reduce != *out)
            return false;
        *out = reduce != REDUCE_NONE ? reduce : *out;
    }
    return true;
}

/* Elements as they are put together: numbers where parts are addends. */
typedef struct {
    Joined *joined;
    ReduceOp reduce;
    double *real;
    int64_t *number;
    uint8_t *n_seen; /* per element: 0 or more parts have it */
} Joining;

static double combine(ReduceOp reduce, double a, double b)
{
    switch (reduce) {
    case REDUCE_MAX:
    case REDUCE_ANY:
        return isnan(b) || b > a ? b : a;
    case REDUCE_MIN:
    case REDUCE_ALL:
        return isnan(b) || b < a ? b : a;
    case REDUCE_PROD:
        return a * b;
    case REDUCE_NONE:
    case REDUCE_SUM:
    case REDUCE_AVG:
        break;
    }
    return a + b;
}

static int64_t combine_ints(ReduceOp reduce, int64_t a, int64_t b)
{
    if (reduce == REDUCE_PROD)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    if (reduce == REDUCE_MAX || reduce == REDUCE_ANY)
        return a > b ? a : b;
    if (reduce == REDUCE_MIN || reduce == REDUCE_ALL)
        return a < b ? a : b;
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_element(const Joining *j, int64_t place, const Local *part, int64_t i)
{
    bool first = j->n_seen[place] == 0;
    j->n_seen[place] = 1;
    if (j->number) {
        int64_t x;
        local_load(part, i, 1, 1, NUMBER_I64, &x);
        j->number[place] = first ? x : combine_ints(j->reduce, j->number[place], x);
        return;
    }
    double x;
    local_load(part, i, 1, 1, NUMBER_F64, &x);
    j->real[place] = first ? x : combine(j->reduce, j->real[place], x);
    if (j->joined->size)
        j->joined->size[place] =
            j->reduce == REDUCE_PROD ? fabs(j->real[place]) : j->joined->size[place] + fabs(x);
}

static void add_part(const Joining *j, const Local *part)
{
    Local *whole = j->joined->whole;
    int64_t bytes = element_bytes(whole->dtype);
    Arena *scratch = arena_new();
    Picks picks = picks_whole(scratch, part);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);) {
        if (j->n_seen)
            for (int64_t i = 0; i < s.n; i++)
                add_element(j, s.from + i * s.step, part, s.to + i);
        else if (s.step == 1)
            memcpy(local_at(whole, s.from), local_at(part, s.to), (size_t)(s.n * bytes));
        else
            for (int64_t i = 0; i < s.n; i++)
                memcpy(local_at(whole, s.from + i * s.step), local_at(part, s.to + i),
                       (size_t)bytes);
    }
    arena_free(scratch);
}

static Joining begin_joining(Arena *arena, Joined *joined, ReduceOp reduce)
{
    Joining out = {.joined = joined, .reduce = reduce};
    int64_t n = shape_elements(&joined->whole->shape);
    Dtype dtype = joined->whole->dtype;
    if (!joined->of_addends)
        return out;
    out.n_seen = arena_array(arena, uint8_t, n);
    if (dtype_number(dtype) == NUMBER_I64) {
        out.number = arena_array(arena, int64_t, n);
        return out;
    }
    out.real = arena_array(arena, double, n);
    if (reduce == REDUCE_SUM || reduce == REDUCE_AVG || reduce == REDUCE_PROD)
        joined->size = arena_array(arena, double, n);
    return out;
}

static void end_joining(const Joining *j)
{
    Joined *joined = j->joined;
    int64_t n = shape_elements(&joined->whole->shape);
    if (!joined->of_addends)
        return;
    for (int64_t i = 0; j->reduce == REDUCE_AVG && i < n; i++) {
        if (j->number) {
            j->number[i] /= joined->n_addends;
            continue;
        }
        j->real[i] /= (double)joined->n_addends;
        joined->size[i] /= (double)joined->n_addends;
    }
    if (j->number)
        local_store(joined->whole, 0, n, NUMBER_I64, j->number);
    else
        local_store(joined->whole, 0, n, NUMBER_F64, j->real);
}

/* The part of a rank: posted by it here, else broadcast by its process, into *received. NULL
 * without an error: it has none. */
static bool part_of(Verify *verify, int32_t slot, int64_t position, const Local **part,
                    Local **received, Error *err)
{
    const Team *team = verify->team;
    World *world = team->world;
    int process = (int)(position / team->n_local);
    const Slot *at = &team->program->slots[slot];
    *part = process == world->me ? verify->posted[position - team->first_rank] : NULL;
    *received = NULL;
    if (world->n == 1)
        return true;
    bool there = *part != NULL;
    if (!world->share(world, &there, sizeof there, process, err) || !there)
        return !error_is_set(err);
    if (process != world->me) {
        const Inferred *inferred = team->plan->inferred;
        *part = *received =
            local_new((Dtype)inferred->dtype[at->tensor], inferred_shape(inferred, at->tensor),
                      sharding_of(team, slot), team->plan->mesh, position);
    }
    return *part ? world->share(world, (*part)->data, local_bytes(*part), process, err)
                 : error_kind(err, ERROR_RUN, "out of memory");
}

/* Joins the parts of a slot with a sharding; one of each set of replicas is read. */
static bool join_parts(Verify *verify, int32_t slot, const Sharding *sharding, Joined *out,
                       Error *err)
{
    const Team *team = verify->team;
    const Mesh *mesh = team->plan->mesh;
    const Slot *at = &team->program->slots[slot];
    SubMesh sub = team->plan->decided->submeshes[at->devices];
    AtomSet addends = sharding_partials(sharding);
    AtomSet replicas = submesh_free(mesh, sub) & ~(sharding_atoms(sharding) | addends);
    const Inferred *inferred = team->plan->inferred;
    ReduceOp reduce;
    Dtype dtype = (Dtype)inferred->dtype[at->tensor];
    *out = (Joined){.of_addends = addends != 0, .n_addends = mesh_atoms_size(mesh, addends)};
    out->unknown = !reduction_of(sharding, &reduce) || (addends && !dtype_is_computed(dtype));
    out->whole = local_new_whole(dtype, inferred_shape(inferred, at->tensor));
    if (!out->whole)
        return error_kind(err, ERROR_RUN, "out of memory");
    Joining joining = begin_joining(verify->scratch, out, reduce);
    bool any = false;
    for (int64_t p = 0; p < team->n_ranks; p++) {
        const Local *part;
        Local *received;
        if (!submesh_has(mesh, sub, p) || !mesh_stands_first(mesh, replicas, p))
            continue;
        if (!part_of(verify, slot, p, &part, &received, err))
            return false;
        any = any || part;
        if (part && !out->unknown)
            add_part(&joining, part);
        local_free(received);
    }
    if (any && !out->unknown)
        end_joining(&joining);
    if (!any || out->unknown) {
        local_free(out->whole);
        out->whole = NULL;
    }
    return true;
}

/* The collected values of a loop: every rank has its part of each. False: some are addends, or lie
 * in another process. */
static bool can_join_list(const Verify *verify, int32_t slot)
{
    const Program *program = verify->team->program;
    for (int i = 0; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        if (instr->kind == INSTR_COLLECT && instr->slot == slot)
            return verify->team->world->n == 1 && !is_partial(verify->team, instr->from);
    }
    return true;
}

/* Replaces the parts in a list of a rank by wholes. */
static bool join_items(const Verify *verify, Local *list)
{
    for (int i = 0; i < list->items.n; i++) {
        Local *whole = local_new_whole(list->items.at[i]->dtype, &list->items.at[i]->whole);
        Joining joining = {.joined = &(Joined){.whole = whole}};
        for (int r = 0; whole && r < verify->team->n_local; r++)
            if (verify->posted[r] && i < verify->posted[r]->items.n)
                add_part(&joining, verify->posted[r]->items.at[i]);
        local_free(list->items.at[i]);
        list->items.at[i] = whole;
        if (!whole)
            return false;
    }
    return true;
}

static bool has_parts(const Local *list)
{
    for (int i = 0; i < list->items.n; i++) {
        const Local *item = list->items.at[i];
        if (!item->sequence && !item->nothing && !shape_equal(&item->shape, &item->whole))
            return true;
    }
    return false;
}

/* A slot without a sharding: the value of any rank here; of a list the parts of all are joined. */
static bool join_replicas(const Verify *verify, int32_t slot, Joined *out, Error *err)
{
    *out = (Joined){.n_addends = 1};
    out->unknown = !can_join_list(verify, slot);
    for (int r = 0; r < verify->team->n_local && !out->whole; r++)
        if (verify->posted[r] && !(out->whole = local_copy(verify->posted[r])))
            return error_kind(err, ERROR_RUN, "out of memory");
    if (out->whole && !out->unknown && has_parts(out->whole) && !join_items(verify, out->whole))
        return error_kind(err, ERROR_RUN, "out of memory");
    return true;
}

/* Puts a slot together, on all ranks at once; the first rank of the process owns the whole. */
static bool join(Rank *rank, int32_t slot, Joined *out)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Local **posted = &verify->posted[rank->position - team->first_rank];
    *posted = NULL;
    if (rank_has(rank, slot) && rank->slot[slot] && !(*posted = team->runner->fetch(rank, slot)))
        return false;
    if (!rank_meet(rank))
        return false;
    const Sharding *sharding = sharding_of(team, slot);
    Error err = {0};
    if (leads(rank) && !(sharding ? join_parts(verify, slot, sharding, out, &err)
                                  : join_replicas(verify, slot, out, &err)))
        return rank_failed(rank, &err);
    return rank_meet(rank);
}

/* ---- comparing ---- */

typedef struct {
    Rank *rank;
    int at;
    RunElement element; /* tensor, moved, rounding */
} Checked;

/* Sets *share to the part of the bound that the difference takes. */
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

/* bound: per element of the whole; NULL: equal. */
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
            } else if (head->first_bad < 0) {
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

/* Bounds with what storing and adding up addends may lose, for each rounding of each addend. */
static const double *with_addends(Verify *verify, const Local *whole, const double *bound,
                                  const Joined *joined)
{
    if (!joined->size)
        return bound;
    int64_t n = shape_elements(&whole->shape);
    double unit = dtype_unit(whole->dtype) * (double)(joined->n_addends + 1);
    double *out = arena_array(verify->scratch, double, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = (bound ? bound[i] : 0) + unit * joined->size[i] + dtype_tiny(whole->dtype);
    return out;
}

/* What a slot should hold. */
typedef struct {
    const Local *whole;
    const double *bound;
    Rounding rounding;
    bool moved, unknown; /* unknown: there is nothing to compare with in this process */
} Expected;

/* The rank that counts the comparison of a joined value: the one that leads the process of the
 * first rank on these devices. */
static int64_t position_of_counter(const Team *team, int devices)
{
    int64_t first = team->plan->decided->submeshes[devices].first;
    return first - first % team->n_local;
}

/* Compares a slot on all ranks at once. */
static bool check_slot(Rank *rank, int at, int32_t slot, const Expected *want)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Slot *held = &team->program->slots[slot];
    Checked c = {.rank = rank, .at = at};
    c.element = (RunElement){
        .tensor = held->tensor, .moved = want->moved, .rounding = (uint8_t)want->rounding};
    RankHead *head = rank->result->head;
    bool counts = position_of_counter(team, held->devices) == rank->position;
    if (is_partial(team, slot)) {
        Joined *joined = &verify->joined[1];
        if (!join(rank, slot, joined))
            return false;
        if (leads(rank) && joined->whole && !want->unknown) {
            c.element.rounding = (uint8_t)(joined->size ? ROUNDING_SUM : want->rounding);
            compare(&c, joined->whole, want->whole,
                    with_addends(verify, joined->whole, want->bound, joined));
            head->n_checked += counts;
        }
        if (leads(rank))
            local_free(joined->whole);
        head->n_unchecked += counts && (joined->unknown || want->unknown);
        return true;
    }
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

/* ---- ops ---- */

static bool runs_here(const Team *team, int32_t op)
{
    for (int r = 0; r < team->n_local; r++)
        if (rank_stands_on(&team->ranks[r], plan_devices(team->plan, op)))
            return true;
    return false;
}

/* Runs the op on the joined inputs. */
static bool run_whole(Rank *rank, int32_t op, bool of_addends)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Inferred *inferred = team->plan->inferred;
    int32_t loop = team->program->loop_of[op];
    WholeOp call = {.inferred = inferred,
                    .op = op,
                    .kernel = team->program->kernel[op],
                    .blas = team->blas,
                    .seed = team->feeds.seed,
                    .iteration = loop < 0 ? 0 : rank->iteration[loop],
                    .value = verify->value,
                    .of_addends = of_addends};
    Error err = {0};
    if (!kernel_run_whole(inferred, op, call.kernel, call.blas, call.seed, call.iteration,
                          verify->value, &err))
        return rank_failed(rank, &err);
    rank_beats(rank);
    rounding_bounds(verify->scratch, &call, verify->bound, &verify->rounding);
    rank_beats(rank);
    return true;
}

static bool before_op(Rank *rank, int32_t op)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Graph *graph = team->plan->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    bool of_addends = false, unknown = false;
    if (leads(rank)) {
        begin(verify);
        verify->bound = arena_array(verify->scratch, const double *, at->n_outputs);
        verify->joined = arena_array(verify->scratch, Joined, 2);
    }
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i], slot = team->program->operand[at->input + i];
        if (tensor < 0 || slot < 0)
            continue;
        if (!rank_meet(rank) || !join(rank, slot, &verify->joined[0]))
            return false;
        of_addends |= verify->joined[0].of_addends;
        unknown |= verify->joined[0].unknown;
        if (leads(rank)) {
            local_free(verify->value[tensor]);
            verify->value[tensor] = verify->joined[0].whole;
        }
    }
    if (!leads(rank))
        return true;
    verify->unknown = unknown || !runs_here(team, op);
    return verify->unknown || run_whole(rank, op, of_addends);
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
                         .unknown = verify->unknown};
        if (!check_slot(rank, at, slot, &want))
            return false;
    }
    if (!rank_meet(rank))
        return false;
    for (int i = 0; leads(rank) && i < held->n_inputs + held->n_outputs; i++) {
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
    if (leads(rank)) {
        begin(verify);
        verify->joined = arena_array(verify->scratch, Joined, n + 2);
    }
    for (int i = 0; i < n; i++) {
        if (!rank_meet(rank) || !join(rank, from[i], &verify->joined[i + 2]))
            return false;
        Joined *joined = &verify->joined[i + 2];
        if (leads(rank) && joined->whole)
            joined->bound = with_addends(verify, joined->whole, NULL, joined);
    }
    return true;
}

/* Compares the slots that they were moved to. */
static bool after_move(Rank *rank, int at, const int32_t *to, int n)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    if (!rank_meet(rank))
        return false;
    for (int i = 0; i < n; i++) {
        const Joined *from = &verify->joined[i + 2];
        Expected want = {.whole = from->whole, .bound = from->bound, .moved = true};
        want.rounding = from->bound ? ROUNDING_SUM : ROUNDING_EXACT;
        want.unknown = !from->whole;
        if (!check_slot(rank, at, to[i], &want))
            return false;
    }
    if (!rank_meet(rank))
        return false;
    for (int i = 0; leads(rank) && i < n; i++)
        local_free(verify->joined[i + 2].whole);
    return true;
}

static bool after_load(Rank *rank, int at, int32_t slot)
{
    Team *team = rank->team;
    Verify *verify = team->verify;
    const Inferred *inferred = team->plan->inferred;
    int32_t tensor = team->program->slots[slot].tensor;
    const Local *listed = feed_listed(&team->feeds, tensor);
    if (leads(rank)) {
        begin(verify);
        verify->joined = arena_array(verify->scratch, Joined, 3);
        Local *whole = listed ? local_copy(listed)
                              : local_new_whole((Dtype)inferred->dtype[tensor],
                                                inferred_shape(inferred, tensor));
        if (whole && !listed)
            feed_fill(&team->feeds, tensor, whole, verify->scratch);
        verify->joined[2].whole = whole;
    }
    return after_move(rank, at, &slot, 1);
}

/* A part as if it were all: its elements with the indices that they have in it. */
static Local *alone(const Local *part)
{
    Local *out = local_new_whole(part->dtype, &part->shape);
    if (out)
        memcpy(out->data, part->data, (size_t)local_bytes(part));
    return out;
}

/* The last item of the list against what was added to it. */
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
    Local *got = alone(last), *want = alone(item);
    if (got && want)
        compare(&c, got, want, NULL);
    local_free(got);
    local_free(want);
    return true;
}

/* The slots that the end of an iteration moves from, or to. */
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

/* ---- all of it ---- */

bool verify_before(Rank *rank, int at)
{
    const Instr *instr = &rank->team->program->instrs[at];
    switch (instr->kind) {
    case INSTR_OP:
        return before_op(rank, instr->op);
    case INSTR_STEP:
        return before_move(rank, &instr->from, 1);
    case INSTR_BACK:
        return at_back(rank, at, false);
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
        return after_load(rank, at, instr->slot);
    case INSTR_COLLECT:
        return after_collect(rank, at, instr);
    case INSTR_FREE:
    case INSTR_BRANCH:
    case INSTR_LOOP:
    case INSTR_NEXT:
        break;
    }
    return true;
}
