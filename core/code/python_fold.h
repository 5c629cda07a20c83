/* python_fold.h - writes the entries of a Python dict, with a loop over equal layers.
 *
 *     PARAMETERS = {
 *         "wte.weight": ((256, 64), (R, R)),
 *     }
 *     for i in range(12):
 *         PARAMETERS |= {
 *             f"h.{i}.c_fc.weight": ((64, 256), (R, Shard(1))),
 *         }
 *
 * Layers are neighbours numbered 0, 1, 2 .. in the key, whose entries differ only in that number
 * and are in the same order; loops may be nested. The result is exact: the dict that Python makes
 * has every entry with its value, and no others.
 */
#ifndef CORE_CODE_PYTHON_FOLD_H
#define CORE_CODE_PYTHON_FOLD_H

#include "core/base/vec.h"
#include "core/code/python.h"

typedef struct {
    Str key;             /* no two entries have the same key */
    const char *value;   /* Python; a line break in it is indented like the key */
    const char *comment; /* after the entry, as python_comment() writes it; or NULL */
} PythonEntry;

typedef Vec(PythonEntry) PythonEntries;

/* Writes the dict; each line starts with `indent` blanks. */
void python_dict(const char *name, const PythonEntries *entries, int indent, Buf *out);

#endif
