/* fuzz_lua.c - any program of a grammar in the sandbox: it ends within its budget, with a result or
 * an error that has its kind, and the sandbox runs another one after it.
 */
#include "scripts/sandbox/lua_state.h"
#include "tests/fuzz/grammar.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INSTRUCTIONS = 20000 };

static const char *const expressions[] = {
    "1",
    "$V",
    "nil",
    "{}",
    "'a'",
    "('x'):rep($E)",
    "($E .. $E)",
    "($E + $E)",
    "($E < $E)",
    "#$E",
    "$V[$E]",
    "{$E, k = $E, $E}",
    "$V($E, $E)",
    "function(a, b) $B return $E end",
    "tostring($E)",
    "select($E, $E, $E)",
    "pcall($V, $E)",
    "coroutine.wrap(function() $B coroutine.yield($E) end)",
    "table.concat($V, $E)",
    "string.format('%s %d', $E, 1)",
    "('a'):find($E)",
    "('ab'):gsub($E, $V)",
    "next($V, $E)",
    "setmetatable({}, {__index = $V, __call = $V, __close = $V, __concat = $V})",
    "(1 << 62)",
    "0/0",
    "string.pack('i8s', 1, $E)",
    "utf8.char($E)",
    "table.unpack($V, $E, $E)",
    "-$E",
    "not $E",
    "math.random($E)",
    "xpcall($V, $V, $E)",
    "rawlen($V)",
    "string.byte($E, 1, -1)",
    "$E // $E",
    "$E % $E"};
static const char *const blocks[] = {"",
                                     "$V = $E $B",
                                     "local a = $E $B",
                                     "while $E do $B end $B",
                                     "for i = $E, $E do $B end $B",
                                     "for k, v in pairs($E) do $B end $B",
                                     "if $E then $B else $B end $B",
                                     "error($E) $B",
                                     "do $B end $B",
                                     "repeat $B until $E $B",
                                     "$V[$E] = $E $B",
                                     "table.insert($V, $E) $B",
                                     "table.sort($V, $V) $B",
                                     "local c <close> = $E $B",
                                     "goto top $B",
                                     "::top:: $B",
                                     "print($E) $B",
                                     "$V($E) $B"};
static const char *const variables[] = {"a", "b", "t", "f", "i", "print", "pairs", "string", "_G"};

static const GrammarRule rules[] = {GRAMMAR_RULE('E', expressions), GRAMMAR_RULE('B', blocks),
                                    GRAMMAR_RULE('V', variables)};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_new();
    Grammar g = {.rules = rules, .at = data, .n = size, .text = buf_new(arena)};
    buf_puts(&g.text, "local t, f, a, b, i = {3, 1, 2}, function(x) return x end, 2, 'b', 7\n");
    grammar_put_all(&g, 'B');
    Sandbox *sandbox = sandbox_new("fuzz.lua");
    Error err = {0}, none = {0};
    sandbox->source.text = buf_str(&g.text);
    sandbox->instructions_max = sandbox->budget = INSTRUCTIONS;
    sandbox->bytes_max = 8 << 20;
    if (sandbox_run(sandbox, NULL, NULL, &err) == error_is_set(&err))
        abort();
    sandbox->instructions_max = 50 * INSTRUCTIONS; /* time counts too, and a sanitizer is slow */
    sandbox_restart(sandbox);
    sandbox->source.text = STR("local t = {} for i = 1, 9 do t[i] = ('x'):rep(i) end");
    if (!sandbox_run(sandbox, NULL, NULL, &none)) {
        fprintf(stderr, "WRONG afterwards: %s\n", none.text);
        abort();
    }
    sandbox_free(sandbox);
    arena_free(arena);
    return 0;
}
