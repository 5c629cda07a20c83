/* pickle.h - Python's pickles as data: what is stored, never what it would run.
 *
 * Protocols 0 to 5 of the pickle module, and torch's own writer. Nothing is imported or called: a
 * class or function is its name, and an object made by one is
 *
 *     {"class": "torch.distributed.checkpoint.metadata.Metadata", "args": [..], "state": {..}}
 *
 * Lists, tuples and sets become arrays, bytes become texts, and a key that is no text becomes its
 * JSON. A call that only wraps its first argument (torch's typed lists, torch.Size) becomes that
 * argument.
 */
#ifndef CORE_BASE_PICKLE_H
#define CORE_BASE_PICKLE_H

#include "core/base/json.h"

bool pickle_is(Str bytes); /* begins like a pickle of protocol 2 or later */

/* Returns NULL, with ERROR_UNREADABLE and the byte, if the pickle is cut short, has an unknown
 * opcode, or holds an object that contains itself or is much larger than the file. json_free()
 * frees it. */
Json *pickle_read(const Source *source, Error *err);

#endif
