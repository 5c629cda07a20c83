/* code.h - the errors of the template language: a code each, and the kind it has elsewhere. */
#ifndef CORE_PEERS_TAPESTRY_CODE_H
#define CORE_PEERS_TAPESTRY_CODE_H

#include "core/base/error.h"

/* id, kind: the text begins with "E_" and the id */
#define TEMPLATE_CODES(CODE)                                                                       \
    /* loading */                                                                                  \
    CODE(LEX, SYNTAX)                                                                              \
    CODE(SYNTAX, SYNTAX)                                                                           \
    CODE(EXTRA, INVALID)        /* a field, param or slot that is not one */                       \
    CODE(DUP, DUPLICATE)        /* a name twice in a pattern, or bound again */                    \
    CODE(ELLIPSIS, ELLIPSIS)    /* two runs of unknown length in a pattern */                      \
    CODE(INDEX_NAME, DUPLICATE) /* $i is a dim and an index */                                     \
    CODE(INDEX_GROUP, INVALID)  /* an indexed member in a group without the index */               \
    CODE(INDEX_MIX, INVALID)    /* $x with and without [$i] */                                     \
    /* a call */                                                                                   \
    CODE(MISSING, UNBOUND)                                                                         \
    CODE(RANK, RANK)                                                                               \
    CODE(LITERAL, CONFLICT) /* a dim is not the number that the pattern says */                    \
    CODE(CONFLICT, CONFLICT)                                                                       \
    CODE(COUNT, CONFLICT) /* slots of one index have different numbers of tensors */               \
    CODE(DTYPE, DTYPE)                                                                             \
    CODE(ENUM, DTYPE)                                                                              \
    CODE(AXIS, OUT_OF_RANGE)                                                                       \
    CODE(PERM, INVALID)                                                                            \
    CODE(REQUIRE, INVALID)                                                                         \
    /* evaluating */                                                                               \
    CODE(UNBOUND, UNBOUND)                                                                         \
    CODE(TYPE, INVALID)                                                                            \
    CODE(DIV0, OUT_OF_RANGE)                                                                       \
    CODE(POW, OUT_OF_RANGE) /* a negative exponent */                                              \
    CODE(OVERFLOW, OUT_OF_RANGE)                                                                   \
    CODE(SLICE, OUT_OF_RANGE)                                                                      \
    CODE(CONTEXT, UNBOUND)    /* `...`, `@`, `:` where nothing says how long, or of what */        \
    CODE(FILL, ELLIPSIS)      /* two repeats of unknown length in one list */                      \
    CODE(SPREAD, INVALID)     /* `...` after what is no list and no number */                      \
    CODE(COORD, UNBOUND)      /* @x where no index dim is x */                                     \
    CODE(AFFINE, UNSUPPORTED) /* a coordinate times a coordinate */                                \
    CODE(BROADCAST, CONFLICT)                                                                      \
    CODE(SHAPE, OUT_OF_RANGE) /* a negative size or window */                                      \
    CODE(LIMIT, UNSUPPORTED)  /* more dims, tensors or work than there may be */                   \
    /* checking */                                                                                 \
    CODE(RANGE, OUT_OF_RANGE) /* an input is read outside */                                       \
    CODE(COVER, INVALID)      /* an output is not filled */                                        \
    CODE(OVERLAP, INVALID)    /* an output is written twice */                                     \
    CODE(SPLIT, FROZEN)       /* a shard that writes no box */

typedef enum {
#define TEMPLATE_CODE_ID(id, kind) E_##id,
    TEMPLATE_CODES(TEMPLATE_CODE_ID)
#undef TEMPLATE_CODE_ID
        E_COUNT_OF_CODES
} TemplateCode;

#endif
