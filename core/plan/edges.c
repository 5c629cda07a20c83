#include "core/plan/edges.h"

#include "core/base/intern.h"
#include "core/plan/control.h"
#include "core/plan/plan_findings.h"
#include "core/plan/stage.h"
#include "core/reshard/sending.h"
#include "core/space/gradient.h"

#include <assert.h>

enum { NONE = -1, UNDECIDED = -2 };

typedef struct {
    const Plan *plan;
    Moved *out;
    Arena *scratch;
    Intern *asked;             /* (space, cut) -> projected */
    Vec(int32_t *) projected;  /* Shardings ids by operand */
    int32_t *whole;            /* per shape: 1 + Shardings id of the replicated tensor */
    int32_t *n_readers;        /* per tensor: number of program ops that read it */
    int32_t *first_reshard;    /* per tensor: 1 + place in reshards */
    Vec(int32_t) next_reshard; /* per reshard: 1 + index of the next reshard of the same tensor */
    Vec(Reshard) reshards;
    Vec(int32_t) use_of, use_op; /* per use: reshard, op */
    Sender *sender;              /* NULL until a value is sent between devices */
    int n_unsent;                /* values that are not sent: the first, and the op that reads it */
    int32_t unsent, unsent_op;
    AtomSet *unreduced, *replicated; /* per tensor: the axes that a mark leaves it partial over, or
                                        keeps out of its dims; NULL if there are no marks */
    bool *together; /* per tensor: in a group with a tensor that an op makes; NULL if no groups */
    int32_t *first; /* per tensor: the first of its group, or the tensor itself; NULL likewise */
} Edges;

/* ---- projections ---- */

static int32_t project(const Plan *plan, const OpSpace *space, const OpCut *cut, int operand)
{
    const Operand *o = &space->operand[operand];
    if (o->absent || o->ignored)
        return NONE;
    Sharding sharding = op_cut_sharding(space, cut, operand, plan->mesh);
    return shardings_put(plan->shardings, &sharding);
}

static const int32_t *projections(Edges *e, int32_t op)
{
    const Plan *plan = e->plan;
    int32_t key[2] = {plan->inferred->space[op], plan->propagated->cut[op]};
    int32_t id = intern_put(e->asked, key, sizeof key);
    if (id == e->projected.n) {
        const OpSpace *space = program_space(plan->inferred, op);
        int n = space->n_inputs + space->n_outputs;
        int32_t *ids = arena_array(e->scratch, int32_t, n);
        for (int o = 0; o < n; o++)
            ids[o] = project(plan, space, program_cut(plan, op), o);
        vec_push(e->scratch, &e->projected, ids);
    }
    assert(e->projected.at);
    return e->projected.at[id];
}

static int32_t whole(const Edges *e, int32_t tensor)
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

static int32_t need_of(const Edges *e, const OpSpace *space, const int32_t *ids, int operand,
                       int32_t tensor)
{
    if (tensor < 0 || e->plan->inferred->shape[tensor] < 0)
        return NONE;
    bool unknown = space->no_rule || space->operand[operand].ignored || ids[operand] < 0;
    return unknown ? whole(e, tensor) : ids[operand];
}

/* The sharding in which an op reads a value; of a dim that it needs a part of, as the value has it
 * where that serves. */
static int32_t read_as(const Edges *e, int32_t op, int operand, int32_t tensor, int32_t need)
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
               : need;
}

/* ---- how parameters and constants are stored ---- */

/* The sharding without the axes that a mark keeps out of the tensor. It is not partial over them
 * either, unless another mark wants that. */
static int32_t obey_marks(const Edges *e, int32_t tensor, int32_t sharding)
{
    AtomSet axes = e->replicated ? e->replicated[tensor] : 0;
    if (axes == 0 || sharding < 0)
        return sharding;
    Sharding with = *shardings_at(e->plan->shardings, sharding);
    for (int64_t d = 0; d < with.n_dims; d++)
        if (cut_atoms(&with.dim[d]) & axes)
            with.dim[d] = cut_without(&with.dim[d], axes, e->plan->mesh);
    for (int a = 0; a < ATOMS_MAX; a++)
        if ((axes & ~e->unreduced[tensor]) >> a & 1)
            with.partial[a] = REDUCE_NONE;
    return shardings_put(e->plan->shardings, &with);
}

/* True if the tensor lies as propagation left it, whatever its op makes or its readers need. */
static bool is_held(const Edges *e, int32_t tensor)
{
    return plan_pinned(e->plan, tensor) || (e->together && e->together[tensor]);
}

static bool is_stored(const Plan *plan, int32_t tensor)
{
    return plan->inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER;
}

/* One pass over all reads: counts the readers of each tensor, and finds the one sharding that all
 * uses of a parameter, or of the first of its group, need. */
static void count_reads(Edges *e, int32_t *agreed)
{
    const Plan *plan = e->plan;
    const Inferred *inferred = plan->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (plan->propagated->cut[op] < 0)
            continue; /* of an update, which takes what is stored */
        const int32_t *input = op_inputs(inferred->graph, op), *ids = projections(e, op);
        const OpSpace *space = program_space(inferred, op);
        for (int o = 0; o < inferred->graph->ops[op].n_inputs; o++) {
            int32_t t = input[o];
            if (t < 0)
                continue;
            e->n_readers[t]++;
            int32_t need = need_of(e, space, ids, o, t), first = e->first ? e->first[t] : t;
            bool alike = agreed[first] == UNDECIDED || agreed[first] == need;
            agreed[first] = alike ? need : whole(e, t);
        }
    }
}

/* The cut of a stored dim: as it is used, then by the axes that store it, `4096/tp.dp`, so that a
 * gather over those alone gives what is used. As the pin says where it names axes of the use, or
 * more than axes. */
static Cut stored_cut(const Plan *plan, const Cut *used, const Decision *pin)
{
    const Cut *own = decision_cut(pin);
    Cut out = *used;
    int last = 0;
    if (cut_is_whole(used) || own->n != 1 || (cut_atoms(own) & cut_atoms(used)))
        return *own;
    for (int i = 0; i < used->n; i++)
        last = used->digit[i].n > 0 ? i : last;
    for (int i = cut_is_blocks(used) ? 0 : last; i <= (cut_is_blocks(used) ? used->n - 1 : last);
         i++)
        for (int a = 0; a < own->digit[0].n; a++)
            out.digit[i].atom[out.digit[i].n++] = own->digit[0].atom[a];
    cut_canonical(&out, plan->mesh);
    return out;
}

/* Applies the `store` pins of a parameter to how it is used: dims without one stay so, without the
 * axes that store it. */
static int32_t with_store_pins(const Plan *plan, int32_t tensor)
{
    Sharding sharding = *plan_sharding(plan, tensor);
    AtomSet stored = 0;
    for (int d = 0; d < sharding.n_dims; d++) {
        const Decision *pin = plan_store_pin_of(plan, tensor, d);
        stored |= pin ? cut_atoms(decision_cut(pin)) : 0;
    }
    for (int d = 0; d < sharding.n_dims; d++) {
        const Decision *pin = plan_store_pin_of(plan, tensor, d);
        AtomSet own = pin ? cut_atoms(decision_cut(pin)) : 0;
        if (cut_atoms(&sharding.dim[d]) & stored & ~own)
            sharding.dim[d] = cut_without(&sharding.dim[d], stored & ~own, plan->mesh);
        if (pin)
            sharding.dim[d] = stored_cut(plan, &sharding.dim[d], pin);
    }
    return shardings_put(plan->shardings, &sharding);
}

static void apply_store_pins(const Edges *e)
{
    const Plan *plan = e->plan;
    bool *applied = arena_array(e->scratch, bool, plan->inferred->graph->n_tensors);
    for (int i = 0; i < plan->decided->n_pins; i++) {
        int32_t t = plan->decided->pins[i]->place;
        if (!plan->decided->pins[i]->store || applied[t])
            continue;
        applied[t] = true;
        e->out->made[t] = e->out->sharding[t] = with_store_pins(plan, t);
    }
}

static void store_parameters(Edges *e)
{
    const Plan *plan = e->plan;
    const Graph *graph = plan->inferred->graph;
    int32_t *agreed = arena_array(e->scratch, int32_t, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++)
        agreed[t] = UNDECIDED;
    count_reads(e, agreed);
    for (int t = 0; t < graph->n_tensors; t++) {
        if (plan->moved->sharding[t] < 0)
            continue;
        int32_t uses = agreed[e->first ? e->first[t] : t];
        if (tensor_is_known(plan->inferred, t))
            e->out->sharding[t] = whole(e, t);
        else if (is_stored(plan, t) && !is_held(e, t) && !plan->propagated->passed && uses >= 0)
            e->out->sharding[t] = obey_marks(e, t, uses);
        e->out->made[t] = e->out->sharding[t];
    }
    apply_store_pins(e);
}

/* ---- partial values ---- */

/* An op of a training step behind its forward part: no propagator decides what stays partial. */
static bool is_behind(const Edges *e, int32_t op)
{
    const Inferred *forward = e->plan->inferred->forward;
    return forward && op >= forward->graph->n_ops;
}

static bool rules_hold(const Edges *e, int32_t op)
{
    return !e->plan->propagated->passed || is_behind(e, op);
}

/* A gradient on its way through values that are made of parameters alone: it stays partial, even
 * if it grows, until the gradient of the parameter is needed. */
static bool is_leaf(const Edges *e, int32_t op, int operand)
{
    const Inferred *inferred = e->plan->inferred;
    const Gradient *gradient = program_space(inferred, op)->gradient;
    return gradient && operand < gradient->n_reads && gradient->reads[operand].gradient &&
           inferred->forward->on_parameters[inferred->graph->of[op]];
}

static bool all_sums(const Sharding *sharding)
{
    for (int a = 0; a < ATOMS_MAX; a++)
        if (sharding->partial[a] != REDUCE_NONE && sharding->partial[a] != REDUCE_SUM)
            return false;
    return true;
}

/* The axes over which input `operand` is partial and may stay partial through the op; 0 if it must
 * be reduced first. */
static AtomSet passing(const Edges *e, int32_t op, int operand)
{
    const Plan *plan = e->plan;
    const OpSpace *space = program_space(plan->inferred, op);
    int32_t t = op_inputs(plan->inferred->graph, op)[operand];
    bool leaf = is_leaf(e, op, operand);
    if (t < 0 || plan->moved->sharding[t] < 0 ||
        (space->operand[operand].linear == LINEAR_NO && !leaf))
        return 0;
    const Sharding *sharding = plan_sharding(plan, t);
    const OpCut *cut = program_cut(plan, op);
    AtomSet atoms = sharding_partials(sharding);
    if (!atoms || !all_sums(sharding) || e->n_readers[t] != 1 ||
        plan->inferred->graph->tensors[t].output || (atoms & cuts_used(cut->index, cut->n, -1)))
        return 0;
    for (int o = 0; o < space->n_outputs && !leaf; o++)
        if (shape_elements(&opspace_output(space, o)->shape) >
            shape_elements(&space->operand[operand].shape))
            return 0;
    return atoms;
}

/* A sum of gradients, or of their squares, whose addends all lie as it needs them: addends that are
 * not partial over an axis of others are joined by being zero at all its coordinates but the first,
 * which moves nothing. */
static bool joins_addends(Edges *e, int32_t op)
{
    const Plan *plan = e->plan;
    const OpSpace *space = program_space(plan->inferred, op);
    const int32_t *ids = projections(e, op);
    if (!is_behind(e, op) || space->gradient)
        return false;
    for (int i = 0; i < space->n_inputs; i++) {
        int32_t t = op_inputs(plan->inferred->graph, op)[i];
        if (space->operand[i].linear != LINEAR_TOGETHER || t < 0 || plan->moved->sharding[t] < 0 ||
            ids[i] < 0)
            return false;
        const Sharding *has = plan_sharding(plan, t),
                       *needs = shardings_at(plan->shardings, ids[i]);
        for (int64_t d = 0; d < has->n_dims; d++)
            if (!cut_equal(&has->dim[d], &needs->dim[d]))
                return false;
    }
    return space->n_inputs > 1;
}

/* The partial axes that the op's outputs inherit from its inputs. */
static AtomSet passed_through(Edges *e, int32_t op)
{
    const OpSpace *space = program_space(e->plan->inferred, op);
    if (joins_addends(e, op)) {
        AtomSet atoms = 0;
        for (int o = 0; o < space->n_inputs; o++)
            atoms |= passing(e, op, o);
        return atoms;
    }
    AtomSet together = 0;
    bool first = true;
    for (int o = 0; o < space->n_inputs; o++) {
        Linear linear = space->operand[o].linear;
        if ((linear == LINEAR_ALONE || is_leaf(e, op, o)) && passing(e, op, o))
            return passing(e, op, o);
        if (linear != LINEAR_TOGETHER)
            continue;
        AtomSet atoms = passing(e, op, o);
        together = first || together == atoms ? atoms : 0;
        if (!together)
            return 0;
        first = false;
    }
    return together;
}

/* The axes over which input `operand` is read partial. `passed` are those that the outputs
 * inherit, unless a strategy has decided it. */
static AtomSet read_partial(Edges *e, int32_t op, int operand, AtomSet passed)
{
    const Plan *plan = e->plan;
    if (passed && joins_addends(e, op))
        return passed;
    if (!rules_hold(e, op))
        return plan->propagated->passed[plan->inferred->graph->ops[op].input + operand];
    return passed && passing(e, op, operand) == passed ? passed : 0;
}

/* The partial axes that an op's outputs inherit, with the reduction of each. Inputs that are not
 * partial over them yet are made so. */
typedef struct {
    AtomSet atoms;
    uint8_t kind[ATOMS_MAX];
} PassedPartials;

static PassedPartials passed_partials(Edges *e, int32_t op, AtomSet passed)
{
    const Graph *graph = e->plan->inferred->graph;
    PassedPartials partials = {0};
    for (int o = 0; o < graph->ops[op].n_inputs; o++) {
        AtomSet atoms = read_partial(e, op, o, passed);
        for (int a = 0; atoms && a < ATOMS_MAX; a++) {
            bool reads = atoms >> a & 1;
            uint8_t kind =
                reads ? plan_sharding(e->plan, op_inputs(graph, op)[o])->partial[a] : REDUCE_NONE;
            if (kind == REDUCE_NONE)
                continue;
            partials.kind[a] = kind;
            partials.atoms |= (AtomSet)1 << a;
        }
    }
    return partials;
}

static int32_t with_partial(const Plan *plan, int32_t sharding, AtomSet atoms,
                            const PassedPartials *partials)
{
    atoms &= partials->atoms;
    if (atoms == 0)
        return sharding;
    Sharding with = *shardings_at(plan->shardings, sharding);
    for (int a = 0; a < ATOMS_MAX; a++)
        if (atoms >> a & 1)
            with.partial[a] = partials->kind[a];
    return shardings_put(plan->shardings, &with);
}

/* ---- reshards ---- */

/* Where a value is: its sharding, and the part of the mesh that holds it. */
typedef struct {
    int32_t sharding;
    int devices; /* index into plan->decided->submeshes */
} Location;

static const ReshardPath *path_of(Edges *e, int32_t tensor, Location from, Location to)
{
    const Plan *plan = e->plan;
    Dtype dtype = (Dtype)plan->inferred->dtype[tensor];
    if (from.devices == to.devices)
        return reshard_inside(plan->resharder, dtype, from.sharding, to.sharding,
                              plan->decided->submeshes[to.devices].fixed);
    if (!e->sender)
        e->sender =
            sender_new(plan->arena, plan->resharder, plan->mesh, plan->machine, plan->shardings);
    return sender_path(e->sender, dtype, from.sharding, to.sharding,
                       plan->decided->submeshes[from.devices],
                       plan->decided->submeshes[to.devices]);
}

/* Whether a rank holds more of the tensor after the reshard. */
static bool grows(const Edges *e, int32_t tensor, Location from, Location to)
{
    return plan_local_bytes(e->plan, tensor, to.sharding) >
           plan_local_bytes(e->plan, tensor, from.sharding);
}

/* op: the reader; the maker where a pin asks for it. */
static Reshard *reshard_to(Edges *e, int32_t tensor, Location from, Location to, int32_t op)
{
    int phase = plan_phase(e->plan, op);
    for (int32_t at = e->first_reshard[tensor]; at > 0; at = e->next_reshard.at[at - 1]) {
        Reshard *old = &e->reshards.at[at - 1];
        if (old->to == to.sharding && old->from == from.sharding && old->to_devices == to.devices &&
            old->from_devices == from.devices && (old->phase == 0 || old->phase == phase))
            return old;
    }
    Reshard new = {.tensor = tensor, .from = from.sharding, .to = to.sharding};
    new.from_devices = (int16_t)from.devices;
    new.to_devices = (int16_t)to.devices;
    new.phase = (uint8_t)(phase > 0 && grows(e, tensor, from, to) ? phase : 0);
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
    Sharding sharding = *shardings_at(plan->shardings, from.sharding);
    for (int64_t d = 0; d < sharding.n_dims; d++)
        if (cut_atoms(&sharding.dim[d]) & fixed)
            sharding.dim[d] = cut_without(&sharding.dim[d], fixed, plan->mesh);
    return (Location){shardings_put(plan->shardings, &sharding), devices};
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
    for (int s = stage_of(plan, maker) + 1; s > 0 && s < stage_of(plan, op); s++) {
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

static void read_inputs(Edges *e, int32_t op, AtomSet passed, const PassedPartials *partials)
{
    const Plan *plan = e->plan;
    const Graph *graph = plan->inferred->graph;
    const OpSpace *space = program_space(plan->inferred, op);
    const int32_t *input = op_inputs(graph, op), *ids = projections(e, op);
    for (int o = 0; o < graph->ops[op].n_inputs; o++) {
        int32_t t = input[o], need = need_of(e, space, ids, o, t);
        if (need >= 0)
            need = with_partial(plan, read_as(e, op, o, t, need), read_partial(e, op, o, passed),
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

/* The sharding in which a graph output is returned: reduced, except over axes that a mark keeps
 * partial. */
static int32_t reduced_output(const Edges *e, int32_t tensor, int32_t made)
{
    Sharding reduced = *shardings_at(e->plan->shardings, made);
    AtomSet kept = e->unreduced ? e->unreduced[tensor] : 0;
    for (int a = 0; a < ATOMS_MAX; a++)
        if (!(kept >> a & 1))
            reduced.partial[a] = REDUCE_NONE;
    return shardings_put(e->plan->shardings, &reduced);
}

static void make_outputs(Edges *e, int32_t op, const PassedPartials *partials)
{
    const Plan *plan = e->plan;
    const Graph *graph = plan->inferred->graph;
    const OpSpace *space = program_space(plan->inferred, op);
    const int32_t *ids = projections(e, op);
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(graph, op)[o];
        if (t < 0 || plan->moved->sharding[t] < 0)
            continue;
        int32_t made = need_of(e, space, ids, space->n_inputs + o, t);
        e->out->made[t] = with_partial(plan, made, ~(AtomSet)0, partials);
        made = plan->moved->made[t];
        if (graph->next_of && graph->next_of[t] >= 0)
            e->out->sharding[t] = plan->moved->sharding[graph->next_of[t]];
        else if (!is_held(e, t))
            e->out->sharding[t] =
                obey_marks(e, t, graph->tensors[t].output ? reduced_output(e, t, made) : made);
        int devices = plan_devices(plan, op);
        if (plan->moved->sharding[t] != made)
            reshard_to(e, t, (Location){made, devices},
                       (Location){plan->moved->sharding[t], devices}, op);
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
    Location to = {found < 0 ? whole(e, carry->next) : found, plan_devices(plan, reader)};
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
    Location from = source_of(e, t, op), to = {whole(e, t), plan_devices(plan, op)};
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
        made[group[t]] |= !is_stored(e->plan, t);
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
    Edges e = {.plan = plan, .out = out, .scratch = scratch, .asked = intern_new(scratch)};
    int32_t n_shapes = 0;
    for (int t = 0; t < inferred->graph->n_tensors; t++)
        n_shapes = inferred->shape[t] >= n_shapes ? inferred->shape[t] + 1 : n_shapes;
    e.whole = arena_array(scratch, int32_t, n_shapes);
    e.n_readers = arena_array(scratch, int32_t, inferred->graph->n_tensors);
    e.first_reshard = arena_array(scratch, int32_t, inferred->graph->n_tensors);
    find_marks(&e);
    find_groups(&e);
    store_parameters(&e);
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
        AtomSet passed = rules_hold(&e, op) ? passed_through(&e, op) : 0;
        PassedPartials partials = passed_partials(&e, op, passed);
        read_inputs(&e, op, passed, &partials);
        make_outputs(&e, op, &partials);
    }
    for (int i = 0; i < inferred->graph->n_carries; i++)
        read_carried(&e, &inferred->graph->carries[i]);
    publish(&e);
    add_unsent(plan, &e);
    arena_free(scratch);
}
