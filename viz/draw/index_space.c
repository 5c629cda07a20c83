#include "viz/draw/parts.h"

#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/explain/reason.h"
#include "core/summary/label.h"

#include <inttypes.h>

enum { OPERANDS_SHOWN = 10, PICTURES_MOST_DEVICES = 16 };

typedef struct {
    Draw *draw;
    Arena *arena;
    int32_t op;
    const OpSpace *space;
    const OpCut *cut;
    int box; /* the box of the index dims */
} SpacePicture;

/* ---- the index dims, one column each ---- */

static const char *index_name(const SpacePicture *at, int j)
{
    const IndexDim *index = &at->space->index[j];
    const char *mark = index->role == ROLE_REDUCE ? "+" : index->role == ROLE_FROZEN ? "^" : "";
    return arena_printf(at->arena, "%s%s", index->name, mark);
}

static const char *role_text(const SpacePicture *at, int j)
{
    const IndexDim *index = &at->space->index[j];
    return index->role == ROLE_REDUCE
               ? arena_printf(at->arena, "reduce:%s", reduce_name(index->reduce))
               : role_name(index->role);
}

static Text cut_text(const SpacePicture *at, const Cut *cut)
{
    Buf text = buf_marked(at->arena);
    if (cut_is_whole(cut))
        return text_from("-");
    cut_format(cut, at->draw->plan->mesh, &text);
    return buf_text(&text);
}

static const char *share_text(const SpacePicture *at, const Cut *cut)
{
    return arena_printf(at->arena, "%" PRId64, cut_local_size(cut, at->draw->plan->mesh, 0));
}

/* "megatron.lua:14", and its distance in ops. */
static const char *root_text(const SpacePicture *at, const ReasonChain *chain)
{
    const ReasonStep *root = &chain->step[0];
    int64_t ops = chain->n_steps - 2 + chain->n_left_out;
    Buf text = buf_new(at->arena);

    if (root->pin)
        buf_add(&text, label_pin(at->arena, root->pin));
    else
        buf_puts(&text, root->kind == REASON_CHOSEN ? "chosen here" : "with its parameter");
    if (ops > 0)
        buf_printf(&text, "\n%" PRId64 " op%s away", ops, ops == 1 ? "" : "s");
    return text.s;
}

/* The decision that each axis on it comes from; one line if all come from the same one. */
static const char *index_cause(const SpacePicture *at, int j)
{
    Buf text = buf_new(at->arena);
    ReasonChain *chains;
    int n = why_index_dim(at->arena, at->draw->plan, at->op, j, &chains);
    bool same = true;

    for (int i = 1; i < n; i++)
        same &= strcmp(root_text(at, &chains[i]), root_text(at, &chains[0])) == 0;
    for (int i = 0; i < (same && n > 0 ? 1 : n); i++) {
        buf_puts(&text, i ? "\n" : "");
        if (!same)
            buf_printf(&text, "%s: ", at->draw->plan->mesh->axes[chains[i].axis].name);
        buf_puts(&text, root_text(at, &chains[i]));
    }
    if (n == 0 && !cut_is_whole(&at->cut->index[j]))
        buf_puts(&text, "the propagator");
    return text.s;
}

static void put_index_row(const SpacePicture *at, const char *head, int row, Cells *cells)
{
    cells_put(cells, CELL_FAINT, head);
    for (int j = 0; j < at->space->n_index; j++) {
        const Cut *cut = &at->cut->index[j];
        bool whole = cut_is_whole(cut);
        DiagramCell cell = {.look = whole ? CELL_FAINT : CELL_PLAIN};
        switch (row) {
        case 0:
            cell = (DiagramCell){.text = text_from(index_name(at, j)),
                                 .look = whole ? CELL_HEAD : CELL_MARKED,
                                 .port = arena_printf(at->arena, "t%d", j)};
            break;
        case 1:
            cell.text = text_from(arena_printf(at->arena, "%" PRId64, at->space->index[j].size));
            break;
        case 2:
            cell.text = text_from(role_text(at, j));
            break;
        case 3:
            cell.text = cut_text(at, cut);
            break;
        case 4:
            cell.text = text_from(share_text(at, cut));
            break;
        default:
            cell.text = text_from(index_cause(at, j));
            cell.port = arena_printf(at->arena, "b%d", j);
            break;
        }
        cells_put_cell(cells, cell);
    }
}

static int index_box(const SpacePicture *at)
{
    static const char *const heads[] = {"index dim", "size",     "role",
                                        "cut",       "a device", "because of"};
    DiagramBox box = diagram_box(BOX_OP, ""); /* the title of the drawing is its name */
    Cells cells = cells_new(at->arena, at->space->n_index + 1);

    box.why = draw_cause(at->draw, at->op);
    box.marked = true;
    if (at->space->n_index == 0)
        cells_put(&cells, CELL_PLAIN,
                  at->space->no_rule ? label_no_rule(at->draw->session, at->op)
                                     : "a single point: nothing to shard");
    for (int row = 0; at->space->n_index > 0 && row < 6; row++)
        put_index_row(at, heads[row], row, &cells);
    cells_give(&cells, &box);
    return draw_box(at->draw, box);
}

/* ---- an operand, one column per dim ---- */

typedef struct {
    int at; /* index among the operands of the op */
    bool input;
    int32_t tensor, id; /* sharding it is read or made with: Shardings id, or -1 */
    const Operand *operand;
    const Sharding *sharding; /* NULL if unknown */
} Held;

static Held held(const SpacePicture *at, int o)
{
    const Graph *graph = at->draw->graph;
    const Plan *plan = at->draw->plan;
    Held h = {.at = o, .input = o < at->space->n_inputs, .operand = &at->space->operand[o]};

    h.tensor = op_inputs(graph, at->op)[o];
    h.id = h.input ? plan->moved->need[graph->ops[at->op].input + o] : plan->moved->made[h.tensor];
    h.sharding = h.id < 0 ? NULL : shardings_at(plan->shardings, h.id);
    return h;
}

/* The axes over which it is partial. */
static AtomSet partial_over(const Held *h)
{
    return h->sharding ? sharding_partials(h->sharding) : 0;
}

/* For a partial operand: a cell in the column after the dims. */
static void put_partial_cell(const SpacePicture *at, const Held *h, int row, Cells *cells)
{
    const Mesh *mesh = at->draw->plan->mesh;
    int64_t n = mesh_atoms_size(mesh, partial_over(h));
    Buf axes = buf_marked(at->arena);

    if (!partial_over(h))
        return;
    mesh_format_set(mesh, partial_over(h), ".", &axes);
    const Text texts[] = {text_from("partial"),
                          text_from(arena_printf(at->arena, "%" PRId64 " addends", n)),
                          buf_text(&axes), text_from("1 addend")};
    cells_put_text(cells, texts[row]);
}

static void put_lands(const SpacePicture *at, const Held *h, Cells *cells)
{
    cells_put(cells, CELL_FAINT, h->input ? "read along" : "made along");
    for (int d = 0; d < h->sharding->n_dims; d++) {
        Buf text = buf_new(at->arena);
        bool whole = cut_is_whole(&h->sharding->dim[d]);
        if (h->operand->ignored || at->space->no_rule)
            buf_puts(&text, "whole");
        else
            opspace_format_dim(at->space, h->operand, d, &text);
        cells_put_cell(cells, (DiagramCell){.text = buf_text(&text),
                                            .look = whole ? CELL_HEAD : CELL_MARKED,
                                            .port = arena_printf(at->arena, "d%d", d)});
    }
    if (partial_over(h))
        cells_put_cell(
            cells,
            (DiagramCell){.text = text_from("\xce\xa3"), .look = CELL_MARKED, .port = "sum"});
}

/* The number of elements that a shard reads from its neighbour's. */
static int64_t halo(const SpacePicture *at, const Held *h, int d)
{
    Row folded;
    if (h->operand->ignored || at->space->no_rule || h->operand->factors[d].exact)
        return 0;
    int main = row_main_index(at->space, &h->operand->projection.row[d], &folded);
    return main < 0 ? 0 : row_overlap(&folded, main);
}

/* "1 more", and if the window is sharded what the second rank along it reads: "d1 uses 7:16". */
static const char *halo_text(const SpacePicture *at, const Held *h, int d)
{
    const Mesh *mesh = at->draw->plan->mesh;
    const Row *row = &h->operand->projection.row[d];
    const char *more = arena_printf(at->arena, "%" PRId64 " more", halo(at, h, d));
    AtomSet atoms = 0;

    for (int j = 0; j < at->space->n_index; j++)
        if (row->coef[j] != 0)
            atoms |= cut_atoms(&at->cut->index[j]);
    if (!atoms)
        return more;
    SubMesh part = at->draw->plan->decided->submeshes[plan_devices(at->draw->plan, at->op)];
    int64_t first = submesh_position(mesh, part, 0);
    int64_t second = mesh_group_member(mesh, atoms, first, 1);
    Box range, index = parts_index_box(at->arena, at->space, at->cut, mesh, second);
    projection_range(&h->operand->projection, &h->operand->shape, &index, &range);
    return arena_printf(at->arena, "%s: d%" PRId64 "\nuses %" PRId64 ":%" PRId64, more,
                        mesh_device(mesh, second), range.lo[d], range.hi[d]);
}

static void put_halo(const SpacePicture *at, const Held *h, Cells *cells)
{
    bool any = false;

    for (int d = 0; d < h->sharding->n_dims; d++)
        any |= halo(at, h, d) > 0;
    if (!any)
        return;
    cells_put(cells, CELL_FAINT, "halo if sharded");
    for (int d = 0; d < h->sharding->n_dims; d++) {
        int64_t n = halo(at, h, d);
        cells_put(cells, n > 0 ? CELL_PLAIN : CELL_FAINT, n > 0 ? halo_text(at, h, d) : "-");
    }
    if (partial_over(h))
        cells_put(cells, CELL_FAINT, "-");
}

static void put_dims(const SpacePicture *at, const Held *h, Cells *cells)
{
    cells_put(cells, CELL_FAINT, "dim");
    for (int d = 0; d < h->sharding->n_dims; d++)
        cells_put(cells, CELL_PLAIN, arena_printf(at->arena, "%d", d));
    put_partial_cell(at, h, 0, cells);
    cells_put(cells, CELL_FAINT, "size");
    for (int d = 0; d < h->sharding->n_dims; d++)
        cells_put(cells, CELL_PLAIN,
                  arena_printf(at->arena, "%" PRId64, cut_size(&h->sharding->dim[d])));
    put_partial_cell(at, h, 1, cells);
    cells_put(cells, CELL_FAINT, "cut");
    for (int d = 0; d < h->sharding->n_dims; d++)
        cells_put_cell(
            cells,
            (DiagramCell){.text = cut_text(at, &h->sharding->dim[d]),
                          .look = cut_is_whole(&h->sharding->dim[d]) ? CELL_FAINT : CELL_PLAIN});
    put_partial_cell(at, h, 2, cells);
    cells_put(cells, CELL_FAINT, "a device");
    for (int d = 0; d < h->sharding->n_dims; d++)
        cells_put(cells, CELL_PLAIN, share_text(at, &h->sharding->dim[d]));
    put_partial_cell(at, h, 3, cells);
    put_halo(at, h, cells);
}

/* "AR tp 12.0 MiB 0.101 ms, for h.0/Add": the reshard that sums the value over the atoms, found
 * through linear ops that pass the partial value on. NULL if nothing does. */
static const Reshard *summed_by(const SpacePicture *at, int32_t tensor, AtomSet atoms)
{
    enum { HANDED_ON_MAX = 100 };
    const Plan *plan = at->draw->plan;
    const Graph *graph = at->draw->graph;

    for (int i = 0; i < HANDED_ON_MAX && tensor >= 0; i++) {
        for (int r = at->draw->reshards.first[tensor]; r >= 0; r = at->draw->reshards.next[r]) {
            const Reshard *reshard = &plan->moved->reshards[r];
            AtomSet left = sharding_partials(shardings_at(plan->shardings, reshard->to));
            if ((left & atoms) != atoms)
                return reshard;
        }
        if (tensor_n_uses(graph, tensor) == 0)
            return NULL;
        int32_t reader = graph->uses[graph->tensors[tensor].use];
        tensor = graph->ops[reader].n_outputs > 0 ? op_outputs(graph, reader)[0] : -1;
        if (tensor < 0 || plan->moved->made[tensor] < 0 ||
            !(sharding_partials(shardings_at(plan->shardings, plan->moved->made[tensor])) & atoms))
            return NULL;
    }
    return NULL;
}

/* "summed by AR tp 81.2 us before h.0/Add": where a partial result is reduced. */
static void put_summed(const SpacePicture *at, const Held *h, Cells *cells)
{
    const Plan *plan = at->draw->plan;
    Buf text = buf_marked(at->arena);
    const Reshard *reshard = summed_by(at, h->tensor, partial_over(h));

    if (!reshard)
        return;
    int32_t reader = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;
    buf_puts(&text, "summed by ");
    reshard_format_steps(reshard->path, plan->mesh, &text);
    buf_putc(&text, ' ');
    units_format_us(reshard->path->us, &text);
    if (reader >= 0)
        buf_printf(&text, "\nbefore %.*s", STR_ARG(label_op(at->draw->session, at->arena, reader)));
    cells_put_row(cells, CELL_PLAIN, buf_text(&text));
}

/* The sharding before a reshard, if the op needs another one. */
static void put_moved(const SpacePicture *at, const Held *h, Cells *cells)
{
    const Plan *plan = at->draw->plan;
    int filling = h->input && h->id >= 0
                      ? reshard_filling(&at->draw->reshards, h->tensor, h->id,
                                        plan_devices(plan, at->op), plan_phase(plan, at->op))
                      : -1;
    if (filling < 0)
        return;
    Text steps = draw_steps(at->draw, plan->moved->reshards[filling].path);
    Text from = draw_value(at->draw, h->tensor, plan->moved->reshards[filling].from);
    cells_put_row(
        cells, CELL_PLAIN,
        text_join(at->arena, "resharded here from @\n@", from,
                  steps.str.n > 0 ? steps : text_from("each device keeps a slice of its shard")));
}

static void put_unknown(const SpacePicture *at, const Held *h, Cells *cells)
{
    cells_put(cells, CELL_FAINT, "shape");
    cells_put_text(cells, draw_value(at->draw, h->tensor, -1));
}

/* "parameter"; a view of one has its name, and other dims. */
static const char *kind_text(const SpacePicture *at, const Held *h)
{
    int32_t viewed = naming_viewed_parameter(at->draw->session->inferred, h->tensor);

    return viewed >= 0 && viewed != h->tensor ? "a view of the parameter"
                                              : label_tensor_kind(at->draw->session, h->tensor);
}

/* Lines end at its name, on the far side. */
static void put_name(const SpacePicture *at, const Held *h, Cells *cells)
{
    Str name = label_tensor(at->draw->session, at->arena, h->tensor);

    cells_put_row(cells, CELL_HEAD, text_from(arena_str(at->arena, name)));
    cells_put_row(cells, CELL_FAINT,
                  text_from(arena_printf(at->arena, "%s %s", h->input ? "reads" : "writes",
                                         kind_text(at, h))));
}

static void put_input(const SpacePicture *at, const Held *h, Cells *cells)
{
    put_name(at, h, cells);
    put_moved(at, h, cells);
    if (!h->sharding) {
        put_unknown(at, h, cells);
    } else if (h->sharding->n_dims == 0) {
        cells_put_row(cells, CELL_PLAIN, text_from("a scalar"));
    } else {
        put_dims(at, h, cells);
        put_lands(at, h, cells);
    }
}

static void put_output(const SpacePicture *at, const Held *h, Cells *cells)
{
    if (!h->sharding) {
        put_unknown(at, h, cells);
    } else if (h->sharding->n_dims == 0 && !partial_over(h)) {
        cells_put_row(cells, CELL_PLAIN, text_from("a scalar"));
    } else {
        put_lands(at, h, cells);
        put_dims(at, h, cells);
    }
    if (partial_over(h))
        put_summed(at, h, cells);
    put_name(at, h, cells);
}

/* ---- lines ---- */

/* The first axis that shards the index dim, and through it this tensor dim; -1 if none. */
static int cut_axis(const SpacePicture *at, const Held *h, int j, int d)
{
    uint8_t atom[ATOMS_MAX];
    AtomSet both = cut_atoms(&at->cut->index[j]) & cut_atoms(&h->sharding->dim[d]);
    int n = mesh_list_set(at->draw->plan->mesh, both, atom);
    return n > 0 ? at->draw->plan->mesh->atoms[atom[0]].axis : -1;
}

static void draw_dim_line(const SpacePicture *at, const Held *h, int box, int j, int d)
{
    DiagramLine line =
        h->input ? draw_new_line(LINE_DIM, box, at->box) : draw_new_line(LINE_DIM, at->box, box);
    const char *here = arena_printf(at->arena, "d%d:%s", d, h->input ? "s" : "n");
    const char *there = arena_printf(at->arena, h->input ? "t%d:n" : "b%d:s", j);

    line.from_port = h->input ? here : there;
    line.to_port = h->input ? there : here;
    line.axis = cut_axis(at, h, j, d);
    draw_line(at->draw, line);
}

static void draw_dim_lines(const SpacePicture *at, const Held *h, int box)
{
    int n = 0;

    for (int d = 0; h->sharding && d < h->sharding->n_dims; d++)
        for (int j = 0; j < at->space->n_index; j++)
            if (!h->operand->ignored && !at->space->no_rule &&
                h->operand->projection.row[d].coef[j] != 0) {
                draw_dim_line(at, h, box, j, d);
                n++;
            }
    if (n == 0) /* keeps it above or below */
        draw_line(at->draw, h->input ? draw_new_line(LINE_ORDER, box, at->box)
                                     : draw_new_line(LINE_ORDER, at->box, box));
}

/* From the sharded index dims that are summed over to the output that is partial because of
 * them. */
static void draw_sum_lines(const SpacePicture *at, const Held *h, int box)
{
    AtomSet partial = h->input ? 0 : partial_over(h);

    for (int j = 0; j < at->space->n_index; j++) {
        if (at->space->index[j].role != ROLE_REDUCE || !(cut_atoms(&at->cut->index[j]) & partial))
            continue;
        DiagramLine line = draw_new_line(LINE_VALUE, at->box, box);
        line.partial = true;
        line.from_port = arena_printf(at->arena, "b%d:s", j);
        line.to_port = "sum:n";
        draw_line(at->draw, line);
    }
}

/* A bias is sharded like the weight beside it, which has the picture. */
static bool is_bias(const SpacePicture *at, const Held *h)
{
    return h->input && h->sharding->n_dims < 2 &&
           tensor_is_parameter(at->draw->plan->inferred, h->tensor);
}

/* "weight", "Gemm out": the name of a tensor without the modules before it. */
static const char *last_name(const SpacePicture *at, int32_t tensor)
{
    Str name = label_tensor(at->draw->session, at->arena, tensor), rest = name;

    while (rest.n > 0) {
        char c = rest.s[0];
        rest = (Str){rest.s + 1, rest.n - 1};
        if ((c == '.' || c == '/') && rest.n > 0 && !str_eq(rest, STR("out")))
            name = rest;
    }
    return arena_str(at->arena, name);
}

static void draw_picture(const SpacePicture *at, const Held *h, int box)
{
    const Plan *plan = at->draw->plan;
    SubMesh part = plan->decided->submeshes[plan_devices(plan, at->op)];

    if (at->draw->request->width > 0) /* in a column of a page they are a drawing of their own */
        return;
    if (!h->sharding || !(sharding_atoms(h->sharding) | sharding_partials(h->sharding)) ||
        is_bias(at, h))
        return;
    Parts parts = {.slices = slices_of(h->sharding, plan->mesh, part)};
    parts.alone = submesh_size(plan->mesh, part) > PICTURES_MOST_DEVICES;
    DiagramBox picture =
        diagram_box(BOX_TABLE, arena_printf(at->arena, "parts of %s", last_name(at, h->tensor)));
    parts_picture(at->arena, &parts, &picture);
    int n = draw_box(at->draw, picture);
    draw_line(at->draw,
              h->input ? draw_new_line(LINE_ORDER, n, box) : draw_new_line(LINE_ORDER, box, n));
}

static void draw_operand(const SpacePicture *at, int o)
{
    Held h = held(at, o);
    bool parameter = tensor_is_parameter(at->draw->plan->inferred, h.tensor);
    DiagramBox box = diagram_box(parameter ? BOX_PARAMETER : BOX_OUTSIDE, "");
    int n_dims = h.sharding ? (int)h.sharding->n_dims : 1;
    Cells cells = cells_new(at->arena, 1 + n_dims + (partial_over(&h) != 0));

    if (h.input)
        put_input(at, &h, &cells);
    else
        put_output(at, &h, &cells);
    cells_give(&cells, &box);
    box.why = tensor_name(at->draw->graph, h.tensor);
    int n = draw_box(at->draw, box);
    draw_dim_lines(at, &h, n);
    draw_sum_lines(at, &h, n);
    draw_picture(at, &h, n);
}

/* ---- the whole drawing ---- */

static void put_sums(const SpacePicture *at, Buf *out)
{
    const Plan *plan = at->draw->plan;
    const Graph *graph = at->draw->graph;

    for (int j = 0; j < at->space->n_index; j++) {
        AtomSet atoms = cut_atoms(&at->cut->index[j]);
        if (at->space->index[j].role != ROLE_REDUCE || !atoms)
            continue;
        buf_printf(out, "\nsharding %s by ", index_name(at, j));
        mesh_format_set(plan->mesh, atoms, ".", out);
        buf_puts(out, " leaves the result partial");
        const Reshard *reshard = summed_by(at, op_outputs(graph, at->op)[0], atoms);
        if (!reshard)
            continue;
        buf_puts(out, ": summed by ");
        reshard_format_steps(reshard->path, plan->mesh, out);
        buf_puts(out, ", ");
        units_format_us(reshard->path->us, out);
    }
}

/* "b s k+, k+ n -> b s n", the fraction of it that a device computes, and which outputs are
 * partial. */
static Text caption(const SpacePicture *at)
{
    Buf text = buf_marked(at->arena);
    const char *between = "";

    if (at->space->no_rule)
        return text_from(label_no_rule(at->draw->session, at->op));
    opspace_format(at->space, &text);
    buf_printf(&text, "\n%s: ", label_operator(at->draw->graph, at->op));
    units_format_us(at->draw->plan->priced->op_us[at->op], &text);
    buf_puts(&text, ", ");
    units_format_flops(op_flops_local(at->draw->plan, at->op), &text);
    buf_puts(&text, " on a device, which computes ");
    for (int j = 0; j < at->space->n_index; j++) {
        if (cut_is_whole(&at->cut->index[j]))
            continue;
        buf_printf(&text, "%s%s of %s (%" PRId64 ")", between, share_text(at, &at->cut->index[j]),
                   index_name(at, j), at->space->index[j].size);
        between = ", ";
    }
    buf_puts(&text, *between ? "" : "all of it: no index dim is sharded");
    put_sums(at, &text);
    return buf_text(&text);
}

bool draw_index_space(Draw *draw, Error *err)
{
    int operand[OPERANDS_SHOWN];

    if (!parts_need(draw, true, err))
        return false;
    int32_t op = draw_find_op(draw, draw->request->of, err);
    if (op < 0)
        return false;
    SpacePicture at = {.draw = draw, .arena = draw->arena, .op = op};
    at.space = program_space(draw->plan->inferred, op);
    at.cut = program_cut(draw->plan, op);
    at.box = index_box(&at);
    int n = parts_operands(draw, op, operand, OPERANDS_SHOWN);
    for (int i = 0; i < n; i++)
        draw_operand(&at, operand[i]);
    draw->diagram->title = arena_str(draw->arena, label_op(draw->session, draw->arena, op));
    draw->diagram->caption = caption(&at);
    return true;
}
