/* Whole programs by DTensor's strategies: the placements that torch gives, op by op; veScale's
 * refusals; what is said of ops without a strategy. Data stays right: test_truth.c. */
#include "core/peers/propagators.h"
#include "tests/unit/planning.h"

#include "core/explain/reason.h"
#include "core/peers/torch/strategy.h"
#include "core/run/run.h"
#include "core/session/make.h"
#include "tests/unit/graph_text.h"

static Planning *planning_of_text(const char *text, const char *mesh)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, text, 13);
    planning_infer(p, "", mesh);
    p->propagator = &propagator_torch;
    return p;
}

/* "in0 [S(0),R]; in2 [R,S(1)]": pins of the dims that are cut. */
static void pin_placements(Planning *p, const char *pins)
{
    for (Str rest = str_from(pins); rest.n > 0;) {
        Str placements = str_trim(str_take(&rest, ';')), name = str_take(&placements, ' ');
        int32_t tensor = naming_find(p->naming, name, NULL);
        assert_true(tensor >= 0);
        Source source = {"pins", placements};
        Sharding sharding;
        Error err = {0};
        if (!sharding_parse(&source, inferred_shape(p->inferred, tensor), p->mesh, VIEW_PLACEMENTS,
                            &sharding, &err))
            planning_fail(&err);
        for (int d = 0; d < sharding.n_dims; d++) {
            Decision pin = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = d};
            pin.cut = &sharding.dim[d];
            pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
            if (!cut_is_whole(pin.cut))
                journal_add(&p->journal, p->arena, &pin);
        }
    }
}

/* "h [S(0),R]; y [S(0),P(sum)]" of all that ops make. */
static const char *made_placements(const Planning *p)
{
    Buf text = buf_new(p->arena);
    for (int i = 0; i < p->inferred->n_program; i++) {
        int32_t op = p->inferred->program[i];
        for (int o = 0; o < p->graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(p->graph, op)[o];
            Placement placements[MESH_AXES_MAX];
            if (t < 0 || p->plan->moved->made[t] < 0)
                continue;
            const Sharding *made = shardings_at(p->plan->shardings, p->plan->moved->made[t]);
            assert_true(placements_of(made, p->mesh, placements, NULL));
            buf_printf(&text, "%s%s [", text.n ? "; " : "", tensor_name(p->graph, t));
            for (int axis = 0; axis < p->mesh->n_axes; axis++) {
                buf_puts(&text, axis ? "," : "");
                placement_format(&placements[axis], false, &text);
            }
            buf_puts(&text, "]");
        }
    }
    return text.s;
}

/* ---- what torch gives ---- */

typedef struct {
    const char *name, *mesh, *net, *pins, *torch;
} Net;

/* The last column: what DTensor of torch 2.15 gave when the same operators ran on a fake process
 * group of as many ranks, 8 devices a host. */
static Net nets[] = {
    {"a residual MLP", "dp=2,tp=4",
     "h <- MatMul f32[16,32] f32[32,64]!; g <- Add h f32[64]!; r <- Relu g; "
     "m <- MatMul r f32[64,32]!; o <- Add m f32[32]!; y <- Add o in0; "
     "n <- LayerNormalization y f32[32]! f32[32]!",
     "in0 [S(0),R]; in1 [R,S(1)]; in2 [R,S(0)]; in3 [R,S(0)]",
     "h [S(0),S(1)]; g [S(0),S(1)]; r [S(0),S(1)]; m [S(0),P(sum)]; o [S(0),P(sum)]; "
     "y [S(0),P(sum)]; n [S(0),S(0)]"},
    {"an MLP on sequences", "dp=2,tp=4",
     "h <- MatMul f32[8,16,32] f32[32,64]!; r <- Gelu h; m <- MatMul r f32[64,32]!; "
     "y <- Add in0 m; n <- LayerNormalization y f32[32]! f32[32]!; k <- MatMul n f32[32,64]!",
     "in0 [S(0),R]; in1 [R,S(1)]; in2 [R,S(0)]; in5 [R,S(1)]",
     "h [S(0),S(2)]; r [S(0),S(2)]; m [S(0),P(sum)]; y [S(0),P(sum)]; n [S(0),S(0)]; "
     "k [S(0),S(0)]"},
    {"attention and its residual", "dp=2,tp=4",
     "q <- MatMul f32[4,8,32] f32[32,32]!; k <- MatMul in0 f32[32,32]!; "
     "v <- MatMul in0 f32[32,32]!; q1 <- Reshape q i64[4]{4,8,4,8}; "
     "k1 <- Reshape k i64[4]{4,8,4,8}; v1 <- Reshape v i64[4]{4,8,4,8}; "
     "qt <- Transpose q1 perm=[0,2,1,3]; kt <- Transpose k1 perm=[0,2,3,1]; "
     "vt <- Transpose v1 perm=[0,2,1,3]; s <- MatMul qt kt; c <- Mul s f32[]{0.5}; "
     "p <- Softmax c axis=-1; o <- MatMul p vt; ot <- Transpose o perm=[0,2,1,3]; "
     "of <- Reshape ot i64[3]{4,8,32}; y <- MatMul of f32[32,32]!; z <- Add in0 y; "
     "n <- LayerNormalization z f32[32]! f32[32]!",
     "in0 [S(0),R]; in1 [R,S(1)]; in2 [R,S(1)]; in3 [R,S(1)]; in8 [R,S(0)]",
     "q [S(0),S(2)]; k [S(0),S(2)]; v [S(0),S(2)]; q1 [S(0),S(2)]; k1 [S(0),S(2)]; "
     "v1 [S(0),S(2)]; qt [S(0),S(1)]; kt [S(0),S(1)]; vt [S(0),S(1)]; s [S(0),S(1)]; "
     "c [S(0),S(1)]; p [S(0),S(1)]; o [S(0),S(1)]; ot [S(0),S(2)]; of [S(0),S(2)]; "
     "y [S(0),P(sum)]; z [S(0),P(sum)]; n [S(0),S(1)]"},
    {"an embedding cut by rows", "dp=2,tp=4",
     "e <- Gather f32[64,32]! i64[4,8] axis=0; p <- Add e f32[8,32]!; "
     "n <- LayerNormalization p f32[32]! f32[32]!; l <- MatMul n f32[32,64]!; "
     "s <- LogSoftmax l axis=-1",
     "in0 [R,S(0)]; in1 [S(0),R]; in5 [R,S(1)]",
     "e [S(0),MaskP]; p [S(0),S(1)]; n [S(0),S(1)]; l [S(0),S(2)]; s [S(0),R]"},
    {"an embedding cut by columns, a split", "tp=4",
     "e <- Gather f32[64,32]! i64[4,8] axis=0; p <- Mul e f32[]{8.0}; "
     "w <- MatMul p f32[32,96]!; a b c <- Split w i64[3]{32,32,32} axis=2; d <- Mul a b; "
     "f <- Add d c; g <- Sigmoid f",
     "in0 [S(1)]; in3 [S(1)]",
     "e [S(2)]; p [S(2)]; w [S(2)]; a [R]; b [R]; c [R]; d [R]; f [R]; g [R]"},
    {"RMS norm of a cut dim", "dp=2,tp=4",
     "c <- Pow f32[4,8,32] f32[]{2}; m <- ReduceMean c axes=[2] keepdims=1; "
     "a <- Add m f32[]{0.001}; s <- Sqrt a; r <- Reciprocal s; x <- Mul in0 r; "
     "y <- Mul x f32[32]!",
     "in0 [S(0),S(2)]",
     "c [S(0),S(2)]; m [S(0),P(avg)]; a [S(0),S(1)]; s [S(0),S(1)]; r [S(0),S(1)]; "
     "x [S(0),S(2)]; y [S(0),S(2)]"},
    {"linear layers and folds", "dp=2,tp=4",
     "c <- Gemm f32[16,32] f32[64,32]! f32[64]! transB=1; r <- Tanh c; "
     "d <- Gemm r f32[64,32]! f32[32]!; s <- ReduceSum d axes=[1] keepdims=0; "
     "t <- ReduceMax d axes=[0] keepdims=1; u <- Sub d t",
     "in0 [S(0),R]; in1 [R,S(0)]; in2 [R,S(0)]; in3 [R,S(0)]",
     "c [S(0),S(1)]; r [S(0),S(1)]; d [S(0),P(sum)]; s [S(0),P(sum)]; t [P(max),P(max)]; "
     "u [S(0),S(1)]"},
};

/* The cuts make a sum of what torch calls masked, and of a mean, whose addends they divide before.
 */
static const char *as_sums(Arena *arena, const char *text)
{
    static const char *const names[] = {"MaskP", "P(avg)"};
    Buf out = buf_new(arena);
    while (*text) {
        size_t n = 0;
        for (int i = 0; i < 2 && n == 0; i++)
            n = strncmp(text, names[i], strlen(names[i])) == 0 ? strlen(names[i]) : 0;
        if (n > 0)
            buf_puts(&out, "P(sum)");
        else
            buf_putc(&out, *text);
        text += n > 0 ? n : 1;
    }
    return out.s;
}

static void every_op_lies_as_torch_has_it(void **state)
{
    const Net *row = *state;
    Planning *p = planning_of_text(row->net, row->mesh);
    pin_placements(p, row->pins);
    planning_make(p);
    assert_string_equal(made_placements(p), as_sums(p->arena, row->torch));
    assert_true(plan_is_legal(p->plan));
    planning_close(p);
}

/* ---- choices ---- */

typedef struct {
    const char *name, *net, *pins, *tensor, *want; /* where the axis tp on its dim 0 comes from */
} Chosen;

/* Prices by the formulas of redistribute.h: 2 KiB scattered over 4 ranks, 6.6 + 3 * 0.6 + 0.02 us,
 * or summed everywhere, 6.6 + 6 * 0.6 + 0.03 us. */
static Chosen chosen[] = {
    {"addends are scattered",
     "m <- MatMul f32[16,32] f32[32,64]!; n <- LayerNormalization m f32[64]! f32[64]!",
     "in0 [S(0),S(1)]; in1 [R,S(0)]", "n",
     "row  LayerNormalization LayerNormalization_1  d0 sharded by tp: its own choice, 8.4 us of "
     "resharding "
     "(next best 10.2 us)"},
    {"no choice but a pin", "m <- MatMul f32[16,32] f32[32,64]!; n <- Relu m", "in0 [R,S(0)]", "n",
     "pin  in0 dim 0  by the user  "},
};

static void chains_end_at_pins_and_choices(void **state)
{
    const Chosen *row = *state;
    Planning *p = planning_of_text(row->net, "dp=2,tp=4");
    pin_placements(p, row->pins);
    planning_make(p);
    ReasonChain *chains;
    int32_t tensor = naming_find(p->naming, str_from(row->tensor), NULL);
    int n = why_tensor_dim(p->arena, p->plan, tensor, 0, &chains);
    assert_true(n > 0);
    Buf text = buf_new(p->arena);
    reason_format(p->plan, &chains[n - 1].step[0], chains[n - 1].axis, &text);
    assert_string_equal(text.s, row->want);
    planning_close(p);
}

static void no_other_row_is_cheaper(void **state)
{
    (void)state;
    int n_priced = 0;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        Planning *p = planning_of_text(nets[i].net, nets[i].mesh);
        pin_placements(p, nets[i].pins);
        planning_make(p);
        for (int op = 0; op < p->graph->n_ops; op++) {
            const OpChoice *choice = &p->plan->propagated->choice[op];
            assert_true(choice->us >= 0 && choice->us <= choice->next_us);
            n_priced += choice->us > 0;
        }
        planning_close(p);
    }
    assert_true(n_priced > 10);
}

/* ---- findings ---- */

typedef struct {
    const char *name, *net, *pins;
    const Propagator *propagator;
    bool no_redistribute;
    const char *want; /* findings of the strategy: code: text [hint] */
} Said;

static Said said[] = {
    {"all goes", "h <- MatMul f32[16,32] f32[32,64]!; r <- Relu h", "in0 [S(0),R]; in1 [R,S(1)]",
     &propagator_torch, true, ""},
    {"a slice is no move", "h <- MatMul f32[16,32] f32[32,64]!", "in0 [S(0),R]; in1 [R,S(0)]",
     &propagator_torch, true, ""},
    {"veScale slices nothing unasked", "h <- MatMul f32[16,32] f32[32,64]!",
     "in0 [S(0),R]; in1 [R,S(0)]", &propagator_vescale, false,
     "strategy-refused: MatMul MatMul_0: matmul: no row fits the inputs, and inputs may not be "
     "redistributed: input 0 has [S(0),R] [insert redistribute of input 0 from [S(0),R] to "
     "[S(0),S(1)], the nearest legal placement (0 us)]"},
    {"torch moves", "h <- Softmax f32[8,16] axis=1", "in0 [S(0),S(1)]", &propagator_torch, false,
     ""},
    {"torch may not move", "h <- Softmax f32[8,16] axis=1", "in0 [S(0),S(1)]", &propagator_torch,
     true,
     "strategy-refused: Softmax Softmax_0: _softmax: no row fits the inputs, and inputs may not be "
     "redistributed: input 0 has [S(0),S(1)] [insert redistribute of input 0 from [S(0),S(1)] "
     "to [S(0),R], the nearest legal placement (8.402 us)]"},
    {"a view that no shard goes through", "c <- Reshape f32[4,13,8] i64[2]{4,104}",
     "in0 [S(0),S(1)]", &propagator_torch, false,
     "strategy-refused: Reshape Reshape_0: an uneven shard cannot be flattened: dim 1 (size 13) "
     "over axis 'tp' (size 4) [redistribute the input first: replicate it over 'tp']"},
    {"no operator of torch's", "c <- LpNormalization f32[4,12]", "in0 [S(0),R]", &propagator_torch,
     false,
     "no-strategy: LpNormalization LpNormalization_0: torch has no strategy for "
     "LpNormalization; it is replicated [register_strategy() in a policy file adds one]"},
    {"a reduction that the cut does otherwise",
     "m <- ReduceMean f32[16,32] axes=[0]; n <- Transpose m perm=[1,0]", "in0 [S(0),R]",
     &propagator_torch, false,
     "strategy-lost: Transpose Transpose_1: torch leaves its result partial by a reduction that no "
     "cut here produces: it is reduced []"},
    {"alike ones are counted",
     "a <- LpNormalization f32[4,12]; b <- LpNormalization f32[4,12]; c <- LpNormalization b",
     "in0 [S(0),R]; in1 [S(0),R]", &propagator_torch, false,
     "no-strategy: LpNormalization LpNormalization_0: torch has no strategy for "
     "LpNormalization; it is replicated (and 1 more like it) [register_strategy() in a policy file "
     "adds one]; no-strategy: LpNormalization LpNormalization_2: torch has no strategy for "
     "LpNormalization; it is replicated [register_strategy() in a policy file adds "
     "one]"},
};

static const char *said_of(const Planning *p)
{
    Buf text = buf_new(p->arena);
    for (int i = 0; i < p->plan->findings.n; i++) {
        const Finding *finding = &p->plan->findings.at[i];
        if (strstr(finding->code, "strategy") || strstr(finding->code, "pin-overruled") ||
            strstr(finding->code, "pin-inexpressible"))
            buf_printf(&text, "%s%s: %s [%s]", text.n ? "; " : "", finding->code, finding->text,
                       finding->hint);
    }
    return text.s ? text.s : "";
}

static void what_is_refused_is_said(void **state)
{
    const Said *row = *state;
    Planning *p = planning_of_text(row->net, "dp=2,tp=4");
    pin_placements(p, row->pins);
    p->propagator = row->propagator;
    PlanRequest request = planning_request(p);
    request.no_redistribute = row->no_redistribute;
    p->plan = plan_make(&request, NULL);
    assert_string_equal(said_of(p), row->want);
    assert_int_equal(plan_is_legal(p->plan), strstr(row->want, "refused") == NULL);
    planning_close(p);
}

/* ---- a user's strategy ---- */

/* Rows of a batch are normalized by themselves. */
static bool by_rows(const StrategyCall *call, void *context, StrategyRows *rows, Error *err)
{
    (void)call;
    Source row = {"row", STR("s(0) -> s(0)")};
    ++*(int *)context;
    rows->n_outputs = 1;
    return strategy_row_read(rows, &row, err);
}

static void strategy_of_a_user_is_asked(void **state)
{
    (void)state;
    Planning *p =
        planning_of_text("a <- LpNormalization f32[8,12]; b <- LpNormalization a", "dp=2,tp=2");
    pin_placements(p, "in0 [S(0),S(1)]");
    RuleBook rules = rule_book_new(p->arena);
    int n_asked = 0;
    strategies_add(strategies_of(&rules), STR("LpNormalization"), by_rows, &n_asked);
    PlanRequest request = planning_request(p);
    request.rules = &rules;
    p->plan = plan_make(&request, NULL);
    assert_string_equal(made_placements(p), "a [S(0),R]; b [S(0),R]");
    assert_string_equal(said_of(p), "");
    assert_int_equal(n_asked, 2);
    planning_close(p);
}

/* ---- pins ---- */

typedef struct {
    const char *name, *net, *pins, *want;
    const char *op, *index, *axes; /* one more pin, of an index dim of op "op" */
    const char *said;
} Pinned;

static Pinned pinned[] = {
    {"inside: a redistribute behind the maker", "h <- MatMul f32[16,32] f32[32,64]!; r <- Relu h",
     "in0 [S(0),R]; h [R,S(1)]", "h [S(0),R]; r [S(0),S(1)]", NULL, NULL, NULL, ""},
    {"a partial value, pinned", "h <- MatMul f32[16,32] f32[32,64]!; r <- Neg h; s <- Neg r",
     "in1 [R,S(0)]; r [R,S(0)]", "h [R,P(sum)]; r [R,P(sum)]; s [R,S(0)]", NULL, NULL, NULL, ""},
    {"a view of a parameter is the parameter",
     "t <- Transpose f32[64,32]! perm=[1,0]; h <- MatMul f32[16,32] t", "t [R,S(1)]",
     "t [R,S(1)]; h [R,S(1)]", NULL, NULL, NULL, ""},
    {"an index dim is its operands'", "h <- MatMul f32[16,32] f32[32,64]!; r <- Relu h",
     "in0 [S(0),R]", "h [S(0),S(1)]; r [S(0),S(1)]", "MatMul_0", "n", "tp", ""},
    {"a summed index dim is both operands'", "h <- MatMul f32[16,32] f32[32,64]!; r <- Neg h",
     "in0 [S(0),R]", "h [S(0),P(sum)]; r [S(0),P(sum)]", "MatMul_0", "k", "tp", ""},
    {"a dim that no row cuts", "t <- LpNormalization f32[8,12]", "", "t [R,R]", "LpNormalization_0",
     "d0", "tp",
     "pin-overruled: LpNormalization LpNormalization_0: d0 is pinned, but the chosen row shards it "
     "differently [pin its operands as in one of the operator's rows (dimscope rule)]; "
     "no-strategy: LpNormalization LpNormalization_0: torch has no strategy for "
     "LpNormalization; it is replicated [register_strategy() in a policy file adds one]"},
};

static void pins_are_redistributes(void **state)
{
    const Pinned *row = *state;
    Planning *p = planning_of_text(row->net, "dp=2,tp=4");
    pin_placements(p, row->pins);
    if (row->op) {
        int32_t op = graph_find_op(p->graph, str_from(row->op));
        const OpSpace *space = program_space(p->inferred, op);
        Decision pin = {.kind = PIN_INDEX_DIM, .place = op};
        pin.dim = opspace_find_index(space, str_from(row->index));
        pin.cut = (Cut[]){planning_cut(p, space->index[pin.dim].size, row->axes, 1)};
        pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
        journal_add(&p->journal, p->arena, &pin);
    }
    planning_make(p);
    assert_string_equal(made_placements(p), row->want);
    assert_string_equal(said_of(p), row->said);
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_other_row_is_cheaper),
                                       cmocka_unit_test(strategy_of_a_user_is_asked)};
    return run_rows("nets", nets, every_op_lies_as_torch_has_it) +
           run_rows("said", said, what_is_refused_is_said) +
           run_rows("pins", pinned, pins_are_redistributes) +
           run_rows("chosen", chosen, chains_end_at_pins_and_choices) +
           cmocka_run_group_tests_name("user", tests, NULL, NULL);
}
