/* scope.h - evaluates the expressions of a template: values, bound names, coordinates.
 *
 * Numbers are 64-bit and checked for overflow; lists have at most LIST_MAX items; one application
 * may process WORK_MAX items in all. So evaluation of every expression ends.
 */
#ifndef CORE_PEERS_TAPESTRY_SCOPE_H
#define CORE_PEERS_TAPESTRY_SCOPE_H

#include "core/base/vec.h"
#include "core/space/opspace.h"
#include "core/peers/tapestry/phrase.h"

enum { LIST_MAX = OPERANDS_MAX, WORK_MAX = 40000000 };

typedef enum { DATUM_INT, DATUM_LIST, DATUM_TEXT, DATUM_COORD } DatumKind;

typedef struct Datum Datum;
struct Datum {
    DatumKind kind;
    int n; /* of a list */
    int64_t number;
    const Datum *item;
    Str text;       /* of an element type, or a str param */
    const Row *row; /* of a coordinate: coefficients and offset */
};

typedef struct {
    Str name;
    Datum value;
    const char *where; /* "X[0]" */
} Binding;

/* The index dims that a name refers to. */
typedef struct {
    Str name;
    int first, n;
    bool group; /* @name is a list */
} IndexName;

/* The op's index dims: main ones, then reduced ones. */
typedef struct {
    int n, n_main;
    int64_t size[X_MAX];
    const char *display[X_MAX];
    bool anonymous[X_MAX];
    Vec(IndexName) names;
} IndexSpace;

typedef struct {
    Arena *arena;
    Error *err;
    Vec(Binding) bound;
    const IndexSpace *index;  /* NULL: coordinates may not be used */
    int64_t rank;             /* length of a repeat, `1...`; -1: unknown */
    int64_t rest;             /* what the `...` of a slice, `...[:2]`, stands for; in maps 1 */
    const Str *position_name; /* $i in the expressions of one tensor */
    int n_positions;
    int64_t position;
    int64_t work; /* items left */
} Scope;

Scope scope_new(Arena *arena, Error *err);
bool scope_work(Scope *scope, const PhraseNode *node, int64_t n); /* E_LIMIT beyond WORK_MAX */

const Binding *scope_find(const Scope *scope, Str name); /* NULL */
void scope_bind(Scope *scope, Str name, Datum value, const char *where);

Datum datum_int(int64_t number);
Datum datum_ints(Arena *arena, const int64_t *numbers, int n);
bool datum_equal(const Datum *a, const Datum *b);
void datum_format(const Datum *datum, Buf *out); /* "[2, 3]" */

/* Sets the error at the node's column and returns false. */
bool node_fail(Scope *scope, const PhraseNode *node, TemplateCode code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

bool evaluate(Scope *scope, const PhraseNode *node, Datum *out);
bool evaluate_int(Scope *scope, const PhraseNode *node, int64_t *out);
bool evaluate_condition(Scope *scope, const PhraseNode *node, bool *out, Datum sides[2]);

/* ---- lists ---- */

/* An element of a list after splices are spread out; a repeat stays one element. */
typedef struct {
    PhraseKind mark; /* NODE_REST, _WHOLE, _FIXED, _UNUSED; NODE_INT if it has a value */
    bool repeat, has_window;
    Datum value, window;
    const PhraseNode *node;
} Element;

typedef Vec(Element) Elements;

/* Fails with E_FILL if there are two repeats. */
bool evaluate_elements(Scope *scope, const PhraseNode *list, Elements *out);

/* Evaluates a plain list. A repeat fills it up to `length` (-1: E_CONTEXT), a bare `...` is
 * replaced by *rest (NULL: E_CONTEXT). A list without a repeat keeps its length. */
bool evaluate_list(Scope *scope, const PhraseNode *list, int64_t length, const int64_t *rest,
                   Datum *out);

/* ---- functions ---- */

bool evaluate_call(Scope *scope, const PhraseNode *call, Datum *out);

/* Arithmetic on numbers and coordinates, checked for overflow; op as in NODE_BINARY. */
bool datum_binary(Scope *scope, const PhraseNode *node, int op, const Datum *a, const Datum *b,
                  Datum *out);

#endif
