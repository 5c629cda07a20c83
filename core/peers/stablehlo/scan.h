/* scan.h - reads MLIR text from front to back; the files of the parser alone include this.
 *
 * Every reader of the format skips blanks and comments itself. The first fault ends the reading:
 * `failed` is set with the error, and `at` moves to the end, so that loops end too.
 */
#ifndef CORE_PEERS_STABLEHLO_SCAN_H
#define CORE_PEERS_STABLEHLO_SCAN_H

#include "core/peers/stablehlo/tree.h"

/* What the op being read has so far, above what the ops around it have: each notes where its own
 * part begins, and takes it off at its end. */
typedef struct {
    Vec(MlirAttr) attrs;
    Vec(MlirValue) results;
    Vec(int32_t) operands, initial; /* initial: behind "init:" */
    Vec(int32_t) regions, args;     /* args: of the next region, already read */
    Vec(int32_t) types, made;       /* behind the colon, behind the arrow */
} MlirStacks;

/* What a name stands for: one more than the value, 0 if it is not defined here. */
typedef Vec(int32_t) MlirNames;

typedef struct {
    bool numbered;
    int32_t name, value; /* what the name stood for outside */
} MlirShadow;

typedef struct {
    MlirTree *tree;
    const char *at, *end, *reported;
    Error *err;
    Progress *progress;
    bool failed;
    int depth;
    int32_t last_type; /* that was read; -1: none */
    Arena *scratch;    /* of the stacks */
    MlirStacks stacks;
    MlirNames numbered, named; /* "%12", by its number; others, by their id in `names` */
    Intern *names;
    Vec(MlirShadow) shadows;
} MlirScan;

bool mlir_fail(MlirScan *scan, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The reading has come to `at`. False when it is to stop, with the fault. */
bool mlir_report(MlirScan *scan, const char *at);
void mlir_skip_blanks(MlirScan *scan);

static inline void mlir_blanks(MlirScan *scan)
{
    if (scan->at < scan->end && *scan->at == ' ')
        scan->at++;
    if (scan->at < scan->end && (*scan->at <= ' ' || *scan->at == '/'))
        mlir_skip_blanks(scan);
}

static inline char mlir_peek(MlirScan *scan) /* after blanks; '\0' at the end */
{
    mlir_blanks(scan);
    return scan->at < scan->end ? *scan->at : '\0';
}

static inline bool mlir_accept(MlirScan *scan, char c)
{
    bool is = mlir_peek(scan) == c && c != '\0';
    scan->at += is;
    return is;
}

bool mlir_accept_word(MlirScan *scan, const char *word); /* as a whole word */
bool mlir_expect(MlirScan *scan, char c);
Str mlir_read_word(MlirScan *scan);   /* letters, digits, "_.$-"; "" if there is none */
Str mlir_read_symbol(MlirScan *scan); /* "@f" and the like, without the sign and quotes */
/* A value of an attribute, up to a comma, a closing bracket, a colon or a line's end outside of
 * brackets; in a braced list (`typed`) colons belong to it. */
Str mlir_read_value(MlirScan *scan, bool typed);
Str mlir_skip_group(MlirScan *scan); /* from a bracket to its match, or a whole text in quotes */
/* The type that follows: its number in the tree; -1 with a fault. */
int32_t mlir_read_type(MlirScan *scan);
void mlir_read_attrs(MlirScan *scan);   /* behind "{", onto the stack */
Str mlir_read_location(MlirScan *scan); /* "loc(..)" if it follows; else "" */

#endif
