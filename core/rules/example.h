/* example.h - small calls of the operators: what `rule` shows when no shapes are given, and what
 * `rule --check` proves a rule on.
 *
 * Sizes differ from each other where they may, are at least 3 where whole numbers choose places of
 * a dim (drawn as 0..2), and do not divide by 2 and by 3 alike, so that cuts by either leave uneven
 * and empty parts. An operator may have several examples: one for each form its rule knows.
 */
#ifndef CORE_RULES_EXAMPLE_H
#define CORE_RULES_EXAMPLE_H

#include "core/rules/registry.h"

typedef struct {
    const char *operators; /* names with blanks between: those that this is an example of */
    const char *operands;  /* as one_op_operands() reads them */
    const char *attrs;     /* "axis=1 keepdims=0", as one_op_attr_text() reads each; NULL: none */
    int n_outputs;         /* 0: 1 */
} Example;

/* By families, each ended by a row without operators. */
extern const Example examples_elementwise[], examples_move[], examples_fold[], examples_image[],
    examples_model[], examples_stablehlo[];

/* The first example of the operator after `after` (NULL: from the start); NULL at the end. */
const Example *example_next(const char *name, const Example *after);

Graph *example_graph(Arena *arena, const char *name, const Example *example, Error *err);

/* Of a user's operator: its own example text ("4x6,6x5 axis=1"), else its annotation, whose
 * identifiers get sizes, `*` two dims. NULL with ERROR_UNSUPPORTED: neither says its shapes. */
Graph *example_of_user(Arena *arena, const Operator *row, Error *err);

#endif
