/* names.h - interned texts: equal names have equal ids, and ids are small.
 *
 * Id 0 is the empty name. names_text() stays valid as long as the arena. A model of 1e6 ops has
 * more than 2e6 names: a name takes 4 bytes for the index by id, 8 for the hash table by text, and
 * its text. A name with an end, "T~grad", takes 7 (names_more.h).
 */
#ifndef CORE_BASE_NAMES_H
#define CORE_BASE_NAMES_H

#include "core/base/str.h"

typedef struct Names Names;

Names *names_new(Arena *arena);
/* The same names under the same ids; names added later to one are not in the other. */
Names *names_copy(Arena *arena, const Names *names);
void names_reserve(Names *names, int n); /* room for n names in total */
int32_t names_intern(Names *names, Str text);
/* Adds the name that consists of an existing one and an end; it may not be among these names yet.
 */
int32_t names_intern_with(Names *names, int32_t stem, Str end);
int32_t names_find(const Names *names, Str text); /* id, or -1 */
const char *names_text(const Names *names, int32_t id);
Str names_str(const Names *names, int32_t id);
int32_t names_count(const Names *names);

#endif
