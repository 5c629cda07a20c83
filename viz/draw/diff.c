/* diff.c - two plans in one drawing: what differs, and its neighbours.
 *
 * A box is a line of diff_outline.h: an op, for all layers that are equal. Boxes of ops that differ
 * show both sides; their equal neighbours are small; runs of other equal ops are one box. A view is
 * part of the box of the op it views. */
#include "viz/draw/draw.h"

#include "core/cost/cost.h"
#include "core/summary/diff_outline.h"
#include "core/summary/label.h"

enum { SIDES = 2, BOXES_MAX = 110 };

static const char side_name[SIDES] = {'A', 'B'};

typedef struct {
    bool op, differs, near; /* it is an op; it differs; it is next to one that differs */
    int view_of;            /* the line whose box it is in; itself unless it is a view */
    int box;
} Stand;

typedef struct {
    int from, to; /* boxes it goes between */
    int32_t line; /* the outline's line for the reshard; -1 if the value is not moved */
    int32_t reshard[SIDES];
    bool on[SIDES];
    bool back; /* to the next layer */
} DiffWay;

typedef struct {
    Draw *draw;
    Draw side[SIDES];
    const PlanDiff *diff;
    DiffOutline outline;
    Stand *rows; /* per line of the outline */
    Intern *pairs;
    Vec(DiffWay) ways;
} Diff;

static const DiffLine *line_at(const Diff *d, int i)
{
    return &d->outline.line[i];
}

/* ---- values between lines ---- */

static bool is_view_of(const Diff *d, int s, int32_t op, int *line)
{
    const Draw *side = &d->side[s];
    int32_t t = side->graph->ops[op].n_inputs > 0 ? op_inputs(side->graph, op)[0] : -1;
    int32_t maker = t < 0 ? -1 : side->graph->tensors[t].maker;

    if (maker < 0 || d->outline.of_op[s][maker] < 0 || op_work(side->plan, op) != WORK_VIEW)
        return false;
    int32_t need = side->plan->moved->need[side->graph->ops[op].input];
    if (draw_reshard_for(side, t, need, plan_devices(side->plan, op)) >= 0)
        return false;
    *line = d->outline.of_op[s][maker];
    return true;
}

static int view_of(const Diff *d, int i)
{
    int of[SIDES] = {i, i};

    for (int s = 0; s < SIDES; s++) {
        if (line_at(d, i)->id[s] >= 0 && !is_view_of(d, s, line_at(d, i)->id[s], &of[s]))
            return i;
        if (of[s] > i) /* from the layer before */
            return i;
    }
    return of[0] == i ? of[1] : of[1] == i || of[0] == of[1] ? of[0] : i;
}

static int line_of(const Diff *d, int s, int32_t op)
{
    int line = op < 0 ? -1 : d->outline.of_op[s][op];
    return line < 0 ? -1 : d->rows[line].view_of;
}

typedef void EachWay(Diff *d, int s, int32_t tensor, int32_t reader, int place, int from, int to);

/* Visits each value from op to op, on both sides. */
static void each_way(Diff *d, EachWay *visit)
{
    for (int s = 0; s < SIDES; s++) {
        const Graph *graph = d->side[s].graph;
        const Inferred *inferred = d->side[s].plan->inferred;
        for (int i = 0; i < inferred->n_program; i++) {
            int32_t op = inferred->program[i];
            for (int k = 0; k < graph->ops[op].n_inputs; k++) {
                int32_t t = op_inputs(graph, op)[k];
                int from = t < 0 ? -1 : line_of(d, s, graph->tensors[t].maker);
                int to = line_of(d, s, op);
                if (from >= 0 && to >= 0 && from != to)
                    visit(d, s, t, op, graph->ops[op].input + k, from, to);
            }
        }
    }
}

static int32_t moved_by(const Diff *d, int s, int32_t tensor, int32_t reader, int place)
{
    const Draw *side = &d->side[s];
    return draw_reshard_for(side, tensor, side->plan->moved->need[place],
                            plan_devices(side->plan, reader));
}

static bool differs(const Diff *d, int s, int32_t reshard)
{
    return reshard >= 0 && line_at(d, d->outline.of_reshard[s][reshard])->mark != '=';
}

static void mark_moved(Diff *d, int s, int32_t t, int32_t reader, int place, int from, int to)
{
    if (differs(d, s, moved_by(d, s, t, reader, place)))
        d->rows[from].near = d->rows[to].near = true;
}

static void mark_near(Diff *d, int s, int32_t t, int32_t reader, int place, int from, int to)
{
    (void)s, (void)t, (void)reader, (void)place;
    d->rows[from].near |= d->rows[to].differs;
    d->rows[to].near |= d->rows[from].differs;
}

/* ---- texts of a box ---- */

/* "weight 768/dp,3072, AG dp 9.0 MiB 24.9 us": a line for each parameter that is moved to the
 * op. */
static void put_fetched(const Draw *side, int32_t op, Buf *out)
{
    const GraphOp *node = &side->graph->ops[op];

    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(side->graph, op)[i];
        if (t < 0 || !tensor_is_parameter(side->plan->inferred, t) || !draw_is_fetched(side, t))
            continue;
        int32_t r = draw_reshard_for(side, t, side->plan->moved->need[node->input + i],
                                     plan_devices(side->plan, op));
        Str name = group_relative(naming_label(side->session->naming, t), op_path(side->graph, op));
        buf_printf(out, "%s%.*s ", out->n > 0 ? "\n" : "", STR_ARG(name));
        buf_add_text(out, draw_value(side, t, side->plan->moved->sharding[t]));
        if (r >= 0)
            buf_add_text(out, text_join(side->arena, ", @",
                                        draw_steps(side, side->plan->moved->reshards[r].path)));
    }
}

/* Lines with the shardings of the op's parameters and their moves; "" without parameters. */
static Text parameters_text(const Diff *d, int s, int32_t op)
{
    Buf text = buf_marked(d->draw->arena);

    buf_add_text(&text, draw_parameters(&d->side[s], op));
    put_fetched(&d->side[s], op, &text);
    return buf_text(&text);
}

static Text side_text(const Diff *d, int s, int32_t op)
{
    Text flow = draw_flow(&d->side[s], op), parameters = parameters_text(d, s, op);
    return parameters.str.n > 0 ? text_join(d->draw->arena, "@\n@", flow, parameters) : flow;
}

static Text cut_text(const Diff *d, int s, int32_t op)
{
    Buf text = buf_marked(d->draw->arena);
    diff_format_op(d->side[s].session, op, &text);
    return buf_text(&text);
}

/* Returns false if only its readers need the result in another sharding: their lines show that. */
static bool is_other(const Diff *d, const DiffLine *line)
{
    return line->id[0] < 0 || line->id[1] < 0 ||
           !str_eq(side_text(d, 0, line->id[0]).str, side_text(d, 1, line->id[1]).str) ||
           !str_eq(cut_text(d, 0, line->id[0]).str, cut_text(d, 1, line->id[1]).str);
}

/* Lines of a side, the first after its letter. */
static void put_side(char name, Text rest, Buf *out)
{
    for (bool first = true; rest.str.n > 0 || first; first = false) {
        buf_printf(out, "%s%c ", out->n ? "\n" : "", first ? name : ' ');
        buf_add_text(out, text_take(&rest, '\n'));
    }
}

/* What the op has on both sides. */
static void put_both(const Diff *d, const DiffLine *line, Buf *out)
{
    Text flow[SIDES], parameters[SIDES];

    for (int s = 0; s < SIDES; s++) {
        flow[s] = draw_flow(&d->side[s], line->id[s]);
        parameters[s] = parameters_text(d, s, line->id[s]);
    }
    bool same_flow = str_eq(flow[0].str, flow[1].str);
    bool same_parameters = str_eq(parameters[0].str, parameters[1].str);
    if (same_flow)
        buf_add_text(out, flow[0]);
    for (int s = 0; s < SIDES; s++) {
        if (!same_flow)
            put_side(side_name[s], flow[s], out);
        if (!same_parameters && parameters[s].str.n > 0)
            put_side(same_flow ? side_name[s] : ' ', parameters[s], out);
        if (same_flow && same_parameters) /* the difference is in dims that these texts leave out */
            put_side(side_name[s], cut_text(d, s, line->id[s]), out);
    }
    if (same_parameters && parameters[0].str.n > 0)
        buf_add_text(out, text_join(d->draw->arena, "\n@", parameters[0]));
}

static Text flow_of(const Diff *d, const DiffLine *line)
{
    Buf out = buf_marked(d->draw->arena);

    if (line->id[0] >= 0 && line->id[1] >= 0)
        put_both(d, line, &out);
    else
        for (int s = 0; s < SIDES; s++)
            if (line->id[s] >= 0)
                put_side(side_name[s], side_text(d, s, line->id[s]), &out);
    return buf_text(&out);
}

static const char *figures_of(const Diff *d, const DiffLine *line)
{
    const char *us[SIDES] = {NULL, NULL};

    for (int s = 0; s < SIDES; s++)
        if (line->id[s] >= 0)
            us[s] = draw_us(d->draw, d->side[s].plan->priced->op_us[line->id[s]]);
    if (us[0] && us[1] && strcmp(us[0], us[1]) != 0)
        return arena_printf(d->draw->arena, "A %s, B %s", us[0], us[1]);
    return us[0] ? us[0] : us[1];
}

static const char *why_of(const Diff *d, const DiffLine *line)
{
    Buf text = buf_new(d->draw->arena);

    for (int s = 0; s < SIDES; s++) {
        const char *cause = line->id[s] < 0 ? NULL : draw_cause(&d->side[s], line->id[s]);
        if (line->id[s] >= 0)
            buf_printf(&text, "%s%c: %s", text.n ? "\n" : "", side_name[s],
                       cause ? cause : "not sharded");
    }
    return text.s;
}

static const char *title_of(const Diff *d, const DiffLine *line)
{
    int s = line->id[0] >= 0 ? 0 : 1;
    const Graph *graph = d->side[s].graph;
    Buf title = buf_new(d->draw->arena);

    diff_format_range(op_path_or_name(graph, line->id[s]), op_path_or_name(graph, line->last[s]),
                      &title);
    if (line->n > 1)
        buf_printf(&title, " \xc3\x97%d", line->n);
    return title.s;
}

/* ---- which ops are drawn ---- */

static void choose_rows(Diff *d)
{
    d->rows = arena_array(d->draw->arena, Stand, d->outline.n_lines);
    for (int i = 0; i < d->outline.n_lines; i++)
        d->rows[i] = (Stand){.op = line_at(d, i)->kind == DIFF_LINE_OP, .view_of = i, .box = -1};
    for (int i = 0; i < d->outline.n_lines; i++) {
        const DiffLine *line = line_at(d, i);
        if (!d->rows[i].op)
            continue;
        d->rows[i].view_of = d->rows[view_of(d, i)].view_of;
        d->rows[i].differs = d->rows[i].view_of == i && is_other(d, line);
    }
    each_way(d, mark_moved);
    each_way(d, mark_near);
}

/* Counts boxes; a run of ops that are not drawn individually is one box. */
static int count_boxes(const Diff *d)
{
    int n = 0;
    bool before = false;

    for (int i = 0; i < d->outline.n_lines; i++) {
        const Stand *row = &d->rows[i];
        if (!row->op || row->view_of != i)
            continue;
        bool alone = row->differs || row->near;
        n += alone || !before;
        before = !alone;
    }
    return n;
}

static int side_of(const DiffLine *line)
{
    return line->id[1] < 0 ? 'A' : line->id[0] < 0 ? 'B' : 0;
}

static int draw_differing(Diff *d, int i)
{
    const DiffLine *line = line_at(d, i);
    int s = line->id[0] >= 0 ? 0 : 1;
    DiagramBox box = diagram_box(BOX_OP, title_of(d, line));

    box.subtitle = label_operator(d->side[s].graph, line->id[s]);
    box.why = why_of(d, line);
    box.link = s == 0 ? arena_printf(d->draw->arena, "#op-%d", line->id[0]) : NULL;
    box.side = side_of(line);
    if (d->rows[i].differs) {
        box.flow = flow_of(d, line);
        box.figures = figures_of(d, line);
    }
    return draw_box(d->draw, box);
}

/* One box for n ops of the lines from `first` on. */
static void draw_run(Diff *d, int first, int n, int n_lines)
{
    int last = first, n_differ = 0, differing = -1;
    Draw *draw = d->draw;
    DiagramBox box = diagram_box(BOX_OP, "");
    int at = draw->boxes.n;

    box.side = side_of(line_at(d, first));
    for (int i = first; i < first + n_lines; i++) {
        if (!d->rows[i].op || d->rows[i].view_of != i)
            continue;
        if (side_of(line_at(d, i)) != box.side)
            box.side = 0;
        d->rows[i].box = at;
        last = i;
        n_differ += d->rows[i].differs;
        differing = differing < 0 && d->rows[i].differs ? i : differing;
    }
    const char *from = title_of(d, line_at(d, first)), *to = title_of(d, line_at(d, last));
    box.title = strcmp(from, to) == 0 ? from : arena_printf(draw->arena, "%s .. %s", from, to);
    box.subtitle = n_differ == 0   ? arena_printf(draw->arena, "%d equal ops", n)
                   : n_differ == n ? arena_printf(draw->arena, "%d ops differ", n)
                                   : arena_printf(draw->arena, "%d of %d ops differ", n_differ, n);
    if (differing >= 0)
        box.flow = flow_of(d, line_at(d, differing));
    draw_box(draw, box);
}

/* each: how many consecutive differing ops share a box. */
static void draw_rows(Diff *d, int each)
{
    for (int i = 0; i < d->outline.n_lines;) {
        bool alone = d->rows[i].differs || d->rows[i].near;
        int n = 0, end = i;
        if (!d->rows[i].op || d->rows[i].view_of != i) {
            i++;
            continue;
        }
        for (; end < d->outline.n_lines && (!alone || n < each); end++) {
            const Stand *row = &d->rows[end];
            if (!row->op || row->view_of != end)
                continue;
            if ((row->differs || row->near) != alone)
                break;
            n++;
        }
        if (n == 1)
            d->rows[i].box = draw_differing(d, i);
        else
            draw_run(d, i, n, end - i);
        i = end;
    }
}

static int stand_around(Diff *d, bool near)
{
    for (int i = 0; i < d->outline.n_lines; i++)
        d->rows[i].near = near;
    return count_boxes(d);
}

/* If there are too many boxes, drops the equal neighbours, then joins differing ops. */
static void draw_boxes(Diff *d)
{
    int each = 1, n = count_boxes(d);

    if (n > BOXES_MAX)
        n = stand_around(d, false);
    if (n > 2 * BOXES_MAX)
        n = stand_around(d, true);
    while (n / each > BOXES_MAX)
        each++;
    draw_rows(d, each);
}

/* ---- lines ---- */

static void add_way(Diff *d, int s, int32_t t, int32_t reader, int place, int from, int to)
{
    int32_t r = moved_by(d, s, t, reader, place);
    int32_t line = r < 0 ? -1 : d->outline.of_reshard[s][r];
    int32_t key[3] = {d->rows[from].box, d->rows[to].box, line};

    if (key[0] == key[1] && line < 0)
        return;
    int32_t id = intern_put(d->pairs, key, sizeof key);
    if (id == d->ways.n)
        vec_push(d->draw->arena, &d->ways,
                 (DiffWay){.from = key[0],
                           .to = key[1],
                           .line = line,
                           .reshard = {-1, -1},
                           .back = from > to});
    assert(d->ways.at);
    d->ways.at[id].on[s] = true;
    d->ways.at[id].reshard[s] = r;
}

static bool has_other(const Diff *d, const DiffWay *way, int s)
{
    for (int i = 0; i < d->ways.n; i++)
        if (d->ways.at[i].from == way->from && d->ways.at[i].to == way->to && d->ways.at[i].on[s])
            return true;
    return false;
}

static void draw_way(Diff *d, const DiffWay *way)
{
    Draw *draw = d->draw;
    int s = way->on[0] ? 0 : 1;
    const Draw *side = &d->side[s];
    bool moved = way->reshard[s] >= 0, both = way->on[0] && way->on[1];
    DiagramLine line = moved ? draw_moved_line(side, way->from, way->to,
                                               &side->plan->moved->reshards[way->reshard[s]])
                             : draw_new_line(LINE_VALUE, way->from, way->to);

    line.loose = way->back;
    if (way->back)
        line.label =
            moved ? text_join(draw->arena, "@\nnext layer", line.label) : text_from("next layer");
    if (both || (!moved && !has_other(d, way, 1 - s))) {
        if (!both && !moved && d->draw->boxes.at[way->from].side == 0 &&
            d->draw->boxes.at[way->to].side == 0)
            line.look = s == 0 ? LINE_A : LINE_B;
        draw_line(draw, line);
        return;
    }
    line.look = s == 0 ? LINE_A : LINE_B;
    line.label = text_join(draw->arena, s == 0 ? "A: @" : "B: @",
                           line.label.str.n > 0 ? line.label : text_from("not moved"));
    draw_line(draw, line);
}

/* ---- the whole drawing ---- */

static const char *policy_of(const Session *session)
{
    return session->options.policy ? path_base(session->options.policy) : "no policy";
}

static Text caption(const Diff *d)
{
    Buf text = buf_marked(d->draw->arena);

    for (int s = 0; s < SIDES; s++) {
        buf_printf(&text, "%s%c %s: ", s > 0 ? "\n" : "", side_name[s],
                   policy_of(d->side[s].session));
        buf_add_text(&text, draw_totals_text(&d->side[s]));
    }
    return buf_text(&text);
}

static const char *title(const Diff *d)
{
    const char *model[SIDES] = {path_base(d->side[0].graph->file),
                                path_base(d->side[1].graph->file)};
    const DiffList *ops = &d->diff->list[DIFF_OPS];
    const char *models = strcmp(model[0], model[1]) == 0
                             ? model[0]
                             : arena_printf(d->draw->arena, "A %s, B %s", model[0], model[1]);

    return arena_printf(d->draw->arena, "%s: %d of %d ops differ", models, ops->n_entries,
                        ops->n_compared);
}

static void draw_nothing(Diff *d)
{
    DiagramBox box = diagram_box(BOX_OP, "nothing differs");

    box.flow =
        text_from(d->diff->same ? "A and B are the same plan"
                                : "their requests or decisions differ, but the results are equal");
    box.figures =
        arena_printf(d->draw->arena, "%d ops, %d tensors, %d reshards compared",
                     d->diff->list[DIFF_OPS].n_compared, d->diff->list[DIFF_TENSORS].n_compared,
                     d->diff->list[DIFF_RESHARDS].n_compared);
    draw_box(d->draw, box);
}

static void open_side(Diff *d, int s, const Session *session)
{
    Draw *side = &d->side[s];

    *side = *d->draw;
    side->session = session;
    side->plan = session->plan;
    side->graph = session->graph;
    side->groups = session->groups;
    side->reshards = reshard_index(side->arena, session->plan);
    side->box_of = arena_array(side->arena, int32_t, session->graph->n_ops + 1);
    for (int i = 0; i < session->graph->n_ops; i++)
        side->box_of[i] = 0; /* every op counts as drawn */
    draw_index_moves(side);
}

bool draw_diff(Draw *draw, Error *err)
{
    Diff d = {.draw = draw, .pairs = intern_new(draw->arena)};
    const Session *other = draw->request->other;

    if (!other) {
        error_kind(err, ERROR_USAGE, "--kind diff needs a second plan");
        error_hint(err,
                   "give it after the first: dimscope export A.json B.json --kind diff -o d.svg");
        return false;
    }
    open_side(&d, 0, draw->session);
    open_side(&d, 1, other);
    d.diff = plan_diff(draw->arena, draw->session, other);
    d.outline = diff_outline(draw->arena, d.diff);
    draw->diagram->title = title(&d);
    draw->diagram->caption = caption(&d);
    if (d.outline.n_changes == 0) {
        draw_nothing(&d);
        return true;
    }
    choose_rows(&d);
    draw_boxes(&d);
    each_way(&d, add_way);
    for (int i = 0; i < d.ways.n; i++)
        draw_way(&d, &d.ways.at[i]);
    return true;
}
