/* symbols.h - symbolic sizes: sympy's srepr, read into the name of a free dim.
 *
 *     Add(Mul(Integer(2), Symbol('s43', integer=True)), Integer(1))   ->   2*s43+1, or 2*x.0+1
 *
 * A symbol is named after the first dim of an input that has its size: "x.0". In the graph a dim
 * with such an expression is a free dim of that name, which core/model/dim_expr.h computes.
 */
#ifndef CORE_PEERS_TORCH_EXPORT_SYMBOLS_H
#define CORE_PEERS_TORCH_EXPORT_SYMBOLS_H

#include "core/base/intern.h"
#include "core/base/json_view.h"
#include "core/base/vec.h"

typedef struct {
    Str file_name;       /* "s43"; "u0" if only a run determines it */
    const char *name;    /* "x.0"; the file's name until an input has it */
    int64_t example;     /* -1: the file gives none */
    int64_t least, most; /* -1: no limit */
} Symbol;

typedef struct {
    Arena *arena;
    Intern *texts; /* of expressions; the next by id */
    Vec(const char *) formatted;
    Vec(Symbol) list;
    Buf out; /* scratch */
} Symbols;

Symbols symbols_new(Arena *arena);

/* The symbol of that name in the file; a new one if there is none. */
Symbol *symbols_at(Symbols *symbols, Str file_name);

/* If the expression is one symbol, that symbol; NULL otherwise. */
Symbol *symbols_alone(Symbols *symbols, Str srepr);

/* The expression as text with the current names of its symbols: call it when these are known.
 * Returns NULL with *err if it cannot be parsed. */
const char *symbols_format(Symbols *symbols, Str srepr, Error *err);

#endif
