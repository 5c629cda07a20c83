/* memory.h - allocation that ends the program when the system has no memory left.
 *
 * The functions call abort(), with errno as the system set it; the program's handler then prints
 * "out of memory" (tui/main.c). Arenas are built on them, and so are libraries that would otherwise
 * go on after a failed allocation.
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

/* For a whole program, before it allocates: large pieces that are freed go back to the system,
 * however large those before them were; a model of a million ops leaves a seventh of its memory
 * behind otherwise. Small ones stay, up to a limit, for the next plan. */
void memory_give_back(void);

#endif
