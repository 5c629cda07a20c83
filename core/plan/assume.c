#include "core/plan/assume.h"

#include "core/plan/plan_findings.h"

/* ORDER ASSUMED */
static const struct {
    const char *name;
    ReduceOp reduce;
} words[ASSUMED_COUNT] = {{"reduced", REDUCE_NONE},
                          {"partial", REDUCE_SUM},
                          {"mean", REDUCE_AVG},
                          {"drawn by rank", REDUCE_NONE},
                          {"drawn alike", REDUCE_NONE}};

const char *assumed_name(Assumed assumed)
{
    return words[assumed].name;
}

ReduceOp assumed_reduce(Assumed assumed)
{
    return words[assumed].reduce;
}

bool assumed_parse(Str name, Assumed *out)
{
    for (int i = 0; i < ASSUMED_COUNT; i++)
        if (str_eq(name, str_from(words[i].name))) {
            *out = (Assumed)i;
            return true;
        }
    return false;
}

bool assume_check(const Mesh *mesh, const Decision *decision, Error *err)
{
    if (!decision->pattern || !*decision->pattern || (unsigned)decision->assumed >= ASSUMED_COUNT)
        return error_kind(err, ERROR_OUT_OF_RANGE, "an assumption names no values");
    if (decision->axes == 0 || (mesh->n_atoms < ATOMS_MAX && decision->axes >> mesh->n_atoms))
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "an assumption names an axis that the mesh does not have");
    return true;
}

/* ---- which values ---- */

static bool matches(const Plan *plan, Str pattern, int32_t tensor)
{
    return str_glob(pattern, str_from(tensor_name(plan->inferred->graph, tensor))) ||
           str_glob(pattern, str_from(plan_value_name(plan, tensor)));
}

static void note_no_match(Plan *plan, const Decision *decision)
{
    bool of_step = !plan->inferred->forward && strchr(decision->pattern, '~');
    Buf shown = buf_new(plan->arena);
    text_printable(str_from(decision->pattern), &shown);
    plan_find(plan, LEVEL_WARNING, "pattern-matched-nothing", -1, -1,
              of_step ? "gradients are values of a training step: add --train" : "",
              "assume: no op makes a value that matches '%s'", shown.s);
    plan_found_at(plan, &decision->origin);
}

const Assumptions *assume_find(Plan *plan, const Journal *journal)
{
    const Inferred *inferred = plan->inferred;
    Vec(Assumption) found = {0};
    int32_t *first = NULL;
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *decision = &journal->decisions.at[i];
        if (decision->kind != PIN_ASSUMED)
            continue;
        if (!first) {
            first = arena_array(plan->arena, int32_t, inferred->graph->n_tensors);
            memset(first, -1, (size_t)inferred->graph->n_tensors * sizeof *first);
        }
        int before = found.n;
        for (int32_t t = 0; t < inferred->graph->n_tensors; t++) {
            int32_t maker = inferred->graph->tensors[t].maker;
            if (maker < 0 || inferred_is_host(inferred, maker) ||
                !matches(plan, str_from(decision->pattern), t))
                continue;
            vec_push(plan->arena, &found, ((Assumption){t, first[t], decision}));
            first[t] = found.n - 1;
        }
        if (found.n == before)
            note_no_match(plan, decision);
    }
    if (found.n == 0)
        return NULL;
    Assumptions *out = arena_make(plan->arena, Assumptions);
    *out = (Assumptions){found.n, found.at, first};
    return out;
}

/* ---- what they are taken to be ---- */

static const Decision *find_over(const Plan *plan, int32_t tensor, AtomSet axes, bool draws)
{
    const Assumptions *assumptions = plan->decided->assumptions;
    int32_t i = assumptions ? assumptions->first[tensor] : -1;
    while (i >= 0 && (!(assumptions->at[i].decision->axes & axes) ||
                      assumed_draws(assumptions->at[i].decision->assumed) != draws))
        i = assumptions->at[i].next;
    return i < 0 ? NULL : assumptions->at[i].decision;
}

const Decision *assumed_over(const Plan *plan, int32_t tensor, AtomSet axes)
{
    return find_over(plan, tensor, axes, false);
}

const Decision *assumed_drawn(const Plan *plan, int32_t tensor, AtomSet axes)
{
    return find_over(plan, tensor, axes, true);
}

/* What the op, or the one that it comes of, draws; copy: what a copy in the backward pass draws
 * again, -1. Returns -1 without assumptions. */
static int32_t drawn_by(const Plan *plan, int32_t op, int32_t *copy)
{
    const Graph *graph = plan->inferred->graph;
    *copy = -1;
    if (!plan->decided->assumptions)
        return -1;
    if (graph->of && graph->of[op] >= 0) {
        *copy = graph->phase[op] == PHASE_AGAIN ? op_outputs(graph, op)[0] : -1;
        op = graph->of[op];
    }
    return graph->ops[op].n_outputs > 0 ? op_outputs(graph, op)[0] : -1;
}

Draws assume_draws(const Plan *plan, int32_t op, int64_t position)
{
    Draws draws = {0};
    int32_t copy, t = drawn_by(plan, op, &copy);
    if (t < 0 || plan->moved->made[t] < 0)
        return draws;
    const Sharding *made = shardings_at(plan->shardings, plan->moved->made[t]);
    AtomSet sharded = sharding_atoms(made);
    for (int a = 0; a < plan->mesh->n_atoms; a++) {
        AtomSet atom = (AtomSet)1 << a;
        const Decision *own = copy < 0 ? NULL : assumed_drawn(plan, copy, atom);
        const Decision *decision = own ? own : assumed_drawn(plan, t, atom);
        if (!decision || (decision->assumed == ASSUMED_DRAWN_ALIKE) != (sharded >> a & 1))
            continue;
        if (decision->assumed == ASSUMED_DRAWN_BY_RANK)
            draws.by_rank = draws.by_rank * (uint64_t)plan->mesh->atoms[a].size +
                            (uint64_t)mesh_atom_coord(plan->mesh, a, position);
        for (int64_t d = 0; d < made->n_dims && sharded & atom; d++)
            if (cut_atoms(&made->dim[d]) & atom)
                draws.by_place |= (uint16_t)(1U << d);
    }
    return draws;
}

int32_t *assume_computed(const Plan *plan)
{
    const Assumptions *assumptions = plan->decided->assumptions;
    if (!assumptions)
        return NULL;
    int32_t *out = arena_array(plan->arena, int32_t, assumptions->n);
    memset(out, -1, (size_t)assumptions->n * sizeof *out);
    return out;
}

/* A later decision about an axis replaces an earlier one. */
int32_t assume_made(const Plan *plan, int32_t tensor, int32_t made, int32_t *computed)
{
    const Assumptions *assumptions = plan->decided->assumptions;
    if (!assumptions || assumptions->first[tensor] < 0 || made < 0)
        return made;
    Sharding sharding = *shardings_at(plan->shardings, made);
    AtomSet decided = cuts_used(sharding.dim, sharding.n_dims, -1);
    for (int32_t i = assumptions->first[tensor]; i >= 0; i = assumptions->at[i].next) {
        const Decision *decision = assumptions->at[i].decision;
        computed[i] = made;
        if (assumed_draws(decision->assumed))
            continue;
        for (int a = 0; a < ATOMS_MAX; a++)
            if ((decision->axes & ~decided) >> a & 1)
                sharding.partial[a] = (uint8_t)assumed_reduce(decision->assumed);
        decided |= decision->axes;
    }
    return shardings_put(plan->shardings, &sharding);
}
