/* lua_typed.h - the context at the end of a half-typed line of Lua: the open text, call and table,
 * and the type of the value before a name.
 *
 * Types come from the rows of script functions: g and graph are a graph, and the result of a method
 * is in its row, so that `g:op("x").out[1]` is a tensor. A name that equals a type's name is taken
 * for a value of that type: `node:`. Variables set by earlier lines are unknown.
 */
#ifndef TUI_STATE_LUA_TYPED_H
#define TUI_STATE_LUA_TYPED_H

#include "core/base/str.h"
#include "core/session/script_entry.h"

#include <stdbool.h>

enum { BRACKETS_MAX = 16 };

typedef struct {
    char open;      /* '(' '{' '[' */
    size_t at;      /* its offset */
    int item;       /* index of the current item: the number of commas before it */
    size_t item_at; /* offset of the current item */
    Str callee;     /* what is called: "g:shard"; empty: nothing */
} LuaBracket;

typedef struct {
    LuaBracket bracket[BRACKETS_MAX]; /* the open brackets, the innermost last */
    int depth;
    bool in_text, in_comment;
    size_t text_at; /* offset of the open text, after its quote */
} LuaTyped;

/* Returns false if brackets are nested too deep or do not match. */
bool lua_typed_read(Str typed, LuaTyped *out);

/* The beginning of a name at the end of the text: "", "sh". */
Str lua_typed_word(Str typed);
/* The value at the end of the text: "g:op('a').out[1]", "mesh"; empty if there is none. */
Str lua_typed_value(Str typed);

/* The type of a call or a value: "node", "tensor[]"; empty if unknown. A view of the rows' texts.
 */
Str lua_typed_type(const ScriptEntry *rows, Str value);
size_t lua_typed_head(Str type); /* length of the name at the start of a type's text */
/* The row of the called function: graph:shard for "g:shard"; NULL. */
const ScriptEntry *lua_typed_callee(const ScriptEntry *rows, Str callee);
/* Name and type of the n-th parameter, from 0; false if there is none. */
bool lua_typed_parameter(const ScriptEntry *row, int n, Str *name, Str *type);

/* Returns whether the line is a complete statement in which `g` is the graph, and which uses no
 * other names than those it defines. */
bool lua_typed_stands_alone(Str line);

/* The content of the first text after an offset: for `("a", ` it is a. Empty if no text begins
 * there. */
Str lua_typed_first_text(Str typed, size_t at);

#endif
