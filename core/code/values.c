#include "core/code/values.h"

#include "core/base/intern.h"
#include "core/code/python.h"
#include "core/plan/op_cut.h"
#include "core/plan/plan_findings.h"
#include "core/summary/label.h"
#include "core/plan/stage.h"
#include "core/session/pins_text.h"

#include <stdlib.h>

typedef Vec(int32_t) UsedIds;

static const char *wanted_name(const Session *session, Arena *arena, int32_t tensor)
{
    if (session->graph->tensors[tensor].maker >= 0)
        return arena_str(arena, label_tensor(session, arena, tensor));
    const char *label = naming_label(session->naming, tensor);
    bool finds = naming_find(session->naming, str_from(label), NULL) == tensor;
    return finds ? label : tensor_name(session->graph, tensor);
}

/* A name that no other value has: the value's own, or that with a number. */
static const char *free_name(const Session *session, Intern *taken, Arena *arena, int32_t tensor)
{
    const char *name = wanted_name(session, arena, tensor),
               *own = tensor_name(session->graph, tensor);
    if (intern_find(taken, name, strlen(name)) >= 0)
        name = own;
    for (int i = 2; intern_find(taken, name, strlen(name)) >= 0; i++)
        name = arena_printf(arena, "%s #%d", own, i);
    intern_put(taken, name, strlen(name));
    return name;
}

static bool is_shown(const Session *session, int32_t tensor)
{
    return tensor >= 0 && session->plan->moved->sharding[tensor] >= 0;
}

/* The parameters in the order of ids, which is that of the file. */
static UsedIds list_parameters(const Session *session, Arena *arena)
{
    UsedIds out = {0};
    const Graph *graph = session->graph;
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (is_shown(session, t) && tensor_is_parameter(session->inferred, t) &&
            (tensor_n_uses(graph, t) > 0 || graph->tensors[t].output))
            vec_push(arena, &out, t);
    return out;
}

static UsedIds list_made(const Session *session, Arena *arena)
{
    UsedIds out = {0};
    const Inferred *inferred = session->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        for (int o = 0; o < session->graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(session->graph, op)[o];
            if (is_shown(session, t) && !tensor_is_known(inferred, t))
                vec_push(arena, &out, t);
        }
    }
    return out;
}

CodeValues values_of(const Session *session, Arena *arena)
{
    const Graph *graph = session->graph;
    UsedIds parameters = list_parameters(session, arena), made = list_made(session, arena);
    Intern *taken = intern_new(arena);
    const char **name = arena_array(arena, const char *, graph->n_tensors);

    for (int i = 0; i < parameters.n; i++)
        name[parameters.at[i]] = free_name(session, taken, arena, parameters.at[i]);
    for (int i = 0; i < graph->n_inputs; i++)
        if (is_shown(session, graph->inputs[i]) && !name[graph->inputs[i]])
            name[graph->inputs[i]] = free_name(session, taken, arena, graph->inputs[i]);
    for (int i = 0; i < made.n; i++)
        name[made.at[i]] = free_name(session, taken, arena, made.at[i]);
    for (int i = 0; i < graph->n_outputs; i++)
        if (is_shown(session, graph->outputs[i]) && !name[graph->outputs[i]])
            name[graph->outputs[i]] = free_name(session, taken, arena, graph->outputs[i]);
    return (CodeValues){parameters.n, made.n, parameters.at, made.at, name};
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int values_parts(const Plan *plan, int32_t tensor, int *part, int room)
{
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    int n = 0, at = 0;
    if (maker >= 0 && !inferred_is_host(plan->inferred, maker)) {
        part[n++] = plan_devices(plan, maker);
        return n;
    }
    for (int on; (on = stage_given_on(plan, tensor, &at)) >= 0;) {
        bool seen = false;
        for (int i = 0; i < n; i++)
            seen |= part[i] == on;
        if (!seen && n < room)
            part[n++] = on;
    }
    if (n == 0)
        part[n++] = 0;
    qsort(part, (size_t)n, sizeof *part, by_number);
    return n;
}

int32_t values_read_as(const Session *session, int32_t tensor)
{
    const Graph *graph = session->graph;
    const Plan *plan = session->plan;
    int32_t as = -1;
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
        int32_t op = graph->uses[u];
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t need = plan->moved->need[graph->ops[op].input + i];
            if (op_inputs(graph, op)[i] != tensor || need < 0)
                continue;
            if (as >= 0 && as != need)
                return -1;
            as = need;
        }
    }
    return as;
}

int values_even_atoms(const Cut *cut, const Mesh *mesh)
{
    const Digit *major = &cut->digit[0];
    int n = 0;
    int64_t parts = 1;
    if (cut->n == 0 || !cut_is_plain(cut))
        return 0;
    for (int run; n < major->n; n += run) {
        int64_t size;
        run = mesh_atoms_run(mesh, major->atom + n, major->n - n, &size);
        parts *= size;
        if (major->size % parts != 0)
            break;
    }
    return n;
}

/* Whether a pin is of a value that ops make, other than an output; or of an op. */
static bool pins_activation(const Inferred *inferred, const Decision *pin)
{
    const Graph *graph = inferred->graph;
    if (pin->kind == PIN_INDEX_DIM)
        return !inferred->on_parameters[pin->place];
    int32_t maker = graph->tensors[pin->place].maker;
    if (maker < 0 || inferred->on_parameters[maker])
        return false;
    for (int i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i] == pin->place)
            return false;
    return true;
}

const char *values_rings(Arena *arena, const Plan *plan)
{
    enum { NAMED_MOST = 3 };
    Buf out = buf_new(arena);
    int n = 0;
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        const OpSpace *space = inferred_space(plan->inferred, op);
        const OpCut *cut = plan_cut(plan, op);
        if (!space || !cut || op_cut_ring(space, cut) < 0 || n++ >= NAMED_MOST)
            continue;
        buf_puts(&out, n > 1 ? ", " : "");
        text_printable(str_from(op_path_or_name(plan->inferred->graph, op)), &out);
    }
    if (n > NAMED_MOST)
        buf_printf(&out, " and %d more", n - NAMED_MOST);
    return n > 0 ? out.s : NULL;
}

void values_put_unpinned(const Session *session, const char *comment, Buf *out)
{
    enum { NAMED_MOST = 3 };
    const Plan *plan = session->plan;
    Intern *places = intern_new(out->arena);
    for (int i = 0; i < plan->decided->n_pins; i++) {
        const Decision *pin = plan->decided->pins[i];
        int32_t place[2] = {(int32_t)pin->kind, pin->place}, n = intern_count(places) + 1;
        if (!pins_activation(plan->inferred, pin) ||
            intern_put(places, place, sizeof place) < n - 1 || n > NAMED_MOST)
            continue;
        if (n == 1)
            buf_printf(out, "%s" PINS_UNPINNED, comment);
        const char *name = pin->kind == PIN_INDEX_DIM ? op_path_or_name(session->graph, pin->place)
                                                      : plan_value_name(plan, pin->place);
        buf_puts(out, n > 1 ? ", " : "");
        python_comment(str_from(name), out);
    }
    int n = intern_count(places);
    if (n > NAMED_MOST)
        buf_printf(out, " and %d more", n - NAMED_MOST);
    buf_puts(out, n > 0 ? "\n" : "");
    const char *rings = values_rings(out->arena, plan);
    if (rings)
        buf_printf(out, "%s In the plan parts go around a ring, here they are gathered: %s\n",
                   comment, rings);
}
