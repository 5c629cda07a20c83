/* The mutation table of --verify: the example of every operator with a kernel, and its gradient
 * ops, on two ranks, right and with the part of the last rank broken in ten ways. A right run
 * passes; a broken value that differs is found at the op that made it.
 *
 * Each op is broken in three of the ten ways, which change from op to op; in all ten, on all
 * examples, with DIMSCOPE_LONG=1. DIMSCOPE_TABLE=1 prints what was not found. */
#include "tests/unit/planning_text.h"

#include "core/rules/example.h"
#include "tests/unit/breaks.h"

#include <stdlib.h>

/* ---- a broken kernel ---- */

enum { SHORT_WAYS = 3, N_RANKS = 2 };

typedef struct {
    const Kernel *base;
    const BreakWay *way;
    bool differs; /* by more than what the last bits of the type are */
} Broken;

/* Whether ranks have addends of a maximum or minimum: that of another rank may hide a wrong one. */
static bool may_be_hidden(const KernelCall *call)
{
    const OpSpace *space = inferred_space(call->inferred, call->op);
    bool may = false;
    for (int j = 0; call->reduce_cut && space && j < space->n_index; j++)
        may |= space->index[j].role == ROLE_REDUCE && space->index[j].reduce != REDUCE_SUM;
    return may;
}

static bool run_broken(const KernelCall *call, Error *err)
{
    const Broken *known = call->kernel->row;
    Broken *broken;
    memcpy(&broken, &known, sizeof broken);
    KernelCall base = *call;
    base.kernel = broken->base;
    if (!base.kernel->run(&base, err))
        return false;
    Local *out = NULL;
    for (int o = 0; o < call->n_outputs && !out; o++)
        out = call->output[o] && call->output[o]->data && !call->output[o]->sequence
                  ? call->output[o]
                  : NULL;
    if (!call->mesh || call->position != N_RANKS - 1 || !out)
        return true;
    broken->differs |= break_part(out, broken->way) && !may_be_hidden(call);
    return true;
}

/* ---- plans ---- */

static Planning *open_example(const char *name, const Example *example)
{
    Error err = {0};
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = example_op(arena, name, example, &err);
    if (!p->graph)
        planning_fail(&err);
    planning_infer(p, "", "tp=2");
    return p;
}

/* The op becomes a step with its gradients; false: it has none. */
static bool add_gradients(Planning *p)
{
    Error err = {0};
    TrainingStep step;
    if (!step_make_from_outputs(p->arena, p->inferred, (StepShape){0}, &step, &err))
        return false;
    p->graph = step.graph;
    p->inferred = step.inferred;
    p->naming = naming_new(p->arena, p->inferred);
    return true;
}

/* Shards an index dim that the rule lets be sharded, the largest one; false: there is none. */
static bool shard(Planning *p)
{
    const OpSpace *space = inferred_space(p->inferred, 0);
    int index = -1;
    for (int j = 0; space && !space->no_rule && j < space->n_index; j++)
        if (space->index[j].role != ROLE_FROZEN && space->index[j].size > 1 &&
            (index < 0 || space->index[j].size > space->index[index].size))
            index = j;
    if (index < 0)
        return false;
    Cut cut = planning_cut(p, space->index[index].size, "tp", 1);
    Decision pin = {.kind = PIN_INDEX_DIM, .place = 0, .dim = index, .cut = &cut};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
    return true;
}

static bool run_verified(Planning *p, RunReport *report)
{
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    Error err = {0};
    planning_make(p);
    return plan_is_legal(p->plan) && run_plan(p->arena, p->plan, &verified, report, &err);
}

/* ---- the table ---- */

/* Their results jump where operands move by what rounding explains, so that nothing bounds them:
 * whether a place is in a region. */
static const char jumping[] = "RoiAlign";
/* The gradient of their bias of keys is zero whatever the operands are, so that no move of them
 * shows how far rounding takes it from zero. */
static const char *const zero_gradient[] = {"com.microsoft::MultiHeadAttention",
                                            "com.microsoft::Attention"};

static bool has_zero_gradient(const char *name)
{
    bool has = false;
    for (size_t i = 0; i < COUNT_OF(zero_gradient); i++)
        has |= strcmp(zero_gradient[i], name) == 0;
    return has;
}

typedef struct {
    int n_right, n_wrongly_failed, n_broken, n_found, n_equal, n_missed;
} Counts;

typedef struct {
    bool whole, shown; /* all ways and examples; print what is missed */
    Counts counts[2];  /* of operators, of their gradients */
    int turn;
} Table;

static void break_op(Table *table, const char *name, const Example *example, bool gradients,
                     int32_t op, const BreakWay *way)
{
    Counts *counts = &table->counts[op > 0];
    Planning *p = open_example(name, example);
    if (gradients)
        assert_true(add_gradients(p));
    shard(p);
    const OpSpace *space = inferred_space(p->inferred, op);
    Broken broken = {.base = kernel_find(space, op_operator(p->graph, op)), .way = way};
    RunReport report;
    if (broken.base) {
        Kernel kernel = *broken.base;
        kernel.run = run_broken;
        kernel.row = &broken;
        OpSpace *writable;
        memcpy(&writable, &space, sizeof writable); /* no other op of this graph has it */
        writable->own = &kernel;
        if (run_verified(p, &report)) {
            bool named = report.first_bad >= 0 && p->graph->tensors[report.first_bad].maker == op;
            bool found = report.verdict == RUN_FAIL && named;
            counts->n_broken++;
            counts->n_found += found;
            counts->n_equal += !found && !broken.differs;
            counts->n_missed += !found && broken.differs;
            if (table->shown && !found && broken.differs)
                print_message("missed: %s %s %s: op %s, verdict %d, %s, closest %g of %g\n", name,
                              example->operands, way->name, op_name(p->graph, op),
                              (int)report.verdict, example->attrs, report.closest,
                              report.close.bound);
        }
    }
    planning_close(p);
}

static void break_all(Table *table, const char *name, const Example *example, bool gradients,
                      int32_t op)
{
    int n = table->whole ? N_WAYS : SHORT_WAYS;
    for (int i = 0; i < n; i++)
        break_op(table, name, example, gradients, op,
                 &ways[table->whole ? i : (table->turn + i * 3) % N_WAYS]);
    table->turn++;
}

static void look_at_example(Table *table, const char *name, const Example *example)
{
    RunReport report;
    Planning *p = open_example(name, example);
    bool gradients = !has_zero_gradient(name) && add_gradients(p);
    int n_ops = p->graph->n_ops;
    Counts *counts = &table->counts[gradients]; /* of a step: the whole of it */
    if (inferred_space(p->inferred, 0) && shard(p) && run_verified(p, &report)) {
        counts->n_right += report.verdict == RUN_PASS;
        counts->n_wrongly_failed += report.verdict == RUN_FAIL;
        if (table->shown && report.verdict != RUN_PASS)
            print_message("right, and verdict %d: %s %s, at %s: %g, should be %g +- %g\n",
                          (int)report.verdict, name, example->operands,
                          report.first_bad < 0 ? "-" : tensor_name(p->graph, report.first_bad),
                          report.wrong.got, report.wrong.want, report.wrong.bound);
        bool shows = report.verdict == RUN_PASS && report.strange < 0 && strcmp(jumping, name) != 0;
        for (int32_t op = 0; shows && op < n_ops; op++)
            if (!inferred_is_host(p->inferred, op))
                break_all(table, name, example, gradients && op > 0, op);
    }
    planning_close(p);
}

static void every_break_is_found_and_named(void **state)
{
    (void)state;
    const char *whole = getenv("DIMSCOPE_LONG");
    Table table = {.whole = whole && *whole, .shown = getenv("DIMSCOPE_TABLE") != NULL};
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    const Operator *row;
    for (int i = 0; i < registry_count(registry); i++) {
        row = registry_at(registry, i);
        if (!row->kernel)
            continue;
        const char *text = example_next(row->name, NULL);
        for (; text; text = table.whole ? example_next(row->name, text) : NULL) {
            Example example = example_read(arena, text);
            look_at_example(&table, row->name, &example);
        }
    }
    for (int g = 0; g < 2; g++) {
        const Counts *c = &table.counts[g];
        print_message("%s: %d right, %d wrongly failed; %d broken, %d found, %d equal, %d missed\n",
                      g ? "gradients" : "operators", c->n_right, c->n_wrongly_failed, c->n_broken,
                      c->n_found, c->n_equal, c->n_missed);
    }
    arena_free(arena);
    for (int g = 0; g < 2; g++)
        assert_true(table.counts[g].n_wrongly_failed == 0 && table.counts[g].n_missed == 0 &&
                    table.counts[g].n_found > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_break_is_found_and_named),
    };
    return cmocka_run_group_tests_name("verify_table", tests, NULL, NULL);
}
