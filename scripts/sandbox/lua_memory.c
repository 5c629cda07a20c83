#include "scripts/sandbox/lua_memory.h"

#include "core/base/poison.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 16 << 10 };

static size_t size_of(size_t n_bytes)
{
    return (n_bytes - 1) / LUA_UNIT_BYTES;
}

static void *take_from_page(LuaMemory *memory, size_t n_bytes)
{
    if ((size_t)(memory->end - memory->at) < n_bytes) {
        char *page = malloc(PAGE_BYTES);
        if (!page)
            return NULL;
        memcpy(page, &memory->pages, sizeof memory->pages);
        memory->pages = page;
        memory->at = page + LUA_UNIT_BYTES;
        memory->end = page + PAGE_BYTES;
        ASAN_POISON_MEMORY_REGION(memory->at, PAGE_BYTES - LUA_UNIT_BYTES);
    }
    void *block = memory->at;
    memory->at += n_bytes;
    return block;
}

static void *take(LuaMemory *memory, size_t n_bytes)
{
    if (n_bytes > LUA_SMALL_BYTES)
        return malloc(n_bytes);
    size_t size = size_of(n_bytes);
    void *block = memory->unused[size];
    if (block) {
        ASAN_UNPOISON_MEMORY_REGION(block, LUA_UNIT_BYTES);
        memcpy(&memory->unused[size], block, sizeof(void *));
    } else {
        block = take_from_page(memory, (size + 1) * LUA_UNIT_BYTES);
    }
    if (block)
        ASAN_UNPOISON_MEMORY_REGION(block, n_bytes);
    return block;
}

static void give_back(LuaMemory *memory, void *block, size_t n_bytes)
{
    if (n_bytes > LUA_SMALL_BYTES) {
        free(block);
        return;
    }
    size_t size = size_of(n_bytes);
    ASAN_UNPOISON_MEMORY_REGION(block, LUA_UNIT_BYTES);
    memcpy(block, &memory->unused[size], sizeof(void *));
    memory->unused[size] = block;
    ASAN_POISON_MEMORY_REGION(block, (size + 1) * LUA_UNIT_BYTES);
}

void *lua_memory_resize(LuaMemory *memory, void *block, size_t old_bytes, size_t new_bytes)
{
    if (!block || old_bytes == 0)
        return new_bytes == 0 ? NULL : take(memory, new_bytes);
    if (new_bytes > LUA_SMALL_BYTES && old_bytes > LUA_SMALL_BYTES)
        return realloc(block, new_bytes);
    bool small = new_bytes > 0 && new_bytes <= LUA_SMALL_BYTES && old_bytes <= LUA_SMALL_BYTES;
    if (small && size_of(new_bytes) == size_of(old_bytes)) {
        ASAN_UNPOISON_MEMORY_REGION(block, new_bytes);
        return block;
    }
    void *moved = NULL;
    if (new_bytes > 0) {
        moved = take(memory, new_bytes);
        if (!moved)
            return NULL;
        memcpy(moved, block, new_bytes < old_bytes ? new_bytes : old_bytes);
    }
    give_back(memory, block, old_bytes);
    return moved;
}

void lua_memory_free(LuaMemory *memory)
{
    for (void *page = memory->pages, *next; page; page = next) {
        memcpy(&next, page, sizeof next);
        ASAN_UNPOISON_MEMORY_REGION(page, PAGE_BYTES);
        free(page);
    }
    *memory = (LuaMemory){0};
}
