/* template.h - a metakernel template: the op space of an operator, written in Tapestry's language.
 *
 *     template "matmul" {
 *       index   = "[$batch..., $row, $col]",
 *       reduce  = { sum = "[$inner]" },
 *       inputs  = {
 *         { "X", shape = "[$batch..., $row, $inner]", ipf = "[@batch..., @row, @inner]" },
 *         { "W", shape = "[$batch..., $inner, $col]", ipf = "[@batch..., @inner, @col]" },
 *       },
 *       outputs = { { "result" } },
 *     }
 *
 * Shapes of inputs are patterns, which bind `$names`; all other texts are expressions over them.
 * An ipf (index projection function) maps an index point to a box of a tensor: an R map gives the
 * start of each dim in index coordinates `@name` (`:+ w` a window, `:` the whole dim), a D map the
 * coefficients along the diagonal of the matrix. Texts are parsed once, at loading. Applying a
 * template to shapes always ends, since there are no loops and no user-defined functions.
 *
 * An application evaluates, in this order: params, patterns of all inputs, let, require, index,
 * reduce, outputs, projections; then it checks that each element of an output is written exactly
 * once and that inputs are read within bounds. Errors name a code of the language (E_RANK), the
 * template, the text and the column. The language follows the draft of crutcher/tapestry, issue 2.
 */
#ifndef CORE_PEERS_TAPESTRY_TEMPLATE_H
#define CORE_PEERS_TAPESTRY_TEMPLATE_H

#include "core/base/json.h"
#include "core/rules/registry.h"

enum {
    TEMPLATE_TEXT_MAX = 4096, /* bytes of one text */
    TEMPLATE_SLOTS_MAX = 64,  /* inputs, and outputs */
    TEMPLATE_FIELDS_MAX = 64  /* of each of params, constraints, an enum, let, require */
};

/* ---- as written ---- */

typedef struct {
    const char *name, *text;
} TemplateField;

typedef struct {
    const char *name;
    int n;
    const char *const *allowed;
} TemplateEnum;

/* A tensor or a list of tensors. Absent texts are NULL. */
typedef struct {
    const char *name, *shape, *dtype;
    const char *ipf;                   /* one text, */
    const char *map, *offset, *window; /* or its three parts, `{map, offset, shape}`, */
    const char *source, *at, *row;     /* or insertRow: row `row` put at `at` into `source` */
    const char *each;                  /* outputs: "$i = expr", the number of tensors */
    bool clip, optional;
} TemplateSlot;

typedef struct {
    const char *name;
    const char *kernel;  /* the built-in operator whose kernel runs it, or NULL */
    const char *example; /* operands to prove it on (one_op.h), "4x6,6x5 axis=1", or NULL */
    const char *index, *reduce;
    const char *reduce_op; /* "sum"; NULL without `reduce` */
    int n_params, n_enums, n_let, n_require, n_inputs, n_outputs;
    const TemplateField *params;
    const TemplateEnum *enums; /* constraints.NAME.enum */
    const char *const *let, *const *require;
    const TemplateSlot *inputs, *outputs;
} TemplateText;

/* ---- loaded ---- */

typedef struct Template Template;

/* Parses all texts and copies everything into the arena. Returns NULL for a syntax error, or an
 * error for all shapes (E_DUP, E_ELLIPSIS, E_INDEX_NAME, E_INDEX_GROUP, E_INDEX_MIX). */
const Template *template_load(Arena *arena, const TemplateText *text, Error *err);
const TemplateText *template_text(const Template *template);
bool template_is_variadic(const Template *template, int input); /* its pattern has an index */

/* ---- applied ---- */

typedef struct {
    Shape shape;
    int64_t start[DIMS_MAX]; /* first coordinate of each dim, mostly 0 */
    Str dtype;               /* "float32" or "f32" */
} TemplateTensor;

/* The value given for a param. */
typedef struct {
    const char *name;
    bool is_list, is_text;
    int n; /* of ints; 1 for a number */
    const int64_t *ints;
    Str text;
} TemplateArg;

/* The tensors of each input slot of the template; none for an optional slot that is left out. */
typedef struct {
    const int *n_tensors;
    const TemplateTensor *const *tensor;
    int n_args;
    const TemplateArg *args;
} TemplateCall;

/* One operand of the result, in the op space's order. */
typedef struct {
    int slot, place; /* slot of the template, position among its tensors */
    const TemplateTensor *tensor;
} TemplateOperand;

typedef struct {
    OpSpace *space; /* for tensors that start at 0; main dims, then reduce dims */
    TemplateOperand *operand;
} TemplateResult;

/* Returns false with *err, whose text starts with a code of the language. opspace_finish() has not
 * been called on the op space yet and may still reject it for what sharding requires. */
bool template_apply(Arena *arena, const Template *template, const TemplateCall *call,
                    TemplateResult *out, Error *err);

/* The template as an operator's row, to be added to a registry. */
Operator template_operator(Arena *arena, const Template *template);

/* ---- output ---- */

/* Warnings about templates that are legal but probably mistaken, as a list of strings: an input
 * that does not depend on a reduce dim although another one does, that is not read completely, or
 * that is read with gaps. */
Json *template_lints(Arena *arena, const OpSpace *space);

/* {"template": the texts as written, "resolved": the index and the augmented matrix of each
 * operand, in Tapestry's schema}. Without "resolved" if `space`, its rule's result for an op, is
 * NULL. */
Json *template_json(Arena *arena, const Template *template, const OpSpace *space);

/* Writes an op space as a template for these sizes only. Returns false if the language cannot
 * express all of it; `lost` then lists what is missing, one line each. */
bool template_print(const OpSpace *space, Buf *out, Buf *lost);

#endif
