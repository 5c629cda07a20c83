/* The mutation table of --verify for what ranks exchange: each kind of collective of a forward, of
 * a backward and of an update, right and with what one rank receives broken: its part in ten ways,
 * its group in three. A right run passes; a part that differs is found at the value that was moved,
 * and one that goes around a ring at the op that computes on it.
 *
 * Each step is broken in four of the thirteen ways, which change from step to step; in all with
 * DIMSCOPE_LONG=1. DIMSCOPE_TABLE=1 prints what was not found. */
#include "tests/unit/opened.h"

#include "core/base/file.h"
#include "core/run/collective.h"
#include "core/run/run.h"
#include "core/run/runner.h"
#include "tests/unit/breaks.h"
#include "tests/unit/onnx_made.h"
#include "tests/unit/planning_text.h"
#include "tests/unit/ring_pin.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- ways to break a group ---- */

/* Whose part a rank takes for that of the i-th of n members. */
typedef struct {
    const char *name;
    int64_t (*taken_for)(int64_t i, int64_t n);
} GroupWay;

static int64_t the_next(int64_t i, int64_t n)
{
    return (i + 1) % n;
}

static int64_t the_first_twice(int64_t i, int64_t n)
{
    return i == n - 1 ? 0 : i;
}

static int64_t backwards(int64_t i, int64_t n)
{
    return n - 1 - i;
}

static const GroupWay group_ways[] = {
    {"permuted group", the_next}, {"an addend twice", the_first_twice}, {"reversed", backwards}};
enum {
    N_GROUP_WAYS = sizeof group_ways / sizeof *group_ways,
    ALL_WAYS = N_WAYS + N_GROUP_WAYS,
    SHORT_WAYS = 4
};

static const char *way_name(int way)
{
    return way < N_WAYS ? ways[way].name : group_ways[way - N_WAYS].name;
}

/* ---- a broken step ---- */

static struct {
    int at;             /* the instruction that is broken; -1: none */
    int way;            /* below ALL_WAYS */
    int turn;           /* of an op whose parts go around a ring: which of those that come */
    atomic_int n_turns; /* that the rank which is broken has seen */
    atomic_bool differs;
} breaking;

/* The part again, from a group in which parts are taken for each other's. */
static bool fill_wrongly(Rank *rank, const Instr *instr, const GroupWay *way, Local *target)
{
    const Team *team = rank->team;
    const Plan *plan = team->plan;
    Arena *scratch = arena_new();
    Error err = {0};
    Collective collective = {.mesh = plan->mesh, .atoms = instr->step->atoms};
    collective.from = shardings_at(plan->shardings, instr->step->from);
    collective.to = shardings_at(plan->shardings, instr->step->to);
    SubMesh source = plan->decided->submeshes[team->program->slots[instr->from].devices];
    int64_t n = mesh_atoms_size(plan->mesh, collective.atoms);
    Local *held = arena_array(scratch, Local, n);
    const Local **given = arena_array(scratch, const Local *, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t member = mesh_group_member(plan->mesh, collective.atoms, rank->position, i);
        held[i] = *team->ranks[submesh_twin(plan->mesh, source, member)].slot[instr->from];
        given[i] = &held[i];
    }
    void **data = arena_array(scratch, void *, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t other = way->taken_for(i, n);
        bool alike = local_bytes(given[i]) == local_bytes(given[other]);
        data[i] = held[alike ? other : i].data;
    }
    for (int64_t i = 0; i < n; i++)
        held[i].data = data[i];
    bool ok = collective_run(&collective, rank->position, given, target, scratch, &err);
    arena_free(scratch);
    return ok || rank_step_failed(rank, instr, &err);
}

static bool break_received(Rank *rank, const Instr *instr)
{
    Local *target = rank->slot[instr->slot];
    if (breaking.way < N_WAYS) {
        breaking.differs = break_part(target, &ways[breaking.way]);
        return true;
    }
    Local *was = local_copy(target);
    bool ok = fill_wrongly(rank, instr, &group_ways[breaking.way - N_WAYS], target);
    breaking.differs = ok && part_differs(was, target, shape_elements(&target->shape));
    local_free(was);
    return ok;
}

/* Of what a step is given to, the last rank receives something else. */
static bool run_step(Rank *rank, const Instr *instr, double *wait_us)
{
    const Team *team = rank->team;
    if (instr - team->program->instrs != breaking.at)
        return host_step(rank, instr, wait_us);
    if (!host_step(rank, instr, wait_us) || !rank_meet(rank))
        return false;
    int64_t last = team->n_ranks - 1;
    while (!rank_has(&team->ranks[last], instr->slot))
        last--;
    return (rank->position != last || break_received(rank, instr)) && rank_meet(rank);
}

/* Of what goes around a ring, the last rank receives something else, once. */
static bool pass_end(Rank *rank, const Instr *instr, RingPass *pass)
{
    const Team *team = rank->team;
    if (!host_runner.pass_end(rank, instr, pass))
        return false;
    if (instr - team->program->instrs != breaking.at || rank->position != team->n_ranks - 1 ||
        atomic_fetch_add(&breaking.n_turns, 1) != breaking.turn)
        return true;
    for (int i = 0; i < pass->n; i++)
        breaking.differs |= break_part(pass->to[i], &ways[breaking.way]);
    return true;
}

static bool run_verified(Arena *arena, const Plan *plan, RunReport *report)
{
    Runner runner = host_runner;
    runner.step = run_step;
    runner.pass_end = pass_end;
    breaking.n_turns = 0;
    RunOptions options = {.verify = true, .seed = 3, .repeat = 1, .runner = &runner};
    Error err = {0};
    bool ok = run_plan(arena, plan, &options, report, &err);
    if (!ok)
        print_error("%s\n", err.text);
    return ok;
}

/* ---- the table ---- */

/* ORDER STEP_KIND */
static const char *const kind_names[] = {
    "slice", "all-gather", "all-reduce",    "reduce-scatter", "all-to-all", "permute",
    "send",  "broadcast",  "halo exchange", "scan",           "ring"};
_Static_assert(sizeof kind_names / sizeof *kind_names == STEP_KIND_COUNT, "a name each");
enum { PHASES = 5 }; /* plan_phase() */

typedef struct {
    int broken, found, equal, missed;
} Counts;

typedef struct {
    bool whole, shown;
    int turn, n_right, n_failed;
    Counts counts[PHASES][STEP_KIND_COUNT];
} Table;

/* That of the op that makes what is moved, or that computes on what goes around. */
static int phase_of(const Plan *plan, const Program *program, const Instr *instr)
{
    if (instr->kind == INSTR_OP)
        return plan_phase(plan, instr->op);
    int32_t maker = plan->inferred->graph->tensors[program->slots[instr->slot].tensor].maker;
    return plan_phase(plan, maker);
}

static bool is_named(const RunReport *report, const Program *program, const Plan *plan,
                     const Instr *instr)
{
    if (instr->kind == INSTR_STEP)
        return report->first_bad == program->slots[instr->slot].tensor && report->wrong.moved;
    return report->first_bad >= 0 &&
           plan->inferred->graph->tensors[report->first_bad].maker == instr->op;
}

/* The step that is broken, or the turns of an op. */
static void break_step(Table *table, const char *title, const Program *program, const Plan *plan,
                       const Instr *instr)
{
    StepKind kind = instr->kind == INSTR_STEP ? instr->step->kind : STEP_RING;
    Counts *counts = &table->counts[phase_of(plan, program, instr)][kind];
    RunReport report;
    Arena *arena = arena_new();
    breaking.differs = false;
    assert_true(run_verified(arena, plan, &report));
    bool found = report.verdict == RUN_FAIL && is_named(&report, program, plan, instr);
    counts->broken++;
    counts->found += found;
    counts->equal += !found && !breaking.differs;
    counts->missed += !found && breaking.differs;
    if (table->shown && !found && breaking.differs)
        print_message("missed: %s: %s at %d, %s, turn %d: verdict %d, first bad %s\n", title,
                      kind_names[kind], breaking.at, way_name(breaking.way), breaking.turn,
                      (int)report.verdict,
                      report.first_bad < 0 ? "-"
                                           : tensor_name(plan->inferred->graph, report.first_bad));
    arena_free(arena);
}

/* Whether a step like this one was broken before: of that kind, phase, groups and plan. */
static bool is_new(const Plan *plan, const Program *program, int at)
{
    const Instr *instr = &program->instrs[at];
    for (int i = 0; i < at; i++) {
        const Instr *other = &program->instrs[i];
        if (other->kind == INSTR_STEP && other->step->kind == instr->step->kind &&
            other->step->atoms == instr->step->atoms &&
            phase_of(plan, program, other) == phase_of(plan, program, instr))
            return false;
    }
    return true;
}

static void break_in_ways(Table *table, const char *title, const Program *program, const Plan *plan,
                          int n_ways)
{
    const Instr *instr = &program->instrs[breaking.at];
    int n = table->whole ? n_ways : SHORT_WAYS;
    for (int i = 0; i < n; i++) {
        breaking.way = table->whole ? i : (table->turn + i * 3) % n_ways;
        if (breaking.way < N_WAYS || instr->step->atoms)
            break_step(table, title, program, plan, instr);
    }
    table->turn++;
}

/* How often a rank receives parts that go around, of keys and values and of their gradients. */
static int count_turns(const Plan *plan)
{
    Arena *arena = arena_new();
    RunReport report;
    breaking.turn = -1;
    assert_true(run_verified(arena, plan, &report));
    arena_free(arena);
    return breaking.n_turns;
}

static void break_turns(Table *table, const char *title, const Program *program, const Plan *plan)
{
    int n = count_turns(plan);
    assert_true(n > 0);
    for (breaking.turn = 0; breaking.turn < n; breaking.turn++)
        break_in_ways(table, title, program, plan, N_WAYS);
}

static void break_steps(Table *table, const char *title, const Plan *plan)
{
    Arena *arena = arena_new();
    Program program;
    Error err = {0};
    RunReport report;
    breaking.at = -1;
    if (!plan_is_legal(plan) || !program_lower(arena, plan, &program, &err))
        fail_msg("%s: %s", title, err.text);
    if (!run_verified(arena, plan, &report))
        fail_msg("%s", title);
    table->n_right += report.verdict == RUN_PASS;
    table->n_failed += report.verdict != RUN_PASS;
    if (report.verdict != RUN_PASS)
        print_message("right, and verdict %d: %s\n", (int)report.verdict, title);
    if (!report.predicted_peak_at_least && report.predicted_peak_bytes < report.peak_bytes)
        fail_msg("%s: %d B at once, %d predicted", title, (int)report.peak_bytes,
                 (int)report.predicted_peak_bytes);
    for (breaking.at = 0; breaking.at < program.n_instrs; breaking.at++) {
        const Instr *instr = &program.instrs[breaking.at];
        if (instr->kind == INSTR_STEP && is_new(plan, &program, breaking.at))
            break_in_ways(table, title, &program, plan, ALL_WAYS);
        else if (instr->kind == INSTR_OP && ring_index_of(plan, instr->op) >= 0)
            break_turns(table, title, &program, plan);
    }
    arena_free(arena);
}

/* ---- plans ---- */

typedef struct {
    const char *name, *net, *mesh, *pin;
    const char *train; /* NULL: no step of training */
    const char *ring;  /* axes around which keys and values go; NULL: none */
} MoveRow;

#define TRAINED(shape) "Mul f32" shape " f32" shape "!"
#define LOSS "; w <- Mul y y; l <- ReduceMean w keepdims=0"
#define HEADS "q <- Neg f32[2,2,8,4]; k <- Neg f32[2,2,8,4]; v <- Neg f32[2,2,8,4]; "

/* What is moved between two layouts, and where sums, windows, products and attention are. */
static const MoveRow moves[] = {
    {"a shard becomes whole", "x <- Neg f32[8,12]; y <- Neg x", "a=2,b=2", "x 8/a,12; y 8,12", NULL,
     NULL},
    {"a dim for another", "x <- Neg f32[8,12]; y <- Neg x", "a=4", "x 8/a,12; y 8,12/a", NULL,
     NULL},
    {"axes in another order", "x <- Neg f32[8,12]; y <- Neg x", "a=2,b=2", "x 8/a.b,12; y 8/b.a,12",
     NULL, NULL},
    {"whole to a shard", "x <- Neg f32[8,12]; y <- Neg x", "a=3", "y 8/a,12", NULL, NULL},
    {"a sum", "x <- MatMul f32[8,12] f32[12,6]!; y <- Exp x", "a=4", "x 8,6; y 8,6", NULL, NULL},
    {"borders", "x <- Neg f32[2,4,16,8]; y <- Conv x f32[4,4,3,3]! pads=[1,1,1,1]", "a=4",
     "x 2,4,16/a,8", NULL, NULL},
    {"borders, and their gradients",
     "x <- " TRAINED("[2,2,16,4]") "; y <- Conv x f32[2,2,3,3]! pads=[1,1,1,1]" LOSS, "a=4",
     "x 2,2,16/a,4", "sgd", NULL},
    {"a running sum", "x <- Neg f32[2,16]; y <- CumSum x i64[]{1}; z <- Neg y", "a=4",
     "x 2,16/a; z 2,16/a", NULL, NULL},
    {"from its end, and its gradient",
     "x <- " TRAINED("[2,16]") "; y <- CumSum x i64[]{1} reverse=1" LOSS, "a=4", "x 2,16/a", "sgd",
     NULL},
    {"a ring", HEADS "y <- Attention q k v; z <- Neg y", "a=4", "q 2,2,8/a,4", NULL, "a"},
    {"a causal ring", HEADS "y <- Attention q k v is_causal=1; z <- Neg y", "a=3", "q 2,2,8/a,4",
     NULL, "a"},
    {"a ring, and its gradients",
     "q <- " TRAINED("[2,2,6,4]") "; k <- " TRAINED("[2,2,6,4]") "; v <- " TRAINED(
         "[2,2,6,4]") "; y <- Attention q k v is_causal=1" LOSS,
     "a=3", "q 2,2,6/a,4; k 2,2,6/a,4; v 2,2,6/a,4", "sgd", "a"},
};

static void break_moves(Table *table)
{
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        const MoveRow *row = &moves[i];
        int index;
        Planning *p = planning_text(row->net, row->mesh);
        if (row->train)
            planning_train(p, "", row->train);
        planning_each(p, row->pin, planning_pin_text);
        if (row->ring) {
            int32_t op = find_ring_op(p, &index);
            pin_ring(p, op, index, row->ring, false);
        }
        planning_make(p);
        break_steps(table, row->name, p->plan);
        planning_close(p);
    }
}

/* v = v + v, three times: by columns where it is added, by rows where it is carried. */
static void break_carried(Table *table)
{
    Body inside = body_new(arena_new());
    Body body = body_new(inside.arena);
    body_input(&inside, "i", DT_I64, "");
    body_input(&inside, "c", DT_BOOL, "");
    body_input(&inside, "v", DT_F32, "4,8");
    body_node(&inside, "Add add: v v -> v2");
    body_node(&inside, "Identity -: c -> c2");
    body_output(&inside, "c2");
    body_output(&inside, "v2");
    Buf node = node_begin(body.arena, "Loop loop: n c x -> y");
    node_graph(&node, "body", &inside);
    body_input(&body, "x", DT_F32, "4,8");
    body_ints(&body, "n", "3", true);
    body_node(&body, "Equal -: n n -> c");
    body_add(&body, &node);
    body_output(&body, "y");
    Error err = {0};
    Planning *p = arena_make(body.arena, Planning);
    p->arena = body.arena;
    p->graph = onnx_read(body.arena, "made.onnx", model_bytes(&body, 18, NULL, 0), &err);
    if (!p->graph)
        planning_fail(&err);
    planning_infer(p, "", "a=2");
    planning_each(p, "loop/2 4/a,8; loop/v2 4,8/a", planning_pin_text);
    planning_make(p);
    break_steps(table, "what a loop carries", p->plan);
    planning_close(p);
}

/* Two layers, as policies shard them. */
#define MODEL                                                                                      \
    "function MODEL(model)\n"                                                                      \
    "local x = model:input('x', 'f32', {8, 12})\n"                                                 \
    "local w = model:param('w', {12, 16}, 'f32')\n"                                                \
    "local v = model:param('v', {16, 6}, 'f32')\n"                                                 \
    "local b = model:param('b', {6}, 'f32')\n"                                                     \
    "local n = model:op('Sigmoid', {x})\n"                                                         \
    "local t = model:op('Sigmoid', {model:op('MatMul', {n, w})})\n"                                \
    "local y = model:op('Add', {model:op('MatMul', {t, v}), b})\n"                                 \
    "model:output(model:op('ReduceMean', {model:op('Exp', {y})}, {keepdims = 0}), 'loss')\n"       \
    "end\n"
#define BATCH "graph:shard('x', {[0] = 'dp'})\n"
#define COLUMNS "graph:shard('w', {[1] = 'tp'})\ngraph:shard('v', {[0] = 'tp'})\n"
#define STAGES                                                                                     \
    "local n = graph:nodes()\ngraph:staging{n[1], n[4]}\n"                                         \
    "for i, s in ipairs(graph:segments()) do graph:assign(s, {pp = i - 1}) end\n"                  \
    "graph:schedule('1f1b', {micro_batches = 2})\n"

/* Routed rows go to two experts a rank and come back. */
#define EXPERTS                                                                                    \
    "function MODEL(model)\n"                                                                      \
    "local moe = include 'lib/moe'\n"                                                              \
    "local o = {experts = 4, top_k = 2, width = 8, dropless = true}\n"                             \
    "local x = model:input('x', 'f32', {4, 6, 8})\n"                                               \
    "local w = model:param('w', {4, 8, 8}, 'f32')\n"                                               \
    "local scores, chosen = model:op('TopK', {moe.scores(model, x, o), {2}}, {axis = -1}, 2)\n"    \
    "local weights = model:op('Softmax', {scores}, {axis = -1})\n"                                 \
    "local y = moe.exchange(model, x, weights, chosen, o, function(sent)\n"                        \
    "return model:op('Einsum', {sent, w}, {equation = 'beck,enk->becn'})\n"                        \
    "end)\n"                                                                                       \
    "model:output(model:op('ReduceMean', {model:op('Exp', {y})}, {keepdims = 0}), 'loss')\n"       \
    "end\n"

/* One weight in each of three stages: their gradients are added up between the stages. */
#define TIED                                                                                       \
    "function MODEL(model)\n"                                                                      \
    "local y = model:input('x', 'f32', {4, 8})\n"                                                  \
    "local w = model:param('w', {8, 8}, 'f32')\n"                                                  \
    "for i = 1, 3 do y = model:op('Sigmoid', {model:op('MatMul', {y, w})}) end\n"                  \
    "model:output(model:op('ReduceMean', {y}, {keepdims = 0}), 'loss')\n"                          \
    "end\n"
#define TIED_STAGES                                                                                \
    "local n = graph:nodes()\ngraph:staging{n[1], n[3], n[5]}\n"                                   \
    "for i, s in ipairs(graph:segments()) do graph:assign(s, {pp = i - 1}) end\n"

typedef struct {
    const char *title, *mesh, *lua;
    const char *model; /* NULL: MODEL */
} StepRow;

static const StepRow steps[] = {
    {"data parallel", "dp=2", BATCH, NULL},
    {"tensor parallel", "tp=2", COLUMNS, NULL},
    {"both, what is between sharded by the batch", "dp=2,tp=2", BATCH COLUMNS, NULL},
    {"zero 1", "dp=2", BATCH "graph:zero(1, 'dp')", NULL},
    {"zero 2", "dp=4", BATCH "graph:zero(2, 'dp')", NULL},
    {"zero 3", "dp=2,tp=2", BATCH COLUMNS "graph:zero(3, 'dp')", NULL},
    {"states over both axes", "dp=2,tp=2", BATCH COLUMNS "graph:zero(1, {'dp', 'tp'})", NULL},
    {"a dim for another", "tp=2", "graph:shard('x', {[0] = 'tp'})\n" COLUMNS, NULL},
    {"stages", "dp=2,pp=2", BATCH STAGES, NULL},
    {"experts", "ep=2", "graph:shard('x', {[0] = 'ep'})\ngraph:shard('w', {[0] = 'ep'})\n",
     EXPERTS},
    {"a weight of three stages", "pp=3", TIED_STAGES, TIED},
};

static void break_training(Table *table, const StepRow *row)
{
    Arena *arena = arena_new();
    char folder[] = "/tmp/dimscope_moves_XXXXXX";
    assert_non_null(mkdtemp(folder));
    SessionOptions options = {.mesh = row->mesh, .train = "adamw,clip=1"};
    options.model = path_join(arena, folder, "model.lua");
    options.policy = path_join(arena, folder, "policy.lua");
    const char *policy =
        arena_printf(arena, "function PAS(graph)\n%s\nreturn graph\nend\n", row->lua);
    assert_true(file_write(options.model, str_from(row->model ? row->model : MODEL), NULL) &&
                file_write(options.policy, str_from(policy), NULL));
    Opened o = open_in(arena, &options);
    break_steps(table, row->title, o.session->plan);
    unlink(options.model);
    unlink(options.policy);
    rmdir(folder);
    close_opened(&o);
}

static void every_break_is_found_and_named(void **state)
{
    (void)state;
    static const char *const phase_names[PHASES] = {"alone", "forward", "again", "backward",
                                                    "update"};
    static Table table;
    const char *whole = getenv("DIMSCOPE_LONG");
    table.whole = whole && *whole;
    table.shown = getenv("DIMSCOPE_TABLE") != NULL;
    break_moves(&table);
    break_carried(&table);
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        break_training(&table, &steps[i]);
    int n_missed = 0, n_kinds[PHASES] = {0};
    for (int p = 0; p < PHASES; p++)
        for (int k = 0; k < STEP_KIND_COUNT; k++) {
            const Counts *c = &table.counts[p][k];
            n_missed += c->missed;
            n_kinds[p] += c->found > 0;
            if (c->broken)
                print_message("%s %s: %d broken, %d found, %d equal, %d missed\n", phase_names[p],
                              kind_names[k], c->broken, c->found, c->equal, c->missed);
        }
    print_message("%d right runs passed, %d did not\n", table.n_right, table.n_failed);
    assert_int_equal(n_missed, 0);
    assert_int_equal(table.n_failed, 0);
    assert_true(n_kinds[0] >= 7 && n_kinds[1] >= 7 && n_kinds[3] >= 8 && n_kinds[4] >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_break_is_found_and_named),
    };
    return cmocka_run_group_tests_name("verify_moves", tests, NULL, NULL);
}
