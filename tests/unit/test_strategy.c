/* Strategies: the choice for given placements, against torch's documented behaviour and traps; the
 * prices and steps of redistributions; users' own strategies, layer_norm both ways. */
#include "tests/unit/unit.h"

#include "core/peers/torch/explain.h"
#include "core/rules/one_op.h"

#include <math.h>

/* ---- a call from text ---- */

typedef struct {
    Arena *arena;
    StrategyCall call;
    Strategies *strategies;
} Fixture;

static Str take(Str *text, char separator)
{
    const char *at = text->n ? memchr(text->s, separator, text->n) : NULL;
    Str part = {text->s, at ? (size_t)(at - text->s) : text->n};
    size_t taken = part.n + (at ? 1 : 0);
    *text = (Str){text->s + taken, text->n - taken};
    return str_trim(part);
}

static Placement placement(const char *text)
{
    Placement out;
    Error err = {0};
    Source source = {"placement", str_from(text)};
    Scan scan = scan_begin(&source, &err);
    assert_true(placement_scan(&scan, DIMS_MAX, &out) && scan_end(&scan));
    return out;
}

/* "S(0)/R": one for each axis. */
static const Placement *placements(Arena *arena, const Mesh *mesh, Str text)
{
    Placement *out = arena_array(arena, Placement, mesh->n_axes);
    for (int axis = 0; axis < mesh->n_axes; axis++)
        out[axis] = placement(arena_str(arena, take(&text, '/')));
    assert_int_equal(text.n, 0);
    return out;
}

static const Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {"mesh", str_from(text)};
    return mesh_parse(arena, &source, NULL);
}

/* inputs "12x8 S(0)/R; 8x16:i64 R/R; -", attrs "dim=1 keepdim=0" */
static Fixture fixture(const char *op, const char *mesh, const char *inputs, const char *attrs)
{
    Fixture f = {.arena = arena_new()};
    f.strategies = strategies_new(f.arena);
    f.call = (StrategyCall){.arena = f.arena, .op = op, .mesh = mesh_of(f.arena, mesh)};
    StrategyTensor *tensor = arena_array(f.arena, StrategyTensor, 32);
    for (Str rest = str_from(inputs); rest.n > 0; f.call.n_inputs++) {
        Str lies = take(&rest, ';'), shape = take(&lies, ' ');
        OneOp one = {0};
        assert_true(one_op_operands(f.arena, shape, &one, NULL));
        StrategyTensor *at = &tensor[f.call.n_inputs];
        *at = (StrategyTensor){.shape = one.shape[0], .dtype = one.dtype[0]};
        if (at->shape.n_dims >= 0)
            at->placements = placements(f.arena, f.call.mesh, lies);
    }
    f.call.input = tensor;
    OneOpBuilder *builder = one_op_new(f.arena, &(OneOp){.op_type = str_from(op)});
    for (Str rest = str_from(attrs ? attrs : ""); rest.n > 0;)
        assert_true(one_op_attr_text(builder, arena_str(f.arena, take(&rest, ' ')), NULL));
    f.call.graph = one_op_graph(builder, NULL);
    assert_non_null(f.call.graph);
    return f;
}

/* "S(0),R -> S(0) 1": what the op is fed, what it makes, how many collectives; or the error's kind.
 */
static const char *answer_text(Fixture *f)
{
    StrategyAnswer answer;
    Error err = {0};
    if (!strategy_answer(f->strategies, &f->call, &answer, &err))
        return arena_printf(f->arena, "error %s", error_kind_name(err.kind));
    Buf out = buf_new(f->arena);
    if (answer.suggestion) {
        strategy_format(answer.suggestion, f->call.n_inputs, NULL, 0, f->call.mesh->n_axes, &out);
        return arena_printf(f->arena, "suggests %s", out.s);
    }
    strategy_format(answer.input, answer.n_inputs, answer.output, answer.n_outputs,
                    f->call.mesh->n_axes, &out);
    buf_printf(&out, " %d", answer.n_comm);
    return out.s;
}

/* ---- choices ---- */

typedef struct {
    const char *name, *op, *mesh, *inputs, *attrs, *want;
    StrategyProfile profile;
} Choice;

static Choice choices[] = {
    {"gathers the smaller", "mm", "x=4", "12x8 S(0); 8x16 S(0)", NULL, "S(0),R -> S(0) 1", 0},
    {"128 bytes less", "mm", "x=4", "12x8 S(0); 8x16 S(1)", NULL, "R,S(1) -> S(1) 1", 0},
    {"columns", "mm", "x=4", "12x8 S(1); 8x16 S(1)", NULL, "R,S(1) -> S(1) 1", 0},
    {"a free slice puts the sum off", "mm", "x=4", "12x8 R; 8x16 S(0)", NULL,
     "S(1),S(0) -> P(sum) 0", 0},
    {"large operands flip the choice", "mm", "x=4", "512x512 S(0); 512x512 S(0)", NULL,
     "S(1),S(0) -> P(sum) 1", 0},
    {"two partials, one reduced", "mm", "x=4", "16x12 P(sum); 12x20 P(sum)", NULL,
     "R,P(sum) -> P(sum) 1", 0},
    {"partial over different axes", "mm", "x=2,y=2", "16x12 P(sum)/R; 12x20 R/P(sum)", NULL,
     "[P(sum),R],[R,P(sum)] -> [P(sum),P(sum)] 0", 0},
    {"of a distance, whole tensors come last", "dist", "x=2,y=2", "12x8 R/S(1); 12x8 R/R", "p=2",
     "[S(0),S(1)],[S(0),S(1)] -> [NormP(2),NormP(2)] 0", 0},
    {"fewer rows than ranks", "mm", "x=4", "3x4 S(0); 4x4 R", NULL, "R,R -> R 1", 0},
    {"an axis of one never communicates", "mm", "x=1,y=4", "256x128 S(0)/R; 128x256 R/S(1)", NULL,
     "[S(0),R],[R,S(1)] -> [S(0),S(1)] 0", 0},
    {"the replicated addend is divided", "add", "x=4", "2x2 P(sum); 2x1 R", NULL,
     "P(sum),P(sum) -> P(sum) 0", 0},
    {"a number cannot be divided", "add.Scalar", "x=4", "8x8 P(sum)", "other=2", "R -> R 1", 0},
    {"a factor passes a sum", "mul.Scalar", "x=4", "8x8 P(sum)", "other=2", "P(sum) -> P(sum) 0",
     0},
    {"a maximum does not pass a factor", "mul", "x=4", "8x8 P(max); 8x8 R", NULL, "R,R -> R 1", 0},
    {"neg turns a maximum round", "neg", "x=4", "8x8 P(max)", NULL, "P(max) -> P(min) 0", 0},
    {"no shard, no row to scatter to", "relu", "x=4", "8x8 P(sum)", NULL, "R -> R 1", 0},
    {"a shard beside it is one", "relu", "x=2,y=2", "8x8 P(sum)/S(0)", NULL,
     "[S(1),S(0)] -> [S(1),S(0)] 1", 0},
    {"all over its dim gathers", "all", "x=4", "12x8x8 S(0)", "dim=0", "R -> R 1", 0},
    {"a sum over its dim does not", "sum", "x=4", "12x8x8 S(0)", "dim=[0]", "S(0) -> P(sum) 0", 0},
    {"a mean of even parts", "mean", "x=4", "12x8 S(0)", "dim=[0]", "S(0) -> P(avg) 0", 0},
    {"a mean of uneven ones", "mean", "x=4", "13x8 S(0)", "dim=[0]", "R -> R 1", 0},
    {"stack pushes the shard", "stack", "x=4", "8x8 S(1); 8x8 S(1)", "dim=0", "S(1),S(1) -> S(2) 0",
     0},
    {"unbind of a cut dim", "unbind", "x=4", "4x8 S(0)", "dim=0", "error needs_reshard", 0},
    {"gather of one row", "gather", "x=4", "8x4 S(0); 1x4:i64 R", "dim=0", "S(0),MaskP -> MaskP 0",
     0},
    {"rows of an embedding", "embedding", "x=4", "16x8 S(0); 5:i64 R", NULL,
     "S(0),MaskP -> MaskP 0", 0},
    {"fill keeps partial", "fill_", "x=4", "4x8 P(sum)", "value=8", "P(sum) -> P(sum) 0", 0},
    {"ones are whole", "ones_like", "x=4", "4x8 P(sum)", NULL, "P(sum) -> R 0", 0},
    {"empty keeps partial", "empty_like", "x=4", "4x8 P(sum)", NULL, "P(sum) -> P(sum) 0", 0},
    {"zeros around a sum", "constant_pad_nd", "x=4", "8x6 P(sum)", "pad=[1,1] value=0",
     "P(sum) -> P(sum) 0", 0},
    {"ones around a sum", "constant_pad_nd", "x=4", "8x6 P(sum)", "pad=[1,1] value=1", "R -> R 1",
     0},
    {"later dims lie in pieces", "view", "x=8", "4x48x30 S(1)", "size=[192,30]",
     "S(1) -> _S(0,4) 0", 0},
    {"and come back", "view", "x=8", "192x30 _S(0,4)", "size=[4,48,30]", "_S(0,4) -> S(1) 0", 0},
    {"no elements at all", "flatten", "x=2", "1x0x8 R", NULL, "R -> R 0", 0},
    {"a dim of one cannot follow", "copy_", "x=4", "16x32 S(0); 16x1 S(1)", NULL,
     "S(0),S(0) -> S(0) 1", 0},
    {"in place keeps the first", "add_", "x=4", "12x3 S(0); 12x3 P(sum)", NULL,
     "S(0),S(0) -> S(0) 1", 0},
    {"in place cannot reduce", "exp_", "x=4", "12x3 P(sum)", NULL, "error needs_reshard", 0},
    {"uneven element-wise parts stay", "exp", "x=8", "3 S(0)", NULL, "S(0) -> S(0) 0", 0},
    {"linear through a view", "linear", "x=4", "4x8x16 S(1); 32x16 R", NULL, "S(1),R -> S(1) 0", 0},
    {"a bias follows the columns", "linear", "x=4", "8x16 R; 32x16 S(0); 32 S(0)", NULL,
     "R,S(0),S(0) -> S(1) 0", 0},
    {"lists one by one", "_foreach_add.List", "x=4", "24x4 S(0); 16 R; 24x4 R; 16 S(0)", NULL,
     "S(0),S(0),S(0),S(0) -> S(0),S(0) 0", 0},
    {"norm over the last dim", "layer_norm", "x=4", "20x5x10 S(0)", "normalized_shape=[10]",
     "S(0) -> S(0),S(0),S(0) 0", 0},
    {"norm over a cut dim", "layer_norm", "x=4", "20x5x10 S(1)", "normalized_shape=[5,10]",
     "R -> R,R,R 1", 0},
    {"an order of axes is not moved unasked", "cat", "x=2", "32x8 _S(0,2); 32x8 _S(0,2)", "dim=0",
     "R,R -> R 2", 0},
    {"nothing to write into", "exp_", "x=4", "-", NULL, "error invalid", 0},
    {"nothing to write into, whole", "tril_", "x=4", "-; 4 R", NULL, "error invalid", 0},
    {"unknown", "no_such_op", "x=2", "4 R", NULL, "error unsupported", 0},
    {"joined shards are blocks", "cat", "x=4", "1024 S(0); 1024 S(0)", "dim=0",
     "S(0),S(0) -> IS(0,2) 0", STRATEGY_VESCALE},
    {"parted blocks are shards", "split", "x=4", "1024 IS(0,2)", "split_size=512 dim=0",
     "IS(0,2) -> S(0),S(0) 0", STRATEGY_VESCALE},
    {"three blocks, two parts", "split", "x=4", "1536 IS(0,3)", "split_size=768 dim=0",
     "error needs_reshard", STRATEGY_VESCALE},
    {"blocks of a view", "view", "x=8", "4x48x30 S(1)", "size=[192,30]", "S(1) -> IS(0,4) 0",
     STRATEGY_VESCALE},
    {"blocks that do not fit a view", "view", "x=8", "192x30 IS(0,4)", "size=[8,24,30]",
     "error needs_reshard", STRATEGY_VESCALE},
    {"veScale moves nothing", "mm", "x=4", "12x8 S(0); 8x16 S(0)", NULL, "error needs_reshard",
     STRATEGY_VESCALE},
    {"not even a slice", "mm", "x=4", "12x8 R; 8x16 S(0)", NULL, "error needs_reshard",
     STRATEGY_VESCALE},
    {"attention of a partial query", "_scaled_dot_product_flash_attention", "x=2",
     "8x4x16x8 P(sum); 8x4x16x8 R; 8x4x16x8 R", NULL, "error partial", STRATEGY_VESCALE},
    {"attention cut in part", "_scaled_dot_product_flash_attention", "x=2",
     "8x4x16x8 S(0); 8x4x16x8 R; 8x4x16x8 R", NULL, "error conflict", STRATEGY_VESCALE},
    {"rules answer outputs", "add", "x=2,y=2", "20x6 S(1)/R; 6 S(0)/R", NULL,
     "[S(1),R],[S(0),R] -> [S(1),R] 0", STRATEGY_RULES},
    {"rules suggest the larger dim", "add", "x=2,y=2", "12x1x1x8 S(0)/S(3); 12x4x8 S(0)/S(2)", NULL,
     "suggests [R,S(3)],[S(0),S(2)]", STRATEGY_RULES},
    {"rules drop a pending sum", "einsum", "x=2,y=2", "8x4 S(0)/P(sum); 4x8 R/R",
     "equation=mk,kn->mn", "suggests [S(0),R],[R,R]", STRATEGY_RULES},
    {"a letter cut in two ways", "einsum", "x=2,y=2", "8x4 S(0)/R; 8x4 R/S(0)",
     "equation=ij,ij->ij", "error conflict", STRATEGY_RULES},
};

static void chooses(void **state)
{
    const Choice *row = *state;
    Fixture f = fixture(row->op, row->mesh, row->inputs, row->attrs);
    f.call.profile = row->profile;
    assert_string_equal(answer_text(&f), row->want);
    arena_free(f.arena);
}

/* Prices left out are of those that nobody asks for. */
static void best_only_changes_no_choice(void **state)
{
    const Choice *row = *state;
    Fixture f = fixture(row->op, row->mesh, row->inputs, row->attrs);
    f.call.profile = row->profile;
    StrategyAnswer all, best;
    bool answered = strategy_answer(f.strategies, &f.call, &all, NULL);
    f.call.best_only = true;
    assert_int_equal(strategy_answer(f.strategies, &f.call, &best, NULL), answered);
    if (answered) {
        assert_int_equal(best.chosen, all.chosen);
        assert_int_equal(best.runner_up, all.runner_up);
        assert_true(best.us == all.us);
    }
    if (answered && all.runner_up >= 0)
        assert_true(best.candidate[best.runner_up].us == all.candidate[all.runner_up].us);
    arena_free(f.arena);
}

static void assert_near(double have, double want, double tolerance)
{
    if (fabs(have - want) > tolerance)
        fail_msg("%g is not %g", have, want);
}

static void prices_of_the_worked_selection(void **state)
{
    (void)state;
    static const double want[] = {16.81, 9.40, 8.40, 17.80}; /* R,R; S1,S0; S0,R; R,S1 */
    Fixture f = fixture("mm", "x=4", "12x8 S(0); 8x16 S(0)", NULL);
    StrategyAnswer answer;
    assert_true(strategy_answer(f.strategies, &f.call, &answer, NULL));
    for (int i = 0; i < 4; i++)
        assert_near(answer.candidate[i].us, want[i], 0.006);
    assert_int_equal(answer.chosen, 2);
    assert_int_equal(answer.runner_up, 1);
    arena_free(f.arena);
}

static void choice_flips_at_163_kib(void **state)
{
    (void)state;
    Fixture f = fixture("mm", "x=4", "16x16 S(0); 16x16 S(0)", NULL);
    StrategyAnswer answer;
    StrategyFlip flip;
    assert_true(strategy_answer(f.strategies, &f.call, &answer, NULL));
    assert_true(strategy_flip(&f.call, &answer, &flip));
    assert_near(flip.factor, 163.5, 1); /* of 1 KiB */
    assert_int_equal(flip.candidate, 1);
    arena_free(f.arena);
}

static void refusal_names_the_fix(void **state)
{
    (void)state;
    Fixture f = fixture("mm", "x=4", "12x8 S(0); 8x16 S(0)", NULL);
    StrategyAnswer answer;
    Error err = {0};
    f.call.no_redistribute = true;
    assert_false(strategy_answer(f.strategies, &f.call, &answer, &err));
    assert_non_null(strstr(err.text, "input 1 has [S(0)]"));
    assert_non_null(strstr(err.hint, "redistribute of input 1 from [S(0)] to [R]"));
    arena_free(f.arena);
}

static void many_axes_are_refused_not_tried(void **state)
{
    (void)state;
    Fixture f = fixture("add", "a=2,b=2,c=2,d=2,e=2,f=2,g=2,h=2",
                        "8x8x8x8 S(0)/R/R/R/R/R/R/R; 8x8x8x8 R/R/R/R/R/R/R/R", NULL);
    assert_string_equal(answer_text(&f), "error unsupported");
    arena_free(f.arena);
}

/* ---- redistributions ---- */

typedef struct {
    const char *name, *mesh, *from, *to, *want; /* "all_gather y S(1)>R; .." */
    RedistributePlanner planner;
} Path;

static Path paths[] = {
    {"misaligned nest", "x=2,y=2", "S(0)/S(0)", "R/S(0)",
     "all_gather y S(0)>R; all_gather x S(0)>R; slice y R>S(0)", PLANNER_DEFAULT},
    {"swap", "x=2,y=2", "S(0)/S(1)", "S(1)/S(0)",
     "all_gather y S(1)>R; all_to_all x S(0)>S(1); slice y R>S(0)", PLANNER_DEFAULT},
    {"nested to nested", "x=2,y=2", "S(0)/S(0)", "S(1)/S(1)",
     "all_gather y S(0)>R; all_to_all x S(0)>S(1); slice y R>S(1)", PLANNER_GREEDY},
    {"two sums scatter outer first", "x=2,y=2", "P(sum)/P(sum)", "S(0)/S(0)",
     "reduce_scatter x P(sum)>S(0); reduce_scatter y P(sum)>S(0)", PLANNER_DEFAULT},
    {"one axis directly", "x=4", "S(0)", "S(1)", "all_to_all x S(0)>S(1)", PLANNER_DEFAULT},
    {"three nested, greedy", "x=2,y=2,z=2", "S(0)/S(0)/S(0)", "S(1)/S(1)/S(1)",
     "all_gather z S(0)>R; all_gather y S(0)>R; all_to_all x S(0)>S(1); slice y R>S(1); "
     "slice z R>S(1)",
     PLANNER_GREEDY},
    {"three nested, graph", "x=2,y=2,z=2", "S(0)/S(0)/S(0)", "S(1)/S(1)/S(1)",
     "all_gather z S(0)>R; all_gather y S(0)>R; all_gather x S(0)>R; slice x R>S(1); "
     "slice y R>S(1); slice z R>S(1)",
     PLANNER_GRAPH},
    {"an order of axes", "x=2,y=2", "_S(0,2)/S(0)", "R/S(0)", "all_gather x S(0)>R",
     PLANNER_DEFAULT},
    {"pieces that are no order", "x=4", "_S(0,3)", "S(1)", "all_gather x _S(0,3)>R; slice x R>S(1)",
     PLANNER_DEFAULT},
    {"a shard as a sum", "x=4", "S(0)", "P(sum)", "to_partial x S(0)>P(sum)", PLANNER_DEFAULT},
    {"nothing", "x=2,y=2", "S(0)/P(sum)", "S(0)/P(sum)", "", PLANNER_DEFAULT},
};

static void takes_steps(void **state)
{
    const Path *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    const Shape shape = {.n_dims = 2, .dim = {64, 64}};
    Redistribution move = {.mesh = mesh,
                           .shape = &shape,
                           .dtype = DT_F32,
                           .from = placements(arena, mesh, str_from(row->from)),
                           .to = placements(arena, mesh, str_from(row->to)),
                           .planner = row->planner};
    TorchMoves moves = {0};
    Buf text = buf_new(arena);
    assert_true(redistribute_plan(arena, &move, &moves, NULL));
    for (int i = 0; i < moves.n; i++) {
        buf_printf(&text, "%s%s %s ", i ? "; " : "", move_name(moves.at[i].kind),
                   mesh->axes[moves.at[i].axis].name);
        placement_format(&moves.at[i].from, false, &text);
        buf_putc(&text, '>');
        placement_format(&moves.at[i].to, false, &text);
    }
    assert_string_equal(text.s ? text.s : "", row->want);
    arena_free(arena);
}

typedef struct {
    const char *name, *mesh, *from, *to;
    int64_t n_floats;
    double us, tolerance;
} Price;

static Price worked_prices[] = {
    {"gather 400 B on 4", "x=4", "S(0)", "R", 100, 8.40, 0.006},
    {"reduce 400 B on 4", "x=4", "P(sum)", "R", 100, 10.21, 0.006},
    {"gather 64 MiB on 8", "x=8", "S(0)", "R", 16 << 20, 634, 1},
    {"reduce 64 MiB on 8", "x=8", "P(sum)", "R", 16 << 20, 1262, 1},
    {"gather 1 GiB on 8", "x=8", "S(0)", "R", 256 << 20, 9988, 1},
    {"reduce 1 GiB on 8", "x=8", "P(sum)", "R", 256 << 20, 19969, 1},
    {"gather 1 GiB between hosts", "x=8,y=8", "S(0)/R", "R/R", 256 << 20, 45376, 3},
    {"a slice is free", "x=4", "R", "S(0)", 100, 0, 0},
    {"a shard as a sum is never chosen", "x=4", "S(0)", "P(sum)", 100, INFINITY, 0},
    {"a sum as a maximum neither", "x=4", "P(sum)", "P(max)", 100, INFINITY, 0},
};

static void costs(void **state)
{
    const Price *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    const Shape shape = {.n_dims = 2, .dim = {row->n_floats / 4, 4}};
    Redistribution move = {.mesh = mesh,
                           .shape = &shape,
                           .dtype = DT_F32,
                           .from = placements(arena, mesh, str_from(row->from)),
                           .to = placements(arena, mesh, str_from(row->to))};
    double us = redistribute_us(arena, &move);
    if (isinf(row->us))
        assert_true(isinf(us));
    else
        assert_near(us, row->us, row->tolerance);
    arena_free(arena);
}

/* ---- users' strategies: layer_norm, as rows and as a rule ---- */

/* Every cut of a dim before the normalized ones, weight and bias whole. */
static bool layer_norm_rows(const StrategyCall *call, void *context, StrategyRows *rows, Error *err)
{
    (void)context;
    const Attr *shape = op_attr(call->graph, call->graph_op, "normalized_shape");
    rows->n_outputs = 1;
    for (int64_t d = 0; d < call->input[0].shape.n_dims - shape->n; d++) {
        const char *text = arena_printf(call->arena, "s(%d), R, R -> s(%d)", (int)d, (int)d);
        Source source = {"row", str_from(text)};
        if (!strategy_row_read(rows, &source, err))
            return false;
    }
    return true;
}

/* The output lies as the input; weight and bias must be replicated. */
static bool layer_norm_rule(const StrategyCall *call, void *context, StrategyRuling *out,
                            Error *err)
{
    (void)err;
    int *n_calls = context, n_axes = call->mesh->n_axes;
    Placement **tensor = arena_array(call->arena, Placement *, call->n_inputs);
    bool legal = true;
    (*n_calls)++;
    for (int i = 0; i < call->n_inputs; i++) {
        tensor[i] = arena_array(call->arena, Placement, n_axes);
        for (int axis = 0; axis < n_axes; axis++) {
            const Placement *given = &call->input[i].placements[axis];
            legal &= i == 0 || given->kind == PLACE_REPLICATE;
            if (i == 0)
                tensor[i][axis] = *given;
        }
    }
    *out = (StrategyRuling){.n_outputs = 1, .why = "weight and bias are replicated"};
    if (legal)
        out->output = tensor;
    else
        out->suggestion = tensor;
    return true;
}

static void layer_norm_as_rows(void **state)
{
    (void)state;
    Fixture f =
        fixture("my.layer_norm", "x=4", "20x5x10 S(0); 10 S(0); 10 R", "normalized_shape=[10]");
    strategies_add(f.strategies, STR("my.layer_norm"), layer_norm_rows, NULL);
    assert_true(strategies_has(f.strategies, STR("my.layer_norm")));
    assert_string_equal(answer_text(&f), "S(0),R,R -> S(0) 1");
    f.call.profile = STRATEGY_VESCALE;
    assert_string_equal(answer_text(&f), "error needs_reshard");
    arena_free(f.arena);
}

static void layer_norm_as_a_rule(void **state)
{
    (void)state;
    int n_calls = 0;
    Fixture f =
        fixture("my.layer_norm", "x=4", "20x5x10 S(0); 10 S(0); 10 R", "normalized_shape=[10]");
    strategies_add_rule(f.strategies, STR("my.layer_norm"), layer_norm_rule, &n_calls);
    assert_string_equal(answer_text(&f), "S(0),R,R -> S(0) 1");
    assert_int_equal(n_calls, 2);
    f.call.profile = STRATEGY_RULES;
    assert_string_equal(answer_text(&f), "suggests S(0),R,R");
    arena_free(f.arena);
}

static void a_users_name_comes_first(void **state)
{
    (void)state;
    int n_calls = 0;
    Fixture f = fixture("relu", "x=4", "8x8 P(sum)", NULL);
    strategies_add_rule(f.strategies, STR("relu"), layer_norm_rule, &n_calls);
    assert_string_equal(answer_text(&f), "P(sum) -> P(sum) 0");
    assert_int_equal(n_calls, 1);
    arena_free(f.arena);
}

/* ---- rows as text ---- */

static void rows_read_and_write(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    StrategyRows rows = {.arena = arena, .n_outputs = 2, .n_inputs = 2};
    const char *text = "s(1),_S(0,4) -> P(sum),-";
    Source source = {"row", str_from(text)};
    Buf out = buf_new(arena);
    assert_true(strategy_row_read(&rows, &source, NULL));
    strategy_row_format(&rows, rows.row.at[0], &out);
    assert_string_equal(out.s, text);
    arena_free(arena);
}

static void wrong_rows_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ErrorKind kind;
    } rows[] = {{"S(0) -> R", ERROR_RANK},
                {"S(0),R", ERROR_INVALID},
                {"s(12),R -> R", ERROR_INVALID},
                {"Q,R -> R", ERROR_SYNTAX}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Arena *arena = arena_new();
        StrategyRows made = {.arena = arena, .n_outputs = 1, .n_inputs = 2};
        Source source = {"row", str_from(rows[i].text)};
        Error err = {0};
        assert_false(strategy_row_read(&made, &source, &err));
        assert_true(err.kind == rows[i].kind || err.kind == ERROR_SYNTAX);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_of_the_worked_selection),
        cmocka_unit_test(choice_flips_at_163_kib),
        cmocka_unit_test(refusal_names_the_fix),
        cmocka_unit_test(many_axes_are_refused_not_tried),
        cmocka_unit_test(layer_norm_as_rows),
        cmocka_unit_test(layer_norm_as_a_rule),
        cmocka_unit_test(a_users_name_comes_first),
        cmocka_unit_test(rows_read_and_write),
        cmocka_unit_test(wrong_rows_are_errors),
    };
    int failed = run_rows("chooses", choices, chooses);
    failed += run_rows("best only", choices, best_only_changes_no_choice);
    failed += run_rows("steps", paths, takes_steps);
    failed += run_rows("costs", worked_prices, costs);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
