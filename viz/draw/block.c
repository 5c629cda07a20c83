/* block.c - one repeated block in full: a box per op, in frames that follow its modules. A view
 * that costs nothing is written in the box of the op it views, a parameter in the box of its
 * reader. Values from outside and readers outside are dashed. */
#include "viz/draw/layer.h"

#include "core/cost/cost.h"
#include "core/summary/label.h"

enum { FRAME_OPS_MIN = 3, FRAME_FLAT_MIN = 8, NEXT_MAX = 6 };

/* "Reshape 8192/dp,768": a view written in the box of another op, and how many such there are. */
typedef struct {
    int box, n;
    Text text;
} ViewLine;

typedef struct {
    Draw *draw;
    const Groups *groups;
    int32_t group; /* the repeated block */
    bool *inside;  /* per op: it is part of the block */
    Vec(ViewLine) views;
} BlockPicture;

/* ---- which block ---- */

/* Of the model: those of the backward pass follow from it. */
static int32_t largest_fold(const Draw *draw)
{
    const Groups *groups = draw->groups;
    const uint8_t *phase = draw->graph->phase;
    int32_t best = -1;
    int64_t most = 0;

    for (int32_t i = 0; i < groups->n_groups; i++) {
        int64_t ops = (int64_t)groups->groups[i].n * groups->groups[i].fold_n;
        if (phase && phase[groups->order[groups->groups[i].first]] != PHASE_FORWARD)
            continue;
        if (groups->groups[i].fold_n > 1 && groups->groups[i].fold == i && ops > most) {
            most = ops;
            best = i;
        }
    }
    return best;
}

static int32_t members(const Groups *groups, int32_t group)
{
    return groups->groups[groups->groups[group].fold].fold_n;
}

/* The outermost repeated group that contains the op, else the outermost group that is not the whole
 * model. */
static int32_t group_with(const Groups *groups, int32_t op)
{
    int32_t found = groups->group_of[op], best = -1, last = found;

    for (; found > 0; found = groups->groups[found].parent) {
        if (members(groups, found) > 1)
            best = found;
        if (groups->groups[found].n < groups->n_order)
            last = found;
    }
    return best >= 0 ? best : last;
}

int32_t draw_choose_group(const Draw *draw, Error *err)
{
    const char *of = draw->request->of;
    int32_t fold = of ? -1 : largest_fold(draw), op = -1;

    if (of) {
        op = draw_find_op(draw, of, err);
        return op < 0 ? -1 : group_with(draw->groups, op);
    }
    if (fold < 0) {
        error_kind(err, ERROR_UNSUPPORTED, "no block of this model repeats");
        error_hint(err, "--kind overview draws the whole model, --kind %s OP the module of an op",
                   diagram_kind(draw->request->kind)->name);
    }
    return fold;
}

/* ---- views ---- */

static Text view_text(const Draw *draw, int32_t op)
{
    int32_t out = op_outputs(draw->graph, op)[0];
    return text_join(draw->arena, "@ @", text_from(label_operator(draw->graph, op)),
                     draw_value(draw, out, draw->plan->moved->made[out]));
}

/* The box of the op that this one is a view of, or -1 if data is moved between them. */
static int viewed_box(const BlockPicture *block, int32_t op)
{
    const Draw *draw = block->draw;
    const GraphOp *node = &draw->graph->ops[op];

    if (op_work(draw->plan, op) != WORK_VIEW || node->n_outputs != 1 || node->n_inputs < 1)
        return -1;
    int32_t t = op_inputs(draw->graph, op)[0], maker = t < 0 ? -1 : draw->graph->tensors[t].maker;
    if (maker < 0 || !block->inside[maker] || op_outputs(draw->graph, op)[0] < 0)
        return -1;
    int32_t need = draw->plan->moved->need[node->input];
    return draw_reshard_for(draw, t, need, plan_devices(draw->plan, op)) >= 0 ? -1
                                                                              : draw->box_of[maker];
}

static bool add_to_viewed_box(BlockPicture *block, int32_t op)
{
    Draw *draw = block->draw;
    int box = viewed_box(block, op);
    Text text = box < 0 ? text_from("") : view_text(draw, op);

    if (box < 0)
        return false;
    draw->box_of[op] = box;
    for (int i = block->views.n - 1; i >= 0; i--)
        if (block->views.at[i].box == box && str_eq(block->views.at[i].text.str, text.str)) {
            block->views.at[i].n++;
            return true;
        }
    vec_push(draw->arena, &block->views, (ViewLine){box, 1, text});
    return true;
}

static void add_views(BlockPicture *block)
{
    Draw *draw = block->draw;

    for (int i = 0; i < block->views.n; i++) {
        const ViewLine *view = &block->views.at[i];
        DiagramBox *box = &draw->boxes.at[view->box];
        const char *times = view->n > 1 ? arena_printf(draw->arena, "  \xc3\x97%d", view->n) : "";
        box->flow = text_join(draw->arena, "@\nthen @@", box->flow, view->text, text_from(times));
    }
}

/* ---- values computed from parameters only ---- */

/* Such an op is written in the box of its only reader, like the parameter it is computed from. */
static bool is_in_reader_box(const BlockPicture *block, int32_t op)
{
    const Draw *draw = block->draw;
    const Graph *graph = draw->graph;
    int32_t t = graph->ops[op].n_outputs == 1 ? op_outputs(graph, op)[0] : -1, of = -1;

    if (t < 0 || !draw->plan->inferred->on_parameters[op] || tensor_n_uses(graph, t) != 1 ||
        draw_is_fetched(draw, t) || !block->inside[graph->uses[graph->tensors[t].use]])
        return false;
    for (int i = 0, n = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t in = op_inputs(graph, op)[i];
        if (in < 0 || tensor_is_known(draw->plan->inferred, in))
            continue;
        of = in;
        if (++n > 1 || draw_is_fetched(draw, in))
            return false;
    }
    if (of < 0 || tensor_is_parameter(draw->plan->inferred, of))
        return of >= 0;
    int32_t maker = graph->tensors[of].maker;
    return maker >= 0 && block->inside[maker] && is_in_reader_box(block, maker);
}

/* Maps each such op to the box of its reader. */
static void place_in_reader_box(BlockPicture *block, int32_t op)
{
    Draw *draw = block->draw;

    for (int i = 0; i < draw->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(draw->graph, op)[i];
        int32_t maker = t < 0 ? -1 : draw->graph->tensors[t].maker;
        if (maker < 0 || draw->box_of[maker] >= 0 || !block->inside[maker] ||
            !is_in_reader_box(block, maker))
            continue;
        draw->box_of[maker] = draw->box_of[op];
        place_in_reader_box(block, maker);
    }
}

/* ---- boxes ---- */

static void draw_one(BlockPicture *block, int32_t op, const char *inside, int frame)
{
    Draw *draw = block->draw;
    const char *path = op_path_or_name(draw->graph, op);

    if (is_in_reader_box(block, op) || add_to_viewed_box(block, op))
        return;
    int at = draw_op(draw, op, inside, frame);
    place_in_reader_box(block, op);
    if (strcmp(path, inside) == 0) /* directly in the framed module */
        draw->boxes.at[at].title = path_base(op_name(draw->graph, op));
}

static int frame_of_group(BlockPicture *block, int32_t group, const char *base, int around)
{
    const Group *g = &block->groups->groups[group];
    Draw *draw = block->draw;
    int n = g->fold == group ? g->fold_n : 1;
    Buf title = buf_new(draw->arena);

    if (n == 1 && g->n < (g->child < 0 ? FRAME_FLAT_MIN : FRAME_OPS_MIN))
        return around;
    if (n > 1) {
        group_format_fold(block->groups, group, n, g->parent < 0 ? 0 : g->parent, &title);
        buf_printf(&title, " \xc3\x97%d", n);
    } else {
        buf_add(&title, group_relative(g->path, base));
    }
    FrameLook look = n > 1 ? FRAME_REPEATED : FRAME_PLAIN;
    return draw_frame(draw, draw_new_frame(look, title.s, g->path, around));
}

/* Ops of the other members of a fold share the boxes of their counterparts in the first. */
static void share_boxes(BlockPicture *block, int32_t group)
{
    const Group *g = &block->groups->groups[group];
    Draw *draw = block->draw;

    for (int i = 1; i < g->fold_n; i++) {
        const Group *member = &block->groups->groups[groups_member(block->groups, group, i)];
        for (int32_t k = 0; k < g->n && k < member->n; k++)
            draw->box_of[block->groups->order[member->first + k]] =
                draw->box_of[block->groups->order[g->first + k]];
    }
}

static void draw_group(BlockPicture *block, int32_t group, const char *base, int frame)
{
    const Groups *groups = block->groups;
    const Group *g = &groups->groups[group];
    int32_t at = g->first;

    for (int32_t c = g->child; c >= 0; c = groups->groups[c].next) {
        const Group *child = &groups->groups[c];
        for (; at < child->first; at++)
            draw_one(block, groups->order[at], base, frame);
        at = child->first + child->n;
        if (child->fold != c)
            continue;
        int inner = frame_of_group(block, c, base, frame);
        draw_group(block, c, inner == frame ? base : group_prefix(groups, c), inner);
        if (child->fold_n > 1)
            share_boxes(block, c);
    }
    for (; at < g->first + g->n; at++)
        draw_one(block, groups->order[at], base, frame);
}

/* ---- readers outside the block ---- */

/* The group of a reader outside the block: a sibling of the block, or a group around it. */
static int32_t group_beside(const BlockPicture *block, int32_t op)
{
    const Groups *groups = block->groups;
    int depth = groups->groups[block->group].depth;
    int32_t group = groups->group_of[op];

    while (group > 0 && groups->groups[group].depth > depth)
        group = groups->groups[group].parent;
    return group;
}

static void draw_next(BlockPicture *block)
{
    Draw *draw = block->draw;
    const Graph *graph = draw->graph;
    const Group *g = &block->groups->groups[block->group];
    Intern *seen = intern_new(draw->arena);
    int box[NEXT_MAX] = {0};

    for (int32_t i = g->first; i < g->first + g->n; i++) {
        const GraphOp *node = &graph->ops[block->groups->order[i]];
        for (int k = 0; k < node->n_outputs; k++) {
            int32_t t = graph->operands[node->input + node->n_inputs + k];
            for (int u = 0; t >= 0 && u < tensor_n_uses(graph, t); u++) {
                int32_t op = graph->uses[graph->tensors[t].use + u];
                if (block->inside[op] || inferred_is_host(draw->plan->inferred, op))
                    continue;
                int32_t beside = group_beside(block, op);
                int32_t key = beside > 0 ? beside : -1 - op;
                int32_t id = intern_put(seen, &key, sizeof key);
                int at = id < NEXT_MAX ? id : NEXT_MAX - 1;
                if (id == at && !box[at]) {
                    DiagramBox next = diagram_box(
                        BOX_OUTSIDE,
                        id == NEXT_MAX - 1 ? "others"
                        : beside > 0
                            ? block->groups->groups[beside].path
                            : arena_str(draw->arena, label_op(draw->session, draw->arena, op)));
                    next.subtitle = "reads it";
                    box[at] = 1 + draw_box(draw, next);
                }
                draw->box_of[op] = box[at] - 1;
            }
        }
    }
}

/* ---- the whole drawing ---- */

/* "one of 12 equal blocks: it takes 0.818 ms, 0.162 ms of that in 2 all-reduces over tp" */
static Text caption(const BlockPicture *block)
{
    const Draw *draw = block->draw;
    const Group *g = &block->groups->groups[block->group];
    DrawMoves moves = {0};
    Buf text = buf_marked(draw->arena);
    double us = 0;

    for (int32_t i = g->first; i < g->first + g->n; i++) {
        us += draw->plan->priced->op_us[block->groups->order[i]];
        draw_sum_moves(draw, block->groups->order[i], &moves);
    }
    double comm_us = draw_moves_us(&moves);
    int n = members(block->groups, block->group);
    if (n > 1)
        buf_printf(&text, "one of %d equal blocks: ", n);
    buf_printf(&text, "it takes %s", draw_us(draw, us + comm_us));
    buf_puts(&text, moves.n > 0 ? ", " : ", no collectives");
    if (moves.n > 0)
        buf_add_text(&text,
                     text_join(draw->arena, "@ of that in @", text_from(draw_us(draw, comm_us)),
                               draw_moves_text(draw, &moves)));
    return buf_text(&text);
}

static const char *frame_title(const BlockPicture *block)
{
    const Group *g = &block->groups->groups[block->group];
    Buf title = buf_new(block->draw->arena);
    int n = members(block->groups, block->group);

    group_format_fold(block->groups, g->fold, n, 0, &title);
    if (n > 1)
        buf_printf(&title, " \xc3\x97%d", n);
    return title.s;
}

/* Drops the path of the block from the names in it. */
static void shorten_titles(BlockPicture *block)
{
    const char *path = group_prefix(block->groups, block->group);
    Draw *draw = block->draw;

    for (int i = 0; i < draw->boxes.n; i++)
        if (draw->boxes.at[i].look == BOX_PARAMETER)
            draw->boxes.at[i].title =
                arena_str(draw->arena, group_relative(draw->boxes.at[i].title, path));
}

bool draw_block(Draw *draw, Error *err)
{
    BlockPicture block = {.draw = draw, .groups = draw->groups};

    block.group = draw_choose_group(draw, err);
    if (block.group < 0)
        return false;
    const Group *g = &draw->groups->groups[block.group];
    block.inside = arena_array(draw->arena, bool, draw->graph->n_ops + 1);
    for (int32_t i = g->first; i < g->first + g->n; i++)
        block.inside[draw->groups->order[i]] = true;
    draw_index_moves(draw);
    FrameLook look = members(draw->groups, block.group) > 1 ? FRAME_REPEATED : FRAME_PLAIN;
    int frame = draw_frame(draw, draw_new_frame(look, frame_title(&block), g->path, -1));
    draw_group(&block, block.group, group_prefix(draw->groups, block.group), frame);
    add_views(&block);
    draw_next(&block);
    draw_value_lines(draw, true);
    shorten_titles(&block);
    draw->diagram->title = arena_printf(draw->arena, "%s: %s", draw->diagram->title, g->path);
    draw->diagram->caption = caption(&block);
    return true;
}
