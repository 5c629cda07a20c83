/* ring.c - an op whose parts go around a ring.
 *
 * In turn t a rank has the parts of the rank that is t places before it, and computes on them while
 * it hands them on. Outputs that go around are handed on once the rank has added to them, in the
 * last round, so that each ends where it belongs. The slots of the inputs stay as they are.
 *
 * A product has no kernel for turns: it is computed on a part in each (op_cut_ring()). Where
 * results go around a rank begins with the part of the rank before it and ends with its own; what
 * it has made is on its way while it computes what is added next.
 */
#include "core/run/runner.h"

#include "core/plan/op_cut.h"

enum { PARTS_MAX = 16 };

typedef struct {
    Rank *rank;
    const Instr *instr;
    int index; /* the index dim */
    AtomSet atoms;
    int64_t n;  /* ranks of the ring */
    int64_t me; /* this rank's place in it */
    KernelCall call;
    int n_inputs, n_outputs; /* that go around */
    int input[PARTS_MAX], output[PARTS_MAX];
    Local *in[PARTS_MAX], *out[PARTS_MAX]; /* what is here in this turn */
    Local *next[PARTS_MAX];                /* of a product: what comes .. */
    RingPass pass;                         /* .. with this */
    bool added;                            /* operands that are added once are */
} Ring;

int ring_index_of(const Plan *plan, int32_t op)
{
    const OpSpace *space = inferred_space(plan->inferred, op);
    const OpCut *cut = plan_cut(plan, op);
    return space && cut ? op_cut_ring(space, cut) : -1;
}

int64_t ring_stores(const Plan *plan, int32_t op)
{
    int index = ring_index_of(plan, op);
    bool product =
        index >= 0 && program_space(plan->inferred, op)->index[index].role != ROLE_FROZEN;
    return product ? mesh_atoms_size(plan->mesh, cut_atoms(&plan_cut(plan, op)->index[index])) : 0;
}

static int64_t member(const Ring *ring, int64_t before)
{
    const Mesh *mesh = ring->rank->team->plan->mesh;
    int64_t place = (ring->me + 2 * ring->n - before % ring->n) % ring->n;
    return mesh_group_member(mesh, ring->atoms, ring->rank->position, place);
}

static const Sharding *sharding_of(const Ring *ring, int32_t place)
{
    const Team *team = ring->rank->team;
    int32_t slot = team->program->operand[place];
    int32_t id = slot < 0 ? -1 : team->program->slots[slot].sharding;
    return id < 0 ? NULL : shardings_at(team->plan->shardings, id);
}

/* Operands whose parts go around, of n from place `first`. */
static int find_parts(const Ring *ring, int32_t first, int n, int out[PARTS_MAX])
{
    int n_found = 0;
    for (int i = 0; i < n && n_found < PARTS_MAX; i++) {
        const Sharding *sharding = sharding_of(ring, first + i);
        if (sharding && sharding_has_ring(sharding))
            out[n_found++] = i;
    }
    return n_found;
}

/* Room for the parts that come with turn `turn`. */
static bool make_room(const Ring *ring, int32_t first, const int *which, int n, int turn,
                      Local *const *like, Local **out, Error *err)
{
    const Mesh *mesh = ring->rank->team->plan->mesh;
    for (int i = 0; i < n; i++) {
        out[i] = local_new(like[i]->dtype, &like[i]->whole, sharding_of(ring, first + which[i]),
                           mesh, member(ring, turn));
        if (!out[i])
            return error_kind(err, ERROR_RUN, "out of memory for a part that goes around a ring");
    }
    return true;
}

/* Parts that others may still read, or that come, when the ring breaks off. */
static void leave_parts(const Ring *ring, Local *const *part, int n)
{
    for (int i = 0; i < n; i++)
        vec_push(ring->rank->arena, &ring->rank->parts, part[i]);
}

/* Those of `now` that are none of the slots' give place to `next`. */
static void replace(Local **now, Local *const *next, int n, bool of_slots)
{
    for (int i = 0; i < n; i++) {
        if (!of_slots)
            local_free(now[i]);
        now[i] = next[i];
    }
}

static RingPass pass_of(const Ring *ring, int n, Local *const *from, Local *const *to)
{
    return (RingPass){n, from, to, member(ring, ring->n - 1), member(ring, 1)};
}

/* Outputs to which the rank has added go on. */
static bool hand_on_outputs(Ring *ring, int turn, bool of_slots, Error *err)
{
    const Runner *runner = ring->rank->team->runner;
    const GraphOp *at = &ring->call.inferred->graph->ops[ring->instr->op];
    Local *next[PARTS_MAX] = {NULL};
    RingPass pass = pass_of(ring, ring->n_outputs, ring->out, next);
    if (ring->n_outputs == 0)
        return true;
    bool ok = make_room(ring, op_output_place(at), ring->output, ring->n_outputs, turn + 1,
                        ring->out, next, err) &&
              runner->pass_begin(ring->rank, &pass) &&
              runner->pass_end(ring->rank, ring->instr, &pass);
    if (ok)
        replace(ring->out, next, ring->n_outputs, of_slots);
    else
        leave_parts(ring, next, ring->n_outputs);
    return ok;
}

/* Computes on what is here. Before the last round nothing is added to the outputs that go around:
 * the kernel gets others of the same parts. */
static bool compute(Ring *ring, int turn, bool adds, Local **output, Error *err)
{
    const GraphOp *at = &ring->call.inferred->graph->ops[ring->instr->op];
    Local *unread[PARTS_MAX] = {NULL};
    bool ok = adds || make_room(ring, op_output_place(at), ring->output, ring->n_outputs, turn,
                                ring->out, unread, err);
    for (int i = 0; i < ring->n_outputs; i++)
        output[ring->output[i]] = adds ? ring->out[i] : unread[i];
    ok = ok && kernel_run_part(&ring->call, err);
    for (int i = 0; i < ring->n_outputs; i++)
        local_free(unread[i]);
    return ok;
}

static bool take_turn(Ring *ring, int turn, const Local **input, Local **output, Error *err)
{
    const Runner *runner = ring->rank->team->runner;
    const GraphOp *at = &ring->call.inferred->graph->ops[ring->instr->op];
    bool more = turn + 1 < ring->call.ring->n_turns;
    Local *next[PARTS_MAX] = {NULL};
    RingPass pass = pass_of(ring, ring->n_inputs, ring->in, next);
    for (int i = 0; i < ring->n_inputs; i++)
        input[ring->input[i]] = ring->in[i];
    bool adds = turn + ring->call.ring->n >= ring->call.ring->n_turns;
    bool ok = !more || (make_room(ring, at->input, ring->input, ring->n_inputs, turn + 1, ring->in,
                                  next, err) &&
                        runner->pass_begin(ring->rank, &pass));
    ok = ok && compute(ring, turn, adds, output, err) &&
         (!more || runner->pass_end(ring->rank, ring->instr, &pass));
    if (!ok)
        leave_parts(ring, next, ring->n_inputs);
    else if (more)
        replace(ring->in, next, ring->n_inputs, turn == 0);
    return ok;
}

/* What came home goes into the slots of the outputs. */
static void keep(const Ring *ring, Local *const *output)
{
    for (int i = 0; i < ring->n_outputs; i++) {
        Local *slot = output[ring->output[i]];
        if (ring->out[i] != slot)
            memcpy(slot->data, ring->out[i]->data, (size_t)local_bytes(slot));
    }
}

/* The last parts that are none of the slots' go, at once or, after a failure, with the rank. */
static void end_parts(const Ring *ring, Local *const *output, bool ok)
{
    Local *last[2 * PARTS_MAX];
    int n = 0;
    for (int i = 0; i < ring->n_outputs; i++)
        if (ring->out[i] != output[ring->output[i]])
            last[n++] = ring->out[i];
    for (int i = 0; i < ring->n_inputs; i++)
        if (ring->in[i] != ring->call.input[ring->input[i]])
            last[n++] = ring->in[i];
    if (!ok)
        leave_parts(ring, last, n);
    for (int i = 0; ok && i < n; i++)
        local_free(last[i]);
}

static bool go_around(Ring *ring, int rounds, Error *err)
{
    const GraphOp *at = &ring->call.inferred->graph->ops[ring->instr->op];
    Arena *arena = ring->call.scratch;
    const KernelCall *given = &ring->call;
    const Local **input = arena_array(arena, const Local *, at->n_inputs);
    Local **output = arena_array(arena, Local *, at->n_outputs);
    Local *const *slots = given->output;
    void *state = NULL;
    KernelRing turns = {.n = (int)ring->n, .n_turns = (int)ring->n * rounds, .state = &state};
    turns.arena = arena;
    for (int i = 0; i < at->n_inputs; i++)
        input[i] = given->input[i];
    for (int i = 0; i < at->n_outputs; i++)
        output[i] = slots[i];
    const Local *const *own = given->input;
    ring->call.input = input;
    ring->call.output = output;
    ring->call.ring = &turns;
    bool ok = true;
    for (; ok && turns.turn < turns.n_turns; turns.turn++) {
        int first = turns.n_turns - turns.n;
        ring->call.scratch = arena_new();
        ok = take_turn(ring, turns.turn, input, output, err) &&
             (turns.turn < first || hand_on_outputs(ring, turns.turn, turns.turn == first, err));
        arena_free(ring->call.scratch);
    }
    ring->call.input = own;
    if (ok)
        keep(ring, slots);
    end_parts(ring, slots, ok);
    return ok;
}

/* ---- products ---- */

static const IndexDim *index_of(const Ring *ring)
{
    return &program_space(ring->call.inferred, ring->instr->op)->index[ring->index];
}

/* The dim of an operand that is the index dim; -1: it lacks it. */
static int ring_dim(const Ring *ring, int operand)
{
    const Operand *o = &program_space(ring->call.inferred, ring->instr->op)->operand[operand];
    for (int d = 0; d < o->projection.n_dims; d++)
        if (o->projection.row[d].coef[ring->index] != 0)
            return d;
    return -1;
}

/* Room for the part of `block`, the rank whose turn it is, of what a slot has whole along the dim;
 * -1: for all of the slot. Its runs are those of the slot. */
static Local *part_like(const Ring *ring, const Local *slot, int dim, int64_t block)
{
    const Mesh *mesh = ring->rank->team->plan->mesh;
    Sharding whole = sharding_whole(&slot->whole);
    Local *part = local_new_empty(slot->dtype, &slot->whole, &whole, mesh, 0);
    Cut cut = program_cut(ring->rank->team->plan, ring->instr->op)->index[ring->index];
    cut.before = cut.after = cut.around = 0;
    for (int d = 0; d < slot->whole.n_dims; d++) {
        part->runs[d] = d == dim ? cut_runs(part->arena, &cut, mesh, block) : slot->runs[d];
        part->shape.dim[d] = part->runs[d].local_size;
    }
    if (local_alloc(part))
        return part;
    local_free(part);
    return NULL;
}

/* Where the operand is among those that go around; -1: it does not. */
static int place_around(const int *which, int n, int operand)
{
    for (int i = 0; i < n; i++)
        if (which[i] == operand)
            return i;
    return -1;
}

/* The inputs of a turn; *own: those to be freed. */
static bool turn_inputs(const Ring *ring, int64_t block, const Local **input, Local **own)
{
    for (int i = 0; i < ring->call.n_inputs; i++) {
        const Local *slot = ring->call.input[i];
        int at = place_around(ring->input, ring->n_inputs, i), dim = ring_dim(ring, i);
        input[i] = at >= 0 ? ring->in[at] : slot;
        if (!slot || at >= 0 || dim < 0)
            continue;
        own[i] = part_like(ring, slot, dim, block);
        if (!own[i])
            return false;
        Picks picks = picks_between(own[i]->arena, own[i], slot);
        local_pick(own[i], slot, &picks);
        input[i] = own[i];
    }
    return true;
}

/* Puts what a turn made where it belongs: into a part of the result, or added to it. */
static bool put_made(Ring *ring, Local *const *made, Error *err)
{
    for (int i = 0; i < ring->call.n_outputs; i++) {
        int at = place_around(ring->output, ring->n_outputs, i);
        Local *to = at >= 0 ? ring->out[at] : ring->call.output[i];
        if (!made[i])
            continue;
        if (at < 0 && ring_dim(ring, ring->call.n_inputs + i) >= 0) {
            Picks picks = picks_between(made[i]->arena, to, made[i]);
            local_pick(to, made[i], &picks);
        } else if (!kernel_combine(REDUCE_SUM, to->dtype, to->data, made[i]->data, 1,
                                   shape_elements(&to->shape)))
            return error_kind(err, ERROR_RUN, "elements of type %s cannot be added up",
                              dtype_name(to->dtype));
    }
    return true;
}

static bool run_part(Ring *ring, const Local *const *input, Local **made, Error *err)
{
    KernelCall call = ring->call;
    bool sums = index_of(ring)->role == ROLE_REDUCE;
    call.input = input;
    call.output = made;
    call.cut = NULL;
    call.first = call.first && !(sums && ring->added);
    call.reduce_cut |= sums;
    call.scratch = arena_new();
    bool ok = kernel_run_part(&call, err);
    ring->added = true;
    arena_free(call.scratch);
    return ok;
}

/* Computes on the part of `block`; made: the results, to be freed. Nothing, if the part is empty.
 */
static bool compute_part(Ring *ring, int64_t block, Local **made, Error *err)
{
    const Plan *plan = ring->rank->team->plan;
    const Cut *cut = &program_cut(plan, ring->instr->op)->index[ring->index];
    if (cut_local_size(cut, plan->mesh, block) == 0)
        return true;
    Arena *scratch = arena_new();
    const Local **input = arena_array(scratch, const Local *, ring->call.n_inputs);
    Local **own = arena_array(scratch, Local *, ring->call.n_inputs);
    bool ok = turn_inputs(ring, block, input, own);
    for (int i = 0; ok && i < ring->call.n_outputs; i++) {
        const Local *slot = ring->call.output[i];
        made[i] =
            slot ? part_like(ring, slot, ring_dim(ring, ring->call.n_inputs + i), block) : NULL;
        ok = !slot || made[i];
    }
    if (!ok)
        error_kind(err, ERROR_RUN, "out of memory for a part that goes around a ring");
    ok = ok && run_part(ring, input, made, err);
    for (int i = 0; i < ring->call.n_inputs; i++)
        local_free(own[i]);
    arena_free(scratch);
    return ok;
}

/* Sends what is here on; what comes instead is that of turn `turn`. */
static bool send_on(Ring *ring, int turn, Error *err)
{
    const GraphOp *at = &ring->call.inferred->graph->ops[ring->instr->op];
    bool out = ring->n_outputs > 0;
    int n = out ? ring->n_outputs : ring->n_inputs;
    Local **now = out ? ring->out : ring->in;
    if (!make_room(ring, out ? op_output_place(at) : at->input, out ? ring->output : ring->input, n,
                   turn, now, ring->next, err))
        return false;
    ring->pass = pass_of(ring, n, now, ring->next);
    return ring->rank->team->runner->pass_begin(ring->rank, &ring->pass);
}

static bool receive(Ring *ring, bool of_slots)
{
    bool out = ring->n_outputs > 0;
    if (!ring->rank->team->runner->pass_end(ring->rank, ring->instr, &ring->pass))
        return false;
    replace(out ? ring->out : ring->in, ring->next, ring->pass.n, of_slots);
    memset(ring->next, 0, sizeof ring->next);
    return true;
}

static bool product_turn(Ring *ring, int turn, Local **made, Error *err)
{
    bool out = ring->n_outputs > 0, more = turn + 1 < ring->n;
    if (!out && more && !send_on(ring, turn + 1, err))
        return false;
    if (!compute_part(ring, member(ring, turn + out), made, err) ||
        (out && turn > 0 && !receive(ring, false)) || !put_made(ring, made, err))
        return false;
    return !more || (out ? send_on(ring, turn + 2, err) : receive(ring, turn == 0));
}

static bool product_goes_around(Ring *ring, Error *err)
{
    const GraphOp *at = &ring->call.inferred->graph->ops[ring->instr->op];
    Local **made = arena_array(ring->call.scratch, Local *, at->n_outputs);
    bool ok = ring->n_outputs == 0 || make_room(ring, op_output_place(at), ring->output,
                                                ring->n_outputs, 1, ring->out, ring->out, err);
    for (int turn = 0; ok && turn < ring->n; turn++) {
        ok = product_turn(ring, turn, made, err);
        for (int i = 0; i < at->n_outputs; i++) {
            local_free(made[i]);
            made[i] = NULL;
        }
    }
    if (ok)
        keep(ring, ring->call.output);
    else
        leave_parts(ring, ring->next, PARTS_MAX);
    end_parts(ring, ring->call.output, ok);
    return ok;
}

bool ring_op(Rank *rank, const Instr *instr, const KernelCall *call, Error *err)
{
    const Plan *plan = rank->team->plan;
    int index = ring_index_of(plan, instr->op);
    const GraphOp *at = &plan->inferred->graph->ops[instr->op];
    Ring ring = {.rank = rank, .instr = instr, .index = index, .call = *call};
    ring.atoms = cut_atoms(&program_cut(plan, instr->op)->index[index]);
    ring.n = mesh_atoms_size(plan->mesh, ring.atoms);
    ring.me = mesh_atoms_coord(plan->mesh, ring.atoms, rank->position);
    ring.n_inputs = find_parts(&ring, at->input, at->n_inputs, ring.input);
    ring.n_outputs = find_parts(&ring, op_output_place(at), at->n_outputs, ring.output);
    for (int i = 0; i < ring.n_inputs; i++)
        ring.in[i] = rank->slot[rank->team->program->operand[at->input + ring.input[i]]];
    for (int i = 0; i < ring.n_outputs; i++)
        ring.out[i] = call->output[ring.output[i]];
    const IndexDim *dim = index_of(&ring);
    return dim->role == ROLE_FROZEN ? go_around(&ring, dim->rounds, err)
                                    : product_goes_around(&ring, err);
}
