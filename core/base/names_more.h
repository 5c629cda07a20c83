/* names_more.h - many names that are another name with an end: "T~grad" (names_intern_with()).
 *
 * Such a name takes 7 bytes: the id of its stem, the number of its end, and which ends it has
 * itself. Its text is made when somebody asks for it, and it is in no table by text: whoever finds
 * one makes an index of them, once.
 */
#ifndef CORE_BASE_NAMES_MORE_H
#define CORE_BASE_NAMES_MORE_H

#include "core/base/names.h"

void names_reserve_more(Names *names, int n); /* room for n more of them */

#endif
