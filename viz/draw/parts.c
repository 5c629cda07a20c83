#include "viz/draw/parts.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- cells ---- */

Cells cells_new(Arena *arena, int n_columns)
{
    return (Cells){.arena = arena, .n_columns = n_columns};
}

void cells_put_cell(Cells *cells, DiagramCell cell)
{
    vec_push(cells->arena, &cells->at, cell);
}

void cells_put(Cells *cells, CellLook look, const char *text)
{
    cells_put_cell(cells, (DiagramCell){.text = text_from(text), .look = look});
}

void cells_put_text(Cells *cells, Text text)
{
    cells_put_cell(cells, (DiagramCell){.text = text});
}

void cells_put_row(Cells *cells, CellLook look, Text text)
{
    cells_put_cell(cells, (DiagramCell){.text = text, .look = look, .columns = cells->n_columns});
}

void cells_give(const Cells *cells, DiagramBox *box)
{
    box->n_columns = cells->n_columns;
    box->n_cells = cells->at.n;
    box->cells = cells->at.at;
}

/* ---- holders ---- */

void parts_put_holders(const Slices *slices, AtomSet atoms, int64_t position, int most, Buf *out)
{
    int64_t n = mesh_atoms_size(slices->mesh, atoms), shown = n <= most + 1 ? n : most;

    for (int64_t i = 0; i < shown; i++) {
        int64_t holder = mesh_group_member(slices->mesh, atoms, position, i);
        buf_printf(out, "%sd%" PRId64, i ? " " : "", mesh_device(slices->mesh, holder));
    }
    if (n > shown)
        buf_printf(out, " +%" PRId64, n - shown);
}

static AtomSet copies(const Slices *slices)
{
    return submesh_free(slices->mesh, slices->part) & ~slices->cuts & ~slices->partials;
}

PartRows part_rows(Arena *arena, const Slices *slices)
{
    PartRows rows = {.n_all = submesh_size(slices->mesh, slices->part)};
    AtomSet atoms = submesh_free(slices->mesh, slices->part);

    rows.folded = rows.n_all > PART_ROWS_MAX;
    if (rows.folded) {
        atoms &= ~copies(slices);
        rows.n_all = slices->n_slices * slices->n_addends;
    }
    rows.n = rows.n_all > PART_ROWS_MAX ? PART_ROWS_MAX - 1 : rows.n_all;
    rows.position = arena_array(arena, int64_t, rows.n);
    int64_t first = submesh_position(slices->mesh, slices->part, 0);
    for (int64_t i = 0; i < rows.n; i++)
        rows.position[i] = mesh_group_member(slices->mesh, atoms, first, i);
    return rows;
}

const char *parts_dim_name(Arena *arena, const Parts *parts, int d)
{
    return parts->names ? parts->names[d] : arena_printf(arena, "dim %d", d);
}

/* ---- the picture ---- */

enum { STRIPS_MAX = 12, RUNS_SHOWN = 24, HOLDERS_MAX = 4, ADDENDS_MAX = 4 };

/* A row or a column of the picture: a contiguous run of the dim, or one shard of it. */
typedef struct {
    int64_t start, part;
    const char *range;
    bool left_out; /* a placeholder for those that are not shown */
} Strip;

typedef struct {
    Arena *arena;
    const Parts *parts;
    const Slices *slices; /* the shards it shows */
    int64_t first;        /* a mesh position that holds it */
    int row_dim, column_dim, n_rows, n_columns;
    Strip *row, *column;
    int marks; /* marks used in the picture, for the legend */
} Picture;

static int by_start(const void *a, const void *b)
{
    const Strip *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

static int64_t with_part(const Picture *picture, int d, int64_t part)
{
    return slice_at(picture->slices, d, part, -1, 0, picture->first);
}

/* A strip for every run if there are few, else one per shard. */
static Strip *strips_of_dim(const Picture *picture, int d, int64_t *n)
{
    const Cut *cut = &picture->slices->sharding->dim[d];
    const Mesh *mesh = picture->slices->mesh;
    int64_t parts = slice_parts(picture->slices, d), n_runs = 0;

    for (int64_t p = 0; p < parts && n_runs <= RUNS_SHOWN; p++) {
        int64_t runs = cut_n_runs(cut, mesh, with_part(picture, d, p));
        n_runs += runs > 0 ? runs : 1;
    }
    bool by_run = n_runs <= RUNS_SHOWN;
    Strip *strip = arena_array(picture->arena, Strip, by_run ? n_runs : parts);
    *n = 0;
    for (int64_t p = 0; p < parts; p++) {
        int64_t at = with_part(picture, d, p);
        Buf range = buf_new(picture->arena);
        if (!by_run || cut_n_runs(cut, mesh, at) == 0) {
            slice_range(picture->arena, picture->slices, d, at, 1, &range);
            bool empty = cut_n_runs(cut, mesh, at) == 0;
            strip[(*n)++] = (Strip){empty ? INT64_MAX : p, p, range.s, false};
            continue;
        }
        Runs runs = cut_runs(picture->arena, cut, mesh, at);
        for (int i = 0; i < runs.n; i++)
            strip[(*n)++] =
                (Strip){runs.at[i].start, p,
                        arena_printf(picture->arena, "%" PRId64 ":%" PRId64, runs.at[i].start,
                                     runs.at[i].start + runs.at[i].length),
                        false};
    }
    qsort(strip, (size_t)*n, sizeof *strip, by_start);
    return strip;
}

/* Empty shards share one strip after the others. */
static void join_empty(const Picture *picture, Strip *strip, int64_t *n)
{
    int64_t first = *n;

    while (first > 0 && strip[first - 1].start == INT64_MAX)
        first--;
    if (*n - first < 2)
        return;
    strip[first].range = arena_printf(picture->arena, "none: %" PRId64 " parts", *n - first);
    strip[first].left_out = true;
    *n = first + 1;
}

/* d -1: a picture without rows has one strip. */
static Strip *strips(const Picture *picture, int d, int *n)
{
    int64_t n_strips = 1;
    Strip *strip;

    if (d < 0) {
        strip = arena_array(picture->arena, Strip, 1);
        strip->range = "";
    } else {
        strip = strips_of_dim(picture, d, &n_strips);
        join_empty(picture, strip, &n_strips);
    }
    if (n_strips > STRIPS_MAX) {
        strip[STRIPS_MAX - 2] = (Strip){
            .range = arena_printf(picture->arena, "%" PRId64 " more", n_strips - STRIPS_MAX + 1),
            .left_out = true};
        strip[STRIPS_MAX - 1] = strip[n_strips - 1];
        n_strips = STRIPS_MAX;
    }
    *n = (int)n_strips;
    return strip;
}

static void put_addends(const Picture *picture, int64_t position, Buf *out)
{
    const Slices *slices = picture->slices;

    for (int64_t a = 0; a < slices->n_addends && a < ADDENDS_MAX; a++) {
        int64_t holder = mesh_group_member(slices->mesh, slices->partials, position, a);
        buf_printf(out, "\n\xce\xa3%" PRId64 " ", slice_addend(slices, holder) + 1);
        parts_put_holders(slices, copies(slices), holder, HOLDERS_MAX, out);
    }
    if (slices->n_addends > ADDENDS_MAX)
        buf_printf(out, "\n.. \xce\xa3%" PRId64, slices->n_addends);
}

/* ---- the shards that a shard is made from ---- */

enum { SOURCE_PARTS = 64, SOURCE_RUNS = 256, SOURCES_SHOWN = 6 };

/* Returns whether both shards have some of the same elements of dim d. */
static bool part_meets(const Picture *picture, int d, int64_t before, int64_t position)
{
    const Slices *was = picture->parts->before;
    const Mesh *mesh = picture->slices->mesh;
    Runs a = cut_runs(picture->arena, &was->sharding->dim[d], mesh, before);
    Runs b = cut_runs(picture->arena, &picture->slices->sharding->dim[d], mesh, position);

    for (int i = 0; i < a.n; i++)
        for (int j = 0; j < b.n; j++)
            if (a.at[i].start < b.at[j].start + b.at[j].length &&
                b.at[j].start < a.at[i].start + a.at[i].length)
                return true;
    return false;
}

/* The earlier shards of dim d that the one at this position is made from. Returns false if there
 * are too many to search. */
static bool find_sources(const Picture *picture, int d, int64_t position, int64_t *part, int64_t *n)
{
    const Slices *was = picture->parts->before;
    const Mesh *mesh = picture->slices->mesh;
    int64_t first = submesh_position(mesh, was->part, 0);

    *n = 0;
    if (slice_parts(was, d) > SOURCE_PARTS ||
        cut_n_runs(&was->sharding->dim[d], mesh, first) > SOURCE_RUNS ||
        cut_n_runs(&picture->slices->sharding->dim[d], mesh, position) > SOURCE_RUNS)
        return false;
    for (int64_t p = 0; p < slice_parts(was, d); p++)
        if (part_meets(picture, d, slice_at(was, d, p, -1, 0, first), position))
            part[(*n)++] = p;
    return true;
}

/* "of A B C D", "sum of A": the line of a cell that names its sources. */
static void put_sources(const Picture *picture, int64_t position, Buf *out)
{
    const Slices *was = picture->parts->before;
    int64_t part[DIMS_MAX][SOURCE_PARTS], n[DIMS_MAX], all = 1;
    int n_dims = (int)was->sharding->n_dims;

    for (int d = 0; d < n_dims; d++) {
        if (!find_sources(picture, d, position, part[d], &n[d]))
            return;
        all *= n[d];
    }
    buf_puts(out, was->n_addends > picture->slices->n_addends ? "\nsum of" : "\nof");
    for (int64_t i = 0; i < all && i < SOURCES_SHOWN; i++) {
        int64_t number = 0, rest = all, at = i;
        for (int d = 0; d < n_dims; d++) {
            rest /= n[d];
            number = number * slice_parts(was, d) + part[d][at / rest];
            at %= rest;
        }
        buf_putc(out, ' ');
        slice_letter(number, out);
    }
    if (all > SOURCES_SHOWN)
        buf_printf(out, " +%" PRId64, all - SOURCES_SHOWN);
}

static DiagramCell cell_of(Picture *picture, const Strip *row, const Strip *column)
{
    const Slices *slices = picture->slices;
    int64_t at = slice_at(slices, picture->row_dim, row->part, picture->column_dim, column->part,
                          picture->first);
    int marks = slice_marks(slices, at);
    Buf text = buf_new(picture->arena);

    if (row->left_out || column->left_out)
        return (DiagramCell){.text = text_from(".."), .look = CELL_FAINT};
    picture->marks |= marks;
    if (marks & MARK_EMPTY)
        buf_puts(&text, "\xc2\xb7");
    else
        slice_letter(slice_number(slices, at), &text);
    buf_puts(&text, marks & MARK_STRIDED ? "'" : "");
    buf_puts(&text, marks & MARK_SHORT ? "~" : "");
    buf_puts(&text, marks & MARK_COPY ? "=" : "");
    if (marks & MARK_ADDEND && !picture->parts->alone) {
        put_addends(picture, at, &text);
    } else if (!picture->parts->alone) {
        buf_puts(&text, "\n");
        parts_put_holders(slices, copies(slices), at, HOLDERS_MAX, &text);
    } else if (marks & MARK_ADDEND) {
        buf_puts(&text, "\xce\xa3");
    }
    if (picture->parts->before && !(marks & MARK_EMPTY))
        put_sources(picture, at, &text);
    return (DiagramCell){.text = buf_text(&text),
                         .shade = marks & MARK_EMPTY ? 0 : (int)(slice_number(slices, at) % 8) + 1};
}

/* "down dim 0: 8/dp, across dim 2: 768/tp": which dims the picture shows, and what it leaves
 * out. */
static void put_head(const Picture *picture, Cells *cells)
{
    const Slices *slices = picture->slices;
    const int dims[] = {picture->row_dim, picture->column_dim};
    static const char *const ways[] = {"down \xe2\x86\x93 ", "across \xe2\x86\x92 "};
    Buf text = buf_marked(picture->arena);

    for (int i = 0; i < 2; i++) {
        if (dims[i] < 0)
            continue;
        buf_printf(&text, "%s%s%s: ", text.n ? "\n" : "", ways[i],
                   parts_dim_name(picture->arena, picture->parts, dims[i]));
        cut_format(&slices->sharding->dim[dims[i]], slices->mesh, &text);
    }
    for (int d = 0; d < slices->sharding->n_dims; d++) {
        if (d == dims[0] || d == dims[1] || slice_parts(slices, d) < 2)
            continue;
        buf_printf(&text,
                   "\nfirst shard of %s: ", parts_dim_name(picture->arena, picture->parts, d));
        cut_format(&slices->sharding->dim[d], slices->mesh, &text);
    }
    if (text.n == 0)
        buf_puts(&text, picture->parts->work    ? "every device computes all of it"
                        : slices->n_addends > 1 ? "no dim is sharded"
                                                : "whole on every device");
    cells_put_row(cells, CELL_PLAIN, buf_text(&text));
}

/* The meaning of the marks that are used. */
static void put_marks(const Picture *picture, Cells *cells)
{
    const struct {
        int mark;
        const char *means;
    } rows[] = {
        {MARK_COPY, picture->parts->work ? "=  the same on each" : "=  equal bytes on each"},
        {MARK_STRIDED, "'  in pieces"},
        {MARK_SHORT, "~  smaller than A"},
        {MARK_EMPTY, "\xc2\xb7  empty shard"}};
    Buf text = buf_new(picture->arena);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (picture->marks & rows[i].mark)
            buf_printf(&text, "%s%s", text.n ? "\n" : "", rows[i].means);
    if (picture->marks & MARK_ADDEND)
        buf_printf(&text,
                   "%s\xce\xa3"
                   "1 .. \xce\xa3%" PRId64 "  addends: to be summed",
                   text.n ? "\n" : "", picture->slices->n_addends);
    if (text.n > 0)
        cells_put_row(cells, CELL_FAINT, text_from(text.s));
}

static void choose_dims(Picture *picture)
{
    const Slices *slices = picture->slices;

    picture->row_dim = picture->column_dim = -1;
    for (int d = 0; d < slices->sharding->n_dims; d++)
        if (slice_parts(slices, d) > 1)
            picture->column_dim = d;
    for (int d = picture->column_dim; d-- > 0;)
        if (slice_parts(slices, d) > 1)
            picture->row_dim = d;
}

void parts_picture(Arena *arena, const Parts *parts, DiagramBox *box)
{
    Picture picture = {.arena = arena, .parts = parts, .slices = &parts->slices};

    picture.first = submesh_position(parts->slices.mesh, parts->slices.part, 0);
    choose_dims(&picture);
    picture.row = strips(&picture, picture.row_dim, &picture.n_rows);
    picture.column = strips(&picture, picture.column_dim, &picture.n_columns);
    bool headed = picture.row_dim >= 0;
    Cells cells = cells_new(arena, picture.n_columns + headed);
    put_head(&picture, &cells);
    if (headed)
        cells_put(&cells, CELL_HEAD, "");
    for (int c = 0; picture.column_dim >= 0 && c < picture.n_columns; c++)
        cells_put(&cells, CELL_HEAD, picture.column[c].range);
    for (int r = 0; r < picture.n_rows; r++) {
        if (headed)
            cells_put(&cells, CELL_HEAD, picture.row[r].range);
        for (int c = 0; c < picture.n_columns; c++)
            cells_put_cell(&cells, cell_of(&picture, &picture.row[r], &picture.column[c]));
    }
    put_marks(&picture, &cells);
    cells_give(&cells, box);
}

/* ---- operands of an op that are shown ---- */

int parts_operands(const Draw *draw, int32_t op, int *operand, int most)
{
    const Inferred *inferred = draw->plan->inferred;
    const OpSpace *space = program_space(inferred, op);
    const int32_t *tensors = op_inputs(draw->graph, op);
    int n = 0;

    for (int o = 0; o < space->n_inputs + space->n_outputs && n < most; o++) {
        if (tensors[o] < 0 || space->operand[o].absent)
            continue;
        Sharding sharding =
            op_cut_sharding(space, program_cut(draw->plan, op), o, draw->plan->mesh);
        if (!tensor_is_known(inferred, tensors[o]) || sharding_atoms(&sharding) != 0)
            operand[n++] = o;
    }
    return n;
}

Box parts_index_box(Arena *arena, const OpSpace *space, const OpCut *cut, const Mesh *mesh,
                    int64_t position)
{
    Box box = {.n = space->n_index};

    for (int j = 0; j < box.n; j++) {
        const Cut *at = &cut->index[j];
        bool whole = cut_is_whole(at) || cut_n_runs(at, mesh, position) > RUNS_MAX;
        Runs runs = whole ? (Runs){0} : cut_runs(arena, at, mesh, position);
        box.hi[j] = space->index[j].size;
        if (whole)
            continue;
        box.lo[j] = runs.n ? runs.at[0].start : 0;
        box.hi[j] = runs.n ? runs.at[runs.n - 1].start + runs.at[runs.n - 1].length : 0;
    }
    return box;
}

/* ---- kinds that need a subject ---- */

/* The largest sharded parameter, else the first tensor with a sharding. */
static int32_t example_tensor(const Draw *draw)
{
    int32_t best = -1;
    int64_t most = 0;

    for (int32_t t = 0; t < draw->graph->n_tensors; t++) {
        if (draw->plan->moved->sharding[t] < 0 || tensor_is_known(draw->plan->inferred, t))
            continue;
        bool cut = tensor_is_parameter(draw->plan->inferred, t) &&
                   sharding_atoms(plan_sharding(draw->plan, t)) != 0;
        int64_t bytes = cut ? inferred_bytes(draw->plan->inferred, t) : 0;
        if (best >= 0 && bytes <= most)
            continue;
        best = t;
        most = bytes;
    }
    return best;
}

/* The op with the most flops. */
static int32_t example_op(const Draw *draw)
{
    const Inferred *inferred = draw->plan->inferred;
    int32_t best = -1;

    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (best < 0 || program_space(inferred, op)->flops > program_space(inferred, best)->flops)
            best = op;
    }
    return best;
}

bool parts_need(const Draw *draw, bool op, Error *err)
{
    const DiagramKindRow *row = diagram_kind(draw->request->kind);
    int32_t example = op ? example_op(draw) : example_tensor(draw);

    if (draw->request->of)
        return true;
    error_kind(err, ERROR_USAGE, "--kind %s needs the name of one %s", row->name,
               op ? "op" : "tensor");
    if (example >= 0)
        error_hint(err, "for example: --kind %s '%s'", row->name,
                   op ? op_name(draw->graph, example)
                      : naming_label(draw->session->naming, example));
    return false;
}
