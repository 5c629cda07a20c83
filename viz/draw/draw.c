#include "viz/draw/facts.h"

#include "core/base/units.h"
#include "core/summary/comm.h"
#include "core/explain/reason.h"
#include "core/summary/label.h"

DiagramLine draw_new_line(LineLook look, int from, int to)
{
    return (DiagramLine){.look = look, .from = from, .to = to, .axis = -1, .label = text_from("")};
}

DiagramFrame draw_new_frame(FrameLook look, const char *title, const char *why, int parent)
{
    return (DiagramFrame){.look = look, .title = title, .why = why, .parent = parent};
}

int draw_box(Draw *draw, DiagramBox box)
{
    vec_push(draw->arena, &draw->boxes, box);
    return draw->boxes.n - 1;
}

int draw_frame(Draw *draw, DiagramFrame frame)
{
    vec_push(draw->arena, &draw->frames, frame);
    return draw->frames.n - 1;
}

void draw_line(Draw *draw, DiagramLine line)
{
    vec_push(draw->arena, &draw->lines, line);
}

static int flowing_input(const Draw *draw, int32_t op, int from);

/* ---- the subject of a request ---- */

/* An op by its label in drawings: "h.0.mlp.c_proj/Gemm"; -1 if there is none. */
static int32_t find_labelled(const Draw *draw, Str name)
{
    const Inferred *inferred = draw->plan->inferred;
    size_t slash = name.n;

    assert(name.s);
    while (slash > 0 && name.s[slash - 1] != '/')
        slash--;
    for (int i = 0; slash > 0 && i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (str_eq(str_from(op_path(draw->graph, op)), (Str){name.s, slash - 1}) &&
            str_eq(label_op(draw->session, draw->arena, op), name))
            return op;
    }
    return -1;
}

/* A tensor by its label in drawings: "h.0.mlp.c_proj/Gemm out"; -1 if there is none. */
static int32_t find_labelled_tensor(const Draw *draw, Str name)
{
    int64_t blank = str_find(name, STR(" out"));
    int32_t op = blank < 0 ? -1 : find_labelled(draw, (Str){name.s, (size_t)blank});

    for (int o = 0; op >= 0 && o < draw->graph->ops[op].n_outputs; o++) {
        int32_t tensor = op_outputs(draw->graph, op)[o];
        if (tensor >= 0 && str_eq(label_tensor(draw->session, draw->arena, tensor), name))
            return tensor;
    }
    return -1;
}

int32_t draw_find_tensor(const Draw *draw, const char *name, Error *err)
{
    int32_t labelled = find_labelled_tensor(draw, str_from(name));
    return labelled >= 0 ? labelled : naming_find(draw->session->naming, str_from(name), err);
}

/* The op that stands for a module: its last one that takes time, not the reshapes after it. */
static int32_t last_that_works(const Draw *draw, int32_t last)
{
    const char *path = op_path(draw->graph, last);

    for (int32_t op = last; op >= 0 && plan_cut(draw->plan, op);) {
        int place = flowing_input(draw, op, 0);
        if (strcmp(op_path(draw->graph, op), path) != 0)
            break;
        if (draw->plan->priced->op_us[op] > 0)
            return op;
        op = place < 0 ? -1 : draw->graph->tensors[op_inputs(draw->graph, op)[place]].maker;
    }
    return last;
}

int32_t draw_find_op(const Draw *draw, const char *name, Error *err)
{
    int32_t op = graph_find_op(draw->graph, str_from(name));
    if (op < 0)
        op = find_labelled(draw, str_from(name));
    if (op >= 0 && plan_cut(draw->plan, op))
        return op;
    op = -1;
    naming_part(draw->session->naming, str_from(name), PART_OUT, &op);
    if (op >= 0)
        return last_that_works(draw, op);
    int32_t tensor = draw_find_tensor(draw, name, err);
    if (tensor < 0)
        return -1;
    op = draw->graph->tensors[tensor].maker;
    if (op >= 0 && plan_cut(draw->plan, op))
        return op;
    error_kind(err, ERROR_USAGE, "'%s' is %s, which no op of the plan produces", name,
               label_tensor_kind(draw->session, tensor));
    error_hint(err, "give an op that reads it, or the path of a module");
    return -1;
}

/* ---- texts ---- */

Text draw_value(const Draw *draw, int32_t tensor, int32_t sharding)
{
    Buf text = buf_marked(draw->arena);
    if (sharding >= 0) {
        label_put_list(draw->plan->inferred, tensor, &text);
        sharding_format(shardings_at(draw->plan->shardings, sharding), draw->plan->mesh, VIEW_OURS,
                        &text, NULL);
    } else if (tensor >= 0) {
        inferred_put_shape(draw->plan->inferred, tensor, &text);
    }
    return buf_text(&text);
}

int32_t draw_made(const Draw *draw, int32_t tensor)
{
    return draw->graph->tensors[tensor].maker >= 0 ? draw->plan->moved->made[tensor]
                                                   : draw->plan->moved->sharding[tensor];
}

const char *draw_tensor_name(const Draw *draw, int32_t tensor)
{
    int32_t maker = draw->graph->tensors[tensor].maker;
    bool made = maker >= 0 && draw->plan->inferred->on_parameters[maker];

    return arena_str(draw->arena, made ? label_op(draw->session, draw->arena, maker)
                                       : label_tensor(draw->session, draw->arena, tensor));
}

/* The parameter that a tensor is, or is computed from by ops without boxes that read nothing else;
 * -1 if there is none. */
static int32_t root_parameter(const Draw *draw, int32_t tensor)
{
    while (!tensor_is_parameter(draw->plan->inferred, tensor)) {
        int32_t maker = draw->graph->tensors[tensor].maker, of = -1;
        if (maker < 0 || !draw->plan->inferred->on_parameters[maker] || draw->box_of[maker] >= 0)
            return -1;
        for (int i = 0; i < draw->graph->ops[maker].n_inputs; i++) {
            int32_t t = op_inputs(draw->graph, maker)[i];
            if (t < 0 || tensor_is_known(draw->plan->inferred, t))
                continue;
            if (of >= 0)
                return -1;
            of = t;
        }
        if (of < 0)
            return -1;
        tensor = of;
    }
    return tensor;
}

/* The next input from there on that is neither a parameter nor known before the run; -1 if none. */
static int flowing_input(const Draw *draw, int32_t op, int from)
{
    for (int i = from; i < draw->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(draw->graph, op)[i];
        if (t >= 0 && root_parameter(draw, t) < 0 && !tensor_is_known(draw->plan->inferred, t))
            return i;
    }
    return -1;
}

Text draw_flow(const Draw *draw, int32_t op)
{
    const GraphOp *node = &draw->graph->ops[op];
    Text from[2] = {0};
    int place = -1;

    for (int i = 0; i < 2 && (place = flowing_input(draw, op, place + 1)) >= 0; i++)
        from[i] = draw_value(draw, op_inputs(draw->graph, op)[place],
                             draw->plan->moved->need[node->input + place]);
    int32_t result = node->n_outputs > 0 ? op_outputs(draw->graph, op)[0] : -1;
    Text to = draw_value(draw, result, result < 0 ? -1 : draw->plan->moved->made[result]);
    if (from[0].str.n == 0)
        return to;
    if (from[1].str.n == 0 || str_eq(from[0].str, from[1].str))
        return text_join(draw->arena, "@ \xe2\x86\x92 @", from[0], to);
    return text_join(draw->arena, "@ \xe2\x86\x92 @\nwith @", from[0], to, from[1]);
}

/* A line for each parameter with two dims or more, one line for all others. */
Text draw_parameters(const Draw *draw, int32_t op)
{
    const GraphOp *node = &draw->graph->ops[op];
    const char *path = op_path(draw->graph, op);
    Buf large = buf_marked(draw->arena), small = buf_marked(draw->arena);

    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(draw->graph, op)[i], need = draw->plan->moved->need[node->input + i];
        int32_t root = t < 0 ? -1 : root_parameter(draw, t);
        const Shape *shape = root < 0 ? NULL : inferred_shape(draw->plan->inferred, t);
        if (!shape || shape_elements(shape) < 2 || draw_is_fetched(draw, t))
            continue;
        bool is_large = shape->n_dims > 1;
        Str name = group_relative(naming_label(draw->session->naming, root), path);
        Buf *out = is_large ? &large : &small;
        buf_puts(out, out->n == 0 ? "" : is_large ? "\n" : ", ");
        buf_printf(out, "%.*s ", STR_ARG(name));
        buf_add_text(out, draw_value(draw, t, need));
        if (is_large) {
            buf_puts(&large, "  ");
            units_format_bytes(
                plan_local_bytes(draw->plan, root, draw->plan->moved->sharding[root]), &large);
        }
    }
    if (small.n > 0 && large.n > 0)
        buf_putc(&large, '\n');
    buf_add_text(&large, buf_text(&small));
    return buf_text(&large);
}

/* "0.12 ms  24.0 MiB". */
static const char *draw_figures(const Draw *draw, double us, int64_t bytes)
{
    Buf text = buf_new(draw->arena);
    units_format_us(us, &text);
    buf_puts(&text, "  ");
    units_format_bytes(bytes, &text);
    return text.s;
}

Text draw_steps(const Draw *draw, const ReshardPath *path)
{
    Buf text = buf_marked(draw->arena);
    for (int i = 0; i < path->n_steps; i++) {
        const Step *step = &path->step[i];
        if (step->kind == STEP_SLICE)
            continue;
        buf_printf(&text, "%s%s ", text.n ? "\n" : "", step_kind_mark(step->kind));
        mesh_format_set(draw->plan->mesh, step->atoms, ".", &text);
        buf_putc(&text, ' ');
        units_format_bytes(step->bytes, &text);
        buf_putc(&text, ' ');
        units_format_us(step->us, &text);
    }
    return buf_text(&text);
}

const char *draw_cause(const Draw *draw, int32_t op)
{
    const OpCut *cut = plan_cut(draw->plan, op);
    bool said[MESH_AXES_MAX] = {0};
    Buf text = buf_new(draw->arena);

    for (int i = 0; cut && i < cut->n; i++) {
        ReasonChain *chains;
        int n = cut_is_whole(&cut->index[i])
                    ? 0
                    : why_index_dim(draw->arena, draw->plan, op, i, &chains);
        for (int k = 0; k < n; k++) {
            if (said[chains[k].axis])
                continue;
            said[chains[k].axis] = true;
            buf_puts(&text, text.n > 0 ? "\n" : "");
            reason_format(draw->plan, &chains[k].step[0], chains[k].axis, &text);
        }
    }
    return text.n > 0 ? text.s : NULL;
}

/* The pin that shards the op itself or one of its parameters; NULL if none. */
static const Decision *draw_own_pin(const Draw *draw, int32_t op)
{
    const GraphOp *node = &draw->graph->ops[op];
    const OpSpace *space = inferred_space(draw->plan->inferred, op);

    for (int d = 0; space && d < space->n_index; d++) {
        const Decision *pin = plan_pin_of(draw->plan, PIN_INDEX_DIM, op, d);
        if (pin && !cut_is_whole(decision_cut(pin)))
            return pin;
    }
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(draw->graph, op)[i];
        int32_t root = t < 0 ? -1 : root_parameter(draw, t);
        const Shape *shape = root < 0 ? NULL : inferred_shape(draw->plan->inferred, root);
        for (int d = 0; shape && d < shape->n_dims; d++) {
            const Decision *pin = plan_pin_of(draw->plan, PIN_TENSOR_DIM, root, d);
            if (pin && !pin->store && !cut_is_whole(decision_cut(pin)))
                return pin;
        }
    }
    return NULL;
}

const char *draw_moved_why(const Draw *draw, const Reshard *reshard)
{
    Buf text = buf_new(draw->arena);
    const Decision *pin = comm_cause(draw->arena, draw->session, reshard);

    buf_printf(&text, "%s: %s is needed as %s",
               arena_str(draw->arena, label_tensor(draw->session, draw->arena, reshard->tensor)),
               draw_value(draw, reshard->tensor, reshard->from).str.s,
               draw_value(draw, reshard->tensor, reshard->to).str.s);
    if (pin) {
        buf_puts(&text, "\nbecause of ");
        label_origin(draw->plan->mesh, &pin->origin, &text);
    }
    return text.s;
}

/* ---- boxes and lines of ops ---- */

int draw_op(Draw *draw, int32_t op, const char *inside, int frame)
{
    const char *path = op_path_or_name(draw->graph, op);
    int32_t result = draw->graph->ops[op].n_outputs > 0 ? op_outputs(draw->graph, op)[0] : -1;
    int64_t bytes =
        result < 0 ? 0 : plan_local_bytes(draw->plan, result, draw->plan->moved->made[result]);
    DiagramBox box = diagram_box(BOX_OP, arena_str(draw->arena, group_relative(path, inside)));

    Text parameters = draw_parameters(draw, op);

    box.subtitle = label_operator(draw->graph, op);
    box.flow = draw_flow(draw, op);
    if (parameters.str.n > 0)
        box.flow = text_join(draw->arena, "@\n@", box.flow, parameters);
    box.figures = draw_figures(draw, draw->plan->priced->op_us[op], bytes);
    const Decision *pin = draw_own_pin(draw, op);
    if (pin)
        box.figures = arena_printf(draw->arena, "%s\nsharded by %.*s", box.figures,
                                   STR_ARG(label_pin(draw->arena, pin)));
    box.why = draw_cause(draw, op);
    box.link = arena_printf(draw->arena, "#op-%d", op);
    box.frame = frame;
    box.facts = facts_of_ops(draw, &op, 1);
    draw->box_of[op] = draw_box(draw, box);
    return draw->box_of[op];
}

int draw_outside(Draw *draw, int32_t tensor)
{
    if (draw->outside[tensor])
        return draw->outside[tensor] - 1;
    bool parameter = tensor_is_parameter(draw->plan->inferred, tensor);
    DiagramBox box = diagram_box(parameter ? BOX_PARAMETER : BOX_OUTSIDE,
                                 parameter ? naming_label(draw->session->naming, tensor)
                                           : draw_tensor_name(draw, tensor));

    box.subtitle = label_tensor_kind(draw->session, tensor);
    box.flow = draw_value(draw, tensor, draw->plan->moved->sharding[tensor]);
    if (parameter) {
        Buf held = buf_new(draw->arena);
        units_format_bytes(
            plan_local_bytes(draw->plan, tensor, draw->plan->moved->sharding[tensor]), &held);
        buf_puts(&held, " held");
        box.figures = held.s;
    }
    box.facts = facts_of_tensor(draw, tensor, draw->plan->moved->sharding[tensor]);
    draw->outside[tensor] = draw_box(draw, box) + 1;
    return draw->outside[tensor] - 1;
}

/* The step and its cause: "AR tp 12.0 MiB 81.2 us", "megatron.lua:14". */
static Text label_of(const Draw *draw, const Reshard *reshard)
{
    const Decision *pin = comm_cause(draw->arena, draw->session, reshard);
    Text steps = draw_steps(draw, reshard->path);

    if (!pin)
        return steps;
    return text_join(draw->arena, "@\n@", steps, text_of(label_pin(draw->arena, pin)));
}

DiagramLine draw_moved_line(const Draw *draw, int from, int to, const Reshard *reshard)
{
    DiagramLine line = draw_new_line(LINE_MOVED, from, to);
    const Mesh *mesh = draw->plan->mesh;

    for (int i = 0; i < reshard->path->n_steps; i++) {
        const Step *step = &reshard->path->step[i];
        uint8_t atom[ATOMS_MAX];
        if (step->kind == STEP_SLICE || mesh_list_set(mesh, step->atoms, atom) == 0)
            continue;
        line.axis = mesh->atoms[atom[0]].axis;
        line.kind = step->kind;
        line.bytes = step->bytes;
        line.label = label_of(draw, reshard);
        line.why = draw_moved_why(draw, reshard);
        line.link =
            arena_printf(draw->arena, "#reshard-%d", (int)(reshard - draw->plan->moved->reshards));
        line.facts = facts_of_reshard(draw, reshard);
        return line;
    }
    line.look = LINE_VALUE; /* only sliced: every rank already has the data */
    return line;
}
