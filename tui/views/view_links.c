#include "tui/state/comm_table.h"

#include "core/plan/edges.h"
#include "core/cost/traffic.h"
#include "core/reshard/price_choice.h"
#include "tui/state/format.h"

#include <inttypes.h>

enum {
    NUMBER_W = 7, /* with the blank before it */
    BAR_W = 4,
    BUCKETS_MAX = 16,
    RING_MAX = 8,
    DEVICES_MAX = 1 << 14,
    BAR = 16,
    GROUP_LINES = 4,
    HEAD = 9
};

static const char right_arrow[] = "─▸", both_arrows[] = "◂─▸";

/* ---- groups ---- */

static void put_device(const Ui *ui, int64_t position, Buf *out)
{
    buf_printf(out, "d%" PRId64, mesh_device(ui->session->mesh, position));
}

static int64_t member_of(const Mesh *mesh, AtomSet atoms, int64_t base, int64_t i)
{
    return mesh_group_member(mesh, atoms, base, i);
}

/* "d0 ─▸ d1 ─▸ d2 ─▸ d3 ─▸ d0" */
static void put_group(const Ui *ui, AtomSet atoms, int64_t base, const char *between, bool closed,
                      Buf *out)
{
    const Mesh *mesh = ui->session->mesh;
    int64_t n = mesh_atoms_size(mesh, atoms);

    for (int64_t i = 0; i < n; i++) {
        buf_puts(out, i ? " " : "");
        buf_puts(out, i ? between : "");
        buf_puts(out, i && *between ? " " : "");
        if (n > RING_MAX && i == RING_MAX - 1) {
            buf_printf(out, ".. %s ", between);
            i = n - 1;
        }
        put_device(ui, member_of(mesh, atoms, base, i), out);
    }
    if (closed) {
        buf_printf(out, " %s ", between);
        put_device(ui, member_of(mesh, atoms, base, 0), out);
    }
}

static void put_pair(const Ui *ui, int64_t from, int64_t to, Buf *out)
{
    put_device(ui, from, out);
    buf_printf(out, " %s ", right_arrow);
    put_device(ui, to, out);
}

/* How an algorithm's groups are drawn. */
typedef struct {
    const char *head, *between, *words;
    bool closed;
} Drawing;

static Drawing drawing_of(Algorithm algorithm, StepKind kind)
{
    if (kind == STEP_ALL_TO_ALL)
        return (Drawing){"", both_arrows, "each rank sends a part to every other", false};
    if (kind == STEP_SEND)
        return (Drawing){"", "", "each rank sends to its counterpart in the other stage", false};
    if (kind == STEP_PERMUTE)
        return (Drawing){"", "", "each rank sends to the rank that needs its shard", false};
    if (kind == STEP_HALO)
        return (Drawing){"", both_arrows, "neighbours send each other the borders of their shards",
                         false};
    if (kind == STEP_RING)
        return (Drawing){"", right_arrow,
                         "each rank computes on a shard, then sends it to the next rank", true};
    if (algorithm == ALGORITHM_TREE)
        return (Drawing){"", both_arrows, "up a tree and down again", false};
    if (algorithm == ALGORITHM_NVLS_TREE)
        return (Drawing){"", "", "to the switch of each node, over a tree between nodes", false};
    if (algorithm == ALGORITHM_NVLS)
        return (Drawing){"", "", "each rank sends to the switch, which adds and copies", false};
    if (algorithm == ALGORITHM_PAT)
        return (Drawing){"", "", "to the ranks at distance 1, 2, 4 ..", false};
    return (Drawing){"", right_arrow, "out of each device", true};
}

/* The coordinates that the group shares: "dp 0". */
static void put_place(const Ui *ui, AtomSet atoms, int64_t base, Buf *out)
{
    const Mesh *mesh = ui->session->mesh;
    uint32_t axes = 0;

    for (int a = 0; a < mesh->n_axes; a++)
        if (!(mesh_axis_atoms(mesh, a) & atoms) && mesh->axes[a].size > 1)
            axes |= 1u << a;
    mesh_format_coords(mesh, axes, base, " ", " ", out);
}

static void draw_step(const Ui *ui, const Reshard *reshard, int s, int most, Pen *pen)
{
    const Step *step = &reshard->path->step[s];
    SubMesh part = ui_plan(ui)->decided->submeshes[reshard_step_devices(reshard, s)];
    SubMesh source = ui_plan(ui)->decided->submeshes[reshard->from_devices];
    const Mesh *mesh = ui->session->mesh;
    PriceChoice choice =
        price_choice(ui_plan(ui)->machine, mesh, step->kind, step->atoms, step->bytes);
    Drawing drawing = drawing_of(choice.algorithm, step->kind);
    AtomSet others = submesh_free(mesh, part) & (step->kind == STEP_SEND ? ~0u : ~step->atoms);
    int64_t n = mesh_atoms_size(mesh, others);
    int64_t sent = step->wire_bytes;
    Buf head = buf_marked(ui->frame);

    if (choice.algorithm == ALGORITHM_NVLS || choice.algorithm == ALGORITHM_NVLS_TREE)
        sent = (int64_t)traffic_switch_bytes(step, mesh_atoms_size(mesh, step->atoms));
    buf_printf(&head, " %s ", step_kind_name(step->kind));
    mesh_format_set(mesh, step->atoms, ".", &head);
    buf_printf(&head, ", %s: %.*s %s", choice.name, STR_ARG(label_bytes(ui, sent)), drawing.words);
    pen_text(pen, buf_text(&head), -1, pen->area.w);
    pen_line(pen);
    for (int64_t g = 0; g < n && g < most; g++) {
        int64_t base = mesh_group_member(mesh, others, part.first, g);
        Buf place = buf_marked(ui->frame), group = buf_new(ui->frame);
        if (n > most && g == most - 1) {
            pen_printf(pen, ROLE_DIM, "   and %" PRId64 " more groups", n - g);
            pen_line(pen);
            break;
        }
        put_place(ui, step->atoms, base, &place);
        if (step->kind == STEP_SEND)
            put_pair(ui, submesh_twin(mesh, source, base), base, &group);
        else
            put_group(ui, step->atoms, base, drawing.between, drawing.closed, &group);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_text(pen, buf_text(&place), -1, place.n > 0 ? 12 : 2);
        pen_fit(pen, ROLE_TEXT, buf_str(&group), pen->area.w - pen->x);
        pen_line(pen);
    }
}

static void draw_groups(Ui *ui, Pen *pen)
{
    const Comm *comm = comm_arranged(ui);

    if (comm->n_rows <= 0)
        return;
    const Reshard *reshard = &ui_plan(ui)->moved->reshards[comm->row[ui->at.reshard].first];
    const ReshardPath *path = reshard->path;
    int n = 0, lines = pen->area.h / 4 > 2 ? pen->area.h / 4 : 2;
    for (int s = 0; s < path->n_steps; s++)
        n += path->step[s].kind != STEP_SLICE;
    for (int s = 0; s < path->n_steps; s++)
        if (path->step[s].kind != STEP_SLICE)
            draw_step(ui, reshard, s, n > 1 && lines > 2 ? 2 : lines, pen);
    if (n == 0) {
        pen_puts(pen, ROLE_DIM, " the selected reshard moves nothing between devices");
        pen_line(pen);
    }
}

/* ---- load of links ---- */

static void draw_load(const Ui *ui, const Traffic *traffic, Pen *pen)
{
    double most = traffic->n_axes > 0
                      ? traffic->axis[0].sent.inside + traffic->axis[0].sent.between +
                            traffic->axis[0].sent.to_switch
                      : 0;

    pen_puts(pen, ROLE_HEAD, " LINKS, a step      in nodes   between  to switch");
    pen_line(pen);
    for (int a = 0; a < traffic->n_axes && !pen_full(pen); a++) {
        const AxisTraffic *axis = &traffic->axis[a];
        const double bytes[] = {axis->sent.inside, axis->sent.between, axis->sent.to_switch};
        Buf name = buf_marked(ui->frame);
        mesh_format_set(ui->session->mesh, axis->atoms, ".", &name);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_text(pen, buf_text(&name), -1, 16);
        for (int i = 0; i < 3; i++)
            pen_right(pen, ROLE_TEXT, bytes[i] > 0 ? label_bytes(ui, (int64_t)bytes[i]) : STR("0"),
                      11);
        pen_rune(pen, ROLE_TEXT, ' ');
        if (pen->area.w - pen->x >= 4)
            pen_bar(pen, ROLE_TEXT, bytes[0] + bytes[1] + bytes[2], most,
                    pen->area.w - pen->x < BAR ? pen->area.w - pen->x : BAR);
        pen_line(pen);
    }
    pen_fit(pen, ROLE_DIM, STR(" bytes that all devices send in a step, for all reshards"),
            pen->area.w);
    pen_line(pen);
}

/* ---- who sends to whom ---- */

typedef struct {
    const char *name;
    double bytes;
} ByteUnit;

static double largest(const Traffic *traffic)
{
    double most = 0;

    for (int i = 0; i < traffic->n_buckets * traffic->n_buckets; i++)
        most = traffic->pair[i] > most ? traffic->pair[i] : most;
    return most;
}

/* "d3"; "3 d192+" of several; as a heading "3". */
static Str bucket_name(const Ui *ui, const Traffic *traffic, int i, bool head)
{
    int64_t n = ui->session->mesh->n_devices;
    int64_t first = (i * n + traffic->n_buckets - 1) / traffic->n_buckets;
    Buf name = buf_new(ui->frame);

    if (n > traffic->n_buckets)
        buf_printf(&name, "%d", i);
    if (n > traffic->n_buckets && head)
        return buf_str(&name);
    buf_puts(&name, name.n > 0 ? " " : "");
    put_device(ui, first, &name);
    buf_puts(&name, n > traffic->n_buckets ? "+" : "");
    return buf_str(&name);
}

/* The unit in which the largest number leaves a blank in a column of NUMBER_W. */
static const ByteUnit *unit_for(double most)
{
    static const ByteUnit units[] = {{"MiB", 1024.0 * 1024},
                                     {"GiB", 1024.0 * 1024 * 1024},
                                     {"TiB", 1024.0 * 1024 * 1024 * 1024}};
    size_t i = 0;

    while (i + 1 < sizeof units / sizeof *units && most / units[i].bytes >= 9999.95)
        i++;
    return &units[i];
}

/* unit NULL: a bar of one cell. */
static void draw_cell(const Ui *ui, double bytes, double most, const ByteUnit *unit, int width,
                      Pen *pen)
{
    if (bytes <= 0)
        pen_right(pen, ROLE_DIM, STR("·"), width);
    else if (unit) {
        double n = bytes / unit->bytes;
        const char *text = n < 0.05 ? "<0.1" : arena_printf(ui->frame, "%.1f", n);
        pen_right(pen, ROLE_TEXT, str_from(text), width);
    } else {
        pen_tab(pen, pen->x + width - 1);
        pen_rune(pen, ROLE_TEXT, 0x2580 + (uint32_t)(1 + 7 * bytes / most));
    }
}

static void draw_pairs(const Ui *ui, const Traffic *traffic, Pen *pen)
{
    int n = traffic->n_buckets;
    double most = largest(traffic);
    const ByteUnit *unit = unit_for(most);
    int width = (int)strlen(arena_printf(ui->frame, "%.1f", most / unit->bytes)) + 2;
    width = width < BAR_W + 1 ? BAR_W + 1 : width;
    if (pen->area.w < HEAD + width * n) {
        unit = NULL;
        width = BAR_W;
    }
    Buf head = buf_new(ui->frame);

    if (most <= 0) {
        pen_puts(pen, ROLE_DIM, " no device sends to another");
        return;
    }
    int columns = (pen->area.w - HEAD) / width, rows = pen->area.h - pen->y - 2;
    columns = columns < 0 ? 0 : columns < n ? columns : n;
    rows = rows < 0 ? 0 : rows < n ? rows : n;
    buf_puts(&head, " WHO SENDS TO WHOM");
    if (rows < n)
        buf_printf(&head, ", %d of %d rows", rows, n);
    if (columns < n)
        buf_printf(&head, ", %d of %d columns", columns, n);
    if (unit)
        buf_printf(&head, ", a step, %s; a row sends", unit->name);
    else
        buf_printf(&head, ", a step; a row sends; full is %.*s",
                   STR_ARG(label_bytes(ui, (int64_t)most)));
    pen_put(pen, ROLE_HEAD, text_head(buf_str(&head), pen->area.w));
    pen_line(pen);
    for (int i = -1; i < n && !pen_full(pen); i++) {
        pen_right(pen, ROLE_HEAD, i < 0 ? STR("") : bucket_name(ui, traffic, i, false), HEAD);
        for (int j = 0; j < columns; j++) {
            if (i < 0)
                pen_right(pen, ROLE_HEAD, bucket_name(ui, traffic, j, true), width);
            else
                draw_cell(ui, traffic->pair[i * n + j], most, unit, width, pen);
        }
        pen_line(pen);
    }
}

/* ---- the view ---- */

/* Of the plan, made once. */
static const Traffic *traffic_of(Ui *ui)
{
    Comm *comm = comm_arranged(ui);
    int64_t n = ui->session->mesh->n_devices;

    if (!comm->traffic && n <= DEVICES_MAX) {
        Traffic *traffic = arena_make(comm->arena, Traffic);
        *traffic =
            traffic_of_plan(comm->arena, ui_plan(ui), n < BUCKETS_MAX ? (int)n : BUCKETS_MAX);
        comm->traffic = traffic;
    }
    return comm->traffic;
}

static void draw_links(Ui *ui, Pen *pen)
{
    const Traffic *traffic = traffic_of(ui);

    draw_groups(ui, pen);
    if (traffic)
        ui->list[SHOW_LINKS].wants = GROUP_LINES + traffic->n_axes + traffic->n_buckets + 6;
    if (!traffic) {
        pen_printf(pen, ROLE_DIM, " links are summed up to %d devices", DEVICES_MAX);
        return;
    }
    if (pen->area.h - pen->y > traffic->n_axes + traffic->n_buckets + 5)
        pen_line(pen);
    draw_load(ui, traffic, pen);
    if (pen->area.h - pen->y > traffic->n_buckets + 2)
        pen_line(pen);
    draw_pairs(ui, traffic, pen);
}

static void table(Ui *ui, Sheet *out)
{
    const Traffic *traffic = traffic_of(ui);

    sheet_head(out, "from to bytes#");
    for (int i = 0; traffic && i < traffic->n_buckets; i++)
        for (int j = 0; j < traffic->n_buckets; j++) {
            sheet_put(out, bucket_name(ui, traffic, i, false));
            sheet_put(out, bucket_name(ui, traffic, j, false));
            sheet_number(out, traffic->pair[i * traffic->n_buckets + j]);
        }
}

static bool act(Ui *ui, ActId act)
{
    return view_comm.act(ui, act);
}

static void note(Ui *ui, Buf *out)
{
    view_comm.note(ui, out);
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},
    {ACT_SHOW_MESH, "groups"},
    {ACT_SHOW_COMM, "reshards"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

const View view_links = {
    .name = "On the mesh",
    .draw = draw_links,
    .act = act,
    .note = note,
    .list_at = -1,
    .hints = hints,
    .table = table,
};
