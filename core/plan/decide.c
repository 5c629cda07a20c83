#include "core/plan/decide.h"

#include "core/base/intern.h"
#include "core/plan/assume.h"
#include "core/plan/plan_findings.h"
#include "core/plan/stage.h"

#include <inttypes.h>

/* The size of the dim a decision is about, or -1 when it names none. */
static int64_t decided_size(const Inferred *inferred, const Decision *decision)
{
    const Graph *graph = inferred->graph;
    int n_places = decision_is_on_tensor(decision->kind) ? graph->n_tensors : graph->n_ops;
    if (decision->place < 0 || decision->place >= n_places || decision->dim < 0)
        return -1;
    if (decision_is_on_tensor(decision->kind)) {
        const Shape *shape = inferred_shape(inferred, decision->place);
        return shape && decision->dim < shape->n_dims ? shape->dim[decision->dim] : -1;
    }
    const OpSpace *space = inferred_space(inferred, decision->place);
    return space && decision->dim < space->n_index ? space->index[decision->dim].size : -1;
}

static bool is_in_program(const Inferred *inferred, int32_t op)
{
    return op >= 0 && op < inferred->graph->n_ops && !inferred_is_host(inferred, op);
}

static bool check_on_ops(const Inferred *inferred, const Mesh *mesh, const Decision *decision,
                         Error *err)
{
    bool range = decision->kind == PIN_DEVICES || decision->kind == PIN_RECOMPUTE;
    inferred = inferred->forward ? inferred->forward : inferred; /* the step's other ops follow */
    SubMesh devices = decision->devices;
    if (decision->kind == PIN_SCHEDULE)
        return decision->schedule || error_kind(err, ERROR_OUT_OF_RANGE, "a schedule has no name");
    if (decision->kind == PIN_ASSUMED)
        return assume_check(mesh, decision, err);
    if (!is_in_program(inferred, decision->place) ||
        (range && (!is_in_program(inferred, decision->last) || decision->last < decision->place)))
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "a decision names ops that the program does not have");
    if ((mesh->n_atoms < ATOMS_MAX && devices.fixed >> mesh->n_atoms) || devices.first < 0 ||
        devices.first >= mesh->n_devices)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "a decision names devices that the mesh does not have");
    return true;
}

bool decision_check(const Inferred *inferred, const Mesh *mesh, const Decision *decision,
                    Error *err)
{
    if (decision_is_on_ops(decision->kind))
        return check_on_ops(inferred, mesh, decision, err);
    bool whole = decision_marks_tensor(decision->kind) || decision->kind == UNPIN_TENSOR;
    int64_t size = whole ? 0 : decided_size(inferred, decision);
    if (whole && (decision->place < 0 || decision->place >= inferred->graph->n_tensors))
        size = -1;
    if (size < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "a decision names a dim that the tensor or op does not have");
    if (decision_pins_dim(decision->kind) && cut_size(decision_cut(decision)) != size)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "a pin shards %" PRId64 " elements, but the dim has %" PRId64,
                          cut_size(decision_cut(decision)), size);
    AtomSet axes = whole ? decision->axes : cut_atoms(decision_cut(decision));
    if (mesh->n_atoms < ATOMS_MAX && axes >> mesh->n_atoms)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "a pin names an axis that the mesh does not have");
    return true;
}

/* ": dim 0 is pinned by it (a.lua:3)", ": 'replicated' holds (your pin)": the decision that holds
 * instead of a pin. */
static void put_winner(Arena *arena, const Decision *winner, Buf *out)
{
    if (decision_pins_dim(winner->kind))
        buf_printf(out, ": dim %d is pinned by it", winner->dim);
    else
        buf_printf(out, ": '%s' holds", decision_kind_name(winner->kind));
    buf_printf(out, " (%s)", plan_origin_text(arena, &winner->origin));
}

/* Reports a pin that cannot hold as a finding and leaves it out of out->pins. winner: the decision
 * that holds instead; NULL if there is none. */
static void refuse_pin(Plan *plan, const Decision *pin, Level level, const char *code,
                       const char *why, const char *hint, const Decision *winner)
{
    const Graph *graph = plan->inferred->graph;
    bool tensor = decision_is_on_tensor(pin->kind);
    Buf instead = buf_new(plan->arena);
    if (winner)
        put_winner(plan->arena, winner, &instead);
    plan_find(plan, level, code, tensor ? -1 : pin->place, tensor ? pin->place : -1, hint,
              "%s: dim %d %s%s",
              tensor ? plan_value_name(plan, pin->place) : op_name(graph, pin->place), pin->dim,
              why, winner ? instead.s : "");
    plan_found_at(plan, &pin->origin);
}

/* ---- decisions that the propagator does not obey ---- */

typedef struct {
    const Decision *first;
    int count;
} NotObeyed;
typedef Vec(NotObeyed) NotObeyedList;

static bool same_line(const Origin *a, const Origin *b)
{
    return a->line == b->line &&
           str_eq(str_from(a->file ? a->file : ""), str_from(b->file ? b->file : ""));
}

/* What step_cuts() and edges_fill() obey, whatever the propagator: pins of a dim, and axes kept out
 * of a tensor or unreduced. */
enum { OBEYED_BEHIND_FORWARD = OBEYS_PINS | OBEYS(PIN_REPLICATED) | OBEYS(PIN_UNREDUCED) };

/* Returns false for a kind of decision that the plan's propagator does not obey, and keeps the
 * decision for report_not_obeyed(). */
static bool is_obeyed(const Plan *plan, const Decision *decision, NotObeyedList *refused)
{
    unsigned obeyed = decision_is_behind_forward(plan->inferred, decision)
                          ? OBEYED_BEHIND_FORWARD
                          : plan->propagator->obeys;
    if (obeyed & OBEYS(decision->kind))
        return true;
    for (int i = 0; i < refused->n; i++) {
        const Decision *first = refused->at[i].first;
        if (first->kind == decision->kind && same_line(&first->origin, &decision->origin)) {
            refused->at[i].count++;
            return false;
        }
    }
    vec_push(plan->arena, refused, ((NotObeyed){decision, 1}));
    return false;
}

/* One finding for all decisions of one kind from one line of a policy. */
static void report_not_obeyed(Plan *plan, const NotObeyedList *refused)
{
    const Graph *graph = plan->inferred->graph;
    for (int i = 0; i < refused->n; i++) {
        const Decision *first = refused->at[i].first;
        bool tensor = decision_is_on_tensor(first->kind);
        Buf more = buf_new(plan->arena);
        if (refused->at[i].count > 1)
            buf_printf(&more, " (and %d more like it)", refused->at[i].count - 1);
        const char *who = arena_printf(plan->arena, "the propagator %s (profile %s) does not obey",
                                       plan->propagator->name, plan->propagator->profile);
        const char *hint = "the propagator factor obeys every kind of decision";
        if (decision_is_behind_forward(plan->inferred, first)) {
            who = "nothing propagates behind the forward pass, which has no use for";
            hint = "pin the dims of the tensor, or mark what it is the gradient of";
        }
        plan_find(plan, LEVEL_WARNING, "not-obeyed", tensor ? -1 : first->place,
                  tensor ? first->place : -1, hint,
                  "%s%s: %s '%s', so the decision changes nothing",
                  tensor ? plan_value_name(plan, first->place) : op_name(graph, first->place),
                  more.n > 0 ? more.s : "", who, decision_kind_name(first->kind));
        plan_found_at(plan, &first->origin);
    }
}

/* Whether its parts go around as an op computes, and no propagator has to know: the axes that shard
 * the op otherwise are what they are. */
static bool is_ring_of_product(const Plan *plan, const Decision *pin)
{
    return pin->kind == PIN_INDEX_DIM && cut_is_ring(decision_cut(pin)) &&
           program_space(plan->inferred, pin->place)->index[pin->dim].role != ROLE_FROZEN;
}

/* The axes that distinguish the devices of a pipeline stage: they may not shard what the stage
 * holds. */
static AtomSet fixed_there(const Plan *plan, const AtomSet *apart, const Decision *pin)
{
    if (!apart)
        return 0;
    return pin->kind == PIN_TENSOR_DIM
               ? apart[pin->place]
               : plan->decided->submeshes[plan_devices(plan, pin->place)].fixed;
}

/* Whether an op can be computed with that cut of an index dim. A gradient op needs what its forward
 * op sums up in the ring. */
static bool obeys_cut(const OpSpace *space, int index, const Cut *cut, const Mesh *mesh)
{
    bool frozen = space->index[index].role == ROLE_FROZEN;
    return cut_is_ring(cut) ? op_cut_rounds(space, index) > 0 && !(space->gradient && frozen)
                            : !frozen || op_cut_of_frozen(space, index, cut, mesh);
}

/* Sharding a frozen index dim would give wrong sums. Only parameters are stored before they are
 * used. */
static bool can_hold(Plan *plan, const AtomSet *apart, const Decision *pin)
{
    const Inferred *inferred = plan->inferred;
    if (cut_atoms(decision_cut(pin)) & fixed_there(plan, apart, pin)) {
        refuse_pin(plan, pin, LEVEL_ERROR, "axis-of-stages",
                   "cannot be sharded by an axis that separates the devices of stages",
                   "shard it by an axis that lies within the stage", NULL);
        return false;
    }
    if (pin->kind == PIN_INDEX_DIM && !cut_is_whole(decision_cut(pin)) &&
        !obeys_cut(program_space(inferred, pin->place), pin->dim, decision_cut(pin), plan->mesh)) {
        bool rounds = op_cut_rounds(program_space(inferred, pin->place), pin->dim) > 0;
        refuse_pin(plan, pin, LEVEL_ERROR, "frozen-pin",
                   !cut_is_ring(decision_cut(pin)) ? "is frozen: the op cannot be sharded along it"
                   : rounds ? "goes around a ring only where it does in the forward op"
                            : "has no parts that can go around a ring",
                   cut_is_ring(decision_cut(pin)) && rounds ? "pin the forward op"
                   : rounds ? "let its parts go around a ring: {axis = .., ring = true}"
                            : "shard another dim of the op",
                   NULL);
        return false;
    }
    if (pin->kind == PIN_TENSOR_DIM && cut_is_ring(decision_cut(pin))) {
        refuse_pin(plan, pin, LEVEL_ERROR, "ring-of-tensor",
                   "is a dim of a tensor: only ops have parts go around a ring",
                   "pin the index dim of the op that reads it", NULL);
        return false;
    }
    if (pin->store && (pin->kind != PIN_TENSOR_DIM || !tensor_is_parameter(inferred, pin->place))) {
        refuse_pin(plan, pin, LEVEL_WARNING, "store-ignored",
                   "is pinned with store, but is not a dim of a parameter: the pin has no effect",
                   "pin the parameter itself, or pin without store", NULL);
        return false;
    }
    const int32_t *next_of = inferred->graph->next_of;
    if (pin->kind == PIN_TENSOR_DIM && next_of && next_of[pin->place] >= 0) {
        refuse_pin(
            plan, pin, LEVEL_WARNING, "pin-of-next",
            "is pinned, but lies as the tensor that it takes the place of",
            arena_printf(plan->arena, "pin '%s'", plan_value_name(plan, next_of[pin->place])),
            NULL);
        return false;
    }
    return true;
}

/* Per tensor: the axes that a mark replicates it or leaves it partial over; NULL if there are no
 * marks. */
static const AtomSet *barred_axes(Arena *arena, const Plan *plan, const Decided *out)
{
    if (out->n_marks == 0)
        return NULL;
    AtomSet *axes = arena_array(arena, AtomSet, plan->inferred->graph->n_tensors);
    for (int i = 0; i < out->n_marks; i++)
        axes[out->marks[i]->place] |= out->marks[i]->axes;
    return axes;
}

/* The mark by which a tensor is without one of the pin's axes. */
static const Decision *mark_over(const Decided *decided, const Decision *pin)
{
    for (int i = 0; i < decided->n_marks; i++)
        if (decided->marks[i]->place == pin->place &&
            (decided->marks[i]->axes & cut_atoms(decision_cut(pin))))
            return decided->marks[i];
    return NULL;
}

/* The pin of another dim of the same tensor or op that has one of the pin's axes. */
static const Decision *pin_with_axis(const Decided *decided, const Decision *pin)
{
    for (int i = 0; i < decided->n_pins && !cut_is_ring(decision_cut(pin)); i++) {
        const Decision *other = decided->pins[i];
        bool same = cut_is_ring(decision_cut(other)) ? false
                    : pin->store                     ? (other->store & pin->store) != 0
                                                     : other->store == 0;
        if (other->kind == pin->kind && other->place == pin->place && same &&
            (cut_atoms(decision_cut(other)) & cut_atoms(decision_cut(pin))))
            return other;
    }
    return NULL;
}

/* What a pin says of a dim: how it is used, or how one of the values of a parameter is stored. */
enum { USED = 0, ROLES = 1 + STORED_KINDS };

static bool has_role(const Decision *pin, int role)
{
    return role == USED ? pin->store == 0 : pin->store >> (role - 1) & 1;
}

/* Where the pin of a dim stands in pin_of, or the free place where it belongs. A pin stands there
 * once for each of its roles. */
static int32_t *find_pin(const Decided *decided, DecisionKind kind, int32_t place, int dim,
                         int role)
{
    const int32_t key[4] = {(int32_t)kind, place, dim, role};
    uint32_t mask = decided->n_pin_of - 1;
    for (uint32_t i = (uint32_t)hash_bytes(key, sizeof key) & mask;; i = (i + 1) & mask) {
        const Decision *pin =
            decided->pin_of[i] == 0 ? NULL : decided->pins[decided->pin_of[i] - 1];
        if (!pin ||
            (pin->kind == kind && pin->place == place && pin->dim == dim && has_role(pin, role)))
            return &decided->pin_of[i];
    }
}

/* Keeps the pins that hold (NULL entries do not), except one whose axis already shards another dim
 * of the same tensor or op, or that the tensor as a whole is marked to be without. */
static void keep_pins(Plan *plan, Decided *out, Arena *scratch, const Decision *const *holds, int n,
                      NotObeyedList *refused)
{
    Intern *places = intern_new(scratch);
    AtomSet *used = arena_array(scratch, AtomSet, ROLES * n);
    const AtomSet *barred = barred_axes(scratch, plan, out), *apart = stages_barred(scratch, plan);
    out->pins = arena_array(plan->arena, const Decision *, n);
    out->rings = arena_array(plan->arena, const Decision *, n);
    out->n_pin_of = 4;
    while (out->n_pin_of < 2 * STORED_KINDS * (uint32_t)n)
        out->n_pin_of *= 2;
    out->pin_of = arena_array(plan->arena, int32_t, out->n_pin_of);
    for (int i = 0; i < n; i++) {
        const Decision *pin = holds[i];
        if (pin && is_ring_of_product(plan, pin)) {
            if (can_hold(plan, apart, pin))
                out->rings[out->n_rings++] = pin;
            continue;
        }
        if (!pin || !is_obeyed(plan, pin, refused) || !can_hold(plan, apart, pin))
            continue;
        if (barred && pin->kind == PIN_TENSOR_DIM && !pin->store &&
            (cut_atoms(decision_cut(pin)) & barred[pin->place])) {
            refuse_pin(
                plan, pin, LEVEL_ERROR, "axis-barred",
                "cannot be sharded by an axis that the tensor is replicated or unreduced over",
                "shard it by another axis, or leave the axis out of replicated or unreduced",
                mark_over(out, pin));
            continue;
        }
        int32_t place[2] = {(int32_t)pin->kind, pin->place};
        AtomSet *used_by = &used[ROLES * intern_put(places, place, sizeof place)], others = 0;
        for (int role = 0; role < ROLES; role++)
            others |= has_role(pin, role) ? used_by[role] : 0;
        if (cut_atoms(decision_cut(pin)) & others) {
            refuse_pin(plan, pin, LEVEL_ERROR, "axis-twice",
                       "cannot be sharded by an axis that shards another of its dims",
                       "an axis shards one dim of a tensor; unpin the other dim first",
                       pin_with_axis(out, pin));
            continue;
        }
        out->pins[out->n_pins++] = pin;
        for (int role = 0; role < ROLES; role++) {
            if (!has_role(pin, role))
                continue;
            used_by[role] |= cut_atoms(decision_cut(pin));
            *find_pin(out, pin->kind, pin->place, pin->dim, role) = out->n_pins;
        }
    }
}

static const char *const replaced_hint = "the later one holds: leave one of them out";

static void note_replaced(Plan *plan, const Decision *new, const Decision *old)
{
    const Graph *graph = plan->inferred->graph;
    bool tensor = new->kind == PIN_TENSOR_DIM;
    plan_find(plan, LEVEL_NOTE, "pin-replaced", tensor ? -1 : new->place, tensor ? new->place : -1,
              replaced_hint, "%s dim %d: %s replaces that of %s",
              tensor ? plan_value_name(plan, new->place) : op_name(graph, new->place), new->dim,
              plan_origin_text(plan->arena, &new->origin),
              plan_origin_text(plan->arena, &old->origin));
    plan_found_at(plan, &new->origin);
}

/* Compares what two decisions ask for, not who asks. */
static bool pins_alike(const Decision *a, const Decision *b)
{
    return cut_equal(decision_cut(a), decision_cut(b)) && a->open == b->open &&
           a->store == b->store && a->keep == b->keep && a->priority == b->priority;
}

static bool marks_alike(const Decision *a, const Decision *b)
{
    return a->axes == b->axes && a->pass == b->pass &&
           (!a->group || !b->group || strcmp(a->group, b->group) == 0);
}

static void note_replaced_mark(Plan *plan, const Decision *new, const Decision *old)
{
    plan_find(plan, LEVEL_NOTE, "pin-replaced", -1, new->place, replaced_hint,
              "%s, %s: %s replaces that of %s", plan_value_name(plan, new->place),
              decision_kind_name(new->kind), plan_origin_text(plan->arena, &new->origin),
              plan_origin_text(plan->arena, &old->origin));
    plan_found_at(plan, &new->origin);
}

/* Moves decisions behind the forward pass of a training step to the end, in their order. Entries
 * may be NULL. */
static void forward_first(const Plan *plan, Arena *scratch, const Decision **decisions, int n)
{
    const Decision **behind = arena_array(scratch, const Decision *, n);
    int n_first = 0, n_behind = 0;
    for (int i = 0; i < n; i++)
        if (decisions[i] && decision_is_behind_forward(plan->inferred, decisions[i]))
            behind[n_behind++] = decisions[i];
        else
            decisions[n_first++] = decisions[i];
    for (int i = 0; i < n_behind; i++)
        decisions[n_first + i] = behind[i];
}

/* Replays the decisions about whole tensors: the last of a kind holds. */
static void resolve_marks(Plan *plan, Decided *out, const Journal *journal, NotObeyedList *refused)
{
    Arena *scratch = arena_new();
    Intern *places = intern_new(scratch);
    const Decision **holds = arena_array(scratch, const Decision *, 4 * journal->n_done);
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *decision = &journal->decisions.at[i];
        if (!decision_marks_tensor(decision->kind) && decision->kind != UNPIN_TENSOR)
            continue;
        int32_t at = 4 * intern_put(places, &decision->place, sizeof decision->place);
        for (int k = 0; k < 4; k++)
            if (decision->kind == UNPIN_TENSOR)
                holds[at + k] = NULL;
            else if (k == (int)decision->kind - PIN_REPLICATED) {
                if (holds[at + k] && !marks_alike(holds[at + k], decision))
                    note_replaced_mark(plan, decision, holds[at + k]);
                holds[at + k] = decision;
            }
    }
    int n = 4 * intern_count(places);
    out->marks = arena_array(plan->arena, const Decision *, n);
    for (int i = 0; i < n; i++)
        if (holds[i] && is_obeyed(plan, holds[i], refused))
            out->marks[out->n_marks++] = holds[i];
    forward_first(plan, scratch, out->marks, out->n_marks);
    arena_free(scratch);
}

/* The dim of the only parameter that dim d of the op's output is a view of, or false. */
static bool seen_through(const Inferred *inferred, int32_t op, int output, int dim, int32_t *tensor,
                         int *tensor_dim)
{
    const OpSpace *space = inferred_space(inferred, op);
    const Operand *in = space ? &space->operand[0] : NULL, *out;
    if (!space || space->n_inputs < 1 || in->linear != LINEAR_ALONE || in->absent)
        return false;
    out = opspace_output(space, output);
    const DimFactors *made = &out->factors[dim];
    *tensor = op_inputs(inferred->graph, op)[0];
    for (int d = 0; d < in->projection.n_dims; d++)
        if (made->n == 1 && made->exact && in->factors[d].n == 1 && in->factors[d].exact &&
            in->factors[d].index[0] == made->index[0]) {
            *tensor_dim = d;
            return true;
        }
    return false;
}

/* A state of the optimizer is stored, and used nowhere but there: every pin of it is a store pin.
 */
static const Decision *on_state(Plan *plan, const Decision *decision)
{
    int32_t parameter;
    if (stored_value(plan->inferred->graph, decision->place, &parameter) != STORED_STATES)
        return decision;
    Decision *out = arena_make(plan->arena, Decision);
    *out = *decision;
    out->store = STORED_PARAMETER;
    return out;
}

/* A store pin on a view of a parameter (a Transpose, a Reshape that keeps the dim) is one on the
 * parameter. Other decisions are returned as they are. */
static const Decision *on_parameter(Plan *plan, const Decision *decision)
{
    const Inferred *inferred = plan->inferred;
    const Graph *graph = inferred->graph;
    int32_t tensor = decision->place;
    int dim = decision->dim;
    if (decision->kind != PIN_TENSOR_DIM)
        return decision;
    if (decision_is_behind_forward(inferred, decision))
        return on_state(plan, decision);
    if (!decision->store)
        return decision;
    while (graph->tensors[tensor].maker >= 0) {
        int32_t op = graph->tensors[tensor].maker, from;
        int output = 0;
        while (op_outputs(graph, op)[output] != tensor)
            output++;
        if (!seen_through(inferred, op, output, dim, &from, &dim))
            break;
        tensor = from;
    }
    if (tensor == decision->place || !tensor_is_parameter(inferred, tensor))
        return decision;
    Decision *out = arena_make(plan->arena, Decision);
    *out = *decision;
    out->place = tensor;
    out->dim = dim;
    return out;
}

/* The decision without the roles that later ones took; NULL: it has none left. */
static const Decision *with_roles(Plan *plan, const Decision *pin, unsigned roles)
{
    uint8_t store = (uint8_t)(pin->store & roles >> 1);
    if (roles == 0 || store == pin->store)
        return roles == 0 ? NULL : pin;
    Decision *out = arena_make(plan->arena, Decision);
    *out = *pin;
    out->store = store;
    return out;
}

/* Replays the journal: the last pin of a dim holds in each of its roles, and an unpin removes it.
 */
static void resolve_pins(Plan *plan, Decided *out, const Journal *journal, NotObeyedList *refused)
{
    Arena *scratch = arena_new();
    Intern *dims = intern_new(scratch);
    const Decision **holds = arena_array(scratch, const Decision *, journal->n_done);
    uint8_t *roles = arena_array(scratch, uint8_t, journal->n_done); /* in which they hold */
    int *last = arena_array(scratch, int, ROLES * journal->n_done);  /* per dim and role */
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *decision = &journal->decisions.at[i];
        if (decision_marks_tensor(decision->kind) || decision->kind == UNPIN_TENSOR ||
            decision_is_on_ops(decision->kind))
            continue;
        bool pins = decision_pins_dim(decision->kind);
        decision = on_parameter(plan, decision);
        int noted = -1; /* of the decisions that it replaces */
        for (int role = 0; role < ROLES; role++) {
            if (pins && !has_role(decision, role))
                continue;
            int32_t key[4] = {decision_is_on_tensor(decision->kind), decision->place, decision->dim,
                              role};
            int n_dims = intern_count(dims), id = intern_put(dims, key, sizeof key);
            int before = id < n_dims ? last[id] : -1;
            if (pins && before >= 0 && before != noted && roles[before] >> role & 1 &&
                !pins_alike(holds[before], decision)) {
                note_replaced(plan, decision, holds[before]);
                noted = before;
            }
            if (before >= 0)
                roles[before] &= (uint8_t) ~(1u << role);
            last[id] = i;
            roles[i] |= (uint8_t)(pins ? 1u << role : 0);
        }
        holds[i] = decision;
    }
    for (int i = 0; i < journal->n_done; i++)
        holds[i] = holds[i] ? with_roles(plan, holds[i], roles[i]) : NULL;
    forward_first(plan, scratch, holds, journal->n_done);
    keep_pins(plan, out, scratch, holds, journal->n_done, refused);
    arena_free(scratch);
}

const Decision *plan_pin_of(const Plan *plan, DecisionKind kind, int32_t place, int dim)
{
    int32_t at = *find_pin(plan->decided, kind, place, dim, USED);
    if (at > 0)
        return plan->decided->pins[at - 1];
    return kind == PIN_TENSOR_DIM ? plan_store_pin_of(plan, place, dim) : NULL;
}

const Decision *plan_store_pin_for(const Plan *plan, int32_t parameter, int dim, Stored values)
{
    for (int role = 1; role < ROLES; role++) {
        if (!(values >> (role - 1) & 1))
            continue;
        int32_t at = *find_pin(plan->decided, PIN_TENSOR_DIM, parameter, dim, role);
        if (at > 0)
            return plan->decided->pins[at - 1];
    }
    return NULL;
}

bool plan_stores(const Plan *plan, int32_t parameter, Stored values)
{
    const Shape *shape = inferred_shape(plan->inferred, parameter);
    for (int d = 0; shape && d < shape->n_dims; d++)
        if (plan_store_pin_for(plan, parameter, d, values))
            return true;
    return false;
}

const Decision *plan_store_pin_of(const Plan *plan, int32_t tensor, int dim)
{
    int32_t parameter;
    Stored value = stored_value(plan->inferred->graph, tensor, &parameter);
    const Decision *pin = plan_store_pin_for(plan, tensor, dim, STORED_PARAMETER); /* its own */
    if (!pin)
        pin = plan_store_pin_for(plan, parameter, dim, value);
    return pin || value == STORED_NONE ? pin
                                       : plan_store_pin_for(plan, parameter, dim, STORED_PARAMETER);
}

/* Stages and devices of a training step follow from those of its forward pass. */
static Decided *place_ops(Plan *plan, const Journal *journal)
{
    const Inferred *step = plan->inferred;
    Decided *decided = arena_make(plan->arena, Decided), *extended = decided;
    plan->decided = decided;
    plan->inferred = step->forward ? step->forward : step;
    stages_place(plan, decided, journal);
    plan->inferred = step;
    if (step->forward) {
        extended = arena_make(plan->arena, Decided);
        stages_extend(plan, decided, extended);
    }
    return extended;
}

void plan_decide(Plan *plan, const Journal *journal)
{
    Decided *decided = place_ops(plan, journal);
    plan->decided = decided;
    NotObeyedList refused = {0};
    resolve_marks(plan, decided, journal, &refused);
    resolve_pins(plan, decided, journal, &refused);
    report_not_obeyed(plan, &refused);
    decided->assumptions = assume_find(plan, journal);
}
