/* memory.h - memory from the system, or the end of the program.
 *
 * Who has no memory left can neither go on nor say much: these call abort(), with errno as the
 * system set it, and the program's handler says "out of memory" (tui/main.c). Arenas are made of
 * such pieces; libraries that would go on without what they asked for are given these functions.
 */
#ifndef CORE_BASE_MEMORY_H
#define CORE_BASE_MEMORY_H

#include <stddef.h>

void *memory_take(size_t n_bytes);                /* as malloc(); free() frees it */
void *memory_take_zeros(size_t n_bytes);          /* as calloc() */
void *memory_resize(void *piece, size_t n_bytes); /* as realloc() */

/* A hint: nobody will soon read these bytes of a mapped file again. They stay what they are, and
 * take no memory until then. */
void memory_passed(const char *from, const char *to);

#endif
