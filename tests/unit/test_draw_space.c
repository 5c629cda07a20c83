/* Drawings of one op, one tensor, one move, one chain: what they say is what the plan says. */
#include "core/peers/propagators.h"
#include "tests/unit/model_text.h"
#include "tests/unit/opened.h"
#include "tests/unit/owned.h"

#include "core/base/file.h"
#include "core/summary/comm.h"
#include "core/explain/why_reshard.h"
#include "core/summary/label.h"
#include "viz/dot.h"
#include "viz/draw/parts.h"

#include <stdio.h>

typedef struct {
    const char *name, *model, *mesh, *policy;
    const Propagator *propagator;
} SampleRow;

static SampleRow samples[] = {
    {"tiny-gpt, data and tensor", "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua",
     &propagator_explain},
    {"tiny-gpt, sequence", "tiny-gpt", "dp=2,tp=4", "megatron_sp", &propagator_explain},
    {"tiny-gpt, stages", "tiny-gpt", "pp=2,dp=2,tp=2", "hybrid3d", &propagator_explain},
    {"tiny-gpt, one device", "tiny-gpt", "dp=1,tp=1", "tests/policies/megatron.lua",
     &propagator_explain},
    {"llama-tiny, data and tensor", "llama-tiny", "dp=2,tp=2", "tests/policies/megatron.lua",
     &propagator_explain},
    {"llama-tiny, stored", "llama-tiny", "dp=8", "fsdp", &propagator_explain},
    {"llama-tiny, 1024 devices", "llama-tiny", "dp=16,tp=64", "tests/policies/megatron.lua",
     &propagator_explain},
    {"tiny-conv, data", "tiny-conv", "dp=2", "dp", &propagator_explain},
    {"tiny-conv, stored unevenly", "tiny-conv", "dp=5", "fsdp", &propagator_explain},
    {"tiny-conv, moved in two steps", "tiny-conv", "dp=4,cp=2,ep=2,tp=2", "fsdp",
     &propagator_explain},
    {"tiny-conv, tensor", "tiny-conv", "dp=2,tp=3", "tp", &propagator_explain},
    {"tiny-gpt, as Shardy", "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua",
     &propagator_shardy},
    {"tiny-gpt, as Paddle", "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua",
     &propagator_spmd},
    {"llama-tiny, as torch", "llama-tiny", "dp=2,tp=2", "tests/policies/megatron.lua",
     &propagator_torch},
    {"tiny-conv, as veScale", "tiny-conv", "dp=2,tp=2", "tp", &propagator_vescale},
};

static Opened open_with(const char *model, const char *mesh, const char *policy,
                        const Propagator *propagator)
{
    Arena *arena = arena_new();
    return open_in(arena,
                   &(SessionOptions){.model = arena_printf(arena, "samples/models/%s.onnx", model),
                                     .mesh = mesh,
                                     .policy = policy,
                                     .propagator = propagator});
}

static Opened open_row(const SampleRow *row)
{
    return open_with(row->model, row->mesh, row->policy, row->propagator);
}

static Diagram *draw(Arena *arena, const Session *session, DiagramKind kind, const char *of,
                     Error *err)
{
    DiagramRequest request = {.session = session, .kind = kind, .of = of};
    return diagram_make(arena, &request, err);
}

static Diagram *must_draw(Arena *arena, const Session *session, DiagramKind kind, const char *of)
{
    Error err = {0};
    Diagram *diagram = draw(arena, session, kind, of, &err);
    if (!diagram)
        fail_msg("%s of %s: %s", diagram_kind(kind)->name, of, err.text);
    assert(diagram);
    return diagram;
}

/* ---- pictures of parts ---- */

static const DiagramCell *cell_at(const DiagramBox *box, int row, int column)
{
    int r = 0, c = 0;
    for (int i = 0; i < box->n_cells; i++) {
        if (r == row && c == column)
            return &box->cells[i];
        c += box->cells[i].columns > 1 ? box->cells[i].columns : 1;
        r += c >= box->n_columns;
        c = c >= box->n_columns ? 0 : c;
    }
    return NULL;
}

/* "0:192" */
static bool read_range(const char *text, int64_t *from, int64_t *to)
{
    char *end;
    *from = strtoll(text, &end, 10);
    if (end == text || *end != ':')
        return false;
    *to = strtoll(end + 1, &end, 10);
    return *end == '\0';
}

/* The picture's dims: the last that is cut across, the first other one down; -1. */
static void picture_dims(const Slices *slices, int *down, int *across)
{
    *down = *across = -1;
    for (int d = 0; d < slices->sharding->n_dims; d++)
        *across = slice_parts(slices, d) > 1 ? d : *across;
    for (int d = *across; d-- > 0;)
        *down = slice_parts(slices, d) > 1 ? d : *down;
}

static int64_t position_of(const Mesh *mesh, int64_t device)
{
    for (int64_t p = 0; p < mesh->n_devices; p++)
        if (mesh_device(mesh, p) == device)
            return p;
    fail_msg("no device %lld", (long long)device);
    return -1;
}

static void owns_range(const Slices *slices, int d, const char *range, int64_t position)
{
    int64_t from, to;
    if (d < 0 || !read_range(range, &from, &to))
        return; /* a part of more runs than a picture has columns */
    const Cut *cut = &slices->sharding->dim[d];
    assert_true(rank_owns(cut, slices->mesh, position, from));
    assert_true(rank_owns(cut, slices->mesh, position, (from + to) / 2));
    assert_true(rank_owns(cut, slices->mesh, position, to - 1));
    assert_true(from == 0 || !rank_owns(cut, slices->mesh, position, from - 1));
    assert_true(to == cut_size(cut) || !rank_owns(cut, slices->mesh, position, to));
}

/* Every device in a cell owns the range of its row and that of its column, and no more there. */
static int check_picture(const DiagramBox *box, const Slices *slices)
{
    int down, across, n = 0;
    picture_dims(slices, &down, &across);
    int first_row = 1 + (across >= 0), first_column = down >= 0;
    assert_int_equal(box->cells[0].columns, box->n_columns);
    for (int r = first_row;; r++)
        for (int c = first_column; c < box->n_columns; c++) {
            const DiagramCell *cell = cell_at(box, r, c);
            if (!cell || cell->columns > 1 || cell->look == CELL_FAINT) {
                if (!cell || (cell->look == CELL_FAINT && c == first_column &&
                              strcmp(cell->text.str.s, "..") != 0))
                    return n; /* the meaning of marks stands behind all rows */
                continue;
            }
            for (const char *at = strchr(cell->text.str.s, '\n'); at && *at; at++) {
                if (strncmp(at, "\nof ", 4) == 0 || strncmp(at, "\nsum of ", 8) == 0)
                    break;
                if (*at != 'd')
                    continue;
                int64_t position = position_of(slices->mesh, strtoll(at + 1, NULL, 10));
                bool empty = strncmp(cell->text.str.s, "\xc2\xb7", 2) == 0;
                assert_true(submesh_has(slices->mesh, slices->part, position));
                assert_true(empty == (slice_elements(slices, position) == 0));
                if (!empty && across >= 0)
                    owns_range(slices, across, cell_at(box, 1, c)->text.str.s, position);
                if (!empty && down >= 0)
                    owns_range(slices, down, cell_at(box, r, 0)->text.str.s, position);
                n++;
            }
        }
}

/* The ranges of a cell, "0:192+768:960": their sum. -1: not all are said. */
static int64_t ranges_size(const char *text)
{
    int64_t sum = 0;
    if (strstr(text, "more") || strstr(text, "pieces"))
        return -1;
    if (strcmp(text, "none") == 0)
        return 0;
    for (const char *at = text; *at;) {
        char *end;
        int64_t from = strtoll(at, &end, 10);
        assert_int_equal(*end, ':');
        sum += strtoll(end + 1, &end, 10) - from;
        at = *end == '+' ? end + 1 : end;
    }
    return sum;
}

/* Row by row: ranges and shape of that device are what the arithmetic of cuts says. */
static void check_table(Arena *arena, const DiagramBox *box, const Slices *slices)
{
    int n_dims = (int)slices->sharding->n_dims;
    for (int r = 1;; r++) {
        const DiagramCell *device = cell_at(box, r, 0);
        if (!device || device->columns > 1)
            return;
        assert_int_equal(device->text.str.s[0], 'd');
        int64_t position = position_of(slices->mesh, strtoll(device->text.str.s + 1, NULL, 10));
        Shape local;
        sharding_local_shape(slices->sharding, slices->mesh, position, &local);
        for (int d = 0; d < n_dims; d++) {
            int64_t size = ranges_size(cell_at(box, r, 2 + d)->text.str.s);
            if (size >= 0)
                assert_int_equal(size, local.dim[d]);
        }
        Buf shape = buf_new(arena);
        shape_format(&local, &shape);
        assert_string_equal(cell_at(box, r, 2 + n_dims)->text.str.s, shape.s);
    }
}

static void slices_are_those_of_the_cuts(void **state)
{
    Opened f = open_row(*state);
    const Plan *plan = f.session->plan;
    int64_t held = 0;
    for (int32_t t = 0; t < f.session->graph->n_tensors; t++) {
        if (plan->moved->made[t] < 0)
            continue;
        Arena *scratch = arena_new();
        Diagram *diagram =
            must_draw(scratch, f.session, DIAGRAM_SLICES, tensor_name(f.session->graph, t));
        Slices slices = slices_of_tensor(plan, t, 0);
        held += check_picture(&diagram->boxes[0], &slices);
        check_table(scratch, &diagram->boxes[1], &slices);
        arena_free(scratch);
    }
    assert_true(held > 0);
    close_opened(&f);
}

/* ---- lines of an op's index dims ---- */

static int expected_lines(const Plan *plan, int32_t op, int operand)
{
    const OpSpace *space = program_space(plan->inferred, op);
    const Operand *at = &space->operand[operand];
    int n = 0;
    if (at->ignored || space->no_rule ||
        inferred_shape(plan->inferred, op_inputs(plan->inferred->graph, op)[operand]) == NULL)
        return 0;
    for (int d = 0; d < at->shape.n_dims; d++)
        for (int j = 0; j < space->n_index; j++)
            n += at->projection.row[d].coef[j] != 0;
    return n;
}

/* The index dim and the dim that the ports of a line name. */
static void check_line(const Plan *plan, int32_t op, const int *operand, const DiagramLine *line,
                       const int *operand_of_box)
{
    const OpSpace *space = program_space(plan->inferred, op);
    bool input = line->to == 0;
    int o = operand[operand_of_box[input ? line->from : line->to]];
    int j = atoi((input ? line->to_port : line->from_port) + 1);
    int d = atoi((input ? line->from_port : line->to_port) + 1);
    const Operand *at = &space->operand[o];
    assert_int_equal(input, o < space->n_inputs);
    assert_true(at->projection.row[d].coef[j] != 0);
    Sharding sharding = op_cut_sharding(space, program_cut(plan, op), o, plan->mesh);
    AtomSet both = cut_atoms(&program_cut(plan, op)->index[j]) & cut_atoms(&sharding.dim[d]);
    assert_int_equal(line->axis >= 0, both != 0);
    if (both)
        assert_true(mesh_axis_atoms(plan->mesh, line->axis) & both);
}

static void lines_of_an_op_are_its_projections(void **state)
{
    Opened f = open_row(*state);
    const Plan *plan = f.session->plan;
    for (int i = 0; i < plan->inferred->n_program; i++) {
        enum { MOST = 10 };
        int32_t op = plan->inferred->program[i];
        Arena *scratch = arena_new();
        Diagram *diagram = must_draw(scratch, f.session, DIAGRAM_OP, op_name(f.session->graph, op));
        Draw made = {
            .arena = scratch, .session = f.session, .plan = plan, .graph = f.session->graph};
        int operand[MOST], n = parts_operands(&made, op, operand, MOST), expected = 0, lines = 0;
        int *of_box = arena_array(scratch, int, diagram->n_boxes);
        for (int o = 0, box = 1; o < n; o++, box++) {
            while (diagram->boxes[box].look == BOX_TABLE) /* the picture of the one before */
                box++;
            of_box[box] = o;
            expected += expected_lines(plan, op, operand[o]);
        }
        for (int l = 0; l < diagram->n_lines; l++) {
            if (diagram->lines[l].look != LINE_DIM)
                continue;
            check_line(plan, op, operand, &diagram->lines[l], of_box);
            lines++;
        }
        assert_int_equal(lines, expected);
        arena_free(scratch);
    }
    close_opened(&f);
}

/* ---- moves ---- */

static const DiagramBox *state_after(const Diagram *diagram, int i)
{
    for (int b = 0; b < diagram->n_boxes; b++)
        if (diagram->boxes[b].look == BOX_TABLE && i-- == -1)
            return &diagram->boxes[b];
    fail_msg("a state is not drawn");
    abort();
}

/* Part `number` before a step has an element in common with what the rank has after it. */
static bool had_of_it(const Slices *was, int64_t number, const Slices *is, int64_t position)
{
    int64_t before = -1;
    for (int64_t p = 0; p < was->mesh->n_devices && before < 0; p++)
        if (submesh_has(was->mesh, was->part, p) && slice_number(was, p) == number)
            before = p;
    for (int d = 0; d < is->sharding->n_dims; d++) {
        bool common = false;
        for (int64_t e = 0; e < cut_size(&is->sharding->dim[d]) && !common; e++)
            common = rank_owns(&was->sharding->dim[d], was->mesh, before, e) &&
                     rank_owns(&is->sharding->dim[d], is->mesh, position, e);
        if (!common)
            return false;
    }
    return true;
}

/* The letters behind "of": those parts, and where all are said no others. */
static void check_sources(Arena *arena, const DiagramBox *box, const Slices *was, const Slices *is)
{
    for (int c = 0; c < box->n_cells; c++) {
        const char *of = strstr(box->cells[c].text.str.s, "of "),
                   *device = strpbrk(box->cells[c].text.str.s, "\n");
        while (device && !(*device == 'd' && is_digit(device[1])))
            device = *device ? device + 1 : NULL;
        if (!of || !device || strchr(of, '+') || box->cells[c].columns > 1)
            continue;
        int64_t position = position_of(is->mesh, strtoll(device + 1, NULL, 10));
        for (int64_t number = 0; number < was->n_slices; number++) {
            Buf letter = buf_new(arena), words = buf_new(arena);
            slice_letter(number, &letter);
            buf_puts(&words, of + 3);
            assert_int_equal(str_has_word(buf_str(&words), buf_str(&letter)),
                             had_of_it(was, number, is, position));
        }
    }
}

static void a_move_shows_what_ranks_hold_between(void **state)
{
    Opened f = open_row(*state);
    const Plan *plan = f.session->plan;
    ReshardIndex index = reshard_index(f.arena, plan);
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        if (index.first[reshard->tensor] != r || index.next[r] >= 0)
            continue; /* drawn beside others */
        Arena *scratch = arena_new();
        Diagram *diagram = must_draw(scratch, f.session, DIAGRAM_RESHARD,
                                     tensor_name(f.session->graph, reshard->tensor));
        int moved = 0;
        Slices was = {0};
        for (int i = -1; i < reshard->path->n_steps; i++) {
            int32_t id = i < 0 ? reshard->from : reshard->path->step[i].to;
            int devices = i < 0 ? reshard->from_devices : reshard_step_devices(reshard, i);
            const Sharding *sharding = shardings_at(plan->shardings, id);
            Slices slices = slices_of(sharding, plan->mesh, plan->decided->submeshes[devices]);
            Buf text = buf_new(scratch);
            sharding_format(sharding, plan->mesh, VIEW_OURS, &text, NULL);
            assert_string_equal(state_after(diagram, i)->flow.str.s, text.s);
            check_picture(state_after(diagram, i), &slices);
            if (i >= 0 && was.n_slices <= 64)
                check_sources(scratch, state_after(diagram, i), &was, &slices);
            was = slices;
            moved += i >= 0 && reshard->path->step[i].kind != STEP_SLICE;
        }
        for (int l = 0; l < diagram->n_lines; l++)
            moved -= diagram->lines[l].look == LINE_MOVED;
        assert_int_equal(moved, 0);
        arena_free(scratch);
    }
    close_opened(&f);
}

/* ---- causes ---- */

/* Whether lines of that axis lead from a cause to the box in n steps. */
static bool leads(const Diagram *diagram, int box, int axis, int n, const char *port)
{
    if (n == 0)
        return diagram->boxes[box].look == BOX_CAUSE;
    for (int l = 0; l < diagram->n_lines; l++) {
        const DiagramLine *line = &diagram->lines[l];
        if (line->look == LINE_CAUSE && line->to == box && line->axis == axis &&
            (!port || (line->to_port && strcmp(line->to_port, port) == 0)) &&
            leads(diagram, line->from, axis, n - 1, NULL))
            return true;
    }
    return false;
}

static void causes_are_the_chains_of_why(void **state)
{
    Opened f = open_row(*state);
    const Plan *plan = f.session->plan;
    for (int32_t t = 0; t < f.session->graph->n_tensors; t++) {
        Arena *scratch = arena_new();
        Diagram *diagram =
            must_draw(scratch, f.session, DIAGRAM_WHY, tensor_name(f.session->graph, t));
        int n_dims = plan->moved->sharding[t] < 0 ? -1 : (int)plan_sharding(plan, t)->n_dims;
        for (int d = -1; d < n_dims; d++) {
            ReasonChain *chains;
            int n = why_tensor_dim(scratch, plan, t, d, &chains);
            const char *port = d < 0 ? "sum:n" : arena_printf(scratch, "d%d:n", d);
            for (int i = 0; i < n; i++)
                if (chains[i].n_steps <= 25 && chains[i].n_left_out == 0)
                    assert_true(leads(diagram, 0, chains[i].axis, chains[i].n_steps, port));
        }
        arena_free(scratch);
    }
    close_opened(&f);
}

/* dp and tp cut the same dim: what gathers tp is there because of the line about tp. */
static void a_move_is_because_of_the_axis_it_moves(void **state)
{
    (void)state;
    Opened f = open_with("tiny-gpt", "dp=2,tp=4", "megatron_sp", &propagator_explain);
    const Plan *plan = f.session->plan;
    int checked = 0;
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const ReshardPath *path = plan->moved->reshards[r].path;
        const Decision *pin = comm_cause(f.arena, f.session, &plan->moved->reshards[r]);
        if (!pin || path->n_steps != 1 || path->step[0].atoms != mesh_axis_atoms(plan->mesh, 1))
            continue;
        assert_non_null(strstr(pin->origin.text, "tp"));
        checked++;
    }
    assert_true(checked > 0);
    close_opened(&f);
}

#define LAYERS(body)                                                                               \
    "function MODEL(model, config)\n"                                                              \
    "  local x = model:input('x', 'f32', {4, 8})\n"                                                \
    "  for i = 0, 19 do x = model:module('h.' .. i, function() " body " end) end\n"                \
    "  model:output(x, 'y')\n"                                                                     \
    "end\n"

/* Two ops of one operator in a layer are one layer, too. */
static void equal_layers_of_a_long_chain_are_folded(void **state)
{
    (void)state;
    static const struct {
        const char *model, *folded;
        int n_ops;
    } rows[] = {
        {LAYERS("return model:op('Neg', {model:op('Exp', {model:op('Relu', {x})})})"), "54 ops", 3},
        {LAYERS("return model:op('Relu', {model:op('Relu', {x})})"), "36 ops", 2},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        OpenedText o = model_text_open(rows[i].model, "", "dp=2", "dp");
        if (!o.session)
            fail_msg("%s", o.err.text);
        Diagram *diagram = must_draw(o.arena, o.session, DIAGRAM_WHY, "y.0");
        int folds = 0;
        for (int b = 0; b < diagram->n_boxes; b++)
            if (diagram->boxes[b].look == BOX_GROUP) {
                folds++;
                assert_string_equal(diagram->boxes[b].title, ".. 18 more equal layers ..");
                assert_string_equal(diagram->boxes[b].subtitle, rows[i].folded);
            }
        assert_int_equal(folds, 1); /* beside it y, the pin, the first and the last layer */
        assert_int_equal(diagram->n_boxes, 3 + 2 * rows[i].n_ops);
        model_text_close(&o);
    }
}

/* ---- all of everything ---- */

static void draw_all_of(const Session *session, DiagramKind kind, const char *of)
{
    Arena *scratch = arena_new();
    Error err = {0};
    Buf text = buf_new(scratch);
    Diagram *diagram = draw(scratch, session, kind, of, &err);
    if (!diagram && (kind != DIAGRAM_RESHARD || err.kind != ERROR_UNSUPPORTED))
        fail_msg("%s of %s: %s", diagram_kind(kind)->name, of, err.text);
    assert_true(!diagram || dot_write(diagram, session->mesh, &text, &err));
    for (int b = 0; diagram && b < diagram->n_boxes; b++) {
        int cells = 0;
        for (int c = 0; c < diagram->boxes[b].n_cells; c++)
            cells +=
                diagram->boxes[b].cells[c].columns > 1 ? diagram->boxes[b].cells[c].columns : 1;
        if (diagram->boxes[b].n_columns > 0) /* no row is left open */
            assert_int_equal(cells % diagram->boxes[b].n_columns, 0);
    }
    arena_free(scratch);
}

static void all_tensors_and_ops_can_be_drawn(void **state)
{
    Opened f = open_row(*state);
    const Graph *graph = f.session->graph;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        draw_all_of(f.session, DIAGRAM_SLICES, tensor_name(graph, t));
        draw_all_of(f.session, DIAGRAM_WHY, tensor_name(graph, t));
        draw_all_of(f.session, DIAGRAM_RESHARD, tensor_name(graph, t));
    }
    for (int i = 0; i < f.session->inferred->n_program; i++) {
        const char *op = op_name(graph, f.session->inferred->program[i]);
        draw_all_of(f.session, DIAGRAM_OP, op);
        draw_all_of(f.session, DIAGRAM_SLICES, op);
    }
    close_opened(&f);
}

/* ---- what a request may name ---- */

static void the_hint_names_what_can_be_drawn(void **state)
{
    (void)state;
    static const DiagramKind kinds[] = {DIAGRAM_OP, DIAGRAM_SLICES, DIAGRAM_WHY};
    Opened f =
        open_with("tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua", &propagator_explain);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        Error err = {0};
        assert_null(draw(f.arena, f.session, kinds[i], NULL, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        const char *from = strchr(err.hint, '\''), *to = strrchr(err.hint, '\'');
        assert_true(from && to > from);
        must_draw(f.arena, f.session, kinds[i],
                  arena_str(f.arena, (Str){from + 1, (size_t)(to - from - 1)}));
    }
    Error err = {0};
    assert_null(draw(f.arena, f.session, DIAGRAM_WHY, "no such tensor", &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    close_opened(&f);
}

/* What stands in a drawing as a name can be asked for. */
static void labels_can_be_asked_for(void **state)
{
    Opened f = open_row(*state);
    for (int i = 0; i < f.session->inferred->n_program; i++) {
        int32_t op = f.session->inferred->program[i];
        Str label = label_op(f.session, f.arena, op);
        Diagram *diagram = must_draw(f.arena, f.session, DIAGRAM_OP, arena_str(f.arena, label));
        assert_string_equal(diagram->title, arena_str(f.arena, label));
    }
    close_opened(&f);
}

static void nothing_to_move_is_said(void **state)
{
    (void)state;
    Opened f = open_with("tiny-gpt", "dp=2", "dp", &propagator_explain);
    Error err = {0};
    assert_null(draw(f.arena, f.session, DIAGRAM_RESHARD, NULL, &err));
    assert_int_equal(err.kind, ERROR_UNSUPPORTED);
    close_opened(&f);
}

/* ---- odd tensors, odd names ---- */

#define MODEL(body) "function MODEL(model, config)\n" body "\nend\n"
#define HOSTILE "a\"b\\<i>&amp;]]>{|}%n\\n\\l"

typedef struct {
    const char *name, *model, *dims, *mesh, *policy;
} OddRow;

static OddRow odd[] = {
    {"rank 8",
     MODEL("local x = model:input('x', 'f32', {2, 3, 2, 1, 2, 2, 4, 2})\n"
           "model:output(model:op('Transpose', {x}, {perm = {7,6,5,4,3,2,1,0}}), 'y')"),
     "", "dp=2", "dp"},
    {"rank 0",
     MODEL("local x = model:input('x', 'f32', {})\n"
           "model:output(model:op('Add', {x, model:param('w', {})}), 'y')"),
     "", "dp=2,tp=2", "tests/policies/megatron.lua"},
    {"sum to a scalar",
     MODEL("local x = model:input('x', 'f32', {4, 4})\n"
           "model:output(model:op('ReduceSum', {x}, {keepdims = 0}), 'y')"),
     "", "dp=4", "dp"},
    {"no elements",
     MODEL("local x = model:input('x', 'f32', {0, 4})\n"
           "model:output(model:op('Relu', {x}), 'y')"),
     "", "dp=4", "dp"},
    {"sizes known only at run time",
     MODEL("local x = model:input('x', 'f32', {4, 4})\n"
           "local n = model:op('NonZero', {x})\n"
           "model:output(model:op('Cast', {n}, {to = 1}), 'y')"),
     "", "dp=2", "dp"},
    {"sequences",
     MODEL("local x = model:input('x', 'f32', {4, 4})\n"
           "local s = model:op('SequenceConstruct', {x, x})\n"
           "model:output(model:op('SequenceAt', {s, model:constant('i', 'i64', {}, {0})}), 'y')"),
     "", "dp=2", "dp"},
    {"hostile names",
     MODEL("local x = model:input([==[" HOSTILE "]==], 'f32', {4, 8})\n"
           "local y = model:module([==[" HOSTILE "]==], function()\n"
           "  return model:op('MatMul', {x, model:param('\\u{202e}w', {8, 6})}) end)\n"
           "model:output(model:op('Relu', {y}), string.rep('long', 100))"),
     "", "dp=2", "dp"},
    {"one device of one axis",
     MODEL("local x = model:input('x', 'f32', {4, 8})\n"
           "model:output(model:op('Softmax', {x}), 'y')"),
     "", "dp=1", "dp"},
};

/* Graphviz answers a line for each box. */
static void graphviz_reads(const Session *session, DiagramKind kind, const char *of)
{
    Arena *scratch = arena_new();
    Error err = {0};
    Buf text = buf_new(scratch);
    Diagram *diagram = draw(scratch, session, kind, of, &err);
    if (!diagram && kind == DIAGRAM_RESHARD && err.kind == ERROR_UNSUPPORTED) {
        arena_free(scratch);
        return;
    }
    if (!diagram)
        fail_msg("%s of %s: %s", diagram_kind(kind)->name, of, err.text);
    assert(diagram);
    char path[] = "/tmp/dimscope-space-XXXXXX", line[4096];
    int fd = mkstemp(path), boxes = 0;
    assert_true(fd >= 0 && close(fd) == 0);
    assert_true(dot_write(diagram, session->mesh, &text, &err));
    assert_true(file_write(path, buf_str(&text), &err));
    FILE *plain = popen(arena_printf(scratch, "dot -Tplain %s", path), "r");
    while (fgets(line, sizeof line, plain))
        boxes += strncmp(line, "node ", 5) == 0;
    assert_int_equal(pclose(plain), 0);
    assert_int_equal(boxes, diagram->n_boxes + 1); /* and the legend */
    unlink(path);
    arena_free(scratch);
}

static void odd_models_are_drawn(void **state)
{
    const OddRow *row = *state;
    OpenedText o = model_text_open(row->model, row->dims, row->mesh, row->policy);
    if (!o.session)
        fail_msg("%s", o.err.text);
    const Graph *graph = o.session->graph;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        graphviz_reads(o.session, DIAGRAM_SLICES, tensor_name(graph, t));
        graphviz_reads(o.session, DIAGRAM_WHY, tensor_name(graph, t));
        graphviz_reads(o.session, DIAGRAM_RESHARD, tensor_name(graph, t));
    }
    for (int i = 0; i < o.session->inferred->n_program; i++) {
        graphviz_reads(o.session, DIAGRAM_OP, op_name(graph, o.session->inferred->program[i]));
        graphviz_reads(o.session, DIAGRAM_SLICES, op_name(graph, o.session->inferred->program[i]));
    }
    model_text_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_is_because_of_the_axis_it_moves),
        cmocka_unit_test(equal_layers_of_a_long_chain_are_folded),
        cmocka_unit_test(the_hint_names_what_can_be_drawn),
        cmocka_unit_test(nothing_to_move_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("slices", samples, slices_are_those_of_the_cuts) +
           run_rows("projections", samples, lines_of_an_op_are_its_projections) +
           run_rows("moves", samples, a_move_shows_what_ranks_hold_between) +
           run_rows("causes", samples, causes_are_the_chains_of_why) +
           run_rows("labels", samples, labels_can_be_asked_for) +
           run_rows("all", samples, all_tensors_and_ops_can_be_drawn) +
           run_rows("odd", odd, odd_models_are_drawn);
}
