/* What a value is found as, what its readers ask for, and which choices are alike in that. */
#include "core/search/instance_parts.h"

/* ---- what is found, what is needed ---- */

static int32_t pinned_as(Making *m, int32_t tensor, int32_t made)
{
    const Plan *plan = m->to->session->plan;
    Sharding as = sharding_without_partial(shardings_at(m->to->as->shardings, made));
    AtomSet axes = 0;
    uint32_t pinned = 0;
    for (int d = 0; d < as.n_dims; d++) {
        const Decision *pin = making_use_pin(m, tensor, d);
        if (!pin)
            continue;
        as.dim[d] = *decision_cut(pin);
        axes |= cut_atoms(decision_cut(pin));
        pinned |= 1u << d;
    }
    for (int d = 0; d < as.n_dims; d++)
        if (!(pinned >> d & 1) && (cut_atoms(&as.dim[d]) & axes))
            as.dim[d] = cut_without(&as.dim[d], axes, plan->mesh);
    return shardings_put(m->to->as->shardings, &as);
}

void making_found_as(Making *m, const Carried *value, int32_t choice, int32_t *made, int32_t *has)
{
    const SearchNode *node = &m->to->nodes.at[value->node];
    if (value->operand < 0) {
        *made = *has =
            node->kind == NODE_PARAMETER ? node->stored[choice].stored : node->sharding[choice];
        return;
    }
    AtomSet passed =
        value->slot < 0 ? 0 : node->passed[(int64_t)choice * node->n_slots + value->slot];
    *made = making_with_sums(
        m, instance_layouts(m->to, value->node, value->space, value->operand)[choice], passed);
    *has = *made;
    if (value->how == AS_STORED)
        *has = node->stored[choice].stored;
    else if (value->how == PINNED)
        *has = pinned_as(m, value->tensor, *made);
    else if (value->how == REDUCED) {
        Sharding reduced = sharding_without_partial(shardings_at(m->to->as->shardings, *made));
        *has = shardings_put(m->to->as->shardings, &reduced);
    }
}

static bool grows(Making *m, int32_t from, int32_t to)
{
    return making_local(m, to) > making_local(m, from);
}

/* Over which atoms the reader reads it partial, as the rules of core/plan/partial_values.c have
 * it; false: the choice says otherwise. */
static bool passes_as(Making *m, const InstanceRead *read, int32_t has, int32_t need, AtomSet used,
                      AtomSet passed, AtomSet *out)
{
    const Sharding *as = shardings_at(m->to->as->shardings, has);
    AtomSet atoms = sharding_only_sums(as) ? sharding_partials(as) : 0;
    if (atoms & used)
        atoms = 0;
    *out = passed;
    if (read->sum) {
        bool joins = (atoms & ~passed) == 0 &&
                     sharding_is_addend(as, shardings_at(m->to->as->shardings, need), passed,
                                        m->to->as->mesh);
        return passed == 0 || atoms == passed || joins;
    }
    if (read->leaf || read->linear == LINEAR_ALONE)
        return passed == atoms;
    return passed == 0 || passed == atoms;
}

/* The value is a gradient that is moved behind its maker, since the choice stores it sharded. */
static bool is_reduced_each(const Carried *value, const SearchNode *reader, int32_t choice)
{
    return value->gradient && reader->kind == NODE_PARAMETER && reader->stored[choice].each;
}

static void ask(Making *m, const Carried *value, const InstanceRead *read, int32_t has,
                int32_t choice, Demands *out)
{
    const SearchNode *node = &m->to->nodes.at[read->node];
    int32_t other, need = making_read_as(m, read, has, choice, &other);
    if (read->slot >= 0) {
        AtomSet used = (AtomSet)instance_layouts(m->to, read->node, read->space, USED)[choice];
        AtomSet passed = node->passed[(int64_t)choice * node->n_slots + read->slot], atoms;
        if (!passes_as(m, read, has, need, used, passed, &atoms)) {
            out->forbidden = true;
            return;
        }
        need = making_with_sums(m, need, atoms);
        other = other < 0 ? -1 : making_with_sums(m, other, atoms);
    }
    if (need == has)
        return;
    Demand demand = {need, other, read->phase > 0 && grows(m, has, need) ? read->phase : 0,
                     read->phase};
    if (is_reduced_each(value, node, choice))
        demand.time = MOVE_BEHIND_MAKER;
    for (int i = 0; i < out->n; i++)
        if (out->at[i].target == demand.target && out->at[i].phase == demand.phase)
            return;
    if (out->n < DEMANDS_MAX)
        out->at[out->n++] = demand;
}

/* ---- classes: choices that are alike to a value ---- */

static ChoiceClasses classes_new(Making *m, int32_t n)
{
    return (ChoiceClasses){0, arena_array(m->to->memo->arena, int32_t, n),
                           arena_array(m->scratch, int32_t, n), arena_array(m->scratch, bool, n)};
}

ChoiceClasses making_each(Making *m, int32_t n)
{
    ChoiceClasses out = classes_new(m, n);
    out.n = n;
    for (int32_t i = 0; i < n; i++)
        out.of[i] = out.first[i] = i;
    return out;
}

static void put_class(ChoiceClasses *classes, Intern *alike, int32_t choice, bool left,
                      const int32_t *key, int n)
{
    int32_t id = intern_put(alike, key, sizeof *key * (size_t)n);
    if (id == classes->n)
        classes->first[classes->n++] = choice;
    classes->of[choice] = id;
    classes->left[id] |= left;
}

/* Whether a choice of a node may matter. */
static bool is_left(const Making *m, int32_t node, int32_t choice)
{
    return !m->options->left || m->options->left[node][choice];
}

ChoiceClasses making_found_classes(Making *m, const Carried *value)
{
    const SearchNode *node = &m->to->nodes.at[value->node];
    ChoiceClasses out = classes_new(m, node->n);
    Intern *alike = intern_new(m->scratch);
    for (int32_t c = 0; c < node->n; c++) {
        int32_t key[4] = {0}, made;
        making_found_as(m, value, c, &made, &key[0]);
        if (value->operand < 0 && node->kind == NODE_PARAMETER) {
            key[1] = node->stored[c].used;
            key[2] = node->stored[c].agreed;
        }
        put_class(&out, alike, c, is_left(m, value->node, c), key, 4);
    }
    return out;
}

static ChoiceClasses need_classes(Making *m, const Carried *value, const MoveReader *reader)
{
    const SearchNode *node = &m->to->nodes.at[reader->node];
    ChoiceClasses out = classes_new(m, node->n);
    Intern *alike = intern_new(m->scratch);
    int32_t *key = arena_array(m->scratch, int32_t, 4 * reader->n + 1);
    for (int32_t c = 0; c < node->n; c++) {
        int n = 0;
        for (int i = 0; i < reader->n; i++) {
            const InstanceRead *r = reader->read[i];
            const OpSpace *space = m->to->inferred->spaces[r->space];
            bool halos = making_reads_as_it_lies(space, r->operand);
            bool parts = halos && making_reads_parts(space, r->operand);
            key[n++] = instance_layouts(m->to, r->node, r->space, r->operand)[c];
            key[n++] = !halos ? -1
                       : parts
                           ? c
                           : instance_layouts(m->to, r->node, r->space, WITH_HALOS + r->operand)[c];
            key[n++] =
                r->slot < 0 ? 0 : (int32_t)node->passed[(int64_t)c * node->n_slots + r->slot];
            key[n++] = r->slot < 0 ? 0 : instance_layouts(m->to, r->node, r->space, USED)[c];
        }
        key[n++] = is_reduced_each(value, node, c);
        put_class(&out, alike, c, is_left(m, reader->node, c), key, n);
    }
    return out;
}

MoveReader *making_readers(Making *m, const Carried *value, const int32_t *nodes, int *n)
{
    MoveReader *out = arena_array(m->scratch, MoveReader, value->n_reads);
    *n = 0;
    for (int i = 0; i < value->n_reads; i++) {
        int at = 0;
        while (at < *n && out[at].node != value->reads[i].node)
            at++;
        if (at == *n) {
            out[(*n)++] = (MoveReader){.node = value->reads[i].node};
            while (nodes[out[at].role] != out[at].node)
                out[at].role++;
            out[at].read = arena_array(m->scratch, const InstanceRead *, value->n_reads);
        }
        out[at].read[out[at].n++] = &value->reads[i];
    }
    for (int i = 0; i < *n; i++)
        out[i].classes = need_classes(m, value, &out[i]);
    return out;
}

Demands making_demands(Making *m, const Carried *value, const MoveReader *reader, int32_t has,
                       int32_t choice)
{
    Demands out = {0};
    for (int i = 0; i < reader->n && !out.forbidden; i++)
        ask(m, value, reader->read[i], has, choice, &out);
    return out;
}

bool making_agrees(Making *m, const Carried *value, const MoveReader *reader, bool alone,
                   int32_t made, int32_t choice)
{
    const SearchNode *node = &m->to->nodes.at[value->node];
    if (value->operand >= 0 || node->kind != NODE_PARAMETER || reader->node == value->node)
        return true;
    const ParameterChoice *stored = &node->stored[made];
    bool same = true;
    int32_t first = -1;
    for (int i = 0; i < reader->n; i++) {
        const InstanceRead *r = reader->read[i];
        int32_t need = instance_layouts(m->to, r->node, r->space, r->operand)[choice];
        if (stored->agreed && need != stored->used)
            return false;
        first = i == 0 ? need : first;
        same &= need == first;
    }
    return stored->agreed || stored->pinned || !alone || !same;
}
