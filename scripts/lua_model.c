#include "scripts/lua_model.h"

#include "core/run/element.h"
#include "scripts/lua_objects.h"

#include <inttypes.h>
#include <limits.h>

/* What a script holds of a tensor. */
typedef struct {
    int32_t tensor;
} ModelValue;

static const char *const model_type = "model", *const value_type = "value";

/* What calls cost of the script's budget, in instructions: they bound the graph's memory too. */
enum { COST_TENSOR = 20, COST_BYTES = 16, NAME_BYTES_MAX = 400, MODEL_OPS_MAX = 1 << 20 };

ModelBuild *model_of(lua_State *L)
{
    ModelBuild *build = sandbox_of(L)->host;
    if (!build)
        model_refuse(L, "", "a model can be built only while MODEL runs");
    return build;
}

/* Raises what the builder found wrong with the last call. */
static void model_check(lua_State *L, const ModelBuild *build)
{
    Error err = {0};
    if (!graph_builder_fails(build->builder, &err))
        return;
    sandbox_raise(L, &err);
}

/* The budget grows with the ops, so a deep model is no endless loop; their number ends that one. */
void model_op_added(lua_State *L, ModelBuild *build)
{
    model_check(L, build);
    if (build->lines.n == MODEL_OPS_MAX)
        model_refuse(L, "does a loop not end, or are there too many layers?",
                     "a script builds models of at most %d ops", MODEL_OPS_MAX);
    vec_push(build->scratch, &build->lines, sandbox_line(L));
    sandbox_grow(sandbox_of(L));
}

/* ---- names ---- */

Str model_check_name(lua_State *L, int at, const char *what)
{
    Str name = STR("");
    if (lua_type(L, at) == LUA_TSTRING)
        name.s = lua_tolstring(L, at, &name.n);
    if (name.n == 0 || name.n > NAME_BYTES_MAX || strlen(name.s) != name.n)
        model_refuse(L, "", "the name of %s must be a string of 1 to %d characters, not %s", what,
                     NAME_BYTES_MAX, name.n > 0 ? "one like this" : luaL_typename(L, at));
    return name;
}

/* The name below the module that is being built. */
static Str whole_name(const ModelBuild *build, Str name)
{
    if (build->path.n == 0)
        return (Str){arena_str(build->scratch, name), name.n};
    Str path = buf_str(&build->path);
    return str_from(arena_printf(build->scratch, "%.*s.%.*s", STR_ARG(path), STR_ARG(name)));
}

/* PATH/Operator, numbered from the second one on. */
Str model_new_name(ModelBuild *build, Str op_type)
{
    Str path = buf_str(&build->path);
    Str base =
        path.n == 0
            ? op_type
            : str_from(arena_printf(build->scratch, "%.*s/%.*s", STR_ARG(path), STR_ARG(op_type)));
    int32_t id = intern_put(build->bases, base.s, base.n);
    while (build->n_of_base.n <= id)
        vec_push(build->scratch, &build->n_of_base, 0);
    Str name = base;
    for (int32_t *n = &build->n_of_base.at[id];;) {
        if (*n > 0)
            name = str_from(arena_printf(build->scratch, "%.*s_%d", STR_ARG(base), *n));
        ++*n;
        if (!graph_has_tensor(build->builder, name))
            return name;
    }
}

static const char *name_of(const ModelBuild *build, int32_t tensor)
{
    return graph_builder_name(build->builder, tensor);
}

/* A tensor of that name, which no other has. */
int32_t model_new_tensor(lua_State *L, const ModelBuild *build, Str name)
{
    if (graph_has_tensor(build->builder, name))
        model_refuse(L, "names are unique; to share a value, use it again",
                     "there is a value '%.*s' already", STR_ARG(name));
    sandbox_spend(L, COST_TENSOR + (int64_t)name.n / COST_BYTES);
    return graph_tensor(build->builder, name);
}

/* ---- values ---- */

int value_push(lua_State *L, int32_t tensor)
{
    ModelValue *value = lua_newuserdatauv(L, sizeof *value, 0);
    value->tensor = tensor;
    luaL_setmetatable(L, value_type);
    return 1;
}

bool value_is(lua_State *L, int at)
{
    return luaL_testudata(L, at, value_type) != NULL;
}

int32_t value_check(lua_State *L, int at, const char *what)
{
    const ModelValue *value = luaL_testudata(L, at, value_type);
    if (value)
        return value->tensor;
    return model_refuse(L, "values come from model:input, param, constant and op",
                        "%s must be a value, not %s", what, luaL_typename(L, at));
}

static int value_name(lua_State *L)
{
    lua_pushstring(L, name_of(model_of(L), value_check(L, 1, "this")));
    return 1;
}

static int value_equal(lua_State *L)
{
    const ModelValue *a = luaL_testudata(L, 1, value_type), *b = luaL_testudata(L, 2, value_type);
    lua_pushboolean(L, a && b && a->tensor == b->tensor);
    return 1;
}

/* ---- sizes and types ---- */

static Dtype check_dtype(lua_State *L, int at, const char *what, Str name)
{
    Dtype dtype =
        lua_type(L, at) == LUA_TSTRING ? dtype_from_name(str_from(lua_tostring(L, at))) : DT_NONE;
    if (dtype == DT_NONE)
        model_refuse(L, "types: f32 bf16 f16 f64 i64 i32 i8 u8 bool and others",
                     "%s '%.*s': its type must be the name of one, not '%s'", what, STR_ARG(name),
                     luaL_tolstring(L, at, NULL));
    return dtype;
}

static int check_list(lua_State *L, int at, int n_max, const char *what, Str name)
{
    lua_Unsigned n = lua_istable(L, at) ? lua_rawlen(L, at) : (lua_Unsigned)n_max + 1;
    if (n > (lua_Unsigned)n_max)
        model_refuse(L, "", "%s '%.*s': its sizes must be a list of at most %d, not %s", what,
                     STR_ARG(name), n_max, lua_istable(L, at) ? "more" : luaL_typename(L, at));
    return (int)n;
}

/* The size at the top of the stack. */
static int64_t check_size(lua_State *L, int d, const char *what, Str name)
{
    int exact;
    lua_Integer size = lua_tointegerx(L, -1, &exact);
    if (!exact || lua_type(L, -1) != LUA_TNUMBER || size < 0)
        model_refuse(
            L,
            strcmp(what, "input") == 0
                ? "a size must be an integer, 0 or more, or the name of a free dim, \"batch\""
                : "a size must be an integer, 0 or more",
            "%s '%.*s': dim %d is '%s'", what, STR_ARG(name), d, luaL_tolstring(L, -1, NULL));
    return size;
}

static Shape check_shape(lua_State *L, int at, const char *what, Str name)
{
    Shape shape = {.n_dims = check_list(L, at, DIMS_MAX, what, name)};
    for (int d = 0; d < shape.n_dims; d++) {
        lua_rawgeti(L, at, d + 1);
        shape.dim[d] = check_size(L, d, what, name);
        lua_pop(L, 1);
    }
    Error err = {0};
    if (!shape_check(&shape, &err))
        model_refuse(L, "", "%s '%.*s': %s", what, STR_ARG(name), err.text);
    return shape;
}

/* ---- model:input, model:param, model:output ---- */

static int model_input(lua_State *L)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 4);
    Str name = model_check_name(L, 2, "an input");
    Dtype dtype = check_dtype(L, 3, "input", name);
    int n = check_list(L, 4, DIMS_MAX, "input", name);
    DeclaredDim dims[DIMS_MAX];
    for (int d = 0; d < n; d++) {
        if (lua_rawgeti(L, 4, d + 1) == LUA_TSTRING)
            dims[d] = (DeclaredDim){
                -1, names_intern(build->graph->names, model_check_name(L, -1, "a free dim"))};
        else
            dims[d] = (DeclaredDim){check_size(L, d, "input", name), 0};
        lua_pop(L, 1);
    }
    int32_t tensor = model_new_tensor(L, build, name);
    graph_add_input(build->builder, tensor, dtype, dims, n);
    model_check(L, build);
    return value_push(L, tensor);
}

/* {parts = "*.w1.weight"} at 5: the names below the module of what checkpoints hold one by one. */
static const char *check_parts(lua_State *L, ModelBuild *build, Str name, const Shape *shape)
{
    if (lua_isnil(L, 5))
        return NULL;
    if (!lua_istable(L, 5))
        model_refuse(L, "model:param(\"weight\", {8, 64, 64}, nil, {parts = \"*.weight\"})",
                     "parameter '%.*s': its options must be a table, not %s", STR_ARG(name),
                     luaL_typename(L, 5));
    if (lua_getfield(L, 5, "parts") == LUA_TNIL)
        return NULL;
    Str pattern = whole_name(build, model_check_name(L, -1, "parts"));
    if (shape->n_dims == 0 || str_find(pattern, STR("*")) < 0)
        model_refuse(L, "one * stands for the index along dim 0",
                     "parameter '%.*s': '%.*s' does not name parts of it", STR_ARG(name),
                     STR_ARG(pattern));
    return arena_str(build->arena, pattern);
}

static int model_param(lua_State *L)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 5);
    Str name = whole_name(build, model_check_name(L, 2, "a parameter"));
    Shape shape = check_shape(L, 3, "parameter", name);
    Dtype dtype = lua_isnil(L, 4) ? build->dtype : check_dtype(L, 4, "parameter", name);
    TensorData data = {.form = DATA_ABSENT, .parts = check_parts(L, build, name, &shape)};
    int32_t tensor = model_new_tensor(L, build, name);
    graph_add_initializer(build->builder, tensor, dtype, &shape, data);
    graph_mark_training(build->builder, tensor, MARK_TRAINS);
    model_check(L, build);
    return value_push(L, tensor);
}

static int model_output(lua_State *L)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 3);
    int32_t tensor = value_check(L, 2, "an output of the model");
    if (!lua_isnil(L, 3)) {
        Str name = model_check_name(L, 3, "an output");
        if (!graph_rename(build->builder, tensor, name))
            model_refuse(L, "only outputs of ops can be renamed, and only to an unused name",
                         "the value '%s' cannot become the output '%.*s'", name_of(build, tensor),
                         STR_ARG(name));
    }
    graph_add_output(build->builder, tensor);
    build->n_outputs++;
    model_check(L, build);
    lua_settop(L, 2);
    return 1;
}

/* ---- constants ---- */

/* Elements of the list at that place, in the bytes of their type. */
static Str read_elements(lua_State *L, int at, const ModelBuild *build, Dtype dtype, int64_t n,
                         Str name)
{
    bool whole = dtype_number(dtype) == NUMBER_I64;
    int64_t n_bytes = element_bytes(dtype);
    char *bytes = arena_alloc(build->arena, arena_array_bytes((size_t)n, (size_t)n_bytes));
    for (int64_t i = 0; i < n; i++) {
        lua_rawgeti(L, at, i + 1);
        int exact = lua_type(L, -1) == LUA_TNUMBER || lua_isboolean(L, -1);
        int64_t integer = lua_isboolean(L, -1) ? lua_toboolean(L, -1)
                                               : lua_tointegerx(L, -1, whole ? &exact : NULL);
        double number = lua_isboolean(L, -1) ? (double)integer : lua_tonumber(L, -1);
        if (!exact || (lua_type(L, -1) != LUA_TNUMBER && !lua_isboolean(L, -1)))
            model_refuse(L, "", "constant '%.*s': its element %" PRId64 " is '%s', not a valid %s",
                         STR_ARG(name), i, luaL_tolstring(L, -1, NULL), dtype_name(dtype));
        if (whole)
            elements_store(dtype, bytes + i * n_bytes, 1, NUMBER_I64, &integer);
        else if (dtype_number(dtype) == NUMBER_F64)
            elements_store(dtype, bytes + i * n_bytes, 1, NUMBER_F64, &number);
        else
            elements_store(dtype, bytes + i * n_bytes, 1, NUMBER_F32, &(float){(float)number});
        lua_pop(L, 1);
    }
    return (Str){bytes, (size_t)(n * n_bytes)};
}

/* An op Constant: what it makes is no parameter. */
static int32_t add_constant(lua_State *L, ModelBuild *build, Str name, Str path, Dtype dtype,
                            const Shape *shape, Str bytes)
{
    Arena *arena = build->arena;
    int32_t tensor = model_new_tensor(L, build, name);
    TensorData *data = arena_make(arena, TensorData);
    *data = (TensorData){.form = DATA_RAW, .bytes = bytes};
    Attr attr = {.type = ATTR_TENSOR, .dtype = (uint8_t)dtype, .tensor = data};
    attr.name = names_intern(build->graph->names, STR("value"));
    attr.shape = shapes_put(build->graph->shapes, shape);
    graph_add_op(build->builder, STR("Constant"), name, path, NULL, 0, &tensor, 1,
                 graph_add_attrs(build->builder, &attr, 1));
    model_op_added(L, build);
    return tensor;
}

static int model_constant(lua_State *L)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 5);
    Str name = whole_name(build, model_check_name(L, 2, "a constant"));
    Dtype dtype = check_dtype(L, 3, "constant", name);
    Shape shape = check_shape(L, 4, "constant", name);
    int64_t n = shape_elements(&shape);
    if (!dtype_is_computed(dtype) || dtype_bits(dtype) < CHAR_BIT)
        model_refuse(L, "", "constant '%.*s': elements of type %s are not supported", STR_ARG(name),
                     dtype_name(dtype));
    if (!lua_istable(L, 5) || (int64_t)lua_rawlen(L, 5) != n)
        model_refuse(L, "elements must be one flat list, the last dim fastest",
                     "constant '%.*s' has %" PRId64 " elements, but its list has %d", STR_ARG(name),
                     n, lua_istable(L, 5) ? (int)lua_rawlen(L, 5) : 0);
    sandbox_spend(L, n);
    Str bytes = read_elements(L, 5, build, dtype, n, name);
    return value_push(L, add_constant(L, build, name, buf_str(&build->path), dtype, &shape, bytes));
}

/* {0, 0, 8, 64} or 0.5 in place of a value: the constant of those elements, made once. */
int32_t constant_of_list(lua_State *L, int at, ModelBuild *build, Str op_type)
{
    bool list = lua_istable(L, at);
    Dtype dtype = list ? DT_I64 : build->dtype;
    Shape shape = {.n_dims = list, .dim = {list ? (int64_t)lua_rawlen(L, at) : 0}};
    int64_t n = list ? shape.dim[0] : 1;
    sandbox_spend(L, n);
    if (!list) {
        lua_createtable(L, 1, 0);
        lua_pushvalue(L, at);
        lua_rawseti(L, -2, 1);
        at = lua_gettop(L);
    }
    Str bytes = read_elements(L, at, build, dtype, n, op_type);
    Buf name = buf_new(build->scratch);
    buf_puts(&name, dtype_name(dtype));
    for (int64_t i = 0; i < n; i++) {
        lua_rawgeti(L, at, i + 1);
        size_t length;
        const char *text = luaL_tolstring(L, -1, &length);
        buf_putc(&name, i == 0 ? ':' : ',');
        buf_add(&name, (Str){text, length < 24 ? length : 24});
        lua_pop(L, 2);
    }
    if (!list)
        lua_pop(L, 1);
    int32_t key = intern_put(build->constants, name.s, name.n);
    if (key == build->tensor_of_constant.n) {
        Str own = graph_has_tensor(build->builder, buf_str(&name))
                      ? model_new_name(build, buf_str(&name))
                      : buf_str(&name);
        vec_push(build->scratch, &build->tensor_of_constant,
                 add_constant(L, build, own, STR(""), dtype, &shape, bytes));
    }
    return build->tensor_of_constant.at[key];
}

/* ---- model:module ---- */

/* __close of what stands for a module that is being built: its parent is, from here on. */
static int leave_module(lua_State *L)
{
    const size_t *n = lua_touserdata(L, 1);
    Buf *path = &model_of(L)->path;
    path->n = *n;
    path->s[*n] = '\0';
    return 0;
}

static int model_module(lua_State *L)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 4);
    Str name = model_check_name(L, 2, "a module");
    if (!lua_isfunction(L, 3))
        model_refuse(L, "model:module(\"layers.0\", function() .. end)",
                     "module '%.*s': its second argument must be a function, not %s", STR_ARG(name),
                     luaL_typename(L, 3));
    if (build->path.n + name.n > NAME_BYTES_MAX)
        model_refuse(L, "", "the path of module '%.*s' has more than %d characters", STR_ARG(name),
                     NAME_BYTES_MAX);
    size_t *n = lua_newuserdatauv(L, sizeof *n, 0);
    *n = build->path.n;
    luaL_setmetatable(L, "module");
    lua_toclose(L, -1);
    buf_puts(&build->path, *n > 0 ? "." : "");
    buf_add(&build->path, name);
    if (!lua_isnil(L, 4)) {
        ModuleKind kind = {names_intern(build->graph->names, buf_str(&build->path)),
                           arena_str(build->arena, model_check_name(L, 4, "a kind of module"))};
        vec_push(build->arena, &build->kinds, kind);
        sandbox_spend(L, COST_TENSOR);
    }
    lua_pushvalue(L, 3);
    lua_call(L, 0, LUA_MULTRET);
    return lua_gettop(L) - 5;
}

/* ---- free dims, and sizes of the config ---- */

static int model_dims(lua_State *L)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 2);
    if (!lua_istable(L, 2))
        model_refuse(L, "model:dims{batch = 8, seq = 1024}",
                     "the sizes of free dims must be a table, not %s", luaL_typename(L, 2));
    sandbox_push_keys(L, 2);
    int n = (int)lua_rawlen(L, 3);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, 3, i);
        Str name = model_check_name(L, -1, "a free dim");
        lua_pushvalue(L, -1);
        lua_rawget(L, 2);
        DimBinding dim = {{arena_str(build->arena, name), name.n},
                          check_size(L, 0, "free dim", name)};
        vec_push(build->arena, build->dims, dim);
        lua_pop(L, 2);
    }
    return 0;
}

void model_asks(const ModelBuild *build, Str name)
{
    DimBindings *asked = build->request->asked;
    for (int i = 0; asked && i < asked->n; i++)
        if (str_eq(asked->at[i].name, name))
            return;
    if (asked)
        vec_push(build->arena, asked, ((DimBinding){{arena_str(build->arena, name), name.n}, -1}));
}

static int model_dim(lua_State *L)
{
    const ModelBuild *build = model_of(L);
    Str name = model_check_name(L, 2, "a free dim");
    model_asks(build, name);
    const DimBindings *places[] = {build->request->dims, build->dims};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (int i = places[p]->n - 1; i >= 0; i--)
            if (str_eq(places[p]->at[i].name, name)) {
                lua_pushinteger(L, places[p]->at[i].size);
                return 1;
            }
    return 0;
}

static int model_dtype(lua_State *L)
{
    lua_pushstring(L, dtype_name(model_of(L)->dtype));
    return 1;
}

/* ---- what can be called ---- */

const LuaEntry model_fields[] = {
    {"dtype", model_dtype, "string",
     "The default element type of parameters: config.torch_dtype or config.dtype, else \"f32\"."},
    {NULL, NULL, NULL, NULL}};

const LuaEntry model_methods[] = {
    {"input", model_input, "(name: string, dtype: string, sizes: (integer|string)[]): value",
     "An input of the graph. Each size is a number, or the name of a free dim whose size is given "
     "when the model is opened: {\"batch\", \"seq\", 768}."},
    {"param", model_param,
     "(name: string, sizes: integer[], dtype?: string, options?: table): value",
     "A parameter, named below the current module. It has no values: they are random when the "
     "model runs. {parts = \"*.w1.weight\"}: checkpoints hold each slice of dim 0 as a tensor of "
     "that name below the module, * its index. Refused: a name that is already used."},
    {"constant", model_constant,
     "(name: string, dtype: string, sizes: integer[], elements: (number|boolean)[]): value",
     "A constant. Its elements are a flat list, the last dim fastest. Refused: a list whose length "
     "does not fit the sizes."},
    {"op", model_op,
     "(operator: string, inputs: value|(value|number|integer[]|false)[], attrs?: table, "
     "n_outputs?: integer): value, ...",
     "An op of any known operator, also \"domain::Name\"; returns its outputs. An input may be "
     "false if it is optional, a list of integers for an i64 constant ({0, -1, 64}), or a number "
     "for one element of model.dtype. Attributes are numbers, strings, "
     "booleans or lists."},
    {"module", model_module, "(name: string, build: fun(): any, kind?: string): any",
     "Calls build; the paths of the ops and the names of the parameters made in it begin with the "
     "name of the module. Modules nest. Returns what build returns. Where unlike layers repeat, "
     "the "
     "outline names them by their kinds: [local, global]."},
    {"output", model_output, "(value: value, name?: string): value",
     "Makes the value an output of the graph, under that name. Refused: a name that another value "
     "has."},
    {"dims", model_dims, "(sizes: table<string, integer>)",
     "Default sizes of free dims: {batch = 8, seq = 1024}. MODEL.dims and --dim take precedence."},
    {"dim", model_dim, "(name: string): integer?",
     "The size given for a free dim on the command line, in MODEL.dims or by model:dims; nil if "
     "there is none."},
    {NULL, NULL, NULL, NULL}};

const LuaEntry value_fields[] = {{"name", value_name, "string", "The name of the tensor."},
                                 {NULL, NULL, NULL, NULL}};

/* ---- types ---- */

void push_model(lua_State *L)
{
    lua_newuserdatauv(L, 0, 0);
    luaL_setmetatable(L, model_type);
}

void model_open(lua_State *L)
{
    open_type(L, model_type);
    open_type(L, value_type);
    lua_pushcfunction(L, value_equal);
    lua_setfield(L, -2, "__eq");
    lua_pushcfunction(L, value_name);
    lua_setfield(L, -2, "__tostring");
    luaL_newmetatable(L, "module");
    lua_pushcfunction(L, leave_module);
    lua_setfield(L, -2, "__close");
    lua_pop(L, 3);
}
