/* styles_gradients.c - values between modules whose gradients no style of torch would reduce. A
 * value that all ranks of an axis have, read by an op that the axis cuts, has a gradient that is a
 * sum over the axis: the one key of all heads, of which each rank has some. torch's styles reduce
 * gradients where a module reads its argument, so a plan with such a value between modules would
 * train otherwise than one process.
 *
 * Where it is made of the last columns of what one module gives (Falcon's key and value, the
 * rotated part of DeepSeek's keys), this module gets the style SharedColumns, which the exported
 * file defines. Any other is refused, with the value's name.
 */
#include "core/peers/torch/styling.h"

#include <inttypes.h>

/* ---- values with a gradient ---- */

/* Whether a style has the op in hand: that of its module, or of its block of experts. */
static bool is_of_module(const Styling *s, int32_t op)
{
    Str path = str_from(op_path(s->w->graph, op));
    int32_t id = intern_find(s->paths, path.s, path.n);
    return styling_block(s, path) || s->full[op] ||
           (id >= 0 && s->out->modules.at[id].n_parameters > 0);
}

/* Per tensor: whether it is made of what a matmul or a lookup with a weight gives, or of parameters
 * outside of their modules, so that it has a gradient. Frequencies of rotary embeddings have none,
 * nor what a file declares a buffer.
 */
static bool *find_trained(const Styling *s)
{
    const Graph *graph = s->w->graph;
    MatmulRoles roles = roles_find(s->w->arena, s->w->session->inferred);
    bool *trained = arena_array(s->w->arena, bool, graph->n_tensors);
    int next = 0;
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        while (next < roles.n && roles.at[next].op < op)
            next++;
        bool any = next < roles.n && roles.at[next].op == op && roles.at[next].role != WEIGHT_WHOLE;
        bool between = !is_of_module(s, op);
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            bool weight = t >= 0 && between && !graph->tensors[t].buffer &&
                          tensor_is_parameter(s->w->session->inferred, t);
            any |= t >= 0 && (trained[t] || weight);
        }
        for (int i = 0; i < graph->ops[op].n_outputs; i++) {
            int32_t t = op_outputs(graph, op)[i];
            if (t >= 0)
                trained[t] = any && dtype_is_float(s->w->session->inferred->dtype[t]);
        }
    }
    return trained;
}

/* Calls visit for each value that all ranks have and an op between modules reads though the axis
 * cuts the op; stops with false where visit returns false. */
static bool each_summed(Styling *s, bool (*visit)(Styling *s, const bool *trained, int32_t tensor))
{
    const Graph *graph = s->w->graph;
    const bool *trained = find_trained(s);
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        if (!styling_is_read(s, op) || is_of_module(s, op))
            continue;
        int32_t out = op_outputs(graph, op)[0];
        if (out < 0 || !trained[out] || styling_is_whole(styling_made(s, out)))
            continue;
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            int32_t need = s->w->plan->moved->need[graph->ops[op].input + i];
            if (t >= 0 && trained[t] && need >= 0 && styling_is_whole(styling_lies(s, need)) &&
                !visit(s, trained, t))
                return false;
        }
    }
    return true;
}

static bool is_reduced(Styling *s, const bool *trained, int32_t tensor)
{
    (void)trained;
    return s->summed[tensor] ||
           error_set(s->err, "which makes a sum over %s of the gradient of %s, between modules",
                     s->w->mesh->axes[s->axis].name,
                     naming_value(s->w->session->naming, s->w->arena, tensor));
}

bool styling_reduces_gradients(Styling *s)
{
    return each_summed(s, is_reduced);
}

/* ---- columns that all heads share ---- */

enum { STEPS_MOST = 1000 };

/* What a value is made of: outputs of one Split of what a module gives, from `first` on. */
typedef struct {
    int32_t module; /* in s->out->modules; -1: none is found yet */
    int32_t split;
    int first;
    int left; /* steps back that may still be taken: ways join and part again */
} Columns;

/* Adds what the value is made of. split: the Split that was passed last on the way, -1; which: its
 * output. Returns false if it is made of anything but outputs of one Split. */
static bool add_source(const Styling *s, const bool *trained, int32_t tensor, int32_t split,
                       int which, Columns *out)
{
    const Graph *graph = s->w->graph;
    int32_t op = graph->tensors[tensor].maker;
    if (op < 0 || out->left-- == 0)
        return false;
    if (is_of_module(s, op)) {
        Str path = str_from(op_path(graph, op));
        int32_t id = intern_find(s->paths, path.s, path.n);
        if (id < 0 || split < 0 || s->out->modules.at[id].at.out != tensor ||
            (out->module >= 0 && (out->module != id || out->split != split)))
            return false;
        out->first = out->module < 0 || which < out->first ? which : out->first;
        out->module = id;
        out->split = split;
        return true;
    }
    if (strcmp(op_operator(graph, op), "Split") == 0) {
        split = op;
        for (which = 0; op_outputs(graph, op)[which] != tensor;)
            which++;
    }
    bool any = false;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t < 0 || !trained[t])
            continue;
        if (!add_source(s, trained, t, split, which, out))
            return false;
        any = true;
    }
    return any;
}

/* How many of the columns of [batch, sequence, columns] are in the outputs from the first one on; 0
 * if these are not the last columns. */
static int64_t count_columns(const Styling *s, const Columns *columns)
{
    const Graph *graph = s->w->graph;
    const Inferred *inferred = s->w->session->inferred;
    const Shape *in = inferred_shape(inferred, op_inputs(graph, columns->split)[0]);
    int64_t axis = op_attr_int(graph, columns->split, "axis", 0), n = 0, before = 1, behind = 1;
    if (!in || in->n_dims < 3)
        return 0;
    axis += axis < 0 ? in->n_dims : 0;
    for (int64_t d = 2; d < in->n_dims; d++) {
        before *= d < axis ? in->dim[d] : 1;
        behind *= d > axis ? in->dim[d] : 1;
    }
    for (int i = columns->first; i < graph->ops[columns->split].n_outputs; i++) {
        const Shape *part = inferred_shape(inferred, op_outputs(graph, columns->split)[i]);
        n += part ? part->dim[axis] * behind : 0;
    }
    return axis >= 2 && before == 1 ? n : 0;
}

/* Whether a reshard takes the outputs before the first one apart by heads, which is explained. */
static bool shards_rest(Styling *s, const Columns *columns)
{
    const Graph *graph = s->w->graph;
    const Moved *moved = s->w->plan->moved;
    bool any = false;
    for (int i = 0; i < columns->first; i++)
        for (int r = 0; r < moved->n_reshards; r++) {
            Placement to = styling_lies(s, moved->reshards[r].to);
            if (moved->reshards[r].tensor != op_outputs(graph, columns->split)[i] ||
                to.kind != PLACE_SHARD)
                continue;
            s->explained[moved->reshards[r].tensor] = any = true;
        }
    return any;
}

static bool share_columns(Styling *s, const bool *trained, int32_t tensor)
{
    Columns columns = {.module = -1, .left = STEPS_MOST};
    if (s->summed[tensor] || !add_source(s, trained, tensor, -1, 0, &columns))
        return true; /* refused later */
    int64_t n = count_columns(s, &columns);
    StyledModule *m = &s->out->modules.at[columns.module];
    if (n == 0 || (m->style[s->axis] && m->shared[s->axis] == 0) ||
        !styling_is_whole(styling_made(s, m->at.out)))
        return true;
    m->shared[s->axis] = n > m->shared[s->axis] ? n : m->shared[s->axis];
    m->style[s->axis] =
        arena_printf(s->w->arena, "SharedColumns(%" PRId64 "%s)", m->shared[s->axis],
                     shards_rest(s, &columns) ? ", rest=Shard(-1)" : "");
    s->summed[tensor] = true;
    return true;
}

void styling_columns(Styling *s)
{
    (void)each_summed(s, share_columns);
}
