/* names.h - interned texts: equal names have equal ids, and ids are small.
 *
 * Id 0 is the empty name. names_text() stays valid as long as the arena.
 */
#ifndef CORE_BASE_NAMES_H
#define CORE_BASE_NAMES_H

#include "core/base/str.h"

typedef struct Names Names;

Names *names_new(Arena *arena);
int32_t names_intern(Names *names, Str text);
int32_t names_find(const Names *names, Str text); /* id, or -1 */
const char *names_text(const Names *names, int32_t id);
Str names_str(const Names *names, int32_t id);
int32_t names_count(const Names *names);

#endif
