/* code.h - error codes of the template language, each with its kind in core/base/error.h. */
#ifndef CORE_PEERS_TAPESTRY_CODE_H
#define CORE_PEERS_TAPESTRY_CODE_H

#include "core/base/error.h"

/* id, kind: the text begins with "E_" and the id */
#define TEMPLATE_CODES(CODE)                                                                       \
    /* loading */                                                                                  \
    CODE(LEX, SYNTAX)                                                                              \
    CODE(SYNTAX, SYNTAX)                                                                           \
    CODE(EXTRA, INVALID)        /* an unknown field, param or slot */                              \
    CODE(DUP, DUPLICATE)        /* a name twice in a pattern, or bound twice */                    \
    CODE(ELLIPSIS, ELLIPSIS)    /* two runs of unknown length in a pattern */                      \
    CODE(INDEX_NAME, DUPLICATE) /* $i names both a dim and an index */                             \
    CODE(INDEX_GROUP, INVALID)  /* an indexed member in a group without the index */               \
    CODE(INDEX_MIX, INVALID)    /* $x both with and without [$i] */                                \
    /* a call */                                                                                   \
    CODE(MISSING, UNBOUND)                                                                         \
    CODE(RANK, RANK)                                                                               \
    CODE(LITERAL, CONFLICT) /* a dim differs from the number in the pattern  */                    \
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
    CODE(CONTEXT, UNBOUND)    /* `...`, `@` or `:` whose length or subject is unknown */           \
    CODE(FILL, ELLIPSIS)      /* two repeats of unknown length in one list */                      \
    CODE(SPREAD, INVALID)     /* `...` after neither a list nor a number   */                      \
    CODE(COORD, UNBOUND)      /* @x without an index dim named x */                                \
    CODE(AFFINE, UNSUPPORTED) /* a coordinate times a coordinate */                                \
    CODE(BROADCAST, CONFLICT)                                                                      \
    CODE(SHAPE, OUT_OF_RANGE) /* a negative size or window */                                      \
    CODE(LIMIT, UNSUPPORTED)  /* too many dims, tensors or evaluation steps */                     \
    /* checking */                                                                                 \
    CODE(RANGE, OUT_OF_RANGE) /* an input is read out of bounds */                                 \
    CODE(COVER, INVALID)      /* an output is not written completely */                            \
    CODE(OVERLAP, INVALID)    /* an output is written twice */                                     \
    CODE(SPLIT, FROZEN)       /* a shard writes something other than a box */

typedef enum {
#define TEMPLATE_CODE_ID(id, kind) E_##id,
    TEMPLATE_CODES(TEMPLATE_CODE_ID)
#undef TEMPLATE_CODE_ID
        E_COUNT_OF_CODES
} TemplateCode;

#endif
