/* lua_graph.c - methods of the graph that pin dims of tensors and nodes, or constrain tensors.
 *
 * Nodes are selected in lua_select.c, partitioned in lua_partition.c, placed in lua_place.c.
 */
#include "core/fuse/fuse.h"
#include "scripts/lua_cut.h"
#include "scripts/lua_legal.h"
#include "scripts/lua_objects.h"
#include "scripts/lua_push.h"
#include "scripts/lua_targets.h"

#include <inttypes.h>

/* ---- lists ---- */

static void append_own(lua_State *L, int32_t tensor)
{
    push_own_tensor(L, tensor);
    append(L);
}

static int push_ends(lua_State *L, const Policy *policy, const int32_t *tensors, int n)
{
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++)
        if (tensor_can_be_sharded(policy->session->inferred, tensors[i]))
            append_own(L, tensors[i]);
    return 1;
}

static int graph_inputs(lua_State *L)
{
    const Policy *policy = graph_check(L);
    return push_ends(L, policy, policy->session->graph->inputs, policy->session->graph->n_inputs);
}

static int graph_outputs(lua_State *L)
{
    const Policy *policy = graph_check(L);
    return push_ends(L, policy, policy->session->graph->outputs, policy->session->graph->n_outputs);
}

/* The parameters, by their own names, that ops of the program read. */
static int graph_params(lua_State *L)
{
    const Policy *policy = graph_check(L);
    const Inferred *inferred = policy->session->inferred;
    lua_newtable(L);
    for (int t = 0; t < inferred->graph->n_tensors; t++)
        if (tensor_is_parameter(inferred, t) && tensor_n_uses(inferred->graph, t) > 0)
            append_own(L, t);
    return 1;
}

static void append_match(lua_State *L, Policy *policy, const Target *target, void *context)
{
    (void)policy;
    (void)context;
    push_tensor(L, target->named);
    append(L);
}

static int graph_tensors(lua_State *L)
{
    Policy *policy = graph_check(L);
    Str pattern = lua_isnoneornil(L, 2) ? STR("*") : target_pattern(L, 2);
    lua_newtable(L);
    targets_match(L, policy, pattern, append_match, NULL);
    return 1;
}

/* ---- pins ---- */

static void pin_tensor_dim(lua_State *L, Policy *policy, int32_t tensor, int dim,
                           const CutSpec *spec, const Cut *cut)
{
    Decision decision = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = dim, .cut = cut};
    decision.open = spec->open;
    decision.store = spec->store;
    decision.keep = spec->keep;
    decision.priority = spec->priority;
    policy_decide(L, policy, &decision);
}

/* The dim of a number, counted from the end if negative, and its size. */
static bool resolve_dim(const Policy *policy, const NamedTensor *named, lua_Integer number,
                        int *dim, int64_t *size, Error *err)
{
    const Shape *shape = inferred_shape(policy->session->inferred, named->tensor);
    if (!shape)
        return error_set(err, "the shape of '%s' is unknown", named->name);
    lua_Integer at = number < 0 ? number + shape->n_dims : number;
    if (at < 0 || at >= shape->n_dims) {
        error_kind(err, ERROR_OUT_OF_RANGE, "'%s' has %d dims, no dim %lld", named->name,
                   (int)shape->n_dims, (long long)number);
        return legal_dims(policy, named->tensor, err);
    }
    *dim = (int)at;
    *size = shape->dim[at];
    return true;
}

/* A key of the table of pins, at stack index `at`, and its value. */
typedef struct {
    const Target *target;
    int at;
    CutSpec spec;
} ChainKey;

/* Says in the error which dim of which target it is about. */
static bool about_key(lua_State *L, const Policy *policy, const ChainKey *key, Error *err)
{
    const Target *target = key->target;
    const char *name =
        target->named ? target->named->name : op_name(policy->session->graph, target->op);
    const char *dim = lua_type(L, key->at) == LUA_TNUMBER ? "dim " : "";
    const char *text = sandbox_push_text(L, key->at, NULL);
    return legal_about(err, arena_printf(policy->arena, "%s%s of '%s'", dim, text, name));
}

static bool key_cut(lua_State *L, const Policy *policy, const ChainKey *key, int64_t size, Cut *cut,
                    Error *err)
{
    return cut_spec_cut(&key->spec, size, policy->session->mesh, cut, err) ||
           about_key(L, policy, key, err);
}

static bool pin_by_number(lua_State *L, Policy *policy, const NamedTensor *named,
                          lua_Integer number, const ChainKey *key, Error *err)
{
    int dim = 0;
    int64_t size = 0;
    Cut cut;
    if (!resolve_dim(policy, named, number, &dim, &size, err) ||
        !key_cut(L, policy, key, size, &cut, err))
        return false;
    pin_tensor_dim(L, policy, named->tensor, dim, &key->spec, &cut);
    return true;
}

/* The sharding of a tensor dim with several index dims when only one of them is sharded. */
static bool cut_of_radix(const Policy *policy, const IndexPlace *place, const Cut *cut, Cut *out)
{
    const OpSpace *space = inferred_space(policy->session->inferred, place->op);
    Cut whole[FACTORS_MAX];
    const Cut *parts[FACTORS_MAX];
    if (!space || !place->factors.exact)
        return false;
    for (int f = 0; f < place->factors.n; f++) {
        whole[f] = cut_whole(space->index[place->factors.index[f]].size);
        parts[f] = f == place->factor ? cut : &whole[f];
    }
    return cut_concat(parts, place->factors.n, policy->session->mesh, out);
}

static bool pin_by_index(lua_State *L, Policy *policy, const NamedTensor *named, Str index,
                         const ChainKey *key, Error *err)
{
    const Inferred *inferred = policy->session->inferred;
    IndexPlace place;
    Cut cut;
    if (!tensor_find_index(policy->arena, inferred, named, index, &place, err))
        return false;
    NamedTensor view = {named->name, place.tensor, place.op};
    if (place.factors.n == 1)
        return pin_by_number(L, policy, &view, place.dim, key, err);
    const OpSpace *space = inferred_space(inferred, place.op);
    int64_t size = space ? space->index[place.factors.index[place.factor]].size : 0;
    if (!key_cut(L, policy, key, size, &cut, err))
        return false;
    if (!cut_of_radix(policy, &place, &cut, &cut))
        return error_kind(err, ERROR_UNSUPPORTED,
                          "dim %d of '%s' cannot be sharded along %.*s alone", place.dim,
                          named->name, STR_ARG(index));
    pin_tensor_dim(L, policy, place.tensor, place.dim, &key->spec, &cut);
    return true;
}

static bool no_index_dim(const Policy *policy, int32_t op, Str index, Error *err)
{
    error_kind(err, ERROR_OUT_OF_RANGE, "node '%s' has no index dim '%.*s'",
               op_name(policy->session->graph, op), STR_ARG(index));
    return legal_index_dims(policy, op, err);
}

static bool pin_node_index(lua_State *L, Policy *policy, int32_t op, Str index, const ChainKey *key,
                           Error *err)
{
    const OpSpace *space = inferred_space(policy->session->inferred, op);
    int i = space ? opspace_find_index(space, index) : -1;
    if (!space || i < 0)
        return no_index_dim(policy, op, index, err);
    if (key->spec.store || key->spec.keep) {
        error_set(err, key->spec.store ? "'store' applies to parameters, not to nodes"
                                       : "'keep' applies to tensors, not to nodes");
        return about_key(L, policy, key, err);
    }
    Cut cut;
    if (!key_cut(L, policy, key, space->index[i].size, &cut, err))
        return false;
    bool ring = key->spec.ring, frozen = space->index[i].role == ROLE_FROZEN;
    bool may = ring ? op_cut_rounds(space, i) > 0
                    : !frozen || op_cut_of_frozen(space, i, &cut, policy->session->mesh);
    if (key->spec.n > 0 && !may) {
        error_kind(err, ERROR_FROZEN, "index dim %.*s of '%s' %s", STR_ARG(index),
                   op_name(policy->session->graph, op),
                   ring ? "has no parts that can go around a ring"
                        : "is frozen: it cannot be sharded");
        return legal_index_dims(policy, op, err);
    }
    Decision decision = {.kind = PIN_INDEX_DIM, .place = op, .dim = i, .open = key->spec.open};
    decision.priority = key->spec.priority;
    decision.cut = &cut;
    policy_decide(L, policy, &decision);
    return true;
}

/* The op of a training step that has the name of its result, if it has the index dim; else -1. */
static int32_t op_of_that_name(const Policy *policy, const Target *target, Str index)
{
    const Inferred *inferred = policy->session->inferred;
    if (!target->named || !inferred->forward)
        return -1;
    int32_t op = graph_find_op(inferred->graph, str_from(target->named->name));
    const OpSpace *space =
        op < policy->session->bare.graph->n_ops ? NULL : inferred_space(inferred, op);
    return space && opspace_find_index(space, index) >= 0 ? op : -1;
}

/* Pins the dim of one key: the key is below its value at the top of the stack. */
static bool pin_key(lua_State *L, Policy *policy, const Target *target, Error *err)
{
    ChainKey key;
    key.target = target;
    key.at = lua_gettop(L) - 1;
    if (!cut_spec_read(L, lua_gettop(L), policy->session->mesh, &key.spec, err))
        return about_key(L, policy, &key, err);
    int whole = 0;
    lua_Integer number = lua_type(L, -2) == LUA_TNUMBER ? lua_tointegerx(L, -2, &whole) : 0;
    if (whole && target->named)
        return pin_by_number(L, policy, target->named, number, &key, err);
    if (lua_type(L, -2) != LUA_TSTRING) {
        error_set(err, target->named ? "a dim must be a number or the name of an index dim"
                                     : "dims of a node must be names of its index dims");
        return about_key(L, policy, &key, err);
    }
    Str index = str_from(lua_tostring(L, -2));
    int32_t op = op_of_that_name(policy, target, index);
    if (op >= 0)
        return pin_node_index(L, policy, op, index, &key, err);
    return target->named ? pin_by_index(L, policy, target->named, index, &key, err)
                         : pin_node_index(L, policy, target->op, index, &key, err);
}

/* Pins every dim of the tensor as the text at 3 says, in any notation; over axes that it is partial
 * over it stays so. */
static bool pin_sharding(lua_State *L, Policy *policy, const Target *target, Error *err)
{
    const Session *session = policy->session;
    Source source = {"sharding", str_from(lua_tostring(L, 3))};
    Sharding sharding;
    if (!target->named)
        return error_set(err, "a sharding describes a tensor; for a node write {n = \"tp\"}");
    int32_t tensor = target->named->tensor;
    const Shape *shape = inferred_shape(session->inferred, tensor);
    if (!shape)
        return error_set(err, "the shape of '%s' is unknown", target->named->name);
    if (!sharding_parse_any(&source, shape, session->mesh, &sharding, err))
        return false;
    for (int d = 0; d < shape->n_dims; d++)
        pin_tensor_dim(L, policy, tensor, d, &(CutSpec){0}, &sharding.dim[d]);
    Decision partial = {.kind = PIN_UNREDUCED, .place = tensor, .dim = -1};
    partial.axes = sharding_partials(&sharding);
    if (partial.axes)
        policy_decide(L, policy, &partial);
    return true;
}

/* Pins the dims in the table at 3, in the order of its keys, or as the text there says. */
static void pin_target(lua_State *L, Policy *policy, const Target *target)
{
    Error err = {0};
    int top = lua_gettop(L);
    if (lua_type(L, 3) == LUA_TSTRING) {
        if (!pin_sharding(L, policy, target, &err))
            sandbox_raise(L, &err);
        return;
    }
    sandbox_push_keys(L, 3);
    int keys = lua_gettop(L);
    for (lua_Integer i = 1; lua_rawgeti(L, keys, i) != LUA_TNIL; i++) {
        lua_pushvalue(L, -1);
        lua_gettable(L, 3);
        if (!pin_key(L, policy, target, &err))
            sandbox_raise(L, &err);
        lua_settop(L, keys);
    }
    lua_settop(L, top);
}

static void pin_named(lua_State *L, Policy *policy, const Target *target, void *context)
{
    (void)context;
    pin_target(L, policy, target);
}

static void pin_value(lua_State *L, Policy *policy, int at, void *exact)
{
    Target target;
    if (target_read(L, at, &target))
        pin_target(L, policy, &target);
    else if (lua_type(L, at) == LUA_TSTRING)
        targets_named(L, policy, at, *(const bool *)exact, pin_named, NULL);
    else
        luaL_error(L, "expected a name, a tensor or a node, not a %s", type_shown(L, at));
}

static int pin_values(lua_State *L, bool exact)
{
    Policy *policy = graph_check(L);
    if (lua_type(L, 3) != LUA_TSTRING)
        luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    lua_pushnil(L);
    if (lua_istable(L, 3) && lua_next(L, 3) == 0)
        return luaL_error(L, "no dim is given: write for example {[0] = \"dp\"} or {n = \"tp\"}");
    lua_settop(L, 3);
    policy_each_value(L, policy, 2, pin_value, &exact);
    return 0;
}

static int graph_shard(lua_State *L)
{
    return pin_values(L, false);
}

static int graph_pin(lua_State *L)
{
    return pin_values(L, true);
}

/* ---- unpin ---- */

static void unpin_dim(lua_State *L, Policy *policy, const Target *target, int32_t place, int dim)
{
    Decision decision = {
        .kind = target->named ? UNPIN_TENSOR_DIM : UNPIN_INDEX_DIM, .place = place, .dim = dim};
    policy_decide(L, policy, &decision);
}

static void unpin_all(lua_State *L, Policy *policy, const Target *target)
{
    const Inferred *inferred = policy->session->inferred;
    const OpSpace *space = target->named ? NULL : inferred_space(inferred, target->op);
    const Shape *shape = target->named ? inferred_shape(inferred, target->named->tensor) : NULL;
    int n = shape ? (int)shape->n_dims : space ? space->n_index : 0;
    for (int d = 0; d < n; d++)
        unpin_dim(L, policy, target, target->named ? target->named->tensor : target->op, d);
    if (target->named)
        policy_unmark(L, policy, target->named->tensor);
}

/* Unpins the dim at that stack index. */
static bool unpin_one(lua_State *L, Policy *policy, const Target *target, int at, Error *err)
{
    const Inferred *inferred = policy->session->inferred;
    int dim = 0;
    int64_t size = 0;
    if (target->named && lua_isinteger(L, at)) {
        if (!resolve_dim(policy, target->named, lua_tointeger(L, at), &dim, &size, err))
            return false;
        unpin_dim(L, policy, target, target->named->tensor, dim);
        return true;
    }
    if (lua_type(L, at) != LUA_TSTRING)
        return error_set(err, "a dim must be a number or the name of an index dim");
    Str index = str_from(lua_tostring(L, at));
    int32_t same = op_of_that_name(policy, target, index);
    if (same >= 0)
        return unpin_one(L, policy, &(Target){NULL, same}, at, err);
    if (target->named) {
        IndexPlace place;
        if (!tensor_find_index(policy->arena, inferred, target->named, index, &place, err))
            return false;
        unpin_dim(L, policy, target, place.tensor, place.dim);
        return true;
    }
    const OpSpace *space = inferred_space(inferred, target->op);
    dim = space ? opspace_find_index(space, index) : -1;
    if (dim < 0)
        return no_index_dim(policy, target->op, index, err);
    unpin_dim(L, policy, target, target->op, dim);
    return true;
}

static void unpin_dims(lua_State *L, Policy *policy, int at, void *target)
{
    Error err = {0};
    if (!unpin_one(L, policy, target, at, &err))
        sandbox_raise(L, &err);
}

static void unpin_target(lua_State *L, Policy *policy, const Target *target)
{
    if (lua_isnoneornil(L, 3))
        unpin_all(L, policy, target);
    else
        policy_each_value(L, policy, 3, unpin_dims, &(Target){target->named, target->op});
}

static void unpin_named(lua_State *L, Policy *policy, const Target *target, void *context)
{
    (void)context;
    unpin_target(L, policy, target);
}

/* A name without these finds one tensor, or is an error. */
static bool is_pattern(Str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (strchr("*?{", name.s[i]))
            return true;
    return false;
}

static void unpin_value(lua_State *L, Policy *policy, int at, void *context)
{
    (void)context;
    Target target;
    if (target_read(L, at, &target))
        unpin_target(L, policy, &target);
    else
        targets_named(L, policy, at, !is_pattern(target_pattern(L, at)), unpin_named, NULL);
}

static int graph_unpin(lua_State *L)
{
    Policy *policy = graph_check(L);
    lua_settop(L, 3);
    policy_each_value(L, policy, 2, unpin_value, NULL);
    return 0;
}

/* ---- constraints on whole tensors ---- */

static void mark_named(lua_State *L, Policy *policy, const Target *target, void *context)
{
    Decision decision = *(const Decision *)context;
    if (!target->named) {
        luaL_error(L, "'%s' is an op, not a tensor", op_name(policy->session->graph, target->op));
        return;
    }
    decision.place = target->named->tensor;
    decision.dim = -1;
    policy_decide(L, policy, &decision);
}

static void mark_value(lua_State *L, Policy *policy, int at, void *decision)
{
    Target target;
    if (!target_read(L, at, &target) && lua_type(L, at) == LUA_TSTRING)
        targets_named(L, policy, at, false, mark_named, decision);
    else if (target.named)
        mark_named(L, policy, &target, decision);
    else
        luaL_error(L, "expected a name or a tensor, not a %s",
                   target.op >= 0 ? "node" : type_shown(L, at));
}

/* Makes the decision for all tensors that the value at `at` names. */
static int mark_values(lua_State *L, Policy *policy, int at, Decision *decision)
{
    policy_each_value(L, policy, at, mark_value, decision);
    return 0;
}

static int mark_axes(lua_State *L, DecisionKind kind)
{
    Policy *policy = graph_check(L);
    lua_settop(L, 3);
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    Error err = {0};
    Decision decision = {.kind = kind};
    if (!cut_axes_read(L, 3, policy->session->mesh, atom, &n, &err) ||
        (n == 0 && !error_set(&err, "no axis is given: write for example {\"dp\"}")))
        sandbox_raise(L, &err);
    for (int i = 0; i < n; i++)
        decision.axes |= (AtomSet)1 << atom[i];
    return mark_values(L, policy, 2, &decision);
}

static int graph_replicated(lua_State *L)
{
    return mark_axes(L, PIN_REPLICATED);
}

static int graph_unreduced(lua_State *L)
{
    return mark_axes(L, PIN_UNREDUCED);
}

static int graph_tie(lua_State *L)
{
    Policy *policy = graph_check(L);
    Str name = target_pattern(L, 2);
    luaL_argcheck(L, name.n > 0 && strlen(name.s) == name.n, 2, "a group needs a name");
    Decision decision = {.kind = PIN_GROUP};
    decision.group = arena_str(policy->session->journal_arena, name);
    lua_settop(L, 3);
    return mark_values(L, policy, 3, &decision);
}

static int graph_barrier(lua_State *L)
{
    /* ORDER PASS, without both */
    static const char *const directions[] = {"none", "forward", "backward"};
    Policy *policy = graph_check(L);
    lua_settop(L, 3);
    const char *name = luaL_checkstring(L, 3);
    Decision decision = {.kind = PIN_BARRIER};
    while (decision.pass < PASS_BOTH && strcmp(name, directions[decision.pass]) != 0)
        decision.pass++;
    if (decision.pass == PASS_BOTH) {
        sandbox_refuse(L, ERROR_INVALID, "a barrier is \"forward\", \"backward\" or \"none\"",
                       "a barrier has no direction '%s'", name);
    }
    return mark_values(L, policy, 2, &decision);
}

static void unmark_named(lua_State *L, Policy *policy, const Target *target, void *context)
{
    (void)context;
    if (target->named)
        policy_unmark(L, policy, target->named->tensor);
}

static int graph_warn(lua_State *L)
{
    enum { TEXT_BYTES_MAX = 2000 };
    Policy *policy = graph_check(L);
    const char *hint = luaL_optstring(L, 3, ""), *code = luaL_optstring(L, 4, "policy-warns");
    Str text = {0};
    text.s = luaL_checklstring(L, 2, &text.n);
    text.n = text.n < TEXT_BYTES_MAX ? text.n : TEXT_BYTES_MAX;
    Buf shown = buf_new(policy->arena), shown_hint = buf_new(policy->arena);
    Buf shown_code = buf_new(policy->arena);
    text_printable(text, &shown);
    text_printable(str_from(hint), &shown_hint);
    text_printable(str_from(code), &shown_code);
    policy_note(L, policy, LEVEL_WARNING, shown_code.n ? shown_code.s : "", shown.n ? shown.s : "",
                shown_hint.n ? shown_hint.s : "");
    return 0;
}

static int graph_unmark(lua_State *L)
{
    Policy *policy = graph_check(L);
    const NamedTensor *named = luaL_testudata(L, 2, tensor_type);
    if (named)
        policy_unmark(L, policy, named->tensor);
    else
        targets_named(L, policy, 2, false, unmark_named, NULL);
    return 0;
}

static int graph_fuse(lua_State *L)
{
    Session *session = graph_check(L)->session;
    Error err = {0};
    unsigned wanted;
    if (!fusions_parse(str_from(luaL_checkstring(L, 2)), &wanted, &err))
        return sandbox_raise(L, &err);
    if ((session->options.fuse & wanted) == wanted)
        return 0;
    if (session->fusible)
        session->fuse_wanted |= wanted;
    error_kind(&err, ERROR_SCRIPT,
               "a model is fused while it is opened, before anything is planned");
    error_hint(&err, "open it with --fuse %s, or with -p and this policy", lua_tostring(L, 2));
    return sandbox_raise(L, &err);
}

const LuaEntry graph_methods[] = {
    {"inputs", graph_inputs, "(): tensor[]",
     "The inputs of the graph, in the order of the model file."},
    {"outputs", graph_outputs, "(): tensor[]",
     "The outputs of the graph, in the order of the model file."},
    {"params", graph_params, "(): tensor[]",
     "The parameters that some node reads, under their own names."},
    {"tensors", graph_tensors, "(pattern?: string): tensor[]",
     "The tensors whose name matches the pattern, else all: * is any text, ? one character, {q,k} "
     "either word. A tensor with several matching names is listed once for each. No match is an "
     "empty list without a note."},
    {"shard", graph_shard, "(what: what|what[], cuts: cuts|string)",
     "Pins dims of every tensor or node that `what` names. {[0] = \"dp\"} shards dim 0, counted "
     "from 0, or from the end as -1; {n = \"tp\"} shards the index dim n of the op that uses the "
     "tensor. For a node only names of its own index dims are allowed. Where an op of a training "
     "step has the name of its result, names are index dims of the op. A text is a whole sharding "
     "in "
     "any notation, \"[S(0), R]\" or \"P('dp', None)\": it pins every dim. A pattern that matches "
     "nothing is a warning with the nearest name. Refused: a dim or axis that does not exist, a "
     "frozen dim unless the cut keeps its parts apart, a second sharding of a dim, an axis on two "
     "dims of a tensor."},
    {"pin", graph_pin, "(what: what|what[], cuts: cuts|string)",
     "As graph:shard, but a string is one exact name: an unknown name is an error with the nearest "
     "name."},
    {"unpin", graph_unpin, "(what: what|what[], dims?: dim|dim[])",
     "Removes the pins of these dims, or without dims all pins and marks of the tensor. Dims "
     "without a pin stay as they are."},
    {"replicated", graph_replicated, "(what: target|target[], axes: axes)",
     "These axes shard no dim of the tensors, whatever propagates to them. A pattern that matches "
     "nothing is a warning. Refused if a pin shards the tensor by one of the axes."},
    {"unreduced", graph_unreduced, "(what: target|target[], axes: axes)",
     "The tensors stay partial over these axes: each rank along them has an addend, and no sum is "
     "inserted here. An Add that makes one adds what is not partial on the ranks at coordinate 0 "
     "alone. A pattern that matches nothing is a warning. Refused if a pin shards the tensor by "
     "one "
     "of the axes."},
    {"tie", graph_tie, "(name: string, what: target|target[])",
     "All tensors in the group of that name have one sharding: an axis that reaches one of them "
     "reaches all. A pattern that matches nothing is a warning."},
    {"barrier", graph_barrier,
     "(what: target|target[], direction: \"none\"|\"forward\"|\"backward\")",
     "Axes propagate through the tensors only in that direction: forward from producer to "
     "consumers, backward from consumers to producer, or not at all. A pattern that matches "
     "nothing is a warning."},
    {"unmark", graph_unmark, "(what: target)",
     "Removes what graph:replicated, unreduced, tie and barrier decided for the tensor, or for "
     "those that match the pattern. Pins of dims stay."},
    {"warn", graph_warn, "(text: string, hint?: string, code?: string)",
     "Adds a warning to the findings of the plan, with the line of the policy; code: its name in "
     "brackets, \"policy-warns\" by default."},
    {"op", graph_op, "(name: string): node",
     "The op of that name, or of that module: the op that reads its weight, else the last op on "
     "its path. An unknown name is an error with the nearest path."},
    {"reshards", graph_reshards, "(wanted?: {axis?: string, kind?: string}): fun(): reshard?",
     "Iterates over the reshards of the current plan in a for loop, optionally only those along an "
     "axis or of a kind (\"AR\" or \"all_reduce\"). While PAS first runs there is no plan before "
     "graph:propose()."},
    {"fuse", graph_fuse, "(name: \"attention\"|\"tied\")",
     "Recognises attention that ops spell out, MatMul, scale, mask, Softmax, MatMul, and plans the "
     "one op Attention in their place; or reads a weight that has the elements of an embedding "
     "from "
     "the embedding (tied). PAS begins again on the fused graph. A note counts what was "
     "fused. Only while the model is opened; the option --fuse does the same."},
    {"propose", graph_propose, "(): plan_totals",
     "Makes a trial plan of what is decided so far, and returns what it costs. Until the next "
     "trial "
     "graph:reshards(), node.us and tensor.sharding are those of the trial, so that a policy can "
     "compare: decide, propose, graph:unpin, decide otherwise. Stages and devices are not part of "
     "a "
     "trial."},
    {NULL, NULL, NULL, NULL},
};
