/* Shardy's propagation over a graph: passes and priorities, plans under the profile, and requests
 * that are wrong. What whole programs come to is in the facts (tests/conformance/factor.jsonl). */
#include "core/peers/propagators.h"
#include "tests/unit/shardy_text.h"

#include "core/explain/events.h"
#include "core/peers/shardy/plan_shardy.h"
#include "core/propagate/propagate.h"
#include "tests/unit/graph_text.h"

/* ---- programs ---- */

enum { OPS_MAX = 4, T_MAX = 8 };

typedef struct {
    const char *rule;
    ShardyClass class;
    bool elementwise, multi_use;
    int32_t tensor[TENSORS_MAX];
} ProgramOp;

typedef struct {
    const char *name, *mesh;
    ShardyMethod method;
    ProgramOp op[OPS_MAX];
    const char *given[T_MAX], *want;
} ProgramRow;

#define AGGRESSIVE .aggressive = true
static ProgramRow program_rows[] = {
    {"without priorities the first op decides",
     "x=2",
     {AGGRESSIVE},
     {{DOT, SHARDY_PLAIN, false, false, {0, 1, 2}},
      {"([i, j])->([i, j]) {i=8, j=8}", SHARDY_VIEW, true, false, {3, 2}}},
     {"x?,?", "?,?", "?,?", "?,x?"},
     "x?,? | ?,? | x?,? | ?,x?"},
    {"a view goes before a dot",
     "x=2",
     {AGGRESSIVE, .op_priorities = true},
     {{DOT, SHARDY_PLAIN, false, false, {0, 1, 2}},
      {"([i, j])->([i, j]) {i=8, j=8}", SHARDY_VIEW, true, false, {3, 2}}},
     {"x?,?", "?,?", "?,?", "?,x?"},
     "x?,? | ?,x? | ?,x? | ?,x?"},
    {"a broadcast first goes backward",
     "x=2",
     {AGGRESSIVE, .op_priorities = true},
     {{"([i])->([i, j]) {i=8, j=8}", SHARDY_BROADCAST, false, false, {0, 1}},
      {"([j, i])->([i, j]) {i=8, j=8}", SHARDY_PLAIN, false, false, {2, 1}}},
     {"x?", "?,?", "x?,?"},
     "x? | ?,x? | x?,?"},
    {"a later priority comes later",
     "x=2",
     {AGGRESSIVE, .user_priorities = true},
     {{ADD, SHARDY_VIEW, true, false, {0, 1, 2}}},
     {"x?,? ^1,1", "?,x? ^0,0", "?,?"},
     "x?,? | ?,x? | ?,x?"},
    {"the axes of a later one are kept for it",
     "x=2,y=2",
     {AGGRESSIVE, .user_priorities = true},
     {{ADD, SHARDY_VIEW, true, false, {0, 1, 2}}},
     {"?,x? ^0,2", "x?,? ^0,0", "?,?"},
     "?,x? | x?,? | x?,?"},
    {"basic, then aggressive",
     "x=2",
     {.basic = true, AGGRESSIVE},
     {{ADD, SHARDY_VIEW, false, false, {0, 1, 2}}},
     {"x?,?", "?,?", "-,?"},
     "x?,? | x?,? | -,?"},
};

static void programs_come_to_rest(void **state)
{
    const ProgramRow *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    FactorMeshes meshes = {.n = 1, .at = &mesh};
    ShardyFlow *flow = shardy_flow_new(arena);
    ShardyOp op[OPS_MAX];
    int32_t given[T_MAX];
    ShardyProgram program = {.meshes = &meshes, .op = op, .state = given};
    for (int i = 0; i < OPS_MAX && row->op[i].rule; i++) {
        const ProgramOp *from = &row->op[i];
        const FactorRule *rule = rule_of(arena, from->rule);
        op[program.n_ops++] = (ShardyOp){.rule = rule,
                                         .class = from->class,
                                         .pass = PASS_BOTH,
                                         .elementwise = from->elementwise,
                                         .multi_use = from->multi_use,
                                         .n_inputs = rule->n_operands,
                                         .n_outputs = rule->n_results,
                                         .tensor = from->tensor};
    }
    for (int t = 0; t < T_MAX && row->given[t]; t++) {
        TensorSharding sharding = sharding_of(mesh, str_from(row->given[t]));
        given[program.n_tensors++] = shardy_put(flow, &sharding);
    }
    shardy_run(flow, &program, row->method, NULL, NULL);
    Buf text = buf_new(arena);
    for (int t = 0; t < program.n_tensors; t++) {
        buf_puts(&text, t > 0 ? " | " : "");
        put_sharding(mesh, shardy_at(flow, given[t]), &text);
    }
    assert_string_equal(text.s, row->want);
    arena_free(arena);
}

/* ---- plans ---- */

typedef struct {
    const char *name, *graph, *mesh;
    struct {
        DecisionKind kind;
        const char *tensor;
        int dim;
        const char *axes;
        int64_t interleave;
        bool open;
        int priority;
        const char *group;
        Pass pass;
    } pin[4];
    const char *want;    /* "tensor 8/x,8; .." of tensors asked for */
    const char *finding; /* its code, or "" */
} PlanRow;

#define PRODUCT "h <- MatMul f32[8,8] f32[8,8]!; y <- Relu h"
static PlanRow plan_rows[] = {
    {"axes reach parameters and go on",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0},
      {PIN_TENSOR_DIM, "in1", 1, "y", 1, false, 0, NULL, 0}},
     "h 8/x,8/y; y 8/x,8/y",
     ""},
    {"an axis that is kept from a tensor",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0},
      {PIN_REPLICATED, "h", -1, "x", 1, false, 0, NULL, 0}},
     "h 8,8; y 8,8",
     ""},
    {"a barrier",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0},
      {PIN_BARRIER, "h", -1, "", 1, false, 0, NULL, PASS_BACKWARD}},
     "h 8/x,8; y 8,8",
     ""},
    {"a pin of a later priority finds the axis taken",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in1", 1, "x", 1, true, 0, NULL, 0},
      {PIN_TENSOR_DIM, "in0", 0, "x", 1, true, 1, NULL, 0}},
     "h 8,8/x; in0 8/x,8",
     ""},
    {"tensors of a group",
     "h <- MatMul f32[8,8] f32[8,8]!; y <- Relu h; z <- Relu f32[8,8]",
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0},
      {PIN_GROUP, "y", -1, "", 1, false, 0, "g", 0},
      {PIN_GROUP, "z", -1, "", 1, false, 0, "g", 0}},
     "y 8/x,8; z 8/x,8; in2 8/x,8",
     ""},
    {"an interleaved pin cannot be said",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in1", 1, "x", 2, false, 0, NULL, 0}},
     "h 8,8",
     "shardy-pin"},
    {"a part of an axis of primes",
     "h <- Reshape f32[16] i64[2]{4,4}; y <- Relu h",
     "x=8",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0}},
     "h 4/x:(1)4,4/x:(4)2; y 4/x:(1)4,4/x:(4)2",
     ""},
};

static void pin(Planning *p, const PlanRow *row, int i)
{
    int32_t tensor = naming_find(p->naming, str_from(row->pin[i].tensor), NULL);
    assert_true(tensor >= 0);
    Decision decision = {.kind = row->pin[i].kind,
                         .place = tensor,
                         .dim = row->pin[i].dim,
                         .open = row->pin[i].open,
                         .priority = row->pin[i].priority,
                         .group = row->pin[i].group,
                         .pass = row->pin[i].pass,
                         .origin = {.kind = ORIGIN_USER, .file = "", .text = ""}};
    Cut cut;
    if (decision.dim >= 0) {
        cut = planning_cut(p, inferred_shape(p->inferred, tensor)->dim[decision.dim],
                           row->pin[i].axes, row->pin[i].interleave);
        decision.cut = &cut;
    }
    if (decision.dim < 0 && row->pin[i].axes[0])
        decision.axes =
            mesh_axis_atoms(p->mesh, mesh_find_axis(p->mesh, str_from(row->pin[i].axes)));
    journal_add(&p->journal, p->arena, &decision);
}

/* The log tells how every tensor came to what it has, from nothing, pins first; and of every op
 * there is an answer to why an axis stopped. */
static void check_events(const Planning *p)
{
    int n_tensors = p->graph->n_tensors, n = plan_n_events(p->plan);
    const PlanEvent *event = plan_events(p->arena, p->plan);
    AtomSet *has = arena_array(p->arena, AtomSet, n_tensors);
    for (int i = 0; i < n; i++) {
        assert_in_range(event[i].tensor, 0, n_tensors - 1);
        assert_true(i == 0 || event[i].turn >= event[i - 1].turn);
        has[event[i].tensor] |= event[i].added;
    }
    for (int t = 0; t < n_tensors; t++)
        if (plan_reached(p->plan, t) >= 0)
            assert_int_equal(
                has[t], sharding_atoms(shardings_at(p->plan->shardings, plan_reached(p->plan, t))));
    for (int i = 0; i < p->inferred->n_program; i++) {
        StopRecord *record;
        int n_stops = propagate_stops(p->arena, p->plan, p->inferred->program[i], &record);
        for (int s = 0; s < n_stops; s++)
            assert_true(record[s].stop > STOP_NONE && record[s].stop < STOP_COUNT &&
                        record[s].dim >= 0);
    }
}

static void plans_follow_shardy(void **state)
{
    const PlanRow *row = *state;
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, row->graph, 13);
    planning_infer(p, "", row->mesh);
    p->propagator = &propagator_shardy;
    for (int i = 0; i < 4 && row->pin[i].tensor; i++)
        pin(p, row, i);
    const Plan *plan = planning_make(p);
    Str rest = str_from(row->want);
    while (rest.n > 0) {
        Str one = str_trim(str_take(&rest, ';'));
        size_t at = one.n;
        while (one.s[at - 1] != ' ')
            at--;
        const char *name = arena_str(arena, (Str){one.s, at - 1});
        int32_t tensor = naming_find(p->naming, str_from(name), NULL);
        assert_true(tensor >= 0);
        Buf text = buf_new(arena);
        sharding_format(shardings_at(plan->shardings, plan_reached(plan, tensor)), p->mesh,
                        VIEW_OURS_ASCII, &text, NULL);
        assert_string_equal(text.s, arena_str(arena, (Str){one.s + at, one.n - at}));
    }
    const char *code = "";
    for (int i = 0; i < plan->findings.n; i++)
        if (str_starts(str_from(plan->findings.at[i].code), STR("shardy-")))
            code = plan->findings.at[i].code;
    assert_string_equal(code, row->finding);
    check_events(p);
    planning_close(p);
}

/* ---- requests ---- */

typedef struct {
    const char *name, *request, *want; /* the kind of its error; "" none */
} RequestRow;

#define REQUEST(strategy, mesh, graph)                                                             \
    "{\"strategy\":\"" strategy "\",\"mesh\":{\"axes\":[" mesh "]},\"graph\":" graph "}"
#define ONE_ABS(sharding)                                                                          \
    "{\"values\":{\"a\":{\"shape\":[8],\"sharding\":" sharding "},\"b\":{\"shape\":[8]}},"         \
    "\"inputs\":[\"a\"],\"ops\":[{\"op\":\"stablehlo.abs\",\"inputs\":[\"a\"],\"outputs\":[\"b\"]" \
    "}],\"outputs\":[{\"value\":\"b\"}]}"

static RequestRow request_rows[] = {
    {"a good one", REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[\"x\"]]}")), ""},
    {"no strategy", REQUEST("bold", "[\"x\",2]", ONE_ABS("null")), "unsupported"},
    {"no graph", "{\"strategy\":\"basic\",\"mesh\":{\"axes\":[]}}", "invalid"},
    {"no mesh", "{\"strategy\":\"basic\",\"graph\":" ONE_ABS("null") "}", "invalid"},
    {"an axis that is not there", REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[\"z\"]]}")),
     "unbound"},
    {"an axis twice", REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[\"x\",\"x\"]]}")),
     "invalid"},
    {"too many dims", REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[],[]]}")), "rank"},
    {"parts that are one",
     REQUEST("basic", "[\"x\",4]", ONE_ABS("{\"dims\":[[\"x:(1)2\",\"x:(2)2\"]]}")), "invalid"},
    {"a priority on nothing",
     REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[]],\"priority\":[1]}")), "invalid"},
    {"a mesh that is not there",
     REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[]],\"mesh\":\"m\"}")), ""},
    {"a value that is not there",
     REQUEST("basic", "[\"x\",2]", "{\"values\":{},\"inputs\":[\"a\"],\"ops\":[],\"outputs\":[]}"),
     "unbound"},
    {"a value made twice",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]}},\"inputs\":[],\"ops\":[{\"op\":\"f\","
             "\"inputs\":[],\"outputs\":[\"a\"]},{\"op\":\"f\",\"inputs\":[],\"outputs\":[\"a\"]}"
             "],\"outputs\":[]}"),
     "duplicate"},
    {"a rule of other ranks",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]},\"b\":{\"shape\":[8]}},\"inputs\":[\"a\"],"
             "\"ops\":[{\"op\":\"f\",\"inputs\":[\"a\"],\"outputs\":[\"b\"],\"rule\":\"([i, j])->"
             "([i, j]) {i=4, j=2}\"}],\"outputs\":[]}"),
     "rank"},
    {"a constraint of two",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]}},\"inputs\":[\"a\"],\"ops\":[{\"op\":"
             "\"sdy.sharding_constraint\",\"inputs\":[\"a\",\"a\"],\"outputs\":[]}],"
             "\"outputs\":[]}"),
     "invalid"},
    {"a group of two shapes",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]},\"b\":{\"shape\":[4]}},\"inputs\":[\"a\",\"b\"],"
             "\"ops\":[{\"op\":\"sdy.sharding_group\",\"inputs\":[\"a\"],\"outputs\":[],\"attrs\":"
             "{\"group_id\":0}},{\"op\":\"sdy.sharding_group\",\"inputs\":[\"b\"],\"outputs\":[],"
             "\"attrs\":{\"group_id\":0}}],\"outputs\":[]}"),
     "invalid"},
    {"an edge of nothing",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]},\"b\":{\"shape\":[8]}},\"inputs\":[\"a\"],"
             "\"ops\":[{\"op\":\"sdy.data_flow_edge\",\"inputs\":[\"a\"],\"outputs\":[\"b\"]}],"
             "\"outputs\":[{\"value\":\"b\"}]}"),
     ""},
};

static void wrong_requests_are_errors(void **state)
{
    const RequestRow *row = *state;
    static bool (*const verbs[])(const char *, Arena *, const Json *, Json *,
                                 Error *) = {eval_factor_propagate, eval_factor_origins};
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        Arena *arena = arena_new();
        Error err = {0};
        Source source = {.name = "request", .text = str_from(row->request)};
        Json *request = json_parse(&source, &err), *answer = json_object();
        assert_non_null(request);
        bool fine = verbs[i]("", arena, request, answer, &err);
        assert_string_equal(fine ? "" : error_kind_name(err.kind), row->want);
        json_free(request);
        json_free(answer);
        arena_free(arena);
    }
}

int main(void)
{
    return run_rows("shardy: programs", program_rows, programs_come_to_rest) +
           run_rows("shardy: plans", plan_rows, plans_follow_shardy) +
           run_rows("shardy: requests", request_rows, wrong_requests_are_errors);
}
