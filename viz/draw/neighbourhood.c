/* neighbourhood.c - an op and its neighbours within some hops: the makers of what it reads, the
 * readers of what it makes, and so on. What is one hop further away is dashed. */
#include "viz/draw/draw.h"

#include "core/summary/label.h"
#include "viz/draw/parts.h"
#include "viz/dot_layout.h"

enum { BEYOND_NAMED = 3 }; /* of readers further away, at most so many have a box each */

typedef struct {
    Draw *draw;
    int32_t centre;
    int hops;
    int32_t *hop;       /* per op: hops from the centre; -1 if it was not reached */
    Vec(int32_t) order; /* ops by hop */
} Near;

/* ---- the neighbours ---- */

static bool computes(const Near *near, int32_t op)
{
    return op >= 0 && !inferred_is_host(near->draw->plan->inferred, op);
}

static void reach(Near *near, int32_t op, int32_t hop)
{
    if (!computes(near, op) || near->hop[op] >= 0)
        return;
    near->hop[op] = hop;
    vec_push(near->draw->arena, &near->order, op);
}

static void reach_readers(Near *near, int32_t tensor, int32_t hop)
{
    const Graph *graph = near->draw->graph;

    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        reach(near, graph->uses[graph->tensors[tensor].use + u], hop);
}

static void walk(Near *near)
{
    const Graph *graph = near->draw->graph;

    near->hop = arena_array(near->draw->arena, int32_t, graph->n_ops);
    for (int i = 0; i < graph->n_ops; i++)
        near->hop[i] = -1;
    reach(near, near->centre, 0);
    for (int i = 0; i < near->order.n; i++) {
        int32_t op = near->order.at[i], next = near->hop[op] + 1;
        const GraphOp *node = &graph->ops[op];
        if (next > near->hops)
            continue;
        for (int k = 0; k < node->n_inputs; k++) {
            int32_t t = graph->operands[node->input + k];
            reach(near, t < 0 ? -1 : graph->tensors[t].maker, next);
        }
        for (int k = 0; k < node->n_outputs; k++) {
            int32_t t = graph->operands[node->input + node->n_inputs + k];
            if (t >= 0)
                reach_readers(near, t, next);
        }
    }
}

/* ---- how many hops fit ---- */

static bool is_near(const Near *near, int32_t op, int hops)
{
    return op >= 0 && near->hop[op] >= 0 && near->hop[op] <= hops;
}

/* Number of boxes that a value adds: itself if no op makes it, branching points if it is moved to
 * several readers, its readers further away. */
static int count_for_value(const Near *near, int32_t tensor, int hops, bool *counted)
{
    const Draw *draw = near->draw;
    const Graph *graph = draw->graph;
    const Inferred *inferred = draw->plan->inferred;
    int32_t maker = graph->tensors[tensor].maker;
    bool made = is_near(near, maker, hops), fetched = draw_is_fetched(draw, tensor);
    int n = 0, beyond = 0;

    if (tensor_is_known(inferred, tensor) || (tensor_is_parameter(inferred, tensor) && !fetched))
        return 0;
    for (int32_t r = draw->reshards.first[tensor]; r >= 0; r = draw->reshards.next[r])
        n += draw->plan->moved->reshards[r].n_uses > 1 &&
             draw_is_moved(draw, &draw->plan->moved->reshards[r]);
    if (!made)
        return n + 1;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        if (!computes(near, op) || is_near(near, op, hops) || counted[op])
            continue;
        counted[op] = true;
        beyond++;
    }
    bool out = graph->tensors[tensor].output && (fetched || tensor_n_uses(graph, tensor) == 0);
    return n + out + (beyond < BEYOND_NAMED ? beyond : BEYOND_NAMED);
}

/* An upper bound on the boxes for that many hops. */
static int64_t count_boxes(const Near *near, int hops)
{
    const Graph *graph = near->draw->graph;
    Arena *scratch = arena_new();
    bool *seen = arena_array(scratch, bool, graph->n_tensors);
    bool *counted = arena_array(scratch, bool, graph->n_ops);
    int64_t n = 0;

    for (int i = 0; i < near->order.n && is_near(near, near->order.at[i], hops); i++) {
        const GraphOp *node = &graph->ops[near->order.at[i]];
        n++;
        for (int k = 0; k < node->n_inputs + node->n_outputs; k++) {
            int32_t t = graph->operands[node->input + k];
            if (t < 0 || seen[t])
                continue;
            seen[t] = true;
            n += count_for_value(near, t, hops, counted);
        }
    }
    arena_free(scratch);
    return n;
}

/* The most hops that dot can lay out. */
static const char *fitting(const Near *near)
{
    int n_ops = 0, low = 0, high;

    while (n_ops < near->order.n && n_ops < LAYOUT_BOXES_MAX)
        n_ops++;
    high = n_ops > 0 ? near->hop[near->order.at[n_ops - 1]] : 0;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (count_boxes(near, middle) <= LAYOUT_BOXES_MAX)
            low = middle;
        else
            high = middle - 1;
    }
    return low > 0 ? arena_printf(near->draw->arena, "--hops %d", low) : "--kind overview";
}

/* ---- boxes ---- */

/* The module that contains all of them: the common part of their paths, without a name before a
 * number. */
static const char *common_path(const Near *near)
{
    const Graph *graph = near->draw->graph;
    Str common = str_from(op_path_or_name(graph, near->centre));

    for (int i = 0; i < near->order.n && common.n > 0; i++) {
        const char *path = op_path_or_name(graph, near->order.at[i]);
        size_t n = 0, end = 0;
        for (; n < common.n && path[n] == common.s[n]; n++)
            end = path[n] == '.' ? n : end;
        if (n < common.n || (path[n] && path[n] != '.'))
            common.n = end;
        if (is_digit(path[common.n > 0 ? common.n + 1 : 0]))
            while (common.n > 0 && common.s[--common.n] != '.')
                ;
    }
    return arena_str(near->draw->arena, common);
}

/* "act/Mul_1": the unique name of the op without the common path. */
static const char *name_inside(const Draw *draw, int32_t op, const char *inside)
{
    Str name = label_op(draw->session, draw->arena, op);

    if (strcmp(op_path(draw->graph, op), inside) == 0)
        return path_base(op_name(draw->graph, op));
    return arena_str(draw->arena, group_relative(arena_str(draw->arena, name), inside));
}

static void draw_beyond(Draw *draw, int32_t op, const char *inside)
{
    DiagramBox box = diagram_box(BOX_OUTSIDE, name_inside(draw, op, inside));

    box.subtitle = label_operator(draw->graph, op);
    box.link = arena_printf(draw->arena, "#op-%d", op);
    draw->box_of[op] = draw_box(draw, box);
}

/* The readers of a value that are further away. */
static void draw_readers_beyond(const Near *near, int32_t tensor, const char *inside)
{
    Draw *draw = near->draw;
    const Graph *graph = draw->graph;
    int n = 0, box = -1;

    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        n += computes(near, op) && draw->box_of[op] < 0;
    }
    for (int u = 0, named = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        if (!computes(near, op) || draw->box_of[op] >= 0)
            continue;
        if (++named < BEYOND_NAMED || n <= BEYOND_NAMED) {
            draw_beyond(draw, op, inside);
            continue;
        }
        if (box < 0)
            box =
                draw_box(draw, diagram_box(BOX_OUTSIDE, arena_printf(draw->arena, "%d more readers",
                                                                     n - BEYOND_NAMED + 1)));
        draw->box_of[op] = box;
    }
}

static void draw_ops(const Near *near)
{
    Draw *draw = near->draw;
    const Inferred *inferred = draw->plan->inferred;
    const char *inside = common_path(near);

    for (int i = 0; i < inferred->n_program; i++)
        if (near->hop[inferred->program[i]] >= 0) {
            int box = draw_op(draw, inferred->program[i], inside, -1);
            draw->boxes.at[box].title = name_inside(draw, inferred->program[i], inside);
        }
    draw->boxes.at[draw->box_of[near->centre]].marked = true;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        for (int k = 0; near->hop[op] >= 0 && k < draw->graph->ops[op].n_outputs; k++)
            if (op_outputs(draw->graph, op)[k] >= 0)
                draw_readers_beyond(near, op_outputs(draw->graph, op)[k], inside);
    }
}

/* "23 ops within 2 hops; their results are moved by 1 all-reduce over tp in 81.2 us" */
static Text caption(const Near *near)
{
    const Draw *draw = near->draw;
    DrawMoves moves = {0};

    for (int i = 0; i < near->order.n; i++)
        draw_sum_moves(draw, near->order.at[i], &moves);
    Text ops = text_from(arena_printf(draw->arena, "%d op%s within %d hop%s", near->order.n,
                                      near->order.n == 1 ? "" : "s", near->hops,
                                      near->hops == 1 ? "" : "s"));
    if (moves.n == 0)
        return text_join(draw->arena, "@; their results are not resharded", ops);
    return text_join(draw->arena, "@; their results are resharded by @ in @", ops,
                     draw_moves_text(draw, &moves),
                     text_from(draw_us(draw, draw_moves_us(&moves))));
}

bool draw_neighbourhood(Draw *draw, Error *err)
{
    const DiagramRequest *request = draw->request;
    Near near = {.draw = draw, .hops = request->hops > 0 ? request->hops : DIAGRAM_HOPS_DEFAULT};

    if (!parts_need(draw, true, err))
        return false;
    near.centre = draw_find_op(draw, request->of, err);
    if (near.centre < 0)
        return false;
    draw_index_moves(draw);
    walk(&near);
    draw_ops(&near);
    draw_value_lines(draw, true);
    draw->diagram->title =
        arena_printf(draw->arena, "%s: around %s", draw->diagram->title,
                     arena_str(draw->arena, label_op(draw->session, draw->arena, near.centre)));
    draw->diagram->caption = caption(&near);
    if (draw->boxes.n > LAYOUT_BOXES_MAX)
        draw->diagram->fold = fitting(&near);
    return true;
}
