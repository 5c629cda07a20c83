/* names_more.h - many names that are another name with an end, "T~grad" (names_intern_with()), or
 * with a head, "backward.h.0" (names_intern_after()).
 *
 * Such a name takes 7 bytes: the id of its stem, the number of its affix, and which affixes it has
 * itself. Its text is made on request, and it is in no table by text: code that looks such names up
 * makes an index of them once.
 */
#ifndef CORE_BASE_NAMES_MORE_H
#define CORE_BASE_NAMES_MORE_H

#include "core/base/names.h"

/* Adds the name that consists of a head and an existing one; it may not be among these names yet.
 */
int32_t names_intern_after(Names *names, Str head, int32_t stem);
void names_reserve_more(Names *names, int n); /* room for n more such names */

#endif
