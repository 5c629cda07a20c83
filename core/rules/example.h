/* example.h - small calls of the operators: `rule` shows them when no shapes are given, and `rule
 * --check` proves rules on them.
 *
 * The column `examples` of an operator's row (registry.h) lists them, one for each form its rule
 * knows:
 *
 *     5x6x4,4,4 axis=-1 -> 3; 5x6x4,6x4 axis=1       operands, attributes -> outputs; the next
 *     () shape=[5,6]                                 no operands
 *
 * Sizes differ from each other where possible. They are at least 3 where whole numbers choose
 * places of a dim (these are drawn from 0..2), and no multiples of both 2 and 3, so that sharding
 * by either leaves uneven and empty shards.
 */
#ifndef CORE_RULES_EXAMPLE_H
#define CORE_RULES_EXAMPLE_H

#include "core/rules/registry.h"

typedef struct {
    const char *operands; /* as one_op_operands() reads them */
    const char *attrs;    /* "axis=1 keepdims=0", as one_op_attr_text() reads each; "": none */
    int n_outputs;        /* 0: 1 */
} Example;

/* The first example of the built-in operator `name`, or the one after the example `after` (NULL:
 * the first); NULL at the end. The text continues with the next example. */
const char *example_next(const char *name, const char *after);

/* Reads the first example of such a text. */
Example example_read(Arena *arena, const char *text);

/* Its operands with an element type for those that name none, and are no constants: "5x6:f64,=1".
 */
const char *example_operands(Arena *arena, const char *operands, const char *dtype);

/* The op of an example; and the op of the first example of a text. */
Graph *example_op(Arena *arena, const char *name, const Example *example, Error *err);
Graph *example_graph(Arena *arena, const char *name, const char *text, Error *err);

/* The op for a user's operator: from its own example, else from its annotation, with sizes for its
 * identifiers and two dims for `*`. NULL with ERROR_UNSUPPORTED if neither determines the
 * shapes. */
Graph *example_of_user(Arena *arena, const Operator *row, Error *err);

#endif
