/* lua_select.c - finds nodes: by position, by the tensors they read and make, by name. */
#include "core/base/nearest.h"
#include "scripts/lua_place.h"

/* ---- by position ---- */

static int graph_nodes(lua_State *L)
{
    Policy *policy = graph_check(L);
    if (lua_isboolean(L, 2) && !lua_toboolean(L, 2) && segments_count(policy) > 1) {
        lua_settop(L, 1);
        lua_getfield(L, 1, "segments");
        lua_insert(L, 1);
        lua_call(L, 1, 1);
        return 1;
    }
    return push_nodes(L, policy, (Segment){0, policy->session->inferred->n_program - 1});
}

static int graph_nnodes(lua_State *L)
{
    lua_pushinteger(L, graph_check(L)->session->inferred->n_program);
    return 1;
}

static int graph_node(lua_State *L)
{
    const Inferred *inferred = graph_check(L)->session->inferred;
    lua_Integer i = luaL_checkinteger(L, 2);
    Error err = {0};
    if (i < 0 || i >= inferred->n_program) {
        error_kind(&err, ERROR_OUT_OF_RANGE, "the program has no node %lld", (long long)i);
        error_hint(&err, "it has %d nodes, from 0", inferred->n_program);
        return sandbox_raise(L, &err);
    }
    push_op(L, inferred->program[i]);
    return 1;
}

static int check_place(lua_State *L, Policy *policy, int at)
{
    return policy_program_place(policy, node_check(L, at).op);
}

static int graph_index(lua_State *L)
{
    lua_pushinteger(L, check_place(L, graph_check(L), 2));
    return 1;
}

static int graph_between(lua_State *L)
{
    Policy *policy = graph_check(L);
    int first = check_place(L, policy, 2), last = check_place(L, policy, 3);
    Error err = {0};
    if (first <= last)
        return push_nodes(L, policy, (Segment){first, last});
    const Graph *graph = policy->session->graph;
    const int32_t *program = policy->session->inferred->program;
    error_kind(&err, ERROR_OUT_OF_RANGE, "'%s' comes after '%s'", op_name(graph, program[first]),
               op_name(graph, program[last]));
    error_hint(&err, "give the first node first: %d, %d", last, first);
    return sandbox_raise(L, &err);
}

/* ---- by what they read and make ---- */

static int graph_producers(lua_State *L)
{
    const Session *session = graph_check(L)->session;
    int32_t maker =
        session->graph->tensors[((const NamedTensor *)luaL_checkudata(L, 2, tensor_type))->tensor]
            .maker;
    lua_newtable(L);
    if (maker >= 0 && !inferred_is_host(session->inferred, maker)) {
        push_op(L, maker);
        lua_rawseti(L, -2, 1);
    }
    return 1;
}

static int graph_consumers(lua_State *L)
{
    graph_check(L);
    luaL_checkudata(L, 2, tensor_type);
    lua_settop(L, 2);
    lua_remove(L, 1);
    return tensor_consumers(L);
}

static int graph_depends(lua_State *L)
{
    const Graph *graph = graph_check(L)->session->graph;
    int32_t before = node_check(L, 2).op;
    int32_t after = node_check(L, 3).op;
    bool depends = false;
    for (int i = 0; i < graph->ops[after].n_inputs; i++) {
        int32_t t = op_inputs(graph, after)[i];
        depends |= t >= 0 && graph->tensors[t].maker == before;
    }
    lua_pushboolean(L, depends);
    return 1;
}

/* ---- filters ---- */

/* ORDER FILTER FIELD */
typedef enum {
    BY_NAME,
    BY_OPERATOR,
    BY_PATH,
    BY_OP,
    BY_READS,
    BY_MAKES,
    BY_INDEX,
    BY_AXIS,
    BY_IS_PARAM,
    BY_STAGE,
    BY_NTYPE,
    FIELD_COUNT
} FilterField;

typedef enum { NTYPE_ALL, NTYPE_DIMOPS, NTYPE_PYFUNC, NTYPE_NONE, NTYPE_SEGMENT } Ntype;

typedef struct {
    uint32_t asked; /* bit: FilterField */
    Str text[FIELD_COUNT];
    AtomSet axis;
    bool is_param;
    Segment stage;
    Ntype ntype;
} SelectFilter;

static bool read_ntype(Str text, Ntype *out, Error *err)
{
    static const struct {
        const char *name;
        Ntype ntype;
    } rows[] = {{"IRFwOperation", NTYPE_ALL},  {"IRDimops", NTYPE_DIMOPS},
                {"IRPyFunc", NTYPE_PYFUNC},    {"IRDataOperation", NTYPE_NONE},
                {"IRGraphAnchor", NTYPE_NONE}, {"IRBpOperation", NTYPE_NONE},
                {"IRSegment", NTYPE_SEGMENT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(text, str_from(rows[i].name))) {
            *out = rows[i].ntype;
            return true;
        }
    error_set(err, "there is no node type '%.*s'", STR_ARG(text));
    return error_hint(err, "IRFwOperation, IRDimops, IRPyFunc, IRDataOperation, IRSegment");
}

/* Empty if there is no such stage. */
static Segment segment_of_number(Policy *policy, lua_Integer number)
{
    int n = policy->session->inferred->n_program;
    for (int place = 0; place < n && number >= 0; number--) {
        Segment segment = segment_at(policy, place);
        if (number == 0)
            return segment;
        place = segment.last + 1;
    }
    return (Segment){0, -1};
}

/* The value at the top of the stack. */
static bool read_field(lua_State *L, Policy *policy, FilterField field, SelectFilter *out,
                       Error *err)
{
    enum { FILTER_BYTES_MAX = 1 << 14 };
    Str *text = &out->text[field];
    out->asked |= 1u << field;
    if (field == BY_IS_PARAM) {
        out->is_param = lua_toboolean(L, -1);
        return lua_isboolean(L, -1) || error_set(err, "'is_param' must be true or false");
    }
    if (field == BY_STAGE) {
        out->stage = segment_of_number(policy, lua_tointeger(L, -1));
        return lua_isinteger(L, -1) || error_set(err, "'stage' must be an integer");
    }
    if (lua_type(L, -1) != LUA_TSTRING)
        return error_set(err, "'%s' must be a string", filter_fields[field].name);
    text->s = lua_tolstring(L, -1, &text->n);
    if (text->n > FILTER_BYTES_MAX)
        return error_set(err, "a pattern can have at most %d characters", FILTER_BYTES_MAX);
    text->s = arena_str(policy->arena, *text);
    if (field == BY_NTYPE)
        return read_ntype(*text, &out->ntype, err);
    if (field != BY_AXIS)
        return true;
    int axis = mesh_need_axis(policy->session->mesh, *text, err);
    out->axis = axis < 0 ? 0 : mesh_axis_atoms(policy->session->mesh, axis);
    return axis >= 0;
}

static bool find_field(const char *key, FilterField *out, Error *err)
{
    for (int f = 0; f < FIELD_COUNT; f++)
        if (strcmp(filter_fields[f].name, key) == 0) {
            *out = (FilterField)f;
            return true;
        }
    error_set(err, "a filter has no field '%s'", key);
    return error_hint(
        err, "fields: name, operator, path, op, reads, makes, index, axis, is_param, stage, ntype");
}

static bool read_filter(lua_State *L, int at, Policy *policy, SelectFilter *out, Error *err)
{
    *out = (SelectFilter){0};
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        FilterField field = FIELD_COUNT;
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        if (!find_field(key, &field, err) || !read_field(L, policy, field, out, err))
            return false;
    }
    return true;
}

/* ---- matching ---- */

static bool names_match(const Policy *policy, Str pattern, const int32_t *tensors, int n)
{
    for (int i = 0; i < n; i++)
        if (tensors[i] >= 0 &&
            (str_glob(pattern, str_from(naming_label(policy->session->naming, tensors[i]))) ||
             str_glob(pattern, str_from(tensor_name(policy->session->graph, tensors[i])))))
            return true;
    return false;
}

static bool reads_param(const Policy *policy, int32_t op)
{
    const Graph *graph = policy->session->graph;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t >= 0 && tensor_is_weight(policy->session->inferred, t))
            return true;
    }
    return false;
}

/* Whether a pin of this run or the current plan shards the op by one of the atoms. */
static bool is_cut_by(const Policy *policy, int32_t op, AtomSet atoms)
{
    const Plan *plan = policy->session->plan;
    for (int32_t i = policy->last_of_op[op]; i >= 0; i = policy->pending.at[i].before)
        if (cut_atoms(decision_cut(&policy->pending.at[i].decision)) & atoms)
            return true;
    const OpCut *cut = plan ? plan_cut(plan, op) : NULL;
    for (int64_t i = 0; cut && i < cut->n; i++)
        if (cut_atoms(&cut->index[i]) & atoms)
            return true;
    return false;
}

static bool is_ntype(const Policy *policy, int32_t op, Ntype ntype)
{
    const OpSpace *space = inferred_space(policy->session->inferred, op);
    bool ruled = space && !space->no_rule;
    return ntype == NTYPE_ALL || (ntype == NTYPE_DIMOPS && ruled) ||
           (ntype == NTYPE_PYFUNC && !ruled);
}

static bool field_matches(Policy *policy, int32_t op, const SelectFilter *filter, FilterField field)
{
    const Graph *graph = policy->session->graph;
    const GraphOp *at = &graph->ops[op];
    const OpSpace *space = inferred_space(policy->session->inferred, op);
    Str text = filter->text[field];
    switch (field) {
    case BY_NAME:
    case BY_OPERATOR:
        return str_glob(text, str_from(op_operator(graph, op)));
    case BY_PATH:
        return str_glob(text, str_from(op_path(graph, op)));
    case BY_OP:
        return str_glob(text, str_from(op_name(graph, op)));
    case BY_READS:
        return names_match(policy, text, op_inputs(graph, op), at->n_inputs);
    case BY_MAKES:
        return names_match(policy, text, op_outputs(graph, op), at->n_outputs);
    case BY_INDEX:
        return space && opspace_find_index(space, text) >= 0;
    case BY_AXIS:
        return is_cut_by(policy, op, filter->axis);
    case BY_IS_PARAM:
        return reads_param(policy, op) == filter->is_param;
    case BY_STAGE:
        return segment_has(policy, filter->stage, op);
    case BY_NTYPE:
        return is_ntype(policy, op, filter->ntype);
    case FIELD_COUNT:
        break;
    }
    return false;
}

static bool matches(Policy *policy, int32_t op, const SelectFilter *filter)
{
    for (int f = 0; f < FIELD_COUNT; f++)
        if (filter->asked >> f & 1 && !field_matches(policy, op, filter, (FilterField)f))
            return false;
    return true;
}

/* ---- notes ---- */

static const char *text_of_op(const Policy *policy, int32_t op, FilterField field)
{
    const Graph *graph = policy->session->graph;
    return field == BY_PATH ? op_path(graph, op)
           : field == BY_OP ? op_name(graph, op)
                            : op_operator(graph, op);
}

/* The text most like the pattern; NULL for fields without texts. */
static const char *nearest_text(lua_State *L, Policy *policy, const SelectFilter *filter,
                                FilterField field)
{
    enum { TRIED_MAX = 20000, NAME_INSTRUCTIONS = 20 };
    const Inferred *inferred = policy->session->inferred;
    Nearest nearest = {filter->text[field], INT32_MAX, NULL};
    if (field == BY_READS || field == BY_MAKES)
        return names_nearest(policy->arena, inferred, policy->session->naming, filter->text[field]);
    if (field > BY_OP)
        return NULL;
    for (int i = 0; i < inferred->n_program && i < TRIED_MAX; i++) {
        const char *text = text_of_op(policy, inferred->program[i], field);
        sandbox_spend(L, NAME_INSTRUCTIONS);
        if (*text && text != nearest.name)
            nearest_try(&nearest, text);
    }
    return nearest.name;
}

static bool any_matches(Policy *policy, const SelectFilter *filter, FilterField field)
{
    const Inferred *inferred = policy->session->inferred;
    for (int i = 0; i < inferred->n_program; i++)
        if (field_matches(policy, inferred->program[i], filter, field))
            return true;
    return false;
}

static void note_no_node(lua_State *L, Policy *policy, const SelectFilter *filter)
{
    for (int f = 0; f < FIELD_COUNT; f++) {
        FilterField field = (FilterField)f;
        if (!(filter->asked >> f & 1) || any_matches(policy, filter, field))
            continue;
        const char *nearest = nearest_text(L, policy, filter, field);
        Buf text = buf_new(policy->arena);
        buf_printf(&text, "no node matches %s = '", filter_fields[f].name);
        text_printable(filter->text[f], &text);
        buf_putc(&text, '\'');
        policy_note(L, policy, LEVEL_WARNING, "pattern-matched-nothing", text.s,
                    nearest ? arena_printf(policy->arena, "nearest: '%s'", nearest) : "");
        return;
    }
    policy_note(L, policy, LEVEL_WARNING, "pattern-matched-nothing",
                "no node matches all fields of the filter", "each field alone matches some nodes");
}

/* ---- select, where ---- */

static int push_matches(lua_State *L, Policy *policy, const SelectFilter *filter)
{
    enum { MATCH_INSTRUCTIONS = 2 };
    const Inferred *inferred = policy->session->inferred;
    lua_Integer n = 0;
    lua_newtable(L);
    sandbox_spend(L, (int64_t)inferred->n_program * MATCH_INSTRUCTIONS);
    for (int i = 0; i < inferred->n_program; i++)
        if (matches(policy, inferred->program[i], filter)) {
            push_op(L, inferred->program[i]);
            lua_rawseti(L, -2, ++n);
        }
    if (n == 0 && filter->ntype != NTYPE_NONE)
        note_no_node(L, policy, filter);
    return 1;
}

/* Pushes the nodes for which the function at 2 returns true. */
static int push_chosen(lua_State *L, const Policy *policy)
{
    const Inferred *inferred = policy->session->inferred;
    lua_Integer n = 0;
    lua_settop(L, 2);
    lua_newtable(L);
    for (int i = 0; i < inferred->n_program; i++) {
        push_op(L, inferred->program[i]);
        lua_pushvalue(L, 2);
        lua_pushvalue(L, -2);
        lua_call(L, 1, 1);
        bool chosen = lua_toboolean(L, -1);
        lua_pop(L, 1);
        if (chosen)
            lua_rawseti(L, 3, ++n);
        else
            lua_pop(L, 1);
    }
    return 1;
}

static int find_nodes(lua_State *L)
{
    Policy *policy = graph_check(L);
    SelectFilter filter;
    Error err = {0};
    if (lua_isfunction(L, 2))
        return push_chosen(L, policy);
    luaL_checktype(L, 2, LUA_TTABLE);
    if (!read_filter(L, 2, policy, &filter, &err))
        return sandbox_raise(L, &err);
    if (filter.ntype != NTYPE_SEGMENT)
        return push_matches(L, policy, &filter);
    lua_getfield(L, 1, "segments");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

const LuaEntry select_fields[] = {
    {"nnodes", graph_nnodes, "integer", "The number of nodes in the program."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry select_methods[] = {
    {"nodes", graph_nodes, "(flatten?: boolean): node[]",
     "The nodes of the program, in program order. Ops that only compute shapes are constants and "
     "not nodes. graph:nodes(false) returns the segments once there are stages."},
    {"node", graph_node, "(i: integer): node", "The node at that position of the program, from 0."},
    {"index", graph_index, "(node: node): integer",
     "The position of the node in the program, from 0."},
    {"between", graph_between, "(first: node, last: node): node[]",
     "The nodes from the first to the last, inclusive, in program order. Refused: a last node that "
     "comes before the first."},
    {"producers", graph_producers, "(tensor: tensor): node[]",
     "The node that computes the tensor, as a list; empty for inputs, parameters and constants."},
    {"consumers", graph_consumers, "(tensor: tensor): node[]",
     "The nodes that read the tensor, each once, in program order."},
    {"depends", graph_depends, "(before: node, after: node): boolean",
     "Whether the second node directly reads an output of the first."},
    {"select", find_nodes, "(filter: node_filter|fun(node: node): boolean): node[]",
     "The nodes that match all fields of the filter, or for which the function returns true, in "
     "program order. A filter that matches nothing is a warning with the nearest name."},
    {"where", find_nodes, "(filter: node_filter|fun(node: node): boolean): node[]",
     "The same as graph:select. The list can be pinned, assigned or recomputed as a whole: "
     "graph:pin(graph:where{path = \"*.mlp.c_fc\", index = \"n\"}, {n = \"tp\"})."},
    {NULL, NULL, NULL, NULL},
};

/* ORDER FILTER FIELD */
const LuaEntry filter_fields[] = {
    {"name", NULL, "string?", "A pattern (* ? {a,b}) for the operator's name: \"MatMul\"."},
    {"operator", NULL, "string?", "The same as name."},
    {"path", NULL, "string?", "A pattern for the module's path: \"transformer.h.*.mlp.c_fc\"."},
    {"op", NULL, "string?", "A pattern for the op's own name."},
    {"reads", NULL, "string?", "A pattern for the name of a tensor that the node reads."},
    {"makes", NULL, "string?", "A pattern for the name of a tensor that the node computes."},
    {"index", NULL, "string?", "The name of an index dim of the node: \"k\"."},
    {"axis", NULL, "string?",
     "A mesh axis that shards the node by a decision of this run, or in the current plan."},
    {"is_param", NULL, "boolean?",
     "Whether the node reads a parameter, or a value computed only from parameters."},
    {"stage", NULL, "integer?", "The number of the node's stage, from 0."},
    {"ntype", NULL,
     "(\"IRFwOperation\"|\"IRDimops\"|\"IRPyFunc\"|\"IRDataOperation\"|\"IRSegment\")?",
     "nnScaler's type: IRDimops have a rule, IRPyFunc have none; there are no data operations, and "
     "IRSegment selects the segments."},
    {NULL, NULL, NULL, NULL},
};
