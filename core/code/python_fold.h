/* python_fold.h - the entries of a Python dict, with a loop over layers that are equal.
 *
 *     PARAMETERS = {
 *         "wte.weight": ((256, 64), (R, R)),
 *     }
 *     for i in range(12):
 *         PARAMETERS |= {
 *             f"h.{i}.c_fc.weight": ((64, 256), (R, Shard(1))),
 *         }
 *
 * Layers are neighbours 0, 1, 2 .. by a number in the key whose entries differ in nothing but that
 * number, in the same order; loops may be nested. The result is exact: the dict that Python makes
 * has every entry, with its value, and no other.
 */
#ifndef CORE_CODE_PYTHON_FOLD_H
#define CORE_CODE_PYTHON_FOLD_H

#include "core/base/vec.h"
#include "core/code/python.h"

typedef struct {
    Str key;             /* no two entries have the same key */
    const char *value;   /* Python; a new line is indented as the key is */
    const char *comment; /* after the entry, as python_comment() writes it; or NULL */
} PythonEntry;

typedef Vec(PythonEntry) PythonEntries;

/* Writes the dict; each line starts with `indent` blanks. */
void python_dict(const char *name, const PythonEntries *entries, int indent, Buf *out);

#endif
