/* ring.c - an op whose parts go around a ring.
 *
 * In turn t a rank has the parts of the rank that is t places before it, and computes on them while
 * it hands them on. Outputs that go around are handed on once the rank has added to them, in the
 * last round, so that each ends where it belongs. The slots of the inputs stay as they are.
 */
#include "core/run/runner.h"

#include "core/plan/op_cut.h"

enum { PARTS_MAX = 16 };

typedef struct {
    Rank *rank;
    const Instr *instr;
    AtomSet atoms;
    int64_t n;  /* ranks of the ring */
    int64_t me; /* this rank's place in it */
    KernelCall call;
    int n_inputs, n_outputs; /* that go around */
    int input[PARTS_MAX], output[PARTS_MAX];
    Local *in[PARTS_MAX], *out[PARTS_MAX]; /* what is here in this turn */
} Ring;

int ring_index_of(const Plan *plan, int32_t op)
{
    const OpSpace *space = inferred_space(plan->inferred, op);
    const OpCut *cut = plan_cut(plan, op);
    return space && cut ? op_cut_ring(space, cut) : -1;
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

bool ring_op(Rank *rank, const Instr *instr, const KernelCall *call, Error *err)
{
    const Plan *plan = rank->team->plan;
    int index = ring_index_of(plan, instr->op);
    const GraphOp *at = &plan->inferred->graph->ops[instr->op];
    Ring ring = {.rank = rank, .instr = instr, .call = *call};
    ring.atoms = cut_atoms(&program_cut(plan, instr->op)->index[index]);
    ring.n = mesh_atoms_size(plan->mesh, ring.atoms);
    ring.me = mesh_atoms_coord(plan->mesh, ring.atoms, rank->position);
    ring.n_inputs = find_parts(&ring, at->input, at->n_inputs, ring.input);
    ring.n_outputs = find_parts(&ring, op_output_place(at), at->n_outputs, ring.output);
    for (int i = 0; i < ring.n_inputs; i++)
        ring.in[i] = rank->slot[rank->team->program->operand[at->input + ring.input[i]]];
    for (int i = 0; i < ring.n_outputs; i++)
        ring.out[i] = call->output[ring.output[i]];
    return go_around(&ring, program_space(plan->inferred, instr->op)->index[index].rounds, err);
}
