#include "core/explain/reason.h"
#include "core/plan/stage.h"
#include "tui/state/jobs/reasons_job.h"
#include "tui/views/label.h"
#include "tui/views/notations.h"
#include "tui/views/tensor_picture.h"
#include "tui/views/step/tensor_training.h"
#include "tui/views/rows.h"

#include <assert.h>
#include <inttypes.h>

enum { NARROW = 76, LABEL = 15, USERS_MOST = 6, NAME_LEAST = 8 };

/* ---- what it is ---- */

static void draw_name(const Ui *ui, Pen *pen)
{
    int32_t tensor = ui->at.tensor;
    Str label = str_from(naming_label(ui->session->naming, tensor));
    int room = pen->area.w - 22;

    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit_name(pen, ROLE_HEAD, label, text_columns(label) < room ? text_columns(label) : room);
    pen_printf(pen, ROLE_TEXT, "  %s %s", dtype_name((Dtype)ui->session->inferred->dtype[tensor]),
               label_tensor_kind(ui->session, tensor));
    pen_line(pen);
}

static void draw_shape(const Ui *ui, const char *label, const Shape *shape, int64_t bytes, Pen *pen)
{
    Buf text = buf_new(ui->frame);

    shape_format(shape, &text);
    pen_puts(pen, ROLE_HEAD, label);
    pen_printf(pen, ROLE_TEXT, " %s %.*s", text.n ? text.s : "scalar",
               STR_ARG(label_bytes(ui, bytes)));
}

/* Global and local shape with their bytes, how many hold the same, even or not. */
static void draw_sizes(const Ui *ui, const Slices *slices, int32_t id, Pen *pen)
{
    int32_t tensor = ui->at.tensor;
    Dtype dtype = (Dtype)ui->session->inferred->dtype[tensor];
    int64_t elements =
        sharding_local_elements(slices->sharding, slices->mesh, slices_twin(slices, ui->rank));
    Shape local;

    sharding_local_shape(slices->sharding, slices->mesh, slices_twin(slices, ui->rank), &local);
    draw_shape(ui, " GLOBAL", inferred_shape(ui->session->inferred, tensor),
               inferred_bytes(ui->session->inferred, tensor), pen);
    if (pen->area.w < NARROW)
        pen_line(pen);
    draw_shape(ui, pen->x ? "   LOCAL" : " LOCAL", &local, dtype_bytes(dtype, elements), pen);
    if (slices->n_addends > 1)
        pen_printf(pen, ROLE_TEXT, "  addends %" PRId64, slices->n_addends);
    if (slices->n_copies > 1)
        pen_printf(pen, ROLE_TEXT, "  copies %" PRId64, slices->n_copies);
    if (slices->uneven)
        pen_puts(pen, ROLE_NOTE, "  uneven ~");
    else if (slices->cuts)
        pen_puts(pen, ROLE_TEXT, "  even");
    if (slices->strided)
        pen_puts(pen, ROLE_TEXT, "  strided '");
    if (id != ui_plan(ui)->moved->sharding[tensor]) {
        pen_puts(pen, ROLE_NOTE, "  then ");
        pen_text(pen, label_sharding(ui, ui_plan(ui)->moved->sharding[tensor]), -1, -1);
    }
    pen_line(pen);
}

/* The notations of a value, and of its gradient or the value of that beside them. */
typedef struct {
    int n, n_pair; /* n_pair 0: none, or no room for it */
    TensorNotation own[TENSOR_NOTATIONS_MAX], pair[TENSOR_NOTATIONS_MAX];
    const char *pair_name; /* "gradient" */
    int pair_at;           /* the column where it stands */
} NotationPairs;

enum { PAIR_NAME_W = 10, PAIR_LEAST_W = 20 };

/* The pair stands behind all notations but the widest, which is alone on its line. */
static NotationPairs notation_pairs(const Ui *ui, int w)
{
    int32_t tensor = ui->at.tensor, other = tensor_counterpart(ui, tensor);
    NotationPairs pairs = {.n = tensor_notations(ui, tensor, pairs.own)};
    int most = 0, second = 0;

    for (int i = 0; i < pairs.n; i++) {
        int columns = pairs.own[i].held ? text_columns(pairs.own[i].text.str) : 0;
        second = columns > most ? most : columns > second ? columns : second;
        most = columns > most ? columns : most;
    }
    pairs.pair_at = 1 + LABEL + second + 2;
    pairs.pair_name =
        ui_graph(ui)->phase && ui_graph(ui)->gradient_of[tensor] >= 0 ? "value" : "gradient";
    if (other >= 0 && w - pairs.pair_at >= PAIR_NAME_W + PAIR_LEAST_W)
        pairs.n_pair = tensor_notations(ui, other, pairs.pair);
    return pairs;
}

static void draw_pair(const NotationPairs *pairs, int i, Pen *pen)
{
    if (i >= pairs->n_pair || pen->x > pairs->pair_at)
        return;
    pen_tab(pen, pairs->pair_at);
    pen_fit(pen, ROLE_HEAD, str_from(i == 0 ? pairs->pair_name : ""), PAIR_NAME_W);
    if (pairs->pair[i].held)
        pen_text(pen, pairs->pair[i].text, -1, pen->area.w - pen->x);
    else
        pen_fit(pen, ROLE_DIM, pairs->pair[i].text.str, pen->area.w - pen->x);
}

/* The first one has the cursor's dim underlined. */
static void draw_notation(const NotationPairs *pairs, int i, int dim, Pen *pen)
{
    const TensorNotation *notation = &pairs->own[i];

    pen_rune(pen, ROLE_TEXT, ' ');
    draw_field(pen, notation->name, LABEL);
    if (!notation->held) {
        pen_fit(pen, ROLE_DIM, notation->text.str, pen->area.w - pen->x);
        pen_line(pen);
        return;
    }
    int n = text_columns(notation->text.str), room = pen->area.w - pen->x;
    pen_text(pen, notation->text, dim, n < room ? n : room);
    draw_pair(pairs, i, pen);
    if (notation->about.n > 0 && pen->x + 2 + text_columns(notation->about) < pen->area.w) {
        pen_puts(pen, ROLE_DIM, "  ");
        pen_put(pen, ROLE_DIM, notation->about);
    }
    pen_line(pen);
}

static void draw_dims(Ui *ui, const Slices *slices, Pen *pen)
{
    const Shape *shape = inferred_shape(ui->session->inferred, ui->at.tensor);

    assert(shape);
    draw_field(pen, " DIM        size  cut                 local  holds", 51);
    pen_printf(pen, ROLE_HEAD, "on d%" PRId64,
               mesh_device(slices->mesh, slices_twin(slices, ui->rank)));
    pen_line(pen);
    for (int d = 0; d < slices->sharding->n_dims; d++) {
        const Cut *cut = &slices->sharding->dim[d];
        Buf text = buf_marked(ui->frame), range = buf_new(ui->frame);
        pen_printf(pen, ROLE_TEXT, "  %d", d);
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%" PRId64, shape->dim[d])), 13);
        pen_tab(pen, 18);
        if (cut_is_whole(cut))
            buf_putc(&text, '-');
        else
            cut_format(cut, slices->mesh, &text);
        pen_text(pen, buf_text(&text), -1, 16);
        pen_right(pen, ROLE_TEXT,
                  str_from(arena_printf(
                      ui->frame, "%" PRId64,
                      cut_local_size(cut, slices->mesh, slices_twin(slices, ui->rank)))),
                  9);
        slice_range(ui->frame, slices, d, slices_twin(slices, ui->rank), 2, &range);
        pen_printf(pen, ROLE_TEXT, "  %s", range.s);
        rows_end(ui, SHOW_TENSOR, d == ui->at.dim, pen);
    }
}

/* ---- who holds it ---- */

/* "d5 (dp 1, tp 1) holds B [0:4,:,768:1536] 12.0 MiB", and below it who else does. */
static void draw_rank(const Ui *ui, const Slices *slices, bool two_lines, Pen *pen)
{
    Dtype dtype = (Dtype)ui->session->inferred->dtype[ui->at.tensor];
    int64_t elements =
        sharding_local_elements(slices->sharding, slices->mesh, slices_twin(slices, ui->rank));
    Buf text = buf_marked(ui->frame), peers = buf_new(ui->frame);

    buf_printf(&text, " d%" PRId64 " (", mesh_device(slices->mesh, slices_twin(slices, ui->rank)));
    mesh_format_coords(slices->mesh, ~0u, slices_twin(slices, ui->rank), " ", ", ", &text);
    buf_puts(&text, ") holds ");
    if (elements == 0) {
        buf_puts(&text, "nothing: its shard is empty");
    } else {
        slice_letter(slice_number(slices, slices_twin(slices, ui->rank)), &text);
        buf_puts(&text, " [");
        slice_ranges(ui->frame, slices, slices_twin(slices, ui->rank), &text);
        buf_puts(&text, "] ");
        buf_add(&text, label_bytes(ui, dtype_bytes(dtype, elements)));
    }
    Buf others = buf_new(ui->frame);
    slice_peers(slices, slices_twin(slices, ui->rank), 8, &peers);
    if (slices->n_addends > 1)
        buf_printf(&others, "partial sum %" PRId64 " of %" PRId64 "; the others on %s",
                   slice_addend(slices, slices_twin(slices, ui->rank)) + 1, slices->n_addends,
                   peers.s);
    else if (slices->n_copies > 1)
        buf_printf(&others, "the same on %s", peers.s);
    else
        buf_puts(&others, "alone");
    pen_text(pen, buf_text(&text), -1, text.n < (size_t)pen->area.w ? -1 : pen->area.w);
    if (two_lines && pen->x + (int)others.n + 2 > pen->area.w) {
        pen_line(pen);
        pen_puts(pen, ROLE_TEXT, "   ");
    } else {
        pen_puts(pen, ROLE_TEXT, "; ");
    }
    pen_fit(pen, ROLE_TEXT, buf_str(&others), pen->area.w - pen->x);
    pen_line(pen);
}

/* ---- where it comes from, where it goes ---- */

/* "in 1, as it is", "in 0, after AR tp 0.515 ms". */
static void format_reading(const Ui *ui, int32_t op, Buf *out)
{
    const Graph *graph = ui_graph(ui);
    const Plan *plan = ui_plan(ui);
    const GraphOp *node = &graph->ops[op];
    int32_t tensor = ui->at.tensor;
    int i = 0;

    while (i < node->n_inputs && op_inputs(graph, op)[i] != tensor)
        i++;
    buf_printf(out, " in %d", i);
    int32_t need = i < node->n_inputs ? plan->moved->need[node->input + i] : -1;
    if (need < 0 || need == plan->moved->sharding[tensor]) {
        buf_puts(out, " as it is");
        return;
    }
    int32_t maker = graph->tensors[tensor].maker;
    int32_t at = maker >= 0 ? maker : graph->uses[graph->tensors[tensor].use];
    for (int32_t r = ui->comm->of_op[at]; r >= 0; r = ui->comm->next[r]) {
        const Reshard *reshard = &plan->moved->reshards[r];
        if (reshard->tensor != tensor || reshard->to != need)
            continue;
        buf_puts(out, " after ");
        comm_format_steps(ui->session, reshard->path, out);
        buf_putc(out, ' ');
        buf_add(out, label_us(ui, reshard->path->us));
        return;
    }
    buf_puts(out, " as ");
    label_put_sharding(ui, need, out);
}

/* A line each as far as there are lines; the last one says how many more. */
static void draw_users(const Ui *ui, int lines, Pen *pen)
{
    const Graph *graph = ui_graph(ui);
    int n = tensor_n_uses(graph, ui->at.tensor);
    const char *label = " USED BY";

    if (n == 0) {
        draw_field(pen, label, 10);
        pen_puts(pen, ROLE_DIM, "none: it is a graph output");
        pen_line(pen);
    }
    for (int u = 0; u < n && u < lines; u++) {
        int32_t op = graph->uses[graph->tensors[ui->at.tensor].use + u];
        Str name = label_op(ui->session, ui->frame, op);
        Buf reading = buf_marked(ui->frame);
        if (!inferred_is_host(ui->session->inferred, op))
            format_reading(ui, op, &reading);
        if (u + 1 == lines && n > lines)
            buf_printf(&reading, ", +%d more", n - lines);
        draw_field(pen, label, 10);
        int room = pen->area.w - pen->x - text_columns(buf_str(&reading));
        pen_fit_name(pen, ROLE_TEXT, name, text_columns(name) < room ? text_columns(name) : room);
        pen_text(pen, buf_text(&reading), -1, pen->area.w - pen->x);
        pen_line(pen);
        label = "";
    }
}

static void draw_maker(const Ui *ui, Pen *pen)
{
    int32_t maker = ui_graph(ui)->tensors[ui->at.tensor].maker;

    Buf where = buf_marked(ui->frame);

    if (maker >= 0 && ui_plan(ui)->decided->stages) {
        buf_puts(&where, " on ");
        stage_format(ui_plan(ui), maker, &where);
    }
    draw_field(pen, " MADE BY", 10);
    int room = pen->area.w - pen->x - text_columns(buf_str(&where));
    Str name = maker >= 0 ? label_op(ui->session, ui->frame, maker) : (Str){"", 0};
    int columns = text_columns(name) < room ? text_columns(name) : room;
    if (maker >= 0)
        pen_fit_name(pen, ROLE_TEXT, name, columns > NAME_LEAST ? columns : NAME_LEAST);
    else
        pen_puts(pen, ROLE_DIM, "none: it is an input or a parameter");
    if (where.n > 0)
        pen_text(pen, buf_text(&where), -1, pen->area.w - pen->x);
    pen_line(pen);
}

/* The pin that a dim's axes go back to; NULL: none. */
static const Decision *root_of(const Ui *ui, int d)
{
    ReasonChain *chains;
    int n = why_tensor_dim(ui->frame, ui_plan(ui), ui->at.tensor, d, &chains);

    return n > 0 && chains[0].n_steps > 0 ? chains[0].step[0].pin : NULL;
}

/* The pins of the tensor; without any, the pins that its axes come from. */
static void draw_decided(const Ui *ui, const Slices *slices, Pen *pen)
{
    Buf text = buf_new(ui->frame);
    const Decision *last = NULL;
    int n = 0;

    for (int d = 0; d < slices->sharding->n_dims; d++) {
        const Decision *pin = plan_pin_of(ui_plan(ui), PIN_TENSOR_DIM, ui->at.tensor, d);
        if (pin)
            buf_printf(&text, "%sdim %d %.*s", n++ ? ", " : "", d,
                       STR_ARG(label_pin(ui->frame, pin)));
    }
    bool ready = reasons_ready(ui, ui_plan(ui));
    if (n == 0 && !ready)
        buf_puts(&text, reasons_waiting);
    for (int d = -1; n == 0 && ready && d < slices->sharding->n_dims; d++) {
        AtomSet atoms = d < 0 ? slices->partials : cut_atoms(&slices->sharding->dim[d]);
        const Decision *root = atoms ? root_of(ui, d) : NULL;
        if (!root || root == last)
            continue;
        buf_printf(&text, "%s%.*s", last ? ", " : "not pinned itself; it follows from ",
                   STR_ARG(label_pin(ui->frame, root)));
        last = root;
    }
    if (text.n == 0)
        buf_puts(&text, slices->cuts | slices->partials ? "by no pin" : "no axis reaches it");
    draw_field(pen, " DECIDED", 10);
    pen_fit(pen, ROLE_TEXT, buf_str(&text), pen->area.w - pen->x);
    pen_line(pen);
}

static void draw_ends(const Ui *ui, Pen *pen)
{
    draw_maker(ui, pen);
    draw_users(ui, USERS_MOST, pen);
}

/* A size known only at run time, and how to assume one. */
static void draw_size(const Ui *ui, int d, int64_t dim, Pen *pen)
{
    pen_printf(pen, ROLE_TEXT, "  %d", d);
    if (dim >= 0) {
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%lld", (long long)dim)), 13);
    } else {
        const Size *size = sizes_at(ui->session->inferred->sizes, dim);
        Buf name = buf_new(ui->frame);
        text_printable(str_from(size->name), &name);
        pen_tab(pen, 15);
        pen_puts(pen, ROLE_NOTE, "?");
        pen_tab(pen, 18);
        if (size->computed)
            pen_put(pen, ROLE_TEXT, buf_str(&name));
        else
            pen_printf(pen, ROLE_TEXT, "--dim '%s=SIZE'", name.s);
    }
    rows_end(ui, SHOW_TENSOR, d == ui->at.dim, pen);
}

/* A tensor without a sharding: every rank holds all of it, whatever that is. */
static void draw_unknown(const Ui *ui, Pen *pen)
{
    const Inferred *inferred = ui->session->inferred;
    const Shape *shape = inferred_sizes(inferred, ui->at.tensor);
    Buf known = buf_new(ui->frame);

    draw_name(ui, pen);
    label_put_shape(inferred, ui->at.tensor, &known);
    draw_field(pen, " global ", 8);
    pen_fit(pen, ROLE_TEXT, buf_str(&known),
            pen->area.w < NARROW ? pen->area.w - pen->x : text_columns(buf_str(&known)));
    if (pen->area.w < NARROW)
        pen_line(pen);
    pen_puts(pen, ROLE_NOTE, pen->x ? "   replicated: " : " replicated: ");
    pen_puts(pen, ROLE_NOTE,
             inferred_is_list(inferred, ui->at.tensor) ? "its elements have no shape in common"
             : shape                                   ? "sizes are not known"
                                                       : "its shape is not known");
    pen_line(pen);
    if (shape && shape->n_dims > 0) {
        draw_field(pen, " DIM        size  how to set it", 51);
        pen_line(pen);
    }
    for (int d = 0; shape && d < shape->n_dims; d++)
        draw_size(ui, d, shape->dim[d], pen);
    draw_ends(ui, pen);
}

/* ---- the whole ---- */

/* Lines of each part; the least important part loses its lines first. */
typedef struct {
    int notations, training, rank, picture, ends, decided, dims;
} TensorParts;

/* Takes up to `want` of the lines left, but not less than `least`. */
static int take(int *left, int want, int least)
{
    int n = want < *left ? want : *left;

    if (n < least)
        return 0;
    *left -= n;
    return n;
}

static TensorParts share(const Ui *ui, const TensorPicture *picture, int n_notations,
                         int n_training, int w, int h)
{
    int users = tensor_n_uses(ui_graph(ui), ui->at.tensor),
        whole = tensor_picture_lines(picture, w);
    int left = h - (w < NARROW ? 3 : 2);
    TensorParts parts = {.notations = take(&left, 1, 1)};

    parts.training = take(&left, n_training, n_training > 2 ? 2 : n_training);
    parts.rank = take(&left, h < 12 ? 1 : 2, 1);
    parts.picture = take(&left, whole < 5 ? whole : left < 12 ? 3 : 5, 1);
    parts.notations += take(&left, n_notations - 1, 1);
    parts.ends = take(&left, 2, 2);
    parts.decided = take(&left, 1, 1);
    parts.picture += take(&left, whole - parts.picture > 0 ? whole - parts.picture : 0, 1);
    parts.dims = take(&left, (int)picture->slices->sharding->n_dims + 1,
                      (int)picture->slices->sharding->n_dims + 1);
    if (parts.ends && users > 1)
        parts.ends += take(&left, users - 1 < USERS_MOST ? users - 1 : USERS_MOST, 1);
    return parts;
}

static void draw(Ui *ui, Pen *pen)
{
    int32_t id = ui->at.tensor < 0 ? -1 : ui_plan(ui)->moved->made[ui->at.tensor];

    ui->list[SHOW_TENSOR].n = 0;
    if (ui->at.tensor < 0) {
        pen_puts(pen, ROLE_DIM, " no tensor is selected");
        return;
    }
    if (id < 0) {
        draw_unknown(ui, pen);
        return;
    }
    Slices slices = slices_of_tensor(ui_plan(ui), ui->at.tensor, ui->rank);
    TensorPicture picture = tensor_picture(ui, &slices);
    TrainingLine training[TRAINING_LINES_MAX];
    int n_training = tensor_training(ui, ui->at.tensor, training);
    NotationPairs pairs = notation_pairs(ui, pen->area.w);
    TensorParts parts = share(ui, &picture, pairs.n, n_training, pen->area.w, pen->area.h);
    draw_name(ui, pen);
    draw_sizes(ui, &slices, id, pen);
    for (int i = 0; i < parts.notations; i++) {
        draw_notation(&pairs, i, i == 0 ? ui->at.dim : -1, pen);
        if (i == 0 && !parts.dims)
            rows_mark(ui, SHOW_TENSOR, pen, pen->y - 1);
    }
    for (int i = 0; i < parts.training; i++) {
        pen_rune(pen, ROLE_TEXT, ' ');
        draw_field(pen, training[i].name, LABEL);
        pen_text(pen, training[i].text, -1, pen->area.w - pen->x);
        pen_line(pen);
    }
    if (parts.dims)
        draw_dims(ui, &slices, pen);
    if (parts.picture)
        tensor_picture_draw(&picture, parts.picture, &ui->list[SHOW_TENSOR], pen);
    if (parts.rank)
        draw_rank(ui, &slices, parts.rank > 1, pen);
    if (parts.ends) {
        draw_maker(ui, pen);
        draw_users(ui, parts.ends - 1, pen);
    }
    if (parts.decided)
        draw_decided(ui, &slices, pen);
}

/* ---- keys ---- */

/* The next rank that holds the same slice; if no other rank does, the next rank. */
static int64_t next_holder(const Slices *slices, int64_t rank, int by)
{
    AtomSet same = submesh_free(slices->mesh, slices->part) & ~slices->cuts;
    int64_t n = mesh_atoms_size(slices->mesh, same), n_devices = slices->mesh->n_devices;

    if (n == 1)
        return (rank + by + n_devices) % n_devices;
    int64_t i = 0;
    while (mesh_group_member(slices->mesh, same, rank, i) != rank)
        i++;
    return mesh_group_member(slices->mesh, same, rank, (i + by + n) % n);
}

/* Across and down the picture; where it has no rows (no columns), through who holds the same. */
static bool move(Ui *ui, ActId act)
{
    int32_t id = ui_plan(ui)->moved->made[ui->at.tensor];
    int by = act == ACT_DOWN || act == ACT_RIGHT ? 1 : -1;
    bool down = act == ACT_DOWN || act == ACT_UP;

    if (!down && act != ACT_RIGHT && act != ACT_LEFT)
        return false;
    if (id < 0)
        return true;
    Slices slices = slices_of_tensor(ui_plan(ui), ui->at.tensor, ui->rank);
    TensorPicture picture = tensor_picture(ui, &slices);
    int64_t to = -1;
    if (down ? picture.row_dim >= 0 : picture.column_dim >= 0)
        to = tensor_picture_step(&picture, down ? by : 0, down ? 0 : by);
    else
        to = next_holder(&slices, slices_twin(&slices, ui->rank), by);
    if (to >= 0)
        ui->rank = to;
    return true;
}

static bool act(Ui *ui, ActId act)
{
    const Shape *shape =
        ui->at.tensor < 0 ? NULL : inferred_sizes(ui->session->inferred, ui->at.tensor);

    if (!shape)
        return false;
    if (move(ui, act))
        return true;
    if (act == ACT_TOP || act == ACT_BOTTOM)
        ui->rank = act == ACT_TOP ? 0 : ui->session->mesh->n_devices - 1;
    else if (act == ACT_OPEN && ui_graph(ui)->tensors[ui->at.tensor].maker >= 0)
        ui_show(ui, SHOW_OP);
    else
        return false;
    return true;
}

static void note(Ui *ui, Buf *out)
{
    if (ui->at.tensor < 0)
        return;
    buf_puts(out, tensor_name(ui_graph(ui), ui->at.tensor));
    if (ui_plan(ui)->moved->made[ui->at.tensor] < 0)
        return;
    if (plan_sharding(ui_plan(ui), ui->at.tensor)->n_dims == 0)
        buf_puts(out, "  a scalar: no dim to pin");
    else
        buf_printf(out, "  p pins dim %d", ui->at.dim);
}

/* A row per device. */
static void table(Ui *ui, Sheet *out)
{
    int32_t id = ui->at.tensor < 0 ? -1 : ui_plan(ui)->moved->made[ui->at.tensor];

    sheet_head(out, "device# slice ranges addend# local_bytes#");
    if (id < 0)
        return;
    Slices slices = slices_of_tensor(ui_plan(ui), ui->at.tensor, ui->rank);
    Dtype dtype = (Dtype)ui->session->inferred->dtype[ui->at.tensor];
    for (int64_t at = 0; at < slices.mesh->n_devices; at++) {
        if (!submesh_has(slices.mesh, slices.part, at))
            continue;
        Buf letter = buf_new(out->arena), ranges = buf_new(out->arena);
        slice_letter(slice_number(&slices, at), &letter);
        slice_ranges(out->arena, &slices, at, &ranges);
        sheet_number(out, (double)mesh_device(slices.mesh, at));
        sheet_put(out, buf_str(&letter));
        sheet_put(out, buf_str(&ranges));
        sheet_number(out, slices.n_addends > 1 ? (double)slice_addend(&slices, at) + 1 : 0);
        sheet_number(out, (double)dtype_bytes(dtype, slice_elements(&slices, at)));
    }
}

static const Hint hints[] = {
    {ACT_RIGHT, "slice"},     {ACT_DOWN, "row"},
    {ACT_DIM_NEXT, "dim"},    {ACT_SHOW_MESH, "mesh"},
    {ACT_CONSUMER, "user"},   {ACT_WHY, "why"},
    {ACT_WHY_NOT, "why not"}, {ACT_PIN, "pin"},
    {ACT_PRODUCER, "maker"},  {ACT_RESHARD, "reshard"},
    {ACT_BACK, "back"},       {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},     {0},
};

const View view_tensor = {
    .name = "Tensor",
    .draw = draw,
    .act = act,
    .note = note,
    .list_at = -1,
    .hints = hints,
    .table = table,
};
