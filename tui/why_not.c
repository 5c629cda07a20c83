#include "tui/why_not.h"

#include "tui/label.h"

#include <assert.h>

enum { READERS_MOST = 8 };

/* The question, for the helpers. */
typedef struct {
    const Session *session;
    int32_t tensor;
    int axis;
    AtomSet atoms;
    const char *name; /* of the axis */
    Arena *scratch;
    Buf *out;
} Question;

/* The index dim of op that the axis cuts; -1: none. */
static int cut_index(const Question *q, int32_t op)
{
    const OpSpace *space = inferred_space(q->session->inferred, op);
    const OpCut *cuts = plan_cut(q->session->plan, op);

    for (int i = 0; cuts && space && i < space->n_index; i++)
        if (cut_atoms(&cuts->index[i]) & q->atoms)
            return i;
    return -1;
}

/* What op says about one index dim that a dim of the tensor is joined with. */
static void say_index(const Question *q, int32_t op, int index)
{
    const OpSpace *space = inferred_space(q->session->inferred, op);
    const IndexDim *dim = space ? &space->index[index] : NULL;
    assert(dim);
    int other = cut_index(q, op);
    int64_t size = q->session->mesh->axes[q->axis].size;

    if (dim->role == ROLE_FROZEN)
        buf_printf(q->out, "%s is frozen: it is never cut", dim->name);
    else if (other == index)
        buf_printf(q->out, "%s is cut by %s there, but the value is moved before or after",
                   dim->name, q->name);
    else if (other >= 0)
        buf_printf(q->out, "%s cuts %s there already, and one axis cuts one index dim (not %s)",
                   q->name, space->index[other].name, dim->name);
    else if (dim->size < size)
        buf_printf(q->out, "%s has size %lld, fewer than the %lld parts of %s", dim->name,
                   (long long)dim->size, (long long)size, q->name);
    else
        buf_printf(q->out, "%s is free; no pin leads %s to it", dim->name, q->name);
}

static void say_op(const Question *q, int32_t op, const Operand *operand, const char *verb)
{
    const OpSpace *space = inferred_space(q->session->inferred, op);
    Str label = label_op(q->session, q->scratch, op);

    assert(space);
    buf_printf(q->out, "%s %.*s (%s)\n", verb, STR_ARG(label),
               label_operator(q->session->graph, op));
    if (space->no_rule) {
        buf_printf(q->out, "  %s\n", label_no_rule(q->session, op));
        return;
    }
    for (int d = 0; d < operand->shape.n_dims; d++) {
        const DimFactors *factors = &operand->factors[d];
        if (factors->n == 0)
            buf_printf(q->out, "  dim %d  %s\n", d,
                       operand->shape.dim[d] == 1 ? "has size 1"
                                                  : "is read whole: nothing can cut it");
        for (int f = 0; f < factors->n; f++) {
            buf_printf(q->out, "  dim %d  ", d);
            say_index(q, op, factors->index[f]);
            buf_putc(q->out, '\n');
        }
    }
}

static void say_pins(const Question *q)
{
    const Sharding *sharding = plan_sharding(q->session->plan, q->tensor);

    for (int d = 0; d < sharding->n_dims; d++) {
        const Decision *pin = plan_pin_of(q->session->plan, PIN_TENSOR_DIM, q->tensor, d);
        if (!pin || pin->open)
            continue;
        Buf cut = buf_new(q->scratch), origin = buf_new(q->scratch);
        cut_format(&pin->cut, q->session->mesh, &cut);
        label_origin(&pin->origin, &origin);
        buf_printf(q->out, "pinned dim %d to %s  %s\n", d, cut.s, origin.s);
    }
}

/* True when the axis is here after all. */
static bool say_present(const Question *q)
{
    const Sharding *made =
        shardings_at(q->session->plan->shardings, q->session->plan->made[q->tensor]);

    for (int d = 0; d < made->n_dims; d++) {
        if (!(cut_atoms(&made->dim[d]) & q->atoms))
            continue;
        buf_printf(q->out, "  it is cut by %s: dim %d. `w` says why.\n", q->name, d);
        return true;
    }
    if (sharding_partials(made) & q->atoms) {
        buf_printf(q->out, "  it is partial over %s. `w` says why.\n", q->name);
        return true;
    }
    return false;
}

static void say_neighbours(const Question *q)
{
    const Graph *graph = q->session->graph;
    const GraphTensor *tensor = &graph->tensors[q->tensor];
    const Inferred *inferred = q->session->inferred;

    if (tensor->maker >= 0 && !inferred_is_host(inferred, tensor->maker)) {
        const OpSpace *space = inferred_space(inferred, tensor->maker);
        for (int o = 0; o < space->n_outputs; o++)
            if (op_outputs(graph, tensor->maker)[o] == q->tensor)
                say_op(q, tensor->maker, opspace_output(space, o), "made by");
    }
    int n = tensor_n_uses(graph, q->tensor);
    for (int u = 0; u < n && u < READERS_MOST; u++) {
        int32_t op = graph->uses[tensor->use + u];
        const OpSpace *space = inferred_space(inferred, op);
        for (int i = 0; space && i < space->n_inputs; i++)
            if (op_inputs(graph, op)[i] == q->tensor && !space->operand[i].absent)
                say_op(q, op, &space->operand[i], "read by");
    }
    if (n > READERS_MOST)
        buf_printf(q->out, "and %d more readers\n", n - READERS_MOST);
}

void why_not_format(const Session *session, int32_t tensor, int axis, Buf *out)
{
    Arena *scratch = arena_new();
    Question q = {.session = session,
                  .tensor = tensor,
                  .axis = axis,
                  .atoms = mesh_axis_atoms(session->mesh, axis),
                  .name = session->mesh->axes[axis].name,
                  .scratch = scratch,
                  .out = out};
    Str label = label_tensor(session, scratch, tensor);
    Buf shape = buf_new(scratch);

    buf_printf(out, "why is %.*s not cut by %s?\n", STR_ARG(label), q.name);
    if (session->plan->made[tensor] < 0) {
        inferred_put_shape(session->inferred, tensor, &shape);
        buf_printf(out, "  not all of its shape is known: %s\n", shape.s);
    } else if (q.atoms == 0) {
        buf_printf(out, "  %s has size 1: it cuts nothing\n", q.name);
    } else if (!say_present(&q)) {
        say_pins(&q);
        say_neighbours(&q);
        buf_printf(out, "what would cut it\n  p on a dim of it (%s), then u to take it back\n",
                   q.name);
    }
    arena_free(scratch);
}
