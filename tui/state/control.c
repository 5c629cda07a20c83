#include "tui/state/control.h"

/* ---- which body holds what ---- */

static bool holds(const GraphBody *outer, const GraphBody *inner)
{
    return outer->first <= inner->first && inner->end <= outer->end;
}

/* The nearest body around both. */
static int32_t join(const Control *control, int32_t a, int32_t b)
{
    const GraphBody *bodies = control->session->graph->bodies;
    while (a >= 0 && b >= 0 && !holds(&bodies[a], &bodies[b]))
        a = control->around[a];
    return b < 0 ? -1 : a;
}

static void find_bodies(Control *control)
{
    const Graph *graph = control->session->graph;
    for (int32_t op = 0; op < graph->n_ops; op++)
        control->of_op[op] = -1;
    for (int b = 0; b < graph->n_bodies; b++) {
        const GraphBody *body = &graph->bodies[b];
        control->around[b] = body->first < body->end ? control->of_op[body->first] : -1;
        for (int32_t op = body->first; op < body->end; op++)
            control->of_op[op] = b;
    }
}

Control control_new(Arena *arena, const Session *session)
{
    const Graph *graph = session->graph;
    const Groups *groups = session->groups;
    Control control = {.session = session};
    if (graph->n_bodies == 0)
        return control;
    control.of_op = arena_array(arena, int32_t, graph->n_ops);
    control.of_group = arena_array(arena, int32_t, groups->n_groups);
    control.around = arena_array(arena, int32_t, graph->n_bodies);
    find_bodies(&control);
    for (int g = 0; g < groups->n_groups; g++) {
        const Group *group = &groups->groups[g];
        int32_t held = group->n > 0 ? control.of_op[groups->order[group->first]] : -1;
        for (int32_t i = 1; i < group->n && held >= 0; i++)
            held = join(&control, held, control.of_op[groups->order[group->first + i]]);
        control.of_group[g] = held;
    }
    return control;
}

/* The body of a row, and that of the group it is listed in. */
static int32_t body_of(const Control *control, const OutlineRow *row, int32_t *outer)
{
    *outer = -1;
    if (!control->of_op || !row_has_ops(row))
        return -1;
    *outer = control->of_group[row->base];
    return row->kind == ROW_OP ? control->of_op[row->id] : control->of_group[row->id];
}

/* ---- how often ---- */

static bool is_loop(const GraphBody *body)
{
    return body->kind == BODY_LOOP || body->kind == BODY_SCAN;
}

/* How often body b runs each time `outer` around it does; -1 if known only at run time. *loops:
 * whether there is a loop between. */
static double count_times(const Control *control, int32_t b, int32_t outer, bool *loops)
{
    double n = 1;
    *loops = false;
    for (; b >= 0 && b != outer; b = control->around[b]) {
        if (!is_loop(&control->session->graph->bodies[b]))
            continue;
        double trips = control->session->inferred->trips[b];
        *loops = true;
        n = n < 0 || trips < 0 ? -1 : n * trips;
    }
    return n;
}

void control_format_times(const Control *control, const OutlineRow *row, Buf *out)
{
    int32_t outer, b = body_of(control, row, &outer);
    bool loops;
    double n = count_times(control, b, outer, &loops);
    if (loops && n < 0)
        buf_puts(out, " ↻?");
    else if (loops)
        buf_printf(out, " ↻%.10g", n);
}

/* The name of what decides: a value as the graph has it. */
static const char *name_of(const Control *control, int32_t tensor)
{
    return tensor < 0 ? "" : tensor_name(control->session->graph, tensor);
}

void control_format_note(const Control *control, const OutlineRow *row, Buf *out)
{
    int32_t outer, b = body_of(control, row, &outer);
    bool loops;
    double n = count_times(control, b, -1, &loops);
    if (b < 0)
        return;
    const GraphBody *body = &control->session->graph->bodies[b];
    if (loops && n < 0)
        buf_puts(out, "how often it runs is known only at run time: its cost counts once");
    else if (loops)
        buf_printf(out, "runs %.10g time%s, as its cost counts", n, n == 1 ? "" : "s");
    if (!is_loop(body) && !inferred_value(control->session->inferred, body->of))
        buf_printf(out, "%sruns when %s is %s; the cost counts both branches", loops ? "; " : "",
                   name_of(control, body->of), body->kind == BODY_THEN ? "true" : "false");
}

/* ---- what is tied ---- */

typedef struct {
    const char *name, *says;    /* of the operator */
    const char *when[TIES_MAX]; /* per input; NULL: not one of those tied */
} TieRow;

static const TieRow tie_rows[] = {
    {"If", "one of these, depending on the branch that runs", {"decides", "if true", "if false"}},
    {"LoopCarry", "one value, at the start of an iteration", {"the first"}},
    {"LoopResult", "one value, at the end of the loop", {"no iteration", "the last"}},
    {"LoopIndex", "0, 1, 2 .. in each iteration", {"up to"}},
    {"LoopSlice", "one slice of it in each iteration", {"all steps"}},
    {"LoopStack", "the values of all iterations, stacked", {"each yields"}},
    {"SequenceElement", "an element of it in each iteration", {"all elements"}},
    {"SequenceMap", "a sequence of the values of all iterations", {"each yields"}},
};

/* The value that the previous iteration passes to a carried one; -1 if it is not carried. */
static int32_t carried_next(const Graph *graph, int32_t op)
{
    for (int c = 0; c < graph->n_carries; c++)
        if (graph->carries[c].in == op_outputs(graph, op)[0])
            return graph->carries[c].next;
    return -1;
}

const char *control_ties(const Session *session, int32_t op, ControlTie *tie, int *n)
{
    const Graph *graph = session->graph;
    const TieRow *row = NULL;
    *n = 0;
    for (size_t i = 0; i < sizeof tie_rows / sizeof *tie_rows; i++)
        if (strcmp(tie_rows[i].name, op_operator(graph, op)) == 0)
            row = &tie_rows[i];
    if (!row)
        return NULL;
    for (int i = 0; i < graph->ops[op].n_inputs && i < TIES_MAX; i++)
        if (row->when[i] && op_inputs(graph, op)[i] >= 0)
            tie[(*n)++] = (ControlTie){row->when[i], op_inputs(graph, op)[i]};
    int32_t next = graph->ops[op].n_outputs > 0 ? carried_next(graph, op) : -1;
    if (next >= 0)
        tie[(*n)++] = (ControlTie){"the others", next};
    return row->says;
}
