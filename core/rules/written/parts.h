/* parts.h - what is read of the text of an operator that is written out; private to
 * core/rules/written/written.c, which reads statements, and words.c, which reads what is in them.
 */
#ifndef CORE_RULES_WRITTEN_PARTS_H
#define CORE_RULES_WRITTEN_PARTS_H

#include "core/base/vec.h"
#include "core/rules/written/written.h"

enum { STATEMENT_ATTRS = 16 };

/* A tensor of the text: an operand of the op, a result of a statement, or a constant. */
typedef struct {
    Str name;          /* {NULL, 0}: a constant */
    int input, output; /* of the op; -1 */
    Dtype dtype;       /* of a constant */
    Shape shape;
    Str bytes;
} WrittenPlace;

typedef Vec(int32_t) WrittenPlaces;

typedef struct {
    const char *op_type;
    WrittenPlaces in, out; /* -1: absent */
    int n_attrs;
    Str attr_name[STATEMENT_ATTRS];
    Attr attr[STATEMENT_ATTRS]; /* without names */
} WrittenStatement;

struct Written {
    Arena *arena;
    const WrittenOp *op;
    Dtype type; /* T */
    int n_inputs, n_outputs;
    int group, n_groups; /* of the operands that repeat: the one being read, -1 for none */
    Str input_name[OPERANDS_MAX];
    Vec(WrittenPlace) places;
    Vec(WrittenStatement) statements;
};

typedef Vec(int64_t) WholeList;

/* Sets *err: the part of the text, in quotes, and what is wrong with it. Returns false. */
bool written_fail(Str part, const char *what, Error *err);

/* The input of that name; -1 if there is none. */
int written_input(const Written *w, Str name);
/* Whether the op has input i. */
bool written_has(const Written *w, int i);
/* DT_NONE if it is absent or its type is not known. */
Dtype written_dtype(const Written *w, int i);
/* "axis|-1": the attribute, NULL if the op lacks it; *fallback: what follows the bar, or nothing.
 */
const Attr *written_attr(const Written *w, Str text, Str *fallback);

/* "x.1/@num_heads*2" */
bool written_whole(const Written *w, Str text, int64_t *out, Error *err);
/* The numbers of a list, without its brackets; appended. */
bool written_wholes(const Written *w, Str text, WholeList *out, Error *err);

/* The text up to a blank that is in no brackets; *rest becomes what is behind it. */
Str written_word(Str *rest);
/* Without its brackets. */
Str written_inside(Str word);

/* The name in a group of operands: "x#2". */
Str written_name(const Written *w, Str name, int group);
/* The latest place of that name, in the group that is read if there is one; -1. */
int32_t written_place(const Written *w, Str name);
int32_t written_add_place(Written *w, WrittenPlace place);

/* Whether all conditions hold. */
bool written_holds(const Written *w, Str conditions);

#endif
