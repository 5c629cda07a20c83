#include "viz/draw/facts.h"

#include "core/explain/reason.h"
#include "core/summary/comm.h"
#include "core/summary/label.h"

static DiagramFacts *new_facts(const Draw *draw)
{
    DiagramFacts *facts = arena_make(draw->arena, DiagramFacts);

    facts->bytes = -1;
    facts->us = -1;
    return facts;
}

static const char *or_none(const Buf *text)
{
    return text->n > 0 ? text->s : NULL;
}

/* Adds a word to a list of different ones. */
static void add_word(Buf *list, Str word)
{
    Str rest = buf_str(list);

    while (rest.n > 0)
        if (str_eq(str_take(&rest, ' '), word))
            return;
    buf_puts(list, list->n > 0 ? " " : "");
    buf_add(list, word);
}

static void add_axes(const Mesh *mesh, AtomSet atoms, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    int n = mesh_list_set(mesh, atoms, atom);

    for (int i = 0; i < n; i++)
        add_word(out, str_from(mesh->axes[mesh->atoms[atom[i]].axis].name));
}

/* ---- layers ---- */

/* The number of the outermost repeated group around an op among its like; -1 if there is none. */
static int layer_number(const Draw *draw, int32_t op)
{
    const Groups *groups = draw->groups;
    int number = -1;

    for (int32_t g = groups->group_of[op]; g > 0; g = groups->groups[g].parent) {
        int32_t head = groups->groups[g].fold;
        if (groups->groups[head].fold_n > 1)
            number = g == head ? 0 : (g - head) / (groups->groups[head].next - head);
    }
    return number;
}

static const char *layer_text(const Draw *draw, int least, int most)
{
    if (most < 0)
        return NULL;
    return least == most ? arena_printf(draw->arena, "%d", most)
                         : arena_printf(draw->arena, "%d-%d", least, most);
}

/* ---- ops ---- */

/* The axes that shard an op, and the pins that they come from. */
static void add_cut(const Draw *draw, int32_t op, Buf *axes, Buf *cause)
{
    const OpCut *cut = plan_cut(draw->plan, op);

    for (int i = 0; cut && i < cut->n; i++) {
        AtomSet atoms = cut_atoms(&cut->index[i]);
        uint8_t atom[ATOMS_MAX];
        int n = mesh_list_set(draw->plan->mesh, atoms, atom);
        add_axes(draw->plan->mesh, atoms, axes);
        for (int k = 0; k < n; k++) {
            const Decision *pin =
                why_pin(draw->plan, draw->plan->mesh->atoms[atom[k]].axis, -1, op, i);
            if (pin)
                add_word(cause, label_pin(draw->arena, pin));
        }
    }
}

/* The modules that the paths of all ops begin with. */
static const char *common_path(const Draw *draw, const int32_t *op, int n)
{
    const char *first = op_path_or_name(draw->graph, op[0]);
    size_t same = strlen(first);

    for (int i = 1; i < n; i++) {
        const char *path = op_path_or_name(draw->graph, op[i]);
        size_t k = 0;
        while (k < same && path[k] == first[k])
            k++;
        bool whole = (first[k] == '\0' || first[k] == '.') && (path[k] == '\0' || path[k] == '.');
        while (!whole && k > 0 && first[k] != '.')
            k--;
        same = k;
    }
    return same > 0 ? arena_str(draw->arena, (Str){first, same}) : NULL;
}

static bool is_within(const Draw *draw, int32_t op, const char *path)
{
    size_t n = strlen(path);
    const char *own = op < 0 || op >= draw->graph->n_ops ? "" : op_path(draw->graph, op);
    return strncmp(own, path, n) == 0 && (own[n] == '\0' || own[n] == '.' || n == 0);
}

/* The name of the first op in its module, if the ops are not all of the module `path`, as far as
 * ops beside them say; NULL if they are. A box that begins at the same op has the same name in the
 * drawings of two plans. */
static const char *first_name(const Draw *draw, const int32_t *op, int n, const char *path)
{
    Str label = label_op(draw->session, draw->arena, op[0]);
    size_t n_path = strlen(path), start = 0;
    bool whole = !is_within(draw, op[0] - 1, path) && !is_within(draw, op[n - 1] + 1, path);

    for (size_t i = 0; i < label.n; i++)
        start = label.s[i] == '/' ? i + 1 : start;
    if (n > 1 && n_path > 0 && str_starts(label, str_from(path)))
        start = n_path + 1; /* with the name of its module in this one */
    return start == 0 || start >= label.n || (n > 1 && whole)
               ? NULL
               : arena_str(draw->arena, (Str){label.s + start, label.n - start});
}

const DiagramFacts *facts_of_ops(const Draw *draw, const int32_t *op, int n)
{
    const Graph *graph = draw->graph;
    DiagramFacts *facts = new_facts(draw);
    Buf axes = buf_new(draw->arena), cause = buf_new(draw->arena), phase = buf_new(draw->arena);
    int least = -1, most = -1;
    int32_t made = n == 1 && graph->ops[op[0]].n_outputs > 0 ? op_outputs(graph, op[0])[0] : -1;

    facts->us = 0;
    for (int i = 0; i < n; i++) {
        int layer = layer_number(draw, op[i]);
        facts->us += draw->plan->priced->op_us[op[i]];
        least = i == 0 || layer < least ? layer : least;
        most = layer > most ? layer : most;
        add_word(&phase,
                 str_from(phase_name(graph->phase ? (Phase)graph->phase[op[i]] : PHASE_FORWARD)));
        add_cut(draw, op[i], &axes, &cause);
    }
    facts->op = n == 1 ? label_operator(graph, op[0]) : arena_printf(draw->arena, "%d ops", n);
    facts->path = common_path(draw, op, n);
    facts->first = first_name(draw, op, n, facts->path ? facts->path : "");
    facts->layer = layer_text(draw, least < 0 ? most : least, most);
    facts->axes = or_none(&axes);
    facts->cause = or_none(&cause);
    facts->phase = phase.s;
    if (made >= 0) {
        facts->sharding = draw_value(draw, made, draw->plan->moved->made[made]).str.s;
        facts->bytes = plan_local_bytes(draw->plan, made, draw->plan->moved->made[made]);
    }
    return facts;
}

/* ---- values ---- */

static void put_tensor(const Draw *draw, int32_t tensor, DiagramFacts *facts)
{
    int32_t maker = draw->graph->tensors[tensor].maker;

    facts->path = tensor_is_parameter(draw->plan->inferred, tensor)
                      ? naming_label(draw->session->naming, tensor)
                      : draw_tensor_name(draw, tensor);
    if (maker < 0)
        return;
    int layer = layer_number(draw, maker);
    facts->layer = layer_text(draw, layer, layer);
    facts->phase =
        phase_name(draw->graph->phase ? (Phase)draw->graph->phase[maker] : PHASE_FORWARD);
}

const DiagramFacts *facts_of_tensor(const Draw *draw, int32_t tensor, int32_t sharding)
{
    DiagramFacts *facts = new_facts(draw);
    Buf axes = buf_new(draw->arena);

    put_tensor(draw, tensor, facts);
    if (sharding < 0)
        return facts;
    const Sharding *known = shardings_at(draw->plan->shardings, sharding);
    for (int d = 0; d < known->n_dims; d++)
        add_axes(draw->plan->mesh, cut_atoms(&known->dim[d]), &axes);
    facts->axes = or_none(&axes);
    facts->sharding = draw_value(draw, tensor, sharding).str.s;
    facts->bytes = plan_local_bytes(draw->plan, tensor, sharding);
    return facts;
}

/* ---- what is moved ---- */

const DiagramFacts *facts_of_reshards(const Draw *draw, const int32_t *reshard, int n)
{
    const Plan *plan = draw->plan;
    DiagramFacts *facts = new_facts(draw);
    Buf op = buf_new(draw->arena), axes = buf_new(draw->arena), cause = buf_new(draw->arena);

    facts->us = 0;
    facts->bytes = 0;
    for (int r = 0; r < n; r++) {
        const Reshard *one = &plan->moved->reshards[reshard[r]];
        const Decision *pin = comm_cause(draw->arena, draw->session, one);
        if (pin)
            add_word(&cause, label_pin(draw->arena, pin));
        for (int i = 0; i < one->path->n_steps; i++) {
            const Step *step = &one->path->step[i];
            if (step->kind == STEP_SLICE)
                continue;
            facts->us += step->us;
            facts->bytes += step->bytes;
            add_word(&op, str_from(step_kind_name(step->kind)));
            add_axes(plan->mesh, step->atoms, &axes);
        }
    }
    facts->op = or_none(&op);
    facts->axes = or_none(&axes);
    facts->cause = or_none(&cause);
    const Reshard *only = &plan->moved->reshards[reshard[0]];
    if (n > 1)
        return facts;
    put_tensor(draw, only->tensor, facts);
    facts->sharding =
        arena_printf(draw->arena, "%s -> %s", draw_value(draw, only->tensor, only->from).str.s,
                     draw_value(draw, only->tensor, only->to).str.s);
    return facts;
}

const DiagramFacts *facts_of_reshard(const Draw *draw, const Reshard *reshard)
{
    int32_t number = (int32_t)(reshard - draw->plan->moved->reshards);
    return facts_of_reshards(draw, &number, 1);
}

/* ---- boxes of many ops ---- */

/* The box that an op is drawn in and that has no facts of its own; -1. */
static int box_without(const Draw *draw, int32_t op)
{
    int box = draw->box_of[op];
    bool has = box < 0 || draw->boxes.at[box].facts || draw->boxes.at[box].look == BOX_OUTSIDE;
    return has ? -1 : box;
}

void draw_facts(Draw *draw)
{
    const Inferred *inferred = draw->plan->inferred;
    int32_t *end = arena_array(draw->arena, int32_t, draw->boxes.n + 1);
    int32_t *op = arena_array(draw->arena, int32_t, inferred->n_program + 1);

    for (int i = 0; i < inferred->n_program; i++) {
        int box = box_without(draw, inferred->program[i]);
        end[box + 1] += box >= 0;
    }
    for (int box = 0; box < draw->boxes.n; box++)
        end[box + 1] += end[box];
    for (int i = 0; i < inferred->n_program; i++) {
        int box = box_without(draw, inferred->program[i]);
        if (box >= 0)
            op[end[box]++] = inferred->program[i];
    }
    for (int box = 0, first = 0; box < draw->boxes.n; first = end[box++])
        if (end[box] > first)
            draw->boxes.at[box].facts = facts_of_ops(draw, op + first, end[box] - first);
}
