#include "core/plan/edges_state.h"

#include "core/plan/assume.h"
#include "core/plan/control.h"
#include "core/plan/plan_findings.h"
#include "core/plan/plan_machine.h"
#include "core/plan/routed.h"
#include "core/plan/stage.h"

#include <assert.h>

/* ---- projections ---- */

/* *with_halos: how an input is read with the borders of the neighbours' parts; the same if it has
 * none. */
static int32_t project(const Plan *plan, const OpSpace *space, const OpCut *cut, int operand,
                       int32_t *with_halos)
{
    const Operand *o = &space->operand[operand];
    *with_halos = NONE;
    if (o->absent || o->ignored)
        return NONE;
    Sharding sharding = op_cut_sharding(space, cut, operand, plan->mesh);
    int32_t id = *with_halos = shardings_put(plan->shardings, &sharding);
    if (operand < space->n_inputs && op_cut_read_halos(space, cut, operand, plan->mesh, &sharding))
        *with_halos = shardings_put(plan->shardings, &sharding);
    return id;
}

const int32_t *edges_projections(Edges *e, int32_t op)
{
    const Plan *plan = e->plan;
    if (e->of_op[op])
        return e->of_op[op];
    int32_t key[2] = {plan->inferred->space[op], plan->propagated->cut[op]};
    int32_t id = intern_put(e->asked, key, sizeof key);
    if (id == e->projected.n) {
        const OpSpace *space = program_space(plan->inferred, op);
        int n = space->n_inputs + space->n_outputs;
        int32_t *ids = arena_array(e->scratch, int32_t, 2 * n);
        for (int o = 0; o < n; o++)
            ids[o] = project(plan, space, program_cut(plan, op), o, &ids[n + o]);
        vec_push(e->scratch, &e->projected, ids);
    }
    assert(e->projected.at);
    return e->of_op[op] = e->projected.at[id];
}

int32_t edges_whole(const Edges *e, int32_t tensor)
{
    int32_t shape = tensor < 0 ? NONE : e->plan->inferred->shape[tensor];
    if (shape < 0)
        return NONE;
    if (e->whole[shape] == 0) {
        Sharding sharding = sharding_whole(shapes_at(e->plan->inferred->shapes, shape));
        e->whole[shape] = shardings_put(e->plan->shardings, &sharding) + 1;
    }
    return e->whole[shape] - 1;
}

int32_t edges_need(const Edges *e, const OpSpace *space, const int32_t *ids, int operand,
                   int32_t tensor)
{
    if (tensor < 0 || e->plan->inferred->shape[tensor] < 0 || space->operand[operand].absent)
        return NONE;
    bool unknown = space->no_rule || space->operand[operand].ignored || ids[operand] < 0;
    return unknown ? edges_whole(e, tensor) : ids[operand];
}

static double move_fill(const Plan *plan, int32_t tensor, int32_t from, int32_t to)
{
    return routed_move_fill(plan->routed, tensor, shardings_at(plan->shardings, from),
                            shardings_at(plan->shardings, to), plan->mesh);
}

static double move_us(const Edges *e, int32_t tensor, int32_t to, int devices)
{
    const Plan *plan = e->plan;
    int32_t has = plan->moved->sharding[tensor];
    Dtype dtype = (Dtype)plan->inferred->dtype[tensor];
    return has == to ? 0
                     : reshard_filled(plan_resharder_of(plan, devices), dtype, has, to,
                                      plan->decided->submeshes[devices].fixed,
                                      move_fill(plan, tensor, has, to))
                           ->us;
}

/* With the borders of the neighbours' parts, where getting these is cheaper than the whole dim. */
static int32_t read_halos(Edges *e, int32_t op, int operand, int32_t tensor, int32_t need)
{
    const Plan *plan = e->plan;
    const OpSpace *space = program_space(plan->inferred, op);
    const int32_t *ids = edges_projections(e, op);
    int32_t with = ids[space->n_inputs + space->n_outputs + operand];
    if (with == ids[operand] || need != ids[operand])
        return need;
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    bool sent =
        plan->decided->devices && maker >= 0 && plan_devices(plan, maker) != plan_devices(plan, op);
    if (sent || tensor_is_known(plan->inferred, tensor))
        return need;
    int devices = plan_devices(plan, op);
    return move_us(e, tensor, with, devices) < move_us(e, tensor, need, devices) ? with : need;
}

/* The sharding in which an op reads a value; of a dim that it needs a part of, as the value has it
 * where that serves. */
static int32_t read_as(Edges *e, int32_t op, int operand, int32_t tensor, int32_t need)
{
    const Plan *plan = e->plan;
    const OpSpace *space = program_space(plan->inferred, op);
    int32_t has = plan->moved->sharding[tensor];
    if (has < 0 || has == need || space->no_rule)
        return need;
    Sharding read = *shardings_at(plan->shardings, need);
    return op_cut_read_parts(space, program_cut(plan, op), operand,
                             shardings_at(plan->shardings, has), plan->mesh, &read)
               ? shardings_put(plan->shardings, &read)
               : read_halos(e, op, operand, tensor, need);
}

static int32_t with_partial(Edges *e, int32_t sharding, AtomSet atoms,
                            const PassedPartials *partials)
{
    struct {
        int32_t sharding;
        uint8_t kind[ATOMS_MAX];
    } key = {.sharding = sharding};
    atoms &= partials->atoms;
    if (atoms == 0)
        return sharding;
    for (AtomSet left = atoms; left; left &= left - 1)
        key.kind[__builtin_ctz(left)] = partials->kind[__builtin_ctz(left)];
    int32_t id = intern_put(e->partials, &key, sizeof key);
    if (id == e->with_partials.n) {
        Sharding with = *shardings_at(e->plan->shardings, sharding);
        for (AtomSet left = atoms; left; left &= left - 1)
            with.partial[__builtin_ctz(left)] = partials->kind[__builtin_ctz(left)];
        vec_push(e->scratch, &e->with_partials, shardings_put(e->plan->shardings, &with));
    }
    return e->with_partials.at[id];
}

/* ---- reshards ---- */

/* Where a value is: its sharding, and the part of the mesh that holds it. */
typedef struct {
    int32_t sharding;
    int devices; /* index into plan->decided->submeshes */
} Location;

/* Between parts that run on unlike devices the whole machine's, which has the slowest links. */
static Sender *sender_of(Edges *e, Location from, Location to)
{
    const Plan *plan = e->plan;
    bool own = plan->decided->machines && plan_sends_alike(plan, from.devices, to.devices);
    int at = own ? from.devices : 0;
    if (!e->senders)
        e->senders = arena_array(e->scratch, Sender *, plan->decided->n_submeshes);
    if (!e->senders[at])
        e->senders[at] = sender_new(plan->arena, plan_resharder_of(plan, at), plan->mesh,
                                    plan_machine_of(plan, at), plan->shardings);
    return e->senders[at];
}

static const ReshardPath *path_of(Edges *e, int32_t tensor, Location from, Location to)
{
    const Plan *plan = e->plan;
    Dtype dtype = (Dtype)plan->inferred->dtype[tensor];
    if (from.devices == to.devices)
        return reshard_filled(plan_resharder_of(plan, to.devices), dtype, from.sharding,
                              to.sharding, plan->decided->submeshes[to.devices].fixed,
                              move_fill(plan, tensor, from.sharding, to.sharding));
    return sender_path(sender_of(e, from, to), dtype, from.sharding, to.sharding,
                       plan->decided->submeshes[from.devices],
                       plan->decided->submeshes[to.devices]);
}

/* Whether a rank holds more of the tensor after the reshard. */
static bool grows(const Edges *e, int32_t tensor, Location from, Location to)
{
    return plan_local_bytes(e->plan, tensor, to.sharding) >
           plan_local_bytes(e->plan, tensor, from.sharding);
}

/* Whether a pin keeps what is gathered until the end of the step. */
static bool is_kept(const Edges *e, int32_t tensor)
{
    return e->kept && e->kept[tensor];
}

/* Whether the op that is being looked at has read the reshard's result already. */
static bool is_read_by(const Edges *e, int32_t reshard, int32_t op)
{
    for (int i = e->use_op.n - 1; i >= 0 && e->use_op.at[i] == op; i--)
        if (e->use_of.at[i] == reshard)
            return true;
    return false;
}

/* What goes around is not kept: it does so once more for each op that computes on its shards.
 * op: the reader; the maker where a pin asks for it, and then the value is kept for all phases. */
static Reshard *reshard_to(Edges *e, int32_t tensor, Location from, Location to, int32_t op)
{
    bool pinned = op == e->plan->inferred->graph->tensors[tensor].maker;
    bool ring = sharding_has_ring(shardings_at(e->plan->shardings, to.sharding));
    int phase = pinned ? 0 : plan_phase(e->plan, op);
    for (int32_t at = e->first_reshard[tensor]; at > 0; at = e->next_reshard.at[at - 1]) {
        Reshard *old = &e->reshards.at[at - 1];
        if (ring && !is_read_by(e, at - 1, op))
            continue;
        if (old->to == to.sharding && old->from == from.sharding && old->to_devices == to.devices &&
            old->from_devices == from.devices && (old->phase == 0 || old->phase == phase))
            return old;
    }
    Reshard new = {.tensor = tensor, .from = from.sharding, .to = to.sharding};
    new.from_devices = (int16_t)from.devices;
    new.to_devices = (int16_t)to.devices;
    new.phase =
        (uint8_t)(phase > 0 && !is_kept(e, tensor) && (ring || grows(e, tensor, from, to)) ? phase
                                                                                           : 0);
    new.path = path_of(e, tensor, from, to);
    vec_push_own(e->scratch, &e->reshards, new);
    vec_push_own(e->scratch, &e->next_reshard, e->first_reshard[tensor]);
    e->first_reshard[tensor] = e->reshards.n;
    return &e->reshards.at[e->reshards.n - 1];
}

/* A stage that only relays a value holds it as it was made, without the axes that its devices
 * cannot be sharded by. */
static Location relayed(const Edges *e, Location from, int devices)
{
    const Plan *plan = e->plan;
    AtomSet fixed = plan->decided->submeshes[devices].fixed;
    const Sharding *made = shardings_at(plan->shardings, from.sharding);
    if (!(sharding_atoms(made) & fixed))
        return (Location){from.sharding, devices};
    Sharding sharding = *made;
    for (int64_t d = 0; d < sharding.n_dims; d++)
        if (cut_atoms(&sharding.dim[d]) & fixed)
            sharding.dim[d] = cut_without(&sharding.dim[d], fixed, plan->mesh);
    return (Location){shardings_put(plan->shardings, &sharding), devices};
}

static int32_t settled(const Edges *e, int32_t id)
{
    Sharding sharding = sharding_settled(shardings_at(e->plan->shardings, id));
    return shardings_put(e->plan->shardings, &sharding);
}

/* Where an op reads a value from: its maker's devices, or the last stage in between that relays
 * it. Graph inputs, parameters and constants are on every device that reads them. */
static Location source_of(Edges *e, int32_t tensor, int32_t op)
{
    const Plan *plan = e->plan;
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    Location at = {plan->moved->sharding[tensor], plan_devices(plan, op)};
    if (!plan->decided->devices || maker < 0 || tensor_is_known(plan->inferred, tensor))
        return at;
    at.devices = plan_devices(plan, maker);
    if (at.devices != plan_devices(plan, op) &&
        sharding_has_halo(shardings_at(plan->shardings, at.sharding))) {
        Location next = {settled(e, at.sharding), at.devices};
        reshard_to(e, tensor, at, next, op);
        at = next;
    }
    bool relayed_to = plan_phase(plan, maker) <= 1 + PHASE_FORWARD;
    for (int s = stage_of(plan, maker) + 1; relayed_to && s > 0 && s < stage_of(plan, op); s++) {
        const Stage *stage = &plan->decided->stages->at[s];
        if (!stage->relay || stage->devices == at.devices)
            continue;
        Location next = relayed(e, at, stage->devices);
        reshard_to(e, tensor, at, next, op);
        at = next;
    }
    return at;
}

static void note_use(Edges *e, Reshard *reshard, int32_t op)
{
    int32_t at = (int32_t)(reshard - e->reshards.at);
    if (e->use_op.n > 0 && e->use_op.at[e->use_op.n - 1] == op &&
        e->use_of.at[e->use_of.n - 1] == at)
        return; /* one op may read the same value twice */
    vec_push_own(e->scratch, &e->use_of, at);
    vec_push_own(e->scratch, &e->use_op, op);
    reshard->n_uses++;
}

/* A value whose shape is known only at run time is not sent between devices. */
static void note_unsent(Edges *e, int32_t tensor, int32_t op)
{
    const Plan *plan = e->plan;
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    if (maker < 0 || tensor_is_known(plan->inferred, tensor) ||
        plan_devices(plan, maker) == plan_devices(plan, op))
        return;
    if (e->n_unsent++ == 0) {
        e->unsent = tensor;
        e->unsent_op = op;
    }
}

static void read_inputs(Edges *e, int32_t op, const PassedPartials *partials)
{
    const Plan *plan = e->plan;
    const Graph *graph = plan->inferred->graph;
    const OpSpace *space = program_space(plan->inferred, op);
    const int32_t *input = op_inputs(graph, op), *ids = edges_projections(e, op);
    for (int o = 0; o < graph->ops[op].n_inputs; o++) {
        int32_t t = input[o], need = edges_need(e, space, ids, o, t);
        if (need >= 0)
            need = with_partial(e, read_as(e, op, o, t, need), partial_read(e, op, o, partials),
                                partials);
        e->out->need[graph->ops[op].input + o] = need;
        if (t >= 0 && plan->inferred->shape[t] < 0)
            note_unsent(e, t, op);
        if (need < 0 || plan->moved->sharding[t] < 0)
            continue;
        Location from = source_of(e, t, op), to = {need, plan_devices(plan, op)};
        if (from.sharding == need && from.devices == to.devices)
            continue;
        note_use(e, reshard_to(e, t, from, to, op), op);
    }
}

/* Whether outputs stay partial as in the propagator's system. Those of a training step, its loss,
 * its gradients and what it leaves for the next, are always reduced. */
static bool keeps_partial(const Plan *plan)
{
    return plan->propagator->keeps_partial && !plan->inferred->forward;
}

/* The sharding in which a graph output is returned: reduced, except over axes that a mark keeps
 * partial. */
static int32_t reduced_output(const Edges *e, int32_t tensor, int32_t made)
{
    Sharding reduced = *shardings_at(e->plan->shardings, made);
    AtomSet kept = keeps_partial(e->plan) ? ~(AtomSet)0 : e->unreduced ? e->unreduced[tensor] : 0;
    for (int a = 0; a < ATOMS_MAX; a++)
        if (!(kept >> a & 1))
            reduced.partial[a] = REDUCE_NONE;
    if (!sharding_partials(&reduced))
        reduced = sharding_without_halo(&reduced);
    return shardings_put(e->plan->shardings, &reduced);
}

/* What a training step leaves goes to every part of the mesh that has what it takes the place of
 * and does not update it itself. */
static void send_next(Edges *e, int32_t tensor, int32_t op)
{
    const Plan *plan = e->plan;
    int32_t of = plan->inferred->graph->next_of[tensor];
    Location from = {plan->moved->sharding[tensor], plan_devices(plan, op)}, to = from;
    for (int at = 0; (to.devices = stage_given_on(plan, of, &at)) >= 0;)
        if (!submesh_contains(plan->mesh, plan->decided->submeshes[from.devices],
                              plan->decided->submeshes[to.devices]) &&
            stage_next_on(plan, of, to.devices) == tensor)
            reshard_to(e, tensor, from, to, op);
}

static void make_outputs(Edges *e, int32_t op, const PassedPartials *partials)
{
    const Plan *plan = e->plan;
    const Graph *graph = plan->inferred->graph;
    const OpSpace *space = program_space(plan->inferred, op);
    const int32_t *ids = edges_projections(e, op);
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(graph, op)[o];
        if (t < 0 || plan->moved->sharding[t] < 0)
            continue;
        int32_t made = edges_need(e, space, ids, space->n_inputs + o, t);
        made = with_partial(e, made, ~(AtomSet)0, partials);
        made = e->out->made[t] = assume_made(plan, t, made, e->out->computed);
        if (graph->next_of && graph->next_of[t] >= 0)
            e->out->sharding[t] = plan->moved->sharding[graph->next_of[t]];
        else if (!edges_is_held(e, t))
            e->out->sharding[t] = edges_obey_marks(
                e, t, graph->tensors[t].output ? reduced_output(e, t, made) : made);
        int devices = plan_devices(plan, op);
        if (plan->moved->sharding[t] != made)
            reshard_to(e, t, (Location){made, devices},
                       (Location){plan->moved->sharding[t], devices}, op);
        if (graph->next_of && graph->next_of[t] >= 0)
            send_next(e, t, op);
    }
}

/* The value that a loop carries over is resharded to what the next iteration expects. */
static void read_carried(Edges *e, const GraphCarry *carry)
{
    const Plan *plan = e->plan;
    int32_t reader = carry->in < 0 ? NONE : plan->inferred->graph->tensors[carry->in].maker;
    if (reader < 0 || inferred_is_host(plan->inferred, reader) || carry->next < 0 ||
        plan->moved->sharding[carry->next] < 0)
        return;
    int32_t found = plan->moved->made[carry->in];
    Location from = source_of(e, carry->next, reader);
    Location to = {found < 0 ? edges_whole(e, carry->next) : found, plan_devices(plan, reader)};
    if (from.sharding != to.sharding || from.devices != to.devices)
        note_use(e, reshard_to(e, carry->next, from, to, reader), reader);
}

/* What decides a branch or a loop is read before it, replicated, by the devices that run it. */
static void read_control(Edges *e, int body, int32_t op)
{
    const Plan *plan = e->plan;
    int32_t t = control_read(plan->inferred, body);
    if (t < 0 || tensor_is_known(plan->inferred, t))
        return;
    if (plan->inferred->shape[t] < 0)
        note_unsent(e, t, op);
    if (plan->moved->sharding[t] < 0)
        return;
    int devices = plan_devices(plan, op);
    Location from = source_of(e, t, op), to = {control_sharding(plan, t, devices), devices};
    if (from.sharding != to.sharding || from.devices != to.devices)
        note_use(e, reshard_to(e, t, from, to, op), op);
}

static void add_unsent(Plan *plan, const Edges *e)
{
    if (e->n_unsent == 0)
        return;
    const Graph *graph = plan->inferred->graph;
    plan_find(plan, LEVEL_ERROR, "unsent", e->unsent_op, e->unsent,
              "run both ops on the same devices, or bind the sizes with --dim",
              "%s reads '%s' from other devices, but only the run tells its shape: it cannot be "
              "sent%s",
              op_name(graph, e->unsent_op), plan_value_name(e->plan, e->unsent),
              e->n_unsent > 1 ? arena_printf(plan->arena, " (and %d more)", e->n_unsent - 1) : "");
}

static void note_idle_ring(Plan *plan, const Decision *pin)
{
    bool ring = pin->kind == PIN_INDEX_DIM && cut_is_ring(decision_cut(pin));
    const OpSpace *space = ring ? program_space(plan->inferred, pin->place) : NULL;
    if (!ring || op_cut_ring(space, program_cut(plan, pin->place)) >= 0)
        return;
    bool product = space->index[pin->dim].role != ROLE_FROZEN;
    plan_find(plan, LEVEL_NOTE, "idle-ring", pin->place, -1,
              product
                  ? "shard another dim of the op by the axes of the ring, and leave this one whole"
                  : "shard its queries by the axes of the ring, and nothing else that goes around",
              "%s: parts of %s do not go around a ring, whose axes shard no other dim of the op, "
              "or shard what goes around otherwise",
              op_name(plan->inferred->graph, pin->place), space->index[pin->dim].name);
}

/* Rings that are none: what goes around is gathered, or is there already. */
static void note_idle_rings(Plan *plan)
{
    for (int i = 0; i < plan->decided->n_pins; i++)
        note_idle_ring(plan, plan->decided->pins[i]);
    for (int i = 0; i < plan->decided->n_rings; i++)
        note_idle_ring(plan, plan->decided->rings[i]);
}

/* Groups the uses by reshard; they were collected in program order. */
static void publish(Edges *e)
{
    Arena *arena = e->plan->arena;
    Moved *out = e->out;
    int32_t next = 0;
    for (int i = 0; i < e->reshards.n; i++) {
        e->reshards.at[i].use = next;
        next += e->reshards.at[i].n_uses;
        e->reshards.at[i].n_uses = 0;
    }
    out->reshard_uses = arena_array(arena, int32_t, next);
    for (int i = 0; i < e->use_op.n; i++) {
        Reshard *r = &e->reshards.at[e->use_of.at[i]];
        out->reshard_uses[r->use + r->n_uses++] = e->use_op.at[i];
    }
    out->n_reshards = e->reshards.n;
    out->reshards = arena_array(arena, Reshard, out->n_reshards);
    if (out->n_reshards > 0)
        memcpy(out->reshards, e->reshards.at, sizeof(Reshard) * (size_t)out->n_reshards);
}

static void find_marks(Edges *e)
{
    const Plan *plan = e->plan;
    int n_tensors = plan->inferred->graph->n_tensors;
    if (plan->decided->n_marks == 0)
        return;
    e->unreduced = arena_array(e->scratch, AtomSet, n_tensors);
    e->replicated = arena_array(e->scratch, AtomSet, n_tensors);
    for (int i = 0; i < plan->decided->n_marks; i++) {
        const Decision *mark = plan->decided->marks[i];
        if (mark->kind == PIN_UNREDUCED)
            e->unreduced[mark->place] = mark->axes;
        else if (mark->kind == PIN_REPLICATED)
            e->replicated[mark->place] = mark->axes;
    }
}

/* The value of a group that an op makes or the graph is given decides for the group's parameters;
 * without one, the uses of all of them do. */
static void find_groups(Edges *e)
{
    const Graph *graph = e->plan->inferred->graph;
    const int32_t *group = e->plan->propagated->group;
    if (!group)
        return;
    int32_t *first = arena_array(e->scratch, int32_t, graph->n_tensors); /* per group: 1 + tensor */
    bool *made = arena_array(e->scratch, bool, graph->n_tensors);        /* per group */
    e->first = arena_array(e->scratch, int32_t, graph->n_tensors);
    e->together = arena_array(e->scratch, bool, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++) {
        e->first[t] = t;
        if (group[t] < 0)
            continue;
        if (first[group[t]] == 0)
            first[group[t]] = t + 1;
        e->first[t] = first[group[t]] - 1;
        made[group[t]] |= graph->tensors[t].kind != TENSOR_INITIALIZER;
    }
    for (int t = 0; t < graph->n_tensors; t++)
        e->together[t] = group[t] >= 0 && made[group[t]];
}

/* Starts every value with the sharding that propagation gave it. */
static Moved *moved_new(const Plan *plan)
{
    const Graph *graph = plan->inferred->graph;
    Moved *out = arena_make(plan->arena, Moved);
    int32_t n_places = graph_n_input_places(graph);
    out->need = arena_array(plan->arena, int32_t, n_places);
    out->computed = assume_computed(plan);
    out->sharding = arena_array(plan->arena, int32_t, graph->n_tensors);
    out->made = arena_array(plan->arena, int32_t, graph->n_tensors);
    memset(out->need, -1, (size_t)n_places * sizeof *out->need);
    memset(out->made, -1, (size_t)graph->n_tensors * sizeof *out->made);
    for (int t = 0; t < graph->n_tensors; t++)
        out->sharding[t] = plan_reached(plan, t);
    return out;
}

/* Up to the shardings in which parameters and constants are stored. */
static Edges edges_begin(Plan *plan, Arena *scratch)
{
    const Inferred *inferred = plan->inferred;
    Moved *out = moved_new(plan);
    plan->moved = out;
    Edges e = {.plan = plan,
               .out = out,
               .scratch = scratch,
               .asked = intern_new(scratch),
               .partials = intern_new(scratch),
               .last_state = {.parameter = NONE}};
    int32_t n_shapes = 0;
    for (int t = 0; t < inferred->graph->n_tensors; t++)
        n_shapes = inferred->shape[t] >= n_shapes ? inferred->shape[t] + 1 : n_shapes;
    e.of_op = arena_array(scratch, const int32_t *, inferred->graph->n_ops);
    e.whole = arena_array(scratch, int32_t, n_shapes);
    e.n_readers = arena_array(scratch, int32_t, inferred->graph->n_tensors);
    e.first_reshard = arena_array(scratch, int32_t, inferred->graph->n_tensors);
    find_marks(&e);
    find_groups(&e);
    edges_store_parameters(&e);
    return e;
}

const int32_t *edges_stored(Plan *plan)
{
    Arena *scratch = arena_new();
    edges_begin(plan, scratch);
    const int32_t *stored = plan->moved->sharding;
    plan->moved = NULL;
    arena_free(scratch);
    return stored;
}

void edges_fill(Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    Arena *scratch = arena_new();
    Edges e = edges_begin(plan, scratch);
    for (int i = 0, b = 0; i < inferred->n_program && plan_making_goes_on(plan, i); i++) {
        int32_t op = inferred->program[i];
        for (; b < inferred->graph->n_bodies && inferred->graph->bodies[b].first <= op; b++)
            if (op < inferred->graph->bodies[b].end)
                read_control(&e, b, op);
        PassedPartials partials = partial_passed(&e, op);
        read_inputs(&e, op, &partials);
        make_outputs(&e, op, &partials);
    }
    for (int i = 0; i < inferred->graph->n_carries; i++)
        read_carried(&e, &inferred->graph->carries[i]);
    publish(&e);
    add_unsent(plan, &e);
    note_idle_rings(plan);
    arena_free(scratch);
}
