#include "viz/draw/parts.h"

#include "core/base/units.h"
#include "core/summary/label.h"

#include <inttypes.h>

enum { OPERANDS_SHOWN = 12 };

/* An op whose index dims are pictured: their cuts are a sharding of the work. */
typedef struct {
    int32_t op;
    const OpSpace *space;
    const OpCut *cut;
    int n_operands, operand[OPERANDS_SHOWN]; /* the operands that are shown */
} SlicesWork;

typedef struct {
    Draw *draw;
    Arena *arena;
    Parts parts;
    const SlicesWork *work; /* NULL if the picture is of a tensor */
} SlicesPicture;

/* ---- the table ---- */

static void put_range(const SlicesPicture *picture, const Slices *slices, int d, int64_t position,
                      Buf *out)
{
    if (slice_parts(slices, d) > 1)
        slice_range(picture->arena, slices, d, position, 3, out);
    else
        buf_printf(out, "0:%" PRId64, cut_size(&slices->sharding->dim[d]));
}

/* Returns whether a window, shift or clip runs along a sharded index dim. */
static bool is_window(const SlicesWork *work, const Operand *operand, int d)
{
    for (int j = 0; j < work->space->n_index; j++)
        if (operand->projection.row[d].coef[j] != 0 && !operand->factors[d].exact &&
            !cut_is_whole(&work->cut->index[j]))
            return true;
    return false;
}

/* "0:4,:,110:226": what the rank reads or writes of an operand. */
static const char *touched(const SlicesPicture *picture, int operand, int64_t position)
{
    const SlicesWork *work = picture->work;
    const Operand *at = &work->space->operand[operand];
    const Mesh *mesh = picture->draw->plan->mesh;
    Buf text = buf_new(picture->arena);

    if (at->ignored || work->space->no_rule)
        return "all of it";
    Sharding sharding = op_cut_sharding(work->space, work->cut, operand, mesh);
    Slices slices = slices_of(&sharding, mesh, picture->parts.slices.part);
    Box index = parts_index_box(picture->arena, work->space, work->cut, mesh, position), range;
    projection_range(&at->projection, &at->shape, &index, &range);
    for (int d = 0; d < sharding.n_dims; d++) {
        buf_puts(&text, d ? ", " : "");
        if (slice_parts(&slices, d) > 1)
            slice_range(picture->arena, &slices, d, position, 2, &text);
        else if (is_window(work, at, d))
            buf_printf(&text, "%" PRId64 ":%" PRId64, range.lo[d], range.hi[d]);
        else
            buf_putc(&text, ':');
    }
    if (sharding.n_dims == 0)
        buf_puts(&text, "the scalar");
    return text.s;
}

static int n_columns(const SlicesPicture *picture)
{
    const Slices *slices = &picture->parts.slices;
    int n = 2 + (int)slices->sharding->n_dims;
    return picture->work ? n + picture->work->n_operands
                         : n + 1 + (slices->n_addends > 1) + (slices->n_copies > 1);
}

static void put_operand_heads(const SlicesPicture *picture, Cells *cells)
{
    const SlicesWork *work = picture->work;
    const Graph *graph = picture->draw->graph;

    for (int i = 0; i < work->n_operands; i++) {
        bool input = work->operand[i] < work->space->n_inputs;
        int32_t tensor = op_inputs(graph, work->op)[work->operand[i]];
        Str name = label_tensor(picture->draw->session, picture->arena, tensor);
        cells_put(
            cells, CELL_HEAD,
            arena_printf(picture->arena, "%s\n%.*s", input ? "reads" : "writes", STR_ARG(name)));
    }
}

static void put_heads(const SlicesPicture *picture, bool folded, Cells *cells)
{
    const Slices *slices = &picture->parts.slices;

    cells_put(cells, CELL_HEAD, folded ? "devices" : "device");
    cells_put(cells, CELL_HEAD, "part");
    for (int d = 0; d < slices->sharding->n_dims; d++) {
        Buf text = buf_marked(picture->arena);
        buf_printf(&text, "%s\n", parts_dim_name(picture->arena, &picture->parts, d));
        cut_format(&slices->sharding->dim[d], slices->mesh, &text);
        cells_put_text(cells, buf_text(&text));
    }
    if (picture->work) {
        put_operand_heads(picture, cells);
        return;
    }
    cells_put(cells, CELL_HEAD, "shape");
    if (slices->n_addends > 1)
        cells_put(cells, CELL_HEAD, "addend\nof the sum");
    if (slices->n_copies > 1)
        cells_put(cells, CELL_HEAD, folded ? "copies" : "same bytes\nas");
}

/* Other devices with the same bytes, or how many there are if a row stands for all of them. */
static const char *same_bytes(const SlicesPicture *picture, const PartRows *rows, int64_t position)
{
    const Slices *slices = &picture->parts.slices;
    AtomSet free = submesh_free(slices->mesh, slices->part);
    AtomSet same = free & ~slices->cuts & ~slices->partials;
    Buf text = buf_new(picture->arena);
    int shown = 0;

    if (rows->folded)
        return arena_printf(picture->arena, "%" PRId64, slices->n_copies);
    for (int64_t i = 0; i < slices->n_copies && shown < 4; i++) {
        int64_t other = mesh_group_member(slices->mesh, same, position, i);
        if (other != position)
            buf_printf(&text, "%sd%" PRId64, shown++ ? " " : "", mesh_device(slices->mesh, other));
    }
    if (slices->n_copies - 1 > shown)
        buf_printf(&text, " +%" PRId64, slices->n_copies - 1 - shown);
    return text.s;
}

static void put_tensor_cells(const SlicesPicture *picture, const PartRows *rows, int64_t position,
                             Cells *cells)
{
    const Slices *slices = &picture->parts.slices;
    Buf shape = buf_new(picture->arena);
    Shape local;

    sharding_local_shape(slices->sharding, slices->mesh, position, &local);
    shape_format(&local, &shape);
    cells_put(cells, CELL_PLAIN, shape.s);
    if (slices->n_addends > 1)
        cells_put(cells, CELL_PLAIN,
                  arena_printf(picture->arena, "\xce\xa3%" PRId64 "/%" PRId64,
                               slice_addend(slices, position) + 1, slices->n_addends));
    if (slices->n_copies > 1)
        cells_put(cells, CELL_PLAIN, same_bytes(picture, rows, position));
}

static void put_row(const SlicesPicture *picture, const PartRows *rows, int64_t position,
                    Cells *cells)
{
    const Slices *slices = &picture->parts.slices;
    AtomSet same = submesh_free(slices->mesh, slices->part) & ~slices->cuts & ~slices->partials;
    bool empty = slice_marks(slices, position) & MARK_EMPTY;
    Buf devices = buf_new(picture->arena), letter = buf_new(picture->arena);

    parts_put_holders(slices, rows->folded ? same : 0, position, 4, &devices);
    cells_put(cells, CELL_PLAIN, devices.s);
    slice_mark(slices, position, SLICE_AS_LETTER, &letter);
    cells_put_cell(
        cells, (DiagramCell){.text = text_from(letter.s),
                             .shade = empty ? 0 : (int)(slice_number(slices, position) % 8) + 1});
    for (int d = 0; d < slices->sharding->n_dims; d++) {
        Buf range = buf_new(picture->arena);
        put_range(picture, slices, d, position, &range);
        cells_put(cells, slice_parts(slices, d) > 1 ? CELL_PLAIN : CELL_FAINT, range.s);
    }
    if (!picture->work)
        put_tensor_cells(picture, rows, position, cells);
    for (int i = 0; picture->work && i < picture->work->n_operands; i++)
        cells_put(cells, CELL_PLAIN, touched(picture, picture->work->operand[i], position));
}

static DiagramBox table_box(const SlicesPicture *picture)
{
    DiagramBox box = diagram_box(BOX_TABLE, picture->work ? "what each device computes"
                                                          : "what each device holds");
    PartRows rows = part_rows(picture->arena, &picture->parts.slices);
    Cells cells = cells_new(picture->arena, n_columns(picture));

    put_heads(picture, rows.folded, &cells);
    for (int64_t i = 0; i < rows.n; i++)
        put_row(picture, &rows, rows.position[i], &cells);
    if (rows.n_all > rows.n)
        cells_put_row(&cells, CELL_FAINT,
                      text_from(arena_printf(picture->arena, ".. and %" PRId64 " more",
                                             rows.n_all - rows.n)));
    cells_give(&cells, &box);
    return box;
}

/* ---- the slices of a tensor ---- */

/* A row for each reader that needs it in another sharding. */
static void add_moves(Draw *draw, int32_t tensor, int below)
{
    enum { MOVES_MAX = 8 };
    Cells cells = cells_new(draw->arena, 3);
    int n = 0;

    cells_put(&cells, CELL_HEAD, "read by");
    cells_put(&cells, CELL_HEAD, "as");
    cells_put(&cells, CELL_HEAD, "after");
    for (int r = draw->reshards.first[tensor]; r >= 0; r = draw->reshards.next[r]) {
        const Reshard *reshard = &draw->plan->moved->reshards[r];
        if (n++ >= MOVES_MAX)
            continue;
        int32_t op = reshard->n_uses > 0 ? draw->plan->moved->reshard_uses[reshard->use] : -1;
        Str reader =
            op < 0 ? STR("no op: a pin asks for it") : label_op(draw->session, draw->arena, op);
        cells_put(&cells, CELL_PLAIN,
                  reshard->n_uses > 1
                      ? arena_printf(draw->arena, "%.*s +%d", STR_ARG(reader), reshard->n_uses - 1)
                      : arena_str(draw->arena, reader));
        cells_put_text(&cells, draw_value(draw, tensor, reshard->to));
        Text steps = draw_steps(draw, reshard->path);
        cells_put_text(&cells, steps.str.n > 0 ? steps : text_from("each device keeps a slice"));
    }
    if (n > MOVES_MAX)
        cells_put_row(&cells, CELL_FAINT,
                      text_from(arena_printf(draw->arena, ".. and %d more", n - MOVES_MAX)));
    if (n == 0)
        return;
    DiagramBox box = diagram_box(BOX_TABLE, "readers that need another sharding");
    cells_give(&cells, &box);
    draw_line(draw, draw_new_line(LINE_ORDER, below, draw_box(draw, box)));
}

static void put_counts(const Slices *slices, Buf *out)
{
    buf_printf(out, "%" PRId64 "  different shard%s", slices->n_slices,
               slices->n_slices == 1 ? "" : "s");
    if (slices->n_addends > 1)
        buf_printf(out, ", each in %" PRId64 " addends", slices->n_addends);
    if (slices->n_copies > 1)
        buf_printf(out, ", %" PRId64 " copies of %s", slices->n_copies,
                   slices->n_slices * slices->n_addends > 1 ? "each" : "it");
}

static Text tensor_caption(const Draw *draw, int32_t tensor, const Slices *slices)
{
    Buf text = buf_marked(draw->arena);
    Shape local;

    sharding_local_shape(slices->sharding, slices->mesh,
                         submesh_position(slices->mesh, slices->part, 0), &local);
    buf_add_text(&text, draw_value(draw, tensor, draw->plan->moved->made[tensor]));
    buf_printf(&text, " on %" PRId64 " devices", submesh_size(slices->mesh, slices->part));
    if (slices->part.fixed) {
        buf_puts(&text, " of ");
        submesh_format(slices->mesh, slices->part, &text);
    }
    buf_puts(&text, ": ");
    put_counts(slices, &text);
    buf_puts(&text, "\na device holds ");
    buf_puts(&text, slices->uneven ? "at most " : "");
    shape_format(&local, &text);
    buf_puts(&text, ", ");
    units_format_bytes(plan_local_bytes(draw->plan, tensor, draw->plan->moved->made[tensor]),
                       &text);
    buf_puts(&text, " of ");
    units_format_bytes(inferred_bytes(draw->plan->inferred, tensor), &text);
    return buf_text(&text);
}

/* A tensor without a sharding: every device has all of it. */
static void draw_unknown(Draw *draw, int32_t tensor)
{
    DiagramBox box = diagram_box(BOX_TABLE, draw->diagram->title);
    Cells cells = cells_new(draw->arena, 1);

    cells_put(&cells, CELL_HEAD, draw_value(draw, tensor, -1).str.s);
    cells_put(&cells, CELL_PLAIN, "all of it, on every device");
    cells_give(&cells, &box);
    box.subtitle = label_tensor_kind(draw->session, tensor);
    draw_box(draw, box);
    draw->diagram->caption =
        text_from("part of its shape is unknown: every device holds all of it");
}

static void draw_tensor(Draw *draw, int32_t tensor)
{
    SlicesPicture picture = {.draw = draw, .arena = draw->arena};

    draw->diagram->title = arena_str(draw->arena, label_tensor(draw->session, draw->arena, tensor));
    if (draw->plan->moved->made[tensor] < 0) {
        draw_unknown(draw, tensor);
        return;
    }
    picture.parts.slices = slices_of_tensor(draw->plan, tensor, 0);
    DiagramBox box = diagram_box(BOX_TABLE, draw->diagram->title);
    box.subtitle = arena_printf(draw->arena, "%s %s", label_tensor_kind(draw->session, tensor),
                                dtype_name((Dtype)draw->plan->inferred->dtype[tensor]));
    parts_picture(draw->arena, &picture.parts, &box);
    int at = draw_box(draw, box), table = draw_box(draw, table_box(&picture));
    draw_line(draw, draw_new_line(LINE_ORDER, at, table));
    add_moves(draw, tensor, table);
    draw->diagram->caption = tensor_caption(draw, tensor, &picture.parts.slices);
}

/* ---- the slices of an op ---- */

/* If an input is partial, each device computes with its own addends. */
static void put_partials(const Draw *draw, const SlicesWork *work, Sharding *sharding)
{
    const GraphOp *node = &draw->graph->ops[work->op];

    for (int i = 0; i < node->n_inputs; i++) {
        int32_t need = draw->plan->moved->need[node->input + i];
        const Sharding *read = need < 0 ? NULL : shardings_at(draw->plan->shardings, need);
        for (int a = 0; read && a < ATOMS_MAX; a++)
            if (read->partial[a] && !(sharding_atoms(sharding) >> a & 1))
                sharding->partial[a] = read->partial[a];
    }
}

/* The index dims as dims of a tensor: the sharded ones only, if there are too many, or more points
 * than can be counted. */
static Sharding work_sharding(const Draw *draw, const SlicesWork *work, const char *const **names)
{
    Arena *arena = draw->arena;
    Sharding sharding = {0};
    const char **name = arena_array(arena, const char *, DIMS_MAX);
    double points = 1, most = (double)((int64_t)1 << 60);

    for (int j = 0; j < work->space->n_index; j++)
        points *= (double)work->space->index[j].size;
    bool all = work->space->n_index <= DIMS_MAX && points < most;
    points = 1;
    for (int j = 0; j < work->space->n_index && sharding.n_dims < DIMS_MAX; j++) {
        const IndexDim *index = &work->space->index[j];
        points *= all || cut_is_whole(&work->cut->index[j]) ? 1 : (double)index->size;
        if (!all && (cut_is_whole(&work->cut->index[j]) || points >= most))
            continue;
        name[sharding.n_dims] =
            arena_printf(arena, "%s%s", index->name, index->role == ROLE_REDUCE ? "+" : "");
        sharding.dim[sharding.n_dims++] = work->cut->index[j];
    }
    *names = name;
    put_partials(draw, work, &sharding);
    return sharding;
}

static const char *work_caption(const Draw *draw, const SlicesWork *work, const Slices *slices)
{
    Buf text = buf_new(draw->arena);

    if (work->space->no_rule)
        return label_no_rule(draw->session, work->op);
    opspace_format(work->space, &text);
    buf_printf(&text, "\n%" PRId64 " part%s of the index space on %" PRId64 " devices",
               slices->n_slices, slices->n_slices == 1 ? "" : "s",
               submesh_size(slices->mesh, slices->part));
    if (slices->n_addends > 1)
        buf_printf(&text, ", with %" PRId64 " addends of its inputs", slices->n_addends);
    if (slices->n_copies > 1)
        buf_printf(&text, ": each is computed %" PRId64 " times", slices->n_copies);
    return text.s;
}

static void draw_work(Draw *draw, int32_t op)
{
    SlicesWork work = {op, program_space(draw->plan->inferred, op), program_cut(draw->plan, op),
                       .n_operands = 0};
    work.n_operands = parts_operands(draw, op, work.operand, OPERANDS_SHOWN);
    SlicesPicture picture = {.draw = draw, .arena = draw->arena, .work = &work};
    Sharding sharding = work_sharding(draw, &work, &picture.parts.names);

    picture.parts.work = true;
    picture.parts.slices = slices_of(&sharding, draw->plan->mesh,
                                     draw->plan->decided->submeshes[plan_devices(draw->plan, op)]);
    draw->diagram->title = arena_str(draw->arena, label_op(draw->session, draw->arena, op));
    DiagramBox box = diagram_box(BOX_TABLE, draw->diagram->title);
    box.subtitle = label_operator(draw->graph, op);
    parts_picture(draw->arena, &picture.parts, &box);
    int at = draw_box(draw, box), table = draw_box(draw, table_box(&picture));
    draw_line(draw, draw_new_line(LINE_ORDER, at, table));
    draw->diagram->caption = text_from(work_caption(draw, &work, &picture.parts.slices));
}

bool draw_slices(Draw *draw, Error *err)
{
    if (!parts_need(draw, false, err))
        return false;
    int32_t tensor = draw_find_tensor(draw, draw->request->of, NULL);
    if (tensor >= 0) {
        draw_tensor(draw, tensor);
        return true;
    }
    int32_t op = draw_find_op(draw, draw->request->of, err);
    if (op >= 0)
        draw_work(draw, op);
    return op >= 0;
}
