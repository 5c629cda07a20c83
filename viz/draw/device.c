/* device.c - what devices hold and run: a frame for devices that run the same ops, with a table of
 * what they hold, and their ops in program order, split where they wait for other devices. */
#include "viz/draw/device.h"

#include "core/summary/sheets.h"
#include "core/summary/label.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TEAMS_DRAWN = 8, TEAMS_FIRST = 5, TEAMS_LAST = 2 };

/* ---- devices that run the same ops ---- */

/* Atoms that distinguish parts of the mesh: positions with equal coordinates on them run the same
 * ops. */
static AtomSet atoms_of_parts(const Plan *plan)
{
    AtomSet atoms = 0;

    for (int i = 0; i < plan->inferred->n_program && plan->decided->devices; i++)
        atoms |= plan->decided->submeshes[plan->decided->devices[plan->inferred->program[i]]].fixed;
    return atoms;
}

static bool *members_of(const Draw *draw, int64_t position)
{
    const Plan *plan = draw->plan;
    bool *member = arena_array(draw->arena, bool, draw->graph->n_ops);

    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        member[op] =
            submesh_has(plan->mesh, plan->decided->submeshes[plan_devices(plan, op)], position);
    }
    return member;
}

static const RankMemory *memory_of(const DevicePicture *picture, const DrawnTeam *team)
{
    return &picture->ranks.at[picture->ranks.of_rank[team->position[0]]];
}

static bool teams_alike(const DevicePicture *picture, const DrawnTeam *a, const DrawnTeam *b)
{
    return memory_of(picture, a)->use.peak_bytes == memory_of(picture, b)->use.peak_bytes &&
           runs_alike(picture->draw, &a->runs, &b->runs);
}

/* The devices with the coordinates of `first` on these atoms. */
static void add_team(DevicePicture *picture, AtomSet atoms, int64_t first)
{
    Draw *draw = picture->draw;
    const Mesh *mesh = picture->plan->mesh;
    AtomSet others = ((AtomSet)1 << mesh->n_atoms) - 1;
    others &= ~atoms;
    DrawnTeam team = {
        .n_positions = mesh_atoms_size(mesh, others), .n_alike = 1, .like = -1, .frame = -1};
    int64_t *position = arena_array(draw->arena, int64_t, team.n_positions);

    for (int64_t i = 0; i < team.n_positions; i++)
        position[i] = mesh_group_member(mesh, others, first, i);
    team.position = position;
    team.runs = runs_of(draw, members_of(draw, first));
    if (picture->teams.n > 0) {
        int before = picture->teams.n - 1;
        int head = picture->teams.at[before].like < 0 ? before : picture->teams.at[before].like;
        if (teams_alike(picture, &picture->teams.at[head], &team)) {
            picture->teams.at[head].n_alike++;
            team.like = head;
        }
    }
    vec_push(draw->arena, &picture->teams, team);
}

static void add_teams(DevicePicture *picture)
{
    const Mesh *mesh = picture->plan->mesh;
    AtomSet atoms = atoms_of_parts(picture->plan);

    if (picture->only >= 0) {
        add_team(picture, ((AtomSet)1 << mesh->n_atoms) - 1, picture->only);
        return;
    }
    for (int64_t i = 0; i < mesh_atoms_size(mesh, atoms); i++)
        add_team(picture, atoms, mesh_group_member(mesh, atoms, 0, i));
}

/* If there are very many, only the first and the last few are drawn. */
static int hide_teams(DevicePicture *picture)
{
    int n_drawn = 0, n_hidden = 0, at = 0;

    for (int i = 0; i < picture->teams.n; i++)
        n_drawn += picture->teams.at[i].like < 0;
    for (int i = 0; i < picture->teams.n && n_drawn > TEAMS_DRAWN; i++) {
        DrawnTeam *team = &picture->teams.at[i];
        if (team->like >= 0) {
            team->hidden = picture->teams.at[team->like].hidden;
            n_hidden += team->hidden;
            continue;
        }
        team->hidden = at >= TEAMS_FIRST && at < n_drawn - TEAMS_LAST;
        n_hidden += team->hidden;
        at++;
    }
    return n_hidden;
}

/* ---- what they hold ---- */

enum { LARGEST = 6 };

typedef struct {
    const char *label; /* with '*' for its numbers */
    int32_t tensor, sharding;
    int n;
    int64_t bytes; /* of all */
} Holding;

typedef struct {
    int n;
    Holding *at;
} Holdings;

static int by_bytes(const void *a, const void *b)
{
    const Holding *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* Values whose names differ only in numbers are one row; the most bytes first. */
static Holdings fold_live(const DevicePicture *picture, const LiveSet *live)
{
    Arena *arena = picture->draw->arena;
    LiveRow *rows = arena_array(arena, LiveRow, live->n);
    Holdings holdings = {.n = live_rows(arena, picture->draw->session, live, rows)};

    holdings.at = arena_array(arena, Holding, holdings.n);
    for (int i = 0; i < holdings.n; i++) {
        const LiveValue *value = &live->at[rows[i].first];
        holdings.at[i] =
            (Holding){rows[i].label, value->tensor, value->sharding, rows[i].n, rows[i].bytes};
    }
    if (holdings.n > 0)
        qsort(holdings.at, (size_t)holdings.n, sizeof *holdings.at, by_bytes);
    return holdings;
}

Text device_local_text(const DevicePicture *picture, int64_t position, int32_t tensor,
                       int32_t sharding)
{
    Buf text = buf_marked(picture->draw->arena);
    Shape shape;

    if (sharding < 0)
        return draw_value(picture->draw, tensor, sharding);
    sharding_local_shape(shardings_at(picture->plan->shardings, sharding), picture->plan->mesh,
                         position, &shape);
    shape_format(&shape, &text);
    return buf_text(&text);
}

static void add_row(Cells *cells, CellLook look, const char *name, Text shape, const char *bytes)
{
    cells_put(cells, look, name);
    cells_put_cell(cells, (DiagramCell){.text = shape, .look = look});
    cells_put(cells, look, bytes);
}

static void add_class(const Draw *draw, Cells *cells, const char *name, int64_t bytes)
{
    cells_put_wide(cells, CELL_HEAD, 2, name);
    cells_put(cells, CELL_HEAD, draw_bytes(draw, bytes));
}

static void add_largest(const DevicePicture *picture, const DrawnTeam *team, const LiveSet *live,
                        Cells *cells)
{
    const Draw *draw = picture->draw;
    Holdings holdings = fold_live(picture, live);
    int64_t rest = 0;

    for (int i = 0; i < holdings.n; i++) {
        const Holding *h = &holdings.at[i];
        if (i >= LARGEST) {
            rest += h->bytes;
            continue;
        }
        Text local = device_local_text(picture, team->position[0], h->tensor, h->sharding);
        Text cut = draw_value(draw, h->tensor, h->sharding);
        add_row(cells, CELL_PLAIN,
                h->n > 1 ? arena_printf(draw->arena, "%s \xc3\x97%d", h->label, h->n) : h->label,
                str_eq(local.str, cut.str) ? local : text_join(draw->arena, "@ of @", local, cut),
                draw_bytes(draw, h->bytes));
    }
    if (holdings.n > LARGEST)
        add_row(cells, CELL_FAINT, arena_printf(draw->arena, "%d more", holdings.n - LARGEST),
                text_from(""), draw_bytes(draw, rest));
}

/* Devices of the team whose shards have other sizes. */
static void add_others(const DevicePicture *picture, const DrawnTeam *team, Cells *cells)
{
    enum { LISTED = 3 };
    const Draw *draw = picture->draw;
    Arena *scratch = arena_new();
    bool *seen = arena_array(scratch, bool, picture->ranks.n);
    int listed = 0;

    seen[picture->ranks.of_rank[team->position[0]]] = true;
    for (int64_t i = 1; i < team->n_positions && listed < LISTED; i++) {
        int32_t class = picture->ranks.of_rank[team->position[i]];
        if (seen[class])
            continue;
        seen[class] = true;
        listed++;
        const RankMemory *memory = &picture->ranks.at[class];
        const char *device = positions_text(draw, &team->position[i], 1);
        if (memory->n_ranks > 1)
            device =
                arena_printf(draw->arena, "%s and %" PRId64 " more", device, memory->n_ranks - 1);
        add_row(cells, CELL_PLAIN, "peak where shards are smaller", text_from(device),
                draw_bytes(draw, memory->use.peak_bytes));
    }
    arena_free(scratch);
}

static const char *peak_place_text(const DevicePicture *picture, int place)
{
    const Draw *draw = picture->draw;

    if (place < 0)
        return "";
    Str op = label_op(draw->session, draw->arena, picture->plan->inferred->program[place]);
    return arena_printf(draw->arena, "while %.*s runs", STR_ARG(op));
}

static void device_draw_holds(DevicePicture *picture, DrawnTeam *team)
{
    Draw *draw = picture->draw;
    const RankMemory *memory = memory_of(picture, team);
    LiveSet live =
        memory_live_of(draw->arena, picture->account, team->position[0], memory->use.peak_place);
    DiagramBox box = diagram_box(BOX_DEVICE, "at its peak");
    Cells cells = cells_new(draw->arena, 3);

    box.subtitle = peak_text(draw, memory->use.peak_bytes);
    box.figures = peak_place_text(picture, memory->use.peak_place);
    box.frame = team->frame;
    for (int class = 0; class < MEMORY_CLASS_COUNT; class ++)
        if (memory->by_class[class] > 0)
            add_class(draw, &cells, memory_class_name((MemoryClass) class),
                      memory->by_class[class]);
    add_largest(picture, team, &live, &cells);
    add_others(picture, team, &cells);
    cells_give(&cells, &box);
    team->holds = draw_box(draw, box);
}

/* ---- the whole drawing ---- */

static void draw_team(DevicePicture *picture, DrawnTeam *team)
{
    Draw *draw = picture->draw;
    const Plan *plan = picture->plan;
    const char *devices = positions_text(draw, team->position, team->n_positions);
    Buf title = buf_new(draw->arena);
    DiagramFrame frame = {.look = FRAME_DEVICES, .parent = -1};

    buf_printf(&title, "%s: %s", count_text(draw, team->n_positions, "device"), devices);
    if (plan->decided->devices && team->runs.n > 0) {
        int32_t op = run_op(draw, &team->runs.at[team->runs.n - 1], 0, 0);
        buf_printf(&title, ", %s", part_name_text(draw, plan_devices(plan, op)));
    }
    if (team->n_alike > 1)
        buf_printf(&title, "; %d more such group%s as many other layers", team->n_alike - 1,
                   team->n_alike == 2 ? " runs" : "s run");
    frame.title = title.s;
    team->frame = draw_frame(draw, frame);
    device_draw_holds(picture, team);
    device_draw_runs(picture, team);
    if (team->segments.n == 0)
        return;
    draw_below(draw, team->holds, team->box[0]);
    if (picture->last_box >= 0)
        draw_below(draw, picture->last_box, team->holds);
    picture->last_box = team->box[team->segments.n - 1];
}

static void draw_hidden(DevicePicture *picture, int n)
{
    Draw *draw = picture->draw;
    DiagramBox box = diagram_box(BOX_GROUP, "further devices");

    box.subtitle = count_text(draw, n, "group");
    box.figures = "'device N' draws a single device";
    picture->hidden_box = draw_box(draw, box);
}

static void set_caption(DevicePicture *picture)
{
    Draw *draw = picture->draw;
    const Totals *totals = &picture->plan->priced->totals;
    const char *pass = label_pass(picture->plan);
    const Mesh *mesh = picture->plan->mesh;
    double us = totals->step_us;

    if (picture->only >= 0) {
        Buf at = buf_marked(draw->arena);
        buf_printf(&at, "device d%" PRId64 " at ", mesh_device(mesh, picture->only));
        mesh_format_coords(mesh, ~0u, picture->only, "=", ", ", &at);
        buf_puts(&at, ": sizes are those of its own shards");
        draw->diagram->caption = buf_text(&at);
        return;
    }
    draw->diagram->caption = text_from(
        arena_printf(draw->arena, "%s: a %s takes %s, %.1f%% of it collectives; peak %s",
                     count_text(draw, mesh->n_devices, "device"), pass, draw_us(draw, us),
                     us > 0 ? 100 * totals->comm_us / us : 0, peak_text(draw, totals->peak_bytes)));
}

/* ---- a device by name ---- */

/* Reads "3", "d3", or coordinates on all axes: "dp=0,tp=1". Returns the position, or -1. */
static int64_t find_device(const Draw *draw, const char *name, Error *err)
{
    const Mesh *mesh = draw->plan->mesh;
    Str text = str_from(name);
    int64_t number;

    if (text.n > 1 && text.s[0] == 'd' && is_digit(text.s[1]))
        text = (Str){text.s + 1, text.n - 1};
    if (str_to_int(text, &number)) {
        for (int64_t p = 0; p < mesh->n_devices; p++)
            if (mesh_device(mesh, p) == number)
                return p;
        error_kind(err, ERROR_USAGE, "there is no device %" PRId64 " in this mesh", number);
        error_hint(err, "its %" PRId64 " devices begin with d%" PRId64 "", mesh->n_devices,
                   mesh_device(mesh, 0));
        return -1;
    }
    Source source = {.name = "device", .text = str_from(name)};
    Error found = {0};
    SubMesh part;
    if (!submesh_parse(mesh, &source, &part, &found)) {
        error_kind(err, ERROR_USAGE, "there is no device '%s': %s", name, found.text);
        error_hint(err,
                   "give a number such as 3 or d3, or coordinates on all axes, such as dp=0,tp=1");
        return -1;
    }
    int64_t n = submesh_size(mesh, part);
    if (n == 1)
        return part.first;
    Buf axes = buf_new(draw->arena);
    mesh_format_set(mesh, submesh_free(mesh, part), ", ", &axes);
    error_kind(err, ERROR_USAGE, "'%s' is %" PRId64 " devices", name, n);
    error_hint(err, "also give its coordinate on %s", axes.s);
    return -1;
}

static void draw_all(DevicePicture *picture)
{
    add_teams(picture);
    int n_hidden = hide_teams(picture);
    device_cut(picture);
    for (int i = 0; i < picture->teams.n; i++)
        if (!picture->teams.at[i].hidden && picture->teams.at[i].like < 0)
            draw_team(picture, &picture->teams.at[i]);
    if (n_hidden > 0)
        draw_hidden(picture, n_hidden);
    device_draw_moves(picture);
    set_caption(picture);
}

bool draw_devices(Draw *draw, Error *err)
{
    DevicePicture picture = {
        .draw = draw, .plan = draw->plan, .only = -1, .hidden_box = -1, .last_box = -1};
    const char *of = draw->request->of;

    if (of) {
        picture.only = find_device(draw, of, err);
        if (picture.only < 0)
            return false;
    }
    MemoryAccount *account = memory_account_new(draw->plan);
    picture.account = account;
    picture.ranks = memory_ranks(draw->arena, account, NULL);
    draw_all(&picture);
    memory_account_free(account);
    draw->diagram->fold = "--kind stage";
    draw->diagram->title =
        arena_printf(draw->arena, "%s: what %s", draw->diagram->title,
                     of ? "one device holds and runs" : "each device holds and runs");
    return true;
}
