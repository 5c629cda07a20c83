/* pattern.h - shape patterns: `[$batch..., $shape=($height, $width), $features[$i]]`.
 *
 *     pattern = "[" [ item { "," item } ] "]"
 *     item    = INT | "..." | var [ "[" var "]" ] [ group | run ]
 *     group   = "=" "(" item { "," item } ")"
 *     run     = "..." [ "(" expr ")" ]
 *
 * A leaf stands for one dim, a run for any number of them: for as many as its expression says,
 * `$pre...($axis)`, and one run at most for the rest. A group names the list of its leaves.
 * `$x[$i]` has a value per tensor of the slot, and $i is their number.
 */
#ifndef CORE_PEERS_TAPESTRY_PATTERN_H
#define CORE_PEERS_TAPESTRY_PATTERN_H

#include "core/model/shape.h"
#include "core/peers/tapestry/scope.h"

typedef enum { ITEM_NUMBER, ITEM_DIM, ITEM_RUN, ITEM_GROUP } ItemKind;

typedef struct PatternItem PatternItem;
struct PatternItem {
    ItemKind kind;
    int at;
    Str name, index;  /* empty: none */
    int64_t number;   /* of ITEM_NUMBER */
    const Node *size; /* of ITEM_RUN; NULL: the rest */
    int n;            /* of ITEM_GROUP */
    const PatternItem *member;
};

typedef struct {
    const Phrase *phrase;
    int n;
    const PatternItem *item;
    int n_names; /* every name once, also those of groups */
    const PatternItem *const *named;
    int n_indices; /* names like $i */
    const Str *index;
} Pattern;

/* NULL: syntax, E_DUP, E_ELLIPSIS, E_INDEX_NAME, E_INDEX_GROUP, E_INDEX_MIX. */
const Pattern *pattern_read(Arena *arena, const char *owner, const char *where, Str text,
                            Error *err);
void pattern_format(const Pattern *pattern, Buf *out); /* canonical text */

/* What an item covers of a shape: dims [start, end). Items in order, a group before its members. */
typedef struct {
    const PatternItem *item;
    int start, end;
} Placed;
typedef Vec(Placed) Placement;

/* E_RANK, E_LITERAL. `where` names the tensor: "X[0]". */
bool pattern_place(Scope *scope, const Pattern *pattern, const Shape *shape, const char *where,
                   Placement *out);

/* Binds the names of a slot's pattern to its tensors' dims: E_CONFLICT, E_COUNT. */
bool pattern_match(Scope *scope, const Pattern *pattern, const char *slot,
                   const Shape *const *shapes, int n_tensors);

/* Binds the name, or compares with the value it has; code: when they differ. */
bool pattern_bind(Scope *scope, const Phrase *phrase, int at, Str name, Datum value,
                  const char *where, TemplateCode code);

#endif
