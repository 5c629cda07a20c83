/* scan.h - reads MLIR text from front to back; private to the parser.
 *
 * Every reading function skips blanks and comments itself. The first fault ends the reading:
 * `failed` is set with the error, and `at` moves to the end, so that loops end, too.
 */
#ifndef CORE_PEERS_STABLEHLO_SCAN_H
#define CORE_PEERS_STABLEHLO_SCAN_H

#include "core/peers/stablehlo/tree.h"

/* Stacks of what the ops being read have so far: each op notes where its own part begins, and
 * removes it at its end. */
typedef struct {
    Vec(MlirAttr) attrs;
    Vec(MlirValue) results;
    Vec(int32_t) operands, initial; /* initial: after "init:" */
    Vec(int32_t) regions, args;     /* args: of the next region, already read */
    Vec(int32_t) types, made;       /* after the colon; after the arrow */
} MlirStacks;

/* The value of each name plus one; 0 if it is not defined here. */
typedef Vec(int32_t) MlirNames;

typedef struct {
    bool numbered;
    int32_t name, value; /* the value that the name had outside */
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
/* Reports progress up to `at`. Returns false, with the fault, if the reading is to stop. */
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
Str mlir_read_symbol(MlirScan *scan); /* "@f" and similar, without the sign and quotes */
/* An attribute's value: up to a comma, a closing bracket, a colon or a line's end outside brackets;
 * in a braced list (`typed`) it may contain colons. */
Str mlir_read_value(MlirScan *scan, bool typed);
Str mlir_skip_group(MlirScan *scan); /* from a bracket to its match, or a quoted text */
/* Reads a type: returns its index in the tree; -1 with a fault. */
int32_t mlir_read_type(MlirScan *scan);
void mlir_read_attrs(MlirScan *scan);   /* after "{", onto the stack */
Str mlir_read_location(MlirScan *scan); /* "loc(..)" if it follows; else "" */

#endif
