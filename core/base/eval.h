/* eval.h - a verb of `dimscope eval`: one JSON request in, one JSON answer out. */
#ifndef CORE_BASE_EVAL_H
#define CORE_BASE_EVAL_H

#include "core/base/json.h"

/* Fills `answer`. Returns false with *err, which is then sent as the answer. `verb` is the whole
 * name. */
typedef bool EvalFn(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err);

typedef struct EvalVerb {
    const char *name; /* ending in a dot: the prefix of a family of verbs */
    EvalFn *answer;
} EvalVerb;

/* The row that answers the verb, searched in `rows`, which ends with a row without a name, and in
 * the tables of the peers. NULL if there is none. */
const EvalVerb *eval_verb_in(const EvalVerb *rows, Str name);
const EvalVerb *eval_verb_of_peers(Str name);

#endif
