/* lua_memory.h - the memory of one Lua state: small blocks lie in pages and are used again by size.
 *
 * A script makes and drops tables and texts of a few sizes by the hundred thousand; as blocks of
 * the C library they take a tenth of its time.
 */
#ifndef SCRIPTS_SANDBOX_LUA_MEMORY_H
#define SCRIPTS_SANDBOX_LUA_MEMORY_H

#include <stddef.h>

enum {
    LUA_SMALL_BYTES = 256, /* the largest block that lies in a page */
    LUA_UNIT_BYTES = 16,   /* sizes differ by it */
    LUA_SIZES = LUA_SMALL_BYTES / LUA_UNIT_BYTES
};

/* All zero: nothing is held. */
typedef struct {
    void *unused[LUA_SIZES]; /* per size: blocks that are free, each with the next in it */
    void *pages;             /* each with the next in it */
    char *at, *end;          /* what is left of the first page */
} LuaMemory;

/* As lua_Alloc: the block of old_bytes (NULL of 0) with new_bytes, which may have moved; NULL for 0
 * bytes, and, with the block as it was, if the system has no memory. */
void *lua_memory_resize(LuaMemory *memory, void *block, size_t old_bytes, size_t new_bytes);
/* Frees the pages; what lies in them must not be used any more. Larger blocks are not known here.
 */
void lua_memory_free(LuaMemory *memory);

#endif
