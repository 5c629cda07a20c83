/* Every method that scripts have, called with every kind of value: on the wrong object, with too
 * few and too many arguments. What is refused is an error with words; nothing crashes. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "scripts/lua_api.h"

#include <stdlib.h>
#include <unistd.h>

/* Calls of each method with values drawn; work in C counts by its time, of which a script has five
 * seconds. */
#if defined(__SANITIZE_ADDRESS__)
#define DRAWS "150"
#define REFUSED "2250"
#define LEFT_BY_FEWER "micro-batch"
#else
#define DRAWS "600"
#define REFUSED "10000"
#define LEFT_BY_FEWER "sub-node"
#endif

static Arena *arena;
static SessionHooks hooks;

/* Calls `call` of `object` and of what is no object, with one to three of these values. */
static const char *const script =
    "function PAS(graph, resource)\n"
    "  local node, last = graph:node(2), graph:node(graph.nnodes - 1)\n"
    "  local tensor, segment = graph:tensors()[1], graph:segments()[1]\n"
    "  local algorithm, subs = node:algorithm('dim'), graph:replicate(last)\n"
    "  local loud = setmetatable({}, {__index = function() error('loud') end,\n"
    "                                 __len = function() error('long') end})\n"
    "  local echo = setmetatable({}, {__index = function(_, key) return key end})\n"
    "  local ring = {} ring[1] = ring\n"
    "  local values = {false, 0, -1, 2^53, math.maxinteger, math.mininteger, 0/0, 1/0, 1.5, '',\n"
    "    'tp', 'none', 'dim', '1f1b', '0f0 0b0', '\\0', '{', '[', '{a,b', '%', '*', "
    "('x'):rep(300),\n"
    "    {}, {1}, {{}}, {node}, {node, node}, {last, node}, {segment}, {tensor}, subs, {subs[1]},\n"
    "    {0, 1}, {0, 0}, {0, 99}, {tp = 0}, {tp = -1}, {zz = 0}, {[1.5] = 1}, {[0] = 'tp'},\n"
    "    {[-1] = 'tp'}, {[99] = 'tp'}, {n = 'tp'}, {n = {'tp', 'tp'}}, {n = {}}, {n = 1},\n"
    "    {idx = 0, dim = 0, num = 2}, {idx = 0, dim = 0, num = 0}, {idx = -1, dim = 0, num = 2},\n"
    "    {idx = 0, dim = -9, num = 2}, {idx = 0, dim = 0, num = math.mininteger}, {idx = 'a'},\n"
    "    {idx = 0, dim = 0, axis = {'tp', 'tp'}}, {{idx = 0, dim = 0, axis = 'tp'}},\n"
    "    {micro_batches = 4}, {micro_batches = 0}, {micro_batches = 'x'}, {'0f0', '0b0'},\n"
    "    {{{stage = -1, micro_batch = 0, span = -3}}}, {operator = 'MatMul'}, {stage = -5},\n"
    "    {name = '{'}, {bogus = 1}, {reads = '*'}, {axis = 'tp'}, {kind = 'x'}, loud, echo, ring,\n"
    "    function() return true end, function() error{} end, print, graph, resource, node, last,\n"
    "    tensor, segment, algorithm, subs[1], coroutine.create(print)}\n"
    "  local of = {graph = graph, node = node, tensor = tensor, segment = segment,\n"
    "              algorithm = algorithm, resource = resource}\n"
    "  local state = 1\n"
    "  local function any()\n"
    "    state = (state * 1103515245 + 12345) % 2147483648\n"
    "    return values[(state >> 8) % #values + 1]\n"
    "  end\n"
    "  local refused = 0\n"
    "  local function call(f, ...)\n"
    "    local ok, why = pcall(f, ...)\n"
    "    if ok then return end\n"
    "    refused = refused + 1\n"
    "    if not tostring(why):find('[a-z]') and type(why) ~= 'table' then error('no words') end\n"
    "  end\n"
    "  for _, method in ipairs(METHODS) do\n"
    "    local object = of[method[1]]\n"
    "    local f = object[method[2]]\n"
    "    call(f) call(f, object)\n"
    "    local searches = method[2] == 'search'\n" /* a call may be a whole search */
    "    for i, value in ipairs(values) do\n"
    "      call(f, value)\n"
    "      if not searches or i % 8 == 0 then call(f, object, value) end\n"
    "    end\n"
    "    for i = 1, searches and 0 or " DRAWS " do call(f, object, any(), any(), any()) end\n"
    "    for i = 1, searches and 0 or 60 do call(f, object, node, algorithm, any()) end\n"
    "  end\n"
    "  for _, object in pairs(of) do\n"
    "    for _, value in ipairs(values) do\n"
    "      call(function() return object[value] end)\n"
    "      call(function() object[value] = 1 end)\n"
    "      call(function() return object == value, object < value end)\n"
    "    end\n"
    "  end\n"
    "  assert(refused > " REFUSED ")\n"
    "  return graph\n"
    "end\n";

/* METHODS = {{"graph", "nodes"}, ..}: of what the script has an object of. */
static void put_methods(Buf *out)
{
    static const char *const types[] = {"graph",   "node",      "tensor",
                                        "segment", "algorithm", "resource"};
    buf_puts(out, "METHODS = {");
    for (const LuaTable *table = lua_tables; table->entries; table++)
        for (size_t i = 0; table->kind == LUA_METHODS && i < COUNT_OF(types); i++)
            for (const LuaEntry *it = table->entries; strcmp(table->of, types[i]) == 0 && it->name;
                 it++)
                buf_printf(out, "{'%s', '%s'}, ", table->of, it->name);
    buf_puts(out, "}\n");
}

/* The policy ends well, or in a named error of what its calls have left for the end. */
static void calls_with_any_value(void **state)
{
    (void)state;
    Buf text = buf_new(arena);
    put_methods(&text);
    buf_puts(&text, script);
    char path[] = "/tmp/dimscope-any-XXXXXX.lua";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0 && write(fd, text.s, text.n) == (ssize_t)text.n);
    close(fd);
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2", .policy = path};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    unlink(path);
    if (!session && !strstr(err.text, "num = ") && !strstr(err.text, "sub-node") &&
        !strstr(err.text, LEFT_BY_FEWER))
        fail_msg("line %d: %s", err.line, err.text);
    session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_with_any_value)};
    arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    hooks = scripts_hooks(scripts);
    int failed = cmocka_run_group_tests_name("any value", tests, NULL, NULL);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}
