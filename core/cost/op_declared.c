#include "core/cost/op_declared.h"

#include "core/base/str.h"
#include "core/base/units.h"
#include "core/rules/registry.h"
#include "core/plan/plan_machine.h"

#include <assert.h>

typedef struct {
    Plan *plan;
    Arena *scratch;
    Intern *asked; /* {op space, cut, devices if they are unlike} */
    Vec(const OpDeclared *)
        declared;        /* by index in `asked`; NULL if the operator declares nothing */
    const UserOp **user; /* by the operator's name; only where seen */
    bool *seen, *mine;   /* mine: it is a user's operator */
} Asking;

static void add_finding(const Asking *a, int32_t op, Level level, const char *code,
                        const Error *why)
{
    Plan *plan = a->plan;
    const Graph *graph = plan->inferred->graph;
    Finding finding = {.level = level, .code = code, .op = op, .tensor = -1};
    finding.text = arena_printf(plan->arena, "op '%s' (%s): %s", op_name(graph, op),
                                op_operator(graph, op), why->text);
    finding.hint = arena_str(plan->arena, str_from(why->hint));
    vec_push(plan->arena, &plan->findings, finding);
}

/* ---- collectives ---- */

static StepKind kind_of(const char *name)
{
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        if (strcmp(step_kind_name((StepKind)k), name) == 0)
            return (StepKind)k;
    return STEP_KIND_COUNT;
}

/* The atoms that the collective goes over; 0 if it does not happen under this cut. */
static bool atoms_of(const Plan *plan, const OpSpace *space, const OpCut *cut,
                     const SaidComm *declared, AtomSet *out, Error *err)
{
    *out = 0;
    if (declared->dim) {
        int index = opspace_find_index(space, str_from(declared->dim));
        if (index < 0)
            return error_set(err, "'comm' names an index dim '%s' that the op does not have",
                             declared->dim);
        *out = cut_atoms(&cut->index[index]);
        return true;
    }
    int axis = mesh_find_axis(plan->mesh, str_from(declared->axis));
    AtomSet used = 0;
    for (int j = 0; j < space->n_index; j++)
        used |= cut_atoms(&cut->index[j]);
    *out = axis >= 0 ? mesh_axis_atoms(plan->mesh, axis) & used : 0;
    return true;
}

static bool price_comms(const Asking *a, int32_t op, const OpPart *part, const OpCut *cut,
                        const SaidComm *comms, int n, OpDeclared *declared, Error *err)
{
    const Plan *plan = a->plan;
    OpComm *out = arena_array(plan->arena, OpComm, n);
    for (int i = 0; i < n; i++) {
        OpComm *comm = &out[declared->n_comms];
        *comm = (OpComm){.kind = kind_of(comms[i].kind), .bytes = comms[i].bytes};
        if (comm->kind == STEP_KIND_COUNT)
            return error_set(err, "'comm' names an unknown collective: '%s'", comms[i].kind);
        if (!atoms_of(plan, part->space, cut, &comms[i], &comm->atoms, err))
            return false;
        if (comm->atoms == 0)
            continue;
        comm->price =
            price_step(plan_machine(plan, op), plan->mesh, comm->kind, comm->atoms, comm->bytes);
        comm->dim = comms[i].dim ? arena_str(plan->arena, str_from(comms[i].dim)) : NULL;
        declared->comm_us += comm->price.us;
        declared->wire_bytes += comm->price.wire_bytes;
        declared->n_comms++;
    }
    declared->comm = out;
    return true;
}

/* ---- one op ---- */

static const OpDeclared *ask(const Asking *a, int32_t op, const UserOp *user)
{
    Plan *plan = a->plan;
    const OpCut *cut = program_cut(plan, op);
    OpDeclared *declared = arena_make(plan->arena, OpDeclared);
    *declared = (OpDeclared){.cost = {-1, -1, -1}};
    OpPart part;
    Error err = {0};
    if (!op_part(a->scratch, plan->inferred, op, cut, plan->mesh, &part, &err)) {
        add_finding(a, op, LEVEL_ERROR, "rule-arguments", &err);
        return NULL;
    }
    if (user && user->cost && !user->cost(user->context, &part, &declared->cost, &err)) {
        declared->cost = (DeclaredCost){-1, -1, -1};
        add_finding(a, op, LEVEL_WARNING, "cost-function", &err);
    }
    const SaidComm *comms;
    int n = 0;
    Error wrong = {0};
    if (user && user->comm &&
        !(user->comm(user->context, &part, &comms, &n, &wrong) &&
          price_comms(a, op, &part, cut, comms, n, declared, &wrong))) {
        declared->n_comms = 0;
        declared->comm_us = 0;
        declared->wire_bytes = 0;
        add_finding(a, op, LEVEL_WARNING, "comm-function", &wrong);
    }
    return declared;
}

/* Returns whether a user's operator has functions to call; looked up once per name. */
static bool is_asked(const Asking *a, int32_t op)
{
    const Inferred *inferred = a->plan->inferred;
    int32_t name = inferred->graph->ops[op].op_type;
    if (!a->seen[name]) {
        const Operator *row = inferred_operator(inferred, op);
        a->seen[name] = true;
        a->user[name] = row ? row->user : NULL;
        a->mine[name] = row && (row->user || row->own);
    }
    return a->mine[name] && inferred->space[op] >= 0 && !program_space(inferred, op)->no_rule;
}

const OpDeclared *const *op_declared_make(Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    const Graph *graph = inferred->graph;
    if (!inferred->registry || registry_n_users(inferred->registry) == 0)
        return NULL;
    Arena *scratch = arena_new();
    int n_names = names_count(graph->names);
    Asking a = {.plan = plan, .scratch = scratch, .asked = intern_new(scratch)};
    a.user = arena_array(scratch, const UserOp *, n_names);
    a.seen = arena_array(scratch, bool, n_names);
    a.mine = arena_array(scratch, bool, n_names);
    const OpDeclared **declared = NULL;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (plan->propagated->cut[op] < 0 || !is_asked(&a, op))
            continue;
        int32_t key[3] = {inferred->space[op], plan->propagated->cut[op],
                          plan->decided->machines ? plan_devices(plan, op) : 0};
        int32_t id = intern_put(a.asked, key, sizeof key);
        if (id == a.declared.n)
            vec_push(scratch, &a.declared, ask(&a, op, a.user[graph->ops[op].op_type]));
        if (!declared)
            declared = arena_array(plan->arena, const OpDeclared *, graph->n_ops);
        assert(a.declared.at);
        declared[op] = a.declared.at[id];
    }
    arena_free(scratch);
    return declared;
}

void op_comm_format(const Plan *plan, const OpComm *comm, Buf *out)
{
    buf_printf(out, "%s %s%sover ", step_kind_name(comm->kind), comm->dim ? comm->dim : "",
               comm->dim ? " " : "");
    mesh_format_set(plan->mesh, comm->atoms, ".", out);
    buf_puts(out, ": ");
    units_format_count(comm->bytes, out);
    buf_puts(out, " B, ");
    units_format_us(comm->price.us, out);
}
