/* Drawings of places: devices, stages, mesh, collectives. What they say is what
 * the engine says. */
#include "core/cost/memory.h"
#include "core/cost/memory_class.h"
#include "tests/unit/opened.h"

#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/cost/op_declared.h"
#include "core/summary/slices.h"
#include "core/plan/stage.h"
#include "core/cost/pipeline.h"
#include "viz/diagram.h"
#include "viz/dot.h"
#include "viz/draw/moves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BOXES_MAX = 400, DEVICE_BOXES_MAX = 60 };

static Opened open_plan(const char *model, const char *mesh, const char *policy)
{
    return open_options(&(SessionOptions){.model = model, .mesh = mesh, .policy = policy});
}

static Diagram *draw_of(const Opened *f, DiagramKind kind, const char *of, Error *err)
{
    DiagramRequest request = {.session = f->session, .kind = kind, .of = of};
    return diagram_make(f->arena, &request, err);
}

static bool says(const DiagramBox *box, const char *text)
{
    for (int i = 0; i < box->n_cells; i++)
        if (strstr(box->cells[i].text.str.s, text))
            return true;
    return strstr(box->title, text) || strstr(box->subtitle, text) || strstr(box->figures, text);
}

static const char *bytes_text(const Opened *f, int64_t bytes)
{
    Buf text = buf_new(f->arena);
    units_format_bytes(bytes, &text);
    return text.s;
}

static const char *us_text(const Opened *f, double us)
{
    Buf text = buf_new(f->arena);
    units_format_us(us, &text);
    return text.s;
}

/* What a plan moves, in sums, is what its totals are. */
static void moves_are_the_communication_of_the_plan(void **state)
{
    (void)state;
    Opened f = open_plan("samples/models/gpt2.onnx", "dp=2,tp=4", "megatron_sp");
    Moves moves = moves_of_plan(f.arena, f.session->plan);
    assert_true(moves.at.n >= 2);
    assert_true(fabs(moves_us(&moves) - f.session->plan->priced->totals.comm_us) < 1e-6);
    close_opened(&f);
}

static void each_stage_says_the_engine_s_numbers(void **state)
{
    (void)state;
    Opened f = open_plan("samples/models/gpt2.onnx", "pp=2,dp=2,tp=2", "hybrid3d");
    const Plan *plan = f.session->plan;
    MemoryAccount *account = memory_account_new(plan);
    RankMemories ranks = memory_ranks(f.arena, account, NULL);
    Diagram *diagram = draw_of(&f, DIAGRAM_STAGE, NULL, NULL);
    assert_non_null(diagram);
    int found = 0;
    for (int s = 0; s < plan->decided->stages->n; s++) {
        const Stage *stage = &plan->decided->stages->at[s];
        const StagePrice *price = &plan->priced->pipeline->stage[s];
        const char *title = arena_printf(f.arena, "stage %d ", s);
        const RankMemory *memory =
            &ranks.at[ranks.of_rank[plan->decided->submeshes[stage->devices].first]];
        for (int i = 0; i < diagram->n_boxes; i++) {
            const DiagramBox *box = &diagram->boxes[i];
            if (box->frame < 0 ||
                !str_starts(str_from(diagram->frames[box->frame].title), str_from(title)))
                continue;
            found++;
            assert_true(says(box, us_text(&f, stage_forward_us(price))));
            assert_true(says(box, us_text(&f, stage_backward_us(price))));
            assert_true(says(box, bytes_text(&f, memory->by_class[MEMORY_PARAMETER])));
            assert_true(says(box, bytes_text(&f, memory->use.peak_bytes)));
        }
    }
    assert_int_equal(found, plan->decided->stages->n);
    memory_account_free(account);
    close_opened(&f);
}

/* Sends on lines, and among stages that are one box, are as many as the plan
 * has. */
static void every_send_of_the_plan_is_drawn(void **state)
{
    const char *const *row = *state;
    Opened f = open_plan(row[0], row[1], "hybrid3d");
    const Plan *plan = f.session->plan;
    double sends = 0;
    for (int r = 0; r < plan->moved->n_reshards; r++)
        for (int s = 0; s < plan->moved->reshards[r].path->n_steps; s++)
            if (plan->moved->reshards[r].path->step[s].kind == STEP_SEND)
                sends += reshard_repeat(plan, &plan->moved->reshards[r]);
    Diagram *diagram = draw_of(&f, DIAGRAM_STAGE, NULL, NULL);
    double drawn = 0;
    for (int i = 0; i < diagram->n_lines; i++)
        if (diagram->lines[i].look == LINE_MOVED) {
            assert_int_equal(diagram->lines[i].kind, STEP_SEND);
            drawn += strtod(diagram->lines[i].label.str.s, NULL);
        }
    for (int i = 0; i < diagram->n_boxes; i++)
        for (int c = 0; c + 1 < diagram->boxes[i].n_cells; c++)
            if (strcmp(diagram->boxes[i].cells[c].text.str.s, "between them") == 0)
                drawn += strtod(diagram->boxes[i].cells[c + 1].text.str.s, NULL);
    assert_true(sends > 0);
    assert_true(drawn == sends);
    close_opened(&f);
}

static const char *sending[][2] = {
    {"samples/models/gpt2.onnx", "pp=2,dp=2,tp=2"},
    {"samples/models/gpt2.onnx", "pp=4,dp=2"},
    {"samples/models/llama-3-70b.json", "pp=16,dp=2,tp=8"},
};

/* Cells of one letter and ground are exactly the groups of mesh_group_member().
 */
static void cells_of_the_mesh_are_the_groups(void **state)
{
    const char *const *row = *state;
    Opened f = open_plan("samples/models/tiny-gpt.onnx", row[0], NULL);
    const Mesh *mesh = f.session->mesh;
    AtomSet atoms = mesh_axis_atoms(mesh, mesh_find_axis(mesh, str_from(row[1])));
    Diagram *diagram = draw_of(&f, DIAGRAM_MESH, row[1], NULL);
    const DiagramCell **cell = arena_array(f.arena, const DiagramCell *, mesh->n_devices);
    for (int i = 0; i < diagram->n_boxes; i++)
        for (int c = 0; c < diagram->boxes[i].n_cells; c++) {
            const DiagramCell *at = &diagram->boxes[i].cells[c];
            if (at->shade > 0)
                cell[strtol(at->text.str.s + 1, NULL, 10)] = at;
        }
    for (int64_t a = 0; a < mesh->n_devices; a++)
        for (int64_t b = 0; b < mesh->n_devices; b++) {
            bool together = false;
            for (int64_t i = 0; i < mesh_atoms_size(mesh, atoms); i++)
                together |= mesh_group_member(mesh, atoms, a, i) == b;
            const DiagramCell *x = cell[mesh_device(mesh, a)], *y = cell[mesh_device(mesh, b)];
            assert_non_null(x);
            assert_int_equal(strcmp(strchr(x->text.str.s, ' '), strchr(y->text.str.s, ' ')) == 0,
                             together);
            assert_true(!together || x->shade == y->shade);
        }
    close_opened(&f);
}

static const char *meshes[][2] = {
    {"dp=2,tp=4", "tp"},           {"dp=2,tp=4", "dp"}, {"pp=2,dp=2,tp=4", "dp"},
    {"dp,tp=[[0,3],[2,1]]", "tp"}, {"dp=16", "dp"},
};

static void collectives_say_their_count_and_time(void **state)
{
    (void)state;
    Opened f = open_plan("samples/models/gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    Diagram *diagram = draw_of(&f, DIAGRAM_COMM, NULL, NULL);
    int found = 0;
    for (int i = 0; i < diagram->n_boxes; i++)
        if (strcmp(diagram->boxes[i].title, "AR tp") == 0) {
            found++;
            assert_true(says(&diagram->boxes[i], "24 per step"));
            assert_true(
                says(&diagram->boxes[i], us_text(&f, f.session->plan->priced->totals.comm_us)));
        }
    assert_int_equal(found, 1);
    close_opened(&f);
}

static void a_device_has_its_own_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"7", "d7", "dp=1,tp=3"};
    Opened f = open_plan("samples/models/gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    MemoryAccount *account = memory_account_new(f.session->plan);
    RankMemories ranks = memory_ranks(f.arena, account, NULL);
    const RankMemory *memory = &ranks.at[ranks.of_rank[7]];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        Diagram *diagram = draw_of(&f, DIAGRAM_DEVICE, names[i], NULL);
        assert_non_null(diagram);
        assert_true(says(&diagram->boxes[0], bytes_text(&f, memory->use.peak_bytes)));
        for (int class = 0; class < MEMORY_CLASS_COUNT; class ++)
            if (memory->by_class[class] > 0)
                assert_true(says(&diagram->boxes[0], bytes_text(&f, memory->by_class[class])));
    }
    memory_account_free(account);
    close_opened(&f);
}

static void what_is_not_there_has_a_hint(void **state)
{
    (void)state;
    static const struct {
        DiagramKind kind;
        const char *of;
        ErrorKind error;
    } rows[] = {
        {DIAGRAM_STAGE, NULL, ERROR_UNSUPPORTED}, {DIAGRAM_DEVICE, "99", ERROR_USAGE},
        {DIAGRAM_DEVICE, "dp=0", ERROR_USAGE},    {DIAGRAM_DEVICE, "nothing", ERROR_USAGE},
        {DIAGRAM_DEVICE, "", ERROR_USAGE},        {DIAGRAM_MESH, "xx", ERROR_USAGE},
        {DIAGRAM_MESH, "", ERROR_USAGE},          {DIAGRAM_MESH, "dp.", ERROR_USAGE},
        {DIAGRAM_MESH, "dp.dp", ERROR_USAGE},
    };
    Opened f =
        open_plan("samples/models/tiny-gpt.onnx", "dp=2,tp=2", "tests/policies/megatron.lua");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Error err = {0};
        assert_null(draw_of(&f, rows[i].kind, rows[i].of, &err));
        assert_int_equal(err.kind, rows[i].error);
        assert_true(err.hint[0] != '\0');
    }
    close_opened(&f);
}

/* Each model on one device, on a few and on 1,024: all four kinds, within the
 * number of boxes. */
static void places_of_every_model_are_drawn(void **state)
{
    const char *const *row = *state;
    static const char *const plans[][2] = {
        {"x=1", NULL},
        {"dp=2,tp=2", "tests/policies/megatron.lua"},
        {"pp=2,dp=2,tp=2", "hybrid3d"},
        {"pp=2,dp=64,tp=8", "hybrid3d"},
    };
    static const DiagramKind kinds[] = {DIAGRAM_DEVICE, DIAGRAM_STAGE, DIAGRAM_MESH, DIAGRAM_COMM};
    for (size_t p = 0; p < COUNT_OF(plans); p++) {
        bool has_no_pairs = strstr(row[0], "tiny-conv") && strstr(plans[p][0], "pp");
        Opened f = open_plan(row[0], plans[p][0], has_no_pairs ? "pipeline" : plans[p][1]);
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            Error err = {0};
            Diagram *diagram = draw_of(&f, kinds[k], NULL, &err);
            if (!diagram) {
                assert_int_equal(kinds[k], DIAGRAM_STAGE);
                assert_null(f.session->plan->decided->stages);
                continue;
            }
            assert_true(diagram->n_boxes > 0 && diagram->n_boxes <= BOXES_MAX);
            assert_true(kinds[k] != DIAGRAM_DEVICE || diagram->n_boxes <= DEVICE_BOXES_MAX);
        }
        close_opened(&f);
    }
}

static const char *models[][2] = {
    {"samples/models/tiny-gpt.onnx", ""},    {"samples/models/llama-tiny.onnx", ""},
    {"samples/models/tiny-conv.onnx", ""},   {"samples/models/gpt2.onnx", ""},
    {"samples/models/gpt2-dynamo.onnx", ""}, {"samples/models/vit_b_16.onnx", ""},
    {"samples/models/llama-3-70b.json", ""}, {"samples/models/mixtral-8x7b.json", ""},
};

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_are_the_communication_of_the_plan),
        cmocka_unit_test(each_stage_says_the_engine_s_numbers),
        cmocka_unit_test(collectives_say_their_count_and_time),
        cmocka_unit_test(a_device_has_its_own_memory),
        cmocka_unit_test(what_is_not_there_has_a_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("sends", sending, every_send_of_the_plan_is_drawn) +
           run_rows("groups", meshes, cells_of_the_mesh_are_the_groups) +
           run_rows("places", models, places_of_every_model_are_drawn);
}
