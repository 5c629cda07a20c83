#include "viz/draw/parts.h"

#include "core/plan/origin.h"
#include "core/explain/why_reshard.h"
#include "core/summary/label.h"

#include <inttypes.h>

enum { STEPS_SHOWN = 25, MOVES_SHOWN = 6, ALL_DIMS = -2, PARTIAL_DIM = -1 };

typedef struct {
    Draw *draw;
    Arena *arena;
    int32_t tensor;
    int dim;         /* the dim in question, or ALL_DIMS */
    Intern *boxes;   /* keys of steps that have a box: chains share boxes */
    Vec(int) box_of; /* by id in `boxes` */
    Intern *lines;   /* lines drawn so far */
    Intern *labels;  /* labels drawn so far */
    int box;         /* the box of the tensor */
    Buf caption;
} Why;

/* ---- boxes of steps ---- */

/* The box with an equal key, or a new id, whose box is to be pushed onto box_of. */
static int known_box(Why *why, const int32_t key[4])
{
    int n = intern_count(why->boxes);
    int32_t id = intern_put(why->boxes, key, 4 * sizeof *key);
    if (id == n)
        return -1;
    assert(why->box_of.at);
    return why->box_of.at[id];
}

static int add_box(Why *why, DiagramBox box)
{
    int n = draw_box(why->draw, box);
    vec_push(why->arena, &why->box_of, n);
    return n;
}

/* "h.0.mlp.c_fc.weight dim 1", "h.0.mlp.c_fc n". */
static const char *place_text(const Why *why, int32_t tensor, int32_t op, int dim)
{
    const Session *session = why->draw->session;
    Str name =
        tensor >= 0 ? label_tensor(session, why->arena, tensor) : label_op(session, why->arena, op);
    if (tensor >= 0)
        return arena_printf(why->arena, "%.*s dim %d", STR_ARG(name), dim);
    return arena_printf(why->arena, "%.*s %s", STR_ARG(name),
                        program_space(why->draw->plan->inferred, op)->index[dim].name);
}

/* A decision, keyed by the line that made it: pins of many tensors by one line are one box. */
static int pin_box(Why *why, const ReasonStep *step)
{
    const Decision *pin = step->pin;
    DiagramBox box = diagram_box(BOX_CAUSE, "with its parameter");
    int32_t key[4] = {REASON_PIN, pin ? (int32_t)pin->kind : -1, pin ? pin->place : step->tensor,
                      pin ? pin->dim : step->dim};
    int known = known_box(why, key);
    Buf origin = buf_new(why->arena), lua = buf_marked(why->arena);

    if (known >= 0)
        return known;
    box.figures = place_text(why, step->tensor, step->op, step->dim);
    if (pin) {
        box.title = arena_str(why->arena, label_pin(why->arena, pin));
        origin_put_lua(why->draw->plan->mesh, str_from(pin->origin.text), &lua);
        box.flow = buf_text(&lua);
        box.figures =
            arena_printf(why->arena, "%s %s", pin->store ? "stores" : "pins", box.figures);
        label_origin(why->draw->plan->mesh, &pin->origin, &origin);
        box.why = origin.s;
    }
    return add_box(why, box);
}

static Text step_flow(const Why *why, const ReasonStep *step)
{
    const Plan *plan = why->draw->plan;

    if (step->tensor < 0) {
        const IndexDim *index = &program_space(plan->inferred, step->op)->index[step->dim];
        Buf text = buf_marked(why->arena);
        buf_printf(&text, "%s%s: ", index->name, index->role == ROLE_REDUCE ? "+" : "");
        cut_format(&program_cut(plan, step->op)->index[step->dim], plan->mesh, &text);
        return buf_text(&text);
    }
    int32_t id =
        step->dim < 0 ? plan->moved->made[step->tensor] : plan->moved->sharding[step->tensor];
    return draw_value(why->draw, step->tensor, id);
}

static const char *step_words(const ReasonStep *step)
{
    /* ORDER REASON_KIND */
    static const char *const words[] = {"",
                                        "forward: the output takes it",
                                        "backward: the input takes it",
                                        "another operand is sharded by it",
                                        "sums over an index dim that the axis shards",
                                        "passes the partial sum on",
                                        "sharded like its forward op",
                                        "carried by a loop",
                                        "its own choice"};
    return words[step->kind];
}

static int step_box(Why *why, const ReasonStep *step)
{
    const Draw *draw = why->draw;
    int32_t key[4] = {(int32_t)step->kind, step->op, step->tensor,
                      step->tensor < 0 ? step->dim : 0};

    if (step->kind == REASON_PIN)
        return pin_box(why, step);
    int known = known_box(why, key);
    if (known >= 0)
        return known;
    DiagramBox box = diagram_box(step->kind == REASON_CHOSEN ? BOX_CAUSE : BOX_OP, "a loop");
    if (step->op >= 0) {
        box.title = arena_str(why->arena, label_op(draw->session, why->arena, step->op));
        box.subtitle = label_operator(draw->graph, step->op);
        box.link = arena_printf(why->arena, "#op-%d", step->op);
    }
    box.flow = step_flow(why, step);
    box.figures = step_words(step);
    return add_box(why, box);
}

/* ---- chains, with equal layers folded ---- */

/* Steps [from, to) of a chain are shown, the next `left_out` are not. */
typedef struct {
    int from, to;
    int64_t left_out;
    const char *title; /* text for the omitted steps */
    bool layers;       /* the omitted steps are equal layers */
} WhyStretch;

typedef Vec(WhyStretch) Fold;

/* A key that is equal for corresponding steps of equal layers. */
static int32_t alike_key(const Why *why, Intern *keys, const ReasonChain *chain, int i)
{
    const Graph *graph = why->draw->graph;
    const ReasonStep *step = &chain->step[i];
    Buf text = buf_new(why->arena);
    int before = 0;

    while (i - before > 0 && step->op >= 0 && step[-before - 1].op >= 0 &&
           graph->ops[step[-before - 1].op].path == graph->ops[step->op].path)
        before++;
    buf_printf(&text, "%d %d %d ", step->kind, step->dim, before);
    if (step->op >= 0) {
        text_wildcard(str_from(op_path_or_name(graph, step->op)), &text);
        buf_puts(&text, op_operator(graph, step->op));
    }
    return intern_put(keys, text.s, text.n);
}

/* Finds where most steps equal those `period` before them: start, period, and number of repeats. */
static int find_layers(const int32_t *key, int n, int *start, int *period)
{
    int most = 0, layers = 0;

    for (int p = 1; p <= n / 3; p++)
        for (int s = 0, run; s + p < n; s += run + 1) {
            for (run = 0; s + run + p < n && key[s + run] == key[s + run + p]; run++)
                ;
            int times = run / p + 1;
            if ((times - 2) * p <= most)
                continue;
            most = (times - 2) * p;
            layers = times;
            *start = s;
            *period = p;
        }
    return layers;
}

static Fold fold_layers(const Why *why, const ReasonChain *chain)
{
    Intern *keys = intern_new(why->arena);
    int32_t *key = arena_array(why->arena, int32_t, chain->n_steps);
    int n = chain->n_steps, start = 0, period = 0;
    Fold fold = {0};

    for (int i = 0; i < n; i++)
        key[i] = alike_key(why, keys, chain, i);
    int more = find_layers(key, n, &start, &period) - 2;
    if (more <= 0)
        return fold;
    const char *title =
        arena_printf(why->arena, ".. %d more equal layer%s ..", more, more == 1 ? "" : "s");
    vec_push(why->arena, &fold,
             (WhyStretch){0, start + period, (int64_t)more * period, title, true});
    vec_push(why->arena, &fold, (WhyStretch){.from = start + (more + 1) * period, .to = n});
    return fold;
}

/* Counts the steps from this one on that are in one module and go in the same direction. */
static int module_run(const Why *why, const ReasonChain *chain, int first)
{
    const Graph *graph = why->draw->graph;
    int n = 1;

    for (; first + n < chain->n_steps; n++) {
        const ReasonStep *a = &chain->step[first], *b = &chain->step[first + n];
        if (a->op < 0 || b->op < 0 || a->kind != b->kind ||
            graph->ops[a->op].path != graph->ops[b->op].path)
            break;
    }
    return n;
}

/* Of the steps in one module only the first and the last are shown. */
static Fold fold_modules(const Why *why, const ReasonChain *chain)
{
    enum { RUN_LEAST = 4 };
    Fold fold = {0};
    int from = 0;

    for (int i = 0, run; i < chain->n_steps; i += run) {
        run = module_run(why, chain, i);
        if (run < RUN_LEAST)
            continue;
        const char *title = arena_printf(why->arena, ".. %d more in %s ..", run - 2,
                                         op_path_or_name(why->draw->graph, chain->step[i].op));
        vec_push(why->arena, &fold, (WhyStretch){from, i + 1, run - 2, title, false});
        from = i + run - 1;
    }
    vec_push(why->arena, &fold, (WhyStretch){.from = from, .to = chain->n_steps});
    return fold;
}

static Fold fold_chain(const Why *why, const ReasonChain *chain)
{
    Fold fold = {0};

    if (chain->n_steps > STEPS_SHOWN)
        fold = fold_layers(why, chain);
    if (chain->n_steps > STEPS_SHOWN && fold.n == 0)
        return fold_modules(why, chain);
    if (fold.n == 0)
        vec_push(why->arena, &fold, (WhyStretch){.to = chain->n_steps});
    return fold;
}

static int folded_box(Why *why, const ReasonChain *chain, const WhyStretch *stretch)
{
    const ReasonStep *last = &chain->step[stretch->to - 1];
    int32_t key[4] = {-1, last->op, last->tensor, (int32_t)stretch->left_out};
    int known = known_box(why, key);

    if (known >= 0)
        return known;
    DiagramBox box = diagram_box(stretch->layers ? BOX_GROUP : BOX_OP, stretch->title);
    box.subtitle = arena_printf(why->arena, "%" PRId64 " ops", stretch->left_out);
    return add_box(why, box);
}

/* ---- lines ---- */

static void draw_step_line(Why *why, int from, int to, int axis, Text label, const char *port)
{
    DiagramLine line = draw_new_line(LINE_CAUSE, from, to);
    int32_t id = intern_put(why->labels, label.str.s, label.str.n);
    int32_t key[4] = {from, to, axis, id};
    int n = intern_count(why->lines);

    if (intern_put(why->lines, key, sizeof key) != n)
        return;
    line.axis = axis;
    line.label = label;
    line.to_port = port;
    draw_line(why->draw, line);
}

/* "tp on dim 2": the axis, and the dim that the step brings it to. */
static Text arrives(const Why *why, const ReasonChain *chain, const ReasonStep *step)
{
    const Plan *plan = why->draw->plan;
    Buf text = buf_marked(why->arena);

    buf_puts(&text, step->tensor >= 0 && step->dim < 0 ? "\xce\xa3" : "");
    mesh_put_axis(plan->mesh, chain->axis, &text);
    if (step->tensor < 0)
        buf_printf(&text, " on %s", program_space(plan->inferred, step->op)->index[step->dim].name);
    else if (step->dim >= 0)
        buf_printf(&text, " on dim %d", step->dim);
    return buf_text(&text);
}

/* The box for steps omitted after the pin, if the chain is longer than what is listed. */
static int after_pin(Why *why, const ReasonChain *chain, int above)
{
    if (chain->n_left_out == 0)
        return above;
    WhyStretch stretch = {.to = 1, .left_out = chain->n_left_out, .title = ".. more steps .."};
    int box = folded_box(why, chain, &stretch);
    draw_step_line(why, above, box, chain->axis, arrives(why, chain, &chain->step[0]), NULL);
    return box;
}

/* Draws the whole chain; returns the box of its last step. */
static int draw_steps_of(Why *why, const ReasonChain *chain)
{
    Fold fold = fold_chain(why, chain);
    int above = -1;

    for (int f = 0; f < fold.n; f++) {
        const WhyStretch *at = &fold.at[f];
        for (int i = at->from; i < at->to; i++) {
            int box = step_box(why, &chain->step[i]);
            if (above >= 0)
                draw_step_line(why, above, box, chain->axis,
                               arrives(why, chain, &chain->step[i > 0 ? i - 1 : 0]), NULL);
            above = i == 0 ? after_pin(why, chain, box) : box;
        }
        if (at->left_out == 0)
            continue;
        int box = folded_box(why, chain, at);
        draw_step_line(why, above, box, chain->axis, arrives(why, chain, &chain->step[at->to - 1]),
                       NULL);
        above = box;
    }
    return above;
}

/* ---- the tensor ---- */

static void put_dim_row(const Why *why, const Sharding *sharding, int row, Cells *cells);

static bool is_asked(const Why *why, int d)
{
    return why->dim == ALL_DIMS || why->dim == d;
}

static void add_tensor(Why *why)
{
    const Draw *draw = why->draw;
    const Plan *plan = draw->plan;
    DiagramBox box = diagram_box(BOX_TABLE, "");
    const Sharding *sharding =
        plan->moved->sharding[why->tensor] < 0 ? NULL : plan_sharding(plan, why->tensor);
    AtomSet partial =
        sharding ? sharding_partials(shardings_at(plan->shardings, plan->moved->made[why->tensor]))
                 : 0;
    int n_dims = sharding ? (int)sharding->n_dims : 0;
    Cells cells = cells_new(why->arena, n_dims + (partial != 0) + (n_dims == 0 && !partial));

    for (int row = 0; sharding && row < 3; row++)
        put_dim_row(why, sharding, row, &cells);
    if (!sharding || (n_dims == 0 && !partial))
        cells_put_text(&cells, draw_value(draw, why->tensor, -1));
    cells_put_row(
        &cells, CELL_MARKED,
        text_from(arena_str(why->arena, label_tensor(draw->session, why->arena, why->tensor))));
    cells_put_row(&cells, CELL_FAINT, text_from(label_tensor_kind(draw->session, why->tensor)));
    cells_give(&cells, &box);
    box.why = tensor_name(draw->graph, why->tensor);
    why->box = draw_box(why->draw, box);
}

static void put_partial(const Why *why, int row, Cells *cells)
{
    const Plan *plan = why->draw->plan;
    AtomSet partial =
        sharding_partials(shardings_at(plan->shardings, plan->moved->made[why->tensor]));
    Buf text = buf_marked(why->arena);

    if (!partial)
        return;
    buf_puts(&text, "\xce\xa3");
    mesh_format_set(plan->mesh, partial, ".", &text);
    if (row == 0)
        cells_put_cell(
            cells, (DiagramCell){.text = text_from("partial"), .look = CELL_HEAD, .port = "sum"});
    else if (row == 1)
        cells_put(cells, CELL_FAINT, "as it is produced");
    else
        cells_put_text(cells, buf_text(&text));
}

static void put_dim_row(const Why *why, const Sharding *sharding, int row, Cells *cells)
{
    const Mesh *mesh = why->draw->plan->mesh;

    for (int d = 0; d < sharding->n_dims; d++) {
        Buf cut = buf_marked(why->arena);
        cut_format(&sharding->dim[d], mesh, &cut);
        if (row == 0)
            cells_put_cell(cells,
                           (DiagramCell){.text = text_from(arena_printf(why->arena, "dim %d", d)),
                                         .look = why->dim == d ? CELL_MARKED : CELL_HEAD,
                                         .port = arena_printf(why->arena, "d%d", d)});
        else if (row == 1)
            cells_put(cells, CELL_PLAIN,
                      arena_printf(why->arena, "%" PRId64, cut_size(&sharding->dim[d])));
        else if (cut_is_whole(&sharding->dim[d]))
            cells_put(cells, CELL_FAINT, "whole");
        else
            cells_put_text(cells, buf_text(&cut));
    }
    put_partial(why, row, cells);
}

/* ---- in words ---- */

/* "megatron.lua:14 pins h.0.mlp.c_fc.weight dim 1" */
static void put_root(Why *why, const ReasonChain *chain, Buf *out)
{
    const ReasonStep *root = &chain->step[0];
    const char *place = place_text(why, root->tensor, root->op, root->dim);

    if (root->kind == REASON_CHOSEN) {
        buf_printf(out, "%s is the op's own choice", place);
        return;
    }
    if (!root->pin) {
        buf_printf(out, "%s follows the parameter it is a view of", place);
        return;
    }
    Str label = label_pin(why->arena, root->pin);
    if (root->pin->origin.kind == ORIGIN_POLICY)
        buf_printf(out, "%.*s %s %s", STR_ARG(label), root->pin->store ? "stores" : "pins", place);
    else
        buf_printf(out, "%s is pinned %.*s", place, STR_ARG(label));
}

static void put_chain(Why *why, const ReasonChain *chain, int dim)
{
    int64_t ops = chain->n_steps - 1 + chain->n_left_out;
    Buf *out = &why->caption;

    buf_puts(out, out->n ? "\n" : "");
    if (dim < 0)
        buf_puts(out, "it is partial over ");
    else
        buf_printf(out, "dim %d is sharded by ", dim);
    mesh_put_axis(why->draw->plan->mesh, chain->axis, out);
    buf_puts(out, " because ");
    put_root(why, chain, out);
    if (ops > 1)
        buf_printf(out, ", %" PRId64 " ops before", ops);
}

static void set_whole_caption(Why *why)
{
    const Plan *plan = why->draw->plan;
    Buf *out = &why->caption;

    if (why->caption.n > 0)
        return;
    if (plan->moved->sharding[why->tensor] < 0)
        buf_puts(out, "replicated, because part of its shape is unknown");
    else if (why->dim >= 0 && !cut_is_whole(&plan_sharding(plan, why->tensor)->dim[why->dim]))
        buf_printf(out, "dim %d is sharded by the propagator itself: no chain leads back to a pin",
                   why->dim);
    else if (why->dim >= 0)
        buf_printf(out, "dim %d is whole: no axis reaches it", why->dim);
    else
        buf_puts(out, "it is whole on every device: no axis reaches it");
}

/* ---- the whole drawing ---- */

static void draw_chains(Why *why, int dim)
{
    ReasonChain *chains;
    int n = why_tensor_dim(why->arena, why->draw->plan, why->tensor, dim, &chains);
    const char *port = dim < 0 ? "sum:n" : arena_printf(why->arena, "d%d:n", dim);

    for (int i = 0; i < n; i++) {
        const ReasonChain *chain = &chains[i];
        int last = draw_steps_of(why, chain);
        draw_step_line(why, last, why->box, chain->axis,
                       arrives(why, chain, &chain->step[chain->n_steps - 1]), port);
        put_chain(why, chain, dim);
    }
}

/* A dim that is pinned whole. */
static void draw_pinned_whole(Why *why, int dim)
{
    const Decision *pin = plan_pin_of(why->draw->plan, PIN_TENSOR_DIM, why->tensor, dim);
    ReasonStep step = {.kind = REASON_PIN, .tensor = why->tensor, .op = -1, .dim = dim, .pin = pin};

    if (!pin || !cut_is_whole(decision_cut(pin)))
        return;
    draw_step_line(why, pin_box(why, &step), why->box, -1, text_from("whole"),
                   arena_printf(why->arena, "d%d:n", dim));
    buf_printf(&why->caption, "%sdim %d is pinned whole by %.*s", why->caption.n ? "\n" : "", dim,
               STR_ARG(label_pin(why->arena, pin)));
}

/* The pins behind the other sharding that a reader needs. */
static void draw_wanted(Why *why, const WhyReshard *moved, int reader)
{
    for (int i = 0; i < moved->n_wanted; i++) {
        const WantedAxis *at = &moved->wanted[i];
        Buf label = buf_marked(why->arena);
        mesh_put_axis(why->draw->plan->mesh, at->chain.axis, &label);
        buf_printf(&label, " on dim %d", at->dim);
        if (is_asked(why, at->dim))
            draw_step_line(why, draw_steps_of(why, &at->chain), reader, at->chain.axis,
                           buf_text(&label), NULL);
    }
}

static void draw_moves(Why *why)
{
    const Draw *draw = why->draw;
    int n = 0;

    for (int r = draw->reshards.first[why->tensor]; r >= 0; r = draw->reshards.next[r]) {
        const Reshard *reshard = &draw->plan->moved->reshards[r];
        WhyReshard moved = why_reshard(why->arena, draw->plan, reshard);
        if (n++ >= MOVES_SHOWN)
            continue;
        DiagramBox box =
            diagram_box(moved.op < 0 ? BOX_OUTSIDE : BOX_OP, "a pin asks for this sharding");
        if (moved.op >= 0) {
            box.title = arena_str(why->arena, label_op(draw->session, why->arena, moved.op));
            box.subtitle = label_operator(draw->graph, moved.op);
        }
        box.flow =
            text_join(why->arena, "reads it as @", draw_value(draw, why->tensor, reshard->to));
        if (reshard->n_uses > 1)
            box.figures = arena_printf(why->arena, "and %d more", reshard->n_uses - 1);
        int reader = draw_box(why->draw, box);
        draw_line(why->draw, draw_moved_line(draw, why->box, reader, reshard));
        draw_wanted(why, &moved, reader);
    }
}

bool draw_why(Draw *draw, Error *err)
{
    Why why = {.draw = draw, .arena = draw->arena, .dim = ALL_DIMS};

    if (!parts_need(draw, false, err))
        return false;
    why.tensor = draw_find_tensor(draw, draw->request->of, NULL);
    if (why.tensor < 0)
        why.tensor =
            naming_find_dim(draw->session->naming, str_from(draw->request->of), &why.dim, err);
    if (why.tensor < 0)
        return false;
    const Sharding *sharding =
        draw->plan->moved->sharding[why.tensor] < 0 ? NULL : plan_sharding(draw->plan, why.tensor);
    if (why.dim != ALL_DIMS && (!sharding || why.dim < 0 || why.dim >= sharding->n_dims))
        return error_kind(err, ERROR_USAGE, "'%s' has no dim %d",
                          naming_label(draw->session->naming, why.tensor), why.dim);
    why.boxes = intern_new(why.arena);
    why.lines = intern_new(why.arena);
    why.labels = intern_new(why.arena);
    why.caption = buf_marked(why.arena);
    add_tensor(&why);
    for (int d = 0; sharding && d < sharding->n_dims; d++) {
        if (!is_asked(&why, d))
            continue;
        draw_chains(&why, d);
        draw_pinned_whole(&why, d);
    }
    if (sharding && why.dim == ALL_DIMS)
        draw_chains(&why, PARTIAL_DIM);
    set_whole_caption(&why);
    draw_moves(&why);
    draw->diagram->title =
        arena_str(draw->arena, label_tensor(draw->session, draw->arena, why.tensor));
    if (why.dim != ALL_DIMS)
        draw->diagram->title =
            arena_printf(draw->arena, "%s, dim %d", draw->diagram->title, why.dim);
    draw->diagram->caption = buf_text(&why.caption);
    return true;
}
