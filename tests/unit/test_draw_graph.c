/* Drawings of the graph: what they show is what the plan says, no more and no less. */
#include "tests/unit/unit.h"

#include "core/cost/cost.h"
#include "core/summary/diff.h"
#include "scripts/hooks.h"
#include "viz/dot.h"
#include "viz/draw/draw.h"
#include "viz/dot_layout.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Fixture;

static Fixture open_with(Graph *graph, Arena *arena, const char *model, const char *mesh,
                         const char *policy)
{
    Fixture f = {.arena = arena ? arena : arena_new()};
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.model = model, .mesh = mesh, .policy = policy};
    Error err = {0};
    f.session = graph ? session_open_graph(graph, &options, &hooks, &err)
                      : session_open(&options, &hooks, &err);
    if (!f.session)
        fail_msg("%s", err.text);
    return f;
}

static Fixture open_sample(const char *model, const char *mesh, const char *policy)
{
    return open_with(NULL, NULL, model, mesh, policy);
}

static void close_sample(Fixture *f)
{
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static Diagram *draw_of(const Fixture *f, DiagramKind kind, const char *of, int hops, Error *err)
{
    DiagramRequest request = {.session = f->session, .kind = kind, .of = of, .hops = hops};
    return diagram_make(f->arena, &request, err);
}

static void holds_together(const Diagram *diagram)
{
    for (int i = 0; i < diagram->n_lines; i++) {
        assert_in_range(diagram->lines[i].from, 0, diagram->n_boxes - 1);
        assert_in_range(diagram->lines[i].to, 0, diagram->n_boxes - 1);
    }
    for (int i = 0; i < diagram->n_boxes; i++)
        assert_true(diagram->boxes[i].frame < diagram->n_frames);
}

static bool is_moved(const Reshard *reshard)
{
    return reshard->path->us > 0;
}

/* ---- made graphs ---- */

static int32_t add_op(GraphBuilder *b, const char *op_type, const char *name, const char *path,
                      const int32_t *in, int n_in)
{
    int32_t out = graph_new_tensor(b, str_from(""));
    graph_add_op(b, str_from(op_type), str_from(name), str_from(path), in, n_in, &out, 1, 0);
    return out;
}

static int32_t add_x(GraphBuilder *b)
{
    DeclaredDim dims[2] = {{8, 0}, {16, 0}};
    int32_t x = graph_tensor(b, STR("x"));
    graph_add_input(b, x, DT_F32, dims, 2);
    return x;
}

static Graph *sealed(GraphBuilder *b, int32_t out)
{
    Error err = {0};
    graph_add_output(b, out);
    Graph *graph = graph_seal(b, &err);
    if (!graph)
        fail_msg("%s", err.text);
    return graph;
}

/* So many layers of four ops, without modules; or, uneven, no two of them alike. */
static Graph *flat_layers(Arena *arena, int n, bool uneven)
{
    static const char *const operators[] = {"Relu", "Sigmoid", "Tanh", "Neg", "Exp", "Abs", "Sqrt"};
    GraphBuilder *b = graph_builder_new(arena, "flat");
    int32_t x = add_x(b);

    for (int i = 0; i < n; i++) {
        int32_t at = x;
        for (int k = 0; k < 3; k++)
            at = add_op(
                b,
                operators[uneven ? ((uint32_t)(3 * i + k) * 2654435761U >> 20) % 7 : (uint32_t)k],
                arena_printf(arena, "op_%d_%d", i, k), "", &at, 1);
        int32_t in[2] = {x, at};
        x = add_op(b, "Add", arena_printf(arena, "add_%d", i), "", in, 2);
    }
    return sealed(b, x);
}

/* ---- overviews ---- */

typedef struct {
    const char *name, *mesh, *policy;
} PlanRow;

static PlanRow plans[] = {
    {"samples/models/gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua"},
    {"samples/models/gpt2.onnx", "dp=8", "fsdp"},
    {"samples/models/gpt2.onnx", "dp=2,tp=4", "megatron_sp"},
    {"samples/models/gpt2.onnx", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"samples/models/gpt2-dynamo.onnx", "dp=2,tp=4", "tests/policies/megatron.lua"},
    {"samples/models/llama-tiny.onnx", "dp=2,tp=2", "tests/policies/megatron.lua"},
    {"samples/models/tiny-gpt.onnx", "dp=2,tp=2", "fsdp"},
    {"samples/models/tiny-conv.onnx", "dp=2", "dp"},
    {"samples/models/resnet50.onnx", "dp=8", "dp"},
    {"samples/models/vit_b_16.onnx", "dp=2,tp=4", "tests/policies/megatron.lua"},
    {"samples/models/llama-3-70b.json", "dp=2,tp=4", "tests/policies/megatron.lua"},
    {"samples/models/mixtral-8x7b.json", "dp=2,ep=4", "expert"},
    {"samples/models/deepseek-v3.json", "dp=2,tp=4", "tests/policies/megatron.lua"},
    {"tests/golden/control/loop.onnx", "tp=2", "tests/policies/megatron.lua"},
    {"tests/golden/control/run-decides.onnx", "tp=2", "tests/policies/megatron.lua"},
};

/* The first number behind `before` in some line of a text; -1: there is none. */
static double number_behind(const char *text, const char *before)
{
    const char *at = strstr(text, before);
    return at ? strtod(at + strlen(before), NULL) : -1;
}

/* As often as the plan's steps of that kind are done, "N all-reduces over .." says in sum. */
static double said_in(const char *text, const char *what)
{
    double sum = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what)) {
        const char *from = at - 1;
        while (from > text && from[-1] >= '0' && from[-1] <= '9')
            from--;
        sum += strtod(from, NULL);
    }
    return sum;
}

static void an_overview_has_few_boxes_and_the_plans_numbers(void **state)
{
    const PlanRow *row = *state;
    Fixture f = open_sample(row->name, row->mesh, row->policy);
    const Plan *plan = f.session->plan;
    Diagram *diagram = draw_of(&f, DIAGRAM_OVERVIEW, NULL, 0, NULL);
    double reduces = 0;
    int marked = 0;

    assert_in_range(diagram->n_boxes, 1, 60);
    holds_together(diagram);
    for (int i = 0; i < plan->moved->n_reshards; i++)
        for (int s = 0; s < plan->moved->reshards[i].path->n_steps; s++)
            if (plan->moved->reshards[i].path->step[s].kind == STEP_ALL_REDUCE)
                reduces += reshard_repeat(plan, &plan->moved->reshards[i]);
    assert_true(said_in(diagram->caption.str.s, " all-reduce") == reduces);
    assert_non_null(strstr(diagram->caption.str.s, "takes"));
    for (int i = 0; i < diagram->n_boxes; i++)
        marked += diagram->boxes[i].marked;
    assert_true(marked <= 1);
    close_sample(&f);
}

/* What the boxes move is together what the plan moves. */
static void boxes_of_an_overview_sum_to_the_plan(void **state)
{
    (void)state;
    Fixture f = open_sample("samples/models/gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    Diagram *diagram = draw_of(&f, DIAGRAM_OVERVIEW, NULL, 0, NULL);
    double reduces = 0, each = 0;

    for (int i = 0; i < diagram->n_boxes; i++) {
        double all = number_behind(diagram->boxes[i].figures, "all 12: ");
        reduces += all > 0 ? all : 0;
        if (all > 0)
            each = number_behind(diagram->boxes[i].figures, "each: ");
    }
    assert_true(reduces == 24);
    assert_true(each == 2);
    close_sample(&f);
}

/* A hundred layers that no path tells apart, and ops that nothing groups. */
static void a_flat_model_is_folded_too(void **state)
{
    (void)state;
    for (int uneven = 0; uneven < 2; uneven++) {
        Arena *arena = arena_new();
        Graph *graph = flat_layers(arena, uneven ? 1000 : 100, uneven);
        Fixture f = open_with(graph, arena, "flat", "dp=2", "dp");
        Diagram *diagram = draw_of(&f, DIAGRAM_OVERVIEW, NULL, 0, NULL);
        int folds = 0;
        assert_in_range(diagram->n_boxes, 1, 60);
        holds_together(diagram);
        for (int i = 0; i < diagram->n_boxes; i++)
            folds += diagram->boxes[i].look == BOX_GROUP;
        assert_true(uneven ? diagram->n_boxes >= 10 : folds > 0);
        close_sample(&f);
    }
}

/* ---- blocks ---- */

/* The ops that the drawing stands for, by the links of its boxes and what is said in them: those of
 * the group that its title names. */
static bool *ops_of_block(const Fixture *f, const Diagram *diagram)
{
    const Groups *groups = f->session->groups;
    bool *inside = arena_array(f->arena, bool, f->session->graph->n_ops);
    const char *path = strstr(diagram->title, ": ") + 2;

    for (int g = 0; g < groups->n_groups; g++)
        if (strcmp(groups->groups[g].path, path) == 0)
            for (int i = 0; i < groups->groups[g].n; i++)
                inside[groups->order[groups->groups[g].first + i]] = true;
    return inside;
}

static bool is_of_block(const Fixture *f, const Reshard *reshard, const bool *inside)
{
    int32_t maker = f->session->graph->tensors[reshard->tensor].maker;

    if (maker >= 0 && inside[maker])
        return true;
    for (int u = 0; u < reshard->n_uses; u++)
        if (inside[f->session->plan->moved->reshard_uses[reshard->use + u]])
            return true;
    return false;
}

static void a_block_draws_each_of_its_collectives_once(void **state)
{
    const PlanRow *row = *state;
    Fixture f = open_sample(row->name, row->mesh, row->policy);
    const Plan *plan = f.session->plan;
    Error err = {0};
    Diagram *diagram = draw_of(&f, DIAGRAM_BLOCK, NULL, 0, &err);
    int *drawn = arena_array(f.arena, int, plan->moved->n_reshards + 1);

    if (!diagram) {
        assert_int_equal(err.kind, ERROR_UNSUPPORTED);
        assert_true(err.hint[0]);
        close_sample(&f);
        return;
    }
    holds_together(diagram);
    for (int i = 0; i < diagram->n_lines; i++)
        if (diagram->lines[i].look == LINE_MOVED)
            drawn[(int)number_behind(diagram->lines[i].link, "#reshard-")]++;
    const bool *inside = ops_of_block(&f, diagram);
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        bool want = is_moved(reshard) && is_of_block(&f, reshard, inside);
        if (drawn[r] != want)
            fail_msg("reshard %d of %s is drawn %d times, not %d", r,
                     tensor_name(f.session->graph, reshard->tensor), drawn[r], want);
    }
    close_sample(&f);
}

static void a_block_is_that_of_the_op_asked_for(void **state)
{
    (void)state;
    Fixture f = open_sample("samples/models/gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    Error err = {0};
    Diagram *diagram = draw_of(&f, DIAGRAM_BLOCK, "transformer.h.5.mlp.c_fc", 0, &err);
    assert_non_null(strstr(diagram->title, "transformer.h.5"));
    assert_int_equal(diagram->frames[0].look, FRAME_REPEATED);
    diagram = draw_of(&f, DIAGRAM_BLOCK, "lm_head", 0, &err);
    assert_non_null(strstr(diagram->title, "lm_head"));
    assert_null(draw_of(&f, DIAGRAM_BLOCK, "transformer.h.5.mlp.c_fx", 0, &err));
    assert_true(err.hint[0]);
    close_sample(&f);
}

/* Cuts of weights are read in the boxes of their readers. */
static void a_block_says_how_weights_are_cut(void **state)
{
    (void)state;
    Fixture f = open_sample("samples/models/gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    Diagram *diagram = draw_of(&f, DIAGRAM_BLOCK, NULL, 0, NULL);
    int said = 0;
    for (int i = 0; i < diagram->n_boxes; i++)
        said += strstr(diagram->boxes[i].flow.str.s, "weight 768,3072/tp  2.2 MiB") != NULL &&
                strstr(diagram->boxes[i].figures, "sharded by megatron.lua:") != NULL;
    assert_int_equal(said, 1);
    close_sample(&f);
}

/* ---- neighbourhoods ---- */

/* Ops within some hops of one, by going over all pairs as often as there are hops. */
static int count_near(const Session *session, int32_t centre, int hops)
{
    const Graph *graph = session->graph;
    Arena *arena = arena_new();
    bool *near = arena_array(arena, bool, graph->n_ops);
    int n = 0;

    near[centre] = true;
    for (int hop = 0; hop < hops; hop++) {
        bool *next = arena_array(arena, bool, graph->n_ops);
        for (int op = 0; op < graph->n_ops; op++)
            for (int i = 0; i < graph->ops[op].n_inputs; i++) {
                int32_t t = op_inputs(graph, op)[i], maker = t < 0 ? -1 : graph->tensors[t].maker;
                if (maker < 0 || inferred_is_host(session->inferred, op) ||
                    inferred_is_host(session->inferred, maker))
                    continue;
                next[op] |= near[maker];
                next[maker] |= near[op];
            }
        for (int op = 0; op < graph->n_ops; op++)
            near[op] |= next[op];
    }
    for (int op = 0; op < graph->n_ops; op++)
        n += near[op];
    arena_free(arena);
    return n;
}

static void a_neighbourhood_has_all_within_its_hops(void **state)
{
    const PlanRow *row = *state;
    Fixture f = open_sample(row->name, row->mesh, row->policy);
    const Inferred *inferred = f.session->inferred;

    for (int hops = 1; hops <= 5; hops += 2)
        for (int i = 0; i < inferred->n_program; i += 1 + inferred->n_program / 3) {
            int32_t op = inferred->program[i];
            Error err = {0};
            Diagram *diagram =
                draw_of(&f, DIAGRAM_NEIGHBOURHOOD, op_name(f.session->graph, op), hops, &err);
            int n = 0, marked = 0;
            if (!diagram)
                fail_msg("%s", err.text);
            holds_together(diagram);
            for (int b = 0; b < diagram->n_boxes; b++) {
                n += diagram->boxes[b].look == BOX_OP;
                marked += diagram->boxes[b].marked;
            }
            assert_int_equal(n, count_near(f.session, op, hops));
            assert_int_equal(marked, 1);
        }
    close_sample(&f);
}

/* What the error of a layout names instead can be laid out, and no more. */
static void a_large_graph_says_how_much_fits(void **state)
{
    (void)state;
    Fixture f =
        open_sample("samples/models/mixtral-8x7b.json", "dp=2,tp=4", "tests/policies/megatron.lua");
    Diagram *all = draw_of(&f, DIAGRAM_NEIGHBOURHOOD, "lm_head", 1000, NULL);
    assert_true(all->n_boxes > LAYOUT_BOXES_MAX);
    int hops = (int)number_behind(all->fold, "--hops ");
    assert_true(hops > 0);
    Diagram *fits = draw_of(&f, DIAGRAM_NEIGHBOURHOOD, "lm_head", hops, NULL);
    assert_true(fits->n_boxes <= LAYOUT_BOXES_MAX);
    assert_true(draw_of(&f, DIAGRAM_NEIGHBOURHOOD, "lm_head", hops + 1, NULL)->n_boxes >
                LAYOUT_BOXES_MAX);
    close_sample(&f);
}

/* ---- values that very many read ---- */

/* x, a mask made of it, and so many ops behind each other that all read the mask. */
static Graph *many_readers(Arena *arena, int n, const char *name)
{
    GraphBuilder *b = graph_builder_new(arena, "many");
    int32_t x = add_x(b), mask = add_op(b, "Relu", "mask", "mask", &x, 1), at = x;
    for (int i = 0; i < n; i++) {
        int32_t in[2] = {at, mask};
        const char *own = arena_printf(arena, "%s%d", name, i);
        at = add_op(b, "Add", own, own, in, 2);
    }
    return sealed(b, at);
}

static void a_value_read_by_very_many_is_named_beside_them(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Fixture f = open_with(many_readers(arena, 100, "op"), arena, "many", "dp=2", NULL);
    Diagram *diagram = draw_of(&f, DIAGRAM_NEIGHBOURHOOD, "mask", 1000, NULL);
    int *degree = arena_array(f.arena, int, diagram->n_boxes), names = 0, n = 0, read = 0;

    for (int i = 0; i < diagram->n_lines; i++) {
        degree[diagram->lines[i].from]++;
        degree[diagram->lines[i].to]++;
    }
    for (int i = 0; i < diagram->n_boxes; i++) {
        bool is_name = strcmp(diagram->boxes[i].subtitle, "read by 100") == 0;
        assert_in_range(degree[i], 1, DRAW_READERS_MAX);
        n += diagram->boxes[i].look == BOX_OP;
        names += is_name;
        for (int l = 0; is_name && l < diagram->n_lines; l++)
            read += diagram->lines[l].from == i;
    }
    assert_int_equal(n, 101);
    assert_true(names > 1);
    assert_int_equal(read, 100);
    close_sample(&f);
}

/* ---- two plans ---- */

static Diagram *diff_of(const Fixture *a, const Fixture *b)
{
    DiagramRequest request = {.session = a->session, .kind = DIAGRAM_DIFF, .other = b->session};
    return diagram_make(a->arena, &request, NULL);
}

static void equal_plans_differ_in_nothing(void **state)
{
    const PlanRow *row = *state;
    Fixture a = open_sample(row->name, row->mesh, row->policy);
    Fixture b = open_sample(row->name, row->mesh, row->policy);
    Diagram *diagram = diff_of(&a, &b);
    assert_int_equal(diagram->n_boxes, 1);
    assert_string_equal(diagram->boxes[0].title, "nothing differs");
    close_sample(&b);
    close_sample(&a);
}

static void a_diff_shows_both_sides(void **state)
{
    (void)state;
    Fixture a = open_sample("samples/models/gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    Fixture b = open_sample("samples/models/gpt2.onnx", "dp=2,tp=4", "megatron_sp");
    Diagram *diagram = diff_of(&a, &b);
    int only_a = 0, gathers = 0, scatters = 0, both = 0;

    holds_together(diagram);
    assert_true(diagram->n_boxes <= 60);
    for (int i = 0; i < diagram->n_lines; i++) {
        const DiagramLine *line = &diagram->lines[i];
        only_a += line->look == LINE_A && strstr(line->label.str.s, "A: AR tp 12.0 MiB") != NULL;
        gathers += line->look == LINE_B && strstr(line->label.str.s, "B: AG tp 12.0 MiB") != NULL;
        scatters += line->look == LINE_B && strstr(line->label.str.s, "B: RS tp 12.0 MiB") != NULL;
    }
    for (int i = 0; i < diagram->n_boxes; i++)
        both += strstr(diagram->boxes[i].flow.str.s, "A 8/dp,1024,768") != NULL &&
                strstr(diagram->boxes[i].flow.str.s, "B 8/dp,1024/tp,768") != NULL;
    assert_int_equal(only_a, 2);
    assert_int_equal(gathers, 3); /* that of the head too */
    assert_int_equal(scatters, 3);
    assert_true(both >= 4);
    assert_non_null(strstr(diagram->caption.str.s, "25 reduce-scatters"));
    close_sample(&b);
    close_sample(&a);
}

static void diagrams_of_unlike_models_are_drawn(void **state)
{
    (void)state;
    Fixture a =
        open_sample("samples/models/deepseek-v3.json", "dp=2,tp=2", "tests/policies/megatron.lua");
    Fixture b = open_sample("samples/models/resnet50.onnx", "dp=2", "dp");
    Diagram *diagram = diff_of(&a, &b);
    int sides[2] = {0};
    holds_together(diagram);
    for (int i = 0; i < diagram->n_boxes; i++) {
        sides[0] += diagram->boxes[i].side == 'A';
        sides[1] += diagram->boxes[i].side == 'B';
    }
    assert_true(sides[0] > 0 && sides[1] > 0);
    assert_true(diagram->n_boxes <= LAYOUT_BOXES_MAX);
    close_sample(&b);
    close_sample(&a);
}

/* Behind the matmul of a module stand reshapes, which nobody means by its path. */
static void a_module_is_its_last_op_that_takes_time(void **state)
{
    (void)state;
    Fixture f = open_sample("samples/models/gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    Diagram *diagram = draw_of(&f, DIAGRAM_NEIGHBOURHOOD, "transformer.h.0.mlp.c_fc", 1, NULL);

    assert_non_null(diagram);
    for (int i = 0; i < diagram->n_boxes; i++) {
        if (diagram->boxes[i].marked)
            assert_string_equal(diagram->boxes[i].subtitle, "Gemm");
    }
    diagram = draw_of(&f, DIAGRAM_NEIGHBOURHOOD, "transformer.h.0.mlp.act", 1, NULL);
    for (int i = 0; i < diagram->n_boxes; i++)
        for (int k = 0; k < i; k++) /* no two boxes are called the same */
            assert_string_not_equal(diagram->boxes[i].title, diagram->boxes[k].title);
    close_sample(&f);
}

/* ---- names ---- */

static void hostile_names_are_drawn(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf name = buf_new(arena);
    buf_puts(&name, "\"]>\\<b>&amp;\n\\N{|} \xe2\x80\xae%s%n");
    for (int i = 0; i < 10000; i++)
        buf_putc(&name, '.');
    Fixture f = open_with(many_readers(arena, 40, name.s), arena, "many", "dp=2", "dp");
    static const DiagramKind kinds[] = {DIAGRAM_OVERVIEW, DIAGRAM_NEIGHBOURHOOD, DIAGRAM_DIFF};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        DiagramRequest request = {
            .session = f.session, .kind = kinds[k], .of = "mask", .hops = 3, .other = f.session};
        Buf text = buf_new(f.arena);
        Diagram *diagram = diagram_make(f.arena, &request, NULL);
        assert_true(dot_write(diagram, f.session->mesh, &text, NULL));
        FILE *dot = popen("dot -Tplain >/dev/null", "w");
        fwrite(text.s, 1, text.n, dot);
        assert_int_equal(pclose(dot), 0);
    }
    close_sample(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_of_an_overview_sum_to_the_plan),
        cmocka_unit_test(a_flat_model_is_folded_too),
        cmocka_unit_test(a_block_is_that_of_the_op_asked_for),
        cmocka_unit_test(a_block_says_how_weights_are_cut),
        cmocka_unit_test(a_large_graph_says_how_much_fits),
        cmocka_unit_test(a_value_read_by_very_many_is_named_beside_them),
        cmocka_unit_test(a_diff_shows_both_sides),
        cmocka_unit_test(diagrams_of_unlike_models_are_drawn),
        cmocka_unit_test(a_module_is_its_last_op_that_takes_time),
        cmocka_unit_test(hostile_names_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("overview", plans, an_overview_has_few_boxes_and_the_plans_numbers) +
           run_rows("block", plans, a_block_draws_each_of_its_collectives_once) +
           run_rows("neighbourhood", plans, a_neighbourhood_has_all_within_its_hops) +
           run_rows("equal plans", plans, equal_plans_differ_in_nothing);
}
