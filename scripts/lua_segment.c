/* lua_segment.c - segments: consecutive ops as Lua values, and the pipeline stages they form.
 *
 * nnScaler changes the graph into segments, once and before any partition. Here they are decisions
 * that may come at any time: a segment is two positions in the program.
 */
#include "scripts/lua_place.h"

const char *const segment_type = "segment";

/* ---- where they begin ---- */

static int n_program(const Policy *policy)
{
    return policy->session->inferred->n_program;
}

static bool begins_at(Policy *policy, int place)
{
    return place == 0 || placing_of(policy)->begin[place] != BEGINS_NOT;
}

Segment segment_at(Policy *policy, int place)
{
    Segment segment = {place, place};
    while (!begins_at(policy, segment.first))
        segment.first--;
    while (segment.last + 1 < n_program(policy) && !begins_at(policy, segment.last + 1))
        segment.last++;
    return segment;
}

int segments_count(Policy *policy)
{
    int n = 0;
    for (int i = 0; i < n_program(policy); i++)
        n += begins_at(policy, i);
    return n;
}

static int segment_number(Policy *policy, Segment segment)
{
    int number = 0;
    for (int i = 1; i <= segment.first; i++)
        number += begins_at(policy, i);
    return number;
}

static const char *name_at(const Policy *policy, int place)
{
    return op_name(policy->session->graph, policy->session->inferred->program[place]);
}

static void refuse_other_begin(lua_State *L, const Policy *policy, int place)
{
    Error err = {0};
    error_kind(&err, ERROR_CONFLICT,
               "a stage begins at '%s' both by graph:staging and by graph:blocking",
               name_at(policy, place));
    error_hint(&err,
               "use one of them: staging passes values through every stage, blocking does not");
    sandbox_raise(L, &err);
}

void stage_begin(lua_State *L, Policy *policy, int place, bool relay)
{
    Placing *placing = placing_of(policy);
    uint8_t begin = relay ? BEGINS_STAGING : BEGINS_BLOCKING;
    placing->staged |= place > 0;
    if (placing->begin[place] == begin || (place == 0 && placing->begin[0] != BEGINS_NOT))
        return; /* nothing comes into the first stage: both are the same there */
    if (placing->begin[place] != BEGINS_NOT && policy->whole)
        refuse_other_begin(L, policy, place);
    placing->begin[place] = begin;
    Decision decision = {.kind = PIN_STAGE, .dim = -1, .relay = relay};
    decision.place = policy->session->inferred->program[place];
    policy_add(L, policy, &decision);
}

/* ---- lists of nodes ---- */

static void append_range(lua_State *L, Policy *policy, Segment segment, Ops *out)
{
    sandbox_spend(L, segment.last - segment.first);
    for (int i = segment.first; i <= segment.last; i++)
        vec_push(policy->arena, out, policy->session->inferred->program[i]);
}

static void append_ops(lua_State *L, Policy *policy, int at, void *out)
{
    NodeRef node;
    const Segment *segment = luaL_testudata(L, at, segment_type);
    if (node_read(L, at, &node))
        vec_push(policy->arena, (Ops *)out, node.op);
    else if (segment)
        append_range(L, policy, *segment, out);
    else
        luaL_error(L, "expected a node, a segment or a list of these, not a %s", type_shown(L, at));
}

void check_ops(lua_State *L, Policy *policy, int at, Ops *out)
{
    *out = (Ops){0};
    policy_each_value(L, policy, at, append_ops, out);
    sandbox_spend(L, out->n);
}

/* Their places in the program. */
static void check_places(lua_State *L, Policy *policy, int at, Ops *out)
{
    check_ops(L, policy, at, out);
    for (int i = 0; i < out->n; i++)
        out->at[i] = policy_program_place(policy, out->at[i]);
    if (out->n == 0)
        luaL_error(L, "no node is given: write for example {graph:node(0), graph:node(100)}");
}

/* ---- staging ---- */

static void refuse_order(lua_State *L, const Policy *policy, const Ops *places, int i)
{
    Error err = {0};
    error_kind(&err, ERROR_OUT_OF_RANGE,
               "stages must begin in program order: '%s' comes before '%s'",
               name_at(policy, places->at[i]), name_at(policy, places->at[i - 1]));
    error_hint(&err, "node.index is the position of a node: %d after %d", places->at[i],
               places->at[i - 1]);
    sandbox_raise(L, &err);
}

static void note_empty(lua_State *L, Policy *policy, const Ops *places, int i)
{
    const char *text = arena_printf(policy->arena, "stage %d has no ops: '%s' begins the next",
                                    i - 1, name_at(policy, places->at[i]));
    policy_note(L, policy, LEVEL_WARNING, "empty-stage", text, "it is left out");
}

/* The first stage takes what comes before it too, as in nnScaler. */
static int begin_stages(lua_State *L, bool relay)
{
    Policy *policy = graph_check(L);
    Ops places;
    check_places(L, policy, 2, &places);
    places.at[0] = 0;
    for (int i = 0; i < places.n; i++) {
        if (i > 0 && places.at[i] < places.at[i - 1])
            refuse_order(L, policy, &places, i);
        if (i > 0 && places.at[i] == places.at[i - 1])
            note_empty(L, policy, &places, i);
        stage_begin(L, policy, places.at[i], relay);
    }
    return 0;
}

static int graph_staging(lua_State *L)
{
    return begin_stages(L, true);
}

static int graph_blocking(lua_State *L)
{
    return begin_stages(L, false);
}

/* ---- group ---- */

static bool check_row(Policy *policy, Ops *places, Error *err)
{
    ops_sort(places);
    Segment whole = segment_at(policy, places->at[0]);
    for (int i = 1; i < places->n; i++) {
        if (places->at[i] > whole.last) {
            error_kind(err, ERROR_CONFLICT, "'%s' and '%s' are in two segments",
                       name_at(policy, places->at[0]), name_at(policy, places->at[i]));
            return error_hint(err, "a group must be within one segment; this one ends with '%s'",
                              name_at(policy, whole.last));
        }
        if (places->at[i] > places->at[i - 1] + 1) {
            error_kind(err, ERROR_OUT_OF_RANGE,
                       "the nodes of a group must be consecutive: '%s' is missing",
                       name_at(policy, places->at[i - 1] + 1));
            return error_hint(err, "graph:between(first, last) returns all of them");
        }
    }
    return true;
}

static void push_segment(lua_State *L, Segment segment)
{
    Segment *copy = lua_newuserdatauv(L, sizeof *copy, 0);
    *copy = segment;
    luaL_setmetatable(L, segment_type);
}

static int graph_group(lua_State *L)
{
    Policy *policy = graph_check(L);
    Ops places;
    Error err = {0};
    check_places(L, policy, 2, &places);
    if (!check_row(policy, &places, &err))
        return sandbox_raise(L, &err);
    Segment segment = {places.at[0], places.at[places.n - 1]};
    if (!begins_at(policy, segment.first) || segment.first == 0)
        stage_begin(L, policy, segment.first, false);
    if (segment.last + 1 < n_program(policy) && !begins_at(policy, segment.last + 1))
        stage_begin(L, policy, segment.last + 1, false);
    push_segment(L, segment);
    return 1;
}

/* ---- segments as values ---- */

int push_nodes(lua_State *L, const Policy *policy, Segment segment)
{
    const int32_t *program = policy->session->inferred->program;
    int n = segment.last - segment.first + 1;
    sandbox_spend(L, n);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        push_op(L, program[segment.first + i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static const Segment *check_segment(lua_State *L)
{
    return luaL_checkudata(L, 1, segment_type);
}

static int graph_segments(lua_State *L)
{
    Policy *policy = graph_check(L);
    sandbox_spend(L, n_program(policy));
    lua_newtable(L);
    lua_Integer n = 0;
    for (int i = 0; i < n_program(policy);) {
        Segment segment = segment_at(policy, i);
        push_segment(L, segment);
        lua_rawseti(L, -2, ++n);
        i = segment.last + 1;
    }
    return 1;
}

static int graph_segment(lua_State *L)
{
    Policy *policy = graph_check(L);
    NodeRef node = node_check(L, 2);
    Segment segment = segment_at(policy, policy_program_place(policy, node.op));
    sandbox_spend(L, segment.last - segment.first);
    push_segment(L, segment);
    return 1;
}

static int segment_nodes(lua_State *L)
{
    return push_nodes(L, policy_of(L), *check_segment(L));
}

bool segment_has(Policy *policy, Segment segment, int32_t op)
{
    int place = op < 0 ? -1 : policy_program_place(policy, op);
    return place >= segment.first && place <= segment.last;
}

static bool is_read_outside(Policy *policy, const Segment *segment, int32_t tensor)
{
    const Graph *graph = policy->session->graph;
    int n = tensor_n_uses(graph, tensor);
    for (int i = 0; i < n; i++)
        if (!segment_has(policy, *segment, graph->uses[graph->tensors[tensor].use + i]))
            return true;
    return graph->tensors[tensor].output;
}

/* Values, no weights and constants. */
static bool crosses(Policy *policy, const Segment *segment, int32_t tensor, bool input)
{
    const Inferred *inferred = policy->session->inferred;
    if (tensor < 0 || !tensor_can_be_sharded(inferred, tensor) ||
        tensor_is_weight(inferred, tensor))
        return false;
    return input ? !segment_has(policy, *segment, inferred->graph->tensors[tensor].maker)
                 : is_read_outside(policy, segment, tensor);
}

static int push_crossing(lua_State *L, bool inputs)
{
    const Segment *segment = check_segment(L);
    Policy *policy = policy_of(L);
    const Session *session = policy->session;
    sandbox_spend(L, session->graph->n_tensors / 8 + 4 * (segment->last - segment->first));
    Arena *scratch = arena_new();
    bool *seen = arena_array(scratch, bool, session->graph->n_tensors);
    Ops found = {0};
    for (int i = segment->first; i <= segment->last; i++) {
        int32_t op = session->inferred->program[i];
        const GraphOp *at = &session->graph->ops[op];
        const int32_t *tensor =
            inputs ? op_inputs(session->graph, op) : op_outputs(session->graph, op);
        for (int k = 0; k < (inputs ? at->n_inputs : at->n_outputs); k++)
            if (crosses(policy, segment, tensor[k], inputs) && !seen[tensor[k]]) {
                seen[tensor[k]] = true;
                vec_push(policy->arena, &found, tensor[k]);
            }
    }
    arena_free(scratch);
    lua_createtable(L, found.n, 0);
    for (int i = 0; i < found.n; i++) {
        push_own_tensor(L, found.at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int segment_inputs(lua_State *L)
{
    return push_crossing(L, true);
}

static int segment_outputs(lua_State *L)
{
    return push_crossing(L, false);
}

static int check_number(lua_State *L)
{
    const Segment *segment = check_segment(L);
    sandbox_spend(L, segment->first);
    return segment_number(policy_of(L), *segment);
}

static int segment_index(lua_State *L)
{
    lua_pushinteger(L, check_number(L));
    return 1;
}

static int segment_name(lua_State *L)
{
    lua_pushfstring(L, "stage %d", check_number(L));
    return 1;
}

static int segment_nnodes(lua_State *L)
{
    const Segment *segment = check_segment(L);
    lua_pushinteger(L, segment->last - segment->first + 1);
    return 1;
}

static int segment_equal(lua_State *L)
{
    const Segment *a = luaL_testudata(L, 1, segment_type), *b = luaL_testudata(L, 2, segment_type);
    lua_pushboolean(L, a && b && a->first == b->first && a->last == b->last);
    return 1;
}

void segments_open(lua_State *L)
{
    open_type(L, segment_type);
    lua_pushcfunction(L, segment_equal);
    lua_setfield(L, -2, "__eq");
    lua_pushcfunction(L, segment_name);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
}

const LuaEntry segment_fields[] = {
    {"index", segment_index, "integer", "The number of the stage, from 0."},
    {"name", segment_name, "string", "Its name: \"stage 0\"."},
    {"nnodes", segment_nnodes, "integer", "The number of its nodes."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry segment_methods[] = {
    {"nodes", segment_nodes, "(): node[]", "The nodes of the segment, in program order."},
    {"inputs", segment_inputs, "(): tensor[]",
     "The values that its nodes read and other nodes compute, inputs of the graph included; "
     "without parameters and constants."},
    {"outputs", segment_outputs, "(): tensor[]",
     "The values that its nodes compute and other nodes read, outputs of the graph included."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry segment_graph_methods[] = {
    {"segments", graph_segments, "(): segment[]",
     "The stages made by staging, blocking and group so far, in program order; before that, one "
     "segment with the whole program."},
    {"segment", graph_segment, "(node: node): segment", "The segment that contains the node."},
    {"staging", graph_staging, "(nodes: ops)",
     "A pipeline stage begins at each of these nodes; the first stage begins at the first node of "
     "the program. Values pass through all stages between producer and consumer, as in nnScaler, "
     "but without identity nodes. Unlike in nnScaler it may follow partitions. Refused: nodes out "
     "of program order. A stage without nodes is left out with a warning."},
    {"blocking", graph_blocking, "(nodes: ops)",
     "As graph:staging, but values go directly from the producer to each consumer, past the stages "
     "between."},
    {"group", graph_group, "(nodes: ops): segment",
     "Makes a segment of consecutive nodes and returns it; the nodes before and after become "
     "segments of their own. Refused: nodes that are not consecutive, or of two segments."},
    {NULL, NULL, NULL, NULL},
};
