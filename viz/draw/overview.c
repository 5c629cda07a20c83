/* overview.c - groups only: a fold of equal layers is one box, which shows what one of them moves
 * and all together; what is outside of folds is a box per group or per run of ops. If that gives
 * too many boxes, neighbours are joined. */
#include "viz/draw/draw.h"

#include "core/summary/comm.h"
#include "core/summary/label.h"
#include "core/plan/stage.h"

enum { PARTS_MAX = 46, GIVEN_MAX = 6, RUN_LONG = 40, RUNS = 12, FIGURES_LONG = 28 };

/* A run of groups->order: one box. */
typedef struct {
    int32_t first, n; /* ops of one member */
    int repeats;
    int32_t parent; /* of a fold: the group around its members */
    int layers;     /* of a fold: in each member; more than one in a cycle */
    const char *title;
    double us, comm_us; /* sums over all members */
    int64_t parameter_bytes;
} OverviewPiece;

typedef struct {
    Draw *draw;
    Vec(OverviewPiece) parts;
    bool *counted; /* per tensor: a parameter that some part has counted */
    int *frame_of; /* per stage: 1 + its frame; 0 if none yet */
} Overview;

static int32_t op_at(const Overview *o, int32_t place)
{
    return o->draw->groups->order[place];
}

/* ---- splitting the model into parts ---- */

static const char *run_title(const Overview *o, int32_t first, int32_t n)
{
    const Draw *draw = o->draw;
    int32_t op = op_at(o, first), last = op_at(o, first + n - 1);
    const char *path = op_path(draw->graph, op);

    if (n == 1)
        return arena_str(draw->arena, label_op(draw->session, draw->arena, op));
    return arena_printf(draw->arena, "%s%s%s .. %s", path, *path ? ": " : "",
                        path_base(op_name(draw->graph, op)), path_base(op_name(draw->graph, last)));
}

static OverviewPiece *add_part(Overview *o, const char *title, int32_t first, int32_t n,
                               int repeats)
{
    const Draw *draw = o->draw;
    OverviewPiece part = {.first = first, .n = n, .repeats = repeats, .title = title};
    DrawMoves moves = {0};

    for (int32_t i = first; i < first + n * repeats; i++) {
        int32_t op = op_at(o, i);
        part.us += draw->plan->priced->op_us[op];
        draw_sum_moves(draw, op, &moves);
        for (int k = 0; k < draw->graph->ops[op].n_inputs; k++) {
            int32_t t = op_inputs(draw->graph, op)[k];
            if (t < 0 || o->counted[t] || !tensor_is_parameter(draw->plan->inferred, t))
                continue;
            o->counted[t] = true;
            part.parameter_bytes += plan_local_bytes(draw->plan, t, draw->plan->moved->sharding[t]);
        }
    }
    part.comm_us = draw_moves_us(&moves);
    vec_push(draw->arena, &o->parts, part);
    return &o->parts.at[o->parts.n - 1];
}

/* A model that is mostly ungrouped becomes several runs. */
static void add_run(Overview *o, int32_t first, int32_t n)
{
    bool most = n > RUN_LONG && n > o->draw->groups->n_order / 2;
    int32_t each = most ? (n + RUNS - 1) / RUNS : n;

    for (int32_t at = first, end = first + n; at < end; at += each) {
        int32_t here = end - at < each ? end - at : each;
        add_part(o, run_title(o, at, here), at, here, 1);
    }
}

static int n_children(const Groups *groups, int32_t group)
{
    int n = 0;
    for (int32_t c = groups->groups[group].child; c >= 0; c = groups->groups[c].next)
        n++;
    return n;
}

/* A fold, or a group without folds, is one part; other groups are opened. */
static void add_group(Overview *o, int32_t group)
{
    const Groups *groups = o->draw->groups;
    const Group *g = &groups->groups[group];
    int32_t at = g->first;

    for (int32_t c = g->child; c >= 0; c = groups->groups[c].next) {
        const Group *child = &groups->groups[c];
        add_run(o, at, child->first - at);
        at = child->first + child->n;
        if (child->fold != c)
            continue; /* already in the part of its fold */
        bool all = child->n * child->fold_n == g->n;
        if (child->fold_n == 1 && (all || groups_have_fold(groups, c))) {
            add_group(o, c);
            continue;
        }
        Buf title = buf_new(o->draw->arena);
        group_format_fold(groups, c, child->fold_n, 0, &title);
        if (child->fold_n > 1)
            buf_printf(&title, " \xc3\x97%d", child->fold_n);
        OverviewPiece *part = add_part(o, title.s, child->first, child->n, child->fold_n);
        part->parent = child->parent;
        part->layers = child->cycle ? n_children(groups, c) : 1;
    }
    add_run(o, at, g->first + g->n - at);
}

/* ---- joining parts ---- */

static int32_t n_ops(const OverviewPiece *part)
{
    return part->n * part->repeats;
}

static void join(OverviewPiece *to, const OverviewPiece *part, const char *title)
{
    to->n = n_ops(to) + n_ops(part);
    to->repeats = 1;
    to->title = title;
    to->us += part->us;
    to->comm_us += part->comm_us;
    to->parameter_bytes += part->parameter_bytes;
}

static bool is_idle(const OverviewPiece *part)
{
    return part->us <= 0 && part->comm_us <= 0 && part->parameter_bytes == 0 && part->repeats == 1;
}

/* Joins parts that consist of views with a neighbour. */
static void join_idle(Overview *o)
{
    int n = 0;

    for (int i = 0; i < o->parts.n; i++) {
        OverviewPiece *part = &o->parts.at[i], *before = n > 0 ? &o->parts.at[n - 1] : NULL;
        if (before && before->repeats == 1 && is_idle(part))
            join(before, part, before->title);
        else if (before && part->repeats == 1 && is_idle(before))
            join(before, part, part->title);
        else
            o->parts.at[n++] = *part;
    }
    o->parts.n = n;
}

/* Joins neighbours that together have at most `most` ops. */
static void join_small(Overview *o, int64_t most)
{
    int n = 0;

    for (int i = 0; i < o->parts.n; i++) {
        OverviewPiece *part = &o->parts.at[i], *before = n > 0 ? &o->parts.at[n - 1] : NULL;
        if (before && (int64_t)n_ops(before) + n_ops(part) <= most)
            join(before, part, NULL);
        else
            o->parts.at[n++] = *part;
    }
    o->parts.n = n;
}

static void title_joined(Overview *o)
{
    const Draw *draw = o->draw;

    for (int i = 0; i < o->parts.n; i++) {
        OverviewPiece *part = &o->parts.at[i];
        int32_t first = op_at(o, part->first), last = op_at(o, part->first + part->n - 1);
        if (!part->title)
            part->title =
                arena_printf(draw->arena, "%s .. %s",
                             arena_str(draw->arena, label_op(draw->session, draw->arena, first)),
                             arena_str(draw->arena, label_op(draw->session, draw->arena, last)));
    }
}

static void choose_parts(Overview *o)
{
    add_group(o, 0);
    join_idle(o);
    for (int64_t most = 2; o->parts.n > PARTS_MAX; most *= 2)
        join_small(o, most);
    title_joined(o);
}

/* ---- texts of a box ---- */

/* "each: 2 all-reduces over tp", "all 12: 24 all-reduces over tp: 1.95 ms" */
static void put_moves(const Overview *o, const OverviewPiece *part, Buf *out)
{
    DrawMoves one = {0}, all = {0};
    int32_t typical = part->first + part->repeats / 2 * part->n;

    for (int32_t i = part->first; i < part->first + n_ops(part); i++) {
        draw_sum_moves(o->draw, op_at(o, i), &all);
        if (i >= typical && i < typical + part->n)
            draw_sum_moves(o->draw, op_at(o, i), &one);
    }
    if (all.n == 0)
        return;
    Arena *arena = o->draw->arena;
    Text sum = draw_moves_text(o->draw, &all), us = text_from(draw_us(o->draw, part->comm_us));
    if (part->repeats > 1) {
        Text each = one.n > 0 ? draw_moves_text(o->draw, &one) : text_from("none");
        buf_putc(out, '\n');
        buf_add_text(out, draw_wrapped(o->draw, text_join(arena, "each: @", each)));
        sum =
            text_join(arena, "@@", text_from(arena_printf(arena, "all %d: ", part->repeats)), sum);
    }
    buf_putc(out, '\n');
    buf_add_text(out, draw_wrapped(o->draw, text_join(arena, "@: @", sum, us)));
}

static const char *figures_of(const Overview *o, const OverviewPiece *part, bool dearest)
{
    const Totals *totals = &o->draw->plan->priced->totals;
    double us = part->us + part->comm_us, share = totals->step_us > 0 ? us / totals->step_us : 0;
    Buf text = buf_new(o->draw->arena);

    buf_printf(&text, "%s%s", dearest ? "largest: " : "", draw_us(o->draw, us));
    if (share >= 0.01)
        buf_printf(&text, ", %.0f%% of the %s", 100 * share, label_pass(o->draw->plan));
    if (part->parameter_bytes > 0)
        buf_printf(&text, "%sparameters %s per device", text.n > FIGURES_LONG ? "\n" : "  ",
                   draw_bytes(o->draw, part->parameter_bytes));
    put_moves(o, part, &text);
    return text.s;
}

/* ---- boxes ---- */

/* The frame of the stage that contains the whole part; -1 if none does. */
static int stage_frame(Overview *o, const OverviewPiece *part)
{
    Draw *draw = o->draw;
    const Plan *plan = draw->plan;
    int stage = stage_of(plan, op_at(o, part->first));

    if (!plan->decided->stages || plan->decided->stages->n < 2 || stage < 0)
        return -1;
    for (int32_t i = part->first; i < part->first + n_ops(part); i++)
        if (stage_of(plan, op_at(o, i)) != stage)
            return -1;
    if (!o->frame_of[stage]) {
        Buf title = buf_new(draw->arena);
        buf_printf(&title, "stage %d on ", stage);
        comm_format_part(draw->session, plan->decided->stages->at[stage].devices, &title);
        o->frame_of[stage] = 1 + draw_frame(draw, draw_new_frame(FRAME_STAGE, title.s, NULL, -1));
    }
    return o->frame_of[stage] - 1;
}

/* The least number of iterations of its ops, if they are the body of a loop. */
static double least_iterations(const Overview *o, const OverviewPiece *part)
{
    double least = inferred_repeat(o->draw->plan->inferred, op_at(o, part->first));

    for (int32_t i = part->first + 1; i < part->first + n_ops(part); i++) {
        double turns = inferred_repeat(o->draw->plan->inferred, op_at(o, i));
        least = turns < least ? turns : least;
    }
    return least;
}

static void draw_part(Overview *o, const OverviewPiece *part, bool dearest)
{
    Draw *draw = o->draw;
    int32_t head = op_at(o, part->first);
    double turns = least_iterations(o, part);
    DiagramBox box = diagram_box(
        part->repeats > 1 ? BOX_GROUP : BOX_OP,
        turns > 1 ? arena_printf(draw->arena, "%s \xe2\x86\xbb%.10g", part->title, turns)
                  : part->title);

    box.subtitle = part->n == 1        ? label_operator(draw->graph, head)
                   : part->repeats > 1 ? arena_printf(draw->arena, "%d ops each", part->n)
                                       : arena_printf(draw->arena, "%d ops", part->n);
    box.flow = draw_part_flow(draw, draw->groups->order + part->first, part->n);
    box.figures = figures_of(o, part, dearest);
    box.why = draw_cause(draw, head);
    box.link = arena_printf(draw->arena, "#op-%d", head);
    box.frame = stage_frame(o, part);
    box.marked = dearest;
    int at = draw_box(draw, box);
    for (int32_t i = part->first; i < part->first + n_ops(part); i++)
        draw->box_of[op_at(o, i)] = at;
}

static void draw_parts(Overview *o)
{
    int dearest = 0;

    for (int i = 1; i < o->parts.n; i++)
        if (o->parts.at[i].us + o->parts.at[i].comm_us >
            o->parts.at[dearest].us + o->parts.at[dearest].comm_us)
            dearest = i;
    for (int i = 0; i < o->parts.n; i++)
        draw_part(o, &o->parts.at[i], i == dearest && o->parts.n > 1);
}

/* "61 layers; ": the layers in folds within one group, if they are most of the model. */
static int count_layers(const Overview *o)
{
    int64_t n_all = o->draw->groups->n_order;

    for (int i = 0; i < o->parts.n; i++) {
        int layers = 0;
        int64_t ops = 0;
        for (int k = i; k < o->parts.n; k++) {
            const OverviewPiece *part = &o->parts.at[k];
            if (part->repeats < 2 || part->parent != o->parts.at[i].parent)
                continue;
            layers += part->repeats * part->layers;
            ops += n_ops(part);
        }
        if (ops > n_all / 2)
            return layers;
    }
    return 0;
}

static Text caption(const Overview *o)
{
    Arena *arena = o->draw->arena;
    Text totals = draw_totals_text(o->draw);
    int layers = count_layers(o);

    return layers > 0 ? text_join(arena, "@ layers; @",
                                  text_from(arena_printf(arena, "%d", layers)), totals)
                      : totals;
}

bool draw_overview(Draw *draw, Error *err)
{
    Overview o = {.draw = draw};

    (void)err;
    draw_index_moves(draw);
    o.counted = arena_array(draw->arena, bool, draw->graph->n_tensors + 1);
    o.frame_of = arena_array(draw->arena, int,
                             draw->plan->decided->stages ? draw->plan->decided->stages->n + 1 : 1);
    choose_parts(&o);
    draw_parts(&o);
    draw_group_lines(draw, GIVEN_MAX);
    draw->diagram->caption = caption(&o);
    draw->diagram->fold = "--kind block";
    return true;
}
