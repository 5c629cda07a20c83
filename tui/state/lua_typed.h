/* lua_typed.h - where in a half typed line of Lua its end is: in which text, call and table, and of
 * what type the value is that a name follows.
 *
 * Types are those of the rows of what scripts can call: g and graph are a graph, and what a method
 * of one gives is in its row, so that `g:op("x").out[1]` is a tensor. A name that is a type's own
 * is taken for one of that type: `node:`. What a line before has set is not known.
 */
#ifndef TUI_STATE_LUA_TYPED_H
#define TUI_STATE_LUA_TYPED_H

#include "core/base/str.h"
#include "core/session/script_entry.h"

#include <stdbool.h>

enum { BRACKETS_MAX = 16 };

typedef struct {
    char open;      /* '(' '{' '[' */
    size_t at;      /* where it stands */
    int item;       /* how many commas are behind it */
    size_t item_at; /* where its item begins that the line ends in */
    Str callee;     /* what stands before it: "g:shard"; empty: nothing that is called */
} LuaBracket;

typedef struct {
    LuaBracket bracket[BRACKETS_MAX]; /* that are open, the innermost last */
    int depth;
    bool in_text, in_comment;
    size_t text_at; /* where the open text begins, behind its mark */
} LuaTyped;

/* False: brackets are nested too deep, or do not fit. */
bool lua_typed_read(Str typed, LuaTyped *out);

/* The name that the typed text ends with, as far as it goes: "", "sh". */
Str lua_typed_word(Str typed);
/* The value that the text ends with: "g:op('a').out[1]", "mesh"; empty when there is none. */
Str lua_typed_value(Str typed);

/* What a call or a value is: "node", "tensor[]"; empty: nobody knows. In the rows' texts. */
Str lua_typed_type(const ScriptEntry *rows, Str value);
size_t lua_typed_head(Str type); /* how long the name is that a type's text begins with */
/* The row of what is called: of graph:shard for "g:shard"; NULL. */
const ScriptEntry *lua_typed_callee(const ScriptEntry *rows, Str callee);
/* Name and type of the n-th parameter, from 0; false: it has none. */
bool lua_typed_parameter(const ScriptEntry *row, int n, Str *name, Str *type);

/* Whether the line is a statement of a function in which `g` is the graph, and no more: it uses no
 * name that it does not make itself. */
bool lua_typed_stands_alone(Str line);

/* The content of the first text behind a place: of `("a", ` it is a. Empty: it begins with none. */
Str lua_typed_first_text(Str typed, size_t at);

#endif
