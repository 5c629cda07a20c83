/* python_fold.h - the entries of a Python dict, where what is alike in each layer is a loop.
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
 * number, in the same order; loops may stand inside of loops. It is exact: the dict that Python
 * makes of the text has every entry, with its value, and no other.
 */
#ifndef CORE_CODE_PYTHON_FOLD_H
#define CORE_CODE_PYTHON_FOLD_H

#include "core/base/vec.h"
#include "core/code/python.h"

typedef struct {
    Str key;             /* no two entries have the same */
    const char *value;   /* Python; a new line is indented as the key is */
    const char *comment; /* behind it, as python_comment() writes it; NULL */
} PythonEntry;

typedef Vec(PythonEntry) PythonEntries;

/* `indent`: blanks before each line. */
void python_dict(const char *name, const PythonEntries *entries, int indent, Buf *out);

#endif
