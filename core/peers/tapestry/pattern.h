/* pattern.h - shape patterns: `[$batch..., $shape=($height, $width), $features[$i]]`.
 *
 *     pattern = "[" [ item { "," item } ] "]"
 *     item    = INT | "..." | var [ "[" var "]" ] [ group | run ]
 *     group   = "=" "(" item { "," item } ")"
 *     run     = "..." [ "(" expr ")" ]
 *
 * A leaf matches one dim; a run any number of dims, given by its expression, as in
 * `$pre...($axis)`; at most one run has no expression and matches the rest. A group names the list
 * of its leaves. `$x[$i]` has one value per tensor of the slot, and $i is the number of tensors.
 */
#ifndef CORE_PEERS_TAPESTRY_PATTERN_H
#define CORE_PEERS_TAPESTRY_PATTERN_H

#include "core/model/shape.h"
#include "core/peers/tapestry/scope.h"

typedef enum { ITEM_NUMBER, ITEM_DIM, ITEM_RUN, ITEM_GROUP } PatternKind;

typedef struct PatternItem PatternItem;
struct PatternItem {
    PatternKind kind;
    int at;
    Str name, index;        /* empty: none */
    int64_t number;         /* of ITEM_NUMBER */
    const PhraseNode *size; /* of ITEM_RUN; NULL: the rest */
    int n;                  /* of ITEM_GROUP */
    const PatternItem *member;
};

typedef struct {
    const Phrase *phrase;
    int n;
    const PatternItem *item;
    int n_names; /* each name once, groups included */
    const PatternItem *const *named;
    int n_indices; /* names like $i */
    const Str *index;
} Pattern;

/* Returns NULL with E_LEX, E_SYNTAX, E_DUP, E_ELLIPSIS, E_INDEX_NAME, E_INDEX_GROUP or E_INDEX_MIX.
 */
const Pattern *pattern_read(Arena *arena, const char *owner, const char *where, Str text,
                            Error *err);
void pattern_format(const Pattern *pattern, Buf *out); /* canonical text */

/* The dims [start, end) of a shape that an item matches. */
typedef struct {
    const PatternItem *item;
    int start, end;
} ItemSpan;
typedef Vec(ItemSpan) ItemSpans;

/* Lists the items in order, a group before its members. Errors: E_RANK, E_LITERAL. `where` names
 * the tensor: "X[0]". */
bool pattern_place(Scope *scope, const Pattern *pattern, const Shape *shape, const char *where,
                   ItemSpans *out);

/* Binds the names of a slot's pattern to the dims of its tensors. Errors: E_CONFLICT, E_COUNT. */
bool pattern_match(Scope *scope, const Pattern *pattern, const char *slot,
                   const Shape *const *shapes, int n_tensors);

/* Binds the name. If it is bound already and the values differ, fails with `code`. */
bool pattern_bind(Scope *scope, const Phrase *phrase, int at, Str name, Datum value,
                  const char *where, TemplateCode code);

#endif
