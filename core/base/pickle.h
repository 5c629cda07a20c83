/* pickle.h - Python's pickles as data: what is stored, never what it would run.
 *
 * Protocols 0 to 5 of the pickle module, and torch's own writer. Nothing is imported or called: a
 * class or function is its name, and an object made by one is
 *
 *     {"class": "torch.distributed.checkpoint.metadata.Metadata", "args": [..], "state": {..}}
 *
 * Lists, tuples and sets are arrays, bytes are texts, keys that are no texts are their JSON. Calls
 * that only wrap their first argument (torch's typed lists, torch.Size) are that argument.
 */
#ifndef CORE_BASE_PICKLE_H
#define CORE_BASE_PICKLE_H

#include "core/base/json.h"

bool pickle_is(Str bytes); /* it begins as one of protocol 2 or later */

/* NULL with ERROR_UNREADABLE and the byte: cut short, an opcode that is not known, an object inside
 * of itself, or one that is much larger than the file. json_free() frees it. */
Json *pickle_read(const Source *source, Error *err);

#endif
