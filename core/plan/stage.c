#include "core/plan/stage.h"

#include "core/plan/plan_machine.h"

#include "core/base/intern.h"
#include "core/plan/control.h"
#include "core/plan/origin.h"
#include "core/plan/plan_findings.h"
#include "core/step/recompute.h"

#include <assert.h>

enum { SUBMESHES_MAX = INT16_MAX };

typedef struct {
    Plan *plan;
    Decided *out;
    Arena *scratch;
    const Decision **begins; /* per op: the decision that a stage begins there, or NULL */
    const Decision *scheduled;
    Intern *keys; /* of submeshes */
    Vec(SubMesh) submeshes;
    const Decision **placed;     /* per op: the decision that says where it runs; NULL */
    int *n_on;                   /* per submesh, 0 between two uses */
    const ControlRange *control; /* branches and loops, in program order */
    int n_control;
} StagePlacing;

/* ---- devices ---- */

static int16_t submesh_id(StagePlacing *p, SubMesh sub)
{
    int32_t id = intern_find(p->keys, &sub, sizeof sub);
    if (id >= 0)
        return (int16_t)id;
    if (p->submeshes.n == SUBMESHES_MAX)
        return 0;
    intern_put(p->keys, &sub, sizeof sub);
    vec_push(p->plan->arena, &p->submeshes, sub);
    return (int16_t)(p->submeshes.n - 1);
}

static void place_ops(StagePlacing *p, const Decision *decision)
{
    Plan *plan = p->plan;
    int16_t id = submesh_id(p, decision->devices);
    if (!p->out->devices) {
        p->out->devices = arena_array(plan->arena, int16_t, plan->inferred->graph->n_ops);
        p->placed = arena_array(p->scratch, const Decision *, plan->inferred->graph->n_ops);
    }
    assert(p->placed);
    for (int32_t op = decision->place; op <= decision->last; op++) {
        p->out->devices[op] = id;
        p->placed[op] = decision;
    }
}

int32_t *recompute_groups(Arena *arena, const Graph *graph, const Journal *journal)
{
    int32_t *group = NULL;
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *decision = &journal->decisions.at[i];
        if (decision->kind != PIN_RECOMPUTE)
            continue;
        if (!group) {
            group = arena_array(arena, int32_t, graph->n_ops);
            memset(group, -1, (size_t)graph->n_ops * sizeof *group);
        }
        for (int32_t op = decision->place; op <= decision->last; op++)
            group[op] = decision->number | (decision->whole ? RECOMPUTE_WHOLE : 0);
    }
    return group;
}

static void read_journal(StagePlacing *p, const Journal *journal)
{
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *decision = &journal->decisions.at[i];
        if (decision->kind == PIN_STAGE) {
            if (!p->begins)
                p->begins =
                    arena_array(p->scratch, const Decision *, p->plan->inferred->graph->n_ops);
            p->begins[decision->place] = decision;
        } else if (decision->kind == PIN_DEVICES) {
            place_ops(p, decision);
        } else if (decision->kind == PIN_SCHEDULE) {
            p->scheduled = decision;
        }
    }
}

/* The ops of an added loss run where the scores are made, unless a decision places them. */
static void place_loss(const StagePlacing *p)
{
    const Graph *graph = p->plan->inferred->graph;
    for (int32_t op = 0; graph->of && p->placed && op < graph->n_ops; op++)
        if (graph->of[op] >= 0 && !p->placed[op]) {
            p->out->devices[op] = p->out->devices[graph->of[op]];
            p->placed[op] = p->placed[graph->of[op]];
        }
}

/* ---- branches and loops ---- */

static int32_t first_of_program(const StagePlacing *p, int32_t op)
{
    const Inferred *inferred = p->plan->inferred;
    while (op < inferred->graph->n_ops && inferred_is_host(inferred, op))
        op++;
    return op;
}

/* Moves the stage that begins inside of a branch or a loop behind it, unless another begins there.
 * Returns the op where it began, or -1. */
static int32_t move_begin(const StagePlacing *p, const ControlRange *range, int32_t first)
{
    int32_t moved = -1, after = first_of_program(p, range->end);
    const Decision *begin = NULL;
    for (int32_t op = first + 1; p->begins && op < range->end; op++) {
        if (!p->begins[op])
            continue;
        begin = p->begins[op];
        p->begins[op] = NULL;
        moved = op;
    }
    if (begin && after < p->plan->inferred->graph->n_ops && !p->begins[after])
        p->begins[after] = begin;
    return moved;
}

/* Places all ops of a branch or a loop where its first one is. Returns an op that was elsewhere, or
 * -1. */
static int32_t place_together(const StagePlacing *p, const ControlRange *range, int32_t first)
{
    int32_t moved = -1;
    for (int32_t op = range->first; p->out->devices && op < range->end; op++) {
        if (p->out->devices[op] != p->out->devices[first] &&
            !inferred_is_host(p->plan->inferred, op))
            moved = op;
        p->out->devices[op] = p->out->devices[first];
        p->placed[op] = p->placed[first];
    }
    return moved;
}

/* A branch or a loop runs on one part of the mesh (control.h). */
static void keep_control_together(StagePlacing *p)
{
    const Graph *graph = p->plan->inferred->graph;
    int n_moved = 0;
    int32_t op = -1;
    const char *range_of = "";
    if (!p->begins && !p->out->devices)
        return;
    p->n_control = control_ranges(p->scratch, p->plan->inferred, &p->control);
    for (int i = 0; i < p->n_control; i++) {
        const ControlRange *range = &p->control[i];
        int32_t first = first_of_program(p, range->first);
        if (first >= range->end)
            continue;
        int32_t begin = move_begin(p, range, first), other = place_together(p, range, first);
        if ((begin >= 0 || other >= 0) && n_moved++ == 0) {
            op = begin >= 0 ? begin : other;
            range_of = op_name(graph, range->end - 1);
        }
    }
    if (n_moved == 0)
        return;
    plan_find(p->plan, LEVEL_WARNING, "control-in-stages", op, -1,
              "begin stages before or after branches and loops",
              "%s is part of the branch or loop %s%s, which runs on the devices of its first op: "
              "a stage that begins inside begins after it",
              op_name(graph, op), range_of,
              n_moved > 1 ? arena_printf(p->plan->arena, " (and %d more are split)", n_moved - 1)
                          : "");
}

static bool is_control(const StagePlacing *p, int32_t op)
{
    for (int i = 0; i < p->n_control; i++)
        if (p->control[i].first <= op && op < p->control[i].end)
            return true;
    return false;
}

/* ---- stages ---- */

/* Whether a stage begins at the i-th op of the program. */
static bool begins_at(const StagePlacing *p, int i)
{
    const int32_t *program = p->plan->inferred->program;
    if (i == 0)
        return true;
    if (p->begins)
        return p->begins[program[i]] != NULL;
    return plan_devices(p->plan, program[i]) != plan_devices(p->plan, program[i - 1]);
}

static int count_stages(const StagePlacing *p)
{
    int n = 0;
    for (int i = 0; i < p->plan->inferred->n_program; i++)
        n += begins_at(p, i);
    return n;
}

/* The devices that most of the stage's ops run on; of equals the first to have so many. */
static int16_t devices_of_run(const StagePlacing *p, int first, int last)
{
    const Plan *plan = p->plan;
    const int32_t *program = plan->inferred->program;
    int16_t most = 0;
    for (int i = first; i <= last; i++) {
        int16_t id = (int16_t)plan_devices(plan, program[i]);
        if (++p->n_on[id] > p->n_on[most] || p->n_on[most] == 0)
            most = id;
    }
    for (int i = first; i <= last; i++)
        p->n_on[plan_devices(plan, program[i])] = 0;
    return most;
}

/* Ops on parameters alone go with the first op that reads what they make. */
static void follow_readers(StagePlacing *p, Stages *stages)
{
    const Inferred *inferred = p->plan->inferred;
    const Graph *graph = inferred->graph;
    for (int i = inferred->n_program - 1; i >= 0; i--) {
        int32_t op = inferred->program[i], reader = INT32_MAX;
        if (!inferred->on_parameters[op] || is_control(p, op))
            continue;
        for (int o = 0; o < graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(graph, op)[o];
            if (t >= 0 && tensor_n_uses(graph, t) > 0 &&
                graph->uses[graph->tensors[t].use] < reader)
                reader = graph->uses[graph->tensors[t].use];
        }
        if (reader == INT32_MAX || inferred_is_host(inferred, reader))
            continue;
        stages->of_op[op] = stages->of_op[reader];
        if (p->out->devices)
            p->out->devices[op] = p->out->devices[reader];
    }
}

static void make_stages(StagePlacing *p)
{
    Plan *plan = p->plan;
    const Inferred *inferred = plan->inferred;
    Stages *stages = arena_make(plan->arena, Stages);
    *stages = (Stages){.scheduled = p->scheduled, .schedule = "infer_pipe", .n_micro_batches = 1};
    p->n_on = arena_array(p->scratch, int, p->submeshes.n);
    stages->at = arena_array(plan->arena, Stage, count_stages(p));
    stages->of_op = arena_array(plan->arena, int16_t, inferred->graph->n_ops);
    memset(stages->of_op, -1, (size_t)inferred->graph->n_ops * sizeof *stages->of_op);
    for (int i = 0; i < inferred->n_program; i++) {
        if (begins_at(p, i)) {
            const Decision *begin = p->begins ? p->begins[inferred->program[i]] : NULL;
            stages->at[stages->n++] =
                (Stage){.first = i, .relay = begin && begin->relay, .decision = begin};
        }
        stages->at[stages->n - 1].last = i;
        stages->of_op[inferred->program[i]] = (int16_t)(stages->n - 1);
    }
    for (int s = 0; s < stages->n; s++) {
        Stage *stage = &stages->at[s];
        stage->devices = devices_of_run(p, stage->first, stage->last);
        stage->placed = p->placed ? p->placed[inferred->program[stage->first]] : NULL;
    }
    if (p->scheduled) {
        stages->schedule = p->scheduled->schedule;
        stages->n_micro_batches = p->scheduled->number;
        stages->overlap = p->scheduled->pass;
    }
    p->out->stages = stages;
    follow_readers(p, stages);
}

static bool holds(const StagePlacing *p, const Decision *decision)
{
    if (decision->kind == PIN_STAGE)
        return p->begins[decision->place] == decision;
    if (decision->kind != PIN_DEVICES)
        return decision->kind == PIN_RECOMPUTE || decision->kind == PIN_ASSUMED ||
               decision == p->scheduled;
    for (int32_t op = decision->place; op <= decision->last; op++)
        if (p->placed[op] == decision)
            return true;
    return false;
}

/* What is left of the journal's decisions about ops. */
static void keep_decisions(const StagePlacing *p, const Journal *journal)
{
    Plan *plan = p->plan;
    Vec(const Decision *) kept = {0};
    for (int i = 0; i < journal->n_done; i++)
        if (decision_is_on_ops(journal->decisions.at[i].kind) &&
            holds(p, &journal->decisions.at[i]))
            vec_push(plan->arena, &kept, &journal->decisions.at[i]);
    p->out->places = kept.at;
    p->out->n_places = kept.n;
}

static bool too_many(const StagePlacing *p)
{
    int n = count_stages(p);
    if (n <= STAGES_MAX)
        return false;
    plan_find(p->plan, LEVEL_WARNING, "too-many-stages", -1, -1,
              "assign ops that follow each other to the same devices, or say where stages begin",
              "%d stages, more than %d: they are not looked at as a pipeline", n, STAGES_MAX);
    return true;
}

void stages_place(Plan *plan, Decided *out, const Journal *journal)
{
    Arena *scratch = arena_new();
    StagePlacing p = {.plan = plan, .out = out, .scratch = scratch, .keys = intern_new(scratch)};
    submesh_id(&p, (SubMesh){0});
    read_journal(&p, journal);
    out->recompute = recompute_groups(plan->arena, plan->inferred->graph, journal);
    place_loss(&p);
    keep_decisions(&p, journal);
    keep_control_together(&p);
    if ((p.begins || out->devices || p.scheduled || out->recompute) &&
        plan->inferred->n_program > 0 && !too_many(&p)) {
        make_stages(&p);
    }
    out->submeshes = p.submeshes.at;
    out->n_submeshes = p.submeshes.n;
    plan_machines(plan, out);
    arena_free(scratch);
}

static bool has_stages(const Journal *journal)
{
    for (int i = 0; i < journal->n_done; i++)
        if (journal->decisions.at[i].kind == PIN_DEVICES ||
            journal->decisions.at[i].kind == PIN_STAGE)
            return true;
    return false;
}

static int32_t *no_entries(Arena *arena, const Graph *graph)
{
    int32_t *column = arena_array(arena, int32_t, graph->n_ops);
    memset(column, -1, (size_t)graph->n_ops * sizeof *column);
    return column;
}

/* Whether another stage than the op's reads a value that it makes. */
static bool is_sent(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    const int16_t *stage = plan->decided->stages->of_op;
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(graph, op)[o];
        for (int u = 0; t >= 0 && u < tensor_n_uses(graph, t); u++) {
            int32_t reader = graph->uses[graph->tensors[t].use + u];
            if (stage[reader] >= 0 && stage[reader] != stage[op])
                return true;
        }
    }
    return false;
}

/* Marks what an op makes of parameters, and not of known values alone, as tables of angles are. */
static bool is_made_of_parameters(const Inferred *model, int32_t op, bool *made)
{
    const Graph *graph = model->graph;
    bool found = false;
    for (int i = 0; model->on_parameters[op] && i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        found |= t >= 0 && (made[t] || tensor_is_parameter(model, t));
    }
    for (int o = 0; found && o < graph->ops[op].n_outputs; o++)
        if (op_outputs(graph, op)[o] >= 0)
            made[op_outputs(graph, op)[o]] = true;
    return found;
}

/* The backward pass of a stage that comes before the maker's cannot wait for what that would make
 * again. */
static void keep_sent(Arena *arena, const Plan *plan, int32_t **recompute)
{
    const Inferred *model = plan->inferred;
    bool *made = arena_array(plan->arena, bool, model->graph->n_tensors);
    for (int i = 0; plan->decided->stages && i < model->n_program; i++) {
        int32_t op = model->program[i];
        if (!is_made_of_parameters(model, op, made) || !is_sent(plan, op))
            continue;
        if (!*recompute)
            *recompute = no_entries(arena, model->graph);
        (*recompute)[op] = RECOMPUTE_NEVER;
    }
}

/* Whether ops of parts of the mesh read the parameter of which none has all devices of another. */
static bool is_read_apart(const Plan *plan, int32_t tensor)
{
    int at = 0, first = stage_given_on(plan, tensor, &at);
    bool apart = false;
    for (int on; first >= 0 && (on = stage_given_on(plan, tensor, &at)) >= 0;)
        apart |= !submesh_contains(plan->mesh, plan->decided->submeshes[first],
                                   plan->decided->submeshes[on]);
    return apart;
}

/* StepShape.part; NULL: no parameter is read on several parts of the mesh. */
static int32_t *parts_of(Arena *arena, const Plan *plan)
{
    const Graph *graph = plan->inferred->graph;
    int32_t *part = NULL;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        if (!tensor_is_parameter(plan->inferred, t) || !is_read_apart(plan, t))
            continue;
        if (!part)
            part = no_entries(arena, graph);
        for (int u = 0; u < tensor_n_uses(graph, t); u++) {
            int32_t op = graph->uses[graph->tensors[t].use + u];
            part[op] = plan_devices(plan, op);
        }
    }
    return part;
}

StepShape stages_shape(Arena *arena, const Inferred *model, const Mesh *mesh,
                       const Journal *journal)
{
    int32_t *recompute = recompute_groups(arena, model->graph, journal), *part = NULL;
    if (has_stages(journal)) {
        Arena *scratch = arena_new();
        Decided decided = {0};
        Plan plan = {.arena = scratch, .inferred = model, .mesh = mesh, .decided = &decided};
        stages_place(&plan, &decided, journal);
        part = parts_of(arena, &plan);
        keep_sent(arena, &plan, &recompute);
        arena_free(scratch);
    }
    return (StepShape){.recompute = recompute, .part = part};
}

/* Whether the op sums several gradients of a value that all have one entry in the column: then
 * their sum is what one stage sends to another, not each of them. */
static bool sums_alike(const Graph *graph, int32_t op, const int16_t *column)
{
    const GraphOp *node = &graph->ops[op];
    const int32_t *input = op_inputs(graph, op);
    int32_t of = node->n_outputs > 0 ? graph->gradient_of[op_outputs(graph, op)[0]] : -1;
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t maker = input[i] < 0 ? -1 : graph->tensors[input[i]].maker;
        if (of < 0 || maker < 0 || graph->gradient_of[input[i]] != of ||
            column[maker] != column[graph->tensors[input[0]].maker])
            return false;
    }
    return node->n_inputs > 1;
}

static int16_t *extended(const Plan *plan, const int16_t *column)
{
    const Graph *graph = plan->inferred->graph;
    int n = plan->inferred->forward->graph->n_ops;
    int16_t *out = arena_array(plan->arena, int16_t, graph->n_ops);
    memcpy(out, column, (size_t)n * sizeof *out);
    for (int32_t op = n; op < graph->n_ops; op++)
        if (sums_alike(graph, op, out))
            out[op] = out[graph->tensors[op_inputs(graph, op)[0]].maker];
        else
            out[op] = graph->of[op] < 0 ? 0 : out[graph->of[op]];
    return out;
}

/* The backward pass goes from the last stage to the first: what reads a gradient of an earlier
 * stage on the same devices is of that stage too. Such are sums of the gradients of one parameter
 * that several stages of a part of the mesh read. */
static void wait_for_gradients(const Plan *plan, const int16_t *devices, int16_t *stage)
{
    const Graph *graph = plan->inferred->graph;
    int32_t n = plan->inferred->forward->graph->n_ops;
    for (int32_t op = n; op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t input = op_inputs(graph, op)[i];
            int32_t maker = input < 0 ? -1 : graph->tensors[input].maker;
            if (maker >= n && stage[maker] >= 0 && stage[maker] < stage[op] &&
                (!devices || devices[maker] == devices[op]))
                stage[op] = stage[maker];
        }
}

/* Whether the op adds up, once a step, gradients that parts of the mesh have of one parameter, of
 * which `maker` makes that of another part. */
static bool joins(const Plan *plan, const int16_t *devices, int32_t op, int32_t maker)
{
    const Graph *graph = plan->inferred->graph;
    int32_t of = graph->gradient_of[op_outputs(graph, op)[0]];
    return devices && devices[op] != devices[maker] && of >= 0 &&
           tensor_is_parameter(plan->inferred, of) && !program_space(plan->inferred, op)->gradient;
}

/* Stages.sent, from the last op to the first. */
static const bool *find_sent(const Plan *plan, const int16_t *devices, const int16_t *stage)
{
    const Graph *graph = plan->inferred->graph;
    bool *sent = arena_array(plan->arena, bool, graph->n_ops);
    for (int32_t op = graph->n_ops - 1; op >= plan->inferred->forward->graph->n_ops; op--)
        for (int o = 0; graph->phase[op] == PHASE_BACKWARD && o < graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(graph, op)[o];
            for (int u = 0; t >= 0 && u < tensor_n_uses(graph, t); u++) {
                int32_t reader = graph->uses[graph->tensors[t].use + u];
                if (graph->phase[reader] == PHASE_BACKWARD)
                    sent[op] |= stage[reader] == stage[op] ? sent[reader]
                                                           : !joins(plan, devices, reader, op);
            }
        }
    return sent;
}

void stages_extend(Plan *plan, const Decided *forward, Decided *out)
{
    *out = *forward;
    if (forward->devices)
        out->devices = extended(plan, forward->devices);
    const Stages *from = forward->stages;
    if (!from)
        return;
    if (from->n == 1 && !from->at[0].decision && !from->scheduled && !forward->devices) {
        out->stages = NULL;
        return;
    }
    Stages *stages = arena_make(plan->arena, Stages);
    *stages = *from;
    int16_t *of_op = extended(plan, from->of_op);
    wait_for_gradients(plan, out->devices, of_op);
    stages->of_op = of_op;
    stages->sent = find_sent(plan, out->devices, of_op);
    out->stages = stages;
}

/* ---- axes that tell devices apart ---- */

static AtomSet fixed_at(const Plan *plan, int32_t op)
{
    return plan->decided->submeshes[plan_devices(plan, op)].fixed;
}

const AtomSet *stages_barred(Arena *arena, const Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    const Graph *graph = inferred->graph;
    if (!plan->decided->devices)
        return NULL;
    AtomSet *barred = arena_array(arena, AtomSet, graph->n_tensors);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const GraphOp *at = &graph->ops[op];
        for (int32_t o = at->input; o < at->input + at->n_inputs + at->n_outputs; o++)
            if (graph->operands[o] >= 0)
                barred[graph->operands[o]] |= fixed_at(plan, op);
    }
    return barred;
}

void stages_check(Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    int n = 0;
    int32_t first = -1;
    for (int i = 0; plan->decided->devices && i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const OpCut *cut = program_cut(plan, op);
        if (!(cuts_used(cut->index, (int)cut->n, -1) & fixed_at(plan, op)))
            continue;
        first = n++ == 0 ? op : first;
    }
    if (n == 0)
        return;
    plan_find(plan, LEVEL_ERROR, "axis-of-stages", first, -1,
              "the factor propagator keeps axes of stages out of their ops; or pin the op whole",
              "%s%s is sharded by an axis that separates the devices of stages",
              op_name(inferred->graph, first),
              n > 1 ? arena_printf(plan->arena, " (and %d more ops)", n - 1) : "");
}

int stage_given_on(const Plan *plan, int32_t tensor, int *at)
{
    const Graph *graph = plan->inferred->graph;
    const GraphTensor *given = &graph->tensors[tensor];
    while (*at <= tensor_n_uses(graph, tensor)) {
        int i = (*at)++; /* 0: handed out; then its uses */
        int32_t op = i == 0 ? -1 : graph->uses[given->use + i - 1];
        if (i == 0 && given->output)
            return 0;
        if (i > 0 && !inferred_is_host(plan->inferred, op))
            return plan_devices(plan, op);
    }
    return -1;
}

int32_t stage_next_on(const Plan *plan, int32_t tensor, int devices)
{
    const Graph *graph = plan->inferred->graph;
    int32_t first = -1;
    for (int i = 0; graph->next_of && i < graph->n_outputs; i++) {
        int32_t t = graph->outputs[i];
        if (graph->next_of[t] != tensor)
            continue;
        int on = plan_devices(plan, graph->tensors[t].maker);
        if (submesh_contains(plan->mesh, plan->decided->submeshes[on],
                             plan->decided->submeshes[devices]))
            return t;
        first = first < 0 ? t : first;
    }
    return first;
}

SubMesh stage_part_of(const Plan *plan, int32_t tensor, int64_t rank)
{
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    if (!plan->decided->devices || tensor_is_known(plan->inferred, tensor))
        return plan->decided->submeshes[0];
    if (maker >= 0)
        return plan->decided->submeshes[plan->decided->devices[maker]];
    SubMesh first = plan->decided->submeshes[0];
    for (int at = 0, n = 0, devices; (devices = stage_given_on(plan, tensor, &at)) >= 0; n++) {
        SubMesh part = plan->decided->submeshes[devices];
        first = n == 0 ? part : first;
        if (submesh_has(plan->mesh, part, rank))
            return part;
    }
    return first;
}

/* ---- in words ---- */

const Decision *stage_decision(const Plan *plan, int32_t op)
{
    int s = op < 0 ? -1 : stage_of(plan, op);
    if (s < 0)
        return NULL;
    const Stage *stage = &plan->decided->stages->at[s];
    return stage->placed ? stage->placed : stage->decision;
}

void stage_format(const Plan *plan, int32_t op, Buf *out)
{
    SubMesh sub = plan->decided->submeshes[plan_devices(plan, op)];
    int s = stage_of(plan, op);
    if (sub.fixed == 0)
        buf_puts(out, "all devices");
    submesh_format(plan->mesh, sub, out);
    if (s < 0)
        return;
    const Decision *why = stage_decision(plan, op);
    buf_printf(out, ", stage %d", s);
    if (!why)
        return;
    buf_puts(out, ", ");
    if (why->origin.kind == ORIGIN_POLICY)
        origin_put_place(&why->origin, out);
    else
        buf_puts(out, why->origin.kind == ORIGIN_USER ? "decided here" : "of the search");
}
