/* device_runs.c - draws the ops of a team in program order, and what is moved between them. */
#include "viz/draw/device.h"

#include "viz/draw/facts.h"

#include "core/cost/cost.h"
#include "core/summary/label.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BOXES_MAX = 48, FINE_MAX = 20, ROWS = 14 };

/* ---- splitting into segments ---- */

static bool is_drawn(const DrawnTeam *team)
{
    return !team->hidden && team->like < 0;
}

/* Ops of equal teams map to the same segments. */
static void index_ops(DevicePicture *picture, DrawnTeam *team)
{
    const Draw *draw = picture->draw;
    const DrawnTeam *as = team->like < 0 ? team : &picture->teams.at[team->like];
    Arena *arena = draw->arena;

    team->segment_of = arena_array(arena, int32_t, draw->graph->n_ops);
    team->layer = arena_array(arena, int32_t, draw->graph->n_ops);
    int first = 0; /* index where the item begins */
    for (int s = 0; s < as->segments.n; s++)
        for (int i = 0; i < as->segments.at[s].n; i++) {
            int place = as->segments.at[s].first + i, at = as->segments.item[place];
            if (at != as->segments.item[first])
                first = place;
            const RunItem *item = &team->runs.at[at];
            for (int layer = 0; layer < item->repeats; layer++) {
                int32_t op = run_op(draw, item, layer, place - first);
                team->segment_of[op] = 1 + s;
                team->layer[op] = layer;
            }
        }
}

void device_cut(DevicePicture *picture)
{
    Waits waits = waits_of(picture->draw->arena, picture->plan);
    bool layers = false;

    for (int i = 0; i < picture->teams.n; i++)
        for (int k = 0; k < picture->teams.at[i].runs.n; k++)
            layers |= picture->teams.at[i].runs.at[k].layer;
    for (int cut = layers ? CUT_WAITS : CUT_ITEMS; cut < SEGMENT_CUT_COUNT; cut++) {
        int n = 0;
        for (int i = 0; i < picture->teams.n; i++) {
            DrawnTeam *team = &picture->teams.at[i];
            if (is_drawn(team)) {
                team->segments = segments_of(picture->draw, team->runs, &waits, (SegmentCut)cut);
                n += 1 + team->segments.n;
            }
        }
        if (n <= (cut == CUT_ITEMS ? FINE_MAX : BOXES_MAX))
            break;
    }
    for (int i = 0; i < picture->teams.n; i++)
        if (!picture->teams.at[i].hidden)
            index_ops(picture, &picture->teams.at[i]);
}

/* ---- segments ---- */

static const char *operand_text(const DevicePicture *picture, int64_t position, int32_t tensor,
                                int32_t sharding)
{
    return arena_printf(picture->draw->arena, "[%s]",
                        device_local_text(picture, position, tensor, sharding).str.s);
}

/* "[8,1024,768] [768,192] -> [8,1024,192]": local shapes of what an op reads and makes on a
 * device. */
static const char *op_local_text(const DevicePicture *picture, int64_t position, int32_t op)
{
    enum { SHOWN = 3 };
    const Graph *graph = picture->draw->graph;
    const GraphOp *node = &graph->ops[op];
    Buf text = buf_new(picture->draw->arena);
    int shown = 0;

    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t < 0 || inferred_value(picture->plan->inferred, t))
            continue;
        if (shown++ == SHOWN) {
            buf_puts(&text, ".. ");
            break;
        }
        buf_printf(&text, "%s ",
                   operand_text(picture, position, t, picture->plan->moved->need[node->input + i]));
    }
    buf_puts(&text, "\xe2\x86\x92");
    for (int i = 0; i < node->n_outputs && i < SHOWN; i++) {
        int32_t t = op_outputs(graph, op)[i];
        if (t >= 0)
            buf_printf(&text, " %s",
                       operand_text(picture, position, t, picture->plan->moved->made[t]));
    }
    return text.s;
}

static int by_us(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The least time for which an op gets a row: limits the number of rows, and leaves out views. */
static double least_shown(const DevicePicture *picture, const Segments *segments, int s)
{
    const DrawnSegment *segment = &segments->at[s];
    double *us = arena_array(picture->draw->arena, double, segment->n);

    for (int i = 0; i < segment->n; i++)
        us[i] = picture->plan->priced->op_us[segments->op[segment->first + i]];
    qsort(us, (size_t)segment->n, sizeof *us, by_us);
    return segment->n > ROWS ? us[ROWS - 1] : 0;
}

/* The ops of a segment with their local shapes on the single device. */
static void add_ops(const DevicePicture *picture, const DrawnTeam *team, int s, DiagramBox *box)
{
    const Draw *draw = picture->draw;
    const Segments *segments = &team->segments;
    const DrawnSegment *segment = &segments->at[s];
    int32_t group = segments->runs.at[segment->item].group;
    const char *inside = group < 0 ? "" : group_prefix(draw->groups, group);
    double least = least_shown(picture, segments, s), rest_us = 0;
    int shown = 0, left_out = 0;
    Cells cells = cells_new(draw->arena, 4);

    for (int i = 0; i < segment->n; i++) {
        int32_t op = segments->op[segment->first + i];
        double us = picture->plan->priced->op_us[op];
        if (us == 0 || us < least || shown == ROWS) {
            left_out++;
            rest_us += us;
            continue;
        }
        shown++;
        Str name = group_relative(op_path_or_name(draw->graph, op), inside);
        cells_put(&cells, CELL_HEAD,
                  str_eq(name, str_from(inside)) ? "" : arena_str(draw->arena, name));
        cells_put(&cells, CELL_PLAIN, label_operator(draw->graph, op));
        cells_put(&cells, CELL_PLAIN, op_local_text(picture, team->position[0], op));
        cells_put(&cells, CELL_PLAIN, draw_us(draw, us));
    }
    if (left_out > 0 && shown > 0) {
        cells_put_wide(&cells, CELL_FAINT, 3,
                       arena_printf(draw->arena, "%d more%s", left_out,
                                    rest_us == 0 ? ", views: take no time" : ""));
        cells_put(&cells, CELL_FAINT, rest_us > 0 ? draw_us(draw, rest_us) : "");
    }
    if (shown > 0)
        cells_give(&cells, box);
}

static int draw_segment(DevicePicture *picture, const DrawnTeam *team, int s, int frame)
{
    Draw *draw = picture->draw;
    const Segments *segments = &team->segments;
    const DrawnSegment *segment = &segments->at[s];
    int32_t head = segments->op[segment->first];
    bool layers = segments->runs.at[segment->item].repeats > 1;
    DiagramBox box = diagram_box(BOX_OP, segment_title(draw, segments, s));
    double us = 0;

    for (int i = 0; i < segment->n; i++) {
        int32_t op = segments->op[segment->first + i];
        us += picture->plan->priced->op_us[op];
        if (!box.why)
            box.why = draw_cause(draw, op);
    }
    box.subtitle =
        segment->n == 1 ? label_operator(draw->graph, head) : count_text(draw, segment->n, "op");
    if (picture->only >= 0)
        add_ops(picture, team, s, &box);
    if (box.n_cells == 0)
        box.flow = draw_part_flow(draw, segments->op + segment->first, segment->n);
    box.figures = arena_printf(draw->arena, "%s%s", draw_us(draw, us), layers ? " a layer" : "");
    box.link = arena_printf(draw->arena, "#op-%d", head);
    box.frame = frame;
    box.facts = facts_of_ops(draw, segments->op + segment->first, segment->n);
    return draw_box(draw, box);
}

void device_draw_runs(DevicePicture *picture, DrawnTeam *team)
{
    Draw *draw = picture->draw;
    int frame = team->frame, item = -1;

    team->box = arena_array(draw->arena, int, team->segments.n);
    for (int s = 0; s < team->segments.n; s++) {
        const DrawnSegment *segment = &team->segments.at[s];
        const RunItem *runs = &team->runs.at[segment->item];
        if (segment->item != item && runs->layer) {
            FrameLook look = runs->repeats > 1 ? FRAME_REPEATED : FRAME_PLAIN;
            frame = draw_frame(draw, draw_new_frame(look, runs->title, NULL, team->frame));
        } else if (!runs->layer) {
            frame = team->frame;
        }
        item = segment->item;
        team->box[s] = draw_segment(picture, team, s, frame);
    }
}

/* ---- what is moved ---- */

typedef struct {
    int32_t from, to; /* boxes; from -1: parameters and graph inputs */
    bool back;        /* to an earlier box: the next layer, or the next team */
} DeviceWay;

typedef struct {
    DevicePicture *picture;
    Intern *keys;
    Vec(DeviceWay) ways;
    Vec(Moves) moves;
    int *outside; /* per part of the mesh that is not drawn: 1 + the box for it; 0 if none yet */
} Ways;

static void add_way(Ways *ways, DeviceWay way, int32_t reshard)
{
    Arena *arena = ways->picture->draw->arena;
    int32_t key[3] = {way.from, way.to, way.back};
    int32_t id = intern_put(ways->keys, key, sizeof key);

    if (id == ways->ways.n) {
        vec_push(arena, &ways->ways, way);
        vec_push(arena, &ways->moves, moves_new(arena, ways->picture->plan->mesh));
    }
    const Plan *plan = ways->picture->plan;
    moves_add_reshard(&ways->moves.at[id], plan, reshard,
                      reshard_repeat(plan, &plan->moved->reshards[reshard]));
}

/* The box of the op in a team; -1 if the team does not run it, or is not drawn. */
static int box_of(const DevicePicture *picture, const DrawnTeam *team, int32_t op)
{
    if (team->hidden)
        return op >= 0 ? picture->hidden_box : -1;
    if (op < 0 || team->segment_of[op] == 0)
        return -1;
    const DrawnTeam *as = team->like < 0 ? team : &picture->teams.at[team->like];
    return as->box[team->segment_of[op] - 1];
}

static int item_of(const DevicePicture *picture, const DrawnTeam *team, int32_t op)
{
    const DrawnTeam *as = team->like < 0 ? team : &picture->teams.at[team->like];
    return as->segments.at[team->segment_of[op] - 1].item;
}

/* The op that reads the moved value. */
static int32_t reader_of(const Plan *plan, const Reshard *reshard)
{
    const Graph *graph = plan->inferred->graph;

    if (reshard->n_uses > 0)
        return plan->moved->reshard_uses[reshard->use];
    return tensor_n_uses(graph, reshard->tensor) > 0
               ? graph->uses[graph->tensors[reshard->tensor].use]
               : -1;
}

/* Moves within a team. Of equal layers only the first is drawn. */
static void add_inside(Ways *ways, const DrawnTeam *team, int32_t r)
{
    const DevicePicture *picture = ways->picture;
    const Reshard *reshard = &picture->plan->moved->reshards[r];
    int32_t reader = reader_of(picture->plan, reshard);
    int32_t maker = picture->draw->graph->tensors[reshard->tensor].maker;
    int to = box_of(picture, team, reader);

    if (!is_drawn(team) || to < 0)
        return;
    if (reshard_is_given(picture->plan, reshard)) {
        if (team->layer[reader] == 0)
            add_way(ways, (DeviceWay){.from = -1, .to = to}, r);
        return;
    }
    int from = box_of(picture, team, maker);
    if (from < 0)
        return;
    bool layers = item_of(picture, team, maker) == item_of(picture, team, reader);
    if (layers && team->layer[maker] > 0)
        return;
    bool back = layers && team->layer[reader] > 0;
    add_way(ways, (DeviceWay){.from = from, .to = to, .back = back}, r);
}

/* The box for a part of the mesh that is not drawn. */
static int outside_box(Ways *ways, int devices)
{
    Draw *draw = ways->picture->draw;

    if (ways->outside[devices] == 0) {
        DiagramBox box = diagram_box(BOX_OUTSIDE, part_name_text(draw, devices));
        const Mesh *mesh = ways->picture->plan->mesh;
        SubMesh part = ways->picture->plan->decided->submeshes[devices];
        int64_t twin = submesh_twin(mesh, part, ways->picture->only);
        box.subtitle = arena_printf(draw->arena, "d%" PRId64, mesh_device(mesh, twin));
        ways->outside[devices] = 1 + draw_box(draw, box);
    }
    return ways->outside[devices] - 1;
}

/* A team in that part of the mesh, preferably one that runs the op. */
static const DrawnTeam *team_in(const DevicePicture *picture, int devices, int32_t op)
{
    SubMesh part = picture->plan->decided->submeshes[devices];
    const DrawnTeam *found = NULL;

    for (int i = 0; i < picture->teams.n; i++) {
        const DrawnTeam *team = &picture->teams.at[i];
        if (!submesh_has(picture->plan->mesh, part, team->position[0]))
            continue;
        if (box_of(picture, team, op) >= 0)
            return team;
        found = found ? found : team;
    }
    return found;
}

/* Where a team that only relays a value sends from, or receives at: its last, or its first ops. */
static int end_of(const DevicePicture *picture, const DrawnTeam *team, int32_t op, bool last)
{
    int box = box_of(picture, team, op);
    const DrawnTeam *as = team->like < 0 ? team : &picture->teams.at[team->like];

    if (box >= 0)
        return box;
    if (team->hidden)
        return picture->hidden_box;
    return as->segments.n > 0 ? as->box[last ? as->segments.n - 1 : 0] : -1;
}

static void add_sent(Ways *ways, int32_t r)
{
    const DevicePicture *picture = ways->picture;
    const Reshard *reshard = &picture->plan->moved->reshards[r];
    int32_t maker = picture->draw->graph->tensors[reshard->tensor].maker;
    int32_t reader = reshard->n_uses > 0 ? picture->plan->moved->reshard_uses[reshard->use] : -1;
    const DrawnTeam *a = team_in(picture, reshard->from_devices, maker);
    const DrawnTeam *b = team_in(picture, reshard->to_devices, reader);

    if (!a && !b)
        return;
    int from = a ? end_of(picture, a, maker, true) : outside_box(ways, reshard->from_devices);
    int to = b ? end_of(picture, b, reader, false) : outside_box(ways, reshard->to_devices);
    if (from < 0 || to < 0 || (from == to && from == picture->hidden_box))
        return;
    int head_a = a ? (a->like < 0 ? (int)(a - picture->teams.at) : a->like) : -1;
    int head_b = b ? (b->like < 0 ? (int)(b - picture->teams.at) : b->like) : -2;
    bool next = a && head_a == head_b && a != b;
    if (next && a->like >= 0)
        return; /* drawn where the first of the equal teams sends to the second */
    add_way(ways, (DeviceWay){.from = from, .to = to, .back = next}, r);
}

static int parameters_box(DevicePicture *picture, int beside, const Moves *moves)
{
    Draw *draw = picture->draw;
    const DrawnMove *dearest = &moves->at.at[0];
    int32_t tensor =
        dearest->dearest < 0 ? -1 : picture->plan->moved->reshards[dearest->dearest].tensor;
    DiagramBox box =
        diagram_box(BOX_PARAMETER, tensor < 0 ? "value" : label_tensor_kind(draw->session, tensor));
    double n = 0;

    for (int i = 0; i < moves->at.n; i++)
        n += moves->at.at[i].n;
    box.subtitle = arena_printf(draw->arena, "\xc3\x97%.10g", n);
    box.figures = "as stored";
    box.frame = draw->boxes.at[beside].frame;
    return draw_box(draw, box);
}

static void draw_ways(Ways *ways)
{
    DevicePicture *picture = ways->picture;
    Draw *draw = picture->draw;

    for (int i = 0; i < ways->ways.n; i++) {
        const DeviceWay *way = &ways->ways.at[i];
        Moves *moves = &ways->moves.at[i];
        if (moves->at.n == 0)
            continue;
        int from = way->from < 0 ? parameters_box(picture, way->to, moves) : way->from;
        DiagramLine line = moves_line(draw, moves, from, way->to);
        line.loose = way->back || way->from == way->to;
        line.straight =
            way->from >= 0 && draw->boxes.at[from].frame == draw->boxes.at[way->to].frame;
        if (way->back)
            line.label = text_join(draw->arena, "to the next team:\n@", line.label);
        draw_line(draw, line);
    }
}

/* Keeps segments in order: a line for a value that is not moved, or an invisible one. */
static void draw_order(const Ways *ways, const DrawnTeam *team)
{
    Draw *draw = ways->picture->draw;

    for (int s = 0; s + 1 < team->segments.n; s++) {
        bool moved = false;
        for (int i = 0; i < ways->ways.n; i++)
            moved |= ways->ways.at[i].from == team->box[s] &&
                     ways->ways.at[i].to == team->box[s + 1] && !ways->ways.at[i].back;
        DiagramLine line = draw_new_line(LINE_VALUE, team->box[s], team->box[s + 1]);
        line.straight = true;
        if (!moved)
            draw_line(draw, line);
    }
}

void device_draw_moves(DevicePicture *picture)
{
    Draw *draw = picture->draw;
    Ways ways = {.picture = picture, .keys = intern_new(draw->arena)};
    ways.outside = arena_array(draw->arena, int, picture->plan->decided->n_submeshes);

    for (int32_t r = 0; r < picture->plan->moved->n_reshards; r++) {
        const Reshard *reshard = &picture->plan->moved->reshards[r];
        if (!path_moves(reshard->path))
            continue;
        if (reshard->from_devices != reshard->to_devices) {
            add_sent(&ways, r);
            continue;
        }
        for (int i = 0; i < picture->teams.n; i++)
            add_inside(&ways, &picture->teams.at[i], r);
    }
    draw_ways(&ways);
    for (int i = 0; i < picture->teams.n; i++)
        if (is_drawn(&picture->teams.at[i]))
            draw_order(&ways, &picture->teams.at[i]);
}
