/* What a search says about its answer: prices of pins and limits, what conflicts, the frontier; and
 * a search behind another one. */
#include "tests/unit/unit.h"

#include "core/cost/pipeline.h"
#include "core/search/frontier.h"
#include "core/search/pin_prices.h"
#include "core/search/policy.h"
#include "scripts/hooks.h"

#include <math.h>

#define GPT "samples/models/tiny-gpt.onnx"

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Fixture;

static Fixture fixture_new(const char *policy, const char *train)
{
    Arena *arena = arena_new();
    Fixture f = {.arena = arena, .scripts = scripts_new(arena, ".")};
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.model = GPT, .mesh = "dp=2,tp=2", .policy = policy, .train = train};
    f.session = session_open(&options, &hooks, NULL);
    assert_non_null(f.session);
    return f;
}

static void fixture_free(Fixture *f)
{
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static SearchResult search(const Fixture *f, const SearchRequest *request)
{
    SearchResult result;
    assert_true(search_plan(f->arena, request, &result, NULL));
    return result;
}

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-6 * fabs(b));
}

/* ---- pins ---- */

/* Lifting a pin never costs, and all of them lifted is the search without a policy. */
static void lifted_pins_never_cost(void **state)
{
    (void)state;
    Fixture f = fixture_new("megatron", NULL), free = fixture_new(NULL, NULL);
    SearchRequest request = {.session = f.session};
    SearchResult result = search(&f, &request);
    SearchResult open = search(&free, &(SearchRequest){.session = free.session});
    PinPrices prices;
    assert_true(search_price_pins(f.arena, &request, &prices, NULL));
    assert_true(prices.n >= 2);
    for (int i = 0; i < prices.n; i++) {
        assert_int_equal(prices.pin[i].outcome, SEARCH_PLAN);
        assert_true(prices.pin[i].cost_us <= result.cost_us * (1 + 1e-6));
        assert_true(prices.pin[i].cost_us >= open.cost_us * (1 - 1e-6));
    }
    assert_near(prices.all.cost_us, open.cost_us);
    assert_true(open.cost_us < result.cost_us);
    Buf text = buf_new(f.arena);
    pin_price_put(&request, &prices.pin[0], &text);
    assert_non_null(strstr(text.s, "megatron.lua:"));
    fixture_free(&free);
    fixture_free(&f);
}

/* A limit is priced as a pin is. */
static void limits_have_a_price(void **state)
{
    (void)state;
    Fixture f = fixture_new(NULL, "adamw");
    SearchResult open = search(&f, &(SearchRequest){.session = f.session});
    SearchRequest request = {.session = f.session, .max_peak_bytes = open.peak_bytes / 2};
    SearchResult result = search(&f, &request);
    PinPrices prices;
    assert_true(search_price_pins(f.arena, &request, &prices, NULL));
    assert_int_equal(prices.n, 1);
    assert_true(prices.pin[0].limit);
    assert_near(prices.pin[0].cost_us, open.cost_us);
    assert_true(result.cost_us > open.cost_us);
    fixture_free(&f);
}

/* ---- conflicts ---- */

/* As somebody does in step `line`. */
static void pin_whole(Fixture *f, const char *tensor, int line)
{
    const Graph *graph = f->session->graph;
    int32_t t = graph_find_tensor(graph, str_from(tensor));
    assert_true(t >= 0);
    const Shape *shape = inferred_shape(f->session->inferred, t);
    for (int d = 0; d < shape->n_dims; d++) {
        Cut *cut = arena_make(f->arena, Cut);
        *cut = cut_whole(shape->dim[d]);
        Decision pin = {.kind = PIN_TENSOR_DIM,
                        .place = t,
                        .dim = d,
                        .cut = cut,
                        .origin = {ORIGIN_USER, "", line, "whole"}};
        assert_true(session_apply(f->session, &pin, 1, NULL));
    }
}

static int n_conflicting(const PinPrices *prices)
{
    int n = 0;
    for (int i = 0; i < prices->n; i++)
        n += prices->pin[i].conflict;
    return n;
}

/* What is named leaves no plan by itself, and a plan may be had without each of it. */
static void names_the_smallest_conflict(void **state)
{
    (void)state;
    Fixture f = fixture_new(NULL, "adamw");
    pin_whole(&f, "transformer.wte.weight", 1);
    pin_whole(&f, "transformer.wpe.weight", 2);
    int64_t low = 256 << 10, high = 2 << 20; /* the least limit that these pins allow, about */
    while (high - low > 32 << 10) {
        int64_t middle = (low + high) / 2;
        SearchRequest request = {.session = f.session, .max_peak_bytes = middle};
        if (search(&f, &request).outcome == SEARCH_INFEASIBLE)
            low = middle;
        else
            high = middle;
    }
    SearchRequest request = {.session = f.session, .max_peak_bytes = low};
    PinPrices prices;
    assert_true(search_conflict(f.arena, &request, &prices, NULL));
    assert_int_equal(prices.n, 3);
    assert_true(prices.pin[2].conflict && prices.pin[2].limit);
    for (int i = 0; i < prices.n; i++)
        if (prices.pin[i].conflict)
            assert_int_not_equal(prices.pin[i].outcome, SEARCH_INFEASIBLE);
    bool lifted[4] = {false}; /* the set alone: decisions of a pin stand together */
    assert_true(f.session->journal.n_done == 4);
    for (int i = 0; i < 2; i++)
        for (int d = 0; !prices.pin[i].conflict && d < prices.pin[i].n; d++)
            lifted[prices.pin[i].first + d] = true;
    request.lifted = lifted;
    assert_int_equal(search(&f, &request).outcome, SEARCH_INFEASIBLE);
    fixture_free(&f);
}

/* Where no pin is to blame the limit stands alone. */
static void a_limit_alone_is_a_conflict(void **state)
{
    (void)state;
    Fixture f = fixture_new("megatron", "adamw");
    SearchRequest request = {.session = f.session, .max_peak_bytes = 100000};
    PinPrices prices;
    assert_int_equal(search(&f, &request).outcome, SEARCH_INFEASIBLE);
    assert_true(search_conflict(f.arena, &request, &prices, NULL));
    assert_int_equal(n_conflicting(&prices), 1);
    assert_true(prices.pin[prices.n - 1].conflict && prices.pin[prices.n - 1].limit);
    fixture_free(&f);
}

/* ---- the frontier ---- */

/* Less memory, more time, and each point is a plan. */
static void points_are_plans(void **state)
{
    (void)state;
    Fixture f = fixture_new(NULL, "adamw");
    SearchMemo *kept = search_memo_new();
    SearchRequest request = {.session = f.session, .memo = kept};
    SearchFrontier frontier;
    assert_true(search_frontier(f.arena, &request, &frontier, NULL));
    assert_true(frontier.n > 3);
    for (int i = 0; i < frontier.n; i++) {
        const SearchResult *at = &frontier.point[i];
        if (i > 0) {
            assert_true(at->cost_us > at[-1].cost_us);
            assert_true(at->peak_bytes < at[-1].peak_bytes);
        }
        assert_true(session_apply(f.session, at->decisions, at->n_decisions, NULL));
        assert_near(plan_step_us(f.session->plan), at->cost_us);
        assert_int_equal(f.session->plan->priced->totals.peak_bytes, at->peak_bytes);
        assert_true(at->n_decisions == 0 || session_undo(f.session, NULL));
        while (f.session->journal.n_done > 0)
            assert_true(session_undo(f.session, NULL));
    }
    search_memo_free(kept);
    fixture_free(&f);
}

/* Where the time is over before the smallest plan, the frontier says so and keeps what it has. */
static void the_frontier_ends_with_its_time(void **state)
{
    (void)state;
    Fixture f = fixture_new(NULL, "adamw");
    SearchRequest request = {.session = f.session, .seconds = 1e-6};
    SearchFrontier frontier;
    assert_true(search_frontier(f.arena, &request, &frontier, NULL));
    assert_true(frontier.stopped && !frontier.smallest && !frontier.cancelled);
    assert_true(frontier.n <= 1);
    request.seconds = 600;
    assert_true(search_frontier(f.arena, &request, &frontier, NULL));
    assert_true(!frontier.stopped && !frontier.cancelled && frontier.n > 3);
    Progress stopped = {.stage = NULL};
    progress_stop(&stopped);
    request.progress = &stopped;
    assert_true(search_frontier(f.arena, &request, &frontier, NULL));
    assert_true(frontier.cancelled && frontier.stopped && !frontier.smallest);
    fixture_free(&f);
}

/* ---- again ---- */

/* What an earlier search decided holds no more: the next one, with a pin between them, finds what
 * it would have found first, and takes its place. So it does where one layer alone is pinned, where
 * layers are searched each by itself, and under a limit. */
static void searches_again(void **state)
{
    (void)state;
    static const struct {
        const char *pinned;
        int dim;
        bool unfold;
        double share; /* of the memory of the plan before; 0: no limit */
    } steps[] = {{"transformer.h.1.mlp.c_fc.weight", 1, false, 0},
                 {"transformer.h.1.mlp.c_fc.weight", 0, true, 0},
                 {"transformer.h.0.attn.c_attn.weight", 1, false, .9}};
    Fixture f = fixture_new(NULL, "adamw"), cold = fixture_new(NULL, "adamw");
    SearchMemo *kept = search_memo_new();
    SearchRequest request = {.session = f.session, .memo = kept};
    SearchResult last = search(&f, &request);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_true(session_apply(f.session, last.decisions, last.n_decisions, NULL));
        pin_whole(&f, steps[i].pinned, steps[i].dim);
        pin_whole(&cold, steps[i].pinned, steps[i].dim);
        request.unfold = steps[i].unfold;
        request.max_peak_bytes = (int64_t)(steps[i].share * (double)last.peak_bytes);
        SearchRequest fresh = request;
        fresh.session = cold.session;
        fresh.memo = NULL;
        last = search(&f, &request);
        SearchResult first = search(&cold, &fresh);
        assert_true(last.proven == first.proven);
        assert_near(last.cost_us, first.cost_us);
    }
    assert_true(session_apply(f.session, last.decisions, last.n_decisions, NULL));
    assert_near(plan_step_us(f.session->plan), last.cost_us);
    search_memo_free(kept);
    fixture_free(&cold);
    fixture_free(&f);
}

/* ---- stopped ---- */

/* A search that ends before anything is priced has the session's own plan, and no bound. */
static void ends_with_its_time(void **state)
{
    (void)state;
    Fixture f = fixture_new("megatron", "adamw");
    SearchResult result = search(&f, &(SearchRequest){.session = f.session, .seconds = 1e-9});
    assert_int_equal(result.outcome, SEARCH_PLAN);
    assert_int_equal(result.n_decisions, 0);
    assert_near(result.cost_us, plan_step_us(f.session->plan));
    assert_false(result.proven);
    assert_true(result.bound_us <= 0);
    Progress stopped = {.stage = NULL};
    progress_stop(&stopped);
    result = search(&f, &(SearchRequest){.session = f.session, .progress = &stopped});
    assert_int_equal(result.outcome, SEARCH_PLAN);
    assert_near(result.cost_us, plan_step_us(f.session->plan));
    fixture_free(&f);
}

/* ---- from a policy ---- */

/* graph:search decides what the search finds, as the policy's own decisions. */
static void a_policy_searches(void **state)
{
    (void)state;
    static const char *const trains[] = {NULL, "adamw"};
    for (int t = 0; t < 2; t++) {
        Fixture f = fixture_new("tests/lua/search.lua", trains[t]);
        Fixture free = fixture_new(NULL, trains[t]);
        SearchResult result =
            search(&free, &(SearchRequest){.session = free.session, .max_peak_bytes = 1 << 20});
        assert_near(plan_step_us(f.session->plan), result.cost_us);
        assert_true(f.session->journal.n_done > 0 || result.n_decisions == 0);
        for (int i = 0; i < f.session->journal.n_done; i++)
            assert_int_equal(f.session->journal.decisions.at[i].origin.kind, ORIGIN_POLICY);
        fixture_free(&free);
        fixture_free(&f);
    }
}

/* Ops outside of the holes stay as they were, and the plan is no worse. */
static void holes_leave_the_rest(void **state)
{
    (void)state;
    Fixture f = fixture_new("tests/lua/search_holes.lua", NULL);
    Fixture of = fixture_new("megatron", NULL);
    const Plan *plan = f.session->plan, *before = of.session->plan;
    const Inferred *inferred = f.session->inferred;
    int n_others = 0;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (strstr(op_name(inferred->graph, op), "/attn/")) {
            assert_true(op_cut_equal(program_cut(plan, op), program_cut(before, op)));
            n_others++;
        }
    }
    assert_true(n_others > 10);
    assert_true(plan_step_us(plan) <= plan_step_us(before) * (1 + 1e-9));
    fixture_free(&of);
    fixture_free(&f);
}

/* Prices of moves are those of one mesh and one machine. */
static void prices_know_their_mesh(void **state)
{
    (void)state;
    Fixture f = fixture_new(NULL, NULL);
    const Session *s = f.session;
    Prices *kept = prices_new(f.arena, s->mesh, s->machine, 0);
    Machine other = *s->machine;
    assert_true(prices_are_of(kept, s->mesh, s->machine, 0));
    assert_true(prices_are_of(kept, s->mesh, &other, 0));
    other.launch_us += 1;
    assert_false(prices_are_of(kept, s->mesh, &other, 0));
    assert_true(session_set_mesh(f.session, "dp=4,tp=1", NULL));
    assert_false(prices_are_of(kept, f.session->mesh, f.session->machine, 0));
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifted_pins_never_cost),
        cmocka_unit_test(limits_have_a_price),
        cmocka_unit_test(names_the_smallest_conflict),
        cmocka_unit_test(a_limit_alone_is_a_conflict),
        cmocka_unit_test(points_are_plans),
        cmocka_unit_test(the_frontier_ends_with_its_time),
        cmocka_unit_test(searches_again),
        cmocka_unit_test(prices_know_their_mesh),
        cmocka_unit_test(ends_with_its_time),
        cmocka_unit_test(a_policy_searches),
        cmocka_unit_test(holes_leave_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
