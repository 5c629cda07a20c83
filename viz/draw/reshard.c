#include "viz/draw/parts.h"

#include "core/plan/origin.h"
#include "core/base/units.h"
#include "core/summary/comm.h"
#include "core/cost/cost.h"
#include "core/explain/why_reshard.h"
#include "core/summary/label.h"
#include "viz/style.h"
#include "core/plan/plan_machine.h"

#include <inttypes.h>

enum { DRAWN_MAX = 4 };

typedef struct {
    Draw *draw;
    Arena *arena;
    const Reshard *reshard;
    WhyReshard why;
    int frame;
} Move;

static double total_us(const Draw *draw, const Reshard *reshard)
{
    return reshard->path->us * reshard_repeat(draw->plan, reshard);
}

/* ---- the shards of each rank ---- */

/* The sharding before the first step (i = -1), or after step i. */
static int32_t state_of(const Move *move, int i)
{
    return i < 0 ? move->reshard->from : move->reshard->path->step[i].to;
}

static Slices slices_at(const Move *move, int i)
{
    const Plan *plan = move->draw->plan;
    int devices = i < 0 ? move->reshard->from_devices : reshard_step_devices(move->reshard, i);
    return slices_of(shardings_at(plan->shardings, state_of(move, i)), plan->mesh,
                     plan->decided->submeshes[devices]);
}

static int draw_state(const Move *move, int i)
{
    const Plan *plan = move->draw->plan;
    int32_t id = state_of(move, i);
    int devices = i < 0 ? move->reshard->from_devices : reshard_step_devices(move->reshard, i);
    const Sharding *sharding = shardings_at(plan->shardings, id);
    Parts parts = {.slices = slices_at(move, i)};
    Slices before;
    bool last = i + 1 == move->reshard->path->n_steps;
    DiagramBox box = diagram_box(BOX_TABLE, i < 0 ? "before" : last ? "after" : "in between");
    Buf figures = buf_new(move->arena), shape = buf_new(move->arena);
    Shape local;

    int64_t first = submesh_position(plan->mesh, parts.slices.part, 0);
    sharding_local_shape(sharding, plan->mesh, first, &local);
    shape_format(&local, &shape);
    buf_puts(&figures, "a device ");
    if (parts.slices.part.fixed) {
        buf_puts(&figures, "of ");
        comm_format_part(move->draw->session, devices, &figures);
        buf_putc(&figures, ' ');
    }
    buf_printf(&figures, "holds %s, ", shape.s);
    units_format_bytes(plan_local_bytes(plan, move->reshard->tensor, id), &figures);
    box.flow = draw_value(move->draw, move->reshard->tensor, id);
    box.figures = figures.s;
    box.frame = move->frame;
    if (i >= 0) {
        before = slices_at(move, i - 1);
        parts.before = &before;
    }
    parts_picture(move->arena, &parts, &box);
    return draw_box(move->draw, box);
}

/* ---- a step ---- */

static void put_price(const Move *move, const Step *step, DiagramBox *box)
{
    const Session *session = move->draw->session;
    Cells cells = cells_new(move->arena, 1);
    Buf text = buf_new(move->arena), bytes = buf_new(move->arena);

    units_format_bytes(step->bytes, &bytes);
    buf_puts(&bytes, step->kind == STEP_ALL_GATHER ? " on each device after it; each sends "
                                                   : " of each device; each sends ");
    units_format_bytes(step->wire_bytes, &bytes);
    buf_puts(&bytes, ": ");
    units_format_us(step->us, &bytes);
    cells_put(&cells, CELL_PLAIN, bytes.s);
    if (step->padding_bytes > 0) {
        Buf padding = buf_new(move->arena);
        units_format_bytes(step->padding_bytes, &padding);
        buf_puts(&padding, " padding: shards have different sizes");
        cells_put(&cells, CELL_FAINT, padding.s);
    }
    price_explain(plan_reshard_machine(session->plan, move->reshard), session->mesh, step->kind,
                  step->atoms, step->bytes, &text);
    Str rest = buf_str(&text);
    while (rest.n > 0)
        cells_put(&cells, CELL_LONG, arena_str(move->arena, str_take(&rest, '\n')));
    box->why = text.s;
    cells_give(&cells, box);
}

static int draw_step(const Move *move, int i)
{
    const Step *step = &move->reshard->path->step[i];
    Buf title = buf_new(move->arena), groups = buf_new(move->arena);
    DiagramBox box = diagram_box(BOX_OP, "");

    if (move->reshard->path->n_steps > 1)
        buf_printf(&title, "%d. ", i + 1);
    buf_puts(&title, style_move(step->kind)->name);
    if (step->kind == STEP_SLICE) {
        box.flow = text_from("each device keeps a slice of its shard: no communication");
    } else {
        buf_puts(&title, " over ");
        mesh_format_set(move->draw->plan->mesh, step->atoms, ".", &title);
        comm_format_step_groups(move->draw->plan, move->reshard, i, &groups);
        box.flow = buf_text(&groups);
        put_price(move, step, &box);
    }
    box.title = title.s;
    box.subtitle = step_kind_mark(step->kind);
    box.frame = move->frame;
    return draw_box(move->draw, box);
}

static DiagramLine step_line(const Move *move, int i, int from, int to)
{
    const Step *step = &move->reshard->path->step[i];
    DiagramLine line = draw_new_line(LINE_MOVED, from, to);
    uint8_t atom[ATOMS_MAX];
    int n = mesh_list_set(move->draw->plan->mesh, step->atoms, atom);

    line.kind = step->kind;
    line.bytes = step->bytes;
    line.axis = n > 0 ? move->draw->plan->mesh->atoms[atom[0]].axis : -1;
    if (step->kind == STEP_SLICE) {
        line.look = LINE_VALUE;
        return line;
    }
    Buf label = buf_marked(move->arena);
    buf_printf(&label, " %s ", step_kind_mark(step->kind));
    mesh_format_set(move->draw->plan->mesh, step->atoms, ".", &label);
    line.label = buf_text(&label);
    return line;
}

/* ---- the reasons for it ---- */

static int draw_pin(const Move *move, const Decision *pin)
{
    Str label = label_pin(move->arena, pin);
    DiagramBox box = diagram_box(BOX_CAUSE, arena_str(move->arena, label));
    Buf origin = buf_new(move->arena), lua = buf_marked(move->arena);

    label_origin(move->draw->plan->mesh, &pin->origin, &origin);
    origin_put_lua(move->draw->plan->mesh, str_from(pin->origin.text), &lua);
    box.flow = buf_text(&lua);
    box.why = origin.s;
    box.frame = move->frame;
    return draw_box(move->draw, box);
}

static void draw_because(const Move *move, const Decision *pin, int to, int axis, Text label)
{
    DiagramLine line = draw_new_line(LINE_CAUSE, draw_pin(move, pin), to);
    line.axis = axis;
    line.label = label;
    draw_line(move->draw, line);
}

/* "tp on dim 1"; for a partial axis, dim -1, "Σtp". */
static Text axis_on_dim(const Move *move, int axis, int dim)
{
    Buf text = buf_marked(move->arena);

    buf_puts(&text, dim < 0 ? "\xce\xa3" : "");
    mesh_put_axis(move->draw->plan->mesh, axis, &text);
    if (dim >= 0)
        buf_printf(&text, " on dim %d", dim);
    return buf_text(&text);
}

/* The decisions behind the sharding that the reshard removes: of axes that leave a dim, or are
 * summed. */
static void draw_undone(const Move *move, int maker)
{
    const Plan *plan = move->draw->plan;
    const Sharding *from = shardings_at(plan->shardings, move->reshard->from);
    const Sharding *to = shardings_at(plan->shardings, move->reshard->to);

    for (int d = -1; d < from->n_dims; d++) {
        AtomSet undone =
            d < 0 ? move->why.summed : cut_atoms(&from->dim[d]) & ~cut_atoms(&to->dim[d]);
        ReasonChain *chains;
        int n = undone ? why_tensor_dim(move->arena, plan, move->reshard->tensor, d, &chains) : 0;
        for (int i = 0; i < n; i++) {
            if (chains[i].step[0].pin && mesh_axis_atoms(plan->mesh, chains[i].axis) & undone)
                draw_because(move, chains[i].step[0].pin, maker, chains[i].axis,
                             axis_on_dim(move, chains[i].axis, d));
        }
    }
}

/* The op that makes the value, or what the value is; and which sum made it partial. */
static int draw_maker(const Move *move)
{
    const Draw *draw = move->draw;
    int32_t tensor = move->reshard->tensor, maker = draw->graph->tensors[tensor].maker;
    bool computed = maker >= 0 && plan_cut(draw->plan, maker);
    Str name = computed ? label_op(draw->session, move->arena, maker)
                        : label_tensor(draw->session, move->arena, tensor);
    bool parameter = tensor_is_parameter(draw->plan->inferred, tensor);
    DiagramBox box = diagram_box(computed    ? BOX_OP
                                 : parameter ? BOX_PARAMETER
                                             : BOX_OUTSIDE,
                                 arena_str(move->arena, name));
    int index = -1;
    int32_t summer =
        move->why.summed ? why_summed_by(draw->plan, tensor, move->why.summed, &index) : -1;

    box.subtitle =
        computed ? label_operator(draw->graph, maker) : label_tensor_kind(draw->session, tensor);
    if (summer >= 0) {
        Buf text = buf_marked(move->arena);
        Str at = label_op(draw->session, move->arena, summer);
        const Cut *cut = &program_cut(draw->plan, summer)->index[index];
        buf_printf(&text, "sums over %s, sharded as ",
                   program_space(draw->plan->inferred, summer)->index[index].name);
        cut_format(cut, draw->plan->mesh, &text);
        if (summer != maker)
            buf_printf(&text, "\nin %.*s", STR_ARG(at));
        box.flow = buf_text(&text);
    }
    if (computed && plan_devices(draw->plan, maker) != move->reshard->from_devices)
        box.figures = "sent here earlier; passed on";
    box.frame = move->frame;
    int n = draw_box(move->draw, box);
    draw_undone(move, n);
    return n;
}

/* Why the value's axes did not reach the reader. */
static Text dropped_text(const Move *move)
{
    Buf text = buf_marked(move->arena);

    for (int i = 0; i < move->why.n_dropped; i++) {
        const DroppedAxes *at = &move->why.dropped[i];
        if (!at->found)
            continue;
        buf_puts(&text, text.n ? "\n" : "");
        buf_puts(&text, "does not accept ");
        mesh_format_set(move->draw->plan->mesh, at->atoms, ".", &text);
        buf_printf(&text, " on dim %d:\n", at->dim);
        why_not_format_stop(move->draw->plan, &at->stop, &text);
    }
    if (move->why.summed) {
        buf_puts(&text, text.n ? "\nneeds the sum over " : "needs the sum over ");
        mesh_format_set(move->draw->plan->mesh, move->why.summed, ".", &text);
    }
    return buf_text(&text);
}

static void draw_wanted(const Move *move, int reader)
{
    for (int i = 0; i < move->why.n_wanted; i++) {
        const WantedAxis *at = &move->why.wanted[i];
        const ReasonStep *root = &at->chain.step[0];
        if (root->pin)
            draw_because(move, root->pin, reader, at->chain.axis,
                         axis_on_dim(move, at->chain.axis, at->dim));
    }
}

/* The pins of the value itself that ask for the new sharding. */
static void draw_asked(const Move *move, int reader)
{
    const Plan *plan = move->draw->plan;
    const Sharding *to = shardings_at(plan->shardings, move->reshard->to);

    for (int d = 0; d < to->n_dims; d++) {
        const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, move->reshard->tensor, d);
        if (pin)
            draw_because(move, pin, reader, -1, text_from(arena_printf(move->arena, "dim %d", d)));
    }
}

static int draw_reader(const Move *move)
{
    const Draw *draw = move->draw;
    int32_t op = move->why.op;
    Str name =
        op < 0 ? STR("a pin asks for this sharding") : label_op(draw->session, move->arena, op);
    DiagramBox box = diagram_box(op < 0 ? BOX_OUTSIDE : BOX_OP, arena_str(move->arena, name));

    if (op < 0 && move->reshard->from_devices != move->reshard->to_devices)
        box.title = "a stage that passes it on";
    box.subtitle = op < 0 ? "" : label_operator(draw->graph, op);
    box.flow = dropped_text(move);
    if (move->reshard->n_uses > 1)
        box.figures = arena_printf(move->arena, "%d more readers", move->reshard->n_uses - 1);
    box.frame = move->frame;
    int n = draw_box(move->draw, box);
    draw_wanted(move, n);
    if (op < 0)
        draw_asked(move, n);
    const Decision *stage = move->reshard->from_devices == move->reshard->to_devices
                                ? NULL
                                : comm_cause(move->arena, draw->session, move->reshard);
    if (stage)
        draw_because(move, stage, n, -1, text_from("runs on other devices"));
    return n;
}

/* ---- one reshard, all its steps ---- */

static void draw_move(Draw *draw, const Reshard *reshard, int frame)
{
    Move move = {.draw = draw, .arena = draw->arena, .reshard = reshard, .frame = frame};

    move.why = why_reshard(draw->arena, draw->plan, reshard);
    int maker = draw_maker(&move), above = draw_state(&move, -1);
    draw_line(draw, draw_new_line(LINE_VALUE, maker, above));
    for (int i = 0; i < reshard->path->n_steps; i++) {
        int step = draw_step(&move, i), after = draw_state(&move, i);
        draw_line(draw, step_line(&move, i, above, step));
        draw_line(draw, draw_new_line(LINE_VALUE, step, after));
        above = after;
    }
    draw_line(draw, draw_new_line(LINE_VALUE, above, draw_reader(&move)));
}

/* ---- which reshards are drawn ---- */

/* The most expensive reshard; -1 if none takes time, as slices do not. */
static int32_t dearest(const Draw *draw)
{
    int32_t best = -1;
    double most = 0;

    for (int32_t r = 0; r < draw->plan->moved->n_reshards; r++) {
        double us = total_us(draw, &draw->plan->moved->reshards[r]);
        best = us > most ? r : best;
        most = us > most ? us : most;
    }
    return best;
}

/* Counts reshards with the same path between the same shardings whose tensors' names differ only in
 * numbers. */
static int count_alike(const Draw *draw, const Reshard *one)
{
    Buf name = buf_new(draw->arena), other = buf_new(draw->arena);
    int n = 0;

    text_wildcard(label_tensor(draw->session, draw->arena, one->tensor), &name);
    for (int r = 0; r < draw->plan->moved->n_reshards; r++) {
        const Reshard *at = &draw->plan->moved->reshards[r];
        other.n = 0;
        if (at->from != one->from || at->to != one->to || at->path != one->path)
            continue;
        text_wildcard(label_tensor(draw->session, draw->arena, at->tensor), &other);
        n += str_eq(buf_str(&name), buf_str(&other));
    }
    return n;
}

static void put_steps(const Draw *draw, const ReshardPath *path, Buf *out)
{
    reshard_format_steps(path, draw->plan->mesh, out);
    buf_puts(out, ", ");
    units_format_us(path->us, out);
}

static void put_next_best(const Draw *draw, const Reshard *reshard, Buf *out)
{
    const ReshardPath *other = why_reshard_other(draw->plan, reshard);

    if (reshard->path->us <= 0)
        return;
    buf_puts(out, reshard->path->proven ? "\nno path is cheaper" : "\nthe cheapest path found");
    if (!other)
        return;
    buf_puts(out, "; the next best: ");
    put_steps(draw, other, out);
}

static Text caption(const Draw *draw, const Reshard *reshard, int n)
{
    Buf text = buf_marked(draw->arena);
    int alike = count_alike(draw, reshard);

    buf_puts(&text, n > 1 ? "the first: " : "");
    buf_add_text(&text, text_join(draw->arena,
                                  "@ becomes @: ", draw_value(draw, reshard->tensor, reshard->from),
                                  draw_value(draw, reshard->tensor, reshard->to)));
    put_steps(draw, reshard->path, &text);
    put_next_best(draw, reshard, &text);
    if (alike > 1) {
        buf_printf(&text, "\n%d equal reshards: ", alike);
        units_format_us(alike * total_us(draw, reshard), &text);
        buf_printf(&text, " of a %s", label_pass(draw->plan));
    }
    if (n > 1)
        buf_printf(&text, "\nit is resharded %d times%s", n,
                   n > DRAWN_MAX ? "; --kind slices shows those not drawn" : "");
    return buf_text(&text);
}

static bool draw_all_of(Draw *draw, int32_t tensor, Error *err)
{
    const Plan *plan = draw->plan;
    int32_t first = -1;
    int n = 0;

    draw->diagram->title = arena_str(draw->arena, label_tensor(draw->session, draw->arena, tensor));
    for (int32_t r = 0; r < plan->moved->n_reshards; r++) {
        if (plan->moved->reshards[r].tensor != tensor)
            continue;
        first = first < 0 ? r : first;
        n++;
    }
    if (n == 0) {
        error_kind(err, ERROR_UNSUPPORTED,
                   "'%s' is not resharded: all ops read it in the sharding it is produced in",
                   draw->diagram->title);
        if (dearest(draw) >= 0)
            error_hint(err, "the most expensive reshard is of '%s'",
                       tensor_name(draw->graph, plan->moved->reshards[dearest(draw)].tensor));
        return false;
    }
    for (int32_t r = first, drawn = 0; r < plan->moved->n_reshards && drawn < DRAWN_MAX; r++) {
        if (plan->moved->reshards[r].tensor != tensor)
            continue;
        int frame =
            n == 1 ? -1
                   : draw_frame(draw, (DiagramFrame){.look = FRAME_PLAIN,
                                                     .title = arena_printf(draw->arena, "%d of %d",
                                                                           drawn + 1, n),
                                                     .parent = -1});
        draw_move(draw, &plan->moved->reshards[r], frame);
        drawn++;
    }
    draw->diagram->caption = caption(draw, &plan->moved->reshards[first], n);
    return true;
}

bool draw_reshard(Draw *draw, Error *err)
{
    if (draw->request->of) {
        int32_t tensor = draw_find_tensor(draw, draw->request->of, err);
        return tensor >= 0 && draw_all_of(draw, tensor, err);
    }
    int32_t r = dearest(draw);
    if (r < 0) {
        error_kind(err, ERROR_UNSUPPORTED, "this plan has no reshards");
        error_hint(err, "--kind slices shows who holds what");
        return false;
    }
    const Reshard *reshard = &draw->plan->moved->reshards[r];
    draw->diagram->title =
        arena_str(draw->arena, label_tensor(draw->session, draw->arena, reshard->tensor));
    draw_move(draw, reshard, -1);
    draw->diagram->caption = caption(draw, reshard, 1);
    return true;
}
