/* layer.c - a layer as papers draw it: modules from top to bottom, weights as rectangles with a
 * stripe for each shard, values between them with their shapes and axes, and operators on the lines
 * where collectives stand:
 *
 *     f   nothing forward, all-reduce backward     f-bar   all-gather forward, reduce-scatter
 * backward g   all-reduce forward, nothing backward     g-bar   reduce-scatter forward, all-gather
 * backward
 *
 * (f, g: Shoeybi et al. 2019, arXiv 1909.08053; the others: Korthikanti et al. 2022, arXiv
 * 2205.05198). What the backward pass moves is that of the training step, which is derived for the
 * drawing if the plan has none.
 */
#include "viz/draw/layer.h"

#include "viz/draw/canvas.h"
#include "viz/draw/facts.h"
#include "viz/fold.h"

enum { OPS_MOST = 800, BESIDE = 3, LANE = 4, SIDE = 5, ABOVE = 8 };

typedef struct {
    int kind; /* StepKind; -1: nothing is moved */
    AtomSet atoms;
    int64_t bytes;
    double us;
} LayerMove;

/* Where a value comes out of its maker, and goes on from. */
typedef struct {
    int box;
    double x, y, turn; /* turn: where it turns to its lane */
} Outlet;

typedef struct {
    Canvas canvas;
    LayerDrawing *layer;
    Session *step;                /* of the training step, if it is our own */
    const Plan *backward;         /* NULL: no backward pass is known */
    double left, line, circle, y; /* y: the top of what is drawn next */
    DiagramPlace *place;          /* per module */
    int *box;                     /* per module */
    Outlet *outlet;               /* per value */
    double *x;                    /* per value: where it goes down; -1 if it is not drawn */
    int *lane;                    /* per value: at the left; -1 if it needs none */
    int *trunk;                   /* per value: the corner from which its lane goes on; -1 */
    int *n_in, *n_drawn;          /* per module: lines that come in lanes, and those drawn so far */
    bool *marked;                 /* per tensor of the graph: scratch */
} Figure;

/* ---- what is moved ---- */

static bool reads_forward(const Plan *plan, const Reshard *reshard)
{
    const uint8_t *phase = plan->inferred->graph->phase;

    for (int i = 0; i < reshard->n_uses; i++)
        if (!phase || phase[plan->moved->reshard_uses[reshard->use + i]] == PHASE_FORWARD)
            return true;
    return reshard->n_uses == 0 && !phase;
}

/* The longest step that communicates, of the tensors that are marked or of their gradients. */
static LayerMove move_of(const Plan *plan, const bool *marked, int n, bool backward)
{
    LayerMove move = {.kind = -1};
    const Graph *graph = plan->inferred->graph;

    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        int32_t of =
            backward && graph->gradient_of ? graph->gradient_of[reshard->tensor] : reshard->tensor;
        if (of < 0 || of >= n || !marked[of] || (!backward && !reads_forward(plan, reshard)))
            continue;
        for (int s = 0; s < reshard->path->n_steps; s++) {
            const Step *step = &reshard->path->step[s];
            if (step->kind != STEP_SLICE && (move.kind < 0 || step->us > move.us))
                move = (LayerMove){(int)step->kind, step->atoms, step->bytes, step->us};
        }
    }
    return move;
}

/* Both passes: [0] forward, [1] backward. */
static void find_moves(const Figure *figure, LayerMove out[2])
{
    const Draw *draw = figure->canvas.draw;

    out[0] = move_of(draw->plan, figure->marked, draw->graph->n_tensors, false);
    out[1] = (LayerMove){.kind = -1};
    if (figure->backward)
        out[1] = move_of(figure->backward, figure->marked, draw->graph->n_tensors, true);
}

/* Of a value, and of what its module makes for itself on the way, such as a product before its bias
 * is added. */
static void moves_of_value(const Figure *figure, int v, LayerMove out[2])
{
    const LayerDrawing *layer = figure->layer;
    const Graph *graph = figure->canvas.draw->graph;
    int maker = layer->values.at[v].maker;
    bool first = true;

    memset(figure->marked, 0, (size_t)graph->n_tensors);
    for (int k = 0; k < v; k++)
        first &= maker < 0 || layer->values.at[k].maker != maker;
    for (int i = 0; first && maker >= 0 && i < layer->n_ops; i++)
        for (int o = 0; o < graph->ops[layer->op[i]].n_outputs; o++)
            if (layer->module_of[layer->op[i]] == maker && op_outputs(graph, layer->op[i])[o] >= 0)
                figure->marked[op_outputs(graph, layer->op[i])[o]] = true;
    for (int k = 0; k < layer->values.n; k++)
        figure->marked[layer->values.at[k].tensor] = k == v;
    find_moves(figure, out);
}

static Text move_text(const Figure *figure, const char *before, LayerMove move)
{
    const Draw *draw = figure->canvas.draw;
    Buf out = buf_marked(draw->arena);

    buf_printf(&out, "%s%s ", before, step_kind_mark((StepKind)move.kind));
    mesh_format_set(draw->plan->mesh, move.atoms, ".", &out);
    buf_putc(&out, ' ');
    for (const char *c = draw_bytes(draw, move.bytes); *c; c++)
        buf_puts(&out, *c == ' ' ? "\xc2\xa0" : (char[2]){*c, 0}); /* the unit stays beside it */
    return buf_text(&out);
}

/* The letter of an operator by what it does in both passes. */
static const char *letter_of(LayerMove forward, LayerMove backward)
{
    static const struct {
        int forward, backward;
        const char *letter;
    } letters[] = {
        {-1, STEP_ALL_REDUCE, "f"},
        {STEP_ALL_REDUCE, -1, "g"},
        {STEP_ALL_GATHER, STEP_REDUCE_SCATTER, "f\xcc\x84"},
        {STEP_REDUCE_SCATTER, STEP_ALL_GATHER, "g\xcc\x84"},
    };
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].forward == forward.kind && letters[i].backward == backward.kind)
            return letters[i].letter;
    return forward.kind >= 0 ? step_kind_mark((StepKind)forward.kind)
                             : step_kind_mark((StepKind)backward.kind);
}

/* ---- modules ---- */

/* What the weight and its gradient are moved by: "w AG dp 28.0 MiB", a line each. */
static Text weight_moves(const Figure *figure, const LayerModule *module)
{
    const Draw *draw = figure->canvas.draw;
    bool turned;
    int32_t weight = layer_weight(draw, module, &turned);
    Buf out = buf_marked(draw->arena);
    LayerMove moves[2];

    if (weight < 0)
        return text_from("");
    memset(figure->marked, 0, (size_t)draw->graph->n_tensors);
    figure->marked[weight] = true;
    figure->marked[op_inputs(draw->graph, module->role->op)[module->role->weight]] = true;
    find_moves(figure, moves);
    if (moves[0].kind >= 0)
        buf_add_text(&out, move_text(figure, "w ", moves[0]));
    if (moves[1].kind >= 0) {
        buf_puts(&out, out.n > 0 ? "\n" : "");
        buf_add_text(&out, move_text(figure, "\xe2\x88\x87 ", moves[1]));
    }
    return buf_text(&out);
}

static int count_lines(Text text)
{
    int n = text.str.n > 0;
    for (size_t i = 0; i < text.str.n; i++)
        n += text.str.s[i] == '\n';
    return n;
}

/* The width of a module's box. */
static double width_of(const Figure *figure, int m)
{
    const LayerDrawing *layer = figure->layer;
    const LayerModule *module = &layer->modules.at[m];
    double width = (module->to - module->from) * (figure->canvas.width - figure->left) - 2 * BESIDE;
    double most = 16 * figure->canvas.points;
    int n_made = 0;

    for (int v = 0; v < layer->values.n; v++) { /* from modules side by side: as wide as they are */
        const LayerValue *value = &layer->values.at[v];
        const LayerModule *maker = value->maker < 0 ? NULL : &layer->modules.at[value->maker];
        for (int r = 0; maker && r < value->readers.n; r++)
            if (value->readers.at[r] == m && maker->to - maker->from < 1)
                return width;
        n_made += value->maker == m;
    }
    if (n_made > 1)
        return width;
    return module->from <= 0 && module->to >= 1 && width > most ? most : width;
}

static Text moves_in(const Figure *figure, int m)
{
    const LayerModule *module = &figure->layer->modules.at[m];
    return fold_text(figure->canvas.draw->arena, weight_moves(figure, module),
                     canvas_columns(&figure->canvas, width_of(figure, m) - SIDE));
}

static double height_of(const Figure *figure, int m)
{
    const LayerModule *module = &figure->layer->modules.at[m];

    if (module->adds)
        return figure->circle;
    if (!module->role)
        return 1.8 * figure->line;
    return figure->line * (3.4 + count_lines(moves_in(figure, m)));
}

static void put_matmul(Figure *figure, int m, DiagramPlace at)
{
    const LayerModule *module = &figure->layer->modules.at[m];
    Canvas *canvas = &figure->canvas;
    double line = figure->line, middle = at.x + at.w / 2;
    Text size = layer_weight_text(canvas->draw, module), moves = moves_in(figure, m);
    double w = canvas_text_width(canvas, size.str), rect = 2.2 * line;
    double x = middle - (rect + SIDE + w) / 2, y = at.y + 1.2 * line;

    canvas_text(canvas, middle, at.y + 0.7 * line, ALIGN_CENTRE,
                text_from(canvas_fit(canvas, module->title, at.w - 2 * SIDE)));
    layer_put_weight(canvas, module, (DiagramPlace){x, y + 0.1 * line, rect, 1.8 * line});
    int text = canvas_text(canvas, x + rect + SIDE, y + line, ALIGN_LEFT, size);
    canvas->draw->boxes.at[text].left = true;
    if (moves.str.n > 0)
        canvas_text(canvas, middle, y + line * (2.1 + count_lines(moves) / 2.0), ALIGN_CENTRE,
                    moves);
}

/* Values from outside that one of the first modules or a matmul reads, else they are not drawn. */
static bool is_stream(const Figure *figure, const LayerValue *value)
{
    bool drawn = value->maker >= 0;

    for (int r = 0; r < value->readers.n; r++) {
        const LayerModule *reader = &figure->layer->modules.at[value->readers.at[r]];
        drawn |= reader->rank == 0 || reader->role;
    }
    return drawn;
}

/* The share of the width that a value has below its module, and where that begins. */
static double share_of(const Figure *figure, const LayerValue *value, int v, double *from)
{
    const LayerDrawing *layer = figure->layer;
    const LayerModule *maker = value->maker < 0 ? NULL : &layer->modules.at[value->maker];
    double share = maker ? maker->to - maker->from : 1;
    int n = 0, at = 0; /* of the values of one module */

    for (int k = 0; k < layer->values.n; k++) {
        at = k == v ? n : at;
        n += layer->values.at[k].maker == value->maker && is_stream(figure, &layer->values.at[k]);
    }
    n = n > 0 ? n : 1;
    *from = (maker ? maker->from : 0) + share * at / n;
    return share / n;
}

/* Where modules and values are across the page. */
static void place_across(Figure *figure)
{
    const LayerDrawing *layer = figure->layer;
    double width = figure->canvas.width - figure->left;

    for (int m = 0; m < layer->modules.n; m++) {
        const LayerModule *module = &layer->modules.at[m];
        double middle = figure->left + (module->from + module->to) / 2 * width;
        double w = module->adds ? figure->circle : width_of(figure, m);
        figure->place[m] = (DiagramPlace){middle - w / 2, 0, w, 0};
    }
    for (int v = 0; v < layer->values.n; v++) {
        const LayerValue *value = &layer->values.at[v];
        double share = share_of(figure, value, v, &figure->x[v]);
        figure->x[v] = figure->left + (figure->x[v] + share / 2) * width;
        if (!is_stream(figure, value))
            figure->x[v] = -1;
    }
}

static void put_module(Figure *figure, int m, double top, double height)
{
    Canvas *canvas = &figure->canvas;
    const LayerModule *module = &figure->layer->modules.at[m];
    double own = height_of(figure, m);
    DiagramPlace at = {figure->place[m].x, top + (height - own) / 2, figure->place[m].w, own};

    figure->place[m] = at;
    figure->box[m] =
        canvas_box(canvas, module->adds ? BOX_CIRCLE : BOX_OP, at,
                   text_from(module->adds   ? "+"
                             : module->role ? ""
                                            : canvas_fit(canvas, module->title, at.w)));
    int32_t op = module->role ? module->role->op : module->op;
    canvas->draw->boxes.at[figure->box[m]].why = draw_cause(canvas->draw, op);
    canvas->draw->boxes.at[figure->box[m]].facts = facts_of_ops(canvas->draw, &op, 1);
    if (module->role)
        put_matmul(figure, m, at);
}

/* ---- lines ---- */

/* Whether another module stands between the lanes and this one. */
static bool is_behind(const Figure *figure, int m)
{
    const LayerDrawing *layer = figure->layer;
    for (int i = 0; i < layer->modules.n; i++)
        if (layer->modules.at[i].rank == layer->modules.at[m].rank &&
            layer->modules.at[i].to <= layer->modules.at[m].from)
            return true;
    return false;
}

/* Past others in the lane of the value, which branches to each reader: into its side, or its top
 * where its side is behind another module. */
static void put_in_lane(Figure *figure, int v, int reader)
{
    Canvas *canvas = &figure->canvas;
    const Outlet *from = &figure->outlet[v];
    DiagramPlace at = figure->place[reader];
    double x = figure->left - SIDE - LANE * figure->lane[v];
    double in = at.y + at.h * ++figure->n_drawn[reader] / (figure->n_in[reader] + 1);
    bool top = is_behind(figure, reader);
    double end = top ? at.x + at.w / 2 : at.x;

    in = top ? at.y - ABOVE : in;
    if (figure->trunk[v] < 0) {
        int turn = canvas_corner(canvas, from->x, from->turn);
        figure->trunk[v] = canvas_corner(canvas, x, from->turn);
        canvas_line(canvas, from->box, turn, false);
        canvas_line(canvas, turn, figure->trunk[v], false);
    }
    int branch = canvas_corner(canvas, x, in);
    canvas_line(canvas, figure->trunk[v], branch, false);
    int turn = canvas_corner(canvas, end, in);
    canvas_line(canvas, branch, turn, !top);
    if (top)
        canvas_line(canvas, turn, canvas_corner(canvas, end, at.y), true);
    figure->trunk[v] = branch;
}

static void put_line(Figure *figure, int v, int reader)
{
    Canvas *canvas = &figure->canvas;
    const Outlet *from = &figure->outlet[v];
    DiagramPlace at = figure->place[reader];
    double x = at.x + at.w / 2;

    switch (layer_way(figure->layer, figure->place, from->x, v, reader)) {
    case LAYER_STRAIGHT:
        canvas_line(canvas, from->box, canvas_corner(canvas, from->x, at.y), true);
        break;
    case LAYER_TURN:
        canvas_path(canvas, from->box, (DiagramPlace[]){{x, from->y, 0, 0}}, 1,
                    canvas_corner(canvas, x, at.y));
        break;
    case LAYER_LANE:
        put_in_lane(figure, v, reader);
        break;
    }
}

/* ---- values ---- */

/* Where the next thing on a line goes: below what it comes from, -1 for nothing. */
typedef struct {
    int from;
    double x, y, room;
} Thread;

static void thread_to(Figure *figure, Thread *thread, int box, double bottom)
{
    if (thread->from >= 0)
        canvas_line(&figure->canvas, thread->from, box, false);
    thread->from = box;
    thread->y = bottom;
}

static void thread_text(Figure *figure, Thread *thread, Text text)
{
    Canvas *canvas = &figure->canvas;
    Text folded =
        fold_text(canvas->draw->arena, text, canvas_columns(canvas, thread->room - 2 * SIDE));
    double h = figure->line * count_lines(folded);

    thread_to(figure, thread,
              canvas_text(canvas, thread->x, thread->y + h / 2, ALIGN_CENTRE, folded),
              thread->y + h);
}

/* The operator, with what it does beside it, or below it where there is no room. */
static void thread_operator(Figure *figure, Thread *thread, const LayerMove moves[2])
{
    Canvas *canvas = &figure->canvas;
    double gap = 0.5 * figure->line, side = figure->circle;
    Buf says = buf_marked(canvas->draw->arena);
    DiagramPlace at = {thread->x - side / 2, thread->y + gap, side, side};

    if (moves[0].kind >= 0)
        buf_add_text(&says, move_text(figure, "fwd ", moves[0]));
    buf_puts(&says, moves[0].kind >= 0 && moves[1].kind >= 0 ? "\n" : "");
    if (moves[1].kind >= 0)
        buf_add_text(&says, move_text(figure, "bwd ", moves[1]));
    thread_to(figure, thread,
              canvas_box(canvas, BOX_CIRCLE, at, text_from(letter_of(moves[0], moves[1]))),
              at.y + side + gap);
    if (thread->room / 2 - side / 2 > canvas_text_width(canvas, buf_str(&says)) + 4) {
        canvas_text(canvas, thread->x + side / 2 + 3, at.y + side / 2, ALIGN_LEFT, buf_text(&says));
        return;
    }
    thread_text(figure, thread, buf_text(&says));
    thread->y += gap;
}

/* The value as it is made, the operator, the value as it is read; sets its outlet. */
static void put_value(Figure *figure, int v, Thread thread)
{
    Draw *draw = figure->canvas.draw;
    const LayerValue *value = &figure->layer->values.at[v];
    Text made = draw_value(draw, value->tensor, draw_made(draw, value->tensor));
    double gap = 0.5 * figure->line;
    LayerMove moves[2];

    moves_of_value(figure, v, moves);
    thread.y += gap;
    bool stays = moves[0].kind < 0 && moves[1].kind < 0;
    if (stays || moves[0].kind >= 0)
        thread_text(figure, &thread, made);
    if (!stays) {
        thread_operator(figure, &thread, moves);
        thread_text(figure, &thread,
                    value->needs.n > 0 ? draw_value(draw, value->tensor, value->needs.at[0])
                                       : made);
    }
    int corner = canvas_corner(&figure->canvas, thread.x, thread.y + gap);
    DiagramLine *line =
        canvas_line(&figure->canvas, thread.from, corner, value->leaves && value->readers.n == 0);
    line->facts = facts_of_tensor(draw, value->tensor, draw_made(draw, value->tensor));
    figure->outlet[v] = (Outlet){corner, thread.x, thread.y + gap, 0};
}

static double lowest_outlet(const Figure *figure, double y)
{
    for (int v = 0; v < figure->layer->values.n; v++)
        if (figure->outlet[v].box >= 0 && figure->outlet[v].y > y)
            y = figure->outlet[v].y;
    return y;
}

/* Below the texts of a rank, the values that go on in lanes turn, from the left to the right one
 * below the other. */
static void turn_values(Figure *figure, int rank)
{
    const LayerDrawing *layer = figure->layer;
    int n = 0;

    for (int v = 0; v < layer->values.n; v++) {
        int left = 0;
        if (layer_rank(layer, &layer->values.at[v]) != rank || figure->lane[v] < 0)
            continue;
        for (int k = 0; k < layer->values.n; k++)
            left += layer_rank(layer, &layer->values.at[k]) == rank && figure->lane[k] >= 0 &&
                    (figure->x[k] < figure->x[v] || (figure->x[k] <= figure->x[v] && k < v));
        figure->outlet[v].turn = figure->y + LANE * left;
        n++;
    }
    figure->y += n > 0 ? LANE * (n - 1) : 0;
}

/* The values of one rank share its width. */
static void put_values(Figure *figure, int rank)
{
    const LayerDrawing *layer = figure->layer;
    double width = figure->canvas.width - figure->left, top = figure->y, from;

    for (int v = 0; v < layer->values.n; v++) {
        const LayerValue *value = &layer->values.at[v];
        if (layer_rank(layer, value) != rank || figure->x[v] < 0)
            continue;
        int maker = value->maker;
        double bottom = maker < 0 ? top : figure->place[maker].y + figure->place[maker].h;
        put_value(figure, v,
                  (Thread){maker < 0 ? -1 : figure->box[maker], figure->x[v], bottom,
                           share_of(figure, value, v, &from) * width});
    }
    figure->y = lowest_outlet(figure, top);
    turn_values(figure, rank);
}

/* ---- the whole figure ---- */

static void put_rank(Figure *figure, int rank)
{
    const LayerDrawing *layer = figure->layer;
    double height = 0, top = figure->y + 0.7 * figure->line;

    bool above = false;
    for (int m = 0; m < layer->modules.n; m++)
        if (layer->modules.at[m].rank == rank) {
            double own = height_of(figure, m);
            height = own > height ? own : height;
            above |= figure->n_in[m] > 0 && is_behind(figure, m);
        }
    top += above ? ABOVE : 0; /* below where values of the rank before turn */
    for (int m = 0; m < layer->modules.n; m++)
        if (layer->modules.at[m].rank == rank)
            put_module(figure, m, top, height);
    figure->y = top + height;
    put_values(figure, rank);
}

static void put_lines(Figure *figure)
{
    const LayerDrawing *layer = figure->layer;

    for (int v = 0; v < layer->values.n; v++) {
        const LayerValue *value = &layer->values.at[v];
        if (figure->outlet[v].box < 0)
            continue;
        for (int r = 0; r < value->readers.n; r++)
            put_line(figure, v, value->readers.at[r]);
    }
}

/* Gives each value that passes modules a lane, and as much room at the left as they take. */
static void give_lanes(Figure *figure)
{
    const LayerDrawing *layer = figure->layer;

    figure->left = SIDE + LANE;
    place_across(figure);
    int n = layer_lanes(layer, figure->place, figure->x, figure->lane);
    figure->left = n == 0 ? 0 : SIDE + 1 + LANE * (n - 1);
    place_across(figure);
    layer_lanes(layer, figure->place, figure->x, figure->lane);
    for (int v = 0; v < layer->values.n; v++) {
        const LayerValue *value = &layer->values.at[v];
        figure->outlet[v].box = figure->trunk[v] = -1;
        for (int r = 0; figure->x[v] >= 0 && r < value->readers.n; r++)
            figure->n_in[value->readers.at[r]] += layer_way(layer, figure->place, figure->x[v], v,
                                                            value->readers.at[r]) == LAYER_LANE;
    }
}

/* The training step of the plan, or one that is derived for the figure. */
static void find_backward(Figure *figure)
{
    const Draw *draw = figure->canvas.draw;

    figure->backward = draw->graph->phase ? draw->plan : NULL;
    if (figure->backward)
        return;
    figure->step = session_retrain(draw->session, "auto", NULL, &(Error){0});
    if (figure->step && figure->step->graph->phase &&
        figure->step->graph->n_ops > draw->graph->n_ops)
        figure->backward = figure->step->plan;
}

static Text caption_of(const Figure *figure, int32_t group)
{
    const Draw *draw = figure->canvas.draw;
    const Group *g = &draw->groups->groups[group];
    int n = draw->groups->groups[g->fold].fold_n;
    Buf out = buf_marked(draw->arena);

    if (n > 1)
        buf_printf(&out, "one of %d equal layers; ", n);
    buf_puts(&out, "weights are rows \xc3\x97 columns, striped by shard; the shard of the first "
                   "device has the colour of its axis; ");
    for (int m = 0; m < figure->layer->modules.n; m++)
        if (figure->layer->modules.at[m].role && figure->layer->modules.at[m].role->expert >= 0) {
            buf_puts(&out, "experts are stacked; ");
            break;
        }
    buf_puts(&out, figure->backward
                       ? "f, g: all-reduce in the backward (f) or forward (g) pass; with a bar: "
                         "all-gather and reduce-scatter, in the other pass the reverse; "
                         "\xe2\x88\x87: the collective on the gradient of a weight"
                       : "forward pass only");
    return buf_text(&out);
}

bool draw_layer(Draw *draw, Error *err)
{
    int32_t group = draw_choose_group(draw, err);
    Figure figure = {.canvas = canvas_new(draw)};

    if (group < 0)
        return false;
    if (draw->groups->groups[group].n > OPS_MOST) {
        error_kind(err, ERROR_UNSUPPORTED, "a layer of %d ops is too large for this figure",
                   draw->groups->groups[group].n);
        error_hint(err, "--kind overview draws it folded");
        return false;
    }
    if (!draw->request->of) /* a typical one: the first may read what the others do not */
        group = groups_member(draw->groups, group, draw->groups->groups[group].fold_n / 2);
    figure.layer = layer_of(draw, group);
    const LayerDrawing *layer = figure.layer;
    figure.line = canvas_line_height(&figure.canvas);
    figure.circle = 1.5 * figure.line;
    figure.marked = arena_array(draw->arena, bool, draw->graph->n_tensors + 1);
    figure.place = arena_array(draw->arena, DiagramPlace, layer->modules.n + 1);
    figure.box = arena_array(draw->arena, int, layer->modules.n + 1);
    figure.outlet = arena_array(draw->arena, Outlet, layer->values.n + 1);
    figure.x = arena_array(draw->arena, double, layer->values.n + 1);
    figure.lane = arena_array(draw->arena, int, layer->values.n + 1);
    figure.trunk = arena_array(draw->arena, int, layer->values.n + 1);
    figure.n_in = arena_array(draw->arena, int, layer->modules.n + 1);
    figure.n_drawn = arena_array(draw->arena, int, layer->modules.n + 1);
    find_backward(&figure);
    give_lanes(&figure);
    put_values(&figure, -1);
    for (int rank = 0; rank < layer->n_ranks; rank++)
        put_rank(&figure, rank);
    put_lines(&figure);
    draw->diagram->title =
        arena_printf(draw->arena, "%s: %s", draw->diagram->title, draw->groups->groups[group].path);
    draw->diagram->caption = caption_of(&figure, group);
    if (figure.step)
        session_close(figure.step);
    return true;
}
