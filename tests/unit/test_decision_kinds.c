/* Every kind of decision under every propagator: the plan changes as the decision asks, or a
 * finding names the kind and the propagator and the plan stays as it was. */
#include "tests/unit/spreads.h"

#include "core/base/peer.h"
#include "core/code/code.h"
#include "core/plan/stage.h"
#include "core/propagate/propagators.h"

#define NET                                                                                        \
    "m <- MatMul f32[8,16] f32[16,32]!; g <- Swish m; n <- MatMul g f32[32,16]!; "                 \
    "k <- MatMul in0 f32[16,32]!"

enum { DP, TP };

/* `index` and `last` name an index dim and an op; ops are named after their results. */
typedef struct {
    DecisionKind kind;
    const char *place;
    int dim;
    const char *index, *axes, *group, *last;
    int number;
    Assumed assumed;
} Asked;

typedef struct KindRow KindRow;
struct KindRow {
    const char *name;
    Asked before[3]; /* in both plans */
    Asked asked;     /* in the second plan alone */
    bool (*obeyed)(const Planning *p, const KindRow *row);
    const char *seen, *twin; /* the tensor that shows it; the one it is compared with */
    int axis;
};

static int32_t tensor_of(const Planning *p, const char *name)
{
    int32_t tensor = naming_find(p->naming, str_from(name), NULL);
    assert_true(tensor >= 0);
    return tensor;
}

static int32_t op_of(const Planning *p, const char *result)
{
    return p->graph->tensors[tensor_of(p, result)].maker;
}

static void decide(Planning *p, const Asked *asked)
{
    bool on_op = asked->kind == PIN_INDEX_DIM || asked->kind == UNPIN_INDEX_DIM ||
                 decision_is_on_ops(asked->kind);
    Decision made = {.kind = asked->kind, .dim = asked->dim, .group = asked->group};
    Cut cut;
    made.place = on_op ? op_of(p, asked->place) : tensor_of(p, asked->place);
    if (asked->index)
        made.dim =
            opspace_find_index(program_space(p->inferred, made.place), str_from(asked->index));
    if (decision_pins_dim(asked->kind)) {
        int64_t size = on_op ? program_space(p->inferred, made.place)->index[made.dim].size
                             : inferred_shape(p->inferred, made.place)->dim[made.dim];
        cut = planning_cut(p, size, asked->axes, 1);
        made.cut = &cut;
    } else if (asked->axes)
        made.axes = mesh_axis_atoms(p->mesh, strcmp(asked->axes, "tp") == 0 ? TP : DP);
    made.pass = PASS_NONE;
    if (asked->last) {
        made.last = op_of(p, asked->last);
        made.devices = (SubMesh){.fixed = mesh_axis_atoms(p->mesh, DP)};
    }
    made.number = asked->number;
    made.schedule = "1f1b";
    made.pattern = asked->place;
    made.assumed = asked->assumed;
    made.origin = (Origin){.kind = ORIGIN_POLICY,
                           .file = "p.lua",
                           .line = p->journal.n_done + 1,
                           .text = asked->place};
    journal_add(&p->journal, p->arena, &made);
}

/* ---- what a plan that obeys looks like ---- */

static AtomSet sharded_by(const Planning *p, const char *tensor)
{
    const Sharding *sharding = plan_sharding(p->plan, tensor_of(p, tensor));
    return cuts_used(sharding->dim, sharding->n_dims, -1);
}

static bool is_sharded(const Planning *p, const KindRow *row)
{
    return (sharded_by(p, row->seen) & mesh_axis_atoms(p->mesh, row->axis)) != 0;
}

static bool is_not_sharded(const Planning *p, const KindRow *row)
{
    return !is_sharded(p, row);
}

static bool op_is_sharded(const Planning *p, const KindRow *row)
{
    const OpCut *cut = program_cut(p->plan, op_of(p, row->seen));
    return (cuts_used(cut->index, cut->n, -1) & mesh_axis_atoms(p->mesh, row->axis)) != 0;
}

static bool op_is_not_sharded(const Planning *p, const KindRow *row)
{
    return !op_is_sharded(p, row);
}

static bool is_partial(const Planning *p, const KindRow *row)
{
    return (sharding_partials(plan_sharding(p->plan, tensor_of(p, row->seen))) &
            mesh_axis_atoms(p->mesh, row->axis)) != 0;
}

static bool is_made_partial(const Planning *p, const KindRow *row)
{
    int32_t made = p->plan->moved->made[tensor_of(p, row->seen)];
    return (sharding_partials(shardings_at(p->plan->shardings, made)) &
            mesh_axis_atoms(p->mesh, row->axis)) != 0;
}

static bool is_as_its_twin(const Planning *p, const KindRow *row)
{
    return strcmp(planning_sharding(p, row->seen, false), planning_sharding(p, row->twin, false)) ==
           0;
}

static bool has_two_stages(const Planning *p, const KindRow *row)
{
    return stage_of(p->plan, op_of(p, row->seen)) == 1;
}

static bool is_on_some_devices(const Planning *p, const KindRow *row)
{
    return p->plan->decided->submeshes[plan_devices(p->plan, op_of(p, row->seen))].fixed != 0;
}

static bool is_recomputed(const Planning *p, const KindRow *row)
{
    return recompute_group(p->plan, op_of(p, row->seen)) >= 0;
}

static bool has_micro_batches(const Planning *p, const KindRow *row)
{
    const Stages *stages = p->plan->decided->stages;
    return stages && stages->n_micro_batches == row->asked.number;
}

#define PIN(tensor, dim_, axes_)                                                                   \
    {                                                                                              \
        .kind = PIN_TENSOR_DIM, .place = tensor, .dim = dim_, .axes = axes_                        \
    }
#define MARK(kind_, tensor, ...)                                                                   \
    {                                                                                              \
        .kind = kind_, .place = tensor, .dim = -1, __VA_ARGS__                                     \
    }
#define ON(kind_, op, ...)                                                                         \
    {                                                                                              \
        .kind = kind_, .place = op, __VA_ARGS__                                                    \
    }

static KindRow rows[] = {
    {"pin of a tensor's dim", {{0}}, PIN("in1", 1, "tp"), is_sharded, "in1", NULL, TP},
    {"pin of an index dim",
     {{0}},
     ON(PIN_INDEX_DIM, "m", .index = "n", .axes = "tp"),
     op_is_sharded,
     "m",
     NULL,
     TP},
    {"unpin of a tensor's dim",
     {PIN("in1", 1, "tp")},
     ON(UNPIN_TENSOR_DIM, "in1", .dim = 1),
     is_not_sharded,
     "in1",
     NULL,
     TP},
    {"unpin of an index dim",
     {ON(PIN_INDEX_DIM, "m", .index = "n", .axes = "tp")},
     ON(UNPIN_INDEX_DIM, "m", .index = "n"),
     op_is_not_sharded,
     "m",
     NULL,
     TP},
    {"replicated parameter",
     {PIN("in1", 1, "tp")},
     MARK(PIN_REPLICATED, "in2", .axes = "tp"),
     is_not_sharded,
     "in2",
     NULL,
     TP},
    {"replicated value",
     {PIN("in1", 1, "tp")},
     MARK(PIN_REPLICATED, "g", .axes = "tp"),
     is_not_sharded,
     "g",
     NULL,
     TP},
    {"unreduced value",
     {PIN("in1", 1, "tp"), PIN("in2", 0, "tp")},
     MARK(PIN_UNREDUCED, "n", .axes = "tp"),
     is_partial,
     "n",
     NULL,
     TP},
    {"group with a pinned parameter",
     {PIN("in1", 1, "tp"), MARK(PIN_GROUP, "in3", .group = "w")},
     MARK(PIN_GROUP, "in1", .group = "w"),
     is_as_its_twin,
     "in3",
     "in1",
     TP},
    {"group of parameters that one use shards",
     {ON(PIN_INDEX_DIM, "m", .index = "n", .axes = "tp"), MARK(PIN_GROUP, "in1", .group = "w")},
     MARK(PIN_GROUP, "in3", .group = "w"),
     is_as_its_twin,
     "in3",
     "in1",
     TP},
    {"group of values",
     {PIN("in1", 1, "tp"), MARK(PIN_GROUP, "m", .group = "v")},
     MARK(PIN_GROUP, "k", .group = "v"),
     is_as_its_twin,
     "k",
     "m",
     TP},
    {"barrier",
     {PIN("in0", 0, "dp")},
     MARK(PIN_BARRIER, "m", .number = 0),
     is_not_sharded,
     "g",
     NULL,
     DP},
    {"unmark",
     {PIN("in1", 1, "tp"), MARK(PIN_REPLICATED, "g", .axes = "tp")},
     MARK(UNPIN_TENSOR, "g", .number = 0),
     is_sharded,
     "g",
     NULL,
     TP},
    {"stage", {{0}}, ON(PIN_STAGE, "n", .number = 0), has_two_stages, "n", NULL, DP},
    {"devices", {{0}}, ON(PIN_DEVICES, "m", .last = "m"), is_on_some_devices, "m", NULL, DP},
    {"recompute", {{0}}, ON(PIN_RECOMPUTE, "m", .last = "g"), is_recomputed, "g", NULL, DP},
    {"schedule",
     {ON(PIN_STAGE, "n", .number = 0)},
     ON(PIN_SCHEDULE, "n", .number = 4),
     has_micro_batches,
     "n",
     NULL,
     DP},
    {"assumed partial",
     {{0}},
     ON(PIN_ASSUMED, "m", .axes = "tp", .assumed = ASSUMED_PARTIAL),
     is_made_partial,
     "m",
     NULL,
     TP},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* ---- the table: kinds x propagators ---- */

static Planning *plan_of(const KindRow *row, const Propagator *propagator, bool asked)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, NET, 17);
    planning_infer(p, "", "dp=2,tp=2");
    p->propagator = propagator;
    for (int i = 0; i < 3 && row->before[i].place; i++)
        decide(p, &row->before[i]);
    if (asked)
        decide(p, &row->asked);
    planning_make(p);
    return p;
}

/* The finding that refuses the last decision, which is of this kind; NULL if there is none. */
static const Finding *refusal_of(const Planning *p, DecisionKind kind)
{
    const char *quoted = arena_printf(p->arena, "'%s'", decision_kind_name(kind));
    for (int i = 0; i < p->plan->findings.n; i++)
        if (strcmp(p->plan->findings.at[i].code, "not-obeyed") == 0 &&
            p->plan->findings.at[i].line == p->journal.n_done &&
            strstr(p->plan->findings.at[i].text, quoted))
            return &p->plan->findings.at[i];
    return NULL;
}

static bool same_plan(const Planning *a, const Planning *b)
{
    bool same = a->plan->moved->n_reshards == b->plan->moved->n_reshards;
    for (int t = 0; same && t < a->graph->n_tensors; t++)
        if (a->plan->moved->sharding[t] >= 0)
            same = sharding_equal(plan_sharding(a->plan, t), plan_sharding(b->plan, t));
    return same;
}

/* What is unpinned or unmarked must have held. */
static bool takes_it_back(const KindRow *row, const Propagator *propagator)
{
    bool back = row->asked.kind == UNPIN_TENSOR || row->asked.kind == UNPIN_TENSOR_DIM ||
                row->asked.kind == UNPIN_INDEX_DIM;
    return back &&
           (!(propagator->obeys & OBEYS(row->before[0].kind)) || !propagator_spreads(propagator));
}

static void it_is_obeyed_or_refused_by_name(void **state)
{
    const KindRow *row = *state;
    for (int i = 0; propagator_at(i); i++) {
        const Propagator *it = propagator_at(i);
        if (takes_it_back(row, it))
            continue;
        Planning *plain = plan_of(row, it, false), *asked = plan_of(row, it, true);
        const Finding *refusal = refusal_of(asked, row->asked.kind);
        if (refusal) {
            assert_int_equal(it->obeys & OBEYS(row->asked.kind), 0);
            assert_non_null(strstr(refusal->text, it->name));
            assert_non_null(strstr(refusal->text, it->profile));
            if (!same_plan(plain, asked))
                fail_msg("%s:%s refuses it, but its plan changes", it->name, it->profile);
        } else if (!row->obeyed(asked, row) ||
                   (row->asked.kind != UNPIN_TENSOR && row->obeyed(plain, row)))
            fail_msg("%s:%s neither obeys nor refuses it: %s is %s, was %s", it->name, it->profile,
                     row->seen, planning_sharding(asked, row->seen, false),
                     planning_sharding(plain, row->seen, false));
        planning_close(plain);
        planning_close(asked);
    }
}

static void default_propagator_obeys_every_kind(void **state)
{
    (void)state;
    for (int kind = 0; kind < DECISION_KIND_COUNT; kind++) {
        bool tried = false;
        for (int i = 0; i < N_ROWS; i++)
            tried |= (int)rows[i].asked.kind == kind;
        assert_true(tried);
    }
    for (int i = 0; i < N_ROWS; i++) {
        Planning *p = plan_of(&rows[i], propagator_at(0), true);
        assert_null(refusal_of(p, rows[i].asked.kind));
        assert_true(rows[i].obeyed(p, &rows[i]));
        planning_close(p);
    }
}

/* A program that was built without the peer tells it from a misspelled name by these words. */
static void known_peers_have_what_built_ones_have(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    int n_built = 0;
    for (const Peer *const *peer = built_peers; *peer; peer++, n_built++) {
        const KnownPeer *known = known_peers;
        while (known->name && strcmp(known->name, (*peer)->name) != 0)
            known++;
        assert_non_null(known->name);
        Buf words = buf_new(arena), exports = buf_new(arena);
        for (const Propagator *const *it = (*peer)->propagators; it && *it; it++)
            buf_printf(&words, "%s%s:%s", words.n > 0 ? " " : "", (*it)->name, (*it)->profile);
        for (const ExportFormat *it = (*peer)->code; it && it->name; it++)
            buf_printf(&exports, "%s%s", exports.n > 0 ? " " : "", it->name);
        assert_string_equal(known->propagators, words.n > 0 ? words.s : "");
        assert_string_equal(known->exports, exports.n > 0 ? exports.s : "");
    }
    assert_true(n_built > 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(default_propagator_obeys_every_kind),
                                       cmocka_unit_test(known_peers_have_what_built_ones_have)};
    return run_rows("kinds", rows, it_is_obeyed_or_refused_by_name) +
           cmocka_run_group_tests_name("default", tests, NULL, NULL);
}
