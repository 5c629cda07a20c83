/* tree.h - a module of MLIR text as a tree: ops, values, regions and attributes as columns.
 *
 * Texts are views of the file: nothing is copied, and the elements of constants are skipped, not
 * decoded. Ops are in the order of the text, an op before those in its regions; so a region is a
 * range of ops, and `end` of an op is the next op beside it. Values are in the order of definition.
 * An op of an unknown dialect is kept with its operands, types, attributes and regions; everything
 * else in it is skipped up to the matching bracket.
 *
 * In the pretty forms, a word with a value (`dims = [0, 1]`) is an attribute of that name; a bare
 * word (`LT`), a list (`[0:4]`) or a text is one without a name, in the order of the text.
 * Attributes of the generic form keep their names.
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
    bool tensor; /* it has a shape and an element type that we know; else both are empty */
    Dtype dtype;
    Shape shape; /* -1: a size that is known only at run time */
} MlirType;

typedef struct {
    Str key, value; /* key "": a bare word; value "": a unit */
} MlirAttr;

/* An op's result or a block's argument. */
typedef struct {
    Str name;     /* "%0", for all values of a pack; "" in a region that the text leaves out */
    int32_t type; /* in tree->types; -1: none is written */
    int32_t op;   /* the op that defines it; -1: an argument */
    int32_t pack; /* its number in the pack "%0:2"; -1: a single value */
    int32_t info; /* for a function's argument or result: index in tree->infos; -1: none */
} MlirValue;

/* What the text adds to an argument or a result of a function. */
typedef struct {
    int32_t attr, n_attrs; /* in tree->attrs */
    Str location;          /* inside "loc(..)"; "" if there is none */
} MlirInfo;

typedef struct {
    int32_t arg, n_args; /* values */
    int32_t op, end;     /* its ops, including nested ones */
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
    int32_t end;                 /* the first op after it and its regions */
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

/* Reads a module, or ops without a module. The text must outlive the tree. Returns NULL with
 * ERROR_UNREADABLE and its place if the text is no module, is nested too deep, or uses a value
 * before its definition; ERROR_CANCELLED. */
MlirTree *mlir_parse(Arena *arena, const Source *source, Progress *progress, Error *err);

/* "tt" of "tt.dot"; the name itself if it has no dot. */
Str mlir_dialect(Str name);
/* Whether the dialect belongs to StableHLO modules: an op of such a dialect without a row becomes
 * one replicated op, like a custom call. Ops of other dialects can be read if the user has
 * registered them. */
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
/* The text that an alias such as "#loc1" stands for; the text itself if it is no alias. */
Str mlir_alias(const MlirTree *tree, Str text);
/* The last op of a region, its return; NULL if the region has no ops. */
const MlirOp *mlir_return(const MlirTree *tree, const MlirRegion *region);

/* ---- attributes ---- */

/* The op's attribute with the first of these names, separated by blanks, that it has; NULL: none.
 */
const MlirAttr *mlir_attr(const MlirTree *tree, const MlirOp *op, const char *names);
/* The elements of a constant as written, "dense<1.0>", without their type; "" if it has none. */
Str mlir_elements(const MlirTree *tree, const MlirOp *op);
/* The i-th bare word of a pretty form; "" if there are fewer. */
Str mlir_word(const MlirTree *tree, const MlirOp *op, int i);

/* Numbers in a text such as "[0, 1]", "array<i64: 0, 1>", "dense<[[1, 2]]> : tensor<1x2xi64>",
 * "[[1, 2], [3, 4]]" in their order; true and false are 1 and 0. A splat `dense<0>` is repeated as
 * often as its type says. Returns their number, -1 if a part is no whole number. */
int mlir_ints(Arena *arena, Str text, const int64_t **out);
bool mlir_int(Str text, int64_t *out); /* "3", "3 : i64", "true" */
/* A quoted text without quotes and escapes. */
Str mlir_text(Arena *arena, Str quoted);
/* The value of `key` in a braced list, "{stride = [2, 2], ..}" or "#d.n<offset_dims = [1], ..>"; ""
 * if there is none. */
Str mlir_member(Str list, const char *key);
/* Removes the next item from a list, up to a comma outside brackets. Returns false at the end. */
bool mlir_take_item(Str *rest, Str *item);
/* The content of the outermost brackets of a text: "[1, 2]" -> "1, 2". */
Str mlir_inside(Str text);

/* ---- locations ---- */

/* The name of a location, "jit(f)/h0/attn/dot_general" or "p['h'][0]", without those of the files
 * below it; "" if it has none. */
Str mlir_location_name(const MlirTree *tree, Str location);

#endif
