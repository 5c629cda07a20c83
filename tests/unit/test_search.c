/* The search of plans on a mesh: its costs are those of plans, its answer is the best of all
 * assignments, and what it decides replays. */
#include "tests/unit/hooked.h"

#include "core/cost/pipeline.h"
#include "core/search/decide.h"
#include "core/search/policy.h"
#include "core/search/search.h"
#include "core/session/make.h"
#include "core/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define GPT "samples/models/tiny-gpt.onnx"
#define LLAMA "samples/models/llama-3-tiny.json"

#define LUA_FILE "/tmp/dimscope_search_XXXXXX.lua"

/* Makes a file of its own of that name, with the text. */
static void write_lua(char *path, Str text)
{
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    assert_true(file_write(path, text, NULL));
}

static Session *open_session(const Hooked *f, const char *model, const char *mesh,
                             const char *policy, const char *train)
{
    SessionOptions options = {.model = model, .mesh = mesh, .policy = policy, .train = train};
    Error err = {0};
    Session *session = session_open(&options, &f->hooks, &err);
    if (!session)
        print_message("%s: %s\n", model, err.text);
    assert_non_null(session);
    return session;
}

static SearchResult search(const Hooked *f, const SearchRequest *request)
{
    SearchResult result;
    Error err = {0};
    bool ok = search_plan(f->arena, request, &result, &err);
    if (!ok)
        print_message("%s\n", err.text);
    assert_true(ok);
    return result;
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-6 * fabs(b))
        print_message("%.9g is not %.9g\n", a, b);
    assert_true(fabs(a - b) <= 1e-6 * fabs(b));
}

/* ---- costs ---- */

static const struct {
    const char *model, *mesh, *policy, *train;
} plans[] = {
    {GPT, "dp=2,tp=2", NULL, NULL},
    {GPT, "dp=2,tp=2", "megatron", NULL},
    {GPT, "dp=2,tp=2", "megatron_sp", NULL},
    {GPT, "dp=2,tp=2", "fsdp", NULL},
    {GPT, "dp=2,tp=2", "megatron", "adamw"},
    {GPT, "dp=2,tp=2", "megatron_sp", "adamw"},
    {GPT, "dp=2,tp=2", "fsdp", "adamw"},
    {GPT, "dp=2,tp=2", "dp", "sgd"},
    {LLAMA, "dp=2,tp=4", "megatron", "adamw"},
    {LLAMA, "dp=2,tp=4", "fsdp", "adamw"},
    {LLAMA, "dp=4,tp=2", "tp", "adamw"},
};

/* What the choices of a plan add up to. */
static double sum_of_plan(const Hooked *f, const Session *session, const InstanceOptions *how)
{
    const Plan *own = session->plan;
    SearchMemo *memo = search_memo_new();
    InstanceOptions options = *how;
    options.plans = &own;
    options.n_plans = 1;
    options.memo = memo;
    Instance *instance = instance_make(f->arena, session, &options, NULL);
    assert_non_null(instance);
    assert_true(!instance->apart || how->together_most > 0);
    prices_take(memo->prices, own);
    instance_weigh(instance, COST_OF_PLAN);
    const bool **allowed = arena_array(f->arena, const bool *, instance->nodes.n);
    assert_true(choices_of_plan(f->arena, instance, own, allowed));
    int32_t **kept;
    SolveProblem problem = instance_restricted(f->arena, instance, allowed, &kept);
    SolveAnswer answer;
    assert_true(solve(f->arena, &problem, &(SolveOptions){0}, &answer, NULL));
    assert_int_equal(answer.outcome, SOLVE_CHOICE);
    search_memo_free(memo);
    return answer.objective;
}

/* What the search adds up for the choices of a plan is the plan's own time without overlap, and
 * without a schedule that is all of its time. Coarse choices count what readers share for each, and
 * readers that pay apart never more than together. */
static void adds_up_what_plans_cost(void **state)
{
    (void)state;
    static const InstanceOptions coarse = {.coarse = true}, apart = {.together_most = 1};
    int n_more = 0;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        Hooked f = hooked_new();
        Session *session =
            open_session(&f, plans[i].model, plans[i].mesh, plans[i].policy, plans[i].train);
        const Plan *own = session->plan;
        double us = sum_of_plan(&f, session, &(InstanceOptions){0});
        double coarse_us = sum_of_plan(&f, session, &coarse);
        double apart_us = sum_of_plan(&f, session, &apart);
        assert_near(us, own->priced->totals.step_us);
        if (own->decided->stages)
            assert_true(plan_step_us(own) < own->priced->totals.step_us);
        else
            assert_near(us, plan_step_us(own));
        assert_true(coarse_us >= us * (1 - 1e-6));
        assert_true(apart_us <= us * (1 + 1e-6));
        n_more += coarse_us > us * (1 + 1e-6);
        session_close(session);
        hooked_free(&f);
    }
    assert_true(n_more > 0);
}

/* Whatever of it the time allows is a plan no worse than the one before, and a bound of all choices
 * is a bound. */
static void ends_in_time(void **state)
{
    (void)state;
    static const double seconds[] = {1e-6, .003, .01, .03, .1, 60};
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "a=2,b=2,c=2", NULL, "adamw");
    SearchResult whole = search(&f, &(SearchRequest){.session = session});
    assert_true(whole.proven && !whole.coarse);
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        SearchResult result =
            search(&f, &(SearchRequest){.session = session, .seconds = seconds[i]});
        assert_int_equal(result.outcome, SEARCH_PLAN);
        assert_true(result.cost_us <= result.before_us);
        assert_true(result.cost_us >= whole.cost_us * (1 - 1e-6));
        assert_true(result.bound_us <= whole.cost_us * (1 + 1e-6));
        assert_true(!result.coarse || (!result.proven && result.bound_us <= 0));
    }
    session_close(session);
    hooked_free(&f);
}

/* ---- answers ---- */

/* The bound knows what no path takes less than, also where axes have many parts. */
static void proves_on_meshes_of_many_parts(void **state)
{
    (void)state;
    static const char *const meshes[] = {"dp=8,tp=16", "dp=16,tp=32"};
    for (size_t i = 0; i < COUNT_OF(meshes); i++) {
        Hooked f = hooked_new();
        Session *session = open_session(&f, GPT, meshes[i], NULL, "adamw");
        SearchResult result = search(&f, &(SearchRequest){.session = session});
        assert_true(result.proven);
        assert_near(result.parts.model_us, result.cost_us);
        session_close(session);
        hooked_free(&f);
    }
}

/* A value that a policy pins is moved to its pin, and so is what is computed again of it. */
static void pins_hold_for_what_runs_again(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, LLAMA, "dp=2,tp=4", "megatron", "adamw");
    SearchResult result = search(&f, &(SearchRequest){.session = session});
    assert_true(result.proven);
    assert_near(result.parts.model_us, result.cost_us);
    session_close(session);
    hooked_free(&f);
}

/* No plan of a shipped policy is better, and the plan of the decisions costs what is said. */
static void beats_the_policies(void **state)
{
    (void)state;
    static const char *const policies[] = {"megatron", "megatron_sp", "fsdp", "dp", "tp"};
    static const char *const trains[] = {NULL, "adamw"};
    for (int t = 0; t < 2; t++) {
        Hooked f = hooked_new();
        Session *session = open_session(&f, GPT, "dp=2,tp=2", NULL, trains[t]);
        SearchResult result = search(&f, &(SearchRequest){.session = session});
        assert_int_equal(result.outcome, SEARCH_PLAN);
        assert_true(result.proven);
        assert_near(result.parts.model_us, result.cost_us);
        assert_near(result.bound_us, result.cost_us);
        assert_true(session_apply(session, result.decisions, result.n_decisions, NULL));
        assert_near(plan_step_us(session->plan), result.cost_us);
        assert_true(plan_is_legal(session->plan));
        session_close(session);
        for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
            session = open_session(&f, GPT, "dp=2,tp=2", policies[i], trains[t]);
            assert_true(result.cost_us <= session->plan->priced->totals.step_us * (1 + 1e-9));
            session_close(session);
        }
        hooked_free(&f);
    }
}

/* Pins hold: the answer under a policy keeps its cuts of weights, and costs no less than the answer
 * without. */
static void obeys_pins(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "dp=2,tp=2", NULL, "adamw");
    SearchResult open = search(&f, &(SearchRequest){.session = session});
    session_close(session);
    session = open_session(&f, GPT, "dp=2,tp=2", "megatron", "adamw");
    double before = plan_step_us(session->plan);
    int n_pins = session->plan->decided->n_pins;
    SearchResult result = search(&f, &(SearchRequest){.session = session});
    assert_true(result.proven);
    assert_true(result.cost_us >= open.cost_us * (1 - 1e-9));
    assert_true(result.cost_us <= before * (1 + 1e-9));
    assert_true(session_apply(session, result.decisions, result.n_decisions, NULL));
    assert_near(plan_step_us(session->plan), result.cost_us);
    assert_true(session->plan->decided->n_pins >= n_pins);
    session_close(session);
    hooked_free(&f);
}

/* ---- other meshes ---- */

#define CONV "samples/models/tiny-conv.onnx"

static const struct {
    const char *model, *mesh, *policy, *train;
} others[] = {
    {GPT, "dp=4,tp=4", NULL, "adamw"},       {GPT, "a=16", NULL, NULL},
    {GPT, "dp=2,cp=2,tp=2", "tp", NULL},     {GPT, "dp=3,tp=4", NULL, "sgd"},
    {GPT, "dp=4,b=2", "dp", "adamw"},        {LLAMA, "dp=16", NULL, "adamw"},
    {LLAMA, "a=2,b=8", NULL, NULL},          {LLAMA, "dp=4,b=4", "dp", NULL},
    {LLAMA, "dp=2,tp=4", "megatron", "sgd"}, {CONV, "dp=2,tp=8", NULL, NULL},
    {CONV, "dp=4,tp=4", NULL, "adamw"},      {CONV, "dp=3,tp=5", NULL, NULL},
    {LLAMA, "dp=2,tp=8", "tp", "sgd"},
};

/* Plans have moves that split axes, such as all-gathers over half of tp: the answer's cost and the
 * bound know them. */
static void is_proven_where_moves_split_axes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        Hooked f = hooked_new();
        Session *session =
            open_session(&f, others[i].model, others[i].mesh, others[i].policy, others[i].train);
        SearchResult result = search(&f, &(SearchRequest){.session = session});
        if (!result.proven)
            print_message("%s %s\n", others[i].model, others[i].mesh);
        assert_true(result.proven);
        assert_near(result.parts.model_us, result.cost_us);
        assert_near(result.bound_us, result.cost_us);
        assert_true(session_apply(session, result.decisions, result.n_decisions, NULL));
        assert_near(plan_step_us(session->plan), result.cost_us);
        session_close(session);
        hooked_free(&f);
    }
}

static const struct {
    const char *model, *mesh, *policy, *train;
} hidden[] = {
    {GPT, "dp=2,tp=2", "fsdp", "adamw"},
    {CONV, "dp=4,tp=4", "fsdp", "adamw"},
    {GPT, "dp=8,tp=16", "fsdp", "adamw"},
    {LLAMA, "dp=8,tp=16", "megatron", "adamw"},
};

/* Where ops hide traffic of parameters, or the mesh has more atoms than moves are settled on: the
 * search adds up the plan's ops and moves, and no plan is below its bound. */
static void adds_up_the_plan_it_finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        Hooked f = hooked_new();
        Session *session =
            open_session(&f, hidden[i].model, hidden[i].mesh, hidden[i].policy, hidden[i].train);
        SearchResult result = search(&f, &(SearchRequest){.session = session});
        assert_near(result.parts.model_us, result.sum_us);
        assert_true(result.bound_us <= result.cost_us * (1 + 1e-6));
        assert_true(session_apply(session, result.decisions, result.n_decisions, NULL));
        assert_near(plan_step_us(session->plan), result.cost_us);
        assert_near(session->plan->priced->totals.step_us, result.sum_us);
        session_close(session);
        hooked_free(&f);
    }
}

/* Where moves that readers share are too many for a node of their own, what is near the best plan
 * is laid out again: the answer is the same, and so is what other choices cost at least, or less.
 */
static void proves_the_same_by_parts(void **state)
{
    (void)state;
    int n_less = 0;
    for (size_t i = 0; i < COUNT_OF(plans); i++) {
        Hooked f = hooked_new();
        Session *session =
            open_session(&f, plans[i].model, plans[i].mesh, plans[i].policy, plans[i].train);
        SearchRequest request = {.session = session, .price_choices = true};
        SearchResult whole = search(&f, &request);
        request.together_most = 1;
        SearchResult parts = search(&f, &request);
        assert_int_equal(whole.proven, parts.proven);
        assert_near(parts.cost_us, whole.cost_us);
        assert_near(parts.parts.model_us, whole.parts.model_us);
        for (int j = 0; j < parts.n_by_op; j++)
            for (int k = 0; k < whole.n_by_op; k++) {
                const SearchDecision *a = &parts.by_op[j], *b = &whole.by_op[k];
                if (a->op != b->op || a->tensor != b->tensor)
                    continue;
                n_less += a->next_us < b->next_us * (1 - 1e-6);
                assert_true(a->next_us < INFINITY || b->next_us == INFINITY);
            }
        session_close(session);
        hooked_free(&f);
    }
    assert_true(n_less > 0);
}

/* Whether an error among the plan's findings begins with the op's name. */
static bool is_named(const Plan *plan, int32_t op)
{
    const char *name = op_name(plan->inferred->graph, op);
    bool named = false;
    for (int i = 0; i < plan->findings.n; i++)
        named |= plan->findings.at[i].level == LEVEL_ERROR &&
                 strncmp(plan->findings.at[i].text, name, strlen(name)) == 0;
    return named;
}

/* Two dims of one op cannot be sharded by one axis: of two such pins the first holds, as in a plan,
 * and the op keeps a legal choice. */
static void pins_that_contradict_leave_a_choice(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "dp=2,tp=2", NULL, NULL);
    const Inferred *inferred = session->inferred;
    int32_t op = -1;
    for (int i = 0; i < inferred->n_program && op < 0; i++)
        if (program_space(inferred, inferred->program[i])->n_index == 3)
            op = inferred->program[i];
    assert_true(op >= 0);
    Cut cut[2];
    Decision pins[2];
    for (int d = 0; d < 2; d++) {
        int dim = 1 + d;
        cut[d] =
            cut_by(program_space(inferred, op)->index[dim].size, (uint8_t[]){0}, 1, session->mesh);
        pins[d] = (Decision){.kind = PIN_INDEX_DIM,
                             .place = op,
                             .dim = dim,
                             .cut = &cut[d],
                             .origin = {.kind = ORIGIN_USER, .file = "", .text = "pin"}};
    }
    assert_true(session_apply(session, pins, 2, NULL));
    SearchResult result = search(&f, &(SearchRequest){.session = session});
    assert_true(result.proven);
    assert_true(session_apply(session, result.decisions, result.n_decisions, NULL));
    const OpCut *has = plan_cut(session->plan, op);
    assert_true(cut_equal(&has->index[1], &cut[0]));
    assert_false(cut_equal(&has->index[2], &cut[1]));
    assert_true(is_named(session->plan, op));
    session_close(session);
    hooked_free(&f);
}

/* A pin on a dim that the op's rule freezes: a finding names the op, and the answer is that without
 * the pin. */
static void pins_of_frozen_dims_are_named(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "dp=2,tp=2", NULL, NULL);
    SearchResult open = search(&f, &(SearchRequest){.session = session});
    const Inferred *inferred = session->inferred;
    int32_t op = -1;
    int dim = 0;
    for (int i = 0; i < inferred->n_program && op < 0; i++)
        for (int j = 0; j < program_space(inferred, inferred->program[i])->n_index; j++)
            if (program_space(inferred, inferred->program[i])->index[j].role == ROLE_FROZEN) {
                op = inferred->program[i];
                dim = j;
            }
    assert_true(op >= 0);
    Cut cut =
        cut_by(program_space(inferred, op)->index[dim].size, (uint8_t[]){0}, 1, session->mesh);
    Decision pin = {.kind = PIN_INDEX_DIM,
                    .place = op,
                    .dim = dim,
                    .cut = &cut,
                    .origin = {.kind = ORIGIN_USER, .file = "", .text = "pin"}};
    assert_true(session_apply(session, &pin, 1, NULL));
    assert_true(is_named(session->plan, op));
    SearchResult result = search(&f, &(SearchRequest){.session = session});
    assert_true(result.proven);
    assert_near(result.cost_us, open.cost_us);
    session_close(session);
    hooked_free(&f);
}

/* ---- every assignment ---- */

#define MODEL_OF(body) "function MODEL(model)\n" body "end\n"
#define FIRST                                                                                      \
    "local x = model:input('x', 'f32', {8, 64})\n"                                                 \
    "local w = model:param('w', {64, 256}, 'f32')\n"                                               \
    "local y = model:op('Relu', {model:op('MatMul', {x, w})})\n"
#define SECOND                                                                                     \
    "local v = model:param('v', {256, 64}, 'f32')\n"                                               \
    "local z = model:op('Add', {model:op('MatMul', {y, v}), x})\n"

#define HALVES /* each op reads a part of y */                                                     \
    "local a = model:op('Slice', {y, {0}, {128}, {1}})\n"                                          \
    "local b = model:op('Slice', {y, {128}, {256}, {1}})\n"                                        \
    "model:output(model:op('Mul', {a, b}), 'out')\n"
#define WINDOWS                                                                                    \
    "local x = model:input('x', 'f32', {1, 3, 2048, 1024})\n"                                      \
    "local w = model:param('w', {3, 3, 3, 3}, 'f32')\n"                                            \
    "local y = model:op('Conv', {x, w}, {pads = {1, 1, 1, 1}})\n"                                  \
    "local z = model:op('MaxPool', {y}, {kernel_shape = {3, 3}, pads = {1, 1, 1, 1}})\n"           \
    "model:output(z, 'out')\n"

static const struct {
    const char *model, *mesh;
    int n_plans; /* there are more */
} brutes[] = {
    {MODEL_OF(FIRST HALVES), "a=2", 300},
    {MODEL_OF(FIRST HALVES), "a=4", 300},
    {MODEL_OF(WINDOWS), "a=2", 35},
    {MODEL_OF(WINDOWS), "a=8", 35},
    {MODEL_OF(WINDOWS), "a=2,b=2", 800},
    {MODEL_OF(FIRST SECOND "model:output(z, 'out')\n"), "a=2", 100},
    {MODEL_OF(FIRST SECOND "model:output(z, 'out')\n"), "a=8", 100},
    {MODEL_OF(FIRST "model:output(model:op('Softmax', {y}), 'out')\n"), "a=2,b=2", 100},
};

typedef struct {
    const Hooked *f;
    const Session *session;
    const Instance *instance;
    Decisions pins;
    double best_us;
    int n_plans;
} Brute;

/* Plans every combination of cuts of the ops from number `at` on. */
static void try_all(Brute *b, int at)
{
    const Inferred *inferred = b->instance->inferred;
    if (at == inferred->n_program) {
        Journal journal = session_journal_with(b->session, b->f->arena, b->pins.at, b->pins.n);
        PlanRequest request = session_request(b->session, &journal);
        Plan *plan = plan_make(&request, NULL);
        assert_non_null(plan);
        b->best_us = fmin(b->best_us, plan_step_us(plan));
        b->n_plans++;
        plan_free(plan);
        return;
    }
    int32_t op = inferred->program[at];
    const CutList *cuts = &b->instance->cuts[op];
    for (int c = 0; c < cuts->n; c++) {
        int n = b->pins.n;
        for (int j = 0; j < cuts->at[c]->n; j++)
            vec_push(b->f->arena, &b->pins,
                     (Decision){.kind = PIN_INDEX_DIM,
                                .place = op,
                                .dim = j,
                                .cut = &cuts->at[c]->index[j],
                                .origin = {.kind = ORIGIN_USER, .file = "", .text = ""}});
        try_all(b, at + 1);
        b->pins.n = n;
    }
}

/* The same for every way in which the input may be given. */
static void try_inputs(Brute *b)
{
    const Instance *instance = b->instance;
    int32_t input = instance->inferred->graph->inputs[0], node = instance->node_of_tensor[input];
    try_all(b, 0);
    for (int32_t c = 0; node >= 0 && c < instance->nodes.at[node].n; c++) {
        const Sharding *as =
            shardings_at(instance->as->shardings, instance->nodes.at[node].sharding[c]);
        b->pins.n = 0;
        for (int d = 0; d < as->n_dims; d++)
            vec_push(b->f->arena, &b->pins,
                     (Decision){.kind = PIN_TENSOR_DIM,
                                .place = input,
                                .dim = d,
                                .cut = &as->dim[d],
                                .origin = {.kind = ORIGIN_USER, .file = "", .text = ""}});
        try_all(b, 0);
    }
}

static void is_the_best_of_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof brutes / sizeof *brutes; i++) {
        Hooked f = hooked_new();
        char path[] = LUA_FILE;
        write_lua(path, str_from(brutes[i].model));
        Session *session = open_session(&f, path, brutes[i].mesh, NULL, NULL);
        SearchMemo *memo = search_memo_new();
        InstanceOptions options = {.unfold = true, .memo = memo};
        Instance *instance = instance_make(f.arena, session, &options, NULL);
        Brute brute = {&f, session, instance, {0}, INFINITY, 0};
        try_inputs(&brute);
        SearchResult result = search(&f, &(SearchRequest){.session = session, .unfold = true});
        assert_true(result.proven);
        assert_true(brute.n_plans > brutes[i].n_plans);
        assert_near(result.cost_us, brute.best_us);
        result =
            search(&f, &(SearchRequest){.session = session, .unfold = true, .together_most = 1});
        assert_true(result.proven);
        assert_near(result.cost_us, brute.best_us);
        search_memo_free(memo);
        session_close(session);
        unlink(path);
        hooked_free(&f);
    }
}

#define PARTED(body)                                                                               \
    MODEL_OF("local x = model:input('x', 'f32', {4194304})\n"                                      \
             "local y = model:op('Relu', {x})\n" body)

static const char *const parted[] = {
    PARTED("local both = model:op('Concat', {y, model:op('Neg', {x})}, {axis = 0})\n"
           "model:output(model:op('Relu', {both}), 'out')\n"),
    PARTED("local a = model:op('Slice', {y, {0}, {2097152}, {0}})\n"
           "local b = model:op('Slice', {y, {2097152}, {3145728}, {0}})\n"
           "local c = model:op('Slice', {y, {3145728}, {4194304}, {0}})\n"
           "model:output(model:op('Relu', {a}), 'a')\n"
           "model:output(model:op('Relu', {b}), 'b')\n"
           "model:output(model:op('Relu', {c}), 'c')\n"),
    PARTED("local a, b = model:op('Split', {y, {3145728, 1048576}}, {axis = 0}, 2)\n"
           "model:output(model:op('Relu', {a}), 'a')\n"
           "model:output(model:op('Relu', {b}), 'b')\n"),
};

/* A dim that values are joined to or cut out of is sharded part by part, and nothing is moved. */
static void shards_parts_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(parted); i++) {
        Hooked f = hooked_new();
        char path[] = LUA_FILE;
        write_lua(path, str_from(parted[i]));
        Session *session = open_session(&f, path, "a=2,b=2", NULL, NULL);
        SearchResult result = search(&f, &(SearchRequest){.session = session});
        assert_true(result.proven);
        assert_true(session_apply(session, result.decisions, result.n_decisions, NULL));
        assert_true(session->plan->priced->totals.comm_us <= 0);
        assert_true(result.cost_us < .5 * result.before_us);
        session_close(session);
        unlink(path);
        hooked_free(&f);
    }
}

/* Bytes of memory a second, FLOP a second, microseconds of latency, bytes of a link a second */
#define MACHINE(memory, flops, latency, link)                                                      \
    "return {name = 'm', source = '-', devices_per_node = 64, memory_bytes = 4e9, "                \
    "memory_bytes_per_s = " memory ", flops_per_s = {f32 = " flops "}, launch_us = 0, "            \
    "inside = {name = 'in', latency_us = " latency ", bytes_per_s = " link "}, "                   \
    "between = {name = 'out', latency_us = " latency ", bytes_per_s = " link "}}\n"

static const struct {
    const char *model, *train, *machine;
} chosen[] = {
    {"tests/families/mamba-dyn.onnx", NULL, MACHINE("1e9", "1e11", "0.1", "5e9")},
    {"tests/families/clip-dyn.onnx", "adamw", MACHINE("1e10", "1e10", "5", "3e11")},
};

/* On links as fast as memory much is sharded: a tied weight that one reader reads in parts stays
 * whole although its view is pinned, and a bias that many ops share gets one sum of what lies
 * differently. Decisions lead to a plan that costs what was chosen. */
static void plans_what_was_chosen(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(chosen); i++) {
        Hooked f = hooked_new();
        char path[] = LUA_FILE;
        write_lua(path, str_from(chosen[i].machine));
        SessionOptions options = {
            .model = chosen[i].model, .mesh = "a=2,b=2", .train = chosen[i].train, .machine = path};
        Session *session = session_open(&options, &f.hooks, NULL);
        assert_non_null(session);
        SearchResult result = search(&f, &(SearchRequest){.session = session});
        assert_true(result.proven);
        assert_near(result.parts.model_us, result.cost_us);
        session_close(session);
        unlink(path);
        hooked_free(&f);
    }
}

#define NORM(y, x, n)                                                                              \
    "local " y " = model:op('LayerNormalization', {" x ", model:param('s" n "', {256}, 'f32'), "   \
    "model:param('b" n "', {256}, 'f32')})\n"

/* Two norms whose gradients have one index space each. The first norms an input: no gradient of it
 * is made, and with it those of its scale and bias, which then take time of their own. */
static void gradients_alike_may_cost_differently(void **state)
{
    (void)state;
    static const char model[] = MODEL_OF("local x = model:input('x', 'f32', {64, 256})\n" NORM(
        "y", "x", "1") "local z = model:op('MatMul', {y, model:param('w', {256, 256}, "
                       "'f32')})\n" NORM("n", "z", "2") "model:output(n, 'out')\n");
    Hooked f = hooked_new();
    char path[] = LUA_FILE;
    write_lua(path, str_from(model));
    Session *session = open_session(&f, path, "dp=2,tp=2", NULL, "sgd");
    SearchResult result = search(&f, &(SearchRequest){.session = session});
    assert_true(result.proven);
    assert_near(result.parts.model_us, result.cost_us);
    session_close(session);
    unlink(path);
    hooked_free(&f);
}

/* ---- prices of other choices ---- */

/* With the op cut as it was decided forbidden, no plan is nearer than the price. */
static void prices_other_choices(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "dp=2,tp=2", NULL, NULL);
    SearchResult result = search(&f, &(SearchRequest){.session = session, .price_choices = true});
    assert_true(result.n_by_op > 0);
    for (int i = 0; i < result.n_by_op; i++)
        assert_true(result.by_op[i].next_us >= -1e-6 * result.cost_us);
    double own = plan_step_us(session->plan); /* in which some op is cut otherwise */
    double least = INFINITY;
    for (int i = 0; i < result.n_by_op; i++) {
        if (result.by_op[i].op < 0)
            continue;
        const OpCut *cut = plan_cut(session->plan, result.by_op[i].op);
        for (int d = 0; d < result.n_decisions; d++)
            if (result.decisions[d].place == result.by_op[i].op &&
                !cut_equal(&cut->index[result.decisions[d].dim], result.decisions[d].cut))
                least = fmin(least, result.by_op[i].next_us);
    }
    assert_true(least < INFINITY);
    assert_true(own >= result.cost_us + least - 1e-6 * own);
    session_close(session);
    hooked_free(&f);
}

/* ---- memory ---- */

/* Tighter limits cost more, and every plan keeps its limit; below what must be there, the conflict
 * is named. */
static void pays_for_memory(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "dp=2,tp=2", NULL, "adamw");
    double before = 0;
    for (int64_t most = 3 << 20; most >= 800 << 10; most -= 256 << 10) {
        SearchRequest request = {.session = session, .max_peak_bytes = most};
        SearchResult result = search(&f, &request);
        assert_int_equal(result.outcome, SEARCH_PLAN);
        assert_true(result.peak_bytes <= most);
        assert_true(result.cost_us >= before * (1 - 1e-9));
        assert_true(result.bound_us <= result.cost_us * (1 + 1e-6));
        before = result.bound_us;
    }
    SearchResult none = search(&f, &(SearchRequest){.session = session, .max_peak_bytes = 100000});
    assert_int_equal(none.outcome, SEARCH_INFEASIBLE);
    assert_non_null(none.conflict);
    assert_non_null(strstr(none.conflict, "at least"));
    session_close(session);
    hooked_free(&f);
}

/* A limit that a plan of a policy keeps is never said to be kept by none, and a plan is found. */
static void finds_a_plan_where_a_policy_has_one(void **state)
{
    (void)state;
    static const struct {
        const char *mesh, *policy, *set;
    } known[] = {
        {"dp=2,tp=2", "dp", "zero=2"},
        {"dp=2,tp=2", "megatron", "zero=3"},
        {"dp=4", "fsdp", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        Hooked f = hooked_new();
        SessionOptions options = {
            .model = GPT, .mesh = known[i].mesh, .policy = known[i].policy, .train = "adamw"};
        if (known[i].set)
            assert_true(policy_settings_with(f.arena, &options.settings, str_from(known[i].set),
                                             &options.settings, NULL));
        Session *of = session_open(&options, &f.hooks, NULL);
        assert_non_null(of);
        int64_t peak = of->plan->priced->totals.peak_bytes;
        session_close(of);
        Session *session = open_session(&f, GPT, known[i].mesh, NULL, "adamw");
        assert_true(session->plan->priced->totals.peak_bytes > peak);
        SearchRequest request = {.session = session, .max_peak_bytes = peak};
        SearchResult result = search(&f, &request);
        assert_int_equal(result.outcome, SEARCH_PLAN);
        assert_true(result.peak_bytes <= peak);
        session_close(session);
        hooked_free(&f);
    }
}

/* Between what is proven to be needed and what plans need, a search may end without a plan and
 * without a proof: it says why, and how small the plans became. */
static void says_what_is_open(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "dp=2,tp=2", NULL, "adamw");
    SearchRequest request = {.session = session, .max_peak_bytes = 667 << 10, .seconds = 1};
    SearchResult result = search(&f, &request);
    if (result.outcome == SEARCH_UNKNOWN)
        assert_true(result.time_over || result.smallest_bytes > request.max_peak_bytes);
    else
        assert_int_equal(result.outcome, SEARCH_PLAN);
    request.seconds = 0;
    request.max_peak_bytes = 600 << 10;
    assert_int_equal(search(&f, &request).outcome, SEARCH_INFEASIBLE);
    session_close(session);
    hooked_free(&f);
}

/* Prices of memory that equal layers pay bound unfolded ones: the bound is at no more than what any
 * longer search finds, and with a gap that is allowed nothing else is asked. */
static void prices_of_memory_bound_unfolded_layers(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, LLAMA, "dp=2,tp=2", NULL, "adamw");
    SearchResult free = search(&f, &(SearchRequest){.session = session});
    SearchRequest request = {
        .session = session, .max_peak_bytes = free.peak_bytes * 9 / 10, .unfold = true, .gap = .05};
    SearchResult near = search(&f, &request);
    assert_int_equal(near.outcome, SEARCH_PLAN);
    assert_true(near.peak_bytes <= request.max_peak_bytes);
    assert_true(near.cost_us > free.cost_us);
    assert_true(near.bound_us >= free.cost_us * (1 - 1e-9));
    assert_true(near.cost_us - near.bound_us <= .05 * near.cost_us);
    request.gap = .01;
    SearchResult best = search(&f, &request);
    assert_int_equal(best.outcome, SEARCH_PLAN);
    assert_true(near.bound_us <= best.cost_us * (1 + 1e-9));
    assert_true(best.cost_us <= near.cost_us * (1 + 1e-9));
    session_close(session);
    hooked_free(&f);
}

/* An output is moved to where it is pinned, and that is counted, whatever its op makes. */
static void pays_for_pinned_outputs(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "dp=2,tp=2", NULL, NULL);
    const Graph *graph = session->graph;
    int32_t out = graph->outputs[0];
    const Shape *shape = program_shape(session->inferred, out);
    Cut cut[3];
    Decision pin[3];
    assert_int_equal(shape->n_dims, 3);
    for (int d = 0; d < 3; d++) {
        cut[d] = cut_whole(shape->dim[d]);
        pin[d] = (Decision){.kind = PIN_TENSOR_DIM,
                            .place = out,
                            .dim = d,
                            .cut = &cut[d],
                            .origin = {.kind = ORIGIN_USER, .file = "", .text = "pin"}};
    }
    assert_true(session_apply(session, pin, 3, NULL));
    SearchResult result = search(&f, &(SearchRequest){.session = session});
    assert_int_equal(result.outcome, SEARCH_PLAN);
    assert_near(result.parts.model_us, result.cost_us);
    assert_true(result.proven);
    session_close(session);
    hooked_free(&f);
}

/* ---- forms of the result ---- */

static const struct {
    const char *mesh, *policy, *train;
    int64_t max_peak;
} replayed[] = {
    {"dp=2,tp=2", NULL, NULL, 0},
    {"dp=2,tp=2", NULL, "adamw", 1 << 20},
    {"pp=2,dp=2,tp=2", "hybrid3d", "adamw", 0}, /* pins an op of the loss */
};

static void policy_replays(void **state)
{
    (void)state;
    bool of_loss = false;
    for (size_t r = 0; r < sizeof replayed / sizeof *replayed; r++) {
        Hooked f = hooked_new();
        Session *session =
            open_session(&f, GPT, replayed[r].mesh, replayed[r].policy, replayed[r].train);
        SearchRequest request = {.session = session, .max_peak_bytes = replayed[r].max_peak};
        SearchResult result = search(&f, &request);
        assert_int_equal(result.outcome, SEARCH_PLAN);
        Buf text = buf_new(f.arena);
        search_policy(session, &result, &text);
        of_loss |= strstr(text.s, "graph:pin(\"loss") != NULL;
        session_close(session);
        char path[] = LUA_FILE;
        write_lua(path, buf_str(&text));
        session = open_session(&f, GPT, replayed[r].mesh, path, replayed[r].train);
        assert_near(plan_step_us(session->plan), result.cost_us);
        assert_int_equal(session->plan->priced->totals.peak_bytes, result.peak_bytes);
        session_close(session);
        unlink(path);
        hooked_free(&f);
    }
    assert_true(of_loss);
}

static void answers_on_one_device(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    Session *session = open_session(&f, GPT, "x=1", NULL, NULL);
    SearchResult result = search(&f, &(SearchRequest){.session = session});
    assert_int_equal(result.outcome, SEARCH_PLAN);
    assert_true(result.proven);
    assert_int_equal(result.n_decisions, 0);
    session_close(session);
    hooked_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up_what_plans_cost),
        cmocka_unit_test(proves_on_meshes_of_many_parts),
        cmocka_unit_test(pins_hold_for_what_runs_again),
        cmocka_unit_test(beats_the_policies),
        cmocka_unit_test(obeys_pins),
        cmocka_unit_test(is_the_best_of_all),
        cmocka_unit_test(pins_that_contradict_leave_a_choice),
        cmocka_unit_test(pins_of_frozen_dims_are_named),
        cmocka_unit_test(is_proven_where_moves_split_axes),
        cmocka_unit_test(ends_in_time),
        cmocka_unit_test(adds_up_the_plan_it_finds),
        cmocka_unit_test(proves_the_same_by_parts),
        cmocka_unit_test(shards_parts_alike),
        cmocka_unit_test(plans_what_was_chosen),
        cmocka_unit_test(gradients_alike_may_cost_differently),
        cmocka_unit_test(prices_other_choices),
        cmocka_unit_test(pays_for_memory),
        cmocka_unit_test(finds_a_plan_where_a_policy_has_one),
        cmocka_unit_test(says_what_is_open),
        cmocka_unit_test(prices_of_memory_bound_unfolded_layers),
        cmocka_unit_test(pays_for_pinned_outputs),
        cmocka_unit_test(policy_replays),
        cmocka_unit_test(answers_on_one_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
