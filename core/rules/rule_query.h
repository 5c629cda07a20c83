/* rule_query.h - one operator asked about in text: its name, shapes, attributes, how operands lie.
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

/* Texts are those of the command line; NULL: not given. */
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

/* The operator; NULL with *err, which names near ones. */
const Operator *query_operator(RuleQuery *query);

/* A graph of one op of it, of the shapes and attributes; NULL with *err. */
Graph *query_graph(RuleQuery *query, const Operator *row);

/* The attributes as those of an op of that name without operands, for rules that are no operators'.
 * alias: the op has that name of another system, so ours are renamed; NULL: not. */
const Graph *query_attrs(RuleQuery *query, const char *name, const Alias *alias);

#endif
