/* tree.h - a module of MLIR text as a tree: ops, values, regions and attributes as columns.
 *
 * Texts are views of the file: nothing is copied, and the elements of constants are passed over,
 * never read. Ops are in the order of the text, an op before those of its regions, so that a region
 * is a range of ops and `end` of an op is where its neighbour begins. Values are in the order in
 * which they are defined. An op of an unknown dialect is kept with its operands, types, attributes
 * and regions; what stands between them is passed over to the matching bracket.
 *
 * Of the pretty forms a word and its value (`dims = [0, 1]`) is an attribute of that name, a bare
 * word (`LT`), a list (`[0:4]`) or a text is one without a name, in the order of the text.
 * Attributes of the generic form have the names that they have there.
 */
#ifndef CORE_PEERS_STABLEHLO_TREE_H
#define CORE_PEERS_STABLEHLO_TREE_H

#include "core/base/intern.h"
#include "core/base/progress.h"
#include "core/base/vec.h"
#include "core/model/dtype.h"
#include "core/model/shape.h"

enum { MLIR_DEPTH_MAX = 64 };

typedef struct {
    Str text;    /* "tensor<8x16xf32>" */
    bool tensor; /* with a shape and element type that we know; else both are empty */
    Dtype dtype;
    Shape shape; /* -1: a size that is known only at run time */
} MlirType;

typedef struct {
    Str key, value; /* key "": a bare word; value "": a unit */
} MlirAttr;

/* An op's result or a block's argument. */
typedef struct {
    Str name;     /* "%0", of the first of a pack; "" of a region that the text leaves out */
    int32_t type; /* in tree->types; -1: none is written */
    int32_t op;   /* that defines it; -1: an argument */
    int32_t pack; /* its number in the pack "%0:2"; -1: a value alone */
    int32_t info; /* of a function's argument or result: in tree->infos; -1: it has neither */
} MlirValue;

/* What is written beside an argument or a result of a function. */
typedef struct {
    int32_t attr, n_attrs; /* in tree->attrs */
    Str location;          /* inside "loc(..)"; "" if there is none */
} MlirInfo;

typedef struct {
    int32_t arg, n_args; /* values */
    int32_t op, end;     /* the ops in it, with those inside them */
} MlirRegion;

typedef struct {
    Str name; /* "stablehlo.add", ended by a NUL */
    Str location;
    const char *at;
    int32_t kind;                /* its name, in tree->kinds */
    int32_t operand, n_operands; /* in tree->operands */
    int32_t result, n_results;   /* values */
    int32_t attr, n_attrs;       /* in tree->attrs */
    int32_t region, n_regions;   /* in tree->op_regions */
    int32_t end;                 /* the op behind it and its regions */
} MlirOp;

typedef struct {
    Str name; /* "main" */
    int32_t op;
    int32_t region;            /* -1: only declared */
    int32_t result, n_results; /* in tree->infos */
    bool is_public;
} MlirFunction;

typedef struct {
    Str name, body; /* "#loc1" and what it stands for */
} MlirAlias;

typedef struct {
    Arena *arena;
    Source source;
    Vec(MlirOp) ops;
    Vec(MlirValue) values;
    Vec(MlirType) types;
    Vec(MlirAttr) attrs;
    Vec(MlirRegion) regions;
    Vec(MlirInfo) infos;
    Vec(MlirFunction) functions;
    Vec(MlirAlias) aliases;
    Vec(int32_t) operands, op_regions;
    Intern *kinds; /* names of ops */
    Intern *type_keys, *alias_keys, *function_keys;
} MlirTree;

/* Reads a module, or ops without one. The text must outlive the tree. NULL with ERROR_UNREADABLE
 * and its place if the text is no such module, is nested too deep, or uses a value before it is
 * defined; ERROR_CANCELLED. */
MlirTree *mlir_parse(Arena *arena, const Source *source, Progress *progress, Error *err);

/* "tt" of "tt.dot"; the name itself if it has no dot. */
Str mlir_dialect(Str name);
/* Whether modules of StableHLO are made of ops of its dialect: one without a row is one replicated
 * op, as a custom call is. Ops of other dialects are read by those who have registered them. */
bool mlir_dialect_is_known(Str name);

/* Sets the place of an error. Returns false. */
bool mlir_blame(const MlirTree *tree, const char *at, Error *err);

static inline const MlirOp *mlir_op(const MlirTree *tree, int32_t op)
{
    return &tree->ops.at[op];
}

static inline const MlirRegion *mlir_region(const MlirTree *tree, const MlirOp *op, int i)
{
    return &tree->regions.at[tree->op_regions.at[op->region + i]];
}

static inline const int32_t *mlir_operands(const MlirTree *tree, const MlirOp *op)
{
    return tree->operands.at + op->operand;
}

static inline bool mlir_is(const MlirOp *op, const char *name)
{
    return str_eq(op->name, str_from(name));
}

const MlirType *mlir_type_of(const MlirTree *tree, int32_t value); /* NULL: none is written */
/* The function of that name; NULL if there is none. */
const MlirFunction *mlir_function(const MlirTree *tree, Str name);
/* What stands for "#loc1" and the like; the text itself if it is no alias. */
Str mlir_alias(const MlirTree *tree, Str text);
/* The last op of a region, its return; NULL: it has no ops. */
const MlirOp *mlir_return(const MlirTree *tree, const MlirRegion *region);

/* ---- attributes ---- */

/* The attribute of an op under the first of these names, blanks between, that it has; NULL: none.
 */
const MlirAttr *mlir_attr(const MlirTree *tree, const MlirOp *op, const char *names);
/* The elements of a constant as they are written, "dense<1.0>", without their type; "" if it has
 * none. */
Str mlir_elements(const MlirTree *tree, const MlirOp *op);
/* Bare word i of a pretty form; "" if it has fewer. */
Str mlir_word(const MlirTree *tree, const MlirOp *op, int i);

/* Numbers in a text such as "[0, 1]", "array<i64: 0, 1>", "dense<[[1, 2]]> : tensor<1x2xi64>",
 * "[[1, 2], [3, 4]]" in their order; true and false are 1 and 0. A splat `dense<0>` is repeated as
 * often as its type says. Returns their number, -1 if a part is no whole number. */
int mlir_ints(Arena *arena, Str text, const int64_t **out);
bool mlir_int(Str text, int64_t *out); /* "3", "3 : i64", "true" */
/* A text without its quotes and escapes. */
Str mlir_text(Arena *arena, Str quoted);
/* The value of `key` inside of a braced list, "{stride = [2, 2], ..}" or "#d.n<offset_dims = [1],
 * ..>"; "" if there is none. */
Str mlir_member(Str list, const char *key);
/* Takes the next part of a list off, up to a comma outside of brackets. False at the end. */
bool mlir_take_item(Str *rest, Str *item);
/* What is inside of the outermost brackets of a text: "[1, 2]" -> "1, 2". */
Str mlir_inside(Str text);

/* ---- locations ---- */

/* The name of a location, "jit(f)/h0/attn/dot_general" or "p['h'][0]", without those of the files
 * below it; "" if it has none. */
Str mlir_location_name(const MlirTree *tree, Str location);

#endif
