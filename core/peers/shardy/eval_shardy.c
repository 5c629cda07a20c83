/* eval_shardy.c - the verbs factor.propagate and factor.origins of the eval protocol.
 *
 * The request has `mesh` or `meshes`, `graph` (factor_graph.h), `strategy`, `conservative`. The
 * answer has the `shardings` of all values and `outputs` of the function at the fixed point, or the
 * `origins` of every axis of every value and `edges`, the op visits that moved them.
 */
#include "core/peers/shardy/tables.h"

#include "core/peers/shardy/export.h"
#include "core/peers/shardy/origins.h"

/* ---- strategies ---- */

typedef struct {
    const char *name;
    ShardyMethod method;
    ImportSteps steps;
    bool export; /* run the export passes too */
} Strategy;

static const Strategy strategies[] = {
    {"basic", {.basic = true}, {0}, false},
    {"aggressive", {.aggressive = true}, {0}, false},
    {"op_priority", {.aggressive = true, .op_priorities = true}, {0}, false},
    {"user_priority",
     {.aggressive = true, .op_priorities = true, .user_priorities = true},
     {0},
     false},
    {"basic_then_aggressive",
     {.basic = true, .aggressive = true},
     {.add_edges = true, .apply_constraints = true},
     false},
    {"basic+edges", {.basic = true}, {.add_edges = true}, false},
    {"pipeline",
     {.aggressive = true, .op_priorities = true, .user_priorities = true},
     {.drop_size_one = true, .split_constants = true, .add_edges = true, .apply_constraints = true},
     true},
};

static const Strategy *find_strategy(const Json *request, Error *err)
{
    Str name = json_str(json_get(request, "strategy"), "");
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        if (str_eq(name, str_from(strategies[i].name)))
            return &strategies[i];
    error_kind(err, ERROR_UNSUPPORTED, "there is no strategy '%.*s'", STR_ARG(name));
    return NULL;
}

/* ---- the answer ---- */

typedef struct {
    Arena *arena;
    const Strategy *strategy;
    ImportedGraph *imported;
    ShardyFlow *flow;
    ShardyProgram *program;
    const int *op_of; /* of import_program() */
} Answer;

static Json *sharding_json(const Answer *a, int32_t state)
{
    return factor_graph_sharding_json(a->arena, a->imported->graph, shardy_at(a->flow, state));
}

static void answer_shardings(const Answer *a, Json *answer)
{
    const FactorGraph *graph = a->imported->graph;
    Json *shardings = json_object(), *outputs = json_array();
    for (int v = 0; v < a->imported->n_given; v++)
        json_set(shardings, graph->values.at[v].name,
                 sharding_json(a, a->program->state[a->imported->shown[v]]));
    for (int i = 0; i < a->program->n_results; i++)
        json_add(outputs, sharding_json(a, a->program->result[i].state));
    json_set(answer, "shardings", shardings);
    json_set(answer, "outputs", outputs);
}

/* Reads a request into a program and does not run it. */
static bool read_request(Arena *arena, const Json *request, Answer *a, Error *err)
{
    *a = (Answer){.arena = arena, .strategy = find_strategy(request, err)};
    FactorGraph *graph = a->strategy ? factor_graph_read(arena, request, err) : NULL;
    a->imported = graph ? import_graph(arena, graph, a->strategy->steps, err) : NULL;
    if (!a->imported)
        return false;
    a->flow = shardy_flow_new(arena);
    a->program = import_program(arena, a->flow, a->imported, &a->op_of);
    return true;
}

bool eval_factor_propagate(const char *verb, Arena *arena, const Json *request, Json *answer,
                           Error *err)
{
    (void)verb;
    Answer a;
    if (!read_request(arena, request, &a, err))
        return false;
    shardy_run(a.flow, a.program, a.strategy->method, NULL, NULL);
    export_results(a.flow, a.imported, a.program);
    if (a.strategy->export) {
        export_shardings(a.flow, a.imported, a.program);
        export_conflicts(a.flow, a.imported, a.program, a.op_of);
    }
    answer_shardings(&a, answer);
    return true;
}

bool eval_factor_origins(const char *verb, Arena *arena, const Json *request, Json *answer,
                         Error *err)
{
    (void)verb;
    Answer a;
    if (!read_request(arena, request, &a, err))
        return false;
    Origins *origins = origins_new(arena, a.imported, a.program, a.op_of);
    shardy_run(a.flow, a.program, a.strategy->method, origins_seen, origins);
    json_set(answer, "origins", origins_json(origins));
    json_set(answer, "edges", origins_edges_json(origins));
    return true;
}
