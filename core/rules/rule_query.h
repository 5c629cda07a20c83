/* rule_query.h - a query about one operator as text: its name, shapes, attributes, shardings of
 * operands.
 */
#ifndef CORE_RULES_RULE_QUERY_H
#define CORE_RULES_RULE_QUERY_H

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/str.h"
#include "core/model/graph.h"
#include "core/rules/alias.h"
#include "core/rules/registry.h"
#include "core/rules/rule_book.h"

/* Texts from the command line; NULL if not given. */
typedef struct {
    Arena *arena;
    const RuleBook *rules;
    const char *name; /* of the operator; NULL: all */
    const char *shapes, *in, *mesh, *profile;
    int n_attrs;
    const char *const *attrs;
    bool backward, exact, no_redistribute, json;
    Buf *out;        /* the answer as text, */
    Json *json_root; /* or as JSON */
    Error *err;
} RuleQuery;

/* Finds the operator; returns NULL with *err, which suggests similar names, if there is none. */
const Operator *query_operator(RuleQuery *query);

/* A graph of one op with these shapes and attributes; NULL with *err. */
Graph *query_graph(RuleQuery *query, const Operator *row);

/* The attributes as an op of that name without operands, for rules of peers that are not operators
 * of ours. alias: the op uses that name of another system, so attributes are renamed; NULL: they
 * are not. */
const Graph *query_attrs(RuleQuery *query, const char *name, const Alias *alias);

/* Removes the next sharding from those of --in, which are separated by ';'. Returns false with
 * ERROR_USAGE if there is none left. */
bool query_take_in(RuleQuery *query, Str *rest, Source *one);
bool query_end_in(RuleQuery *query, Str rest); /* an error if one is left */

#endif
