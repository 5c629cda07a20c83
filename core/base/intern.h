/* intern.h - equal blocks of bytes get equal small ids, in order of first sight.
 *
 * Used for values with few distinct ones: shapes, shardings, op spaces, cuts. A key is compared as
 * bytes, so its padding must be zero. Keys are copied into the arena, ended by a NUL for texts,
 * and keep their address.
 */
#ifndef CORE_BASE_INTERN_H
#define CORE_BASE_INTERN_H

#include "core/base/arena.h"

typedef struct Intern Intern;

Intern *intern_new(Arena *arena);
int32_t intern_put(Intern *intern, const void *key, size_t n_bytes);        /* id, from 0 */
int32_t intern_find(const Intern *intern, const void *key, size_t n_bytes); /* id, or -1 */
const void *intern_key(const Intern *intern, int32_t id, size_t *n_bytes); /* n_bytes may be NULL */
int32_t intern_count(const Intern *intern);

uint64_t hash_bytes(const void *bytes, size_t n_bytes);

#endif
