#include "scripts/sandbox/lua_chunks.h"

#include "core/base/vec.h"

#include <lauxlib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    Str text, compiled;
} Chunk;

struct Chunks {
    pthread_mutex_t lock; /* of what follows */
    Arena *arena;
    Vec(Chunk) kept;
};

Chunks *chunks_new(void)
{
    Chunks *chunks = calloc(1, sizeof *chunks);
    if (!chunks)
        return NULL;
    chunks->arena = arena_new();
    pthread_mutex_init(&chunks->lock, NULL);
    return chunks;
}

void chunks_free(Chunks *chunks)
{
    if (!chunks)
        return;
    pthread_mutex_destroy(&chunks->lock);
    arena_free(chunks->arena);
    free(chunks);
}

/* Empty when it was not compiled yet. */
static Str find(Chunks *chunks, Str text, const char *name)
{
    Str compiled = {0};
    pthread_mutex_lock(&chunks->lock);
    for (int i = 0; i < chunks->kept.n && compiled.n == 0; i++) {
        const Chunk *it = &chunks->kept.at[i];
        if (strcmp(it->name, name) == 0 && str_eq(it->text, text))
            compiled = it->compiled;
    }
    pthread_mutex_unlock(&chunks->lock);
    return compiled;
}

static int write_compiled(lua_State *L, const void *bytes, size_t n_bytes, void *out)
{
    (void)L;
    buf_add(out, (Str){bytes, n_bytes});
    return 0;
}

/* Of two threads that compiled the same file both keep it: the first is found. */
static void keep(Chunks *chunks, lua_State *L, Str text, const char *name)
{
    pthread_mutex_lock(&chunks->lock);
    Buf out = buf_new(chunks->arena);
    lua_dump(L, write_compiled, &out, false);
    Chunk chunk = {.name = arena_str(chunks->arena, str_from(name)), .compiled = buf_str(&out)};
    chunk.text = (Str){arena_str(chunks->arena, text), text.n};
    vec_push(chunks->arena, &chunks->kept, chunk);
    pthread_mutex_unlock(&chunks->lock);
}

int chunks_load(Chunks *chunks, lua_State *L, Str text, const char *name)
{
    Str compiled = chunks ? find(chunks, text, name) : (Str){0};
    if (compiled.n > 0)
        return luaL_loadbufferx(L, compiled.s, compiled.n, name, "b");
    int status = luaL_loadbufferx(L, text.s, text.n, name, "t");
    if (chunks && status == LUA_OK)
        keep(chunks, L, text, name);
    return status;
}
