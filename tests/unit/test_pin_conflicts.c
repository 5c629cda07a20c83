/* Two pins that want one axis at an op: the finding names the winner, the loser, their lines and
 * the collective, under every propagator; and an activation keeps the sharding it is pinned to. */
#include "tests/unit/opened.h"
#include "tests/unit/spreads.h"

#include "core/propagate/propagators.h"

#include <stdlib.h>
#include <unistd.h>

/* Tensors are pinned in lines 1, 2, .. of p.lua. */
typedef struct {
    const char *tensor;
    int dim;
    const char *axes;
} Pinned;

typedef struct {
    const char *name, *net;
    Pinned first, second;
    const char *propagators; /* those for which `words` are known; the others name both lines */
    const char *words;
} ConflictRow;

#define MATMUL "m <- MatMul f32[8,16] f32[16,32]!; g <- Swish m"

static ConflictRow rows[] = {
    {"a matmul whose activation and weight want the axis",
     MATMUL,
     {"in0", 0, "tp"},
     {"in1", 1, "tp"},
     "explain",
     "in1 is sharded on dim 1 by tp but MatMul MatMul_0 needs it whole: all-gather over tp "
     "inserted "
     "(1.0 KiB); the pin of in0 dim 0 (p.lua:1) wins, the pin of in1 dim 1 (p.lua:2) loses"},
    {"the other way round, with the weight's pin first",
     MATMUL,
     {"in1", 1, "tp"},
     {"in0", 0, "tp"},
     "explain",
     "the pin of in0 dim 0 (p.lua:2) wins, the pin of in1 dim 1 (p.lua:1) loses"},
    {"a result that its op makes in another way",
     MATMUL,
     {"in1", 1, "tp"},
     {"m", 0, "tp"},
     "shardy shardy-basic shardy-basic-then-aggressive",
     "dim 0 of m is pinned 8/tp, but its op produces 8: all-to-all over tp inserted (256 B); the "
     "pin of in1 dim 1 (p.lua:1) wins, the pin of m dim 0 (p.lua:2) loses"},
    {"a value between two pinned ones",
     "m <- Add f32[8,16] f32[8,16]; g <- Swish m",
     {"in0", 0, "tp"},
     {"in1", 1, "tp"},
     "explain",
     "in1 is sharded on dim 1 by tp but Add Add_0 needs it whole: all-to-all over tp inserted (128 "
     "B); "
     "the pin of in0 dim 0 (p.lua:1) wins, the pin of in1 dim 1 (p.lua:2) loses"},
};

static void pin(Planning *p, const Pinned *at)
{
    int32_t tensor = naming_find(p->naming, str_from(at->tensor), NULL);
    assert_true(tensor >= 0);
    Cut cut = planning_cut(p, inferred_shape(p->inferred, tensor)->dim[at->dim], at->axes, 1);
    Decision made = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = at->dim, .cut = &cut};
    made.origin = (Origin){
        .kind = ORIGIN_POLICY, .file = "p.lua", .line = p->journal.n_done + 1, .text = at->tensor};
    journal_add(&p->journal, p->arena, &made);
}

static bool has_text(const Plan *plan, const char *part)
{
    for (int i = 0; i < plan->findings.n; i++)
        if (strstr(plan->findings.at[i].text, part))
            return true;
    return false;
}

static Planning *plan_of(const ConflictRow *row, const Propagator *propagator)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, row->net, 17);
    planning_infer(p, "", "dp=2,tp=2");
    p->propagator = propagator;
    pin(p, &row->first);
    pin(p, &row->second);
    planning_make(p);
    return p;
}

/* The first finding that names a winner and a loser. */
static const Finding *conflict_in(const Plan *plan)
{
    for (int i = 0; i < plan->findings.n; i++)
        if (strstr(plan->findings.at[i].text, " wins, ") &&
            strstr(plan->findings.at[i].text, " loses"))
            return &plan->findings.at[i];
    return NULL;
}

static bool is_listed(const char *list, const char *word)
{
    for (Str rest = str_from(list); rest.n > 0;)
        if (str_eq(str_take(&rest, ' '), str_from(word)))
            return true;
    return false;
}

static void both_pins_are_named(void **state)
{
    const ConflictRow *row = *state;
    int n_words = 0;
    for (int i = 0; propagator_at(i); i++) {
        const Propagator *it = propagator_at(i);
        if (!(it->obeys & OBEYS(PIN_TENSOR_DIM)) || !propagator_spreads(it))
            continue;
        Planning *p = plan_of(row, it);
        const Finding *finding = conflict_in(p->plan);
        if (!finding)
            fail_msg("%s:%s names no winner", it->name, it->profile);
        assert_non_null(strstr(finding->text, "(p.lua:1)"));
        assert_non_null(strstr(finding->text, "(p.lua:2)"));
        assert_non_null(strstr(finding->text, " inserted"));
        const char *loser = strstr(finding->text, " wins, ");
        if (!strstr(loser, finding->line == 1 ? "(p.lua:1)" : "(p.lua:2)"))
            fail_msg("the place is line %d: %s", finding->line, finding->text);
        if (is_listed(row->propagators, it->profile)) {
            n_words++;
            if (!has_text(p->plan, row->words))
                fail_msg("%s: %s", it->profile, finding->text);
        }
        planning_close(p);
    }
    assert_true(n_words > 0);
}

/* ---- a policy on a model that others exported ---- */

static const char policy[] = "function PAS(graph)\n"
                             "graph:shard('*.q_proj.weight', {[1] = 'tp'})\n"
                             "graph:shard('*.k_proj.weight', {[1] = 'tp'})\n"
                             "graph:shard('*.up_proj.weight', {[1] = 'tp'})\n"
                             "graph:shard('*layernorm.out', {[1] = 'tp'})\n"
                             "return graph end\n";

static void assert_keeps_its_pin(const Opened *o, const char *name, const Propagator *it)
{
    const Plan *plan = o->session->plan;
    int32_t tensor = naming_find(o->session->naming, str_from(name), NULL);
    assert_true(tensor >= 0);
    AtomSet tp = mesh_axis_atoms(plan->mesh, 0);
    if (cut_atoms(&plan_sharding(plan, tensor)->dim[1]) != tp)
        fail_msg("%s is overridden under %s:%s", name, it->name, it->profile);
}

static void an_activation_keeps_its_pin_beside_pinned_weights(void **state)
{
    (void)state;
    char path[] = "/tmp/dimscope-pins-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, policy, strlen(policy)) == (ssize_t)strlen(policy));
    close(fd);
    for (int i = 0; propagator_at(i); i++) {
        const Propagator *it = propagator_at(i);
        SessionOptions options = {.model = "samples/models/llama-tiny.onnx",
                                  .mesh = "tp=2",
                                  .policy = path,
                                  .propagator = it};
        Opened o = open_options(&options);
        assert_keeps_its_pin(&o, "model.layers.0.input_layernorm.out", it);
        assert_keeps_its_pin(&o, "model.layers.1.post_attention_layernorm.out", it);
        const Finding *finding = conflict_in(o.session->plan);
        if (!finding || !strstr(finding->text, ":5)"))
            fail_msg("%s:%s does not name line 5: %s", it->name, it->profile,
                     finding ? finding->text : "no finding");
        close_opened(&o);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_activation_keeps_its_pin_beside_pinned_weights)};
    return run_rows("conflicts", rows, both_pins_are_named) +
           cmocka_run_group_tests_name("policies", tests, NULL, NULL);
}
