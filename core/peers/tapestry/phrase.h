/* phrase.h - the syntax tree of one text of a template.
 *
 * One recursive-descent parser reads all forms and rejects elements in the wrong place, so that
 * evaluation need not check. Limits: TEMPLATE_TEXT_MAX bytes, NESTING_MAX nested brackets.
 *
 *     list  = "[" [ elem { "," elem } ] "]"
 *     elem  = "..." [ "[" slice "]" ] | expr [ ":+" expr ] | ( "_" | "~" | ":" ) [ "..." ] | var
 * "=" expr expr  = term { ( "+" | "-" ) term }        term = unary { ( "*" | "/" | "%" ) unary }
 *     unary = "-" unary | post [ "^" unary ]     (Lua's precedence)
 *     post  = prim { "..." | "[" ( expr | [ expr ] ":" [ expr ] ) "]" | "." "size" }
 *     prim  = INT | var | "@" [ ID ] | "(" expr ")" | list | ID "(" [ expr { "," expr } ] ")"
 *     var   = "$" [ "." ] ID { "." ID }          ($.x is $x)
 */
#ifndef CORE_PEERS_TAPESTRY_PHRASE_H
#define CORE_PEERS_TAPESTRY_PHRASE_H

#include "core/peers/tapestry/code.h"

typedef enum {
    NODE_INT,
    NODE_VAR,     /* $name */
    NODE_COORD,   /* @name, or @ (empty name): all main coordinates */
    NODE_LIST,    /* arg: elements */
    NODE_CALL,    /* name(arg..) */
    NODE_NEGATE,  /* -arg[0] */
    NODE_BINARY,  /* arg[0] op arg[1] */
    NODE_RUN,     /* arg[0]... */
    NODE_AT,      /* arg[0][arg[1]] */
    NODE_SLICE,   /* arg[0][arg[1]:arg[2]], either may be NULL */
    NODE_SIZE,    /* arg[0].size */
    NODE_COMPARE, /* arg[0] op arg[1]; op is ORDER COMPARISON */
    NODE_BIND,    /* $name = arg[0] */
    /* elements of maps */
    NODE_REST,   /* bare ... */
    NODE_WINDOW, /* arg[0] :+ arg[1] */
    NODE_WHOLE,  /* : */
    NODE_FIXED,  /* _ : a tensor dim without an index dim */
    NODE_UNUSED, /* ~ : an index dim without a tensor dim */
    /* whole phrases */
    NODE_IPF,   /* op 'D' or 'R'; arg: map, offset or NULL, window or NULL */
    NODE_ROW,   /* insertRow: arg: list of coefficients, offset, window */
    NODE_PARAM, /* op: ParamType; name: the slot it refers to, or empty; arg[0]: default or NULL */
} PhraseKind;

typedef enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE } Comparison; /* ORDER COMPARISON */

typedef enum {
    PARAM_INT,
    PARAM_INTS,
    PARAM_BOOL,
    PARAM_STR,
    PARAM_AXIS,
    PARAM_AXIS_END, /* axis+: may equal the rank */
    PARAM_PERM
} ParamType; /* ORDER PARAM_TYPE */

typedef struct Phrase Phrase;
typedef struct PhraseNode PhraseNode;

struct PhraseNode {
    PhraseKind kind;
    int op;
    int at; /* offset in the phrase's text, in bytes */
    int n;
    const Phrase *phrase;
    Str name;
    int64_t number;
    const PhraseNode **arg;
};

struct Phrase {
    const char *owner; /* template's name */
    const char *where; /* "X.shape" */
    Str text;
    const PhraseNode *root;
};

/* The form that a text must have. */
typedef enum {
    FORM_EXPR,
    FORM_INDEX,   /* a list whose elements may be `$x = expr` */
    FORM_IPF,     /* ["D"|"R"] list ["+" list] [":>" list] */
    FORM_MAP,     /* ["D"|"R"] list */
    FORM_ROW,     /* "[" elem {"," elem} "|" expr "|" expr "]" */
    FORM_BIND,    /* var "=" expr */
    FORM_REQUIRE, /* expr comparison expr */
    FORM_PARAM    /* type ["of" SLOT] ["=" expr] */
} PhraseForm;

/* Returns NULL with E_LEX or E_SYNTAX and the column. The texts are not copied. */
const Phrase *phrase_read(Arena *arena, const char *owner, const char *where, Str text,
                          PhraseForm form, Error *err);

/* Sets *err to "E_RANK: .. (matmul, X.ipf, column 4)" and returns false. */
bool phrase_fail(const Phrase *phrase, int at, TemplateCode code, Error *err, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
bool phrase_vfail(const Phrase *phrase, int at, TemplateCode code, Error *err, const char *format,
                  va_list args) __attribute__((format(printf, 5, 0)));

/* Whether the node or one below it has that kind and, unless `name` is empty, that name. */
bool node_has(const PhraseNode *node, PhraseKind kind, Str name);

#endif
