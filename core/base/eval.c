#include "core/base/eval.h"

#include "core/base/peer.h"

const EvalVerb *eval_verb_in(const EvalVerb *rows, Str name)
{
    for (; rows && rows->name; rows++) {
        Str row = str_from(rows->name);
        if (row.s[row.n - 1] == '.' ? str_starts(name, row) : str_eq(name, row))
            return rows;
    }
    return NULL;
}

const EvalVerb *eval_verb_of_peers(Str name)
{
    const EvalVerb *found = NULL;
    for (const Peer *const *peer = built_peers; *peer && !found; peer++)
        found = eval_verb_in((*peer)->eval_verbs, name);
    return found;
}
