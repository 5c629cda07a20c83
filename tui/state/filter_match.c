#include "tui/state/filter_state.h"

#include "core/model/stated.h"
#include "core/cost/cost.h"

#include <ctype.h>

/* Operators that people mean by "matmul". */
static const char *const matmuls[] = {"Gemm", "Einsum", "Linear"};

static bool has_text(const char *text, const Choice *value)
{
    if (!value->blind)
        return str_find(str_from(text), value->text) >= 0;
    for (; *text; text++) {
        size_t i = 0;
        while (i < value->text.n && tolower((unsigned char)text[i]) == value->text.s[i])
            i++;
        if (i == value->text.n)
            return true;
    }
    return false;
}

static bool is_operator(const char *op_type, const Choice *value)
{
    if (has_text(op_type, value))
        return true;
    for (size_t i = 0; value->matmul && i < sizeof matmuls / sizeof matmuls[0]; i++)
        if (strcmp(op_type, matmuls[i]) == 0)
            return true;
    return false;
}

/* A name of an op, a path or an operator, by its id. */
static bool name_fits(const FilterTerm *term, const Graph *graph, int32_t name, bool op_type)
{
    uint8_t *known = &term->by_name[name];

    for (int i = 0; *known == 0 && i < term->n; i++)
        if (op_type ? is_operator(names_text(graph->names, name), &term->value[i])
                    : has_text(names_text(graph->names, name), &term->value[i]))
            *known = 2;
    if (*known == 0)
        *known = 1;
    return *known == 2;
}

static AtomSet cut_uses(const OpCut *cut)
{
    return cuts_used(cut->index, cut->n, -1);
}

static bool sharding_fits(const FilterTerm *term, const Session *session, int32_t id)
{
    uint8_t *known = &term->by_sharding[id];
    const Sharding *sharding = shardings_at(session->plan->shardings, id);

    for (int i = 0; *known == 0 && i < term->n; i++) {
        AtomSet partials = sharding_partials(sharding);
        AtomSet atoms = partials | (term->key == KEY_AXIS ? sharding_atoms(sharding) : 0);
        if (term->key == KEY_IS
                ? term->value[i].number == IS_UNEVEN && sharding_is_uneven(sharding, session->mesh)
                : (atoms & term->value[i].atoms) != 0)
            *known = 2;
    }
    if (*known == 0)
        *known = 1;
    return *known == 2;
}

static bool cut_fits(const FilterTerm *term, const Plan *plan, int32_t id)
{
    uint8_t *known = &term->by_cut[id];

    if (*known == 0) {
        AtomSet used = cut_uses(plan->propagated->cuts[id]);
        *known = 1;
        for (int i = 0; i < term->n; i++)
            if (term->key == KEY_IS ? term->value[i].number == IS_REPLICATED && used == 0
                                    : (used & term->value[i].atoms) != 0)
                *known = 2;
    }
    return *known == 2;
}

static bool tensor_has_shape(const Session *session, int32_t tensor, const Shape *want)
{
    const Shape *shape = inferred_sizes(session->inferred, tensor);
    bool one = want->n_dims == 1;

    if (!shape || (!one && shape->n_dims != want->n_dims))
        return false;
    for (int d = 0; d < shape->n_dims; d++) {
        if (one && shape->dim[d] == want->dim[0])
            return true;
        if (!one && shape->dim[d] != want->dim[d])
            return false;
    }
    return !one;
}

/* Terms that are about a value: an output, or an input of the graph. */
static bool tensor_fits(const FilterTerm *term, const Session *session, int32_t tensor)
{
    int32_t made = session->plan->moved->made[tensor];

    for (int i = 0; i < term->n; i++) {
        if (term->key == KEY_DTYPE &&
            session->inferred->dtype[tensor] == (uint8_t)term->value[i].number)
            return true;
        if (term->key == KEY_SHAPE && tensor_has_shape(session, tensor, &term->value[i].shape))
            return true;
    }
    return term->by_sharding && made >= 0 && sharding_fits(term, session, made);
}

static bool any_output(const FilterTerm *term, const Session *session, int32_t op)
{
    const Graph *graph = session->graph;

    for (int o = 0; o < graph->ops[op].n_outputs; o++)
        if (op_outputs(graph, op)[o] >= 0 && tensor_fits(term, session, op_outputs(graph, op)[o]))
            return true;
    return false;
}

static bool path_has_kind(const FilterTerm *term, const ReshardPath *path)
{
    for (int s = 0; s < path->n_steps; s++)
        for (int i = 0; i < term->n; i++)
            if (path->step[s].kind == (StepKind)term->value[i].number)
                return true;
    return false;
}

static bool op_has_kind(const Filter *filter, const FilterTerm *term, int32_t op)
{
    const Comm *comm = filter->source->comm;

    for (int32_t r = comm->of_op[op]; r >= 0; r = comm->next[r])
        if (path_has_kind(term, filter->source->session->plan->moved->reshards[r].path))
            return true;
    return false;
}

static double op_comm_us(const Filter *filter, int32_t op)
{
    const Comm *comm = filter->source->comm;
    const Plan *plan = filter->source->session->plan;
    double us = 0;

    for (int32_t r = comm->of_op[op]; r >= 0; r = comm->next[r])
        us += plan->moved->reshards[r].path->us * reshard_repeat(plan, &plan->moved->reshards[r]);
    return us;
}

static int64_t op_bytes(const Session *session, int32_t op)
{
    const Graph *graph = session->graph;
    int64_t bytes = 0;

    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        int32_t tensor = op_outputs(graph, op)[o];
        int32_t made = tensor < 0 ? -1 : session->plan->moved->made[tensor];
        bytes += made < 0 ? 0 : plan_local_bytes(session->plan, tensor, made);
    }
    return bytes;
}

static bool compares(const FilterTerm *term, double value)
{
    switch (term->compare) {
    case MORE:
        return value > term->limit;
    case MORE_EQUAL:
        return value >= term->limit;
    case LESS:
        return value < term->limit;
    case LESS_EQUAL:
        return value <= term->limit;
    case EQUAL:
        break;
    }
    return !(value < term->limit) && !(value > term->limit);
}

static bool op_is(const Filter *filter, const FilterTerm *term, int32_t op)
{
    const FilterSource *source = filter->source;
    const Plan *plan = source->session->plan;

    for (int i = 0; i < term->n; i++) {
        int state = term->value[i].number;
        if ((state == IS_RESHARD && source->comm->of_op[op] >= 0) ||
            (state == IS_PINNED && filter->pinned[op]) ||
            (state == IS_CHANGED && op_has_changed(source->changed, op)) ||
            (state == IS_TAGGED && source->tagged && source->tagged[op]) ||
            (state == IS_REPLICATED && plan->propagated->cut[op] >= 0 &&
             cut_fits(term, plan, plan->propagated->cut[op])) ||
            (state == IS_UNEVEN && any_output(term, source->session, op)))
            return true;
    }
    return false;
}

/* Of a forward plan all ops are of the forward pass; those that run again are of the backward one.
 */
static bool op_has_pass(const FilterTerm *term, const Plan *plan, int32_t op)
{
    Phase phase = op_phase(plan->inferred->graph, op);
    CommPass pass = phase == PHASE_FORWARD  ? COMM_FORWARD
                    : phase == PHASE_UPDATE ? COMM_UPDATE
                                            : COMM_BACKWARD;
    for (int i = 0; i < term->n; i++)
        if (term->value[i].number == (int)pass)
            return true;
    return false;
}

static bool op_fits(const Filter *filter, const FilterTerm *term, int32_t op)
{
    const Session *session = filter->source->session;
    const Graph *graph = session->graph;
    const GraphOp *row = &graph->ops[op];
    const Plan *plan = session->plan;

    switch (term->key) {
    case KEY_WORD:
        return name_fits(term, graph, row->path, false) ||
               name_fits(term, graph, row->name, false) ||
               name_fits(term, graph, row->op_type, true);
    case KEY_NAME:
        return name_fits(term, graph, row->path, false) || name_fits(term, graph, row->name, false);
    case KEY_OP:
        return name_fits(term, graph, row->op_type, true);
    case KEY_DTYPE:
    case KEY_SHAPE:
    case KEY_PARTIAL:
        return any_output(term, session, op);
    case KEY_AXIS:
        return (plan->propagated->cut[op] >= 0 &&
                cut_fits(term, plan, plan->propagated->cut[op])) ||
               any_output(term, session, op);
    case KEY_KIND:
        return op_has_kind(filter, term, op);
    case KEY_IS:
        return op_is(filter, term, op);
    case KEY_PASS:
        return op_has_pass(term, plan, op);
    case KEY_MS:
        return compares(term, plan->priced->op_us[op] / 1000);
    case KEY_US:
        return compares(term, plan->priced->op_us[op]);
    case KEY_COMM:
        return compares(term, op_comm_us(filter, op) / 1000);
    case KEY_MIB:
        return compares(term, (double)op_bytes(session, op) / (1 << 20));
    case KEY_COUNT:
        break;
    }
    return false;
}

bool filter_op(const Filter *filter, int32_t op)
{
    for (int t = 0; t < filter->terms.n; t++)
        if (op_fits(filter, &filter->terms.at[t], op) == filter->terms.at[t].not )
            return false;
    return true;
}

static bool input_fits(const Filter *filter, const FilterTerm *term, int32_t tensor)
{
    const Session *session = filter->source->session;
    int32_t made = session->plan->moved->made[tensor];

    if (term->key == KEY_OP) {
        for (int i = 0; i < term->n; i++)
            if (has_text("input", &term->value[i]))
                return true;
        return false;
    }
    if (term->key <= KEY_NAME)
        return name_fits(term, session->graph, session->graph->tensors[tensor].name, false);
    if (term->key == KEY_MIB)
        return compares(
            term, made < 0 ? 0 : (double)plan_local_bytes(session->plan, tensor, made) / (1 << 20));
    return term->key <= KEY_IS && term->key != KEY_KIND && tensor_fits(term, session, tensor);
}

bool filter_input(const Filter *filter, int32_t tensor)
{
    for (int t = 0; t < filter->terms.n; t++)
        if (input_fits(filter, &filter->terms.at[t], tensor) == filter->terms.at[t].not )
            return false;
    return true;
}

static bool reshard_fits(const Filter *filter, const FilterTerm *term, int32_t reshard)
{
    const Plan *plan = filter->source->session->plan;
    const ReshardPath *path = plan->moved->reshards[reshard].path;
    int32_t op = filter->source->comm->at_op[reshard];
    AtomSet atoms = 0;
    int64_t bytes = 0;

    for (int s = 0; s < path->n_steps; s++) {
        atoms |= path->step[s].atoms;
        bytes = path->step[s].bytes > bytes ? path->step[s].bytes : bytes;
    }
    if (term->key == KEY_KIND)
        return path_has_kind(term, path);
    for (int i = 0; term->key == KEY_PASS && i < term->n; i++)
        if (term->value[i].number == (int)reshard_pass(plan, &plan->moved->reshards[reshard]))
            return true;
    if (term->key == KEY_PASS)
        return false;
    if (term->key == KEY_MS || term->key == KEY_COMM)
        return compares(term, path->us / 1000);
    if (term->key == KEY_US)
        return compares(term, path->us);
    if (term->key == KEY_MIB)
        return compares(term, (double)bytes / (1 << 20));
    for (int i = 0; term->key == KEY_AXIS && i < term->n; i++)
        if (term->value[i].atoms & atoms)
            return true;
    return term->key != KEY_AXIS && op >= 0 && op_fits(filter, term, op);
}

bool filter_reshard(const Filter *filter, int32_t reshard)
{
    for (int t = 0; t < filter->terms.n; t++)
        if (reshard_fits(filter, &filter->terms.at[t], reshard) == filter->terms.at[t].not )
            return false;
    return true;
}
