#include "tui/views/op_lists.h"

#include "core/summary/ranges.h"
#include "tui/views/label.h"

#include <inttypes.h>

OperandAt op_operand_at(const Ui *ui, int32_t op, int i)
{
    const Graph *graph = ui_graph(ui);
    const GraphOp *node = &graph->ops[op];

    if (i < node->n_inputs)
        return (OperandAt){true, op_inputs(graph, op)[i],
                           ui_plan(ui)->moved->need[node->input + i]};
    int32_t tensor = op_outputs(graph, op)[i - node->n_inputs];
    return (OperandAt){false, tensor, tensor < 0 ? -1 : ui_plan(ui)->moved->made[tensor]};
}

int op_n_operands(const Ui *ui, int32_t op)
{
    return ui_graph(ui)->ops[op].n_inputs + ui_graph(ui)->ops[op].n_outputs;
}

static void format_cut(const Ui *ui, const Cut *cut, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    int n = cut_list_atoms(cut, atom);

    if (n == 0) {
        buf_putc(out, '-');
        return;
    }
    mesh_format_atoms(ui->session->mesh, atom, n, ".", out);
    if (cut->n > 1) {
        buf_puts(out, "  ");
        cut_format(cut, ui->session->mesh, out);
    }
}

/* Columns of the list of index dims: the narrow form fits into 40. */
typedef struct {
    int name, size, role, cut, local;
} IndexColumns;

static IndexColumns index_columns(int w)
{
    return w < 52   ? (IndexColumns){5, 6, 7, 11, 6}
           : w < 71 ? (IndexColumns){7, 8, 8, 14, 8}
                    : (IndexColumns){7, 8, 8, 22, 8};
}

static void draw_index_head(const IndexColumns *at, Pen *pen)
{
    draw_field(pen, " INDEX", 2 + at->name);
    pen_right(pen, ROLE_HEAD, STR("size"), at->size);
    pen_puts(pen, ROLE_HEAD, "  ");
    draw_field(pen, "role", at->role);
    draw_field(pen, "sharded by", at->cut);
    pen_right(pen, ROLE_HEAD, STR("local"), at->local);
    pen_line(pen);
}

static void draw_index_dim(const Ui *ui, const OpSpace *space, const OpCut *cuts, int i,
                           const IndexColumns *at, Pen *pen)
{
    const IndexDim *index = &space->index[i];
    const Cut *cut = &cuts->index[i];
    Buf text = buf_marked(ui->frame), local = buf_new(ui->frame);

    pen_tab(pen, 2);
    pen_fit(pen, ROLE_TEXT, str_from(index->name), at->name);
    pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%lld", (long long)index->size)),
              at->size);
    pen_tab(pen, pen->x + 2);
    pen_fit(pen, index->role == ROLE_MAP ? ROLE_TEXT : ROLE_HEAD, str_from(role_name(index->role)),
            at->role);
    format_cut(ui, cut, &text);
    pen_text(pen, buf_text(&text), -1, at->cut);
    buf_printf(&local, "%lld", (long long)cut_local_size(cut, ui->session->mesh, ui->rank));
    pen_right(pen, ROLE_TEXT, buf_str(&local), at->local);
    if (index->role == ROLE_REDUCE && !cut_is_whole(cut)) {
        int room = pen->area.w - pen->x;
        if (room >= 11)
            pen_puts(pen, ROLE_TEXT, room < 18 ? "  → partial" : "  → output partial");
        if (pen->area.w - pen->x > 12) {
            Buf over = buf_marked(ui->frame);
            buf_puts(&over, " over ");
            mesh_format_set(ui->session->mesh, cut_atoms(cut), ".", &over);
            pen_text(pen, buf_text(&over), -1, -1);
        }
    }
}

/* ---- operands ---- */

static bool is_separator(char c)
{
    return c == '.' || c == '/';
}

/* What a name adds to where the op is: "weight" beside "h.0.mlp.c_proj/Gemm". */
static Str beside(Str name, Str op)
{
    size_t n = 0;

    for (size_t i = 0; i < name.n && i < op.n; i++) {
        bool ends = is_separator(name.s[i]) && is_separator(op.s[i]);
        if (!ends && name.s[i] != op.s[i])
            break;
        n = ends ? i + 1 : n;
    }
    return (Str){name.s + n, name.n - n};
}

OtherEnd op_other_end(const Ui *ui, const OperandAt *operand)
{
    const Graph *graph = ui_graph(ui);
    int32_t maker = graph->tensors[operand->tensor].maker;
    Str here = label_op(ui->session, ui->frame, ui->at.op);

    if (operand->input && maker >= 0 && !inferred_is_host(ui->session->inferred, maker))
        return (OtherEnd){.arrow = "◂",
                          .name = beside(label_op(ui->session, ui->frame, maker), here)};
    if (operand->input)
        return (OtherEnd){.arrow = "◂",
                          .name = str_from(label_tensor_kind(ui->session, operand->tensor)),
                          .kind = true};
    int n = tensor_n_uses(graph, operand->tensor);
    if (n == 0)
        return (OtherEnd){.arrow = "▸", .name = STR("output")};
    int32_t user = graph->uses[graph->tensors[operand->tensor].use];
    return (OtherEnd){
        .arrow = "▸", .name = beside(label_op(ui->session, ui->frame, user), here), .more = n - 1};
}

void op_format_other_end(const OtherEnd *end, Buf *out)
{
    buf_printf(out, "%s %.*s", end->arrow, STR_ARG(end->name));
    if (end->more > 0)
        buf_printf(out, " +%d", end->more);
}

/* Columns of the list of operands; 0: left out. */
typedef struct {
    int name, shape, dtype, local, bytes, other;
} OperandColumns;

static OperandColumns operand_columns(int w)
{
    OperandColumns at = {.shape = w < 52 ? w / 2 : w < 76 ? 17 : 21, .bytes = w < 52 ? 0 : 10};
    int left = w - 6 - at.shape - at.bytes;

    if (w >= 76) {
        at.dtype = 6;
        at.local = w < 100 ? 13 : 20;
        left -= at.dtype + at.local;
    }
    at.name = w < 52 ? left : left / 2;
    at.other = w < 52 ? 0 : left - at.name;
    return at;
}

static void draw_operand_head(const OperandColumns *at, Pen *pen)
{
    draw_field(pen, " OPERANDS", 6 + at->name);
    draw_field(pen, "shape/axis", at->shape);
    draw_field(pen, "dtype", at->dtype);
    draw_field(pen, "local", at->local);
    pen_right(pen, ROLE_HEAD, at->bytes ? STR("/device") : STR(""), at->bytes);
    draw_field(pen, "   other end", at->other);
    pen_line(pen);
}

static Str format_local(const Ui *ui, const OperandAt *operand)
{
    Buf text = buf_new(ui->frame);
    Shape local;

    if (operand->sharding >= 0) {
        sharding_local_shape(shardings_at(ui_plan(ui)->shardings, operand->sharding),
                             ui->session->mesh, ui->rank, &local);
        shape_format(&local, &text);
    }
    return buf_str(&text);
}

enum { TWO_ENDS_LEAST = 6 }; /* columns: narrower names keep their end alone */

static void draw_operand(const Ui *ui, const OperandAt *operand, const OperandColumns *at, Pen *pen)
{
    Buf more = buf_new(ui->frame);
    OtherEnd end = op_other_end(ui, operand);
    Str label = beside(label_tensor(ui->session, ui->frame, operand->tensor),
                       label_op(ui->session, ui->frame, ui->at.op));
    bool moved = operand->input && operand->sharding >= 0 &&
                 operand->sharding != ui_plan(ui)->moved->sharding[operand->tensor];
    int dim = operand->tensor == ui->at.tensor ? ui->at.dim : -1;
    Dtype dtype = (Dtype)ui->session->inferred->dtype[operand->tensor];

    pen_puts(pen, ROLE_HEAD, operand->input ? " in  " : " out ");
    pen_fit_name(pen, ROLE_TEXT, label, at->name);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_text(pen, label_value(ui, operand->tensor, operand->sharding), dim, at->shape - 1);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_DIM, str_from(dtype_name(dtype)), at->dtype);
    pen_fit(pen, ROLE_TEXT, format_local(ui, operand), at->local);
    if (at->other == 0)
        return;
    pen_right(pen, ROLE_TEXT,
              operand->sharding < 0 ? STR("")
                                    : label_bytes(ui, plan_local_bytes(ui_plan(ui), operand->tensor,
                                                                       operand->sharding)),
              at->bytes);
    pen_puts(pen, moved ? ROLE_NOTE : ROLE_TEXT, moved ? " * " : "   ");
    int columns = text_columns(end.name);
    if (!end.kind || columns + 2 <= pen->area.w - pen->x) /* a kind is not cut like a name */
        pen_printf(pen, ROLE_DIM, "%s ", end.arrow);
    if (end.more > 0)
        buf_printf(&more, " +%d", end.more);
    int room = pen->area.w - pen->x - text_columns(buf_str(&more));
    if (room < TWO_ENDS_LEAST)
        pen_fit_tail(pen, ROLE_DIM, end.name, columns < room ? columns : room);
    else
        pen_fit_name(pen, ROLE_DIM, end.name, columns < room ? columns : room);
    pen_put(pen, ROLE_DIM, buf_str(&more));
}

void op_draw_indexes(const Ui *ui, int32_t op, Pen *pen, int *selected)
{
    const OpSpace *space = program_space(ui->session->inferred, op);
    IndexColumns at = index_columns(pen->area.w);

    if (space->n_index > 0)
        draw_index_head(&at, pen);
    for (int i = 0; i < space->n_index; i++) {
        *selected = i == ui->at.item ? pen->y : *selected;
        draw_index_dim(ui, space, plan_cut(ui_plan(ui), op), i, &at, pen);
        pen_line(pen);
    }
}

void op_draw_operands(const Ui *ui, int32_t op, int first, Pen *pen, int *selected)
{
    OperandColumns at = operand_columns(pen->area.w);

    draw_operand_head(&at, pen);
    for (int i = 0; i < op_n_operands(ui, op); i++) {
        OperandAt operand = op_operand_at(ui, op, i);
        if (operand.tensor < 0)
            continue;
        *selected = first + i == ui->at.item ? pen->y : *selected;
        draw_operand(ui, &operand, &at, pen);
        pen_line(pen);
    }
}

/* ---- ranges ---- */

enum {
    RANGE_NAME_W = 14,
    COUNT_W = 15,
    WASTE_W = 8,
    COUNTS_FROM = 90,       /* columns */
    RANKS_SEARCHED = 1 << 8 /* on larger meshes the rank that wastes most is not looked for */
};

typedef struct {
    int touches, counts;
} RangeColumns;

static RangeColumns range_columns(const Pen *pen)
{
    RangeColumns at = {.counts = pen->area.w >= COUNTS_FROM ? COUNT_W : 0};
    int left = pen->area.w - 6 - RANGE_NAME_W - 2 * at.counts - WASTE_W;
    enum { TOUCHES_MOST = 40 };
    at.touches = left > TOUCHES_MOST ? TOUCHES_MOST : left;
    return at;
}

static Str count_text(const Ui *ui, int64_t n)
{
    return str_from(arena_printf(ui->frame, "%" PRId64, n));
}

static Str percent(const Ui *ui, double waste)
{
    return str_from(waste > 0 ? arena_printf(ui->frame, "%.1f%%", 100 * waste) : "-");
}

static void draw_range_head(const Ui *ui, const RangeColumns *at, Pen *pen)
{
    int64_t device = mesh_device(ui->session->mesh, ui->rank);

    pen_fit(pen, ROLE_HEAD, str_from(arena_printf(ui->frame, " RANGES of d%" PRId64, device)),
            5 + RANGE_NAME_W);
    pen_rune(pen, ROLE_HEAD, ' ');
    pen_fit(pen, ROLE_HEAD, STR("TOUCHES"), at->touches);
    pen_right(pen, ROLE_HEAD, STR("ELEMENTS"), at->counts);
    pen_right(pen, ROLE_HEAD, STR("HOLDS"), at->counts);
    pen_right(pen, ROLE_HEAD, STR("WASTE"), WASTE_W);
    pen_line(pen);
}

static Str name_of(const Ui *ui, const OperandAt *operand)
{
    return beside(label_tensor(ui->session, ui->frame, operand->tensor),
                  label_op(ui->session, ui->frame, ui->at.op));
}

static void draw_range(const Ui *ui, const OperandAt *operand, const OperandRange *range,
                       const RangeColumns *at, Pen *pen)
{
    double waste = operand_range_waste(range);
    Buf touches = buf_new(ui->frame);

    operand_range_format(range, &touches);
    pen_puts(pen, ROLE_HEAD, operand->input ? " in  " : " out ");
    pen_fit_name(pen, ROLE_TEXT, name_of(ui, operand), RANGE_NAME_W);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_TEXT, buf_str(&touches), at->touches);
    if (at->counts) {
        pen_right(pen, ROLE_DIM, count_text(ui, range->touched), at->counts);
        pen_right(pen, ROLE_DIM, count_text(ui, range->held), at->counts);
    }
    pen_right(pen, waste > 0 ? ROLE_NOTE : ROLE_DIM, percent(ui, waste), WASTE_W);
    pen_line(pen);
}

/* The rank that holds most in vain of an operand, if that is more than on the selected rank. */
static void draw_worst(const Ui *ui, int32_t op, int n_operands, double here, Pen *pen)
{
    const Mesh *mesh = ui->session->mesh;
    double most = here;
    int64_t worst = -1;
    int operand = -1;

    for (int64_t position = 0; mesh->n_devices <= RANKS_SEARCHED && position < mesh->n_devices;
         position++)
        for (int i = 0; i < n_operands; i++) {
            OperandRange range;
            if (!operand_range(ui_plan(ui), op, i, position, &range) ||
                operand_range_waste(&range) <= most)
                continue;
            most = operand_range_waste(&range);
            worst = position;
            operand = i;
        }
    if (worst < 0)
        return;
    OperandAt at = op_operand_at(ui, op, operand);
    int64_t device = mesh_device(mesh, worst);
    pen_printf(pen, ROLE_DIM, "   most waste: %.*s of %.*s on d%" PRId64 " (:rank %" PRId64 ")",
               STR_ARG(percent(ui, most)), STR_ARG(name_of(ui, &at)), device, device);
    pen_line(pen);
}

void op_draw_ranges(const Ui *ui, int32_t op, Pen *pen)
{
    const RangeColumns at = range_columns(pen);
    int n = op_n_operands(ui, op), n_drawn = 0;
    double waste = 0;

    for (int i = 0; i < n; i++) {
        OperandAt operand = op_operand_at(ui, op, i);
        OperandRange range;
        if (operand.tensor < 0 || !operand_range(ui_plan(ui), op, i, ui->rank, &range))
            continue;
        if (n_drawn++ == 0)
            draw_range_head(ui, &at, pen);
        draw_range(ui, &operand, &range, &at, pen);
        if (operand_range_waste(&range) > waste)
            waste = operand_range_waste(&range);
    }
    if (n_drawn > 0)
        draw_worst(ui, op, n, waste, pen);
}

void op_draw_range(const Ui *ui, int32_t op, int i, Pen *pen)
{
    OperandRange range;
    Buf touches = buf_new(ui->frame);

    if (i < 0 || i >= op_n_operands(ui, op) || op_operand_at(ui, op, i).tensor < 0 ||
        !operand_range(ui_plan(ui), op, i, ui->rank, &range))
        return;
    double waste = operand_range_waste(&range);
    operand_range_format(&range, &touches);
    pen_printf(pen, ROLE_DIM, "     d%" PRId64 " touches %s",
               mesh_device(ui->session->mesh, ui->rank), touches.s);
    if (waste > 0)
        pen_printf(pen, ROLE_NOTE, "; %.*s of what it holds is not used",
                   STR_ARG(percent(ui, waste)));
    pen_line(pen);
}
