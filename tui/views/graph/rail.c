#include "tui/views/graph/rail.h"

#include "core/model/stated.h"

enum { CHECKPOINTS = RAIL_PAGE / RAIL_STEP, BATCH = RAIL_STEP, ROW_VALUES = 64, ALIVE_MAX = 32 };

/* Values alive between two rows. Places from RAIL_LANES on are alive but not drawn. */
typedef struct {
    int32_t tensor[ALIVE_MAX]; /* -1 if the lane is free */
    int64_t end[ALIVE_MAX];    /* place of the last op that reads it */
} RailLanes;

struct Rail {
    const Inferred *inferred;
    Outline *outline;
    int version; /* of the outline, when its lanes were found */
    int32_t selected;
    int64_t page; /* whose checkpoints these are; -1: none */
    int n_known;  /* checkpoints made, in order */
    RailLanes checkpoint[CHECKPOINTS];
};

/* Values that a row reads from above or makes, each with the place of its last reader. */
typedef struct {
    int n;
    int32_t tensor[ROW_VALUES];
    int64_t end[ROW_VALUES];
} RowValues;

Rail *rail_new(Arena *arena)
{
    Rail *rail = arena_make(arena, Rail);

    rail->page = -1;
    rail->selected = -1;
    return rail;
}

static void follow(Rail *rail, const Inferred *inferred, Outline *outline)
{
    rail->inferred = inferred;
    rail->outline = outline;
    if (rail->page >= 0 && rail->version == outline_version(outline))
        return;
    rail->version = outline_version(outline);
    rail->page = -1;
    rail->n_known = 0;
}

void rail_select(Rail *rail, int32_t tensor)
{
    rail->selected = tensor;
}

/* Whether a value is one that flows: no parameter, no constant, nor what follows from them. */
static bool flows(const Rail *rail, int32_t tensor)
{
    const Inferred *inferred = rail->inferred;
    const GraphTensor *t = &inferred->graph->tensors[tensor];

    if (inferred_value(inferred, tensor))
        return false;
    if (t->maker < 0)
        return t->kind == TENSOR_INPUT;
    return !inferred_is_host(inferred, t->maker) && !inferred->on_parameters[t->maker];
}

/* The pass of an op: of a forward plan, and of inputs, the forward pass. */
static Phase pass_of(const Graph *graph, int32_t op)
{
    Phase phase = op < 0 ? PHASE_FORWARD : op_phase(graph, op);

    return phase == PHASE_AGAIN ? PHASE_BACKWARD : phase;
}

/* Whether an op that reads the value keeps it on its lane: of a training step only ops of the pass
 * that makes it do. What is kept for the backward pass would fill all lanes to the end. */
static bool holds_lane(const Graph *graph, int32_t tensor, int32_t op)
{
    return pass_of(graph, op) == pass_of(graph, graph->tensors[tensor].maker);
}

static int count_readers(const Graph *graph, int32_t tensor)
{
    int n = tensor_n_uses(graph, tensor), held = 0;

    bool phases = graph_has_phases(graph);
    for (int u = 0; phases && u < n; u++)
        held += holds_lane(graph, tensor, graph->uses[graph->tensors[tensor].use + u]);
    return phases ? held : n;
}

static bool has_lane(const Rail *rail, int32_t tensor)
{
    int n_uses = count_readers(rail->inferred->graph, tensor);

    return n_uses > 0 && n_uses <= RAIL_USES_MAX && flows(rail, tensor);
}

static int64_t last_use(const Rail *rail, int32_t tensor, int64_t made)
{
    const Graph *graph = rail->inferred->graph;
    int64_t last = -1;

    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        int32_t at = outline_position(rail->outline, op);
        if (at < 0 || !holds_lane(graph, tensor, op))
            continue;
        at = outline_position(rail->outline, outline_shown_op(rail->outline, op));
        if (at > made && at > last)
            last = at;
    }
    return last;
}

/* The place that a value is last read at, as the outline shows it; -1: by nothing below its maker.
 * In an open fold its equal in the last member counts too: that one leaves the fold. */
static int64_t value_end(const Rail *rail, int32_t tensor, int32_t maker, int output)
{
    const Graph *graph = rail->inferred->graph;
    int64_t made = maker < 0 ? -1 : outline_position(rail->outline, maker);
    int64_t end = last_use(rail, tensor, made);

    if (maker < 0)
        return end;
    int32_t last = outline_last_op(rail->outline, maker);
    if (last != maker && output < graph->ops[last].n_outputs) {
        int64_t other =
            last_use(rail, op_outputs(graph, last)[output], outline_position(rail->outline, last));
        if (other > end)
            end = other;
    }
    return end;
}

/* The tensor that stands for this one in the outline: its equal in the first member of a fold. */
static int32_t shown_tensor(const Rail *rail, int32_t tensor)
{
    const Graph *graph = rail->inferred->graph;
    int32_t maker = graph->tensors[tensor].maker;

    if (maker < 0 || outline_position(rail->outline, maker) < 0)
        return tensor;
    int32_t shown = outline_shown_op(rail->outline, maker);
    for (int o = 0; shown != maker && o < graph->ops[maker].n_outputs; o++)
        if (op_outputs(graph, maker)[o] == tensor && o < graph->ops[shown].n_outputs)
            return op_outputs(graph, shown)[o];
    return tensor;
}

static void add_value(RowValues *values, int32_t tensor, int64_t end)
{
    for (int i = 0; i < values->n; i++)
        if (values->tensor[i] == tensor)
            return;
    if (values->n == ROW_VALUES)
        return;
    values->tensor[values->n] = tensor;
    values->end[values->n++] = end;
}

/* What the row reads from rows above it. */
static void row_reads(const Rail *rail, const OutlineRow *row, RowValues *reads)
{
    const Graph *graph = rail->inferred->graph;
    const Groups *groups = outline_groups(rail->outline);
    int32_t n = row->n < RAIL_LOOK ? row->n : RAIL_LOOK;

    reads->n = 0;
    if (row->kind == ROW_OP)
        n = 1;
    for (int32_t at = row->first; row->kind != ROW_INPUT && at < row->first + n; at++) {
        int32_t op = groups->order[at];
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t tensor = op_inputs(graph, op)[i];
            if (tensor < 0 || !holds_lane(graph, tensor, op) || !has_lane(rail, tensor))
                continue;
            int32_t maker = graph->tensors[tensor].maker;
            if (maker >= 0 && outline_position(rail->outline, maker) >= row->first)
                continue;
            add_value(reads, shown_tensor(rail, tensor), -1);
        }
    }
}

/* The first value with too many readers for a lane that comes from above the row; -1: none. */
static int32_t named_read(const Rail *rail, const OutlineRow *row)
{
    const Graph *graph = rail->inferred->graph;
    int32_t n = row->kind == ROW_OP ? 1 : row->n < RAIL_LOOK ? row->n : RAIL_LOOK;

    if (!row_has_ops(row) || row->open)
        return -1;
    for (int32_t at = row->first; at < row->first + n; at++) {
        int32_t op = outline_groups(rail->outline)->order[at];
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t tensor = op_inputs(graph, op)[i];
            if (tensor < 0 || !holds_lane(graph, tensor, op) ||
                count_readers(graph, tensor) <= RAIL_USES_MAX || !flows(rail, tensor))
                continue;
            int32_t maker = graph->tensors[tensor].maker;
            if (maker < 0 || outline_position(rail->outline, maker) < row->first)
                return tensor;
        }
    }
    return -1;
}

/* What the row makes and a row below reads. */
static void row_makes(const Rail *rail, const OutlineRow *row, RowValues *makes)
{
    const Graph *graph = rail->inferred->graph;
    int32_t end = row->first + row->n;
    int32_t from = row->n < RAIL_LOOK ? row->first : end - RAIL_LOOK;

    makes->n = 0;
    if (row->kind == ROW_INPUT) {
        if (has_lane(rail, row->id) && value_end(rail, row->id, -1, 0) >= 0)
            add_value(makes, row->id, value_end(rail, row->id, -1, 0));
        return;
    }
    if (row->kind == ROW_OP)
        end = row->first + 1;
    for (int32_t at = row->kind == ROW_OP ? row->first : from; at < end; at++) {
        int32_t op = outline_groups(rail->outline)->order[at];
        for (int o = 0; o < graph->ops[op].n_outputs; o++) {
            int32_t tensor = op_outputs(graph, op)[o];
            if (tensor < 0 || !has_lane(rail, tensor))
                continue;
            int64_t last = value_end(rail, tensor, op, o);
            if (last >= row->first + row->n)
                add_value(makes, shown_tensor(rail, tensor), last);
        }
    }
}

static int lane_of(const RailLanes *lanes, int32_t tensor)
{
    for (int i = 0; i < ALIVE_MAX; i++)
        if (lanes->tensor[i] == tensor)
            return i;
    return -1;
}

static int lane_take(RailLanes *lanes, int32_t tensor, int64_t end)
{
    int lane = lane_of(lanes, -1);

    if (lane < 0)
        return -1;
    lanes->tensor[lane] = tensor;
    lanes->end[lane] = end;
    return lane;
}

static uint8_t alive(const RailLanes *lanes)
{
    unsigned set = 0;
    for (int i = 0; i < RAIL_LANES; i++)
        set |= lanes->tensor[i] >= 0 ? 1u << i : 0;
    return (uint8_t)set;
}

static int n_hidden(const RailLanes *lanes)
{
    int n = 0;
    for (int i = RAIL_LANES; i < ALIVE_MAX; i++)
        n += lanes->tensor[i] >= 0;
    return n;
}

static int lowest(unsigned set)
{
    return set ? __builtin_ctz(set) : -1;
}

/* Moves the lanes over a row that is an op, an input or a closed group. */
static void lanes_move(const Rail *rail, RailLanes *lanes, const OutlineRow *row, RailRow *out)
{
    RowValues reads, makes;
    unsigned read = 0, made = 0;

    row_reads(rail, row, &reads);
    row_makes(rail, row, &makes);
    for (int i = 0; i < reads.n; i++) {
        int lane = lane_of(lanes, reads.tensor[i]);
        if (lane >= 0 && lane < RAIL_LANES)
            read |= 1u << lane;
    }
    for (int i = 0; i < ALIVE_MAX; i++)
        if (lanes->tensor[i] >= 0 && lanes->end[i] < row->first + row->n)
            lanes->tensor[i] = -1;
    for (int i = 0; i < makes.n; i++) {
        int lane = lane_take(lanes, makes.tensor[i], makes.end[i]);
        if (lane >= 0 && lane < RAIL_LANES)
            made |= 1u << lane;
    }
    int free_lane = lane_of(lanes, -1);
    out->node = made ? lowest(made) : read ? lowest(read) : free_lane < RAIL_LANES ? free_lane : -1;
    out->reads = (uint8_t)read;
    out->makes = (uint8_t)made;
}

/* An open group stands on the lane of what its first op reads. */
static int lane_of_head(const Rail *rail, const RailLanes *lanes, const OutlineRow *row)
{
    OutlineRow first = {.kind = ROW_OP, .first = row->first, .n = 1};
    RowValues reads;

    row_reads(rail, &first, &reads);
    for (int i = 0; i < reads.n; i++) {
        int lane = lane_of(lanes, reads.tensor[i]);
        if (lane >= 0 && lane < RAIL_LANES)
            return lane;
    }
    int free_lane = lane_of(lanes, -1);
    return free_lane < RAIL_LANES ? free_lane : -1;
}

/* The lane of the selected value, as a bit. */
static uint8_t selected_lane(const Rail *rail, const RailLanes *lanes)
{
    int lane = rail->selected < 0 ? -1 : lane_of(lanes, rail->selected);
    return (uint8_t)(lane >= 0 && lane < RAIL_LANES ? 1u << lane : 0);
}

static void lanes_step(const Rail *rail, RailLanes *lanes, const OutlineRow *row, RailRow *out)
{
    *out = (RailRow){.above = alive(lanes), .selected = selected_lane(rail, lanes), .node = -1};
    if (row->kind == ROW_GROUP && row->open)
        out->node = lane_of_head(rail, lanes, row);
    else
        lanes_move(rail, lanes, row, out);
    out->selected |= selected_lane(rail, lanes);
    out->below = alive(lanes);
    out->hidden = n_hidden(lanes);
}

/* Adds the values that these rows read and that are made before `start`. */
static void gather_live(const Rail *rail, const OutlineRow *rows, int n, int32_t start,
                        RowValues *live)
{
    RowValues reads;

    for (int r = 0; r < n; r++) {
        row_reads(rail, &rows[r], &reads);
        for (int v = 0; v < reads.n; v++) {
            int32_t maker = rail->inferred->graph->tensors[reads.tensor[v]].maker;
            if (maker < 0 || outline_position(rail->outline, maker) < start)
                add_value(live, reads.tensor[v], value_end(rail, reads.tensor[v], maker, 0));
        }
    }
}

/* The lanes at the start of a page: what comes from pages before and is read in this one, the
 * longest-lived first. */
static void page_start(const Rail *rail, int64_t page, RailLanes *lanes)
{
    OutlineRow rows[BATCH];
    RowValues live = {0};
    int32_t start = -1;

    memset(lanes->tensor, 0xff, sizeof lanes->tensor);
    for (int64_t i = page; page > 0 && i < page + RAIL_PAGE; i += BATCH) {
        int n = outline_rows(rail->outline, i, BATCH, rows);
        if (start < 0 && n > 0)
            start = rows[0].first;
        gather_live(rail, rows, n, start, &live);
        if (n < BATCH)
            break;
    }
    while (live.n > 0) {
        int longest = 0;
        for (int i = 1; i < live.n; i++)
            if (live.end[i] > live.end[longest])
                longest = i;
        lane_take(lanes, live.tensor[longest], live.end[longest]);
        live.n--;
        live.tensor[longest] = live.tensor[live.n];
        live.end[longest] = live.end[live.n];
    }
}

/* Walks n rows from i, where `lanes` stand; out may be NULL. */
static void lanes_walk(const Rail *rail, RailLanes *lanes, int64_t i, int n, RailRow *out)
{
    OutlineRow rows[BATCH];
    RailRow unused;

    for (int done = 0; done < n;) {
        int batch = n - done < BATCH ? n - done : BATCH;
        int have = outline_rows(rail->outline, i + done, batch, rows);
        for (int r = 0; r < have; r++)
            lanes_step(rail, lanes, &rows[r], out ? &out[done + r] : &unused);
        for (int r = 0; out && r < have; r++)
            out[done + r].named = named_read(rail, &rows[r]);
        if (have < batch)
            return;
        done += batch;
    }
}

/* The lanes above row i of the current page, which begins a step. */
static const RailLanes *checkpoint(Rail *rail, int64_t i)
{
    int64_t page = i - i % RAIL_PAGE;
    int want = (int)((i - page) / RAIL_STEP);

    if (rail->page != page) {
        rail->page = page;
        rail->n_known = 1;
        page_start(rail, page, &rail->checkpoint[0]);
    }
    for (; rail->n_known <= want; rail->n_known++) {
        RailLanes *next = &rail->checkpoint[rail->n_known];
        *next = next[-1];
        lanes_walk(rail, next, page + (int64_t)(rail->n_known - 1) * RAIL_STEP, RAIL_STEP, NULL);
    }
    return &rail->checkpoint[want];
}

void rail_rows(Rail *rail, const Inferred *inferred, Outline *outline, int64_t i, int n,
               RailRow *out)
{
    follow(rail, inferred, outline);
    memset(out, 0, sizeof *out * (size_t)n);
    for (int done = 0; done < n;) {
        int64_t at = i + done, step = at - at % RAIL_STEP;
        int batch = (int)(step + RAIL_STEP - at < n - done ? step + RAIL_STEP - at : n - done);
        RailLanes lanes = *checkpoint(rail, step);
        lanes_walk(rail, &lanes, step, (int)(at - step), NULL);
        lanes_walk(rail, &lanes, at, batch, out + done);
        done += batch;
    }
}

/* Box pieces by what they join: 1 up, 2 down, 4 left, 8 right. */
static const uint16_t pieces[16] = {
    ' ',    0x2502, 0x2502, 0x2502, 0x2500, 0x256f, 0x256e, 0x2524,
    0x2500, 0x2570, 0x256d, 0x251c, 0x2500, 0x2534, 0x252c, 0x253c,
};

uint32_t rail_piece(unsigned joins)
{
    return pieces[joins & 15];
}

/* The glyph of one lane. A lane that is only crossed keeps its upright beside the line. */
static uint32_t lane_glyph(const RailRow *row, int lane, int left, int right)
{
    unsigned bit = 1u << lane;
    unsigned joins = (row->above & bit ? 1 : 0) | (row->below & bit ? 2 : 0);

    if (lane > left && lane <= right)
        joins |= 4;
    if (lane >= left && lane < right)
        joins |= 8;
    if (joins == 15 && row->reads & bit)
        return lane < row->node ? 0x251c : 0x2524;
    return pieces[joins];
}

void rail_draw(const RailRow *row, uint32_t node_glyph, int columns, Pen *pen)
{
    unsigned joined = row->reads | row->makes | (row->node >= 0 ? 1u << row->node : 0);
    int left = lowest(joined), right = joined ? 31 - __builtin_clz(joined) : -1;
    int n_lanes = columns / 2 < RAIL_LANES ? columns / 2 : RAIL_LANES, end = pen->x + columns;
    unsigned all = row->above | row->below | joined;
    bool lost = all >> n_lanes || row->hidden > 0;

    if (row->node < 0 || (joined & (joined - 1)) == 0)
        left = right = row->node;
    n_lanes -= lost;
    int n_lost = __builtin_popcount(all >> n_lanes) + row->hidden;
    if (n_lost > 9 && n_lanes > 1 && columns - 2 * n_lanes < 3) { /* its digits need room */
        n_lanes--;
        n_lost = __builtin_popcount(all >> n_lanes) + row->hidden;
    }
    for (int lane = 0; lane < n_lanes; lane++) {
        bool node = lane == row->node;
        Style style = row->selected >> lane & 1 ? ROLE_FOCUS | STYLE_BOLD : ROLE_RAIL;
        pen_rune(pen, node ? ROLE_TEXT : style,
                 node ? node_glyph : lane_glyph(row, lane, left, right));
        pen_rune(pen, ROLE_RAIL, lane >= left && lane < right ? 0x2500 : ' ');
    }
    if (n_lost > 0)
        pen_printf(pen, ROLE_RAIL, "⋯%d", n_lost);
    pen_tab(pen, end);
}
