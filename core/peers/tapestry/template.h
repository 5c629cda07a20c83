/* template.h - a metakernel template: the op space of an operator, written as texts.
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
 * Shapes of inputs are patterns, which bind `$names`; all else are expressions over them. An ipf
 * (index projection function) says where an index point lands in a tensor: an R map writes each
 * dim's start in index coordinates `@name` (`:+ w` a window, `:` the whole dim), a D map the
 * coefficients of a walk along the diagonal. Texts are read once, at loading; every application to
 * shapes ends, since there are no loops and no functions of a user.
 *
 * The order of an application: params, patterns of all inputs, let, require, index, reduce,
 * outputs, projections, and the check that outputs are written once and whole and inputs are read
 * inside. Errors carry a code of the language (E_RANK), the template, the text and the column in
 * it. Language after the draft of crutcher/tapestry, issue 2.
 */
#ifndef CORE_PEERS_TAPESTRY_TEMPLATE_H
#define CORE_PEERS_TAPESTRY_TEMPLATE_H

#include "core/base/json.h"
#include "core/rules/registry.h"

enum {
    TEMPLATE_TEXT_MAX = 4096, /* bytes of one text */
    TEMPLATE_SLOTS_MAX = 64,  /* inputs, and outputs */
    TEMPLATE_FIELDS_MAX = 64  /* of params, constraints, an enum, let and require each */
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

/* A tensor, or a list of tensors. What is absent is NULL. */
typedef struct {
    const char *name, *shape, *dtype;
    const char *ipf;                   /* one text, */
    const char *map, *offset, *window; /* or its three parts, `{map, offset, shape}`, */
    const char *source, *at, *row;     /* or insertRow: row `row` put at `at` into `source` */
    const char *each;                  /* outputs: "$i = expr", how many there are */
    bool clip, optional;
} TemplateSlot;

typedef struct {
    const char *name;
    const char *kernel;  /* a built-in operator whose kernel runs it; NULL: none */
    const char *example; /* operands to prove it on (one_op.h), "4x6,6x5 axis=1"; NULL: none */
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

/* Reads all texts; everything is copied into the arena. NULL: a syntax error, or what no shapes can
 * make right (E_DUP, E_ELLIPSIS, E_INDEX_NAME, E_INDEX_GROUP, E_INDEX_MIX). */
const Template *template_load(Arena *arena, const TemplateText *text, Error *err);
const TemplateText *template_text(const Template *template);
bool template_is_variadic(const Template *template, int input); /* its pattern has an index */

/* ---- applied ---- */

typedef struct {
    Shape shape;
    int64_t start[DIMS_MAX]; /* of the tensor's coordinates, mostly 0 */
    Str dtype;               /* "float32" and "f32" are the same */
} TemplateTensor;

/* The value given for a param. */
typedef struct {
    const char *name;
    bool is_list, is_text;
    int n; /* of ints; 1 for a number */
    const int64_t *ints;
    Str text;
} TemplateArg;

/* Per input slot of the template its tensors; none: an optional slot left out. */
typedef struct {
    const int *n_tensors;
    const TemplateTensor *const *tensor;
    int n_args;
    const TemplateArg *args;
} TemplateCall;

/* One operand of the result, in the op space's order. */
typedef struct {
    int slot, place; /* slot of the template, and which of its tensors */
    const TemplateTensor *tensor;
} TemplateOperand;

typedef struct {
    OpSpace *space; /* for tensors that start at 0; main dims, then reduce dims */
    TemplateOperand *operand;
} TemplateResult;

/* False with a code of the language at the head of *err's text. The op space is not finished:
 * opspace_finish() may still refuse it, for what only cuts need. */
bool template_apply(Arena *arena, const Template *template, const TemplateCall *call,
                    TemplateResult *out, Error *err);

/* The operator that a template is: its row, to be added to a registry. */
Operator template_operator(Arena *arena, const Template *template);

/* ---- shown ---- */

/* A list of texts: what is legal, and often a slip. An input that does not follow a reduce dim
 * which another follows; one that is not read whole; one that is read with gaps. */
Json *template_lints(Arena *arena, const OpSpace *space);

/* {"template": the texts as written, "resolved": the index and per operand its augmented matrix, in
 * Tapestry's schema}. space: what its rule made of an op; NULL: no "resolved". */
Json *template_json(Arena *arena, const Template *template, const OpSpace *space);

/* Any op space as the text of a template for just these sizes. False when the language cannot say
 * all of it: `lost` then has what it does not say, a line each. */
bool template_print(const OpSpace *space, Buf *out, Buf *lost);

#endif
