/* comm.c - devices and collectives without ops: a frame for all that moves over the same axes, with
 * a box for each kind of collective and the groups it joins; the transfers between parts of the
 * mesh; a table of the most expensive, with the decision behind each. */
#include "viz/draw/holding.h"
#include "viz/draw/moves.h"

#include "core/summary/comm.h"
#include "core/cost/cost.h"
#include "core/summary/label.h"

#include <inttypes.h>

enum {
    FRAMES_DRAWN = 8,
    ROWS_DRAWN = 12,
    ROWS_ON_PAPER = 5,
    GROUPS_DRAWN = 8, /* of more groups the first and the last are drawn */
    GROUPS_FIRST = 4,
    GROUPS_LAST = 2,
    PARTS_DRAWN = 8,
    PARTS_FIRST = 5,
    PARTS_LAST = 2
};

typedef struct {
    Draw *draw;
    const Plan *plan;
    Moves moves;
    Traffic traffic;
    Vec(int) last; /* the lowest boxes of each frame */
} CommPicture;

/* ---- bytes ---- */

/* Index of the first move over those axes, or over axes that contain them; -1 if none. */
static int frame_of(const CommPicture *picture, AtomSet atoms)
{
    int containing = -1;

    for (int i = 0; i < picture->moves.at.n; i++) {
        AtomSet of = picture->moves.at.at[i].atoms;
        if (of == atoms)
            return i;
        if (containing < 0 && (of & atoms) == atoms && kind_sends(picture->moves.at.at[i].kind))
            containing = i;
    }
    return containing;
}

static void put_bytes(const Draw *draw, double bytes, const char *where, Buf *out)
{
    if (bytes > 0)
        buf_printf(out, "%s%s %s", out->n > 0 ? ", " : "", draw_bytes(draw, (int64_t)bytes), where);
}

/* The bytes that all devices together send over these axes. */
static const char *flows_text(const CommPicture *picture, int first)
{
    AtomSet atoms = picture->moves.at.at[first].atoms;
    LinkBytes sum = {0};
    Buf text = buf_new(picture->draw->arena);

    for (int i = 0; i < picture->traffic.n_axes; i++) {
        const AxisTraffic *axis = &picture->traffic.axis[i];
        int of = frame_of(picture, axis->atoms);
        if (of < 0 || picture->moves.at.at[of].atoms != atoms)
            continue;
        sum.inside += axis->sent.inside;
        sum.between += axis->sent.between;
        sum.to_switch += axis->sent.to_switch;
    }
    put_bytes(picture->draw, sum.inside, "inside nodes", &text);
    put_bytes(picture->draw, sum.between, "between nodes", &text);
    put_bytes(picture->draw, sum.to_switch, "to the switch of a node", &text);
    return text.s;
}

/* ---- frames ---- */

static const char *frame_text(const CommPicture *picture, int first)
{
    const Draw *draw = picture->draw;
    const Mesh *mesh = picture->plan->mesh;
    const Machine *machine = draw->session->machine;
    AtomSet atoms = picture->moves.at.at[first].atoms;
    const Link *link = machine_link(machine, mesh, atoms);
    const char *flows = flows_text(picture, first);
    Buf text = buf_new(draw->arena);

    buf_puts(&text, "over ");
    mesh_format_set(mesh, atoms, ".", &text);
    buf_printf(&text, ": %s, %s, %.4g GB/s",
               link == &machine->inside ? "inside a node" : "between nodes", link->name,
               link->bytes_per_s / 1e9);
    if (*flows)
        buf_printf(&text, "\n%s", flows);
    return text.s;
}

static int draw_move(CommPicture *picture, int i, int frame)
{
    Draw *draw = picture->draw;
    const DrawnMove *move = &picture->moves.at.at[i];
    double all_us = moves_us(&picture->moves);
    Buf title = buf_new(draw->arena), bytes = buf_new(draw->arena);

    move_format_name(picture->plan->mesh, move, &title);
    move_format_bytes(move, &bytes);
    DiagramBox box = diagram_box(BOX_OP, title.s);
    box.subtitle = arena_printf(draw->arena, "%.10g per %s", move->n, label_pass(picture->plan));
    box.figures = arena_printf(draw->arena, "%s each\n%s, %.1f%% of all bytes sent", bytes.s,
                               draw_us(draw, move->us), all_us > 0 ? 100 * move->us / all_us : 0);
    box.frame = frame;
    box.marked = i == 0;
    if (move->dearest >= 0) {
        box.why = draw_moved_why(draw, &picture->plan->moved->reshards[move->dearest]);
        box.link = arena_printf(draw->arena, "#reshard-%d", move->dearest);
    }
    return draw_box(draw, box);
}

static DiagramLine line_of(const CommPicture *picture, int i, int from, int to)
{
    const DrawnMove *move = &picture->moves.at.at[i];
    DiagramLine line = draw_new_line(LINE_MOVED, from, to);
    uint8_t atom[ATOMS_MAX];

    line.kind = move->kind;
    line.bytes = move->most_bytes;
    if (mesh_list_set(picture->plan->mesh, move->atoms, atom) > 0)
        line.axis = picture->plan->mesh->atoms[atom[0]].axis;
    return line;
}

/* A row for each group over these axes, joined with the boxes of its collectives. */
static void draw_groups(CommPicture *picture, AtomSet atoms, const int *boxes, const int *moves,
                        int n, int frame)
{
    Draw *draw = picture->draw;
    const Mesh *mesh = picture->plan->mesh;
    AtomSet others = (((AtomSet)1 << mesh->n_atoms) - 1) & ~atoms;
    int64_t size = mesh_atoms_size(mesh, atoms), n_groups = mesh_atoms_size(mesh, others);
    Shown shown = shown_of(n_groups, GROUPS_DRAWN, GROUPS_FIRST, GROUPS_LAST);
    int64_t *position = arena_array(draw->arena, int64_t, size);
    Cells cells = cells_new(draw->arena, 1);
    DiagramBox box = diagram_box(BOX_DEVICE, count_text(draw, n_groups, "group"));

    for (int g = 0; g < shown.n; g++) {
        int64_t group = shown_at(&shown, g);
        if (group < 0) {
            cells_put(&cells, CELL_FAINT,
                      arena_printf(draw->arena, ".. %" PRId64 " more", n_groups - shown.n + 1));
            continue;
        }
        int64_t first = mesh_group_member(mesh, others, 0, group);
        for (int64_t i = 0; i < size; i++)
            position[i] = mesh_group_member(mesh, atoms, first, i);
        cells_put_cell(&cells,
                       (DiagramCell){.text = text_from(positions_text(draw, position, size)),
                                     .shade = 1 + (int)(group % 8)});
    }
    box.subtitle = arena_printf(draw->arena, "of %" PRId64, size);
    box.frame = frame;
    cells_give(&cells, &box);
    int made = draw_box(draw, box);
    for (int i = 0; i < n; i++)
        draw_line(draw, line_of(picture, moves[i], boxes[i], made));
    vec_push(draw->arena, &picture->last, made);
}

/* ---- sends ---- */

/* The parts of the mesh that take part in sends, in their order. */
static int list_parts(const Plan *plan, int *part)
{
    Arena *scratch = arena_new();
    bool *seen = arena_array(scratch, bool, plan->decided->n_submeshes);
    int n = 0;

    for (int r = 0; r < plan->moved->n_reshards; r++)
        if (plan->moved->reshards[r].from_devices != plan->moved->reshards[r].to_devices)
            seen[plan->moved->reshards[r].from_devices] =
                seen[plan->moved->reshards[r].to_devices] = true;
    for (int i = 0; i < plan->decided->n_submeshes; i++)
        if (seen[i])
            part[n++] = i;
    arena_free(scratch);
    return n;
}

/* A box per part; of very many the first and the last, and one for those between. */
static void draw_parts(CommPicture *picture, int frame, int *box_of)
{
    Draw *draw = picture->draw;
    const Plan *plan = picture->plan;
    int *part = arena_array(draw->arena, int, plan->decided->n_submeshes);
    int n = list_parts(plan, part);
    Shown shown = shown_of(n, PARTS_DRAWN, PARTS_FIRST, PARTS_LAST);

    for (int i = 0; i < shown.n; i++) {
        int at = (int)shown_at(&shown, i);
        DiagramBox box = diagram_box(BOX_OUTSIDE, "..");
        if (at >= 0) {
            box = diagram_box(BOX_DEVICE, part_name_text(draw, part[at]));
            box.subtitle = part_text(draw, plan->decided->submeshes[part[at]]);
        } else {
            box.subtitle = count_text(draw, n - shown.n + 1, "more part");
        }
        box.frame = frame;
        int made = draw_box(draw, box);
        for (int k = 0; k < n; k++)
            if (shown_find(&shown, k) == i || (at < 0 && shown_find(&shown, k) < 0))
                box_of[part[k]] = made;
    }
}

/* The arrows are below the box with the amounts. */
static void draw_sends(CommPicture *picture, int frame, int above)
{
    Draw *draw = picture->draw;
    const Plan *plan = picture->plan;
    int *box_of = arena_array(draw->arena, int, plan->decided->n_submeshes);
    Intern *pairs = intern_new(draw->arena);
    Vec(Moves) sent = {0};

    int first = draw->boxes.n;
    draw_parts(picture, frame, box_of);
    draw_below(draw, above, first);
    for (int32_t r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        if (reshard->from_devices == reshard->to_devices)
            continue;
        int32_t key[2] = {box_of[reshard->from_devices], box_of[reshard->to_devices]};
        int32_t id = intern_put(pairs, key, sizeof key);
        if (id == sent.n)
            vec_push(draw->arena, &sent, moves_new(draw->arena, plan->mesh));
        for (int s = 0; s < reshard->path->n_steps; s++) {
            const Step *step = &reshard->path->step[s];
            if (kind_sends(step->kind))
                moves_add(&sent.at[id], r, step->kind, step->atoms, step->bytes, step->us,
                          reshard_repeat(plan, reshard));
        }
    }
    for (int id = 0; id < sent.n; id++) {
        const int32_t *pair = intern_key(pairs, id, NULL);
        if (sent.at[id].at.n == 0 || pair[0] == pair[1])
            continue;
        draw_line(draw, moves_line(draw, &sent.at[id], pair[0], pair[1]));
    }
    vec_push(draw->arena, &picture->last, draw->boxes.n - 1);
}

/* All moves over the same axes as the first of them. */
static void draw_frame_of(CommPicture *picture, int first)
{
    Draw *draw = picture->draw;
    AtomSet atoms = picture->moves.at.at[first].atoms;
    DiagramFrame frame = draw_new_frame(FRAME_PLAIN, frame_text(picture, first), NULL, -1);
    int at = draw_frame(draw, frame), n = 0;
    int boxes[STEP_KIND_COUNT], moves[STEP_KIND_COUNT];
    int sends = -1;

    for (int i = first; i < picture->moves.at.n; i++) {
        if (picture->moves.at.at[i].atoms != atoms)
            continue;
        int box = draw_move(picture, i, at);
        if (kind_sends(picture->moves.at.at[i].kind)) {
            sends = box;
            continue;
        }
        boxes[n] = box;
        moves[n++] = i;
    }
    if (n > 0)
        draw_groups(picture, atoms, boxes, moves, n, at);
    if (sends >= 0)
        draw_sends(picture, at, sends);
}

static bool is_first(const CommPicture *picture, int i)
{
    for (int before = 0; before < i; before++)
        if (picture->moves.at.at[before].atoms == picture->moves.at.at[i].atoms)
            return false;
    return true;
}

/* ---- the most expensive ---- */

static const char *cause_text(const CommPicture *picture, const Reshard *reshard)
{
    const Draw *draw = picture->draw;
    const Decision *cause = comm_cause(draw->arena, draw->session, reshard);
    Buf text = buf_new(draw->arena);

    if (cause && draw->request->width > 0)
        return arena_str(draw->arena, label_pin(draw->arena, cause));
    if (cause)
        label_origin(draw->plan->mesh, &cause->origin, &text);
    return text.s;
}

static void put_row(const CommPicture *picture, const CommRow *row, Cells *cells)
{
    const Draw *draw = picture->draw;
    const Reshard *reshard = &picture->plan->moved->reshards[row->first];
    double all_us = picture->plan->priced->totals.comm_us;
    Buf steps = buf_marked(draw->arena), change = buf_marked(draw->arena);

    comm_format_steps(draw->session, reshard->path, &steps);
    comm_format_change(draw->session, reshard, "\xce\xa3", " \xe2\x86\x92 ", &change);
    cells_put(cells, CELL_PLAIN,
              row->n > 1 ? arena_printf(draw->arena, "%s \xc3\x97%d", row->label, row->n)
                         : draw_tensor_name(draw, reshard->tensor));
    cells_put_text(cells, buf_text(&steps));
    cells_put_text(cells, buf_text(&change));
    cells_put(cells, CELL_PLAIN, draw_bytes(draw, comm_payload(reshard)));
    cells_put(cells, CELL_PLAIN, draw_us(draw, reshard->path->us));
    cells_put(cells, CELL_PLAIN,
              arena_printf(draw->arena, "%s, %.1f%%", draw_us(draw, row->us),
                           all_us > 0 ? 100 * row->us / all_us : 0));
    cells_put(cells, CELL_PLAIN, cause_text(picture, reshard));
}

static void draw_table(CommPicture *picture)
{
    static const char *const heads[] = {"value", "collective", "changes",   "bytes",
                                        "each",  "all",        "because of"};
    Draw *draw = picture->draw;
    Comm *comm = comm_new(draw->session);
    Cells cells = cells_new(draw->arena, 7);
    DiagramBox box = diagram_box(BOX_OP, "the most expensive first");
    double rest_us = 0;
    int n = 0, left_out = 0, most = draw->request->width > 0 ? ROWS_ON_PAPER : ROWS_DRAWN;

    comm_table(comm, NULL);
    for (int i = 0; i < cells.n_columns; i++)
        cells_put(&cells, CELL_HEAD, heads[i]);
    for (int i = 0; i < comm->n_rows; i++) {
        if (!path_moves(picture->plan->moved->reshards[comm->row[i].first].path))
            continue;
        if (n++ < most) {
            put_row(picture, &comm->row[i], &cells);
        } else {
            left_out++;
            rest_us += comm->row[i].us;
        }
    }
    comm_free(comm);
    if (n == 0)
        return;
    box.subtitle = arena_printf(draw->arena, "in a %s", label_pass(picture->plan));
    if (left_out > 0)
        cells_put_row(
            &cells, CELL_FAINT,
            text_from(arena_printf(draw->arena, "%d more: %s", left_out, draw_us(draw, rest_us))));
    cells_give(&cells, &box);
    int made = draw_box(draw, box);
    for (int i = 0; i < picture->last.n; i++)
        draw_below(draw, picture->last.at[i], made);
}

/* ---- the whole drawing ---- */

static void set_caption(const CommPicture *picture)
{
    Draw *draw = picture->draw;
    const Totals *totals = &picture->plan->priced->totals;
    Buf text = buf_new(draw->arena);
    double exposed_us = totals->overlap_us - totals->compute_us;

    draw->diagram->title =
        arena_printf(draw->arena, "%s: communication between devices", draw->diagram->title);
    if (totals->comm_us <= 0) {
        draw->diagram->caption = text_from("none: devices do not communicate");
        return;
    }
    buf_printf(&text, "%s of the %s of a %s, %.1f%%", draw_us(draw, totals->comm_us),
               draw_us(draw, totals->step_us), label_pass(picture->plan),
               100 * totals->comm_us / totals->step_us);
    buf_printf(&text, "; %s of it stays exposed with full overlap", draw_us(draw, exposed_us));
    draw->diagram->caption = buf_text(&text);
}

static void draw_alone(CommPicture *picture)
{
    Draw *draw = picture->draw;
    int64_t n = picture->plan->mesh->n_devices;
    DiagramBox box = diagram_box(BOX_DEVICE, part_text(draw, (SubMesh){0}));

    box.subtitle = count_text(draw, n, "device");
    box.figures = "no collectives";
    draw_box(draw, box);
}

bool draw_comm(Draw *draw, Error *err)
{
    CommPicture picture = {.draw = draw, .plan = draw->plan};
    int n = 0;

    (void)err;
    picture.moves = moves_of_plan(draw->arena, draw->plan);
    picture.traffic = traffic_of_plan(draw->arena, draw->plan, 1);
    for (int i = 0; i < picture.moves.at.n; i++)
        if (is_first(&picture, i) && n++ < FRAMES_DRAWN)
            draw_frame_of(&picture, i);
    if (n == 0)
        draw_alone(&picture);
    draw_table(&picture);
    set_caption(&picture);
    return true;
}
