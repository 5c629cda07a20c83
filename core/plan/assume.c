#include "core/plan/assume.h"

#include "core/plan/plan_findings.h"

static const struct {
    ReduceOp assumed;
    const char *name;
} words[] = {{REDUCE_NONE, "reduced"}, {REDUCE_SUM, "partial"}, {REDUCE_AVG, "mean"}};

enum { N_WORDS = sizeof words / sizeof *words };

const char *assumed_name(ReduceOp assumed)
{
    for (int i = 0; i < N_WORDS; i++)
        if (words[i].assumed == assumed)
            return words[i].name;
    return "";
}

bool assumed_parse(Str name, ReduceOp *out)
{
    for (int i = 0; i < N_WORDS; i++)
        if (str_eq(name, str_from(words[i].name))) {
            *out = words[i].assumed;
            return true;
        }
    return false;
}

bool assume_check(const Mesh *mesh, const Decision *decision, Error *err)
{
    if (!decision->pattern || !*decision->pattern || !*assumed_name(decision->assumed))
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

const Decision *assumed_over(const Plan *plan, int32_t tensor, AtomSet axes)
{
    const Assumptions *assumptions = plan->decided->assumptions;
    int32_t i = assumptions ? assumptions->first[tensor] : -1;
    while (i >= 0 && !(assumptions->at[i].decision->axes & axes))
        i = assumptions->at[i].next;
    return i < 0 ? NULL : assumptions->at[i].decision;
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
        for (int a = 0; a < ATOMS_MAX; a++)
            if ((decision->axes & ~decided) >> a & 1)
                sharding.partial[a] = (uint8_t)decision->assumed;
        decided |= decision->axes;
    }
    return shardings_put(plan->shardings, &sharding);
}
