/* group_lines.c - lines between boxes of many ops: from one box to another at most a thin line for
 * values that are not moved, and one line for all that are. */
#include "viz/draw/facts.h"

typedef struct {
    int from, to;
    bool moved, partial;
    Vec(int32_t) reshards; /* reshards first drawn on this line */
    int32_t shared;        /* a reshard that an earlier line has drawn; -1 if none */
} GroupLine;

typedef struct {
    Draw *draw;
    Intern *pairs; /* {from, to, moved}: their line */
    Vec(GroupLine) lines;
    Vec(int32_t) given, out; /* tensors */
    int given_max;
} GroupLines;

static void add_reader(GroupLines *g, int from, int to, int32_t state, bool partial)
{
    Draw *draw = g->draw;
    int32_t key[3] = {from, to, state >= 0};
    int32_t id = intern_put(g->pairs, key, sizeof key);

    if (id == g->lines.n)
        vec_push(draw->arena, &g->lines,
                 (GroupLine){.from = from, .to = to, .moved = state >= 0, .shared = -1});
    assert(g->lines.at);
    GroupLine *line = &g->lines.at[id];
    line->partial |= partial;
    if (state >= 0 && draw->reached[state])
        line->shared = state;
    for (; state >= 0 && !draw->reached[state]; state = draw_reshard_before(draw, state)) {
        draw->reached[state] = true;
        vec_push(draw->arena, &line->reshards, state);
    }
}

/* ---- inputs and outputs of the graph ---- */

/* A box for each of the first n; the last box is for all others. */
static int outside_box(GroupLines *g, int32_t tensor, int n, int n_all, const char *what)
{
    Draw *draw = g->draw;
    bool rest = n >= g->given_max - 1 && n_all > g->given_max;
    DiagramBox box =
        diagram_box(BOX_OUTSIDE, rest ? arena_printf(draw->arena, "%d %ss more", n_all - n, what)
                                      : tensor_name(draw->graph, tensor));

    box.subtitle = what;
    if (!rest) {
        box.flow = draw_value(draw, tensor, draw->plan->moved->sharding[tensor]);
        box.facts = facts_of_tensor(draw, tensor, draw->plan->moved->sharding[tensor]);
    }
    return draw_box(draw, box);
}

static bool has_reader(const Draw *draw, int32_t tensor)
{
    for (int u = 0; u < tensor_n_uses(draw->graph, tensor); u++)
        if (draw->box_of[draw->graph->uses[draw->graph->tensors[tensor].use + u]] >= 0)
            return true;
    return false;
}

static bool is_given(const Draw *draw, int32_t tensor)
{
    const Inferred *inferred = draw->plan->inferred;
    return draw->graph->tensors[tensor].maker < 0 && !tensor_is_known(inferred, tensor) &&
           !tensor_is_parameter(inferred, tensor) && has_reader(draw, tensor);
}

static void draw_given(GroupLines *g)
{
    Draw *draw = g->draw;

    for (int i = 0; i < draw->graph->n_inputs; i++)
        if (is_given(draw, draw->graph->inputs[i]))
            vec_push(draw->arena, &g->given, draw->graph->inputs[i]);
    for (int i = 0, box = -1; i < g->given.n; i++) {
        if (i < g->given_max)
            box = outside_box(g, g->given.at[i], i, g->given.n, "input");
        draw->outside[g->given.at[i]] = 1 + box;
    }
}

/* What an update makes of the parameters and the states is the input of the next step. */
static bool is_state(const Graph *graph, int32_t maker)
{
    return graph->phase && graph->phase[maker] == PHASE_UPDATE;
}

static void draw_out(GroupLines *g)
{
    Draw *draw = g->draw;

    for (int i = 0; i < draw->graph->n_outputs; i++) {
        int32_t t = draw->graph->outputs[i], maker = draw->graph->tensors[t].maker;
        if (maker >= 0 && draw->box_of[maker] >= 0 && !is_state(draw->graph, maker))
            vec_push(draw->arena, &g->out, t);
    }
    for (int i = 0, box = -1; i < g->out.n; i++) {
        int32_t t = g->out.at[i], maker = draw->graph->tensors[t].maker;
        if (i < g->given_max)
            box = outside_box(g, t, i, g->out.n, "output");
        add_reader(g, draw->box_of[maker], box,
                   draw_reshard_for(draw, t, draw->plan->moved->sharding[t],
                                    plan_devices(draw->plan, maker)),
                   false);
    }
}

/* ---- lines ---- */

static void add_op(GroupLines *g, int32_t op)
{
    Draw *draw = g->draw;
    const Graph *graph = draw->graph;

    for (int k = 0; k < graph->ops[op].n_inputs; k++) {
        int32_t t = op_inputs(graph, op)[k], maker = t < 0 ? -1 : graph->tensors[t].maker;
        int from = t < 0 ? -1 : maker >= 0 ? draw->box_of[maker] : draw->outside[t] - 1;
        if (from < 0 || from == draw->box_of[op])
            continue;
        int32_t need = draw->plan->moved->need[graph->ops[op].input + k];
        add_reader(g, from, draw->box_of[op],
                   draw_reshard_for(draw, t, need, plan_devices(draw->plan, op)),
                   need >= 0 && sharding_partials(shardings_at(draw->plan->shardings, need)) != 0);
    }
}

/* "12 all-gathers over tp", "0.97 ms" */
static Text all_text(const Draw *draw, const GroupLine *line)
{
    DrawMoves moves = {0};

    for (int i = 0; i < line->reshards.n; i++)
        draw_add_reshard(draw, &draw->plan->moved->reshards[line->reshards.at[i]], &moves);
    return text_join(draw->arena, "@\n@", draw_moves_text(draw, &moves),
                     text_from(draw_us(draw, draw_moves_us(&moves))));
}

static void draw_group_line(Draw *draw, const GroupLine *line)
{
    int n = line->reshards.n;
    int32_t r = n > 0 ? line->reshards.at[0] : line->shared;
    DiagramLine out =
        line->moved ? draw_moved_line(draw, line->from, line->to, &draw->plan->moved->reshards[r])
                    : draw_new_line(LINE_VALUE, line->from, line->to);

    out.partial = line->partial && !line->moved;
    if (line->moved && n == 0)
        out.label = text_from(arena_printf(draw->arena, "the same %s", step_kind_mark(out.kind)));
    if (n > 1) {
        out.label = all_text(draw, line);
        out.facts = facts_of_reshards(draw, line->reshards.at, n);
    }
    draw_line(draw, out);
}

void draw_group_lines(Draw *draw, int given_max)
{
    GroupLines g = {.draw = draw, .pairs = intern_new(draw->arena), .given_max = given_max};
    const Inferred *inferred = draw->plan->inferred;

    draw->reached = arena_array(draw->arena, bool, draw->plan->moved->n_reshards + 1);
    draw_given(&g);
    for (int i = 0; i < inferred->n_program; i++)
        if (draw->box_of[inferred->program[i]] >= 0)
            add_op(&g, inferred->program[i]);
    draw_out(&g);
    for (int i = 0; i < g.lines.n; i++)
        draw_group_line(draw, &g.lines.at[i]);
}
