#include "core/code/step_values.h"

#include "core/base/intern.h"
#include "core/code/python.h"
#include "core/plan/stage.h"

/* ---- gradients and states ---- */

/* How the update of its parameter reads a gradient: Shardings id, -1 if none does. */
int32_t step_gradient_read(const Session *step, int32_t tensor)
{
    const Graph *graph = step->graph;

    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        for (int i = 0; stored_updated(graph, op) >= 0 && i < graph->ops[op].n_inputs; i++) {
            int32_t need = step->plan->moved->need[graph->ops[op].input + i];
            if (op_inputs(graph, op)[i] == tensor && need >= 0)
                return need;
        }
    }
    return -1;
}

static void find_parameters(Arena *arena, const Session *model, const Session *step,
                            StepValues *out)
{
    const Graph *graph = step->graph;
    CodeValues values = values_of(model, arena);
    int32_t *place = arena_array(arena, int32_t, graph->n_tensors + 1); /* 1 + in out->at */

    for (int i = 0; i < values.n_parameters; i++) {
        int32_t t = values.parameter[i];
        if (!values.name[t])
            continue;
        vec_push(arena, &out->at, ((StepParameter){t, values.name[t], -1, -1}));
        place[t] = out->at.n;
    }
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int32_t of;
        Stored value = stored_value(graph, t, &of);
        StepParameter *row = value && place[of] ? &out->at.at[place[of] - 1] : NULL;
        if (row && value == STORED_GRADIENT && row->gradient < 0)
            row->gradient = step_gradient_read(step, t);
        if (row && value == STORED_STATES && row->states < 0)
            row->states = step->plan->moved->sharding[t];
    }
    int n = 0;
    for (int i = 0; i < out->at.n; i++)
        if (out->at.at[i].gradient >= 0 || out->at.at[i].states >= 0)
            out->at.at[n++] = out->at.at[i];
    out->at.n = n;
}

/* ---- what is computed again ---- */

/* The parts of two paths that are the same, up to a dot. */
static Str common_path(Str a, Str b)
{
    size_t n = 0, end = 0;

    while (n < a.n && n < b.n && a.s[n] == b.s[n]) {
        n++;
        if ((n == a.n || a.s[n] == '.') && (n == b.n || b.s[n] == '.'))
            end = n;
    }
    return (Str){a.s, end};
}

Paths step_again(Arena *arena, const Session *model)
{
    const Plan *plan = model->plan;
    Paths again = {0};
    Intern *groups = intern_new(arena);
    Str *path = arena_array(arena, Str, model->graph->n_ops + 1);
    int n = 0;

    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i], group = recompute_group(plan, op);
        Str own = str_from(op_path(model->graph, op));
        if (group < 0 || own.n == 0)
            continue;
        int at = intern_put(groups, &group, sizeof group);
        path[at] = at < n ? common_path(path[at], own) : own;
        n = at < n ? n : at + 1;
    }
    for (int i = 0; i < n; i++)
        if (path[i].n > 0)
            vec_push(arena, &again, arena_str(arena, path[i]));
    return again;
}

StepValues step_values(Arena *arena, const Session *model, const Session *step)
{
    StepValues out = {.parallel = parallel_of(arena, model)};
    const Stages *stages = step->plan->decided->stages;

    out.n_stages = stages ? stages->n : 1;
    find_parameters(arena, model, step, &out);
    out.again = step_again(arena, model);
    return out;
}

void step_put_head(const Session *step, const char *comment, const char *said,
                   const char *const *unsaid, int n_unsaid, Buf *out, ExportNotes *notes)
{
    buf_printf(out, "%s Of the training step '", comment);
    python_comment(str_from(step->options.train), out);
    buf_printf(out, "': %s.\n", said);
    for (int i = 0; i < n_unsaid; i++) {
        buf_printf(out, "%s Not said: ", comment);
        python_comment(str_from(unsaid[i]), out);
        buf_puts(out, ".\n");
        export_note(notes, "the training step: %s", unsaid[i]);
    }
}
