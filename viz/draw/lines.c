/* lines.c - lines of values between boxes: each collective is one line, however many ops read its
 * result. A state is a value in one sharding: as its maker makes it, or as a reshard that moves
 * data leaves it. A state that several boxes read branches at a point. One with very many readers
 * has no lines to them: its name is beside them. */
#include "viz/draw/facts.h"

enum { PORT_READERS = 8 }; /* readers that share one box with the name of a value */

typedef struct {
    int box;       /* box of the reader */
    int32_t state; /* reshard that makes what it reads; -1: as the maker makes it */
    bool partial;
} ReadLine;

typedef struct {
    int32_t state;
    int n_readers, n_before; /* boxes that read it, and states made from it */
    int box;                 /* the box its lines start from; -1 if not drawn yet */
    int port, n_at_port;
} State;

typedef struct {
    Draw *draw;
    int32_t tensor;
    int source;
    Vec(ReadLine) readers;
    Vec(State) states; /* the first: as the maker makes it */
} Branching;

/* ---- states ---- */

bool draw_is_moved(const Draw *draw, const Reshard *reshard)
{
    for (int i = 0; i < reshard->path->n_steps; i++) {
        uint8_t atom[ATOMS_MAX];
        const Step *step = &reshard->path->step[i];
        if (step->kind != STEP_SLICE && mesh_list_set(draw->plan->mesh, step->atoms, atom) > 0)
            return true;
    }
    return false;
}

bool draw_is_fetched(const Draw *draw, int32_t tensor)
{
    for (int32_t r = draw->reshards.first[tensor]; r >= 0; r = draw->reshards.next[r])
        if (draw_is_moved(draw, &draw->plan->moved->reshards[r]))
            return true;
    return false;
}

/* The reshard that this one continues; -1 if it starts from the value as it is made. */
static int32_t reshard_before(const Draw *draw, int32_t r)
{
    const Plan *plan = draw->plan;
    const Reshard *reshard = &plan->moved->reshards[r];
    int32_t t = reshard->tensor, maker = draw->graph->tensors[t].maker;

    if (maker >= 0 && plan->moved->made[t] != plan->moved->sharding[t] &&
        reshard->from == plan->moved->made[t] && reshard->to == plan->moved->sharding[t])
        return -1; /* the reshard that a pin asks for, from the value as it is made */
    int32_t before =
        reshard_filling(&draw->reshards, t, reshard->from, reshard->from_devices, reshard->phase);
    return before == r ? -1 : before;
}

/* The nearest reshard that moves data, from this one backwards; -1 if none. */
static int32_t moving(const Draw *draw, int32_t r)
{
    for (int i = 0; r >= 0 && i < draw->plan->moved->n_reshards; i++) {
        if (draw_is_moved(draw, &draw->plan->moved->reshards[r]))
            return r;
        r = reshard_before(draw, r);
    }
    return -1;
}

int32_t draw_reshard_before(const Draw *draw, int32_t state)
{
    return moving(draw, reshard_before(draw, state));
}

int32_t draw_reshard_for(const Draw *draw, int32_t tensor, int32_t need, int devices)
{
    return moving(draw, reshard_filling(&draw->reshards, tensor, need, devices, 0));
}

static State *state_at(Branching *value, int32_t state)
{
    for (int i = 0; i < value->states.n; i++)
        if (value->states.at[i].state == state)
            return &value->states.at[i];
    State fresh = {.state = state, .box = state < 0 ? value->source : -1, .port = -1};
    vec_push(value->draw->arena, &value->states, fresh);
    return &value->states.at[value->states.n - 1];
}

static void add_reader(Branching *value, int box, int32_t state, bool partial)
{
    int32_t key[3] = {box, state, value->tensor};
    int n = intern_count(value->draw->pairs);

    if (intern_put(value->draw->pairs, key, sizeof key) != n)
        return;
    vec_push(value->draw->arena, &value->readers, (ReadLine){box, state, partial});
    state_at(value, state)->n_readers++;
    for (int i = 0; state >= 0 && i < value->draw->plan->moved->n_reshards; i++) {
        int32_t before = draw_reshard_before(value->draw, state);
        bool known = value->draw->reached[state];
        value->draw->reached[state] = true;
        if (known)
            return;
        state_at(value, before)->n_before++;
        state = before;
    }
}

/* ---- drawing one value ---- */

static DiagramBox name_box(const Branching *value, const State *state)
{
    const Draw *draw = value->draw;
    int32_t t = value->tensor;
    int32_t sharding =
        state->state >= 0 ? draw->plan->moved->reshards[state->state].to : draw_made(draw, t);
    DiagramBox box = diagram_box(BOX_OUTSIDE, draw_tensor_name(draw, t));

    box.subtitle = arena_printf(draw->arena, "read by %d", state->n_readers);
    box.flow = draw_value(draw, t, sharding);
    box.facts = facts_of_tensor(draw, t, sharding);
    return box;
}

static void take_value(Branching *value, int from, int to, bool partial)
{
    DiagramLine line = draw_new_line(LINE_VALUE, from, to);
    int32_t key[2] = {from, to};
    int n = intern_count(value->draw->pairs);

    line.partial = partial;
    line.facts = facts_of_tensor(value->draw, value->tensor, draw_made(value->draw, value->tensor));
    if (from != to && intern_put(value->draw->pairs, key, sizeof key) == n)
        draw_line(value->draw, line);
}

static bool is_long(const State *state)
{
    return state->n_readers > DRAW_READERS_MAX;
}

static int state_box(Branching *value, int32_t id, int frame);

/* Draws the line of the reshard that makes a state, ending at a box. */
static void draw_state_line(Branching *value, int32_t state, int to)
{
    const Draw *draw = value->draw;
    int32_t before = draw_reshard_before(draw, state);
    int from = state_box(value, before, draw->boxes.at[to].frame);

    draw_line(value->draw, draw_moved_line(draw, from, to, &draw->plan->moved->reshards[state]));
}

/* The box that lines of a state start from. */
static int state_box(Branching *value, int32_t id, int frame)
{
    State *state = state_at(value, id);

    if (state->box >= 0)
        return state->box;
    DiagramBox box = is_long(state) ? name_box(value, state)
                                    : diagram_box(BOX_POINT, "one value with several readers");
    if (!is_long(state)) {
        box.why = draw_moved_why(value->draw, &value->draw->plan->moved->reshards[id]);
        box.frame = frame;
        box.facts =
            facts_of_tensor(value->draw, value->tensor, value->draw->plan->moved->reshards[id].to);
    }
    state->box = draw_box(value->draw, box);
    int at = state->box;
    draw_state_line(value, id, at);
    return at;
}

/* The next box with the name of a state that has very many readers. */
static int port_box(Branching *value, int32_t id)
{
    State *state = state_at(value, id);

    if (state->port >= 0 && state->n_at_port < PORT_READERS) {
        state->n_at_port++;
        return state->port;
    }
    if (state->port < 0 && (id >= 0 || value->draw->boxes.at[state->box].look == BOX_OUTSIDE)) {
        int box = state_box(value, id, -1);
        state = state_at(value, id);
        state->port = box;
    } else {
        bool first = state->port < 0;
        state->port = draw_box(value->draw, name_box(value, state));
        if (first)
            take_value(value, state->box, state->port, false);
    }
    state->n_at_port = 1;
    return state->port;
}

static void draw_taker(Branching *value, const ReadLine *reading)
{
    State *state = state_at(value, reading->state);

    if (is_long(state))
        take_value(value, port_box(value, reading->state), reading->box, reading->partial);
    else if (reading->state >= 0 && state->n_readers + state->n_before == 1)
        draw_state_line(value, reading->state, reading->box);
    else
        take_value(value,
                   state_box(value, reading->state, value->draw->boxes.at[reading->box].frame),
                   reading->box, reading->partial);
}

/* ---- readers of a value ---- */

static bool is_outside(const Draw *draw, int box)
{
    BoxLook look = draw->boxes.at[box].look;
    return look == BOX_OUTSIDE || look == BOX_PARAMETER;
}

static void add_readers(Branching *value, bool from_outside)
{
    Draw *draw = value->draw;
    const Graph *graph = draw->graph;
    int32_t t = value->tensor;

    for (int u = 0; u < tensor_n_uses(graph, t); u++) {
        int32_t op = graph->uses[graph->tensors[t].use + u];
        int box = draw->box_of[op];
        if (box < 0 || (from_outside && is_outside(draw, box)))
            continue;
        for (int o = 0; o < graph->ops[op].n_inputs; o++) {
            int32_t need = draw->plan->moved->need[graph->ops[op].input + o];
            if (op_inputs(graph, op)[o] != t)
                continue;
            int32_t state = draw_reshard_for(draw, t, need, plan_devices(draw->plan, op));
            if (state >= 0 || box != value->source)
                add_reader(value, box, state,
                           need >= 0 &&
                               sharding_partials(shardings_at(draw->plan->shardings, need)) != 0);
        }
    }
}

/* A graph output has a box of its own if it is moved for that, or no op reads it. */
static void add_output(Branching *value)
{
    Draw *draw = value->draw;
    int32_t t = value->tensor, maker = draw->graph->tensors[t].maker;

    if (!draw->graph->tensors[t].output || maker < 0 || is_outside(draw, value->source))
        return;
    int32_t state =
        draw_reshard_for(draw, t, draw->plan->moved->sharding[t], plan_devices(draw->plan, maker));
    if (state < 0 && value->readers.n > 0)
        return;
    DiagramBox box = diagram_box(BOX_OUTSIDE, tensor_name(draw->graph, t));
    box.subtitle = "output";
    box.flow = draw_value(draw, t, draw->plan->moved->sharding[t]);
    box.facts = facts_of_tensor(draw, t, draw->plan->moved->sharding[t]);
    int at = draw_box(draw, box);
    add_reader(value, at, state, false);
}

/* The box of the first op in the drawing that reads it; -1 if none. */
static int reader_here(const Draw *draw, int32_t tensor)
{
    const Graph *graph = draw->graph;

    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int box = draw->box_of[graph->uses[graph->tensors[tensor].use + u]];
        if (box >= 0 && !is_outside(draw, box))
            return box;
    }
    return -1;
}

/* A parameter is written in the boxes of its readers, and has a box of its own if it is moved to
 * them. */
static bool is_in_reader_boxes(const Draw *draw, int32_t tensor)
{
    return tensor_is_parameter(draw->plan->inferred, tensor) && !draw_is_fetched(draw, tensor);
}

static bool find_source(Branching *value, bool with_outside)
{
    Draw *draw = value->draw;
    int32_t t = value->tensor, maker = draw->graph->tensors[t].maker;

    if (inferred_value(draw->plan->inferred, t) || is_in_reader_boxes(draw, t))
        return false;
    value->source = maker >= 0 ? draw->box_of[maker] : -1;
    if (value->source >= 0)
        return true;
    int reader = with_outside ? reader_here(draw, t) : -1;
    if (reader < 0 || (maker >= 0 && inferred_is_host(draw->plan->inferred, maker)))
        return false;
    value->source = draw_outside(draw, t);
    if (draw->boxes.at[value->source].look == BOX_PARAMETER)
        draw->boxes.at[value->source].frame = draw->boxes.at[reader].frame;
    return true;
}

static void draw_value_of(Draw *draw, int32_t tensor, bool with_outside)
{
    Branching value = {.draw = draw, .tensor = tensor};

    if (!find_source(&value, with_outside))
        return;
    state_at(&value, -1);
    add_readers(&value, is_outside(draw, value.source));
    if (with_outside)
        add_output(&value);
    for (int i = 0; i < value.readers.n; i++) {
        ReadLine reading = value.readers.at[i];
        draw_taker(&value, &reading);
    }
}

/* Values that one iteration of a loop passes to the next. */
static void draw_carries(Draw *draw)
{
    const Graph *graph = draw->graph;

    for (int i = 0; i < graph->n_carries; i++) {
        const GraphCarry *carry = &graph->carries[i];
        int32_t maker = carry->next < 0 ? -1 : graph->tensors[carry->next].maker;
        int32_t reader = carry->in < 0 ? -1 : graph->tensors[carry->in].maker;
        int from = maker < 0 ? -1 : draw->box_of[maker],
            to = reader < 0 ? -1 : draw->box_of[reader];
        if (from < 0 || to < 0 || is_outside(draw, from) || is_outside(draw, to))
            continue;
        int32_t r = draw_reshard_for(draw, carry->next, draw->plan->moved->made[carry->in],
                                     plan_devices(draw->plan, reader));
        DiagramLine line = r >= 0 ? draw_moved_line(draw, from, to, &draw->plan->moved->reshards[r])
                                  : draw_new_line(LINE_VALUE, from, to);
        line.loose = true;
        line.label = line.label.str.n > 0 ? text_join(draw->arena, "@\nnext iteration", line.label)
                                          : text_from("next iteration");
        draw_line(draw, line);
    }
}

void draw_value_lines(Draw *draw, bool with_outside)
{
    const Inferred *inferred = draw->plan->inferred;
    const Graph *graph = draw->graph;
    bool *done = arena_array(draw->arena, bool, graph->n_tensors + 1);

    draw->reached = arena_array(draw->arena, bool, draw->plan->moved->n_reshards + 1);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (draw->box_of[op] < 0)
            continue;
        for (int o = 0; o < graph->ops[op].n_inputs + graph->ops[op].n_outputs; o++) {
            int32_t t = op_inputs(graph, op)[o];
            if (t < 0 || done[t])
                continue;
            done[t] = true;
            draw_value_of(draw, t, with_outside);
        }
    }
    draw_carries(draw);
}
