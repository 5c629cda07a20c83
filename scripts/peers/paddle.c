#include "scripts/peers/paddle.h"

#include "core/session/session.h"
#include "core/peers/paddle/dim_trans.h"
#include "core/peers/paddle/letters.h"
#include "core/peers/paddle/merge.h"
#include "scripts/lua_attrs.h"
#include "scripts/sandbox/lua_state.h"
#include "scripts/register/lua_registered.h"

#include <lauxlib.h>

/* A registered rule's functions, as references in Lua's registry; LUA_NOREF: none. */
typedef struct {
    Sandbox *sandbox;
    const char *name;
    int forward, backward;
} RuleFunctions;

/* ---- values ---- */

static void push_axes(lua_State *L, const SpmdAxes *axes)
{
    if (axes->n == 0) {
        lua_pushinteger(L, -1);
        return;
    }
    if (axes->n == 1) {
        lua_pushinteger(L, axes->axis[0]);
        return;
    }
    lua_createtable(L, axes->n, 0);
    for (int i = 0; i < axes->n; i++) {
        lua_pushinteger(L, axes->axis[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

static void push_mapping(lua_State *L, const SpmdTensor *tensor)
{
    lua_createtable(L, tensor->n_dims, 0);
    for (int d = 0; d < tensor->n_dims; d++) {
        push_axes(L, &tensor->dim[d]);
        lua_rawseti(L, -2, d + 1);
    }
}

static void push_partial(lua_State *L, const SpmdTensor *tensor)
{
    lua_newtable(L);
    for (int a = 0; a < MESH_AXES_MAX; a++)
        if (tensor->partial[a] != REDUCE_NONE) {
            lua_pushstring(L, reduce_name((ReduceOp)tensor->partial[a]));
            lua_rawseti(L, -2, a);
        }
}

static void push_tensor(lua_State *L, const SpmdTensor *tensor)
{
    if (tensor->absent) {
        lua_pushnil(L);
        return;
    }
    lua_newtable(L);
    sizes_push(L, &tensor->shape);
    lua_setfield(L, -2, "shape");
    push_mapping(L, tensor);
    lua_setfield(L, -2, "dims_mapping");
    push_partial(L, tensor);
    lua_setfield(L, -2, "partial");
}

/* The call of the rule that is running: its mesh says which axes there are. */
static SpmdCall *running(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "spmd call");
    SpmdCall *call = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (!call)
        luaL_error(L, "the functions of spmd are for rules that are running");
    return call;
}

static int check_axis(lua_State *L, lua_Integer axis)
{
    if (axis < 0 || axis >= running(L)->mesh->n_axes)
        luaL_error(L, "the mesh has no axis %d", (int)axis);
    return (int)axis;
}

static void need_list(lua_State *L, const char *what) /* at the top */
{
    if (!lua_istable(L, -1))
        luaL_error(L, "%s is a list, not a %s", what, luaL_typename(L, -1));
}

/* One entry of a dims_mapping, at the top: -1, an axis, or a list of axes. */
static void read_axes(lua_State *L, SpmdAxes *out)
{
    *out = (SpmdAxes){0};
    bool list = lua_istable(L, -1);
    lua_Integer n = list ? (lua_Integer)lua_rawlen(L, -1) : 1;
    for (lua_Integer i = 1; i <= n; i++) {
        lua_Integer axis;
        int is_int;
        if (list)
            lua_rawgeti(L, -1, i);
        axis = lua_tointegerx(L, -1, &is_int);
        if (list)
            lua_pop(L, 1);
        if (!is_int)
            luaL_error(L, "an entry of a dims_mapping is -1, the number of an axis, or a list");
        if (axis != -1)
            spmd_axes_push(out, check_axis(L, axis));
    }
}

static void read_mapping(lua_State *L, SpmdTensor *out)
{
    lua_Unsigned n = lua_rawlen(L, -1);
    if (n > SPMD_DIMS_MAX)
        luaL_error(L, "a dims_mapping has %d entries at most", SPMD_DIMS_MAX);
    out->n_dims = (int)n;
    for (int d = 0; d < out->n_dims; d++) {
        lua_rawgeti(L, -1, d + 1);
        read_axes(L, &out->dim[d]);
        lua_pop(L, 1);
    }
}

static void read_partial(lua_State *L, SpmdTensor *out)
{
    need_list(L, "partial");
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        ReduceOp reduce = REDUCE_NONE;
        if (!lua_isinteger(L, -2) || lua_type(L, -1) != LUA_TSTRING ||
            !reduce_from_name(str_from(lua_tostring(L, -1)), &reduce))
            luaL_error(L, "partial is a table of axis -> sum, avg, max, min, prod, any or all");
        out->partial[check_axis(L, lua_tointeger(L, -2))] = (uint8_t)reduce;
    }
}

/* The list at the top: sizes that make a shape. */
static void read_sizes(lua_State *L, Shape *out)
{
    Error err = {0};
    need_list(L, "a shape");
    lua_Unsigned n = lua_rawlen(L, -1);
    if (n > DIMS_MAX)
        luaL_error(L, "a tensor has %d dims at most", DIMS_MAX);
    *out = (Shape){.n_dims = (int64_t)n};
    for (int d = 0; d < (int)n; d++) {
        lua_rawgeti(L, -1, d + 1);
        out->dim[d] = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : -1;
        lua_pop(L, 1);
    }
    if (!shape_check(out, &err))
        sandbox_raise(L, &err);
}

/* What stands at the top: a dims_mapping, or {shape =, dims_mapping =, partial =}; nil: absent. */
static void read_tensor(lua_State *L, SpmdTensor *out)
{
    *out = (SpmdTensor){.absent = lua_isnil(L, -1)};
    if (out->absent)
        return;
    if (!lua_istable(L, -1))
        luaL_error(L, "a tensor is a dims_mapping or {dims_mapping = .., partial = ..}, not a %s",
                   luaL_typename(L, -1));
    if (lua_getfield(L, -1, "dims_mapping") == LUA_TNIL) {
        lua_pop(L, 1);
        read_mapping(L, out);
        return;
    }
    need_list(L, "a dims_mapping");
    read_mapping(L, out);
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "partial") != LUA_TNIL)
        read_partial(L, out);
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "shape") != LUA_TNIL)
        read_sizes(L, &out->shape);
    lua_pop(L, 1);
}

/* ---- calling a rule ---- */

static void check_answer(lua_State *L, const SpmdTensor *answer, const char *what, int i)
{
    bool used[MESH_AXES_MAX] = {false};
    for (int d = 0; d < answer->n_dims; d++)
        for (int k = 0; k < answer->dim[d].n; k++) {
            int axis = answer->dim[d].axis[k];
            if (used[axis])
                luaL_error(L, "%s %d: axis %d splits two dims", what, i, axis);
            used[axis] = true;
        }
}

/* The list of answers at stack place `list`. */
static void read_answers(lua_State *L, SpmdCall *call, int list, bool needs)
{
    const char *what = needs ? "input" : "output";
    if (!lua_istable(L, list))
        luaL_error(L, "a rule returns a list for the inputs and a list for the outputs");
    int n = needs ? call->n_inputs : (int)lua_rawlen(L, list);
    for (int i = 0; i < n; i++) {
        SpmdTensor answer;
        lua_rawgeti(L, list, i + 1);
        read_tensor(L, &answer);
        lua_pop(L, 1);
        check_answer(L, &answer, what, i);
        const SpmdTensor *given = needs ? &call->input[i] : NULL;
        if (needs && !given->absent && (answer.absent || answer.n_dims != given->n_dims))
            luaL_error(L, "input %d: the answer has %d dims, the tensor %d", i,
                       answer.absent ? 0 : answer.n_dims, given->n_dims);
        SpmdTensor *out = needs ? spmd_need(call, given) : spmd_out_whole(call, answer.n_dims);
        if (needs && given->absent)
            continue;
        Shape shape = out->shape;
        *out = answer;
        out->shape = shape;
    }
}

static int call_rule(lua_State *L)
{
    SpmdCall *call = lua_touserdata(L, 1);
    const RuleFunctions *functions = call->rule->context;
    lua_rawgeti(L, LUA_REGISTRYINDEX, call->backward ? functions->backward : functions->forward);
    lua_createtable(L, call->n_inputs, 0);
    for (int i = 0; i < call->n_inputs; i++) {
        push_tensor(L, &call->input[i]);
        lua_rawseti(L, -2, i + 1);
    }
    if (call->backward) {
        lua_createtable(L, call->n_outputs, 0);
        for (int o = 0; o < call->n_outputs; o++) {
            push_tensor(L, &call->output[o]);
            lua_rawseti(L, -2, o + 1);
        }
    }
    attrs_push(L, call->graph, call->op);
    lua_pushlightuserdata(L, call);
    lua_setfield(L, LUA_REGISTRYINDEX, "spmd call");
    lua_call(L, call->backward ? 3 : 2, 2);
    read_answers(L, call, 2, true);
    read_answers(L, call, 3, false);
    return 0;
}

static int forget_call(lua_State *L)
{
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, "spmd call");
    return 0;
}

/* SpmdFn */
static bool run_rule(SpmdCall *call, Error *err)
{
    const RuleFunctions *functions = call->rule->context;
    bool ok = sandbox_protect(functions->sandbox, call_rule, call, err);
    return sandbox_protect(functions->sandbox, forget_call, NULL, ok ? err : NULL) && ok;
}

/* ---- helpers: what a rule may ask while it runs ---- */

static SpmdTensor *tensor_arg(lua_State *L, SpmdCall *call, int arg)
{
    SpmdTensor *tensor = arena_make(call->arena, SpmdTensor);
    lua_pushvalue(L, arg);
    read_tensor(L, tensor);
    lua_pop(L, 1);
    return tensor;
}

static int spmd_letters_of(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);
    luaL_argcheck(L, n >= 0 && n <= 26, 1, "0 to 26 letters");
    lua_pushstring(L, spmd_letters(running(L), (int)n, 'a'));
    return 1;
}

static int spmd_binary_letters(lua_State *L)
{
    SpmdCall *call = running(L);
    const SpmdTensor *x = tensor_arg(L, call, 1), *y = tensor_arg(L, call, 2);
    int n = x->n_dims > y->n_dims ? x->n_dims : y->n_dims;
    const char *of_x = spmd_broadcast_letters(call, x, n, false);
    const char *of_y = spmd_broadcast_letters(call, y, n, false);
    Buf out = buf_new(call->arena);
    for (int d = 0; d < n; d++) {
        int in_x = d - (n - x->n_dims), in_y = d - (n - y->n_dims);
        bool both_one = (in_x < 0 || of_x[in_x] == '1') && (in_y < 0 || of_y[in_y] == '1');
        buf_putc(&out, both_one ? '1' : (char)('a' + d));
    }
    lua_pushstring(L, of_x);
    lua_pushstring(L, of_y);
    lua_pushlstring(L, out.s, out.n);
    return 3;
}

enum { MERGED_MAX = 64 };

static const char *letters_arg(lua_State *L)
{
    const char *letters = luaL_checkstring(L, -1);
    for (const char *c = letters; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && *c != '1')
            luaL_error(L, "'%s': letters are a to z, and 1", letters);
    return letters;
}

static int spmd_merge_list(lua_State *L)
{
    SpmdCall *call = running(L);
    SpmdOperand operand[MERGED_MAX];
    SpmdLetters merged;
    Error err = {0};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, 1);
    luaL_argcheck(L, n <= MERGED_MAX, 1, "too many tensors");
    for (lua_Unsigned i = 0; i < n; i++) {
        if (lua_rawgeti(L, 1, (lua_Integer)i + 1) != LUA_TTABLE)
            return luaL_error(L, "merge takes a list of {letters, tensor}");
        lua_rawgeti(L, -1, 1);
        operand[i].letters = arena_str(call->arena, str_from(letters_arg(L)));
        lua_pop(L, 1);
        lua_rawgeti(L, -1, 2);
        operand[i].tensor = tensor_arg(L, call, lua_gettop(L));
        lua_pop(L, 2);
        if (!operand[i].tensor->absent &&
            (int)strlen(operand[i].letters) != operand[i].tensor->n_dims)
            return luaL_error(L, "'%s' does not name the %d dims of tensor %d", operand[i].letters,
                              operand[i].tensor->n_dims, (int)i + 1);
    }
    if (!spmd_merge(call, SPMD_CLASSIC, operand, (int)n, &merged, &err))
        return sandbox_raise(L, &err);
    lua_newtable(L);
    for (int c = 0; c < SPMD_LETTERS; c++) {
        if (!merged.known[c])
            continue;
        char name[2] = {(char)c, '\0'};
        push_axes(L, &merged.axes[c]);
        lua_setfield(L, -2, name);
    }
    return 1;
}

/* The map of merge() at `arg`, back as what it came from. */
static void read_map(lua_State *L, int arg, SpmdLetters *out)
{
    *out = (SpmdLetters){0};
    luaL_checktype(L, arg, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        int c = (unsigned char)name[0];
        if (c >= SPMD_LETTERS || c == 0 || name[1])
            luaL_error(L, "a map of letters is what spmd.merge returned");
        out->known[c] = true;
        read_axes(L, &out->axes[c]);
    }
}

static int spmd_mapping(lua_State *L)
{
    SpmdLetters map;
    running(L);
    lua_settop(L, 2);
    read_map(L, 2, &map);
    lua_pushvalue(L, 1);
    const char *letters = letters_arg(L);
    SpmdTensor tensor = {.n_dims = (int)strlen(letters)};
    if (tensor.n_dims > SPMD_DIMS_MAX)
        return luaL_error(L, "a tensor has %d dims at most", SPMD_DIMS_MAX);
    spmd_set_letters(&tensor, letters, &map);
    push_mapping(L, &tensor);
    return 1;
}

static int spmd_partial(lua_State *L)
{
    SpmdLetters map;
    ReduceOp reduce = REDUCE_SUM;
    running(L);
    read_map(L, 2, &map);
    if (!reduce_from_name(str_from(luaL_optstring(L, 3, "sum")), &reduce))
        return luaL_error(L, "'%s' is no reduction", lua_tostring(L, 3));
    SpmdTensor tensor = {0};
    spmd_partial_of_letters(&tensor, luaL_checkstring(L, 1), &map, reduce);
    push_partial(L, &tensor);
    return 1;
}

static void push_ints(lua_State *L, const int64_t *at, int n)
{
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, at[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

static int spmd_reshape_trans(lua_State *L)
{
    Shape from, to;
    DimTrans trans[DIMS_MAX];
    Error err = {0};
    running(L);
    lua_settop(L, 2);
    read_sizes(L, &to);
    lua_pop(L, 1);
    read_sizes(L, &from);
    if (!dim_trans_of_reshape(&from, &to, trans, &err))
        return sandbox_raise(L, &err);
    lua_createtable(L, (int)to.n_dims, 0);
    for (int d = 0; d < to.n_dims; d++) {
        int64_t source[DIMS_MAX];
        for (int i = 0; i < trans[d].n_from; i++)
            source[i] = trans[d].from[i];
        lua_newtable(L);
        push_ints(L, source, trans[d].n_from);
        lua_setfield(L, -2, "from");
        push_ints(L, trans[d].size, trans[d].n_pieces);
        lua_setfield(L, -2, "sizes");
        lua_pushinteger(L, trans[d].piece);
        lua_setfield(L, -2, "piece");
        lua_rawseti(L, -2, d + 1);
    }
    return 1;
}

/* The source dims of a transform, the list at the top: each once. */
static void read_from(lua_State *L, int n_dims, DimTrans *out)
{
    need_list(L, "'from' of a transform");
    lua_Unsigned n = lua_rawlen(L, -1);
    bool taken[DIMS_MAX] = {false};
    for (lua_Unsigned i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        lua_Integer dim = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : -1;
        lua_pop(L, 1);
        if (dim < 0 || dim >= n_dims || taken[dim])
            luaL_error(L, "there is no source dim %d, or it is given twice", (int)dim);
        taken[dim] = true;
        out->from[out->n_from++] = (int)dim;
    }
}

/* The transform at the top, of a source of n_dims. */
static void read_trans(lua_State *L, int n_dims, DimTrans *out)
{
    Shape sizes = {0};
    *out = (DimTrans){.n_pieces = 1};
    if (!lua_istable(L, -1))
        luaL_error(L, "a transform is {from = {..}, sizes = {..}, piece = 0}");
    int table = lua_gettop(L);
    lua_getfield(L, table, "from");
    read_from(L, n_dims, out);
    if (lua_getfield(L, table, "sizes") != LUA_TNIL)
        read_sizes(L, &sizes);
    out->n_pieces = sizes.n_dims > 0 ? (int)sizes.n_dims : 1;
    memcpy(out->size, sizes.dim, sizeof sizes.dim);
    lua_getfield(L, table, "piece");
    lua_Integer piece = luaL_optinteger(L, -1, 0);
    if (piece < 0 || piece >= out->n_pieces)
        luaL_error(L, "there is no piece %d", (int)piece);
    out->piece = (int)piece;
    lua_settop(L, table);
}

/* The size of the dim that a transform makes. */
static int64_t size_made(const DimTrans *trans, const Shape *source)
{
    int64_t size = 1;
    for (int i = 0; i < trans->n_from; i++)
        size *= source->dim[trans->from[i]];
    return trans->n_pieces > 1 ? trans->size[trans->piece] : size;
}

static int spmd_infer_from_trans(lua_State *L)
{
    SpmdCall *call = running(L);
    const SpmdTensor *source = tensor_arg(L, call, 1);
    DimTrans trans[DIMS_MAX];
    SpmdTensor need, out;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, 2);
    luaL_argcheck(L, n <= DIMS_MAX, 2, "too many transforms");
    Shape shape = {.n_dims = (int64_t)n};
    if (source->absent || source->shape.n_dims != source->n_dims)
        return luaL_error(L, "infer_from_trans needs a tensor with its shape");
    for (int d = 0; d < (int)n; d++) {
        lua_rawgeti(L, 2, d + 1);
        read_trans(L, source->n_dims, &trans[d]);
        lua_pop(L, 1);
        shape.dim[d] = size_made(&trans[d], &source->shape);
    }
    dim_trans_apply(call, source, trans, &shape, &need, &out);
    push_mapping(L, &need);
    push_mapping(L, &out);
    return 2;
}

/* ---- register_rule(name, {letters = .., forward = .., backward = ..}) ---- */

static bool read_letters(lua_State *L, Arena *arena, SpmdRule *row, Error *err)
{
    int n_inputs, n_outputs;
    lua_getfield(L, 2, "letters");
    if (lua_type(L, -1) != LUA_TSTRING)
        return error_set(err, "'letters' must be a string like \"mk,kn->mn\"");
    Buf letters = buf_new(arena);
    for (const char *c = lua_tostring(L, -1); *c; c++)
        if (*c != ' ')
            buf_putc(&letters, *c);
    Str text = {letters.n > 0 ? letters.s : "", letters.n};
    lua_pop(L, 1);
    if (!spmd_letters_check(text, &n_inputs, &n_outputs, err))
        return false;
    row->letters = text.s;
    row->forward = spmd_letters_forward;
    row->backward = spmd_letters_backward;
    row->inputs = (SpmdCount){(uint8_t)n_inputs, (uint8_t)n_inputs};
    row->outputs = (SpmdCount){(uint8_t)n_outputs, (uint8_t)n_outputs};
    row->reduce = REDUCE_SUM;
    if (lua_getfield(L, 2, "reduce") != LUA_TNIL &&
        (lua_type(L, -1) != LUA_TSTRING ||
         !reduce_from_name(str_from(lua_tostring(L, -1)), &row->reduce)))
        return error_set(err, "'reduce' must be sum, avg, max, min, prod, any or all");
    lua_pop(L, 1);
    return true;
}

/* A reference in Lua's registry to the function that is an option; LUA_NOREF: it is not given. */
static bool keep_function(lua_State *L, const char *option, int *out, Error *err)
{
    int type = lua_getfield(L, 2, option);
    *out = type == LUA_TFUNCTION ? luaL_ref(L, LUA_REGISTRYINDEX) : LUA_NOREF;
    return *out != LUA_NOREF || type == LUA_TNIL ||
           error_set(err, "'%s' is a function, not a %s", option, lua_typename(L, type));
}

static bool read_functions(lua_State *L, Sandbox *sandbox, SpmdRule *row, Error *err)
{
    RuleFunctions *functions = arena_make(sandbox->arena, RuleFunctions);
    *functions = (RuleFunctions){.sandbox = sandbox, .name = row->names};
    if (!keep_function(L, "forward", &functions->forward, err) ||
        !keep_function(L, "backward", &functions->backward, err))
        return false;
    if (functions->forward == LUA_NOREF)
        return error_set(err, "register_rule needs 'forward', a function, or 'letters'");
    row->forward = run_rule;
    row->backward = functions->backward != LUA_NOREF ? run_rule : NULL;
    row->inputs.max = row->outputs.max = SPMD_ANY;
    row->context = functions;
    return true;
}

static bool check_fields(lua_State *L, Error *err)
{
    static const char *const known[] = {"letters", "reduce", "forward", "backward"};
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found |= strcmp(key, known[i]) == 0;
        if (!found) {
            error_set(err, "register_rule has no option '%s'", key);
            return error_hint(err, "options: letters, reduce, forward, backward");
        }
    }
    return true;
}

static bool register_one(lua_State *L, Sandbox *sandbox, Error *err)
{
    const RuleBook *book = sandbox->rules;
    if (!book)
        return error_set(err, "register_rule stands at the top level of the file, not in a "
                              "function that runs later");
    if (lua_type(L, 1) != LUA_TSTRING || lua_rawlen(L, 1) == 0 || strchr(lua_tostring(L, 1), ' ') ||
        !lua_istable(L, 2))
        return error_set(err, "register_rule takes a name without blanks and a table");
    SpmdRule row = {.names = arena_str(sandbox->arena, str_from(lua_tostring(L, 1)))};
    row.flags = SPMD_LISTS;
    bool by_letters = lua_getfield(L, 2, "letters") != LUA_TNIL;
    lua_pop(L, 1);
    if (!check_fields(L, err) || !(by_letters ? read_letters(L, sandbox->arena, &row, err)
                                              : read_functions(L, sandbox, &row, err)))
        return false;
    spmd_rules_add(spmd_rules_of(book), &row);
    registered_note(L, row.names);
    return true;
}

static int register_rule(lua_State *L)
{
    Error err = {0};
    lua_settop(L, 2);
    return register_one(L, sandbox_of(L), &err) ? 0 : sandbox_raise(L, &err);
}

/* ---- what scripts have of it ---- */

const LuaEntry rule_globals[] = {
    {"register_rule", register_rule, "(name: string, rule: spmd_rule)",
     "Adds a rule of dims_mappings, as in Paddle, for operators of that name. Call it at the top "
     "level of the file. Refused: a name with blanks, an unknown option."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry spmd_functions[] = {
    {"letters", spmd_letters_of, "(n: integer): string",
     "The first n letters: \"abc\" for 3; at most 26."},
    {"binary_letters", spmd_binary_letters,
     "(x: spmd_tensor, y: spmd_tensor): string, string, string",
     "The letters of x, of y and of the output for an operator that broadcasts both, aligned at "
     "the right; 1 for a broadcast dim."},
    {"merge", spmd_merge_list, "(operands: {[1]: string, [2]: spmd_tensor}[]): spmd_letters",
     "For each letter the axes on which its dims agree. Refused: letters that do not name every "
     "dim."},
    {"mapping", spmd_mapping, "(letters: string, map: spmd_letters): spmd_mapping",
     "The dims_mapping that the letters give."},
    {"partial", spmd_partial,
     "(letters: string, map: spmd_letters, reduce?: string): table<integer, string>",
     "The axes of the map that none of the letters has, each with the pending reduction, by "
     "default \"sum\"."},
    {"reshape_trans", spmd_reshape_trans, "(from: integer[], to: integer[]): spmd_transform[]",
     "How each dim of a reshape comes from dims of its input; both shapes must have the same "
     "number of elements."},
    {"infer_from_trans", spmd_infer_from_trans,
     "(x: spmd_tensor, transforms: spmd_transform[]): spmd_mapping, spmd_mapping",
     "The dims_mapping that x must have for the transforms, and that of the result."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry spmd_tensor_fields[] = {
    {"shape", NULL, "integer[]?", "The sizes of the dims. An answer may leave it out."},
    {"dims_mapping", NULL, "spmd_mapping", "Which axis shards which dim."},
    {"partial", NULL, "table<integer, string>?",
     "The pending reduction by axis, from 0: sum, avg, max, min, prod, any or all."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry spmd_transform_fields[] = {
    {"from", NULL, "integer[]",
     "The dims of the input that are flattened first, from 0; none makes a dim of one element."},
    {"sizes", NULL, "integer[]?", "The sizes into which the flattened dim is split."},
    {"piece", NULL, "integer?", "Which of the split dims this is, from 0."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry spmd_rule_fields[] = {
    {"letters", NULL, "string?",
     "The rule as letters of dims, \"mk,kn->mn\"; it then needs no functions."},
    {"reduce", NULL, "string?",
     "With letters: the reduction over dims that the outputs lack, by default \"sum\"."},
    {"forward", NULL,
     "(fun(inputs: spmd_tensor[], attrs: attrs): (spmd_mapping|spmd_tensor)[], "
     "(spmd_mapping|spmd_tensor)[])?",
     "Returns what each input must have, and what each output gets."},
    {"backward", NULL,
     "(fun(inputs: spmd_tensor[], outputs: spmd_tensor[], attrs: attrs): "
     "(spmd_mapping|spmd_tensor)[], (spmd_mapping|spmd_tensor)[])?",
     "The same from the outputs to the inputs; without it nothing propagates backward."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry spmd_types[] = {
    {"spmd_tensor", NULL, "class", "A tensor for rules of dims_mappings; nil if it is absent."},
    {"spmd_mapping", NULL, "(integer|integer[])[]",
     "For each dim the number of the axis that shards it, from 0; -1 for none; a list for "
     "several."},
    {"spmd_letters", NULL, "table<string, integer|integer[]>",
     "For each letter the axes that spmd.merge found for it, as in a dims_mapping."},
    {"spmd_transform", NULL, "class", "Where a dim of a reshaped tensor comes from."},
    {"spmd_rule", NULL, "class",
     "The rule for register_rule: letters, or a function for each direction."},
    {NULL, NULL, NULL, NULL},
};
