/* eval_plan.c - the verb plan.solve of the eval protocol.
 *
 * The request has `mesh`, `graph` (values, inputs, ops in program order with one output each,
 * outputs), `cost_model` {`alpha`, `beta` per axis, `all_gather`}, `aliases` [[input, output]] that
 * have one layout, and `memory_limit`, bytes a device for the values alive at a time. A value with
 * a sharding must have it; outputs are not partial. The answer has `objective`, `bound`, `proven`
 * and `layouts` of the values; or `infeasible` and `why`.
 */
#include "core/peers/alpa/eval_plan.h"

#include "core/base/names.h"
#include "core/peers/alpa/strategies.h"
#include "core/rules/one_op.h"
#include "core/solve/solve.h"

#include <math.h>

#define SECONDS_MOST 20.0
#define PAIRS_MOST 3e7 /* costs of all edges together: 240 MB */

enum { INPUTS_MOST = 16 };

typedef struct {
    Shape shape;
    const Json *sharding;
    int maker;    /* node; -1: not yet */
    int last_use; /* node */
    bool is_output;
} PlanValue;

typedef struct {
    Arena *arena;
    const Json *request, *graph;
    const Mesh *mesh;
    AlpaCosts costs;
    Names *names;
    PlanValue *value; /* by name; [n_names + 1] */
    int n_nodes;
    AlpaStrategies *node; /* inputs, then ops */
    int *made;            /* [n_nodes]: the value of each */
    Vec(SolveEdge) edges;
    double n_pairs;
    Error *err;
} PlanReader;

/* ---- the request ---- */

static bool read_costs(PlanReader *r)
{
    const Json *model = json_get(r->request, "cost_model");
    const Json *alpha = json_get(model, "alpha"), *beta = json_get(model, "beta");
    for (int a = 0; a < r->mesh->n_axes; a++) {
        r->costs.alpha[a] = json_real(json_at(alpha, a), -1);
        r->costs.beta[a] = json_real(json_at(beta, a), -1);
        if (!(r->costs.alpha[a] >= 0 && r->costs.alpha[a] <= 1e30 && r->costs.beta[a] >= 0 &&
              r->costs.beta[a] <= 1e30))
            return error_set(r->err, "\"cost_model\" needs \"alpha\" and \"beta\" of each axis, 0 "
                                     "or more");
    }
    r->costs.all_gather = json_real(json_get(model, "all_gather"), -1);
    return true;
}

static bool read_values(PlanReader *r)
{
    const Json *values = json_get(r->graph, "values");
    r->names = names_new(r->arena);
    r->value = arena_array(r->arena, PlanValue, (size_t)json_size(values) + 1);
    for (const char *name = json_key_after(values, NULL); name;
         name = json_key_after(values, name)) {
        const Json *row = json_get(values, name);
        int32_t v = names_intern(r->names, str_from(name));
        r->value[v].maker = -1;
        r->value[v].sharding = json_get(row, "sharding");
        if (v == 0 || !one_op_shape_json(json_get(row, "shape"), 1, &r->value[v].shape, r->err) ||
            !shape_check(&r->value[v].shape, r->err))
            return error_set(r->err, "value '%s' has no shape of sizes above 0", name);
    }
    return true;
}

/* 0 with the error if there is no such value. */
static int find_value(PlanReader *r, const Json *name)
{
    int32_t v = json_is_string(name) ? names_find(r->names, json_str(name, "")) : -1;
    Str said = json_str(name, "");
    if (v <= 0)
        error_kind(r->err, ERROR_UNBOUND, "there is no value '%.*s'", STR_ARG(said));
    return v <= 0 ? 0 : v;
}

static bool add_node(PlanReader *r, int v, const AlpaStrategies *strategies)
{
    if (r->value[v].maker >= 0)
        return error_kind(r->err, ERROR_DUPLICATE, "value '%s' is made twice",
                          names_text(r->names, v));
    r->value[v].maker = r->value[v].last_use = r->n_nodes;
    r->made[r->n_nodes] = v;
    r->node[r->n_nodes++] = *strategies;
    return true;
}

/* Costs of all pairs; edges of one use, or of an alias. */
static bool add_edge(PlanReader *r, int a, int b, int input)
{
    const AlpaStrategies *from = &r->node[a], *to = &r->node[b];
    const Shape *shape = &r->value[r->made[a]].shape;
    r->n_pairs += (double)from->n * to->n;
    if (r->n_pairs > PAIRS_MOST)
        return error_kind(r->err, ERROR_UNSUPPORTED,
                          "there are more than %g pairs of strategies of neighbours", PAIRS_MOST);
    double *cost = arena_array(r->arena, double, (int64_t)from->n * to->n);
    for (int x = 0; x < from->n; x++)
        for (int y = 0; y < to->n; y++) {
            const AlpaLayout *made = &from->at[x].made, *other = &to->at[y].made;
            cost[(int64_t)x * to->n + y] =
                input >= 0
                    ? alpa_use_cost(r->mesh, &r->costs, shape, made, &to->at[y].wanted[input])
                : alpa_layout_equal(made, other, r->mesh) ? 0
                                                          : INFINITY;
        }
    vec_push(r->arena, &r->edges, (SolveEdge){a, b, cost});
    return true;
}

static bool read_op(PlanReader *r, const Json *op)
{
    const Json *inputs = json_get(op, "inputs"), *outputs = json_get(op, "outputs");
    int n = json_size(inputs), v[INPUTS_MOST];
    Shape shape[INPUTS_MOST];
    if (json_size(outputs) != 1 || n > INPUTS_MOST)
        return error_kind(r->err, ERROR_UNSUPPORTED, "an op has one output and at most %d inputs",
                          INPUTS_MOST);
    int out = find_value(r, json_at(outputs, 0));
    for (int i = 0; i < n && out > 0; i++) {
        v[i] = find_value(r, json_at(inputs, i));
        if (v[i] > 0 && r->value[v[i]].maker < 0)
            error_kind(r->err, ERROR_UNBOUND, "value '%s' is used before it is made",
                       names_text(r->names, v[i]));
        if (v[i] <= 0 || r->value[v[i]].maker < 0)
            return false;
        shape[i] = r->value[v[i]].shape;
    }
    HloSpace hlo;
    AlpaStrategies strategies;
    if (out <= 0 ||
        !hlo_space(r->arena, json_str(json_get(op, "op"), ""), n, shape, &r->value[out].shape,
                   json_get(op, "attrs"), &hlo, r->err) ||
        !alpa_op_strategies(r->arena, r->mesh, &r->costs, &hlo, &strategies, r->err) ||
        !add_node(r, out, &strategies))
        return false;
    for (int i = 0; i < n; i++) {
        r->value[v[i]].last_use = r->n_nodes - 1;
        if (!add_edge(r, r->value[v[i]].maker, r->n_nodes - 1, i))
            return false;
    }
    return true;
}

static bool read_graph(PlanReader *r)
{
    const Json *inputs = json_get(r->graph, "inputs"), *ops = json_get(r->graph, "ops");
    int n = json_size(inputs) + json_size(ops);
    r->node = arena_array(r->arena, AlpaStrategies, n);
    r->made = arena_array(r->arena, int, n);
    for (int i = 0; i < json_size(inputs); i++) {
        AlpaStrategies strategies;
        int v = find_value(r, json_at(inputs, i));
        if (v <= 0 ||
            !alpa_input_strategies(r->arena, r->mesh, &r->value[v].shape, &strategies, r->err) ||
            !add_node(r, v, &strategies))
            return false;
    }
    for (int i = 0; i < json_size(ops); i++)
        if (!read_op(r, json_at(ops, i)))
            return false;
    return true;
}

static int find_made(PlanReader *r, const Json *name)
{
    int v = find_value(r, name);
    if (v > 0 && r->value[v].maker < 0)
        error_kind(r->err, ERROR_UNBOUND, "nothing makes value '%s'", names_text(r->names, v));
    return v > 0 && r->value[v].maker >= 0 ? v : 0;
}

static bool read_outputs(PlanReader *r)
{
    const Json *outputs = json_get(r->graph, "outputs"), *aliases = json_get(r->request, "aliases");
    for (int i = 0; i < json_size(outputs); i++) {
        int v = find_made(r, json_get(json_at(outputs, i), "value"));
        if (v <= 0)
            return false;
        r->value[v].is_output = true;
        r->value[v].last_use = r->n_nodes;
    }
    for (int i = 0; i < json_size(aliases); i++) {
        int a = find_made(r, json_at(json_at(aliases, i), 0));
        int b = a > 0 ? find_made(r, json_at(json_at(aliases, i), 1)) : 0;
        if (a <= 0 || b <= 0 || !add_edge(r, r->value[a].maker, r->value[b].maker, -1))
            return false;
    }
    return true;
}

/* ---- the problem ---- */

static bool read_layout(PlanReader *r, int v, AlpaLayout *out)
{
    const Json *dims = json_get(r->value[v].sharding, "dims");
    memset(out->place, PLACE_WHOLE, sizeof out->place);
    if (json_size(dims) != r->value[v].shape.n_dims)
        return error_kind(r->err, ERROR_RANK, "the sharding of '%s' has other dims",
                          names_text(r->names, v));
    for (int d = 0; d < json_size(dims); d++)
        for (int i = 0; i < json_size(json_at(dims, d)); i++) {
            int axis = mesh_find_axis(r->mesh, json_str(json_at(json_at(dims, d), i), ""));
            if (axis < 0)
                return error_kind(r->err, ERROR_UNBOUND, "the sharding of '%s' has no axis %d",
                                  names_text(r->names, v), i);
            if (r->mesh->axes[axis].size > 1)
                out->place[axis] = (int8_t)d;
        }
    return true;
}

/* Costs of a node's strategies; INFINITY where the value's layout may not be. */
static const double *node_costs(PlanReader *r, int n)
{
    const PlanValue *value = &r->value[r->made[n]];
    double *cost = arena_array(r->arena, double, r->node[n].n);
    AlpaLayout said;
    bool has_said = value->sharding && !json_is_null(value->sharding);
    if (has_said && !read_layout(r, r->made[n], &said))
        return NULL;
    for (int x = 0; x < r->node[n].n; x++) {
        const AlpaLayout *made = &r->node[n].at[x].made;
        bool fine = !has_said || alpa_layout_equal(made, &said, r->mesh);
        for (int a = 0; a < r->mesh->n_axes; a++)
            fine = fine && !(value->is_output && made->place[a] == PLACE_PARTIAL);
        cost[x] = fine ? r->node[n].at[x].cost : INFINITY;
    }
    return cost;
}

static const double *node_bytes(PlanReader *r, int n)
{
    double *bytes = arena_array(r->arena, double, r->node[n].n);
    for (int x = 0; x < r->node[n].n; x++)
        bytes[x] = alpa_bytes(&r->value[r->made[n]].shape) /
                   alpa_shards(r->mesh, &r->node[n].at[x].made, -1);
    return bytes;
}

static bool make_problem(PlanReader *r, SolveProblem *out)
{
    int32_t *n_choices = arena_array(r->arena, int32_t, r->n_nodes);
    const double **cost = arena_array(r->arena, const double *, r->n_nodes);
    SolveUse *use = arena_array(r->arena, SolveUse, r->n_nodes);
    SolveLimit *limit = arena_make(r->arena, SolveLimit);
    const Json *most = json_get(r->request, "memory_limit");
    for (int n = 0; n < r->n_nodes; n++) {
        n_choices[n] = r->node[n].n;
        cost[n] = node_costs(r, n);
        if (!cost[n])
            return false;
        if (n_choices[n] == 0)
            return error_kind(r->err, ERROR_NOT_DIVISIBLE,
                              "the op that makes '%s' cannot be sharded by every axis",
                              names_text(r->names, r->made[n]));
        use[n] = (SolveUse){n, n, r->value[r->made[n]].last_use + 1, node_bytes(r, n)};
    }
    *limit = (SolveLimit){0, r->n_nodes + 1, json_real(most, INFINITY)};
    *out = (SolveProblem){.n_nodes = r->n_nodes,
                          .n_choices = n_choices,
                          .cost = cost,
                          .n_edges = r->edges.n,
                          .edge = r->edges.at,
                          .n_uses = r->n_nodes,
                          .use = use,
                          .n_limits = json_is_number(most) ? 1 : 0,
                          .limit = limit};
    return true;
}

/* ---- the answer ---- */

static Json *layout_json(const PlanReader *r, const Shape *shape, const AlpaLayout *layout)
{
    Json *out = json_object(), *dims = json_array(), *partial = json_array();
    for (int d = PLACE_PARTIAL; d < shape->n_dims; d++) {
        Json *axes = d == PLACE_PARTIAL ? partial : json_array();
        for (int a = 0; a < r->mesh->n_axes; a++)
            if (layout->place[a] == d)
                json_add(axes, json_from_str(str_from(r->mesh->axes[a].name)));
        if (d >= 0)
            json_add(dims, axes);
        else if (d == PLACE_WHOLE)
            json_free(axes);
    }
    json_set(out, "dims", dims);
    json_set(out, "unreduced", partial);
    return out;
}

static void answer_choice(const PlanReader *r, const SolveAnswer *solved, Json *answer)
{
    json_set_real(answer, "objective", solved->objective);
    json_set_real(answer, "bound", solved->bound);
    json_set_bool(answer, "proven", solved->proven);
    Json *layouts = json_object();
    for (int n = 0; n < r->n_nodes; n++)
        json_set(
            layouts, names_text(r->names, r->made[n]),
            layout_json(r, &r->value[r->made[n]].shape, &r->node[n].at[solved->choice[n]].made));
    json_set(answer, "layouts", layouts);
}

bool eval_plan_solve(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    PlanReader r = {.arena = arena,
                    .request = request,
                    .graph = json_get(request, "graph"),
                    .mesh = mesh_from_json(arena, json_get(request, "mesh"), err),
                    .err = err};
    SolveProblem problem;
    SolveAnswer solved;
    SolveOptions options = {.seconds = SECONDS_MOST};
    if (!r.mesh || !read_costs(&r) || !read_values(&r) || !read_graph(&r) || !read_outputs(&r) ||
        !make_problem(&r, &problem) || !solve(arena, &problem, &options, &solved, err))
        return false;
    if (solved.outcome == SOLVE_UNKNOWN)
        return error_kind(err, ERROR_CANCELLED, "no choice was found in time");
    if (solved.outcome == SOLVE_CHOICE) {
        answer_choice(&r, &solved, answer);
        return true;
    }
    json_set_bool(answer, "infeasible", true);
    json_set_str(answer, "why", solved.why);
    return true;
}
